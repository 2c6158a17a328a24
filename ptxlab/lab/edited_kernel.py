"""A kernel of the explorer whose PTX somebody has changed by hand: run, compared and drawn like the one it was."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection
from typing import Any

from ptxlab.builder.kernel import Kernel
from ptxlab.kernels.rung import AnyBuilt
from ptxlab.lab import alignment
from ptxlab.lab.kernel_subject import Text
from ptxlab.lab.subject import Ran, Shape, Subject, Values


class Edited(Subject):
    """`ptx` in the place of the PTX that `base` builds for `values`, with the problem and the launch of `base`."""

    def __init__(self, base: Subject, values: Values, ptx: str) -> None:
        self.base, self.ptx = base, ptx
        lines = itertools.zip_longest(base.build(values).ptx.splitlines(), ptx.splitlines())
        changed = next((n for n, (before, now) in enumerate(lines, 1) if before != now), 0)
        self.text = f"changed from line {changed} on" if changed else base.text
        self.kept = {p.name: values[p.name] for p in base.building}
        self.name, self.title, self.family = base.name, f"{base.title}, edited", base.family
        self.problem, self.sources = base.problem, base.sources

    def _all(self, values: Values) -> dict[str, Any]:
        return {**self.kept, **values}

    def check(self, values: Values) -> None:
        """As the kernel that was edited."""
        self.base.check(self._all(values))

    def fits(self, values: Values) -> None:
        """As the kernel that was edited."""
        self.base.fits(self._all(values))

    def rows(self, values: Values) -> tuple[str, int]:
        """As the kernel that was edited."""
        return self.base.rows(self._all(values))

    def unused(self, values: Values) -> Collection[str]:
        """As the kernel that was edited."""
        return self.base.unused(self._all(values))

    def build(self, values: Values) -> Any:
        """The text as a kernel of the kind that it was."""
        built = self.base.build(self._all(values))
        return _with_text(built, self.ptx) if isinstance(built, AnyBuilt) else Text(self.ptx, built.name)

    def shape(self, built: Any, values: Values) -> Shape | None:
        """As the kernel that was edited."""
        return self.base.shape(built, self._all(values))

    def run(self, built: Any, values: Values, device: str) -> Ran | None:
        """On the same inputs."""
        return self.base.run(built, self._all(values), device)

    def recorded(self, built: Any, values: Values, trace: Any) -> Any:
        """On the same inputs."""
        return self.base.recorded(built, self._all(values), trace)

    def work(self, values: Values) -> float | None:
        """As the kernel that was edited."""
        return self.base.work(self._all(values))

    def size(self, values: Values) -> float | None:
        """As the kernel that was edited."""
        return self.base.size(self._all(values))

    def why_no_run(self) -> str:
        """As the kernel that was edited."""
        return self.base.why_no_run()

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """As the kernel that was edited."""
        return self.base.groups(self._all(values))

    def lesson(self, built: Any) -> dict[str, Any]:
        """What can be done with a text of one's own."""
        look = "what `Diff` marks. Edit goes on from here; closing the editor goes back to the kernel"
        return {"question": "What did the change do?", "look": look, "line": 0, "shows": "", "next": None}

    def tiles(self, built: Any, values: Values) -> dict[str, Any] | None:
        """As the kernel that was edited."""
        return self.base.tiles(built, self._all(values))

    def state(self, built: Any, values: Values, ran: Ran, head: tuple[int, int], row: int) -> dict[str, Any] | None:
        """That of the text, recorded by the kernel's probes; a note where the edit concerns them."""
        if not isinstance(built, AnyBuilt):
            return None
        plain = self.base.build(self._all(values))
        probed = plain.with_probes()
        text = alignment.carried(*(each.ptx.splitlines() for each in (plain, built, probed)))
        if text is None:
            note = "The edit concerns lines that the recording of the softmax needs, and so it is not drawn."
            return {"label": "edited", "tiles": 0, "tile_kv": 1, "unit": "tile", "row": row, "note": note}
        edited = _with_text(probed, "\n".join(text))
        object.__setattr__(built, "with_probes", lambda: edited)
        return self.base.state(built, self._all(values), ran, head, row)


def _with_text(built: Any, text: str) -> Any:
    """A kernel of the library with another text."""
    return dataclasses.replace(built, kernel=Kernel(built.name, built.kernel.arch, text, built.params, {}))

"""A kernel of the explorer whose PTX somebody has changed by hand: run, compared and drawn like the one it was."""

from __future__ import annotations

import dataclasses
from typing import Any

from ptxlab.builder.kernel import Kernel
from ptxlab.kernels.rung import AnyBuilt
from ptxlab.lab.kernel_subject import Text
from ptxlab.lab.subject import Ran, Shape, Subject, Values


class Edited(Subject):
    """`text` in the place of the PTX that `base` builds for `values`, with the problem and the launch of `base`."""

    def __init__(self, base: Subject, values: Values, text: str) -> None:
        self.base, self.text = base, text
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

    def build(self, values: Values) -> Any:
        """The text as a kernel of the kind that it was."""
        built = self.base.build(self._all(values))
        if isinstance(built, AnyBuilt):
            kernel = Kernel(built.name, built.kernel.arch, self.text, built.params, {})
            return dataclasses.replace(built, kernel=kernel)
        return Text(self.text, built.name)

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
        """As the kernel that was edited. (Its softmax is not drawn: the text has no probes.)"""
        return self.base.tiles(built, self._all(values))

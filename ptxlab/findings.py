"""What a check noticed in a launch: the rule, both parties and the place, and one sentence that says it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import Span, told_from


@dataclass(frozen=True)
class Party:
    """One of the threads that a finding is about, and what it did.

    Attributes
    ----------
    block, thread
        Each as (x, y, z).
    warp, lane
        The warp's number in the block, the lane's in the warp.
    line, source
        The PTX line, counted from 1, and its text.
    span
        Where in Python or CUDA C++ the line comes from; None where that is not known.
    did
        What the thread did, such as "stores 4 bytes".
    """

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    warp: int
    lane: int
    line: int
    source: str = ""
    span: Span | None = None
    did: str = ""

    def __str__(self) -> str:
        x, y, z = self.block
        a, b, c = self.thread
        place = f"block ({x}, {y}, {z}), thread ({a}, {b}, {c}) (warp {self.warp}, lane {self.lane})"
        lines = [f"{place} {self.did}", f"            line {self.line}: {self.source.strip()}"]
        return "\n".join(lines + told_from(self.span, "            from "))

    def to_dict(self) -> dict[str, Any]:
        """What a JSON file can hold."""
        return dataclasses.asdict(self) | {"span": self.span and self.span.to_dict()}


@dataclass(frozen=True, repr=False)
class Finding:
    """Something a check noticed that does not stop a launch.

    Attributes
    ----------
    check
        The check that noticed it: "initcheck", "racecheck", "synccheck"; "unwritten" for an argument `pl.out`.
    message
        One sentence that says what is wrong and what to write.
    kind
        Which rule it broke, in a word or two.
    first, second
        The thread that noticed, and the one it collides with or waits for, where there are two (`Party`).
    space, address, where
        The state space, the address in it, and the same in words.
    value
        The value that it is about, where there is one.
    count
        How often it was seen at these lines.
    seed
        None, or the `seed=` of the second run, in another order of warps, that alone showed it.

    Examples
    --------
    `for finding in run.findings: print(finding)` shows both threads with their lines.
    """

    check: str
    message: str
    kind: str = ""
    first: Party | None = None
    second: Party | None = None
    space: str = ""
    address: int | None = None
    where: str = ""
    value: int | None = None
    count: int = 1
    seed: int | None = None

    def __str__(self) -> str:
        out = [f"{self.check}: {self.message}"]
        for name, party in (("at", self.first), ("and", self.second)):
            if party is not None:
                out.append(f"  {name + ':':<7} {party}")
        if self.where:
            out.append(f"  in:     {self.where}")
        if self.count > 1:
            out.append(f"  seen:   {self.count:,} times")
        if self.seed is not None:
            out.append(f"  order:  seen in another order of the warps only: pl.launch(..., seed={self.seed})")
        return "\n".join(out)

    __repr__ = __str__  # `run.findings` is what people type

    def to_dict(self) -> dict[str, Any]:
        """What a JSON file can hold; absent parties are None."""
        parties = {name: party and party.to_dict() for name, party in (("first", self.first), ("second", self.second))}
        return dataclasses.asdict(self) | parties

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        """As a fault is shown, one fact a line; a saved notebook may have no style sheet."""
        import html

        style = "border-left: 4px solid #c0303c; padding: 6px 9px; white-space: pre-wrap; word-break: normal"
        return f'<pre class="pl-error" style="{style}">{html.escape(str(self), quote=False)}</pre>'


def unwritten(name: str, missing: Any, shape: tuple[int, ...]) -> list[Finding]:
    """A finding if elements of an output, an argument given as `pl.out`, were not written. missing: one truth value for
    each; shape: the output's."""
    if not missing.any():
        return []
    import numpy as np

    first = [int(n) for n in np.unravel_index(int(np.argmax(missing)), shape)]
    says = f"{name}: {int(missing.sum())} of {missing.size} elements were not written, the first at {first}"
    return [Finding("unwritten", says)]

"""What a check noticed in a launch: the rule, both parties and the place, and one sentence that says it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ptxlab.errors import Span


@dataclass(frozen=True)
class Party:
    """One of the threads that a finding is about, and what it did.

    block and thread are (x, y, z); warp and lane count within the block. `line` is the 1-based PTX line, `source` its
    text, `span` the Python that emitted it (builder kernels only). `did` is a verb, such as "stores 4 bytes".
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
        text = f"{place} {self.did}\n            line {self.line}: {self.source.strip()}"
        return text + (f"\n            from {self.span}" if self.span is not None else "")

    def to_dict(self) -> dict[str, Any]:
        """What a JSON file can hold."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Finding:
    """Something a check noticed that does not stop a launch.

    `check` is its name ("unwritten" for `pl.out`), `kind` what it is, `message` one sentence. `first` is the thread
    that noticed, `second` the one it collides with or waits for, where there are two. `space` and `address` say where
    in memory, `where` the same in words; `count` how often it was seen at these lines.
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

    def __str__(self) -> str:
        out = [f"{self.check}: {self.message}"]
        for name, party in (("at", self.first), ("and", self.second)):
            if party is not None:
                out.append(f"  {name + ':':<7} {party}")
        if self.where:
            out.append(f"  in:     {self.where}")
        if self.count > 1:
            out.append(f"  seen:   {self.count:,} times")
        return "\n".join(out)

    def to_dict(self) -> dict[str, Any]:
        """What a JSON file can hold; absent parties are None."""
        return dataclasses.asdict(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        """A small table: it shows in a saved notebook, with no style sheet."""
        import html

        title = f"<b>{html.escape(self.check)}</b> {html.escape(self.kind)}: {html.escape(self.message)}"
        rows = []
        for name, party in (("at", self.first), ("and", self.second)):
            if party is not None:
                rows.append((name, html.escape(str(party)).replace("\n", "<br>")))
        if self.where:
            rows.append(("in", html.escape(self.where)))
        if self.count > 1:
            rows.append(("seen", f"{self.count:,} times"))
        cells = "".join(f'<tr><td>{k}</td><td style="text-align:left"><code>{v}</code></td></tr>' for k, v in rows)
        return f"<div>{title}<table>{cells}</table></div>"

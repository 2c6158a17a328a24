"""Enters a kernel of the student into the scoreboard, remembers it, and shows it beside ours and its earlier self."""

from __future__ import annotations

import functools
import html
import inspect as python_inspect
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab.course.scoreboard.kernel_stages import COLUMNS, STAGES, Stage, measured
from ptxlab.errors import PtxlabError
from ptxlab.kernels.rung import FORMATTER

FILE = "my-attention.json"
TOLERANCE = {"rows": 2e-5, "tiles": 2e-5, "tensor cores": 4e-3, "pages": 2e-5, "final": 4e-3}
"""The largest error that counts as right: rounding of f32, or of weights in 16 bits for inputs of 16 bits."""


class ScoreboardError(PtxlabError):
    """There is no such stage, or what was entered cannot be kept."""


@functools.cache
def _stage(name: str) -> Stage:
    if name not in STAGES:
        raise ScoreboardError(f"there is no stage {name!r}; there are {', '.join(map(repr, STAGES))}")
    return STAGES[name]()


@functools.cache
def _ours(name: str) -> dict[str, dict[str, float]]:
    """What each of our kernels of a stage costs."""
    stage = _stage(name)
    found = {}
    for kernel in stage.ours:
        run, built, got, want = stage.beside(kernel)
        found[kernel] = measured(run, built, got, want)
    return found


@dataclass(frozen=True)
class Board:
    """The board of a stage: rows of (name, values), and what is to be said of the kernel that was entered."""

    stage: str
    rows: tuple[tuple[str, dict[str, float]], ...]
    says: tuple[str, ...] = field(default=())

    def cells(self) -> list[list[str]]:
        """The table as text, without its head."""
        return [[name, *(f"{v[c]:.1e}" if c == "error" else f"{v[c]:,.0f}" for c in COLUMNS)] for name, v in self.rows]

    def __repr__(self) -> str:
        table = [["", *COLUMNS], *self.cells()]
        wide = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = [
            "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(r, wide, strict=True)))
            for r in table
        ]
        return "\n".join([f"Stage {self.stage!r}", *lines, *self.says])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{c}</th>" for c in ("", *COLUMNS))
        body = "".join(
            f"<tr{' style=font-weight:600' if row[0] == 'yours' else ''}>"
            + "".join(
                f'<td style="text-align:{"right" if i else "left"}">{html.escape(c)}</td>' for i, c in enumerate(row)
            )
            + "</tr>"
            for row in self.cells()
        )
        says = "".join(f'<div style="white-space:pre-wrap">{html.escape(s)}</div>' for s in self.says)
        return f"<table><tr>{head}</tr>{body}</table>{says}"


def enter(stage: str, kernel: Any, *, threads: int = 64, rows_per_block: int | None = None) -> Board:
    """Runs a kernel with all checks on the stage's inputs, remembers it, and shows the board.

    threads: of a block. rows_per_block: query rows of a block, by default one per thread. A kernel that is wrong, or
    in which a check finds something, is shown and not remembered.
    """
    found = _stage(stage)
    kept = _kept()
    before = kept.get(stage)
    ours = list(_ours(stage).items())
    if before is not None:
        ours.append(("your last", before["costs"]))
    try:
        run, got, want = found.run(kernel, threads, rows_per_block or threads)
    except PtxlabError as error:
        return Board(stage, tuple(ours), (f"It did not run, so it is not entered:\n{error}", _wanted(found)))
    if run.findings:
        return Board(stage, tuple(ours), ("A check found something, so it is not entered:", str(run.findings[0])))
    costs = measured(run, kernel, got, want)
    rows = (*ours, ("yours", costs))
    if not costs["error"] <= TOLERANCE[stage]:
        gap = np.abs(got.astype(np.float64) - want)
        at = tuple(int(i) for i in np.argwhere(~(gap <= TOLERANCE[stage]))[0])
        wrong = f"o{list(at)} should be {want[at]:.5g}, it is {got[at]:.5g}: not right yet, so it is not entered."
        return Board(stage, rows, (wrong,))
    kept[stage] = {"costs": costs, "source": _source(kernel), "ptx": _text(kernel)}
    Path(FILE).write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return Board(stage, rows, (_compared(costs, before, _ours(stage)),))


def _compared(costs: dict[str, float], before: Any, ours: dict[str, dict[str, float]]) -> str:
    """A sentence: against its earlier self, or against the nearest of ours."""
    now = costs["warp-instructions"]
    if before is not None and before["costs"] != costs:
        then = before["costs"]["warp-instructions"]
        return f"Entered. Your last one had {then:,} warp-instructions, this one has {now:,}."
    beaten = [name for name, other in ours.items() if now <= other["warp-instructions"]]
    return f"Entered. It executes no more instructions than {', '.join(beaten)}." if beaten else "Entered."


def _wanted(stage: Stage) -> str:
    return f"The parameters of a kernel of this stage: {stage.parameters}."


def source(stage: str) -> str:
    """The text of the kernel that was entered last; without one, of the kernel that the stage starts from."""
    found = _stage(stage)
    return str(_kept().get(stage, {}).get("source") or _source(found.begin))


def latest(stage: str) -> Any:
    """The kernel that was entered last, as PTX; without one, the kernel that the stage starts from."""
    found = _stage(stage)
    return _kept().get(stage, {}).get("ptx") or found.begin


def _kept() -> dict[str, Any]:
    path = Path(FILE)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ScoreboardError(f"{path.resolve()} is damaged ({error}); remove it to begin anew") from None
    return found if isinstance(found, dict) else {}


def _text(kernel: Any) -> str:
    return kernel if isinstance(kernel, str) else str(kernel.ptx)


def _source(kernel: Any) -> str:
    """Python where it can be found, else PTX."""
    function = getattr(kernel, "function", None)
    if function is None:
        return _text(kernel)
    try:
        return FORMATTER.sub("", python_inspect.getsource(function))
    except (OSError, TypeError):  # a function without a file: typed at a prompt
        return _text(kernel)

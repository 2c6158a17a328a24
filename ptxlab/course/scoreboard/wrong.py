"""Why a kernel is not entered: the element, the pattern of rows, and the known mistake that gives its numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxlab.course import causes
from ptxlab.course.scoreboard.rungs import NOTHING, Array, Rung
from ptxlab.launch.run import Run


def refusal(rung: Rung, run: Run, got: Array, per_block: int) -> tuple[str, ...]:
    """What is wrong, then its cause if that is known; empty if nothing is."""
    if run.findings:
        return ("a check found something.", str(run.findings[0]))
    want = rung.given.want
    unwritten = got.view(f"u{got.itemsize}") == NOTHING[got.itemsize]
    if unwritten.any():
        at = [int(i) for i in np.argwhere(unwritten)[0]]
        says = (
            f"not all of it is written. {unwritten.sum():,} of {got.size:,} elements have no value, the first is o{at}."
        )
        block, rows = at[0] // per_block, np.flatnonzero(unwritten.any(1))
        whole = rows[0] == block * per_block and set(rows // per_block) == {block}
        cause = f"These are the rows of block {block}. Which row does its thread 0 take?" if whole else ""
        return tuple(filter(None, (f"{says} {causes.where(unwritten)}".strip(), cause)))
    wrong = ~(np.abs(got.astype(np.float64) - want) <= rung.tolerance)
    if not wrong.any():
        return ()
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    pattern = causes.where(wrong) or (f"All {len(wrong)} rows are wrong." if wrong.any(1).all() else "")
    says = f"wrong. o{list(first)} should be {want[first]:.5g}, it is {got[first]:.5g}. {pattern}".strip()
    fits = causes.fitting(known(rung), got, np.True_, 0.0, rung.tolerance)
    return (says, *fits) if len(fits) == 1 else (says,)


def known(rung: Rung) -> Iterator[tuple[Array, str]]:
    """What known mistakes give on a rung's problem, with their sentences; none where keys lie in pages."""
    given, want = rung.given.given, rung.given.want
    if "table" not in given:
        for out, says in causes.of_attention(given["q"], given["key"], given["value"], given["scale"]):
            yield out.reshape(want.shape), says

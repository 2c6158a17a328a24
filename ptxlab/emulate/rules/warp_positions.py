"""Where the warps of a launch are when it is stopped, and the loops that they are in; the same for both engines."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ptxlab.emulate.program.program import Program, once
from ptxlab.emulate.program.reconvergence import body, onward
from ptxlab.emulate.runtime.report import Launch, unravel
from ptxlab.errors import LINE, Loop, WarpPosition, place_in_words
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.program.flat_program import Code
    from ptxlab.emulate.runtime.memory import Memory

MOST_WARPS, MOST_LINES = 4096, 12
"""Warps that are looked at; lines that a message has for them."""


class StoppedThread(NamedTuple):
    """The thread that a fault stops, and where. block, thread: linear indices in the grid and in the block."""

    program: Program
    launch: Launch
    memory: Memory
    code: Code
    block: int
    thread: int


class Place(NamedTuple):
    """Lanes at one instruction. block: its index in the grid. code: its index. waits_for: "" where they do not wait."""

    block: int
    warp: int
    lanes: Sequence[int]
    code: int
    waits_for: str = ""


def positions(program: Program, launch: Launch, places: Iterable[Place]) -> tuple[WarpPosition, ...]:
    """The places, in the order of the grid, as users see them."""
    found = []
    for at in sorted(itertools.islice(places, MOST_WARPS), key=lambda at: (at.block, at.warp, at.lanes)):
        code = program.codes[min(at.code, len(program.codes) - 1)]
        line = code.line
        x, y, z = unravel(at.block, launch.grid)
        found.append(
            WarpPosition(
                (x, y, z),
                at.warp,
                tuple(at.lanes),
                line,
                program.source(line).strip()[:LINE],
                program.spans.get(line),
                at.waits_for,
                tuple(enclosing_loops(program, code.block)),
            )
        )
    return tuple(found)


def in_words(program: Program, warps: Sequence[WarpPosition]) -> list[str]:
    """A line for each place at which warps are, with all that are there."""
    together: dict[tuple[int, str], list[WarpPosition]] = {}
    for each in warps:
        together.setdefault((each.line, each.waits_for), []).append(each)
    diverged = {this[:2] for this, other in itertools.pairwise(warps) if this[:2] == other[:2]}
    lines = []
    for (line, waits_for), there in together.items():
        at = there[0]
        place = place_in_words(line, at.span) + (f": {at.source}" if at.source else "")
        does = f"waiting for {waits_for}, {place}" if waits_for else f"at {place}"
        lines.append(f"{_who(there, diverged)}: {does}")
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"... and at {more} other places"] if more > 0 else []), *_loops(program, warps)]


def _who(there: Sequence[WarpPosition], diverged: Collection[object]) -> str:
    """`block (0, 0, 0), warps 0-3 and 40 warps of other blocks`; `diverged`: warps with lanes at several places."""
    block = there[0].block
    of_block = [each for each in there if each.block == block]
    x, y, z = block
    numbers = sorted({each.warp for each in of_block})
    text = f"block ({x}, {y}, {z}), warp{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"
    if len(numbers) == 1:
        text += f", lane{'s' if len(of_block[0].lanes) > 1 or len(of_block) > 1 else ''} "
        text += ranges(sorted({lane for each in of_block for lane in each.lanes}))
    elif any(each[:2] in diverged for each in of_block):
        text += " (of some not all lanes)"
    others = len({(each.block, each.warp) for each in there if each.block != block})
    return text + (f" and {others:,} warp{'s' if others > 1 else ''} of other blocks" if others else "")


def ranges(numbers: Sequence[int]) -> str:
    """`0-15 and 20` of rising numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    text = [str(r[0]) if len(r) == 1 else f"{r[0]}-{r[1]}" for r in runs]
    return " and ".join(text) if len(text) < 3 else ", ".join(text)


def _loops(program: Program, warps: Sequence[WarpPosition]) -> Iterator[str]:
    """A sentence for each loop in which warps run, with those around it."""
    found = dict.fromkeys(each.loops for each in warps if each.loops and not each.waits_for)
    for loops in itertools.islice(found, MOST_LINES):
        inner, *outer = (_lines(program, loop) for loop in loops)
        text = f"in the loop of {inner}" + "".join(f", which is in that of {outer_loop}" for outer_loop in outer)
        closed = next((k for k, loop in enumerate(loops) if not loop.leaves), None)
        if closed is not None:
            text += f"; no branch leads out of {'it' if len(loops) == 1 else (inner, *outer)[closed]}"
        yield text


def _lines(program: Program, loop: Loop) -> str:
    """`lines 8 to 9 (kernel.py:12 to 14)`."""
    first, last, _ = loop
    text = f"lines {first} to {last}" if last > first else f"line {first}"
    begin, end = program.spans.get(first), program.spans.get(last)
    if begin is not None and end is not None:
        (file, start), (other, stop) = begin.place, end.place
        text += (f" ({begin} to {stop})" if stop > start else f" ({begin})") if file == other and start <= stop else ""
    return text


@once
def _all_loops(program: Program) -> list[tuple[range, Loop]]:
    """The blocks of each loop, the smallest loop first. Blocks are in running order, so a branch back is a loop's."""
    found = []
    for code in program.codes:
        if code.action is Action.BRANCH and 0 <= code.target <= code.block:
            blocks = range(code.target, code.block + 1)
            inside = [c for b in blocks for c in program.codes[program.blocks[b].first : program.blocks[b].last]]
            lines = [c.line for c in inside if c.instruction is not None] or [code.line]
            ways = {to for b in blocks for to in onward(program.codes, program.blocks[b])}
            leaves = any(c.action in (Action.EXIT, Action.RETURN, Action.TRAP, Action.CALL) for c in inside)
            found.append((blocks, Loop(min(lines), max(lines), leaves or not ways <= set(blocks))))
    return sorted(found, key=lambda loop: len(loop[0]))


def enclosing_loops(program: Program, block: int) -> list[Loop]:
    """The loops around a basic block, innermost first, then those around the call if its function has one call."""
    found: list[Loop] = []
    calls = [code for code in program.codes if code.action is Action.CALL]
    for _ in range(len(calls) + 1):
        found += [loop for blocks, loop in _all_loops(program) if block in blocks]
        here = [call for call in calls if block in body(program.codes, program.blocks, call.target)]
        if len(here) != 1:
            break
        block = here[0].block
    return list(dict.fromkeys(found))

"""What is asynchronous in a trace, as a timeline: per warp the bulk copies and products in flight, and its waits.

The page draws a row for each role (warps that do the same, a warpgroup at most) and one for each mbarrier: what is on
its way to it, and who waits.

Time is the order in which the recorded warps made their steps; see `ptxlab.emulate.trace.order`. It stands still while
a warp tries again to wait: how often it does depends on the CPU machine's turns, and says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.trace.order import Copied
from ptxlab.emulate.trace.recording import Access, Recording, Walker
from ptxlab.isa import Action, action_of

WAITS = (Action.MBARRIER_TEST, Action.MBARRIER_WAIT)
BARRIERS = (Action.BARRIER, Action.CLUSTER_BARRIER, Action.WARP_BARRIER)
LOOP = 8
"""Steps between two tries of one wait, at most."""
PRODUCTS = "wgmma"
"""The kind of the spans that are groups of products."""
GROUP = 4
"""Warps of a warpgroup."""
MOST = 4000
"""Spans that a page is given."""
_PARITY = re.compile(r"\.parity\S*\s+(%[\w$]+)\s*,\s*\[[^\]]*\]\s*,\s*(%?[\w$]+)")
"""Of a wait: the register of its answer, and the parity."""
_LEFT = re.compile(r"wait_group\S*\s+(\d+)")


@dataclass(frozen=True)
class Span:
    """Something that lasts: "copy", "wgmma", "wait" or "blocked". begin, end: in steps of all warps; step: where it
    begins, counted in its warp's own steps; says: what it is, in words; last: of a wait, the step that ends it; line:
    of PTX; mbarrier: which one a copy reports to or a warp waits for, "block:address"; bytes: of a copy; parity: of the
    phase that a wait has seen end, -1 where it has not, or does not name it."""

    kind: str
    begin: int
    end: int
    step: int
    says: str
    last: int = 0
    line: int = 0
    mbarrier: str = ""
    bytes: int = 0
    parity: int = -1


def timeline(recording: Recording) -> dict[str, Any] | None:
    """{time, turns: [[block, warp, steps, time]], rows: [{block, warp, spans: [[kind, begin, end, step, says, line,
    mbarrier, bytes]]}], roles: [[block, first warp, last warp]], phases: {mbarrier: [[time, number]]}, cut: whether
    there is more} for a page. None where nothing is asynchronous in the trace, or where steps of its warps are missing.
    """
    places = places_of(recording)
    if places is None:
        return None
    total = sum(turn[2] for turn in recording.turns)
    found: dict[tuple[int, int], list[Span]] = {}
    ticks, left = np.ones(total, np.int64), MOST
    for key in recording.warps:
        spans = [*_copies(recording, key, places[key], total), *_steps(recording, key, places[key], total)]
        for span in spans:
            ticks[places[key][span.step + 1 : span.last + 1]] = 0
        found[key] = spans[:left]
        left -= len(found[key])
    if all(span.kind == "blocked" for spans in found.values() for span in spans):
        return None
    time = np.append(0, np.cumsum(ticks))
    ends = time[np.cumsum([turn[2] for turn in recording.turns])]
    turns = [[*turn, int(n)] for turn, n in zip(recording.turns, np.diff(ends, prepend=0).tolist(), strict=True)]
    rows = [
        {"block": block, "warp": warp, "spans": [_timed(span, time) for span in spans]}
        for (block, warp), spans in found.items()
    ]
    ended = {mbarrier: [[int(time[at]), n] for at, n in some] for mbarrier, some in phases(found).items()}
    begun = {"time": int(time[-1]), "turns": turns, "rows": rows}
    return {**begun, "roles": roles(found), "phases": ended, "cut": left <= 0}


def phases(found: dict[tuple[int, int], list[Span]]) -> dict[str, list[tuple[int, int]]]:
    """Of each mbarrier the phases that ended, counted from 0, and before which step a warp first saw so. A wait for
    parity 1 that comes before all others is for no phase: on a new mbarrier it succeeds at once."""
    seen: dict[str, list[tuple[int, int]]] = {}
    for span in sorted((s for spans in found.values() for s in spans if s.parity >= 0), key=lambda span: span.end):
        ended = seen.setdefault(span.mbarrier, [])
        number = ended[-1][1] if ended else -1
        if span.parity != number & 1:
            ended.append((span.end, number + 1))
    return {mbarrier: ended for mbarrier, ended in seen.items() if ended}


def roles(found: dict[tuple[int, int], list[Span]]) -> list[list[int]]:
    """[block, first warp, last warp] of neighbouring warps that do the same: they multiply and wait at the same lines
    of PTX, whichever of them issues the copies. Warpgroups that multiply stay apart."""
    out: list[list[int]] = []
    before: set[tuple[str, int]] = set()
    for (block, warp), spans in found.items():
        told = {(span.kind, span.line) for span in spans if span.kind != "blocked"}
        does = {one for one in told if one[0] != "copy"} or told
        begins = warp % GROUP == 0 and any(kind == PRODUCTS for kind, _ in does)
        if out and out[-1][0] == block and out[-1][2] == warp - 1 and does == before and not begins:
            out[-1][2] = warp
        else:
            out.append([block, warp, warp])
        before = does
    return out


def beginning(found: dict[str, Any] | None, most: int) -> dict[str, Any] | None:
    """The first part of a timeline, as long as its text may be."""
    while found is not None and len(json.dumps(found)) > most and found["time"] > 1:
        end, turns, at = found["time"] // 2, [], 0
        for block, warp, steps, time in found["turns"]:
            if at >= end:
                break
            turns.append([block, warp, steps, time])
            at += time
        spans = [[span for span in row["spans"] if span[1] < end] for row in found["rows"]]
        cut = [[[kind, begin, min(to, end), *rest] for kind, begin, to, *rest in some] for some in spans]
        ended = {mbarrier: [one for one in some if one[0] < end] for mbarrier, some in found["phases"].items()}
        rows = [{**row, "spans": some} for row, some in zip(found["rows"], cut, strict=True)]
        found = {**found, "time": end, "turns": turns, "rows": rows, "phases": ended, "cut": True}
    return found


def _timed(span: Span, time: np.ndarray) -> list[Any]:
    begin, end = int(time[span.begin]), int(time[span.end])
    return [span.kind, begin, max(end, begin + 1), span.step, span.says, span.line, span.mbarrier, span.bytes]


def places_of(recording: Recording) -> dict[tuple[int, int], np.ndarray] | None:
    """Where each step of a warp lies among those of all warps."""
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    at = 0
    for block, warp, count in recording.turns:
        found.setdefault((block, warp), []).append(np.arange(at, at + count))
        at += count
    places = {key: np.concatenate(parts) for key, parts in found.items()}
    if any(len(recording.walk(*key)) != len(places.get(key, ())) for key in recording.warps):
        return None
    return places if recording.warps else None


def _copies(recording: Recording, key: tuple[int, int], places: np.ndarray, total: int) -> Iterator[Span]:
    for copy in recording.copies:
        if (copy.block, copy.warp) == key:
            end = total if copy.ended < 0 else max(copy.ended, copy.begun + 1)
            step, mbarrier = (
                int(np.searchsorted(places, copy.begun)),
                "" if copy.group else f"{copy.to}:{copy.barrier:#x}",
            )
            yield Span("copy", copy.begun, end, step, _says(copy, key[0]), 0, copy.line, mbarrier, copy.bytes)


def _in_shared(access: Access) -> int:
    """The address in its block's shared memory that the first lane accesses."""
    at = int(access.address[access.mask][0])
    return at - SHARED_WINDOW if SHARED_WINDOW <= at < SHARED_WINDOW + WINDOW_SIZE else at


def _says(copy: Copied, block: int) -> str:
    where = "shared memory" if copy.to == block else f"shared memory of block {copy.to}"
    way = f"out of {where}" if copy.reads else f"to {where}"
    known = f"bulk group {copy.group}" if copy.group else f"mbarrier {copy.barrier:#x}"
    end = "" if copy.ended >= 0 else ", not performed in this trace"
    place = f" at ({', '.join(map(str, copy.place))})" if copy.place else ""
    return f"{copy.kind}{place} of {copy.bytes:,} bytes {way}, {known}, line {copy.line}{end}"


def _parity(walker: Walker, text: str, first: int, last: int) -> tuple[int, bool]:
    """The parity that a wait names in a line of PTX, -1 where it names none; and whether its last try has succeeded."""
    found, numbers = _PARITY.search(text), walker.recording.numbers
    if found is None or found[1] not in numbers:
        return -1, False
    lane = int(np.flatnonzero(walker.moment(last).mask)[0])
    named = numbers.get(found[2])
    if named is None and not found[2].isdigit():
        return -1, False
    parity = int(found[2]) if named is None else int(walker.value(named, first)[lane])
    return parity & 1, bool(walker.value(numbers[found[1]], last + 1)[lane])


def _steps(recording: Recording, key: tuple[int, int], places: np.ndarray, total: int) -> Iterator[Span]:
    """What the instructions of a warp say: products in flight, waits for mbarriers and at barriers."""
    walker = recording.walk(*key)
    pages = [recording.page(start, length, crc) for _, _, start, length, crc in recording.pages[key]]
    codes = np.concatenate([page.codes for page in pages])
    actions = [action_of(opcode) for _, opcode, _ in recording.codes]
    lines = recording.text.splitlines()
    open_: list[int] = []
    flying: list[tuple[int, int, int]] = []  # first step, products, line
    tries = 0
    first = last = -LOOP

    def waited() -> Span:
        line = recording.codes[int(codes[first])][0]
        access = walker.moment(first).accesses
        at = f"{_in_shared(access[0]):#x}" if access and access[0].mask.any() else ""
        parity, over = _parity(walker, lines[line - 1], first, last)
        phase = "" if parity < 0 else f", parity {parity}"
        words = f"waits for mbarrier {at}{phase}, line {line}: {tries} {'try' if tries == 1 else 'tries'}"
        span = Span("wait", int(places[first]), int(places[last]) + 1, first, words, last, line, f"{key[0]}:{at}")
        return replace(span, parity=parity if over else -1)

    for step in np.flatnonzero(np.isin(codes, [k for k, action in enumerate(actions) if action in _TOLD])).tolist():
        action, line = actions[int(codes[step])], recording.codes[int(codes[step])][0]
        if action in WAITS:
            if tries and (codes[step] != codes[first] or step - last > LOOP):
                yield waited()
                tries = 0
            first = first if tries else step
            last, tries = step, tries + 1
        elif action is Action.WARPGROUP_PRODUCT:
            open_.append(step)
        elif action is Action.WARPGROUP_COMMIT and open_:
            flying.append((open_[0], len(open_), recording.codes[int(codes[open_[0]])][0]))
            open_ = []
        elif action is Action.WARPGROUP_WAIT:
            found = _LEFT.search(lines[line - 1])
            left = int(found[1]) if found else 0
            while len(flying) > left:
                yield _products(flying.pop(0), places, int(places[step]) + 1)
        elif action in BARRIERS and step + 1 < len(codes) and places[step + 1] - places[step] > 1:
            opcode = recording.codes[int(codes[step])][1]
            says = f"waits at {opcode}, line {line}"
            yield Span("blocked", int(places[step]), int(places[step + 1]), step, says, line=line)
    if tries:
        yield waited()
    for group in flying:
        yield _products(group, places, total)


_TOLD = (*WAITS, *BARRIERS, Action.WARPGROUP_PRODUCT, Action.WARPGROUP_COMMIT, Action.WARPGROUP_WAIT)


def _products(group: tuple[int, int, int], places: np.ndarray, end: int) -> Span:
    step, count, line = group
    says = f"group of {count} wgmma {'product' if count == 1 else 'products'} in flight, from line {line}"
    return Span(PRODUCTS, int(places[step]), end, step, says, line=line)

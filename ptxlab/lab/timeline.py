"""What is asynchronous in a trace, as a timeline: per warp the bulk copies and products in flight, and its waits.

The page draws a row for each role (warps that do the same, a warpgroup at most) and one for each mbarrier: what is on
its way to it, and who waits.

Time is the order in which the recorded warps made their steps; see `ptxlab.emulate.trace.order`. It stands still while
a warp tries again to wait: how often it does depends on the emulator's turns, and says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.wait_loops import WAITS
from ptxlab.emulate.trace.asynchronous import (
    MbarrierEvent,
    ProductGroup,
    mbarrier_events,
    product_groups,
)
from ptxlab.emulate.trace.order import Copied
from ptxlab.emulate.trace.recording import Access, Recording
from ptxlab.errors import TraceError
from ptxlab.isa import Action, action_of, actions

BARRIERS = (Action.BARRIER, Action.CLUSTER_BARRIER, Action.WARP_BARRIER)
LOOP = 8
"""Steps between two tries of one wait, at most."""
PRODUCTS = "wgmma"
"""The kind of the spans that are groups of products."""
GROUP = 4
"""Warps of a warpgroup."""
MBARRIER = 8
"""Bytes of an mbarrier."""
MOST = 4000
"""Spans that a page is given."""


@dataclass(frozen=True)
class Span:
    """Something that lasts: "copy", "wgmma", "wait" or "blocked". begin, end: in steps of all warps; step: where it
    begins, counted in its warp's own steps; says: what it is, in words; last: of a wait, the step that ends it; line:
    of PTX; mbarrier: which one a copy reports to or a warp waits for, "block:address"; bytes: of a copy."""

    kind: str
    begin: int
    end: int
    step: int
    says: str
    last: int = 0
    line: int = 0
    mbarrier: str = ""
    bytes: int = 0


def timeline(recording: Recording) -> dict[str, Any] | None:
    """{time, turns: [[block, warp, steps, time]], rows: [{block, warp, spans: [[kind, begin, end, step, says, line,
    mbarrier, bytes]]}], roles: [[block, first warp, last warp]], phases: {mbarrier: [[time, number, says]]}, names:
    {mbarrier: what the program calls it}, cut: whether there is more} for a page. None where nothing is asynchronous
    in the trace, or where steps of its warps are missing."""
    places = places_of(recording)
    if places is None:
        return None
    total = sum(turn[2] for turn in recording.turns)
    found: dict[tuple[int, int], list[Span]] = {}
    multiplies = any(action_of(opcode) is Action.WARPGROUP_PRODUCT for _, opcode, _ in recording.codes)
    groups = product_groups(recording) if multiplies else []
    ticks, left = np.ones(total, np.int64), MOST
    for key in recording.warps:
        spans = [*_copies(recording, key, places[key], total), *_steps(recording, key, places[key])]
        spans += [_products(group, places[key], total) for group in groups if (group.block, group.warp) == key]
        for span in spans:
            ticks[places[key][span.step + 1 : span.last + 1]] = 0
        found[key] = spans[:left]
        left -= len(found[key])
    events = replayed(recording, found)
    awaited(found, events)
    if all(span.kind == "blocked" for spans in found.values() for span in spans):
        return None
    time = np.append(0, np.cumsum(ticks))
    ends = time[np.cumsum([turn[2] for turn in recording.turns])]
    turns = [[*turn, int(n)] for turn, n in zip(recording.turns, np.diff(ends, prepend=0).tolist(), strict=True)]
    rows = [
        {"block": block, "warp": warp, "spans": [_timed(span, time) for span in spans]}
        for (block, warp), spans in found.items()
    ]
    ended = {
        mbarrier: [[int(time[at]), number, says] for at, number, says in some]
        for mbarrier, some in phases(recording, events).items()
    }
    begun = {"time": int(time[-1]), "turns": turns, "rows": rows}
    return {**begun, "roles": roles(found), "phases": ended, "names": names(recording, found), "cut": left <= 0}


def names(recording: Recording, found: dict[tuple[int, int], list[Span]]) -> dict[str, str]:
    """What the program calls each mbarrier, and its address: `full 0x400`, or of several `full[1] 0x408`."""
    out = {}
    for mbarrier in sorted({span.mbarrier for spans in found.values() for span in spans} - {""}):
        at = int(mbarrier.partition(":")[2] or "0", 16)
        out[mbarrier] = f"mbarrier {at:#x}"
        for name, start, size in recording.shared:
            if start <= at < start + size:
                which = f"[{(at - start) // MBARRIER}]" if size > MBARRIER else ""
                out[mbarrier] = f"{name}{which} {at:#x}"
    return out


def replayed(recording: Recording, found: dict[tuple[int, int], list[Span]]) -> list[MbarrierEvent]:
    """What happens to the mbarriers, of the spans that are waits their first tries. Nothing where blocks of a cluster
    are missing, which may arrive, too."""
    if not any(action_of(opcode) in actions.MBARRIER for _, opcode, _ in recording.codes):
        return []
    first = {key: [span.step for span in spans if span.kind == "wait"] for key, spans in found.items()}
    try:
        return mbarrier_events(recording, first)
    except TraceError:
        return []


def phases(recording: Recording, events: list[MbarrierEvent]) -> dict[str, list[tuple[int, int, str]]]:
    """Of each mbarrier the phases that end, counted from 0: how many steps have been made by then, its number, and what
    ends it."""
    several = len({block for block, _ in recording.warps}) > 1
    found: dict[str, list[tuple[int, int, str]]] = {}
    for event in (event for event in events if event.ended):
        who = f"{f'block {event.by}, ' if several else ''}warp {event.warp}, line {event.line}"
        by = f"the bytes of a copy that {who} has started" if event.number < 0 else f"an arrival of {who}"
        key, number = f"{event.block}:{event.address:#x}", event.phase - 1
        at = event.step + (event.number >= 0)  # the step of an arrival is over by then
        found.setdefault(key, []).append((at, number, f"phase {number} ends with {by}"))
    return found


def awaited(found: dict[tuple[int, int], list[Span]], events: list[MbarrierEvent]) -> None:
    """Says of each wait for which phase it is: the current one, or the last one where that is over at the first try."""
    tried = {(event.by, event.warp, event.number): event for event in reversed(events) if event.what in ANSWERS}
    for (block, warp), spans in found.items():
        for k, span in enumerate(spans):
            event = tried.get((block, warp, span.step)) if span.kind == "wait" else None
            if event is not None:
                number = event.phase - ANSWERS[event.what]
                which = f"phase {number}" if number >= 0 else "the phase before the first"
                spans[k] = replace(span, says=span.says.replace("mbarrier", f"{which} of mbarrier", 1))


ANSWERS = {"waits": 0, "passed": 1}
"""How far after the current phase the phase is that a wait names, by what it finds."""


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
    """Where each step of a warp lies among those of all warps; None where steps are missing, or all."""
    try:
        return recording.places() if recording.warps else None
    except TraceError:
        return None


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


def _steps(recording: Recording, key: tuple[int, int], places: np.ndarray) -> Iterator[Span]:
    """The waits of a warp, for mbarriers and at barriers."""
    walker, codes = recording.walk(*key), recording.codes_of(key)
    actions = [action_of(opcode) for _, opcode, _ in recording.codes]
    tries = 0
    first = last = -LOOP

    def waited() -> Span:
        line = recording.codes[int(codes[first])][0]
        access = walker.moment(first).accesses
        at = f"{_in_shared(access[0]):#x}" if access and access[0].mask.any() else ""
        words = f"waits for mbarrier {at}, line {line}: {tries} {'try' if tries == 1 else 'tries'}"
        return Span("wait", int(places[first]), int(places[last]) + 1, first, words, last, line, f"{key[0]}:{at}")

    for step in np.flatnonzero(np.isin(codes, [k for k, action in enumerate(actions) if action in _TOLD])).tolist():
        action, (line, opcode, _) = actions[int(codes[step])], recording.codes[int(codes[step])]
        if action in WAITS:
            if tries and (codes[step] != codes[first] or step - last > LOOP):
                yield waited()
                tries = 0
            first = first if tries else step
            last, tries = step, tries + 1
        elif action in BARRIERS and step + 1 < len(codes) and places[step + 1] - places[step] > 1:
            says = f"waits at {opcode}, line {line}"
            yield Span("blocked", int(places[step]), int(places[step + 1]), step, says, line=line)
    if tries:
        yield waited()


_TOLD = (*WAITS, *BARRIERS)


def _products(group: ProductGroup, places: np.ndarray, total: int) -> Span:
    count, end = group.products, total if group.waited < 0 else group.waited + 1
    says = f"group of {count} wgmma {'product' if count == 1 else 'products'} in flight, from line {group.line}"
    says += "" if group.committed >= 0 else ", not committed in this trace"
    return Span(PRODUCTS, group.issued, end, int(np.searchsorted(places, group.issued)), says, line=group.line)

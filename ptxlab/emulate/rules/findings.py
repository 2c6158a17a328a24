"""From an engine's notes to findings: who accessed what, and where; `sentences` has the words."""

from __future__ import annotations

from collections.abc import Iterable

from ptxlab.emulate.program.addresses import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.instructions import is_bulk
from ptxlab.emulate.rules.notes import COUNTS, HAZARDS, PENDING, RANGE, RAW, SOURCE, WAR, Note
from ptxlab.emulate.rules.repairs import next_round, source_line, update
from ptxlab.emulate.rules.sentences import CHECK_OF, sentence
from ptxlab.emulate.runtime.memory import Memory
from ptxlab.emulate.runtime.report import Launch, unravel
from ptxlab.errors import DeviceFault
from ptxlab.findings import Finding, Party
from ptxlab.isa import types
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.convert import PEER
from ptxlab.names import source_name


def findings(program: Program, launch: Launch, memory: Memory, notes: Iterable[Note]) -> list[Finding]:
    """The findings of a launch, causes before consequences: by check and PTX line. Notes of one kind at the same lines
    of the source are one finding, and so are all races of a pair of lines: it is about the threads farthest apart."""
    merged: dict[object, list[Note]] = {}
    for note in _once(program, [note for note in notes if CHECK_OF[note.kind][0] in launch.checks]):
        merged.setdefault(_lines(program, note), []).append(note)
    for together in merged.values():  # of RAW and WAR the one that the text has
        together.sort(key=lambda n: (-n.scope, n.kind not in (RAW, WAR), not next_round(program, n), n.other > n.code,
                                     n.kind, n.code, n.other))  # fmt: skip

    def order(together: list[Note]) -> tuple[int, ...]:
        first = together[0]
        lines = (program.codes[first.code].line, program.codes[first.other].line if first.other >= 0 else -1)
        return CHECKS.index(CHECK_OF[first.kind][0]), *lines, first.kind

    return [_finding(program, launch, memory, together) for together in sorted(merged.values(), key=order)]


def _once(program: Program, notes: list[Note]) -> list[Note]:
    """The notes but the races with a copy that others meet in flight; or, if the copy begins too soon, but these."""
    flying = {(note.code, note.other) for note in notes if note.kind == PENDING}
    copies = [note for note in notes if note.kind in HAZARDS and program.codes[note.code].properties.group is not None]
    soon = flying & {(note.other, note.code) for note in copies}
    less = dict.fromkeys(HAZARDS, flying - soon) | {PENDING: soon}
    return [note for note in notes if (note.code, note.other) not in less.get(note.kind, ())]


CHECKS = ("memcheck", "synccheck", "racecheck", "initcheck")
"""A barrier that is wrong makes races, a race makes reads of what is not written yet."""


def _lines(program: Program, note: Note) -> object:
    """What notes of one finding share."""
    lines = [source_line(program, program.codes[code]) for code in (note.code, note.other) if code >= 0]
    if note.kind not in HAZARDS:
        return note.kind, *lines
    if path := update(program, note):  # which access of a race comes first is a matter of the schedule
        lines = [source_line(program, path[-1])]
    return frozenset(lines)


def as_finding(program: Program, launch: Launch, stopped: DeviceFault) -> Finding:
    """The fault that stopped a launch as a finding: of memcheck, of synccheck for a deadlock, else of its own kind."""
    first = None
    if stopped.block is not None and stopped.thread is not None and stopped.line:
        (x, y, z), (across, down, _) = stopped.thread, launch.block
        linear = x + across * (y + down * z)
        first = _party(program, launch, stopped.line, stopped.block, linear, "is stopped")
    check, kind = {"memcheck": ("memcheck", "invalid access"), "deadlock": ("synccheck", "deadlock")}.get(
        stopped.kind, (stopped.kind, stopped.kind)
    )
    message = stopped.message + (f"; {stopped.hint}" if stopped.hint else "")
    return Finding(check, message, kind, first, address=stopped.address)


def _finding(program: Program, launch: Launch, memory: Memory, together: list[Note]) -> Finding:
    note = together[0]
    check, kind = CHECK_OF[note.kind]
    code = program.codes[note.code]
    other = program.codes[note.other] if note.other >= 0 else None
    block, thread = unravel(note.block, launch.grid), LANES * note.warp + note.lane
    first = _party(program, launch, code.line, block, thread, _did(code))
    second = None
    if other is not None:
        block, thread = unravel(note.other_block, launch.grid), LANES * note.other_warp + note.other_lane
        second = _party(program, launch, other.line, block, thread, _did(other))
    space, where = _where(program, memory, code, note.address)
    said, address = sentence(program, launch, together, code, other, space), note.address if space else None
    number, count = note.value if note.kind in (COUNTS, SOURCE, RANGE) else None, sum(each.count for each in together)
    return Finding(check, said, kind, first, second, space, address, where, number, count)


def _party(program: Program, launch: Launch, line: int, block: tuple[int, int, int], thread: int, does: str) -> Party:
    who = block, unravel(thread, launch.block), thread // LANES, thread % LANES
    return Party(*who, line, program.source(line), program.spans.get(line), does)


def _did(code: Code) -> str:
    form = code.form
    elements = int(form.vec[1:]) if form.vec else 1
    size = types.width(form.type) // 8 * elements if form.type in types.WIDTH else 0
    counted = f"{size} byte{'' if size == 1 else 's'}"
    if code.properties.group is AsyncGroup.CP_ASYNC and code.action is not Action.COPIES_ARRIVE:
        return "copies asynchronously"
    if is_bulk(code) and code.action in (Action.COPY, Action.COPY_REDUCE):
        return "starts a bulk copy"
    return _DID.get(code.action, f"executes {code.name}").format(counted)


_DID = {
    Action.LOAD: "loads {}", Action.STORE: "stores {}", Action.ATOMIC: "changes {} atomically",
    Action.REDUCTION: "changes {} atomically", Action.LOAD_ROWS: "loads a matrix", Action.STORE_ROWS: "stores a matrix",
    Action.LOAD_FRAGMENT: "loads a matrix", Action.STORE_FRAGMENT: "stores a matrix",
    Action.BARRIER: "arrives at the barrier", Action.WARP_BARRIER: "arrives at the barrier",
    Action.COPIES_ARRIVE: "has its copies arrive at the mbarrier", Action.MBARRIER_INIT: "makes the mbarrier",
    Action.MBARRIER_INVALIDATE: "makes the mbarrier invalid", Action.MBARRIER_ARRIVE: "arrives at the mbarrier",
    Action.MBARRIER_TEST: "asks the mbarrier", Action.MBARRIER_WAIT: "waits for the mbarrier",
    Action.MBARRIER_COUNT_BYTES: "counts bytes at the mbarrier", Action.WARPGROUP_PRODUCT: "multiplies matrices",
}  # fmt: skip


def _where(program: Program, memory: Memory, code: Code, address: int) -> tuple[str, str]:
    """The space that an address lies in, and the place in words."""
    if address < 0:
        return "", ""
    if code.space in ("local", "frame") or 0 <= address - LOCAL_WINDOW < WINDOW_SIZE:
        offset = address - LOCAL_WINDOW if address >= LOCAL_WINDOW else address
        for name, at, size in program.local_names:
            if at <= offset < at + size:
                return "local", f"local memory, byte {offset - at} of {source_name(name)!r} ({size} bytes)"
        return "local", f"local memory, byte {offset}"
    if 0 <= address - SHARED_WINDOW < WINDOW_SIZE or address < WINDOW_SIZE:
        offset = address - SHARED_WINDOW if address >= SHARED_WINDOW else address
        if offset >= PEER:
            space, place = _where(program, memory, code, offset % PEER)
            return space, f"{place}, of the block of rank {offset // PEER - 1} in the cluster"
        before = [v for v in program.shared_names if v[1] <= offset < v[1] + max(v[2], 1)]
        if before:
            name, at, size = max(before, key=lambda v: v[1])
            return "shared", f"shared memory, byte {offset - at} of {name!r} ({size} bytes)"
        if program.shared_gap and offset < program.dynamic_start:
            name, at, size = max((v for v in program.shared_names if v[1] <= offset), key=lambda v: v[1])
            later = [(f"{v[0]!r}", v[1]) for v in program.shared_names if v[1] > offset]
            behind, next_at = min(later, key=lambda v: v[1], default=("the dynamic part", program.dynamic_start))
            past = f"{offset - at - size} bytes past the end of {name!r} ({size} bytes)"
            return "shared", f"shared memory, {past}, {next_at - offset} before {behind}"
        if program.dynamic_names and offset >= program.dynamic_start:
            names = " and ".join(map(repr, program.dynamic_names))
            return "shared", f"shared memory, byte {offset - program.dynamic_start} of {names} (dynamic)"
        return "shared", f"shared memory, byte {offset - program.shared_start}"
    return "global", f"global memory, {memory.describe(address)}"

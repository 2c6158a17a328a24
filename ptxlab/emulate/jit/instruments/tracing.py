"""Traces from the JIT: warps that are recorded run in the function for diverged warps, which records each step.

A recorded warp never runs in the function for converged warps; all others run as without a trace. A step is 32 bytes in
one list (instruction, lanes, lanes whose guard held, warp, where its data lie, block) and, in another, the registers
that it wrote and the addresses that it accessed, not compressed while the kernel runs. Afterwards these lists become
the pages of a trace (see `ptxlab.emulate.trace.recorder`). When the room for data is used up, recording ends.

Two things differ from the interpreter's traces: lanes that synchronize at a `.sync` instruction are one step,
recorded when the last has arrived; and a `wmma` access is recorded with the address it was given, not row by row.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.emitter.instrument import After, Instrument
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.state import Reel, Step
from ptxlab.emulate.trace.pages import KINDS, PAGE, SPACES, Columns, Kinds, packed
from ptxlab.emulate.trace.recorder import TraceRecorder
from ptxlab.isa.actions import Action

PACKERS = 2
"""Threads that compress pages."""
NOWHERE = (1 << 64) - 1
"""Stands for the address of a lane that makes no access."""
Touch = tuple[str, str, int, int, int]


@dataclass(frozen=True)
class Layout:
    """The data of one instruction's steps: (register, offset) of what it writes, and for each access its kind, space,
    size and lanes (a bit mask, to be combined with the guard) and the offset of 32 addresses."""

    registers: tuple[tuple[int, int], ...]
    touches: tuple[Touch, ...]
    size: int


def layout(program: Program, code: Code) -> Layout:
    at, registers, touches = 0, [], list[Touch]()
    for r in dict.fromkeys(writes(code)) if code.action is not Action.CALL else ():
        registers.append((r, at))
        lane = program.registers[r].lane
        at += 64 if lane == "i1" else W * BITS[lane] // 8
    for access in code.accesses:
        touches.append((access.what, access.space, access.size, access.lanes, at))
        at += 8 * W
    return Layout(tuple(registers), tuple(touches), at)


class Tracing(Part, Instrument):
    """Records the steps of traced warps, in the function for diverged warps."""

    stays = "%traced"

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        e.registers.keeps_all = True  # registers that are not alive are shown, too

    def enters(self) -> None:
        """Loads the trace's buffers, whether this warp is recorded, and its number and that of its block."""
        self.e.held(S.Context, "trace", "ptr")
        self.e.held(S.Warp, "traced", "i32", "traced.word")
        self.e.held(S.Warp, "warp_id", "i32")
        self.e.held(S.Cta, "linear", "i64", "block.id")
        self.t.ne("i32", "%traced.word", 0, "%traced")

    def before(self, code: Code) -> After:
        """Reads the addresses before the instruction, which may overwrite their registers; records the step after."""
        places = self._addresses_of(code)
        return lambda: self._step(code, places)

    def ends(self, code: Code) -> None:
        self._step(code, [])

    def _addresses_of(self, code: Code) -> list[str]:
        """The 32 addresses (i64) of each access of an instruction."""
        accesses, found, operands = code.accesses, {}, self.e.operands
        for access in sorted(accesses, key=lambda access: access.operand):
            found[access] = self.m.zext("i64", operands.address(code, access.operand))
        for access in accesses:
            given = operands.read_named(code, access.count) if access.count else None
            if given is not None:
                nothing = given if given.type == "i1" else self.m.eq(given, self.m.const(given.type, 0))
                found[access] = self.m.select(nothing, self.m.const("i64", NOWHERE), found[access])
        return [self.m.vector(found[access]) for access in accesses]

    def _step(self, code: Code, places: list[str]) -> None:
        """Records a step, if the warp is recorded and there is room; `places`: from `_addresses_of`."""
        t, shape = self.t, layout(self.program, code)
        values = [
            (self.m.vector(self.e.registers.read(r)), self.program.registers[r].lane, at) for r, at in shape.registers
        ]
        with t.if_then("%traced"):
            step, data = self._of("next_step"), self._of("next_data")
            next_step = t.offset(step, Step.size)
            next_data = t.offset(data, -(-shape.size // 64) * 64)
            over = [
                t.ugt("ptr", pointer, self._of(limit))
                for pointer, limit in ((next_step, "last_step"), (next_data, "last_data"))
            ]
            with t.if_else(t.or_("i1", over[0], over[1])) as (full, room):
                with full:
                    t.put(Reel, "full", 1, "%trace")
                with room:
                    self._write(code, step, data, values, list(zip(places, shape.touches, strict=True)))
                    t.store("ptr", next_step, t.field(Reel, "next_step", "%trace"))
                    t.store("ptr", next_data, t.field(Reel, "next_data", "%trace"))

    def _write(
        self, code: Code, step: str, data: str, values: list[tuple[str, str, int]], touches: list[tuple[str, Touch]]
    ) -> None:
        """Records a step and its data, for which there is room. values: vector, lane type and offset of registers."""
        t = self.t
        t.put(Step, "code", code.index, step)
        t.put(Step, "mask", self.active.block_bits, step)
        t.put(Step, "guard", self.active.bits, step)
        t.put(Step, "warp", "%warp.id", step)
        t.store("ptr", data, t.field(Step, "at", step))
        t.put(Step, "block", "%block.id", step)
        for value, lane, at in values:
            p = t.offset(data, at)
            if lane == "i1":
                t.store("i32", t.bitcast(f"<{W} x i1>", value, "i32"), p)
            else:
                t.store(f"<{W} x {LLVM[lane]}>", value, p, align=32)
        for place, (*_, at) in touches:
            t.store(f"<{W} x i64>", place, t.offset(data, at), align=32)

    def _of(self, name: str) -> str:
        return self.t.load("ptr", self.t.field(Reel, name, "%trace"))


class Tape:
    def __init__(self, recorder: TraceRecorder, blocks: np.ndarray, warps: np.ndarray) -> None:
        limit = recorder.trace.limit
        self.steps = np.empty(max(1, limit // 64), Step.dtype)
        raw = np.empty(limit + 128, np.uint8)
        self.data = raw[-raw.ctypes.data % 64 :][:limit]
        self.record = Reel.new()
        self.record.next_step = self.steps.ctypes.data
        self.record.last_step = self.steps.ctypes.data + self.steps.nbytes
        self.record.next_data = self.data.ctypes.data
        self.record.last_data = self.data.ctypes.data + self.data.size
        self.record.blocks, self.record.warps = Pointer(blocks), Pointer(warps)

    @property
    def made(self) -> int:
        return (self.record.next_step - self.steps.ctypes.data) // Step.size

    def recorded(self) -> np.ndarray:
        """The steps, `at` made an offset into the data."""
        steps = self.steps[: self.made].copy()
        steps["at"] -= np.uint64(self.data.ctypes.data)
        return steps


def chosen(recorder: TraceRecorder, blocks: int, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """Which blocks and which warps are recorded: 1 or 0 for each."""
    tables = []
    for of, count in ((recorder.blocks, blocks), (recorder.trace.warps, warps)):
        wanted: Any = of
        table = np.full(count, wanted is None, np.uint8)
        if wanted is not None:
            table[[n for n in wanted if 0 <= n < count]] = 1
        tables.append(table)
    return tables[0], tables[1]


class Flat:
    """The layouts of all instructions as arrays, to look up many steps at once."""

    def __init__(self, program: Program) -> None:
        layouts = [layout(program, code) for code in program.codes]
        self.writes = np.array([len(x.registers) for x in layouts])
        self.touches = np.array([len(x.touches) for x in layouts])
        self.write_start, self.touch_start = (
            np.cumsum(self.writes) - self.writes,
            np.cumsum(self.touches) - self.touches,
        )
        pairs = [pair for x in layouts for pair in x.registers]
        self.register, self.offset = np.array(pairs or [(0, 0)], np.int64).T
        found = [touch for x in layouts for touch in x.touches]
        self.head = np.array(
            [(KINDS.index(kind), SPACES.index(space), size) for kind, space, size, _, _ in found] or [(0, 0, 0)],
            np.uint8,
        )
        self.lanes = np.array([lanes for *_, lanes, _ in found] or [0], np.uint32)
        self.at = np.array([at for *_, at in found] or [0], np.int64)
        types = [DTYPE[r.lane] for r in program.registers]
        self.kinds = list(dict.fromkeys(types))
        """The types of lane values that registers have."""
        self.kind = np.array([self.kinds.index(dtype) for dtype in types], np.intp)
        """For each register which of these it has, and which of the registers with that type it is."""
        self.row = np.array([types[:r].count(dtype) for r, dtype in enumerate(types)], np.intp)


def _spread(counts: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """start, start + 1, ... of each, as many as its count."""
    ends = np.cumsum(counts)
    out: np.ndarray = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(starts - (ends - counts), counts)
    return out


def transcribe(recorder: TraceRecorder, flat: Flat, tapes: list[Tape]) -> None:
    """Writes the recorded steps as pages of the trace. Compressed, without the GIL, while the next are made."""
    with ThreadPoolExecutor(PACKERS) as pool:
        packing: deque[tuple[tuple[int, int], int, int, Future[bytes]]] = deque()

        def write_oldest() -> None:
            key, first, count, body = packing.popleft()
            recorder.page(key, first, count, body.result())

        for key, first, keyframe, columns in _all_pages(recorder, flat, tapes):
            packing.append((key, first, len(columns.codes), pool.submit(packed, columns.laid_out(keyframe))))
            if len(packing) > PACKERS:
                write_oldest()
        while packing:
            write_oldest()


def _all_pages(
    recorder: TraceRecorder, flat: Flat, tapes: list[Tape]
) -> Iterator[tuple[tuple[int, int], int, Kinds, Columns]]:
    """(block and warp, number of the first step, registers before it, the rest) for each page."""
    recorder.capped |= any(tape.record.full for tape in tapes)
    written = [tape for tape in tapes if tape.made]
    for tape in written:
        steps = tape.recorded()
        if len(written) == 1:  # of several workers it is not known which made a step first
            recorder.order.all_steps(steps["block"], steps["warp"])
        for block in _in_order(steps["block"]):
            of_block = steps[steps["block"] == block]
            for warp in _in_order(of_block["warp"]):
                for first, keyframe, columns in _pages(of_block[of_block["warp"] == warp], tape.data, flat, recorder):
                    yield (block, warp), first, keyframe, columns


def _pages(
    steps: np.ndarray, data: np.ndarray, flat: Flat, recorder: TraceRecorder
) -> Iterator[tuple[int, Kinds, Columns]]:
    """(number of the first step, registers before it, the rest) for each page of a warp."""
    trace = recorder.trace
    state = {dtype: np.zeros((int((flat.kind == k).sum()), W), dtype) for k, dtype in enumerate(flat.kinds)}
    end = len(steps) if trace.steps is None else min(len(steps), trace.start + trace.steps)
    cuts = sorted({0, min(trace.start, end), *range(trace.start, end, PAGE), end})
    for first, last in itertools.pairwise(cuts):
        part = steps[first:last]
        keyframe = {dtype: values.copy() for dtype, values in state.items()}
        columns = _columns(part, data, flat)
        for k, (dtype, values) in enumerate(columns.kinds.items()):  # of several values of a register the last stays
            written = columns.registers[flat.kind[columns.registers] == k]
            state[dtype][flat.row[written]] = values
        if first >= trace.start:
            yield first, keyframe, columns


def _in_order(numbers: np.ndarray) -> list[int]:
    """The different numbers, in the order in which they come."""
    first = np.full(int(numbers.max()) + 1 if numbers.size else 0, numbers.size)
    first[numbers[::-1]] = np.arange(numbers.size)[::-1]  # of several places the last that is assigned stays
    there = np.flatnonzero(first < numbers.size)
    found: list[int] = there[np.argsort(first[there])].tolist()
    return found


def _pieces(data: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    """`size` bytes from each place on, a row each."""
    if not at.size:
        return np.zeros((0, size), np.uint8)
    anywhere: np.ndarray = np.ndarray(data.size - size + 1, f"V{size}", data, strides=(1,))
    found: np.ndarray = anywhere[at].view(np.uint8).reshape(-1, size)
    return found


def _columns(part: np.ndarray, data: np.ndarray, flat: Flat) -> Columns:
    codes, at = part["code"].astype(np.int64), part["at"].astype(np.int64)
    runs = part["guard"] != 0  # where no lane's guard held nothing is written
    counts = np.where(runs, flat.writes[codes], 0)
    which = _spread(counts, flat.write_start[codes])
    registers, places = flat.register[which], np.repeat(at, counts) + flat.offset[which]
    kinds: Kinds = {}
    for k, dtype in enumerate(flat.kinds):
        mine = flat.kind[registers] == k
        if dtype == np.bool_:
            kinds[dtype] = np.unpackbits(_pieces(data, places[mine], 4), axis=1, bitorder="little").view(np.bool_)
        else:
            kinds[dtype] = _pieces(data, places[mine], W * dtype.itemsize).view(dtype)
    touching = np.where(runs, flat.touches[codes], 0)
    touch = _spread(touching, flat.touch_start[codes])
    lanes = np.repeat(part["guard"], touching) & flat.lanes[touch]
    spots = np.repeat(at, touching) + flat.at[touch]
    addresses = _pieces(data, spots, 8 * W).view(np.uint64)
    lanes &= np.packbits(addresses != NOWHERE, axis=1, bitorder="little").view(np.uint32).ravel()
    return Columns(codes, part["mask"], counts, registers, kinds, touching, flat.head[touch], lanes, addresses)

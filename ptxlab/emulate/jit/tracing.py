"""Traces from the compiling engine: the warps that are recorded run in the slow function, which writes down each step.

A recorded warp never goes to the fast function; all others run as ever. A step is 32 bytes in one list (instruction,
lanes, lanes whose guard held, warp, where its data lie, block) and, in another, the registers that it wrote and the
addresses that it accessed, as they are: no compression while the kernel runs. Afterwards this is made into the pages of
a trace (see `ptxlab.emulate.trace.recorder`). When the room for data is used up, recording ends.

Two things are told otherwise than by the stepping engine: lanes that meet at a `.sync` instruction are one step, when
the last has come; and a `wmma` access is noted with the address it was given, not line by line.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.control import Control
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.values import BITS
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.model import Block, Code, Mem, Program
from ptxlab.emulate.step.lanes import DTYPE
from ptxlab.emulate.trace.recorder import KINDS, PAGE, SPACES, Columns, TraceRecorder
from ptxlab.isa import types

STEP = np.dtype([("code", "<u4"), ("mask", "<u4"), ("guard", "<u4"), ("warp", "<u4"), ("at", "<u8"), ("block", "<u8")])
"""One step, as compiled code writes it."""
# The record that the context points to: where the next step and its data go, where room ends, who is recorded.
NEXT_STEP, LAST_STEP, NEXT_DATA, LAST_DATA, BLOCKS, WARPS, FULL, DATA = 0, 8, 16, 24, 32, 40, 48, 56
SIZE = 64


@dataclass(frozen=True)
class Layout:
    """What the data of one instruction's steps are: (register, offset) of what it writes, and for each access what it
    does, its space, size and lanes (a bit mask, to be cut with the guard) and the offset of 32 addresses."""

    registers: tuple[tuple[int, int], ...]
    touches: tuple[tuple[str, str, int, int, int], ...]
    size: int


def layout(program: Program, code: Code) -> Layout:
    """The layout of an instruction's data."""
    at, registers, touches = 0, [], []
    for r in dict.fromkeys(writes(code)) if code.name != "call" else ():
        registers.append((r, at))
        lane = program.registers[r].lane
        at += 64 if lane == "i1" else W * BITS[lane] // 8
    form = code.form
    if form is not None:
        whole = (1 << W) - 1
        places = [s for s in code.sources if isinstance(s, Mem)]
        if form.op.kind == "async" and len(places) == 2:
            size = next(int(s.value) for s, t in zip(code.sources, code.source_types, strict=True) if t == "int")  # type: ignore[union-attr]
            touches = [("store", "shared", size, whole, at), ("load", "global", size, whole, at + 8 * W)]
        elif places and form.op.kind != "none":
            kind = {"ld": "load", "ldu": "load", "ldmatrix": "load", "st": "store", "stmatrix": "store"}.get(code.name)
            if code.name == "wmma":
                kind = "store" if form.matrix == "d" else "load"
            count = int(form.vec[1:]) if form.vec else 1
            size = 16 if form.op.kind == "warp" else count * types.width(str(form.type)) // 8
            lanes = (1 << 8 * int(form.num[1:])) - 1 if code.name in ("ldmatrix", "stmatrix") else whole
            touches = [(kind or "atomic", code.space, size, lanes, at)]
        at += 8 * W * len(touches)
    return Layout(tuple(registers), tuple(touches), at)


class TracingSlow(Control):
    """The mixin of the slow function."""

    _traced_meeting: Code | None = None

    def _fields(self) -> None:
        """Loads where steps go, whether this warp is recorded, and its number and that of its block."""
        super()._fields()  # type: ignore[misc]
        for name, base, offset, kind in (
            ("trace", "ctx", S.TRACE, "ptr"), ("traced.word", "ws", S.TRACED, "i32"),
            ("warp.id", "ws", S.WARP_ID, "i32"), ("block.id", "cta", S.LINEAR, "i64"),
        ):  # fmt: skip
            self.t.do(f"%{name}.q = getelementptr i8, ptr %{base}, i64 {offset}")
            self.t.do(f"%{name} = load {kind}, ptr %{name}.q")
        self.t.do("%traced = icmp ne i32 %traced.word, 0")

    def _rejoin(self, block: Block) -> str:
        """The lanes that go on here; those of a recorded warp stay in this function, also when all are together."""
        t = self.t
        bits = t.let("load i32, ptr %mask.p")
        others, on = t.label("others"), t.label("on")
        t.do(f"br i1 %traced, label %{on}, label %{others}")
        t.at(others)
        super()._rejoin(block)  # type: ignore[misc]
        t.do(f"br label %{on}")
        t.at(on)
        return bits

    def plain(self, code: Code) -> None:
        """An instruction, and then its step: addresses are read before, since it may overwrite their registers."""
        places = self._addresses_of(code)
        super().plain(code)
        self._step(code, places)

    def control(self, block: Block, code: Code) -> None:
        """A branch or barrier: the step is written before the lanes leave."""
        self._step(code, [])
        super().control(block, code)

    def _given(self, block: Block, code: Code) -> None:
        """Lanes have met: the step is written when the result is, in `flush`."""
        self._traced_meeting = code
        super()._given(block, code)  # type: ignore[misc]

    def flush(self, alive: int) -> None:
        """The end of a block: all registers go to memory, also those that nobody reads again."""
        if self._traced_meeting is not None:  # lanes have met, the result is written
            code, self._traced_meeting = self._traced_meeting, None
            self.mask_bits = self._block_bits
            self._step(code, self._addresses_of(code))
        super().flush(-1)  # what nobody reads any more is shown all the same

    def _addresses_of(self, code: Code) -> list[str]:
        """The 32 addresses (i64) of each access of an instruction."""
        out = []
        for mem in [s for s in code.sources if isinstance(s, Mem)][: len(layout(self.program, code).touches)]:
            base = self._base(mem)
            at = self.add(base, self.const(base.type, mem.offset))
            out.append(self.vector(at if at.type == "i64" else self.zext("i64", at)))
        return out

    def _step(self, code: Code, places: list[str]) -> None:
        """Writes a step down, if the warp is recorded and there is room; `places`: as `_addresses_of` gives them."""
        t, shape = self.t, layout(self.program, code)
        values = [(self.vector(self.read_register(r)), self.program.registers[r].lane, at) for r, at in shape.registers]
        write, room, full, on = t.label("write"), t.label("room"), t.label("full"), t.label("on")
        t.do(f"br i1 %traced, label %{write}, label %{on}")
        t.at(write)
        step, data = t.let("load ptr, ptr %trace"), self._of("%trace", NEXT_DATA, "ptr")
        next_step = t.let(f"getelementptr i8, ptr {step}, i64 {STEP.itemsize}")
        next_data = t.let(f"getelementptr i8, ptr {data}, i64 {-(-shape.size // 64) * 64}")
        over = [
            t.let(f"icmp ugt ptr {pointer}, {self._of('%trace', limit, 'ptr')}")
            for pointer, limit in ((next_step, LAST_STEP), (next_data, LAST_DATA))
        ]
        t.do(f"br i1 {t.let(f'or i1 {over[0]}, {over[1]}')}, label %{full}, label %{room}")
        t.at(full)
        t.do(f"store i64 1, ptr {t.let(f'getelementptr i8, ptr %trace, i64 {FULL}')}")
        t.do(f"br label %{on}")
        t.at(room)
        for offset, kind, value in (
            (0, "i32", str(code.index)), (4, "i32", self._block_bits), (8, "i32", self.mask_bits),
            (12, "i32", "%warp.id"), (16, "ptr", data), (24, "i64", "%block.id"),
        ):  # fmt: skip
            t.do(f"store {kind} {value}, ptr {t.let(f'getelementptr i8, ptr {step}, i64 {offset}')}")
        for value, lane, at in values:
            p = t.let(f"getelementptr i8, ptr {data}, i64 {at}")
            if lane == "i1":
                t.do(f"store i32 {t.let(f'bitcast <{W} x i1> {value} to i32')}, ptr {p}")
            else:
                t.do(f"store <{W} x {self._llvm(lane)}> {value}, ptr {p}, align 32")
        for place, (*_, at) in zip(places, shape.touches, strict=True):
            t.do(f"store <{W} x i64> {place}, ptr {t.let(f'getelementptr i8, ptr {data}, i64 {at}')}, align 32")
        t.do(f"store ptr {next_step}, ptr %trace")
        t.do(f"store ptr {next_data}, ptr {t.let(f'getelementptr i8, ptr %trace, i64 {NEXT_DATA}')}")
        t.do(f"br label %{on}")
        t.at(on)

    def _of(self, record: str, offset: int, kind: str) -> str:
        """A field of a record."""
        return self.t.let(f"load {kind}, ptr {self.t.let(f'getelementptr i8, ptr {record}, i64 {offset}')}")

    @staticmethod
    def _llvm(lane: str) -> str:
        """The LLVM type of a lane type."""
        return {"f32": "float", "f64": "double"}.get(lane, lane)


def start(state_size: int) -> str:
    """Where a warp starts: a recorded one starts in the slow function, and no register holds what was there before."""
    return f"""  %i.tr.p = getelementptr i8, ptr %ctx, i64 {S.TRACE}
  %i.tr = load ptr, ptr %i.tr.p
  %i.tr.b.p = getelementptr i8, ptr %i.tr, i64 {BLOCKS}
  %i.tr.b = load ptr, ptr %i.tr.b.p
  %i.tr.block.p = getelementptr i8, ptr %i.tr.b, i64 %n
  %i.tr.block = load i8, ptr %i.tr.block.p
  %i.tr.w.p = getelementptr i8, ptr %i.tr, i64 {WARPS}
  %i.tr.w = load ptr, ptr %i.tr.w.p
  %i.tr.warp.p = getelementptr i8, ptr %i.tr.w, i64 %i
  %i.tr.warp = load i8, ptr %i.tr.warp.p
  %i.tr.both = and i8 %i.tr.block, %i.tr.warp
  %i.tr.is = zext i8 %i.tr.both to i32
  %i.mode.p = getelementptr i8, ptr %i.ws, i64 {S.MODE}
  store i32 %i.tr.is, ptr %i.mode.p
  %i.traced.p = getelementptr i8, ptr %i.ws, i64 {S.TRACED}
  store i32 %i.tr.is, ptr %i.traced.p
  %i.tr.regs = getelementptr i8, ptr %i.ws, i64 {S.REGISTERS}
  call void @llvm.memset.p0.i64(ptr %i.tr.regs, i8 0, i64 {state_size - S.REGISTERS}, i1 false)"""


class Tape:
    """The room that one worker's steps are written to."""

    def __init__(self, recorder: TraceRecorder, blocks: np.ndarray, warps: np.ndarray) -> None:
        limit = recorder.trace.limit
        self.steps = np.empty(max(1, limit // 64), STEP)
        raw = np.empty(limit + 128, np.uint8)
        self.data = raw[-raw.ctypes.data % 64 :][:limit]
        self.record = np.zeros(SIZE // 8, np.int64)
        self.record[:] = (
            self.steps.ctypes.data, self.steps.ctypes.data + self.steps.nbytes, self.data.ctypes.data,
            self.data.ctypes.data + self.data.size, blocks.ctypes.data, warps.ctypes.data, 0, 0,
        )  # fmt: skip

    def recorded(self) -> np.ndarray:
        """The steps, `at` made an offset into the data."""
        count = (int(self.record[0]) - self.steps.ctypes.data) // STEP.itemsize
        steps = self.steps[:count].copy()
        steps["at"] -= np.uint64(self.data.ctypes.data)
        return steps


def chosen(recorder: TraceRecorder, blocks: int, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """Which blocks and which warps are recorded: 1 or 0 for each."""
    tables = []
    for of, count in ((recorder.trace.blocks, blocks), (recorder.trace.warps, warps)):
        wanted: Any = of
        table = np.full(count, wanted is None, np.uint8)
        if wanted is not None:
            table[[n for n in wanted if 0 <= n < count]] = 1
        tables.append(table)
    return tables[0], tables[1]


# -- afterwards --------------------------------------------------------------------------------------------------------


class Flat:
    """The layouts of all instructions as arrays, to look many steps up at once."""

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
        self.types = [DTYPE[r.lane] for r in program.registers]


def _spread(counts: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """start, start + 1, ... of each, as many as its count."""
    ends = np.cumsum(counts)
    out: np.ndarray = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(starts - (ends - counts), counts)
    return out


def transcribe(recorder: TraceRecorder, program: Program, tapes: list[Tape]) -> None:
    """Makes pages of what was recorded."""
    flat = Flat(program)
    for tape in tapes:
        steps = tape.recorded()
        recorder.capped |= bool(tape.record[FULL // 8])
        for block in dict.fromkeys(steps["block"].tolist()):
            of_block = steps[steps["block"] == block]
            for warp in dict.fromkeys(of_block["warp"].tolist()):
                for first, keyframe, columns in _pages(of_block[of_block["warp"] == warp], tape.data, flat, recorder):
                    recorder.page((int(block), int(warp)), first, len(columns.codes), columns.pack(keyframe))


def _pages(
    steps: np.ndarray, data: np.ndarray, flat: Flat, recorder: TraceRecorder
) -> Iterator[tuple[int, list[np.ndarray], Columns]]:
    """(number of the first step, registers before it, the rest) for each page of a warp."""
    trace = recorder.trace
    state = [np.zeros(W, dtype) for dtype in flat.types]
    end = len(steps) if trace.steps is None else min(len(steps), trace.start + trace.steps)
    cuts = sorted({0, min(trace.start, end), *range(trace.start, end, PAGE), end})
    for first, last in itertools.pairwise(cuts):
        part = steps[first:last]
        keyframe = list(state)
        columns = _columns(part, data, flat)
        for r in np.unique(columns.registers).tolist():
            state[r] = columns.value(int(np.flatnonzero(columns.registers == r)[-1]))
        if first >= trace.start:
            yield first, keyframe, columns


def _columns(part: np.ndarray, data: np.ndarray, flat: Flat) -> Columns:
    """The steps of one page as a trace wants them: what is alike lies together."""
    codes, at = part["code"].astype(np.int64), part["at"].astype(np.int64)
    counts = flat.writes[codes]
    which = _spread(counts, flat.write_start[codes])
    registers, places = flat.register[which], np.repeat(at, counts) + flat.offset[which]
    kinds: dict[np.dtype[Any], np.ndarray] = {}
    rows: dict[np.dtype[Any], np.ndarray] = {}
    for dtype in dict.fromkeys(flat.types):
        mine = np.array([t == dtype for t in flat.types])[registers] if registers.size else np.zeros(0, np.bool_)
        size = 4 if dtype == np.bool_ else W * dtype.itemsize
        raw = data[places[mine][:, None] + np.arange(size)]
        if dtype == np.bool_:
            kinds[dtype] = np.unpackbits(raw, axis=1, bitorder="little").view(np.bool_)
        else:
            kinds[dtype] = raw.view(dtype)
        rows[dtype] = np.flatnonzero(mine)
    touching = np.where(part["guard"] != 0, flat.touches[codes], 0)
    touch = _spread(touching, flat.touch_start[codes])
    lanes = np.repeat(part["guard"], touching) & flat.lanes[touch]
    spots = np.repeat(at, touching) + flat.at[touch]
    addresses = data[spots[:, None] + np.arange(8 * W)].view(np.uint64)
    return Columns(
        codes, part["mask"], counts, registers, kinds, rows, touching, flat.head[touch], lanes, addresses
    )  # fmt: skip

"""Bulk copies in the stepping engine: operands are read and judged here, transfers performed by `rules.bulk`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.language import Pointer, local, u8, u64
from ptxlab.emulate.language import i32 as int32
from ptxlab.emulate.program.addresses import PARAM_WINDOW, PEER
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.model import Code, Literal, Mem, Program, Symbol
from ptxlab.emulate.rules import bulk
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.rules.bulk_instructions import BAD_SIZE, BEHIND, NO_MAP, REASONS, bulk_of, reduced_type
from ptxlab.emulate.rules.faults import access_fault, fault
from ptxlab.emulate.rules.memcheck import FINE, judge
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import LOCAL, SPACES
from ptxlab.emulate.runtime.transfers import LOAD_TILE, WRITE, Queue, Transfer
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.mbarriers import refused as refused_mbarrier
from ptxlab.errors import DeviceFault
from ptxlab.isa.actions import Action
from ptxlab.isa.mbarrier import TAG, TAG_SHIFT, Problem

if TYPE_CHECKING:
    from ptxlab.emulate.step.access import Region
    from ptxlab.emulate.step.translate import Read, Step, Translator
    from ptxlab.emulate.step.warp import Warp


def refused(
    program: Program, launch: Launch, code: Code, *, reason: int, found: int, block: int, thread: int
) -> DeviceFault:
    """The fault of a bulk copy that cannot be done."""
    message = f"{code.form.opcode}: {REASONS[reason].format(found)}"
    return fault(program, launch, "trap", message, line=code.line, block=block, thread=thread)


def space_of(address: int) -> str:
    """Where an address of a bulk copy lies: those of shared memory have 32 bits."""
    return "cluster" if address < 1 << 32 else "generic"


def _queue(w: Warp) -> Queue:
    """The bulk copies that are on their way in a warp's cluster."""
    queue = w.spaces.cluster.queue
    assert queue is not None
    return queue


def translate(t: Translator, code: Code) -> Step:
    """The step of an instruction that copies in bulk, commits such copies to a group or waits for one."""
    if code.action in (Action.COMMIT, Action.WAIT_GROUP):
        commits = code.action is Action.COMMIT
        left = next((int(s.value) for s in code.sources if isinstance(s, Literal)), 0)

        def group(w: Warp) -> int | None:
            cluster = w.spaces.cluster
            for lane in np.flatnonzero(w.mask).tolist():
                thread = LANES * w.warp + lane
                if commits:
                    bulk.commit(_queue(w), w.spaces.rank, thread)
                else:
                    bulk.wait_group(cluster.context, _queue(w), w.spaces.rank, thread, left)
            return None

        return group
    return _Copy(t, code).run


class _Copy:
    """One bulk copy."""

    def __init__(self, t: Translator, code: Code) -> None:
        self.code, self.what, self.program = code, bulk_of(code), t.program
        names = [s.name for s in code.form.op.operands]
        self.reads: dict[str, Read] = dict(zip(names, t.readers(code), strict=False))
        self.given = {name: code.named[name][0] for name in names}
        self.place = t.read(code.sources[-1], "any", code) if code.form.tensor else None
        self.source_space = "global" if code.form.src == "global" else "shared"

    def run(self, w: Warp) -> int | None:
        columns = {name: self._column(w, name) for name in ("a", "b", "size", "m", "mask") if self.given.get(name)}
        for lane in np.flatnonzero(w.mask).tolist():
            numbers = {name: int(column[lane]) for name, column in columns.items()}
            if self.code.form.tensor:
                self._tile(w, lane, numbers)
            else:
                self._bytes(w, lane, numbers)
        return None

    def _column(self, w: Warp, name: str) -> np.ndarray:
        source = self.given[name]
        if name == "b" and self.what.kind == WRITE:
            return np.zeros(LANES, np.uint64)
        if isinstance(source, Mem) and isinstance(source.base, Symbol) and source.base.space == "param":
            return np.full(LANES, PARAM_WINDOW + source.base.value + source.offset, np.uint64)
        return np.asarray(self.reads[name](w)).astype(np.uint64)

    # -- addresses

    def _find(
        self, w: Warp, lane: int, what: str, space: str, address: int, count: int, align: int, shown: int = -1
    ) -> tuple[Pointer[int], Pointer[int] | None]:  # fmt: skip
        """Where `count` bytes lie, and the record of written bytes there; shown: the address that a fault names."""
        verdict, where, index, offset = judge(w.machine.map, SPACES[space], address, count, align, what != "load")
        if verdict != FINE or where == LOCAL or w._gone(where, index):
            shown = address if shown < 0 else shown
            raise access_fault(
                self.program, w.machine.launch, w.machine.memory, line=self.code.line, block=w.block_index,
                thread=LANES * w.warp + lane, what=what, space=space_of(shown), address=shown, size=count, align=align,
            )  # fmt: skip
        region: Region = w._held(space, where, index)
        if w.touches is not None:
            lanes = np.arange(LANES) == lane
            w.touches.append(Touch(what, space_of(address), np.full(LANES, address, np.uint64), count, lanes))
        written = None if region.written is None else Pointer[int](region.written, offset)
        check = w.spaces.check
        if check is not None and region.name == "shared memory" and check.record.written is not None:
            rank = index if address >= PEER else w.spaces.rank
            owner = w.spaces.cluster.blocks[rank].check
            written = None if owner is None else owner.record.written + offset
        return Pointer(region.data, offset), written

    def _begin(self, w: Warp, lane: int, rank: int, count: int, at: int) -> Transfer:
        cluster = w.spaces.cluster
        transfer = bulk.issue(cluster.context, _queue(w))
        transfer.kind, transfer.code, transfer.thread = self.what.kind, self.code.index, LANES * w.warp + lane
        transfer.rank, transfer.group, transfer.word, transfer.written = w.spaces.rank, 0, None, None
        transfer.count, transfer.operation, transfer.type = count, self.what.operation, self.what.type
        transfer.at, transfer.at_rank, transfer.reads = at % PEER, rank, int(self.what.grouped)
        if self.what.grouped:
            queue = _queue(w)
            transfer.group = queue.committed[w.spaces.rank * queue.threads + transfer.thread] + 1
        return transfer

    def _report_to(self, w: Warp, lane: int, transfer: Transfer, address: int, rank: int) -> None:
        """The mbarrier of a transfer, in the block of a rank."""
        if not self.what.multicast or address >= BEHIND:
            rank = w.spaces.rank if address < PEER else address // PEER - 1
        at = address % PEER + (rank + 1) * PEER
        try:
            place, _ = self._find(w, lane, "store", "cluster", at, 8, 8, at % PEER if rank == w.spaces.rank else -1)
            word = place.cast(u64)
            if word[0] >> TAG_SHIFT & 3 != TAG:
                raise refused_mbarrier(
                    self.program, w.machine.launch, self.code, which=Problem.NOT_INITIALISED, block=w.block_index,
                    thread=LANES * w.warp + lane,
                )  # fmt: skip
        except DeviceFault:
            transfer.open = 0
            raise
        transfer.word, transfer.owner, transfer.barrier = word, rank, at % PEER

    def _ranks(self, w: Warp, address: int, mask: int | None) -> list[int]:
        if self.what.multicast and mask is not None:
            return [rank for rank in range(16) if mask >> rank & 1] if address < BEHIND else [address // PEER - 1]
        return [w.spaces.rank if address < PEER else address // PEER - 1]

    def _told(self, w: Warp, transfer: Transfer) -> None:
        context = w.spaces.cluster.context
        if context.checked:
            bulk.issued(context, _queue(w), transfer)

    # -- copies

    def _bytes(self, w: Warp, lane: int, numbers: dict[str, int]) -> None:
        what, to = self.what, numbers["a"]
        count, align = what.count or numbers["size"], what.count or 16
        held: Pointer[int] | None = None
        if what.kind != WRITE:
            if not count or count % 16:
                raise refused(
                    self.program, w.machine.launch, self.code, reason=BAD_SIZE, found=count, block=w.block_index,
                    thread=LANES * w.warp + lane,
                )  # fmt: skip
            held, _ = self._find(w, lane, "load", self.source_space, numbers["b"], count, 16)
        if what.grouped:
            place, written = self._find(w, lane, "store", "global", to, count, 16)
            transfer = self._begin(w, lane, w.spaces.rank, count, numbers["b"])
            transfer.to, transfer.written = place, written
            if held is not None:
                transfer.source = held
            self._told(w, transfer)
            return
        for rank in self._ranks(w, to, numbers.get("mask")):
            there = to % PEER + (rank + 1) * PEER
            shown = to if rank == w.spaces.rank else there
            place, written = self._find(w, lane, "store", "cluster", there, count, align, shown)
            transfer = self._begin(w, lane, rank, count, there)
            transfer.to, transfer.written = place, written
            if held is not None:
                transfer.source = held
            if what.kind == WRITE:
                transfer.value[0], transfer.value[1] = self._value(w, lane)
            self._report_to(w, lane, transfer, numbers["m"], rank)
            self._told(w, transfer)

    def _value(self, w: Warp, lane: int) -> tuple[int, int]:
        """The value of `st.async` or `red.async` as two numbers."""
        given: Any = self.reads["b"](w)
        parts = given if isinstance(given, tuple) else (given,)
        raw = b"".join(part[lane : lane + 1].tobytes() for part in parts).ljust(16, bytes(1))
        low, high = np.frombuffer(raw[:16], np.uint64).tolist()
        return low, high

    def _tile(self, w: Warp, lane: int, numbers: dict[str, int]) -> None:
        load = self.what.kind == LOAD_TILE
        address, shared = (numbers["b"], numbers["a"]) if load else (numbers["a"], numbers["b"])
        found, _ = self._find(w, lane, "load", "generic", address, 128, 64)
        map = local(u64, 16)
        for k in range(128):
            map.cast(u8)[k] = found[k]
        if not maps.is_map(map):
            raise refused(
                self.program, w.machine.launch, self.code, reason=NO_MAP, found=address, block=w.block_index,
                thread=LANES * w.warp + lane,
            )  # fmt: skip
        place, shift = local(int32, 5), local(int32, 3)
        assert self.place is not None
        coordinates: Any = self.place(w)
        for k, value in enumerate(coordinates if isinstance(coordinates, tuple) else (coordinates,)):
            place[k] = int(value[lane].view(np.int32))
        if self.given.get("i"):
            offsets: Any = self.reads["i"](w)
            for k, value in enumerate(offsets if isinstance(offsets, tuple) else (offsets,)):
                shift[k] = int(value[lane])
        some, low, length = maps.reach(map, place, shift)
        tensor: Pointer[int] | None = None
        written: Pointer[int] | None = None
        if some:
            first = (map[1] + low) % (1 << 64)
            tensor, written = self._find(w, lane, "load" if load else "store", "global", first, length, 1)
        count = maps.tile_bytes(map)
        if not load and shared >= PEER:
            self._find(w, lane, "load", "shared", shared, count, 128)
        for rank in self._ranks(w, shared if load else 0, numbers.get("mask")):
            there = shared % PEER + (rank + 1) * PEER
            shown = shared if rank == w.spaces.rank else there
            inside, marked = self._find(w, lane, "store" if load else "load", "cluster", there, count, 128, shown)
            transfer = self._begin(w, lane, rank, count, there)
            transfer.base, transfer.type = -low % (1 << 64), reduced_type(map)
            ends = (inside, tensor) if load else (tensor, inside)
            if ends[0] is not None:
                transfer.to = ends[0]
            if ends[1] is not None:
                transfer.source = ends[1]
            transfer.written = marked if load else written
            for k in range(16):
                transfer.map[k] = map[k]
            for k in range(5):
                transfer.place[k] = place[k]
            for k in range(3):
                transfer.shift[k] = shift[k]
            if load:
                self._report_to(w, lane, transfer, numbers["m"], rank)
            self._told(w, transfer)

"""Loads, stores and atomics of the interpreter: 32 addresses at a time, every one of them checked.

An address belongs to a region: one allocation of device memory, the block's shared memory, a thread's local memory, or
the kernel's parameters. Most instructions stay in one region, which the warp caches for each of them; otherwise the
lanes are grouped by region. If several lanes are faulty, the lowest is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.rules.bulk_copies import flushed
from ptxlab.emulate.rules.faults import FaultingThread
from ptxlab.emulate.rules.memcheck import VALID, in_heap, judge
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.runtime.state import CLUSTER, LOCAL, PARAM, SHARED, SPACES
from ptxlab.emulate.step.lanes import SIGNED, Lanes, one_nan
from ptxlab.emulate.step.launch_state import Spaces
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.isa import types
from ptxlab.isa.convert import WINDOWS
from ptxlab.isa.machine import Value
from ptxlab.isa.matching import form
from ptxlab.isa.table import Form


class Site:
    """A site, that is, an access in the code: what it needs, resolved once."""

    __slots__ = ("code", "count", "dtype", "shift", "size", "space")

    def __init__(self, code: Code, form: Form) -> None:
        vector = str(form.vec or "v1")
        self.code, self.space = code, code.space or "generic"
        self.count = int(vector[1:])
        self.dtype = DTYPE[types.lane(form.type)]
        self.size = self.dtype.itemsize * self.count
        self.shift = self.dtype.itemsize.bit_length() - 1


@dataclass(slots=True)
class Touch:
    """One access as traces, counters and checks see it: `size` bytes at the address of each active lane (32 uint64).
    before: what a plain store has overwritten, if that is known."""

    what: str
    space: str
    address: np.ndarray = field(repr=False)
    size: int
    mask: np.ndarray = field(repr=False)
    before: np.ndarray | None = field(default=None, repr=False)


class Access(Lanes):
    """A warp's accesses to memory, as semantics call them (`isa.machine.Machine`); `site`: the instruction running."""

    def __init__(self, spaces: Spaces, warp: int) -> None:
        super().__init__()
        self.spaces, self.launch_state, self.warp = spaces, spaces.launch_state, warp
        self.full = True
        self.site: Site
        self.near: dict[Site, Region] = {}
        self.touches: list[Touch] | None = None
        stride = self.launch_state.program.local_stride
        data = np.full(LANES * stride, POISON, np.uint8)
        lane_offset = np.arange(LANES, dtype=np.int64) * stride
        size = self.launch_state.program.local_size
        self.local = Region(0, data, size, "local memory", lane_offset=lane_offset)
        self.local_window = Region(LOCAL_WINDOW, data, size, "local memory", lane_offset=lane_offset)

    def load(self, i: Form, address: Value) -> Any:
        site = self.site
        parts: list[Value] = []
        for region, index, mask in self._located(site, address, "load"):
            view = region.view(site.dtype)
            if mask is None:
                parts = [view[index + k] if k else view[index] for k in range(site.count)]
                break
            parts = parts or [np.zeros(LANES, site.dtype) for _ in range(site.count)]
            chosen = index[mask]
            for k, part in enumerate(parts):
                part[mask] = view[chosen + k]
        return parts[0] if i.vec is None else tuple(parts)

    def store(self, i: Form, address: Value, value: Any) -> None:
        site = self.site
        parts = value if isinstance(value, tuple) else (value,)
        for region, index, mask in self._located(site, address, "store"):
            view = region.view(site.dtype)
            for k, part in enumerate(parts):
                at = index + k if k else index
                if mask is not None:
                    at, part = at[mask], part[mask]
                view[at] = part  # lanes in order: of two at one address the higher wins
                if region.written is not None:
                    region.mark(at, site.dtype)

    def atom(self, i: Form, address: Value, *values: Any) -> Any:
        site = self.site
        parts = [v if isinstance(v, tuple) else (v,) for v in values]
        old = [np.zeros(LANES, site.dtype) for _ in range(site.count)]
        dtype = SIGNED[site.dtype.itemsize] if types.is_signed(i.type) else site.dtype
        for region, index, mask in self._located(site, address, "atomic"):
            view, change = region.view(dtype), operation(i, flushes=region.flushes)
            lanes = np.flatnonzero(self.mask if mask is None else mask).tolist()
            if i.whole:
                _whole(view, index, lanes, old, parts)
                region.mark(index[lanes], site.dtype)
                region.mark(index[lanes] + 1, site.dtype)
                continue
            for k, before in enumerate(old):
                operands = [part[k].view(dtype) for part in parts]
                before = before.view(dtype)
                for lane in lanes:
                    at = index[lane] + k
                    before[lane] = view[at]
                    view[at] = change(view[at], *[operand[lane] for operand in operands])
                region.mark(index[lanes] + k, site.dtype)
        return old[0] if i.vec is None else tuple(old)

    def window(self, space: str) -> Value:
        return self.const("i64", WINDOWS.get(space, 0))

    def in_window(self, space: str, address: Value) -> Value:
        if space in WINDOWS:
            return address - np.uint64(WINDOWS[space]) < np.uint64(WINDOW_SIZE)
        return ~(address - np.uint64(PARAM_WINDOW) < np.uint64(SHARED_WINDOW + WINDOW_SIZE - PARAM_WINDOW))

    def faulting(self, code: Code, lane: int) -> FaultingThread:
        """The thread of a lane, which an instruction stops."""
        state, thread = self.launch_state, LANES * self.warp + lane
        return FaultingThread(state.program, state.launch, state.memory, code, self.spaces.block, thread)

    def _located(self, site: Site, address: Value, what: str) -> Iterator[tuple[Region, np.ndarray, np.ndarray | None]]:
        """(region, element index of each lane, lanes) until every active lane is served; lanes None means all 32."""
        if address.dtype.itemsize < 8:
            address = address.astype(np.uint64)
        if self.touches is not None:
            self.touches.append(Touch(what, site.space, address, site.size, self.mask))
        region = self.near.get(site)
        for _ in range(2):
            if region is not None and (region.writable or what == "load"):
                offset = address - region.base
                active = offset if self.full else offset[self.mask]
                if region.holds(active, site.size):
                    yield region, self._index(region, offset, site), None if self.full else self.mask
                    return
            region = self.region(site.space, int(address[self.mask.argmax()]))
            if region is None:
                break
            self.near[site] = region
        yield from self._by_region(site, address, what)

    def _by_region(self, site: Site, address: Value, what: str) -> Iterator[tuple[Region, np.ndarray, np.ndarray]]:
        """`_located` for lanes in several regions; raises for the lowest faulty lane before any is served."""
        size, left = site.size, self.mask
        aligned = address & np.uint64(size - 1) == 0
        parts: list[tuple[Region, np.ndarray, np.ndarray]] = []
        while left.any():
            lane = int(left.argmax())
            region, _ = self.place(site.code, what, site.space, int(address[lane]), lane, size)
            offset = address - region.base
            if in_heap(self.launch_state.map, int(address[lane])):
                mask = np.arange(LANES) == lane
            else:  # the others that are right there, too
                mask = left & aligned & (offset <= np.uint64(region.size - size))
            parts.append((region, self._index(region, np.where(mask, offset, np.uint64(0)), site), mask))
            left = left & ~mask
        yield from parts

    def _index(self, region: Region, offset: Value, site: Site) -> np.ndarray:
        index: np.ndarray = offset.view(np.int64)
        if region.lane_offset is not None:
            index = index + region.lane_offset
        return index >> site.shift

    def place(
        self, code: Code, what: str, space: str, address: int, lane: int, size: int, align: int = 0, warp: bool = False
    ) -> tuple[Region, int]:
        """Where one lane's access is: the region and the offset in it. align: if it is not `size`. warp: it is a
        warp's access to a matrix, in memory that all lanes see."""
        region, offset = self._find(space, address, size, align or size, what != "load")
        if region is None or (warp and region.lane_offset is not None):
            raise self.faulting(code, lane).access_fault(what, space, address, align or size, fragment=warp)
        return region, offset

    def region(self, space: str, address: int) -> Region | None:
        """The region that holds this address of a space; None if there is none, or what is valid there changes."""
        return None if in_heap(self.launch_state.map, address) else self._find(space, address, 1, 1, write=False)[0]

    def _find(self, space: str, address: int, size: int, align: int, write: bool) -> tuple[Region | None, int]:
        """The region of a valid access and the offset in it; None also where the block of the cluster has exited."""
        verdict, where, index, offset = judge(self.launch_state.map, SPACES[space], address, size, align, write)
        if verdict != VALID or (where == CLUSTER and self.spaces.cluster.blocks[index].ended):
            return None, 0
        return self._held(space, where, index), offset

    def _held(self, space: str, where: int, index: int) -> Region:
        """The region of addresses in `space` that lead to the space `where`, and there to the allocation `index`."""
        generic = space == "generic"
        if where == CLUSTER:
            return self.spaces.peer(index, generic=generic)
        if where == SHARED:
            return self.spaces.shared_window if generic else self.spaces.shared
        if where == LOCAL:
            return self.local_window if generic else self.local
        if where == PARAM:
            return self.launch_state.parameters_window if generic else self.launch_state.parameters
        return self.launch_state.region_of(index)


def _whole(view: np.ndarray, index: np.ndarray, lanes: list[int], old: list[Value], parts: list[Any]) -> None:
    """Exchanges 128 bits; with two operands, only where memory is equal to the first."""
    for lane in lanes:
        at = index[lane]
        old[0][lane], old[1][lane] = view[at], view[at + 1]
        if len(parts) == 1 or all(view[at + k] == parts[0][k][lane] for k in (0, 1)):
            view[at], view[at + 1] = parts[-1][0][lane], parts[-1][1][lane]


def operation(i: Form, *, flushes: bool) -> Callable[..., Any]:
    """The new value of an atomic operation on `x`: a function of numpy scalars of the operation's type. flushes: where
    memory is that flushes subnormal numbers (PTX ISA, atom: sums of f32 in global memory)."""
    if i.type in ("f16", "bf16", "f16x2", "bf16x2") and i.operation in ("add", "min", "max"):
        same = form(f"{i.operation}.{'rn.' if i.operation == 'add' else ''}{i.type}")
        assert same.op.sem is not None
        sem, lanes = same.op.sem, Lanes()
        return lambda x, b: sem(lanes, same, np.full(LANES, x), np.full(LANES, b))[0]
    if flushes and i.type == "f32" and i.operation == "add":
        return lambda x, b: flushed(one_nan(np.asarray(flushed(x) + flushed(b))))
    if types.is_float(i.type) and i.operation == "add":
        return lambda x, b: one_nan(np.asarray(x + b))
    return _OPERATIONS[i.operation]


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, b: x + b,
    "min": lambda x, b: b if b < x else x,
    "max": lambda x, b: b if b > x else x,
    "and": lambda x, b: x & b,
    "or": lambda x, b: x | b,
    "xor": lambda x, b: x ^ b,
    "inc": lambda x, b: 0 if x >= b else x + 1,
    "dec": lambda x, b: b if x == 0 or x > b else x - 1,
    "exch": lambda x, b: b,
    "cas": lambda x, b, c: c if x == b else x,
}

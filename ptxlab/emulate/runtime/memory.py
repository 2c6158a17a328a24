"""Device memory of the emulator: allocations at device addresses, which are never host addresses.

Every access looks up the allocation that contains the address and goes to that allocation's own numpy buffer, so no PTX
program can reach the memory of the process that runs it. A gap between two allocations turns a small overrun into an
error. `ptxlab.emulate.program.addresses` has the map.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ptxlab import forks
from ptxlab.emulate.language.types import start_of
from ptxlab.emulate.program.addresses import HEAP, HEAP_BASE, HeapPiece
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime import state
from ptxlab.emulate.runtime.report import Launch

ALIGNMENT = 512
GUARD = 4096
FAR = 1 << 38  # bytes; no array is so large that an index leads from one so far
MARGIN = 512
"""Bytes on both sides of a block's shared memory that compiled code may load, and store as they are: inactive lanes of
contiguous accesses reach them."""
POISON = 0xFF
"""The contents of shared and local memory before a kernel writes them: NaN as floats, so that a missing store shows."""


@dataclass(eq=False, repr=False)
class Allocation:
    """A range of device memory. `data` is its bytes; `written`, where kept, one byte each: 255 once stored to. host: it
    is an array of the host, which has the contents when the launch has ended."""

    address: int
    size: int
    data: np.ndarray
    name: str = ""
    space: str = "global"
    writable: bool = True
    freed: bool = False
    freed_at: str = ""  # the line of Python, where it is known
    itemsize: int = 0  # bytes of an element, where it is known
    written: np.ndarray | None = None
    host: bool = False

    @property
    def end(self) -> int:
        return self.address + self.size


class Memory:
    """The allocations of one device. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._next = HEAP_BASE
        self._all: list[Allocation] = []
        self.arguments: dict[int, str] = {}  # the caller's names of a kernel's parameters, by their offsets

    def allocate(
        self,
        size: int,
        name: str = "",
        data: np.ndarray | None = None,
        *,
        track_writes: bool = False,
        itemsize: int = 0,
    ) -> Allocation:
        """`size` bytes, zeroed, or holding `data` (any contiguous array of that many bytes, used in place, not copied).

        itemsize: bytes of an element, for messages; 0: not known. `track_writes` keeps a byte for each byte that says
        whether a kernel has stored to it.
        """
        if size < 0:
            raise ValueError(f"an allocation needs a size of 0 or more, got {size}")
        buffer = np.zeros(size, np.uint8) if data is None else data.reshape(-1).view(np.uint8)
        if buffer.size != size:
            raise ValueError(f"data holds {buffer.size} bytes, the allocation {size}")
        with self._lock:
            address = self._next
            self._next += -(-(size + GUARD) // ALIGNMENT) * ALIGNMENT
            allocation = Allocation(address, size, buffer, name, itemsize=itemsize, host=True)
            if track_writes:
                allocation.written = np.zeros(size, np.uint8)
            self._all.append(allocation)
        return allocation

    def place(self, address: int, data: np.ndarray, name: str, space: str, *, writable: bool = True) -> Allocation:
        """An allocation at a given address (module variables); `data` is used in place."""
        allocation = Allocation(address, data.size, data, name, space, writable)
        with self._lock:
            bisect.insort(self._all, allocation, key=lambda a: a.address)
        return allocation

    def remove(self, allocation: Allocation) -> None:
        """Removes an allocation without a trace: a later access is not a use after free."""
        with self._lock:
            self._all.remove(allocation)

    def free(self, allocation: Allocation) -> None:
        """Frees the bytes; the addresses are never reused, so a later access is reported as use after free."""
        if allocation.freed:
            raise ValueError(f"{_label(allocation)} was freed before")
        allocation.freed = True
        allocation.data = np.zeros(0, np.uint8)
        allocation.written = None

    def live(self, *, freed: bool = False) -> list[Allocation]:
        """The allocations not freed, by address; freed: and those that were."""
        with self._lock:
            return [a for a in self._all if freed or not a.freed]

    def find(self, address: int) -> Allocation | None:
        """The live allocation that holds this address, or None."""
        return next((a for a in self.live() if a.address <= address < a.end), None)

    def describe(self, address: int, size: int = 1, meant: Allocation | None = None, element: int = 0) -> str:
        """Where an address lies, in words: inside an array, some bytes past its end, freed, null, or near no array.
        meant: the array that it is computed from, if that is known; element: the bytes of an element that is accessed.
        """
        if address < ALIGNMENT:
            return "a null pointer" if address == 0 else f"{address:#x} past a null pointer"
        placed = self.live(freed=True)
        before = next((a for a in reversed(placed) if a.address <= address), None)
        after = next((a for a in placed if a.address > address), None)
        if meant is not None and (before is None or address >= before.end):
            before, after = (meant, None) if address >= meant.end else (None, meant)
        past = math.inf if before is None else address - before.end
        ahead = math.inf if after is None else after.address - address
        near = before if past <= ahead else after
        if near is None or (meant is None and min(past, ahead) >= FAR):
            return "near no array"
        where, which = f"{distance(address - near.address, near.size)} {_label(near)}", ""
        if near.freed:
            return f"{where}, which was freed" + (f" at {near.freed_at}" if near.freed_at else "")
        if past < 0 < past + size:
            where += f"; the access ends {past + size} bytes past its end"
        if past >= 0 or size > 1:
            which = elements(near.name, address - near.address, near.size, size, near.itemsize, element)
        return where + which


def distance(offset: int, room: int) -> str:
    """How far from an array of `room` bytes an offset from its beginning lies."""
    if offset < 0:
        return f"{-offset} bytes before"
    return f"byte {offset} of" if offset < room else f"{offset - room} bytes past the end of"


def elements(name: str, offset: int, room: int, size: int, item: int, element: int) -> str:
    """`; element 32 of 'x', which has 32`: where `size` bytes at an offset in an array of `room` bytes lie. item: bytes
    of its elements, 0 where they are not known; element: of those that are accessed. "" where they do not fit."""
    each = item or element
    if not each or not name or name.startswith("%") or offset % each or room % each or not room:
        return ""
    first, last = offset // each, (offset + max(size, each)) // each - 1
    which = f"element {first}" if first == last else f"elements {first} to {last}"
    return f"; {which} of {name!r}, which has {room // each}" + (
        "" if item and element in (0, item) else f" (of {each} bytes)"
    )


def _label(allocation: Allocation) -> str:
    kind = f"{allocation.name!r}" if allocation.name else "an allocation"
    return f"{kind} ({allocation.size} bytes at {allocation.address:#x})"


def saved(allocations: Iterable[Allocation]) -> Callable[[], None]:
    """A function that puts back what allocations hold now, for a launch that runs again."""
    held = [(a, a.data.copy(), None if a.written is None else a.written.copy()) for a in allocations]

    def put_back() -> None:
        for allocation, data, written in held:
            allocation.data[:] = data
            if written is None or allocation.written is None:
                allocation.written = written
            else:
                allocation.written[:] = written

    return put_back


def memory_map(program: Program, launch: Launch, live: Sequence[Allocation]) -> state.MemoryMap:
    """The memory that accesses of a launch may reach; `live`: the allocations, by rising address."""
    fields = []  # those of `state.Allocation`, each a number of 8 bytes
    for a in live:
        written = 0 if a.written is None else start_of(a.written)
        fields.append((a.address, a.size, a.writable, state.SPACES[a.space], start_of(a.data), written, 0, 0))
    memory = state.MemoryMap.new()
    memory.allocations, memory.count = (
        state.Allocation.many(np.array(fields, np.uint64).view(np.uint8).ravel()),
        len(live),
    )
    memory.shared_start = program.shared_start
    memory.shared_size = program.dynamic_start - program.shared_start + launch.shared
    memory.local_size, memory.local_stride = program.local_size, program.local_stride
    memory.param_size = program.param_size
    memory.cluster = launch.cluster_blocks
    table = next((a.data for a in live if a.address == program.system.given), None)
    if table is not None:
        memory.heap, memory.heap_size, memory.given = program.system.heap, HEAP, HeapPiece.many(table)
    return memory

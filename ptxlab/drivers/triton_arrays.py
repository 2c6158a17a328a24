"""Arrays of programs of Triton in the memory of the emulator: numpy's, and torch's tensors on the CPU.

A launch copies the memory of its arguments in and, when it has succeeded, back. Arrays that overlap are one allocation.
An array whose address the program itself asks for (`x.data_ptr()`, to put it into a table of pointers or a descriptor)
has that address, and is copied in and back by every launch, until the session ends.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import DeviceBuffer

Bytes = NDArray[np.uint8]
ALIGNED = 256
"""Where memory of a GPU begins: at a multiple of so many bytes. An array lies to it as it lies to its own memory."""


class Tensor(np.ndarray[Any, Any]):
    """A numpy array, its memory shared, with the methods that Triton and hooks of its autotuner ask a tensor for."""

    def data_ptr(self) -> int:
        """The address of the first element: the emulator's, where a session is entered."""
        return _addresses[-1].address_of(self) if _addresses else int(self.ctypes.data)

    def stride(self, axis: int | None = None) -> Any:
        """Elements from one to the next, of each axis or of one."""
        steps = tuple(step // self.itemsize for step in self.strides)
        return steps if axis is None else steps[axis]

    def numel(self) -> int:
        """How many elements there are."""
        return int(self.size)

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(self.itemsize)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in the order of C."""
        return bool(self.flags.c_contiguous)

    def zero_(self) -> Tensor:
        """Sets all elements to zero."""
        self[...] = 0
        return self

    def clone(self) -> Tensor:
        """A copy."""
        return self.copy()

    def copy_(self, other: Any) -> Tensor:
        """Overwrites the elements with another array's."""
        self[...] = other
        return self


def tensor(value: Any) -> Any:
    """An argument as Triton takes it: numpy arrays with a tensor's methods, numpy's scalars as Python's numbers. What
    else has arrays within, a tuple or a descriptor, is made anew of them."""
    if isinstance(value, np.ndarray):
        return value if isinstance(value, Tensor) else value.view(Tensor)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple) and any(isinstance(part, np.ndarray | np.generic | tuple) for part in value):
        parts = [tensor(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@dataclass(frozen=True)
class Extent:
    """Bytes of the host that an array reaches, from `start` to `end`, and where its memory begins. owner: what keeps it
    alive; `writable`: whether a launch may write to it."""

    start: int
    end: int
    memory: int
    memory_end: int
    owner: Any
    writable: bool

    @property
    def whole(self) -> Extent:
        """All of the memory that the array is a part of."""
        return Extent(self.memory, self.memory_end, self.memory, self.memory_end, self.owner, self.writable)

    def bytes(self) -> Bytes:
        """The bytes, in place."""
        return np.ctypeslib.as_array((ctypes.c_uint8 * (self.end - self.start)).from_address(self.start))


def extent(value: Any, name: str) -> Extent:
    """The memory of a numpy array or a tensor. name: what an error calls it."""
    if isinstance(value, np.ndarray):
        start, end = _reach(int(value.ctypes.data), value.shape, value.strides, value.itemsize)
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        memory = _reach(int(owner.ctypes.data), owner.shape, owner.strides, owner.itemsize)
        return Extent(start, end, min(start, memory[0]), max(end, memory[1]), value, bool(value.flags.writeable))
    device = getattr(value, "device", None)
    if device is not None and getattr(device, "type", "cpu") != "cpu":
        raise LaunchError(f"{name} is on {device}; the emulator takes CPU tensors\n  write:  {name}.cpu()")
    each = value.element_size()
    memory_start = int(value.untyped_storage().data_ptr())
    first = memory_start + int(value.storage_offset()) * each
    start, end = _reach(first, tuple(value.shape), tuple(step * each for step in value.stride()), each)
    return Extent(start, end, memory_start, memory_start + int(value.untyped_storage().nbytes()), value, True)


def _reach(first: int, shape: Iterable[int], strides: Iterable[int], each: int) -> tuple[int, int]:
    """The first address of an array's elements, and that after the last."""
    spans = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    if any(n == 0 for n in shape):
        return first, first
    return first + sum(s for s in spans if s < 0), first + sum(s for s in spans if s > 0) + each


@dataclass
class Placed:
    """Memory of the host in a buffer of the machine, `lead` bytes after the buffer's start."""

    extent: Extent
    buffer: DeviceBuffer
    lead: int

    @classmethod
    def of(cls, extent: Extent, name: str) -> Placed:
        """A buffer for it. It lies to multiples of `ALIGNED` as its memory on a GPU would."""
        lead = (extent.start - extent.memory + extent.memory % 16) % ALIGNED
        buffer = DeviceBuffer((lead + extent.end - extent.start,), np.uint8, "cpu", name)
        buffer.host = True
        return cls(extent, buffer, lead)

    def address(self, host: int) -> int:
        """The address in the machine of an address of the host."""
        return self.buffer.address + self.lead + host - self.extent.start

    def copy_in(self) -> None:
        """Brings the host's bytes to the machine."""
        self.buffer.data[self.lead :] = self.extent.bytes()
        self.buffer.written(known=False)

    def copy_back(self) -> None:
        """Brings the machine's bytes to the host, where they may be written."""
        if self.extent.writable:
            self.extent.bytes()[:] = self.buffer.data[self.lead :]


class Addresses:
    """Where arrays lie in the machine during a session. `quiet` while Triton itself asks for addresses: it only wants
    to know what they are multiples of."""

    def __init__(self) -> None:
        self.kept: dict[int, Placed] = {}
        self.quiet = 0

    def address_of(self, value: Any) -> int:
        """The address of an array's first element in the machine."""
        found = extent(value, "the tensor")
        first = found.start if found.start == found.end else _first(value)
        if self.quiet:
            return first - found.memory + found.memory % 16
        if found.memory not in self.kept:
            self.kept[found.memory] = Placed.of(found.whole, "")
        return self.kept[found.memory].address(first)

    def place(self, arrays: Iterable[tuple[str, Any]]) -> tuple[list[Placed], list[int]]:
        """The memory of a launch's arrays, each with its name, copied in; and the address of each array."""
        named = [(name, value, extent(value, name)) for name, value in arrays]
        spans: list[tuple[Extent, str]] = []
        for name, _, found in sorted(named, key=lambda each: each[2].start):
            if found.memory in self.kept or found.start == found.end:
                continue
            last = spans[-1][0] if spans else None
            if last is not None and found.start < last.end:
                owners, writable = (last.owner, found.owner), last.writable or found.writable
                both = Extent(last.start, max(last.end, found.end), last.memory, last.memory_end, owners, writable)
                spans[-1] = both, spans[-1][1]
            else:
                spans.append((found, name))
        placed = [*self.kept.values(), *(Placed.of(each, name) for each, name in spans)]
        for each in placed:
            each.copy_in()
        return placed, [self._within(placed, value, found) for _, value, found in named]

    def _within(self, placed: list[Placed], value: Any, found: Extent) -> int:
        if found.start == found.end:
            return 0
        home = next(p for p in placed if p.extent.start <= found.start and found.end <= p.extent.end)
        return home.address(_first(value))


def _first(value: Any) -> int:
    """The host's address of an array's first element."""
    if isinstance(value, np.ndarray):
        return int(value.ctypes.data)
    return int(value.untyped_storage().data_ptr()) + int(value.storage_offset()) * int(value.element_size())


_addresses: list[Addresses] = []
"""The sessions that are entered; the last one counts."""

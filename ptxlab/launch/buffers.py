"""Arguments for pointers: arrays marked `const` or `out`, and buffers that live on a device."""

from __future__ import annotations

import math
import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ptxlab.errors import LaunchError, shown_file
from ptxlab.options import is_whole

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Array: TypeAlias = "NDArray[Any]"

BUFFERS_BASE = 0x0000_0300_0000_0000
"""Where device buffers of the CPU machine begin: above `emulate.memory.HEAP_BASE`, where a launch puts its arrays."""
BUFFER_STEP, BUFFER_GUARD = 512, 4096
_PACKAGE = str(Path(__file__).parents[1])
LARGEST = 1 << 40
"""Bytes that a buffer may have: more than any GPU's memory."""


class OneWay:
    """An array that is copied one way only."""

    def __init__(self, array: Array) -> None:
        self.array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.array.shape


class Const(OneWay):
    """An array that the kernel reads: copied in, not copied back. Made by `const`."""


class Out(OneWay):
    """An array that the kernel writes: not copied in. Made by `out`."""


def const(array: Array) -> Const:
    """The array as an input only: a launch copies it in and does not copy it back."""
    return Const(array)


def out(array: Array) -> Out:
    """The array as an output only: not copied in, and `Run.findings` tells which elements the kernel left unwritten.

    The device's copy starts as poison: NaN for floats, 0xCB bytes for integers.
    """
    return Out(array)


class DeviceBuffer:
    """Memory on a device that stays there between launches.

    `address` is its device address, `shape` and `dtype` describe it, `device` is "cpu" (the CPU machine, both
    engines) or "gpu". `copy_to_host()` or `np.asarray(buffer)` reads it, `copy_from_host(array)` writes it, `free()`
    gives it back; a later use is an error. A faulting launch leaves in it what the kernel had written so far.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, device: str, name: str = "") -> None:
        self.shape, self.dtype, self.device, self.name = shape, np.dtype(dtype), device, name
        self.nbytes = math.prod(shape) * self.dtype.itemsize
        self.freed, self.freed_at = False, ""
        self._gpu: Any = None
        self._written: NDArray[np.uint8] | None = None
        self._data: NDArray[np.uint8] = np.zeros(0, np.uint8)
        if device == "gpu":
            from ptxlab.gpu import device as gpu

            self._gpu = gpu.allocate(self.nbytes)
            self.address = int(self._gpu.address)
        else:
            self.address = _next_address(self.nbytes)
            self._data = np.zeros(self.nbytes, np.uint8)
            _buffers.add(self)

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes on the CPU machine, in place."""
        return self._data

    def copy_to_host(self) -> Array:
        """A new numpy array with the contents of the buffer."""
        self._check()
        raw = self._gpu.read() if self._gpu is not None else self._data.copy()
        return np.frombuffer(raw, self.dtype).reshape(self.shape).copy()

    def copy_from_host(self, array: Array) -> None:
        """Overwrites the buffer with an array of the same shape and dtype."""
        self._check()
        if not isinstance(array, np.ndarray):
            raise LaunchError(f"array: a numpy array is wanted, got {type(array).__name__}")
        if array.shape != self.shape or array.dtype != self.dtype:
            raise LaunchError(
                f"the buffer holds {self.dtype} {list(self.shape)}, the array is {array.dtype} {list(array.shape)}"
            )
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._written = None
        if self._gpu is not None:
            self._gpu.write(raw)
        else:
            self._data[:] = raw

    def free(self) -> None:
        """Frees the memory; the address is not used again on the CPU machine, so that stale pointers fault."""
        self._check()
        self.freed, self.freed_at = True, _caller()
        if self._gpu is not None:
            self._gpu.free()
        else:
            _buffers.discard(self)
            _freed.append((self.address, self.nbytes, self.name, self.freed_at))
            self._data = np.zeros(0, np.uint8)

    def mark_unwritten(self) -> None:
        """For `initcheck`: no byte of it has been written."""
        self._written = np.zeros(self.nbytes, np.uint8)

    def written(self, *, known: bool) -> NDArray[np.uint8] | None:
        """For `initcheck`: for each byte whether a kernel has stored to it; None: all bytes count as written. Launches
        without that check (not `known`) keep no record: afterwards all bytes count as written."""
        if not known:
            self._written = None
        return self._written

    def _check(self) -> None:
        if self.freed:
            raise LaunchError(f"{self!r} cannot be used any more: it was freed at {self.freed_at}")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.copy_to_host()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        state = ", freed" if self.freed else ""
        return f"DeviceBuffer({self.dtype} {list(self.shape)} at {self.address:#x} on {self.device}{state})"


_buffers: weakref.WeakSet[DeviceBuffer] = weakref.WeakSet()
_freed: list[tuple[int, int, str, str]] = []
_top = BUFFERS_BASE


def _next_address(nbytes: int) -> int:
    global _top
    address = _top
    _top += -(-(nbytes + BUFFER_GUARD) // BUFFER_STEP) * BUFFER_STEP
    return address


def cpu_buffers(
    *, known: bool = False
) -> Iterator[tuple[int, int, NDArray[np.uint8] | None, str, NDArray[np.uint8] | None, str]]:
    """(address, size, bytes or None if freed, name, record of writes, where it was freed) of every device buffer of the
    CPU machine; known: whether the launch keeps records of writes."""
    for buffer in _buffers:
        yield buffer.address, buffer.nbytes, buffer.data, buffer.name, buffer.written(known=known), ""
    for address, size, name, where in _freed[-256:]:
        yield address, size, None, name, None, where


def _caller() -> str:
    """The first line outside of ptxlab that leads here."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{shown_file(frame.f_code.co_filename)}:{frame.f_lineno}"


def empty(shape: int | Sequence[int], dtype: DTypeLike = np.float32, *, device: str = "auto") -> DeviceBuffer:
    """A device buffer with undefined contents (zeros on the CPU machine). device: "auto", "cpu" or "gpu".

    Raises `LaunchError` for an invalid shape, a type that is not numeric, and more bytes than the memory has.
    """
    buffer = _made(_shape(shape), _number_type(dtype), device)
    if buffer.device == "cpu":
        buffer.mark_unwritten()
    return buffer


def to_device(array: Array, *, device: str = "auto") -> DeviceBuffer:
    """A device buffer that holds a copy of the array. device: "auto", "cpu" or "gpu"."""
    try:
        array = np.asarray(array)
    except ValueError:  # rows of several lengths
        raise LaunchError(f"array: a numpy array is wanted, got {type(array).__name__} {array!r}") from None
    if not is_number(array.dtype):
        raise LaunchError(
            f"array: numbers in native byte order are wanted, got an array of {array.dtype} {list(array.shape)}"
            f"{as_numbers('array', array.dtype)}"
        )
    buffer = _made(array.shape, array.dtype, device)
    buffer.copy_from_host(array)
    return buffer


def _made(shape: tuple[int, ...], dtype: np.dtype[Any], device: str) -> DeviceBuffer:
    """A buffer, or `LaunchError` where there is not as much memory."""
    memory, nbytes = memory_of(device), math.prod(shape) * dtype.itemsize
    if nbytes > LARGEST:
        raise LaunchError(f"shape: {list(shape)} of {dtype} has {nbytes:,} bytes; no device has as much memory")
    try:
        return DeviceBuffer(shape, dtype, memory)
    except MemoryError:
        raise LaunchError(
            f"shape: {list(shape)} of {dtype} has {nbytes:,} bytes; there is not as much memory"
        ) from None


def _shape(shape: Any) -> tuple[int, ...]:
    """One or several lengths."""
    several = isinstance(shape, Sequence) or (isinstance(shape, np.ndarray) and shape.ndim == 1)
    lengths = tuple(shape) if several and not isinstance(shape, str | bytes) else (shape,)
    if not all(is_whole(n) and n >= 0 for n in lengths) or len(lengths) > 32:
        raise LaunchError(f"shape: whole numbers from 0 on are wanted, got {shape!r}")
    return tuple(int(n) for n in lengths)


def _number_type(dtype: Any) -> np.dtype[Any]:
    """A type of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # an old name of a type is refused all the same
            found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        raise LaunchError(f"dtype: a type of numbers such as np.float32 is wanted, got {dtype!r}") from None
    if dtype is None or not is_number(found):
        raise LaunchError(f"dtype: a type of numbers such as np.float32 is wanted, got {dtype!r}")
    return found


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether a kernel can compute with elements of this type: numbers in native byte order, of numpy or of ml_dtypes
    (whose kind is "V", as that of structs and of raw bytes is)."""
    return dtype.isnative and (dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void))


def as_numbers(name: str, dtype: np.dtype[Any]) -> str:
    """The line to write for an array that is not numeric but whose bytes can be viewed as numbers."""
    if dtype.hasobject or dtype.kind in "biufc":
        return ""
    return f"\n  write:  {name}.view(np.{'int64' if dtype.kind in 'mM' else 'uint8'})"


def memory_of(device: str) -> str:
    """Which memory a device computes in: "gpu", or "cpu" for "cpu" and "step"; "auto" is the GPU when there is one."""
    check_device(device)
    if device == "auto":
        from ptxlab import gpu

        return "gpu" if gpu.available() else "cpu"
    return "gpu" if device == "gpu" else "cpu"


DEVICES = ("auto", "gpu", "cpu", "step")
"""The values of `device=`."""


def check_device(device: Any) -> None:
    """`LaunchError` for an unknown device."""
    if not isinstance(device, str) or device not in DEVICES:
        raise LaunchError(f"device is 'auto', 'gpu', 'cpu' or 'step', not {device!r}")

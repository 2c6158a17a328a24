"""Arguments for pointers: arrays marked `const` or `out`, and buffers that live on a device."""

from __future__ import annotations

import contextlib
import math
import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ptxlab.errors import LaunchError, calling_frame, shown_file
from ptxlab.foreign_arrays import as_numpy
from ptxlab.options import complete, is_whole

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Array: TypeAlias = "NDArray[Any]"

BUFFERS_BASE = 0x0000_0300_0000_0000
"""Where device buffers of the emulator begin: above `emulate.memory.HEAP_BASE`, where a launch puts its arrays."""
BUFFER_STEP, BUFFER_GUARD = 512, 4096
WRITTEN, WITHOUT = 0xFF, 1
"""In the record of writes, as in `emulate.rules.records`: a byte that was written, and one stored without a value."""
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


@complete("pl.const(array)")
def const(array: Array) -> Const:
    """The array as an input only: a launch copies it in and does not copy it back.

    Parameters
    ----------
    array
        A numpy array.
    """
    return Const(as_numpy(array, "pl.const"))


@complete("pl.out(array)")
def out(array: Array) -> Out:
    """The array as an output only: not copied in, and `Run.findings` tells which elements the kernel left unwritten.

    Parameters
    ----------
    array
        A numpy array. The device's copy starts as poison: NaN for floats, 0xCB bytes for integers.
    """
    return Out(as_numpy(array, "pl.out"))


@complete("pl.empty((1024, 64), np.float32)")
class DeviceBuffer:
    """Memory on a device that stays there between launches; `pl.empty` and `pl.to_device` make it.

    `address` is its device address. `copy_to_host()` or `np.asarray(buffer)` reads it, `copy_from_host(array)` writes
    it, `free()` gives it back; a later use is an error. A faulting launch leaves in it what the kernel had written so
    far.

    `buffer[10:20]`, `buffer[3]` and other contiguous slices are buffers of the same memory; `buffer[10:20] = array`
    copies from the host. A slice that is not contiguous is a `LaunchError`.

    Parameters
    ----------
    shape, dtype
        What it holds.
    device
        "cpu" (the emulator, both engines) or "gpu".
    name
        What messages call it.
    """

    host = False
    """Whether an array of the host gets its contents after each launch."""

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, device: str, name: str = "") -> None:
        self.shape, self.dtype, self.device, self.name = shape, np.dtype(dtype), device, name
        self.nbytes = math.prod(shape) * self.dtype.itemsize
        self.freed, self.freed_at = False, ""
        self._gpu: Any = None
        self.record: NDArray[np.uint8] | None = None  # for initcheck: of each byte whether it was written
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
        """The bytes on the emulator, in place."""
        return self._data

    def copy_to_host(self) -> Array:
        """A new numpy array with the contents of the buffer. Warns where a launch with initcheck has stored what has no
        value."""
        self._check()
        self.read_back()
        raw = self._gpu.read(*self._bytes) if self._gpu is not None else self.data.copy()
        return np.frombuffer(raw, self.dtype).reshape(self.shape).copy()

    def copy_from_host(self, array: Array) -> None:
        """Overwrites the buffer with an array of the same shape and dtype."""
        self._check()
        array = as_numpy(array)
        if not isinstance(array, np.ndarray):
            raise LaunchError(f"array: expected a numpy array, got {type(array).__name__}")
        if array.shape != self.shape or array.dtype != self.dtype:
            given = f"the array is {array.dtype} {list(array.shape)}"
            raise LaunchError(f"the buffer holds {self.dtype} {list(self.shape)}, {given}")
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._wrote()
        if self._gpu is not None:
            self._gpu.write(raw, self._bytes[0])
        else:
            self.data[:] = raw

    def read_back(self) -> None:
        """The host reads it: warns of elements that a launch with initcheck has stored without a value."""
        of, (start, count) = self.owner, self._bytes
        if of.record is None or of.host:
            return
        lost = (of.record[start : start + count] == WITHOUT).reshape(-1, self.dtype.itemsize).any(axis=1)
        if lost.any():
            says = f"{lost.sum()} of {lost.size} elements of {self.name or 'a device buffer'} have no value"
            warnings.warn(f"{says}: a kernel stored values there that it had read from unwritten memory", stacklevel=3)

    @property
    def owner(self) -> DeviceBuffer:
        """The buffer that this is, or is a slice of."""
        return self._of if isinstance(self, _Slice) else self

    @property
    def _bytes(self) -> tuple[int, int]:
        """The first of its bytes in the allocation, and how many they are."""
        return 0, self.nbytes

    def _wrote(self) -> None:
        """All bytes have been written by the host."""
        self.record = None

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a buffer of one element has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> DeviceBuffer:
        self._check()
        parts = index if isinstance(index, tuple) else (index,)
        if not all(part is Ellipsis or isinstance(part, slice) or is_whole(part) for part in parts):
            raise LaunchError(f"a device buffer is indexed with numbers and slices, got {index!r}")
        whole = _as_if(self.shape, self.dtype)
        part = whole[(*parts, ...) if Ellipsis not in parts else index]  # a view, so that no element is read
        if not part.flags.c_contiguous:
            raise LaunchError(
                f"a slice of a device buffer must be contiguous, got strides {part.strides} for shape {part.shape}\n"
                f"  write:  part = pl.to_device(buffer.copy_to_host()[{_written(parts)}])    # a copy"
            )
        start, at = (x.__array_interface__["data"][0] for x in (whole, part))
        return _Slice(self, at - start, part.shape)

    def __setitem__(self, index: Any, value: Any) -> None:
        part = self[index]
        part.copy_from_host(np.broadcast_to(np.asarray(as_numpy(value), self.dtype), part.shape))

    def free(self) -> None:
        """Frees the memory; the address is not used again on the emulator, so that stale pointers fault."""
        self._check()
        self.freed, self.freed_at = True, _caller()
        if self._gpu is not None:
            self._gpu.free()
        else:
            _buffers.discard(self)
            _freed.append(self)
            self._data, self.record = np.zeros(0, np.uint8), None

    def mark_unwritten(self) -> None:
        """For `initcheck`: no byte of it has been written."""
        self.record = np.zeros(self.nbytes, np.uint8)

    def written(self, *, known: bool) -> NDArray[np.uint8] | None:
        """For `initcheck`: of each byte whether a kernel has stored to it; None: all bytes count as written. Others are
        made NaN. Launches without that check (not `known`) keep no record: afterwards all bytes count as written."""
        if not known:
            self.record = None
        if self.record is not None:
            self._data[self.record == 0] = 0xFF
        return self.record

    def _check(self) -> None:
        if self.freed:
            raise LaunchError(f"{self!r} cannot be used any more: it was freed at {self.freed_at}")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        array = self.copy_to_host()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        state = ", freed" if self.freed else ""
        return f"DeviceBuffer({self.dtype} {list(self.shape)} at {self.address:#x} on {self.device}{state})"


class _Slice(DeviceBuffer):
    """A part of a buffer, from byte `start` on."""

    def __init__(self, of: DeviceBuffer, start: int, shape: tuple[int, ...]) -> None:
        self._of: DeviceBuffer = of.owner
        self._start: int = start + (of._start if isinstance(of, _Slice) else 0)
        self.shape, self.dtype, self.device, self.name = shape, of.dtype, of.device, of.name
        self.nbytes = math.prod(shape) * self.dtype.itemsize
        self.address, self._gpu = of.address + start, of._gpu

    freed = property(lambda self: self._of.freed)
    freed_at = property(lambda self: self._of.freed_at)

    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes on the emulator, in place."""
        return self._of.data[self._start : self._start + self.nbytes]

    @property
    def _bytes(self) -> tuple[int, int]:
        return self._start, self.nbytes

    def _wrote(self) -> None:
        if self._of.record is not None:
            self._of.record[self._start : self._start + self.nbytes] = WRITTEN

    def free(self) -> None:
        """An error: memory is freed as a whole."""
        raise LaunchError("this is a slice of a device buffer; free the whole buffer")


def _written(index: Sequence[Any]) -> str:
    """An index as Python writes it: `:, 1`."""

    def one(part: Any) -> str:
        if not isinstance(part, slice):
            return "..." if part is Ellipsis else f"{part}"
        ends = [part.start, part.stop] + ([part.step] if part.step is not None else [])
        return ":".join("" if end is None else f"{end}" for end in ends)

    return ", ".join(map(one, index))


def _as_if(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array of a shape without its memory: only its addresses may be used."""
    steps = [math.prod(shape[k + 1 :]) * dtype.itemsize for k in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype), shape, steps)


_buffers: weakref.WeakSet[DeviceBuffer] = weakref.WeakSet()
_freed: deque[DeviceBuffer] = deque(maxlen=256)
_top = BUFFERS_BASE


def _next_address(nbytes: int) -> int:
    global _top
    address = _top
    _top += -(-(nbytes + BUFFER_GUARD) // BUFFER_STEP) * BUFFER_STEP
    return address


def cpu_buffers() -> Iterator[DeviceBuffer]:
    """Every device buffer of the emulator, and the last ones that were freed."""
    yield from _buffers
    yield from _freed


def _caller() -> str:
    """The first line outside of ptxlab that leads here."""
    frame = calling_frame()
    return f"{shown_file(frame.f_code.co_filename)}:{frame.f_lineno}"


@complete("pl.empty((1024, 64), np.float32)")
def empty(shape: int | Sequence[int], dtype: DTypeLike = np.float32, *, device: str = "auto") -> DeviceBuffer:
    """A device buffer with undefined contents (zeros on the emulator).

    Parameters
    ----------
    shape, dtype
        As for `np.empty`.
    device
        "auto", "cpu" or "gpu".

    Raises
    ------
    LaunchError
        For an invalid shape, a type that is not numeric, and more bytes than the memory has.
    """
    buffer = _made(_shape(shape), _number_type(dtype), device)
    if buffer.device == "cpu":
        buffer.mark_unwritten()
    return buffer


@complete()
def to_device(array: Array, *, device: str = "auto") -> DeviceBuffer:
    """A device buffer that holds a copy of an array.

    Parameters
    ----------
    array
        A numpy array.
    device
        "auto", "cpu" or "gpu".
    """
    try:
        array = np.asarray(as_numpy(array))
    except ValueError:  # rows of several lengths
        raise LaunchError(f"array: expected a numpy array, got {type(array).__name__} {array!r}") from None
    if not is_number(array.dtype):
        given = f"an array of {array.dtype} {list(array.shape)}{as_numbers('array', array.dtype)}"
        raise LaunchError(f"array: expected numbers{byte_order(array.dtype)}, got {given}")
    buffer = _made(array.shape, array.dtype, device)
    buffer.copy_from_host(array)
    return buffer


def _made(shape: tuple[int, ...], dtype: np.dtype[Any], device: str) -> DeviceBuffer:
    """A buffer, or `LaunchError` where there is not that much memory."""
    memory, nbytes = memory_of(device), math.prod(shape) * dtype.itemsize
    has = f"shape: {list(shape)} of {dtype} has {nbytes:,} bytes"
    if nbytes > LARGEST:
        raise LaunchError(f"{has}; no device has that much memory")
    try:
        return DeviceBuffer(shape, dtype, memory)
    except MemoryError:
        raise LaunchError(f"{has}; there is not that much memory") from None


def _shape(shape: Any) -> tuple[int, ...]:
    """One or several lengths."""
    several = isinstance(shape, Sequence) or (isinstance(shape, np.ndarray) and shape.ndim == 1)
    lengths = tuple(shape) if several and not isinstance(shape, str | bytes) else (shape,)
    if not all(is_whole(n) and n >= 0 for n in lengths) or len(lengths) > 32:
        raise LaunchError(f"shape: expected whole numbers of at least 0, got {shape!r}")
    return tuple(int(n) for n in lengths)


def _number_type(dtype: Any) -> np.dtype[Any]:
    """A type of numbers."""
    with contextlib.suppress(TypeError, ValueError, SyntaxError), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # an old name of a type is refused all the same
        found: np.dtype[Any] = np.dtype(dtype)
        if dtype is not None and is_number(found):
            return found
    raise LaunchError(f"dtype: expected a type of numbers such as np.float32, got {dtype!r}")


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether a kernel can compute with elements of this type: numbers in native byte order, of numpy or of ml_dtypes
    (whose kind is "V", as that of structs and of raw bytes is)."""
    return dtype.isnative and (dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void))


def byte_order(dtype: np.dtype[Any]) -> str:
    """What is expected of numbers that are not `is_number`."""
    return " in native byte order" if dtype.kind in "iufc" else ""


def as_numbers(name: str, dtype: np.dtype[Any], wanted: Sequence[str] = ()) -> str:
    """What an array holds that is not numeric, and the line to write that makes numbers of it, or of its bytes; of the
    type wanted, where that is known."""
    if dtype.kind in "OSTU":
        what = "Python objects" if dtype.kind == "O" else "strings"
        kind = next((kind for kind in wanted if hasattr(np, kind)), "float32")
        return f", which holds {what}\n  write:  {name}.astype(np.{kind})    # if each of them is a number"
    if dtype.hasobject or dtype.kind in "biufc":
        return ""
    fitting = [kind for kind in wanted if hasattr(np, kind) and dtype.itemsize % np.dtype(kind).itemsize == 0]
    kind = (fitting or ["int64" if dtype.kind in "mM" else "uint8"])[0]
    field = f"    # its bytes; one field: {name}[{dtype.names[0]!r}].copy()" if dtype.names else ""
    return f"\n  write:  {name}.view(np.{kind}){field}"


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
        gpu = "\n  write:  device='gpu'" if str(device).startswith(("cuda", "GPU")) else ""
        raise LaunchError(f"device must be 'auto', 'gpu', 'cpu' or 'step', not {device!r}{gpu}")

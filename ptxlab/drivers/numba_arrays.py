"""What programs of numba-cuda do on the host (arrays, streams, events, devices), on the emulator."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ptxlab.errors import LaunchError
from ptxlab.frontends.numba_kernels import modules
from ptxlab.launch.buffers import DeviceBuffer

Array = NDArray[Any]


class DeviceArray:
    """An array in the memory of the emulator, with the methods of numba's `DeviceNDArray`.

    `array` shows its elements in place; slices, views and transposes share the memory. `address` is where it begins.
    """

    def __init__(self, buffer: DeviceBuffer, array: Array) -> None:
        self.buffer, self.array = buffer, array
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
        self.size, self.ndim, self.nbytes = array.size, array.ndim, array.nbytes
        self.alloc_size = array.nbytes
        self.writeback: Any = None

    @property
    def address(self) -> int:
        """The address of the first element."""
        start = self.buffer.data.__array_interface__["data"][0]
        return self.buffer.address + (int(self.array.__array_interface__["data"][0]) - int(start) if self.size else 0)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba compiles for."""
        from numba.cuda.np.numpy_support import from_dtype

        flags = self.array.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return modules().types.Array(from_dtype(self.dtype), self.ndim, layout)

    @property
    def T(self) -> DeviceArray:
        """The transpose."""
        return self.transpose()

    def copy_to_host(self, ary: Array | None = None, stream: Any = 0) -> Array:
        """The elements, in a new array or in `ary`."""
        self.buffer.read_back()
        if ary is None:
            return self.array.copy(order="K")
        if ary.shape != self.shape or ary.dtype != self.dtype:
            raise ValueError(
                f"the device array is {self.dtype} {list(self.shape)}, ary is {ary.dtype} {list(ary.shape)}"
            )
        ary[...] = self.array
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrites the elements with those of a host or a device array of the same shape and type."""
        given = ary.array if isinstance(ary, DeviceArray) else np.asarray(ary)
        if given.shape != self.shape or given.dtype != self.dtype:
            raise ValueError(
                f"the device array is {self.dtype} {list(self.shape)}, ary is {given.dtype} {list(given.shape)}"
            )
        self.array[...] = given
        self.buffer.written(known=False)

    def reshape(self, *newshape: Any, order: str = "C") -> DeviceArray:
        """The same elements in another shape; `ValueError` where that takes a copy."""
        shape = newshape[0] if len(newshape) == 1 and isinstance(newshape[0], tuple | list) else newshape
        return self._same(self.array.reshape(shape, order=order))  # type: ignore[call-overload]

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceArray:
        """The elements in one row; `ValueError` where that takes a copy."""
        return self.reshape(-1, order=order)

    def transpose(self, axes: Any = None) -> DeviceArray:
        """The same elements with their axes reversed, or in the order of `axes`."""
        return DeviceArray(self.buffer, self.array.transpose(axes))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceArray:
        """The same elements without the axes of length 1."""
        return DeviceArray(self.buffer, self.array.squeeze(axis))

    def view(self, dtype: DTypeLike) -> DeviceArray:
        """The same bytes as elements of another type."""
        return DeviceArray(self.buffer, self.array.view(dtype))

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceArray]:
        """Pieces of `section` elements of a one-dimensional array."""
        for start in range(0, self.size, section):
            yield self[start : start + section]

    def bind(self, stream: Any = 0) -> DeviceArray:
        """The array: there is one stream."""
        return self

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie in the order of C."""
        return bool(self.array.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie in the order of Fortran."""
        return bool(self.array.flags.f_contiguous)

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        """As `self[index]`."""
        return self[index]

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        """As `self[index] = value`."""
        self[index] = value

    def _same(self, array: Array) -> DeviceArray:
        if array.size and not np.shares_memory(array, self.array):
            raise ValueError("this shape takes a copy of a device array that is not contiguous")
        return DeviceArray(self.buffer, array)

    def __getitem__(self, index: Any) -> Any:
        found = self.array[index]
        if not isinstance(found, np.ndarray) or found.ndim == 0:
            return found
        if found.size and not np.shares_memory(found, self.array):
            raise NotImplementedError("a device array is indexed with numbers and slices, as numba has it")
        return DeviceArray(self.buffer, found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[index] = value.array if isinstance(value, DeviceArray) else value
        self.buffer.written(known=False)

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self.array.astype(dtype or self.dtype)

    def __repr__(self) -> str:
        return f"<device array {self.dtype} {list(self.shape)} at {self.address:#x} on the emulator>"


def _room(shape: Any, dtype: DTypeLike, strides: Any, order: str, name: str, *, written: bool) -> DeviceArray:
    """Memory for an array."""
    shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
    kind = np.dtype(dtype)
    if strides is None:
        strides = np.empty((), kind).strides + _strides(shape, kind.itemsize, order)
    last = (
        sum((n - 1) * abs(step) for n, step in zip(shape, strides, strict=True)) if 0 not in shape else -kind.itemsize
    )
    buffer = DeviceBuffer((last + kind.itemsize,), np.uint8, "cpu", name)
    if not written:
        buffer.mark_unwritten()
    return DeviceArray(buffer, np.ndarray(shape, kind, buffer=buffer.data.data, strides=strides))


def _strides(shape: tuple[int, ...], itemsize: int, order: str) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    steps, step = [], itemsize
    for n in shape if order == "F" else reversed(shape):
        steps.append(step)
        step *= max(n, 1)
    return tuple(steps if order == "F" else reversed(steps))


def placed(value: Any, name: str = "") -> DeviceArray:
    """A device array as it is, or a copy of a host array. name: what faults call it."""
    if isinstance(value, DeviceArray):
        return value
    given = np.asarray(value)
    order = "F" if given.flags.f_contiguous and not given.flags.c_contiguous else "C"
    if given.ndim and given.size and not (given.flags.c_contiguous or given.flags.f_contiguous):
        raise ValueError(
            f"{name or 'the array'}: numba takes contiguous host arrays\n  write:  np.ascontiguousarray({name or 'a'})"
        )
    array = _room(given.shape, given.dtype, None, order, name, written=True)
    array.array[...] = given
    return array


# -- the functions of numba.cuda ---------------------------------------------------------------------------------------


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceArray:
    """A device array with a copy of a host array; `to`: a device array to copy into."""
    if to is not None:
        to.copy_to_device(obj)
        return to  # type: ignore[no-any-return]
    if isinstance(obj, DeviceArray):
        return obj
    made = placed(obj)
    if not copy:
        made.buffer.mark_unwritten()
    return made


def device_array(
    shape: Any, dtype: DTypeLike = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceArray:
    """A device array that nobody has written."""
    return _room(shape, dtype, strides, order, "", written=False)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """A device array of the shape, type and order of another."""
    array = ary.array if isinstance(ary, DeviceArray) else np.asarray(ary)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return device_array(array.shape, array.dtype, order=order)


def pinned_array(shape: Any, dtype: DTypeLike = np.float64, strides: Any = None, order: Any = "C") -> Array:
    """A host array: all memory of the host is alike here."""
    return np.empty(shape, dtype, order=order)


def pinned_array_like(ary: Array) -> Array:
    """A host array of the shape and type of another."""
    return np.empty_like(ary)


def mapped_array(shape: Any, dtype: DTypeLike = np.float64, strides: Any = None, order: str = "C", **how: Any) -> Array:
    """An array that the host and kernels both use: a numpy array in the machine's memory."""
    return _Shared.of(_room(shape, dtype, strides, order, "", written=True))


def mapped_array_like(ary: Any, **how: Any) -> Array:
    """As `mapped_array`, of the shape and type of another."""
    return mapped_array(ary.shape, ary.dtype)


class _Shared(np.ndarray[Any, Any]):
    """A numpy array whose elements are those of a device array."""

    memory: DeviceArray | None

    @classmethod
    def of(cls, device: DeviceArray) -> Array:
        found = device.array.view(cls)
        found.memory = device
        return found

    def __array_finalize__(self, source: Any) -> None:
        self.memory = None  # a slice is copied to the device as any array is


def device_of(value: Any) -> DeviceArray | None:
    """The device array behind an argument that already is in the machine's memory."""
    if isinstance(value, DeviceArray):
        return value
    return value.memory if isinstance(value, _Shared) else None


class Stream:
    """A stream of numba. All of the machine's work is done when the call that asked for it returns."""

    handle = 0

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """The stream."""
        yield self

    def add_callback(self, callback: Any, arg: Any = None) -> None:
        """Calls back at once."""
        callback(self, 0, arg)

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 0


class Event:
    """A moment of the host's clock. `elapsed_time` says how long the emulator took: not what a GPU takes."""

    def __init__(self, timing: bool = True) -> None:
        self.moment = 0.0

    def record(self, stream: Any = 0) -> None:
        """Notes the time."""
        self.moment = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def wait(self, stream: Any = 0) -> None:
        """Nothing is left to wait for."""

    def query(self) -> bool:
        """Whether all before it is done: yes."""
        return True

    def elapsed_time(self, later: Event) -> float:
        """Milliseconds of the host's clock until a later event."""
        return (later.moment - self.moment) * 1e3


class Device:
    """The emulator as numba's programs ask for it: a device of the target's compute capability."""

    id, name = 0, b"ptxlab emulator"
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2147483647, 65535, 65535
    COOPERATIVE_LAUNCH = 1

    def __init__(self, arch: str) -> None:
        from ptxlab import targets

        found = targets.get(arch)
        self.compute_capability = divmod(found.number, 10)
        self.MULTIPROCESSOR_COUNT = found.gpus[0][1] if found.gpus else 1
        self.MAX_SHARED_MEMORY_PER_BLOCK = 49152

    def reset(self) -> None:
        """Nothing is kept that a reset would free."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Context:
    """The context of the one device."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def reset(self) -> None:
        """Nothing is kept that a reset would free."""

    def get_memory_info(self) -> Any:
        """(free, total) bytes: of the host's memory there is no such figure that would tell what a GPU has."""
        raise LaunchError("get_memory_info: the emulator has no memory of its own; it uses the host's")


def host_functions(arch: str) -> dict[str, Any]:
    """What stands in for the functions of `numba.cuda` while the emulator is active, by name."""
    device = Device(arch)
    context, stream = Context(device), Stream()

    def same_stream(*given: Any) -> Stream:
        return stream

    @contextlib.contextmanager
    def as_they_are(*arrays: Any, **how: Any) -> Iterator[Any]:
        yield arrays[0] if len(arrays) == 1 else arrays

    def yes() -> bool:
        return True

    def nothing() -> None:
        return None

    return {
        "to_device": to_device, "device_array": device_array, "device_array_like": device_array_like,
        "pinned_array": pinned_array, "pinned_array_like": pinned_array_like, "mapped_array": mapped_array,
        "mapped_array_like": mapped_array_like, "managed_array": mapped_array, "synchronize": nothing,
        "stream": same_stream, "default_stream": same_stream, "legacy_default_stream": same_stream,
        "per_thread_default_stream": same_stream, "external_stream": same_stream, "event": Event,
        "pinned": as_they_are, "mapped": as_they_are, "defer_cleanup": contextlib.nullcontext,
        "event_elapsed_time": lambda start, end: start.elapsed_time(end), "select_device": lambda number: context,
        "get_current_device": lambda: device, "current_context": lambda *n: context,
        "list_devices": lambda: [device], "gpus": [device], "close": nothing, "is_available": yes, "detect": yes,
        "is_cuda_array": lambda value: device_of(value) is not None, "is_float16_supported": yes,
        "is_bfloat16_supported": yes, "as_cuda_array": lambda value, sync=True: placed(value),
        "_auto_device": lambda value, stream=0, copy=True: (placed(value), device_of(value) is None),
    }  # fmt: skip

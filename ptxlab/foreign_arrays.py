"""Arrays of other libraries as numpy arrays of the same memory: what has DLPack, `__array_interface__` or a buffer.

So a tensor of PyTorch, an array of JAX or of PyArrow is an argument, and results land in it. `numpy.from_dlpack` takes
no bfloat16 and no 8-bit floats, and makes tensors of older versions of PyTorch read-only.
"""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.errors import LaunchError

BUFFERS = array.array, bytearray, memoryview, ctypes.Array
"""What a pointer takes for its buffer."""
HOSTS = 1, 3, 11, 13
"""Devices of DLPack whose memory the CPU reads: the CPU, pinned memory of CUDA and of ROCm, managed memory."""
KINDS = {0: "int{}", 1: "uint{}", 2: "float{}", 4: "bfloat16", 5: "complex{}", 6: "bool", 7: "float8_e3m4",
         8: "float8_e4m3", 9: "float8_e4m3b11fnuz", 10: "float8_e4m3fn", 11: "float8_e4m3fnuz", 12: "float8_e5m2",
         13: "float8_e5m2fnuz", 14: "float8_e8m0fnu"}  # fmt: skip
"""The names of DLPack's codes of types in numpy and ml_dtypes; `{}` is the number of bits."""


def as_numpy(value: Any, where: object = "array", name: object = "x") -> Any:
    """An array of another library as a numpy array of the same memory; anything else as it is. where, name: of which
    argument a `LaunchError` says that it is on a GPU or has no plain memory."""
    if isinstance(value, np.ndarray | np.generic | int | float | bytes | None):
        return value
    if hasattr(type(value), "__dlpack__"):
        return _of_dlpack(value, where, name)
    if hasattr(value, "__cuda_array_interface__"):
        raise _elsewhere(value, where, name, "a GPU")
    return np.asarray(value) if hasattr(value, "__array_interface__") else value


def _of_dlpack(value: Any, where: object, name: object) -> NDArray[Any]:
    try:
        device = value.__dlpack_device__()[0]
    except Exception:  # PyTorch's "meta", of which DLPack knows nothing
        device = 0
    if device not in HOSTS:
        raise _elsewhere(value, where, name, getattr(value, "device", "a GPU"))
    try:
        return _in_place(value)
    except Exception as error:  # each library has its own for nulls, gradients, sparse layouts
        write = f"\n  write:  {name}.detach()" if getattr(value, "requires_grad", False) is True else ""
        raise LaunchError(f"{where}: {type(value).__name__} gives no memory to others: {error}{write}") from None


def _elsewhere(value: Any, where: object, name: object, device: object) -> LaunchError:
    """The error about an array that the CPU cannot read, with lines that bring it there, and the results back."""
    says = f"{where}: {type(value).__name__} is on {device}; a launch takes arrays in the CPU's memory"
    if str(device) == "meta":
        return LaunchError(f"{says}, this one has none")
    lines = [f"c = np.array({name})", ""]
    if hasattr(value, "copy_"):
        lines = [f"c = {name}.cpu()", f"{name}.copy_(c)"]
    elif hasattr(value, "get") and hasattr(value, "set"):
        lines = [f"c = {name}.get()", f"{name}.set(c)"]
    back = f"\n          {lines[1]}    # after the launch, for results" if lines[1] else ""
    return LaunchError(f"{says}\n  write:  {lines[0]}    # and give c to the kernel{back}")


class _Tensor(ctypes.Structure):
    """DLPack's `DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    )  # fmt: skip


class _Versioned(ctypes.Structure):
    """DLPack's `DLManagedTensorVersioned`."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    )  # fmt: skip


def _in_place(value: Any) -> NDArray[Any]:
    """The memory of an array that has DLPack."""
    import ml_dtypes

    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:  # of the time before versions
        capsule = value.__dlpack__()
    api, text = ctypes.pythonapi, ctypes.c_char_p
    name = ctypes.PYFUNCTYPE(text, ctypes.py_object)(("PyCapsule_GetName", api))(capsule)
    address = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, text)(("PyCapsule_GetPointer", api))(capsule, name)
    if name == b"dltensor_versioned":
        managed = _Versioned.from_address(address)
        given, writable = managed.tensor, not managed.flags & 1
    else:  # which does not say; tensors of PyTorch may be written to
        given, writable = _Tensor.from_address(address), hasattr(value, "copy_")
    kind = KINDS.get(given.code, "").format(given.bits)
    if not kind or given.lanes != 1:
        raise BufferError("neither numpy nor ml_dtypes has its type")
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    shape = given.shape[: given.ndim]
    strides = tuple(step * dtype.itemsize for step in given.strides[: given.ndim]) if given.strides else None
    address = (given.data or 0) + given.offset
    memory = _Memory(capsule, address, not writable, f"V{dtype.itemsize}", tuple(shape), strides)
    found: NDArray[Any] = np.asarray(memory).view(dtype)
    return found


class _Memory:
    """Memory that numpy makes an array of, and the capsule that keeps it."""

    def __init__(self, capsule: object, address: int, read_only: bool, kind: str, shape: Any, strides: Any) -> None:
        self.capsule = capsule
        self.__array_interface__ = {
            "data": (address, read_only), "typestr": kind, "shape": shape, "strides": strides, "version": 3
        }  # fmt: skip

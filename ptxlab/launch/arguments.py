"""The arguments of a launch: which Python values a kernel parameter takes, and how they are packed.

A pointer takes an array, which is copied in, and copied back when the kernel has run: numpy's, any that has DLPack or
`__array_interface__` and lies in the CPU's memory (PyTorch, JAX, PyArrow), `array.array`, a memoryview. `const(a)` is
not copied back, `out(a)` is not copied in, a `DeviceBuffer` (`empty`, `to_device`) or a slice of one is used in place,
None is a null pointer. Scalar parameters take numbers; a structure, `.param .b8 name[n]`, takes bytes, a numpy record
or array of as many bytes, or a ctypes structure. Anything else is a `LaunchError` that names the parameter.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.errors import LaunchError, warn
from ptxlab.foreign_arrays import BUFFERS, as_numpy
from ptxlab.launch.argument_hints import as_whole, cast, in_copy, in_order
from ptxlab.launch.buffers import Array, Const, DeviceBuffer, OneWay, Out, as_numbers, byte_order, is_number
from ptxlab.launch.parameters import Bound, Name, Parameter, Where

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptxlab.launch.tensor_maps import TensorMap
    from ptxlab.launch.textures import Surface, Texture

ELEMENTS: dict[str, tuple[str, ...]] = {
    "bf16": ("bfloat16", "uint16"),
    "f16": ("float16",), "f32": ("float32",), "f64": ("float64",), "tf32": ("float32",),
    **{f"u{n}": (f"uint{n}",) for n in (8, 16, 32, 64)},
    **{f"s{n}": (f"int{n}",) for n in (8, 16, 32, 64)},
    "e4m3": ("float8_e4m3fn", "uint8"), "e5m2": ("float8_e5m2", "uint8"),
    "f16x2": ("uint32", "float16"), "bf16x2": ("uint32", "bfloat16", "uint16"),
}  # fmt: skip
"""The numpy dtypes that an array may have for a pointer to this PTX type; for `.b` types the width alone counts."""


def bind(
    kernel: str,
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    added: Sequence[Any] = (),
    variables: Sequence[Bound] = (),
) -> list[Bound]:
    """Each parameter with its argument, checked; `LaunchError` names the parameter and what it wants. added: arguments
    for the last parameters, which the compiler has added after the programmer's. variables: what a launch gives by name
    (see `plan.bind_variables`)."""
    wanted = parameters[: len(parameters) - len(added)]
    if len(args) != len(wanted):
        names = ", ".join(map(str, wanted)) or "nothing"
        plural = "" if len(wanted) == 1 else "s"
        line = in_order(p.name for p in wanted)
        raise LaunchError(f"{kernel} takes {len(wanted)} argument{plural} ({names}), got {len(args)}{line}")
    bound = [_bind(kernel, at, p, a) for at, (p, a) in enumerate(zip(parameters, (*args, *added), strict=True))]
    bound += variables
    _check_overlaps(kernel, bound)
    for b in bound:
        if b.array is not None:
            b.staged = _stage(b) if b.same_as < 0 else bound[b.same_as].staged
    return bound


def arrays(kernel: str, parameters: Sequence[Parameter], args: Sequence[Any]) -> Sequence[Any]:
    """The arguments with other libraries' arrays as numpy arrays of the same memory; see `foreign_arrays`. parameters:
    those that the arguments are for, as far as errors can name them."""
    given = []
    for at, value in enumerate(args):
        if isinstance(value, _OWN):
            given.append(value)
            continue
        p = parameters[at] if at < len(parameters) else None
        where = f"{kernel}, argument {at + 1}" if p is None else Where(kernel, at, p)
        name = "x" if p is None else Name(Where(kernel, at, p))
        found = as_numpy(value, where, name)
        if hasattr(value, "copy_") and isinstance(found, np.ndarray) and not found.flags.c_contiguous:
            raise LaunchError(
                f"{where}: expected a contiguous tensor, got strides {value.stride()} for shape {found.shape}\n"
                f"  write:  c = {name}.contiguous()    # and give c to the kernel\n"
                f"          {name}.copy_(c)    # after the launch, for results"
            )
        if found is value and hasattr(type(value), "__array__") and p is not None and p.pointer is not False:
            says = f"{where}: expected an array of plain memory, got {type(value).__name__}"
            raise LaunchError(f"{says}\n{in_copy(str(name), 'np.array({})', back=True)}")
        given.append(np.asarray(found) if isinstance(found, BUFFERS) and not (p is not None and p.array) else found)
    return given


def on_gpu(b: Bound, address: int) -> bytes:
    """What a parameter holds of an array or buffer at an address of the GPU."""
    return address.to_bytes(8, "little") if b.map is None else b.map.on_gpu(address)


def _bind(kernel: str, at: int, p: Parameter, value: Any) -> Bound:
    where = Where(kernel, at, p)
    given = value.array if isinstance(value, Const | Out) else value
    if isinstance(given, list | tuple | range | dict | set) and not p.array:
        raise _no_array(where, p, given)
    if not isinstance(value, _COMMON):
        from ptxlab.launch.tensor_maps import TensorMap
        from ptxlab.launch.textures import Surface, Texture

        if isinstance(value, TensorMap):
            return _bind_map(where, p, value)
        if isinstance(value, Texture | Surface):
            return _bind_object(where, p, value)
    if p.box and isinstance(value, Const | Out | DeviceBuffer | np.ndarray):
        return _bind_tiled(where, p, value)
    if p.array and isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return _bind_bytes(where, p, value.tobytes())
    if isinstance(value, Const | Out | DeviceBuffer | np.ndarray):
        return _bind_array(where, p, value)
    if value is None and p.pointer is not False and p.size == 8 and not p.array:
        return Bound(p, bytes(8))
    if p.pointer:
        raise LaunchError(f"{where}: expected {_wanted_array(p)}, got {_show(value)}")
    if isinstance(value, bytes | bytearray | memoryview | np.void | ctypes.Structure | ctypes.Array):
        if not p.array:
            line = f"\n  write:  pl.const(np.frombuffer({where.written}, np.uint8))" if p.pointer is None else ""
            raise LaunchError(f"{where}: expected {_wanted(p)}, got {_show(value)}{line}")
        return _bind_bytes(where, p, value.tobytes() if isinstance(value, np.void) else bytes(value))
    if p.array:
        raise LaunchError(f"{where}: expected {p.size} bytes, got {_show(value)}")
    return Bound(p, _pack(where, p, value))


def _no_array(where: Where, p: Parameter, value: Any) -> LaunchError:
    """The error for Python's own lists and their kin."""
    text = f"{where}: expected {_wanted(p)}, got a {type(value).__name__} of {len(value):,}"
    if p.pointer is False or isinstance(value, dict | set):
        return LaunchError(text)
    dtype = ELEMENTS.get(p.element, ("int32" if _are_whole(value) else "float32",))[0]
    return LaunchError(f"{text}\n  write:  {p.name} = np.array({p.name}, np.{dtype})")


def _are_whole(numbers: Any) -> bool:
    try:
        return np.asarray(numbers).dtype.kind in "iu"
    except ValueError:  # lists of different lengths
        return False


_OWN = (np.ndarray, np.generic, DeviceBuffer, int, float, bytes, type(None), OneWay)
"""What is not an array of another library."""
_COMMON = (Const, Out, DeviceBuffer, np.ndarray, np.generic, int, float, bytes, type(None))
"""What is neither a tensor map nor a texture, whose modules load the instruction table."""


def _bind_map(where: Where, p: Parameter, value: TensorMap) -> Bound:
    from ptxlab.isa.tensor_map import BYTES

    declared = f"\n  write:  .param .align 64 .b8 {p.name}[128]"
    if not p.array or p.size != BYTES:
        raise LaunchError(
            f"{where}: expected {_wanted(p)}, got a tensor map{as_array(where) if p.pointer else declared}"
        )
    if p.align < 64:
        raise LaunchError(f"{where}: a tensor map must be at a multiple of 64 bytes{declared}")
    if isinstance(value.array, DeviceBuffer):
        return Bound(p, buffer=value.array, map=value)
    if not value.array.flags.c_contiguous:
        lines = in_copy("array", "np.ascontiguousarray({})", back=value.array.flags.writeable)
        raise LaunchError(f"{where}: the array of a tensor map must be C-contiguous\n{lines.replace('kernel', 'map')}")
    return Bound(p, array=value.array, back=value.array.flags.writeable, map=value)


def _bind_object(where: Where, p: Parameter, value: Texture | Surface) -> Bound:
    if p.pointer or p.array or p.size != 8 or p.type[0] == "f":
        write = as_array(where) if p.pointer else f"\n  write:  .param .u64 {p.name}"
        raise LaunchError(f"{where}: expected {_wanted(p)}, got {value!r}{write}")
    return Bound(p, array=value.staged(), object=value)


def as_array(where: Where) -> str:
    """The line to write that gives the array of a texture, a surface or a tensor map."""
    return f"\n  write:  {where.written}.array"


def _bind_tiled(where: Where, p: Parameter, value: Const | Out | DeviceBuffer | Array) -> Bound:
    """An array for a parameter of which the kernel says in which tiles it is copied: its tensor map is made here."""
    from ptxlab.isa.tensor_map import BYTES
    from ptxlab.launch.tensor_maps import TensorMap

    array = value.array if isinstance(value, Const | Out) else value
    if len(array.shape) != len(p.box):
        raise LaunchError(f"{where}: expected an array of {len(p.box)} dimensions, got {_show(value)}")
    if not all(array.shape):
        return Bound(p, bytes(BYTES))  # an empty tensor has no map; nothing is copied of it
    bound = _bind_map(where, p, TensorMap(array, p.box, p.swizzle))
    if isinstance(value, Const | Out):
        bound.back, bound.poison = isinstance(value, Out), isinstance(value, Out)
    return bound


def _bind_bytes(where: Where, p: Parameter, raw: bytes) -> Bound:
    """A structure by value: the bytes of an array, of a record, or as they are."""
    if len(raw) != p.size:
        raise LaunchError(f"{where}: expected {p.size} bytes, got {len(raw)}")
    return Bound(p, raw)


def _bind_array(where: Where, p: Parameter, value: Const | Out | DeviceBuffer | Array) -> Bound:
    if p.pointer is False or p.array or p.size != 8 or p.type[0] == "f":
        one = isinstance(value, np.ndarray) and value.size == 1 and not p.array and where.written.isidentifier()
        line = f"\n  write:  {where.written}.item()" if one else ""
        raise LaunchError(f"{where}: expected {_wanted(p)}, got {_show(value)}{line}")
    if isinstance(value, DeviceBuffer):
        if value.freed:
            raise LaunchError(f"{where}: the buffer was freed at {value.freed_at}")
        _check_dtype(where, p, value.dtype, value)
        return Bound(p, buffer=value)
    array = value.array if isinstance(value, Const | Out) else value
    if not isinstance(array, np.ndarray):
        raise LaunchError(f"{where}: expected {_wanted_array(p)}, got {_show(array)}")
    array = np.asarray(array)  # of a masked array, a matrix and the like what they hold
    _check_dtype(where, p, array.dtype, array)
    back = not isinstance(value, Const)
    if not array.flags.c_contiguous:
        lines = in_copy(where.written, "np.ascontiguousarray({})", back=back and array.flags.writeable)
        got = f"got strides {array.strides} for shape {array.shape}"
        raise LaunchError(f"{where}: expected a C-contiguous array, {got}\n{lines}")
    if back and not array.flags.writeable:
        raise LaunchError(
            f"{where}: the array is read-only, so the result cannot be copied back\n"
            f"  write:  pl.const({where.written})    # if the kernel only reads it; else:\n"
            f"          c = np.array({where.written})    # and give c to the kernel, which gets the results"
        )
    return Bound(p, array=array, back=back, poison=isinstance(value, Out))


def _check_dtype(where: Where, p: Parameter, dtype: np.dtype[Any], value: Any) -> None:
    if not is_number(dtype):
        line = as_numbers(where.written, dtype, _names(p.element) if p.element else ())
        if dtype.kind in "iufc":
            copy = f"np.asarray({{}}, np.{dtype.newbyteorder('=')})"
            line = "\n" + in_copy(where.written, copy, back=not isinstance(value, Const))
        raise LaunchError(f"{where}: expected numbers{byte_order(dtype)}, got {_show(value)}{line}")
    if p.element and not _holds(p.element, dtype):
        kind = ELEMENTS.get(p.element, ("",))[0]
        write = f"\n  write:  {cast(where.written, kind, value)}" if kind else ""
        raise LaunchError(f"{where}: expected {_wanted_array(p)}, got {_show(value)}{write}")


@functools.cache
def _holds(element: str, dtype: np.dtype[Any]) -> bool:
    """Whether a pointer to this PTX type takes an array of this dtype."""
    if element in ELEMENTS:
        return dtype.name in ELEMENTS[element]
    return dtype.itemsize * 8 == int(element.lstrip("b"))


def _check_overlaps(kernel: str, bound: list[Bound]) -> None:
    """The same array, or surface, twice is one buffer on the device; arrays that share only a part have no meaning
    there, nor has a surface whose array is given in another way as well."""
    memory = [_changed(b) for b in bound]
    for j, b in enumerate(bound):
        for i, a in enumerate(bound[:j]):
            one, other = memory[i], memory[j]
            if one is None or other is None or not np.may_share_memory(one, other):
                continue
            names = a.parameter.name, b.parameter.name
            if a.object is not b.object:
                surface, array = names if a.object is not None else names[::-1]
                says = f"{surface} is a surface of the array given for {array}; pass the same pl.Surface to both"
                raise LaunchError(f"{kernel}: {says}, or a copy of the array")
            if one.ctypes.data != other.ctypes.data or one.nbytes != other.nbytes:
                says = f"the arrays for {' and '.join(names)} overlap in part; pass whole arrays or copies"
                raise LaunchError(f"{kernel}: {says}")
            if a.poison or b.poison:
                raise LaunchError(f"{kernel}: the same array is given for {' and '.join(names)}, once as pl.out")
            b.same_as = a.same_as if a.same_as >= 0 else i
            b.array = b.array if b.object is None else a.array
            bound[b.same_as].back |= b.back
            break


def _changed(b: Bound) -> Array | None:
    """The caller's array that a launch may change, or is given as such. A texture is what its array holds before."""
    if b.object is None:
        return b.array
    from ptxlab.launch.textures import Surface

    return b.object.array if isinstance(b.object, Surface) else None


def _stage(b: Bound) -> NDArray[np.uint8]:
    """The bytes that the device's copy starts with: the array's, or poison."""
    assert b.array is not None
    raw = np.empty(b.array.nbytes, np.uint8)
    if b.poison:
        raw[:] = poison_byte(b.array.dtype)
    else:
        raw[:] = b.array.reshape(-1).view(np.uint8)
    return raw


def take_back(where: Where, b: Bound) -> None:
    """What a launch has left in the device's copy of an array: into the array, or a warning that it is lost."""
    assert b.array is not None
    raw = b.array.reshape(-1).view(np.uint8)
    if b.back:
        raw[:] = b.staged
    elif not np.array_equal(raw, b.staged):
        changed = (raw != b.staged).reshape(-1, b.array.itemsize).any(axis=1)
        first = [int(n) for n in np.unravel_index(int(np.argmax(changed)), b.array.shape)]
        why, write = "pl.const does not copy back", f"{where.written}    # without pl.const"
        if not b.array.flags.writeable:
            why, write = "the array is read-only", f"c = np.array({where.written})    # and give c to the kernel"
        says = f"{where}: the kernel changed {changed.sum()} of {changed.size} elements, the first at {first}"
        warn(f"{says}; {why}, so the results are lost\n  write:  {write}")


def poison_byte(dtype: np.dtype[Any]) -> int:
    """What `pl.out` arrays are filled with: 0xFF, which makes floats NaN, or 0xCB."""
    return 0xFF if dtype.kind == "f" or "float" in dtype.name else 0xCB


# -- scalars -----------------------------------------------------------------------------------------------------------


def _pack(where: Where, p: Parameter, value: Any) -> bytes:
    """A number as the bytes of a scalar parameter."""
    kind, size = p.type[0], p.size
    if isinstance(value, np.generic):
        if (value.dtype.kind not in "fiub" and "float" not in value.dtype.name) or value.dtype.itemsize != size:
            raise _misfit(where, p, value)
        is_float = value.dtype.kind == "f" or "float" in value.dtype.name
        if kind == "b" or (is_float and p.type == f"f{8 * size}"):
            return value.tobytes()
        if is_float or kind not in "us":
            raise _misfit(where, p, value)
        value = int(value)
    if isinstance(value, float | int) and kind in "f":
        if p.type not in ("f16", "f32", "f64"):
            raise _misfit(where, p, value)
        with np.errstate(over="ignore"):
            number = np.array(value, f"f{size}")
        if np.isinf(number) and not np.isinf(value):
            raise LaunchError(f"{where}: {value} is too large for .{p.type}")
        return number.tobytes()
    if not isinstance(value, int) or kind not in "usb":
        raise _misfit(where, p, value)
    bits = 8 * size
    low = 0 if kind == "u" else -(1 << (bits - 1))
    high = (1 << (bits - 1)) - 1 if kind == "s" else (1 << bits) - 1
    if not low <= value <= high:
        raise LaunchError(f"{where}: expected an integer from {low} to {high}, got {value}")
    return value.to_bytes(size, "little", signed=value < 0)


def _misfit(where: Where, p: Parameter, value: Any) -> LaunchError:
    whole = p.type[0] in "us" and p.pointer is False and isinstance(value, float | str | np.integer | np.floating)
    line = f"\n  write:  {as_whole(where.written, value)}" if whole else ""
    if p.type in ("f32", "f64") and isinstance(value, np.integer | np.floating):
        line = f"\n  write:  float({where.written})"
    return LaunchError(f"{where}: expected {_wanted(p)}, got {_show(value)}{line}")


def _wanted(p: Parameter) -> str:
    from ptxlab.isa.types import OPAQUE

    if p.type in OPAQUE:
        return "a pl.Surface" if p.type == "surfref" else "a pl.Texture"
    if p.array:
        return f"{p.size} bytes"
    if p.pointer is None and p.size == 8 and p.type[0] != "f":
        return "an array, a device buffer or a 64-bit integer"
    return _wanted_array(p) if p.pointer else _wanted_scalar(p)


def _wanted_array(p: Parameter) -> str:
    if not p.element:
        return "an array or a device buffer"
    names = ELEMENTS.get(p.element, (f"{p.element.lstrip('b')}-bit",))
    return f"an array of {' or '.join(names)}"


def _names(element: str) -> Sequence[str]:
    """The numpy dtypes that an array may have for a pointer to this PTX type, the first ones."""
    return ELEMENTS.get(element, (f"uint{element.lstrip('b')}",))


def _wanted_scalar(p: Parameter) -> str:
    if p.type[0] == "f":
        return f"a float, or np.float{8 * p.size}"
    if p.type[0] == "b":
        return f"an integer, or a numpy scalar of {p.size} bytes"
    return f"an integer, or np.{'u' if p.type[0] == 'u' else ''}int{8 * p.size}"


def _show(value: Any) -> str:
    """A value in a few words: its type, and its shape or itself."""
    if isinstance(value, Const | Out):
        return f"pl.{type(value).__name__.lower()} of {_show(value.array)}"
    if isinstance(value, DeviceBuffer):
        return f"a device buffer of {value.dtype} {list(value.shape)}"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} {list(value.shape)}"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__} {value.item()!r}"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value)} bytes"
    shown = " ".join(repr(value).split())
    return f"{type(value).__name__} {shown if len(shown) <= 80 else shown[:77] + '...'}"

"""The warning about an array whose type is not that by which the kernel loads or stores it.

A float64 array, numpy's default, in a kernel of floats gives garbage and no fault. There are right programs that look
alike: bytes are copied by any type, a buffer is raw memory, half of an element is read on purpose. So the warning wants
evidence: what the kernel computes with the values (see `emulate.program.element_types`), how many elements the launch
counts, and what the array holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab import errors
from ptxlab.errors import LaunchError
from ptxlab.launch.argument_hints import cast
from ptxlab.launch.arguments import ELEMENTS, as_array
from ptxlab.launch.parameters import Bound, Where

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptxlab.emulate.program.element_types import Use
    from ptxlab.emulate.program.program import Program

PTX_TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "f32",
             "complex128": "f64"}  # fmt: skip
"""The PTX type of a float, or of the parts of a complex number."""
_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}


class ArrayTypeWarning(UserWarning):
    """An array has another type than the kernel loads or stores."""


def warn(
    kernel: str, program: Program, bound: Sequence[Bound], args: Sequence[Any], sizes: tuple[Sequence[int], ...]
) -> None:
    """Warns of each argument whose array has another type than the kernel takes it for; LaunchError for a texture or
    surface that the kernel takes for an array. args: as the caller gave them. sizes: the grid's and the block's."""
    offsets, end = [], 0
    for b in bound:
        offsets.append(-(-end // b.parameter.align) * b.parameter.align)
        end = offsets[-1] + b.parameter.size
    arrays = {at: b for at, b in zip(offsets, bound, strict=True) if _pointed(b) is not None and b.map is None}
    objects = {at: b for at, b in zip(offsets, bound, strict=True) if b.object is not None and not b.variable}
    if not objects and not any(_doubtful(b, program) for b in arrays.values()):
        return
    from ptxlab.emulate.program.element_types import element_uses

    numbers = {int.from_bytes(b.scalar, "little") for b in bound if b.parameter.type[0] in "usb"}
    lengths = {int(np.prod([size[0] for size in sizes])), int(np.prod(sizes)), *(n for size in sizes for n in size)}
    uses = element_uses(program)
    for at, b in objects.items():
        if use := next((use for use in uses if use.params == (at,)), None):
            where = Where(kernel, offsets.index(at), b.parameter)
            raise LaunchError(f"{where}: {_access(program, use)}, but the argument is {b.object!r}{as_array(where)}")
    for at, b in arrays.items():
        own = [use for use in uses if [p for p in use.params if p in arrays] == [at]]
        if (found := _mistaken(b, own, numbers, numbers | lengths)) is not None:
            k = offsets.index(at)
            given = args[k] if len(args) == len(bound) else None
            _say(Where(kernel, k, b.parameter), program, b, given, *found)


def _pointed(b: Bound) -> Any:
    """The array or the buffer of an argument."""
    return b.array if b.object is None and b.array is not None else b.buffer


def _doubtful(b: Bound, program: Program) -> bool:
    """Whether it is worth while to follow values: not where all the code's types are the array's."""
    size, own = _element(b)
    if b.parameter.element or size == 1:
        return False
    if (found := program.__dict__.get("kinds")) is None:
        from ptxlab.emulate.program.element_types import kinds  # here, as the instructions come with it

        found = kinds(program)
    widths, floats = found
    return any(width != size for width in widths) or any(_BYTES[kind] <= size for kind in floats if kind != own)


def _element(b: Bound) -> tuple[int, str]:
    """The bytes of an element, and its PTX type if it is a float; of a complex number those of its parts."""
    dtype = _pointed(b).dtype
    own = PTX_TYPES.get(dtype.name, "")
    return _BYTES[own] if own else dtype.itemsize, own


def _mistaken(b: Bound, uses: Sequence[Use], numbers: set[int], counted: set[int]) -> tuple[Use, str, int] | None:
    """The access that takes an array for another type: for which, and in which line. numbers: the launch's arguments;
    counted: these, and the sizes of the grid and of blocks."""
    size, own = _element(b)
    shape, nbytes = _pointed(b).shape, _pointed(b).nbytes

    def given(known: set[int]) -> bool:
        return int(np.prod(shape)) in known or (len(shape) > 1 and all(n in known for n in shape if n > 1))

    elements = given(counted)
    if size == 1 or any(_fits(use, size, own) for use in uses):
        return None
    loads = [use for use in uses if not use.stores]
    if _pointed(b).dtype.kind == "u" and not (loads and _held(b).any()):
        return None  # unsigned words, to be filled with anything
    for use in loads or uses:
        for taken, line in use.taken:
            width = _BYTES.get(taken, use.bits // 8)
            other = nbytes // width in (counted if not elements else set() if given(numbers) else numbers)
            if other and (size > width or taken not in _BYTES):
                return None  # the launch counts what the kernel takes elements for
            if taken in _BYTES:
                wrong = (
                    _no_floats(b, own, taken, elements)
                    if loads
                    else elements and (taken != own if own else width != size)
                )
            else:
                part = not use.as_bits and use.vector == 1 and size >= 4 and use.bits != size * 8 and use.step % size
                wrong = bool(part) and (elements or (bool(loads) and 8 < use.bits < size * 8 and bool(_held(b).any())))
            if wrong:
                return use, taken, line
        if use.type in _BYTES and not use.taken and not use.as_bits and elements:
            return use, use.type, use.line
    return None


def _fits(use: Use, size: int, own: str) -> bool:
    """Whether an access may be meant for elements of this size and, if they are floats, type: it takes them for nothing
    else, or it copies."""
    floats = [taken for taken, _ in use.taken if taken in _BYTES]
    if use.bits == size * 8:
        return own in floats if floats and own else all(_BYTES[kind] < size for kind in floats)
    return own in floats or (not use.taken and use.bits * use.vector % (size * 8) == 0)


def _no_floats(b: Bound, own: str, taken: str, elements: bool) -> bool:
    """Whether the elements of an array are surely no floats of the type that they are taken for."""
    held = _held(b)
    if not held.any():
        return elements and _element(b)[0] != _BYTES[taken]
    if own:
        seen = np.abs(held.view(np.float32)) if (own, taken) == ("f64", "f32") else np.zeros(2, np.float32)
        packed = bool((seen[::2] != 0).any()) and bool(((seen == 0) | ((seen > 1e-12) & (seen < 1e12))).all())
        return own != taken and not packed
    import ml_dtypes

    with np.errstate(invalid="ignore"):
        seen = np.abs(held.view(ml_dtypes.bfloat16 if taken == "bf16" else f"f{_BYTES[taken]}").astype(np.float64))
    normal = {"f16": 6e-5, "f64": 2.3e-308}.get(taken, 1.2e-38)  # what is smaller was an integer
    return bool(((seen > 0) & (seen < normal)).any()) and not bool(((seen >= normal) & np.isfinite(seen)).any())


def _held(b: Bound) -> NDArray[np.uint8]:
    """The bytes that an array or a buffer begins with."""
    if b.array is None:
        return b.buffer.data if b.buffer is not None else np.zeros(0, np.uint8)
    return np.zeros(0, np.uint8) if b.poison else b.array.reshape(-1).view(np.uint8)


def _access(program: Program, use: Use) -> str:
    return f"{program.place(use.line)} {'stores' if use.stores else 'loads'} .{use.type}"


def _say(where: Where, program: Program, b: Bound, given: Any, use: Use, taken: str, line: int) -> None:
    what = _access(program, use)
    if use.type != taken:
        what += f" ({program.place(line)} {'computes it as' if use.stores else 'uses it as'} .{taken})"
    write = cast(where.written, ELEMENTS[taken][0], given if hasattr(given, "copy_") else _pointed(b))
    says = f"{where}: {what}, but the array is {_pointed(b).dtype}\n  write:  {write}"
    errors.warn(says, ArrayTypeWarning)

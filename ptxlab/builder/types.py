"""PTX's types as Python classes: a register of type f32 is an instance of `f32`, so annotations and mypy agree.

16-bit floats travel in `.b16` registers and packed types in `.b32`; 8-bit types exist in memory only, and a load of
one gives the 32-bit register it was extended to.
"""

from __future__ import annotations

from typing import Any

from ptxlab.builder.registers import Register


class u8(Register["u8"]):
    """An unsigned byte, in memory only."""

    ptx, bits, declared, prefix, kind = "u8", 8, "u32", "r", "unsigned"


class s8(Register["s8"]):
    """A signed byte, in memory only."""

    ptx, bits, declared, prefix, kind = "s8", 8, "s32", "r", "signed"


class b8(Register["b8"]):
    """Eight bits, in memory only."""

    ptx, bits, declared, prefix, kind = "b8", 8, "b32", "r", "bits"


class u16(Register["u16"]):
    """An unsigned 16-bit integer."""

    ptx, bits, declared, prefix, kind = "u16", 16, "u16", "rs", "unsigned"


class s16(Register["s16"]):
    """A signed 16-bit integer."""

    ptx, bits, declared, prefix, kind = "s16", 16, "s16", "rs", "signed"


class b16(Register["b16"]):
    """Sixteen bits."""

    ptx, bits, declared, prefix, kind = "b16", 16, "b16", "h", "bits"


class f16(Register["f16"]):
    """A half-precision number."""

    ptx, bits, declared, prefix, kind = "f16", 16, "b16", "h", "float"


class bf16(Register["bf16"]):
    """A bfloat16: f32 with the lower half cut off."""

    ptx, bits, declared, prefix, kind = "bf16", 16, "b16", "h", "float"


class u32(Register["u32"]):
    """An unsigned 32-bit integer."""

    ptx, bits, declared, prefix, kind = "u32", 32, "u32", "r", "unsigned"


class s32(Register["s32"]):
    """A signed 32-bit integer."""

    ptx, bits, declared, prefix, kind = "s32", 32, "s32", "r", "signed"


class b32(Register["b32"]):
    """Thirty-two bits."""

    ptx, bits, declared, prefix, kind = "b32", 32, "b32", "r", "bits"


class f32(Register["f32"]):
    """A single-precision number."""

    ptx, bits, declared, prefix, kind = "f32", 32, "f32", "f", "float"


class tf32(Register["tf32"]):
    """An f32 rounded to 10 bits of mantissa, for tensor cores."""

    ptx, bits, declared, prefix, kind = "tf32", 32, "b32", "r", "packed"


class f16x2(Register["f16x2"]):
    """Two f16 in 32 bits, the first in the lower half."""

    ptx, bits, declared, prefix, kind = "f16x2", 32, "b32", "hh", "packed"


class bf16x2(Register["bf16x2"]):
    """Two bf16 in 32 bits, the first in the lower half."""

    ptx, bits, declared, prefix, kind = "bf16x2", 32, "b32", "hh", "packed"


class u64(Register["u64"]):
    """An unsigned 64-bit integer."""

    ptx, bits, declared, prefix, kind = "u64", 64, "u64", "rd", "unsigned"


class s64(Register["s64"]):
    """A signed 64-bit integer."""

    ptx, bits, declared, prefix, kind = "s64", 64, "s64", "rd", "signed"


class b64(Register["b64"]):
    """Sixty-four bits."""

    ptx, bits, declared, prefix, kind = "b64", 64, "b64", "rd", "bits"


class f64(Register["f64"]):
    """A double-precision number."""

    ptx, bits, declared, prefix, kind = "f64", 64, "f64", "fd", "float"


class pred(Register["pred"]):
    """A predicate: one bit a thread, what comparisons give and `k.if_`, `k.guard`, `k.select` take."""

    ptx, bits, declared, prefix, kind = "pred", 1, "pred", "p", "pred"


_INTEGERS = (u8, s8, b8, u16, s16, b16, u32, s32, b32, u64, s64, b64)
_FLOATS = (f16, bf16, f32, tf32, f16x2, bf16x2, f64)
_ALL: tuple[type[Register[Any]], ...] = (*_INTEGERS, *_FLOATS, pred)

TYPES: dict[str, type[Register[Any]]] = {t.ptx: t for t in _ALL}
"""PTX name -> class. `TYPES["f32"] is f32`."""

IN_REGISTER: dict[str, type[Register[Any]]] = {"u8": u32, "s8": s32, "b8": b32}
"""What a load of an 8-bit type is held in."""

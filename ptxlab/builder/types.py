"""PTX's types as Python classes: a register of type f32 is an instance of `f32`, so annotations and mypy agree.

16-bit floats travel in `.b16` registers and packed types in `.b32`; 8-bit types exist in memory only, and a load of
one gives the 32-bit register it was extended to.
"""

from __future__ import annotations

from typing import Any

from ptxlab.builder.registers import Register


class u8(Register["u8"], bits=8, declared="u32", prefix="r", kind="unsigned"):
    """An unsigned byte, in memory only."""


class s8(Register["s8"], bits=8, declared="s32", prefix="r", kind="signed"):
    """A signed byte, in memory only."""


class b8(Register["b8"], bits=8, declared="b32", prefix="r", kind="bits"):
    """Eight bits, in memory only."""


class u16(Register["u16"], bits=16, declared="u16", prefix="rs", kind="unsigned"):
    """An unsigned 16-bit integer."""


class s16(Register["s16"], bits=16, declared="s16", prefix="rs", kind="signed"):
    """A signed 16-bit integer."""


class b16(Register["b16"], bits=16, declared="b16", prefix="h", kind="bits"):
    """Sixteen bits."""


class f16(Register["f16"], bits=16, declared="b16", prefix="h", kind="float"):
    """A half-precision number."""


class bf16(Register["bf16"], bits=16, declared="b16", prefix="h", kind="float"):
    """A bfloat16: f32 with the lower half cut off."""


class u32(Register["u32"], bits=32, declared="u32", prefix="r", kind="unsigned"):
    """An unsigned 32-bit integer."""


class s32(Register["s32"], bits=32, declared="s32", prefix="r", kind="signed"):
    """A signed 32-bit integer."""


class b32(Register["b32"], bits=32, declared="b32", prefix="r", kind="bits"):
    """Thirty-two bits."""


class f32(Register["f32"], bits=32, declared="f32", prefix="f", kind="float"):
    """A single-precision number."""


class tf32(Register["tf32"], bits=32, declared="b32", prefix="r", kind="packed"):
    """An f32 rounded to 10 bits of mantissa, for tensor cores."""


class f16x2(Register["f16x2"], bits=32, declared="b32", prefix="hh", kind="packed"):
    """Two f16 in 32 bits, the first in the lower half."""


class bf16x2(Register["bf16x2"], bits=32, declared="b32", prefix="hh", kind="packed"):
    """Two bf16 in 32 bits, the first in the lower half."""


class u64(Register["u64"], bits=64, declared="u64", prefix="rd", kind="unsigned"):
    """An unsigned 64-bit integer."""


class s64(Register["s64"], bits=64, declared="s64", prefix="rd", kind="signed"):
    """A signed 64-bit integer."""


class b64(Register["b64"], bits=64, declared="b64", prefix="rd", kind="bits"):
    """Sixty-four bits."""


class f64(Register["f64"], bits=64, declared="f64", prefix="fd", kind="float"):
    """A double-precision number."""


class pred(Register["pred"], bits=1, declared="pred", prefix="p", kind="pred"):
    """A predicate: one bit per thread, which comparisons give and `k.if_`, `k.guard`, `k.select` take."""


_INTEGERS = (u8, s8, b8, u16, s16, b16, u32, s32, b32, u64, s64, b64)
_FLOATS = (f16, bf16, f32, tf32, f16x2, bf16x2, f64)
_ALL: tuple[type[Register[Any]], ...] = (*_INTEGERS, *_FLOATS, pred)

TYPES: dict[str, type[Register[Any]]] = {t.ptx: t for t in _ALL}
"""PTX name -> class. `TYPES["f32"] is f32`."""

IN_REGISTER: dict[str, type[Register[Any]]] = {"u8": u32, "s8": s32, "b8": b32}
"""What a load of an 8-bit type is held in."""

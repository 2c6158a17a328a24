"""PTX's fundamental types: their width, their kind, and the lane type that the emulator computes them in."""

from __future__ import annotations

INTEGERS = tuple(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))
"""Bits, unsigned and signed integers."""

VARIABLES = (*INTEGERS, "b128", "f16", "f16x2", "f32", "f64")
"""The types that a variable may have; the others are types of instructions only."""

WIDTH: dict[str, int] = {
    **{type_: int(type_[1:]) for type_ in INTEGERS},
    "b128": 128,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "tf32": 32,
    "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "u8x4": 32, "s8x4": 32, "f32x2": 64,
    "e4m3": 8, "e5m2": 8, "e4m3x2": 16, "e5m2x2": 16, "pred": 1,
}  # fmt: skip
"""Bits of each type. `pred` is a predicate, one bit per lane."""

SUB_BYTE: dict[str, int] = {"u4": 4, "s4": 4, "u2": 2, "s2": 2, "b1": 1}
"""Bits of the elements of matrices and of `cvt.pack` that are smaller than a byte. No register and no variable has such
a type."""

PAIRS = ("e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2")
"""Pairs of numbers narrower than a byte or just as wide, of which a variable may be: no entry of the table has them."""

OTHERS = (*PAIRS, "e2m1", "e2m1x4", "e2m3", "e2m3x4", "e3m2", "e3m2x4", "e4m3x4", "e5m2x4", "ue8m0")
"""Types of PTX ISA 9.0 that no entry of the table has."""

OPAQUE = ("texref", "samplerref", "surfref")
"""Types of textures, samplers and surfaces, which only variables have."""

VECTORS = ("v2", "v4", "v8")
"""How vectors of a type are declared, and named in opcodes."""


def width(type: str) -> int:
    """Bits of a PTX type."""
    return WIDTH[type] if type in WIDTH else SUB_BYTE[type]


def lane(type: str) -> str:
    """The lane type of a PTX type: `f32`, `f64`, or the integer of its width (`u16` -> `i16`, `f16x2` -> `i32`)."""
    return type if type in ("f32", "f64") else f"i{WIDTH[type]}"


def is_signed(type: str) -> bool:
    """Whether the type is a signed integer."""
    return type[0] == "s" and type[1].isdigit()


def is_float(type: str) -> bool:
    """Whether the type is a floating-point number (any width, packed or not)."""
    return type[0] == "f" or type.startswith(("bf", "tf", "e4", "e5"))


def is_integer(type: str) -> bool:
    """Whether the type is a signed or unsigned integer (`.b` types are bits, not integers)."""
    return type[0] in "us" and type[1].isdigit()

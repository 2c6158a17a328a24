"""Python numbers as PTX literals, exact to the last bit: floats in hexadecimal, integers checked against the type."""

from __future__ import annotations

import math
import struct
from typing import Any

from ptxlab.builder import mistakes
from ptxlab.builder.source import Site
from ptxlab.isa.types import WIDTH, is_float


def immediate(value: Any, ptx: str, site: Site | None) -> str:
    """The literal of a number in an operand of a PTX type: `0f3F800000`, `0d3FF0000000000000`, `7`."""
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, int | float):
        value = _plain(value, ptx, site)
    if ptx in ("f32", "f64"):
        return float_text(float(value), ptx, site)
    if is_float(ptx):
        raise mistakes.error(
            site,
            f"{ptx} instructions take no immediates; put {value!r} into a register first",
            f"number = k.var({ptx}, {value!r})",
        )
    if isinstance(value, float):
        if ptx in WIDTH and ptx != "pred":
            raise mistakes.error(site, f"{value!r} is not a whole number, and the instruction works on {ptx}")
        return float_text(value, "f32", site)
    bits = WIDTH.get(ptx, 64)
    low = 0 if ptx[0] == "u" else -(1 << (bits - 1))
    high = (1 << (bits - 1)) - 1 if ptx[0] == "s" else (1 << bits) - 1
    if ptx in WIDTH and not low <= value <= high:
        raise mistakes.error(site, f"{value} does not fit {ptx} ({low} to {high})")
    if ptx[0] == "b" and ptx in WIDTH and not 0 <= value < 256:
        return f"0x{value & ((1 << bits) - 1):X}"
    return str(value)


def float_text(value: float, ptx: str, site: Site | None = None) -> str:
    """A float as PTX writes it exactly: `0f` or `0d` and the bit pattern."""
    if ptx == "f64":
        return "0d" + struct.pack(">d", value).hex().upper()
    try:
        return "0f" + struct.pack(">f", value).hex().upper()
    except OverflowError:
        raise mistakes.error(site, f"{value!r} is larger than the largest f32, 3.4028235e+38") from None


def half_bits(value: float, ptx: str, site: Site | None) -> str:
    """The 16 bits of an f16 or a bf16, rounded to nearest even, as `0x3C00`."""
    if ptx == "f16":
        try:
            return f"0x{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
        except OverflowError:
            raise mistakes.error(site, f"{value!r} is larger than the largest f16, 65504") from None
    if math.isnan(value):
        return "0x7FFF"
    # Rounded once, from the double: bf16 keeps 8 bits of mantissa from exponent -126 up, fewer below.
    if value == 0 or math.isinf(value):
        exact = value
    else:
        exponent = max(math.frexp(value)[1] - 8, -133)
        exact = math.ldexp(round(math.ldexp(value, -exponent)), exponent)
    try:
        bits: int = struct.unpack("<I", struct.pack("<f", math.copysign(exact, value)))[0]
    except OverflowError:
        raise mistakes.error(site, f"{value!r} is larger than the largest bf16, 3.3895314e+38") from None
    return f"0x{bits >> 16:04X}"


def _plain(value: Any, ptx: str, site: Site | None) -> int | float:
    """A numpy scalar as the Python number it is."""
    for convert in ("__index__", "__float__"):
        method = getattr(type(value), convert, None)
        if method is not None:
            plain: int | float = method(value)
            return plain
    raise mistakes.error(site, f"expected {ptx}, found {value!r} ({type(value).__name__})")

"""Conversions of half to single precision and back, by arithmetic on their bits.

For x86 CPUs without F16C, on which LLVM calls functions for these conversions. The results are F16C's, bit by bit:
rounded to nearest even, subnormal numbers kept, a signalling NaN made quiet.
"""

from __future__ import annotations

from ptxlab.emulate.language import *

SIGN, INFINITE, NORMAL, QUIET = 0x8000, 0x7C00, 0x0400, 0x0200
"""Constants of a half: its sign bit, infinity, the smallest normal number, the bit of a quiet NaN."""
MOVED = 23 - 10
"""How many bits longer the fraction of a single is."""
REBIASED = (127 - 15) << 23
"""How much larger the exponent of a single is."""
INFINITE_32 = 0x7F800000
TOO_LARGE = 0x477FF000
"""65520: from here on a single is rounded to infinity."""
SMALLEST_NORMAL = 0x38800000
"""2**-14."""
UNIT = 126
"""The exponent field of a single whose significand counts units of 2**-24, those of subnormal halves."""


@rule
def widened(half: u16) -> u32:
    sign = u32(half & SIGN) << 16
    size = u32(half & (SIGN - 1))
    if size > INFINITE:
        return sign | INFINITE_32 | (size | QUIET) << MOVED
    if size == INFINITE:
        return sign | INFINITE_32
    if size >= NORMAL:
        return sign | (size << MOVED) + REBIASED
    if size == 0:
        return sign
    top = last(size)  # a subnormal half is a normal single
    return sign | (127 - 24 + top) << 23 | (size << (23 - top) & 0x007FFFFF)


@rule
def narrowed(single: u32) -> u16:
    """The bits of a single as those of the nearest half."""
    sign = u16(single >> 16) & SIGN
    size = single & 0x7FFFFFFF
    if size > INFINITE_32:
        return sign | INFINITE | QUIET | u16(size >> MOVED & (NORMAL - 1))
    if size >= TOO_LARGE:
        return sign | INFINITE
    if size >= SMALLEST_NORMAL:
        odd = size >> MOVED & 1
        return sign | u16((size + odd + (1 << (MOVED - 1)) - 1 - REBIASED) >> MOVED)
    shift = UNIT - (size >> 23)
    if shift > 24:  # less than half a unit
        return sign
    significand = size & 0x007FFFFF | 0x00800000
    whole = significand >> shift
    rest = significand & u32((1 << shift) - 1)
    tie = u32(1 << (shift - 1))
    if rest > tie or (rest == tie and whole & 1 != 0):
        whole += 1
    return sign | u16(whole)

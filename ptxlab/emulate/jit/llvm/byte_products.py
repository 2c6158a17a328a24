"""Dot products of four bytes by an instruction that multiplies pairs of 16-bit numbers and adds each two products.

x86 has had it since SSE2 (`pmaddwd`). The bytes of a word are widened to two pairs, those at even places and those at
odd ones: no sum of two products of bytes can overflow.
"""

from __future__ import annotations

from ptxlab.emulate.jit.llvm.fragments import shuffle
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.vector_elements import joined

_INSTRUCTIONS = {16: ("+avx512bw", "avx512.pmaddw.d.512"), 8: ("+avx2", "avx2.pmadd.wd"), 4: ("+sse2", "sse2.pmadd.wd")}
"""By the sums that it makes: which feature a CPU needs for it, and what LLVM calls it."""


def pair_products(features: str) -> int | None:
    """How many sums the best such instruction makes, of a CPU with these features."""
    there = features.split(",")
    return next((lanes for lanes, (feature, _) in _INSTRUCTIONS.items() if feature in there), None)


def dot_of_bytes(t: Text, lanes: int, a: str, b: str, a_signed: bool, b_signed: bool) -> str:
    """The dot products of two vectors of words, by an instruction that makes so many at once."""
    name = f"llvm.x86.{_INSTRUCTIONS[lanes][1]}"
    operands = [_halves(t, a, a_signed), _halves(t, b, b_signed)]
    total = ""
    for pair in zip(*operands, strict=True):
        parts = []
        for first in range(0, 2 * W, 2 * lanes):
            chosen = range(first, first + 2 * lanes)
            cut = [shuffle(t, "i16", 2 * W, each, "poison", chosen) for each in pair]
            parts.append(t.call(f"<{lanes} x i32>", name, [(f"<{2 * lanes} x i16>", each) for each in cut]))
        products = joined(t, "i32", lanes, parts)
        total = t.add(f"<{W} x i32>", total, products) if total else products
    return total


def _halves(t: Text, words: str, signed: bool) -> list[str]:
    """The bytes at even places as 16-bit numbers, and those at odd places."""
    kind, by = f"<{2 * W} x i16>", "splat (i16 8)"
    both, shift = t.bitcast(f"<{W} x i32>", words, kind), "ashr" if signed else "lshr"
    even = t.let(f"{shift} {kind} {t.shl(kind, both, by)}, {by}")
    return [even, t.let(f"{shift} {kind} {both}, {by}")]

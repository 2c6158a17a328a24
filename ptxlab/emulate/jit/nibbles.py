"""Sums of products of elements smaller than a byte, as LLVM IR: 32 lanes of words that hold eight or 32 elements."""

from __future__ import annotations

from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.isa.fragments import Product
from ptxlab.isa.types import is_signed

VEC = f"<{W} x i32>"


def dot(t: Text, p: Product, pairs: list[tuple[str, str]]) -> str:
    """The sum, over pairs of words, of the products of the elements of A and B in them."""
    total = "zeroinitializer"
    for left, right in pairs:
        if p.bits:
            parts = [t.call(VEC, f"llvm.ctpop.v{W}i32", [(VEC, t.let(f"{p.bits} {VEC} {left}, {right}"))])]
        else:
            parts = [
                t.let(f"mul {VEC} {nibble(t, p.a.type, left, k)}, {nibble(t, p.b.type, right, k)}") for k in range(8)
            ]
        for part in parts:
            total = t.let(f"add {VEC} {total}, {part}")
    return total


def nibble(t: Text, type_: str, word: str, k: int) -> str:
    """Element k of each word's eight, as i32."""
    high = t.let(f"shl {VEC} {word}, splat (i32 {28 - 4 * k})")
    return t.let(f"{'ashr' if is_signed(type_) else 'lshr'} {VEC} {high}, splat (i32 28)")

"""Vectors of elements: joined, and those of vector accesses, which lie in turns in memory: x y z w, x y z w."""

from __future__ import annotations

from collections.abc import Sequence

from ptxlab.emulate.jit.llvm.ir_text import Text, W


def joined(t: Text, ty: str, width: int, parts: Sequence[str]) -> str:
    """Vectors of `width` elements, a power of two of them, one behind the other."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [t.shuffle(f"<{width} x {ty}>", a, range(2 * width), b) for a, b in pairs]
        width *= 2
    return parts[0]


def interleave(t: Text, ty: str, parts: list[str]) -> str:
    """The elements of a vector access, one vector of all lanes each, as they lie in memory."""
    if len(parts) == 1:
        return parts[0]
    count, block = len(parts), joined(t, ty, W, parts)
    return t.shuffle(f"<{W * count} x {ty}>", block, [k % count * W + k // count for k in range(W * count)])


def deinterleave(t: Text, ty: str, block: str, count: int) -> list[str]:
    """The inverse of `interleave`: the vectors that lie in turns in a block."""
    if count == 1:
        return [block]
    return [t.shuffle(f"<{W * count} x {ty}>", block, range(k, W * count, count)) for k in range(count)]

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


def taking_turns(count: int) -> bool:
    """Whether `in_turns` can bring so many vectors together: powers of two, and three times these."""
    return count in (1, 3) or (count % 2 == 0 and taking_turns(count // 2))


def in_turns(t: Text, ty: str, parts: list[str]) -> str:
    """The same as `interleave`, in steps of two or three vectors, for which CPUs have shuffles: first the vectors at
    even places and those at odd places, then the two results."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 3:
        kind, both = f"<{W} x {ty}>", f"<{2 * W} x {ty}>"
        two, one = (t.shuffle(kind, x, range(2 * W), y) for x, y in ((parts[0], parts[1]), (parts[2], "poison")))
        return t.shuffle(both, two, [k % 3 * W + k // 3 for k in range(3 * W)], one)
    width = W * len(parts) // 2
    even, odd = in_turns(t, ty, parts[::2]), in_turns(t, ty, parts[1::2])
    return t.shuffle(f"<{width} x {ty}>", even, [k % 2 * width + k // 2 for k in range(2 * width)], odd)


def deinterleave(t: Text, ty: str, block: str, count: int) -> list[str]:
    """The inverse of `in_turns`: the vectors that lie in turns in a block."""
    if count == 1:
        return [block]
    return [t.shuffle(f"<{W * count} x {ty}>", block, range(k, W * count, count)) for k in range(count)]

"""Vectors of elements: joined, and those of vector accesses, which lie in turns in memory: x y z w, x y z w."""

from __future__ import annotations

from ptxlab.emulate.jit.llvm.ir_text import Text, W


def joined(t: Text, ty: str, parts: list[str], width: int) -> str:
    """Vectors of `width` elements, a power of two of them, one behind the other."""
    while len(parts) > 1:
        both, kind = ", ".join(f"i32 {n}" for n in range(2 * width)), f"<{width} x {ty}>"
        parts = [
            t.let(f"shufflevector {kind} {a}, {kind} {b}, <{2 * width} x i32> <{both}>")
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        width *= 2
    return parts[0]


def interleave(t: Text, ty: str, parts: list[str]) -> str:
    """The elements of a vector access, one vector of all lanes each, as they lie in memory."""
    if len(parts) == 1:
        return parts[0]
    count, block = len(parts), joined(t, ty, parts, W)
    order, kind = ", ".join(f"i32 {(k % count) * W + k // count}" for k in range(W * count)), f"<{W * count} x {ty}>"
    return t.let(f"shufflevector {kind} {block}, {kind} poison, <{W * count} x i32> <{order}>")


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
        every = ", ".join(f"i32 {n}" for n in range(2 * W))
        two, one = (
            t.let(f"shufflevector {kind} {x}, {kind} {y}, <{2 * W} x i32> <{every}>")
            for x, y in ((parts[0], parts[1]), (parts[2], "poison"))
        )
        order = ", ".join(f"i32 {k % 3 * W + k // 3}" for k in range(3 * W))
        return t.let(f"shufflevector {both} {two}, {both} {one}, <{3 * W} x i32> <{order}>")
    width = W * len(parts) // 2
    even, odd = in_turns(t, ty, parts[::2]), in_turns(t, ty, parts[1::2])
    order = ", ".join(f"i32 {k % 2 * width + k // 2}" for k in range(2 * width))
    return t.let(f"shufflevector <{width} x {ty}> {even}, <{width} x {ty}> {odd}, <{2 * width} x i32> <{order}>")


def deinterleave(t: Text, ty: str, block: str, count: int) -> list[str]:
    """The inverse of `in_turns`: the vectors that lie in turns in a block."""
    if count == 1:
        return [block]
    out, kind = [], f"<{W * count} x {ty}>"
    for k in range(count):
        order = ", ".join(f"i32 {j * count + k}" for j in range(W))
        out.append(t.let(f"shufflevector {kind} {block}, {kind} poison, <{W} x i32> <{order}>"))
    return out

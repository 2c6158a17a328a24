"""Fragments of matrices as LLVM vectors: registers in a warp's state, and elements picked out of them.

A register of 32 lanes is one vector of 32 * packed elements, lane 0 first: the element of a lane at a position is
number `lane * packed + position`. Functions made here take `%ws`, the warp's state, and `%table`, the byte offsets in
it of their registers: one function serves every instruction of its form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxlab.emulate.jit.llvm.ir_text import Operand, Text, W
from ptxlab.isa.fragments import Fragment

Place = tuple[int, int]
"""A register and an element of its vector."""


def places(f: Fragment, row: np.ndarray, column: np.ndarray) -> list[Place]:
    """The first place of each element at these rows and columns (arrays of one shape, flattened)."""
    found = f.first[row, column].ravel()
    return [(int(p) // (W * f.packed), int(p) % W * f.packed + int(p) // W % f.packed) for p in found]


def shuffle(t: Text, ty: str, width: int, a: str, b: str, indices: Sequence[int]) -> str:
    """Elements of two vectors of `width` elements, by index."""
    if b == "poison" and list(indices) == list(range(width)):
        return a
    return t.shuffle(f"<{width} x {ty}>", a, indices, b)


def pick(t: Text, ty: str, width: int, sources: Sequence[str], wanted: Sequence[Place]) -> str:
    """A vector of the wanted elements of vectors that have `width` each."""
    used = sorted({source for source, _ in wanted})
    if len(used) > 2:
        used += used[:1] * ((1 << (len(used) - 1).bit_length()) - len(used))
    where = {source: k * width for k, source in reversed(list(enumerate(used)))}
    indices = [where[source] + element for source, element in wanted]
    if len(used) <= 2:
        return shuffle(t, ty, width, sources[used[0]], sources[used[1]] if len(used) > 1 else "poison", indices)
    half = len(used) // 2
    low, high = (t.joined(ty, width, [sources[s] for s in some]) for some in (used[:half], used[half:]))
    return shuffle(t, ty, width * half, low, high, indices)


def slot(t: Text, number: int) -> str:
    """A pointer to the register whose offset is the `number`th of the table."""
    p = t.element("i32", "%table", number)
    offset = t.zext("i32", t.load("i32", p), "i64")
    return t.offset("%ws", offset)


def load(t: Text, number: int, ty: str, count: int) -> str:
    """A register as a vector of `count` elements."""
    return t.load(f"<{count} x {ty}>", slot(t, number), align=64)


def store(t: Text, number: int, ty: str, count: int, value: str) -> None:
    """Writes a register."""
    t.store(f"<{count} x {ty}>", value, slot(t, number), align=64)


def function(t: Text, name: str, more: str = "", result: str = "void", value: Operand = "") -> str:
    """Ends a function and gives its text. more: parameters behind the two."""
    t.ret(result, value)
    return t.function(f"{result} @{name}(ptr %ws, ptr %table{more})")

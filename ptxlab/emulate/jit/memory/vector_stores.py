"""Stores of vectors (`st.v2`, `st.v4`) by lanes that are not in a row: each lane's elements as one store.

Element by element they would be as many scatters as the vector has elements, each of which takes a CPU as long as 32
stores. So the elements of a lane are brought beside each other, by shuffles within 16 bytes, and stored together. Bytes
and halves make words.
"""

from __future__ import annotations

from ptxlab.emulate.jit.llvm.fragments import shuffle
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.jit.llvm.vector_elements import in_turns
from ptxlab.emulate.jit.memory.merged_loads import BYTES
from ptxlab.emulate.jit.memory.scattered import Scattered, Where, each_lane, lane_offset, store_in_memory


def store_vectors(scattered: Scattered, lane: str, base: str, where: Where, values: list[str]) -> None:
    """Stores the vectors of the active lanes; `values` has an element of each lane in a vector of 32."""
    count, kind = len(values), f"<{W} x {LLVM[lane]}>"
    name, listed, given = scattered.called(f"scatter.{lane}.v{count}", base, where)
    taken = "".join(f", {kind} %x{k}" for k in range(count))
    scattered.function(name, f"void @{name}({listed}{taken})", lambda t: _store(t, lane, count, where))
    scattered.t.call_function("void", name, given, *(f"{kind} {value}" for value in values))


def stored_together(lane: str, count: int) -> bool:
    """Whether such vectors have this way: of words or pairs of words, 8 or 16 bytes, and of what makes a word."""
    if BITS[lane] < 32:
        return count * BITS[lane] == 32
    return count > 1 and count * BITS[lane] // 8 in (BYTES // 2, BYTES)


def _store(t: Text, lane: str, count: int, where: Where) -> None:
    """The body of the function."""
    ty, size = LLVM[lane], BITS[lane] // 8
    offsets = where.name == "offsets"
    if offsets:
        store_in_memory(t, "at", where.kind, "%offsets")
        for k in range(count):
            t.alloca(f"<{W} x {ty}>", align=64, name=f"%given{k}")
        t.branch(t.eq("i32", "%bits", -1), "all", "some")
        t.at("all")
    columns, kind = [f"%x{k}" for k in range(count)], "i32" if size < 4 else f"<{count} x {ty}>"
    rows = _words(t, ty, columns) if size < 4 else _rows(t, ty, columns, BYTES // size)
    for row, p in zip(rows, where.places(t), strict=True):
        t.store(kind, row, p, align=size)
    t.ret()
    if not offsets:
        return
    t.at("some")
    for k in range(count):
        t.store(f"<{W} x {ty}>", f"%x{k}", f"%given{k}", align=64)
    with each_lane(t) as number:
        p = t.offset("%base", lane_offset(t, number))
        for e in range(count):
            x = t.load(ty, t.element(ty, f"%given{e}", number))
            t.store(ty, x, t.element(ty, p, e), align=size)
    t.ret()


def _words(t: Text, ty: str, columns: list[str]) -> list[str]:
    """The elements of each lane as a word, out of one vector for each element."""
    words = t.bitcast(f"<{W * len(columns)} x {ty}>", in_turns(t, ty, columns), f"<{W} x i32>")
    return [t.extract(f"<{W} x i32>", words, lane) for lane in range(W)]


def _rows(t: Text, ty: str, columns: list[str], share: int) -> list[str]:
    """The elements of each lane as a vector, out of one vector for each element. share: elements in 16 bytes."""
    halves = [
        [_merged(t, ty, a, b, share, half, 1) for half in range(2)]
        for a, b in zip(columns[::2], columns[1::2], strict=True)
    ]
    if share == 2:  # the lanes at even places, and those at odd ones
        return [_cut(t, ty, halves[0][lane % 2], lane - lane % 2, 2) for lane in range(W)]
    if len(columns) == 2:  # lanes 0 and 1 of each four, and lanes 2 and 3
        return [_cut(t, ty, halves[0][lane % 4 // 2], lane - lane % 4 + lane % 2 * 2, 2) for lane in range(W)]
    whole = [_merged(t, ty, halves[0][n // 2], halves[1][n // 2], 4, n % 2, 2) for n in range(4)]
    return [_cut(t, ty, whole[lane % 4], lane - lane % 4, 4) for lane in range(W)]


def _merged(t: Text, ty: str, a: str, b: str, share: int, half: int, step: int) -> str:
    """Of each 16 bytes of two vectors the lower or the upper half, `step` elements of each in turn."""
    order = [
        of + first + half * share // 2 + k
        for first in range(0, W, share)
        for piece in range(0, share // 2, step)
        for of in (0, W)
        for k in range(piece, piece + step)
    ]
    return shuffle(t, ty, W, a, b, order)


def _cut(t: Text, ty: str, vector: str, first: int, count: int) -> str:
    return shuffle(t, ty, W, vector, "poison", range(first, first + count))

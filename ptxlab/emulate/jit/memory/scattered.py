"""Loads and stores of 32 lanes at 32 addresses: gathers and scatters.

CPUs with 512-bit vectors have instructions for them. For all others LLVM would write one load or store for each lane,
each behind a test of its bit in the mask, wherever one is needed: that would be most of the code, and most of the time
to build it. So they are functions, which look at the mask once: a full warp takes 32 loads in a row, and of any other
the active lanes have their turns. Lanes at a stride are loaded one by one on every CPU: on AMD's that takes less time.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM

LARGE = 1500
"""Programs with more PTX instructions (debug builds, libraries) are built for size, not for speed."""


class Scattered(Part):
    """Elements at a pointer and 32 offsets from it (a vector of i32), those of the active lanes; or of all lanes, at a
    pointer and multiples of a stride (an i64)."""

    def access(self, lane: str, base: str, offsets: str, value: str = "") -> str:
        """Loads the elements, or stores those of `value`, lowest lane first. Inactive lanes get anything."""
        if self.e.wide and BITS[lane] >= 32 and len(self.program.codes) < LARGE:  # the CPU has an instruction for it
            pointers = self.t.element("i8", base, offsets, by=f"<{W} x i32>")
            where = pointers, self.active.vector
            if not value:
                return self.t.gather(LLVM[lane], BITS[lane] // 8, *where, "zeroinitializer")
            self.t.scatter(LLVM[lane], BITS[lane] // 8, value, *where)
            return ""
        given = ("ptr", "%base", base), (f"<{W} x i32>", "%offsets", offsets), ("i32", "%bits", self.active.bits)
        return self._call(lane, "", given, value)

    def strided(self, lane: str, base: str, stride: str, value: str = "") -> str:
        """The same of all lanes, each a stride behind the one before."""
        return self._call(lane, ".strided", (("ptr", "%base", base), ("i64", "%stride", stride)), value)

    def _call(self, lane: str, how: str, given: tuple[tuple[str, str, str], ...], value: str) -> str:
        """A call of the function for it, which is written if it has not been. given: types, parameters, arguments."""
        kind, stores = f"<{W} x {LLVM[lane]}>", bool(value)
        name, result = (f"scatter.{lane}{how}", "void") if stores else (f"gather.{lane}{how}", kind)
        given += ((kind, "%x", value),) * stores
        if name not in self.e.helpers:
            t = Text()
            if how:
                _all(t, lane, _strided(t), stores=stores)
            else:
                _active(t, lane, stores=stores)
            self.t.declared |= t.declared
            head = f"{result} @{name}({', '.join(f'{type_} {parameter}' for type_, parameter, _ in given)})"
            self.e.helpers[name] = t.function(head, "noinline nounwind")
        return self.t.call_function(result, name, *(f"{type_} {argument}" for type_, _, argument in given))


def _active(t: Text, lane: str, *, stores: bool) -> None:
    ty, size, vector = LLVM[lane], BITS[lane] // 8, f"<{W} x {LLVM[lane]}>"
    _in_memory(t, "at", f"<{W} x i32>", "%offsets")
    _in_memory(t, "data", vector, "%x" if stores else "zeroinitializer")
    with t.ends_if(t.eq("i32", "%bits", -1)):
        _all(t, lane, (_at_offset(t, str(k)) for k in range(W)), stores=stores)
    with t.each_lane("%bits") as k:
        place, cell = _at_offset(t, k), t.element(ty, "%data", k)
        source, to = (cell, place) if stores else (place, cell)
        t.store(ty, t.load(ty, source, align=size), to, align=size)
    t.ret(*(() if stores else (vector, t.load(vector, "%data", align=64))))


def _all(t: Text, lane: str, places: Iterator[str], *, stores: bool) -> None:
    """The elements of all lanes, and the end of the function."""
    ty, size, vector, found = LLVM[lane], BITS[lane] // 8, f"<{W} x {LLVM[lane]}>", "poison"
    for k, p in enumerate(places):
        if stores:
            t.store(ty, t.extract(vector, "%x", k), p, align=size)
        else:
            found = t.insert(vector, found, ty, t.load(ty, p, align=size), k)
    t.ret(*(() if stores else (vector, found)))


def _strided(t: Text) -> Iterator[str]:
    """A pointer for each lane, a stride from the one before. CPUs add a register, or twice its value, on the way."""
    beyond = ["0", "%stride", t.shl("i64", "%stride", 1), t.mul("i64", "%stride", 3)]
    four, first = t.shl("i64", "%stride", 2), "%base"
    for k in range(W):
        if k and k % 4 == 0:
            first = t.offset(first, four)
        yield t.offset(first, beyond[k % 4])


def _at_offset(t: Text, k: str) -> str:
    return t.offset("%base", t.sext("i32", t.load("i32", t.element("i32", "%at", k)), "i64"))


def _in_memory(t: Text, name: str, kind: str, value: str) -> None:
    """Puts a vector into memory, where its elements can be indexed."""
    t.alloca(kind, align=64, name=f"%{name}")
    t.store(kind, value, f"%{name}", align=64)

"""Loads and stores of 32 lanes at 32 addresses: gathers and scatters.

CPUs with 512-bit vectors have instructions for them. For all others LLVM would write one load or store for each lane,
each behind a test of its bit in the mask, wherever one is needed: that would be most of the code, and most of the time
to build it. So they are functions, which look at the mask once: a full warp takes 32 loads in a row, and of any other
the active lanes have their turns. Lanes at a stride are loaded one by one on every CPU: on AMD's that takes less time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM

LARGE = 1500
"""Programs with more PTX instructions (debug builds, libraries) are built for size, not for speed."""


class Scattered(Part):
    """Elements at a pointer and 32 offsets from it (a vector of i32), those of the active lanes; or of all lanes, at a
    pointer and multiples of a stride (an i64)."""

    def load(self, lane: str, base: str, offsets: str) -> str:
        """The elements; what inactive lanes get is undefined."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"gather.{lane}"
        if self._inline(lane):
            pointers = self.t.element("i8", base, offsets, by=f"<{W} x i32>")
            return self.t.gather(LLVM[lane], BITS[lane] // 8, pointers, self.active.vector, "zeroinitializer")
        self._function(name, f"{kind} @{name}(ptr %base, <{W} x i32> %offsets, i32 %bits)", lambda t: _gather(t, lane))
        given = f"ptr {base}", f"<{W} x i32> {offsets}", f"i32 {self.active.bits}"
        return self.t.call_function(kind, name, *given)

    def store(self, lane: str, base: str, offsets: str, value: str) -> None:
        """Stores the elements, the lowest lane first."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"scatter.{lane}"
        if self._inline(lane):
            pointers = self.t.element("i8", base, offsets, by=f"<{W} x i32>")
            self.t.scatter(LLVM[lane], BITS[lane] // 8, value, pointers, self.active.vector)
            return
        parameters = f"ptr %base, <{W} x i32> %offsets, i32 %bits, {kind} %x"
        self._function(name, f"void @{name}({parameters})", lambda t: _scatter(t, lane))
        given = f"ptr {base}", f"<{W} x i32> {offsets}", f"i32 {self.active.bits}", f"{kind} {value}"
        self.t.call_function("void", name, *given)

    def load_strided(self, lane: str, base: str, stride: str) -> str:
        """The elements."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"gather.{lane}.strided"
        self._function(name, f"{kind} @{name}(ptr %base, i64 %stride)", lambda t: _load_all(t, lane, _strided(t)))
        return self.t.call_function(kind, name, f"ptr {base}", f"i64 {stride}")

    def store_strided(self, lane: str, base: str, stride: str, value: str) -> None:
        """Stores the elements, the lowest lane first."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"scatter.{lane}.strided"
        head = f"void @{name}(ptr %base, i64 %stride, {kind} %x)"
        self._function(name, head, lambda t: _store_all(t, lane, _strided(t)))
        self.t.call_function("void", name, f"ptr {base}", f"i64 {stride}", f"{kind} {value}")

    def _inline(self, lane: str) -> bool:
        """Whether the CPU has an instruction for it, and the program is not built for size."""
        return self.e.wide and BITS[lane] >= 32 and len(self.program.codes) < LARGE

    def _function(self, name: str, head: str, body: Callable[[Text], None]) -> None:
        """Writes a function, if it has not been."""
        if name not in self.e.helpers:
            t = Text()
            body(t)
            self.t.declared |= t.declared
            self.e.helpers[name] = t.function(head, "noinline nounwind")


def _gather(t: Text, lane: str) -> None:
    ty, size = LLVM[lane], BITS[lane] // 8
    _in_memory(t, "at", f"<{W} x i32>", "%offsets")
    _in_memory(t, "out", f"<{W} x {ty}>", "zeroinitializer")
    with t.ends_if(t.eq("i32", "%bits", -1)):
        _load_all(t, lane, _at_offsets(t))
    with _each_lane(t) as k:
        t.store(ty, t.load(ty, _at_offset(t, k), align=size), t.element(ty, "%out", k))
    t.ret(f"<{W} x {ty}>", t.load(f"<{W} x {ty}>", "%out", align=64))


def _scatter(t: Text, lane: str) -> None:
    ty, size = LLVM[lane], BITS[lane] // 8
    _in_memory(t, "at", f"<{W} x i32>", "%offsets")
    _in_memory(t, "given", f"<{W} x {ty}>", "%x")
    with t.ends_if(t.eq("i32", "%bits", -1)):
        _store_all(t, lane, _at_offsets(t))
    with _each_lane(t) as k:
        p = _at_offset(t, k)
        t.store(ty, t.load(ty, t.element(ty, "%given", k)), p, align=size)
    t.ret()


def _load_all(t: Text, lane: str, places: Iterator[str]) -> None:
    """Loads the elements of all lanes and returns them."""
    ty, vector = LLVM[lane], "poison"
    for k, p in enumerate(places):
        vector = t.insert(f"<{W} x {ty}>", vector, ty, t.load(ty, p, align=BITS[lane] // 8), k)
    t.ret(f"<{W} x {ty}>", vector)


def _store_all(t: Text, lane: str, places: Iterator[str]) -> None:
    """Stores the elements of all lanes and returns."""
    ty = LLVM[lane]
    for k, p in enumerate(places):
        t.store(ty, t.extract(f"<{W} x {ty}>", "%x", k), p, align=BITS[lane] // 8)
    t.ret()


def _strided(t: Text) -> Iterator[str]:
    """A pointer for each lane, a stride from the one before. CPUs add a register, or twice its value, on the way."""
    beyond = ["0", "%stride", t.shl("i64", "%stride", 1), t.mul("i64", "%stride", 3)]
    four, first = t.shl("i64", "%stride", 2), "%base"
    for k in range(W):
        if k and k % 4 == 0:
            first = t.offset(first, four)
        yield t.offset(first, beyond[k % 4])


def _at_offsets(t: Text) -> Iterator[str]:
    """A pointer for each lane."""
    for k in range(W):
        yield _at_offset(t, str(k))


def _at_offset(t: Text, k: str) -> str:
    return t.offset("%base", t.sext("i32", t.load("i32", t.element("i32", "%at", k)), "i64"))


def _in_memory(t: Text, name: str, kind: str, value: str) -> None:
    """Puts a vector into memory, where its elements can be indexed."""
    t.alloca(kind, align=64, name=f"%{name}")
    t.store(kind, value, f"%{name}", align=64)


@contextmanager
def _each_lane(t: Text) -> Iterator[str]:
    """A loop over the active lanes, the lowest first: a lane's number, an i64."""
    before, turn, act, done = t.here, t.label("turn"), t.label("act"), t.label("done")
    t.go(turn)
    t.at(turn)
    left, rest = t.name(), t.name()
    t.phi("i32", ("%bits", before), (rest, act), name=left)
    t.branch(t.eq("i32", left, 0), done, act)
    t.at(act)
    number = t.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
    yield t.zext("i32", number, "i64")
    t.and_("i32", left, t.sub("i32", left, 1), rest)
    t.go(turn)
    t.at(done)

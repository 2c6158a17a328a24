"""Loads and stores of 32 lanes at addresses of their own: gathers and scatters.

CPUs with 512-bit vectors have instructions for them. For all others LLVM would write one load or store for each lane,
each behind a test of its bit in the mask, wherever one is needed: that would be most of the code, and most of the time
to build it. So they are functions, which look at the mask once: a full warp takes 32 loads in a row, and of any other
the active lanes have their turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.neighbours import BYTES, Bundle, transposed
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.values import BITS, LLVM, Value

LARGE = 1500
"""Programs with more PTX instructions (debug builds, libraries) are built for size, not for speed."""

MANY = 10
"""Active lanes from which on a gather loads for all 32."""


class Scattered(Part):
    """Elements at a pointer and 32 offsets from it, or at a pointer and multiples of a constant."""

    def load(self, lane: str, base: str, offsets: str) -> Value:
        """The elements at 32 offsets (i32) from a pointer, of the active lanes; what others get is undefined."""
        kind = f"<{W} x {LLVM[lane]}>"
        if self._inline(lane):
            pointers = self.t.let(f"getelementptr i8, ptr {base}, <{W} x i32> {offsets}")
            text = self.t.gather(LLVM[lane], BITS[lane] // 8, pointers, self.active.vector, "zeroinitializer")
            return Value(text, lane, False)
        name = f"gather.{lane}"
        self._function(name, f"{kind} @{name}(ptr %base, <{W} x i32> %offsets, i32 %bits)", lambda t: _load(t, lane))
        given = f"ptr {base}, <{W} x i32> {offsets}, i32 {self.active.bits}"
        return Value(self.t.let(f"call {kind} @{name}({given})"), lane, False)

    def load_bundle(self, bundle: Bundle, base: str, offsets: str) -> None:
        """Puts the bundle of each active lane, at 32 offsets (i32) from a pointer, into its place."""
        name = f"bundle.{bundle.lane}.{bundle.count}"
        listed = f"ptr %base, <{W} x i32> %offsets, i32 %bits, ptr %rows"
        self._function(name, f"void @{name}({listed})", lambda t: _load_bundle(t, bundle.lane, bundle.count))
        given = f"ptr {base}, <{W} x i32> {offsets}, i32 {self.active.bits}, ptr {bundle.at}"
        self.t.do(f"call void @{name}({given})")
        bundle.loaded = True

    def store(self, lane: str, base: str, offsets: str, value: str) -> None:
        """Stores the elements of the active lanes at 32 offsets (i32) from a pointer."""
        kind = f"<{W} x {LLVM[lane]}>"
        if self._inline(lane):
            pointers = self.t.let(f"getelementptr i8, ptr {base}, <{W} x i32> {offsets}")
            self.t.scatter(LLVM[lane], BITS[lane] // 8, value, pointers, self.active.vector)
            return
        name, listed = f"scatter.{lane}", f"ptr %base, <{W} x i32> %offsets, i32 %bits, {kind} %x"
        self._function(name, f"void @{name}({listed})", lambda t: _store(t, lane))
        given = f"ptr {base}, <{W} x i32> {offsets}, i32 {self.active.bits}, {kind} {value}"
        self.t.do(f"call void @{name}({given})")

    def load_apart(self, lane: str, base: str, apart: int) -> Value:
        """The elements at a pointer, one for each lane, that are so many bytes apart: of all lanes, active or not."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"gather.{lane}.{apart}"
        if self._inline(lane):
            text = self.t.gather(LLVM[lane], BITS[lane] // 8, self._apart(base, apart), self.active.vector, "poison")
            return Value(text, lane, False)
        self._function(name, f"{kind} @{name}(ptr %base)", lambda t: _load_all(t, lane, lambda k: str(k * apart)))
        return Value(self.t.let(f"call {kind} @{name}(ptr {base})"), lane, False)

    def store_apart(self, lane: str, base: str, apart: int, value: str) -> None:
        """Stores the elements of the active lanes at a pointer, so many bytes apart."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"scatter.{lane}.{apart}"
        if self._inline(lane):
            self.t.scatter(LLVM[lane], BITS[lane] // 8, value, self._apart(base, apart), self.active.vector)
            return
        self._function(name, f"void @{name}(ptr %base, i32 %bits, {kind} %x)", lambda t: _store(t, lane, apart))
        self.t.do(f"call void @{name}(ptr {base}, i32 {self.active.bits}, {kind} {value})")

    def _apart(self, base: str, apart: int) -> str:
        lanes = ", ".join(f"i64 {k * apart}" for k in range(W))
        return self.t.let(f"getelementptr i8, ptr {base}, <{W} x i64> <{lanes}>")

    def _inline(self, lane: str) -> bool:
        """Whether the CPU has an instruction for it, and the program is not built for size."""
        return self.e.wide and BITS[lane] >= 32 and len(self.program.codes) < LARGE

    def _function(self, name: str, head: str, body: Callable[[Text], None]) -> None:
        """Writes a function, if it has not been."""
        if name not in self.e.helpers:
            t = Text()
            body(t)
            self.t.declared |= t.declared
            lines = "\n".join(t.lines)
            self.e.helpers[name] = f"define internal {head} noinline nounwind {{\n{lines}\n}}\n"


def _load_all(t: Text, lane: str, offset: Callable[[int], str]) -> None:
    """Loads the elements of all lanes and returns them."""
    ty, size = LLVM[lane], BITS[lane] // 8
    vector = "poison"
    for k in range(W):
        p = t.let(f"getelementptr i8, ptr %base, i64 {offset(k)}")
        x = t.let(f"load {ty}, ptr {p}, align {size}")
        vector = t.let(f"insertelement <{W} x {ty}> {vector}, {ty} {x}, i64 {k}")
    t.do(f"ret <{W} x {ty}> {vector}")


def _load(t: Text, lane: str) -> None:
    """The body of a gather."""
    ty, size = LLVM[lane], BITS[lane] // 8
    _keep(t, "out", f"<{W} x {ty}>", "zeroinitializer")
    _if_many(t)
    _load_all(t, lane, lambda k: _offset(t, str(k)))
    t.at("few")
    with _each(t) as k:
        p = t.let(f"getelementptr i8, ptr %base, i64 {_offset(t, k)}")
        x = t.let(f"load {ty}, ptr {p}, align {size}")
        t.do(f"store {ty} {x}, ptr {t.let(f'getelementptr {ty}, ptr %out, i64 {k}')}")
    t.do(f"ret <{W} x {ty}> {t.let(f'load <{W} x {ty}>, ptr %out, align 64')}")


def _load_bundle(t: Text, lane: str, count: int) -> None:
    """The body of a function that loads bundles."""
    ty, size = LLVM[lane], BITS[lane] // 8
    row = f"<{count} x {ty}>"
    together = 2 * BYTES // size
    _if_many(t)
    for first in range(0, W, together):
        rows = []
        for k in range(first, first + together):
            p = t.let(f"getelementptr i8, ptr %base, i64 {_offset(t, str(k))}")
            rows.append(t.let(f"load {row}, ptr {p}, align {size}"))
        for e, column in enumerate(transposed(t, ty, rows, count)):
            p = t.let(f"getelementptr i8, ptr %rows, i64 {(e * W + first) * size}")
            t.do(f"store <{together} x {ty}> {column}, ptr {p}, align 32")
    t.do("ret void")
    t.at("few")
    with _each(t) as number:
        p = t.let(f"getelementptr i8, ptr %base, i64 {_offset(t, number)}")
        to = t.let(f"getelementptr {ty}, ptr %rows, i64 {number}")
        for e in range(count):
            at, there = (t.let(f"getelementptr {ty}, ptr {q}, i64 {n}") for q, n in ((p, e), (to, e * W)))
            t.do(f"store {ty} {t.let(f'load {ty}, ptr {at}, align {size}')}, ptr {there}")
    t.do("ret void")


def _if_many(t: Text) -> None:
    """Goes on if all lanes are active, or so many that all may as well load: the others what the first of them does;
    else at the label `few`. Keeps the offsets."""
    _keep(t, "at", f"<{W} x i32>", "%offsets")
    t.do(f"br i1 {t.let('icmp eq i32 %bits, -1')}, label %all, label %some")
    t.at("some")
    count = t.call("i32", "llvm.ctpop.i32", [("i32", "%bits")])
    t.do(f"br i1 {t.let(f'icmp uge i32 {count}, {MANY}')}, label %many, label %few")
    t.at("many")  # the others load what the first of them does
    first = t.call("i32", "llvm.cttz.i32", [("i32", "%bits"), ("i1", "true")])
    there = t.splat("i32", t.let(f"load i32, ptr {t.let(f'getelementptr i32, ptr %at, i32 {first}')}"))
    mask = t.let(f"bitcast i32 %bits to <{W} x i1>")
    offsets = t.let(f"select <{W} x i1> {mask}, <{W} x i32> %offsets, <{W} x i32> {there}")
    t.do(f"store <{W} x i32> {offsets}, ptr %at, align 64")
    t.go("all")
    t.at("all")


def _store(t: Text, lane: str, apart: int = 0) -> None:
    """The body of a scatter: to offsets, or to places so many bytes apart."""
    ty, size = LLVM[lane], BITS[lane] // 8
    if not apart:
        _keep(t, "at", f"<{W} x i32>", "%offsets")
    _keep(t, "given", f"<{W} x {ty}>", "%x")
    with t.ends_if(t.let("icmp eq i32 %bits, -1")):
        for n in range(W):
            p = t.let(f"getelementptr i8, ptr %base, i64 {n * apart if apart else _offset(t, str(n))}")
            x = t.let(f"extractelement <{W} x {ty}> %x, i64 {n}")
            t.do(f"store {ty} {x}, ptr {p}, align {size}")
        t.do("ret void")
    with _each(t) as k:
        offset = t.let(f"mul i64 {k}, {apart}") if apart else _offset(t, k)
        p = t.let(f"getelementptr i8, ptr %base, i64 {offset}")
        x = t.let(f"load {ty}, ptr {t.let(f'getelementptr {ty}, ptr %given, i64 {k}')}")
        t.do(f"store {ty} {x}, ptr {p}, align {size}")
    t.do("ret void")


def _keep(t: Text, name: str, kind: str, value: str) -> None:
    """Puts a vector into memory, where its elements can be indexed."""
    t.do(f"%{name} = alloca {kind}, align 64")
    t.do(f"store {kind} {value}, ptr %{name}, align 64")


def _offset(t: Text, k: str) -> str:
    """A lane's offset, an i64."""
    p = t.let(f"getelementptr i32, ptr %at, i64 {k}")
    return t.let(f"sext i32 {t.let(f'load i32, ptr {p}')} to i64")


@contextmanager
def _each(t: Text) -> Iterator[str]:
    """A loop over the active lanes, the lowest first: a lane's number, an i64."""
    before, turn, act, done = t.here, t.label("turn"), t.label("act"), t.label("done")
    t.go(turn)
    t.at(turn)
    left, rest = t.name(), t.name()
    t.do(f"{left} = phi i32 [%bits, %{before}], [{rest}, %{act}]")
    t.do(f"br i1 {t.let(f'icmp eq i32 {left}, 0')}, label %{done}, label %{act}")
    t.at(act)
    number = t.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
    yield t.let(f"zext i32 {number} to i64")
    t.do(f"{rest} = and i32 {left}, {t.let(f'sub i32 {left}, 1')}")
    t.go(turn)
    t.at(done)

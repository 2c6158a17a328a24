"""Loads and stores of 32 lanes at addresses of their own: gathers and scatters.

CPUs with 512-bit vectors have instructions for them. For all others LLVM would write one load or store for each lane,
each behind a test of its bit in the mask, wherever one is needed: that would be most of the code, and most of the time
to build it. So they are functions, which look at the mask once: a full warp takes 32 loads in a row, and of any other
the active lanes have their turns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.jit.memory.address_patterns import Patterns
from ptxlab.emulate.jit.memory.merged_loads import BYTES, Bundle, transposed
from ptxlab.emulate.jit.memory.short_gathers import ShortGathers

LARGE = 1500
"""Programs with more PTX instructions (debug builds, libraries) are built for size, not for speed."""

MANY = 10
"""Active lanes from which on a gather loads for all 32."""


FEW = 8
"""Active lanes up to which AMD's CPUs store one after the other: their instruction for 32 stores takes 40 cycles,
however few are made, a loop 5 cycles for four lanes, 12 for eight, 27 for sixteen."""


@dataclass(eq=False, repr=False)
class Offsets:
    """Where lanes are: at 32 offsets from a pointer, a vector of i32."""

    text: str
    name = "offsets"
    kind = f"<{W} x i32>"

    def vector(self, t: Text) -> str:
        """The offsets."""
        return self.text

    @staticmethod
    def places(t: Text) -> Iterator[str]:
        """In a function: a pointer for each lane."""
        for k in range(W):
            yield t.offset("%base", lane_offset(t, str(k)))


@dataclass(eq=False, repr=False)
class Stride:
    """Where lanes are: so many bytes from each other, an i64, all of them active, and the first at a pointer."""

    text: str
    name = "stride"
    kind = "i64"

    def vector(self, t: Text) -> str:
        """The offsets."""
        stride = self.text if self.text.lstrip("-").isdigit() else t.trunc("i64", self.text, "i32")
        numbers = "<" + ", ".join(f"i32 {k}" for k in range(W)) + ">"
        return t.mul(f"<{W} x i32>", t.splat("i32", stride), numbers)

    @staticmethod
    def places(t: Text) -> Iterator[str]:
        """In a function: a pointer for each lane. CPUs add a register, or twice its value, on the way."""
        beyond = ["0", "%stride", t.shl("i64", "%stride", 1), t.mul("i64", "%stride", 3)]
        four, first = t.shl("i64", "%stride", 2), "%base"
        for k in range(W):
            if k and k % 4 == 0:
                first = t.offset(first, four)
            yield t.offset(first, beyond[k % 4])


Where = Offsets | Stride


class Scattered(Part):
    """Elements at a pointer and 32 offsets from it, or at a pointer and multiples of a number."""

    def __init__(self, e: Emitter, patterns: Patterns) -> None:
        super().__init__(e)
        self.patterns = patterns

    def load(self, lane: str, base: str, where: Where, *, often: bool = False) -> Value:
        """The elements of the active lanes; what others get is undefined. often: whether lanes are likely to lie so."""
        kind = f"<{W} x {LLVM[lane]}>"
        if self._inline(lane, where):
            offsets = where.vector(self.t)
            if not (often and self._by_width):
                return Value(self._gather(lane, base, offsets, W), lane, False)
            widths = self._widths()
            for width, arm in widths:
                with arm as results:
                    results.append(self._gather(lane, base, offsets, width))
            return Value(widths.phi(kind), lane, False)
        name, listed, given = self.called(f"gather.{lane}", base, where)
        self.function(name, f"{kind} @{name}({listed})", lambda t: _load(t, lane, where))
        return Value(self.t.call_function(kind, name, given), lane, False)

    def load_bundle(self, bundle: Bundle, base: str, where: Where) -> None:
        """Puts the bundle of each active lane into its place."""
        lane, count = bundle.lane, bundle.count
        name, listed, given = self.called(f"bundle.{lane}.{count}", base, where)
        self.function(name, f"void @{name}({listed}, ptr %rows)", lambda t: _load_bundle(t, lane, count, where))
        self.t.call_function("void", name, given, f"ptr {bundle.at}")

    def store(self, lane: str, base: str, where: Where, value: str, *, often: bool = False) -> None:
        """Stores the elements of the active lanes. often: whether lanes are likely to be apart."""
        kind = f"<{W} x {LLVM[lane]}>"
        if self._inline(lane, where):
            offsets = where.vector(self.t)
            if not (self._amd and not self.e.small and self.patterns.with_gaps()):
                self._scatter(lane, base, offsets, value, W)
                return
            if not (often and self._by_width):
                self._few_or_all(lane, base, Offsets(offsets), value)
                return
            widths = self._widths()
            for width, arm in widths:
                with arm:
                    if width < W:
                        self._scatter(lane, base, offsets, value, width)
                    else:
                        self._few_or_all(lane, base, Offsets(offsets), value)
            return
        name, listed, given = self.called(f"scatter.{lane}", base, where)
        self.function(name, f"void @{name}({listed}, {kind} %x)", lambda t: _store_at(t, lane, where))
        self.t.call_function("void", name, given, f"{kind} {value}")

    def _few_or_all(self, lane: str, base: str, where: Offsets, value: str) -> None:
        """Stores the elements of the active lanes one by one if they are few."""
        kind = f"<{W} x {LLVM[lane]}>"
        few = self.t.ule("i64", self.active.count(), FEW)
        with self.t.if_else(few) as (one_by_one, at_once):
            with one_by_one:
                name, listed, given = self.called(f"scatter.few.{lane}", base, where)
                self.function(name, f"void @{name}({listed}, {kind} %x)", lambda t: _store_few(t, lane))
                self.t.call_function("void", name, given, f"{kind} {value}")
            with at_once:
                self._scatter(lane, base, where.text, value, W)

    @property
    def _by_width(self) -> bool:
        """Whether lanes are likely to be inactive, on a CPU whose gathers take as long as all lanes of their vectors
        together, active or not."""
        return self._amd and self.e.brief and self.patterns.with_gaps()

    def _widths(self) -> ShortGathers:
        """Arms of code for the lanes up to the last active one."""
        return ShortGathers(self.t, self.m, self.active.bits)

    def _gather(self, lane: str, base: str, offsets: str, lanes: int) -> str:
        """The elements of the active lanes, which are among the first so many, by the CPU's instruction."""
        t, kind = self.t, LLVM[lane]
        pointers = t.element("i8", base, self._first(offsets, "i32", lanes), by=f"<{lanes} x i32>")
        mask = self._first(self.active.vector, "i1", lanes)
        found = t.gather(kind, BITS[lane] // 8, pointers, mask, "zeroinitializer", lanes)
        if lanes == W:
            return found
        return t.shuffle(f"<{lanes} x {kind}>", found, [min(k, lanes) for k in range(W)], "zeroinitializer")

    def _scatter(self, lane: str, base: str, offsets: str, value: str, lanes: int) -> None:
        """Stores the elements of the active lanes, which are among the first so many, by the CPU's instruction."""
        t, kind = self.t, LLVM[lane]
        pointers = t.element("i8", base, self._first(offsets, "i32", lanes), by=f"<{lanes} x i32>")
        mask = self._first(self.active.vector, "i1", lanes)
        t.scatter(kind, BITS[lane] // 8, self._first(value, kind, lanes), pointers, mask, lanes)

    def _first(self, vector: str, kind: str, lanes: int) -> str:
        """The first so many elements of a vector."""
        if lanes == W:
            return vector
        return self.t.shuffle(f"<{W} x {kind}>", vector, range(lanes))

    def called(self, name: str, base: str, where: Where) -> tuple[str, str, str]:
        """The name of a function for this way to say where lanes are, its first parameters and their values."""
        bits = f", i32 {self.active.bits}" if isinstance(where, Offsets) else ""
        listed = f"ptr %base, {where.kind} %{where.name}" + (", i32 %bits" if bits else "")
        return f"{name}.{where.name}", listed, f"ptr {base}, {where.kind} {where.text}{bits}"

    def load_apart(self, lane: str, base: str, apart: int) -> Value:
        """The elements at a pointer, one for each lane, that are so many bytes apart: of all lanes, active or not."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"gather.{lane}.{apart}"
        if self._inline(lane):
            text = self.t.gather(LLVM[lane], BITS[lane] // 8, self._apart(base, apart), self.active.vector, "poison")
            return Value(text, lane, False)
        self.function(name, f"{kind} @{name}(ptr %base)", lambda t: _load_all(t, lane, _fixed(t, apart)))
        return Value(self.t.call_function(kind, name, f"ptr {base}"), lane, False)

    def store_apart(self, lane: str, base: str, apart: int, value: str) -> None:
        """Stores the elements of the active lanes at a pointer, so many bytes apart."""
        kind, name = f"<{W} x {LLVM[lane]}>", f"scatter.{lane}.{apart}"
        if self._inline(lane):
            self.t.scatter(LLVM[lane], BITS[lane] // 8, value, self._apart(base, apart), self.active.vector)
            return
        self.function(name, f"void @{name}(ptr %base, i32 %bits, {kind} %x)", lambda t: _store(t, lane, apart))
        self.t.call_function("void", name, f"ptr {base}", f"i32 {self.active.bits}", f"{kind} {value}")

    def _apart(self, base: str, apart: int) -> str:
        lanes = ", ".join(f"i64 {k * apart}" for k in range(W))
        return self.t.element("i8", base, f"<{lanes}>", by=f"<{W} x i64>")

    def _inline(self, lane: str, where: Where | None = None) -> bool:
        """Whether the CPU has an instruction for it, and the program is not built for size. AMD's CPUs take longer for
        that instruction than for loads or stores without offsets."""
        if isinstance(where, Stride) and self._amd:
            return False
        return self.e.wide and BITS[lane] >= 32 and len(self.program.codes) < LARGE

    @property
    def _amd(self) -> bool:
        """Whether it is a CPU of AMD's, as far as its features tell."""
        return "+sse4a" in self.e.features

    def function(self, name: str, head: str, body: Callable[[Text], None]) -> None:
        """Writes a function, if it has not been."""
        if name not in self.e.helpers:
            t = Text()
            body(t)
            self.t.declared |= t.declared
            self.e.helpers[name] = t.function(head, "noinline nounwind")


def _load_all(t: Text, lane: str, places: Iterable[str]) -> None:
    """Loads the elements of all lanes and returns them."""
    ty, size = LLVM[lane], BITS[lane] // 8
    vector = "poison"
    for k, p in enumerate(places):
        x = t.load(ty, p, align=size)
        vector = t.insert(f"<{W} x {ty}>", vector, ty, x, k)
    t.ret(f"<{W} x {ty}>", vector)


def _fixed(t: Text, apart: int) -> Iterator[str]:
    """Pointers so many bytes apart."""
    for k in range(W):
        yield t.offset("%base", k * apart)


def _load(t: Text, lane: str, where: Where) -> None:
    """The body of a gather."""
    ty, size = LLVM[lane], BITS[lane] // 8
    if isinstance(where, Stride):
        _load_all(t, lane, where.places(t))
        return
    store_in_memory(t, "out", f"<{W} x {ty}>", "zeroinitializer")
    _if_many(t)
    _load_all(t, lane, where.places(t))
    t.at("few")
    with each_lane(t) as k:
        p = t.offset("%base", lane_offset(t, k))
        x = t.load(ty, p, align=size)
        t.store(ty, x, t.element(ty, "%out", k))
    t.ret(f"<{W} x {ty}>", t.load(f"<{W} x {ty}>", "%out", align=64))


def _load_bundle(t: Text, lane: str, count: int, where: Where) -> None:
    """The body of a function that loads bundles."""
    ty, size = LLVM[lane], BITS[lane] // 8
    together = 2 * BYTES // size
    if isinstance(where, Offsets):
        _if_many(t)
    places = where.places(t)
    if size < 4 and count * size == 4:
        _load_words(t, ty, size, places)
    for first in range(0, W, together) if count * size > 4 else ():
        rows = [t.load(f"<{count} x {ty}>", p, align=size) for p in itertools.islice(places, together)]
        for e, column in enumerate(transposed(t, ty, rows, count)):
            p = t.offset("%rows", (e * W + first) * size)
            t.store(f"<{together} x {ty}>", column, p, align=32)
    t.ret()
    if isinstance(where, Stride):
        return
    t.at("few")
    with each_lane(t) as number:
        p = t.offset("%base", lane_offset(t, number))
        to = t.element(ty, "%rows", number)
        for e in range(count):
            at, there = (t.element(ty, q, n) for q, n in ((p, e), (to, e * W)))
            t.store(ty, t.load(ty, at, align=size), there)
    t.ret()


def _load_words(t: Text, ty: str, size: int, places: Iterable[str]) -> None:
    """Bytes or halves that fill a word of each lane, one vector behind the other."""
    words = "poison"
    for k, p in enumerate(places):
        word = t.load("i32", p, align=size)
        words = t.insert(f"<{W} x i32>", words, "i32", word, k)
    for first in range(0, 4, size):
        moved = t.lshr(f"<{W} x i32>", words, f"splat (i32 {8 * first})")
        column = t.trunc(f"<{W} x i32>", moved, f"<{W} x {ty}>")
        t.store(f"<{W} x {ty}>", column, t.offset("%rows", first * W), align=32)


def _if_many(t: Text) -> None:
    """Goes on if all lanes are active, or so many that all may as well load: the others what the first of them does;
    else at the label `few`. Keeps the offsets."""
    store_in_memory(t, "at", f"<{W} x i32>", "%offsets")
    t.branch(t.eq("i32", "%bits", -1), "all", "some")
    t.at("some")
    count = t.call("i32", "llvm.ctpop.i32", [("i32", "%bits")])
    t.branch(t.uge("i32", count, MANY), "many", "few")
    t.at("many")
    first = t.call("i32", "llvm.cttz.i32", [("i32", "%bits"), ("i1", "true")])
    there = t.splat("i32", t.load("i32", t.element("i32", "%at", first, by="i32")))
    mask = t.bitcast("i32", "%bits", f"<{W} x i1>")
    offsets = t.select(mask, f"<{W} x i32>", "%offsets", there, of=f"<{W} x i1>")
    t.store(f"<{W} x i32>", offsets, "%at", align=64)
    t.go("all")
    t.at("all")


def _store_at(t: Text, lane: str, where: Where) -> None:
    """The body of a scatter."""
    if isinstance(where, Offsets):
        _store(t, lane)
        return
    ty, size = LLVM[lane], BITS[lane] // 8
    for n, p in enumerate(where.places(t)):
        x = t.extract(f"<{W} x {ty}>", "%x", n)
        t.store(ty, x, p, align=size)
    t.ret()


def _store(t: Text, lane: str, apart: int = 0) -> None:
    """The body of a scatter to offsets, or to places so many bytes apart."""
    ty, size = LLVM[lane], BITS[lane] // 8
    _keep_stored(t, ty, apart)
    with t.ends_if(t.eq("i32", "%bits", -1)):
        for n in range(W):
            p = t.offset("%base", n * apart if apart else lane_offset(t, str(n)))
            x = t.extract(f"<{W} x {ty}>", "%x", n)
            t.store(ty, x, p, align=size)
        t.ret()
    _store_each(t, lane, apart)


def _store_few(t: Text, lane: str) -> None:
    """The body of a scatter to offsets of some lanes."""
    _keep_stored(t, LLVM[lane])
    _store_each(t, lane)


def _keep_stored(t: Text, ty: str, apart: int = 0) -> None:
    """Puts what is stored, and the offsets if there are any, into memory."""
    if not apart:
        store_in_memory(t, "at", f"<{W} x i32>", "%offsets")
    store_in_memory(t, "given", f"<{W} x {ty}>", "%x")


def _store_each(t: Text, lane: str, apart: int = 0) -> None:
    """Stores the elements of the active lanes, the lowest first, and returns."""
    ty, size = LLVM[lane], BITS[lane] // 8
    with each_lane(t) as k:
        offset = t.mul("i64", k, apart) if apart else lane_offset(t, k)
        p = t.offset("%base", offset)
        x = t.load(ty, t.element(ty, "%given", k))
        t.store(ty, x, p, align=size)
    t.ret()


def store_in_memory(t: Text, name: str, kind: str, value: str) -> None:
    """Puts a vector into memory, where its elements can be indexed."""
    t.alloca(kind, align=64, name=f"%{name}")
    t.store(kind, value, f"%{name}", align=64)


def lane_offset(t: Text, k: str) -> str:
    """A lane's offset, an i64."""
    p = t.element("i32", "%at", k)
    return t.sext("i32", t.load("i32", p), "i64")


@contextmanager
def each_lane(t: Text) -> Iterator[str]:
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

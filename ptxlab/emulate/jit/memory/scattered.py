"""Loads and stores of 32 lanes at addresses of their own: gathers and scatters.

CPUs with 512-bit vectors have instructions for them. For all others LLVM would write one load or store for each lane,
each behind a test of its bit in the mask, wherever one is needed: that would be most of the code, and most of the time
to build it. So they are functions, which look at the mask once: a full warp takes 32 loads in a row, and of any other
the active lanes have their turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.jit.memory.address_patterns import Patterns

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

    def load(self, lane: str, base: str, where: Where) -> Value:
        """The elements of the active lanes; what others get is undefined."""
        kind = f"<{W} x {LLVM[lane]}>"
        if self._inline(lane, where):
            pointers = self.t.element("i8", base, where.vector(self.t), by=f"<{W} x i32>")
            found = self.t.gather(LLVM[lane], BITS[lane] // 8, pointers, self.active.vector, "zeroinitializer")
            return Value(found, lane, False)
        name, listed, given = self.called(f"gather.{lane}", base, where)
        self.function(name, f"{kind} @{name}({listed})", lambda t: _load(t, lane, where))
        return Value(self.t.call_function(kind, name, given), lane, False)

    def store(self, lane: str, base: str, where: Where, value: str) -> None:
        """Stores the elements of the active lanes."""
        kind = f"<{W} x {LLVM[lane]}>"
        if self._inline(lane, where):
            offsets = Offsets(where.vector(self.t))
            if self._amd and not self.e.small and self.patterns.with_gaps():
                self._few_or_all(lane, base, offsets, value)
            else:
                self._scatter(lane, base, offsets, value)
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
                self._scatter(lane, base, where, value)

    def _scatter(self, lane: str, base: str, where: Offsets, value: str) -> None:
        """Stores the elements of the active lanes by the CPU's instruction."""
        pointers = self.t.element("i8", base, where.text, by=f"<{W} x i32>")
        self.t.scatter(LLVM[lane], BITS[lane] // 8, value, pointers, self.active.vector)

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

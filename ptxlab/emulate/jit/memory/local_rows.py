"""Local memory as rows: word k of all lanes side by side, and then word k + 1.

Lanes mostly access one address at a time, each in its own local memory: the same argument of a call, the same element
of an array. Where each lane's memory lies in one piece these are 32 places at a distance; here it is a row. A pointer
to a lane's memory would lead to one word of it only, so that memory lies like this in programs of which every access
names its space (`Program.local_rows`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value, constant
from ptxlab.emulate.jit.memory.scattered import Offsets, Scattered

WORD, ROW = 4, 4 * W
"""Bytes of one lane's word, and of that word of all lanes."""


class Depths(NamedTuple):
    """Where frames of the lanes that run a block lie, if all of them may lie there. `alike`: all at `first`; `few`:
    those of the lanes `firsts` (an i32) there, and all others at `second`. i1 and i64."""

    alike: str
    first: Value
    few: str
    second: Value
    firsts: str

    def behind(self, m: LaneMachine, offset: int) -> Depths:
        """The same of what lies behind the frames' beginnings."""
        first, second = (m.add(each, m.const("i64", offset)) for each in (self.first, self.second))
        return Depths(self.alike, first, self.few, second, self.firsts)


class LocalRows(Part):
    """Elements of all lanes in local memory that lies as rows. `at`: where, from each lane's first byte on, an i64 that
    is the same in all lanes or an i32 for each; it is right in all active lanes."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered = scattered

    def depths(self, base: Value, fine: str) -> Depths | None:
        """Where frames lie that begin at addresses, an i64, of the lanes that run a block. fine (an i1): whether they
        are right in all of these. None where that is looked at by functions."""
        if self._called or base.uniform:
            return None
        t, bits, at = self.t, self.active.block_bits, self.m.trunc("i32", base)

        def of(lanes: str) -> tuple[Value, str]:
            """The address of the first of some lanes, and all lanes at that."""
            lane = t.and_("i32", self.active.first(lanes), W - 1)
            held = t.extract(f"<{W} x i32>", self.m.vector(at), lane, by="i32")
            first = Value(held, "i32", True)
            return self.m.zext("i64", first), self.m.bits_of(self.m.eq(at, first))

        first, firsts = of(bits)
        others = t.and_("i32", t.xor("i32", firsts, -1), bits)
        second, seconds = of(others)
        more = t.and_("i32", t.xor("i32", seconds, -1), others)
        alike, few = (t.and_("i1", fine, t.eq("i32", left, 0)) for left in (others, more))
        return Depths(alike, first, few, second, firsts)

    def load_at(self, lane: str, at: Value, depths: Depths) -> Value:
        """The same as `load` where it is known where frames lie."""
        t, m, kind = self.t, self.m, f"<{W} x {LLVM[lane]}>"
        with t.if_else(depths.alike) as (one, many):
            with one:
                row, here = m.vector(self._row(lane, depths.first)), t.here
            with many:
                with t.if_else(depths.few) as (two, all_):
                    with two:
                        a, b = (self._row(lane, each) for each in (depths.first, depths.second))
                        mixed, at_two = m.vector(m.select(m.of_bits(depths.firsts), a, b)), t.here
                    with all_:
                        apart, at_all = m.vector(self._apart(lane, at)), t.here
                others, there = t.phi(kind, (mixed, at_two), (apart, at_all)), t.here
        return Value(t.phi(kind, (row, here), (others, there)), lane, False)

    def store_at(self, lane: str, at: Value, value: Value, depths: Depths) -> None:
        """The same as `store` where it is known where frames lie."""
        t, m = self.t, self.m
        m.vector(value)
        with t.if_else(depths.alike) as (one, many):
            with one:
                self._store_row(lane, depths.first, value, partly=True)
            with many, t.if_else(depths.few) as (two, all_):
                with two:
                    with self.active.part(depths.firsts):
                        self._store_row(lane, depths.first, value, partly=True)
                    with self.active.part(t.xor("i32", depths.firsts, -1)):
                        self._store_row(lane, depths.second, value, partly=True)
                with all_:
                    self._store_apart(lane, at, value)

    def load(self, lane: str, at: Value) -> Value:
        """An element of each lane; what inactive lanes get is undefined."""
        if at.uniform:
            return self._row(lane, at)
        if not self._called:
            return self._anywhere(lane, at)
        name = f"local.load.{lane}"
        self.e.calls.write(name, f"ptr %local, <{W} x i32> %at, i32 %bits", lambda: self._anywhere(lane, _AT))
        kind = f"<{W} x {LLVM[lane]}>"
        given = "ptr %local", f"<{W} x i32> {self.m.vector(at)}", f"i32 {self.active.bits}"
        return Value(self.t.call_function(kind, name, *given), lane, False)

    def store(self, lane: str, at: Value, value: Value) -> None:
        """An element of each active lane."""
        if at.uniform:
            self._store_row(lane, at, value, partly=self.active.partly or self.active.guard is not None)
            return
        if not self._called:
            self._store_anywhere(lane, at, value)
            return
        name, kind = f"local.store.{lane}", f"<{W} x {LLVM[lane]}>"
        self.e.calls.write(
            name,
            f"ptr %local, <{W} x i32> %at, i32 %bits, {kind} %x",
            lambda: self._store_anywhere(lane, _AT, Value("%x", lane, False)),
        )
        given = "ptr %local", f"<{W} x i32> {self.m.vector(at)}", f"i32 {self.active.bits}"
        self.t.call_function("void", name, *given, f"{kind} {self.m.vector(value)}")

    @property
    def _called(self) -> bool:
        """Whether what looks at 32 addresses is a function: where code is rather to be short."""
        return self.e.small or self.e.diverged

    # -- one address in all lanes

    def _row(self, lane: str, at: Value) -> Value:
        m, bits = self.m, BITS[lane]
        if bits == 32:
            return self._word(lane, at)
        if bits == 64:
            value = _joined(self.t, self._word("i32", at), self._word("i32", self._behind(at)))
            return value if lane == "i64" else m.bitcast(lane, value)
        return m.trunc(lane, m.lshr(self._word("i32", at), self._shift(at)))

    def _store_row(self, lane: str, at: Value, value: Value, *, partly: bool) -> None:
        m, bits = self.m, BITS[lane]
        if bits == 64:
            whole = value if lane == "i64" else m.bitcast("i64", value)
            low, high = m.trunc("i32", whole), m.trunc("i32", m.lshr(whole, m.const("i64", 32)))
            self._store_word("i32", at, low, partly=partly)
            self._store_word("i32", self._behind(at), high, partly=partly)
        elif bits == 32:
            self._store_word(lane, at, value, partly=partly)
        else:
            shift = self._shift(at)
            others = m.not_(m.shl(m.const("i32", (1 << bits) - 1), shift))
            kept = m.and_(self._word("i32", at), others)
            self._store_word("i32", at, m.or_(kept, m.shl(m.zext("i32", value), shift)), partly=partly)

    def _place(self, at: Value) -> str:
        """A pointer to a word's row."""
        first = self.m.and_(at, self.m.const("i64", -WORD))
        return self.t.offset("%local", self.m.mul(first, self.m.const("i64", W)).text)

    def _behind(self, at: Value) -> Value:
        """The address of the next word."""
        return self.m.add(at, self.m.const("i64", WORD))

    def _shift(self, at: Value) -> Value:
        """By how many bits an address is behind its word's."""
        low = self.m.trunc("i32", self.m.and_(at, self.m.const("i64", WORD - 1)))
        return self.m.shl(low, self.m.const("i32", 3))

    def _word(self, lane: str, at: Value, kind: str = "") -> Value:
        text = self.t.load(f"{kind}<{W} x {LLVM[lane]}>", self._place(at), align=64)
        return Value(text, lane, False)

    def _store_word(self, lane: str, at: Value, value: Value, *, partly: bool) -> None:
        if partly:
            # Volatile, or LLVM makes a store under a mask of it, which takes AMD's CPUs 12 cycles.
            value = self.m.select(self.active.mask, value, self._word(lane, at, "volatile "))
        self.t.store(f"<{W} x {LLVM[lane]}>", self.m.vector(value), self._place(at), align=64)

    # -- 32 addresses

    def _anywhere(self, lane: str, at: Value) -> Value:
        t, kind = self.t, f"<{W} x {LLVM[lane]}>"
        alike, first = self._alike(at)
        with t.if_else(alike) as (one, many):
            with one:
                row, here = self._row(lane, first), t.here
            with many:
                apart, there = self._apart(lane, at), t.here
        return Value(t.phi(kind, (self.m.vector(row), here), (apart.text, there)), lane, False)

    def _store_anywhere(self, lane: str, at: Value, value: Value) -> None:
        self.m.vector(value)
        alike, first = self._alike(at)
        with self.t.if_else(alike) as (one, many):
            with one:
                self._store_row(lane, first, value, partly=True)
            with many:
                self._store_apart(lane, at, value)

    def _alike(self, at: Value) -> tuple[str, Value]:
        """i1: whether all active lanes have one address; that address, 0 if none is active."""
        t, m = self.t, self.m
        lane = t.and_("i32", self.active.first(), W - 1)
        held = t.extract(f"<{W} x i32>", self.m.vector(at), lane, by="i32")
        first = Value(t.select(self.active.any(), "i32", held, 0), "i32", True)
        others = self.active.where_not(m.eq(at, first))
        return t.eq("i32", others, 0), m.zext("i64", first)

    def _apart(self, lane: str, at: Value) -> Value:
        m, bits = self.m, BITS[lane]
        where = self._offsets(at)
        if bits < 64:
            return self.scattered.load(lane, "%local", where)
        words = [self.scattered.load("i32", self._row_behind(k), where) for k in range(2)]
        value = _joined(self.t, *words)
        return value if lane == "i64" else m.bitcast(lane, value)

    def _store_apart(self, lane: str, at: Value, value: Value) -> None:
        m, where = self.m, self._offsets(at)
        if BITS[lane] < 64:
            self.scattered.store(lane, "%local", where, m.vector(value))
            return
        whole = value if lane == "i64" else m.bitcast("i64", value)
        for k, word in enumerate((whole, m.lshr(whole, m.const("i64", 32)))):
            self.scattered.store("i32", self._row_behind(k), where, m.vector(m.trunc("i32", word)))

    def _row_behind(self, k: int) -> str:
        """Where local memory would begin, `k` words on."""
        return self.t.offset("%local", k * ROW)

    def _offsets(self, at: Value) -> Offsets:
        m = self.m
        own = constant(np.arange(W, dtype=np.uint32) * np.uint32(WORD), "i32")
        row = m.shl(m.and_(at, m.const("i32", -WORD)), m.const("i32", 5))
        return Offsets(m.vector(m.add(m.add(row, own), m.and_(at, m.const("i32", WORD - 1)))))


_AT = Value("%at", "i32", False)
"""The addresses, in a function."""


def _joined(t: Text, low: Value, high: Value) -> Value:
    """Words as the halves of 64 bits."""
    half = f"<{W} x i32>"
    both = t.shuffle(half, low.text, [n for k in range(W) for n in (k, W + k)], high.text)
    return Value(t.bitcast(f"<{2 * W} x i32>", both, f"<{W} x i64>"), "i64", False)

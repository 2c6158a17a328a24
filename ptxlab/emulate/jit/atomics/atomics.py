"""Atomic operations: in lane order, with the host's own atomic instructions where another worker may see the memory.

The addresses of a warp are found at once where one allocation has them all. Shared memory, which belongs to blocks of
one worker, is changed by ordinary instructions.

Lanes that all name one address (a counter, a sum) are one exchange on the host: the operations follow one another in a
register, in lane order, and the last value is written if no other worker has changed the first. Where nobody reads the
old values, and the order makes no difference, all operands become one first.
"""

from __future__ import annotations

import functools
from typing import Any

from ptxlab.emulate.jit.atomics.elements import element, exchange_pair, new_value, raw_sum
from ptxlab.emulate.jit.atomics.sums import (
    CELL,
    NEUTRAL,
    cell_of,
    flushes_at,
    flushing,
    small_operands,
    sum_at_once,
    sum_in_order,
    sums_may_flush,
)
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.liveness import reads, registers_of
from ptxlab.emulate.rules.memcheck import find_lanes, find_together
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.state import Place
from ptxlab.isa import types
from ptxlab.isa.table import Form

_INTEGER = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "inc": "uinc_wrap", "dec": "udec_wrap",
}  # fmt: skip


def operation_of(form: Form) -> str:
    """LLVM's word for the operation: `add`, `umin`, `fadd`, `cmpxchg`, ...; `loop` for a compare-and-swap loop, where
    LLVM has none."""
    word = str(form.operation)
    if word == "cas":
        return "cmpxchg"
    if word == "exch":
        return "xchg"
    if types.is_float(form.type):
        return "loop"
    if word in ("min", "max"):
        return word if types.is_signed(form.type) else "u" + word
    return _INTEGER[word]


MANY = 8
"""Active lanes from which on all 32 floats are added, those of the others as -0: three cycles each, in a loop eight."""


class Atomics(Part):
    """Atomic operations of any space, and the functions that do them."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        after = [then for instrument in self.e.instruments if (then := instrument.atomic(address))]
        result = self._atom(i, address, *values)
        for then in reversed(after):
            then()
        return result

    @functools.cached_property
    def _read(self) -> set[int]:
        """The registers that any instruction reads; a guarded atomic operation does not count its own."""
        return {
            r
            for code in self.program.codes
            for r in ([x for s in code.sources for x in registers_of(s)] if code.properties.atomic else reads(code))
        } | {code.guard[0] for code in self.program.codes if code.guard is not None}

    def _returns(self) -> bool:
        """Whether anybody reads the old values; CUDA C++ compilers write `atom` for a sum, too."""
        return self.e.registers.keeps_all or any(r in self._read for d in self.e.code.dests for r in registers_of(d))

    def _atom(self, i: Form, address: Address, *values: Any) -> Any:
        lane, word, count = types.lane(i.type), operation_of(i), int(i.vec[1:]) if i.vec else 1
        what = f".{i.operation}.{i.type}" if word == "loop" else f".{word}.{lane}"
        shared, returns = self.e.code.space == "shared", self._returns()
        flushes = flushing(i, self.e.code.space)
        name = f"atom{what}.v{count}" + ".whole" * bool(i.whole) + ".shared" * shared + ".silent" * (not returns)
        name += f".flushes.{flushes}" * bool(flushes)
        if name not in self.e.helpers:
            self.e.helpers[name] = self._function(name, i, word, lane, count, flushes, shared=shared, returns=returns)
        site = self.e.site()
        self._call(name, address, values, lane, site)
        old = []
        for k in range(count):
            if returns:
                cell = self.t.offset("%out", k * CELL)
                old.append(Value(self.t.load(f"<{W} x {LLVM[lane]}>", cell, align=64), lane, False))
            else:
                old.append(self.m.const(lane, 0))
        return tuple(old) if i.vec else old[0]

    def _call(self, name: str, address: Address, values: tuple[Any, ...], lane: str, site: str) -> None:
        """The operation by a call of its function."""
        at = self.m.vector(self.m.wide(address))
        self.t.store(f"<{W} x i64>", at, "%addrs", align=64)
        cells = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        for k, value in enumerate(cells):
            cell = self.t.offset("%data", k * CELL)
            self.t.store(f"<{W} x {LLVM[lane]}>", self.m.vector(value), cell, align=64)
        result = self.t.call_function(
            "i32",
            name,
            "ptr %ctx",
            "ptr %cta",
            "ptr %ws",
            f"i32 {self.active.bits}",
            "ptr %addrs",
            "ptr %data",
            "ptr %out",
            f"ptr {site}",
            f"i32 {S.SPACES[self.e.code.space]}",
            f"i32 {self.e.code.index}",
        )
        self.e.faults.if_called(result)

    def _function(
        self, name: str, form: Form, word: str, lane: str, count: int, flushes: str, *, shared: bool, returns: bool
    ) -> str:
        """The function that does it, in lane order; each element of a vector is one atomic operation. flushes: whether
        it flushes subnormal numbers (`flushing`). shared: only for addresses in shared memory. returns: whether the
        old values are wanted."""
        t = Text()
        t.declared = self.t.declared
        t.alloca(f"[{W * Place.size} x i8]", align=64, name="%places")
        t.alloca(f"<{W} x i64>", align=64, name="%hosts")
        alone = count == 1 and not form.whole
        _compare_addresses(t, alone)
        _find(t, count * BITS[lane] // 8)
        if alone:
            t.branch("%same", "one", "lanes")
            t.at("one")
            if not returns and word in NEUTRAL:
                _at_once(t, form, word, lane, shared=shared)
            else:
                _together(t, form, word, lane, flushes, shared=shared, returns=returns)
            t.go("done")
        else:
            t.go("lanes")
        t.at("lanes")
        _lane_by_lane(t, form, word, lane, count, flushes, plain=shared, returns=returns)
        t.at("done")
        t.ret("i32", 0)
        t.at("fault")
        t.ret("i32", 1)
        arguments = (
            "ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, ptr %xs, ptr %out, ptr %site, i32 %space, i32 %code"
        )
        return t.function(f"i32 @{name}({arguments})", "noinline nounwind")


def _compare_addresses(t: Text, alone: bool) -> None:
    """`%first` (an i64), the first active lane, `%address`, its address, `%every`, those of all; `%same`: whether all
    active lanes name one address, `%looked`: the lanes whose addresses are to be found. An address in local memory is
    another place in each lane. alone: not for vectors."""
    number = t.call("i32", "llvm.cttz.i32", [("i32", "%mask"), ("i1", "false")])
    t.zext("i32", t.and_("i32", number, W - 1), "i64", "%first")
    t.load("i64", t.element("i64", "%addrs", "%first"), name="%address")
    t.load(f"<{W} x i64>", "%addrs", align=64, name="%every")
    if not alone:
        t.and_("i32", "%mask", -1, "%looked")
        return
    wanted = t.splat("i64", "%address")
    equal = t.bitcast(f"<{W} x i1>", t.eq(f"<{W} x i64>", "%every", wanted), "i32")
    active = t.and_("i32", "%mask", equal)
    others = t.eq("i32", active, "%mask")
    distance = t.sub("i64", "%address", LOCAL_WINDOW)
    near = t.uge("i64", distance, WINDOW_SIZE)
    some = t.ne("i32", "%mask", 0)
    t.and_("i1", t.and_("i1", others, near), some, "%same")
    lowest = t.and_("i32", "%mask", t.sub("i32", 0, "%mask"))
    t.select("%same", "i32", lowest, "%mask", "%looked")


def _find(t: Text, size: int) -> None:
    """Where the lanes' addresses are in the host's memory, into `%hosts`: all at once if they lie in one allocation,
    else lane by lane. Ends at the label `found`, or at `fault`."""
    log2 = str(size.bit_length() - 1)
    given = "%ctx", "%cta", "%ws", "%looked", "%addrs", str(size), log2, "%space"
    place = t.let(call(find_together, *given, "%site"))
    t.branch(t.eq("ptr", place, "null"), "apart", "together")
    t.at("together")
    moved = t.sub("i64", t.ptrtoint("ptr", place, "i64"), "%address")
    hosts = t.add(f"<{W} x i64>", "%every", t.splat("i64", moved))
    t.store(f"<{W} x i64>", hosts, "%hosts", align=64)
    t.go("found")
    t.at("apart")
    wrong = t.let(call(find_lanes, *given, "%code", "%places"))
    t.branch(wrong, "fault", "placed")
    t.at("placed")
    words = Place.size // 8  # of a place, the first of which is the pointer
    every = t.load(f"<{words * W} x i64>", "%places", align=64)
    hosts = t.shuffle(f"<{words * W} x i64>", every, [words * k + Place.offset("host") // 8 for k in range(W)])
    t.store(f"<{W} x i64>", hosts, "%hosts", align=64)
    t.go("found")
    t.at("found")


def _host(lane: str, t: Text) -> str:
    """A lane's pointer."""
    return t.load("ptr", t.element("i64", "%hosts", lane))


def _lane_by_lane(
    t: Text, form: Form, word: str, lane: str, count: int, flushes: str, *, plain: bool, returns: bool
) -> None:
    """The operations one after the other, then to the label `done`."""
    small = small_operands(t, count) if flushes else ""
    before, turn, act, after = t.here, t.label("turn"), t.label("act"), t.label("next")
    t.go(turn)
    t.at(turn)
    left, rest = t.name(), t.name()
    t.phi("i32", ("%mask", before), (rest, after), name=left)
    t.branch(t.eq("i32", left, 0), "done", act)
    t.at(act)
    t.and_("i32", left, t.sub("i32", left, 1), rest)
    number = t.call("i32", "llvm.cttz.i32", [("i32", left), ("i1", "true")])
    at = t.zext("i32", number, "i64")
    p = _host(at, t)
    if form.whole:
        exchange_pair(t, p, at, compares=word == "cmpxchg")
    flush = flushes_at(t, flushes, t.extract(f"<{W} x i64>", "%every", at)) if flushes else ""
    for k in range(0 if form.whole else count):
        element(t, form, word, lane, k, count, p, at, flush, small, plain=plain, returns=returns)
    t.go(after)
    t.at(after)
    t.go(turn)


def _at_once(t: Text, form: Form, word: str, lane: str, *, shared: bool) -> None:
    """The operations of all active lanes on one address as a single one: nobody wants old values."""
    ty, vector, size = LLVM[lane], f"<{W} x {LLVM[lane]}>", BITS[lane] // 8
    given = t.load(vector, "%xs", align=64)
    x = sum_at_once(t, word, lane, given, t.bitcast("i32", "%mask", f"<{W} x i1>"))
    place = _host("%first", t)
    if shared:
        old = t.load(ty, place, align=size)
        t.store(ty, new_value(t, form, word, lane, old, [x]), place, align=size)
    else:
        t.atomic(word, ty, place, x)


def _together(t: Text, form: Form, word: str, lane: str, flushes: str, *, shared: bool, returns: bool) -> None:
    """The operations of all active lanes on one address, one after another in a register."""
    ty, size = LLVM[lane], BITS[lane] // 8
    bits = f"i{BITS[lane]}"  # only integers can be exchanged
    again, step, after = (t.label(name) for name in ("again", "step", "after"))
    place, flush = _host("%first", t), flushes_at(t, flushes, "%address")
    t.go(again)
    t.at(again)
    seen = t.load(bits, place, align=size) if shared else t.load_atomic(bits, place, "seq_cst", size)
    start = t.bitcast(bits, seen, ty)
    flush = sums_may_flush(t, seen, flush)
    # A NaN that nobody reads on the way need not be the canonical one there: a sum with it is NaN whatever it is.
    raw = not returns and form.operation == "add" and lane in ("f32", "f64")
    begin = t.label("begin") if raw else again
    if raw:
        active = t.call("i32", "llvm.ctpop.i32", [("i32", "%mask")])
        at_once = t.uge("i32", active, MANY)
        if flush:
            at_once = t.and_("i1", at_once, t.xor("i1", flush, "true"))
        t.branch(at_once, "many", begin)
        t.at("many")
        many = sum_in_order(t, lane, start)
        t.go(after)
        t.at(begin)
    t.go(step)
    t.at(step)
    t.phi("i32", ("%mask", begin), ("%behind", "stepped"), name="%more")
    t.phi(ty, (start, begin), ("%then", "stepped"), name="%now")
    t.and_("i32", "%more", t.sub("i32", "%more", 1), "%behind")
    number = t.call("i32", "llvm.cttz.i32", [("i32", "%more"), ("i1", "true")])
    at = t.zext("i32", number, "i64")
    given = [t.load(ty, cell_of(t, "%xs", k, ty, at)) for k in range(2 if word == "cmpxchg" else 1)]
    new = (raw_sum if raw else new_value)(t, form, word, lane, "%now", given, flush)
    if returns:
        t.store(ty, "%now", cell_of(t, "%out", 0, ty, at))
    t.go("stepped")
    t.at("stepped")
    t.bitcast(ty, new, ty, "%then")
    t.branch(t.eq("i32", "%behind", 0), after, step)
    t.at(after)
    found = t.phi(ty, ("%then", "stepped"), (many, "many")) if raw else "%then"
    final = Ops(t).one_nan(Value(found, lane, True)).text if raw else found
    last = t.bitcast(ty, final, bits)
    if shared:
        t.store(bits, last, place, align=size)
        return
    pair, kind = t.compare_and_swap(bits, place, seen, last)
    changed, written = t.extract_value(kind, pair, 1), t.label("written")
    t.branch(changed, written, again)
    t.at(written)

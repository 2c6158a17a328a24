"""Atomic operations: in lane order, with the host's atomic instructions where another worker may see the memory.

The addresses of a warp are found at once where one allocation has them all. Shared memory, which belongs to blocks of
one worker, is changed by ordinary instructions.

Lanes that all name one address (a counter, a sum) are one exchange on the host: the operations follow one another in a
register, in lane order, and the last value is written if no other worker has changed the first. Where nobody reads the
old values, and the order makes no difference, all operands become one first.

Each operation is a function (`Operation`): operands lie in the buffer `%xs`, old values go to `%out`, each in cells,
one after the other, that hold one element of all lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.liveness import reads, registers_of
from ptxlab.emulate.rules.memcheck import find_lanes, find_together
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.state import Place
from ptxlab.isa import form as table_form
from ptxlab.isa import types
from ptxlab.isa.table import Form

CELL = 8 * W
"""Bytes of a buffer that holds one operand of all lanes."""
NEUTRAL: dict[str, Callable[[int], int]] = {
    "add": lambda bits: 0, "or": lambda bits: 0, "xor": lambda bits: 0, "and": lambda bits: -1,
    "umin": lambda bits: -1, "umax": lambda bits: 0,
    "min": lambda bits: (1 << bits - 1) - 1, "max": lambda bits: -1 << bits - 1,
}  # fmt: skip
"""Operations in whose sum over many operands the order makes no difference, with what changes nothing, by the width."""
BY_ADDRESS = "by_address"
_INTEGER = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "inc": "uinc_wrap", "dec": "udec_wrap",
}  # fmt: skip
PARAMETERS = "ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, ptr %xs, ptr %out, ptr %site, i32 %space, i32 %code"


def operation_of(form: Form) -> str:
    """LLVM's word for the operation: `add`, `umin`, `cmpxchg`, ...; `loop` (compare-and-swap) where LLVM has none."""
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


class Operation:
    """An atomic operation, and the function that does it.

    word: LLVM's for it; lane: the type of an element; count: elements of each lane, each of them one operation.
    flushes: whether subnormal numbers are flushed: "" for no, "true", or `BY_ADDRESS`. shared: all addresses are in
    shared memory. returns: whether the old values are wanted. name: of the function."""

    def __init__(self, form: Form, space: str, *, returns: bool) -> None:
        self.form, self.word, self.lane = form, operation_of(form), types.lane(form.type)
        self.count = int(form.vec[1:]) if form.vec else 1
        self.shared, self.returns = space == "shared", returns
        self.flushes = ""
        if form.operation == "add" and form.type == "f32" and space not in ("shared", "cluster"):
            # Sums of f32 do so in global memory, and not in shared memory (PTX ISA, atom).
            self.flushes = "true" if space == "global" else BY_ADDRESS
        what = f".{form.operation}.{form.type}" if self.word == "loop" else f".{self.word}.{self.lane}"
        self.name = f"atom{what}.v{self.count}" + ".whole" * bool(form.whole) + ".shared" * self.shared
        self.name += ".silent" * (not returns) + f".flushes.{self.flushes}" * bool(self.flushes)
        self.ty, self.size = LLVM[self.lane], BITS[self.lane] // 8
        self.bits = f"i{BITS[self.lane]}"  # only integers can be exchanged
        self.t = Text()

    def function(self) -> str:
        """The function: it returns 0, or 1 where it has noted a fault."""
        t = self.t
        t.alloca(f"[{W * Place.size} x i8]", align=64, name="%places")
        t.alloca(f"<{W} x i64>", align=64, name="%hosts")
        scalar = self.count == 1 and not self.form.whole
        self._compare_addresses(scalar)
        self._find()
        if scalar:
            t.branch("%same", "one", "lanes")
            t.at("one")
            if not self.returns and self.word in NEUTRAL:
                self._at_once()
            else:
                self._together()
            t.go("done")
        else:
            t.go("lanes")
        t.at("lanes")
        self._lane_by_lane()
        t.at("done")
        t.ret("i32", 0)
        t.at("fault")
        t.ret("i32", 1)
        return t.function(f"i32 @{self.name}({PARAMETERS})", "noinline nounwind")

    def _compare_addresses(self, scalar: bool) -> None:
        """`%first` (an i64), the first active lane, `%address`, its address, `%every`, those of all; `%same`: whether
        all active lanes name one address, `%looked`: the lanes whose addresses are to be found. An address in local
        memory is another place in each lane. scalar: the operation is of one element in each lane."""
        t = self.t
        number = t.call("i32", "llvm.cttz.i32", [("i32", "%mask"), ("i1", "false")])
        t.zext("i32", t.and_("i32", number, W - 1), "i64", "%first")
        t.load("i64", t.element("i64", "%addrs", "%first"), name="%address")
        t.load(f"<{W} x i64>", "%addrs", align=64, name="%every")
        if not scalar:
            t.and_("i32", "%mask", -1, "%looked")
            return
        wanted = t.splat("i64", "%address")
        equal = t.bitcast(f"<{W} x i1>", t.eq(f"<{W} x i64>", "%every", wanted), "i32")
        others = t.eq("i32", t.and_("i32", "%mask", equal), "%mask")
        near = t.uge("i64", t.sub("i64", "%address", LOCAL_WINDOW), WINDOW_SIZE)
        some = t.ne("i32", "%mask", 0)
        t.and_("i1", t.and_("i1", others, near), some, "%same")
        lowest = t.and_("i32", "%mask", t.sub("i32", 0, "%mask"))
        t.select("%same", "i32", lowest, "%mask", "%looked")

    def _find(self) -> None:
        """Where the lanes' addresses are in the host's memory, into `%hosts`: all at once if they lie in one
        allocation, else lane by lane. Ends at the label `found`, or at `fault`."""
        t, size = self.t, self.count * self.size
        given = "%ctx", "%cta", "%ws", "%looked", "%addrs", str(size), str(size.bit_length() - 1), "%space"
        place = t.let(call(find_together, *given, "%site"))
        t.branch(t.eq("ptr", place, "null"), "separate", "together")
        t.at("together")
        moved = t.sub("i64", t.ptrtoint("ptr", place, "i64"), "%address")
        hosts = t.add(f"<{W} x i64>", "%every", t.splat("i64", moved))
        t.store(f"<{W} x i64>", hosts, "%hosts", align=64)
        t.go("found")
        t.at("separate")
        wrong = t.let(call(find_lanes, *given, "%code", "%places"))
        t.branch(wrong, "fault", "placed")
        t.at("placed")
        words = Place.size // 8  # of a place, the first of which is the pointer
        every = t.load(f"<{words * W} x i64>", "%places", align=64)
        hosts = t.shuffle(f"<{words * W} x i64>", every, [words * k + Place.offset("host") // 8 for k in range(W)])
        t.store(f"<{W} x i64>", hosts, "%hosts", align=64)
        t.go("found")
        t.at("found")

    def _host(self, lane: str) -> str:
        return self.t.load("ptr", self.t.element("i64", "%hosts", lane))

    def _cell(self, buffer: str, cell: int, lane: str) -> str:
        """Where a buffer has the element of a lane, in one of its cells."""
        return self.t.element(self.ty, self.t.offset(buffer, cell * CELL), lane)

    def _given(self, k: int, lane: str) -> list[str]:
        cells = (k, self.count + k) if self.word == "cmpxchg" else (k,)
        return [self.t.load(self.ty, self._cell("%xs", cell, lane)) for cell in cells]

    # -- all lanes -----------------------------------------------------------------------------------------------------

    def _lane_by_lane(self) -> None:
        """The operations one after the other, then to the label `done`."""
        t = self.t
        with t.each_lane("%mask") as at:
            p = self._host(at)
            if self.form.whole:
                self._exchange_pair(p, at)
            else:
                address = t.extract(f"<{W} x i64>", "%every", at)
                for k in range(self.count):
                    self._element(k, p, at, address)
        t.go("done")

    def _at_once(self) -> None:
        """The operations of all active lanes on one address as a single one: nobody wants old values."""
        t, ty, vector = self.t, self.ty, f"<{W} x {self.ty}>"
        neutral = t.splat(ty, str(NEUTRAL[self.word](BITS[self.lane])))
        active = t.bitcast("i32", "%mask", f"<{W} x i1>")
        chosen = t.select(active, vector, t.load(vector, "%xs", align=64), neutral, of=f"<{W} x i1>")
        reduction = {"min": "smin", "max": "smax"}.get(self.word, self.word)
        x = t.call(ty, f"llvm.vector.reduce.{reduction}.v{W}{ty}", [(vector, chosen)])
        place = self._host("%first")
        if self.shared:
            old = t.load(ty, place, align=self.size)
            t.store(ty, self._new_value(old, [x], "%address"), place, align=self.size)
        else:
            t.atomic(self.word, ty, place, x)

    def _together(self) -> None:
        """The operations of all active lanes on one address, one after another in a register."""
        t, ty, bits, size = self.t, self.ty, self.bits, self.size
        again, step, after = (t.label(name) for name in ("again", "step", "after"))
        place = self._host("%first")
        t.go(again)
        t.at(again)
        seen = t.load(bits, place, align=size) if self.shared else t.load_atomic(bits, place, "seq_cst", size)
        start = t.bitcast(bits, seen, ty)
        t.go(step)
        t.at(step)
        t.phi("i32", ("%mask", again), ("%behind", "stepped"), name="%more")
        t.phi(ty, (start, again), ("%then", "stepped"), name="%now")
        t.and_("i32", "%more", t.sub("i32", "%more", 1), "%behind")
        number = t.call("i32", "llvm.cttz.i32", [("i32", "%more"), ("i1", "true")])
        at = t.zext("i32", number, "i64")
        new = self._new_value("%now", self._given(0, at), "%address")
        if self.returns:
            t.store(ty, "%now", self._cell("%out", 0, at))
        t.go("stepped")
        t.at("stepped")
        t.bitcast(ty, new, ty, "%then")
        t.branch(t.eq("i32", "%behind", 0), after, step)
        t.at(after)
        last = t.bitcast(ty, "%then", bits)
        if self.shared:
            t.store(bits, last, place, align=size)
            return
        pair, kind = t.compare_and_swap(bits, place, seen, last)
        changed, written = t.extract_value(kind, pair, 1), t.label("written")
        t.branch(changed, written, again)
        t.at(written)

    # -- one lane ------------------------------------------------------------------------------------------------------

    def _element(self, k: int, p: str, at: str, address: str) -> None:
        """The operation of lane `at` on element k of what is at p, which has this address."""
        t, ty = self.t, self.ty
        p = t.offset(p, k * self.size) if k else p
        given = self._given(k, at)
        if self.shared:
            old = t.load(ty, p, align=self.size)
            t.store(ty, self._new_value(old, given, address), p, align=self.size)
        elif self.word == "cmpxchg":
            pair, kind = t.compare_and_swap(ty, p, *given)
            old = t.extract_value(kind, pair, 0)
        elif self.word == "loop":
            old = self._exchange(p, given, address)
        else:
            old = t.atomic(self.word, ty, p, given[0])
        if self.returns:
            t.store(ty, old, self._cell("%out", k, at))

    def _exchange(self, p: str, given: list[str], address: str) -> str:
        """A compare-and-swap loop for the semantics of the plain instruction; the old value."""
        t, bits = self.t, self.bits
        again, done = t.label("again"), t.label("done")
        t.go(again)
        t.at(again)
        seen = t.load_atomic(bits, p, "seq_cst", self.size)
        old = t.bitcast(bits, seen, self.ty)
        wanted = t.bitcast(self.ty, self._new_value(old, given, address), bits)
        pair, kind = t.compare_and_swap(bits, p, seen, wanted)
        t.branch(t.extract_value(kind, pair, 1), done, again)
        t.at(done)
        return old

    def _exchange_pair(self, place: str, at: str) -> None:
        """Exchanges two neighbouring i64 as one; `cas` only if both have the expected values."""
        t, compares = self.t, self.word == "cmpxchg"
        spin, held, write, done = (t.label(name) for name in ("spin", "held", "write", "done"))
        p = [t.element("i64", place, k) for k in (0, 1)]
        cells = [t.offset("%xs", k * CELL) for k in range(4 if compares else 2)]
        given = [t.load("i64", t.element("i64", cell, at)) for cell in cells]
        lock = t.get(S.Context, "wide_lock")
        t.go(spin)
        t.at(spin)
        pair, kind = t.compare_and_swap("i32", lock, 0, 1)
        t.branch(t.extract_value(kind, pair, 1), held, spin)
        t.at(held)
        old = [t.load_atomic("i64", x, "monotonic", 8) for x in p]
        same = "true"
        if compares:
            each = [t.eq("i64", a, b) for a, b in zip(old, given[:2], strict=True)]
            same = t.and_("i1", each[0], each[1])
        t.branch(same, write, done)
        t.at(write)
        for x, value in zip(p, given[-2:], strict=True):
            t.store_atomic("i64", value, x, "monotonic", 8)
        t.go(done)
        t.at(done)
        t.store_atomic("i32", 0, lock, "seq_cst", 4)
        for k, value in enumerate(old):
            cell = t.offset("%out", k * CELL)
            t.store("i64", value, t.element("i64", cell, at))

    # -- the new value -------------------------------------------------------------------------------------------------

    def _new_value(self, old: str, given: list[str], address: str) -> str:
        """The value that the operation leaves where `old` was, at an address (an i64)."""
        t, word, ty, x = self.t, self.word, self.ty, given[0]
        match word:
            case "loop":
                return self._computed(Value(old, self.lane, True), Value(x, self.lane, True), address)
            case "cmpxchg":
                return t.select(t.eq(ty, old, x), ty, given[1], old)
            case "xchg":
                return x
            case "uinc_wrap":
                return t.select(t.uge(ty, old, x), ty, 0, t.add(ty, old, 1))
            case "udec_wrap":
                zero, beyond = t.eq(ty, old, 0), t.ugt(ty, old, x)
                wraps = t.or_("i1", zero, beyond)
                return t.select(wraps, ty, x, t.sub(ty, old, 1))
            case "min" | "max":
                return t.call(ty, f"llvm.s{word}.{ty}", [(ty, old), (ty, x)])
            case "umin" | "umax":
                return t.call(ty, f"llvm.{word}.{ty}", [(ty, old), (ty, x)])
        return t.let(f"{word} {ty} {old}, {x}")

    def _computed(self, old: Value, x: Value, address: str) -> str:
        """What the instruction that computes the new value gives."""
        t, form = self.t, self.form

        def by(ftz: str) -> str:
            computes = table_form(f"{form.operation}.{'rn.' if form.operation == 'add' else ''}{ftz}{form.type}")
            assert computes.op.sem is not None
            found = computes.op.sem(Ops(t), computes, old, x)
            assert isinstance(found, Value)
            return found.text

        if self.flushes != BY_ADDRESS:
            return by("ftz." if self.flushes else "")
        ways = []
        with t.if_else(t.ult("i64", address, PARAM_WINDOW)) as both:
            for way, ftz in zip(both, ("ftz.", ""), strict=True):
                with way:
                    ways.append((by(ftz), t.here))
        return t.phi(old.llvm, *ways)


class Atomics(Part):
    """Atomic operations of any space, and the functions that do them."""

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        after = [then for instrument in self.e.instruments if (then := instrument.atomic(address))]
        result = self._atom(i, address, *values)
        for then in reversed(after):
            then()
        return result

    @functools.cached_property
    def _read(self) -> set[int]:
        """The registers that any instruction reads; a guarded atomic operation does not count its destination."""
        return {
            r
            for code in self.program.codes
            for r in ([x for s in code.sources for x in registers_of(s)] if code.properties.atomic else reads(code))
        } | {code.guard[0] for code in self.program.codes if code.guard is not None}

    def _returns(self) -> bool:
        """Whether anybody reads the old values; CUDA C++ compilers write `atom` for a sum, too."""
        return self.e.registers.keeps_all or any(r in self._read for d in self.e.code.dests for r in registers_of(d))

    def _atom(self, i: Form, address: Address, *values: Any) -> Any:
        returns = self._returns()
        operation = Operation(i, self.e.code.space, returns=returns)
        if operation.name not in self.e.helpers:
            self.e.helpers[operation.name] = operation.function()
            self.t.declared |= operation.t.declared
        self._call(operation, address, values)
        old, vector = [], f"<{W} x {operation.ty}>"
        for k in range(operation.count):
            if returns:
                cell = self.t.offset("%out", k * CELL)
                old.append(Value(self.t.load(vector, cell, align=64), operation.lane, False))
            else:
                old.append(self.m.const(operation.lane, 0))
        return tuple(old) if i.vec else old[0]

    def _call(self, operation: Operation, address: Address, values: tuple[Any, ...]) -> None:
        t, code = self.t, self.e.code
        t.store(f"<{W} x i64>", self.m.vector(self.m.wide(address)), "%addrs", align=64)
        cells = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        for k, value in enumerate(cells):
            t.store(f"<{W} x {operation.ty}>", self.m.vector(value), t.offset("%data", k * CELL), align=64)
        given = "ptr %ctx", "ptr %cta", "ptr %ws", f"i32 {self.active.bits}", "ptr %addrs", "ptr %data", "ptr %out"
        what = f"ptr {self.e.site()}", f"i32 {S.SPACES[code.space]}", f"i32 {code.index}"
        self.e.faults.if_failed(t.call_function("i32", operation.name, *given, *what))

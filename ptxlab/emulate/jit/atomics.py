"""Atomic operations: lane by lane, in lane order, with the host's own atomic instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import BITS, LLVM, Address, Ops, Value
from ptxlab.emulate.rules.memcheck import find_lanes
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.state import Place
from ptxlab.isa import form as table_form
from ptxlab.isa import types

if TYPE_CHECKING:
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


CELL = 8 * W
"""Bytes of a buffer that holds one operand of all lanes."""
LOCK = "lock.b128"
"""The lock of 128-bit exchanges: a host instruction for them would need memory that is aligned on the host, too."""


class Atomics(Part):
    """Atomic operations of any space, and the functions that do them."""

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        after = [then for instrument in self.e.instruments if (then := instrument.atomic(address))]
        result = self._atom(i, address, *values)
        for then in reversed(after):
            then()
        return result

    def _atom(self, i: Form, address: Address, *values: Any) -> Any:
        lane, word, count = types.lane(i.type), operation_of(i), int(i.vec[1:]) if i.vec else 1
        what = f".{i.operation}.{i.type}" if word == "loop" else f".{word}.{lane}"
        name = f"atom{what}.v{count}" + (".whole" if i.whole else "")
        if name not in self.e.helpers:
            self.e.helpers[name] = self._function(name, i, word, lane, count)
        at = self.m.vector(self.m.wide(address))
        self.t.do(f"store <{W} x i64> {at}, ptr %addrs, align 64")
        cells = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        for k, value in enumerate(cells):
            cell = self.t.let(f"getelementptr i8, ptr %data, i64 {k * CELL}")
            self.t.do(f"store <{W} x {LLVM[lane]}> {self.m.vector(value)}, ptr {cell}, align 64")
        result = self.t.let(
            f"call i32 @{name}(ptr %ctx, ptr %cta, ptr %ws, i32 {self.active.bits}, ptr %addrs, ptr %data, ptr %out, "
            f"i32 {S.SPACES[self.e.code.space]}, i32 {self.e.code.index})"
        )
        self.e.stops.if_called(result)
        old = []
        for k in range(count):
            cell = self.t.let(f"getelementptr i8, ptr %out, i64 {k * CELL}")
            old.append(Value(self.t.let(f"load <{W} x {LLVM[lane]}>, ptr {cell}, align 64"), lane, False))
        return tuple(old) if i.vec else old[0]

    def _function(self, name: str, form: Form, word: str, lane: str, count: int) -> str:
        """The function that does it, lane by lane in lane order; each element of a vector is one atomic operation."""
        size, t = count * BITS[lane] // 8, Text()
        t.declared = self.t.declared
        t.do(f"%places = alloca [{W * Place.size} x i8], align 64")
        log2 = str(size.bit_length() - 1)
        stops = t.let(
            call(find_lanes, "%ctx", "%cta", "%ws", "%mask", "%addrs", str(size), log2, "%space", "%code", "%places")
        )
        t.do(f"br i1 {stops}, label %fault, label %lanes")
        t.at("fault")
        t.do("ret i32 1")
        t.at("lanes")
        t.do("%left = phi i32 [%mask, %entry], [%rest, %next]")
        t.do(f"br i1 {t.let('icmp eq i32 %left, 0')}, label %done, label %act")
        t.at("act")
        t.do(f"%rest = and i32 %left, {t.let('sub i32 %left, 1')}")
        number = t.call("i32", "llvm.cttz.i32", [("i32", "%left"), ("i1", "true")])
        t.do(f"%lane64 = zext i32 {number} to i64")
        at = t.let(f"mul i64 %lane64, {Place.size}")
        host = t.let(f"add i64 {at}, {Place.offset('host')}")
        t.do(f"%p = load ptr, ptr {t.let(f'getelementptr i8, ptr %places, i64 {host}')}")
        if form.whole:
            self.e.helpers.setdefault(LOCK, f"@{LOCK} = internal global i32 0\n")
            _whole(t, compares=word == "cmpxchg")
        for k in range(0 if form.whole else count):
            _element(t, form, word, lane, k, count)
        t.do("br label %next")
        t.at("next")
        t.do("br label %lanes")
        t.at("done")
        t.do("ret i32 0")
        arguments = "ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, ptr %xs, ptr %out, i32 %space, i32 %code"
        head = f"define internal i32 @{name}({arguments}) noinline nounwind {{"
        return "\n".join([head, "entry:", *t.lines, "}", ""])


def _element(t: Text, form: Form, word: str, lane: str, k: int, count: int) -> None:
    """The operation on element k: operands from the buffer, the old value into %out."""
    ty, size = LLVM[lane], BITS[lane] // 8
    p = t.let(f"getelementptr i8, ptr %p, i64 {k * size}")

    def operand(cell: int) -> str:
        base = t.let(f"getelementptr i8, ptr %xs, i64 {cell * CELL}")
        return t.let(f"load {ty}, ptr {t.let(f'getelementptr {ty}, ptr {base}, i64 %lane64')}")

    x = operand(k)
    if word == "cmpxchg":
        pair = t.let(f"cmpxchg ptr {p}, {ty} {x}, {ty} {operand(count + k)} seq_cst seq_cst")
        old = t.let(f"extractvalue {{{ty}, i1}} {pair}, 0")
    elif word == "loop":
        old = _exchange(t, form, p, x, lane)
    else:
        old = t.let(f"atomicrmw {word} ptr {p}, {ty} {x} seq_cst")
    base = t.let(f"getelementptr i8, ptr %out, i64 {k * CELL}")
    t.do(f"store {ty} {old}, ptr {t.let(f'getelementptr {ty}, ptr {base}, i64 %lane64')}")


def _whole(t: Text, *, compares: bool) -> None:
    """Exchanges two neighbouring i64 as one; with `compares` only if both have the expected values."""
    spin, held, write, done = (t.label(name) for name in ("spin", "held", "write", "done"))
    p = [t.let(f"getelementptr i64, ptr %p, i64 {k}") for k in (0, 1)]
    cells = [t.let(f"getelementptr i8, ptr %xs, i64 {k * CELL}") for k in range(4 if compares else 2)]
    given = [t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {cell}, i64 %lane64')}") for cell in cells]
    t.do(f"br label %{spin}")
    t.at(spin)
    taken = t.let(f"cmpxchg ptr @{LOCK}, i32 0, i32 1 seq_cst seq_cst")
    t.do(f"br i1 {t.let(f'extractvalue {{i32, i1}} {taken}, 1')}, label %{held}, label %{spin}")
    t.at(held)
    old = [t.let(f"load atomic i64, ptr {x} monotonic, align 8") for x in p]
    same = "true"
    if compares:
        each = [t.let(f"icmp eq i64 {a}, {b}") for a, b in zip(old, given[:2], strict=True)]
        same = t.let(f"and i1 {each[0]}, {each[1]}")
    t.do(f"br i1 {same}, label %{write}, label %{done}")
    t.at(write)
    for x, value in zip(p, given[-2:], strict=True):
        t.do(f"store atomic i64 {value}, ptr {x} monotonic, align 8")
    t.do(f"br label %{done}")
    t.at(done)
    t.do(f"store atomic i32 0, ptr @{LOCK} seq_cst, align 4")
    for k, value in enumerate(old):
        cell = t.let(f"getelementptr i8, ptr %out, i64 {k * CELL}")
        t.do(f"store i64 {value}, ptr {t.let(f'getelementptr i64, ptr {cell}, i64 %lane64')}")


def _exchange(t: Text, form: Form, p: str, x: str, lane: str) -> str:
    """A compare-and-swap loop around the semantics of the plain instruction."""
    plain = table_form(f"{form.operation}.{'rn.' if form.operation == 'add' else ''}{form.type}")
    assert plain.op.sem is not None
    ty, bits = LLVM[lane], f"i{BITS[lane]}"  # only integers can be exchanged
    again, done = t.label("again"), t.label("done")
    t.do(f"br label %{again}")
    t.at(again)
    seen = t.let(f"load atomic {bits}, ptr {p} seq_cst, align {BITS[lane] // 8}")
    old = t.let(f"bitcast {bits} {seen} to {ty}")
    new = plain.op.sem(Ops(t), plain, Value(old, lane, True), Value(x, lane, True))
    wanted = t.let(f"bitcast {ty} {new.text} to {bits}")
    pair = t.let(f"cmpxchg ptr {p}, {bits} {seen}, {bits} {wanted} seq_cst seq_cst")
    t.do(f"br i1 {t.let(f'extractvalue {{{bits}, i1}} {pair}, 1')}, label %{done}, label %{again}")
    t.at(done)
    return old

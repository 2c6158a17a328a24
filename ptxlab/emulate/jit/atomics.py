"""Atomic operations: in lane order, with the host's own atomic instructions where another worker may see the memory.

Lanes that all name one address (a counter, a sum) are one exchange on the host: the operations follow one another in a
register, in lane order, and the last value is written if no other worker has changed the first. A locked instruction
takes about 20 cycles, a step in a register 4. Shared memory belongs to blocks of one worker, and needs no lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit.irtext import Text, W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import BITS, LLVM, Address, Ops, Value
from ptxlab.emulate.program.addresses import LOCAL_WINDOW, WINDOW_SIZE
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
        shared = self.e.code.space == "shared"
        name = f"atom{what}.v{count}" + (".whole" if i.whole else "") + (".shared" if shared else "")
        if name not in self.e.helpers:
            self.e.helpers[name] = self._function(name, i, word, lane, count, shared=shared)
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

    def _function(self, name: str, form: Form, word: str, lane: str, count: int, *, shared: bool) -> str:
        """The function that does it, in lane order; each element of a vector is one atomic operation. shared: only
        for addresses in shared memory."""
        size, t = count * BITS[lane] // 8, Text()
        t.declared = self.t.declared
        t.do(f"%places = alloca [{W * Place.size} x i8], align 64")
        alone = count == 1 and not form.whole
        if alone:
            _compare_addresses(t)
        log2, looked = str(size.bit_length() - 1), "%looked" if alone else "%mask"
        stops = t.let(
            call(find_lanes, "%ctx", "%cta", "%ws", looked, "%addrs", str(size), log2, "%space", "%code", "%places")
        )
        t.do(f"br i1 {stops}, label %fault, label %found")
        t.at("fault")
        t.do("ret i32 1")
        t.at("found")
        if alone:
            t.do("br i1 %same, label %one, label %lanes")
            t.at("one")
            _together(t, form, word, lane, shared=shared)
            t.do("br label %done")
        else:
            t.do("br label %lanes")
        t.at("lanes")
        t.do("%left = phi i32 [%mask, %found], [%rest, %next]")
        t.do(f"br i1 {t.let('icmp eq i32 %left, 0')}, label %done, label %act")
        t.at("act")
        t.do(f"%rest = and i32 %left, {t.let('sub i32 %left, 1')}")
        number = t.call("i32", "llvm.cttz.i32", [("i32", "%left"), ("i1", "true")])
        t.do(f"%lane64 = zext i32 {number} to i64")
        t.do(f"%p = {_host('%lane64', t)}")
        if form.whole:
            self.e.helpers.setdefault(LOCK, f"@{LOCK} = internal global i32 0\n")
            _whole(t, compares=word == "cmpxchg")
        for k in range(0 if form.whole else count):
            _element(t, form, word, lane, k, count, shared=shared)
        t.do("br label %next")
        t.at("next")
        t.do("br label %lanes")
        t.at("done")
        t.do("ret i32 0")
        arguments = "ptr %ctx, ptr %cta, ptr %ws, i32 %mask, ptr %addrs, ptr %xs, ptr %out, i32 %space, i32 %code"
        head = f"define internal i32 @{name}({arguments}) noinline nounwind {{"
        return "\n".join([head, "entry:", *t.lines, "}", ""])


def _compare_addresses(t: Text) -> None:
    """`%same`: whether all active lanes name one address, `%first` (an i64) the first of them, `%looked` the lanes
    whose addresses are to be found. An address in local memory is another place in each lane."""
    number = t.call("i32", "llvm.cttz.i32", [("i32", "%mask"), ("i1", "false")])
    t.do(f"%first = zext i32 {t.let(f'and i32 {number}, {W - 1}')} to i64")
    address = t.let(f"load i64, ptr {t.let('getelementptr i64, ptr %addrs, i64 %first')}")
    every = t.let(f"load <{W} x i64>, ptr %addrs, align 64")
    wanted = t.splat("i64", address)
    equal = t.let(f"bitcast <{W} x i1> {t.let(f'icmp eq <{W} x i64> {every}, {wanted}')} to i32")
    active = t.let(f"and i32 %mask, {equal}")
    others = t.let(f"icmp eq i32 {active}, %mask")
    distance = t.let(f"sub i64 {address}, {LOCAL_WINDOW}")
    near = t.let(f"icmp uge i64 {distance}, {WINDOW_SIZE}")
    some = t.let("icmp ne i32 %mask, 0")
    t.do(f"%same = and i1 {t.let(f'and i1 {others}, {near}')}, {some}")
    lowest = t.let(f"and i32 %mask, {t.let('sub i32 0, %mask')}")
    t.do(f"%looked = select i1 %same, i32 {lowest}, i32 %mask")


def _host(lane: str, t: Text) -> str:
    """The load of a lane's pointer from `%places`."""
    at = t.let(f"add i64 {t.let(f'mul i64 {lane}, {Place.size}')}, {Place.offset('host')}")
    return f"load ptr, ptr {t.let(f'getelementptr i8, ptr %places, i64 {at}')}"


def _cell(t: Text, buffer: str, cell: int, ty: str, lane: str) -> str:
    """Where a buffer has the element of a lane, in one of its cells."""
    base = t.let(f"getelementptr i8, ptr {buffer}, i64 {cell * CELL}")
    return t.let(f"getelementptr {ty}, ptr {base}, i64 {lane}")


def _together(t: Text, form: Form, word: str, lane: str, *, shared: bool) -> None:
    """The operations of all active lanes on one address, one after another in a register."""
    ty, size = LLVM[lane], BITS[lane] // 8
    bits = f"i{BITS[lane]}"  # only integers can be exchanged
    again, step, after = (t.label(name) for name in ("again", "step", "after"))
    place = t.let(_host("%first", t))
    t.do(f"br label %{again}")
    t.at(again)
    seen = t.let(f"load {'' if shared else 'atomic '}{bits}, ptr {place}{'' if shared else ' seq_cst'}, align {size}")
    start = t.let(f"bitcast {bits} {seen} to {ty}")
    t.do(f"br label %{step}")
    t.at(step)
    t.do(f"%more = phi i32 [%mask, %{again}], [%behind, %stepped]")
    t.do(f"%now = phi {ty} [{start}, %{again}], [%then, %stepped]")
    t.do(f"%behind = and i32 %more, {t.let('sub i32 %more, 1')}")
    number = t.call("i32", "llvm.cttz.i32", [("i32", "%more"), ("i1", "true")])
    at = t.let(f"zext i32 {number} to i64")
    given = [t.let(f"load {ty}, ptr {_cell(t, '%xs', k, ty, at)}") for k in range(2 if word == "cmpxchg" else 1)]
    new = _new(t, form, word, lane, "%now", given)
    t.do(f"store {ty} %now, ptr {_cell(t, '%out', 0, ty, at)}")
    t.do("br label %stepped")
    t.at("stepped")
    t.do(f"%then = bitcast {ty} {new} to {ty}")
    t.do(f"br i1 {t.let('icmp eq i32 %behind, 0')}, label %{after}, label %{step}")
    t.at(after)
    last = t.let(f"bitcast {ty} %then to {bits}")
    if shared:
        t.do(f"store {bits} {last}, ptr {place}, align {size}")
        return
    pair = t.let(f"cmpxchg ptr {place}, {bits} {seen}, {bits} {last} seq_cst seq_cst")
    changed, written = t.let(f"extractvalue {{{bits}, i1}} {pair}, 1"), t.label("written")
    t.do(f"br i1 {changed}, label %{written}, label %{again}")
    t.at(written)


def _new(t: Text, form: Form, word: str, lane: str, old: str, given: list[str]) -> str:
    """The value that an operation leaves where `old` was."""
    ty, x = LLVM[lane], given[0]
    match word:
        case "loop":
            plain = _plain(form)
            assert plain.op.sem is not None
            return str(plain.op.sem(Ops(t), plain, Value(old, lane, True), Value(x, lane, True)).text)
        case "cmpxchg":
            return t.let(f"select i1 {t.let(f'icmp eq {ty} {old}, {x}')}, {ty} {given[1]}, {ty} {old}")
        case "xchg":
            return x
        case "uinc_wrap":
            return t.let(f"select i1 {t.let(f'icmp uge {ty} {old}, {x}')}, {ty} 0, {ty} {t.let(f'add {ty} {old}, 1')}")
        case "udec_wrap":
            zero, beyond = t.let(f"icmp eq {ty} {old}, 0"), t.let(f"icmp ugt {ty} {old}, {x}")
            wraps = t.let(f"or i1 {zero}, {beyond}")
            return t.let(f"select i1 {wraps}, {ty} {x}, {ty} {t.let(f'sub {ty} {old}, 1')}")
        case "min" | "max":
            return t.call(ty, f"llvm.s{word}.{ty}", [(ty, old), (ty, x)])
        case "umin" | "umax":
            return t.call(ty, f"llvm.{word}.{ty}", [(ty, old), (ty, x)])
    return t.let(f"{word} {ty} {old}, {x}")


def _plain(form: Form) -> Form:
    """The instruction that computes what an atomic one does."""
    return table_form(f"{form.operation}.{'rn.' if form.operation == 'add' else ''}{form.type}")


def _element(t: Text, form: Form, word: str, lane: str, k: int, count: int, *, shared: bool) -> None:
    """The operation on element k: operands from the buffer, the old value into %out."""
    ty, size = LLVM[lane], BITS[lane] // 8
    p = t.let(f"getelementptr i8, ptr %p, i64 {k * size}")
    cells = (k, count + k) if word == "cmpxchg" else (k,)
    given = [t.let(f"load {ty}, ptr {_cell(t, '%xs', cell, ty, '%lane64')}") for cell in cells]
    x = given[0]
    if shared:
        old = t.let(f"load {ty}, ptr {p}, align {size}")
        t.do(f"store {ty} {_new(t, form, word, lane, old, given)}, ptr {p}, align {size}")
    elif word == "cmpxchg":
        pair = t.let(f"cmpxchg ptr {p}, {ty} {x}, {ty} {given[1]} seq_cst seq_cst")
        old = t.let(f"extractvalue {{{ty}, i1}} {pair}, 0")
    elif word == "loop":
        old = _exchange(t, form, p, x, lane)
    else:
        old = t.let(f"atomicrmw {word} ptr {p}, {ty} {x} seq_cst")
    t.do(f"store {ty} {old}, ptr {_cell(t, '%out', k, ty, '%lane64')}")


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
    ty, bits = LLVM[lane], f"i{BITS[lane]}"  # only integers can be exchanged
    again, done = t.label("again"), t.label("done")
    t.do(f"br label %{again}")
    t.at(again)
    seen = t.let(f"load atomic {bits}, ptr {p} seq_cst, align {BITS[lane] // 8}")
    old = t.let(f"bitcast {bits} {seen} to {ty}")
    new = _new(t, form, "loop", lane, old, [x])
    wanted = t.let(f"bitcast {ty} {new} to {bits}")
    pair = t.let(f"cmpxchg ptr {p}, {bits} {seen}, {bits} {wanted} seq_cst seq_cst")
    t.do(f"br i1 {t.let(f'extractvalue {{{bits}, i1}} {pair}, 1')}, label %{done}, label %{again}")
    t.at(done)
    return old

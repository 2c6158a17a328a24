"""An atomic operation of one lane on one element of memory, as LLVM IR.

Operands lie in the buffer `%xs`, old values go to `%out`: each in cells, one after the other, that hold one element of
all lanes.
"""

from __future__ import annotations

from ptxlab.emulate.jit.atomics.sums import CELL, cell_of, sum_may_flush
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.runtime import state as S
from ptxlab.isa import form as table_form
from ptxlab.isa.table import Form


def new_value(t: Text, form: Form, word: str, lane: str, old: str, given: list[str], flushes: str = "") -> str:
    """The value that an operation leaves where `old` was. flushes: whether subnormal numbers are flushed, an i1
    or ""."""
    ty, x = LLVM[lane], given[0]
    match word:
        case "loop":
            return _computed(t, form, Value(old, lane, True), Value(x, lane, True), flushes)
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


def raw_sum(t: Text, form: Form, word: str, lane: str, old: str, given: list[str], flushes: str = "") -> str:
    """The same of a sum of floats, but any NaN will do."""
    assert word == "loop"
    return _computed(t, form, Value(old, lane, True), Value(given[0], lane, True), flushes, raw=True)


def _computed(t: Text, form: Form, old: Value, x: Value, flushes: str, *, raw: bool = False) -> str:
    """What the instruction that computes the new value gives."""

    def by(ftz: str) -> str:
        computes = table_form(f"{form.operation}.{'rn.' if form.operation == 'add' else ''}{ftz}{form.type}")
        assert computes.op.sem is not None
        found = computes.op.sem(Ops(t), computes, old, x)
        assert isinstance(found, Value)
        return ((found.raw or found) if raw else found).text

    if flushes in ("", "true"):
        return by("ftz." if flushes else "")
    ways = []
    with t.if_else(flushes) as both:
        for way, ftz in zip(both, ("ftz.", ""), strict=True):
            with way:
                ways.append(f"[{by(ftz)}, %{t.here}]")
    return t.let(f"phi {old.llvm} {', '.join(ways)}")


def in_a_row(t: Text, form: Form, word: str, lane: str, start: str, x: str, flushes: str = "") -> str:
    """The operations of 32 neighbours at a pointer as those of a vector; the old values."""
    kind, size = f"<{W} x {LLVM[lane]}>", BITS[lane] // 8
    old = t.let(f"load {kind}, ptr {start}, align {size}")
    if word == "loop":
        new = _computed(t, form, Value(old, lane, False), Value(x, lane, False), flushes)
    else:
        new = t.let(f"{word} {kind} {old}, {x}")
    t.do(f"store {kind} {new}, ptr {start}, align {size}")
    return old


def element(
    t: Text, form: Form, word: str, lane: str, k: int, count: int, p: str, at: str, flushes: str, small: str,
    *, plain: bool, returns: bool,
) -> None:  # fmt: skip
    """The operation of lane `at` on element k of what is at p: operands from the buffer, the old value into %out."""
    ty, size = LLVM[lane], BITS[lane] // 8
    p = t.let(f"getelementptr i8, ptr {p}, i64 {k * size}") if k else p
    cells = (k, count + k) if word == "cmpxchg" else (k,)
    given = [t.let(f"load {ty}, ptr {cell_of(t, '%xs', cell, ty, at)}") for cell in cells]
    x = given[0]
    if plain:
        old = t.let(f"load {ty}, ptr {p}, align {size}")
        new = new_value(t, form, word, lane, old, given, sum_may_flush(t, old, small, flushes))
        t.do(f"store {ty} {new}, ptr {p}, align {size}")
    elif word == "cmpxchg":
        pair = t.let(f"cmpxchg ptr {p}, {ty} {x}, {ty} {given[1]} seq_cst seq_cst")
        old = t.let(f"extractvalue {{{ty}, i1}} {pair}, 0")
    elif word == "loop":
        old = _exchange(t, form, p, x, lane, flushes, small)
    else:
        old = t.let(f"atomicrmw {word} ptr {p}, {ty} {x} seq_cst")
    if returns:
        t.do(f"store {ty} {old}, ptr {cell_of(t, '%out', k, ty, at)}")


def whole(t: Text, place: str, at: str, *, compares: bool) -> None:
    """Exchanges two neighbouring i64 as one; with `compares` only if both have the expected values."""
    spin, held, write, done = (t.label(name) for name in ("spin", "held", "write", "done"))
    p = [t.let(f"getelementptr i64, ptr {place}, i64 {k}") for k in (0, 1)]
    cells = [t.let(f"getelementptr i8, ptr %xs, i64 {k * CELL}") for k in range(4 if compares else 2)]
    given = [t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {cell}, i64 {at}')}") for cell in cells]
    lock = t.let(f"load ptr, ptr {t.field(S.Context, 'wide_lock')}")
    t.do(f"br label %{spin}")
    t.at(spin)
    taken = t.let(f"cmpxchg ptr {lock}, i32 0, i32 1 seq_cst seq_cst")
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
    t.do(f"store atomic i32 0, ptr {lock} seq_cst, align 4")
    for k, value in enumerate(old):
        cell = t.let(f"getelementptr i8, ptr %out, i64 {k * CELL}")
        t.do(f"store i64 {value}, ptr {t.let(f'getelementptr i64, ptr {cell}, i64 {at}')}")


def _exchange(t: Text, form: Form, p: str, x: str, lane: str, flushes: str, small: str) -> str:
    """A compare-and-swap loop around the semantics of the plain instruction."""
    ty, bits = LLVM[lane], f"i{BITS[lane]}"  # only integers can be exchanged
    again, done = t.label("again"), t.label("done")
    t.do(f"br label %{again}")
    t.at(again)
    seen = t.let(f"load atomic {bits}, ptr {p} seq_cst, align {BITS[lane] // 8}")
    old = t.let(f"bitcast {bits} {seen} to {ty}")
    new = new_value(t, form, "loop", lane, old, [x], sum_may_flush(t, old, small, flushes))
    wanted = t.let(f"bitcast {ty} {new} to {bits}")
    pair = t.let(f"cmpxchg ptr {p}, {bits} {seen}, {bits} {wanted} seq_cst seq_cst")
    t.do(f"br i1 {t.let(f'extractvalue {{{bits}, i1}} {pair}, 1')}, label %{done}, label %{again}")
    t.at(done)
    return old

"""An atomic operation of one lane on one element of memory, as LLVM IR.

Operands lie in the buffer `%xs`, old values go to `%out`: each in cells, one after the other, that hold one element of
all lanes.
"""

from __future__ import annotations

from ptxlab.emulate.jit.atomics.sums import CELL, cell_of, sum_may_flush
from ptxlab.emulate.jit.llvm.ir_text import Text
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
                ways.append((by(ftz), t.here))
    return t.phi(old.llvm, *ways)


def element(
    t: Text,
    form: Form,
    word: str,
    lane: str,
    k: int,
    count: int,
    p: str,
    at: str,
    flushes: str,
    small: str,
    *,
    plain: bool,
    returns: bool,
) -> None:
    """The operation of lane `at` on element k of what is at p: operands from the buffer, the old value into %out."""
    ty, size = LLVM[lane], BITS[lane] // 8
    p = t.offset(p, k * size) if k else p
    cells = (k, count + k) if word == "cmpxchg" else (k,)
    given = [t.load(ty, cell_of(t, "%xs", cell, ty, at)) for cell in cells]
    x = given[0]
    if plain:
        old = t.load(ty, p, align=size)
        new = new_value(t, form, word, lane, old, given, sum_may_flush(t, old, small, flushes))
        t.store(ty, new, p, align=size)
    elif word == "cmpxchg":
        pair, kind = t.compare_and_swap(ty, p, x, given[1])
        old = t.extract_value(kind, pair, 0)
    elif word == "loop":
        old = _exchange(t, form, p, x, lane, flushes, small)
    else:
        old = t.atomic(word, ty, p, x)
    if returns:
        t.store(ty, old, cell_of(t, "%out", k, ty, at))


def exchange_pair(t: Text, place: str, at: str, *, compares: bool) -> None:
    """Exchanges two neighbouring i64 as one; with `compares` only if both have the expected values."""
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


def _exchange(t: Text, form: Form, p: str, x: str, lane: str, flushes: str, small: str) -> str:
    """A compare-and-swap loop around the semantics of the plain instruction."""
    ty, bits = LLVM[lane], f"i{BITS[lane]}"  # only integers can be exchanged
    again, done = t.label("again"), t.label("done")
    t.go(again)
    t.at(again)
    seen = t.load_atomic(bits, p, "seq_cst", BITS[lane] // 8)
    old = t.bitcast(bits, seen, ty)
    new = new_value(t, form, "loop", lane, old, [x], sum_may_flush(t, old, small, flushes))
    wanted = t.bitcast(ty, new, bits)
    pair, kind = t.compare_and_swap(bits, p, seen, wanted)
    t.branch(t.extract_value(kind, pair, 1), done, again)
    t.at(done)
    return old

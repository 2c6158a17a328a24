"""An atomic operation of one lane on one element of memory, and sums of the operands of all lanes, as LLVM IR.

Operands lie in the buffer `%xs`, old values go to `%out`: each in cells, one after the other, that hold one element of
all lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.runtime import state as S
from ptxlab.isa import form as table_form
from ptxlab.isa.table import Form

CELL = 8 * W
"""Bytes of a buffer that holds one operand of all lanes."""


def cell_of(t: Text, buffer: str, cell: int, ty: str, lane: str) -> str:
    """Where a buffer has the element of a lane, in one of its cells."""
    base = t.offset(buffer, cell * CELL)
    return t.element(ty, base, lane)


NEUTRAL: dict[str, Callable[[int], int]] = {
    "add": lambda bits: 0, "or": lambda bits: 0, "xor": lambda bits: 0, "and": lambda bits: -1,
    "umin": lambda bits: -1, "umax": lambda bits: 0,
    "min": lambda bits: (1 << bits - 1) - 1, "max": lambda bits: -1 << bits - 1,
}  # fmt: skip
"""Operations in whose sum over many operands the order makes no difference, with what changes nothing, by the width."""
BY_ADDRESS = "by_address"
LEAST = 127 - 103 << 23
"""The bits of 2**-103. It and all larger f32 are multiples of 2**-126, the least normal number; so are their sums."""


def flushing(form: Form, space: str) -> str:
    """Whether an operation in such a space flushes subnormal numbers: "" for no, "true" for yes, or `BY_ADDRESS`. Sums
    of f32 do so in global memory, and not in shared memory (PTX ISA, atom)."""
    if form.operation != "add" or form.type != "f32" or space in ("shared", "cluster"):
        return ""
    return "true" if space == "global" else BY_ADDRESS


def flushes_at(t: Text, flushing: str, address: str) -> str:
    """The same for one address (an i64): an i1, or "" for no."""
    return t.ult("i64", address, PARAM_WINDOW) if flushing == BY_ADDRESS else flushing


def sums_may_flush(t: Text, start: str, flushes: str) -> str:
    """Whether a number (an i32) and the operands of all active lanes, added one after the other, may meet a subnormal
    number: an i1, true if in doubt. flushes: as `flushes_at` gives it."""
    if not flushes:
        return ""
    either = t.or_("i1", small_operands(t, 1), _small(t, start))
    return t.and_("i1", either, flushes)


def small_operands(t: Text, count: int) -> str:
    """Whether any operand of an active lane, in so many cells, is less than `LEAST`, and not 0: an i1."""
    row, some = f"<{W} x i32>", "0"
    for k in range(count):
        lanes = _small(t, t.load(row, cell_of(t, "%xs", k, "i32", "0"), align=64), row)
        some = t.or_("i32", some, t.bitcast(f"<{W} x i1>", lanes, "i32"))
    return t.ne("i32", t.and_("i32", some, "%mask"), 0)


def sum_may_flush(t: Text, old: str, small: str, flushes: str) -> str:
    """The same of one float in memory and an operand. small: of the operands (`small_operands`). To ask takes less time
    than to flush, which is hardly ever needed."""
    if not flushes:
        return ""
    either = t.or_("i1", small, _small(t, t.bitcast("float", old, "i32")))
    return t.and_("i1", either, flushes)


def _small(t: Text, bits: str, kind: str = "i32") -> str:
    """Whether an f32 is less than `LEAST`, and not 0."""
    one, limit = "1", str(2 * LEAST - 1)
    if kind != "i32":
        one, limit = t.splat("i32", one), t.splat("i32", limit)
    size = t.shl(kind, bits, one)  # without the sign
    return t.ult(kind, t.sub(kind, size, one), limit)  # 0 wraps around


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


def _computed(t: Text, form: Form, old: Value, x: Value, flushes: str) -> str:
    """What the instruction that computes the new value gives."""

    def by(ftz: str) -> str:
        computes = table_form(f"{form.operation}.{'rn.' if form.operation == 'add' else ''}{ftz}{form.type}")
        assert computes.op.sem is not None
        found = computes.op.sem(Ops(t), computes, old, x)
        assert isinstance(found, Value)
        return found.text

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
        old = t.part(kind, pair, 0)
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
    t.branch(t.part(kind, pair, 1), held, spin)
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
    t.branch(t.part(kind, pair, 1), done, again)
    t.at(done)
    return old


def sum_at_once(t: Text, word: str, lane: str, given: str, active: str) -> str:
    """The operands of all active lanes, a vector, as one."""
    ty, vector = LLVM[lane], f"<{W} x {LLVM[lane]}>"
    neutral = t.splat(ty, str(NEUTRAL[word](BITS[lane])))
    chosen = t.select(active, vector, given, neutral, of=f"<{W} x i1>")
    reduction = f"llvm.vector.reduce.{ {'min': 'smin', 'max': 'smax'}.get(word, word) }.v{W}{ty}"
    return t.call(ty, reduction, [(vector, chosen)])

"""Sums of the operands of all lanes of an atomic operation, and whether a sum flushes subnormal numbers, as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.program.addresses import PARAM_WINDOW
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


def sum_at_once(t: Text, word: str, lane: str, given: str, active: str) -> str:
    """The operands of all active lanes, a vector, as one."""
    ty, vector = LLVM[lane], f"<{W} x {LLVM[lane]}>"
    neutral = t.splat(ty, str(NEUTRAL[word](BITS[lane])))
    chosen = t.select(active, vector, given, neutral, of=f"<{W} x i1>")
    reduction = f"llvm.vector.reduce.{ {'min': 'smin', 'max': 'smax'}.get(word, word) }.v{W}{ty}"
    return t.call(ty, reduction, [(vector, chosen)])


def sum_in_order(t: Text, lane: str, start: str) -> str:
    """A number and the operands of all active lanes, one after the other. Those of others are -0: no sum changes."""
    ty, vector = LLVM[lane], f"<{W} x {LLVM[lane]}>"
    given, active = t.load(vector, "%xs", align=64), t.bitcast("i32", "%mask", f"<{W} x i1>")
    chosen = t.select(active, vector, given, t.splat(ty, "-0.0"), of=f"<{W} x i1>")
    return t.call(ty, f"llvm.vector.reduce.fadd.v{W}{lane}", [(ty, start), (vector, chosen)])

"""Products of bf16 matrices on a CPU that has vdpbf16ps, which adds the products of two pairs of numbers to an f32 sum.

That is two fused multiply-adds, but subnormal numbers count as zero. So it is used where none can occur: operands are
looked at when they are brought into the form that it wants, sums before something is added to them, unless they come
from earlier products of this kind. Otherwise the same pairs are taken apart and multiplied by fused multiply-adds.

The instruction begins with the upper half of a pair, where the first of two neighbours along k stands therefore.
"""

from __future__ import annotations

from ptxlab.emulate.jit.llvm.fragments import function, slot
from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.matrices import half_products
from ptxlab.emulate.jit.matrices.half_forms import FLAG, PAIRS, ZERO, Unit, Vectors
from ptxlab.emulate.jit.matrices.half_operands import none_below, pointer_at
from ptxlab.emulate.runtime import state as S

_LEAST_C = 24
"""A biased exponent. A c of 2**(24 - 127) or more is a multiple of 2**-126, and so are its sums with products of
factors that are large enough (see `half_operands`): none of them is subnormal."""
KNOWN = ", i32 %known"
"""One more parameter: 1 if C is the sum of earlier products of its basic block, 2 if there was none before."""


def product(name: str, unit: Unit, units: int, cpu: Vectors, declared: set[str], *, apart: bool) -> str:
    """As `half_products.product`, with `KNOWN`."""
    parts = [
        half_products.product(f"{name}_{which}", unit, units, cpu, declared, apart=apart, exact=which == "exact")
        for which in ("pairs", "exact")
    ]
    t = Text()
    t.declared = declared
    more = half_products.APART if apart else ""
    given = f"ptr %ws, ptr %table{half_products.FACTORS}{more}"
    all_dot = t.field(S.Warp, "all_dot")
    first = t.ne("i32", t.and_("i32", "%known", 2), 0)
    so_far = t.select(first, "i32", 1, t.load("i32", all_dot))
    sound = _sound(t, unit, units)
    t.branch(sound, "good", "bad")
    t.at("good")
    if unit.c == ZERO:
        t.go("pairs")
    else:
        _look(t, unit, units, so_far, apart=apart)
    t.at("pairs")
    t.store("i32", so_far, all_dot)
    t.call_function("void", f"{name}_pairs", given)
    t.ret()
    t.at("bad")
    t.store("i32", 0, all_dot)
    t.call_function("void", f"{name}_exact", given)
    return "".join([*parts, function(t, name, half_products.FACTORS + more + KNOWN)])


def _look(t: Text, unit: Unit, units: int, so_far: str, *, apart: bool) -> None:
    """Looks at C, if its sums are not known to be large enough."""
    known = t.and_("i32", "%known", so_far)
    t.branch(t.trunc("i32", known, "i1"), "pairs", "look")
    t.at("look")
    count, d = (units * unit.registers(type_) for type_ in (unit.c, unit.d))
    c = []
    for k in range(count):
        where = pointer_at(t, "%c", half_products.REGISTER * k) if apart else slot(t, d + k)
        c += [t.load("<16 x i32>", pointer_at(t, where, 64 * z), align=64) for z in range(2)]
    t.branch(none_below(t, "i32", "<16 x i32>", c, _LEAST_C << 24), "pairs", "bad")


def _sound(t: Text, unit: Unit, units: int) -> str:
    """i1: whether no factor of any of the instructions is too small."""
    i, so_far, following, now = (t.name() for _ in range(4))
    t.go("each")
    t.at("each")
    t.phi("i64", (0, "entry"), (following, "each"), name=i)
    t.phi("i32", (1, "entry"), (now, "each"), name=so_far)
    given = t.element(f"[{1 + units} x ptr]", "%factors", i)
    found = so_far
    for k in range(1 + units):
        size = unit.b_bytes(PAIRS) if k else unit.a_bytes(PAIRS)
        pointer = t.load("ptr", pointer_at(t, given, 8 * k))
        flag = t.load("i32", pointer_at(t, pointer, size - FLAG), align=64)
        found = t.and_("i32", found, flag)
    t.or_("i32", found, 0, now)
    t.add("i64", i, 1, following)
    t.branch(t.ult("i64", following, "%steps"), "each", "all")
    t.at("all")
    return t.ne("i32", now, 0)

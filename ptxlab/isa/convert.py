"""Moving and converting: mov (with packing), cvt between all integer and floating-point types, cvta, isspacep."""

from __future__ import annotations

from typing import Any

from ptxlab.isa import types
from ptxlab.isa.common import HALVES, ROUNDING, WHOLE, extend, join
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.rounding import CANONICAL_NAN, adjust, flush, from_float, narrow_f64, relu, saturate, to_float
from ptxlab.isa.table import Form, op

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
NOT_BYTES = tuple(t for t in INTEGERS if t not in ("u8", "s8"))
"""What bf16 converts to and from."""
INTEGER_ROUNDING = ("rni", "rzi", "rmi", "rpi")

# -- mov ---------------------------------------------------------------------------------------------------------------


def pack(m: Machine, type: str, parts: tuple[Value, ...]) -> Value:
    """`mov.b64 d, {a, b}`: the parts side by side, the first in the lowest bits. Each part is an integer of the width
    of `type` over their number."""
    lane = types.lane(type)
    step = types.width(type) // len(parts)
    d = m.zext(lane, parts[0])
    for k, part in enumerate(parts[1:], 1):
        d = m.or_(d, m.shl(m.zext(lane, part), m.const(lane, step * k)))
    return d


def unpack(m: Machine, type: str, count: int, a: Value) -> tuple[Value, ...]:
    """`mov.b64 {d, e}, a`: a's bits in `count` equal parts, lowest first."""
    lane = types.lane(type)
    step = types.width(type) // count
    return tuple(m.trunc(f"i{step}", m.lshr(a, m.const(lane, step * k)) if k else a) for k in range(count))


def _mov(m: Machine, i: Form, a: Any) -> Value:
    return pack(m, i.type, a) if isinstance(a, tuple) else a


op("mov.type  d, a", """Copies a register, an immediate, a special register such as %tid.x, or the address of a
   variable into d. With `{...}` on one side it packs small registers into a large one or takes it apart: two f16 in
   one b32, two words of a pointer.""", _mov,
   type=("pred", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"))  # fmt: skip
op("mov.vec.type  d:vec, a:vec", """Copies a vector: each element of a, registers in braces or a register that was
   declared as a vector, into the same one of d.""", lambda m, i, a: a, vec=("v2", "v4"),
   type=("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"))  # fmt: skip
op("mov.b128  d:b128, a:b128", """Packs two 64-bit registers (or four of 32 bits) into a 128-bit one, takes it apart, or
   copies it.""", lambda m, i, a: a, fixed=WHOLE, version=(8, 3), sm=70)  # fmt: skip

# -- cvt: integers -----------------------------------------------------------------------------------------------------


def _limits(type: str) -> tuple[int, int]:
    bits = types.width(type)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if types.is_signed(type) else (0, (1 << bits) - 1)


def _int_to_int(m: Machine, i: Form, a: Value) -> Value:
    source, target = i.atype, i.dtype
    lane = types.lane(target)
    if not i.sat:
        if types.width(target) <= types.width(source):
            return m.trunc(lane, a)
        return extend(m, lane, source, a)
    x = extend(m, "i64", source, a)
    (low, high), (source_low, source_high) = _limits(target), _limits(source)
    if types.is_signed(source):
        if low > source_low:
            x = m.smax(x, m.const("i64", low))
        if high < source_high:
            x = m.smin(x, m.const("i64", high))
    elif high < source_high:
        x = m.umin(x, m.const("i64", high))
    return m.trunc(lane, x)


op("cvt.dtype.atype  d:dtype, a:atype", """Converts an integer to another width or signedness: narrowing drops the upper
   bits, widening copies the sign of a signed source.""", _int_to_int, dtype=INTEGERS, atype=INTEGERS)  # fmt: skip
for _source in INTEGERS:
    _least, _most = _limits(_source)
    op("cvt.sat.dtype.atype  d:dtype, a:atype", """Converts an integer, clamped to the limits of the new type, which
       must lack some values of the old one.""", _int_to_int, atype=(_source,),
       dtype=[t for t in INTEGERS if _limits(t)[0] > _least or _limits(t)[1] < _most])  # fmt: skip


def _pack_integers(m: Machine, i: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    bits, (low, high) = types.width(i.part), _limits(i.part)
    first, second = (m.smax(m.smin(x, m.const("i32", high)), m.const("i32", low)) for x in (a, b))
    mask = m.const("i32", (1 << bits) - 1)
    d = m.or_(m.shl(m.and_(first, mask), m.const("i32", bits)), m.and_(second, mask))
    return d if c is None else m.or_(d, m.shl(c, m.const("i32", 2 * bits)))


_PACK = """Clamps a and b to a narrower type and packs them, b in the lowest bits"""
op("cvt.pack.sat.part.s32  d:b32, a:s32, b:s32", _PACK + ".", _pack_integers, part=("u16", "s16"),
   version=(6, 5), sm=72)  # fmt: skip
op("cvt.pack.sat.part.s32.b32  d:b32, a:s32, b:s32, c:b32", _PACK + """; c, shifted up, is above them. Two of these
   pack four bytes.""", _pack_integers, part=("u8", "s8", "u4", "s4", "u2", "s2"), version=(6, 5), sm=72,
   needs=dict.fromkeys(("u4", "s4", "u2", "s2"), ((6, 5), 75)))  # fmt: skip

# -- cvt: integer to float ---------------------------------------------------------------------------------------------


def _widen_int(m: Machine, type: str, a: Value) -> Value:
    """An 8- or 16-bit integer as i32; wider ones as they are."""
    return extend(m, "i32", type, a) if types.width(type) < 32 else a


def _to_double(m: Machine, type: str, a: Value) -> tuple[Value, Value]:
    """A 32- or 64-bit integer as f64 plus the error of that (0 for 32 bits)."""
    signed = types.is_signed(type)
    if types.width(type) < 64:
        return (m.stof if signed else m.utof)("f64", _widen_int(m, type, a)), m.const("f64", 0.0)
    upper = (m.ashr if signed else m.lshr)(a, m.const("i64", 32))
    high = m.fmul((m.stof if signed else m.utof)("f64", upper), m.const("f64", 2.0**32))
    low = m.utof("f64", m.and_(a, m.const("i64", 0xFFFFFFFF)))
    s = m.fadd(high, low)
    return s, m.fsub(low, m.fsub(s, high))


def _int_to_float(m: Machine, i: Form, a: Value) -> Value:
    target, rnd = i.dtype, i.rnd
    if rnd == "rn" and target in ("f32", "f64"):
        convert = m.stof if types.is_signed(i.atype) else m.utof
        d = convert(target, _widen_int(m, i.atype, a))
        return saturate(m, target, d) if i.sat else d
    nearest, error = _to_double(m, i.atype, a)
    bits, zero = m.bitcast("i64", nearest), m.const("f64", 0.0)
    above, below = m.flt(zero, error), m.flt(error, zero)
    if target == "f64":
        d = m.bitcast("f64", adjust(m, "i64", rnd, bits, above, below))
        return saturate(m, "f64", d) if i.sat else d
    odd = m.or_(adjust(m, "i64", "rz", bits, above, below), m.const("i64", 1))
    exact = m.bitcast("f64", m.select(m.or_(above, below), odd, bits))
    return _finish(m, i, exact)


def _finish(m: Machine, i: Form, a: Value) -> Value:
    """An f64 that may be rounded once more, as the target type f32, f16 or bf16, saturated if asked."""
    if i.dtype == "f32":
        d = narrow_f64(m, a, i.rnd or "rn")
        d = flush(m, "f32", d) if i.ftz else d
        return saturate(m, "f32", d) if i.sat else d
    x = narrow_f64(m, a, "odd")
    return _narrow_half(m, i, i.dtype, x)


def _narrow_half(m: Machine, i: Form, type: str, x: Value) -> Value:
    """f32 to f16 or bf16 with the form's rounding, `.relu`, `.sat` and `.satfinite`."""
    if i.sat:
        x = saturate(m, "f32", x)
    if i.relu:
        x = relu(m, x)
    d = from_float(m, type, x, i.rnd or "rn")
    if i.satfinite:
        sign = m.and_(d, m.const("i16", 0x8000))
        largest = m.const("i16", 0x7BFF if type == "f16" else 0x7F7F)
        infinite = m.feq(m.fabs(to_float(m, type, d)), m.const("f32", float("inf")))
        d = m.select(infinite, m.or_(sign, largest), d)
    return d


op("cvt.rnd{.ftz}{.sat}.dtype.atype  d:dtype, a:atype", """Converts an integer to floating point. A rounding mode is
   required, because a large integer has more digits than the result can hold.""",
   _int_to_float, rnd=ROUNDING, dtype=("f32",), atype=INTEGERS)  # fmt: skip
op("cvt.rnd{.sat}.dtype.atype  d:dtype, a:atype", """Converts an integer to f16 or f64.""", _int_to_float, rnd=ROUNDING,
   dtype=("f16", "f64"), atype=INTEGERS)  # fmt: skip
op("cvt.rnd.bf16.atype  d:bf16, a:atype", """Converts an integer to bf16.""", _int_to_float, rnd=ROUNDING,
   atype=NOT_BYTES, fixed={"dtype": "bf16"}, version=(7, 8), sm=90)  # fmt: skip

# -- cvt: float to integer ---------------------------------------------------------------------------------------------


def _round_to_integer(m: Machine, rnd: str, a: Value) -> Value:
    return {"rni": m.rint, "rzi": m.ftrunc, "rmi": m.floor, "rpi": m.ceil}[rnd](a)


def _float_to_int(m: Machine, i: Form, a: Value) -> Value:
    source, target = i.atype, i.dtype
    if source in HALVES:
        a, source = to_float(m, source, a), "f32"
    if i.ftz:
        a = flush(m, "f32", a)
    r = _round_to_integer(m, i.rnd, a)
    low, high = _limits(target)
    lane = "i64" if types.width(target) == 64 else "i32"
    too_low = m.flt(r, m.const(source, float(low)))
    too_high = m.fle(m.const(source, float(high + 1)), r)
    inside = m.not_(m.or_(m.or_(too_low, too_high), m.isnan(r)))
    safe = m.select(inside, r, m.const(source, 0.0))
    d = m.ftos(lane, safe) if types.is_signed(target) else m.ftou(lane, safe)
    d = m.select(too_low, m.const(lane, low), d)
    d = m.select(too_high, m.const(lane, high), d)
    # NaN gives 0, but the smallest integer (its bit pattern) where f64 or a 64-bit integer takes part
    if i.atype == "f64" or types.width(target) == 64:
        d = m.select(m.isnan(r), m.const(lane, 1 << types.width(target) - 1), d)
    return m.trunc(types.lane(target), d)


op("cvt.rnd{.ftz}{.sat}.dtype.f32  d:dtype, a:f32", """Converts floating point to an integer: `.rzi` cuts the fraction
   off as C does, `.rni` goes to the nearest. Values that do not fit are clamped to the limits of the integer type.""",
   _float_to_int, rnd=INTEGER_ROUNDING, dtype=INTEGERS, fixed={"atype": "f32"})  # fmt: skip
op("cvt.rnd{.sat}.dtype.atype  d:dtype, a:atype", """Converts f64 or f16 to an integer, held at the limits of the
   integer type.""", _float_to_int, rnd=INTEGER_ROUNDING, dtype=INTEGERS, atype=("f64", "f16"))  # fmt: skip
op("cvt.rnd.dtype.bf16  d:dtype, a:bf16", """Converts bf16 to an integer, clamped to the limits of the integer type.""",
   _float_to_int, rnd=INTEGER_ROUNDING, dtype=NOT_BYTES, fixed={"atype": "bf16"}, version=(7, 8), sm=90)  # fmt: skip

# -- cvt: float to float -----------------------------------------------------------------------------------------------


def _float_to_float(m: Machine, i: Form, a: Value) -> Value:
    source, target = i.atype, i.dtype
    if source == "f64":
        return _finish(m, i, a)
    x = a if source == "f32" else to_float(m, source, a)
    if i.ftz and source == "f32" and target != "f16":  # GPUs round to f16 as without .ftz: rp of a subnormal is 1
        x = flush(m, "f32", x)
    if target == "f64":
        x = m.fpext(x)
        return saturate(m, "f64", x) if i.sat else x
    if target == "f32":
        x = flush(m, "f32", x) if i.ftz else x
        return saturate(m, "f32", x) if i.sat else x
    return _narrow_half(m, i, target, x)


def _same_float(m: Machine, i: Form, a: Value) -> Value:
    """One type to itself: rounding to an integer, flushing, saturating."""
    type = i.type
    if type in HALVES:
        if not (i.rnd or i.sat):
            return a
        x = to_float(m, type, a)
        x = _round_to_integer(m, i.rnd, x) if i.rnd else x
        return from_float(m, type, saturate(m, "f32", x) if i.sat else x)
    a = flush(m, "f32", a) if i.ftz else a
    a = _round_to_integer(m, i.rnd, a) if i.rnd else a
    return saturate(m, type, a) if i.sat else a


_NARROW = """Converts floating point to a narrower type, so a rounding mode is required. Attention rounds its f32
   probabilities to f16 or bf16 here, before the tensor cores multiply them with V."""
_WIDEN = """Converts floating point to a wider type, which is exact and takes no rounding mode."""
_SAME = """Rounds to an integral value in the same floating-point type, or only flushes (`.ftz`) or clamps to 0..1
   (`.sat`)."""

op("cvt.rnd{.ftz}{.sat}.f32.f64  d:f32, a:f64", _NARROW, _float_to_float, rnd=ROUNDING,
   fixed={"dtype": "f32", "atype": "f64"})  # fmt: skip
op("cvt.rnd{.ftz}{.sat}.f16.f32  d:f16, a:f32", _NARROW, _float_to_float, rnd=ROUNDING,
   fixed={"dtype": "f16", "atype": "f32"})  # fmt: skip
op("cvt.rnd{.sat}.f16.f64  d:f16, a:f64", _NARROW, _float_to_float, rnd=ROUNDING,
   fixed={"dtype": "f16", "atype": "f64"})  # fmt: skip
op("cvt.rnd{.relu}{.satfinite}.dtype.f32  d:dtype, a:f32", _NARROW, _float_to_float, rnd=("rn", "rz"),
   dtype=("bf16", "f16"), fixed={"atype": "f32"}, version=(7, 0), sm=80,
   needs={"satfinite": ((8, 1), 80)})  # fmt: skip
op("cvt.rnd.ftz.bf16.f32  d:bf16, a:f32", _NARROW, _float_to_float, rnd=("rn", "rz"),
   fixed={"dtype": "bf16", "atype": "f32", "ftz": True}, version=(7, 0), sm=80)  # fmt: skip
op("cvt.rnd.bf16.f32  d:bf16, a:f32", _NARROW, _float_to_float, rnd=("rm", "rp"),
   fixed={"dtype": "bf16", "atype": "f32"}, version=(7, 0), sm=80)  # fmt: skip
op("cvt.rnd.bf16.f64  d:bf16, a:f64", _NARROW, _float_to_float, rnd=ROUNDING,
   fixed={"dtype": "bf16", "atype": "f64"}, version=(7, 8), sm=90)  # fmt: skip
for _target, _source in (("bf16", "f16"), ("f16", "bf16")):
    op(f"cvt{{.rnd}}.{_target}.{_source}  d:{_target}, a:{_source}", """Converts between the two 16-bit formats, by
       default to the nearest.""", _float_to_float, rnd=ROUNDING, fixed={"dtype": _target, "atype": _source},
       version=(7, 8), sm=90)  # fmt: skip
op("cvt{.ftz}{.sat}.f64.f32  d:f64, a:f32", _WIDEN, _float_to_float, fixed={"dtype": "f64", "atype": "f32"})
op("cvt{.ftz}{.sat}.f32.f16  d:f32, a:f16", _WIDEN, _float_to_float, fixed={"dtype": "f32", "atype": "f16"})
op("cvt{.sat}.f64.f16  d:f64, a:f16", _WIDEN, _float_to_float, fixed={"dtype": "f64", "atype": "f16"})
op("cvt{.rnd}{.ftz}.f32.bf16  d:f32, a:bf16", _WIDEN, _float_to_float, rnd=ROUNDING, version=(7, 1), sm=80,
   needs={"ftz": ((7, 8), 90)}, fixed={"dtype": "f32", "atype": "bf16"})  # fmt: skip
op("cvt{.rnd}.f64.bf16  d:f64, a:bf16", _WIDEN, _float_to_float, rnd=ROUNDING, version=(7, 8), sm=90,
   fixed={"dtype": "f64", "atype": "bf16"})  # fmt: skip
op("cvt{.rnd}{.ftz}{.sat}.f32.f32  d:f32, a:f32", _SAME, _same_float, rnd=INTEGER_ROUNDING,
   fixed={"type": "f32", "dtype": "f32", "atype": "f32"})  # fmt: skip
op("cvt{.rnd}{.sat}.f64.f64  d:f64, a:f64", _SAME, _same_float, rnd=INTEGER_ROUNDING,
   fixed={"type": "f64", "dtype": "f64", "atype": "f64"})  # fmt: skip
op("cvt{.rnd}{.sat}.f16.f16  d:f16, a:f16", _SAME, _same_float, rnd=INTEGER_ROUNDING,
   fixed={"type": "f16", "dtype": "f16", "atype": "f16"})  # fmt: skip
op("cvt{.rnd}.bf16.bf16  d:bf16, a:bf16", _SAME, _same_float, rnd=INTEGER_ROUNDING,
   fixed={"type": "bf16", "dtype": "bf16", "atype": "bf16"}, version=(7, 8), sm=90)  # fmt: skip

# -- cvt: packed halves and tf32 ---------------------------------------------------------------------------------------


def _pack_halves(m: Machine, i: Form, a: Value, b: Value) -> Value:
    type = i.dtype.removesuffix("x2")
    return join(m, _narrow_half(m, i, type, b), _narrow_half(m, i, type, a))


op("cvt.rnd{.relu}{.satfinite}.dtype.f32  d:dtype, a:f32, b:f32", """Rounds two f32 to 16-bit floats and packs them: a
   in the upper half, b in the lower. One of these per pair of probabilities feeds P to the second matrix product.""",
   _pack_halves, rnd=("rn", "rz"), dtype=("f16x2", "bf16x2"), version=(7, 0), sm=80,
   needs={"satfinite": ((8, 1), 80)})  # fmt: skip


def _to_tf32(m: Machine, i: Form, a: Value) -> Value:
    """f32 rounded to 10 fraction bits, as f32 bits. rna: to nearest, ties away from zero, and a NaN keeps its upper
    bits; that is not one instruction of sm_90 but several, as the assembler writes them."""
    bits, low = m.bitcast("i32", a), m.const("i32", 0x1FFF)

    def finite(x: Value) -> Value:
        return m.flt(m.fabs(x), m.const("f32", float("inf")))

    if i.rnd == "rna":
        rounded = m.add(bits, m.const("i32", 0x1000))
    elif i.rnd == "rn":
        last = m.and_(m.lshr(bits, m.const("i32", 13)), m.const("i32", 1))
        rounded = m.add(bits, m.add(last, m.const("i32", 0xFFF)))
    else:
        rounded = bits
    d = m.and_(m.select(finite(a), rounded, bits), m.not_(low))
    if i.satfinite:  # infinity becomes the largest number; a NaN is moved down as well
        d = m.select(finite(m.bitcast("f32", d)), d, m.sub(d, m.const("i32", 0x2000)))
    if i.relu:
        d = m.select(m.slt(d, m.const("i32", 0)), m.const("i32", 0), d)
    return d if i.rnd == "rna" else m.select(m.isnan(a), m.const("i32", CANONICAL_NAN["f32"] & ~0x1FFF), d)


_TF32 = """Rounds f32 to tf32: 10 fraction bits, the range of f32. Tensor cores read only those bits; without this
   they cut the rest off."""
op("cvt.rnd{.satfinite}.tf32.f32  d:b32, a:f32", _TF32, _to_tf32, rnd=("rna",), version=(7, 0), sm=80,
   needs={"satfinite": ((8, 1), 80)})  # fmt: skip
op("cvt.rnd{.relu}.tf32.f32  d:b32, a:f32", _TF32, _to_tf32, rnd=("rn", "rz"), version=(7, 8), sm=90)
op("cvt.rnd.satfinite{.relu}.tf32.f32  d:b32, a:f32", _TF32, _to_tf32, rnd=("rn", "rz"), version=(8, 6), sm=100)

# -- addresses ---------------------------------------------------------------------------------------------------------

_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")


_NEEDS = {"param": ((7, 7), 70)}

WINDOWS = {"param": 0x7F7D_0000_0000, "local": 0x7F7E_0000_0000, "shared": 0x7F7F_0000_0000}
"""Where the spaces with short addresses are among the generic ones; global addresses are generic already."""

CONST_WINDOW, CONST_SIZE = 0x1000_0000_0000, 0x0200_0000_0000
"""Added to an address in constant memory where it is generic; those of variables are below the second."""

WINDOW_SIZE = 0x0100_0000

PEER = 0x0008_0000
"""Bytes of the shared window for each block of a cluster. A block's own memory is at its beginning, that of rank r
(its own as well) `(r + 1) * PEER` further on."""


def _cvta(m: Machine, i: Form, a: Value) -> Value:
    base = CONST_WINDOW if i.space == "const" else WINDOWS.get(i.space.partition("::")[0])
    if base is None or i.type == "u32":
        return a
    return m.sub(a, m.const("i64", base)) if i.to else m.add(a, m.const("i64", base))


def _isspacep(m: Machine, i: Form, a: Value) -> Value:
    space = i.space.partition("::")[0]
    if space in WINDOWS:
        size = PEER if i.space in ("shared", "shared::cta") else WINDOW_SIZE
        return m.ult(m.sub(a, m.const("i64", WINDOWS[space])), m.const("i64", size))
    constant = m.ult(m.sub(a, m.const("i64", CONST_WINDOW)), m.const("i64", CONST_SIZE))
    outside = m.and_(m.ult(a, m.const("i64", WINDOWS["param"])), m.not_(constant))
    return outside if space == "global" else constant


op("cvta{.to}.space.type  d, a", """Turns an address in one state space into a generic one, or with `.to` back. Kernel
   pointers arrive generic; after `cvta.to.global` the loads can be `ld.global`, for which the hardware need not find
   out the space first.""", _cvta, space=_SPACES, type=("u32", "u64"), version=(2, 0), sm=20,
   needs=_NEEDS)  # fmt: skip
op("isspacep.space  p:pred, a:u64", """Asks whether a generic address lies in a state space.""",
   _isspacep, loose=True, space=_SPACES, version=(2, 0), sm=20, needs=_NEEDS)  # fmt: skip


def _mapa(m: Machine, i: Form, a: Value, b: Value) -> Value:
    lane = types.lane(i.type)
    base = m.and_(a, m.const(lane, -WINDOW_SIZE))
    offset = m.and_(a, m.const(lane, PEER - 1))
    rank = m.add(b if lane == "i32" else m.zext(lane, b), m.const(lane, 1))
    return m.add(m.add(base, offset), m.mul(rank, m.const(lane, PEER)))


def _getctarank(m: Machine, i: Form, a: Value) -> Value:
    within = m.and_(a, m.const(types.lane(i.type), WINDOW_SIZE - 1))
    slot = m.udiv(within, m.const(types.lane(i.type), PEER))
    slot = slot if types.lane(i.type) == "i32" else m.trunc("i32", slot)
    own = m.eq(slot, m.const("i32", 0))
    return m.select(own, m.special("%cluster_ctarank"), m.sub(slot, m.const("i32", 1)))


op("mapa{.space}.type  d, a, b:u32", """The address that a shared variable of this block has in block b (a rank) of the
   cluster: with `.shared::cluster` an address of shared memory, else a generic one. Loads, stores, atomic operations
   and arrivals at mbarriers take it.""", _mapa, space=("shared::cluster",), type=("u32", "u64"), version=(7, 8),
   sm=90)  # fmt: skip
op("getctarank{.space}.type  d:u32, a", """The rank of the block of the cluster that a shared address belongs to.""",
   _getctarank, space=("shared::cluster",), type=("u32", "u64"), version=(7, 8), sm=90)  # fmt: skip

"""Comparison and selection: setp, set, selp, slct."""

from __future__ import annotations

from typing import Any

from ptxlab.isa import types
from ptxlab.isa.common import HALVES, element, join, split
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.rounding import flush, to_float
from ptxlab.isa.table import Form, op

ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
UNSIGNED = ("lo", "ls", "hi", "hs")
BOOLEAN = ("and", "or", "xor")
UNSIGNED_TYPES = ("u16", "u32", "u64")
INTEGER_TYPES = (*UNSIGNED_TYPES, "s16", "s32", "s64")
BIT_TYPES = ("b16", "b32", "b64")

_CMP_NOTES = {
    "eq": "Equal; false where a float is NaN.",
    "ne": "Not equal; false where a float is NaN.",
    "lo": "Lower: < on unsigned integers.",
    "ls": "Lower or same: <= on unsigned integers.",
    "hi": "Higher: > on unsigned integers.",
    "hs": "Higher or same: >= on unsigned integers.",
    "num": "True where neither operand is NaN.",
    "nan": "True where either operand is NaN.",
}


def compare(m: Machine, cmp: str, type: str, a: Value, b: Value) -> Value:
    """a CMP b as i1, for lanes of a PTX type (f16 and bf16 already widened to `f32`)."""
    if types.is_float(type):
        return _compare_float(m, cmp, a, b)
    if cmp in ("eq", "ne"):
        return m.eq(a, b) if cmp == "eq" else m.ne(a, b)
    signed = types.is_signed(type)
    less, at_most = (m.slt, m.sle) if signed else (m.ult, m.ule)
    if cmp in ("lt", "lo"):
        return less(a, b)
    if cmp in ("le", "ls"):
        return at_most(a, b)
    return less(b, a) if cmp in ("gt", "hi") else at_most(b, a)


def _compare_float(m: Machine, cmp: str, a: Value, b: Value) -> Value:
    if cmp in ("num", "nan"):
        nan = m.or_(m.isnan(a), m.isnan(b))
        return nan if cmp == "nan" else m.not_(nan)
    # an unordered comparison is the negation of the opposite ordered one
    if cmp == "eq":
        return m.feq(a, b)
    if cmp == "neu":
        return m.not_(m.feq(a, b))
    if cmp == "ne":
        return m.or_(m.flt(a, b), m.flt(b, a))
    if cmp == "equ":
        return m.not_(m.or_(m.flt(a, b), m.flt(b, a)))
    if cmp in ("lt", "gt"):
        return m.flt(a, b) if cmp == "lt" else m.flt(b, a)
    if cmp in ("le", "ge"):
        return m.fle(a, b) if cmp == "le" else m.fle(b, a)
    if cmp in ("ltu", "gtu"):
        return m.not_(m.fle(b, a) if cmp == "ltu" else m.fle(a, b))
    return m.not_(m.flt(b, a) if cmp == "leu" else m.flt(a, b))


def _truth(m: Machine, i: Form, type: str, a: Value, b: Value) -> Value:
    if i.ftz:
        a, b = (flush(m, type, x) for x in (a, b))
    if type in HALVES:
        return compare(m, i.cmp, "f32", to_float(m, type, a), to_float(m, type, b))
    return compare(m, i.cmp, type, a, b)


def _combine(m: Machine, i: Form, t: Value, c: Value | None) -> Value:
    if c is None:
        return t
    return {"and": m.and_, "or": m.or_, "xor": m.xor}[i.bool](t, c)


def _setp(m: Machine, i: Form, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
    t = _truth(m, i, i.type, a, b)
    return _combine(m, i, t, c), _combine(m, i, m.not_(t), c)


def _setp_one(m: Machine, i: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    return _setp(m, i, a, b, c)[0]


def _setp_pair(m: Machine, i: Form, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
    """The packed form: p from the low halves, q from the high ones."""
    truths = _halves_truth(m, i, element(i.type), a, b)
    p, q = (_combine(m, i, t, c) for t in truths)
    return p, q


_SETP = """Compares two numbers and sets a predicate, ready to guard an instruction (`@p`) or a branch: every bounds
   check and every causal mask is one. The optional q gets the opposite."""
_COMBINED = " The answer is combined with the predicate c, so a range test costs two instructions and no branch."

_PAIR = "Compares two pairs of 16-bit floats: p is the answer for the low halves, q for the high ones."
_FLOATS = ORDERED + UNORDERED
_COMBINES: Any = {"bool": BOOLEAN, "notes": _CMP_NOTES}
_Kinds = tuple[tuple[str, tuple[str, ...], str | tuple[str, ...], Any], ...]
_SETP_KINDS: _Kinds = (  # flushing, comparisons, types, more
    ("", ORDERED, INTEGER_TYPES, {}), ("", UNSIGNED, UNSIGNED_TYPES, {}), ("", ("eq", "ne"), BIT_TYPES, {}),
    ("{.ftz}", _FLOATS, "f32", {}), ("", _FLOATS, "f64", {"version": (1, 4), "sm": 13}),
    ("{.ftz}", _FLOATS, "f16", {"version": (4, 2), "sm": 53}), ("", _FLOATS, "bf16", {"version": (7, 8), "sm": 90}),
    ("{.ftz}", _FLOATS, "f16x2", {"version": (4, 2), "sm": 53}), ("", _FLOATS, "bf16x2", {"version": (7, 8), "sm": 90}),
)  # fmt: skip
_choice: Any
for _bool, _operand, _says in (("", "", _SETP), (".bool", ", {!}c:pred", _SETP + _COMBINED)):
    for _ftz, _cmp, _types, _more in _SETP_KINDS:
        _word, _choice = (_types, {}) if isinstance(_types, str) else ("type", {"type": _types})
        _sem = _setp_pair if _word.endswith("x2") else _setp_one if _word in HALVES else _setp
        op(f"setp.cmp{_bool}{_ftz}.{_word}  p:pred{'' if _sem is _setp_one else '|q'}, a, b{_operand}",
           _PAIR if _sem is _setp_pair else _says, _sem, cmp=_cmp, **_COMBINES, **_choice, **_more)  # fmt: skip


def _set(m: Machine, i: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    t = _combine(m, i, _truth(m, i, i.atype, a, b), c)
    if i.dtype == "f32":
        return m.select(t, m.const("f32", 1.0), m.const("f32", 0.0))
    if i.dtype in HALVES:
        return m.select(t, m.const("i16", 0x3C00 if i.dtype == "f16" else 0x3F80), m.const("i16", 0))
    return m.sext(types.lane(i.dtype), t)


def _set_pair(m: Machine, i: Form, a: Value, b: Value, c: Value | None = None) -> Value:
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(i.dtype, 0xFFFF)
    truths = (_combine(m, i, t, c) for t in _halves_truth(m, i, element(i.atype), a, b))
    low, high = (m.select(t, m.const("i16", one), m.const("i16", 0)) for t in truths)
    return join(m, low, high)


def _halves_truth(m: Machine, i: Form, type: str, a: Value, b: Value) -> tuple[Value, Value]:
    (a_low, a_high), (b_low, b_high) = split(m, a), split(m, b)
    return _truth(m, i, type, a_low, b_low), _truth(m, i, type, a_high, b_high)


_SET = """Compares two numbers and writes the answer into a register: all ones or 0 for integer results, 1.0 or 0.0 for
   floating-point ones."""
_RESULTS = ("u32", "s32", "f32", "f16")
_HALF_NEEDS = dict.fromkeys(("u16", "s16", "u32", "s32"), ((6, 5), 53))
_HALF: Any = {"version": (4, 2), "sm": 53, "needs": _HALF_NEEDS}
_SET_KINDS: _Kinds = (
    ("", ORDERED, INTEGER_TYPES, {}), ("", UNSIGNED, UNSIGNED_TYPES, {}), ("", ("eq", "ne"), BIT_TYPES, {}),
    ("{.ftz}", _FLOATS, "f32", {}), ("", _FLOATS, "f64", {}),
    ("{.ftz}", _FLOATS, "f16", {"dtype": ("f16", "u16", "s16", "u32", "s32")} | _HALF),
    ("", _FLOATS, "bf16", {"dtype": ("bf16", "u16", "s16", "u32", "s32"), "version": (7, 8), "sm": 90}),
    ("{.ftz}", _FLOATS, "f16x2", {"dtype": ("f16x2", "u32", "s32")} | _HALF),
    ("", _FLOATS, "bf16x2", {"dtype": ("bf16x2", "u32", "s32"), "version": (7, 8), "sm": 90}),
)  # fmt: skip
for _bool, _operand in (("", ""), (".bool", ", {!}c:pred")):
    for _ftz, _cmp, _types, _more in _SET_KINDS:
        _pair = _types in ("f16x2", "bf16x2")
        op(f"set.cmp{_bool}{_ftz}.dtype.atype  d:dtype, a:atype, b:atype{_operand}",
           _SET + (" Both 16-bit halves at once." if _pair else ""), _set_pair if _pair else _set, cmp=_cmp,
           atype=(_types,) if isinstance(_types, str) else _types,
           **_COMBINES | {"dtype": _RESULTS} | _more)  # fmt: skip

ANY_TYPES = BIT_TYPES + INTEGER_TYPES + ("f32", "f64")

op("selp.type  d, a, b, c:pred", """Selects a where the predicate c holds, else b: a branch without branching. Masked
   scores become -inf with it.""", lambda m, i, a, b, c: m.select(c, a, b), type=ANY_TYPES)  # fmt: skip


def _slct(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    if i.ctype == "s32":
        return m.select(m.slt(c, m.const("i32", 0)), b, a)
    c = flush(m, "f32", c) if i.ftz else c
    return m.select(m.fle(m.const("f32", 0.0), c), a, b)


op("slct.type.s32  d, a, b, c:s32", """Selects a where c >= 0, else b.""", _slct, type=ANY_TYPES,
   fixed={"ctype": "s32"})  # fmt: skip
op("slct{.ftz}.type.f32  d, a, b, c:f32", """Selects a where c >= 0, else b; NaN counts as negative, -0 does not.""",
   _slct, type=ANY_TYPES, fixed={"ctype": "f32"})  # fmt: skip

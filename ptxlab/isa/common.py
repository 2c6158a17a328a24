"""Small pieces of semantics that several table modules share: packed halves, sign-aware widening, clamped shifts.

Everything here is written in Machine operations, so both engines run it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptxlab.isa import types
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.table import Form

Sem = Callable[..., Any]

INTEGERS = ("u16", "u32", "u64", "s16", "s32", "s64")
WIDE_INTEGERS = ("u32", "u64", "s32", "s64")
PAIRS = ("u16x2", "s16x2")
HALVES = ("f16", "bf16")
ROUNDING = ("rn", "rz", "rm", "rp")

WHOLE: dict[str, Any] = {"type": "b64", "vec": "v2"}
"""Attributes of forms on 128-bit registers, which the emulator has as vectors of two."""


def element(type: str) -> str:
    """The type of one element of a packed type: `s16x2` -> `s16`; any other type is itself."""
    return type.removesuffix("x2").removesuffix("x4")


def split(m: Machine, a: Value) -> tuple[Value, Value]:
    """The low and the high i16 of an i32."""
    return m.trunc("i16", a), m.trunc("i16", m.lshr(a, m.const("i32", 16)))


def join(m: Machine, low: Value, high: Value) -> Value:
    """An i32 from its low and its high i16."""
    return m.or_(m.zext("i32", low), m.shl(m.zext("i32", high), m.const("i32", 16)))


def halves(m: Machine, one: Callable[..., Value], *packed: Value) -> Value:
    """Applies a computation on i16 to both halves of i32 operands."""
    parts = [split(m, a) for a in packed]
    return join(m, one(*(low for low, _ in parts)), one(*(high for _, high in parts)))


def extend(m: Machine, type: str, source: str, a: Value) -> Value:
    """An integer of PTX type `source`, sign- or zero-extended (as it is signed or not) to the lane type `type`."""
    return m.sext(type, a) if types.is_signed(source) else m.zext(type, a)


def shift_left(m: Machine, lane: str, a: Value, count: Value) -> Value:
    """a << count (i32, unsigned); 0 where count is the width or more."""
    bits = int(lane[1:])
    inside = m.ult(count, m.const("i32", bits))
    shifted = m.shl(a, resize(m, lane, m.and_(count, m.const("i32", bits - 1))))
    return m.select(inside, shifted, m.const(lane, 0))


def shift_right(m: Machine, lane: str, a: Value, count: Value, signed: bool = False) -> Value:
    """a >> count (i32, unsigned); where count is the width or more 0, or the sign in every bit if `signed`."""
    bits = int(lane[1:])
    if signed:
        return m.ashr(a, resize(m, lane, m.umin(count, m.const("i32", bits - 1))))
    inside = m.ult(count, m.const("i32", bits))
    shifted = m.lshr(a, resize(m, lane, m.and_(count, m.const("i32", bits - 1))))
    return m.select(inside, shifted, m.const(lane, 0))


def resize(m: Machine, lane: str, a: Value) -> Value:
    """An i32 as another integer lane type, zeros above."""
    if lane == "i32":
        return a
    return m.zext(lane, a) if lane == "i64" else m.trunc(lane, a)


def to_u32(m: Machine, type: str, a: Value) -> Value:
    """An integer of a PTX type as i32: the low bits of a 64-bit one."""
    return m.trunc("i32", a) if types.width(type) == 64 else m.zext("i32", a)


def lane_of(i: Form) -> str:
    """The lane type of the form's `type`."""
    return types.lane(i.type)

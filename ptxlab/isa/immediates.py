"""The numbers that an instruction takes as an operand, where NVIDIA's assembler does not take all of its type."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from ptxlab.isa.actions import MBARRIER, Action
from ptxlab.isa.table import Form


class Numbers(NamedTuple):
    """Some integers, and how a message calls them."""

    those: Container[int]
    says: str


def _range(first: int, last: int, step: int = 1) -> Numbers:
    says = f"{first} to {last}" if step == 1 else f"{first} to {last} in steps of {step}"
    return Numbers(range(first, last + 1, step), says)


def _some(*those: int) -> Numbers:
    return Numbers(those, " or ".join(map(str, those)))


_MOST = 1 << 64
_SIXTEENS = Numbers(range(0, _MOST, 16), "a multiple of 16")
_THREADS = Numbers(range(0, _MOST, 32), "a multiple of 32, the threads of a warp")
_POSITIVE = Numbers(range(1, _MOST), "more than 0")
_FIELDS = {
    "elemtype": _range(0, 15),
    "interleave_layout": _range(0, 2),
    "swizzle_mode": _range(0, 4),
    "fill_mode": _range(0, 1),
}


def numbers(form: Form, operand: str) -> Numbers | None:
    """The integers that may be an operand, by its name in the table; None where all of its type may."""
    name, does = form.op.name, form.op.does
    if does is Action.BARRIER:
        return {"a": _range(0, 15), "b": _THREADS}.get(operand)
    if does is Action.MATRIX_PRODUCT:
        return _lanes(form) if operand == "f" else None
    if does is Action.WARPGROUP_PRODUCT:
        return _of_warpgroups(form, operand)
    if does in MBARRIER:
        return _of_mbarriers(form, operand)
    if does is Action.REPLACE_FIELD:
        return _range(0, 4) if operand == "ord" else _FIELDS.get(str(form.field))
    if operand == "mask":
        return _range(0, 0xFFFF)
    if operand == "size":
        return _size(form)
    if operand == "initval":
        return Numbers((0,), "0, since it stores zeros,")
    if does is Action.WARPGROUP_WAIT:
        return Numbers(range(_MOST), "0 or more")
    if name in ("bfe", "bfi") and operand in {"bfe": "bc", "bfi": "ce"}[name]:
        return _range(0, 255)
    if name == "pmevent" and not form.mask:
        return _range(0, 15)
    return Numbers(range(24, 257, 8), "24 to 256 in steps of 8") if name == "setmaxnreg" else None


def _size(form: Form) -> Numbers | None:
    """The bytes of a copy, or of what a hint is about."""
    if form.op.does is Action.COPY and not form.dst:
        return _some(16) if form.cg else _some(4, 8, 16)
    if form.dst and form.op.does is not Action.COPY_MAP:
        return _SIXTEENS
    if form.op.does is Action.PREFETCH:
        return _SIXTEENS
    if form.op.does is Action.FILL:
        return Numbers(range(0, _MOST, 8), "a multiple of 8")
    return Numbers((128,), "128, the bytes of a tensor map,") if form.op.does is Action.COPY_MAP else _some(128)


def _lanes(form: Form) -> Numbers:
    """Which lanes hold the metadata of a sparse product: all four of a group, two of them, or one."""
    depth = int(str(form.shape).partition("k")[2])
    wide = {"f16": 32, "bf16": 32, "tf32": 16, "u8": 64, "s8": 64, "u4": 128, "s4": 128, "e4m3": 64, "e5m2": 64}
    if form.atype in ("u8", "s8", "u4", "s4", "e4m3", "e5m2") and depth == wide[form.atype]:
        return _some(0)
    return _range(0, 1) if depth == wide[form.atype] or form.atype in ("u8", "s8", "u4", "s4") else _range(0, 3)


def _of_warpgroups(form: Form, operand: str) -> Numbers | None:
    if operand in ("imm_scale_a", "imm_scale_b"):
        return _some(-1, 1)
    if operand in ("imm_trans_a", "imm_trans_b", "scale_d"):
        return _some(0, 1)
    if operand == "f":
        return _some(0, 1) if form.atype in ("f16", "bf16", "tf32") else _some(0)
    return None


def _of_mbarriers(form: Form, operand: str) -> Numbers | None:
    if operand == "parity":
        return _some(0, 1)
    return _POSITIVE if form.op.does is Action.MBARRIER_ARRIVE and operand == "count" and form.noComplete else None

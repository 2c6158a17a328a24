"""The LLVM functions that checked code calls: `races.ll` and `checking.ll`, their repeated parts written out."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import shadows
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import races


def check_helpers(program: Program, checks: frozenset[str]) -> str:
    """The LLVM functions that checked code calls."""
    grain = races.granule(program)
    swaps = races.compares(program)
    compares = ", ".join(f"i8 {int(code.index in swaps)}" for code in program.codes)
    names = (
        "PENDING",
        "UNINITIALISED",
        "RAW",
        "WAR",
        "WAW",
        "SAME",
        "DIVERGENT",
        "EXITED",
        "COUNTS",
        "OMITTED",
        "GONE_LANE",
    )
    values: dict[str, object] = dict(shadows.CONSTANTS) | {name: getattr(F, name) for name in names}
    values |= {
        "SHARED_START": program.shared_start, "ONE_TICK": 1 << races.TIME, "LOG_GRANULE": grain.bit_length() - 1,
        "GRANULE": grain, "GRANULE_BITS": 8 * grain,
        "SYNCHECK": "true" if "synccheck" in checks else "false",
        "INITCHECK": "true" if "initcheck" in checks else "false",
        "RISING16": _vector("i64", range(16)), "FALLING": _vector("i32", range(W - 1, -1, -1)),
        "FALLING64": _vector("i64", range(W - 1, -1, -1)),
        "BITS": _vector("i32", (1 << k for k in range(W))), "FINE16": _fine("wr", 16), "FINE16_Q": _fine("q", 16),
        "FINE16_S": _fine("s", 16),
        "FINE32": _fine("wrq", W),
    }  # fmt: skip
    for width, splats in ((16, _SPLATS_16), (W, _SPLATS_32)):
        for name, kind in splats:
            values[f"SPLAT{width}_{name}v_{kind}_{name}"] = _splat(width, name, kind)
    heads = [
        "@race.zeros = internal constant [16 x i64] zeroinitializer, align 64",
        f"@compares = internal constant [{len(program.codes)} x i8] [{compares}]",
    ]
    values["RANGE"] = fill("range.ll", **values)
    return "\n".join([*heads, fill("races.ll", **values), fill("checking.ll", **values)])


_SPLATS_16 = (("low", "i64"), ("span", "i64"), ("me", "i64"), ("shift", "i64"), ("simple", "i1"), ("write", "i1"),
             ("left", "i64"), ("i", "i64"))  # fmt: skip
_SPLATS_32 = (("low", "i64"), ("span", "i64"), ("me", "i64"), ("at", "i64"), ("simple", "i1"), ("code", "i64"),
              ("k", "i64"))  # fmt: skip


def _vector(kind: str, numbers: Any) -> str:
    return "<" + ", ".join(f"{kind} {n}" for n in numbers) + ">"


def _splat(width: int, name: str, kind: str) -> str:
    """`%<name>v`: a vector of `%<name>`."""
    vec = f"<{width} x {kind}>"
    return (
        f"%{name}v0 = insertelement {vec} poison, {kind} %{name}, i64 0\n"
        f"  %{name}v = shufflevector {vec} %{name}v0, {vec} poison, <{width} x i32> zeroinitializer"
    )


def _fine(records: str, width: int) -> str:
    """`%w.f` of `%w` and so on: which records a barrier of all has ordered, or are empty, or are the lane's own."""
    vec, out = f"<{width} x i64>", []
    own = (0xFFFF << races.BLOCK | 0x7FF) - (1 << 64)
    for x in records:
        out += [
            f"%{x}.since = sub {vec} %{x}, %lowv", f"%{x}.old = icmp ult {vec} %{x}.since, %spanv",
            f"%{x}.none = icmp eq {vec} %{x}, zeroinitializer", f"%{x}.diff = xor {vec} %{x}, %me{width}",
            f"%{x}.id = and {vec} %{x}.diff, splat (i64 {own})",
            f"%{x}.own = icmp eq {vec} %{x}.id, zeroinitializer",
            f"%{x}.f0 = or <{width} x i1> %{x}.old, %{x}.none", f"%{x}.f = or <{width} x i1> %{x}.f0, %{x}.own",
        ]  # fmt: skip
    return "\n".join(f"  {line}" for line in out)

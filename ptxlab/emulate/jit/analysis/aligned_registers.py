"""Which uniform registers are always multiples of a power of two: `ctaid << 8` has eight low bits that are 0.

`or` of such a number and a smaller one is their sum, so that `(ctaid << 8) | (tid & 127)` is affine.
All writers of a register count, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ptxlab.emulate.jit.affine.forms import ALL, low_zeros
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.model import Code, Literal, Reg
from ptxlab.emulate.program.program import Program

COUNTS = range(64)
"""By what is shifted."""


@dataclass(frozen=True)
class Multiple:
    """What is known of a number: how many low bits are 0, and which of `COUNTS` it is, if that is known."""

    zeros: int = 0
    count: int | None = None


ANY = Multiple()


def known(number: int) -> Multiple:
    """All that is known of this number."""
    return Multiple(low_zeros(number), number if number in COUNTS else None)


class Multiples:
    """The machine that tells of a result how many low bits are 0 (see `ptxlab.isa.machine`, whose operations it has).
    What is not below tells nothing."""

    def const(self, type: str, value: int | float) -> Multiple:
        return known(value) if isinstance(value, int) else ANY

    def _least(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(a.zeros, b.zeros))

    add = sub = or_ = xor = _least

    def select(self, condition: Multiple, a: Multiple, b: Multiple) -> Multiple:
        return self._least(a, b)

    def and_(self, a: Multiple, b: Multiple) -> Multiple:
        if a.count is not None and b.count is not None:
            return known(a.count & b.count)
        return Multiple(max(a.zeros, b.zeros))

    def mul(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(ALL, a.zeros + b.zeros))

    def shl(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(ALL, a.zeros + (b.count or 0)))

    def zext(self, type: str, a: Multiple) -> Multiple:
        return a

    sext = trunc = zext

    def __getattr__(self, name: str) -> Callable[..., Multiple]:
        return lambda *values: ANY


def aligned_registers(program: Program, uniform: list[bool], least: dict[int, int] | None = None) -> dict[int, int]:
    """How many low bits are 0 in all that is ever written to a uniform register, for those of which there are some.
    least: how many are known to be, of registers of which that is known."""
    least = least or {}
    found = {r.index: ALL for r in program.registers if uniform[r.index] and r.lane in ("i32", "i64")}
    results: dict[Any, int] = {}

    def of(source: Any) -> Multiple | None:
        if isinstance(source, Literal) and isinstance(source.value, int):
            return known(source.value)
        return None if source is None else Multiple(found.get(source.index, 0)) if isinstance(source, Reg) else ANY

    def result(code: Code) -> int:
        """The low bits that are 0 in what is written, as far as they are known of what is read."""
        plain = len(code.dests) == 1 and isinstance(code.dests[0], Reg) and code.copy is None
        if not plain or code.form.op.kind != "pure" or code.form.op.sem is None:
            return 0
        sources = zip(code.sources, code.source_types, strict=True)
        key = (code.form, *(s.value if t == "int" and isinstance(s, Literal) else of(s) for s, t in sources))
        if key not in results:
            written = code.form.op.sem(Multiples(), *key)
            results[key] = written.zeros if isinstance(written, Multiple) else 0
        return results[key]

    rest, changed = list(program.codes), True
    while changed:
        changed = False
        rest = [code for code in rest if any(found.get(r, 0) for r in writes(code))]
        for code in rest:
            zeros = result(code)
            for r in writes(code):
                if max(zeros, least.get(r, 0)) < found.get(r, 0):
                    found[r], changed = max(zeros, least.get(r, 0)), True
    return {r: zeros for r, zeros in found.items() if zeros}

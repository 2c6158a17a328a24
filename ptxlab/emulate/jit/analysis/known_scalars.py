"""Which uniform registers are always multiples of a power of two, or below a bound: `ctaid << 8` has eight low bits
that are 0, and `ctaid * ntid` does not wrap around.

`or` of such a number and a smaller one is their sum, so that `(ctaid << 8) | (tid & 127)` is affine. All writers of a
register count, wherever they stand; bounds are known of registers with one writer, which no loop adds to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.forms import ALL, MOST, Known, low_zeros, no_more
from ptxlab.emulate.jit.affine.forms import ANY as NOTHING
from ptxlab.emulate.program.flat_program import Code, Literal, Reg, Special
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.program import Program

COUNTS = range(64)
"""By what is shifted."""


@dataclass(frozen=True)
class Multiple:
    """What is known of a number: how many low bits are 0, which of `COUNTS` it is, if that is known, and a bound below
    2^31, which numbers of 32 bits and of 64 have: none is larger."""

    zeros: int = 0
    count: int | None = None
    most: int = MOST


ANY = Multiple()


def known(number: int) -> Multiple:
    """All that is known of this number."""
    return Multiple(low_zeros(number), number if number in COUNTS else None, _bound(number) if number >= 0 else MOST)


def _bound(most: int) -> int:
    """A bound of what is no larger than `most`, if it does not wrap around."""
    return no_more("i32", most) if most < 1 << 31 else MOST


class Multiples:
    """The machine that tells of a result how many low bits are 0 (see `ptxlab.isa.machine`, whose operations it has).
    What is not below tells nothing."""

    def const(self, type: str, value: int | float) -> Multiple:
        return known(value) if isinstance(value, int) else ANY

    def add(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(a.zeros, b.zeros), most=_bound(a.most + b.most))

    or_ = xor = add

    def sub(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(a.zeros, b.zeros))

    def select(self, condition: Multiple, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(a.zeros, b.zeros), most=max(a.most, b.most))

    def and_(self, a: Multiple, b: Multiple) -> Multiple:
        if a.count is not None and b.count is not None:
            return known(a.count & b.count)
        return Multiple(max(a.zeros, b.zeros), most=min(a.most, b.most))

    def mul(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(ALL, a.zeros + b.zeros), most=_bound(a.most * b.most))

    def shl(self, a: Multiple, b: Multiple) -> Multiple:
        return Multiple(min(ALL, a.zeros + (b.count or 0)), most=MOST if b.count is None else _bound(a.most << b.count))

    def zext(self, type: str, a: Multiple) -> Multiple:
        return a

    def sext(self, type: str, a: Multiple) -> Multiple:
        return Multiple(a.zeros)  # of how many bits is not known

    def trunc(self, type: str, a: Multiple) -> Multiple:
        return a if type == "i32" else Multiple(a.zeros)

    def __getattr__(self, name: str) -> Callable[..., Multiple]:
        return lambda *values: ANY


def known_scalars(
    program: Program, rows: Rows, uniform: list[bool], given: dict[int, Known] | None = None
) -> dict[int, Known]:
    """For each uniform register of which something is known: what holds for all values that are written to it. given:
        what is
    known of registers anyway."""
    given = given or {}
    found = {r.index: ALL for r in program.registers if uniform[r.index] and r.lane in ("i32", "i64")}
    writers = Counter(r for code in program.codes for r in writes(code))
    most = {r: given.get(r, NOTHING).most for r in found}
    results: dict[Any, Multiple] = {}

    def of(source: Any) -> Multiple | None:
        if isinstance(source, Literal) and isinstance(source.value, int):
            return known(source.value)
        if isinstance(source, Special):
            scalar = rows.known(source.name)
            return Multiple(scalar.zeros, most=scalar.most)
        if isinstance(source, Reg):
            return Multiple(found.get(source.index, 0), most=most.get(source.index, MOST))
        return None if source is None else ANY

    def result(code: Code) -> Multiple:
        """What is known of what is written, as far as it is of what is read."""
        plain = len(code.dests) == 1 and isinstance(code.dests[0], Reg) and code.copy is None
        if not plain or code.form.op.kind != "pure" or code.form.op.sem is None:
            return ANY
        sources = zip(code.sources, code.source_types, strict=True)
        key = (code.form, *(s.value if t == "int" and isinstance(s, Literal) else of(s) for s, t in sources))
        if key not in results:
            written = code.form.op.sem(Multiples(), *key)
            results[key] = written if isinstance(written, Multiple) else ANY
        return results[key]

    rest, changed = list(program.codes), True
    while changed:
        changed = False
        rest = [code for code in rest if any(r in found for r in writes(code))]
        for code in rest:
            written = result(code)
            for r in writes(code):
                zeros = max(written.zeros, given.get(r, NOTHING).zeros)
                if zeros < found.get(r, 0):
                    found[r], changed = zeros, True
                if writers[r] == 1 and written.most < most.get(r, 0):
                    most[r], changed = written.most, True
    return {r: Known(zeros, most[r]) for r, zeros in found.items() if zeros or most[r] < MOST}

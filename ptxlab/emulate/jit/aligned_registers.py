"""Which uniform registers are always multiples of a power of two: `ctaid << 8` has eight low bits that are 0.

`or` of such a number and a smaller one is their sum, so that `(ctaid << 8) | (tid & 127)` is affine (see `affine`).
All writers of a register count, wherever they stand; what is not in the table of operations tells nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.model import Code, Literal, Program, Reg, Source

ALL = 64
"""Of a number that is 0."""


def low_zeros(number: int) -> int:
    """How many of the low bits are 0, of a number of at most 64 bits."""
    return (number & -number).bit_length() - 1 if number % (1 << ALL) else ALL


def _opcodes(*names: str) -> list[str]:
    return [name + size for name in names for size in ("32", "64")]


_OPERATIONS: dict[str, Callable[..., int]] = {
    **dict.fromkeys(_opcodes("mov.b", "mov.u", "mov.s"), lambda a: a),
    **dict.fromkeys(_opcodes("add.u", "add.s", "sub.u", "sub.s", "or.b", "xor.b"), min),
    **dict.fromkeys(_opcodes("and.b"), max),
    **dict.fromkeys(_opcodes("mul.lo.u", "mul.lo.s"), lambda a, b: a + b),
}
"""The low bits that are 0 in a result, by those of the operands."""


def aligned_registers(program: Program, uniform: list[bool]) -> dict[int, int]:
    """How many low bits are 0 in all that is ever written to a uniform register, for those of which there are some."""
    found = {r.index: ALL for r in program.registers if uniform[r.index] and r.lane in ("i32", "i64")}

    def of(source: Source | None) -> int:
        if isinstance(source, Reg):
            return found.get(source.index, 0)
        return low_zeros(source.value) if isinstance(source, Literal) and isinstance(source.value, int) else 0

    def result(code: Code) -> int:
        first, *others = code.sources
        operation = _OPERATIONS.get(code.form.opcode)
        if operation is not None:
            return operation(*map(of, code.sources))
        if code.form.opcode in ("shl.b32", "shl.b64") and isinstance(others[0], Literal):
            return of(first) + max(0, int(others[0].value))
        return 0

    rest, changed = list(program.codes), True
    while changed:
        changed = False
        rest = [code for code in rest if any(found.get(r, 0) for r in writes(code))]
        for code in rest:
            plain = len(code.dests) == 1 and isinstance(code.dests[0], Reg) and code.copy is None
            zeros = min(ALL, result(code)) if plain and code.sources else 0
            for r in writes(code):
                if zeros < found.get(r, 0):
                    found[r], changed = zeros, True
    return {r: zeros for r, zeros in found.items() if zeros}

"""Uniformity analysis: which registers hold the same value in all lanes.

It runs the semantics on a `Machine` whose values are "is it the same in all lanes". The result is used only while the
warp is converged. A diverged warp runs code without this assumption, and the registers that must be uniform are
compared lane by lane before it returns to the function for converged warps.
"""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.analysis.divergence import in_loops, written_while_diverged
from ptxlab.emulate.jit.emitter.access_groups import judged_anew
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.program.flat_program import Code, Group, Inverted, Literal, Mem, Reg, Source, Special
from ptxlab.emulate.program.liveness import registers_of, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action
from ptxlab.isa.special_registers import SPECIAL


class Uniform:
    """A Machine whose values say whether a value is uniform in a converged warp, for blocks with such rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._all

    @staticmethod
    def _all(*arguments: Any) -> bool:
        return all(a for a in arguments if isinstance(a, bool))

    def const(self, type: str, value: object) -> bool:
        return True

    def lane_id(self) -> bool:
        return False

    def active(self) -> bool:
        return False

    def special(self, name: str) -> bool:
        base, _, axis = name.partition(".")
        return not SPECIAL[name].varies or (base == "%tid" and self.rows.steps(axis or "x") == [0] * W)

    def ballot(self, a: bool) -> bool:
        return True

    def lane_read(self, a: bool, index: bool) -> bool:
        return a or index

    def carry_get(self) -> bool:
        return False

    def carry_set(self, carry: bool) -> None:
        return None

    def load(self, i: Any, address: bool) -> Any:
        count = int(i.vec[1:]) if i.vec else 1
        # A generic address may point into local memory, where every lane has other bytes.
        same = address and str(i.space).partition("::")[0] in ("global", "shared", "const", "param")
        return same if count == 1 else (same,) * count

    def store(self, i: Any, address: bool, value: Any) -> None:
        return None

    def atom(self, i: Any, address: bool, *values: Any) -> bool:
        return False


def uniform_registers(
    program: Program, rows: Rows, alive: list[int], certain: frozenset[int] = frozenset()
) -> list[bool]:
    """For each register whether every write to it gives all lanes of a converged warp the same value. rows: how threads
    lie in a block; alive: the registers that may be read after the start of each block; certain: registers of which
    that is known.

    `words` of `if (c != ' ' && !inside) words++` is not, in a loop: where lanes reconverge it is no longer the same in
    all of them, and the warp would stay diverged in all turns that follow. Elsewhere such registers are left as they
    are. Lanes rarely disagree in fact at most branches of which it is not known that they cannot; and of a loop that
    lanes leave one by one, the way to the exit is short.
    """
    machine = Uniform(rows)
    uniform = [True] * len(program.registers)

    def value(source: Source | None, type_: str) -> Any:
        if isinstance(source, Reg):
            return uniform[source.index]
        if isinstance(source, Inverted):
            return uniform[source.operand.index]
        if isinstance(source, Mem):
            return value(source.base, "")
        if isinstance(source, Group):
            return tuple(value(e, type_) for e in source.elements)
        if source is None:
            return None
        if type_ == "int":
            assert isinstance(source, Literal)
            return source.value
        return machine.special(source.name) if isinstance(source, Special) else True

    def lower_all(dest: Source | None, result: Any, guard: bool) -> bool:
        changed = False
        if isinstance(dest, Group):
            results = result if isinstance(result, tuple) else (result,) * len(dest.elements)
            for element, r in zip(dest.elements, results, strict=False):
                changed |= lower_all(element, r, guard)
        elif isinstance(dest, Reg) and uniform[dest.index] and not (result is True and guard):
            changed |= lower(dest.index)
        return changed

    def lower(r: int) -> bool:
        uniform[r] = r in certain
        return not uniform[r]

    known: dict[tuple[Any, ...], Any] = {}  # results by form and sources: thousands of instructions, few of these

    def result(code: Code) -> tuple[Any, ...]:
        different = (False,) * len(code.dests)
        if code.form.op.sem is None:  # matrix instructions: every lane gets another part
            return different
        indirect = code.space == "param" and any(registers_of(s) for s in code.sources)
        if code.space in ("local", "frame") or indirect or judged_anew(program, code):
            return different
        sources = tuple(value(s, t) for s, t in zip(code.sources, code.source_types, strict=True))
        if (code.form, sources) not in known:
            known[code.form, sources] = code.form.op.sem(machine, code.form, *sources)
        found = known[code.form, sources]
        return (found,) if len(code.dests) == 1 else found

    rest, changed = [(code, writes(code)) for code in program.codes], True
    while changed:
        changed = False
        rest = [(code, written) for code, written in rest if any(uniform[r] for r in written)]
        for code, _ in rest:
            guard = code.guard is None or uniform[code.guard[0]]
            if code.action is Action.CALL:
                changed |= lower_all(Reg(code.register), True, guard)
            if not code.dests or code.form.op.kind == "flow":
                continue
            for dest, r in zip(code.dests, result(code), strict=False):
                changed |= lower_all(dest, r, guard)
        if not changed:
            diverged = [r for r in written_while_diverged(program, in_loops(program, uniform), alive) if uniform[r]]
            for r in diverged:
                changed |= lower(r)
    return uniform

"""The registers that are affine: found by running the emitter's semantics on forms, to a fixed point.

A register is affine if all instructions that write it give lanes of the same `Form`. That is assumed of every register
to begin with, and given up where two writers disagree, so that `i` in `i = tid; ...; i += 256` stays affine: what the
addition gives has the form of what it is given. Flow does not matter, only all writers of a register together.

Each instruction is emitted into a text that is thrown away, with sources of their forms. So nothing is said twice: what
`AffineOps` keeps affine here it keeps affine there. `Analyses` has what is found of a program, for all its functions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.forms import Form, low_zeros
from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.analysis.divergence import regions, written_while_diverged
from ptxlab.emulate.jit.analysis.uniformity import uniform_registers
from ptxlab.emulate.jit.emitter.function import Function, RegisterFacts
from ptxlab.emulate.jit.emitter.lane_operations import LaneOps
from ptxlab.emulate.jit.emitter.registers import Registers
from ptxlab.emulate.jit.emitter.semantics import Operands, Semantics
from ptxlab.emulate.jit.llvm.values import BITS, Value
from ptxlab.emulate.program.flat_program import Code, Literal, Reg, Source
from ptxlab.emulate.program.liveness import live_in, registers_of, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action


class Sketch(Registers):
    """Registers that are read as values of their forms, and the forms of what is written to them."""

    def __init__(self, program: Program, rows: Rows) -> None:
        nothing = [False] * len(program.registers)
        facts = RegisterFacts(nothing, {}, [])
        f = Function(program, rows, facts, diverged=False, small=False, features="")
        super().__init__(f, LaneOps(f))
        self.semantics = Semantics(f, self.m, Operands(f, self.m, self))
        self.forms: dict[int, Form] = {}
        self.written: dict[int, Form | None] = {}

    def run(self, code: Code, forms: dict[int, Form]) -> dict[int, Form | None]:
        """What an instruction writes, given the forms of the affine registers; all others that it reads are uniform."""
        self.f.code, self.forms, self.written = code, forms, {}
        self.semantics.emit(code)
        self.t.lines.clear()
        self.m.forget_splats()
        return self.written

    def read(self, r: int) -> Value:
        lane, form = self.program.registers[r].lane, self.forms.get(r)
        if form is not None and form.known:
            return self.m.numbers(lane, form.steps)
        scalar = Value(f"%any{r}", lane, True)
        if form is None or form.level:
            return scalar
        inner = Value("%any", "i32", True) if form.extension else None
        return Affine(self.m, form, scalar, inner, Value("%any", form.stride_type, True) if form.times else None)

    def write(self, r: int, value: Value) -> None:
        found = self.m.as_affine(value)
        self.written[r] = None if found is None else found.form


def affine_registers(program: Program, rows: Rows, uniform: list[bool], alive: list[int]) -> dict[int, Form]:
    """The forms of the affine registers. rows: how threads lie in a block; uniform: the registers that are the same in
    all lanes anyway; alive: those that may be read after the start of each block."""
    candidates = {
        r
        for r, register in enumerate(program.registers)
        if register.lane in ("i32", "i64") and not uniform[r] and not alive[program.entry] >> r & 1
    }
    candidates -= written_while_diverged(program, regions(program, uniform), alive)
    search = Search(program, Sketch(program, rows), uniform)
    found = None
    while found is None:
        found = search.run(set(candidates))
    return dict(sorted(found.items()))


def still_level(
    program: Program, rows: Rows, uniform: list[bool], affine: dict[int, Form], registers: Iterable[int]
) -> bool:
    """Whether all that writes these registers, which are thought to be uniform, gives all lanes the same value."""
    search = Search(program, Sketch(program, rows), uniform)
    search.candidates, search.forms = set(affine), affine
    wanted = set(registers)
    for code in program.codes:
        of = wanted.intersection(writes(code))
        written = search.written(code) or {} if of else {}
        forms = [written.get(r) for r in of]
        if not all(form is not None and form.level for form in forms):
            return False
    return True


class Search:
    """The search for forms. unknown: registers whose base is not always 0, though it was thought to be: what followed
    from that is looked for anew."""

    def __init__(self, program: Program, sketch: Sketch, uniform: list[bool]) -> None:
        self.program, self.sketch, self.uniform = program, sketch, uniform
        self.known: dict[Any, dict[int, Form | None]] = {}
        self.unknown: set[int] = set()
        self.candidates: set[int] = set()
        self.forms: dict[int, Form] = {}

    def run(self, candidates: set[int]) -> dict[int, Form] | None:
        """The forms; None where another register is unknown than was thought."""
        self.candidates, self.forms = candidates, {}
        rest, changed = list(self.program.codes), True
        while changed:
            changed = False
            rest = [code for code in rest if any(r in candidates for r in writes(code))]
            for code in rest:
                for r, form in (self.written(code) or {}).items():
                    if r in candidates:
                        changed |= self._noted(r, form)
                        if r in self.forms and self.forms[r].known and r in self.unknown:
                            return None
        return self.forms

    def _noted(self, r: int, form: Form | None) -> bool:
        """A register is written: whether that changes what is known of it."""
        if form is not None and r in self.unknown:
            form = replace(form, zeros=min(form.zeros, BITS[form.type] - 1))
        old = self.forms.get(r)
        if form is None or old not in (None, form):
            self.candidates.discard(r)
            self.forms.pop(r, None)
        elif old is None:
            self.forms[r] = form
        elif form.zeros >= old.zeros and (form.index or not old.index):
            return False
        elif old.known and not form.known:
            self.unknown.add(r)
        else:
            self.forms[r] = form.common(old)
        return True

    def written(self, code: Code) -> dict[int, Form | None] | None:
        """What is written; None as long as something that is read has no form yet."""
        nothing = dict.fromkeys(writes(code))
        guarded = code.guard is not None and not self.uniform[code.guard[0]]
        if guarded or code.form.op.kind != "pure" or code.form.op.sem is None or code.copy is not None:
            return nothing
        read = [r for source in code.sources for r in registers_of(source) if not self.uniform[r]]
        if any(r not in self.candidates for r in read):
            return nothing
        if any(r not in self.forms for r in read):
            return None
        return _remembered(self.sketch, self.known, code, {r: self.forms[r] for r in read})


def _remembered(
    sketch: Sketch, known: dict[Any, dict[int, Form | None]], code: Code, given: dict[int, Form]
) -> dict[int, Form | None]:
    """What an instruction writes: thousands of instructions do the same with the same forms. Of a literal that is added
    only how many of its low bits are 0 matters."""
    dests = [r for dest in code.dests for r in registers_of(dest)]
    kinds = [str(sketch.program.registers[r].lane) for r in dests]
    added = code.action in (Action.ADD, Action.SUBTRACT)
    sources = (
        low_zeros(s.value) if added and isinstance(s, Literal) and isinstance(s.value, int) else _key(s, given, sketch)
        for s in code.sources
    )
    read = [s.index if isinstance(s, Reg) else None for s in code.sources]
    same = tuple(map(read.index, read))  # a register less itself is 0, one less another of its form is not
    key = (code.form, tuple(sources), tuple(kinds), same)
    if key not in known:
        written = sketch.run(code, given)
        known[key] = {k: written[r] for k, r in enumerate(dests) if r in written}
    return {dests[k]: form for k, form in known[key].items()}


def _key(source: Source | None, given: dict[int, Form], sketch: Sketch) -> Any:
    """A source, as far as the form of a result depends on it."""
    if not isinstance(source, Reg):
        return source
    form, lane = given.get(source.index), sketch.program.registers[source.index].lane
    return form, lane, None if form is None else (form.zeros, form.index)


class Analyses:
    """The analyses of a program for blocks whose threads lie in such rows. Their results are not to be changed."""

    def __init__(self, program: Program, rows: Rows) -> None:
        self.program, self.rows = program, rows

    @functools.cached_property
    def alive(self) -> list[int]:
        """The registers that may be read after the start of each block, as bit sets."""
        return live_in(self.program)

    @property
    def uniform(self) -> list[bool]:
        """Whether each register is the same in all lanes of a converged warp."""
        return self._registers[0]

    @property
    def affine(self) -> dict[int, Form]:
        """The forms of registers whose lanes differ by constants."""
        return self._registers[1]

    @functools.cached_property
    def _registers(self) -> tuple[list[bool], dict[int, Form]]:
        """Both. A register that turns out to be affine with steps that are all 0 is uniform, and so is what
        follows from it: `row = tid / 32`, what is loaded at `first[row]`, a loop that ends at `first[row + 1]`."""
        program, rows, alive = self.program, self.rows, self.alive
        uniform = uniform_registers(program, rows, alive)
        affine = affine_registers(program, rows, uniform, alive)
        level = frozenset[int]()
        while found := {r for r, form in affine.items() if form.level}:
            level |= found
            wider = uniform_registers(program, rows, alive, level)
            if sum(wider) == sum(uniform) + len(found):
                break
            wider_affine = affine_registers(program, rows, wider, alive)
            if not still_level(program, rows, wider, wider_affine, level):
                break
            uniform, affine = wider, wider_affine
        return uniform, affine


def analyses(program: Program, rows: Rows) -> Analyses:
    found = program.found.setdefault(rows, Analyses(program, rows))
    assert isinstance(found, Analyses)
    return found

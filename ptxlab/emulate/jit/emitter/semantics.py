"""Instructions that compute: the semantics of the table, run on the machine that compiles them."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, cast

from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.emitter.operands import Operands
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import LLVM, Value
from ptxlab.emulate.jit.llvm.wide_operations import WideOps
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Machine

LONG = frozenset(
    {Action.MINIMUM, Action.MAXIMUM, Action.CONVERT, Action.DIVIDE, Action.EXPONENTIAL, Action.SPECIAL_FUNCTION}
)
"""What may take many instructions of LLVM, and needs its operands only. In tier 0 it is a call of a function:
in `pipelined` maxima, conversions and powers of two made up half of the code, and of the time to build it."""
OFTEN, LARGE = 4, 8
"""It is a call where a program has at least so many of them, each of at least so many instructions of LLVM."""
OUTLINED = 64
"""Powers of two, forty instructions of LLVM each, from which on they are calls in tier 1 too."""


class Semantics:
    """Instructions that only compute, and what else has semantics in the table."""

    def __init__(self, f: Function, m: LaneMachine, operands: Operands) -> None:
        self.f, self.t, self.m, self.operands, self.program = f, f.t, m, operands, f.program
        self.semantics: Machine = m
        self.called: dict[str, str | None] = {}
        """The type that the function of an instruction returns, by its name; None where it has none."""

    def emit(self, code: Code) -> None:
        """An instruction that has semantics."""
        sem, operands = code.form.op.sem, self.operands
        if sem is None:
            raise unsupported(self.program, code)
        sources = [operands.read(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        called = self._called(code, sources) if self._outlined(code) else None
        self.results(code, sem(self.semantics, code.form, *sources) if called is None else called)

    @functools.cached_property
    def _uses(self) -> Counter[str]:
        """How often the program has each instruction that may be a call."""
        return Counter(code.form.opcode for code in self.program.codes if code.action in LONG)

    def _outlined(self, code: Code) -> bool:
        """Whether an instruction is a call, if its function is large enough."""
        if self.f.small:
            return code.action in LONG and self._uses[code.form.opcode] >= OFTEN
        return code.action is Action.EXPONENTIAL and self._uses[code.form.opcode] > OUTLINED

    def _called(self, code: Code, sources: list[Any]) -> Value | None:
        """The result of an instruction by a call of a function that computes it for all lanes; None where it is the
        same in all lanes, or shorter than the call."""
        given = [s for s in sources if s is not None]
        if not all(isinstance(s, Value) for s in given) or all(s.uniform for s in given):
            return None
        name = ".".join(["lanes", code.form.opcode.replace("::", "."), *("" if s is None else s.type for s in sources)])
        if name not in self.called:
            self.called[name] = self._function(name, code, sources)
        returned = self.called[name]
        if returned is None:
            return None
        vectors = (f"<{W} x {LLVM[s.type]}> {self.m.vector(s)}" for s in given)
        return Value(self.t.call_function(f"<{W} x {LLVM[returned]}>", name, *vectors), returned, False)

    def _function(self, name: str, code: Code, sources: list[Any]) -> str | None:
        """Writes such a function and gives the type of what it returns; None where that is not worth it."""
        sem, t = code.form.op.sem, Text()
        operations = WideOps(t)
        operations.features, operations.functions = self.m.features, self.f.helpers
        assert sem is not None, f"{code.form.opcode} has no semantics to call"
        values = [None if s is None else Value(f"%a{k}", s.type, False) for k, s in enumerate(sources)]
        result = sem(cast(Machine, operations), code.form, *values)
        if not isinstance(result, Value) or len(t.lines) < LARGE:
            return None
        listed = ", ".join(f"{v.llvm} {v.text}" for v in values if v is not None)
        t.ret(result.llvm, result.text)
        self.t.declared |= t.declared
        self.f.helpers[name] = t.function(f"{result.llvm} @{name}({listed})", "noinline nounwind")
        return result.type

    def results(self, code: Code, result: Any) -> None:
        """Writes the results of semantics."""
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self.operands.write(dest, type_, r)

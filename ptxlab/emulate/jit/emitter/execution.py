"""Instructions that do not end a block: their semantics, run on the machine that compiles them."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.irtext import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import LLVM, Address, Value
from ptxlab.emulate.jit.translation.rulecode import call
from ptxlab.emulate.program.model import Code, Mem
from ptxlab.emulate.rules.clusters import arrive
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import BODIED, Action
from ptxlab.isa.machine import Machine

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emitter.emit import Emitter


LONG = frozenset(
    {Action.MINIMUM, Action.MAXIMUM, Action.CONVERT, Action.DIVIDE, Action.EXPONENTIAL, Action.SPECIAL_FUNCTION}
)
"""What may take many instructions of LLVM, and needs its operands only. In QUICK code it is a call of a function:
in `pipelined` maxima, conversions and powers of two made up half of the code, and of the time to build it."""
OFTEN, LARGE = 4, 8
"""How many of them, and how many instructions of LLVM each, from which on it is one."""
OUTLINED = 64
"""Powers of two, forty instructions of LLVM each, from which on they are calls in GOOD code too."""


class Execution(Part):
    """Instructions between labels."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.semantics: Machine = e.machine
        self.called: dict[str, str | None] = {}
        """The type that the function of an instruction returns, by its name; None where it has none."""

    def emit(self, code: Code) -> None:
        """An instruction, and what instruments add before and after it."""
        if code.index in self.e.needless:
            if code.properties.stores:  # which faults where the stack has no room
                mem = next(s for s in code.sources if isinstance(s, Mem))
                self.e.memory.local.check(Address(self.e.operands.base(mem), mem.offset))
            return
        tabled = self.e.tabled
        if tabled is not None and tabled.has(code):
            tabled.emit(code)
            return
        after = [then for instrument in self.e.instruments if (then := instrument.before(code))]
        self._emit(code)
        for then in reversed(after):
            then()

    def _emit(self, code: Code) -> None:
        if code.copy is not None:
            self._copy(*code.copy)
            return
        if code.action is Action.TAKE_REDUCED:
            self._reduced(code)
            return
        sem, operands = code.form.op.sem, self.e.operands
        if code.action is Action.CLUSTER_BARRIER:  # its arrival; the wait ends a block
            for instrument in self.e.instruments:
                instrument.cluster_barrier(code)
            self.t.do(call(arrive, "%ws", self.active.bits))
            return
        if code.form.op.kind in ("none", "flow"):  # no effect on results; `bar.warp.sync` of a warp that has converged
            return
        if code.form.op.kind in BODIED and (body := self.e.bodies.of(code)) is not None:
            body.emit(code)
            return
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
        if self.e.small:
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
        listed = ", ".join(f"<{W} x {LLVM[s.type]}> {self.m.vector(s)}" for s in given)
        return Value(self.t.let(f"call <{W} x {LLVM[returned]}> @{name}({listed})"), returned, False)

    def _function(self, name: str, code: Code, sources: list[Any]) -> str | None:
        """Writes such a function and gives the type of what it returns; None where that is not worth it."""
        sem, t = code.form.op.sem, Text()
        assert sem is not None, f"{code.form.opcode} has no semantics to call"
        values = [None if s is None else Value(f"%a{k}", s.type, False) for k, s in enumerate(sources)]
        result = sem(cast(Machine, Ops(t)), code.form, *values)
        if not isinstance(result, Value) or len(t.lines) < LARGE:
            return None
        listed = ", ".join(f"{v.llvm} {v.text}" for v in values if v is not None)
        head, tail = f"define internal {result.llvm} @{name}({listed})", f"  ret {result.llvm} {result.text}"
        self.t.declared |= t.declared
        self.e.helpers[name] = "\n".join([f"{head} noinline nounwind {{", *t.lines, tail, "}"]) + "\n"
        return result.type

    def results(self, code: Code, result: Any) -> None:
        """Writes the results of semantics."""
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self.e.operands.write(dest, type_, r)

    def _reduced(self, code: Code) -> None:
        """After `bar.red`: the barrier's result goes into the destination."""
        form, m = code.form, self.m
        yes, asked = m.field(S.Warp, "yes", "i32"), m.field(S.Warp, "asked", "i32")
        if form.operation == "popc":
            result = yes
        elif form.operation == "and":
            result = m.eq(yes, asked)
        else:
            result = m.ne(yes, m.const("i32", 0))
        self.e.operands.write(code.dests[0], code.dest_types[0], result)

    def _copy(self, source: int, dest: int, size: int) -> None:
        """Arguments and results of a call, from frame to frame in every lane."""
        self.e.memory.local.copy(source, dest, size)
        for instrument in reversed(self.e.instruments):
            instrument.copied_frame(source, dest, size)

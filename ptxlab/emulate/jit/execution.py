"""Instructions that do not end a block: their semantics, run on the machine that compiles them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.model import Code
from ptxlab.emulate.rules.bulk_instructions import is_bulk
from ptxlab.emulate.rules.clusters import arrive
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Machine

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter


OUTLINED = 64
"""Powers of two, forty instructions of LLVM each, from which on they are calls of one function: `pipelined` has 264,
which make up nearly half of its code and of the time to build it."""


class Execution(Part):
    """Instructions between labels."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.semantics: Machine = e.machine
        self.kinds: dict[str, tuple[str, str]] = {}  # LLVM's and our type of what such a function returns

    def emit(self, code: Code) -> None:
        """An instruction, and what instruments add before and after it."""
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
        if code.form.op.kind == "warp":
            self.e.matrices.emit(code)
            return
        if code.form.op.kind == "async":
            if is_bulk(code):
                self.e.bulk.emit(code)
                return
            (self.e.mbarriers if code.properties.mbarrier else self.e.copies).emit(code)
            return
        if sem is None:
            raise unsupported(self.program, code)
        sources = [operands.read(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        if code.action is Action.EXPONENTIAL and self.exponentials > OUTLINED and not sources[0].uniform:
            self.results(code, self._called(code, *sources))
        else:
            self.results(code, sem(self.semantics, code.form, *sources))

    @functools.cached_property
    def exponentials(self) -> int:
        """How many powers of two the program computes."""
        return sum(code.action is Action.EXPONENTIAL for code in self.program.codes)

    def _called(self, code: Code, source: Value) -> Value:
        """The result of an instruction with one operand, by a call of a function that computes it for all lanes."""
        sem = code.form.op.sem
        assert sem is not None, f"{code.form.opcode} has no semantics to call"
        name, given = "lanes_" + code.form.opcode.replace(".", "_"), source.llvm
        if name not in self.e.helpers:
            around, self.t.lines = self.t.lines, []
            result = sem(self.semantics, code.form, Value("%a", source.type, False))
            body, self.t.lines = self.t.lines, around
            head = f"define internal {result.llvm} @{name}({given} %a) noinline nounwind {{"
            self.e.helpers[name] = "\n".join([head, *body, f"  ret {result.llvm} {result.text}", "}"]) + "\n"
            self.kinds[name] = result.llvm, result.type
        llvm, type_ = self.kinds[name]
        return Value(self.t.let(f"call {llvm} @{name}({given} {source.text})"), type_, False)

    def results(self, code: Code, result: Any) -> None:
        """Writes the results of semantics."""
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self.e.operands.write(dest, type_, r)

    def _reduced(self, code: Code) -> None:
        """Behind `bar.red`: the barrier's result goes into the destination."""
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
        each, transfers = self.program.local_stride, self.e.memory.transfers
        lanes = "<" + ", ".join(f"i64 {k * each}" for k in range(W)) + ">"
        at = 0
        while at < size:
            step = next(n for n in (8, 4, 2, 1) if n <= size - at and (source + at) % n == 0 and (dest + at) % n == 0)
            pointers = []
            for frame in (source, dest):
                base = self.t.let(f"getelementptr i8, ptr %local, i64 {frame + at}")
                pointers.append(self.t.let(f"getelementptr i8, ptr {base}, <{W} x i64> {lanes}"))
            value = transfers.gather(f"i{8 * step}", pointers[0])
            transfers.scatter(f"i{8 * step}", pointers[1], value.text)
            at += step
        for instrument in reversed(self.e.instruments):
            instrument.copied_frame(source, dest, size)

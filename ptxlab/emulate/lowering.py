"""From the tree of a module to the flat program: functions, instructions, labels and calls."""

from __future__ import annotations

import re
from typing import Any

from ptxlab.emulate import layout
from ptxlab.emulate.calls import lower_call
from ptxlab.emulate.cut import cut
from ptxlab.emulate.program import Code, Group, Mem, Program, Reg, Source, Symbol
from ptxlab.emulate.scopes import Names, Routine, Scope
from ptxlab.errors import LaunchError, UnsupportedInstruction
from ptxlab.isa.table import Form, FormError, form
from ptxlab.text import model
from ptxlab.text.model import Function, Instruction, Module


class Lowering(Names):
    """Builds the `Program` of one kernel. Made for one use: `Lowering(module, entry, arch).program()`."""

    def __init__(self, module: Module, entry: str | None, arch: str | None) -> None:
        self.arch = arch or module.target.partition(",")[0].strip() or "sm_80"
        number = re.search(r"\d+", self.arch)
        # On sm_90 and later the first KiB of shared memory belongs to the system, so a kernel's arrays start behind it.
        self.shared_start = 0x400 if number and int(number[0]) >= 90 else 0
        super().__init__(module, self.shared_start)
        self.kernel = self._entry(entry)
        self.params, self.param_size = layout.params(self.kernel.params)
        self.functions = {f.name: f for f in module.functions if f.body is not None}
        self.codes: list[Code] = []
        self.routines: dict[str, Routine] = {}
        self.queue: list[str] = []
        self.label_uses: list[tuple[Scope, str]] = []

    # -- the whole -----------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Lowers the kernel and everything it calls."""
        placed = layout.globals_of(self.module.variables, lambda name: 0 if name in self.functions else None)
        for v in placed:
            self.module_scope.symbols[v.name] = Symbol(v.name, v.space, v.address)
        for variable in self.module.variables:
            self.module_scope.variables[variable.name] = variable
            if variable.space == "shared":
                self.declare_shared(self.module_scope, variable)
        self._lower_body(self.routine(self.kernel))
        while self.queue:
            self._lower_body(self.routines[self.queue.pop(0)])
        self._refuse_recursion()
        self._link()
        codes, blocks = cut(self.codes, (r.start for r in self.routines.values()))
        dynamic = self.place_extern(codes)
        directives = self.kernel.directives
        limit = directives.get("reqntid") or directives.get("maxntid") or ()
        return Program(
            name=self.kernel.name, arch=self.arch, codes=codes, blocks=blocks, registers=self.registers,
            params=self.params, param_size=self.param_size, globals=placed, shared_start=self.shared_start,
            shared_static=self.shared.end - self.shared_start, dynamic_start=dynamic, local_size=self.local.end,
            max_threads=tuple(int(n) for n in limit if n.isdigit()), lines=self.lines, spans=self.module.spans,
            file=self.module.file, shared_names=tuple(self.shared_names),
        )  # fmt: skip

    def _entry(self, name: str | None) -> Function:
        kernels = {k.name: k for k in self.module.kernels if k.body is not None}
        if name is None and len(kernels) == 1:
            return next(iter(kernels.values()))
        listed = ", ".join(kernels) or "none"
        if name is None:
            raise LaunchError(f"entry: the module has {len(kernels)} kernels ({listed}); name one with entry=")
        if name not in kernels:
            raise LaunchError(f"entry: no kernel {name!r} in the module; it has {listed}")
        return kernels[name]

    # -- functions -----------------------------------------------------------------------------------------------------

    def routine(self, function: Function) -> Routine:
        """A function's routine, its formal parameters placed; its body is lowered later."""
        if function.name in self.routines:
            return self.routines[function.name]
        routine = Routine(function, 0, function.params, function.returns, Scope(self.module_scope))
        self.routines[function.name] = routine
        if function is self.kernel:
            for p in self.params:
                routine.scope.symbols[p.name] = Symbol(p.name, "param", p.offset)
        else:
            routine.register = self.register(f"%return_{function.name}", "b32", function.name).index
            for v in (*function.params, *function.returns):
                self.declare(routine.scope, v)
            self.queue.append(function.name)
        return routine

    def _lower_body(self, routine: Routine) -> None:
        body = routine.function.body
        assert body is not None
        routine.start = len(self.codes)
        pending: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]] = []
        labels = self._collect(body, routine.scope, pending, [])
        # Falling off the end returns.
        pending.append((Instruction(None, "ret", (), (), routine.function.line), routine.scope, labels))
        for instruction, scope, before in pending:
            for where, label in before:
                where.labels[label] = len(self.codes)
            self._instruction(instruction, scope, routine)

    def _collect(
        self,
        block: model.Block,
        scope: Scope,
        out: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]],
        labels: list[tuple[Scope, str]],
    ) -> list[tuple[Scope, str]]:
        """All instructions in order with their scopes and the labels in front of them; declarations made on the way.
        Gives back the labels that no instruction has followed yet."""
        for statement in block.statements:
            if isinstance(statement, model.Declaration):
                for variable in statement.variables:
                    self.declare(scope, variable)
            elif isinstance(statement, model.Label):
                scope.labels[statement.name] = -1
                labels.append((scope, statement.name))
            elif isinstance(statement, model.Instruction):
                out.append((statement, scope, labels))
                labels = []
            elif isinstance(statement, model.Block):
                labels = self._collect(statement, Scope(scope), out, labels)
            elif isinstance(statement, model.Directive) and statement.label:
                words = tuple(w for w in statement.words if w not in (",", ";"))
                scope.tables[statement.label] = words
        return labels

    # -- instructions --------------------------------------------------------------------------------------------------

    def _form(self, instruction: Instruction) -> Form:
        place: dict[str, Any] = {
            "line": instruction.line, "column": instruction.column, "source": self.text(instruction.line),
            "file": self.module.file, "span": self.module.spans.get(instruction.line),
        }  # fmt: skip
        try:
            found = form(instruction.opcode)
        except FormError as error:
            raise UnsupportedInstruction(
                f"the CPU machine does not know {instruction.opcode}: {error.what}", length=len(instruction.opcode),
                syntax=error.syntax, **place,
            ) from None  # fmt: skip
        if not found.op.executed:
            raise UnsupportedInstruction(
                f"the CPU machine does not execute {instruction.opcode} yet: it can be assembled and run on a GPU only",
                length=len(instruction.opcode), syntax=found.op.syntax, **place,
            )  # fmt: skip
        return found

    def _instruction(self, instruction: Instruction, scope: Scope, routine: Routine) -> None:
        found, line = self._form(instruction), instruction.line
        guard = None
        if instruction.guard is not None:
            register = self.name(instruction.guard.name, scope, routine, line)
            if not isinstance(register, Reg):
                raise self.error(f"the guard {instruction.guard} is not a predicate register", line)
            guard = (register.index, instruction.guard.negated)
        if instruction.name == "call":
            lower_call(self, instruction, found, guard, scope, routine)
            return
        code = self.emit(instruction.name, found, line, guard)
        code.instruction = instruction
        if instruction.name in ("ret", "exit"):
            code.register = routine.register if instruction.name == "ret" else -1
        elif instruction.name == "bra":
            code.targets = (self._label(str(instruction.operands[0]), scope, line),)
        elif instruction.name == "brx":
            code.sources = (self.operand(instruction.operands[0], scope, routine, line),)
            code.source_types = ("u32",)
            names = self._table(str(instruction.operands[1]), scope, line)
            code.targets = tuple(self._label(name, scope, line) for name in names)
        else:
            self._operands(code, instruction, found, scope, routine)
            if instruction.name in ("bar", "barrier") and found.red:
                after = self.emit("%reduced", found, line, guard)
                after.dests, after.dest_types = code.dests, code.dest_types

    def emit(self, name: str, found: Form | None, line: int, guard: tuple[int, bool] | None) -> Code:
        """The one place where code is added."""
        code = Code(len(self.codes), name, found, line, guard)
        self.codes.append(code)
        return code

    def _operands(self, code: Code, instruction: Instruction, found: Form, scope: Scope, routine: Routine) -> None:
        line, given = instruction.line, list(instruction.operands)
        specs = found.op.operands
        needed = sum(1 for s in specs if not s.optional)
        if not needed <= len(given) <= sum(1 for s in specs if not s.second):
            raise UnsupportedInstruction(
                f"{found.opcode} takes {needed} operands, found {len(given)}", line=line, source=self.text(line),
                column=instruction.column, file=self.module.file, syntax=found.op.syntax,
            )  # fmt: skip
        dests: list[Reg | Group | None] = []
        sources: list[Source | None] = []
        second: model.Operand | None = None
        for spec in specs:
            operand: model.Operand | None
            if spec.second:
                operand, second = second, None
            else:
                operand = given.pop(0) if given else None
                if isinstance(operand, model.Pair):
                    second = operand.second
                    operand = operand.first
            resolved = None if operand is None else self.operand(operand, scope, routine, line)
            if spec.role == "dst":
                if resolved is not None and not isinstance(resolved, Reg | Group):
                    raise self.error(f"{operand} cannot be written to", line)
                dests.append(resolved)
                code.dest_types += (found.operand_type(spec),)
            else:
                sources.append(resolved)
                code.source_types += (found.operand_type(spec),)
        code.dests, code.sources = tuple(dests), tuple(sources)
        self._space(code, found)

    def _space(self, code: Code, found: Form) -> None:
        mem = next((s for s in code.sources if isinstance(s, Mem)), None)
        if mem is None:
            return
        space = str(found.space or "generic").partition("::")[0]
        if isinstance(mem.base, Symbol) and space in ("generic", "param"):
            space = mem.base.space
        code.space = space

    def _label(self, name: str, scope: Scope, line: int) -> int:
        """A number for this use of the label; `_link` turns it into a code index, for labels may lie ahead."""
        where: Scope | None = scope
        while where is not None:
            if name in where.labels:
                self.label_uses.append((where, name))
                return len(self.label_uses) - 1
            where = where.parent
        raise self.error(f"there is no label {name!r} in this function", line, hint=f"{name}:")

    def _table(self, name: str, scope: Scope, line: int) -> tuple[str, ...]:
        where: Scope | None = scope
        while where is not None:
            if name in where.tables:
                return where.tables[name]
            where = where.parent
        raise self.error(f"there is no .branchtargets list {name!r}", line)

    # -- calls and blocks ----------------------------------------------------------------------------------------------

    def _refuse_recursion(self) -> None:
        calls: dict[str, list[str]] = {name: [] for name in self.routines}
        starts = sorted((r.start, name) for name, r in self.routines.items())
        for code in self.codes:
            if code.name == "call":
                caller = [name for start, name in starts if start <= code.index][-1]
                calls[caller].append(code.callee)
        state: dict[str, int] = {}

        def visit(name: str) -> None:
            state[name] = 1
            for callee in calls[name]:
                if state.get(callee) == 1:
                    line = self.routines[callee].function.line
                    raise UnsupportedInstruction(
                        f"{callee} calls itself: the CPU machine does not run recursive functions yet",
                        line=line, source=self.text(line), file=self.module.file,
                    )  # fmt: skip
                if callee not in state:
                    visit(callee)
            state[name] = 2

        visit(self.kernel.name)

    def _link(self) -> None:
        for code in self.codes:
            if code.name == "call":
                routine = self.routines[code.callee]
                code.target, code.register = routine.start, routine.register
            elif code.targets:
                code.targets = tuple(
                    scope.labels[name] for scope, name in map(self.label_uses.__getitem__, code.targets)
                )

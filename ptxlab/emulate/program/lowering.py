"""From the tree of a module to the flat program: functions, instructions, labels and calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ptxlab.emulate.program import layout
from ptxlab.emulate.program.basic_blocks import cut
from ptxlab.emulate.program.call_graph import CallGraph, entry_function, operand_names
from ptxlab.emulate.program.calls import lower_call
from ptxlab.emulate.program.fills import fill
from ptxlab.emulate.program.layout import Area
from ptxlab.emulate.program.map_changes import copy_map, replace_field
from ptxlab.emulate.program.model import Code, Literal, Mem, Program, Reg, Source, Symbol
from ptxlab.emulate.program.reconvergence import mark
from ptxlab.emulate.program.resolving import resolve, summed
from ptxlab.emulate.program.scopes import STACK, Names, Routine, Scope
from ptxlab.emulate.program.stack import StackMemory
from ptxlab.emulate.program.system import SystemMemory
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa import types
from ptxlab.isa.actions import SAMPLERS, STACK_ACTIONS, Action
from ptxlab.isa.matching import form
from ptxlab.isa.multimem import one_device
from ptxlab.isa.opcodes import action_of
from ptxlab.isa.table import Form, FormError
from ptxlab.targets import RECURSION_STACK
from ptxlab.text import model
from ptxlab.text.model import Function, Instruction, Module

_ADDS: dict[Action, Callable[[Lowering, Code], None]] = {
    Action.FILL: fill,
    Action.REPLACE_FIELD: replace_field,
    Action.COPY_MAP: copy_map,
}
"""What lowering adds after an instruction that others stand for."""


Guard = tuple[int, bool] | None


class Lowering(Names):
    """Builds the `Program` of one kernel. Made for one use: `Lowering(module, entry, arch).program()`."""

    def __init__(self, module: Module, entry: str | None, arch: str | None, shared_gap: int = 0) -> None:
        self.arch = arch or module.target.partition(",")[0].strip() or "sm_80"
        number = re.search(r"\d+", self.arch)
        # On sm_90 and later the first KiB of shared memory belongs to the system, so a kernel's arrays start after it.
        self.shared_start = 0x400 if number and int(number[0]) >= 90 else 0
        super().__init__(module, self.shared_start, shared_gap)
        self.kernel = entry_function(module, entry)
        self.params, self.param_size = layout.params(self.kernel.params)
        self.functions = {f.name: f for f in module.functions if f.body is not None}
        self.codes: list[Code] = []
        self.fitting: set[tuple[Form, tuple[str, ...]]] = set()
        """Forms and types of operands that fit (see `resolving`)."""
        self.routines: dict[str, Routine] = {}
        self.queue: list[str] = []
        self.label_uses: list[tuple[Scope, str]] = []
        self.graph = CallGraph(module)
        self.system = SystemMemory(module)
        self.heap = StackMemory()
        self.labels = Scope(None)
        self._frame_register: Reg | None = None
        self._stack_starts: list[Code] = []

    # -- the whole -----------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Lowers the kernel and everything it calls."""
        inside = self.placed_inside()
        placed = layout.globals_of((*self.module.variables, *inside), self.graph.taken.get, self.text)
        self.system.begin(placed)
        for v in placed:
            self.data[v.name] = Symbol(v.name, v.space, v.address)
        for variable in self.module.variables:
            if variable.name in self.data:
                self.module_scope.symbols[variable.name] = self.data[variable.name]
        for variable in self.module.variables:
            self.module_scope.variables[variable.name] = variable
            if variable.space == "shared":
                self.declare_shared(self.module_scope, variable)
        self._lower_body(self.routine(self.kernel))
        while self.queue:
            self._lower_body(self.routines[self.queue.pop(0)])
        local_size = self._place_stack()
        self._link()
        codes, blocks, entry = cut(self.codes, [r.start for r in self.routines.values()])
        exits = mark(codes, blocks, recursive=bool(self._stack_starts))
        dynamic = self.place_extern(codes)
        limits = [self.kernel.directives.get(name, ()) for name in ("reqntid", "maxntid")]
        exact, most = (tuple(map(int, limit)) for limit in limits)
        directives = self.kernel.directives
        return Program(
            name=self.kernel.name, arch=self.arch, codes=codes, blocks=blocks, registers=self.registers,
            params=self.params, param_size=self.param_size, globals=(*placed, *self.system.globals),
            shared_start=self.shared_start,
            shared_static=self.shared.end - self.shared_start, dynamic_start=dynamic, local_size=local_size,
            local_fixed=self.local.end,
            exact_threads=exact, most_threads=most, lines=self.lines, spans=self.module.spans,
            entry=entry, exits=exits, file=self.module.file, shared_names=tuple(self.shared_names),
            local_names=tuple(self.local_names), shared_gap=self.shared_gap, system=self.system.finished(),
            cluster=tuple(map(int, directives.get("reqnctapercluster", ()))),
            explicit_cluster="explicitcluster" in directives,
            most_rank=int(directives.get("maxclusterrank", ("0",))[0]),
        )  # fmt: skip

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
            if function.name in self.graph.stacked:
                routine.frame = Area(STACK)
            before, self.frame = self.frame, routine.frame or self.local
            for v in (*function.params, *function.returns):
                self.declare(routine.scope, v)
            self.frame = before
            self.queue.append(function.name)
        return routine

    def _lower_body(self, routine: Routine) -> None:
        body = routine.function.body
        assert body is not None
        routine.start = len(self.codes)
        pending: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]] = []
        self.frame = routine.frame or self.local
        labels = self.collect(body, routine.scope, pending, [])
        if any(action_of(instruction.opcode) is Action.STACK_ALLOCATE for instruction, _, _ in pending):
            self.heap.enter(self, routine)
        if routine.frame is not None:
            self._make_room(routine, routine.frame, pending)
        # Falling off the end returns.
        pending.append((Instruction(None, "ret", (), (), routine.function.line), routine.scope, labels))
        for instruction, scope, before in pending:
            for where, label in before:
                where.labels[label] = len(self.codes)
            self.instruction(instruction, scope, routine)

    def collect(
        self, block: model.Block, scope: Scope, out: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]],
        labels: list[tuple[Scope, str]],
    ) -> list[tuple[Scope, str]]:  # fmt: skip
        """Collects all instructions in order, with their scopes and the labels in front of them, and makes the
        declarations. Returns the labels that no instruction has followed yet."""
        for statement in block.statements:
            if isinstance(statement, model.Declaration):
                for variable in statement.variables:
                    self.declare(scope, variable)
            elif isinstance(statement, model.Label):
                if statement.name in scope.labels:
                    raise self.error(f"the label {statement.name} stands here for the second time", statement.line)
                scope.labels[statement.name] = -1
                labels.append((scope, statement.name))
            elif isinstance(statement, model.Instruction):
                out.append((statement, scope, labels))
                labels = []
            elif isinstance(statement, model.Block):
                labels = self.collect(statement, Scope(scope), out, labels)
            elif isinstance(statement, model.Directive) and statement.label:
                words = tuple(w for w in statement.words if w not in (",", ";"))
                scope.tables[statement.label] = words
        return labels

    # -- instructions --------------------------------------------------------------------------------------------------

    def _form(self, instruction: Instruction) -> Form:
        try:
            found = form(instruction.opcode)
        except FormError as error:
            what = f"the CPU machine does not know {instruction.opcode}: {error.what}"
            raise self._unsupported(instruction, what, error.syntax) from None
        if not found.op.executed:
            what = (
                f"the CPU machine does not execute {instruction.opcode} yet: it can be assembled and run on a GPU only"
            )
            raise self._unsupported(instruction, what, found.op.syntax)
        return found

    def _unsupported(self, instruction: Instruction, what: str, syntax: str) -> UnsupportedInstruction:
        """The error for an opcode."""
        line = instruction.line
        return UnsupportedInstruction(
            what, line=line, column=instruction.column, source=self.text(line), file=self.module.file,
            span=self.module.spans.get(line), length=len(instruction.opcode), syntax=syntax,
        )  # fmt: skip

    def instruction(self, instruction: Instruction, scope: Scope, routine: Routine) -> None:
        found, line = self._form(instruction), instruction.line
        if found.multimem:
            found = one_device(found)
        action = found.op.does
        guard = None
        if instruction.guard is not None:
            register = self.name(instruction.guard.name, scope, routine, line)
            if not isinstance(register, Reg) or self.registers[register.index].lane != "i1":
                raise self.error(f"the guard {instruction.guard} is not a predicate register", line)
            guard = (register.index, instruction.guard.negated)
        operands = instruction.operands
        if model.Sum in map(type, operands):
            operands = tuple(summed(self, operand, scope, routine, line) for operand in operands)
            instruction = replace(instruction, operands=operands)
        if (action is Action.BRANCH or action is Action.INDEXED_BRANCH) and len(operands) != len(found.op.operands):
            raise self.error(f"{found.opcode} takes {len(found.op.operands)} operands", line)
        if action is Action.CALL:
            if not operands:
                raise self.error("call needs the name of a function", line)
            lower_call(self, instruction, found, guard, scope, routine)
            return
        if action is Action.VIDEO:
            from ptxlab.emulate.program.video import lower_video

            lower_video(self, instruction, found, guard, scope, routine)
            return
        if action in SAMPLERS:
            from ptxlab.emulate.program.textures import lower_texture

            lower_texture(self, instruction, found, guard, scope, routine)
            return
        if action in STACK_ACTIONS:
            self.heap.lower(self, instruction, found, guard, scope, routine)
            return
        if action is Action.RETURN:
            self.heap.give_back(self, routine, line, guard)
        code = self.emit(instruction.name, found, line, guard)
        code.instruction = instruction
        if action is Action.RETURN:
            code.register = routine.register
        elif action is Action.EXIT:
            code.register = -1
        elif action is Action.BRANCH:
            code.targets = (self._label(str(operands[0]), scope, line),)
        elif action is Action.INDEXED_BRANCH:
            code.sources = (self.operand(operands[0], scope, routine, line),)
            code.source_types = ("u32",)
            names = self.table(str(operands[1]), scope, line)
            code.targets = tuple(self._label(name, scope, line) for name in names)
        else:
            resolve(self, code, instruction, scope, routine)
            if action in _ADDS:
                _ADDS[action](self, code)
            if action is Action.BARRIER and found.red:
                after = self.emit("%reduced", found, line, guard)
                after.dests, after.dest_types = code.dests, code.dest_types

    def emit(self, name: str, found: Form, line: int, guard: tuple[int, bool] | None) -> Code:
        """The one place where code is added."""
        code = Code(len(self.codes), name, found, line, guard)
        self.codes.append(code)
        return code

    def op(
        self, opcode: str, dests: tuple[Any, ...], sources: tuple[Any, ...], line: int,
        guard: tuple[int, bool] | None = None,
    ) -> Code:  # fmt: skip
        """Emits an instruction that lowering adds, with resolved operands."""
        found = form(opcode)
        code = self.emit(opcode.partition(".")[0], found, line, guard)
        into = [s for s in found.op.operands if s.role == "dst"]
        code.dests, code.dest_types = dests, tuple(found.operand_type(s) for s in into[: len(dests)])
        given = [s for s in found.op.operands if s.role != "dst"][: len(sources)]
        code.sources, code.source_types = sources, tuple(found.operand_type(s) for s in given)
        self.note_space(code, found)
        return code

    def note_space(self, code: Code, found: Form) -> None:
        """Notes which state space an instruction accesses."""
        mem = next((s for s in code.sources if isinstance(s, Mem)), None)
        if mem is None:
            return
        space = found.properties.space
        if isinstance(mem.base, Symbol) and space in ("generic", "param"):
            space = mem.base.space
        code.space = space

    def _label(self, name: str, scope: Scope, line: int) -> int:
        """A number for this use of the label; `_link` turns it into a code index, since labels may lie ahead."""
        for where in scope:
            if name in where.labels:
                self.label_uses.append((where, name))
                return len(self.label_uses) - 1
        raise self.error(f"there is no label {name!r} in this function", line, hint=f"{name}:")

    # -- calls and blocks ----------------------------------------------------------------------------------------------

    def _make_room(self, routine: Routine, frame: Area, code: list[Any]) -> None:
        """Finishes a frame on the stack, with room to save every register of the function."""
        for instruction, scope, _ in code:
            guard = [instruction.guard.name] if instruction.guard is not None else []
            for name in (*guard, *(n for o in instruction.operands for n in operand_names(o))):
                self._lookup(name, scope, routine)
        for register in self.registers:
            if register.function == routine.function.name:
                size = max(4, types.width(register.type) // 8) if register.type != "pred" else 4
                routine.saved.append((register.index, frame.place(size, size) - STACK))
        routine.frame_size = -(-(frame.end - STACK) // 16) * 16

    def frame_register(self) -> Reg:
        """The frame pointer: where the frame of the running function begins on the stack."""
        if self._frame_register is None:
            self._frame_register = self.register("%frame", "b64", "")
        return self._frame_register

    def start_stack(self, line: int) -> None:
        """Emits the address of the first frame, where a function with a static frame calls one without."""
        self._stack_starts.append(self.op("mov.b64", (self.frame_register(),), (Literal(0),), line))

    def _place_stack(self) -> int:
        """Bytes of local memory per thread, with the stack at the end."""
        start = -(-self.local.end // 16) * 16
        for code in self._stack_starts:
            code.sources = (Literal(start),)
        if self._stack_starts:
            self.system.stack = RECURSION_STACK
        end = start + RECURSION_STACK if self._stack_starts else self.local.end
        return self.heap.place(end) + self.system.local_margin

    def place_of(self, routine: Routine, variable: model.Variable) -> Source | None:
        """Where a formal parameter of a function lies."""
        return self.operand(model.Name(variable.name), routine.scope, routine, variable.line)

    def at(self, symbol: Symbol, offset: int) -> Mem:
        """The address operand of a variable."""
        if symbol.space in ("local", "frame") and symbol.value >= STACK:
            return Mem(self.frame_register(), symbol.value - STACK + offset)
        return Mem(symbol, offset)

    def on_stack(self, code: Code, source: Source | None) -> Source | None:
        """A source operand with variables on the stack found through the frame register."""
        if isinstance(source, Mem) and isinstance(source.base, Symbol):
            return self.at(source.base, source.offset)
        if not isinstance(source, Symbol) or source.space not in ("local", "frame") or source.value < STACK:
            return source
        self.codes.pop()
        address = self.register("%address", "b64", "")
        self.op("add.s64", (address,), (self.frame_register(), Literal(source.value - STACK)), code.line, code.guard)
        code.index = len(self.codes)
        self.codes.append(code)
        return address

    def new_label(self) -> str:
        """A new label; `place_label` gives it its place."""
        name = f"%{len(self.labels.labels)}"
        self.labels.labels[name] = -1
        return name

    def place_label(self, name: str) -> None:
        """Places the label in front of the next instruction."""
        self.labels.labels[name] = len(self.codes)

    def branch(self, label: str, line: int, guard: tuple[int, bool] | None = None) -> None:
        """Emits a branch to a label from `new_label`."""
        code = self.emit("bra", form("bra"), line, guard)
        code.targets = (self._label(label, self.labels, line),)

    def branch_around(self, guard: tuple[int, bool], line: int) -> str:
        """Emits a branch for the lanes whose guard does not hold; returns the label where they continue."""
        label = self.new_label()
        self.branch(label, line, (guard[0], not guard[1]))
        return label

    def provided(self, name: str) -> int | None:
        """A function's address, or what the driver provides a kernel with."""
        if name in self.graph.taken:
            return self.graph.taken[name]
        return self.system.provided(name)

    def _link(self) -> None:
        for code in self.codes:
            if code.action is Action.CALL:
                routine = self.routines[code.callee]
                code.target, code.register = routine.start, routine.register
            elif code.targets:
                code.targets = tuple(
                    scope.labels[name] for scope, name in map(self.label_uses.__getitem__, code.targets)
                )

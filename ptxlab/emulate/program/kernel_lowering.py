"""From the tree of a module to the flat program: each instruction is lowered by the part that is about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest

from ptxlab import targets
from ptxlab.emulate.program import layout
from ptxlab.emulate.program.added_stores import copy_map, fill, replace_field
from ptxlab.emulate.program.addresses import GRID_REGISTERS
from ptxlab.emulate.program.calls import StackMemory, lower_call
from ptxlab.emulate.program.flat_program import Code, Group, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.layout import Area, SystemMemory
from ptxlab.emulate.program.lowering import Collected, Lowering, operand_names
from ptxlab.emulate.program.operands import resolve, summed
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.reconvergence import cut_into_blocks, mark
from ptxlab.emulate.program.scopes import STACK, Routine, Scope
from ptxlab.emulate.program.textures import lower_texture
from ptxlab.emulate.program.video import lower_video
from ptxlab.emulate.program.wait_loops import may_wait_for_blocks, waiting_codes
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa import types
from ptxlab.isa.actions import SAMPLERS, STACK_ACTIONS, Action
from ptxlab.isa.entries import Op
from ptxlab.isa.matching import known_form
from ptxlab.isa.multimem import one_device
from ptxlab.isa.opcodes import action_of
from ptxlab.isa.table import Form
from ptxlab.names import source_name
from ptxlab.targets import RECURSION_STACK
from ptxlab.text import model
from ptxlab.text.model import Instruction, Module

_ADDS: dict[Action, Callable[[Lowering, Code], None]] = {
    Action.FILL: fill,
    Action.REPLACE_FIELD: replace_field,
    Action.COPY_MAP: copy_map,
}
"""What lowering adds after an instruction that others stand for."""


class KernelLowering(Lowering):
    """Builds the `Program` of one kernel. Made for one use: `KernelLowering(module, entry, arch).program()`. runs: what
    the emulator does not execute is an error; otherwise only its registers are noted."""

    def __init__(
        self, module: Module, entry: str | None, arch: str | None, shared_gap: int = 0, *, runs: bool = True
    ) -> None:
        super().__init__(module, entry, arch, shared_gap)
        self.runs = runs
        self.heap = StackMemory()

    # -- the whole -----------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        inside = self.placed_inside()
        placed = layout.globals_of((*self.module.variables, *inside), self.graph.taken.get, self.text)
        self.system = SystemMemory(self.module, placed)
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
        codes, blocks, entry = cut_into_blocks(self.codes, [r.start for r in self.routines.values()])
        exits = mark(codes, blocks, recursive=bool(self._stack_starts))
        dynamic = self.place_extern(codes)
        limits = [self.kernel.directives.get(name, ()) for name in ("reqntid", "maxntid")]
        exact, most = (tuple(map(int, limit)) for limit in limits)
        directives = self.kernel.directives
        arrays = tuple((source_name(name, self.kernel.name), at, size) for name, at, size in self.shared_names)
        program = Program(
            name=self.kernel.name, title=source_name(self.kernel.name), arch=self.arch, codes=codes, blocks=blocks,
            registers=self.registers, params=self.params, param_size=self.param_size,
            globals=(*placed, *self.system.globals), shared_start=self.shared_start,
            shared_static=self.shared.end - self.arrays_start, dynamic_start=dynamic, local_size=local_size,
            exact_threads=exact, most_threads=most, lines=self.lines, spans=self.module.spans,
            entry=entry, exits=exits, file=self.module.file, shared_names=arrays,
            dynamic_names=tuple(source_name(name, self.kernel.name) for name in self.dynamic_names),
            local_names=tuple(self.local_names), shared_gap=self.shared_gap, system=self.system.finished(),
            cluster=tuple(map(int, directives.get("reqnctapercluster", ()))),
            explicit_cluster="explicitcluster" in directives,
            most_rank=int(directives.get("maxclusterrank", ("0",))[0]),
        )  # fmt: skip
        program.waiting = waiting_codes(program)
        program.may_wait_for_blocks = may_wait_for_blocks(program)
        return program

    def _lower_body(self, routine: Routine) -> None:
        body = routine.function.body
        assert body is not None
        routine.start = len(self.codes)
        pending: Collected = []
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
            start = len(self.codes)
            try:
                self.instruction(instruction, scope)
            except UnsupportedInstruction:
                if self.runs:
                    raise
                del self.codes[start:]
                self._note(instruction, scope)

    # -- instructions --------------------------------------------------------------------------------------------------

    def _form(self, instruction: Instruction) -> Form:
        opcode = instruction.opcode
        found = known_form(opcode)
        if found is None:
            what = f"the emulator does not execute {opcode} yet: ptxlab knows PTX up to 9.0"
            raise self.unsupported(instruction, what, length=len(opcode))
        if not found.op.executed:
            what = UnsupportedInstruction.says(opcode, self.module.target)
            raise self.unsupported(instruction, what, length=len(opcode), syntax=found.op.syntax)
        return found

    def _note(self, instruction: Instruction, scope: Scope) -> None:
        """Emits an instruction that nothing executes, with the registers that it reads and writes."""
        known, guard = known_form(instruction.opcode), self._guard(instruction, scope)
        op = Op(instruction.name, instruction.opcode, {}, "", None, Action.NOTHING, (1, 0), 0, executed=False)
        code = self.emit(instruction.name, Form(op, instruction.opcode, {}), instruction.line, guard)
        code.instruction = instruction
        into = [spec.role == "dst" for spec in known.op.operands] if known is not None else [True]
        for written, operand in zip_longest(into, instruction.operands, fillvalue=False):
            found = [self._lookup(name, scope, instruction.line) for name in operand_names(operand)]
            group = Group(tuple(each for each in found if isinstance(each, Reg | Group)))
            if written:
                code.dests += (group,)
            else:
                code.sources += (group,)

    def _guard(self, instruction: Instruction, scope: Scope) -> tuple[int, bool] | None:
        if instruction.guard is None:
            return None
        register = self.name(instruction.guard.name, scope, instruction.line)
        if not isinstance(register, Reg) or self.registers[register.index].lane != "i1":
            raise self.error(f"the guard {instruction.guard} is not a predicate register", instruction.line)
        return register.index, instruction.guard.negated

    def instruction(self, instruction: Instruction, scope: Scope) -> None:
        found, line, routine = self._form(instruction), instruction.line, scope.routine
        if found.multimem:
            found = one_device(found)
        action = found.op.does
        guard = self._guard(instruction, scope)
        operands = instruction.operands
        if any(isinstance(o, model.Sum) or (isinstance(o, model.Name) and o.text in GRID_REGISTERS) for o in operands):
            operands = tuple(summed(self, operand, scope, line) for operand in operands)
            instruction = replace(instruction, operands=operands)
        if (action is Action.BRANCH or action is Action.INDEXED_BRANCH) and len(operands) != len(found.op.operands):
            raise self.error(f"{found.opcode} takes {len(found.op.operands)} operands", line)
        if action is Action.CALL:
            if not operands:
                raise self.error("call needs the name of a function", line)
            lower_call(self, instruction, found, guard, scope)
            return
        if action is Action.VIDEO:
            lower_video(self, instruction, found, guard, scope)
            return
        if action in SAMPLERS:
            lower_texture(self, instruction, found, guard, scope)
            return
        if action in STACK_ACTIONS:
            self.heap.lower(self, instruction, found, guard, scope)
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
            code.targets = (self.label(str(operands[0]), scope, line),)
        elif action is Action.INDEXED_BRANCH:
            code.sources = (self.operand(operands[0], scope, line),)
            code.source_types = ("u32",)
            names = self.table(str(operands[1]), scope, line)
            code.targets = tuple(self.label(name, scope, line) for name in names)
        else:
            resolve(self, code, instruction, scope)
            if action in _ADDS:
                _ADDS[action](self, code)
            if action is Action.BARRIER and found.red:
                after = self.emit("%reduced", found, line, guard)
                after.dests, after.dest_types = code.dests, code.dest_types

    # -- the stack, and where branches go ------------------------------------------------------------------------------

    def _make_room(self, routine: Routine, frame: Area, code: Collected) -> None:
        """Finishes a frame on the stack, with room to save every register of the function."""
        for instruction, scope, _ in code:
            guard = [instruction.guard.name] if instruction.guard is not None else []
            for name in (*guard, *(n for o in instruction.operands for n in operand_names(o))):
                self._lookup(name, scope)
        for register in self.registers:
            if register.function == routine.function.name:
                size = max(4, types.width(register.type) // 8) if register.type != "pred" else 4
                routine.saved.append((register.index, frame.place(size, size) - STACK))
        routine.frame_size = -(-(frame.end - STACK) // 16) * 16

    def _place_stack(self) -> int:
        """Bytes of local memory per thread, with the stack at the end."""
        start = -(-self.local.end // 16) * 16
        for code in self._stack_starts:
            code.sources = (Literal(start),)
        if self._stack_starts:
            self.system.stack = RECURSION_STACK
        end = start + RECURSION_STACK if self._stack_starts else self.local.end
        return self.heap.place(end) + self.system.local_margin

    def _link(self) -> None:
        for code in self.codes:
            if code.action is Action.CALL:
                routine = self.routines[code.callee]
                code.target, code.register = routine.start, routine.register
            elif code.targets:
                code.targets = tuple(
                    scope.labels[name] for scope, name in map(self.label_uses.__getitem__, code.targets)
                )


GAPS = (1024, 128)
"""Bytes of a gap; the first that fits the target is taken. Multiples of 128 bytes move no address to another bank."""


def spread(module: Module, entry: str | None, arch: str | None) -> Program:
    """The program with gaps between its arrays, so that initcheck sees an access that runs from one into the next.

    Shared variables are separate objects: the assembler may place them in any order and at any distance. A program that
    may depend on their places nevertheless gets no gaps."""
    plain = KernelLowering(module, entry, arch)
    program = plain.program()
    dynamic = {v.name for v in plain.extern_shared}
    if len(program.shared_names) + bool(dynamic) < 2 or not _only_by_name(program, plain.shared_names, dynamic):
        return program
    target = targets.find(program.arch)
    most = targets.STATIC_SHARED if target is None else target.static_shared
    if target is not None and program.shared_static > most:
        most = target.optin_shared
    for gap in GAPS:
        spaced = KernelLowering(module, entry, arch, shared_gap=gap).program()
        if spaced.shared_static <= most:
            return spaced
    return program


def _only_by_name(program: Program, arrays: Sequence[tuple[str, int, int]], dynamic: set[str]) -> bool:
    """Whether each array is accessed by its own name only, and its place cannot be found otherwise. arrays: the name in
    the text, offset and bytes of each; dynamic: the names of dynamic shared memory."""
    named: set[tuple[str, int, int]] = set()
    for code in program.codes:
        for source in code.sources:
            for symbol, offset in _symbols(source):
                if symbol.name in dynamic and symbol.value + offset >= program.dynamic_start:
                    continue
                held = [v for v in arrays if v[0] == symbol.name and 0 <= symbol.value + offset - v[1] <= v[2]]
                if not held:
                    return False
                named.update(held)
            if isinstance(source, Special) and source.name in ("%total_smem_size", "%aggr_smem_size"):
                return False
    return named >= set(arrays)


def _symbols(source: Source | None) -> list[tuple[Symbol, int]]:
    """The shared variables that an operand names, and what it adds to their addresses."""
    if isinstance(source, Symbol) and source.space == "shared":
        return [(source, 0)]
    if isinstance(source, Mem) and isinstance(source.base, Symbol) and source.base.space == "shared":
        return [(source.base, source.offset)]
    if isinstance(source, Group):
        return [found for element in source.elements for found in _symbols(element)]
    return []

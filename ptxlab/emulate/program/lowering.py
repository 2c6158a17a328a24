"""What all parts of lowering are written against: functions, emitted instructions, labels, frames on the stack."""

from __future__ import annotations

import abc
import re
from typing import Any

from ptxlab.emulate.program import layout
from ptxlab.emulate.program.call_graph import CallGraph, entry_function
from ptxlab.emulate.program.flat_program import Code, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.layout import Area
from ptxlab.emulate.program.scopes import STACK, Names, Routine, Scope
from ptxlab.emulate.program.system_memory import SYSTEM_SHARED, SystemMemory
from ptxlab.isa.matching import form
from ptxlab.isa.table import Form
from ptxlab.text import model
from ptxlab.text.model import Function, Instruction, Module

Guard = tuple[int, bool] | None


class Lowering(Names, abc.ABC):
    """A kernel while it is lowered: its functions, and the code emitted so far.

    Parts that emit what single instructions do are handed it; `KernelLowering` has all parts, and lowers the whole.
    """

    def __init__(self, module: Module, entry: str | None, arch: str | None, shared_gap: int = 0) -> None:
        self.arch = arch or module.target.partition(",")[0].strip() or "sm_80"
        number = re.search(r"\d+", self.arch)
        # On sm_90 and later the first KiB of shared memory belongs to the system, so a kernel's arrays start after it.
        # A kernel that asks where that KiB is has one on all targets, and may use it (cooperative groups do).
        asks = "%reserved_smem_offset_" in str(module)
        self.arrays_start = SYSTEM_SHARED if asks or (number and int(number[0]) >= 90) else 0
        self.shared_start = 0 if asks else self.arrays_start
        super().__init__(module, self.arrays_start, shared_gap)
        self.kernel = entry_function(module, entry)
        self.params, self.param_size = layout.params(self.kernel.params)
        self.functions = {f.name: f for f in module.functions if f.body is not None}
        self.codes: list[Code] = []
        self.fitting: set[tuple[Form, tuple[str, ...]]] = set()
        """Forms and types of operands that fit (see `operand_resolution`)."""
        self.routines: dict[str, Routine] = {}
        self.queue: list[str] = []
        self.label_uses: list[tuple[Scope, str]] = []
        self.graph = CallGraph(module)
        self.system = SystemMemory(module)
        self.labels = Scope(None)
        self._frame_register: Reg | None = None
        self._stack_starts: list[Code] = []

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

    def collect(
        self,
        block: model.Block,
        scope: Scope,
        out: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]],
        labels: list[tuple[Scope, str]],
    ) -> list[tuple[Scope, str]]:
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

    @abc.abstractmethod
    def instruction(self, instruction: Instruction, scope: Scope, routine: Routine) -> None:
        """Emits what an instruction of the text does: any may stand in the text that replaces another (`snippets`)."""

    def emit(self, name: str, found: Form, line: int, guard: tuple[int, bool] | None) -> Code:
        """The one place where code is added."""
        code = Code(len(self.codes), name, found, line, guard)
        self.codes.append(code)
        return code

    def op(
        self,
        opcode: str,
        dests: tuple[Any, ...],
        sources: tuple[Any, ...],
        line: int,
        guard: tuple[int, bool] | None = None,
    ) -> Code:
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

    def label(self, name: str, scope: Scope, line: int) -> int:
        """A number for this use of the label; `_link` turns it into a code index, since labels may lie ahead."""
        for where in scope:
            if name in where.labels:
                self.label_uses.append((where, name))
                return len(self.label_uses) - 1
        raise self.error(f"there is no label {name!r} in this function", line, hint=f"{name}:")

    # -- calls and blocks ----------------------------------------------------------------------------------------------

    def frame_register(self) -> Reg:
        """The frame pointer: where the frame of the running function begins on the stack."""
        if self._frame_register is None:
            self._frame_register = self.register("%frame", "b64", "")
        return self._frame_register

    def start_stack(self, line: int) -> None:
        """Emits the address of the first frame, where a function with a static frame calls one without."""
        self._stack_starts.append(self.op("mov.b64", (self.frame_register(),), (Literal(0),), line))

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
        code.targets = (self.label(label, self.labels, line),)

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

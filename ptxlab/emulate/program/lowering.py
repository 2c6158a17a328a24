"""The base of all parts of lowering: functions and the calls between them, emitted instructions, labels,
frames on the stack, and PTX text that replaces one instruction."""

from __future__ import annotations

import abc
import contextlib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ptxlab import targets
from ptxlab.emulate.program import layout
from ptxlab.emulate.program.flat_program import Code, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.graphs import reachable
from ptxlab.emulate.program.layout import SYSTEM_SHARED, Area, SystemMemory
from ptxlab.emulate.program.scopes import STACK, Names, Routine, Scope
from ptxlab.errors import LaunchError
from ptxlab.isa.actions import Action
from ptxlab.isa.matching import form
from ptxlab.isa.opcodes import action_of
from ptxlab.isa.table import Form
from ptxlab.names import find_symbol, source_name
from ptxlab.text import model, parse
from ptxlab.text.model import Function, Instruction, Module

Guard = tuple[int, bool] | None
Labels = list[tuple[Scope, str]]
Collected = list[tuple[Instruction, Scope, Labels]]
"""Instructions, their scopes, and the labels in front of them."""
FIRST_ADDRESS, EACH = 0x1000, 16
"""The address of the first function whose address is taken, and the distance to the next: far below all memory."""


class Lowering(Names, abc.ABC):
    """A kernel while it is lowered: its functions, and the code emitted so far.

    Parts that emit what single instructions do are handed it; `KernelLowering` has all parts, and lowers the whole.
    """

    def __init__(self, module: Module, entry: str | None, arch: str | None, shared_gap: int = 0) -> None:
        target = module.target.partition(",")[0].strip()
        self.arch = arch or target or "sm_80"
        targets.check_arch(target, self.arch)
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
        self.routines: dict[str, Routine] = {}
        self.queue: list[str] = []
        self.label_uses: list[tuple[Scope, str]] = []
        self.graph = CallGraph(module)
        self.system: SystemMemory
        self.labels = Scope(None)
        self._frame_register: Reg | None = None
        self._stack_starts: list[Code] = []

    # -- functions -----------------------------------------------------------------------------------------------------

    def routine(self, function: Function) -> Routine:
        """A function's routine, its formal parameters placed; its body is lowered later."""
        if function.name in self.routines:
            return self.routines[function.name]
        routine = Routine(function, 0, function.params, function.returns, Scope(self.module_scope))
        self.routines[function.name] = routine.scope.owner = routine
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

    def collect(self, block: model.Block, scope: Scope, out: Collected, labels: Labels) -> Labels:
        """Collects all instructions in order, with their scopes and the labels in front of them, and makes the
        declarations. Returns the labels that no instruction has followed yet."""
        for statement in block.statements:
            if isinstance(statement, model.Declaration):
                for variable in statement.variables:
                    self.declare(scope, variable)
            elif isinstance(statement, model.Label):
                if statement.name in scope.labels:
                    raise self.error(f"the label {statement.name} is defined twice", statement.line)
                scope.labels[statement.name] = -1
                labels.append((scope, statement.name))
            elif isinstance(statement, model.Instruction):
                out.append((statement, scope, labels))
                labels = []
            elif isinstance(statement, model.Block):
                labels = self.collect(statement, Scope(scope, scope.owner), out, labels)
            elif isinstance(statement, model.Directive) and statement.label:
                words = tuple(w for w in statement.words if w not in (",", ";"))
                scope.tables[statement.label] = words
        return labels

    # -- instructions --------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def instruction(self, instruction: Instruction, scope: Scope) -> None:
        """Emits what an instruction of the text does; any may be in text that replaces another (`lower_text`)."""

    def emit(self, name: str, found: Form, line: int, guard: Guard) -> Code:
        """The one place where code is added."""
        code = Code(len(self.codes), name, found, line, guard)
        self.codes.append(code)
        return code

    def op(self, opcode: str, dests: tuple[Any, ...], sources: tuple[Any, ...], line: int, guard: Guard = None) -> Code:
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
            self._frame_register = self.register("%frame", "b64")
        return self._frame_register

    def start_stack(self, line: int) -> None:
        """Emits the address of the first frame, where a function with a static frame calls one without."""
        self._stack_starts.append(self.op("mov.b64", (self.frame_register(),), (Literal(0),), line))

    def place_of(self, routine: Routine, variable: model.Variable) -> Source | None:
        """Where a formal parameter of a function lies."""
        return self.operand(model.Name(variable.name), routine.scope, variable.line)

    def at(self, symbol: Symbol, offset: int) -> Mem:
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
        address = self.register("%address", "b64")
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

    def branch(self, label: str, line: int, guard: Guard = None) -> None:
        code = self.emit("bra", form("bra"), line, guard)
        code.targets = (self.label(label, self.labels, line),)

    @contextlib.contextmanager
    def guarded(self, guard: Guard, line: int) -> Iterator[None]:
        """Lanes whose guard does not hold branch over what is emitted meanwhile."""
        if guard is None:
            yield
            return
        label = self.new_label()
        self.branch(label, line, (guard[0], not guard[1]))
        yield
        self.place_label(label)

    def provided(self, name: str) -> int | None:
        """A function's address, or what the driver provides a kernel with."""
        if name in self.graph.taken:
            return self.graph.taken[name]
        return self.system.provided(name)


# -- calls between functions -------------------------------------------------------------------------------------------


def entry_function(module: Module, name: str | None) -> Function:
    """The kernel of that name; without a name the only kernel of the module."""
    kernels = {f.name: f for f in module.kernels if f.body is not None}
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    if not kernels and name is None:
        called = next(
            (f"{f.name} is a function, which kernels call" for f in module.functions), "the text has no kernel"
        )
        name = module.functions[0].name if module.functions else "f"
        raise LaunchError(f"{called}\n  write:  .visible .entry {name}(.param .u64 x) {{ ... }}")
    listed = ", ".join(map(source_name, kernels)) or "none"
    if name is None:
        raise LaunchError(f"entry: the module has {len(kernels)} kernels ({listed}); name one with entry=")
    found = find_symbol(kernels, name)
    if not found:
        raise LaunchError(f"entry: no kernel {name!r} in the module; it has {listed}")
    return kernels[found]


class CallGraph:
    """The calls of a module.

    taken: the address of each function that a pointer may hold. stacked: the functions whose frames lie on a stack,
    because they may be entered again before they have returned, or lie between such functions in a chain of calls.
    """

    def __init__(self, module: Module) -> None:
        bodies = {f.name: f for f in module.functions if f.body is not None and f.kind == "func"}
        self.taken: dict[str, int] = {}
        self.stacked: set[str] = set()
        if not bodies:
            return
        declared = {f.name for f in module.functions}
        names: dict[str, None] = {}
        calls: dict[str, set[str]] = {}
        through_pointer = set()
        seen: set[int] = set()  # equal operands are one object
        for v in module.variables:
            names |= dict.fromkeys(_initial_names(v.initial))
        for f in module.functions:
            calls[f.name] = set()
            for instruction in f.instructions():
                if action_of(instruction.opcode) is not Action.CALL:
                    for operand in instruction.operands:
                        if id(operand) not in seen:
                            seen.add(id(operand))
                            for name in operand_names(operand):
                                names[name] = None
                elif (target := called(instruction)) in bodies:
                    calls[f.name].add(target)
                elif target not in declared:
                    through_pointer.add(f.name)
        known = [name for name in names if name in bodies]
        self.taken = {name: FIRST_ADDRESS + EACH * k for k, name in enumerate(known)}
        for name in through_pointer:
            calls[name] |= set(known)
        reach = {name: reachable(calls[name], lambda at: calls.get(at, ())) for name in calls}
        again = {name for name in bodies if name in reach[name]}
        below = set().union(*(reach[name] for name in again)) if again else set()
        self.stacked = again | {name for name in below if reach[name] & again}


def called(instruction: Instruction) -> str:
    """What a call names: a function, or the register that holds one."""
    return str(next(o for o in instruction.operands if not isinstance(o, model.Parens)))


def operand_names(operand: object) -> Iterator[str]:
    if isinstance(operand, model.Name):
        yield operand.text
    elif isinstance(operand, model.Vector | model.Parens):
        for element in operand.elements:
            yield from operand_names(element)
    elif isinstance(operand, model.Pair):
        yield from operand_names(operand.first)
        yield from operand_names(operand.second)
    elif isinstance(operand, model.Not):
        yield from operand_names(operand.operand)
    elif isinstance(operand, model.Address | model.Sum | model.Element):
        yield from operand_names(operand.base)
        for element in operand.extra if isinstance(operand, model.Address) else ():
            yield from operand_names(element)


def _initial_names(initial: object) -> Iterator[str]:
    if isinstance(initial, tuple):
        for element in {id(element): element for element in initial}.values():  # of a long array many are one object
            yield from _initial_names(element)
    else:
        yield from operand_names(initial)


# -- text that replaces an instruction ---------------------------------------------------------------------------------


def lower_text(
    low: Lowering,
    text: str,
    instruction: model.Instruction,
    owner: Routine,
    names: Mapping[str, Source],
    reasons: Sequence[str] = (),
) -> None:
    """Emits the statements of `text` in place of an instruction, whose accesses theirs count as. names: what undeclared
    names mean. reasons: what the fault says at each `trap`, in order."""
    scope = Scope(None, owner)
    for name, source in names.items():
        if isinstance(source, Symbol):
            scope.symbols[name] = source
        else:
            scope.registers[name] = cast("Reg", source)  # or a number: what is only read may be any operand
    pending: Collected = []
    behind = low.collect(_body(text), scope, pending, [])
    start, traps = len(low.codes), iter(reasons)
    for each, inner, before in pending:
        for where, label in before:
            where.labels[label] = len(low.codes)
        low.instruction(replace(each, line=instruction.line, tokens=()), inner)
    for where, label in behind:
        where.labels[label] = len(low.codes)
    for code in low.codes[start:]:
        code.instruction, code.part_of = None, instruction
        if code.action is Action.TRAP:
            code.reason = next(traps)


@functools.lru_cache(maxsize=256)
def _body(text: str) -> model.Block:
    module = parse(f".version 8.7\n.target sm_90\n.address_size 64\n.func put()\n{{\n{text}\n}}\n")
    body = module.functions[0].body
    assert body is not None
    return body

"""From the tree of a module to the flat program: scopes, operands, calls, basic blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ptxlab.emulate import layout
from ptxlab.emulate.layout import Area
from ptxlab.emulate.order import running_order
from ptxlab.emulate.program import (
    Block,
    Code,
    Group,
    Inverted,
    Literal,
    Mem,
    Program,
    Reg,
    Register,
    Source,
    Special,
    Symbol,
)
from ptxlab.errors import LaunchError, PtxError, UnsupportedInstruction
from ptxlab.isa import types
from ptxlab.isa.table import Form, FormError, form
from ptxlab.text import model
from ptxlab.text.model import Function, Instruction, Module, Variable

ENDS_BLOCK = frozenset({"bra", "brx", "ret", "exit", "call", "bar", "barrier", "trap"})
"""Instructions after which a new block begins: a warp may leave, split or stop there."""

_VECTOR = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


@dataclass
class Scope:
    """What names mean inside one pair of braces; unknown ones are asked of the scope around it."""

    parent: Scope | None
    variables: dict[str, Variable] = field(default_factory=dict)
    ranges: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, Reg] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class Routine:
    """A function while it is lowered: where its code starts, its formal parameters, its return register."""

    function: Function
    start: int = 0
    formals: tuple[Variable, ...] = ()
    results: tuple[Variable, ...] = ()
    scope: Scope = field(default_factory=lambda: Scope(None))
    register: int = -1


class Lowering:
    """Builds the `Program` of one kernel. Made for one use: `Lowering(module, entry, arch).program()`."""

    def __init__(self, module: Module, entry: str | None, arch: str | None) -> None:
        self.module = module
        self.lines = str(module).splitlines()
        self.arch = arch or module.target.partition(",")[0].strip() or "sm_80"
        self.kernel = self._entry(entry)
        self.codes: list[Code] = []
        self.registers: list[Register] = []
        self.routines: dict[str, Routine] = {}
        self.queue: list[str] = []
        number = re.search(r"\d+", self.arch)
        # On sm_90 and later the first KiB of shared memory belongs to the system, so a kernel's arrays start behind it.
        self.shared_start = 0x400 if number and int(number[0]) >= 90 else 0
        self.shared = Area(self.shared_start)
        self.shared_names: list[tuple[str, int, int]] = []
        self.extern_shared: list[tuple[Scope, Variable]] = []
        self.local = Area()
        self.params, self.param_size = layout.params(self.kernel.params)
        self.module_scope = Scope(None)
        self.label_uses: list[tuple[Scope, str]] = []
        self.functions = {f.name: f for f in module.functions if f.body is not None}

    # -- the whole -----------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        """Lowers the kernel and everything it calls."""
        placed = layout.globals_of(self.module.variables, lambda name: 0 if name in self.functions else None)
        for v in placed:
            self.module_scope.symbols[v.name] = Symbol(v.name, v.space, v.address)
        for variable in self.module.variables:
            if variable.space == "shared":
                self._declare_shared(self.module_scope, variable)
        self._lower_body(self.routine(self.kernel))
        while self.queue:
            self._lower_body(self.routines[self.queue.pop(0)])
        self._refuse_recursion()
        self._link()
        blocks = self._blocks()
        for scope, variable in self.extern_shared:
            self.shared.end = -(-self.shared.end // layout.align_of(variable)) * layout.align_of(variable)
        dynamic = -(-self.shared.end // 16) * 16 if self.extern_shared else self.shared.end
        self._place_extern(dynamic)
        directives = self.kernel.directives
        limit = directives.get("reqntid") or directives.get("maxntid") or ()
        return Program(
            name=self.kernel.name, arch=self.arch, codes=self.codes, blocks=blocks, registers=self.registers,
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

    # -- scopes --------------------------------------------------------------------------------------------------------

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
            routine.register = self._register(f"%return_{function.name}", "b32", function.name).index
            for v in (*function.params, *function.returns):
                self._declare(routine.scope, v, function.name, "frame")
            self.queue.append(function.name)
        return routine

    def _lower_body(self, routine: Routine) -> None:
        body = routine.function.body
        assert body is not None
        routine.start = len(self.codes)
        pending: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]] = []
        labels = self._collect(body, routine.scope, routine.function.name, pending, [])
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
        function: str,
        out: list[tuple[Instruction, Scope, list[tuple[Scope, str]]]],
        labels: list[tuple[Scope, str]],
    ) -> list[tuple[Scope, str]]:
        """All instructions in order with their scopes and the labels in front of them; declarations made on the way.
        Gives back the labels that no instruction has followed yet."""
        for statement in block.statements:
            if isinstance(statement, model.Declaration):
                for variable in statement.variables:
                    self._declare(scope, variable, function, "frame")
            elif isinstance(statement, model.Label):
                scope.labels[statement.name] = -1
                labels.append((scope, statement.name))
            elif isinstance(statement, model.Instruction):
                out.append((statement, scope, labels))
                labels = []
            elif isinstance(statement, model.Block):
                labels = self._collect(statement, Scope(scope), function, out, labels)
            elif isinstance(statement, model.Directive) and statement.label:
                words = tuple(w for w in statement.words if w not in (",", ";"))
                scope.tables[statement.label] = words
        return labels

    def _declare(self, scope: Scope, variable: Variable, function: str, param_space: str) -> None:
        if variable.space == "reg":
            (scope.ranges if variable.count else scope.variables)[variable.name] = variable
        elif variable.space == "shared":
            self._declare_shared(scope, variable)
        elif variable.space in ("local", "param"):
            at = self.local.place(layout.size_of(variable), layout.align_of(variable))
            space = "local" if variable.space == "local" else param_space
            scope.symbols[variable.name] = Symbol(variable.name, space, at)
            scope.variables[variable.name] = variable
        elif variable.space in ("global", "const"):
            raise PtxError(f".{variable.space} {variable.name!r} must be declared at module scope", line=variable.line)

    def _declare_shared(self, scope: Scope, variable: Variable) -> None:
        if variable.shape == (0,) or variable.linkage == "extern":
            self.extern_shared.append((scope, variable))
            scope.symbols[variable.name] = Symbol(variable.name, "shared", -1)
            return
        at = self.shared.place(layout.size_of(variable), layout.align_of(variable))
        scope.symbols[variable.name] = Symbol(variable.name, "shared", at)
        self.shared_names.append((variable.name, at, layout.size_of(variable)))

    def _place_extern(self, start: int) -> None:
        """Dynamic shared memory begins behind the static arrays; every extern array is a name for its start."""
        names = {variable.name for _, variable in self.extern_shared}

        def moved(operand: Source | None) -> Source | None:
            if isinstance(operand, Symbol) and operand.space == "shared" and operand.name in names:
                return Symbol(operand.name, "shared", operand.value + 1 + start)
            if isinstance(operand, Mem) and isinstance(operand.base, Symbol):
                base = moved(operand.base)
                assert isinstance(base, Symbol)
                return Mem(base, operand.offset)
            if isinstance(operand, Group):
                return Group(tuple(moved(e) for e in operand.elements))
            return operand

        if names:
            for code in self.codes:
                code.sources = tuple(moved(s) for s in code.sources)

    def _register(self, name: str, type_: str, function: str) -> Reg:
        lane = types.lane(type_)
        if lane == "i128":
            raise UnsupportedInstruction(f"the CPU machine has no 128-bit registers yet: {name}")
        self.registers.append(Register(len(self.registers), name, type_, lane, function))
        return Reg(len(self.registers) - 1)

    def _lookup(self, name: str, scope: Scope, routine: Routine) -> Source | None:
        """What a name means here: a register or a symbol; None when it is not declared."""
        where: Scope | None = scope
        while where is not None:
            if name in where.registers:
                return where.registers[name]
            if name in where.symbols:
                return where.symbols[name]
            variable = where.variables.get(name.partition(".")[0]) or _in_range(name, where.ranges)
            if variable is not None and variable.space == "reg":
                return self._make_register(name, variable, where, routine)
            where = where.parent
        return None

    def _make_register(self, name: str, variable: Variable, where: Scope, routine: Routine) -> Source:
        if variable.vector == 1:
            where.registers[name] = self._register(name, variable.type, routine.function.name)
            return where.registers[name]
        base, _, element = name.partition(".")
        letters = "xyzw"[: variable.vector]
        for letter in letters:
            part = f"{base}.{letter}"
            if part not in where.registers:
                where.registers[part] = self._register(part, variable.type, routine.function.name)
        if element:
            return where.registers[f"{base}.{letters[_VECTOR[element]]}"]
        return Group(tuple(where.registers[f"{base}.{letter}"] for letter in letters))

    # -- operands ------------------------------------------------------------------------------------------------------

    def operand(self, operand: model.Operand, scope: Scope, routine: Routine, line: int) -> Source | None:
        """What an operand means in this scope; None is the sink `_`."""
        if isinstance(operand, model.Name):
            return self._name(operand.text, scope, routine, line)
        if isinstance(operand, model.Number):
            return Literal(operand.value, operand.kind, operand.bits)
        if isinstance(operand, model.Vector):
            return Group(tuple(self.operand(e, scope, routine, line) for e in operand.elements))
        if isinstance(operand, model.Not):
            inner = self.operand(operand.operand, scope, routine, line)
            assert isinstance(inner, Reg)
            return Inverted(inner)
        if isinstance(operand, model.Sum):
            inner = self.operand(operand.base, scope, routine, line)
            if not isinstance(inner, Symbol):
                raise self.error(f"{operand} adds to something that is not a variable", line)
            return Symbol(inner.name, inner.space, inner.value + operand.offset)
        if isinstance(operand, model.Address):
            if operand.register_offset is not None or operand.extra:
                raise self.error(f"the address {operand} has a form that no executed instruction takes", line)
            inner = self.operand(operand.base, scope, routine, line)
            if not isinstance(inner, Reg | Symbol | Literal):
                raise self.error(f"{operand.base} cannot be the base of an address", line)
            return Mem(inner, operand.offset)
        raise self.error(f"{operand} cannot stand here", line)

    def _name(self, name: str, scope: Scope, routine: Routine, line: int) -> Source | None:
        if name == "_":
            return None
        found = self._lookup(name, scope, routine)
        if found is not None:
            return found
        if name == "WARP_SZ":
            return Literal(32)
        if name.startswith("%"):
            from ptxlab.isa.modifiers import SPECIAL

            if name in SPECIAL:
                return Special(name)
        raise self.error(f"{name!r} is not declared", line, hint=f".reg .b32 {name};" if name[0] == "%" else "")

    def error(self, message: str, line: int, *, hint: str = "") -> PtxError:
        """An error at a line of the module."""
        return PtxError(message, line=line, source=self.text(line), file=self.module.file, hint=hint,
                        span=self.module.spans.get(line))  # fmt: skip

    def text(self, line: int) -> str:
        """The text of a line."""
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    # -- instructions --------------------------------------------------------------------------------------------------

    def _form(self, instruction: Instruction) -> Form:
        place = {
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
            register = self._name(instruction.guard.name, scope, routine, line)
            if not isinstance(register, Reg):
                raise self.error(f"the guard {instruction.guard} is not a predicate register", line)
            guard = (register.index, instruction.guard.negated)
        if instruction.name == "call":
            from ptxlab.emulate.calls import lower_call

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
                    operand, second = operand.first, operand.second
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
                code.targets = tuple(scope.labels[name] for scope, name in map(self.label_uses.__getitem__, code.targets))

    def _blocks(self) -> list[Block]:
        """Cuts the code into blocks, numbers those that can be reached in running order and lays the code out so."""
        codes = self.codes
        leaders = {0} | {r.start for r in self.routines.values()}
        for k, code in enumerate(codes):
            if code.name in ENDS_BLOCK:
                leaders.add(k + 1)
            leaders.update(code.targets)
        starts = sorted(s for s in leaders if s < len(codes))
        block_at = {start: b for b, start in enumerate(starts)}
        ends = [*starts[1:], len(codes)]
        after_call: dict[int, list[int]] = {}
        for b, end in enumerate(ends):
            if codes[end - 1].name == "call":
                after_call.setdefault(codes[end - 1].register, []).append(b + 1)
        successors: list[tuple[int, ...]] = []
        for b, end in enumerate(ends):
            last = codes[end - 1]
            onward = (b + 1,) if b + 1 < len(starts) else ()
            if last.name == "call":
                successors.append((block_at[last.target], *(onward if last.guard else ())))
            elif last.name in ("bra", "brx"):
                jumps = tuple(block_at[t] for t in last.targets)
                successors.append((*jumps, *(onward if last.guard else ())))
            elif last.name in ("ret", "exit", "trap"):
                returns = tuple(after_call.get(last.register, ())) if last.register >= 0 and last.name == "ret" else ()
                successors.append((*returns, *(onward if last.guard else ())))
            else:
                successors.append(onward)
        order = running_order(successors)
        number = {old: new for new, old in enumerate(order)}
        self.codes = []
        blocks = []
        for new, old in enumerate(order):
            first = len(self.codes)
            self.codes += codes[starts[old] : ends[old]]
            last = self.codes[-1]
            falls = last.name not in ("bra", "brx", "ret", "exit", "trap") or last.guard is not None
            following = number.get(old + 1, -1) if falls else -1
            last.targets = tuple(number[block_at[t]] for t in last.targets)
            if last.target >= 0:
                last.target = number[block_at[last.target]]
            jumps = (last.target,) if last.name == "call" else last.targets
            if last.name == "bra":
                last.target = last.targets[0]
            if last.name == "ret":
                jumps = tuple(number[b] for b in after_call.get(last.register, ()) if b in number)
            blocks.append(Block(new, first, len(self.codes), following, jumps))
        for k, code in enumerate(self.codes):
            code.index = k
        for block in blocks:
            for code in self.codes[block.first : block.last]:
                code.block = block.index
        return blocks


def _in_range(name: str, ranges: dict[str, Variable]) -> Variable | None:
    """The `%f<4>` that declares `%f3`; a prefix may itself end in digits."""
    at = len(name)
    while at > 0 and name[at - 1].isdigit():
        at -= 1
        variable = ranges.get(name[:at])
        digits = name[at:]
        if variable is not None and int(digits) < variable.count and (digits == "0" or digits[0] != "0"):
            return variable
    return None

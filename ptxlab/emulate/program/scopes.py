"""The meaning of names: scopes, registers, symbols, and the operands of an instruction resolved against them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ptxlab.emulate.program import layout
from ptxlab.emulate.program.flat_program import (
    Code,
    Group,
    Inverted,
    Literal,
    Mem,
    Reg,
    Register,
    Source,
    Special,
    Symbol,
    Wide,
)
from ptxlab.emulate.program.layout import Area
from ptxlab.errors import PtxError, UnsupportedInstruction
from ptxlab.isa import types
from ptxlab.isa.special_registers import SPECIAL
from ptxlab.text import model
from ptxlab.text.model import Function, Module, Variable

EXTERN = 1 << 40
"""Stands for the start of dynamic shared memory until that is known."""

STACK = 1 << 41
"""Added to the offset of a variable that lies in a frame on the stack: the frame register is added when it runs."""

_VECTOR = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


@dataclass(eq=False, repr=False)
class Scope:
    """What names mean inside one pair of braces; unknown ones are looked up in the scope around it. owner: the function
    that it is in; the module's scope has none."""

    parent: Scope | None
    owner: Routine | None = None
    variables: dict[str, Variable] = field(default_factory=dict)
    ranges: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, Reg | Wide] = field(default_factory=dict)
    symbols: dict[str, Symbol] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def routine(self) -> Routine:
        assert self.owner is not None
        return self.owner

    def __iter__(self) -> Iterator[Scope]:
        """This scope, then those around it."""
        where: Scope | None = self
        while where is not None:
            yield where
            where = where.parent


@dataclass(eq=False, repr=False)
class Routine:
    """A function while it is lowered: where its code starts, its formal parameters, its return register. With its frame
    on the stack (see `calls`), `frame_size` bytes that include room for its registers: `saved` (number, offset)."""

    function: Function
    start: int = 0
    formals: tuple[Variable, ...] = ()
    results: tuple[Variable, ...] = ()
    scope: Scope = field(default_factory=lambda: Scope(None))
    register: int = -1
    frame: Area | None = None
    frame_size: int = 0
    saved: list[tuple[int, int]] = field(default_factory=list)


class Names:
    """The scopes of a module while it is lowered, and where its variables lie.

    shared: the static shared arrays, in the order of their declarations; dynamic ones are placed last (`place_extern`).
    Between two lie `shared_gap` bytes that belong to neither (see `spread`), and so before the dynamic ones. local:
    local variables and the parameters of functions, all at fixed offsets of each thread's local memory. data: `.global`
    and `.const` variables by name; inside: the names there of those that functions declare, by their identity. frame:
    where the current function has them, `local` or a frame of its own on the stack.
    """

    def __init__(self, module: Module, shared_start: int, shared_gap: int = 0) -> None:
        self.module = module
        self.lines = str(module).splitlines()
        self.registers: list[Register] = []
        self.shared, self.shared_gap = Area(shared_start), shared_gap
        self.shared_names: list[tuple[str, int, int]] = []
        self.local_names: list[tuple[str, int, int]] = []
        self.extern_shared: list[Variable] = []
        self.dynamic_names: dict[str, None] = {}
        """Of `extern_shared`, those that the kernel uses, in order."""
        self.local = Area()
        self.frame = self.local
        self.module_scope = Scope(None)
        self.data: dict[str, Symbol] = {}
        self.inside: dict[int, str] = {}

    def declare(self, scope: Scope, variable: Variable) -> None:
        """Notes a declaration in its scope and gives the variable its place."""
        if variable.space == "reg":
            (scope.ranges if variable.count else scope.variables)[variable.name] = variable
        elif variable.space == "shared":
            self.declare_shared(scope, variable)
        elif variable.space in ("local", "param"):
            at = self.frame.place(layout.size_of(variable), layout.align_of(variable))
            space = "local" if variable.space == "local" else "frame"
            if self.frame is self.local:
                self.local_names.append((variable.name, at, layout.size_of(variable)))
            scope.symbols[variable.name] = Symbol(variable.name, space, at)
            scope.variables[variable.name] = variable
        elif variable.space in ("global", "const"):
            scope.symbols[variable.name] = self.data[self.inside[id(variable)]]
            scope.variables[variable.name] = variable

    def placed_inside(self) -> list[Variable]:
        """The `.global` and `.const` variables that are declared in functions: each exists once, as those of the module
        do, under a name that no other has."""
        taken, found = {v.name for v in self.module.variables}, []
        for function in self.module.functions:
            for statement in function.body.walk() if function.body is not None else ():
                if not isinstance(statement, model.Declaration):
                    continue
                for variable in statement.variables:
                    if variable.space not in ("global", "const"):
                        continue
                    name = variable.name
                    while name in taken:
                        name += "'"
                    taken.add(name)
                    self.inside[id(variable)] = name
                    found.append(replace(variable, name=name))
        return found

    def declare_shared(self, scope: Scope, variable: Variable) -> None:
        """A static array gets its offset now, an extern one when all static ones have theirs."""
        scope.variables[variable.name] = variable
        if variable.shape == (0,) or variable.linkage == "extern":
            self.extern_shared.append(variable)
            scope.symbols[variable.name] = Symbol(variable.name, "shared", EXTERN)
            return
        if self.shared_names:
            self.shared.end += self.shared_gap
        at = self.shared.place(layout.size_of(variable), layout.align_of(variable))
        scope.symbols[variable.name] = Symbol(variable.name, "shared", at)
        self.shared_names.append((variable.name, at, layout.size_of(variable)))

    def place_extern(self, codes: list[Code]) -> int:
        """Places dynamic shared memory after the static arrays; its start, which every extern array names."""
        if not self.extern_shared:
            return self.shared.end
        align = max(16, *(layout.align_of(v) for v in self.extern_shared))
        gap = self.shared_gap if self.shared_names else 0
        start = -(-(self.shared.end + gap) // align) * align
        names = {v.name for v in self.extern_shared}

        def moved(operand: Source | None) -> Source | None:
            if isinstance(operand, Symbol) and operand.space == "shared" and operand.name in names:
                self.dynamic_names[operand.name] = None
                return Symbol(operand.name, "shared", operand.value - EXTERN + start)
            if isinstance(operand, Mem) and isinstance(operand.base, Symbol):
                base = moved(operand.base)
                assert isinstance(base, Symbol)
                return Mem(base, operand.offset)
            if isinstance(operand, Group):
                return Group(tuple(moved(e) for e in operand.elements))
            return operand

        for code in codes:
            if not _NUMBERS.issuperset(map(type, code.sources)):
                code.sources = tuple(map(moved, code.sources))
        return start

    def register(self, name: str, type_: str, function: str = "") -> Reg:
        """A new register; lowering's own belong to no function."""
        self.registers.append(Register(len(self.registers), name, type_, types.lane(type_), function))
        return Reg(len(self.registers) - 1)

    def _lookup(self, name: str, scope: Scope, line: int = 0) -> Source | None:
        """What a name means here: a register or a symbol; None when it is not declared."""
        for where in scope:
            if name in where.registers:
                return where.registers[name]
            if name in where.symbols:
                return where.symbols[name]
            variable = where.variables.get(name.partition(".")[0])
            plain = name
            if variable is None and (range_ := _in_range(name, where.ranges)) is not None:
                variable, plain = range_
            if plain in where.registers:
                return where.registers[plain]
            if variable is not None and variable.space == "reg":
                return self._make_register(plain, variable, where, scope.routine.function.name, line)
        return None

    def _make_register(self, name: str, variable: Variable, where: Scope, function: str, line: int) -> Source:
        base, _, element = name.partition(".")
        letters = "xyzw"[: variable.vector] if variable.vector > 1 else ""
        if element and _VECTOR.get(element, len(letters)) >= len(letters):
            raise self.error(f"{base} has no .{element}: line {variable.line} declares it as .{variable.type}", line)
        if variable.type == "b128":
            halves = [self.register(f"{name}.{half}", "b64", function) for half in ("low", "high")]
            where.registers[name] = Wide(tuple(halves))
            return where.registers[name]
        if variable.vector == 1:
            where.registers[name] = self.register(name, variable.type, function)
            return where.registers[name]
        for letter in letters:
            part = f"{base}.{letter}"
            if part not in where.registers:
                where.registers[part] = self.register(part, variable.type, function)
        if element:
            return where.registers[f"{base}.{letters[_VECTOR[element]]}"]
        return Group(tuple(where.registers[f"{base}.{letter}"] for letter in letters))

    def operand(self, operand: model.Operand, scope: Scope, line: int) -> Source | None:
        """What an operand means in this scope; None is the sink `_`."""
        if isinstance(operand, model.Name):
            return scope.registers.get(operand.text) or self.name(operand.text, scope, line)
        if isinstance(operand, model.Number):
            return Literal(operand.value, operand.kind, operand.bits)
        if isinstance(operand, model.Vector):
            if len(operand.elements) == 1:  # Triton writes `ld.global.b32 { %r1 }, [%rd1]`
                return self.operand(operand.elements[0], scope, line)
            return Group(tuple(self.operand(e, scope, line) for e in operand.elements))
        if isinstance(operand, model.Not):
            inner = self.operand(operand.operand, scope, line)
            assert isinstance(inner, Reg)
            return Inverted(inner)
        if isinstance(operand, model.Element):
            return self._element(operand, scope, line)
        if isinstance(operand, model.Sum):
            inner = self.operand(operand.base, scope, line)
            if operand.scale < 0:
                hint = f"neg.f32 %x, {operand.base};  (with the type of {operand.base}), and %x here"
                raise self.error(f"no instruction but neg changes the sign of a register: {operand}", line, hint=hint)
            if not isinstance(inner, Symbol):
                raise self.error(f"{operand} adds to something that is not a variable", line)
            return Symbol(inner.name, inner.space, inner.value + operand.offset)
        if isinstance(operand, model.Address):
            if operand.register_offset is not None or operand.extra:
                raise self.error(f"the address {operand} has a form that no executed instruction takes", line)
            inner = self.operand(operand.base, scope, line)
            if not isinstance(inner, Reg | Symbol | Literal):
                raise self.error(f"{operand.base} cannot be the base of an address", line)
            return Mem(inner, operand.offset)
        raise self.error(f"{operand} cannot stand here", line)

    def _element(self, operand: model.Element, scope: Scope, line: int) -> Symbol:
        """`table[3]`: the address of an element."""
        array = self.operand(operand.base, scope, line)
        where = next((each for each in scope if str(operand.base) in each.variables), None)
        if not isinstance(array, Symbol) or where is None or not isinstance(operand.index, model.Number):
            raise self.error(
                f"the emulator cannot read {operand}: the index must be a number; compute the address in a register",
                line,
            )
        variable = where.variables[str(operand.base)]
        each = layout.size_of(variable) // max(math.prod(variable.shape), 1) or 1
        return Symbol(array.name, array.space, array.value + int(operand.index.value) * each)

    def name(self, name: str, scope: Scope, line: int) -> Source | None:
        """What a name means: a register, a special register or a symbol; None for the sink."""
        if name == "_":
            return None
        found = self._lookup(name, scope, line)
        if found is not None:
            return found
        if name == "WARP_SZ":
            return Literal(32)
        given = self.provided(name)
        if given is not None:
            return Literal(given)
        if name in SPECIAL:
            return Special(name)
        raise self.error(f"{name!r} is not declared", line, hint=f".reg .b32 {name};" if name[0] == "%" else "")

    def table(self, name: str, scope: Scope, line: int) -> tuple[str, ...]:
        """The labels of a `.branchtargets` list."""
        for where in scope:
            if name in where.tables:
                if not where.tables[name]:
                    raise self.error(f"the .branchtargets list {name!r} is empty", line)
                return where.tables[name]
        raise self.error(f"there is no .branchtargets list {name!r}", line)

    def provided(self, name: str) -> int | None:
        """The number that the system gives for a name, such as a function's address."""
        raise NotImplementedError

    def error(self, message: str, line: int, *, hint: str = "") -> PtxError:
        return PtxError(message, line=line, hint=hint, **self._at(line))

    def unsupported(
        self, instruction: model.Instruction, what: str, *, length: int = 1, syntax: str = ""
    ) -> UnsupportedInstruction:
        line, column = instruction.line, instruction.column
        return UnsupportedInstruction(what, line=line, column=column, length=length, syntax=syntax, **self._at(line))

    def _at(self, line: int) -> dict[str, Any]:
        return {"source": self.text(line), "file": self.module.file, "span": self.module.spans.get(line)}

    def text(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""


_NUMBERS = frozenset({Reg, Literal, type(None)})
"""The types of what does not name a variable."""


def _in_range(name: str, ranges: dict[str, Variable]) -> tuple[Variable, str] | None:
    """The `%f<4>` that declares `%f3`, and the plain name: %f03 is %f3. A prefix may end in digits."""
    at = len(name)
    while at > 0 and name[at - 1].isdigit():
        at -= 1
        variable = ranges.get(name[:at])
        digits = name[at:]
        if variable is not None and int(digits) < variable.count:
            return variable, f"{name[:at]}{int(digits)}"
    return None

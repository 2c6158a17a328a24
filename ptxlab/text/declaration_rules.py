"""Validates the declarations of a module by the rules of NVIDIA's assembler: names, types, sizes.

`misdeclared` finds the mistakes; `check` raises the first one, before a launch asks for sizes. First
values are validated in `initial`. A name may be declared once in its braces. A range `%r<4>` takes %r0 to %r3, but not
%r; labels share the names of variables; a function's parameters share those of its body. Module scope allows more: a
function may be declared before its definition, and an `.extern` variable together with its definition.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Iterable, Iterator
from itertools import chain

from ptxlab.errors import PtxError
from ptxlab.isa.types import OPAQUE, VARIABLES, WIDTH, width
from ptxlab.targets import LOCAL_PER_THREAD
from ptxlab.text.initializer_rules import mistake
from ptxlab.text.lexer import Source
from ptxlab.text.model import Block, Declaration, Directive, Function, Instruction, Label, Module, Variable
from ptxlab.text.scope import Scope

RESERVED = ("_", "WARP_SZ")
LARGEST = 1 << 40
"""Bytes of one variable. The assembler takes more and keeps the low bits of the number; no GPU has that much memory."""
CONST = 64 << 10
"""Bytes of constant memory of a module."""
PARAMETERS, MORE_PARAMETERS = 4352, 32764
"""Bytes of a kernel's parameters; the second from PTX 8.1 on."""


def check(module: Module) -> None:
    """Raises the first mistake in the declarations of a module."""
    for first in misdeclared(module):
        raise first


def misdeclared(module: Module) -> Iterator[PtxError]:
    """The mistakes in the declarations of a module, as errors."""
    return _Declared(module).findings()


def size_of(variable: Variable) -> int:
    """Bytes of a variable; 0 for an array without a length, and for what textures are read by."""
    if variable.type not in WIDTH:
        return 0
    return max(1, width(variable.type) // 8) * variable.vector * math.prod(variable.shape)


class _Names(Scope):
    """The names of one pair of braces, labels among them."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: dict[str, int] = {}  # name -> line

    def taken(self, name: str) -> str:
        """Why a single name cannot be declared here any more; empty where it can."""
        if name in self.labels:
            return f"the label {name} is already on line {self.labels[name]}"
        if (before := self.variables.get(name)) is not None:
            what = "register" if before.space == "reg" else "variable"
            return f"the {what} {name} is already on line {before.line}"
        range_ = self.spelt(name, within=True)
        if range_ is None:
            return ""
        last = f"{range_.name}{range_.count - 1}"
        return f"{name} is already on line {range_.line}, which declares {range_.name}0 to {last}"

    def taken_by(self, variable: Variable) -> str:
        """Why a variable or a range of registers cannot be declared here; empty where it can."""
        if not variable.count:
            return self.taken(variable.name)
        before = self.ranges.get(variable.name)
        if before is not None:
            return f"the registers {before.name}<{before.count}> are already on line {before.line}"
        lines = self.labels | {name: each.line for name, each in self.variables.items()}
        numbers = ((name.removeprefix(variable.name), name) for name in lines if name.startswith(variable.name))
        clashes = ((int(n), name) for n, name in numbers if n.isdecimal() and int(n) < variable.count)
        _, name = min(clashes, default=(0, ""))
        declares = f"{variable.name}<{variable.count}> declares {name} again, which is already on line"
        return f"{declares} {lines[name]}" if name else ""


class _Declared:
    def __init__(self, module: Module) -> None:
        self.module, self.source = module, Source(module, module.file, module.spans)
        self.const = 0
        self.known: ChainMap[str, str] = ChainMap()  # what an initialiser may name -> its space, or "function"

    def error(self, message: str, line: int, column: int, length: int, hint: str = "") -> PtxError:
        """An error at a place."""
        return PtxError(message, **self.source.place(line, column, length, hint))

    def at(self, variable: Variable, message: str, hint: str = "") -> PtxError:
        """An error under the name of a variable."""
        return self.error(message, variable.line, variable.column, len(variable.name), hint)

    def renamed(self, variable: Variable) -> str:
        """The line with another name for a variable."""
        return self.source.replaced(variable.line, variable.column, len(variable.name), f"{variable.name}_2")

    # -- scopes --------------------------------------------------------------------------------------------------------

    def findings(self) -> Iterator[PtxError]:
        """The mistakes of the whole module, in the order of the text."""
        functions: dict[str, Function] = {}
        variables: dict[str, Variable] = {}
        for item in self.module.items:
            if isinstance(item, Function):
                yield from self.function(item, functions, variables)
            elif isinstance(item, Declaration):
                for variable in item.variables:
                    yield from self.module_variable(variable, functions, variables)

    def module_variable(
        self, variable: Variable, functions: dict[str, Function], variables: dict[str, Variable]
    ) -> Iterator[PtxError]:
        """The mistakes of a variable at module scope."""
        before = variables.get(variable.name)
        if variable.space in ("reg", "local", "param"):
            what = {"reg": "registers", "local": "local variables", "param": "parameters"}[variable.space]
            yield self.at(variable, f"{what} are declared inside a function, between its '{{' and '}}'")
        elif variable.name in functions:
            line = functions[variable.name].line
            yield self.at(variable, f"the function {variable.name} is already on line {line}", self.renamed(variable))
        elif before is not None and "extern" not in (before.linkage, variable.linkage):
            why = f"the variable {variable.name} is already on line {before.line}"
            yield self.at(variable, why, self.renamed(variable))
        elif before is not None and before.linkage == "extern" and not variable.linkage:
            why = f"{variable.name} is .extern on line {before.line}, so its definition is .visible"
            yield self.at(variable, why, f".visible {self.source.line(variable.line).partition('//')[0].strip()}")
        elif before is not None and (before.space, before.type) != (variable.space, variable.type):
            was = f".{before.space} .{before.type}"
            yield self.at(
                variable,
                f"{variable.name} is .{variable.space} .{variable.type} here, {was} on line "
                f"{before.line}; both declarations must agree",
            )
        variables[variable.name] = variable if before is None or before.linkage == "extern" else before
        self.known[variable.name] = variable.space
        yield from self.variable(variable)

    def function(
        self, function: Function, functions: dict[str, Function], variables: dict[str, Variable]
    ) -> Iterator[PtxError]:
        """The mistakes of a function: its name, its parameters, its body."""
        name, before = function.name, functions.get(function.name)
        token = next(t for t in function.head if t.text == name)
        why = _conflict(before, function) if before is not None else ""
        if name in variables:
            why = f"the variable {name} is already on line {variables[name].line}"
        if why:
            hint = self.source.replaced(token.line, token.column, len(name), f"{name}_2") if function.body else ""
            yield self.error(why, token.line, token.column, len(token.text), hint)
        if before is None or before.body is None:
            functions[name] = function
        self.known[name] = "function"
        names = _Names()
        for variable in chain(function.returns, function.params):
            if variable.name != "_" or function.body is not None:
                yield from self.declared(variable, names)
            yield from self.parameter(function, variable)
        if function.kind == "entry":
            yield from self.room(function)
        if function.body is not None:
            yield from self.block(function.body, names)

    def block(self, block: Block, names: _Names) -> Iterator[PtxError]:
        """The mistakes in one pair of braces."""
        self.known = self.known.new_child()
        for statement in block.statements:
            if isinstance(statement, Instruction):
                continue  # most are, and none declares anything
            if isinstance(statement, Declaration):
                for variable in statement.variables:
                    yield from self.declared(variable, names)
                    yield from self.variable(variable)
                    self.known[variable.name] = variable.space
            elif isinstance(statement, Block):
                yield from self.block(statement, _Names())
            elif isinstance(statement, Label) or (isinstance(statement, Directive) and statement.label):
                name = statement.name if isinstance(statement, Label) else statement.label
                if why := names.taken(name):
                    token = statement.tokens[0]
                    yield self.error(why, token.line, token.column, len(token.text), f"{name}_2:")
                else:
                    names.labels[name] = statement.line
        self.known = self.known.parents

    def declared(self, variable: Variable, names: _Names) -> Iterator[PtxError]:
        """A name that cannot be declared, or not here."""
        if variable.name in RESERVED:
            yield self.at(variable, f"{variable.name} has a meaning of its own and cannot be declared")
        elif "." in variable.name or "::" in variable.name:
            yield self.at(variable, f"the name of a variable has no dot; found {variable.name}")
        elif why := names.taken_by(variable):
            yield self.at(variable, why, self.renamed(variable))
        else:
            names.declare(variable)

    # -- one variable --------------------------------------------------------------------------------------------------

    def variable(self, variable: Variable) -> Iterator[PtxError]:
        """What is wrong with the type, the size or the initial value of a variable: the first of these."""
        why, hint = self.wrong_type(variable) or self.wrong_size(variable) or ("", "")
        if variable.initial is not None and not why:
            why = mistake(variable, self.known)
        if why:
            yield self.at(variable, why, hint)

    def wrong_type(self, v: Variable) -> tuple[str, str] | None:
        """A type that variables of this space do not have, with the line to write."""
        if v.space == "sreg":
            return "the special registers are declared by the machine; a register of your own is .reg", ""
        if v.type == "pred":
            if v.space != "reg":
                return f"a predicate is a register; .{v.space} holds it as a number, such as .u32", ""
            return ("predicates have no vectors", "") if v.vector > 1 else None
        if v.type in OPAQUE:
            return None
        if v.type not in VARIABLES:
            bits = max(8, width(v.type)) if v.type in WIDTH else 16
            line = self.source.line(v.line)
            at = line.find(f".{v.type}")
            hint = self.source.replaced(v.line, at + 1, len(v.type) + 1, f".b{bits}") if at >= 0 else ""
            return f".{v.type} is a type of instructions; a variable that holds it is .b{bits}", hint
        if v.vector * width(v.type) > 128:
            return f"a vector has at most 128 bits, .v{v.vector} .{v.type} has {v.vector * width(v.type)}", ""
        return None

    def wrong_size(self, v: Variable) -> tuple[str, str] | None:
        """A size that no variable of this space has, with the line to write."""
        if v.space == "reg":
            if not v.shape:
                return None
            line = f".reg .{v.type} {v.name}<{v.shape[0]}>;" if v.shape[0] else ""
            return f"registers have no arrays; {v.name}<n> declares n of them", line
        size = size_of(v)
        if v.shape and not size and v.linkage != "extern" and v.type not in OPAQUE:
            length = "as many as it has initial values" if v.initial is not None else "a length"
            extern = " (or .extern, where the launch gives the size)" if v.space == "shared" else ""
            return f"the array {v.name} needs {length}{extern}", ""
        if size > LARGEST:
            return f"{v.name} has {size:,} bytes; no GPU has that much memory", ""
        if v.space == "local" and size > LOCAL_PER_THREAD:
            return f"{v.name} has {size:,} bytes; a thread has at most {LOCAL_PER_THREAD:,} bytes of local memory", ""
        if v.space == "const" and v.linkage != "extern":
            self.const += size
            if self.const > CONST:
                return f"{v.name} makes it {self.const:,} bytes of .const; a module has at most {CONST:,}", ""
        return None

    def parameter(self, function: Function, v: Variable) -> Iterator[PtxError]:
        """What is wrong with a parameter."""
        why, hint = self.wrong_type(v) or ("", "")
        if not why and function.kind == "entry" and v.space != "param":
            why = f"the parameter {v.name} of a kernel must be .param, not .{v.space}"
        elif not why and v.count:
            why = f"a parameter is one variable; {v.name}<{v.count}> declares several"
        elif not why and v.initial is not None:
            why = f"the parameter {v.name} cannot have an initial value: the caller gives it"
        elif not why and function.kind == "entry" and v.vector > 1:
            why = f"a kernel has no vectors for parameters; write {v.name} as an array"
        elif not why and v.shape and not size_of(v) and (function.kind == "entry" or v not in function.params[-1:]):
            why = f"the array {v.name} needs a length"
        elif not why and size_of(v) > LARGEST:
            why = f"{v.name} has {size_of(v):,} bytes; no GPU has that much memory"
        if why:
            yield self.at(v, why, hint)

    def room(self, function: Function) -> Iterator[PtxError]:
        """A kernel whose parameters are too large together: the error is under the first that has no room."""
        more = not (0, 0) < self.module.version < (8, 1)
        most, end = MORE_PARAMETERS if more else PARAMETERS, 0
        for v in function.params:
            align = max(v.align, size_of(v) // max(1, math.prod(v.shape)), 1)
            end = -(-end // align) * align + (size_of(v) or 8)
            if end > most:
                yield self.at(v, f"{v.name} makes it {end:,} bytes of parameters; a kernel has at most {most:,}")
                return


# -- words -------------------------------------------------------------------------------------------------------------


def _conflict(before: Function, function: Function) -> str:
    """Why a function cannot be declared as it is after an earlier declaration; empty where it can."""
    name, line = function.name, before.line
    if before.kind != function.kind:
        return f"{name} is a .{before.kind} on line {line} and a .{function.kind} here"
    if before.body is not None:
        return f"the .{before.kind} {name} is already on line {line}"
    for what, then, now in (
        ("parameters", before.params, function.params),
        ("results", before.returns, function.returns),
    ):
        if _types(then) != _types(now):
            return f"{name} has the {what} ({_listed(now)}) here, ({_listed(then)}) on line {line}"
    if before.linkage != function.linkage and (function.linkage or before.linkage == "extern"):
        return f"{name} is {_linkage(function)} here, {_linkage(before)} on line {line}"
    return ""


def _linkage(function: Function) -> str:
    return f".{function.linkage}" if function.linkage else "without linkage"


def _types(variables: Iterable[Variable]) -> list[tuple[str, int, tuple[int, ...]]]:
    return [(v.type, v.vector, v.shape) for v in variables]


def _listed(variables: Iterable[Variable]) -> str:
    lengths = ((v, "".join(f"[{n or ''}]" for n in v.shape)) for v in variables)
    return ", ".join(f".{v.space} .{v.type} {v.name}{length}" for v, length in lengths)

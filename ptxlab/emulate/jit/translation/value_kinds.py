"""The kinds of values in the rules' language, and their types in LLVM IR."""

from __future__ import annotations

import functools
import types
import typing
from dataclasses import dataclass
from typing import Any

from ptxlab.emulate.language import types as language
from ptxlab.emulate.language.records import Record
from ptxlab.emulate.language.rules import Rule
from ptxlab.emulate.language.types import Pointer, Scalar, Vector

BOOLEAN: Any = language.boolean
U8: Any = language.u8
U32: Any = language.u32
U64: Any = language.u64
VECTORS: dict[tuple[str, int], Any] = {
    (vector.element.name, vector.width): vector for vector in vars(language).values() if isinstance(vector, Vector)
}


class RuleError(TypeError):
    """A rule uses what the language does not have."""


@dataclass(frozen=True)
class Pointing:
    """The kind of a pointer: to numbers or to records, and how many make a row if it is an array of rows."""

    target: Any
    columns: int = 0

    def __repr__(self) -> str:
        return f"Pointer[{kind_name(self.target)}]"


class Null:
    """The kind of `None`."""


@dataclass(eq=False, repr=False)
class Val:
    """A value: its kind, and its name or literal in LLVM or, of a constant, the Python number."""

    kind: Any
    text: str = ""
    const: Any = None

    @property
    def type(self) -> str:
        return llvm_type(self.kind)

    @property
    def constant(self) -> bool:
        """Whether it is a number that has no type yet."""
        return self.kind is int


def kind_of_annotation(annotation: Any) -> Any:
    """The kind of a parameter, result or local with this annotation."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        (pointed,) = (one for one in arguments if one is not type(None))
        return kind_of_annotation(pointed)
    if origin is typing.Annotated:
        return arguments[0]
    if origin is tuple:
        return tuple(kind_of_annotation(one) for one in arguments)
    if isinstance(origin, type) and issubclass(origin, Pointer):
        return Pointing(arguments[0])
    if annotation is None or isinstance(annotation, Scalar | Vector) or is_record(annotation):
        return annotation
    if annotation is bool:
        return BOOLEAN
    raise RuleError(f"{annotation!r} is not a type of the rules; write u32, u64, lanes_u64, Pointer[u64], a record")


def is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


def kind_name(kind: Any) -> str:
    """How the language spells a kind."""
    return kind.__name__ if isinstance(kind, type) else repr(kind)


def element_of(kind: Any) -> Any:
    """The kind of a vector's elements; any other kind itself."""
    return kind.element if isinstance(kind, Vector) else kind


@functools.cache
def llvm_type(kind: Any) -> str:
    if isinstance(kind, Scalar):
        return f"i{kind.bits}"
    if isinstance(kind, Vector):
        return f"<{kind.width} x i{kind.element.bits}>"
    if isinstance(kind, tuple):
        return f"{{{', '.join(llvm_type(one) for one in kind)}}}"
    return "void" if kind is None else "ptr"


def literal(kind: Any, number: int) -> str:
    """A number of this kind as LLVM writes it, the same in all lanes of a vector."""
    return f"splat ({llvm_type(kind.element)} {number:d})" if isinstance(kind, Vector) else f"{number:d}"


@functools.cache
def signature(rule: Rule) -> tuple[list[Any], Any]:
    """The kinds of a rule's parameters and of its result."""
    for name in (*rule.parameters, "return"):
        if name not in rule.types:
            raise RuleError(f"{rule.symbol}: what type has {name}? Annotate it.")
    return [kind_of_annotation(rule.types[name]) for name in rule.parameters], kind_of_annotation(rule.types["return"])

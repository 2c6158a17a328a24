"""Facts about an expression at translation: a constant, a global of the rule's module, a kind of record."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ptxlab.emulate.jit.translation.value_kinds import BOOLEAN, RuleError, Val, is_record
from ptxlab.emulate.language.types import Scalar

FOLD: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
FOLD_ONE: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
COMPARE: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
MISSING: Any = object()


class _NotFixedError(Exception):
    """An expression is not a number that is known at translation."""


class Folding:
    """The part of the translator that analyses expressions without emitting code."""

    names: dict[str, Any]  # the rule's globals
    known: Mapping[str, int]
    where: Callable[[ast.AST], str]
    locals: dict[str, Val]  # kind, and the stack slot as its text

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        raise RuleError(f"{self.where(node)}: {message}")

    def fixed(self, node: ast.expr) -> Any:
        """The number that an expression always is, or MISSING."""
        try:
            return self._number(node)
        except _NotFixedError:
            return MISSING

    def _number(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                found = MISSING if name in self.locals else self.names.get(name, MISSING)
            case ast.Constant(value=found):
                pass
            case ast.Attribute():
                found = self._attribute(node)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in FOLD:
                return FOLD[type(op)](self._number(a), self._number(b))
            case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in COMPARE:
                return COMPARE[type(op)][1](self._number(a), self._number(b))
            case ast.UnaryOp(op=op, operand=a):
                return FOLD_ONE[type(op)](self._number(a))
            case ast.BoolOp(op=op, values=values):
                decides, numbers = isinstance(op, ast.Or), [self.fixed(value) for value in values]
                if any(number is not MISSING and bool(number) is decides for number in numbers):
                    return decides
                found = MISSING if MISSING in numbers else not decides
            case ast.Call(func=ast.Attribute(value=owner, attr="offset"), args=[ast.Constant(value=path)]):
                record = self.global_value(owner)
                found = record.offset(path) if is_record(record) else MISSING
            case ast.Call(func=function, args=[a], keywords=[]):
                kind = self.global_value(function)
                found = kind(self._number(a)) if isinstance(kind, Scalar) else MISSING
            case _:
                found = MISSING
        if not isinstance(found, int):
            raise _NotFixedError
        return found

    def _attribute(self, node: ast.Attribute) -> Any:
        """A number of a module or class, or a field of a record that is known."""
        owner = self.global_value(node.value)
        if owner is not MISSING:
            return getattr(owner, node.attr, MISSING)
        record = self.record_of(node.value)
        value = self.known.get(f"{record.__name__}.{node.attr}", MISSING) if record is not None else MISSING
        return bool(value) if value is not MISSING and record.fields[node.attr].kind is BOOLEAN else value

    def global_value(self, node: ast.expr) -> Any:
        """The module, class or function that an expression names, or MISSING."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            builtin = {"min": min, "max": max, "range": range, "bool": bool, "int": int, "len": len}.get(node.id)
            return self.names.get(node.id, MISSING if builtin is None else builtin)
        if isinstance(node, ast.Attribute):
            owner = self.global_value(node.value)
            if inspect.ismodule(owner) or inspect.isclass(owner):
                return getattr(owner, node.attr, MISSING)
        return MISSING

    def record_of(self, node: ast.expr) -> Any:
        """The class of the record that an expression evaluates to; None if it is not a record."""
        if isinstance(node, ast.Name) and node.id in self.locals:
            kind = self.locals[node.id].kind
            return kind if is_record(kind) else None
        many = isinstance(node, ast.Subscript)
        place = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(place, ast.Attribute):
            owner = self.record_of(place.value)
            field = owner.fields.get(place.attr) if owner is not None else None
            if field is not None and is_record(field.kind) and many == (field.pointer or field.shape is not None):
                return field.kind
        return None

    def typed_inside(self, node: ast.expr) -> bool:
        """Whether a constant expression has a type: a cast is in it, or a field that is known."""
        return not isinstance(node, ast.Constant | ast.Name) and any(
            isinstance(self.global_value(one.func), Scalar)
            if isinstance(one, ast.Call)
            else isinstance(one, ast.Attribute) and self.record_of(one.value) is not None
            for one in ast.walk(node)
        )

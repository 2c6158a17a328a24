"""What is known of an expression at translation: a constant, a global of the rule's module, a kind of record."""

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


class Folding:
    """The part of the translator that analyses expressions without emitting code."""

    names: dict[str, Any]  # the rule's globals
    known: Mapping[str, int]
    where: Callable[[ast.AST], str]
    locals: dict[str, Val]  # kind, and the stack slot as its text

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        """Raises the error for a node of a rule."""
        raise RuleError(f"{self.where(node)}: {message}")

    def fixed(self, node: ast.expr) -> Any:
        """The number that an expression always is, or MISSING."""
        fold = _FIXED.get(type(node))  # a match statement would ask for one class after the other
        return MISSING if fold is None else fold(self, node)

    def _fixed_name(self, node: ast.Name) -> Any:
        return MISSING if node.id in self.locals else self._outside(self.names.get(node.id, MISSING))

    def _fixed_unary(self, node: ast.UnaryOp) -> Any:
        inside = self.fixed(node.operand)
        return MISSING if inside is MISSING else FOLD_ONE[type(node.op)](inside)

    def _fixed_binary(self, node: ast.BinOp) -> Any:
        a = self.fixed(node.left)
        c = MISSING if a is MISSING else self.fixed(node.right)
        return MISSING if c is MISSING or type(node.op) not in FOLD else FOLD[type(node.op)](a, c)

    def _fixed_comparison(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1 or type(node.ops[0]) not in COMPARE:
            return MISSING
        a = self.fixed(node.left)
        c = MISSING if a is MISSING else self.fixed(node.comparators[0])
        return MISSING if c is MISSING else COMPARE[type(node.ops[0])][1](a, c)

    def _fixed_call(self, node: ast.Call) -> Any:
        if len(node.args) != 1:
            return MISSING
        function, argument = node.func, node.args[0]
        kind = MISSING if node.keywords else self.global_value(function)
        if isinstance(kind, Scalar):
            given = self.fixed(argument)
            return MISSING if given is MISSING else kind(given)
        if isinstance(function, ast.Attribute) and function.attr == "offset" and isinstance(argument, ast.Constant):
            record = self.global_value(function.value)
            return record.offset(argument.value) if is_record(record) else MISSING
        return MISSING

    def _outside(self, value: Any) -> Any:
        return value if isinstance(value, int) else MISSING

    def _fixed_attribute(self, node: ast.Attribute) -> Any:
        base, name = node.value, node.attr
        owner = self.global_value(base)
        if owner is not MISSING:
            return self._outside(getattr(owner, name, MISSING))
        kind = self.record_of(base)
        if kind is None or f"{kind.__name__}.{name}" not in self.known:
            return MISSING
        value = self.known[f"{kind.__name__}.{name}"]
        return bool(value) if kind.fields[name].kind is BOOLEAN else value

    def _fixed_logic(self, node: ast.BoolOp) -> Any:
        conjunction, found = isinstance(node.op, ast.And), [self.fixed(value) for value in node.values]
        if any(value is not MISSING and bool(value) is not conjunction for value in found):
            return not conjunction
        return MISSING if MISSING in found else conjunction

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


_FIXED: dict[type, Callable[[Folding, Any], Any]] = {
    ast.Constant: lambda _, node: node.value if isinstance(node.value, int) else MISSING,
    ast.Name: Folding._fixed_name,
    ast.Attribute: Folding._fixed_attribute,
    ast.UnaryOp: Folding._fixed_unary,
    ast.BinOp: Folding._fixed_binary,
    ast.Compare: Folding._fixed_comparison,
    ast.BoolOp: Folding._fixed_logic,
    ast.Call: Folding._fixed_call,
}

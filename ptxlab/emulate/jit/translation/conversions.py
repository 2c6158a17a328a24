"""Conversions of values in the rules' language: widened, cast, broadcast to all lanes, to a common kind."""

from __future__ import annotations

import ast
from typing import Any

from ptxlab.emulate.jit.translation import ir
from ptxlab.emulate.jit.translation.folding import Folding
from ptxlab.emulate.jit.translation.value_kinds import (
    BOOLEAN,
    I1,
    I32,
    U64,
    VECTORS,
    Null,
    Pointing,
    Val,
    is_record,
    kind_name,
    llvm_type,
)
from ptxlab.emulate.language.types import Scalar, Vector


class Conversions(Folding):
    """The part of the translator that changes kinds."""

    b: ir.Builder
    intrinsics: dict[str, ir.Called]

    def constant(self, value: Any) -> Val:
        """A number without a type yet; True and False have one."""
        return Val(BOOLEAN, ir.Constant(I1, int(value)), value) if isinstance(value, bool) else Val(int, const=value)

    def to(self, value: Val, kind: Any, node: ast.AST) -> Any:
        """The IR of a value as another kind, where no information is lost."""
        if value.kind == kind:
            return value.ir
        if isinstance(value.kind, Null) and (isinstance(kind, Pointing) or is_record(kind)):
            return ir.NULL
        if isinstance(kind, Vector) and not isinstance(value.kind, Vector):
            return self.broadcast(self.to(value, kind.element, node), kind)
        if value.constant and isinstance(kind, Scalar) and kind.bits > 1:
            low, high = (-(1 << kind.bits - 1), 1 << kind.bits - 1) if kind.signed else (0, 1 << kind.bits)
            if not low <= value.const < high:
                self.fail(node, f"{value.const} does not fit {kind}; write {kind}({value.const})")
            return ir.Constant(ir.number(kind.bits), value.const)
        if isinstance(kind, Scalar) and isinstance(value.kind, Scalar) and self._widens(value.kind, kind):
            return self.b.convert("zext", value.ir, ir.number(kind.bits))
        if isinstance(kind, Pointing) and isinstance(value.kind, Pointing) and value.kind.target is kind.target:
            return value.ir
        if is_record(kind) and isinstance(value.kind, Pointing) and value.kind.target is kind:
            self.fail(node, f"here is a pointer to records; write [0] after it for the first {kind.__name__}")
        names = kind_name(value.kind), kind_name(kind)
        how = f"; write {names[1]}(...)" if isinstance(kind, Scalar) and isinstance(value.kind, Scalar) else ""
        self.fail(node, f"this is {'a number' if value.constant else names[0]}, where {names[1]} is needed{how}")

    @staticmethod
    def _widens(narrow: Scalar, wide: Scalar) -> bool:
        return 1 < narrow.bits < wide.bits and not narrow.signed

    def named(self, name: str, result: Any, parameters: list[Any]) -> Any:
        """An LLVM intrinsic, declared once."""
        return self.intrinsics.setdefault(name, ir.Called(result, parameters, f"@{name}"))

    def broadcast(self, scalar: Any, kind: Vector) -> Any:
        """One number in all lanes."""
        vector = llvm_type(kind)
        if isinstance(scalar, ir.Constant):
            return ir.Constant(vector, scalar.number)
        first = self.b.insert(ir.undefined(vector), scalar, ir.Constant(I32, 0))
        return self.b.shuffle(first, [0] * kind.width)

    def typed(self, value: Val, node: ast.AST) -> Val:
        """The value with a type: a constant without one is a u64."""
        return Val(U64, self.to(value, U64, node)) if value.constant else value

    def common(self, a: Val, c: Val, node: ast.AST) -> Any:
        """The common kind of two values."""
        if a.constant and c.constant:
            return U64
        if a.kind == c.kind:
            return a.kind
        if c.constant:
            a, c = c, a
        if a.constant and isinstance(c.kind, Scalar) and c.kind.bits > 1:
            wide = not c.kind.signed and a.const >> c.kind.bits and a.const > 0
            return U64 if wide else c.kind
        for x, y in ((a, c), (c, a)):
            if isinstance(x.kind, Vector) and not isinstance(y.kind, Vector):
                return x.kind
            if isinstance(x.kind, Vector) and isinstance(y.kind, Vector) and x.kind.width == y.kind.width:
                if self._widens(x.kind.element, y.kind.element):
                    return y.kind
            elif isinstance(x.kind, Scalar) and isinstance(y.kind, Scalar) and self._widens(x.kind, y.kind):
                return y.kind
        names = kind_name(a.kind), kind_name(c.kind)
        self.fail(node, f"{names[0]} and {names[1]} have no common type; cast one of them, as in u64(x)")

    def unified(self, a: Val, c: Val, node: ast.AST) -> tuple[Any, Any, Any]:
        """Two values as their common kind, and that kind."""
        kind = self.common(a, c, node)
        found = []
        for value in (a, c):
            if isinstance(kind, Vector) and isinstance(value.kind, Vector) and value.kind is not kind:
                found.append(self.b.convert("zext", value.ir, llvm_type(kind)))
            else:
                found.append(self.to(value, kind, node))
        return found[0], found[1], kind

    def resized(self, value: Any, bits: int, kind: Any) -> Any:
        wanted = kind.element.bits if isinstance(kind, Vector) else kind.bits
        if bits == wanted:
            return value
        return self.b.convert("zext" if bits < wanted else "trunc", value, llvm_type(kind))

    def truth(self, value: Val, node: ast.AST) -> Any:
        """i1: whether a condition holds."""
        if value.kind is BOOLEAN:
            return value.ir
        if value.constant:
            return ir.Constant(I1, int(bool(value.const)))
        if isinstance(value.kind, Scalar):
            return self.b.compare("!=", value.ir, ir.Constant(value.ir.type, 0))
        hint = "any_of(x) or all_of(x)" if isinstance(value.kind, Vector) else "`x is not None`"
        self.fail(node, f"{kind_name(value.kind)} is not a condition; write {hint}")

    def cast(self, value: Val, kind: Any, node: ast.AST) -> Val:
        """`u32(x)`."""
        if value.constant:
            return Val(kind, ir.Constant(ir.number(kind.bits), kind(value.const)))
        if isinstance(value.kind, Vector):
            wanted = VECTORS[kind.name, value.kind.width]
            return Val(wanted, self.resized(value.ir, value.kind.element.bits, wanted))
        if not isinstance(value.kind, Scalar):
            self.fail(node, f"{kind_name(value.kind)} cannot be made {kind}")
        if kind is BOOLEAN:
            return Val(kind, self.truth(value, node))
        if value.kind.bits == kind.bits:
            return Val(kind, value.ir)
        if value.kind.bits > kind.bits:
            return Val(kind, self.b.convert("trunc", value.ir, ir.number(kind.bits)))
        return Val(kind, self.b.convert("sext" if value.kind.signed else "zext", value.ir, ir.number(kind.bits)))

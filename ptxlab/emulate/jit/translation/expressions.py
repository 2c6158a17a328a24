"""Expressions of the rules' language as LLVM IR: numbers, lanes, pointers, fields, comparisons.

Every value has a kind: a number type, lanes of one, a pointer, a record, or a constant that takes on the type it is
used with. Python's integers and a machine's 32 or 64 bits agree as long as no result overflows its type; where one may,
the rule has a cast.
"""

from __future__ import annotations

import ast
from typing import Any

from ptxlab.emulate.jit.translation import ir
from ptxlab.emulate.jit.translation.conversions import Conversions
from ptxlab.emulate.jit.translation.folding import COMPARE, MISSING
from ptxlab.emulate.jit.translation.value_kinds import (
    BOOLEAN,
    I8,
    I64,
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

_ARITHMETIC = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "udiv", ast.Mod: "urem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip


class Expressions(Conversions):
    """Translates expressions of one function. Subclassed by the translator of statements, which keeps the locals."""

    # -- what other parts supply

    def call_rule(self, function: Any, node: ast.Call) -> Val:
        """A call of another rule."""
        raise NotImplementedError

    def intrinsic(self, function: Any, node: ast.Call) -> Val | None:
        """A call of a function of `language.vectors`; None if it is not one."""
        raise NotImplementedError

    # -- expressions

    def value(self, node: ast.expr) -> Val:
        """An expression's value."""
        if isinstance(node, ast.Name) and (slot := self.locals.get(node.id)) is not None:  # most are
            return Val(slot.kind, self.b.load(llvm_type(slot.kind), slot.ir))
        fixed = self.fixed(node)
        if fixed is not MISSING and not self.typed_inside(node):
            return self.constant(fixed)
        match node:
            case ast.Constant(value=None):
                return Val(Null())
            case ast.Name(id=name):
                self.fail(node, f"{name} is neither a local of this rule nor a whole number outside of it")
            case ast.Attribute(value=base) if fixed is not MISSING:
                kind = self.record_of(base).fields[node.attr].kind
                return Val(kind, ir.Constant(llvm_type(kind), int(fixed)))
            case ast.Attribute(value=base, attr=name):
                return self.read(self.field(self.value(base), name, node), node)
            case ast.Subscript(value=base, slice=index):
                return self.read(self.element(self.value(base), index, node), node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(type(op), self.value(left), self.value(right), node)
            case ast.UnaryOp(op=op, operand=inner):
                return self._unary(op, inner, node)
            case ast.Compare():
                return self._comparison(node)
            case ast.BoolOp() | ast.IfExp():
                return self._chosen(node)
            case ast.Call():
                return self._call(node)
        self.fail(node, f"rules have no {type(node).__name__}")

    def binary(self, op: type, a: Val, c: Val, node: ast.AST) -> Val:
        """`a op c`."""
        if op is ast.Add and isinstance(a.kind, Pointing):
            return Val(a.kind, self.place(a, c, node))
        if op in (ast.LShift, ast.RShift):
            return self._shift(op, self.typed(a, node), c, node)
        if op not in _ARITHMETIC:
            self.fail(node, f"rules have no {op.__name__}; whole numbers have + - * // % << >> & | ^")
        if op is ast.BitAnd:  # x & -8 is a mask of the type of x
            a, c = (
                Val(o.kind, ir.Constant(llvm_type(o.kind), v.const & (1 << o.kind.bits) - 1))
                if v.constant and v.const < 0 and isinstance(o.kind, Scalar)
                else v
                for v, o in ((a, c), (c, a))
            )
        x, y, kind = self.unified(a, c, node)
        element = kind.element if isinstance(kind, Vector) else kind
        if not isinstance(element, Scalar):
            self.fail(node, f"{kind_name(kind)} is nothing to compute with")
        if element.bits == 1 and op not in (ast.BitAnd, ast.BitOr, ast.BitXor):
            self.fail(node, "booleans have & | ^; write u32(x) to count with one")
        if op in (ast.FloorDiv, ast.Mod) and element.signed:
            self.fail(node, "// and % are for unsigned numbers; write u64(x)")
        return Val(kind, self.b.binary(_ARITHMETIC[op], x, y))

    def _shift(self, op: type, a: Val, by: Val, node: ast.AST) -> Val:
        kind = a.kind
        element = kind.element if isinstance(kind, Vector) else kind
        if not isinstance(element, Scalar) or element.bits == 1:
            self.fail(node, f"{kind_name(kind)} is not shifted")
        amount: Any
        if isinstance(by.kind, Vector):
            if not isinstance(kind, Vector):
                self.fail(node, "a number shifted by lanes; write splat(x) for the number")
            amount = self.resized(by.ir, by.kind.element.bits, kind)
        else:
            number = by if by.constant else Val(element, self.resized(by.ir, by.kind.bits, element))
            amount = self.to(number, kind, node)
        if op is ast.LShift:
            return Val(kind, self.b.binary("shl", a.ir, amount))
        return Val(kind, self.b.binary("ashr" if element.signed else "lshr", a.ir, amount))

    def _unary(self, op: ast.unaryop, inner: ast.expr, node: ast.AST) -> Val:
        if isinstance(op, ast.Not):
            return Val(BOOLEAN, self.b.invert(self.truth(self.value(inner), inner)))
        value = self.typed(self.value(inner), node)
        if not isinstance(value.kind, Scalar | Vector) or isinstance(op, ast.UAdd):
            self.fail(node, f"{kind_name(value.kind)} has no {type(op).__name__}")
        if value.kind is BOOLEAN:
            self.fail(node, "write `not x` for a boolean")
        return Val(value.kind, self.b.invert(value.ir) if isinstance(op, ast.Invert) else self.b.negate(value.ir))

    def _comparison(self, node: ast.Compare) -> Val:
        left, found = self.value(node.left), None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            one = self._compared(op, left, right, node)
            found = one if found is None else Val(one.kind, self.b.binary("and", found.ir, one.ir))
            left = right
        assert found is not None
        return found

    def _compared(self, op: ast.cmpop, a: Val, c: Val, node: ast.AST) -> Val:
        if isinstance(op, ast.Is | ast.IsNot):
            if not isinstance(c.kind, Null) or not (isinstance(a.kind, Pointing) or is_record(a.kind)):
                self.fail(node, "`is` compares a pointer or record with None")
            sign = "==" if isinstance(op, ast.Is) else "!="
            return Val(BOOLEAN, self.b.compare(sign, a.ir, ir.NULL))
        if type(op) not in COMPARE:
            self.fail(node, f"rules have no {type(op).__name__}")
        if isinstance(a.kind, Pointing) and isinstance(c.kind, Pointing) and isinstance(op, ast.Eq | ast.NotEq):
            return Val(BOOLEAN, self.b.compare(COMPARE[type(op)][0], a.ir, c.ir))
        x, y, kind = self.unified(a, c, node)
        element = kind.element if isinstance(kind, Vector) else kind
        signed = isinstance(element, Scalar) and element.signed
        result = VECTORS["boolean", kind.width] if isinstance(kind, Vector) else BOOLEAN
        return Val(result, self.b.compare(COMPARE[type(op)][0], x, y, signed=signed))

    def branch(self, node: ast.expr, yes: Any, no: Any) -> None:
        """Goes to one block or another by a condition; `and` and `or` compute their right side only if they must."""
        fixed = self.fixed(node)
        if fixed is not MISSING:
            self.b.go(yes if fixed else no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for value in node.values[:-1]:
                on = self.b.block("and" if isinstance(node.op, ast.And) else "or")
                self.branch(value, on, no) if isinstance(node.op, ast.And) else self.branch(value, yes, on)
                self.b.at(on)
            self.branch(node.values[-1], yes, no)
        else:
            self.b.branch(self.truth(self.value(node), node), yes, no)

    def _chosen(self, node: ast.BoolOp | ast.IfExp) -> Val:
        """`a if c else b`, `a and b`: one of two values, only that one computed."""
        test = node.test if isinstance(node, ast.IfExp) else node
        fixed = self.fixed(test)
        if fixed is not MISSING and isinstance(node, ast.IfExp):
            return self.value(node.body if fixed else node.orelse)
        blocks = [self.b.block(name) for name in ("yes", "no", "chosen")]
        self.branch(test, blocks[0], blocks[1])
        ways = []
        for block, way in zip(blocks, (True, False), strict=False):
            self.b.at(block)
            if isinstance(node, ast.IfExp):
                value = self.value(node.body if way else node.orelse)
            else:
                value = self.constant(way)
            ways.append((value, self.b.here))
        kind = self._kind_of_both(ways[0][0], ways[1][0], node)
        sources = []
        for value, block in ways:
            self.b.at(block)
            sources.append((self.to(value, kind, node), self.b.here))
            self.b.go(blocks[2])
        self.b.at(blocks[2])
        phi = self.b.phi(llvm_type(kind))
        for source, block in sources:
            phi.comes(source, block)
        return Val(kind, phi)

    def _kind_of_both(self, a: Val, c: Val, node: ast.AST) -> Any:
        if a.constant and c.constant:
            return U64
        if isinstance(a.kind, Null) or isinstance(c.kind, Null):
            return c.kind if isinstance(a.kind, Null) else a.kind
        return self.common(a, c, node)

    # -- memory: a place is a Val of kind (the value's kind, its representation) with its address

    def field(self, owner: Val, name: str, node: ast.AST) -> tuple[str, Any, Any]:
        """Where a field is: its representation, its kind, its address."""
        if not is_record(owner.kind):
            hint = "; write p[0] for the record" if isinstance(owner.kind, Pointing) else ""
            self.fail(node, f"{kind_name(owner.kind)} has no fields{hint}")
        field = owner.kind.fields.get(name)
        if field is None:
            self.fail(node, f"{owner.kind.__name__} has no field {name}; it has {', '.join(owner.kind.fields)}")
        at = self.b.address(owner.ir, ir.Constant(I64, field.offset), I8) if field.offset else owner.ir
        if field.pointer:
            return "load", Pointing(field.kind), at
        if field.ref:
            return "load", field.kind, at
        if field.shape is not None:
            columns = field.columns if len(field.shape.sizes) > 1 else 0
            return "here", Pointing(field.kind, columns), at
        return "here" if is_record(field.kind) else "load", field.kind, at

    def element(self, owner: Val, index: ast.expr, node: ast.AST) -> tuple[str, Any, Any]:
        """Where an element is."""
        if not isinstance(owner.kind, Pointing):
            hint = "; write extract(v, lane)" if isinstance(owner.kind, Vector) else ""
            self.fail(node, f"{kind_name(owner.kind)} has no elements{hint}")
        if isinstance(index, ast.Tuple):
            if not owner.kind.columns or len(index.elts) != 2:
                self.fail(node, "this array has no rows; write one index")
            row = self.binary(ast.Mult, self.number(index.elts[0]), self.constant(owner.kind.columns), node)
            at = self.binary(ast.Add, row, self.number(index.elts[1]), node)
        else:
            at = self.value(index)
        target = owner.kind.target
        return "here" if is_record(target) else "load", target, self.place(owner, at, node)

    def number(self, node: ast.expr) -> Val:
        """A u64."""
        return Val(U64, self.to(self.value(node), U64, node))

    def place(self, owner: Val, index: Val, node: ast.AST) -> Any:
        """The address of an element."""
        target = owner.kind.target
        size = target.size
        if index.constant:
            at: Any = ir.Constant(I64, index.const)
        elif isinstance(index.kind, Scalar) and index.kind.bits > 1:
            wide = index.kind.bits == 64
            at = index.ir if wide else self.b.convert("sext" if index.kind.signed else "zext", index.ir, I64)
        else:
            self.fail(node, f"{kind_name(index.kind)} is not an index")
        if isinstance(target, Scalar):
            return self.b.address(owner.ir, at, ir.number(8 * size))
        return self.b.address(owner.ir, self.b.binary("mul", at, ir.Constant(I64, size)), I8)

    def read(self, place: tuple[str, Any, Any], node: ast.AST) -> Val:
        """The value at a place."""
        how, kind, at = place
        if how == "here":
            return Val(kind, at)
        if kind is BOOLEAN:
            held = self.b.load(I8, at, 1)
            return Val(kind, self.b.compare("!=", held, ir.Constant(I8, 0)))
        return Val(kind, self.b.load(llvm_type(kind), at, 1))

    def write(self, place: tuple[str, Any, Any], value: Val, node: ast.AST) -> None:
        """Stores a value at a place."""
        how, kind, at = place
        if how == "here":
            self.fail(node, f"{kind_name(kind)} is in place here and cannot be replaced as a whole")
        stored = self.to(value, kind, node)
        self.b.store(self.b.convert("zext", stored, I8) if kind is BOOLEAN else stored, at, 1)

    # -- calls

    def _call(self, node: ast.Call) -> Val:
        function = self.global_value(node.func)
        if function is MISSING:
            if isinstance(node.func, ast.Attribute):
                return self._method(node.func, node)
            self.fail(node, f"{ast.unparse(node.func)} is not known here; rules call rules, casts and language.vectors")
        if isinstance(function, Scalar):
            return self.cast(self.value(node.args[0]), function, node)
        if function in (min, max):
            x, y, kind = self.unified(self.value(node.args[0]), self.value(node.args[1]), node)
            less = self.b.compare("<", x, y, signed=kind.signed)
            return Val(kind, self.b.select(less, *((x, y) if function is min else (y, x))))
        found = self.intrinsic(function, node)
        return self.call_rule(function, node) if found is None else found

    def _method(self, function: ast.Attribute, node: ast.Call) -> Val:
        owner = self.value(function.value)
        if isinstance(owner.kind, Pointing) and function.attr == "cast":
            return Val(Pointing(self.global_value(node.args[0])), owner.ir)
        if isinstance(owner.kind, Pointing) and function.attr == "row" and owner.kind.columns:
            at = self.binary(ast.Mult, self.number(node.args[0]), self.constant(owner.kind.columns), node)
            flat = Pointing(owner.kind.target)
            return Val(flat, self.place(Val(flat, owner.ir), at, node))
        self.fail(node, f"{kind_name(owner.kind)} has no {function.attr}; pointers have cast(type), arrays row(i)")

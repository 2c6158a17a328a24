"""Expressions of the rules' language as LLVM IR: numbers, lanes, pointers, fields, comparisons, conversions.

Every value has a kind: a number type, lanes of one, a pointer, a record, or a constant that takes on the type it is
used with. Python's integers and a CPU's 32 or 64 bits agree as long as no result overflows its type; where one may,
the rule has a cast.
"""

from __future__ import annotations

import ast
from typing import Any

from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.translation.folding import COMPARE, MISSING, Folding
from ptxlab.emulate.jit.translation.value_kinds import (
    BOOLEAN,
    U64,
    VECTORS,
    Null,
    Pointing,
    Val,
    element_of,
    is_record,
    kind_name,
    literal,
    llvm_type,
)
from ptxlab.emulate.language.types import Scalar, Vector

_ARITHMETIC = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "udiv", ast.Mod: "urem", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip

Place = tuple[str, Any, str]
"""Where a value is: "load" if it lies in memory, "here" if its place stands for it; its kind; the address."""


class Expressions(Folding):
    """Translates expressions of one function. Subclassed by the translator of statements, which keeps the locals."""

    t: Text

    # -- what other parts supply

    def call_rule(self, function: Any, node: ast.Call) -> Val:
        raise NotImplementedError

    def intrinsic(self, function: Any, node: ast.Call) -> Val | None:
        """A call of a function of `language.vectors`; None if it is not one."""
        raise NotImplementedError

    # -- conversions

    def constant(self, value: Any) -> Val:
        """A number without a type yet; True and False have one."""
        return Val(BOOLEAN, str(int(value)), value) if isinstance(value, bool) else Val(int, const=value)

    def to(self, value: Val, kind: Any, node: ast.AST) -> str:
        """A value as another kind, where no information is lost: its text."""
        if value.kind == kind:
            return value.text
        if isinstance(value.kind, Null) and (isinstance(kind, Pointing) or is_record(kind)):
            return value.text
        if isinstance(kind, Vector) and not isinstance(value.kind, Vector):
            return self.broadcast(self.to(value, kind.element, node), kind)
        if value.constant and isinstance(kind, Scalar) and kind.bits > 1:
            low, high = (-(1 << kind.bits - 1), 1 << kind.bits - 1) if kind.signed else (0, 1 << kind.bits)
            if not low <= value.const < high:
                self.fail(node, f"{value.const} does not fit {kind}; write {kind}({value.const})")
            return literal(kind, value.const)
        if isinstance(kind, Scalar) and isinstance(value.kind, Scalar) and self._widens(value.kind, kind):
            return self.resized(value, kind)
        if isinstance(kind, Pointing) and isinstance(value.kind, Pointing) and value.kind.target is kind.target:
            return value.text
        if is_record(kind) and isinstance(value.kind, Pointing) and value.kind.target is kind:
            self.fail(node, f"here is a pointer to records; write [0] after it for the first {kind.__name__}")
        names = kind_name(value.kind), kind_name(kind)
        how = f"; write {names[1]}(...)" if isinstance(kind, Scalar) and isinstance(value.kind, Scalar) else ""
        self.fail(node, f"this is {'a number' if value.constant else names[0]}, where {names[1]} is needed{how}")

    @staticmethod
    def _widens(narrow: Scalar, wide: Scalar) -> bool:
        return 1 < narrow.bits < wide.bits and not narrow.signed

    def resized(self, value: Val, kind: Any) -> str:
        """A number or lanes with the width of another kind: truncated, or extended by zeros or by its sign."""
        source, bits = element_of(value.kind), element_of(kind).bits
        if source.bits == bits:
            return value.text
        word = "trunc" if source.bits > bits else "sext" if source.signed else "zext"
        return self.t.convert(word, value.type, value.text, llvm_type(kind))

    def broadcast(self, number: str, kind: Vector) -> str:
        """One number, a name or a literal, in all lanes."""
        element = llvm_type(kind.element)
        return self.t.splat(element, number, kind.width) if number[0] == "%" else f"splat ({element} {number})"

    def typed(self, value: Val, node: ast.AST) -> Val:
        """The value with a type: a constant without one is a u64."""
        return Val(U64, self.to(value, U64, node)) if value.constant else value

    def common(self, a: Val, c: Val, node: ast.AST) -> Any:
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

    def unified(self, a: Val, c: Val, node: ast.AST) -> tuple[str, str, Any]:
        """Two values as their common kind, and that kind."""
        kind = self.common(a, c, node)
        x, y = (
            self.resized(value, kind)
            if isinstance(kind, Vector) and isinstance(value.kind, Vector)
            else self.to(value, kind, node)
            for value in (a, c)
        )
        return x, y, kind

    def truth(self, value: Val, node: ast.AST) -> str:
        """i1: whether a condition holds."""
        if value.kind is BOOLEAN:
            return value.text
        if value.constant:
            return literal(BOOLEAN, bool(value.const))
        if isinstance(value.kind, Scalar):
            return self.t.ne(value.type, value.text, 0)
        hint = "any_of(x) or all_of(x)" if isinstance(value.kind, Vector) else "`x is not None`"
        self.fail(node, f"{kind_name(value.kind)} is not a condition; write {hint}")

    def cast(self, value: Val, kind: Any, node: ast.AST) -> Val:
        if value.constant:
            return Val(kind, literal(kind, kind(value.const)))
        if isinstance(value.kind, Vector):
            kind = VECTORS[kind.name, value.kind.width]
        elif not isinstance(value.kind, Scalar):
            self.fail(node, f"{kind_name(value.kind)} cannot be made {kind}")
        elif kind is BOOLEAN:
            return Val(kind, self.truth(value, node))
        return Val(kind, self.resized(value, kind))

    # -- expressions

    def value(self, node: ast.expr) -> Val:
        if isinstance(node, ast.Name) and (slot := self.locals.get(node.id)) is not None:  # most are
            return Val(slot.kind, self.t.load(slot.type, slot.text))
        fixed = self.fixed(node)
        if fixed is not MISSING and not self.typed_inside(node):
            return self.constant(fixed)
        match node:
            case ast.Constant(value=None):
                return Val(Null(), "null")
            case ast.Name(id=name):
                self.fail(node, f"{name} is neither a local of this rule nor a whole number outside of it")
            case ast.Attribute(value=base) if fixed is not MISSING:
                kind = self.record_of(base).fields[node.attr].kind
                return Val(kind, literal(kind, fixed))
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
        if op is ast.Add and isinstance(a.kind, Pointing):
            return Val(a.kind, self.place(a, c, node))
        if op in (ast.LShift, ast.RShift):
            return self._shift(op, self.typed(a, node), c, node)
        if op not in _ARITHMETIC:
            self.fail(node, f"rules have no {op.__name__}; whole numbers have + - * // % << >> & | ^")
        if op is ast.BitAnd:  # x & -8 is a mask of the type of x
            a, c = (
                Val(o.kind, literal(o.kind, v.const & (1 << o.kind.bits) - 1))
                if v.constant and v.const < 0 and isinstance(o.kind, Scalar)
                else v
                for v, o in ((a, c), (c, a))
            )
        x, y, kind = self.unified(a, c, node)
        element = element_of(kind)
        if not isinstance(element, Scalar):
            self.fail(node, f"{kind_name(kind)} is nothing to compute with")
        if element.bits == 1 and op not in (ast.BitAnd, ast.BitOr, ast.BitXor):
            self.fail(node, "booleans have & | ^; write u32(x) to count with one")
        if op in (ast.FloorDiv, ast.Mod) and element.signed:
            self.fail(node, "// and % are for unsigned numbers; write u64(x)")
        return Val(kind, self.t.binary(_ARITHMETIC[op], llvm_type(kind), x, y))

    def _shift(self, op: type, a: Val, by: Val, node: ast.AST) -> Val:
        kind, element = a.kind, element_of(a.kind)
        if not isinstance(element, Scalar) or element.bits == 1:
            self.fail(node, f"{kind_name(kind)} is not shifted")
        if isinstance(by.kind, Vector):
            if not isinstance(kind, Vector):
                self.fail(node, "a number shifted by lanes; write splat(x) for the number")
            amount = self.resized(by, kind)
        else:
            number = by if by.constant else Val(element, self.resized(by, element))
            amount = self.to(number, kind, node)
        word = "shl" if op is ast.LShift else "ashr" if element.signed else "lshr"
        return Val(kind, self.t.binary(word, a.type, a.text, amount))

    def _unary(self, op: ast.unaryop, inner: ast.expr, node: ast.AST) -> Val:
        if isinstance(op, ast.Not):
            return Val(BOOLEAN, self.t.xor("i1", self.truth(self.value(inner), inner), 1))
        value = self.typed(self.value(inner), node)
        if not isinstance(value.kind, Scalar | Vector) or isinstance(op, ast.UAdd):
            self.fail(node, f"{kind_name(value.kind)} has no {type(op).__name__}")
        if value.kind is BOOLEAN:
            self.fail(node, "write `not x` for a boolean")
        if isinstance(op, ast.Invert):
            return Val(value.kind, self.t.xor(value.type, value.text, literal(value.kind, -1)))
        return Val(value.kind, self.t.sub(value.type, literal(value.kind, 0), value.text))

    def _comparison(self, node: ast.Compare) -> Val:
        left, found = self.value(node.left), None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            one = self._compared(op, left, right, node)
            found = one if found is None else Val(one.kind, self.t.and_(one.type, found.text, one.text))
            left = right
        assert found is not None
        return found

    def _compared(self, op: ast.cmpop, a: Val, c: Val, node: ast.AST) -> Val:
        if isinstance(op, ast.Is | ast.IsNot):
            if not isinstance(c.kind, Null) or not (isinstance(a.kind, Pointing) or is_record(a.kind)):
                self.fail(node, "`is` compares a pointer or record with None")
            return Val(BOOLEAN, (self.t.eq if isinstance(op, ast.Is) else self.t.ne)("ptr", a.text, "null"))
        if type(op) not in COMPARE:
            self.fail(node, f"rules have no {type(op).__name__}")
        word = COMPARE[type(op)][0]
        if isinstance(a.kind, Pointing) and isinstance(c.kind, Pointing) and word in ("eq", "ne"):
            return Val(BOOLEAN, self.t.binary(f"icmp {word}", "ptr", a.text, c.text))
        x, y, kind = self.unified(a, c, node)
        return self.compared(word, kind, x, y)

    def compared(self, word: str, kind: Any, x: str, y: str) -> Val:
        """Whether x is "lt", "ge" ... y; numbers or lanes of one kind, with a sign or without."""
        element = element_of(kind)
        sign = "" if word in ("eq", "ne") else "s" if isinstance(element, Scalar) and element.signed else "u"
        result = VECTORS["boolean", kind.width] if isinstance(kind, Vector) else BOOLEAN
        return Val(result, self.t.binary(f"icmp {sign}{word}", llvm_type(kind), x, y))

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Goes to one label or another by a condition; `and` and `or` compute their right side only if they must."""
        fixed = self.fixed(node)
        if fixed is not MISSING:
            self.t.go(yes if fixed else no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for value in node.values[:-1]:
                on = self.t.label("and" if isinstance(node.op, ast.And) else "or")
                self.branch(value, on, no) if isinstance(node.op, ast.And) else self.branch(value, yes, on)
                self.t.at(on)
            self.branch(node.values[-1], yes, no)
        else:
            self.t.branch(self.truth(self.value(node), node), yes, no)

    def _chosen(self, node: ast.BoolOp | ast.IfExp) -> Val:
        """`a if c else b`, `a and b`: one of two values, only that one computed."""
        test = node.test if isinstance(node, ast.IfExp) else node
        fixed = self.fixed(test)
        if fixed is not MISSING and isinstance(node, ast.IfExp):
            return self.value(node.body if fixed else node.orelse)
        yes, no, end = (self.t.label(name) for name in ("yes", "no", "chosen"))
        self.branch(test, yes, no)
        lines, arms = self.t.lines, []
        for label, way in ((yes, True), (no, False)):
            self.t.lines = []  # an arm can end only when the kind of both is known
            self.t.at(label)
            if isinstance(node, ast.IfExp):
                value = self.value(node.body if way else node.orelse)
            else:
                value = self.constant(way)
            arms.append((value, self.t.here, self.t.lines))
        kind = self._kind_of_both(arms[0][0], arms[1][0], node)
        ways = []
        for value, here, written in arms:
            self.t.lines = written
            ways.append((self.to(value, kind, node), here))
            self.t.go(end)
            lines += written
        self.t.lines = lines
        self.t.at(end)
        return Val(kind, self.t.phi(llvm_type(kind), *ways))

    def _kind_of_both(self, a: Val, c: Val, node: ast.AST) -> Any:
        if isinstance(a.kind, Null) or isinstance(c.kind, Null):
            return c.kind if isinstance(a.kind, Null) else a.kind
        return self.common(a, c, node)

    # -- memory

    def field(self, owner: Val, name: str, node: ast.AST) -> Place:
        if not is_record(owner.kind):
            hint = "; write p[0] for the record" if isinstance(owner.kind, Pointing) else ""
            self.fail(node, f"{kind_name(owner.kind)} has no fields{hint}")
        field = owner.kind.fields.get(name)
        if field is None:
            self.fail(node, f"{owner.kind.__name__} has no field {name}; it has {', '.join(owner.kind.fields)}")
        at = self.t.offset(owner.text, field.offset) if field.offset else owner.text
        if field.pointer:
            return "load", Pointing(field.kind), at
        if field.ref:
            return "load", field.kind, at
        if field.shape is not None:
            columns = field.columns if len(field.shape.sizes) > 1 else 0
            return "here", Pointing(field.kind, columns), at
        return "here" if is_record(field.kind) else "load", field.kind, at

    def element(self, owner: Val, index: ast.expr, node: ast.AST) -> Place:
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
        return Val(U64, self.to(self.value(node), U64, node))

    def place(self, owner: Val, index: Val, node: ast.AST) -> str:
        target = owner.kind.target
        if index.constant:
            at = str(index.const)
        elif isinstance(index.kind, Scalar) and index.kind.bits > 1:
            at = self.resized(index, U64)
        else:
            self.fail(node, f"{kind_name(index.kind)} is not an index")
        if isinstance(target, Scalar):
            return self.t.element(_in_memory(target), owner.text, at)
        return self.t.offset(owner.text, self.t.mul("i64", at, target.size))

    def read(self, place: Place, node: ast.AST) -> Val:
        how, kind, at = place
        if how == "here":
            return Val(kind, at)
        held = self.t.load(_in_memory(kind), at, align=1)
        return Val(kind, self.t.ne("i8", held, 0) if kind is BOOLEAN else held)

    def write(self, place: Place, value: Val, node: ast.AST) -> None:
        how, kind, at = place
        if how == "here":
            self.fail(node, f"{kind_name(kind)} is in place here and cannot be replaced as a whole")
        stored = self.to(value, kind, node)
        self.t.store(_in_memory(kind), self.t.zext("i1", stored, "i8") if kind is BOOLEAN else stored, at, align=1)

    # -- calls

    def _call(self, node: ast.Call) -> Val:
        function = self.global_value(node.func)
        if function is MISSING:
            if isinstance(node.func, ast.Attribute):
                return self._method(node.func, node)
            self.fail(node, f"{ast.unparse(node.func)} is not known here; rules call rules, casts and language.vectors")
        if isinstance(function, Scalar):
            return self.cast(self.value(node.args[0]), function, node)
        found = self.intrinsic(function, node)
        return self.call_rule(function, node) if found is None else found

    def _method(self, function: ast.Attribute, node: ast.Call) -> Val:
        owner = self.value(function.value)
        if isinstance(owner.kind, Pointing) and function.attr == "cast":
            return Val(Pointing(self.global_value(node.args[0])), owner.text)
        if isinstance(owner.kind, Pointing) and function.attr == "row" and owner.kind.columns:
            at = self.binary(ast.Mult, self.number(node.args[0]), self.constant(owner.kind.columns), node)
            flat = Pointing(owner.kind.target)
            return Val(flat, self.place(Val(flat, owner.text), at, node))
        self.fail(node, f"{kind_name(owner.kind)} has no {function.attr}; pointers have cast(type), arrays row(i)")


def _in_memory(kind: Any) -> str:
    """The LLVM type of a kind in memory, where a truth value is a byte."""
    return "i8" if kind is BOOLEAN else llvm_type(kind)

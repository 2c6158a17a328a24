"""Expressions of the rules' language as LLVM IR: numbers, lanes, pointers, fields, comparisons.

Every value has a kind: a number type, lanes of one, a pointer, a record, or a constant that takes on the type it is
used with. What Python would do with whole numbers and what a machine does with 32 or 64 bits agree as long as no result
leaves its type; where it may, the rule says so with a cast.
"""

from __future__ import annotations

import ast
import inspect
import operator
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import llvmlite.ir as ir

from ptxlab.emulate.language import types as language
from ptxlab.emulate.language.records import Record
from ptxlab.emulate.language.types import Pointer, Scalar, Vector

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
PTR = ir.PointerType()
BOOLEAN: Any = language.boolean
U32: Any = language.u32
U64: Any = language.u64
VECTORS: dict[tuple[str, int], Any] = {
    (vector.element.name, vector.width): vector for vector in vars(language).values() if isinstance(vector, Vector)
}


class RuleError(TypeError):
    """A rule says what the language does not have."""


@dataclass(frozen=True)
class Pointing:
    """The kind of a pointer: to numbers or to records, and how many make a row if it is an array of rows."""

    target: Any
    columns: int = 0

    def __repr__(self) -> str:
        return f"Pointer[{kind_name(self.target)}]"


class Null:
    """The kind of `None`."""


@dataclass
class Val:
    """A value: its kind, and its IR or, of a constant, the Python number."""

    kind: Any
    ir: Any = None
    const: Any = None

    @property
    def constant(self) -> bool:
        """Whether it has no type of its own yet."""
        return self.kind is int


def kind_of_annotation(told: Any) -> Any:
    """The kind of a parameter, result or local annotated so."""
    origin, arguments = typing.get_origin(told), typing.get_args(told)
    if origin in (typing.Union, types.UnionType):
        (told,) = (one for one in arguments if one is not type(None))
        return kind_of_annotation(told)
    if origin is typing.Annotated:
        return arguments[0]
    if origin is tuple:
        return tuple(kind_of_annotation(one) for one in arguments)
    if isinstance(origin, type) and issubclass(origin, Pointer):
        return Pointing(arguments[0])
    if told is None or isinstance(told, Scalar | Vector) or is_record(told):
        return told
    if told is bool:
        return BOOLEAN
    raise RuleError(f"{told!r} is no type of the rules; write u32, u64, lanes_u64, Pointer[u64], a record")


def is_record(kind: Any) -> bool:
    """Whether a kind is a class of records."""
    return isinstance(kind, type) and issubclass(kind, Record)


def kind_name(kind: Any) -> str:
    """How the language spells a kind."""
    return kind.__name__ if isinstance(kind, type) else repr(kind)


def llvm_type(kind: Any) -> Any:
    """The IR type of a kind."""
    if isinstance(kind, Scalar):
        return ir.IntType(kind.bits)
    if isinstance(kind, Vector):
        return ir.VectorType(ir.IntType(kind.element.bits), kind.width)
    if isinstance(kind, tuple):
        return ir.LiteralStructType([llvm_type(one) for one in kind])
    return ir.VoidType() if kind is None else PTR


_FOLD: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip
_FOLD_ONE: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_COMPARE: dict[type, tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne), ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "udiv", ast.Mod: "urem", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
MISSING = object()


class Expressions:
    """Translates expressions of one function. Subclassed by the translator of statements, which keeps the locals."""

    b: Any  # the builder
    module: Any
    names: dict[str, Any]  # the rule's globals
    known: dict[str, int]
    where: Callable[[ast.AST], str]
    locals: dict[str, Val]  # kind, and the stack slot in `ir`

    # -- what other parts supply

    def call_rule(self, function: Any, node: ast.Call) -> Val:
        """A call of another rule."""
        raise NotImplementedError

    def intrinsic(self, function: Any, node: ast.Call) -> Val | None:
        """A call of a function of `language.vectors`; None if it is not one."""
        raise NotImplementedError

    def fail(self, node: ast.AST, message: str) -> NoReturn:
        """Refuses what a rule says."""
        raise RuleError(f"{self.where(node)}: {message}")

    # -- constants

    def fixed(self, node: ast.expr) -> Any:
        """The number that an expression always is, or MISSING."""
        match node:
            case ast.Constant(value=value) if isinstance(value, int):
                return value
            case ast.Name(id=name) if name not in self.locals:
                return self._outside(self.names.get(name, MISSING))
            case ast.Attribute(value=base, attr=name):
                return self._fixed_attribute(base, name)
            case ast.UnaryOp(op=op, operand=inner):
                inside = self.fixed(inner)
                return MISSING if inside is MISSING else _FOLD_ONE[type(op)](inside)
            case ast.BinOp(left=left, op=op, right=right):
                a, c = self.fixed(left), self.fixed(right)
                return MISSING if a is MISSING or c is MISSING or type(op) not in _FOLD else _FOLD[type(op)](a, c)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                a, c = self.fixed(left), self.fixed(right)
                return MISSING if a is MISSING or c is MISSING else _COMPARE[type(op)][1](a, c)
            case ast.BoolOp(op=op, values=values):
                return self._fixed_logic(isinstance(op, ast.And), values)
            case ast.Call(func=function, args=[argument], keywords=[]):
                kind = self.global_value(function)
                given = self.fixed(argument) if isinstance(kind, Scalar) else MISSING
                return MISSING if given is MISSING else kind(given)
            case ast.Call(func=ast.Attribute(value=base, attr="offset"), args=[ast.Constant(value=str(field))]):
                record = self.global_value(base)
                return record.offset(field) if is_record(record) else MISSING
        return MISSING

    def _outside(self, value: Any) -> Any:
        return value if isinstance(value, int) else MISSING

    def _fixed_attribute(self, base: ast.expr, name: str) -> Any:
        owner = self.global_value(base)
        if owner is not MISSING:
            return self._outside(getattr(owner, name, MISSING))
        kind = self.record_of(base)
        if kind is None or f"{kind.__name__}.{name}" not in self.known:
            return MISSING
        value = self.known[f"{kind.__name__}.{name}"]
        return bool(value) if kind.fields[name].kind is BOOLEAN else value

    def _fixed_logic(self, conjunction: bool, values: list[ast.expr]) -> Any:
        found = [self.fixed(value) for value in values]
        if any(value is not MISSING and bool(value) is not conjunction for value in found):
            return not conjunction
        return MISSING if MISSING in found else conjunction

    def global_value(self, node: ast.expr) -> Any:
        """The module, class or function outside of the rule that an expression names, or MISSING."""
        if isinstance(node, ast.Name) and node.id not in self.locals:
            builtin = {"min": min, "max": max, "range": range, "bool": bool, "int": int, "len": len}.get(node.id)
            return self.names.get(node.id, MISSING if builtin is None else builtin)
        if isinstance(node, ast.Attribute):
            owner = self.global_value(node.value)
            if inspect.ismodule(owner) or inspect.isclass(owner):
                return getattr(owner, node.attr, MISSING)
        return MISSING

    def record_of(self, node: ast.expr) -> Any:
        """The class of the record that an expression leads to, found without code; None if it is no such thing."""
        if isinstance(node, ast.Name) and node.id in self.locals:
            kind = self.locals[node.id].kind
            return kind if is_record(kind) else None
        if isinstance(node, ast.Attribute):
            owner = self.record_of(node.value)
            field = owner.fields.get(node.attr) if owner is not None else None
            return field.kind if field is not None and is_record(field.kind) and not field.pointer else None
        return None

    # -- values

    def constant(self, value: Any) -> Val:
        """A number that has no type yet; True and False have one."""
        return Val(BOOLEAN, ir.Constant(I1, int(value)), value) if isinstance(value, bool) else Val(int, const=value)

    def to(self, value: Val, kind: Any, node: ast.AST) -> Any:
        """The IR of a value as another kind, where no information is lost."""
        if value.kind == kind:
            return value.ir
        if isinstance(value.kind, Null) and (isinstance(kind, Pointing) or is_record(kind)):
            return ir.Constant(PTR, None)
        if isinstance(kind, Vector) and not isinstance(value.kind, Vector):
            return self.broadcast(self.to(value, kind.element, node), kind)
        if value.constant and isinstance(kind, Scalar) and kind.bits > 1:
            low, high = (-(1 << kind.bits - 1), 1 << kind.bits - 1) if kind.signed else (0, 1 << kind.bits)
            if not low <= value.const < high:
                self.fail(node, f"{value.const} does not fit {kind}; write {kind}({value.const})")
            return ir.Constant(ir.IntType(kind.bits), value.const)
        if isinstance(kind, Scalar) and isinstance(value.kind, Scalar) and self._widens(value.kind, kind):
            return self.b.zext(value.ir, ir.IntType(kind.bits))
        if isinstance(kind, Pointing) and isinstance(value.kind, Pointing) and value.kind.target is kind.target:
            return value.ir
        if is_record(kind) and isinstance(value.kind, Pointing) and value.kind.target is kind:
            self.fail(node, f"here is a pointer to records; write [0] behind it for the first {kind.__name__}")
        names = kind_name(value.kind), kind_name(kind)
        how = f"; write {names[1]}(...)" if isinstance(kind, Scalar) and isinstance(value.kind, Scalar) else ""
        self.fail(node, f"this is {'a number' if value.constant else names[0]}, where {names[1]} is needed{how}")

    @staticmethod
    def _widens(narrow: Scalar, wide: Scalar) -> bool:
        return 1 < narrow.bits < wide.bits and not narrow.signed

    def broadcast(self, scalar: Any, kind: Vector) -> Any:
        """One number in all lanes."""
        vector = llvm_type(kind)
        if isinstance(scalar, ir.Constant):
            return ir.Constant(vector, [scalar.constant] * kind.width)
        first = self.b.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(I32, 0))
        zeros = ir.Constant(ir.VectorType(I32, kind.width), [0] * kind.width)
        return self.b.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)

    def typed(self, value: Val, node: ast.AST) -> Val:
        """The value with a type: a constant that none was asked of is a u64."""
        return Val(U64, self.to(value, U64, node)) if value.constant else value

    def common(self, a: Val, c: Val, node: ast.AST) -> Any:
        """The kind in which two values meet."""
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
        self.fail(node, f"{names[0]} and {names[1]} do not meet; cast one of them, as in u64(x)")

    def meet(self, a: Val, c: Val, node: ast.AST) -> tuple[Any, Any, Any]:
        """Two values as the kind in which they meet, and that kind."""
        kind = self.common(a, c, node)
        found = []
        for value in (a, c):
            if isinstance(kind, Vector) and isinstance(value.kind, Vector) and value.kind is not kind:
                found.append(self.b.zext(value.ir, llvm_type(kind)))
            else:
                found.append(self.to(value, kind, node))
        return found[0], found[1], kind

    # -- expressions

    def value(self, node: ast.expr) -> Val:
        """An expression's value."""
        fixed = self.fixed(node)
        if fixed is not MISSING and not self._typed_inside(node):
            return self.constant(fixed)
        match node:
            case ast.Constant(value=None):
                return Val(Null())
            case ast.Name(id=name):
                if name not in self.locals:
                    self.fail(node, f"{name} is neither a local of this rule nor a whole number outside of it")
                slot = self.locals[name]
                return Val(slot.kind, self.b.load(slot.ir, typ=llvm_type(slot.kind)))
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

    def _typed_inside(self, node: ast.expr) -> bool:
        """Whether a constant expression has a type: a cast is in it, or a field that is known."""
        return any(
            isinstance(self.global_value(one.func), Scalar)
            if isinstance(one, ast.Call)
            else isinstance(one, ast.Attribute) and self.record_of(one.value) is not None
            for one in ast.walk(node)
        )

    def binary(self, op: type, a: Val, c: Val, node: ast.AST) -> Val:
        """`a op c`."""
        if op is ast.Add and isinstance(a.kind, Pointing):
            return Val(a.kind, self.place(a, c, node))
        if op in (ast.LShift, ast.RShift):
            return self._shift(op, self.typed(a, node), c, node)
        if op not in _ARITHMETIC:
            self.fail(node, f"rules have no {op.__name__}; whole numbers have + - * // % << >> & | ^")
        if op is ast.BitAnd:  # x & -8 is a mask of the type of x
            a, c = (Val(o.kind, ir.Constant(llvm_type(o.kind), v.const & (1 << o.kind.bits) - 1))
                    if v.constant and v.const < 0 and isinstance(o.kind, Scalar) else v
                    for v, o in ((a, c), (c, a)))  # fmt: skip
        x, y, kind = self.meet(a, c, node)
        element = kind.element if isinstance(kind, Vector) else kind
        if not isinstance(element, Scalar):
            self.fail(node, f"{kind_name(kind)} is nothing to compute with")
        if element.bits == 1 and op not in (ast.BitAnd, ast.BitOr, ast.BitXor):
            self.fail(node, "booleans have & | ^; write u32(x) to count with one")
        if op in (ast.FloorDiv, ast.Mod) and element.signed:
            self.fail(node, "// and % are for unsigned numbers; write u64(x)")
        return Val(kind, getattr(self.b, _ARITHMETIC[op])(x, y))

    def _shift(self, op: type, a: Val, by: Val, node: ast.AST) -> Val:
        kind = a.kind
        element = kind.element if isinstance(kind, Vector) else kind
        if not isinstance(element, Scalar) or element.bits == 1:
            self.fail(node, f"{kind_name(kind)} is not shifted")
        amount: Any
        if isinstance(by.kind, Vector):
            if not isinstance(kind, Vector):
                self.fail(node, "a number shifted by lanes; write splat(x) for the number")
            amount = self._resized(by.ir, by.kind.element.bits, kind)
        else:
            number = by if by.constant else Val(element, self._resized(by.ir, by.kind.bits, element))
            amount = self.to(number, kind, node)
        if op is ast.LShift:
            return Val(kind, self.b.shl(a.ir, amount))
        return Val(kind, self.b.ashr(a.ir, amount) if element.signed else self.b.lshr(a.ir, amount))

    def _resized(self, value: Any, bits: int, kind: Any) -> Any:
        wanted = kind.element.bits if isinstance(kind, Vector) else kind.bits
        if bits == wanted:
            return value
        return (self.b.zext if bits < wanted else self.b.trunc)(value, llvm_type(kind))

    def _unary(self, op: ast.unaryop, inner: ast.expr, node: ast.AST) -> Val:
        if isinstance(op, ast.Not):
            return Val(BOOLEAN, self.b.not_(self.truth(self.value(inner), inner)))
        value = self.typed(self.value(inner), node)
        if not isinstance(value.kind, Scalar | Vector) or isinstance(op, ast.UAdd):
            self.fail(node, f"{kind_name(value.kind)} has no {type(op).__name__}")
        if value.kind is BOOLEAN:
            self.fail(node, "write `not x` for a boolean")
        return Val(value.kind, self.b.not_(value.ir) if isinstance(op, ast.Invert) else self.b.neg(value.ir))

    def truth(self, value: Val, node: ast.AST) -> Any:
        """i1: whether a condition holds."""
        if value.kind is BOOLEAN:
            return value.ir
        if value.constant:
            return ir.Constant(I1, int(bool(value.const)))
        if isinstance(value.kind, Scalar):
            return self.b.icmp_unsigned("!=", value.ir, ir.Constant(value.ir.type, 0))
        hint = "any_of(x) or all_of(x)" if isinstance(value.kind, Vector) else "`x is not None`"
        self.fail(node, f"{kind_name(value.kind)} is not a condition; write {hint}")

    def _comparison(self, node: ast.Compare) -> Val:
        left, found = self.value(node.left), None
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            one = self._compared(op, left, right, node)
            found = one if found is None else Val(one.kind, self.b.and_(found.ir, one.ir))
            left = right
        assert found is not None
        return found

    def _compared(self, op: ast.cmpop, a: Val, c: Val, node: ast.AST) -> Val:
        if isinstance(op, ast.Is | ast.IsNot):
            if not isinstance(c.kind, Null) or not (isinstance(a.kind, Pointing) or is_record(a.kind)):
                self.fail(node, "`is` compares a pointer or record with None")
            sign = "==" if isinstance(op, ast.Is) else "!="
            return Val(BOOLEAN, self.b.icmp_unsigned(sign, a.ir, ir.Constant(PTR, None)))
        if type(op) not in _COMPARE:
            self.fail(node, f"rules have no {type(op).__name__}")
        x, y, kind = self.meet(a, c, node)
        element = kind.element if isinstance(kind, Vector) else kind
        signed = isinstance(element, Scalar) and element.signed
        result = VECTORS["boolean", kind.width] if isinstance(kind, Vector) else BOOLEAN
        return Val(result, (self.b.icmp_signed if signed else self.b.icmp_unsigned)(_COMPARE[type(op)][0], x, y))

    def branch(self, node: ast.expr, yes: Any, no: Any) -> None:
        """Goes to one block or another by a condition; `and` and `or` look at their right side only if they must."""
        fixed = self.fixed(node)
        if fixed is not MISSING:
            self.b.branch(yes if fixed else no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for value in node.values[:-1]:
                on = self.b.append_basic_block("and" if isinstance(node.op, ast.And) else "or")
                self.branch(value, on, no) if isinstance(node.op, ast.And) else self.branch(value, yes, on)
                self.b.position_at_end(on)
            self.branch(node.values[-1], yes, no)
        else:
            self.b.cbranch(self.truth(self.value(node), node), yes, no)

    def _chosen(self, node: ast.BoolOp | ast.IfExp) -> Val:
        """`a if c else b`, `a and b`: one of two values, only that one computed."""
        blocks = [self.b.append_basic_block(name) for name in ("yes", "no", "chosen")]
        test = node.test if isinstance(node, ast.IfExp) else node
        fixed = self.fixed(test)
        if fixed is not MISSING and isinstance(node, ast.IfExp):
            for block in blocks:
                self.b.function.blocks.remove(block)
            return self.value(node.body if fixed else node.orelse)
        self.branch(test, blocks[0], blocks[1])
        ways = []
        for block, way in zip(blocks, (True, False), strict=False):
            self.b.position_at_end(block)
            if isinstance(node, ast.IfExp):
                value = self.value(node.body if way else node.orelse)
            else:
                value = self.constant(way)
            ways.append((value, self.b.block))
        kind = self._kind_of_both(ways[0][0], ways[1][0], node)
        sources = []
        for value, block in ways:
            self.b.position_at_end(block)
            sources.append((self.to(value, kind, node), self.b.block))
            self.b.branch(blocks[2])
        self.b.position_at_end(blocks[2])
        phi = self.b.phi(llvm_type(kind))
        for source, block in sources:
            phi.add_incoming(source, block)
        return Val(kind, phi)

    def _kind_of_both(self, a: Val, c: Val, node: ast.AST) -> Any:
        if a.constant and c.constant:
            return U64
        if isinstance(a.kind, Null) or isinstance(c.kind, Null):
            return c.kind if isinstance(a.kind, Null) else a.kind
        return self.common(a, c, node)

    # -- memory: a place is a Val of kind (what is there, how it lies there) with its address

    def field(self, owner: Val, name: str, node: ast.AST) -> tuple[str, Any, Any]:
        """Where a field is: how it lies there, its kind, its address."""
        if not is_record(owner.kind):
            hint = "; write p[0] for the record" if isinstance(owner.kind, Pointing) else ""
            self.fail(node, f"{kind_name(owner.kind)} has no fields{hint}")
        field = owner.kind.fields.get(name)
        if field is None:
            self.fail(node, f"{owner.kind.__name__} has no field {name}; it has {', '.join(owner.kind.fields)}")
        at = self.b.gep(owner.ir, [ir.Constant(I64, field.offset)], source_etype=I8) if field.offset else owner.ir
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
            at = index.ir if wide else (self.b.sext if index.kind.signed else self.b.zext)(index.ir, I64)
        else:
            self.fail(node, f"{kind_name(index.kind)} is not an index")
        if isinstance(target, Scalar):
            return self.b.gep(owner.ir, [at], source_etype=ir.IntType(8 * size))
        return self.b.gep(owner.ir, [self.b.mul(at, ir.Constant(I64, size))], source_etype=I8)

    def read(self, place: tuple[str, Any, Any], node: ast.AST) -> Val:
        """What is at a place."""
        how, kind, at = place
        if how == "here":
            return Val(kind, at)
        if kind is BOOLEAN:
            held = self.b.load(at, typ=I8, align=1)
            return Val(kind, self.b.icmp_unsigned("!=", held, ir.Constant(I8, 0)))
        return Val(kind, self.b.load(at, typ=llvm_type(kind), align=1))

    def write(self, place: tuple[str, Any, Any], value: Val, node: ast.AST) -> None:
        """Puts a value at a place."""
        how, kind, at = place
        if how == "here":
            self.fail(node, f"{kind_name(kind)} is in place here and cannot be replaced as a whole")
        stored = self.to(value, kind, node)
        self.b.store(self.b.zext(stored, I8) if kind is BOOLEAN else stored, at, align=1)

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
            x, y, kind = self.meet(self.value(node.args[0]), self.value(node.args[1]), node)
            less = (self.b.icmp_signed if kind.signed else self.b.icmp_unsigned)("<", x, y)
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

    def cast(self, value: Val, kind: Any, node: ast.AST) -> Val:
        """`u32(x)`."""
        if value.constant:
            return Val(kind, ir.Constant(ir.IntType(kind.bits), kind(value.const)))
        if isinstance(value.kind, Vector):
            wanted = VECTORS[kind.name, value.kind.width]
            return Val(wanted, self._resized(value.ir, value.kind.element.bits, wanted))
        if not isinstance(value.kind, Scalar):
            self.fail(node, f"{kind_name(value.kind)} cannot be made {kind}")
        if kind is BOOLEAN:
            return Val(kind, self.truth(value, node))
        if value.kind.bits == kind.bits:
            return Val(kind, value.ir)
        if value.kind.bits > kind.bits:
            return Val(kind, self.b.trunc(value.ir, ir.IntType(kind.bits)))
        return Val(kind, (self.b.sext if value.kind.signed else self.b.zext)(value.ir, ir.IntType(kind.bits)))

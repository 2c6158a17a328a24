"""Rules to LLVM IR: a function for each rule, its statements in order.

A local lives on the stack, with the type of its first assignment; LLVM's passes turn it into registers. Values that are
fixed for a program (`known`) are constants here, and a branch that they rule out is not translated.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from ptxlab.emulate.jit.translation import ir
from ptxlab.emulate.jit.translation.folding import MISSING
from ptxlab.emulate.jit.translation.intrinsics import Intrinsics
from ptxlab.emulate.jit.translation.rule_calls import Function
from ptxlab.emulate.jit.translation.value_kinds import (
    I1,
    I8,
    I32,
    I64,
    U32,
    Null,
    Val,
    kind_name,
    kind_of_annotation,
    llvm_type,
    signature,
)
from ptxlab.emulate.language import vectors as L
from ptxlab.emulate.language.rules import Rule, rule_of
from ptxlab.emulate.language.types import Vector

SLOT = 256
"""Bytes of an argument or result in the block of a function that is called from Python."""


def module_of(
    functions: Sequence[Function],
    known: Mapping[str, int],
    *,
    entries: bool = False,
    elsewhere: Sequence[Function] = (),
) -> str:
    """The LLVM module of some rules. entries: with functions by which Python can call them. elsewhere: rules that are
    called in another module."""
    translator = Translator(known, {rule_of(function) for function in elsewhere})
    translator.add(functions)
    if entries:
        for function in functions:
            translator.entry(function)
    return translator.text


class Translator:
    """One module: the rules asked for, which other code may call, and those that they call."""

    def __init__(self, known: Mapping[str, int] | None = None, elsewhere: Set[Rule] = frozenset()) -> None:
        self.known, self.elsewhere = dict(known or {}), elsewhere
        self.intrinsics: dict[str, ir.Called] = {}
        """Those of LLVM that the rules call."""
        self._functions: dict[Rule, ir.Function] = {}
        self._entries: list[ir.Function] = []
        self._waiting: list[Rule] = []

    @property
    def text(self) -> str:
        """The module."""
        declared = [one.declared for one in self.intrinsics.values()]
        return "\n".join([*declared, *map(str, self._functions.values()), *map(str, self._entries)])

    def add(self, functions: Iterable[Function]) -> None:
        """Translates rules that other code calls."""
        for function in functions:
            self.function(rule_of(function)).external = True
        while self._waiting:
            rule = self._waiting.pop()
            Statements(self, rule, self._functions[rule]).translate()

    def function(self, rule: Rule) -> ir.Function:
        """The IR function of a rule, translated later."""
        made = self._functions.get(rule)
        if made is None:
            kinds, result = signature(rule)
            parameters = [llvm_type(one) for one in kinds]
            made = self._functions[rule] = ir.Function(llvm_type(result), parameters, rule.symbol, rule.parameters)
            if not rule.external and rule not in self.elsewhere:
                inline, cold = ("alwaysinline",) if rule.inline else (), ("cold",) if rule.cold else ()
                separate = ("noinline",) if rule.cold or rule.separate else ()
                made.attributes = (*inline, *cold, *separate, "nounwind")
                self._waiting.append(rule)
        return made

    def entry(self, function: Function) -> str:
        """A function by which Python calls a rule: it takes one pointer, to a slot for each argument and result."""
        rule = rule_of(function)
        kinds, result = signature(rule)
        name = f"call.{rule.symbol}"
        outer = ir.Function(ir.VOID, [ir.PTR], name, ["slots"])
        outer.external = True
        self._entries.append(outer)
        b = ir.Builder(outer, outer.block("entry"))
        slots = [b.address(outer.arguments[0], ir.Constant(I64, SLOT * k), I8) for k in range(64)]
        given = [_unpacked(b, kind, slot) for kind, slot in zip(kinds, slots, strict=False)]
        found = b.call(self.function(rule), given)
        results = result if isinstance(result, tuple) else () if result is None else (result,)
        for k, kind in enumerate(results):
            one = b.part(found, k, llvm_type(kind)) if isinstance(result, tuple) else found
            _packed(b, kind, one, slots[len(kinds) + k])
        b.give(None)
        return name


def _unpacked(b: ir.Builder, kind: Any, slot: ir.Value) -> ir.Value:
    """An argument from its slot, where truth values are bits."""
    wanted = llvm_type(kind)
    bits = kind.width if isinstance(kind, Vector) and kind.element.bits == 1 else 0
    if bits:
        return b.convert("bitcast", b.load(ir.number(bits), slot), wanted)
    if wanted is I1:
        return b.convert("trunc", b.load(I8, slot), I1)
    return b.load(wanted, slot, 8)


def _packed(b: ir.Builder, kind: Any, value: ir.Value, slot: ir.Value) -> None:
    """A result into its slot."""
    if isinstance(kind, Vector) and kind.element.bits == 1:
        value = b.convert("bitcast", value, ir.number(kind.width))
    elif value.type is I1:
        value = b.convert("zext", value, I8)
    b.store(value, slot, 8)


class Statements(Intrinsics):
    """One rule's function."""

    def __init__(self, translator: Translator, rule: Rule, function: ir.Function) -> None:
        self.translator, self.rule, self.ir = translator, rule, function
        self.intrinsics, self.known = translator.intrinsics, translator.known
        self.names = rule.function.__globals__
        self.locals = {}
        self.kinds, self.result = signature(rule)
        self._loops: list[tuple[ir.Block, ir.Block]] = []
        file = (inspect.getsourcefile(rule.function) or "").replace("\\", "/").rsplit("/", 1)[-1]
        self.where = lambda node: f"{file}:{getattr(node, 'lineno', 0)}"

    def translate(self) -> None:
        """Fills the function."""
        start, body = self.ir.block("entry"), self.ir.block("body")
        self.b, self.entry = ir.Builder(self.ir, body), ir.Builder(self.ir, start)
        for name, kind, argument in zip(self.rule.parameters, self.kinds, self.ir.arguments, strict=True):
            self.b.store(argument, self._slot(name, kind))
        self.suite(self.rule.tree.body)
        if not self.b.here.ended:
            if self.result is None:
                self.b.give(None)
            else:
                self.b.never()
        self.entry.go(body)

    def _slot(self, name: str, kind: Any) -> ir.Value:
        """The stack slot of a local, made when it is first assigned."""
        if name not in self.locals:
            self.locals[name] = Val(kind, self.entry.room(llvm_type(kind), name))
        slot: ir.Value = self.locals[name].ir
        return slot

    # -- statements

    def suite(self, body: list[ast.stmt]) -> None:
        """Statements one after the other, up to one that leaves."""
        for statement in body:
            if self.b.here.ended:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """One statement."""
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=told, value=ast.expr() as value):
                kind = kind_of_annotation(eval(compile(ast.Expression(told), "annotation", "eval"), dict(self.names)))
                self.b.store(self.to(self.value(value), kind, node), self._slot(name, kind))
            case ast.AugAssign(target=target, op=op, value=value):
                self._change(target, type(op), value, node)
            case ast.If():
                self._if(node)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as over, body=body, orelse=[]):
                self._for(name, over, body)
            case ast.Return(value=value):
                self._return(value, node)
            case ast.Break():
                self.b.go(self._loops[-1][1])
            case ast.Continue():
                self.b.go(self._loops[-1][0])
            case _:
                self.fail(node, f"rules have no such {type(node).__name__}: {ast.unparse(node).splitlines()[0]}")

    def _assign(self, target: ast.expr, source: ast.expr) -> None:
        if not isinstance(target, ast.Tuple):
            self._put(target, self.value(source))
            return
        if isinstance(source, ast.Tuple):
            values = [self.value(one) for one in source.elts]
        else:
            found = self.value(source)
            if not isinstance(found.kind, tuple):
                self.fail(source, f"{kind_name(found.kind)} is not several values")
            values = [Val(kind, self.b.part(found.ir, k, llvm_type(kind))) for k, kind in enumerate(found.kind)]
        if len(values) != len(target.elts):
            self.fail(target, f"{len(values)} values for {len(target.elts)} names")
        for one, value in zip(target.elts, values, strict=True):
            self._put(one, value)

    def _put(self, target: ast.expr, value: Val) -> None:
        if isinstance(target, ast.Name):
            if value.kind is None or isinstance(value.kind, tuple | Null):
                self.fail(target, f"{target.id} would be {'None' if value.kind is None else kind_name(value.kind)}")
            if target.id not in self.locals:
                value = self.typed(value, target)
                self._slot(target.id, value.kind)
            slot = self.locals[target.id]
            self.b.store(self.to(value, slot.kind, target), slot.ir)
        else:
            self.write(self._target(target), value, target)

    def _target(self, target: ast.expr) -> tuple[str, Any, Any]:
        if isinstance(target, ast.Attribute):
            return self.field(self.value(target.value), target.attr, target)
        if isinstance(target, ast.Subscript):
            return self.element(self.value(target.value), target.slice, target)
        self.fail(target, f"{ast.unparse(target)} is nothing to assign to")

    def _change(self, target: ast.expr, op: type, source: ast.expr, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self._put(target, self.binary(op, self.value(target), self.value(source), node))
            return
        place = self._target(target)
        self.write(place, self.binary(op, self.read(place, node), self.value(source), node), node)

    def _if(self, node: ast.If) -> None:
        fixed = self.fixed(node.test)
        if fixed is not MISSING:
            self.suite(node.body if fixed else node.orelse)
            return
        yes = self.b.block("then")
        no = self.b.block("else") if node.orelse else None
        after = self.b.block("after")
        self.branch(node.test, yes, no or after)
        for block, body in ((yes, node.body), (no, node.orelse)):
            if block is not None:
                self.b.at(block)
                self.suite(body)
                if not self.b.here.ended:
                    self.b.go(after)
        self.b.at(after)

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        again, inside, after = (self.b.block(name) for name in ("while", "do", "after"))
        self.b.go(again)
        self.b.at(again)
        self.branch(test, inside, after)
        self._body(inside, body, again, after)
        self.b.at(after)

    def _body(self, inside: ir.Block, body: list[ast.stmt], again: ir.Block, after: ir.Block) -> None:
        self._loops.append((again, after))
        self.b.at(inside)
        self.suite(body)
        if not self.b.here.ended:
            self.b.go(again)
        self._loops.pop()

    def _for(self, name: str, over: ast.Call, body: list[ast.stmt]) -> None:
        function = self.global_value(over.func)
        if function is range:
            self._count(name, over, body)
        elif function is L.lanes_of:
            self._each_lane(name, over, body)
        else:
            self.fail(over, f"rules loop over range(...) or lanes_of(mask), not {ast.unparse(over)}")

    def _count(self, name: str, over: ast.Call, body: list[ast.stmt]) -> None:
        given = [self.value(one) for one in over.args]
        start = given[0] if len(given) > 1 else self.constant(0)
        stop, step = given[min(1, len(given) - 1)], given[2] if len(given) > 2 else self.constant(1)
        if not step.constant or step.const < 1:
            self.fail(over, "range(start, stop, step): the step is a constant above 0")
        low, high, kind = self.unified(start, stop, over)
        counter = self.entry.room(low.type)
        self.b.store(low, counter)
        test, inside, on, after = (self.b.block(hint) for hint in ("for", "do", "next", "after"))
        self.b.go(test)
        self.b.at(test)
        now = self.b.load(low.type, counter)
        less = self.b.compare("<", now, high, signed=kind.signed)
        self.b.branch(less, inside, after)
        self.b.at(inside)
        self._put(ast.Name(name, ast.Store()), Val(kind, now))
        self._body(self.b.here, body, on, after)
        self.b.at(on)
        now = self.b.load(low.type, counter)
        self.b.store(self.b.binary("add", now, ir.Constant(low.type, step.const)), counter)
        self.b.go(test)
        self.b.at(after)

    def _each_lane(self, name: str, over: ast.Call, body: list[ast.stmt]) -> None:
        left = self.entry.room(I32)
        self.b.store(self.mask(over.args[0]), left)
        again, inside, after = (self.b.block(hint) for hint in ("lanes", "do", "after"))
        self.b.go(again)
        self.b.at(again)
        now = self.b.load(I32, left)
        self.b.branch(self.b.compare("!=", now, ir.Constant(I32, 0)), inside, after)
        self.b.at(inside)
        zeros = self.named("llvm.cttz.i32", I32, [I32, I1])
        lane = self.b.call(zeros, [now, ir.Constant(I1, 1)])
        self.b.store(self.b.binary("and", now, self.b.binary("sub", now, ir.Constant(I32, 1))), left)
        self._put(ast.Name(name, ast.Store()), Val(U32, lane))
        self._body(self.b.here, body, again, after)
        self.b.at(after)

    def _return(self, value: ast.expr | None, node: ast.AST) -> None:
        if value is None or self.result is None:
            if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
                self.fail(node, f"{self.rule.function.__name__} -> None returns a value; annotate its type")
            self.b.give(None)
        elif isinstance(value, ast.Tuple) and isinstance(self.result, tuple):
            whole = ir.undefined(llvm_type(self.result))
            for k, (one, kind) in enumerate(zip(value.elts, self.result, strict=True)):
                whole = self.b.with_part(whole, self.to(self.value(one), kind, one), k)
            self.b.give(whole)
        else:
            self.b.give(self.to(self.value(value), self.result, node))

    # -- calls of rules

    def call_rule(self, function: Any, node: ast.Call) -> Val:
        rule = rule_of(function)
        kinds, result = signature(rule)
        arguments = dict(zip(rule.parameters, node.args, strict=False))
        arguments |= {str(one.arg): one.value for one in node.keywords}
        if set(arguments) != set(rule.parameters) or len(node.args) + len(node.keywords) != len(kinds):
            self.fail(node, f"{function.__name__} takes ({', '.join(rule.parameters)}), all of them")
        found = {name: self.value(one) for name, one in arguments.items()}  # computed in the order of the call
        given = [self.to(found[name], kind, node) for name, kind in zip(rule.parameters, kinds, strict=True)]
        called = self._pointed(rule, kinds, result, given) if rule.pointer else self.translator.function(rule)
        return Val(result, self.b.call(called, given))

    def _pointed(self, rule: Rule, kinds: list[Any], result: Any, given: list[ir.Value]) -> ir.Called:
        """The function that a field of the first argument points to."""
        at = self.b.address(given[0], ir.Constant(I64, kinds[0].offset(rule.pointer)), I8)
        return ir.Called(llvm_type(result), [llvm_type(one) for one in kinds], self.b.load(ir.PTR, at, 8).text)

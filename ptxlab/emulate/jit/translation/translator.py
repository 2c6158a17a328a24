"""Rules to LLVM IR: a function for each rule, its statements in order.

A local lives on the stack, with the type of its first assignment; LLVM's passes turn it into registers. Values that are
fixed for a program (`known`) are constants here, and a branch that they rule out is not translated.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.translation.expressions import Place
from ptxlab.emulate.jit.translation.folding import MISSING
from ptxlab.emulate.jit.translation.intrinsics import Intrinsics
from ptxlab.emulate.jit.translation.rule_calls import Function, declaration
from ptxlab.emulate.jit.translation.value_kinds import (
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


def module_of(functions: Sequence[Function], known: Mapping[str, int], elsewhere: Sequence[Function] = ()) -> str:
    """The LLVM module of some rules and of those that they call. elsewhere: rules that another module defines."""
    exported, others = [rule_of(function) for function in functions], {rule_of(function) for function in elsewhere}
    declared, defined, met, waiting = set[str](), list[str](), set(exported), list(exported)
    while waiting:
        rule = waiting.pop()
        if rule.external or rule in others:
            declared.add(declaration(rule.function))
            continue
        statements = Statements(rule, known)
        defined.append(statements.function("" if rule in exported else "internal "))
        declared |= statements.t.declared | statements.entry.declared
        waiting += [each for each in statements.called if each not in met]
        met |= statements.called.keys()
    return "\n".join([*sorted(declared), *defined])


class Statements(Intrinsics):
    def __init__(self, rule: Rule, known: Mapping[str, int]) -> None:
        self.rule, self.known = rule, known
        self.names = rule.function.__globals__
        self.locals = {}
        self.called: dict[Rule, None] = {}
        """The rules that this one calls, in order."""
        self.kinds, self.result = signature(rule)
        self.t, self.entry = Text(), Text("entry")
        self._loops: list[tuple[str, str]] = []
        file = (inspect.getsourcefile(rule.function) or "").replace("\\", "/").rsplit("/", 1)[-1]
        self.where = lambda node: f"{file}:{getattr(node, 'lineno', 0)}"

    def function(self, linkage: str) -> str:
        self.t.at("body")
        for name, kind in zip(self.rule.parameters, self.kinds, strict=True):
            self.t.store(llvm_type(kind), f"%{name}.given", self._slot(name, kind))
        self.suite(self.rule.tree.body)
        if not self.t.ended:
            if self.result is None:
                self.t.ret()
            else:
                self.t.unreachable()
        self.entry.go("body")
        self.entry.lines += self.t.lines
        given = [
            f"{llvm_type(kind)} %{name}.given" for name, kind in zip(self.rule.parameters, self.kinds, strict=True)
        ]
        attributes = ["alwaysinline"] * self.rule.inline + ["cold", "noinline"] * self.rule.cold + ["nounwind"]
        head = f'{llvm_type(self.result)} @"{self.rule.symbol}"({", ".join(given)})'
        return self.entry.function(head, " ".join(attributes), linkage)

    def _slot(self, name: str, kind: Any) -> str:
        """The stack slot of a local, made when it is first assigned."""
        if name not in self.locals:
            self.locals[name] = Val(kind, self.entry.alloca(llvm_type(kind), name=f"%{name}.slot"))
        return self.locals[name].text

    def suite(self, body: list[ast.stmt]) -> None:
        """Statements one after the other, up to one that leaves."""
        for statement in body:
            if self.t.ended:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                kind = kind_of_annotation(eval(ast.unparse(annotation), dict(self.names)))
                self.t.store(llvm_type(kind), self.to(self.value(value), kind, node), self._slot(name, kind))
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
                self.t.go(self._loops[-1][1])
            case ast.Continue():
                self.t.go(self._loops[-1][0])
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
            values = [Val(kind, self.t.extract_value(found.type, found.text, k)) for k, kind in enumerate(found.kind)]
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
            self.t.store(slot.type, self.to(value, slot.kind, target), slot.text)
        else:
            self.write(self._target(target), value, target)

    def _target(self, target: ast.expr) -> Place:
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
        yes = self.t.label("then")
        no = self.t.label("else") if node.orelse else None
        after = self.t.label("after")
        self.branch(node.test, yes, no or after)
        for label, body in ((yes, node.body), (no, node.orelse)):
            if label is not None:
                self.t.at(label)
                self.suite(body)
                if not self.t.ended:
                    self.t.go(after)
        self.t.at(after)

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        again, inside, after = (self.t.label(name) for name in ("while", "do", "after"))
        self.t.go(again)
        self.t.at(again)
        self.branch(test, inside, after)
        self.t.at(inside)
        self._body(body, again, after)
        self.t.at(after)

    def _body(self, body: list[ast.stmt], again: str, after: str) -> None:
        self._loops.append((again, after))
        self.suite(body)
        if not self.t.ended:
            self.t.go(again)
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
        type_ = llvm_type(kind)
        counter = self.entry.alloca(type_)
        self.t.store(type_, low, counter)
        test, inside, on, after = (self.t.label(hint) for hint in ("for", "do", "next", "after"))
        self.t.go(test)
        self.t.at(test)
        now = self.t.load(type_, counter)
        self.t.branch(self.compared("lt", kind, now, high).text, inside, after)
        self.t.at(inside)
        self._put(ast.Name(name, ast.Store()), Val(kind, now))
        self._body(body, on, after)
        self.t.at(on)
        self.t.bump(counter, self.t.add, type_, step.const)
        self.t.go(test)
        self.t.at(after)

    def _each_lane(self, name: str, over: ast.Call, body: list[ast.stmt]) -> None:
        left = self.entry.alloca("i32")
        self.t.store("i32", self.mask(over.args[0]), left)
        again, inside, after = (self.t.label(hint) for hint in ("lanes", "do", "after"))
        self.t.go(again)
        self.t.at(again)
        now = self.t.load("i32", left)
        self.t.branch(self.t.ne("i32", now, 0), inside, after)
        self.t.at(inside)
        self.t.store("i32", self.t.and_("i32", now, self.t.sub("i32", now, 1)), left)
        self._put(ast.Name(name, ast.Store()), Val(U32, self.lowest(now)))
        self._body(body, again, after)
        self.t.at(after)

    def _return(self, value: ast.expr | None, node: ast.AST) -> None:
        if value is None or self.result is None:
            if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
                self.fail(node, f"{self.rule.function.__name__} -> None returns a value; annotate its type")
            self.t.ret()
            return
        if isinstance(value, ast.Tuple) and isinstance(self.result, tuple):
            type_, whole = llvm_type(self.result), "poison"
            for k, (one, kind) in enumerate(zip(value.elts, self.result, strict=True)):
                text = self.to(self.value(one), kind, one)
                whole = self.t.insert_value(type_, whole, llvm_type(kind), text, k)
        else:
            whole = self.to(self.value(value), self.result, node)
        self.t.ret(llvm_type(self.result), whole)

    def call_rule(self, function: Any, node: ast.Call) -> Val:
        rule = rule_of(function)
        kinds, result = signature(rule)
        arguments = dict(zip(rule.parameters, node.args, strict=False))
        arguments |= {str(one.arg): one.value for one in node.keywords}
        if set(arguments) != set(rule.parameters) or len(node.args) + len(node.keywords) != len(kinds):
            self.fail(node, f"{function.__name__} takes ({', '.join(rule.parameters)}), all of them")
        found = {name: self.value(one) for name, one in arguments.items()}  # computed in the order of the call
        given = [self.to(found[name], kind, node) for name, kind in zip(rule.parameters, kinds, strict=True)]
        if rule.pointer:  # to the function, in a field of the first argument
            called = self.t.load("ptr", self.t.offset(given[0], kinds[0].offset(rule.pointer)))
        else:
            called = f'@"{rule.symbol}"'
            self.called[rule] = None
        typed = ", ".join(f"{llvm_type(kind)} {text}" for kind, text in zip(kinds, given, strict=True))
        call = f"call {llvm_type(result)} {called}({typed})"
        if result is not None:
            return Val(result, self.t.let(call))
        self.t.do(call)
        return Val(None)

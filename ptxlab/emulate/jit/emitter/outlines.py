"""Functions of a module for code that would otherwise be written at each instruction of one kind.

LLVM needs most of the time of a first launch, and needs less for a call than for what it calls. So what is to be built
quickly calls such functions, where fast code has the same in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.llvm.values import Value


class Outline:
    """One function and a call of it: takes the values that its code depends on, and gives what they are in it.

    kind: what else its code depends on; functions of one kind with parameters of the same types are one. held: values
    that have the same name in it. flag: of the faults that it notes."""

    def __init__(self, e: Emitter, *kind: object, held: Sequence[str] = (), flag: int = 0) -> None:
        self.e, self.kind = e, list(kind)
        self._parameters = [*(f"ptr {name}" for name in ("%ctx", "%cta", "%ws", "%data", "%addrs")), *held]
        self._arguments = list(self._parameters)
        self._bits, self._code = self.text("i32", e.active.bits), self.text("i32", e.faults.code(flag))

    def text(self, type_: str, text: str) -> str:
        """A value by its LLVM type and text."""
        name = f"%given{len(self._parameters)}"
        self._parameters.append(f"{type_} {name}")
        self._arguments.append(f"{type_} {text}")
        return name

    def value(self, value: Value) -> Value:
        """A value of lanes; of an affine one the scalars."""
        if isinstance(value, Affine):
            self.kind.append(value.form)
            scalars = (value.base, value.inner, value.stride)
            base, inner, stride = (None if scalar is None else self.value(scalar) for scalar in scalars)
            assert base is not None
            return Affine(value.ops, value.form, base, inner, stride)
        return Value(self.text(value.llvm, value.text), value.type, value.uniform)

    def call(self, name: str, body: Callable[[], str]) -> str:
        """Calls the function, written by `body` where it is new; what it returns, an i32, -1 after a fault."""
        e, t = self.e, self.e.t
        key = name, *self.kind, *self._parameters
        if key not in e.outlines:
            e.outlines[key] = f"{name}.{len(e.outlines)}"
            with t.other_function(), e.active.only(self._bits), e.faults.of(self._code):
                e.active.narrow(self._bits)
                t.ret("i32", body())
                t.at("fault")
                t.ret("i32", -1)
                e.helpers[e.outlines[key]] = t.function(f"i32 @{e.outlines[key]}({', '.join(self._parameters)})")
        return t.call_function("i32", e.outlines[key], *self._arguments)

"""Functions that emitted code calls for what it would otherwise make of affine values in many places.

They take the scalars of an affine value, and make its lanes themselves: in place, each access or comparison would have
all that makes a vector of them once more, which takes LLVM longer to build than the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.values import Value

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emitter.emit import Emitter


@dataclass
class Given:
    """What a function is given: the arguments by the names of their parameters, each after its type, and what its code
    depends on besides."""

    arguments: dict[str, tuple[str, str]] = field(default_factory=dict)
    key: tuple[object, ...] = ()

    def take(self, name: str, value: Value) -> Value:
        """One more value; what it is in the function."""
        if isinstance(value, Affine):
            return self.affine(name, value)
        self.arguments[name] = value.llvm, value.text
        return Value(f"%{name}", value.type, value.uniform)

    def affine(self, name: str, value: Affine) -> Affine:
        """The scalars of one more affine value; what it is in the function."""
        self.key += (name, value.form)
        inner, stride = (
            None if scalar is None else self.take(f"{name}.{part}", scalar)
            for part, scalar in (("inner", value.inner), ("stride", value.stride))
        )
        return Affine(value.ops, value.form, self.take(f"{name}.base", value.base), inner, stride)


class AffineCalls(Part):
    """The functions of an emitter, one for each word and all that its code depends on."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self._numbers: dict[tuple[object, ...], int] = {}

    def call(self, word: str, given: Given, body: Callable[[], Value | None]) -> str:
        """Calls the function that `body` writes; the name of what it gives, if anything. In it, the active lanes are
        `%bits`."""
        key = (word, given.key, *((name, type_) for name, (type_, _) in given.arguments.items()))
        name = f"{word}.{self._numbers.setdefault(key, len(self._numbers))}"
        parameters = ", ".join(["i32 %bits", *(f"{type_} %{n}" for n, (type_, _) in given.arguments.items())])
        kind = self.e.helper(name, parameters, body)
        text = (
            f"call {kind} @{name}({', '.join([f'i32 {self.active.bits}', *map(' '.join, given.arguments.values())])})"
        )
        if kind != "void":
            return self.t.let(text)
        self.t.do(text)
        return ""

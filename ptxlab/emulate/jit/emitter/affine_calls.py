"""Functions that emitted code calls where it would otherwise compute the 32 lanes of an affine value in many places.

They take the scalars of an affine value, and compute its lanes themselves. In place, each access or comparison would
repeat that computation, which LLVM takes longer to build than the rest of the access.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ptxlab.emulate.jit.affine.values import Affine, AffineOps
from ptxlab.emulate.jit.emitter.active_mask import ActiveMask
from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.llvm.values import Value


@dataclass(eq=False, repr=False)
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


class AffineCalls:
    """The functions that a function calls."""

    def __init__(self, f: Function, m: AffineOps, active: ActiveMask) -> None:
        self.f, self.t, self.m, self.active = f, f.t, m, active
        self._gives: dict[str, str] = {}
        """What those that `write` has written give."""
        self._numbers: dict[tuple[object, ...], int] = {}

    def call(self, word: str, given: Given, body: Callable[[], Value | None]) -> str:
        """Calls the function that `body` writes, one for each word and all that its code depends on; the name of what
        it gives, if anything. In it, the active lanes are `%bits`."""
        key = (word, given.key, *((name, type_) for name, (type_, _) in given.arguments.items()))
        name = f"{word}.{self._numbers.setdefault(key, len(self._numbers))}"
        parameters = ", ".join(["i32 %bits", *(f"{type_} %{n}" for n, (type_, _) in given.arguments.items())])
        kind = self.write(name, parameters, body)
        return self.t.call_function(kind, name, f"i32 {self.active.bits}", *map(" ".join, given.arguments.values()))

    def write(self, name: str, parameters: str, body: Callable[[], Value | None]) -> str:
        """A function that emitted code calls, written once; the type of its result. Its lanes are `%bits`; `body`
        writes it and gives the result."""
        if name in self._gives:
            return self._gives[name]
        caller, here, self.t.lines, self.t.here = self.t.lines, self.t.here, [], f"entry of {name}"
        with self.active.only("%bits"), self.t.not_dominating():
            self.m.forget_splats()
            self.active.narrow("%bits")
            result = body()
        lines, self.t.lines, self.t.here = self.t.lines, caller, here
        kind, last = ("void", "ret void") if result is None else (result.llvm, f"ret {result.llvm} {result.text}")
        head = f"define internal {kind} @{name}({parameters}) noinline nounwind alignstack(64) {{"
        self.f.helpers[name] = "\n".join([head, *lines, f"  {last}", "}"]) + "\n"
        self._gives[name] = kind
        return kind

"""Operations by x86 instructions that no operation of LLVM stands for.

AVX-512 has some for directed rounding, powers of two and maxima; LLVM has functions for them, of 512 bits. Other x86
CPUs take the direction from their control register (MXCSR). A function sets the mode, computes all lanes and restores
what was there. LLVM moves no arithmetic into such a function or out of it: it has one that is strict (`strictfp`), and
calls of it are never inlined.
"""

from __future__ import annotations

import platform
from collections.abc import Callable

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value

_DIRECTED = {"fadd": "add", "fmul": "mul", "fdiv": "div", "fma": "vfmadd", "fsqrt": "sqrt"}
_MODES = {"rm": 1, "rp": 2, "rz": 3}
"""How LLVM calls operations with a rounding mode of their own, and the modes; with 8 added, without exceptions."""
_SHIFT = 13
"""The bit of MXCSR at which its mode begins."""


class WideOps(Ops):
    """The operations of a Machine by these instructions where the CPU has them."""

    features = ""
    """Those of the CPU."""

    def __init__(self, t: Text) -> None:
        super().__init__(t)
        self.functions: dict[str, str] = {}
        """Those that operations call, by name."""

    def _has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")

    def directed(self, operation: str, rnd: str, *values: Value) -> Value | None:
        """With AVX-512 an instruction itself names the direction."""
        if not self._has("avx512f"):
            return self._in_mode(operation, rnd, values)
        suffix = {"f32": "ps", "f64": "pd"}[values[0].type]
        name, mode = f"llvm.x86.avx512.{_DIRECTED[operation]}.{suffix}.512", ("i32", str(_MODES[rnd] + 8))
        return self._in_parts(values, lambda part, given: self.t.call(part, name, [*((part, x) for x in given), mode]))

    def rounded_to_odd(self, operation: str, *values: Value) -> Value | None:
        """With AVX-512 an instruction for each direction: where these give two neighbours, one's last bit is 1.
        A sum that is exactly 0 is +0, as if rounded to nearest: that is rounded up."""
        if not self._has("avx512f") or all(value.uniform for value in values):
            return None
        below, above = (self.directed(operation, rnd, *values) for rnd in ("rm", "rp"))
        assert below is not None
        assert above is not None
        last = self.and_(self.bitcast("i32", below), self.const("i32", 1))
        return self.select(self.eq(last, self.const("i32", 0)), above, below)

    def _in_mode(self, operation: str, rnd: str, values: tuple[Value, ...]) -> Value | None:
        """An operation by a function that changes the CPU's rounding mode. Without an instruction for it, a fused
        multiply-add would be a function of the C library, which does not round so."""
        x86 = platform.machine().lower() in ("x86_64", "amd64")
        if not x86 or all(value.uniform for value in values) or (operation == "fma" and not self._has("fma")):
            return None
        t, type_ = self.t, values[0].type
        name, kind = f"{operation}.{rnd}.{type_}", f"<{W} x {LLVM[type_]}>"
        if name not in self.functions:
            self.functions[name] = self._strict(name, operation, rnd, type_, len(values))
        given = (f"{kind} {self.vector(value.raw or value)}" for value in values)
        return self.one_nan(Value(t.call_function(kind, name, *given), type_, False))

    def _strict(self, name: str, operation: str, rnd: str, type_: str, count: int) -> str:
        """The function that `_in_mode` calls, of so many vectors of f32 or f64."""
        t, kind = Text(), f"<{W} x {LLVM[type_]}>"
        saved, changed = t.alloca("i32", align=4), t.alloca("i32", align=4)
        t.call("void", "llvm.x86.sse.stmxcsr", [("ptr", saved)])
        nearest = t.and_("i32", t.load("i32", saved), ~(3 << _SHIFT))
        t.store("i32", t.or_("i32", nearest, _MODES[rnd] << _SHIFT), changed)
        t.call("void", "llvm.x86.sse.ldmxcsr", [("ptr", changed)])
        lanes, parts = (256 if self._has("avx") else 128) // BITS[type_], list[str]()
        part = f"<{lanes} x {LLVM[type_]}>"
        word = "sqrt" if operation == "fsqrt" else operation
        intrinsic = f"llvm.experimental.constrained.{word}.v{lanes}{type_}"
        how = [("metadata", '!"round.dynamic"'), ("metadata", '!"fpexcept.strict"')]
        for first in range(0, W, lanes):
            given = [t.shuffle(kind, f"%a{k}", range(first, first + lanes)) for k in range(count)]
            parts.append(t.call(part, intrinsic, [*((part, x) for x in given), *how], " strictfp"))
        t.call("void", "llvm.x86.sse.ldmxcsr", [("ptr", saved)])
        t.ret(kind, t.joined(LLVM[type_], lanes, parts))
        self.t.declared |= t.declared
        listed = ", ".join(f"{kind} %a{k}" for k in range(count))
        return t.function(f"{kind} @{name}({listed})", "noinline nounwind strictfp")

    def extremum(self, larger: bool, a: Value, b: Value) -> Value | None:
        """AVX-512 has an instruction that ignores quiet NaNs. So each value is combined with itself first, to make a
        signalling NaN quiet: also results of arithmetic, since LLVM takes x * 1 for x."""
        which = "5" if larger else "4"  # the sign is that of the number chosen

        def made(part: str, given: list[str]) -> str:
            x, y = (self._unmasked("range", part, [v, v], which) for v in given)
            return self._unmasked("range", part, [x, y], which)

        return self._in_parts((a, b), made) if self._has("avx512dq") else None

    def fraction(self, a: Value) -> Value | None:
        """AVX-512 has an instruction for it, and one for `scaled`."""
        if not self._has("avx512dq"):
            return None
        return self._in_parts((a,), lambda part, given: self._unmasked("reduce", part, given, "8"))

    def scaled(self, a: Value, n: Value) -> Value | None:
        return self._in_parts((a, n), lambda part, given: self._unmasked("scalef", part, given))

    def _unmasked(self, word: str, part: str, given: list[str], number: str = "") -> str:
        """An instruction of AVX-512, whose mask is that of all lanes, rounded to nearest. number: its immediate."""
        suffix, mask = ("ps", "i16") if "float" in part else ("pd", "i8")
        operands = [(part, x) for x in given] + ([("i32", number)] if number else [])
        more = [(part, given[0]), (mask, "-1"), ("i32", "4")]
        return self.t.call(part, f"llvm.x86.avx512.mask.{word}.{suffix}.512", [*operands, *more])

    def _in_parts(self, values: tuple[Value, ...], made: Callable[[str, list[str]], str]) -> Value | None:
        """The result of an instruction on vectors of 512 bits for all lanes; None without AVX-512. made: writes the
        call, given the vectors' type and the operands."""
        if not self._has("avx512f") or all(value.uniform for value in values):
            return None
        t, type_ = self.t, values[0].type
        lanes, parts = 512 // BITS[type_], list[str]()
        given, part = [self.vector(value.raw or value) for value in values], f"<{lanes} x {LLVM[type_]}>"
        for first in range(0, W, lanes):
            order = range(first, first + lanes)
            parts.append(made(part, [t.shuffle(f"<{W} x {LLVM[type_]}>", v, order) for v in given]))
        return self.one_nan(Value(t.joined(LLVM[type_], lanes, parts), type_, False))

"""The operations that instruction semantics are written in; each engine of the emulator implements them all.

A value is 32 lanes of one lane type (`i1 i8 i16 i32 i64 f32 f64`; see `ptxlab.isa.types`). Integers carry no sign: the
operation says how to read them. f16 and bf16 are `i16` bits; packed types are `i32` bits. What an operation leaves
undefined here (a shift by the width or more, `ftoi` out of range) must be ruled out by the semantics before.
"""

from __future__ import annotations

from typing import Any, Protocol

Value = Any
"""32 lanes; a numpy array in the interpreter, a name in LLVM IR in the JIT."""


class OptionalOperations(Protocol):
    """Operations for which a CPU may have an instruction. Where an engine has none they give None, and are made of
    others."""

    def directed(self, operation: str, rnd: str, *values: Value) -> Value | None:
        """One of "fadd", "fmul", "fdiv", "fma", "fsqrt" rounded once as `rz`, `rm` or `rp` say (see
        `ptxlab.isa.rounding`)."""
        return None

    def rounded_to_odd(self, operation: str, *values: Value) -> Value | None:
        """ "fmul" or "fma" of f32: an inexact result is the neighbour whose last bit is 1."""
        return None

    def extremum(self, larger: bool, a: Value, b: Value) -> Value | None:
        """The larger or the smaller of two f32 or f64: -0 below +0, a NaN operand is ignored (both NaN: the canonical
        NaN)."""
        return None

    def fraction(self, a: Value) -> Value | None:
        """a less the nearest whole number, of f32; of an infinite one 0. A CPU that has it has `scaled`, too."""
        return None

    def scaled(self, a: Value, n: Value) -> Value | None:
        """a * 2**n, rounded once; n: whole numbers as f32, of any size."""
        return None


class Machine(OptionalOperations, Protocol):
    """What `sem(m, i, ...)` may call on `m`."""

    # -- constants and lanes
    def const(self, type: str, value: int | float) -> Value:
        """The same value in every lane. Integers may be negative or unsigned; a float's NaN/inf are allowed."""

    def lane_id(self) -> Value:
        """i32: 0 to 31."""

    def active(self) -> Value:
        """i1: the lanes that execute this instruction (not exited, not elsewhere, guard true)."""

    def special(self, name: str) -> Value:
        """A special register (`"%tid.x"`, `"%ctaid.y"`, `"%laneid"`, `"%clock64"`) in its natural lane type."""

    # -- integers (iN -> iN)
    def add(self, a: Value, b: Value) -> Value: ...
    def sub(self, a: Value, b: Value) -> Value: ...
    def mul(self, a: Value, b: Value) -> Value: ...
    def umulh(self, a: Value, b: Value) -> Value:
        """The upper half of the unsigned product."""

    def smulh(self, a: Value, b: Value) -> Value:
        """The upper half of the signed product."""

    def udiv(self, a: Value, b: Value) -> Value:
        """Unsigned quotient; all ones where b is 0 (as the hardware gives)."""

    def sdiv(self, a: Value, b: Value) -> Value:
        """Signed quotient, truncated; all ones where b is 0; the minimum where the quotient overflows."""

    def urem(self, a: Value, b: Value) -> Value:
        """Unsigned remainder; all ones where b is 0 (seen on hardware)."""

    def srem(self, a: Value, b: Value) -> Value:
        """Signed remainder, sign of a; all ones where b is 0, 0 where the quotient overflows."""

    def and_(self, a: Value, b: Value) -> Value: ...
    def or_(self, a: Value, b: Value) -> Value: ...
    def xor(self, a: Value, b: Value) -> Value: ...
    def not_(self, a: Value) -> Value: ...
    def shl(self, a: Value, b: Value) -> Value:
        """a << b; b has a's type and is below its width."""

    def lshr(self, a: Value, b: Value) -> Value:
        """Logical right shift; b has a's type and is below its width."""

    def ashr(self, a: Value, b: Value) -> Value:
        """Arithmetic right shift; b has a's type and is below its width."""

    def umin(self, a: Value, b: Value) -> Value: ...
    def umax(self, a: Value, b: Value) -> Value: ...
    def smin(self, a: Value, b: Value) -> Value: ...
    def smax(self, a: Value, b: Value) -> Value: ...
    def popc(self, a: Value) -> Value:
        """The number of ones, in a's type."""

    def clz(self, a: Value) -> Value:
        """Leading zeros, in a's type; the width where a is 0."""

    def brev(self, a: Value) -> Value:
        """Bits reversed."""

    # -- comparisons (-> i1)
    def eq(self, a: Value, b: Value) -> Value: ...
    def ne(self, a: Value, b: Value) -> Value: ...
    def ult(self, a: Value, b: Value) -> Value: ...
    def ule(self, a: Value, b: Value) -> Value: ...
    def slt(self, a: Value, b: Value) -> Value: ...
    def sle(self, a: Value, b: Value) -> Value: ...
    def feq(self, a: Value, b: Value) -> Value:
        """Ordered: false where either is NaN. So are `flt` and `fle`."""

    def flt(self, a: Value, b: Value) -> Value: ...
    def fle(self, a: Value, b: Value) -> Value: ...
    def isnan(self, a: Value) -> Value: ...

    # -- floating point (f32 or f64; every operation rounds once, to nearest even, subnormals kept)
    def fadd(self, a: Value, b: Value) -> Value: ...
    def fsub(self, a: Value, b: Value) -> Value: ...
    def fmul(self, a: Value, b: Value) -> Value: ...
    def fdiv(self, a: Value, b: Value) -> Value: ...
    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a*b + c, rounded once: exact in both engines, ties included."""

    def fsqrt(self, a: Value) -> Value: ...
    def any_nan(self, a: Value) -> Value:
        """The same number; where it is NaN, any NaN will do for what is made of it."""

    def fneg(self, a: Value) -> Value:
        """The sign bit flipped (NaN too)."""

    def fabs(self, a: Value) -> Value:
        """The sign bit cleared."""

    def floor(self, a: Value) -> Value: ...
    def ceil(self, a: Value) -> Value: ...
    def ftrunc(self, a: Value) -> Value: ...
    def rint(self, a: Value) -> Value:
        """To the nearest integer, ties to even."""

    # -- conversions
    def zext(self, type: str, a: Value) -> Value:
        """To a wider (or the same) integer type, zeros above; i1 gives 0 or 1."""

    def sext(self, type: str, a: Value) -> Value: ...
    def trunc(self, type: str, a: Value) -> Value:
        """To a narrower (or the same) integer type; to i1 keeps the lowest bit."""

    def bitcast(self, type: str, a: Value) -> Value:
        """The same bits as another type of the same width."""

    def utof(self, type: str, a: Value) -> Value:
        """Unsigned integer to f32/f64, nearest even."""

    def stof(self, type: str, a: Value) -> Value: ...
    def ftou(self, type: str, a: Value) -> Value:
        """Float to unsigned integer, truncated; a is known to be in range."""

    def ftos(self, type: str, a: Value) -> Value: ...
    def fpext(self, a: Value) -> Value:
        """f32 to f64."""

    def fptrunc(self, a: Value) -> Value:
        """f64 to f32, nearest even."""

    def half_to_float(self, a: Value) -> Value:
        """f16 bits (i16) to f32, exact; a signalling NaN becomes quiet."""

    def float_to_half(self, a: Value) -> Value:
        """f32 to f16 bits (i16), nearest even."""

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the i1 condition holds, else b."""

    # -- across lanes
    def lane_read(self, a: Value, index: Value) -> Value:
        """a of lane `index` (i32, 0 to 31 in every lane), whether that lane is active or not."""

    def ballot(self, a: Value) -> Value:
        """i32, the same in every lane: bit l is a's lane l AND active."""

    # -- state
    def carry_get(self) -> Value:
        """i1: the carry flag CC.CF."""

    def carry_set(self, carry: Value) -> None: ...

    def load(self, i: Any, address: Value) -> Any:
        """Memory of the form's space at a 64-bit (generic, global, param, const, local) or 32-bit (shared) byte
        address, checked; a value of the form's type, or a tuple of them for `.v2`, `.v4`, `.v8`."""

    def store(self, i: Any, address: Value, value: Any) -> None: ...

    def atom(self, i: Any, address: Value, *values: Value) -> Value:
        """Read-modify-write in lane order; the old value. `i.operation` says which (`add`, `min`, `cas`, ...)."""

"""Registers as Python values: every operator is one PTX instruction, and every type of PTX is a class.

A register of type f32 is an instance of `f32`, so annotations and mypy agree. 16-bit floats travel in `.b16` registers
and packed types in `.b32`; 8-bit types exist in memory only, and a load of one gives the 32-bit register it was
extended to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

from ptxlab.builder.source import Site

T = TypeVar("T")
N = TypeVar("N", int, float)
"""The Python numbers that an operator takes beside registers."""


@dataclass(slots=True, eq=False)
class Scope:
    """The nodes of one body, in order. `open`: instructions may still read what was computed in it."""

    what: str = "kernel"
    nodes: list[Any] = field(default_factory=list)
    open: bool = True


def _operator(op: str, number: type[N]) -> Callable[[Register[T], Register[T] | N], T]:
    """`register op other`."""
    return lambda self, other: self.k._binary(op, self, other)


def _reflected(op: str, number: type[N]) -> Callable[[Register[T], N], T]:
    """`number op register`."""
    return lambda self, other: self.k._binary(op, self, other, reflected=True)


def _shift(op: str) -> Callable[[Register[T], Register[Any] | int], T]:
    """`register << other`: the other may be of another type."""
    return lambda self, other: self.k._binary(op, self, other)


def _comparison(op: str) -> Callable[[Register[T], Register[T] | float], pred]:
    """`register < other`."""
    return lambda self, other: self.k._binary(op, self, other)


def _update(op: str, number: type[N]) -> Callable[[Var[T], Register[T] | N], Var[T]]:
    """`variable op= other`."""
    return lambda self, other: self.k._update(op, self, other)


def _update_shift(op: str) -> Callable[[Var[T], Register[Any] | int], Var[T]]:
    """`variable <<= other`."""
    return lambda self, other: self.k._update(op, self, other)


def _unary(op: str, sign: str = "") -> Callable[[Register[T]], T]:
    """`op register`."""
    return lambda self: self.k._unary(op, self, sign)


def _refused(error: str, *more: str) -> Callable[..., NoReturn]:
    """What a register cannot do, because its value exists only when the kernel runs; `error`: the builder's method that
    says so."""

    def refuse(self: Register[Any], *_: object) -> NoReturn:
        raise getattr(self.k, error)(self, *more)

    return refuse


_rebound = functools.partial(_refused, "_not_a_variable")
"""`value op= other`, which only a variable has."""


class TypeMeta(type):
    """Makes a type class show itself by its PTX name: `f32`."""

    ptx: str

    @property
    def name(cls) -> str:
        """The PTX name: `f32`."""
        return cls.ptx

    def __repr__(cls) -> str:
        return cls.__dict__.get("ptx") or cls.__name__


class Register(Generic[T], metaclass=TypeMeta):
    """A register that holds a value of type `T`: what an instruction returns, and what the next one takes.

    `+ - * / // % & | ^ << >> ~`, comparisons, unary `-` and `abs()` are one instruction each; Python numbers become
    immediates. Floats: `add.rn sub.rn mul.rn div.rn` (never fused behind your back); `!=` is `neu`, true for NaN as in
    Python. Integers: `*` keeps the low half, `//` and `%` truncate toward zero, `>>` is arithmetic for signed types.
    """

    __slots__ = ("dead", "hint", "k", "label", "scope", "site", "type")
    __array_ufunc__ = None  # numpy scalars leave `np.float32(2) * register` to us

    ptx: ClassVar[str] = ""
    bits: ClassVar[int] = 0
    declared: ClassVar[str] = ""  # the type in `.reg`
    prefix: ClassVar[str] = ""  # of fallback names
    kind: ClassVar[str] = ""  # "float", "signed", "unsigned", "bits", "packed", "pred"

    k: Any  # the builder that made it, which is written in terms of registers
    type: type[Any]
    hint: str | None  # the name asked for
    label: str  # the name in the PTX, once it has one
    dead: Register[Any] | None  # the variable that this result was written into by `.set`
    scope: Scope
    site: Site

    def __init_subclass__(cls, bits: int = 0, declared: str = "", prefix: str = "", kind: str = "") -> None:
        """A type of PTX, called as its class is; a subclass without these, such as `Var`, is none."""
        if bits:
            cls.ptx, cls.bits, cls.declared, cls.prefix, cls.kind = cls.__name__, bits, declared, prefix, kind

    def __init__(self, *_: object) -> None:
        raise TypeError(
            f"{type(self).__name__}(...) does not make a register; k.var({type(self).__name__}, 0) does, "
            "and k.cvt converts"
        )

    @property
    def name(self) -> str:
        """The name in the PTX, without the `%`."""
        return str(self.k._name_of(self))

    def __str__(self) -> str:
        return f"%{self.k._name_of(self)}"

    def __repr__(self) -> str:
        return f"<{self.type.ptx} {self.k._shown(self)}>"

    # -- one operator, one instruction; the second word is the kind of Python number that it takes
    __add__, __radd__ = _operator("+", float), _reflected("+", float)
    __sub__, __rsub__ = _operator("-", float), _reflected("-", float)
    __mul__, __rmul__ = _operator("*", float), _reflected("*", float)
    __truediv__, __rtruediv__ = _operator("/", float), _reflected("/", float)
    __floordiv__, __rfloordiv__ = _operator("//", int), _reflected("//", int)
    __mod__, __rmod__ = _operator("%", int), _reflected("%", int)
    __and__, __rand__ = _operator("&", int), _reflected("&", int)
    __or__, __ror__ = _operator("|", int), _reflected("|", int)
    __xor__, __rxor__ = _operator("^", int), _reflected("^", int)
    __lshift__, __rlshift__ = _shift("<<"), _reflected("<<", int)
    __rshift__, __rrshift__ = _shift(">>"), _reflected(">>", int)
    __lt__, __le__, __gt__, __ge__ = _comparison("<"), _comparison("<="), _comparison(">"), _comparison(">=")
    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]
    __hash__ = object.__hash__

    __invert__, __neg__, __abs__ = _unary("~"), _unary("neg", "-"), _unary("abs")

    __bool__, __iter__, __pow__ = _refused("_no_truth"), _refused("_no_iteration"), _refused("_no_power")
    __index__, __int__, __float__ = (_refused("_no_number", what) for what in ("index", "int", "float"))
    __getitem__ = __setitem__ = _refused("_no_element")

    if not TYPE_CHECKING:  # mypy would believe in every attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in Register.__slots__:
                raise AttributeError(name)
            raise self.k._no_attribute(self, name)

    __iadd__, __isub__, __imul__ = (
        _rebound("+="),
        _rebound("-="),
        _rebound("*="),
    )
    __itruediv__, __ifloordiv__, __imod__ = (
        _rebound("/="),
        _rebound("//="),
        _rebound("%="),
    )
    __iand__, __ior__, __ixor__ = (
        _rebound("&="),
        _rebound("|="),
        _rebound("^="),
    )
    __ilshift__, __irshift__ = _rebound("<<="), _rebound(">>=")


class Var(Register[T]):
    """A register that changes: `.set(value)` and `+=`, `*=` ... write it. Read it like any other register."""

    __slots__ = ()

    def set(self, value: Register[T] | int | float) -> None:
        """Writes the variable. The instruction that has just computed `value` writes it directly, without a `mov`,
        when its result has no name of its own."""
        self.k._assign(self, value)

    __iadd__, __isub__, __imul__ = _update("+", float), _update("-", float), _update("*", float)  # type: ignore[assignment]
    __itruediv__, __ifloordiv__, __imod__ = _update("/", float), _update("//", int), _update("%", int)  # type: ignore[assignment]
    __iand__, __ior__, __ixor__ = _update("&", int), _update("|", int), _update("^", int)  # type: ignore[assignment]
    __ilshift__, __irshift__ = _update_shift("<<"), _update_shift(">>")  # type: ignore[assignment]


class u8(Register["u8"], bits=8, declared="u32", prefix="r", kind="unsigned"):
    """An unsigned byte, in memory only."""


class s8(Register["s8"], bits=8, declared="s32", prefix="r", kind="signed"):
    """A signed byte, in memory only."""


class b8(Register["b8"], bits=8, declared="b32", prefix="r", kind="bits"):
    """Eight bits, in memory only."""


class u16(Register["u16"], bits=16, declared="u16", prefix="rs", kind="unsigned"):
    """An unsigned 16-bit integer."""


class s16(Register["s16"], bits=16, declared="s16", prefix="rs", kind="signed"):
    """A signed 16-bit integer."""


class b16(Register["b16"], bits=16, declared="b16", prefix="h", kind="bits"):
    """Sixteen bits."""


class f16(Register["f16"], bits=16, declared="b16", prefix="h", kind="float"):
    """A half-precision number."""


class bf16(Register["bf16"], bits=16, declared="b16", prefix="h", kind="float"):
    """A bfloat16: f32 with the lower half cut off."""


class u32(Register["u32"], bits=32, declared="u32", prefix="r", kind="unsigned"):
    """An unsigned 32-bit integer."""


class s32(Register["s32"], bits=32, declared="s32", prefix="r", kind="signed"):
    """A signed 32-bit integer."""


class b32(Register["b32"], bits=32, declared="b32", prefix="r", kind="bits"):
    """Thirty-two bits."""


class f32(Register["f32"], bits=32, declared="f32", prefix="f", kind="float"):
    """A single-precision number."""


class tf32(Register["tf32"], bits=32, declared="b32", prefix="r", kind="packed"):
    """An f32 rounded to 10 bits of mantissa, for tensor cores."""


class f16x2(Register["f16x2"], bits=32, declared="b32", prefix="hh", kind="packed"):
    """Two f16 in 32 bits, the first in the lower half."""


class bf16x2(Register["bf16x2"], bits=32, declared="b32", prefix="hh", kind="packed"):
    """Two bf16 in 32 bits, the first in the lower half."""


class u64(Register["u64"], bits=64, declared="u64", prefix="rd", kind="unsigned"):
    """An unsigned 64-bit integer."""


class s64(Register["s64"], bits=64, declared="s64", prefix="rd", kind="signed"):
    """A signed 64-bit integer."""


class b64(Register["b64"], bits=64, declared="b64", prefix="rd", kind="bits"):
    """Sixty-four bits."""


class f64(Register["f64"], bits=64, declared="f64", prefix="fd", kind="float"):
    """A double-precision number."""


class pred(Register["pred"], bits=1, declared="pred", prefix="p", kind="pred"):
    """A predicate: one bit per thread, which comparisons give and `k.if_`, `k.guard`, `k.select` take."""


_INTEGERS = (u8, s8, b8, u16, s16, b16, u32, s32, b32, u64, s64, b64)
_FLOATS = (f16, bf16, f32, tf32, f16x2, bf16x2, f64)
_ALL: tuple[type[Register[Any]], ...] = (*_INTEGERS, *_FLOATS, pred)

TYPES: dict[str, type[Register[Any]]] = {t.ptx: t for t in _ALL}
"""PTX name -> class. `TYPES["f32"] is f32`."""

IN_REGISTER: dict[str, type[Register[Any]]] = {"u8": u32, "s8": s32, "b8": b32}
"""What a load of an 8-bit type is held in."""

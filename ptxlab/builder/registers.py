"""Registers as Python values: every operator is one PTX instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from ptxlab.builder.arithmetic import Arithmetic
    from ptxlab.builder.emit import Scope
    from ptxlab.builder.source import Site
    from ptxlab.builder.types import pred

T = TypeVar("T")
N = TypeVar("N", int, float)
"""The Python numbers that an operator takes beside registers."""


def _operator(op: str, number: type[N]) -> Callable[[Register[T], Register[T] | N], T]:
    """`register op other`."""
    return lambda self, other: self.k.binary(op, self, other)


def _reflected(op: str, number: type[N]) -> Callable[[Register[T], N], T]:
    """`number op register`."""
    return lambda self, other: self.k.binary(op, self, other, reflected=True)


def _shift(op: str) -> Callable[[Register[T], Register[Any] | int], T]:
    """`register << other`: the other may be of another type."""
    return lambda self, other: self.k.binary(op, self, other)


def _comparison(op: str) -> Callable[[Register[T], Register[T] | float], pred]:
    """`register < other`."""
    return lambda self, other: self.k.compare(op, self, other)


def _update(op: str, number: type[N]) -> Callable[[Var[T], Register[T] | N], Var[T]]:
    """`variable op= other`."""
    return lambda self, other: self.k.update(op, self, other)


def _update_shift(op: str) -> Callable[[Var[T], Register[Any] | int], Var[T]]:
    """`variable <<= other`."""
    return lambda self, other: self.k.update(op, self, other)


def _refused(op: str) -> Callable[[Register[Any], object], NoReturn]:
    """`value op= other`, which only a variable has."""

    def refuse(self: Register[Any], other: object) -> NoReturn:
        raise self.k.not_a_variable(self, op)

    return refuse


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

    k: Arithmetic
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
        return self.k.name_of(self)

    def __str__(self) -> str:
        return "%" + self.k.name_of(self)

    def __repr__(self) -> str:
        return f"<{self.type.ptx} {self.k.shown(self)}>"

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

    def __invert__(self) -> T:
        return self.k.unary("~", self)

    def __neg__(self) -> T:
        return self.k.unary("-", self)

    def __abs__(self) -> T:
        return self.k.unary("abs", self)

    # -- what a register cannot do, because its value exists only when the kernel runs
    def __bool__(self) -> NoReturn:
        raise self.k.no_truth(self)

    def __index__(self) -> NoReturn:
        raise self.k.no_number(self, "index")

    def __int__(self) -> NoReturn:
        raise self.k.no_number(self, "int")

    def __float__(self) -> NoReturn:
        raise self.k.no_number(self, "float")

    def __iter__(self) -> NoReturn:
        raise self.k.no_iteration(self)

    def __pow__(self, other: object) -> NoReturn:
        raise self.k.no_power(self)

    if not TYPE_CHECKING:  # mypy would believe in every attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or name in Register.__slots__:
                raise AttributeError(name)
            raise self.k.no_attribute(self, name)

    __iadd__, __isub__, __imul__ = _refused("+="), _refused("-="), _refused("*=")
    __itruediv__, __ifloordiv__, __imod__ = _refused("/="), _refused("//="), _refused("%=")
    __iand__, __ior__, __ixor__ = _refused("&="), _refused("|="), _refused("^=")
    __ilshift__, __irshift__ = _refused("<<="), _refused(">>=")


class Var(Register[T]):
    """A register that changes: `.set(value)` and `+=`, `*=` ... write it. Read it like any other register."""

    __slots__ = ()

    def set(self, value: Register[T] | int | float) -> None:
        """Writes the variable. The instruction that has just computed `value` writes it directly, without a `mov`,
        when its result has no name of its own."""
        self.k.assign(self, value)

    __iadd__, __isub__, __imul__ = _update("+", float), _update("-", float), _update("*", float)  # type: ignore[assignment]
    __itruediv__, __ifloordiv__, __imod__ = _update("/", float), _update("//", int), _update("%", int)  # type: ignore[assignment]
    __iand__, __ior__, __ixor__ = _update("&", int), _update("|", int), _update("^", int)  # type: ignore[assignment]
    __ilshift__, __irshift__ = _update_shift("<<"), _update_shift(">>")  # type: ignore[assignment]

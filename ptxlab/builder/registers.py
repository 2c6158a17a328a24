"""Registers as Python values: every operator is one PTX instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from ptxlab.builder.arithmetic import Arithmetic
    from ptxlab.builder.emit import Scope
    from ptxlab.builder.source import Site
    from ptxlab.builder.types import pred

T = TypeVar("T")


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

    # -- one operator, one instruction
    def __add__(self, other: Register[T] | int | float) -> T:
        return self.k.binary("+", self, other)

    def __radd__(self, other: int | float) -> T:
        return self.k.binary("+", self, other, reflected=True)

    def __sub__(self, other: Register[T] | int | float) -> T:
        return self.k.binary("-", self, other)

    def __rsub__(self, other: int | float) -> T:
        return self.k.binary("-", self, other, reflected=True)

    def __mul__(self, other: Register[T] | int | float) -> T:
        return self.k.binary("*", self, other)

    def __rmul__(self, other: int | float) -> T:
        return self.k.binary("*", self, other, reflected=True)

    def __truediv__(self, other: Register[T] | int | float) -> T:
        return self.k.binary("/", self, other)

    def __rtruediv__(self, other: int | float) -> T:
        return self.k.binary("/", self, other, reflected=True)

    def __floordiv__(self, other: Register[T] | int) -> T:
        return self.k.binary("//", self, other)

    def __rfloordiv__(self, other: int) -> T:
        return self.k.binary("//", self, other, reflected=True)

    def __mod__(self, other: Register[T] | int) -> T:
        return self.k.binary("%", self, other)

    def __rmod__(self, other: int) -> T:
        return self.k.binary("%", self, other, reflected=True)

    def __and__(self, other: Register[T] | int) -> T:
        return self.k.binary("&", self, other)

    def __rand__(self, other: int) -> T:
        return self.k.binary("&", self, other, reflected=True)

    def __or__(self, other: Register[T] | int) -> T:
        return self.k.binary("|", self, other)

    def __ror__(self, other: int) -> T:
        return self.k.binary("|", self, other, reflected=True)

    def __xor__(self, other: Register[T] | int) -> T:
        return self.k.binary("^", self, other)

    def __rxor__(self, other: int) -> T:
        return self.k.binary("^", self, other, reflected=True)

    def __lshift__(self, other: Register[Any] | int) -> T:
        return self.k.binary("<<", self, other)

    def __rlshift__(self, other: int) -> T:
        return self.k.binary("<<", self, other, reflected=True)

    def __rshift__(self, other: Register[Any] | int) -> T:
        return self.k.binary(">>", self, other)

    def __rrshift__(self, other: int) -> T:
        return self.k.binary(">>", self, other, reflected=True)

    def __invert__(self) -> T:
        return self.k.unary("~", self)

    def __neg__(self) -> T:
        return self.k.unary("-", self)

    def __abs__(self) -> T:
        return self.k.unary("abs", self)

    def __lt__(self, other: Register[T] | int | float) -> pred:
        return self.k.compare("<", self, other)

    def __le__(self, other: Register[T] | int | float) -> pred:
        return self.k.compare("<=", self, other)

    def __gt__(self, other: Register[T] | int | float) -> pred:
        return self.k.compare(">", self, other)

    def __ge__(self, other: Register[T] | int | float) -> pred:
        return self.k.compare(">=", self, other)

    def __eq__(self, other: Register[T] | int | float) -> pred:  # type: ignore[override]
        return self.k.compare("==", self, other)

    def __ne__(self, other: Register[T] | int | float) -> pred:  # type: ignore[override]
        return self.k.compare("!=", self, other)

    __hash__ = object.__hash__

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

    def __iadd__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "+=")

    def __isub__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "-=")

    def __imul__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "*=")

    def __itruediv__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "/=")

    def __ifloordiv__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "//=")

    def __imod__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "%=")

    def __iand__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "&=")

    def __ior__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "|=")

    def __ixor__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "^=")

    def __ilshift__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, "<<=")

    def __irshift__(self, other: object) -> NoReturn:
        raise self.k.not_a_variable(self, ">>=")


class Var(Register[T]):
    """A register that changes: `.set(value)` and `+=`, `*=` ... write it. Read it like any other register."""

    __slots__ = ()

    def set(self, value: Register[T] | int | float) -> None:
        """Writes the variable. The instruction that has just computed `value` writes it directly, without a `mov`,
        when its result has no name of its own."""
        self.k.assign(self, value)

    def __iadd__(self, other: Register[T] | int | float) -> Var[T]:  # type: ignore[override]
        return self.k.update("+", self, other)

    def __isub__(self, other: Register[T] | int | float) -> Var[T]:  # type: ignore[override]
        return self.k.update("-", self, other)

    def __imul__(self, other: Register[T] | int | float) -> Var[T]:  # type: ignore[override]
        return self.k.update("*", self, other)

    def __itruediv__(self, other: Register[T] | int | float) -> Var[T]:  # type: ignore[override]
        return self.k.update("/", self, other)

    def __ifloordiv__(self, other: Register[T] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update("//", self, other)

    def __imod__(self, other: Register[T] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update("%", self, other)

    def __iand__(self, other: Register[T] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update("&", self, other)

    def __ior__(self, other: Register[T] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update("|", self, other)

    def __ixor__(self, other: Register[T] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update("^", self, other)

    def __ilshift__(self, other: Register[Any] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update("<<", self, other)

    def __irshift__(self, other: Register[Any] | int) -> Var[T]:  # type: ignore[override]
        return self.k.update(">>", self, other)

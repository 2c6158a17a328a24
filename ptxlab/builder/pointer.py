"""Typed pointers: `p[i]` loads, `p[i] = x` stores, `p + i` moves; constants fold into the address and cost nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from ptxlab.builder.registers import Register

T = TypeVar("T")
U = TypeVar("U", bound=Register[Any])
Index = int | Register[Any]


@dataclass(frozen=True)
class PointerType:
    """What `Ptr[f32]` means as a parameter's type: `element` is the type class."""

    element: type[Any]

    def __repr__(self) -> str:
        return f"Ptr[{self.element.ptx}]"


@dataclass(frozen=True, eq=False)
class Coordinates:
    """`[%map, {%column, %row}]`: the tile of a tensor map that begins there."""

    base: Register[Any]
    elements: tuple[Register[Any], ...]


class Ptr(Generic[T]):
    """A typed pointer: `p[i]` loads an element, `p[i] = x` stores one, `p + i` points `i` elements on.

    Indices count elements, not bytes. `p + 3` and `p.row(3)` cost no instruction; `p + i` with a register is one `mad`;
    `p[3]` is one load; `p[i]` with a register is a `mad` and a load. Pointers come from parameters (`x: Ptr[f32]`) and
    from `k.shared`, `k.dynamic_shared` and `k.pointer`.

    Attributes
    ----------
    base
        The register or symbol with the address.
    element
        The type of an element, such as `f32`.
    offset
        A constant number of bytes that is printed into the address: `[%q+16]`.
    space
        The state space: "global", "shared", ...
    shape
        Elements per dimension of a shared array; () where it is not known.

    Raises
    ------
    BuildError
        For what has no value while the kernel is built (`if p`, `for x in p`), and for `p - i` and `p += i`.
    """

    __slots__ = ("base", "element", "k", "offset", "shape", "space", "symbol")

    def __init__(
        self,
        k: Any,
        base: Register[Any],
        element: type[Any],
        offset: int = 0,
        space: str = "global",
        shape: tuple[int, ...] = (),
        symbol: str = "",
    ) -> None:
        self.k, self.base, self.element, self.offset = k, base, element, offset
        self.space, self.shape, self.symbol = space, shape, symbol

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return int(self.element.bits) // 8

    def __repr__(self) -> str:
        offset = f"+{self.offset}" if self.offset else ""
        return f"<Ptr[{self.element.ptx}] {self.space} {self.k._shown(self.base)}{offset}>"

    def moved(self, offset: int, shape: tuple[int, ...] | None = None) -> Ptr[T]:
        """The pointer `offset` bytes on, with the same base register.

        Parameters
        ----------
        offset
            Bytes, a constant.
        shape
            Elements per dimension of what it points to; None: as before.

        Returns
        -------
        Ptr
            A pointer of the same type. No instruction is written.
        """
        return self.like(self.base, self.element, self.offset + offset, shape, self.symbol)

    def like(
        self, base: Register[Any], element: type[Any], offset: int, shape: tuple[int, ...] | None, symbol: str
    ) -> Ptr[Any]:
        """A pointer to another place in the same space.

        Parameters
        ----------
        base, element, offset, shape, symbol
            Those of the new pointer; a `shape` of None is this pointer's.

        Returns
        -------
        Ptr
            No instruction is written.
        """
        kind = Shared if isinstance(self, Shared) else Ptr
        return kind(self.k, base, element, offset, self.space, self.shape if shape is None else shape, symbol)

    def __add__(self, index: Index) -> Ptr[T]:
        to: Ptr[T] = self.k._step(self, index, self.size)
        return to

    __radd__ = __add__

    def __sub__(self, index: int) -> Ptr[T]:
        if isinstance(index, Register | Ptr):
            name = (isinstance(index, Register) and index.hint) or "i"
            signed = f"k.cvt(s32, {name})" if isinstance(index, Register) and index.type.kind != "signed" else name
            write = "k.address(p) - k.address(q)" if isinstance(index, Ptr) else f"p + (0 - {signed})"
            raise self.k._pointer_error(self, "no instruction subtracts from a pointer", write)
        to: Ptr[T] = self.k._step(self, -index, self.size)
        return to

    def row(self, index: Index) -> Ptr[T]:
        """The pointer to a row of a shared array.

        Parameters
        ----------
        index
            The row, a number (no instruction) or a register (one `mad`).

        Returns
        -------
        Ptr
            With one dimension less.

        Raises
        ------
        BuildError
            For a pointer of one dimension.

        Examples
        --------
        `tile = k.shared(f32, (16, 64)); tile.row(k.tid.y)[k.tid.x] = x`
        """
        if len(self.shape) < 2:
            raise self.k._pointer_error(self, "this pointer has no rows; it is one-dimensional", "p + i * width")
        width = math.prod(self.shape[1:])
        to: Ptr[T] = self.k._step(self, index, width * self.size, self.shape[1:])
        return to

    def cast(self, element: type[U]) -> Ptr[U]:
        """The same address, pointing to elements of another type.

        Parameters
        ----------
        element
            The new type, such as `u32`.

        Returns
        -------
        Ptr
            Without a shape. No instruction is written.

        Examples
        --------
        `bits = x.cast(u32)[i]`
        """
        return self.like(self.base, element, self.offset, (), self.symbol)

    def __getitem__(self, index: Index | tuple[Index, ...]) -> T:
        item: T = self.k._element(self, index)
        return item

    def __setitem__(self, index: Index | tuple[Index, ...], value: Register[T] | int | float) -> None:
        self.k._set_element(self, index, value)

    def __iter__(self) -> NoReturn:
        raise self.k._pointer_error(self, "a pointer does not know how many elements it points to", "k.load(p, count)")

    def __bool__(self) -> NoReturn:
        raise self.k._pointer_error(self, "a pointer's value is known only when the kernel runs", "k.address(p) != 0")

    def __iadd__(self, index: Index) -> NoReturn:
        raise self.k._pointer_error(
            self, "this pointer is a value, not a variable; `+=` would only rebind the Python name", "p = k.var_ptr(p)"
        )


class Shared(Ptr[T]):
    """A pointer into shared memory: 32-bit addresses, `ld.shared` and `st.shared`."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, index: Index) -> Shared[T]: ...
        def __sub__(self, index: int) -> Shared[T]: ...
        def row(self, index: Index) -> Shared[T]: ...


class VarPtr(Ptr[T]):
    """A pointer that moves: `p += stride` adds elements in place, `p.set(q)` points it elsewhere."""

    __slots__ = ()

    def set(self, other: Ptr[T]) -> None:
        """Points to where `other` points."""
        self.k._set_pointer(self, other)

    def __iadd__(self, index: Index) -> VarPtr[T]:  # type: ignore[override]
        self.k._advance(self, index)
        return self

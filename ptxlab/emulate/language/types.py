"""The types of the rules' language: numbers of a fixed width, 32 or 16 lanes of them, and pointers.

A type is written as an annotation (`time: u32`). A number's type is also a cast: `u32(x)` keeps the lower 32 bits of
x, in Python as in compiled code. To a type checker, and when a rule runs in Python, the numbers are `int` and the lanes
are numpy arrays; only the translator distinguishes the widths.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from ptxlab.targets import WARP

W, ROW = WARP, 16
"""Lanes of a warp; words of a row."""
T = TypeVar("T")
U = TypeVar("U")


class Scalar:
    """A number type: its bits, and `signed` if it has a sign."""

    def __init__(self, name: str, bits: int, signed: bool = False) -> None:
        self.name, self.bits, self.signed = name, bits, signed
        self.format = {1: "B", 8: "B", 16: "H", 32: "I", 64: "Q"}[bits]  # as `struct` and `memoryview.cast` spell it
        if signed:
            self.format = self.format.lower()
        self.dtype = np.dtype(np.bool_) if bits == 1 else np.dtype(self.format)
        self.size = self.dtype.itemsize
        self._mask, self._half = (1 << bits) - 1, 1 << (bits - 1)
        self._counts = bits > 1 and not signed

    def __call__(self, value: Any) -> Any:
        """The value wrapped to this type; of lanes, each of them."""
        if self._counts and value.__class__ is int:  # nearly always
            return value & self._mask
        if isinstance(value, np.ndarray):
            return value.astype(self.dtype)
        if self.bits == 1:
            return bool(value)
        low = int(value) & self._mask
        return low - self._mask - 1 if self.signed and low & self._half else low

    def __repr__(self) -> str:
        return self.name


class Vector:
    """A vector type: 32 lanes of a warp, or a row of 16 words."""

    def __init__(self, name: str, element: Scalar, width: int) -> None:
        self.name, self.element, self.width = name, element, width

    def __repr__(self) -> str:
        return self.name


if TYPE_CHECKING:
    boolean: TypeAlias = bool
    u8: TypeAlias = int
    u16: TypeAlias = int
    u32: TypeAlias = int
    u64: TypeAlias = int
    i32: TypeAlias = int
    i64: TypeAlias = int
    lanes_u32: TypeAlias = np.ndarray
    lanes_u64: TypeAlias = np.ndarray
    lanes_bool: TypeAlias = np.ndarray
    row_u32: TypeAlias = np.ndarray
    row_u64: TypeAlias = np.ndarray
    row_bool: TypeAlias = np.ndarray
else:
    boolean = Scalar("boolean", 1)
    u8, u16, u32, u64 = (Scalar(f"u{bits}", bits) for bits in (8, 16, 32, 64))
    i32, i64 = Scalar("i32", 32, signed=True), Scalar("i64", 64, signed=True)
    lanes_u32, lanes_u64 = Vector("lanes_u32", u32, W), Vector("lanes_u64", u64, W)
    lanes_bool = Vector("lanes_bool", boolean, W)
    row_u32, row_u64 = Vector("row_u32", u32, ROW), Vector("row_u64", u64, ROW)
    row_bool = Vector("row_bool", boolean, ROW)


class Pointer(Generic[T]):
    """A position in an array: `p[i]` is the i-th element from there on, `p + i` a pointer to it.

    The elements have the data type of the numpy array. A null pointer is `None`.
    """

    __slots__ = ("array", "casts", "start", "view")

    def __init__(self, array: np.ndarray, start: int = 0) -> None:
        self.array, self.start = array, start
        self.view: Any = memoryview(array.data)
        if not array.flags.aligned:  # numpy's view of such an array cannot be read element by element
            octets: Any = memoryview(array.view(np.uint8).data)
            self.view = octets.cast(array.dtype.char)
        self.casts: dict[Any, Any] = {}  # those asked for so far

    def __getitem__(self, at: int) -> T:
        found: T = self.view[self.start + at]
        return found

    def __setitem__(self, at: int, value: T) -> None:
        self.view[self.start + at] = value

    def __add__(self, by: int) -> Pointer[T]:
        moved: Pointer[T] = object.__new__(Pointer)
        moved.array, moved.view, moved.start = self.array, self.view, self.start + by
        moved.casts = {}
        return moved

    def cast(self, kind: type[U]) -> Pointer[U]:
        """A pointer to the same memory as elements of another type."""
        if kind not in self.casts:
            octets = self.array.view(np.uint8)[self.start * self.array.itemsize :]
            self.casts[kind] = pointer_to(kind, octets)
        made: Pointer[U] = self.casts[kind]
        return made

    @property
    def address(self) -> int:
        """Where the element that it points to lies in memory."""
        return start_of(self.array) + self.start * self.array.itemsize

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pointer) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)


def start_of(array: np.ndarray) -> int:
    """Where an array lies in memory. (`array.ctypes.data` takes four times as long.)"""
    try:
        return _address(_octet(array.data))
    except (TypeError, ValueError):  # it is empty, or must not be written to
        return int(array.ctypes.data)


_octet, _address = ctypes.c_char.from_buffer, ctypes.addressof


def pointer_to(kind: Any, octets: np.ndarray) -> Any:
    """A pointer to elements of a type in an array of bytes."""
    if isinstance(kind, Scalar):
        whole = octets.size // kind.size * kind.size
        return Pointer(octets[:whole].view(kind.dtype))
    return kind.many(octets)

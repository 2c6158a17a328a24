"""Records: memory whose layout is written once, for rules in Python, for compiled rules and for emitted code.

    class Block(Record):
        now: u64                            # one number
        sync: Array[u32] = array(32, 32)    # numbers in place, block.sync[w, v]; block.sync.row(w) points to one row
        writer: Pointer[u64]                # a pointer to any number of them, block.writer[i]; None if it is null
        warp: Ref[WarpState]                # a pointer to one record, block.warp.live
        head: Head                          # a record in place, block.head.key

Fields follow each other as in C. `Block.offset("now")`, `Block.size` and `Block.dtype` say where they are;
`Block.new()` makes a zeroed one, `Block(buffer)` shows memory that is there already.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import mmap
import sys
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np

from ptxlab.emulate.language.types import Pointer, Scalar, T, start_of

R = TypeVar("R")
Ref = Annotated[R, "a pointer to it"]
"""The annotation of a field that points to one record of a type; in Python the record itself."""


class Array(Pointer[T]):
    """Elements in place in a record, in rows of `columns` each."""

    __slots__ = ("columns",)

    def __init__(self, array: np.ndarray, columns: int) -> None:
        super().__init__(array)
        self.columns = columns

    def __getitem__(self, at: int | tuple[int, int]) -> T:
        found: T = self.view[self._place(at)]
        return found

    def __setitem__(self, at: int | tuple[int, int], value: T) -> None:
        self.view[self._place(at)] = value

    def _place(self, at: int | tuple[int, int]) -> int:
        if not isinstance(at, tuple):
            return at
        row, column = at
        if not 0 <= column < self.columns:
            raise IndexError(f"column {column} of a row of {self.columns}")
        return row * self.columns + column

    def row(self, at: int) -> Pointer[T]:
        return self + at * self.columns


class Shape:
    """The value of `array(...)` in a class: how many elements a field has."""

    def __init__(self, sizes: tuple[int, ...], align: int) -> None:
        self.sizes, self.align = sizes, align


def array(*sizes: int, align: int = 0) -> Any:
    """The size of an `Array` field: its elements, or rows and columns. align: in bytes, if larger than an element's."""
    return Shape(sizes, align)


class Field:
    """One field: the type of its elements, its place, and how many it has in place. outer: the word of its annotation
    before the brackets, if it has some."""

    def __init__(self, name: str, outer: str, kind: Any, default: Any) -> None:
        self.name, self.kind = name, kind
        self.shape = default if outer == "Array" else None
        self.pointer, self.ref = outer == "Pointer", outer == "Ref"
        self.offset = 0
        if outer == "Array" and not isinstance(default, Shape):
            raise TypeError(f"{name}: how many? Write `{name}: Array[...] = array(32)`.")
        known = isinstance(kind, Scalar) or (isinstance(kind, type) and issubclass(kind, Record))
        if not known or outer not in ("", "Array", "Pointer", "Ref"):
            found = f"{outer}[...]" if outer else repr(kind)
            raise TypeError(f"{name}: a field is a number, an Array, a Pointer, a Ref or a record, not {found}")

    @property
    def indirect(self) -> bool:
        return self.pointer or self.ref

    @property
    def align(self) -> int:
        least = 8 if self.indirect else self.kind.size if isinstance(self.kind, Scalar) else self.kind.align
        return max(least, self.shape.align) if self.shape is not None else least

    @property
    def bytes(self) -> int:
        return 8 if self.indirect else self.kind.size * self.elements

    @property
    def elements(self) -> int:
        """How many elements it has in place."""
        return 1 if self.shape is None else math.prod(self.shape.sizes)

    @property
    def columns(self) -> int:
        """Elements of a row of an array."""
        return 1 if self.shape is None else self.shape.sizes[-1]

    @property
    def numpy(self) -> Any:
        if self.indirect:
            return np.uint64
        return self.kind.dtype if self.shape is None else (self.kind.dtype, self.shape.sizes)


class Record:
    """The base of records (see the module). In Python a record is a view of the first bytes of a contiguous array."""

    __slots__ = ("_held", "_views", "buffer")

    fields: ClassVar[dict[str, Field]] = {}
    size: ClassVar[int] = 0
    align: ClassVar[int] = 8
    dtype: ClassVar[Any] = np.dtype([])

    def __init_subclass__(cls, align: int = 8) -> None:
        names = vars(sys.modules[cls.__module__])
        cls.fields, at = {}, 0
        for name, annotation in inspect.get_annotations(cls).items():
            if name in vars(Record):
                why = f"records have a {name} of their own"
                raise TypeError(f"{cls.__name__}.{name}: {why}; give the field another name")
            outer, _, kind = annotation.removesuffix(" | None").rpartition("[")  # "Pointer[u8] | None", or "u8"
            field = Field(name, outer, names.get(kind.removesuffix("]")), cls.__dict__.get(name))
            align = max(align, field.align)
            field.offset = at = -(-at // field.align) * field.align
            at += field.bytes
            cls.fields[name] = field
            setattr(cls, name, _accessor(field))
        cls.align, cls.size = align, -(-at // align) * align
        cls.dtype = np.dtype(
            {
                "names": list(cls.fields),
                "formats": [field.numpy for field in cls.fields.values()],
                "offsets": [field.offset for field in cls.fields.values()],
                "itemsize": cls.size,
            }
        )

    def __init__(self, buffer: np.ndarray) -> None:
        octets = buffer if buffer.dtype == np.uint8 else buffer.view(np.uint8)
        if octets.size < self.size:
            raise ValueError(f"{type(self).__name__} takes {self.size} bytes, here are {octets.size}")
        self.buffer = octets
        whole: Any = octets[: self.size].data
        self._views = _Views(whole)
        self._held: dict[str, Any] = {}

    @classmethod
    def new(cls) -> Self:
        """A record of zeros, at a multiple of 128 bytes."""
        return cls(zeroed(cls.size))

    @classmethod
    def offset(cls, path: str) -> int:
        """The bytes from the start of a record to a field: "live", "fault.kind" in a record in place, "grid.1" for an
        element of an array or "given.2" for one of its rows."""
        return cls.locate(path)[0]

    @classmethod
    def locate(cls, path: str) -> tuple[int, Field]:
        """The offset of a field (see `offset`), and the field."""
        name, *rest = path.split(".")
        field = cls.fields[name]
        at = field.offset
        if rest and field.shape is not None:
            element = field.columns if len(field.shape.sizes) > 1 else 1
            at += int(rest.pop(0)) * element * field.kind.size
        if not rest:
            return at, field
        if field.indirect or isinstance(field.kind, Scalar):
            raise KeyError(f"{cls.__name__}.{path}: {name} is not a record in place")
        inner, found = field.kind.locate(".".join(rest))
        return at + inner, found

    @classmethod
    def many(cls, records: int | np.ndarray) -> Pointer[Self]:
        """A pointer to so many zeroed records, or to those in an array of bytes."""
        return Records(cls, zeroed(cls.size * records) if isinstance(records, int) else records)

    @property
    def opaque(self) -> Pointer[int]:
        """A pointer to its bytes. `p.cast(Block)[0]` is this same view, so it knows what its pointers were set to."""
        found, records = Pointer[int](self.buffer), Records[Self](type(self), self.buffer)
        records.made[0] = self
        found.casts[type(self)] = records
        return found

    def point(self, name: str, address: int) -> None:
        """Sets the pointer of this name to an address; the caller keeps the memory there alive."""
        self._held.pop(name, None)
        self._views["Q"][self.fields[name].offset // 8] = address

    def clear(self) -> None:
        self.buffer[: self.size] = 0
        self._held.clear()


class _Views(dict[str, Any]):
    """A record's bytes as numbers of a kind, made when it is first used."""

    __slots__ = ("octets",)

    def __init__(self, octets: Any) -> None:
        super().__init__()
        self.octets = octets

    def __missing__(self, code: str) -> Any:
        found = self[code] = self.octets.cast(code)
        return found


class Records(Pointer[R]):
    """A pointer to records: `p[i]` is a record, always the same view of it."""

    __slots__ = ("kind", "made")

    def __init__(self, kind: Any, octets: np.ndarray) -> None:
        super().__init__(octets)
        self.kind = kind
        self.made: dict[int, Any] = {}

    def __getitem__(self, at: int) -> R:
        at += self.start
        if at not in self.made:
            size = self.kind.size
            if not 0 <= at < self.array.size // size:
                raise IndexError(f"record {at} of {self.array.size // size}")
            self.made[at] = self.kind(self.array[at * size : (at + 1) * size])
        found: R = self.made[at]
        return found

    def __add__(self, by: int) -> Pointer[R]:
        moved: Records[R] = object.__new__(Records)
        moved.array, moved.view, moved.kind, moved.made = self.array, self.view, self.kind, self.made
        moved.start, moved.casts = self.start + by, {}
        return moved

    @property
    def address(self) -> int:
        """Where the record that it points to lies in memory."""
        return start_of(self.array) + self.start * int(self.kind.size)


def address_of(pointed: Record | Pointer[Any]) -> int:
    """Where a record, or what a pointer points to, lies in memory."""
    return start_of(pointed.buffer) if isinstance(pointed, Record) else pointed.address


def zeroed(size: int) -> np.ndarray:
    """`size` zeroed bytes at a multiple of 128."""
    if size >= LARGE and sys.platform != "win32":
        return np.frombuffer(pages(size), np.uint8)
    raw = np.zeros(size + 128, np.uint8)
    start = -start_of(raw) % 128
    return raw[start : start + size]


def pages(size: int) -> mmap.mmap:
    """Memory from the operating system, which zeroes what is touched."""
    held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel that has none
            held.madvise(mmap.MADV_HUGEPAGE)
    return held


LARGE, HUGE = 16 << 20, 4 << 20
"""Bytes from which on memory comes from the operating system, which zeroes what is touched, and for which it takes huge
pages, which take an eighth of the time. (An allocator that reuses freed memory zeroes all of it.)"""


def _accessor(field: Field) -> property:
    """How a field of a view is read and written."""
    name, kind, offset = field.name, field.kind, field.offset
    if field.indirect:
        return _held(name, offset // 8)
    if field.shape is not None or not isinstance(kind, Scalar):
        return property(lambda self: self._held.get(name) or _in_place(self, field))
    code, at = kind.format, offset // kind.size

    def get(self: Record) -> Any:
        return self._views[code][at]

    def get_boolean(self: Record) -> Any:
        return self._views[code][at] != 0

    def set_(self: Record, value: Any) -> None:
        self._views[code][at] = value

    return property(get_boolean if kind.bits == 1 else get, set_)


def _held(name: str, at: int) -> property:
    """A pointer: the record keeps its address, the view what it points to."""

    def get(self: Record) -> Any:
        found = self._held.get(name)
        if found is None and self._views["Q"][at]:
            raise ValueError(f"{name} was set by compiled code; read it there, or give this view the array")
        return found

    def set_(self: Record, value: Any) -> None:
        self._held[name] = value
        self._views["Q"][at] = 0 if value is None else address_of(value)

    return property(get, set_)


def _in_place(self: Record, field: Field) -> Any:
    """The view of an array or record inside of a record, made once."""
    octets = self.buffer[field.offset : field.offset + field.bytes]
    made: Any
    if field.shape is None:
        made = field.kind(octets)
    elif isinstance(field.kind, Scalar):
        made = Array(octets.view(field.kind.dtype), field.columns)
    else:
        made = Records(field.kind, octets)
    self._held[field.name] = made
    return made

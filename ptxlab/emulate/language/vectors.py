"""Operations of rules on 32 lanes at once, on masks of lanes, and on ranges of memory: here in Python, on numpy arrays;
the translator emits a few instructions for each.

A mask of lanes is a u32, lane 0 in its lowest bit; `lanes(mask)` and `bits(lanes)` lead to 32 truth values and back.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ptxlab.emulate.language.records import Record, zeroed
from ptxlab.emulate.language.types import ROW, Pointer, T, W, pointer_to

Words = Pointer[int]
ALL_LANES = 0xFFFFFFFF
"""The mask of all lanes."""

_IDS = np.arange(W, dtype=np.uint32)
_ROW_IDS = np.arange(ROW, dtype=np.uint64)
for _each in (_IDS, _ROW_IDS):
    _each.flags.writeable = False


# -- masks ------------------------------------------------------------------------------------------------------------


def lanes_of(mask: int) -> Iterator[int]:
    """The lanes of a mask, lowest first: `for lane in lanes_of(mask):`."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def first(mask: int) -> int:
    """The lowest lane of a mask; 32 if it is empty."""
    return (mask & -mask).bit_length() - 1 if mask else W


def last(mask: int) -> int:
    """The highest lane of a mask, which is not empty."""
    return mask.bit_length() - 1


def count(mask: int) -> int:
    """How many lanes a mask has."""
    return mask.bit_count()


@functools.lru_cache(maxsize=4096)
def lanes(mask: int) -> np.ndarray:
    """lanes_bool: which lanes a mask has."""
    found = np.unpackbits(np.frombuffer(mask.to_bytes(4, "little"), np.uint8), bitorder="little").view(np.bool_)
    found.flags.writeable = False
    return found


def bits(chosen: np.ndarray) -> int:
    """u32: the mask of the lanes, or of the words of a row, that are true."""
    return _packed(chosen.tobytes())


@functools.lru_cache(maxsize=4096)
def _packed(chosen: bytes) -> int:
    """The mask whose lanes are one byte each."""
    return sum(1 << lane for lane, taken in enumerate(chosen) if taken)


def any_of(chosen: np.ndarray) -> bool:
    """Whether any lane is true."""
    return b"\1" in chosen.tobytes()  # ten times as fast as a reduction of so few


def all_of(chosen: np.ndarray) -> bool:
    """Whether all lanes are true."""
    return b"\0" not in chosen.tobytes()


@functools.lru_cache(maxsize=4096)
def reversed_bits(mask: int) -> int:
    """A mask with lane 31 in its lowest bit."""
    return int(f"{mask:032b}"[::-1], 2)


# -- lanes ------------------------------------------------------------------------------------------------------------


def lane_ids() -> np.ndarray:
    """lanes_u32: 0, 1, ... 31."""
    return _IDS


def row_ids() -> np.ndarray:
    """row_u64: 0, 1, ... 15."""
    return _ROW_IDS


def splat(value: int) -> np.ndarray:
    """lanes_u64: the same number in all lanes. Rarely needed: in `v + x` a number stands for 32 of them."""
    return np.full(W, value, np.uint64)


def widen(values: np.ndarray) -> np.ndarray:
    """lanes_u64 of lanes_u32, or a row_u64 of a row_u32."""
    return values.astype(np.uint64)


def narrow(values: np.ndarray) -> np.ndarray:
    """lanes_u32 of lanes_u64, or a row_u32 of a row_u64: the lower halves."""
    return values.astype(np.uint32)


def select(chosen: np.ndarray, yes: Any, no: Any) -> np.ndarray:
    """Lane by lane one of two values; one of them may be a number."""
    kind = yes.dtype if isinstance(yes, np.ndarray) else no.dtype
    selected: np.ndarray = np.where(chosen, yes, no).astype(kind, copy=False)
    return selected


def minimum(a: np.ndarray, b: Any) -> np.ndarray:
    """The smaller value of each lane."""
    least: np.ndarray = np.minimum(a, b)
    return least


def maximum(a: np.ndarray, b: Any) -> np.ndarray:
    """The larger value of each lane."""
    most: np.ndarray = np.maximum(a, b)
    return most


def least(values: np.ndarray) -> int:
    """The smallest value that a lane has."""
    found: int = values.min().item()
    return found


def either(values: np.ndarray) -> int:
    """The bits that are set in any lane."""
    found: int = np.bitwise_or.reduce(values).item()
    return found


def extract(values: np.ndarray, lane: int) -> Any:
    """One lane's value."""
    return values[lane].item()


def insert(values: np.ndarray, lane: int, value: int) -> np.ndarray:
    """The lanes with one of them replaced."""
    changed = values.copy()
    changed[lane] = value
    return changed


def exchanged(values: np.ndarray, distance: int) -> np.ndarray:
    """Lane n gets the value of lane n ^ distance; the distance is a constant."""
    swapped: np.ndarray = values[_IDS ^ distance]
    return swapped


def reversed_lanes(values: np.ndarray) -> np.ndarray:
    """Lane 31 first."""
    return values[::-1]


def unlike(values: np.ndarray, mask: int) -> int:
    """u32: the first lane with each value, of the lanes of a mask."""
    firsts: dict[int, int] = {}
    for lane in lanes_of(mask):
        firsts.setdefault(values[lane].item(), 1 << lane)
    return sum(firsts.values())


def distinct(values: np.ndarray, mask: int) -> int:
    """u32: how many different values the lanes of a mask have."""
    return len(set(values[lanes(mask)].tolist()))


# -- memory -----------------------------------------------------------------------------------------------------------


def load_lanes(words: Words) -> np.ndarray:
    """32 numbers, the first at the pointer."""
    return words.array[words.start : words.start + W].copy()


def store_lanes(words: Words, values: np.ndarray) -> None:
    """Writes 32 numbers, the first to the pointer."""
    words.array[words.start : words.start + W] = values


def load_row(words: Words) -> np.ndarray:
    """16 numbers, the first at the pointer."""
    return words.array[words.start : words.start + ROW].copy()


def store_row(words: Words, values: np.ndarray) -> None:
    """Writes 16 numbers, the first to the pointer."""
    words.array[words.start : words.start + ROW] = values


def gather(words: Words, index: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """`words[index]` of the lanes chosen, 0 in the others."""
    array = words.array[words.start :] if words.start else words.array
    found: np.ndarray
    if all_of(chosen):
        found = array[index]
    else:
        found = np.zeros(index.size, array.dtype)
        found[chosen] = array[index[chosen]]
    return found


def scatter(words: Words, index: np.ndarray, values: np.ndarray, chosen: np.ndarray) -> None:
    """`words[index] = values` for the lanes chosen; where several write to one place, the highest lane stays."""
    array = words.array[words.start :] if words.start else words.array
    if all_of(chosen):
        array[index] = values
    else:
        array[index[chosen]] = values[chosen]


def copy_bytes(to: Pointer[Any], source: Pointer[Any], size: int) -> None:
    """Copies memory that does not overlap."""
    _octets(to)[:size] = _octets(source)[:size]


def fill_bytes(to: Pointer[Any], value: int, size: int) -> None:
    """Sets `size` bytes to one value."""
    _octets(to)[:size] = value


def clear(record: Record) -> None:
    """Makes a record all zeros."""
    record.clear()


def local(kind: type[T], size: int) -> Pointer[T]:
    """`size` zeroed elements that live until the rule returns; `size` is a constant."""
    element: Any = kind
    pointer: Pointer[T] = pointer_to(kind, zeroed(size * element.size))
    return pointer


def atomic(operation: str, words: Words, at: int, value: int) -> int:
    """Changes `words[at]` atomically: "add", "sub", "and", "or", "xor", "xchg", "umin", "umax". Gives the old value."""
    before = words[at]
    words.array[words.start + at] = _ATOMIC[operation](words.array[words.start + at], words.array.dtype.type(value))
    return before


def _octets(place: Pointer[Any]) -> np.ndarray:
    return place.array.view(np.uint8)[place.start * place.array.itemsize :]


_ATOMIC: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "xchg": lambda _, new: new,
    "umin": np.minimum,
    "umax": np.maximum,
}

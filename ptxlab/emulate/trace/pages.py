"""The file of a trace: steps as columns of bytes, packed into pages.

A header (magic, version, length; JSON with the kernel, its text, registers and code), pages, an end. A page holds up to
`PAGE` steps of one warp: the registers before them, and for each step its instruction, lanes, registers written and
accesses to memory. Each kind of data is a column, lanes as differences from their left neighbour, bytes sorted by
significance, compressed: a few dozen bytes per step for most kernels, never more than the raw values (128 bytes for a
32-bit register that is written). Little-endian throughout.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.program.lane_types import DTYPE, LANES

MAGIC = b"PTXTRACE"
VERSION = 1
HEAD = struct.Struct("<8sII")
"""Magic, version, bytes of JSON."""
PAGE_HEAD = struct.Struct("<4sIIQIII")
"""Tag, block, warp, number of the first step, steps, bytes that follow, their CRC-32."""
PAGE_TAG, END_TAG = b"PAGE", b"END."
PAGE = 4096
"""Steps of a page."""
SPACES = ("generic", "global", "shared", "local", "frame", "param", "const", "cluster")
KINDS = ("load", "store", "atomic")


@dataclass
class Pending:
    """The steps of one warp that have not been written yet. `last`: its registers after the last recorded step."""

    last: list[np.ndarray]
    seen: int = 0
    first: int = 0
    keyframe: list[np.ndarray] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    touches: list[Any] = field(default_factory=list)


_CLASSES = tuple(dict.fromkeys(DTYPE.values()))
"""The kinds of lane values, in the order of their columns."""
Kinds = dict[np.dtype[Any], np.ndarray]
"""For each type of lane values an array of them, shape (count, 32)."""


@dataclass
class Columns:
    """Steps of one warp as columns. For each step: `codes`, `masks` (lane 0 the lowest bit),
    `counts` of writes, `touched` of accesses. For each write: `registers`; its value is a row of `kinds` of its type.
    For each access: `head` (kind, space, size), `lanes`, `addresses`."""

    codes: np.ndarray
    masks: np.ndarray
    counts: np.ndarray
    registers: np.ndarray
    kinds: Kinds
    touched: np.ndarray
    head: np.ndarray
    lanes: np.ndarray
    addresses: np.ndarray

    def laid_out(self, keyframe: Kinds) -> tuple[bytes, ...]:
        """The columns of a page that begins with these registers, not compressed."""
        before = [pack_lanes(keyframe[dtype], dtype) for dtype in _CLASSES if dtype in keyframe]
        values = [pack_lanes(self.kinds[dtype], dtype) for dtype in _CLASSES if dtype in self.kinds]
        return (
            self.codes.astype(np.uint32).tobytes(), self.masks.tobytes(), self.counts.astype(np.uint16).tobytes(),
            self.registers.astype(np.uint16).tobytes(), b"".join(before), b"".join(values),
            self.touched.astype(np.uint16).tobytes(), self.head.tobytes(), self.lanes.tobytes(),
            pack_lanes(self.addresses, np.dtype(np.uint64)),
        )  # fmt: skip


def packed(columns: Sequence[bytes], level: int = 1) -> bytes:
    """The bytes of a page, each column a length and compressed data. level: how hard zlib tries."""
    compressed = ((zlib.compress(data, level), len(data)) for data in columns)
    return b"".join(struct.pack("<II", len(data), size) + data for data, size in compressed)


def by_kind(values: Sequence[np.ndarray]) -> Kinds:
    """Values of 32 lanes each, sorted by their type."""
    return {dtype: np.array([v for v in values if v.dtype == dtype], dtype).reshape(-1, LANES) for dtype in _CLASSES}


def columns_of(warp: Pending) -> Columns:
    touches = warp.touches
    return Columns(
        np.array(warp.codes),
        _bits(warp.masks),
        np.array(warp.counts),
        np.array(warp.registers, np.uint16),
        by_kind(warp.values),
        np.array(warp.touched),
        np.array([(KINDS.index(t.what), SPACES.index(t.space), t.size) for t in touches], np.uint8).reshape(-1, 3),
        _bits([t.mask for t in touches]),
        np.array([t.address for t in touches], np.uint64).reshape(-1, LANES),
    )


def _bits(masks: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """32 booleans as a u32 each, lane 0 the lowest bit."""
    if not len(masks):
        return np.zeros(0, np.uint32)
    return np.packbits(np.array(masks, np.bool_), axis=1, bitorder="little").view(np.uint32).ravel()


def pack_lanes(values: np.ndarray, dtype: np.dtype[Any]) -> bytes:
    """Values of 32 lanes each: every lane as the difference from its left neighbour, bytes sorted by significance."""
    if dtype == np.bool_:
        return _bits(values).tobytes()
    if not len(values):
        return b""
    whole = np.ascontiguousarray(values).view(np.dtype(f"u{dtype.itemsize}"))
    differences = whole.copy()
    differences[:, 1:] -= whole[:, :-1]
    return differences.view(np.uint8).reshape(-1, dtype.itemsize).T.tobytes()


def unpack_lanes(data: bytes, count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """`count` values, shape (count, 32): the inverse of `pack_lanes`."""
    if dtype == np.bool_:
        return np.unpackbits(np.frombuffer(data, np.uint8).reshape(count, 4), axis=1, bitorder="little").view(np.bool_)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    planes = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1).T
    whole = np.ascontiguousarray(planes).view(unsigned).reshape(count, LANES)
    return np.cumsum(whole, axis=1, dtype=unsigned).view(dtype)


@dataclass
class Page:
    """A page read back: for each step its instruction, lanes, and the indices of its writes and touches."""

    codes: np.ndarray
    masks: np.ndarray
    first_write: np.ndarray
    registers: np.ndarray
    values: list[np.ndarray]
    keyframe: list[np.ndarray]
    first_touch: np.ndarray
    touch_head: np.ndarray
    touch_masks: np.ndarray
    addresses: np.ndarray


def unpack_page(body: bytes, lanes: Sequence[str]) -> Page:
    """The inverse of `packed`, for a program whose registers have these lane types."""
    columns, at = [], 0
    while at < len(body):
        packed, size = struct.unpack_from("<II", body, at)
        data = zlib.decompress(body[at + 8 : at + 8 + packed])
        if len(data) != size:
            raise ValueError("a column has another length than it says")
        columns.append(data)
        at += 8 + packed
    codes, masks = np.frombuffer(columns[0], np.uint32), np.frombuffer(columns[1], np.uint32)
    registers = np.frombuffer(columns[3], np.uint16)
    types = [DTYPE[lane] for lane in lanes]
    touch_masks = np.frombuffer(columns[8], np.uint32)
    return Page(
        codes,
        masks,
        _starts(columns[2]),
        registers,
        _by_class(columns[5], [types[r] for r in registers.tolist()]),
        _by_class(columns[4], types),
        _starts(columns[6]),
        np.frombuffer(columns[7], np.uint8).reshape(-1, 3),
        touch_masks,
        unpack_lanes(columns[9], touch_masks.size, np.dtype(np.uint64)),
    )


def _starts(counts: bytes) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.frombuffer(counts, np.uint16).astype(np.int64))])


def _by_class(data: bytes, types: Sequence[np.dtype[Any]]) -> list[np.ndarray]:
    """Values that were packed kind by kind, in their original order."""
    out: list[np.ndarray] = [np.zeros(0)] * len(types)
    at = 0
    for dtype in _CLASSES:
        places = [k for k, type_ in enumerate(types) if type_ == dtype]
        size = len(places) * (4 if dtype == np.bool_ else LANES * dtype.itemsize)
        for place, value in zip(places, unpack_lanes(data[at : at + size], len(places), dtype), strict=True):
            out[place] = value
        at += size
    return out

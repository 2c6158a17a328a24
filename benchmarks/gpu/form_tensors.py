"""Copies of tiles, which tensor maps describe, for `form_programs`: 1 to 5 dimensions, columns of pixels, all swizzles.

Tiles lie at the start of `image`. Many of them reach over an edge of their tensor, before it or behind. In the tensor
they begin at multiples of 16 bytes, and stores and reductions not before it: an H100 stops at any other with an illegal
instruction.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.gpu.form_copies import ROOM, begun, policy, waited
from benchmarks.gpu.form_rules import EXACT, Array
from ptxlab.isa.entries import Op
from ptxlab.isa.table import Form

BETWEEN: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    1: ((), ()),
    2: ((9,), (4,)),
    3: ((3, 5), (2, 3)),
    4: ((2, 3, 4), (1, 2, 3)),
    5: ((2, 2, 3, 2), (2, 1, 2, 2)),
}
"""By the number of dimensions: all sizes but the innermost one's, of the tensor and of the box."""
PIXELS = {3: (4, 7), 4: (2, 5, 6), 5: (2, 3, 4, 3)}
"""The same for columns of pixels: images, and what lies between them and the channels."""
INNER, COLUMN = 128, 8
"""Bytes of a tensor's innermost dimension, and pixels of a column."""
WHOLE = [np.uint32, np.int32, np.uint64, np.int64]
LOGIC = WHOLE[:3]  # a program with `xor` of int64 stopped on an H100
REDUCED: dict[str, list[Any]] = {
    "add": [np.uint32, np.int32, np.uint64, np.float16, np.float32, ml_dtypes.bfloat16],
    "min": [*WHOLE, np.float16, ml_dtypes.bfloat16], "max": [*WHOLE, np.float16, ml_dtypes.bfloat16],
    "inc": [np.uint32], "dec": [np.uint32], "and": LOGIC, "or": LOGIC, "xor": LOGIC,
}  # fmt: skip
"""The elements of tensors for each reduction."""
COPIED = [np.uint8, np.uint16, np.int32, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int64]


def takes(entry: Op) -> bool:
    """Whether an entry of the table is one of these."""
    tile = entry.name == "cp" and ".tensor" in entry.syntax
    return tile or (entry.name == "prefetch" and "tensormap" in entry.syntax)


def add(w: Any, found: Form, n: int) -> None:
    """A form, with each swizzle where it brings a tile."""
    w.shared = max(w.shared, ROOM + 1024)
    item, words = w.item(found), found.opcode.split(".")
    if not found.dim:
        tile = Tile(found, 0, np.random.default_rng(1))
        given(w, tile)
        w.add(f"{found.opcode} [{f'map{len(w.maps) - 1}' if found.space else '%rd5'}];")
        w.store(item, "%lane", "b32")
        return
    loads = bool(found.completion)
    for swizzle in (0, 32, 64, 128) if loads else (0, 128):
        rng = np.random.default_rng(zlib.crc32(f"{found.opcode} {swizzle}".encode()))
        tile = Tile(found, swizzle, rng)
        given(w, tile)
        place = "{" + ", ".join(f"%r{20 + k}" for k in range(len(tile.place))) + "}"
        shifts = ", {" + ", ".join(f"%h{k + 1}" for k in range(len(tile.shifts))) + "}" if "im2col" in words else ""
        w.add(*(f"mov.s32 %r{20 + k}, {x};" for k, x in enumerate(tile.place)))
        w.add(*(f"mov.u16 %h{k + 1}, {x};" for k, x in enumerate(tile.shifts)), "mov.u16 %h8, 1;")
        if "prefetch" in words:
            w.add(f"@%first {found.opcode} [%rd5, {place}]{shifts}{policy(found)};")
            w.store(item, "%lane", "b32")
        elif loads:
            tail = shifts + (", %h8" if "multicast" in found.opcode else "") + policy(found)
            load(w, item, tile, f"{found.opcode} [%image], [%rd5, {place}], [%w]{tail};", f"{n}_{swizzle}")
        else:
            store(w, item, tile, f"{found.opcode} [%rd5, {place}], [%image]{policy(found)};", f"{n}_{swizzle}")


@dataclass
class Tile:
    """A tensor, the map of its tiles, and where a tile begins (the innermost coordinate first). bytes: of a tile."""

    found: Form
    swizzle: int
    rng: np.random.Generator
    array: Array = field(init=False)
    options: dict[str, Any] = field(init=False)
    place: list[int] = field(init=False)
    shifts: list[int] = field(init=False, default_factory=list)
    bytes: int = field(init=False)

    def __post_init__(self) -> None:
        rng, found = self.rng, self.found
        kinds = REDUCED[found.operation] if found.operation else COPIED
        dtype = np.dtype(kinds[int(rng.integers(len(kinds)))])
        row = self.swizzle or int(rng.choice([16, 48, 128]))
        rank = int(found.dim[0]) if found.dim else 2
        self.options = {"swizzle": self.swizzle}
        if dtype.kind != "i" and dtype.kind != "u" and rng.integers(2):
            self.options["fill"] = "nan"
        if "im2col" in found.opcode:
            self._pixels(PIXELS[rank], row // dtype.itemsize, dtype, "no_offs" in found.opcode)
            return
        sizes, box = BETWEEN[rank]
        inner = (INNER if rank > 1 else 2048) // dtype.itemsize
        self.array = elements(rng, (*sizes, inner), dtype)
        self.options["box"] = (*box, row // dtype.itemsize)
        self.bytes = int(np.prod(box)) * row
        if rank == 3 and found.completion and not found.operation:
            self.options["steps"] = (2, 1, 1)  # every second one of two
            self.bytes //= 2
        low = -1 if found.completion or "prefetch" in found.opcode else 0
        outer = [int(rng.integers(low, size)) for size in sizes]
        first = int(rng.integers(low, inner * dtype.itemsize // 16)) * 16 // dtype.itemsize
        self.place = [first, *outer[::-1]]

    def _pixels(self, sizes: tuple[int, ...], channels: int, dtype: Any, stored: bool) -> None:
        rng, between = self.rng, sizes[1:]
        self.array = elements(rng, (*sizes, channels), dtype)
        lower, upper = ([0 if stored else int(rng.integers(-1, 1)) for _ in between] for _ in range(2))
        self.options |= {"box": (COLUMN, channels), "lower": lower, "upper": upper}
        self.shifts = [] if stored else [int(x) for x in rng.integers(0, 3, len(between))]
        corners = zip(between, lower, upper, strict=True)
        start = [int(rng.integers(low, size + high)) for size, low, high in corners]
        self.place = [0, *start[::-1], int(rng.integers(sizes[0]))]
        self.bytes = COLUMN * channels * dtype.itemsize


def elements(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """A tensor: whole numbers at random, floats without infinities and NaN."""
    if dtype.kind in "iu":
        return np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)
    return (rng.standard_normal(shape) * 8).astype(dtype)


def given(w: Any, tile: Tile) -> None:
    """The address of the tile's map in %rd5, that of its tensor in %rd6."""
    w.maps.append((tile.array, tile.options))
    k = len(w.maps) - 1
    w.add(f"mov.b64 %rd5, map{k};", "cvta.param.u64 %rd5, %rd5;", f"ld.param.u64 %rd6, [tensor{k}];")


def load(w: Any, item: Any, tile: Tile, copy: str, name: str) -> None:
    """A tile is brought to shared memory, in which other bytes were."""
    rows = -(-tile.bytes // 256) + 1
    w.add("mad.lo.u32 %r1, %lane, 8, %image;", "ld.global.b64 %t, [%in];")
    w.add(*(f"st.shared.b64 [%r1+{256 * k}], %t;" for k in range(rows)))
    place = begun(w)
    w.add(f"@%first mbarrier.arrive.expect_tx.shared::cta.b64 %rd2, [{place}], {tile.bytes};", f"@%first {copy}")
    waited(w, place, f"WAIT{name}")
    for k in range(rows):
        w.add(f"ld.shared.b64 %t, [%r1+{256 * k}];")
        w.store(item, "%t", "b64", EXACT)


def store(w: Any, item: Any, tile: Tile, copy: str, name: str) -> None:
    """A tile in shared memory goes to a tensor, or is reduced with what is there; all of the tensor is a result."""
    data = elements(tile.rng, (-(-tile.bytes // 256) * 256 // tile.array.itemsize,), tile.array.dtype)
    at = w.given(data.view(np.uint64).reshape(-1, 32))
    w.add("mad.lo.u32 %r1, %lane, 8, %image;", f"add.u64 %rd1, %in, {at};")
    for k in range(data.nbytes // 256):
        w.add(f"ld.global.b64 %t, [%rd1+{256 * k}];", f"st.shared.b64 [%r1+{256 * k}], %t;")
    w.add("fence.proxy.async;", "bar.warp.sync -1;", f"@%first {copy}", "@%first cp.async.bulk.commit_group;")
    w.add("@%first cp.async.bulk.wait_group 0;", "bar.warp.sync -1;", "mad.wide.u32 %rd1, %lane, 8, %rd6;")
    for k in range(-(-tile.array.nbytes // 256)):
        left = tile.array.nbytes - 256 * k
        guard = ""
        if left < 256:
            w.add(f"setp.lt.u32 %p1, %lane, {left // 8};", "mov.b64 %t, 0;")
            guard = "@%p1 "
        w.add(f"{guard}ld.global.b64 %t, [%rd1+{256 * k}];")
        w.store(item, "%t", "b64", EXACT)

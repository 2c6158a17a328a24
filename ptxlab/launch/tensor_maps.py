"""Tensor maps as arguments of a launch: what `cp.async.bulk.tensor` copies tiles of.

    pl.launch(kernel, grid, block, pl.TensorMap(k, box=(64, 64), swizzle=128), out)

The kernel has a parameter `.param .align 64 .b8 name[128]` for it, and takes its address. The array is copied in and
back like any other; given to another parameter as well, it is the same memory there. Shapes and boxes are in numpy's
order, the innermost dimension last; the coordinates in PTX are in the opposite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import Array, DeviceBuffer

OF_DTYPE = {
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64", "float16": "f16",
    "float32": "f32", "float64": "f64", "bfloat16": "bf16", "int8": "u8", "float8_e4m3fn": "u8", "float8_e5m2": "u8",
}  # fmt: skip
"""The types of elements by the dtype of an array."""
BYTES = 128


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor in global memory, and the tile of it that one copy moves.

    array: a numpy array, or a device buffer. box: how many elements of each dimension a tile spans. swizzle: 0, 32, 64
    or 128 bytes. fill: "zeros" or "nan", which stands for elements outside of the tensor. steps: element strides; 2
    takes every second element of a dimension of the box. lower, upper: of im2col, the corners of the bounding box of
    the dimensions between the first (images) and the last (channels); the box is then (pixels per column, channels per
    pixel).
    """

    array: Array | DeviceBuffer
    box: Sequence[int]
    swizzle: int = 0
    fill: str = "zeros"
    steps: Sequence[int] | None = None
    lower: Sequence[int] | None = None
    upper: Sequence[int] | None = None

    def __post_init__(self) -> None:
        shape, rank = self.array.shape, len(self.array.shape)
        name = np.dtype(self.array.dtype).name
        if name not in OF_DTYPE:
            raise LaunchError(f"TensorMap: elements of type {name} cannot be copied; {', '.join(OF_DTYPE)} can")
        if not 1 <= rank <= 5:
            raise LaunchError(f"TensorMap: a tensor has 1 to 5 dimensions, the array has {rank}")
        if not all(shape):
            raise LaunchError(f"TensorMap: the array is empty, its shape is {shape}")
        im2col = self.lower is not None or self.upper is not None
        wanted = 2 if im2col else rank
        if len(self.box) != wanted:
            raise LaunchError(f"TensorMap: the box needs {wanted} sizes, got {tuple(self.box)}")
        if im2col and (rank < 3 or len(self.lower or ()) != rank - 2 or len(self.upper or ()) != rank - 2):
            raise LaunchError(f"TensorMap: im2col takes 3 to 5 dimensions, and corners of {rank - 2} numbers here")
        if not im2col and not all(1 <= n <= 256 for n in self.box):
            raise LaunchError(f"TensorMap: a box has 1 to 256 elements in each dimension, got {tuple(self.box)}")
        if self.steps is not None and (len(self.steps) != rank or not all(1 <= n <= 8 for n in self.steps)):
            raise LaunchError(f"TensorMap: steps are {rank} numbers from 1 to 8, got {tuple(self.steps)}")
        if self.swizzle not in maps.SWIZZLES:
            raise LaunchError(f"TensorMap: swizzle is 0, 32, 64 or 128 bytes, got {self.swizzle}")
        if self.fill not in ("zeros", "nan"):
            raise LaunchError(f"TensorMap: fill is 'zeros' or 'nan', got {self.fill!r}")
        each = np.dtype(self.array.dtype).itemsize
        row = self.box[-1] * each
        if row % 16:
            raise LaunchError(f"TensorMap: a row of the box must be a multiple of 16 bytes, {row} are asked for")
        if self.swizzle and row > self.swizzle:
            words = f"a row of the box has {row} bytes, a swizzle of {self.swizzle} takes at most as many"
            raise LaunchError(f"TensorMap: {words}\n  write:  box=(..., {self.swizzle // each})")
        for k, stride in enumerate(self._strides()[:-1]):
            if stride % 16:
                raise LaunchError(
                    f"TensorMap: the strides of all dimensions but the last must be multiples of 16 bytes; that of "
                    f"dimension {k} is {stride}"
                )

    def _strides(self) -> list[int]:
        """Bytes from one element to the next of each dimension of a contiguous array."""
        out = [np.dtype(self.array.dtype).itemsize]
        for n in self.array.shape[:0:-1]:
            out.append(out[-1] * n)
        return out[::-1]

    def encoded(self, address: int) -> bytes:
        """The 128 bytes, for the CPU machine."""
        shape, strides = self.array.shape[::-1], self._strides()[::-1]
        kind = maps.TYPES.index(OF_DTYPE[np.dtype(self.array.dtype).name])
        words = np.zeros(16, np.uint64)
        im2col = self.lower is not None
        mode = maps.IM2COL if im2col else maps.TILED
        words[0] = (
            maps.TAG << 52 | mode | len(shape) << 4 | kind << 8 | maps.SWIZZLES.index(self.swizzle) << 16
            | (self.fill == "nan") << 20
        )  # fmt: skip
        words[1] = address
        words[2 : 2 + len(shape)] = shape
        words[7 : 6 + len(shape)] = strides[1:]
        steps: Any = self.steps or [1] * len(shape)
        words[12] = sum(int(n) << 4 * k for k, n in enumerate(reversed(steps)))
        if im2col:
            for word, given in ((13, self.lower), (14, self.upper)):
                words[word] = sum((int(n) & 0xFFFF) << 16 * k for k, n in enumerate(reversed(given or ())))
            words[15] = int(self.box[1]) | int(self.box[0]) << 32
        else:
            words[11] = sum(int(n) << 12 * k for k, n in enumerate(reversed(self.box)))
        return words.tobytes()

"""Tensor maps as arguments of a launch: what `cp.async.bulk.tensor` copies tiles of.

    pl.launch(kernel, grid, block, pl.TensorMap(k, box=(64, 64), swizzle=128), out)

The kernel has a parameter `.param .align 64 .b8 name[128]` for it, and takes its address. The array is copied in and
back like any other; given to another parameter as well, it is the same memory there. Shapes and boxes are in numpy's
order, the innermost dimension last; the coordinates in PTX are in the opposite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.errors import LaunchError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.isa.tensor_map import BYTES, SWIZZLES, TF32, TYPES, with_field
from ptxlab.launch.buffers import Array, DeviceBuffer
from ptxlab.options import complete

__all__ = ["BYTES", "OF_DTYPE", "TF32", "TensorMap", "tiles"]

OF_DTYPE = {
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64", "float16": "f16",
    "float32": "f32", "float64": "f64", "bfloat16": "bf16", "int8": "u8", "float8_e4m3fn": "u8", "float8_e5m2": "u8",
}  # fmt: skip
"""The types of elements by the dtype of an array."""


def need(right: object, says: str) -> None:
    """LaunchError where something is not right."""
    if not right:
        raise LaunchError(f"TensorMap: {says}")


@complete("pl.TensorMap(array, box=(64, 64))")
@dataclass(frozen=True, eq=False)
class TensorMap:
    """A tensor in global memory, and the tile of it that one copy moves.

    Parameters
    ----------
    array
        A numpy array, or a device buffer.
    box
        How many elements of each dimension a tile spans; of im2col (pixels per column, channels per pixel).
    swizzle
        0, 32, 64 or 128 bytes.
    fill
        "zeros" or "nan", which stands for elements outside of the tensor.
    steps
        Element strides; 2 takes every second element of a dimension of the box.
    lower, upper
        Of im2col: the corners of the bounding box of the dimensions between the first (images) and the last (channels).
    promotion
        0, 64, 128 or 256; a GPU brings so many bytes into L2 for each that a copy reads.
    """

    array: Array | DeviceBuffer
    box: Sequence[int]
    swizzle: int = 0
    fill: str = "zeros"
    steps: Sequence[int] | None = None
    lower: Sequence[int] | None = None
    upper: Sequence[int] | None = None
    promotion: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "array", as_numpy(self.array, "TensorMap", "array"))
        given = type(self.array).__name__
        need(isinstance(self.array, np.ndarray | DeviceBuffer), f"expected an array, got {given}")
        shape, rank = self.array.shape, len(self.array.shape)
        name = np.dtype(self.array.dtype).name
        need(name in OF_DTYPE, f"elements of type {name} cannot be copied; {', '.join(OF_DTYPE)} can")
        need(1 <= rank <= 5, f"a tensor has 1 to 5 dimensions; the array has {rank}")
        need(all(shape), f"the array is empty, its shape is {shape}")
        box, (lower, upper) = tuple(self.box), (tuple(corner or ()) for corner in (self.lower, self.upper))
        wanted = 2 if self.im2col else rank
        need(len(box) == wanted, f"the box needs {wanted} sizes, got {box}")
        if self.im2col:
            corners = f"im2col needs 3 to 5 dimensions, and lower and upper need {rank - 2} numbers each"
            need(rank >= 3 and len(lower) == len(upper) == rank - 2, corners)
            reach = {3: 32768, 4: 128, 5: 16}[rank]
            words = f"corners in a tensor of {rank} dimensions must be from {-reach} to {reach - 1}"
            need(all(-reach <= n < reach for n in lower + upper), f"{words}, got {lower} and {upper}")
        else:
            need(all(1 <= n <= 256 for n in box), f"a box must have 1 to 256 elements in each dimension, got {box}")
        steps = tuple(self._steps())[::-1]
        right = len(steps) == rank and all(1 <= n <= 8 for n in steps)
        need(right, f"steps must be {rank} numbers from 1 to 8, got {steps}")
        need(self.swizzle in SWIZZLES, f"swizzle must be 0, 32, 64 or 128 bytes, got {self.swizzle}")
        need(self.promotion in (0, 64, 128, 256), f"promotion must be 0, 64, 128 or 256 bytes, got {self.promotion}")
        need(self.fill in ("zeros", "nan"), f"fill must be 'zeros' or 'nan', got {self.fill!r}")
        each = np.dtype(self.array.dtype).itemsize
        row = box[-1] * each
        need(row % 16 == 0, f"a row of the box must be a multiple of 16 bytes, got {row}")
        words = f"a row of the box has {row} bytes; with swizzle={self.swizzle} it has at most {self.swizzle}"
        need(not self.swizzle or row <= self.swizzle, f"{words}\n  write:  box=(..., {self.swizzle // each})")
        words = "the strides of all dimensions but the last must be multiples of 16 bytes; the stride of dimension"
        for k, stride in enumerate(self._strides()[:-1]):
            need(stride % 16 == 0, f"{words} {k} is {stride}")

    @property
    def im2col(self) -> bool:
        """Whether tiles are columns of pixels."""
        return self.lower is not None or self.upper is not None

    def _strides(self) -> list[int]:
        """Bytes from one element to the next of each dimension of a contiguous array."""
        out = [np.dtype(self.array.dtype).itemsize]
        for n in self.array.shape[:0:-1]:
            out.append(out[-1] * n)
        return out[::-1]

    def _steps(self) -> Sequence[int]:
        """The element strides, the innermost dimension first."""
        return [1] * len(self.array.shape) if self.steps is None else self.steps[::-1]

    def on_gpu(self, address: int) -> bytes:
        """The 128 bytes for a GPU, made by its driver."""
        from ptxlab.gpu.tensor_maps import Described, encoded

        described = Described(
            type=OF_DTYPE[np.dtype(self.array.dtype).name],
            dims=self.array.shape[::-1],
            strides=self._strides()[-2::-1],
            box=self.box[::-1],
            steps=self._steps(),
            swizzle=self.swizzle,
            promotion=self.promotion,
            nan=self.fill == "nan",
            lower=self.lower and self.lower[::-1],
            upper=self.upper and self.upper[::-1],
        )
        return encoded(described, address)

    def encoded(self, address: int) -> bytes:
        """The 128 bytes for the emulator; of tiles, the fields lie where a GPU has them."""
        element = TYPES.index(OF_DTYPE[np.dtype(self.array.dtype).name])
        box = [] if self.im2col else self.box
        map = tiles(
            address,
            element,
            self.array.shape,
            self._strides()[:-1],
            box,
            SWIZZLES.index(self.swizzle),
            nan=self.fill == "nan",
            steps=self.steps,
        )
        words = np.frombuffer(map.to_bytes(BYTES, "little"), np.uint64).copy()
        if self.im2col:
            words[maps.MARK] = maps.TAG
            for word, given in ((maps.LOWER, self.lower), (maps.UPPER, self.upper)):
                words[word] = sum((int(n) & 0xFFFF) << 16 * k for k, n in enumerate(reversed(given or ())))
            words[maps.SHAPE] = int(self.box[1]) | int(self.box[0]) << 32
        return words.tobytes()


def tiles(
    address: int,
    element: int,
    shape: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle: int,
    *,
    nan: bool = False,
    steps: Sequence[int] | None = None,
) -> int:
    """The bits of a tensor map of tiles. Shape, box, steps and strides (bytes, of all dimensions but the last) are in
    numpy's order. element: a type's place in `isa.tensor_map.TYPES`; swizzle: that of a width in `SWIZZLES`."""
    map = with_field(0, "global_address", address)
    map = with_field(map, "rank", len(shape) - 1)
    map = with_field(map, "elemtype", element)
    map = with_field(map, "swizzle_mode", swizzle)
    map = with_field(map, "fill_mode", int(nan))
    for k, (n, step) in enumerate(zip(reversed(shape), reversed(steps or [1] * len(shape)), strict=True)):
        map = with_field(map, "global_dim", n, k)
        map = with_field(map, "element_stride", int(step), k)
    for k, stride in enumerate(reversed(strides)):
        map = with_field(map, "global_stride", stride, k)
    for k, n in enumerate(reversed(box)):
        map = with_field(map, "box_dim", int(n), k)
    return map

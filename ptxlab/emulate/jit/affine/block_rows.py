"""How the threads of a warp lie in their block: what lanes add to the `%tid` of lane 0, and how large indices are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ptxlab.targets import GRID, THREADS_PER_BLOCK
from ptxlab.targets import WARP as W

if TYPE_CHECKING:
    from ptxlab.emulate.jit.affine.forms import Known

NEAR = (1 << 18, *GRID[1:])
"""Blocks of a grid along each axis so that `blockIdx * blockDim + threadIdx`, of either sign, is below 2^28: four times
such an index does not wrap around."""


class Rows(NamedTuple):
    """How the threads of a warp lie in its block: `width` of them in a row along x, 0 where rows begin at other places
    in each warp. far: whether the grid may have more blocks than `NEAR`. slices: whether blocks have several slices
    along z, each of full warps. partial: whether the only row of a block ends within a warp. lanes: of a block of less
    than a warp, how many threads it has. A kernel is built for each of these."""

    width: int = W
    far: bool = False
    slices: bool = False
    partial: bool = False
    lanes: int = 0

    @staticmethod
    def of(block: tuple[int, int, int], grid: tuple[int, int, int] = (1, 1, 1)) -> Rows:
        """Of a launch of these dimensions."""
        x, y, z = block
        far = any(blocks > near for blocks, near in zip(grid, NEAR, strict=True))
        lanes = x * y * z if x * y * z < W else 0
        if x % W == 0 or y == z == 1:
            return Rows(W, far, z > 1, x % W > 0, lanes)
        if lanes:
            return Rows(x if z == 1 else 0, far, lanes=lanes)
        divides = W % x == 0 and (z == 1 or y % (W // x) == 0)
        return Rows(x if divides else 0, far, divides and z > 1)

    def steps(self, axis: str) -> list[int] | None:
        """What the lanes of a warp add to the `%tid` of lane 0 along an axis."""
        if not self.width:
            return None
        return {"x": [k % self.width for k in range(W)], "y": [k // self.width for k in range(W)], "z": [0] * W}[axis]

    def zeros(self, axis: str) -> int:
        """How many low bits of the `%tid` of lane 0 along an axis are 0 in every warp."""
        from ptxlab.emulate.jit.affine.forms import low_zeros  # here, as launches of cached code have rows, too

        return {"x": low_zeros(W), "y": low_zeros(W // self.width) if self.width else 0, "z": 0}[axis]

    @property
    def full(self) -> int:
        """The lanes that a warp begins with, but for the last one of a block of several."""
        return (1 << self.lanes) - 1 if self.lanes else -1

    def known(self, special: str) -> Known:
        """What is known of a special register."""
        from ptxlab.emulate.jit.affine.forms import ANY, Known, low_zeros

        base, _, axis = special.partition(".")
        if special == "%ntid.x" and self.width and not self.partial:  # a multiple of W, or the width itself
            return Known(low_zeros(self.width), THREADS_PER_BLOCK)
        if base in ("%tid", "%ntid"):
            return Known(most=THREADS_PER_BLOCK - (base == "%tid"))
        if base in ("%ctaid", "%nctaid") and axis and not self.far:
            return Known(most=NEAR["xyz".index(axis)] - (base == "%ctaid"))
        return ANY

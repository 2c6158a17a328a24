"""A kernel's parameters, and what each is bound to in one launch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxlab.launch.buffers import Array, DeviceBuffer
from ptxlab.names import source_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptxlab.launch.tensor_maps import TensorMap
    from ptxlab.launch.textures import Surface, Texture


class Parameter(NamedTuple):
    """A kernel parameter: PTX `type`, `size` and `align` in bytes, `array` for `.b8 name[n]`; `element` is the PTX type
    pointed to, known for builder kernels only; `pointer` is True, False, or None where the PTX leaves it open. `box`
    and `swizzle` are of the tiles that a builder kernel copies by way of this tensor map."""

    name: str
    type: str
    size: int
    align: int
    array: bool = False
    pointer: bool | None = None
    element: str = ""
    box: tuple[int, ...] = ()
    swizzle: int = 0

    def __str__(self) -> str:
        if self.element:
            return f"{self.name}: Ptr[{self.element}]"
        if self.box:
            return f"{self.name}: TensorMap"
        return f"{self.name}: .{self.type}" + (f"[{self.size}]" if self.array else "")


NOTHING = np.zeros(0, np.uint8)


@dataclass(eq=False, repr=False, slots=True)
class Bound:
    """A parameter with its argument: `scalar` holds the bytes, or `buffer` is a device buffer, or `array` is copied
    in (unless `poison`) and out (if `back`)."""

    parameter: Parameter
    scalar: bytes = b""
    buffer: DeviceBuffer | None = None
    array: Array | None = None
    back: bool = False
    poison: bool = False
    map: TensorMap | None = None  # what the array or buffer is described by; the parameter holds that
    object: Texture | Surface | None = None  # what `array`, made for this launch, holds; the parameter is its handle
    variable: bool = False  # `object` is not for a parameter, but for a `.texref` or `.surfref` of that name
    same_as: int = -1  # an earlier parameter that was given the same array
    staged: NDArray[np.uint8] = field(default_factory=lambda: NOTHING)


class Name(NamedTuple):
    """How the caller has written an argument; found out when there is an error to put into words."""

    where: Where

    def __str__(self) -> str:
        return self.where.written


class Where(NamedTuple):
    """Which argument an error is about; put into words only when there is an error."""

    kernel: str
    at: int
    parameter: Parameter

    @property
    def written(self) -> str:
        """The argument as the caller has written it; the parameter's name where that is not known."""
        from ptxlab.launch.argument_hints import written

        return written(self.at, self.parameter.name)

    def __str__(self) -> str:
        return f"{source_name(self.kernel)}, argument {self.at + 1} ({self.parameter})"

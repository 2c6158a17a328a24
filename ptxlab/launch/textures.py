"""Textures and surfaces as arguments of a launch: what `tex`, `suld` and `sust` access.

    pl.launch(kernel, grid, block, pl.Texture(image, filter="linear"), pl.Surface(result))

The kernel has a 64-bit parameter for each (`cudaTextureObject_t`, `cudaSurfaceObject_t`); a `.global .texref` gets its
own by name, `pl.launch(..., textures={"name": pl.Texture(image)})`. Shapes are in numpy's order, the dimension that x
counts last, after it one for channels where there are several. A texture is what its array holds at the launch; a
surface is copied in and back like any other array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.errors import LaunchError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.isa.texture_object import (
    ADDRESSES,
    AT,
    BYTES,
    CHANNEL_ORDERS,
    CHANNEL_TYPES,
    COMPARES,
    NORMALIZED_TYPES,
    SURFACE,
    TEXEL,
    TEXTURE,
)
from ptxlab.launch.buffers import Array
from ptxlab.options import complete

FILTER = {"point": 0, "linear": 1}
ADDRESS = {
    "wrap": ADDRESSES.index("wrap"),
    "mirror": ADDRESSES.index("mirror"),
    "clamp": ADDRESSES.index("clamp_to_edge"),
    "border": ADDRESSES.index("clamp_to_border"),
}
READ = ("element", "normalized")


class _Shaped:
    """An array with the geometry of a texture or surface."""

    def __init__(self, array: Array, channels: int, layers: bool) -> None:
        self.name = type(self).__name__
        array = as_numpy(array, self.name, "array")
        self.need(isinstance(array, np.ndarray), f"expected an array, got {type(array).__name__}")
        listed = ", ".join(CHANNEL_TYPES)
        self.need(
            array.dtype.name in CHANNEL_TYPES, f"texels cannot have type {array.dtype.name}; choose from {listed}"
        )
        self.need(channels in (0, *CHANNEL_ORDERS), f"a texel has 1, 2 or 4 channels, got channels={channels}")
        last = f"with channels={channels} the last dimension of the array must be {channels}"
        self.need(array.shape[-1:] == (channels,) or not channels, f"{last}; the shape is {array.shape}")
        self.array, self.channels = array, channels or 1
        sizes = array.shape[:-1] if channels else array.shape
        self.layers = sizes[0] if layers and sizes else 1
        sizes, most = (sizes[1:], 2) if layers else (sizes, 3)
        more = " besides the layers" if layers else ""
        possible = f"expected an array of 1 to {most} dimensions{more}, got {len(sizes)}"
        self.need(1 <= len(sizes) <= most, possible)
        self.need(array.size, f"the array is empty, its shape is {array.shape}")
        self.sizes = sizes[::-1]  # width, height, depth

    def need(self, right: object, says: str) -> None:
        """LaunchError where something is not right."""
        if not right:
            raise LaunchError(f"{self.name}: {says}")

    def fields(self) -> dict[str, int]:
        """What both kinds of objects hold."""
        names = dict(zip(("width", "height", "depth"), (*self.sizes, 1, 1), strict=False))
        return {
            **names,
            "array_size": self.layers,
            "channel_data_type": CHANNEL_TYPES[self.array.dtype.name],
            "channel_order": CHANNEL_ORDERS[self.channels],
            "num_mipmap_levels": 1,
            "data": BYTES,
        }


def encoded(fields: dict[str, int]) -> NDArray[np.uint8]:
    """The bytes of an object."""
    made = np.zeros(BYTES, np.uint8)
    for name, value in fields.items():
        width = 8 if name in ("data", "pitch", "slice", "levels") else 4
        raw = (value % (1 << 8 * width)).to_bytes(width, "little")
        made[AT[name] : AT[name] + width] = np.frombuffer(raw, np.uint8)
    return made


@complete()
class Texture(_Shaped):
    """An array as a texture. A channel that the array does not have is 0, the fourth 1.

    Parameters
    ----------
    array, channels, layers
        As for `pl.Surface`; layers are read by `tex.a1d` and `tex.a2d`.
    filter
        "point" or "linear".
    address
        What coordinates outside mean: "clamp", "border", and of normalized ones "wrap" and "mirror"; one word, or one
        for each of x, y and z.
    normalized
        Whether coordinates go from 0 to 1.
    read
        "element" gives elements as they are, "normalized" integers of 8 and 16 bits as floats from 0 or -1 to 1.
    cube
        Whether the first dimension counts the faces of cubes, +x, -x, +y, -y, +z, -z.
    border
        What lies outside, a number or one for each channel.
    levels
        The coarser mipmap levels, each half as wide, high and deep, rounded down, but not below 1.
    mip_filter
        "point" takes the nearest level, "linear" interpolates between two.
    compare
        Makes it a depth texture: the depth that an instruction gives is compared with each texel before the filter;
        "less_equal" gives 1 where depth <= texel, else 0.
    seamless
        Whether the linear filter of a cube goes across the edges of its faces.
    """

    def __init__(
        self,
        array: Array,
        *,
        filter: str = "point",
        address: str | Sequence[str] = "clamp",
        normalized: bool = False,
        read: str = "element",
        channels: int = 0,
        layers: bool = False,
        cube: bool = False,
        border: float | Sequence[float] = 0,
        levels: Sequence[Array] = (),
        mip_filter: str = "point",
        compare: str = "",
        seamless: bool = False,
    ) -> None:
        super().__init__(array, channels, layers or cube)
        array, levels = self.array, [as_numpy(level, "Texture", "level") for level in levels]
        addresses = (address,) * 3 if isinstance(address, str) else (*address, "clamp", "clamp")[:3]
        for what, value, known in (
            ("filter", filter, FILTER),
            ("read", read, READ),
            ("mip_filter", mip_filter, FILTER),
            ("compare", compare or "never", COMPARES),
            *(("address", one, ADDRESS) for one in addresses),
        ):
            self.need(value in known, f"{what} must be one of {', '.join(map(repr, known))}, got {value!r}")
        wraps = "'wrap' and 'mirror' need normalized coordinates\n  write:  normalized=True"
        self.need(normalized or not set(addresses) & {"wrap", "mirror"}, wraps)
        scaled = f"read='normalized' is for {', '.join(NORMALIZED_TYPES)}; the array holds {array.dtype.name}"
        self.need(read == "element" or array.dtype.name in NORMALIZED_TYPES, scaled)
        self.integers = array.dtype.kind != "f" and read == "element"
        fractions = f"a linear filter gives fractions, and {array.dtype.name} is read as an integer"
        write = "\n  write:  read='normalized', or pass array.astype(np.float32)"
        self.need(not self.integers or "linear" not in (filter, mip_filter if levels else ""), fractions + write)
        squares = len(self.sizes) == 2 and self.sizes[0] == self.sizes[1] and self.layers % 6 == 0
        self.need(squares or not cube, f"a cube has six square faces; the array's shape is {array.shape}")
        held = f"{array.dtype.name} in {channels} channels" if channels else array.dtype.name
        depths = f"compare= needs depths, floats of one channel; the array holds {held}"
        self.need(not compare or (not channels and array.dtype.kind == "f"), depths)
        self.need(cube or not seamless, "seamless is for cubes\n  write:  cube=True")
        self.seamless = seamless
        self.levels, self.mip_filter, self.compare = [array, *levels], mip_filter, compare
        for k, level in enumerate(levels, 1):
            self._check_level(k, level)
        colour = (border,) * 4 if isinstance(border, int | float) else (*border, 0, 0, 0, 0)[:4]
        self.filter, self.normalized, self.read, self.addresses = filter, normalized or cube, read, addresses
        self.border = np.array(colour, np.float32 if not self.integers else np.int64).astype(self._word)

    @property
    def _word(self) -> type[Any]:
        kind = self.array.dtype.kind
        return np.float32 if not self.integers else np.uint32 if kind == "u" else np.int32

    def _check_level(self, k: int, level: Array) -> None:
        """Whether an array is the mipmap level k of the texture."""
        fixed = 1 if self.layers > 1 else 0
        shape = list(self.array.shape)
        spatial = range(fixed, fixed + len(self.sizes))
        wanted = tuple(max(n >> k, 1) if axis in spatial else n for axis, n in enumerate(shape))
        given = f"level {k} of {self.array.dtype.name} {shape}"
        says = f"{given} must have shape {wanted}, got {level.dtype.name} {level.shape}"
        self.need(level.shape == wanted and level.dtype == self.array.dtype, says)

    def _texels(self, array: Array) -> NDArray[np.uint8]:
        """The texels of a level, four words each."""
        values = array.reshape(-1, self.channels)
        if self.read == "normalized":
            most = np.iinfo(array.dtype).max
            values = np.maximum(values.astype(np.float32) / np.float32(most), np.float32(-1))
        texels = np.zeros((len(values), 4), self._word)
        texels[:, 3] = 1
        texels[:, : self.channels] = values
        return texels.reshape(-1).view(np.uint8)

    def staged(self) -> NDArray[np.uint8]:
        """The object, the table of its levels, and their texels."""
        texels = [self._texels(level) for level in self.levels]
        first = BYTES + -(-8 * len(texels) // TEXEL) * TEXEL
        starts = first + np.cumsum([0, *(len(each) for each in texels[:-1])])
        table = np.zeros(first - BYTES, np.uint8)
        table[: 8 * len(texels)] = (starts - BYTES).astype(np.uint64).view(np.uint8)
        fields = self.fields() | {
            "tag": TEXTURE,
            "data": first,
            "levels": BYTES,
            "seamless": int(self.seamless),
            "num_mipmap_levels": len(texels),
            "mip_filter": FILTER[self.mip_filter],
            "compare": COMPARES.get(self.compare, 0),
            "filter_mode": FILTER[self.filter],
            "normalized_coords": int(self.normalized),
            **{f"addr_mode_{k}": ADDRESS[word] for k, word in enumerate(self.addresses)},
        }
        if self.read == "normalized":
            fields["channel_data_type"] = NORMALIZED_TYPES[self.array.dtype.name]
        made = encoded(fields)
        made[AT["border"] : AT["border"] + 16] = self.border.view(np.uint8)
        return np.concatenate([made, table, *texels])

    def take(self, staged: NDArray[np.uint8]) -> None:
        """Copies nothing back: a kernel cannot write to a texture."""

    def __repr__(self) -> str:
        return f"Texture({self.array.dtype} {list(self.array.shape)}, {self.filter})"


@complete()
class Surface(_Shaped):
    """An array as a surface.

    Parameters
    ----------
    array
        A numpy array.
    channels
        1, 2 or 4, the array's last dimension; left out, each element is a texel.
    layers
        Whether the first dimension counts layers.
    """

    def __init__(self, array: Array, *, channels: int = 0, layers: bool = False) -> None:
        super().__init__(array, channels, layers)
        usable = self.array.flags.c_contiguous and self.array.flags.writeable
        self.need(usable, "the array must be C-contiguous and writable")

    def staged(self) -> NDArray[np.uint8]:
        """The object and its texels."""
        pitch = self.sizes[0] * self.channels * self.array.itemsize
        height = self.sizes[1] if len(self.sizes) > 1 else 1
        made = encoded(self.fields() | {"tag": SURFACE, "pitch": pitch, "slice": pitch * height})
        return np.concatenate([made, self.array.reshape(-1).view(np.uint8)])

    def take(self, staged: NDArray[np.uint8]) -> None:
        """The texels back into the array."""
        self.array.reshape(-1).view(np.uint8)[:] = staged[BYTES:]

    def __repr__(self) -> str:
        return f"Surface({self.array.dtype} {list(self.array.shape)})"

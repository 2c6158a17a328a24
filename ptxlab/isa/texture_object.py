"""What a texture, sampler or surface object holds: 128 bytes of global memory, to which a 64-bit handle points.

A GPU's objects are of a format that is not published. Those of the emulator are the fields below; texels follow, at
`data` bytes from the object: those of a texture as four words each, converted once, when the texture is given to a
launch; those of a surface as they are. The numbers of filters, addresses, channel types and orders are those that `txq`
and `suq` give (PTX ISA, "Texture Sampler and Surface Types").
"""

from __future__ import annotations

BYTES = 128
"""Bytes of an object."""
TEXEL = 16
"""Bytes of a texel of a texture."""
TEXTURE, SAMPLER, SURFACE = 0x54455855, 0x53414D50, 0x53555246
"""What the field `tag` says that an object is."""
TAGS = {"texref": TEXTURE, "samplerref": SAMPLER, "surfref": SURFACE}
"""The same by the type of a variable."""

AT = {
    "tag": 0, "width": 4, "height": 8, "depth": 12, "array_size": 16, "channel_data_type": 20, "channel_order": 24,
    "normalized_coords": 28, "num_mipmap_levels": 32, "filter_mode": 36, "addr_mode_0": 40, "addr_mode_1": 44,
    "addr_mode_2": 48, "num_samples": 52, "force_unnormalized_coords": 56, "memory_layout": 60, "border": 64,
    "data": 80, "pitch": 88, "slice": 96, "compare": 104, "mip_filter": 108, "levels": 112,
    "seamless": 120,
}  # fmt: skip
"""Where each field is. All have 32 bits but `border` (four words) and `data`, `pitch`, `slice` and `levels` (64).
`levels` is where a table is, in bytes from the object: for each mipmap level, in 64 bits, where its texels are, in
bytes from the table."""

COMPARES = {
    "never": 16, "less": 17, "equal": 18, "less_equal": 19, "greater": 20, "not_equal": 29, "greater_equal": 22,
    "always": 31,
}  # fmt: skip
"""How a depth is compared: 16, and 1, 2, 4, 8 where it may be less, equal, greater, or not comparable (a NaN)."""

FILTERS = ("nearest", "linear")
ADDRESSES = ("wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border")
CHANNEL_TYPES = {
    "int8": 0x10D7, "int16": 0x10D8, "int32": 0x10D9, "uint8": 0x10DA, "uint16": 0x10DB, "uint32": 0x10DC,
    "float16": 0x10DD, "float32": 0x10DE,
}  # fmt: skip
NORMALIZED_TYPES = {"int8": 0x10D0, "int16": 0x10D1, "uint8": 0x10D2, "uint16": 0x10D3}
CHANNEL_ORDERS = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}

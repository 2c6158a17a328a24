"""What the 128 bytes of a tensor map hold: the bits of each field, as the instructions that change them show.

NVIDIA calls a `CUtensorMap` opaque. But its assembler turns `tensormap.replace` into ordinary loads, masks and stores,
and its disassembler shows them: `tests/gpu/test_gpu_tensor_maps.py` reads the place of each field from there. A map of
tiles needs no other bit: Triton's kernels make theirs from 128 zero bytes by `tensormap.replace` alone (its
TMAToLLVM.cpp). Bits that no such instruction names (the L2 promotion, and all that only `cuTensorMapEncodeIm2col`
writes) are not known here.
"""

from __future__ import annotations

from typing import NamedTuple

BYTES = 128
TYPES = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz",
)  # fmt: skip
"""The types of elements as `tensormap.replace` numbers them (PTX ISA, tensormap.replace, .elemtype)."""
TF32 = 11
"""The first of those that a load rounds to tf32: kept as f32, and a bit of its own."""
INTERLEAVES = ("none", "16B", "32B")
SWIZZLES = (0, 32, 64, 128)
"""Bytes of a row of the swizzle patterns, as they are numbered."""
FILLS = ("zeros", "nan")
OOB_NAN = 0x7FF7
"""What "nan" puts into each 16 bits, whatever the type: an H100 does so, the manual does not give the bits. It is the
NaN of which `fma.oob` makes 0."""


class Bits(NamedTuple):
    """Some bits of a field: `width` of them from bit `at` of the map on. They hold what is left of the value, `less`
    subtracted, when its lowest `skip` bits are taken away."""

    at: int
    width: int
    skip: int = 0
    less: int = 0

    @property
    def mask(self) -> int:
        """The bits in the map."""
        return ((1 << self.width) - 1) << self.at


def _stride(k: int) -> tuple[Bits, ...]:
    return Bits(8 * 12 + 32 * k, 32, skip=4), Bits(8 * 28 + 4 * k, 4, skip=36)


FIELDS: dict[str, tuple[tuple[Bits, ...], ...]] = {
    "global_address": ((Bits(0, 64),),),
    "rank": ((Bits(68, 3),),),
    "elemtype": ((Bits(71, 4),),),
    "interleave_layout": ((Bits(75, 2),),),
    "swizzle_mode": ((Bits(77, 2),),),
    "fill_mode": ((Bits(79, 1),),),
    "global_stride": tuple(_stride(k) for k in range(4)),
    "global_dim": tuple((Bits(8 * 32 + 32 * k, 32, less=1),) for k in range(5)),
    "element_stride": tuple((Bits(8 * 52 + 3 * k, 3, less=1),) for k in range(5)),
    "box_dim": ((Bits(8 * 52 + 24, 8, less=1),), *((Bits(8 * 56 + 8 * k, 8, less=1),) for k in range(4))),
}
"""The bits of each field, for each of its ordinals. Rank and the numbered modes are stored as they are given."""
ROUNDS = Bits(80, 1)
"""Whether a load rounds to tf32."""
CLEARED = {"global_address": Bits(85, 1), "swizzle_mode": Bits(86, 1)}
"""Bits whose meaning is not known, which the instruction clears beside the field."""


def pieces(field: str, ordinal: int, value: int) -> list[tuple[Bits, int]]:
    """The bits that a field with a value consists of, and what each of them holds."""
    if field == "elemtype" and value >= TF32:
        stored = TYPES.index("f32") + value - TF32
        return [(ROUNDS, 1), (FIELDS[field][0][0], stored)]
    found = [(bits, (value - bits.less >> bits.skip) & (1 << bits.width) - 1) for bits in FIELDS[field][ordinal]]
    if field in CLEARED:
        found.append((CLEARED[field], 0))
    return found


def with_field(map: int, field: str, value: int, ordinal: int = 0) -> int:
    """The map, a number of 1024 bits, with another value in a field."""
    for bits, stored in pieces(field, ordinal, value):
        map = map & ~bits.mask | stored << bits.at
    return map

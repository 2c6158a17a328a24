"""Tensor maps: where the elements of a tile lie in global and in shared memory.

`ptxlab.isa.tensor_map` says where each field of a map lies. What only `cuTensorMapEncodeIm2col` writes is not public:
for im2col the upper 64 bytes, 0 in a map of tiles, hold it in the emulator's order. In 64-bit words:

    MARK            TAG
    LOWER, UPPER    lower and upper corner of the bounding box, 16 bits each, from dimension 1 on
    SHAPE           channels per pixel, pixels per column, 32 bits each
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.isa.tensor_map import FIELDS, OOB_NAN

MARK, LOWER, UPPER, SHAPE = range(8, 12)
"""The words that only maps for im2col have."""
TAG = 0x7A3
BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2)
SIZES = sum(size << 4 * k for k, size in enumerate(BYTES))
"""The bytes of each type, 4 bits each."""
CHUNK = 16
"""Bytes that a swizzle moves together."""
NO_SWIZZLE = 0
"""A map's swizzle, and that of a descriptor of `wgmma`, where rows lie as they are; else 1, 2 or 3, for 32, 64 and 128
bytes in a map, and the other way round in a descriptor."""
RANK, TYPE, INTERLEAVE, SWIZZLE, FILL = (
    FIELDS[name][0][0].at for name in ("rank", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode")
)
DIM, STRIDE, STRIDE_TOP, STEP, BOX, BOXES = (
    FIELDS["global_dim"][0][0].at,
    FIELDS["global_stride"][0][0].at,
    FIELDS["global_stride"][0][1].at,
    FIELDS["element_stride"][0][0].at,
    FIELDS["box_dim"][0][0].at,
    FIELDS["box_dim"][1][0].at,
)
"""Where each field begins, in bits; of the last but one the innermost dimension, of the last the others."""
UNKNOWN = 0xFF00000F
"""Bits of the third 32-bit word that are 0 in every map of tiles that is known."""


@rule(inline=True)
def field(map: Pointer[u64], at: u64, mask: u64) -> u64:
    """The bits of a mask from bit `at` on."""
    return map[at >> 6] >> (at & 63) & mask


@rule
def is_map(map: Pointer[u64]) -> boolean:
    """Whether there may be a tensor map: 128 bytes that were never made one have some bit that no map has."""
    more = u64(0)
    for k in range(12, 16):
        more |= map[k]
    if map[MARK] == 0:
        more |= map[LOWER] | map[UPPER] | map[SHAPE]
    elif map[MARK] != TAG:
        return False
    return map[0] != 0 and map[0] & 15 == 0 and map[1] & UNKNOWN == 0 and more == 0 and rank(map) <= 5


@rule(inline=True)
def is_im2col(map: Pointer[u64]) -> boolean:
    return map[MARK] != 0


@rule(inline=True)
def rank(map: Pointer[u64]) -> u32:
    return u32(field(map, RANK, 7) + 1)


@rule(inline=True)
def element_bytes(map: Pointer[u64]) -> u64:
    return u64(SIZES) >> 4 * field(map, TYPE, 15) & 15


@rule(inline=True)
def size(map: Pointer[u64], k: u64) -> u64:
    """Elements of the tensor in a dimension, the innermost first."""
    return field(map, DIM + 32 * k, 0xFFFFFFFF) + 1


@rule(inline=True)
def pitch(map: Pointer[u64], k: u64) -> u64:
    """Bytes from one element to the next in dimension 1 to 4."""
    low = field(map, STRIDE + 32 * (k - 1), 0xFFFFFFFF)
    return (low | field(map, STRIDE_TOP + 4 * (k - 1), 15) << 32) << 4


@rule(inline=True)
def box(map: Pointer[u64], k: u64) -> u64:
    """Elements of the box in a dimension, those that an element stride leaves out included."""
    return field(map, BOX if k == 0 else BOXES + 8 * (k - 1), 255) + 1


@rule(inline=True)
def stride(map: Pointer[u64], k: u64) -> u64:
    """Which elements of a dimension are taken: each, every second ... The innermost has none."""
    return field(map, STEP + 3 * k, 7) + 1 if k != 0 else 1


@rule(inline=True)
def taken(map: Pointer[u64], k: u64) -> u64:
    """Elements of a dimension that a tile takes."""
    return (box(map, k) + stride(map, k) - 1) // stride(map, k)


@rule(inline=True)
def corner(map: Pointer[u64], word: u64, k: u64) -> i64:
    """The corner (LOWER or UPPER) of an im2col bounding box in dimension k + 1."""
    bits = map[word] >> 16 * k & 0xFFFF
    found = i64(bits)
    if bits >= 32768:
        found -= 65536
    return found


@rule
def row_bytes(map: Pointer[u64]) -> u64:
    """Bytes of a row of the tile in shared memory: the innermost dimension."""
    elements = map[SHAPE] & 0xFFFFFFFF if is_im2col(map) else box(map, 0)
    return elements * element_bytes(map)


@rule
def rows(map: Pointer[u64]) -> u64:
    if is_im2col(map):
        return map[SHAPE] >> 32
    count = u64(1)
    for k in range(1, u64(rank(map))):
        count *= taken(map, k)
    return count


@rule(inline=True)
def tile_bytes(map: Pointer[u64]) -> u64:
    """Bytes of a tile in shared memory; so many are reported to the mbarrier, whether they lie in the tensor or not."""
    return rows(map) * row_bytes(map)


@rule
def swizzled(map: Pointer[u64], address: u64) -> u64:
    """Where the bytes of an address in shared memory lie: the 16-byte chunks of 8 rows change places."""
    swizzle = field(map, SWIZZLE, 3)
    if swizzle == NO_SWIZZLE:
        return address
    return address ^ (address >> 7 & (u64(1) << swizzle) - 1) << 4


@rule
def row_place(map: Pointer[u64], place: Pointer[i32], shift: Pointer[i32], row: u64) -> tuple[boolean, u64, u64, u64]:
    """A row of a tile: whether it lies in the tensor at all; how far its first element lies from the tensor's first, in
    bytes modulo 2**64; how many bytes at its beginning, and from which on, lie outside. place: the coordinates of the
    tile; shift: the offsets of im2col."""
    each = element_bytes(map)
    offset = u64(0)
    inside = True
    left = row
    if is_im2col(map):
        inner = u64(rank(map)) - 2  # dimensions between the channels and the images
        image = i64(place[inner + 1])
        carry = i64(row)  # pixels still to go, in the innermost dimension first
        for k in range(inner):
            low = corner(map, LOWER, k)
            high = i64(size(map, k + 1)) + corner(map, UPPER, k)
            step = i64(stride(map, k + 1))
            span = (u64(high - low) + u64(step) - 1) // u64(step) if high > low else u64(1)
            begun = u64(i64(place[k + 1]) - low) // u64(step)
            total = begun + u64(carry)
            at = low + i64(total % span) * step + i64(shift[k])
            carry = i64(total // span)
            if at < 0 or at >= i64(size(map, k + 1)):
                inside = False
            offset = u64(offset + u64(at * i64(pitch(map, k + 1))))
        image += carry
        if image < 0 or image >= i64(size(map, inner + 1)):
            inside = False
        offset = u64(offset + u64(image * i64(pitch(map, inner + 1))))
    else:
        for k in range(1, u64(rank(map))):
            number = left % taken(map, k)
            left = left // taken(map, k)
            at = i64(place[k]) + i64(number * stride(map, k))
            if at < 0 or at >= i64(size(map, k)):
                inside = False
            offset = u64(offset + u64(at * i64(pitch(map, k))))
    start = i64(place[0])
    count = i64(row_bytes(map) // each)
    low_end = -start if start < 0 else i64(0)
    high_end = i64(size(map, 0)) - start
    if high_end > count:
        high_end = count
    if low_end >= high_end:
        inside = False
        low_end = 0
        high_end = 0
    offset = u64(offset + u64(start * i64(each)))
    return inside, offset, u64(low_end) * each, u64(high_end) * each


@rule
def reach(map: Pointer[u64], place: Pointer[i32], shift: Pointer[i32]) -> tuple[boolean, u64, u64, u64]:
    """The part of the tensor that a tile touches: whether it is any, its first byte, counted from the tensor's first,
    the bytes from there to its last, and how many of them belong to the tile."""
    low = u64(0)
    high = u64(0)
    some = False
    inner = u64(0)
    for row in range(rows(map)):
        inside, offset, begin, end = row_place(map, place, shift, row)
        if inside:
            first = u64(offset + begin)
            behind = u64(offset + end)
            if not some or first < low:
                low = first
            if not some or behind > high:
                high = behind
            some = True
            inner += end - begin
    return some, low, high - low, inner


@rule(inline=True)
def fill_byte(map: Pointer[u64], k: u64) -> u32:
    """Byte k of a row outside of the tensor: of a zero, or, where the map asks for it, of a NaN."""
    if field(map, FILL, 1) == 0:
        return 0
    return u32(u64(OOB_NAN) >> 8 * (k & 1) & 0xFF)


@rule(inline=True)
def starts_between(map: Pointer[u64], place: Pointer[i32]) -> u64:
    """A tile's first byte modulo 16 in the innermost dimension. A GPU takes only 0; the manual is silent."""
    return u64(i64(place[0])) * element_bytes(map) & 15


@rule
def starts_before(map: Pointer[u64], place: Pointer[i32]) -> u64:
    """Elements by which a tile begins before the tensor. For writes a GPU takes only 0; the manual is silent."""
    for k in range(rank(map)):
        if place[k] < 0:
            return u64(0 - i64(place[k]))
    return 0

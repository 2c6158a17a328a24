"""Tensor maps: what the 128 bytes hold, and where the elements of a tile lie in global and in shared memory.

NVIDIA keeps the bits of a `CUtensorMap` to itself: only `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col` and
`tensormap.replace` write them. The CPU machine has a layout of its own, which only this file knows; a map made by the
driver does not work here, nor one of these on a GPU. In 64-bit words:

    0       tag 0x7A3 in bits 52-63, mode 0-3 (tiled, im2col), rank 4-7, type 8-11, interleave 12-13, swizzle 16-19,
            fill 20, promotion 24-27
    1       address of the tensor
    2-6     elements in each dimension, the innermost first
    7-10    bytes from one element to the next in dimensions 1 to 4
    11      box: elements in each dimension, 12 bits each
    12      element strides, 4 bits each
    13, 14  im2col: lower and upper corner of the bounding box, 16 bits each, from dimension 1 on
    15      im2col: channels per pixel, pixels per column, 32 bits each
"""

from __future__ import annotations

from ptxlab.emulate.language import Pointer, boolean, i32, i64, rule, u32, u64

TAG = 0x7A3
TILED, IM2COL = 0, 1
TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
"""The types of elements, numbered as `CUtensorMapDataType` numbers them."""
BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
SWIZZLES = (0, 32, 64, 128)
"""Bytes of a row of the swizzle patterns, numbered as `CUtensorMapSwizzle`."""
SIZES = sum(size << 4 * k for k, size in enumerate(BYTES))
"""The bytes of each type, 4 bits each."""
CHUNK = 16
"""Bytes that a swizzle moves together."""


@rule(inline=True)
def is_map(map: Pointer[u64]) -> boolean:
    """Whether there is a tensor map."""
    return map[0] >> 52 == TAG


@rule(inline=True)
def mode(map: Pointer[u64]) -> u32:
    """TILED or IM2COL."""
    return u32(map[0] & 15)


@rule(inline=True)
def rank(map: Pointer[u64]) -> u32:
    """Dimensions of the tensor."""
    return u32(map[0] >> 4 & 15)


@rule(inline=True)
def element_bytes(map: Pointer[u64]) -> u64:
    """Bytes of an element."""
    return u64(SIZES) >> 4 * (map[0] >> 8 & 15) & 15


@rule(inline=True)
def box(map: Pointer[u64], k: u64) -> u64:
    """Elements of the box in a dimension, those that an element stride leaves out included."""
    return map[11] >> 12 * k & 4095


@rule(inline=True)
def stride(map: Pointer[u64], k: u64) -> u64:
    """Which elements of a dimension are taken: each, every second ... The innermost has none."""
    return map[12] >> 4 * k & 15 if k != 0 else 1


@rule(inline=True)
def taken(map: Pointer[u64], k: u64) -> u64:
    """Elements of a dimension that a tile takes."""
    return (box(map, k) + stride(map, k) - 1) // stride(map, k)


@rule(inline=True)
def corner(map: Pointer[u64], word: u64, k: u64) -> i64:
    """The lower (word 13) or upper (14) corner of an im2col bounding box in dimension k + 1."""
    bits = map[word] >> 16 * k & 0xFFFF
    found = i64(bits)
    if bits >= 32768:
        found -= 65536
    return found


@rule
def row_bytes(map: Pointer[u64]) -> u64:
    """Bytes of a row of the tile in shared memory: the innermost dimension."""
    elements = map[15] & 0xFFFFFFFF if mode(map) == IM2COL else box(map, 0)
    return elements * element_bytes(map)


@rule
def rows(map: Pointer[u64]) -> u64:
    """Rows of a tile."""
    if mode(map) == IM2COL:
        return map[15] >> 32
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
    pattern = map[0] >> 16 & 15
    if pattern == 0:
        return address
    return address ^ (address >> 7 & (u64(1) << pattern) - 1) << 4


@rule
def row_place(
    map: Pointer[u64], place: Pointer[i32], shift: Pointer[i32], row: u64
) -> tuple[boolean, u64, u64, u64]:  # fmt: skip
    """A row of a tile: whether it lies in the tensor at all; how far its first element lies from the tensor's first, in
    bytes modulo 2**64; how many bytes at its beginning, and from which on, lie outside. place: the coordinates of the
    tile; shift: the offsets of im2col."""
    each = element_bytes(map)
    offset = u64(0)
    inside = True
    left = row
    if mode(map) == IM2COL:
        inner = u64(rank(map)) - 2  # dimensions between the channels and the images
        image = i64(place[inner + 1])
        carry = i64(row)  # pixels still to go, in the innermost dimension first
        for k in range(inner):
            low = corner(map, 13, k)
            high = i64(map[2 + k + 1]) + corner(map, 14, k)
            step = i64(stride(map, k + 1))
            span = (u64(high - low) + u64(step) - 1) // u64(step) if high > low else u64(1)
            begun = u64(i64(place[k + 1]) - low) // u64(step)
            total = begun + u64(carry)
            at = low + i64(total % span) * step + i64(shift[k])
            carry = i64(total // span)
            if at < 0 or at >= i64(map[2 + k + 1]):
                inside = False
            offset = u64(offset + u64(at * i64(map[7 + k])))
        image += carry
        if image < 0 or image >= i64(map[2 + inner + 1]):
            inside = False
        offset = u64(offset + u64(image * i64(map[7 + inner])))
    else:
        for k in range(1, u64(rank(map))):
            number = left % taken(map, k)
            left = left // taken(map, k)
            at = i64(place[k]) + i64(number * stride(map, k))
            if at < 0 or at >= i64(map[2 + k]):
                inside = False
            offset = u64(offset + u64(at * i64(map[6 + k])))
    start = i64(place[0])
    count = i64(row_bytes(map) // each)
    low_end = -start if start < 0 else i64(0)
    high_end = i64(map[2]) - start
    if high_end > count:
        high_end = count
    if low_end >= high_end:
        inside = False
        low_end = 0
        high_end = 0
    offset = u64(offset + u64(start * i64(each)))
    return inside, offset, u64(low_end) * each, u64(high_end) * each


@rule
def reach(map: Pointer[u64], place: Pointer[i32], shift: Pointer[i32]) -> tuple[boolean, u64, u64]:
    """The part of the tensor that a tile touches: whether it is any, its first byte, counted from the tensor's first,
    and its bytes."""
    low = u64(0)
    high = u64(0)
    some = False
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
    return some, low, high - low


@rule(inline=True)
def fill_byte(map: Pointer[u64], k: u64) -> u32:
    """Byte k of an element outside of the tensor: of a zero, or, where the map asks for it, of a NaN."""
    if map[0] >> 20 & 1 == 0:
        return 0
    last = element_bytes(map) - 1
    return u32(0x7F if k % (last + 1) == last else 0xFF)

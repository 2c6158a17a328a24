"""What the descriptors of Hopper hold: of `wgmma` the 64 bits that say where a matrix lies, and tensor maps.

Registers hold a matrix descriptor, or the address of a tensor map. Which do, the text of the instructions says; what
the values are, only a trace. `ROLES` explains the fields where there is none.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.emulate.trace.recording import Recording
from ptxlab.isa.tensor_map import FIELDS, FILLS, INTERLEAVES, ROUNDS, SWIZZLES, TF32, TYPES
from ptxlab.lab.timeline import places_of

MATRIX, MAP = "matrix descriptor", "address of a tensor map"
ROLES: dict[str, list[list[str]]] = {
    MATRIX: [
        ["start address", "bits 0 to 13: where the matrix begins in shared memory, in units of 16 bytes"],
        [
            "leading dimension byte offset",
            "bits 16 to 29, in units of 16 bytes: from 8 rows of 16 bytes to the 8 beside them; not used with a "
            "swizzle, unless the matrix is transposed",
        ],
        ["stride dimension byte offset", "bits 32 to 45, in units of 16 bytes: from 8 rows to the next 8"],
        ["base offset", "bits 49 to 51: not 0 where a swizzle pattern does not begin at a multiple of its size"],
        ["swizzle", "bits 62 and 63: 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes; that of the copy that wrote it"],
    ],
    MAP: [
        ["tensor", "elements in each dimension, as numpy has them: the innermost last"],
        ["element type", "what is copied, and what a copy adds or compares when it reduces"],
        ["strides", "bytes from one element to the next in each dimension but the innermost, whose elements touch"],
        ["box", "elements in each dimension that one copy moves: a tile"],
        ["element strides", "1: every element of the box, 2: every second one of that dimension"],
        ["swizzle", "how 16-byte chunks of a row change places in shared memory"],
        ["interleave", "whether channels lie in slices of 16 or 32 bytes"],
        ["fill", "the value in shared memory of elements outside of the tensor"],
        ["global address", "the first element of the tensor"],
    ],
}
"""What a register can hold, and its fields: [name, what it says]."""
_PRODUCT = re.compile(r"\bwgmma\.mma_async\S*\s+([^;]*)")
_MAPS = re.compile(r"\b(?:[\w.:]*\.tensor\.|prefetch\S*\.tensormap|tensormap\.|fence\.proxy\.tensormap)[^;]*")
_ADDRESS = re.compile(r"\[\s*(%[\w$]+)\s*(?:,\s*\{|\])")
_TILE = re.compile(r"\[\s*(%[\w$]+)\s*,\s*\{")


def roles(text: str, types: dict[str, str]) -> dict[str, str]:
    """Register -> what it holds, `MATRIX` or `MAP`, for those that a wgmma or a copy of tiles names so. types: of the
    registers, `b64` or `.b64`; a name may stand for all that begin with it (`%rd` of `%rd<4>`)."""
    out: dict[str, str] = {}
    for found in _PRODUCT.finditer(text):
        names = re.findall(r"%[\w$]+", re.sub(r"\{[^}]*\}", "", found[1]))
        out |= {name: MATRIX for name in names if _type(name, types) in ("b64", "u64", "s64")}
    for found in _MAPS.finditer(text):
        name = _TILE.search(found[0]) or (None if ".tensor." in found[0] else _ADDRESS.search(found[0]))
        if name:
            out[name[1]] = MAP
    return out


def _type(name: str, types: dict[str, str]) -> str:
    return (types.get(name) or types.get(name.rstrip("0123456789")) or "").removeprefix(".")


def described(map: bytes) -> list[str]:
    """The fields of a tensor map, in the order of `ROLES`."""
    words = Pointer[Any](np.frombuffer(map, np.uint64))
    bits, rank = int.from_bytes(map, "little"), int(maps.rank(words))

    def number(field: str) -> int:
        at = FIELDS[field][0][0]
        return (bits & at.mask) >> at.at

    def row(of: Any, count: range) -> str:
        return " × ".join(str(int(of(words, k))) for k in reversed(count)) or "none"

    kind = number("elemtype")
    if bits & ROUNDS.mask:
        kind += TF32 - TYPES.index("f32")
    whole, swizzle = range(rank), SWIZZLES[number("swizzle_mode")]
    box = row(maps.box, whole)
    if maps.is_im2col(words):
        box = f"im2col: {int(maps.rows(words))} pixels of {words[11] & 0xFFFFFFFF} channels"
    return [
        row(maps.size, whole), TYPES[kind], row(maps.pitch, range(1, rank)), box, row(maps.stride, whole),
        f"{swizzle} bytes" if swizzle else "none", INTERLEAVES[number("interleave_layout")],
        FILLS[number("fill_mode")], f"{number('global_address'):#x}",
    ]  # fmt: skip


def maps_used(recording: Recording) -> dict[str, list[str]]:
    """The tensor maps that copies of a trace have used: their address (hexadecimal) -> `described`, the last one where
    it has been changed."""
    places = places_of(recording) or {}
    lines, out = recording.text.splitlines(), dict[str, list[str]]()
    for copy in recording.copies:
        named = _TILE.search(lines[copy.line - 1])
        if copy.map < 0 or named is None or (copy.block, copy.warp) not in places:
            continue
        number = recording.numbers.get(named[1])
        walker = recording.walk(copy.block, copy.warp)
        step = int(np.searchsorted(places[copy.block, copy.warp], copy.begun))
        if number is None or step >= len(walker):
            continue
        moment = walker.moment(step)
        lane = int(np.flatnonzero(moment.mask)[0]) if moment.mask.any() else 0
        out[hex(int(walker.value(number, step)[lane]))] = described(recording.maps[copy.map])
    return out

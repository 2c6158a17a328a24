"""Merged loads: each thread loads elements that are neighbours in memory, such as those of a row of its own.

`for (k ...) s += a[i * n + k]`, unrolled, is `ld [p]`, `ld [p+4]`, `ld [p+8]`, `ld [p+12]`, and a gather for each of
them. But each lane's four elements are 16 bytes in a row: 32 loads of 16 bytes get them all, and a few shuffles bring
those of one offset together. So the first of these loads reads for the others, into a place of the function's own.

Bytes and halves that fill a word are loaded as one.

That is the same as long as nothing between the first load and the last one writes to that memory or orders accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ptxlab.emulate.jit.emitter.access_groups import Group, access_shape, place_of
from ptxlab.emulate.jit.llvm.fragments import shuffle
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.jit.llvm.vector_elements import joined
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.program import Program

BYTES = 16
"""What a lane loads at once: a vector register of every CPU, and of larger ones the part within which shuffles are
cheap."""
ROOM = W * BYTES
"""The bytes of a place for what a warp has loaded."""
MOST = 32
"""Places of a function."""
_OWN = ("local", "frame")
APART = {"global": ("shared", *_OWN), "const": ("shared", *_OWN), "shared": ("global", *_OWN)}
"""For each space the others in which stores leave it alone."""


@dataclass(eq=False, repr=False)
class Bundle:
    """Elements of a type that are loaded together: how many of each lane, the offset of the first of them from the
    group's lowest address, and the place that they are put into. loaded: the arms of code in which they have been."""

    lane: str
    count: int
    offset: int
    place: int
    loaded: set[str] = field(default_factory=set)

    @property
    def at(self) -> str:
        """The name of the place."""
        return f"%bundle{self.place}"

    def row(self, t: Text, k: int) -> str:
        """The k-th element of all lanes."""
        p = t.offset(self.at, k * W * BITS[self.lane] // 8)
        return t.load(f"<{W} x {LLVM[self.lane]}>", p, align=64)


Bundles = dict[tuple[int, int], tuple[Bundle, int]]
"""By code index and the number of the element in it: where it is found."""


def plan_bundles(
    program: Program,
    first: int,
    last: int,
    groups: dict[int, Group],
    changes: Callable[[Code], bool],
    kept: Callable[[Code], bool],
) -> Bundles:
    """The loads of a block that are made together. changes: whether a store changes what loads behind it read. kept:
    whether more than a word of what a load finds may be kept for the next rounds of a loop (see `row_chunks`)."""
    found: Bundles = {}
    open_: dict[tuple[int, str], list[Code]] = {}
    places = 0

    def close(spaces: Iterable[str]) -> None:
        nonlocal places
        for key in [key for key, codes in open_.items() if codes[0].space in spaces]:
            codes = open_.pop(key)
            places = _bundled(program, codes, groups[key[0]], places, found, words=not kept(codes[0]))

    for code in program.codes[first:last]:
        plain = code.properties.plain and not code.properties.strong
        if plain and code.properties.stores and not changes(code):
            continue
        if plain and code.properties.stores:
            close([space for space in APART if code.space not in APART[space]])
        elif plain:
            lane = access_shape(code)[0]
            if code.guard is None and code.space in APART and code.index in groups:
                leader = groups[code.index].members[0][0]
                open_.setdefault((leader, lane), []).append(code)
        elif code.form.op.kind != "pure":
            close(APART)
    close(APART)
    return found


def _bundled(program: Program, codes: list[Code], group: Group, places: int, found: Bundles, *, words: bool) -> int:
    """Bundles of loads at one base that may be made at the time of the first. places: how many are taken; it returns
    how many are then. words: whether bytes and halves may be words."""
    lane, _, _ = access_shape(codes[0])
    size = BITS[lane] // 8
    wanted: dict[int, list[tuple[int, int]]] = {}
    for code in codes:
        for k in range(access_shape(code)[1]):
            wanted.setdefault(place_of(program, code).offset - group.low + k * size, []).append((code.index, k))
    for row in _rows(sorted(wanted), size):
        if size < 4 and len(row) * size < BYTES:
            word = 4 // size
            pieces = [(start, word) for start in range(0, len(row) - word + 1, word)] if words else []
        else:
            pieces = _cut(len(row), BYTES // size)
        for start, count in pieces:
            if places == MOST:
                return places
            bundle = Bundle(lane, count, row[start], places)
            places += 1
            for k in range(count):
                for element in wanted[row[start + k]]:
                    found.setdefault(element, (bundle, k))
    return places


def _rows(offsets: list[int], size: int) -> list[list[int]]:
    """Offsets, ascending, as rows without gaps."""
    rows: list[list[int]] = []
    for offset in offsets:
        if rows and rows[-1][-1] + size == offset:
            rows[-1].append(offset)
        else:
            rows.append([offset])
    return rows


def _cut(length: int, most: int) -> list[tuple[int, int]]:
    """A row of elements in pieces, (start, count): of `most` elements each, the last of which may overlap the one
    before; a pair; of one element none."""
    if length >= most:
        whole = [(start, most) for start in range(0, length - most + 1, most)]
        return whole + ([(length - most, most)] if length % most > 1 else [])
    return [(start, 2) for start in range(0, length - 1, 2)]


def transposed(t: Text, ty: str, rows: list[str], count: int) -> list[str]:
    """Rows as `count` vectors, each with one element of every row. A row has `count` elements, 16 bytes or half of
    that."""
    lanes = len(rows)
    half = lanes // 2
    if lanes == 2 * count:  # two squares beside each other, in the two halves of each vector
        return _squares(t, ty, [joined(t, ty, count, [rows[k], rows[k + half]]) for k in range(half)], 1)
    pairs = [joined(t, ty, 2, rows[k : k + 2]) for k in range(0, 8, 2)]
    first, second = joined(t, ty, 4, pairs[::2]), joined(t, ty, 4, pairs[1::2])
    orders = ([k, k + 2, k + 8, k + 10, k + 4, k + 6, k + 12, k + 14] for k in (0, 1))
    return [shuffle(t, ty, 8, first, second, order) for order in orders]


def _squares(t: Text, ty: str, rows: list[str], step: int) -> list[str]:
    """The transposes of two squares: pairs of rows are merged, `step` elements at a time, until each is a column."""
    if len(rows) == 1:
        return rows
    width = 2 * step * len(rows)
    merged = []
    for low in (0, width // 4):
        order = [
            part + half + low + k
            for half in (0, width // 2)
            for s in range(0, width // 4, step)
            for part in (0, width)
            for k in range(s, s + step)
        ]
        merged.append([shuffle(t, ty, width, a, b, order) for a, b in zip(rows[::2], rows[1::2], strict=True)])
    return _squares(t, ty, merged[0], 2 * step) + _squares(t, ty, merged[1], 2 * step)

"""racecheck of bulk copies: each is an access of the thread that issued it, from its issue until it is performed.

When a copy is issued, it must be ordered after earlier accesses of threads and other copies to the same bytes. When it
is performed, it is recorded as an access of that moment. Threads are ordered after it if they have waited for its
mbarrier, or come after the issuing thread's wait for its bulk group. (An access between the two moments is a finding of
synccheck, even if the issuing thread makes it; see `bulk_checks`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import async_proxy, race_lines, race_rows, races, tensor_maps
from ptxlab.emulate.rules.kinds import NO_PROXY_FENCE, RAW, WAR, WAW
from ptxlab.emulate.rules.notes import note
from ptxlab.emulate.rules.records import BLOCK, CODE, ID, LAST_CODE, Block, Launch
from ptxlab.emulate.runtime.transfers import LOAD_TILE, Transfer
from ptxlab.isa.actions import Action

GLOBAL = -1
"""Instead of a rank: in global memory."""
Shadows = Callable[[int], tuple[int, races.Shadow] | None]
"""From an address in global memory to the start of its allocation and its records."""


@dataclass(frozen=True)
class Span:
    """Bytes that a transfer reads or writes: in the shared memory of the block of which rank, from which byte on, or
    from which address of global memory."""

    rank: int
    first: int
    count: int
    writes: bool

    def each(self, grain: int) -> slice:
        """The range of pieces, of so many bytes each, that it touches."""
        return slice(self.first // grain, -(-(self.first + self.count) // grain))


def numbers(p: Pointer[int]) -> np.ndarray:
    """The array that a pointer points into, from there to its end."""
    array: np.ndarray = p.array
    return array[p.start :]


def in_global_memory(transfer: Transfer) -> Iterator[Span]:
    """What a transfer reads or writes in global memory: of a tile a span for each row, or for rows that follow each
    other."""
    writes = bool(transfer.reads)
    if transfer.kind < LOAD_TILE:
        yield Span(GLOBAL, transfer.address, transfer.count, writes)
        return
    tensor, first, behind = transfer.address + transfer.base, 0, 0
    for row in range(tensor_maps.rows(transfer.map)):
        inside, offset, low, high = tensor_maps.row_place(transfer.map, transfer.place, transfer.shift, row)
        if inside:
            begin = (tensor + offset + low) % (1 << 64)
            if begin != behind:
                if behind:
                    yield Span(GLOBAL, first, behind - first, writes)
                first = begin
            behind = begin + high - low
    if behind:
        yield Span(GLOBAL, first, behind - first, writes)


class BulkRaces:
    """The records of racecheck as bulk copies see them. block: what the checks know of the block of a rank; shadows:
    the records of global memory."""

    def __init__(self, program: Program, launch: Launch, block: Callable[[int], Block], shadows: Shadows) -> None:
        self.program, self.launch, self.block, self.shadows = program, launch, block, shadows

    def begins(self, transfer: Transfer, span: Span, mine: int) -> None:
        """A copy is issued: notes what it races with. mine: its record as an access."""
        found = self._rows(span)
        if found is None:
            return
        start, rows, _ = found
        block, grain = self.block(transfer.rank), self.launch.granule
        kinds = (WAW, WAR, WAR) if span.writes else (RAW,)
        for number, (kind, there) in enumerate(zip(kinds, rows, strict=False)):
            for other in _doubtful(there, block, mine):
                if self._atomic(other) and self._atomic(mine):
                    continue
                if races.collides(self.launch, block, other, mine, number == 0):
                    races.race(self.launch, block, kind, mine, other, start + grain * int((there == other).argmax()))
                    return

    def unseen(self, transfer: Transfer, span: Span, mine: int) -> None:
        """A copy from global memory is issued: notes a store there that the async proxy does not see."""
        found = self._rows(span)
        if found is None:
            return
        start, (there, _, _), _ = found
        block, warp = self.block(transfer.rank), transfer.thread // 32
        for writer in np.unique(there[there != 0]).tolist():
            code = self.program.codes[writer >> CODE & LAST_CODE]
            if code.form.op.kind != "async" and async_proxy.unseen_in_global(self.launch, block, warp, writer):
                at = start + self.launch.granule * int((there == writer).argmax())
                note(self.launch, block, NO_PROXY_FENCE, mine, writer, at, 0)
                return

    def ends(self, transfer: Transfer, span: Span, mine: int) -> None:
        """A copy has been performed: its access is recorded."""
        found = self._rows(span)
        if found is None:
            return
        block = self.block(transfer.rank)
        race_lines.accessed(self.launch, block, *found[2], span.writes)
        race_lines.disturbed(self.launch, block, *found[2])
        writer, reader, other = found[1]
        if span.writes:
            writer[:] = mine
            return
        stays = np.isin(
            reader, [r for r in _doubtful(reader, block, mine) if not races.ordered(self.launch, block, r, mine, False)]
        )
        reader[~stays] = mine
        other[stays] = mine

    def _rows(
        self, span: Span
    ) -> tuple[int, tuple[np.ndarray, np.ndarray, np.ndarray], tuple[Pointer[int], int]] | None:
        """The address of the first word of a span, the last writers of its words and two readers of each, and all
        records of the allocation with their stride; None where there are no records."""
        grain = self.launch.granule
        if span.rank == GLOBAL:
            found = self.shadows(span.first)
            if found is None:
                return None
            base, shadow = found
            records, stride = shadow.records, shadow.stride
            words = slice((span.first - base) // grain, -(-(span.first - base + span.count) // grain))
        else:
            block, base, words = self.block(span.rank), self.program.shared_start, span.each(grain)
            if block.records is None:
                return None
            records, stride = block.records, block.stride
        race_rows.by_words(self.launch, records, stride)
        all_ = numbers(records)
        first, second, third = (all_[k * stride :][words] for k in range(3))
        return base + words.start * grain, (first, second, third), (records, stride)

    def _atomic(self, record: int) -> bool:
        """Whether an access is that of a reduction, which changes each element atomically."""
        return self.program.codes[record >> CODE & LAST_CODE].action is Action.COPY_REDUCE


def _doubtful(there: np.ndarray, block: Block, mine: int) -> list[int]:
    """The records to check: neither the thread's own nor from before the last barrier of its whole block."""
    low = block.now >> BLOCK << BLOCK
    with np.errstate(over="ignore"):
        fine = (there == 0) | (there - np.uint64(low) < np.uint64(block.full - low))
    fine |= (there ^ np.uint64(mine)) & np.uint64(ID) == 0
    found: list[int] = np.unique(there[~fine]).tolist()
    return found

"""racecheck of bulk copies: each is an access of the thread that issued it, from its issue until it is performed.

When a copy is issued it must be ordered behind what threads, and other copies, have done where it reads and writes.
When it is performed it is recorded as an access of that moment: who has waited for its mbarrier, or comes after the
wait of the issuing thread for its bulk group, is ordered behind it, and nobody else. (Who touches the bytes between the
two has a finding of synccheck, see `bulk_checks`; that may be the issuing thread itself.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.findings import RAW, WAR, WAW
from ptxlab.emulate.rules.records import BLOCK, CODE, LAST_CODE, Block, Launch
from ptxlab.emulate.runtime.transfers import Transfer
from ptxlab.isa.actions import Action


@dataclass(frozen=True)
class Span:
    """Bytes of shared memory that a transfer reads or writes: in the block of which rank, from which byte on."""

    rank: int
    first: int
    count: int
    writes: bool

    def each(self, grain: int) -> slice:
        """The places of so many bytes that it touches."""
        return slice(self.first // grain, -(-(self.first + self.count) // grain))


def numbers(p: Pointer[int]) -> np.ndarray:
    """The array that a pointer points to, from there on."""
    array: np.ndarray = p.array
    return array[p.start :]


class BulkRaces:
    """The records of racecheck as bulk copies see them. block: what the checks know of the block of a rank."""

    def __init__(self, program: Program, launch: Launch, block: Callable[[int], Block]) -> None:
        self.program, self.launch, self.block = program, launch, block

    def begins(self, transfer: Transfer, span: Span, mine: int) -> None:
        """A copy is issued: notes what it races with. mine: its record as an access."""
        if self.block(span.rank).records is None:
            return
        block, start = self.block(transfer.rank), self.program.shared_start
        kinds = (WAW, WAR, WAR) if span.writes else (RAW,)
        for number, (kind, there) in enumerate(zip(kinds, self._rows(span), strict=False)):
            for other in _doubtful(there, block, mine):
                if self._atomic(other) and self._atomic(mine):
                    continue
                if races.collides(self.launch, block, other, mine, number == 0):
                    word = span.each(self.launch.granule).start + int((there == other).argmax())
                    races.race(self.launch, block, kind, mine, other, start + word * self.launch.granule)
                    return

    def ends(self, span: Span, mine: int) -> None:
        """A copy has been performed: its access is recorded."""
        if self.block(span.rank).records is None:
            return
        writer, reader, other = self._rows(span)
        if span.writes:
            writer[:] = mine
            return
        block = self.block(span.rank)
        stays = np.isin(reader, [r for r in _doubtful(reader, block, mine)
                                 if not races.ordered(self.launch, block, r, mine, False)])  # fmt: skip
        reader[~stays] = mine
        other[stays] = mine

    def _rows(self, span: Span) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The last writers of the words of a span, and two readers of each."""
        block, words = self.block(span.rank), span.each(self.launch.granule)
        all_ = numbers(block.records)
        first, second, third = (all_[k * block.stride :][words] for k in range(3))
        return first, second, third

    def _atomic(self, record: int) -> bool:
        """Whether an access is that of a reduction, which changes each element atomically."""
        return self.program.codes[record >> CODE & LAST_CODE].action is Action.COPY_REDUCE


def _doubtful(there: np.ndarray, block: Block, mine: int) -> list[int]:
    """Those of some records that are neither the thread's own nor from before the last barrier of its whole block."""
    low = block.now >> BLOCK << BLOCK
    with np.errstate(over="ignore"):
        fine = (there == 0) | (there - np.uint64(low) < np.uint64(block.full - low))
    fine |= (there ^ np.uint64(mine)) & np.uint64(races.ID) == 0
    found: list[int] = np.unique(there[~fine]).tolist()
    return found

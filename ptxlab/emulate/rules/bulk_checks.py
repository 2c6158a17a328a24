"""What the checks know of bulk copies: the bytes in flight, the writers of what they read, and what arrivals order.

Both engines call `issued` and `completed` for each transfer. In between, each 4 bytes of shared memory that it writes
or reads are marked (see `copies_in_flight`): an access by a thread or another copy before the wait is a finding.
Reading what a copy reads is fine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules import async_proxy, tile_layouts
from ptxlab.emulate.rules import kinds as F
from ptxlab.emulate.rules.bulk_races import GLOBAL, BulkRaces, Shadows, Span, in_global_memory, numbers
from ptxlab.emulate.rules.clock import me
from ptxlab.emulate.rules.copies_in_flight import BEING_READ, BEING_WRITTEN, COPY_CODE, COPY_THREAD, THREADS
from ptxlab.emulate.rules.mbarrier_phases import Phases
from ptxlab.emulate.rules.mbarrier_records import Party
from ptxlab.emulate.rules.notes import NOWHERE, note, serial
from ptxlab.emulate.rules.records import CODE, Block, Launch
from ptxlab.emulate.runtime.transfers import Transfer
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import PEER

LANES = 32


class BulkChecks:
    """The bulk copies of one cluster. launch: the checks' record of it; block, phases: what the checks know of the
    block of a rank; shadows: racecheck's records of global memory."""

    def __init__(
        self, program: Program, launch: Launch, block: Callable[[int], Block], phases: Callable[[int], Phases],
        shadows: Shadows, *, sync: bool,
    ) -> None:  # fmt: skip
        self.program, self.launch, self.block, self.phases, self.sync = program, launch, block, phases, sync
        self.races = BulkRaces(program, launch, block, shadows)

    def issued(self, transfer: Transfer) -> None:
        """A transfer has been issued."""
        serial(self.launch, 1 << transfer.thread % LANES)
        for span in self._spans(transfer):
            if self.launch.racecheck:
                self.races.begins(transfer, span, self._record(transfer))
            if self.sync and span.rank != GLOBAL:
                self._meets_copies(transfer, span)
                if span.writes:
                    self._overwrites_tiles(transfer, span)
                else:
                    self._reads_stores(transfer, span)
                self._mark(transfer, span, in_flight=True)
            elif self.sync and self.launch.racecheck and not span.writes:
                self.races.unseen(transfer, span, self._record(transfer))
        if transfer.group == 0:
            self.phases(transfer.owner).sent(transfer.barrier, self._party(transfer), transfer.count)

    def completed(self, transfer: Transfer, before: int, word: int | None) -> None:
        """A transfer has been performed; before, word: its mbarrier's contents before and after that."""
        serial(self.launch, 1 << transfer.thread % LANES)
        for span in self._spans(transfer):
            if self.launch.racecheck:
                self.races.ends(transfer, span, self._record(transfer))
            if self.sync and span.rank != GLOBAL:
                self._mark(transfer, span, in_flight=False)
                if self.phases(span.rank).has_ended():
                    note(self.launch, self.block(transfer.rank), F.BLOCK_ENDED, self._record(transfer), 0, NOWHERE,
                         int(span.writes))  # fmt: skip
                if span.writes:
                    self._written_by_proxy(span)
                    tile_layouts.written(self.block(span.rank), transfer, span, self.program.shared_start)
        if word is None:
            return
        self.phases(transfer.owner).performed(transfer.barrier, self._party(transfer), transfer.count)
        address = transfer.barrier
        if transfer.owner != transfer.rank:
            address += (transfer.owner + 1) * PEER
        code = self.program.codes[transfer.code]
        warp, lane = divmod(transfer.thread, LANES)
        self.phases(transfer.rank).operated(code, warp, [lane], [address], [0], [before], [word])

    # -- one transfer --------------------------------------------------------------------------------------------------

    def _party(self, transfer: Transfer) -> Party:
        return self.phases(transfer.owner).foreign((transfer.code, transfer.thread), self.phases(transfer.rank))

    def _spans(self, transfer: Transfer) -> Iterator[Span]:
        start = self.program.shared_start
        yield Span(transfer.at_rank, transfer.at - start, transfer.count, not transfer.reads)
        if transfer.held:
            yield Span(transfer.rank, transfer.held - start, transfer.count, False)
        if self.launch.racecheck and transfer.address:
            yield from in_global_memory(transfer)

    def _record(self, transfer: Transfer) -> int:
        """The record of what a transfer does, as an access of the thread that issued it."""
        warp, lane = divmod(transfer.thread, LANES)
        return int(me(self.block(transfer.rank), warp, transfer.code)) | lane

    def _noted(self, transfer: Transfer, kind: int, other: int, at: int) -> None:
        note(self.launch, self.block(transfer.rank), kind, self._record(transfer), other, at, 0)

    # -- other copies --------------------------------------------------------------------------------------------------

    def _mark(self, transfer: Transfer, span: Span, *, in_flight: bool) -> None:
        """Marks each 4 bytes that a transfer touches as in flight, or removes the mark."""
        block = self.block(span.rank)
        block.copies = 1
        kind = BEING_WRITTEN if span.writes else BEING_READ
        mine = transfer.code << COPY_CODE | transfer.thread << COPY_THREAD | kind
        there = numbers(block.pending)[span.each(4)]
        if in_flight:
            there[:] = mine
        else:
            there[there == mine] = 0

    def _meets_copies(self, transfer: Transfer, span: Span) -> None:
        """Notes another copy in flight that writes what this one touches, or reads what it overwrites."""
        block = self.block(span.rank)
        there = numbers(block.pending)[span.each(4)]
        for copy in np.unique(there[there != 0]).tolist():
            other, thread, group = copy >> COPY_CODE, copy >> COPY_THREAD & THREADS, copy & 0xFFFFFFFF
            if group == BEING_READ and not span.writes:
                continue
            if group < BEING_READ and block.finished[thread] >= group:
                continue  # a cp.async that its thread has waited for
            codes = self.program.codes
            if {codes[other].action, codes[transfer.code].action} == {Action.COPY_REDUCE}:
                continue  # each element is changed atomically
            at = self.program.shared_start + 4 * (span.each(4).start + int((there == copy).argmax()))
            self._noted(transfer, F.PENDING, block.now | other << CODE | thread, at)
            return

    # -- the async proxy -----------------------------------------------------------------------------------------------

    def _reads_stores(self, transfer: Transfer, span: Span) -> None:
        """Notes stores of threads to what the copy reads that no proxy fence has made visible to the async proxy."""
        block = self.block(span.rank)
        if block.tile_writes is None:
            return
        there = numbers(block.tile_writes)[span.each(16)]
        for written in np.unique(there[there != 0]).tolist():
            if async_proxy.unseen(block, transfer.thread // LANES, written):
                at = self.program.shared_start + 16 * (span.each(16).start + int((there == written).argmax()))
                self._noted(transfer, F.NO_PROXY_FENCE, async_proxy.party(block, written), at)
                return

    def _overwrites_tiles(self, transfer: Transfer, span: Span) -> None:
        """Notes a product of `wgmma` that reads what the copy overwrites, if it is in flight, or is not merely because
        of the order in which warps ran here."""
        block = self.block(span.rank)
        if block.tile_reads is None:
            return
        there = numbers(block.tile_reads)[span.each(16)]
        for read in np.unique(there[there != 0]).tolist():
            if async_proxy.in_flight(block, read):
                at = self.program.shared_start + 16 * (span.each(16).start + int((there == read).argmax()))
                self._noted(transfer, F.TILE_OVERWRITTEN, async_proxy.party(block, read), at)
                return
            issuer, mine = self.block(transfer.rank), self._record(transfer)
            if self.launch.racecheck and not async_proxy.read_before(self.launch, issuer, block, read, mine):
                at = self.program.shared_start + 16 * (span.each(16).start + int((there == read).argmax()))
                self._noted(transfer, F.TILE_UNORDERED, async_proxy.party(block, read), at)
                return

    def _written_by_proxy(self, span: Span) -> None:
        """What a copy has written needs no fence."""
        block = self.block(span.rank)
        if block.tile_writes is not None:
            numbers(block.tile_writes)[span.each(16)] = 0

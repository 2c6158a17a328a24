"""What the checks know of bulk copies: which bytes of shared memory are on their way, and whom an arrival orders.

Both engines tell of each transfer when it is issued and when it is performed. In between each 4 bytes of shared memory
that it writes, or reads, remember it (see `copies_in_flight`): who touches them before the wait has a finding. Reading
what a copy reads is fine.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.program.addresses import PEER
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules.copies_in_flight import BEING_READ, BEING_WRITTEN, COPY_CODE, COPY_THREAD
from ptxlab.emulate.rules.mbarrier_phases import Phases
from ptxlab.emulate.rules.records import Block
from ptxlab.emulate.runtime.transfers import Transfer

WARP = 32


class BulkChecks:
    """The bulk copies of one cluster. block, phases: what the checks know of the block of a rank."""

    def __init__(
        self, program: Program, block: Callable[[int], Block], phases: Callable[[int], Phases], *, sync: bool
    ) -> None:
        self.program, self.block, self.phases, self.sync = program, block, phases, sync

    def issued(self, transfer: Transfer) -> None:
        """A transfer has been issued."""
        self._mark(transfer, self._of(transfer))

    def completed(self, transfer: Transfer, before: int, word: int | None) -> None:
        """A transfer has been performed; what its mbarrier held before, and what it holds now."""
        self._mark(transfer, 0)
        if word is None:
            return
        address = transfer.barrier
        if transfer.owner != transfer.rank:
            address += (transfer.owner + 1) * PEER
        code = self.program.codes[transfer.code]
        warp, lane = divmod(transfer.thread, WARP)
        self.phases(transfer.rank).operated(code, warp, [lane], [address], [0], [before], [word])

    def _of(self, transfer: Transfer) -> int:
        kind = BEING_READ if transfer.reads else BEING_WRITTEN
        return transfer.code << COPY_CODE | transfer.thread << COPY_THREAD | kind

    def _mark(self, transfer: Transfer, copy: int) -> None:
        """Notes in each word that a transfer is on its way there; 0: that it no longer is."""
        if not self.sync:
            return
        block, mine = self.block(transfer.at_rank), self._of(transfer)
        block.copies = 1
        start = self.program.shared_start
        for word in range((transfer.at - start) // 4, (transfer.at - start + transfer.count + 3) // 4):
            if copy or block.pending[word] == mine:
                block.pending[word] = copy

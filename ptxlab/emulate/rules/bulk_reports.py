"""What bulk copies report to mbarriers, as the checks of these see it."""

from __future__ import annotations

from collections.abc import Callable

from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.mbarrier_phases import Phases
from ptxlab.emulate.rules.mbarrier_records import Party
from ptxlab.emulate.runtime.transfers import Transfer
from ptxlab.isa.convert import PEER

LANES = 32


class BulkReports:
    """The bulk copies of one cluster. phases: what the checks know of the mbarriers of the block of a rank."""

    def __init__(self, program: Program, phases: Callable[[int], Phases]) -> None:
        self.program, self.phases = program, phases

    def issued(self, transfer: Transfer) -> None:
        """A transfer has been issued."""
        if transfer.group == 0:
            self.phases(transfer.owner).sent(transfer.barrier, self._party(transfer), transfer.count)

    def completed(self, transfer: Transfer, before: int, word: int | None) -> None:
        """A transfer has been performed; before, word: its mbarrier's contents before and after that."""
        if word is None:
            return
        self.phases(transfer.owner).performed(transfer.barrier, self._party(transfer), transfer.count)
        address = transfer.barrier
        if transfer.owner != transfer.rank:
            address += (transfer.owner + 1) * PEER
        code = self.program.codes[transfer.code]
        warp, lane = divmod(transfer.thread, LANES)
        self.phases(transfer.rank).operated(code, warp, [lane], [address], [0], [before], [word])

    def _party(self, transfer: Transfer) -> Party:
        return self.phases(transfer.owner).foreign((transfer.code, transfer.thread), self.phases(transfer.rank))

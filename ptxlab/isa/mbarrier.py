"""The contents of an mbarrier; `ptxlab.emulate.rules.mbarriers` has the operations on it.

The object is one 64-bit word in shared memory, which PTX calls opaque. Here:

    bits 0-19   pending arrivals of the current phase
    bits 20-39  expected arrivals of each phase
    bits 40-60  tx-count, two's complement: bytes announced by expect_tx and not yet reported by complete_tx
    bits 61-62  01, which neither zeroed nor unwritten memory has: the object has been initialised
    bit 63      the parity of the current phase

A phase ends when neither arrivals nor bytes are pending; the next begins at once, with the expected arrivals. The state
that `arrive` returns is the word from before it, so that a wait has only to compare the parity of two words.
"""

from __future__ import annotations

from enum import IntEnum

COUNT, TX = (1 << 20) - 1, (1 << 21) - 1
MOST_BYTES = (1 << 20) - 1
"""The tx-count is between this and its negative."""
EXPECTED_SHIFT, TX_SHIFT, TAG_SHIFT, PHASE_SHIFT = 20, 40, 61, 63
TAG = 1


class Problem(IntEnum):
    """Why an operation is invalid."""

    NOT_INITIALISED, TOO_MANY, COMPLETES, BAD_COUNT, BAD_BYTES = 1, 2, 3, 4, 5

    @property
    def words(self) -> str:
        """For the error's message."""
        return {
            1: "the mbarrier has not been initialised",
            2: "more threads arrive in this phase than the mbarrier expects",
            3: "this arrival completes the phase, but .noComplete promises that it does not",
            4: f"an mbarrier counts 1 to {COUNT} arrivals",
            5: f"the bytes that a phase waits for must stay between -{MOST_BYTES} and {MOST_BYTES}",
        }[self.value]


def pending(word: int) -> int:
    """The arrivals that a phase still waits for."""
    return word & COUNT


def expected(word: int) -> int:
    """The arrivals that each phase waits for."""
    return word >> EXPECTED_SHIFT & COUNT


def bytes_pending(word: int) -> int:
    """The bytes that were announced and have not been reported; negative where more were reported."""
    count = word >> TX_SHIFT & TX
    return count - (TX + 1) if count > TX >> 1 else count


def phase(word: int) -> int:
    """The parity of the current phase."""
    return word >> PHASE_SHIFT & 1

"""What an mbarrier holds and what arriving at it does; both engines keep to this.

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
EXPECTED_SHIFT, TX_SHIFT, TAG_SHIFT, PHASE_SHIFT = 20, 40, 61, 63
TAG = 1


class Problem(IntEnum):
    """Why an operation cannot be done."""

    NOT_INITIALISED, TOO_MANY, COMPLETES, BAD_COUNT = 1, 2, 3, 4

    @property
    def words(self) -> str:
        """For the error's message."""
        return {
            1: "the mbarrier has not been initialised",
            2: "more threads arrive in this phase than the mbarrier expects",
            3: "this arrival completes the phase, which .noComplete promises it does not",
            4: f"an mbarrier counts 1 to {COUNT} arrivals",
        }[self.value]


def new(count: int) -> int | Problem:
    """The word of an mbarrier for so many arrivals."""
    return count | count << EXPECTED_SHIFT | TAG << TAG_SHIFT if 0 < count <= COUNT else Problem.BAD_COUNT


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


def update(word: int, arrivals: int, bytes_: int, *, drop: bool = False, may_complete: bool = True) -> int | Problem:
    """The word after so many arrivals and `bytes_` more (or, if negative, fewer) bytes to come.

    drop: these arrivals are not expected in later phases.
    """
    if word >> TAG_SHIFT & 3 != TAG:
        return Problem.NOT_INITIALISED
    left, expected = pending(word) - arrivals, word >> EXPECTED_SHIFT & COUNT
    tx, parity = (word >> TX_SHIFT) + bytes_ & TX, phase(word)
    if left < 0:
        return Problem.TOO_MANY
    if drop:
        expected -= arrivals
    if left == 0 and tx == 0:
        if not may_complete:
            return Problem.COMPLETES
        left, parity = expected, parity ^ 1
    return left | expected << EXPECTED_SHIFT | tx << TX_SHIFT | TAG << TAG_SHIFT | parity << PHASE_SHIFT

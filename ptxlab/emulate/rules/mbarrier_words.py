"""Operations on the word of one mbarrier; what it holds is described in `ptxlab.isa.mbarrier`."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.isa.mbarrier import COUNT, EXPECTED_SHIFT, MOST_BYTES, PHASE_SHIFT, TAG, TAG_SHIFT, TX, TX_SHIFT, Problem

INIT, INVAL, UPDATE, WAIT = 0, 1, 2, 3
"""What an operation does."""
DROP, NO_COMPLETE, SPIN, ARRIVES, ANNOUNCES, COPIES, RELAXED = 1, 2, 4, 8, 16, 32, 64
"""Flags: later phases do not expect these arrivals; the phase must not end; the thread can only wait again if the wait
fails (see `ptxlab.emulate.rules.mbarrier_deadlocks`). For the checks: it arrives; it announces bytes; its copies of
cp.async do; it releases nothing by itself."""
NO_PROBLEM = 0
FRESH = TAG << TAG_SHIFT


@rule(inline=True)
def phase_completed(word: u64, asked: u64) -> boolean:
    """Whether the phase of an earlier word has completed."""
    return (word ^ asked) >> PHASE_SHIFT != 0


@rule(inline=True)
def bytes_pending(word: u64) -> i64:
    """The bytes that were announced and have not been reported; negative where more were reported."""
    count = i64(word >> TX_SHIFT & TX)
    return count - (TX + 1) if count > TX >> 1 else count


@rule
def operated(word: u64, action: u32, flags: u32, x: u64, y: u64) -> tuple[u32, u64, u64]:
    """One operation on the word of an mbarrier: why it is invalid (a `Problem`, or NO_PROBLEM), the word after it, and
    the instruction's result: the word before, or for a wait whether the phase has completed.

    x: arrivals; for INIT the count, for WAIT a word with the phase that is tested. y: expected bytes (negative:
    completed ones).
    """
    if action == INIT:
        if x == 0 or x > COUNT:
            return Problem.BAD_COUNT, word, word
        return NO_PROBLEM, FRESH | x << EXPECTED_SHIFT | x, word
    if word >> TAG_SHIFT & 3 != TAG:
        return Problem.NOT_INITIALISED, word, word
    if action == INVAL:
        return NO_PROBLEM, 0, word
    if action == WAIT:
        return NO_PROBLEM, word, u64(phase_completed(word, x))
    pending = word & COUNT
    expected = word >> EXPECTED_SHIFT & COUNT
    bytes_before = word >> TX_SHIFT & TX
    if bytes_before > MOST_BYTES:
        bytes_before = u64(bytes_before - TX - 1)
    bytes_pending = u64(bytes_before + y)
    if u64(bytes_pending + MOST_BYTES) > 2 * MOST_BYTES:
        return Problem.BAD_BYTES, word, word
    bytes_pending &= TX
    parity = word >> PHASE_SHIFT
    if x > pending:
        return Problem.TOO_MANY, word, word
    pending -= x
    if flags & DROP != 0:
        expected = u64(expected - x) & COUNT
    if pending == 0 and bytes_pending == 0:
        if flags & NO_COMPLETE != 0:
            return Problem.COMPLETES, word, word
        pending = expected
        parity ^= 1
    fields = expected << EXPECTED_SHIFT | bytes_pending << TX_SHIFT | parity << PHASE_SHIFT
    return NO_PROBLEM, FRESH | fields | pending, word

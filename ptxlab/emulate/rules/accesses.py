"""How the accesses of a warp are described to the checks: by groups that share a base, and by their pattern."""

from __future__ import annotations

from ptxlab.emulate.language import Record, rule, u64

IN_A_ROW, ALL_THE_SAME, IN_ONE_ALLOCATION, ANYWHERE, HALVES_IN_A_ROW, HALVES_THE_SAME, PARTS_OF_ROWS = range(7)
"""The pattern of the 32 addresses of an access. Half-warps have one of their own because blocks are often 16 wide. The
last: a row, or one for each half, of which some lanes are missing."""
READS, WRITES, CHANGES = range(3)
"""What an access does: an atomic operation does both."""
PADDED = 16
"""The codes of a piece are padded to a multiple of this (`race_accesses`)."""


class Member(Record):
    """One access of a group: the bytes from the group's address to its own, its size, and the instruction, as in the
    record of an access."""

    at: u64
    bytes: u64
    access: u64


@rule(inline=True)
def next_piece(at: u64, words: u64) -> u64:
    """Where in the table `pieces` (`race_accesses`) the next one begins, behind the one here and its codes."""
    return at + 2 + (words + PADDED - 1) // PADDED * PADDED

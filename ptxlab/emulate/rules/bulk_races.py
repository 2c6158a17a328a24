"""racecheck of bulk copies: each is an access of the thread that issued it, from its issue until it is performed.

When a copy is issued, it must be ordered after earlier accesses of threads and other copies to the same bytes. When it
is performed, it is recorded as an access of that moment. Threads are ordered after it if they have waited for its
mbarrier, or come after the issuing thread's wait for its bulk group. (An access between the two moments is a finding of
synccheck, even if the issuing thread makes it; see `bulk_checks`.)

A copy is one access to all of its bytes: of several records that it races with, the least one is reported, at the first
word that has it.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.async_proxy import unseen_in_global
from ptxlab.emulate.rules.note_kinds import NO_PROXY_FENCE, RAW, WAR, WAW
from ptxlab.emulate.rules.notes import note
from ptxlab.emulate.rules.races import OF_WARP, collides, ordered, race
from ptxlab.emulate.rules.records import (
    ASYNC,
    BLOCK,
    CODE,
    ID,
    LAST_CODE,
    LAST_TIME,
    REDUCES,
    TIME,
    WARP,
    Block,
    Launch,
)

ROW = 16
"""Words that are looked at together."""
OF_MOMENT = OF_WARP | LAST_TIME << TIME
"""The fields of a record that tell whether an access comes before those of another warp."""


@rule(inline=True)
def within(begin: u64, low: u64, behind: u64) -> u32:
    """Which of 16 numbers from `begin` on lie in a range: a bit for each."""
    mask: u32 = 0xFFFF
    if begin < low:
        mask &= u32(0xFFFF << (low - begin))
    if begin + 16 > behind:
        mask &= u32(0xFFFF) >> u32(begin + 16 - behind)
    return mask


@rule(inline=True)
def doubtful(block: Block, row: row_u64, access: u64) -> u32:
    """The records to check, a bit for each: neither the thread's own nor from before its block's last barrier."""
    low = block.now >> BLOCK << BLOCK
    fine: row_bool = (row == 0) | (row - low < u64(block.full - low)) | ((row ^ access) & ID == 0)
    return bits(~fine)


@rule(inline=True)
def alike(row: row_u64, record: u64, access: u64) -> u32:
    """The records, a bit for each, of accesses that are ordered before an access if that of one record is."""
    if (record ^ access) & OF_WARP == 0:
        return bits(row == record)
    return bits((row ^ record) & OF_MOMENT == 0)


@rule
def least_racing(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, low: u64, behind: u64, third: u64, access: u64
) -> tuple[u64, u64]:
    """The least record of some words that races with an access, 0 if none does, and the first word that has it."""
    least, place = u64(0), u64(0)
    for number in range(low // ROW, (behind + ROW - 1) // ROW):
        row = load_row(records + (third * stride + number * ROW))
        left = doubtful(block, row, access) & within(number * ROW, low, behind)
        while left:
            k = first(left)
            record = u64(extract(row, k))
            if ordered(launch, block, record, access, third == 0):
                left &= ~alike(row, record, access)
                continue
            left &= ~bits(row == record)
            both = launch.traits[record >> CODE & LAST_CODE] & launch.traits[access >> CODE & LAST_CODE]
            if both & REDUCES == 0 and (least == 0 or record < least):  # reductions change each element atomically
                if collides(launch, block, record, access, third == 0):
                    least, place = record, number * ROW + k
    return least, place


@rule
def begins(
    launch: Launch,
    block: Block,
    records: Pointer[u64],
    stride: u64,
    start: u64,
    low: u64,
    behind: u64,
    access: u64,
    write: boolean,
) -> None:
    """A copy is issued: notes what it races with. block: that of its thread; low, behind: the words of an allocation,
    whose address is `start`; access: its record as an access."""
    thirds: u64 = 3 if write else 1
    for third in range(thirds):
        other, word = least_racing(launch, block, records, stride, low, behind, third, access)
        if other != 0:
            kind: u64 = RAW
            if write:
                kind = WAW if third == 0 else WAR
            race(launch, block, kind, access, other, start + word * launch.granule)
            return


@rule
def unseen(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, start: u64, low: u64, behind: u64, access: u64
) -> None:
    """A copy from global memory is issued: notes a store there that the async proxy does not see."""
    warp, least, place = u32(access >> WARP & 31), u64(0), u64(0)
    for number in range(low // ROW, (behind + ROW - 1) // ROW):
        row = load_row(records + number * ROW)
        left = bits(row != 0) & within(number * ROW, low, behind)
        while left:
            k = first(left)
            record = u64(extract(row, k))
            if not unseen_in_global(launch, block, warp, record):
                left &= ~bits((row ^ record) & OF_MOMENT == 0)
                continue
            left &= ~bits(row == record)
            if launch.traits[record >> CODE & LAST_CODE] & ASYNC == 0 and (least == 0 or record < least):
                least, place = record, number * ROW + k
    if least != 0:
        note(launch, block, NO_PROXY_FENCE, access, least, start + place * launch.granule, 0)


@rule
def ends(
    launch: Launch, block: Block, records: Pointer[u64], stride: u64, low: u64, behind: u64, access: u64, write: boolean
) -> None:
    """A copy has been performed: its access is recorded. A reader that it does not come after stays."""
    for number in range(low // ROW, (behind + ROW - 1) // ROW):
        inside, stay = within(number * ROW, low, behind), u32(0)
        reader = records + (stride + number * ROW)
        if write:
            recorded(records + number * ROW, inside, access)
            continue
        row = load_row(reader)
        left = doubtful(block, row, access) & inside
        while left:
            record = u64(extract(row, first(left)))
            same = alike(row, record, access)
            if not ordered(launch, block, record, access, False):
                same = bits(row == record)
                stay |= same & inside
            left &= ~same
        recorded(reader, inside & ~stay, access)
        recorded(reader + stride, stay, access)


@rule(inline=True)
def recorded(row: Pointer[u64], words: u32, access: u64) -> None:
    """Records an access to some of 16 words, a bit for each."""
    if words == 0xFFFF:
        store_row(row, (row_ids() & 0) + access)
        return
    for k in range(ROW):
        if words >> k & 1 != 0:
            row[k] = access

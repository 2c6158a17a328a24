"""initcheck: a thread uses a register that nothing has been written to.

For each warp and each register that is followed there is a mask: the lanes that have a value in it.
`program.register_flow` defines which registers those are, and what counts as a use.
"""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.program.register_flow import FOLLOWED, USED_BY_WARP
from ptxlab.emulate.rules.note_kinds import NO_VALUE
from ptxlab.emulate.rules.notes import NOWHERE, note, serial
from ptxlab.emulate.rules.records import CODE, WARP, Block, Launch


@rule
def executed(launch: Launch, block: Block, warp: u32, mask: u32, code: u64, table: Pointer[u32]) -> None:
    """Lanes of the mask execute an instruction that the table describes: what it does with its sources, where in the
    table its results are, the groups that its source registers form, the results. A list is a count and its items."""
    if mask == 0:
        return
    values = block.values + u64(warp) * block.followed
    how = table[0]
    missing: u32 = 0
    at: u64 = 3
    for _ in range(table[2]):
        there: u32 = 0
        for k in range(table[at]):
            there |= values[table[at + 1 + k]]
        lacking = mask & ~there
        if how != FOLLOWED and lacking and (how != USED_BY_WARP or lacking == mask):
            serial(launch, mask)
            me = block.now | code << CODE | u64(warp) << WARP | first(lacking)
            note(launch, block, NO_VALUE, me, 0, NOWHERE, table[at + 1])
            break
        missing |= lacking
        at += table[at] + 1
    if how != FOLLOWED:
        missing = 0
    results = table + table[1]
    for k in range(results[0]):
        result = results[k + 1]
        values[result] = values[result] & ~mask | mask & ~missing

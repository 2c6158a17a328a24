"""Wrong answers to the exercises of notebook 15."""

from __future__ import annotations

from ptxlab.course.exercises.e15_wgmma import BYTE, DESCRIPTOR, FENCE, HOLDS

_FENCE = '        k.op("fence.proxy.async.shared::cta")\n'
_BARRIER = "        k.barrier()  # the tile is complete\n"

WRONG = {
    "15-holds": (
        (HOLDS.starter, "element(0, 2): you say (0, 2), the machine says (8, 0)."),
        # all warps have the same rows
        (HOLDS.solution.replace("16 * warp + ", ""), "element(40, 0): you say (2, 0), the machine says (18, 0)."),
        # a row eight below, where the next eight columns come
        (HOLDS.solution.replace("8 * eight", "4 * eight"), "element(0, 4): you say (0, 4), the machine says (0, 8)."),
        # half the columns
        (HOLDS.solution.replace("2 * (lane % 4)", "lane % 4"),
         "element(5, 3): you say (9, 2), the machine says (9, 3)."),
    ),
    "15-byte": (
        (BYTE.starter, "byte_of(1, 0, 128): you say 128, the machine says 144."),
        # by the row, whatever its length
        (BYTE.solution.replace("plain >> 7", "row"), "byte_of(2, 0, 64): you say 160, the machine says 144."),
        # always three bits: into the next row
        (BYTE.solution.replace("swizzle // 16 - 1", "7"), "byte_of(8, 0, 32): you say 288, the machine says 256."),
        # the element's bits instead of the chunk's
        (BYTE.solution.replace("<< 4", "<< 1"), "byte_of(1, 0, 128): you say 130, the machine says 144."),
    ),
    "15-descriptor": (
        (DESCRIPTOR.starter, "names another swizzle (none)"),
        # bytes in place of units
        (DESCRIPTOR.solution.replace("8 * swizzle // 16", "8 * swizzle"), "leaves shared memory"),
        # four rows
        (DESCRIPTOR.solution.replace("8 * swizzle // 16", "4 * swizzle // 16"), "does not follow the rows"),
        # 32 and 64 exchanged
        (DESCRIPTOR.solution.replace("64: 2, 32: 3", "64: 3, 32: 2"), "names another swizzle (32 bytes)"),
    ),
    "15-fence": (
        (FENCE.starter, "no fence makes it seen by the async proxy"),
        # one thread for all
        (FENCE.starter.replace(_BARRIER, "        with k.if_(thread == 0):\n    " + _FENCE + _BARRIER),
         "thread (8, 0, 0) (warp 0, lane 8) multiplies matrices"),
        # no wait
        (FENCE.solution.replace('        k.op("wgmma.wait_group.sync.aligned", 0)\n', ""),
         "is a sum of a wgmma that nothing has waited for yet"),
        # two barriers where one is enough
        (FENCE.solution.replace(_BARRIER, 2 * _BARRIER), "barriers; at most"),
    ),
}  # fmt: skip

"""Wrong answers to the exercises of notebook 16."""

from __future__ import annotations

from ptxlab.course.exercises.e16_hopper import BYTES, PHASE, RELEASE, RING

WRONG = {
    "16-phase": (
        (PHASE.starter, "waits(0, 2): you say (0, 0, 0), the machine says (0, 0, 1)."),
        # both roles wait for the same parity
        (PHASE.solution.replace("1 - parity", "parity"), "waits(0, 2): you say (0, 0, 0)"),
        # a flip in every round
        (PHASE.solution.replace("n // stages % 2", "n % 2"),
         "waits(1, 2): you say (1, 1, 0), the machine says (1, 0, 1)."),
        # never a flip
        (PHASE.solution.replace("n // stages % 2", "0"), "waits(2, 2): you say (0, 0, 1), the machine says (0, 1, 0)."),
    ),
    "16-bytes": (
        (BYTES.starter, "1 of 2 parts right"),
        # one box of the two
        (BYTES.solution.replace("2 * 8 * 64 * 4", "8 * 64 * 4"), "a thread reads what another warp writes"),
        # elements for bytes
        (BYTES.solution.replace("2 * 8 * 64 * 4", "2 * 8 * 64"), "3072 bytes more have come"),
        # more than come
        (BYTES.solution.replace("2 * 8 * 64 * 4", "4 * 8 * 64 * 4"), "4096 bytes missing"),
    ),
    "16-release": (
        (RELEASE.starter, "a wait is missing, or too many arrive"),
        # more than there are
        (RELEASE.solution.replace("arrivals=64", "arrivals=96"), "32 of 96 arrivals missing"),
        # nobody releases
        (RELEASE.solution.replace("            turn.release()\n", ""),
         "this stage was not released: its producer waits for ever"),
    ),
    "16-ring": (
        (RING.starter, "report to 1 mbarrier:"),
        # two stages, one place
        (RING.starter.replace("k.pipeline(1,", "k.pipeline(2,"), "hazard in shared memory: a thread"),
        # the consumers stay at the first
        (RING.solution.replace("tile + turn.stage * 512 + column", "tile + column"), "Tile 0 was added twice"),
        # no room for the second
        (RING.solution.replace("2 * 512, align", "512, align"), "two tiles have 4,096"),
    ),
}  # fmt: skip

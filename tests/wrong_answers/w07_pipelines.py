"""Wrong answers to the exercises of notebook 07."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "07-arrived": (
        (find("07-arrived").starter, "you say 4, the machine says 3"),
        ("def arrived(sizes, n):\n    return sum(sizes) - n\n", "groups of [2, 1, 3] copies and wait_group 1"),
        (but("07-arrived", ("len(sizes) - n", "sum(s > 0 for s in sizes) - n")), "groups of [2, 2, 0] copies"),
    ),
    "07-wait": (
        (find("07-wait").starter, "memory to which a cp.async is in flight"),
        (but("07-wait", ('        k.op("cp.async.wait_group", 0)\n        k.barrier()\n', "        k.barrier()\n")), "synccheck"),
        (but("07-wait", ("        k.barrier()\n", "")), "has not been written"),
        (but("07-wait", ("        add_up(", "        k.barrier()\n        add_up(")), "barriers; at most"),
    ),
    "07-tail": (
        (find("07-tail").starter, "past the end of"),
        (but("07-tail", ("k.min(k.max(n, first) - first, 4) * 4", "k.min(k.max(n, first) - first, 4)")), "should be"),
        (
            but("07-tail", ("k.min(k.max(n, first) - first, 4) * 4", "k.select(first + 4 <= n, 16, 0, type=u32)")),
            "How many bytes has it?",
        ),
    ),
    "07-free": (
        (find("07-free").starter, "hazard in shared memory"),
        (
            find("07-free").starter.replace("        add_up(tile, tile & 1)\n", "        add_up(tile, tile & 1)\n        k.barrier()\n"),
            "barriers; at most",
        ),
        (but("07-free", ('("cp.async.wait_group", 0)', '("cp.async.wait_group", 1)')), "memory to which a cp.async is in flight"),
    ),
    "07-pipeline": (
        (find("07-pipeline").starter, "tile 1 was not yet on its way"),
        (but("07-pipeline", ("        with k.if_(tile + 1 < tiles):\n            fetch", "        fetch")), "past the end of"),
        (but("07-pipeline", ("(tile + 1) & 1)", "tile & 1)")), "hazard"),
        (but("07-pipeline", ("        add_up(", "        k.barrier()\n        add_up(")), "barriers; at most"),
    ),
}  # fmt: skip

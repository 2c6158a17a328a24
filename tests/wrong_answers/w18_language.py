"""Wrong answers to the exercises of notebook 18."""

from __future__ import annotations

from ptxlab.course.exercises.e18_language import FUSED, LOADS, SECTORS

WRONG = {
    "18-sectors": (
        (SECTORS.starter, "sectors(100): you say 4, the machine says 32."),
        # one sector for each lane
        (SECTORS.starter.replace("return 4", "return 32"), "sectors(1): you say 32, the machine says 4."),
        # sectors of 64 bytes
        (SECTORS.solution.replace("// 32", "// 64"), "sectors(1): you say 2, the machine says 4."),
    ),
    "18-loads": (
        (LOADS.starter, "loads(100, 3): you say 3, the machine says 12."),
        # the last round is forgotten
        (LOADS.solution.replace("-(-columns // 32)", "(columns // 32)"), "loads(100, 3): you say 9"),
        # read once
        (LOADS.solution.replace("passes * ", ""), "loads(100, 3): you say 4, the machine says 12."),
    ),
    "18-fused": (
        (FUSED.starter, "you say (0.050000001, 0.050000001), the machine says (0.050000004, 0.050000001)."),
        # the lanes exchanged
        (FUSED.solution.replace("a, b, c, d):", "c, d, a, b):"), "you say (0.050000001, 0.050000004)"),
        # both products rounded
        (FUSED.solution.replace("a * b + second", "first + second").replace("c * d + first", "first + second"),
         "Lane 0 has 0.1 * 0.1, lane 1 has"),
    ),
}  # fmt: skip

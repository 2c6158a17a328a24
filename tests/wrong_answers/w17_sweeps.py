"""Wrong answers to the exercises of notebook 17."""

from __future__ import annotations

from ptxlab.course.exercises.e17_sweeps import BEST, POINTS, SHORTEST, TRAFFIC

WRONG = {
    "17-points":
        ((POINTS.starter, "The kernels are scalar, mma."),
         (POINTS.solution.replace("points = lengths", "points = 1"), "The kernels are tiled2d."),
         (POINTS.solution.replace("total += points", "total = points"), "The kernels are scalar, mma."),
         (POINTS.solution.replace("points *=", "points +="), "the machine says 12.")),
    "17-traffic":
        ((TRAFFIC.starter, "sectors(64, 32, 16): you say 512, the machine says 2048."),
         (TRAFFIC.solution.replace("-(-rows // tile_q)", "rows // tile_q"), "sectors(40, 16, 16): you say 320"),
         (TRAFFIC.solution.replace("* 2 * rows", "* rows"), "sectors(64, 32, 16): you say 1024")),
    "17-shortest":
        ((SHORTEST.starter, "shortest(60, 108): you say 128, the machine says 192."),
         (SHORTEST.solution.replace("return parts * 64", "return (parts - 1) * 64"), "shortest(8, 108)"),
         (SHORTEST.solution.replace("0.95 * busy(parts)", "0.5 * busy(parts)"), "shortest(")),
    "17-best":
        ((BEST.starter, "b is wrong with 100"), (BEST.solution.replace(" and row[value] is not None", ""), ""),
         (BEST.solution.replace("min(good", "max(good"), "a is ok with 900"),
         (BEST.solution.replace('row["status"] == "ok"', 'row["status"] != "wrong"'), "a is finding with 10")),
}  # fmt: skip

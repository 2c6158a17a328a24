"""Typical wrong answers to the exercises of notebook 08, each with a phrase of the feedback intended."""

from __future__ import annotations

from ptxlab.course.exercises import e08_decode as e

MAXIMUM, COALESCE = e.MAXIMUM.solution, e.COALESCE.solution
EMPTY, SINKS = e.EMPTY.solution, e.SINKS.solution

WRONG = {
    "08-reach": (
        ("def reach(lane, distances):\n    return {lane} | {lane ^ d for d in distances}\n", "the machine says"),
        ("def reach(lane, distances):\n    return {lane} | {lane + d for d in distances}\n", "was lane"),
        ("def reach(lane, distances):\n    return set(range(32))\n", "Its first partner"),
    ),
    "08-maximum": (
        (MAXIMUM.replace("-math.inf", "0.0"), "what did the running maximum begin with?"),
        (MAXIMUM.replace("(16, 8, 4, 2, 1)", "()"), "it has heard from no other lane"),
        (MAXIMUM.replace("k.loop(n,", "k.loop(n - 1,"), "Which numbers does its loop begin and end with?"),
        (MAXIMUM.replace("(16, 8, 4, 2, 1)", "(16, 8, 4, 2, 1, 1)"), "6 shuffles; at most 5 are allowed"),
    ),
    "08-coalesce": (
        (COALESCE.replace("lane + 32 * n", "lane * own + n"), "sectors; at most 264 are allowed"),
        (COALESCE.replace("range(own)", "range(own - 1)"), "score[0] should be"),
        (COALESCE.replace("lane == 0", "lane == 32"), "No thread stored it"),
        (COALESCE.replace("(16, 8, 4, 2, 1)", "(8, 4, 2, 1)"), "score[0] should be"),
    ),
    "08-empty": (
        (EMPTY.replace("lse[batch] = (row_max + k.log2(divisor))", "lse[batch] = k.log2(divisor)"),
         "what was added to it?"),
        (EMPTY.replace("1.0)\n    o_row", "0.0)\n    o_row"), "what is 0 / 0?"),
        (EMPTY.replace("k.select(row_sum > 0.0, row_sum, 1.0)", "row_sum + 1.0"), "o[0, 0] should be"),
    ),
    "08-sinks": (
        (SINKS.replace("k.max(window, first) - first", "window - first"), "it is a sink, and it is in the window"),
        (
            SINKS.replace("k.loop(n - gap)", "k.loop(k.min(n, S + W))").replace(
                "k.select(i < first, 0, gap)", "k.select(i < first, 0, window - first)"
            ),
            "Visible are the keys",
        ),
        (e.SINKS.starter, "Visible are the keys"),
        (SINKS.replace("k.max(n, W) - W", "n - W"), "past the end of"),
    ),
}  # fmt: skip

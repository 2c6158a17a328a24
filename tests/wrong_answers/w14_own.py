"""Wrong answers to the exercises of notebook 14."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "14-clamp": (
        (find("14-clamp").starter, "above the limits"),
        (
            but("14-clamp", ("%v, %v, %low", "%v, %v, -%limit")),
            "max.f32 takes no minus before a register, found -%limit: only neg changes a sign\n",
        ),
        (but("14-clamp", ("    @%outside ret;\n", "")), "past the end of"),
        (but("14-clamp", ("%v, %v, %low", "%v, %v, %limit"), ("max.f32        %v, %v, %limit", "max.f32 %v, %v, 0f00000000")),
         "below the limits"),
        (but("14-clamp", ("neg.f32        %low", "neg            %low")), "neg"),
    ),
    "14-down": (
        (find("14-down").starter, "y[0, 1] should be -0.01351"),
        (but("14-down", ("distance = 16", "distance = 8")), "kernel.cu:11"),
        (but("14-down", ("total / n", "total")), "RMSNorm takes their mean"),
    ),
    "14-once": (
        (find("14-once").starter, "sectors; at most"),
        (but("14-once", ("(1.0 / N)", "1.0")), "y[0, 0] should be"),
        (but("14-once", ("v * scale * (w + lane)[d]", "v * scale * w[d]")), "elements are wrong"),
    ),
    "14-rope": (
        (but("14-rope", ("a * c - b * s", "a * c + b * s"), ("b * c + a * s", "b * c - a * s")), "the other way round"),
        (but("14-rope", ("y[first + h] = b * c + a * s", "y[first + h] = b * c + y[first] * s")), "The first half is right."),
        (but("14-rope", ("c, s = cos[row * h + i], sin[row * h + i]", "c, s = cos[i], sin[i]")), "by row 0's angles"),
        (but("14-rope", ("a, b = x[first], x[first + h]", "a, b = x[first], x[first + h + h]")), "past the end of"),
    ),
}  # fmt: skip

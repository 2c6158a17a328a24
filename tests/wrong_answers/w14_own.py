"""Wrong answers to the exercises of notebook 14."""

from __future__ import annotations

from ptxlab.course.feedback import find


def _but(name: str, *changes: tuple[str, str]) -> str:
    """The solution of an exercise with mistakes in it."""
    code = find(name).solution
    for old, new in changes:
        assert old in code, (name, old)
        code = code.replace(old, new)
    return code


WRONG = {
    "14-clamp": (
        (find("14-clamp").starter, "above the limits"),
        (
            _but("14-clamp", ("%v, %v, %low", "%v, %v, -%limit")),
            "max.f32 takes no minus before a register, found -%limit: only neg changes a sign\n",
        ),
        (_but("14-clamp", ("    @%outside ret;\n", "")), "past the end of"),
        (_but("14-clamp", ("%v, %v, %low", "%v, %v, %limit"), ("max.f32        %v, %v, %limit", "max.f32 %v, %v, 0f00000000")),
         "below the limits"),
        (_but("14-clamp", ("neg.f32        %low", "neg            %low")), "neg"),
    ),
    "14-down": (
        (find("14-down").starter, "Which lanes have the whole sum after a shuffle *down*?"),
        (_but("14-down", ("distance = 16", "distance = 8")), "kernel.cu:11"),
        (_but("14-down", ("total / n", "total")), "element i is lane i % 32's"),
    ),
    "14-once": (
        (find("14-once").starter, "sectors; at most"),
        (_but("14-once", ("(1.0 / N)", "1.0")), "y[0, 0] should be"),
        (_but("14-once", ("v * scale * (w + lane)[d]", "v * scale * w[d]")), "elements are wrong"),
    ),
    "14-rope": (
        (_but("14-rope", ("a * c - b * s", "a * c + b * s"), ("b * c + a * s", "b * c - a * s")), "turned the other way"),
        (_but("14-rope", ("y[first + h] = b * c + a * s", "y[first + h] = b * c + y[first] * s")), "The first half is right."),
        (_but("14-rope", ("c, s = cos[row * h + i], sin[row * h + i]", "c, s = cos[i], sin[i]")), "y[1, 0] should be"),
        (_but("14-rope", ("a, b = x[first], x[first + h]", "a, b = x[first], x[first + h + h]")), "past the end of"),
    ),
}  # fmt: skip

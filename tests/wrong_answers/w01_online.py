"""Wrong answers to the exercises of notebook 01."""

from __future__ import annotations

from ptxlab.course.check import find


def _but(name: str, old: str, new: str) -> str:
    """The solution of an exercise with a mistake in it."""
    code = find(name).solution
    assert code.count(old) >= 1, (name, old)
    return code.replace(old, new)


WRONG = {
    "01-predict": (
        (
            _but("01-predict", "score > m", "score >= m"),
            "which is no larger, so rescale was exactly 1. You named this key.",
        ),
        (
            _but("01-predict", "m, keys = -math.inf, []", "m, keys = scores[0], []"),
            "a new maximum, so it computed rescale = 0.",
        ),
        ("def shrinks(scores):\n    return [3, 9]\n", "There is no key 9; the keys are 0 to 7."),
        ("def shrinks(scores):\n    return 3\n", "is to return a list of key numbers, it returned 3."),
        ("shrinks = [0, 3, 5]\n", "a function is wanted, found list"),
    ),
}

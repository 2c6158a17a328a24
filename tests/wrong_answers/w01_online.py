"""Wrong answers to the exercises of notebook 01."""

from __future__ import annotations

from wrong_answers import but

_SET = "        row_max.set(new_max)  # last: rescale needs the old maximum once more\n"
_PROBE = "        k.probe(row, j, n, row_max, row_sum, rescale)\n"
_FIRST = "    first = k.max(stop, W) - W  # row - (W - 1) would wrap below zero, where a u32 is about 4 billion\n"

WRONG = {
    "01-predict": (
        (but("01-predict", ("score > m", "score >= m")), "which is no larger, so rescale was exactly 1. You named this"),
        (but("01-predict", ("-math.inf, []", "scores[0], []")), "a new maximum, so it computed rescale = 0. You did not"),
        ("def shrinks(scores):\n    return [0, 3, 5]\n", "of the kernel's"),
        ("def shrinks(scores):\n    return [3, 9]\n", "There is no key 9; the keys are 0 to 7."),
        ("def shrinks(scores):\n    return 3\n", "must return a list of key numbers; it returned 3."),
        ("shrinks = [0, 3, 5]\n", "expected a function, found list"),
    ),
    "01-lse": (
        (but("01-lse", (" * LN2  #", "  #")), "right number in units of ln 2"),
        (but("01-lse", ("(row_max + k.log2(row_sum)) * LN2", "row_max * LN2")), "the maximum alone. Where does the sum l go?"),
        (but("01-lse", ("(row_max + k.log2(row_sum)) * LN2", "row_max + k.log2(row_sum) * LN2")),
         "and m is in units of ln 2."),
        (but("01-lse", ("    lse[row] = ", "    ignored = ")), "No thread stored it"),
        (but("01-lse", ("k.return_if(row >= n)", "pass")), "memcheck: load of 4 bytes at "),
    ),
    "01-rescale": (
        (but("01-rescale", (_SET, ""), ("        rescale =", "        row_max.set(new_max)\n        rescale =")),
         "Your kernel's rescale was 1."),
        (but("01-rescale", ("k.fma(row_sum, rescale, weight)", "row_sum + weight")),
         "Thread 0, key 4: the running sum l should be 1.138, it was 2.562."),
        (but("01-rescale", ("            acc[d] *= rescale\n", "")),
         "The row o is not rescaled when the maximum of a row grows."),
        (but("01-rescale", ("row_max - new_max", "new_max - row_max")), "A rescale is never above 1."),
        (but("01-rescale", ("score - new_max", "score - row_max")), "From which maximum is the new weight measured?"),
        (but("01-rescale", (_PROBE, "")), "never calls k.probe"),
    ),
    "01-thrift": (
        (but("01-thrift", ("query[d], key_row", "(q + row * D)[d], key_row")), "warp instructions; at most 1,964 are allowed."),
        (but("01-thrift", ("with k.loop(n) as j:", "with k.loop(n - 1) as j:")), "elements are wrong"),
        (but("01-thrift", ("scale * LOG2E  # one", "scale  # one")), "powers of 2 in place of e"),
    ),
    "01-window": (
        (but("01-window", ("start=first", "start=0")), "Thread 6 may see keys 1 to 6; it also read key 0"),
        (but("01-window", (_FIRST, "    first = k.max(row - (W - 1), 0)\n")), "A u32 went below zero there and became"),
        (but("01-window", ("start=first", "start=0"),
              ("        new_max =", "        score.set(k.select(j + W <= row, -math.inf, score))\n        new_max =")),
         "Thread 6 computed a NaN from -inf and -inf:"),
        (but("01-window", (" * LN2", " * 1.0")), "What brings log2 to ln?"),
        (but("01-window", ("k.return_if(row >= n)", "pass")), "memcheck: load of 4 bytes at "),
    ),
}  # fmt: skip

"""Wrong answers to the exercises of notebook 12."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "12-head": (
        (
            but("12-head", ("head // (heads // heads_kv)", "head // heads_kv")),
            "kv_head(5, 8, 2): you say 2, the machine",
        ),
        (but("12-head", ("head // (heads // heads_kv)", "head % (heads // heads_kv)")), "says 2"),
        (but("12-head", ("head // (heads // heads_kv)", "head / (heads // heads_kv)")), "you say 1.25"),
    ),
    "12-useful": (
        (find("12-useful").starter, "3 tiles of 16 heads by 16 keys"),
        (but("12-useful", ("columns = -(-keys // 16) * 16", "columns = keys")), "you say 1, the machine says 0.8333"),
        (but("12-useful", ("rows = -(-group // 16) * 16", "rows = 16")), "2 tiles of 16 heads"),
        (but("12-useful", ("(rows * columns)", "(rows * columns * heads_kv)")), "8 query heads, 64 keys"),
    ),
    "12-modulo": (
        (find("12-modulo").starter, "Query head 1 read the keys of KV head 1; its group is that of KV head 0"),
        (but("12-modulo", ("head // (Hq // Hkv)", "head // Hkv")), "Query head 1 read the keys of KV head 0"),
        (but("12-modulo", ("head // (Hq // Hkv)", "head * 0")), "Block (1, 0, 0)"),
    ),
    "12-once": (
        (find("12-once").starter, "sectors; at most"),
        (but("12-once", ("acc[g] *= rescale", "acc[0] *= rescale")), "o[0, 0] should be"),
        (but("12-once", ("q + (kv_head * G + g) * 32", "q + kv_head * G * 32")), "that of head 0"),
        (but("12-once", ("(value + row)[lane]\n", "(key + row)[lane]\n")), "mean of the *keys*"),
    ),
}

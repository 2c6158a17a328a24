"""Wrong answers to the exercises of notebook 13."""

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
    "13-dropped": (
        (find("13-dropped").starter, "4 keys had the weight 0, from key 16 on"),
        (_but("13-dropped", ("list(range(keys // tile * tile, keys))", "list(range(keys % tile))")), "you say [0, 1, 2, 3]"),
        (_but("13-dropped", ("list(range(keys // tile * tile, keys))", "list(range(tile, keys))")), "dropped(32, 16): you say"),
        (_but("13-dropped", ("list(range(keys // tile * tile, keys))", "keys % tile")), "you say 0, the machine says []"),
    ),
    "13-leave": (
        (find("13-leave").starter, "has not been written"),
        (_but("13-leave", ("    tile[thread] = 0.0\n", "")), "initcheck"),
        (
            _but("13-leave", ("    with k.if_(i < n):\n        y[i] = x[i] - total\n", "    y[i] = x[i] - total\n")),
            "past the end of",
        ),
        (_but("13-leave", ("tile[thread] = 0.0", "tile[thread] = 1.0")), "block 1 has 8 of them"),
    ),
    "13-turns": (
        (find("13-turns").starter, "threads of two blocks can be ordered only by atomics with fences"),
        (_but("13-turns", ("fence.acq_rel.gpu", "fence.acq_rel.cta")), "its scope is the block (.cta)"),
        (
            _but("13-turns", ('        k.op("fence.acq_rel.gpu")  # what those', "        pass  # what those")),
            "does not keep later accesses behind it: it is relaxed",
        ),
        (_but("13-turns", ("turn, block + 1", "turn, block")), "has not ended"),
        (_but("13-turns", ("y[lane] = y[lane] + own", "y[lane] = own")), "In the end it was the turn of block 3."),
    ),
    "13-convict": (
        (find("13-convict").starter, "the keys behind the last whole tile are dropped went free"),
        (_but("13-convict", ("4.0", "0.1")), "before the rescale is taken from it went free"),
        (_but("13-convict", ("columns + 2", "columns")), "columns from a certain one on are never computed went free"),
        (_but("13-convict", ("(32, 2 * tile - 1", "(32, 400")), "keys is a whole number from 1 to 200"),
    ),
}  # fmt: skip

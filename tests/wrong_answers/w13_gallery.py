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
        (_but("13-leave", ("    with k.if_(i < n):\n        y[i] = x[i] - total\n", "    y[i] = x[i] - total\n")),
         "past the end of"),
        (_but("13-leave", ("tile[thread] = 0.0", "tile[thread] = 1.0")), "block 1 has 8 of them"),
    ),
    "13-turns": (
        (find("13-turns").starter, "threads of two blocks can be ordered only by atomics with fences"),
        (_but("13-turns", ("fence.acq_rel.gpu", "fence.acq_rel.cta")), "its scope is the block (.cta)"),
        (_but("13-turns", ('        k.op("fence.acq_rel.gpu")  # what the blocks', "        pass  # what the blocks")),
         "does not keep later accesses after it: it is relaxed"),
        (_but("13-turns", ("turn, block + 1", "turn, block")), "has not ended"),
        (_but("13-turns", ("y[lane] = y[lane] + own", "y[lane] = own")), "In the end it was the turn of block 3."),
    ),
    "13-digits": (
        (find("13-digits").starter, "An f32 has 24 bits, 29 fewer than an f64."),
        (_but("13-digits", ("0d3FE62E42FEFA39EF", "0f3F317218")), "That is 14,580,474 ULP: the last 24 of 53 bits"),
        (_but("13-digits", ("0d3FE62E42FEFA39EF", "0.69314718")), "ULP: the last 23 of 53 bits are wrong."),
        (
            _but(
                "13-digits",
                (
                    "    add.rn.f64     %sum, %max, %log;                // m + l\n",
                    "    cvt.rn.f32.f64 %a, %max;\n    cvt.rn.f32.f64 %b, %log;\n    add.rn.f32 %a, %a, %b;\n"
                    "    cvt.f64.f32 %sum, %a;\n",
                ),
            ),
            "bits are wrong. An f32 has 24 bits",
        ),
        (_but("13-digits", ("0d3FE62E42FEFA39EF", "0d3FF71547652B82FE")), "is wrong in its first digits."),
        (_but("13-digits", ("%sum, %max, %log;", "%sum, %max, %max;")), "It should be (m + l) * ln 2"),
        (_but("13-digits", ("    @%outside ret;\n", "")), "memcheck: load of 8 bytes"),
        (_but("13-digits", ("%i, 8, %l;", "%i, 4, %l;")), "misaligned"),
    ),
    "13-convict": (
        (find("13-convict").starter, "do not find the kernel in which the keys after the last whole tile are dropped"),
        (_but("13-convict", ("4.0", "0.1")), "the old maximum is overwritten before the rescale is computed from it: "),
        (_but("13-convict", ("columns + 2", "columns")), "columns from number `columns` on are never computed: "),
        (_but("13-convict", ("(32, 2 * tile - 1", "(32, 400")), "keys is a whole number from 1 to 200"),
    ),
}  # fmt: skip

"""Wrong answers to the exercises of notebook 13."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "13-dropped": (
        (find("13-dropped").starter, "4 keys had the weight 0, from key 16 on"),
        (but("13-dropped", ("list(range(keys // tile * tile, keys))", "list(range(keys % tile))")), "you say [0, 1, 2, 3]"),
        (but("13-dropped", ("list(range(keys // tile * tile, keys))", "list(range(tile, keys))")), "dropped(32, 16): you say"),
        (but("13-dropped", ("list(range(keys // tile * tile, keys))", "keys % tile")), "you say 0, the machine says []"),
    ),
    "13-leave": (
        (find("13-leave").starter, "has not been written"),
        (but("13-leave", ("    tile[thread] = 0.0\n", "")), "initcheck"),
        (but("13-leave", ("    with k.if_(i < n):\n        y[i] = x[i] - total\n", "    y[i] = x[i] - total\n")),
         "past the end of"),
        (but("13-leave", ("tile[thread] = 0.0", "tile[thread] = 1.0")), "block 1 has 8 of them"),
    ),
    "13-turns": (
        (find("13-turns").starter, "a barrier of a block orders no other"),
        (but("13-turns", ("fence.acq_rel.gpu", "fence.acq_rel.cta")), "its scope is the block (.cta)"),
        (but("13-turns", ('        k.op("fence.acq_rel.gpu")  # what the blocks', "        pass  # what the blocks")),
         "does not keep later accesses after it: it is relaxed"),
        (but("13-turns", ("turn, block + 1", "turn, block")), "has not ended"),
        (but("13-turns", ("y[lane] = y[lane] + own", "y[lane] = own")), "In the end it was the turn of block 3."),
    ),
    "13-digits": (
        (find("13-digits").starter, "the first 7 digits, about as many as an f32 has."),
        (but("13-digits", ("0d3FE62E42FEFA39EF", "0f3F317218")), "the first 8 digits, about as many as an f32 has."),
        (but("13-digits", ("0d3FE62E42FEFA39EF", "0.69314718")), "They agree in the first 9 digits."),
        (
            but(
                "13-digits",
                (
                    "    add.rn.f64     %sum, %max, %log;                // m + l\n",
                    "    cvt.rn.f32.f64 %a, %max;\n    cvt.rn.f32.f64 %b, %log;\n    add.rn.f32 %a, %a, %b;\n"
                    "    cvt.f64.f32 %sum, %a;\n",
                ),
            ),
            "4.71282354; 32 of 32",
        ),
        (but("13-digits", ("0d3FE62E42FEFA39EF", "0d3FF71547652B82FE")), "What came out is (m + l) / ln 2."),
        (but("13-digits", ("%sum, %max, %log;", "%sum, %max, %max;")), "What came out is 2 m ln 2."),
        (but("13-digits", ("    @%outside ret;\n", "")), "memcheck: load of 8 bytes"),
        (but("13-digits", ("%i, 8, %l;", "%i, 4, %l;")), "misaligned"),
    ),
    "13-convict": (
        (find("13-convict").starter, "two kernels fail in case 1 and in no other. In one the keys after"),
        (but("13-convict", ("2 * tile, 1, 4.0", "2 * tile, 1, 0.1"), ("2, 4.0", "2, 0.1")),
         "the old maximum is overwritten before the rescale is computed from it: "),
        (but("13-convict", ("columns + 4", "columns")), "columns from number `columns` on are never computed: "),
        (but("13-convict", ("2 * tile - 1", "2 * tile")), "do not find the kernel in which the keys after the last whole"),
        (but("13-convict", ("(32, 2 * tile,", "(32, 400,")), "keys is a whole number from 1 to 200"),
    ),
}  # fmt: skip

"""Wrong answers to the exercises of notebooks 09 to 14."""

from __future__ import annotations

from ptxlab.course.feedback import find
from wrong_answers import but

WRONG = {
    "09-share": (
        ("def share(m1, l1, m2, l2):\n    return l1 / (l1 + l2)\n", "the machine says 0.5246"),
        (but("09-share", ("first / (first + second)", "first / second")), "you say 1, the machine says 0.5"),
        ("def share(m1, l1, m2, l2):\n    x, y = math.exp(m1), math.exp(m2)\n    return x / (x + y)\n",
         "you say 0.2689"),
        (but("09-share", ("m = max(m1, m2)", "m = m2")), "you say nan"),
    ),
    "09-empty": (
        (but("09-empty", ("k.select(total > 0.0, total, 1.0)", "total + 0.0")), "Wanted is 0, and the kernel stored o[3, 0] = nan"),
        (but("09-empty", ("lse[row] = m +", "lse[row] = shift +")), "its log-sum-exp stays -inf"),
        (but("09-empty", ("-3.0e38", "0.0")), "o[5, 0] should be"),
        (find("09-empty").starter, "did it compute -inf - (-inf), or 0 / 0?"),
    ),
    "09-lanes": (
        (find("09-lanes").starter, "lse[0] should be"),
        (but("09-lanes", ("        l *= k.exp2(m - shift)\n", ""), ("k.exp2(theirs - shift)", "1.0")),
         "added as they stand"),
        (but("09-lanes", ("k.max(new_max, -3.0e38)", "new_max + 0.0")), "24 are without keys, and two of them met"),
        (but("09-lanes", ("(16, 8, 4, 2, 1)", "()")), "it has heard from nobody"),
    ),
    "09-meeting": (
        (find("09-meeting").starter, "WAR hazard"),
        (but("09-meeting", ("        k.barrier()\n", "")),
         "initcheck: a thread reads shared memory that has not been written"),
        (but("09-meeting", ("        k.barrier()\n", "        k.barrier()\n        k.barrier()\n")),
         "barriers; at most"),
        (but("09-meeting", ("for other in all_maxima:", "for other in all_maxima[:1]:")), "y[0] should be"),
    ),
    "09-many": (
        (but("09-many", ("        total *= rescale\n", "")), "the row is not: they are in different units"),
        (but("09-many", ("k.max(new_max, -3.0e38)", "new_max + 0.0")), "Part 0 of row 0 is without keys"),
        (
            but("09-many", ("        part_lse = lse[part_row]\n", "        part_lse = k.max(lse[part_row], lse[part_row])\n")),
            "sectors; at most",
        ),
        (but("09-many", ("m + k.log2(l) * LN2", "m + k.log2(l)")), "log2 was not converted back"),
        (but("09-many", ("(f32, -math.inf)", "(f32, 0.0)")), "From what were they measured?"),
    ),
    "10-offset": (
        (but("10-offset", ("pages[j // page_size] * page_size + j % page_size", "j")), "it is in page 7 of the pool"),
        (but("10-offset", (" * heads + head", "")), "you say 40, the machine"),
        (but("10-offset", (" * page_size + j % page_size", " + j % page_size")), "you say 64, the machine says 232"),
    ),
    "10-last": (
        (find("10-last").starter, "slots of its last page unused"),
        (but("10-last", ("k.loop(keys)", "k.loop(keys // P * P)")), "o[0, 0] should be"),
        (but("10-last", ("k.loop(keys)", "k.loop((keys + (P - 1)) // P * P)")), "0 * nan is not 0"),
        (but("10-last", ("acc *= rescale", "acc *= weight")), "unused slots hold 0"),
    ),
    "10-append": (
        (find("10-append").starter, "is not the place of a new key"),
        (but("10-append", ("n = k.bitcast(u32, lengths[b])", "n = k.bitcast(u32, lengths[b]) - 1")), "it was changed"),
        (but("10-append", ("table + b * width", "table")), "the new one belongs in slot"),
        (but("10-append", ("page * P + n % P", "page * P")), "should be"),
    ),
    "10-lookup": (
        (find("10-lookup").starter, "global loads; at most"),
        (but("10-lookup", ("k.min(keys - n * P, P)", "k.mov(P, u32)")), "o[0, 0]"),
        (but("10-lookup", ("(keys + (P - 1)) // P", "keys // P")), "should be"),
        (but("10-lookup", ("pages[n]", "pages[n * P]")), "past the end of"),
    ),
    "11-part": (
        (find("11-part").starter, "the machine says (0, 3)"),
        (but("11-part", ("min(first + size, keys)", "first + size")), "you say (9, 12), the machine says (9, 10)"),
        (
            but("11-part", ("size = -(-keys // splits)", "size = keys // splits + 1")),
            "the 4 parts of 8 keys had 2, 2, 2, 2 keys",
        ),
        ("def bounds(keys, splits, split):\n    return range(split, keys, splits)\n", "you say"),
    ),
    "11-tail": (
        (find("11-tail").starter, "Missing is exactly what the keys 32 to 34 weigh"),
        (but("11-tail", ("k.min(first + size, keys)", "k.min(first + size + 1, keys)")), "some key was counted twice"),
        (but("11-tail", ("k.min(first + size, keys)", "first + size")), "bytes past the end"),
        (but("11-tail", ("k.exp2(score[j] - row_max)", "k.exp2(score[j])")), "All weights together are"),
    ),
    "11-merge": (
        (find("11-merge").starter, "as if all maxima were the same"),
        (but("11-merge", (" * LOG2E)", ")")), "powers of 2"),
        (but("11-merge", ("part[D] - m", "m - part[D]")), "-inf is inf"),
        (but("11-merge", ("l.set(k.fma(part[D + 1], factor, l))", "l += part[D + 1]")), "In which units is each `l`?"),
    ),
    "11-factors": (
        (find("11-factors").starter, "exponentials; at most"),
        (but("11-factors", ("    k.barrier()\n", "")), "RAW hazard in shared memory"),
        (but("11-factors", ("factor = factors[s]", "factor = factors[d & 31]")), "has not been written"),
        (but("11-factors", ("(parts + D)[d * (D + 2)]", "parts[d * (D + 2)]")), "o[0, 0] should be"),
    ),
    "12-head": (
        (
            but("12-head", ("head // (heads // heads_kv)", "head // heads_kv")),
            "kv_head(5, 8, 2): you say 2, the machine",
        ),
        (but("12-head", ("head // (heads // heads_kv)", "head % heads_kv")), "You deal heads out one by one."),
        (but("12-head", ("head // (heads // heads_kv)", "head % (heads // heads_kv)")), "which head of its group"),
        (but("12-head", ("head // (heads // heads_kv)", "head / (heads // heads_kv)")), "you say 1.25"),
    ),
    "12-useful": (
        (find("12-useful").starter, "3 tiles of 16 heads by 16 keys"),
        (but("12-useful", ("columns = -(-keys // 16) * 16", "columns = keys")), "you say 1, the machine says 0.8333"),
        (but("12-useful", ("rows = -(-group // 16) * 16", "rows = 16")), "2 tiles of 16 heads"),
        (but("12-useful", ("(rows * columns)", "(rows * columns * heads_kv)")), "8 query heads, 64 keys"),
    ),
    "12-modulo": (
        (find("12-modulo").starter, "You deal heads out one by one."),
        (but("12-modulo", ("head // (Hq // Hkv)", "head // Hkv")), "You divide by the number of KV heads."),
        (but("12-modulo", ("head // (Hq // Hkv)", "head * 0")), "Query head 2 read the keys of KV head 0"),
    ),
    "12-once": (
        (find("12-once").starter, "sectors; at most"),
        (but("12-once", ("acc[g] *= rescale", "acc[0] *= rescale")), "o[0, 0] should be"),
        (but("12-once", ("q + (kv_head * G + g) * 32", "q + kv_head * G * 32")), "that of head 0"),
        (but("12-once", ("(value + row)[lane]\n", "(key + row)[lane]\n")), "mean of the *keys*"),
    ),
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
        (but("13-convict", ("(32, 2 * tile,", "(32, 400,")), "keys must be a whole number from 1 to 200"),
    ),
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

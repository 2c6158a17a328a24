"""Variants of solutions that are no mistakes: exercise -> what changed -> why the grader must not mind."""

from __future__ import annotations

START = "at the first key the rescale is exp(-inf) = 0, so what stood there before does not count"
SAME = "all threads that store have the same number, and one of them is kept"
DOWN = "only the first lane of the group stores, and to it a shuffle down brings the same"
SPAN = "exclusive or with these distances still makes every number from 0 to 31"
MEETING = "ldmatrix is a .sync instruction, which racecheck takes for a meeting of the warp (rules/races.py)"
APART = "two instructions that do not depend on each other"
ANY = "softmax does not mind which number is subtracted, as long as no exponential overflows"
SHORT = "a tile after the last one has size 0: nothing is read, and nobody reads the zeros"
STATE = "acc, row_max, row_sum = (k.var(f32, {}), k.var(f32, -math.inf), k.var(f32, 0.0))"
BUTTERFLY = "for distance in (16, 8, 4, 2, 1): => for distance in {}:"
NOT_FIRST = "with k.guard({0} == 0): => with k.guard({0} != 0):"


def unguarded(guard: str, stores: str) -> str:
    """The change that takes stores out of their guard."""
    return f"with {guard}: | {stores} => {stores}"


LSE = "lse[{}] = ({} + k.log2({})) * LN2".format
NATURAL = "lse[row] = m + k.log2({}) * LN2".format
ACC = "acc = k.vars(f32, D, 0.0) => acc = k.vars(f32, D, 1.0)"
SUM = "row_sum = k.var(f32, 0.0) => row_sum = k.var(f32, 1.0)"
SET = "the check asks which keys are named; one that is named twice, or in another order, is named"
BEHIND = "tiles = (n + 7) // 8 => tiles = (n + 7) * 1"
ZEROS = "tiles past the end of the tensor come as zeros, which add nothing"
ROLES = "with k.if_(k.tid.x >= 32): before with k.if_(k.tid.x == 0):"
SCORES = (
    "k.op(f'wgmma.mma_async.sync.aligned.m64n{{keys}}k16.f32.f16.f16', a + 2 * step, b + 2 * step, thread {} 128, "
    "1, 1, 0, 0, into=d)"
)

_CONVICTS = "[(32, 2 * tile - 1, columns + 2, 4.0)]"
_ASK = (
    "with k.while_(lambda: k.op('atom.global.cas.b32', turn, block, block) != block): | pass | "
    "k.op('fence.acq_rel.gpu')"
)

FULL = "from 80 % on at most two parts are allowed, and two keep as many multiprocessors busy as one"
EQUIVALENT: dict[str, dict[str, str]] = {
    "00-square": {"ret; => nothing": "a kernel that comes to its end returns"},
    "01-predict": {
        "return keys => return (lambda r: r * 2)(keys)": SET,
        "return keys => return (lambda r: 2 * r)(keys)": SET,
        "return keys => return (lambda r: r + type(r)([0]))(keys)": f"{SET}, and key 0 always is",
    },
    "01-lse": {ACC: START},
    "01-rescale": {ACC: START, SUM: START},
    "01-thrift": {
        ACC: START,
        SUM: START,
        "score = k.var(f32, 0.0) => score = k.var(f32, 1.0)": "softmax stays as it is if all scores grow by the same",
    },
    "01-window": {ACC: START, "new_max = k.max(row_max, score) before score *= scale_log2e": ANY},
    "02-smooth": {
        "tile = k.shared(f32, 256) => tile = k.shared(f32, 255)": "no block of the exercise has more than 128 threads",
    },
    "03-hears": {
        "for bit in reversed(bits): => for bit in (lambda x: x)(bits):": "the order of exclusive ors does not matter",
    },
    "03-logsumexp": {
        "total += k.shfl(total, bit, 31, 4294967295, mode='bfly') => "
        "total += k.shfl(total, bit, 31, 4294967295, mode='down')": DOWN,
    },
    "04-products": {
        "scores = 64 // 16 * (D // 16) => scores = 65 // 16 * (D // 16)": "65 // 16 is 4, as 64 // 16",
        "output = D // 16 * (64 // 16) => output = D // 16 * (65 // 16)": "65 // 16 is 4, as 64 // 16",
    },
    "05-address": {
        "tile = k.shared(b32, 16 * D // 2) => tile = k.shared(b32, 16 * D * 1)": "the tile may be larger",
        "k.op('bar.warp.sync', 4294967295) before for n in range(0, 16 * D // 2, 32):": MEETING,
        "k.op(MMA, a, b[2:], total[1], into=total[1]) before k.op(MMA, a, b[:2], total[0], into=total[0])": APART,
    },
    "05-trans": {"k.op('bar.warp.sync', 4294967295) before for n in range(0, N * 8, 32):": MEETING},
    "05-rowmax": {
        unguarded("k.if_(t == 0)", "m[row] = top"): SAME,
        "with k.if_(t == 0): => with k.if_(t != 0):": SAME,
        "top.set(k.max(top, k.shfl(top, bit, 31, 4294967295, mode='bfly'))) => "
        "top.set(k.max(top, k.shfl(top, bit, 31, 4294967295, mode='down')))": DOWN,
    },
    "06-xor": {
        "y[start + row * 32 + column] = tile[column, row ^ column] before row = line + n": "each turn stores the row "
        "of the turn before, and the first one that of the last: all four rows are stored",
    },
    "06-half": {"for part in range(rows // 16): before k.op('bar.warp.sync', 4294967295)": MEETING},
    "06-walk": {
        "k.store(to + n * 32 + (chunk ^ row + n & 7) * 4, four, vector=4) => "
        "k.store(to + n * 32 + (chunk ^ row - n & 7) * 4, four, vector=4)": "n is a multiple of 4: row + n and row - n "
        "are the same modulo 8",
    },
    "07-tail": {
        "with k.if_(tile + 1 < tiles): | fetch(tile + 1, tile + 1 & 1) => fetch(tile + 1, tile + 1 & 1)": SHORT,
        "with k.if_(tile + 1 < tiles): => with k.if_(tile + 1 <= tiles):": SHORT,
        "size = k.min(k.max(n, first) - first, 4) * 4 => size = (lambda x: x)(k.max(n, first) - first) * 4": "the "
        "machine copies 16 bytes at most; by the manual a larger size is undefined, which the machine does not say",
    },
    "08-reach": {
        "lanes |= {other ^ distance for other in lanes} => lanes ^= {other ^ distance for other in lanes}": "the "
        "distances are different powers of two, so that no lane comes twice",
    },
    "08-maximum": {BUTTERFLY.format("(17, 8, 4, 2, 1)"): SPAN},
    "08-coalesce": {
        unguarded("k.guard(lane == 0)", "score[j] = dot"): SAME,
        NOT_FIRST.format("lane"): SAME,
        "dot += k.shfl(dot, distance, 31, -1, mode='bfly') => dot += k.shfl(dot, distance, 31, -1, mode='down')": DOWN,
    },
    "08-empty": {unguarded("k.guard(lane == 0)", LSE("batch", "row_max", "divisor")): SAME},
    "08-sinks": {
        unguarded("k.guard(lane == 0)", LSE("0", "row_max", "row_sum")): SAME,
        NOT_FIRST.format("lane"): SAME,
        "acc = k.vars(f32, D // 32, 0.0) => acc = k.vars(f32, D // 32, 1.0)": START,
        "score *= scale_log2e before for distance in (16, 8, 4, 2, 1):": "the lanes' parts may be scaled as well",
    },
    "09-empty": {
        unguarded("k.guard(lane == 0)", NATURAL("divisor")): SAME,
        NOT_FIRST.format("lane"): SAME,
        "divisor = k.select(total > 0.0, total, 1.0) => divisor = k.select(total > 0.0, total, 2.0)": "where nothing "
        "was summed the quotient is 0, and the logarithm is added to -inf",
    },
    "09-lanes": {BUTTERFLY.format("(17, 8, 4, 2, 1)"): SPAN},
    "09-meeting": {
        unguarded("k.guard(lane == 0)", "maxima[warp] = largest"): SAME,
        NOT_FIRST.format("lane"): SAME,
        "largest.set(k.max(largest, k.shfl(largest, distance, 31, -1, mode='bfly'))) => "
        "largest.set(k.max(largest, k.shfl(largest, distance, 31, -1, mode='down')))": DOWN,
        "k.barrier() before with k.guard(thread == 0):": "the barrier still stands after the last read of the round",
        unguarded("k.guard(thread == 0)", "y[r] = largest"): SAME,
        "for other in all_maxima: => for other in list(all_maxima)[1:]:": "thread 0 stores, and the first maximum is "
        "that of its own warp",
    },
    "09-many": {
        "m, l, total = (k.var(f32, -math.inf), k.var(f32, 0.0), k.var(f32, 0.0)) => "
        "m, l, total = (k.var(f32, -math.inf), k.var(f32, 1.0), k.var(f32, 0.0))": START,
        "with k.guard(d == 0): => with k.guard(d == 1):": "any thread of the row may store it",
        "with k.guard(d == 0): before merged[row * D + d] = total / l": APART,
    },
    "10-last": {
        f"{STATE.format('0.0')} => {STATE.format('1.0')}": START,
        BUTTERFLY.format("(16, 8, 4, 3, 1)"): SPAN,
    },
    "10-lookup": {f"{STATE.format('0.0')} => {STATE.format('1.0')}": START},
    "11-tail": {
        "with k.guard(lane == 0): | state[split * 2] = row_max | (state + 1)[split * 2] = row_sum => "
        "state[split * 2] = row_max | (state + 1)[split * 2] = row_sum": SAME,
        "first = k.min(split * size, keys) => first = (lambda x: x)(split * size)": "a part that begins past the last "
        "key ends there: its loop has no turn",
        BUTTERFLY.format("(17, 8, 4, 2, 1)"): SPAN,
        NOT_FIRST.format("lane"): SAME,
        "row_sum += k.shfl(row_sum, distance, 31, -1, mode='bfly') => "
        "row_sum += k.shfl(row_sum, distance, 31, -1, mode='down')": DOWN,
    },
    "11-merge": {
        unguarded("k.guard(d == 0)", NATURAL("l")): SAME,
        NOT_FIRST.format("d"): SAME,
        "with k.guard(d == 0): before o[row * D + d] = total / l": APART,
    },
    "11-factors": {unguarded("k.guard(d == 0)", NATURAL("l")): SAME, NOT_FIRST.format("d"): SAME},
    "12-modulo": {f"{STATE.format('0.0')} => {STATE.format('1.0')}": START},
    "12-once": {
        "acc, row_max, row_sum = (k.vars(f32, G, 0.0), k.vars(f32, G, -math.inf), k.vars(f32, G, 0.0)) => "
        "acc, row_max, row_sum = (k.vars(f32, G, 1.0), k.vars(f32, G, -math.inf), k.vars(f32, G, 0.0))": START,
    },
    "13-dropped": {
        "return list(range(keys // tile * tile, keys)) => "
        "return (lambda x: x)(range(keys // tile * tile, keys))": "a range has the same numbers in the same order",
    },
    "13-digits": {"ret; => nothing": "a kernel that comes to its end returns"},
    "13-convict": {
        f"return {_CONVICTS} => return {other}": "these inputs convict all five as well"
        for other in (
            "[(33, 2 * tile - 1, columns + 2, 4.0)]",
            "[(31, 2 * tile - 1, columns + 2, 4.0)]",
            "[(32, 2 * tile + 1, columns + 2, 4.0)]",
            "[(32, 2 * tile - 2, columns + 2, 4.0)]",
            "[(32, 3 * tile - 1, columns + 2, 4.0)]",
            "[(32, 2 + tile - 1, columns + 2, 4.0)]",
            "[(32, 2 * columns - 1, columns + 2, 4.0)]",  # odd, and so no number of tiles of even length
            "[(32, 2 * tile - 1, columns + 3, 4.0)]",
            "[(32, 2 * tile - 1, columns + 2, 5.0)]",
            f"(lambda r: r * 2)({_CONVICTS})",
        )
    },
    "13-turns": {
        f"with k.if_(lane == 0): | {_ASK} => {_ASK}": "all lanes ask, and all have their turn",
        "with k.if_(lane == 0): => with k.if_(lane != 0):": "the other lanes may ask, or pass on, as well",
        unguarded("k.if_(lane == 0)", "k.op('atom.global.exch.b32', turn, block + 1)"): SAME,
    },
    "14-down": {
        "float total = 0.0f; before const float *row = x + blockIdx.x * n;": APART,
    },
    "14-rope": {"y[first + h] = b * c + a * s before y[first] = a * c - b * s": APART},
    "15-descriptor": {
        "arrived = k.pipeline(stages=1) => arrived = k.pipeline(stages=2)": "the second stage is not used",
        f"{SCORES.format('<')} => {SCORES.format('<=')}": "there are 128 threads, so it holds for all of them",
    },
    "15-fence": {
        "k.op('wgmma.fence.sync.aligned') before k.barrier()": "nothing writes the sums between the two",
    },
    "16-bytes": {BEHIND: ZEROS},
    "16-release": {BEHIND: ZEROS, ROLES: "each warp executes one of the roles only"},
    "16-ring": {BEHIND: ZEROS, ROLES: "each warp executes one of the roles only"},
    "17-shortest": {
        "if blocks >= 0.8 * processors: | return 0 => nothing": FULL,
        "if blocks >= 0.8 * processors: => if blocks > 0.8 * processors:": FULL,
        "waves = blocks * parts / processors => waves = blocks * parts * processors": (
            "every share is multiplied by the same number, and only two shares are compared"
        ),
        "return 0 => return (lambda r: 2 * r)(0)": "twice nothing is nothing",
        "for parts in range(2, min(2048 // 64, 2 * processors // blocks) + 1): => "
        "for parts in range(2, min(2049 // 64, 2 * processors // blocks) + 1):": "2049 // 64 is 32 as well",
    },
    "17-best": {"return '' => return (lambda r: r[::-1])('')": "the empty text backwards is the empty text"},
}

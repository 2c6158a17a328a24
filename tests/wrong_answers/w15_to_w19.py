"""Wrong answers to the exercises of notebooks 15 to 19."""

from __future__ import annotations

from ptxlab.course.exercises.e15_wgmma import BYTE, DESCRIPTOR, FENCE, HOLDS
from ptxlab.course.exercises.e16_hopper import BYTES, PHASE, RELEASE, RING
from ptxlab.course.exercises.e17_sweeps import BEST, POINTS, SHORTEST, TRAFFIC
from ptxlab.course.exercises.e18_language import FUSED, LOADS, SECTORS
from ptxlab.course.exercises.e19_variants import ALIBI, DOCUMENTS, SINKS, SOFTCAP, WINDOW

_FENCE = '        k.op("fence.proxy.async.shared::cta")\n'
_BARRIER = "        k.barrier()  # the tile is complete\n"
_CAP = "        scores = cap * np.tanh(scores / cap)\n"

WRONG = {
    "15-holds": (
        (HOLDS.starter, "element(0, 2): you say (0, 2), the machine says (8, 0)."),
        # all warps have the same rows
        (HOLDS.solution.replace("16 * warp + ", ""), "element(40, 0): you say (2, 0), the machine says (18, 0)."),
        # a row eight below, where the next eight columns come
        (HOLDS.solution.replace("8 * eight", "4 * eight"), "element(0, 4): you say (0, 4), the machine says (0, 8)."),
    ),
    "15-byte": (
        (BYTE.starter, "byte_of(1, 0, 128): you say 128, the machine says 144."),
        # by the row, whatever its length
        (BYTE.solution.replace("plain >> 7", "row"), "byte_of(2, 0, 64): you say 160, the machine says 144."),
        # always three bits: into the next row
        (BYTE.solution.replace("swizzle // 16 - 1", "7"), "byte_of(8, 0, 32): you say 288, the machine says 256."),
        # the element's bits instead of the chunk's
        (BYTE.solution.replace("<< 4", "<< 1"), "byte_of(1, 0, 128): you say 130, the machine says 144."),
    ),
    "15-descriptor": (
        (DESCRIPTOR.starter, "names another swizzle (none)"),
        # bytes in place of units
        (DESCRIPTOR.solution.replace("8 * swizzle // 16", "8 * swizzle"), "leaves shared memory"),
        # four rows
        (DESCRIPTOR.solution.replace("8 * swizzle // 16", "4 * swizzle // 16"), "does not follow the rows"),
        # 32 and 64 exchanged
        (DESCRIPTOR.solution.replace("64: 2, 32: 3", "64: 3, 32: 2"), "names another swizzle (32 bytes)"),
    ),
    "15-fence": (
        (FENCE.starter, "no fence makes it seen by the async proxy"),
        # one thread for all
        (FENCE.starter.replace(_BARRIER, "        with k.if_(thread == 0):\n    " + _FENCE + _BARRIER),
         "thread (8, 0, 0) (warp 0, lane 8) multiplies matrices"),
        # no wait
        (FENCE.solution.replace('        k.op("wgmma.wait_group.sync.aligned", 0)\n', ""),
         "is an accumulator of a wgmma that nothing has waited for yet"),
        # two barriers where one is enough
        (FENCE.solution.replace(_BARRIER, 2 * _BARRIER), "barriers; at most"),
    ),
    "16-phase": (
        (PHASE.starter, "waits(0, 2): you say (0, 0, 0), the machine says (0, 0, 1)."),
        # a flip in every round
        (PHASE.solution.replace("n // stages % 2", "n % 2"),
         "waits(1, 2): you say (1, 1, 0), the machine says (1, 0, 1)."),
        # never a flip
        (PHASE.solution.replace("n // stages % 2", "0"), "waits(2, 2): you say (0, 0, 1), the machine says (0, 1, 0)."),
    ),
    "16-bytes": (
        (BYTES.starter, "1 of 2 parts right"),
        # one box of the two
        (BYTES.solution.replace("2 * 8 * 64 * 4", "8 * 64 * 4"), "a thread reads what another warp writes"),
        # elements for bytes
        (BYTES.solution.replace("2 * 8 * 64 * 4", "2 * 8 * 64"), "3072 bytes more have come"),
        # more than come
        (BYTES.solution.replace("2 * 8 * 64 * 4", "4 * 8 * 64 * 4"), "4096 bytes missing"),
    ),
    "16-release": (
        (RELEASE.starter, "a wait is missing, or too many arrive"),
        # more than there are
        (RELEASE.solution.replace("arrivals=64", "arrivals=96"), "32 of 96 arrivals missing"),
        # nobody releases
        (RELEASE.solution.replace("            turn.release()\n", ""),
         "this stage was not released: its producer waits for ever"),
    ),
    "16-ring": (
        (RING.starter, "report to 1 mbarrier:"),
        # two stages, one place
        (RING.starter.replace("k.pipeline(1,", "k.pipeline(2,"), "hazard in shared memory: a thread"),
        # the consumers stay at the first
        (RING.solution.replace("tile + turn.stage * 512 + column", "tile + column"), "Tile 0 was added twice"),
        # no room for the second
        (RING.solution.replace("2 * 512, align", "512, align"), "two tiles have 4,096"),
    ),
    "17-points":
        ((POINTS.starter, "The kernels are scalar, mma."),
         (POINTS.solution.replace("points = lengths", "points = 1"), "The kernels are tiled2d."),
         (POINTS.solution.replace("total += points", "total = points"), "The kernels are scalar, mma."),
         (POINTS.solution.replace("points *=", "points +="), "the machine says 12.")),
    "17-traffic":
        ((TRAFFIC.starter, "sectors(64, 32, 16): you say 512, the machine says 2048."),
         (TRAFFIC.solution.replace("-(-rows // tile_q)", "rows // tile_q"), "sectors(40, 16, 16): you say 320"),
         (TRAFFIC.solution.replace("* 2 * rows", "* rows"), "You count one of K and V")),
    "17-shortest":
        ((SHORTEST.starter, "shortest(60, 108): you say 128, the machine says 192."),
         (SHORTEST.solution.replace("return parts * 64", "return (parts - 1) * 64"), "shortest(8, 108)"),
         (SHORTEST.solution.replace("0.95 * busy(parts)", "0.5 * busy(parts)"), "shortest(")),
    "17-best":
        ((BEST.starter, "b is wrong with 100"), (BEST.solution.replace(" and row[value] is not None", ""), ""),
         (BEST.solution.replace("min(good", "max(good"), "a is ok with 900"),
         (BEST.solution.replace('row["status"] == "ok"', 'row["status"] != "wrong"'), "a is finding with 10")),
    "18-sectors": (
        (SECTORS.starter, "sectors(100): you say 4, the machine says 32."),
        # one sector for each lane
        (SECTORS.starter.replace("return 4", "return 32"), "sectors(1): you say 32, the machine says 4."),
        # sectors of 64 bytes
        (SECTORS.solution.replace("// 32", "// 64"), "sectors(1): you say 2, the machine says 4."),
    ),
    "18-loads": (
        (LOADS.starter, "loads(100, 3): you say 3, the machine says 12."),
        # the last round is forgotten
        (LOADS.solution.replace("-(-columns // 32)", "(columns // 32)"), "loads(100, 3): you say 9"),
        # read once
        (LOADS.solution.replace("passes * ", ""), "loads(100, 3): you say 4, the machine says 12."),
    ),
    "18-fused": (
        (FUSED.starter, "you say (0.050000001, 0.050000001), the machine says (0.050000004, 0.050000001)."),
        # the lanes exchanged
        (FUSED.solution.replace("a, b, c, d):", "c, d, a, b):"), "you say (0.050000001, 0.050000004)"),
        # both products rounded
        (FUSED.solution.replace("a * b + second", "first + second").replace("c * d + first", "first + second"),
         "Lane 0 has 0.1 * 0.1, lane 1 has"),
    ),
    "19-window":
        ((WINDOW.starter, "are enough"),
         (WINDOW.solution.replace("< span", "<= span"), "33 keys"),
         (WINDOW.solution.replace("(distance >= 0) & ", ""), "the keys after its own"),
         (WINDOW.solution.replace(">= 0", "> 0"), "does not see its own key"),
         (WINDOW.solution.replace("& (distance", "and (distance"), "(distance >= 0) & (distance < span)")),
    "19-alibi":
        ((ALIBI.starter, "Nothing is added"),
         (ALIBI.solution.replace("kv_idx - q_idx", "q_idx - kv_idx"), "other sign"),
         (ALIBI.solution.replace("slopes[h]", "slopes[b]"), "sequence's number"),
         (ALIBI.solution.replace("(kv_idx - q_idx)", "kv_idx"), "seen by the LSE alone"),
         (ALIBI.solution.replace("slopes[h]", "slopes"), "slopes[h]")),
    "19-softcap":
        ((SOFTCAP.starter, "Which scores is the maximum taken of?"),
         (SOFTCAP.solution.replace(_CAP, ""), "not capped"),
         (SOFTCAP.solution.replace("cap * np", "np"), "between -1 and 1"),
         (SOFTCAP.solution.replace("np.tanh(scores / cap)", "np.clip(scores / cap, -1, 1)"), "bends all of them"),
         (SOFTCAP.solution.replace(_CAP, "").replace("np.exp(scores - new)", "np.exp(cap * np.tanh((scores - new) / cap))"),
          "the distance from the maximum")),
    "19-sinks":
        ((SINKS.starter, "Every part counts the sink"),
         (SINKS.solution.replace("sink, np.float32(1)", "sink, np.float32(0)"), "in no part's sum"),
         (SINKS.solution.replace("max(m, s.max())", "s.max()"), "is the sink in the maximum?")),
    "19-documents":
        ((DOCUMENTS.starter, "the documents before its own"),
         (DOCUMENTS.solution.replace(" & (kv_idx <= q_idx)", ""), "the keys after its own"),
         (DOCUMENTS.solution.replace("(own | (kv_idx < shared))", "own"), "documents after the first"),
         (DOCUMENTS.solution.replace("own |", "own &"), "row's own document"),
         (DOCUMENTS.solution.replace("== ids", "<= ids"), "need not rise"),
         (DOCUMENTS.solution.replace("own |", "own or"), "(own) | (kv_idx < shared)")),
}  # fmt: skip

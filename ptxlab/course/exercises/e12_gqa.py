"""The exercises of notebook 12: whose keys, how much of an MMA is useful, heads that share, each key read once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.attention.decode import decode
from ptxlab.course.causes import Known, of_attention
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading


def _others(head: Any, heads: int, heads_kv: int) -> list[tuple[Any, str]]:
    """The KV heads that the usual mistakes read, for a query head or several."""
    return [
        (head % heads_kv, "You deal heads out one by one. Which heads are neighbours in a group?"),
        (head // heads_kv, "You divide by the number of KV heads. How many heads has a group?"),
        (head % (heads // heads_kv), "You say which head of its group it is. Which group is that?"),
    ]


def _head(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int]:
        heads_kv, group = int(rng.integers(2, 6)), int(rng.integers(2, 6))
        return int(rng.integers(heads_kv * group)), heads_kv * group, heads_kv

    for head, heads, heads_kv in g.vary(((5, 8, 2), (6, 8, 4), (3, 4, 4)), hidden=draw, count=4):
        q = np.ones((1, heads, 32), np.float32)
        value = np.empty((1, heads_kv, 4, 32), np.float32)
        value[:] = np.arange(heads_kv)[None, :, None, None]
        out = decode(q, np.ones_like(value), value, 4, kernel="decode", device="cpu")
        truth = round(float(out.o[0, head, 0]))
        says = (
            f"A run of `decode` in which all values of KV head h are h: query head {head} got {truth}. "
            f"All {heads} heads together got {[round(float(x)) for x in out.o[0, :, 0]]}."
        )
        g.predict(answer, (head, heads, heads_kv), truth, says, known=_others(head, heads, heads_kv))
    g.note("Neighbouring query heads share: a group is a run of heads, not every n-th one.")


HEAD = Exercise(
    name="12-head",
    title="Whose keys?",
    kind="predict",
    level=1,
    prompt="""
`heads` query heads share `heads_kv` key/value heads, in groups of equal size. Whose keys does query head `head`
read? Write the function.

The check runs the kernel with values that are the number of their KV head, so the output says which head was read.
""",
    starter='''
def kv_head(head, heads, heads_kv):
    """The key/value head that a query head reads."""
    return head % heads_kv
''',
    solution='''
def kv_head(head, heads, heads_kv):
    """The key/value head that a query head reads."""
    return head // (heads // heads_kv)
''',
    answer="kv_head",
    hints=(
        "8 query heads, 2 KV heads: how large is a group? Which heads are in the first one?",
        "A group is heads // heads_kv neighbours. In which group is `head`?",
    ),
    graded=("the KV head, for other numbers of heads",),
    grade=_head,
)


def _useful(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int]:
        return int(rng.integers(1, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 100))

    for group, heads_kv, keys in g.vary(
        ((4, 2, 64), (16, 1, 40), (20, 1, 16)), hidden=draw, count=3, edges=((17, 1, 17),)
    ):
        dim, heads = 32, group * heads_kv
        q = g.rng.standard_normal((1, heads, dim)).astype(np.float16)
        k, v = (g.rng.standard_normal((1, heads_kv, keys, dim)).astype(np.float16) for _ in range(2))
        out = decode(q, k, v, keys, kernel="decode_gqa", splits=1, counters=True, device="cpu")
        assert out.counters is not None
        done, needed = out.counters.flops["tensor"], 4 * dim * heads * keys
        tiles = done // (4 * dim * 16 * 16)
        says = (
            f"The machine counted {done:,} operations of matrix products, {tiles} tiles of 16 heads by 16 keys; "
            f"{needed:,} are needed: {heads} query heads, {keys} keys."
        )
        rows, columns = -(-group // 16) * 16, -(-keys // 16) * 16
        known = (
            (group / rows, "You round up heads and not keys."),
            (group * keys / 256, "You divide by one tile. How many does it take?"),
            (
                heads * keys / (-(-heads // 16) * 16 * columns),
                "You round up all heads together. Which of them share a tile?",
            ),
            (keys / columns, "You round up keys and not heads."),
            (group / 16 if group > 16 else -1, f"You count one tile of heads. How many does {group} need?"),
            (needed / done / heads_kv, "Does the number of KV heads change a share?"),
        )
        g.predict(answer, (group, heads_kv, keys), needed / done, says, rtol=1e-6, known=known)
    g.note("Heads are rounded up to 16, and keys as well: both sides of the tile count.")


USEFUL = Exercise(
    name="12-useful",
    title="How much of it is useful?",
    kind="predict",
    level=2,
    prompt="""
`decode_gqa` computes tiles of 16 query heads by 16 keys. A group may be larger or smaller than 16, and the number
of keys need not be a multiple. **What share of the matrix products is useful**, from 0 to 1? A product is useful
if its head and its key exist.

The check runs the kernel and reads the counter of tensor-core operations.
""",
    starter='''
def useful(group, heads_kv, keys):
    """The share of the matrix products that is needed: `group` query heads for each of `heads_kv` KV heads."""
    return group / 16
''',
    solution='''
def useful(group, heads_kv, keys):
    """The share of the matrix products that is needed: `group` query heads for each of `heads_kv` KV heads."""
    rows = -(-group // 16) * 16
    columns = -(-keys // 16) * 16
    return group * keys / (rows * columns)
''',
    answer="useful",
    hints=(
        "A group of 20: how many tiles of 16 rows? And 40 keys: how many tiles of 16?",
        "Round both up to multiples of 16. Does the number of KV heads matter for a share?",
    ),
    graded=("the share, for other groups and numbers of keys",),
    grade=_useful,
)

# -- the kernel of two exercises ---------------------------------------------------------------------------------------


def _inputs(g: Grading, heads: int, heads_kv: int, n: int, sigma: int) -> tuple[Any, Any, Any, Any]:
    """q [heads, 32] of standard deviation sigma, k and v [heads_kv, n, 32], and the output in float64."""
    q = sigma * g.rng.standard_normal((heads, 32)).astype(np.float32)
    k, v = (g.rng.standard_normal((heads_kv, n, 32)).astype(np.float32) for _ in range(2))
    return q, k, v, reference.attention(q[None, :, None], k[None], v[None]).o[0, :, 0]


_STEP = """score = k.var(f32, query{g} * {key})
for distance in (16, 8, 4, 2, 1):
    score += k.shfl(score, distance, 31, -1, mode="bfly")
new_max = k.max(row_max{g}, score)
rescale = k.exp2(row_max{g} - new_max)
weight = k.exp2(score - new_max)
row_sum{g}.set(k.fma(row_sum{g}, rescale, weight))
acc{g} *= rescale
acc{g}.set(k.fma(weight, {value}, acc{g}))
row_max{g}.set(new_max)
"""


def _step(indent: int, g: str = "", key: str = "(key + row)[lane]", value: str = "(value + row)[lane]") -> str:
    """The online softmax of one key, at a depth."""
    return "".join(" " * indent + line for line in _STEP.format(g=g, key=key, value=value).splitlines(keepends=True))


def _modulo(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int, int]:
        heads_kv = int(rng.integers(2, 5))
        return heads_kv * int(rng.integers(2, 5)), heads_kv, int(rng.integers(1, 20)), 2

    shown = ((6, 3, 5, 90), (4, 4, 8, 2), (4, 1, 8, 2), (8, 2, 8, 2))
    for heads, heads_kv, n, sigma in g.vary(shown, hidden=draw):
        q, key, value, want = _inputs(g, heads, heads_kv, n, sigma)
        o = np.full_like(q, np.nan)
        run = g.launch(answer, heads, 32, q, key, value, o, heads, heads_kv, n, 32**-0.5)
        if run is None:
            continue

        size, rows = heads // heads_kv, q[None, :, None]
        alone = [reference.attention(rows, key[None, [h]], value[None, [h]]).o[0, :, 0] for h in range(heads_kv)]
        known = [(np.array([alone[min(h, heads_kv - 1)][head] for head, h in enumerate(which)]), why)
                 for which, why in _others(np.arange(heads), heads, heads_kv)]  # fmt: skip
        near = [[bool(np.allclose(o[head], one[head], rtol=1e-3, atol=1e-4)) for one in alone] for head in range(heads)]
        lost = [(head, row.index(True)) for head, row in enumerate(near) if any(row) and not row[head // size]]
        says = [f"Query head {head} read the keys of KV head {h}; its group is that of KV head {head // size}."
                for head, h in lost[:1]] or f"{heads} query heads, {heads_kv} KV heads: groups of {size}."  # fmt: skip
        g.close(f"{heads} heads on {heads_kv}", o, want, rtol=1e-3, atol=1e-4, says=says, known=known)
    g.note("With as many KV heads as query heads, or with a single one, the mistake was invisible.")


_MODULO = (
    '''
@kernel
def heads(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], Hq: u32, Hkv: u32, n: u32, scale: f32,
):
    """One warp = one query head; lane d holds element d."""
    lane, head = k.tid.x, k.ctaid.x
    kv_head = {kv_head}
    query = (q + head * 32)[lane] * (scale * LOG2E)
    acc, row_max, row_sum = k.var(f32, 0.0), k.var(f32, -math.inf), k.var(f32, 0.0)
    with k.loop(n) as j:
        row = (kv_head * n + j) * 32
'''
    + _step(8)
    + """    (o + head * 32)[lane] = acc / row_sum
"""
)

MODULO = Exercise(
    name="12-modulo",
    title="Right in every test",
    kind="fix",
    level=2,
    prompt="""
The author of this kernel tested it with as many KV heads as query heads, and with one KV head for all. Both times
every digit was right. With 8 query heads on 2 KV heads the model writes fluent nonsense. One line is wrong.
""",
    starter=_MODULO.format(kv_head="head % Hkv"),
    solution=_MODULO.format(kv_head="head // (Hq // Hkv)"),
    answer="heads",
    hints=(
        "Write down which KV head each of the 8 query heads reads. Which should it be?",
        "What is head % 4 with 4 KV heads? And head % 1? That is why the tests passed.",
    ),
    graded=("all heads, for other numbers of query and KV heads",),
    grade=_modulo,
)


def _grouped(q: Any, key: Any, value: Any) -> Known:
    """What the usual mistakes make of the output of groups [heads, 32] on KV heads [heads_kv, n, 32]."""
    four = q.reshape(1, -1, 1, 32), key[None], value[None]
    known = [(out.reshape(len(key), -1, 32), says) for out, says in of_attention(*four, 32**-0.5)]
    q, key, value = (x.astype(float) for x in (q.reshape(len(key), -1, 32), key, value))
    s, of_values = (q @ x.swapaxes(1, 2) * 32**-0.5 for x in (key, value))
    p, wrong = (np.exp(x - x.max(axis=2, keepdims=True)) for x in (s, of_values))
    l, right = p.sum(axis=2, keepdims=True), p @ value
    m, acc, total = np.full(len(key), -np.inf), np.zeros_like(q), np.zeros(q.shape[:2])
    for j, g in np.ndindex(s.shape[2], s.shape[1]):  # one maximum, whose head is it?
        new = np.maximum(m, s[:, g, j])
        rescale, weight, m = np.exp(m - new), np.exp(s[:, g, j] - new), new
        total[:, g] = total[:, g] * rescale + weight
        acc[:, g] = acc[:, g] * rescale[:, None] + weight[:, None] * value[:, j]
    return (
        *known,
        (p @ key / l, "What came out is the weighted mean of the *keys*. Which of the two loads does the sum take?"),
        (wrong @ value / wrong.sum(axis=2, keepdims=True), "What came out has scores of query · value."),
        (np.broadcast_to(right[:, :1] / l[:, :1], q.shape), "All heads of a group have the same output, that of head "
         "0. Whose query did they take?"),
        (right / l[:, :1], "Head 0 is right. The others are divided by its sum."),
        (acc / total[..., None], "Head 0's scores change head 1's result: what came out has one running maximum for "
         "all heads. Which parts of the state belong to a head?"),
    )  # fmt: skip


def _once(g: Grading, answer: Any) -> None:
    def draw(rng: np.random.Generator) -> tuple[int, int, int, int]:
        return int(rng.integers(2, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 30)), 2

    for group, heads_kv, n, sigma in g.vary(((4, 2, 16, 2),), hidden=draw, count=3, edges=((3, 1, 5, 300),)):
        q, key, value, want = _inputs(g, group * heads_kv, heads_kv, n, sigma)
        o = np.full_like(q, np.nan)
        run = g.launch(answer, heads_kv, 32, q, key, value, o, n, 32**-0.5, build={"G": group}, counters=True)
        if run is None:
            continue
        grouped = o.reshape(heads_kv, group, 32)
        known = functools.partial(_grouped, q, key, value)
        case, want = f"groups of {group} on {heads_kv} KV heads, {n} keys", want.reshape(grouped.shape)
        if g.close(case, grouped, want, rtol=1e-3, atol=1e-4, known=known):
            g.at_most(
                f"each key is read once by {group} heads", run, "sectors", heads_kv * (2 * n + 2 * group) * 4,
                f"{n} keys and values of {heads_kv} KV heads are {heads_kv * 2 * n * 4} sectors of 32 bytes; "
                f"queries and " f"outputs are {heads_kv * 2 * group * 4} more."
            )  # fmt: skip
    g.note("Each key and value was loaded once, and all heads of the group used it from its register.")


_ONCE = '''
@kernel
def group(k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], n: u32, scale: f32, *, G: int = 4):
    """One warp = one KV head and the G query heads of its group; lane d holds element d of every row."""
    lane, kv_head = k.tid.x, k.ctaid.x
    scale_log2e = scale * LOG2E
'''
ONCE = Exercise(
    name="12-once",
    title="Each key once",
    kind="optimise",
    level=3,
    prompt="""
One warp serves a KV head and the `G` query heads of its group, one head after the other; so each key is read `G`
times. It is right, but the budget allows each key and each value to be read only **once**.

The state of a head is small: an element of the query and of the sum in each lane, a maximum, a sum. A warp can
hold those of the whole group. (`k.vars(f32, G, 0.0)` makes a list of `G` variables.)
""",
    starter=_ONCE
    + """    for g in range(G):
        head = kv_head * G + g
        query = (q + head * 32)[lane] * scale_log2e
        acc, row_max, row_sum = k.var(f32, 0.0), k.var(f32, -math.inf), k.var(f32, 0.0)
        with k.loop(n) as j:
            row = (kv_head * n + j) * 32
"""
    + _step(12)
    + "        (o + head * 32)[lane] = acc / row_sum\n",
    solution=_ONCE
    + """    query = [(q + (kv_head * G + g) * 32)[lane] * scale_log2e for g in range(G)]
    acc, row_max, row_sum = k.vars(f32, G, 0.0), k.vars(f32, G, -math.inf), k.vars(f32, G, 0.0)
    with k.loop(n) as j:
        row = (kv_head * n + j) * 32
        key_element, value_element = (key + row)[lane], (value + row)[lane]
        for g in range(G):
"""
    + _step(12, "[g]", "key_element", "value_element")
    + """    for g in range(G):
        (o + (kv_head * G + g) * 32)[lane] = acc[g] / row_sum[g]
""",
    answer="group",
    hints=(
        "Which loop is outside and which inside? The loop over keys is in the PTX, the one over heads in Python.",
        "Exchange them. Then each head needs its own query, acc, row_max and row_sum: lists of G.",
    ),
    graded=("all heads of all groups, for other G and numbers of keys", "sectors: each key and value once"),
    grade=_once,
)

EXERCISES = (HEAD, USEFUL, MODULO, ONCE)

"""Exercises of notebook 19: a window that skips tiles, ALiBi, soft-capping, sinks through a split, documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import reference
from ptxlab.attention.prefill import attention
from ptxlab.course.exercise import Exercise
from ptxlab.course.exercise_checks import Grading
from ptxlab.course.feedback_sentences import thrown
from ptxlab.errors import PtxlabError
from ptxlab.kernels.variants import Variant, variant

Array = NDArray[Any]
Case = tuple[int, int, int, int, int]
"""Batch, heads, rows, keys, and a number of the mod: a width, or how many documents there are."""


def _by_name(mod: Variant) -> dict[str, Any]:
    """A mod as the option that it is."""
    return {"mask_mod" if mod.masks else "score_mod": mod}


def _attend(g: Grading, answer: Any, right: Variant, case: Case, wrong: dict[str, Any], **options: Any) -> None:
    """The parts of a mod: its numbers in `mma`, then what the kernel executes. wrong: sentence -> the mod that a known
    mistake is."""
    batch, heads, rows, keys, _ = case
    q, k, v = (x.astype(np.float16) for x in reference.random_inputs(batch, heads, heads, rows, keys, 64, seed=rows))
    g.tried.append(getattr(getattr(answer, "__code__", None), "co_code", b"").hex())
    how: dict[str, Any] = {"kernel": "mma", "counters": True, "checks": "all", **options}
    name = f"{rows} rows, {keys} keys"
    try:
        got = attention(q, k, v, **how, **_by_name(variant(answer, **right.arrays)))
    except PtxlabError as error:
        g.part(f"{name}: the function becomes PTX", False, str(error), sort="broken")
        return
    except Exception as error:  # an answer may raise anything
        g.part(f"{name}: the function can be called", False, thrown(error), sort="broken")
        return

    def exact(mod: Variant) -> Any:
        return reference.attention(q, k, v, causal=options.get("causal", False), **_by_name(mod))

    def known(which: str) -> Any:
        return [(getattr(exact(other), which), says) for says, other in wrong.items()]

    want = exact(right)
    bound, lse_bound = got.error.tolerance, got.error.lse_tolerance
    if g.close(f"{name}: the output", got.o, want.o, rtol=0, atol=bound, known=lambda: known("o")):
        g.close(f"{name}: the LSE", got.lse, want.lse, rtol=0, atol=lse_bound, known=lambda: known("lse"))
    if g.failed:
        return
    runs: list[Any] = [got, attention(q, k, v, **how, **_by_name(right)), attention(q, k, v, **how)]
    found, least, whole = (run.counters.warp_instructions for run in runs)
    says = (
        f"The kernel executes {found:,} warp instructions; {least:,} are enough, and {whole:,} are those of full "
        "attention. From a score nobody can tell in advance which tiles it hides; from a mask the host can."
    )
    if right.masks:
        g.part(f"{name}: hidden tiles cost nothing", found <= 1.1 * least, says, sort="cost")
    g.note(f"{found:,} warp instructions with it, {whole:,} without it.")


# -- 19-window ---------------------------------------------------------------------------------------------------------


def _seen(b: Any, h: Any, q_idx: Any, kv_idx: Any, span: Any) -> Any:
    return (kv_idx <= q_idx) & (kv_idx > q_idx - span)


def _window(g: Grading, answer: Any) -> None:
    def draw(r: np.random.Generator) -> Case:
        return 1, 1, int(r.integers(100, 200)), int(r.integers(200, 300)), int(r.integers(5, 60))

    for case in g.vary(((1, 1, 512, 512, 32), (1, 1, 40, 300, 20)), draw, 1, edges=((1, 1, 130, 130, 1),)):
        span = case[-1]
        wrong = {
            f"A row sees {span + 1} keys there, its own and {span} before it.": variant(_seen, span=span + 1),
            f"A row sees {span - 1} keys there.": variant(_seen, span=span - 1),
            "The window is on the other side: a row sees the keys from its own on.": variant(
                lambda b, h, q, kv, span: (kv >= q) & (kv < q + span), span=span
            ),
            "A row does not see its own key.": variant(
                lambda b, h, q, kv, span: (kv < q) & (kv > q - span), span=span
            ),
            "A row also sees the keys after its own.": variant(
                lambda b, h, q, kv, span: kv > q - span, span=span
            ),
            "The distance is counted in both directions: keys after the row's own are seen.": variant(
                lambda b, h, q, kv, span: np.abs(kv - q) < span, span=span
            ),
        }  # fmt: skip
        _attend(g, answer, variant(_seen, span=span), case, wrong)


WINDOW = Exercise(
    name="19-window",
    title="a window that skips",
    kind="optimise",
    level=1,
    prompt="""
A row sees `span` keys: its own and those before it. The function below gives the right numbers, and the kernel computes
all scores, those that end as 0 included. Write the window so that hidden tiles cost nothing.

A function of five places changes scores, one of four says which keys are seen.
""",
    starter='''
def window(score, b, h, q_idx, kv_idx, span):
    """The score of a key in the window, and -inf of the others."""
    distance = q_idx - kv_idx
    return np.where((distance >= 0) & (distance < span), score, -np.inf)
''',
    solution='''
def window(b, h, q_idx, kv_idx, span):
    """Whether a key is in the window."""
    distance = q_idx - kv_idx
    return (distance >= 0) & (distance < span)
''',
    answer="window",
    hints=(
        "The kernel learns that a key is hidden when its score is there. Which kind of function says it earlier?",
        "A mask_mod has no score among its places, and returns whether a key is seen. What is left of np.where?",
    ),
    graded=("output and LSE against float64", "the executed instructions: those of the tiles that some row sees"),
    grade=_window,
)


# -- 19-alibi ----------------------------------------------------------------------------------------------------------


def _alibi(g: Grading, answer: Any) -> None:
    def draw(r: np.random.Generator) -> Case:
        return 2, int(r.integers(2, 5)), int(r.integers(20, 60)), int(r.integers(60, 90)), 0

    for case in g.vary(((2, 2, 64, 64, 0), (2, 2, 5, 70, 0)), draw, 1, edges=((1, 1, 33, 33, 0),)):
        slopes = {"slopes": 2.0 ** -np.arange(1, case[1] + 1, dtype=np.float32)}
        shapes: dict[str, Any] = {
            "Nothing is added to the score.": lambda s, b, h, q, kv, slopes: s,
            "The penalty is there, and the score is not.": lambda s, b, h, q, kv, slopes: slopes[h] * (kv - q),
            "The penalty has the other sign: far keys gain.": lambda s, b, h, q, kv, slopes: s + slopes[h] * (q - kv),
            "The slope is that of the sequence's number, and not of the head's.":
                lambda s, b, h, q, kv, slopes: s + slopes[b] * (kv - q),
            "Only the key's place is in the penalty. What a whole row shares is seen by the LSE alone.":
                lambda s, b, h, q, kv, slopes: s + slopes[h] * kv,
            "The score is multiplied there. A penalty is added.":
                lambda s, b, h, q, kv, slopes: s * slopes[h] * (kv - q),
            "The penalty is a factor of the score there. A penalty is added.":
                lambda s, b, h, q, kv, slopes: s * (1 - slopes[h] * (q - kv)),
            "The scale of the scores is there twice, or the slope is scaled: the score comes scaled already.":
                lambda s, b, h, q, kv, slopes: s + slopes[h] * (kv - q) * 0.25,
            "All heads have one slope there.": lambda s, b, h, q, kv, slopes: s + slopes[0] * (kv - q),
        }  # fmt: skip
        wrong = {says: variant(f, **slopes) for says, f in shapes.items()}
        right = variant(lambda s, b, h, q, kv, slopes: s + slopes[h] * (kv - q), **slopes)
        _attend(g, answer, right, case, wrong, causal=True)


ALIBI = Exercise(
    name="19-alibi",
    title="ALiBi",
    kind="write",
    level=1,
    prompt="""
ALiBi has no embedding of positions. It makes a key's score smaller by `slopes[h]` for each position that the key lies
before the row's own. `score` is scaled already, and the mask is causal. Write it.
""",
    starter='''
def alibi(score, b, h, q_idx, kv_idx, slopes):
    """A penalty that grows with the distance."""
    return score
''',
    solution='''
def alibi(score, b, h, q_idx, kv_idx, slopes):
    """A penalty that grows with the distance."""
    return score + slopes[h] * (kv_idx - q_idx)
''',
    answer="alibi",
    hints=(
        "For a key that the row sees, is kv_idx - q_idx positive or negative?",
        "The key at distance 3 loses 3 slopes of its head. Which of the five places tell the distance and the head?",
    ),
    graded=("output and LSE of every head against float64",),
    grade=_alibi,
)


# -- 19-softcap --------------------------------------------------------------------------------------------------------


def _capped(tiles: list[Array], values: list[Array], cap: float, how: str = "") -> tuple[Array, float]:
    """Output and LSE of the online softmax in float64; how: a known mistake."""

    def soft(s: Array) -> Array:
        return cap * np.tanh(s / cap)

    bend = {"none": lambda s: s, "clip": lambda s: np.clip(s, -cap, cap), "cap": lambda s: np.tanh(s / cap),
            "inner": lambda s: cap * np.tanh(s)}  # fmt: skip
    m, l, acc = -np.inf, 0.0, np.zeros(values[0].shape[1])
    for scores, value in zip(tiles, values, strict=True):
        s = scores.astype(np.float64)
        s = s if how == "weights" else bend.get(how, soft)(s)
        new = max(m, s.max())
        weights = np.exp(soft(s - new) if how == "weights" else s - new)
        rescale = 1.0 if how == "rescale" else np.exp(m - (max(m, scores.max()) if how == "early" else new))
        l, acc, m = l * rescale + weights.sum(), acc * rescale + weights @ value, new
    return acc / l, float(m + np.log(l))


def _pair(g: Grading, got: Any) -> bool:
    """Whether an answer returned two values; a wrong part if not."""
    if isinstance(got, tuple) and len(got) == 2:
        return True
    return g.part("two values are returned", False, "Expected two values: the output and the LSE.", sort="broken")


def _softcap(g: Grading, answer: Any) -> None:
    says = {
        "none": "The scores are not capped there.",
        "cap": "The scores end between -1 and 1: tanh is there, and the factor before it is not.",
        "inner": "tanh takes the score itself there. By what is it to be divided before?",
        "rescale": "Neither the sum nor the output is rescaled when the maximum grows.",
        "early": "The factor of the rescale comes from scores that are not capped. Which maximum is it of?",
        "clip": "The scores are cut at the cap. A soft cap bends all of them a little, by tanh.",
        "weights": "What is capped there is the distance from the maximum: the scores themselves are to be capped.",
    }

    def draw(r: np.random.Generator) -> tuple[int, float, float, float]:
        return int(r.integers(2, 5)), float(r.integers(10, 60)), float(r.integers(2, 500)), 0.0

    edges = ((1, 5.0, 9.0, -30.0), (4, 30.0, 900.0, 0.0))
    for tiles, cap, sigma, mean in g.vary(((2, 20.0, 30.0, 0.0), (3, 50.0, 400.0, 0.0)), draw, 2, edges=edges):
        scores = [(sigma * g.rng.standard_normal(8) + mean).astype(np.float32) for _ in range(tiles)]
        values = [g.rng.standard_normal((8, 4)).astype(np.float32) for _ in range(tiles)]
        with np.errstate(all="ignore"):
            got = g.call(answer, scores, values, cap)
        if got is None or not _pair(g, got):
            continue
        name = f"{tiles} tiles, scores of about {sigma:g}"
        o, lse = _capped(scores, values, cap)
        lost = not np.isfinite(np.asarray(got[0], float)).all()
        why = (
            f"The largest score is {max(map(np.max, scores)):.0f}, and all are below {cap:g} after the cap: every "
            "weight is 0 in float32, and 0 / 0 is NaN. Which scores is the maximum taken of?"
        ) if lost else ""  # fmt: skip
        known = [(_capped(scores, values, cap, how)[0], said) for how, said in says.items()] if not lost else []
        right = g.close(f"{name}: the output", got[0], o, rtol=1e-4, atol=1e-5, known=known, says=why)
        if right:
            g.close(f"{name}: the LSE", got[1], lse, rtol=1e-5, atol=1e-4)
    g.note("The maximum belongs to the numbers that are exponentiated: first everything that changes a score.")


_ONLINE = '''
def online(tiles, values, cap):
    """Output and LSE of a row. tiles: its scaled scores; values: [keys, D] each; all in float32."""
    m, l, acc = np.float32(-np.inf), np.float32(0), np.zeros(values[0].shape[1], np.float32)
    for scores, value in zip(tiles, values, strict=True):
{body}
        rescale = np.exp(m - new)
        weights = np.exp(scores - new)
        l = l * rescale + weights.sum()
        acc = acc * rescale + weights @ value
        m = new
    return acc / l, m + np.log(l)
'''
_CAP, _MAX = "        scores = cap * np.tanh(scores / cap)", "        new = np.maximum(m, scores.max())"

SOFTCAP = Exercise(
    name="19-softcap",
    title="where the cap belongs",
    kind="fix",
    level=2,
    prompt="""
Gemma 2 keeps scores between -50 and 50: `cap * tanh(score / cap)`. The online softmax below does so, and its result is
right for small scores. For large ones it is NaN. One line is in the wrong place.
""",
    starter=_ONLINE.format(body=f"{_MAX}\n{_CAP}"),
    solution=_ONLINE.format(body=f"{_CAP}\n{_MAX}"),
    answer="online",
    hints=(
        "Of which numbers is the maximum taken, and which are exponentiated?",
        "A score of 400 is 50 after the cap. What is exp(50 - 400) in float32?",
    ),
    graded=("output and LSE against float64, for scores of about 30 and about 400, and others that you do not see",),
    grade=_softcap,
)


# -- 19-sinks ----------------------------------------------------------------------------------------------------------


def _with_sink(scores: Array, values: Array, sink: float, times: int = 1, value: float = 0.0) -> tuple[Array, float]:
    """Output and LSE in float64, where the sink is counted so many times and has this value."""
    s = np.append(scores.astype(np.float64), [sink] * times)
    weights = np.exp(s - s.max())
    every = np.concatenate([values.astype(np.float64), np.full((times, values.shape[1]), value)])
    return weights @ every / weights.sum(), float(s.max() + np.log(weights.sum()))


def _sinks(g: Grading, answer: Any) -> None:
    def draw(r: np.random.Generator) -> tuple[int, int, float, float, float]:
        return int(r.integers(8, 40)), int(r.integers(2, 8)), float(r.integers(-3, 4)), 1.0, 0.0

    edges = ((12, 1, 1.0, 1.0, 0.0), (12, 3, 200.0, 1.0, 0.0), (5, 5, -200.0, 1.0, -20.0), (16, 4, 0.0, 150.0, 0.0))
    shown = ((32, 4, 1.0, 1.0, 0.0), (24, 2, 3.0, 1.0, 0.0))
    for keys, parts, sink, sigma, mean in g.vary(shown, draw, 2, edges=edges):
        scores = (sigma * g.rng.standard_normal(keys) + mean).astype(np.float32)
        values = g.rng.standard_normal((keys, 4)).astype(np.float32)
        with np.errstate(all="ignore"):
            got = g.call(answer, scores, values, parts, np.float32(sink))
        if got is None or not _pair(g, got):
            continue
        known = [
            (_with_sink(scores, values, sink, parts)[0], "Every part counts the sink, and the merge adds them up."),
            (_with_sink(scores, values, sink, 0)[0], "The sink is in no part's sum."),
            (_with_sink(np.append(scores, [0] * (parts - 1)), np.pad(values, ((0, parts - 1), (0, 0))), sink)[0],
             "The sink is in one part, and the others begin with a weight of exp(0). What are m and l of no key?"),
            (_with_sink(scores, values, 0.0)[0], "The sink counts as exp(0) there. What is its score?"),
            (_with_sink(scores, values, sink, 1, 1.0)[0], "The sink has a value there. It only takes weight from the "
             "others."),
        ]  # fmt: skip
        name = f"{keys} keys in {parts} parts, a sink of {sink:g}"
        o, lse = _with_sink(scores, values, sink)
        says = f"exp({sink:g}) beside the other weights is too much for a float32: is the sink in the maximum?"
        if g.close(f"{name}: the output", got[0], o, rtol=1e-4, atol=1e-6, known=known):
            g.close(f"{name}: the LSE", got[1], lse, rtol=1e-5, atol=1e-4, says=says if sink > 80 else "")
    g.note(
        "A sink begins one part's state: its maximum is the sink, its sum 1, its output 0. The merge stays as it was."
    )


_SPLIT = '''
def decode(scores, values, parts, sink):
    """Output and LSE of one query, whose keys are split in parts; sink: a number that takes part in the softmax."""
    states = []
    for part in range(parts):
        s, value = np.array_split(scores, parts)[part], np.array_split(values, parts)[part]
{begin}
        new = max(m, s.max())
        weights = np.exp(s - new)
        states.append((new, l * np.exp(m - new) + weights.sum(), weights @ value))
    top = max(m for m, l, acc in states)
    total = sum(l * np.exp(m - top) for m, l, acc in states)
    return sum(acc * np.exp(m - top) for m, l, acc in states) / total, top + np.log(total)
'''

SINKS = Exercise(
    name="19-sinks",
    title="a sink through a split",
    kind="fix",
    level=2,
    prompt="""
In gpt-oss each head has a *sink*: a learned number that takes part in the softmax like the score of one more key, and
has no value. So the weights of a row add up to less than 1.

Here the keys of a decode step are split in parts and merged, as in notebook 11. Each part begins with the sink. The
result is right for one part and wrong for more. Mend it; do not change the merge.
""",
    starter=_SPLIT.format(begin="        m, l = sink, np.float32(1)"),
    solution=_SPLIT.format(
        begin="        m, l = (sink, np.float32(1)) if part == 0 else (np.float32(-np.inf), np.float32(0))"
    ),
    answer="decode",
    hints=(
        "How often is exp(sink) in `total` with four parts?",
        "What are m and l of a part that has seen nothing yet? Which part may begin otherwise?",
    ),
    graded=("output and LSE against float64, for six splits and sinks that are fixed and two that the seed draws",),
    grade=_sinks,
)


# -- 19-documents ------------------------------------------------------------------------------------------------------


def _own(b: Any, h: Any, q_idx: Any, kv_idx: Any, ids: Any, shared: Any) -> Any:
    return ((ids[q_idx] == ids[kv_idx]) | (kv_idx < shared)) & (kv_idx <= q_idx)


def _documents(g: Grading, answer: Any) -> None:
    def draw(r: np.random.Generator) -> Case:
        keys = int(r.integers(150, 300))
        return 1, 1, keys, keys, int(r.integers(2, 6))

    for case in g.vary(((1, 1, 512, 512, 4),), draw, 1, edges=((1, 1, 70, 200, 3),)):
        keys, shared = case[3], 8
        ids = np.sort(g.rng.integers(0, case[-1], keys)).astype(np.int32)
        ids = ids if case[2] == keys else ids[::-1].copy()  # the numbers of documents need not rise
        given = {"ids": ids, "shared": shared}
        shapes: dict[str, Any] = {
            "A row also sees the keys after its own.":
                lambda b, h, q, kv, ids, shared: (ids[q] == ids[kv]) | (kv < shared),
            "The shared keys are not seen by the documents after the first.":
                lambda b, h, q, kv, ids, shared: (ids[q] == ids[kv]) & (kv <= q),
            "A row sees the documents before its own.":
                lambda b, h, q, kv, ids, shared: (ids[q] >= ids[kv]) & (kv <= q),
            "Numbers of documents need not rise along the sequence. Which keys are of the row's own?":
                lambda b, h, q, kv, ids, shared: ((ids[q] <= ids[kv]) | (kv < shared)) & (kv <= q),
            "Only the shared keys of a row's own document are seen.":
                lambda b, h, q, kv, ids, shared: (ids[q] == ids[kv]) & (kv < shared) & (kv <= q),
            "The first rows see shared keys that come after their own.":
                lambda b, h, q, kv, ids, shared: ((ids[q] == ids[kv]) & (kv <= q)) | (kv < shared),
            "`==` comes last there: `&` and `|` bind more tightly. What is compared with what?":
                lambda b, h, q, kv, ids, shared: (kv <= q) & ids[q] == ids[kv] | (kv < shared),
            f"{shared + 1} keys are shared there, and {shared} should be.":
                lambda b, h, q, kv, ids, shared: ((ids[q] == ids[kv]) | (kv <= shared)) & (kv <= q),
        }  # fmt: skip
        _attend(g, answer, variant(_own, **given), case, {says: variant(f, **given) for says, f in shapes.items()})


DOCUMENTS = Exercise(
    name="19-documents",
    title="several documents in one sequence",
    kind="write",
    level=2,
    prompt="""
Short documents are packed into one sequence. `ids[i]` is the document that position i belongs to, and the first
`shared` positions are an instruction that all documents may read. No row sees a key after its own. Write the mask.

Hidden tiles are to cost nothing.
""",
    starter='''
def packed(b, h, q_idx, kv_idx, ids, shared):
    """Whether a row sees a key."""
    return kv_idx <= q_idx
''',
    solution='''
def packed(b, h, q_idx, kv_idx, ids, shared):
    """Whether a row sees a key."""
    own = ids[q_idx] == ids[kv_idx]
    return (own | (kv_idx < shared)) & (kv_idx <= q_idx)
''',
    answer="packed",
    hints=(
        "Three conditions: the same document, a shared key, not after the row. Which two are joined by `or`?",
        "Write each in parentheses: `&` and `|` bind more tightly than `==` and `<`. What holds for all keys?",
    ),
    graded=("output and LSE against float64", "the executed instructions: those of the tiles that some row sees"),
    grade=_documents,
)

EXERCISES = (WINDOW, ALIBI, SOFTCAP, SINKS, DOCUMENTS)

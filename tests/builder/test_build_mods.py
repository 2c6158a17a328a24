"""Functions on symbolic numbers: what their graphs compute, between which bounds, and what is said of wrong ones."""

from __future__ import annotations

import math
import os
import types

import numpy as np
import pytest

from ptxlab.builder.lowered import bounds, evaluate
from ptxlab.builder.traced import Parameter, trace
from ptxlab.errors import BuildError

TABLE = np.arange(4.0)
ROWS = [1, 2, 3]
ARRAYS = types.SimpleNamespace(table=TABLE)
SLOPES = (Parameter("slopes", "real", 1),)
FUNCTIONS = [
    lambda score, b, h, q_idx, kv_idx: score + 0.5 * (kv_idx - q_idx),
    lambda score, b, h, q_idx, kv_idx: score + (kv_idx - q_idx) // 3 + (q_idx - kv_idx) % 5 - (kv_idx - q_idx) % -4,
    lambda score, b, h, q_idx, kv_idx: score * ((kv_idx - q_idx) // 4 + (kv_idx - q_idx) % 8 + (q_idx >> 1)),
    lambda score, b, h, q_idx, kv_idx: np.where((kv_idx <= q_idx) ^ (h == 1), score, -score / (q_idx + 1)),
    lambda score, b, h, q_idx, kv_idx: np.clip(score, -1, 1) + np.minimum(h, kv_idx) - np.maximum(kv_idx, 3),
    lambda score, b, h, q_idx, kv_idx: 3 * np.tanh(score / 3) + np.exp(-np.abs(score)) + np.sqrt(kv_idx + 0.5),
    lambda score, b, h, q_idx, kv_idx: score + (kv_idx > 2) * 2 - np.floor(score) + np.ceil(score) + (kv_idx & 6 | 1),
    lambda score, b, h, q_idx, kv_idx: score**2 - score**3 / 8 + 2.0**-h + np.log(1 + kv_idx) + (b << 2) - ~kv_idx,
    lambda score, b, h, q_idx, kv_idx: np.where(~(kv_idx >= q_idx) & (b != 1), score, np.float32(2)) + 1 / (1 + kv_idx),
]


def places():
    shapes = np.ix_(range(2), range(3), range(5), range(9))
    return np.random.default_rng(0).normal(size=(2, 3, 5, 9)), *shapes


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_graph_computes_what_the_function_does_on_arrays(function):
    score, b, h, q, kv = places()
    graph = trace(score=function)
    leaves = {"score": score, "b": b, "h": h, "q_idx": q, "kv_idx": kv}
    np.testing.assert_allclose(
        np.broadcast_to(evaluate(graph, graph.score, leaves, {}, np.float64), score.shape), function(*places()), 1e-12
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bounds_hold_for_every_element(function):
    score, *_ = places()
    graph = trace(score=function)
    low = {"score": score.min(), "b": 0, "h": 0, "q_idx": np.array([0, 2]), "kv_idx": np.array([[0], [4]])}
    high = {"score": score.max(), "b": 1, "h": 2, "q_idx": np.array([1, 4]), "kv_idx": np.array([[3], [8]])}
    least, most = bounds(graph, {name: (low[name], high[name]) for name in low}, {})[graph.score]
    least, most = (np.broadcast_to(x, (2, 2)) for x in (least, most))
    found = np.broadcast_to(function(*places()), score.shape)
    for i, keys in enumerate((slice(0, 4), slice(4, 9))):
        for j, rows in enumerate((slice(0, 2), slice(2, 5))):
            part = found[:, :, rows, keys]
            assert least[i, j] <= part.min() + 1e-9
            assert part.max() - 1e-9 <= most[i, j]


def branch(score, b, h, q_idx, kv_idx):
    if kv_idx > q_idx:
        return -np.inf
    else:
        return score


def one_way(score, b, h, q_idx, kv_idx):
    if kv_idx < 4:
        return score


def matched(score, b, h, q_idx, kv_idx):
    match h:
        case 0:
            return -score
    return score


def nothing(score, b, h, q_idx, kv_idx):
    score + 1


def loop(score, b, h, q_idx, kv_idx):
    for _ in range(h):
        score = score + 1
    return score


HAS = "a symbolic number has a value only when the kernel runs; "
TABLES = "`{0}` is not a parameter of the function, so it is not one of the kernel"
LINE = "def f(..., kv_idx, {0}): ...    # and in the call: {0}={0}"
WRONG = [
    (branch, HAS + "`if` is evaluated when the kernel is built", "return np.where(kv_idx > q_idx, -np.inf, score)"),
    (matched, HAS + "`match` is evaluated when the kernel is built", "return np.where(h == 0, -score, score)"),
    (lambda s, b, h, q, kv: s if kv <= q else 0.0, HAS + "`a if p else b` is evaluated when the kernel is built",
     "np.where(kv <= q, s, 0.0)"),
    (lambda s, b, h, q, kv: np.where(kv <= q and kv > 3, s, 0), HAS + "`and` is evaluated when the kernel is built",
     "(kv <= q) & (kv > 3)"),
    (lambda s, b, h, q, kv: np.where(0 <= q - kv < 4, s, 0),
     HAS + "a chain of comparisons means `and`, which is evaluated when the kernel is built",
     "(0 <= q - kv) & (q - kv < 4)"),
    (loop, HAS + "a Python loop runs when the kernel is built", "n * x    # in one expression"),
    (lambda s, b, h, q, kv: np.log1p(s), "np.log1p has no counterpart in PTX here", "np.log(1 + x)"),
    (lambda s, b, h, q, kv: s * math.floor(s), HAS + "Python's mathematics works when the kernel is built",
     "np.floor(s)"),
    (lambda s, b, h, q, kv: min([s, 3.0]), HAS + "Python's `min` is evaluated when the kernel is built",
     "np.minimum(s, 3.0)"),
    (lambda s, b, h, q, kv: np.array([s, 1.0]).max(), HAS + "`.max` is evaluated when the kernel is built",
     "np.maximum(s, 1.0)"),
    (lambda s, b, h, q, kv: s + len(f"{s:.2f}"), HAS + "there is none to show when the kernel is built",
     "print(out.o)    # of the result"),
    (lambda s, b, h, q, kv: s + 2**999, "a number of 1000 bits does not fit s32, in which whole numbers are computed",
     "-np.inf    # or another real number"),
    (lambda s, b, h, q, kv: s + TABLE[h], TABLES.format("TABLE"), LINE.format("TABLE")),
    (lambda s, b, h, q, kv: s + ARRAYS.table[h], TABLES.format("ARRAYS.table"),
     "def f(..., kv_idx, table): ...    # and in the call: table=ARRAYS.table"),
    (lambda s, b, h, q, kv: s + ROWS[h], HAS + TABLES.format("ROWS"), LINE.format("ROWS")),
    (lambda s, b, h, q, kv: s + TABLE, "an array that is not a parameter of the function cannot become a parameter "
     "of the kernel",
     "def f(..., kv_idx, table): ... table[h] ...    # and in the call: table=array"),
    (lambda s, b, h, q, kv: kv <= q, "a score_mod returns a number; this is a boolean",
     "return np.where(seen, score, -np.inf)"),
    (nothing, "the function returns nothing; a score_mod returns a value", "return score"),
    (lambda s, b, h, q, kv: s.clip(-1, 1), "a symbolic number has no `clip`; numpy's functions take it", "np.clip(x)"),
    (lambda s, b, h, q, kv: s & 1, "`&` takes booleans or whole numbers; one of these is a float", "(x > 0) & (y > 0)"),
    (lambda s, b, h, q, kv: s + kv * 10**10, "10000000000 does not fit s32, in which whole numbers are computed",
     "10000000000.0"),
    (lambda s, b, h, q, kv, slopes: s + slopes, "`slopes` is an array; take an element of it", "slopes[h]"),
    (lambda s, b, h, q, kv, slopes: s + slopes[s], "an index is a whole number, this one is real", "slopes[h]"),
    (lambda s, b, h, q, kv, slopes: s + slopes[h, kv], "`slopes` has 1 dimension, found 2 indices", "slopes[h]"),
    (lambda s, b, h, q, kv, slopes: s + slopes[h % len(slopes)],
     "`slopes.shape[0]` is not known when the kernel is built, which takes arrays of any size",
     "def f(..., kv_idx, slopes, n): ...    # and in the call: n=slopes.shape[0]"),
    (lambda s, b, h, q, kv: s + torch.exp(s), "there is no `torch` here",  # noqa: F821
     "import numpy as np    # its functions work on symbolic numbers"),
    (one_way, HAS + "`if` is evaluated when the kernel is built", "return np.where(kv_idx < 4, score, -np.inf)"),
    (lambda s, b, h, q_idx, kv_idx: s + kv_index,  # noqa: F821
     "there is no `kv_index` here; did you mean kv_idx?", "kv_idx"),
    (lambda s, b, h, q, kv: s + bias[h], "there is no `bias` here", LINE.format("bias")),  # noqa: F821
    (lambda s, b, h, q, kv: s + {}["bias"], "the function cannot be called with symbolic numbers: KeyError: 'bias'",
     ""),
]  # fmt: skip


@pytest.mark.parametrize(("function", "says", "write"), WRONG)
def test_a_wrong_function_is_told_the_line_to_write(function, says, write):
    with pytest.raises(BuildError) as found:
        trace(score=function, parameters=SLOPES if "slopes" in function.__code__.co_varnames else ())
    first, *rest = str(found.value).splitlines()
    place, _, told = first.partition(": ")
    assert place.startswith(f"{os.path.relpath(__file__)}:")
    assert told == says
    assert [line for line in rest if line.startswith("  write:")] == ([f"  write:  {write}"] if write else [])

"""The examples that PyTorch documents for FlexAttention, rewritten from their description, against torch on a CPU.

They are those of its introduction and of the notebook and the masks of Attention Gym. Each is one function: of numpy's
functions in a kernel, of torch's in `flex_attention`.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest

import ptxlab as pl

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
flex = pytest.importorskip("torch.nn.attention.flex_attention", reason="needs torch 2.5: pip install torch")

BATCH, HEADS, KV_HEADS, ROWS, DIM = 2, 4, 2, 60, 16
RANDOM = np.random.default_rng(0)
DOCUMENTS = np.repeat(np.arange(4), [7, 23, 1, 29])
STARTS = np.searchsorted(DOCUMENTS, np.arange(4))
SLOPES = np.exp2(-2.0 * np.arange(1, 5)).astype(np.float32)
WIDTH = 10
"""Pixels of a row of the image whose pixels are the tokens."""


# -- changes of the score
def full(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score


def checkerboard(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return np.where(np.abs(kv_idx - q_idx) % 2 == 1, score * 0.5, score * 2.0)


def causal_as_a_score(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return np.where(q_idx >= kv_idx, score, -float("inf"))


def relative_position(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (q_idx - kv_idx)


def alibi(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, slopes: Any) -> Any:
    return score + slopes[h] * (q_idx - kv_idx)


def soft_capping(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return 2.0 * np.tanh(score / 2.0)


def head_bias(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, bias: Any) -> Any:
    return score + bias[h, q_idx, kv_idx]


def latent(np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, q_rope: Any, k_rope: Any) -> Any:
    """A part of the dot product that all heads of a sequence share."""
    for n in range(4):
        score = score + q_rope[b, h, q_idx, n] * k_rope[b, kv_idx, n]
    return score


def jagged_alibi(
    np: Any, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, slopes: Any, ids: Any, starts: Any
) -> Any:
    """Sequences one behind the other: each counts its positions from 0, and sees its own."""
    distance = (q_idx - starts[ids[q_idx]]) - (kv_idx - starts[ids[kv_idx]])
    return np.where(ids[q_idx] == ids[kv_idx], score - slopes[h] * np.abs(distance), -float("inf"))


# -- masks
def causal(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx >= kv_idx


def sliding_window(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (q_idx >= kv_idx) & (q_idx - kv_idx <= 11)


def dilated_sliding_window(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    distance = np.abs(q_idx - kv_idx)
    return (distance <= 12) & (distance % 3 == 0)


def prefix_lm(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, prefixes: Any) -> Any:
    return (kv_idx < prefixes[b]) | (q_idx >= kv_idx)


def document_causal(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, ids: Any) -> Any:
    return (ids[q_idx] == ids[kv_idx]) & (q_idx >= kv_idx)


def documents_with_prefixes(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, ids: Any, starts: Any) -> Any:
    """A mask of positions in a document, as a mask of packed documents."""
    row, key = q_idx - starts[ids[q_idx]], kv_idx - starts[ids[kv_idx]]
    return (ids[q_idx] == ids[kv_idx]) & ((row >= key) | (key < 3))


def neighbourhood(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """NATTEN: the 3 x 5 pixels around a pixel; at an edge, those nearest to it."""
    x, y = kv_idx % WIDTH, kv_idx // WIDTH
    row, column = q_idx // WIDTH, q_idx % WIDTH
    middle = np.clip(column, 2, WIDTH - 3), np.clip(row, 1, ROWS // WIDTH - 2)
    return (np.abs(middle[0] - x) <= 2) & (np.abs(middle[1] - y) <= 1)


def tiled_neighbourhood(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """The pixels come in tiles of 2 x 5 pixels; a tile sees itself and its neighbours."""
    row, key = q_idx // 10, kv_idx // 10
    return (np.abs(row // 2 - key // 2) <= 1) & (np.abs(row % 2 - key % 2) <= 1)


def attention_sink(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (q_idx >= kv_idx) & ((q_idx - kv_idx < 9) | (kv_idx < 4))


def cross_attention(np: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, image: Any) -> Any:
    """Flamingo: a token of text sees the keys of the image that came last before it."""
    return kv_idx // 8 == image[b, q_idx]


EXAMPLES: list[tuple[Any, dict[str, Any]]] = [
    (full, {}),
    (checkerboard, {}),
    (causal_as_a_score, {}),
    (relative_position, {}),
    (alibi, {"slopes": SLOPES}),
    (soft_capping, {}),
    (head_bias, {"bias": RANDOM.standard_normal((HEADS, ROWS, ROWS)).astype(np.float32)}),
    (latent, {"q_rope": RANDOM.standard_normal((BATCH, HEADS, ROWS, 4)).astype(np.float32),
              "k_rope": RANDOM.standard_normal((BATCH, ROWS, 4)).astype(np.float32)}),
    (jagged_alibi, {"slopes": SLOPES, "ids": DOCUMENTS, "starts": STARTS}),
    (causal, {}),
    (sliding_window, {}),
    (dilated_sliding_window, {}),
    (prefix_lm, {"prefixes": np.array([5, 31])}),
    (document_causal, {"ids": DOCUMENTS}),
    (documents_with_prefixes, {"ids": DOCUMENTS, "starts": STARTS}),
    (neighbourhood, {}),
    (tiled_neighbourhood, {}),
    (attention_sink, {}),
    (cross_attention, {"image": np.sort(RANDOM.integers(0, 6, (BATCH, ROWS)), 1)}),
]  # fmt: skip


def of_torch(function: Any, arrays: dict[str, Any], q: Any, k: Any, v: Any, first: int = 0) -> tuple[Any, Any]:
    """o and lse by torch in float64; first: the position of the first row."""
    given = {name: torch.tensor(x) for name, x in arrays.items()}

    def score_mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return function(torch, score, b, h, q_idx + first, kv_idx, **given)

    def mask_mod(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return function(torch, b, h, q_idx + first, kv_idx, **given)

    q, k, v = (torch.tensor(x.astype(np.float64)) for x in (q, k, v))
    how: dict[str, Any] = {"score_mod": score_mod}
    if word(function) == "mask_mod":
        sizes = len(q), q.shape[1], q.shape[2], k.shape[2]
        how = {"block_mask": flex.create_block_mask(mask_mod, *sizes, device="cpu")}
    o, lse = flex.flex_attention(q, k, v, enable_gqa=True, return_lse=True, **how)
    return o.numpy(), lse.numpy()


def word(function: Any) -> str:
    """By which name `pl.attention` takes an example."""
    return "score_mod" if "score" in inspect.signature(function).parameters else "mask_mod"


def normal(dtype: type[Any], *shapes: tuple[int, ...]) -> list[Any]:
    """Arrays of normal numbers."""
    return [np.random.default_rng(n).standard_normal(shape).astype(dtype) for n, shape in enumerate(shapes)]


@pytest.mark.filterwarnings("ignore")  # torch's, of what is not compiled
@pytest.mark.parametrize(("kernel", "dtype", "close"), [("scalar", np.float32, 3e-5), ("mma", np.float16, 4e-3)])
@pytest.mark.parametrize(("function", "arrays"), EXAMPLES, ids=[each.__name__ for each, _ in EXAMPLES])
def test_a_documented_example_gives_the_numbers_of_torch(
    function: Any, arrays: dict[str, Any], kernel: str, dtype: type[Any], close: float
) -> None:
    q, k, v = normal(dtype, (BATCH, HEADS, ROWS, DIM), *[(BATCH, KV_HEADS, ROWS, DIM)] * 2)
    mod = {word(function): functools.partial(function, np)}
    out = pl.attention(q, k, v, kernel=kernel, device="cpu", checks="all", **mod, **arrays)
    o, lse = of_torch(function, arrays, q, k, v)
    assert out.findings == []
    assert out.error.ok
    np.testing.assert_allclose(out.o.astype(np.float64), o, rtol=close, atol=close)
    np.testing.assert_allclose(out.lse, lse, rtol=close, atol=close)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [soft_capping, relative_position, sliding_window, attention_sink])
def test_paged_attention_gives_the_numbers_of_torch(function: Any) -> None:
    (q,) = normal(np.float32, (BATCH, HEADS, DIM))
    keys, values = normal(np.float32, *[(9, 16, KV_HEADS, DIM)] * 2)
    table, lengths = np.array([[7, 2, 5, 0], [1, 8, 3, -1]], np.int32), [57, 33]
    mod = {word(function): functools.partial(function, np)}
    out = pl.decode(q, keys, values, lengths, table, kernel="decode_paged", device="cpu", checks="all", **mod)
    assert out.findings == []
    for b, n in enumerate(lengths):
        k, v = (np.swapaxes(x[table[b]].reshape(-1, KV_HEADS, DIM)[:n], 0, 1)[None] for x in (keys, values))
        o, lse = of_torch(function, {}, q[b][None, :, None], k, v, n - 1)
        np.testing.assert_allclose(out.o[b], o[0, :, 0], rtol=3e-5, atol=3e-5)
        np.testing.assert_allclose(out.lse[b], lse[0, :, 0], rtol=3e-5, atol=3e-5)

"""`scalar` and `tiled` against numpy float64: every shape, head_dim, head count, type and logit scale they promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from slow_cases import slow

import ptxlab as pl
from ptxlab import kernels, reference

KERNELS = ("scalar", "tiled")
SHAPES = ((1, 1), (7, 7), (64, 64), (100, 100), (33, 129), (129, 33), (256, 256), (1, 0))
DIMS = (16, 32, 64, 80, 128)
HEADS = ((1, 1), (4, 2), (8, 1))
SIGMAS = (0.1, 1.0, 8.0)


def inputs(heads, shape, dim, dtype):
    """q, k, v with one batch for each sigma: a batch may not disturb the next."""
    made = [reference.random_inputs(1, *heads, *shape, dim, sigma=s, dtype=kernels.DTYPES[dtype]) for s in SIGMAS]
    return tuple(np.concatenate(parts) for parts in zip(*made, strict=True))


def check(name, dtype, causal, heads, shape, dim, device="cpu"):
    """Runs a kernel over all sigmas and holds each batch against its own reference."""
    q, k, v = inputs(heads, shape, dim, dtype)
    out = pl.attention(q, k, v, kernel=name, causal=causal, device=device, counters=device != "gpu")
    assert out.run.findings == []
    for b, sigma in enumerate(SIGMAS):
        at = slice(b, b + 1)
        error = reference.measure(out.o[at], out.lse[at], q[at], k[at], v[at], causal=causal)
        assert error.ok, f"sigma {sigma}: {error}"
    return out


def sample():
    """Cases in which every value of every parameter meets both kernels, both types, causal and not."""
    for at, shape in enumerate(SHAPES):
        for kernel, dtype in itertools.product(KERNELS, ("f32", "f64")):
            yield kernel, dtype, bool(at % 2), (4, 2), shape, 32
    for kernel, (dim, causal) in itertools.product(KERNELS, ((16, True), (64, False), (80, True), (128, True))):
        yield kernel, "f32", causal, (8, 1), (33, 129), dim
        if dim == 64:
            yield kernel, "f32", True, (1, 1), (256, 256), dim
    yield "tiled", "f64", True, (1, 1), (129, 33), 128
    yield "scalar", "f64", True, (1, 1), (33, 129), 80


SAMPLE = list(sample())
EVERY = list(itertools.product(KERNELS, ("f32", "f64"), (False, True), HEADS, SHAPES, DIMS))


def label(value):
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


@pytest.mark.sweep(14)
@pytest.mark.parametrize(
    ("name", "dtype", "causal", "heads", "shape", "dim"),
    [*SAMPLE, *slow(case for case in EVERY if case not in SAMPLE)],
    ids=label,
)
def test_against_float64(name, dtype, causal, heads, shape, dim):
    check(name, dtype, causal, heads, shape, dim)


FURTHER = [((4, 2), (100, 100), 16), ((1, 1), (64, 64), 32), ((4, 2), (33, 100), 32), ((1, 1), (2, 9), 128)]


@pytest.mark.long
@pytest.mark.sweep(6)
@pytest.mark.parametrize(
    ("name", "dtype", "causal", "heads", "shape", "dim"),
    [
        ("scalar", "f32", True, (4, 2), (7, 7), 32),
        ("tiled", "f32", True, (4, 2), (33, 40), 16),
        ("scalar", "f64", False, (1, 1), (33, 9), 16),
        ("tiled", "f64", True, (1, 1), (9, 40), 16),
        ("scalar", "f32", True, (1, 1), (40, 33), 16),
        ("tiled", "f32", True, (1, 1), (40, 33), 16),
        ("tiled", "f32", False, (1, 1), (1, 0), 16),
        *slow(
            (name, dtype, causal, *problem)
            for name, dtype, causal, problem in itertools.product(KERNELS, ("f32", "f64"), (False, True), FURTHER)
        ),
    ],
    ids=label,
)
def test_engines_agree(name, dtype, causal, heads, shape, dim):
    """The interpreter is right too; both engines approximate exp2 in the same way, so every bit is the same."""
    stepped = check(name, dtype, causal, heads, shape, dim, device="step")
    compiled = check(name, dtype, causal, heads, shape, dim)
    np.testing.assert_array_equal(stepped.o.view(np.uint8), compiled.o.view(np.uint8))
    np.testing.assert_array_equal(stepped.lse.view(np.uint8), compiled.lse.view(np.uint8))
    assert stepped.counters == compiled.counters


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES, ids=label)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", KERNELS)
def test_on_a_gpu(name, dtype, shape):
    for causal, dim in ((False, 64), (True, 80)):
        check(name, dtype, causal, (4, 2), shape, dim, device="gpu")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", KERNELS)
def test_state_is_the_online_softmax(name, dtype, causal):
    """The probes hold m, l and rescale as the definition gives them, for rows of any batch and head."""
    q, k, v = reference.random_inputs(2, 4, 2, 20, 70, 16, sigma=3, dtype=kernels.DTYPES[dtype])
    rows = [(0, 0, 0), (1, 3, 19), (1, 2, 7)]
    out = pl.attention(q, k, v, kernel=name, causal=causal, device="cpu", state=rows)
    tile = out.kernel.tile_kv
    expected = reference.attention(q, k, v, causal=causal, tile=tile, rows=rows).state
    assert out.rows == tuple(rows)
    close = {"rtol": 1e-12, "atol": 1e-12} if dtype == "f64" else {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(out.state, expected, **close)
    assert out.error.ok
    without = pl.attention(q, k, v, kernel=name, causal=causal, device="cpu")
    np.testing.assert_array_equal(out.o, without.o)  # looking does not change what is seen


def test_state_true_is_row_0_of_every_head():
    q, k, v = reference.random_inputs(2, 2, 1, 5, 40, 8)
    out = pl.attention(q, k, v, kernel="tiled", device="cpu", state=True)
    assert out.rows == ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0))
    assert out.state.shape == (4, 2, 3)
    assert out.state.dtype == np.float32


@pytest.mark.long
def test_state_of_a_row_that_sees_no_key_is_nan():
    q, k, v = reference.random_inputs(1, 1, 1, 5, 3, 8)
    for name in KERNELS:
        out = pl.attention(q, k, v, kernel=name, causal=True, device="cpu", state=[(0, 0, 1), (0, 0, 2)])
        assert np.isnan(out.state[0]).all()
        assert not np.isnan(out.state[1, 0]).any()
        assert (out.o[0, 0, :2] == 0).all()
        assert np.isneginf(out.lse[0, 0, :2]).all()


@pytest.mark.parametrize("name", KERNELS)
def test_scale_is_the_public_one(name):
    q, k, v = reference.random_inputs(1, 1, 1, 9, 9, 16)
    out = pl.attention(q, k, v, kernel=name, scale=0.7, device="cpu")
    assert reference.measure(out.o, out.lse, q, k, v, scale=0.7).ok
    assert out.error.ok
    assert not reference.measure(out.o, out.lse, q, k, v).ok


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dim", [1, 3, 65])
def test_any_head_dim(name, dim):
    check(name, "f32", True, (1, 1), (5, 40), dim)

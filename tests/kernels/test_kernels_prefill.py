"""The rungs from `scalar` to `pipelined` against numpy float64: shapes, types, heads, scales, states."""

from __future__ import annotations

import itertools
import math
import random

import ml_dtypes
import numpy as np
import pytest
from slow_cases import slow

import ptxlab as pl
from ptxlab import kernels, reference

SIMPLE = ("scalar", "tiled")
"""They take any head_dim, in f32 and f64."""
KERNELS = ("tiled2d", "wmma", "mma", "swizzle", "pipelined")
RUNGS = (*SIMPLE, *KERNELS)
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
LENGTHS = (1, 15, 16, 17, 63, 64, 65, 127, 128, 200, 333)
DIMS = (16, 64, 80, 128, 256)
HEADS = ((1, 1), (4, 2), (8, 1))
SIGMAS = (0.1, 1.0, 8.0)
CHECKS = ("memcheck", "initcheck", "racecheck", "synccheck")
EVERY = [(name, dtype) for name in RUNGS for dtype in kernels.get(name).dtypes]
FIRST = [(name, kernels.get(name).dtypes[0]) for name in RUNGS]


def check(built, heads, shape, *, batch=1, sigma=1.0, seed=0, **options):
    """Runs a kernel with all checks on random inputs and holds it against its reference."""
    config = built.config
    q, k, v = reference.random_inputs(
        batch, *heads, *shape, config.head_dim, sigma=sigma, dtype=NUMPY[config.dtype], seed=seed
    )
    options = {"device": "cpu", "checks": CHECKS} | options
    out = pl.attention(q, k, v, kernel=built, causal=config.causal, **options)
    assert out.run.findings == []
    assert out.error.ok, out.error
    assert out.o.dtype == q.dtype
    assert out.lse.dtype == (np.float64 if config.dtype == "f64" else np.float32)
    return out


def sampled(count, seed, lengths=LENGTHS, dims=DIMS):
    """`count` cases for each kernel and type, which together meet every value of every parameter."""
    choose = random.Random(seed)
    for name, dtype in EVERY:
        for n in range(count):
            yield (
                name,
                dtype,
                dims[n % len(dims)],
                bool(n // len(dims) % 2) ^ bool(n % 2),
                HEADS[n % 3],
                (choose.choice(lengths), choose.choice((0, *lengths))),
                choose.choice((1, 3)),
                SIGMAS[n % 3],
            )


def label(value):
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


ARGUMENTS = ("name", "dtype", "dim", "causal", "heads", "shape", "batch", "sigma")


@pytest.mark.sweep(8)
@pytest.mark.parametrize(
    ARGUMENTS, [*sampled(3, 1, (1, 15, 17, 64, 65, 127), (64, 16, 80)), *slow(sampled(60, 2))], ids=label
)
def test_against_float64(name, dtype, dim, causal, heads, shape, batch, sigma):
    built = kernels.get(name).build(head_dim=dim, causal=causal, dtype=dtype)
    check(built, heads, shape, batch=batch, sigma=sigma)


@pytest.mark.slow
@pytest.mark.parametrize("dim", range(16, 257, 16))
@pytest.mark.parametrize(("name", "dtype"), EVERY)
def test_every_head_dim(name, dtype, dim):
    for causal in (False, True):
        check(kernels.get(name).build(head_dim=dim, causal=causal, dtype=dtype), (2, 1), (70, 100))


@pytest.mark.sweep(4)
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "dtype"),
    [*FIRST, *slow(case for case in EVERY if case not in FIRST)],
)
def test_engines_agree(name, dtype):
    """The interpreter is right too, to the same bit, and counts the same."""
    built = kernels.get(name).build(head_dim=16, causal=True, dtype=dtype)
    stepped = check(built, (2, 1), (33, 40), device="step", checks=("memcheck",), counters=True)
    compiled = check(built, (2, 1), (33, 40), checks=("memcheck",), counters=True)
    np.testing.assert_array_equal(stepped.o.view(np.uint8), compiled.o.view(np.uint8))
    np.testing.assert_array_equal(stepped.lse, compiled.lse)
    assert stepped.counters == compiled.counters


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dtype"), EVERY)
def test_on_a_gpu(name, dtype):
    from ptxlab.gpu.device import describe

    arch = describe().arch
    if int(arch[3:]) < kernels.get(name).sm or (dtype == "bf16" and int(arch[3:]) < 80):
        pytest.skip(f"{name} with {dtype} does not run on {arch}")
    for dim, causal, shape in itertools.product(DIMS, (False, True), ((65, 200), (333, 127), (1, 1), (128, 128))):
        built = kernels.get(name).build(head_dim=dim, causal=causal, dtype=dtype, arch=arch)
        check(built, (4, 2), shape, batch=2, device="gpu", checks=("memcheck",))


@pytest.mark.long
@pytest.mark.sweep(9)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("name", RUNGS)
def test_state_is_the_online_softmax(name, causal):
    """The probes hold m, l and rescale as the definition gives them, for rows of any batch and head."""
    spec = kernels.get(name)
    built = spec.build(head_dim=16, causal=causal, **({} if name == "scalar" else {"tile_kv": 16}))
    dtype = NUMPY[built.config.dtype]
    q, k, v = reference.random_inputs(2, 4, 2, 20, 70, 16, sigma=3, dtype=dtype)
    rows = [(0, 0, 0), (1, 3, 19), (1, 2, 7)]
    out = pl.attention(q, k, v, kernel=built, causal=causal, device="cpu", state=rows)
    expected = reference.attention(q, k, v, causal=causal, tile=built.tile_kv, rows=rows).state
    assert (out.rows, out.state.dtype) == (tuple(rows), np.float32)
    np.testing.assert_allclose(out.state, expected, rtol=2e-5, atol=2e-5)
    assert out.error.ok
    without = pl.attention(q, k, v, kernel=built, causal=causal, device="cpu")
    np.testing.assert_array_equal(out.o, without.o)  # looking does not change what is seen


@pytest.mark.parametrize("name", SIMPLE)
def test_states_in_f64_are_as_exact(name):
    q, k, v = reference.random_inputs(1, 2, 1, 20, 70, 16, sigma=3, dtype=np.float64)
    out = pl.attention(q, k, v, kernel=name, device="cpu", state=[(0, 1, 7)])
    expected = reference.attention(q, k, v, tile=out.kernel.tile_kv, rows=out.rows).state
    np.testing.assert_allclose(out.state, expected, rtol=1e-12, atol=1e-12)


def test_state_true_is_row_0_of_every_head():
    q, k, v = reference.random_inputs(2, 2, 1, 5, 40, 8)
    out = pl.attention(q, k, v, kernel="tiled", device="cpu", state=True)
    assert out.rows == ((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0))
    assert out.state.shape == (4, 2, 3)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", SIMPLE)
@pytest.mark.parametrize("dim", [1, 3, 65])
def test_any_head_dim(name, dim):
    check(kernels.get(name).build(head_dim=dim, causal=True), (1, 1), (5, 40))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", RUNGS)
def test_rows_that_see_no_key(name):
    spec = kernels.get(name)
    dtype = NUMPY[spec.dtypes[0]]
    q, k, v = reference.random_inputs(1, 2, 1, 70, 3, 16, dtype=dtype)
    out = pl.attention(q, k, v, kernel=name, causal=True, device="cpu", state=[(0, 0, 66), (0, 0, 67)])
    assert (out.o[0, :, :67] == 0).all()
    assert np.isneginf(out.lse[0, :, :67]).all()
    assert np.isfinite(out.lse[0, :, 67:]).all()
    assert np.isnan(out.state[0]).all()
    assert not np.isnan(out.state[1, 0]).any()
    assert out.error.ok


@pytest.mark.long
@pytest.mark.sweep(7)
@pytest.mark.parametrize("scale", [0.7, 0.0, -0.4])
@pytest.mark.parametrize("name", RUNGS)
def test_any_scale(name, scale):
    built = kernels.get(name).build(head_dim=16, causal=True)
    check(built, (2, 1), (40, 50), scale=scale)


@pytest.mark.sweep(13)
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("tiled2d", {"tile_q": 16}), ("tiled2d", {"tile_q": 128, "tile_kv": 16}), ("wmma", {"warps": 2, "tile_kv": 32}),
        ("wmma", {"tile_q": 128, "tile_kv": 16}), ("mma", {"warps": 1, "tile_kv": 128}), ("mma", {"tile_q": 128}),
        ("swizzle", {"warps": 8, "tile_kv": 16}), ("swizzle", {"warps": 1}), ("swizzle", {"arch": "sm_75"}),
        ("pipelined", {"stages": 3}), ("pipelined", {"warps": 8, "tile_q": 128}), ("pipelined", {"warps": 1}),
        ("pipelined", {"warps": 8, "tile_kv": 16, "stages": 3}), ("pipelined", {"warps": 2, "tile_q": 64}),
    ],
)  # fmt: skip
def test_other_tiles_give_the_same_result(name, given):
    check(kernels.get(name).build(head_dim=48, causal=True, **given), (2, 1), (100, 150))


@pytest.mark.long
def test_a_number_beyond_f16_becomes_infinite_in_wmma():
    q, k, v = reference.random_inputs(1, 1, 1, 4, 4, 16)
    v[0, 0, 0, 0] = 1e5
    out = pl.attention(q, k, v, kernel="wmma", device="cpu")
    assert np.isposinf(out.o[0, 0, :, 0]).all()
    assert np.isfinite(out.o[0, 0, :, 1:]).all()


def lines(out, opcode):
    """The counters of the PTX lines with an opcode that starts so."""
    return [c for c in out.counters.by_line.values() if c.opcode.startswith(opcode)]


def worst(found):
    """The most wavefronts for each that would do."""
    return max(c.wavefronts / c.ideal_wavefronts for c in found if c.ideal_wavefronts)


def counted(name, dim, **given):
    return check(
        kernels.get(name).build(head_dim=dim, **given), (1, 1), (128, 128), counters=True, checks=("memcheck",)
    )


def dims(*quick):
    """Every head_dim there is, of which `quick` are looked at in each run."""
    return [*quick, *slow(dim for dim in range(16, 257, 16) if dim not in quick)]


@pytest.mark.long
@pytest.mark.parametrize("dim", dims(64))
def test_tiled2d_has_at_most_two_way_conflicts(dim):
    assert worst(counted("tiled2d", dim).counters.by_line.values()) <= 2


@pytest.mark.parametrize("dim", dims(16, 64))
def test_mma_has_conflicts_where_rows_begin_in_the_same_banks(dim):
    """8-way where a row is a multiple of 128 bytes, 4-way for 64, else 2-way; and nowhere else than in ldmatrix."""
    out = counted("mma", dim, tile_kv=16)
    assert {c.wavefronts / c.ideal_wavefronts for c in lines(out, "ldmatrix")} == {math.gcd(dim // 8, 8)}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["swizzle", "pipelined"])
@pytest.mark.parametrize("dim", dims(64, 80))
def test_the_swizzle_leaves_no_conflict(name, dim):
    """At any head_dim, in any access: ldmatrix, the copies of tiles, and O on its way out."""
    out = counted(name, dim, **({} if name == "pipelined" else {"tile_kv": 16}))
    found = [c for c in out.counters.by_line.values() if c.ideal_wavefronts]
    assert {c.opcode.split(".")[0] for c in found} >= {"ldmatrix", "st", "ld"}
    assert [c for c in found if c.conflicts] == []


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dim", dims(64))
@pytest.mark.parametrize("name", KERNELS)
def test_global_accesses_of_full_tiles_are_ideal(name, dim):
    out = counted(name, dim, **({} if name == "pipelined" else {"tile_kv": 16}))
    assert [c for c in out.counters.by_line.values() if c.sectors != c.ideal_sectors] == []


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize(("dim", "stages"), [(32, 2), (48, 3), *slow((dim, 2) for dim in (64, 80, 128, 256))])
def test_pipelined_reads_each_byte_of_k_and_v_once_a_block(dim, stages, causal):
    built = kernels.get("pipelined").build(head_dim=dim, tile_q=64, tile_kv=64, stages=stages, causal=causal)
    out = check(built, (1, 1), (256, 256), counters=True, checks=("memcheck",))
    count = 1 + 2 + 3 + 4 if causal else 4 * 4  # tiles above the diagonal are never touched
    assert sum(c.sectors * 32 for c in lines(out, "cp.async.cg")) == count * 64 * dim * 2 * 2
    assert sum(c.sectors for c in lines(out, "ld.global.v4")) * 32 == 256 * dim * 2  # and Q once


@pytest.mark.long
@pytest.mark.parametrize("keys", [1, 63, 65, 200])
def test_pipelined_reads_no_key_that_is_not_there(keys):
    built = kernels.get("pipelined").build(head_dim=16, tile_kv=32)
    out = check(built, (1, 1), (100, keys), counters=True)
    assert sum(c.sectors * 32 for c in lines(out, "cp.async.cg")) == keys * 16 * 2 * 2


def descending(keys, dim, scores):
    """Keys whose scores with a query of ones are `scores`, and values that are 1 in one half of them and -1 in the
    other, so that with equal scores the mean is 0."""
    q, k, v = (np.zeros((1, 1, n, dim), np.float16) for n in (16, keys, keys))
    q[..., 0], k[0, 0, :, 0] = 1, scores
    v[0, 0, :, 0] = np.where(np.arange(keys) < keys // 2, 1, -1)
    return q, k, v


@pytest.mark.parametrize("name", ["mma", "pipelined"])
def test_nothing_shrinks_while_the_maximum_stays(name):
    """256 tiles with one maximum: each multiplies what was summed before by exactly 1. A factor that is off by one
    rounding of the maximum (97 / ln 2 = 139.9, off by up to 2**-17) would be off by 256 of them at the end."""
    q, k, v = descending(4096, 16, 97)
    built = kernels.get(name).build(head_dim=16, tile_kv=16, dtype="f16")
    out = pl.attention(q, k, v, kernel=built, scale=1.0, device="cpu", state=[(0, 0, 0)])
    assert (out.state[0, 1:, 2] == 1).all()
    assert (out.o[..., 0] == 0).all()
    np.testing.assert_allclose(out.lse, 97 + math.log(4096), rtol=1e-6)


@pytest.mark.long
def test_pipelined_steps_over_what_would_change_nothing():
    """O is multiplied in a tile only where a row's maximum grew: here in the first two of eight tiles, or in all. The
    state says so, and what is skipped is what would have been multiplied by 1."""
    built = kernels.get("pipelined").build(head_dim=16, tile_kv=16, tile_q=64, warps=4)
    muls = {}
    for name, scores in (("falling", np.repeat([1, 2, 2, 2, 1, 1, 1, 1], 16)), ("rising", np.repeat(np.arange(8), 16))):
        q, k, v = descending(128, 16, scores)
        out = pl.attention(
            q, k, v, kernel=built, scale=1.0, device="cpu", counters=True, state=[(0, 0, 0)], checks=CHECKS
        )
        assert out.run.findings == []
        muls[name] = sum(
            n[0] for opcode, n in out.counters.opcodes.items() if opcode.startswith("mul.") and "f32" in opcode
        )
        grew = np.diff(np.maximum.accumulate(np.asarray(scores)[::16]), prepend=-1) > 0
        assert ((out.state[0, :, 2] < 1) == grew).all()
        assert out.error.ok
    acc = 16 // 8 * 4  # registers of O in a lane of the one warp whose maxima grow
    assert muls["rising"] - muls["falling"] == acc * (8 - 2)

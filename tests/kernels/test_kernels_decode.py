"""The decode kernels against numpy float64: lengths, heads, head_dims, types, pages and splits, with all checks on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from decode_cases import check, inputs, paged
from slow_cases import slow

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.launch.run import ALL_CHECKS

LENGTHS = (0, 1, 15, 16, 17, 127, 512, 1328)
HEADS = ((4, 4), (8, 2), (32, 8), (16, 1))
DIMS = (32, 64, 96, 128, 256)
PAGES = (1, 8, 16, 64)
DENSE = ("decode", "decode_multiwarp", "decode_split", "decode_gqa")
PAGED = ("decode_paged", "decode_split", "decode_gqa")
SPLITTING = ("decode_split", "decode_gqa")


def types(name):
    return ("f16", "bf16") if name == "decode_gqa" else ("f32", "f16", "bf16")


def sample():
    """Cases in which every kernel meets each head_dim, each of its types, and every kind of length and heads."""
    for name in dict.fromkeys((*DENSE, *PAGED)):
        first, *others = types(name)
        splits = (1, 3, 40) if name in SPLITTING else (None,) * 3
        pages = (1, 8, 7) if name == "decode_paged" else (None, 16, None) if name in PAGED else (None,) * 3
        yield name, first, (8, 2), 64, (17, 0, 127, 1), pages[0], splits[0], 1.0
        yield name, others[0], (16, 1), 96, (70, 16), pages[1], splits[1], 1.0
        yield name, others[-1], (2, 2), 256, (15,), pages[2], splits[2], 1.0
        yield name, first, (6, 2), 48, (33, 2), pages[0], splits[1], 1.0
        yield name, others[0], (3, 1), 112, (21,), pages[1], splits[0], 1.0


def every():
    """Each pair of heads with batches of 1, 3, 3 and 12 in turn; types, page sizes and numbers of splits in turn."""
    batches = [(1328,), (0, 1, 15), (16, 17, 127), (512, 1328, *LENGTHS[:6], 2, 33, 0, 3)]
    for name, (at, dim) in itertools.product(dict.fromkeys((*DENSE, *PAGED)), enumerate(DIMS)):
        pages = itertools.cycle(PAGES if name == "decode_paged" else (None, *PAGES) if name in PAGED else (None,))
        splits = itertools.cycle((1, 7, 1500) if name in SPLITTING else (None,))
        for (turn, dtype), (n, heads) in itertools.product(enumerate(types(name), at), enumerate(HEADS)):
            yield name, dtype, heads, dim, batches[(n + turn) % 4], next(pages), next(splits), 2.0


def label(value):
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


CASE = ("name", "dtype", "heads", "dim", "lengths", "page", "splits", "sigma")


@pytest.mark.long
@pytest.mark.sweep(8)
@pytest.mark.parametrize(CASE, [*sample(), *slow(every())], ids=label)
def test_against_float64(name, dtype, heads, dim, lengths, page, splits, sigma):
    check(name, dtype, heads, dim, lengths, page=page, splits=splits, sigma=sigma)


@pytest.mark.long
@pytest.mark.sweep(4)
@pytest.mark.parametrize(("dtype", "dim"), [("f32", 8), ("f32", 40), ("f32", 104), ("f16", 56), ("f16", 248)])
def test_any_multiple_of_8_is_a_head_dim(dtype, dim):
    """Rows that no power of two of lanes divides: some lanes hold one piece less."""
    check("decode", dtype, (2, 1), dim, (5, 0))
    check("decode_multiwarp", dtype, (2, 1), dim, (40,))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decode", "decode_multiwarp", "decode_paged", "decode_split", "decode_gqa"])
def test_every_head_dim(name):
    step = kernels.get(name, "decode").parameters["head_dim"].step
    for dtype, dim in itertools.product(types(name), range(step, 257, step)):
        check(name, dtype, (6, 2), dim, (0, 1, 83), page=5 if name == "decode_paged" else None)


@pytest.mark.gpu
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", ["decode", "decode_multiwarp", "decode_paged", "decode_split", "decode_gqa"])
def test_on_a_gpu(name, dim):
    for dtype, heads in itertools.product(types(name), HEADS):
        for page in PAGES if name == "decode_paged" else (None, 16) if name in PAGED else (None,):
            check(name, dtype, heads, dim, LENGTHS, page=page, device="gpu")


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("name", "dtype", "page"),
    [
        ("decode", "bf16", None),
        ("decode_multiwarp", "f16", None),
        ("decode_paged", "f16", 3),
        ("decode_split", "f32", None),
        ("decode_gqa", "f16", 5),
    ],
)
def test_engines_agree(name, dtype, page):
    """The interpreter is right too, and gives the same bits."""
    stepped = check(name, dtype, (2, 1), 32, (0, 9), page=page, device="step", state=True)
    compiled = check(name, dtype, (2, 1), 32, (0, 9), page=page, state=True)
    for a, b in ((stepped.o, compiled.o), (stepped.lse, compiled.lse), (stepped.state, compiled.state)):
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["decode", "decode_multiwarp", "decode_gqa"])
def test_small_and_large_logits(name):
    for sigma in (0.1, 8.0):
        check(name, "f16", (4, 2), 32, (60, 7), sigma=sigma)


@pytest.mark.long
@pytest.mark.sweep(9)
@pytest.mark.parametrize(
    ("dtype", "heads", "dim", "lengths", "page", "splits", "device"),
    [
        ("f16", (8, 2), 64, (17, 0, 127, 1), None, 1, "cpu"),
        ("bf16", (16, 1), 128, (170, 16), None, 3, "cpu"),
        ("f16", (4, 2), 192, (33,), None, 1, "cpu"),
        ("bf16", (2, 1), 256, (70,), None, 1, "cpu"),
        ("bf16", (8, 2), 64, (0, 83, 16, 170), 16, 3, "cpu"),
        ("f16", (6, 2), 128, (83, 70), 8, 40, "cpu"),
        ("f16", (2, 1), 64, (83, 70), 48, 2, "cpu"),
        ("bf16", (20, 1), 64, (9, 65), 64, 1, "cpu"),
        ("f16", (2, 1), 64, (40, 9), None, 1, "step"),
        ("f16", (2, 1), 64, (21,), 8, 2, "step"),
    ],
)
def test_copies_by_tensor_maps(dtype, heads, dim, lengths, page, splits, device):
    """What lies behind the last key of a cache or page is NaN, and comes with the last tile."""
    out = check(
        "decode_gqa", dtype, heads, dim, lengths, page=page, splits=splits, device=device, state=True, copy="tma"
    )
    state, sums = out.exact(len(out.rows) - 1)
    np.testing.assert_allclose(out.state[-1], state, rtol=2e-2, atol=2e-2)
    np.testing.assert_allclose(out.sums[-1], sums, rtol=5e-2, atol=5e-2)


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.parametrize("name", DENSE)
def test_scale_is_the_public_one(name):
    q, k, v = inputs((4, 2), 32, "f16", (40,), spare=0)
    for scale in (0.7, -0.3, 0.0):
        out = pl.decode(q, k, v, (40,), kernel=name, scale=scale, device="cpu")
        assert out.error.ok, out.error
        assert out.scale == scale


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "dtype"), [("decode_split", "f32"), ("decode_split", "bf16"), ("decode_gqa", "f16")])
def test_splits_and_pages_change_little(name, dtype):
    """Against the same keys in one part of a dense cache, o and LSE within the tolerance: 1 part to more than keys."""
    lengths = (200, 1, 77)
    q, k, v = inputs((8, 2), 64, dtype, lengths)
    pools = paged(k, v, lengths, 7)
    one = pl.decode(q, k, v, lengths, kernel=name, splits=1, device="cpu")
    near = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}[dtype]
    for splits, cache in ((2, (k, v)), (76, (k, v)), (300, (k, v)), (1, pools), (5, pools), (201, pools)):
        more = pl.decode(q, *cache[:2], lengths, *cache[2:], kernel=name, splits=splits, device="cpu")
        assert more.error.ok
        np.testing.assert_allclose(more.lse, one.lse, atol=1e-5 if dtype == "f32" else 1e-4, rtol=1e-5)
        np.testing.assert_allclose(more.o.astype(float), one.o.astype(float), atol=near)


@pytest.mark.rest
@pytest.mark.long
def test_groups_of_more_than_16_heads():
    check("decode_gqa", "f16", (40, 2), 32, (33, 5))
    check("decode_gqa", "bf16", (17, 1), 64, (33,), splits=2)


@pytest.mark.long
def test_a_group_reads_its_keys_once():
    """Four query heads share a key/value head: `decode_gqa` asks for a quarter of the bytes, without bank conflicts."""
    q, k, v = inputs((8, 2), 96, "f16", (256,), spare=0)
    once = (k.nbytes + v.nbytes) // 32  # sectors
    read = "memory_l2_theoretical_sectors_global"
    one, four = (
        pl.decode(q, k, v, (256,), kernel=name, splits=1, device="cpu", counters=True).counters.metrics
        for name in ("decode_gqa", "decode_multiwarp")
    )
    assert once < one[read] < 1.05 * once
    assert 4 * once < four[read] < 4.2 * once
    assert one["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] == 0


# -- the state before the merge ----------------------------------------------------------------------------------------


def test_state_of_one_warp_is_the_online_softmax():
    q, k, v = inputs((4, 2), 32, "f32", (20, 7), sigma=3)
    out = pl.decode(q, k, v, (20, 7), kernel="decode", device="cpu", state=[(1, 3), (0, 0)])
    expected = reference.attention(q[:1, :, None], k[:1, :, :20], v[:1, :, :20], tile=1, rows=[(0, 0, 0)]).state
    assert out.rows == ((1, 3), (0, 0))
    assert out.state.shape == (2, 20, 3)
    np.testing.assert_allclose(out.state[1], expected[0], rtol=1e-5, atol=1e-5)
    assert np.isnan(out.state[0, 7:]).all()


@pytest.mark.long
@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("name", "dtype", "splits", "parts"),
    [
        ("decode_multiwarp", "f32", None, 8),
        ("decode_paged", "f32", None, 8),
        ("decode_split", "f32", 3, 3),
        ("decode_gqa", "f16", 1, 4),
        ("decode_gqa", "f16", 3, 3),
    ],
)
def test_state_before_the_merge(name, dtype, splits, parts):
    """Merging the recorded states by hand gives the log-sum-exp; the recorded factors are those of that merge."""
    lengths = (90, 2, 0)
    out = check(name, dtype, (4, 2), 64, lengths, page=8 if name == "decode_paged" else None, splits=splits, state=True)
    assert out.state.shape == (12, parts, 3)
    m, l, factor = np.moveaxis(out.state.astype(float), 2, 0)
    top = m.max(axis=1)
    for row, (b, h) in enumerate(out.rows):
        if lengths[b] == 0:
            assert np.isneginf(m[row]).all()
            assert (l[row] == 0).all()
            assert (factor[row] == 0).all()
            continue
        np.testing.assert_allclose(factor[row], np.exp(m[row] - top[row]), rtol=1e-4)
        np.testing.assert_allclose(top[row] + np.log((l[row] * factor[row]).sum()), out.lse[b, h], atol=1e-4)


@pytest.mark.long
@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("name", "dtype", "splits", "page"),
    [
        ("decode_multiwarp", "f32", None, None),
        ("decode_paged", "bf16", None, 7),
        ("decode_split", "f16", 5, 3),
        ("decode_gqa", "f16", 1, 6),
        ("decode_gqa", "bf16", 7, None),
    ],
)
@pytest.mark.parametrize("dim", [48, 64])
def test_state_of_each_part_against_float64(name, dtype, splits, page, dim):
    """m, l, the factor of the merge and the weighted values of each warp or split, from the keys that it takes."""
    lengths = (300, 0, 3)
    out = check(name, dtype, (6, 2), dim, lengths, splits=splits, page=page, state=True, sigma=2)
    assert out.sums.shape == (*out.state.shape[:2], dim)
    near = {"f32": 1e-4, "f16": 4e-3, "bf16": 3e-2}[dtype] if name == "decode_gqa" else 1e-4  # weights are rounded
    for row, (b, _) in enumerate(out.rows):
        state, sums = out.exact(row)
        assert sorted(np.concatenate(out.problem.parts(b, out.kernels))) == list(range(lengths[b]))
        np.testing.assert_allclose(out.state[row], state, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(out.sums[row], sums, rtol=near, atol=near)
        np.testing.assert_allclose(
            (out.sums[row] * out.state[row, :, 2:]).sum(axis=0),
            out.o[out.rows[row]].astype(float) * (out.state[row, :, 1] * out.state[row, :, 2]).sum(),
            rtol=2e-2,
            atol=2e-2,
        )


@pytest.mark.long
def test_state_of_chosen_rows():
    q, k, v = inputs((4, 2), 64, "f16", (9, 30, 0))
    every = pl.decode(q, k, v, (9, 30, 0), splits=2, device="cpu", state=True)
    some = pl.decode(q, k, v, (9, 30, 0), splits=2, device="cpu", state=[(1, 2), (0, 1)])
    np.testing.assert_array_equal(some.state, every.state[[6, 1]])
    assert some.rows == ((1, 2), (0, 1))
    np.testing.assert_array_equal(some.o, every.o)  # looking does not change what is seen


# -- the assembler -----------------------------------------------------------------------------------------------------


SPILLS = (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 240, 256)


@pytest.mark.sweep(11)
@pytest.mark.assembler
@pytest.mark.parametrize(
    ("arch", "every"),
    [
        *((arch, False) for arch in ("sm_75", "sm_80", "sm_120")),
        *slow((arch, True) for arch in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120")),
    ],
)
@pytest.mark.parametrize("name", kernels.names("decode"))
def test_nothing_is_spilled(name, arch, every):
    """every: whether all types, head_dims and caches are built, with probes and without; else two of them."""
    spec = kernels.get(name, "decode")
    choices = {key: parameter.choices for key, parameter in spec.parameters.items() if parameter.choices}
    if arch not in choices["arch"]:
        return
    configs = itertools.product(choices["dtype"], SPILLS) if every else (("f16", 96), ("bf16", 256))
    caches = choices.get("cache", (None,)) if every else ("paged",) if name in PAGED else (None,)
    probes = (False, True) if every and "probes" in spec.parameters else (None,)
    for (dtype, dim), cache, probe in itertools.product(configs, caches, probes):
        if dtype not in choices["dtype"] or (dtype == "bf16" and arch == "sm_75"):
            continue
        more = {key: value for key, value in (("cache", cache), ("probes", probe)) if value is not None}
        assert pl.assemble(spec.build(head_dim=dim, dtype=dtype, arch=arch, **more).ptx).spill_bytes == 0


@pytest.mark.rest
@pytest.mark.long
@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", ["decode_split", "decode_gqa"])
@pytest.mark.parametrize("arch", ["sm_90", "sm_80"])
def test_the_reduce_may_start_early_where_there_is_such_a_thing(name, arch):
    """From sm_90 on the splits say when, and the reduce waits before its first load of a partial result; everywhere
    the result is right and the checks are silent."""
    more = {"partial": True} if name == "decode_gqa" else {}
    built = kernels.get(name, "decode").build(head_dim=32, dtype="f16", arch=arch, **more)
    reduce = kernels.get("decode_reduce", "decode").build(head_dim=32, dtype="f16", arch=arch)
    early = arch == "sm_90"
    assert built.ptx.count("griddepcontrol.launch_dependents;") == early
    (entry,) = reduce.module.kernels
    opcodes = [i.opcode for i in entry.instructions()]
    before = opcodes[: opcodes.index("griddepcontrol.wait")] if early else []
    assert ("griddepcontrol.wait" in opcodes) == reduce.dependent == early
    assert not [opcode for opcode in before if opcode.startswith("ld.global")]
    q, k, v = inputs((4, 2), 32, "f16", (70, 40))
    for device in ("cpu", "step"):
        out = pl.decode(q, k, v, [70, 40], kernel=built, splits=3, device=device, checks=ALL_CHECKS)
        assert out.findings == []
        assert out.error.ok

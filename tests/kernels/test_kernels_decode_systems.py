"""The systems that decode covers, one section for each row of the library's table: D, E, F, G and I.

D   one warp per head, MHA and GQA, caches [Hkv, max_seq, D], the length by value or read from device memory
E   several warps a head that merge in shared memory, the length likewise
F   a batch with a base pointer and a length for each sequence, grid (H, B)
G   chunks of the keys, partial results f32 [B, H, chunks, D + 2], and their reduction
I   pages: a table [B, max_pages] i32, lengths [B], a pool, GQA
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from decode_cases import check, inputs, paged
from slow_cases import slow

import ptxlab as pl
from ptxlab import kernels, reference
from ptxlab.launch.run import ALL_CHECKS

LENGTHS = (30, 0, 17)


def expected(q, k, v, lengths, **options):
    """o and lse in float64."""
    each = [
        reference.attention(q[b : b + 1, :, None], k[b : b + 1, :, :n], v[b : b + 1, :, :n], **options)
        for b, n in enumerate(lengths)
    ]
    return np.stack([r.o[0, :, 0] for r in each]), np.stack([r.lse[0, :, 0] for r in each])


def close(o, lse, wanted, dtype):
    near = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}[dtype]
    np.testing.assert_allclose(o.astype(float), wanted[0], atol=near)
    np.testing.assert_allclose(lse, wanted[1], atol=1e-5 if dtype == "f32" else 1e-4)


# -- D and E: the length by value and by pointer -----------------------------------------------------------------------


@pytest.mark.parametrize("length", ["value", "pointer"])
@pytest.mark.parametrize("heads", [(4, 4), (6, 2)], ids=["MHA", "GQA"])
def test_system_d(heads, length):
    """`[Hkv, max_seq, D]` with room to grow; the build that reads its length from memory has a name of its own."""
    q, k, v = inputs(heads, 64, "f32", (75,))
    built = kernels.get("decode", "decode").build(head_dim=64, length=length)
    out = pl.decode(q, k, v, 75, kernel=built, device="cpu")
    assert out.error.ok
    assert built.name == "decode_f32_d64" + ("_indirect" if length == "pointer" else "")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("length", ["value", "pointer"])
@pytest.mark.parametrize("warps", [2, 4, 8, 16])
def test_system_e(warps, length):
    """2 to 16 warps that load 16 bytes at a time and merge in shared memory."""
    q, k, v = inputs((4, 2), 64, "f32", (75,))
    built = kernels.get("decode_multiwarp", "decode").build(head_dim=64, warps=warps, length=length)
    out = pl.decode(q, k, v, 75, kernel=built, device="cpu", state=[(0, 3)])
    assert out.error.ok
    assert out.state.shape == (1, warps, 3)
    assert built.launch_shape(1, 4, 2) == ((4, 1, 1), (32 * warps, 1, 1), 0)
    assert built.name == "decode_multiwarp_f32_d64" + ("_indirect" if length == "pointer" else "")


def growing(name, dtype, device):
    """A launch whose lengths lie in a buffer: (kernel, arguments, the buffers, q, k, v)."""
    q, k, v = inputs((4, 2), 32, dtype, (40, 33), spare=0)
    k, v = np.nan_to_num(k), np.nan_to_num(v)  # the buffer's lengths decide
    cache = {"partial": False} if name == "decode_gqa" else {}
    built = kernels.get(name, "decode").build(head_dim=32, dtype=dtype, **cache)
    own = {
        "q": pl.to_device(q, device=device),
        "key": pl.to_device(k, device=device),
        "value": pl.to_device(v, device=device),
        "o": pl.empty(q.shape, q.dtype, device=device),
        "lse": pl.empty(q.shape[:2], np.float32, device=device),
        "length": pl.to_device(np.zeros(2, np.int32), device=device),
    }
    given = dict(own)
    if "lengths" in dict(built.params):
        given |= {"lengths": given.pop("length"), "splits": 1}
    return built, built.arguments(**given, scale=32**-0.5), own, (q, k, v)


STEPS = ((5, 0), (6, 1), (40, 33), (0, 7))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("decode", "f32"), ("decode_multiwarp", "f32"), ("decode_multiwarp", "bf16"), ("decode_gqa", "f16")],
)
def test_length_by_pointer_follows_the_cache(name, dtype):
    """The same launch, its lengths read from memory, attends to more keys when the numbers there have grown."""
    built, args, own, (q, k, v) = growing(name, dtype, "cpu")
    grid, block, shared = built.launch_shape(2, 4, 2)
    for lengths in STEPS:
        own["length"].copy_from_host(np.array(lengths, np.int32))
        pl.launch(built, grid, block, *args, shared=shared, device="cpu")
        close(own["o"].copy_to_host(), own["lse"].copy_to_host(), expected(q, k, v, lengths), dtype)


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "dtype"), [("decode", "f32"), ("decode_multiwarp", "bf16"), ("decode_gqa", "bf16")])
def test_a_cuda_graph_is_replayed_with_a_changing_length(name, dtype):
    """Recorded once; between replays only the lengths in device memory change."""
    from ptxlab.launch.replay import record

    built, args, own, (q, k, v) = growing(name, dtype, "gpu")
    graph = record([(built, *built.launch_shape(2, 4, 2), args)])
    for lengths in STEPS:
        own["length"].copy_from_host(np.array(lengths, np.int32))
        assert graph.replay() > 0
        close(own["o"].copy_to_host(), own["lse"].copy_to_host(), expected(q, k, v, lengths), dtype)
    graph.free()


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["decode_split", "decode_gqa"])
def test_a_cuda_graph_of_split_and_reduce(name):
    """Both kernels in one graph: the number of splits is fixed, the parts are of the keys there are at the replay."""
    from ptxlab.launch.replay import record

    splits = 3
    _, _, own, (q, k, v) = growing("decode", "bf16", "gpu")
    partial = pl.empty((2, 4, splits, 34), np.float32, device="gpu")
    more = {"partial": True} if name == "decode_gqa" else {}
    first = kernels.get(name, "decode").build(head_dim=32, dtype="bf16", **more)
    second = kernels.get("decode_reduce", "decode").build(head_dim=32, dtype="bf16")
    given = {"q": own["q"], "key": own["key"], "value": own["value"], "lengths": own["length"], "scale": 32**-0.5}
    graph = record(
        [
            (first, *first.launch_shape(2, 4, 2, splits), first.arguments(**given, partial=partial)),
            (second, *second.launch_shape(2, 4, 2), second.arguments(partial=partial, o=own["o"], lse=own["lse"])),
        ]
    )
    for lengths in STEPS:
        own["length"].copy_from_host(np.array(lengths, np.int32))
        graph.replay(3)
        close(own["o"].copy_to_host(), own["lse"].copy_to_host(), expected(q, k, v, lengths), "bf16")


def test_a_graph_wants_buffers_of_the_gpu():
    from ptxlab.launch.replay import record

    built, args, _, (q, _, _) = growing("decode", "f32", "cpu")
    for given in (args, (q, *args[1:])):
        with pytest.raises(pl.LaunchError) as caught:
            record([(built, *built.launch_shape(2, 4, 2), given)])
        assert str(caught.value) == "q: Ptr[f32]: a graph needs buffers of the GPU; write pl.to_device(array)"


# -- F: a base pointer for each sequence -------------------------------------------------------------------------------


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("name", "dtype"), [("decode_paged", "f32"), ("decode_split", "f16"), ("decode_gqa", "bf16")])
def test_system_f(name, dtype):
    """For each sequence the address of its cache `[Hkv, max_seq, D]`, and its length; grid (H, B)."""
    q, k, v = inputs((4, 2), 64, dtype, LENGTHS)
    where = [[pl.to_device(x, device="cpu") for x in cache] for cache in (k, v)]
    key, value = (np.array([b.address for b in buffers], np.uint64) for buffers in where)
    built = kernels.get(name, "decode").build(head_dim=64, dtype=dtype, cache="pointers")
    o, lse = np.empty_like(q), np.empty(q.shape[:2], np.float32)
    partial = np.empty((3, 4, 1, 66), np.float32)
    into = {"partial": pl.out(partial)} if name == "decode_split" else {"o": pl.out(o), "lse": pl.out(lse)}
    into |= {"splits": 1} if name == "decode_gqa" else {}
    args = built.arguments(
        q=pl.const(q),
        key=key,
        value=value,
        lengths=np.array(LENGTHS, np.int32),
        Hkv=2,
        width=k.shape[2],
        scale=0.1,
        **into,
    )
    grid, block, shared = built.launch_shape(3, 4, 2)
    assert grid == (2 if name == "decode_gqa" else 4, 3, 1)
    assert pl.launch(built, grid, block, *args, device="cpu", shared=shared).findings == []
    if name == "decode_split":
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=64, dtype=dtype)
        args = reduce.arguments(partial=partial, o=pl.out(o), lse=pl.out(lse))
        pl.launch(reduce, *reduce.launch_shape(3, 4, 2)[:2], *args, device="cpu")
    close(o, lse, expected(q, k, v, LENGTHS, scale=0.1), dtype)


def test_system_f_wants_an_address_for_each_sequence():
    built = kernels.get("decode_paged", "decode").build(head_dim=64, cache="pointers")
    q, address, two = np.zeros((3, 4, 64), np.float32), np.zeros(3, np.uint64), np.zeros(2, np.uint64)
    given = {"q": q, "o": q, "lse": q[:, :, 0], "lengths": np.zeros(3, np.int32), "width": 9, "scale": 1.0}
    for change, message in (
        ({"key": two, "value": address, "Hkv": 2}, "key should have shape [3], not [2]"),
        ({"key": address, "value": two, "Hkv": 2}, "value should have shape [3], not [2]"),
        ({"key": address, "value": address, "Hkv": 3}, "Hq = 4 should be a multiple of Hkv = 3"),
    ):
        with pytest.raises(pl.LaunchError) as caught:
            built.arguments(**given, **change)
        assert str(caught.value) == f"decode_paged_f32_d64_pointers: {message}"


# -- G: chunks and their reduction -------------------------------------------------------------------------------------


@pytest.mark.sweep(5)
@pytest.mark.parametrize(("name", "dtype"), [("decode_split", "f32"), ("decode_gqa", "f16")])
@pytest.mark.parametrize(("splits", "page"), [(1, None), (3, 4), (50, None)])
def test_system_g(name, dtype, splits, page):
    """f32 [B, H, splits, D + 2]: the un-normalised output, the maximum and the sum; empty splits (-inf, 0)."""
    lengths, near = (29, 0), 1e-5 if dtype == "f32" else 5e-3
    q, k, v = inputs((4, 2), 32, dtype, lengths)
    cache = {"key": k, "value": v}
    if page:
        cache = dict(zip(("key", "value", "table"), paged(k, v, lengths, page), strict=True))
        cache["table"] = np.maximum(cache["table"], 0)
    more = {"cache": "paged", "page_size": page} if page else {}
    more |= {"partial": True} if name == "decode_gqa" else {}
    built = kernels.get(name, "decode").build(head_dim=32, dtype=dtype, **more)
    partial = np.empty((2, 4, splits, 34), np.float32)
    args = built.arguments(q=q, **cache, lengths=np.array(lengths, np.int32), partial=pl.out(partial), scale=0.2)
    grid, block, shared = built.launch_shape(2, 4, 2, splits)
    assert pl.launch(built, grid, block, *args, shared=shared, device="cpu").findings == []
    size = -(-29 // splits)
    for h, s in itertools.product(range(4), range(splits)):
        keys = slice(min(s * size, 29), min((s + 1) * size, 29))
        scores = k[0, h // 2, keys].astype(float) @ q[0, h].astype(float) * 0.2
        m = scores.max(initial=-np.inf)
        weights = np.exp(scores - m) if len(scores) else scores
        np.testing.assert_allclose(partial[0, h, s, 33], weights.sum(), rtol=1e-5)
        np.testing.assert_allclose(partial[0, h, s, 32], m, rtol=1e-5)
        np.testing.assert_allclose(partial[0, h, s, :32], weights @ v[0, h // 2, keys].astype(float), atol=near)
    assert (partial[1, :, :, :32] == 0).all()
    assert np.isneginf(partial[1, :, :, 32]).all()
    assert (partial[1, :, :, 33] == 0).all()

    o, lse = np.empty_like(q), np.empty(q.shape[:2], np.float32)
    reduce = kernels.get("decode_reduce", "decode").build(head_dim=32, dtype=dtype)
    args = reduce.arguments(partial=partial, o=pl.out(o), lse=pl.out(lse))
    assert pl.launch(reduce, *reduce.launch_shape(2, 4, 2)[:2], *args, device="cpu").findings == []
    close(o, lse, expected(q, k, v, lengths, scale=0.2), dtype)


@pytest.mark.long
@pytest.mark.parametrize("splits", [1, 7, 8, 9, 31, 33, 100])
def test_the_reduction_alone(splits):
    """Partial results made here, some of them empty, merged as numpy merges them."""
    random = np.random.default_rng(splits)
    partial = random.standard_normal((2, 3, splits, 42)).astype(np.float32)
    partial[..., 40] *= 30
    partial[..., 41] = np.abs(partial[..., 41]) + 0.5
    empty = random.random((2, 3, splits)) < 0.3
    partial[empty] = 0
    partial[empty, 40] = -np.inf
    o, lse = np.empty((2, 3, 40), np.float32), np.empty((2, 3), np.float32)
    built = kernels.get("decode_reduce", "decode").build(head_dim=40)
    args = built.arguments(partial=partial, o=pl.out(o), lse=pl.out(lse))
    run = pl.launch(built, *built.launch_shape(2, 3, 3)[:2], *args, device="cpu", checks=ALL_CHECKS)
    assert run.findings == []
    exact = partial.astype(float)
    m = np.maximum(exact[..., 40].max(axis=2), -1e300)
    factor = np.exp(exact[..., 40] - m[..., None])
    l = (exact[..., 41] * factor).sum(axis=2)
    seen = l > 0
    wanted = (exact[..., :40] * factor[..., None]).sum(axis=2) / np.where(seen, l, 1)[..., None]
    np.testing.assert_allclose(o, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(lse[seen], (m + np.log(np.where(seen, l, 1)))[seen], rtol=1e-5, atol=1e-5)
    assert np.isneginf(lse[~seen]).all()


# -- I: pages ----------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("page", [5, 1, *slow([64, 256])])
def test_system_i(page):
    """Page table, lengths, a pooled cache, GQA; the result is that of a dense cache, to the last bit."""
    lengths = (100, 3, 64)
    q, k, v = inputs((8, 2), 64, "f16", lengths)
    pools = paged(k, v, lengths, page)
    for name, other, splits in (
        ("decode_multiwarp", "decode_paged", None),
        ("decode_split", "decode_split", 3),
        ("decode_gqa", "decode_gqa", 1),
    ):
        dense = pl.decode(q, k, v, lengths, kernel=name, splits=splits, device="cpu")
        in_pages = pl.decode(q, *pools[:2], lengths, pools[2], kernel=other, splits=splits, device="cpu")
        np.testing.assert_array_equal(dense.o, in_pages.o)
        np.testing.assert_array_equal(dense.lse, in_pages.lse)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decode_paged", "decode_split", "decode_gqa"])
def test_every_page_size(name):
    for page in (2, 3, 7, 12, 24, 48, 100, 127, 128, 200, 255, 256):
        check(name, "f16", (6, 2), 32, (0, 1, page, page + 1, 260), page=page)


def large(shape, dtype):
    """A buffer of zeros that takes addresses and, where it is not touched, no memory."""
    try:
        return pl.empty(shape, dtype, device="cpu")
    except MemoryError:
        pytest.skip("this machine gives out no addresses without memory")


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["decode_paged", "decode_split", "decode_gqa"])
def test_a_pool_of_more_than_4_gib(name):
    """Pages that begin beyond 4 GiB (of memory that is never touched otherwise), read where they are."""
    dtype = np.float16
    q, k, v = inputs((2, 1), 128, "f16", (20,), spare=12)
    pages, size = 2**20 + 2, 16  # 4 KiB a page
    table = np.array([[2**20 + 1, 3]], np.int32)
    pools = [large((pages, size, 1, 128), dtype) for _ in range(2)]
    for pool, cache in zip(pools, (k, v), strict=True):
        assert pool.nbytes > 2**32
        rows = pool.data.view(dtype).reshape(pages, size, 1, 128)
        for n, page in enumerate(table[0]):
            rows[page] = cache[0, :, n * size : (n + 1) * size].swapaxes(0, 1)
    more = {"partial": False} if name == "decode_gqa" else {}
    built = kernels.get(name, "decode").build(head_dim=128, dtype="f16", cache="paged", page_size=size, **more)
    o, lse = np.empty_like(q), np.empty((1, 2), np.float32)
    partial = np.empty((1, 2, 1, 130), np.float32)
    into = {"partial": pl.out(partial)} if name == "decode_split" else {"o": pl.out(o), "lse": pl.out(lse)}
    into |= {"splits": 1} if name == "decode_gqa" else {}
    args = built.arguments(
        q=q, key=pools[0], value=pools[1], table=table, lengths=np.array([20], np.int32), scale=128**-0.5, **into
    )
    grid, block, shared = built.launch_shape(1, 2, 1)
    pl.launch(built, grid, block, *args, shared=shared, device="cpu")
    if name == "decode_split":
        o = (partial[:, :, 0, :128] / partial[:, :, 0, 129:]).astype(dtype)
        lse = partial[:, :, 0, 128] + np.log(partial[:, :, 0, 129])
    for pool in pools:
        pool.free()
    close(o, lse, expected(q, k, v, (20,)), "f16")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["decode", "decode_multiwarp", "decode_split", "decode_gqa"])
def test_a_dense_cache_of_more_than_4_gib(name):
    """The last of 17 sequences of 256 MiB each, the others being empty."""
    dtype, batch, room, count = np.float16, 17, 2**20 + 1, 20
    q, k, v = inputs((2, 1), 128, "f16", (count,), spare=0)
    q = np.concatenate([np.full((batch - 1, 2, 128), np.nan, dtype), q])
    caches = [large((batch, 1, room, 128), dtype) for _ in range(2)]
    for buffer, cache in zip(caches, (k, v), strict=True):
        assert (batch - 1) * buffer.nbytes // batch > 2**32
        buffer.data.view(dtype).reshape(buffer.shape)[-1, :, :count] = cache[0]
    more = {"partial": True} if name == "decode_gqa" else {}
    built = kernels.get(name, "decode").build(head_dim=128, dtype="f16", **more)
    o, lse = np.empty_like(q), np.empty((batch, 2), np.float32)
    partial = np.empty((batch, 2, 3, 130), np.float32)
    lengths = np.array([0] * (batch - 1) + [count], np.int32)
    splitting = name in ("decode_split", "decode_gqa")
    into = {"partial": partial, "lengths": lengths} if splitting else {"o": o, "lse": lse, "length": lengths}
    args = built.arguments(q=q, key=caches[0], value=caches[1], scale=128**-0.5, **into)
    grid, block, shared = built.launch_shape(batch, 2, 1, 3 if splitting else 1)
    pl.launch(built, grid, block, *args, shared=shared, device="cpu")
    if splitting:
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=128, dtype="f16")
        args = reduce.arguments(partial=partial, o=o, lse=lse)
        pl.launch(reduce, *reduce.launch_shape(batch, 2, 1)[:2], *args, device="cpu")
    for buffer in caches:
        buffer.free()
    assert (o[:-1] == 0).all()
    close(o[-1:], lse[-1:], expected(q[-1:], k, v, (count,)), "f16")

"""`pl.decode`: what it gives back, and every message of what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from decode_cases import inputs, paged

import ptxlab as pl
from ptxlab import kernels
from ptxlab.attention import caches
from ptxlab.attention.heuristics import split_count


@pytest.mark.long
def test_result_has_the_promised_fields():
    q, k, v = inputs((4, 2), 32, "f32", (40, 300))
    out = pl.decode(q, k, v, [40, 300], splits=3, device="cpu", state=True, counters=True)
    assert out.o.shape == q.shape
    assert out.lse.shape == (2, 4)
    assert out.lse.dtype == np.float32
    assert out.state.shape == (8, 3, 3)
    assert out.splits == 3
    assert [built.spec.name for built in out.kernels] == ["decode_split", "decode_reduce"]
    assert out.kernel is out.kernels[0]
    assert out.seconds == sum(run.seconds for run in out.runs) > 0
    assert out.counters.thread_instructions > 0
    assert out.error.ok
    assert 0 < out.error.mean < out.error.max < out.error.tolerance
    names = [line.split()[0] for line in repr(out).splitlines()]
    assert names == ["kernel", "device", "time", "splits", "max", "mean", "ULP", "tolerance", "result"]
    assert "<th>result</th><td>pass</td>" in out._repr_mimebundle_()["text/html"]


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("dtype", "page", "lengths", "splits", "name"),
    [
        ("f32", None, (20,), None, "decode_multiwarp_f32_d32_indirect"),
        ("f32", 4, (20,), None, "decode_paged_f32_d32_page4"),
        ("f32", 4, (20,), 2, "decode_split_f32_d32_page4"),
        ("bf16", None, (20,), None, "decode_gqa_bf16_d32"),
        ("f16", 4, (300,), None, "decode_gqa_f16_d32_page4_partial"),
    ],
)
def test_the_kernel_that_auto_takes(dtype, page, lengths, splits, name):
    q, k, v = inputs((2, 1), 32, dtype, lengths)
    pools = paged(k, v, lengths, page) if page else (k, v)
    out = pl.decode(q, *pools[:2], lengths, *pools[2:], splits=splits, device="cpu")
    assert out.kernel.name == name
    assert out.error.ok


def test_one_length_for_all_is_given_by_value():
    q, k, v = inputs((2, 1), 32, "f32", (20, 20))
    out = pl.decode(q, k, v, 20, kernel="decode", device="cpu")
    assert out.kernel.name == "decode_f32_d32"
    assert out.error.ok


def test_a_wrong_result_is_noticed():
    q, k, v = inputs((2, 1), 32, "f16", (20, 3))
    out = pl.decode(q, k, v, (20, 3), device="cpu")
    out.o[1, 0, 5] += 0.01
    assert not out.error.ok
    assert out.error.worst[:2] == (1, 0)


@pytest.mark.parametrize(
    ("blocks", "processors", "keys", "splits"),
    [
        (1, 108, 63, 1),
        (1, 108, 128, 2),
        (87, 108, 10**6, 1),
        (8, 132, 10**6, 16),
        (60, 108, 10**6, 3),
        (100, 132, 10**6, 1),
        (1, 132, 2**17, 126),
        (8, 132, 1000, 15),
        (0, 132, 1000, 1),
    ],
)
def test_how_many_splits(blocks, processors, keys, splits):
    """None where 80 % are busy, never for fewer than 64 keys each, else the smallest of those that are nearly best."""
    assert split_count(blocks, processors, keys) == splits


def arrays(q=(2, 4, 32), k=(2, 2, 9, 32), v=None, dtype=np.float32):
    return np.zeros(q, dtype), np.zeros(k, dtype), np.zeros(v or k, dtype)


def refused(*args, **options):
    with pytest.raises(pl.LaunchError) as caught:
        pl.decode(*args, device="cpu", **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"q": (4, 32)}, "q has shape [4, 32]; it should be [B, Hq, D], and not empty"),
        ({"q": (0, 4, 32)}, "q has shape [0, 4, 32]; it should be [B, Hq, D], and not empty"),
        ({"k": (3, 2, 9, 32)}, "k_cache has shape [3, 2, 9, 32]; with q [2, 4, 32] it should be [2, Hkv, max_seq, 32]"),
        ({"k": (2, 2, 9, 16)}, "k_cache has shape [2, 2, 9, 16]; with q [2, 4, 32] it should be [2, Hkv, max_seq, 32]"),
        ({"v": (2, 2, 8, 32)}, "v_cache has shape [2, 2, 8, 32]; it should be k_cache's shape [2, 2, 9, 32]"),
        ({"k": (2, 3, 9, 32)}, "q: Hq = 4 should be a multiple of the cache's Hkv = 3"),
    ],
)
def test_shapes_that_do_not_fit(shapes, message):
    assert refused(*arrays(**shapes), 3) == message


def test_types_that_do_not_fit():
    q, k, v = arrays()
    assert refused(q, k, v.astype(np.float16), 3) == (
        "q, k_cache and v_cache should all have one type of float32, float16, bfloat16; "
        "got q float32, k_cache float32, v_cache float16"
    )
    assert refused(q, [1], v, 3) == "k_cache: expected a numpy array, got list"
    assert refused(q, k, v, 3.5) == "lengths: expected 2 whole numbers, or one for all; got float64 []"
    assert refused(q, k, v, [3]) == "lengths: expected 2 whole numbers, or one for all; got int64 [1]"
    assert refused(q, k, v, [[1], [2, 3]]) == ("lengths: expected 2 whole numbers, or one for all; got [[1], [2, 3]]")
    assert refused(q, k, v, 3, scale=np.nan) == "scale: expected a finite number, got nan"
    table = np.zeros((2, 1))
    assert refused(q, k, v, 3, table) == "block_table: expected an int32 array [B, max_pages], got float64 [2, 1]"


def test_lengths_and_pages_that_do_not_fit():
    q, k, v = arrays()
    assert refused(q, k, v, [3, 10]) == "lengths[1] is 10; the cache has max_seq = 9"
    assert refused(q, k, v, [3, -1]) == "lengths[1] is negative"
    assert refused(q, k, v, [2**40, 1]) == "lengths[0] is 1099511627776; the cache has max_seq = 9"
    q, k, v = arrays(k=(5, 4, 2, 32))
    table = np.array([[0, 1], [4, -1]], np.int32)
    assert refused(q, k, v, [3, 9], table) == "lengths[1] is 9; 2 pages of 4 keys in block_table hold 8"
    assert refused(q, k, v, [3, 5], table) == "block_table[1, 1] is page -1; the pool has pages 0 to 4"
    table[1, 1] = 5
    assert refused(q, k, v, [3, 5], table) == "block_table[1, 1] is page 5; the pool has pages 0 to 4"
    assert pl.decode(q, k, v, [3, 4], table, device="cpu").error.ok  # an entry that no key needs may hold anything
    assert refused(q, k, v, [3, 5], table[:1]) == "block_table has 1 rows; q has 2 sequences"


def test_pools_that_do_not_fit():
    q, k, v = arrays(k=(0, 4, 2, 32))
    table = np.zeros((2, 1), np.int32)
    assert refused(q, k, v, 1, table) == "block_table[0, 0] is page 0; the pool has no pages"
    assert pl.decode(q, k, v, 0, table, device="cpu").error.ok
    assert refused(*arrays(k=(3, 0, 2, 32)), 0, table) == "k_cache has pages of 0 keys; page_size is from 1 to 256"
    assert refused(*arrays(k=(3, 257, 2, 32)), 0, table) == "k_cache has pages of 257 keys; page_size is from 1 to 256"


def test_what_is_counted_in_32_bits():
    """Keys of a sequence and slots of a pool; a cache of 2**31 keys is not made here, only said to be there."""
    q = np.zeros((1, 1, 32), np.float32)
    few = np.zeros(1, np.float32)

    def large(*shape):
        return np.broadcast_to(few, shape)

    ends = "keys are counted in 32 bits, so it should be below 2**31"
    key = large(1, 1, 2**31, 32)
    assert caches_refuse(q, key, None) == f"k_cache: max_seq is {2**31}; {ends}"
    key = large(2**23, 256, 1, 32)
    table = np.zeros((1, 1), np.int32)
    assert caches_refuse(q, key, table) == f"k_cache: num_pages * page_size is {2**31}; {ends}"
    key, table = large(4, 256, 1, 32), np.broadcast_to(np.zeros(1, np.int32), (1, 2**23))
    assert caches_refuse(q, key, table) == f"block_table: max_pages * page_size is {2**31}; {ends}"


def caches_refuse(q, key, table):
    with pytest.raises(pl.LaunchError) as caught:
        caches.check_shapes(q, key, key, table)
    return str(caught.value)


@pytest.mark.long
def test_kernels_that_do_not_fit():
    q, k, v = arrays()
    assert refused(q, k, v, 3, kernel="decode_paged") == "kernel: decode_paged needs a block_table"
    assert refused(q, k, v, 3, kernel="decode_reduce") == (
        "kernel: decode_reduce merges what decode_split found; write kernel='decode_split'"
    )
    assert refused(q, k, v, 3, kernel="decode", splits=2) == (
        "splits: decode does not split the keys; write kernel='decode_split' or 'decode_gqa'"
    )
    assert refused(q, k, v, 3, splits=0) == "splits: expected a whole number from 1 to 65535, got 0"
    built = kernels.get("decode", "decode").build(head_dim=32, dtype="f16")
    assert refused(q, k, v, 3, kernel=built) == (
        "decode_f16_d32_indirect was built with dtype='f16', the call has dtype='f32'"
    )
    by_value = kernels.get("decode", "decode").build(head_dim=32, length="value")
    assert refused(q, k, v, [3, 4], kernel=by_value) == (
        "lengths: decode_f32_d32 takes one length for all; build it with length='pointer'"
    )
    assert pl.decode(q, k, v, [3, 3], kernel=by_value, device="cpu").error.ok
    assert refused(q, k, v, 3, kernel=None) == "kernel: expected a name or a built decode kernel, got NoneType"
    assert refused(q, k, v, 3, kernel=kernels.get("scalar").build()) == (
        "kernel: expected a name or a built decode kernel, got scalar_f32_d64"
    )
    halves = arrays(dtype=np.float16)
    whole, part = (kernels.get("decode_gqa").build(head_dim=32, partial=partial) for partial in (False, True))
    assert refused(*halves, 3, kernel=whole, splits=2) == (
        "decode_gqa_f16_d32 was built with partial=False, the call has partial=True"
    )
    assert pl.decode(*halves, 3, kernel=whole, device="cpu").splits == 1
    assert len(pl.decode(*halves, 3, kernel=part, splits=1, device="cpu").runs) == 2
    pools = arrays(k=(5, 4, 2, 32))
    table = np.zeros((2, 1), np.int32)
    assert refused(*pools, 3, table, kernel="decode") == (
        "kernel: decode takes no block_table; write kernel='decode_paged'"
    )
    with pytest.raises(LookupError) as caught:
        pl.decode(q, k, v, 3, kernel="scalar", device="cpu")
    assert str(caught.value) == "scalar is not a decode kernel\n  write:  pl.attention(q, k, v, kernel='scalar')"
    with pytest.raises(LookupError, match="decode is not a prefill kernel"):
        pl.attention(*(x[None, None] for x in arrays((3, 4), (3, 4))), kernel="decode")
    with pytest.raises(pl.TargetError) as caught:
        pl.decode(*arrays((1, 1, 50), (1, 1, 9, 50)), 3, device="cpu")
    assert str(caught.value) == "decode_multiwarp: head_dim must be a whole number from 8 to 256 in steps of 8, not 50"


def test_rows_that_do_not_exist():
    q, k, v = arrays()
    assert refused(q, k, v, 3, state=[(2, 0)]) == "state: there is no row (2, 0); (sequence, head) are below (2, 4)"
    assert refused(q, k, v, 3, state=[(1, 0), (1, 0)]) == "state: row (1, 0) is listed twice"
    assert refused(q, k, v, 3, state=[(1, 0, 0)]) == "state: expected True or pairs (sequence, head), got (1, 0, 0)"
    assert refused(q, k, v, 3, state=7) == "state: expected True or pairs (sequence, head), got 7"


def test_builds_that_do_not_fit():
    spec = kernels.get("decode_gqa", "decode")
    for given, message in (
        ({"dtype": "f32"}, "decode_gqa: dtype must be one of 'f16', 'bf16', not 'f32'"),
        ({"page_size": 257}, "decode_gqa: page_size must be a whole number from 1 to 256, not 257"),
        (
            {"head_dim": 256, "warps": 8},
            "decode_gqa: warps=8 and stages=2 with head_dim=256 need 270336 bytes of shared memory; sm_80 has 166912",
        ),
        ({"head_dim": 40}, "decode_gqa: head_dim must be a whole number from 16 to 256 in steps of 16, not 40"),
        (
            {"partial": True, "probes": True},
            "decode_gqa: with partial=True each split stores its state anyway; leave out probes",
        ),
        (
            {"causal": True},
            "decode_gqa has no causal; its parameters are head_dim, dtype, arch, probes, warps, stages, cache, "
            "page_size, partial, copy",
        ),
        (
            {"copy": "tma"},
            "decode_gqa: copy='tma' needs sm_90 or later; sm_80 has no tensor maps; write copy='cp.async'",
        ),
        (
            {"copy": "tma", "arch": "sm_90", "head_dim": 96},
            "decode_gqa: copy='tma' copies 64 elements of a row at a time; head_dim=96 is not a multiple of that; "
            "write copy='cp.async'",
        ),
        (
            {"copy": "tma", "arch": "sm_90", "cache": "pointers"},
            "decode_gqa: a tensor map describes one tensor, not one cache per sequence; write copy='cp.async'",
        ),
        (
            {"copy": "tma", "arch": "sm_90", "cache": "paged", "page_size": 24},
            "decode_gqa: copy='tma' needs pages of 8 keys or of a multiple of 16, got 24; write copy='cp.async'",
        ),
    ):
        with pytest.raises(pl.TargetError) as caught:
            spec.build(**given)
        assert str(caught.value) == message
    with pytest.raises(pl.TargetError) as caught:
        kernels.get("decode", "decode").build(dtype="bf16", arch="sm_75")
    assert str(caught.value) == "decode: dtype='bf16' needs sm_80 or later; sm_75 has no bf16"


class Shape:
    """Stands for an array that is too large to be made."""

    def __init__(self, *shape):
        self.shape = shape


@pytest.mark.parametrize("heads", [(4, 3), (4, 0)])
def test_a_launch_shape_that_does_not_fit(heads):
    with pytest.raises(pl.LaunchError) as caught:
        kernels.get("decode_gqa").build().launch_shape(1, *heads)
    assert str(caught.value) == f"decode_gqa_f16_d64: Hq = 4 should be a multiple of Hkv = {heads[1]}"


def test_arguments_that_do_not_fit():
    built = kernels.get("decode_paged", "decode").build(head_dim=32, page_size=16)
    given = {"q": Shape(2, 4, 32), "key": Shape(9, 16, 2, 32), "value": Shape(9, 16, 2, 32), "table": Shape(2, 3)}
    given |= {"lengths": Shape(2), "o": Shape(2, 4, 32), "lse": Shape(2, 4), "scale": 1.0}
    assert built.arguments(**given)[-4:] == (4, 2, 3, 1.0)
    for change, message in (
        ({"q": Shape(2, 4, 64)}, "q has head_dim 64; the kernel was built for 32"),
        ({"key": Shape(9, 8, 2, 32)}, "key should have shape [9, 16, 2, 32], not [9, 8, 2, 32]"),
        ({"value": Shape(9, 16, 2, 16)}, "value should have shape [9, 16, 2, 32], not [9, 16, 2, 16]"),
        ({"table": Shape(3, 3)}, "table should have shape [2, 3], not [3, 3]"),
        ({"lengths": Shape(1)}, "lengths should have shape [2], not [1]"),
        ({"lse": Shape(2, 4, 1)}, "lse should have shape [2, 4], not [2, 4, 1]"),
        ({"q": Shape(2, 3, 32), "o": Shape(2, 3, 32)}, "Hq = 3 should be a multiple of Hkv = 2"),
        (
            {"table": Shape(2, 2**27)},
            "max_pages * page_size is 2147483648; kernels count it in 32 bits, so it should be below 2**31",
        ),
        (
            {"key": Shape(2**27, 16, 2, 32), "value": Shape(2**27, 16, 2, 32)},
            "num_pages * page_size is 2147483648; kernels count it in 32 bits, so it should be below 2**31",
        ),
        (
            {"lengths": Shape(65536), "table": Shape(65536, 3), "lse": Shape(65536, 4)}
            | dict.fromkeys("qo", Shape(65536, 4, 32)),
            "B is 65536; a grid has at most 65535 blocks there",
        ),
    ):
        with pytest.raises(pl.LaunchError) as caught:
            built.arguments(**(given | change))
        assert str(caught.value) == f"decode_paged_f32_d32_page16: {message}"
    with pytest.raises(pl.LaunchError) as caught:
        built.arguments(**{name: x for name, x in given.items() if name not in ("scale", "o")})
    assert str(caught.value) == "decode_paged_f32_d32_page16 also needs o, scale"


def test_splits_and_rows_that_overflow():
    built = kernels.get("decode_split", "decode").build(head_dim=32)
    given = {"q": Shape(2, 8, 32), "key": Shape(2, 8, 9, 32), "value": Shape(2, 8, 9, 32), "lengths": Shape(2)}
    for splits, message in (
        (65536, "splits is 65536; a grid has at most 65535 blocks there"),
        (2**27, "B * Hq * splits is 2147483648; kernels count it in 32 bits, so it should be below 2**31"),
    ):
        with pytest.raises(pl.LaunchError) as caught:
            built.arguments(**given, partial=Shape(2, 8, splits, 34), scale=1.0)
        assert str(caught.value) == f"decode_split_f32_d32: {message}"
    dense = kernels.get("decode", "decode").build(head_dim=32)
    cache = Shape(1, 1, 2**31, 32)
    with pytest.raises(pl.LaunchError) as caught:
        dense.arguments(
            q=Shape(1, 1, 32), key=cache, value=cache, length=Shape(1), o=Shape(1, 1, 32), lse=Shape(1, 1), scale=1.0
        )
    assert str(caught.value) == (
        "decode_f32_d32_indirect: max_seq is 2147483648; kernels count it in 32 bits, so it should be below 2**31"
    )

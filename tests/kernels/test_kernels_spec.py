"""The catalogue of kernels: names, parameters, limits, and the arguments that a built kernel asks for."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import kernels


def test_catalogue_is_in_reading_order():
    assert kernels.names()[:2] == ("scalar", "tiled")
    rungs = [kernels.get(name).rung for name in kernels.names()]
    assert rungs == sorted(rungs)
    for name in kernels.names():
        spec = kernels.get(name)
        assert spec.question.endswith("?")
        assert spec.phase in ("prefill", "decode")
        assert "def make(config" in spec.source
        question, idea, *look = spec.teaches.splitlines()
        assert question == spec.question
        assert idea == f"The idea: {spec.idea}."
        assert look[-1] == f"In the PTX: {', '.join(spec.brings)}."


@pytest.mark.parametrize("name", kernels.names())
def test_a_rung_says_what_to_look_at(name):
    line = kernels.get(name).teaches.splitlines()[2]
    assert line.startswith("Look at: ")
    assert len(line) > 60


def test_unknown_kernel():
    with pytest.raises(LookupError) as caught:
        kernels.get("tilde")
    listed = ", ".join(kernels.names())
    assert str(caught.value) == f"there is no kernel 'tilde'; did you mean tiled?; choose from {listed}"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("scalar", {"head_dim": 0}, "scalar: head_dim must be a whole number from 1 to 256, not 0"),
        ("scalar", {"head_dim": 257}, "scalar: head_dim must be a whole number from 1 to 256, not 257"),
        ("scalar", {"head_dim": 64.0}, "scalar: head_dim must be a whole number from 1 to 256, not 64.0"),
        ("scalar", {"dtype": "f16"}, "scalar: dtype must be one of 'f32', 'f64', not 'f16'"),
        ("scalar", {"tile_kv": 32}, "scalar has no tile_kv; its parameters are head_dim, causal, dtype, arch, probes"),
        ("tiled", {"warps": 4},
         "tiled has no warps; its parameters are head_dim, causal, dtype, arch, probes, tile_kv"),
        ("tiled", {"head_dim": 128, "tile_kv": 64},
         "tiled: tile_kv=64 with head_dim=128 and f32 needs 65536 bytes of static shared memory; sm_80 has 49152"),
        ("wgmma", {"head_dim": 64, "arch": "sm_90"}, "wgmma: wgmma is an instruction of sm_90a alone, not of sm_90"),
        ("hopper", {"head_dim": 64, "arch": "sm_90"},
         "hopper: wgmma and setmaxnreg are instructions of sm_90a alone, not of sm_90"),
        ("mma", {"head_dim": 40}, "mma: head_dim must be a whole number from 16 to 256 in steps of 16, not 40"),
        ("mma", {"dtype": "f32"}, "mma: dtype must be one of 'f16', 'bf16', not 'f32'"),
        ("mma", {"tile_kv": 48}, "mma: tile_kv must be one of 16, 32, 64, 128, not 48"),
        ("mma", {"tile_q": 64, "warps": 8},
         "mma: tile_q=64 does not give each of 8 warps 16 rows; leave one of the two out"),
        ("mma", {"dtype": "bf16", "arch": "sm_75"}, "mma: bf16 on tensor cores needs sm_80; sm_75 has f16"),
        ("pipelined", {"tile_q": 128, "warps": 2},
         "pipelined: tile_q=128 does not give each of 2 warps 16 or 32 rows; leave one of the two out"),
        ("pipelined", {"arch": "sm_86", "head_dim": 256, "tile_kv": 64, "tile_q": 64},
         "pipelined: tile_q=64, tile_kv=64, warps=4, stages=2 with head_dim=256 and f16 needs 163840 bytes of "
         "shared memory; sm_86 has 101376"),
        ("pipelined", {"head_dim": 128, "tile_kv": 128},
         "pipelined: tile_q=128, tile_kv=128, warps=4 with head_dim=128 need 256 of 255 registers per thread for "
         "O and S alone; take fewer keys, or 16 rows for each warp"),
        ("tiled2d", {"arch": "sm_75", "head_dim": 128, "tile_q": 64, "tile_kv": 64},
         "tiled2d: tile_q=64, tile_kv=64 with head_dim=128 and f32 needs 118784 bytes of shared memory; "
         "sm_75 has 65536"),
    ],
)  # fmt: skip
def test_limits(name, given, message):
    with pytest.raises(pl.TargetError) as caught:
        kernels.get(name).build(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("dtype", "head_dim", "tile"),
    [("f32", 64, 32), ("f32", 128, 32), ("f32", 256, 16), ("f64", 64, 32), ("f64", 128, 16), ("f64", 256, 8)],
)
def test_default_tile_is_halved_until_it_fits(dtype, head_dim, tile):
    assert kernels.get("tiled").build(dtype=dtype, head_dim=head_dim).tile_kv == tile


def test_launch_shape():
    built = kernels.get("scalar").build()
    assert built.launch_shape(2, 8, 4, 129, 500) == ((2, 8, 2), (128, 1, 1), 0)
    assert built.launch_shape(1, 1, 1, 128, 0) == ((1, 1, 1), (128, 1, 1), 0)


def test_a_kernel_is_launched_by_hand():
    q, k, v = pl.reference.random_inputs(1, 2, 1, 40, 50, 16)
    built = kernels.get("scalar").build(head_dim=16)
    o, lse = np.empty_like(q), np.empty(q.shape[:3], np.float32)
    grid, block, shared = built.launch_shape(1, 2, 1, 40, 50)
    pl.launch(built, grid, block, *built.arguments(q, k, v, o, lse, 0.25), shared=shared, device="cpu")
    assert pl.reference.measure(o, lse, q, k, v, scale=0.25).ok


@pytest.mark.sweep(2)
@pytest.mark.assembler
@pytest.mark.parametrize("name", ["scalar", "tiled"])
@pytest.mark.parametrize("given", [{}, {"dtype": "f64", "causal": True}, {"head_dim": 128, "arch": "sm_90"},
                                   {"probes": True, "causal": True, "arch": "sm_75"}])  # fmt: skip
def test_the_assembler_takes_it(name, given):
    built = kernels.get(name).build(**given)
    made = pl.assemble(built.ptx)
    assert 0 < made.registers <= 255
    assert made.shared_bytes >= built.spec.shared_bytes(built.config)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": (1, 2, 4, 8)}, "scalar_f32_d16: q has head_dim 8; the kernel was built for 16"),
        ({"v": (1, 1, 6, 16)}, "scalar_f32_d16: v should have shape [1, 1, 5, 16], not [1, 1, 6, 16]"),
        ({"o": (1, 2, 5, 16)}, "scalar_f32_d16: o should have shape [1, 2, 4, 16], not [1, 2, 5, 16]"),
        ({"q": (4, 16)}, "scalar_f32_d16: q should have shape [B, Hq, Sq, D], not [4, 16]"),
        ({"k": (5, 16)}, "scalar_f32_d16: k should have shape [B, Hkv, Sk, D], not [5, 16]"),
        ({"lse": (2, 4)}, "scalar_f32_d16: lse should have shape [1, 2, 4], not [2, 4]"),
        (
            {"k": (1, 3, 5, 16), "v": (1, 3, 5, 16)},
            "scalar_f32_d16: Hq = 2 should be a multiple of Hkv = 3",
        ),
    ],
)
def test_arguments_that_do_not_fit(changed, message):
    shapes = {"q": (1, 2, 4, 16), "k": (1, 1, 5, 16), "v": (1, 1, 5, 16), "o": (1, 2, 4, 16), "lse": (1, 2, 4)}
    built = kernels.get("scalar").build(head_dim=16)
    with pytest.raises(pl.LaunchError) as caught:
        built.arguments(*(np.zeros(s, np.float32) for s in (shapes | changed).values()), 1.0)
    assert str(caught.value) == message


def test_what_is_no_array():
    array = np.zeros((1, 1, 2, 16), np.float32)
    with pytest.raises(pl.LaunchError) as caught:
        kernels.get("scalar").build(head_dim=16).arguments(array, array, [1.0], array, array[..., 0], 1.0)
    assert str(caught.value) == "scalar_f32_d16: v: expected an array or a device buffer, got list"


def test_numbers_of_numpy_are_whole_numbers_too():
    spec = kernels.get("tiled")
    built = spec.build(head_dim=np.int64(64), tile_kv=np.uint8(16), causal=np.True_)
    assert built is spec.build(head_dim=64, tile_kv=16, causal=True)
    assert type(built.config.tile_kv) is int
    auto = kernels.Config.auto(np.int32(64), np.int64(5), np.int64(7))
    assert auto == kernels.Config.auto(64, 5, 7)
    with pytest.raises(pl.TargetError) as caught:
        spec.build(tile_kv=True)
    assert str(caught.value) == "tiled: tile_kv must be a whole number from 1 to 256, not True"


@pytest.mark.parametrize(
    ("rows", "keys", "message"),
    [
        (2**31, 1, "B * Hq * Sq is 2147483648"),
        (1, 2**31, "B * Hkv * Sk is 2147483648"),
        (1, 2**27, "Sk * D is 2147483648"),
    ],
)
def test_what_is_counted_in_32_bits(rows, keys, message):
    """Arrays of that size are not made here, only said to be there."""
    q, k, lse = (np.broadcast_to(np.zeros(1, np.float32), (1, 1, *s)) for s in ((rows, 16), (keys, 16), (rows,)))
    with pytest.raises(pl.LaunchError) as caught:
        kernels.get("scalar").build(head_dim=16).arguments(q, k, k, q, lse, 1.0)
    assert str(caught.value) == f"scalar_f32_d16: {message}; kernels count it in 32 bits, so it should be below 2**31"

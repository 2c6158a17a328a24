"""Tiles, warps and limits of the prefill kernels: what is built, what is refused, what `Config.auto` chooses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import kernels, reference, targets

KERNELS = ("tiled2d", "wmma", "mma", "swizzle", "pipelined")
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_120")


def test_instructions_that_a_target_does_not_have():
    with pytest.raises(pl.TargetError) as caught:
        kernels.get("pipelined").build(arch="sm_75")
    assert str(caught.value).startswith("pipelined: arch must be one of 'sm_80', 'sm_86'")


@pytest.mark.parametrize("name", KERNELS)
def test_default_tiles_fit_every_target(name):
    spec = kernels.get(name)
    for arch in ARCHS:
        target = targets.get(arch)
        if target.number < spec.sm:
            continue
        for dim in range(16, 257, 16):
            config = spec.configure(head_dim=dim, causal=True, dtype=spec.dtypes[0], arch=arch)
            assert spec.shared_bytes(config) <= target.optin_shared
            assert config.threads <= 256


def test_launch_shape_is_that_of_the_problem():
    built = kernels.get("pipelined").build(head_dim=64)
    assert built.launch_shape(2, 8, 4, 129, 500) == ((2, 8, 2), (128, 1, 1), 32768)
    assert kernels.get("tiled2d").build().launch_shape(1, 3, 3, 64, 0) == ((1, 3, 1), (256, 1, 1), 69632)


@pytest.mark.rest
@pytest.mark.assembler
@pytest.mark.parametrize("name", KERNELS)
def test_nothing_spills(name):
    spec = kernels.get(name)
    for dim, arch in ((64, "sm_80"), (128, "sm_90"), (256, "sm_120")):
        made = pl.assemble(spec.build(head_dim=dim, causal=True, arch=arch).ptx)
        assert 0 < made.registers <= 255
        assert made.spill_bytes == 0


# -- Config.auto -------------------------------------------------------------------------------------------------------


def test_auto_takes_the_quickest_rung_that_fits():
    auto = kernels.Config.auto
    assert auto(64, 512, 512).kernel == "pipelined"
    assert auto(64, 512, 512, arch="sm_75").kernel == "swizzle"
    assert auto(64, 512, 512, dtype="bf16", arch="sm_90").kernel == "pipelined"
    assert auto(64, 512, 512, dtype="f32").kernel == "tiled2d"
    assert auto(65, 512, 512, dtype="f32").kernel == "tiled"
    assert auto(64, 512, 512, dtype="f64").kernel == "tiled"


def test_auto_says_what_it_chose_and_why():
    chosen = kernels.Config.auto(64, 512, 512, arch="sm_75")
    assert repr(chosen).splitlines()[:3] == [
        "swizzle for f16, head_dim 64, sm_75",
        "  64 query rows x 64 keys per tile, 4 warps",
        "  16384 of 49152 bytes of shared memory",
    ]
    assert "not pipelined: arch must be one of" in repr(chosen)
    small = kernels.Config.auto(64, 20, 10)
    assert (small.tile_q, small.tile_kv, small.warps) == (32, 16, 1)
    assert repr(small).splitlines()[1:] == [
        "  32 query rows x 16 keys per tile, 1 warp, 2 stages",
        "  8192 of 49152 bytes of shared memory",
        "  tile_q 32, not 128: there are 20",
        "  tile_kv 16, not 64: there are 10",
    ]
    assert chosen.tiles(512, 500) == (8, 8)
    assert chosen.build() is kernels.get("swizzle").build(arch="sm_75")
    assert repr(kernels.Config.auto(8, 9, 9, dtype="f64", kernel="scalar")).splitlines() == [
        "scalar for f64, head_dim 8, sm_80",
        "  128 query rows x one key at a time, 4 warps",
        "  0 of 49152 bytes of shared memory",
    ]


@pytest.mark.sweep(8)
@pytest.mark.parametrize("arch", list(targets.TARGETS))
def test_auto_never_exceeds_a_limit(arch):
    """For every target, and every head_dim up to 256; and what it says it will build is what is built."""
    target = targets.get(arch)
    for dim, dtype in itertools.product(range(8, 257, 8), ("f16", "bf16", "f32", "f64")):
        if dtype in ("f16", "bf16") and (dim % 16 or target.number < (70 if dtype == "f16" else 80)):
            continue
        for rows, keys in ((0, 0), (1, 1), (100, 1000), (4096, 4096)):
            chosen = kernels.Config.auto(dim, rows, keys, True, dtype, arch)
            spec = kernels.get(chosen.kernel)
            limit = target.optin_shared if spec.dynamic else target.static_shared
            assert chosen.shared_bytes <= limit
            assert chosen.threads <= 256 or spec.alone
            assert f"{chosen.shared_bytes} of " in repr(chosen)
            taken = {
                name: getattr(chosen, name)
                for name in ("tile_q", "tile_kv", "warps", "stages")
                if name in spec.parameters
            }
            again = spec.configure(head_dim=dim, causal=True, dtype=dtype, arch=arch, **taken)
            assert again == chosen


def test_auto_takes_what_a_multiprocessor_holds_twice():
    """What was quickest on an H100 where there is memory for it, smaller tiles where there is not."""

    def tiles(dim, arch):
        chosen = kernels.Config.auto(dim, 4096, 4096, False, "bf16", arch)
        return chosen.tile_q, chosen.tile_kv, chosen.warps

    assert [tiles(dim, "sm_90") for dim in (64, 128, 192, 256)] == [
        (128, 64, 4),
        (128, 64, 4),
        (64, 64, 4),
        (128, 64, 8),
    ]
    assert [tiles(dim, "sm_89") for dim in (64, 128, 192, 256)] == [
        (128, 64, 4),
        (64, 32, 4),
        (64, 32, 4),
        (128, 16, 8),
    ]


def test_auto_where_nothing_fits():
    with pytest.raises(pl.TargetError) as caught:
        kernels.Config.auto(64, 8, 8, dtype="bf16", arch="sm_75")
    assert str(caught.value).startswith(
        "no kernel takes bf16 with head_dim=64 on sm_75; not pipelined: arch must be one of"
    )
    assert str(caught.value).endswith("; not swizzle nor mma: bf16 on tensor cores needs sm_80; sm_75 has f16")
    with pytest.raises(pl.TargetError) as caught:
        kernels.Config.auto(64, 8, 8, dtype="s8")
    assert str(caught.value) == "dtype must be one of 'f64', 'f32', 'f16', 'bf16', not 's8'"
    with pytest.raises(pl.TargetError) as caught:
        kernels.Config.auto(24, 8, 8)
    assert str(caught.value) == (
        "no kernel takes f16 with head_dim=24 on sm_80; not pipelined nor swizzle nor mma nor wmma: "
        "head_dim must be a whole number from 16 to 256 in steps of 16, not 24"
    )
    for rows, keys, message in (
        (-1, 8, "seq_q must be a whole number of at least 0, not -1"),
        (8, 0.5, "seq_kv must be a whole number of at least 0, not 0.5"),
    ):
        with pytest.raises(pl.TargetError) as caught:
            kernels.Config.auto(64, rows, keys)
        assert str(caught.value) == message
    with pytest.raises(pl.TargetError) as caught:
        kernels.Config.auto(64, 8, 8, arch="sm_99")
    assert str(caught.value).startswith("target: there is no 'sm_99' here; choose from sm_50, ")


# -- the systems that the library covers -------------------------------------------------------------------------------


@pytest.mark.sweep(7)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("dim", [1, 2, 64, 256])
def test_system_a(dtype, dim):
    """f32 and f64, head_dim a power of two to 256, causal, a scale given at run time, any target with its version."""
    for arch, version in (
        ("sm_75", "6.3"),
        ("sm_80", "7.0"),
        ("sm_86", "7.1"),
        ("sm_89", "7.8"),
        ("sm_90", "7.8"),
        ("sm_120", "8.7"),
    ):
        built = kernels.get("tiled").build(head_dim=dim, dtype=dtype, causal=True, arch=arch)
        assert built.name == f"tiled_{dtype}_d{dim}_causal"
        assert f".version {version}\n.target {arch}\n" in built.ptx
    q, k, v = reference.random_inputs(1, 1, 1, 5, 9, dim, dtype=kernels.DTYPES[dtype])
    built = kernels.get("tiled").build(head_dim=dim, dtype=dtype, causal=True)
    for scale in (0.3, 1.0):
        assert pl.attention(q, k, v, kernel=built, causal=True, scale=scale, device="cpu").error.ok


@pytest.mark.sweep(10)
@pytest.mark.parametrize("tile", [1, 2, 4, 7, 8, 16, 32, 64, 128, 256])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_system_a_block_seq(dtype, tile):
    """Tiles of 1 to 256 keys where shared memory holds them, and an error where it does not."""
    q, k, v = reference.random_inputs(1, 1, 1, 3, 300, 8, dtype=kernels.DTYPES[dtype])
    built = kernels.get("tiled").build(head_dim=8, dtype=dtype, tile_kv=tile)
    assert pl.attention(q, k, v, kernel=built, device="cpu").error.ok
    if tile == 256:
        with pytest.raises(pl.TargetError) as caught:
            kernels.get("tiled").build(head_dim=64, dtype=dtype, tile_kv=tile)
        assert str(caught.value) == (
            f"tiled: tile_kv=256 with head_dim=64 and {dtype} needs {512 * 64 * (4 if dtype == 'f32' else 8)} bytes of "
            "static shared memory; sm_80 has 49152"
        )


@pytest.mark.long
def test_system_b():
    """Tiles of queries and keys that are clamped to the problem, heads on the grid's y, [H, S, D] in f32."""
    chosen = kernels.Config.auto(64, 30, 20, True, "f32", kernel="tiled2d")
    assert (chosen.tile_q, chosen.tile_kv) == (32, 32)
    q, k, v = (x[0] for x in reference.random_inputs(1, 3, 3, 30, 20, 64))
    out = pl.attention(q, k, v, kernel=chosen.build(), causal=True, scale=0.2, device="cpu")
    assert out.run.grid == (1, 3, 1)
    assert out.error.ok
    given = kernels.get("tiled2d").build(head_dim=64, tile_q=16, tile_kv=32)
    assert pl.attention(q, k, v, kernel=given, device="cpu").run.grid == (2, 3, 1)


def test_system_c():
    """f32 in memory, rounded to f16 on the way to shared memory, m16n16k16, sums in f32."""
    built = kernels.get("wmma").build(dtype="f32")
    assert built.precision == "float16"
    opcodes = {i.opcode for i in built.module.kernels[0].instructions()}
    assert {"ld.global.v4.f32", "cvt.rn.f16x2.f32", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"} <= opcodes
    q, k, v = reference.random_inputs(1, 2, 2, 70, 70, 64)
    out = pl.attention(q, k, v, kernel=built, device="cpu")
    assert out.o.dtype == np.float32
    assert out.error.ok
    assert out.error.tolerance < 2e-3


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("dtype", "rung"), [("f64", "tiled"), ("f32", "tiled2d"), ("f16", "pipelined"), ("bf16", "pipelined")]
)
def test_system_h_takes_every_type(dtype, rung):
    q, k, v = reference.random_inputs(1, 2, 1, 20, 33, 16, dtype=kernels.DTYPES[dtype])
    out = pl.attention(q, k, v, causal=True, device="cpu")
    assert out.kernel.spec.name == rung
    assert out.error.ok


@pytest.mark.rest
@pytest.mark.assembler
def test_each_kernel_assembles_for_the_oldest_target_that_it_takes():
    """The PTX version of a kernel is one that has all of its instructions: wmma.*.aligned came after sm_70."""
    for name in kernels.names("prefill"):
        spec = kernels.get(name)
        oldest = max(spec.parameters["arch"].choices[0], "sm_70")  # older ones are gone from the assembler
        made = pl.gpu.assemble(spec.build(head_dim=max(16, spec.step), arch=oldest))
        assert made.registers > 0
    assert kernels.get("wmma").build(arch="sm_70").ptx.startswith(".version 6.3\n")

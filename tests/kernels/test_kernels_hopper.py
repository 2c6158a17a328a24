"""The rungs for Hopper: against float64 on the emulator, with all checks, and through NVIDIA's assembler."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, DEVICES
from slow_cases import slow

import ptxlab as pl
from ptxlab import kernels
from ptxlab.errors import LaunchError, TargetError
from ptxlab.gpu import assembler, ptxas
from ptxlab.gpu.device import describe

NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
SHAPES = [(1, 1, 1, 64, 128), (2, 4, 2, 70, 200), (1, 2, 1, 130, 65), (1, 1, 1, 5, 0), (1, 1, 1, 1, 300)]
"""B, Hq, Hkv, Sq, Sk."""


def tensors(dtype: str, dim: int, shape: tuple[int, ...], sigma: float = 1.0) -> list[np.ndarray]:
    b, hq, hkv, sq, sk = shape
    rng = np.random.default_rng(sq + sk)
    made = [rng.standard_normal(s) for s in ((b, hq, sq, dim), (b, hkv, sk, dim), (b, hkv, sk, dim))]
    made[0] *= sigma
    return [x.astype(NUMPY[dtype]) for x in made]


NARROW = {"wgmma": {"tile_kv": 32}, "hopper": {"tile_kv": 32, "tile_q": 128}}
"""Small tiles of each rung."""
LARGE = (("f16", 64), ("bf16", 128), ("f16", 192), ("f16", 256))
SLOW = pytest.mark.slow
compiled = pytest.mark.skipif("cpu" not in DEVICES, reason="llvmlite is not installed")


@pytest.mark.long
@pytest.mark.sweep(3)
@compiled
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("name", "dtype", "dim", "tiles"),
    [
        ("wgmma", "f16", 64, {}),
        ("wgmma", "bf16", 128, {}),
        ("hopper", "f16", 64, {"tile_q": 128, "tile_kv": 64}),
        *slow([("wgmma", "f16", 256, {}), *(("hopper", dtype, dim, {}) for dtype, dim in LARGE)]),
    ],
)
def test_against_float64(name: str, dtype: str, dim: int, tiles: dict[str, int], causal: bool) -> None:
    built = kernels.get(name).build(head_dim=dim, dtype=dtype, causal=causal, arch="sm_90a", **tiles)
    for n, shape in enumerate((*SHAPES, (1, 2, 1, 200, 600))):
        q, k, v = tensors(dtype, dim, shape, (1.0, 0.1, 8.0)[n % 3])
        out = pl.attention(q, k, v, kernel=built, causal=causal, device="cpu", scale=-0.1 if n == 1 else None)
        assert out.error.ok, (shape, out.error)


@pytest.mark.gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dim", [64, 128, 192, 256])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["wgmma", "hopper"])
def test_on_a_gpu(name: str, dtype: str, dim: int, causal: bool) -> None:
    if (arch := describe().arch) != "sm_90":
        pytest.skip(f"{name} does not run on {arch}")
    built = kernels.get(name).build(head_dim=dim, dtype=dtype, causal=causal, arch="sm_90a")
    for n, shape in enumerate((*SHAPES, (1, 2, 1, 200, 600), (1, 1, 1, 1, 1))):
        q, k, v = tensors(dtype, dim, shape, (1.0, 0.1, 8.0)[n % 3])
        for state in (False, True):  # with the probes it is another kernel
            out = pl.attention(
                q, k, v, kernel=built, causal=causal, device="gpu", scale=-0.1 if n == 1 else None, state=state
            )
            assert out.error.ok, (shape, out.error)


@pytest.mark.gpu
@pytest.mark.parametrize("dim", [64, 80, 128, 256])
def test_auto_takes_the_quickest_rung_of_the_gpu(dim: int) -> None:
    """An H100 runs `hopper` where it takes the head_dim: nothing has to be said for it."""
    quickest = "hopper" if describe().arch == "sm_90" and not dim % 64 else "pipelined"
    for shape in ((1, 2, 1, 200, 600), (1, 1, 1, 3, 5)):
        out = pl.attention(*tensors("bf16", dim, shape), device="gpu")
        assert out.kernel.config.kernel == quickest
        assert out.error.ok


@compiled
@pytest.mark.long
@pytest.mark.sweep(2)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["wgmma", pytest.param("hopper", marks=SLOW)])
def test_all_checks_are_silent(name: str, causal: bool) -> None:
    built = kernels.get(name).build(head_dim=64, causal=causal, arch="sm_90a", **NARROW[name])
    for shape in ((1, 2, 1, 130, 200), (1, 1, 1, 70, 33), (1, 2, 1, 64, 32)):
        out = pl.attention(*tensors("f16", 64, shape), kernel=built, causal=causal, device="cpu", checks=ALL_CHECKS)
        assert out.error.ok
        assert not out.run.findings


@pytest.mark.sweep(2)
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "tiles"),
    [
        ("wgmma", {"tile_kv": 32}),
        ("hopper", {"tile_q": 128, "tile_kv": 16}),
        *slow(("hopper", {"tile_q": 64 * consumers, "tile_kv": 16}) for consumers in (1, 3)),
    ],
)
def test_on_the_interpreter(name: str, tiles: dict[str, int]) -> None:
    built = kernels.get(name).build(head_dim=64, dtype="bf16", causal=True, arch="sm_90a", **tiles)
    out = pl.attention(
        *tensors("bf16", 64, (1, 1, 1, 66, 40)), kernel=built, causal=True, device="step", checks=ALL_CHECKS
    )
    assert out.error.ok
    assert not out.run.findings


@pytest.mark.long
def test_engines_agree_on_the_state() -> None:
    built = kernels.get("wgmma").build(head_dim=64, causal=True, arch="sm_90a", tile_kv=32)
    q, k, v = tensors("f16", 64, (1, 1, 1, 64, 70))
    results = [
        pl.attention(q, k, v, kernel=built, causal=True, device=d, state=[(0, 0, 5), (0, 0, 63)]) for d in DEVICES
    ]
    for result in results[1:]:
        assert (result.o.view(np.uint16) == results[0].o.view(np.uint16)).all()


@compiled
@pytest.mark.slow
def test_the_state_is_that_of_the_rung_before() -> None:
    """m, l and the factors of some rows, tile by tile, as `wgmma` has them; the last rows see every key."""
    q, k, v = tensors("f16", 64, (1, 2, 1, 130, 100))
    rows = [(0, 0, 5), (0, 1, 129)]
    states = []
    for name in ("wgmma", "hopper"):
        built = kernels.get(name).build(head_dim=64, causal=True, arch="sm_90a", **NARROW[name])
        states.append(pl.attention(q, k, v, kernel=built, causal=True, device="cpu", state=rows).state)
    np.testing.assert_allclose(states[1], states[0], rtol=2e-5)


@compiled
@pytest.mark.slow
@pytest.mark.parametrize(("name", "tile"), [("hopper", 64), ("pipelined", 16)])
def test_the_block_of_a_row(name: str, tile: int) -> None:
    """A causal grid begins with the last rows; the traced block has the row, its head and its sequence."""
    spec = kernels.get(name)
    built = spec.build(causal=True, head_dim=64, tile_kv=16, tile_q=tile, arch="sm_90a" if name == "hopper" else None)
    q, k, v = tensors("f16", 64, (2, 3, 1, 2 * tile + 9, 40))
    grid = built.launch_shape(2, 3, 1, 2 * tile + 9, 40)[0]
    assert grid == ((6, 3, 1) if name == "hopper" else (3, 3, 2))
    rows = [(0, 0, 0), (1, 2, 2 * tile + 8), (1, 0, tile + 1)]
    blocks = [built.block_of(grid, 3, *row) for row in rows]
    out = pl.attention(q, k, v, kernel=built, causal=True, device="cpu", trace=pl.Trace(blocks=blocks, warps=0))
    for block, (batch, head, row) in zip(blocks, rows, strict=True):
        end = out.run.trace.walk(block, 0)
        end.seek(-1)
        found = [int(end.registers[f"%{name}"][0]) for name in ("first_row", "head", "batch")]
        assert found == [row // tile * tile, head, batch]


def test_causal_blocks_of_heads_that_fit_into_the_l2_cache() -> None:
    """The rest of a problem's heads come later, in z; other builds keep rows in x."""
    causal, full = (kernels.get("hopper").build(head_dim=128, causal=c, arch="sm_90a") for c in (True, False))
    assert causal.launch_shape(1, 16, 16, 4096, 4096)[0] == (16, 32, 1)
    assert causal.launch_shape(2, 16, 16, 16384, 16384)[0] == (4, 128, 8)  # 8 MiB each, 6 do not divide 32
    assert causal.launch_shape(2, 16, 4, 16384, 16384)[0] == (16, 128, 2)
    assert causal.launch_shape(1, 7, 7, 10, 1 << 20)[0] == (1, 1, 7)
    assert full.launch_shape(2, 16, 4, 4096, 4096)[0] == (32, 16, 2)


def test_the_configurations() -> None:
    spec = kernels.get("hopper")
    sizes = {d: spec.configure(head_dim=d, causal=False, dtype="f16", arch="sm_90a") for d in (64, 128, 192, 256)}
    assert {d: (c.tile_q, c.tile_kv, c.warps, spec.shared_bytes(c)) for d, c in sizes.items()} == {
        64: (192, 128, 16, 90112),
        128: (128, 128, 12, 163840),
        192: (128, 64, 12, 147456),
        256: (128, 64, 12, 196608),
    }
    assert spec.build(head_dim=64, arch="sm_90a", tile_q=64).config.threads == 256
    with pytest.raises(TargetError, match=r"160 registers .* O alone takes 128 .* tile_q=128"):
        spec.build(head_dim=256, arch="sm_90a", tile_q=192)  # ptxas refuses it for the same reason


def test_small_problems_get_small_tiles() -> None:
    chosen = kernels.Config.auto(64, 50, 20, arch="sm_90a", kernel="hopper")
    assert (chosen.tile_q, chosen.tile_kv, chosen.warps) == (64, 32, 8)


def test_arrays_for_tensor_maps() -> None:
    """A launch makes the maps of the arrays that it is given; one of other dimensions is refused."""
    built = kernels.get("hopper").build(head_dim=64, arch="sm_90a", **NARROW["hopper"])
    q, k, v = tensors("f16", 64, (1, 1, 1, 3, 3))
    lse = np.zeros((1, 1, 3), np.float32)
    arguments = [q[0], *built.arguments(q, k, v, np.zeros_like(q), lse, 1.0)[1:]]
    with pytest.raises(LaunchError) as raised:
        pl.launch(built, 1, built.config.threads, *arguments, shared=built.launch_shape(1, 1, 1, 3, 3)[2])
    assert str(raised.value) == (
        "hopper_f16_d64, argument 1 (q: TensorMap): expected an array of 4 dimensions, got an array of "
        "float16 [1, 3, 64]"
    )


@pytest.mark.rest
@pytest.mark.assembler
def test_the_machine_code_has_the_tensor_cores_and_the_copies() -> None:
    """And, where ptxas made it, registers move between the roles, nothing spills, and only the kernel's waits wait."""
    ptx = kernels.get("hopper").build(head_dim=64, tile_q=128, tile_kv=64, arch="sm_90a").ptx
    sass = pl.sass(ptx)
    shown = str(sass)
    if sass.assembly.assembler.startswith("ptxas "):
        assert shown.count("USETMAXREG") == 2
        assert shown.count("WARPGROUP.DEPBAR") == ptx.count("wgmma.wait_group")
        assert "STL" not in shown
    assert shown.count("HGMMA") == 2 * (64 // 16) + 2 * (64 // 16)
    assert shown.count("UTMALDG") == 2 + 2
    assert shown.count("UTMASTG") == 1


@pytest.mark.slow
@pytest.mark.skipif(not ptxas.path(), reason="no ptxas: neither on the PATH nor named by the variable PTXAS")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("dtype", "dim"), [("f16", 64), ("bf16", 128), ("f16", 192), ("bf16", 256)])
def test_ptxas_spills_nothing_and_waits_nowhere_else(dtype: str, dim: int, causal: bool) -> None:
    made = pl.gpu.assemble(kernels.get("hopper").build(head_dim=dim, dtype=dtype, causal=causal))
    assert made.assembler.startswith("ptxas ")
    assert made.spill_bytes == 0
    assert "0 bytes spill stores, 0 bytes spill loads" in made.log
    for word in ("serialized", "ignored", "injected"):
        assert word not in made.log


@pytest.mark.rest
@pytest.mark.assembler
@pytest.mark.parametrize(("dtype", "dim"), [("f16", 64), ("bf16", 128), ("f16", 128), ("bf16", 256)])
def test_the_assembler_spills_nothing_and_waits_nowhere_else(dtype: str, dim: int) -> None:
    for causal in (False, True):
        built = kernels.get("wgmma").build(head_dim=dim, dtype=dtype, causal=causal, arch="sm_90a")
        made = assembler.assemble(built.ptx)
        assert made.spill_bytes == 0
        assert "serialized" not in made.log
        assert str(pl.sass(built.ptx)).count("HGMMA") == dim // 16 + built.tile_kv // 16

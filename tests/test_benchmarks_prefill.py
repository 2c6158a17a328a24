"""The prefill benchmarks: the table of registers is whole and fresh; the timing runs as far as there is hardware."""

from __future__ import annotations

import contextlib
import json
import random
import sys
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ptxlab as pl
from ptxlab import gpu, kernels, reference, targets
from ptxlab.gpu.disassembler import find_nvdisasm
from ptxlab.kernels.spec import entry_name

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def bench(monkeypatch):
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import prefill

    return prefill


@pytest.fixture
def table(monkeypatch):
    """The script that makes the table of registers, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import prefill_registers

    return prefill_registers


def cells(table):
    """The committed rows, as {heading: cell}."""
    rows = table.RESULT.read_text(encoding="utf-8").splitlines()[6:]
    return [dict(zip(table.HEAD, row.strip("| ").split(" | "), strict=True)) for row in rows]


def test_the_table_of_registers_has_every_build_and_nothing_spills(table):
    rows = {(row["kernel"], row["target"]): row for row in cells(table)}
    wanted = 0
    for name in table.RUNGS:
        spec = kernels.get(name)
        for arch in table.ARCHS:
            for dtype in spec.dtypes:
                if targets.get(arch).number < max(spec.sm, 80 if dtype == "bf16" else 0):
                    continue
                for dim in range(16, 257, 16):
                    config = spec.configure(head_dim=dim, causal=False, dtype=dtype, arch=arch)
                    row = rows[entry_name(name, config), arch]
                    assert row["tile"].split(", ")[0] == f"{config.tile_q} x {config.tile_kv}"
                    assert row["warps"] == str(config.warps)
                    assert row["shared bytes"] == str(spec.shared_bytes(config))
                    assert 0 < int(row["registers, full"]) <= 255
                    assert 0 < int(row["causal"]) <= 255
                    assert row["spilled bytes"] == "0"
                    wanted += 1
    assert len(rows) == len(cells(table)) == wanted == 800


def fresh(table, row):
    """Whether a row is what the assembler says now."""
    name, dtype, dim = row["kernel"].split("_")
    spec = kernels.get(name)
    case = table.Case(*(spec.build(head_dim=int(dim[1:]), causal=c, dtype=dtype, arch=row["target"])
                        for c in (False, True)))  # fmt: skip
    assert case.row().strip("| ").split(" | ") == list(row.values())


@pytest.mark.assembler
@pytest.mark.parametrize("name", ["tiled2d", "wmma", "mma", "swizzle", "pipelined"])
def test_the_table_of_registers_is_fresh(table, name):
    rows = [row for row in cells(table) if row["kernel"].startswith(f"{name}_") and row["kernel"].endswith("_d64")]
    fresh(table, rows[-1])


@pytest.mark.slow
@pytest.mark.assembler
def test_the_table_of_registers_is_fresh_elsewhere(table):
    for row in random.Random(0).sample(cells(table), 60):
        fresh(table, row)


@pytest.mark.skipif(gpu.available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_and_ends(bench, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["prefill.py"])
    assert bench.main() == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "no NVIDIA GPU, or no driver for it: nothing is measured (--device cpu --quick shows that it all runs)"
    )


def test_on_the_cpu_machine(bench, monkeypatch, capsys, tmp_path):
    file = tmp_path / "figures.json"
    argv = ["prefill.py", "--device", "cpu", "--quick", "--kernels", "swizzle", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", argv)
    assert bench.main() == 0
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert figures["device"] == "the CPU machine"
    assert figures["notes"] == ["no torch with CUDA: the rungs are measured alone, with nothing to compare them with"]
    assert [(row["dim"], row["causal"]) for row in figures["rows"]] == [
        (64, False), (64, True), (128, False), (128, True)]  # fmt: skip
    for row in figures["rows"]:
        assert row["kernel"] == "swizzle"
        assert row["ok"]
        assert 0 < row["error"] <= row["tolerance"] < 0.1
        assert row["tflops"] > 0
        assert row["flash"] is None
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].startswith("| kernel | type | D | causal | S | time | TFLOP/s |")
    assert len(shown) == 1 + 2 + 4 + 1


def test_a_wrong_result_is_noticed(bench):
    problem = bench.Problem(64, True, 64, 128, 128)
    host = [x.reshape(-1) for x in reference.random_inputs(2, 2, 2, 64, 64, 64, dtype="bfloat16")]
    q, k, v = (x.reshape(problem.shape) for x in host)
    right = reference.attention(q, k, v, causal=True).o.astype(ml_dtypes.bfloat16)
    assert bench.checked(problem, host, right, None, "bf16", 64).ok
    wrong = right.copy()
    wrong[1, 1, 63, 5] += 1
    assert not bench.checked(problem, host, wrong, None, "bf16", 64).ok


class Tensor:
    """What the benchmark asks of torch's tensors, with numpy underneath."""

    def __init__(self, array):
        self.array = array

    def view(self, to):
        return Tensor(self.array.view(to) if isinstance(to, np.dtype) else self.array.reshape(to))

    def cuda(self):
        return self

    cpu = contiguous = cuda

    def numpy(self):
        return self.array


class Event:
    """A CUDA event of a GPU on which everything takes 1 ms."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        pass

    synchronize = record

    def elapsed_time(self, end):
        return 1.0


def test_beside_torch(bench, monkeypatch):
    """The whole way with a stand-in for torch that knows one of the two back ends."""
    forced = []

    @contextlib.contextmanager
    def sdpa_kernel(backend):
        forced.append(backend)
        yield
        forced.pop()

    def scaled_dot_product_attention(q, k, v, *, is_causal):
        if forced != ["flash"]:
            raise RuntimeError("No available kernel. Aborting execution.\nMore.")
        o = reference.attention(*(x.array for x in (q, k, v)), causal=is_causal).o
        return Tensor(o.astype(ml_dtypes.bfloat16))

    attention = types.ModuleType("torch.nn.attention")
    attention.SDPBackend = types.SimpleNamespace(FLASH_ATTENTION="flash", CUDNN_ATTENTION="cudnn")
    attention.sdpa_kernel = sdpa_kernel
    torch = types.ModuleType("torch")
    torch.from_numpy, torch.int16, torch.bfloat16 = Tensor, np.dtype(np.int16), np.dtype(ml_dtypes.bfloat16)
    torch.cuda = types.SimpleNamespace(Event=Event)
    torch.nn = types.SimpleNamespace(
        functional=types.SimpleNamespace(scaled_dot_product_attention=scaled_dot_product_attention)
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.nn", types.ModuleType("torch.nn"))
    monkeypatch.setitem(sys.modules, "torch.nn.attention", attention)
    monkeypatch.setattr(bench, "find_torch", lambda: (torch, lambda: None))
    monkeypatch.setattr(bench, "_gpu", lambda: types.SimpleNamespace(arch="sm_90"))
    here = types.SimpleNamespace(
        launch=lambda *args, device, **given: pl.launch(*args, device="cpu", **given),
        empty=lambda *args, device: pl.empty(*args, device="cpu"),
        to_device=lambda array, device: pl.to_device(array, device="cpu"),
    )
    monkeypatch.setattr(bench, "pl", here)

    found = list(bench.run([bench.Problem(64, True, 64, 64, 128)], ["mma", "swizzle"], "gpu", quick=True))
    flash, missing, mma, swizzle = found
    assert (flash.kernel, flash.seconds, flash.flash, flash.ok) == ("torch flash", 1e-3, 1.0, True)
    assert missing == "no torch cuDNN: No available kernel. Aborting execution."
    assert mma.ok
    assert mma.flash == pytest.approx(1e-3 / mma.seconds)
    assert swizzle.before == pytest.approx(mma.seconds / swizzle.seconds)
    piped = bench.Row("pipelined", "bf16", 64, True, 64, 1e-3, 1.0, 0.0, 1.0, True, flash=1.25)
    assert bench.summary([flash, mma, piped]) == [
        "D = 64: pipelined is 1.25 to 1.25 times as fast as torch's flash back end; 1.00 is asked for: reached"
    ]


@pytest.fixture
def profile(monkeypatch):
    """The script that looks at the main loops in machine code, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import sass_profile

    return sass_profile


LISTING = """
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDSM.16.M88.4 R4, [R1] ;
        /*0020*/                   HMMA.16816.F32.BF16 R20, R8, R30, R20 ;
        /*0030*/              @!P0 HMMA.16816.F32.BF16 R24, R8, R6.reuse, R24 ;
        /*0040*/                   LDSM.16.MT88.4 R30, [R1+0x10] ;
        /*0050*/                   HMMA.16816.F32.BF16 R20, R4, RZ, R20 ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
.L_x_1:
        /*0070*/                   BRA `(.L_x_1);
"""


def test_the_profile_counts_and_measures(profile):
    loop = profile.main_loop(LISTING)
    assert [text.split(".")[0].split()[0] for text in loop.code] == ["LDSM", "HMMA", "HMMA", "LDSM", "HMMA", "BRA"]
    assert loop.kinds == {"HMMA": 3, "LDSM": 2, "BRA": 1}
    # the first load is read by the second product behind it, the second one by the first product of the next round
    assert loop.load_distances() == [(1, 1), (3, 1)]
    assert loop.sum_distances() == [2]
    with pytest.raises(ValueError, match=r"^no loop multiplies$"):
        profile.main_loop(LISTING.replace("HMMA", "FFMA"))


@pytest.mark.assembler
@pytest.mark.skipif(find_nvdisasm() is None, reason="needs nvdisasm")
@pytest.mark.parametrize(("dim", "keys", "most"), [(64, 128, 1120), (128, 64, 900)])
def test_the_main_loop_on_hopper_has_nothing_to_spare(profile, dim, keys, most):
    """Per tile and warp of `pipelined`, in machine code: the products, four instructions for each exponential, O's
    rescaling, the loads and the copies; no masking, no spilling, and hardly an instruction for addresses."""
    built = kernels.get("pipelined").build(head_dim=dim, dtype="bf16", arch="sm_90", causal=True)
    assert (built.config.tile_q, built.tile_kv, built.config.warps) == (128, keys, 4)
    found = profile.Profile.of(built, "sm_90")
    assert (found.spilled, found.blocks) == (0, 2)
    count = found.loop.kinds
    assert count["HMMA"] == 2 * (dim // 16) * (keys // 8) * 2  # 32 rows
    assert count["LDSM"] == 2 * (dim // 16) * (keys // 16) + 2 * (dim // 16)  # K, V, and Q again
    assert count["MUFU"] == 32 * keys // 32 + 4
    assert count["LDGSTS"] == 2 * keys * dim * 2 // 16 // 128
    assert count["BAR"] == 1
    assert count["VOTE"] == (keys <= 64)  # whether O is rescaled at all
    assert not {"FSEL", "LDL", "STL", "LDG", "STS"} & set(count)
    assert len(found.loop.code) <= most


@pytest.mark.assembler
@pytest.mark.skipif(find_nvdisasm() is None, reason="needs nvdisasm")
@pytest.mark.parametrize(("name", "dim"), [("pipelined", 128), ("decode_gqa", 128)])
def test_products_seldom_wait_for_their_loads(profile, name, dim):
    """Of the loads of K, V and Q hardly any is read by the very next product, and sums rest for a few products."""
    (built, *_) = profile.builds("sm_90", [name], [dim])
    loop = profile.Profile.of(built, "sm_90").loop
    loads = loop.load_distances()
    assert len(loads) == loop.kinds["LDSM"]
    assert sum(products == 0 for _, products in loads) <= len(loads) // 8
    assert loop.sum_distances()[0] >= 2

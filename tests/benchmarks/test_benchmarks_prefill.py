"""The prefill benchmarks: the table of registers is whole and fresh; the timing runs as far as there is hardware."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest
from slow_cases import slow

from benchmarks.gpu import ladder, prefill, timing
from benchmarks.gpu.contest import Problem
from benchmarks.gpu.record import DONE
from ptxlab import kernels, targets
from ptxlab.kernels.spec import entry_name

ROOT = Path(__file__).resolve().parents[2]


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


@pytest.mark.long
@pytest.mark.sweep(4)
@pytest.mark.assembler
@pytest.mark.parametrize("chosen", ["tiled2d", "wmma", "mma", "swizzle", "pipelined", *slow(["any"])])
def test_the_table_of_registers_is_fresh(table, chosen):
    """A row of each kernel, or 60 of any, are what the assembler says now."""
    rows = cells(table)
    if chosen == "any":
        rows = random.Random(0).sample(rows, 60)
    else:
        rows = [r for r in rows if r["kernel"].startswith(f"{chosen}_") and r["kernel"].endswith("_d64")][-1:]
    for row in rows:
        name, dtype, dim = row["kernel"].split("_")
        spec = kernels.get(name)
        case = table.Case(
            *(spec.build(head_dim=int(dim[1:]), causal=c, dtype=dtype, arch=row["target"]) for c in (False, True))
        )
        assert case.row().strip("| ").split(" | ") == list(row.values())


# -- the times ---------------------------------------------------------------------------------------------------------


def one_problem(monkeypatch, *more):
    """The part measures this problem alone, and all kernels at that."""
    chosen = [Problem(64, True, 64, "bf16", 128, 128, most=3), *more]
    monkeypatch.setattr(prefill, "problems", lambda small: chosen)
    monkeypatch.setattr(prefill, "find_triton", lambda: (None, "not installed: pip install triton"))
    return chosen


def main(monkeypatch, *options):
    """The part as from its command line, on the emulator."""
    monkeypatch.setattr(sys, "argv", ["prefill", "--device", "cpu", *map(str, options)])
    return prefill.main()


@pytest.mark.rest
@pytest.mark.long
def test_on_the_cpu_machine_and_again(monkeypatch, capsys, tmp_path):
    file = tmp_path / "prefill.json"
    (tmp_path / "facts.json").write_text('{"rows": [{"what": "bf16 product", "tflops": 600.0}]}')
    one_problem(monkeypatch)
    assert main(monkeypatch, "--json", file) == DONE
    printed = capsys.readouterr().out
    assert "TFLOP/s: 4 * B * H * Sq * Sk * D operations (half with the causal mask)" in printed
    assert timing.METHOD in printed
    found = json.loads(file.read_text(encoding="utf-8"))
    assert [one["what"] for one in found["missing"]] == ["torch", "Triton"]
    assert [row["kernel"] for row in found["rows"]] == ["hopper", "pipelined", "wgmma", "swizzle", "mma"]
    for row in found["rows"]:
        assert (row["dtype"], row["dim"], row["causal"], row["seq"]) == ("bf16", 64, True, 64)
        assert 0 < row["error"] < 0.02
        assert row["tflops"] == pytest.approx(4 * 2 * 2 * 64 * 64 * 64 / 2 / row["seconds"] / 1e12)
        assert row["of_product"] == pytest.approx(row["tflops"] / 600)
        assert row["fastest"] <= row["seconds"] <= row["slowest"]
        assert (row["launches"], row["replays"], row["wrong"]) == (3, 2, "")
    monkeypatch.setattr(prefill.contest, "contest", pytest.fail)  # a second run has nothing to measure
    assert main(monkeypatch, "--json", file) == DONE
    assert json.loads(file.read_text(encoding="utf-8"))["rows"] == found["rows"]
    assert prefill.table(json.loads(file.read_text(encoding="utf-8"))) in capsys.readouterr().out


# -- the ladder --------------------------------------------------------------------------------------------------------


@pytest.mark.rest
def test_the_ladder(monkeypatch, capsys, tmp_path):
    file = tmp_path / "ladder.json"
    monkeypatch.setattr(ladder, "problems", lambda small: [Problem(64, False, 64, "", 64, 64, most=2)])
    monkeypatch.setattr(sys, "argv", ["ladder", "--device", "cpu", "--json", str(file)])
    assert ladder.main() == DONE
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [(row["kernel"], row["dtype"]) for row in rows] == [
        ("hopper", "bf16"),
        ("wgmma", "bf16"),
        ("pipelined", "bf16"),
        ("swizzle", "bf16"),
        ("mma", "bf16"),
        ("wmma", "f16"),
        ("tiled2d", "f32"),
        ("tiled", "f32"),
        ("scalar", "f32"),
    ]
    assert not any(row["wrong"] for row in rows)
    monkeypatch.setattr(ladder.contest, "contest", pytest.fail)
    assert ladder.main() == DONE

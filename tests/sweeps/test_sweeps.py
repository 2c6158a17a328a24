"""Sweeps: which points there are, what a row says, and that nothing is lost or measured twice."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ptxlab as pl
from ptxlab.cli import main as cli
from ptxlab.sweeps import Shape, Written, measure, run, workers
from ptxlab.sweeps.plan import Refusals, points

HOW = {"device": "step", "checks": [], "seed": 0}


def tasks(*lengths: int) -> list[tuple[str, dict[str, Any]]]:
    """Points of a small kernel with so many keys."""
    found = points(["scalar"], {}, [Shape(n, head_dim=4) for n in lengths], HOW, Refusals())
    return [(point.key, point.task()) for point in found]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are measured in this process: a new one takes a second until it has imported everything."""
    monkeypatch.setattr(run, "in_processes", lambda todo, count: ((key, measure.measure(task)) for key, task in todo))


def test_points_are_the_legal_combinations() -> None:
    refused = Refusals()
    grid = {"tile_kv": [16, 32, 300, 301], "dtype": ["f16"]}
    found = list(points(["tiled2d", "mma", "decode"], grid, [Shape(64), Shape(32, head_dim=24)], HOW, refused))
    assert [(p.kernel, p.shape.seq, p.parameters.get("tile_kv")) for p in found] == [
        ("mma", 64, 16), ("mma", 64, 32), ("decode", 64, None), ("decode", 32, None),
    ]  # fmt: skip
    assert refused.total == 14
    assert str(refused) == (
        "     4  tiled2d: dtype must be one of 'f32', not 'f16'\n"
        "     4  tiled2d: head_dim must be a whole number from 16 to 256 in steps of 16, not 24\n"
        "     2  mma: tile_kv must be one of 16, 32, 64, 128, not 300\n"
        "     4  mma: head_dim must be a whole number from 16 to 256 in steps of 16, not 24"
    )
    assert len({p.key for p in found}) == 4
    again = points(["mma"], {"dtype": ["f16"], "tile_kv": [32]}, [Shape(64)], HOW, Refusals())
    assert next(again).key == found[1].key  # whatever else was in the sweep


@pytest.mark.parametrize(("call", "said"), [
    ({"kernels": "mma", "grid": {"tiles": [1]}},
     "grid: no kernel of this sweep has a parameter 'tiles'; choose from arch, causal, dtype, head_dim, tile_kv, "
     "tile_q, warps"),
    ({"kernels": "mma", "shapes": [{"seq": 4, "rows": 3}]},
     "shapes: a shape has no 'rows'; write:  dict(seq=256, head_dim=64, batch=1, heads=1)"),
    ({"kernels": "mma", "shapes": [{"seq": 4, "heads": 3, "heads_kv": 2}]},
     "heads: 3 query heads cannot share 2 key/value heads evenly"),
    ({"kernels": "mma", "checks": ["raceckeck"]},
     "unknown check 'raceckeck'; did you mean racecheck? choose from memcheck, initcheck, racecheck, synccheck"),
    ({"kernels": "mma", "grid": {"tile_kv": []}}, "tile_kv: expected at least one value"),
])  # fmt: skip
def test_what_is_no_sweep_is_refused(call: dict[str, Any], said: str) -> None:
    with pytest.raises(pl.LaunchError) as error:
        pl.sweep(**call)
    assert str(error.value) == said


@pytest.mark.long
def test_rows_are_those_of_single_calls(here: None) -> None:
    grid = {"tile_kv": [16], "cache": ["paged"], "page_size": [4], "splits": [2]}
    shape = Shape(20, head_dim=16, heads=4, heads_kv=2)
    found = pl.sweep(["tiled", "decode_gqa"], grid, shape, device="cpu", progress=False)
    tiled, gqa = found.rows()
    q, k, v = measure.inputs(shape, "f32", 0, decode=False)
    out = pl.attention(
        q, k, v, kernel=pl.kernels.get("tiled").build(head_dim=16, tile_kv=16), device="cpu", counters=True
    )
    assert out.counters is not None
    wanted = {"error": out.error.max, "warp_instructions": out.counters.warp_instructions, "status": "ok",
              "sectors": sum(line.sectors for line in out.counters.by_line.values()), "dtype": "f32"}  # fmt: skip
    assert {name: tiled[name] for name in wanted} == wanted
    assert (gqa["status"], gqa["reason"], gqa["cache"], gqa["blocks"]) == ("ok", None, "paged", 2 * 2 + 4)


@pytest.mark.long
def test_a_kernel_of_ones_own_travels_as_text(here: None) -> None:
    def write(head_dim: int, causal: bool) -> Any:
        return pl.kernels.get("scalar").build(head_dim=head_dim, causal=causal).kernel

    mine = Written("mine", write, parameters=("head_dim", "causal"))
    wrong = dataclasses.replace(mine, name="wrong", write=lambda **p: write(**p).ptx.replace("ex2", "rcp"))
    faulty = dataclasses.replace(mine, name="faulty", rows=2, write=lambda **p: "not PTX")
    shape = Shape(9, head_dim=4)
    found = pl.sweep(["scalar", mine, wrong, faulty], {"causal": True}, shape, device="step", progress=False)
    rows = {row["kernel"]: row for row in found.rows()}
    for name in ("error", "warp_instructions", "sectors", "registers", "status"):
        assert rows["mine"][name] == rows["scalar"][name]
    assert rows["wrong"]["status"] == "wrong"
    assert rows["wrong"]["reason"].startswith("error ")
    assert rows["faulty"]["status"] == "refused"
    assert "not PTX" in rows["faulty"]["reason"]


def test_a_sweep_goes_on_where_it_stopped(here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = [Shape(n, head_dim=4) for n in (2, 3, 4, 5)]
    seen: list[int] = []

    def stop(row: dict[str, Any]) -> None:
        seen.append(row["seq"])
        if len(seen) == 2:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"device": "step", "progress": False, "out": tmp_path}
    first = pl.sweep("scalar", None, shapes, on_row=stop, **options)
    assert first.interrupted
    assert repr(first).endswith("; interrupted>")
    with open(tmp_path / "rows.jsonl", "ab") as file:
        file.write(b'{"key": "half a li')  # as a process leaves it that is killed
    whole = pl.sweep("scalar", None, [*shapes, 5], on_row=lambda row: seen.append(row["seq"]), **options)
    assert seen == [2, 3, 4, 5, 5]
    assert len(whole) == 5
    assert not whole.interrupted
    assert len(pl.open_sweep(tmp_path)) == 5
    narrow = pl.sweep("scalar", None, shapes[:1], on_row=lambda row: seen.append(0), **options)
    assert len(narrow) == 1
    assert 0 not in seen
    (tmp_path / "in-use").write_text(str(os.getpid()))
    with pytest.raises(pl.LaunchError) as error:
        pl.sweep("scalar", None, shapes, **options)
    assert str(error.value) == (f"{tmp_path}: process {os.getpid()} is writing a sweep there; choose another folder")
    (tmp_path / "in-use").write_text("4194305")  # beyond every process of Linux
    assert len(pl.sweep("scalar", None, shapes, **options)) == 4


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="kills a process by a signal")
def test_a_point_that_ends_its_process_is_a_row() -> None:
    from sweep_jobs import deadly

    found = dict(workers.in_processes(iter(tasks(1, 2, 3, 4)), 2, deadly))
    assert [(row["seq"], row["status"]) for row in sorted(found.values(), key=lambda row: row["seq"])] == [
        (1, "ok"), (2, "ok"), (3, "lost"), (4, "ok"),
    ]  # fmt: skip
    [said] = [row["reason"] for row in found.values() if row["status"] == "lost"]
    assert said == "its process was ended while it ran alone: by a signal, or for want of memory"


@pytest.mark.rest
def test_a_script_is_not_run_again_by_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import ptxlab as pl\n"
        "print('script')\n"
        "found = pl.sweep('scalar', None, [8, 9], progress=False, workers=2)\n"
        "print([(row['seq'], row['status']) for row in found.rows()])\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) in {
        ("script\n[(8, 'ok'), (9, 'ok')]\n", ""),
        ("script\n[(9, 'ok'), (8, 'ok')]\n", ""),
    }


@pytest.mark.long
def test_on_a_cluster_a_row_that_is_lost_on_its_way_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from small_cluster import small_cluster
    from sweep_jobs import simulated

    with small_cluster() as client:
        import distributed

        result, gone = distributed.Future.result, []

        def cut(future: Any) -> Any:
            """The first two end as they do when the scheduler is ended while it hands them over, and started again."""
            if len(gone) < 2:
                gone.append(future)
                raise [distributed.comm.CommClosedError("closed"), concurrent.futures.CancelledError][len(gone) - 1]
            return result(future)

        monkeypatch.setattr(distributed.Future, "result", cut)
        rows = dict(workers.on_dask(iter(tasks(2, 3, 4)), client, simulated))
        assert sorted((row["seq"], row["status"]) for row in rows.values()) == [(2, "ok"), (3, "ok"), (4, "ok")]
        refused = list(
            workers.on_dask(iter([("key", {"no": "task"})]), client, simulated, lambda task, why: {"why": why})
        )
        assert refused == [("key", {"why": "the worker could not do it: KeyError: 'kernel'"})]


@pytest.mark.long
def test_points_for_a_gpu_take_one_from_a_worker() -> None:
    from small_cluster import small_cluster
    from sweep_jobs import holding

    with small_cluster() as client:
        with pytest.raises(pl.UnavailableError) as error:
            pl.sweep("scalar", None, [4], device="gpu", client=client, progress=False)
        assert str(error.value) == (
            'device="gpu": none of the 1 workers offers the resource GPU\n'
            f'  start one on each card:  dask worker {client.scheduler.address} --nthreads 1 --resources "GPU=1"'
        )
    with small_cluster(GPU=1) as client:
        rows = dict(workers.on_dask(iter(tasks(2, 3)), client, holding, gpu=True))
        assert [row["free"] for row in rows.values()] == [{"GPU": 0.0}, {"GPU": 0.0}]


@pytest.mark.long
def test_tables_and_files(here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="needs pandas and pyarrow: pip install 'ptxlab[scale]'")
    path = tmp_path / "sweep.toml"
    path.write_text(
        'kernels = ["scalar", "tiled"]\ndevice = "step"\n[grid]\ntile_kv = [2, 300]\n'
        "[[shapes]]\nseq = 3\nhead_dim = 4\n"
    )
    assert cli.main(["sweep", str(path), "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out == (
        f"<Sweep: 2 ok; 1 combinations are not legal; in {tmp_path / 'out'}>\n"
        "     1  tiled: tile_kv must be a whole number from 1 to 256, not 300\n"
    )
    table = pyarrow.read_table(tmp_path / "out" / "table.parquet")
    rows = [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text().splitlines()]
    assert table.column("kernel").to_pylist() == ["scalar", "tiled"]
    assert sorted(table.column("error").to_pylist()) == sorted(row["error"] for row in rows)
    assert table.schema.field("sectors").metadata[b"says"].startswith(b"32-byte sectors")
    assert str(table.schema.field("tile_kv").type) == "int64"
    path.write_text("kernel = 3")
    assert cli.main(["sweep", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"ptxlab: {path}: there is no 'kernel' in a sweep; choose from kernels, grid, shapes, device, checks, seed\n"
    )


def test_figures_show_what_differs() -> None:
    same = {"head_dim": 64, "device": "cpu", "status": "ok"}
    rows = [
        same | {"key": f"{n}{c}{k}", "kernel": k, "seq": n, "keys": n, "causal": c, "sectors": 10 * n + 5 * c + len(k)}
        for n in (64, 128, 1024)
        for c in (False, True)
        for k in ("mma", "tiled")
    ]
    rows.append(rows[0] | {"key": "x", "status": "failed", "sectors": None})
    found = run.Sweep(None, rows, Refusals(), None)
    lines = pl.plot_sweep(found, "sectors").axes[0]
    assert [line.get_label() for line in lines.get_lines()] == [
        "mma, causal False", "tiled, causal False", "mma, causal True", "tiled, causal True",
    ]  # fmt: skip
    assert lines.get_xlabel() == "seq"
    assert lines.get_lines()[2].get_ydata().tolist() == [648, 1288, 10248]
    first, second, *_ = pl.plot_sweep(found, "sectors", "seq", "causal").axes
    assert [axis.get_title(loc="left") for axis in (first, second)] == ["mma", "tiled"]
    assert [text.get_text() for text in second.texts] == ["645", "1285", "10.2k", "650", "1290", "10.2k"]
    assert len(pl.plot_sweep(found, "sectors", axes=["kernel", "seq"]).axes[0].get_lines()) == 12 + 3
    with pytest.raises(pl.LaunchError) as error:
        pl.plot_sweep(found, "time")
    assert str(error.value) == (
        "value: the sweep has no column 'time'; "
        "it has causal, device, head_dim, kernel, key, keys, sectors, seq, status"
    )

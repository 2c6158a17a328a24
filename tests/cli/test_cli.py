"""The `ptxlab` command: what it prints, what `--json` holds, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from ptxlab import __version__, kernels
from ptxlab.cli import main as cli
from ptxlab.gpu import assembler


def run(capsys, *argv):
    """(exit status, standard output, standard error) of one command."""
    status = cli.main(argv)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"ptxlab {__version__}\n")


def test_list(capsys):
    status, out, _ = run(capsys, "list")
    assert status == 0
    lines = out.splitlines()
    for at, name in enumerate(kernels.names()):
        spec = kernels.get(name)
        assert lines[2 * at].split() == [str(spec.rung), name, *spec.title.split()]
        assert lines[2 * at + 1].strip() == spec.question


def test_list_json_has_the_limits(capsys):
    _, out, _ = run(capsys, "list", "--json")
    listed = {k["name"]: k for k in json.loads(out)}
    assert list(listed) == list(kernels.names())
    assert listed["scalar"]["parameters"]["head_dim"] == {
        "default": 64,
        "says": "elements of a query, key or value row (D)",
        "minimum": 1,
        "maximum": 256,
        "step": 1,
    }
    assert listed["scalar"]["parameters"]["dtype"]["choices"] == ["f32", "f64"]


def test_ptx_prints_the_kernel_and_nothing_else(capsys):
    status, out, _ = run(capsys, "ptx", "scalar", "--head-dim", "16", "--causal", "--arch", "sm_90")
    assert status == 0
    assert out == kernels.get("scalar").build(head_dim=16, causal=True, arch="sm_90").ptx
    assert ".target sm_90" in out


def test_run_passes(capsys):
    argv = "run scalar --seq-len 40 --head-dim 16 --causal --heads 2 --kv-heads 1 --device cpu".split()
    status, out, _ = run(capsys, *argv)
    rows = {line[:13].strip(): line[13:] for line in out.splitlines()}
    assert status == 0
    names = "kernel,problem,device,time,instructions,registers,shared,max error,mean error,tolerance,LSE error,findings"
    assert list(rows) == [*names.split(","), "result"]
    assert rows["kernel"] == "scalar_f32_d16_causal for sm_80"
    assert rows["problem"] == "B=1 Hq=2 Hkv=1 Sq=40 Sk=40 D=16, logits of sigma 1"
    assert rows["device"] == "cpu"
    assert "thread-instructions" in rows["instructions"]
    assert rows["result"] == "pass"


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("argv", "kernel", "shape"),
    [
        ("decode --seq-len 20 --head-dim 24", "decode_f32_d24_indirect", "B=1 Hq=1 Hkv=1 Sq=1 Sk=20 D=24"),
        (
            "decode_paged --seq-len 20 --head-dim 24 --heads 6 --kv-heads 2 --page-size 7",
            "decode_paged_f32_d24_page7",
            "B=1 Hq=6 Hkv=2 Sq=1 Sk=20 D=24",
        ),
        (
            "decode_gqa --kv-len 90 --head-dim 32 --heads 4 --kv-heads 1 --batch 2 --splits 3 --dtype bf16",
            "decode_gqa_bf16_d32_partial",
            "B=2 Hq=4 Hkv=1 Sq=1 Sk=90 D=32",
        ),
        ("decode_split --head-dim 32", "decode_split_f32_d32", "B=1 Hq=1 Hkv=1 Sq=1 Sk=128 D=32"),
    ],
)
def test_run_decodes(capsys, argv, kernel, shape):
    status, out, _ = run(capsys, "run", *argv.split(), "--device", "cpu")
    rows = {line[:13].strip(): line[13:] for line in out.splitlines()}
    assert status == 0
    assert rows["kernel"] == f"{kernel} for sm_80"
    assert rows["problem"] == f"{shape}, logits of sigma 1"
    assert rows["result"] == "pass"


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("kernel", "shared"), [("scalar", "0 bytes a block"), ("mma", "16,384 bytes a block, 16,384 of them dynamic")]
)
def test_run_prints_the_shared_memory_of_the_launch(capsys, kernel, shared):
    _, out, _ = run(capsys, *f"run {kernel} --seq-len 32 --device cpu".split())
    rows = {line[:13].strip(): line[13:] for line in out.splitlines()}
    if assembler.available():
        assert rows["shared"] == shared
    else:
        assert rows["shared"].endswith(" besides what the text declares")


def test_run_json(capsys):
    status, out, _ = run(capsys, *"run tiled --seq-len 33 --kv-len 70 --head-dim 16 --device cpu --json".split())
    result = json.loads(out)
    assert status == 0
    assert result["ok"] is True
    assert result["max_error"] <= result["tolerance"]
    assert result["thread_instructions"] > 33 * 70 * 16
    assert (result["seq_len"], result["kv_len"], result["device"]) == (33, 70, "cpu")


def test_run_fails_when_out_of_tolerance(capsys, monkeypatch):
    from ptxlab import reference

    monkeypatch.setattr(reference, "tolerance", lambda o, *_, **__: (0 * o + 1e-30, 0 * o[..., 0] + 1))
    status, out, _ = run(capsys, *"run scalar --seq-len 9 --head-dim 16 --device cpu".split())
    assert status == 1
    assert out.splitlines()[-1] == "result       FAIL"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("ptx tilde", f"there is no kernel 'tilde'; there are {', '.join(kernels.names())}"),
        ("run scalar --head-dim 300", "scalar: head_dim is a whole number from 1 to 256, not 300"),
        ("run scalar --seq-len 0", "--seq-len is at least 1, not 0"),
        ("run scalar --kv-heads 0", "--kv-heads is at least 1, not 0"),
        ("run scalar --kv-len -3", "--kv-len is at least 0, not -3"),
        ("run scalar --seed -1", "--seed is at least 0, not -1"),
        ("run scalar --scale nan", "scale: a finite number is wanted, got nan"),
        ("run scalar --splits 2", "--splits is for decode kernels; scalar is for prefill"),
        ("run mma --page-size 16", "--page-size is for decode kernels; mma is for prefill"),
        (
            "run scalar --heads 3 --kv-heads 2",
            "3 query heads cannot share 2 key/value heads; Hq should be a multiple of Hkv",
        ),
        ("ptx scalar --tile-kv 8", "scalar has no tile_kv; its parameters are head_dim, causal, dtype, arch, probes"),
        (
            "run decode --splits 2 --device cpu",
            "--splits: decode does not split the keys; decode_split and decode_gqa do",
        ),
        ("run decode --page-size 3 --device cpu", "--page-size: decode has a dense cache"),
        ("run decode_reduce", "decode_reduce merges what decode_split found; run decode_split"),
        ("run decode --causal", "decode has no causal; its parameters are head_dim, dtype, arch, probes, length"),
        (
            "run decode --head-dim 50",
            "decode: head_dim is a whole number from 8 to 256 in steps of 8, not 50",
        ),
        (
            "bench decode",
            "decode: bench times prefill kernels; `python -m benchmarks.gpu.decode` those for decode",
        ),
        ("isa fmaa", "unknown instruction 'fmaa'"),
    ],
)
def test_errors_are_one_line_and_status_2(capsys, argv, message):
    status, out, err = run(capsys, *argv.split())
    assert (status, out, err) == (2, "", f"ptxlab: {message}\n")


@pytest.mark.parametrize(
    ("argv", "says"), [(["dance"], "usage: ptxlab"), (["list", "--jason"], "unrecognized arguments: --jason")]
)
def test_what_is_no_command_shows_the_usage(capsys, argv, says):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    assert caught.value.code == 2
    assert says in capsys.readouterr().err


def test_lab_passes_its_options_on(monkeypatch):
    class Executed(Exception):
        pass

    def execv(path, argv):
        raise Executed(path, argv)

    monkeypatch.setattr(os, "execv", execv)
    with pytest.raises(Executed) as caught:
        cli.main(["lab", "--no-browser", "--port", "8899"])
    path, argv = caught.value.args
    assert path == argv[0] == sys.executable
    assert argv[1:3] == ["-m", "jupyterlab"]
    assert argv[3].endswith("notebooks")
    assert argv[4:] == ["--no-browser", "--port", "8899"]


def test_lab_without_notebooks_says_where_they_come_from(monkeypatch, tmp_path, capsys):
    started = []
    monkeypatch.setattr(os, "execv", lambda path, argv: started.append(argv))
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "lib" / "ptxlab" / "cli" / "main.py"))
    monkeypatch.chdir(tmp_path)
    cli.main(["lab"])
    assert started.pop()[1:] == ["-m", "jupyterlab", "."]
    says = "there is no folder notebooks here; `ptxlab course release notebooks` writes the course's\n"
    assert capsys.readouterr().err == says
    (tmp_path / "notebooks").mkdir()
    cli.main(["lab"])
    assert started.pop()[1:] == ["-m", "jupyterlab", "notebooks"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("name", "says"), [("fma", ""), ("fma.rn.f32", "  .rn  ")])
def test_isa_of_one_instruction_or_form(capsys, name, says):
    status, out, _ = run(capsys, "isa", name)
    assert status == 0
    assert out.startswith("fma.rnd{.ftz}{.sat}.f32")
    assert says in out


def test_isa_alone_is_the_coverage(capsys):
    _, out, _ = run(capsys, "isa")
    assert " entries: " in out.splitlines()[0]


def test_isa_covers_what_the_kernels_use(capsys):
    _, out, _ = run(capsys, "isa", "--json")
    executed = {re.match(r"\w+", entry["syntax"])[0] for entry in json.loads(out) if entry["executed"]}
    used = {i.name for i in kernels.get("tiled").build().module.kernels[0].instructions()}
    assert used <= executed


def test_doctor_json(capsys):
    status, out, _ = run(capsys, "doctor", "--json")
    assert status == 0
    found = {item["name"]: item for item in json.loads(out)}
    assert found["python"]["ok"]
    assert found["numpy"]["ok"]


def test_bench_json(capsys):
    _, out, _ = run(capsys, *"bench scalar --seq-len 32 --head-dim 16 --device cpu --json".split())
    (row,) = json.loads(out)
    assert row["kernel"] == "scalar_f32_d16"
    assert row["seconds"] > 0
    assert row["gflops"] == pytest.approx(4 * 32 * 32 * 16 / row["seconds"] / 1e9)


def test_python_dash_m():
    made = subprocess.run(
        [sys.executable, "-m", "ptxlab", "list", "--json"], capture_output=True, text=True, env=os.environ, check=True
    )
    assert [k["name"] for k in json.loads(made.stdout)] == list(kernels.names())

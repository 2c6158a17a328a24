"""The `ptxlab` command: what it prints, what `--json` holds, and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab import __version__, kernels
from ptxlab.cli import main as cli
from ptxlab.cli.check import argument


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
    assert rows["shared"].startswith("0 bytes per block")
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
        ("ptx tilde", f"there is no kernel 'tilde'; did you mean tiled?; choose from {', '.join(kernels.names())}"),
        ("run scalar --seq-len 0", "--seq-len is at least 1, not 0"),
        ("run scalar --kv-heads 0", "--kv-heads is at least 1, not 0"),
        ("run scalar --kv-len -3", "--kv-len is at least 0, not -3"),
        ("run scalar --seed -1", "--seed is at least 0, not -1"),
        ("run scalar --splits 2", "--splits is for decode kernels; scalar is for prefill"),
        ("run mma --page-size 16", "--page-size is for decode kernels; mma is for prefill"),
        (
            "run decode --splits 2 --device cpu",
            "--splits: decode does not split the keys; decode_split and decode_gqa do",
        ),
        ("run decode --page-size 3 --device cpu", "--page-size: decode has a dense cache"),
        ("run decode_reduce", "decode_reduce merges what decode_split found; run decode_split"),
        ("run decode --causal", "decode has no causal; its parameters are head_dim, dtype, arch, probes, length"),
        (
            "bench decode",
            "decode: bench times prefill kernels; `python -m benchmarks.gpu.decode` those for decode",
        ),
        ("isa fmaa", "unknown instruction 'fmaa'; did you mean fma?"),
    ],
)
def test_errors_are_one_line_and_status_2(capsys, argv, message):
    status, out, err = run(capsys, *argv.split())
    assert (status, out, err) == (2, "", f"ptxlab: {message}\n")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("dance", "usage: ptxlab"),
        ("chek k.ptx", "there is no command 'chek'; did you mean check?"),
        ("scalar --causal", "there is no command 'scalar'\n  write:  ptxlab run scalar"),
        ("course grad marks", "there is no command 'grad'; did you mean grade?"),
        ("list --jason", "no option --jason; did you mean --json?"),
    ],
)
def test_what_is_no_command_shows_the_usage(capsys, argv, says):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv.split())
    assert caught.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.long
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


def test_doctor_json(capsys):
    status, out, _ = run(capsys, "doctor", "--json")
    assert status == 0
    assert {"python", "numpy"} <= {item["name"] for item in json.loads(out) if item["ok"]}


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


@pytest.mark.long
def test_files_of_cuda_and_their_results(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("twice.cu").write_text("""#include "two.h"
__global__ void twice(float *out, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) put(out, i, TWO * x[i]);
}""")
    Path("two.h").write_text("#define TWO 2.0f\n__device__ void put(float *out, int i, float x) { out[i] = x; }")
    Path("k.cubin").write_bytes(b"\x7fELF\x02\x01\x01\x80")
    np.save("right.npy", twice := 2 * argument("f32[64]", 1))
    np.save("wrong.npy", np.where(np.arange(64) == 17, 0, twice))
    given = "twice.cu out:f32[64] f32[64] 64 --grid 2 --device cpu".split()
    orders = run(capsys, "check", *given, *"--seeds 2 --expect right.npy --cooperative".split())
    assert orders == (0, "nothing found in 2 orders of warps and blocks\n", "")
    status, out, _ = run(capsys, "check", *given, *"--expect wrong.npy --counters --arch sm_90 --cluster 2".split())
    assert (status, "smsp__inst_executed.sum  " in out) == (1, True)
    assert f"argument 1 is not wrong.npy: 1 of 64 elements differs, [17]: {twice[17]} instead of 0.0\n" in out
    made = json.loads(run(capsys, "check", *given, "--expect", "2=wrong.npy", "--json", "--counters")[1])
    assert made["counters"]["smsp__inst_executed_op_global_st.sum"] == 2
    assert made["differences"][0].startswith("argument 2 is not wrong.npy")
    assert f"argument 1   float32[64] after the launch: [{twice[0]:7.4f}" in run(capsys, "run", *given)[1]
    assert run(capsys, "bench", *given)[1].startswith("twice on cpu: ")
    assert {span.file for span in pl.cuda(Path("twice.cu")).spans.values()} == {"twice.cu"}
    file = Path("twice.cu").rename("ein Maß.cu")
    beyond = [str(file), "out:f32[64]", "f32[65]", "65", *"--grid 3 --json --sarif found".split()]
    stopped = json.loads(run(capsys, "check", *beyond)[1])[0]["first"]["span"]
    assert (stopped["file"], stopped["line"], stopped["inlined"][0]["file"]) == (file.name, 4, "two.h")
    [result] = json.loads(Path("found").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "ein%20Ma%C3%9F.cu"
    file.rename("twice.cu")
    assert run(capsys, *"static twice.cu --block 64 --arch sm_120a".split())[0] == 0
    for words, message in (
        (
            "check k.cubin",
            "k.cubin is machine code (a cubin, fatbin, library or program); ptxlab runs PTX and CUDA C++",
        ),
        ("run twice.cu --heads 2", "--heads is for kernels of the library; twice.cu is a file"),
        ("run scalar 3", "argument '3' is for a kernel of a file; scalar is one of the library"),
        (
            "check twice.cu f32[2] f32[2] --expect right.npy",
            "--expect right.npy: 2 arguments could hold the result; say",
        ),
    ):
        status, _, said = run(capsys, *words.split())
        assert (status, said.startswith(f"ptxlab: {message}")) == (2, True), said


@pytest.mark.parametrize("missing", ["pyarrow", "pandas"])
def test_a_missing_package_is_one_line(capsys, monkeypatch, tmp_path, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    (tmp_path / "sweep.toml").write_text('kernels = ["scalar"]')
    status, out, err = run(capsys, "sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out"))
    assert (status, out, (tmp_path / "out").exists()) == (2, "", False)
    assert err.endswith(f" needs {missing}: pip install 'ptxlab[scale]'\n")

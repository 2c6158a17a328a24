"""The checks find nothing in what is right: the library's kernels, compiled CUDA C++ and Triton."""

from __future__ import annotations

from typing import Any

import cuda_programs
import emulate_programs
import ml_dtypes
import numpy as np
import pytest
import test_emulate_cuda as corpus
import test_triton_programs as triton
from emulate_programs import ALL_CHECKS, DEVICES
from slow_cases import slow

import ptxlab as pl
from ptxlab.findings import Finding

PRECISION = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.sweep(10)
@pytest.mark.parametrize(("name", "causal", "device"), [
    pytest.param(name, causal, device, marks=pytest.mark.slow if device == "step" and (causal or n % 3) else ())
    for n, name in enumerate(pl.kernels.names("prefill")) for causal in (False, True) for device in DEVICES
])  # fmt: skip
def test_library_is_silent(name: str, causal: bool, device: str) -> None:
    spec = pl.kernels.get(name)
    for dtype in PRECISION.keys() & set(spec.parameters["dtype"].choices):
        if dtype == "f64" and device == "step":
            continue  # the same instructions, slowly
        rows, keys = (40, 70) if device == "cpu" else (20, 24)
        dim = max(16, spec.step)
        q, k, v = pl.reference.random_inputs(1, 1, 1, rows, keys, dim, dtype=PRECISION[dtype])
        built = spec.build(head_dim=dim, causal=causal, dtype=dtype)
        out = pl.attention(q, k, v, kernel=built, causal=causal, device=device, checks=ALL_CHECKS)
        assert [str(f) for f in out.run.findings] == []
        assert out.error.ok


CORPUS = [
    f for f in corpus.FILES if f.startswith(("reduce", "softmax", "matmul_tiled", "scan", "histogram")) and "nvrtc" in f
]


@pytest.mark.sweep(9)
@pytest.mark.parametrize("file", [*CORPUS, *slow(f for f in corpus.FILES if f not in CORPUS)])
def test_corpus_is_silent(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Finding] = []

    def launch(*args: Any, **options: Any) -> None:
        found.extend(emulate_programs.launch(*args, checks=ALL_CHECKS, **options).findings)

    monkeypatch.setattr(corpus, "launch", launch)
    corpus.KERNELS[file.partition(".")[0]](engine, (corpus.CORPUS / file).read_text())
    assert [str(f) for f in found] == []


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """From now on `pl.launch` makes all checks; the list takes what they find."""
    found: list[Finding] = []
    plain = pl.launch

    def launch(*args: Any, **options: Any) -> Any:
        run = plain(*args, checks=ALL_CHECKS, **options)
        found.extend(run.findings)
        return run

    monkeypatch.setattr(pl, "launch", launch)
    return found


TRUE_FINDINGS = {
    ("cas_loops", "O3"): ("WAW", "its scope is the block (.cta); write .gpu: "),
    ("cas_loops", "G"): ("WAW", "its scope is the block (.cta); write the atomic without _block"),
}
"""Programs that are wrong, with what is found: here two blocks change one word by atomicAdd_block."""


PROGRAMS = [
    (name, mode)
    for name in cuda_programs.PROGRAMS
    for mode in ("O3", "G")
    if f"{name}.{mode}.sm_80" in cuda_programs.archive()
]
SYNCHRONISING = [(name, "O3") for name in (
    "producer_consumer", "scan_lookback", "threadfence_reduce", "spin_lock", "grid_sync", "cas_loops", "barrier_copy",
    "pipeline_copy", "warp_reductions", "scan_shuffle", "stack_array", "matmul_mma", "matmul_wmma", "sort_bitonic",
)]  # fmt: skip


@pytest.mark.sweep(13)
@pytest.mark.parametrize(
    ("name", "mode"), [*SYNCHRONISING, *slow(program for program in PROGRAMS if program not in SYNCHRONISING)]
)
def test_programs_are_silent(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watched(monkeypatch)
    outcome = cuda_programs.run(name, cuda_programs.ptx_of(name, mode, "sm_80"), DEVICES[-1])
    assert outcome.verdict == "ok", outcome
    found = [f for f in found if f.check != "unwritten"]
    if (name, mode) in TRUE_FINDINGS:
        kind, words = TRUE_FINDINGS[name, mode]
        assert [(f.kind, words in f.message) for f in found] == [(kind, True)]
    else:
        assert [str(f) for f in found] == []


TRITON = [f for f in triton.LAUNCHES if f.endswith("sm_80")]
SHORT = [f for f in TRITON if f.startswith(("softmax", "scan", "matmul_3", "histogram"))]


@pytest.mark.sweep(6)
@pytest.mark.parametrize("file", [*SHORT, *slow(f for f in TRITON if f not in SHORT)])
def test_triton_is_silent(file: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = watched(monkeypatch)
    triton.test_kernel(file, engine)
    assert [str(f) for f in found] == []

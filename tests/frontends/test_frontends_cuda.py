"""CUDA C++ through NVRTC: kernels, names, source lines, errors."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import Span
from ptxlab.frontends.cuda import available, include_folders
from ptxlab.frontends.kernel import Param, Pointer, find_kernel

pytestmark = pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")

SAXPY = """\
// y = a x + y
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""


@pytest.mark.parametrize("device", ["cpu", "step"])
def test_a_kernel_of_cuda_runs_like_any_other(device: str) -> None:
    k = pl.cuda(SAXPY)
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    run = pl.launch(k, 4, 32, 100, 2.0, x, y, device=device)
    assert run.kernel == k.name == "saxpy"
    assert y.tolist() == [2 * i + 1 for i in range(100)]
    assert repr(k) == f"<kernel saxpy from kernel.cu for sm_80, {len(k.ptx.splitlines())} lines>"


def test_every_instruction_knows_its_source_line() -> None:
    k = pl.cuda(SAXPY, file="saxpy.cu")
    lines = k.ptx.splitlines()
    fused = next(n for n, line in enumerate(lines, 1) if "fma.rn.f32" in line)
    assert k.module.spans[fused] == Span("saxpy.cu", 5, k.module.spans[fused].column, 5, 31)
    instructions = {i.line for i in k.module.kernels[0].instructions()}
    assert {n for n in k.module.spans if n in instructions} == instructions
    assert 'saxpy.cu"' in k.ptx
    assert "/" not in k.ptx[k.ptx.index(".file") :]


def test_a_fault_names_the_cuda_line() -> None:
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
    with pytest.raises(pl.DeviceFault) as stopped:
        pl.launch(pl.cuda(SAXPY), 1, 32, 32, 2.0, x, y, device="step")
    assert stopped.value.span is not None
    assert stopped.value.span.line == 5
    assert str(stopped.value).splitlines()[-1] == "  from:   kernel.cu:5"


def test_arrays_are_checked_against_the_source() -> None:
    assert pl.cuda(SAXPY).params == (Param("saxpy_param_2", Pointer("f32")), Param("saxpy_param_3", Pointer("f32")))
    with pytest.raises(pl.LaunchError) as refused:
        pl.launch(pl.cuda(SAXPY), 1, 32, 8, 2.0, np.zeros(8), np.zeros(8, np.float32))
    assert str(refused.value) == (
        "saxpy, argument 3 (saxpy_param_2: Ptr[f32]) wants an array of float32, got an array of float64 [8]"
    )


SEVERAL = """
template <typename T, int N> __global__ void fill(T *out) { out[threadIdx.x] = T(N); }
template __global__ void fill<float, 3>(float *);
__global__ void first(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void second(int *out) { out[threadIdx.x] = 2; }
"""


def test_one_of_several_kernels_is_named() -> None:
    for entry, expected in (("first", 1), ("second", 2)):
        out = np.zeros(4, np.int32)
        pl.launch(pl.cuda(SEVERAL, entry=entry), 1, 4, out)
        assert out.tolist() == [expected] * 4
    k = pl.cuda(SEVERAL)
    assert k.name == ""
    assert k["first"].name == "_Z5firstPi"
    half = np.zeros(4, np.float32)
    pl.launch(pl.cuda(SEVERAL, entry="fill<float, 7>"), 1, 4, half)
    assert half.tolist() == [7] * 4
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda(SEVERAL, entry="third")
    assert str(refused.value) == (f"kernel.cu has no kernel 'third'; it has {', '.join(k.kernels)}")
    with pytest.raises(pl.LaunchError) as unknown:
        k["third"]
    assert str(unknown.value) == f"entry: no kernel 'third' in kernel.cu; it has {', '.join(k.kernels)}"


def test_find_kernel() -> None:
    names = ("_Z5firstPi", "second", "_Z6secondPf", "_Z3addIfEvPT_", "_Z3addIiEvPT_")
    assert [find_kernel(names, n) for n in ("first", "second", "add", "fir")] == ["_Z5firstPi", "second", "", ""]


def test_the_compilers_own_words_with_line_and_caret() -> None:
    source = 'extern "C" __global__ void k(float *x) {\n    x[threadIdx.x] = scale * 2;\n}\n'
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda(source, file="scale.cu")
    assert str(refused.value) == (
        'scale.cu(2): error: identifier "scale" is undefined\n'
        "      x[threadIdx.x] = scale * 2;\n"
        "                       ^\n\n"
        '1 error detected in the compilation of "scale.cu".'
    )
    assert (refused.value.line, refused.value.source) == (2, "    x[threadIdx.x] = scale * 2;")


def test_an_unknown_architecture() -> None:
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda(SAXPY, arch="sm_12")
    assert str(refused.value).splitlines()[-1] == (
        "  hint:   this compiler takes sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and others from sm_75 on"
    )


def test_headers_of_the_host_are_not_missed() -> None:
    source = """
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
extern "C" __global__ void k(int32_t *x) {
    assert(x[threadIdx.x] < 3);
    if (threadIdx.x == 1) printf("x is %d\\n", x[threadIdx.x]);
}
"""
    assert (
        pl.cuda("""
#include <float.h>
#include <limits.h>
#include <math.h>
extern "C" __global__ void limits(float *x) { *x = *x > FLT_MAX ? M_PI : *x < INT_MIN ? -INFINITY : NAN; }
""").name
        == "limits"
    )
    run = pl.launch(pl.cuda(source), 1, 3, np.arange(3, dtype=np.int32))
    assert run.printed == "x is 1\n"
    with pytest.raises(pl.DeviceFault) as stopped:
        pl.launch(pl.cuda(source), 1, 4, np.arange(4, dtype=np.int32))
    assert stopped.value.message.endswith("Assertion `x[threadIdx.x] < 3` failed")


@pytest.mark.sweep(4)
@pytest.mark.skipif(not include_folders(), reason="needs CUDA's headers: pip install 'ptxlab[cuda]'")
@pytest.mark.parametrize("header", ["cuda_fp16.h", "mma.h", "cooperative_groups.h", "cuda/barrier", "cuda_pipeline.h"])
def test_headers_of_cuda_are_found(header: str) -> None:
    assert pl.cuda(f'#include <{header}>\nextern "C" __global__ void k() {{}}').name == "k"


def test_headers_of_cuda_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["ptxlab.frontends.cuda"]
    monkeypatch.setattr(module, "include_folders", lambda: ())
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda('#include <mma.h>\nextern "C" __global__ void nothing() {}')
    assert refused.value.hint == "CUDA's headers are in wheels of their own: pip install 'ptxlab[cuda]'"


def test_without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["ptxlab.frontends.cuda"]
    module._nvrtc.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    try:
        with pytest.raises(pl.UnavailableError) as missing:
            pl.cuda('extern "C" __global__ void never_compiled() {}')
    finally:
        module._nvrtc.cache_clear()
    assert str(missing.value).startswith("NVIDIA's CUDA C++ compiler is not installed (")
    assert str(missing.value).endswith("): pip install cuda-bindings nvidia-cuda-nvrtc")


def test_headers_that_include_others_come_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel of CUDA's runtime has cuda_fp16.h and not crt/, which mma.h includes: a toolkit has both."""
    for name in ("wheel", "toolkit"):
        (tmp_path / name / "include").mkdir(parents=True)
        (tmp_path / name / "include" / "cuda_fp16.h").touch()
    (tmp_path / "toolkit" / "include" / "crt").mkdir()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "wheel"))
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "toolkit"))
    assert include_folders.__wrapped__() == (str(tmp_path / "toolkit" / "include"),)

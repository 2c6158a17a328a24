"""CUDA C++ through NVRTC: kernels, names, source lines, errors."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import Span
from ptxlab.frontends.cuda import available, include_folders
from ptxlab.testing import reports

pytestmark = pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")

SAXPY = """\
// y = a x + y
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
WRITTEN = Path(__file__).read_text().splitlines().index("// y = a x + y") + 1


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
    with pytest.raises(pl.DeviceFault) as stopped:
        pl.launch(k, 1, 32, 32, 2.0, np.zeros(8, np.float32), np.zeros(8, np.float32), device="step")
    span = stopped.value.span
    place = (__file__, WRITTEN + 4)
    assert span == Span("saxpy.cu", 5, span.column, 5, 31, place, text="        y[i] = a * x[i] + y[i];")
    assert str(stopped.value).splitlines()[-1] == (
        f"  from:   {os.path.relpath(__file__)}:{WRITTEN + 4} (saxpy.cu:5): y[i] = a * x[i] + y[i];"
    )
    instructions = {i.line for i in k.module.kernels[0].instructions()}
    assert {n for n in k.module.spans if n in instructions} == instructions


N = 2
HEAD = 'extern "C" __global__ void racy(int *out) {  // one\n    int i = threadIdx.x;'


def strings() -> dict[str, str]:
    """A kernel that is written in several ways, by words of the line in which its store stands."""
    return {
        "printf": HEAD + """
            out[i / 2] = i;  // printf("\\n")
        }""",
        "dedented": textwrap.dedent("""
            extern "C" __global__ void racy(int *out) {
                int i = threadIdx.x;
                out[i / SIZE] = i; }  // dedented""").replace("SIZE", "2"),
        "-string": f"""
            extern "C" __global__ void racy(int *out) {{
            int i = threadIdx.x;
            out[i / {N}] = i; }}  // {"f"}-string""",
        "by lines": 'extern "C" __global__ void racy(int *out) {\n'
        "out[threadIdx.x / 2] = threadIdx.x; }  // by lines",
        "one": 'extern "C" __global__ void racy(int *out) {  // one\n  out[threadIdx.x / 2] = threadIdx.x;\n}',
        "kernel = pl.cuda(": HEAD + f"\nout[i / {N}] = i;" + "}",
    }  # fmt: skip


@pytest.mark.parametrize("written", strings())
def test_a_string_is_called_by_its_python_line(written: str) -> None:
    kernel = pl.cuda(strings()[written])
    run = pl.launch(kernel, 1, 64, np.zeros(64, np.int32), device="cpu", checks=("racecheck",), counters=True)
    span = run.findings[0].first.span
    assert span.place[0] == __file__
    assert written in Path(__file__).read_text().splitlines()[span.place[1] - 1]
    assert f"(kernel.cu:{span.line})" in str(run.findings[0])
    assert "st.global.u32" in run.counters.by_source[f"kernel.cu:{span.line}"].opcode


@pytest.mark.parametrize("device", ["cpu", "step"])
def test_inlined_from_a_header_and_inline_assembly(device: str, tmp_path: Path) -> None:
    header = tmp_path / "put.cuh"
    header.write_text("__device__ inline void put(int* s, int i) {\n  s[i / 2] = i;\n}\n")
    source = """#include "put.cuh"
__device__ void twice(int *s, int i) {
    put(s, i);
    put(s + 1, i); }
extern "C" __global__ void k(int *out) {
    __shared__ int s[80];
    asm volatile("{.reg .b32 q; mov.u32 q, %1; st.shared.u32 [%0], q;}" :: "l"(s), "r"(threadIdx.x) : "memory");
    twice(s, threadIdx.x);
    out[threadIdx.x] = s[0]; }
"""
    kernel = pl.cuda(source.replace('"l"(s)', '"r"((unsigned)__cvta_generic_to_shared(s))'), options=[f"-I{tmp_path}"])
    found = pl.launch(kernel, 1, 64, np.zeros(64, np.int32), device=device, checks=("racecheck",)).findings
    steps = [party.span.steps() for finding in found for party in (finding.first, finding.second)]
    assert {(7,), (3, 2, 8), (4, 2, 8)} <= {tuple(span.line for _, span in each) for each in steps}
    assert f"which calls {header}:2: " in repr(found)
    notes = reports.notes(found, (Path("none.py"), 1))
    assert {Path(note.file).name for note in notes} == {Path(__file__).name}
    assert any((file, line) == (header.as_posix(), 2) for note in notes for file, line, _ in note.others)


def test_arrays_are_checked_against_the_source() -> None:
    with pytest.raises(pl.LaunchError) as refused:
        pl.launch(pl.cuda(SAXPY), 1, 32, 8, 2.0, np.zeros(8), np.zeros(8, np.float32))
    assert str(refused.value) == (
        "saxpy, argument 3 (x: Ptr[f32]): expected an array of float32, got an array of float64 [8]\n"
        "  write:  np.zeros(8).astype(np.float32)"
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
    pl.launch(pl.cuda(SEVERAL, entry="fill<float, 7>"), 1, 4, half := np.zeros(4, np.float32))
    assert half.tolist() == [7] * 4
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda(SEVERAL, entry="third")
    assert str(refused.value) == "kernel.cu has no kernel 'third'; it has fill<float, 3>, first, second"
    with pytest.raises(pl.LaunchError) as unknown:
        k["third"]
    assert str(unknown.value) == "entry: no kernel 'third' in kernel.cu; it has fill<float, 3>, first, second"


def test_the_compilers_own_words_with_line_and_caret() -> None:
    source = 'extern "C" __global__ void k(float *x) {\n    x[threadIdx.x] = scale * 2;\n}\n'
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda(source, file="scale.cu")
    assert refused.value.message == (
        'scale.cu(2): error: identifier "scale" is undefined\n'
        "      x[threadIdx.x] = scale * 2;\n"
        "                       ^\n\n"
        '1 error detected in the compilation of "scale.cu".'
    )
    assert str(refused.value).endswith(" (scale.cu:2)")
    assert (refused.value.line, refused.value.source) == (2, "    x[threadIdx.x] = scale * 2;")


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
    limits = """
#include <float.h>
#include <limits.h>
#include <math.h>
extern "C" __global__ void limits(float *x) { *x = *x > FLT_MAX ? M_PI : *x < INT_MIN ? -INFINITY : NAN; }
"""
    assert pl.cuda(limits).name == "limits"
    run = pl.launch(pl.cuda(source), 1, 3, np.arange(3, dtype=np.int32))
    assert run.printed == "x is 1\n"
    with pytest.raises(pl.DeviceFault) as stopped:
        pl.launch(pl.cuda(source), 1, 4, np.arange(4, dtype=np.int32))
    assert stopped.value.message.endswith("Assertion `x[threadIdx.x] < 3` failed")


@pytest.mark.sweep(4)
@pytest.mark.skipif(not include_folders(), reason="needs CUDA's headers: pip install 'ptxlab[cuda]'")
@pytest.mark.parametrize(
    "header", ["cuda_fp16.h", "mma.h", "cuda.h", "cooperative_groups.h", "cuda/barrier", "cuda_pipeline.h"]
)
def test_headers_of_cuda_are_found(header: str) -> None:
    assert pl.cuda(f'#include <{header}>\nextern "C" __global__ void k() {{}}').name == "k"


@pytest.mark.parametrize(
    ("arch", "hint"),
    [
        ("sm_12", "this compiler takes sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and others from sm_75 on"),
        ("sm_80", "CUDA's headers are in wheels of their own: pip install 'ptxlab[cuda]'"),
    ],
)
def test_what_is_missing_to_compile(arch: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["ptxlab.frontends.cuda"], "include_folders", lambda: ())
    with pytest.raises(pl.CompileError) as refused:
        pl.cuda('#include <mma.h>\nextern "C" __global__ void nothing() {}', arch=arch)
    assert refused.value.hint == hint


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

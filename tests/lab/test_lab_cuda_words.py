"""What `%%cuda` cells say of the words of CUDA C++: held against what NVRTC makes of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ptxlab.frontends import cuda
from ptxlab.frontends.cuda import available
from ptxlab.lab import cell_questions
from ptxlab.lab.completion import suggest
from ptxlab.lab.hover import CUDA

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
const unsigned whole = 0xffffffff;
__constant__ float weights[64];
extern "C" __global__ void __launch_bounds__(128) words(unsigned *x, float *f, half *h, half2 *p) {
    __shared__ uint4 tile[4];
    unsigned t = threadIdx.x + blockIdx.x * blockDim.x + gridDim.x;
    __syncthreads();
    *x++ = __syncthreads_count(t & 1) + __syncthreads_and(t & 1) + __syncthreads_or(t & 1);
    __syncwarp(); __threadfence(); __threadfence_block(); __threadfence_system(); __nanosleep(10);
    *x++ = __activemask() + __all_sync(whole, t & 1) + __any_sync(whole, t & 2) + __ballot_sync(whole, t & 3);
    *f++ = __shfl_sync(whole, f[9], 3); *f++ = __shfl_up_sync(whole, f[9], 3);
    *f++ = __shfl_down_sync(whole, f[9], 3); *f++ = __shfl_xor_sync(whole, f[9], 3);
    int same;
    *x++ = __match_any_sync(whole, t) + __match_all_sync(whole, t, &same) + same;
    *x++ = __reduce_add_sync(whole, t) + __reduce_min_sync(whole, t) + __reduce_max_sync(whole, t);
    *x++ = __reduce_and_sync(whole, t) + __reduce_or_sync(whole, t) + __reduce_xor_sync(whole, t);
    *x++ = atomicAdd(x, t) + atomicExch(x, t) + atomicMin(x, t) + atomicMax(x, t) + atomicInc(x, t) + atomicDec(x, t);
    *x++ = atomicAnd(x, t) + atomicOr(x, t) + atomicXor(x, t) + atomicCAS(x, t, 1) + atomicSub(x, t);
    *f++ = __ldg(f + 30) + __ldcg(f + 31) + __ldcs(f + 32); __stcg(f + 33, f[0]); __stcs(f + 34, f[1]);
    *x++ = __cvta_generic_to_shared(x);
    __pipeline_memcpy_async(tile, f, 16); __pipeline_commit(); __pipeline_wait_prior(0);
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> d;
    wmma::fill_fragment(d, 0.f); wmma::load_matrix_sync(a, h, 16); wmma::load_matrix_sync(b, h + 256, 16);
    wmma::mma_sync(d, a, b, d); wmma::store_matrix_sync(f + 512, d, 16, wmma::mem_row_major);
    float u = f[40], v = f[41], w = f[42];
    *f++ = fmaf(u, v, w); *f++ = __fmaf_rn(u, w, v); *f++ = __fadd_rn(u, v); *f++ = __fmul_rn(u, v);
    *f++ = __fdividef(u, v); *f++ = __expf(u); *f++ = exp2f(v); *f++ = __logf(u); *f++ = __sinf(u);
    *f++ = __cosf(u); *f++ = rsqrtf(u); *f++ = fmaxf(u, v); *f++ = __saturatef(u); *f++ = weights[t];
    *x++ = __popc(t) + __clz(t) + __ffs(t) + __brev(t) + __byte_perm(t, t + 1, t + 2) + __umulhi(t, t + 5);
    *x++ = __float_as_int(w); *f++ = __int_as_float(t); *x++ = clock64();
    *h++ = __float2half(u); *f++ = __half2float(h[1]); *h++ = __hadd(h[3], h[4]); *p++ = __hfma2(p[6], p[7], p[8]);
    if (t > 1000) __trap();
}
"""


@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")
def test_words_become_the_ptx_that_is_said() -> None:
    ptx = cuda(SOURCE, "sm_80", "words").ptx
    told = {name: word.ptx for name, word in CUDA.items() if word.ptx and re.search(rf"\b{name}\b", SOURCE)}
    assert len(told) > 70
    assert not {name: word for name, word in told.items() if word not in ptx}


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("__syncwarp", {"word": "__syncwarp", "syntax": "void __syncwarp(unsigned mask = 0xffffffff)",
                        "terms": [["in PTX", "`bar.warp.sync`"]]}),
        ("threadIdx.y", {"word": "threadIdx", "terms": [["in PTX", "`%tid.y`"]]}),
        ("nvcuda::wmma::matrix_a", {"word": "matrix_a"}),
        ("cp.async.commit_group", {"word": "cp.async.commit_group", "syntax": "cp.async.commit_group"}),
        ("%%tid.x", {"word": "%tid.x"}),
        ("barrier.sync", {"word": "barrier.sync"}),
        ("add.x", None), ("kernel", None), ("%%r1", None),
    ],
)  # fmt: skip
def test_a_word_is_explained(word: str, found: dict[str, Any] | None) -> None:
    """Of CUDA C++, of its namespaces and members, and of the PTX in `asm`; a program's own names are not."""
    told = cell_questions.answer({"kind": "explain", "text": "%%cuda --grid 1\nint x;", "word": word})
    assert (told is None) == (found is None)
    assert {key: told[key] for key in found or {}} == (found or {})
    assert found is None or told["says"].endswith(".")


def test_words_are_completed() -> None:
    found = suggest("%%cuda\nint x = __shfl_d", 1, "int x = __shfl_d", None)
    assert found == ("__shfl_d", [("__shfl_down_sync", "function")])
    assert suggest("%%cuda\nif (x) bloc", 1, "if (x) bloc", None) == (
        "bloc",
        [("blockIdx", "variable"), ("blockDim", "variable")],
    )
    assert suggest("%%cuda\nx = ", 1, "x = ", None) is None


def test_every_word_is_a_name_and_has_its_sentence() -> None:
    assert len(CUDA) > 110
    for name, word in CUDA.items():
        assert re.fullmatch(r"\w+", name)
        assert word.says.endswith("."), name
        assert not word.syntax or name in word.syntax or word.kind == "type", name

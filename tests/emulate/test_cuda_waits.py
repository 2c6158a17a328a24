"""Waits for mbarriers as NVRTC writes them, of libcu++ and of inline PTX, at -O3 and -G: deadlocks are told as such."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import ptxlab as pl

BARRIER = """
#include <cuda/barrier>
#include <cuda/std/utility>
extern "C" __global__ void k(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all[4];
  if (threadIdx.x == 0)
    for (int i = 0; i < 4; ++i) init(&all[i], i == 2 ? out[1] : 64);
  __syncthreads();
  WAIT
  out[threadIdx.x] = 7;
}
"""
RING = """
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ bool over(unsigned long long* b, unsigned parity) {
  unsigned done;
  asm volatile("{ .reg .pred P1; mbarrier.try_wait.parity.shared::cta.b64 P1, [%1], %2; selp.b32 %0, 1, 0, P1; }"
               : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
  return done;
}
extern "C" __global__ void k(int* out) {
  __shared__ unsigned long long full[4];
  if (threadIdx.x == 0)
    for (int i = 0; i < 4; ++i)
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(full + i)), "r"(i == 2 ? out[1] : 64));
  __syncthreads();
  for (int i = 0; i < out[0]; ++i) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(full + i % 4)) : "memory");
    WAIT
  }
  __syncthreads();
  out[threadIdx.x] = 7;
}
"""
WAITS = {
    "arrive_and_wait": (BARRIER, "all[2].arrive_and_wait();"),
    "wait": (BARRIER, "auto token = all[2].arrive(); out[threadIdx.x] = 6; all[2].wait(cuda::std::move(token));"),
    "wait_parity": (BARRIER, "(void)all[2].arrive(); all[2].wait_parity(false);"),
    "a ring of barriers": (BARRIER, "for (int i = 0; i < 8; ++i) all[i % 4].arrive_and_wait();"),
    "a ring of mbarriers": (RING, "while (!over(full + i % 4, i / 4 & 1)) {}"),
    "with sleep": (
        RING,
        "unsigned ns = 8; bool ok = over(full + i % 4, i / 4 & 1);"
        " while (!ok) { __nanosleep(ns); if (ns < 256) ns *= 2; ok = over(full + i % 4, i / 4 & 1); }",
    ),
    "with the clock": (
        RING,
        "while (!over(full + i % 4, i / 4 & 1)) { long long t = clock64(); while (clock64() - t < 100) {} }",
    ),
    "until a trap": (RING, "int tries = 0; while (!over(full + i % 4, i / 4 & 1)) if (++tries > 5000) __trap();"),
}


@functools.cache
def compiled(name: str, arch: str, debug: bool) -> pl.CompiledKernel:
    source, wait = WAITS[name]
    try:
        return pl.cuda(source.replace("WAIT", wait), arch=arch, options=["-G"] if debug else [])
    except pl.UnavailableError as error:
        pytest.skip(str(error))


@pytest.mark.long
@pytest.mark.sweep(50)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("name", "debug"), [*((name, False) for name in WAITS), *((name, True) for name in WAITS if WAITS[name][0] is RING)]
)
def test_waits(name: str, debug: bool, arch: str, device: str) -> None:
    """With -G libcu++'s waits keep what they compute with in local memory, and are not followed."""
    kernel, out = compiled(name, arch, debug), np.full(64, 8, np.int32)
    out[1] = 64  # so many arrivals end a phase of the third barrier
    pl.launch(kernel, 1, 64, out, device=device)
    assert (out == 7).all()
    out[:2] = 8, 65
    with pytest.raises(pl.DeviceFault) as stopped:
        pl.launch(kernel, 1, 64, out, device=device, budget=1_000_000)
    if name == "until a trap":
        assert stopped.value.kind == "trap"
    else:
        assert stopped.value.kind == "deadlock"
        assert "byte 16, which has not ended: 1 of 65 arrivals missing" in stopped.value.message

"""Front ends: kernels in CUDA C++, numba-cuda or Triton, compiled to the same kind of kernel that the builder makes."""

from __future__ import annotations

from ptxlab.frontends.cuda import cuda
from ptxlab.frontends.kernel import CompiledKernel, Param, Pointer
from ptxlab.frontends.triton import triton

__all__ = ["CompiledKernel", "Param", "Pointer", "cuda", "triton"]

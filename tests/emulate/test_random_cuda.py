"""Random kernels in CUDA C++ leave what the same C++ leaves on this computer, in every way that they can be run."""

from __future__ import annotations

import shutil

import pytest
from emulate_programs import ENGINES
from slow_cases import slow

from ptxlab.frontends.cuda import available

pytestmark = [
    pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler: g++"),
    pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only"),
]


@pytest.mark.rest
@pytest.mark.parametrize("first", [0, *slow(range(3, 45, 3))])
def test_random_kernels_in_cuda(first: int) -> None:
    from random_cuda import differences

    assert differences(first, 3) == []

"""Random programs end alike on every engine, and under every schedule where that is promised, bit for bit: plain ones,
kernels in CUDA C++ (beside the same C++ on this computer), bulk copies with mbarriers and atomic operations."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import random_copies
from emulate_programs import ENGINES, run
from random_programs import INTEGERS, WORDS, program
from slow_cases import slow

from ptxlab import gpu
from ptxlab.frontends.cuda import available
from ptxlab.text import parse

two_engines = pytest.mark.skipif(len(ENGINES) == 1, reason="needs llvmlite: there is one engine only")


def results(engine: str, text: str, seed: int | None = None) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Integers, floats (as bits, every NaN the same) and memory after a program of two blocks."""
    x = (np.arange(192) * 2654435761 % 2**32).astype(np.uint32)
    out = np.zeros(256 * WORDS, np.uint32)
    found, _ = run(engine, text, threads=128, blocks=2, out=out, x=x, seed=seed)
    words = found.reshape(256, WORDS)
    floats = words[:, len(INTEGERS) :]
    floats = np.where(np.isnan(floats.view(np.float32)), np.uint32(0x7FFFFFFF), floats)
    return words[:, : len(INTEGERS)].tolist(), floats.tolist(), x.tolist()


@pytest.mark.long
@pytest.mark.sweep(7)
@pytest.mark.parametrize("seed", [*range(12), *slow(range(12, 300))])
def test_random_program(seed: int) -> None:
    text = program(seed)
    assert str(parse(text)) == text
    first = results("step", text)
    assert results("step", text, seed=seed) == first, f"seed {seed}: the schedule changes the result"
    for engine in ENGINES[1:]:
        found = results(engine, text)
        assert found == first, f"seed {seed}: {engine} and step differ"


@pytest.mark.sweep(3)
@pytest.mark.assembler
@pytest.mark.parametrize("seed", range(40))
def test_nvidias_assembler_takes_random_programs(seed: int) -> None:
    assert gpu.assemble(program(seed)).registers > 0


@two_engines
@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler: g++")
@pytest.mark.rest
@pytest.mark.parametrize("first", [0, *slow(range(3, 45, 3))])
def test_random_kernels_in_cuda(first: int) -> None:
    from random_cuda import differences

    assert differences(first, 3) == []


@two_engines
@pytest.mark.rest
@pytest.mark.parametrize("first", [0, 5, 10, 3080, *slow(range(15, 300, 5))])
def test_random_copies(first: int) -> None:
    assert random_copies.differences(first, 5) == []


@two_engines
@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize("first", [20, 98, 170, 184, 310, 4928, 7448, *slow(range(2000, 3000, 10))])
def test_mixed_copies(first: int) -> None:
    assert random_copies.mixed_differences(first, 10 if first >= 2000 else 6) == []

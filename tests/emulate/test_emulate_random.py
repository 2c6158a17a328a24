"""Random programs give the same result on every engine and under every schedule, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, run
from random_programs import INTEGERS, WORDS, program
from slow_cases import slow

from ptxlab import gpu
from ptxlab.text import parse


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

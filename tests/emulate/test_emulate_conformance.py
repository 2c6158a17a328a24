"""Every computed form of the instruction table gives the same bits on both engines, on values at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from conformance import canonical, combinations, computed, last, program
from emulate_programs import ENGINES, launch
from slow_cases import slow

FORMS = [opcode for entry in computed() for opcode in combinations(entry, 0)]
MIXED = [opcode for entry in computed() for opcode in combinations(entry, 40) if opcode not in set(FORMS)]
"""Mixtures of modifiers."""
SIZE = 40


def chunks(opcodes: list[str]) -> list[list[str]]:
    """Programs of a bearable size, those that later targets do not have by themselves."""
    parts = [[opcode for opcode in opcodes if last(opcode) == target] for target in (0, 60, 80)]
    return [part[k : k + SIZE] for part in parts for k in range(0, len(part), SIZE)]


@pytest.mark.sweep(32)
@pytest.mark.parametrize("opcodes", [*chunks(FORMS), *slow(chunks(MIXED))], ids=lambda chunk: chunk[0])
def test_engines_agree(opcodes: list[str]) -> None:
    text, data, cases = program(opcodes)
    outs = {}
    for engine in ENGINES:
        rows = sum(len(c.results) for c in cases)
        out = np.zeros((rows, 32), np.uint64)
        launch(engine, text, data.copy(), out, grid=(1,), block=(32,))
        outs[engine] = out
    if len(outs) < 2:
        pytest.skip("needs llvmlite: one engine alone has nothing to be compared with")
    wrong = []
    for c in cases:
        for row, type_ in c.results:
            a, b = canonical(outs["step"][row], type_), canonical(outs["jit"][row], type_)
            if (a != b).any():
                lane = int((a != b).argmax())
                given = [hex(int(x[lane])) for x in c.inputs]
                wrong.append(f"{c.form.opcode} {given}: step {int(a[lane]):#x}, jit {int(b[lane]):#x}")
    assert not wrong, "\n".join(wrong)


def test_most_of_the_table_is_compared() -> None:
    assert len(FORMS) > 800

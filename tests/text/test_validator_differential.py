"""`validate` and NVIDIA's assembler on mutated texts: a small sample of `tests/support/validator_differential.py`."""

from __future__ import annotations

import random

import pytest
from validator_causes import Difference, changed, known
from validator_differential import differences, text


@pytest.mark.assembler
def test_what_is_refused_is_refused_by_the_assembler() -> None:
    rng = random.Random(5)
    refused = [found for found in differences(text(rng) for _ in range(40)) if found.who == "ptxlab"]
    assert [(found.message, changed(found.ptx)) for found in refused if known(found) is None] == []


def test_a_known_cause_does_not_hide_another() -> None:
    left_out = "wgmma needs .aligned here; found .m64n8k16"
    named = known(Difference("ptxlab", left_out, "wgmma.mma_async.sync.m64n8k16.f32.f16.f16 {%f0}, %rd1, %rd3, %p4;"))
    assert named is not None
    assert named.name == "wgmma without .aligned"
    assert known(Difference("assembler", left_out, "wgmma.mma_async.sync.m64n8k16 {%f0};")) is None
    assert known(Difference("ptxlab", left_out, "mma.sync.m16n8k16 {%f0};")) is None

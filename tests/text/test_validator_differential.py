"""`validate` and NVIDIA's assembler on mutated texts: a small sample of `tests/support/validator_differential.py`."""

from __future__ import annotations

import random

import pytest
from validator_differential import changed, differences, text

TWICE = "does not take"
"""The assembler takes some modifiers twice, `div.approx.ftz.f32.approx`, and one that has no meaning."""


@pytest.mark.assembler
def test_what_is_refused_is_refused_by_the_assembler() -> None:
    rng = random.Random(5)
    count, causes = differences(text(rng) for _ in range(40))
    assert count == 40
    refused = {cause: changed(texts[0]) for cause, texts in causes.items() if cause.startswith("ptxlab refuses")}
    assert [(cause, line) for cause, line in refused.items() if TWICE not in cause] == []

"""`validate` and NVIDIA's assembler on mutated texts: a small sample of `tests/support/validator_differential.py`."""

from __future__ import annotations

import random

import pytest
from validator_differential import changed, differences, known, ours, text

from ptxlab.isa import examples


@pytest.mark.long
@pytest.mark.assembler
def test_what_is_refused_is_refused_by_the_assembler() -> None:
    rng = random.Random(5)
    refused = [found for found in differences(text(rng) for _ in range(40)) if found.who == "ptxlab"]
    assert [(found.message, changed(found.ptx)) for found in refused if not known(found)] == []


DENSE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
DESCRIBED = {
    "%rd1, %rd3, %p4, 1, 1, 0, 0;": "",
    "%rd1+4, 7, %p4, 1, 1, 0, 0;": "",
    "%r1, %rd3, %p4, 1, 1, 0, 0;": "takes a fragment in braces or a 64-bit descriptor here, found %r1",
    "%rd1, 0d3FF0000000000000, %p4, 1, 1, 0, 0;": "takes a 64-bit descriptor here, found 0d3FF0000000000000",
    "%rd1, %rd3, %p4, 1, 1, 0;": "takes two transpositions, of A and of B, where A lies in shared memory; found one",
}


@pytest.mark.long
@pytest.mark.assembler
def test_matrices_in_shared_memory_as_the_assembler_judges_them() -> None:
    body = "\n".join([*examples.DECLARATIONS.splitlines(), "LINE"])
    head = ".version 8.8\n.target sm_90a\n.address_size 64\n.const .align 16 .b8 table[64];\n"
    whole = f"{head}.visible .entry k(.param .u64 input)\n{{\n{body}\nret;\n}}\n"
    lines = [f"{DENSE} {{%f0, %f1, %f2, %f3}}, {operands}" for operands in DESCRIBED]
    texts = [whole.replace("LINE", line) for line in [*lines, "cp.async.mbarrier.arrive.noinc.b64 [%r1];"]]
    says = [f"{DENSE} {message}" if message else "" for message in DESCRIBED.values()]
    assert [ours(ptx) for ptx in texts] == [*says, ""]
    assert differences(texts) == []

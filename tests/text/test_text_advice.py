"""Whatever a message tells the reader to write is right in its place, and means what the reader meant."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
from collected_advice import collected, repairs

from ptxlab.errors import PtxError
from ptxlab.isa import TABLE, examples
from ptxlab.isa.meanings import meant
from ptxlab.text import parse
from ptxlab.text.validate import validate

TEXTS = (
    ".version 9.0\n.target sm_100a\n.address_size 64\n.const .b8 table[64];\n.visible .entry k(.param .u64 input)\n{\n"
    + examples.DECLARATIONS
)
EXAMPLES = [opcode for name in TABLE if name != "call" for entry in TABLE[name] for opcode in examples.opcodes(entry)]
PARTS = 80


def errors(line: str) -> list[PtxError]:
    """What is wrong with a line."""
    return validate(parse(f"{TEXTS}{line}\ndone:\nret;\n}}\n"))


@pytest.mark.parametrize(
    ("line", "write"),
    [
        ("setp.gte.u32 %p1, %r1, %r2;", "setp.ge.u32 %p1, %r1, %r2;"),
        ("setp.geq.f32 %p1, %f1, %f2;", "setp.ge.f32 %p1, %f1, %f2;"),
        ("setp.lte.s32 %p1, %r1, %r2;", "setp.le.s32 %p1, %r1, %r2;"),
        ("setp.leq.and.s32 %p1, %r1, %r2, %p2;", "setp.le.and.s32 %p1, %r1, %r2, %p2;"),
        ("setp.neq.u64 %p1, %rd1, %rd2;", "setp.ne.u64 %p1, %rd1, %rd2;"),
        ("set.gte.u32.f32 %r1, %f1, %f2;", "set.ge.u32.f32 %r1, %f1, %f2;"),
        ("slct.f32.float %f1, %f2, %f3, %f4;", "slct.f32.f32 %f1, %f2, %f3, %f4;"),
        ("add.u32t %r1, %r2, %r3;", "add.u32 %r1, %r2, %r3;"),
        ("add.int %r1, %r2, %r3;", "add.s32 %r1, %r2, %r3;"),
        ("cvt.rn.s32.f32 %r1, %f1;", "cvt.rni.s32.f32 %r1, %f1;"),
        ("cvt.rni.f32.s32 %f1, %r1;", "cvt.rn.f32.s32 %f1, %r1;"),
        ("ld.smem.u32 %r1, [tile];", "ld.shared.u32 %r1, [tile];"),
        ("shfl.sync.xor.b32 %r1, %r2, 1, 31, -1;", "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;"),
        ("atom.global.exch.u32 %r1, [%rd1], 1;", "atom.global.exch.b32 %r1, [%rd1], 1;"),
        ("fence.seq_cst.gpu;", "fence.sc.gpu;"),
        ("fence.acq_rel;", "fence.acq_rel.gpu;"),
        ("membar.gpu;", "membar.gl;"),
        ("sub.1s6 %h1, %h2, %h3;", "sub.s16 %h1, %h2, %h3;"),
        (
            "mbarrier.arrive.release.gpu.shared::cta.b64 %rd1, [tile];",
            "mbarrier.arrive.release.cluster.shared::cta.b64 %rd1, [tile];",
        ),
        # what would be weaker, of another sign, or not there at all is not advised
        ("atom.seq_cst.gpu.global.add.u32 %r1, [%rd1], 1;", ""),
        ("red.acquire.gpu.global.add.u32 [%rd1], 1;", ""),
        ("shr.logical.s32 %r1, %r2, %r3;", ""),
        ("setp.geu.s32 %p1, %r1, %r2;", ""),
        ("shfl.xor.b32 %r1, %r2, 1, 31;", ""),
        ("ld.global.f32x4 {%f1, %f2, %f3, %f4}, [%rd1];", ""),
    ],
)
def test_what_a_slip_means(line: str, write: str) -> None:
    (error,) = errors(line)
    assert error.hint == write


def slips(opcode: str) -> Iterator[str]:
    """Opcodes that somebody may write in place of this one."""
    words = opcode.split(".")
    for k, word in enumerate(words[1:], 1):
        others = ["", word[:-1], word[1:2] + word[:1] + word[2:], f"{word}.foo", f"{word}.sat", word.upper()]
        others += [other for other in ALIKE if word in meant(other)]
        for other in others:
            yield ".".join([*words[:k], *([other] if other else []), *words[k + 1 :]])


ALIKE = (
    "gte geq lte leq neq eql u32t int32 i32 float double half smem gmem block device gpu acqrel seq_cst rne x4".split()
)


@pytest.mark.rest
@pytest.mark.sweep(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_advice_for_slips_is_taken(part: int) -> None:
    refused, advised = [], 0
    for opcode in EXAMPLES[part::PARTS]:
        line = examples.line(opcode)
        for slip in slips(opcode) if not errors(line) else ():
            for error in errors(slip + line[len(opcode) :])[:1]:
                advised += bool(error.hint)
                if error.hint and errors(error.hint):
                    refused.append((error.source, error.hint))
    assert refused == []
    assert advised > 100


@pytest.mark.long
@pytest.mark.parametrize("name", ["errors", "validate", pytest.param("declaration_rules", marks=pytest.mark.slow)])
def test_advice_in_the_messages_of_other_tests_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"test_text_{name}")
    monkeypatch.setattr(module, "test_compilers_output_has_no_finding", None, raising=False)
    given = [advice for advice in collected(module) if advice.write]
    assert len(given) > 10
    assert [advice for advice in given if not repairs(advice)] == []

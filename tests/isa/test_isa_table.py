"""The table itself: the order of modifiers, the messages for opcodes that fit nothing, docs."""

from __future__ import annotations

import re

import pytest

from ptxlab.gpu import assembler
from ptxlab.isa import FormError, all_ops, examples, form, modifiers
from ptxlab.isa.docs import explain


def test_modifiers_may_stand_in_any_order() -> None:
    listed, free = form("atom.acq_rel.gpu.global.add.f32"), form("atom.global.add.acq_rel.gpu.f32")
    for slot in ("order", "scope", "space", "operation", "type"):
        assert getattr(listed, slot) == getattr(free, slot)
    assert form("fma.rn.f32.ftz").ftz


@pytest.mark.parametrize(
    ("opcode", "message", "caret"),
    [
        ("fma.f32", "fma needs .rnd here, one of .rn .rz .rm .rp; found .f32", (4, 3)),
        ("fma", "fma needs .rnd here, one of .rn .rz .rm .rp; found nothing", (4, 1)),
        ("ex2.approx.f64", "ex2 needs .type here, one of .f32 .f16 .f16x2; found .f64", (11, 3)),
        ("mul.s32", "mul needs one of .lo .hi .wide here; found .s32", (4, 3)),
        ("div.f32", "div needs one of .approx .full .rn .rz .rm .rp here; found .f32", (4, 3)),
        ("cvt.s32.f32", "cvt needs .rnd here, one of .rni .rzi .rmi .rpi; found .s32", (4, 3)),
        ("cvt.f32.s32", "cvt needs .rnd here, one of .rn .rz .rm .rp; found .f32", (4, 3)),
        ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "mma needs .col here; found .row", (30, 3)),
        ("add.rn.s32", "add does not take .rn here", (4, 2)),
        ("cvt.rn.f64.f32", "cvt does not take .rn here", (4, 2)),
        ("add.f33", "add needs .type here, one of .u16 .u32 .u64 .s16 .s32 .s64 .u16x2 .s16x2 .f32 .f64 .f16 .f16x2 "
         ".bf16 .bf16x2 .f32x2; found .f33", (4, 3)),
        ("bra.far", "bra does not take .far here", (4, 3)),
        ("addd.f32", "unknown instruction 'addd'; did you mean add?", (0, 4)),
    ],
)  # fmt: skip
def test_messages(opcode: str, message: str, caret: tuple[int, int]) -> None:
    with pytest.raises(FormError) as caught:
        form(opcode)
    assert (str(caught.value), (caught.value.at, caught.value.length)) == (message, caret)


def test_versions_and_architectures_come_from_the_modifiers_too() -> None:
    assert (form("add.f32").version, form("add.f32").sm) == ((1, 0), 0)
    assert (form("max.NaN.f32").version, form("max.NaN.f32").sm) == ((7, 0), 80)
    assert (form("ld.shared.f32").version, form("ld.shared::cta.f32").version) == ((1, 0), (7, 8))
    assert form("cvt.rn.satfinite.f16x2.f32").version == (8, 1)


def test_explain() -> None:
    doc = explain("fma.rn.ftz.f32")
    assert str(doc) == (
        "fma.rnd{.ftz}{.sat}.f32  d, a, b, c\n\n"
        "Fused multiply-add: d = a*b + c, rounded once. The workhorse of every dot product: two flops in one issue "
        "slot, and a smaller error than `mul` followed by `add`.\n\n"
        "  .rn  Rounds to the nearest number; a tie goes to the one with an even last digit.\n"
        "  .ftz  Flush to zero: subnormal inputs and results become 0 and keep their sign.\n"
        "  .f32  32-bit floating point: 24 significant bits.\n"
        "  d  written: .f32.\n  a  read: .f32.\n  b  read: .f32.\n  c  read: .f32.\n  PTX 2.0, sm_20"
    )
    assert dict(doc)["rn"].startswith("Rounds to the nearest")
    assert explain("tensormap.replace.tile.rank.global.b1024.b32").since == "PTX 8.3, sm_90"


@pytest.mark.long
def test_every_entry_and_every_modifier_says_something() -> None:
    for entry in all_ops():
        assert len(entry.says) > 15, entry.syntax
        assert entry.says[-1] in ".:", entry.syntax
        for slot in entry.slots:
            for word in slot.choices:
                assert modifiers.word(word)[-1] == ".", word
        for opcode in examples.opcodes(entry):
            assert len(explain(opcode).modifiers) == opcode.count(".")


# -- the real assembler ------------------------------------------------------------------------------------------------

OTHER_OPERANDS = ("call", "brx")
"""Opcodes whose operands an example cannot make up: functions, tables of labels."""

REFUSED = re.compile(
    r"""(?:shfl|vote)\.(?!sync)  # ended with sm_70, which no assembler of today goes below
    | (?:ld|st)\.(?:\w+\.)*param::func | st\.(?:\w+\.)*param  # parameters of a called function
    | cp\.async\.bulk\.(?:tensor|.*multicast)  # tensor coordinates, multicast masks
    | mbarrier\.arrive.*shared::cluster  # the sink _ as destination
    | cvt\.sat\.u8\.u8 | cvta\.shared::cluster  # a type clamped to itself, 32-bit cluster addresses
    """,
    re.VERBOSE,
)


def architecture(sm: int) -> str:
    """The oldest that the assembler still knows and that has it."""
    return next(
        name
        for least, name in (
            (75, "sm_75"), (80, "sm_80"), (86, "sm_86"), (89, "sm_89"), (90, "sm_90a"), (100, "sm_100a"),
        )
        if sm <= least
    )  # fmt: skip


@pytest.mark.rest
@pytest.mark.assembler
def test_nvidias_assembler_takes_every_entry() -> None:
    kernels: dict[tuple[str, tuple[int, int]], list[str]] = {}
    tested = set()
    for entry in all_ops():
        if entry.name in OTHER_OPERANDS:
            continue
        for opcode in examples.opcodes(entry):
            if not REFUSED.match(opcode):
                found = form(opcode)
                version = max(found.version, (6, 4))
                kernels.setdefault((architecture(found.sm), version), []).append(examples.line(opcode))
                tested.add(entry.syntax)
    assert sum(map(len, kernels.values())) > 2400
    for (arch, version), lines in kernels.items():
        least = {"sm_75": (6, 4), "sm_80": (7, 0), "sm_86": (7, 1), "sm_89": (7, 8), "sm_90a": (8, 0)}.get(arch, (8, 6))
        major, minor = max(version, least)
        declarations = examples.DECLARATIONS
        if (major, minor) < (8, 3):
            declarations = declarations.replace(".reg .b128 %q<9>;\n", "")
        body = "\n".join(lines)
        assembler.assemble(
            f".version {major}.{minor}\n.target {arch}\n.address_size 64\n.const .align 16 .b8 table[64];\n"
            f".visible .entry example(.param .u64 input)\n{{\n{declarations}{body}\ndone:\nret;\n}}\n",
            arch,
        )


@pytest.mark.parametrize(
    ("opcode", "word", "says"),
    [
        ("setmaxnreg.inc.sync.aligned.u32", "inc", "Takes registers"),
        ("setmaxnreg.dec.sync.aligned.u32", "dec", "Gives registers back"),
        ("atom.global.inc.u32", "inc", "starts again at 0"),
        ("dp2a.hi.u32.u32", "hi", "two high bytes of b"),
        ("mul24.hi.u32", "hi", "Bits 16 to 47"),
        ("mad.hi.u32", "hi", "upper half of the product"),
        ("tex.2d.v4.f32.f32", "2d", "Of 2 dimensions"),
        ("multimem.red.relaxed.gpu.global.add.u32", "red", "an operand with memory"),
        ("barrier.cluster.wait.aligned", "wait", "for the other threads to arrive"),
    ],
)
def test_a_word_that_means_several_things_is_explained_for_its_instruction(opcode: str, word: str, says: str) -> None:
    assert says in dict(explain(opcode))[word]


def test_a_texture_is_read_by_a_handle_and_not_by_an_address() -> None:
    assert "the handle of a texture" in dict(explain("tex.2d.v4.f32.f32").operands)["[a]"]
    assert "a memory address" in dict(explain("ld.global.f32").operands)["[a]"]

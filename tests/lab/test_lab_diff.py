"""The PTX diff: aligned by instruction, blind to renumbering, and every line of both texts in exactly one row."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

import ptxlab as pl
from ptxlab.lab.alignment import Row, carried, compare, declares
from ptxlab.lab.diff import diff, ptx_of

OLD = """\
.reg .f32 %f<4>;
ld.param.u64 %rd1, [p];
mul.f32 %f1, %f2, %f3;  // a comment
add.f32 %f4, %f1, %f1;
@%p1 bra $L__BB0_2;
st.global.f32 [%rd1], %f4;
$L__BB0_2:
ret;
"""


def kinds(old: str, new: str) -> str:
    """One letter a row: Same, Renamed, Changed, Added, removed (D), Note."""
    letters = {"same": "S", "renamed": "R", "changed": "C", "added": "A", "removed": "D", "note": "N"}
    return "".join(letters[row.kind] for row in compare(old.splitlines(), new.splitlines()))


def test_an_edit_is_carried_to_another_build_on_its_registers() -> None:
    other = OLD.replace("%f4", "%f9").replace("mul", "st.global.f32 [%rd1], %f4;\nmul").splitlines()
    edited = OLD.replace("add.f32 %f4, %f1", "sub.f32 %mine, %f4, %f1;\nadd.f32 %f4, %mine").splitlines()
    wanted = [*other[:4], "sub.f32 %mine, %f9, %f1;", "add.f32 %f9, %mine, %f1;", *other[5:]]
    assert carried(OLD.splitlines(), edited, other) == wanted
    assert carried(OLD.splitlines(), OLD.splitlines(), other) == other
    for own in ("%f9", "%f44"):  # a register of the other build alone, and a line that is not in it
        theirs = [line.replace("ret;", "exit;") for line in other] if own == "%f44" else other
        mine = OLD.replace("ret;", f"mov.f32 {own}, %f1;\nexit;").splitlines()
        assert carried(OLD.splitlines(), mine, theirs) is None


def test_equal_texts_have_no_change() -> None:
    d = diff(OLD, OLD)
    assert d.summary == "no instruction changed"
    assert [row.kind for row in d.rows] == ["same"] * 8
    assert repr(d) == "no instruction changed"


def test_renumbering_is_no_change() -> None:
    """A new first instruction renumbers all that follows; only the new one counts."""
    new = """\
.reg .f32 %f<5>;
ld.param.u64 %rd1, [p];
mov.f32 %f1, 0f00000000;
mul.f32 %f2, %f3, %f4;
add.f32 %f5, %f2, %f2;
@%p3 bra $L__BB0_7;
st.global.f32 [%rd1], %f5;
$L__BB0_7:
ret;
"""
    assert kinds(OLD, new) == "RSARRRRRS"
    assert diff(OLD, new).summary == "+1 -0 ~0"


def test_a_changed_operand_is_a_change_however_it_is_numbered() -> None:
    new = OLD.replace("add.f32 %f4, %f1, %f1;", "add.f32 %f4, %f1, %f2;")
    assert kinds(OLD, new) == "SSSCSSSS"
    changed = next(row for row in diff(OLD, new).rows if row.kind == "changed")
    assert changed == Row("changed", 3, 3, ((18, 21),), ((18, 21),))


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        (  # swapped operands
            "sub.f32 %f1, %f2, %f3;\nsub.f32 %f4, %f2, %f3;\nmul.f32 %f5, %f2, %f3;",
            "sub.f32 %f1, %f2, %f3;\nsub.f32 %f4, %f3, %f2;\nmul.f32 %f5, %f2, %f3;",
            "SCS",
        ),
        (  # %f1 is written twice; in the new text each value has a register of its own
            "mov.f32 %f1, %a;\nadd.f32 %x, %f1, %f1;\nmov.f32 %f1, %b;\nadd.f32 %y, %f1, %f1;",
            "mov.f32 %f1, %a;\nadd.f32 %x, %f1, %f1;\nmov.f32 %f2, %b;\nadd.f32 %y, %f2, %f2;",
            "SSRR",
        ),
        ("@%p1 bra $L1;", "@!%p1 bra $L1;", "C"),
        ("mov.f32 %f1, 0f3F800000;", "mov.f32 %f1, 0f40000000;", "C"),
        ("mov.u32 %r1, %tid.x;", "mov.u32 %r1, %ctaid.x;", "C"),
    ],
)
def test_what_is_a_change(old: str, new: str, rows: str) -> None:
    assert kinds(old, new) == rows


def test_changed_opcode_pairs_the_lines_and_marks_what_differs() -> None:
    old, new = "ld.global.f32 %f1, [%rd1];\nret;", "ld.shared.f32 %f1, [%r1+4];\nret;"
    rows = compare(old.splitlines(), new.splitlines())
    assert [row.kind for row in rows] == ["changed", "same"]
    assert [old[a:b] for a, b in rows[0].left] == ["ld.global.f32"]
    assert [new[a:b] for a, b in rows[0].right] == ["ld.shared.f32", "+", "4"]


def test_comments_and_blank_lines_are_notes() -> None:
    d = diff("add.f32 %f1, %f2, %f3;", "// new comment\n\nadd.f32 %f1, %f2, %f3;  // and here")
    assert [row.kind for row in d.rows] == ["note", "note", "same"]
    assert d.summary == "no instruction changed"


def test_unified_text() -> None:
    d = diff(
        "a.b32 %r1;\nmov.u32 %r1, 1;\nret;",
        "a.b32 %r1;\nmov.u32 %r1, 2;\nadd.u32 %r1, %r1, %r1;\nret;",
        names=("x", "y"),
    )
    assert d.unified() == (
        "--- x\n+++ y\n  a.b32 %r1;\n- mov.u32 %r1, 1;\n+ mov.u32 %r1, 2;\n+ add.u32 %r1, %r1, %r1;\n  ret;"
    )
    assert d.summary == "+1 -0 ~1"


def test_every_line_is_in_one_row_in_order() -> None:
    """Random edits of a repetitive text, as unrolled kernels are."""
    dice = random.Random(1)
    old = [f"fma.rn.f32 %f{i % 7}, %q{i}, %f{i % 5}, %f{i % 7};" for i in range(200)]
    new = [line for line in old if dice.random() > 0.2]
    for _ in range(30):
        new.insert(dice.randrange(len(new)), dice.choice(["ret;", "bar.sync 0;", "", "// note", old[3]]))
    rows = compare(old, new)
    assert [row.a for row in rows if row.a is not None] == list(range(len(old)))
    assert [row.b for row in rows if row.b is not None] == list(range(len(new)))


def test_a_long_unrolled_kernel_is_compared_quickly() -> None:
    """head_dim 64 against 128 of an unrolled kernel: the widget has 150 ms for everything."""

    def kernel(dim: int) -> list[str]:
        body = [f"ld.global.f32 %query{d}, [%q_row+{4 * d}];" for d in range(dim)]
        for d in range(dim):
            body += [
                f"ld.global.f32 %f{2 * d}, [%key_row+{4 * d}];",
                f"fma.rn.f32 %score, %query{d}, %f{2 * d}, %score;",
            ]
        return [*body, *(f"mul.f32 %acc{d}, %acc{d}, %rescale;" for d in range(dim)), "ret;"]

    start = time.perf_counter()
    rows = compare(kernel(64), kernel(128))
    assert time.perf_counter() - start < 1.0
    assert sum(row.kind == "added" for row in rows) == 64 * 4
    assert not any(row.kind in ("removed", "changed") for row in rows)


def test_anything_with_ptx_can_be_compared() -> None:
    class Built:
        name = "kernel_b"
        ptx = "ret;"

    assert ptx_of(Built()) == "ret;"
    d = diff("trap;\nret;", Built())
    assert (d.old_name, d.new_name, d.summary) == ("before", "kernel_b", "+0 -1 ~0")


def test_kernels_of_the_library_and_results_can_be_compared() -> None:
    q, k, v = pl.reference.random_inputs(1, 1, 1, 2, 2, 16)
    plain, causal = (pl.attention(q, k, v, kernel="scalar", causal=c, device="step") for c in (False, True))
    found = pl.diff(plain, causal)
    assert (found.old_name, found.new_name) == ("scalar_f32_d16", "scalar_f32_d16_causal")
    assert found.old == plain.kernel.ptx.splitlines()
    assert found.added > 0
    for same in (pl.diff(plain.kernel.module, plain), pl.diff(plain.kernel, plain), pl.diff("scalar", "scalar")):
        assert same.summary == "no instruction changed"
    assert pl.diff("scalar", "tiled").new_name == "tiled"


@pytest.mark.parametrize(("thing", "kind"), [(None, "NoneType"), (3, "int"), ([1, 2], "list")])
def test_what_has_no_ptx_is_named(thing: Any, kind: str) -> None:
    with pytest.raises(pl.LaunchError) as caught:
        pl.diff("ret;\n", thing)
    assert str(caught.value) == f"expected PTX text, a kernel or a result of one, got {kind}"


# -- other languages ---------------------------------------------------------------------------------------------------


def test_machine_code_is_compared_without_addresses_and_register_numbers() -> None:
    old = [
        "0000      S2R R0, SR_TID.X",
        "0010      IADD3 R2, R0, 0x20, RZ",
        "0020 @P0  STS [R2+0x1000], R0",
        "0030      EXIT",
    ]
    new = [
        "0000      S2R R4, SR_TID.X",
        "0010      NOP",
        "0020      IADD3 R3, R4, 0x20, RZ",
        "0030 @P0  STS [R3+0x800], R4",
        "0040      EXIT",
    ]
    rows = compare(old, new, "sass")
    assert [(r.kind, r.a, r.b) for r in rows] == [
        ("renamed", 0, 0),
        ("added", None, 1),
        ("renamed", 1, 2),
        ("changed", 2, 3),
        ("same", 3, 4),
    ]
    (changed,) = (r for r in rows if r.kind == "changed")
    assert [old[2][a:b] for a, b in changed.left] == ["0x1000"]
    assert [new[3][a:b] for a, b in changed.right] == ["0x800"]


def test_python_is_compared_word_by_word() -> None:
    old, new = ["    half = n // 2", "    return half"], ["    half = n // 4", "    return half"]
    rows = compare(old, new, "python")
    assert [r.kind for r in rows] == ["changed", "same"]
    assert [new[0][a:b] for a, b in rows[0].right] == ["4"]


DECLARED = ("    .reg .b32 %r<5>;", ".visible .entry k(", "    .param .u64 q", "{", ")")
OTHERS = ("    add.s32 %a, %b, %c;", "loop:", "@%p bra loop;", "", "// a comment")


def test_what_is_no_instruction() -> None:
    assert [line for line in (*DECLARED, *OTHERS) if declares(line)] == [*DECLARED]

"""Declarations that cannot stand, and those that can: judged as NVIDIA's assembler judges them, or said where not.

Every case is asked of `validate`, of both engines, of the editor's check and, where it is installed, of the assembler.
"""

from __future__ import annotations

import numpy as np
import pytest
from shown_messages import message

import ptxlab as pl
from ptxlab.gpu import assembler
from ptxlab.lab import language
from ptxlab.text.declaration_rules import misdeclared
from ptxlab.text.validate import validate

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def in_body(*lines: str) -> str:
    return HEAD + ".visible .entry k(.param .u64 o)\n{\n" + "\n".join(lines) + "\nret;\n}\n"


def in_module(*lines: str) -> str:
    return HEAD + "\n".join(lines) + "\n.visible .entry k(.param .u64 o)\n{\nret;\n}\n"


def problems(text: str) -> list[str]:
    """What `validate` says, or the parser."""
    try:
        return [str(error) for error in validate(pl.parse(text, "k.ptx"))]
    except pl.PtxSyntaxError as error:
        return [str(error)]


def assembles(text: str) -> bool:
    if not assembler.available():
        pytest.skip("needs NVIDIA's assembler")
    try:
        pl.assemble(text)
    except pl.AssemblyError:
        return False
    return True


def runs(text: str, device: str) -> pl.PtxError | None:
    """What stops a launch; None where it runs."""
    try:
        pl.launch(text, 1, 1, np.zeros(64, np.uint32), device=device, entry="k")
    except pl.PtxError as error:
        return error
    return None


REFUSED = {
    # alignments
    in_body(".shared .align 0 .b8 a[4];"): "k.ptx:6:16: an alignment is a power of two from 1 to 1073741824; found 0",
    in_body(".shared .align 3 .b8 a[4];"): "k.ptx:6:16: an alignment is a power of two from 1 to 1073741824; found 3",
    in_module(".global .align 1099511627776 .b8 a[4];"):
        "k.ptx:4:16: an alignment is a power of two from 1 to 1073741824; found 1099511627776",
    HEAD + ".visible .entry k(.param .u64 .ptr .global .align 6 o) { ret; }":
        "k.ptx:4:51: an alignment is a power of two from 1 to 1073741824; found 6",
    # names that are there twice
    in_body(".reg .b32 %r;", ".reg .f32 %r;"): "k.ptx:7:11: the register %r is already on line 6",
    in_body(".reg .b32 %r<4>;", ".reg .b32 %r2;"):
        "k.ptx:7:11: %r2 is already on line 6, which declares %r0 to %r3",
    in_body(".reg .b32 %r2;", ".reg .b32 %r<4>;"): "k.ptx:7:11: %r<4> declares %r2 again, which is already on line 6",
    in_body(".reg .b32 %r<4>;", ".reg .b32 %r03;"): "k.ptx:7:11: %r03 is already on line 6, which declares %r0 to %r3",
    in_body(".reg .b32 %r<4>;", ".reg .f32 %r<8>;"): "k.ptx:7:11: the registers %r<4> are already on line 6",
    in_body(".reg .b32 a;", ".shared .b32 a;"): "k.ptx:7:14: the register a is already on line 6",
    in_body(".reg .b32 o;"): "k.ptx:6:11: the variable o is already on line 4",
    in_body(".reg .b32 L;", "L:"): "k.ptx:7:1: the register L is already on line 6",
    in_body("L:", "L:"): "k.ptx:7:1: the label L is already on line 6",
    in_body("o:"): "k.ptx:6:1: the variable o is already on line 4",
    in_module(".visible .entry k() { ret; }"): "k.ptx:5:17: the .entry k is already on line 4",
    in_module(".func f { ret; }", ".func f { ret; }"): "k.ptx:5:7: the .func f is already on line 4",
    in_module(".func f { ret; }", ".func f;"): "k.ptx:5:7: the .func f is already on line 4",
    in_module(".func k { ret; }"): "k.ptx:5:17: k is a .func on line 4 and a .entry here",
    in_module(".func f(.param .b32 x);", ".func f(.param .b64 x) { ret; }"):
        "k.ptx:5:7: f has the parameters (.param .b64 x) here, (.param .b32 x) on line 4",
    in_module(".func f(.param .b32 x, .param .b32 x) { ret; }"): "k.ptx:4:36: the variable x is already on line 4",
    in_module(".func f;", ".visible .func f { ret; }"): "k.ptx:5:16: f is .visible here, without linkage on line 4",
    in_module(".global .b32 a;", ".const .b64 a;"): "k.ptx:5:13: the variable a is already on line 4",
    in_module(".global .b32 f;", ".func f { ret; }"): "k.ptx:5:7: the variable f is already on line 4",
    in_module(".extern .global .b32 a;", ".visible .global .b64 a;"):
        "k.ptx:5:23: a is .global .b64 here, .global .b32 on line 4; both declarations must agree",
    in_body(".reg .b32 _;"): "k.ptx:6:11: _ has a meaning of its own and cannot be declared",
    # a register of the programmer's that hides a special one has no elements
    in_body(".reg .b32 %tid, %r;", "mov.u32 %r, %tid.x;"):
        "k.ptx:7:13: %tid has no .x: line 6 declares it as .b32, which hides the special register %tid.x; it has no "
        "elements",
    # types and sizes
    in_body(".reg .bf16 %h;"): "k.ptx:6:12: .bf16 is a type of instructions; a variable that holds it is .b16",
    in_body(".shared .pred p;"): "k.ptx:6:15: a predicate is a register; .shared holds it as a number, such as .u32",
    in_body(".reg .v4 .b64 %v;"): "k.ptx:6:15: a vector has at most 128 bits, .v4 .b64 has 256",
    in_body(".reg .b32 %r[4];"): "k.ptx:6:11: registers have no arrays; %r<n> declares n of them",
    in_body(".reg .b32 %r<-1>;"): "k.ptx:6:14: one declaration takes 0 to 10,000,000 registers; found -1",
    in_body(".reg .b32 %r<3000000000>;"):
        "k.ptx:6:14: one declaration takes 0 to 10,000,000 registers; found 3000000000",
    in_body(".shared .b8 a[-1];"): "k.ptx:6:15: a length of the array a must be a number of at least 1; found -1",
    in_body(".shared .b8 a[4][0];"): "k.ptx:6:18: a length of the array a must be a number of at least 1; found 0",
    in_body(".shared .b8 a[];"):
        "k.ptx:6:13: the array a needs a length (or .extern, where the launch gives the size)",
    in_body(".local .b8 a[0];"): "k.ptx:6:12: the array a needs a length",
    in_module(".const .b8 a[40000];", ".const .b8 b[40000];"):
        "k.ptx:5:12: b makes it 80,000 bytes of .const; a module has at most 65,536",
    in_module(".visible .entry z(.param .b8 a[32760], .param .u64 b) { ret; }"):
        "k.ptx:4:52: b makes it 32,768 bytes of parameters; a kernel has at most 32,764",
    in_module(".visible .entry z(.param .b8 a[]) { ret; }"): "k.ptx:4:30: the array a needs a length",
    in_module(".visible .entry z(.reg .b32 a) { ret; }"):
        "k.ptx:4:29: the parameter a of a kernel must be .param, not .reg",
    in_module(".reg .b32 a;"): "k.ptx:4:11: registers are declared inside a function, between its '{' and '}'",
    HEAD + ".visible .entry k(.param .u64 o) .maxntid 0 { ret; }":
        "k.ptx:4:43: .maxntid takes a whole number from 1 to 4294967295; found 0",
    HEAD + ".visible .entry k(.param .u64 o) .maxntid 1, 1, 1, 1 { ret; }":
        "k.ptx:4:52: .maxntid takes at most 3 numbers",
    # initial values
    in_module(".global .b32 a[2] = {1, 2, 3};"): "k.ptx:4:14: 3 initial values for the 2 elements that a has here",
    in_module(".global .b32 a[2][2] = {{1, 2, 3}};"): "k.ptx:4:14: 3 initial values for the 2 elements that a has here",
    in_module(".global .b32 a[2][2] = {1, 2};"):
        "k.ptx:4:14: a has 2 elements here; write its initial values in braces; found 1",
    in_module(".global .b32 a = {1};"): "k.ptx:4:14: too many braces: an initial value of a is a single .b32",
    in_module(".global .v2 .f32 a = {1.0};"): "k.ptx:4:18: 1 initial values for the 2 elements that a has here",
    in_module(".global .u32 a = 1.5;"): "k.ptx:4:14: .u32 takes an integer, found the floating-point number 1.5",
    in_module(".global .f32 a = 1;"):
        "k.ptx:4:14: .f32 takes a floating-point number, found the integer 1; write 1.0",
    in_module(".global .f16 a = 1.0;"): "k.ptx:4:14: .f16 has no initial value; write .b16 and its bits",
    in_module(".global .u64 a = b;", ".global .u32 b;"):
        "k.ptx:4:14: b is not declared before a, whose initial value names it",
    in_module(".shared .u32 s;", ".global .u64 a = s;"):
        "k.ptx:5:14: s is .shared; only the addresses of .global and .const variables are known beforehand",
    in_body(".shared .b32 a = 4;"):
        "k.ptx:6:14: .shared variables have no initial value: store it when the kernel runs",
    in_module(".global .f64 a = 1e400;"): "k.ptx:4:18: this number does not fit in 64 bits",
}  # fmt: skip
"""Text that the assembler refuses as well -> the first line of what is said here."""

ACCEPTED = (
    in_body(".reg .b32 %tid;", "mov.u32 %tid, 5;"), in_body(".reg .v4 .b32 %tid;", "mov.u32 %tid.x, 5;"),
    in_body("{", ".reg .b32 %laneid;", "mov.u32 %laneid, 5;", "}"),
    in_body(".reg .b32 %r<4>;", ".reg .b32 %r;", "mov.u32 %r, %r3;"), in_body(".reg .b32 %r<4>;", "mov.u32 %r03, 7;"),
    in_body(".reg .b32 %r1<2>;", ".reg .b32 %r<12>;"),
    in_body(".reg .b32 %r;", "{ .reg .f32 %r; }", "{ .shared .b32 o; }"),
    in_body("L: { L: bra M; }", "M:", "{ .reg .b32 L; }"), in_body(".reg .b32 k;"),
    in_body(".reg .b32 %r<0>;", ".reg .b32 %r;"), in_body(".shared .align 65536 .b8 a[4];"),
    in_body(".shared .align 1 .b32 a;"), in_body(".local .b8 a[524288];"),
    in_module(".func f(.param .b32 x);", ".func f(.param .b32 y) { ret; }"),
    in_module(".visible .func f;", ".func f { ret; }"),
    in_module(".extern .global .b32 a[];", ".visible .global .b32 a[4];"),
    in_module(".extern .shared .b32 a[];", ".extern .shared .b32 a[];"), in_module(".func f(.param .b32 f) { ret; }"),
    in_module(".func f(.param .b8 a[]) { ret; }"), in_module(".global .b32 f;", ".func g { .reg .b32 f; ret; }"),
    in_module(".global .b32 a[] = {1, 2, 3};", ".global .b32 b[4] = {1};", ".global .b32 c[2] = {};"),
    in_module(".global .b32 a[2][2] = {{1}, {3, 4}};", ".global .v2 .f32 b[2] = {{1.0, 2.0}, {3.0, 4.0}};"),
    in_module(".global .b32 a = 0f3F800000;", ".global .b64 b = 1.5;", ".global .f32 c = 1e300;"),
    in_module(".global .u8 a = 256;", ".global .u8 b[2] = {0xFF(a), 0xFF00(a)};", ".global .u64 c = c;"),
    in_module(".func q;", ".global .u64 a = q;", ".func q { ret; }"), in_module(".global .b8 a[8589934592];"),
    in_module(".visible .entry z(.param .b8 a[32764]) { ret; }"),
    HEAD + ".visible .entry k(.param .u64 o) .maxntid 0x20, 1, 1 { ret; }",
)  # fmt: skip
"""Text that the assembler takes as well."""

STRICTER = {
    in_body(".local .b8 a[1073741824];"):
        "k.ptx:6:12: a has 1,073,741,824 bytes; a thread has at most 524,288 bytes of local memory",
    in_module(".global .b64 a[4611686018427387904];"):
        "k.ptx:4:14: a has 36,893,488,147,419,103,232 bytes; no GPU has that much memory",
    in_body(".shared .b8 a[65536][65536][65536][65536];"):
        "k.ptx:6:13: a has 18,446,744,073,709,551,616 bytes; no GPU has that much memory",
}  # fmt: skip
"""Text that the assembler takes, because it does not ask for the GPU's memory and keeps the low bits of a size."""


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text.removeprefix(HEAD)[:60])
def test_what_is_refused(text: str) -> None:
    assert problems(text)[0].splitlines()[0] == REFUSED[text]
    assert not assembles(text)


@pytest.mark.parametrize("text", [*REFUSED, *STRICTER], ids=lambda text: text.removeprefix(HEAD)[:60])
@pytest.mark.parametrize("device", ["step", "cpu"])
def test_nothing_of_it_runs(text: str, device: str) -> None:
    error = runs(text, device)
    says = (REFUSED | STRICTER)[text]
    assert error is not None
    assert str(error).splitlines()[0] == says.replace("k.ptx", "<ptx>")
    assert "^" in str(error)
    assert str(language.read(text)[0][0]) == str(error)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("text", ACCEPTED, ids=lambda text: text.removeprefix(HEAD)[:60])
def test_what_stays_legal(text: str) -> None:
    assert problems(text) == []
    assert runs(text, "step") is None
    assert runs(text, "cpu") is None
    assert assembles(text)


@pytest.mark.long
@pytest.mark.parametrize("text", STRICTER, ids=lambda text: text.removeprefix(HEAD)[:60])
def test_what_only_ptxlab_refuses(text: str) -> None:
    assert problems(text)[0].splitlines()[0] == STRICTER[text]
    assert assembles(text)


WHOLE = (
    (".shared .align 3 .b8 a[4];  // tile", "6:16", "an alignment is a power of two from 1 to 1073741824; found 3",
     ".shared .align 4 .b8 a[4];"),
    (".reg .b32 %r<4>;\n.reg .f32 %x, %r3;", "7:15+3", "%r3 is already on line 6, which declares %r0 to %r3",
     ".reg .f32 %x, %r3_2;"),
    (".reg .bf16 %h;", "6:12+2", ".bf16 is a type of instructions; a variable that holds it is .b16", ".reg .b16 %h;"),
)  # fmt: skip


@pytest.mark.parametrize("case", WHOLE)
def test_whole_messages(case: tuple[str, ...]) -> None:
    lines, *parts = case
    assert problems(in_body(lines)) == [message(in_body(lines), *parts)]


def test_several_mistakes_are_all_found() -> None:
    text = in_body(".reg .b32 %r, %r;", ".local .b8 a[];", "add.s32 %r, %r, %zz;")
    assert [message.splitlines()[0].partition(": ")[2] for message in problems(text)] == [
        "the register %r is already on line 6",
        "the array a needs a length",
        "%zz is not declared",
    ]


def test_the_registers_that_a_leading_zero_names() -> None:
    x = np.zeros(2, np.uint32)
    text = in_body(
        ".reg .b32 %r<4>;", ".reg .b64 %a;", "ld.param.u64 %a, [o];", "mov.u32 %r3, 77;", "st.global.u32 [%a], %r03;"
    )
    for device in ("step", "cpu"):
        x[:] = 0
        pl.launch(text, 1, 1, x, device=device)
        assert x.tolist() == [77, 0]


def test_a_register_that_hides_a_special_one() -> None:
    x = np.zeros(1, np.uint32)
    text = in_body(
        ".reg .v2 .b32 %tid;",
        ".reg .b64 %a;",
        "ld.param.u64 %a, [o];",
        "mov.u32 %tid.y, 5;",
        "st.global.u32 [%a], %tid.y;",
    )
    for device in ("step", "cpu"):
        x[:] = 0
        pl.launch(text, 1, 1, x, device=device)
        assert x.tolist() == [5]


@pytest.mark.rest
def test_many_declarations_are_checked_in_one_pass() -> None:
    singles = [f".reg .b32 %a{n}x;" for n in range(4000)] + [f".reg .b32 %q{n}_<4>;" for n in range(4000)]
    module = pl.parse(in_body(*singles, ".reg .b32 %q17_<2>;"))
    (error,) = misdeclared(module)
    assert error.message == "the registers %q17_<4> are already on line 4023"

"""Every way a text can fail to be PTX, with the whole message that the reader gets."""

from __future__ import annotations

import pytest
from shown_messages import message

from ptxlab.errors import PtxSyntaxError, Span
from ptxlab.text import parse

HEAD = ".version 8.0\n.target sm_80\n.entry k(.param .u64 p)\n{\n"


def _message(text: str) -> str:
    with pytest.raises(PtxSyntaxError) as caught:
        parse(text, "k.ptx")
    return str(caught.value)


def in_body(*lines: str) -> str:
    return HEAD + "\n".join(lines) + "\n}\n"


ERRORS = {
    "missing semicolon": (in_body("\tadd.s32 %r1, %r2, %r3 // sum", "\tret;"), "5:23",
        "expected ';' after the operands of add.s32; found 'ret'", "add.s32 %r1, %r2, %r3; // sum"),
    "missing semicolon after an opcode": (in_body("\tbar.sync", "\tmov.u32 %r1, 0;"), "5:10",
        "expected operands or ';' after bar.sync; found 'mov.u32'", "bar.sync;"),
    "missing semicolon before the end": (in_body("\tret"), "5:5",
        "expected operands or ';' after ret; found '}'", "ret;"),
    "missing semicolon before a directive": (in_body("\tret", "\t.loc 1 2 3"), "5:5",
        "expected operands or ';' after ret; found '.loc'", "ret;"),
    "missing comma": (in_body("\tadd.s32 %r1, %r2 %r3;"), "5:19+3",
        "expected ',' or ';' after '%r2'; found '%r3'", "add.s32 %r1, %r2, %r3;"),
    "missing operand": (in_body("\tadd.s32 %r1, %r2, ;"), "5:20", "expected an operand; found ';'"),
    "missing bracket": (in_body("\tld.global.u32 %r1, [%rd1+4;"), "5:28",
        "expected ']' for the '[' of column 21; found ';'", "ld.global.u32 %r1, [%rd1+4];"),
    "missing brace of a vector": (in_body("\tmov.b64 {%r1, %r2, %rd1;"), "5:25",
        "expected ',' or '}' for the '{' of column 10; found ';'", "mov.b64 {%r1, %r2, %rd1};"),
    "missing brace of a body": (HEAD + "\tret;\n", "4:1", "this '{' is never closed; found the end of the file", "}"),
    "missing brace before the next function": (HEAD + "\tret;\n.visible .entry next { ret; }", "6:10+6",
        ".entry starts inside another function; the '{' of line 4 is still open", "}"),
    "missing body": (".entry k(.param .u64 p)\n\tret;\n}", "1:24",
        "expected '{' to open the body of k, or ';'; found 'ret'", ".entry k(.param .u64 p) {"),
    "missing parenthesis": (".entry k(.param .u64 p\n{ ret; }", "1:23",
        "expected ',' or ')' for the '(' of column 9; found '{'", ".entry k(.param .u64 p)"),
    "brace too many": (HEAD + "\tret;\n}\n}\n", "7:1", "this '}' closes nothing"),
    "instruction outside of a function": (".version 8.0\nadd.s32 %r1, %r2, %r3;", "2:1+7",
        "'add.s32' stands outside of any function; statements belong between its '{' and '}'"),
    "semicolon alone": (in_body("\tret;;"), "5:6", "expected a statement; found ';'"),
    "unknown directive": (".vesion 8.0\n", "1:1+7", "unknown directive '.vesion'", ".version"),
    "unknown type": (in_body("\t.reg .f33 %f<4>;"), "5:7+4", "unknown type '.f33'", ".f32"),
    "declaration without a type": (in_body("\t.reg %f<4>;"), "5:7+2",
        "expected a type such as .b32 after .reg; found '%f'"),
    "declaration without an end": (in_body("\t.reg .b32 %r<4>", "\tret;"), "5:17",
        "expected ',' or ';' after %r; found 'ret'", ".reg .b32 %r<4>;"),
    "float with too few digits": (in_body("\tmov.f32 %f1, 0f3F8;"), "5:15+5",
        "0f needs exactly 8 hexadecimal digits, the bits of an f32; found '3F8'"),
    "division by zero in a constant": (".const .u32 x = 4 / (2 - 2);", "1:19", "division by zero"),
    "guard without a register": (in_body("\t@! ret;"), "5:8", "expected an instruction; found ';'"),
    "comment without an end": (".version 8.0\n/* note", "2:1+2", "this comment is never closed", "*/"),
    "string without an end": ('.file 1 "a.cu\n', "1:9+5", "this string is not closed on its line", '"a.cu"'),
    "character that ptx does not have": (in_body("\tadd.s32 %r1, %r2, 4\u00b2;"), "5:21", "PTX has no character '²'"),
    "dot alone": (in_body("\tadd..s32 %r1;"), "5:5", "a dot needs a name after it: a directive, a type or a modifier"),
    "preprocessor line": ("#define N 4\n", "1:1", "a preprocessor line; run the C preprocessor over the file first"),
    "section without an end": (".section .debug_str {\n.b8 1\n", "2:6",
        "expected '}' to close the section opened in line 1; found the end of the file", ".b8 1 }"),
    "windows line ends do not show": (".version 8.0\r\n.targt sm_80\r\n", "2:1+6",
        "unknown directive '.targt'", ".target"),
}  # fmt: skip
"""A text that is not PTX; where it is marked, what is said, and what is to be written."""


@pytest.mark.parametrize("name", ERRORS)
def test_messages(name: str) -> None:
    text, *parts = ERRORS[name]
    assert _message(text) == message(text, *parts)


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("089", "a leading 0 makes this octal, which has digits 0 to 7; found '089'"),
        ("0d3FF", "0d needs exactly 16 hexadecimal digits, the bits of an f64; found '3FF'"),
        ("12ab", "this is not a number: '12ab'"),
        ("0b102", "this is not a number: '0b102'"),
        ("18446744073709551616", "this integer does not fit in 64 bits"),
    ],
)
def test_wrong_numbers(number: str, says: str) -> None:
    text = in_body(f"mov.u32 %r1, {number};")
    assert _message(text) == message(text, f"5:14+{len(number)}", says)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".version 8\n", "k.ptx:1:10: expected a version such as 8.0; found '8'"),
        (".target 80\n", "k.ptx:1:9: expected a target such as sm_80; found '80'"),
        (".address_size 16\n", "k.ptx:1:15: expected 32 or 64; found '16'"),
        (".file 1 a.cu\n", "k.ptx:1:9: expected the name of the file, in quotes; found 'a.cu'"),
        (".loc 1 2 x\n", "k.ptx:1:10: expected a number after .loc; found 'x'"),
        (".visible 4\n", "k.ptx:1:10: expected .entry, .func or a state space after .visible; found '4'"),
        (".entry k .maxntid x { }", "k.ptx:1:19: expected a number after .maxntid; found 'x'"),
        (".entry k { .weak 4", "k.ptx:1:18: expected a state space, one of .reg .sreg .shared .global .const .local "
         ".param .tex; found '4'"),
        (".entry k .maxntidd 4 { }", "k.ptx:1:10: unknown directive '.maxntidd'"),
        (".entry .u32 { }", "k.ptx:1:8: expected the name of the entry; found '.u32'"),
        (".entry k(.u32 x) { }", "k.ptx:1:10: expected .param (or .reg); found '.u32'"),
        (".global .u32 x = ;", "k.ptx:1:18: expected a constant; found ';'"),
        (".global .u32 x = {1, 2;", "k.ptx:1:23: expected ',' or '}' for the '{' of column 18; found ';'"),
        (".global .u32 x[1.5];", "k.ptx:1:16: expected an integer; found '1.5'"),
        ("}", "k.ptx:1:1: this '}' closes nothing"),
        ("4", "k.ptx:1:1: expected a directive; found '4'"),
    ],
)  # fmt: skip
def test_first_lines(text: str, message: str) -> None:
    assert _message(text).splitlines()[0] == message


def test_the_python_line_is_named() -> None:
    with pytest.raises(PtxSyntaxError) as caught:
        parse(".version 8.0\n.targt sm_80\n", spans={2: Span("kernel.py", 7, 4, 7, 20)})
    assert str(caught.value) == (
        "<ptx>:2:1: unknown directive '.targt'\n    .targt sm_80\n    ^~~~~~\n  write:  .target\n  from:   kernel.py:7"
    )


@pytest.mark.long
def test_of_a_line_of_megabytes_a_part_is_shown() -> None:
    said = _message(".global .u32 x[2] = {" + "1," * 50_000 + "?};\n").splitlines()
    assert said[0] == "k.ptx:1:100022: expected a constant; found '?'"
    assert said[1][said[2].index("^")] == "?"
    assert max(map(len, said)) < 1100

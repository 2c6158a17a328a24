"""Every way a text can fail to be PTX, with the whole message that the reader gets."""

from __future__ import annotations

import pytest

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
    "missing semicolon": (in_body("\tadd.s32 %r1, %r2, %r3 // sum", "\tret;"),
        "k.ptx:5:23: expected ';' after the operands of add.s32; found 'ret'\n"
        "     add.s32 %r1, %r2, %r3 // sum\n"
        "                          ^\n"
        "  write:  add.s32 %r1, %r2, %r3; // sum"),
    "missing semicolon after an opcode": (in_body("\tbar.sync", "\tmov.u32 %r1, 0;"),
        "k.ptx:5:10: expected operands or ';' after bar.sync; found 'mov.u32'\n"
        "     bar.sync\n"
        "             ^\n"
        "  write:  bar.sync;"),
    "missing semicolon before the end": (in_body("\tret"),
        "k.ptx:5:5: expected operands or ';' after ret; found '}'\n     ret\n        ^\n  write:  ret;"),
    "missing semicolon before a directive": (in_body("\tret", "\t.loc 1 2 3"),
        "k.ptx:5:5: expected operands or ';' after ret; found '.loc'\n     ret\n        ^\n  write:  ret;"),
    "missing comma": (in_body("\tadd.s32 %r1, %r2 %r3;"),
        "k.ptx:5:19: expected ',' or ';' after '%r2'; found '%r3'\n"
        "     add.s32 %r1, %r2 %r3;\n"
        "                      ^~~\n"
        "  write:  add.s32 %r1, %r2, %r3;"),
    "missing operand": (in_body("\tadd.s32 %r1, %r2, ;"),
        "k.ptx:5:20: expected an operand; found ';'\n     add.s32 %r1, %r2, ;\n                       ^"),
    "missing bracket": (in_body("\tld.global.u32 %r1, [%rd1+4;"),
        "k.ptx:5:28: expected ']' for the '[' of column 21; found ';'\n"
        "     ld.global.u32 %r1, [%rd1+4;\n"
        "                               ^\n"
        "  write:  ld.global.u32 %r1, [%rd1+4];"),
    "missing brace of a vector": (in_body("\tmov.b64 {%r1, %r2, %rd1;"),
        "k.ptx:5:25: expected ',' or '}' for the '{' of column 10; found ';'\n"
        "     mov.b64 {%r1, %r2, %rd1;\n"
        "                            ^\n"
        "  write:  mov.b64 {%r1, %r2, %rd1};"),
    "missing brace of a body": (HEAD + "\tret;\n",
        "k.ptx:4:1: this '{' is never closed; found the end of the file\n    {\n    ^\n  write:  }"),
    "missing brace before the next function": (HEAD + "\tret;\n.visible .entry next { ret; }",
        "k.ptx:6:10: .entry starts inside another function; the '{' of line 4 is still open\n"
        "    .visible .entry next { ret; }\n"
        "             ^~~~~~\n"
        "  write:  }"),
    "missing body": (".entry k(.param .u64 p)\n\tret;\n}",
        "k.ptx:1:24: expected '{' to open the body of k, or ';'; found 'ret'\n"
        "    .entry k(.param .u64 p)\n"
        "                           ^\n"
        "  write:  .entry k(.param .u64 p) {"),
    "missing parenthesis": (".entry k(.param .u64 p\n{ ret; }",
        "k.ptx:1:23: expected ',' or ')' for the '(' of column 9; found '{'\n"
        "    .entry k(.param .u64 p\n"
        "                          ^\n"
        "  write:  .entry k(.param .u64 p)"),
    "brace too many": (HEAD + "\tret;\n}\n}\n",
        "k.ptx:7:1: this '}' closes nothing\n    }\n    ^"),
    "instruction outside of a function": (".version 8.0\nadd.s32 %r1, %r2, %r3;",
        "k.ptx:2:1: 'add.s32' stands outside of any function; statements belong between its '{' and '}'\n"
        "    add.s32 %r1, %r2, %r3;\n"
        "    ^~~~~~~"),
    "semicolon alone": (in_body("\tret;;"),
        "k.ptx:5:6: expected a statement; found ';'\n     ret;;\n         ^"),
    "unknown directive": (".vesion 8.0\n",
        "k.ptx:1:1: unknown directive '.vesion'\n    .vesion 8.0\n    ^~~~~~~\n  write:  .version"),
    "unknown type": (in_body("\t.reg .f33 %f<4>;"),
        "k.ptx:5:7: unknown type '.f33'\n     .reg .f33 %f<4>;\n          ^~~~\n  write:  .f32"),
    "declaration without a type": (in_body("\t.reg %f<4>;"),
        "k.ptx:5:7: expected a type such as .b32 after .reg; found '%f'\n     .reg %f<4>;\n          ^~"),
    "declaration without an end": (in_body("\t.reg .b32 %r<4>", "\tret;"),
        "k.ptx:5:17: expected ',' or ';' after %r; found 'ret'\n"
        "     .reg .b32 %r<4>\n"
        "                    ^\n"
        "  write:  .reg .b32 %r<4>;"),
    "float with too few digits": (in_body("\tmov.f32 %f1, 0f3F8;"),
        "k.ptx:5:15: 0f needs exactly 8 hexadecimal digits, the bits of an f32; found '3F8'\n"
        "     mov.f32 %f1, 0f3F8;\n"
        "                  ^~~~~"),
    "division by zero in a constant": (".const .u32 x = 4 / (2 - 2);",
        "k.ptx:1:19: division by zero\n    .const .u32 x = 4 / (2 - 2);\n                      ^"),
    "guard without a register": (in_body("\t@! ret;"),
        "k.ptx:5:8: expected an instruction; found ';'\n     @! ret;\n           ^"),
    "comment without an end": (".version 8.0\n/* note",
        "k.ptx:2:1: this comment is never closed\n    /* note\n    ^~\n  write:  */"),
    "string without an end": ('.file 1 "a.cu\n',
        'k.ptx:1:9: this string is not closed on its line\n    .file 1 "a.cu\n            ^~~~~\n  write:  "a.cu"'),
    "character that ptx does not have": (in_body("\tadd.s32 %r1, %r2, 4\u00b2;"),
        "k.ptx:5:21: PTX has no character '\u00b2'\n     add.s32 %r1, %r2, 4\u00b2;\n                        ^"),
    "dot alone": (in_body("\tadd..s32 %r1;"),
        "k.ptx:5:5: a dot needs a name after it: a directive, a type or a modifier\n     add..s32 %r1;\n        ^"),
    "preprocessor line": ("#define N 4\n",
        "k.ptx:1:1: a preprocessor line; run the C preprocessor over the file first\n    #define N 4\n    ^"),
    "section without an end": (".section .debug_str {\n.b8 1\n",
        "k.ptx:2:6: expected '}' to close the section opened in line 1; found the end of the file\n"
        "    .b8 1\n"
        "         ^\n"
        "  write:  .b8 1 }"),
    "windows line ends do not show": (".version 8.0\r\n.targt sm_80\r\n",
        "k.ptx:2:1: unknown directive '.targt'\n    .targt sm_80\n    ^~~~~~\n  write:  .target"),
}  # fmt: skip
"""A text that is not PTX, and the whole message."""


@pytest.mark.parametrize("name", ERRORS)
def test_messages(name: str) -> None:
    text, message = ERRORS[name]
    assert _message(text) == message


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("089", "a leading 0 makes this octal, which has digits 0 to 7; found '089'"),
        ("0d3FF", "0d needs exactly 16 hexadecimal digits, the bits of an f64; found '3FF'"),
        ("12ab", "this is not a number: '12ab'"),
        ("0b102", "this is not a number: '0b102'"),
        ("18446744073709551616", "this integer does not fit in 64 bits"),
    ],
)
def test_wrong_numbers(number: str, message: str) -> None:
    line = f"mov.u32 %r1, {number};"
    assert _message(in_body(line)) == f"k.ptx:5:14: {message}\n    {line}\n    {' ' * 13}^{'~' * (len(number) - 1)}"


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

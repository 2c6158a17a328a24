"""Every way a text can fail to be PTX, with the whole message that the reader gets."""

from __future__ import annotations

import pytest
from shown_messages import message

from ptxlab.errors import PtxError, PtxSyntaxError, Span
from ptxlab.text import parse
from ptxlab.text.validate import validate

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
    "missing comma": (in_body("\tadd.s32 %r1, %r2 %r3;"), "5:19+3",
        "expected ',' or ';' after '%r2'; found '%r3'", "add.s32 %r1, %r2, %r3;"),
    "missing operand": (in_body("\tadd.s32 %r1, %r2, ;"), "5:20", "expected an operand; found ';'"),
    "missing bracket": (in_body("\tld.global.u32 %r1, [%rd1+4;"), "5:28",
        "expected ']' for the '[' of column 21; found ';'", "ld.global.u32 %r1, [%rd1+4];"),
    "a product in an address": (in_body("\tld.global.u32 %r1, [%rd1+%r2*4];"), "5:30",
        "an address is a register and a constant; found '*'", "mad.wide.u32 %address, %r2, 4, %rd1;"),
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
        "'add.s32' is outside of any function; statements belong between its '{' and '}'"),
    "semicolon alone": (in_body("\tret;;"), "5:6", "expected a statement; found ';'"),
    "unknown directive": (".vesion 8.0\n", "1:1+7", "unknown directive '.vesion'", ".version 8.0"),
    "unknown type": (in_body("\t.reg .f33 %f<4>;"), "5:7+4", "unknown type '.f33'", ".reg .f32 %f<4>;"),
    "declaration without a type": (in_body("\t.reg %f<4>;"), "5:7+2",
        "expected a type such as .b32 after .reg; found '%f'"),
    "declaration without an end": (in_body("\t.reg .b32 %r<4>", "\tret;"), "5:17",
        "expected ',' or ';' after %r; found 'ret'", ".reg .b32 %r<4>;"),
    "division by zero in a constant": (".const .u32 x = 4 / (2 - 2);", "1:19", "division by zero"),
    "guard without a register": (in_body("\t@! ret;"), "5:8", "expected an instruction; found ';'"),
    "comment without an end": (".version 8.0\n/* note", "2:1+2", "this comment is never closed", "*/"),
    "string without an end": ('.file 1 "a.cu\n', "1:9+5", "this string is not closed on its line", '"a.cu"'),
    "character that ptx does not have": (in_body("\tadd.s32 %r1, %r2, 4\u00b2;"), "5:21", "PTX has no character '²'"),
    "apart": (in_body("\tmov u32 %r1, 1;"), "5:6+3", "dots join the words of an opcode: mov.u32", "mov.u32 %r1, 1;"),
    "dot alone": (in_body("\tadd..s32 %r1;"), "5:5", "a dot needs a name after it: a directive, a type or a modifier"),
    "preprocessor line": ("#define N 4\n", "1:1", "a preprocessor line; run the C preprocessor over the file first"),
    "comma missing between parameters": (".entry k(.param .u64 p .param .u32 n) {}", "1:24+6",
        "expected ',' or ')' for the '(' of column 9; found '.param'", ".entry k(.param .u64 p, .param .u32 n) {}"),
    "parameters as in C": (".entry k(float *p, int n) {}", "1:10+5",
        "expected .param (or .reg); found 'float'", ".entry k(.param .u64 p, .param .s32 n) {}"),
    "brace missing before declarations": (".entry k()\n.reg .u32 %r;\n}", "1:11",
        "expected '{' to open the body of k; found '.reg'", ".entry k() {"),
    "word without a dot": ("version 8.0\n.target sm_80\n", "1:1+7", "directives begin with a dot", ".version 8.0"),
    "section without an end": (".section .debug_str {\n.b8 1\n", "2:6",
        "expected '}' to close the section opened in line 1; found the end of the file", ".b8 1 }"),
    "windows line ends do not show": (".version 8.0\r\n.targt sm_80\r\n", "2:1+6",
        "unknown directive '.targt'", ".target sm_80"),
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
        (".global .u32 x[1.5];", "k.ptx:1:16: expected an integer; found '1.5'"),
        ("4", "k.ptx:1:1: expected a directive; found '4'"),
    ],
)  # fmt: skip
def test_first_lines(text: str, message: str) -> None:
    assert _message(text).splitlines()[0] == message


def test_the_line_of_the_source_is_named() -> None:
    assert _message('.file 1 "a.cu"\n' + in_body(".loc 1 7 1", "\tret")).endswith("\n  from:   a.cu:7")
    with pytest.raises(PtxSyntaxError) as caught:
        parse(".version 8.0\n.targt sm_80\n", spans={2: Span("kernel.py", 7, 4, 7, 20)})
    assert str(caught.value) == (
        "<ptx>:2:1: unknown directive '.targt'\n    .targt sm_80\n    ^~~~~~\n  write:  .target sm_80\n"
        "  from:   kernel.py:7"
    )


@pytest.mark.long
def test_of_a_line_of_megabytes_a_part_is_shown() -> None:
    said = _message(".global .u32 x[2] = {" + "1," * 50_000 + "?};\n").splitlines()
    assert said[0] == "k.ptx:1:100022: expected a constant; found '?'"
    assert said[1][said[2].index("^")] == "?"
    assert max(map(len, said)) < 1100


C = """
x = y + z; => add.s32 %x, %y, %z;
f = g * 2.0f + h; => mul.f32 %v1, %g, 2.0; add.f32 %f, %v1, %h;
x = r[i]; => mad.wide.u32 %address, %i, 4, %r; ld.global.s32 %x, [%address];
r[i] = f; => mad.wide.u32 %address, %i, 4, %r; st.global.f32 [%address], %f;
f = (float)x; => cvt.rn.f32.s32 %f, %x;
f = sqrtf(g); => sqrt.rn.f32 %f, %g;
unsigned long long a, b; => .reg .u64 %a, %b;
float a = 1.0f; => .reg .f32 %a; mov.f32 %a, 1.0;
__shared__ float tile[32]; => .shared .align 4 .f32 tile[32];
int a = blockIdx.x; => .reg .s32 %a; mov.s32 %a, %ctaid.x;
if (x < y) return; => setp.lt.s32 %p, %x, %y; @%p ret;
if (threadIdx.x == 0) { => mov.u32 %t1, %tid.x; setp.eq.u32 %p, %t1, 0; @!%p bra done; // at the end: done:
while (f > 0.0f) { => loop: setp.gt.f32 %p, %f, 0.0; @!%p bra done; // at the end: bra loop; done:
for (;;) { => mov.u32 %i, 0; loop: // at the end: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra loop;
break; => bra done;
return 0; => ret;
__syncthreads(); => bar.sync 0;
atomicAdd(&q, 1); => atom.global.add.u32 old, [q], 1;
mov.f32 %f, 1.0e-3f; => mov.f32 %f, 1.0e-3;
add.u32 %x, %y, 10u; => add.u32 %x, %y, 10;
add.u32 %x, %y + %z; => add.u32 %x, %y, %z;
fma.rn.f32 %f = %g, %h, %h; => fma.rn.f32 %f, %g, %h, %h;
MOV.u32 %x, %y; => mov.u32 %x, %y;
reg .u32 %a; => .reg .u32 %a;
.reg int %a; => .reg .s32 %a;
mov.u32 %x, threadIdx.x; => mov.u32 %x, %tid.x;
mov.u32 %x, tid.x; => mov.u32 %x, %tid.x;
mov.u32 x, %y; => mov.u32 %x, %y;
mov.f32 %f, INFINITY; => mov.f32 %f, 0f7F800000;
# a comment => // a comment
ld.global.f32 [%r], %f; => ld.global.f32 %f, [%r];
st.global.f32 %f, [%r]; => st.global.f32 [%r], %f;
ld.global.f32 %f, %r[2]; => ld.global.f32 %f, [%r+8];
ld.global %f, [%r]; => ld.global.f32 %f, [%r];
ld.global.v4.f32 {%f, %g}, [%r]; => ld.global.v2.f32 {%f, %g}, [%r];
red.global.add.u32 %x, [%r], 1; => red.global.add.u32 [%r], 1;
mul.lo.s32 %r, %x, 4; => mul.wide.s32 %r, %x, 4;
mov.u32 %x, %tidx; => mov.u32 %x, %tid.x;
mov.u32 %x, %block.y; => mov.u32 %x, %ctaid.y;
@p ret; => @%p ret;
%p bra done; => @%p bra done;
bra %p, done; => @%p bra done;
@!%p goto done; => @!%p bra done;
bra DONE; => bra done;
.reg .f32 %a %b; => .reg .f32 %a, %b;
.shared .f32 tile(32); => .shared .f32 tile[32];
"""
REGISTERS = (
    ".reg .s32 %x, %y, %z, %i, %n, %t1, old; .reg .f32 %f, %g, %h, %v1; .reg .u64 %r, %address, q; .reg .pred %p;"
)


@pytest.mark.parametrize(("line", "ptx"), [line.split(" => ") for line in C.strip().splitlines()])
def test_c_in_a_kernel_says_what_to_write(line: str, ptx: str) -> None:
    """The line to write, which is PTX."""
    with pytest.raises(PtxError) as caught:
        raise validate(parse(in_body(REGISTERS.replace(", %v1", "").replace(", %t1", ""), line, "done: ret;")))[0]
    assert caught.value.hint == ptx
    assert not list(map(str, validate(parse(in_body(REGISTERS, ptx, "done: ret;")))))

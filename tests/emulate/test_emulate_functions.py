"""Functions on the emulator: recursion, calls through pointers, printf and assert, on every engine."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from emulate_programs import call, fault_of, function, kernel, run

from ptxlab.emulate import lower
from ptxlab.emulate.program.printf import arguments_of, formatted, named
from ptxlab.emulate.runtime import printf_output
from ptxlab.errors import PtxError, UnsupportedInstruction
from ptxlab.text import parse

FACTORIAL = function(
    "factorial",
    f"""
    mov.u32 %n1, 1; setp.lt.u32 %p, %n0, 2; @%p bra DONE;
    sub.u32 %n2, %n0, 1; {call("factorial", "%n2", "%n3")}
    mul.lo.u32 %n1, %n3, %n0;
DONE:
    mov.u32 %n0, %n1;""",
)

# Each level passes the address of its own local variable down; the level below adds to it.
CHAIN = """
.func chain(.param .b32 n, .param .b64 into)
{
    .local .align 4 .b8 own[4]; .reg .pred %p; .reg .b32 %n<6>; .reg .b64 %a<4>;
    ld.param.u32 %n0, [n]; ld.param.u64 %a0, [into];
    setp.eq.u32 %p, %n0, 0; @%p bra ADD;
    mov.u64 %a1, own; cvta.local.u64 %a2, %a1; st.u32 [%a2], %n0;
    sub.u32 %n1, %n0, 1;
    {
        .param .b32 down; .param .b64 there; st.param.b32 [down], %n1; st.param.b64 [there], %a2;
        call.uni chain, (down, there);
    }
    ld.local.u32 %n2, [own]; bra JOIN;
ADD:
    mov.u32 %n2, 1;
JOIN:
    ld.u32 %n3, [%a0]; add.u32 %n3, %n3, %n2; st.u32 [%a0], %n3;
    ret;
}
"""


def test_each_lane_recurses_to_its_own_depth(engine: str) -> None:
    body = f"and.b32 %r5, %r1, 7; {call('factorial', '%r5', '%r6')} st.global.u32 [%rd3], %r6;"
    out, _ = run(engine, kernel(body, FACTORIAL), threads=40)
    assert out.tolist() == [(1, 1, 2, 6, 24, 120, 720, 5040)[t % 8] for t in range(40)]


def test_a_guarded_call_of_a_recursive_function(engine: str) -> None:
    body = """
    mov.u32 %r6, 9;
    setp.gt.u32 %p1, %r1, 3;
    @%p1 call (%r6), factorial, (%r1);
    st.global.u32 [%rd3], %r6;
"""
    out, _ = run(engine, kernel(body, FACTORIAL), threads=8)
    assert out.tolist() == [9, 9, 9, 9, 24, 120, 720, 5040]


def test_every_activation_has_its_own_local_variables(engine: str) -> None:
    body = """
    .local .align 4 .b8 sum[4];
    mov.u64 %rd5, sum; cvta.local.u64 %rd6, %rd5;
    mov.u32 %r6, 0; st.u32 [%rd6], %r6;
    and.b32 %r5, %r1, 3;
    call chain, (%r5, %rd6);
    ld.local.u32 %r6, [sum]; st.global.u32 [%rd3], %r6;
"""
    out, _ = run(engine, kernel(body, CHAIN), threads=8)
    assert out.tolist() == [1 + n * (n + 1) // 2 for n in (0, 1, 2, 3)] * 2


def test_calls_may_be_nested_deeper_than_python_recurses() -> None:
    depth = sys.getrecursionlimit() + 100
    functions = ".func f0() { ret; }\n" + "".join(f".func f{k}() {{ call f{k - 1}; ret; }}\n" for k in range(1, depth))
    program = lower(parse(kernel(f"call f{depth - 1};", functions)))
    assert [code.callee for code in program.codes if code.callee] == [f"f{k}" for k in range(depth)]


def test_endless_recursion_runs_out_of_stack(engine: str) -> None:
    endless = FACTORIAL.replace("@%p bra DONE;", "")
    stopped = fault_of(engine, kernel("    call (%r6), factorial, (%r1);", endless), threads=1)
    assert stopped.kind == "memcheck"
    assert stopped.message.endswith(" bytes of local memory, 16384 of them for the frames of recursive functions")
    assert stopped.hint == "look for a recursion that does not end, or goes too deep"


TAKES = function(
    "takes",
    """
    .reg .b64 %a<4>;
    mul.wide.u32 %a0, %n0, 4; alloca.u64 %a1, %a0, 16; st.local.u32 [%a1], %n0;
    alloca.u64 %a2, 4; st.local.u32 [%a2], 1000;
    ld.local.u32 %n1, [%a1]; cvt.u32.u64 %n2, %a1; and.b32 %n2, %n2, 15; add.u32 %n0, %n1, %n2;""",
)


@pytest.mark.long
def test_what_a_function_takes_from_the_stack_comes_back(engine: str) -> None:
    body = """
    mov.u32 %r5, 0; mov.u32 %r6, 1000;
    add.u32 %r7, %r1, 1;
AGAIN:
    call (%r8), takes, (%r7);
    add.u32 %r5, %r5, %r8;
    sub.u32 %r6, %r6, 1; setp.ne.u32 %p1, %r6, 0; @%p1 bra AGAIN;
    st.global.u32 [%rd3], %r5;
"""
    out, _ = run(engine, kernel(body, TAKES), threads=8, blocks=2)
    assert out.tolist() == [1000 * (t % 8 + 1) for t in range(16)]


def test_taking_too_much_from_the_stack_is_a_fault(engine: str) -> None:
    body = """
    stacksave.u64 %rd5;
    alloca.u64 %rd6, 12000;
    stackrestore.u64 %rd5;
    alloca.u64 %rd7, 12000; setp.ne.u64 %p1, %rd6, %rd7;
    @%p1 trap;
    alloca.u64 %rd8, 12000; st.local.u32 [%rd8], %r1;
    st.local.u32 [%rd8+6000], %r1;
"""
    stopped = fault_of(engine, kernel(body), threads=1)
    assert (stopped.kind, stopped.source.strip()) == ("memcheck", "st.local.u32 [%rd8+6000], %r1;")


POINTERS = (
    function("twice", "add.u32 %n0, %n0, %n0;")
    + function("square", "mul.lo.u32 %n0, %n0, %n0;")
    + ".global .align 8 .u64 table[3] = {twice, square, 64};\n"
)
THROUGH = """
    rem.u32 %r5, %r1, 2; mul.wide.u32 %rd5, %r5, 8; mov.u64 %rd6, table; add.u64 %rd6, %rd6, %rd5;
    ld.global.u64 %rd7, [%rd6];
    {
        .param .b32 given; .param .b32 got; st.param.b32 [given], %r1;
        prototype : .callprototype (.param .b32 _) _ (.param .b32 _);
        call (got), %rd7, (given), prototype;
        ld.param.b32 %r6, [got];
    }
    st.global.u32 [%rd3], %r6;
"""


def test_each_lane_calls_the_function_it_has_chosen(engine: str) -> None:
    out, _ = run(engine, kernel(THROUGH, POINTERS))
    assert out.tolist() == [t * t if t % 2 else 2 * t for t in range(32)]


def test_a_wild_function_pointer_is_a_fault(engine: str) -> None:
    text = kernel(THROUGH.replace("rem.u32 %r5, %r1, 2", "min.u32 %r5, %r1, 2"), POINTERS)
    stopped = fault_of(engine, text, threads=4)
    line = next(n for n, words in enumerate(text.splitlines(), 1) if "call (got)" in words)
    assert str(stopped) == (
        "trap: the register holds no address of a function that takes these arguments\n"
        "  at:     block (0, 0, 0), thread (2, 0, 0)\n"
        f"  ptx:    k, line {line}: call (got), %rd7, (given), prototype;"
    )


def words(text: str) -> str:
    """A PTX byte array that holds a text."""
    return ", ".join(str(byte) for byte in text.encode() + b"\0")


PRINTF = f"""
.extern .func (.param .b32 status) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[32] = {{{words("thread %d of %s: %.2f%c")}}};
.global .align 1 .b8 name[8] = {{{words("block")}}};
"""
PRINT = """
    .local .align 8 .b8 depot[32];
    mov.u64 %rd5, depot; cvta.local.u64 %rd6, %rd5;
    st.local.u32 [%rd5], %r1;
    mov.u64 %rd7, name; st.local.u64 [%rd5+8], %rd7;
    cvt.rn.f64.u32 %fd1, %r1; st.local.f64 [%rd5+16], %fd1;
    mov.u32 %r5, 10; st.local.u32 [%rd5+24], %r5;
    mov.u64 %rd8, format; mov.u32 %r6, 0;
    setp.gt.u32 %p1, %r1, 29; @%p1 bra SKIP;
    setp.lt.u32 %p2, %r1, 27; @%p2 bra SKIP;
    {
        .param .b64 a; .param .b64 b; .param .b32 got;
        st.param.b64 [a], %rd8; st.param.b64 [b], %rd6;
        call.uni (got), vprintf, (a, b);
        ld.param.b32 %r6, [got];
    }
SKIP:
    st.global.u32 [%rd3], %r6;
"""


def test_printf_names_the_thread(engine: str) -> None:
    out, report = run(engine, kernel(PRINT, PRINTF))
    assert report.printed == "".join(f"thread {t} of block: {t}.00\n" for t in (27, 28, 29))
    assert named(report.messages[:1]) == "[block 0, thread 27] thread 27 of block: 27.00\n"
    assert out.tolist() == [4 if t in (27, 28, 29) else 0 for t in range(32)]


def test_what_was_printed_before_a_fault_is_kept(engine: str) -> None:
    stopped = fault_of(engine, kernel(PRINT + "    bar.sync 0;\n    trap;", PRINTF))
    assert [message.thread for message in stopped.messages] == [(27, 0, 0), (28, 0, 0), (29, 0, 0)]


ASSERT = f"""
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
.global .align 1 .b8 said[8] = {{{words("x > 0")}}};
.global .align 1 .b8 file[16] = {{{words("folder/file.cu")}}};
.global .align 1 .b8 function[24] = {{{words("void k(int *)")}}};
"""


def test_a_failed_assertion_says_so_in_its_own_words(engine: str) -> None:
    body = """
    setp.lt.u32 %p1, %r1, 5; @%p1 bra FINE;
    mov.u64 %rd5, said; mov.u64 %rd6, file; mov.u64 %rd7, function;
    {
        .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
        st.param.b64 [a], %rd5; st.param.b64 [b], %rd6; st.param.b32 [c], 12; st.param.b64 [d], %rd7;
        st.param.b64 [e], 1;
        call.uni __assertfail, (a, b, c, d, e);
    }
FINE:
    st.global.u32 [%rd3], %r1;
"""
    text = kernel(body, ASSERT)
    line = next(n for n, words in enumerate(text.splitlines(), 1) if "call.uni" in words)
    stopped = fault_of(engine, text, threads=8)
    assert str(stopped) == (
        "assert: file.cu:12: void k(int *): Assertion `x > 0` failed\n"
        "  at:     block (0, 0, 0), thread (5, 0, 0)\n"
        f"  ptx:    k, line {line}: call.uni __assertfail, (a, b, c, d, e);"
    )
    out, _ = run(engine, text, threads=4)
    assert out.tolist() == [0, 1, 2, 3]


def test_launches_are_refused_in_words() -> None:
    before = ".extern .func (.param .b64 r) cudaLaunchDeviceV2(.param .b64 n);"
    text = kernel("    call (%rd5), cudaLaunchDeviceV2, (%rd4);", before)
    line = next(n for n, words in enumerate(text.splitlines(), 1) if "call (" in words)
    with pytest.raises(UnsupportedInstruction) as refused:
        run("step", text)
    assert str(refused.value) == (
        f"<ptx>:{line}:5: the emulator cannot call cudaLaunchDeviceV2: kernels that launch kernels are "
        "not executed\n"
        "        call (%rd5), cudaLaunchDeviceV2, (%rd4);\n"
        "        ^~~~"
    )


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("plain 100%%", (), "plain 100%"),
        ("%5d|%-5d|%05d|%+d", (42, 42, 42, 42), "   42|42   |00042|+42"),
        ("%u %x %#X %o", (-1, 255, 255, 8), "4294967295 ff 0XFF 10"),
        ("%lld %llu", (np.int64(-(2**40)), np.int64(-1)), f"{-(2**40)} {2**64 - 1}"),
        ("%hhd %hu", (300, -1), "44 65535"),
        ("%d%f%d", (1, 2.5, 3), "12.5000003"),
        ("%*d|%.*f", (6, 7, 2, 3.14159), "     7|3.14"),
        ("%c%c", (104, 105), "hi"),
        ("%e %g %G", (12345.678, 1e-10, float("inf")), "1.234568e+04 1e-10 INF"),
        ("%p %i", (np.int64(4096), 5), "0x1000 5"),
        ("%10s|%-6s|%.2s", (np.int64(7), np.int64(7), np.int64(7)), "      text|text  |te"),
        ("%q stays", (), "%q stays"),
    ],
)
def test_format_strings(text: str, arguments: tuple, expected: str) -> None:
    raw = b""
    for value in arguments:
        packed = {int: np.int32, float: np.float64}.get(type(value), np.int64)(value).tobytes()
        raw += bytes(-len(raw) % len(packed)) + packed
    assert formatted(text, raw, lambda address, most: "text"[:most], 100) == expected
    assert len(arguments_of(text)) == len(arguments)


@pytest.mark.parametrize(
    "text",
    ["%2000000000d", "%.2000000000f", "%.2000000000d", "%-*d", "%" + "9" * 5000 + "d", "%99999d" * 300, "x" * 2000,
     "%.900000000s"],
)  # fmt: skip
def test_a_format_asks_for_more_than_is_printed(text: str) -> None:
    raw = np.full(4, 2_000_000_000, np.int32).tobytes()
    assert len(formatted(text, raw, lambda address, most: "text" * (most // 2), 1000)) == 1000


def test_printf_stops_where_there_is_too_much_text(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printf_output, "LONGEST", 1 << 20)
    data = ", ".join(str(octet) for octet in b"%700000d%s\0")
    text = kernel(
        """
    .local .align 8 .b8 given[16];
    st.local.u32 [given], %r1;
    st.local.u64 [given+8], %rd2;
    mov.u64 %rd5, format; cvta.global.u64 %rd5, %rd5;
    mov.u64 %rd6, given; cvta.local.u64 %rd6, %rd6;
    {
        .param .b64 a; .param .b64 b; .param .b32 r;
        st.param.b64 [a], %rd5; st.param.b64 [b], %rd6;
        call.uni (r), vprintf, (a, b);
    }
""",
        f".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n.global .b8 format[11] = {{{data}}};",
    )
    _, report = run(engine, text, threads=5, x=np.frombuffer(b"text" * 1000, np.uint8))
    lengths = [len(message.text) for message in report.messages[:-1]]
    assert lengths == [700_000 + 4000, (1 << 20) - 704_000]
    assert report.messages[-1].text == "... and 3 more that are left out: there is text of 1 MiB\n"


@pytest.mark.parametrize(
    ("space", "type_", "message"),
    [
        ("shared", "b32 q", "ld.param.b32 takes an address of the .param space; q lies in .shared"),
        ("param", "b8 q[2]", "q has 2 bytes, result of the function 4"),
    ],
)
def test_what_a_call_passes_lies_in_a_frame(space: str, type_: str, message: str) -> None:
    from random_programs import program

    text = next(t for t in map(program, range(40)) if ".param .b32 q;" in t)
    with pytest.raises(PtxError) as caught:
        lower(parse(text.replace(".param .b32 q;", f".{space} .{type_};", 1)))
    assert message in str(caught.value)

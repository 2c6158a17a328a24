"""What racecheck takes for read only, since no pointer leads there that the kernel stores through; and what happens if
the kernel stores there all the same."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, agreed, kernel, run, said

from ptxlab.emulate import Memory, execute
from ptxlab.text import parse

LOAD = """
    mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5;
    ld.global.u32 %r5, [%rd6];
"""
"""%r5 = x[thread]."""


PRINTS = """{
    .local .align 8 .b8 arguments[8];
"""
CALL = """
    mov.u64 %rd20, format; cvta.global.u64 %rd20, %rd20; mov.u64 %rd21, arguments;
    cvta.local.u64 %rd21, %rd21;
    {
    .param .b64 first; .param .b64 second; .param .b32 result;
    st.param.b64 [first], %rd20;
    st.param.b64 [second], %rd21;
    call.uni (result), vprintf, (first, second);
    }
"""
AWAY = 4608
"""Bytes from `out` to `x`, where out has 64 words."""
BOTH = f"""
    red.global.add.u32 [%rd1], 1;
{LOAD}
    ld.global.u32 %r6, [%rd2+4];
    and.b32 %r7, %r1, 31; setp.ne.u32 %p1, %r7, 3; setp.ne.u32 %p2, %r2, 1; or.pred %p1, %p1, %p2;
    @%p1 bra END;
    mov.u64 %rd7, {AWAY}; add.u64 %rd7, %rd1, %rd7;
    STORE
END:
    st.global.u32 [%rd3], %r5;
"""
"""One thread of block 1 also stores to x, by way of `out`."""


@pytest.mark.long
@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "store",
    [
        "st.global.u32 [%rd7+12], 77;", "st.u32 [%rd7+4], 77;", "st.global.u32 [%rd7+4], %r4;",
        "atom.global.add.u32 %r8, [%rd7+4], 5;", "red.global.or.b32 [%rd7+8], 64;",
    ],
)  # fmt: skip
@pytest.mark.parametrize("checks", [("memcheck", "racecheck"), ALL_CHECKS])
def test_a_store_that_comes_there_after_all_races_with_reads_before(store: str, checks: tuple[str, ...]) -> None:
    ended = agreed(kernel(BOTH.replace("STORE", store)), blocks=2, checks=checks, counters=True)
    assert any("racecheck" in finding and "of 'x'" in finding for finding in ended.findings)
    assert ended.x != list(range(64))


def test_what_had_been_written_before_is_put_back() -> None:
    """Both the contents of `out` and the record of what is written, without which the second beginning would find no
    read of what nobody has written."""
    text = kernel(f"""
    ld.global.u32 %r5, [%rd3];
    add.u32 %r5, %r5, 1;
    st.global.u32 [%rd3], %r5;
    mov.u64 %rd7, {AWAY}; add.u64 %rd7, %rd1, %rd7;
    st.global.u32 [%rd7+4], 9;
    """)
    ways = []
    for engine in ("step", "jit"):
        memory, x = Memory(), np.arange(64, dtype=np.uint32)
        out = memory.allocate(256, "out", track_writes=True)
        params = np.array([out.address, memory.allocate(256, "x", x).address], np.uint64).tobytes()
        report = execute(
            parse(text), "k", engine=engine, grid=(2, 1, 1), block=(32, 1, 1), params=params, memory=memory,
            checks=ALL_CHECKS,
        )  # fmt: skip
        assert out.written is not None
        found = sorted(str(finding) for finding in report.findings)
        ways.append((out.data.view(np.uint32).tolist(), x.tolist(), out.written.tolist(), found))
    assert ways[0] == ways[1]
    assert ways[0][0] == [1] * 64
    assert any("initcheck" in finding for finding in ways[0][3])


def test_what_was_printed_before_is_printed_once() -> None:
    before = """.extern .func (.param .b32 result) vprintf(.param .b64 first, .param .b64 second);
    .global .align 1 .b8 format[3] = {104, 105, 0};"""
    text = kernel(CALL + f"mov.u64 %rd7, {AWAY}; add.u64 %rd7, %rd1, %rd7; st.global.u32 [%rd7+4], 9;", before)
    text = text.replace("{\n    .reg", PRINTS + "    .reg", 1)
    for engine in ("step", "jit"):
        x = np.arange(64, dtype=np.uint32)
        _, report = run(engine, text, out=np.zeros(64, np.uint32), threads=2, x=x, checks=("memcheck", "racecheck"))
        assert [message.text for message in report.messages] == ["hi", "hi"]
        assert x[1] == 9


@pytest.mark.parametrize("words", [64, 1 << 19])
def test_what_is_put_back_is_what_this_launch_began_with(words: int) -> None:
    """Not what an earlier one did, whose memory for copies it may have."""
    add = "ld.global.u32 %r5, [%rd3]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5;"
    memory, kept = Memory(), np.zeros(words, np.uint32)
    out, x = (memory.allocate(4 * words, name, kept.copy()) for name in ("out", "x"))
    away = f"mov.u64 %rd7, {x.address - out.address}; add.u64 %rd7, %rd1, %rd7; st.global.u32 [%rd7], 9;"
    params = np.array([out.address, x.address], np.uint64).tobytes()
    for text in (kernel(add), kernel(add), kernel(add + away)):
        execute(
            parse(text), "k", engine="jit", grid=(2, 1, 1), block=(32, 1, 1), params=params, memory=memory,
            checks=("memcheck", "racecheck"),
        )  # fmt: skip
    assert out.data.view(np.uint32)[:65].tolist() == [3] * 64 + [0] * (words > 64)
    assert x.data.view(np.uint32)[0] == 9


def test_a_launch_that_stores_out_of_range_says_so() -> None:
    text = kernel(LOAD + f"mov.u64 %rd7, {AWAY - 8}; add.u64 %rd7, %rd1, %rd7; st.global.u32 [%rd7], 1;")
    fault, *_ = findings = said("jit", text, blocks=2, checks=ALL_CHECKS)
    assert findings == said("step", text, blocks=2, checks=ALL_CHECKS)
    assert "store of 4 bytes" in fault

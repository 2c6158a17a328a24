"""alloca, stacksave and stackrestore on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import call, function, kernel, run

from ptxlab.errors import PtxError


def out_of(engine: str, body: str, before: str = "", **options: object) -> list[int]:
    text = kernel(body, before)
    return run(engine, text, **options)[0].tolist()  # type: ignore[arg-type]


def test_memory_of_a_size_that_differs_from_lane_to_lane(engine: str) -> None:
    """Each lane fills so many words with squares, and adds them up again."""
    body = """
    add.u32 %r5, %r1, 1; mul.wide.u32 %rd5, %r5, 4; alloca.u64 %rd6, %rd5;
    mov.u32 %r6, 0;
FILL:
    mul.lo.u32 %r7, %r6, %r6;
    mad.wide.u32 %rd7, %r6, 4, %rd6; st.local.u32 [%rd7], %r7;
    add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r5; @%p1 bra FILL;
    mov.u32 %r8, 0;
SUM:
    sub.u32 %r6, %r6, 1;
    mad.wide.u32 %rd7, %r6, 4, %rd6; ld.local.u32 %r7, [%rd7];
    add.u32 %r8, %r8, %r7;
    setp.ne.u32 %p1, %r6, 0; @%p1 bra SUM;
    st.global.u32 [%rd3], %r8;"""
    assert out_of(engine, body) == [sum(k * k for k in range(t + 1)) for t in range(32)]


@pytest.mark.parametrize("type_", ["u32", "u64"])
def test_alignment_and_order(engine: str, type_: str) -> None:
    """Each piece lies above the one before, aligned as was asked, and at least to 8 bytes; restoring takes it back."""
    r = "%r" if type_ == "u32" else "%rd"
    words = [
        f"cvt.u32.u64 %r{30 + k}, %rd{5 + k};" if r == "%rd" else f"mov.u32 %r{30 + k}, %r{5 + k};" for k in range(6)
    ]
    body = f"""
    stacksave.{type_} {r}5;
    alloca.{type_} {r}6, 3;
    alloca.{type_} {r}7, 40, 256;
    stacksave.{type_} {r}8;
    stackrestore.{type_} {r}5;
    alloca.{type_} {r}9, 8;
    stackrestore.{type_} {r}5;
    alloca.{type_} {r}10, 1, 16;
    {" ".join(words)}
    mad.lo.u32 %r2, %r1, 20, 0;
    cvt.u64.u32 %rd20, %r2; add.u64 %rd20, %rd3, %rd20;
    """ + "\n".join(f"st.global.u32 [%rd20+{4 * k}], %r{30 + k};" for k in range(6))
    start, first, second, saved, third, last = out_of(engine, body, threads=1, out=np.zeros(6, np.uint32))
    assert start == 0
    assert first % 8 == 0
    assert second % 256 == 0
    assert second >= first + 3
    assert saved == second - first + 40
    assert third == last == first


RECURSIVE = function(
    "add_up",
    f"""
    .reg .b64 %a; mov.u32 %n3, 0;
    setp.eq.u32 %p, %n0, 0; @%p bra DONE;
    alloca.u64 %a, 256; st.local.u32 [%a+60], %n0;
    sub.u32 %n2, %n0, 1; {call("add_up", "%n2", "%n3")}
    ld.local.u32 %n4, [%a+60]; add.u32 %n3, %n3, %n4;
DONE:
    mov.u32 %n0, %n3;""",
)
PLAIN = function(
    "add_up",
    """
    .reg .b64 %a; alloca.u64 %a, 8192; st.local.u32 [%a+60], %n0; ld.local.u32 %n3, [%a+60];
    setp.lt.u32 %p, %n0, 5; st.param.b32 [r], %n3; @%p ret;
    add.u32 %n0, %n3, 100;""",
)
CALL = f"""
    mov.u32 %r5, 0; mov.u32 %r7, 0;
AGAIN:
    {call("add_up", "%r1", "%r6")}
    add.u32 %r7, %r7, %r6;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra AGAIN;
    st.global.u32 [%rd3], %r7;"""


def test_recursive_functions_have_memory_of_their_own(engine: str) -> None:
    assert out_of(engine, CALL, RECURSIVE) == [3 * (t * (t + 1) // 2) for t in range(32)]


def test_a_function_gives_its_memory_back(engine: str) -> None:
    """Three calls take more than there is; lanes return at different places."""
    assert out_of(engine, CALL, PLAIN) == [3 * (t if t < 5 else t + 100) for t in range(32)]


def test_guard(engine: str) -> None:
    """Lanes whose guard does not hold keep what they had."""
    body = """
    mov.u64 %rd5, 5;
    setp.lt.u32 %p1, %r1, 9;
    stacksave.u64 %rd6;
    @%p1 alloca.u64 %rd5, 24;
    stacksave.u64 %rd7;
    sub.u64 %rd8, %rd7, %rd6; cvt.u32.u64 %r5, %rd8;
    @!%p1 cvt.u32.u64 %r5, %rd5;
    st.global.u32 [%rd3], %r5;"""
    assert out_of(engine, body) == [24] * 9 + [5] * 23


WRONG = {
    "alloca.u64 %rd5, 8, 24;": "24 cannot be an alignment: a power of two up to 8388608 can",
    "alloca.u64 5, 8;": "alloca.u64 writes to a register here, found 5",
    "alloca.u64 %rd5;": "alloca.u64 takes 2 to 3 operands (d, a, align); found 1",
    "stacksave.u64 5;": "stacksave.u64 writes to a register here, found 5",
    "stackrestore.u64 %rd5, %rd6;": "stackrestore.u64 takes 1 operand (a); found 2",
}


@pytest.mark.parametrize("line", WRONG)
def test_what_does_not_fit(line: str) -> None:
    with pytest.raises(PtxError) as caught:
        out_of("step", f"    {line}")
    assert caught.value.message == WRONG[line]

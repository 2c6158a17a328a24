"""Calls where lanes have diverged, in code of full quality: as the stepping engine runs them, without the function for
diverged warps."""

from __future__ import annotations

from typing import Any

import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")


def function(name: str, body: str) -> str:
    """A function of a number."""
    return f"""
.func (.param .b32 r) {name}(.param .b32 n)
{{
    .reg .pred %p, %q; .reg .b32 %n<9>;
    ld.param.u32 %n0, [n];
    {body}
    st.param.b32 [r], %n0;
    ret;
}}
"""


def call(name: str, given: str, result: str, guard: str = "") -> str:
    """A call of one."""
    return (
        f"{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {given}; st.param.b32 [b], 9; "
        f"{guard}call (b), {name}, (a); ld.param.b32 {result}, [b]; }}"
    )


MIXED = "activemask.b32 %n7; mad.lo.u32 %n0, %n0, 5, %n7;"
FIBONACCI = function(
    "fibonacci",
    f"setp.lt.s32 %p, %n0, 2; @%p bra DONE; sub.u32 %n1, %n0, 1; {call('fibonacci', '%n1', '%n2')} "
    f"sub.u32 %n3, %n0, 2; {call('fibonacci', '%n3', '%n4')} add.u32 %n0, %n4, %n2; {MIXED} DONE:",
)
MUTUAL = ".func (.param .b32 r) odd(.param .b32 n);\n" + "".join(
    function(
        name,
        f"setp.eq.u32 %p, %n0, 0; @%p bra DONE; sub.u32 %n1, %n0, 1; {call(other, '%n1', '%n2')} "
        f"mad.lo.u32 %n0, %n2, {factor}, %n0; {MIXED} DONE:",
    )
    for name, other, factor in (("even", "odd", 3), ("odd", "even", 7))
)
EARLY = function(
    "early",
    f"setp.lt.u32 %p, %n0, 9; mov.u32 %n1, 0; @%p bra DONE; and.b32 %n1, %n0, 7; LOOP: add.u32 %n0, %n0, %n1; {MIXED} "
    "setp.eq.u32 %q, %n1, 0; @%q bra DONE; sub.u32 %n1, %n1, 1; and.b32 %n3, %n0, 64; setp.ne.u32 %q, %n3, 0; "
    "@%q bra LOOP; DONE:",
)
POINTERS = "".join(
    function(name, f"{body} {MIXED}")
    for name, body in (("one", "add.u32 %n0, %n0, 3;"), ("two", "xor.b32 %n0, %n0, 9;"), ("three", "not.b32 %n0, %n0;"))
)
THROUGH = (
    "mov.u64 %rd5, one; mov.u64 %rd6, two; mov.u64 %rd7, three; mov.u32 %r5, 5; mov.u32 %r6, %r1; "
    "P: .callprototype (.param .b32 _) _ (.param .b32 _); LOOP: and.b32 %r7, %r6, 3; setp.eq.u32 %p1, %r7, 0; "
    "setp.eq.u32 %p2, %r7, 1; selp.b64 %rd8, %rd5, %rd6, %p1; selp.b64 %rd8, %rd8, %rd7, %p2; WRONG "
    f"{call('%rd8', '%r6', '%r6').replace('(a);', '(a), P;')} sub.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; "
    "@%p1 bra LOOP;"
)
"""A loop of calls through a register. WRONG: what some lanes may do to it before."""
OFTEN = "and.b32 %r5, %r1, 15; AGAIN:" + call("early", "%r5", "%r6") + "add.u32 %r5, %r5, %r6;"
PROGRAMS = {
    "recursion": (FIBONACCI, f"and.b32 %r5, %r1, 7; {call('fibonacci', '%r5', '%r6')}"),
    "two depths": (
        FIBONACCI,
        f"and.b32 %r5, %r1, 1; mad.lo.u32 %r5, %r5, 3, 4; {call('fibonacci', '%r5', '%r6')}",
    ),
    "two functions": (MUTUAL, f"and.b32 %r5, %r1, 11; {call('even', '%r5', '%r6')}"),
    "a loop": (
        EARLY,
        f"mov.u32 %r5, %r1; LOOP: {call('early', '%r5', '%r6')} xor.b32 %r6, %r6, %r5; sub.u32 %r5, %r5, 3; "
        "setp.gt.s32 %p1, %r5, 0; @%p1 bra LOOP;",
    ),
    "two places": (
        EARLY,
        f"{call('early', '%r1', '%r6')} and.b32 %r5, %r6, 3; setp.ne.u32 %p1, %r5, 0; @%p1 bra ON; "
        f"{call('early', '%r6', '%r7')} add.u32 %r6, %r6, %r7; ON: activemask.b32 %r7; xor.b32 %r6, %r6, %r7;",
    ),
    "guards": (
        EARLY,
        f"setp.gt.u32 %p1, %r1, 7; {call('early', '%r1', '%r6', '@%p1 ')} setp.gt.u32 %p2, %r6, 50; "
        f"{call('early', '%r6', '%r7', '@!%p2 ')} add.u32 %r6, %r6, %r7;",
    ),
    "eleven places": (
        EARLY,
        "and.b32 %r5, %r1, 15; W: .branchtargets " + ", ".join(f"W{k}" for k in range(11)) + ";"
        "min.u32 %r5, %r5, 10; brx.idx %r5, W;"
        + "".join(f"W{k}: {call('early', '%r1', '%r6')} add.u32 %r6, %r6, {k}; bra ON;" for k in range(11))
        + "ON: activemask.b32 %r7; xor.b32 %r6, %r6, %r7;",
    ),
    "an exchange between accesses of a frame": (
        function(
            "exchange",
            "setp.lt.s32 %p, %n0, 1; @%p bra DONE; st.local.u32 [own+4], %n0; ld.local.u32 %n1, [own]; "
            "activemask.b32 %n7; redux.sync.add.u32 %n6, %n0, %n7; st.local.u32 [own], %n6; ld.local.u32 %n2, [own+4]; "
            f"sub.u32 %n3, %n2, 1; {call('exchange', '%n3', '%n4')} ld.local.u32 %n5, [own]; add.u32 %n0, %n5, %n4; "
            "DONE:",
        ).replace(".reg .pred", ".local .align 16 .b8 own[16]; .reg .pred"),
        f"and.b32 %r5, %r1, 7; {call('exchange', '%r5', '%r6')}",
    ),
    "functions by their addresses": (POINTERS, THROUGH.replace("WRONG", "")),
    "a switch": (
        "",
        "mov.u32 %r5, %r1; mov.u32 %r6, 1; W: .branchtargets W0, W1, W2; LOOP: rem.u32 %r7, %r5, 3; brx.idx %r7, W; "
        "W0: mad.lo.u32 %r6, %r6, 3, 1; bra ON; W1: mad.lo.u32 %r6, %r6, 5, %r5; bra ON; W2: add.u32 %r6, %r6, 9; "
        "ON: activemask.b32 %r8; xor.b32 %r6, %r6, %r8; sub.u32 %r5, %r5, 2; setp.gt.s32 %p1, %r5, 0; @%p1 bra LOOP;",
    ),
}
"""Functions, and the body of a kernel that calls them."""


def text_of(name: str) -> str:
    before, body = PROGRAMS[name]
    return kernel(f"{body} st.global.u32 [%rd3], %r6;", before)


def left(way: str, text: str, **options: Any) -> tuple[Any, ...]:
    """What a kernel leaves: results, counts by line, counters, what the checks find."""
    out, report = run(way, text, threads=75, blocks=2, **options)
    return out.tolist(), report.lines, report.counters, [str(each) for each in report.findings]


@pytest.mark.long
@pytest.mark.sweep(21)
@pytest.mark.parametrize(
    "options",
    [{}, {"counters": True}, {"checks": ALL_CHECKS}, {"seed": 7}],
    ids=["plain", "counters", "checks", "short quanta"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree(name: str, options: dict[str, Any]) -> None:
    step, *others = (left(way, text_of(name), **options) for way in WAYS)
    assert others == [step] * len(others)


@pytest.mark.parametrize("lanes", ["%r1, 45", "%r1, 0"], ids=["some", "all"])
def test_wrong_addresses(lanes: str) -> None:
    """Lanes whose register holds no function's address, in the second warp or in all: others have run by then."""
    wrong = f"setp.eq.u32 %p3, %r5, 2; setp.ge.and.u32 %p3, {lanes}, %p3; selp.b64 %rd8, 64, %rd8, %p3;"
    text = kernel(THROUGH.replace("WRONG", wrong) + "st.global.u32 [%rd3], %r6;", POINTERS)
    faults = []
    for way in WAYS:
        with pytest.raises(DeviceFault) as fault:
            left(way, text)
        faults.append(str(fault.value))
    assert "holds no address of a function" in faults[0]
    assert faults == faults[:1] * len(faults)

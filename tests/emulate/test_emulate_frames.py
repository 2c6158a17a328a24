"""Frames of recursive functions: code leaves out what nobody reads, and results, faults and counts stay as they are."""

from __future__ import annotations

import random
from typing import Any

import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
FIBONACCI = """
.func (.param .b32 r) fibonacci(.param .b32 n)
{
    .reg .pred %p; .reg .b32 %n<6>;
    ld.param.u32 %n0, [n];
    setp.lt.s32 %p, %n0, 2;
    @%p bra DONE;
    sub.u32 %n1, %n0, 1;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %n1; call.uni (b), fibonacci, (a); ld.param.b32 %n2, [b]; }
    sub.u32 %n3, %n0, 2;
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %n3; call.uni (b), fibonacci, (a); ld.param.b32 %n4, [b]; }
    add.u32 %n0, %n4, %n2;
DONE:
    st.param.b32 [r], %n0;
    ret;
}
"""
CALL = """{{ .param .b32 a; .param .b32 b; st.param.b32 [a], {given}; call.uni (b), {name}, (a);
    ld.param.b32 %r6, [b]; }} st.global.u32 [%rd3], %r6;"""
DEEP = """
.func deep()
{
    .reg .b32 %n<9>; .reg .b64 %d<9>; .reg .pred %p;
    ld.global.u32 %n0, [counter]; setp.gt.u32 %p, %n0, 0; mov.u64 %d1, 5; mov.u32 %n8, 3;
    @%p call.uni deep;
    add.u64 %d2, %d1, 1; st.global.u32 [counter], %n8; ret;
}
"""


def outcome(
    way: str, text: str, threads: int = 45, checks: tuple[str, ...] = ("memcheck",), **options: Any
) -> list[Any]:
    out, report = run(way, text, threads=threads, checks=checks, **options)
    return [out.tolist(), report.lines, [str(each) for each in report.findings]]


def agree(text: str, **options: Any) -> list[Any]:
    outcomes = [outcome(way, text, **options) for way in WAYS]
    assert [each == outcomes[0] for each in outcomes] == [True] * len(WAYS)
    return outcomes[0]


@pytest.mark.long
@pytest.mark.sweep(5)
@pytest.mark.parametrize("options", [{}, {"checks": ALL_CHECKS}, {"counters": True}])
@pytest.mark.parametrize("given", ["9", "%r5"])
def test_recursion_to_depths_of_its_own(given: str, options: dict[str, Any]) -> None:
    text = kernel("rem.u32 %r5, %r1, 7; add.u32 %r5, %r5, 3;" + CALL.format(given=given, name="fibonacci"), FIBONACCI)
    numbers = [0, 1]
    while len(numbers) < 12:
        numbers.append(numbers[-1] + numbers[-2])
    expected = [numbers[9] if given == "9" else numbers[t % 7 + 3] for t in range(45)]
    assert agree(text, **options)[0] == expected


def test_a_stack_that_is_too_small() -> None:
    """The lane, the address and the line of the fault are those of the first save that has no room."""
    said = []
    before = ".global .u32 counter = 7;" + DEEP
    text = kernel("setp.gt.u32 %p1, %r1, 4; @%p1 call.uni deep;", before)
    for way in WAYS:
        with pytest.raises(DeviceFault) as fault:
            outcome(way, text)
        said.append(str(fault.value))
    assert "local memory" in said[0]
    assert said == [said[0]] * len(WAYS)


def function(rng: random.Random, name: str) -> str:
    """A function of a number that calls itself, or another, under conditions, and computes with what it kept."""
    kept = [f"%n{k}" for k in range(2, 7)]
    lines = [f".func (.param .b32 r) {name}(.param .b32 n)\n{{ .reg .pred %p<4>; .reg .b32 %n<12>; .reg .b64 %d<4>;"]
    lines += [".local .align 4 .b8 own[16];", "ld.param.u32 %n0, [n]; setp.lt.s32 %p0, %n0, 2; mov.u32 %n1, %n0;"]
    lines += [f"mad.lo.u32 {r}, %n0, {rng.randrange(99)}, {rng.randrange(99)};" for r in kept]
    lines += ["mov.u64 %d0, 77; setp.gt.u32 %p1, %n3, %n2; @%p0 bra DONE; st.local.u32 [own+4], %n4;"]
    for k in range(rng.randint(1, 3)):
        guard = rng.choice(("", "@%p1 ", "@!%p1 "))
        step, callee = rng.randint(1, 3), rng.choice(("one", "two"))
        lines.append(f"sub.u32 %n7, %n0, {step}; {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %n7;")
        lines.append(f"st.param.b32 [b], 5; {guard}call (b), {callee}, (a); ld.param.b32 %n8, [b]; }}")
        lines.append(f"mad.lo.u32 %n1, %n1, 31, %n8; add.u32 {rng.choice(kept)}, {rng.choice(kept)}, %n8;")
        if rng.random() < 0.5:
            lines.append(f"setp.gt.u32 %p{rng.randint(1, 2)}, {rng.choice(kept)}, {rng.choice(kept)};")
        if rng.random() < 0.5:
            lines.append(f"ld.local.u32 %n9, [own+4]; add.u32 %n1, %n1, %n9; st.local.u32 [own+4], {rng.choice(kept)};")
        if rng.random() < 0.3:
            lines.append("cvt.u32.u64 %n9, %d0; xor.b32 %n1, %n1, %n9; add.u64 %d0, %d0, 3;")
        if rng.random() < 0.3:
            lines.append(f"@%p1 bra L{k}; add.u32 %n1, %n1, {rng.choice(kept)}; L{k}:")
    lines += [f"mad.lo.u32 %n1, %n1, 31, {r};" for r in rng.sample(kept, 2)]
    return "\n".join([*lines, "DONE: st.param.b32 [r], %n1; ret; }"])


@pytest.mark.long
@pytest.mark.sweep(8)
@pytest.mark.parametrize("seed", range(8))
def test_random_functions(seed: int) -> None:
    rng = random.Random(seed)
    declared = "".join(f".func (.param .b32 r) {name}(.param .b32 n);" for name in ("one", "two"))
    before = declared + function(rng, "one") + function(rng, "two")
    depth = rng.choice(("5", "%r5", "%r5", "%r5"))
    text = kernel("rem.u32 %r5, %r1, 6; add.u32 %r5, %r5, 1;" + CALL.format(given=depth, name="one"), before)
    agree(text, checks=ALL_CHECKS if seed % 4 == 3 else ("memcheck",))

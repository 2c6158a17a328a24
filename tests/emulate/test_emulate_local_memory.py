"""Local memory: all engines and both qualities of code agree on it, wherever lanes access it and whoever runs."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run
from random_local import differences
from slow_cases import slow

from ptxlab.emulate import lower
from ptxlab.errors import DeviceFault
from ptxlab.text import parse

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
OWN = ".local .align 16 .b8 own[256]; mov.u32 %r5, own; "


# -- agreement -----------------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[int, str, str]] = {
    "u8": (1, "cvt.u16.u32 %h1, %r20; st.local.u8 [{at}], %h1;", "ld.local.u8 %r21, [{at}];"),
    "s16": (2, "cvt.u16.u32 %h1, %r20; st.local.u16 [{at}], %h1;", "ld.local.s16 %r21, [{at}];"),
    "u32": (4, "st.local.u32 [{at}], %r20;", "ld.local.u32 %r21, [{at}];"),
    "f32": (4, "mov.b32 %f1, %r20; st.local.f32 [{at}], %f1;", "ld.local.f32 %f2, [{at}]; mov.b32 %r21, %f2;"),
    "u64": (8, "mov.b64 %rd20, {{%r20, %r1}}; st.local.u64 [{at}], %rd20;",
            "ld.local.u64 %rd21, [{at}]; mov.b64 {{%r22, %r23}}, %rd21; xor.b32 %r21, %r22, %r23;"),
    "f64": (8, "cvt.rn.f64.u32 %fd1, %r20; st.local.f64 [{at}], %fd1;",
            "ld.local.f64 %fd2, [{at}]; mov.b64 {{%r22, %r23}}, %fd2; xor.b32 %r21, %r22, %r23;"),
    "two": (8, "st.local.v2.u32 [{at}], {{%r20, %r1}};",
            "ld.local.v2.u32 {{%r22, %r23}}, [{at}]; sub.u32 %r21, %r22, %r23;"),
    "four": (16, "st.local.v4.u32 [{at}], {{%r20, %r1, %r2, %r20}};",
             "ld.local.v4.u32 {{%r22, %r23, %r24, %r25}}, [{at}]; mad.lo.u32 %r21, %r22, %r23, %r25;"),
    "bytes": (4, "cvt.u16.u32 %h1, %r20; cvt.u16.u32 %h2, %r1; st.local.v4.u8 [{at}], {{%h1, %h2, %h1, %h2}};",
              "ld.local.v2.s16 {{%h3, %h4}}, [{at}]; mov.b32 %r21, {{%h3, %h4}};"),
}  # fmt: skip
"""By name: the bytes of an access, a store of %r20 and more, and a load of %r21."""
WHERE = {
    "one": "mov.u32 %r30, {n};",
    "loaded": "ld.global.u32 %r30, [%rd2]; add.u32 %r30, %r30, {n};",
    "apart": "mad.lo.u32 %r30, %r1, 5, {n};",
    "some": "and.b32 %r30, %r1, 1; add.u32 %r30, %r30, {n};",
    "alike": "or.b32 %r30, %r1, 31; add.u32 %r30, %r30, {n};",
}
"""%r30: which element a lane accesses."""
HOW = {
    "all": "{access}",
    "guard": "@%p1 {{ {access} }}",
    "side": "@!%p1 bra OVER{k}; {access} OVER{k}:",
    "loop": "mov.u32 %r35, 0; AGAIN{k}: {access} add.u32 %r35, %r35, 1; "
    "setp.le.u32 %p2, %r35, %r34; @%p2 bra AGAIN{k};",
    "call": "@!%p1 bra OVER{k}; call.uni nothing; {access} OVER{k}:",
}
"""Which lanes, and whether the warp has converged: the function for diverged warps has those with a call."""
NOTHING = ".func nothing() { ret; }"


def body_of(seed: int) -> str:
    """Stores and loads of elements of all sizes at the same bytes; what was loaded goes into `out`."""
    rng = random.Random(seed)
    lines = [OWN, "mov.u32 %r6, 0; mov.u32 %r31, 0;"]
    lines += [f"st.local.u32 [own+{4 * k}], {rng.getrandbits(31)};" for k in range(64)]
    for k in range(8):
        size, store, load = KINDS[rng.choice(list(KINDS))]
        lines += [
            f"mov.u32 %r33, {rng.getrandbits(32) - (1 << 31)}; shr.u32 %r33, %r33, %r1; and.b32 %r34, %r33, 3;",
            f"setp.ne.u32 %p1, %r34, {rng.randrange(4)}; mad.lo.u32 %r20, %r33, 77, %r6;",
            WHERE[rng.choice(list(WHERE))].format(n=rng.randrange(256)),
            f"and.b32 %r30, %r30, {256 // size - 1}; mad.lo.u32 %r32, %r30, {size}, %r5; cvt.u64.u32 %rd10, %r32;",
        ]
        at = rng.choice(("%r32", "%rd10", f"own+{size * rng.randrange(256 // size)}"))
        access = rng.choice((store, load, store + load, store + "add.u32 %r20, %r20, 1;" + load)).format(at=at)
        how = HOW[rng.choice(list(HOW))]
        if "guard" in how or how.startswith("@%p1"):
            parts = [f"@%p1 {part};" for part in access.split(";") if part.strip()]
            lines.append(" ".join(parts))
        else:
            lines.append(how.format(access=access, k=k))
        lines.append("mad.lo.u32 %r6, %r6, 31, %r21;")
    lines.append("mov.u32 %r32, %r5; SUM: ld.local.u32 %r21, [%r32]; mad.lo.u32 %r6, %r6, 31, %r21;")
    lines.append("add.u32 %r32, %r32, 4; add.u32 %r31, %r31, 1; setp.lt.u32 %p3, %r31, 64; @%p3 bra SUM;")
    lines.append("st.global.u32 [%rd3], %r6;")
    return "mov.u32 %r21, 0; mov.u32 %r34, 0;" + "\n".join(lines)


def outcome(way: str, text: str, threads: int, checks: tuple[str, ...]) -> list[Any]:
    out, report = run(way, text, threads=threads, checks=checks)
    return [out.tolist(), report.lines, [str(each) for each in report.findings]]


@pytest.mark.long
@pytest.mark.sweep(11)
@pytest.mark.parametrize("seed", range(12))
def test_engines_agree(seed: int) -> None:
    text = kernel(body_of(seed), NOTHING)
    threads = (32, 64, 45)[seed % 3]
    checks = ALL_CHECKS if seed % 4 == 0 else ("memcheck",)
    expected = outcome("step", text, threads, checks)
    assert [outcome(way, text, threads, checks) == expected for way in WAYS] == [True] * len(WAYS)


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, 1),
        *(pytest.param(*given, marks=pytest.mark.rest) for given in ((1, 3), (4, 4), (8, 4))),
        *slow((first, 4) for first in range(12, 200, 4)),
    ],
)
def test_engines_find_the_same_bytes_unwritten(first: int, count: int) -> None:
    assert differences(first, count) == []


@pytest.mark.parametrize("at", ["[%r7]", "[%r7+-4]", "[%r8]", "[%r9]"])
@pytest.mark.parametrize("access", ["ld.local.u32 %r6, {at};", "st.local.v2.u32 {at}, {{%r1, %r1}};"])
def test_beyond_it_or_between_elements(access: str, at: str) -> None:
    """The first lane that is wrong stops the kernel, whether lanes access one address or each its own."""
    body = (
        OWN
        + """mad.lo.u32 %r7, %r1, 16, %r5; add.u32 %r8, %r5, 2; ld.global.u32 %r9, [%rd2+128];
        mul.lo.u32 %r9, %r9, 8;
        """
        + access.format(at=at)
    )
    said = []
    for way in WAYS:
        with pytest.raises(DeviceFault) as fault:
            run(way, kernel(body))
        said.append(str(fault.value))
    assert said == [said[0]] * len(WAYS)


def test_an_address_of_32_bits_that_wraps_around() -> None:
    body = (
        OWN
        + """st.local.u32 [own+8], %r1; mul.lo.u32 %r7, %r1, 0; sub.u32 %r7, %r7, 4; ld.local.u32 %r6, [%r7+12];
        mov.u32 %r8, -4; ld.local.u32 %r9, [%r8+12]; mad.lo.u32 %r6, %r6, 100, %r9; st.global.u32 [%rd3], %r6;"""
    )
    for way in WAYS:
        assert outcome(way, kernel(body), 32, ("memcheck",))[0] == [101 * t for t in range(32)]


STRUCT = """
.func (.param .align 8 .b8 r[{size}]) turned(.param .align 8 .b8 a[{size}], .param .b16 h, .param .b8 c)
{{
    .reg .b32 %n<4>; .reg .b16 %k<4>;
    ld.param.u8 %k0, [a+{last}]; ld.param.u8 %k1, [c]; ld.param.u16 %k2, [h];
    add.u16 %k0, %k0, %k1; st.param.b8 [r], %k0; add.u16 %k2, %k2, %k0; st.param.b16 [r+2], %k2;
    ld.param.u8 %k3, [a+1]; st.param.b8 [r+{last}], %k3; ret;
}}
"""
CALL = """{{ .param .align 8 .b8 a[{size}]; .param .b16 h; .param .b8 c; .param .align 8 .b8 r[{size}];
    st.param.b32 [a], %r6; cvt.u16.u32 %h1, %r1; st.param.b8 [a+{last}], %h1; st.param.b16 [h], %h1;
    st.param.b8 [c], %h1; call.uni (r), turned, (a, h, c);
    ld.param.b32 %r7, [r]; ld.param.b8 %h2, [r+{last}]; cvt.u32.u16 %r8, %h2; mad.lo.u32 %r6, %r7, 3, %r8; }}"""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", [5, 8, 12, 15])
def test_structures_by_value(size: int) -> None:
    """Arguments are copied into the function's frame in pieces of 1 to 8 bytes, in some lanes and in all."""
    call = CALL.format(size=size, last=size - 1)
    body = f"mov.u32 %r6, %r1; {call} and.b32 %r9, %r1, 5; setp.eq.u32 %p1, %r9, 1; @%p1 bra OVER; {call} OVER:"
    text = kernel(body + "st.global.u32 [%rd3], %r6;", STRUCT.format(size=size, last=size - 1))
    expected = outcome("step", text, 45, ("memcheck",))
    assert [outcome(way, text, 45, ("memcheck",)) == expected for way in WAYS] == [True] * len(WAYS)


@pytest.mark.rest
@pytest.mark.long
def test_blocks_that_have_ended_keep_no_local_memory() -> None:
    text = kernel(".local .b8 much[500000]; st.local.u32 [much], %r1; st.global.u32 [%rd3], %r1;")
    tracemalloc.start()
    run("step", text, blocks=24)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 32 * 500_000


@pytest.mark.parametrize("engine", ENGINES)
def test_a_volatile_local_variable(engine: str) -> None:
    """As NVRTC writes it; no other thread reads it, so that a loop around it waits for nobody."""
    body = """
    .local .align 8 .b8 own[8];
    st.volatile.local.u32 [own], %r1;
ROUND:
    ld.volatile.local.u32 %r5, [own];
    add.u32 %r5, %r5, 7;
    st.volatile.local.v2.u32 [own], {%r5, %r5};
    setp.lt.u32 %p1, %r5, 100;
    @%p1 bra ROUND;
    st.global.u32 [%rd3], %r5;"""
    text = kernel(body).replace(".version 8.8", ".version 9.1")
    out, report = run(engine, text, checks=ALL_CHECKS)
    assert out.tolist() == [k + 7 * -(-(100 - k) // 7) for k in range(32)]
    assert not report.findings
    assert not lower(parse(text)).may_wait

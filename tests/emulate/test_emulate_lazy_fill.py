"""Local memory behind the beginning is filled when an access first reaches it, and nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run

from ptxlab.emulate import Memory, lower
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules.lazy_fill import STEP, fill_to
from ptxlab.emulate.runtime.memory import POISON
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Warp
from ptxlab.text import parse

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")

DEEP = """
.func (.param .b32 r) deep(.param .b32 n)
{{
    .local .align 16 .b8 own[160];
    .reg .pred %p; .reg .b32 %n<12>; .reg .b64 %d<6>; .reg .b16 %h<3>;
    ld.param.u32 %n0, [n];
    and.b32 %n1, %n0, 31; cvt.u64.u32 %d0, %n1; mad.lo.u64 %d1, %d0, 4, 0; mov.u64 %d2, own; add.u64 %d1, %d2, %d1;
    {load}
    {store}
    setp.lt.s32 %p, %n0, 1;
    @%p bra DONE;
    sub.u32 %n3, %n0, 1;
    {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %n3; call (b), deep, (a); ld.param.b32 %n4, [b]; }}
    mad.lo.u32 %n2, %n2, 31, %n4;
DONE:
    st.param.b32 [r], %n2;
    ret;
}}
"""
LOADS = {
    "u8": "ld.local.u8 %n2, [%d1+1];",
    "u16": "ld.local.u16 %h1, [%d1+2]; cvt.u32.u16 %n2, %h1;",
    "u32": "ld.local.u32 %n2, [%d1];",
    "u64": "and.b64 %d1, %d1, -8; ld.local.u64 %d4, [%d1+8]; mov.b64 {%n2, %n5}, %d4; xor.b32 %n2, %n2, %n5;",
    "v4": "and.b64 %d1, %d1, -16; ld.local.v4.u32 {%n2, %n5, %n6, %n7}, [%d1]; xor.b32 %n2, %n2, %n7;",
    "one address": "ld.local.u32 %n2, [own+100];",
    "guarded": "setp.gt.u32 %p, %n0, 3; mov.u32 %n2, 5; @%p ld.local.u32 %n2, [%d1];",
}
STORES = {
    "u8": "cvt.u16.u32 %h2, %n0; st.local.u8 [%d1+17], %h2;",
    "u16": "cvt.u16.u32 %h2, %n0; st.local.u16 [%d1+18], %h2;",
    "u64": "mov.b64 %d5, {%n0, %n1}; st.local.u64 [%d1+16], %d5;",
    "v4": "st.local.v4.u32 [%d1+16], {%n0, %n1, %n0, %n2};",
}
MASKS = {"u8": 1, "u32": 0, "u64": 1, "v4": 1, "guarded": 1}
"""How lanes go down: all alike, two kinds of them, or (31) each by itself."""
CALL = """and.b32 %r6, %r1, {mask}; mad.lo.u32 %r6, %r6, {factor}, %r2; rem.u32 %r6, %r6, 29;
    {{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r6; call (b), deep, (a); ld.param.b32 %r7, [b]; }}"""
FAR = """.local .align 4 .b8 fixed[64]; ld.local.u32 %r8, [fixed+3000]; mul.lo.u32 %r9, %r1, 128; cvt.u64.u32 %rd7, %r9;
    mov.u64 %rd8, fixed; add.u64 %rd8, %rd8, %rd7; ld.local.u32 %r9, [%rd8+4]; xor.b32 %r8, %r8, %r9;"""
"""Loads from where no variable lies."""


def deep(kind: str) -> str:
    """The function, with such a load and a store."""
    return DEEP.format(load=LOADS[kind], store=STORES.get(kind, "st.local.u32 [%d1+16], %n0;"))


def left(way: str, text: str, **options: Any) -> tuple[Any, ...]:
    """What a kernel leaves."""
    if way == "good":
        improve(text, (45,), "counters" in options, options.get("checks", ("memcheck",)))
    out, report = run("step" if way == "step" else "jit", text, threads=45, blocks=5, **options)
    return out.tolist(), report.lines, report.counters, [str(each) for each in report.findings]


@pytest.mark.long
@pytest.mark.sweep(7)
@pytest.mark.parametrize(
    ("load", "options"), [*((load, {}) for load in LOADS), ("u32", {"checks": ALL_CHECKS})], ids=[*LOADS, "checks"]
)
def test_what_nobody_has_written(load: str, options: dict[str, Any]) -> None:
    """Poison, or what the thread itself has left there, whatever blocks before had there: they are at other depths."""
    call = CALL.format(mask=MASKS.get(load, 31), factor=5)
    text = kernel(f"{FAR} {call} xor.b32 %r7, %r7, %r8; st.global.u32 [%rd3], %r7;", deep(load))
    assert lower(parse(text)).local_first < lower(parse(text)).local_stride
    step, *others = (left(way, text, **options) for way in WAYS)
    assert others == [step] * len(others)


@pytest.mark.long
def test_only_what_is_reached_is_filled() -> None:
    from ptxlab.emulate.jit.affine.block_rows import Rows
    from ptxlab.emulate.jit.building.build import prepare
    from ptxlab.emulate.jit.instruments.selection import Instruments
    from ptxlab.emulate.jit.running import run as jit

    filled = []
    for factor in (0, 1):
        text = kernel(CALL.format(mask=31, factor=factor) + "st.global.u32 [%rd3], %r7;", deep("u32"))
        program = lower(parse(text))
        built, _ = prepare(program, None, Instruments(False, frozenset()), Rows.of((32, 1, 1)))
        memory = Memory()
        out = memory.allocate(128, "out", np.zeros(32, np.uint32))
        given = np.array([out.address, 0], np.uint64).tobytes()
        launched = jit.Run(program, built, Launch((1, 1, 1), (32, 1, 1), given), memory)
        launched.wait()
        slot = launched.workers[0].slot
        filled.append(int(slot.warps["filled"][0]))
        held = np.array([slot.cta.local[k] for k in range(32 * filled[-1], 32 * program.local_stride)], np.uint8)
        assert not held.any(), "memory as it was when the worker began"
    assert filled[0] == program.local_first < filled[1] < program.local_stride
    assert filled[1] % STEP == 0


def test_the_rule() -> None:
    """Python and compiled: filled up to whole steps behind the farthest of some lanes, and what was filled is kept."""
    from compiled_rules import Compiled

    compiled, stride = Compiled([fill_to]), 1200
    for call in (lambda *given: fill_to(*given), lambda *given: compiled(fill_to, *given)):
        memory, warp = np.zeros(32 * stride, np.uint8), Warp.new()
        warp.local, warp.filled = Pointer(memory), 64
        at = np.full(32, 5000, np.uint64)
        for where, size, expected in (
            (60, 4, 64),
            (61, 4, STEP),
            (STEP, 1, 2 * STEP),
            (2, 8, 2 * STEP),
            (1190, 8, 1200),
        ):
            at[3], at[7] = where, 0
            call(warp, Pointer(at), 1 << 3 | 1 << 7, size, stride)
            assert int(warp.filled) == expected
            assert (memory[32 * 64 : 32 * expected] == POISON).all()
            assert not memory[: 32 * 64].any()
            assert not memory[32 * expected :].any()

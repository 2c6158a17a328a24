"""Stores of vectors by lanes that are not in a row: of all lanes or some, where the last lane of a place wins."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
KINDS = {
    "v2.u32": "st.{space}.v2.u32 [{at}], {{%r20, %r21}};",
    "v4.u32": "st.{space}.v4.u32 [{at}], {{%r20, %r21, %r22, %r23}};",
    "v4.f32": "mov.b32 %f1, %r20; mov.b32 %f2, %r21; mov.b32 %f3, %r22; mov.b32 %f4, %r23; "
    "st.{space}.v4.f32 [{at}], {{%f1, %f2, %f3, %f4}};",
    "v2.u64": "mov.b64 %rd11, {{%r20, %r21}}; mov.b64 %rd12, {{%r22, %r23}}; "
    "st.{space}.v2.u64 [{at}], {{%rd11, %rd12}};",
    "v2.f64": "mov.b64 %fd1, {{%r20, %r21}}; mov.b64 %fd2, {{%r22, %r23}}; st.{space}.v2.f64 [{at}], {{%fd1, %fd2}};",
    "v4.u8": "cvt.u16.u32 %h1, %r20; cvt.u16.u32 %h2, %r21; cvt.u16.u32 %h3, %r22; cvt.u16.u32 %h4, %r23; "
    "st.{space}.v4.u8 [{at}], {{%h1, %h2, %h3, %h4}};",
    "v2.u16": "cvt.u16.u32 %h1, %r20; cvt.u16.u32 %h2, %r21; st.{space}.v2.u16 [{at}], {{%h1, %h2}};",
}
WORD = {"v4.u8": 8, "v2.u16": 16}
"""Bits of elements that fill a word."""
PLACES = {
    "pairs share a place": ("shr.u32 %r10, %r1, 1; mul.lo.u32 %r10, %r10, %r10;", lambda lane: (lane // 2) ** 2),
    "backwards": ("sub.u32 %r10, 250, %r1; ", lambda lane: 250 - lane),
    "three apart": ("mul.lo.u32 %r10, %r1, 3;", lambda lane: lane * 3),
    "rows of eight": (
        "and.b32 %r10, %r1, 7; shr.u32 %r11, %r1, 3; mad.lo.u32 %r10, %r11, 60, %r10;",
        lambda lane: lane % 8 + lane // 8 * 60,
    ),
}
"""In units of 16 bytes."""
WORDS = 1024


def stored(way: str, kind: str, space: str, place: str, lanes: int) -> np.ndarray:
    """What 4 kB hold after the store of these lanes."""
    at, copy = "%rd10", ""
    if space == "shared":
        at, copy = "%r13", "bar.sync 0; LOOP: ld.shared.u32 %r15, [%r14]; st.global.u32 [%rd15], %r15;"
        copy += "add.u32 %r14, %r14, 128; add.u64 %rd15, %rd15, 128; add.u32 %r16, %r16, 1;"
        copy += f"setp.lt.u32 %p2, %r16, {WORDS // 32}; @%p2 bra LOOP;"
    text = kernel(
        f"""
        {PLACES[place][0]} shl.b32 %r12, %r10, 4; mov.u32 %r13, tile; mad.lo.u32 %r14, %r1, 4, %r13; mov.u32 %r16, 0;
        add.u32 %r13, %r13, %r12; cvt.u64.u32 %rd10, %r12; add.u64 %rd10, %rd10, %rd1; mov.u64 %rd15, %rd3;
        mov.u32 %r17, %r14; CLEAR: st.shared.u32 [%r17], 0; add.u32 %r17, %r17, 128; add.u32 %r16, %r16, 1;
        setp.lt.u32 %p2, %r16, {WORDS // 32}; @%p2 bra CLEAR; mov.u32 %r16, 0; bar.sync 0;
        mad.lo.u32 %r20, %r1, 4, 1; add.u32 %r21, %r20, 1; add.u32 %r22, %r20, 2; add.u32 %r23, %r20, 3;
        mov.u32 %r18, {lanes}; shr.u32 %r18, %r18, %r1; and.b32 %r18, %r18, 1; setp.eq.u32 %p1, %r18, 0;
        @%p1 bra OVER; {KINDS[kind].format(space=space, at=at)} OVER: {copy}""",
        f".shared .align 16 .b8 tile[{4 * WORDS}];",
    )
    return run(way, text, out=np.zeros(WORDS, np.uint32))[0]


@pytest.mark.sweep(39)
@pytest.mark.parametrize("lanes", [0xFFFFFFFF, 0x80F00013])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored(kind: str, place: str, lanes: int) -> None:
    wanted = np.zeros(WORDS, np.uint32)
    for lane in range(32):
        first = 4 * PLACES[place][1](lane)
        if lanes >> lane & 1:
            if kind in WORD:
                wanted[first] = sum(4 * lane + 1 + k << k * WORD[kind] for k in range(32 // WORD[kind]))
                continue
            count = 2 if kind == "v2.u32" else 4
            wanted[first : first + count] = 4 * lane + np.arange(1, count + 1)
    for space in ("global", "shared"):
        for way in WAYS:
            assert stored(way, kind, space, place, lanes).tolist() == wanted.tolist(), (space, way)

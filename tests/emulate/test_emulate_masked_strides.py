"""Some lanes of a warp access every second or fourth element of shared memory, a row backwards or in another order; and
registers to which a block has added numbers, whose accesses share a check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
WORDS = 512
SHARED = f".shared .align 16 .b8 tile[{4 * WORDS}];"
FILL = """
    mov.u32 %r12, tile; shl.b32 %r10, %r1, 2; add.u32 %r11, %r12, %r10; mov.u32 %r13, 0; mov.u32 %r14, %r1;
    FILL: mad.lo.u32 %r15, %r14, 2654435761, 12345; st.shared.u32 [%r11], %r15; add.u32 %r11, %r11, 256;
    add.u32 %r14, %r14, 64; add.u32 %r13, %r13, 1; setp.lt.u32 %p1, %r13, 8; @%p1 bra FILL; bar.sync 0;
"""
"""64 threads write all words of the tile."""
EMPTY = """
    bar.sync 0; add.u32 %r11, %r12, %r10; mov.u32 %r13, 0; mov.u32 %r14, 0;
    EMPTY: ld.shared.u32 %r15, [%r11]; mad.lo.u32 %r14, %r14, 31, %r15; add.u32 %r11, %r11, 256;
    add.u32 %r13, %r13, 1; setp.lt.u32 %p1, %r13, 8; @%p1 bra EMPTY; mad.lo.u32 %r14, %r14, 31, %r20;
    st.global.u32 [%rd3], %r14;
"""
"""Each thread's number out of what it has loaded before and what the tile has in its column."""
EVEN = "and.b32 %r16, %r1, 1; setp.eq.u32 %p2, %r16, 0;"
DATA = "ld.shared.u32 %r16, [%r11+-2048]; setp.gt.s32 %p2, %r16, 0;"
MOVED = {
    "b32": "ld.shared.b32 %r20, [%r19]; ld.shared.b32 %r21, [%r19+{size}]; add.u32 %r21, %r21, %r20;"
    "st.shared.b32 [%r19+{size}], %r21; st.shared.b32 [%r19], %r1;",
    "f32": "ld.shared.f32 %f1, [%r19]; add.f32 %f2, %f1, 0f3F800000; st.shared.f32 [%r19], %f2; mov.b32 %r20, %f1;",
    "b64": "ld.shared.b64 %rd10, [%r19]; cvt.u32.u64 %r20, %rd10; add.u64 %rd10, %rd10, %rd3;"
    "cvt.u64.u32 %rd11, %r1; mad.lo.u64 %rd10, %rd11, 77, 5; st.shared.b64 [%r19], %rd10;",
    "v2.b32": "ld.shared.v2.b32 {{%r20, %r21}}, [%r19]; ld.shared.b64 %rd10, [%r19]; add.u32 %r20, %r20, %r21;"
    "st.shared.v2.b32 [%r19], {{%r1, %r20}};",
}
SIZES = {"b32": 4, "f32": 4, "b64": 8, "v2.b32": 8}


def outcome(way: str, body: str, block: tuple[int, ...] = (64,), **options: Any) -> Any:
    """What a kernel leaves, counts and finds, or the fault."""
    text = kernel(body, SHARED)
    try:
        out, report = run(way, text, threads=block, blocks=2, **options)
    except DeviceFault as fault:
        return str(fault)
    return out.tolist(), report.counters, sorted({(f.check, f.kind) for f in report.findings})


def some(kind: str, times: int, first: int, lanes: str, *, guard: bool = False) -> str:
    """Lanes that `lanes` sets %p2 for access elements `times` apart, lane 0 of the first warp the one at byte
    `first`; both warps the same, if they are far apart."""
    size = SIZES[kind]
    moved = MOVED[kind].format(size=size)
    if guard:
        moved = "".join(f"@%p2 {line.strip()};" for line in moved.split(";") if line.strip())
    return f"""{FILL} mov.u32 %r20, 7; {lanes} and.b32 %r17, %r1, 31; mul.lo.u32 %r18, %r17, {times * size};
    add.u32 %r19, %r12, %r18; add.u32 %r19, %r19, {first}; {"" if guard else "@!%p2 bra BEHIND;"}
    {moved} BEHIND: {EMPTY}"""


@pytest.mark.sweep(24)
@pytest.mark.parametrize(
    ("lanes", "guard"), [(EVEN, False), (DATA, False), ("setp.eq.u32 %p2, %r1, 5;", False), (DATA, True)]
)
@pytest.mark.parametrize("times", [2, 4, -1, 3])
@pytest.mark.parametrize("kind", MOVED)
def test_some_lanes_of_every_second_or_fourth_element(kind: str, times: int, lanes: str, guard: bool) -> None:
    body = some(kind, times, 512 if times < 0 else 24, lanes, guard=guard)
    for given in ({}, {"counters": True}, {"checks": ALL_CHECKS}):
        expected = outcome("step", body, **given)
        assert [outcome(way, body, **given) == expected for way in WAYS] == [True] * len(WAYS), given


@pytest.mark.sweep(16)
@pytest.mark.parametrize(
    ("times", "first", "active"),
    [
        (2, -8 * 31, "eq.u32 %p2, %r17, 31"),
        (4, -16 * 31, "eq.u32 %p2, %r17, 31"),
        (-1, 4 * WORDS + 120, "gt.u32 %p2, %r17, 30"),
        (2, 4 * WORDS - 8, "eq.u32 %p2, %r17, 0"),
        (4, 4 * WORDS - 16, "eq.u32 %p2, %r17, 0"),
        (-1, 0, "eq.u32 %p2, %r17, 0"),
        (2, -8 * 15, "gt.u32 %p2, %r17, 14"),
        (4, 4 * WORDS - 16 * 8, "lt.u32 %p2, %r17, 8"),
    ],
)
@pytest.mark.parametrize("beyond", [0, 1])
def test_where_inactive_lanes_would_be_outside(times: int, first: int, active: str, beyond: int) -> None:
    """Then they do not matter; one lane more, or its neighbour, and it is a fault."""
    lanes = f"and.b32 %r17, %r1, 31; setp.{active};"
    kind = "f32" if times < 0 else "b32"
    if beyond:
        lanes += "setp.ge.u32 %p3, %r17, 30; or.pred %p2, %p2, %p3; setp.le.u32 %p3, %r17, 1; or.pred %p2, %p2, %p3;"
    body = some(kind, times, first, lanes)
    expected = outcome("step", body)
    assert isinstance(expected, str) == bool(beyond)
    assert [outcome(way, body) for way in WAYS] == [expected] * len(WAYS)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("index", ["%r1", "%r2", "%r16"])
@pytest.mark.parametrize("first", [8, 4 * WORDS - 40, 4 * WORDS - 256, -100])
def test_registers_that_are_numbers_apart(space: str, index: str, first: int) -> None:
    """In a row, one for all lanes, and anywhere; and the fault where one of them is outside."""
    if space == "shared":
        at, add, base, move = "%r19", "add.s32 %r{0}, %r19, {1};", "%r{0}", "add.u32 %r19, %r12, %r18;"
    else:
        at, add, base = "%rd10", "add.s64 %rd1{0}, %rd10, {1};", "%rd1{0}"
        move = "cvt.s64.s32 %rd9, %r18; add.s64 %rd10, %rd2, %rd9;"
    body = f"""{FILL} xor.b32 %r16, %r1, 9; mul.lo.u32 %r16, %r16, 3; and.b32 %r16, %r16, 31; shl.b32 %r18, {index}, 2;
    add.s32 %r18, %r18, {first}; {move} {add.format(5, -8)} {add.format(6, 8)} {add.format(7, -8)}
    ld.{space}.u32 %r20, [{base.format(5)}]; ld.{space}.u32 %r21, [{base.format(6)}];
    ld.{space}.u32 %r22, [{at}+4]; mad.lo.u32 %r20, %r20, 3, %r21; mad.lo.u32 %r20, %r20, 3, %r22;
    {"bar.sync 0; st.shared.u32 [" + base.format(7) + "+4], %r1;" if space == "shared" else ""} {EMPTY}"""
    given = {"x": np.arange(WORDS, dtype=np.uint32) * 7} if space == "global" else {}
    for options in ({}, {"counters": True}, {"checks": ("memcheck", "initcheck")}):
        expected = outcome("step", body, **given, **options)
        assert [outcome(way, body, **given, **options) for way in WAYS] == [expected] * len(WAYS), options


ORDERS = {
    "xor 1": "xor.b32 %r17, %r1, 1;",
    "xor 21": "xor.b32 %r17, %r1, 21;",
    "xor 40": "xor.b32 %r17, %r1, 40;",
    "backwards": "not.b32 %r17, %r1; and.b32 %r17, %r17, 63;",
    "xor all": "xor.b32 %r17, %r1, -1; add.u32 %r17, %r17, 64;",
    "of a register": "ld.global.u32 %r18, [%rd2]; xor.b32 %r17, %r1, %r18;",
    "high bits of a register": "ld.global.u32 %r18, [%rd2]; shl.b32 %r18, %r18, 5; xor.b32 %r17, %r18, %r1;",
    "bytes": "shl.b32 %r17, %r1, 2; xor.b32 %r17, %r17, 20; shr.u32 %r17, %r17, 2;",
    "twice": "xor.b32 %r17, %r1, 6; xor.b32 %r17, %r17, 35;",
    "and then its bits": "xor.b32 %r17, %r1, 3; and.b32 %r18, %r17, 12; xor.b32 %r17, %r17, %r18;",
    "of a product": "mul.lo.u32 %r17, %r1, 3; xor.b32 %r17, %r17, 9; and.b32 %r17, %r17, 63;",
}


@pytest.mark.sweep(24)
@pytest.mark.parametrize("block", [(64,), (16, 4)])
@pytest.mark.parametrize("kind", ["b32", "b64", "v2.b32"])
@pytest.mark.parametrize("order", ORDERS)
def test_lanes_that_take_a_row_in_another_order(order: str, kind: str, block: tuple[int, ...]) -> None:
    """All of them, and some: each loads, stores, and compares where it is with where it goes."""
    size = SIZES[kind]
    moved = MOVED[kind].format(size=size).replace(f"+{size}", "+256")
    tid = "" if len(block) == 1 else "mov.u32 %r16, %tid.y; shl.b32 %r16, %r16, 4; add.u32 %r1, %r1, %r16;"
    place = "mov.u32 %r16, 64; mad.lo.u32 %r4, %r2, %r16, %r1; mul.wide.u32 %rd4, %r4, 4; add.u64 %rd3, %rd1, %rd4;"
    body = f"""{tid} {place} {FILL} mov.u32 %r20, 7; {ORDERS[order]} mul.lo.u32 %r18, %r17, {size};
    add.u32 %r19, %r12, %r18; ld.shared.u32 %r21, [%r19]; st.shared.u32 [%r19], %r1; bar.sync 0;
    setp.gt.s32 %p2, %r17, %r1; @!%p2 bra BEHIND;
    {moved} BEHIND: mad.lo.u32 %r20, %r20, 31, %r21; mad.lo.u32 %r20, %r20, 31, %r17; {EMPTY}"""
    for given in ({}, {"counters": True}, {"checks": ALL_CHECKS}):
        x = np.full(4, 9 if order == "of a register" else 1, np.uint32)
        expected = outcome("step", body, block=block, x=x, **given)
        assert [outcome(way, body, block=block, x=x, **given) == expected for way in WAYS] == [True] * len(WAYS), given


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("first", "inside"), [(0, True), (4 * WORDS - 128, True), (4 * WORDS - 64, False), (-64, False)]
)
def test_a_row_in_another_order_of_which_some_lanes_are_outside(first: int, inside: bool) -> None:
    """Those that are active are inside, or are not."""
    for active in ("lt", "ge"):
        body = f"""{FILL} mov.u32 %r20, 7; and.b32 %r16, %r1, 31; xor.b32 %r17, %r16, 3; shl.b32 %r18, %r17, 2;
        add.u32 %r19, %r12, %r18; add.u32 %r19, %r19, {first}; setp.{active}.u32 %p2, %r16, 16; @!%p2 bra BEHIND;
        ld.shared.u32 %r20, [%r19]; st.shared.u32 [%r19], %r16; BEHIND: {EMPTY}"""
        expected = outcome("step", body)
        assert isinstance(expected, str) == (not inside and (active == "lt") == (first < 0))
        assert [outcome(way, body) for way in WAYS] == [expected] * len(WAYS)

"""Tiles at the border of an array, of which lanes exit in most warps: what is asked of all warps, and under masks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, WAYS, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("optimized" not in WAYS, reason="needs llvmlite")
TILES = (
    ((16, 8), (3, 4)),
    ((32, 4), (2, 5)),
    ((8, 8), (5, 3)),
    ((4, 16), (6, 2)),
    ((64, 3), (2, 3)),
    ((16, 10), (3, 3)),
)
SOLIDS = (((8, 8, 2), (3, 2, 3)), ((16, 4, 2), (2, 3, 2)), ((32, 2, 3), (2, 2, 2)), ((4, 4, 6), (3, 4, 2)))
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
PLACES = """
    mov.u32 %r5, %ctaid.y; mov.u32 %r6, %ntid.y; mov.u32 %r7, %tid.y; mad.lo.u32 %r5, %r5, %r6, %r7;
    mov.u32 %r6, %ctaid.z; mov.u32 %r7, %ntid.z; mov.u32 %r8, %tid.z; mad.lo.u32 %r6, %r6, %r7, %r8;
    mad.lo.s32 %r7, %r6, {deep}, %r5; mad.lo.s32 %r7, %r7, {wide}, %r4;
    mul.wide.s32 %rd6, %r7, {size}; add.s64 %rd7, %rd6, %rd2; add.s64 %rd8, %rd6, %rd1;
    cvt.u32.u64 %r20, %rd6; mov.u32 %r10, %r7;"""
"""%r4, %r5, %r6: along x, y and z; %rd7 and %rd8: the element of each array."""


def program(draw: random.Random, blocks: tuple[int, ...], grid: tuple[int, ...]) -> tuple[str, int, np.ndarray]:
    """A stencil with a guard that may be one off; how many bytes an element has, and the array that it reads."""
    kind = draw.choice(("u8", "u16", "u32", "u32", "u64"))
    shape = [a * b for a, b in zip(blocks, grid, strict=True)] + [1] * (3 - len(blocks))
    wide, deep, size = shape[0], shape[1], SIZES[kind]
    reach = draw.choice((0, 1, 1, 2))
    sides, lines = [], [PLACES.format(deep=deep, wide=wide, size=size)]
    for axis, register in enumerate(("%r4", "%r5", "%r6")[: len(blocks)]):
        sides += [f"setp.lt.s32 %p2, {register}, {reach - draw.choice((0, 0, 0, 1))};"]
        sides += [f"setp.ge.s32 %p2, {register}, {shape[axis] - reach + draw.choice((0, 0, 0, 1))};"]
    if draw.random() < 0.3:
        sides.append("add.u32 %r8, %r4, %r5; and.b32 %r8, %r8, 1; setp.eq.u32 %p2, %r8, 1;")
    draw.shuffle(sides)
    parts = draw.choice((1, 1, 2))
    for part in range(parts):
        some = sides[part * len(sides) // parts : (part + 1) * len(sides) // parts]
        lines += [some[0].replace("%p2", "%p1"), *(f"{side} or.pred %p1, %p1, %p2;" for side in some[1:])]
        lines.append("@%p1 bra END;")
    away = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (0, 0, 0), (1, 1, 0), (-1, -1, 0)]
    away = [step for step in away if len(blocks) > 2 or not step[2]]
    kept, into = ("%rd10", "%rd11") if kind == "u64" else ("%r10", "%r11")
    whole = "u64" if kind == "u64" else "u32"
    lines.append(f"mov.{whole.replace('u', 'b')} {kept}, 7;")
    for dx, dy, dz in draw.sample(away, draw.randint(1, 4)):
        offset = size * (reach * dx + reach * dy * wide + reach * dz * wide * deep)
        lines.append(f"ld.global.{kind} {into}, [%rd7+{offset}]; mad.lo.{whole} {kept}, {kept}, 5, {into};")
    lines.append(f"st.global.{kind} [%rd8], {kept}; END:")
    count = int(np.prod(shape))
    return "\n".join(lines), size, np.random.default_rng(1).integers(0, 250, count * size).astype(np.uint8)


def outcome(way: str, block: tuple[int, ...], grid: tuple[int, ...], seed: int, **options: Any) -> tuple[Any, ...]:
    """What a launch leaves and what has run, or its fault."""
    body, _, x = program(random.Random(seed), block, grid)
    text = kernel(body)
    try:
        out, report = run(way, text, threads=block, blocks=grid, x=x, out=np.zeros_like(x), **options)
    except DeviceFault as fault:
        return (str(fault),)
    found = [str(each) for each in report.findings]
    counted = report.counters if options.get("counters") else None
    return out.tolist(), report.lines, report.warp_instructions, report.thread_instructions, found, counted


@pytest.mark.sweep(24)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("shapes", [TILES, SOLIDS])
def test_both_engines_agree(shapes: Any, seed: int) -> None:
    block, grid = random.Random(seed).choice(shapes)
    assert outcome("optimized", block, grid, seed) == outcome("step", block, grid, seed), (block, grid)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("options", [{"counters": True}, {"checks": ALL_CHECKS}, {"workers": 2}])
@pytest.mark.parametrize("seed", range(100, 106))
def test_with_counters_and_checks(options: dict[str, Any], seed: int) -> None:
    block, grid = random.Random(seed).choice(TILES + SOLIDS)
    expected = outcome("step", block, grid, seed, **options)
    assert outcome("optimized", block, grid, seed, **options) == expected, (block, grid)


def test_the_programs_fault_at_times() -> None:
    ends = [outcome("step", *TILES[seed % len(TILES)], seed) for seed in range(40)]
    assert 5 < sum(len(end) == 1 for end in ends) < 30

"""Loads of neighbouring elements by lanes that are not in a row: which are made together, and that nobody notices."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, ENGINES, WAYS, improve, kernel, run

from ptxlab.errors import DeviceFault

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
SHARED = ".shared .align 16 .b8 tile[2048];"


def random_body(seed: int) -> str:
    """Lanes walk through `x` or `tile`, each along a row of its own or elsewhere, and now and then write there."""
    rng = random.Random(seed)
    stride = rng.choice((4, 8, 12, 16, 20, 40))
    lines = [
        f"""
        shl.b32 %r20, %r1, 2; mov.u32 %r21, tile; add.u32 %r22, %r21, %r20; st.shared.u32 [%r22], %r4;
        st.shared.u32 [%r22+512], %r20; st.shared.u32 [%r22+1024], %r1; st.shared.u32 [%r22+1536], %r3; bar.sync 0;
        xor.b32 %r23, %r1, {rng.choice((0, 1, 5, 32))}; mul.lo.u32 %r24, %r23, {stride}; rem.u32 %r24, %r24, 1920;
        and.b32 %r24, %r24, -8; add.u32 %r25, %r21, %r24; cvt.u64.u32 %rd10, %r24; add.u64 %rd11, %rd2, %rd10;
        mov.u32 %r30, 0; mov.u32 %r16, 0; mov.u64 %rd16, 1; setp.lt.u32 %p1, %r1, {rng.choice((0, 3, 20, 33, 50))};"""
    ]
    if rng.random() < 0.6:
        lines.append("@%p1 bra BEHIND;")
    for _ in range(rng.randint(4, 12)):
        space, at = rng.choice((("global", "%rd11"), ("shared", "%r25")))
        wide = rng.random() < 0.3
        kind, r, size = ("u64", "%rd16", 8) if wide else ("u32", "%r16", 4)
        offset = rng.randrange(0, 6) * size
        choice = rng.random()
        if choice < 0.7:
            lines.append(f"ld.{space}.{kind} {r}, [{at}+{offset}];")
        elif choice < 0.85:
            lines.append(f"ld.{space}.v2.u32 {{%r16, %r17}}, [{at}+{offset * 2 % 48}]; xor.b32 %r16, %r16, %r17;")
        elif rng.random() < 0.5:
            lines.append(f"st.{space}.u32 [{at}+{offset}], %r30;")
        if wide:
            lines.append("cvt.u32.u64 %r16, %rd16;")
        lines.append("mad.lo.u32 %r30, %r30, 33, %r16;")
    lines.append("BEHIND: st.global.u32 [%rd3], %r30;")
    return "\n".join(lines)


def outcome(way: str, seed: int) -> tuple[Any, ...]:
    """What a random program leaves, and what its checks and counters say."""
    text, threads = kernel(random_body(seed), SHARED), 96 if seed % 3 else 50
    checks = ALL_CHECKS if seed % 4 == 0 else ("memcheck",)
    if way == "good":
        improve(text, (threads,), seed % 2 == 0, checks)
    out, report = run(
        "step" if way == "step" else "jit",
        text,
        threads=threads,
        x=np.arange(512, dtype=np.uint32) * 7,
        counters=seed % 2 == 0,
        checks=checks,
    )
    return out.tolist(), report.counters, sorted({(f.check, f.kind) for f in report.findings})


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "end"), [(0, 3), *(pytest.param(*given, marks=pytest.mark.rest) for given in ((3, 8), (8, 16), (16, 32)))]
)
def test_random_programs_with_loads_of_neighbours(first: int, end: int) -> None:
    for seed in range(first, end):
        expected = outcome("step", seed)
        assert [outcome(way, seed) == expected for way in WAYS] == [True] * len(WAYS), seed


@pytest.mark.sweep(2)
@pytest.mark.parametrize("active", [32, 17, 9, 1])
def test_lanes_with_a_row_each(active: int) -> None:
    """Each active lane has four neighbours, and a pair at the end of what there is."""
    text = kernel(f"""
        mul.lo.u32 %r20, %r1, 40; cvt.u64.u32 %rd10, %r20; add.u64 %rd11, %rd2, %rd10;
        setp.ge.u32 %p1, %r1, {active}; @%p1 bra END;
        ld.global.u32 %r10, [%rd11]; ld.global.u32 %r11, [%rd11+4];
        ld.global.u32 %r12, [%rd11+8]; ld.global.u32 %r13, [%rd11+12];
        ld.global.v2.u32 {{%r14, %r15}}, [%rd11+24];
        mad.lo.u32 %r10, %r10, 3, %r11; mad.lo.u32 %r10, %r10, 3, %r12; mad.lo.u32 %r10, %r10, 3, %r13;
        mad.lo.u32 %r10, %r10, 3, %r14; mad.lo.u32 %r10, %r10, 3, %r15;
        END: st.global.u32 [%rd3], %r10;""")
    improve(text, (32,), False, ("memcheck",))
    x = np.arange(10 * active, dtype=np.uint32) ** 2
    out, _ = run("jit", text, x=x)
    rows = x.reshape(-1, 10)[:, [0, 1, 2, 3, 6, 7]] @ 3 ** np.arange(6)[::-1]
    assert out[:active].tolist() == (rows % 2**32).tolist()
    with pytest.raises(DeviceFault, match="memcheck: load of 8 bytes"):
        run("jit", text, x=x[:-3])

"""racecheck on atomic operations at one address or on a row: the findings, and the values that they leave."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS, WAYS, kernel, run

from ptxlab.errors import DeviceFault

COMPILED = [way for way in WAYS if way != "step"]

SETUP = "and.b32 %r20, %r1, 31; mul.wide.u32 %rd20, %r20, 4; add.u64 %rd20, %rd1, %rd20;"
"""%rd20: the lane's word of `out`."""
PROGRAMS = {
    "rows": "red.global.add.u32 [%rd20], %r1;",
    "rows in a loop": "mov.u32 %r21, 0; L: red.global.add.u32 [%rd20], %r1; add.u32 %r21, %r21, 1;"
    " setp.lt.u32 %p1, %r21, 5; @%p1 bra L;",
    "rows of floats": "cvt.rn.f32.u32 %f1, %r1; red.global.add.f32 [%rd20], %f1;",
    "rows by two instructions": "red.global.add.u32 [%rd20], %r1; red.global.or.b32 [%rd20+32], %r1;",
    "rows of the block's scope": "red.global.cta.add.u32 [%rd20], %r1;",
    "rows after a store": "st.global.u32 [%rd20], %r2; red.global.add.u32 [%rd20], %r1;",
    "rows before a store": "red.global.add.u32 [%rd20], %r1; st.global.u32 [%rd20+4], %r2;",
    "rows, then a load": "red.global.add.u32 [%rd20], %r1; ld.global.u32 %r6, [%rd20+8];",
    "a load, then rows": "ld.global.u32 %r6, [%rd20+8]; red.global.add.u32 [%rd20], %r1;",
    "rows, a barrier, a load": "red.global.add.u32 [%rd20], %r1; bar.sync 0; ld.global.u32 %r6, [%rd20+8];",
    "rows of pairs": "and.b64 %rd21, %rd20, -8; red.global.add.u64 [%rd21], %rd20;",
    "one place": "red.global.add.u32 [%rd1+12], %r1;",
    "one place by some lanes": "setp.lt.u32 %p1, %r1, 40; @%p1 red.global.add.u32 [%rd1+12], %r1;",
    "one place, and a store": "red.global.add.u32 [%rd1+12], %r1; st.global.u32 [%rd20], %r2;",
    "one place of the block's scope": "red.global.cta.max.u32 [%rd1+12], %r1;",
    "one place, old values": "atom.global.add.u32 %r6, [%rd1+12], 1; st.global.u32 [%rd20], %r6;",
    "one place and fences": "membar.gl; red.global.add.u32 [%rd1+12], 1; ld.global.u32 %r6, [%rd20];",
    "past the end": "red.global.add.u32 [%rd20+8], %r1; mul.wide.u32 %rd21, %r2, 4096;"
    " add.u64 %rd21, %rd1, %rd21; red.global.add.u32 [%rd21], 1;",
}


@pytest.mark.sweep(7)
@pytest.mark.parametrize("checks", [ALL_CHECKS, ("memcheck", "racecheck")], ids=["all", "racecheck"])
@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("name", PROGRAMS)
def test_findings_and_values(name: str, way: str, checks: tuple[str, ...]) -> None:
    """What the checks find, and what the operations leave in memory."""
    text = kernel(f"{SETUP} {PROGRAMS[name]}".replace("; ", ";\n"))  # so that findings name different lines
    assert _ended(way, text, checks) == _ended("step", text, checks)


def _ended(way: str, text: str, checks: tuple[str, ...]) -> tuple[list[str], list[int]]:
    out = np.zeros(256, np.uint32)
    try:
        values, report = run(way, text, threads=96, blocks=3, out=out, checks=checks)
    except DeviceFault as fault:
        return [str(fault), *map(str, fault.findings)], []
    return [str(finding) for finding in report.findings], values.tolist()

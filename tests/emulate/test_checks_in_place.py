"""racecheck of kernels that change words in place, most of them rightly, in both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, run
from random_in_place import differences
from slow_cases import slow

CHECKS = ("memcheck", "racecheck")
pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite")


@pytest.mark.long
@pytest.mark.parametrize(
    "first", [0, pytest.param(10, marks=pytest.mark.rest), *slow((500, 1010, 7001, *range(20, 200, 10)))]
)
def test_random_changes_in_place(first: int) -> None:
    assert differences(first, 10) == []


NEXT = """
    ld.global.u32 %r5, [%rd3];
    add.u32 %r5, %r5, 1;
    st.global.u32 [%rd3], %r5;
    BETWEEN
    setp.ge.u32 %p1, %r1, 63;
    @%p1 bra END;
    ld.global.u32 %r6, [%rd3+4];
    st.global.u32 [%rd3], %r6;
END:
"""
"""Each thread adds to its own word, and reads that of the next one."""


@pytest.mark.parametrize("between", ["", "bar.sync 0;"])
def test_what_a_launch_has_written_is_put_back_before_it_begins_again(between: str) -> None:
    text = kernel(NEXT.replace("BETWEEN", between))
    ways = []
    for engine in ENGINES:
        out, report = run(engine, text, threads=64, blocks=2, out=np.arange(128, dtype=np.uint32), checks=CHECKS)
        ways.append((sorted(out.tolist()), [str(finding) for finding in report.findings], report.warp_instructions))
    assert ways[0] == ways[1]
    assert min(ways[0][0]) >= 1
    assert max(ways[0][0]) <= 128, "nothing is added twice"
    assert any("racecheck" in said for said in ways[0][1])

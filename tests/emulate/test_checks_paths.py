"""Findings do not depend on an engine's path for an access or a `.sync` instruction: generic addresses, lanes that
arrive at different instructions, lanes that exit while others wait."""

from __future__ import annotations

import pytest
from emulate_programs import kernel, run

TILE = ".shared .align 16 .b8 tile[4096];"
COPY = """
    mul.wide.u32 %rd5, %r1, 4; add.u64 %rd6, %rd2, %rd5; mov.u32 %r10, tile;
    mad.lo.u32 %r10, %r1, 4, %r10;
    cp.async.ca.shared.global [%r10], [%rd6], 4;
"""
WAIT = "    cp.async.wait_all;\n    bar.warp.sync -1;\n"
GENERIC = """
    mov.u64 %rd7, tile; cvta.shared.u64 %rd7, %rd7; add.u64 %rd8, %rd7, %rd5;
    setp.lt.u32 %p1, %r1, 16; mul.wide.u32 %rd9, %r1, 60; and.b64 %rd9, %rd9, 124;
    add.u64 %rd9, %rd7, %rd9;
"""
ACCESSES = {
    "one place": "ld.u32 %r6, [%rd7];",
    "in a row": "ld.u32 %r6, [%rd8];",
    "anywhere": "ld.u32 %r6, [%rd9];",
    "two spaces": "selp.b64 %rd8, %rd8, %rd3, %p1;\n    ld.u32 %r6, [%rd8];",
    "a store": "st.u32 [%rd8], %r1;",
    "as in code for a debugger": "ld.u32 %r6, [%rd3];\n    " * 160 + "ld.u32 %r6, [%rd8];",
}


def _kinds(engine: str, body: str) -> list[str]:
    _, report = run(engine, kernel(body, TILE), checks=("memcheck", "synccheck"))
    return [finding.kind for finding in report.findings]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("access", ACCESSES)
def test_a_generic_access_to_what_is_being_copied(access: str, engine: str) -> None:
    assert _kinds(engine, COPY + GENERIC + ACCESSES[access]) == ["asynchronous copy"]
    assert _kinds(engine, COPY + WAIT + GENERIC + ACCESSES[access]) == []


EXCHANGES = {
    "shfl": "shfl.sync.idx.b32 %r6, %r1, 0, 31, MASK;",
    "vote": "vote.sync.ballot.b32 %r6, %p1, MASK;",
    "redux": "redux.sync.add.u32 %r6, %r1, MASK;",
    "bar.warp": "bar.warp.sync MASK;",
}
EXITED = """
    setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    exit;
LOW:
    LINE
    st.global.u32 [%rd3], %r6;
"""
LATER = """
    setp.lt.u32 %p1, %r1, 16; @!%p1 bra END;
    LINE
    st.global.u32 [%rd3], %r6;
END:
    mov.u32 %r7, 0;
"""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", [EXITED, LATER], ids=["before", "while the others wait"])
@pytest.mark.parametrize("name", EXCHANGES)
def test_a_mask_names_lanes_that_leave(name: str, shape: str, engine: str) -> None:
    right, wrong = (shape.replace("LINE", EXCHANGES[name]).replace("MASK", m) for m in ("0xffff", "0xffffffff"))
    assert _kinds(engine, wrong) == ["mask names exited lane"]
    assert _kinds(engine, right) == []


def test_a_shuffle_from_a_lane_that_leaves_while_the_others_wait(engine: str) -> None:
    body = LATER.replace("LINE", "shfl.sync.idx.b32 %r6, %r1, 20, 31, 0xffffffff;")
    assert sorted(_kinds(engine, body)) == ["mask names exited lane", "shuffle source"]


def test_lanes_that_synchronize_at_two_instructions_are_each_checked(engine: str) -> None:
    body = """
    setp.lt.u32 %p1, %r1, 16; @!%p1 bra HIGH;
    shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0xffffffff;
    bra END;
HIGH:
    shfl.sync.bfly.b32 %r6, %r1, 16, 31, 0xffffffff;
END:
    st.global.u32 [%rd3], %r6;
"""
    assert _kinds(engine, body) == []

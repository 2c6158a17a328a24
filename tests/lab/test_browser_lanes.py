"""The debugger's card "Between lanes": shuffles, fragments, votes and reductions are drawn as the machine made them."""

from __future__ import annotations

from typing import Any

import accessibility
import numpy as np
import pytest
from debugger_page import EXCHANGE, SHUFFLES, rows_of, run_to

import ptxlab as pl
from ptxlab.emulate.rules.lane_masks import MODES, shuffle_source
from ptxlab.isa import fragments

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]


def test_shuffles_come_from_the_lanes_that_the_machine_reads(parts: Any) -> None:
    rng = np.random.default_rng(8)
    cases = [
        (
            str(rng.choice(["up", "down", "bfly", "idx"])),
            rng.integers(0, 64, 32).tolist(),
            int(rng.choice([31, 0, 15, 0x181F, 0x1C1F, 0x1800, 0x1003])),
        )
        for _ in range(200)
    ]
    shown = parts(
        "(cases) => cases.map(([mode, by, clamp]) => shuffleSources(mode, by, new Array(32).fill(clamp)))", cases
    )
    for (mode, by, clamp), found in zip(cases, shown, strict=True):
        sources, legal, _ = shuffle_source(MODES[mode], np.array(by, np.uint32), np.full(32, clamp, np.uint32))
        for lane in range(32):
            source = int(sources[lane]) & 31 if legal[lane] else lane
            assert found[lane] == {"source": source, "legal": bool(legal[lane])}, (mode, lane, clamp)


def test_a_shuffle_is_drawn_as_arrows(viewer: Any) -> None:
    page = viewer(pl.debug(SHUFFLES, 1, 32, np.zeros(1)))
    run_to(page, "shfl.sync.down")
    assert page.locator(f"{EXCHANGE} .pl-arrow").count() == 32
    assert page.locator(f"{EXCHANGE} .pl-outside").count() == 4
    assert page.inner_text(f"{EXCHANGE} .pl-readout") == (
        "Each lane gets %t of the lane 4 above its own. Lane 0 gets lane 4's. "
        "4 lanes reach beyond the last legal lane and keep their own (dashed)."
    )
    heads, rows = rows_of(page, EXCHANGE)
    assert heads == ["lane", "gets from lane", "in range", "gave", "has got"]
    assert rows[27] == ["27", "31", "yes", "27", "31"]
    assert rows[28] == ["28", "28", "no", "28", "28"]
    assert accessibility.violations(page, ".ptxlab-debugger") == []
    run_to(page, "shfl.sync.idx")
    assert page.inner_text(f"{EXCHANGE} .pl-readout").startswith("Each lane gets %t of a lane of its own choice.")
    assert [row[1] for row in rows_of(page, EXCHANGE)[1]] == [str((lane & 24) + lane % 2) for lane in range(32)]


def test_a_guard_shows_who_takes_part(viewer: Any) -> None:
    page = viewer(pl.debug(SHUFFLES, 1, 32, np.zeros(1)))
    run_to(page, "mul.lo")
    assert page.inner_text("section[aria-label=Registers] .pl-note") == (
        "32 of 32 lanes active, 0xffffffff; the guard holds in 16"
    )
    lanes = page.eval_on_selector_all(".pl-registers tbody th", "all => all.map(e => e.ariaLabel)")
    assert lanes[:2] == ["lane 0, here, but its guard is false", "lane 1, active"]


@pytest.mark.rest
def test_fragments_hold_the_product(viewer: Any) -> None:
    """What the page says that lanes hold of A, B, C and D is a matrix product."""
    page = viewer(pl.debug("mma", seq_len=32, head_dim=16))
    assert ": mma.sync.aligned.m16n8k16" in run_to(page, "mma.sync")
    heads, rows = rows_of(page, EXCHANGE)
    matrices: dict[str, dict[tuple[int, int], float]] = {name: {} for name in "DABC"}
    for row in rows:
        for head, cell in zip(heads[1:], row[1:], strict=True):
            for item in cell.split(", "):
                place, value = item.split(" = ")
                i, j = place[1:-1].split("][")
                matrices[head[0]][int(i), int(j)] = float(value)
    d, a, b, c = (
        np.array([[m[i, j] for j in range(n)] for i in range(16)])
        for m, n in zip((matrices[x] for x in "DABC"), (8, 16, 8, 8), strict=True)
    )
    np.testing.assert_allclose(d, a @ b + c, rtol=1e-3, atol=2e-4)
    layout = fragments.operand_a(16, 16, "f16")
    cells = page.eval_on_selector_all(
        f"{EXCHANGE} figure:nth-of-type(2) .pl-cell text", "all => all.map(e => Number(e.textContent))"
    )
    assert sorted(cells) == sorted(int(layout.first[i, j]) % 32 for i in range(16) for j in range(16))
    assert accessibility.violations(page, ".ptxlab-debugger") == []
    page.select_option(f"{EXCHANGE} select", "5")
    assert page.locator(f"{EXCHANGE} figure:nth-of-type(2) .pl-mine").count() == 8
    assert page.inner_text(f"{EXCHANGE} .pl-readout").startswith("Lane 5 holds D[1][2] = ")


@pytest.mark.rest
def test_the_matrices_of_a_load(viewer: Any) -> None:
    page = viewer(pl.debug("mma", seq_len=32, head_dim=16))
    assert ": ldmatrix" in run_to(page, "ldmatrix.")
    assert page.inner_text(f"{EXCHANGE} figcaption") == "D 4 matrices of 8×8 of f16, 4 registers per lane"
    assert page.locator(f"{EXCHANGE} .pl-cell").count() == 256
    page.click(f"{EXCHANGE} button:has-text('register')")
    texts = page.eval_on_selector_all(f"{EXCHANGE} .pl-cell text", "all => all.map(e => e.textContent)")
    assert {name: texts.count(name) for name in set(texts)} == {f"r{k}": 64 for k in range(4)}
    page = viewer(pl.debug("wmma", seq_len=16, head_dim=16))
    run_to(page, "wmma.mma")
    assert "here they have that of mma.sync" in page.inner_text(f"{EXCHANGE} .pl-picture")


# -- votes, matches, reductions, elections -----------------------------------------------------------------------------

COLLECTIVES = """.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p, %q, %odd;
    .reg .b32 %t, %d, %m, %v, %low;
    .reg .s32 %s;
    .reg .f32 %f, %g;
    .reg .b64 %w, %x;
    mov.u32 %t, %tid.x;
    setp.lt.u32 %p, %t, 8;
    vote.sync.any.pred %q, %p, 0xFFFFFFFF;
    vote.sync.all.pred %q, !%p, 0xFFFFFFFF;
    vote.sync.uni.pred %q, %p, 0xFFFFFFFF;
    vote.sync.ballot.b32 %d, !%p, -1;
    and.b32 %v, %t, 3;
    match.any.sync.b32 %d, %v, 0xFFFFFFFF;
    cvt.u64.u32 %w, %t;
    mul.lo.u64 %w, %w, 6364136223846793005;
    shl.b64 %w, %w, 62;
    match.any.sync.b64 %d, %w, 0xFFFFFFFF;
    match.all.sync.b32 %d|%q, %v, 0xFFFFFFFF;
    mul.lo.s32 %s, %t, -37;
    redux.sync.add.s32 %d, %s, 0xFFFFFFFF;
    redux.sync.min.s32 %s, %s, 0xFFFFFFFF;
    redux.sync.xor.b32 %d, %t, 0xFFFFFFFF;
    cvt.rn.f32.u32 %f, %t;
    mul.f32 %f, %f, 0fBFC00000;
    redux.sync.max.abs.f32 %g, %f, 0xFFFFFFFF;
    and.b32 %low, %t, 1;
    setp.eq.u32 %odd, %low, 1;
    @%odd bra END;
    activemask.b32 %d;
    elect.sync %d|%q, 0x55555555;
    @%p redux.sync.max.u32 %d, %t, 0x55;
END:
    ret;
}
"""
"""Everything that lanes decide together: with all of them, in one branch, and behind a guard."""
SAYS = {
    "vote.sync.any": "Asks whether at least one lane says yes: of 32 lanes, 8 say yes by %p. %q becomes true.",
    "vote.sync.all": "Asks whether every lane says yes: of 32 lanes, 24 say yes by !%p. %q becomes false.",
    "vote.sync.uni": "Asks whether all lanes say the same: of 32 lanes, 8 say yes by %p. %q becomes false.",
    "vote.sync.ballot": "Each lane says yes or no by !%p: of 32 lanes, 24 say yes. %d holds the answers as bits, "
    "0xffffff00.",
    "match.any.sync.b32": "Lanes with the same %v find each other: 4 values among 32 lanes. Lane 0 holds 0, as 7 "
    "others do: %d becomes 0x11111111.",
    "match.any.sync.b64": "Lanes with the same %w find each other: 4 values among 32 lanes. Lane 0 holds 0, as 7 "
    "others do: %d becomes 0x11111111.",
    "match.all": "Asks whether all lanes hold the same %v: 4 values among 32 lanes. %d becomes 0x00000000, %q becomes "
    "false.",
    "redux.sync.add": "%d becomes the sum of %s over 32 lanes: -18352.",
    "redux.sync.min": "%s becomes the smallest of %s over 32 lanes: -1147.",
    "redux.sync.xor": "%d becomes the bitwise xor of %t over 32 lanes: 0x00000000.",
    "redux.sync.max.abs": "%g becomes the largest of the magnitudes of %f over 32 lanes: 46.5.",
    "activemask": "16 lanes are active: %d becomes 0x55555555.",
    "elect.sync": "One of 16 lanes is elected: %q is true in lane 0 alone.",
    "redux.sync.max.u32": "%d becomes the largest of %t over 4 lanes: 6.",
}
"""What the card says of lane 0."""


@pytest.mark.rest
def test_what_lanes_decide_together_is_told_and_tabled_from_the_trace(viewer: Any) -> None:
    debugger = pl.debug(COLLECTIVES, 1, 32, np.zeros(1))
    page, walker = viewer(debugger), debugger.recording.walk()
    moments = {m.opcode: m for m in (walker.moment(k) for k in range(len(walker)))}
    for opcode, says in SAYS.items():
        run_to(page, opcode)
        assert page.inner_text(f"{EXCHANGE} .pl-readout") == says
        moment = next(m for name, m in moments.items() if name.startswith(opcode))
        heads, rows = rows_of(page, EXCHANGE)
        lanes = [int(row[0]) for row in rows]
        here = np.flatnonzero(moment.mask).tolist()
        assert lanes == ([0, 2, 4, 6] if "max.u32" in opcode else here)
        for name, (_, after) in moment.writes.items():
            at, bits = heads.index(name), after.view(f"u{after.itemsize}")
            for row, lane in zip(rows, lanes, strict=True):
                shown = row[at].removeprefix("lane ")
                if shown in ("true", "false"):
                    assert (shown == "true") == bool(after[lane]), (opcode, lane)
                elif "." in shown:
                    assert float(shown) == after[lane], (opcode, lane)
                else:
                    assert int(shown, 0) & 0xFFFFFFFF == int(bits[lane]), (opcode, lane)


def test_a_trace_of_a_few_lines_shows_what_each_lane_gave(viewer: Any) -> None:
    """Nothing is known of the steps between those that were recorded, in which the operands were written."""
    lines = [n for n, line in enumerate(COLLECTIVES.splitlines(), 1) if "redux.sync.add" in line or "max.u32" in line]
    run = pl.launch(COLLECTIVES, 1, 32, np.zeros(1), trace=pl.Trace(lines=lines))
    page = viewer(pl.debug(run))
    assert page.inner_text(".pl-status") == f"step 1 of 2, line {lines[0]}: redux.sync.add.s32"
    heads, rows = rows_of(page, EXCHANGE)
    assert heads == ["lane", "decides with", "gave %s", "%d"]
    assert [(int(row[2]), int(row[3])) for row in rows] == [(-37 * lane, -18352) for lane in range(32)]
    page.click("button:has-text('Step')")
    assert page.inner_text(f"{EXCHANGE} .pl-readout") == "%d becomes the largest of %t over 4 lanes: 6."


def test_lanes_that_are_gone(viewer: Any) -> None:
    page = viewer(pl.debug(GONE, 1, 20, np.zeros(1), at="vote"))
    assert page.inner_text(f"{EXCHANGE} .pl-readout") == (
        "Asks whether all lanes say the same: of 4 lanes, 4 say yes by a constant. %p becomes true. "
        "The mask also names 28 lanes that are not active."
    )
    assert page.locator(f"{EXCHANGE} .pl-inactive").count() == 56
    page.click("button:has-text('Step')")
    assert page.inner_text(f"{EXCHANGE} .pl-readout") == (
        "Lanes with the same constant find each other: 1 value among 4 lanes. Lane 0 holds 7, as 3 others do: "
        "%d becomes 0x0000000f."
    )
    page.click("button:has-text('Step')")
    assert page.inner_text(f"{EXCHANGE} .pl-readout") == "%d becomes the smallest of a constant over 4 lanes: -7."


GONE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %t, %d;
    mov.u32 %t, %tid.x;
    setp.ge.u32 %p, %t, 4;
    @%p ret;
    vote.sync.uni.pred %p, 1, 0xFFFFFFFF;
    match.any.sync.b32 %d, 7, 15;
    redux.sync.min.s32 %d, -7, 15;
    ret;
}
"""
"""Twenty lanes, of which four stay; constants in the place of registers."""

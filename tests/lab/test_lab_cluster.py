"""A cluster in the debugger: the shared memory of its blocks side by side, what passes between them, either stepped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulate_programs import DEVICES

import ptxlab as pl

PAIR = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry pair(.param .u64 out)
.reqnctapercluster 2, 1, 1
{
    .reg .b64 %rd<8>;
    .reg .b32 %r<12>;
    .shared .align 16 .b32 mine[32];
    .shared .align 16 .b32 sent[32];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, mine;
    mad.lo.u32 %r4, %r1, 4, %r3;
    mad.lo.u32 %r5, %r2, 100, %r1;
    st.shared.u32 [%r4], %r5;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    xor.b32 %r6, %r2, 1;
    mapa.shared::cluster.u32 %r7, %r4, %r6;
    ld.shared::cluster.u32 %r8, [%r7];
    add.u32 %r9, %r8, %r5;
    mov.u32 %r10, sent;
    mad.lo.u32 %r10, %r1, 4, %r10;
    mapa.shared::cluster.u32 %r11, %r10, %r6;
    st.shared::cluster.u32 [%r11], %r9;
    barrier.cluster.arrive.release.aligned;
    barrier.cluster.wait.acquire.aligned;
    ld.shared.u32 %r9, [%r10];
    mad.lo.u32 %r5, %r2, 32, %r1;
    mad.wide.u32 %rd2, %r5, 4, %rd1;
    st.global.u32 [%rd2], %r9;
    ret;
}
"""
"""Each block adds its partner's numbers to its own, and stores the sums into its partner's shared memory."""


def opened(device: str) -> Any:
    """Both blocks, at the store to the other one."""
    out = np.zeros(64, np.uint32)
    found = pl.debug(PAIR, 2, 32, out, blocks=(0, 1), device=device, at="st.shared::cluster")
    assert (out == np.tile(100 + 2 * np.arange(32), 2)).all()
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_trace_has_of_a_cluster(device: str) -> None:
    recording = opened(device).recording
    assert recording.cluster == (2, 1, 1)
    for block in (0, 1):
        walker = recording.walk(block, 0)
        moments = [walker.moment(step) for step in range(len(walker))]
        remote = [
            (access.kind, int(access.address[0])) for m in moments for access in m.accesses if access.space == "cluster"
        ]
        place = (2 - block) * 0x80000  # of the other block's shared memory
        assert remote == [("load", place + 0x400), ("store", place + 0x480)]


@pytest.mark.browser
def test_side_by_side(chromium: Any, tmp_path: Path) -> None:
    opened("step").save(tmp_path / "pair.html")
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "pair.html").as_uri())
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    card = 'section[aria-label="Shared memory of the cluster"]'
    page.wait_for_selector(f"{card} figure >> nth=1")
    figures = f"{card} figure"
    said = "all => all.map((e) => e.getAttribute('aria-label'))"
    assert page.eval_on_selector_all(figures, said) == [
        "shared memory of block 0: 32 words written",
        "shared memory of block 1: 64 words written, 32 of them by other blocks",
    ]
    lines = PAIR.splitlines()
    load, store = (
        1 + next(k for k, line in enumerate(lines) if f"{op}.shared::cluster" in line) for op in ("ld", "st")
    )
    assert page.eval_on_selector_all(f"{card} .pl-remotes >> nth=0 >> li", "all => all.map((e) => e.textContent)") == [
        f"block 0, warp 0, line {load}: load of 32 × 4 bytes, shared memory of block 1, from 0x400 on",
        f"block 0, warp 0, line {store}: store of 32 × 4 bytes, shared memory of block 1, from 0x480 on",
    ]
    page.click(f"{card} button:has-text('step this one')")
    page.wait_for_selector('.ptxlab-debugger[data-ready="1:0"]')
    page.wait_for_selector(f"{card} b:has-text('block 1, rank 1')")
    page.click("button:has-text('▶|')")  # at the end of block 1 both have stored
    page.wait_for_function(
        "([figures]) => [...document.querySelectorAll(figures)].every((e) => /32 of them/.test(e.ariaLabel))",
        arg=[figures],
    )
    assert not errors
    page.close()

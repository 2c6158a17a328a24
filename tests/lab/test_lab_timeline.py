"""The timeline of a trace: copies, products and waits per warp, in the order of all warps' steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import DEVICES
from small_warpgroups import COMMIT, MULTIPLY, WAIT, program

import ptxlab as pl
from ptxlab.lab import counters_pane
from ptxlab.lab.timeline import timeline

RING = """
.version 8.6
.target sm_90a
.address_size 64
.visible .entry ring(.param .u64 x)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .pred %p<4>;
    .shared .align 128 .b8 tile[512];
    .shared .align 8 .b64 full;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @!%p1 mbarrier.init.shared.b64 [full], 1;
    bar.sync 0;
    setp.ne.u32 %p2, %r1, 32;
    @%p2 bra WAIT;
    mbarrier.arrive.expect_tx.shared.b64 %rd2, [full], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 512, [full];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [full], 0;
    @!%p3 bra WAIT;
    ret;
}
"""


def shown(text: str, threads: int, *args: Any, device: str) -> dict[str, Any]:
    found = timeline(pl.launch(text, 1, threads, *args, device=device, trace=pl.Trace()).trace)
    assert found is not None
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_copies_and_waits(device: str) -> None:
    """Warp 1 copies, both wait; tries that fail take no time."""
    found = shown(RING, 64, np.zeros(128, np.uint32), device=device)
    assert sum(time for *_, time in found["turns"]) == found["time"] < sum(turn[2] for turn in found["turns"]) + 1
    waiting, copying = ({span[0]: span for span in row["spans"]} for row in found["rows"])
    assert [row["warp"] for row in found["rows"]] == [0, 1]
    lines = RING.splitlines()
    at = 1 + next(k for k, line in enumerate(lines) if "cp.async.bulk" in line)
    assert copying["copy"][4] == f"copy of 512 bytes to shared memory, mbarrier 0x600, line {at}"
    assert waiting["wait"][4].startswith(f"waits for mbarrier 0x600, line {at + 2}: ")
    assert copying["copy"][1] < copying["copy"][2] <= found["time"]
    assert "copy" not in waiting


@pytest.mark.parametrize("device", DEVICES)
def test_products_in_flight(device: str) -> None:
    text = program(MULTIPLY + MULTIPLY + COMMIT + MULTIPLY + COMMIT + WAIT)
    found = shown(text, 128, np.zeros(128, np.float32), device=device)
    lines = [k for k, line in enumerate(text.splitlines(), 1) if "wgmma.mma_async" in line]
    for row in found["rows"]:
        groups = [span for span in row["spans"] if span[0] == "wgmma"]
        assert [span[4] for span in groups] == [
            f"group of 2 wgmma products in flight, from line {lines[0]}",
            f"group of 1 wgmma product in flight, from line {lines[2]}",
        ]
        assert groups[0][1] < groups[1][1] < groups[0][2] == groups[1][2]


@pytest.mark.parametrize("device", DEVICES)
def test_the_counters_pane_lists_the_bytes(device: str) -> None:
    run = pl.launch(RING, 1, 64, np.zeros(128, np.uint32), device=device, counters=True)
    rows = {row["name"]: (row["value"], row["origin"]) for row in counters_pane.work(run.counters)}
    assert rows["bytes read from global memory by bulk copies"] == (512, "counted")
    assert rows["bytes written to shared memory by bulk copies"] == (512, "counted")


def test_nothing_to_show() -> None:
    """No row without something asynchronous, none where steps are missing."""
    x = np.zeros(128, np.uint32)
    assert timeline(pl.launch(RING, 1, 64, x, device="step", trace=pl.Trace(start=5)).trace) is None
    plain = program("").replace("wgmma.fence.sync.aligned;", "")
    run = pl.launch(plain, 1, 128, np.zeros(128, np.float32), device="step", trace=pl.Trace())
    assert timeline(run.trace) is None
    assert run.trace.copies == []


@pytest.mark.browser
def test_descriptors_in_words(parts: Any) -> None:
    bits = 1 << 62 | 2 << 49 | (1024 >> 4) << 32 | (8192 >> 4) << 16 | 0x4800 >> 4
    says = "tile at 0x4800, 128-byte swizzle, leading byte offset 8192, stride byte offset 1024, base offset 2"
    assert parts("(bits) => descriptorSays(BigInt(bits))", str(bits)) == says
    line = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1}, %a, %b, %p, 1, 1, 0, 0;  // %c"
    known = (
        "(line) => descriptorsOf(line, (name) => ({ '%a': 0n, '%b': 3n << 62n, '%d0': 1n, '%c': 1n }[name] ?? null))"
    )
    assert parts(known, line) == [
        "%a: tile at 0x0, no swizzle, leading byte offset 0, stride byte offset 0",
        "%b: tile at 0x0, 32-byte swizzle, leading byte offset 0, stride byte offset 0",
    ]


@pytest.mark.browser
def test_the_page_draws_it(chromium: Any, tmp_path: Any) -> None:
    """A bar for each span; a click on one goes to its step."""
    shown = pl.debug(RING, 1, 64, np.zeros(128, np.uint32), device="step")
    shown.save(tmp_path / "ring.html")
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "ring.html").as_uri())
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    spans = [span for row in shown.info["timeline"]["rows"] for span in row["spans"]]
    assert page.locator(".pl-times rect").count() == len(spans)
    page.dispatch_event(".pl-span-copy", "click")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:1"]')
    (copy,) = (span for span in spans if span[0] == "copy")
    page.wait_for_selector(f'.ptxlab-debugger[data-step="{copy[3]}"]')
    assert "cp.async.bulk" in page.inner_text(".pl-status")
    assert not errors
    page.close()

"""The timeline of a trace: copies, products and waits per warp, in the order of all warps' steps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from emulate_programs import DEVICES
from small_warpgroups import COMMIT, MULTIPLY, WAIT, program

import ptxlab as pl
from ptxlab.lab import run_pane
from ptxlab.lab import timeline as timelines
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
    assert waiting["wait"][4].startswith(f"waits for phase 0 of mbarrier 0x600, line {at + 2}: ")
    says = f"phase 0 ends with the bytes of a copy that warp 1, line {at} has started"
    assert found["phases"] == {"0:0x600": [[copying["copy"][2], 0, says]]}
    assert found["names"] == {"0:0x600": "full 0x600"}
    assert copying["copy"][5:] == [at, "0:0x600", 512]
    assert waiting["wait"][5:] == [at + 2, "0:0x600", 0]
    assert found["roles"] == [[0, 0, 1]]  # both wait at one line
    assert copying["copy"][1] < copying["copy"][2] <= found["time"]
    assert "copy" not in waiting


@pytest.mark.parametrize("device", DEVICES)
def test_products_in_flight(device: str) -> None:
    text = program(MULTIPLY + MULTIPLY + COMMIT + MULTIPLY + COMMIT + WAIT)
    found = shown(text, 128, np.zeros(128, np.float32), device=device)
    lines = [k for k, line in enumerate(text.splitlines(), 1) if "wgmma.mma_async" in line]
    assert found["roles"] == [[0, 0, 3]]
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
    rows = {row["name"]: (row["value"], row["origin"]) for row in run_pane.work(run.counters)}
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
@pytest.mark.rest
def test_the_page_draws_it(chromium: Any, tmp_path: Any) -> None:
    """A bar for each span; a click on one goes to its step."""
    shown = pl.debug(RING, 1, 64, np.zeros(128, np.uint32), device="step")
    copy = f"<!doctype html><body>{shown.static_html()}</body>"  # what a notebook keeps
    (tmp_path / "ring.html").write_text(copy, encoding="utf-8")
    assert "copy of 512 bytes to shared memory, mbarrier 0x600" in copy
    page = chromium.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((tmp_path / "ring.html").as_uri())
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    spans = [span for row in shown.info["timeline"]["rows"] for span in row["spans"]]
    assert page.locator(".pl-times rect").count() == sum(1 + bool(span[6]) for span in spans)
    page.click("button:has-text('Warps')")
    names = page.eval_on_selector_all(".pl-times .pl-tick-name", "all => all.map((e) => e.textContent)")
    assert names == ["block 0, warp 0", "block 0, warp 1", "full 0x600"]
    page.click('section[aria-label="Timeline"] button:has-text("Table")')
    cells = 'section[aria-label="Timeline"] table >> nth=0 >> tbody'
    steps = len(shown.recording.walk(0, 0)) + len(shown.recording.walk(0, 1))
    assert page.inner_text(cells) == f"block 0, warps 0–1\t{steps}"
    page.click('section[aria-label="Timeline"] button:has-text("Table")')
    page.dispatch_event(".pl-span-copy", "click")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:1"]')
    (copy,) = (span for span in spans if span[0] == "copy")
    page.wait_for_selector(f'.ptxlab-debugger[data-step="{copy[3]}"]')
    assert "cp.async.bulk" in page.inner_text(".pl-status")
    assert page.inner_text('[aria-label="Timeline"] .pl-readout').startswith("Here: 1 copy of 512 bytes in flight")
    assert page.inner_text(".pl-access") == f"Starts: {copy[4]}."
    assert not errors
    page.close()


def test_the_beginning_of_a_long_one() -> None:
    """What a notebook keeps: as much as fits, whole rows and their order."""
    whole = shown(RING, 64, np.zeros(128, np.uint32), device="step")
    assert timelines.beginning(whole, 10**6) == whole
    part = timelines.beginning(whole, len(json.dumps(whole)) - 1)
    assert part is not None
    assert (part["time"], part["cut"], part["roles"]) == (whole["time"] // 2, True, whole["roles"])
    assert all(span[1] < span[2] <= part["time"] for row in part["rows"] for span in row["spans"])
    assert part["turns"] == whole["turns"][: len(part["turns"])]
    assert timelines.beginning(None, 5) is None


@pytest.mark.browser
def test_roles(parts: Any) -> None:
    """One row for warps that do the same; the group of a warpgroup lasts from its first warp to its last."""
    spans = [
        [["copy", 1, 9, 4, "a copy", 7, "0:0x10", 512]],
        [["wgmma", 2, 4, 1, "a group", 8, "", 0], ["wait", 5, 8, 2, "waits", 9, "0:0x10", 0]],
        [["wgmma", 3, 6, 1, "a group", 8, "", 0], ["wait", 5, 9, 2, "waits", 9, "0:0x10", 0]],
    ]
    data = {
        "roles": [[0, 0, 0], [0, 1, 2]],
        "phases": {"0:0x10": [[6, 0, "phase 0 ends"]]},
        "names": {"0:0x10": "full[1] 0x10"},
        "rows": [{"block": 0, "warp": warp, "spans": some} for warp, some in enumerate(spans)],
    }
    shown = "(data) => [roleRows(data), mbarrierRows(data), [0, 3, 7].map((at) => underWay(data, roleRows(data), at))]"
    rows, mbarriers, now = parts(shown, data)
    started = "(data) => [startedIn(data, '0:0', 4), startedIn(data, '0:0', 3), startedIn(data, '0:1', 1)]"
    assert parts(started, data) == [["Starts: a copy."], [], []]
    assert [row["name"] for row in rows] == ["block 0, warp 0", "block 0, warps 1–2"]
    assert rows[1]["spans"] == [
        ["wgmma", 2, 6, 1, "a group", 8, "", 0, 0, 1],
        ["wait", 5, 8, 2, "warp 1 waits", 9, "0:0x10", 0, 0, 1],
        ["wait", 5, 9, 2, "warp 2 waits", 9, "0:0x10", 0, 0, 2],
    ]
    assert [(row["name"], len(row["spans"])) for row in mbarriers] == [("full[1] 0x10", 3)]
    assert now == [
        "",
        "1 copy of 512 bytes in flight; 1 wgmma group in flight",
        "1 copy of 512 bytes in flight; warps 1, 2 wait for full[1] 0x10, of which 1 phase is over",
    ]

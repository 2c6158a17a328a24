"""The parts of the debugger's module on an empty page: what it reads from a trace is what Python reads."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import pytest
from debugger_page import SHUFFLES, run_to

import ptxlab as pl
from ptxlab.emulate.rules.memory_model import sectors, wavefronts
from ptxlab.emulate.trace.recording import lanes_of

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

TYPES = """.version 8.0
.target sm_80
.address_size 64
.visible .entry types(.param .u64 out)
{
    .reg .pred %p, %q;
    .reg .b16 %h;
    .reg .s16 %s;
    .reg .u32 %t, %n;
    .reg .s32 %i;
    .reg .f32 %f;
    .reg .b64 %w;
    .reg .s64 %l;
    .reg .f64 %d;
    mov.u32 %t, %tid.x;
    mov.u32 %n, 0;
    mov.b64 %w, 0x123456789ABCDEF;
    mov.f64 %d, 0d3FF8000000000000;
LOOP:
    mad.lo.s32 %i, %t, -77, %n;
    cvt.u16.u32 %h, %i;
    cvt.s16.s32 %s, %i;
    cvt.s64.s32 %l, %i;
    mad.lo.u64 %w, %w, 6364136223846793005, %l;
    cvt.rn.f32.s32 %f, %i;
    fma.rn.f64 %d, %d, 0dBFE0000000000000, %d;
    and.b32 %i, %i, 3;
    setp.eq.u32 %q, %i, 1;
    @%q bra SKIP;
    sub.s64 %l, 0, %l;
SKIP:
    add.u32 %n, %n, 1;
    setp.lt.u32 %p, %n, 450;
    @%p bra LOOP;
    ret;
}
"""
"""More than a page of steps with registers of every kind."""


def test_the_page_reads_every_type_as_python_does(parts: Any) -> None:
    recording = pl.debug(TYPES, 1, 40, np.zeros(4)).recording
    for key in recording.warps:
        walker = recording.walk(*key)
        assert len(recording.pages[key]) > 1
        stops = np.random.default_rng(5).integers(0, len(walker), 40).tolist()
        read = parts(
            """async ([data, key, stops]) => {
                const trace = openTrace(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
                const warp = await readWarp(trace, key);
                return stops.map((at) => [
                    warp.steps[at].line, warp.steps[at].mask, warp.written(at),
                    trace.head.registers.map((r, k) => Array.from(warp.value(k, at), (_, lane) =>
                        laneText(warp.value(k, at), lane, "hex", r[1], r[2])))]) }""",
            [base64.b64encode(recording.data).decode(), f"{key[0]}:{key[1]}", stops],
        )
        for at, (line, mask, written, values) in zip(stops, read, strict=True):
            moment = walker.seek(at + 1)
            assert moment is not None
            assert line == moment.line
            assert (lanes_of(mask) == moment.mask).all()
            assert {recording.names[r] for r in written} == set(moment.writes)
            for name, shown in zip(recording.names, values, strict=True):
                wanted = walker.registers[name]
                bits = wanted.view(f"u{wanted.itemsize}").tolist()
                assert [int(text, 16) for text in shown] == bits, (key, at, name)


def test_bank_conflicts_and_sectors_are_counted_as_the_counters_do(parts: Any) -> None:
    rng = np.random.default_rng(6)
    cases = []
    for _ in range(300):
        size = int(rng.choice([1, 2, 4, 8, 16]))
        spread = int(rng.choice([4, 40, 400]))
        mask = int(rng.choice([0xFFFFFFFF, rng.integers(1, 2**32)]))
        cases.append((size, bool(rng.integers(2)), mask, (rng.integers(0, spread, 32) * size).tolist()))
    shown = parts(
        """(cases) => cases.map(([size, loads, mask, places]) => {
            const access = {size, mask, addresses: BigUint64Array.from(places, BigInt)};
            const {wavefronts, ideal} = banksOf(access, loads), global = sectorsOf(access);
            return [wavefronts, ideal, global.sectors.size, global.ideal] })""",
        cases,
    )
    for (size, loads, mask, places), found in zip(cases, shown, strict=True):
        address = np.array(places, np.uint64)
        wanted = [*wavefronts(address.astype(np.uint32), mask, size, loads), *sectors(address, mask, size)]
        assert found == wanted, (size, loads, hex(mask), places)


# -- blocks, and memory behind generic addresses -----------------------------------------------------------------------

GENERIC = """extern "C" __global__ void twice(float *x, int which) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float *p = (threadIdx.x < 8) == which ? tile : x;
    x[threadIdx.x] = p[threadIdx.x * 2];
}"""


def test_generic_addresses_are_shown_by_the_memory_that_they_reach(viewer: Any) -> None:
    page = viewer(pl.debug(pl.cuda(GENERIC), 1, 32, np.zeros(64, np.float32), 1, checks="memcheck"))
    assert ": ld.f32" in run_to(page, "ld.f32")
    says = page.inner_text(".pl-access")
    assert "load, shared memory: 8 lanes × 4 bytes, no bank conflict, 1 wavefront (at best 1)" in says
    assert "load, global memory: 24 lanes × 4 bytes in 6 sectors of 32 bytes (at best 3)" in says


def test_any_block_and_warp(viewer: Any) -> None:
    text = SHUFFLES.replace("%tid.x", "%ctaid.y")
    page = viewer(pl.debug(text, (2, 3), 96, np.zeros(1), blocks=None))
    options = "all => all.map(e => e.textContent)"
    assert page.eval_on_selector_all("select[aria-label=block] option", options)[4:] == [
        "block 4 (0, 2, 0)",
        "block 5 (1, 2, 0)",
    ]
    page.select_option("select[aria-label=warp]", "2")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:2"]')
    page.select_option("select[aria-label=block]", "4")
    page.wait_for_selector('.ptxlab-debugger[data-ready="4:2"]')
    assert page.eval_on_selector_all(".pl-registers tbody tr:first-child td", options)[-1] == "2"
    assert page.input_value("select[aria-label=warp]") == "2"


# -- where it opens ----------------------------------------------------------------------------------------------------

SELECTED = "section[aria-label=PTX] [aria-selected=true]"


@pytest.mark.rest
def test_it_opens_at_the_line_that_was_asked_for(viewer: Any) -> None:
    debugger = pl.debug("tiled", seq_len=40, head_dim=16, at="ex2")
    walker = debugger.recording.walk(0, 0)
    first = next(k for k in range(len(walker)) if walker.moment(k).opcode.startswith("ex2"))
    page = viewer(debugger)
    assert page.get_attribute(".ptxlab-debugger", "data-step") == str(first)
    assert f"step {first + 1} of 4059, line {walker.moment(first).line}: ex2." in page.inner_text(".pl-status")
    assert "ex2.approx" in page.text_content(SELECTED)
    page.select_option("select[aria-label=warp]", "3")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:3"]')
    assert "ex2.approx" in page.text_content(SELECTED)


WARPS = """.version 8.0
.target sm_80
.address_size 64
.visible .entry warps(.param .u64 out)
{
    .reg .pred %p;
    .reg .u32 %t, %d;
    mov.u32 %t, %tid.x;
    setp.lt.u32 %p, %t, 64;
    @%p bra END;
    mul.lo.u32 %d, %t, %t;
END:
    ret;
}
"""


def test_it_opens_in_the_warp_that_was_there(viewer: Any) -> None:
    debugger = pl.debug(WARPS, 1, 96, np.zeros(1), at="mul.lo")
    page = viewer(debugger, "0:2")
    assert page.input_value("select[aria-label=warp]") == "2"
    assert "mul.lo" in page.text_content(SELECTED)
    page.select_option("select[aria-label=warp]", "0")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    assert page.inner_text(".pl-status") == (
        "this warp has no step at the line that was asked for: step 1 of 3, line 8: mov.u32"
    )


# -- without a kernel --------------------------------------------------------------------------------------------------


def exported(widget: Any) -> str:
    """A notebook with the outputs of a widget as nbconvert makes a page of it."""
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install nbformat")
    exporters = pytest.importorskip("nbconvert", reason="needs nbconvert: pip install nbconvert")
    data = dict(widget._repr_mimebundle_()[0])
    copy = {"text/html": data.pop("text/html"), "text/plain": ""}
    v4 = nbformat.v4
    outputs = [v4.new_output("display_data", data=d) for d in (data, copy)]
    notebook = v4.new_notebook(cells=[v4.new_code_cell("pl.debug(run)", outputs=outputs)])
    return str(exporters.HTMLExporter().from_notebook_node(notebook)[0])


@pytest.mark.rest
def test_a_copy_keeps_the_steps_around_the_one_that_was_asked_for(chromium: Any, tmp_path: Any) -> None:
    debugger = pl.debug("tiled", seq_len=40, head_dim=16, at="st.global")
    walker = debugger.recording.walk(0, 0)
    first = next(k for k in range(len(walker)) if walker.moment(k).opcode.startswith("st.global"))
    (tmp_path / "export.html").write_text(exported(debugger))
    tables = debugger._repr_mimebundle_()[0]["text/html"].partition("<script>")[0]
    assert f"step {first + 1} of 4059: where the debugger opens</summary>" in tables
    page = chromium.new_page(viewport={"width": 400, "height": 1000}, offline=True)
    page.goto((tmp_path / "export.html").as_uri(), wait_until="domcontentloaded")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    assert page.inner_text(".pl-status").startswith(f"step {first + 1} of 4059, line ")
    assert "st.global" in page.text_content(SELECTED)
    begin, end = re.match(
        r"A saved copy: it keeps steps ([\d,]+) to ([\d,]+) of 4,059 of block 0, warp 0, and nothing "
        r"of the 3 other warps",
        page.inner_text(".pl-kept"),
    ).groups()
    page.focus(".pl-slider")
    page.keyboard.press("Home")
    opcode = walker.moment(int(begin.replace(",", "")) - 1).opcode
    shown = page.inner_text(".pl-status")
    assert shown.startswith(f"the first that is kept: step {begin.replace(',', '')} of 4059, line ")
    assert shown.endswith(f": {opcode}")
    page.keyboard.press("End")
    assert f"step {end.replace(',', '')} of 4059" in page.inner_text(".pl-status")
    assert page.eval_on_selector(".ptxlab-debugger", "e => e.scrollWidth <= e.clientWidth + 1")
    debugger.save(tmp_path / "page.html")  # the whole trace, open at the same step
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    assert page.get_attribute(".ptxlab-debugger", "data-step") == str(first)
    assert page.is_hidden(".pl-kept")
    page.close()

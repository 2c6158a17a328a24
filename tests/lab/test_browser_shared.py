"""The debugger's picture of shared memory, its source line, its hover docs, and the card that comes first."""

from __future__ import annotations

from typing import Any

import lab_server
import pytest

import ptxlab as pl
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.lab.debugger import Debugger, recorded

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

CARD = "section[aria-label='Shared memory of the block']"
TWO_WARPS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry f()
{
    .shared .align 4 .b8 tile[512];
    .reg .u32 %t, %at, %v;
    mov.u32 %t, %tid.x;
    shl.b32 %at, %t, 2;
    st.shared.u32 [%at], %t;
    bar.sync 0;
    ld.shared.u32 %v, [%at];
    st.shared.u32 [%at + 256], %v;
    ret;
}
"""


def note(page: Any) -> str:
    """How much of shared memory is written, in the card's words."""
    lab_server.painted(page)
    return str(page.inner_text(f"{CARD} .pl-note"))


def step(page: Any, times: int = 1) -> None:
    """Presses the right arrow."""
    for _ in range(times):
        page.keyboard.press("ArrowRight")


def test_who_wrote_a_word_is_known_from_the_barrier_on(viewer: Any) -> None:
    page = viewer(pl.debug(TWO_WARPS, 1, 64))
    page.wait_for_selector(f"{CARD} canvas")
    page.focus(".ptxlab-debugger")
    assert note(page) == "0 of 128 words written, as far as warp 0 can know"
    step(page, 2)
    assert note(page) == "32 of 128 words written, as far as warp 0 can know"
    step(page, 2)
    assert note(page) == "64 of 128 words written, as far as warp 0 can know", "the other warp's, behind the barrier"
    canvas = page.locator(f"{CARD} canvas")
    wide = canvas.bounding_box()["width"] / 32
    canvas.hover(position={"x": 5.5 * wide, "y": 12 + 6})
    assert page.inner_text(f"{CARD} .pl-readout") == (
        "Bytes 0x94 to 0x97, bank 5: written by warp 1, lane 5, at line 11: st.shared.u32 [%at], %t;"
    )
    canvas.hover(position={"x": 8, "y": 2 * 12 + 6})
    assert page.inner_text(f"{CARD} .pl-readout") == "Bytes 0x100 to 0x103, bank 0: not written yet."
    page.select_option(".ptxlab-debugger select[aria-label=warp]", "1")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:1"]')
    assert note(page) == "0 of 128 words written, as far as warp 1 can know"


def test_registers_are_blank_before_they_are_written(viewer: Any) -> None:
    page = viewer(pl.debug(TWO_WARPS, 1, 64))
    page.click(".ptxlab-debugger button:has-text('All')")
    cells = page.locator(".pl-registers tbody tr").first.locator("td")
    assert cells.all_inner_texts() == ["0", "", ""]
    assert cells.nth(1).get_attribute("title") == "not written yet"


def test_a_kernel_without_shared_memory_has_no_picture_of_it(viewer: Any) -> None:
    page = viewer(pl.debug("scalar", head_dim=16, seq_len=4))
    assert not page.is_visible(CARD)


def test_the_source_line_and_what_an_opcode_means(viewer: Any) -> None:
    recording = recorded("scalar", {"head_dim": 16, "seq_len": 4}, Trace()).trace
    debugger = Debugger(recording)
    debugger.open_at("ex2.approx")
    page = viewer(debugger)
    source = page.inner_text(".pl-source-line")
    assert "kernels/scalar.py:" in source
    assert "k.exp2(" in source
    page.locator(".ptxlab-debugger .pl-line[aria-selected=true] .o").hover()
    assert page.inner_text(".ptxlab-debugger .pl-tip").startswith("ex2.approx.f32")


def test_what_a_step_is_about_comes_first(viewer: Any) -> None:
    debugger = pl.debug("mma", head_dim=16, seq_len=16)
    debugger.open_at("mma.sync")
    page = viewer(debugger)

    def first() -> str:
        return str(
            page.evaluate(
                "() => [...document.querySelectorAll('.pl-step-cards > section')].filter(e => e.offsetHeight)"
                ".sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0]"
                ".getAttribute('aria-label')"
            )
        )

    assert first() == "Between lanes"

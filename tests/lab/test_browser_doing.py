"""Debug here, Edit and Share, as somebody presses them; and the shared page in a browser without Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lab_server
import pytest
from accessibility import violations
from explorer_page import EXPLORER, figures, lines, number, settle, shot, text

from ptxlab import kernels

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser, pytest.mark.rest]

WINDOW = (1440, 900)
CELLS = ('import ptxlab as pl\n\npl.explore("scalar", seq_len=24, head_dim=16)',)
PLOT = f"{EXPLORER} section[aria-label='Online softmax'] .pl-plot"


def debugger(page: Any) -> str:
    """What the debugger's status line says, once it is there."""
    page.wait_for_selector(".ptxlab-debugger[data-ready]:not([data-ready=''])")
    return str(page.inner_text(".ptxlab-debugger .pl-status"))


def test_a_line_opens_the_debugger_there(lab: Any) -> None:
    line = lines(lab, "ex2").first
    line.scroll_into_view_if_needed()
    line.click()
    number_of_line = line.get_attribute("data-line")
    lab.click(f"{EXPLORER} .pl-foot button:has-text('Debug here')")
    assert f", line {number_of_line}: ex2.approx.f32" in debugger(lab)
    lab.wait_for_function("document.querySelector('.ptxlab-debugger').contains(document.activeElement)")
    for theme in ("Dark", "Light"):
        lab_server.use_theme(lab, f"JupyterLab {theme}")
        assert violations(lab, ".ptxlab-below") + violations(lab, ".pl-bar-below") == []
    lab.keyboard.press("Escape")
    lab.wait_for_selector(".ptxlab-debugger", state="detached")


def test_a_point_of_the_softmax_opens_it_at_that_tile(lab: Any) -> None:
    lab.click(f"{EXPLORER} button:has-text('Pictures')")
    lab.focus(PLOT)
    lab.keyboard.press("End")
    lab.keyboard.press("Enter")
    lab.click(f"{EXPLORER} .pl-foot button:has-text('Debug here')")
    last = debugger(lab)
    step, total = (int(word) for word in last.removeprefix("step ").split(",")[0].split(" of "))
    assert step > 0.85 * total, last
    lab.click(".pl-bar-below button:has-text('‹ Explorer')")


def test_all_of_it_is_shared_as_one_page(lab: Any, tmp_path: Path) -> None:
    with lab.expect_download() as download:
        lab.click(f"{EXPLORER} button:has-text('Share')")
    assert download.value.suggested_filename == "scalar_f32_d16.html"
    download.value.save_as(tmp_path / "page.html")
    shown = figures(lab)
    alone = lab.context.browser.new_page(viewport={"width": 1300, "height": 900})
    errors: list[str] = []
    asked: list[str] = []
    alone.on("pageerror", lambda error: errors.append(str(error)))
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto((tmp_path / "page.html").as_uri())
    alone.wait_for_selector(f"{EXPLORER}[data-state=saved]")
    assert figures(alone) == shown
    alone.wait_for_selector(f"{EXPLORER} .pl-plot path.pl-series")
    assert not alone.is_visible("button:has-text('Pin')")
    lines(alone, "ld").first.click()
    assert alone.inner_text(f"{EXPLORER} .pl-picked-line").startswith("PTX line ")
    assert violations(alone, "main") == []
    alone.screenshot(path=str(lab_server.ARTIFACTS / "doing-shared.png"))
    alone.set_viewport_size({"width": 600, "height": 900})
    assert not alone.is_visible("button:has-text('Parameters')"), "there are no controls to be unfolded"
    alone.close()
    assert not errors, errors
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []


def test_the_keyboard_is_where_something_opened_and_then_where_it_was(lab: Any) -> None:
    lab.focus(f"{EXPLORER}:not(.ptxlab-debugger) button:text-is('Edit')")
    lab.keyboard.press("Enter")
    lab.wait_for_function("document.activeElement.matches('.ptxlab-editor .cm-content')")
    lab_server.use_theme(lab, "JupyterLab Dark")
    assert violations(lab, ".ptxlab-below") == []
    lab_server.use_theme(lab, "JupyterLab Light")
    lab.focus(".pl-bar-below button:has-text('Close')")
    lab.keyboard.press("Enter")
    lab.wait_for_function("document.activeElement.textContent === 'Edit'")


def test_an_edited_kernel_is_shown_with_its_diff(lab: Any) -> None:
    lines(lab, "ex2").first.click()
    lab.click(f"{EXPLORER}:not(.ptxlab-debugger) button:has-text('Edit')")
    lab.wait_for_selector(".ptxlab-editor[data-checked]")
    assert "k.exp2(" in lab.inner_text(".ptxlab-editor .cm-activeLine"), "it opens where the pane is"
    before = number(lab)
    lab.click(".ptxlab-editor .cm-activeLine")
    lab.keyboard.press("Home")
    lab.keyboard.type("acc[0] *= 2.0; ")
    lab.keyboard.press("Control+Enter")
    settle(lab, before)
    assert text(lab, "h3") == "Online softmax, one thread per row, edited"
    lab.wait_for_function("document.querySelector('.ptxlab-editor .pl-status').innerText.includes('more than the tol')")
    lab.keyboard.type("(")
    lab.keyboard.press("Control+Enter")
    lab.wait_for_selector(".ptxlab-editor .pl-status:has-text('not applied')")
    assert "'(' was never closed" in lab.inner_text(".ptxlab-editor .pl-problems")
    assert lab.inner_text(".ptxlab-editor .cm-lintRange-error").startswith("acc[0] *= 2.0; (")
    assert violations(lab, ".ptxlab-below") == []
    lab.keyboard.press("Backspace")
    before = number(lab)
    lab.focus(".ptxlab-editor input")
    lab.keyboard.type("--maxrregcount=24")
    lab.keyboard.press("Enter")
    settle(lab, before)
    assert figures(lab)["registers"].startswith("24 ")
    lab.focus(".pl-bar-below button:has-text('Show the code')")
    lab.keyboard.press("Enter")
    lab.wait_for_selector(".ptxlab-editor", state="hidden")
    assert text(lab, ".pl-diff-note").startswith("ptxas options none → --maxrregcount=24")
    lab.keyboard.press("Enter")  # back to the text
    lab.select_option(".ptxlab-editor select", "PTX")
    ptx = kernels.get("scalar").build(head_dim=16).ptx
    lab.wait_for_selector(".ptxlab-editor .cm-line:has-text('.entry scalar_f32_d16')")
    lab.click(".ptxlab-editor .cm-content")
    lab.keyboard.press("Control+a")
    lab.keyboard.insert_text(ptx.replace("[%key_row]", "[%key_row+1048576]"))
    before = number(lab)
    lab.keyboard.press("Control+Enter")
    settle(lab, before)
    complaint = lab.locator(f"{EXPLORER} section[aria-label=PTX] .pl-complaint")
    top, height = complaint.evaluate(
        "e => { const b = e.closest('.pl-lines').getBoundingClientRect();"
        " return [e.getBoundingClientRect().top - b.top, b.height] }"
    )
    assert 0 < top < height, "in sight in its pane, though the pane itself was not when the fault came"
    lab.wait_for_selector(".ptxlab-editor .pl-output .pl-error:has-text('memcheck')")  # said where it was written, too
    assert violations(lab, ".ptxlab-below") == []
    lab.click(f"{EXPLORER} .pl-problem button:has-text('Debug here')")
    assert debugger(lab).startswith("before the instruction that faulted: step ")
    lab.click(".pl-bar-below button:has-text('‹ Explorer')")
    lab.click(f"{EXPLORER}:not(.ptxlab-debugger) button:has-text('Edit')")
    lab.wait_for_selector(".ptxlab-editor[data-checked]")
    before = number(lab)
    lab.click(".pl-bar-below button:has-text('back to the kernel')")
    lab.click(".pl-bar-below button:has-text('Discard the text')")
    settle(lab, before)
    assert text(lab, "h3") == "Online softmax, one thread per row"


def test_a_new_user_finds_a_bank_conflict_explained(lab: Any) -> None:
    """From a kernel that has none: the page says which one has, and each press says what the next one is."""
    lab.click(f"{EXPLORER} .pl-why:has-text('bank conflicts')")
    assert text(lab, ".pl-picked-line") == "No access of this kernel has a bank conflict. Show mma, which has some"
    before = number(lab)
    lab.click(f"{EXPLORER} button:has-text('Show mma')")
    settle(lab, before)
    assert "▲" in figures(lab)["bank conflicts"]
    lab.click(f"{EXPLORER} .pl-why:has-text('bank conflicts')")
    assert "because lanes want different words of one bank; Debug here shows which" in text(lab, ".pl-picked-line")
    lab.click(f"{EXPLORER} .pl-foot button:has-text('Debug here')")
    assert debugger(lab).endswith("ldmatrix.sync.aligned.m8n8.x4.shared.b16 · ⚠ 2-way bank conflict, explained below")
    first = "all => all.filter(e => e.offsetHeight).sort((a, b) => a.offsetTop - b.offsetTop)[0].innerText"
    says = lab.eval_on_selector_all(".ptxlab-debugger .pl-step-cards > *", first)
    assert (
        "The lanes' addresses lie 32 bytes apart, and all 32 banks together are 128 bytes wide: the lanes begin in only"
        " 4 banks. Padding the rows, or a swizzle, spreads them over the banks." in says
    )
    shot(lab, "doing-conflict")

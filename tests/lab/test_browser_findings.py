"""From the picture of a mistake to its lines: what checks find, in the debugger and in the explorer."""

from __future__ import annotations

from typing import Any

import accessibility
import numpy as np
import pytest
from debugger_page import REVERSE
from explorer_page import EXPLORER, chooser, settle

import ptxlab as pl

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WINDOW = (1440, 900)
CELLS = (f'import numpy as np\nimport ptxlab as pl\n\npl.explore("""{REVERSE}""", 1, 64, np.zeros(64, np.float32))',)
LOAD, STORE = (
    1 + next(n for n, line in enumerate(REVERSE.splitlines()) if word in line) for word in ("ld.sh", "st.sh")
)


ROOTS = """extern "C" __global__ void roots(const float *x, float *y) {
    float v = x[threadIdx.x];
    float root = sqrtf(v);
    y[threadIdx.x] = root + 1.0f;
}"""


def signs(page: Any, pane: str = "PTX") -> dict[int, str]:
    """Line -> the signs beside it, of the lines of a pane that have any."""
    found = page.eval_on_selector_all(
        f"section[aria-label={pane}] .pl-now [data-signs]", "all => all.map(e => [e.dataset.line, e.dataset.signs])"
    )
    return {int(line): sign for line, sign in found}


def accused(page: Any) -> list[str]:
    """The lanes of the registers' table that are marked."""
    return list(page.eval_on_selector_all(".pl-accused th", "all => all.map(e => e.textContent)"))


def test_the_debugger_opens_at_a_race_and_a_click_goes_to_either_access(viewer: Any) -> None:
    page = viewer(pl.debug(REVERSE, 1, 64, np.zeros(64, np.float32)), "0:1")
    assert page.inner_text(".pl-status").endswith(f"line {LOAD}: ld.shared.f32")
    assert page.inner_text(".pl-findings [aria-current] b >> nth=0") == "✗ racecheck"
    assert signs(page) == {LOAD: "❶", STORE: "②"}
    assert accused(page) == ["❶● 0"]
    page.click(".pl-findings .pl-button:has-text('②')")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    assert page.inner_text(".pl-status").endswith(f"line {STORE}: st.shared.f32")
    assert accused(page) == ["②● 31"]
    page.click(".pl-tick-signs button:has-text('❶')")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:1"]')
    assert accused(page) == ["❶● 0"]
    assert accessibility.violations(page, ".ptxlab-debugger") == []


def test_a_fault_is_opened_in_the_warp_and_lane_that_were_stopped(viewer: Any) -> None:
    page = viewer(pl.debug(REVERSE, 2, 64, np.zeros(100, np.float32)), "1:1")
    line = 1 + next(n for n, text in enumerate(REVERSE.splitlines()) if "ld.global" in text)
    assert page.inner_text(".pl-status").startswith("before the instruction that faulted: ")
    assert page.inner_text(".pl-findings b >> nth=0") == "✗ stopped by memcheck"
    assert signs(page) == {line: "❶"}
    assert accused(page) == ["❶● 4"]


def test_the_first_nan_and_a_condition_lead_to_their_line_of_source(viewer: Any) -> None:
    x = np.arange(32, dtype=np.float32)
    x[3] = -1
    page = viewer(pl.debug(pl.cuda(ROOTS), 1, 32, x, np.zeros(32, np.float32)))
    page.select_option("select[aria-label='what to go to']", "nan")
    page.click("button:text-is('|◀')")
    page.click("button:text-is('▶▶')")
    made = page.inner_text(".pl-status")
    assert "sqrt" in made
    assert page.inner_text(".pl-source-line code") == "float root = sqrtf(v);"
    assert "reads 0–31\n" in page.inner_text("section[aria-label=Arrays]")
    register = page.inner_text(".pl-registers thead .pl-written")
    page.select_option("select[aria-label='what to go to']", "source")
    page.focus("section[aria-label=PTX] .pl-lines")
    page.keyboard.press("Shift+ArrowRight")
    assert page.inner_text(".pl-source-line code") == "y[threadIdx.x] = root + 1.0f;"
    page.keyboard.press("Home")
    for condition, says in (
        (f"lane 3: {register} is nan", made),
        (f"lane 4: {register} > 1.5", made),
        (f"lane 3 {register}", "a condition is written like lane 3: %f5 is nan, or %r1 >= 64: step 1 of"),
    ):
        page.fill(".pl-when", condition)
        page.press(".pl-when", "Enter")
        assert page.inner_text(".pl-status").startswith(says)
        page.click("button:text-is('|◀')")


def test_without_findings_it_says_what_looked(viewer: Any) -> None:
    page = viewer(pl.debug(REVERSE.replace("// bar", "bar"), 1, 64, np.zeros(64, np.float32), checks="memcheck"))
    assert page.inner_text(".pl-findings").startswith("✓ no findings memcheck; ")
    assert signs(page) == {}


def test_the_explorer_shows_a_race_at_its_lines_and_opens_the_debugger_there(lab: Any) -> None:
    page = lab
    assert page.inner_text(f"{EXPLORER} .pl-found").startswith("✗ ")
    assert page.inner_text(f"{EXPLORER} [aria-label=results] [aria-pressed=true]").startswith("Findings ")
    assert signs(page) == {LOAD: "❶", STORE: "②"}
    page.click(f"{EXPLORER} .pl-findings .pl-button:has-text('② line')")
    assert page.get_attribute(f'{EXPLORER} .pl-now [data-line="{STORE}"]', "aria-selected") == "true"
    for key, open_ in (("F8", "initcheck"), ("Shift+F8", "racecheck")):
        page.keyboard.press(key)
        assert page.inner_text(f"{EXPLORER} .pl-findings [aria-current] b >> nth=0") == f"✗ {open_}"
    page.click(f"{EXPLORER} .pl-findings .pl-button:has-text('Debug at ②')")
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    assert page.inner_text(".ptxlab-debugger .pl-status").endswith(f"line {STORE}: st.shared.f32")
    page.click(".pl-bar-below button:has-text('‹ Explorer')")
    before = settle(page, -1)
    chooser(page, "checks").select_option("memcheck")
    settle(page, before)
    assert page.inner_text(f"{EXPLORER} .pl-findings").startswith("✗ result\n\n64 of 64 elements of 'x' are NaN")
    page.click(f"{EXPLORER} .pl-findings .pl-button:has-text('Debug at the first NaN')")
    page.wait_for_selector(".ptxlab-debugger .pl-findings:has-text('the first NaN of this warp')")
    assert page.inner_text(".ptxlab-debugger .pl-status").endswith(f"line {LOAD}: ld.shared.f32")

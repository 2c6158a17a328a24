"""A function of one's own in the explorer, in a real page: typed, run, wrong, mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lab_server
import pytest
from explorer_page import choose, figures, lines, number, settle, shot, text, until

import ptxlab as pl

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WINDOW = (1600, 1100)
CELLS = ('import ptxlab as pl\n\npl.explore("scalar", seq_len=32, head_dim=16)',)
OWN = ".pl-own textarea"
STEEP = "def steep(score, b, h, q_idx, kv_idx):\n    return score - 2 * np.abs(q_idx - kv_idx)"
WRONG = (
    ("def f(score, b, h, q_idx, kv_idx)\n    return score", "expected ':'", "def near(score, b, h, q_idx, kv_idx):"),
    (
        "def f(score, b, h, q_idx, kv_idx):\n    if kv_idx > q_idx:\n        return 0\n    return score",
        "`if` is evaluated when the kernel is built",
        "return np.where(kv_idx > q_idx, 0, score)",
    ),
    ("def f(b, h, q_idx, kv_idx):\n    while True:\n        pass", "1000 turns at most", "for n in range(4):"),
)


def write(page: Any, function: str, key: str = "Control+Enter") -> None:
    """Types a function in place of what stands there, and a key."""
    before = number(page)
    page.locator(OWN).click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(function)
    page.keyboard.press(key)
    settle(page, before)


@pytest.mark.rest
def test_ones_own_function_is_typed_run_and_told_its_mistakes(lab: Any) -> None:
    editor = lab.locator(OWN)
    assert not editor.is_visible()
    choose(lab, "variant", "own")
    assert text(lab, ".pl-diff-note").startswith("variant none → near · +")
    write(lab, STEEP)
    assert "✓ pass" in figures(lab)["error ÷ tol."]
    assert text(lab, ".pl-against b").endswith("→ return score - 2 * np.abs(q_idx - kv_idx)")
    shot(lab, "own-light")
    for wrong, says, line in WRONG:
        write(lab, wrong)
        assert says in text(lab, ".pl-problem")
        assert line in text(lab, ".pl-problem")
    shot(lab, "own-mistake-light")
    lab_server.use_theme(lab, "JupyterLab Dark")
    shot(lab, "own-mistake-dark")
    assert editor.input_value() == WRONG[-1][0], "what was typed stays"
    choose(lab, "variant", "none")
    assert not editor.is_visible()
    choose(lab, "variant", "own")
    assert editor.input_value() == WRONG[-1][0]
    write(lab, "def few(b, h, q_idx, kv_idx):\n    return kv_idx < 9", "Tab")
    assert "✓ pass" in figures(lab)["error ÷ tol."]
    shot(lab, "own-dark")


def test_undo_takes_back_what_was_typed_and_nothing_of_the_notebook(lab: Any) -> None:
    choose(lab, "variant", "own")
    write(lab, STEEP)
    cells = lab.locator(".jp-Cell").count()
    lab.locator(OWN).click()
    lab.keyboard.press("Control+End")
    lab.keyboard.press("Enter")
    assert lab.locator(OWN).input_value() == STEEP + "\n"
    lab.keyboard.press("Control+Z")
    assert lab.locator(OWN).input_value() == STEEP
    lab.keyboard.press("Control+Shift+Z")
    assert lab.locator(OWN).input_value() == STEEP + "\n"
    lab.keyboard.press("Control+Z")
    assert lab.locator(".jp-Cell").count() == cells
    assert "✓ pass" in figures(lab)["error ÷ tol."]


def test_a_saved_page_keeps_the_lines_of_ones_own_function(lab: Any, tmp_path: Path) -> None:
    explorer = pl.explore("scalar", seq_len=16, head_dim=16, device="cpu", variant="own", own=STEEP)
    explorer.save(tmp_path / "page.html")
    page = lab.context.browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto((tmp_path / "page.html").as_uri())
    lines(page).first.wait_for()
    assert page.input_value(OWN) == STEEP
    assert page.is_disabled(".pl-control input[type=checkbox]"), "there is nobody to ask"
    page.screenshot(path=str(lab_server.ARTIFACTS / "own-saved.png"))
    page.close()


@pytest.mark.rest
def test_after_a_restart_the_cell_runs_anew(lab: Any) -> None:
    choose(lab, "variant", "own")
    write(lab, STEEP.replace("2", "3"))
    lab.evaluate("jupyterapp.shell.currentWidget.context.sessionContext.restartKernel()")
    until(lab, "gone")
    assert lab.locator(OWN).input_value() == STEEP.replace("2", "3"), "it can still be copied"
    shot(lab, "own-gone")
    lab_server.run_all(lab)
    until(lab, "done")
    settle(lab)
    choose(lab, "variant", "own")
    write(lab, STEEP)
    assert "✓ pass" in figures(lab)["error ÷ tol."]

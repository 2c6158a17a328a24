"""A function of one's own in the explorer, in a real page: typed, run, wrong, mended."""

from __future__ import annotations

from typing import Any

import lab_server
import pytest
from explorer_page import choose, figures, number, settle, shot, text

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WINDOW = (1600, 1100)
CELLS = ('import ptxlab as pl\n\npl.explore("scalar", seq_len=32, head_dim=16)',)
OWN = ".ptxlab-own textarea"
STEEP = "def steep(score, b, h, q_idx, kv_idx):\n    return score - 2 * np.abs(q_idx - kv_idx)"
WRONG = (
    ("def f(score, b, h, q_idx, kv_idx)\n    return score", "expected ':'", "def near(score, b, h, q_idx, kv_idx):"),
    (
        "def f(score, b, h, q_idx, kv_idx):\n    if kv_idx > q_idx:\n        return 0\n    return score",
        "`if` decides when the function is traced",
        "return np.where(kv_idx > q_idx, 0, score)",
    ),
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
    assert "✓ pass" in figures(lab)["tolerance"]
    assert text(lab, ".pl-against").endswith("→ return score - 2 * np.abs(q_idx - kv_idx)")
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
    assert "✓ pass" in figures(lab)["tolerance"]
    shot(lab, "own-dark")

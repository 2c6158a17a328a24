"""Attention as models change it, in a real page: the control, the diff, the tiles and the masked keys."""

from __future__ import annotations

from typing import Any

import lab_server
import pytest
from explorer_page import EXPLORER, choose, figures, parameter, shot, text, type_number

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WINDOW = (1600, 1400)
CELLS = ('import ptxlab as pl\n\npl.explore("mma", seq_len=256)',)


@pytest.mark.rest
def test_a_window_is_chosen_and_its_diff_its_tiles_and_its_masked_keys_are_seen(lab: Any) -> None:
    assert not parameter(lab, "left").is_visible(), "a parameter of a variant that is not chosen"
    choose(lab, "variant", "window")
    assert parameter(lab, "left").is_visible()
    assert text(lab, ".pl-diff-note").startswith("variant none → window · +")
    lab.click(f"{EXPLORER} button:has-text('Diff')")
    fold = lab.locator(f"{EXPLORER} .pl-fold button:text-matches('31 more like this')")
    shown = lab.locator(f"{EXPLORER} .pl-diff .pl-add, {EXPLORER} .pl-diff .pl-chg").count()
    assert shown < 90, "one of 32 copies"
    shot(lab, "variant-window-diff")
    fold.click()
    assert lab.locator(f"{EXPLORER} .pl-diff .pl-add, {EXPLORER} .pl-diff .pl-chg").count() > shown + 100
    assert "✓ pass" in figures(lab)["error ÷ tol."]
    lab.click(f"{EXPLORER} button:has-text('Pictures')")
    tiles = lab.locator(f"{EXPLORER} .pl-card:has(.pl-tilemap)")
    assert "7/16 run" in tiles.inner_text()
    assert tiles.locator(".pl-part").count() == 4
    assert tiles.locator("svg .pl-masked").count() == 5
    type_number(lab, "left", 100)
    assert text(lab, ".pl-against b") == "left 16 → 100"
    assert "9/16 run" in tiles.inner_text()


@pytest.mark.rest
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_each_kind_of_variant_as_it_looks(lab: Any, theme: str) -> None:
    lab_server.use_theme(lab, f"JupyterLab {theme}")
    lab.click(f"{EXPLORER} button:has-text('Pictures')")
    for variant in ("window", "document", "alibi"):
        choose(lab, "variant", variant)
        assert "✓ pass" in figures(lab)["error ÷ tol."]
        shot(lab, f"variant-{variant}-{theme.lower()}")

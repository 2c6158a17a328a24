"""axe-core on the explorer and its parameters, every tab of it, in light and dark."""

from __future__ import annotations

from pathlib import Path

import accessibility
import lab_server
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")
pytestmark = [pytest.mark.browser]


def test_axe_finds_nothing_serious_in_the_explorer(tmp_path: Path, browser_path: str) -> None:
    lab_server.write_notebook(tmp_path / "a.ipynb", 'import ptxlab as pl\npl.explore("tiled", seq_len=64, head_dim=16)')
    with lab_server.server(tmp_path) as (url, token), lab_server.chromium(browser_path) as browser:
        page = browser.new_page(viewport={"width": 1500, "height": 1300})
        page.set_default_timeout(120_000)
        lab_server.open_notebook(page, url, token, "a.ipynb")
        lab_server.run_all(page)
        page.wait_for_selector(".ptxlab-explorer[data-state=done]", state="attached")
        page.wait_for_selector(".ptxlab-parameters [role=slider][aria-label='head dim']", state="attached")
        for theme in ("Light", "Dark"):
            lab_server.use_theme(page, f"JupyterLab {theme}")
            for tab in ("Error and softmax", "Counters", "Roofline and occupancy"):
                page.click(f".ptxlab-explorer button:has-text('{tab}')")
                assert accessibility.violations(page, ".ptxlab-explorer") == [], (theme, tab)
            assert accessibility.violations(page, ".ptxlab-parameters") == [], theme

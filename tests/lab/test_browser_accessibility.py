"""axe-core on the explorer and its parameters, every tab of it, in light and dark."""

from __future__ import annotations

import accessibility
import lab_server
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")
pytestmark = [pytest.mark.browser]


def test_axe_finds_nothing_serious_in_the_explorer(jupyter: lab_server.Jupyter, browser_path: str) -> None:
    with lab_server.lab_page(jupyter, browser_path, 1500, 1300) as (page, folder):
        page.set_default_timeout(120_000)
        source = 'import ptxlab as pl\npl.explore("tiled", seq_len=64, head_dim=16)'
        lab_server.open_notebook(page, jupyter, lab_server.write_notebook(folder / "a.ipynb", source))
        lab_server.run_all(page)
        page.wait_for_selector(".ptxlab-explorer[data-state=done]", state="attached")
        page.wait_for_selector(".ptxlab-parameters [role=slider][aria-label='head dim']", state="attached")
        for theme in ("Light", "Dark"):
            lab_server.use_theme(page, f"JupyterLab {theme}")
            for tab in ("Error and softmax", "Counters", "Roofline and occupancy"):
                page.click(f".ptxlab-explorer button:has-text('{tab}')")
                assert accessibility.violations(page, ".ptxlab-explorer") == [], (theme, tab)
            assert accessibility.violations(page, ".ptxlab-parameters") == [], theme

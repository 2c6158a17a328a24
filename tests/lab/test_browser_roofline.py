"""The roofline that the page draws is the one that Python has, for every kernel of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lab_server
import pytest
from explorer_page import EXPLORER, figures, settle, text
from rooflines import SIZES, both

from ptxlab import kernels

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser, pytest.mark.rest]


@pytest.fixture(scope="module")
def lab(jupyter: lab_server.Jupyter, browser_path: str) -> Iterator[Any]:
    """A page with a cell that shows an explorer of whichever kernel."""
    with lab_server.lab_page(jupyter, browser_path, 1440, 900) as (page, folder):
        notebook = lab_server.write_notebook(folder / "roofline.ipynb", "import ptxlab as pl")
        lab_server.open_notebook(page, jupyter, notebook)
        lab_server.run_all(page)
        yield page


@pytest.mark.parametrize("name", kernels.names())
def test_the_page_has_the_roof_that_python_has(lab: Any, name: str) -> None:
    sizes = ", ".join(f"{key}={value}" for key, value in SIZES.items())
    lab.evaluate(
        "source => { document.querySelector('.ptxlab-explorer')?.remove();"
        " jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(source);"
        " void jupyterapp.commands.execute('notebook:run-cell') }",
        f"import ptxlab as pl\npl.explore({name!r}, {sizes})",
    )
    settle(lab)
    assert lab.get_attribute(EXPLORER, "data-state") == "done"
    lab.click(f"{EXPLORER} button:has-text('Roofline and occupancy')")
    card = f"{EXPLORER} section[aria-label=Roofline]"
    lab.click(f"{card} button:text-is('Table')")
    found, run = both(name, **SIZES)
    rows = lab.eval_on_selector_all(
        f"{card} table:first-of-type tbody tr", "all => all.map((r) => [...r.children].map((c) => c.textContent))"
    )
    wanted = [[what, origin, f"{x:.3g}", found.bound(x)] for origin, what, x, _ in found.points()]
    assert [[row[0], row[1], row[2], row[4]] for row in rows[: len(wanted)]] == wanted
    row = next(r for r in run["counters"]["memory"] if r["name"] == "global sectors")
    assert figures(lab)["sectors"].endswith(f"×{row['value'] / row['ideal']:.3g} of ideal"), text(lab, ".pl-strip")

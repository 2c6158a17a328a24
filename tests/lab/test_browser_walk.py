"""The way through all rungs as a new student goes it: by the buttons that the page offers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from explorer_page import EXPLORER, chooser, figures, number, settle, text, type_on_slider

from ptxlab import kernels

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

WINDOW = (1440, 900)
CELLS = ("import ptxlab as pl\npl.explore()",)


def chosen_kernel(chosen: Any) -> str:
    """The name of the kernel that the list shows: what stands before its title."""
    return str(chosen.evaluate("e => e.selectedOptions[0].textContent").split()[0])


def onward(page: Any) -> None:
    """Presses "Next: ..."."""
    before = number(page)
    page.click(f"{EXPLORER} .pl-next")
    settle(page, before)
    assert page.get_attribute(EXPLORER, "data-state") == "done"


@pytest.mark.rest
def test_counts_of_another_problem_are_judged_for_equal_work(lab: Any) -> None:
    """`scalar` opens with 64 rows and keys, `tiled` with 192: nine times the work."""
    assert "per work" not in str(figures(lab))
    onward(lab)
    assert text(lab, ".pl-against").startswith("scalar → tiled, Sq 64 → 192, Sk 64 → 192")
    assert "×0.14 per work" in figures(lab)["sectors"]
    assert lab.locator(f"{EXPLORER} .pl-figure:has-text('executed') .pl-worse").count() == 1, (
        "in its second block half of the threads are idle"
    )
    before = number(lab)
    lab.locator(f"{EXPLORER} .pl-head button:text-is('Pin')").click()
    settle(lab, before)
    before = number(lab)
    type_on_slider(lab, "Sq", 128)
    settle(lab, before)
    shown = figures(lab)["executed"]
    assert "per work" in shown
    assert float(shown.split("×")[1].split()[0]) < 1, "now all of its threads have a row"
    assert lab.locator(f"{EXPLORER} .pl-figure:has-text('executed') .pl-better").count() == 1


@pytest.mark.rest
def test_every_rung_leads_to_the_next(lab: Any) -> None:
    names = kernels.names()
    chosen = chooser(lab, "kernel")
    shown = chosen_kernel(chosen)
    for name in names[names.index(shown) + 1 :]:
        onward(lab)
        assert chosen_kernel(chosen) == name
        asked = text(lab, ".pl-lesson")
        assert re.search(r"\?\s+Look at: .*\s+line \d", asked, re.DOTALL), asked
        assert "– " not in str(figures(lab)), name
        lab.click(f"{EXPLORER} button:has-text('Counters')")
        told = lab.locator(f"{EXPLORER} section[aria-label='Instruction mix'] .pl-legend")
        assert told.evaluate("e => e.scrollWidth <= e.clientWidth"), name
    assert lab.locator(f"{EXPLORER} .pl-next").count() == 0

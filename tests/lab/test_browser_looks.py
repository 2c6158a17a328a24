"""What the explorer looks like where it is easily spoilt: beside other figures, in other colours, narrow, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lab_server
import pytest
from accessibility import violations
from explorer_page import EXPLORER, choose, code_of, lines, text, tick, until, whole

import ptxlab as pl

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser, pytest.mark.rest]

WINDOW = (1440, 900)
CELLS = ('import ptxlab as pl\npl.explore("tiled", sigma=3)',)


def lesson_line(page: Any) -> str:
    """The PTX at the line that the lesson names."""
    line = page.inner_text(f"{EXPLORER} .pl-lesson .pl-quiet").removeprefix("line ")
    whole(page)
    return code_of(page, line).strip()


def run(page: Any, source: str) -> None:
    """Puts other text into the cell and runs it."""
    page.evaluate(
        "source => { const notebook = jupyterapp.shell.currentWidget.content;"
        " notebook.activeCell.model.sharedModel.setSource(source);"
        " void jupyterapp.commands.execute('notebook:run-cell') }",
        source,
    )


def test_the_line_that_a_lesson_names_moves_with_the_code(lab: Any) -> None:
    before = lesson_line(lab)
    assert before.startswith("bar.sync")
    tick(lab, "causal")
    assert lesson_line(lab) == before


@pytest.mark.parametrize("width", [1440, 1024, 600])
def test_no_table_is_cut_where_figures_stand_beside_earlier_ones(lab: Any, width: int) -> None:
    lab.set_viewport_size({"width": width, "height": 900})
    try:
        lab.click(f"{EXPLORER} button:has-text('Counters')")
        if lab.is_hidden(f"{EXPLORER} .pl-against"):
            tick(lab, "causal")
        lab_server.painted(lab)
        assert lab.locator(f"{EXPLORER} section[aria-label='Memory and work'] .pl-was").count() > 0
        for name in ("Instruction mix", "Memory and work", "Lines that cost most"):
            table = lab.locator(f"{EXPLORER} section[aria-label='{name}'] .pl-open")
            assert table.evaluate("e => [e.clientWidth > 0, e.scrollWidth - e.clientWidth]") == [True, 0], name
    finally:
        lab.set_viewport_size({"width": 1440, "height": 900})


def test_numbers_that_changed_can_be_read_in_the_diff(lab: Any) -> None:
    tick(lab, "causal")
    choose(lab, "KV tile", "16")
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab_server.use_theme(lab, theme)
        lab.click(f"{EXPLORER} button:has-text('Diff')")
        assert lab.locator(f"{EXPLORER} .pl-diff .n mark").count() > 0
        assert violations(lab, EXPLORER) == []
    lab_server.use_theme(lab, "JupyterLab Light")
    lab.click(f"{EXPLORER} button:has-text('Code')")


def test_an_empty_page_of_results_says_why(lab: Any) -> None:
    source = 'import numpy as np\nq = np.zeros(4, np.float32)\nptx = pl.kernels.get("scalar").build(head_dim=8).ptx\n'
    run(lab, source + "pl.explore(ptx, 1, 128, q, q, q, q, q, 1, 1, 1, 64, 64, 1.0)")
    lab.wait_for_selector(f"{EXPLORER} .pl-problem:not([hidden])")
    until(lab, "failed")
    assert text(lab, ".pl-pages > .pl-blank").startswith("There are no results: the message above says why.")


def test_an_empty_page_of_results_says_what_to_press(lab: Any) -> None:
    run(lab, 'pl.explore("scalar", seq_q=512, seq_k=512, device="step")')
    lines(lab).first.wait_for()
    until(lab, "asking")
    empty = ".pl-pages > .pl-blank"
    assert text(lab, empty) == "No results yet: the run waits until you press Run, at the top."
    lab.click(f"{EXPLORER} .pl-act")
    until(lab, "cancelled")
    assert text(lab, empty) == "No results: the run was cancelled. Run again, at the top, begins it anew."


def test_a_file_offers_nothing_that_it_does_not_have(lab: Any, tmp_path: Path) -> None:
    explorer = pl.explore("scalar", seq_len=16, head_dim=16, device="cpu")
    explorer.save(tmp_path / "page.html")
    page = lab.context.browser.new_page(viewport={"width": 1200, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    lines(page).first.wait_for()
    assert not page.is_visible(f"{EXPLORER} button:has-text('SASS')"), "nobody can be asked for it"
    page.click(f"{EXPLORER} button:has-text('Diff')")
    assert page.is_visible(f"{EXPLORER} [aria-label=language] button:has-text('Python')")
    assert not page.is_visible(f"{EXPLORER} button:has-text('SASS')")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for tab in ("Diff", "Code", "Counters", "Roofline", "Pictures"):
            page.click(f"{EXPLORER} button:has-text('{tab}')")
            lab_server.painted(page)
            known = "" if tab in ("Diff", "Code") else ".pl-panes"
            assert violations(page, "main", but=known) == [], (scheme, tab)
    assert said == []
    page.close()

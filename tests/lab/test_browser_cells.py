"""The plugin for JupyterLab: cells that begin with %%ptx or %%cuda are coloured in their own language as one types, say
what a word means, and mark what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lab_server
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser, pytest.mark.rest]

PTX = "%%ptx --grid 1 --args x,?\n// a loop for all that is in it\n@%p1 ld.global.f32 %f1, [%rd1];\n.reg .u32 %t;"
CUDA = '%%cuda --grid 1\nextern "C" __global__ void f(int *x) { for (;;) return; }'
PYTHON = "for x in range(3):\n    pass"


@pytest.fixture(scope="module")
def lab(jupyter: lab_server.Jupyter, browser_path: str) -> Iterator[Any]:
    """A page with a cell of each language."""
    with lab_server.lab_page(jupyter, browser_path, 1200, 700) as (page, folder):
        notebook = lab_server.write_notebook(folder / "cells.ipynb", PTX, CUDA, PYTHON, "%load_ext ptxlab")
        lab_server.open_notebook(page, jupyter, notebook)
        yield page


def pieces(page: Any, cell: int, line: int) -> dict[str, str]:
    """The coloured pieces of a line: text -> colour."""
    found = page.locator(".jp-Cell").nth(cell).locator(".cm-line").nth(line)
    return dict(
        found.evaluate("e => [...e.querySelectorAll('span')].map(s => [s.textContent, getComputedStyle(s).color])")
    )


def test_a_ptx_cell_is_ptx(lab: Any) -> None:
    lab.wait_for_function(
        "() => document.querySelectorAll('.jp-Cell')[0].querySelectorAll('.cm-line')[2].querySelectorAll('span').length"
        " > 4"
    )
    assert list(pieces(lab, 0, 0)) == ["%%ptx --grid 1 --args x,?"]
    assert list(pieces(lab, 0, 1)) == ["// a loop for all that is in it"], "no word of a comment is a keyword"
    line = pieces(lab, 0, 2)
    assert {"%p1", "ld", "%f1", "%rd1"} <= set(line)
    assert line["ld"] != line["%f1"]
    lab_server.ARTIFACTS.mkdir(exist_ok=True)
    lab.screenshot(path=str(lab_server.ARTIFACTS / "cells.png"))


def test_a_cuda_cell_is_cpp(lab: Any) -> None:
    lab.wait_for_function(
        "() => [...document.querySelectorAll('.jp-Cell')[1].querySelectorAll('.cm-line')[1].querySelectorAll('span')]"
        ".some(s => s.textContent === 'extern')"
    )
    assert "return" in pieces(lab, 1, 1)


def test_a_cell_changes_its_language_with_its_first_line(lab: Any) -> None:
    assert "in" in pieces(lab, 2, 0), "Python's"
    cell = lab.locator(".jp-Cell").nth(2).locator(".cm-content")
    cell.click()
    lab.keyboard.press("Control+Home")
    lab.keyboard.type("%%ptx\n")
    lab.keyboard.press("Control+End")
    lab.keyboard.type("\nret;")
    lab.wait_for_function(
        "() => { const lines = document.querySelectorAll('.jp-Cell')[2].querySelectorAll('.cm-line');"
        " return [...lines[lines.length - 1].querySelectorAll('span')].some(s => s.textContent === 'ret') }"
    )
    assert "in" not in pieces(lab, 2, 1)
    lab.keyboard.press("Control+Home")
    lab.keyboard.press("Shift+ArrowDown")
    lab.keyboard.press("Delete")
    lab.wait_for_function(
        "() => [...document.querySelectorAll('.jp-Cell')[2].querySelectorAll('.cm-line')[0].querySelectorAll('span')]"
        ".some(s => s.textContent === 'in')"
    )


WRONG = """%%ptx
.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 x)
{
    .reg .u64 %a;
    .reg .f32 %v;
    ld.param.u64 %a, [x];
    ld.global.f32 %v [%a];
    ret;
}"""


def write(page: Any, cell: int, source: str) -> None:
    """Gives a cell another text, and puts the cursor into it."""
    page.evaluate(
        "([n, source]) => { const notebook = jupyterapp.shell.currentWidget.content; notebook.activeCellIndex = n;"
        " notebook.widgets[n].model.sharedModel.setSource(source) }",
        [cell, source],
    )
    page.locator(".jp-Cell").nth(cell).locator(".cm-line").first.click()


def test_mistakes_are_marked_and_words_explained_where_they_are_typed(lab: Any) -> None:
    """By the kernel, once it has loaded ptxlab; before, nothing is there and nothing is wrong."""
    write(lab, 0, WRONG)
    lab.wait_for_timeout(600)
    assert lab.locator(".cm-lintRange-error").count() == 0
    lab.evaluate(
        "() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 3;"
        " return jupyterapp.commands.execute('notebook:run-cell') }"
    )
    lab.wait_for_timeout(3000)  # a kernel that did not know ptxlab is asked again after this time
    marked = lab.locator(".jp-Cell").nth(0).locator(".cm-lintRange-error")
    lab_server.act_until(lab, lambda: write(lab, 0, WRONG), lambda: marked.count() > 0)
    assert marked.count() == 1
    line = lab.locator(".jp-Cell").nth(0).locator(".cm-line:has(.cm-lintRange-error)")
    assert line.inner_text().strip() == "ld.global.f32 %v [%a];"
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab_server.use_theme(lab, theme)
        lab_server.rest_on(lab, marked.first, ".cm-tooltip .cm-diagnostic .pl-doc")
        lab.screenshot(path=str(lab_server.ARTIFACTS / f"cells-mistake-{theme[11:].lower()}.png"))
        lab.mouse.move(2, 2)  # CodeMirror shows no other tooltip where the theme changes under one
        lab.locator(".cm-tooltip").wait_for(state="detached")
    lab_server.use_theme(lab, "JupyterLab Light")
    line = lab.locator(".jp-Cell").nth(0).locator(".cm-line").nth(8)
    lab_server.rest_on(lab, line.locator("span:text-is('ld')"), ".cm-tooltip .pl-doc-title")
    assert lab.inner_text(".cm-tooltip .pl-doc-title").startswith("ld.param.u64")
    lab.screenshot(path=str(lab_server.ARTIFACTS / "cells-hover.png"))
    word = lab.locator(".jp-Cell").nth(1).locator(".cm-line").nth(1).locator("span:text-is('extern')")
    lab_server.rest_on(lab, word, ".cm-tooltip:has-text('keeps the name of a kernel as it is written')")
    lab.screenshot(path=str(lab_server.ARTIFACTS / "cells-cuda.png"))

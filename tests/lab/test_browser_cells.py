"""The plugin for JupyterLab: cells that begin with %%ptx or %%cuda are coloured in their own language as one types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import lab_server
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser]

PTX = "%%ptx --grid 1 --args x,?\n// a loop for all that is in it\n@%p1 ld.global.f32 %f1, [%rd1];\n.reg .u32 %t;"
CUDA = '%%cuda --grid 1\nextern "C" __global__ void f(int *x) { for (;;) return; }'
PYTHON = "for x in range(3):\n    pass"


@pytest.fixture(scope="module")
def lab(jupyter: lab_server.Jupyter, browser_path: str) -> Iterator[Any]:
    """A page with a cell of each language."""
    with lab_server.lab_page(jupyter, browser_path, 1200, 700) as (page, folder):
        notebook = lab_server.write_notebook(folder / "cells.ipynb", PTX, CUDA, PYTHON)
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

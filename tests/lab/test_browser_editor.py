"""The editor and completion in `%%ptx` cells in a real JupyterLab; axe-core on what the magics and the editor show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import accessibility
import lab_server
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytest.importorskip("anywidget", reason="needs anywidget: pip install anywidget")

from ptxlab.lab.editing import START

pytestmark = [pytest.mark.browser]

EDITOR = ".ptxlab-editor"
CELLS = (
    "%load_ext ptxlab\nimport numpy as np\nimport ptxlab as pl\n\nx = np.zeros(32, np.uint32)\n"
    "pl.editor(pl.lab.editing.START, 1, 32, x)",
    f"%%ptx --args x --counters -k first\n{START}",
    f"%%ptx --diff first\n{START.replace('%lane, 4;', '%lane, 8;')}",
    f"%%ptx\n{START.replace('%lane, 4;', '%lane 4;')}",
)


@pytest.fixture(scope="module")
def lab(jupyter: lab_server.Jupyter, browser_path: str) -> Iterator[Any]:
    """A page with an editor and the outputs of some cells."""
    with lab_server.shown(jupyter, browser_path, (1200, 1400), *CELLS) as page:
        page.wait_for_selector(f'{EDITOR}[data-checked^="0:"]')
        page.wait_for_selector(".pl-error")
        yield page


def line(page: Any, text: str) -> Any:
    """The line of the editor that holds a text."""
    return page.locator(f"{EDITOR} .cm-line", has_text=text).first


def write(page: Any, text: str) -> None:
    """Puts a text in place of all that stands in the editor."""
    page.click(f"{EDITOR} .cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def idle(page: Any) -> None:
    """Waits until Python has answered for the text as it stands."""
    page.wait_for_selector(f"{EDITOR}:not([data-behind])")


def test_mistakes_are_marked_as_they_are_typed(lab: Any) -> None:
    write(lab, START.replace("%lane, 4;", "%lane 4;"))
    lab.wait_for_selector(f"{EDITOR} .cm-lintRange-error")
    idle(lab)
    assert lab.inner_text(f"{EDITOR} .pl-status") == "1 problem"
    assert lab.inner_text(f"{EDITOR} .pl-problems") == "line 12 expected ',' or ';' after '%lane'; found '4'"
    assert lab.inner_text(f"{EDITOR} .cm-lintRange-error") == "4"
    tip = f"{EDITOR} .cm-tooltip-lint"
    lab_server.rest_on(lab, lab.locator(f"{EDITOR} .cm-lintRange-error"), tip)
    assert "write:  mul.wide.u32  %at, %lane, 4;" in lab.inner_text(tip)
    lab_server.ARTIFACTS.mkdir(exist_ok=True)
    lab.screenshot(path=str(lab_server.ARTIFACTS / "editor-mistake.png"))
    lab.mouse.move(3, 3)
    lab.click(f"{EDITOR} .pl-problems button")
    lab.keyboard.insert_text(",")  # the cursor stands before the 4
    lab.wait_for_selector(f"{EDITOR} .cm-lintRange-error", state="detached")
    lab.wait_for_function(f"!document.querySelector('{EDITOR} .pl-problems').children.length")


def test_the_mouse_explains_words(lab: Any) -> None:
    write(lab, START)
    lab.wait_for_selector(f'{EDITOR}:not([data-behind])[data-checked$="assembled"]')
    tip = f"{EDITOR} .cm-tooltip .pl-doc"
    lab_server.rest_on(lab, line(lab, "mul.wide").locator(".o"), tip)
    says = lab.inner_text(tip)
    assert says.startswith("mul.wide.u32\n")
    assert "The whole product, in a register of twice the width." in says
    assert "d\nwritten: .u64." in says.replace("\n\n", "\n")
    lab.mouse.move(3, 3)
    lab.wait_for_selector(tip, state="detached")
    lab_server.rest_on(lab, line(lab, "st.global").locator(".r").first, tip)
    assert "A register of type .u64." in lab.inner_text(tip)
    lab.mouse.move(3, 3)


def test_words_are_completed(lab: Any) -> None:
    write(lab, START.replace("    ret;\n}\n", ""))
    lab.keyboard.press("Control+End")
    lab.keyboard.type("    fma.rn.f3")
    offered = lab.locator(f"{EDITOR} .cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled) [aria-selected]")
    lab_server.act_until(lab, lambda: lab.keyboard.press("Control+Space"), lambda: offered.count() > 0)
    assert offered.inner_text().startswith("fma.rn.f32")
    lab.wait_for_timeout(150)  # CodeMirror takes no key within 75 ms of opening its list
    lab.keyboard.press("Enter")
    assert lab.locator(f"{EDITOR} .cm-line", has_text="fma.rn.f32").count() == 1


def test_what_stands_there_is_run(lab: Any) -> None:
    write(lab, START.replace("%lane, 4;", "%lane, 4;\n    add.u32 %lane, %lane, 5;"))
    lab.keyboard.press("Control+Enter")
    lab.wait_for_selector(f"{EDITOR}[data-ran]")
    assert "uint32 [32]: 5 6 7 8 9 10 11 12 ..." in lab.inner_text(f"{EDITOR} .pl-output")
    write(lab, START.replace("%lane, 4;", "%lane, 400;"))
    lab.click(f"{EDITOR} .pl-apply")
    lab.wait_for_function(f"document.querySelector('{EDITOR} .pl-output').textContent.includes('memcheck: store')")
    lab.wait_for_selector(f'{EDITOR}:not([data-behind])[data-checked$="assembled"]')
    assert lab.inner_text(f"{EDITOR} .pl-status") == "stopped: see the message"


@pytest.mark.rest
def test_axe_finds_nothing_serious(lab: Any) -> None:
    write(lab, START.replace("%lane, 4;", "%lane 4;"))
    lab.wait_for_selector(f"{EDITOR} .cm-lintRange-error")
    for theme in ("Light", "Dark"):
        lab_server.use_theme(lab, f"JupyterLab {theme}")
        for part in (EDITOR, f".jp-OutputArea-output .ptxlab-view:not({EDITOR})"):
            assert accessibility.violations(lab, part) == []
        lab.eval_on_selector(".jp-Cell", "e => e.scrollIntoView({block: 'start'})")
        lab.screenshot(path=str(lab_server.ARTIFACTS / f"editor-{theme.lower()}.png"))
    lab_server.use_theme(lab, "JupyterLab Light")

"""What the explorer's page remembers: a setting that was seen before is shown at once, as the kernel answered it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lab_server
import pytest
from explorer_page import EXPLORER, choose, figures, number, settle, text, type_on_slider

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser, pytest.mark.rest]

SOURCE = 'import ptxlab as pl\n\nshown = pl.explore("scalar", seq_len=12, head_dim=16)\nshown'
DEAF = "import time\nshown._sending.acquire()\nprint('deaf', flush=True)\ntime.sleep(4)\nshown._sending.release()"
"""For four seconds the kernel neither answers nor hears of a control."""
FORETOLD = """
import time
while shown.session._preparing._work is None:
    time.sleep(0.01)
shown.session._preparing._work.result()
"""

TEXTS = """
import numpy as np
HEAD = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f(.param .u64 x)\\n{\\n"
HEAD += ".reg .u64 %a;\\n.reg .u32 %t;\\nld.param.u64 %a, [x];\\n"
ONE, TWO = (HEAD + f"mov.u32 %t, {n};\\nst.global.u32 [%a], %t;\\nret;\\n}}\\n" for n in (1, 2))
shown = pl.explore(ONE, 1, 1, np.zeros(1, np.uint32))
shown
"""


@pytest.fixture(scope="module")
def opened(jupyter: lab_server.Jupyter, browser_path: str) -> Iterator[tuple[Any, Path]]:
    """A page, and the folder of its notebooks."""
    with lab_server.lab_page(jupyter, browser_path, 1440, 900) as (page, folder):
        yield page, folder


@pytest.fixture
def lab(jupyter: lab_server.Jupyter, opened: tuple[Any, Path]) -> Any:
    """The page with an explorer of its own and a second cell."""
    return notebook(jupyter, opened, SOURCE)


_numbers = itertools.count()


def notebook(jupyter: lab_server.Jupyter, opened: tuple[Any, Path], source: str) -> Any:
    page, folder = opened
    path = lab_server.write_notebook(folder / f"memory{next(_numbers)}.ipynb", source, "pass")
    lab_server.open_notebook(page, jupyter, path)
    lab_server.run_all(page)
    settle(page)
    return page


def run_second(page: Any, source: str) -> None:
    """Runs a text in the second cell."""
    page.evaluate(
        "source => { const notebook = jupyterapp.shell.currentWidget.content; notebook.activeCellIndex = 1;"
        " notebook.activeCell.model.sharedModel.setSource(source);"
        " void jupyterapp.commands.execute('notebook:run-cell') }",
        source,
    )


def on_page(page: Any) -> dict[str, Any]:
    """What stands on the page: the kernel, its figures, the code, the error map and the curves."""
    return {
        "entry": text(page, ".pl-entry"),
        "figures": figures(page),
        "code": page.eval_on_selector_all(
            f"{EXPLORER} section[aria-label=PTX] .pl-now .pl-line",
            "all => Object.fromEntries(all.map(l => [l.dataset.line, l.querySelector('code').textContent]))",
        ),
        "map": page.eval_on_selector(f"{EXPLORER} canvas", "c => c.toDataURL()"),
        "curves": page.eval_on_selector_all(
            f"{EXPLORER} .pl-plot polyline", "all => all.map(p => p.getAttribute('points'))"
        ),
    }


def same(a: dict[str, Any], b: dict[str, Any], *, figures: bool = True) -> bool:
    """Whether the page shows the same twice; of the code, where both have made a line. The figures have those of the
    setting before beside them, which may be another."""
    both = a["code"].keys() & b["code"].keys()
    lines = len(both) >= 16 and all(a["code"][line] == b["code"][line] for line in both)
    return lines and all(a[part] == b[part] for part in ("entry", "map", "curves", *(["figures"] if figures else [])))


def move(page: Any, head_dim: int) -> None:
    before = number(page)
    type_on_slider(page, "head dim", head_dim)
    settle(page, before)


def test_a_seen_setting_is_shown_while_the_kernel_is_deaf(lab: Any) -> None:
    first = on_page(lab)
    move(lab, 24)
    other = on_page(lab)
    assert other["entry"] != first["entry"]
    move(lab, 16)
    assert same(on_page(lab), first, figures=False)
    move(lab, 24)
    run_second(lab, DEAF)
    lab.wait_for_function("jupyterapp.shell.currentWidget.context.sessionContext.session.kernel.status === 'busy'")
    before = number(lab)
    type_on_slider(lab, "head dim", 16)
    lab.wait_for_function(
        f"name => document.querySelector('{EXPLORER} .pl-entry').textContent === name", arg=first["entry"]
    )
    lab.wait_for_timeout(600)  # after so long, what does not say what the controls say is dimmed
    assert lab.get_attribute(EXPLORER, "data-state") == "changed", "the kernel has not answered"
    assert number(lab) == before
    assert "pl-behind" not in lab.get_attribute(EXPLORER, "class")
    assert lab.locator(f"{EXPLORER} .pl-stale").count() == 0
    assert same(on_page(lab), first, figures=False)
    type_on_slider(lab, "head dim", 40)  # never seen: nothing can be shown for it
    lab.wait_for_function(f"document.querySelector('{EXPLORER}').classList.contains('pl-behind')")
    settle(lab, before)
    lab.wait_for_function(f"document.querySelector('{EXPLORER} .pl-entry').textContent.includes('d40')")
    move(lab, 16)
    assert same(on_page(lab), first, figures=False)


def test_code_that_was_foretold_stands_before_the_kernel_has_heard(
    jupyter: lab_server.Jupyter, opened: tuple[Any, Path]
) -> None:
    lab = notebook(jupyter, opened, f"import os\n\nos.environ['PTXLAB_BUILD_AHEAD'] = 'on'\n{SOURCE}")
    move(lab, 17)
    move(lab, 18)
    run_second(lab, FORETOLD + DEAF)
    lab.wait_for_selector(".jp-OutputArea-output:has-text('deaf')")
    before = number(lab)
    type_on_slider(lab, "head dim", 19)
    lab.wait_for_function(f"document.querySelector('{EXPLORER} .pl-entry').textContent.includes('d19')")
    assert (lab.get_attribute(EXPLORER, "data-state"), number(lab)) == ("changed", before), (
        "the kernel has not answered"
    )
    assert "pl-behind" not in lab.get_attribute(EXPLORER, "class")
    stale = lab.eval_on_selector_all(f"{EXPLORER} .pl-stale", "all => all.map(e => e.className)")
    assert stale, "the figures are of the setting before"
    assert not any("pl-pane" in name for name in stale), "the code is not"
    code = on_page(lab)["code"]
    settle(lab, before)
    assert lab.locator(f"{EXPLORER} .pl-stale").count() == 0
    after = on_page(lab)["code"]
    assert all(after[line] == code[line] for line in code.keys() & after.keys())


def test_an_edited_text_is_not_the_one_before(jupyter: lab_server.Jupyter, opened: tuple[Any, Path]) -> None:
    """Two texts with the same controls: what was answered for the first is not shown for the second."""
    page = notebook(jupyter, opened, "import ptxlab as pl" + TEXTS)
    apply = "from ptxlab.lab.edited_kernel import Edited\nbase, given = shown.subject, shown.session.request.given\n"
    for show in (apply + "shown._show(Edited(base, given, ONE))", "shown._show(Edited(base, given, TWO))"):
        before = number(page)
        run_second(page, show)
        settle(page, before)
        for device in ("step", "cpu") if show.startswith(apply) else ():
            choose(page, "device", device)
    ptx = f"{EXPLORER} section[aria-label=PTX] .pl-lines"
    now = f"{ptx} .pl-now"
    assert "mov.u32 %t, 2;" in page.text_content(now)
    page.evaluate(
        f"() => {{ window.texts = []; const pane = document.querySelector('{ptx}');"
        f" const old = () => document.querySelector('{now}').textContent.includes('%t, 1;');"
        " window.looking = new MutationObserver(() => window.texts.push(old()));"
        " window.looking.observe(pane, { childList: true, subtree: true, attributes: true }); }"
    )
    for device in ("step", "cpu", "step"):
        choose(page, "device", device)
    assert True not in page.evaluate("() => { window.looking.disconnect(); return window.texts }")
    assert "mov.u32 %t, 2;" in page.text_content(now)

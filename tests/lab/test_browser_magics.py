"""`%%ptx` and a saved notebook in a real JupyterLab: results and errors as seen with and without a kernel."""

from __future__ import annotations

import json

import lab_server
import pytest

pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
pytestmark = [pytest.mark.browser, pytest.mark.rest]

PTX = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 x)
{
    .reg .u32 %lane;
    .reg .u64 %x, %offset;
    mov.u32 %lane, %tid.x;
    ld.param.u64 %x, [x];
    mul.wide.u32 %offset, %lane, 4;
    add.u64 %x, %x, %offset;
    st.global.u32 [%x], %lane;
    ret;
}
"""
CELLS = (
    "%load_ext ptxlab\nimport numpy as np\nimport ptxlab as pl\n\nx = np.zeros(32, np.uint32)",
    f"%%ptx --args x --counters\n{PTX}",
    f"%%ptx --args x\n{PTX.replace('mul.wide.u32 %offset, %lane, 4;', 'mul.wide.u32 %offset, %lane 4;')}",
    "int(x.sum())",
    "pl.explore()",
    'pl.debug("tiled", seq_len=40, head_dim=16)',
)


def test_ptx_cells_run_and_a_saved_notebook_keeps_its_results(jupyter: lab_server.Jupyter, browser_path: str) -> None:
    with lab_server.lab_page(jupyter, browser_path, 1200, 3000) as (page, folder):
        notebook = lab_server.write_notebook(folder / "live.ipynb", *CELLS)
        lab_server.open_notebook(page, jupyter, notebook)
        lab_server.run_all(page)
        page.wait_for_selector('.ptxlab-explorer[data-busy=""] .pl-plot path.pl-series')
        page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
        outputs = page.locator(".jp-OutputArea-output")
        good, bad, total = (outputs.nth(k).inner_text() for k in range(3))
        assert "x\tuint32 [32]: 0 1 2 3 4 5 6 7 ..." in good
        assert page.locator(".ptxlab-view .o").count() >= 6
        assert "<ptx>:10:33:" in bad
        assert "    mul.wide.u32 %offset, %lane 4;\n" in bad
        assert "^" in bad
        assert "Traceback" not in bad
        copies = page.locator(".jp-OutputArea-child:has(.ptxlab-copy)")
        assert [copies.nth(k).is_hidden() for k in range(copies.count())] == [True, True]
        assert total == "496"  # the notebook went on after the mistake
        lab_server.ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=str(lab_server.ARTIFACTS / "magics.png"))
        page.evaluate("jupyterapp.commands.execute('docmanager:save')")

        saved = json.loads(notebook.read_text())
        saved["metadata"].pop("widgets", None)  # as committed notebooks are stripped
        text = json.dumps(saved)
        assert len(text) < 300_000
        (folder / "saved.ipynb").write_text(text)
        lab_server.open_notebook(page, jupyter, folder / "saved.ipynb")
        page.wait_for_selector(".jp-OutputArea-output img")
        page.wait_for_selector('.ptxlab-copy .ptxlab-debugger[data-ready="0:0"]')  # a notebook of one's own is trusted
        explorer, debugger = (page.locator(".jp-OutputArea-output:has(.ptxlab-copy)").nth(k) for k in (0, 1))
        assert explorer.is_visible()
        assert "scalar_f32_d64 for sm_80" in explorer.inner_text()
        assert "✓ pass" in explorer.inner_text()
        assert explorer.locator("img").count() == 2
        assert "A saved copy: it keeps steps " in debugger.inner_text()
        page.focus(".ptxlab-debugger .pl-slider")
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".ptxlab-debugger .pl-status").startswith("step 2 of ")
        assert page.locator(".jp-OutputArea-child:has-text('Error displaying widget')").last.is_hidden()
        page.screenshot(path=str(lab_server.ARTIFACTS / "saved.png"))

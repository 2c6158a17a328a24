"""Takes the pictures in `docs/images`, of explorer, debugger, editor and a cell of PTX:
`PYTHONPATH=tests/support python docs/pictures.py [SCENE ...]`.

All of them take some minutes. Look at each before it is committed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lab_server
from explorer_page import EXPLORER, settle

from ptxlab.cli import doctor

IMAGES = Path(__file__).parents[1] / "docs/images"
WIDE = 1480
SETUP = "import numpy as np\nimport ptxlab as pl\n%load_ext ptxlab"
CELL = (
    "%%ptx --grid 1 --block 32 --args x\n.version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry f(.param .u64 x)\n{\n    .reg .u64 %a;\n    .reg .f32 %v;\n    // one number for all lanes\n"
    "    ld.param.u64 %a, [x];\n    ld.global.f32 %v, [%a];\n    fma.rn.f32 %v, %v, %v;\n"
    "    st.global.f32 [%a], %v;\n    ret;\n}"
)


class Pictures:
    """A notebook in JupyterLab, what is done there, and the pictures of what it shows."""

    def __init__(self, page: Any, jupyter: lab_server.Jupyter, folder: Path) -> None:
        self.page, self.jupyter, self.folder = page, jupyter, folder
        self.opened = 0

    def open(self, *cells: str, wait: bool = True) -> None:
        """A new notebook with these cells behind the imports, all of them run."""
        self.opened += 1
        notebook = lab_server.write_notebook(self.folder / f"{self.opened}.ipynb", SETUP, *cells)
        lab_server.open_notebook(self.page, self.jupyter, notebook)
        lab_server.run_all(self.page)
        if wait:
            settle(self.page)

    def cell(self) -> None:
        """A cell of PTX, what is wrong in it as it is typed, and what running it says."""
        self.open("x = np.ones(1, np.float32)", CELL, wait=False)
        self.page.wait_for_selector(".jp-OutputArea-output:has-text('fma.rn.f32 takes 4 operands')")
        cell = self.page.locator(".jp-Cell").nth(2)
        lab_server.act_until(  # a kernel that did not know ptxlab when it was first asked is asked again later
            self.page,
            lambda: (self.page.mouse.click(2, 2), cell.locator(".cm-line").nth(5).click()),
            lambda: cell.locator(".cm-lintRange-error").count() > 0,
        )

    def take(self, name: str, height: int, seen: str = ".ptxlab-app", *, dark: bool = False) -> None:
        """One picture, with `seen` at the top of the window; `dark` also one in the dark theme."""
        self.page.set_viewport_size({"width": WIDE, "height": height})
        for theme in ("light", "dark") if dark else ("",):
            lab_server.use_theme(self.page, f"JupyterLab {theme.title() or 'Light'}")
            self.page.locator(seen).first.evaluate("e => e.scrollIntoView({block: 'start'})")
            lab_server.painted(self.page)
            self.page.screenshot(path=str(IMAGES / f"{name}{theme and '-'}{theme}.png"))
        lab_server.use_theme(self.page, "JupyterLab Light")
        print(name, flush=True)

    def click_line(self, opcode: str) -> None:
        """Chooses the first line of PTX with an opcode."""
        self.page.locator(
            f"{EXPLORER} section[aria-label=PTX] .pl-now .pl-line:has(.o:has-text('{opcode}'))"
        ).first.click()
        self.page.eval_on_selector_all(f"{EXPLORER} .pl-lines", "all => all.forEach(e => { e.scrollLeft = 0 })")
        self.page.mouse.move(2, 2)

    def debug(self) -> None:
        """Opens the debugger at the line that is chosen."""
        self.page.click(f"{EXPLORER} .pl-results button:has-text('Debug here')")
        self.page.wait_for_selector(".ptxlab-debugger[data-ready]:not([data-ready=''])")

    def first(self) -> None:
        """The first rung, with the rescale chosen; then the debugger there."""
        self.open('pl.explore("scalar", seq_len=100, head_dim=32, sigma=2)')
        self.click_line("ex2")
        self.take("explorer", 1180, ".jp-Cell", dark=True)
        self.debug()
        self.take("debugger", 1150, ".ptxlab-below")

    def fragments(self) -> None:
        """Which lane holds which element at an mma."""
        self.open('pl.explore("mma")')
        self.click_line("mma.sync")
        self.debug()
        self.take("debugger-fragments", 1400, ".ptxlab-below")

    def write(self, text: str, old: str, new: str) -> None:
        """Changes a word of the editor's line that has a text."""
        line = self.page.locator(f".ptxlab-editor .cm-line:has-text('{text}')").first
        line.click()
        self.page.keyboard.press("Home")
        self.page.keyboard.press("Shift+End")
        self.page.keyboard.insert_text(line.inner_text().strip().replace(old, new))

    def editor(self) -> None:
        """The editor: what is wrong as it is typed."""
        self.open("x = np.zeros(32, np.uint32)\npl.editor(pl.lab.editing.START, 1, 32, x)", wait=False)
        self.page.wait_for_selector(".ptxlab-editor[data-checked]")
        self.page.click(".ptxlab-editor .pl-apply")
        self.page.wait_for_selector(".ptxlab-editor[data-ran]")
        self.write("mul.wide", "%lane,", "%lane")
        wrong = self.page.locator(".ptxlab-editor .cm-lintRange-error")
        wrong.first.wait_for()
        self.page.set_viewport_size({"width": 1200, "height": 760})
        self.page.locator(".jp-Cell").first.evaluate("e => e.scrollIntoView({block: 'start'})")
        lab_server.rest_on(self.page, wrong.first, ".cm-tooltip .cm-diagnostic")
        lab_server.painted(self.page)
        self.page.screenshot(path=str(IMAGES / "editor-mistake.png"))
        print("editor-mistake", flush=True)

    def mistake(self) -> None:
        """A cell of PTX that stops at its mistake."""
        self.cell()
        self.page.mouse.click(2, 2)
        self.take("ptx-error", 640, ".jp-Cell >> nth=2")


ORDER: tuple[Callable[[Pictures], None], ...] = (
    Pictures.first,
    Pictures.fragments,
    Pictures.editor,
    Pictures.mistake,
)


if __name__ == "__main__":
    browser = doctor.browser()
    if browser is None:
        raise SystemExit("pictures: needs Chromium or Chrome")
    with tempfile.TemporaryDirectory() as place, lab_server.server(Path(place)) as jupyter:
        with lab_server.lab_page(jupyter, browser, 1440, 900) as (page, folder):
            made = Pictures(page, jupyter, folder)
            for scene in ORDER:
                if len(sys.argv) < 2 or scene.__name__ in sys.argv[1:]:
                    scene(made)

"""Takes pictures of the explorer, for people to look at: `python tests/support/explorer_pictures.py [FOLDER]`.

Each scene is one thing that the explorer promises, taken in three sizes of a window and in both themes of JupyterLab.
The page `index.html` in the folder lists them. It takes some minutes, so that no test does it.
"""

from __future__ import annotations

import html
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lab_server
from explorer_page import EXPLORER, choose, control, number, settle, tick, type_on_slider, until

from ptxlab.cli import doctor

SIZES = ((1440, 900), (1024, 768), (600, 900))
THEMES = ("Light", "Dark")
SETUP = "import numpy as np\nimport ptxlab as pl\n%load_ext ptxlab"
STATE = """pl.plot_state(pl.attention(*(np.random.default_rng(0).standard_normal((1, 1, 64, 32)).astype("f4")
                             for _ in range(3)), kernel="tiled", state=[(0, 0, 63)]))"""
FAULTY = """q = np.zeros(4, np.float32)
ptx = pl.kernels.get("scalar").build(head_dim=8).ptx
pl.explore(ptx, 1, 128, q, q, q, q, q, 1, 1, 1, 64, 64, 1.0)"""
CELL = (
    "%%ptx --grid 1 --block 32 --args x\n.version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry f(.param .u64 x)\n{\n    .reg .u64 %a;\n    .reg .f32 %v;\n    // one number for all lanes\n"
    "    ld.param.u64 %a, [x];\n    ld.global.f32 %v, [%a];\n    fma.rn.f32 %v, %v, %v;\n"
    "    st.global.f32 [%a], %v;\n    ret;\n}"
)
SOFTMAX = f"{EXPLORER} section[aria-label='Online softmax, tile by tile']"


class Scenes:
    """A notebook in JupyterLab, and what is done there before each picture."""

    def __init__(self, page: Any, jupyter: lab_server.Jupyter, folder: Path) -> None:
        self.page, self.jupyter, self.folder = page, jupyter, folder
        self.seen = ".ptxlab-app"
        self.opened = 0

    def open(self, *cells: str, wait: bool = True) -> None:
        """A new notebook with these cells behind the imports, all of them run."""
        self.opened += 1
        notebook = lab_server.write_notebook(self.folder / f"{self.opened}.ipynb", SETUP, *cells)
        lab_server.open_notebook(self.page, self.jupyter, notebook)
        lab_server.run_all(self.page)
        self.seen = ".ptxlab-app"
        if wait:
            settle(self.page)

    def press(self, text: str) -> None:
        """Presses a button of the explorer."""
        self.page.click(f"{EXPLORER} button:has-text('{text}')")

    def diff(self) -> None:
        """1: a changed KV tile, side by side."""
        self.open('pl.explore("tiled", tile_kv=32)')
        choose(self.page, "KV tile", "16")
        self.press("Diff ⇄")

    def moved(self) -> None:
        """5: a value that does not fit any more has moved, and says why."""
        self.press("Code")
        choose(self.page, "KV tile", "64")
        before = number(self.page)
        type_on_slider(self.page, "head dim", 128)
        settle(self.page, before)

    def asking(self) -> None:
        """2: a run that would take long waits; what is dimmed is of an earlier setting."""
        self.open('pl.explore("scalar", head_dim=32)')
        choose(self.page, "device", "step")
        type_on_slider(self.page, "Sk", 8192)
        until(self.page, "asking")

    def running(self) -> None:
        """3: a run, how far it is, and its Cancel."""
        self.page.click(f"{EXPLORER} .pl-go")
        until(self.page, "running")
        self.page.wait_for_function(
            f"document.querySelector('{EXPLORER} .pl-status').innerText.includes('blocks done')"
        )

    def cancelled(self) -> None:
        """3: the same run, cancelled."""
        self.page.click(f"{EXPLORER} .pl-act")
        until(self.page, "cancelled")

    def figures(self) -> None:
        """4: the figures of `pl.plot_state`."""
        self.open(STATE, wait=False)
        self.page.wait_for_selector(".jp-OutputArea img")
        self.seen = ".jp-OutputArea:has(img)"

    def roofline(self) -> None:
        """4: roofline and occupancy."""
        self.open('pl.explore("tiled2d", causal=True)')
        self.press("Roofline and occupancy")
        self.seen = f"{EXPLORER} .pl-results"

    def fault(self) -> None:
        """5: a fault, in sight at its line."""
        self.open(FAULTY)

    def deltas(self) -> None:
        """6: figures and counters beside those of the pinned setting."""
        self.open('pl.explore("tiled")')
        tick(self.page, "causal")
        self.press("Counters")

    def softmax(self) -> None:
        """7: the softmax, being played."""
        self.open('pl.explore("tiled", sigma=3)')
        self.press("Error and softmax")
        self.page.click(f"{SOFTMAX} .pl-play")
        self.page.wait_for_function(f'document.querySelector("{SOFTMAX} .pl-readout")?.innerText.includes(" 2: ")')
        self.page.click(f"{SOFTMAX} .pl-play")
        self.seen = f"{EXPLORER} .pl-results"

    def opens(self) -> None:
        """8: as a rung opens."""
        self.open('pl.explore("mma")')

    def debugger(self) -> None:
        """9: Debug here."""
        self.page.locator(
            f"{EXPLORER} section[aria-label=PTX] .pl-now .pl-line:has(.o:has-text('mma.sync'))"
        ).first.click()
        self.page.click(f"{EXPLORER} .pl-results button:has-text('Debug here')")
        self.page.wait_for_selector(".ptxlab-debugger[data-ready]:not([data-ready=''])")
        self.seen = ".ptxlab-below"

    def editing(self) -> None:
        """9: Edit, and what the editor's kernel does."""
        self.open('pl.explore("scalar")')
        self.press("Edit")
        self.page.wait_for_selector(".ptxlab-editor[data-checked]")
        self.seen = ".ptxlab-below"

    def conflicts(self) -> None:
        """8: a bank conflict, and what is said of its line."""
        self.open('pl.explore("mma")')
        self.page.click(f"{EXPLORER} .pl-figure:has-text('conflicts')")

    def sampled(self) -> None:
        """10: a large problem, of which some blocks were run."""
        self.open('pl.explore("tiled", seq_len=4096, causal=True, heads=4)')

    def decoding(self) -> None:
        """10: a large cache, of which some heads were read."""
        self.open('pl.explore("decode_split", seq_k=16384, heads=32, kv_heads=8, batch=4)')

    def shared(self) -> None:
        """11: the shared page, without Python."""
        file = self.folder / "page.html"
        with self.page.expect_download() as download:
            self.press("Share")
        download.value.save_as(file)
        self.page.goto(file.as_uri())
        settle_page(self.page)
        self.seen = "#explorer"

    def cell(self) -> None:
        """12: a cell of PTX, what is wrong in it as it is typed, and what running it says."""
        self.open("x = np.ones(1, np.float32)", CELL, wait=False)
        self.page.wait_for_selector(".jp-OutputArea-output:has-text('fma.rn.f32 takes 4 operands')")
        cell = self.page.locator(".jp-Cell").nth(2)
        lab_server.act_until(  # a kernel that did not know ptxlab when it was first asked is asked again later
            self.page,
            lambda: (self.page.mouse.click(2, 2), cell.locator(".cm-line").nth(5).click()),
            lambda: cell.locator(".cm-lintRange-error").count() > 0,
        )
        self.seen = ".jp-Notebook"

    def again(self) -> None:
        """13: a setting that was seen before: the seconds in the head of the page."""
        self.open('pl.explore("tiled")')
        for _ in range(3):
            tick(self.page, "causal")
        assert control(self.page, "seed").count() == 1

    def second(self) -> None:
        """Another view of the same explorer, in a cell of its own."""
        self.open('e = pl.explore("tiled")\ne', "e")
        self.page.wait_for_function("document.querySelectorAll('.ptxlab-explorer[data-state=done]').length === 2")
        before = number(self.page)
        self.page.locator(".ptxlab-parameters input[type=checkbox]").last.click()  # in the one, seen in both
        settle(self.page, before)
        self.seen = ".jp-Cell >> nth=2"

    def reloaded(self) -> None:
        """The same page, loaded once more."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        self.page.reload()
        self.page.wait_for_selector(f"{EXPLORER} section[aria-label=PTX] .pl-now .pl-line", timeout=90_000)
        self.seen = ".jp-Cell >> nth=1"

    def reopened(self) -> None:
        """The same notebook, opened again without its kernel: the copy that is kept in it."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        self.page.evaluate("jupyterapp.shell.currentWidget.context.sessionContext.shutdown()")
        self.page.goto(self.jupyter.address(self.folder / f"{self.opened}.ipynb"))
        self.page.wait_for_selector(
            ".jp-OutputArea-output:has(.ptxlab-copy):visible, .ptxlab-explorer:visible", timeout=90_000
        )
        if self.page.locator("#jp-left-stack").is_visible():
            self.page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
        self.seen = ".jp-Cell >> nth=1"


CHAINS: tuple[tuple[Callable[[Scenes], None], ...], ...] = (
    (Scenes.diff, Scenes.moved), (Scenes.asking, Scenes.running, Scenes.cancelled), (Scenes.figures,),
    (Scenes.roofline,), (Scenes.fault,), (Scenes.deltas,), (Scenes.softmax,), (Scenes.opens, Scenes.debugger),
    (Scenes.sampled,), (Scenes.editing,), (Scenes.conflicts,), (Scenes.decoding, Scenes.shared), (Scenes.cell,),
    (Scenes.again,), (Scenes.second, Scenes.reloaded, Scenes.reopened),
)  # fmt: skip
"""Scenes that begin with a notebook of their own, each with those that go on in it."""


def settle_page(page: Any) -> None:
    """Waits until a shared page is painted."""
    page.wait_for_selector(f"{EXPLORER} section[aria-label=PTX] .pl-now .pl-line")


S = TypeVar("S", bound=Scenes)


@contextmanager
def scenes(kind: type[S]) -> Iterator[S]:
    """Scenes of a kind in JupyterLab and Chromium; their files are gone afterwards."""
    browser = doctor.browser()
    if browser is None:
        raise SystemExit("explorer_pictures: needs Chromium or Chrome")
    with tempfile.TemporaryDirectory() as place, lab_server.server(Path(place)) as jupyter:
        with lab_server.lab_page(jupyter, browser, *SIZES[0]) as (page, folder):
            yield kind(page, jupyter, folder)


def take(page: Any, seen: str, folder: Path, name: str) -> list[str]:
    """The pictures of what the page shows now; the names of their files."""
    files = []
    for theme in THEMES:
        if page.url.startswith("file:"):
            page.emulate_media(color_scheme=theme.lower())
        else:
            lab_server.use_theme(page, f"JupyterLab {theme}")
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            page.mouse.move(2, 2)
            page.locator(seen).first.evaluate("e => e.scrollIntoView({block: 'start'})")
            page.wait_for_timeout(400)  # it dims and folds within a moment
            files.append(f"{name}-{width}-{theme.lower()}.png")
            page.screenshot(path=str(folder / files[-1]))
    page.set_viewport_size(dict(zip(("width", "height"), SIZES[0], strict=True)))
    if not page.url.startswith("file:"):
        lab_server.use_theme(page, "JupyterLab Light")
    return files


def main(folder: Path, only: tuple[str, ...] = ()) -> None:
    """Takes the pictures, or only those of some scenes, and writes the page."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = []
    with scenes(Scenes) as made:
        for chain in CHAINS:
            if only and not any(scene.__name__ in only for scene in chain):
                continue
            for scene in chain:
                scene(made)
                title = html.escape((scene.__doc__ or "").rstrip("."))
                files = take(made.page, made.seen, folder, scene.__name__)
                shown = "".join(f'<a href="{f}"><img src="{f}" alt="{f}" width="420"></a>\n' for f in files)
                parts.append(f"<h2>{title}</h2>\n<p>{shown}</p>\n")
                print(f"{title}: {len(files)} pictures", flush=True)
    head = '<!doctype html><meta charset="utf-8"><title>The explorer in pictures</title>\n'
    (folder / "index.html").write_text(head + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else lab_server.ARTIFACTS / "explorer", tuple(sys.argv[2:]))

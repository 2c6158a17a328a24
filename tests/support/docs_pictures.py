"""Takes the pictures of explorer and debugger in `docs/images`: `python tests/support/docs_pictures.py [SCENE ...]`.

All of them take about two minutes. Look at each before it is committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import lab_server
from explorer_page import EXPLORER, choose, settle, tick
from explorer_pictures import Scenes, scenes

IMAGES = Path(__file__).parents[2] / "docs/images"
WIDE = 1480


class Pictures(Scenes):
    """The same notebook, and the pictures of what it shows."""

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
        self.page.locator(f"{EXPLORER} section[aria-label=PTX] .pl-line:has(.o:has-text('{opcode}'))").first.click()
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
        self.take("debugger", 1150, ".ptxlab-below", dark=True)

    def changed(self) -> None:
        """What one parameter changed: the diff, the counters."""
        self.diff()
        self.take("explorer-diff", 1000)
        self.press("Code")
        self.take("explorer-counters", 1140)

    def machine_code(self) -> None:
        """Machine code beside PTX and Python."""
        self.open('pl.explore("tiled", sass=True)')
        self.page.wait_for_selector(f"{EXPLORER} section[aria-label=SASS] .pl-line")
        self.click_line("ex2")
        self.take("explorer-sass", 1000)

    def limits(self) -> None:
        """Roofline and occupancy."""
        self.open('pl.explore("tiled2d")')
        tick(self.page, "causal")
        self.press("Roofline and occupancy")
        self.take("explorer-roofline", 1000)

    def decode(self) -> None:
        """A decode kernel, whose parts are merged."""
        self.open('pl.explore("decode_split")')
        choose(self.page, "warps", "4")
        settle(self.page)
        self.take("explorer-decode", 1180)

    def fragments(self) -> None:
        """Which lane holds which element at an mma."""
        self.open('pl.explore("mma")')
        self.click_line("mma.sync")
        self.debug()
        self.take("debugger-fragments", 1400, ".ptxlab-below")


ORDER: tuple[Callable[[Pictures], None], ...] = (
    Pictures.first, Pictures.changed, Pictures.machine_code, Pictures.limits, Pictures.decode, Pictures.fragments,
)  # fmt: skip


if __name__ == "__main__":
    with scenes(Pictures) as made:
        for scene in ORDER:
            if len(sys.argv) < 2 or scene.__name__ in sys.argv[1:]:
                scene(made)

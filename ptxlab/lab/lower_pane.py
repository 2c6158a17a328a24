"""What opens over the explorer: the debugger at a line of its kernel, or an editor with its PTX."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from ptxlab.emulate.runtime.progress import watched
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.emulate.trace.recording import Recording
from ptxlab.errors import DeviceFault, PtxlabError
from ptxlab.lab.debugger import LIMIT, Debugger
from ptxlab.lab.interrupts import on_interrupt


def _nothing(_: bool) -> bool:
    """Whether closing loses text: there is none."""
    return False


class Below(widgets.VBox):
    """A place for one widget under a heading, with a button that closes it."""

    def __init__(self) -> None:
        self._heading = widgets.HTML()
        self._shut = widgets.Button(description="Close", layout={"width": "auto"})
        self._shut.on_click(lambda _: self.leave(self.clear, True))
        self._loses: Callable[[bool], bool] = _nothing
        self._number, self._recorded = 0, -1
        self._bar = widgets.HBox()
        self._ended: Callable[[], None] | None = None
        super().__init__([])
        self.add_class("ptxlab-below")

    @property
    def widget(self) -> Any:
        """What is open, or None."""
        return self.children[1] if len(self.children) > 1 else None

    def show(
        self,
        heading: str,
        widget: Any = None,
        ended: Callable[[], None] | None = None,
        close: str = "Close",
        loses: Callable[[bool], bool] = _nothing,
    ) -> int:
        """Opens a widget in place of what was open. `ended` is called when it is closed; `loses` tells whether text is
        lost when it is closed (True) or something else opens here (False). Returns its number."""
        self._number += 1
        (self.add_class if isinstance(widget, Debugger | None) else self.remove_class)(
            "ptxlab-whole"
        )  # else over the code
        self._ended, self._shut.description, self._loses = ended, close, loses
        self._heading.value = f"<b>{html.escape(heading)}</b>"
        bar = self._bar = widgets.HBox([self._heading, self._shut], layout={"justify_content": "space-between"})
        self.children = tuple(part for part in (bar, widget) if part is not None)
        return self._number

    def leave(self, then: Callable[[], None], closes: bool = False) -> None:
        """Does what closes this or opens something else here; where text is lost by that, once somebody has said so."""
        if not self._loses(closes):
            return then()
        yes, no = (
            widgets.Button(description=words, button_style=style, layout={"width": "auto"})
            for words, style in (("Discard the text", "danger"), ("Keep editing", ""))
        )
        yes.on_click(lambda _: then())
        shown = self._bar.children  # in the bar alone: the editor would be drawn anew beside another bar
        no.on_click(lambda _: setattr(self._bar, "children", shown))
        self._bar.children = (widgets.HTML("<b>The text has changed and is lost.</b>"), yes, no)

    def clear(self) -> None:
        """Closes what is open."""
        self._number += 1
        self.children, self._loses = (), _nothing
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def cancel(self) -> None:
        """Ends the recording that is in work; does nothing while there is none."""
        if self._recorded == self._number:
            self.clear()

    def debug(self, record: Callable[[Trace], Any], blocks: int, place: dict[str, Any]) -> None:
        """Records the steps of a block in a thread of its own, and opens the debugger at a place: the arguments of
        `Debugger.open_at` or `open_finding`. Closing this, opening another, or an interrupt between two cells ends the
        recording."""
        mine = self._recorded = self.show(f"recording the steps of block {blocks} …", close="Stop")
        on_interrupt(self)
        threading.Thread(target=self._debug, args=(mine, record, blocks, place), daemon=True).start()

    def _debug(self, mine: int, record: Callable[[Trace], Any], blocks: int, place: dict[str, Any]) -> None:
        def watch(done: int, blocks: int, instructions: int) -> None:
            if mine != self._number:
                raise KeyboardInterrupt

        trace, note = Trace(blocks=blocks, limit=LIMIT - (1 << 20)), ""
        try:
            with watched(watch):
                run = record(trace)
        except KeyboardInterrupt:  # of the launch's watch: it has been closed
            return
        except DeviceFault as stopped:
            run, note = stopped, str(stopped)
        except PtxlabError as error:
            run, note = error, str(error)
        if mine != self._number:
            return
        found = getattr(run, "trace", None)
        if not isinstance(found, Recording):
            self.show("There is nothing to step through", widgets.HTML(f"<pre>{html.escape(note)}</pre>"))
            return
        debugger = Debugger(found, note, run.findings)
        if place.get("at"):
            debugger.open_at(**place)
        elif "number" in place and place["number"] < len(run.findings):
            debugger.open_finding(**place)
        self.show(f"{found.title}, step by step", debugger, close="‹ Explorer")

"""What opens below the explorer: the debugger at a line of its kernel, or an editor with its PTX."""

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


class Below(widgets.VBox):
    """A place for one widget under a heading, with a button that closes it."""

    def __init__(self) -> None:
        self._heading = widgets.HTML()
        self._shut = widgets.Button(description="Close", layout={"width": "auto"})
        self._shut.on_click(lambda _: self.clear())
        self._number, self._recorded = 0, -1
        self._ended: Callable[[], None] | None = None
        super().__init__([])
        self.add_class("ptxlab-below")

    @property
    def widget(self) -> Any:
        """What is open, or None."""
        return self.children[1] if len(self.children) > 1 else None

    def show(
        self, heading: str, widget: Any = None, ended: Callable[[], None] | None = None, close: str = "Close"
    ) -> int:
        """Opens a widget in place of what was open. `ended` is called when it is closed. Returns its number."""
        self._number += 1
        self._ended, self._shut.description = ended, close
        self._heading.value = f"<b>{html.escape(heading)}</b>"
        bar = widgets.HBox([self._heading, self._shut], layout={"justify_content": "space-between"})
        self.children = tuple(part for part in (bar, widget) if part is not None)
        return self._number

    def clear(self) -> None:
        """Closes what is open."""
        self._number += 1
        self.children = ()
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def cancel(self) -> None:
        """Ends the recording that is in work; does nothing while there is none."""
        if self._recorded == self._number:
            self.clear()

    def debug(self, record: Callable[[Trace], Recording], blocks: int, place: dict[str, Any], module: Any) -> None:
        """Records the steps of a block in a thread of its own, and opens the debugger at a place: the arguments of
        `Debugger.open_at`. Closing this, opening another, or an interrupt between two cells ends the recording."""
        mine = self._recorded = self.show(f"recording the steps of block {blocks} …", close="Stop")
        on_interrupt(self)
        threading.Thread(target=self._debug, args=(mine, record, blocks, place, module), daemon=True).start()

    def _debug(
        self, mine: int, record: Callable[[Trace], Recording], blocks: int, place: dict[str, Any], module: Any
    ) -> None:
        def watch(done: int, blocks: int, instructions: int) -> None:
            if mine != self._number:
                raise KeyboardInterrupt

        trace, note = Trace(blocks=blocks, limit=LIMIT - (1 << 20)), ""
        try:
            with watched(watch):
                found: Any = record(trace)
        except DeviceFault as stopped:
            found, note = stopped.trace, str(stopped)
        except PtxlabError as error:
            found, note = None, str(error)
        if mine != self._number:
            return
        if not isinstance(found, Recording):
            self.show("There is nothing to step through", widgets.HTML(f"<pre>{html.escape(note)}</pre>"))
            return
        debugger = Debugger(found, note, module)
        if place.get("at"):
            debugger.open_at(**place)
        self.show(f"{found.kernel}, step by step", debugger)

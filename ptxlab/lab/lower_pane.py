"""What opens over the explorer: the debugger at a line of its kernel, or an editor with its PTX."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from ptxlab.emulate.runtime.progress import watched
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.emulate.trace.recording import Recording
from ptxlab.errors import DeviceFault, PtxlabError
from ptxlab.lab import protocol
from ptxlab.lab.debugger import LIMIT, Debugger
from ptxlab.lab.session import on_interrupt


class Below(widgets.Box):
    """A place for one widget under a bar that the page draws, with a button that closes it. `tell(bar)` hears of the
    bar, as the protocol has it, None where nothing is open."""

    def __init__(self, tell: Callable[[protocol.Below | None], None]) -> None:
        self._tell = tell
        self._bar: protocol.Below | None = None
        self._loses: Callable[[bool], bool] | None = None
        self._number, self._recorded = 0, -1
        self._ended: Callable[[], None] | None = None
        self._then: Callable[[], None] | None = None  # what waits until somebody has said that the text may go
        super().__init__([])
        self.add_class("ptxlab-below")

    @property
    def widget(self) -> Any:
        """What is open, or None."""
        return next(iter(self.children), None)

    def show(
        self,
        heading: str,
        widget: Any = None,
        ended: Callable[[], None] | None = None,
        close: str = "Close",
        loses: Callable[[bool], bool] | None = None,
        note: str = "",
    ) -> int:
        """Opens a widget, or a note, in place of what was open. `ended` is called when it is closed; `loses` tells
        whether text is lost when it is closed (True) or something else opens here (False). Returns its number."""
        self._number += 1
        whole = isinstance(widget, Debugger | None)  # else over the code
        (self.add_class if whole else self.remove_class)("ptxlab-whole")
        self._ended, self._loses = ended, loses
        self._bar = {"heading": heading, "close": close, "note": note, "whole": whole, "asks": False}
        self._tell(self._bar)
        self.children = () if widget is None else (widget,)
        return self._number

    def leave(self, then: Callable[[], None], closes: bool = False) -> None:
        """Does what closes this or opens something else here; where text is lost by that, once somebody has said so."""
        if self._bar is None or self._loses is None or not self._loses(closes):
            return then()
        self._then = then
        self._tell({**self._bar, "asks": True})

    def answer(self, discard: bool) -> None:
        """Hears whether the text may go, or is kept."""
        then, self._then = self._then, None
        self._tell(self._bar)
        if discard and then is not None:
            then()

    def clear(self) -> None:
        """Closes what is open."""
        self._number += 1
        self.children, self._loses, self._bar = (), None, None
        self._tell(None)
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
            self.show("There is nothing to step through", note=note)
            return
        debugger = Debugger(found, note, run.findings)
        if place.get("at"):
            debugger.open_at(**place)
        elif "number" in place and place["number"] < len(run.findings):
            debugger.open_finding(**place)
        self.show(f"{found.title}, step by step", debugger, close="‹ Explorer")

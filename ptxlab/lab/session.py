"""The explorer's engine room: one request at a time on a worker thread, the newest only, results as they are ready.

Every request has a sequence number. When a newer one arrives, the older stops at its next stage and what it computed is
not published; results are kept, so that a setting seen before comes back at once.
"""

from __future__ import annotations

import gc
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ptxlab.errors import PtxlabError
from ptxlab.lab import deltas, explorer_views
from ptxlab.lab.deltas import Setting
from ptxlab.lab.explorer_views import Request, Version
from ptxlab.lab.subject import Ran

KEEP = 32
"""How many kernels, results and states are kept."""
SENDING = 0.05
"""Seconds after an answer in which it is still on its way through the kernel's other threads."""
WORTH_SAYING = 0.1
"""Seconds of building before it is said that something is being built: to say it costs the page a frame."""

Publish = Callable[[dict[str, Any]], None]


class Session:
    """Answers requests. `publish(parts)` is called from the worker thread with what is ready: values of "code", "diff",
    "pinned", "assembly", "run", "deltas", "state", "sass", "sass_diff", "problem" and "status"; each holds the `seq` of
    the request it answers. What is ready together is published together, before the next piece of work begins."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._lock = threading.Condition()
        self._waiting: Request | None = None
        self._thread: threading.Thread | None = None
        self._versions: OrderedDict[Any, Version] = OrderedDict()
        self._outcomes: OrderedDict[Request, Ran | None] = OrderedDict()
        self._states: OrderedDict[Request, dict[str, Any] | None] = OrderedDict()
        self._owes_collecting = False
        self._building = 1.0  # seconds that the last version took
        self.seq = 0
        self.request: Request | None = None
        self.version: Version | None = None
        self.pinned: Version | None = None
        self._settled: list[Setting] = []  # the setting that is shown, and the one before it
        self._baseline: Setting | None = None  # the pinned one

    def ask(self, request: Request) -> int:
        """Queues a request and returns its number at once; it replaces one that is waiting and outdates one in work."""
        with self._lock:
            self.seq += 1
            self._waiting = self.request = request
            if self._thread is None:
                self._collect_later()
                self._thread = threading.Thread(target=self._work, name="ptxlab-explorer", daemon=True)
                self._thread.start()
            return self.seq

    def pin(self) -> None:
        """Makes the version that is shown the one that later ones are compared with."""
        if self.version is not None:
            self.pinned = self.version
            self._baseline = next(iter(self._settled), None)
            self._publish({"pinned": _pinned(self.pinned)})
            assert self.request is not None
            self.ask(self.request)

    def wait(self, timeout: float = 60.0) -> bool:
        """Waits until nothing is in work; False when that takes longer than `timeout` seconds."""
        with self._lock:
            return self._lock.wait_for(lambda: self._thread is None, timeout)

    def _work(self) -> None:
        while True:
            with self._lock:
                request, seq, self._waiting = self._waiting, self.seq, None
                if request is None:
                    self._thread = None
                    self._lock.notify_all()
                    break
            self._answer(request, seq)
        time.sleep(SENDING)
        with self._lock:
            if self._thread is None and self._owes_collecting:
                self._owes_collecting = False
                gc.enable()

    def _collect_later(self) -> None:
        """Puts off the garbage collector's rounds, some of which take 30 ms, until the answer has been sent."""
        if gc.isenabled():
            self._owes_collecting = True
            gc.disable()

    def _answer(self, request: Request, seq: int) -> None:
        start = time.perf_counter()
        times: dict[str, float] = {}
        ready: dict[str, Any] = {}
        failed = False
        try:
            for part, value in self._stages(request, seq):
                if seq != self.seq:
                    return
                times[part] = time.perf_counter() - start
                ready[part] = None if value is None else {**value, "seq": seq}
                if part == "status":  # work begins: what there is so far can be looked at
                    ready[part]["times"] = dict(times)
                    self._publish(ready)
                    ready = {}
        except Exception as error:  # every error belongs on the page: the widget must live on
            if not isinstance(error, PtxlabError | ValueError | MemoryError):
                import traceback

                traceback.print_exc()
            failed = True
            version = self.version if times else None
            ready["problem"] = {**explorer_views.problem(error, version), "seq": seq}
        if seq == self.seq:
            text = "stopped: see the message" if failed else f"done in {time.perf_counter() - start:.2f} s"
            status = {"text": text, "busy": False, "failed": failed, "times": times, "seq": seq}
            self._publish({**ready, "status": status})

    def _stages(self, request: Request, seq: int) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """The parts of an answer in the order in which a reader wants them. What is kept from before comes at once, so
        nothing is said of the work on it."""
        request.check()
        new = request.version_key not in self._versions
        if new and self._building > WORTH_SAYING:
            yield "status", {"text": "building", "busy": True}
        begun = time.perf_counter()
        version = self._kept(self._versions, request.version_key, lambda: explorer_views.build(request))
        if new:
            self._building = time.perf_counter() - begun
        if seq != self.seq:
            return
        if self.pinned is None:
            self.pinned = version
            yield "pinned", _pinned(version)
        self.version = version
        yield "code", version.code
        yield "problem", None
        if version.compared is None or version.compared[0] is not self.pinned:
            version.compared = self.pinned, explorer_views.diff(self.pinned, version)
        yield "diff", version.compared[1]
        if version.error is not None:
            raise version.error
        if new:
            yield "status", {"text": "assembling", "busy": True}
        assembly = explorer_views.assemble(version, request)
        refused = assembly.pop("error", None)
        yield "assembly", assembly
        if refused is not None:
            raise refused
        fault: PtxlabError | None = None
        try:
            cached = request.result_key in self._outcomes
            if not cached:
                yield "status", {"text": "running", "busy": True}
            ran = self._kept(self._outcomes, request.result_key, lambda: explorer_views.run(version, request))
            shown_run = explorer_views.show_run(ran, request, version)
            yield "run", {**shown_run, "cached": cached}
            yield "deltas", self._compared(explorer_views.setting(version, request, assembly, shown_run, ran))
            view = replace(request, sass=False)
            if view not in self._states:
                yield "status", {"text": "recording the softmax", "busy": True}
            shown = self._kept(self._states, view, lambda: explorer_views.state(version, request, ran))
            yield "state", shown
        except PtxlabError as stopped:  # the machine code can be shown all the same
            fault = stopped
        if request.sass:
            yield "status", {"text": "disassembling", "busy": True}
            yield "sass", explorer_views.sass(version, request)
            yield "sass_diff", explorer_views.sass_diff(self.pinned, version, request)
        if fault is not None:
            raise fault

    def _compared(self, now: Setting) -> dict[str, Any]:
        """This setting beside the pinned and the previous one; from now on it is the one that is shown."""
        if not self._settled or self._settled[0].key != now.key:
            self._settled = [now, *self._settled[:1]]
        self._baseline = self._baseline or now
        return deltas.against(now, pinned=self._baseline, previous=self._settled[-1])

    def _kept(self, shelf: OrderedDict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
        """What was made before for this key, or is made now; the oldest of more than `KEEP` things are let go."""
        if key not in shelf:
            shelf[key] = make()
        shelf.move_to_end(key)
        while len(shelf) > KEEP:
            shelf.popitem(last=False)
        return shelf[key]


def _pinned(version: Version) -> dict[str, Any]:
    python = version.code["python"]
    return {
        "label": explorer_views.label(version),
        "ptx": version.code["ptx"],
        "python": python and python["lines"],
    }

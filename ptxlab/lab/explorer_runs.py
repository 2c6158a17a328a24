"""The explorer's launches: how long they are likely to take, whether to begin them, how far they are, and their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ptxlab.emulate.runtime.progress import Watching, watched
from ptxlab.lab import explorer_views
from ptxlab.lab.explorer_views import Version
from ptxlab.lab.requests import Request
from ptxlab.lab.subject import Ran, machines

LONG = 5.0
"""Seconds: a run that is likely to take longer says so before it begins, or asks whether to begin."""
TELLING_RATE = 1.0
"""Seconds that a run should take by `RATES` for its rate to count: a shorter one is mostly the kernel's translation."""
RATES = {"cpu": 2e-8, "step": 1e-5}
"""Seconds for one multiplication of `Request.work` by device, before a run of the kernel has been measured: between the
fastest and the slowest rung, as measured on two cores."""
TELLING = 0.4
"""Seconds between two words on how far a run is."""
Says = Callable[[str, dict[str, Any]], None]
"""Tells how far a run is: a text, and its `done`, `blocks`, `seconds` and `estimate`."""


class Unconfirmed(Exception):
    """A run that begins only when somebody has said so; `more` is what the status says of it."""

    def __init__(self, text: str, **more: Any) -> None:
        super().__init__(text)
        self.more = more


class Running:
    """The launches of one session. outdated: whether nobody waits any more for the request with this number; asks:
    whether a run of more than `LONG` seconds waits to be confirmed."""

    def __init__(self, outdated: Callable[[int], bool], asks: bool) -> None:
        self._outdated, self._asks = outdated, asks
        self._rates: dict[tuple[str, str], float] = {}  # seconds for one multiplication, by kernel and device
        self._confirmed: set[Request] = set()
        self._watching: Watching | None = None  # the launch in work
        self._telling = 0, 0.0  # the request of which it is said how far its run is, and since when

    def seconds(self, request: Request) -> float | None:
        """The seconds that a run is likely to take; None where that is not known."""
        device, work = machines(request.device)[-1], request.work
        rate = self._rates.get((request.subject.name, device), RATES.get(device))
        return None if work is None or rate is None else work * rate

    def foreseen(self, request: Request) -> dict[str, Any]:
        """What to say of a run that begins: `text`, and `estimate`, its seconds or None where it is short."""
        estimate = self.seconds(request)
        if estimate is None or estimate <= LONG:
            return {"text": "running", "estimate": None}
        return {"text": f"running, about {in_seconds(estimate)}", "estimate": estimate}

    def held(self, request: Request) -> Unconfirmed | None:
        """What to ask before this request's run begins; None where it may begin."""
        estimate = self.foreseen(request)["estimate"]
        if not self._asks or estimate is None or request.result_key in self._confirmed:
            return None
        return Unconfirmed(f"a run of about {in_seconds(estimate)}", estimate=estimate)

    def confirm(self, request: Request) -> None:
        """From now on the run of this request may begin."""
        self._confirmed.add(request.result_key)

    def run(self, version: Version, request: Request, seq: int, says: Says) -> Ran | None:
        """Runs the kernel, and notes how long it took."""
        start = time.perf_counter()
        with self.watched(seq, says, self.seconds(request)):
            ran = explorer_views.run(version, request)
        device, work = machines(request.device)[-1], request.work
        if ran is not None and work and work * RATES.get(device, 0.0) > TELLING_RATE:
            self._rates[request.subject.name, device] = (time.perf_counter() - start) / work
        return ran

    def hurry(self) -> None:
        """Has a launch in work ask at once whether it is outdated."""
        watching = self._watching
        if watching is not None:
            watching.hurry()

    def tell(self, seq: int) -> None:
        """From now on it is said how far the run of this request is: so far the page may have said "building"."""
        self._telling = seq, time.perf_counter()

    @contextmanager
    def watched(self, seq: int, says: Says, expected: float | None = None) -> Iterator[None]:
        """Launches that this thread makes meanwhile are stopped once their request is outdated; of the others it is
        said how far they are. expected: the seconds that they are likely to take, until blocks that are done say
        more."""
        with watched(self._watch(seq, says, expected)) as watching:
            self._watching = watching
            try:
                yield
            finally:
                if self._watching is watching:  # and not a newer one's
                    self._watching = None

    def _watch(self, seq: int, says: Says, expected: float | None) -> Callable[[int, int, int], None]:
        start = time.perf_counter()
        told = start

        def watch(done: int, blocks: int, _instructions: int) -> None:
            nonlocal told
            if self._outdated(seq):
                raise KeyboardInterrupt
            now = time.perf_counter()
            shown, since = self._telling
            if shown != seq or now - max(told, since) < TELLING:
                return
            told, seconds = now, now - start
            estimate = seconds * blocks / done if done else expected
            text = f"running, {done:,} of {blocks:,} blocks done"
            if estimate is not None and estimate > LONG:
                text += f", about {in_seconds(estimate)} in all"
            says(text, {"done": done, "blocks": blocks, "seconds": seconds, "estimate": estimate})

        return watch


def in_seconds(seconds: float) -> str:
    """A time that nobody knows exactly: 8 s, 40 s, 3 min, 2 h."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds < 10 else f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"

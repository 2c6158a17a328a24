"""How long a run of the explorer is likely to take: from the work that it does, and from how long the last one took."""

from __future__ import annotations

from ptxlab.lab.requests import Request
from ptxlab.lab.subject import machines

LONG = 5.0
"""Seconds: a run that is likely to take longer says so before it begins, or asks whether to begin."""
TELLING_RATE = 1.0
"""Seconds that a run should take by `RATES` for its rate to count: a shorter one is mostly the kernel's translation."""
RATES = {"cpu": 2e-8, "step": 1e-5}
"""Seconds for one multiplication of `Request.work` by device, before a run of the kernel has been measured: between the
fastest and the slowest rung, as measured on two cores."""


class Estimates:
    """What is known of the runs of one session: the seconds for one multiplication by kernel and device."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str], float] = {}

    def note(self, request: Request, seconds: float) -> None:
        """Notes how long a run took."""
        device, work = machines(request.device)[-1], request.work
        if work and work * RATES.get(device, 0.0) > TELLING_RATE:
            self._rates[request.subject.name, device] = seconds / work

    def seconds(self, request: Request) -> float | None:
        """The seconds that a run is likely to take; None where that is not known."""
        device, work = machines(request.device)[-1], request.work
        rate = self._rates.get((request.subject.name, device), RATES.get(device))
        return None if work is None or rate is None else work * rate


def in_seconds(seconds: float) -> str:
    """A time that nobody knows exactly: 8 s, 40 s, 3 min, 2 h."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds < 10 else f"{round(seconds, -1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"

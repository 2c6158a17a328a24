"""Jobs for the workers of a sweep that do what a measurement should not: they have to be importable there."""

from __future__ import annotations

import os
import signal
from typing import Any

from ptxlab.sweeps.measure import COLUMNS


def deadly(task: dict[str, Any]) -> dict[str, Any]:
    """Ends its process at every problem with three keys, as a machine without memory does."""
    if task["shape"]["seq"] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"kernel": task["kernel"], **task["shape"], "status": "ok"}


def simulated(task: dict[str, Any]) -> dict[str, Any]:
    """A row as a measurement gives it, at once: for sweeps of many points."""
    filler = {name: 0.1 for name in COLUMNS if name not in ("key", "kernel", "status", "reason")}
    return {**filler, "kernel": task["kernel"], **task["shape"], **task["parameters"], "status": "ok", "reason": None}


def holding(task: dict[str, Any]) -> dict[str, Any]:
    """What its worker has left of its resources meanwhile."""
    import distributed

    return {"kernel": task["kernel"], "free": dict(distributed.get_worker().state.available_resources)}

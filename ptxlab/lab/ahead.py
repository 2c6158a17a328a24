"""What a reader is likely to ask for next.

A user who moves a slider by a step will move it again, the same way. When nothing has been asked for a while after an
answer, the session answers that setting silently, so that it is there at once.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from IPython.core.getipython import get_ipython

from ptxlab.lab.requests import Request

SWITCH = "PTXLAB_BUILD_AHEAD"
"""The environment variable that switches this off, with "off"."""
HEAVY = 5e7
"""Multiplications of a run (see `Request.work`) from which on a setting is not answered ahead: it may take a second."""


def switched_on() -> bool:
    """Whether anything is answered ahead."""
    return os.environ.get(SWITCH) != "off"


def next_setting(before: Request, now: Request) -> Request | None:
    """The setting that is likely to come after two others: a parameter of the PTX moved on as it was moved last. None
    where something else was changed, or where it cannot be moved further."""
    changed = [(name, old, new) for (name, new), (_, old) in zip(now.values, before.values, strict=False) if old != new]
    if before.subject is not now.subject or len(changed) != 1:
        return None
    ((name, old, new),) = changed
    parameter = next((p for p in now.subject.building if p.name == name), None)
    if parameter is None or not now.subject.family:
        return None
    values = parameter.choices or range(parameter.minimum, parameter.maximum + 1)
    if old not in values or new not in values:
        return None
    there = 2 * values.index(new) - values.index(old)
    if not 0 <= there < len(values):
        return None
    value = values[there]
    after = replace(now, values=tuple((n, value if n == name else x) for n, x in now.values), sass=False)
    work = after.work
    return None if work is None or work > HEAVY else after


def cells_begun() -> int:
    """How many cells of the notebook have begun so far."""
    shell: Any = get_ipython()
    return 0 if shell is None else len(shell.history_manager.input_hist_raw)

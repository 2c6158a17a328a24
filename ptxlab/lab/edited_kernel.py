"""A kernel of the explorer whose PTX somebody has changed by hand: run, compared and drawn like the one it was."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
from typing import Any

from ptxlab.builder.kernel import Kernel
from ptxlab.errors import LaunchError
from ptxlab.kernels.rung import AnyBuilt
from ptxlab.lab import alignment
from ptxlab.lab.kernel_subject import Text
from ptxlab.lab.subject import Subject, Values

LESSON = {
    "question": "What did the change do?",
    "look": "what `Diff` marks. Edit goes on from here; closing the editor goes back to the kernel",
    "line": 0,
    "next": None,
}
"""What can be done with a text of one's own."""


class NotRecorded(LaunchError):
    """The softmax of an edited kernel cannot be drawn."""


def edited(base: Subject, values: Values, ptx: str) -> Subject:
    """`base` with `ptx` in the place of the PTX that it builds for `values`."""
    lines = itertools.zip_longest(base.build(values).ptx.splitlines(), ptx.splitlines())
    changed = next((n for n, (before, now) in enumerate(lines, 1) if before != now), 0)
    found = copy.copy(base)
    found.edit, found.base = ptx, base
    found.kept = {p.name: values[p.name] for p in base.building}
    found.text = f"changed from line {changed} on" if changed else base.text
    found.title = f"{base.title}, edited"
    return found


def made(subject: Subject, values: Values) -> Any:
    """The kernel that a subject builds; of an edited one its text, as a kernel of the same kind."""
    built = subject.build(values)
    if subject.base is None:
        return built
    if not isinstance(built, AnyBuilt):
        return Text(subject.edit, built.name)
    found = _with_text(built, subject.edit)
    object.__setattr__(found, "with_probes", functools.partial(_probed, built, subject.edit))
    return found


def _probed(built: Any, ptx: str) -> Any:
    """The edited text with the lines that record the softmax; `NotRecorded` where the edit concerns them."""
    probed = built.with_probes()
    text = alignment.carried(*(lines.splitlines() for lines in (built.ptx, ptx, probed.ptx)))
    if text is None:
        raise NotRecorded("The edit concerns lines that the recording of the softmax needs, and so it is not drawn.")
    return _with_text(probed, "\n".join(text))


def _with_text(built: Any, text: str) -> Any:
    """A kernel of the library with another text."""
    return dataclasses.replace(built, kernel=Kernel(built.name, built.kernel.arch, text, built.params, {}))

"""A kernel of the explorer that somebody has changed by hand, in the Python or CUDA C++ that it is made from, in its
PTX, or in what the assembler is told: run, compared and drawn like the one it was."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any

from ptxlab import gpu
from ptxlab.builder.kernel import Kernel
from ptxlab.errors import LaunchError, PtxError, UnavailableError
from ptxlab.kernels import Parameter
from ptxlab.kernels.rung import AnyBuilt
from ptxlab.lab import alignment
from ptxlab.lab.kernel_subject import Text
from ptxlab.lab.python_text import explained
from ptxlab.lab.subject import OPTIONS, PTX, Source, Subject, Values

LESSON = {
    "question": "What did the change do?",
    "look": "what `Diff` marks, once `Show the code` is pressed. Closing the editor goes back to the kernel",
    "line": 0,
    "next": None,
}
"""What can be done with a text of one's own."""


class NotRecorded(LaunchError):
    """The softmax of an edited kernel cannot be drawn."""


def edited(base: Subject, values: Values, edits: Mapping[str, str]) -> Subject:
    """`base` with texts in the place of its own: see `Subject.edits`. What is wrong with a source or with the options
    is raised here, with the line of the source in `text_line` where one is to blame; with PTX, when it is shown."""
    if not edits:
        return base
    found, kinds = copy.copy(base), [kind for kind in edits if kind != OPTIONS]
    if base.source is not None and base.source.language in edits:
        found = base.of_source(edits[base.source.language])
        assert found.source is not None
        with explained(found.source.file):
            values = {p.name: _value(p, values) for p in found.parameters}
            _ = found.build(values).ptx
    if PTX in edits:
        found.kept = {p.name: values[p.name] for p in found.building}
    found.base, found.edits = base, dict(edits)
    found.text = "; ".join(_change(found, values, kind) for kind in kinds) or base.text
    found.title = f"{base.title}, edited" if kinds else base.title
    if found.options:
        with contextlib.suppress(PtxError, UnavailableError):
            gpu.assemble(made(found, values), options=found.options)
    return found


def _value(p: Parameter, values: Values) -> Any:
    """What a parameter of the edited kernel has, which may be another than it was."""
    value = values.get(p.name, p.default)
    return value if not p.choices or value in p.choices else p.default


def _change(subject: Subject, values: Values, kind: str) -> str:
    """Where a text begins to differ from what it stands in place of."""
    before = unedited(subject, values, kind)
    lines = itertools.zip_longest(before.splitlines(), subject.edits[kind].splitlines())
    return f"{kind} changed from line {next((n for n, (was, now) in enumerate(lines, 1) if was != now), 0)} on"


def unedited(subject: Subject, values: Values, kind: str) -> str:
    """What a subject has without its edit of this kind."""
    source = (subject.base or subject).source
    if kind == OPTIONS:
        return ""
    return str(subject.build(values).ptx) if kind == PTX or source is None else source.text


def source_line(source: Source, spans: Mapping[int, Any], line: int) -> int:
    """The line of a source's text that wrote a line of PTX, or the next one above that some line of it wrote."""
    known = sorted((at, span.line - source.first + 1) for at, span in spans.items() if span.file == source.file)
    return next((row for at, row in reversed(known) if at <= line), known[0][1] if known else 1)


def made(subject: Subject, values: Values) -> Any:
    """The kernel that a subject builds; of one whose PTX is edited that text, as a kernel of the same kind."""
    built, ptx = subject.build(values), subject.edits.get(PTX)
    if ptx is None:
        return built
    if not isinstance(built, AnyBuilt):
        return Text(ptx, built.name)
    found = _with_text(built, ptx)
    object.__setattr__(found, "with_probes", functools.partial(_probed, built, ptx))
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

"""What is worth seeing in a trace: barriers, divergence, new maxima; and the static copy that shows a few of them.

The debugger marks these steps on its scrubber. A notebook that is opened without a kernel shows some of them as tables.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.trace.recording import Moment, Recording
from ptxlab.errors import PtxError, Span
from ptxlab.findings import Finding
from ptxlab.isa import Action, action_of
from ptxlab.lab import descriptors, display, highlight, hover, noticed, protocol
from ptxlab.lab.lane_exchange import exchanges, maxima
from ptxlab.lab.timeline import PRODUCTS, timeline
from ptxlab.text import parse

BARRIERS = (Action.BARRIER, Action.WARP_BARRIER, Action.CLUSTER_BARRIER)
ENDS = (Action.RETURN, Action.EXIT)
"""What instructions do after which lanes are missing because they are done."""
MAXIMUM = re.compile(r"row_max")
"""Names of the registers whose growth is an event of its own."""
SHOWN = 7
"""Steps of the static copy, at most."""
SPANS = 24
"""Rows of its timeline."""
AROUND = 3
"""PTX lines above and below the one that a step of the static copy has executed."""
LANES_SHOWN = 8


@dataclass(frozen=True)
class Shown:
    """What a debugger shows: a trace, why the launch was stopped, what its checks have found (first of all the fault),
    their names where they are known, and the PTX lines at which to open."""

    recording: Recording
    note: str = ""
    findings: Sequence[Finding] = ()
    checks: Sequence[str] = ()
    at: Sequence[int] = ()

    @functools.cached_property
    def found(self) -> list[protocol.Finding]:
        """The findings for the page, as `noticed.in_trace` has them, and the first NaN."""
        found = noticed.in_trace(self.recording, self.findings, bool(self.note))
        return found + noticed.first_nan(self.recording)

    def opens(self) -> tuple[tuple[int, int], int] | None:
        """The warp (block, warp) and the step to open at: at a line, or where the first finding was made."""
        if self.at:
            return first_step(self.recording, self.at)
        for finding in self.found:
            for party in finding["parties"]:
                if (step := party.get("step")) is not None:
                    return (party["block"], party["warp"]), step
        return None


def events(recording: Recording, key: tuple[int, int]) -> dict[str, list[int]]:
    """{barrier, divergence, maximum} of a warp (block, warp): the recorded steps, counted from 0, where that happens.

    divergence: lanes are missing that took part in the step before, and have not ended. maximum: a register named
    row_max has grown in some lane; in a kernel without one, such as a compiler's, a register that `max` writes.
    """
    pages = [recording.page(start, length, crc) for _, _, start, length, crc in recording.pages[key]]
    codes = np.concatenate([page.codes for page in pages])
    masks = np.concatenate([page.masks for page in pages])
    waits = np.array([action_of(opcode) in BARRIERS for _, opcode, _ in recording.codes])
    ends = np.array([action_of(opcode) in ENDS for _, opcode, _ in recording.codes])
    fewer = (masks[1:] != masks[:-1]) & (masks[1:] & ~masks[:-1] == 0) & ~ends[codes[:-1]]
    return {
        "barrier": np.flatnonzero(waits[codes]).tolist(),
        "divergence": (np.flatnonzero(fewer) + 1).tolist(),
        "maximum": _growth(recording, pages),
    }


def _growth(recording: Recording, pages: list[Any]) -> list[int]:
    """The steps where a register of `MAXIMUM` grows. Without names, the first value of a register is not a growth."""
    named = {k for k, name in enumerate(recording.names) if MAXIMUM.search(name)}
    watched = named or maxima(recording)
    last: dict[int, np.ndarray] = {}
    found: list[int] = []
    base = 0
    for page in pages:
        for k in np.flatnonzero(np.isin(page.registers, sorted(watched))).tolist():
            r, value = int(page.registers[k]), page.values[k]
            step = base + int(np.searchsorted(page.first_write, k, "right")) - 1
            before = last.get(r, pages[0].keyframe[r] if named else value)
            if (value > before).any() and found[-1:] != [step]:
                found.append(step)
            last[r] = value
        base += page.codes.size
    return found


def first_step(recording: Recording, lines: Sequence[int]) -> tuple[tuple[int, int], int] | None:
    """The first warp (block, warp) with a recorded step at one of these PTX lines, and that step, counted from 0."""
    wanted = np.isin([line for line, *_ in recording.codes], lines)
    for key in recording.warps if wanted.any() else ():
        base = 0
        for _, count, start, length, crc in recording.pages[key]:
            there = wanted[recording.page(start, length, crc).codes]
            if there.any():
                return key, base + int(there.argmax())
            base += count
    return None


def opening(recording: Recording, lines: Sequence[int]) -> dict[str, Any]:
    """{at, start}: the PTX lines and the warp that the viewer opens at; nothing without lines, no warp if none was
    there."""
    found = first_step(recording, lines)
    return ({"at": list(lines)} if lines else {}) | ({"start": list(found[0])} if found else {})


def page_info(shown: Shown, part: Recording | None = None) -> dict[str, Any]:
    """What the viewer is given beside the trace, or beside a part of it."""
    recording = part or shown.recording
    source, links = highlight.python_pane(recording.spans)
    return {
        "kernel": recording.title,
        "lines": highlight.ptx_lines(recording.text),
        "events": {f"{b}:{w}": events(recording, (b, w)) for b, w in recording.warps},
        "exchange": exchanges(recording),
        "actions": {opcode: done.name for _, opcode, _ in recording.codes if (done := action_of(opcode)) is not None},
        "timeline": timeline(recording),
        "windows": {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW, "size": WINDOW_SIZE},
        "capped": recording.capped,
        "note": shown.note,
        "findings": shown.found,
        "opens": [0, 0] if shown.found and not shown.at else None,
        "checks": list(shown.checks),
        "source": source,
        "links": links,
        "maps": descriptors.maps_used(recording),
        **_words(recording.text),
        **opening(shown.recording, shown.at),
    }


def _words(text: str) -> dict[str, Any]:
    """{docs, words, registers, roles, fields} of a trace's PTX for the mouse, as `hover` and `descriptors` have them;
    nothing where it cannot be read."""
    try:
        module = parse(text)
    except PtxError:
        return hover.NOTHING
    return hover.of_module(module)


# -- the static copy ---------------------------------------------------------------------------------------------------


def key_steps(recording: Recording, key: tuple[int, int], opens: int | None = None) -> dict[int, str]:
    """Up to `SHOWN` steps of a warp with what makes each worth seeing, in order. opens: the step that was asked for."""
    there = events(recording, key)
    out = {0: "the first step"} if opens is None else {opens: "where the debugger opens", 0: "the first step"}
    words = {
        "barrier": "the first barrier",
        "divergence": "the warp diverges for the first time",
        "maximum": "the first new maximum",
    }
    for kind, says in words.items():
        if there[kind]:
            out.setdefault(there[kind][0], says)
    if len(there["maximum"]) > 1:
        out.setdefault(there["maximum"][-1], "the last new maximum")
    out.setdefault(len(recording.walk(*key)) - 1, "the last step")
    return dict(sorted(out.items())[:SHOWN])


def debugger_html(shown: Shown) -> str:
    """A static copy of the debugger: a few key steps of a warp, with their registers and accesses: of the one that it
    opens at, by default the first."""
    recording, opens = shown.recording, shown.opens()
    rows: dict[str, object] = {"trace": recording, "grid": recording.grid, "block": recording.block}
    if shown.note:
        rows["stopped"] = shown.note
    rows["copy"] = "static, with a few steps only; run the cell for the live debugger"
    parts = [f'<div class="pl-head"><b>{display.text(recording.title)}</b></div>', display.table(rows)]
    parts += [finding._repr_html_() for finding in shown.findings[bool(shown.note) :]]
    parts.append(_timeline_html(timeline(recording)))
    if recording.warps:
        key, opened = opens or (recording.warps[0], None)
        walker, lines = recording.walk(*key), highlight.ptx_lines(recording.text)
        for step, says in key_steps(recording, key, opened).items():
            moment = walker.seek(step + 1)
            assert moment is not None
            title = f"Block {key[0]}, warp {key[1]}, step {step + 1} of {len(walker)}: {says}"
            looks = _step_html(moment, lines, recording.spans.get(moment.line))
            parts.append(f"<details open><summary>{title}</summary>{looks}</details>")
    return display.page(*parts)


def _timeline_html(found: dict[str, Any] | None) -> str:
    """What is asynchronous, as a table: the first copies, groups of products and waits that last, in their order."""
    if found is None:
        return ""
    told = sorted(
        (begin, end, f"{row['block']}:{row['warp']}", kind, says)
        for row in found["rows"]
        for kind, begin, end, _, says, *_ in row["spans"]
        if kind in ("copy", PRODUCTS) or (kind == "wait" and end - begin > 1)
    )
    rows = [display.row((), (f"{begin} to {end}", warp, says)) for begin, end, warp, _, says in told[:SPANS]]
    more = f", the first {SPANS} of {len(told)}" if len(told) > SPANS else ""
    body = display.row(("steps of all warps", "warp", "what")) + "".join(rows)
    return f"<details><summary>Timeline{more}</summary><table>{body}</table></details>" if told else ""


def _step_html(moment: Moment, lines: list[str], span: Span | None) -> str:
    first, last = max(1, moment.line - AROUND), min(len(lines), moment.line + AROUND)
    code = [f"{'▶' if n == moment.line else ' '} {n:4} {lines[n - 1]}" for n in range(first, last + 1)]
    says = f"{int(moment.mask.sum())} of 32 lanes executed {display.text(moment.opcode)}"
    says += f", from {display.text(highlight.short_path(span.file))}:{span.line}. " if span is not None else ". "
    says += " ".join(
        f"{a.kind} of {a.size} bytes per lane, {a.space} memory from 0x{int(a.address[a.mask].min()):x} on."
        for a in moment.accesses
        if a.mask.any()
    )
    out = f"<pre>{chr(10).join(code)}</pre><p>{says}</p>"
    if moment.writes:
        body = display.row(["", *(f"lane {lane}" for lane in range(LANES_SHOWN))])
        for name, both in moment.writes.items():
            for when, values in zip(("before", "after"), both, strict=True):
                body += display.row([f"{name} {when}"], map(_number, values[:LANES_SHOWN].tolist()))
        out += f"<table>{body}</table>"
    return out


def _number(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, float) else str(int(x))

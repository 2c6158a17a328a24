"""Findings as CI services show them beside the code: SARIF 2.1.0 for code scanning, and GitHub's workflow commands."""

from __future__ import annotations

import dataclasses
import json
import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptxlab.errors import DeviceFault, PtxWarning
from ptxlab.findings import Finding, Party
from ptxlab.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
"""The schema that the documents follow (OASIS, SARIF 2.1.0 errata 01)."""


@dataclass(frozen=True)
class Note:
    """A finding at a line of a file: `file` is relative to the folder of the run where it lies in there, line and the
    other lines count from 1. `others` are further places with what happened there."""

    rule: str
    """The check and the kind, such as "racecheck/RAW" or "initcheck/uninitialised-read"."""
    message: str
    """What `str(finding)` says."""
    file: str
    line: int
    others: tuple[tuple[str, int, str], ...] = ()
    level: str = "error"
    """Of a warning "warning"."""

    def to_dict(self) -> dict[str, Any]:
        """What travels from a worker process."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Note:
        """What `to_dict` gave, after JSON."""
        return cls(**(saved | {"others": tuple((file, line, text) for file, line, text in saved["others"])}))


def notes(findings: Iterable[Finding | PtxWarning], fallback: tuple[Path, int], ptx: Path | None = None) -> list[Note]:
    """One for each finding or warning, at the line of the source that made the instruction.

    ptx: the file of the kernel's text, whose lines are named where no source is known; without it, fallback is: a file
    and a line, such as those of the test.
    """

    def places(party: Party | PtxWarning | None) -> list[tuple[str, int, str]]:
        """Where a party or a warning is, with what it did there, then the calls that were inlined."""
        if party is None:
            return []
        did = party.did if isinstance(party, Party) else ""
        steps = party.span.steps() if party.span is not None else []
        found = [(Path(span.place[0]), span.place[1], f"{how} here" if how else did) for how, span in steps]
        known = [(_relative(file), line, what) for file, line, what in found if file.is_file()]
        return known or ([(_relative(ptx), party.line, did)] if ptx is not None else [])

    out = []
    for finding in findings:
        if isinstance(finding, PtxWarning):
            rule, first, second = f"lint/{finding.rule}", places(finding), []
        else:
            rule = f"{finding.check}/{finding.kind}" if finding.kind else finding.check
            first, second = places(finding.first), places(finding.second)
        (file, line, _), *others = first or [(_relative(fallback[0]), fallback[1], "")]
        level = "warning" if isinstance(finding, PtxWarning) else "error"
        out.append(Note(rule.replace(" ", "-"), str(finding), file, line, (*others, *second), level))
    return out


def findings_of(fault: DeviceFault) -> Sequence[Finding]:
    """What a stopped launch is about: the fault itself as a finding, and what the checks had noticed before."""
    if fault.findings:
        return fault.findings
    party = None
    if fault.block is not None and fault.thread is not None:
        party = Party(fault.block, fault.thread, 0, 0, fault.line, fault.source, fault.span)
    return [Finding(fault.kind, fault.message, first=party, address=fault.address)]


def _relative(path: Path) -> str:
    """A path as a repository knows it: from the folder of the run, with slashes."""
    whole = path.resolve()
    here = Path.cwd().resolve()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def sarif(found: Sequence[Note]) -> str:
    """A SARIF document: one run, one rule for each check and kind, one result for each finding."""
    rules = sorted({note.rule for note in found})
    results = [
        {
            "ruleId": note.rule,
            "ruleIndex": rules.index(note.rule),
            "level": note.level,
            "message": {"text": note.message},
            "locations": [_location(note.file, note.line)],
            "relatedLocations": [
                {**_location(file, line), "message": {"text": text}} for file, line, text in note.others
            ],
        }
        for note in found
    ]
    driver = {
        "name": "ptxlab",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": _rule_in_words(rule)}} for rule in rules],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _location(file: str, line: int) -> dict[str, Any]:
    artifact = {"uri": Path(file).as_uri() if Path(file).is_absolute() else quote(file)}
    if not Path(file).is_absolute():
        artifact["uriBaseId"] = "%SRCROOT%"
    region: dict[str, Any] = {"startLine": max(line, 1)}
    if text := linecache.getline(file, line).strip("\r\n"):
        region["snippet"] = {"text": text}  # so that a viewer without the repository shows the line
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


_BROKEN = {
    "assert": "An assertion of the kernel failed",
    "budget": "A launch executed more instructions than its budget",
    "deadlock": "No warp can go on",
    "gpu": "The GPU stopped the kernel",
    "initcheck": "A thread uses memory or a register that nothing has written, or leaves its array",
    "lint": "PTX that is right, but hardly meant",
    "memcheck": "A thread accesses memory that it may not access",
    "racecheck": "Two threads access the same memory, and nothing orders the accesses",
    "synccheck": "A barrier, an mbarrier, a shuffle or an asynchronous operation is used against its rules",
    "trap": "The kernel stopped itself",
    "unwritten": "Elements of an output were not written",
}
"""What a rule of each check says."""
_ORDERS = {"RAW": "read after write", "WAR": "write after read", "WAW": "write after write"}


def _rule_in_words(rule: str) -> str:
    check, _, kind = rule.partition("/")
    said = _BROKEN.get(check, check)
    return f"{said} ({_ORDERS.get(kind, kind.replace('-', ' '))})." if kind else f"{said}."


def workflow_command(note: Note) -> str:
    """The line that makes GitHub Actions show a finding in the diff of a pull request."""
    properties = f"file={_property(note.file)},line={max(note.line, 1)},title={_property(note.rule)}"
    return f"::{note.level} {properties}::{_data(note.message)}"


def _data(text: str) -> str:
    """Text as a workflow command carries it: one line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

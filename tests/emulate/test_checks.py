"""The checks on both engines: planted bugs are found with their lines, and their repaired twins are silent."""

from __future__ import annotations

import pytest
from emulate_programs import ALL_CHECKS, DEVICES
from planted import BUGS
from planted_bug import Bug

import ptxlab as pl
from ptxlab.findings import Finding

Key = tuple[str, str, int, int]


def key(finding: Finding) -> Key:
    """What a finding is about: the check, the kind, the lines of both parties."""
    assert finding.first is not None
    return finding.check, finding.kind, finding.first.line, finding.second.line if finding.second else 0


def test_there_are_enough() -> None:
    assert len(BUGS) >= 60
    assert {(b.check, b.kind) for b in BUGS.values() if "|" not in b.kind} >= {
        ("racecheck", "RAW"), ("racecheck", "WAR"), ("racecheck", "WAW"), ("initcheck", "uninitialised read"),
        ("synccheck", "divergent barrier"), ("synccheck", "divergent block"), ("synccheck", "barrier after exit"),
        ("synccheck", "barrier count"), ("synccheck", "mask omits lane"), ("synccheck", "mask names exited lane"),
        ("synccheck", "shuffle source"), ("synccheck", "shuffle range"), ("synccheck", "asynchronous copy"),
        ("synccheck", "mbarrier phase"), ("synccheck", "mbarrier wait"), ("synccheck", "mbarrier in use"),
        ("synccheck", "mbarrier not initialised"), ("synccheck", "mbarrier arrivals"), ("synccheck", "mbarrier unseen"),
    }  # fmt: skip


def found(planted: Bug, device: str) -> set[object]:
    """What a device says of a planted bug, which it has to find; nothing where the bug stops the launch."""
    lines = planted.lines()
    wanted = {(planted.check, kind, *ends) for kind in planted.kind.split("|") for ends in (lines, lines[::-1])}
    run, _ = planted.run(device, False, ("memcheck", planted.check))
    said = [key(f) for f in run.findings if f.check != "unwritten"]
    if planted.check == "initcheck" and not lines[1]:  # the first use is not marked
        said = [(*k[:3], 0) for k in said]
    assert wanted & set(said), (device, said, lines)
    if planted.stops:
        assert isinstance(run, pl.DeviceFault)  # others wait in vain as well, and which do is the schedule's matter
        return set()
    assert all(k[2] in lines for k in said), (device, said, lines)
    # which of two unordered accesses comes first is a matter of the schedule
    return {(c, frozenset(ends)) if c == "racecheck" else (c, k, *ends) for c, k, *ends in said}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug(name: str) -> None:
    found(BUGS[name], "step")


@pytest.mark.sweep(17)
@pytest.mark.parametrize("name", BUGS)
def test_engines_find_the_same(name: str) -> None:
    assert all(found(BUGS[name], device) == found(BUGS[name], "step") for device in DEVICES)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", BUGS)
def test_repaired_twin(name: str) -> None:
    assert silent(name, "step")


@pytest.mark.sweep(13)
@pytest.mark.parametrize("name", BUGS)
def test_compiled_twin(name: str) -> None:
    assert silent(name, DEVICES[-1])


def silent(name: str, device: str) -> bool:
    """Whether nothing is found in a bug's repaired twin."""
    run, _ = BUGS[name].run(device, True, ALL_CHECKS)
    return [str(f) for f in run.findings if f.check != "unwritten"] == []

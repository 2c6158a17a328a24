"""What the checks of a launch have found, as plain data for a page, and at which steps of a trace it happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.program.addresses import SHARED_WINDOW
from ptxlab.emulate.trace.recording import Access, Recording, lanes_of
from ptxlab.findings import Finding, Party
from ptxlab.isa import Action, action_of
from ptxlab.lab import protocol

LOOKED_AT = 500
"""Steps of a line that are searched for the access that a finding is about."""


def listed(findings: Sequence[Finding], grid: tuple[int, int, int]) -> list[protocol.Finding]:
    """The findings, each of which is about another pair of source lines. `more`: where in memory, and how often;
    `from`: the place in the source; `block`: its number in the grid; `did`: a verb."""
    out: list[protocol.Finding] = []
    for each in findings:
        more = [each.where, f"seen {each.count:,} times" if each.count > 1 else ""]
        more += [f"only in the order of warps of seed={each.seed}" if each.seed is not None else ""]
        parties = [_party(party, grid) for party in (each.first, each.second) if party is not None]
        out.append(
            {"check": each.check, "message": each.message, "more": ", ".join(filter(None, more)), "parties": parties}
        )
    return out


def _party(party: Party, grid: tuple[int, int, int]) -> protocol.Party:
    return {
        "line": party.line,
        "source": party.source.strip(),
        "from": "" if party.span is None else str(party.span),
        "block": block_number(party.block, grid),
        "warp": party.warp,
        "lane": party.lane,
        "did": party.did,
    }


def block_number(block: tuple[int, int, int], grid: tuple[int, int, int]) -> int:
    """The number of a block in its grid, x first."""
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])


def in_trace(recording: Recording, findings: Sequence[Finding], stopped: bool) -> list[protocol.Finding]:
    """`listed`, each party also with its `step` in its warp, counted from 0; None where the trace has none. stopped:
    the first finding is what stopped the launch, at an instruction that did nothing and is not recorded: its step is
    the last one before."""
    out = listed(findings, recording.grid)
    for k, (finding, shown) in enumerate(zip(findings, out, strict=True)):
        parties = shown["parties"]
        places = [_steps(recording, finding, party) for party in parties]
        pair = [steps[:1] for steps in places]
        if len({party["block"] for party in parties}) == 1 < len(parties):  # a race: with no barrier in between
            pair = next(([[a], [b]] for a in places[0] for b in places[1] if a[1] == b[1]), pair)
        for party, found in zip(parties, pair, strict=True):
            party["step"] = found[0][0] if found else None
            if stopped and k == 0 and (key := (party["block"], party["warp"])) in recording.pages:
                party["step"] = len(recording.walk(*key)) - 1
    return out


def _steps(recording: Recording, finding: Finding, party: protocol.Party) -> list[tuple[int, int]]:
    """The steps in which a party may have done what the finding says: its lane takes part and, where that is so in any,
    some lane touches the address. With each goes how many barriers its warp had passed."""
    key = party["block"], party["warp"]
    if key not in recording.pages:
        return []
    walker, codes = recording.walk(*key), recording.codes_of(key)
    at_line = np.array([line == party["line"] for line, *_ in recording.codes])
    passed = np.cumsum(np.array([action_of(opcode) is Action.BARRIER for _, opcode, _ in recording.codes])[codes])
    steps = np.flatnonzero(at_line[codes])[:LOOKED_AT].tolist()
    moments = [(step, moment) for step in steps if (moment := walker.moment(step)).mask[party["lane"]]]
    exactly = [step for step, moment in moments if any(_touches(a, finding) for a in moment.accesses)]
    return [(step, int(passed[step])) for step in exactly or [step for step, _ in moments]]


def _touches(access: Access, finding: Finding) -> bool:
    """Whether some lane accesses the address of a finding."""
    at = access.address[access.mask].astype(np.int64)
    if finding.space == "shared":  # as an offset, or in the window
        at = np.where(at >= SHARED_WINDOW, at - SHARED_WINDOW, at)
    address = -1 if finding.address is None else finding.address
    return bool(((at <= address) & (address < at + access.size)).any())


def first_nan(recording: Recording) -> list[protocol.Finding]:
    """The first step that writes a NaN, of the first warp that has one, as a finding of `in_trace`; nothing without."""
    for (block, warp), step, register, lanes in _nans(recording):
        line, opcode, _ = recording.codes[int(recording.codes_of((block, warp))[step])]
        several = f"{len(lanes)} lanes" if len(lanes) > 1 else f"lane {lanes[0]}"
        says = f"{recording.names[register]} becomes NaN in {several}: the first NaN of this warp"
        span, source = recording.spans.get(line), recording.text.splitlines()[line - 1].strip()
        party: protocol.Party = {
            "line": line,
            "source": source,
            "from": "" if span is None else str(span),
            "block": block,
            "warp": warp,
            "lane": lanes[0],
            "did": f"executes {opcode}",
            "step": step,
        }
        return [{"check": "NaN", "message": says, "more": "", "parties": [party]}]
    return []


def _nans(recording: Recording) -> Iterator[tuple[tuple[int, int], int, int, list[int]]]:
    """The writes of NaNs, warp by warp: (block, warp), the step, the number of the register, the lanes."""
    floats = [k for k, (_, _, kind, _) in enumerate(recording.registers) if kind in ("f32", "f64")]
    for key in recording.warps:
        base = 0
        for _, count, start, length, crc in recording.pages[key]:
            page = recording.page(start, length, crc)
            for k in np.flatnonzero(np.isin(page.registers, floats)).tolist():
                step = int(np.searchsorted(page.first_write, k, "right")) - 1
                lanes = np.flatnonzero(np.isnan(page.values[k]) & lanes_of(int(page.masks[step]))).tolist()
                if lanes:
                    yield key, base + step, int(page.registers[k]), lanes
            base += count


def in_results(arrays: Mapping[str, Any]) -> list[protocol.Finding]:
    """NaNs in what a kernel has written, as findings of `listed` that no thread is known for."""
    out: list[protocol.Finding] = []
    for name, array in arrays.items():
        wrong = np.argwhere(array != array)  # no other value differs from itself
        if len(wrong):
            first = ", ".join(map(str, wrong[0]))
            says = f"{len(wrong):,} of {array.size:,} elements of {name!r} are NaN, the first of them {name}[{first}]"
            out.append({"check": "result", "message": says, "more": "", "parties": []})
    return out

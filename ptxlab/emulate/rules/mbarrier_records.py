"""What the checks know of one mbarrier: its phases, who has arrived in them, and who waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ptxlab.emulate.program.program import Program
from ptxlab.isa import mbarrier

WARPS = 32
Party = tuple[int, int]
"""A code index and the thread (within the block) that executed it."""


@dataclass
class Wait:
    """A wait that passed, or one that still fails. `parity`: the parity that it tests; `given`: see `Phases.given`."""

    by: Party
    phase: int
    parity: int
    given: tuple[int, int]
    before: Wait | None = None  # the wait that passed for the same phase before this one
    arrival: Party | None = None  # the first in the phase that it should have waited for


@dataclass
class Mbarrier:
    """One mbarrier. word: its contents. phase: how many have completed. arrivals: the first of each phase in use."""

    made: Party
    word: int = 0
    phase: int = 0
    used: Party | None = None
    arrivals: dict[int, Party] = field(default_factory=dict)
    arrived: dict[int, tuple[int, int]] = field(default_factory=dict)  # thread -> phase, code of its last arrival
    latest: Party | None = None
    passed: dict[int, Wait] = field(default_factory=dict)
    seen: int = -1  # the last phase that a wait has seen over
    waiting: dict[int, Wait] = field(default_factory=dict)
    copies: list[tuple[int, int, int]] = field(default_factory=list)  # phase, thread, group
    pending: np.ndarray = field(default_factory=lambda: np.zeros(WARPS, np.int64))
    known: np.ndarray = field(default_factory=lambda: np.zeros(WARPS, np.int64))
    bytes: list[tuple[Party, int]] = field(default_factory=list)  # announced in this phase; negative: reported
    in_flight: list[tuple[Party, int, int]] = field(default_factory=list)  # bulk copies: issuer, bytes, phase then
    short: bool = False  # a phase has completed before a copy was performed
    record: int = 0  # of its `init` as an access; 0: unknown
    ordered: set[int] = field(default_factory=set)  # warps ordered after it, or already reported
    far_pending: dict[int, np.ndarray] = field(default_factory=dict)  # the same of other blocks of the cluster
    far_known: dict[int, np.ndarray] = field(default_factory=dict)

    def last_arrival(self) -> Party | None:
        """The instruction and thread of the last arrival, if there was any."""
        if self.latest is None and self.arrived:
            thread, (_, code) = max(self.arrived.items(), key=lambda item: item[1][0])
            return code, thread
        return self.latest


def history(held: Mbarrier, program: Program, whose: Callable[[int], tuple[int, int]]) -> str:
    """Bytes announced and brought in the current phase, and warps that arrived in the one before but not in this one,
    in words. whose: the block of a thread, and its number there."""
    lines: dict[tuple[bool, int], int] = {}
    for (code, _), count in held.bytes:
        key = count > 0, program.codes[code].line
        lines[key] = lines.get(key, 0) + abs(count)
    said = [f"line {line} {'announced' if told else 'brought'} {n} bytes" for (told, line), n in lines.items()]
    absent: dict[int, set[int]] = {}
    for thread, (phase, code) in held.arrived.items():
        if mbarrier.pending(held.word) and phase == held.phase - 1:
            absent.setdefault(program.codes[code].line, set()).add(whose(thread)[1] // WARPS)
    for line, warps in absent.items():
        who = f"warp{'' if len(warps) == 1 else 's'} {', '.join(map(str, sorted(warps)))}"
        said.append(f"{who} arrived in line {line} in the phase before, and not in this one")
    return "".join(f"; {each}" for each in said[:4])

"""Results of counted code: how often each instruction has run, and the tally of a launch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxlab.emulate.jit.emitter.access_groups import access_shape, plan_groups
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime.counters import NEEDED, TALLY, moves_pairs
from ptxlab.emulate.runtime.state import MOVED


def executions(program: Program, counts: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """How many warps and threads have executed each instruction, `[instructions, 2]`. `counts`: how many have begun
    each basic block; `rest`: for each instruction that synchronizes lanes how many more or fewer have executed what
    follows it in its block. Both are int64, in pairs."""
    begun: np.ndarray = counts[program.block_of]
    if not rest.any():
        return begun
    before = np.zeros((len(rest) + 1, 2), np.int64)
    np.cumsum(rest, axis=0, out=before[1:])
    firsts = np.array([block.first for block in program.blocks])[program.block_of]
    begun += before[:-1] - before[firsts]
    return begun


class Plain(NamedTuple):
    """The plain accesses to one space: code indices, those of the accesses that count for them, bytes per lane."""

    codes: np.ndarray
    leaders: np.ndarray
    bytes: np.ndarray


def tally(program: Program, executions: np.ndarray, records: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """The tally of a launch, from its executions, the `Counted` of each instruction, and what bulk copies `moved`."""
    out = np.zeros(len(program.codes), TALLY)
    guarded = np.array([code.guard is not None for code in program.codes], np.bool_)
    out["warps"], out["threads"] = executions.T
    out["on_warps"], out["on_threads"] = np.where(guarded[:, None], records["on"], executions).T
    out["divergent"] = records["diverged"]
    for name, column in zip(MOVED, moved.T, strict=True):
        out[name] = column
    by_traffic = np.ones(len(out), np.bool_)  # not those whose space is known: they are counted with their leader
    for space, (codes, leader, size) in _plain_accesses(program).items():
        on_warps = out["on_warps"][codes]
        if space in NEEDED:
            beyond = records["beyond_converged"][leader] + records["beyond_diverged"][codes]
            out[f"{space}_{NEEDED[space]}"][codes] = on_warps + beyond[:, 0]
            out[f"{space}_ideal"][codes] = on_warps + beyond[:, 1]
        out[f"{space}_requests"][codes] = on_warps
        out[f"{space}_bytes"][codes] = out["on_threads"][codes] * size
        by_traffic[codes] = False
    for space in ("global", "shared", "local"):
        traffic = records[f"in_{space}"][by_traffic]
        for name in ("requests", "bytes", "needed", "ideal") if space in NEEDED else ("requests", "bytes"):
            field = NEEDED[space] if name == "needed" else name
            out[f"{space}_{field}"][by_traffic] = traffic[name]
    return out


def _plain_accesses(program: Program) -> dict[str, Plain]:
    """Those whose space is known, found once for a program."""
    found = program.found.get(tally)
    if not isinstance(found, dict):
        leader = leaders(program)
        of_space = {space: [c for c in program.codes if c.index in leader and c.space == space] for space in NEEDED}
        of_space["local"] = [c for c in program.codes if c.properties.plain and c.space == "local"]
        found = {
            space: Plain(
                np.array([c.index for c in codes], np.int64),
                np.array([leader.get(c.index, -1) for c in codes], np.int64),
                np.array([access_shape(c)[2] for c in codes], np.int64),
            )
            for space, codes in of_space.items()
        }
        program.found[tally] = found
    return found


def leaders(program: Program) -> dict[int, int]:
    """For each plain access (code index) the one in its block that counts for it: the first of those whose addresses
    differ by a constant that does not change the count."""
    found: dict[int, int] = {}
    for block in program.blocks:
        groups = plan_groups(program, block.first, block.last)
        for group in {id(g): g for g in groups.values()}.values():
            first: dict[Any, int] = {}
            for index, offset, size in sorted(group.members):
                code = program.codes[index]
                if code.space == "shared":
                    key: Any = moves_pairs(code) if size > 4 else offset & 3
                else:
                    key = offset & 31
                found[index] = first.setdefault(key, index)
    return found

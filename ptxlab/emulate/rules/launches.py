"""The records of the checks when a launch and its blocks begin, with the memory that they need: for both engines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.liveness import register_flow
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.warpgroup_flow import follows_layouts, follows_tiles
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.instructions import barriers_of, is_bulk
from ptxlab.emulate.rules.records import BLOCKS, RANKS, Block, Launch, Mates, Published, reads_of
from ptxlab.emulate.runtime import report


def known_values(program: Program, checks: frozenset[str]) -> dict[str, int]:
    """The fields that are known before a launch runs: constants in the rules compiled for it."""
    return {
        "Launch.initcheck": "initcheck" in checks,
        "Launch.racecheck": "racecheck" in followed(program, checks),
        "Launch.synccheck": "synccheck" in checks,
        "Launch.granule": races.granule(program),
        "Launch.gaps": "initcheck" in checks and program.shared_gap > 0,
    }


def followed(program: Program, checks: Iterable[str]) -> frozenset[str]:
    """The checks whose records are kept: synccheck finds accesses to what is copied by the records of racecheck."""
    copies = any(code.properties.lane_copy or is_bulk(code) for code in program.codes)
    return frozenset(checks) | ({"racecheck"} if copies and "synccheck" in checks else set())


def begin(program: Program, launch: report.Launch) -> Launch:
    record = Launch.new()
    record.published = Published.many(min(launch.blocks, BLOCKS) + 2)
    record.masks = Pointer(np.zeros(len(program.codes) * 32, np.uint32))
    record.lines = Pointer(np.array([code.line for code in program.codes], np.uint32))
    record.traits = Pointer(np.array(races.traits(program), np.uint16))
    record.barriers = Pointer(np.array(barriers_of(program), np.uint32))
    for name, value in known_values(program, frozenset(launch.checks)).items():
        setattr(record, name.partition(".")[2], value)
    return record


def block(program: Program, launch: report.Launch, shared_size: int) -> Block:
    """The record of the blocks that run in one place, with the memory that the checks need beside it: what is known of
    one of them is cleared when the next begins (`records.started`)."""
    record = Block.new()
    record.warps, record.shared_size = launch.warps, shared_size
    if "synccheck" in launch.checks:
        if follows_tiles(program):
            record.tile_writes = Pointer(np.zeros(shared_size // 16 + 16, np.uint64))
            record.tile_reads = Pointer(np.zeros(reads_of(record, launch.warps + 3) + 16, np.uint64))
        if follows_layouts(program):
            record.tile_layout = Pointer(np.zeros(shared_size // 16 + 16, np.uint64))
    if "initcheck" not in launch.checks:
        return record
    record.written = Pointer(np.zeros(shared_size + 64, np.uint8))
    if program.shared_gap:
        record.gaps = Pointer(np.array(gaps_of(program), np.uint64))
    if program.local_size:
        record.local_stride = program.local_stride
        record.local = Pointer(np.zeros(launch.warps * record.local_stride, np.uint32))
    if registers := register_flow(program).registers:
        record.followed = len(registers)
        record.values = Pointer(np.zeros(len(registers) * launch.warps, np.uint32))
    return record


def in_cluster(block: Block, mates: Pointer[Mates], rank: int) -> None:
    block.mates, block.rank, mates[0].blocks[rank].block = mates, rank, block.opaque
    block.peers = Pointer(np.zeros(32 * RANKS * 32, np.uint32))


def gaps_of(program: Program) -> list[int]:
    """The gaps between the arrays of shared memory as in `Block.gaps`, in words, the unit of checks."""
    found: list[int] = []
    arrays = sorted((at - program.shared_start, size) for _, at, size in program.shared_names)
    if program.dynamic_start > program.shared_start + sum(arrays[-1]):
        arrays.append((program.dynamic_start - program.shared_start, 0))
    for (at, size), (behind, _) in pairwise(arrays):
        end = -(-(at + size) // 4) * 4
        found += [end, behind - end]
    return [len(found) // 2, *found]

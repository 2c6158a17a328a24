"""The order in which recorded warps made their steps, and the bulk copies in flight meanwhile.

A trace holds the steps warp by warp. Its end also says in which turns they were made, so that the steps of all warps
can be put side by side, and has a row for each bulk copy: by which warp and line it was issued, its bytes, before which
step it was issued and performed. Steps are counted over all recorded warps.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import tensor_maps
from ptxlab.emulate.runtime.state import LOAD_TILE, REDUCE_TILE, STORE_TILE, Transfer
from ptxlab.isa.tensor_map import BYTES

MOST = 100_000
"""The most turns, and the most copies, that a trace holds; one with more of either has neither."""
TILES = (LOAD_TILE, STORE_TILE, REDUCE_TILE)
KINDS = ("copy", "reduction", "value", "tile", "tile", "tile reduction")
"""The kinds of transfers in words, numbered as `runtime.state` numbers them."""


@dataclass
class Copied:
    """One bulk copy. begun, ended: how many steps had been made before; ended is -1 where the trace ends first. to: the
    block whose shared memory it writes or reads. barrier: the address of its mbarrier there; group: its bulk group. at:
    where in shared memory the bytes lie. map, place: of a tile, the number of its tensor map in `Recording.maps` and
    its coordinates, the innermost dimension last; -1 and [] of others."""

    block: int
    warp: int
    line: int
    kind: str
    bytes: int
    to: int
    reads: bool
    barrier: int
    group: int
    begun: int
    ended: int = -1
    at: int = -1
    map: int = -1
    place: list[int] = field(default_factory=list)


@dataclass
class Order:
    """The order as it is noted while a launch runs: `turns` are (block, warp, steps)."""

    turns: list[list[int]] = field(default_factory=list)
    copies: list[Copied] = field(default_factory=list)
    maps: dict[bytes, int] = field(default_factory=dict)
    steps: int = 0
    full: bool = False
    _under_way: dict[int, Copied] = field(default_factory=dict, repr=False)

    def step(self, block: int, warp: int) -> None:
        """A recorded warp makes a step."""
        self.steps += 1
        last = self.turns[-1] if self.turns else None
        if last is not None and last[0] == block and last[1] == warp:
            last[2] += 1
        elif len(self.turns) < MOST:
            self.turns.append([block, warp, 1])
        else:
            self.full = True

    def all_steps(self, blocks: np.ndarray, warps: np.ndarray) -> None:
        """All steps at once, in their order."""
        ends = np.flatnonzero((blocks[1:] != blocks[:-1]) | (warps[1:] != warps[:-1])) + 1
        starts = np.concatenate([[0], ends]) if blocks.size else np.zeros(0, np.int64)
        counts = np.diff(np.append(starts, blocks.size))
        self.steps, self.full = blocks.size, self.full or starts.size > MOST
        rows = [blocks[starts[:MOST]], warps[starts[:MOST]], counts[:MOST]]
        self.turns = np.array(rows).T.astype(np.int64).tolist()

    def issued(self, place: int, transfer: Transfer, line: int, block: int, to: int, now: int) -> None:
        """A block issues a copy. place: what the transfer is known by; to: the block of its shared memory."""
        if len(self.copies) >= MOST:
            self.full = True
            return
        who = block, transfer.thread // LANES, line, KINDS[transfer.kind], transfer.count
        reports = -1 if transfer.group else transfer.barrier, transfer.group
        copied = Copied(*who, to, bool(transfer.reads), *reports, now, at=int(transfer.at))
        if transfer.kind in TILES:
            map = b"".join(int(transfer.map[k]).to_bytes(8, "little") for k in range(BYTES // 8))
            copied.map = self.maps.setdefault(map, len(self.maps))
            copied.place = [int(transfer.place[k]) for k in reversed(range(int(tensor_maps.rank(transfer.map))))]
        self.copies.append(copied)
        self._under_way[place] = copied

    def completed(self, place: int, now: int) -> None:
        copied = self._under_way.pop(place, None)
        if copied is not None:
            copied.ended = now

    def tail(self) -> dict[str, Any]:
        """The order, as the end of the trace has it."""
        if self.full:
            return {}
        maps = [map.hex() for map in self.maps]
        return {"turns": self.turns, "copies": [list(astuple(one)) for one in self.copies], "maps": maps}

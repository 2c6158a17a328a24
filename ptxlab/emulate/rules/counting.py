"""What a launch is counted by, on either engine: the fields of a tally, the model of the memory system, the step watch.

The model, the same on both engines (the compiling one has it again as LLVM IR, in `jit/counting.ll`):

- Global memory is moved in sectors of 32 bytes. One instruction asks for each sector that its lanes touch once.
- Shared memory has 32 banks of 4 bytes. The lanes of an instruction are served in groups that ask for 128 bytes
  together: all 32 lanes for up to 4 bytes a lane, halves of the warp for 8 bytes, quarters for 16. (`ldmatrix` is the
  last case: each 8 rows of 16 bytes are a group.) Lanes of a group that want the same word share it; a bank that is
  asked for k different words needs k wavefronts, and the group as many as its worst bank.
- A load of 8 or 16 bytes in which all lane pairs n, n^1 or all pairs n, n^2 agree on their addresses is served in
  groups twice as large: a broadcast of 8 bytes is one wavefront, of 16 bytes two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.program.model import Code, Literal, Program, Reg
from ptxlab.emulate.runtime.memory import LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.step.access import Touch
    from ptxlab.emulate.step.warp import Warp

SECTOR = 32
"""Bytes of a sector."""

FIELDS = (
    "warps", "threads",  # that executed the instruction, whether its guard held or not
    "on_warps", "on_threads",  # those of which at least one lane, and those whose own, guard held
    "divergent",  # executions of a branch after which the lanes did not all go the same way
    "global_requests", "global_sectors", "global_ideal", "global_bytes",
    "shared_requests", "shared_wavefronts", "shared_ideal", "shared_bytes",
    "local_requests", "local_bytes",
)  # fmt: skip
"""What is counted for each instruction of a program."""

TALLY = np.dtype([(name, np.int64) for name in FIELDS])
"""One element an instruction (`Program.codes`) is what both engines give to `ptxlab.emulate.runtime.counters`."""

_AT = {name: k for k, name in enumerate(FIELDS)}


# -- the model ---------------------------------------------------------------------------------------------------------


def sectors(address: np.ndarray, mask: np.ndarray, size: int) -> tuple[int, int]:
    """The sectors that the lanes of `mask` touch with `size` (a power of two up to 32) aligned bytes each, and the
    fewest that could hold as many bytes."""
    lanes = address[mask]
    count = len(set((lanes >> np.uint64(5)).tolist()))
    return count, min(count, -(-lanes.size * size // SECTOR))


def wavefronts(address: np.ndarray, mask: np.ndarray, size: int, *, pairs: bool) -> tuple[int, int]:
    """The wavefronts of a shared-memory access, and those it would take without bank conflicts. `pairs`: groups may be
    twice as large where pairs of lanes agree, which is so for loads."""
    shift = max(2, size.bit_length() - 1)
    places = {lane: int(address[lane]) >> shift for lane in np.flatnonzero(mask).tolist()}
    banks = group_size = 128 >> shift
    if pairs and size > 4 and any(all(places.get(n ^ d, p) == p for n, p in places.items()) for d in (1, 2)):
        group_size *= 2
    wanted: dict[int, dict[int, set[int]]] = {}
    for lane, place in places.items():
        wanted.setdefault(lane // group_size, {}).setdefault(place % banks, set()).add(place)
    return sum(max(map(len, group.values())) for group in wanted.values()), len(wanted)


def moves_pairs(code: Code) -> bool:
    """Whether an access to shared memory is one whose groups may grow: an ordinary load."""
    return code.action is Action.LOAD


def is_branch(code: Code) -> bool:
    """Whether lanes may part here. The `ret` of a kernel ends its threads, and is none."""
    return code.properties.jumps and (code.action is not Action.RETURN or code.register >= 0)


# -- the stepping engine -----------------------------------------------------------------------------------------------


class Watch:
    """Counts for the stepping engine: wraps the steps that need more than how often they ran."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rows = [[0] * len(FIELDS) for _ in program.codes]
        self.known: list[dict[Any, tuple[int, int]]] = [{} for _ in program.codes]

    def wrap(self, steps: list[Callable[[Warp], int | None]]) -> list[Callable[[Warp], int | None]]:
        """The steps of the program, counted."""
        out = []
        for code, step in zip(self.program.codes, steps, strict=True):
            if code.space in ("global", "shared", "local", "generic"):
                step = self._accessing(code, step)
            if is_branch(code):
                step = self._branching(code, step)
            out.append(step if code.guard is None else self._guarded(code, step))
        return out

    def tally(self, issued: list[int], threads: list[int]) -> np.ndarray:
        """The counts, given how often each instruction ran, for how many threads."""
        out = np.zeros(len(self.rows), TALLY)
        for k, row in enumerate(self.rows):
            row[_AT["warps"]], row[_AT["threads"]] = issued[k], threads[k]
            if self.program.codes[k].guard is None:
                row[_AT["on_warps"]], row[_AT["on_threads"]] = issued[k], threads[k]
            out[k] = tuple(row)
        return out

    def _guarded(self, code: Code, step: Callable[[Warp], int | None]) -> Callable[[Warp], int | None]:
        assert code.guard is not None
        row, (register, negated) = self.rows[code.index], code.guard
        warps, threads = _AT["on_warps"], _AT["on_threads"]

        def run(w: Warp) -> int | None:
            p = w.regs[register]
            held = int(np.count_nonzero(np.greater(w.mask, p) if negated else w.mask & p))
            row[warps] += held > 0
            row[threads] += held
            return step(w)

        return run

    def _branching(self, code: Code, step: Callable[[Warp], int | None]) -> Callable[[Warp], int | None]:
        row, at, guard, program = self.rows[code.index], _AT["divergent"], code.guard, self.program
        register = code.register if code.action is Action.RETURN else -1
        places: np.ndarray | None = None
        indexed = code.action is Action.INDEXED_BRANCH
        if indexed and isinstance(code.sources[0], Reg):
            register = code.sources[0].index
            places = np.array([program.blocks[b].first for b in code.targets])
        if guard is None and register < 0:
            return step
        assert not indexed or isinstance(code.sources[0], Reg | Literal)

        def run(w: Warp) -> int | None:
            mask = w.mask
            if guard is not None:
                p = w.regs[guard[0]]
                mask = np.greater(mask, p) if guard[1] else mask & p
                if mask.any() and (mask != w.mask).any():
                    row[at] += 1
                    return step(w)
            if register >= 0 and mask.any():
                chosen = w.regs[register][mask]
                if places is not None:
                    chosen = places[np.minimum(chosen, places.size - 1)]
                row[at] += bool((chosen != chosen[0]).any())
            return step(w)

        return run

    def _accessing(self, code: Code, step: Callable[[Warp], int | None]) -> Callable[[Warp], int | None]:
        def run(w: Warp) -> int | None:
            before: list[Touch] | None = w.touches
            seen: list[Touch] = []
            w.touches = seen
            following = step(w)
            w.touches = before
            if before is not None:
                before += seen
            for touch in seen:
                self._touch(code, touch)
            return following

        return run

    def _touch(self, code: Code, touch: Touch) -> None:
        address, mask = touch.address, touch.mask
        parts = []
        if touch.space == "generic":
            for space, window in (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("param", PARAM_WINDOW)):
                inside = mask & (address - np.uint64(window) < np.uint64(WINDOW_SIZE))
                parts.append((space, inside))
                mask = mask & ~inside
        parts.append(("global" if touch.space == "generic" else touch.space, mask))
        for space, lanes in parts:
            if space in ("global", "shared", "local") and lanes.any():
                self._in_space(code, space, address, lanes, touch.size)

    def _in_space(self, code: Code, space: str, address: np.ndarray, mask: np.ndarray, size: int) -> None:
        row = self.rows[code.index]
        row[_AT[f"{space}_requests"]] += 1
        row[_AT[f"{space}_bytes"]] += int(np.count_nonzero(mask)) * size
        if space == "local":
            return
        first = address[int(mask.argmax())] & np.uint64(0xFFFFFFFFFFFFFFE0)  # nothing changes when all move by sectors
        key = (space, size, mask.tobytes(), np.where(mask, address - first, np.uint64(0)).tobytes())
        known = self.known[code.index]
        found = known.get(key)
        if found is None:
            if len(known) > 4096:
                known.clear()
            if space == "global":
                found = sectors(address, mask, size)
            else:
                found = wavefronts(address, mask, size, pairs=moves_pairs(code))
            known[key] = found
        row[_AT["global_sectors" if space == "global" else "shared_wavefronts"]] += found[0]
        row[_AT["global_ideal" if space == "global" else "shared_ideal"]] += found[1]

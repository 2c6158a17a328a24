"""Counters of the interpreter: wraps the steps whose counts do not follow from how often they ran.

`ptxlab.emulate.rules.memory_model` says how many sectors or wavefronts an access takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.language import bits, count, first, lanes, narrow
from ptxlab.emulate.program.flat_program import Code, Reg
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.memory_model import SECTOR, in_spaces, sectors, wavefronts
from ptxlab.emulate.runtime.counters import FIELDS, TALLY, is_branch, moves_pairs
from ptxlab.emulate.runtime.state import MOVED, SPACES
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action

_AT = {name: k for k, name in enumerate(FIELDS)}
_TRAFFIC = {
    space: [_AT[f"{space}_{what}"] for what in ("requests", "bytes", *needed)]
    for space, needed in (("global", ("sectors", "ideal")), ("shared", ("wavefronts", "ideal")))
} | {"local": [_AT["local_requests"], _AT["local_bytes"], -1, -1]}
"""The counters of each space: requests, bytes, sectors or wavefronts, and how many of them there would be at best."""
_SECTOR_START, _ZERO = np.uint64(-SECTOR & (1 << 64) - 1), np.uint64(0)


class Watch:
    def __init__(self, program: Program, moved: np.ndarray) -> None:
        self.program, self.moved = program, moved
        self.counts = [[0] * len(FIELDS) for _ in program.codes]
        self.known: list[dict[Any, tuple[int, int]]] = [{} for _ in program.codes]

    def wrap(self, steps: list[Callable[[Warp], int | None]]) -> list[Callable[[Warp], int | None]]:
        out = []
        for code, step in zip(self.program.codes, steps, strict=True):
            traffic = all(access.traffic for access in code.properties.accesses)
            if traffic and code.space in ("global", "shared", "cluster", "local", "generic"):
                step = self._accessing(code, step)
            if is_branch(code):
                step = self._branching(code, step)
            out.append(step if code.guard is None else self._guarded(code, step))
        return out

    def tally(self, issued: list[int], threads: list[int]) -> np.ndarray:
        """The counts, given how often each instruction ran, for how many threads."""
        out = np.zeros(len(self.counts), TALLY)
        for k, counts in enumerate(self.counts):
            counts[_AT["warps"]], counts[_AT["threads"]] = issued[k], threads[k]
            if self.program.codes[k].guard is None:
                counts[_AT["on_warps"]], counts[_AT["on_threads"]] = issued[k], threads[k]
            counts[-len(MOVED) :] = self.moved[k * len(MOVED) :][: len(MOVED)].tolist()
            out[k] = tuple(counts)
        return out

    def _guarded(self, code: Code, step: Callable[[Warp], int | None]) -> Callable[[Warp], int | None]:
        assert code.guard is not None
        counts, guard = self.counts[code.index], code.guard
        warps, threads = _AT["on_warps"], _AT["on_threads"]

        def run(w: Warp) -> int | None:
            held = int(np.count_nonzero(w.held(*guard)))
            counts[warps] += held > 0
            counts[threads] += held
            return step(w)

        return run

    def _branching(self, code: Code, step: Callable[[Warp], int | None]) -> Callable[[Warp], int | None]:
        counts, at, guard, program = self.counts[code.index], _AT["divergent"], code.guard, self.program
        register = code.register if code.action is Action.RETURN else -1
        places: np.ndarray | None = None
        indexed = code.action is Action.INDEXED_BRANCH
        if indexed and isinstance(code.sources[0], Reg):
            register = code.sources[0].index
            places = np.array([program.blocks[b].first for b in code.targets])
        if guard is None and register < 0:
            return step

        def run(w: Warp) -> int | None:
            mask = w.mask if guard is None else w.held(*guard)
            if mask.any() and (mask != w.mask).any():
                counts[at] += 1
                return step(w)
            if register >= 0 and mask.any():
                chosen = w.regs[register][mask]
                if places is not None:
                    chosen = places[np.minimum(chosen, places.size - 1)]
                counts[at] += bool((chosen != chosen[0]).any())
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
        mask = bits(touch.mask)
        in_global, in_shared, in_local = in_spaces(touch.address, mask, SPACES[touch.space])
        if in_global:
            self._request(code, "global", touch, in_global, touch.mask if in_global == mask else lanes(in_global))
        if in_shared:
            self._request(code, "shared", touch, in_shared, touch.mask if in_shared == mask else lanes(in_shared))
        if in_local:
            self._request(code, "local", touch, in_local, touch.mask)

    def _request(self, code: Code, space: str, touch: Touch, mask: int, chosen: np.ndarray) -> None:
        counts, requests, bytes_, needed, ideal = self.counts[code.index], *_TRAFFIC[space]
        counts[requests] += 1
        counts[bytes_] += count(mask) * touch.size
        if space == "local":
            return
        start = touch.address[first(mask)] & _SECTOR_START  # nothing changes when all lanes move by whole sectors
        relative = np.where(chosen, touch.address - start, _ZERO)
        key = space, touch.size, mask, relative.tobytes()
        known = self.known[code.index]
        found = known.get(key)
        if found is None:
            if len(known) > 4096:
                known.clear()
            if space == "global":
                found = sectors(relative, mask, touch.size)
            else:
                found = wavefronts(narrow(relative), mask, touch.size, moves_pairs(code))
            known[key] = found
        counts[needed] += found[0]
        counts[ideal] += found[1]

"""Instructions of the interpreter that copy or discard bytes: `cp.async`, bulk copies, `discard`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.flat_program import Code, Mem, Symbol
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import copies_in_flight
from ptxlab.emulate.rules.async_copies import move
from ptxlab.emulate.rules.bulk_instructions import LOW, OPERANDS, SHIFTS, bulk_of, finish_groups, issue_lanes
from ptxlab.emulate.rules.discards import forget_bytes
from ptxlab.emulate.rules.faults import bulk_fault, source_size
from ptxlab.emulate.step.access import Touch
from ptxlab.emulate.step.bodies import Body, Look, executes
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.launch_checks import LaunchChecks
from ptxlab.emulate.step.memory_ranges import Region
from ptxlab.emulate.step.operands import Read, Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action, AsyncGroup

# -- cp.async ----------------------------------------------------------------------------------------------------------


@executes(Action.COPY, Action.COMMIT, Action.WAIT_GROUP, Action.WAIT_ALL, group=AsyncGroup.CP_ASYNC)
class AsyncCopies(Body):
    """`cp.async`; a commit or a wait does nothing, but for the checks."""

    reports = checked_after = True

    def step(self, t: Translator, code: Code) -> Step:
        return _AsyncCopy(t, code).run if code.properties.lane_copy else lambda w: None

    def looks(self, checker: LaunchChecks, code: Code) -> list[Look]:
        return group_looks(checker, code)


def group_looks(checker: LaunchChecks, code: Code) -> list[Look]:
    """Lanes commit copies that they have issued, or wait for them, if they do."""
    effect = copies_in_flight.followed(code)
    if not checker.race or effect is None:
        return []
    rule, given = effect
    return [lambda w, mask: rule(checker.record, w.spaces.check.record, w.warp, mask_bits(mask), *given)]


class _AsyncCopy:
    def __init__(self, t: Translator, code: Code) -> None:
        self.code, self.size = code, code.number("size")
        reads = t.named(code)
        self.to: Callable[[Warp], Any] = reads["a"]
        self.source: Callable[[Warp], Any] = reads["b"]
        self.wanted: Callable[[Warp], Any] = reads["src_size"]

    def run(self, w: Warp) -> int | None:
        to, source, counts = self.to(w).astype(np.uint64), self.source(w).astype(np.uint64), self.wanted(w)
        if counts is None or counts.dtype == np.bool_:  # "ignore the source"
            counts = np.where(False if counts is None else counts, 0, np.full(LANES, self.size))
        if w.touches is not None:
            w.touches.append(Touch("load", "global", source, self.size, w.mask & (counts > 0)))
            w.touches.append(Touch("store", "shared", to, self.size, w.mask))
        if (counts[w.mask] == self.size).all() and self._at_once(w, to[w.mask], source[w.mask]):
            return None
        for lane in np.flatnonzero(w.mask).tolist():
            count = int(counts[lane])
            if count > self.size:
                raise source_size(w.faulting(self.code, lane), count)
            there = _pointer(w.place(self.code, "store", "shared", int(to[lane]), lane, self.size))
            here = None
            if count:
                here = _pointer(w.place(self.code, "load", "global", int(source[lane]), lane, count, self.size))
            move(there, here, count, self.size)
        return None

    def _at_once(self, w: Warp, to: np.ndarray, source: np.ndarray) -> bool:
        """Copies all bytes of all lanes if they come from one allocation. Whether that could be done."""
        there, here = w.spaces.shared, w.region("global", int(source[0]))
        if here is None:
            return False
        target, origin = to - there.base, source - here.base
        if not there.holds(target, self.size) or not here.holds(origin, self.size):
            return False
        piece, size = np.dtype(f"V{self.size}"), np.uint64(self.size)
        there.view(piece)[target // size] = here.view(piece)[origin // size]
        return True


def _pointer(place: tuple[Region, int]) -> Pointer[int]:
    region, offset = place
    return Pointer(region.data, offset)


# -- bulk copies -------------------------------------------------------------------------------------------------------


@executes(Action.COPY, Action.COPY_REDUCE, Action.PREFETCH_TILE, Action.COMMIT, Action.WAIT_GROUP)
class BulkCopies(Body):
    """Instructions that copy in bulk, commit such copies to a group or wait for one."""

    reports = True

    def step(self, t: Translator, code: Code) -> Step:
        return _group(code) if code.action in (Action.COMMIT, Action.WAIT_GROUP) else _BulkCopy(t, code).run

    def looks(self, checker: LaunchChecks, code: Code) -> list[Look]:
        return group_looks(checker, code)


def _group(code: Code) -> Step:
    """Commits copies to a group, or waits for all but some groups."""
    commits = code.action is Action.COMMIT
    left = 0 if commits else code.number("n")

    def group(w: Warp) -> int | None:
        context: Any = w.spaces.cluster.context
        finish_groups(context, context.slots[w.spaces.rank].cta, w.record, mask_bits(w.mask), left, commits)
        return None

    return group


class _BulkCopy:
    def __init__(self, t: Translator, code: Code) -> None:
        self.code, self.what = code, bulk_of(code)
        names = [s.name for s in code.form.op.operands]
        self.reads: dict[str, Read] = dict(zip(names, t.readers(code), strict=False))
        self.given = {name: code.named[name][0] for name in names}
        self.place = t.read(code.sources[-1], "any", code) if code.form.tensor else None

    def run(self, w: Warp) -> int | None:
        data, more, what = np.zeros((7, LANES), np.uint64), np.zeros((8, LANES), np.int64), self.what
        for column, name in enumerate(OPERANDS):
            if self.given.get(name) and not (name == "b" and self.code.form.single):
                data[column] = self._address(w, name)
        if self.code.form.single:
            data[LOW // LANES :] = self._value(w)
        if self.place is not None:
            for column, value in enumerate(_list(self.place(w))):
                more[column] = value.view(f"i{value.dtype.itemsize}")
        if self.given.get("i"):
            for column, value in enumerate(_list(self.reads["i"](w))):
                more[SHIFTS + column] = value.view(f"i{value.dtype.itemsize}")
        context: Any = w.spaces.cluster.context
        who = context, context.slots[w.spaces.rank].cta, w.record, mask_bits(w.mask)
        copy = what.kind, int(what.grouped), int(what.multicast), what.space, what.operation, what.type, what.count
        if issue_lanes(*who, Pointer(data.ravel()), Pointer(more.view(np.uint64).ravel()), *copy, self.code.index):
            found = context.fault
            at = w.faulting(self.code, found.lane)
            raise bulk_fault(at, found.kind, found.address, found.count, found.multiple)
        return None

    def _address(self, w: Warp, name: str) -> np.ndarray:
        """An address, a size or a mask of each lane."""
        source = self.given[name]
        if isinstance(source, Mem) and isinstance(source.base, Symbol) and source.base.space == "param":
            return np.full(LANES, PARAM_WINDOW + source.base.value + source.offset, np.uint64)
        return np.asarray(self.reads[name](w)).astype(np.uint64)

    def _value(self, w: Warp) -> np.ndarray:
        """The value of `st.async` or `red.async` as two numbers of each lane."""
        parts = [np.ascontiguousarray(part).view(np.uint8) for part in _list(self.reads["b"](w))]
        octets = np.concatenate([part.reshape(LANES, -1) for part in parts], axis=1)
        room = np.zeros((LANES, 16), np.uint8)
        room[:, : octets.shape[1]] = octets[:, :16]
        numbers: np.ndarray = room.view(np.uint64).T
        return numbers


def _list(given: Any) -> tuple[np.ndarray, ...]:
    """The elements of an operand: several where it stands in braces."""
    return given if isinstance(given, tuple) else (given,)


# -- discard -----------------------------------------------------------------------------------------------------------


@executes(Action.DISCARD)
class Discards(Body):
    def step(self, t: Translator, code: Code) -> Step:
        (access,) = code.accesses
        address = t.read(code.named[access.operand][0], "addr", code)

        def run(w: Warp) -> int | None:
            places = address(w).astype(np.uint64).tolist()
            lanes = np.flatnonzero(w.mask).tolist()
            found = [w.place(code, access.what, access.space, places[lane], lane, access.size) for lane in lanes]
            for region, at in found:
                written = None if region.written is None else Pointer[int](region.written, at)
                forget_bytes(Pointer(region.data, at), written)
            return None

        return run

"""Bulk copies in the stepping engine: it fills the buffers of operands, and the same rules as in compiled code copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.language import Pointer
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.flat_program import Code, Mem, Symbol
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules.bulk_instructions import (
    LOW,
    OPERANDS,
    SHIFTS,
    bulk_of,
    finish_groups,
    issue_lanes,
)
from ptxlab.emulate.rules.faults import bulk_fault
from ptxlab.emulate.step.body import Body, executes
from ptxlab.emulate.step.lanes import mask_bits
from ptxlab.emulate.step.operands import Read, Step, Translator
from ptxlab.emulate.step.warp import Warp
from ptxlab.isa.actions import Action


@executes(Action.COPY, Action.COPY_REDUCE, Action.PREFETCH_TILE, Action.COMMIT, Action.WAIT_GROUP)
class Bulk(Body):
    """Instructions that copy in bulk, commit such copies to a group or wait for one."""

    tells = True

    def step(self, t: Translator, code: Code) -> Step:
        return _group(code) if code.action in (Action.COMMIT, Action.WAIT_GROUP) else _Copy(t, code).run


def _group(code: Code) -> Step:
    """Commits copies to a group, or waits for all but some groups."""
    commits = code.action is Action.COMMIT
    left = 0 if commits else code.number("n")

    def group(w: Warp) -> int | None:
        context: Any = w.spaces.cluster.context
        finish_groups(context, context.slots[w.spaces.rank].cta, w.record, mask_bits(w.mask), left, commits)
        return None

    return group


class _Copy:
    """One bulk copy."""

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
        if issue_lanes(
            context,
            context.slots[w.spaces.rank].cta,
            w.record,
            mask_bits(w.mask),
            Pointer(data.ravel()),
            Pointer(more.view(np.uint64).ravel()),
            what.kind,
            int(what.grouped),
            int(what.multicast),
            what.space,
            what.operation,
            what.type,
            what.count,
            self.code.index,
        ):
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

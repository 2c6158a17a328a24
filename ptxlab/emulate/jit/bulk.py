"""Bulk copies as the compiling engine runs them: their operands go into buffers, rules do the rest."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import Address, Value
from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.model import Code, Mem, Source, Symbol
from ptxlab.emulate.rules.bulk import reduce_bytes
from ptxlab.emulate.rules.bulk_instructions import LOW, OPERANDS, SHIFTS, bulk_of, finish_groups, issue_lanes
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.transfers import Queue, Transfer
from ptxlab.isa.actions import Action

if TYPE_CHECKING:
    from ptxlab.emulate.jit import Run

COLUMN = 8 * W
"""Bytes of a column of the buffers: a number of 64 bits for each lane."""


class Bulk(Part):
    """Instructions that copy in bulk, and those that wait for such copies."""

    def emit(self, code: Code) -> None:
        """One of them."""
        if code.action in (Action.COMMIT, Action.WAIT_GROUP):
            commits = code.action is Action.COMMIT
            left = 0 if commits else self.e.operands.number(code, "n")
            self.t.do(call(
                finish_groups, "%ctx", "%cta", "%ws", self.active.bits, str(left), str(int(commits)),
            ))  # fmt: skip
            return
        what, named = bulk_of(code), code.named
        for column, name in enumerate(OPERANDS):
            if name in named and named[name][0] is not None and not (name == "b" and code.form.single):
                self._store("%data", column, self._number(code, name))
        if code.form.single:
            for column, value in enumerate(self._value(code)):
                self._store("%data", LOW // W + column, value)
        if code.form.tensor:
            places = self._list(code.sources[-1])
            shifts = self._list(named.get("i", (None, ""))[0])
            for column in range(SHIFTS):
                self._store("%out", column, places[column] if column < len(places) else self.m.const("i64", 0))
            for column in range(3):
                self._store("%out", SHIFTS + column, shifts[column] if column < len(shifts) else self.m.const("i64", 0))
        space = S.SPACES["global" if code.form.src == "global" else "shared"]
        stops = self.t.let(call(
            issue_lanes, "%ctx", "%cta", "%ws", self.active.bits, "%data", "%out", str(what.kind),
            str(int(what.grouped)), str(int(what.multicast)), str(space), str(what.operation), str(what.type),
            str(what.count), str(code.index),
        ))  # fmt: skip
        self.t.fault_if(stops)

    def _store(self, buffer: str, column: int, value: Value) -> None:
        p = self.t.let(f"getelementptr i8, ptr {buffer}, i64 {column * COLUMN}")
        self.t.do(f"store <{W} x i64> {self.m.vector(value)}, ptr {p}, align 64")

    def _number(self, code: Code, name: str) -> Value:
        source, type_ = code.named[name]
        if isinstance(source, Mem):
            if isinstance(source.base, Symbol) and source.base.space == "param":
                return self.m.const("i64", PARAM_WINDOW + source.base.value + source.offset)
            given: Address = self.e.operands.read(source, type_)
            return self._wide(self.m.add(given.base, self.m.const(given.base.type, given.offset)))
        return self._wide(self.e.operands.read(source, type_))

    def _value(self, code: Code) -> tuple[Value, ...]:
        """The value of `st.async` or `red.async` as two numbers."""
        given = self.e.operands.read_named(code, "b")
        parts = [self._wide(v) for v in (given if isinstance(given, tuple) else (given,))]
        if code.form.vec and len(parts) > 1 and code.form.type.endswith("32"):
            pairs = [*parts, *[self.m.const("i64", 0)] * (len(parts) % 2)]
            parts = [
                self.m.or_(low, self.m.shl(high, self.m.const("i64", 32)))
                for low, high in zip(pairs[::2], pairs[1::2], strict=True)
            ]
        return tuple(parts)

    def _wide(self, value: Value) -> Value:
        if value.type[0] == "f":
            value = self.m.bitcast(f"i{value.type[1:]}", value)
        return self.m.zext("i64", value)

    def _list(self, source: Source | None) -> list[Value]:
        """Coordinates or offsets, as many as there are."""
        given = () if source is None else self.e.operands.read(source, "any")
        return [self.m.sext("i64", value) for value in (given if isinstance(given, tuple) else (given,))]


# -- what compiled code calls ------------------------------------------------------------------------------------------

_COMBINE = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_void_p] * 3, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)


_ISSUED = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_void_p] * 3)
_COMPLETED = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_void_p] * 3, ctypes.c_uint64)


class Reports:
    """The functions by which compiled rules tell of bulk copies: the checks, and a trace. A launch with either has one
    worker, and only such a launch has these."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.functions = _ISSUED(self._issued), _COMPLETED(self._completed)
        self.issued, self.completed = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self.functions)

    def _issued(self, _context: int, queue: int, transfer: int) -> int:
        return self._told(queue, transfer, -1)

    def _completed(self, _context: int, queue: int, transfer: int, before: int) -> int:
        return self._told(queue, transfer, before)

    def _told(self, queue: int, transfer: int, before: int) -> int:
        try:
            (worker,) = self.run.workers
            held: Queue = next(
                s.cta.cluster.queue[0]
                for s in worker.slots
                if s.cta.cluster.queue is not None and address_of(s.cta.cluster.queue[0]) == queue
            )
            found = held.transfers[(transfer - address_of(held) - Queue.offset("transfers")) // Transfer.size]
            if self.run.callback is not None:
                if before < 0:
                    self.run.callback.issued(held, found)
                else:
                    raw = found.buffer[Transfer.offset("word") :][:8].view(np.uint64)
                    word = ctypes.c_uint64.from_address(int(raw[0])).value if raw[0] else None
                    self.run.callback.completed(held, found, before, word)
            if worker.tape is not None:
                now, order = worker.tape.made, self.run.launch.trace.order
                if before < 0:
                    block, to = (
                        worker.slots[held.first_rank + rank].cta.linear for rank in (found.rank, found.at_rank)
                    )
                    order.issued(transfer, found, self.run.program.codes[found.code].line, block, to, now)
                else:
                    order.completed(transfer, now)
        except BaseException as error:  # compiled code cannot pass it on: the caller's thread raises it
            self.run.errors.append(error)
            self.run.stop[0] = 1
        return 0


class Reductions:
    """The function that compiled rules call for reductions: numpy does them, for both engines. errors, stop: where it
    notes what it raises, and how it stops the launch."""

    def __init__(self, errors: list[BaseException], stop: np.ndarray) -> None:
        self.function = _COMBINE(functools.partial(_combine, errors, stop))  # which does not refer to this object
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value or 0


def _combine(
    errors: list[BaseException], stop: np.ndarray, _context: int, to: int, source: int, count: int, operation: int,
    type_: int,
) -> int:  # fmt: skip
    try:
        places: list[Any] = [(ctypes.c_uint8 * count).from_address(p) for p in (to, source)]
        here, there = (np.frombuffer(p, np.uint8) for p in places)
        reduce_bytes(here, there, operation, type_)
    except BaseException as error:  # compiled code cannot pass it on: the caller's thread raises it
        errors.append(error)
        stop[0] = 1
    return 0

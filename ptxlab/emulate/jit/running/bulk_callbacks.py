"""The functions that compiled rules call for bulk copies: a trace's, and numpy's reductions."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from ptxlab.emulate.jit.running.launch_state import LaunchState
from ptxlab.emulate.jit.running.workers import Worker
from ptxlab.emulate.language.records import address_of
from ptxlab.emulate.rules.bulk_copies import reduce_bytes
from ptxlab.emulate.runtime.state import Queue, Transfer

_COMBINE = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_void_p] * 3, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)


_TOLD = ctypes.CFUNCTYPE(ctypes.c_uint32, *[ctypes.c_void_p] * 3)


class Reports:
    """The functions by which compiled rules tell a trace of bulk copies. A launch with a trace has one worker."""

    def __init__(self, run: LaunchState, workers: list[Worker]) -> None:
        self.run, self.workers = run, workers
        self.functions = _TOLD(functools.partial(self._told, True)), _TOLD(functools.partial(self._told, False))
        self.issued, self.completed = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self.functions)

    def _told(self, issued: bool, _context: int, queue: int, transfer: int) -> int:
        try:
            (worker,) = self.workers
            if worker.tape is None:
                return 0
            now, order = worker.tape.made, self.run.launch.trace.order
            if not issued:
                order.completed(transfer, now)
                return 0
            held: Queue = next(
                s.cta.cluster.queue[0]
                for s in worker.slots
                if s.cta.cluster.queue is not None and address_of(s.cta.cluster.queue[0]) == queue
            )
            found = held.transfers[(transfer - address_of(held) - Queue.offset("transfers")) // Transfer.size]
            block, to = (worker.slots[held.first_rank + rank].cta.linear for rank in (found.rank, found.at_rank))
            order.issued(transfer, found, self.run.program.codes[found.code].line, block, to, now)
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
    errors: list[BaseException],
    stop: np.ndarray,
    _context: int,
    to: int,
    source: int,
    count: int,
    operation: int,
    type_: int,
) -> int:
    try:
        places: list[Any] = [(ctypes.c_uint8 * count).from_address(p) for p in (to, source)]
        here, there = (np.frombuffer(p, np.uint8) for p in places)
        reduce_bytes(here, there, operation, type_)
    except BaseException as error:  # compiled code cannot pass it on: the caller's thread raises it
        errors.append(error)
        stop[0] = 1
    return 0

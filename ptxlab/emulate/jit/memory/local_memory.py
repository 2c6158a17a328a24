"""Loads and stores of local memory: each lane has a stretch of it, one after the other."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit.emitter.access_groups import access_shape
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Address, Value, constant
from ptxlab.emulate.jit.memory.scattered import Scattered


class LocalMemory(Part):
    """Accesses of local memory and of the frames of calls, which lie there."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered = scattered

    def access(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access of the instruction; `stored`: the values of a store, None for a load."""
        lane, count, _ = access_shape(self.e.code)
        at = self._checked(address)
        if at is None:
            return tuple(self.m.const(lane, 0) for _ in range(count)) if stored is None else ()
        moved = self._moved(at, stored)
        self._accessed(at, stores=stored is not None)
        return moved

    def _accessed(self, at: Value, *, stores: bool) -> None:
        """Tells the instruments of an access."""
        for instrument in reversed(self.e.instruments):
            instrument.accessed_local(at, access_shape(self.e.code)[2], stores)

    def _checked(self, address: Address) -> Value | None:
        """The address of the instruction's access, an i64, right in all active lanes; None if it never is."""
        size = access_shape(self.e.code)[2]
        limit, at = self.program.local_size - size, self.m.wide(address)
        known = at.lanes is not None and at.uniform
        if limit < 0 or (known and (int(at.text) > limit or int(at.text) % size)):
            if known:
                self.e.faults.always(int(at.text))
            else:
                self.e.faults.if_any(self.active.bits, at)
            return None
        if known:
            return at
        good = self._right(at, self.m.const("i64", limit), size)
        self.e.faults.if_any(self.active.where_not(good), at)
        if at.uniform:  # without an active lane it may be any number
            at = self.m.select(good, at, self.m.const("i64", 0))
        return at

    def _right(self, at: Value, last: Value, align: int) -> Value:
        """Whether addresses are not behind the last one, and aligned."""
        inside = self.m.ule(at, last)
        low = self.m.and_(at, self.m.const("i64", align - 1))
        return self.m.and_(inside, self.m.eq(low, self.m.const("i64", 0)))

    def copy(self, source: int, dest: int, size: int) -> None:
        """Copies bytes within each active lane's local memory."""
        lanes, at = self._offsets(self.m.const("i32", 0)), 0
        while at < size:
            step = next(n for n in (8, 4, 2, 1) if n <= size - at and (source + at) % n == 0 and (dest + at) % n == 0)
            given, taken = (self.t.offset("%local", frame + at) for frame in (source, dest))
            lane = f"i{8 * step}"
            self.scattered.access(lane, taken, lanes, self.scattered.access(lane, given, lanes))
            at += step

    def _offsets(self, at: Value) -> str:
        """Where the lanes have an address (an i32) in their stretches."""
        begins = constant(np.arange(W, dtype=np.uint32) * np.uint32(self.program.local_stride), "i32")
        return self.m.vector(self.m.add(begins, at))

    def _moved(self, at: Value, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access at checked addresses, i64."""
        lane, count, size = access_shape(self.e.code)
        lanes, out = self._offsets(self.m.trunc("i32", at)), list[Value]()
        for k in range(count):
            pointer = self.t.offset("%local", k * size // count)
            if stored is None:
                out.append(Value(self.scattered.access(lane, pointer, lanes), lane, False))
            else:
                self.scattered.access(lane, pointer, lanes, self.m.vector(stored[k]))
        return tuple(out)

"""Loads and stores of local memory: each lane has a stretch of its own, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit.groups import access_shape
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.scattered import Offsets, Scattered
from ptxlab.emulate.jit.values import Address, Value, constant

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter


class LocalMemory(Part):
    """Accesses of local memory and of the frames of calls, which lie there."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered = scattered

    def access(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access of the instruction; `stored`: the values of a store, None for a load, which gives its own."""
        lane, count, size = access_shape(self.e.code)
        each, limit = self.program.local_stride, self.program.local_size - size
        at = self.m.wide(address)
        known = at.lanes is not None and at.uniform
        if limit < 0 or (known and (int(at.text) > limit or int(at.text) % size)):
            if known:
                self.e.stops.always(int(at.text))
            else:
                self.e.stops.if_any(self.active.bits, at)
            return tuple(self.m.const(lane, 0) for _ in range(count)) if stored is None else ()
        if not known:
            inside = self.m.ule(at, self.m.const("i64", limit))
            low = self.m.and_(at, self.m.const("i64", size - 1))
            good = self.m.and_(inside, self.m.eq(low, self.m.const("i64", 0)))
            self.e.stops.if_any(self.active.where_not(good), at)
            if at.uniform:  # without an active lane it may be any number
                at = self.m.select(good, at, self.m.const("i64", 0))
        scattered, out = self.scattered, list[Value]()
        if not at.uniform:
            begins = constant(np.arange(W, dtype=np.uint32) * np.uint32(each), "i32")
            lanes = Offsets(self.m.vector(self.m.add(begins, self.m.trunc("i32", at))))
        for k in range(count):
            spot = k * size // count
            if at.uniform:
                where = self.m.add(at, self.m.const("i64", spot))
                pointer = self.t.let(f"getelementptr i8, ptr %local, i64 {where.text}")
                if stored is None:
                    out.append(scattered.load_apart(lane, pointer, each))
                else:
                    scattered.store_apart(lane, pointer, each, self.m.vector(stored[k]))
                continue
            pointer = self.t.let(f"getelementptr i8, ptr %local, i64 {spot}")
            if stored is None:
                out.append(scattered.load(lane, pointer, lanes))
            else:
                scattered.store(lane, pointer, lanes, self.m.vector(stored[k]))
        return tuple(out)

"""Loads and stores of local memory: each lane has a stretch of its own, one after the other, or all of them lie word by
word (see `local_rows`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit.groups import access_shape
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.local_rows import LocalRows
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.scattered import Offsets, Scattered
from ptxlab.emulate.jit.values import Address, Value, constant

if TYPE_CHECKING:
    from ptxlab.emulate.jit.emit import Emitter


class LocalMemory(Part):
    """Accesses of local memory and of the frames of calls, which lie there."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered, self.rows = scattered, LocalRows(e, scattered)

    def access(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access of the instruction; `stored`: the values of a store, None for a load, which gives its own."""
        lane, count, size = access_shape(self.e.code)
        limit, base = self.program.local_size - size, address.base
        if base.type == "i32":  # what is added to it wraps around
            address = Address(self.m.add(base, self.m.const("i32", address.offset % (1 << 32))), 0)
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
        return self._as_rows(at, stored) if self.program.local_rows else self._in_pieces(at, stored)

    def copy(self, source: int, dest: int, size: int) -> None:
        """Copies bytes within each active lane's local memory."""
        each, at = self.program.local_stride, 0
        while at < size:
            step = next(n for n in (8, 4, 2, 1) if n <= size - at and (source + at) % n == 0 and (dest + at) % n == 0)
            lane, places = f"i{8 * step}", [self.m.const("i64", frame + at) for frame in (source, dest)]
            if self.program.local_rows:
                self.rows.store(lane, places[1], self.rows.load(lane, places[0]))
            else:
                given, taken = (self.t.let(f"getelementptr i8, ptr %local, i64 {place.text}") for place in places)
                self.scattered.store_apart(lane, taken, each, self.scattered.load_apart(lane, given, each).text)
            at += step

    def _as_rows(self, at: Value, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access at checked addresses, i64, where local memory lies word by word."""
        lane, count, size = access_shape(self.e.code)
        first = at if at.uniform else self.m.trunc("i32", at)
        places = [self.m.add(first, self.m.const(first.type, k * size // count)) for k in range(count)]
        if stored is None:
            return tuple(self.rows.load(lane, place) for place in places)
        for place, value in zip(places, stored, strict=True):
            self.rows.store(lane, place, value)
        return ()

    def _in_pieces(self, at: Value, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """The same where each lane's local memory lies in one piece."""
        lane, count, size = access_shape(self.e.code)
        each = self.program.local_stride
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

"""Loads and stores of local memory: each lane has a stretch of its own, one after the other, or all of them lie word by
word (see `local_rows`)."""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import access_shape
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, Address, Value, constant
from ptxlab.emulate.jit.memory.frame_accesses import Span, plan_spans
from ptxlab.emulate.jit.memory.local_rows import LocalRows
from ptxlab.emulate.jit.memory.scattered import Offsets, Scattered
from ptxlab.emulate.jit.translation.rule_calls import call
from ptxlab.emulate.rules.lazy_fill import fill_to
from ptxlab.emulate.runtime.state import Warp


class LocalMemory(Part):
    """Accesses of local memory and of the frames of calls, which lie there."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered, self.rows = scattered, LocalRows(e, scattered)
        self.spans: dict[int, Span] = {}
        """The accesses of the block that share a check, by code index."""
        self.later = self.program.local_first < self.program.local_stride
        """Whether some of it is filled when it is first accessed (see `rules.lazy_fill`)."""
        self.known: dict[tuple[str, int, str], Value] = {}
        """What lies in local memory, as far as the block has loaded or stored it: by the base of an address, how far
        behind that, and the type of the element."""

    def access(self, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access of the instruction; `stored`: the values of a store, None for a load, which gives its own."""
        lane, count, _ = access_shape(self.e.code)
        held = self._held_value(address) if stored is None and count == 1 else None
        if held is not None:
            self._accessed(self.m.wide(address), stores=False)
            return (held,)
        at = self._checked(address)
        if at is None:
            return tuple(self.m.const(lane, 0) for _ in range(count)) if stored is None else ()
        moved = self._as_rows(at, address, stored) if self.program.local_rows else self._in_pieces(at, stored)
        self._hold(address, moved if stored is None else stored, stores=stored is not None)
        self._accessed(at, stores=stored is not None)
        return moved

    def _accessed(self, at: Value, *, stores: bool) -> None:
        """Tells the instruments of an access."""
        for instrument in reversed(self.e.instruments):
            instrument.accessed_local(at, access_shape(self.e.code)[2], stores)

    def check(self, address: Address) -> None:
        """The check of a store that is not made, though it counts as made."""
        at = self._checked(address)
        if at is not None:
            self._accessed(at, stores=True)

    def _checked(self, address: Address) -> Value | None:
        """The address of the instruction's access, an i64, right in all active lanes; None if it never is."""
        size = access_shape(self.e.code)[2]
        limit, base = self.program.local_size - size, address.base
        at = self.m.wide(address)
        known = at.lanes is not None and at.uniform
        if limit < 0 or (known and (int(at.text) > limit or int(at.text) % size)):
            if known:
                self.e.faults.always(int(at.text))
            else:
                self.e.faults.if_any(self.active.bits, at)
            return None
        if known:
            if int(at.text) + size > self.program.local_first:
                self._fill(at, size)
            return at
        span = self.spans.get(self.e.code.index)
        if span is not None and base.type == "i64" and not at.uniform:
            fine = self._all_fine(span, base)
            with self.t.unless(fine, cold=True):
                self._check(at, limit, size)
                self._fill(at, size)
            return at
        if self.later and not at.uniform:
            near = self.active.where_not(self._right(at, self._filled(size), size))
            with self.t.unless(self.t.eq("i32", near, 0), cold=True):
                self._check(at, limit, size)
                self._fill(at, size)
            return at
        good = self._check(at, limit, size)
        self._fill(at, size)
        if at.uniform:  # without an active lane it may be any number
            at = self.m.select(good, at, self.m.const("i64", 0))
        return at

    def _check(self, at: Value, limit: int, size: int) -> Value:
        """Faults unless the addresses of all active lanes are right; where they are."""
        good = self._right(at, self.m.const("i64", limit), size)
        self.e.faults.if_any(self.active.where_not(good), at)
        return good

    def _right(self, at: Value, last: Value, align: int) -> Value:
        """Whether addresses are not behind the last one, and aligned."""
        inside = self.m.ule(at, last)
        low = self.m.and_(at, self.m.const("i64", align - 1))
        return self.m.and_(inside, self.m.eq(low, self.m.const("i64", 0)))

    def _filled(self, size: int) -> Value:
        """The last address of so many bytes that are filled, at most `local_first` of them."""
        filled = Value(self.t.get(Warp, "filled"), "i64", True)
        return self.m.sub(filled, self.m.const("i64", size))

    def _fill(self, at: Value, size: int) -> None:
        """Fills local memory as far as an access needs it."""
        if not self.later:
            return
        far = self.active.where_not(self.m.ule(at, self._filled(size)))
        with self.t.unless(self.t.eq("i32", far, 0), cold=True):
            self.t.store(f"<{W} x i64>", self.m.vector(at), "%addrs", align=64)
            self.t.do(call(fill_to, "%ws", "%addrs", far, str(size), str(self.program.local_stride)))

    def _all_fine(self, span: Span, base: Value) -> str:
        """Whether all accesses of a span are right in all lanes that run the block."""
        if not span.fine:
            bytes_ = span.high - span.low
            room = (self.program.local_first if self.later else self.program.local_size) - bytes_
            last = self._filled(bytes_) if self.later else self.m.const("i64", max(room, 0))
            inside = self.m.ule(self.m.add(base, self.m.const("i64", span.low)), last)
            low = self.m.and_(base, self.m.const("i64", span.align - 1))
            good = self.m.bits_of(self.m.and_(inside, self.m.eq(low, self.m.const("i64", 0))))
            wrong = self.t.and_("i32", self.t.xor("i32", good, -1), self.active.block_bits)
            span.fine = self.t.eq("i32", wrong, 0) if room >= 0 else "false"
        return span.fine

    # -- what is known of its contents

    def plan(self, first: int, last: int) -> None:
        """A block is next."""
        self.spans = plan_spans(self.program, first, last) if self.program.local_rows else {}

    def begin(self) -> None:
        """A label: what was loaded, stored and checked before is not known."""
        self.known = {}
        for span in self.spans.values():
            span.fine, span.depths = "", None

    def _place(self, address: Address) -> tuple[str, int] | None:
        """A name for the base of an address, and how far behind it that is; None where nothing is noted."""
        base = address.base
        if not self.program.local_rows or isinstance(base, Affine) or base.type != "i64":
            return None
        if base.lanes is not None:
            return ("", int(base.text) + address.offset) if base.uniform else None
        return base.text, address.offset

    def _held_value(self, address: Address) -> Value | None:
        """The value of a load, if the block has it, perhaps as another type."""
        place, lane = self._place(address), access_shape(self.e.code)[0]
        for kind in (lane, f"i{BITS[lane]}", f"f{BITS[lane]}"):
            if place is not None and (value := self.known.get((*place, kind))) is not None:
                return value if kind == lane else self.m.bitcast(lane, value)
        return None

    def _hold(self, address: Address, values: tuple[Value, ...], *, stores: bool) -> None:
        """Notes what has been loaded or stored."""
        lane, count, size = access_shape(self.e.code)
        place, each = self._place(address), size // count
        if stores and place is None:
            self.known = {}
        if place is None:
            return
        base, at = place
        if stores:
            self.known = {
                key: value
                for key, value in self.known.items()
                if key[0] == base and (key[1] + BITS[key[2]] // 8 <= at or at + size <= key[1])
            }
        if self.active.guard is None:
            self.known |= {(base, at + k * each, lane): value for k, value in enumerate(values)}

    def copy(self, source: int, dest: int, size: int) -> None:
        """Copies bytes within each active lane's local memory."""
        self.known = {}
        each, at = self.program.local_stride, 0
        while at < size:
            step = next(n for n in (8, 4, 2, 1) if n <= size - at and (source + at) % n == 0 and (dest + at) % n == 0)
            lane, places = f"i{8 * step}", [self.m.const("i64", frame + at) for frame in (source, dest)]
            if self.program.local_rows:
                self.rows.store(lane, places[1], self.rows.load(lane, places[0]))
            else:
                given, taken = (self.t.offset("%local", place.text) for place in places)
                self.scattered.store_apart(lane, taken, each, self.scattered.load_apart(lane, given, each).text)
            at += step

    def _as_rows(self, at: Value, address: Address, stored: tuple[Value, ...] | None) -> tuple[Value, ...]:
        """An access at checked addresses, i64, where local memory lies word by word."""
        lane, count, size = access_shape(self.e.code)
        first = at if at.uniform else self.m.trunc("i32", at)
        places = [self.m.add(first, self.m.const(first.type, k * size // count)) for k in range(count)]
        span = self.spans.get(self.e.code.index)
        if span is not None and span.fine and span.depths is None:
            span.depths = self.rows.depths(address.base, span.fine)
        if span is not None and span.depths is not None:
            each = [span.depths.behind(self.m, address.offset + k * size // count) for k in range(count)]
            if stored is None:
                return tuple(self.rows.load_at(lane, *where) for where in zip(places, each, strict=True))
            for place, value, depths in zip(places, stored, each, strict=True):
                self.rows.store_at(lane, place, value, depths)
            return ()
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
                pointer = self.t.offset("%local", where.text)
                if stored is None:
                    out.append(scattered.load_apart(lane, pointer, each))
                else:
                    scattered.store_apart(lane, pointer, each, self.m.vector(stored[k]))
                continue
            pointer = self.t.offset("%local", spot)
            if stored is None:
                out.append(scattered.load(lane, pointer, lanes))
            else:
                scattered.store(lane, pointer, lanes, self.m.vector(stored[k]))
        return tuple(out)

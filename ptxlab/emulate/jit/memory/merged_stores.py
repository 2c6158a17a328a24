"""Merged stores: neighbouring elements that each thread stores one by one are stored with the last of them.

    y[3 * i] = r; y[3 * i + 1] = g; y[3 * i + 2] = b;

Each of these stores has 32 places. But where the elements of all lanes fill a row of memory, or one that each group of
16, 8 or 4 lanes has, they are a few stores of vectors; and where those of a lane fill 8 or 16 bytes, or bytes and
halves a word, they are 32.

A store may come late if nobody can tell. Between the first and the last one there are only instructions that compute,
and loads of what has been checked before, so that no access fails. Whether a load meets the bytes that are stored is
asked when the first store comes, and whether lanes meet those of others: if so, each store is made in its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ptxlab.emulate.jit.emitter.access_groups import (
    AT_A_STRIDE,
    IN_ONE_ROW,
    IN_SHORT_ROWS,
    Group,
    Seen,
    access_shape,
    place_of,
)
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.jit.llvm.vector_elements import in_turns, taking_turns
from ptxlab.emulate.jit.memory.merged_loads import BYTES
from ptxlab.emulate.jit.memory.scattered import LARGE, Scattered, Stride
from ptxlab.emulate.jit.memory.vector_stores import store_vectors
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.rules.accesses import HALVES_IN_A_ROW, HALVES_THE_SAME, IN_A_ROW

MOST = 16
"""Elements of a lane: their values stay in registers until the last store."""
CHECKED = sum(
    1 << pattern for pattern in (IN_A_ROW, HALVES_IN_A_ROW, HALVES_THE_SAME, AT_A_STRIDE, IN_SHORT_ROWS, IN_ONE_ROW)
)
"""A bit for each pattern and way of which the lowest and the highest address of all lanes have been checked."""


@dataclass(eq=False, repr=False)
class DeferredStore:
    """Stores that may be made together. codes: their indices, in the order of memory; span: the bytes of a lane from
    the first to the last of them and of other stores between them; loads: the groups of the loads between them. when:
    i1, whether they are made with the last one; "" where they never are, and before the first. values: what they
    store, as far as they have come. recorded: i1, whether racecheck has recorded all of them with the first one."""

    codes: tuple[int, ...]
    span: int
    loads: tuple[Group, ...]
    when: str = ""
    recorded: str = ""
    values: dict[int, str] = field(default_factory=dict)


class MergedStores(Part):
    """Plans them for a block, and makes them."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered = scattered
        self.planned: dict[int, DeferredStore] = {}
        """By code index."""
        self.around: dict[int, DeferredStore] = {}
        """Loads between them, by code index: where the stores come late, they read what was there before the first."""

    # -- which stores

    def plan(self, block: Block) -> None:
        """Those of a block that is next."""
        self.planned, self.around = {}, {}
        stores, loads = list[Code](), list[Code]()
        watched = any(each.watches_memory for each in self.e.instruments)
        wanted = not watched and len(self.program.codes) < LARGE
        for code in self.program.codes[block.first : block.last] if wanted else ():
            if code.properties.plain and code.properties.stores:
                if not self._follows(code, stores):
                    self._close(stores, loads)
                if self._follows(code, stores):
                    stores.append(code)
            elif code.properties.plain and stores and self._harmless(code, stores):
                loads.append(code)
            elif code.properties.plain or code.form.op.kind != "pure":
                self._close(stores, loads)
        self._close(stores, loads)

    def _at(self, code: Code) -> int:
        """Where an access is among those that share its check."""
        return place_of(self.program, code).offset

    def _follows(self, code: Code, stores: list[Code]) -> bool:
        """Whether a store may be one of these."""
        lane, count, size = access_shape(code)
        if code.space != "global" or code.guard is not None or count > 1 or code.properties.strong:
            return False
        groups, at = self.e.groups, self._at(code)
        return all(
            groups[s.index] is groups[code.index] and access_shape(s)[0] == lane and abs(self._at(s) - at) >= size
            for s in stores
        )

    def _harmless(self, code: Code, stores: list[Code]) -> bool:
        """Whether what a load reads has been checked before these stores, and they do not write it."""
        group, first = self.e.groups.get(code.index), stores[0].index
        if code.properties.strong or group is None:
            return False
        if group is self.e.groups[first]:
            return all(self._at(s) != self._at(code) for s in stores)
        return code.space in ("global", "const", "shared") and group.members[0][0] < first

    def _close(self, stores: list[Code], loads: list[Code]) -> None:
        """Stores as rows without gaps. A load at the base of the stores reads what a lane of a row stores later."""
        groups, rows = self.e.groups, list[list[Code]]()
        for code in sorted(stores, key=self._at):
            near = rows and self._at(rows[-1][-1]) + access_shape(code)[2] == self._at(code)
            if near and len(rows[-1]) < MOST:
                rows[-1].append(code)
            else:
                rows.append([code])
        own = {self._at(code) for code in loads if stores and groups[code.index] is groups[stores[0].index]}
        others = {groups[c.index].site: groups[c.index] for c in loads if c.space == "global"}
        span = self._at(rows[-1][-1]) + access_shape(rows[-1][-1])[2] - self._at(rows[0][0]) if rows else 0
        for row in rows:
            if len(row) > 1 and own <= {self._at(code) for code in row}:
                between = [group for group in others.values() if group is not groups[row[0].index]]
                late = DeferredStore(tuple(code.index for code in row), span, tuple(between))
                self.planned |= dict.fromkeys(late.codes, late)
                if len(row) == len(stores):
                    self.around |= {code.index: late for code in loads if code.index < max(late.codes)}
        stores.clear()
        loads.clear()

    # -- whether they come late

    def comes(self, seen: Seen, stored: list[str]) -> None:
        """A store comes, its addresses checked: notes what it stores and, of the first, whether it is made late."""
        late = self.planned.get(seen.code.index)
        if late is None:
            return
        self.decided(seen)
        late.values[seen.code.index] = stored[0]

    def decided(self, seen: Seen) -> DeferredStore | None:
        """The stores that one may be made with, if any. With the first one it is found out whether they come late."""
        late = self.planned.get(seen.code.index)
        if late is not None and seen.code.index == min(late.codes) and seen.group.way and not late.when:
            conditions = self._conditions(seen, late)
            if conditions is not None:
                late.when = "true"
                for condition in conditions:
                    late.when = self.t.and_("i1", late.when, self.t.let(condition))
        return late

    def _conditions(self, seen: Seen, late: DeferredStore) -> list[str] | None:
        """What must hold, as comparisons; None where stores are no fewer than before."""
        group = seen.group
        if any(load.reach is None for load in late.loads):
            return None
        if group.rows is None:
            out, rows = [f"icmp eq i32 {group.way}, {AT_A_STRIDE}"], [(0, 0), (0, 1)]
            long = late.span
            if not self._dense(seen, late) and next(self._pieces(seen, late), None) is None:
                return None
        else:
            out, rows = [f"icmp eq i32 {group.way}, {IN_SHORT_ROWS}"], list(group.rows.starts)
            long = W // len(rows) * late.span
            if not self._dense(seen, late) or late.span > len(late.codes) * seen.step:
                return None
        if any(times for _, times in rows):  # no lane or row meets another
            if any(start for start, _ in rows) or len(set(rows)) < len(rows):
                return None
            far = f"add i64 {group.stride}, {long - 1}"
            out.append(f"icmp ugt i64 {self.t.let(far)}, {2 * (long - 1)}")
        elif any(abs(a - b) < long for k, (a, _) in enumerate(rows) for b, _ in rows[:k]):
            return None
        return out + [condition for load in late.loads for condition in self._apart(load, group)]

    def _dense(self, seen: Seen, late: DeferredStore) -> bool:
        """Whether the elements of all lanes, or of those in a short row, fill a row of memory."""
        count, rows = len(late.codes), seen.group.rows
        near = rows.apart == count if rows else seen.group.stride == str(count * seen.step)
        return near and taking_turns(count) and (seen.step < 4 or count <= 4)

    def _apart(self, load: Group, stores: Group) -> Iterator[str]:
        """That a load does not meet the stores."""
        t, ends = self.t, list[tuple[str, str]]()
        for group in (load, stores):
            assert group.reach is not None
            low, beyond = group.reach
            first = t.add("i64", t.ptrtoint("ptr", group.pointer, "i64"), low)
            ends.append((first, t.add("i64", t.add("i64", first, beyond), group.span)))
        (first, end), (store, store_end) = ends
        before, behind = t.ule("i64", end, store), t.ule("i64", store_end, first)
        yield f"or i1 {before}, {behind}"
        if load.lanes is not None:
            yield f"trunc i32 {t.lshr('i32', CHECKED, load.way or load.pattern)} to i1"

    # -- the stores

    def changes(self, code: Code) -> bool:
        """Whether a store changes what the loads behind it read, though not those that are `around` it."""
        late = self.planned.get(code.index)
        return late is None or code.index == max(late.codes) or late not in self.around.values()

    def of(self, seen: Seen) -> DeferredStore | None:
        """The stores that one is made with, if it may come late."""
        late = self.planned.get(seen.code.index)
        return late if late is not None and late.when else None

    def store(self, seen: Seen, late: DeferredStore, first: str) -> None:
        """All of them, if this is the last one. first: a pointer to where the group has its first lane."""
        if seen.code.index != max(late.codes):
            return
        t, ty, values = self.t, LLVM[seen.lane], [late.values[index] for index in late.codes]
        low = self._at(self.program.codes[late.codes[0]]) - seen.group.low
        place = t.offset(first, low)
        if not self._dense(seen, late):
            for at, count in self._pieces(seen, late):
                p = t.offset(place, at * seen.step)
                if count > 1:
                    store_vectors(self.scattered, seen.lane, p, Stride(seen.group.stride), values[at : at + count])
                else:
                    self.scattered.store(seen.lane, p, Stride(seen.group.stride), values[at])
            return
        count, starts = len(values), seen.group.rows.starts if seen.group.rows else [(0, 0)]
        block, whole, width = in_turns(t, ty, values), W * count, W * count // len(starts)
        for k, (start, times) in enumerate(starts):
            cut = t.shuffle(f"<{whole} x {ty}>", block, range(k * width, (k + 1) * width))
            far = t.add("i64", t.mul("i64", seen.group.stride, times) if times else 0, start)
            p = t.offset(place, far)
            t.store(f"<{width} x {ty}>", cut, p, align=seen.step)

    def _pieces(self, seen: Seen, late: DeferredStore) -> Iterator[tuple[int, int]]:
        """Words and pairs of words as vectors of 16 and 8 bytes, bytes and halves as words: the first element of each,
        and how many. None where there would be no vector."""
        count, most = len(late.codes), BYTES // seen.step
        if BITS[seen.lane] < 32:
            word = 4 // seen.step
            yield from ((at, min(word, count - at)) for at in range(0, count, word) if count % word == 0)
            return
        if count * seen.step < BYTES // 2:
            return
        at = 0
        while at < count:
            piece = next(n for n in (most, BYTES // 2 // seen.step, 1) if n and at + n <= count)
            yield at, piece
            at += piece

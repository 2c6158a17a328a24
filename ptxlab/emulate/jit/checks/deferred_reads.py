"""racecheck in compiled code on deferred reads (see `race_deferred_reads`): what is emitted in front of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.checks.check_instrument import Checks, Members
from ptxlab.emulate.jit.emitter.access_groups import ROWS, SAME, Seen
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.rules import (
    notes,
    race_accesses,
    race_deferred,
    race_deferred_reads,
    race_line_records,
    race_repeats,
)
from ptxlab.emulate.rules.accesses import PARTS_OF_ROWS
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, WARP, Block, DeferredAccess, Told


class DeferredReads(Part):
    """What defers reads."""

    def __init__(self, e: Emitter, checks: Checks) -> None:
        super().__init__(e)
        self.checks = checks
        self._may = checks.race and not e.diverged and race_deferred_reads.may_defer(self.program)

    @contextmanager
    def around(
        self, seen: Seen, members: Members, records: tuple[str, str], places: tuple[str, str], pattern: str
    ) -> Iterator[tuple[str, str]]:
        """Around what checks and records an access now: puts a read off if it can be, and does no more about one that
        was expected. records: those of its allocation, and their stride; places: the offsets of lanes 0 and 16. Gives
        the tables of the members and of the pieces."""
        t, (race, stride) = self.t, records
        rows, pieces = self.checks.members(members), self.checks.pieces(members)
        if seen.code.space != "shared":
            with t.if_then(t.ne("ptr", race, "null")):
                yield rows, pieces
            return
        if not self._may or not seen.group.patterns.intersection(ROWS + SAME):
            yield rows, pieces
            return
        past = t.label("later")
        self._if_repeated(seen, records, places, pattern, rows, past)
        if not seen.write:
            with t.if_then(t.eq("i64", self._state(race, stride), race_deferred_reads.TO_BLOCK)):
                self._note(seen, (race, stride, rows, pieces), places, pattern, past)
        with t.not_dominating():
            yield rows, pieces
        t.go(past)
        t.at(past)

    @contextmanager
    def unless_watched(self, seen: Seen, members: Members, records: tuple[str, str]) -> Iterator[None]:
        """Around what checks and records an access of rows: puts one of shared memory off where others are, that is a
        write as well, if each word is one thread's."""
        t, group, (race, stride) = self.t, seen.group, records
        if not self._may or seen.code.space != "shared" or not group.patterns.intersection(ROWS):
            yield
            return
        past, state = t.label("watched"), self._state(race, stride)
        least = race_deferred_reads.TO_BLOCK if seen.write else race_deferred_reads.WATCHED
        with t.if_then(t.uge("i64", state, least)):
            tables = self.checks.members(members), self.checks.pieces(members)
            given = self.active.bits, race, stride, *group.halves, group.pattern, *tables, str(int(seen.write))
            with t.if_then(t.let(call(race_deferred.watched_rows, *THERE, *given)), to=past):
                pass
        with t.not_dominating():
            yield
        t.go(past)
        t.at(past)

    def _state(self, race: str, stride: str) -> str:
        """Where reads of an allocation are noted (`race_deferred_reads.NOW` and so on)."""
        summary = self.t.element("i64", race, self.t.mul("i64", stride, 3))
        place = self.t.element("i64", summary, race_line_records.LATER)
        return self.t.load("i64", place)

    def _if_repeated(
        self, seen: Seen, records: tuple[str, str], places: tuple[str, str], pattern: str, rows: str, past: str
    ) -> None:
        """Goes on at `past` if the block is expected to do what an earlier one did, and does it."""
        t, writes = self.t, race_deferred_reads.NOTED_WRITE if seen.write else 0
        expected = t.eq("i64", self._state(*records), race_deferred_reads.REPEATED)
        with t.if_then(t.and_("i1", expected, self._fits(seen, pattern))):
            all_told, following = (t.get(Block, f"repeats.{name}", "%check.block") for name in ("told", "next"))
            told = t.offset(all_told, t.mul("i64", following, Told.size))
            low, high = (t.zext("i32", t.trunc("i64", place, "i32"), "i64") for place in places)
            apart = "0"
            if not seen.uniform:
                same = self._is_one_of(pattern, *SAME)
                apart = t.select(same, "i64", 0, seen.size << 32)
            lanes, above = t.zext("i32", self.active.bits, "i64"), t.shl("i64", high, 32)
            stamp = self._stamp(race_deferred_reads.STRIDED | writes)
            alike = {
                "key": ("i64", t.and_("i64", stamp, race_repeats.NOT_BLOCK)),
                "places": ("i64", t.or_("i64", above, low)),
                "lanes": ("i64", t.or_("i64", apart, lanes)),
                "members": ("ptr", rows),
            }
            if any(code.properties.converges for code in self.program.codes):
                alike["synced"] = "i32", self._synced()
            same = "true"
            for field, (kind, value) in alike.items():
                same = t.and_("i1", same, t.eq(kind, value, t.get(Told, field, told)))
            with t.if_then(same, to=past):
                t.bump(t.field(Block, "repeats.next", "%check.block"), t.add, "i64", 1)
            t.do(call(race_accesses.departed, "%check.launch", "%check.block", *records, self.active.bits))

    def _note(
        self, seen: Seen, given: tuple[str, str, str, str], places: tuple[str, str], pattern: str, past: str
    ) -> None:
        """Puts a read off, if the lanes that there are and their pattern are such that it can be, and if there is room;
        then it is done, and goes on at `past`. given: the records, their stride, both tables."""
        t, (low, high) = self.t, places
        race, stride, rows, pieces = given
        count, limit = (t.get(Block, f"later.{field}", "%check.block") for field in ("count", "limit"))
        largest = t.or_("i64", t.or_("i64", low, high), stride)
        good = t.and_("i1", self._less(count, limit), self._less(largest, str(1 << 32)))
        with t.if_then(t.and_("i1", good, self._fits(seen, pattern)), to=past):
            above = t.shl("i64", high, 32)
            lanes = t.shl("i64", t.zext("i32", self.active.bits, "i64"), 32)
            stamp = self._stamp(race_deferred_reads.ONE_ADDRESS if seen.uniform else pattern)
            place = t.or_("i64", above, low)
            extent = t.or_("i64", lanes, stride)
            put = self._put(count)
            for field, value in {
                "stamp": stamp,
                "places": place,
                "records": race,
                "extent": extent,
                "members": rows,
                "pieces": pieces,
                "synced": self._synced(),
            }.items():
                t.put(DeferredAccess, field, value, put)
            t.bump(t.field(Block, "later.count", "%check.block"), t.add, "i64", 1)
            self._taking_part(seen, rows)

    def _put(self, number: str) -> str:
        """A pointer to one of the block's notes."""
        reads = self.t.get(Block, "later.reads", "%check.block")
        return self.t.offset(reads, self.t.mul("i64", number, DeferredAccess.size))

    def _synced(self) -> str:
        """When the warp's lanes have last synchronized."""
        t, diagonal = self.t, Block.fields["sync"].columns + 1
        at = t.mul("i32", "%check.warp", diagonal)
        place = t.element("i32", t.field(Block, "sync", "%check.block"), at, by="i32")
        return t.load("i32", place)

    def _taking_part(self, seen: Seen, members: str) -> None:
        if self._partly(seen):
            self.t.do(call(notes.taking_part, "%check.launch", "%check.warp", self.active.bits, members))

    def _less(self, a: str, b: str) -> str:
        return self.t.ult("i64", a, b)

    def _partly(self, seen: Seen) -> bool:
        """Whether some lanes are likely to be inactive."""
        return self.active.partly or seen.code.guard is not None

    def _is_one_of(self, pattern: str, *patterns: int) -> str:
        """Whether a pattern is one of these: they are bits of a number."""
        bits = sum(1 << each for each in patterns)
        return self.t.trunc("i32", self.t.lshr("i32", bits, pattern), "i1")

    def _fits(self, seen: Seen, pattern: str) -> str:
        """Whether the lanes that there are, and their pattern, are such that a read can be deferred."""
        if not seen.uniform:
            return self._is_one_of(pattern, *SAME, *ROWS, PARTS_OF_ROWS)
        if self._partly(seen):
            return self.t.ne("i32", self.active.bits, 0)
        return self.t.eq("i32", self.active.bits, -1)

    def _stamp(self, pattern: int | str) -> str:
        """When and by whom a read is deferred, and its pattern (see `records.DeferredAccess`)."""
        t = self.t
        now, full = (t.get(Block, name, "%check.block") for name in ("now", "full"))
        time = t.and_("i64", t.lshr("i64", full, TIME - CODE), LAST_TIME << CODE)
        warp = t.shl("i64", t.zext("i32", "%check.warp", "i64"), WARP)
        who = t.or_("i64", warp, t.zext("i32", pattern, "i64"))
        return t.or_("i64", t.or_("i64", now, time), who)

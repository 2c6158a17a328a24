"""racecheck in compiled code on reads that are recorded later (see `race_later`): what is emitted in front of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.checks.checked import Checks, Members
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.groups import Seen
from ptxlab.emulate.jit.emitter.loop_registers import loops
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.translation.rulecode import THERE, call
from ptxlab.emulate.rules import notes, race_accesses, race_later, race_repeats, race_rows, race_watch
from ptxlab.emulate.rules.accesses import ALL_THE_SAME, HALVES_IN_A_ROW, HALVES_THE_SAME, IN_A_ROW
from ptxlab.emulate.rules.records import CODE, LAST_TIME, TIME, WARP, Block, Launch, Put, Told
from ptxlab.isa.actions import Action

FEW = 4
"""Reads of global memory outside of loops that each warp has a note for: to go on with a series takes longer."""
_SAME = tuple((name, name) for name in ("extent", "records", "members"))
"""What all reads of a series have in common."""
_GROWS = ("stamp", "who", "turn"), ("places", "next", "step"), ("serial", "due", "pace")
"""What grows from one to the next, what it will be, and by how much."""


class PutOff(Part):
    """What puts reads off."""

    def __init__(self, e: Emitter, checks: Checks) -> None:
        super().__init__(e)
        self.checks = checks
        self._loops = {block for loop in loops(self.program) for block in loop}
        reads = [code for code in self.program.codes if code.action is Action.LOAD and code.space == "global"]
        self._many = sum(code.block not in self._loops for code in reads) > FEW
        self._may = checks.race and not e.slow and race_later.may_put_off(self.program)

    @contextmanager
    def around(
        self, seen: Seen, members: Members, records: tuple[str, str], places: tuple[str, str], pattern: str
    ) -> Iterator[tuple[str, str]]:
        """Around what checks and records an access now: puts a read off if it can be, and does no more about one that
        was expected. records: those of its allocation, and their stride; places: the offsets of lanes 0 and 16. Gives
        the tables of the members and of the pieces."""
        t, group, shared = self.t, seen.group, seen.code.space == "shared"
        steady = group.patterns & {IN_A_ROW, HALVES_IN_A_ROW, ALL_THE_SAME, HALVES_THE_SAME}
        rows, pieces = self.checks.members(members), self.checks.pieces(members)
        if not self._may or not steady or not (shared or (seen.code.space == "global" and not seen.write)):
            yield rows, pieces
            return
        race, stride = records
        past, where = t.label("later"), race_later.TO_BLOCK if shared else race_later.TO_LAUNCH
        if shared:
            self._if_repeated(seen, records, places, pattern, rows, past)
        if seen.write:
            yield rows, pieces
            t.go(past)
            t.at(past)
            return
        with contextlib.nullcontext() if shared else t.if_then(t.let(f"icmp ne ptr {race}, null")):
            with t.if_then(t.let(f"icmp eq i64 {self._state(race, stride)}, {where}")):
                self._note(seen, (race, stride, rows, pieces), places, pattern, past)
        yield rows, pieces
        t.go(past)
        t.at(past)

    @contextmanager
    def unless_watched(self, seen: Seen, members: Members, records: tuple[str, str]) -> Iterator[None]:
        """Around what checks and records an access of rows: puts one of shared memory off where others are, that is a
        write as well, if each word is one thread's."""
        t, group, (race, stride) = self.t, seen.group, records
        if not self._may or seen.code.space != "shared" or not group.patterns & {IN_A_ROW, HALVES_IN_A_ROW}:
            yield
            return
        past, state = t.label("watched"), self._state(race, stride)
        least = race_later.TO_BLOCK if seen.write else race_later.WATCHED
        with t.if_then(t.let(f"icmp uge i64 {state}, {least}")):
            tables = self.checks.members(members), self.checks.pieces(members)
            given = self.active.bits, race, stride, *group.halves, group.pattern, *tables, str(int(seen.write))
            with t.if_then(t.let(call(race_watch.watched_rows, *THERE, *given)), to=past):
                pass
        yield
        t.go(past)
        t.at(past)

    def _state(self, race: str, stride: str) -> str:
        """Where reads of an allocation are noted (`race_later.NOW` and so on)."""
        kept = self.t.let(f"getelementptr i64, ptr {race}, i64 {self.t.let(f'mul i64 {stride}, 3')}")
        place = self.t.let(f"getelementptr i64, ptr {kept}, i64 {race_rows.LATER}")
        return self.t.let(f"load i64, ptr {place}")

    def _if_repeated(
        self, seen: Seen, records: tuple[str, str], places: tuple[str, str], pattern: str, rows: str, past: str
    ) -> None:
        """Goes on at `past` if the block is expected to do what an earlier one did, and does it."""
        t, writes = self.t, race_later.NOTED_WRITE if seen.write else 0
        expected = t.let(f"icmp eq i64 {self._state(*records)}, {race_later.REPEATED}")
        with t.if_then(t.let(f"and i1 {expected}, {self._fits(seen, pattern)}")):
            repeats = {
                name: t.let(f"load {kind}, ptr {t.field(Block, f'repeats.{name}', '%check.block')}")
                for name, kind in (("told", "ptr"), ("next", "i64"))
            }
            at = t.let(f"mul i64 {repeats['next']}, {Told.size}")
            told = t.let(f"getelementptr i8, ptr {repeats['told']}, i64 {at}")
            low, high = (t.let(f"zext i32 {t.let(f'trunc i64 {place} to i32')} to i64") for place in places)
            apart = "0"
            if not seen.uniform:
                same = t.let(f"trunc i32 {t.let(f'lshr i32 {0b100010}, {pattern}')} to i1")  # ALL_ and HALVES_THE_SAME
                apart = t.let(f"select i1 {same}, i64 0, i64 {seen.size << 32}")
            lanes, above = t.let(f"zext i32 {self.active.bits} to i64"), t.let(f"shl i64 {high}, 32")
            alike = {
                "key": f"i64 {t.let(f'and i64 {self._stamp(race_later.STRIDED | writes)}, {race_repeats.NOT_BLOCK}')}",
                "places": f"i64 {t.let(f'or i64 {above}, {low}')}",
                "lanes": f"i64 {t.let(f'or i64 {apart}, {lanes}')}",
                "members": f"ptr {rows}",
            }
            if any(code.properties.converges for code in self.program.codes):
                alike["synced"] = f"i32 {self._synced()}"
            same = "true"
            for field, value in alike.items():
                held = t.let(f"load {value.split()[0]}, ptr {t.field(Told, field, told)}")
                same = t.let(f"and i1 {same}, {t.let(f'icmp eq {value}, {held}')}")
            with t.if_then(same, to=past):
                t.bump(t.field(Block, "repeats.next", "%check.block"), "add i64", "1")
            t.do(call(race_accesses.departed, "%check.launch", "%check.block", *records, self.active.bits))

    def _note(
        self, seen: Seen, given: tuple[str, str, str, str], places: tuple[str, str], pattern: str, past: str
    ) -> None:
        """Puts a read off, if the lanes that there are and their pattern are such that it can be, and if there is room;
        then it is done, and goes on at `past`. given: the records, their stride, both tables."""
        t, (low, high) = self.t, places
        race, stride, rows, pieces = given
        shared = seen.code.space == "shared"
        alone = shared or not (self._many or seen.code.block in self._loops)
        record, name = (Block, "%check.block") if shared else (Launch, "%check.launch")
        count, limit, serial = (
            t.let(f"load i64, ptr {t.field(record, f'later.{field}', name)}") for field in ("count", "limit", "serial")
        )
        largest = t.let(f"or i64 {t.let(f'or i64 {low}, {high}')}, {stride}")
        good = t.let(f"and i1 {self._less(count, limit)}, {self._less(largest, str(1 << 32))}")
        with t.if_then(t.let(f"and i1 {good}, {self._fits(seen, pattern)}"), to=past if alone else ""):
            above = t.let(f"shl i64 {high}, 32")
            lanes = t.let(f"shl i64 {t.let(f'zext i32 {self.active.bits} to i64')}, 32")
            stamp = self._stamp(race_later.ONE_ADDRESS if seen.uniform else pattern)
            place = t.let(f"or i64 {above}, {low}")
            extent = t.let(f"or i64 {lanes}, {stride}")
            kept = {
                "stamp": f"i64 {stamp}", "places": f"i64 {place}", "records": f"ptr {race}", "extent": f"i64 {extent}",
                "members": f"ptr {rows}", "pieces": f"ptr {pieces}", "serial": f"i64 {serial}", "count": "i64 1",
            }  # fmt: skip
            if alone:
                put = self._put(record, name, count)
                if shared:
                    kept["synced"] = f"i32 {self._synced()}"
                for field, value in kept.items():
                    t.do(f"store {value}, ptr {t.field(Put, field, put)}")
                t.bump(t.field(record, "later.count", name), "add i64", "1")
                if not shared:
                    t.bump(t.field(record, "later.serial", name), "add i64", "1")
                self._taking_part(seen, rows)
            else:
                self._note_again(seen, kept, count, past)
                fields = stamp, place, race, extent, "0", rows, pieces
                with t.if_then(t.let(call(race_later.put_off_again, "%check.launch", *fields)), to=past):
                    self._taking_part(seen, rows)

    def _note_again(self, seen: Seen, kept: dict[str, str], count: str, past: str) -> None:
        """Puts a read off that is one more of a series; else goes on behind. kept: what the note would be."""
        t = self.t
        of_codes = t.let(f"load ptr, ptr {t.field(Launch, 'later.open', '%check.launch')}")
        last = t.let(f"load i64, ptr {t.let(f'getelementptr i64, ptr {of_codes}, i64 {seen.code.index}')}")
        since = t.let(f"sub i64 {count}, {last}")
        with t.if_then(self._less(t.let(f"sub i64 {since}, 1"), str(race_later.NEAR))):
            put = self._put(Launch, "%check.launch", last)
            alike = "true"
            for field, named in (*(row[:2] for row in _GROWS), *_SAME):
                kind = kept[field].split()[0]
                held = t.let(f"load {kind}, ptr {t.field(Put, named, put)}")
                alike = t.let(f"and i1 {alike}, {t.let(f'icmp eq {kept[field]}, {held}')}")
            with t.if_then(alike, to=past):
                for _, field, by in _GROWS:
                    more = t.let(f"load i64, ptr {t.field(Put, by, put)}")
                    t.bump(t.field(Put, field, put), "add i64", more)
                t.bump(t.field(Put, "count", put), "add i64", "1")
                t.bump(t.field(Launch, "later.serial", "%check.launch"), "add i64", "1")
                self._taking_part(seen, kept["members"].split()[1])

    def _put(self, record: type[Launch | Block], name: str, number: str) -> str:
        """A pointer to one of the notes of a block or of the launch."""
        reads = self.t.let(f"load ptr, ptr {self.t.field(record, 'later.reads', name)}")
        return self.t.let(f"getelementptr i8, ptr {reads}, i64 {self.t.let(f'mul i64 {number}, {Put.size}')}")

    def _synced(self) -> str:
        """When the warp's lanes have last synchronized."""
        t, diagonal = self.t, Block.fields["sync"].columns + 1
        at = t.let(f"mul i32 %check.warp, {diagonal}")
        place = t.let(f"getelementptr i32, ptr {t.field(Block, 'sync', '%check.block')}, i32 {at}")
        return t.let(f"load i32, ptr {place}")

    def _taking_part(self, seen: Seen, members: str) -> None:
        if self._partly(seen):
            self.t.do(call(notes.taking_part, "%check.launch", "%check.warp", self.active.bits, members))

    def _less(self, a: str, b: str) -> str:
        return self.t.let(f"icmp ult i64 {a}, {b}")

    def _partly(self, seen: Seen) -> bool:
        """Whether some lanes are likely to be inactive."""
        return self.active.partly or seen.code.guard is not None

    def _fits(self, seen: Seen, pattern: str) -> str:
        """Whether the lanes that there are, and their pattern, are such that a read can be put off."""
        if not seen.uniform:  # those of IN_A_ROW, ALL_THE_SAME, HALVES_IN_A_ROW, HALVES_THE_SAME, PARTS_OF_ROWS
            return self.t.let(f"trunc i32 {self.t.let(f'lshr i32 {0b1110011}, {pattern}')} to i1")
        if self._partly(seen):
            return self.t.let(f"icmp ne i32 {self.active.bits}, 0")
        return self.t.let(f"icmp eq i32 {self.active.bits}, -1")

    def _stamp(self, pattern: int | str) -> str:
        """When and by whom a read is put off, and its pattern (see `records.Put`)."""
        t = self.t
        now, full = (t.let(f"load i64, ptr {t.field(Block, name, '%check.block')}") for name in ("now", "full"))
        time = t.let(f"and i64 {t.let(f'lshr i64 {full}, {TIME - CODE}')}, {LAST_TIME << CODE}")
        warp = t.let(f"shl i64 {t.let('zext i32 %check.warp to i64')}, {WARP}")
        who = t.let(f"or i64 {warp}, {t.let(f'zext i32 {pattern} to i64')}")
        return t.let(f"or i64 {t.let(f'or i64 {now}, {time}')}, {who}")

"""racecheck in compiled code where words of global memory have numbers (`race_numbers`): one call for each group.

Numbers do not say when a word was accessed. So all accesses of a group, stores as well as loads, are looked at where
the first of them is, barriers or not, and where the others are there is nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.checks.check_instrument import Checks, Members
from ptxlab.emulate.jit.emitter.access_groups import AT_A_STRIDE, ROWS, Group, Seen
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.rules import notes, race_deferred_reads, race_line_records, race_numbered_accesses, races
from ptxlab.emulate.rules.accesses import PARTS_OF_ROWS

WORDS = 32
"""Words of a lane that a table tells as bits."""


class NumberedWords(Part):
    """What is emitted in front of accesses to global memory."""

    def __init__(self, e: Emitter, checks: Checks) -> None:
        super().__init__(e)
        self.checks = checks
        self._looked_at: set[int] = set()

    def located(self, group: Group) -> None:
        """A group begins."""
        self._looked_at.discard(id(group))

    @contextmanager
    def unless_numbered(
        self, seen: Seen, members: Members, records: tuple[str, str], offsets: Callable[[], str]
    ) -> Iterator[None]:
        """Around what records an access. records: those of its allocation, and their stride; offsets: gives a pointer
        to the offsets of the lanes, or the offset of all, an i64."""
        if seen.code.space == "shared":
            yield
            return
        t, (race, stride) = self.t, records
        summary = t.element("i64", race, t.mul("i64", stride, 3))
        state = t.load("i64", t.element("i64", summary, race_line_records.LATER))
        with t.if_else(t.eq("i64", state, race_deferred_reads.NUMBERED)) as (numbered, recorded):
            with numbered:
                if id(seen.group) not in self._looked_at:
                    self._looked_at.add(id(seen.group))
                    self._look_at(seen, records, offsets)
                if seen.code.space == "generic":  # which may be shared memory, with records, the next time
                    tables = self.checks.members(members)
                    t.do(call(notes.taking_part, "%check.launch", "%check.warp", self.active.bits, tables))
            with recorded:
                yield

    def _look_at(self, seen: Seen, records: tuple[str, str], offsets: Callable[[], str]) -> None:
        t, group, table = self.t, seen.group, self._table(seen.group)
        if seen.uniform:
            t.do(call(race_numbered_accesses.one, *THERE, self.active.bits, *records, offsets(), table))
            return
        done = "false"
        if group.patterns.intersection(ROWS):
            done = t.let(call(race_numbered_accesses.rows, *THERE, *records, *group.halves, group.pattern, table))
        with t.unless(done):
            given = *THERE, self.active.bits, *records
            apart, known = self._apart(group, seen.size)
            if not apart:
                t.do(call(race_numbered_accesses.each, *given, offsets(), table))
                return
            with t.if_else(known) as (regular, otherwise):
                with regular:
                    t.do(call(race_numbered_accesses.regular, *given, group.halves[0], str(apart), table))
                with otherwise:
                    t.do(call(race_numbered_accesses.each, *given, offsets(), table))

    def _apart(self, group: Group, size: int) -> tuple[int, str]:
        """By how many words lanes are apart if this holds, an i1; 0 if that is not known."""
        grain = races.granule(self.program)
        if group.part_of_a_row(size):
            return size // grain, self.t.eq("i32", group.pattern, PARTS_OF_ROWS)
        if not group.way or not group.stride.isdigit():
            return 0, ""
        step = int(group.stride)
        if step % grain or not size <= step <= race_numbered_accesses.CLOSE * grain:
            return 0, ""
        return step // grain, self.t.eq("i32", group.way, AT_A_STRIDE)

    def _table(self, group: Group) -> str:
        """The table of all accesses of a group, which `race_numbered_accesses` describes."""
        grain = races.granule(self.program)
        accesses: dict[int, bool] = {}
        for index, offset, _ in group.members:
            at, stores = offset - group.low, self.program.codes[index].properties.stores
            accesses[at] = accesses.get(at, False) or stores
        size, least = group.members[0][2], min(accesses)
        used, written = 0, 0
        for at, write in accesses.items():
            bits = (1 << size // grain) - 1 << (at - least) // grain
            used, written = used | bits, written | (bits if write else 0)
        if used >> WORDS:
            used = written = 0
        rows = [len(accesses), size, least, used, written]
        for at in sorted(accesses):
            rows += [at, int(accesses[at])]
        return self.checks.listed(rows)

"""The checks in compiled code, third part: barriers, fences, and instructions that lanes of a warp meet at."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.checked_transfers import CheckedTransfers
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.model import Block, Code, Literal
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import instructions as rules
from ptxlab.isa.actions import Action


class Checking(CheckedTransfers):
    """The mixin. Both functions of a checked program are written with it."""

    def plain(self, code: Code) -> None:
        if self.race and code.action is Action.FENCE:
            self._if_any(["call void @race.fence(ptr %ctx, ptr %cta, ptr %ws)",
                          "call void @race.acquire(ptr %ctx, ptr %cta, ptr %ws)"])  # fmt: skip
        elif rules.meets(code):
            self._meeting(code)
            if self.sync:
                self._named(code)
        super().plain(code)

    def _offer(self, block: Block, code: Code) -> None:
        self._meeting(code)
        super()._offer(block, code)  # type: ignore[misc]

    def _met(self, code: Code, bits: str, sources: list[Any]) -> None:
        if self.sync:
            self._named(code, sources)
        super()._met(code, bits, sources)  # type: ignore[misc]

    def _members_of(self, code: Code) -> Any:
        """The operand that names the lanes of a warp that meet at an instruction."""
        assert code.form is not None
        specs = [s.name for s in code.form.op.operands if s.role != "dst"]
        return code.sources[specs.index("membermask")] if "membermask" in specs else None

    def _meeting(self, code: Code) -> None:
        """Lanes of a warp come to an instruction that they meet at."""
        given = self._members_of(code)
        whole = given is None or (isinstance(given, Literal) and int(given.value) & 0xFFFFFFFF == 0xFFFFFFFF)
        if self.race and whole:
            self._if_any(["call void @race.together(ptr %cta, ptr %ws)"])
        elif self.race:
            named = self.vector(self._read(given, "b32"))
            self.t.do(f"call void @race.meet(ptr %cta, ptr %ws, i32 {self.mask_bits}, <{W} x i32> {named})")

    def _named(self, code: Code, sources: list[Any] | None = None) -> None:
        """Lanes of a warp have met: whom do they name? `sources`: what they have brought, if they came one by one."""
        given = self._members_of(code)
        if given is None or (code.form is not None and code.form.op.kind == "warp"):
            return
        if sources is None:
            members = self._read(given, "b32")
            sources = (
                [self._read(code.sources[k], code.source_types[k]) for k in (0, 1, 2)]
                if code.action is Action.SHUFFLE
                else []
            )
        else:
            p = self.t.let(f"getelementptr i8, ptr %ws, i64 {S.MEMBERS}")
            members = Value(self.t.let(f"load <{W} x i32>, ptr {p}, align 64"), "i32", False)
        self.t.do(
            f"call void @sync.members(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, <{W} x i32> "
            f"{self.vector(members)}, i64 {code.index})"
        )
        if code.action is Action.SHUFFLE:
            self._shuffle(code, members, sources[1], sources[2])

    def _shuffle(self, code: Code, members: Value, b: Value, c: Value) -> None:
        """As `shuffle_source` of the stepping engine's checks."""
        form = code.form
        assert form is not None
        low = self.const("i32", 31)
        lane, by, last = self.lane_id(), self.and_(b, low), self.and_(c, low)
        segment = self.and_(self.lshr(c, self.const("i32", 8)), low)
        free = self.not_(segment)
        lowest = self.and_(lane, segment)
        highest = self.or_(lowest, self.and_(last, free))
        if form.mode == "up":
            source = self.sub(lane, by)
            inside = self.sle(highest, source)
        elif form.mode == "down":
            source = self.add(lane, by)
            inside = self.sle(source, highest)
        else:
            source = self.xor(lane, by) if form.mode == "bfly" else self.or_(lowest, self.and_(by, free))
            inside = self.sle(source, highest)
        if form.mode == "idx" and (len(code.dests) < 2 or code.dests[1] is None):
            self._noted(self.not_(inside), self.or_(source, self.shl(highest, self.const("i32", 16))), F.RANGE)
        live = Value(self.t.let("load i32, ptr %live.at"), "i32", True)
        there = self.and_(self.lshr(self.and_(members, live), self.and_(source, low)), self.const("i32", 1))
        alone = self.and_(self.eq(there, self.const("i32", 0)), self.ne(source, lane))
        self._noted(self.and_(alone, inside), source, F.SOURCE)

    def _noted(self, wrong: Value, numbers: Value, kind: int) -> None:
        t = self.t
        bits = t.let(f"bitcast <{W} x i1> {self.vector(wrong)} to i32")
        bad = t.let(f"and i32 {bits}, {self.mask_bits}")
        t.do(
            f"call void @sync.shuffle(ptr %ctx, ptr %cta, ptr %ws, i32 {bad}, <{W} x i32> {self.vector(numbers)}, "
            f"i64 {kind}, i64 {self.code.index})"
        )

    # -- barriers ------------------------------------------------------------------------------------------------------

    def _barrier(self, block: Block, code: Code) -> None:
        if self.sync:
            given = [(s, ty) for s, ty in zip(code.sources, code.source_types, strict=True) if s is not None]
            if code.form is not None and code.form.red:
                given.pop()
            numbers = [self._first(self._read(s, "u32")) for s, _ in given]
            count = numbers[1] if len(numbers) > 1 else "0"
            skips = self.t.let(f"xor i32 {self.mask_bits}, {self._block_bits}")
            here = self.pc(block.index) + 2 * (code.index - block.first) if self.slow else 0
            self.t.do(
                f"call void @sync.barrier(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, i32 {numbers[0]}, "
                f"i32 {count}, i64 {code.index}, i32 {int(rules.aligned(code))}, i32 {here}, "
                f"i32 {self.pc(block.next)}, i32 {skips}, ptr {self._may_come(code)})"
            )
        super()._barrier(block, code)

    def _may_come(self, code: Code) -> str:
        """A table of the instructions from which lanes may still come to a barrier."""
        listed = ", ".join(f"i8 {int(x)}" for x in rules.may_come(self.program, code))
        name = f"@may.come.{'slow' if self.slow else 'fast'}.{code.index}"
        self.tables.append(f"{name} = internal constant [{len(self.program.codes)} x i8] [{listed}]")
        return name

    def _arrive(self, offset: str) -> None:
        if self.race:
            barrier = self.t.let(f"lshr i64 {offset}, 2")
            self.t.do(f"call void @race.arrived(ptr %cta, ptr %ws, i64 {barrier})")
        super()._arrive(offset)


def checking(checks: frozenset[str]) -> type[Checking]:
    """The mixin for these checks."""
    wanted = {f"{c}": f"{c}check" in checks for c in ("init", "race", "sync")}
    return type("Checking", (Checking,), wanted)

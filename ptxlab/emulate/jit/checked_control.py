"""The checks in compiled code, third part: barriers, fences, and instructions that lanes of a warp meet at."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.barrier_checks import arrived
from ptxlab.emulate.jit.checked_registers import THERE
from ptxlab.emulate.jit.checked_transfers import CheckedTransfers
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.rulecode import call
from ptxlab.emulate.jit.values import Value
from ptxlab.emulate.program.model import Block, Code, Literal
from ptxlab.emulate.rules import instructions as rules
from ptxlab.emulate.rules import lane_masks, races
from ptxlab.isa.actions import Action


class Checking(CheckedTransfers):
    """The mixin. Both functions of a checked program are written with it."""

    def plain(self, code: Code) -> None:
        if self.race and code.action is Action.FENCE:
            self._if_any([call(races.fence, *THERE[1:])])
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
            self._if_any([call(races.together, "%check.block", "%check.warp")])
        elif self.race:
            named = self.vector(self._read(given, "b32"))
            live = self.t.let("load i32, ptr %live.at")
            self.t.do(call(races.meet, "%check.block", "%check.warp", live, self.mask_bits, named))

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
            p = self.t.field(S.Warp, "members")
            members = Value(self.t.let(f"load <{W} x i32>, ptr {p}, align 64"), "i32", False)
        live = self.t.let("load i32, ptr %live.at")
        first = self.t.let(f"load i32, ptr {self.t.field(S.Warp, 'first_live')}")
        gone = self.t.let(f"and i32 {first}, {self.t.let(f'xor i32 {live}, -1')}")
        named = self.vector(members)
        self.t.do(call(lane_masks.named, *THERE, self.mask_bits, gone, named, str(code.index)))
        if code.action is Action.SHUFFLE:
            assert code.form is not None
            asked = len(code.dests) > 1 and code.dests[1] is not None
            self.t.do(
                call(
                    lane_masks.shuffled, *THERE, self.mask_bits, live, named, self.vector(sources[1]),
                    self.vector(sources[2]), str(lane_masks.MODES[str(code.form.mode)]), str(int(asked)),
                    str(code.index),
                )
            )  # fmt: skip

    # -- barriers ------------------------------------------------------------------------------------------------------

    def _barrier(self, block: Block, code: Code) -> None:
        if self.sync:
            given = [(s, ty) for s, ty in zip(code.sources, code.source_types, strict=True) if s is not None]
            if code.form is not None and code.form.red:
                given.pop()
            numbers = [self._first(self._read(s, "u32")) for s, _ in given]
            count = numbers[1] if len(numbers) > 1 else "0"
            skips = self.t.let(f"xor i32 {self.mask_bits}, {self._block_bits}")
            self.t.do(
                call(
                    arrived, *THERE[:2], "%ws", self.mask_bits, skips, numbers[0], count,
                    str(int(rules.aligned(code))), str(self.pc(block.next)), self._may_come(code), str(code.index),
                )
            )  # fmt: skip
        super()._barrier(block, code)

    def _may_come(self, code: Code) -> str:
        """A table of the instructions from which lanes may still come to a barrier."""
        listed = ", ".join(f"i8 {int(x)}" for x in rules.may_come(self.program, code))
        name = f"@may.come.{'slow' if self.slow else 'fast'}.{code.index}"
        self.tables.append(f"{name} = internal constant [{len(self.program.codes)} x i8] [{listed}]")
        return name

    def _arrive(self, offset: str) -> None:
        if self.race:
            barrier = self.t.let(f"trunc i64 {self.t.let(f'lshr i64 {offset}, 2')} to i32")
            self.t.do(call(races.arrived, "%check.block", "%check.warp", barrier))
        super()._arrive(offset)


def checking(checks: frozenset[str]) -> type[Checking]:
    """The mixin for these checks."""
    wanted = {f"{c}": f"{c}check" in checks for c in ("init", "race", "sync")}
    return type("Checking", (Checking,), wanted)

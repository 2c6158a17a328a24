"""Which lanes of a diverged warp go next: one rule for both engines.

Lanes at one program counter are a group. The group at the smallest program counter goes, and the order of the blocks
brings lanes together by that (see `ptxlab.emulate.program.reconvergence`). A warp must not stand still, though, while a
lane spins for what another is to do, say for a lock: so rounds of loops are counted while lanes are apart, and after
`PATIENCE` of them a lane gets a turn that the rule has passed over. Turns go round the lanes. All is forgotten when the
lanes are together again.

The rule is asked at the end of each basic block and behind each instruction that lanes of a warp meet at. The compiling
engine has it as LLVM IR, in `jit/slow.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

PATIENCE = 4096
"""Loop rounds that lanes may make while others could go as well."""
POLLING = 256
"""As many rounds does one count for in a loop that may be one that waits for another thread."""
TURN = 64
"""How often the rule is asked while a turn lasts."""


class Group(Protocol):
    """Lanes that stand at one place and could go on."""

    pc: int

    @property
    def lanes(self) -> int:
        """The lanes, as bits."""


class Turns:
    """Whose turn it is in one warp. rounds: of loops, since the last turn was given or the lanes were together; left:
    of the turn that lasts; lane: whose turn it is, or was last."""

    __slots__ = ("lane", "left", "rounds")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """The lanes are together."""
        self.rounds = self.left = self.lane = 0

    def choose(self, groups: Sequence[Group]) -> int:
        """The program counter of the lanes that go now; `groups`: all that can, at least one."""
        if self.left:
            self.left -= 1
            for group in groups:
                if group.lanes >> self.lane & 1:
                    return group.pc
            self.left = 0
        lowest = min([group.pc for group in groups])
        if self.rounds < PATIENCE:
            return lowest
        self.rounds = 0
        passed_over = [group for group in groups if group.pc != lowest]
        if not passed_over:
            return lowest
        lanes = sum(group.lanes for group in passed_over)
        above = lanes >> self.lane + 1 << self.lane + 1
        chosen = above or lanes
        self.lane = (chosen & -chosen).bit_length() - 1
        self.left = TURN
        return next(group.pc for group in passed_over if group.lanes >> self.lane & 1)


def polls(form: Form) -> bool:
    """Whether a loop around this instruction may be one that waits for another thread."""
    words = set(form.opcode.split("."))
    return form.op.name in ("atom", "mbarrier") or bool(words & {"volatile", "relaxed", "acquire", "mmio"})

"""One LLVM function that runs one warp from where it stands until it must stop: at a barrier, its end, or a fault.

There are two of them, made from the same blocks by the same semantics: `fast` for a warp that is together and `slow`
for one that has split (see the modules of those names). They differ in how control moves, in where registers live and
in whether a write must spare the lanes that do not execute.
"""

from __future__ import annotations

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.control import Control
from ptxlab.emulate.jit.groups import Group, plan_groups
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.values import BITS
from ptxlab.emulate.program.model import Block, Program

SIGNATURE = "ptr noalias %ctx, ptr noalias %cta, ptr noalias %ws"


class Emitter(Control):
    """Writes one of the two functions of a program; `slow` says which."""

    def __init__(
        self, program: Program, uniform: list[bool], alive: list[int], file: S.RegisterFile, *, wide: bool
    ) -> None:
        super().__init__(program, uniform, alive, file)
        self.wide = wide
        self.tables: list[str] = []
        self.helpers_needed: dict[str, str] = {}
        self.sites = 0
        self.groups: dict[int, Group] = {}

    # -- the function --------------------------------------------------------------------------------------------------

    def function(self) -> str:
        """The LLVM text of the function, with its tables."""
        for block in self.program.blocks:
            groups, self.sites = plan_groups(self.program, block.first, block.last, self.sites)
            self.groups = groups
            self.block(block)
        body, self.t.lines = self.t.lines, []
        self._fields()
        self.dispatch()
        lines = [f"define i32 @{'slow' if self.slow else 'fast'}({SIGNATURE}) nounwind alignstack(64) {{", "entry:"]
        lines += [*self.t.lines, *body, "fault:", f"  ret i32 {S.FAULT}", "}"]
        return "\n".join(self.tables) + "\n" + "\n".join(lines) + "\n"

    def block(self, block: Block) -> None:
        """A basic block."""
        raise NotImplementedError

    def dispatch(self) -> None:
        """From the function's entry to where the warp stands."""
        raise NotImplementedError

    def _fields(self) -> None:
        t = self.t
        for buffer, kind in (("addrs", f"<{W} x i64>"), ("data", f"[{W * 8} x i64]"), ("out", f"[{W * 8} x i64]")):
            t.do(f"%{buffer} = alloca {kind}, align 64")
        t.do("%mask.p = alloca i32")
        for name, base, offset, kind in (
            ("params", "ctx", S.PARAMS, "ptr"), ("sites", "ctx", S.SITES, "ptr"), ("counts", "ctx", S.COUNTS, "ptr"),
            ("shared", "cta", S.SHARED, "ptr"), ("shared.size", "cta", S.SHARED_SIZE, "i64"),
            ("local", "ws", S.LOCAL, "ptr"), ("warps", "ctx", S.WARPS, "i64"),
        ):  # fmt: skip
            t.do(f"%{name}.p = getelementptr i8, ptr %{base}, i64 {offset}")
            t.do(f"%{name} = load {kind}, ptr %{name}.p")
        for name, base, offset in (
            ("live", "ws", S.LIVE), ("wait", "ws", S.WAIT), ("fast.pc", "ws", S.FAST_PC), ("rounds", "ws", S.ROUNDS),
            ("turn.left", "ws", S.TURN_LEFT), ("turn.lane", "ws", S.TURN_LANE), ("ended", "ws", S.ENDED),
            ("quantum", "ctx", S.QUANTUM), ("carry", "ws", S.CARRY),
        ):  # fmt: skip
            t.do(f"%{name}.at = getelementptr i8, ptr %{base}, i64 {offset}")

    def table(self, registers: int) -> tuple[str, int]:
        """A constant table of the uniform registers among a bit set: vector offset, scalar offset, bytes (0: a bit)."""
        rows: list[int] = []
        for r, register in enumerate(self.program.registers):
            if registers >> r & 1 and self.uniform[r]:
                bits = BITS[register.lane]
                rows += [self.file.vector[r], self.file.scalar[r], 0 if bits == 1 else bits // 8]
        if not rows:
            return "null", 0
        name = f"@table.{'slow' if self.slow else 'fast'}.{len(self.tables)}"
        listed = ", ".join(f"i32 {x}" for x in rows)
        self.tables.append(f"{name} = internal constant [{len(rows)} x i32] [{listed}]")
        return name, len(rows) // 3

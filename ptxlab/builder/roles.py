"""Roles: the warpgroups of a block that do different work, and how many registers the threads of each have."""

from __future__ import annotations

from typing import Any

from ptxlab.builder.blocks import Block
from ptxlab.builder.flow import Flow
from ptxlab.builder.nodes import If
from ptxlab.builder.registers import Register, Scope, pred, u32

WARPGROUP = 128
"""Threads of a warpgroup."""
REGISTERS = 65536
"""Registers of a multiprocessor."""


class Roles:
    """The roles of a kernel that were written so far. `inside`: the body of one is being written."""

    def __init__(self, k: Flow) -> None:
        self.k = k
        self.threads = 0  # of a block, if the kernel promises it
        self.inside = False
        self.asked: dict[int, int] = {}  # registers per thread, by warpgroup
        self.group: Register[u32] | None = None

    def role(self, numbers: tuple[int, ...], registers: int | None) -> Block[u32]:
        """What `k.warpgroup(...)` gives."""
        k = self.k
        first, last = min(numbers, default=0), max(numbers, default=0)
        if not numbers or sorted(numbers) != list(range(first, last + 1)):
            raise self.k._error(f"a role needs neighbouring warpgroups, found {numbers}", "k.warpgroup(1, 2)")
        if self.inside:
            raise self.k._error("a role inside of a role: no warpgroup has both")
        if self.threads and (last + 1) * WARPGROUP > self.threads:
            raise self.k._error(f"a block of {self.threads} threads has no warpgroup {last}")
        setmaxnreg = self._setmaxnreg(numbers, registers) if registers is not None else ""
        group = self._group()
        chosen = k._emit(f"setp.{'eq' if first == last else 'ge'}.u32", group, first, result=pred, temporary=True)
        if first != last and (last + 1) * WARPGROUP != self.threads:
            below = k._emit("setp.le.u32", group, last, result=pred, temporary=True)
            chosen = k._emit("and.pred", chosen, below, result=pred, temporary=True)
        node = If(chosen, k._new_if(), k._here)

        def enter() -> Scope:
            k.scope.nodes.append(node)
            self.inside = True
            return node.then

        def value() -> Any:
            if setmaxnreg:
                k._emit(setmaxnreg, registers, site=node.site)
            return group

        def leave() -> None:
            self.inside = False

        return Block(k, "warpgroup", enter, leave, value)

    def _group(self) -> Register[u32]:
        """The number of this thread's warpgroup; a shuffle tells the assembler that it is the same for a whole warp."""
        if self.group is None or not self.group.scope.open:
            k = self.k
            thread = k._emit("mov.u32", "%tid.x", result=u32, temporary=True)
            group = k._emit("shr.u32", thread, 7, result=u32, temporary=True)
            self.group = k._emit("shfl.sync.idx.b32", group, 0, 31, -1, result=u32, hint="warpgroup")
        return self.group

    def _setmaxnreg(self, numbers: tuple[int, ...], registers: int) -> str:
        """The instruction that gives back registers, or waits for those that others gave back."""
        if not self.threads:
            raise self.k._error(
                "the registers that a thread starts with depend on the number of threads; declare that first",
                "k.launch_bounds(384, 1)",
            )
        if not 24 <= registers <= 256 or registers % 8:
            raise self.k._error(f"a thread has 24 to 256 registers, in steps of 8; found {registers}")
        start = min(REGISTERS // self.threads // 8 * 8, 255)
        self.asked |= dict.fromkeys(numbers, registers)
        total = sum(self.asked.get(n, start) for n in range(self.threads // WARPGROUP)) * WARPGROUP
        if len(self.asked) * WARPGROUP == self.threads and total > REGISTERS:
            raise self.k._error(
                f"the roles ask for {total} registers; a multiprocessor has {REGISTERS}, so the last one to ask "
                "waits for ever"
            )
        return f"setmaxnreg.{'inc' if registers > start else 'dec'}.sync.aligned.u32"

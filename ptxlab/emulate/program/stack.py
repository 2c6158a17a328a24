"""`alloca`, `stacksave` and `stackrestore`: memory that a thread allocates while it runs, after its local memory.

One register of each lane holds how many bytes are allocated. A function that allocates any saves the register when it
is entered and restores it where it returns.
"""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Code, Literal, Reg, Source
from ptxlab.emulate.program.lowering import Guard, Lowering
from ptxlab.emulate.program.scopes import Routine, Scope
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form
from ptxlab.text.model import Instruction

SIZE = 16 << 10
"""Bytes a thread may take, in programs that take any."""
ALIGNMENT = 128
LARGEST = 1 << 23
"""What may be asked for as an alignment."""


class StackMemory:
    """What lowering knows of the memory that threads take while they run."""

    def __init__(self) -> None:
        self._taken: Reg | None = None
        self._before: dict[str, Reg] = {}
        self._bases: list[tuple[Code, int]] = []

    def taken(self, low: Lowering) -> Reg:
        """The register with the number of bytes taken; 0 when a thread starts."""
        if self._taken is None:
            self._taken = low.register("%taken", "b64", "")
        return self._taken

    def enter(self, low: Lowering, routine: Routine) -> None:
        """A function that takes memory begins."""
        if routine.register >= 0:
            before = self._before[routine.function.name] = low.register("%before", "b64", routine.function.name)
            low.op("mov.b64", (before,), (self.taken(low),), routine.function.line)

    def give_back(self, low: Lowering, routine: Routine, line: int, guard: Guard) -> None:
        """A function returns."""
        before = self._before.get(routine.function.name)
        if before is not None:
            low.op("mov.b64", (self.taken(low),), (before,), line, guard)

    def lower(
        self, low: Lowering, instruction: Instruction, found: Form, guard: Guard, scope: Scope, routine: Routine
    ) -> None:
        """Emits what one of the three instructions does."""
        line, taken = instruction.line, self.taken(low)
        operands = self._operands(low, instruction, found, scope, routine)
        start = len(low.codes)
        if found.op.does is Action.STACK_ALLOCATE:
            align = int(operands[2].value) if len(operands) > 2 and isinstance(operands[2], Literal) else 8
            if align < 1 or align & (align - 1) or align > LARGEST:
                raise low.error(f"{align} cannot be an alignment: a power of two up to {LARGEST} can", line)
            size = operands[1]
            if isinstance(size, Reg) and found.type == "u32":
                wide = low.register("%size", "b64", "")
                low.op("cvt.u64.u32", (wide,), (size,), line, guard)
                size = wide
            address = low.register("%address", "b64", "")
            align = max(align, 8)
            self._based("add.u64", low, address, taken, align - 1, line, guard)
            low.op("and.b64", (address,), (address, Literal(-align)), line, guard)
            self._based("sub.u64", low, taken, address, 0, line, guard)
            low.op("add.u64", (taken,), (taken, size), line, guard)
            low.op("mov.b64" if found.type == "u64" else "cvt.u32.u64", (operands[0],), (address,), line, guard)
        elif found.op.does is Action.STACK_SAVE:
            low.op("mov.b64" if found.type == "u64" else "cvt.u32.u64", (operands[0],), (taken,), line, guard)
        else:
            low.op("mov.b64" if found.type == "u64" else "cvt.u64.u32", (taken,), (operands[0],), line, guard)
        low.codes[start].instruction = instruction  # the one that counts

    def _based(self, opcode: str, low: Lowering, dest: Reg, source: Reg, more: int, line: int, guard: Guard) -> None:
        """Adds or subtracts where the memory begins, which is known when all else has its place."""
        self._bases.append((low.op(opcode, (dest,), (source, Literal(more)), line, guard), more))

    @staticmethod
    def _operands(
        low: Lowering, instruction: Instruction, found: Form, scope: Scope, routine: Routine
    ) -> list[Source | None]:
        operands = [low.operand(o, scope, routine, instruction.line) for o in instruction.operands]
        kinds: list[tuple[type, ...]] = [(Reg,), (Reg, Literal), (Literal,)]
        kinds = kinds if found.op.does is Action.STACK_ALLOCATE else kinds[:1]
        fits = all(isinstance(o, kind) for o, kind in zip(operands, kinds, strict=False))
        if not fits or not min(2, len(kinds)) <= len(operands) <= len(kinds):
            raise low.error(f"{found.opcode} is written {found.op.syntax}", instruction.line)
        return operands

    def place(self, end: int) -> int:
        """The end of local memory, with room after `end` if any is taken."""
        if not self._bases:
            return end
        start = -(-end // ALIGNMENT) * ALIGNMENT
        for code, more in self._bases:
            code.sources = (code.sources[0], Literal(start + more))
        return start + SIZE

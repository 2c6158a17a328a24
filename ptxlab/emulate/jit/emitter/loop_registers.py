"""Registers of loops: while a warp runs a loop, LLVM keeps them, and not the warp's state.

Between basic blocks a register lies in the warp's state, where the scheduler and the function for diverged warps find
it. Within a loop that has no barrier nobody else looks there. So what the blocks of such a loop read and write lies in
locals of the function (`alloca`), of which LLVM makes values of its own (`compile.build`). On the way into it they are
loaded from the warp's state; on each way out, and where the warp stops in it, what may still be read is stored.

In full quality only: code that is built quickly would take longer to build.
"""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.program.block_order import components
from ptxlab.emulate.program.flat_program import Block
from ptxlab.emulate.program.liveness import bit_set, numbers, reads, successors, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import BODIED, Action

WAITS = frozenset({Action.BARRIER, Action.CLUSTER_BARRIER})
"""What a warp's turn ends with: it goes on through the function's entry."""


ROOM = 1536
"""Bytes of registers of which all lanes are kept, of a loop that has its registers in locals: three quarters of the
registers of a CPU with 512-bit vectors. Loops with more keep their scalars only: what LLVM would store on the stack
costs as much as in the warp's state, and takes it up to twice the time to build. With 256-bit vectors, of which there
are 16, a quarter of it would fit, but `top_k` and `mandelbrot` take twice as long with that limit."""
LONGEST = 32
"""Blocks of such a loop. Building longer ones took up to a third longer, and none has become faster."""


class LoopRegisters:
    """Where registers lie, and the ways between blocks that differ in that."""

    def __init__(self, f: Function) -> None:
        self.f, self.t, self.program = f, f.t, f.program
        self.apart: frozenset[int] = frozenset()
        """Registers that are scalars elsewhere and of which all lanes are kept here."""
        self.here = 0
        """The registers that lie in locals where code is being emitted, a bit set."""
        used = not f.diverged and not f.small
        nowhere = [0] * len(self.program.blocks)
        self.of = registers_of_loops(self.program, f.alive, f.scalars) if used else nowhere
        """The same at the start of each block."""
        self._locals: dict[int, str] = {}
        """The types of the locals, by the places in the warp's state that they stand for."""
        self._edges: dict[tuple[int, int], str] = {}
        """Labels of the ways to a block from code that keeps other registers, by these and the block."""

    def begin(self, registers: int) -> None:
        """These registers lie in locals from here on."""
        self.here = registers

    def scalar(self, r: int) -> bool:
        """Whether a register is kept as a scalar, or as two."""
        return self.f.scalars[r] and not self.f.diverged and r not in self.apart

    def place(self, r: int, at: int, kind: str) -> str:
        """A pointer to a register, or to a part of it, which lies at an offset in the warp's state."""
        if not self.here >> r & 1:
            return self.t.offset("%ws", at)
        self._locals[at] = kind
        return f"%{PROMOTED}{at}"

    def label(self, block: int) -> str:
        """Where to jump to go on at a block."""
        if self.here == self.of[block]:
            return f"b{block}"
        key = self.here, block
        if key not in self._edges:
            self._edges[key] = self.t.label(f"way{block}")
        return self._edges[key]

    def settle(self, alive: int, *, vectors: bool = False) -> None:
        """Stores those of these registers (a bit set) that lie in locals in the warp's state. vectors: all lanes of
        scalars, too."""
        for r in numbers(alive & self.here):
            for at, kind in self.parts(r, vectors=vectors):
                self._copy(at, kind, f"%{PROMOTED}{at}", self.t.offset("%ws", at))

    def load(self, alive: int, *, vectors: bool = False) -> None:
        """Loads these registers from the warp's state, those that lie in locals."""
        for r in numbers(alive & self.here):
            for at, kind in self.parts(r, vectors=vectors):
                self._copy(at, kind, self.t.offset("%ws", at), f"%{PROMOTED}{at}")

    def change(self, registers: int, alive: int) -> None:
        """From here on these registers lie in locals. alive: those whose values count."""
        self.settle(alive & ~registers)
        before, self.here = self.here, registers
        self.load(alive & ~before)

    def _copy(self, at: int, kind: str, source: str, dest: str) -> None:
        self._locals[at] = kind
        align = 64 if kind[0] == "<" else 8
        value = self.t.load(kind, source, align=align)
        self.t.store(kind, value, dest, align=align)

    def parts(self, r: int, *, vectors: bool = False) -> list[tuple[int, str]]:
        """Where a register lies, and as which types."""
        lane, file = self.program.registers[r].lane, self.f.file
        if vectors or not self.scalar(r):
            return [(file.vector[r], "i32" if lane == "i1" else f"<{W} x {LLVM[lane]}>")]
        form = self.f.affine.get(r)
        if form is None:
            return [(file.scalar[r], "i8" if lane == "i1" else LLVM[lane])]
        out = [(file.scalar[r], form.type)]
        if form.extension:
            out.append((file.inner[r], "i32"))
        if form.times:
            out.append((file.stride[r], form.stride_type))
        return out

    def ways(self) -> None:
        """The code of all ways that jumps need so far."""
        for (here, block), label in self._edges.items():
            self.t.at(label)
            self.here = here
            self.change(self.of[block], self.f.alive[block])
            self.t.go(f"b{block}")

    def declare(self) -> None:
        """The locals, at the function's entry."""
        for at, kind in sorted(self._locals.items()):
            self.t.alloca(kind, align=64 if kind[0] == "<" else 8, name=f"%{PROMOTED}{at}")
            if kind == "i32":  # bits of lanes that never ran are written back beside others
                self.t.store("i32", 0, f"%{PROMOTED}{at}")


def registers_of_loops(program: Program, alive: list[int], scalars: list[bool]) -> list[int]:
    """For each block the registers that lie in locals there, as bit sets. scalars: the registers that are kept as
    scalars."""
    held = set[int]()  # what instructions find in the warp's state
    for code in program.codes:
        if code.form.op.kind in BODIED:
            held.update([*reads(code), *writes(code)])
    out = [0] * len(program.blocks)
    for loop in (each for each in loops(program) if len(each) <= LONGEST):
        used, crossing = set[int](), 0
        for at in loop:
            block = program.blocks[at]
            for code in program.codes[block.first : block.last]:
                used.update(reads(code))
                used.update(writes(code))
            crossing |= alive[at]
        chosen = {r for r in used - held if crossing >> r & 1}
        if sum(4 * BITS[program.registers[r].lane] for r in chosen if not scalars[r]) > ROOM:
            chosen = {r for r in chosen if scalars[r]}
        registers = bit_set(chosen)
        for at in loop:
            out[at] = registers
    return out


def loops(program: Program) -> list[list[int]]:
    """The blocks of each outermost loop in which a warp's turn need not end."""
    after = [[] if _ends_turn(program, block) else successors(program, block.index) for block in program.blocks]
    return [part for part in components(after) if len(part) > 1 or part[0] in after[part[0]]]


def _ends_turn(program: Program, block: Block) -> bool:
    code = program.codes[block.last - 1]
    return code.action in WAITS or code.ends_turn

"""An LLVM function while it is emitted: the program, what is known of its registers, the text, and its constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.llvm.ir_text import HELD, Text
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.flat_program import Block
from ptxlab.emulate.program.liveness import successors
from ptxlab.emulate.program.program import Program


class RegisterFacts(NamedTuple):
    """Facts about a program's registers before a function is emitted (see `analysis.affine_registers`).

    uniform: whether each register is the same in all lanes; affine: the forms of those whose lanes differ by constants;
    alive: those that may be read after the start of each block, as bit sets."""

    uniform: list[bool]
    affine: dict[int, Form]
    alive: list[int]


class Function:
    """A program's function for converged warps, or that for diverged ones.

    rows: how threads lie in a block. small: whether to be built quickly counts more than to run fast: what is long and
    frequent is then called. features: those of the CPU."""

    def __init__(
        self, program: Program, rows: Rows, facts: RegisterFacts, *, diverged: bool, small: bool, features: str
    ) -> None:
        self.program, self.rows, self.facts = program, rows, facts
        self.diverged, self.small, self.features = diverged, small, features
        self.instruments: list[Instrument] = []
        self.code = program.codes[0]
        """The instruction that is being emitted."""
        self.constants: dict[tuple[str, str], str] = {}
        """The names of constant tables, by hints at them and their definitions."""
        self.helpers: dict[str, str] = {}
        """Functions that the function calls, by name."""
        self.t = Text()

    @property
    def name(self) -> str:
        return "diverged" if self.diverged else "converged"

    @property
    def wide(self) -> bool:
        return "+avx512f" in self.features

    def held(self, record: type[Record], field: str, kind: str, name: str = "") -> None:
        """Loads a field when the function begins, as `%field`; underscores become dots."""
        name = name or field.replace("_", ".")
        self.t.offset(HELD[record], record.offset(field), f"%{name}.p")
        self.t.load(kind, f"%{name}.p", name=f"%{name}")

    def constant(self, hint: str, type_: str, values: Iterable[int], *, align: str = "") -> str:
        """A constant table in memory, the same for equal ones."""
        listed = [f"{type_} {x}" for x in values]
        text = f"internal constant [{len(listed)} x {type_}] [{', '.join(listed)}]{align}"
        return self.constants.setdefault((hint, text), f"@{hint}.{self.name}.{len(self.constants)}")

    def pc(self, block: int) -> int:
        return 2 * self.program.blocks[block].first if block >= 0 else 0

    def pcs(self, block: int) -> str:
        return f"splat (i32 {self.pc(block)})"

    def alive_at(self, block: int) -> int:
        """The registers that may be read after the start of a block, a bit set."""
        return self.facts.alive[block]

    def alive_after(self, block: Block) -> int:
        """The registers that any block after this one may read."""
        alive = 0
        for successor in successors(self.program, block.index):
            alive |= self.facts.alive[successor]
        return alive

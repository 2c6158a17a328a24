"""An LLVM function while it is emitted: the program, what is known of its registers, the text, and its constants."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.emitter.instrument import Instrument
from ptxlab.emulate.jit.emitter.register_file import RegisterFile
from ptxlab.emulate.jit.llvm.ir_text import HELD, Text, W
from ptxlab.emulate.jit.llvm.values import BITS
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.flat_program import Block
from ptxlab.emulate.program.liveness import bit_set, numbers, successors
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.state import ScalarRegister


class Build(NamedTuple):
    """What is known of a program before a function is emitted (see `analysis.affine_registers`), and how to build it.

    uniform: whether each register is the same in all lanes; affine: the forms of those whose lanes differ by constants;
    alive: those that may be read after the start of each block, as bit sets; rows: how threads lie in a block.
    diverged: whether it is the function for diverged warps; small: whether to be built quickly counts more than to run
    fast: what is long and frequent is then called; wide: whether vectors have 512 bits; features: those of the CPU;
    checked: whether there are checks besides memcheck."""

    program: Program
    rows: Rows
    uniform: list[bool]
    affine: dict[int, Form]
    alive: list[int]
    diverged: bool = False
    small: bool = False
    wide: bool = True
    features: str = ""
    checked: bool = False


class Function:
    """The function `name` ("converged" or "diverged") of a program."""

    def __init__(self, build: Build) -> None:
        program, affine = build.program, build.affine
        self.program, self.uniform, self.alive, self.affine = program, build.uniform, build.alive, affine
        self.rows, self.checked = build.rows, build.checked
        self.diverged, self.small, self.wide, self.features = build.diverged, build.small, build.wide, build.features
        self.name = "diverged" if build.diverged else "converged"
        self.scalars = [same or r in affine for r, same in enumerate(build.uniform)]
        """Which registers the function for converged warps keeps as scalars."""
        self.file = file = RegisterFile(program, build.uniform, affine)
        self.instruments: list[Instrument] = []
        self.by_warpgroup = False
        """Whether executions are counted for each warpgroup."""
        self.code = program.codes[0]
        """The instruction that is being emitted."""
        self._scalar_bits = bit_set([r for r, at in enumerate(file.scalar) if at])
        """The registers that are kept as scalars, a bit set."""
        self.words: list[str] = []
        """Names of i32 of the function's own."""
        self.constants: list[str] = []
        self._shared: dict[tuple[object, ...], str] = {}
        self._scalar_tables: dict[int, tuple[str, int]] = {0: ("null", 0)}
        self.helpers: dict[str, str] = {}
        """Functions that the function calls, by name."""
        self.t = Text()

    def of_warpgroup(self, all_: str, each: int, warp: str = "%ws") -> str:
        """A pointer to the part of a warp's warpgroup of `Executions`, of which each has so many."""
        number = self.t.get(S.Warp, "warp_id", warp)
        group = self.t.zext("i32", self.t.lshr("i32", number, S.LOG_WARPGROUP), "i64")
        return f"getelementptr [{each * S.Executions.size} x i8], ptr {all_}, i64 {group}"

    def executions(self, block: int, counts: str = "%counts") -> str:
        """A pointer to how often a block has run. counts: where those of the warp begin."""
        return self.t.offset(counts, S.Executions.size * block)

    def held(self, record: type[Record], field: str, kind: str, name: str = "") -> None:
        """Loads a field when the function begins, as `%field`; underscores become dots."""
        name = name or field.replace("_", ".")
        self.t.offset(HELD[record], record.offset(field), f"%{name}.p")
        self.t.load(kind, f"%{name}.p", name=f"%{name}")

    # -- constants -----------------------------------------------------------------------------------------------------

    def constant(self, hint: str, type_: str, values: Iterable[int], *, align: str = "", shared: bool = False) -> str:
        """A constant table in memory. shared: it may be merged with an equal one."""
        key = hint, type_, tuple(values), align
        if shared and key in self._shared:
            return self._shared[key]
        listed = [f"{type_} {x}" for x in key[2]]
        text = f"internal constant [{len(listed)} x {type_}] [{', '.join(listed)}]{align}"
        name = f"@{hint}.{self.name}.{len(self.constants)}"
        self.constants.append(f"{name} = {text}")
        if shared:
            self._shared[key] = name
        return name

    def scalar_table(self, registers: int) -> tuple[str, int]:
        """A constant table of the uniform and affine registers among a bit set, and how many these are; after it the
        constants of the affine ones."""
        wanted = registers & self._scalar_bits
        if wanted in self._scalar_tables:
            return self._scalar_tables[wanted]
        listed = numbers(wanted)
        rows, constants, begin = [], dict[tuple[int, ...], int](), ScalarRegister.size * len(listed)

        def at(steps: tuple[int, ...]) -> int:
            return begin + 8 * W * constants.setdefault(steps, len(constants))

        for r in listed:
            form = self.affine.get(r)
            places = self.file.vector[r], self.file.scalar[r], BITS[self.program.registers[r].lane] // 8, r % 64
            if form is None:
                rows.append((*places, 0, 0, 0, 0, 0, 0, 0, 1, 0))
                continue
            scale, low, signed = form.scale % (1 << 64), form.low % (1 << 64), form.extension == "sext"
            times = at(form.times) if form.times else 0
            beyond = at(form.beyond) if form.beyond else 0
            scalars = self.file.inner.get(r, 0), signed, times, self.file.stride.get(r, 0), beyond
            rows.append((*places, at(form.lane_offsets), at(form.steps), *scalars, scale, low))
        table = np.zeros(len(rows), ScalarRegister.dtype)  # the bytes between its fields too
        table[:] = rows
        words = [*table.view(np.int64).tolist(), *itertools.chain.from_iterable(constants)]
        self._scalar_tables[wanted] = found = self.constant("table", "i64", words), len(listed)
        return found

    # -- the program ---------------------------------------------------------------------------------------------------

    def pc(self, block: int) -> int:
        """The program counter of a block's start."""
        return 2 * self.program.blocks[block].first if block >= 0 else 0

    def alive_after(self, block: Block) -> int:
        """The registers that any block after this one may read."""
        alive = 0
        for successor in successors(self.program, block.index):
            alive |= self.alive[successor]
        return alive

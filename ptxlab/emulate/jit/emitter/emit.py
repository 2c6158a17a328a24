"""The emitter of one LLVM function, which runs one warp until it must stop: at a barrier, its end, or a fault.

A program has two of them, made from the same blocks by the same semantics: `fast` for a converged warp and `slow` for a
diverged one (see the modules of those names). They differ in control flow, in where registers are kept and in whether
writes are masked. Each is written by a driver that has an emitter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.affine.forms import Form
from ptxlab.emulate.jit.analysis.analyses import analyses
from ptxlab.emulate.jit.atomics.atomics import Atomics
from ptxlab.emulate.jit.bodies import Bodies, caches
from ptxlab.emulate.jit.bodies.matrices import Matrices
from ptxlab.emulate.jit.bodies.warpgroups import Warpgroups
from ptxlab.emulate.jit.control.warp_loop import CONVENTION, PREDICTED, TURN, TURN_SIGNATURE, WarpLoop
from ptxlab.emulate.jit.emitter import tabled
from ptxlab.emulate.jit.emitter.active_mask import ActiveMask
from ptxlab.emulate.jit.emitter.affine_calls import AffineCalls
from ptxlab.emulate.jit.emitter.execution import Execution
from ptxlab.emulate.jit.emitter.groups import Group, plan_groups
from ptxlab.emulate.jit.emitter.loop_registers import LoopRegisters
from ptxlab.emulate.jit.emitter.machine import LaneMachine
from ptxlab.emulate.jit.emitter.operands import Operands
from ptxlab.emulate.jit.emitter.registers import RegisterFile, Registers
from ptxlab.emulate.jit.emitter.stops import Stops
from ptxlab.emulate.jit.emitter.tabled import Tabled
from ptxlab.emulate.jit.llvm.far_constants import LONG, FarConstants
from ptxlab.emulate.jit.llvm.irtext import HELD, SIGNATURE, Text, W
from ptxlab.emulate.jit.llvm.values import BITS, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.jit.memory.called_access import PLACED
from ptxlab.emulate.jit.memory.neighbours import ROOM, plan_bundles
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.liveness import bit_set, numbers, successors
from ptxlab.emulate.program.model import Block, Code, Program
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.state import ScalarRegister

if TYPE_CHECKING:
    from ptxlab.emulate.jit.checks.checked import Checks
    from ptxlab.emulate.jit.emitter.instrument import Instrument

CUT = 16
"""PTX instructions in a basic block of QUICK code. LLVM's instruction selection and its fast register allocator take
longer per instruction the longer the block is: 16,000 dependent lines in one block take 2.5 times as long."""


class Emitter:
    """What emits the function `name` ("fast" or "slow"): its text and constants, and the parts that write into them."""

    def __init__(
        self, program: Program, uniform: list[bool], affine: dict[int, Form], alive: list[int], file: RegisterFile, *,
        rows: Rows, slow: bool, small: bool, wide: bool, features: str,
        instruments: Callable[[Emitter], list[Instrument]], needless: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self.program, self.uniform, self.alive, self.file = program, uniform, alive, file
        self.affine, self.rows = affine, rows
        self.scalars = [same or r in affine for r, same in enumerate(uniform)]
        """Which registers the fast function keeps as scalars."""
        self.needless = needless
        """The codes that save and restore registers in vain, unless they are counted or traced."""
        self.aligned = {} if slow else analyses(program, rows).aligned
        self.slow, self.name = slow, "slow" if slow else "fast"
        self.wide, self.features = wide, features
        self.small = small
        """Whether to be built quickly counts more than to run fast: what is long and frequent is then called."""
        self.code = program.codes[0]
        """The instruction that is being emitted."""
        self.brief = False
        """Whether a function of few instructions is being emitted (see `segments`)."""
        self.groups: dict[int, Group] = {}
        """The accesses of the block that share a check, by code index."""
        self.uncut = 0
        """PTX instructions in the LLVM basic block so far."""
        own = [code.index for code in program.codes if code.properties.atomic or caches(code)]
        self._own_sites = {index: site for site, index in enumerate(own)}
        """The sites of instructions that are in no group. They are the same in both functions of a program, though one
        may lack blocks: what a site caches holds for accesses of one size only."""
        self.sites = len(own)
        self.sites_of: list[int] = []
        """How many sites there were before each block."""
        self._kept = bit_set([r for r, at in enumerate(file.scalar) if at])
        """The registers that are kept as scalars, a bit set."""
        self.words: list[str] = []
        """Names of i32 of the function's own."""
        self.constants: list[str] = []
        self._shared: dict[tuple[object, ...], str] = {}
        self.helpers: dict[str, str] = {}
        """Functions that the function calls, by name."""
        self._gives: dict[str, str] = {}
        """What those that `helper` has written give."""
        self.t = Text()
        self.far = FarConstants(self.t, self.name) if len(program.codes) > LONG else None
        self.machine = LaneMachine(self)
        self.active = ActiveMask(self)
        self.calls = AffineCalls(self)
        self.registers = Registers(self)
        self.loops = LoopRegisters(self)
        self.operands = Operands(self)
        self.stops = Stops(self)
        self.memory = Memory(self)
        self.atomics = Atomics(self, self.memory)
        self.bodies = Bodies(self, self.memory)
        self.matrices = self.bodies.part(Matrices)
        self.warpgroups = self.bodies.part(Warpgroups)
        self.execution = Execution(self)
        self.checks: Checks | None = None
        """The checks, in a build that has any."""
        self.instruments = instruments(self)
        self.by_warpgroup = any(each.by_warpgroup for each in self.instruments)
        """Whether executions are counted for each warpgroup."""
        in_table = small and len(program.codes) > tabled.LONG and not self.instruments and not file.products
        self.tabled = Tabled(self) if in_table else None

    # -- the function --------------------------------------------------------------------------------------------------

    def function(
        self, block: Callable[[Block], None], dispatch: Callable[[], None], loop: WarpLoop | None = None,
        more: Callable[[], None] | None = None,
    ) -> str:  # fmt: skip
        """The LLVM text of the function, with its constants. `block` emits a basic block, `dispatch` the jump from the
        function's entry to the warp's program counter. loop: that over the warps, if it has one; more: writes what
        other code is needed besides."""
        for each in self.program.blocks:
            self.sites_of.append(self.sites)
            self.plan(each)
            block(each)
        if more is not None:
            more()
        body, self.t.lines = self.t.lines, []
        self.enter()
        self.enter_warp()
        dispatch()
        name = f"i32 @{self.name}" if loop is None else f"internal {CONVENTION}i32 @{TURN}"
        given = f"{SIGNATURE}%ws" if loop is None else TURN_SIGNATURE
        lines = [f"define {name}({given}) nounwind alignstack(64) {PREDICTED} {{", "entry:"]
        lines += [*self.t.lines, *body, "fault:", f"  ret i32 {S.FAULT}", "}"]
        tables = self.constants + (self.far.text() if self.far is not None else [])
        tables += self.tabled.text() if self.tabled is not None else []
        looping = "" if loop is None else loop.function()
        return "\n".join(tables) + "\n" + "\n".join(lines) + "\n" + looping

    def plan(self, block: Block) -> None:
        """The accesses of a block that is next share checks, at sites of their own."""
        self.memory.laid.taken = 0
        self.groups, self.sites = plan_groups(self.program, block.first, block.last, self.sites)
        self.memory.local.plan(block.first, block.last)
        if not self.slow and not self.small:
            self.memory.transfers.bundles = plan_bundles(self.program, block.first, block.last, self.groups)

    def enter(self) -> None:
        """The function's entry: buffers, and fields of the context and the CTA."""
        t = self.t
        for buffer, size in (("addrs", 8 * W), ("placed", PLACED), ("data", 64 * W), ("out", 64 * W)):
            t.do(f"%{buffer} = alloca [{size} x i8], align 64")
        t.do("%mask.p = alloca i32")
        self.matrices.room()
        for word in self.words:
            t.do(f"{word} = alloca i32")
        for place in range(self.memory.transfers.places):
            t.do(f"%bundle{place} = alloca [{ROOM} x i8], align 64")
        self.memory.laid.room()
        for record, field, kind in (
            (S.Context, "params", "ptr"), (S.Context, "sites", "ptr"), (S.Context, "warps", "i64"),
            (S.Cta, "shared", "ptr"), (S.Cta, "shared_size", "i64"),
        ):  # fmt: skip
            self.held(record, field, kind)
        self.held(S.Context, "counts", "ptr", "all.counts" if self.by_warpgroup else "")

    def enter_warp(self) -> None:
        """The entry of a warp: fields of its state."""
        t = self.t
        self.held(S.Warp, "local", "ptr")
        for name, record, field in (
            ("live", S.Warp, "live"), ("wait", S.Warp, "wait"), ("fast.pc", S.Warp, "fast_pc"),
            ("quantum", S.Context, "quantum"), ("carry", S.Warp, "carry"),
            ("pcs", S.Warp, "pc"),
        ):  # fmt: skip
            t.do(f"%{name}.at = getelementptr i8, ptr {HELD[record]}, i64 {record.offset(field)}")
        if self.by_warpgroup:
            t.do(f"%counts = {self.of_warpgroup('%all.counts', len(self.program.blocks))}")
        for instrument in reversed(self.instruments):
            instrument.enters()

    def of_warpgroup(self, all_: str, each: int) -> str:
        """A pointer to the warpgroup's part of `Executions`, of which each has so many."""
        number = self.t.let(f"load i32, ptr {self.t.field(S.Warp, 'warp_id')}")
        group = self.t.let(f"zext i32 {self.t.let(f'lshr i32 {number}, {S.LOG_WARPGROUP}')} to i64")
        return f"getelementptr [{each * S.Executions.size} x i8], ptr {all_}, i64 {group}"

    def held(self, record: type[Record], field: str, kind: str, name: str = "") -> None:
        """Loads a field when the function begins, as `%field`; underscores become dots."""
        name = name or field.replace("_", ".")
        self.t.do(f"%{name}.p = getelementptr i8, ptr {HELD[record]}, i64 {record.offset(field)}")
        self.t.do(f"%{name} = load {kind}, ptr %{name}.p")

    def helper(self, name: str, parameters: str, body: Callable[[], Value | None]) -> str:
        """A function that emitted code calls, written once; the type of its result. Its lanes are `%bits`; `body`
        writes it and gives the result."""
        if name in self._gives:
            return self._gives[name]
        around, here, self.t.lines, self.t.here = self.t.lines, self.t.here, [], f"entry of {name}"
        with self.active.only("%bits"), self.machine.own_splats():
            self.machine.forget_splats()
            self.active.narrow("%bits")
            result = body()
        lines, self.t.lines, self.t.here = self.t.lines, around, here
        kind, last = ("void", "ret void") if result is None else (result.llvm, f"ret {result.llvm} {result.text}")
        head = f"define internal {kind} @{name}({parameters}) noinline nounwind alignstack(64) {{"
        self.helpers[name] = "\n".join([head, *lines, f"  {last}", "}"]) + "\n"
        self._gives[name] = kind
        return kind

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
        kept = numbers(registers & self._kept)
        if not kept:
            return "null", 0
        rows, constants, begin = [], dict[tuple[int, ...], int](), ScalarRegister.size * len(kept)

        def at(steps: tuple[int, ...]) -> int:
            return begin + 8 * W * constants.setdefault(steps, len(constants))

        for r in kept:
            form = self.affine.get(r)
            places = self.file.vector[r], self.file.scalar[r], BITS[self.program.registers[r].lane] // 8, r % 64
            if form is None:
                rows.append((*places, 0, 0, 0, 0, 0, 0, 1, 0))
                continue
            scale, low, signed = form.scale % (1 << 64), form.low % (1 << 64), form.extension == "sext"
            times = at(form.times) if form.times else 0
            scalars = self.file.inner.get(r, 0), signed, times, self.file.stride.get(r, 0)
            rows.append((*places, at(form.apart), at(form.steps), *scalars, scale, low))
        words = np.array(rows, ScalarRegister.dtype).view(np.uint32).tolist()
        words += np.array(list(constants), np.int64).reshape(-1).view(np.uint32).tolist()
        return self.constant("table", "i32", words), len(kept)

    # -- blocks and instructions ---------------------------------------------------------------------------------------

    def begin(self, bits: str, *, partly: bool = False) -> None:
        """At a label: only the lanes that run are known. partly: not all lanes of a converged warp."""
        self.uncut = 0
        self.registers.begin()
        self.matrices.wide.begin()
        self.memory.sites.mixed.clear()
        self.memory.local.begin()
        self.machine.forget_splats()
        self.active.begin(bits, partly=partly or self.slow)
        for instrument in reversed(self.instruments):
            instrument.begins()

    def instruction(self, code: Code) -> None:
        """An instruction is next: its line as a comment, its guard applied."""
        self.matrices.late.before(code)
        self.code = code
        if self.tabled is not None and self.tabled.has(code):
            return
        if self.small and self.uncut == CUT:
            self.uncut = 0
            label = self.t.label("cut")
            self.t.go(label)
            self.t.at(label)
        self.uncut += 1
        self.t.do(f"; {code.line}: {code.form.opcode}")
        self.active.guarded(code)
        for instrument in reversed(self.instruments):
            instrument.guarded(code)

    def count(self, block: Block, bits: str) -> None:
        """Executions of this block, by warps and by threads; and the quantum."""
        t = self.t
        executions = self.executions(block.index)
        t.bump(t.field(S.Executions, "warps", executions), "add i64", "1")
        lanes = self.active.count(bits)
        t.bump(t.field(S.Executions, "threads", executions), "add i64", lanes)
        t.bump("%quantum.at", "sub i64", str(block.last - block.first))
        self.counted(block)

    def counted(self, block: Block) -> None:
        """A block has been counted."""
        t = self.t
        if block.index in self.program.exits:  # a block that only ends threads: the warp has now been counted for it
            others = ~(1 << self.program.exits.index(block.index))
            t.bump(t.field(S.Warp, "ended"), "and i32", str(others))

    def executions(self, block: int) -> str:
        """A pointer to how often a block has run."""
        return self.t.let(f"getelementptr i8, ptr %counts, i64 {S.Executions.size * block}")

    def own_site(self) -> str:
        """A pointer to the site of an atomic operation or a copy, which caches the allocation that it found last."""
        return self.t.let(f"getelementptr i8, ptr %sites, i64 {self._own_sites[self.code.index] * S.Site.size}")

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

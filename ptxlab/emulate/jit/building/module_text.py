"""The LLVM module of one of a program's functions: the emitter with its instruments at work.

Imported only when code has to be built: the emitter is most of the JIT, and a process that finds its code in the cache
does without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.analysis.affine_registers import analyses
from ptxlab.emulate.jit.bodies.body import Bodies, Body
from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.converged_function import ConvergedFunction
from ptxlab.emulate.jit.emitter.access_groups import sites_of
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.function import RegisterFacts
from ptxlab.emulate.jit.emitter.instrument import After, Instrument
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.llvm.values import BITS
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.jit.translation.rule_calls import Function, call
from ptxlab.emulate.language.rules import rule_of
from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.block_start import clear_registers
from ptxlab.emulate.rules.half_conversions import narrowed, widened
from ptxlab.emulate.rules.warpgroup_products import Products

_ALWAYS = """!0 = !{!"branch_weights", i32 2000, i32 1}
declare i32 @llvm.cttz.i32(i32, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


class ModuleText(NamedTuple):
    """The LLVM module of a program's function for converged or diverged warps."""

    text: str
    state_size: int
    """Bytes of a warp's state."""
    sites: int
    """How many accesses it has."""
    declared: set[str]
    """The lines that declare what it calls, rules among them."""
    clears: bool
    """Whether warps begin with registers that must be cleared."""


def module_text(
    program: Program,
    cpu: Cpu,
    instruments: Instruments,
    rows: Rows,
    *,
    diverged: bool,
    small: bool,
    only: frozenset[int] | None = None,
) -> ModuleText:
    """The module of one of a program's two functions. rows: how threads lie in a block. small: short text that is
    built quickly, rather than fast code. only: the blocks that it has, if not all."""
    found = analyses(program, rows)
    facts = RegisterFacts(found.uniform, found.affine, found.alive)
    e = Emitter(program, rows, facts, diverged=diverged, small=small, features=cpu.features)
    blocks = Blocks(e, lambda blocks: observers(instruments, blocks))
    if diverged:  # in a short launch no warp is
        from ptxlab.emulate.jit.control.diverged_function import DivergedFunction

        function = DivergedFunction(blocks, only).function()
    else:
        function = ConvergedFunction(blocks).function()
    at_start = _read_before_written(program, e, found.alive[program.entry], found.uniform)
    clears = bool(at_start) or e.ops.carries  # nor may a carry be an earlier warp's
    more, declared = list[str](), e.t.declared
    if cpu.without_halves and any(" half" in part for part in (*declared, *e.helpers.values(), function)):
        more += [_conversion(declared, *each) for each in (_WIDENED, _NARROWED)]
    if not diverged:
        more.append(_clear_registers(at_start))
    lines = sorted(declared - set(_ALWAYS.splitlines()))
    text = "\n".join([_ALWAYS, *lines, *e.helpers.values(), function, *more])
    return ModuleText(text, e.registers.file.size, len(sites_of(program)), declared, clears)


def _read_before_written(program: Program, e: Emitter, alive: int, uniform: Sequence[bool]) -> list[tuple[int, int]]:
    """Registers that may be read before they are written, and begin as zeros: their places in a warp's state, and
    bytes. alive: a mask of those that are read later when the kernel begins."""
    registers = [r for r in range(len(program.registers)) if alive >> r & 1]
    sizes = {r: 4 if program.registers[r].lane == "i1" else 4 * BITS[program.registers[r].lane] for r in registers}
    found = [(e.registers.file.vector[r], sizes[r]) for r in registers]
    found += [(e.registers.file.scalar[r], 8) for r in registers if uniform[r]]
    if e.registers.file.products:
        found.append((e.registers.file.products, Products.offset("entries")))
    return found


_WIDENED = "float", "__extendhfsf2", widened, "half", "i16", "i32"
_NARROWED = "half", "__truncsfhf2", narrowed, "float", "i32", "i16"


def _conversion(declared: set[str], result: str, name: str, rule: Function, given: str, bits: str, found: str) -> str:
    """A function that LLVM calls to convert halves on x86 CPUs without an instruction for it, under LLVM's name."""
    t = Text()
    t.ret(result, t.bitcast(found, t.let(call(rule, t.bitcast(given, "%a", bits))), result))
    declared |= t.declared
    return t.function(f"{result} @{name}({given} %a)", "noinline nounwind", linkage="")


def _clear_registers(registers: list[tuple[int, int]]) -> str:
    """The function that the scheduler calls for each warp that begins, to clear these registers."""
    t = Text()
    for offset, size in registers:
        t.fill(t.offset("%ws", offset), 0, size)
    t.ret()
    return t.function(f"void @{rule_of(clear_registers).symbol}(ptr %ws)", "nounwind", linkage="")


class BodyHooks(Instrument):
    """Counts or checks instructions that have a body, as the body says (see `bodies.body`)."""

    def __init__(self, bodies: Bodies, observe: Callable[[Body, Code], After | None]) -> None:
        self.bodies, self.observe = bodies, observe

    def before(self, code: Code) -> After | None:
        body = self.bodies.of(code)
        return None if body is None else self.observe(body, code)


def observers(instruments: Instruments, blocks: Blocks) -> list[Instrument]:
    """A function's instruments, in the order of their hooks. Most builds have none, and do not load their modules."""
    e, out = blocks.e, list[Instrument]()
    if instruments.trace and e.diverged:
        from ptxlab.emulate.jit.instruments.tracing import Tracing

        out.append(Tracing(e))
    if instruments.counters:
        from ptxlab.emulate.jit.instruments.counting import Counting

        counting = Counting(e, blocks.memory)
        out += [counting, BodyHooks(blocks.bodies, lambda body, code: body.count(code, counting))]
    if instruments.checks:
        from ptxlab.emulate.jit.checks.accesses import CheckedAccesses
        from ptxlab.emulate.jit.checks.check_instrument import Checks
        from ptxlab.emulate.jit.checks.registers import CheckedLocal, CheckedRegisters
        from ptxlab.emulate.jit.checks.synchronization import CheckedControl

        checks = Checks(e, instruments.checks, blocks.memory)
        of_bodies = BodyHooks(blocks.bodies, lambda body, code: body.check(code, checks))
        out += [CheckedControl(e, checks), of_bodies, CheckedAccesses(e, checks, blocks.memory)]
        out += [CheckedLocal(e, checks), CheckedRegisters(e, checks)]
    return out

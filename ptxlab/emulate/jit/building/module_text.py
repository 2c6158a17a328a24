"""The LLVM module of one of a program's functions: the emitter with its instruments at work.

Imported only where nothing was recalled from the cache on disk: the emitter is most of this engine, and a new process
does without it where its code is known.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.analysis.affine_registers import analyses
from ptxlab.emulate.jit.building.linked_rules import linked
from ptxlab.emulate.jit.building.observers import observers
from ptxlab.emulate.jit.control.blocks import Blocks
from ptxlab.emulate.jit.control.converged_function import ConvergedFunction
from ptxlab.emulate.jit.emitter.access_groups import sites_of
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.function import Build
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.llvm.values import BITS
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.jit.translation.rule_calls import call, declaration
from ptxlab.emulate.language.rules import rule_of
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
    """The LLVM module of a program's function for converged or diverged warps, the size of a warp's state, the number
    of access sites, the symbols of the rules that it calls, and whether warps begin with registers that must be
    cleared."""

    text: str
    state_size: int
    sites: int
    rules: tuple[str, ...]
    clears: bool


def module_text(
    program: Program,
    cpu: Cpu,
    instruments: Instruments,
    rows: Rows | None = None,
    *,
    diverged: bool,
    small: bool,
    only: frozenset[int] | None = None,
) -> ModuleText:
    """The module of one of a program's two functions. rows: how threads lie in a block. small: rather short, and so
    built quickly, than fast. only: the blocks that it has, if not all."""
    rows = rows or Rows()
    found = analyses(program, rows)
    build = Build(
        program,
        rows,
        found.uniform,
        found.affine,
        found.alive,
        diverged=diverged,
        small=small,
        wide=cpu.wide,
        features=cpu.features,
        checked=bool(instruments.checks),
    )
    e = Emitter(build)
    blocks = Blocks(e, lambda blocks: observers(instruments, blocks))
    if diverged:
        from ptxlab.emulate.jit.control.diverged_function import (
            DivergedFunction,  # here, as in a short launch no warp diverges
        )

        function = DivergedFunction(blocks, only).function()
    else:
        function = ConvergedFunction(blocks).function()
    file, alive, uniform = e.file, found.alive, found.uniform
    at_start = [
        (file.vector[r], 4 if register.lane == "i1" else 4 * BITS[register.lane])
        for r, register in enumerate(program.registers)
        if alive[program.entry] >> r & 1
    ]
    at_start += [
        (file.scalar[r], 8) for r in range(len(program.registers)) if alive[program.entry] >> r & 1 and uniform[r]
    ]
    if file.products:
        at_start.append((file.products, Products.offset("entries")))
    clears = bool(at_start) or e.machine.carries  # nor may a carry be an earlier warp's
    lines = [function]
    if cpu.without_halves and any(" half" in part for part in (*e.t.declared, *e.helpers.values(), function)):
        lines.append(_conversions())
        e.t.declared |= {declaration(widened), declaration(narrowed)}
    if not diverged:
        lines.append(_clear_registers(at_start))
    declared = sorted(e.t.declared - set(_ALWAYS.splitlines()))
    text = "\n".join([_ALWAYS, *declared, *e.helpers.values(), *lines])
    rules = tuple(rule_of(f).symbol for f in linked(program, instruments) if declaration(f) in e.t.declared)
    return ModuleText(text, file.size, len(sites_of(program)), rules, clears)


def _conversions() -> str:
    """The functions that LLVM calls to convert halves on x86 CPUs without an instruction for it, under its names."""
    return f"""define float @__extendhfsf2(half %a) noinline nounwind {{
  %bits = bitcast half %a to i16
  %wide = {call(widened, "%bits")}
  %d = bitcast i32 %wide to float
  ret float %d
}}
define half @__truncsfhf2(float %a) noinline nounwind {{
  %bits = bitcast float %a to i32
  %narrow = {call(narrowed, "%bits")}
  %d = bitcast i16 %narrow to half
  ret half %d
}}
"""


def _clear_registers(registers: list[tuple[int, int]]) -> str:
    """The function that the scheduler calls for each warp that begins: registers that may be read before they are
    written, given as (offset, bytes), start as zeros."""
    lines = [f"define void @{rule_of(clear_registers).symbol}(ptr %ws) nounwind {{"]
    for k, (offset, size) in enumerate(registers):
        lines += [
            f"  %r{k} = getelementptr i8, ptr %ws, i64 {offset}",
            f"  call void @llvm.memset.p0.i64(ptr %r{k}, i8 0, i64 {size}, i1 false)",
        ]
    return "\n".join([*lines, "  ret void", "}"])

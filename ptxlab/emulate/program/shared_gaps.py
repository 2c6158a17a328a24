"""Gaps between the arrays of shared memory, so that initcheck sees an access that runs from one into the next.

Shared variables are separate objects: the assembler may place them in any order and at any distance. A program that may
depend on their places all the same gets no gaps. A gap is a multiple of 128 bytes, which moves no address to another
bank.
"""

from __future__ import annotations

from ptxlab import targets
from ptxlab.emulate.program.flat_program import Group, Mem, Source, Special, Symbol
from ptxlab.emulate.program.kernel_lowering import KernelLowering
from ptxlab.emulate.program.program import Program
from ptxlab.text import Module

GAPS = (1024, 128)
"""Bytes of a gap, the largest first: the first that fits the target is taken."""


def spread(module: Module, entry: str | None, arch: str | None) -> Program:
    """The program with gaps, or without where it may depend on where its arrays lie."""
    plain = KernelLowering(module, entry, arch)
    program = plain.program()
    dynamic = {v.name for v in plain.extern_shared}
    if len(program.shared_names) + bool(dynamic) < 2 or not _by_name_alone(program, dynamic):
        return program
    target = targets.TARGETS.get(program.arch.rstrip("af"))
    most = targets.STATIC_SHARED if target is None else target.static_shared
    if target is not None and program.shared_static > most:
        most = target.optin_shared
    for gap in GAPS:
        spaced = KernelLowering(module, entry, arch, shared_gap=gap).program()
        if spaced.shared_static <= most:
            return spaced
    return program


def _by_name_alone(program: Program, dynamic: set[str]) -> bool:
    """Whether each array is accessed by its own name only, and its place cannot be found otherwise. dynamic: the names
    of dynamic shared memory."""
    named: set[tuple[str, int, int]] = set()
    for code in program.codes:
        for source in code.sources:
            for symbol, offset in _symbols(source):
                if symbol.name in dynamic and symbol.value + offset >= program.dynamic_start:
                    continue
                held = [
                    v for v in program.shared_names if v[0] == symbol.name and 0 <= symbol.value + offset - v[1] <= v[2]
                ]
                if not held:
                    return False
                named.update(held)
            if isinstance(source, Special) and source.name in ("%total_smem_size", "%aggr_smem_size"):
                return False
    return named >= set(program.shared_names)


def _symbols(source: Source | None) -> list[tuple[Symbol, int]]:
    """The shared variables that an operand names, and what it adds to their addresses."""
    if isinstance(source, Symbol) and source.space == "shared":
        return [(source, 0)]
    if isinstance(source, Mem) and isinstance(source.base, Symbol) and source.base.space == "shared":
        return [(source.base, source.offset)]
    if isinstance(source, Group):
        return [found for element in source.elements for found in _symbols(element)]
    return []

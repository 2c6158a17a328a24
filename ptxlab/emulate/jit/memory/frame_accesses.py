"""Accesses of local memory at constant offsets from one register, as of a frame on the stack: they share a check."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.jit.emitter.access_groups import access_shape
from ptxlab.emulate.jit.memory.local_rows import Depths
from ptxlab.emulate.program.flat_program import Mem, Reg
from ptxlab.emulate.program.liveness import writes
from ptxlab.emulate.program.program import Program


@dataclass(eq=False, repr=False)
class Span:
    """Accesses of a block at constant offsets from one register: the lowest of their bytes, the one after the highest,
    what the register must be a multiple of. `fine`: whether all of them are valid (an i1), once that is known, and then
    where they lie."""

    low: int
    high: int
    align: int
    count: int = 1
    fine: str = ""
    depths: Depths | None = None


def plan_spans(program: Program, first: int, last: int) -> dict[int, Span]:
    """The spans of the codes of a block, by code index: those that have several accesses."""
    versions: dict[int, int] = {}
    spans: dict[tuple[int, int], Span] = {}
    found: dict[int, Span] = {}
    for code in program.codes[first:last]:
        if code.properties.plain and code.space in ("local", "frame"):
            mem = next(s for s in code.sources if isinstance(s, Mem))
            size = access_shape(code)[2]
            if isinstance(mem.base, Reg) and mem.offset % size == 0:
                key = mem.base.index, versions.get(mem.base.index, 0)
                span = spans.setdefault(key, Span(mem.offset, mem.offset + size, size, 0))
                span.low, span.high = min(span.low, mem.offset), max(span.high, mem.offset + size)
                span.align, span.count = max(span.align, size), span.count + 1
                found[code.index] = span
        for r in writes(code):
            versions[r] = versions.get(r, 0) + 1
    return {index: span for index, span in found.items() if span.count > 1}

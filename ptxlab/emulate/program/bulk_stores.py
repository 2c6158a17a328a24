"""`st.bulk`: a loop of ordinary stores, so that engines, checks, counters and traces need not know of it.

The instruction itself stays, without an effect: it is the one that is counted. The stores after it are added by
lowering, eight bytes for each lane in each round; their bytes are counted as the instruction's.
"""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Code, Literal, Mem, Reg
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.isa import types

EACH = 8
"""Bytes of a store; the size is a multiple of it."""
MOST = 16_777_216
"""The largest size (PTX ISA, st.bulk)."""


def fill(low: Lowering, code: Code) -> None:
    """Emits the loop of a fill, `code`, whose operands have been resolved."""
    mem, size, value = code.sources
    assert isinstance(mem, Mem)
    assert isinstance(value, Literal)
    line, opcode = code.line, code.form.opcode
    if value.value != 0:
        raise low.error(f"{opcode} stores zeros: write 0, found {value.value}", line)
    if isinstance(size, Literal) and (int(size.value) % EACH or not 0 <= int(size.value) <= MOST):
        what = f"the size is a multiple of {EACH} up to {MOST}, found {size.value}"
        raise low.error(f"{opcode}: {what}", line)
    behind = low.branch_around(code.guard, line) if code.guard else ""
    at, end = low.register("%at", "b64", ""), low.register("%end", "b64", "")
    _address(low, at, mem, code)
    if isinstance(size, Reg):
        _check(low, size, opcode, line)
    low.op("add.u64", (end,), (at, size), line)
    again, done = low.new_label(), low.new_label()
    _branch_if(low, "ge", at, end, done, line)
    low.place_label(again)
    store = low.op("st.shared.b64", (), (Mem(at, 0), Literal(0)), line)
    store.part_of = code.instruction
    low.op("add.u64", (at,), (at, Literal(EACH)), line)
    _branch_if(low, "lt", at, end, again, line)
    low.place_label(done)
    if behind:
        low.place_label(behind)


def _address(low: Lowering, at: Reg, mem: Mem, code: Code) -> None:
    """Where in shared memory a fill begins, in 64 bits."""
    base, line = mem.base, code.line
    if isinstance(base, Reg) and types.width(low.registers[base.index].type) == 32:
        low.op("cvt.u64.u32", (at,), (base,), line)
    else:
        low.op("mov.b64", (at,), (base,), line)
    if mem.offset:
        low.op("add.s64", (at,), (at, Literal(mem.offset)), line)
    if code.space == "generic":
        low.op("cvta.to.shared.u64", (at,), (at,), line)


def _check(low: Lowering, size: Reg, opcode: str, line: int) -> None:
    """A size that is not allowed stops the kernel."""
    rest, wrong = low.register("%rest", "b64", ""), low.register("%wrong", "pred", "")
    in_range, bad = low.new_label(), low.new_label()
    low.op("and.b64", (rest,), (size, Literal(EACH - 1)), line)
    low.op("setp.ne.u64", (wrong, None), (rest, Literal(0)), line)
    low.branch(bad, line, (wrong.index, False))
    _branch_if(low, "le", size, Literal(MOST), in_range, line)
    low.place_label(bad)
    low.op("trap", (), (), line).reason = f"{opcode}: the size is not a multiple of {EACH} up to {MOST}"
    low.place_label(in_range)


def _branch_if(low: Lowering, comparison: str, a: Reg, b: Reg | Literal, label: str, line: int) -> None:
    """A branch to a label where an unsigned comparison holds."""
    holds = low.register("%holds", "pred", "")
    low.op(f"setp.{comparison}.u64", (holds, None), (a, b), line)
    low.branch(label, line, (holds.index, False))

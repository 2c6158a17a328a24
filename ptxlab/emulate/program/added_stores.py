"""`st.bulk`, `tensormap.replace` and `tensormap.cp_fenceproxy`: ordinary loads and stores, which lowering adds.

The instructions themselves stay, without an effect: they are the ones that are counted. What moves bytes stands after
them, so that engines, checks, counters and traces need not know of them.
"""

from __future__ import annotations

from ptxlab.emulate.language import ALL_LANES
from ptxlab.emulate.program.flat_program import Code, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.isa import types
from ptxlab.isa.tensor_map import BYTES, FIELDS, FILLS, INTERLEAVES, SWIZZLES, TYPES, Bits, pieces

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
    with low.guarded(code.guard, line):
        at, end = low.register("%at", "b64"), low.register("%end", "b64")
        _widen(low, at, mem.base, line)
        if mem.offset:
            low.op("add.s64", (at,), (at, Literal(mem.offset)), line)
        if code.space == "generic":
            low.op("cvta.to.shared.u64", (at,), (at,), line)
        if isinstance(size, Reg):
            _check(low, size, opcode, line)
        low.op("add.u64", (end,), (at, size), line)
        again, done = low.new_label(), low.new_label()
        _branch_if(low, "ge", at, end, done, line)
        low.place_label(again)
        low.op("st.shared.b64", (), (Mem(at, 0), Literal(0)), line).part_of = code.instruction
        low.op("add.u64", (at,), (at, Literal(EACH)), line)
        _branch_if(low, "lt", at, end, again, line)
        low.place_label(done)


def _widen(low: Lowering, at: Reg, base: Reg | Symbol | Literal, line: int) -> None:
    narrow = isinstance(base, Reg) and types.width(low.registers[base.index].type) == 32
    low.op("cvt.u64.u32" if narrow else "mov.b64", (at,), (base,), line)


def _check(low: Lowering, size: Reg, opcode: str, line: int) -> None:
    rest, wrong = low.register("%rest", "b64"), low.register("%wrong", "pred")
    right, bad = low.new_label(), low.new_label()
    low.op("and.b64", (rest,), (size, Literal(EACH - 1)), line)
    low.op("setp.ne.u64", (wrong, None), (rest, Literal(0)), line)
    low.branch(bad, line, (wrong.index, False))
    _branch_if(low, "le", size, Literal(MOST), right, line)
    low.place_label(bad)
    low.op("trap", (), (), line).reason = f"{opcode}: the size is not a multiple of {EACH} up to {MOST}"
    low.place_label(right)


def _branch_if(low: Lowering, comparison: str, a: Reg, b: Reg | Literal, label: str, line: int) -> None:
    """A branch to a label where an unsigned comparison holds."""
    holds = low.register("%holds", "pred")
    low.op(f"setp.{comparison}.u64", (holds, None), (a, b), line)
    low.branch(label, line, (holds.index, False))


MODES = {"elemtype": TYPES, "interleave_layout": INTERLEAVES, "swizzle_mode": SWIZZLES, "fill_mode": FILLS}
"""Fields whose values are numbered."""


def replace_field(low: Lowering, code: Code) -> None:
    """Emits what `tensormap.replace`, whose operands have been resolved, does to the map."""
    field, line = str(code.form.field), code.line
    mem, value = code.sources[0], code.sources[-1]
    assert isinstance(mem, Mem)
    ordinal = code.sources[1] if len(code.sources) > 2 else Literal(0)
    assert isinstance(ordinal, Literal)
    most = len(FIELDS[field]) - 1
    if not 0 <= ordinal.value <= most:
        raise low.error(f"{code.form.opcode}: .{field} has the ordinals 0 to {most}, found {ordinal.value}", line)
    if field in MODES:
        assert isinstance(value, Literal)
        if not 0 <= value.value < len(MODES[field]):
            what = f"the emulator does not execute {code.form.opcode} with the {field} {value.value} yet"
            assert code.instruction is not None
            raise low.unsupported(code.instruction, what, length=len(code.form.opcode))
    with low.guarded(code.guard, line):
        if isinstance(value, Literal) and field in MODES:
            for bits, stored in pieces(field, 0, int(value.value)):
                _insert(low, code, mem, bits, Literal(stored))
        else:
            for bits, _ in pieces(field, int(ordinal.value), 0):
                known = bits in FIELDS[field][int(ordinal.value)]
                _insert(low, code, mem, bits, _stored(low, code, value, bits) if known else Literal(0))


def _stored(low: Lowering, code: Code, value: Source | None, bits: Bits) -> Source:
    """What some bits hold of a field's value."""
    line, type_ = code.line, str(code.form.type)
    now = low.register("%value", type_)
    low.op(f"mov.{type_}", (now,), (value,), line)
    if bits.less:
        low.op(f"sub.u{type_[1:]}", (now,), (now, Literal(bits.less)), line)
    if bits.skip:
        low.op(f"shr.{type_}", (now,), (now, Literal(bits.skip)), line)
    if type_ == "b32" or bits.width == 64:
        return now
    low32 = low.register("%low", "b32")
    low.op("cvt.u32.u64", (low32,), (now,), line)
    return low32


def _insert(low: Lowering, code: Code, mem: Mem, bits: Bits, stored: Source) -> None:
    """Stores some bits, and leaves those beside them as they are."""
    space = {"global": ".global", "shared::cta": ".shared"}.get(str(code.form.space), "")
    word, line = max(bits.width, 32), code.line
    place = Mem(mem.base, mem.offset + bits.at // 32 * 4)
    if bits.width < 32:
        old = low.register("%old", "b32")
        low.op(f"ld{space}.b32", (old,), (place,), line).part_of = code.instruction
        low.op("bfi.b32", (old,), (stored, old, Literal(bits.at % 32), Literal(bits.width)), line)
        stored = old
    low.op(f"st{space}.b{word}", (), (place, stored), line).part_of = code.instruction


def copy_map(low: Lowering, code: Code) -> None:
    """Emits what `tensormap.cp_fenceproxy` does: each lane copies four of the 128 bytes, and a fence follows."""
    to, source, size = code.sources
    assert isinstance(to, Mem)
    assert isinstance(source, Mem)
    assert isinstance(size, Literal)
    line, opcode = code.line, code.form.opcode
    if size.value != BYTES:
        raise low.error(f"{opcode}: a tensor map has {BYTES} bytes: write {BYTES}, found {size.value}", line)
    with low.guarded(code.guard, line):  # other warps do not take part
        low.op("bar.warp.sync", (), (Literal(ALL_LANES),), line)
        offset, word = low.register("%offset", "b64"), low.register("%word", "b32")
        lane = low.register("%lane", "b32")
        low.op("mov.u32", (lane,), (Special("%laneid"),), line)
        low.op("mul.wide.u32", (offset,), (lane, Literal(BYTES // LANES)), line)
        load = low.op("ld.shared.b32", (word,), (_added(low, source, offset, line),), line)
        store = low.op("st.relaxed.gpu.global.b32", (), (_added(low, to, offset, line), word), line)
        load.part_of = store.part_of = code.instruction
        low.op(f"fence.proxy.tensormap::generic.release.{code.form.scope}", (), (), line)


def _added(low: Lowering, mem: Mem, offset: Reg, line: int) -> Mem:
    at = low.register("%at", "b64")
    _widen(low, at, mem.base, line)
    low.op("add.u64", (at,), (at, offset), line)
    return Mem(at, mem.offset)

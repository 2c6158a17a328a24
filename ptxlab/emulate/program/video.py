"""Video instructions as ordinary ones: extract parts of words, compute in 64 bits, saturate, insert the results.

The steps and their names are those of the manual's pseudocode (PTX ISA, "Scalar Video Instructions").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptxlab.emulate.program.flat_program import Literal, Reg, Source, Special
from ptxlab.emulate.program.lowering import Guard, Lowering, lower_text
from ptxlab.emulate.program.scopes import Scope
from ptxlab.isa.table import Form
from ptxlab.text import model

SELECTOR = re.compile(r"(.+)\.([bh][0-7]{1,4})")


@dataclass(frozen=True)
class _Operand:
    """An operand: its register, its selector ("" for none), whether a minus stands before it."""

    name: model.Operand
    selector: str
    minus: bool


def lower_video(low: Lowering, instruction: model.Instruction, found: Form, guard: Guard, scope: Scope) -> None:
    """Emits a video instruction, which is counted but has no effect, and the instructions that compute."""
    line = instruction.line
    low.emit(instruction.name, found, line, guard).instruction = instruction
    with low.guarded(guard, line):
        operands = [_operand(operand) for operand in instruction.operands]
        names: dict[str, Source] = {}
        for letter, each in zip("dabc", operands, strict=False):
            source = low.operand(each.name, scope, line)
            if letter != "d" and isinstance(source, Literal | Special):
                held = low.register("%given", "b32")
                low.op("mov.b32", (held,), (source,), line)
                source = held
            if not isinstance(source, Reg):
                raise low.error(f"{found.opcode} takes registers of 32 bits, found {each.name}", line)
            names[f"%{letter}"] = source
        text = (_side_by_side if found.count else _scalar)(low, found, operands, line)
        lower_text(low, text, instruction, scope.routine, names)


def _operand(operand: model.Operand) -> _Operand:
    minus = isinstance(operand, model.Sum) and operand.scale < 0
    if isinstance(operand, model.Sum):
        operand = operand.base
    selected = SELECTOR.fullmatch(operand.text) if isinstance(operand, model.Name) else None
    if selected is None:
        return _Operand(operand, "", minus)
    return _Operand(model.Name(selected[1]), selected[2], minus)


def _taken(into: str, word: str, selector: str, type_: str) -> str:
    """A byte, half-word or word as 64 bits."""
    wide = f"{type_[0]}64"
    if not selector:
        return f"cvt.{wide}.{type_} {into}, {word};\n"
    bits, at = (8, 8 * int(selector[1])) if selector[0] == "b" else (16, 16 * int(selector[1]))
    return f"bfe.{type_} %w, {word}, {at}, {bits};\ncvt.{wide}.{type_} {into}, %w;\n"


def _clamped(value: str, type_: str, bits: int, signed64: str = "s64") -> str:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)
    least = f"max.{signed64} {value}, {value}, {low};\n" if signed64 == "s64" else ""
    return f"{least}min.{signed64} {value}, {value}, {high};\n"


_COMPUTED = {
    "vadd": "add.s64 %t, %x, %y;\n",
    "vsub": "sub.s64 %t, %x, %y;\n",
    "vabsdiff": "sub.s64 %t, %x, %y;\nabs.s64 %t, %t;\n",
    "vmin": "min.s64 %t, %x, %y;\n",
    "vmax": "max.s64 %t, %x, %y;\n",
    "vavrg": "add.s64 %t, %x, %y;\nsetp.ge.s64 %p, %t, 0;\n@%p add.s64 %t, %t, 1;\nshr.s64 %t, %t, 1;\n",
    "vshl": "shl.b64 %t, %x, %w;\n",
    "vshr": "shr.s64 %t, %x, %w;\n",
}
_REGISTERS = ".reg .b32 %w, %r, %e; .reg .b64 %x, %y, %t, %z; .reg .pred %p;\n"


def _compute(found: Form) -> str:
    operation = found.op.name.rstrip("24")  # `vadd` of `vadd4`
    if operation == "vset":
        return f"setp.{found.cmp}.s64 %p, %x, %y;\nselp.b64 %t, 1, 0, %p;\n"
    if operation in ("vshl", "vshr"):
        amount = "and.b32 %w, %w, 31;\n" if found.mode == "wrap" else "min.u32 %w, %w, 32;\n"
        return "cvt.u32.u64 %w, %y;\n" + amount + _COMPUTED[operation]
    return _COMPUTED[operation]


def _scalar(low: Lowering, found: Form, operands: list[_Operand], line: int) -> str:
    d, a, b, *rest = operands
    for each in (d, a, b, *rest):
        if len(each.selector) > 2 or (each.selector and int(each.selector[1]) > {"b": 3, "h": 1}[each.selector[0]]):
            raise low.error(f"{found.opcode} takes .b0 to .b3, .h0 and .h1, found .{each.selector}", line)
    if bool(d.selector) != bool(rest) and not found.op2 and not found.product:
        raise low.error(f"{found.opcode}: a selector on the result and the operand c belong together", line)
    steps = [_REGISTERS, _taken("%x", "%a", a.selector, str(found.atype))]
    steps.append(_taken("%y", "%b", b.selector, str(found.btype)))
    if found.product:
        return "".join([*steps, _mad(found, *operands)])
    steps.append(_compute(found))
    dtype = str(found.dtype)
    bits = {"b": 8, "h": 16}.get(d.selector[:1], 32)
    if found.sat:
        steps.append(_clamped("%t", dtype, bits))
    steps.append("cvt.u32.u64 %r, %t;\n")
    if found.op2:
        word = "u32" if found.op2 == "add" else dtype
        steps.append(f"{found.op2}.{word} %d, %r, %c;\n")
    elif d.selector:
        steps.append(f"bfi.b32 %d, %r, %c, {bits * int(d.selector[1])}, {bits};\n")
    else:
        steps.append("mov.b32 %d, %r;\n")
    return "".join(steps)


def _mad(found: Form, d: _Operand, a: _Operand, b: _Operand, c: _Operand) -> str:
    """The product of %x and %y and %c, in 128 bits (%z above %t)."""
    negated = a.minus != b.minus
    signed = found.atype == "s32" or found.btype == "s32" or negated or c.minus
    add = int(bool(found.po) or negated or c.minus)
    steps = ["mul.lo.s64 %t, %x, %y;\nmul.hi.s64 %z, %x, %y;\nmov.b32 %e, %c;\n"]
    if negated and not found.po:
        steps.append("not.b64 %t, %t;\nnot.b64 %z, %z;\n")
    elif c.minus and not found.po:
        steps.append("not.b32 %e, %e;\n")
    steps.append(f"cvt.{'s64.s32' if signed else 'u64.u32'} %x, %e;\nshr.s64 %y, %x, 63;\n")
    steps.append(f"add.cc.u64 %t, %t, %x;\naddc.u64 %z, %z, %y;\nadd.cc.u64 %t, %t, {add};\naddc.u64 %z, %z, 0;\n")
    if found.scale:
        shift = int(str(found.scale)[3:])
        steps.append(f"shr.u64 %t, %t, {shift};\nshl.b64 %z, %z, {64 - shift};\nor.b64 %t, %t, %z;\n")
    if found.sat:
        steps.append(_clamped("%t", "s32" if signed else "u32", 32, "s64" if signed else "u64"))
    return "".join([*steps, "cvt.u32.u64 %d, %t;\n"])


def _side_by_side(low: Lowering, found: Form, operands: list[_Operand], line: int) -> str:
    count = int(found.count)
    bits, letter = 32 // count, "h" if count == 2 else "b"
    d, a, b, c = operands
    whole = "".join(map(str, reversed(range(count))))
    chosen = {"a": a.selector[1:] or whole, "b": b.selector[1:] or "".join(str(int(k) + count) for k in whole)}
    for each in (a, b):
        wrong = each.selector and (each.selector[0] != letter or len(each.selector) != count + 1)
        if wrong or any(int(k) >= 2 * count for k in each.selector[1:]):
            digits = f"{count} digits from 0 to {2 * count - 1}"
            raise low.error(f"{found.opcode} takes .{letter} and {digits} after a and b, found .{each.selector}", line)
    if c.selector or (d.selector and (d.selector[0] != letter or any(int(k) >= count for k in d.selector[1:]))):
        raise low.error(f"{found.opcode}: the mask of the result is .{letter}{whole} or a part of it", line)
    mask = d.selector[1:] or whole
    added = bool(found.add)
    steps = [_REGISTERS, "mov.b32 %r, %c;\n"]
    for k in range(count):
        if str(k) not in mask:
            continue
        for into, which, type_ in (("%x", "a", found.atype), ("%y", "b", found.btype)):
            at = int(chosen[which][count - 1 - k])
            word = "%a" if at < count else "%b"
            steps.append(_taken(into, word, f"{letter}{at % count}", str(type_)))
        steps.append(_compute(found))
        if found.sat:
            steps.append(_clamped("%t", str(found.dtype), bits))
        steps.append("cvt.u32.u64 %w, %t;\n")
        steps.append("add.u32 %r, %r, %w;\n" if added else f"bfi.b32 %r, %w, %r, {bits * k}, {bits};\n")
    return "".join([*steps, "mov.b32 %d, %r;\n"])

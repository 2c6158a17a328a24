"""Whether the registers of an instruction fit its types: predicates where predicates belong, and the right width.

A register must be as wide as the instruction's type; `ld`, `st` and `cvt` may use a wider one (PTX ISA, "Operand Size
Exceeding Instruction-Type Size"). Whether it was declared signed, unsigned or floating does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxlab.emulate.program.flat_program import (
    Code,
    Group,
    Inverted,
    Literal,
    Mem,
    Reg,
    Register,
    Source,
    Special,
    Symbol,
)
from ptxlab.isa import types
from ptxlab.isa.actions import Action, AsyncGroup


def misfit(code: Code, registers: Sequence[Register]) -> str:
    """What does not fit, in words; empty when everything does."""
    for dest in code.dests:
        if isinstance(dest, Group) and any(not isinstance(e, Reg | None) for e in dest.elements):
            return f"{code.form.opcode} can write to registers only"
    pairs = [*zip(code.dests, code.dest_types, strict=True), *zip(code.sources, code.source_types, strict=True)]
    for operand, type_ in pairs:
        wrong = _misfit(code, operand, type_, registers)
        if wrong:
            return wrong
    return _too_many_bytes(code)


def _too_many_bytes(code: Code) -> str:
    """`cp.async` reads as many bytes as it writes at most; where a register says how many, the rest is left out."""
    if code.action is not Action.COPY or code.properties.group is not AsyncGroup.CP_ASYNC:
        return ""
    size, read = (code.named.get(name, (None, ""))[0] for name in ("size", "src_size"))
    if isinstance(size, Literal) and isinstance(read, Literal) and read.value > size.value:
        return f"{code.form.opcode} copies {size.value} bytes here, and cannot read {read.value}: write {size.value}"
    return ""


def _misfit(code: Code, operand: Source | None, type_: str, registers: Sequence[Register]) -> str:
    if isinstance(operand, Mem) and isinstance(operand.base, Literal):
        return "" if operand.base.kind == "int" else f"{operand.base.value} cannot be an address"
    if isinstance(operand, Mem) and isinstance(operand.base, Reg):
        register = registers[operand.base.index]
        return (
            "" if register.lane in ("i32", "i64") else f"{register.name} is .{register.type} and cannot be an address"
        )
    if type_ == "vec":
        if not isinstance(operand, Group):
            return f"{code.form.opcode} needs registers in braces here"
        type_ = str(code.form.type)
    if type_ == "any" and isinstance(operand, Reg) and code.form.op.kind != "warp":
        register = registers[operand.index]
        fits = register.lane in ("i32", "i1") or (code.form.tensor and register.lane == "i16")
        return (
            "" if fits else f"{code.form.opcode} needs 32 bits or a predicate here; {register.name} is .{register.type}"
        )
    if operand is None or type_ not in types.WIDTH:
        return _not_int(code, operand) if type_ == "int" else ""
    if isinstance(operand, Group):
        if code.form.op.kind == "warp":
            return ""
        count = int(code.form.vec[1:]) if code.form.vec else 0
        if count and len(operand.elements) != count:
            return f"{code.form.opcode} needs {count} registers in braces, found {len(operand.elements)}"
        whole = not code.form.vec and code.action is Action.MOVE
        if whole and (not operand.elements or types.width(type_) % len(operand.elements)):
            return f"{type_} cannot be unpacked into {len(operand.elements)}"
        element = f"b{types.width(type_) // len(operand.elements)}" if whole else type_
        if element not in types.WIDTH:
            return f"{type_} cannot be unpacked into {len(operand.elements)}"
        return next((w for e in operand.elements if (w := _misfit(code, e, element, registers))), "")
    opcode = code.form.opcode
    if isinstance(operand, Inverted):
        return "" if type_ == "pred" and _lane(operand.operand, registers) == "i1" else "! goes with predicates only"
    if isinstance(operand, Symbol) and types.lane(type_) not in ("i32", "i64"):
        return f"{opcode} cannot take the address of {operand.name!r} as .{type_}"
    if isinstance(operand, Literal | Symbol):
        return f"{opcode} needs a predicate register here" if type_ == "pred" and isinstance(operand, Symbol) else ""
    if isinstance(operand, Special) or not isinstance(operand, Reg):
        return ""
    register = registers[operand.index]
    if (register.lane == "i1") != (type_ == "pred"):
        what = "a predicate register" if type_ == "pred" else f"a register of {types.width(type_)} bits"
        return f"{opcode} needs {what} here; {register.name} is .{register.type}"
    have, want = types.width(register.type), types.width(type_)
    if have == want or (have > want and (code.properties.wider_registers or want < 16)):
        return ""
    return f"{opcode} needs a register of {want} bits here; {register.name} is .{register.type}"


def _lane(operand: Reg, registers: Sequence[Register]) -> str:
    return registers[operand.index].lane


def _not_int(code: Code, operand: Source | None) -> str:
    if operand is None or (isinstance(operand, Literal) and operand.kind == "int"):
        legal = (16,) if code.form.cg else (4, 8, 16)  # past L1 go whole 16 bytes only
        if (
            operand is not None
            and code.action is Action.COPY
            and code.properties.group is AsyncGroup.CP_ASYNC
            and operand.value not in legal
        ):
            return f"{code.form.opcode} copies {' or '.join(map(str, legal))} bytes, not {operand.value}"
        return ""
    return f"{code.form.opcode} needs a whole number here"

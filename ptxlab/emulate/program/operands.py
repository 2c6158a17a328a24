"""The operands of an instruction: names and numbers become registers, symbols and literals of the right types.

A register must be as wide as the instruction's type; `ld`, `st` and `cvt` may use a wider one (PTX ISA, "Operand Size
Exceeding Instruction-Type Size"). Whether it was declared signed, unsigned or floating does not matter.

128-bit registers are two registers of 64 bits, which instructions on `.b128` take as a vector of two. So a load is one
of `.v2.b64`, and a move copies both halves. A move that packs or unpacks four 32-bit registers is two moves of 64 bits.
Only atomic operations need the two as one value (see `step.access` and `jit.atomics`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxlab.emulate.program.addresses import GRID_REGISTERS
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
    Wide,
)
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.emulate.program.scopes import Scope
from ptxlab.isa import types
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.opcodes import action_of
from ptxlab.isa.table import Form
from ptxlab.text import model
from ptxlab.text.braces import in_braces
from ptxlab.text.model import Instruction

LOW = (1 << 64) - 1


def resolve(low: Lowering, code: Code, instruction: Instruction, scope: Scope) -> None:
    """Sets what an instruction reads and writes, with the types, and which space it accesses."""
    line, found = instruction.line, code.form
    given, place = _given(low, instruction, found)
    dests: list[Reg | Group | None] = []
    sources: list[Source | None] = []
    second: model.Operand | None = None
    for spec in found.op.operands:
        operand: model.Operand | None
        if spec.second:
            operand, second = second, None
        else:
            operand = given.pop(0) if given else None
            if isinstance(operand, model.Pair):
                second = operand.second
                operand = operand.first
        resolved, type_ = _resolved(low, found, spec, operand, scope, line)
        if spec.role == "dst":
            if resolved is not None and not isinstance(resolved, Reg | Group):
                raise low.error(f"{operand} cannot be written to", line)
            dests.append(resolved)
            code.dest_types += (type_,)
        else:
            sources.append(resolved)
            code.source_types += (type_,)
    if place is not None:
        sources.append(Group(tuple(low.operand(e, scope, line) for e in place.elements)))
        code.source_types += ("any",)
    code.dests, code.sources = tuple(dests), tuple(sources)
    if found.op.does is Action.MOVE and found.b128 and split(low, code):
        return
    wrong = misfit(code, low.registers)
    if wrong:
        raise low.error(wrong, line)
    low.note_space(code, found)
    if scope.routine.frame is not None:
        code.sources = tuple(low.on_stack(code, s) for s in sources)


def _given(
    low: Lowering, instruction: Instruction, found: Form
) -> tuple[list[model.Operand | None], model.Vector | None]:
    """The operands as they are written, None where one is left out; and a tensor's coordinates."""
    given: list[model.Operand | None] = list(instruction.operands)
    specs = found.op.operands
    fewest, most = found.op.operand_counts
    if not fewest <= len(given) <= most:
        what = f"{found.opcode} takes {fewest} operands, found {len(given)}"
        raise low.unsupported(instruction, what, syntax=found.op.syntax)
    place: model.Vector | None = None
    tensor = found.tensor
    for k, each in enumerate(given) if tensor else ():
        if isinstance(each, model.Address) and each.extra:  # `[map, {x, y}]`
            vector, given[k] = each.extra[0], replace(each, extra=())
            assert isinstance(vector, model.Vector)
            place = vector
    if tensor and place is None:
        what = f"{found.opcode} needs the coordinates of its tile beside the tensor map"
        what += ": write [map, {x, y}], with as many as the tensor has dimensions"
        raise low.unsupported(instruction, what, syntax=found.op.syntax)
    if found.L2_cache_hint and "src_size" in (names := [s.name for s in specs]) and len(given) == len(specs) - 1:
        given.insert(names.index("src_size"), None)  # the last operand is then the cache policy
    return given, place


def _resolved(
    low: Lowering, found: Form, spec: OperandSpec, operand: model.Operand | None, scope: Scope, line: int
) -> tuple[Source | None, str]:
    """An operand, None for one left out or `_`, and its type."""
    if operand is not None and in_braces(found, operand):
        raise low.error(f"{found.opcode} takes no braces here, found {operand}", line)
    resolved = None if operand is None else low.operand(operand, scope, line)
    if isinstance(resolved, Symbol) and isinstance(operand, model.Element) and found.properties.plain:
        resolved = Mem(resolved, 0)  # `ld.global.u32 %r1, table[3]`
    type_ = found.operand_type(spec)
    if type_ == "b128":
        resolved, type_ = whole(low, resolved, found.opcode, line), "vec"
    if isinstance(resolved, Group) and len(resolved.elements) == 1 and found.op.kind != "warp":
        resolved = resolved.elements[0]  # `{%r1}`, as Triton writes it
    if operand is not None and (spec.role == "addr") != isinstance(resolved, Mem):
        what = "an address in brackets" if spec.role == "addr" else "no address"
        raise low.error(f"{found.opcode} takes {what} here, found {operand}", line)
    if operand is not None and resolved is None and spec.role != "dst":
        raise low.error("_ is allowed only in the place of a result", line)
    return resolved, type_


def summed(low: Lowering, operand: model.Operand, scope: Scope, line: int) -> model.Operand:
    """`%r1+4`, which the assembler takes where a register is read: an addition is put in front, and its result read. So
    is a load for a register of the driver that depends on the launch."""
    if isinstance(operand, model.Name) and operand.text in GRID_REGISTERS:
        loaded = low.register(operand.text, "b32", scope.routine.function.name)
        at = Mem(Literal(low.system.of_grid(operand.text)), 0)
        low.op("ld.const.b32", (loaded,), (at,), line)
        scope.registers[f"{operand.text} "] = loaded
        return model.Name(f"{operand.text} ")
    if not isinstance(operand, model.Sum) or operand.scale < 0:
        return operand
    source = low.name(operand.base.text, scope, line)
    if not isinstance(source, Reg):
        return operand
    type_ = low.registers[source.index].type
    if types.lane(type_) not in ("i16", "i32", "i64"):
        raise low.error(f"{operand} adds to .{type_}; the emulator adds to integers", line)
    name = f"%{operand}"
    added = low.register(name, type_, scope.routine.function.name)
    scope.registers[name] = added
    low.op(f"add.s{types.width(type_)}", (added,), (source, Literal(operand.offset)), line)
    return model.Name(name)


def whole(low: Lowering, source: Source | None, opcode: str, line: int) -> Source | None:
    """An operand of type b128 as a vector of two."""
    if isinstance(source, Literal):
        return Wide((Literal(int(source.value) & LOW), Literal(int(source.value) >> 64 & LOW)))
    if isinstance(source, Wide) or (action_of(opcode) is Action.MOVE and isinstance(source, Group)):
        return source
    if isinstance(source, Reg):
        register = low.registers[source.index]
        raise low.error(f"{opcode} needs a register of 128 bits here; {register.name} is .{register.type}", line)
    raise low.error(f"{opcode} needs a register of 128 bits here", line)


def split(low: Lowering, code: Code) -> bool:
    """Puts two 64-bit moves in the place of a `mov.b128` that has four 32-bit registers on one side."""
    (dest,), (source,) = code.dests, code.sources
    if not isinstance(dest, Group) or not isinstance(source, Group):
        return False
    counts = {len(dest.elements), len(source.elements)}
    if counts != {2, 4} or not any(isinstance(x, Wide) for x in (dest, source)):
        return False
    low.codes.pop()
    for k in range(2):
        into, out_of = _half(dest, k), _half(source, k)
        assert isinstance(into, Reg | Group)
        half = low.op("mov.b64", (into,), (out_of,), code.line, code.guard)
        half.instruction = None if k else code.instruction  # one of them counts
    return True


def _half(group: Group, k: int) -> Source | None:
    if len(group.elements) == 2:
        return group.elements[k]
    return Group(group.elements[2 * k : 2 * k + 2])


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
        base = registers[operand.base.index]
        return "" if base.lane in ("i32", "i64") else f"{base.name} is .{base.type} and cannot be an address"
    if type_ == "vec":
        if not isinstance(operand, Group):
            return f"{code.form.opcode} needs registers in braces here"
        type_ = str(code.form.type)
    if type_ == "any" and isinstance(operand, Reg) and code.form.op.kind != "warp":
        register = registers[operand.index]
        fits = register.lane in ("i32", "i1") or (code.form.tensor and register.lane == "i16")
        needs = f"{code.form.opcode} needs 32 bits or a predicate here"
        return "" if fits else f"{needs}; {register.name} is .{register.type}"
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
        is_pred = type_ == "pred" and registers[operand.operand.index].lane == "i1"
        return "" if is_pred else "! is for predicates only"
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


def _not_int(code: Code, operand: Source | None) -> str:
    if operand is None:
        return ""
    if not isinstance(operand, Literal) or operand.kind != "int":
        return f"{code.form.opcode} needs a whole number here"
    legal = (16,) if code.form.cg else (4, 8, 16)  # past L1 go whole 16 bytes only
    copies = code.action is Action.COPY and code.properties.group is AsyncGroup.CP_ASYNC
    if copies and operand.value not in legal:
        return f"{code.form.opcode} copies {' or '.join(map(str, legal))} bytes, not {operand.value}"
    return ""

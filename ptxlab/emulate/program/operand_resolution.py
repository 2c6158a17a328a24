"""Resolves the operands of an instruction: names and numbers of the text become registers, symbols, literals."""

from __future__ import annotations

import functools
from dataclasses import replace

from ptxlab.emulate.program.flat_program import Code, Group, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.emulate.program.operands import misfit
from ptxlab.emulate.program.scopes import Routine, Scope
from ptxlab.emulate.program.wide_registers import split, whole
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.table import Form
from ptxlab.text import model
from ptxlab.text.braces import in_braces
from ptxlab.text.model import Instruction


def resolve(low: Lowering, code: Code, instruction: Instruction, scope: Scope, routine: Routine) -> None:
    """Sets what an instruction reads and writes, with the types, and which space it accesses."""
    line, found = instruction.line, code.form
    if routine.frame is None and _plainly(low, code, instruction, scope, routine):
        return
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
        resolved, type_ = _resolved(low, found, spec, operand, scope, routine, line)
        if spec.role == "dst":
            if resolved is not None and not isinstance(resolved, Reg | Group):
                raise low.error(f"{operand} cannot be written to", line)
            dests.append(resolved)
            code.dest_types += (type_,)
        else:
            sources.append(resolved)
            code.source_types += (type_,)
    if place is not None:
        sources.append(Group(tuple(low.operand(e, scope, routine, line) for e in place.elements)))
        code.source_types += ("any",)
    code.dests, code.sources = tuple(dests), tuple(sources)
    if found.op.does is Action.MOVE and found.b128 and split(low, code):
        return
    wrong = misfit(code, low.registers)
    if wrong:
        raise low.error(wrong, line)
    low.note_space(code, found)
    if routine.frame is not None:
        code.sources = tuple(low.on_stack(code, s) for s in sources)


def _plainly(low: Lowering, code: Code, instruction: Instruction, scope: Scope, routine: Routine) -> bool:
    """Does what `resolve` does where an instruction only computes and all operands are registers and numbers of types
    that fit, as in nearly all lines of a long text. False, and nothing has been done, for all others."""
    shape = _plain_shape(code.form)
    if shape is None or len(instruction.operands) != sum(map(len, shape)):
        return False
    resolved: list[Reg | Literal] = []
    kinds = []
    for operand in instruction.operands:
        if type(operand) is model.Name:
            found = scope.registers.get(operand.text) or low.name(operand.text, scope, routine, instruction.line)
            if type(found) is not Reg:
                return False
            resolved.append(found)
            kinds.append(low.registers[found.index].type)
        elif type(operand) is model.Number:
            resolved.append(Literal(operand.value, operand.kind, operand.bits))
            kinds.append("number")
        else:
            return False
    dest_types, source_types = shape
    dests = tuple(each for each in resolved[: len(dest_types)] if isinstance(each, Reg))
    if len(dests) != len(dest_types):
        return False
    code.dests, code.sources = dests, tuple(resolved[len(dests) :])
    code.dest_types, code.source_types = dest_types, source_types
    key = code.form, tuple(kinds)
    if key not in low.fitting:
        if misfit(code, low.registers):
            code.dest_types = code.source_types = ()
            return False
        low.fitting.add(key)
    return True


@functools.lru_cache(maxsize=4096)
def _plain_shape(form: Form) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The types of what a form writes and reads, where it only computes and each operand is one register or number."""
    specs = form.op.operands
    types_ = [form.operand_type(spec) for spec in specs]
    roles = [spec.role for spec in specs]
    if form.op.kind != "pure" or any(spec.second for spec in specs) or roles != sorted(roles) or "addr" in roles:
        return None
    if not all(type_ == "pred" or (type_ in types.WIDTH and type_ != "b128") for type_ in types_):
        return None
    dests = roles.count("dst")
    return tuple(types_[:dests]), tuple(types_[dests:])


def _given(
    low: Lowering, instruction: Instruction, found: Form
) -> tuple[list[model.Operand | None], model.Vector | None]:
    """The operands as they are written, None where one is left out; and a tensor's coordinates."""
    given: list[model.Operand | None] = list(instruction.operands)
    specs, line = found.op.operands, instruction.line
    fewest, most = found.op.operand_counts
    if not fewest <= len(given) <= most:
        raise UnsupportedInstruction(
            f"{found.opcode} takes {fewest} operands, found {len(given)}",
            line=line,
            source=low.text(line),
            column=instruction.column,
            file=low.module.file,
            syntax=found.op.syntax,
        )
    place: model.Vector | None = None
    tensor = found.tensor
    for k, each in enumerate(given) if tensor else ():
        if isinstance(each, model.Address) and each.extra:  # `[map, {x, y}]`
            vector, given[k] = each.extra[0], replace(each, extra=())
            assert isinstance(vector, model.Vector)
            place = vector
    if tensor and place is None:
        raise UnsupportedInstruction(
            f"{found.opcode} needs the coordinates of its tile beside the tensor map: write [map, {{x, y}}], with as "
            "many as the tensor has dimensions",
            line=line,
            source=low.text(line),
            column=instruction.column,
            file=low.module.file,
            syntax=found.op.syntax,
        )
    if found.L2_cache_hint and "src_size" in (names := [s.name for s in specs]) and len(given) == len(specs) - 1:
        given.insert(names.index("src_size"), None)  # the last operand is then the cache policy
    return given, place


def _resolved(
    low: Lowering,
    found: Form,
    spec: OperandSpec,
    operand: model.Operand | None,
    scope: Scope,
    routine: Routine,
    line: int,
) -> tuple[Source | None, str]:
    """An operand, None for one left out or `_`, and its type."""
    if operand is not None and in_braces(found, operand):
        raise low.error(f"{found.opcode} takes no braces here, found {operand}", line)
    resolved = None if operand is None else low.operand(operand, scope, routine, line)
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
        raise low.error("_ can stand only where a result goes", line)
    return resolved, type_


def summed(low: Lowering, operand: model.Operand, scope: Scope, routine: Routine, line: int) -> model.Operand:
    """`%r1+4`, which the assembler takes where a register is read: an addition is put in front, and its result read."""
    if not isinstance(operand, model.Sum) or operand.scale < 0:
        return operand
    source = low.name(operand.base.text, scope, routine, line)
    if not isinstance(source, Reg):
        return operand
    type_ = low.registers[source.index].type
    if types.lane(type_) not in ("i16", "i32", "i64"):
        raise low.error(f"{operand} adds to .{type_}; the CPU machine adds to integers", line)
    name = f"%{operand}"
    added = low.register(name, type_, routine.function.name)
    scope.registers[name] = added
    low.op(f"add.s{types.width(type_)}", (added,), (source, Literal(operand.offset)), line)
    return model.Name(name)

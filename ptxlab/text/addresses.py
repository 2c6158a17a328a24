"""Whether an operand is an address that an instruction can access: its state space, its width, its brackets."""

from __future__ import annotations

from ptxlab.isa import Action, Form, types
from ptxlab.isa.actions import MBARRIER, SAMPLERS
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.properties import address_space
from ptxlab.isa.special_registers import SPECIAL
from ptxlab.text.model import Address, Element, Instruction, Name, Not, Number, Operand, Pair, Sum, Vector
from ptxlab.text.operand_messages import Find, Misfit, Place, fits
from ptxlab.text.values import wrong_kind, wrong_value

GENERIC = ("global", "shared", "local")
"""The state spaces that generic addresses reach."""
NARROW = (
    {action for action in Action if action.kind in ("memory", "effect")}
    | {Action.PREFETCH, Action.PREFETCH_TILE, Action.NOTHING}
    | MBARRIER - {Action.COPIES_ARRIVE}
)
"""Instructions whose addresses in global memory, or generic ones, have 64 bits on sm_90 and later."""

_NO_ADDRESS = ("pred", "f16", "f16x2", "f32", "f64", "b128")
"""Types of registers that hold no address."""


def space_tested(instruction: Instruction, found: Form, find: Find) -> Misfit | None:
    """What cannot be an address in a register, of 32 bits or of 64."""
    answer, asked = instruction.operands
    wrong = wrong_kind(found, 0, found.op.operands[0], answer, find)
    wrong = wrong or wrong_value(found, 0, "pred", False, answer, find)
    if wrong is not None:
        return wrong
    variable = find(asked.text) if isinstance(asked, Name) else None
    if variable is not None and variable.space == "reg":
        return None if any(fits(t, variable.type, wider=False) for t in ("u32", "u64")) else _no_address(found, asked)
    if isinstance(asked, Number) and asked.kind == "int":
        return None
    return None if isinstance(asked, Sum) and asked.scale > 0 else _no_address(found, asked)


def _no_address(found: Form, operand: Operand) -> Misfit:
    return Misfit(1, f"{found.opcode} takes an address in an integer register here, found {operand}")


def _texture(found: Form, k: int, operand: Address, find: Find) -> Misfit | None:
    """A texture or surface without coordinates, or that is none."""
    variable = find(operand.base.text) if isinstance(operand.base, Name) else None
    if variable is None and isinstance(operand.base, Name) and operand.base.text not in SPECIAL:
        return None  # it is not declared, which is an error of its own
    handle = variable is not None and (variable.type in types.OPAQUE or variable.space in ("param", "tex"))
    if variable is not None and variable.space == "reg":
        handle = fits("u64", variable.type, wider=False)
    if not handle or operand.offset:
        return Misfit(k, f"{found.opcode} takes a texture, a surface or its 64-bit handle here, found {operand}")
    if found.op.does is not Action.QUERY and not operand.extra:
        return Misfit(k, f"{found.opcode} takes coordinates after the handle: [{operand.base}, {{...}}]")
    return None


def wrong_address(found: Form, k: int, operand: Operand, find: Find) -> Misfit | None:
    """An address without its brackets, or one that is not an integer."""
    if isinstance(operand, Name | Number | Sum | Not | Pair | Vector):
        hint = f"[{operand}]" if isinstance(operand, Name | Sum) else ""
        return Misfit(k, f"{found.opcode} takes an address in brackets here, found {operand}", hint)
    if isinstance(operand, Element) and (variable := find(operand.base.text)) is not None and variable.space == "reg":
        size = types.WIDTH.get(str(found.type), 8) // 8
        index = operand.index.value if isinstance(operand.index, Number) else None
        literal = f"[{operand.base}+{int(index) * size}]" if index is not None else ""
        before = f"mad.wide.u32 %address, {operand.index}, {size}, {operand.base};"
        said = f"{found.opcode} takes an address in brackets, with bytes; found {operand}"
        return Misfit(k, said, literal, "" if literal else before)
    if isinstance(operand, Address) and isinstance(operand.base, Name) and found.op.does is not Action.FENCE:
        variable = find(operand.base.text)
        if variable is not None and variable.space == "reg" and variable.type in _NO_ADDRESS:
            return Misfit(k, f"{operand.base} is .{variable.type} and cannot be an address")
    return None


def misplaced(found: Form, k: int, spec: OperandSpec, operand: Operand, find: Find, place: Place) -> Misfit | None:
    """What cannot be an address: a number, the address of a variable that lies in another state space than the
    instruction accesses, a register that is too narrow."""
    if not isinstance(operand, Address) or found.op.does is Action.FENCE:
        return None
    if found.op.does in SAMPLERS:
        return _texture(found, k, operand, find)
    base, space = operand.base, address_space(found, spec.name)
    if isinstance(base, Vector) or (isinstance(base, Number) and (space != "local" or base.kind != "int")):
        where = "; only .local has numbers as addresses" if isinstance(base, Number) else ""
        return Misfit(k, f"{found.opcode} takes a register or a variable as its address, found {base}{where}")
    if not isinstance(base, Name):
        return None
    if operand.register_offset is not None:
        said = f"{found.opcode} takes an address with a constant offset, found {operand}"
        offset, symbol = operand.register_offset, find(base.text)
        if symbol is not None and symbol.space == "shared":
            add = f".reg .b32 %new; mov.b32 %new, {base}; add.u32 %new, %new, {offset};"
            return Misfit(k, said, before=add, name=f"{base}+{offset}")
        return Misfit(k, said, before=f"add.u64 %address, {base}, {offset};  // both of the same width")
    name, variable = base.text, find(base.text)
    if variable is None and (name == "_" or name in place.labels or (name in SPECIAL and "." in name)):
        return Misfit(k, f"{found.opcode} takes a register or a variable as its address, found {name}")
    if space is None or variable is None:
        return None
    if variable.space == "reg":
        explicit = found.op.does not in MBARRIER or not found.space
        narrow = explicit and space in (("shared",) if found.op.does in MBARRIER else ("", "global"))
        narrow = narrow and found.op.does in NARROW and types.WIDTH.get(variable.type) == 32
        if not narrow or place.arch < 90:
            return None
        wide = f"cvt.u64.u32 %address, {name};"
        return Misfit(k, f"sm_{place.arch} has 64-bit addresses; {name} is .{variable.type}", before=wide)
    if variable.space != space.partition("::")[0] and (space or variable.space not in GENERIC):
        where = f"an address of the .{space} space" if space else "a generic address, of .global, .shared or .local"
        pointer = variable.space == "param" and types.WIDTH.get(variable.type) == 64
        load = f".reg .{variable.type} %new; ld.param.{variable.type} %new, [{name}];" if pointer else ""
        return Misfit(k, f"{found.opcode} takes {where}; {name} lies in .{variable.space}", before=load, name=name)
    if variable.space == "param" and name in place.parameters:
        if found.properties.stores:
            return Misfit(k, f"{found.opcode} cannot write to {name}, a parameter of the function it is in")
        if place.kernel and space == "param::func":
            return Misfit(
                k, f"{name} is a parameter of a kernel, in .param::entry; .param::func has those of functions"
            )
    return None

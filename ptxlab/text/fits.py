"""Whether operands are of the types that an instruction takes, by the rules of NVIDIA's assembler.

A register fits where it has the width of the type and is not a number of another kind: `.b32` and `.f32` registers in
an `.f32` instruction, `.b32`, `.u32` and `.s32` ones in a `.u32` instruction, any of 32 bits in a `.b32` instruction.
`ld`, `st` and `cvt` take wider registers as well. Exceptions of single instructions are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from ptxlab.isa import Action, Form, FormError, form, fragments, types
from ptxlab.isa.actions import MBARRIER, SAMPLERS
from ptxlab.isa.immediates import numbers
from ptxlab.isa.properties import address_space
from ptxlab.isa.special import SPECIAL
from ptxlab.isa.table import OperandSpec
from ptxlab.text.model import Address, Instruction, Name, Not, Number, Operand, Pair, Sum, Variable, Vector

READ_SPECIAL = (Action.MOVE, Action.CONVERT)
"""What can be done with special registers."""
TAKE_ADDRESSES = (Action.MOVE, Action.CONVERT_ADDRESS)
"""What can be done with the names of variables."""
FRAGMENTS = (Action.MATRIX_PRODUCT, Action.FRAGMENT_PRODUCT, Action.LOAD_FRAGMENT, Action.STORE_FRAGMENT,
             Action.LOAD_ROWS, Action.STORE_ROWS, Action.WARPGROUP_PRODUCT)  # fmt: skip
"""Instructions whose operands are fragments: so many registers of each lane."""
GENERIC = ("global", "shared", "local")
"""The state spaces that generic addresses reach."""
LENIENT = ("f16x2",)
"""Types of registers that the assembler takes in many places."""
NARROW = frozenset(
    {Action.LOAD, Action.STORE, Action.ATOMIC, Action.REDUCTION, Action.PREFETCH, Action.NOTHING, *MBARRIER}
) - {Action.COPIES_ARRIVE}
"""Instructions whose addresses in global memory, or generic ones, have 64 bits on sm_90 and later."""

INTEGER_LANES = frozenset({Action.MATCH, Action.REDUCE_LANES, Action.ELECT})
"""Instructions between lanes that take no registers of floats where the table has bits."""
PLAIN = frozenset({*types.INTEGERS, "f16", "f16x2", "f32", "f64"})
"""Types between which `cvt` takes wider registers."""

Find = Callable[[str], Variable | None]
"""Gives the declaration of a name."""


@dataclass(frozen=True)
class Misfit:
    """The operand at `index` does not fit. message: why. literal: what to write in its place. before: a line to write
    before the instruction. type: the type of a register that does not fit."""

    index: int
    message: str
    literal: str = ""
    before: str = ""
    type: str = ""


@dataclass(frozen=True)
class Place:
    """Where an instruction stands. labels, parameters: names of the function around it; kernel: whether that is one;
    arch: 90 for sm_90a, 0 where nothing is said of the target."""

    labels: Collection[str] = ()
    parameters: Collection[str] = ()
    kernel: bool = False
    arch: int = 0


NOWHERE = Place()


def misfit(instruction: Instruction, found: Form, find: Find, place: Place = NOWHERE) -> Misfit | None:
    """The first operand that the assembler would refuse for its type; None where all fit or nothing is said of them."""
    if found.op.loose and found.op.kind != "flow" and found.op.does is not Action.CLASSIFY:
        return None
    specs = given(found, len(instruction.operands))
    if len(instruction.operands) > len(specs):
        policy = instruction.operands[-1]
        return Misfit(len(specs), f"{found.opcode} takes a cache policy only with .L2::cache_hint, found {policy}")
    least = sum(not spec.optional for spec in found.op.operands)
    if found.L2_cache_hint and len(instruction.operands) <= least:
        last = len(instruction.operands) - 1
        return Misfit(last, f"{found.opcode} takes a cache policy behind its other operands")
    for k, (spec, operand) in enumerate(zip(specs, instruction.operands, strict=False)):
        if spec.role == "addr" and (wrong := _place(found, k, spec, operand, find, place)) is not None:
            return wrong
    if found.op.kind == "warp":
        return _of_the_warp(instruction, found, find)
    if found.op.does is Action.CLASSIFY and found.space:
        return _space_tested(instruction, found, find)
    firm = next((k for k, spec in enumerate(specs) if spec.optional), len(specs))
    for k, (spec, operand) in enumerate(zip(specs, instruction.operands, strict=False)):
        if k >= firm and len(instruction.operands) != len(specs) and spec.name != "policy":
            return None  # an optional operand may be left out before this one
        if in_braces(found, operand):
            return Misfit(k, f"{found.opcode} takes no braces here, found {operand}", str(operand)[1:-1])
        if spec.role == "addr":
            wrong = _address(found, k, operand, find)
        elif isinstance(operand, Name) and operand.text in place.labels and _takes_no_label(found, spec):
            wrong = Misfit(k, f"{found.opcode} takes no label here, found {operand}")
        elif (kind := _kind(found, k, spec, operand, find)) is not None:
            wrong = kind
        else:
            wanted = _wanted(found, spec, operand, len(instruction.operands))
            if wanted == "vec":
                wrong = _vector(found, k, spec.role == "src", operand, find)
            else:
                wrong = _wrong(found, k, wanted, spec.role == "src", operand, find)
        if wrong is None and not (
            found.op.does is Action.BARRIER and spec.type == "any" and len(instruction.operands) < len(specs)
        ):
            wrong = _limited(found, k, spec, operand)
        if wrong is not None:
            return wrong
    return None


def _wanted(found: Form, spec: OperandSpec, operand: Operand, count: int) -> str:
    """The type of an operand; where the table has bits, and the assembler no floats, that of an integer."""
    type_ = found.operand_type(spec)
    integers = spec.name in ("policy", "state") or (
        found.op.does in INTEGER_LANES and (spec.role == "dst" or found.op.does is not Action.MATCH)
    )
    if type_ in ("b32", "b64") and (integers or spec.name == "membermask" or found.op.does is Action.VIDEO):
        return f"u{type_[1:]}"
    if type_ == "b32" and found.pack and spec.role == "dst":
        return "u32"
    if type_ == "any" and found.op.does is Action.BARRIER:  # threads, or the predicate if they are left out
        count_of_threads = count == len(found.op.operands) or (isinstance(operand, Number) and operand.kind == "int")
        return "u32" if count_of_threads else "pred"
    return type_


def given(found: Form, count: int) -> list[OperandSpec]:
    """The operands that a form with so many has: a cache policy where `.L2::cache_hint` asks for one, last."""
    specs = [spec for spec in found.op.operands if not spec.second]
    if specs and specs[-1].name == "policy":
        return [*specs[: count - 1], specs[-1]] if found.L2_cache_hint and count >= 1 else specs[:-1]
    return specs


def agreeing(instruction: Instruction, given: str, find: Find) -> str:
    """The opcode with another type at its end, for registers of type `given`, if all operands fit then; else ""."""
    head, width = instruction.opcode.rpartition(".")[0], given[1:]
    for type_ in (given, f"u{width}", f"s{width}"):
        try:
            other = form(f"{head}.{type_}")
        except FormError:
            continue
        if misfit(replace(instruction, opcode=other.opcode), other, find) is None:
            return other.opcode
    return ""


def _limited(found: Form, k: int, spec: OperandSpec, operand: Operand) -> Misfit | None:
    """A number that the instruction does not take."""
    right = numbers(found, spec.name) if isinstance(operand, Number) and operand.kind == "int" else None
    if right is None or not isinstance(operand, Number) or int(operand.value) in right.those:
        return None
    return Misfit(k, f"{found.opcode} takes {right.says} here, found {operand}")


def _space_tested(instruction: Instruction, found: Form, find: Find) -> Misfit | None:
    """What cannot be an address in a register, of 32 bits or of 64."""
    answer, asked = instruction.operands
    wrong = _kind(found, 0, found.op.operands[0], answer, find) or _wrong(found, 0, "pred", False, answer, find)
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


def _wrong(found: Form, k: int, wanted: str, read: bool, operand: Operand, find: Find) -> Misfit | None:
    if isinstance(operand, Pair):
        operand = operand.first
        if operand == Name("_"):
            return None
    if isinstance(operand, Not):
        if not read:
            return Misfit(k, f"{found.opcode} writes to a register here, found {operand}", str(operand.operand))
        operand = operand.operand
    if wanted not in types.WIDTH:
        return None
    special = isinstance(operand, Name) and operand.text in SPECIAL and find(operand.text) is None
    if not read and (isinstance(operand, Number) or special):
        return Misfit(k, f"{found.opcode} writes to a register here, found {operand}")
    if isinstance(operand, Number):
        return _literal(found, k, wanted, operand)
    if not isinstance(operand, Name):
        return None
    name = operand.text
    if name == "_":
        if read:
            return Misfit(k, f"{found.opcode} reads a value here; _ stands only where a result is not wanted")
        return None if _may_leave_out(found) else Misfit(k, f"{found.opcode} needs a register for its result, found _")
    variable = find(name)
    if variable is None:  # a special register, a label or a function
        return _special(found, k, wanted, name) if read and name in SPECIAL else None
    if variable.space != "reg" and not read:
        return Misfit(k, f"{found.opcode} writes to a register here, found the variable {name}")
    if variable.space != "reg":
        if found.op.does in TAKE_ADDRESSES:
            return _of_a_variable(found, k, wanted, variable)
        load = f"mov.u64 %address, {name};"
        return Misfit(k, f"{found.opcode} takes no variable; mov gives the address of {name}", before=load)
    if (variable.vector > 1 and "." not in name) or fits(wanted, variable.type, wider=_takes_wider(found)):
        return None
    return Misfit(k, f"{found.opcode} takes {_in_words(wanted)} here; {name} is .{variable.type}", type=variable.type)


def _takes_wider(found: Form) -> bool:
    """Whether registers may be wider than the type: of loads, stores and conversions between plain types."""
    if not found.properties.wider_registers:
        return False
    return found.op.does is not Action.CONVERT or PLAIN.issuperset(_types(found))


def _types(found: Form) -> set[str]:
    """The types in an opcode."""
    return types.WIDTH.keys() & found.opcode.split(".")


def _may_leave_out(found: Form) -> bool:
    """Whether `_` may stand for a result that nobody wants (in a vector, and before `|p`, it always may)."""
    if found.op.does in (Action.ATOMIC, Action.MBARRIER_ARRIVE):
        return True
    if found.op.does is Action.COMPARE:
        return found.op.operands[0].type == "pred"
    several = any(spec.second or spec.name == "lut" for spec in found.op.operands)
    return several and found.op.does in (Action.MATCH, Action.REARRANGE)


def _of_a_variable(found: Form, k: int, wanted: str, variable: Variable) -> Misfit | None:
    """The name of a variable where its address is a value."""
    name = variable.name
    if found.op.does is Action.MOVE:
        no_address = types.is_float(wanted) or wanted == "pred"
        return Misfit(k, f"{found.opcode} takes no address, found the variable {name}") if no_address else None
    if found.to:
        load = f"mov.u64 %address, {name};"
        return Misfit(k, f"{found.opcode} takes a register here, found the variable {name}", before=load)
    space = str(found.space or "shared").partition("::")[0] if found.to is not None else "shared"
    if variable.space == space:
        return None
    return Misfit(k, f"{found.opcode} takes an address of the .{space} space; {name} lies in .{variable.space}")


def _takes_no_label(found: Form, spec: OperandSpec) -> bool:
    """Whether the name of a label cannot stand here: only branches take one."""
    return found.operand_type(spec) in types.WIDTH or found.op.does is Action.BARRIER


def _kind(found: Form, k: int, spec: OperandSpec, operand: Operand, find: Find) -> Misfit | None:
    """An operand of a kind that can never stand where one value does: an address, braces, two results, a minus."""
    declared = isinstance(operand, Name) and find(operand.text) is not None
    if found.operand_type(spec) == "label" and (declared or not isinstance(operand, Name)):
        return Misfit(k, f"{found.opcode} takes a label here, found {operand}")
    if found.operand_type(spec) == "int" and not (isinstance(operand, Number) and operand.kind == "int"):
        return Misfit(k, f"{found.opcode} takes an integer here, found {operand}")
    far = found.op.does is Action.MBARRIER_ARRIVE and str(found.space) == "shared::cluster"
    if far and spec.role == "dst" and operand != Name("_"):
        return Misfit(k, f"{found.opcode} gives no state of an mbarrier in another block: write _ here", "_")
    if spec.name in ("dPdx", "dPdy") and not isinstance(operand, Vector):
        return Misfit(k, f"{found.opcode} takes a derivative of each coordinate in braces here, found {operand}")
    in_any = found.op.does is Action.BARRIER and spec.type == "any"
    if found.operand_type(spec) not in types.WIDTH and not in_any:
        return None
    if isinstance(operand, Address):
        return Misfit(k, f"{found.opcode} takes no address in brackets here, found {operand}")
    braces = len(operand.elements) if isinstance(operand, Vector) else 0
    uncounted = found.op.does in (Action.LOAD_SURFACE, Action.STORE_SURFACE) and braces in (1, 2, 4)
    uncounted = uncounted or found.geom in ("cube", "acube")  # the assembler counts no elements there
    if uncounted and braces:
        return None
    if (braces > 1 and found.op.does is not Action.MOVE) or (braces and found.op.does is Action.VIDEO):
        return Misfit(k, f"{found.opcode} takes no braces here, found {operand}")
    if isinstance(operand, Pair):
        at = found.op.operands.index(spec) + 1
        if at == len(found.op.operands) or not found.op.operands[at].second:
            return Misfit(k, f"{found.opcode} takes one register here, found {operand}", str(operand.first))
    if isinstance(operand, Sum) and operand.scale < 0 and found.op.does is not Action.VIDEO:
        said = f"{found.opcode} takes no minus before a register, found {operand}: only neg changes a sign"
        return Misfit(k, said, before=f"neg.f32 %x, {operand.base};  (with the type of {operand.base}), and %x here")
    if isinstance(operand, Sum) and spec.role == "dst":
        return Misfit(k, f"{found.opcode} writes to a register here, found {operand}")
    if isinstance(operand, Sum) and (in_any or found.operand_type(spec) == "pred"):
        return Misfit(k, f"{found.opcode} takes a predicate here, found {operand}")
    if isinstance(operand, Number) and found.op.does is Action.VIDEO and found.count:
        return Misfit(k, f"{found.opcode} takes a register here, found {operand}: parts of a number cannot be selected")
    if isinstance(operand, Sum) and found.op.does is Action.VIDEO and operand.scale < 0 and not found.product:
        return Misfit(k, f"{found.opcode} takes no minus before a register, found {operand}: only vmad does")
    if isinstance(operand, Sum) and found.op.does is Action.VIDEO and operand.offset and spec.name != "c":
        return Misfit(k, f"{found.opcode} takes a register here, found {operand}")
    return None


def _of_the_warp(instruction: Instruction, found: Form, find: Find) -> Misfit | None:
    """What cannot be an operand of a matrix instruction: fragments stand in braces, with all their registers."""
    specs = [spec for spec in found.op.operands if not spec.second]
    held = fragments.operands(found) if found.op.does in FRAGMENTS else {}
    for k, (spec, operand) in enumerate(zip(specs, instruction.operands, strict=False)):
        if spec.optional and len(instruction.operands) != len(specs):
            return None
        if spec.role == "addr":
            wrong = _address(found, k, operand, find)
        elif spec.name == "e":
            wrong = _metadata(found, k, operand, find)
        elif spec.name in held and found.op.does is not Action.TRANSPOSE:
            if spec.name == "a" and not isinstance(operand, Vector) and (_descriptor(found) or _of_bytes(found)):
                continue
            wrong = _fragment(found, k, spec, held[spec.name], operand, find)
        else:
            wrong = _kind(found, k, spec, operand, find) or _limited(found, k, spec, operand)
            if wrong is None:
                wrong = _wrong(found, k, found.operand_type(spec), spec.role == "src", operand, find)
        if wrong is not None:
            return wrong
    return None


def _descriptor(found: Form) -> bool:
    """Whether a matrix may lie in shared memory, where a 64-bit register describes it."""
    return found.op.does is Action.WARPGROUP_PRODUCT


def _of_bytes(found: Form) -> bool:
    """Whether it is a sparse product of bytes, for whose A the assembler takes what it likes."""
    return bool(found.sparse) and found.atype in ("u8", "s8")


def _metadata(found: Form, k: int, operand: Operand, find: Find) -> Misfit | None:
    """What cannot say where the zeros of a sparse matrix are: the assembler takes any register of 32 bits."""
    variable = find(operand.text) if isinstance(operand, Name) else None
    right = isinstance(operand, Vector | Not) or (isinstance(operand, Sum) and operand.scale > 0)
    right = right or (isinstance(operand, Number) and operand.kind == "f32")
    if isinstance(operand, Name):
        right = variable is not None and types.WIDTH.get(variable.type) in (1, 32)
    return None if right else Misfit(k, f"{found.opcode} takes a 32-bit register here, found {operand}")


def _fragment(
    found: Form, k: int, spec: OperandSpec, held: fragments.Fragment, operand: Operand, find: Find
) -> Misfit | None:
    """What cannot be the fragment of a matrix."""
    if not isinstance(operand, Vector):
        variable = find(operand.text) if isinstance(operand, Name) else None
        if variable is not None and variable.vector == held.registers > 1:
            return None
        return Misfit(k, f"{found.opcode} takes {_braced(held.registers)}, found {operand}")
    if len(operand.elements) != held.registers:
        return Misfit(k, f"{found.opcode} takes {_braced(held.registers)}, found {len(operand.elements)}")
    given = [find(part.text) if isinstance(part, Name) else None for part in operand.elements]
    if held.type not in ("f32", "f64") and all(variable is not None and variable.type == "f32" for variable in given):
        return Misfit(k, f"{found.opcode} takes {_registers_of(held)} here, no .f32 registers alone, found {operand}")
    for part, variable in zip(operand.elements, given, strict=True):
        if isinstance(part, Sum) and part.scale < 0:
            return Misfit(k, f"{found.opcode} takes no minus before a register, found {part}")
        if isinstance(part, Number) and spec.role == "dst":
            return Misfit(k, f"{found.opcode} writes to registers here, found {part}")
        if variable is None:
            continue
        if variable.space != "reg":
            return Misfit(k, f"{found.opcode} takes registers here, found the variable {part}")
        if variable.type != "pred" and not _holds(held, variable.type):
            return Misfit(k, f"{found.opcode} takes {_registers_of(held)} here; {part} is .{variable.type}")
    return None


def _braced(count: int) -> str:
    return "one register in braces" if count == 1 else f"{count} registers in braces"


def _holds(held: fragments.Fragment, given: str) -> bool:
    """Whether a register of a type can be one of a fragment's: of any 32-bit type, but for accumulators of floats."""
    if held.type in ("f32", "f64"):
        return fits(held.type, given, wider=False)
    return types.WIDTH.get(given) == held.width


def _registers_of(held: fragments.Fragment) -> str:
    return _in_words(held.type) if held.type in ("f32", "f64") else f"{held.width} bits"


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
        return Misfit(k, f"{found.opcode} takes coordinates behind the handle: [{operand.base}, {{...}}]")
    return None


def _vector(found: Form, k: int, read: bool, operand: Operand, find: Find) -> Misfit | None:
    """Another number of registers than the instruction takes, or one of another type among them."""
    if found.op.does is Action.STORE_SURFACE and not isinstance(operand, Vector):
        return _stored(found, k, operand, find)
    if found.op.does is Action.MOVE:  # the assembler takes literals of other types, and registers of their sum
        return None
    count = int(str(found.vec)[1:])
    if isinstance(operand, Pair):
        operand = operand.first
    if isinstance(operand, Vector):
        if len(operand.elements) != count:
            return Misfit(k, f"{found.opcode} takes {count} registers in braces, found {len(operand.elements)}")
        each = (_element(found, k, str(found.type), read, element, find) for element in operand.elements)
        return next((wrong for wrong in each if wrong is not None), None)
    variable = find(operand.text) if isinstance(operand, Name) else None
    if variable is not None and variable.space == "reg" and variable.vector == count:
        return None
    if (operand == Name("_") and found.op.does is Action.ATOMIC and not read) or found.single:
        return None
    return Misfit(k, f"{found.opcode} takes {count} registers in braces, found {operand}")


def _stored(found: Form, k: int, operand: Operand, find: Find) -> Misfit | None:
    """What cannot be stored to a surface: for several elements the assembler takes a register or a number, too."""
    variable = find(operand.text) if isinstance(operand, Name) else None
    if (isinstance(operand, Number) and operand.kind == "int") or (isinstance(operand, Sum) and operand.scale > 0):
        return None
    if variable is not None and variable.space == "reg" and variable.type != "pred":
        return None
    return Misfit(k, f"{found.opcode} takes {str(found.vec)[1:]} registers in braces, found {operand}")


def _element(found: Form, k: int, wanted: str, read: bool, operand: Operand, find: Find) -> Misfit | None:
    """What cannot be an element of a vector. The assembler lets predicates and special registers pass there."""
    if operand == Name("_") and not read:
        return None
    return _wrong(found, k, wanted, read, operand, find)


def _single(operand: Operand, find: Find) -> bool:
    """Whether an operand is one register. A number may stand for a vector: `sust` and sparse products take one."""
    if not isinstance(operand, Name):
        return False
    variable = find(operand.text)
    if variable is None:
        return operand.text in SPECIAL
    return variable.vector == 1 or "." in operand.text


def _address(found: Form, k: int, operand: Operand, find: Find) -> Misfit | None:
    """An address without its brackets, or one that is no integer."""
    if isinstance(operand, Name | Number | Sum | Not | Pair | Vector):
        hint = f"[{operand}]" if isinstance(operand, Name | Sum) else ""
        return Misfit(k, f"{found.opcode} takes an address in brackets here, found {operand}", hint)
    if isinstance(operand, Address) and isinstance(operand.base, Name) and found.op.does is not Action.FENCE:
        variable = find(operand.base.text)
        if variable is not None and variable.space == "reg" and variable.type in ("pred", "f16", "f32", "f64", "b128"):
            return Misfit(k, f"{operand.base} is .{variable.type} and cannot be an address")
    return None


def _place(found: Form, k: int, spec: OperandSpec, operand: Operand, find: Find, place: Place) -> Misfit | None:
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
        where = f"the .{space} space" if space else "generic addresses, which are of .global, .shared and .local"
        return Misfit(k, f"{found.opcode} takes an address of {where}; {name} lies in .{variable.space}")
    if variable.space == "param" and name in place.parameters:
        if found.properties.stores:
            return Misfit(k, f"{found.opcode} cannot write to {name}, a parameter of the function it is in")
        if place.kernel and space == "param::func":
            return Misfit(
                k, f"{name} is a parameter of a kernel, in .param::entry; .param::func has those of functions"
            )
    return None


def in_braces(found: Form, operand: Operand) -> bool:
    """Whether a single operand is in braces where the assembler refuses them: it takes them in loads, stores and `mov`
    of untyped bits (Triton writes `ld.global.b32 { %r1 }, [%rd1]`)."""
    if not isinstance(operand, Vector) or len(operand.elements) != 1:
        return False
    if found.op.does is Action.BARRIER or (found.single and found.operation) or found.opcode.endswith(".b128"):
        return not found.vec
    if found.op.kind in ("flow", "none", "warp", "async") or found.properties.plain:
        return False
    return not (found.op.does is Action.MOVE and str(found.type)[0] == "b")


def guard_misfit(instruction: Instruction, find: Find) -> str:
    """What is wrong with the guard of an instruction; empty where nothing is."""
    name = instruction.guard.name if instruction.guard is not None else ""
    variable = find(name) if name else None
    if variable is None or (variable.space, variable.type) == ("reg", "pred"):
        return ""
    return f"the guard @{name} is no predicate, it is .{variable.type}"


def fits(wanted: str, given: str, *, wider: bool) -> bool:
    """Whether an instruction takes a register of type `given` where it wants `wanted`; `wider`: one with more bits,
    too."""
    if given in LENIENT:
        return True
    if "pred" in (wanted, given):
        return wanted == given
    bits, room = types.width(wanted), types.width(given)
    if room < bits or (room > bits and not wider):
        return False
    if wanted[0] == "b" and wanted[1:].isdigit():
        return True
    if types.is_float(wanted) or "x" in wanted:
        return given[0] == "b" or given == wanted
    return not types.is_float(given)


def _in_words(wanted: str) -> str:
    """The registers that fit a type."""
    if wanted == "pred":
        return "a predicate"
    width = types.width(wanted)
    if wanted[0] == "b" and wanted[1:].isdigit():
        return f"{width} bits"
    if types.is_float(wanted) or "x" in wanted:
        return f".{wanted}" + (f" or .b{width}" if wanted in ("f16", "f32", "f64") else f" in a .b{width} register")
    return f".u{width}, .s{width} or .b{width}"


def _literal(found: Form, k: int, wanted: str, number: Number) -> Misfit | None:
    """A number of the wrong kind."""
    if wanted in ("f32", "f64"):
        if number.kind != "int":
            return None
        hexadecimal = number.text.lower().startswith("0x") and len(number.text) - 2 == types.width(wanted) // 4
        text = f"0{'fd'[wanted == 'f64']}{number.text[2:]}" if hexadecimal else f"{number.value}.0"
        return Misfit(k, f"{found.opcode} takes a floating-point number here, found the integer {number.text}", text)
    if types.is_float(wanted) or "x" in wanted:
        return Misfit(
            k, f"{found.opcode} takes no literal of type .{wanted}; put its bits into a register with mov first"
        )
    if wanted == "pred" and number.kind != "int":
        return Misfit(k, f"{found.opcode} takes a predicate here, found the number {number.text}")
    if number.kind == "int":
        return None
    if (wanted, number.kind) in (("b32", "f32"), ("b64", "f64"), ("b64", "f32")):
        return None
    value = float(number.value)
    text = str(int(value)) if math.isfinite(value) and value == int(value) else ""
    return Misfit(k, f"{found.opcode} takes an integer here, found the floating-point number {number.text}", text)


def _special(found: Form, k: int, wanted: str, name: str) -> Misfit | None:
    """A special register, which only `mov` and `cvt` read, and `mov` with its own width."""
    given = SPECIAL[name].type
    if found.op.does not in READ_SPECIAL:
        return Misfit(k, f"{found.opcode} cannot read {name}; only mov can", before=f"mov.{given} %r, {name};")
    wide = {types.width(wanted), types.width(given)} == {32, 64} and name != "%gridid"
    if found.op.does is Action.CONVERT:
        if not found.pack and _types(found).issubset(types.INTEGERS) and types.width(wanted) <= types.width(given):
            return None
        return Misfit(k, f"{found.opcode} cannot read {name}, which is .{given}", before=f"mov.{given} %r, {name};")
    if found.op.does is Action.MOVE and wide:
        return Misfit(
            k, f"{name} is .{given}; {found.opcode} takes {_in_words(wanted)}", before=f"mov.{given} %r, {name};"
        )
    return None

"""Whether operands fit an instruction, by the rules of NVIDIA's assembler: order, braces, fragments of matrices.

Single values are judged in `values`, addresses in `addresses`. Exceptions of single instructions are not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ptxlab.isa import Action, Form, FormError, form, types
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.special_registers import SPECIAL
from ptxlab.text.addresses import misplaced, space_tested, wrong_address
from ptxlab.text.model import Instruction, Name, Not, Number, Operand, Pair, Sum, Vector
from ptxlab.text.operand_messages import NOWHERE, Find, Misfit, Place, fits, in_braces, in_words
from ptxlab.text.values import limited, takes_no_label, wrong_kind, wrong_value

if TYPE_CHECKING:
    from ptxlab.isa import fragments

FRAGMENTS = (
    Action.MATRIX_PRODUCT, Action.FRAGMENT_PRODUCT, Action.LOAD_FRAGMENT, Action.STORE_FRAGMENT, Action.LOAD_ROWS,
    Action.STORE_ROWS, Action.WARPGROUP_PRODUCT,
)  # fmt: skip
"""Instructions whose operands are fragments: so many registers of each lane."""
INTEGER_LANES = frozenset({Action.MATCH, Action.REDUCE_LANES, Action.ELECT})
"""Instructions between lanes that take no registers of floats where the table has bits."""
OF_INTEGERS = frozenset({"dp2a", "dp4a", "createpolicy"})
"""Others of which that is so."""


def misfit(instruction: Instruction, found: Form, find: Find, place: Place = NOWHERE) -> Misfit | None:
    """The first operand that the assembler would refuse for its type; None where all fit or nothing is said of them."""
    if found.op.loose and found.op.kind != "flow" and found.op.does is not Action.CLASSIFY:
        return None
    specs = specs_of(found, len(instruction.operands))
    if len(instruction.operands) > len(specs):
        policy = instruction.operands[-1]
        variable = find(policy.text) if isinstance(policy, Name) else None
        said = f"takes a cache policy only with .L2::cache_hint, found {policy}"
        if (variable is not None and types.WIDTH.get(variable.type) != 64) or isinstance(policy, Number):
            said = f"takes {len(specs)} operand{'s' * (len(specs) > 1)}; found {len(instruction.operands)}"
        return Misfit(len(specs), f"{found.opcode} {said}")
    least, _ = found.op.operand_counts
    if found.L2_cache_hint and len(instruction.operands) <= least:
        last = len(instruction.operands) - 1
        return Misfit(last, f"{found.opcode} takes a cache policy after its other operands")
    for k, (spec, operand) in enumerate(zip(specs, instruction.operands, strict=False)):
        if spec.role == "addr" and (wrong := misplaced(found, k, spec, operand, find, place)) is not None:
            return wrong
    if found.op.kind == "warp":
        return _of_the_warp(instruction, found, find)
    if found.op.does is Action.CLASSIFY and found.space:
        return space_tested(instruction, found, find)
    firm = next((k for k, spec in enumerate(specs) if spec.optional), len(specs))
    for k, (spec, operand) in enumerate(zip(specs, instruction.operands, strict=False)):
        if k >= firm and len(instruction.operands) != len(specs) and spec.name != "policy":
            return None  # an optional operand may be left out before this one
        if in_braces(found, operand):
            return Misfit(k, f"{found.opcode} takes no braces here, found {operand}", str(operand)[1:-1])
        if spec.role == "addr":
            wrong = wrong_address(found, k, operand, find)
        elif isinstance(operand, Name) and operand.text in place.labels and takes_no_label(found, spec):
            wrong = Misfit(k, f"{found.opcode} takes no label here, found {operand}")
        elif (kind := wrong_kind(found, k, spec, operand, find)) is not None:
            wrong = kind
        else:
            wanted = _wanted(found, spec, operand, len(instruction.operands), find)
            if wanted == "vec":
                wrong = _vector(found, k, spec.role == "src", operand, find)
            else:
                wrong = wrong_value(found, k, wanted, spec.role == "src", operand, find)
        if wrong is None and not (
            found.op.does is Action.BARRIER and spec.type == "any" and len(instruction.operands) < len(specs)
        ):
            wrong = limited(found, k, spec, operand)
        if wrong is not None:
            return wrong
    return None


def _wanted(found: Form, spec: OperandSpec, operand: Operand, count: int, find: Find) -> str:
    """The type of an operand; where the table has bits, and the assembler no floats, that of an integer."""
    type_ = found.operand_type(spec)
    integers = spec.name in ("policy", "state") or found.op.name in OF_INTEGERS
    integers |= found.op.does in INTEGER_LANES and (spec.role == "dst" or found.op.does is not Action.MATCH)
    integers |= found.op.does is Action.MBARRIER_ARRIVE and spec.role == "dst"
    if type_ in ("b32", "b64") and (integers or spec.name == "membermask" or found.op.does is Action.VIDEO):
        return f"u{type_[1:]}"
    if type_ == "b32" and found.pack and spec.role == "dst":
        return "u32"
    if type_ == "any" and found.op.does is Action.BARRIER:  # threads, or the predicate if they are left out
        count_of_threads = count == len(found.op.operands) or (isinstance(operand, Number) and operand.kind == "int")
        return "u32" if count_of_threads else "pred"
    if spec.name == "src_size":  # how many bytes are read, or a predicate: none are
        variable = find(operand.text) if isinstance(operand, Name) else None
        return "pred" if isinstance(operand, Not) or (variable is not None and variable.type == "pred") else "u32"
    return type_


def specs_of(found: Form, count: int) -> list[OperandSpec]:
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


def _of_the_warp(instruction: Instruction, found: Form, find: Find) -> Misfit | None:
    """What cannot be an operand of a matrix instruction: fragments are in braces, with all their registers."""
    specs = [spec for spec in found.op.operands if not spec.second]
    held: Mapping[str, fragments.Fragment] = {}
    if found.op.does in FRAGMENTS:
        from ptxlab.isa.fragments import operands

        held = operands(found)
    for k, (spec, operand) in enumerate(zip(specs, instruction.operands, strict=False)):
        if spec.optional and len(instruction.operands) != len(specs):
            return None
        if spec.role == "addr":
            wrong = wrong_address(found, k, operand, find)
        elif spec.name == "e":
            wrong = _metadata(found, k, operand, find)
        elif spec.name in held and found.op.does is not Action.TRANSPOSE:
            if spec.name == "a" and not isinstance(operand, Vector) and _described(found):
                wrong = _descriptor(found, k, operand, find, "a fragment in braces or a 64-bit descriptor")
            elif spec.name == "a" and not isinstance(operand, Vector) and found.sparse and found.atype in ("u8", "s8"):
                continue  # of a sparse product of bytes the assembler takes what it likes for A
            else:
                wrong = _fragment(found, k, spec, held[spec.name], operand, find)
        elif spec.name == "b" and _described(found):
            wrong = _descriptor(found, k, operand, find, "a 64-bit descriptor")
        else:
            wrong = wrong_kind(found, k, spec, operand, find) or limited(found, k, spec, operand)
            if wrong is None:
                wrong = wrong_value(found, k, found.operand_type(spec), spec.role == "src", operand, find)
        if wrong is not None:
            return wrong
    last = len(instruction.operands) - 1
    if _described(found) and specs[-1].optional and last < len(specs) - 1:
        if not isinstance(instruction.operands[1], Vector):
            said = "takes two transpositions, of A and of B, where A lies in shared memory; found one"
            return Misfit(last, f"{found.opcode} {said}")
    return None


def _described(found: Form) -> bool:
    """Whether a matrix may lie in shared memory, where a 64-bit register describes it."""
    return found.op.does is Action.WARPGROUP_PRODUCT


def _descriptor(found: Form, k: int, operand: Operand, find: Find, takes: str) -> Misfit | None:
    """What cannot be the descriptor of a matrix: the assembler takes a register of 64 bits, a sum, an integer."""
    base = operand.base if isinstance(operand, Sum) and operand.scale > 0 else operand
    right = isinstance(base, Number) and base.kind == "int"
    if isinstance(base, Name):
        variable = find(base.text)
        if variable is None:
            right = base.text != "_" and base.text not in SPECIAL
        else:
            right = variable.space == "reg" and fits("u64", variable.type, wider=False)
    if right:
        return None
    return Misfit(k, f"{found.opcode} takes {takes} here, found {operand}")


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
    return in_words(held.type) if held.type in ("f32", "f64") else f"{held.width} bits"


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
        # the assembler lets predicates and special registers pass there
        held = (part for part in operand.elements if read or part != Name("_"))
        each = (wrong_value(found, k, str(found.type), read, part, find) for part in held)
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

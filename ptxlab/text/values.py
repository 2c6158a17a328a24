"""Whether an operand is one value of the type that an instruction takes: a register, a number, a special register."""

from __future__ import annotations

import math
import re

from ptxlab.isa import Action, Form, types
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.immediates import numbers
from ptxlab.isa.special_registers import SPECIAL, VECTORS
from ptxlab.text.model import Address, Name, Not, Number, Operand, Pair, Sum, Variable, Vector
from ptxlab.text.operand_messages import Find, Misfit, fits, in_words

READ_SPECIAL = (Action.MOVE, Action.CONVERT)
"""What can be done with special registers."""
TAKE_ADDRESSES = (Action.MOVE, Action.CONVERT_ADDRESS)
"""What can be done with the names of variables."""
PLAIN = frozenset({*types.INTEGERS, "f16", "f16x2", "f32", "f64"})
"""Types between which `cvt` takes wider registers."""


def limited(found: Form, k: int, spec: OperandSpec, operand: Operand) -> Misfit | None:
    """A number that the instruction does not take."""
    right = numbers(found, spec.name) if isinstance(operand, Number) and operand.kind == "int" else None
    if right is None or not isinstance(operand, Number) or int(operand.value) in right.those:
        return None
    return Misfit(k, f"{found.opcode} takes {right.says} here, found {operand}")


def wrong_value(found: Form, k: int, wanted: str, read: bool, operand: Operand, find: Find) -> Misfit | None:
    """What cannot be one value of type `wanted`; read: whether the instruction reads it."""
    if isinstance(operand, Pair):
        operand = operand.first
        if operand == Name("_"):
            return None
    if isinstance(operand, Not):
        if not read:
            return Misfit(k, f"{found.opcode} writes to a register here, found {operand}", str(operand.operand))
        operand = operand.operand
    if isinstance(operand, Vector) and found.op.does is Action.MOVE:
        each = [find(element.text) for element in operand.elements if isinstance(element, Name)]
        return _packed(found, k, wanted, operand, [(v.type, len(operand.elements)) for v in each if v and v.vector < 2])
    if isinstance(operand, Vector) and len(operand.elements) == 1:
        (operand,) = operand.elements
        if isinstance(operand, Name) and operand.text in SPECIAL:
            return None
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
            return Misfit(k, f"{found.opcode} reads a value here; _ is only for a result that is not wanted")
        return None if _may_leave_out(found) else Misfit(k, f"{found.opcode} needs a register for its result, found _")
    variable = find(name)
    if variable is None and name in VECTORS:
        return Misfit(k, f"{found.opcode} takes one register here; {name} is a vector of three", f"{name}.x")
    if variable is None:  # a special register, a label or a function
        return _special(found, k, wanted, name) if read and name in SPECIAL else None
    if variable.space != "reg" and not read:
        return Misfit(k, f"{found.opcode} writes to a register here, found the variable {name}")
    if variable.space != "reg":
        if found.op.does in TAKE_ADDRESSES:
            return _of_a_variable(found, k, wanted, variable)
        load = f"mov.u64 %address, {name};"
        return Misfit(k, f"{found.opcode} takes no variable; mov gives the address of {name}", before=load)
    if variable.vector > 1 and "." not in name:
        if found.op.does is Action.MOVE:
            return _packed(found, k, wanted, operand, [(variable.type, variable.vector)])
        has = " or ".join(f"{name}.{letter}" for letter in "xyzw"[: variable.vector])
        return Misfit(k, f"{found.opcode} takes one register here; {name} is a vector of {variable.vector}: {has}")
    if fits(wanted, variable.type, wider=_takes_wider(found)):
        return None
    said = f"{found.opcode} takes {in_words(wanted)} here; {name} is .{variable.type}"
    before = converted(wanted, variable.type, name) if read else f".reg .{wanted} %new;"
    return Misfit(k, said, before=before, type=variable.type, name=name)


def converted(wanted: str, given: str, name: str) -> str:
    """What makes a register %new of one type of a register of another; empty where nothing does."""
    if wanted == "pred" and given[0] in "usb" and given[1:].isdigit():
        return f".reg .pred %new; setp.ne.{given} %new, {name}, 0;"
    if given == "pred" and re.fullmatch(r"[us](32|64)", wanted):
        return f".reg .{wanted} %new; selp.{wanted} %new, 1, 0, {name};"
    source, to = (re.sub(r"^b(?=\d)", "u", type_) for type_ in (given, wanted))
    if not all(re.fullmatch(r"[us](8|16|32|64)|f(16|32|64)", type_) for type_ in (source, to)):
        return ""
    rounding = {("f", False): "rzi.", ("u", True): "rn.", ("s", True): "rn."}.get((source[0], to[0] == "f"), "")
    declared = f"b{types.width(to)}" if to in ("f16", "u8", "s8") else to
    if source[0] == to[0] == "f" and types.width(to) < types.width(source):
        rounding = "rn."
    return f".reg .{declared} %new; cvt.{rounding}{to}.{source} %new, {name};"


def _packed(found: Form, k: int, wanted: str, operand: Operand, given: list[tuple[str, int]]) -> Misfit | None:
    """What `mov` can neither pack into one register nor unpack: elements of other widths than share its bits. given:
    types of elements, each with how many there are in all."""
    if all(wanted[0] == "b" and types.WIDTH.get(type_, 0) * count == types.width(wanted) for type_, count in given):
        return None
    if wanted[0] != "b":
        bits = f"mov.b{types.WIDTH[wanted]}"
        return Misfit(k, f"{found.opcode} takes one register here, found {operand}; {bits} packs and unpacks several")
    said = f"{found.opcode} takes elements that have {types.width(wanted)} bits together, all of the same width"
    return Misfit(k, f"{said}; found {operand}")


def _takes_wider(found: Form) -> bool:
    """Whether registers may be wider than the type: of loads, stores and conversions between plain types."""
    if not found.properties.wider_registers:
        return False
    return found.op.does is not Action.CONVERT or PLAIN.issuperset(_types(found))


def _types(found: Form) -> set[str]:
    """The types in an opcode."""
    return types.WIDTH.keys() & found.opcode.split(".")


def _may_leave_out(found: Form) -> bool:
    """Whether `_` may stand for an unused result (in a vector, and before `|p`, it always may)."""
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


def takes_no_label(found: Form, spec: OperandSpec) -> bool:
    """Whether the name of a label cannot be here: only branches take one."""
    return found.operand_type(spec) in types.WIDTH or found.op.does is Action.BARRIER


def wrong_kind(found: Form, k: int, spec: OperandSpec, operand: Operand, find: Find) -> Misfit | None:
    """An operand of a kind that can never be where one value is: an address, braces, two results, a minus."""
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
    in_any = spec.type == "any" and (found.op.does is Action.BARRIER or spec.name == "src_size")
    if found.operand_type(spec) not in types.WIDTH and not in_any:
        return None
    if isinstance(operand, Address):
        type_ = found.type if str(found.type) in types.WIDTH else "b32"
        first = found.op.operands[k].role != "dst" if k < len(found.op.operands) else True
        variable = find(operand.base.text) if isinstance(operand.base, Name) else None
        space = variable.space if variable is not None and variable.space in ("shared", "local", "const") else "global"
        access = f"ld.{space}.{type_} %x, {operand};" if first else f"st.{space}.{type_} {operand}, %x;"
        return Misfit(k, f"{found.opcode} takes no address in brackets here, found {operand}", before=access)
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
    if isinstance(operand, Sum) and operand.scale < 0 and found.op.does is not Action.VIDEO and find(operand.base.text):
        said = f"{found.opcode} takes no minus before a register, found {operand}: only neg changes a sign"
        return Misfit(k, said, before=f"neg.f32 %x, {operand.base};  (with the type of {operand.base}), and %x here")
    if isinstance(operand, Sum) and spec.role == "dst":
        return Misfit(k, f"{found.opcode} writes to a register here, found {operand}")
    if isinstance(operand, Sum) and (
        (found.op.does is Action.BARRIER and spec.type == "any") or found.operand_type(spec) == "pred"
    ):
        return Misfit(k, f"{found.opcode} takes a predicate here, found {operand}")
    if isinstance(operand, Number) and found.op.does is Action.VIDEO and found.count:
        return Misfit(k, f"{found.opcode} takes a register here, found {operand}: parts of a number cannot be selected")
    if isinstance(operand, Sum) and found.op.does is Action.VIDEO and operand.scale < 0 and not found.product:
        return Misfit(k, f"{found.opcode} takes no minus before a register, found {operand}: only vmad does")
    if isinstance(operand, Sum) and found.op.does is Action.VIDEO and operand.offset and spec.name != "c":
        return Misfit(k, f"{found.opcode} takes a register here, found {operand}")
    return None


def _literal(found: Form, k: int, wanted: str, number: Number) -> Misfit | None:
    """A number of the wrong kind."""
    if wanted in ("f32", "f64"):
        if number.kind != "int":
            return None
        hexadecimal = number.text.lower().startswith("0x") and len(number.text) - 2 == types.width(wanted) // 4
        text = f"0{'fd'[wanted == 'f64']}{number.text[2:]}" if hexadecimal else f"{number.value}.0"
        return Misfit(k, f"{found.opcode} takes a floating-point number here, found the integer {number.text}", text)
    if types.is_float(wanted) or "x" in wanted:
        said = f"{found.opcode} takes no literal of type .{wanted}"
        return Misfit(k, f"{said}; put its bits into a register with mov first")
    if wanted == "pred" and number.kind != "int":
        return Misfit(k, f"{found.opcode} takes a predicate here, found the number {number.text}")
    if number.kind == "int":
        return None
    if (wanted, number.kind) in (("b32", "f32"), ("b64", "f64")):
        return None
    value = float(number.value)
    text = str(int(value)) if math.isfinite(value) and value == int(value) else ""
    return Misfit(k, f"{found.opcode} takes an integer here, found the floating-point number {number.text}", text)


def _special(found: Form, k: int, wanted: str, name: str) -> Misfit | None:
    """A special register, which only `mov` and `cvt` read, and `mov` with its own width."""
    given = SPECIAL[name].type
    before = f"mov.{given} %r, {name};"
    if found.op.does not in READ_SPECIAL:
        return Misfit(k, f"{found.opcode} cannot read {name}; only mov can", before=before)
    wide = {types.width(wanted), types.width(given)} == {32, 64} and name != "%gridid"
    if found.op.does is Action.CONVERT:
        if not found.pack and _types(found).issubset(types.INTEGERS) and types.width(wanted) <= types.width(given):
            return None
        return Misfit(k, f"{found.opcode} cannot read {name}, which is .{given}", before=before)
    if found.op.does is Action.MOVE and wide:
        return Misfit(k, f"{name} is .{given}; {found.opcode} takes {in_words(wanted)}", before=before)
    return None

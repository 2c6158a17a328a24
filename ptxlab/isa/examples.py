"""A line of PTX for every entry of the table: shown in the reference, assembled by the tests."""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.isa import fragments, types
from ptxlab.isa.actions import Action
from ptxlab.isa.entries import Op, OperandSpec
from ptxlab.isa.matching import form
from ptxlab.isa.table import Form, FormError

DECLARATIONS = """\
.reg .pred %p<9>;
.reg .b8 %b<33>;
.reg .b16 %h<33>;
.reg .b32 %r<193>;
.reg .b64 %rd<33>;
.reg .f32 %f<193>;
.reg .f64 %fd<17>;
.reg .b128 %q<9>;
.shared .align 128 .b8 tile[1024];
.local .align 16 .b8 stack[64];
"""
"""What the examples need in a kernel with a `.param .u64 input`, besides a `.const .b8 table[64]` before it."""

_BANKS = {8: "b", 16: "h", 32: "r", 64: "rd", 128: "q"}
_ADDRESS = {"shared": "[tile]", "param": "[input]", "const": "[table]", "local": "[stack]"}
_GIVEN = ("fraction", "imm_trans_b")
"""Optional operands that examples give."""
_INTEGERS = {"lut": 0x96, "size": 16, "n": 0, "count": 64, "a": 1, "imm_scale_a": 1, "imm_scale_b": -1}


def opcodes(entry: Op) -> Iterator[str]:
    """Dotted opcodes of an entry: the shortest, then for each slot every word it can hold, one slot at a time."""
    plain = {s.name: "" if s.optional else s.choices[0] for s in entry.slots}
    seen = set()
    for slot, word in [("", ""), *((s.name, w) for s in entry.slots for w in s.choices)]:
        chosen = plain | ({slot: word} if slot else {})
        text = ".".join([entry.name, *(w for s in entry.slots if (w := chosen[s.name]))])
        try:
            found = form(text)
        except FormError:
            continue
        if found.op is entry and text not in seen:
            seen.add(text)
            yield text


def line(opcode: str) -> str:
    """An instruction with this opcode, operands and all: `fma.rn.f32 %f1, %f2, %f3, %f4;`."""
    found = form(opcode)
    texts: list[str] = []
    number = 1
    for spec in found.op.operands:
        if spec.second and found.geom:
            continue  # not before PTX 7.1
        if spec.second:
            texts[-1] += f"|{_register('pred' if spec.type == 'pred' else found.operand_type(spec), number)}"
        elif not spec.optional or (spec.name == "policy" and found.L2_cache_hint) or spec.name in _GIVEN:
            texts.append(_operand(found, spec, number))
        number += 1
    return f"{opcode} {', '.join(texts)};".replace(" ;", ";")


def _register(type: str, number: int) -> str:
    if type == "pred":
        return f"%p{number}"
    width = types.width(type)
    if type in ("f32", "f64"):
        return f"%{'f' if type == 'f32' else 'fd'}{number}"
    return f"%{_BANKS[width]}{number}"


def _operand(found: Form, spec: OperandSpec, number: int) -> str:
    type = found.operand_type(spec)
    if type == "addr":
        return _address(found, spec)
    if type == "label":
        return "done"
    if type == "int":
        if spec.name == "size" and found.op.name != "cp":
            return "128"
        return str(_INTEGERS.get(spec.name, 0))
    if spec.name == "membermask":
        return "0xffffffff"
    if spec.name in ("size", "count") or (found.op.name in ("bar", "barrier") and spec.role == "src" and type == "u32"):
        return {"a": "0", "b": "64"}.get(spec.name, "64")
    if type == "vec":
        count = int(found.vec[1:])
        return "{" + ", ".join(_register(found.type, count * number + k) for k in range(count)) + "}"
    if type == "any" and found.tensor and found.dim:
        return "{" + ", ".join(f"%h{k + 1}" for k in range(int(found.dim[0]) - 2)) + "}"
    if type == "any" and found.op.does is Action.SAMPLE:
        return _coordinates(found, derivative=True)
    if type == "any":
        return _fragment(found, spec, number)
    return _register(type, number)


def _address(found: Form, spec: OperandSpec) -> str:
    if found.tensor and found.dim and spec.name == ("b" if found.completion else "a"):
        place = ", ".join(f"%r{k + 1}" for k in range(int(found.dim[0])))
        return f"[%rd2, {{{place}}}]"
    if found.geom:
        return f"[%rd1, {_coordinates(found)}]"
    if found.op.does is Action.FILL:  # the assembler takes registers only
        return "[%r1]" if found.space else "[%rd1]"
    if found.op.does is Action.COPY_MAP:
        return "[%rd1]" if spec.name == "a" else "[tile]"
    if found.op.name == "cp":
        to_global = ".global" in found.opcode.partition(".shared")[0]
        return "[%rd1]" if (spec.name == "a") == to_global else "[tile]"
    if found.op.name in ("mbarrier", "ldmatrix", "stmatrix"):
        return "[tile]"
    return _ADDRESS.get((found.space or "").partition("::")[0], "[%rd1]")


def _coordinates(found: Form, derivative: bool = False) -> str:
    """The place in a texture or surface, or a derivative of it; four elements where there would be three."""
    bank = "f" if found.ctype == "f32" or found.comp else "r"
    geometry = str(found.geom)
    count = {"1d": 1, "2d": 2, "3d": 4, "a1d": 1, "a2d": 3, "cube": 4, "acube": 3, "2dms": 4, "a2dms": 3}[geometry]
    names = [f"%{bank}{k + 1}" for k in range(count)]
    if derivative:
        count = {"a2d": 2, "acube": 4}.get(geometry, count)
        return "{" + ", ".join(f"%{bank}{k + 1}" for k in range(count)) + "}"
    return "{" + ", ".join(["%r5", *names] if geometry[0] == "a" else names) + "}"


def _fragment(found: Form, spec: OperandSpec, number: int) -> str:
    """The registers of a matrix operand; of a barrier's reduction the predicate."""
    if found.op.name in ("bar", "barrier"):
        return "%p1"
    if found.op.does is Action.WARPGROUP_PRODUCT:
        if spec.name == "a":
            return "%rd1"
        fragment = fragments.operands(found)[spec.name]
        kind = "f32" if found.dtype == "f32" else "b32"
        return "{" + ", ".join(_register(kind, k) for k in range(fragment.registers)) + "}"
    if found.num:
        count, type = int(found.num[1:]), "b32"
    else:
        count, type = fragment_registers(found, spec.name if found.matrix is None else found.matrix)
    return "{" + ", ".join(_register(type, count * number % 8 + k) for k in range(count)) + "}"


def fragment_registers(found: Form, matrix: str) -> tuple[int, str]:
    """How many registers of which type a lane holds of matrix a, b, c or d of an mma or wmma form."""
    rows, columns, depth = fragments.shape(found.shape)
    element = found.type if found.matrix else getattr(found, f"{matrix}type")
    depth_a = depth // 2 if found.sparse else depth
    size = {"a": rows * depth_a, "b": depth * columns}.get(matrix, rows * columns)
    if found.op.name == "wmma" and element == "f16" and matrix in "ab":
        return 8, "b32"  # every element twice
    if found.opcode.startswith("mma.sync.aligned.m8n8k4") and element != "f64":
        size *= 4  # four products at once
    bits = {"tf32": 32, "u4": 4, "s4": 4, "b1": 1}.get(element) or types.width(element)
    if bits >= 32:
        return size // 32, "f64" if element == "f64" else "f32" if element == "f32" else "b32"
    return max(1, size * bits // 32 // 32), "b32"

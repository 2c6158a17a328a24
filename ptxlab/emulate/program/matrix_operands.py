"""The operands of matrix instructions: whether they have the number and width of registers that the form takes."""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Code, Group, Literal, Reg, Source
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.emulate.program.program import Program
from ptxlab.isa import fragments, sparse
from ptxlab.isa.actions import Action

Elements = tuple[Source | None, ...]


def elements(program: Program, code: Code) -> dict[str, Elements]:
    """The registers (or literals, or None for the sink) behind each register operand, by its name in the table.

    Raises `PtxError` where their number or width is not what the instruction takes.
    """
    form = code.form
    into = [s.name for s in form.op.operands if s.role == "dst"]
    given = dict(zip(into, code.dests, strict=True)) | {name: source for name, (source, _) in code.named.items()}
    out: dict[str, Elements] = {}
    registers = program.registers
    for name, fragment in fragments.operands(form).items():
        operand = given[name]
        if code.action is Action.WARPGROUP_PRODUCT and name == "a" and isinstance(operand, Reg):
            continue  # a descriptor: a is in shared memory
        found = operand.elements if isinstance(operand, Group) else (operand,)
        widths = {
            8 * DTYPE[lane].itemsize if lane else fragment.width
            for lane in {registers[e.index].lane if type(e) is Reg else "" for e in found}
        }
        if len(found) != fragment.registers or widths != {fragment.width}:
            one = fragment.registers == 1
            wants = f"{fragment.registers} {'register' if one else 'registers'} of {fragment.width} bits"
            text = f"{len(found)} of {' and '.join(str(w) for w in sorted(widths))} bits"
            raise program.error(code, f"{name} of {form.opcode} is {wants}, found {text}")
        out[name] = found
    return out


def warpgroup_registers(program: Program) -> frozenset[int]:
    """The registers of all products of `wgmma`: of their sums, of A and of its metadata."""
    return frozenset(
        r.index
        for code in program.codes
        if code.action is Action.WARPGROUP_PRODUCT
        for name, of in elements(program, code).items()
        if name in "ade"
        for r in of
        if isinstance(r, Reg)
    )


def metadata(program: Program, code: Code) -> sparse.Metadata | None:
    """Where a sparse product's metadata lies, None for other products. Raises `PtxError` for an invalid selector."""
    form = code.form
    if not form.sparse:
        return None
    given, _ = code.named["f"]
    assert isinstance(given, Literal)
    selector, count = int(given.value), sparse.selectors(form)
    if not 0 <= selector < count:
        legal = "0" if count == 1 else f"0 to {count - 1}"
        raise program.error(
            code, f"the sparsity selector of {form.opcode}, its last operand, is {legal}, found {selector}"
        )
    return sparse.metadata(form, selector)


def bits_of(source: Literal, width: int) -> int:
    return (int(source.value) if source.kind == "int" else source.bits) & ((1 << width) - 1)

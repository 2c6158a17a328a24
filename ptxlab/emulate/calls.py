"""Calls of PTX functions: arguments are copied into the callee's frame, results back out of it.

A function has one static frame, because recursion is refused: its parameters and local variables lie at fixed offsets
of each thread's local memory. A call is then copies, a jump that leaves the return block's number in a register of
the function, and, where it comes back, copies again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxlab.emulate import layout
from ptxlab.emulate.program import Literal, Mem, Reg, Source, Symbol
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa.table import Form, form
from ptxlab.text import model

if TYPE_CHECKING:
    from ptxlab.emulate.lowering import Lowering
    from ptxlab.emulate.scopes import Routine, Scope

Guard = tuple[int, bool] | None


def lower_call(
    low: Lowering, instruction: model.Instruction, found: Form, guard: Guard, scope: Scope, routine: Routine
) -> None:
    """Emits the copies in, the call and the copies out."""
    given, line = list(instruction.operands), instruction.line
    results: tuple[model.Operand, ...] = ()
    arguments: tuple[model.Operand, ...] = ()
    if given and isinstance(given[0], model.Parens):
        results = given.pop(0).elements  # type: ignore[union-attr]
    target = str(given.pop(0))
    if given and isinstance(given[0], model.Parens):
        arguments = given.pop(0).elements  # type: ignore[union-attr]
    function = low.functions.get(target)
    if function is None:
        raise UnsupportedInstruction(
            f"the CPU machine cannot call {target!r}: " + (
                "calls through a register are not executed yet" if given or target.startswith("%")
                else "the module does not define it"
            ),
            line=line, column=instruction.column, source=low.text(line), file=low.module.file,
            length=len(instruction.opcode),
        )  # fmt: skip
    callee = low.routine(function)
    if len(arguments) != len(callee.formals) or len(results) != len(callee.results):
        raise low.error(
            f"{target} takes {len(callee.formals)} arguments and gives {len(callee.results)} results, "
            f"the call has {len(arguments)} and {len(results)}", line,
        )  # fmt: skip
    for actual, formal in zip(arguments, callee.formals, strict=True):
        _move(low, low.operand(actual, scope, routine, line), _place(low, callee, formal), formal, line, guard)
    code = low.emit("call", found, line, guard)
    code.instruction, code.callee = instruction, target
    for actual, formal in zip(results, callee.results, strict=True):
        _move(low, _place(low, callee, formal), low.operand(actual, scope, routine, line), formal, line, guard)


def _place(low: Lowering, callee: Routine, formal: model.Variable) -> Source | None:
    return low.operand(model.Name(formal.name), callee.scope, callee, formal.line)


def _move(
    low: Lowering, source: Source | None, dest: Source | None, formal: model.Variable, line: int, guard: Guard
) -> None:
    """One argument or result: between frames, or between a register (or immediate) and a frame."""
    if dest is None:
        return
    plain = "b" + formal.type[1:] if formal.type[0] in "us" else formal.type
    if isinstance(source, Symbol) and isinstance(dest, Symbol):
        code = low.emit("%copy", None, line, guard)
        code.copy = (source.value, dest.value, layout.size_of(formal))
        code.space = "frame"
    elif isinstance(dest, Symbol) and isinstance(source, Reg | Literal):
        code = low.emit("st", form(f"st.param.{plain}"), line, guard)
        code.sources, code.source_types, code.space = (Mem(dest, 0), source), ("addr", plain), "frame"
    elif isinstance(source, Symbol) and isinstance(dest, Reg):
        code = low.emit("ld", form(f"ld.param.{plain}"), line, guard)
        code.dests, code.dest_types = (dest,), (plain,)
        code.sources, code.source_types, code.space = (Mem(source, 0),), ("addr",), "frame"
    elif isinstance(source, Reg | Literal) and isinstance(dest, Reg):
        code = low.emit("mov", form(f"mov.{plain}"), line, guard)
        code.dests, code.dest_types, code.sources, code.source_types = (dest,), (plain,), (source,), (plain,)
    else:
        raise low.error(f"cannot pass {formal.name}", line)

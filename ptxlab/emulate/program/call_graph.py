"""A module's functions: its entry, which may have several activations at once, and whose address is taken."""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.emulate.program.block_order import reachable
from ptxlab.errors import LaunchError
from ptxlab.isa import Action, action_of
from ptxlab.text import model
from ptxlab.text.model import Function, Instruction, Module

FIRST_ADDRESS, EACH = 0x1000, 16
"""The address of the first function whose address is taken, and the distance to the next: far below all memory."""


def entry_function(module: Module, name: str | None) -> Function:
    """The kernel of that name; without a name the only kernel of the module."""
    kernels = {f.name: f for f in module.kernels if f.body is not None}
    if name is None and len(kernels) == 1:
        return next(iter(kernels.values()))
    listed = ", ".join(kernels) or "none"
    if name is None:
        raise LaunchError(f"entry: the module has {len(kernels)} kernels ({listed}); name one with entry=")
    if name not in kernels:
        raise LaunchError(f"entry: no kernel {name!r} in the module; it has {listed}")
    return kernels[name]


class CallGraph:
    """The calls of a module.

    taken: the address of each function that a pointer may hold. stacked: the functions whose frames lie on a stack,
    because they may be entered again before they have returned, or lie between such functions in a chain of calls.
    """

    def __init__(self, module: Module) -> None:
        bodies = {f.name: f for f in module.functions if f.body is not None and f.kind == "func"}
        self.taken: dict[str, int] = {}
        self.stacked: set[str] = set()
        if not bodies:
            return
        declared = {f.name for f in module.functions}
        names: dict[str, None] = {}
        calls: dict[str, set[str]] = {}
        through_pointer = set()
        seen: set[int] = set()  # operands that are written alike are one object
        for v in module.variables:
            names |= dict.fromkeys(_initial_names(v.initial))
        for f in module.functions:
            calls[f.name] = set()
            for instruction in f.instructions():
                if action_of(instruction.opcode) is not Action.CALL:
                    for operand in instruction.operands:
                        if id(operand) not in seen:
                            seen.add(id(operand))
                            for name in operand_names(operand):
                                names[name] = None
                elif (target := called(instruction)) in bodies:
                    calls[f.name].add(target)
                elif target not in declared:
                    through_pointer.add(f.name)
        known = [name for name in names if name in bodies]
        self.taken = {name: FIRST_ADDRESS + EACH * k for k, name in enumerate(known)}
        for name in through_pointer:
            calls[name] |= set(known)
        reach = {name: reachable(calls[name], lambda at: calls.get(at, ())) for name in calls}
        again = {name for name in bodies if name in reach[name]}
        below = set().union(*(reach[name] for name in again)) if again else set()
        self.stacked = again | {name for name in below if reach[name] & again}


def called(instruction: Instruction) -> str:
    """What a call names: a function, or the register that holds one."""
    return str(next(o for o in instruction.operands if not isinstance(o, model.Parens)))


def operand_names(operand: object) -> Iterator[str]:
    """Every name in an operand."""
    if isinstance(operand, model.Name):
        yield operand.text
    elif isinstance(operand, model.Vector | model.Parens):
        for element in operand.elements:
            yield from operand_names(element)
    elif isinstance(operand, model.Pair):
        yield from operand_names(operand.first)
        yield from operand_names(operand.second)
    elif isinstance(operand, model.Not):
        yield from operand_names(operand.operand)
    elif isinstance(operand, model.Address | model.Sum | model.Element):
        yield from operand_names(operand.base)


def _initial_names(initial: object) -> Iterator[str]:
    if isinstance(initial, tuple):
        for element in {id(element): element for element in initial}.values():  # of a long array many are one object
            yield from _initial_names(element)
    else:
        yield from operand_names(initial)

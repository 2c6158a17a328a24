"""PTX that replaces one instruction: written as text, and lowered as if it stood at that line."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from ptxlab.emulate.program.flat_program import Reg, Source, Symbol
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.emulate.program.scopes import Routine, Scope
from ptxlab.isa.actions import Action
from ptxlab.text import model, parse


def lower_text(
    low: Lowering,
    text: str,
    instruction: model.Instruction,
    routine: Routine,
    names: Mapping[str, Source],
    reasons: Sequence[str] = (),
) -> None:
    """Emits the statements of `text` in the place of an instruction. names: what names that the text does not declare
    mean. reasons: what the fault says at each `trap`, in order. Bytes that the text loads and stores count as the
    instruction's."""
    scope = Scope(None)
    for name, source in names.items():
        if isinstance(source, Symbol):
            scope.symbols[name] = source
        else:
            scope.registers[name] = cast("Reg", source)  # or a number: what is only read may be any operand
    pending: list[tuple[model.Instruction, Scope, list[tuple[Scope, str]]]] = []
    behind = low.collect(_body(text), scope, pending, [])
    start, traps = len(low.codes), iter(reasons)
    for each, inner, before in pending:
        for where, label in before:
            where.labels[label] = len(low.codes)
        low.instruction(replace(each, line=instruction.line, tokens=()), inner, routine)
    for where, label in behind:
        where.labels[label] = len(low.codes)
    for code in low.codes[start:]:
        code.instruction, code.part_of = None, instruction
        if code.action is Action.TRAP:
            code.reason = next(traps)


@functools.lru_cache(maxsize=256)
def _body(text: str) -> model.Block:
    module = parse(f".version 8.7\n.target sm_90\n.address_size 64\n.func put()\n{{\n{text}\n}}\n")
    body = module.functions[0].body
    assert body is not None
    return body

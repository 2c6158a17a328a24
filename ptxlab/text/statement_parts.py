"""What a statement holds: the words of its opcode, the first word of each operand, its names, its labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from ptxlab.text.lexer import Token
from ptxlab.text.model import (
    Address,
    Block,
    Directive,
    Element,
    Instruction,
    Label,
    Name,
    Not,
    Operand,
    Pair,
    Parens,
    Sum,
    Vector,
)


def opcode_tokens(instruction: Instruction) -> Sequence[Token]:
    """The token of the opcode; several where it is written with white space in it, `ld .global .f32`."""
    start, end = _opcode(instruction)
    return instruction.tokens[start:end]


def _opcode(instruction: Instruction) -> tuple[int, int]:
    """Which of an instruction's tokens are its opcode: from, to."""
    place = instruction.line, instruction.column
    start = next(k for k, t in enumerate(instruction.tokens) if (t.line, t.column) == place)
    end = start + 1
    while instruction.tokens[end].kind == "directive":
        end += 1
    return start, end


def inside(opcode: Sequence[Token], at: int) -> tuple[Token, int]:
    """The token that holds character `at` of an opcode, and where in it; the last character where it ends before."""
    for token in opcode:
        if at < len(token.text):
            return token, at
        at -= len(token.text)
    return opcode[-1], len(opcode[-1].text) - 1


def operand_starts(instruction: Instruction) -> list[Token]:
    """The first token of each operand."""
    tokens, (_, k) = instruction.tokens, _opcode(instruction)
    starts, depth = [tokens[k]], 0
    for token, following in pairwise(tokens[k:]):
        depth += (token.text in "[{(") - (token.text in "]})")
        if token.text == "," and depth == 0:
            starts.append(following)
    return starts


def names_in(operand: Operand) -> Iterator[str]:
    """Every name in an operand."""
    if isinstance(operand, Name):
        yield operand.text
    elif isinstance(operand, (Vector, Parens)):
        yield from chain.from_iterable(map(names_in, operand.elements))
    elif isinstance(operand, Pair):
        yield from chain(names_in(operand.first), names_in(operand.second))
    elif isinstance(operand, Not):
        yield from names_in(operand.operand)
    elif isinstance(operand, (Sum, Element)):
        yield operand.base.text
        if isinstance(operand, Element):
            yield from names_in(operand.index)
    elif isinstance(operand, Address):
        yield from names_in(operand.base)
        if operand.register_offset is not None:
            yield operand.register_offset.text
        yield from chain.from_iterable(map(names_in, operand.extra))


def labels_in(section: Directive) -> Iterator[str]:
    texts = [t.text for t in section.tokens]
    return (name for name, colon in pairwise(texts) if colon == ":")


def all_labels(block: Block) -> Iterator[str]:
    for statement in block.statements:
        if isinstance(statement, Instruction):
            continue  # most are
        if isinstance(statement, Label):
            yield statement.name
        elif isinstance(statement, Directive) and statement.label:
            yield statement.label
        elif isinstance(statement, Block):
            yield from all_labels(statement)

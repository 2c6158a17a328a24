"""PTX as text: `parse` reads it into a frozen tree that prints back byte for byte."""

from __future__ import annotations

from ptxlab.text.lexer import Token
from ptxlab.text.model import (
    Address,
    Block,
    Declaration,
    Directive,
    Element,
    Function,
    Guard,
    Initial,
    Instruction,
    Label,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Parens,
    Statement,
    Sum,
    Variable,
    Vector,
)
from ptxlab.text.parser import parse

__all__ = [
    "Address",
    "Block",
    "Declaration",
    "Directive",
    "Element",
    "Function",
    "Guard",
    "Initial",
    "Instruction",
    "Label",
    "Module",
    "Name",
    "Not",
    "Number",
    "Operand",
    "Pair",
    "Parens",
    "Statement",
    "Sum",
    "Token",
    "Variable",
    "Vector",
    "parse",
]

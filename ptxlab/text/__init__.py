"""PTX as text: `parse` reads it into a frozen tree that prints back byte for byte."""

from __future__ import annotations

from ptxlab.text.model import (
    Address,
    Block,
    Declaration,
    Directive,
    Element,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Parens,
    Sum,
    Variable,
    Vector,
)  # fmt: skip
from ptxlab.text.parser import parse
from ptxlab.text.source_lines import SourceLines, String

__all__ = [
    "Address", "Block", "Declaration", "Directive", "Element", "Function", "Guard", "Instruction", "Label", "Module",
    "Name", "Not", "Number", "Operand", "Pair", "Parens", "SourceLines", "String", "Sum", "Variable", "Vector", "parse",
]  # fmt: skip

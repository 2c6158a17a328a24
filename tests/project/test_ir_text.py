"""LLVM's instructions are written by the builder's methods: few strings elsewhere in the machine hold one."""

from __future__ import annotations

import ast
import re

import pytest
from package_sources import PACKAGE
from package_sources import tree as parsed

WORDS = (
    "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem fneg icmp fcmp select load "
    "store getelementptr alloca call tail br switch ret unreachable phi trunc zext sext fptrunc fpext fptoui fptosi "
    "uitofp sitofp ptrtoint inttoptr bitcast insertelement extractelement shufflevector insertvalue extractvalue "
    "atomicrmw cmpxchg fence freeze declare define"
)
BEGINS = re.compile(rf"\s*([%\0][\w.\0]* = )?({'|'.join(WORDS.split())}) \S")
BUILDERS = {"emulate/jit/llvm/ir_text.py"}
MOST = 36
"""So many strings may stand outside the builders: declarations, heads of functions, and what no method is worth."""


def instructions(tree: ast.AST) -> list[tuple[int, str]]:
    """(line, text) of the strings that begin like an instruction, docstrings left out; what is put in shows as \\0."""
    out = []
    within = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    within |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in within:
            text = node.value
        if BEGINS.match(text):
            out.append((getattr(node, "lineno", 0), text))
    return out


@pytest.mark.long
def test_few_instructions_are_written_as_text() -> None:
    found = {}
    for path in sorted((PACKAGE / "emulate/jit").rglob("*.py")):
        found[path.relative_to(PACKAGE).as_posix()] = instructions(parsed(path))
    counts = {name: len(lines) for name, lines in found.items() if lines}
    others = sum(count for name, count in counts.items() if name not in BUILDERS)
    assert others <= MOST, f"write them by `Text`; so many are in each file: {counts}"
    assert counts.keys() >= BUILDERS


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('t.let(f"add i64 {x}, 1")', 1),
        ('t.do(f"{name} = load i32, ptr {p}")', 1),
        ('t.do("%x = call i32 @f(ptr %p)")', 1),
        ('t.add("i64", x, 1)', 0),
        ('def f():\n    """load and store"""', 0),
        ('"add"', 0),
    ],
)
def test_what_counts(source: str, count: int) -> None:
    assert len(instructions(ast.parse(source))) == count

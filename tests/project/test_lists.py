"""Special registers, types and modifiers stand in ptxlab/isa once; nothing else lists them again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_sources import PACKAGE, nodes

from ptxlab.isa import TABLE, types
from ptxlab.isa.modifiers import WORDS
from ptxlab.isa.special_registers import NAMES
from ptxlab.text.directives import DIRECTIVES

TYPES = {*types.WIDTH, *types.SUB_BYTE, *types.OTHERS}
KINDS = {
    "special registers": set(NAMES),
    "types": TYPES,
    "modifiers": set(WORDS) - TYPES - TABLE.keys(),
    "directives": {word[1:] for word in DIRECTIVES},
}
MANY = 8
"""So many words of one kind in one expression are a list of them."""
ALLOWED = {
    ("builder/__init__.py", "types"): "the classes that a kernel imports",
    ("builder/printer.py", "types"): "the order in which declarations are printed",
    ("emulate/rules/bulk_copies.py", "types"): "how transfers number the types of reductions",
    ("emulate/rules/wrong_addresses.py", "modifiers"): "what stands before the state space in an opcode",
    ("gpu/tensor_maps.py", "types"): "how the driver names the types of elements",
    ("launch/arguments.py", "types"): "the numpy types of arrays",
    ("text/directives.py", "directives"): "the list",
    ("text/validate.py", "types"): "what a hint declares a register as",
}


def lists(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line, words) of each display, and of each string but prose that may be a list of words or of alternatives."""
    prose = {node.value for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
            elements = node.keys if isinstance(node, ast.Dict) else node.elts
            yield node.lineno, [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node.lineno, re.findall(r"\w+", node.value)


def found() -> dict[tuple[str, str], list[int]]:
    """(file in ptxlab, kind of words) -> the lines where many of them stand together."""
    out: dict[tuple[str, str], list[int]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("isa/", "course/")):
            continue
        for line, words in lists(path):
            plain = {word.lstrip("%.").partition(".")[0] for word in words}
            for kind, known in KINDS.items():
                if len(plain & known) >= MANY:
                    out.setdefault((name, kind), []).append(line)
    return out


@pytest.mark.long
def test_each_list_stands_once() -> None:
    again = found()
    assert again.keys() == ALLOWED.keys(), {place: lines for place, lines in again.items() if place not in ALLOWED}

"""What an instruction is stands in the table: outside ptxlab/isa nothing asks for an opcode by its name."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_sources import PACKAGE, nodes

from ptxlab.isa import TABLE, all_ops

OTHER = "another thing of the same name: "
ALLOWED = {
    "builder/lowered.py": OTHER + "the operations of a graph",
    "builder/memory.py": "`k.load` and `k.store` write the ld or st that they document",
    "builder/suggestions.py": "writes the call for instructions that the builder writes in another way",
    "builder/traced.py": OTHER + "the operations of a graph",
    "course/exercises": "teaches and grades single opcodes",
    "course/feedback_sentences.py": "tells whether a student's threads end before the last instruction",
    "course/gallery": "teaches single opcodes",
    "course/scoreboard": "says which instructions the next rung needs",
    "course/value_watch.py": "follows a student's kernel to single opcodes",
    "emulate/jit/translation/intrinsics.py": OTHER + "LLVM's words for operations",
    "emulate/program/video.py": "what each video instruction computes, in other instructions",
    "emulate/rules/sentences.py": "the line that a finding tells to write instead",
    "emulate/runtime/counters.py": OTHER + "the names of metrics",
    "frontends/structs.py": "changes the text of a compiler before it is parsed",
    "gpu/hazards.py": "looks for what the assembler trips over in texts that nothing has read",
    "kernels": "says which instructions a kernel is the first to use",
    "lab/static/arrays.js": "looks in the text that is shown for registers that hold addresses of arrays",
    "text/operand_rules.py": "a rule of the assembler that the table has no word for",
    "text/written_in_c.py": "writes the instructions for a statement of C",
}
"""File or folder in ptxlab -> why opcodes may be asked for by name there."""


def allowed_by(name: str) -> list[str]:
    """The entries of `ALLOWED` that a file falls under: its own, those of its folders."""
    return [entry for entry in ALLOWED if name == entry or name.startswith(f"{entry}/")]


TESTS_OF_TEXT = {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "index", "find", "count",
    "get", "pop", "setdefault", "isdisjoint", "issubset", "issuperset", "intersection",
}  # fmt: skip
ALSO_WORDS = {
    "abs", "bar", "barrier", "call", "discard", "fma", "match", "max", "min", "not", "prefetch", "red", "ret", "set",
    "tex", "trap", "vote",
}  # fmt: skip
"""Opcodes that are words of other things too: of Python, of LLVM, of the explorer."""
WORDS = ALSO_WORDS.union(*(slot.choices for entry in all_ops() for slot in entry.slots if not slot.literal))
"""And those that are modifiers: `.add` of atom is called like an opcode."""


@functools.cache
def is_opcode(text: str) -> bool:
    """Whether a string is an opcode, its modifiers included, and hardly a word of anything else: `ld`, `st.global`."""
    known = text.partition(".")[0] in TABLE and text not in WORDS
    return known and re.fullmatch(r"[a-z0-9]+(\.[\w:.]*)?", text) is not None


def asks(path: Path) -> Iterator[tuple[int, str]]:
    """(line, opcode) of each place that tells instructions apart by name: a comparison with a string, `in` a tuple or
    set of strings, a subscript, a `case`, `startswith` and the like; tuples, sets and dictionaries of nothing but
    opcodes, for what else are they for?"""
    for node in nodes(path):
        given: list[ast.expr | None] = []
        match node:
            case ast.Compare():
                given = [side for side in (node.left, *node.comparators) if not isinstance(side, ast.Call)]
            case ast.Call(func=ast.Attribute(attr=method), args=[first, *_]) if method in TESTS_OF_TEXT:
                given = [first]
            case ast.MatchValue(value=ast.expr() as one) | ast.Subscript(slice=ast.Constant() as one):
                given = [one]
            case ast.MatchMapping(keys=keys):
                given = [*keys]
            case ast.Dict(keys=elements) | ast.Set(elts=elements) | ast.Tuple(elts=elements) | ast.List(elts=elements):
                texts = [element.value for element in elements if isinstance(element, ast.Constant)]
                whole = len(texts) == len(elements) and all(isinstance(t, str) and is_opcode(t) for t in texts)
                given = [*elements] if whole else []
        for below in (below for each in given if each is not None for below in ast.walk(each)):
            if isinstance(below, ast.Constant) and isinstance(below.value, str) and is_opcode(below.value):
                yield below.lineno, below.value


IN_JAVASCRIPT = re.compile(r"""(["'])(?P<string>[\w.:]+)\1|[{,]\s*(?P<key>\w+):|/\^(?P<pattern>[^/\n]+)/""")
"""A string, the key of an object, or what a pattern says of the beginning of a text."""
WORDS_OF_PAGES = {"add", "and", "barrier", "div", "max", "min", "not", "or", "set", "wgmma", "xor"}
"""Opcodes that are also names of operations, elements of a page, or what the timeline and the scrubber show."""


def asks_in_javascript(source: str) -> Iterator[tuple[int, str]]:
    """(line, opcode) of each string, key or pattern in JavaScript that is an opcode: what else would it be for?"""
    for found in IN_JAVASCRIPT.finditer(source):
        words = re.findall(r"[a-z]\w*", found["pattern"]) if found["pattern"] else [found["string"] or found["key"]]
        for word in words:
            if is_opcode(word) and word not in WORDS_OF_PAGES:
                yield source.count("\n", 0, found.start()) + 1, word


@functools.cache
def places() -> dict[str, list[str]]:
    """File in ptxlab -> `line: opcode` of what is asked for by name in it."""
    out: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("isa/", "course/notebooks/")):
            continue
        out[name] = [f"{line}: {text}" for line, text in sorted(set(asks(path)))]
    for path in sorted((PACKAGE / "lab/static").glob("*.js")):
        if path.name != "editor.js":  # bundled: the editor's own parts are in frontend/
            found = sorted(set(asks_in_javascript(path.read_text(encoding="utf-8"))))
            out[f"lab/static/{path.name}"] = [f"{line}: {text}" for line, text in found]
    return {name: found for name, found in out.items() if found}


@pytest.mark.long
def test_nothing_outside_the_table_asks_for_an_opcode_by_name() -> None:
    wrong = [f"{name}:{place}" for name, found in places().items() if not allowed_by(name) for place in found]
    assert not wrong, "\n".join(["let the table say it (does=) and ask form.properties:", *wrong])


@pytest.mark.long
def test_what_is_allowed_is_needed() -> None:
    found = {entry for name in places() for entry in allowed_by(name)}
    assert sorted(ALLOWED.keys() - found) == []

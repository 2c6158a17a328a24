"""What an instruction is stands in the table: outside ptxlab/isa nothing asks for an opcode by its name."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import pytest
from package_sources import PACKAGE
from package_sources import tree as parsed

from ptxlab.isa import TABLE, all_ops

OTHER = "another thing of the same name: "
ALLOWED = {
    "builder/arithmetic.py": OTHER + "`set`, a method of variables",
    "builder/memory.py": "`k.load` and `k.store` write the ld or st that they document",
    "builder/operators.py": "which opcode each Python operator writes",
    "builder/source.py": OTHER + "`max`, `min` and `set` in the source of a kernel",
    "course/exercises": "teaches and grades single opcodes",
    "course/gallery": "teaches single opcodes",
    "course/pictures": "draws the way of a tile through single opcodes",
    "course/value_watch.py": "follows a student's kernel to single opcodes",
    "emulate/jit/atomics/operation.py": "the operations of atom and red, which are modifiers; LLVM's words for them",
    "emulate/jit/llvm/wide_operations.py": OTHER + "LLVM's instructions",
    "emulate/jit/translation/expressions.py": OTHER + "LLVM's instructions",
    "emulate/jit/translation/intrinsics.py": OTHER + "LLVM's words for operations",
    "emulate/language/vectors.py": OTHER + "words of the rules' language",
    "emulate/program/video.py": "what each video instruction computes, in other instructions",
    "emulate/rules/sentences.py": "the line that a finding tells to write instead",
    "emulate/runtime/counters.py": OTHER + "the names of metrics",
    "emulate/runtime/printf_output.py": OTHER + "a fault of kind trap",
    "frontends/structs.py": "changes the text of a compiler before it is parsed",
    "gpu/hazards.py": "looks for what the assembler trips over in texts that nothing has read",
    "kernels": "says which instructions a kernel is the first to use",
    "lab/attention_subject.py": OTHER + "`mma`, a kernel",
    "lab/counters_pane.py": OTHER + "the names of metrics",
    "lab/cuda_functions.py": "which instruction each function of CUDA becomes",
    "lab/descriptors.py": "looks for operands in a text that may not be whole yet",
    "lab/timeline.py": OTHER + "`wgmma`, a kind of span",
    "lab/trace_events.py": OTHER + "`wgmma`, a kind of span",
    "text/operand_rules.py": "a rule of the assembler that the table has no word for",
}
"""File or folder in ptxlab -> why opcodes may be asked for by name there."""


def allowed_by(name: str) -> list[str]:
    """The entries of `ALLOWED` that a file falls under: its own, those of its folders."""
    return [entry for entry in ALLOWED if name == entry or name.startswith(f"{entry}/")]


SLOTS: dict[str, set[str]] = {}
"""What holds a modifier, such as `form.operation`, and its words: `.add` of atom is called like an opcode."""
for _slot in (slot for entry in all_ops() for slot in entry.slots if not slot.literal):
    SLOTS.setdefault(_slot.name, set()).update(_slot.choices)
SLOTS["space"].add("tex")  # a state space of declarations
TESTS_OF_TEXT = {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "index", "find", "count",
    "get", "pop", "setdefault", "isdisjoint", "issubset", "issuperset", "intersection",
}  # fmt: skip
ALSO_WORDS = {"abs", "bar", "barrier", "call", "fma", "match", "not", "prefetch", "red", "ret", "set", "trap", "vote"}
"""Opcodes that are words of other things too: of Python, of LLVM, of the explorer."""


def is_opcode(text: str) -> bool:
    """Whether a string is an opcode, its modifiers included: `ld`, `st.global`."""
    return text.partition(".")[0] in TABLE and re.fullmatch(r"[a-z0-9]+(\.[\w:.]*)?", text) is not None


def is_plainly_opcode(text: str) -> bool:
    """Whether a string is an opcode, and hardly the word of a modifier or of anything else."""
    return is_opcode(text) and text not in ALSO_WORDS.union(*SLOTS.values())


def strings(node: ast.AST, constants: Mapping[str, list[str]] = MappingProxyType({})) -> list[str]:
    """The string constants in an expression, those that the names of `constants` stand for included."""
    out: list[str] = []
    for n in ast.walk(node):
        if isinstance(n, ast.Constant) and isinstance(n.value, str):
            out.append(n.value)
        elif isinstance(n, ast.Name | ast.Attribute):
            out += constants.get(n.id if isinstance(n, ast.Name) else n.attr, [])
    return out


def displayed(node: ast.AST | None) -> Iterator[str]:
    """The strings in a dictionary, tuple, set or list, and in those within it."""
    parts: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    elif isinstance(node, ast.Set | ast.Tuple | ast.List):
        parts = [*node.elts]
    for part in parts:
        if isinstance(part, ast.Constant | ast.JoinedStr):
            yield from strings(part)
        yield from displayed(part)


def statements(tree: ast.AST) -> Iterator[tuple[ast.stmt, bool]]:
    """The statements of a module and those of its classes, and whether it is one of a class."""
    for node in getattr(tree, "body", []):
        yield node, False
        if isinstance(node, ast.ClassDef):
            yield from ((inner, True) for inner, _ in statements(node))


def constants_of(tree: ast.AST) -> dict[str, list[str]]:
    """Constant of a module or of its classes -> the strings in its value: `WAITS = ("bar.sync", "nanosleep")`."""
    out: dict[str, list[str]] = {}
    for node, of_class in statements(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call) and len(value.args) == 1:  # frozenset((...))
            value = value.args[0]
        if isinstance(value, ast.Dict):  # `in` and subscripts ask for keys
            value = ast.List([key for key in value.keys if key is not None], ast.Load())
        plain = isinstance(value, ast.Constant | ast.Tuple | ast.Set | ast.List)
        if plain and isinstance(target, ast.Name) and (of_class or target.id.isupper()):
            out[target.id] = [text for text in strings(value) if is_opcode(text)]
    return out


def words_of(node: ast.AST) -> set[str]:
    """The words of the modifier that an expression is by its name."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return SLOTS.get(name, set())


FIELDS = {"bar", "max", "min"}
"""Opcodes that are also fields of records, asked for by subscripts."""
PATTERNS = {"compile", "match", "search", "fullmatch", "sub", "findall", "finditer", "split"}


def in_pattern(text: str) -> list[str]:
    """The opcodes that a regular expression looks for: `(bar|barrier)\\.`, `^ld\\.global`."""
    words = re.findall(r"(?<![\w\\.-])(?:\\b)?([a-z][a-z0-9_]+)(?=\\\.|\||\)(?![a-z])|\\b|\[\.)", text)
    return [word for word in words if is_opcode(word)]


def asks(tree: ast.AST, constants: Mapping[str, list[str]] = MappingProxyType({})) -> Iterator[tuple[int, str]]:
    """(line, opcode) of each place that tells instructions apart by name: a comparison with a string, `in` a tuple or
    set of strings, a subscript, a `case`, `startswith` and the like, a regular expression; tuples, sets and
    dictionaries of nothing but opcodes, for what else are they for?; opcodes in tables of modules and classes and as
    defaults of parameters. constants: those of other modules."""
    constants = {**constants, **constants_of(tree)}
    for node, _ in statements(tree):
        value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
        yield from ((node.lineno, text) for text in displayed(value) if is_plainly_opcode(text))
    of_modifiers: set[ast.AST] = set()
    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            words = set[str]().union(*map(words_of, sides))
            found = [text for side in sides if not isinstance(side, ast.Call) for text in strings(side, constants)]
            if words.issuperset(filter(is_opcode, found)):
                of_modifiers.update(sides)
                found = []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TESTS_OF_TEXT:
            found = [text for given in node.args[:1] for text in strings(given, constants)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PATTERNS:
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            texts = [text for given in node.args[:1] if of_re for text in strings(given, constants)]
            found = [word for text in texts for word in in_pattern(text)]
            if node.func.attr == "split" and isinstance(node.func.value, ast.Constant):  # "ld st".split()
                words = str(node.func.value.value).split()
                found = words if all(map(is_opcode, words)) else []
        elif isinstance(node, ast.MatchValue | ast.MatchMapping):
            patterns = node.keys if isinstance(node, ast.MatchMapping) else [node.value]
            found = [text for pattern in patterns for text in strings(pattern, constants)]
        elif isinstance(node, ast.arguments):
            given = [default for default in (*node.defaults, *node.kw_defaults) if isinstance(default, ast.Constant)]
            found = [text for default in given for text in strings(default) if is_plainly_opcode(text)]
        elif isinstance(node, ast.Subscript):
            found = strings(node.slice, constants) if isinstance(node.slice, ast.Constant | ast.Name) else []
            found = [text for text in found if text not in FIELDS]
        elif isinstance(node, ast.Dict | ast.Set | ast.Tuple | ast.List):
            elements = node.keys if isinstance(node, ast.Dict) else node.elts
            words = [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            whole = len(words) == len(elements) and all(map(is_opcode, words))
            found = words if whole and node not in of_modifiers else []
        for text in filter(is_opcode, found):
            yield getattr(node, "lineno", 0), text


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


def imported(tree: ast.AST) -> dict[str, list[str]]:
    """The constants that a module imports from others of the package, as `constants_of` has them."""
    out: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ptxlab."):
            path = PACKAGE.joinpath(*str(node.module).split(".")[1:]).with_suffix(".py")
            held = constants_of(parsed(path)) if path.is_file() else {}
            out |= {name.asname or name.name: held[name.name] for name in node.names if name.name in held}
    return out


@functools.cache
def places() -> dict[str, list[str]]:
    """File in ptxlab -> `line: opcode` of what is asked for by name in it."""
    out: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(("isa/", "course/notebooks/")):
            continue
        out[name] = [f"{line}: {text}" for line, text in sorted(set(asks(parsed(path), imported(parsed(path)))))]
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

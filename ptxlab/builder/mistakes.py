"""The builder's error messages: the place, the line with a caret, what is wrong and the line to write instead."""

from __future__ import annotations

import ast
import difflib
import linecache
from collections.abc import Callable, Iterable
from typing import Any

from ptxlab.builder.registers import IN_REGISTER, TYPES, f32, pred, tf32, u32
from ptxlab.builder.source import Site
from ptxlab.errors import BuildError
from ptxlab.isa.meanings import meant


class BuildTypeError(BuildError, TypeError):
    """A register was used where Python needs a value of its own (`range`, iteration, `int`)."""


class BuildAttributeError(BuildError, AttributeError):
    """The builder, or a register, has no such attribute."""


def message(site: Site | None, what: str, write: str = "", syntax: str = "") -> str:
    """The whole text of an error; `write` is the line to write instead, `syntax` the manual's."""
    out = [what]
    if site is not None:
        span = site.span
        out = [f"{span}: {what}"]
        line = linecache.getline(span.file, span.line).rstrip("\n")
        if line.strip():
            indent = len(line) - len(line.lstrip())
            column = len(line.encode()[: span.column].decode(errors="replace"))
            end = len(line.encode()[: span.end_column].decode(errors="replace"))
            if span.end_line != span.line:
                end = len(line)
            out.append("    " + line.strip())
            if end > column:
                out.append("    " + " " * (column - indent) + "^" + "~" * (end - column - 1))
    if syntax:
        out.append(f"  syntax: {syntax}")
    if write:
        out.append("  write:  " + write.replace("\n", "\n          "))
    return "\n".join(out)


def error(site: Site | None, what: str, write: str = "", syntax: str = "") -> BuildError:
    """A `BuildError` at a place."""
    return BuildError(message(site, what, write, syntax))


def type_error(site: Site | None, what: str, write: str = "") -> BuildTypeError:
    """A `BuildError` that is also a `TypeError`."""
    return BuildTypeError(message(site, what, write))


def attribute_error(site: Site | None, what: str, write: str = "") -> BuildAttributeError:
    """A `BuildError` that is also an `AttributeError`."""
    return BuildAttributeError(message(site, what, write))


def closest(word: str, words: Iterable[str]) -> list[str]:
    """At most two words that are meant by another one."""
    words = list(words)
    return [other for other in meant(word) if other in words] or difflib.get_close_matches(word, words, 2, 0.7)


def close(word: str, words: Iterable[str]) -> str:
    """`; did you mean a or b?`, or nothing."""
    found = closest(word, words)
    return f"; did you mean {' or '.join(found)}?" if found else ""


ASKS = {"ternary": "`a if p else b`", "chain": "a chain of comparisons means `and`, which", "max": "Python's `max`",
        "min": "Python's `min`"}  # fmt: skip
"""What asks for a truth value, by the word of a `Site`, where that is not the word itself."""


def of_kernel(node: ast.AST | None) -> str:
    """The builder's line for a statement or a call that asks a register for its truth value."""
    match node:
        case ast.While(test=test):
            return f"with k.while_(lambda: {ast.unparse(test)}):"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"k.select({ast.unparse(test)}, {ast.unparse(body)}, {ast.unparse(other)})"
        case ast.Assert(test=test):
            return f"with k.if_({ast.unparse(ast.UnaryOp(ast.Invert(), test))}):\n    k.trap()"
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return f"k.{name}({', '.join(map(ast.unparse, arguments))})"
    return f"with k.if_({ast.unparse(node.test) if isinstance(node, ast.If) else 'p'}):"


def truth(site: Site, has: str, line: Callable[[ast.AST | None], str] = of_kernel) -> BuildTypeError:
    """The error of `bool(register)`, in the words of the syntax that asked for it; `has`: why there is no truth;
    `line`: what to write instead of a statement or a call. Operators are the same everywhere."""
    word, node = site.test or ("", None)
    why = f"{ASKS.get(word, f'`{word}`')} is evaluated" if node else "Python asks for its truth value"
    match node:
        case ast.BoolOp(op=op, values=values):
            write = (" & " if isinstance(op, ast.And) else " | ").join(f"({ast.unparse(value)})" for value in values)
        case ast.UnaryOp(operand=operand):
            write = ast.unparse(ast.UnaryOp(ast.Invert(), operand))
        case ast.Compare(left=left, ops=[_, _, *_] as ops, comparators=rights):
            lefts = [left, *rights[:-1]]
            pairs = [ast.Compare(a, [op], [b]) for a, op, b in zip(lefts, ops, rights, strict=True)]
            write = " & ".join(f"({ast.unparse(pair)})" for pair in pairs)
        case ast.Compare():
            write = "(x == a) | (x == b)"
        case _:
            write = line(node)
    return type_error(site, f"{has}; {why} when the kernel is built", write)


def number(site: Site, shown: str, name: str, instead: str) -> BuildTypeError:
    """The error of `int(register)`, `range(register)`, `list[register]`, `math.exp(register)`; instead: the builder's
    line for a call of Python's mathematics, "" where a whole number is wanted."""
    has = f"{shown} is a register, which has a value only when the kernel runs"
    word, node = site.test or ("", None)
    if word == "range" and isinstance(node, ast.Call):
        write = as_loop([ast.unparse(a) for a in node.args])
        return type_error(site, f"{has}; `range` needs a number when the kernel is built", write)
    if word == "index" and not instead:
        return type_error(site, f"{has}; a Python list is indexed when the kernel is built", "tile = k.shared(f32, n)")
    if instead:
        return type_error(site, f"{has}; Python's mathematics works when the kernel is built", instead)
    return type_error(site, f"{has}; Python needs a whole number when the kernel is built", f"k.cvt(s32, {name})")


def as_loop(parts: list[str]) -> str:
    """The loop of the builder that counts as `range(*parts)` does."""
    start, stop, step = {1: ["0", *parts, "1"], 2: [*parts, "1"], 3: parts}.get(len(parts), ["0", "n", "1"])
    words = [stop, *([f"start={start}"] if start != "0" else []), *([f"step={step}"] if step != "1" else [])]
    return f"with k.loop({', '.join(words)}) as i:"


def conversion(to: type[Any], found: type[Any], text: str) -> str:
    """The line that makes a value of another type, for hints: numbers are converted, bits are read as they are. Empty
    where no instruction says what is meant, as from one f16 to two."""
    to, number = IN_REGISTER.get(to.ptx, to), ("float", "signed", "unsigned")
    if to is found:
        return text
    if found is pred:
        whole = f"k.select({text}, 1, 0, type=u32)"
        return whole if to is u32 else conversion(to, u32, whole)
    if to is pred:
        return f"{grouped(text)} != 0" if found.kind in (*number, "bits") else ""
    if (to.kind in number and found.kind in number) or (to is tf32 and found is f32):
        return f"k.cvt({to.ptx}, {text})"
    if to.bits == found.bits:
        return f"k.bitcast({to.ptx}, {text})"
    if "packed" in (to.kind, found.kind) or "float" in (to.kind, found.kind):
        return ""
    middle = TYPES[f"u{found.bits}"] if found.kind == "bits" else TYPES[f"u{to.bits}"]
    return conversion(to, middle, conversion(middle, found, text))


def grouped(text: str) -> str:
    """An expression's text as it may be written beside an operator: `(a + b)`."""
    try:
        simple = isinstance(ast.parse(text, mode="eval").body, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    except SyntaxError:
        simple = True
    return text if simple else f"({text})"

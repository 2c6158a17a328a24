"""The builder's error messages: the place, the line with a caret, what is wrong and the line to write instead."""

from __future__ import annotations

import difflib
import linecache
from collections.abc import Iterable

from ptxlab.build.source import Site
from ptxlab.errors import BuildError


class BuildTypeError(BuildError, TypeError):
    """A register was used where Python needs a value of its own (`range`, iteration, `int`)."""


class BuildAttributeError(BuildError, AttributeError):
    """The builder, or a register, has no such attribute."""


def message(site: Site | None, what: str, write: str = "", syntax: str = "") -> str:
    """The whole text of an error; `write` is the line to write instead, `syntax` the manual's."""
    out = [what]
    if site is not None:
        span = site.span
        out = [f"{span.file}:{span.line}: {what}"]
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
    """A `BuildError` that is a `TypeError`, too."""
    return BuildTypeError(message(site, what, write))


def close(word: str, words: Iterable[str]) -> str:
    """`; did you mean a or b?`, or nothing."""
    found = difflib.get_close_matches(word, list(words), 3, 0.6)
    return f"; did you mean {' or '.join(found)}?" if found else ""


TRUTH = {
    "if": ("`if` decides when the kernel is built", "with k.if_({0}):"),
    "while": ("`while` decides when the kernel is built", "with k.while_(lambda: {0}):"),
    "ternary": ("`a if p else b` decides when the kernel is built", "k.select({0}, a, b)"),
    "and": ("`and` needs a value when the kernel is built", "(a) & (b)"),
    "or": ("`or` needs a value when the kernel is built", "(a) | (b)"),
    "not": ("`not` needs a value when the kernel is built", "~{0}"),
    "chain": ("`a < b < c` means `a < b and b < c`, which needs a value when the kernel is built",
              "(a < b) & (b < c)"),
    "assert": ("`assert` needs a value when the kernel is built", "with k.if_(~({0})): k.trap()"),
    "in": ("`in` compares when the kernel is built", "(x == a) | (x == b)"),
    "max": ("Python's `max` compares when the kernel is built", "k.max(a, b)"),
    "min": ("Python's `min` compares when the kernel is built", "k.min(a, b)"),
}  # fmt: skip
"""What asks for a register's truth value -> why it cannot have one, and what to write."""


def truth(site: Site, shown: str) -> BuildTypeError:
    """The error of `bool(register)`, worded for the statement that asked."""
    why, write = TRUTH.get(site.test, ("its truth value is asked for when the kernel is built", "with k.if_({0}):"))
    text = site.text if site.test in ("if", "while", "ternary", "assert", "not") and site.text else "p"
    if site.test == "not" and text.startswith("not "):
        text = text[4:]
    if site.test == "not":
        text = f"({text})" if " " in text else text
    return type_error(site, f"{shown} is a register, which has a value only when the kernel runs; {why}",
                      write.format(text))  # fmt: skip


def number(site: Site, shown: str, what: str) -> BuildTypeError:
    """The error of `int(register)`, `range(register)`, `list[register]`, `float(register)`."""
    has = f"{shown} is a register, which has a value only when the kernel runs"
    if site.test == "range":
        arguments = site.text[6:-1] if site.text.startswith("range(") and site.text.endswith(")") else ""
        parts = [a.strip() for a in arguments.split(",")] if "(" not in arguments else []
        order = {1: "{0}", 2: "{1}, {0}", 3: "{1}, {0}, {2}"}.get(len(parts), "n")
        return type_error(site, f"{has}; `range` needs a number when the kernel is built",
                          f"with k.loop({order.format(*parts)}) as i:")  # fmt: skip
    if site.test == "index" and what == "index":
        return type_error(site, f"{has}; a Python list is indexed when the kernel is built", "tile = k.shared(f32, n)")
    return type_error(site, f"{has}; it cannot become a Python {what}", "k.cvt(s32, x) converts in the kernel")

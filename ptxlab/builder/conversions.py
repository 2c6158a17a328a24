"""What a message tells to write where a value has another type than is wanted."""

from __future__ import annotations

import ast
from typing import Any

from ptxlab.builder.registers import IN_REGISTER, TYPES, f32, pred, tf32, u32


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

"""Whether the initial value of a variable fits it, `.global .u32 x[2] = {1, 2};`, as NVIDIA's assembler judges."""

from __future__ import annotations

from collections.abc import Mapping

from ptxlab.text.model import Initial, Name, Number, Sum, Variable

ADDRESSES = ("b32", "b64", "u32", "u64")
"""The types that hold an address; one byte of an address, `0xFF(x)`, fits any integer."""


def mistake(variable: Variable, known: Mapping[str, str]) -> str:
    """What is wrong with an initial value; empty where nothing is. known: the space of each variable declared by then,
    "function" for functions."""
    v = variable
    if v.space not in ("global", "const"):
        return f".{v.space} variables have no initial value: store it when the kernel runs"
    if v.linkage == "extern":
        return f"{v.name} is .extern: its definition gives the initial value"
    if v.type in ("samplerref", "texref", "surfref"):
        return ""
    if v.type in ("f16", "f16x2"):
        return f".{v.type} has no initial value; write .b{16 if v.type == 'f16' else 32} and its bits"
    return _shape(v, v.initial, v.shape, known)


def _shape(v: Variable, given: Initial | None, shape: tuple[int, ...], known: Mapping[str, str]) -> str:
    """What is wrong with the braces, or with the first of the initial values in them that does not fit."""
    vector = not shape and v.vector > 1
    if shape or vector:
        length = shape[0] if shape else v.vector
        if not isinstance(given, tuple):
            return f"{v.name} has {length} elements here; write its initial values in braces; found {_text(given)}"
        if len(given) > length or (vector and len(given) != length):
            plural = "s" * (length != 1)
            return f"{len(given)} initial values for the {length} element{plural} that {v.name} has here"
        items = {id(item): item for item in given}.values()  # of a long array many are one object
        inner = (_scalar(v, item, known) if vector else _shape(v, item, shape[1:], known) for item in items)
        return next((why for why in inner if why), "")
    return _scalar(v, given, known)


def _scalar(v: Variable, given: Initial | None, known: Mapping[str, str]) -> str:
    if isinstance(given, tuple):
        return f"too many braces: an initial value of {v.name} is a single .{v.type}"
    if isinstance(given, Number):
        if v.type[0] == "f" and given.kind == "int":
            return f".{v.type} takes a floating-point number, found the integer {given}; write {given}.0"
        if v.type[0] in "us" and given.kind != "int":
            return f".{v.type} takes an integer, found the floating-point number {given}"
        return ""
    if not isinstance(given, Name | Sum):
        return f"cannot read the initial value {given}"
    symbol = given if isinstance(given, Sum) else Sum(given)
    space = known.get(symbol.base.text)
    if space is None:
        return f"{symbol.base} is not declared before {v.name}, whose initial value names it"
    if space not in ("global", "const", "function"):
        return f"{symbol.base} is .{space}; only the addresses of .global and .const variables are known beforehand"
    if v.type[0] == "f" or (not symbol.mask and v.type not in ADDRESSES):
        return f".{v.type} cannot hold the address of {symbol.base}; .u64 can"
    return ""


def _text(given: Initial | None) -> str:
    return "{...}" if isinstance(given, tuple) else str(given)

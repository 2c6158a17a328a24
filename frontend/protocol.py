"""Writes ptxlab/lab/static/protocol.d.ts: the types of ptxlab/lab/protocol.py for the page's JavaScript.

python frontend/protocol.py        from the root of the repository
"""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from ptxlab.lab import protocol

PATH = Path(protocol.__file__).parent / "static/protocol.d.ts"
PLAIN = {
    int: "number",
    float: "number",
    str: "string",
    bool: "boolean",
    bytes: "DataView",
    type(None): "null",
    Any: "any",
}


def typescript(kind: Any) -> str:
    """A type of Python as one of TypeScript."""
    origin, given = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if typing.is_typeddict(kind):
        return str(kind.__name__)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in given)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(typescript, given)))
    if origin is list:
        inner = typescript(given[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(map(typescript, given))}]"
    assert origin is dict, kind
    return f"Record<{typescript(given[0])}, {typescript(given[1])}>"


def declarations() -> str:
    """The text of protocol.d.ts."""
    out = ["// The types of ptxlab/lab/protocol.py, written by frontend/protocol.py.", ""]
    for name, kind in vars(protocol).items():
        if typing.is_typeddict(kind):
            fields = typing.get_type_hints(kind, vars(protocol))
            rows = [f"  {n}{'?' if n in kind.__optional_keys__ else ''}: {typescript(t)};" for n, t in fields.items()]
            out += [f"interface {name} {{", *rows, "}", ""]
    return "\n".join([*out, f"type Message = {typescript(protocol.Message)};", ""])


if __name__ == "__main__":
    PATH.write_text(declarations(), encoding="utf-8")

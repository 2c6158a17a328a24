"""Where fields of records lie, for the code that emits LLVM IR."""

from __future__ import annotations

from ptxlab.emulate.language import Record
from ptxlab.emulate.language.types import Scalar


def offset(record: type[Record], path: str) -> int:
    """The bytes from the start of a record to a field: "live", "fault.kind", "grid.1" for an element of an array or
    "given.2" for one of its rows."""
    name, *rest = path.split(".")
    field = record.fields[name]
    at, kind = field.offset, field.kind
    if rest and field.shape is not None:
        element = field.columns if len(field.shape.sizes) > 1 else 1
        at += int(rest.pop(0)) * element * kind.size
    if rest:
        if field.indirect or isinstance(kind, Scalar):
            raise KeyError(f"{record.__name__}.{path}: {name} is no record in place")
        at += offset(kind, ".".join(rest))
    return at

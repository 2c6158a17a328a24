"""Docstrings of public functions explain their parameters in numpydoc's form: each by its name, and no other."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import ptxlab as pl
from ptxlab.builder import Builder

PUBLIC = {f"pl.{name}": getattr(pl, name) for name in pl.__all__}
PUBLIC |= {f"pl.course.{name}": getattr(pl.course, name) for name in ("check", "score", "passage")}
CALLED = {
    name: type(value).__call__ if name in ("pl.numba", "pl.triton") else value
    for name, value in PUBLIC.items()
    if callable(value) and not (isinstance(value, type) and issubclass(value, BaseException))
}


def explained(docstring: str) -> list[str]:
    """The names in a section `Parameters`, without stars."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", docstring, re.MULTILINE | re.DOTALL)
    lines = section[1].splitlines() if section else []
    return [name.strip(" *") for line in lines if line[:1].strip() for name in line.split(",")]


def methods() -> dict[str, Any]:
    """Public methods of the classes that the reference shows, and of those that make a value."""
    shown = [Builder, *(value for of in (vars(pl.kernels), PUBLIC) for value in of.values() if isinstance(value, type))]
    found = {}
    for kind in shown:
        for name in dir(kind):
            value = getattr(kind, name)
            if name[0] != "_" and inspect.isroutine(value) and "Parameters\n" in (inspect.getdoc(value) or ""):
                found[f"{kind.__name__}.{name}"] = value
    return found


CALLED |= methods()


@pytest.mark.parametrize("name", sorted(CALLED))
def test_each_parameter_is_explained_by_its_name(name: str) -> None:
    value: Any = CALLED[name]
    has = [p for p in inspect.signature(value).parameters if p not in ("self", "unknown")]
    assert sorted(explained(inspect.getdoc(value) or "")) == sorted(has)

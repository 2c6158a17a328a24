"""What `attention` and `decode` have in common: types, the rows whose state is recorded, results as a table."""

from __future__ import annotations

import html
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ptxlab import options
from ptxlab.errors import LaunchError
from ptxlab.launch.run import show_seconds


def dtype_of(arrays: Mapping[str, NDArray[Any]], known: Mapping[str, str]) -> str:
    """The one type of all arrays as the kernels call it; `known`: numpy's names of those that there are kernels for."""
    found = [a.dtype.name for a in arrays.values()]
    for short, long in known.items():
        if set(found) == {long}:
            return short
    *names, last = arrays
    listed = ", ".join(f"{name} {dtype}" for name, dtype in zip(arrays, found, strict=True))
    one = f"one type of {', '.join(known.values())}"
    raise LaunchError(f"{', '.join(names)} and {last} should all have {one}; got {listed}")


def rows_of(state: Any, limits: tuple[int, ...], names: str) -> list[Any]:
    """The rows that a list asks to be recorded, each below `limits`; `names` are the parts of one, "sequence, head"."""
    many = {2: "pairs", 3: "triples"}[len(limits)]
    rows: list[Any] = []
    for item in [state] if (several := options.several(state)) is None else several:
        try:
            row = tuple(map(operator.index, item))
        except TypeError:
            row = ()
        if len(row) != len(limits):
            raise LaunchError(f"state: True or {many} ({names}) are wanted, got {item!r}")
        if not all(0 <= at < limit for at, limit in zip(row, limits, strict=True)):
            raise LaunchError(f"state: there is no row {row}; ({names}) are below {limits}")
        if row in rows:
            raise LaunchError(f"state: row {row} is listed twice")
        rows.append(row)
    return rows


def summary(kernel: str, result: Any, findings: Sequence[Any], **more: str) -> dict[str, str]:
    """The rows of a result's table; more: further ones, after the time."""
    e = result.error
    rows = {"kernel": kernel, "device": result.run.device, "time": show_seconds(result.seconds)} | more
    rows |= {"max error": f"{e.max:.2e}", "mean error": f"{e.mean:.2e}", "ULP": f"{e.ulp:.1f}"}
    rows |= {"tolerance": f"{e.tolerance:.2e}", "result": "pass" if e.ok else "FAIL"}
    return rows | {finding.check: finding.message for finding in findings}


def bundle(shown: object, rows: Mapping[str, str]) -> dict[str, str]:
    """A result for a notebook: its text, and its rows as a table."""
    cells = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows.items())
    return {"text/plain": repr(shown), "text/html": f"<table>{cells}</table>"}

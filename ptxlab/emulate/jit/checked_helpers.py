"""The LLVM functions that checked code calls, beside compiled rules: `checking.ll`, its constants filled in."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import linked_rules, rulecode, shadows
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.records import Launch, Store


def check_helpers(program: Program, checks: frozenset[str]) -> str:
    """The LLVM functions that checked code calls."""
    grain = races.granule(program)
    names = (
        "PENDING",
        "UNINITIALISED",
        "DIVERGENT",
        "EXITED",
        "COUNTS",
        "OMITTED",
        "GONE_LANE",
    )
    values: dict[str, object] = dict(shadows.CONSTANTS) | {name: getattr(F, name) for name in names}
    values |= {
        "SHARED_START": program.shared_start, "LOG_GRANULE": grain.bit_length() - 1,
        "SYNCHECK": "true" if "synccheck" in checks else "false",
        "INITCHECK": "true" if "initcheck" in checks else "false",
        "BITS": _vector("i32", (1 << k for k in range(W))),
        "STORE_MEMORY": Launch.offset("store") + Store.offset("memory"),
        "STORE_MEMORY_START": Launch.offset("store") + Store.offset("memory_start"),
    }  # fmt: skip
    heads = [rulecode.declaration(function) for function in linked_rules.CHECKS]
    return "\n".join([*heads, fill("checking.ll", **values)])


def _vector(kind: str, numbers: Any) -> str:
    return "<" + ", ".join(f"{kind} {n}" for n in numbers) + ">"

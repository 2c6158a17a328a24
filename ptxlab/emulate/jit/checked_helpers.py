"""The LLVM functions that checked code calls, beside compiled rules: `checking.ll`, its constants filled in."""

from __future__ import annotations

from ptxlab.emulate.jit import shadows
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.program.model import Program
from ptxlab.emulate.rules import findings as F
from ptxlab.emulate.rules import races
from ptxlab.emulate.rules.records import Launch, Store


def check_helpers(program: Program, checks: frozenset[str]) -> str:
    """The LLVM functions that checked code calls."""
    grain = races.granule(program)
    values: dict[str, object] = dict(shadows.CONSTANTS) | {
        "UNINITIALISED": F.UNINITIALISED, "LOG_GRANULE": grain.bit_length() - 1,
        "INITCHECK": "true" if "initcheck" in checks else "false",
        "STORE_MEMORY": Launch.offset("store") + Store.offset("memory"),
        "STORE_MEMORY_START": Launch.offset("store") + Store.offset("memory_start"),
    }  # fmt: skip
    return fill("checking.ll", **values)

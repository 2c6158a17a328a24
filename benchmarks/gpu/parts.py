"""The parts of the campaign in order of value: what is measured first is not lost when the time is short."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from benchmarks.gpu.campaign import Part


def _part(
    name: str, seconds: float, question: str, module: str = "", more: tuple[str, ...] = (), **options: Any
) -> Part:
    return Part(name, seconds, (sys.executable, "-m", f"benchmarks.gpu.{module or name}", *more), question, **options)


PARTS = (
    _part("facts", 45, "what is this machine, and what are its ceilings?"),
    _part("smoke", 60, "does anything run at all?", "tests", ("--part", "smoke")),
    _part("prefill", 150, "how fast is attention over a whole prompt, beside torch, cuDNN and Triton?"),
    _part("decode", 110, "how near to a copy of the memory is one decode step?"),
    _part("tests", 120, "do all tests that need a GPU pass?", "tests", ("--part", "tests")),
    _part("conformance", 120, "does the emulator compute the same bits?"),
    _part("counters", 60, "does the emulator count what Nsight Compute counts?"),
    _part("sanitizer", 100, "which planted bugs does compute-sanitizer find, and which do our checks?"),
    _part("tune", 90, "are the tiles that Config.auto chooses the fastest?"),
    _part("explain", 60, "what do hopper, pipelined and decode_gqa wait for?"),
    _part("programs", 60, "do programs from nvcc give the same results here and there?"),
    _part("ladder", 60, "what does each rung add, at 2048 positions?"),
)


def table_of(name: str, found: dict[str, Any]) -> str:
    """A part's own table, from what it has recorded; "" where it has none."""
    part = next((part for part in PARTS if part.name == name), None)
    if part is None:
        return ""
    return str(importlib.import_module(part.command[2]).table(found))

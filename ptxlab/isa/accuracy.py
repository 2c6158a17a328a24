"""How far the approximate instructions are off: measured on the emulator, beside the bound of the PTX manual.

The measurements come from a run against float64 (tests/support/accuracy_cases.py) and are held by a test. Hardware
interpolates in tables of its own, so its last bits differ; both stay within the manual's bound.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).with_name("accuracy.json")


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A bound of the manual (PTX ISA 9.0, the notes of each instruction) and the largest error that was measured.

    unit: "ulp" (units in the last place of the exact result), "absolute" or "relative"; where: for which inputs; ulp:
    the largest error in units in the last place, of results that are normal numbers.
    """

    opcode: str
    where: str
    unit: str
    bound: float
    measured: float
    ulp: float

    def __str__(self) -> str:
        measured, bound = (_number(x, self.unit) for x in (self.measured, self.bound))
        ulp = f", {_number(self.ulp, 'ulp')}" if self.unit == "relative" else ""
        return f"error at most {measured}{ulp}; the manual allows {bound} ({self.where})"


def _number(x: float, unit: str) -> str:
    return f"{x:.3g} ulp" if unit == "ulp" else f"2**{math.log2(x):.1f} {unit}"


@functools.cache
def accuracy(opcode: str = "") -> tuple[Accuracy, ...]:
    """What is known of an opcode (`"ex2.approx.f32"`, or `"ex2"` for all its types); everything without one."""
    rows = tuple(Accuracy(**row) for row in json.loads(PATH.read_text(encoding="utf-8")))
    return tuple(r for r in rows if not opcode or r.opcode == opcode or r.opcode.partition(".")[0] == opcode)

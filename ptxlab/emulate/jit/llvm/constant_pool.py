"""The constant pool of a long text: a table in memory from which code loads its constants.

LLVM compares a constant with all others of its function, and finds out what it can about each, lane by lane, more than
once. For some thousand lines of PTX that does not count. For 100,000 lines, each with a constant of its own, it takes
most of the time. A number that was loaded is any number to it. Those that it does something better with (powers of two,
divisors) are left to it, and small ones, of which there are few.
"""

from __future__ import annotations

import numpy as np

from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value

LONG = 2000
"""Instructions from which on a text is long."""
SMALL = 64
"""The bits of a number up to this one (and of no float but 0) are those of a small one."""


class ConstantPool:
    """The table of a function."""

    def __init__(self, t: Text, function: str) -> None:
        self.t, self.name = t, f"@constants.{function}"
        self._places: dict[int, int] = {}
        self._found: dict[tuple[str, int], str] = {}
        """Those that the basic block has, by its label and their bits."""

    def takes(self, value: Value) -> bool:
        """Whether a constant belongs here."""
        if value.lanes is None or not value.uniform or BITS[value.type] < 32:
            return False
        bits = _bits(value)
        return bits & (bits - 1) != 0 and SMALL < bits < (1 << BITS[value.type]) - SMALL

    def lanes(self, value: Value) -> str:
        """Such a constant in all lanes."""
        bits, type_ = _bits(value), LLVM[value.type]
        key = f"{self.t.here} {type_}", bits
        if key not in self._found:
            place = 8 * self._places.setdefault(bits, len(self._places))
            one = self.t.let(f"load {type_}, ptr getelementptr (i8, ptr {self.name}, i64 {place})")
            self._found[key] = self.t.splat(type_, one)
        return self._found[key]

    def text(self) -> list[str]:
        """The table, if there is anything in it. It is no constant to LLVM."""
        words = ", ".join(f"i64 {bits}" for bits in self._places)
        return [f"{self.name} = internal global [{len(self._places)} x i64] [{words}]"] if words else []


def _bits(value: Value) -> int:
    assert value.lanes is not None, "it is a constant"
    return int(value.lanes[:1].view(np.uint32 if BITS[value.type] == 32 else np.uint64)[0])

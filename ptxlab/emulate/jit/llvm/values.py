"""Values as LLVM IR: 32 lanes as one vector, or one scalar where all lanes are known to agree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ptxlab.emulate.jit.llvm.ir_text import Text, W

LLVM = {"i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "f32": "float", "f64": "double"}
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f32": 32, "f64": 64}


class Value:
    """One operand. `text` is an SSA name or a literal; `lanes` is the numpy array of a constant, else None. `raw` is
    the same number before its NaN was made canonical: enough for arithmetic, where a NaN stays one. `canonical`:
    whether its NaN is known to be that one. `bits`: of a predicate its lanes as an i32, where that is known; `nan_of`:
    of a test for NaN, the number tested."""

    __slots__ = ("_text", "bits", "canonical", "lanes", "nan_of", "raw", "type", "uniform")

    def __init__(
        self, text: str, type: str, uniform: bool, lanes: np.ndarray | None = None, raw: Value | None = None
    ) -> None:
        self._text, self.type, self.uniform, self.lanes, self.raw = text, type, uniform, lanes, raw
        self.bits, self.canonical = "", False
        self.nan_of: Value | None = None

    @property
    def text(self) -> str:
        """Its SSA name or literal."""
        return self._text

    @property
    def llvm(self) -> str:
        return LLVM[self.type] if self.uniform else f"<{W} x {LLVM[self.type]}>"

    def __repr__(self) -> str:
        return f"Value({self.llvm} {self.text})"


class Mask(Value):
    """A predicate whose bits are known, an i32.

    Each basic block of LLVM that needs its vector makes it of them: a vector of i1 that lives across blocks takes some
    ninety instructions on a CPU without mask registers."""

    __slots__ = ("home", "lanes_of", "t")

    def __init__(self, t: Text, lanes_of: Callable[[str], str], bits: str, vector: str = "") -> None:
        super().__init__(vector, "i1", False)
        self.t, self.lanes_of, self.bits, self.home = t, lanes_of, bits, t.here if vector else None

    @property
    def text(self) -> str:
        """Its vector: in the basic block that had one, that one; elsewhere one made of its bits."""
        return self._text if self.home == self.t.here else self.lanes_of(self.bits)


class Address(NamedTuple):
    """What semantics pass to `load`, `store` and `atom`: a base value and a constant byte offset."""

    base: Value
    offset: int


def literal(type: str, lane: np.ndarray) -> str:
    """One element of a constant as LLVM writes it: floats as the hexadecimal of their double, NaN payloads kept."""
    if type == "f32":
        bits = int(lane.view(np.uint32))
        if bits & 0x7F800000 == 0x7F800000:  # a conversion would quiet a signalling NaN
            return f"0x{(bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29:016X}"
        return f"0x{int(lane.astype(np.float64).view(np.uint64)):016X}"
    if type == "f64":
        return f"0x{int(lane.view(np.uint64)):016X}"
    if type == "i1":
        return "true" if lane else "false"
    return str(int(lane))


@functools.lru_cache(1024)
def _literal(type: str, octets: bytes, dtype: np.dtype) -> str:
    """`literal` of an element's bytes, cached: a few constants are frequent."""
    return literal(type, np.frombuffer(octets, dtype)[0])


def constant(lanes: np.ndarray, type: str) -> Value:
    """A constant: uniform when every lane holds the same bits."""
    octets = lanes.tobytes()
    if octets == octets[: lanes.itemsize] * W:
        return Value(_literal(type, octets[: lanes.itemsize], lanes.dtype), type, True, lanes)
    elements = ", ".join(f"{LLVM[type]} {literal(type, x)}" for x in lanes)
    return Value(f"<{elements}>", type, False, lanes)

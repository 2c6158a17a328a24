"""Patterns of the addresses of 32 lanes: which of them can be loaded and stored as one vector."""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import W, listed
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.rules.records import (
    ALL_THE_SAME,
    HALVES_IN_A_ROW,
    HALVES_THE_SAME,
    IN_A_ROW,
    IN_ONE_ALLOCATION,
    PARTS_OF_ROWS,
)


class Patterns(Part):
    """Tells patterns of addresses from each other (see `transfer.Seen`)."""

    def halves(self, offsets: str) -> tuple[str, str]:
        """The offset of the first lane of each half-warp, an i64. Offsets of active lanes are below 2^31; an inactive
        lane's may be negative."""
        lanes = [self.t.extract(f"<{W} x i32>", offsets, lane) for lane in (0, W // 2)]
        first, second = (self.t.sext("i32", at, "i64") for at in lanes)
        return first, second

    def of(self, off32: str, size: int) -> str:
        """The pattern of 32 offsets; half-warps count, since blocks are often 16 threads wide. Where lanes
        are inactive, a row with gaps is one pattern, all others are gathered."""
        if not self.e.small:
            return self._pattern(off32, size).text
        name, vector = f"pattern.{size}", f"<{W} x i32>"
        self.e.calls.write(name, f"{vector} %at, i32 %bits", lambda: self._pattern("%at", size))
        return self.t.call_function("i32", name, f"{vector} {off32}", f"i32 {self.active.bits}")

    def _pattern(self, off32: str, size: int) -> Value:
        t, half = self.t, W // 2
        vector = f"<{W} x i32>"
        firsts = t.shuffle(vector, off32, [k // half * half for k in range(W)])
        straight = t.add(vector, firsts, listed(tuple(k % half * size for k in range(W))))
        rows = t.bitcast(f"<{W} x i1>", t.eq(vector, off32, straight), "i32")
        ones = t.bitcast(f"<{W} x i1>", t.eq(vector, off32, firsts), "i32")
        low, high = (t.extract(vector, off32, lane) for lane in (0, half))
        gap = t.sub("i32", high, low)
        row = t.select(t.eq("i32", gap, half * size), "i32", IN_A_ROW, HALVES_IN_A_ROW)
        one = t.select(t.eq("i32", gap, 0), "i32", ALL_THE_SAME, HALVES_THE_SAME)
        some = t.select(t.eq("i32", ones, -1), "i32", one, IN_ONE_ALLOCATION)
        some = t.select(t.eq("i32", rows, -1), "i32", row, some)
        others = str(IN_ONE_ALLOCATION)
        if self.with_gaps():  # the addresses of inactive lanes count too: registers keep what the lanes had there
            others = t.select(t.eq("i32", rows, -1), "i32", PARTS_OF_ROWS, IN_ONE_ALLOCATION)
        whole = t.eq("i32", self.active.bits, -1)
        return Value(t.select(whole, "i32", some, others), "i32", True)

    def with_gaps(self) -> bool:
        """Whether rows with inactive lanes are told from other addresses: where some are likely to be inactive."""
        return self.e.small or self.active.partly or self.e.code.guard is not None

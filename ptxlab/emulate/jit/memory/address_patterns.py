"""Patterns of the addresses of 32 lanes: which of them can be loaded and stored as one vector."""

from __future__ import annotations

from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value


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
        return self.t.let(f"call i32 @{name}({vector} {off32}, i32 {self.active.bits})")

    def _pattern(self, off32: str, size: int) -> Value:
        t, half = self.t, W // 2
        ends = "<" + ", ".join(f"i32 {k // half * half}" for k in range(W)) + ">"
        firsts = t.let(f"shufflevector <{W} x i32> {off32}, <{W} x i32> poison, <{W} x i32> {ends}")
        steps = "<" + ", ".join(f"i32 {k % half * size}" for k in range(W)) + ">"
        straight = t.add(f"<{W} x i32>", firsts, steps)
        rows = t.bitcast(f"<{W} x i1>", t.eq(f"<{W} x i32>", off32, straight), "i32")
        ones = t.bitcast(f"<{W} x i1>", t.eq(f"<{W} x i32>", off32, firsts), "i32")
        low = t.extract(f"<{W} x i32>", off32, 0)
        high = t.extract(f"<{W} x i32>", off32, half)
        gap = t.sub("i32", high, low)
        row = t.select(t.eq("i32", gap, half * size), "i32", 0, 4)
        one = t.select(t.eq("i32", gap, 0), "i32", 1, 5)
        some = t.select(t.eq("i32", ones, -1), "i32", one, 2)
        some = t.select(t.eq("i32", rows, -1), "i32", row, some)
        others = "2"
        if self.with_gaps():  # the addresses of inactive lanes count too: registers keep what the lanes had there
            others = t.select(t.eq("i32", rows, -1), "i32", 6, 2)
        whole = t.eq("i32", self.active.bits, -1)
        return Value(t.select(whole, "i32", some, others), "i32", True)

    def with_gaps(self) -> bool:
        """Whether rows with inactive lanes are told from other addresses: where some are likely to be inactive."""
        return self.e.small or self.active.partly or self.e.code.guard is not None

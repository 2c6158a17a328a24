"""Addresses of instructions that move rows: pieces of a matrix for `wmma`, rows for `ldmatrix`, bytes of a copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value, constant
from ptxlab.emulate.program.addresses import SHARED_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Code
from ptxlab.isa import fragments, types


class RowAddresses(Part):
    """Computes them from the operands."""

    def pieces(self, code: Code, address: Value, stride: Value | None) -> Iterator[tuple[Value, int, int]]:
        """The addresses of the pieces of a matrix that wmma loads or stores, 32 at a time, the mask of the lanes that
        have one, and the bytes of each. stride: elements from one row or column to the next, if given."""
        ((_, f),) = fragments.operands(code.form).items()
        layout, first = str(code.form.layout), self.m.lane_0(address)
        if stride is None:
            step = self.m.const("i64", (f.columns if layout == "row" else f.rows) * f.bits // 8)
        else:  # of elements, of which a fragment may hold several as one
            bits = self.m.mul(self.m.lane_0(stride), self.m.const("i64", types.width(code.form.type)))
            step = self.m.lshr(bits, self.m.const("i64", 3))
        pieces = fragments.pieces(f, layout)
        for k in range(0, len(pieces), W):
            some = pieces[k : k + W]
            none = [some[0]] * (W - len(some))
            lines = constant(np.array([p.line for p in some + none], np.uint64), "i64")
            starts = constant(np.array([p.start for p in some + none], np.uint64), "i64")
            places = self.m.add(self.m.add(self.m.mul(lines, step), starts), first)
            yield places, -1 if len(some) == W else (1 << len(some)) - 1, some[0].size

    def in_shared(self, at: Value) -> Value:
        """The address as one of shared memory; for one elsewhere the last address, where no row fits."""
        if at.type == "i32":
            return at
        return self.m.trunc(
            "i32", self.m.select(self._in_reach(at), self._offset_in(at), self.m.const("i64", 0xFFFFFFFF))
        )

    def offsets_in_shared(self, code: Code) -> str:
        """The 32 addresses of an instruction as offsets in the block's shared memory, a vector of i32."""
        at = self.in_shared(self.e.operands.address(code, "a"))
        return self.m.vector(self.m.sub(at, self.m.const("i32", self.program.shared_start)))

    def _offset_in(self, at: Value) -> Value:
        """The distance of a 64-bit address, generic or not, from the start of shared memory."""
        if self.e.code.space != "generic":
            return at
        above = self.m.sub(at, self.m.const("i64", SHARED_WINDOW))
        return self.m.select(self.m.ult(above, self.m.const("i64", WINDOW_SIZE)), above, at)

    def _in_reach(self, at: Value) -> Value:
        """i1: whether a 64-bit address can be one of shared memory."""
        return self.m.ult(self._offset_in(at), self.m.const("i64", 1 << 31))

"""Atomic operations: in lane order, with the host's atomic instructions where another worker may see the memory.

The addresses of a warp are found at once where one allocation has them all. Shared memory, which belongs to blocks of
one worker, is changed by ordinary instructions.

Lanes that all name one address (a counter, a sum) are one exchange on the host: the operations follow one another in a
register, in lane order, and the last value is written if no other worker has changed the first. Where nobody reads the
old values, and the order makes no difference, all operands become one first.
"""

from __future__ import annotations

import functools
from typing import Any

from ptxlab.emulate.jit.atomics.operation import CELL, Operation
from ptxlab.emulate.jit.emitter.emitter import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Address, Value
from ptxlab.emulate.program.liveness import reads, registers_of
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.table import Form


class Atomics(Part):
    """Atomic operations of any space, and the functions that do them."""

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        after = [then for instrument in self.e.instruments if (then := instrument.atomic(address))]
        result = self._atom(i, address, *values)
        for then in reversed(after):
            then()
        return result

    @functools.cached_property
    def _read(self) -> set[int]:
        """The registers that any instruction reads; a guarded atomic operation does not count its destination."""
        return {
            r
            for code in self.program.codes
            for r in ([x for s in code.sources for x in registers_of(s)] if code.properties.atomic else reads(code))
        } | {code.guard[0] for code in self.program.codes if code.guard is not None}

    def _returns(self) -> bool:
        """Whether anybody reads the old values; CUDA C++ compilers write `atom` for a sum, too."""
        return self.e.registers.keeps_all or any(r in self._read for d in self.e.code.dests for r in registers_of(d))

    def _atom(self, i: Form, address: Address, *values: Any) -> Any:
        returns = self._returns()
        operation = Operation(i, self.e.code.space, returns=returns)
        if operation.name not in self.e.helpers:
            self.e.helpers[operation.name] = operation.function()
            self.t.declared |= operation.t.declared
        self._call(operation, address, values)
        old, vector = [], f"<{W} x {operation.ty}>"
        for k in range(operation.count):
            if returns:
                cell = self.t.offset("%out", k * CELL)
                old.append(Value(self.t.load(vector, cell, align=64), operation.lane, False))
            else:
                old.append(self.m.const(operation.lane, 0))
        return tuple(old) if i.vec else old[0]

    def _call(self, operation: Operation, address: Address, values: tuple[Any, ...]) -> None:
        t, code = self.t, self.e.code
        t.store(f"<{W} x i64>", self.m.vector(self.m.wide(address)), "%addrs", align=64)
        cells = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
        for k, value in enumerate(cells):
            t.store(f"<{W} x {operation.ty}>", self.m.vector(value), t.offset("%data", k * CELL), align=64)
        given = "ptr %ctx", "ptr %cta", "ptr %ws", f"i32 {self.active.bits}", "ptr %addrs", "ptr %data", "ptr %out"
        what = f"ptr {self.e.site()}", f"i32 {S.SPACES[code.space]}", f"i32 {code.index}"
        self.e.faults.if_failed(t.call_function("i32", operation.name, *given, *what))

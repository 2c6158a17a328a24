"""The lanes' addresses in a buffer, for functions that go from lane to lane and for arms of code that seldom run.

Affine addresses are made out of line there (see `affine_calls`).
"""

from __future__ import annotations

from dataclasses import replace

from ptxlab.emulate.jit.emitter.access_groups import Group
from ptxlab.emulate.jit.emitter.affine_calls import Given
from ptxlab.emulate.jit.emitter.emitter import Emitter, Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution


class AddressBuffers(Part):
    """What stores addresses or offsets at `%addrs`."""

    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites = sites

    def addresses(self, group: Group) -> str:
        """Stores the lowest addresses of the lanes, 32 of i64; where they lie."""
        if group.lanes is None:
            self._store("i64", group.address, "%addrs")
            return "%addrs"
        given = Given({"to": ("ptr", "%addrs")})
        there = replace(group, lanes=given.affine("at", group.lanes))
        self.e.calls.call("lay", given, lambda: self._store("i64", self.sites.addresses(there), "%to"))
        return "%addrs"

    def offsets(self, group: Group) -> str:
        """Stores the offsets of the lanes from the pointer, 32 of i32; where they lie."""
        if group.offsets or group.lanes is None:
            self._store("i32", group.offsets, "%addrs")
            return "%addrs"
        given = Given({"to": ("ptr", "%addrs"), "start": (group.lanes.type, group.start)})
        there = replace(group, lanes=given.affine("at", group.lanes), start="%start")
        self.e.calls.call("lay", given, lambda: self._store("i32", self.sites.offsets(there), "%to"))
        return "%addrs"

    def lanes(self, value: Value) -> None:
        """Stores the lanes of a value, 32 of i32."""
        self._store(value.type, self.m.vector(value), "%addrs")

    def _store(self, kind: str, vector: str, to: str) -> None:
        self.t.store(f"<{W} x {kind}>", vector, to, align=64)

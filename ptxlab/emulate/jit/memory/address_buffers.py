"""The lanes' addresses in a buffer, for functions that go from lane to lane and for arms of code that seldom run.

Affine addresses are made out of line there (see `affine_calls`).
"""

from __future__ import annotations

from dataclasses import replace

from ptxlab.emulate.jit.emitter.access_groups import Group
from ptxlab.emulate.jit.emitter.affine_calls import Given
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution

MANY = 4
"""Accesses of a group from which on its vectors are kept in memory."""
ROOM = 8 * W + 4 * W
"""Bytes that they take."""


class AddressBuffers(Part):
    """What stores addresses or offsets at `%addrs`, or where they are kept."""

    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites = sites
        self.rooms, self.taken = 0, 0
        """How many groups keep theirs: at most in a block, and in this one so far."""

    def room(self) -> None:
        """At the function's entry: where groups keep them."""
        for k in range(self.rooms):
            self.t.alloca(f"[{ROOM} x i8]", align=64, name=f"%buffer{k}")

    def keep(self, group: Group) -> None:
        """Stores the addresses and offsets of a group that has many members, where each of them finds them. As vectors
        that live through the arms of all their code, which seldom need them, they took LLVM's register allocator an
        eighth of the time that it takes for `tiled`."""
        if len(group.members) < MANY:
            return
        if not group.buffer:
            group.buffer = f"%buffer{self.taken}"
            self.taken += 1
            self.rooms = max(self.rooms, self.taken)
        self._store("i64", group.address, group.buffer)
        self._store("i32", group.offsets, self._offsets_of(group))

    def _offsets_of(self, group: Group) -> str:
        """A pointer to the offsets that are kept."""
        return self.t.offset(group.buffer, 8 * W)

    def addresses(self, group: Group) -> str:
        """Stores the lowest addresses of the lanes, 32 of i64; where they lie."""
        if group.buffer:
            return group.buffer
        if group.lanes is None:
            self._store("i64", group.address, "%addrs")
            return "%addrs"
        given = Given({"to": ("ptr", "%addrs")})
        there = replace(group, lanes=given.affine("at", group.lanes))
        self.e.calls.call("lay", given, lambda: self._store("i64", self.sites.addresses(there), "%to"))
        return "%addrs"

    def offsets(self, group: Group) -> str:
        """Stores the offsets of the lanes from the pointer, 32 of i32; where they lie."""
        if group.buffer:
            return self._offsets_of(group)
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

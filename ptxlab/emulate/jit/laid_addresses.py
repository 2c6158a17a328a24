"""The lanes' addresses in a buffer, for functions that go from lane to lane and for arms of code that seldom run.

Affine addresses are made out of line there (see `affine_calls`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ptxlab.emulate.jit.affine import Affine
from ptxlab.emulate.jit.affine_calls import Given
from ptxlab.emulate.jit.groups import Group
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.part import Part
from ptxlab.emulate.jit.values import Value

if TYPE_CHECKING:
    from ptxlab.emulate.jit.access import Memory
    from ptxlab.emulate.jit.emit import Emitter


class LaidAddresses(Part):
    """What stores addresses or offsets at `%addrs`."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory

    def addresses(self, group: Group) -> None:
        """Stores the lowest addresses of the lanes, 32 of i64."""
        if group.lanes is None:
            self._store("i64", group.address, "%addrs")
            return
        given = Given({"to": ("ptr", "%addrs")})
        there = replace(group, lanes=given.affine("at", group.lanes))
        self.e.calls.call("lay", given, lambda: self._store("i64", self.memory.addresses(there), "%to"))

    def offsets(self, group: Group) -> None:
        """Stores the offsets of the lanes from the pointer, 32 of i32."""
        if group.offsets or group.lanes is None:
            self._store("i32", group.offsets, "%addrs")
            return
        given = Given({"to": ("ptr", "%addrs"), "start": (group.lanes.type, group.start)})
        there = replace(group, lanes=given.affine("at", group.lanes), start="%start")
        self.e.calls.call("lay", given, lambda: self._store("i32", self.memory.offsets(there), "%to"))

    def lanes(self, value: Value) -> None:
        """Stores the lanes of a value, 32 of i32; in QUICK code those of an affine one by a call."""
        if not isinstance(value, Affine) or not self.e.small:
            self._store(value.type, self.m.vector(value), "%addrs")
            return
        given = Given({"to": ("ptr", "%addrs")})
        there = given.affine("lanes", value)
        self.e.calls.call("lay", given, lambda: self._store(value.type, there.text, "%to"))

    def _store(self, kind: str, vector: str, to: str) -> None:
        self.t.do(f"store <{W} x {kind}> {vector}, ptr {to}, align 64")

"""Address resolution by a call: in QUICK code accesses of one shape share the function that finds where 32 addresses
lie."""

from __future__ import annotations

from dataclasses import replace

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.emitter.access_groups import Group
from ptxlab.emulate.jit.emitter.affine_calls import Given
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.memory.address_resolution import AddressResolution
from ptxlab.emulate.runtime import state as S

SHADOW, OFFSETS, PLACED = 8, 64, 64 + 4 * W
"""Where a function leaves the record of writes and the offsets, behind the pointer, and the size of all that."""


class CalledResolution(Part):
    """The functions and their calls."""

    def __init__(self, e: Emitter, sites: AddressResolution) -> None:
        super().__init__(e)
        self.sites = sites

    def locate(self, group: Group, at: Value, size: int) -> None:
        """Leaves the pointer, the record of writes, the offsets and the pattern of a group."""
        t, code, shared = self.t, self.e.code, self.e.code.space == "shared"
        if isinstance(at, Affine):
            group.lanes = at
        else:
            vector = self.m.vector(at)
            group.address = vector if at.type == "i64" else t.zext(f"<{W} x i32>", vector, f"<{W} x i64>")
        given = Given(key=(code.space, size, group.span, group.log2, group.write))
        there = given.take("at", at)
        given.arguments["code"] = "i32", self.e.faults.number(S.GROUP_FLAG)
        for name in ("placed", "ctx", "ws", *(() if shared else ("cta", "addrs"))):
            given.arguments[name] = "ptr", f"%{name}"
        if shared:
            given.arguments["shared.size"] = "i64", "%shared.size"
        else:
            given.arguments["site"] = "ptr", t.offset("%sites", group.site * S.Site.size)
            group.members.append((-1, 0, 0))
            self.sites.mixed.add(group.site)
        group.pattern = self.e.calls.call("locate", given, lambda: self._located(replace(group), there, size))
        t.fault_if(t.eq("i32", group.pattern, -1))
        group.pointer, group.shadow = "%shared", "0"
        if not shared:
            group.pointer = t.load("ptr", "%placed", align=64)
            if group.write:
                group.shadow = t.load("i64", self._placed(SHADOW))
        group.offsets = t.load(f"<{W} x i32>", self._placed(OFFSETS), align=64)

    def _located(self, group: Group, at: Value, size: int) -> Value:
        """The code of such a function: the pattern, or -1 where it has noted a fault."""
        t, sites, self.e.faults.named = self.t, self.sites, "%code"
        if self.e.code.space == "shared":
            offsets = sites.inside_shared(group, at)
            pattern = sites.patterns.of(offsets, size)
        else:
            group.place, vector = "%site", self.m.vector(at)
            wide = vector if at.type == "i64" else t.zext(f"<{W} x i32>", vector, f"<{W} x i64>")
            host, shadow, pattern, offsets, *_ = sites.anywhere(group, wide, size)
            t.store("ptr", host, "%placed", align=64)
            t.store("i64", shadow, self._placed(SHADOW))
        self.e.faults.named, found = "", t.label("found")
        t.store(f"<{W} x i32>", offsets, self._placed(OFFSETS), align=64)
        t.go(found)
        t.at("fault")
        t.ret("i32", -1)
        t.at(found)
        return Value(pattern, "i32", True)

    def _placed(self, offset: int) -> str:
        """A pointer to what a function leaves there."""
        return self.t.offset("%placed", offset)

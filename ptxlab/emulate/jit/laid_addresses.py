"""The lanes' addresses in a buffer, for functions that go from lane to lane and for arms of code that seldom run.

Affine addresses are made out of line there: in place, each access would have all that makes a vector of them once more,
which takes LLVM longer to build than the rest of the access.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ptxlab.emulate.jit.affine import Affine
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
        self._numbers: dict[tuple[object, ...], int] = {}
        """A number for each function: by the form of the value, its scalars and what is stored."""

    def addresses(self, group: Group) -> None:
        """Stores the lowest addresses of the lanes, 32 of i64."""
        if group.lanes is None:
            self._store("i64", group.address, "%addrs")
            return
        there = replace(group, lanes=_given(group.lanes))
        self._call(group.lanes, {}, "i64", lambda: self.memory.addresses(there))

    def offsets(self, group: Group) -> None:
        """Stores the offsets of the lanes from the pointer, 32 of i32."""
        if group.offsets or group.lanes is None:
            self._store("i32", group.offsets, "%addrs")
            return
        there = replace(group, lanes=_given(group.lanes), start="%start")
        self._call(group.lanes, {"start": group.start}, "i32", lambda: self.memory.offsets(there))

    def _store(self, kind: str, vector: str, to: str) -> None:
        self.t.do(f"store <{W} x {kind}> {vector}, ptr {to}, align 64")

    def _call(self, at: Affine, more: dict[str, str], kind: str, made: Callable[[], str]) -> None:
        """Calls the function that stores what is made of an affine value; `more`: other scalars of its type."""
        given = {name: (value.type, value.text) for name, value in _scalars(at).items()}
        given |= {name: (at.type, text) for name, text in more.items()}
        key = (at.form, kind, *((name, type_) for name, (type_, _) in given.items()))
        name = f"lay.{self._numbers.setdefault(key, len(self._numbers))}"
        parameters = ", ".join(["ptr %to", "i32 %bits", *(f"{type_} %{name}" for name, (type_, _) in given.items())])
        self.e.helper(name, parameters, lambda: self._store(kind, made(), "%to"))
        arguments = ["ptr %addrs", f"i32 {self.active.bits}", *(" ".join(one) for one in given.values())]
        self.t.do(f"call void @{name}({', '.join(arguments)})")


def _scalars(at: Affine) -> dict[str, Value]:
    """The scalars of an affine value, by name."""
    listed = {"base": at.base, "inner": at.inner, "stride": at.stride}
    return {name: value for name, value in listed.items() if value is not None}


def _given(at: Affine) -> Affine:
    """An affine value in the function that is given its scalars."""
    there = {name: Value(f"%{name}", value.type, True) for name, value in _scalars(at).items()}
    return Affine(at.ops, at.form, there["base"], there.get("inner"), there.get("stride"))

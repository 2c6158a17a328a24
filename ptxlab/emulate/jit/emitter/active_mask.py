"""The active mask: which lanes run a block, and which of them the instruction that is being emitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.affine.values import AffineOps
from ptxlab.emulate.jit.llvm.values import Value


class ActiveMask:
    """Lanes as SSA values: `bits` is an i32, `vector` a <32 x i1>. `guard` holds in the lanes that are active.
    `block_bits`: the lanes that run the basic block, whatever the guard of an instruction says."""

    def __init__(self, m: AffineOps) -> None:
        self.m, self.t = m, m.t
        self.bits, self.block_bits = "", ""
        self._mask: Value | None = None
        self._block_mask: Value | None = None
        self.guard: Value | None = None
        self.partly = False
        """Whether some live lanes may not run the block: they keep the values of their registers."""

    @property
    def mask(self) -> Value:
        """The lanes as a predicate."""
        assert self._mask is not None
        return self._mask

    @property
    def vector(self) -> str:
        """The lanes as a <32 x i1>."""
        return self.mask.text

    def begin(self, bits: str, *, partly: bool) -> None:
        """At a label: these lanes run."""
        self.partly = partly
        self.narrow(bits)
        self.block_bits, self._block_mask = bits, self._mask

    def narrow(self, bits: str) -> None:
        """These lanes are active."""
        self.bits, self._mask = bits, self.m.of_bits(bits)

    def where_held(self, held: Value, *, inverted: bool) -> None:
        """Narrows the lanes that run the block to those where a guard holds; inverted: where it does not."""
        if inverted:
            bits = self.t.xor("i32", held.bits, -1) if held.bits else ""
            held = self.m.of_bits(bits) if bits else self.m.not_(held)
        self.guard = held
        if held.uniform:
            self.narrow(self.t.select(held.text, "i32", self.block_bits, 0))
        else:
            self.narrow(self.t.and_("i32", self.m.bits_of(held), self.block_bits))

    def all_of_block(self) -> None:
        self.guard = None
        self.bits, self._mask = self.block_bits, self._block_mask

    @contextmanager
    def only(self, bits: str) -> Iterator[None]:
        """A context in which rules are called with these lanes (an i32)."""
        before, mask, self.bits = self.bits, self._mask, bits
        yield
        self.bits, self._mask = before, mask

    def none(self) -> str:
        """i1: whether no lane is active."""
        return self.t.eq("i32", self.bits, 0)

    def any(self) -> str:
        """i1: whether a lane is active."""
        return self.t.ne("i32", self.bits, 0)

    def all_active(self) -> str:
        """i1: whether all lanes that run the block are active."""
        return self.t.eq("i32", self.bits, self.block_bits)

    def first(self, bits: str = "") -> str:
        """i32: the lowest of these lanes, 32 if there is none."""
        return self.t.call("i32", "llvm.cttz.i32", [("i32", bits or self.bits), ("i1", "false")])

    def ends(self) -> tuple[str, str]:
        """i32: the lowest and the highest active lane, of which there are some."""
        before = self.t.call("i32", "llvm.ctlz.i32", [("i32", self.bits), ("i1", "false")])
        return self.first(), self.t.sub("i32", 31, before)

    def count(self, bits: str = "") -> str:
        """i64: how many lanes these are."""
        return self.t.zext("i32", self.t.call("i32", "llvm.ctpop.i32", [("i32", bits or self.bits)]), "i64")

    def where(self, condition: Value) -> str:
        """i32: the active lanes in which an i1 holds."""
        return self.t.and_("i32", self.m.bits_of(condition), self.bits)

    def where_not(self, condition: Value) -> str:
        """i32: the active lanes in which an i1 fails."""
        if condition.uniform:
            return self.t.select(condition.text, "i32", 0, self.bits)
        bits = self.m.bits_of(condition)
        return self.t.and_("i32", self.t.xor("i32", bits, -1), self.bits)

    def first_value(self, value: Value) -> str:
        """The scalar of the lowest active lane."""
        if value.uniform:
            return value.text
        lane = self.first()
        return self.t.extract(value.llvm, value.text, self.t.and_("i32", lane, 31), by="i32")

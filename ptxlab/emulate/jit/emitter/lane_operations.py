"""The operations that the table's semantics are compiled by: on values, special registers, other lanes, memory.

They are those of `ptxlab.isa.machine`. Semantics are run once for each instruction, and what they do is emitted.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ptxlab.emulate.jit.affine.forms import form_of
from ptxlab.emulate.jit.affine.values import AffineOps
from ptxlab.emulate.jit.emitter.active_mask import ActiveMask
from ptxlab.emulate.jit.emitter.function import Function
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import EXACT, by_floats
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value, constant
from ptxlab.emulate.jit.llvm.wide_operations import WideOps
from ptxlab.emulate.language import Record
from ptxlab.emulate.program.addresses import WINDOW_SIZE
from ptxlab.emulate.runtime import state as S
from ptxlab.isa import types
from ptxlab.isa.convert import WINDOWS
from ptxlab.isa.special_registers import SPECIAL
from ptxlab.isa.table import Form

_LANES = np.arange(W, dtype=np.uint64)
_LANE_MASKS = {
    "%lanemask_eq": 1 << _LANES,
    "%lanemask_lt": (1 << _LANES) - 1,
    "%lanemask_le": (2 << _LANES) - 1,
    "%lanemask_ge": (1 << 32) - (1 << _LANES),
    "%lanemask_gt": (1 << 32) - (2 << _LANES),
}
_FIELDS: dict[str, tuple[type[Record], str]] = {
    **{
        f"{base}.{axis}": (record, f"{field}_{axis}")
        for base, record, field in (
            ("%ntid", S.Context, "block"),
            ("%nctaid", S.Context, "grid"),
            ("%ctaid", S.Cta, "ctaid"),
            ("%cluster_nctaid", S.Context, "cluster"),
        )
        for axis in "xyz"
    },
    "%cluster_ctarank": (S.Cta, "rank"),
    "%warpid": (S.Warp, "warp_id"),
}
"""Special registers that are fields of 32 bits."""
_OF_CLUSTERS = {"%nclusterid": "%nctaid", "%clusterid": "%ctaid", "%cluster_ctaid": "%ctaid"}
"""What is divided by the size of a cluster; of the last the remainder counts."""


class Accesses(Protocol):
    """Loads, stores and atomic operations of semantics."""

    def load(self, address: Address) -> Any: ...

    def store(self, address: Address, value: Any) -> None: ...

    def atom(self, i: Form, address: Address, *values: Any) -> Any: ...


class LaneOps(AffineOps):
    """Operations on affine values and others, and those that need the emitter's parts."""

    def __init__(self, f: Function) -> None:
        super().__init__(f.t)
        self.f = f
        self.affine = not f.diverged
        self.masks = f.wide
        self.through = self.ends_first = not f.small
        self.features, self.functions = f.features, f.helpers
        self.mask = ActiveMask(self)
        self.accesses: Accesses
        self.carries = False
        """Whether the carry flag is read."""

    # -- quotients
    def quotients(self, word: str, a: Value, b: Value) -> Value:
        """Quotients; of 64 bits by a call: numbers may be too large for f64, and 32 divisions are long."""
        if self.f.small or a.type != "i64" or b.lanes is not None or (a.uniform and b.uniform):
            return super().quotients(word, a, b)
        name, vector = f"{word}.{'scalar' if b.uniform else 'lanes'}", f"<{W} x i64>"
        if name not in self.functions:
            t = Text()
            t.ret(vector, _divided(t, word, Value("%a", "i64", False), Value("%b", "i64", b.uniform)))
            self.t.declared |= t.declared
            head = f"{vector} @{name}(i32 %bits, {vector} %a, {b.llvm if b.uniform else vector} %b)"
            self.functions[name] = t.function(head, "noinline nounwind")
        divisor = f"i64 {b.text}" if b.uniform else f"{vector} {self.vector(b)}"
        given = f"i32 {self.mask.bits}", f"{vector} {self.vector(a)}", divisor
        return Value(self.t.call_function(vector, name, *given), "i64", False)

    # -- memory
    def load(self, i: Form, address: Address) -> Any:
        return self.accesses.load(address)

    def store(self, i: Form, address: Address, value: Any) -> None:
        self.accesses.store(address, value)

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        return self.accesses.atom(i, address, *values)

    # -- where a lane is
    def active(self) -> Value:
        return self.mask.mask

    def special(self, name: str) -> Value:
        base, _, axis = name.partition(".")
        if base == "%tid":
            return self._thread_index(axis)
        if name in _FIELDS:
            return self.field(*_FIELDS[name], "i32")
        if base in _OF_CLUSTERS:
            whole = self.special(f"{_OF_CLUSTERS[base]}.{axis}")
            size = self.special(f"%cluster_nctaid.{axis}")
            return self.urem(whole, size) if base == "%cluster_ctaid" else self.udiv(whole, size)
        if name == "%cluster_nctarank":
            x, y, z = (self.special(f"%cluster_nctaid.{a}") for a in "xyz")
            return self.mul(self.mul(x, y), z)
        if name == "%is_explicit_cluster":
            return self.ne(self.field(S.Context, "explicit_cluster", "i32"), self.const("i32", 0))
        if name == "%laneid":
            return self.lane_id()
        if name in _LANE_MASKS:
            return constant(_LANE_MASKS[name].astype(np.uint32), "i32")
        if name == "%nwarpid":
            return self.trunc("i32", self.field(S.Context, "warps", "i64"))
        if name in ("%clock64", "%globaltimer"):
            return self._clock()
        if name in ("%clock", "%globaltimer_lo"):
            return self.trunc("i32", self._clock())
        if name in ("%clock_hi", "%globaltimer_hi"):
            return self.trunc("i32", self.lshr(self._clock(), self.const("i64", 32)))
        start, static = self.f.program.shared_start, self.f.program.dynamic_start - self.f.program.shared_start
        sizes = {"%total_smem_size": 0, "%aggr_smem_size": start, "%dynamic_smem_size": -static}
        if name in sizes:  # all of it, with what the system reserves, or the dynamic part only
            size = self.trunc("i32", Value("%shared.size", "i64", True))
            return self.add(size, self.const("i32", sizes[name]))
        if name == "%nsmid":
            return self.const("i32", 1)
        return self.const(types.lane(SPECIAL[name].type), 0)  # %smid, %gridid ...: the first of its kind

    def _thread_index(self, axis: str) -> Value:
        """`%tid` along an axis: affine where threads lie in rows."""
        p, rows = self.t.field(S.Warp, f"tid_{axis}"), self.f.rows
        steps = rows.steps(axis) if self.affine else None
        form = form_of("i32", steps, rows.zeros(axis)) if steps else None
        if form and (affine := self.made(form, self.field(S.Warp, f"tid_{axis}", "i32"))):
            return affine
        return Value(self.t.load(f"<{W} x i32>", p, align=64), "i32", False)

    def field(self, record: type[Record], path: str, type_: str) -> Value:
        """A field of the worker's context, of the block or of the warp."""
        return Value(self.t.load(LLVM[type_], self.t.field(record, path)), type_, True)

    def _clock(self) -> Value:
        """A clock that ticks once for each warp-instruction of this worker: the same in every run."""
        fields = ("clock", "slice_size", "slice", "forgone")
        before, size, left, forgone = (self.field(S.Context, name, "i64") for name in fields)
        return self.add(before, self.sub(self.sub(size, left), forgone))

    def window(self, space: str) -> Value:
        return self.const("i64", WINDOWS.get(space, 0))

    def in_window(self, space: str, address: Value) -> Value:
        if space in WINDOWS:
            offset = self.sub(address, self.const("i64", WINDOWS[space]))
            return self.ult(offset, self.const("i64", WINDOW_SIZE))
        inside = self.in_window("shared", address)
        for other in ("local", "param"):
            inside = self.or_(inside, self.in_window(other, address))
        return self.not_(inside)

    # -- other lanes
    def ballot(self, a: Value) -> Value:
        return Value(self.t.and_("i32", self.bits_of(a), self.mask.bits), "i32", True)

    def lane_read(self, a: Value, index: Value) -> Value:
        if a.uniform:
            return a
        if index.uniform or index.lanes is not None:
            return self.beside(self._lane(a, index), lambda: self._lane(a.raw or a, index), a)
        wide = self.zext("i32", a) if a.type in ("i1", "i8", "i16") else a
        if self.f.wide and BITS[wide.type] == 32:
            value = self._permuted(wide, index)
            return value if wide is a else self.trunc(a.type, value)
        # through memory: 32 loads from the buffer that holds the lanes
        self.t.store(wide.llvm, wide.text, "%data", align=64)
        pointers = self.t.element(LLVM[wide.type], "%data", self.vector(index), by=f"<{W} x i32>")
        got = self.t.gather(LLVM[wide.type], BITS[wide.type] // 8, pointers, "splat (i1 true)", "poison")
        value = Value(got, wide.type, False)
        return value if wide is a else self.trunc(a.type, value)

    def _permuted(self, a: Value, index: Value) -> Value:
        """Lanes of 32 bits that any lanes choose: with 512-bit vectors an instruction for each half of the warp."""
        t, word, each = self.t, LLVM[a.type], W // 2
        part, integers = f"<{each} x {word}>", f"<{each} x i32>"

        def half(ty: str, whole: str, first: int) -> str:
            return t.shuffle(f"<{W} x {ty}>", whole, range(first, first + each))

        low, high = (half(word, self.vector(a), first) for first in (0, each))
        name = f"llvm.x86.avx512.vpermi2var.{'d' if word == 'i32' else 'ps'}.512"
        chosen = (half("i32", self.vector(index), first) for first in (0, each))
        got = [t.call(part, name, [(part, low), (integers, lanes), (part, high)]) for lanes in chosen]
        return Value(t.shuffle(part, got[0], range(W), got[1]), a.type, False)

    def _lane(self, a: Value, index: Value) -> Value:
        """The value of one lane, or of those that are known, in each."""
        ty = f"<{W} x {LLVM[a.type]}>"
        if index.uniform:
            return Value(self.t.extract(ty, a.text, index.text, by="i32"), a.type, True)
        assert index.lanes is not None
        return Value(self.t.shuffle(ty, self.vector(a), [int(k) for k in index.lanes]), a.type, False)

    # -- the carry flag
    def carry_get(self) -> Value:
        self.carries = True
        return self.of_bits(self.t.load("i32", "%carry.at"))

    def carry_set(self, carry: Value) -> None:
        new = self.t.and_("i32", self.bits_of(carry), self.mask.bits)
        inactive = self.t.xor("i32", self.mask.bits, -1)
        old = self.t.and_("i32", self.t.load("i32", "%carry.at"), inactive)
        self.t.store("i32", self.t.or_("i32", new, old), "%carry.at")


def _divided(t: Text, word: str, a: Value, b: Value) -> str:
    """The function that divides: by f64 where all of the active lanes have numbers small enough."""
    m, outside = WideOps(t), "0"
    for value in (a, b):
        most, at = 1 << EXACT, value
        if word[0] == "s":
            most, at = 2 * most, m.add(value, m.const("i64", most))
        outside = t.or_("i32", outside, m.all_bits(m.ule(m.const("i64", most), at)))
    outside = t.and_("i32", outside, "%bits")
    with t.if_else(t.eq("i32", outside, 0)) as (small, large):
        with small:
            quick, first = by_floats(t, m.vector, word, a, b, signed=True).text, t.here
        with large:
            each, second = t.let(f"{word} <{W} x i64> {m.vector(a)}, {m.vector(b)}"), t.here
    return t.phi(f"<{W} x i64>", (quick, first), (each, second))

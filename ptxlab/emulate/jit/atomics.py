"""Atomic operations: lane by lane, in lane order, with the host's own atomic instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Accesses, Address
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.values import BITS, LLVM, Value
from ptxlab.errors import UnsupportedInstruction
from ptxlab.isa import types

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

_INTEGER = {
    "add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg", "inc": "uinc_wrap", "dec": "udec_wrap",
}  # fmt: skip


def operation_of(form: Form) -> str:
    """LLVM's word for the operation: `add`, `umin`, `fadd`, `cmpxchg`, ...; empty where there is none."""
    lane, word = types.lane(form.type), str(form.operation)
    if form.vec or (types.is_float(form.type) and lane not in ("f32", "f64")):
        return ""
    if word == "cas":
        return "cmpxchg"
    if lane in ("f32", "f64"):
        return {"add": "fadd", "exch": "xchg"}.get(word, "")
    if word in ("min", "max"):
        return word if types.is_signed(form.type) else "u" + word
    return _INTEGER.get(word, "")


class Atomics(Accesses):
    """The `atom` of the Machine."""

    helpers_needed: dict[str, str]

    def atom(self, i: Form, address: Address, *values: Any) -> Value:
        lane, word = types.lane(i.type), operation_of(i)
        if not word:
            raise UnsupportedInstruction(
                f"the compiled CPU machine does not execute {i.opcode} yet; device='step' does",
                line=self.code.line, source=self.program.source(self.code.line), file=self.program.file,
            )  # fmt: skip
        name = f"atom.{word}.{lane}"
        self.helpers_needed.setdefault(name, _helper(name, word, lane))
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        at = self.vector(self.add(base, self.const("i64", address.offset)))
        self.t.do(f"store <{W} x i64> {at}, ptr %addrs, align 64")
        cells = []
        for k, value in enumerate(values):
            cell = self.t.let(f"getelementptr i8, ptr %data, i64 {k * W * 8}")
            self.t.do(f"store <{W} x {LLVM[lane]}> {self.vector(value)}, ptr {cell}, align 64")
            cells.append(cell)
        result = self.t.let(
            f"call i32 @{name}(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, ptr {cells[0]}, "
            f"ptr {cells[-1]}, ptr %out, i32 {S.SPACES[self.code.space]}, i32 {self.code.index})"
        )
        fine = self.t.label("fine")
        self.t.do(f"br i1 {self.t.let(f'icmp eq i32 {result}, 0')}, label %{fine}, label %fault")
        self.t.at(fine)
        return Value(self.t.let(f"load <{W} x {LLVM[lane]}>, ptr %out, align 64"), lane, False)


def _helper(name: str, word: str, lane: str) -> str:
    ty, size = LLVM[lane], BITS[lane] // 8
    if word == "cmpxchg":
        act = f"""  %pair = cmpxchg ptr %p, {ty} %x, {ty} %y seq_cst seq_cst
  %old = extractvalue {{{ty}, i1}} %pair, 0"""
    elif word == "xchg" and ty in ("float", "double"):
        act = f"""  %xi = bitcast {ty} %x to i{8 * size}
  %oldi = atomicrmw xchg ptr %p, i{8 * size} %xi seq_cst
  %old = bitcast i{8 * size} %oldi to {ty}"""
    else:
        act = f"  %old = atomicrmw {word} ptr %p, {ty} %x seq_cst"
    return fill("atomic.ll", FUNCTION=name, TYPE=ty, SIZE=size, LOG2=size.bit_length() - 1, ACT=act)

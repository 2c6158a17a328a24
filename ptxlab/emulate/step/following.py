"""initcheck: which bits have no value, followed through the registers and the memory of the interpreter.

A bit has no value if nobody has written it. One rule says what becomes of such bits: *what an instruction gives has no
value where it changes when they are flipped*. So an instruction that moves or combines bits runs once more on flipped
sources (registers, and memory that it has loaded), and what differs has no value. That is exact for moves, selections,
bitwise operations, shifts, shuffles, loads, stores, copies and rows of matrices. Of a product of matrices an element
has no value where its row of A, its column of B or what it is added to has none; of all other instructions the whole
result, where a source has none.

It is an error where such a bit decides: a guard, an address, an operand of a barrier or an atomic, or an element of a
host's array when the launch ends. Then the load that brought it is reported, with its first use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code, Inverted, Literal, Mem, Reg
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.liveness import registers_of
from ptxlab.emulate.program.matrix_operands import elements
from ptxlab.emulate.rules.warpgroup_faults import product_operands
from ptxlab.emulate.step.bodies.matrices import reader, writer
from ptxlab.emulate.step.checked_warp import CheckedWarp
from ptxlab.emulate.step.operands import Step, Translator
from ptxlab.emulate.step.values import ROWS, Bytes, Place, Values, bits_of, brings, everything
from ptxlab.isa import fragments, types
from ptxlab.isa.actions import Action
from ptxlab.isa.logic import moved

_COMBINES = frozenset(
    {Action.AND, Action.OR, Action.EXCLUSIVE_OR, Action.REARRANGE, Action.SELECT, Action.SELECT_BY_SIGN}
)
"""What combines bits of several sources: each of them is flipped alone, and with others."""
_MOVES = _COMBINES | ROWS | {Action.MOVE, Action.NOT, Action.SHUFFLE, Action.TRANSPOSE, Action.LOAD, Action.STORE}
NO_ORIGIN = 0xFFFFFFFF
_PRODUCTS = frozenset({Action.MATRIX_PRODUCT, Action.FRAGMENT_PRODUCT})


def _flipped(value: np.ndarray, bits: np.ndarray) -> np.ndarray:
    flipped: np.ndarray = (bits_of(value) ^ bits).view(value.dtype)
    return flipped


class Following:
    """What instructions of a launch do with bits without a value."""

    def __init__(self, values: Values, translator: Translator) -> None:
        self.values, self.t, self.program = values, translator, values.program

    def instrument(self, code: Code, act: Step, *others: Code) -> Step:
        """An instruction, and what becomes of such bits. others: instructions at which other lanes take part."""
        if code.copy is not None:
            return _passing(*code.copy, act)
        follow = _Follow(self, code, others)
        registers, reads = follow.registers, brings(code) and code.properties.loads

        def run(w: Any) -> int | None:
            if not reads and (not w.lacks or w.lacks.keys().isdisjoint(registers)):
                return act(w)
            return follow.run(w, act)

        return run

    def used(self, w: CheckedWarp, code: Code, registers: Iterable[int], mask: np.ndarray) -> None:
        for r in registers:
            lacks = w.lacks.get(r)
            if lacks is not None and (lanes := (lacks != 0) & mask).any():
                lane = int(lanes.argmax())
                self.values.used(_place(w, code, lane), int(w.origins[r][lane]), r)


def _passing(source: int, dest: int, size: int, act: Step) -> Step:
    """Arguments are copied within each lane's frame."""

    def run(w: Any) -> int | None:
        memory = w.local.values
        for kept in (memory.written, memory.bits, memory.origins):
            frames = kept.reshape(LANES, -1)
            frames[w.mask, dest : dest + size] = frames[w.mask, source : source + size]
        return act(w)

    return run


def _place(w: CheckedWarp, code: Code, lane: int = 0) -> Place:
    return Place(code.index, w.spaces.block, w.warp, lane)


def used_at_once(code: Code) -> list[int]:
    """The registers whose values an instruction uses: addresses, masks, all that it does not only compute with."""
    follows = code.form.op.kind in ("pure", "lane", "none") or code.action in (Action.LOAD, Action.STORE)
    follows = follows or code.action in (*ROWS, *_PRODUCTS, Action.TRANSPOSE)
    mask, _ = code.named.get("membermask", (None, "")) if code.form.op.kind == "lane" else (None, "")
    used = [s for s in code.sources if isinstance(s, Mem) or s is mask or not follows]
    return [r for s in used for r in registers_of(s)]


class _Follow:
    """What one instruction does with bits without a value."""

    def __init__(self, of: Following, code: Code, others: tuple[Code, ...]) -> None:
        self.of, self.code, self.values, self.t = of, code, of.values, of.t
        self.dests = [r for dest in code.dests for r in registers_of(dest)]
        self.used = used_at_once(code)
        self.data: list[int] = []
        self.control: list[int] = []
        exact = self._exact(code)
        for one in (code, *others):
            count = (moved(one.form) or len(one.sources)) if exact else 0
            plain = [[r for r in registers_of(s) if r not in self.used] for s in one.sources]
            if not self._known(one):
                self.data += [r for registers in plain[:count] for r in registers]
                self.control += [r for registers in plain[count:] for r in registers]
        self.registers = frozenset([*self.used, *self.data, *self.control, *self.dests])
        self.decides = self._decides(code)
        product = code.action is Action.WARPGROUP_PRODUCT
        self.adds = self.t.read(product_operands(code).adds, "pred", code) if product else None

    def _exact(self, code: Code) -> bool:
        """Whether flipped bits show what depends on them."""
        if code.action is Action.CONVERT:
            return not code.form.sat and all(types.is_integer(str(t)) for t in (code.form.dtype, code.form.atype))
        return code.action in _MOVES or moved(code.form) > 0 or code.properties.lane_copy

    def _known(self, code: Code) -> bool:
        """Whether the result is zero, whatever the sources hold."""
        first, *rest = code.sources or (None,)
        if code.action in (Action.SUBTRACT, Action.EXCLUSIVE_OR) and rest and isinstance(first, Reg):
            integer = not types.is_float(str(code.form.type))
            return integer and isinstance(rest[0], Reg) and rest[0].index == first.index
        if code.action is Action.MULTIPLY and not types.is_float(str(code.form.type)):
            return any(isinstance(s, Literal) and s.value == 0 for s in code.sources)
        return False

    def _decides(self, code: Code) -> tuple[int, bool] | None:
        """Of `setp.and` and `setp.or` the predicate, and the value of it that decides the result."""
        if code.action is not Action.COMPARE or len(code.sources) < 3 or code.form.bool not in ("and", "or"):
            return None
        source = code.sources[2]
        negated = isinstance(source, Inverted)
        registers = registers_of(source)
        return (registers[0], (code.form.bool == "or") ^ negated) if registers else None

    def run(self, w: CheckedWarp, act: Step) -> int | None:
        mask, lacks, code = w.mask, w.lacks, self.code
        self.of.used(w, code, self.used, mask)
        if self.adds is not None and self.adds(w)[0]:
            self.of.used(w, code, self.dests, mask)
        data, control = [r for r in self.data if r in lacks], [r for r in self.control if r in lacks]
        decided = np.zeros(LANES, np.bool_)
        if self.decides is not None and self.decides[0] not in lacks:
            decided = w.regs[self.decides[0]] == self.decides[1]
        before = [w.regs[d] for d in self.dests]
        w.brought, w.wrote, seen = [], [] if data else None, len(w.touches or ())
        result = act(w)
        if code.action in ROWS or code.properties.lane_copy:
            w.touching(code, (w.touches or [])[seen:], moves=bool(data))
        brought, wrote, w.brought, w.wrote = w.brought, w.wrote or [], [], None
        if not brought and lacks.keys().isdisjoint(self.registers):
            return result
        origins, lanes = self._lacking(w, [*data, *control])
        lanes &= ~decided
        for one in brought:
            np.minimum.at(origins, one.lanes, one.origins)
        if code.form.op.kind in ("lane", "warp") and code.action is not Action.SHUFFLE:
            origins, lanes = np.full(LANES, origins.min(), np.uint32), np.broadcast_to((lanes & mask).any(), LANES)
        if code.action in _PRODUCTS:
            new = self._product(w)
        elif control or not (data or brought):
            new = [everything(w.regs[d], lanes) for d in self.dests]
        else:
            new = self._differences(w, act, data, before, brought, wrote, origins)
        if code.action is Action.SHUFFLE and data and self.dests and not control:
            origins = self._exchanged(w, act, data, before)
        for d, bits in zip(self.dests, new, strict=True):
            self._set(w, d, bits, origins, mask)
        return result

    def _lacking(self, w: CheckedWarp, registers: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """For each lane the first origin of bits without a value in these registers, and whether there is one."""
        origins, lanes = np.full(LANES, NO_ORIGIN, np.uint32), np.zeros(LANES, np.bool_)
        for r in registers:
            some = w.lacks[r] != 0
            origins, lanes = np.where(some, np.minimum(origins, w.origins[r]), origins), lanes | some
        return origins, lanes

    def _set(self, w: CheckedWarp, d: int, bits: np.ndarray, origins: np.ndarray, mask: np.ndarray) -> None:
        """A register's bits without a value, in the lanes of the mask."""
        old = w.lacks.get(d)
        if old is not None:
            bits, origins = np.where(mask, bits, old), np.where(mask, origins, w.origins[d])
        else:
            bits = np.where(mask, bits, np.zeros_like(bits))
        if bits.any():
            w.lacks[d], w.origins[d] = bits, origins
        elif old is not None:
            del w.lacks[d], w.origins[d]

    def _again(self, w: CheckedWarp, act: Step, before: list[np.ndarray], changed: dict[int, np.ndarray]) -> list[Any]:
        """What the registers would be if these had had other values before."""
        regs, touches = w.regs, w.touches
        w.regs, w.touches, w.trial = list(regs), None, True
        for d, value in zip(self.dests, before, strict=True):
            w.regs[d] = value
        for r, value in changed.items():
            w.regs[r] = value
        act(w)
        found, w.regs, w.touches, w.trial = w.regs, regs, touches, False
        return found

    def _differences(
        self,
        w: CheckedWarp,
        act: Step,
        data: list[int],
        before: list[np.ndarray],
        brought: list[Bytes],
        wrote: list[Bytes],
        origins: np.ndarray,
    ) -> list[np.ndarray]:
        """The bits of the results that differ when those without a value are flipped; those in memory are noted."""
        held = dict(zip(self.dests, before, strict=True))
        new = [np.zeros_like(bits_of(w.regs[d])) for d in self.dests]
        now = [one.memory.data[one.places] for one in wrote]
        each = len(data) if self.code.action in _COMBINES and len(data) <= 3 else min(len(data), 1)
        for subset in range(1, max(2, 1 << each)):
            some = [r for k, r in enumerate(data) if subset >> min(k, each - 1) & 1]
            for one in brought:
                one.memory.data[one.places] ^= one.bits
            other = self._again(w, act, before, {r: _flipped(held.get(r, w.regs[r]), w.lacks[r]) for r in some})
            for one in brought:
                one.memory.data[one.places] ^= one.bits
            for k, d in enumerate(self.dests):
                new[k] = new[k] | (bits_of(other[d]) ^ bits_of(w.regs[d]))
        register = data[0] if data else -1
        for one, real in zip(wrote, now, strict=True):
            differ = one.memory.data[one.places] ^ real
            one.memory.data[one.places] = real
            w.settles.append((_place(w, self.code), one._replace(bits=differ, origins=origins[one.lanes]), register))
        if not self.code.properties.lane_copy and self.code.form.op.kind != "warp":
            w.settle()
        return new

    def _exchanged(self, w: CheckedWarp, act: Step, data: list[int], before: list[np.ndarray]) -> np.ndarray:
        """The origins of what lanes get from others by a shuffle, which moves 32 bits."""
        found = self._again(w, act, before, {r: w.origins[r].view(w.regs[r].dtype) for r in data})
        return bits_of(found[self.dests[0]])

    def _product(self, w: CheckedWarp) -> list[np.ndarray]:
        code, p = self.code, fragments.product(self.code.form)
        held, regs = elements(self.t.program, code), w.regs
        w.regs = list(regs)
        for r in {*self.control, *self.dests}:
            w.regs[r] = w.lacks.get(r, np.zeros_like(bits_of(regs[r])))
        lost = {}
        for name, f in fragments.operands(code.form).items():
            if name != "d":
                found = reader(self.t, held[name], f)(w).ravel() != 0
                lost[name] = found & any(isinstance(e, Reg) for e in held[name])  # numbers have a value
        rows, columns = lost["a"][p.a.first].any(axis=1), lost["b"][p.b.first].any(axis=0)
        row, column = p.d.row.ravel(), p.d.column.ravel()
        wrong = rows[row] | columns[column] | lost["c"][p.c.first[row, column]]
        given = np.where(wrong, (1 << p.d.bits) - 1, 0).astype(np.uint64).reshape(p.d.row.shape)
        writer(self.t, held["d"], p.d)(w, given)
        result, w.regs = [bits_of(w.regs[d]) for d in self.dests], regs
        return result

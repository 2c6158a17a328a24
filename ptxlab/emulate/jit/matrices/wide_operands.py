"""Which operands of f16 and bf16 products lie in memory as products read them, while a basic block is emitted.

An `mma` takes fragments that others take as well: a warp multiplies each row of tiles by each column of tiles. So A
and B are widened when they are first needed, and stay where they are until one of their registers changes, and until
the deferred products (`deferred_products`) have read them. There is room for a few of each; what is needed last, or
not at all, makes room.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.matrices import dot_products, half_forms, half_operands, half_products
from ptxlab.emulate.jit.matrices.half_forms import PAIRS, Unit, is_half_product
from ptxlab.emulate.program.flat_program import Code, Reg
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.emulate.program.matrix_operands import Elements, elements
from ptxlab.isa import fragments
from ptxlab.isa.fragments import Fragment, Product

PLACES = {"a": 8, "b": 40}
"""Operands of each kind that are kept. Of those 16 deep an A of 16 rows takes 1 KiB, a B of 8 columns 256 or 512 bytes.
Four steps of 16 along k of 64 columns are 4 and 32 operands."""

Key = tuple[str, tuple[int, ...]]
"""The function that widens an operand, and its registers."""


@dataclass
class Place:
    """A piece of the function's stack: its name, how large it must be, and what lies there."""

    pointer: str
    size: int = 0
    key: Key | None = None
    alone: bool = False
    """Whether the registers do not hold it, so that it cannot be widened again."""
    awaited: bool = False
    """Whether a deferred product will read it."""


@dataclass
class Pool:
    """The places of one kind of operand."""

    name: str
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Loaded:
    """An operand B that is loaded from memory, the registers that are not written, and where it lies."""

    fragment: Fragment
    registers: tuple[int, ...]
    pointer: str


@dataclass(frozen=True)
class Taken:
    """The operands of a product (None where one is not in registers alone), and the registers of A and C."""

    form: Product
    a: Key | None
    b: Key | None
    beside_b: tuple[int, ...]
    guarded: bool


@dataclass
class Uses:
    """Of a block, by its first instruction: those that read and write each register, and that take each operand."""

    first: int
    reads: dict[int, list[int]] = field(default_factory=dict)
    writes: dict[int, list[int]] = field(default_factory=dict)
    operands: dict[Key, list[int]] = field(default_factory=dict)
    products: dict[int, Taken] = field(default_factory=dict)

    def add(self, index: int, taken: Taken) -> None:
        """A product, after those before it."""
        self.products[index] = taken
        for key in (taken.a, taken.b):
            if key is not None:
                self.operands.setdefault(key, []).append(index)


class WideOperands(Part):
    """A and B of half products. finish: computes the deferred products."""

    def __init__(self, e: Emitter, finish: Callable[[], None]) -> None:
        super().__init__(e)
        self.finish = finish
        self._held: dict[int, dict[str, Elements]] = {}
        self.cpu = half_forms.vectors(e.features)
        self.pools = {"a": Pool("a"), "b": Pool("b")}
        self.uses = Uses(-1)
        self.arriving: list[tuple[Place, Key]] = []

    def held(self, code: Code) -> dict[str, Elements]:
        """The registers behind the operands of a matrix instruction (see `elements`)."""
        found = self._held.get(code.index)
        if found is None:
            found = self._held[code.index] = elements(self.program, code)
        return found

    def begin(self) -> None:
        """A label: nothing is known."""
        for pool in self.pools.values():
            for place in pool.places:
                place.key = None

    def changed(self, r: int) -> None:
        """A register in the warp's state has another value."""
        for pool in self.pools.values():
            for place in pool.places:
                if place.key is not None and r in place.key[1]:
                    place.key = None

    def room(self) -> None:
        """At the function's entry: the places that were used."""
        for pool in self.pools.values():
            for place in pool.places:
                self.t.alloca(f"[{place.size} x i8]", align=64, name=place.pointer)

    def place(self, which: str, f: Fragment, held: Elements, table: str) -> Place:
        """Where A ("a") or B ("b") lies widened, from here on at least. table: of its registers' offsets."""
        name = self.function(which, f)
        key = _key(name, held)
        pool = self.pools[which]
        for place in pool.places if key is not None else ():
            if place.key == key:
                return place
        place = self._place(pool)
        place.size = max(place.size, self.size(which, f))
        place.key, place.alone = key if self.e.code.guard is None else None, False
        self.t.call_function("void", name, "ptr %ws", f"ptr {table}", f"ptr {place.pointer}")
        return place

    def done(self) -> None:
        """The products that were deferred have been computed."""
        for pool in self.pools.values():
            for place in pool.places:
                place.awaited = False

    def loaded(self, code: Code) -> list[Loaded]:
        """The operands B that an ldmatrix brings into registers which nobody else reads, and where they are to lie: the
        registers need not be written. Empty where that is not all that it does, or there is no room."""
        if self.e.diverged or self.e.instruments or code.guard is not None or self.active.partly:
            return []
        found = self._only_b(code)
        pool = self.pools["b"]
        if self._taken_b() + len(found) >= PLACES["b"]:
            self.finish()
        if self._taken_b() + len(found) >= PLACES["b"]:
            return []
        where = []
        for key, f in found.items():
            place = self._place(pool)
            place.size, place.key, place.alone = max(place.size, self.size("b", f)), key, True
            where.append(Loaded(f, key[1], place.pointer))
            self.arriving.append((place, key))
        return where

    def _taken_b(self) -> int:
        """The places that hold an operand B which must stay."""
        return sum(
            place.awaited or (place.alone and self._next_use(place.key) is not None) for place in self.pools["b"].places
        )

    def arrived(self) -> None:
        """The instruction's registers count as changed: from here on, their operands lie where `loaded` has said."""
        for place, key in self.arriving:
            place.key = key
        self.arriving.clear()

    def _only_b(self, code: Code) -> dict[Key, Fragment]:
        """The operands that are made of the registers that an instruction writes, if nothing else reads these."""
        block, uses, found = self.program.blocks[code.block], self._uses(), dict[Key, Fragment]()
        ends = {r: _after(uses.writes[r], code.index) for r in writes(code)}
        alive = self.e.alive_after(block)
        if any(end < 0 and (alive >> r & 1 or r in self.e.registers.held) for r, end in ends.items()):
            return {}
        last = {r: end if end >= 0 else block.last for r, end in ends.items()}
        for index in sorted({k for r in ends for k in _between(uses.reads.get(r, []), code.index, last[r])}):
            product = uses.products.get(index)
            if product is None or product.b is None or product.guarded:
                return {}
            beside = any(index <= last.get(r, -1) for r in product.beside_b)
            if beside or any(index > last.get(r, -1) for r in product.b[1]):
                return {}
            found[product.b] = product.form.b
        return found

    def function(self, which: str, f: Fragment) -> str:
        """The function that widens an A or B of this form."""
        name = f"{self.cpu.form(f.type)}_{which}_{f.type}_{f.rows}x{f.columns}"
        if name not in self.e.helpers:
            make = half_operands.widening_a if which == "a" else half_operands.widening_b
            self.e.helpers[name] = make(name, f, self.cpu, self.t.declared)
        return name

    @property
    def units(self) -> int:
        """How many units beside each other are multiplied at once."""
        return 2 if self.cpu.lanes >= 8 else 1

    def has_dots(self, p: Product) -> bool:
        """Whether a product is made of pairs."""
        return is_half_product(p) and self.cpu.form(p.a.type) == PAIRS

    def size(self, which: str, f: Fragment) -> int:
        """Bytes of an operand in the form that `function` gives it."""
        form = self.cpu.form(f.type)
        if which == "a":
            rows = half_forms.unit_rows(f)
            return f.rows // rows * half_forms.a_bytes(rows, f.columns, form)
        return f.columns // half_forms.COLUMNS * half_forms.b_bytes(f.rows, form)

    def product(self, unit: Unit, units: int, *, apart: bool) -> str:
        """The function that multiplies so many units beside each other."""
        shape = f"{unit.rows}x{half_forms.COLUMNS * units}x{unit.depth}"
        name = f"multiply_{unit.type}_{shape}_{unit.d}_{unit.c}{'_apart' if apart else ''}"
        if name not in self.e.helpers:
            make = dot_products.product if self.cpu.form(unit.type) == PAIRS else half_products.product
            self.e.helpers[name] = make(name, unit, units, self.cpu, self.t.declared, apart=apart)
        return name

    def _place(self, pool: Pool) -> Place:
        """A place for one more operand: that of the one whose next use is the farthest."""
        following = [(place, self._next_use(place.key)) for place in pool.places if not place.awaited]
        free = next((place for place, use in following if use is None), None)
        if free is None and len(pool.places) < PLACES[pool.name]:
            free = Place(f"%wide.{pool.name}{len(pool.places)}")
            pool.places.append(free)
        if free is not None:
            return free
        others = [(use or 0, -n, place) for n, (place, use) in enumerate(following) if not place.alone]
        if others:
            return max(others)[2]
        self.finish()
        return self._place(pool)

    def _next_use(self, key: Key | None) -> int | None:
        """The next instruction of the block that takes an operand, this one included."""
        if key is None:
            return None
        taken = self._uses().operands.get(key, [])
        following = bisect_left(taken, self.e.code.index)
        return taken[following] if following < len(taken) else None

    def _uses(self) -> Uses:
        """What the instructions of the block take, in order."""
        block = self.program.blocks[self.e.code.block]
        if self.uses.first != block.first:
            self.uses = uses = Uses(block.first)
            for code in self.program.codes[block.first : block.last]:
                for r in reads(code):
                    uses.reads.setdefault(r, []).append(code.index)
                for r in writes(code):
                    uses.writes.setdefault(r, []).append(code.index)
                if code.properties.product and is_half_product(fragments.product(code.form)):
                    uses.add(code.index, self._taken(code))
        return self.uses

    def _taken(self, code: Code) -> Taken:
        """What a product takes."""
        p, held = fragments.product(code.form), self.held(code)
        a, b = (_key(self.function(which, f), held[which]) for which, f in (("a", p.a), ("b", p.b)))
        beside = [e.index for name in "ac" for e in held[name] if isinstance(e, Reg)]
        return Taken(p, a, b, tuple(beside), code.guard is not None)


def _after(indexes: list[int], index: int) -> int:
    """The first of some indexes, in order, that is larger; -1 if none is."""
    at = bisect_right(indexes, index)
    return indexes[at] if at < len(indexes) else -1


def _between(indexes: list[int], first: int, last: int) -> list[int]:
    """Those of some indexes, in order, that come after the first and not after the last."""
    return indexes[bisect_right(indexes, first) : bisect_right(indexes, last)]


def _key(name: str, held: Elements) -> Key | None:
    """None where an operand is not in registers alone."""
    registers = tuple(e.index for e in held if isinstance(e, Reg))
    return (name, registers) if len(registers) == len(held) else None

"""Products of f16 and bf16 matrices: sums of f32 in registers, to which the products of some instructions are added.

A function multiplies one unit, or two beside each other that have one A (see `half_forms`): it loads
the sums, adds the products of one k after the other, each by a fused multiply-add, for as many instructions as there
are in a row that add to the same sums, and stores them. What is widened of B beforehand, or is not:

- `FLOATS`: two registers of an f32 sum are 8 rows of 4 even and of 4 odd columns, and stay in that layout: a vector of
  sums is a row of 4 columns. A's number is repeated by a shuffle of 4 along k, or, where there are such instructions
  (NEON), by the multiply-add.
- `ROWS`: a vector of sums is a row of 8 columns, and A's number is repeated by the load: shuffles would begin on one of
  the ports that multiply. Two units share it.
- `HALVES`: a vector of sums is a row of 8 columns, of 16 for two units. It is multiplied by one number of A, which the
  multiply-add loads, and one vector of B, widened there: once for 16 rows. With 512-bit vectors that takes less than
  to write a wide B and to read it.
- `PAIRS`: as `FLOATS`, a vector of sums being 4 rows, and each instruction (vdpbf16ps) adding two products.

An f16 product is exact in f32, so that without fused multiply-adds a multiplication and an addition give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ptxlab.emulate.jit.llvm.fragments import function, shuffle, slot
from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.llvm.vector_elements import joined
from ptxlab.emulate.jit.matrices.element_conversions import fma, narrow, widen
from ptxlab.emulate.jit.matrices.half_forms import EVEN_FIRST, FLOATS, HALVES, PAIRS, ROWS, ZERO, Unit, Vectors
from ptxlab.emulate.jit.matrices.half_operands import pointer_at

REGISTER = 128
"""Bytes of a register of 32 lanes."""
FACTORS = ", ptr %factors, i64 %steps"
"""Parameters of a product, after the table: pointers to A and to each B, for so many instructions."""
APART = ", ptr %c"
"""One more, where C's registers are not in the warp's state."""


def product(
    name: str, unit: Unit, units: int, cpu: Vectors, declared: set[str], *, apart: bool, exact: bool = False
) -> str:
    """`f(ptr %ws, ptr %table, ptr %factors, i64 %steps)`: the table has the registers of d and of C, those of each unit
    together. apart: C's registers lie one after the other at a pointer `%c`, since d may have some of them elsewhere.
    exact: pairs are multiplied without vdpbf16ps."""
    t = Text()
    t.declared = declared
    form = cpu.form(unit.type)
    kind = {FLOATS: _Quads, ROWS: _Lines, HALVES: _Rows, PAIRS: _Pairs}[form]
    made = kind(t, unit, units, cpu, apart=apart, exact=exact)
    for first in range(0, unit.rows, made.at_once):
        rows = range(first, min(unit.rows, first + made.at_once), made.step)
        sums = ["zeroinitializer"] * made.count(rows) if unit.c == ZERO else made.read(rows)
        vec = f"<{made.lanes} x float>"
        sums = _loop(t, unit, units, vec, sums, lambda a, b, sums, rows=rows: made.block(rows, a, b, sums), form)
        made.write(rows, sums)
    return function(t, name, FACTORS + (APART if apart else ""))


def _loop(
    t: Text, unit: Unit, units: int, vec: str, sums: list[str], block: Callable[..., list[str]], form: str
) -> list[str]:
    """Adds the products of all instructions, 8 along k at a time; `block` does that, of pointers to A and to each B."""
    again, end, i, following = t.label("again"), t.label("end"), t.name(), t.name()
    before = t.here
    t.go(again)
    t.at(again)
    here = len(t.lines)
    held = [t.name() for _ in sums]
    step, part = i, "0"
    if unit.blocks == 2:
        step, part = t.lshr("i64", i, 1), t.and_("i64", i, 1)
    given = t.element(f"[{1 + units} x ptr]", "%factors", step)
    a, *b = (t.load("ptr", pointer_at(t, given, 8 * n)) for n in range(1 + units))
    if unit.blocks == 2:
        of_a, of_b = (16 * unit.rows, 16) if form == PAIRS else (32 * unit.rows, 16 if form == HALVES else 256)
        a = t.element(f"[{of_a} x i8]", a, part)
        b = [t.element(f"[{of_b} x i8]", x, part) for x in b]
    added = block(a, b, held)
    phis = [f"  {i} = phi i64 [0, %{before}], [{following}, %{again}]"]
    for name, first, last in zip(held, sums, added, strict=True):
        phis.append(f"  {name} = phi {vec} [{first}, %{before}], [{last}, %{again}]")
    t.lines[here:here] = phis
    t.add("i64", i, 1, following)
    count = t.shl("i64", "%steps", unit.blocks - 1)
    t.branch(t.ult("i64", following, count), again, end)
    t.at(end)
    return added


class _Sums:
    """Some rows of the sums of a product: how they are read, added to, and written."""

    lanes: int
    """Of a vector."""
    step: int
    """Rows of a vector."""
    at_once: int
    """Rows whose sums are in registers at once."""

    def __init__(self, t: Text, unit: Unit, units: int, cpu: Vectors, *, apart: bool, exact: bool) -> None:
        self.t, self.unit, self.units, self.cpu, self.apart, self.exact = t, unit, units, cpu, apart, exact

    def count(self, rows: range) -> int:
        """How many vectors there are."""
        return len(rows)

    def read(self, rows: range) -> list[str]:
        raise NotImplementedError

    def block(self, rows: range, a: str, b: list[str], sums: list[str]) -> list[str]:
        """The sums with the products of 8 numbers along k."""
        raise NotImplementedError

    def write(self, rows: range, sums: list[str]) -> None:
        raise NotImplementedError

    def register(self, of: str, number: int, row: int) -> str:
        """A pointer to a row in a register of d ("d") or C."""
        t, place = self.t, 16 * (row % 8)
        if of == "c" and self.apart:
            return pointer_at(t, "%c", REGISTER * number + place)
        d = self.units * self.unit.registers(self.unit.d)
        return pointer_at(t, slot(t, number + (d if of == "c" else 0)), place)

    def added(self, a: str, b: str, c: str) -> str:
        """A sum and one more product."""
        if self.cpu.fused or self.unit.type == "bf16":
            return fma(self.t, "float", self.lanes, a, b, c)
        vec = f"<{self.lanes} x float>"
        return self.t.fadd(vec, self.t.fmul(vec, a, b), c)


class _Quads(_Sums):
    """Vectors of rows of 4 columns: even and odd ones of each unit, as in the registers of an f32 sum."""

    def __init__(self, t: Text, unit: Unit, units: int, cpu: Vectors, *, apart: bool, exact: bool) -> None:
        super().__init__(t, unit, units, cpu, apart=apart, exact=exact)
        self.lanes, self.step = cpu.lanes, cpu.rows
        self.at_once = 16 if cpu.lanes == 16 else 8 if cpu.lanes == 8 or cpu.by_element else 4

    def count(self, rows: range) -> int:
        return 2 * self.units * len(rows)

    def read(self, rows: range) -> list[str]:
        t, n, type_ = self.t, self.lanes, self.unit.c
        sums = []
        for row in rows:
            for u in range(self.units):
                first = u * self.unit.registers(type_) + row // 8 * (2 if type_ == "f32" else 1)
                if type_ == "f32":
                    for odd in range(2):
                        where = self.register("c", first + odd, row)
                        sums.append(t.load(f"<{n} x float>", where, align=4 * n))
                else:
                    where = self.register("c", first, row)
                    both = t.load(f"<{2 * n} x i16>", where, align=4 * n)
                    some = [shuffle(t, "i16", 2 * n, both, "poison", range(odd, 2 * n, 2)) for odd in range(2)]
                    sums += [widen(t, type_, n, x) for x in some]
        return sums

    def write(self, rows: range, sums: list[str]) -> None:
        t, n, type_ = self.t, self.lanes, self.unit.d
        parts = iter([narrow(t, type_, n, x) for x in sums])
        for row in rows:
            for u in range(self.units):
                first = u * self.unit.registers(type_) + row // 8 * (2 if type_ == "f32" else 1)
                even, odd = next(parts), next(parts)
                if type_ == "f32":
                    for k, bits in enumerate((even, odd)):
                        where = self.register("d", first + k, row)
                        t.store(f"<{n} x i32>", bits, where, align=4 * n)
                else:
                    low, high = (t.zext(f"<{n} x i16>", part, f"<{n} x i32>") for part in (even, odd))
                    both = t.or_(f"<{n} x i32>", low, t.shl(f"<{n} x i32>", high, "splat (i32 16)"))
                    t.store(f"<{n} x i32>", both, self.register("d", first, row), align=4 * n)

    def block(self, rows: range, a: str, b: list[str], sums: list[str]) -> list[str]:
        for k in range(8):
            part, i = divmod(k, 4)
            columns = [self._four(pointer_at(self.t, x, 32 * k + 16 * odd)) for x in b for odd in range(2)]
            sums = self._added(rows, pointer_at(self.t, a, 16 * part * self.unit.rows), i, columns, sums)
        return sums

    def _four(self, pointer: str) -> str:
        """Four columns, for each row of a vector."""
        four = self.t.load("<4 x float>", pointer, align=16)
        return shuffle(self.t, "float", 4, four, "poison", [0, 1, 2, 3] * self.step)

    def _added(self, rows: range, a: str, i: int, columns: list[str], sums: list[str]) -> list[str]:
        t, n, out = self.t, self.lanes, []
        for k, row in enumerate(rows):
            four = t.load(f"<{n} x float>", pointer_at(t, a, 16 * row), align=4 * n)
            left = shuffle(t, "float", n, four, "poison", [4 * r + i for r in range(self.step) for _ in range(4)])
            own = sums[k * len(columns) : (k + 1) * len(columns)]
            out += [self.added(left, right, c) for right, c in zip(columns, own, strict=True)]
        return out


class _Pairs(_Quads):
    """The same with pairs of numbers along k."""

    def block(self, rows: range, a: str, b: list[str], sums: list[str]) -> list[str]:
        blocks = self.unit.blocks
        for q in range(4):
            columns = [self._four(pointer_at(self.t, x, blocks * (32 * q + 16 * odd))) for x in b for odd in range(2)]
            sums = self._added(rows, a, q, columns, sums)
        return sums

    def added(self, a: str, b: str, c: str) -> str:
        """First the product of the upper halves."""
        if not self.exact:
            return dot(self.t, a, b, c)
        t, words = self.t, "<16 x i32>"
        some = [t.bitcast("<16 x float>", x, words) for x in (a, b)]
        for cut in ("and", "shl"):
            by = -65536 if cut == "and" else 16
            left, right = (
                t.bitcast(words, t.let(f"{cut} {words} {x}, splat (i32 {by})"), "<16 x float>") for x in some
            )
            c = fma(t, "float", 16, left, right, c)
        return c


def dot(t: Text, a: str, b: str, c: str) -> str:
    """The sums of 16 products of pairs of bf16."""
    vec, pairs = "<16 x float>", "<32 x bfloat>"
    a, b = (t.bitcast(vec, x, pairs) for x in (a, b))
    return t.call(vec, "llvm.x86.avx512bf16.dpbf16ps.512", [(vec, c), (pairs, a), (pairs, b)])


class _Rows(_Sums):
    """Vectors of rows of 8 columns, or of 16 of two units, the even ones of 8 first."""

    step, at_once = 1, 16

    def __init__(self, t: Text, unit: Unit, units: int, cpu: Vectors, *, apart: bool, exact: bool) -> None:
        super().__init__(t, unit, units, cpu, apart=apart, exact=exact)
        self.lanes = 8 * units

    def read(self, rows: range) -> list[str]:
        sums: list[str] = []
        t, type_ = self.t, self.unit.c
        if type_ == "f32":
            for row in rows[::4]:
                some = [
                    t.load("<16 x float>", self.register("c", number, row), align=64)
                    for number in self._registers(type_, row)
                ]
                sums += _turned(t, some) if self.units == 2 else _lines(t, *some)
            return sums
        for row in rows:
            own = [
                t.load("<8 x i16>", self.register("c", number, row), align=16) for number in self._registers(type_, row)
            ]
            own = [shuffle(t, "i16", 8, x, "poison", EVEN_FIRST) for x in own]
            sums.append(widen(t, type_, self.lanes, joined(t, "i16", 8, own)))
        return sums

    def _registers(self, type_: str, row: int) -> list[int]:
        """The numbers of the registers that hold a row."""
        each = 2 if type_ == "f32" else 1
        first = row // 8 * each
        return [u * self.unit.registers(type_) + first + k for u in range(self.units) for k in range(each)]

    def block(self, rows: range, a: str, b: list[str], sums: list[str]) -> list[str]:
        t = self.t
        for k in range(8):
            own = [t.load("<8 x i16>", pointer_at(t, x, 16 * self.unit.blocks * k), align=16) for x in b]
            right = widen(t, self.unit.type, self.lanes, joined(t, "i16", 8, own))
            out = []
            for row, c in zip(rows, sums, strict=True):
                left = _repeated(t, self.lanes, pointer_at(t, a, 32 * row + 4 * k))
                out.append(self.added(left, right, c))
            sums = out
        return sums

    def write(self, rows: range, sums: list[str]) -> None:
        t, type_ = self.t, self.unit.d
        if type_ == "f32":
            for k, row in enumerate(rows[::4]):
                own = sums[4 * k : 4 * k + 4]
                parts = _turned(t, own) if self.units == 2 else _columns(t, own)
                for number, part in zip(self._registers(type_, row), parts, strict=True):
                    bits = narrow(t, type_, 16, part)
                    t.store("<16 x i32>", bits, self.register("d", number, row), align=64)
            return
        for row, value in zip(rows, sums, strict=True):
            halves = narrow(t, type_, self.lanes, value)
            for u, number in enumerate(self._registers(type_, row)):
                order = [8 * u + EVEN_FIRST.index(c) for c in range(8)]
                line = shuffle(t, "i16", self.lanes, halves, "poison", order)
                t.store("<8 x i16>", line, self.register("d", number, row), align=16)


class _Lines(_Sums):
    """Vectors of rows of 8 columns, the even ones first, for each unit."""

    lanes, step = 8, 1

    def __init__(self, t: Text, unit: Unit, units: int, cpu: Vectors, *, apart: bool, exact: bool) -> None:
        super().__init__(t, unit, units, cpu, apart=apart, exact=exact)
        self.at_once = 6 if units == 2 else 8  # 12 vectors of sums at most, of 16 registers

    def count(self, rows: range) -> int:
        return self.units * len(rows)

    def _places(self, rows: range, of: str) -> Iterator[list[str]]:
        """For each vector the rows of its registers, in d ("d") or C."""
        type_ = self.unit.d if of == "d" else self.unit.c
        each = 2 if type_ == "f32" else 1
        for row in rows:
            for u in range(self.units):
                first = u * self.unit.registers(type_) + row // 8 * each
                yield [self.register(of, first + k, row) for k in range(each)]

    def read(self, rows: range) -> list[str]:
        t, sums = self.t, []
        for places in self._places(rows, "c"):
            if self.unit.c == "f32":
                parts = [t.load("<4 x float>", place, align=16) for place in places]
                sums.append(joined(t, "float", 4, parts))
            else:
                line = t.load("<8 x i16>", places[0], align=16)
                sums.append(widen(t, self.unit.c, 8, shuffle(t, "i16", 8, line, "poison", EVEN_FIRST)))
        return sums

    def block(self, rows: range, a: str, b: list[str], sums: list[str]) -> list[str]:
        t = self.t
        for k in range(8):
            right = [t.load("<8 x float>", pointer_at(t, x, 32 * k), align=32) for x in b]
            out: list[str] = []
            for row in rows:
                left = _repeated(t, 8, pointer_at(t, a, 32 * row + 4 * k))
                out += [self.added(left, x, sums[len(out) + u]) for u, x in enumerate(right)]
            sums = out
        return sums

    def write(self, rows: range, sums: list[str]) -> None:
        t = self.t
        for places, value in zip(self._places(rows, "d"), sums, strict=True):
            bits = narrow(t, self.unit.d, 8, value)
            if self.unit.d == "f32":
                for k, place in enumerate(places):
                    part = shuffle(t, "i32", 8, bits, "poison", range(4 * k, 4 * k + 4))
                    t.store("<4 x i32>", part, place, align=16)
            else:
                line = shuffle(t, "i16", 8, bits, "poison", [EVEN_FIRST.index(c) for c in range(8)])
                t.store("<8 x i16>", line, places[0], align=16)


def _repeated(t: Text, lanes: int, pointer: str) -> str:
    """A number in each lane."""
    return t.splat("float", t.load("float", pointer), lanes)


def _turned(t: Text, x: Sequence[str]) -> list[str]:
    """The transpose of 4 vectors of 4 parts of 4 numbers."""
    first = [_parts(t, x[i], x[i + 1], both) for i in (0, 2) for both in ((0, 1), (2, 3))]
    return [_parts(t, first[k // 2], first[2 + k // 2], (k % 2, k % 2 + 2)) for k in range(4)]


def _parts(t: Text, a: str, b: str, which: Sequence[int]) -> str:
    """Two parts of 4 numbers of each of two vectors."""
    return shuffle(t, "float", 16, a, b, [of + 4 * part + i for of in (0, 16) for part in which for i in range(4)])


def _lines(t: Text, even: str, odd: str) -> list[str]:
    """4 rows of 8 columns, of their even and their odd ones."""
    return [shuffle(t, "float", 16, even, odd, [of + 4 * r + i for of in (0, 16) for i in range(4)]) for r in range(4)]


def _columns(t: Text, rows: Sequence[str]) -> list[str]:
    """As `_lines`, the other way round."""
    both = joined(t, "float", 8, rows)
    return [
        shuffle(t, "float", 32, both, "poison", [8 * r + 4 * odd + i for r in range(4) for i in range(4)])
        for odd in range(2)
    ]

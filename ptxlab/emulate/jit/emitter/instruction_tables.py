"""Long runs of instructions that only compute: in QUICK code of a long text they are rows of a table.

LLVM takes some 200 microseconds for each such line of PTX where there are no 512-bit vectors, and as long for the next
one of the same kind. So lines of one kind (the same form, operands of the same kinds) share a function, which finds its
operands by a row of a table: their places in the warp's state, or their values. A loop calls one function after the
other. That is slower than code of its own, until the program is hot and GOOD code takes its place.
"""

from __future__ import annotations

import struct
from typing import Any, cast

from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.operands import resized
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.operations import Ops
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Value
from ptxlab.emulate.program.flat_program import Code, Inverted, Literal, Reg, Source
from ptxlab.emulate.program.lane_types import DTYPE
from ptxlab.isa import types
from ptxlab.isa.actions import Action as A
from ptxlab.isa.machine import Machine

LONG = 2000
"""Instructions from which on a text is long."""
SHORTEST = 6
"""Instructions of a run from which on it is in the table."""
ACTIONS = frozenset(
    {A.MOVE, A.CONVERT, A.ADD, A.SUBTRACT, A.MULTIPLY, A.MULTIPLY_ADD, A.DIVIDE, A.MINIMUM, A.MAXIMUM, A.CHANGE_SIGN,
     A.COMPARE, A.SELECT, A.SELECT_BY_SIGN, A.NOT, A.AND, A.OR, A.EXCLUSIVE_OR, A.REARRANGE, A.SPECIAL_FUNCTION,
     A.EXPONENTIAL}
)  # fmt: skip
"""What needs nothing but its operands; without the forms that pass a carry."""
WORDS = 8
"""A row: the number of the function, and an i32 for each operand, two for a 64-bit number."""

Kind = tuple[str, str]
"""What a source is, and its lane type: "lanes" or "one" (a place in the warp's state, of 32 numbers or of one for all
lanes), "inverse" (of a predicate), "number" (in the row), "given" (a number that is part of the form), "none"."""


def _type_of(source: Literal, type_: str) -> str:
    """The type of an immediate."""
    return type_ if type_ != "any" else "b64" if source.kind == "int" else source.kind


def _number(source: Literal, lane: str, type_: str) -> int:
    """The bits of an immediate, as `Operands.read` has them."""
    if source.kind == lane:
        return source.bits
    value = source.as_type(_type_of(source, type_))
    if isinstance(value, float):
        return int.from_bytes(DTYPE[lane].type(value).tobytes(), "little")
    return value & ((1 << BITS[lane]) - 1)


class InstructionTables(Part):
    """The table of one function of a program."""

    def __init__(self, e: Emitter) -> None:
        super().__init__(e)
        self.runs: dict[int, int] = {}
        """The end of each run, by its first instruction."""
        self.inside: set[int] = set()
        """The instructions in runs."""
        self._functions: dict[object, int] = {}
        self._kinds: dict[int, tuple[Kind, ...]] = {}
        """Those of the sources of an instruction."""
        self._rows: list[bytes] = []
        for block in self.program.blocks:
            self._find(block.first, block.last)

    def _find(self, first: int, last: int) -> None:
        """Notes the runs of a block."""
        at = first
        for k in range(first, last + 1):
            if k == last or not self._fits(self.program.codes[k]):
                if k - at >= SHORTEST:
                    self.runs[at] = k
                    self.inside.update(range(at, k))
                at = k + 1

    def _fits(self, code: Code) -> bool:
        """Whether an instruction can be a row."""
        if code.action not in ACTIONS or code.guard is not None or code.copy is not None or code.form.cc:
            return False
        if code.form.op.sem is None or not all(isinstance(d, Reg) and self._in_lanes(d.index) for d in code.dests):
            return False
        kinds = []
        for source, type_ in zip(code.sources, code.source_types, strict=True):
            kind = self._kind(source, type_)
            if kind is None:
                return False
            kinds.append(kind)
        self._kinds[code.index] = tuple(kinds)
        words = sum((BITS[lane] + 31) // 32 if kind == "number" else 1 for kind, lane in kinds)
        return 1 + len(code.dests) + words <= WORDS

    def _in_lanes(self, r: int) -> bool:
        """Whether a register may be written by lanes: no function keeps it as a scalar."""
        return not self.e.scalars[r]

    def _kind(self, source: Source | None, type_: str) -> Kind | None:
        """What a source is; None: not for a row."""
        if source is None:
            return "none", "i1"
        if isinstance(source, Literal):
            if type_ == "int":
                return f"given {source.value}", "i1"
            lane = types.lane(_type_of(source, type_))
            return ("number", lane) if BITS[lane] >= 16 else None
        if isinstance(source, Inverted):
            return ("inverse", "i1") if self._in_lanes(source.operand.index) else None
        if not isinstance(source, Reg):
            return None
        r, lane = source.index, self.program.registers[source.index].lane
        if self.e.diverged or not self.e.scalars[r]:
            return "lanes", lane
        return ("one", lane) if self.e.uniform[r] and r not in self.e.affine and lane != "i1" else None

    # -- rows ----------------------------------------------------------------------------------------------------------

    def has(self, code: Code) -> bool:
        """Whether an instruction is a row here. Rows do not know of lanes that have values of their own of what is one
        number elsewhere."""
        return code.index in self.inside and not self.e.registers.spread

    def emit(self, code: Code) -> None:
        """A run, at its first instruction: the rows, and the call of the loop over them."""
        if code.index not in self.runs:
            return
        begin, codes = len(self._rows), self.program.codes[code.index : self.runs[code.index]]
        for each in codes:
            self._rows.append(self._row(each))
        rows = f"@rows.{self.e.name}"
        ends = (f"ptr getelementptr (i8, ptr {rows}, i64 {4 * WORDS * n})" for n in (begin, len(self._rows)))
        self.t.call_function("void", f"run.{self.e.name}", "ptr %ws", *ends, f"i32 {self.active.block_bits}")

    def _row(self, code: Code) -> bytes:
        """The row of an instruction. What it reads is in the warp's state by now, what it writes will be."""
        registers, file, kinds = self.e.registers, self.e.file, self._kinds[code.index]
        words, values = [0], list[int]()
        for source, type_, kind in zip(code.sources, code.source_types, kinds, strict=True):
            if kind[0] == "number":
                assert isinstance(source, Literal)
                number = _number(source, kind[1], type_)
                values += [number & 0xFFFFFFFF, number >> 32][: (BITS[kind[1]] + 31) // 32]
            elif isinstance(source, Reg | Inverted):
                r = source.index if isinstance(source, Reg) else source.operand.index
                if r in registers.dirty:
                    registers.put(r)
                values.append(file.scalar[r] if kind[0] == "one" else file.vector[r])
        for dest in code.dests:
            assert isinstance(dest, Reg)
            if self.active.partly:
                registers.put(dest.index)
            registers.forget(dest.index)
            words.append(file.vector[dest.index])
        lanes_of = tuple(self.program.registers[d.index].lane for d in code.dests if isinstance(d, Reg))
        key = code.form.opcode, code.source_types, code.dest_types, lanes_of, kinds, self.active.partly
        if key not in self._functions:
            self._functions[key] = len(self._functions)
            self._write(self._functions[key], code, kinds)
        words[0] = self._functions[key]
        return struct.pack(f"<{WORDS}I", *(words + values + [0] * WORDS)[:WORDS])

    # -- functions -----------------------------------------------------------------------------------------------------

    def _write(self, number: int, code: Code, kinds: tuple[Kind, ...]) -> None:
        """The function of a key."""
        t, form, at = Text(), code.form, 1 + len(code.dests)
        m = Ops(t)
        sources: list[Any] = []
        for (kind, lane), type_ in zip(kinds, code.source_types, strict=True):
            if kind == "none" or kind.startswith("given"):
                sources.append(None if kind == "none" else int(kind.split()[1]))
                continue
            value = self._read(m, kind, lane, at)
            at += (BITS[lane] + 31) // 32 if kind == "number" else 1
            type_ = str(form.type) if type_ == "vec" else type_
            sources.append(value if type_ in ("any", "int") else resized(m, value, types.lane(type_), signed=False))
        sem = form.op.sem
        assert sem is not None, f"{form.opcode} has no semantics"
        result = sem(cast(Machine, m), form, *sources)
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for k, (dest, type_, value) in enumerate(zip(code.dests, code.dest_types, results, strict=False)):
            assert isinstance(dest, Reg)
            type_ = str(form.type) if type_ == "vec" else type_
            signed = type_ in types.WIDTH and types.is_signed(type_)
            self._store(m, resized(m, value, self.program.registers[dest.index].lane, signed=signed), 1 + k)
        self.t.declared |= t.declared
        name = self._name(number)
        t.ret()
        self.e.helpers[name] = t.function(f"void @{name}(ptr %ws, ptr %row, i32 %bits)", "noinline nounwind")

    def _name(self, number: int) -> str:
        return f"row.{self.e.name}.{number}"

    def _read(self, m: Ops, kind: str, lane: str, at: int) -> Value:
        """A source, for all lanes."""
        t, type_ = m.t, LLVM[lane]
        p = t.offset("%row", 4 * at)
        if kind == "number":
            return Value(t.splat(type_, t.load(type_, p, align=4)), lane, False)
        p = self._place(t, p)
        if lane == "i1":
            value = m.of_bits(t.load("i32", p))
            return m.not_(value) if kind == "inverse" else value
        if kind == "one":
            return Value(t.splat(type_, t.load(type_, p, align=8)), lane, False)
        return Value(t.load(f"<{W} x {type_}>", p, align=64), lane, False)

    def _place(self, t: Text, word: str) -> str:
        """The place in the warp's state that a word of the row tells."""
        return t.element("i8", "%ws", t.load("i32", word), by="i32")

    def _store(self, m: Ops, value: Value, at: int) -> None:
        """A result; inactive lanes keep what they have."""
        t, vector = m.t, f"<{W} x {LLVM[value.type]}>"
        p = self._place(t, t.offset("%row", 4 * at))
        text, align = m.vector(value), 64
        if value.type == "i1":
            text, vector, align = t.bitcast(vector, text, "i32"), "i32", 4
        if self.active.partly:
            old = t.load(vector, p, align=align)
            if value.type == "i1":
                others = t.and_("i32", old, t.xor("i32", "%bits", -1))
                text = t.or_("i32", others, t.and_("i32", text, "%bits"))
            else:
                text = t.select(m.vector(m.of_bits("%bits")), vector, text, old, of=f"<{W} x i1>")
        t.store(vector, text, p, align=align)

    # -- the table -----------------------------------------------------------------------------------------------------

    def text(self) -> list[str]:
        """The table, and the loop over some of its rows."""
        if not self._rows:
            return []
        name, data = self.e.name, b"".join(self._rows)
        functions = ", ".join(f"ptr @{self._name(n)}" for n in range(len(self._functions)))
        t = Text()
        t.go("next")
        t.at("next")
        row = t.phi("ptr", ("%first", "entry"), ("%after", "next"))
        function = t.load("ptr", t.element("ptr", f"@functions.{name}", t.load("i32", row), by="i32"))
        t.do(f"call void {function}(ptr %ws, ptr {row}, i32 %bits)")
        t.offset(row, 4 * WORDS, "%after")
        t.branch(t.eq("ptr", "%after", "%end"), "over", "next")
        t.at("over")
        t.ret()
        head = f"void @run.{name}(ptr %ws, ptr %first, ptr %end, i32 %bits)"
        self.e.helpers[f"run.{name}"] = t.function(head, "noinline nounwind")
        return [
            f'@rows.{name} = internal constant [{len(data)} x i8] c"\\{data.hex(chr(92))}", align 16',
            f"@functions.{name} = internal constant [{len(self._functions)} x ptr] [{functions}]",
        ]

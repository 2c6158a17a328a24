"""One instruction at a time from a program into LLVM IR: masks, registers, operands, results.

`Fast` and `Slow` (see the modules of those names) share what is here; they differ in how control moves, in where
registers live and in whether a write must spare the lanes that do not execute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Accesses, Address, Group, plan_groups
from ptxlab.emulate.jit.analysis import successors
from ptxlab.emulate.jit.atomics import Atomics
from ptxlab.emulate.jit.specials import Specials
from ptxlab.emulate.jit.values import BITS, LLVM, Value, W, constant
from ptxlab.emulate.program import Block, Code, Inverted, Literal, Mem, Program, Reg, Source, Symbol
from ptxlab.emulate.program import Group as Elements
from ptxlab.isa import types
from ptxlab.isa.convert import unpack

SIGNATURE = "ptr noalias %ctx, ptr noalias %cta, ptr noalias %ws"


class Emitter(Specials, Atomics, Accesses):
    """Writes one of the two functions of a program; `slow` says which."""

    slow = False

    def __init__(self, program: Program, uniform: list[bool], alive: list[int], file: S.RegisterFile) -> None:
        super().__init__()
        self.program, self.uniform, self.alive, self.file = program, uniform, alive, file
        self.tables: list[str] = []
        self.helpers_needed: dict[str, str] = {}
        self.sites = 0
        self.groups: dict[int, Group] = {}
        self.code = program.codes[0]
        self.mask_bits, self._mask = "", ""
        self.guard: Value | None = None
        self.values: dict[int, Value] = {}
        self.dirty: set[int] = set()

    # -- the function --------------------------------------------------------------------------------------------------

    def function(self) -> str:
        """The LLVM text of the function, with its tables."""
        for block in self.program.blocks:
            groups, self.sites = plan_groups(self.program, block.first, block.last, self.sites)
            self.groups = groups
            self.block(block)
        body, self.t.lines = self.t.lines, []
        self._fields()
        self.dispatch()
        lines = [f"define i32 @{'slow' if self.slow else 'fast'}({SIGNATURE}) nounwind alignstack(64) {{", "entry:"]
        lines += [*self.t.lines, *body, "fault:", f"  ret i32 {S.FAULT}", "}"]
        return "\n".join(self.tables) + "\n" + "\n".join(lines) + "\n"

    def block(self, block: Block) -> None:
        """A basic block."""
        raise NotImplementedError

    def dispatch(self) -> None:
        """From the function's entry to where the warp stands."""
        raise NotImplementedError

    def jump(self, block: Block, target: Value) -> None:
        """Lanes whose guard holds go to `target` (a program counter, perhaps each its own), the others on."""
        raise NotImplementedError

    def go(self, block: int) -> None:
        """All executing lanes go on at a block."""
        raise NotImplementedError

    def leave(self, block: Block) -> None:
        """Lanes whose guard holds end."""
        raise NotImplementedError

    def wait(self, block: Block) -> None:
        """Lanes whose guard holds wait, `barrier` having noted where."""
        raise NotImplementedError

    def _fields(self) -> None:
        t = self.t
        for buffer, kind in (("addrs", f"<{W} x i64>"), ("data", f"[{W * 8} x i64]"), ("out", f"<{W} x i64>")):
            t.do(f"%{buffer} = alloca {kind}, align 64")
        t.do("%mask.p = alloca i32")
        for name, base, offset, kind in (
            ("params", "ctx", S.PARAMS, "ptr"), ("sites", "ctx", S.SITES, "ptr"), ("counts", "ctx", S.COUNTS, "ptr"),
            ("shared", "cta", S.SHARED, "ptr"), ("shared.size", "cta", S.SHARED_SIZE, "i64"),
            ("local", "ws", S.LOCAL, "ptr"), ("warps", "ctx", S.WARPS, "i64"),
        ):  # fmt: skip
            t.do(f"%{name}.p = getelementptr i8, ptr %{base}, i64 {offset}")
            t.do(f"%{name} = load {kind}, ptr %{name}.p")
        for name, base, offset in (
            ("live", "ws", S.LIVE), ("wait", "ws", S.WAIT), ("fast.pc", "ws", S.FAST_PC), ("turn", "ws", S.DISPATCHES),
            ("quantum", "ctx", S.QUANTUM), ("carry", "ws", S.CARRY),
        ):  # fmt: skip
            t.do(f"%{name}.at = getelementptr i8, ptr %{base}, i64 {offset}")
    def table(self, registers: int) -> tuple[str, int]:
        """A constant table of the uniform registers among a bit set: vector offset, scalar offset, bytes (0: a bit)."""
        rows: list[int] = []
        for r, register in enumerate(self.program.registers):
            if registers >> r & 1 and self.uniform[r]:
                bits = BITS[register.lane]
                rows += [self.file.vector[r], self.file.scalar[r], 0 if bits == 1 else bits // 8]
        if not rows:
            return "null", 0
        name = f"@table.{'slow' if self.slow else 'fast'}.{len(self.tables)}"
        listed = ", ".join(f"i32 {x}" for x in rows)
        self.tables.append(f"{name} = internal constant [{len(rows)} x i32] [{listed}]")
        return name, len(rows) // 3

    def begin(self, block: Block, last: int, bits: str) -> None:
        """At a label: nothing is known but the lanes that run, up to the code index `last`."""
        self.values, self.dirty, self._mixed_addresses = {}, set(), {}
        self.forget_splats()
        self._block_bits = bits
        self._block_mask = self.t.let(f"bitcast i32 {bits} to <{W} x i1>")
        self.mask_bits, self._mask = bits, self._block_mask

    def count(self, block: Block, bits: str) -> None:
        """Executions of this block, by warps and by threads; and the quantum."""
        t = self.t
        p = t.let(f"getelementptr i8, ptr %counts, i64 {16 * block.index}")
        t.bump(p, "add i64", "1")
        q = t.let(f"getelementptr i8, ptr {p}, i64 8")
        lanes = t.let(f"zext i32 {t.call('i32', 'llvm.ctpop.i32', [('i32', bits)])} to i64")
        t.bump(q, "add i64", lanes)
        t.bump("%quantum.at", "sub i64", str(block.last - block.first))

    def _tally(self, target: int, bits: str) -> None:
        """Counts the last block for the lanes in `bits`, which end without entering it. Lanes that stay come to it
        later, and with them the warp is counted."""
        t = self.t
        p = t.let(f"getelementptr i8, ptr %counts, i64 {16 * target}")
        t.bump(p, "add i64", t.let(f"zext i1 {t.let(f'icmp eq i32 {bits}, {self._block_bits}')} to i64"))
        q = t.let(f"getelementptr i8, ptr {p}, i64 8")
        t.bump(q, "add i64", t.let(f"zext i32 {t.call('i32', 'llvm.ctpop.i32', [('i32', bits)])} to i64"))

    def mask_vector(self) -> str:
        return self._mask

    def apply_guard(self, code: Code) -> None:
        """Narrows the mask to the lanes whose guard holds."""
        self.guard = None
        self.mask_bits, self._mask = self._block_bits, self._block_mask
        if code.guard is None:
            return
        held = self.read_register(code.guard[0])
        if code.guard[1]:
            held = self.not_(held)
        self.guard = held
        if held.uniform:
            self.mask_bits = self.t.let(f"select i1 {held.text}, i32 {self._block_bits}, i32 0")
        else:
            bits = self.t.let(f"bitcast <{W} x i1> {held.text} to i32")
            self.mask_bits = self.t.let(f"and i32 {bits}, {self._block_bits}")
        self._mask = self.t.let(f"bitcast i32 {self.mask_bits} to <{W} x i1>")

    def active(self) -> Value:
        return Value(self._mask, "i1", False)

    # -- registers -----------------------------------------------------------------------------------------------------

    def read_register(self, r: int) -> Value:
        found = self.values.get(r)
        if found is None:
            lane = self.program.registers[r].lane
            scalar = self.uniform[r] and not self.slow
            at = self.file.scalar[r] if scalar else self.file.vector[r]
            p = self.t.let(f"getelementptr i8, ptr %ws, i64 {at}")
            if lane == "i1":
                if scalar:
                    text = self.t.let(f"icmp ne i8 {self.t.let(f'load i8, ptr {p}')}, 0")
                else:
                    text = self.t.let(f"bitcast i32 {self.t.let(f'load i32, ptr {p}')} to <{W} x i1>")
            else:
                ty = LLVM[lane] if scalar else f"<{W} x {LLVM[lane]}>"
                text = self.t.let(f"load {ty}, ptr {p}, align {8 if scalar else 64}")
            found = self.values[r] = Value(text, lane, scalar)
        return found

    def write_register(self, r: int, value: Value) -> None:
        """A write: in lanes that do not execute, the old value stays."""
        if self.slow:
            value = self.select(Value(self._mask, "i1", False), value, self.read_register(r))
        elif self.guard is not None:
            value = self.select(self.guard, value, self.read_register(r))
        self.values[r] = value
        self.dirty.add(r)

    def flush(self, alive: int) -> None:
        """Stores those changed registers that are alive later, a bit set."""
        for r in sorted(self.dirty):
            if not alive >> r & 1:
                continue
            value, lane = self.values[r], self.program.registers[r].lane
            if self.uniform[r] and not self.slow:
                assert value.uniform, (self.program.registers[r], value)
                p = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.file.scalar[r]}")
                text = self.t.let(f"zext i1 {value.text} to i8") if lane == "i1" else value.text
                self.t.do(f"store {'i8' if lane == 'i1' else value.llvm} {text}, ptr {p}, align 8")
                continue
            p = self.t.let(f"getelementptr i8, ptr %ws, i64 {self.file.vector[r]}")
            vector = self.vector(value)
            if lane == "i1":
                self.t.do(f"store i32 {self.t.let(f'bitcast <{W} x i1> {vector} to i32')}, ptr {p}")
            else:
                self.t.do(f"store <{W} x {LLVM[lane]}> {vector}, ptr {p}, align 64")
        self.dirty.clear()

    # -- operands and results ------------------------------------------------------------------------------------------

    def _read(self, source: Source | None, type_: str) -> Any:
        if source is None:
            return None
        if isinstance(source, Mem):
            return Address(self._base(source), source.offset)
        if isinstance(source, Elements):
            element = self._element_type(type_, len(source.elements))
            return tuple(self._read(e, element) for e in source.elements)
        if isinstance(source, Literal):
            if type_ == "int":
                return source.value
            if type_ == "any":
                type_ = "b64" if source.kind == "int" else source.kind
            return self._immediate(source, types.lane(type_), type_)
        if isinstance(source, Inverted):
            return self.not_(self.read_register(source.operand.index))
        if isinstance(source, Symbol):
            return self.const(types.lane(type_), source.value)
        value = self.read_register(source.index) if isinstance(source, Reg) else self.special(source.name)
        if type_ == "vec":
            assert self.code.form is not None
            type_ = str(self.code.form.type)
        return value if type_ in ("any", "int") else self._resize(value, types.lane(type_), signed=False)

    def _immediate(self, source: Literal, lane: str, type_: str) -> Value:
        """An immediate as an operand; `0f` literals keep every bit, NaN payloads included."""
        if source.kind == lane:
            bits = np.uint32(source.bits) if lane == "f32" else np.uint64(source.bits)
            return constant(np.full(W, bits).view(np.float32 if lane == "f32" else np.float64), lane)
        return self.const(lane, source.as_type(type_))

    def _element_type(self, type_: str, count: int) -> str:
        """The type of one of `count` elements: `.v4.f32` holds f32, `{a, b}` of a b64 holds b32."""
        form = self.code.form
        assert form is not None
        if form.op.kind == "warp" or type_ == "any":
            return "any"
        if type_ == "vec" or form.vec:
            return str(form.type)
        return f"b{types.width(type_) // count}"

    def _base(self, mem: Mem) -> Value:
        if isinstance(mem.base, Reg):
            return self.read_register(mem.base.index)
        return self.const("i32" if self.code.space == "shared" else "i64", int(mem.base.value))

    def _resize(self, value: Value, lane: str, *, signed: bool) -> Value:
        """A value as another lane type: reinterpreted at the same width, cut or extended otherwise."""
        have, want = BITS[value.type], BITS[lane]
        if value.type == lane:
            return value
        if have == want:
            return self.bitcast(lane, value)
        as_int = value if value.type[0] == "i" else self.bitcast(f"i{have}", value)
        target = f"i{want}"
        if have > want:
            cut = self.trunc(target, as_int)
        else:
            cut = self.sext(target, as_int) if signed else self.zext(target, as_int)
        return cut if lane == target else self.bitcast(lane, cut)

    def _write(self, dest: Reg | Elements | None, type_: str, result: Any) -> None:
        if dest is None or result is None:
            return
        if isinstance(dest, Elements):
            if not isinstance(result, tuple):  # `mov.b64 {a, b}, c`
                result = unpack(self, type_, len(dest.elements), result)
            element_type = self._element_type(type_, len(dest.elements))
            for element, part in zip(dest.elements, result, strict=True):
                if isinstance(element, Reg):
                    self._write(element, element_type, part)
            return
        lane = self.program.registers[dest.index].lane
        if type_ == "vec":
            assert self.code.form is not None
            type_ = str(self.code.form.type)
        signed = type_ in types.WIDTH and types.is_signed(type_)
        self.write_register(dest.index, self._resize(result, lane, signed=signed))

    def plain(self, code: Code) -> None:
        if code.copy is not None:
            self._copy(*code.copy)
            return
        if code.name == "%reduced":
            self.reduced(code)
            return
        assert code.form is not None
        sem = code.form.op.sem
        if sem is None:  # kind "none": no effect on results
            return
        sources = [self._read(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        result = sem(self, code.form, *sources)
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self._write(dest, type_, r)

    def _copy(self, source: int, dest: int, size: int) -> None:
        """Arguments and results of a call, from frame to frame in every lane."""
        each = S.local_stride(self.program)
        lanes = "<" + ", ".join(f"i64 {k * each}" for k in range(W)) + ">"
        at = 0
        while at < size:
            step = next(n for n in (8, 4, 2, 1) if n <= size - at and (source + at) % n == 0 and (dest + at) % n == 0)
            pointers = []
            for offset in (source, dest):
                base = self.t.let(f"getelementptr i8, ptr %local, i64 {offset + at}")
                pointers.append(self.t.let(f"getelementptr i8, ptr {base}, <{W} x i64> {lanes}"))
            value = self._gather(f"i{8 * step}", pointers[0])
            self._scatter(f"i{8 * step}", pointers[1], value.text)
            at += step

    def alive_after(self, block: Block) -> int:
        """The registers that any block after this one may read."""
        alive = 0
        for successor in successors(self.program, block.index):
            alive |= self.alive[successor]
        return alive

    def pc(self, block: int) -> int:
        """The program counter of a block's start."""
        return 2 * self.program.blocks[block].first if block >= 0 else 0

    # -- control -------------------------------------------------------------------------------------------------------

    @staticmethod
    def is_control(code: Code) -> bool:
        """Whether an instruction ends a block."""
        if code.name in ("bar", "barrier"):
            return code.form is not None and not code.form.warp
        return code.name in ("bra", "brx", "ret", "exit", "call", "trap")

    def control(self, block: Block, code: Code) -> None:
        """A branch, call, return, exit, trap or barrier: the end of a block."""
        if code.name in ("ret", "exit") and code.register < 0:
            self.flush(self.alive_after(block))
            self.leave(block)
            return
        if code.name == "trap":
            self._trap(block)
            return
        if code.name in ("bar", "barrier"):
            self.flush(self.alive_after(block))
            self._barrier(block, code)
            return
        if code.name == "call":
            self.write_register(code.register, self.const("i32", self.pc(block.next)))
            target: Value = self.const("i32", self.pc(code.target))
        elif code.name == "ret":
            target = self.read_register(code.register)
        elif code.name == "brx":
            target = self._brx_target(code)
        else:
            if not self.slow and code.guard is not None and self._leaves(code.target):
                self._tally(code.target, self.mask_bits)
                self.flush(self.alive_after(block))
                self.leave(block)
                return
            target = self.const("i32", self.pc(code.target))
        self.flush(self.alive_after(block))
        self.jump(block, target)

    def _leaves(self, target: int) -> bool:
        """Whether a block does nothing but end the thread."""
        code = self.program.codes[self.program.blocks[target].first]
        return code.name in ("ret", "exit") and code.register < 0 and code.guard is None

    def _brx_target(self, code: Code) -> Value:
        """The program counter chosen by `brx.idx`; an index past the list stops the kernel."""
        index = self._read(code.sources[0], "u32")
        inside = self.ult(index, self.const("i32", len(code.targets)))
        bad = self._lanes_where_not(inside)
        fine, wrong = self.t.label("fine"), self.t.label("wrong")
        self.t.do(f"br i1 {self.t.let(f'icmp eq i32 {bad}, 0')}, label %{fine}, label %{wrong}, !prof !0")
        self.t.at(wrong)
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", bad), ("i1", "false")])
        at = self.t.let(f"zext i32 {self.t.let(f'extractelement <{W} x i32> {self.vector(index)}, i32 {lane}')} to i64")
        self.t.do(f"call void @record(ptr %ctx, ptr %ws, i32 {S.BAD_INDEX}, i32 {code.index}, i32 {lane}, i64 {at})")
        self.t.do("br label %fault")
        self.t.at(fine)
        self.forget_splats()
        chosen = self.const("i32", self.pc(code.targets[-1]))
        for k in range(len(code.targets) - 1):
            chosen = self.select(self.eq(index, self.const("i32", k)), self.const("i32", self.pc(code.targets[k])), chosen)
        return chosen

    def _trap(self, block: Block) -> None:
        t = self.t
        hit, on = t.label("trap"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{on}, label %{hit}")
        t.at(hit)
        lane = t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        t.do(f"call void @record(ptr %ctx, ptr %ws, i32 {S.TRAP}, i32 {self.code.index}, i32 {lane}, i64 0)")
        t.do("br label %fault")
        t.at(on)
        if block.next >= 0:
            self.flush(self.alive_after(block))
            self.go(block.next)
        else:
            t.do("br label %fault")

    def _barrier(self, block: Block, code: Code) -> None:
        """`bar.sync a{, b}`, `.arrive` and `.red`: notes who has come; the scheduler of the CTA opens the barrier."""
        t, form = self.t, code.form
        assert form is not None
        words = form.opcode.split(".")
        given = [(s, ty) for s, ty in zip(code.sources, code.source_types, strict=True) if s is not None]
        asked = self._read(*given.pop()) if "red" in words else None
        numbers = [self._first(self._read(s, "u32")) for s, _ in given]
        count = numbers[1] if len(numbers) > 1 else ""
        slot = t.let(f"zext i32 {t.let(f'and i32 {numbers[0]}, 15')} to i64")
        offset = t.let(f"shl i64 {slot}, 2")
        self._check_barrier(numbers[0], count)
        if count:
            t.do(f"store i32 {count}, ptr {self._of_barrier('cta', S.BAR_COUNT, offset)}")
        if asked is not None:
            yes = t.let(f"and i32 {t.let(f'bitcast <{W} x i1> {self.vector(asked)} to i32')}, {self.mask_bits}")
            for where, bits in ((S.BAR_YES, yes), (S.BAR_ASKED, self.mask_bits)):
                number = t.call("i32", "llvm.ctpop.i32", [("i32", bits)])
                t.bump(self._of_barrier("cta", where, offset), "add i32", number)
        if "arrive" in words:
            self._arrive(offset)
            self.go(block.next)
            return
        t.bump(self._of_barrier("ws", S.BAR, offset), "or i32", self.mask_bits)
        t.bump("%wait.at", "or i32", self.mask_bits)
        self.wait(block)

    def _of_barrier(self, record: str, where: int, offset: str) -> str:
        base = self.t.let(f"getelementptr i8, ptr %{record}, i64 {where}")
        return self.t.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _check_barrier(self, number: str, count: str) -> None:
        """A block has barriers 0 to 15, and counts whole warps."""
        for bad, what in ((f"icmp ugt i32 {number}, 15", number), (f"and i32 {count}, 31", count)):
            if not what or what.isdigit() and (int(what) <= 15 if what is number else int(what) % 32 == 0):
                continue
            test = self.t.let(bad) if what is number else self.t.let(f"icmp ne i32 {self.t.let(bad)}, 0")
            fine, wrong = self.t.label("fine"), self.t.label("wrong")
            self.t.do(f"br i1 {test}, label %{wrong}, label %{fine}")
            self.t.at(wrong)
            lane = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
            wide = self.t.let(f"zext i32 {number} to i64")
            high = self.t.let(f"shl i64 {self.t.let(f'zext i32 {count or 0} to i64')}, 32")
            both = self.t.let(f"or i64 {wide}, {high}")
            self.t.do(
                f"call void @record(ptr %ctx, ptr %ws, i32 {S.BAD_BARRIER}, i32 {self.code.index}, i32 {lane}, i64 {both})"
            )
            self.t.do("br label %fault")
            self.t.at(fine)

    def _arrive(self, offset: str) -> None:
        """The lanes go on; once the whole warp has arrived it counts."""
        t = self.t
        p = self._of_barrier("ws", S.ARRIVED, offset)
        t.bump(p, "or i32", self.mask_bits)
        live = t.let("load i32, ptr %live.at")
        have = t.let(f"load i32, ptr {p}")
        whole = t.let(f"icmp eq i32 {t.let(f'and i32 {have}, {live}')}, {live}")
        t.bump(self._of_barrier("cta", S.BAR_ARRIVED, offset), "add i32", t.let(f"zext i1 {whole} to i32"))
        t.do(f"store i32 {t.let(f'select i1 {whole}, i32 0, i32 {have}')}, ptr {p}")

    def reduced(self, code: Code) -> None:
        """Behind `bar.red`: what the barrier found goes into the destination."""
        form = code.form
        assert form is not None
        yes, asked = self._field("ws", S.YES, "i32"), self._field("ws", S.ASKED, "i32")
        if form.operation == "popc":
            result = yes
        elif form.operation == "and":
            result = self.eq(yes, asked)
        else:
            result = self.ne(yes, self.const("i32", 0))
        self._write(code.dests[0], code.dest_types[0], result)

    def _first(self, value: Value) -> str:
        """The scalar of the first executing lane."""
        if value.uniform:
            return value.text
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        return self.t.let(f"extractelement {value.llvm} {value.text}, i32 {self.t.let(f'and i32 {lane}, 31')}")


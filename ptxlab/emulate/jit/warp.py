"""One LLVM function that runs one warp from where it stands until it must stop: at a barrier, its end, or a fault.

There are two of them, made from the same blocks by the same semantics:

* `fast` runs a warp whose live lanes are all at the same place. Registers that are uniform are scalars, writes need no
  mask, branches are plain branches. Where lanes disagree it spreads the scalars over the lanes and gives up.
* `slow` runs a warp that has split. Every lane has its own program counter (a block number); the lanes with the
  smallest one run a block, their writes masked. Once all live lanes are at one block again and what should be uniform
  there is, it gives the warp back.

While lanes are apart, three of four turns go to the smallest program counter, so that they meet early; the fourth goes
to a lane chosen in rotation, so that a lane that spins cannot keep the one it waits for from running.
"""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Accesses, Address, Group, plan_groups
from ptxlab.emulate.jit.analysis import successors
from ptxlab.emulate.jit.atomics import Atomics
from ptxlab.emulate.jit.specials import Specials
from ptxlab.emulate.jit.values import BITS, LLVM, Value, W
from ptxlab.emulate.program import Block, Code, Inverted, Literal, Mem, Program, Reg, Source, Symbol
from ptxlab.emulate.program import Group as Elements
from ptxlab.isa import types
from ptxlab.isa.convert import unpack

SIGNATURE = "ptr noalias %ctx, ptr noalias %cta, ptr noalias %ws"


class WarpCode(Specials, Atomics, Accesses):
    """Writes the `fast` or the `slow` function of a program."""

    def __init__(
        self, program: Program, uniform: list[bool], alive: list[int], file: S.RegisterFile, *, slow: bool
    ) -> None:
        super().__init__()
        self.program, self.uniform, self.alive, self.file, self.slow = program, uniform, alive, file, slow
        self.tables: list[str] = []
        self.helpers_needed: dict[str, str] = {}
        self.sites = 0
        self.groups: dict[int, Group] = {}
        self.code = program.codes[0]
        self.mask_bits, self._mask = "", ""
        self.values: dict[int, Value] = {}
        self.dirty: set[int] = set()

    # -- the function --------------------------------------------------------------------------------------------------

    def function(self) -> str:
        """The LLVM text of the function, with its tables."""
        name = "slow" if self.slow else "fast"
        for block in self.program.blocks:
            self._block(block)
        body, self.t.lines = self.t.lines, []
        self._prologue()
        prologue, self.t.lines = self.t.lines, []
        lines = [f"define i32 @{name}({SIGNATURE}) nounwind alignstack(64) {{", "entry:", *prologue, *body]
        lines += ["fault:", f"  ret i32 {S.FAULT}", "}"]
        return "\n".join(self.tables) + "\n" + "\n".join(lines) + "\n"

    def _prologue(self) -> None:
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
        cases = " ".join(f"i32 {b.index}, label %b{b.index}" for b in self.program.blocks)
        if not self.slow:
            t.do("%start = load i32, ptr %fast.pc.at")
            t.do(f"switch i32 %start, label %fault [{cases}]")
            return
        self._dispatcher(cases)

    def _dispatcher(self, cases: str) -> None:
        """Chooses the lanes that run next; see the module's text."""
        tables = [self._table(b.index, self.alive[b.index]) for b in self.program.blocks]
        rows = ", ".join(f"{{ptr, i32}} {{ptr {name}, i32 {count}}}" for name, count in tables)
        self.tables.append(f"@rejoin = internal constant [{len(tables)} x {{ptr, i32}}] [{rows}]")
        for line in f"""
  br label %dispatch
dispatch:
  %d.live = load i32, ptr %live.at
  %d.wait = load i32, ptr %wait.at
  %d.wait.not = xor i32 %d.wait, -1
  %d.run = and i32 %d.live, %d.wait.not
  %d.none = icmp eq i32 %d.run, 0
  br i1 %d.none, label %leave, label %d.quantum
leave:
  ret i32 {S.DONE}
d.quantum:
  %d.q = load i64, ptr %quantum.at
  %d.q1 = sub i64 %d.q, 1
  store i64 %d.q1, ptr %quantum.at
  %d.spent = icmp slt i64 %d.q1, 0
  br i1 %d.spent, label %suspend, label %d.choose
suspend:
  ret i32 {S.SUSPENDED}
d.choose:
  %d.pcs = load <{W} x i32>, ptr %ws, align 64
  %d.runv = bitcast i32 %d.run to <{W} x i1>
  %d.low = select <{W} x i1> %d.runv, <{W} x i32> %d.pcs, <{W} x i32> splat (i32 2147483647)
  %d.min = call i32 @llvm.vector.reduce.umin.v{W}i32(<{W} x i32> %d.low)
  %d.turn = load i32, ptr %turn.at
  %d.turn1 = add i32 %d.turn, 1
  store i32 %d.turn1, ptr %turn.at
  %d.phase = and i32 %d.turn, 255
  %d.fair = icmp uge i32 %d.phase, 192
  %d.lane0 = lshr i32 %d.turn, 8
  %d.lane = and i32 %d.lane0, 31
  %d.bit = shl i32 1, %d.lane
  %d.bit.run = and i32 %d.bit, %d.run
  %d.can = icmp ne i32 %d.bit.run, 0
  %d.use = and i1 %d.fair, %d.can
  %d.theirs = extractelement <{W} x i32> %d.pcs, i32 %d.lane
  %d.pc = select i1 %d.use, i32 %d.theirs, i32 %d.min
  %d.pc.0 = insertelement <{W} x i32> poison, i32 %d.pc, i64 0
  %d.pc.v = shufflevector <{W} x i32> %d.pc.0, <{W} x i32> poison, <{W} x i32> zeroinitializer
  %d.here = icmp eq <{W} x i32> %d.pcs, %d.pc.v
  %d.here.b = bitcast <{W} x i1> %d.here to i32
  %d.mask = and i32 %d.here.b, %d.run
  store i32 %d.mask, ptr %mask.p
  %d.all = icmp eq i32 %d.mask, %d.live
  br i1 %d.all, label %d.together, label %d.go
d.together:
  %d.pc64 = zext i32 %d.pc to i64
  %d.row = getelementptr {{ptr, i32}}, ptr @rejoin, i64 %d.pc64
  %d.table = load ptr, ptr %d.row
  %d.count.p = getelementptr i8, ptr %d.row, i64 8
  %d.count = load i32, ptr %d.count.p
  %d.same = call i1 @gather.up(ptr %ws, ptr %d.table, i32 %d.count, i32 %d.live)
  br i1 %d.same, label %d.back, label %d.go
d.back:
  store i32 %d.pc, ptr %fast.pc.at
  ret i32 {S.CONVERGED}
d.go:
  switch i32 %d.pc, label %fault [{cases}]""".splitlines()[1:]:
            self.t.lines.append(line)
        self.t.declared.add(f"declare i32 @llvm.vector.reduce.umin.v{W}i32(<{W} x i32>)")

    def _table(self, block: int, registers: int) -> tuple[str, int]:
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

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        t = self.t
        t.at(f"b{block.index}")
        self.values, self.dirty, self._mixed_addresses = {}, set(), {}
        self.forget_splats()
        bits = t.let("load i32, ptr %mask.p" if self.slow else "load i32, ptr %live.at")
        self._block_bits = bits
        self._block_mask = t.let(f"bitcast i32 {bits} to <{W} x i1>")
        self.mask_bits, self._mask = bits, self._block_mask
        self._count(block, bits)
        groups, self.sites = plan_groups(self.program, block.first, block.last, self.sites)
        self.groups = groups
        ended = False
        for code in self.program.codes[block.first : block.last]:
            self.code = code
            t.do(f"; {code.line}: {code.form.opcode if code.form else code.name}")
            self._guard(code)
            ended = self._control(block, code) if self._is_control(code) else self._plain(code)
        if not ended:
            self._flush(block)
            self._go(block.next)

    def _count(self, block: Block, bits: str) -> None:
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

    def _guard(self, code: Code) -> None:
        """Narrows the mask to the lanes whose guard holds."""
        self.guard: Value | None = None
        self.mask_bits, self._mask = self._block_bits, self._block_mask
        if code.guard is None:
            return
        held = self._read_register(code.guard[0])
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

    def _read_register(self, r: int) -> Value:
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

    def _write_register(self, r: int, value: Value) -> None:
        """A write: in lanes that do not execute, the old value stays."""
        if self.slow:
            value = self.select(Value(self._mask, "i1", False), value, self._read_register(r))
        elif self.guard is not None:
            value = self.select(self.guard, value, self._read_register(r))
        self.values[r] = value
        self.dirty.add(r)

    def _flush(self, block: Block) -> None:
        """Stores what later blocks will read."""
        alive = 0
        for successor in successors(self.program, block.index):
            alive |= self.alive[successor]
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
            return self.const(types.lane(type_), source.as_type(type_))
        if isinstance(source, Inverted):
            return self.not_(self._read_register(source.operand.index))
        if isinstance(source, Symbol):
            return self.const(types.lane(type_), source.value)
        value = self._read_register(source.index) if isinstance(source, Reg) else self.special(source.name)
        if type_ == "vec":
            assert self.code.form is not None
            type_ = str(self.code.form.type)
        return value if type_ in ("any", "int") else self._resize(value, types.lane(type_), signed=False)

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
            return self._read_register(mem.base.index)
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
        self._write_register(dest.index, self._resize(result, lane, signed=signed))

    def _plain(self, code: Code) -> bool:
        if code.copy is not None:
            self._copy(*code.copy)
            return False
        assert code.form is not None
        sem = code.form.op.sem
        if sem is None:  # kind "none": no effect on results
            return False
        sources = [self._read(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        result = sem(self, code.form, *sources)
        results = (result,) if len(code.dests) == 1 or not isinstance(result, tuple) else result
        for dest, type_, r in zip(code.dests, code.dest_types, results, strict=False):
            self._write(dest, type_, r)
        return False

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

    # -- control -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _is_control(code: Code) -> bool:
        if code.name in ("bar", "barrier"):
            return code.form is not None and not code.form.warp
        return code.name in ("bra", "brx", "ret", "exit", "call", "trap")

    def _control(self, block: Block, code: Code) -> bool:
        if code.name in ("ret", "exit") and code.register < 0:
            return self._exit(block, self.mask_bits)
        if code.name == "trap":
            return self._trap(block)
        if code.name in ("bar", "barrier"):
            self._flush(block)
            self._barrier(block, code)
            return True
        if code.name == "call":
            self._write_register(code.register, self.const("i32", block.next))
            targets: Value = self.const("i32", code.target)
        elif code.name == "ret":
            targets = self._read_register(code.register)
        elif code.name == "brx":
            targets = self._brx_target(code)
        else:
            leaver = self._leaves(code.target)
            if not self.slow and code.guard is not None and leaver:
                self._tally(code.target, self.mask_bits)
                return self._exit(block, self.mask_bits)
            targets = self.const("i32", code.target)
        self._flush(block)
        self._jump(block, targets)
        return True

    def _leaves(self, target: int) -> bool:
        """Whether a block does nothing but end the thread."""
        there = self.program.blocks[target]
        code = self.program.codes[there.first]
        return code.name in ("ret", "exit") and code.register < 0 and code.guard is None

    def _go(self, target: int) -> None:
        """All executing lanes go to one block."""
        if self.slow:
            self._set_pc(self._block_bits, self.t.let("load i32, ptr %mask.p"), str(target), uniform=True)
            self.t.do("br label %dispatch")
        else:
            self._branch(self._position(target), target)

    def _position(self, target: int) -> bool:
        return target <= self.code.block

    def _branch(self, backwards: bool, target: int) -> None:
        """A plain branch; a backward one is where an endless loop is noticed."""
        if not backwards:
            self.t.do(f"br label %b{target}")
            return
        left = self.t.let("load i64, ptr %quantum.at")
        spent, stop = self.t.let(f"icmp slt i64 {left}, 0"), self.t.label("stop")
        self.t.do(f"br i1 {spent}, label %{stop}, label %b{target}, !prof !0")
        self.t.at(stop)
        self.t.do(f"store i32 {target}, ptr %fast.pc.at")
        self.t.do(f"ret i32 {S.SUSPENDED}")

    def _set_pc(self, _bits: str, bits: str, target: str, *, uniform: bool) -> None:
        """Program counters of the lanes in `bits`, to one block number or to each lane's own."""
        mask = self.t.let(f"bitcast i32 {bits} to <{W} x i1>")
        old = self.t.let(f"load <{W} x i32>, ptr %ws, align 64")
        new = f"splat (i32 {target})" if uniform else target
        pcs = self.t.let(f"select <{W} x i1> {mask}, <{W} x i32> {new}, <{W} x i32> {old}")
        self.t.do(f"store <{W} x i32> {pcs}, ptr %ws, align 64")

    def _jump(self, block: Block, target: Value) -> None:
        """Lanes whose guard holds go to `target` (a block number, perhaps each its own), the others on."""
        t = self.t
        if self.slow:
            if block.next >= 0:
                self._set_pc("", self._block_bits, str(block.next), uniform=True)
            self._set_pc("", self.mask_bits, self.vector(target), uniform=False)
            t.do("br label %dispatch")
            return
        if target.uniform and (self.guard is None or self.guard.uniform):
            self._uniform_jump(block, target)
            return
        one = target.uniform and target.lanes is not None
        if one:
            number = int(target.text)
            none, all_, some, split = t.label("none"), t.label("all"), t.label("some"), t.label("split")
            t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{none}, label %{some}")
            t.at(some)
            t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, {self._block_bits}')}, label %{all_}, label %{split}")
            t.at(none)
            self._branch(self._position(block.next), block.next)
            t.at(all_)
            self._branch(self._position(number), number)
            t.at(split)
        others = f"splat (i32 {max(block.next, 0)})"
        pcs = t.let(f"select <{W} x i1> {self._mask}, <{W} x i32> {self.vector(target)}, <{W} x i32> {others}")
        t.do(f"store <{W} x i32> {pcs}, ptr %ws, align 64")
        alive = 0
        for successor in successors(self.program, block.index):
            alive |= self.alive[successor]
        name, count = self._table(block.index, alive)
        t.do(f"call void @spread(ptr %ws, ptr {name}, i32 {count})")
        t.do(f"ret i32 {S.DIVERGED}")

    def _uniform_jump(self, block: Block, target: Value) -> None:
        t = self.t
        if self.guard is not None:
            go, stay = t.label("go"), t.label("stay")
            t.do(f"br i1 {self.guard.text}, label %{go}, label %{stay}")
            t.at(stay)
            self._branch(self._position(block.next), block.next)
            t.at(go)
        if target.lanes is not None:
            self._branch(self._position(int(target.text)), int(target.text))
            return
        ways = sorted(set(self.program.blocks[block.index].targets))
        t.do(f"store i32 {target.text}, ptr %fast.pc.at")
        stop, look = t.label("stop"), t.label("look")
        spent = t.let(f"icmp slt i64 {t.let('load i64, ptr %quantum.at')}, 0")
        t.do(f"br i1 {spent}, label %{stop}, label %{look}, !prof !0")
        t.at(stop)
        t.do(f"ret i32 {S.SUSPENDED}")
        t.at(look)
        cases = " ".join(f"i32 {w}, label %b{w}" for w in ways)
        t.do(f"switch i32 {target.text}, label %fault [{cases}]")

    def _brx_target(self, code: Code) -> Value:
        """The chosen block of `brx.idx`; an index past the list stops the kernel."""
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
        chosen = self.const("i32", code.targets[-1])
        for k in range(len(code.targets) - 1):
            chosen = self.select(self.eq(index, self.const("i32", k)), self.const("i32", code.targets[k]), chosen)
        return chosen

    def _exit(self, block: Block, leaving: str) -> bool:
        """Lanes end. In `fast` the rest goes on at once; in `slow` it goes back to the dispatcher."""
        t = self.t
        stays = block.next if self.code.guard is not None else -1
        self._flush(block)
        rest = t.let(f"and i32 {t.let('load i32, ptr %live.at')}, {t.let(f'xor i32 {leaving}, -1')}")
        t.do(f"store i32 {rest}, ptr %live.at")
        if self.slow:
            if stays >= 0:
                self._set_pc("", self._block_bits, str(stays), uniform=True)
            t.do("br label %dispatch")
            return True
        if stays < 0:
            t.do(f"ret i32 {S.DONE}")
            return True
        gone, on = t.label("gone"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {rest}, 0')}, label %{gone}, label %{on}")
        t.at(gone)
        t.do(f"ret i32 {S.DONE}")
        t.at(on)
        self._branch(self._position(stays), stays)
        return True

    def _trap(self, block: Block) -> bool:
        t = self.t
        hit, on = t.label("trap"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{on}, label %{hit}")
        t.at(hit)
        lane = t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        t.do(f"call void @record(ptr %ctx, ptr %ws, i32 {S.TRAP}, i32 {self.code.index}, i32 {lane}, i64 0)")
        t.do("br label %fault")
        t.at(on)
        if block.next >= 0:
            self._flush(block)
            self._go(block.next)
        else:
            t.do("br label %fault")
        return True

    def _barrier(self, block: Block, code: Code) -> None:
        """`bar.sync a{, b}`: the lanes wait; the scheduler of the CTA lets them go."""
        t = self.t
        sources = [self._read(s, "u32") for s in code.sources if s is not None]
        number = self._first(sources[0]) if sources else "0"
        count = self._first(sources[1]) if len(sources) > 1 else ""
        if not self.slow and not count and code.guard is None:
            wait, alone = t.label("wait"), t.label("alone")
            t.do(f"br i1 {t.let('icmp eq i64 %warps, 1')}, label %{alone}, label %{wait}")
            t.at(alone)
            self._branch(self._position(block.next), block.next)
            t.at(wait)
        slot = t.let(f"zext i32 {t.let(f'and i32 {number}, 15')} to i64")
        offset = t.let(f"shl i64 {slot}, 2")
        bars = t.let(f"getelementptr i8, ptr %ws, i64 {S.BAR}")
        p = t.let(f"getelementptr i8, ptr {bars}, i64 {offset}")
        t.bump(p, "or i32", self.mask_bits)
        if count:
            counts = t.let(f"getelementptr i8, ptr %cta, i64 {S.BAR_COUNT}")
            t.do(f"store i32 {count}, ptr {t.let(f'getelementptr i8, ptr {counts}, i64 {offset}')}")
        waiting = t.let(f"or i32 {t.let('load i32, ptr %wait.at')}, {self.mask_bits}")
        t.do(f"store i32 {waiting}, ptr %wait.at")
        if self.slow:
            self._set_pc("", self._block_bits, str(block.next), uniform=True)
            t.do("br label %dispatch")
            return
        t.do(f"store i32 {block.next}, ptr %fast.pc.at")
        if code.guard is None:
            t.do(f"ret i32 {S.DONE}")
            return
        # Some lanes wait and some do not: the warp is apart.
        t.do(f"store <{W} x i32> splat (i32 {block.next}), ptr %ws, align 64")
        name, n = self._table(block.index, self.alive[block.next])
        t.do(f"call void @spread(ptr %ws, ptr {name}, i32 {n})")
        t.do(f"ret i32 {S.DIVERGED}")

    def _first(self, value: Value) -> str:
        """The scalar of the first executing lane."""
        if value.uniform:
            return value.text
        lane = self.t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        return self.t.let(f"extractelement {value.llvm} {value.text}, i32 {self.t.let(f'and i32 {lane}, 31')}")


"""Calls of PTX functions: arguments are copied into the callee's frame, results back out of it.

Most functions have one static frame: their parameters and local variables lie at fixed offsets of each thread's local
memory. A call is then copies, a jump that leaves the return block's number in a register of the function, and, where
it comes back, copies again.

Functions that may be entered again before they have returned have their frames on a stack in local memory. One register
of each lane is the frame pointer. The caller saves its registers in its own frame, adds the size of that frame to the
frame pointer, and subtracts it when the call has returned; so each activation has its own local variables. A call
through a register is a chain of comparisons with the addresses of the functions that it may call, each with an ordinary
call after it.
"""

from __future__ import annotations

from dataclasses import replace

from ptxlab.emulate.program import layout
from ptxlab.emulate.program.flat_program import COPY, Code, Group, Literal, Mem, Reg, Source, Symbol
from ptxlab.emulate.program.lowering import Guard, Lowering
from ptxlab.emulate.program.scopes import STACK, Routine, Scope
from ptxlab.emulate.program.system_calls import lower_system_call
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form
from ptxlab.text import model
from ptxlab.text.model import Instruction


def lower_call(low: Lowering, instruction: model.Instruction, found: Form, guard: Guard, scope: Scope) -> None:
    """Emits the copies in, the call and the copies out."""
    given, line = list(instruction.operands), instruction.line
    results = _in_parentheses(given)
    target = str(given.pop(0))
    arguments = _in_parentheses(given)
    pointer = low.name(target, scope, line) if target.startswith("%") or given else None
    call = _Call(low, instruction, found, scope, results, arguments)
    if target in low.functions:
        call.direct(target, guard)
    elif isinstance(pointer, Reg):
        call.through(pointer, guard)
    elif not lower_system_call(low, target, call.sources(), call.result(), instruction, guard, scope.routine):
        what = f"the emulator cannot call {target!r}: the module does not define it"
        raise low.unsupported(instruction, what, length=len(instruction.opcode))


Operands = tuple[model.Operand, ...]


def _in_parentheses(given: list[model.Operand]) -> Operands:
    """Takes `(a, b)` from the front of some operands."""
    first = given[0] if given else None
    if not isinstance(first, model.Parens):
        return ()
    del given[0]
    return first.elements


class _Call:
    def __init__(
        self, low: Lowering, call: model.Instruction, found: Form, scope: Scope, results: Operands, given: Operands
    ) -> None:
        self.low, self.instruction, self.found, self.routine, self.line = low, call, found, scope.routine, call.line
        self.arguments = [low.operand(a, scope, self.line) for a in given]
        self.results = [low.operand(r, scope, self.line) for r in results]
        self.sizes = [_size_of(low, o, s, scope) for o, s in zip(given, self.arguments, strict=True)]
        self.result_sizes = [_size_of(low, o, s, scope) for o, s in zip(results, self.results, strict=True)]

    def sources(self) -> list[tuple[Source, int]]:
        """The arguments, those that lie in memory as addresses, and their sizes."""
        given = zip(self.arguments, self.sizes, strict=True)
        return [(self.low.at(s, 0) if isinstance(s, Symbol) else s, n) for s, n in given if s is not None]

    def result(self) -> Source | None:
        """Where the only result goes."""
        result = self.results[0] if self.results else None
        return self.low.at(result, 0) if isinstance(result, Symbol) else result

    def direct(self, target: str, guard: Guard) -> None:
        low, line = self.low, self.line
        callee = low.routine(low.functions[target])
        if len(self.arguments) != len(callee.formals) or len(self.results) != len(callee.results):
            raise low.error(
                f"{target} takes {len(callee.formals)} arguments and gives {len(callee.results)} results, "
                f"the call has {len(self.arguments)} and {len(self.results)}",
                line,
            )
        self._check(callee)
        if callee.frame is None:
            self._static(callee, guard)
            return
        # The guard's register may be another activation's by the time the call has returned.
        with low.guarded(guard, line):
            self._stacked(callee)

    def _check(self, callee: Routine) -> None:
        """Arguments passed in memory must lie in a frame, and be as large as the function's parameters."""
        pairs = [*zip(self.arguments, self.sizes, callee.formals, strict=True)]
        pairs += zip(self.results, self.result_sizes, callee.results, strict=True)
        for actual, size, formal in pairs:
            if not isinstance(actual, Symbol):
                continue
            if actual.space != "frame":
                raise self.low.error(
                    f"a call passes registers and .param variables; {actual.name} is a .{actual.space} variable",
                    self.line,
                )
            if size < layout.size_of(formal):
                raise self.low.error(
                    f"{actual.name} has {size} bytes, {formal.name} of the function {layout.size_of(formal)}", self.line
                )

    def _static(self, callee: Routine, guard: Guard) -> None:
        low, line = self.low, self.line
        for actual, formal in zip(self.arguments, callee.formals, strict=True):
            _move(low, actual, low.place_of(callee, formal), formal, line, guard)
        self._jump(callee, guard)
        for actual, formal in zip(self.results, callee.results, strict=True):
            _move(low, low.place_of(callee, formal), actual, formal, line, guard)

    def _stacked(self, callee: Routine) -> None:
        """A call of a function whose frame lies on the stack, above the caller's."""
        low, line, caller = self.low, self.line, self.routine
        frame = low.frame_register()
        above = caller.frame_size if caller.frame is not None else 0
        if caller.frame is None:
            low.start_stack(line)
        for actual, formal in zip(self.arguments, callee.formals, strict=True):
            place = low.place_of(callee, formal)
            _move(low, actual, _above(place, frame, above), formal, line, None)
        for register, offset in caller.saved:
            _save(low, register, Mem(frame, offset), line)
        if above:
            low.op("add.s64", (frame,), (frame, Literal(above)), line)
        self._jump(callee, None)
        if above:
            low.op("add.s64", (frame,), (frame, Literal(-above)), line)
        for register, offset in caller.saved:
            _restore(low, register, Mem(frame, offset), line)
        for actual, formal in zip(self.results, callee.results, strict=True):
            place = low.place_of(callee, formal)
            _move(low, _above(place, frame, above), actual, formal, line, None)

    def _jump(self, callee: Routine, guard: Guard) -> None:
        code = self.low.emit("call", self.found, self.line, guard)
        code.instruction, code.callee = self.instruction, callee.function.name

    def through(self, pointer: Reg, guard: Guard) -> None:
        """A call of the function of this shape whose address the pointer holds."""
        low, line = self.low, self.line
        done = low.new_label()
        with low.guarded(guard, line):
            for name, address in low.graph.taken.items():
                function = low.functions[name]
                shape = [layout.size_of(v) for v in function.params], [layout.size_of(v) for v in function.returns]
                if shape != (self.sizes, self.result_sizes):
                    continue
                other = low.register("%other", "pred", self.routine.function.name)
                low.op("setp.ne.u64", (other, None), (pointer, Literal(address)), line)
                with low.guarded((other.index, True), line):
                    self.direct(name, None)
                    low.branch(done, line)
            trap = low.op("trap", (), (), line)
            trap.reason = "the register holds no address of a function that takes these arguments"
            low.place_label(done)


def _size_of(low: Lowering, operand: model.Operand, source: Source | None, scope: Scope) -> int:
    if isinstance(source, Reg):
        return max(1, types.width(low.registers[source.index].type) // 8)
    if isinstance(source, Group):
        return sum(_size_of(low, operand, element, scope) for element in source.elements)
    declared = (where.variables[str(operand)] for where in scope if str(operand) in where.variables)
    return next(map(layout.size_of, declared), 4)


def _above(place: Source | None, frame: Reg, above: int) -> Source | None:
    """A formal parameter of the callee as the caller sees it, before the frame register has moved."""
    assert isinstance(place, Symbol)
    return Mem(frame, place.value - STACK + above)


def _load(low: Lowering, type_: str, dest: Reg, mem: Mem, line: int, guard: Guard = None) -> None:
    low.op(f"ld.param.{type_}", (dest,), (mem,), line, guard).space = "frame"


def _store(low: Lowering, type_: str, mem: Mem, source: Source, line: int, guard: Guard = None) -> None:
    low.op(f"st.param.{type_}", (), (mem, source), line, guard).space = "frame"


def _save(low: Lowering, register: int, place: Mem, line: int) -> None:
    type_ = low.registers[register].type
    source = Reg(register)
    if type_ == "pred":
        source, type_ = low.register("%saved", "b32"), "b32"
        low.op("selp.b32", (source,), (Literal(1), Literal(0), Reg(register)), line)
    _store(low, f"b{types.width(type_)}", place, source, line)


def _restore(low: Lowering, register: int, place: Mem, line: int) -> None:
    type_ = low.registers[register].type
    if type_ != "pred":
        _load(low, f"b{types.width(type_)}", Reg(register), place, line)
        return
    number = low.register("%saved", "b32")
    _load(low, "b32", number, place, line)
    low.op("setp.ne.u32", (Reg(register), None), (number, Literal(0)), line)


def _move(
    low: Lowering, source: Source | None, dest: Source | None, formal: model.Variable, line: int, guard: Guard
) -> None:
    """One argument or result: between frames, or between a register (or immediate) and a frame."""
    if dest is None or source is None:
        return
    if isinstance(source, Group) and isinstance(dest, Group):  # vectors, declared or in braces, and .b128
        element = replace(formal, vector=1, type="b64" if formal.type == "b128" else formal.type)
        for out_of, into in zip(source.elements, dest.elements, strict=True):
            _move(low, out_of, into, element, line, guard)
        return
    plain = "b" + formal.type[1:] if formal.type[0] in "us" else formal.type
    fixed = [isinstance(p, Symbol) and p.value < STACK for p in (source, dest)]
    if all(fixed):
        assert isinstance(source, Symbol)
        assert isinstance(dest, Symbol)
        code = low.emit("%copy", COPY, line, guard)
        code.copy = (source.value, dest.value, layout.size_of(formal))
        code.space = "frame"
        return
    source = low.at(source, 0) if isinstance(source, Symbol) else source
    dest = low.at(dest, 0) if isinstance(dest, Symbol) else dest
    if isinstance(dest, Mem) and isinstance(source, Mem):
        at, size = 0, layout.size_of(formal)
        while at < size:
            piece = next(n for n in (8, 4, 2, 1) if n <= min(size - at, layout.align_of(formal)))
            held = low.register("%moved", f"b{8 * piece}")
            _load(low, f"b{8 * piece}", held, Mem(source.base, source.offset + at), line, guard)
            _store(low, f"b{8 * piece}", Mem(dest.base, dest.offset + at), held, line, guard)
            at += piece
    elif isinstance(dest, Mem):
        _store(low, plain, dest, source, line, guard)
    elif isinstance(source, Mem) and isinstance(dest, Reg):
        _load(low, plain, dest, source, line, guard)
    elif isinstance(dest, Reg):
        low.op(f"mov.{plain}", (dest,), (source,), line, guard)
    else:
        raise low.error(f"cannot pass {formal.name}", line)


SIZE = 16 << 10
"""Bytes a thread may take, in programs that take any."""
ALIGNMENT = 128
LARGEST = 1 << 23
"""What may be asked for as an alignment."""


class StackMemory:
    """What lowering knows of `alloca`, `stacksave` and `stackrestore`: memory that a thread allocates while it runs,
    after its local memory.

    One register of each lane holds how many bytes are allocated. A function that allocates any saves the register when
    it is entered and restores it where it returns."""

    def __init__(self) -> None:
        self._taken: Reg | None = None
        self._before: dict[str, Reg] = {}
        self._bases: list[tuple[Code, int]] = []

    def taken(self, low: Lowering) -> Reg:
        """The register with the number of bytes taken; 0 when a thread starts."""
        if self._taken is None:
            self._taken = low.register("%taken", "b64")
        return self._taken

    def enter(self, low: Lowering, routine: Routine) -> None:
        """A function that takes memory begins."""
        if routine.register >= 0:
            before = self._before[routine.function.name] = low.register("%before", "b64", routine.function.name)
            low.op("mov.b64", (before,), (self.taken(low),), routine.function.line)

    def give_back(self, low: Lowering, routine: Routine, line: int, guard: Guard) -> None:
        before = self._before.get(routine.function.name)
        if before is not None:
            low.op("mov.b64", (self.taken(low),), (before,), line, guard)

    def lower(self, low: Lowering, instruction: Instruction, found: Form, guard: Guard, scope: Scope) -> None:
        """Emits what one of the three instructions does."""
        line, taken = instruction.line, self.taken(low)
        operands = self._operands(low, instruction, found, scope)
        start = len(low.codes)
        if found.op.does is Action.STACK_ALLOCATE:
            align = int(operands[2].value) if len(operands) > 2 and isinstance(operands[2], Literal) else 8
            if align < 1 or align & (align - 1) or align > LARGEST:
                raise low.error(f"{align} cannot be an alignment: a power of two up to {LARGEST} can", line)
            size = operands[1]
            if isinstance(size, Reg) and found.type == "u32":
                wide = low.register("%size", "b64")
                low.op("cvt.u64.u32", (wide,), (size,), line, guard)
                size = wide
            address = low.register("%address", "b64")
            align = max(align, 8)
            self._based("add.u64", low, address, taken, align - 1, line, guard)
            low.op("and.b64", (address,), (address, Literal(-align)), line, guard)
            self._based("sub.u64", low, taken, address, 0, line, guard)
            low.op("add.u64", (taken,), (taken, size), line, guard)
            low.op("mov.b64" if found.type == "u64" else "cvt.u32.u64", (operands[0],), (address,), line, guard)
        elif found.op.does is Action.STACK_SAVE:
            low.op("mov.b64" if found.type == "u64" else "cvt.u32.u64", (operands[0],), (taken,), line, guard)
        else:
            low.op("mov.b64" if found.type == "u64" else "cvt.u64.u32", (taken,), (operands[0],), line, guard)
        low.codes[start].instruction = instruction  # the one that counts

    def _based(self, opcode: str, low: Lowering, dest: Reg, source: Reg, more: int, line: int, guard: Guard) -> None:
        """Adds or subtracts where the memory begins, which is known when all else has its place."""
        self._bases.append((low.op(opcode, (dest,), (source, Literal(more)), line, guard), more))

    @staticmethod
    def _operands(low: Lowering, instruction: Instruction, found: Form, scope: Scope) -> list[Source | None]:
        operands = [low.operand(o, scope, instruction.line) for o in instruction.operands]
        kinds: list[tuple[type, ...]] = [(Reg,), (Reg, Literal), (Literal,)]
        kinds = kinds if found.op.does is Action.STACK_ALLOCATE else kinds[:1]
        fits = all(isinstance(o, kind) for o, kind in zip(operands, kinds, strict=False))
        if not fits or not min(2, len(kinds)) <= len(operands) <= len(kinds):
            raise low.error(f"{found.opcode} is written {found.op.syntax}", instruction.line)
        return operands

    def place(self, end: int) -> int:
        """The end of local memory, with room after `end` if any is taken."""
        if not self._bases:
            return end
        start = -(-end // ALIGNMENT) * ALIGNMENT
        for code, more in self._bases:
            code.sources = (code.sources[0], Literal(start + more))
        return start + SIZE

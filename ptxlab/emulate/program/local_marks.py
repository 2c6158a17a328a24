"""Addresses of local variables that leave their thread: they are marked, so that no other thread can use them.

The generic address of a local variable means the thread's own local memory, in each thread. One that a thread stores to
shared or global memory for others is of no use to them: they find something of their own there. So in programs that may
do so the upper bits of such an address say whose it is while it lies in memory. The thread itself gets back the address
that it stored; any other one gets an address that leads nowhere, and an access to it faults.

All of this is instructions that lowering adds, so that engines, checks and counters need not know of it.
"""

from __future__ import annotations

from ptxlab.emulate.program.addresses import LOCAL_WINDOW, WINDOW_SIZE
from ptxlab.emulate.program.flat_program import Code, Group, Literal, Mem, Reg, Source, Special
from ptxlab.emulate.program.liveness import registers_of
from ptxlab.emulate.program.lowering import Lowering
from ptxlab.emulate.program.program import Program
from ptxlab.isa import types
from ptxlab.isa.actions import Action

MARK, BLOCK = 48, 59
"""Where the mark begins: the thread's number in its block, and one; and, above it, the lower bits of its block's."""
_THREAD = (1 << BLOCK - MARK) - 1


def owner(address: int) -> int | None:
    """The number in its block of the thread whose mark an address of local memory bears; None of any other address."""
    marked = address >> MARK & _THREAD
    if marked and 0 <= (address & (1 << MARK) - 1) - LOCAL_WINDOW < WINDOW_SIZE:
        return marked - 1
    return None


# -- which programs ----------------------------------------------------------------------------------------------------


def gives_local_addresses(program: Program) -> bool:
    """Whether a program may store the generic address of a local variable where other threads find it. What is loaded
    from local memory may be such an address if one is stored there."""
    direct = {r for code in program.codes if _from_local(code) for r in _results(code)}
    if not direct:
        return False
    wide = {r.index for r in program.registers if types.width(r.type) == 64} if program.registers else set[int]()
    _spread(program, direct, wide, loaded=False)
    found = set(direct)
    if any(_kept(code, found) for code in program.codes):
        _spread(program, found, wide, loaded=True)
    return any(
        _stores(code) and not found.isdisjoint(_values(code)) and direct.isdisjoint(_bases(code))
        for code in program.codes
    )


def _from_local(code: Code) -> bool:
    return code.action is Action.CONVERT_ADDRESS and code.form.space == "local" and not code.form.to


def _results(code: Code) -> list[int]:
    return [r for dest in code.dests for r in registers_of(dest)]


def _bases(code: Code) -> list[int]:
    return [r for s in code.sources if isinstance(s, Mem) for r in registers_of(s)]


def _values(code: Code) -> list[int]:
    return [r for s in code.sources if not isinstance(s, Mem) for r in registers_of(s)]


def _stores(code: Code) -> bool:
    """Whether it stores to memory that other threads may see, and lowering has not added it, as for `printf`."""
    seen = code.space in ("shared", "cluster", "global", "generic")
    return seen and code.properties.stores and code.instruction is not None


def _kept(code: Code, found: set[int]) -> bool:
    """Whether it stores one of some registers to memory that may be the thread's own."""
    return (
        code.properties.stores and code.space in ("local", "frame", "generic") and not found.isdisjoint(_values(code))
    )


def _spread(program: Program, found: set[int], wide: set[int], *, loaded: bool) -> None:
    """Adds the registers of 64 bits that are computed from some; loaded: those that are loaded from the thread's own
    memory, too."""
    changed = True
    while changed:
        changed = False
        for code in program.codes:
            comes = code.form.op.kind == "pure" and not found.isdisjoint(_values(code))
            comes = comes or (loaded and code.action is Action.LOAD and code.space in ("local", "frame", "generic"))
            new = {r for r in _results(code) if r in wide} - found if comes else set[int]()
            found |= new
            changed = changed or bool(new)


# -- what is added to them ---------------------------------------------------------------------------------------------


class LocalMarks:
    """Adds the marks to a program while it is lowered."""

    def __init__(self, low: Lowering) -> None:
        self.low = low
        self.mark = low.register("%mark", "b64", "")

    def begin(self, line: int) -> None:
        """Emits what computes the thread's mark."""
        low = self.low
        thread, block = low.register("%thread", "b32", ""), low.register("%block", "b64", "")
        low.op("mov.u32", (thread,), (Special("%tid.z"),), line)
        for at, size in (("%tid.y", "%ntid.y"), ("%tid.x", "%ntid.x")):
            low.op("mad.lo.u32", (thread,), (thread, Special(size), Special(at)), line)
        low.op("add.u32", (thread,), (thread, Literal(1)), line)
        low.op("cvt.u64.u32", (self.mark,), (thread,), line)
        low.op("cvt.u64.u32", (block,), (Special("%ctaid.x"),), line)
        low.op("shl.b64", (block,), (block, Literal(BLOCK - MARK)), line)
        low.op("or.b64", (self.mark,), (self.mark, block), line)
        low.op("shl.b64", (self.mark,), (self.mark, Literal(MARK)), line)

    def before(self, code: Code) -> None:
        """An instruction has been emitted: its values of 64 bits that are addresses of local memory get their marks."""
        if not _stores(code) or not any(self._wide(r) for r in _values(code)):
            return
        self.low.codes.pop()
        code.sources = tuple(s if isinstance(s, Mem) else self._marked(s, code.line) for s in code.sources)
        code.index = len(self.low.codes)
        self.low.codes.append(code)

    def after(self, code: Code) -> None:
        """The marks of the thread's own addresses are taken from the results of an instruction."""
        packs = code.action is Action.MOVE and isinstance(code.sources[0], Group)
        if code.properties.loads or packs:
            for register in _results(code):
                if self._wide(register):
                    plain = self.low.register("%plain", "b64", "")
                    self.low.op("xor.b64", (plain,), (Reg(register), self.mark), code.line)
                    local = self._local(plain, code.line)
                    self.low.op("selp.b64", (Reg(register),), (plain, Reg(register), local), code.line)

    def _wide(self, register: int) -> bool:
        return types.width(self.low.registers[register].type) == 64

    def _marked(self, source: Source | None, line: int) -> Source | None:
        if isinstance(source, Group):
            return type(source)(tuple(self._marked(element, line) for element in source.elements))
        if not isinstance(source, Reg) or not self._wide(source.index):
            return source
        mark, given = self.low.register("%given", "b64", ""), self.low.register("%given", "b64", "")
        self.low.op("selp.b64", (mark,), (self.mark, Literal(0), self._local(source, line)), line)
        self.low.op("or.b64", (given,), (source, mark), line)
        return given

    def _local(self, address: Reg, line: int) -> Reg:
        """A predicate: whether an address is one of local memory."""
        offset, local = self.low.register("%offset", "b64", ""), self.low.register("%local", "pred", "")
        self.low.op("sub.u64", (offset,), (address, Literal(LOCAL_WINDOW)), line)
        self.low.op("setp.lt.u64", (local, None), (offset, Literal(WINDOW_SIZE)), line)
        return local

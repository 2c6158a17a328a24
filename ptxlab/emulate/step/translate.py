"""Each instruction of a program as one Python function, made once: operands resolved, conversions chosen, guard added.

A function takes the warp, executes the instruction for the lanes in `warp.mask`, and returns the next program counter
of a jump, None to continue with the next instruction, `GONE` when the running lanes have exited or wait.

Constants and addresses of variables get registers of their own after the program's, so that most operands are a plain
`regs[n]`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.program.model import Code, Group, Inverted, Literal, Mem, Reg, Source, Special, Symbol
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.faults import unsupported
from ptxlab.emulate.step import flow
from ptxlab.emulate.step.access import Site
from ptxlab.emulate.step.bodies import body_of, step_of
from ptxlab.emulate.step.lanes import SIGNED, constant
from ptxlab.emulate.step.warp import ALL, NONE, Warp
from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.convert import unpack
from ptxlab.isa.machine import Value

Step = Callable[[Warp], int | None]
Read = Callable[[Warp], Any]
Write = Callable[[Warp, Any], None]
Product = Callable[[Warp, int, int, bool], None]


@dataclass(slots=True)
class Translated:
    """What the engine runs: for each instruction a function, the following program counter, and whether a diverged warp
    may change to another group of lanes after it; the constants after the program's registers; and what computes each
    product of `wgmma`. It holds nothing of a launch, so launches share it."""

    steps: list[Step]
    following: list[int]
    turning: list[bool]
    constants: list[Value]
    products: dict[int, Product]


KEPT = 8
"""Programs whose translation is kept for the next launch."""
_kept: OrderedDict[int, tuple[Program, Translated]] = OrderedDict()
_keeping = threading.Lock()


def translated(program: Program) -> Translated:
    """A program's translation. It takes longer than a launch of a few warps, so that of the last programs is kept."""
    with _keeping:
        known = _kept.get(id(program))  # which the entry keeps alive, so that no other program has its id
        if known is not None:
            _kept.move_to_end(id(program))
            return known[1]
    made = Translator(program).translate()
    with _keeping:
        _kept[id(program)] = program, made
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
    return made


class Translator:
    """Makes the functions of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants: list[Value] = []
        self.exchanges: dict[int, tuple[list[Read], Write]] = {}
        self.synced: dict[int, Callable[[Warp, np.ndarray], None]] = {}  # checks of lanes that have synchronized
        self.products: dict[int, Product] = {}
        self._known: dict[tuple[str, Any], int] = {}
        self.following = [k + 1 for k in range(len(program.codes))]
        for block in program.blocks:
            self.following[block.last - 1] = program.blocks[block.next].first if block.next >= 0 else -1

    def translate(self) -> Translated:
        """The whole program."""
        steps = [self.step(code) for code in self.program.codes]
        last = {block.last - 1 for block in self.program.blocks}
        turning = [code.index in last or code.properties.converges for code in self.program.codes]
        return Translated(steps, self.following, turning, self.constants, self.products)

    def step(self, code: Code) -> Step:
        """The function of one instruction."""
        if code.copy is not None:
            step = _copy(code)
        elif code.action is Action.TAKE_REDUCED:  # the barrier itself has written its result
            step = _nothing
        elif code.form.op.kind == "flow":
            return flow.translate(self, code)
        elif code.form.op.kind == "none":
            step = _nothing
        elif (body := body_of(code)) is not None:
            step = step_of(self, body, code)
            if body.guards:
                return step
        elif code.form.op.sem is None:
            raise unsupported(self.program, code)
        elif (members := self.members(code)) is not None:
            return flow.converging(self, code, self.readers(code), self.write(code), members)
        else:
            step = self._computed(code)
        return step if code.guard is None else guarded(step, *code.guard)

    def _computed(self, code: Code) -> Step:
        """An instruction with semantics in the table."""
        form = code.form
        sem, readers, write = form.op.sem, self.readers(code), self.write(code)
        if any(isinstance(s, Mem) for s in code.sources):
            return _memory(sem, form, readers, write, Site(code, form), code.polls)
        direct = [self._direct(s, t) for s, t in zip(code.sources, code.source_types, strict=True)]
        dest = self._direct_dest(code)
        if dest is not None and all(n is not None for n in direct) and 1 <= len(direct) <= 3:
            return _DIRECT[len(direct)](sem, form, dest, *direct)
        return _general(sem, form, readers, write)

    def named(self, code: Code) -> dict[str, Read]:
        """A function for each source operand, by its name in the table."""
        return {name: self.read(source, type_, code) for name, (source, type_) in code.named.items()}

    def readers(self, code: Code) -> list[Read]:
        """A function for each source operand."""
        return [self.read(s, t, code) for s, t in zip(code.sources, code.source_types, strict=True)]

    def members(self, code: Code) -> Read | None:
        """Reads the member mask of a `.sync` instruction that exchanges data between lanes."""
        source, type_ = code.named.get("membermask", (None, ""))
        return None if source is None else self.read(source, type_, code)

    # -- reading -------------------------------------------------------------------------------------------------------

    def constant(self, lane: str, value: int | float, bits: int | None = None) -> int:
        """The register that holds a constant; a float may be given by its bits, which keeps the payload of a NaN."""
        key = (lane, repr(value) if bits is None else bits)
        if key not in self._known:
            self._known[key] = len(self.program.registers) + len(self.constants)
            array = constant(lane, value) if bits is None else constant(f"i{lane[1:]}", bits).view(DTYPE[lane])
            self.constants.append(array)
        return self._known[key]

    def _direct(self, source: Source | None, type_: str) -> int | None:
        """The register that an operand is read from without a conversion, if there is one."""
        if type_ == "int" or type_ == "vec":
            return None
        if isinstance(source, Reg):
            lane = self.program.registers[source.index].lane
            return source.index if type_ == "any" or lane == types.lane(type_) else None
        if isinstance(source, Literal) and type_ != "any":
            exact = source.bits if source.kind == types.lane(type_) else None
            return self.constant(types.lane(type_), source.as_type(type_), exact)
        if isinstance(source, Symbol) and type_ != "any" and types.lane(type_) in ("i32", "i64"):
            return self.constant(types.lane(type_), source.value)
        return None

    def read(self, source: Source | None, type_: str, code: Code) -> Read:
        """A function that reads a source operand as the lane type of a PTX type."""
        if source is None:
            return lambda w: None
        if isinstance(source, Mem):
            return self._address(source)
        if isinstance(source, Group):
            return self._group(source, type_, code)
        if type_ == "int" and isinstance(source, Literal):
            number = int(source.value)
            return lambda w: number
        if type_ == "vec":
            type_ = code.form.type
        direct = self._direct(source, type_)
        if direct is not None:
            return lambda w: w.regs[direct]
        if isinstance(source, Reg):
            change = conversion(self.program.registers[source.index].lane, types.lane(type_), signed=False)
            index = source.index
            return lambda w: change(w.regs[index])
        if isinstance(source, Special):
            return self._special(source.name, type_)
        if isinstance(source, Inverted):
            index = source.operand.index
            return lambda w: ~w.regs[index]
        if isinstance(source, Literal):
            number = self.constant("i64" if source.kind == "int" else source.kind, source.value)
            return lambda w: w.regs[number]
        raise TypeError(f"cannot read {source} as {type_} in line {code.line}")

    def _special(self, name: str, type_: str) -> Read:
        lane = None if type_ == "any" else types.lane(type_)

        def read(w: Warp) -> Value:
            value = w.special(name)
            return value if lane is None or value.dtype == DTYPE[lane] else value.astype(DTYPE[lane])

        return read

    def _group(self, group: Group, type_: str, code: Code) -> Read:
        element = code.element_type(type_, len(group.elements))
        readers = [self.read(e, element, code) for e in group.elements]
        return lambda w: tuple([r(w) for r in readers])

    def _address(self, mem: Mem) -> Read:
        if not isinstance(mem.base, Reg):
            start = mem.base.value
            number = self.constant("i64", int(start) + mem.offset)
            return lambda w: w.regs[number]
        index = mem.base.index
        if not mem.offset:
            return lambda w: w.regs[index]
        lane = self.program.registers[index].lane
        offset = self.constants[self.constant(lane, mem.offset) - len(self.program.registers)]
        return lambda w: w.regs[index] + offset

    # -- writing -------------------------------------------------------------------------------------------------------

    def _direct_dest(self, code: Code) -> int | None:
        if len(code.dests) != 1 or not isinstance(code.dests[0], Reg):
            return None
        index, type_ = code.dests[0].index, code.dest_types[0]
        if type_ == "vec":
            type_ = code.form.type
        return index if type_ == "any" or self.program.registers[index].lane == types.lane(type_) else None

    def write(self, code: Code) -> Write:
        """A function that writes the results of the semantics to the destination registers of the active lanes."""
        writers: list[Write | None] = []
        for dest, type_ in zip(code.dests, code.dest_types, strict=True):
            if isinstance(dest, Group):
                element = code.element_type(type_, len(dest.elements))
                inner = [e if e is None else self._register_writer(e, element, code) for e in dest.elements]
                writers.append(_each(inner) if element in ("any", type_) or type_ == "vec" else _taken(inner, type_))
            elif dest is None:
                writers.append(None)
            else:
                writers.append(self._register_writer(dest, type_, code))
        if not writers:
            return lambda w, value: None
        if len(writers) == 1:
            return writers[0] or (lambda w, value: None)
        pair = _each(writers)
        first = writers[0]

        def write(w: Warp, value: Any) -> None:
            if isinstance(value, tuple):
                pair(w, value)
            elif first is not None:
                first(w, value)

        return write

    def _register_writer(self, dest: Source, type_: str, code: Code) -> Write:
        assert isinstance(dest, Reg)
        index, lane = dest.index, self.program.registers[dest.index].lane
        if type_ == "vec":
            type_ = code.form.type
        change = None
        if type_ != "any" and types.lane(type_) != lane:
            change = conversion(types.lane(type_), lane, signed=types.is_signed(type_))

        def write(w: Warp, value: Value) -> None:
            if change is not None:
                value = change(value)
            regs = w.regs
            regs[index] = value if w.full else np.where(w.mask, value, regs[index])

        return write


def conversion(source: str, target: str, *, signed: bool) -> Callable[[Value], Value]:
    """From one lane type to another: the same bits where the widths agree, else extended or truncated."""
    a, b = DTYPE[source], DTYPE[target]
    if a.itemsize == b.itemsize and "b" not in (a.kind, b.kind):
        return lambda value: value.view(b)
    bits = DTYPE[f"i{8 * a.itemsize}"]
    wide = DTYPE[f"i{8 * b.itemsize}"]
    if a.kind == "b":
        return lambda value: value.astype(wide).view(b)
    if b.kind == "b":
        return lambda value: (value.view(bits) & bits.type(1)).astype(b)
    if signed:
        return lambda value: value.view(SIGNED[a.itemsize]).astype(wide).view(b)
    return lambda value: value.view(bits).astype(wide).view(b)


# -- the shapes a step can have ----------------------------------------------------------------------------------------


def guarded(step: Step, predicate: int, negated: bool) -> Step:
    """`@p` or `@!p`: the step for those lanes only."""

    def run(w: Warp) -> int | None:
        p = w.regs[predicate]
        mask = np.greater(w.mask, p) if negated else w.mask & p
        bits = mask.tobytes()
        if bits == NONE:
            return None
        whole, full = w.mask, w.full
        w.mask, w.full = mask, bits == ALL
        step(w)
        w.mask, w.full = whole, full
        return None

    return run


def _nothing(w: Warp) -> int | None:
    return None


def _one(sem: Any, form: Any, dest: int, a: int) -> Step:
    def run(w: Warp) -> int | None:
        regs = w.regs
        value = sem(w, form, regs[a])
        regs[dest] = value if w.full else np.where(w.mask, value, regs[dest])
        return None

    return run


def _two(sem: Any, form: Any, dest: int, a: int, b: int) -> Step:
    def run(w: Warp) -> int | None:
        regs = w.regs
        value = sem(w, form, regs[a], regs[b])
        regs[dest] = value if w.full else np.where(w.mask, value, regs[dest])
        return None

    return run


def _three(sem: Any, form: Any, dest: int, a: int, b: int, c: int) -> Step:
    def run(w: Warp) -> int | None:
        regs = w.regs
        value = sem(w, form, regs[a], regs[b], regs[c])
        regs[dest] = value if w.full else np.where(w.mask, value, regs[dest])
        return None

    return run


_DIRECT: dict[int, Callable[..., Step]] = {1: _one, 2: _two, 3: _three}


def _general(sem: Any, form: Any, readers: list[Read], write: Write) -> Step:
    def run(w: Warp) -> int | None:
        write(w, sem(w, form, *[read(w) for read in readers]))
        return None

    return run


def _memory(sem: Any, form: Any, readers: list[Read], write: Write, site: Site, polls: bool) -> Step:
    def run(w: Warp) -> int | None:
        w.site = site
        if polls:
            w.polled = True
        write(w, sem(w, form, *[read(w) for read in readers]))
        return None

    return run


def _each(writers: list[Write | None]) -> Write:
    def write(w: Warp, value: Any) -> None:
        for one, part in zip(writers, value, strict=True):
            if one is not None:
                one(w, part)

    return write


def _taken(writers: list[Write | None], type_: str) -> Write:
    """`mov.b64 {d, e}, a`: one value unpacked."""
    each, count = _each(writers), len(writers)
    return lambda w, value: each(w, value if isinstance(value, tuple) else unpack(w, type_, count, value))


def _copy(code: Code) -> Step:
    """Arguments that are passed in memory, copied within each lane's frame."""
    assert code.copy is not None
    source, dest, size = code.copy

    def run(w: Warp) -> int | None:
        frames = w.local.data.reshape(LANES, -1)
        frames[w.mask, dest : dest + size] = frames[w.mask, source : source + size]
        return None

    return run

"""Loads by lanes that walk through rows of their own, an element in each round of a loop: a piece of each row at once.

    for (k ...) s += a[i * n + k];            c = text[i * 128 + k];

Of a loop that is not unrolled, or whose rounds compute addresses anew, `neighbours` sees single loads, 32 of them for
each element of a warp. Here 16 bytes of each lane's row are loaded together, transposed, and kept for the next rounds:
a chunk. A load whose lanes are as far apart as the chunk's, and begin in it, finds its elements there.

That is the same as long as nothing writes to that memory or orders accesses: in loops without stores to global memory,
atomic operations, barriers, exchanges and calls, for as long as the warp stays in the loop and in this function. Bytes
beyond an element are read only from its aligned 16, which lie in one page. So that rows are not loaded in vain, a chunk
is loaded where its bytes are met for the second time, or follow the ones before.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from ptxlab.emulate.jit.emitter.access_groups import Seen, access_shape, offset_of
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import PROMOTED, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.jit.memory.merged_loads import APART, BYTES, ROOM, Bundle
from ptxlab.emulate.jit.memory.scattered import LARGE, Scattered, Stride
from ptxlab.emulate.program.block_order import components
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.liveness import reads, registers_of, successors, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import BRANCHES

SPACES = ("global", "const")
MOST = 8
"""Chunks of a function."""


@dataclass(eq=False, repr=False)
class Chunk(Bundle):
    """Pieces of rows that one loop walks through; several instructions may load from it."""

    @property
    def at(self) -> str:
        """The name of its place."""
        return f"%chunk{self.place}"

    def word(self, name: str) -> str:
        """The name of an i64 that is kept beside it: where lane 0's piece begins ("first"; -1: nothing is loaded), how
        far lanes are apart ("apart"), and the piece of which an element was last loaded alone ("met")."""
        return f"%{PROMOTED}.{name}{self.place}"


class RowChunks(Part):
    """The chunks of a program's loops, and loads from them."""

    def __init__(self, e: Emitter, scattered: Scattered) -> None:
        super().__init__(e)
        self.scattered = scattered
        self._of: dict[int, Chunk] = {}
        """By code index."""
        self._chunks: list[Chunk] = []
        self._before: dict[int, list[Chunk]] = defaultdict(list)
        """Those of the loops that a block leads into."""
        if not e.diverged and not e.small and len(self.program.codes) < LARGE:
            for loop in quiet_loops(self.program):
                self._plan(loop)

    def keeps(self, code: Code) -> bool:
        """Whether what a load finds may be in a chunk."""
        return code.index in self._of

    def _plan(self, loop: list[int]) -> None:
        """The chunks of a loop: loads that follow the same pointers share one."""
        program, found = self.program, dict[tuple[int, int], Chunk]()
        for code in (c for at in loop for c in program.codes[program.blocks[at].first : program.blocks[at].last]):
            if not code.properties.plain or code.space not in SPACES or code.guard is not None:
                continue
            _, count, size = access_shape(code)
            followed = [r for source in code.sources for r in registers_of(source)]
            if count > 1 or len(followed) != 1 or len(self._chunks) == MOST:
                continue
            key, word = (self._pointers[followed[0]], size), max(size, 4)
            if key not in found:
                found[key] = Chunk(f"i{8 * word}", BYTES // word, 0, len(self._chunks))
                self._chunks.append(found[key])
            self._of[code.index] = found[key]
        for block in program.blocks:
            if block.index not in loop and set(successors(program, block.index)) & set(loop):
                self._before[block.index] += found.values()

    @functools.cached_property
    def _pointers(self) -> list[int]:
        """For each register the loads that it is made of, a bit set; those of one parameter are one."""
        out, changed, program = [0] * len(self.program.registers), True, self.program
        loads: dict[tuple[str, int], int] = {}
        while changed:
            changed = False
            for code in program.codes:
                made = 0
                if code.form.op.kind == "pure":
                    for r in reads(code):
                        made |= out[r]
                elif code.properties.plain and not code.properties.stores:
                    number = offset_of(code) if code.space == "param" else code.index
                    made = 1 << loads.setdefault((code.space, number), len(loads))
                for r in writes(code):
                    if program.registers[r].lane in ("i32", "i64") and made & ~out[r]:
                        out[r] |= made
                        changed = True
        return out

    def room(self) -> None:
        """The chunks, at the function's entry."""
        for chunk in self._chunks:
            self.t.alloca(f"[{ROOM} x i8]", align=64, name=chunk.at)
            for name in ("first", "apart", "met"):
                self.t.alloca("i64", name=chunk.word(name))
                self.t.store("i64", -1, chunk.word(name))

    def enter(self, block: Block) -> None:
        """In a block that may lead into a loop: nothing is loaded of its rows."""
        for chunk in self._before.get(block.index, ()):
            self.t.store("i64", -1, chunk.word("first"))

    def load(self, seen: Seen, first: str, alone: Callable[[], list[str]]) -> list[str]:
        """What lanes load that are a stride apart. first: a pointer to lane 0's; alone: how they do without a chunk."""
        chunk = self._of.get(seen.code.index)
        if chunk is None:
            return alone()
        t, stride, vector, size = self.t, seen.group.stride, f"<{W} x {LLVM[seen.lane]}>", seen.size
        other, fill, single, there, done = (t.label(name) for name in ("other", "fill", "single", "there", "done"))
        place = t.offset(first, seen.offset)
        address = t.ptrtoint("ptr", place, "i64")
        within, piece = (t.and_("i64", address, bits) for bits in (BYTES - size, ~(BYTES - size)))
        held, apart, met = (t.load("i64", chunk.word(name)) for name in ("first", "apart", "met"))
        same, as_far = t.eq("i64", piece, held), t.eq("i64", stride, apart)
        t.branch(t.and_("i1", same, as_far), there, other)
        t.at(other)
        follows = t.eq("i64", piece, t.add("i64", held, BYTES))
        likely = t.or_("i1", follows, t.eq("i64", piece, met))
        odd = t.and_("i64", t.or_("i64", piece, stride), BYTES - 1)
        good = t.and_("i1", likely, t.eq("i64", odd, 0))
        t.branch(good, fill, single)
        t.at(fill)
        start = t.offset(place, t.sub("i64", 0, within))
        self.scattered.load_bundle(chunk, start, Stride(stride))
        t.store("i64", piece, chunk.word("first"))
        t.store("i64", stride, chunk.word("apart"))
        t.go(there)
        t.at(there)
        found = self._element(chunk, within, vector, size)
        t.go(done)
        t.at(single)
        t.store("i64", piece, chunk.word("met"))
        with self.t.not_dominating():
            (other_found,) = alone()
        end = t.here
        t.go(done)
        t.at(done)
        return [t.phi(vector, (found, there), (other_found, end))]

    def _element(self, chunk: Chunk, within: str, vector: str, size: int) -> str:
        """The elements of all lanes that begin so many bytes behind their pieces. Small ones are parts of words."""
        t, word, words = self.t, BITS[chunk.lane] // 8, f"<{W} x i32>"
        start, inside = (t.and_("i64", within, bits) for bits in (-word, word - 1))
        row = t.offset(chunk.at, t.mul("i64", start, W))
        if size == word:
            return t.load(vector, row, align=64)
        bits = t.splat("i32", t.trunc("i64", t.shl("i64", inside, 3), "i32"))
        moved = t.lshr(words, t.load(words, row, align=64), bits)
        return t.trunc(words, moved, vector)


def quiet_loops(program: Program) -> list[list[int]]:
    """The blocks of each loop in which nothing writes to global memory or orders accesses, the largest such loops."""
    count, found = len(program.blocks), list[list[int]]()
    after = [successors(program, block.index) for block in program.blocks]
    quiet = [all(map(_quiet, program.codes[block.first : block.last])) for block in program.blocks]
    todo = [set(range(count))]
    while todo:
        part = todo.pop()
        inside = [[to for to in after[at] if to in part] if at in part else [] for at in range(count)]
        for loop in components(inside):
            if len(loop) == 1 and loop[0] not in inside[loop[0]]:
                continue
            if all(quiet[at] for at in loop):
                found.append(loop)
            else:
                todo.append(set(loop) - {loop[0]})  # without its head: the loops in it
    return found


def _quiet(code: Code) -> bool:
    """Whether an instruction leaves what lanes load from global memory as it is."""
    if code.properties.plain:
        return not code.properties.strong and (not code.properties.stores or "global" in APART.get(code.space, ()))
    return code.form.op.kind == "pure" or code.action in BRANCHES

"""The checks in compiled code: loads and stores of local memory, and the frames of calls, which lie there.

Where all lanes access one address, the masks of a few words tell all that there is to know (see
`rules.initcheck_local`). These are read and written in place; the rule is called only where a lane may read what it has
not written.
"""

from __future__ import annotations

from itertools import pairwise

from ptxlab.emulate.jit.checks.check_instrument import CheckInstrument
from ptxlab.emulate.jit.emitter.access_groups import access_shape, offset_of
from ptxlab.emulate.jit.llvm.ir_text import W
from ptxlab.emulate.jit.llvm.values import Value
from ptxlab.emulate.jit.translation.rule_calls import THERE, call
from ptxlab.emulate.rules import initcheck_local
from ptxlab.emulate.rules.records import Block

WORD = 4
"""Bytes of a word, and of a mask."""
MOST = 16
"""Words of an argument that are copied in place."""


class CheckedLocal(CheckInstrument):
    """initcheck of local memory."""

    def enters(self) -> None:
        """Loads where the masks of the warp are."""
        if self.checks.init and self.program.local_size:
            t, size = self.t, initcheck_local.MASKS * self.program.local_stride
            masks = t.get(Block, "local", "%check.block")
            before = t.mul("i64", t.zext("i32", "%check.warp", "i64"), size)
            t.offset(masks, before, "%init.local")

    def accessed_local(self, at: Value, size: int, stores: bool) -> None:
        code = self.e.code
        if self.checks.init and code.index in self.checks.bounds:
            self._within(at, size)
        if not self.checks.init or (not stores and code.index in self.checks.flow.carried):
            return
        if stores and (saves := self._saves()) is not None:
            first, size = saves
            if first is None:
                return
            at = self.m.add(at, self.m.const("i64", first))
        if not at.uniform:
            self._call(at, size, stores)
        elif stores:
            words = size // WORD
            self._add(self._words(at) if words else self._pieces(at), words or size)
        else:
            word = self.m.and_(at, self.m.const("i64", -WORD))
            held = self.t.load("i32", self._words(word), align=4)
            if size < WORD:
                held = self.t.or_("i32", held, self.t.load("i32", self._pieces(at), align=4))
            with self.t.unless(self._all_in(held), cold=True):
                self._call(at, size, stores)

    def copied_frame(self, source: int, dest: int, size: int) -> None:
        if not self.checks.init:
            return
        words, t = size // WORD, self.t
        line = call(initcheck_local.copied, *THERE[1:], self.active.bits, str(source), str(dest), str(size))
        if words > MOST or (size | source | dest) % WORD:
            t.do(line)
            return
        held = t.load(f"<{words} x i32>", self._words(self.m.const("i64", source)), align=4)
        all_held = t.call("i32", f"llvm.vector.reduce.and.v{words}i32", [(f"<{words} x i32>", held)])
        with t.if_else(self._all_in(all_held)) as (written, others):
            with written:
                self._add(self._words(self.m.const("i64", dest)), words)
            with others:
                t.do(line)

    def _saves(self) -> tuple[int | None, int] | None:
        """Where a call saves registers side by side, the first of these stores counts for all: how far the lowest byte
        lies from its own (None for the others), and their bytes. None where this is no such store.

        A later one may fault, for which the stack has no room: the masks of bytes lie behind those of words."""
        code = self.e.code
        block = self.program.blocks[code.block]
        if code.saves < 0:
            return None
        first, last = code.index, code.index + 1
        while first > block.first and self.program.codes[first - 1].saves >= 0:
            first -= 1
        while last < block.last and self.program.codes[last].saves >= 0:
            last += 1
        stores = [each for each in self.program.codes[first:last] if each.properties.stores]
        at = sorted((offset_of(each), access_shape(each)[2]) for each in stores)
        if any(size % WORD for _, size in at) or any(a + size != b for (a, size), (b, _) in pairwise(at)):
            return None
        return (at[0][0] - offset_of(code) if code is stores[0] else None), at[-1][0] + at[-1][1] - at[0][0]

    def _call(self, at: Value, size: int, stores: bool) -> None:
        """The rule, with the addresses of all lanes."""
        offsets = self.m.vector(self.m.trunc("i32", at))
        self.t.store(f"<{W} x i32>", offsets, "%addrs", align=64)
        if stores:
            self.t.do(call(initcheck_local.stored, *THERE[1:], self.active.bits, "%addrs", str(size)))
        else:
            given = *THERE, self.active.bits, "%addrs", str(size), str(self.e.code.index), "0"
            self.t.do(call(initcheck_local.loaded, *given))

    def _within(self, at: Value, size: int) -> None:
        """Checks that an access stays in the object that it is meant for."""
        bounds = self.checks.bounds[self.e.code.index]

        def ask() -> None:
            offsets = self.m.vector(self.m.trunc("i32", at))
            self.t.store(f"<{W} x i32>", offsets, "%addrs", align=64)
            given = self.active.bits, "%addrs", str(size), *map(str, bounds), str(self.e.code.index), "0"
            self.t.do(call(initcheck_local.within, *THERE, *given))

        if not at.uniform:
            ask()
            return
        inside = self.m.sub(at, self.m.const("i64", bounds[0]))
        fits = self.m.ule(inside, self.m.const("i64", bounds[1] - bounds[0] - size))
        with self.t.unless(fits.text, cold=True):
            ask()

    def _words(self, at: Value) -> str:
        """A pointer to the mask of the word at an address, and so to those of the words behind it."""
        return self.t.offset("%init.local", at.text)

    def _pieces(self, at: Value) -> str:
        """The same of a byte."""
        behind = self.t.offset("%init.local", self.program.local_stride)
        return self.t.element("i32", behind, at.text)

    def _all_in(self, held: str) -> str:
        """i1: whether a mask has all active lanes."""
        return self.t.eq("i32", self.t.and_("i32", held, self.active.bits), self.active.bits)

    def _add(self, masks: str, count: int) -> None:
        """Adds the active lanes to some masks."""
        t, kind = self.t, f"<{count} x i32>"
        lanes = t.splat("i32", self.active.bits, count)
        held = t.load(kind, masks, align=4)
        t.store(kind, t.or_(kind, held, lanes), masks, align=4)

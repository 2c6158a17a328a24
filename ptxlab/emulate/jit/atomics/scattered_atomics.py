"""Atomic operations of a full warp on addresses of which nothing is known: a histogram.

Where nobody reads the old values, no other worker sees the memory, and all 32 addresses lie in shared memory or in the
allocation that the site knows, 32 plain operations follow one another, without a loop: its end, and the calls that find
each lane's place, took longer than they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ptxlab.emulate.jit.affine.values import Affine
from ptxlab.emulate.jit.atomics.elements import new_value
from ptxlab.emulate.jit.emitter.emitter import Emitter
from ptxlab.emulate.jit.emitter.part import Part
from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM, Address, Value
from ptxlab.emulate.jit.memory.access import Memory
from ptxlab.emulate.runtime import state as S
from ptxlab.isa.table import Form


class AtomicLanes(Part):
    """Writes that way, and the functions that it calls."""

    def __init__(self, e: Emitter, memory: Memory) -> None:
        super().__init__(e)
        self.memory = memory

    def apply(self, address: Address) -> bool:
        """Whether an operation whose old values nobody reads, and whose order makes no difference, may go this way."""
        e, base = self.e, address.base
        if e.small or e.diverged or base.uniform or isinstance(base, Affine):
            return False
        return e.code.space == "global" or (e.code.space == "shared" and base.type == "i32")

    @contextmanager
    def each(self, form: Form, word: str, lane: str, address: Address, given: Value, site: str) -> Iterator[None]:
        """The operations; in this context the code for all others is written."""
        t, shared = self.t, self.e.code.space == "shared"
        lanes, other, done = (t.label(name) for name in ("lanes", "other", "done"))
        start, offsets, good = self._in_shared(address, lane) if shared else self._in_site(address, lane, site)
        kind = f"<{W} x {'i32' if shared else 'i64'}>"
        first = t.shuffle(kind, offsets, [0] * W)
        same = t.bitcast(f"<{W} x i1>", t.eq(kind, offsets, first), "i32")
        full = t.eq("i32", t.and_("i32", good, self.active.bits), -1)
        apart = t.ne("i32", same, -1)  # at one address they become one operation
        t.branch(t.and_("i1", full, apart), lanes, other)
        t.at(other)
        with self.t.not_dominating():
            yield
        t.go(done)
        t.at(lanes)
        function = self._function(form, word, lane, kind, given)
        t.call_function("void", function, f"ptr {start}", f"{kind} {offsets}", f"{given.llvm} {given.text}")
        t.go(done)
        t.at(done)

    def _in_shared(self, address: Address, lane: str) -> tuple[str, str, str]:
        """The start of shared memory, the lanes' offsets from there, and which of them are inside and aligned."""
        t, m, size = self.t, self.m, BITS[lane] // 8
        at = m.add(address.base, m.const("i32", (address.offset - self.program.shared_start) % (1 << 32)))
        offsets, row = m.vector(at), f"<{W} x i32>"
        last = t.sub("i64", "%shared.size", size)
        some = t.sge("i64", last, 0)
        limit = t.trunc("i64", t.ashr("i64", last, size.bit_length() - 1), "i32")
        limits = t.splat("i32", t.select(some, "i32", t.add("i32", limit, 1), 0))
        places = self.memory.sites.rotate(row, offsets, size.bit_length() - 1)
        return "%shared", offsets, t.bitcast(f"<{W} x i1>", t.ult(row, places, limits), "i32")

    def _in_site(self, address: Address, lane: str, site: str) -> tuple[str, str, str]:
        """The same of the allocation that the site knows; none where another worker may see it, or where somebody keeps
        a record of what is written."""
        t, size, row = self.t, BITS[lane] // 8, f"<{W} x i64>"
        base, places, host, written = (t.get(S.Site, name, site) for name in ("base", "places", "host", "written"))
        flag = t.get(S.Context, "alone")
        alone = t.ne("i8", flag, 0)
        free = t.and_("i1", alone, t.eq("ptr", written, "null"))
        limits = t.splat("i64", t.select(free, "i64", places, 0))
        offsets = t.sub(row, self.m.vector(self.m.wide(address)), t.splat("i64", base))
        near = self.memory.sites.rotate(row, offsets, size.bit_length() - 1)
        return host, offsets, t.bitcast(f"<{W} x i1>", t.ult(row, near, limits), "i32")

    def _function(self, form: Form, word: str, lane: str, kind: str, given: Value) -> str:
        """The function that makes the operations, in lane order."""
        ty, size, one = LLVM[lane], BITS[lane] // 8, kind.split()[-1][:-1]
        name = f"lanes.{word}.{lane}.{one}" + ".same" * given.uniform
        if name in self.e.helpers:
            return name
        t = Text()
        t.declared = self.t.declared
        for buffer, vector in (("at", kind), *([] if given.uniform else [("xs", given.llvm)])):
            t.alloca(vector, align=64, name=f"%{buffer}.p")
            t.store(vector, f"%{buffer}", f"%{buffer}.p", align=64)
        for k in range(W):
            # volatile: LLVM would take offsets out of vectors, so late that the CPU lets loads go before stores to
            # their place, and begins again when it notices: 20 cycles each time
            off = t.load(f"volatile {one}", t.element(one, "%at.p", k))
            place = t.element("i8", "%start", off, by=one)
            x = "%xs" if given.uniform else t.load(ty, t.element(ty, "%xs.p", k))
            old = t.load(ty, place, align=size)
            t.store(ty, new_value(t, form, word, lane, old, [x]), place, align=size)
        t.ret()
        self.e.helpers[name] = t.function(f"void @{name}(ptr %start, {kind} %at, {given.llvm} %xs)")
        return name

"""Counters of the compiling engine: what counted code does besides, and the tally that it leaves.

How often a block runs is counted anyway. Counted code adds, for each instruction with a guard, the lanes for which it
held; for each branch that can, whether it split the warp; and for accesses what they need beyond one sector or one
wavefront. That is known beforehand where all lanes have one address, and simple where their addresses follow each
other; only for others is a function called. Accesses of a block that differ in their immediate offset, and so by the
same amount in all lanes, share one count (see `leaders`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Address
from ptxlab.emulate.jit.control import Control
from ptxlab.emulate.jit.copies import copies
from ptxlab.emulate.jit.groups import access_shape, plan_groups
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.transfer import Seen
from ptxlab.emulate.jit.values import Value, constant
from ptxlab.emulate.program.model import Block, Code, Literal, Mem, Program
from ptxlab.emulate.rules.counting import TALLY, moves_pairs
from ptxlab.isa import fragments

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

# A record of an instruction: pairs of i64 at these offsets, and the memo of `@count.banks`.
ON, FAST, SLOW, DIVERGED = 0, 16, 32, 48
GLOBAL, SHARED, LOCAL, MEMO = 64, 96, 128, 192
RECORD = 384
"""ON: warps and threads whose guard held. FAST: what is needed beyond one, and at best beyond one, in the fast
function, for all accesses of a class; SLOW: the same in the slow function. GLOBAL and SHARED: requests, bytes, needed,
at best, for accesses whose space is found at run time and for atomics; LOCAL: requests, bytes."""


def leaders(program: Program) -> dict[int, int]:
    """For each plain access (code index) the one in its block that counts for it: of those whose addresses differ by a
    constant that changes nothing the first."""
    found: dict[int, int] = {}
    for block in program.blocks:
        groups, _ = plan_groups(program, block.first, block.last, 0)
        for group in {id(g): g for g in groups.values()}.values():
            first: dict[Any, int] = {}
            for index, offset, size in sorted(group.members):
                code = program.codes[index]
                if code.space == "shared":
                    key: Any = moves_pairs(code) if size > 4 else offset & 3
                else:
                    key = offset & 31
                found[index] = first.setdefault(key, index)
    return found


class Counting(Control):
    """The mixin. Both functions of a counted program are written with it."""

    wide: bool
    leader: dict[int, int] | None = None

    def _fields(self) -> None:
        super()._fields()  # type: ignore[misc]
        self.t.do(f"%tally.p = getelementptr i8, ptr %ctx, i64 {S.TALLY}")
        self.t.do("%tally = load ptr, ptr %tally.p")
        t = self.t
        for what in ("gather", "scatter"):
            t.declared.add(_DECLARED[what])
        self.helpers_needed["counting"] = fill(
            "counting.ll", TALLY_GLOBAL=GLOBAL, TALLY_SHARED=SHARED, TALLY_LOCAL=LOCAL, TALLY_MEMO=MEMO,
            LANES=_vector(range(W)), SWAP1=_vector(k ^ 1 for k in range(W)), SWAP2=_vector(k ^ 2 for k in range(W)),
        )  # fmt: skip

    def _record(self, index: int, field: int) -> str:
        return self.t.let(f"getelementptr i8, ptr %tally, i64 {index * RECORD + field}")

    def _add(self, index: int, field: int, pair: str) -> None:
        """Adds a pair of i64 to a record."""
        p = self._record(index, field)
        old = self.t.let(f"load <2 x i64>, ptr {p}, align 16")
        self.t.do(f"store <2 x i64> {self.t.let(f'add <2 x i64> {old}, {pair}')}, ptr {p}, align 16")

    def _pair(self, a: str, b: str) -> str:
        first = self.t.let(f"insertelement <2 x i64> poison, i64 {a}, i64 0")
        return self.t.let(f"insertelement <2 x i64> {first}, i64 {b}, i64 1")

    # -- guards and branches -------------------------------------------------------------------------------------------

    def apply_guard(self, code: Code) -> None:
        super().apply_guard(code)
        if code.guard is None:
            return
        t = self.t
        some = t.let(f"zext i1 {t.let(f'icmp ne i32 {self.mask_bits}, 0')} to i64")
        lanes = t.let(f"zext i32 {t.call('i32', 'llvm.ctpop.i32', [('i32', self.mask_bits)])} to i64")
        self._add(code.index, ON, self._pair(some, lanes))

    def control(self, block: Block, code: Code) -> None:
        if code.leaves >= 0:
            self._parts()  # such a branch is a way to leave, and does not come to `jump`
        super().control(block, code)

    def jump(self, block: Block, target: Value) -> None:
        self._parts(target)
        super().jump(block, target)

    def _parts(self, target: Value | None = None) -> None:
        """Counts a branch that does not take all lanes the same way."""
        t = self.t
        parted = ""
        if self.guard is not None and not self.guard.uniform:
            some = t.let(f"icmp ne i32 {self.mask_bits}, 0")
            all_ = t.let(f"icmp ne i32 {self.mask_bits}, {self._block_bits}")
            parted = t.let(f"zext i1 {t.let(f'and i1 {some}, {all_}')} to i64")
        if target is not None and not target.uniform:
            spread = t.let(f"call i64 @count.differ(<{W} x i32> {target.text}, i32 {self.mask_bits})")
            parted = t.let(f"or i64 {parted}, {spread}") if parted else spread
        if parted:
            t.bump(self._record(self.code.index, DIVERGED), "add i64", parted)

    # -- memory --------------------------------------------------------------------------------------------------------

    def observe(self, seen: Seen) -> None:
        super().observe(seen)
        code, space = seen.code, seen.code.space
        if space == "generic":
            self._anywhere(code.index, seen.group.address, seen.offset, seen.size)
        elif space in ("global", "shared"):
            self.leader = self.leader or leaders(self.program)
            if not self.slow and self.leader[code.index] != code.index:
                return
            if space == "shared":
                need = self._banks(seen)
            else:
                need = "" if seen.uniform else self._sectors(seen)
            if need:
                beyond = self.t.let(f"sub <2 x i64> {need}, splat (i64 1)")
                self._add(code.index, SLOW if self.slow else FAST, beyond)

    def _anywhere(
        self, index: int, addresses: str, offset: int, size: int, space: str = "", mask: str = ""
    ) -> None:  # fmt: skip
        """Counts an access in full, out of line."""
        code = self.program.codes[index]
        self.t.do(
            f"call void @count.anywhere(ptr {self._record(index, 0)}, <{W} x i64> {addresses}, i64 {offset}, "
            f"i32 {mask or self.mask_bits}, i64 {size}, i32 {S.SPACES[space or code.space]}, "
            f"i32 {int(moves_pairs(code))})"
        )

    def _sectors(self, seen: Seen) -> str:
        """The pair of sectors needed and sectors at best, for a vector of addresses."""
        t, group, size = self.t, seen.group, seen.size
        names = {k: t.label(k) for k in ("row", "near", "one", "any", "end")}
        t.do(
            f"switch i32 {group.pattern}, label %{names['any']} [i32 0, label %{names['row']} "
            f"i32 1, label %{names['one']}]"
        )
        t.at(names["row"])
        first = t.let(f"extractelement <{W} x i64> {group.address}, i64 0")
        low = t.let(f"and i64 {t.let(f'add i64 {first}, {seen.offset}')}, 31")
        count = t.let(f"lshr i64 {t.let(f'add i64 {low}, {W * size + 31}')}, 5")
        row = self._pair(count, str(size))
        t.do(f"br label %{names['end']}")
        t.at(names["one"])
        t.do(f"br label %{names['end']}")
        t.at(names["any"])
        any_ = t.let(
            f"call <2 x i64> @count.sectors(<{W} x i64> {group.address}, i64 {seen.offset}, i32 {self.mask_bits}, "
            f"i64 {size})"
        )
        t.do(f"br label %{names['end']}")
        t.at(names["end"])
        return t.let(
            f"phi <2 x i64> [{row}, %{names['row']}], [splat (i64 1), %{names['one']}], [{any_}, %{names['any']}]"
        )

    def _banks(self, seen: Seen) -> str:
        """The pair of wavefronts needed and wavefronts at best; nothing where both are 1."""
        t, group, size, pairs = self.t, seen.group, seen.size, moves_pairs(seen.code)
        lanes = min(W, 128 // size) * (2 if pairs and size > 4 else 1)
        one = lanes >= W
        if seen.uniform:
            if one:
                return ""
            same = t.let(f"call i64 @count.groups(i32 {self.mask_bits}, i32 {lanes})")
            return self._pair(same, same)
        names = {k: t.label(k) for k in ("row", "one", "any", "end")}
        t.do(
            f"switch i32 {group.pattern}, label %{names['any']} [i32 0, label %{names['row']} "
            f"i32 1, label %{names['one']}]"
        )
        for name in ("row", "one"):  # both for full warps only
            t.at(names[name])
            t.do(f"br label %{names['end']}")
        t.at(names["any"])
        address = group.offsets
        if size < 4 and seen.offset:
            step = t.splat("i32", t.let(f"add i32 {seen.offset}, 0"))
            address = t.let(f"add <{W} x i32> {group.offsets}, {step}")
        any_ = t.let(
            f"call <2 x i64> @count.banks(ptr {self._record(seen.code.index, MEMO)}, <{W} x i32> {address}, "
            f"i32 {self.mask_bits}, i32 {size}, i32 {int(pairs)})"
        )
        t.do(f"br label %{names['end']}")
        t.at(names["end"])
        row, broadcast = max(1, W * size // 128), W // min(W, lanes)
        return t.let(
            f"phi <2 x i64> [splat (i64 {row}), %{names['row']}], [splat (i64 {broadcast}), %{names['one']}], "
            f"[{any_}, %{names['any']}]"
        )

    def matrix(self, code: Code) -> None:
        form = code.form
        assert form is not None
        if form.op.name in ("ldmatrix", "stmatrix"):
            lanes = 8 * int(form.num[1:])
            rows = self.t.let(f"select i1 {self._any()}, i32 {(1 << lanes) - 1 if lanes < W else -1}, i32 0")
            self._anywhere(code.index, self._place(code, "a"), 0, 16, mask=rows)
        super().matrix(code)

    def _wmma_access(self, code: Code, form: Form, name: str) -> Callable[[str], None]:
        call = super()._wmma_access(code, form, name)
        ((_, f),) = fragments.operands(form).items()
        pieces = fragments.pieces(f, str(form.layout))
        start = self._place(code, "a")
        given = self._read(code.sources[self._source(code, "stride")], "u32")
        along = f.columns if form.layout == "row" else f.rows
        step = self.const("i64", along) if given is None else self.zext("i64", given)
        step = self.mul(step, self.const("i64", f.bits // 8))

        def counted(table: str) -> None:
            call(table)
            first = Value(self.t.let(f"extractelement <{W} x i64> {start}, i64 0"), "i64", True)
            for at in range(0, len(pieces), W):
                some = pieces[at : at + W]
                lines = np.array([p.line for p in some] + [0] * (W - len(some)), np.uint64)
                starts = np.array([p.start for p in some] + [0] * (W - len(some)), np.uint64)
                lanes = self.add(self.mul(constant(lines, "i64"), step), constant(starts, "i64"))
                address = self.vector(self.add(first, lanes))
                lanes_there = (1 << len(some)) - 1 if len(some) < W else -1
                self._anywhere(code.index, address, 0, some[0].size, mask=str(lanes_there))

        return counted

    def asynchronous(self, code: Code) -> None:
        if copies(code):
            size = code.sources[self._source(code, "size")]
            assert isinstance(size, Literal)
            k = self._source(code, "src_size")
            given = self._read(code.sources[k], code.source_types[k])
            reads = self.mask_bits
            if given is not None:
                some = self.not_(given) if given.type == "i1" else self.ne(given, self.const(given.type, 0))
                bits = self.t.let(f"bitcast <{W} x i1> {self.vector(some)} to i32")
                reads = self.t.let(f"and i32 {bits}, {self.mask_bits}")
            self._anywhere(code.index, self._place(code, "b"), 0, int(size.value), "global", reads)
            self._anywhere(code.index, self._place(code, "a"), 0, int(size.value), "shared")
        super().asynchronous(code)

    def _any(self) -> str:
        """i1: whether a lane executes this."""
        return self.t.let(f"icmp ne i32 {self.mask_bits}, 0")

    def _place(self, code: Code, name: str) -> str:
        """The addresses of an operand, a vector of i64."""
        mem = code.sources[self._source(code, name)]
        assert isinstance(mem, Mem)
        base = self._base(mem)
        at = self.add(base, self.const(base.type, mem.offset))
        return self.vector(at if at.type == "i64" else self.zext("i64", at))

    def atom(self, i: Form, address: Address, *values: Any) -> Any:
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        at = self.vector(self.add(base, self.const("i64", address.offset)))
        self._anywhere(self.code.index, at, 0, access_shape(self.code)[2])
        return super().atom(i, address, *values)


def _vector(numbers: Any) -> str:
    return "<" + ", ".join(f"i32 {n}" for n in numbers) + ">"


_DECLARED = {
    "gather": f"declare <{W} x i32> @llvm.masked.gather.v{W}i32.v{W}p0(<{W} x ptr>, <{W} x i1>, <{W} x i32>)",
    "scatter": f"declare void @llvm.masked.scatter.v{W}i32.v{W}p0(<{W} x i32>, <{W} x ptr>, <{W} x i1>)",
}


# -- what a launch leaves ----------------------------------------------------------------------------------------------


def executions(program: Program, counts: np.ndarray) -> list[list[int]]:
    """How many warps and threads have executed each instruction. `counts`: int64, pairs of warps and threads, one for
    each basic block, then one for each instruction, by how much the rest of its block was run more or less often than
    the instruction, where lanes have met there."""
    blocks, rest = counts[: 2 * len(program.blocks)].reshape(-1, 2), counts[2 * len(program.blocks) :].reshape(-1, 2)
    out = []
    for block in program.blocks:
        out += (blocks[block.index] + np.cumsum(rest[block.first : block.last], axis=0)
                - rest[block.first : block.last]).tolist()  # fmt: skip
    return out


def tally(program: Program, counts: np.ndarray, records: np.ndarray) -> np.ndarray:
    """The tally of a launch: `counts` as the compiled code leaves them (see `executions`), `records` (int64, shape
    (codes, RECORD / 8)) what counted code has added up."""
    out = np.zeros(len(program.codes), TALLY)
    leader = leaders(program)
    at = records[:, : MEMO // 8].tolist()
    for code, ran in zip(program.codes, executions(program, counts), strict=True):
        row, own = out[code.index], at[code.index]
        row["warps"], row["threads"] = ran
        row["on_warps"], row["on_threads"] = own[0:2] if code.guard is not None else ran
        row["divergent"] = own[DIVERGED // 8]
        if code.index in leader and code.space in ("global", "shared"):
            needed, best = ("sectors", "ideal") if code.space == "global" else ("wavefronts", "ideal")
            shared = at[leader[code.index]][FAST // 8 :]
            beyond = own[SLOW // 8 :]
            row[f"{code.space}_requests"] = row["on_warps"]
            row[f"{code.space}_{needed}"] = row["on_warps"] + shared[0] + beyond[0]
            row[f"{code.space}_{best}"] = row["on_warps"] + shared[1] + beyond[1]
            row[f"{code.space}_bytes"] = row["on_threads"] * access_shape(code)[2]
        elif code.name in ("ld", "st", "ldu") and code.space == "local":
            row["local_requests"], row["local_bytes"] = row["on_warps"], row["on_threads"] * access_shape(code)[2]
        else:
            for space, where, names in (
                ("global", GLOBAL, ("requests", "bytes", "sectors", "ideal")),
                ("shared", SHARED, ("requests", "bytes", "wavefronts", "ideal")),
                ("local", LOCAL, ("requests", "bytes")),
            ):
                for k, name in enumerate(names):
                    row[f"{space}_{name}"] = own[where // 8 + k]
    return out

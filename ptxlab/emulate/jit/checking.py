"""The checks in compiled code: what is emitted around accesses, barriers and `.sync` instructions.

All work is done out of line, in `races.ll` and `checking.ll`, and for many accesses at once: a run of loads from one
base (a `Group`) is looked at where its first member is emitted, by tables of what each covers, up to whatever may
order threads or go the other way. Addresses that lie in a row, or are all the same, are looked at as one stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptxlab.emulate import checks as rules
from ptxlab.emulate import findings as F
from ptxlab.emulate import races
from ptxlab.emulate.jit import shadows
from ptxlab.emulate.jit import state as S
from ptxlab.emulate.jit.access import Address
from ptxlab.emulate.jit.control import Control
from ptxlab.emulate.jit.groups import Group, access_shape, offset_of
from ptxlab.emulate.jit.helpers import fill
from ptxlab.emulate.jit.irtext import W
from ptxlab.emulate.jit.transfer import Seen
from ptxlab.emulate.jit.values import BITS, LLVM, Value
from ptxlab.emulate.program import Block, Code, Program
from ptxlab.isa import types

if TYPE_CHECKING:
    from ptxlab.isa.table import Form

COLD = "!prof !0"
_DECLARED = (
    "declare i32 @llvm.ctlz.i32(i32, i1)", "declare i64 @llvm.cttz.i64(i64, i1)",
    "declare i32 @llvm.bitreverse.i32(i32)",
    *(f"declare <{W} x i{n}> @llvm.masked.gather.v{W}i{n}.v{W}p0(<{W} x ptr>, <{W} x i1>, <{W} x i{n}>)"
      for n in (32, 64)),
    f"declare void @llvm.masked.scatter.v{W}i64.v{W}p0(<{W} x i64>, <{W} x ptr>, <{W} x i1>)",
)  # fmt: skip


class Checking(Control):
    """The mixin. Both functions of a checked program are written with it; `init`, `race`, `sync`: what is checked."""

    init = race = sync = False
    tables: list[str]

    def _fields(self) -> None:
        super()._fields()  # type: ignore[misc]
        self.t.declared.update(_DECLARED)
        for name, offset, kind in (
            ("init.shared", S.INIT_SHARED, "ptr"), ("race.shared", S.RACE_SHARED, "ptr"),
            ("race.stride", S.RACE_SHARED_STRIDE, "i64"),
        ):  # fmt: skip
            self.t.do(f"%{name}.p = getelementptr i8, ptr %cta, i64 {offset}")
            self.t.do(f"%{name} = load {kind}, ptr %{name}.p")

    def begin(self, block: Block, last: int, bits: str) -> None:
        super().begin(block, last, bits)
        self._covered: dict[int, set[int]] = {}
        self._roots: dict[int, tuple[str, str, str, str]] = {}
        self._bytes_in: dict[int, str] = {}

    # -- accesses ------------------------------------------------------------------------------------------------------

    def store(self, i: Form, address: Address, value: Value | tuple[Value, ...]) -> None:
        self._storing = value if isinstance(value, tuple) else (value,)
        super().store(i, address, value)

    def _check_uniform(self, group: Group, base: Value, offset: int) -> None:
        super()._check_uniform(group, base, offset)
        self._root(group)
        self._bytes_in[id(group)] = self.t.let(f"sub i64 {group.address}, {self._roots[id(group)][2]}")

    def _check_lanes(self, group: Group, base: Value, offset: int) -> None:
        super()._check_lanes(group, base, offset)
        self._root(group)

    def _root(self, group: Group) -> None:
        """Where the records of a group's allocation are: accesses, stride, its first address, written bytes."""
        self._covered[id(group)] = set()
        if self.code.space == "shared":
            root = "%race.shared", "%race.stride", str(self.program.shared_start), "%init.shared"
        else:
            site, (known, _, _, _) = self._site(group)
            fields = []
            for at, kind in ((32, "ptr"), (40, "i64"), (24, "ptr")):
                p = self.t.let(f"getelementptr i8, ptr {site}, i64 {at}")
                fields.append(self.t.let(f"load {kind}, ptr {p}"))
            root = fields[0], fields[1], known, fields[2]
        self._roots[id(group)] = root

    def observe(self, seen: Seen) -> None:
        super().observe(seen)
        if seen.code.space == "const":
            return
        if self.race and rules.releases(seen.code):
            self.t.do("call void @race.fence(ptr %ctx, ptr %cta, ptr %ws)")
        if seen.uniform:
            self._observe_one(seen)
        else:
            self._observe_lanes(seen)
        if self.race and rules.strong(seen.code):
            self.t.do("call void @race.acquire(ptr %ctx, ptr %cta, ptr %ws)")

    def _observe_one(self, seen: Seen) -> None:
        """All lanes at one address."""
        t, group, write = self.t, seen.group, seen.write
        members = self._segment(seen)
        if not members:
            return
        race, stride, start, written = self._roots[id(group)]
        off = self._bytes_in[id(group)]
        if self.race:
            pieces = self._pieces(members)
            t.do(
                f"call void @race.one(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr {race}, i64 {stride}, "
                f"i64 {off}, i64 {start}, ptr {pieces}, i1 {int(write)})"
            )
            if write:
                self._differing(seen, race, start, off)
        if self.init and not write:
            look, bad, on = t.label("look"), t.label("bad"), t.label("on")
            t.do(f"br i1 {t.let(f'icmp ne ptr {written}, null')}, label %{look}, label %{on}")
            t.at(look)
            good = t.let(f"call i1 @init.ranges(ptr {written}, i64 {off}, ptr {self._ranges(members)})")
            t.do(f"br i1 {good}, label %{on}, label %{bad}, {COLD}")
            t.at(bad)
            self._spread(off)
            self._report(written, start, members)
            t.do(f"br label %{on}")
            t.at(on)
        elif self.init and seen.code.space == "shared":
            p = t.let(f"getelementptr i8, ptr %init.shared, i64 {off}")
            p = t.let(f"getelementptr i8, ptr {p}, i64 {seen.offset}")
            t.do(f"call void @llvm.memset.p0.i64(ptr {p}, i8 -1, i64 {seen.size}, i1 false)")

    def _spread(self, off: str) -> None:
        """One offset for all lanes into the buffer for offsets."""
        vector = self.t.splat("i32", self.t.let(f"trunc i64 {off} to i32"))
        self.t.do(f"store <{W} x i32> {vector}, ptr %addrs, align 64")

    def _differing(self, seen: Seen, race: str, start: str, off: str) -> None:
        """A store of many lanes to one address: they must store the same value."""
        t = self.t
        lane = t.call("i32", "llvm.cttz.i32", [("i32", self.mask_bits), ("i1", "false")])
        lane = t.let(f"and i32 {lane}, 31")
        differ = ""
        for value in self._storing:
            if value.uniform:
                continue
            bits = value if value.type[0] == "i" else self.bitcast(f"i{BITS[value.type]}", value)
            ty = LLVM[bits.type]
            first = t.splat(ty, t.let(f"extractelement <{W} x {ty}> {bits.text}, i32 {lane}"))
            ne = t.let(f"bitcast <{W} x i1> {t.let(f'icmp ne <{W} x {ty}> {bits.text}, {first}')} to i32")
            differ = t.let(f"or i32 {differ}, {ne}") if differ else ne
        if not differ:
            return
        lanes = t.let(f"and i32 {differ}, {self.mask_bits}")
        bad, on = t.label("bad"), t.label("on")
        known = t.let(f"icmp ne ptr {race}, null")
        some = t.let(f"and i1 {known}, {t.let(f'icmp ne i32 {lanes}, 0')}")
        t.do(f"br i1 {some}, label %{bad}, label %{on}")
        t.at(bad)
        self._spread(off)
        self._collided(seen, race, start, lanes)
        t.do(f"br label %{on}")
        t.at(on)

    def _collided(self, seen: Seen, race: str, start: str, lanes: str) -> None:
        """Lanes of one store have hit the same place; %addrs holds the offsets."""
        t, count = self.t, len(self._storing)
        step = seen.size // count
        for k, value in enumerate(self._storing):
            cell = t.let(f"getelementptr i8, ptr %data, i64 {k * W * step}")
            t.do(f"store <{W} x {LLVM[value.type]}> {self.vector(value)}, ptr {cell}, align 32")
        t.do(
            f"call void @race.collided(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, i32 {lanes}, ptr {race}, "
            f"ptr %addrs, i64 {seen.offset}, i64 {start}, ptr %data, i64 {step}, i64 {count}, i64 {seen.code.index})"
        )

    def _observe_lanes(self, seen: Seen) -> None:
        """32 addresses."""
        t, group, code = self.t, seen.group, seen.code
        members = self._segment(seen)
        mixed = group.site in self._mixed_addresses
        if not members and not mixed:
            return
        end = t.label("end")
        if mixed:
            each, near = t.label("each"), t.label("near")
            t.do(f"br i1 {t.let(f'icmp eq i32 {group.pattern}, 3')}, label %{each}, label %{near}, {COLD}")
            t.at(each)
            t.do(f"store <{W} x i64> {self._mixed_addresses[group.site]}, ptr %addrs, align 64")
            self._each(seen.offset, seen.size, code, int(seen.write))
            t.do(f"br label %{end}")
            t.at(near)
        if members:
            self._near(seen, members)
        t.do(f"br label %{end}")
        t.at(end)

    def _near(self, seen: Seen, members: list[tuple[int, int, int]]) -> None:
        """32 addresses in one allocation."""
        t, group = self.t, seen.group
        race, stride, start, written = self._roots[id(group)]
        t.do(f"store <{W} x i32> {group.offsets}, ptr %addrs, align 64")
        if self.race:
            pieces, rows = self._pieces(members), self._members(members)
            lanes = t.let(
                f"call i32 @race.group(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr {race}, i64 {stride}, "
                f"ptr %addrs, i32 {group.pattern}, i64 {start}, ptr {pieces}, ptr {rows}, i1 {int(seen.write)})"
            )
            if seen.write:
                bad, on = t.label("bad"), t.label("on")
                t.do(f"br i1 {t.let(f'icmp eq i32 {lanes}, 0')}, label %{on}, label %{bad}, {COLD}")
                t.at(bad)
                self._collided(seen, race, start, lanes)
                t.do(f"br label %{on}")
                t.at(on)
        if self.init and not seen.write:
            look, bad, on = t.label("look"), t.label("bad"), t.label("on")
            t.do(f"br i1 {t.let(f'icmp ne ptr {written}, null')}, label %{look}, label %{on}")
            t.at(look)
            good = t.let(
                f"call i1 @init.group(i32 {self.mask_bits}, ptr {written}, ptr %addrs, i32 {group.pattern}, "
                f"ptr {self._ranges(members)}, ptr {self._members(members)})"
            )
            t.do(f"br i1 {good}, label %{on}, label %{bad}, {COLD}")
            t.at(bad)
            self._report(written, start, members)
            t.do(f"br label %{on}")
            t.at(on)
        elif self.init and seen.code.space == "shared":
            t.do(
                f"call void @init.mark(i32 {self.mask_bits}, ptr %init.shared, ptr %addrs, i32 {group.pattern}, "
                f"i64 {seen.offset}, i64 {seen.size})"
            )

    def _report(self, written: str, start: str, members: list[tuple[int, int, int]]) -> None:
        self.t.do(
            f"call void @init.report(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr {written}, ptr %addrs, "
            f"i64 {start}, ptr {self._members(members)})"
        )

    def _each(self, extra: int, size: int, code: Code, kind: int) -> None:
        """The addresses in %addrs, lane by lane. kind: 0 reads, 1 writes, 2 does both."""
        flags = rules.strong(code) << races.STRONG
        self.t.do(
            f"call void @check.each(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, ptr %addrs, i64 {extra}, "
            f"i64 {size}, i64 {size.bit_length() - 1}, i32 {S.SPACES[code.space]}, i32 {kind}, i64 {code.index}, "
            f"i64 {flags})"
        )

    def atom(self, i: Form, address: Address, *values: Any) -> Value:
        if self.race and rules.releases(self.code):
            self.t.do("call void @race.fence(ptr %ctx, ptr %cta, ptr %ws)")
        base = address.base if address.base.type == "i64" else self.zext("i64", address.base)
        at = self.vector(self.add(base, self.const("i64", address.offset)))
        self.t.do(f"store <{W} x i64> {at}, ptr %addrs, align 64")
        self._each(0, types.width(i.type) // 8 * (int(i.vec[1:]) if i.vec else 1), self.code, 2)
        old: Value = super().atom(i, address, *values)
        if self.race:
            self.t.do("call void @race.acquire(ptr %ctx, ptr %cta, ptr %ws)")
        return old

    # -- segments ------------------------------------------------------------------------------------------------------

    def _segment(self, seen: Seen) -> list[tuple[int, int, int]]:
        """The accesses that are looked at here: code index, offset from the group's address, bytes. None where an
        earlier one has been looked at for this one as well."""
        code, group = seen.code, seen.group
        covered = self._covered[id(group)]
        if code.index in covered:
            return []
        found = [(code.index, seen.offset, seen.size)]
        if not seen.write and not rules.strong(code) and code.guard is None:
            mine = {index for index, _, _ in group.members}
            for other in self.program.codes[code.index + 1 : self.program.blocks[code.block].last]:
                if other.index in mine and other.name != "st" and not rules.strong(other):
                    found.append((other.index, offset_of(other) - group.low, access_shape(other)[2]))
                elif _cuts(other):
                    break
        covered |= {index for index, _, _ in found}
        return found

    def _listed(self, rows: list[int]) -> str:
        name = f"@checked.{'slow' if self.slow else 'fast'}.{len(self.tables)}"
        listed = ", ".join(f"i64 {x}" for x in rows)
        self.tables.append(f"{name} = internal constant [{len(rows)} x i64] [{listed}], align 64")
        return name

    def _flags(self, index: int) -> int:
        return index << races.CODE | rules.strong(self.program.codes[index]) << races.STRONG

    def _members(self, members: list[tuple[int, int, int]]) -> str:
        rows = [len(members)]
        for index, offset, size in members:
            rows += [offset, size, self._flags(index)]
        return self._listed(rows)

    def _pieces(self, members: list[tuple[int, int, int]]) -> str:
        grain = races.granule(self.program)
        words: dict[int, int] = {}
        for index, offset, size in members:
            for word in range(offset // grain, -(-(offset + size) // grain)):
                words.setdefault(word, self._flags(index))
        runs = _runs(sorted(words))
        rows = [len(runs)]
        for first, last in runs:
            codes = [words[k] for k in range(first, last)]
            rows += [first * grain, last - first, *codes, *[0] * (-len(codes) % 8)]
        return self._listed(rows)

    def _ranges(self, members: list[tuple[int, int, int]]) -> str:
        covered = {byte for _, offset, size in members for byte in range(offset, offset + size)}
        runs = _runs(sorted(covered))
        return self._listed([len(runs), *[x for first, last in runs for x in (first, last - first)]])

    # -- what orders threads -------------------------------------------------------------------------------------------

    def plain(self, code: Code) -> None:
        if self.race and code.name in ("fence", "membar", "mbarrier"):
            self._if_any(["call void @race.fence(ptr %ctx, ptr %cta, ptr %ws)",
                          "call void @race.acquire(ptr %ctx, ptr %cta, ptr %ws)"])  # fmt: skip
        elif rules.meets(code):
            self._meeting(code)
        super().plain(code)

    def _offer(self, block: Block, code: Code) -> None:
        self._meeting(code)
        super()._offer(block, code)  # type: ignore[misc]

    def _if_any(self, lines: list[str]) -> None:
        """Instructions to be run if any lane executes this one."""
        t = self.t
        if self.code.guard is None:
            for line in lines:
                t.do(line)
            return
        some, on = t.label("some"), t.label("on")
        t.do(f"br i1 {t.let(f'icmp eq i32 {self.mask_bits}, 0')}, label %{on}, label %{some}")
        t.at(some)
        for line in lines:
            t.do(line)
        t.do(f"br label %{on}")
        t.at(on)

    def _meeting(self, code: Code) -> None:
        """Lanes of a warp come to an instruction that they meet at."""
        form = code.form
        assert form is not None
        if self.race:
            self._if_any(["call void @race.together(ptr %cta, ptr %ws)"])
        if not self.sync or form.op.kind == "warp":
            return
        specs = [s.name for s in form.op.operands if s.role != "dst"]
        at = specs.index("membermask")
        if code.sources[at] is None:
            return
        members = self._read(code.sources[at], "b32")
        self.t.do(
            f"call void @sync.members(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, <{W} x i32> "
            f"{self.vector(members)}, i64 {code.index})"
        )
        if code.name == "shfl":
            self._shuffle(code, members)

    def _shuffle(self, code: Code, members: Value) -> None:
        """As `shuffle_source` of the stepping engine's checks."""
        form = code.form
        assert form is not None
        b, c = (self._read(code.sources[k], code.source_types[k]) for k in (1, 2))
        low = self.const("i32", 31)
        lane, by, last = self.lane_id(), self.and_(b, low), self.and_(c, low)
        segment = self.and_(self.lshr(c, self.const("i32", 8)), low)
        free = self.not_(segment)
        lowest = self.and_(lane, segment)
        highest = self.or_(lowest, self.and_(last, free))
        if form.mode == "up":
            source = self.sub(lane, by)
            inside = self.sle(highest, source)
        elif form.mode == "down":
            source = self.add(lane, by)
            inside = self.sle(source, highest)
        else:
            source = self.xor(lane, by) if form.mode == "bfly" else self.or_(lowest, self.and_(by, free))
            inside = self.sle(source, highest)
        if form.mode == "idx" and (len(code.dests) < 2 or code.dests[1] is None):
            self._noted(self.not_(inside), self.or_(source, self.shl(highest, self.const("i32", 16))), F.RANGE)
        live = Value(self.t.let("load i32, ptr %live.at"), "i32", True)
        there = self.and_(self.lshr(self.and_(members, live), self.and_(source, low)), self.const("i32", 1))
        alone = self.and_(self.eq(there, self.const("i32", 0)), self.ne(source, lane))
        self._noted(self.and_(alone, inside), source, F.SOURCE)

    def _noted(self, wrong: Value, numbers: Value, kind: int) -> None:
        t = self.t
        bits = t.let(f"bitcast <{W} x i1> {self.vector(wrong)} to i32")
        bad = t.let(f"and i32 {bits}, {self.mask_bits}")
        t.do(
            f"call void @sync.shuffle(ptr %ctx, ptr %cta, ptr %ws, i32 {bad}, <{W} x i32> {self.vector(numbers)}, "
            f"i64 {kind}, i64 {self.code.index})"
        )

    # -- barriers ------------------------------------------------------------------------------------------------------

    def _barrier(self, block: Block, code: Code) -> None:
        if self.sync:
            given = [(s, ty) for s, ty in zip(code.sources, code.source_types, strict=True) if s is not None]
            if "red" in rules.words_of(code):
                given.pop()
            numbers = [self._first(self._read(s, "u32")) for s, _ in given]
            count = numbers[1] if len(numbers) > 1 else "0"
            here = self.pc(block.index) + 2 * (code.index - block.first) if self.slow else 0
            self.t.do(
                f"call void @sync.barrier(ptr %ctx, ptr %cta, ptr %ws, i32 {self.mask_bits}, i32 {numbers[0]}, "
                f"i32 {count}, i64 {code.index}, i32 {int(rules.aligned(code))}, i32 {here}, "
                f"i32 {self.pc(block.next)}, ptr @homes)"
            )
        super()._barrier(block, code)

    def _arrive(self, offset: str) -> None:
        if self.race:
            barrier = self.t.let(f"lshr i64 {offset}, 2")
            self.t.do(f"call void @race.arrived(ptr %cta, ptr %ws, i64 {barrier})")
        super()._arrive(offset)


def _cuts(code: Code) -> bool:
    """Whether accesses behind this instruction are not looked at in front of it: it may order threads, or it writes."""
    if code.name in ("ld", "ldu"):
        return rules.strong(code)
    if code.name == "st":
        return code.space not in ("param", "local", "frame")
    if code.form is None:
        return False
    return code.form.op.kind in ("flow", "none", "async", "warp") or code.name in ("atom", "red") or rules.meets(code)


def _runs(sorted_numbers: list[int]) -> list[tuple[int, int]]:
    """Stretches (first, behind the last) of numbers that follow each other."""
    runs: list[tuple[int, int]] = []
    for n in sorted_numbers:
        if runs and runs[-1][1] == n:
            runs[-1] = runs[-1][0], n + 1
        else:
            runs.append((n, n + 1))
    return runs


def checking(checks: frozenset[str]) -> type[Checking]:
    """The mixin for these checks."""
    wanted = {f"{c}": f"{c}check" in checks for c in ("init", "race", "sync")}
    return type("Checking", (Checking,), wanted)


# -- the helpers -------------------------------------------------------------------------------------------------------


def check_helpers(program: Program, checks: frozenset[str]) -> str:
    """The LLVM functions that checked code calls."""
    grain = races.granule(program)
    homes = ", ".join(f"i32 {home}" for home in rules.routines(program))
    names = ("UNINITIALISED", "RAW", "WAR", "WAW", "SAME", "DIVERGENT", "EXITED", "COUNTS", "OMITTED", "GONE_LANE")
    values: dict[str, object] = dict(shadows.CONSTANTS) | {name: getattr(F, name) for name in names}
    values |= {
        "ONE_TICK": 1 << races.TIME, "LOG_GRANULE": grain.bit_length() - 1,
        "SYNCHECK": "true" if "synccheck" in checks else "false",
        "INITCHECK": "true" if "initcheck" in checks else "false",
        "FALLING": _vector("i32", range(W - 1, -1, -1)), "FALLING64": _vector("i64", range(W - 1, -1, -1)),
        "BITS": _vector("i32", (1 << k for k in range(W))), "FINE8": _fine("wr", 8), "FINE8_Q": _fine("q", 8),
        "FINE32": _fine("wrq", W),
    }  # fmt: skip
    for width, splats in ((8, _SPLATS_8), (W, _SPLATS_32)):
        for name, kind in splats:
            values[f"SPLAT{width}_{name}v_{kind}_{name}"] = _splat(width, name, kind)
    heads = [
        "@race.zeros = internal constant [8 x i64] zeroinitializer, align 64",
        f"@homes = internal constant [{len(program.codes)} x i32] [{homes}]",
    ]
    return "\n".join([*heads, fill("races.ll", **values), fill("checking.ll", **values)])


_SPLATS_8 = (("low", "i64"), ("span", "i64"), ("me", "i64"), ("shift", "i64"), ("simple", "i1"), ("write", "i1"),
             ("left", "i64"), ("i", "i64"))  # fmt: skip
_SPLATS_32 = (("low", "i64"), ("span", "i64"), ("me", "i64"), ("at", "i64"), ("simple", "i1"), ("code", "i64"),
              ("k", "i64"))  # fmt: skip


def _vector(kind: str, numbers: Any) -> str:
    return "<" + ", ".join(f"{kind} {n}" for n in numbers) + ">"


def _splat(width: int, name: str, kind: str) -> str:
    """`%<name>v`: a vector of `%<name>`."""
    vec = f"<{width} x {kind}>"
    return (
        f"%{name}v0 = insertelement {vec} poison, {kind} %{name}, i64 0\n"
        f"  %{name}v = shufflevector {vec} %{name}v0, {vec} poison, <{width} x i32> zeroinitializer"
    )


def _fine(records: str, width: int) -> str:
    """`%w.f` of `%w` and so on: which records a barrier of all has ordered, or are empty, or are the lane's own."""
    vec, out = f"<{width} x i64>", []
    own = (0xFFFF << races.BLOCK | 0x7FF) - (1 << 64)
    for x in records:
        out += [
            f"%{x}.since = sub {vec} %{x}, %lowv", f"%{x}.old = icmp ult {vec} %{x}.since, %spanv",
            f"%{x}.none = icmp eq {vec} %{x}, zeroinitializer", f"%{x}.diff = xor {vec} %{x}, %me{width}",
            f"%{x}.id = and {vec} %{x}.diff, splat (i64 {own})",
            f"%{x}.own = icmp eq {vec} %{x}.id, zeroinitializer",
            f"%{x}.f0 = or <{width} x i1> %{x}.old, %{x}.none", f"%{x}.f = or <{width} x i1> %{x}.f0, %{x}.own",
        ]  # fmt: skip
    return "\n".join(f"  {line}" for line in out)

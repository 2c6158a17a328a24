"""Data exchange between lanes of a warp: shuffles, votes, matches, warp-wide reductions, the active mask."""

from __future__ import annotations

from ptxlab.isa import types
from ptxlab.isa.actions import Action
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.table import Form, op

MODES = ("up", "down", "bfly", "idx")
_MODE_NOTES = {
    "up": "From the lane b below: prefix sums.",
    "down": "From the lane b above: reductions to lane 0.",
    "bfly": "From the lane whose number differs in the bits of b: reductions that every lane gets.",
    "idx": "From lane b: broadcasts.",
}


def _shfl(m: Machine, i: Form, a: Value, b: Value, c: Value, membermask: Value | None = None) -> tuple[Value, Value]:
    lane, low5 = m.lane_id(), m.const("i32", 31)
    b, clamp = m.and_(b, low5), m.and_(c, low5)
    segment = m.and_(m.lshr(c, m.const("i32", 8)), low5)
    outside = m.not_(segment)
    least = m.and_(lane, segment)
    most = m.or_(least, m.and_(clamp, outside))
    if i.mode == "up":
        j = m.sub(lane, b)
        valid = m.sle(most, j)
    elif i.mode == "down":
        j = m.add(lane, b)
        valid = m.sle(j, most)
    else:
        j = m.xor(lane, b) if i.mode == "bfly" else m.or_(least, m.and_(b, outside))
        valid = m.select(m.eq(most, low5), m.const("i1", 1), m.sle(j, most))  # true of a constant c of a whole warp
    j = m.select(valid, j, lane)
    return m.lane_read(a, m.and_(j, low5)), valid


_SHFL = """Every lane reads a register of another lane of its warp: no memory, no barrier. Five of these, each followed
   by an addition, sum a row that is spread over a warp. c packs the last legal lane (0x1f: all 32) and a segment mask;
   p says whether the source lane was legal."""
op("shfl.sync.mode.b32  d|p:pred, a, b:b32, c:b32, membermask:b32", _SHFL + " All lanes in the mask must take part.",
   _shfl, does=Action.SHUFFLE, mode=MODES, version=(6, 0), sm=30, notes=_MODE_NOTES)  # fmt: skip
op("shfl.mode.b32  d|p:pred, a, b:b32, c:b32", _SHFL + " This form without `.sync` ended with sm_70.", _shfl,
   does=Action.SHUFFLE, mode=MODES, version=(3, 0), sm=30, ended=((6, 4), 70), notes=_MODE_NOTES)  # fmt: skip

# -- votes -------------------------------------------------------------------------------------------------------------


def _members(m: Machine, membermask: Value | None) -> Value:
    """i32: the lanes that take part. Groups with masks of their own (tiles of a warp) may execute at the same time."""
    active = m.ballot(m.active())
    return active if membermask is None else m.and_(active, membermask)


def _vote(m: Machine, i: Form, a: Value, membermask: Value | None = None) -> Value:
    yes = m.ballot(a)
    if membermask is not None:
        yes = m.and_(yes, membermask)
    if i.mode == "ballot":
        return yes
    zero, all_ = m.const("i32", 0), _members(m, membermask)
    if i.mode == "any":
        return m.ne(yes, zero)
    if i.mode == "all":
        return m.eq(yes, all_)
    return m.or_(m.eq(yes, zero), m.eq(yes, all_))


_VOTE_NOTES = {
    "all": "True where every lane says yes.",
    "any": "True where at least one lane says yes.",
    "uni": "True where all lanes say the same.",
}
_VOTE = """Every lane says yes or no and all of them learn the outcome. A warp skips a fully masked tile together
   after one of these."""
_BALLOT = """Every lane says yes or no and all of them get the 32 answers as the bits of one register."""
# fmt: off
op("vote.sync.mode.pred  p, {!}a, membermask:b32", _VOTE, _vote, does=Action.VOTE, mode=("all", "any", "uni"),
   version=(6, 0), sm=30, notes=_VOTE_NOTES)
op("vote.sync.ballot.b32  d, {!}a:pred, membermask:b32", _BALLOT, _vote, does=Action.VOTE, fixed={"mode": "ballot"},
   version=(6, 0), sm=30)
op("vote.mode.pred  p, {!}a", _VOTE + " This form without `.sync` ended with sm_70.", _vote, does=Action.VOTE,
   mode=("all", "any", "uni"), version=(1, 2), sm=12, ended=((6, 4), 70), notes=_VOTE_NOTES)
op("vote.ballot.b32  d, {!}a:pred", _BALLOT + " This form without `.sync` ended with sm_70.", _vote, does=Action.VOTE,
   fixed={"mode": "ballot"}, version=(2, 0), sm=20, ended=((6, 4), 70))
op("activemask.b32  d", """The active mask: the lanes that execute this instruction, one bit for each. It says which
   lanes happen to be converged here: masks for `.sync` must come from the algorithm.""",
   lambda m, i: m.ballot(m.active()),
   does=Action.ACTIVE_MASK, version=(6, 2), sm=30)
# fmt: on

# -- match, redux, elect -----------------------------------------------------------------------------------------------


def _match_any(m: Machine, i: Form, a: Value, membermask: Value) -> Value:
    lane, d = m.lane_id(), m.const("i32", 0)
    for k in range(32):
        number = m.const("i32", k)
        same = m.ballot(m.eq(a, m.lane_read(a, number)))
        d = m.select(m.eq(lane, number), same, d)
    return m.and_(d, membermask)


def _first(m: Machine, members: Value) -> Value:
    """i32: the lowest of the lanes that take part."""
    return m.clz(m.brev(members))


def _match_all(m: Machine, i: Form, a: Value, membermask: Value) -> tuple[Value, Value]:
    members, zero = _members(m, membermask), m.const("i32", 0)
    first = m.and_(_first(m, members), m.const("i32", 31))
    differ = m.ballot(m.not_(m.eq(a, m.lane_read(a, first))))
    agree = m.eq(m.and_(differ, members), zero)
    return m.select(agree, members, zero), agree


op("match.any.sync.type  d:b32, a, membermask:b32", """Each lane gets the mask of the lanes that hold the same value as
   it does: grouping by key without sorting.""", _match_any, does=Action.MATCH, type=("b32", "b64"), version=(6, 0),
   sm=70)  # fmt: skip
op("match.all.sync.type  d:b32|p:pred, a, membermask:b32", """Asks whether all lanes hold the same value: d is the
   member mask if so, else 0.""", _match_all, does=Action.MATCH, type=("b32", "b64"), version=(6, 0),
   sm=70)  # fmt: skip


def _redux(m: Machine, i: Form, a: Value, membermask: Value) -> Value:
    signed = types.is_signed(i.type)
    call, identity = {
        "add": (m.add, 0),
        "and": (m.and_, -1),
        "or": (m.or_, 0),
        "xor": (m.xor, 0),
        "min": (m.smin, 0x7FFFFFFF) if signed else (m.umin, 0xFFFFFFFF),
        "max": (m.smax, 0x80000000) if signed else (m.umax, 0),
    }[i.operation]
    members, neutral = _members(m, membermask), m.const("i32", identity)
    d = neutral
    for k in range(32):
        number = m.const("i32", k)
        there = m.ne(m.and_(members, m.const("i32", 1 << k)), m.const("i32", 0))
        d = call(d, m.select(there, m.lane_read(a, number), neutral))
    return d


_REDUX = """Combines one value of every lane, in one instruction; all lanes get the result. It replaces five
   shuffles, for 32-bit integers."""
op("redux.sync.operation.type  d, a, membermask:b32", _REDUX, _redux, does=Action.REDUCE_LANES,
   operation=("add", "min", "max"),
   type=("u32", "s32"), version=(7, 0), sm=80)  # fmt: skip
op("redux.sync.operation.b32  d, a, membermask:b32", _REDUX, _redux, does=Action.REDUCE_LANES,
   operation=("and", "or", "xor"),
   version=(7, 0), sm=80)  # fmt: skip


def _redux_float(m: Machine, i: Form, a: Value, membermask: Value) -> Value:
    """As min and max of two: -0 is below +0, and NaN counts only with `.NaN`; all NaN is the canonical one."""
    a = m.fabs(a) if i.abs else a
    bits = m.bitcast("i32", a)
    # integers in the order of the numbers
    key = m.xor(bits, m.lshr(m.ashr(bits, m.const("i32", 31)), m.const("i32", 1)))
    least = i.operation == "min"
    neutral = m.const("i32", 0x7FFFFFFF if least else 0x80000000)
    key = m.select(m.isnan(a), neutral, key)
    members, d, some_nan = _members(m, membermask), neutral, m.const("i1", 0)
    for k in range(32):
        number = m.const("i32", k)
        there = m.ne(m.and_(members, m.const("i32", 1 << k)), m.const("i32", 0))
        d = m.select(there, (m.smin if least else m.smax)(d, m.lane_read(key, number)), d)
        some_nan = m.or_(some_nan, m.and_(there, m.lane_read(m.isnan(a), number)))
    nothing = m.eq(d, neutral)
    d = m.xor(d, m.lshr(m.ashr(d, m.const("i32", 31)), m.const("i32", 1)))
    d = m.select(m.or_(nothing, some_nan) if i.NaN else nothing, m.const("i32", 0x7FFFFFFF), d)
    return m.bitcast("f32", d)


op("redux.sync.operation{.abs}{.NaN}.f32  d, a, membermask:b32", """The smallest or largest f32 of a warp in one
   instruction (sm_100a): the running maximum of a row.""", _redux_float, does=Action.REDUCE_LANES,
   operation=("min", "max"),
   version=(8, 6), sm=100, specific=True)  # fmt: skip


def _elect(m: Machine, i: Form, membermask: Value) -> tuple[Value, Value]:
    leader = _first(m, _members(m, membermask))
    return leader, m.eq(m.lane_id(), leader)


op("elect.sync  d:b32|p:pred, membermask:b32", """Picks one lane of the mask, the leader: p is true there only. Bulk
   copies and tensor-core instructions of Hopper are started by one thread of a warp.""", _elect, does=Action.ELECT,
   version=(8, 0), sm=90)  # fmt: skip
op("bar.warp.sync  membermask:b32", """Waits for the lanes in the mask, and makes their earlier writes visible to each
   other: the barrier between writing and reading shared memory inside one warp.""", does=Action.WARP_BARRIER,
   loose=True, version=(6, 0), sm=30)  # fmt: skip

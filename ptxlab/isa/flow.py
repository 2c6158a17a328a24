"""Control flow: branches, calls, exits, barriers, and instructions that only time or trace. The engines run these."""

from __future__ import annotations

from ptxlab.isa import mbarrier
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.table import op

op("bra{.uni}  target:label", """Jumps to a label. If lanes of a warp disagree about the jump, the warp is diverged: its
   groups of lanes run one after the other until they reconverge. `.uni` promises that all lanes agree.""",
   does=Action.BRANCH)  # fmt: skip
op("brx.idx{.uni}  index:u32, table:label", """Jumps to the label that `index` selects from a `.branchtargets` list: a
   switch.""", does=Action.INDEXED_BRANCH, loose=True, version=(6, 0), sm=30)  # fmt: skip
op("call{.uni}  callee:any{, a:any}{, b:any}{, c:any}", """Calls a function: `call (result), name, (arguments);`.
   Functions are mostly inlined; `vprintf` and `__assertfail` are the calls that remain.""",
   does=Action.CALL, loose=True)  # fmt: skip
op("ret{.uni}", """Returns from a function; in a kernel it ends the thread. Barriers do not wait for exited threads.""",
   does=Action.RETURN)  # fmt: skip
op("exit", """Ends the thread.""", does=Action.EXIT)
op("trap", """Stops the kernel with an error.""", does=Action.TRAP)
op("brkpt", """Stops for a debugger. Without one the kernel ends with an error.""", does=Action.TRAP, version=(1, 0),
   sm=11)  # fmt: skip

op("alloca.type  d, a{, align:int}", """Takes a bytes from the thread's stack, aligned to 8 or to `align`, and gives
   their address in local memory; the function's return gives them back.""", does=Action.STACK_ALLOCATE,
   type=("u32", "u64"),
   version=(7, 3), sm=52)  # fmt: skip
op("stacksave.type  d", """Remembers how much of the thread's stack is taken.""", does=Action.STACK_SAVE,
   type=("u32", "u64"),
   version=(7, 3), sm=52)  # fmt: skip
op("stackrestore.type  a", """Gives back what was taken from the thread's stack since `stacksave`.""",
   does=Action.STACK_RESTORE, type=("u32", "u64"), version=(7, 3), sm=52)  # fmt: skip

# -- barriers of a block -----------------------------------------------------------------------------------------------

_SYNC = """Waits until all threads of the block (or b threads, a multiple of 32) have come here, and makes their
   earlier memory accesses visible to each other. A kernel needs one between filling a shared-memory tile and reading
   it, and another between reading it and filling it again."""
_ARRIVE = """Says that this thread has come to barrier a, and goes on: a producer warp tells consumers that a tile is
   ready."""
_RED = """A barrier that also asks every thread a yes-or-no question and tells all of them the outcome: {}."""
_NEEDS = {"cta": ((7, 8), 0)}
for _name, _version, _sm, _aligned in (("bar", (2, 0), 20, ""), ("barrier", (6, 0), 30, "{.aligned}")):
    op(f"{_name}{{.cta}}.sync{_aligned}  a:u32{{, b:u32}}", _SYNC, does=Action.BARRIER, loose=True, needs=_NEEDS,
       version=(1, 0) if _name == "bar" else _version, sm=0 if _name == "bar" else _sm)  # fmt: skip
    op(f"{_name}{{.cta}}.arrive{_aligned}  a:u32, b:u32", _ARRIVE, does=Action.BARRIER, loose=True, needs=_NEEDS,
       version=_version, sm=_sm)  # fmt: skip
    # the thread count comes before the predicate and may be missing, so the three operands are matched by kind
    op(f"{_name}{{.cta}}.red.operation{_aligned}.u32  d, a:u32, b:any{{, {{!}}c:pred}}",
       _RED.format("how many said yes"), does=Action.BARRIER, loose=True, needs=_NEEDS, operation=("popc",),
       version=_version, sm=_sm)  # fmt: skip
    op(f"{_name}{{.cta}}.red.operation{_aligned}.pred  p, a:u32, b:any{{, {{!}}c:pred}}", _RED.format("all, or any"),
       does=Action.BARRIER, loose=True, needs=_NEEDS, operation=("and", "or"), version=_version, sm=_sm)  # fmt: skip

# -- clusters ----------------------------------------------------------------------------------------------------------

op("barrier.cluster.arrive{.order}{.aligned}", """Says that this thread has come to the barrier of its cluster, and goes
   on. What it did before can be seen by those who wait, unless the arrival is `.relaxed`.""",
   order=("release", "relaxed"), version=(7, 8), sm=90, does=Action.CLUSTER_BARRIER, loose=True,
   needs={"release": ((8, 0), 90), "relaxed": ((8, 0), 90)})  # fmt: skip
op("barrier.cluster.wait{.order}{.aligned}", """Waits until all threads of the cluster that have not exited have
   arrived. A thread must have arrived before it waits.""",
   order=("acquire",), version=(7, 8), sm=90, does=Action.CLUSTER_BARRIER, loose=True,
   needs={"acquire": ((8, 0), 90)})  # fmt: skip

# -- time and bookkeeping ----------------------------------------------------------------------------------------------

op("nanosleep.u32  t:u32", """Sleeps for about t nanoseconds: what a spinning thread should do between looks.""",
   does=Action.SLEEP, version=(6, 3), sm=70)  # fmt: skip
op("griddepcontrol.action", """Programmatic dependent launch: lets the next kernel of the stream start before this one
   has ended, if it was launched that way; or waits until the kernel before has ended and its writes are visible. The
   emulator starts a launch when the one before has ended, so there it does nothing.""",
   does=Action.NOTHING, action=("launch_dependents", "wait"), version=(7, 8), sm=90)  # fmt: skip
op("setmaxnreg.action.sync.aligned.u32  count:int", """Moves registers between warpgroups while the kernel runs: the
   producer warpgroup of a Hopper attention kernel gives its own to the consumers.""", does=Action.NOTHING,
   action=("inc", "dec"),
   notes={"inc": "Takes registers, until each thread of the warp has `count`, and waits until that many are free.",
          "dec": "Gives registers back, so that each thread of the warp keeps `count`."},
   version=(8, 0), sm=90, specific=True)  # fmt: skip
op("pmevent  a:int", """Triggers a performance-monitor event.""", does=Action.NOTHING, version=(1, 4))
op("pmevent.mask  a:int", """Triggers several performance-monitor events, one for each bit.""", does=Action.NOTHING,
   version=(3, 0), sm=20)  # fmt: skip

# -- mbarrier ----------------------------------------------------------------------------------------------------------

_MBARRIER = """A barrier object in shared memory, 8 bytes, that counts arrivals and bytes of copies, phase after phase.
   Hopper's pipelines wait on them; so does `cuda::barrier`."""
_SHARED, _CLUSTER = ("shared", "shared::cta"), ("shared", "shared::cta", "shared::cluster")


def _mbarrier(
    what: str, operands: str, does: Action, version: tuple[int, int], sm: int, orders: tuple[str, ...] = ()
) -> None:
    """An mbarrier operation, and the same with an explicit order and scope where it has one."""
    spaces = _CLUSTER if "arrive" in what or "_tx" in what else _SHARED
    op(f"mbarrier.{what}{{.space}}.b64  {operands}", _MBARRIER, space=spaces,
       does=does, group=AsyncGroup.MBARRIER, version=version, sm=sm)  # fmt: skip
    if orders:
        op(f"mbarrier.{what}.order.scope{{.space}}.b64  {operands}", _MBARRIER, order=orders, scope=("cta", "cluster"),
           space=spaces, does=does, group=AsyncGroup.MBARRIER, version=max(version, (8, 0)), sm=sm,
           needs={"relaxed": ((8, 0) if "_tx" in what and "arrive" not in what else (8, 6), 90)})  # fmt: skip


_mbarrier("init", "[a], count:u32", Action.MBARRIER_INIT, (7, 0), 80)
_mbarrier("inval", "[a]", Action.MBARRIER_INVALIDATE, (7, 0), 80)
for _what in ("arrive", "arrive_drop"):
    _arrive, _orders = Action.MBARRIER_ARRIVE, ("release", "relaxed")
    _mbarrier(_what, "d, [a]{, count:u32}", _arrive, (7, 0), 80, _orders)
    _mbarrier(f"{_what}.expect_tx", "d, [a], bytes:u32", _arrive, (8, 0), 90, _orders)
    _mbarrier(f"{_what}.noComplete", "d, [a], count:u32", _arrive, (7, 0), 80)
    _mbarrier(f"{_what}.noComplete.release.cta", "d, [a], count:u32", _arrive, (8, 0), 80)
for _what in ("expect_tx", "complete_tx"):
    _mbarrier(_what, "[a], bytes:u32", Action.MBARRIER_COUNT_BYTES, (8, 0), 90, ("relaxed",))
for _what, _waits, _version, _sm in (
    ("test_wait", Action.MBARRIER_TEST, (7, 0), 80),
    ("try_wait", Action.MBARRIER_WAIT, (7, 8), 90),
):
    _orders = ("acquire", "relaxed")
    _mbarrier(_what, "p:pred, [a], state:b64{, hint:u32}", _waits, _version, _sm, _orders)
    _mbarrier(f"{_what}.parity", "p:pred, [a], parity:u32{, hint:u32}", _waits, max(_version, (7, 1)), _sm, _orders)
op("mbarrier.pending_count.b64  d:u32, state:b64", """How many arrivals a phase was still waiting for, read from the
   state that an arrival returned.""",
   lambda m, i, state: m.trunc("i32", m.and_(state, m.const("i64", mbarrier.COUNT))),
   version=(7, 0), sm=80, does=Action.COUNT_PENDING)  # fmt: skip

"""What is known of an instruction: the action of its table entry, and what follows from its modifiers.

    form("ld.acquire.gpu.global.f32").properties.loads      # True
    form("bar.sync").properties.action is Action.BARRIER

Each table entry names its `Action` (`does=`). Engines, checks, counters and tools ask `form.properties` and never the
opcode's text, so that a new instruction is taught to all of them by its entry.
"""

from __future__ import annotations

from typing import NamedTuple

from ptxlab.isa.accesses import Access, accesses_of
from ptxlab.isa.actions import ATOMICS, MBARRIER, SAMPLERS, Action, AsyncGroup
from ptxlab.isa.entries import Opcode
from ptxlab.isa.work import NO_WORK, Work, work_of

_JUMPS = frozenset({Action.BRANCH, Action.INDEXED_BRANCH, Action.CALL, Action.RETURN})
_STRONG_WORDS = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
_POLLING_WORDS = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_RELEASE_WORDS, _ACQUIRE_WORDS = frozenset({"release", "acq_rel"}), frozenset({"acquire", "acq_rel"})
_SCOPES = frozenset({"cta", "cluster", "gpu", "sys"})
_WAITS = frozenset({Action.WAIT_GROUP, Action.WAIT_ALL, Action.MBARRIER_WAIT})
_WIDER = frozenset(
    {Action.LOAD, Action.STORE, Action.CONVERT, Action.LOAD_SURFACE, Action.STORE_SURFACE, Action.REDUCE_SURFACE}
)
_ORDERING_KINDS = ("flow", "none", "async")
_SCALAR_MEMORY = ATOMICS | {Action.LOAD, Action.STORE}


class Properties(NamedTuple):
    """What is known of every instruction with one dotted opcode.

    loads, stores: whether it reads or writes memory (an atomic operation does both). space: the state space of its
    address, "generic" where the opcode names none, "cluster" of `.shared::cluster`, "" where there is no address; of a
    copy the one that it writes. accesses: what it does at which of its addresses, to how many bytes.
    strong: whether the access may not race with another strong one (PTX calls accesses "strong" that are atomic,
    volatile or ordered). releases, acquires: whether it orders what its thread did before, or does later; a fence does
    both, and what mbarriers order follows from their phases. scope: the threads among which a fence orders memory and a
    strong access is strong ("cta", "cluster", "gpu", "sys"), "" for what has none; where the opcode names none it is
    "gpu" of an atomic operation, "sys" of a volatile access (PTX ISA, atom and ld.volatile). polls: whether a loop
    around it may be one that waits for another thread. converges: whether lanes of a warp wait for each other at it.
    aligned: whether the warp must be converged at it. jumps: whether a warp may diverge at it (a `ret` of a kernel ends
    its threads instead). ends_block: whether a basic block ends after it. falls_through: whether the next instruction
    may follow if no guard skips it. waits: whether a thread may stop at it until others, or copies, are done. orders:
    whether later accesses must not be moved, or checked, before it. proxy: of a proxy fence, the paths to memory that
    it orders: "async", "async::generic", "alias" ... initialises: whether a fence orders only the initialisation of
    mbarriers. group: what its asynchronous operation completes by. work: its
    pipe and its floating-point operations.
    """

    action: Action
    loads: bool = False
    stores: bool = False
    space: str = ""
    accesses: tuple[Access, ...] = ()
    strong: bool = False
    releases: bool = False
    acquires: bool = False
    scope: str = ""
    polls: bool = False
    converges: bool = False
    aligned: bool = False
    jumps: bool = False
    ends_block: bool = False
    falls_through: bool = True
    waits: bool = False
    orders: bool = False
    proxy: str = ""
    initialises: bool = False
    group: AsyncGroup = AsyncGroup.NONE
    work: Work = NO_WORK

    @property
    def plain(self) -> bool:
        """Whether it is an ordinary load or store: each lane goes to an address of its own, nothing is atomic."""
        return self.action is Action.LOAD or self.action is Action.STORE

    @property
    def atomic(self) -> bool:
        """Whether it is an atomic operation on memory, with a result or without."""
        return self.action in ATOMICS

    @property
    def scalar_memory(self) -> bool:
        """Whether each lane accesses memory at an address of its own, with as many bytes as the type has."""
        return self.action in _SCALAR_MEMORY

    @property
    def barrier(self) -> bool:
        """Whether it is a barrier of the block."""
        return self.action is Action.BARRIER

    @property
    def mbarrier(self) -> bool:
        """Whether it operates on an mbarrier in memory."""
        return self.action in MBARRIER

    @property
    def product(self) -> bool:
        """Whether it multiplies matrices that lanes hold."""
        return self.action is Action.MATRIX_PRODUCT or self.action is Action.FRAGMENT_PRODUCT

    @property
    def fragment(self) -> bool:
        """Whether its matrices lie in the lanes in a layout that is not specified (wmma)."""
        return self.action in (Action.LOAD_FRAGMENT, Action.STORE_FRAGMENT, Action.FRAGMENT_PRODUCT)

    @property
    def rows(self) -> bool:
        """Whether lanes give addresses of matrix rows in shared memory (ldmatrix, stmatrix)."""
        return self.action is Action.LOAD_ROWS or self.action is Action.STORE_ROWS

    @property
    def wider_registers(self) -> bool:
        """Whether its registers may be wider than its type (PTX ISA, Operand Size Exceeding Instruction-Type Size)."""
        return self.action in _WIDER

    def pipe_in(self, space: str) -> str:
        """The pipe that runs it, of a load or store in a space as resolved: parameters and constants have their own."""
        return "adu" if self.plain and space in ("param", "const", "frame") else self.work.pipe

    @property
    def lane_copy(self) -> bool:
        """Whether each lane copies some bytes and goes on before they have arrived (`cp.async`, but not in bulk)."""
        return self.action is Action.COPY and self.group is AsyncGroup.CP_ASYNC

    @property
    def touches(self) -> str:
        """What each lane does at its address: "load", "store", "atomic", or "" where it has none or two."""
        return self.accesses[0].what if len(self.accesses) == 1 else ""


def properties_of(form: Opcode) -> Properties:
    """The properties of a form; read them as `form.properties`, which keeps them."""
    entry, action, words = form.op, form.op.does, set(form.opcode.split(".")[1:])
    kind, barrier, fence = action.kind, action is Action.BARRIER, action is Action.FENCE
    cluster = action is Action.CLUSTER_BARRIER
    mbarrier, touches = action in MBARRIER, action.touches
    addressed = any(spec.role == "addr" for spec in entry.operands)
    converges = kind == "warp" or any(spec.name == "membermask" for spec in entry.operands)
    flag = mbarrier and action not in (Action.MBARRIER_INIT, Action.MBARRIER_INVALIDATE)
    own = cluster or "local" in words  # no other thread reads or writes local memory, even if it is volatile
    strong = action in ATOMICS or flag or (bool(words & _STRONG_WORDS) and not own)
    state = (mbarrier and action is not Action.COPIES_ARRIVE) or action is Action.COUNT_PENDING
    ends = action in (Action.RETURN, Action.EXIT, Action.TRAP)
    stores = touches in ("store", "atomic", "copy")
    return Properties(
        action,
        loads=touches in ("load", "atomic", "copy"),
        stores=stores,
        space=_space_of(form) if addressed else "",
        accesses=accesses_of(form),
        strong=strong,
        releases=fence or (not mbarrier and not cluster and bool(words & _RELEASE_WORDS)),
        acquires=fence or (not mbarrier and not cluster and bool(words & _ACQUIRE_WORDS)),
        scope=_scope_of(action, words) if strong or fence else "",
        polls=action is Action.ATOMIC or state or (bool(words & _POLLING_WORDS) and not own),
        converges=converges,
        aligned=bool(form.aligned) or (barrier and all(slot.name != "aligned" for slot in entry.slots)),
        jumps=action in _JUMPS,
        ends_block=action in _JUMPS
        or ends
        or barrier
        or action in (Action.WARP_BARRIER, Action.WARPGROUP_WAIT)
        or (cluster and bool(form.wait)),
        falls_through=not ends and action not in (Action.BRANCH, Action.INDEXED_BRANCH),
        waits=converges or ((barrier or cluster) and not form.arrive) or action in _WAITS,
        orders=strong if action is Action.LOAD else kind in _ORDERING_KINDS or stores or converges,
        proxy=_proxy_of(form) if fence else "",
        initialises="mbarrier_init" in words,
        group=entry.group,
        work=work_of(form),
    )


def _space_of(form: Opcode) -> str:
    """The state space of an address. Shared memory of any block of a cluster counts as one of its own."""
    space = str(form.space or "generic")
    return "cluster" if space == "shared::cluster" else space.partition("::")[0]


def _scope_of(action: Action, words: set[str]) -> str:
    """The scope of a strong access or a fence; "" of a fence for something else than ordinary accesses."""
    named = words & _SCOPES
    if named:
        return named.pop()
    if "gl" in words or action in ATOMICS:
        return "gpu"
    return "sys" if words & {"volatile", "mmio"} else ""


def _proxy_of(form: Opcode) -> str:
    """The word after `.proxy`."""
    return form.opcode.partition(".proxy.")[2].partition(".")[0]


_ANYWHERE = SAMPLERS | {Action.FENCE}


def address_space(form: Opcode, name: str) -> str | None:
    """The state space of the address that the table calls `name`, as the opcode says: "" where that names none; None
    where nothing is said: of tensor maps, textures and surfaces, and multimem addresses."""
    does = form.op.does
    if does in _ANYWHERE or form.op.name == "multimem" or form.single:
        return None
    if form.tensor and name == ("a" if form.dst in (None, "global") else "b"):
        return None
    if form.dst:
        return {"a": str(form.dst), "b": str(form.src)}.get(name, "shared")
    if does in MBARRIER:
        return str(form.space or "shared")
    if does is Action.COPY:  # cp.async
        return {"a": str(form.space), "b": "global"}[name]
    return "global" if form.__dict__.get("global") else str(form.space or "")

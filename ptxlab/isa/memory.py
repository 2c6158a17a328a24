"""Memory: loads and stores in every space, cache hints, atomics, fences, and the asynchronous copies of sm_80."""

from __future__ import annotations

from typing import Any

from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.common import WHOLE
from ptxlab.isa.machine import Machine, Value
from ptxlab.isa.table import Form, op
from ptxlab.isa.types import INTEGERS

LOAD_SPACES = ("const", "global", "local", "param", "param::entry", "param::func", "shared", "shared::cta",
               "shared::cluster")  # fmt: skip
STORE_SPACES = ("global", "local", "param", "param::func", "shared", "shared::cta", "shared::cluster")
ATOMIC_SPACES = ("global", "shared", "shared::cta", "shared::cluster")
SCOPES = ("cta", "cluster", "gpu", "sys")
TYPES = (*INTEGERS, "f32", "f64")
LEVEL1 = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
LEVEL2 = ("L2::evict_normal", "L2::evict_first", "L2::evict_last")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
VECTORS = ("v2", "v4")

_HINTS = "{.level1}{.L2::cache_hint}{.prefetch}"
# -- ld ----------------------------------------------------------------------------------------------------------------

SECTORS = (
    "The 32 addresses of a warp are served in 32-byte sectors: neighbours in one sector cost one access, which is what "
    '"coalesced" means.'
)
"""What decides how long an access takes, of global memory and where no space is named."""
_LD = f"Loads d from memory. {SECTORS}"
_LD_VECTOR = """Loads several neighbouring elements with one instruction; the address must be aligned to all of them.
   Fewer, wider loads are how a memory-bound kernel reaches the bandwidth of the GPU."""


def _mode(words: str, weak: tuple[str, ...]) -> dict[str, Any]:
    """The spaces of a load or store of this kind, and from which version on; weak: those of a weak one."""
    if words.startswith(".volatile"):
        return {"space": (*ATOMIC_SPACES, "local"), "needs": {"local": ((9, 1), 0)}}
    return {"space": weak if words.startswith("{.weak}") else ATOMIC_SPACES}


_MODES = (
    ("{.weak}{.space}{.cop}" + _HINTS, "", (1, 0), 0),
    (".volatile{.space}{.prefetch}", " `.volatile` promises that it really happens, each time: for flags that another "
     "thread sets.", (1, 1), 0),
    (".order.scope{.space}" + _HINTS, " With `.acquire` nothing after it is seen earlier: the reading side of a lock.",
     (6, 0), 70),
)  # fmt: skip

for _words, _more, _version, _sm in _MODES:
    for _vec, _says in (("", _LD), (".vec", _LD_VECTOR)):
        op(f"ld{_words}{_vec}.type  d{':vec' if _vec else ''}, [a]{{, policy:b64}}", _says + _more,
           lambda m, i, a, policy=None: m.load(i, a), does=Action.LOAD, version=_version, sm=_sm,
           cop=("ca", "cg", "cs", "lu", "cv"), level1=LEVEL1, prefetch=PREFETCH, vec=VECTORS, type=TYPES,
           order=("relaxed", "acquire"), scope=SCOPES, **_mode(_words, LOAD_SPACES))  # fmt: skip
for _vec, _says in (("", _LD), (".vec", _LD_VECTOR)):
    op(f"ld.global{{.cop}}.nc{_HINTS}{_vec}.type  d{':vec' if _vec else ''}, [a]{{, policy:b64}}",
       _says + " `.nc` reads through the read-only cache: nobody may write that memory while the kernel runs.",
       lambda m, i, a, policy=None: m.load(i, a), does=Action.LOAD, version=(3, 1), sm=32, fixed={"space": "global"},
       cop=("ca", "cg", "cs"), level1=LEVEL1, prefetch=PREFETCH, vec=VECTORS, type=TYPES)  # fmt: skip
    op(f"ldu{{.space}}{_vec}.type  d{':vec' if _vec else ''}, [a]", """Loads through the uniform cache from memory that
       is read-only while the kernel runs; an old form of `ld.global.nc`.""", lambda m, i, a: m.load(i, a),
       does=Action.LOAD, version=(2, 0), sm=20, space=("global",), vec=VECTORS, type=TYPES)  # fmt: skip
_WIDE = " This is the 256-bit form of Blackwell: eight 32-bit or four 64-bit elements."
for _wide, _types in (("v8", ("b32", "u32", "s32", "f32")), ("v4", ("b64", "u64", "s64", "f64"))):
    op(
       "ld{.weak}{.space}{.level1}{.level2}{.L2::cache_hint}{.prefetch}.vec.type  d:vec, [a]{, policy:b64}",
       _LD_VECTOR + _WIDE, lambda m, i, a, policy=None: m.load(i, a), does=Action.LOAD, version=(8, 8), sm=100,
       space=("global",), level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH, vec=(_wide,), type=_types)  # fmt: skip
_MMIO = """Loads from memory-mapped I/O: exactly one access of that size."""
op("ld.mmio.relaxed.sys{.space}.type  d, [a]", _MMIO, lambda m, i, a: m.load(i, a), does=Action.LOAD, version=(8, 2),
   sm=70, space=("global",), type=TYPES)  # fmt: skip
op("ld.mmio.relaxed.sys{.space}.b128  d:b128, [a]", _MMIO, lambda m, i, a: m.load(i, a), does=Action.LOAD,
   version=(8, 4), sm=70, space=("global",), fixed=WHOLE)  # fmt: skip
op("ldu{.space}.b128  d:b128, [a]", """Loads 128 bits through the uniform cache.""", lambda m, i, a: m.load(i, a),
   does=Action.LOAD, version=(8, 3), sm=70, space=("global",), fixed=WHOLE)  # fmt: skip
_LD_128 = "Loads 128 bits into one register."
for _words, _more, _version, _sm in _MODES:
    op(f"ld{_words}.b128  d:b128, [a]{{, policy:b64}}", _LD_128 + _more, lambda m, i, a, policy=None: m.load(i, a),
       does=Action.LOAD, fixed=WHOLE, version=(8, 3), sm=70, cop=("ca", "cg", "cs", "lu", "cv"), level1=LEVEL1,
       prefetch=PREFETCH, order=("relaxed", "acquire"), scope=SCOPES,
       **{"needs": {"sys": ((8, 4), 70)}} | _mode(_words, LOAD_SPACES))  # fmt: skip
op(f"ld.global{{.cop}}.nc{_HINTS}.b128  d:b128, [a]{{, policy:b64}}",
   _LD_128 + " `.nc` reads through the read-only cache.",
   lambda m, i, a, policy=None: m.load(i, a), does=Action.LOAD, fixed=WHOLE | {"space": "global"}, version=(8, 3),
   sm=70, cop=("ca", "cg", "cs"), level1=LEVEL1, prefetch=PREFETCH)  # fmt: skip

# -- st ----------------------------------------------------------------------------------------------------------------

_ST = """Stores b to memory. Lanes that write the same address race: one of them wins, and PTX does not say which."""
_ST_VECTOR = """Stores several neighbouring elements with one instruction; the address must be aligned to all of
   them."""
_MODES = (
    ("{.weak}{.space}{.cop}{.level1}{.L2::cache_hint}", "", (1, 0), 0),
    (".volatile{.space}", " `.volatile` promises that it really happens, each time.", (1, 1), 0),
    (".order.scope{.space}{.level1}{.L2::cache_hint}", " With `.release` everything before it is visible to whoever "
     "acquires the value: the writing side of a lock.", (6, 0), 70),
)  # fmt: skip

for _words, _more, _version, _sm in _MODES:
    for _vec, _says in (("", _ST), (".vec", _ST_VECTOR)):
        op(f"st{_words}{_vec}.type  [a], b{':vec' if _vec else ''}{{, policy:b64}}", _says + _more,
           lambda m, i, a, b, policy=None: m.store(i, a, b), does=Action.STORE, version=_version, sm=_sm,
           cop=("wb", "cg", "cs", "wt"), level1=LEVEL1, vec=VECTORS, type=TYPES, order=("relaxed", "release"),
           scope=SCOPES, **_mode(_words, STORE_SPACES))  # fmt: skip
for _wide, _types in (("v8", ("b32", "u32", "s32", "f32")), ("v4", ("b64", "u64", "s64", "f64"))):
    op("st{.weak}{.space}{.level1}{.level2}{.L2::cache_hint}.vec.type  [a], b:vec{, policy:b64}",
       _ST_VECTOR + _WIDE, lambda m, i, a, b, policy=None: m.store(i, a, b), does=Action.STORE, version=(8, 8), sm=100,
       space=("global",), level1=LEVEL1, level2=LEVEL2, vec=(_wide,), type=_types)  # fmt: skip
op("st.mmio.relaxed.sys{.space}.type  [a], b", """Stores to memory-mapped I/O: exactly one access of that size.""",
   lambda m, i, a, b: m.store(i, a, b), does=Action.STORE, version=(8, 2), sm=70, space=("global",),
   type=TYPES)  # fmt: skip
op("st.mmio.relaxed.sys{.space}.b128  [a], b:b128", """Stores 128 bits to memory-mapped I/O in one access.""",
   lambda m, i, a, b: m.store(i, a, b), does=Action.STORE, version=(8, 4), sm=70, space=("global",),
   fixed=WHOLE)  # fmt: skip
op("st.bulk{.weak}{.space}  [a], size:u64, initval:int", """Stores zeros to `size` bytes of shared memory, a multiple
   of 8 and at most 16777216. Every thread that executes it stores all of them.""", does=Action.FILL,
   space=("shared::cta",), version=(8, 6), sm=100)  # fmt: skip
for _words, _more, _version, _sm in _MODES:
    op(f"st{_words}.b128  [a], b:b128{{, policy:b64}}", "Stores a 128-bit register." + _more,
       lambda m, i, a, b, policy=None: m.store(i, a, b), does=Action.STORE, fixed=WHOLE, version=(8, 3), sm=70,
       cop=("wb", "cg", "cs", "wt"), level1=LEVEL1, order=("relaxed", "release"), scope=SCOPES,
       **{"needs": {"sys": ((8, 4), 70)}} | _mode(_words, STORE_SPACES))  # fmt: skip

# -- atomics -----------------------------------------------------------------------------------------------------------

_ATOM = """Reads memory, combines it with b and writes it back as one step that no other thread can come between; d
   is the old value."""
_RED = """Combines memory with b as one step that no other thread can come between, and gives nothing back: cheaper than
   `atom`. Blocks that share one output row can sum into it."""
_FLUSHED = " Sums of f32 in global memory flush subnormal inputs and results to zero; those in shared memory do not."
_CAS = """Compares memory with b and, where they are equal, writes c; d is the old value. Locks, and every atomic
   operation that the hardware lacks, are loops around it."""
_EXCH = """Writes b to memory and gives back what was there, as one step: taking a ticket, or resetting a counter."""
_OPERATIONS: tuple[tuple[tuple[str, ...], tuple[str, ...], int], ...] = (
    (("add",), ("u32", "s32", "u64", "f32"), 0),
    (("add",), ("f64",), 60),
    (("min", "max"), ("u32", "s32", "u64", "s64"), 0),
    (("inc", "dec"), ("u32",), 0),
    (("and", "or", "xor"), ("b32", "b64"), 0),
)


def _atom(m: Machine, i: Form, a: Value, b: Any, policy: Value | None = None) -> Any:
    return m.atom(i, a, b)


def _red(m: Machine, i: Form, a: Value, b: Any, policy: Value | None = None) -> None:
    m.atom(i, a, b)


def _cas(m: Machine, i: Form, a: Value, b: Value, c: Value) -> Value:
    return m.atom(i, a, b, c)


_NEEDS = dict.fromkeys(("relaxed", "acquire", "release", "acq_rel"), ((6, 0), 70))
_NEEDS |= dict.fromkeys(("cta", "gpu", "sys"), ((5, 0), 60))

_atomic_order: tuple[str, ...]
for _name, _action, _sem, _says, _atomic_order in (
    ("atom", Action.ATOMIC, _atom, _ATOM, ("relaxed", "acquire", "release", "acq_rel")),
    ("red", Action.REDUCTION, _red, _RED, ("relaxed", "release")),
):
    _d, _head = ("d, " if _name == "atom" else ""), f"{_name}{{.order}}{{.scope}}{{.space}}"
    for _operation, _numbers, _sm in _OPERATIONS:
        op(f"{_head}.operation{{.L2::cache_hint}}.type  {_d}[a], b{{, policy:b64}}",
           _says + _FLUSHED * ("f32" in _numbers), _sem, does=_action, needs=_NEEDS, order=_atomic_order, scope=SCOPES,
           space=ATOMIC_SPACES, operation=_operation, type=_numbers, version=(1, 1), sm=_sm)  # fmt: skip
    for _type, _version, _sm in (
        ("f16", (6, 3), 70), ("f16x2", (6, 2), 60), ("bf16", (7, 8), 90), ("bf16x2", (7, 8), 90),
    ):  # fmt: skip
        op(f"{_head}.operation.noftz{{.L2::cache_hint}}.type  {_d}[a], b{{, policy:b64}}", _says, _sem, does=_action,
           needs=_NEEDS, order=_atomic_order, scope=SCOPES, space=ATOMIC_SPACES, operation=("add",), type=(_type,),
           version=_version, sm=_sm)  # fmt: skip
    _vector = f"{'d:vec, ' if _d else ''}[a], b:vec{{, policy:b64}}"
    _more = " The vector form does several neighbours at once; each of them is atomic, the whole is not."
    op(f"{_name}{{.order}}{{.scope}}{{.space}}.operation{{.L2::cache_hint}}.vec.f32  {_vector}",
       _says + _FLUSHED + _more, _sem, does=_action, needs=_NEEDS, order=_atomic_order, scope=SCOPES, space=("global",),
       operation=("add",), vec=("v2", "v4"), version=(8, 1), sm=90)  # fmt: skip
    op(f"{_name}{{.order}}{{.scope}}{{.space}}.operation.noftz{{.L2::cache_hint}}.vec.type  {_vector}", _says + _more,
       _sem, does=_action, needs=_NEEDS, order=_atomic_order, scope=SCOPES, space=("global",),
       operation=("add", "min", "max"), vec=("v2", "v4", "v8"), type=("f16", "bf16"), version=(8, 1),
       sm=90)  # fmt: skip
    op(f"{_name}{{.order}}{{.scope}}{{.space}}.operation.noftz{{.L2::cache_hint}}.vec.type  {_vector}", _says + _more,
       _sem, does=_action, needs=_NEEDS, order=_atomic_order, scope=SCOPES, space=("global",),
       operation=("add", "min", "max"), vec=("v2", "v4"), type=("f16x2", "bf16x2"), version=(8, 1), sm=90)  # fmt: skip

_head = "atom{.order}{.scope}{.space}"
_order = ("relaxed", "acquire", "release", "acq_rel")
op(f"{_head}.operation{{.L2::cache_hint}}.type  d, [a], b{{, policy:b64}}", _EXCH, _atom, does=Action.ATOMIC,
   needs=_NEEDS, order=_order, scope=SCOPES, space=ATOMIC_SPACES, operation=("exch",), type=("b32", "b64"),
   version=(1, 1))  # fmt: skip
op(f"{_head}.operation.type  d, [a], b, c", _CAS, _cas, does=Action.ATOMIC, needs=_NEEDS, order=_order, scope=SCOPES,
   space=ATOMIC_SPACES, operation=("cas",), type=("b32", "b64"), version=(1, 1))  # fmt: skip
op(f"{_head}.operation.b16  d, [a], b, c", _CAS, _cas, does=Action.ATOMIC, needs=_NEEDS, order=_order, scope=SCOPES,
   space=ATOMIC_SPACES, operation=("cas",), version=(6, 3), sm=70)  # fmt: skip
op(f"{_head}.operation{{.L2::cache_hint}}.b128  d:b128, [a], b:b128{{, policy:b64}}", _EXCH, _atom, does=Action.ATOMIC,
   needs=_NEEDS | {"sys": ((8, 4), 90)}, fixed=WHOLE | {"whole": True}, order=_order, scope=SCOPES,
   space=ATOMIC_SPACES, operation=("exch",),
   version=(8, 3), sm=90)  # fmt: skip
op(f"{_head}.operation.b128  d:b128, [a], b:b128, c:b128", _CAS, _cas, does=Action.ATOMIC,
   needs=_NEEDS | {"sys": ((8, 4), 90)}, fixed=WHOLE | {"whole": True}, order=_order, scope=SCOPES,
   space=ATOMIC_SPACES, operation=("cas",), version=(8, 3),
   sm=90)  # fmt: skip

# -- ordering ----------------------------------------------------------------------------------------------------------

op("membar.level", """Makes the thread's earlier memory accesses visible to its block (`.cta`), the GPU (`.gl`) or the
   whole system (`.sys`) before its later ones; the old name of `fence.sc`.""", does=Action.FENCE,
   level=("cta", "gl", "sys"), version=(1, 4))  # fmt: skip
op("membar.proxy.alias", """The old name of `fence.proxy.alias`.""", does=Action.FENCE, version=(7, 5), sm=70)
op("fence{.order}.scope", """Orders the thread's memory accesses before it against those after it, as seen by the other
   threads of the scope. A flag that says "the data is there" needs one between data and flag.""", does=Action.FENCE,
   order=("sc", "acq_rel", "acquire", "release"), scope=SCOPES, version=(6, 0), sm=70,
   needs={"acquire": ((8, 6), 90), "release": ((8, 6), 90)})  # fmt: skip
op("fence.mbarrier_init.release.cluster", """Makes the initialisation of an mbarrier visible to the other blocks of the
   cluster.""", does=Action.FENCE, version=(8, 0), sm=90)  # fmt: skip
op("fence.proxy.alias", """Orders accesses to one place under different virtual addresses.""", does=Action.FENCE,
   version=(7, 5), sm=70)  # fmt: skip
op("fence.proxy.async{.space}", """Orders ordinary accesses against those of another path to memory: Hopper's tensor
   cores and bulk copies read shared memory through the "async" one.""", does=Action.FENCE,
   space=("global", "shared::cta", "shared::cluster"), version=(8, 0), sm=90)  # fmt: skip
for _side, _restrict in (("acquire", "cluster"), ("release", "cta")):
    _word = f"{_side}.sync_restrict::shared::{_restrict}"
    op(f"fence.{_word}.cluster", """Orders accesses to the shared memory of the cluster's blocks (acquire) or of its own
       block (release) only.""", does=Action.FENCE, version=(8, 6), sm=90)  # fmt: skip
    op(f"fence.proxy.async::generic.{_word}.cluster", """Orders accesses of two paths to the shared memory of the
       cluster's blocks (acquire) or of its own block (release).""", does=Action.FENCE, version=(8, 6),
       sm=90)  # fmt: skip
op("fence.proxy.tensormap::generic.release.scope", """Makes a tensor map that was written as memory visible to the copy
   engine.""", does=Action.FENCE, scope=SCOPES, version=(8, 3), sm=90)  # fmt: skip
op("fence.proxy.tensormap::generic.acquire.scope  [a], size:int", """Lets the copy engine see a tensor map that another
   thread wrote as memory.""", does=Action.FENCE, scope=SCOPES, version=(8, 3), sm=90)  # fmt: skip

# -- hints -------------------------------------------------------------------------------------------------------------

op("prefetch{.space}.level  [a]", """Asks for a cache line to be brought in before it is needed; changes no result.""",
   does=Action.PREFETCH, space=("global", "local"), level=("L1", "L2"), version=(2, 0), sm=20)  # fmt: skip
op("prefetch.global.level  [a]", """Asks for a cache line in L2 and says how eagerly to keep it.""",
   does=Action.PREFETCH, level=("L2::evict_last", "L2::evict_normal"), version=(7, 4), sm=80)  # fmt: skip
op("prefetch{.space}.tensormap  [a]", """Asks for a tensor map before a bulk copy needs it.""", does=Action.PREFETCH,
   space=("const", "param"), version=(8, 0), sm=90)  # fmt: skip
op("prefetchu.L1  [a]", """Asks for a cache line to be brought into the uniform cache.""", does=Action.PREFETCH,
   version=(2, 0), sm=20)  # fmt: skip
op("applypriority{.global}.L2::evict_normal  [a], size:int", """Says that 128 bytes in L2 need no longer be kept
   specially.""", does=Action.NOTHING, version=(7, 4), sm=80)  # fmt: skip
op("discard{.global}.L2  [a], size:int", """Says that 128 bytes, aligned to 128, need not be written back from L2. What
   they hold is then undefined. The emulator fills them with 0xFF, and initcheck counts them as unwritten in memory
   that it tracks.""", does=Action.DISCARD,
   version=(7, 4), sm=80)  # fmt: skip
op("createpolicy.fractional.primary{.secondary}.b64  d{, fraction:f32}", """Makes a cache policy, to be handed to loads
   and stores with `.L2::cache_hint`. It changes speed only; the emulator hands out 0.""",
   lambda m, i, fraction=None: m.const("i64", 0),
   primary=("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"),
   secondary=("L2::evict_first", "L2::evict_unchanged"), version=(7, 4), sm=80)  # fmt: skip
op("createpolicy.range{.global}.primary{.secondary}.b64  d, [a], b:u32, c:u32", """Makes a cache policy for a range of
   addresses; the emulator hands out 0.""", lambda m, i, a, b, c: m.const("i64", 0),
   primary=("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"),
   secondary=("L2::evict_first", "L2::evict_unchanged"), version=(7, 4), sm=80)  # fmt: skip
op("createpolicy.cvt.L2.b64  d, a:b64", """Makes a cache policy of an access property of CUDA C++; the emulator hands
   out 0.""", lambda m, i, a: m.const("i64", 0), version=(7, 4), sm=80)  # fmt: skip

# -- cp.async ----------------------------------------------------------------------------------------------------------

_CP = """Starts a copy from global to shared memory and goes on without waiting; nothing may be read before
   `cp.async.wait_group` and a barrier. With two buffers the next tile of K arrives while this one is being
   multiplied. A source size below {} fills the rest with zeros: tails without branches."""
for _cop, _sizes in (("ca", "4, 8 or 16"), ("cg", "16")):
    op(
       f"cp.async.{_cop}.space.global{{.L2::cache_hint}}{{.prefetch}}  [a], [b], size:int{{, src_size:any}}"
       "{, policy:b64}",
       _CP.format(_sizes), does=Action.COPY, group=AsyncGroup.CP_ASYNC, space=("shared", "shared::cta"),
       prefetch=PREFETCH, version=(7, 0), sm=80, needs={"shared::cta": ((7, 0), 80)},
       notes={_cop: "Through L1 and L2." if _cop == "ca" else "Through L2 only, past L1.",
             "src_size": "A number of bytes (u32), or a predicate that asks for zeros only."})  # fmt: skip
op("cp.async.commit_group", """Closes a group: all copies that this thread has started since the last one.""",
   does=Action.COMMIT, group=AsyncGroup.CP_ASYNC, version=(7, 0), sm=80)  # fmt: skip
op("cp.async.wait_group  n:int", """Waits until at most the n youngest groups of this thread are still in flight: 1
   keeps the next tile in flight while this one is used.""", does=Action.WAIT_GROUP, group=AsyncGroup.CP_ASYNC,
   version=(7, 0), sm=80)  # fmt: skip
op("cp.async.wait_all", """Waits until every copy that this thread has started has arrived.""", does=Action.WAIT_ALL,
   group=AsyncGroup.CP_ASYNC, version=(7, 0), sm=80)  # fmt: skip
op("cp.async.mbarrier.arrive{.noinc}{.space}.b64  [a]", """Lets an mbarrier know when this thread's copies have
   arrived.""", does=Action.COPIES_ARRIVE, group=AsyncGroup.CP_ASYNC, space=("shared", "shared::cta"), version=(7, 0),
   sm=80)  # fmt: skip

"""What table entries say they do (`does=`), and what an asynchronous operation completes by (`group=`)."""

from __future__ import annotations

from enum import Enum, auto


class Action(Enum):
    """What an instruction does, the kind of entries that do it (see `ptxlab.isa.entries`), and what it does to memory:
    "load", "store", "atomic", "copy" (from one address to another) or "". An engine has one body for each action; those
    of kind "pure", "memory" and "lane" share the one that runs the entry's `sem`."""

    says: str
    kind: str
    touches: str

    def __init__(self, says: str, kind: str, touches: str = "") -> None:
        self.says, self.kind, self.touches = says, kind, touches

    __hash__ = object.__hash__  # that of Enum is written in Python

    COMPUTE = "computes", "pure"
    MOVE = "copies, packs or takes apart registers", "pure"
    CONVERT = "converts between types", "pure"
    CONVERT_ADDRESS = "converts between generic addresses and those of a space or block", "pure"
    ADD = "adds", "pure"
    SUBTRACT = "subtracts", "pure"
    MULTIPLY = "multiplies", "pure"
    MULTIPLY_ADD = "multiplies and adds", "pure"
    DIVIDE = "divides", "pure"
    MINIMUM = "gives the smaller number", "pure"
    MAXIMUM = "gives the larger number", "pure"
    CHANGE_SIGN = "negates, or takes the absolute value", "pure"
    COMPARE = "compares two numbers", "pure"
    CLASSIFY = "tests what kind of number or address it is given", "pure"
    SELECT = "selects one of two by a predicate", "pure"
    SELECT_BY_SIGN = "selects one of two by the sign of a number", "pure"
    NOT = "flips all bits", "pure"
    AND = "keeps the bits that are set in both", "pure"
    OR = "keeps the bits that are set in either", "pure"
    EXCLUSIVE_OR = "keeps the bits that differ", "pure"
    SHIFT_LEFT = "shifts bits to the left", "pure"
    REARRANGE = "puts bits of several sources together", "pure"
    SPECIAL_FUNCTION = "computes a special function", "pure"
    EXPONENTIAL = "computes a power of two", "pure"
    COUNT_PENDING = "counts the pending arrivals in the state that an mbarrier gave", "pure"
    LOAD = "loads", "memory", "load"
    STORE = "stores", "memory", "store"
    ATOMIC = "changes memory atomically and gives the old value", "memory", "atomic"
    REDUCTION = "changes memory atomically", "memory", "atomic"
    DISCARD = "makes bytes undefined", "effect", "store"
    SHUFFLE = "reads another lane's register", "lane"
    VOTE = "asks all lanes", "lane"
    ACTIVE_MASK = "gives the active mask", "lane"
    MATCH = "compares a number between all lanes", "lane"
    REDUCE_LANES = "combines a number of each lane", "lane"
    ELECT = "picks a lane", "lane"
    MATRIX_PRODUCT = "multiplies matrices", "warp"
    TRANSPOSE = "transposes a matrix", "warp"
    LOAD_ROWS = "loads matrices, each row by a lane's address", "warp", "load"
    STORE_ROWS = "stores matrices, each row by a lane's address", "warp", "store"
    LOAD_FRAGMENT = "loads a matrix into a layout that is not specified", "warp", "load"
    STORE_FRAGMENT = "stores a matrix from a layout that is not specified", "warp", "store"
    FRAGMENT_PRODUCT = "multiplies matrices in a layout that is not specified", "warp"
    WARPGROUP_PRODUCT = "begins to multiply matrices, four warps together", "warp"
    WARPGROUP_FENCE = "orders the registers of a warpgroup before its products", "warp"
    WARPGROUP_COMMIT = "closes a group of a warpgroup's products", "warp"
    WARPGROUP_WAIT = "waits for all but some groups of a warpgroup's products", "warp"
    BRANCH = "jumps", "flow"
    INDEXED_BRANCH = "jumps to one of several labels", "flow"
    CALL = "calls a function", "flow"
    RETURN = "returns from a function", "flow"
    EXIT = "ends the thread", "flow"
    TRAP = "stops the kernel", "flow"
    BARRIER = "arrives at a barrier of the block", "flow"
    WARP_BARRIER = "waits for lanes of the warp", "flow"
    CLUSTER_BARRIER = "arrives at the barrier of the cluster", "flow"
    STACK_ALLOCATE = "takes bytes from the stack", "flow"
    STACK_SAVE = "says how much of the stack is taken", "flow"
    STACK_RESTORE = "gives bytes back to the stack", "flow"
    NOTHING = "changes no result", "none"
    SLEEP = "sleeps", "none"
    FENCE = "orders accesses to memory", "none"
    PREFETCH = "brings data closer", "none"
    FILL = "stores zeros; lowering adds a loop of stores after it", "none", "store"
    REPLACE_FIELD = "replaces a field of a tensor map; lowering adds loads and stores after it", "none"
    VIDEO = "computes with parts of words; lowering adds the arithmetic after it", "none"
    SAMPLE = "samples a texture; lowering adds loads and arithmetic after it", "none"
    GATHER = "reads four texels; lowering adds loads after it", "none"
    QUERY = "gives a property of a texture or surface; lowering adds a load after it", "none"
    LOAD_SURFACE = "loads from a surface; lowering adds loads after it", "none"
    STORE_SURFACE = "stores to a surface; lowering adds stores after it", "none"
    REDUCE_SURFACE = "changes a surface atomically; lowering adds atomic operations after it", "none"
    COPY_MAP = "copies a tensor map; lowering adds loads, stores and a fence after it", "none"
    PASS_ARGUMENTS = "passes arguments in memory; lowering adds it at a call", "none"
    TAKE_REDUCED = "takes the result of a barrier's reduction; lowering adds it after one", "none"
    COPY = "copies", "async", "copy"
    COPY_REDUCE = "copies and combines", "async", "copy"
    PREFETCH_TILE = "brings a tile closer", "async"
    COMMIT = "closes a group", "async"
    WAIT_GROUP = "waits for all but some groups", "async"
    WAIT_ALL = "waits for all that the thread started", "async"
    COPIES_ARRIVE = "lets an mbarrier know when copies have arrived", "async", "atomic"
    MBARRIER_INIT = "makes an mbarrier", "async", "atomic"
    MBARRIER_INVALIDATE = "makes an mbarrier invalid", "async", "atomic"
    MBARRIER_ARRIVE = "arrives at an mbarrier", "async", "atomic"
    MBARRIER_COUNT_BYTES = "counts bytes at an mbarrier", "async", "atomic"
    MBARRIER_TEST = "asks whether a phase is over", "async", "atomic"
    MBARRIER_WAIT = "waits a little for the end of a phase", "async", "atomic"


A = Action
BODIED = frozenset({"warp", "async", "effect"})
"""Kinds of which each action, or group of actions, has a body of its own in each engine."""
ATOMICS = frozenset({A.ATOMIC, A.REDUCTION})
MBARRIER = frozenset(
    {A.COPIES_ARRIVE, A.MBARRIER_INIT, A.MBARRIER_INVALIDATE, A.MBARRIER_ARRIVE, A.MBARRIER_COUNT_BYTES,
     A.MBARRIER_TEST, A.MBARRIER_WAIT}
)  # fmt: skip
SAMPLERS = frozenset({A.SAMPLE, A.GATHER, A.QUERY, A.LOAD_SURFACE, A.STORE_SURFACE, A.REDUCE_SURFACE})
"""What instructions on textures and surfaces do."""
STACK_ACTIONS = frozenset({A.STACK_ALLOCATE, A.STACK_SAVE, A.STACK_RESTORE})
BRANCHES = (A.BRANCH, A.INDEXED_BRANCH)
"""What takes labels."""

COMPUTES: dict[str, Action] = {
    name: action
    for action, names in {
        A.MOVE: "mov", A.CONVERT: "cvt", A.CONVERT_ADDRESS: "cvta mapa getctarank", A.ADD: "add", A.SUBTRACT: "sub",
        A.MULTIPLY: "mul mul24 dp4a dp2a", A.MULTIPLY_ADD: "fma mad mad24", A.DIVIDE: "div", A.MINIMUM: "min",
        A.MAXIMUM: "max", A.CHANGE_SIGN: "neg abs", A.COMPARE: "set setp", A.CLASSIFY: "testp isspacep",
        A.SELECT: "selp", A.SELECT_BY_SIGN: "slct", A.NOT: "not", A.AND: "and", A.OR: "or", A.EXCLUSIVE_OR: "xor",
        A.SHIFT_LEFT: "shl",
        A.REARRANGE: "lop3 shf prmt bfi", A.EXPONENTIAL: "ex2",
        A.SPECIAL_FUNCTION: "lg2 sin cos tanh rcp rsqrt sqrt popc bfind brev clz rem",
    }.items()
    for name in names.split()
}  # fmt: skip
"""Opcodes that compute: the entries of the others that do not say what they do just `COMPUTE`."""


class AsyncGroup(Enum):
    """What an asynchronous operation is completed by, or what an instruction commits, waits for or arrives at."""

    __hash__ = object.__hash__  # as above

    NONE = auto()
    CP_ASYNC = auto()
    BULK = auto()
    WGMMA = auto()
    MBARRIER = auto()

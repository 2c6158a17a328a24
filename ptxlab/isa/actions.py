"""What table entries say they do (`does=`), and what an asynchronous operation completes by (`group=`)."""

from __future__ import annotations

from enum import Enum, auto


class Action(Enum):
    """What an instruction does. An engine has one body for each; those of kind "pure" and "lane" share the one that
    runs the entry's `sem`."""

    # computes
    COMPUTE = auto()
    MOVE = auto()
    CONVERT = auto()
    CONVERT_ADDRESS = auto()  # between generic addresses and those of a space or a block
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    MULTIPLY_ADD = auto()
    DIVIDE = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    CHANGE_SIGN = auto()
    COMPARE = auto()
    CLASSIFY = auto()  # what kind of number, or of address
    SELECT = auto()
    SELECT_BY_SIGN = auto()
    NOT = auto()
    AND = auto()
    OR = auto()
    EXCLUSIVE_OR = auto()
    REARRANGE = auto()  # bits of several sources
    SPECIAL_FUNCTION = auto()
    EXPONENTIAL = auto()
    COUNT_PENDING = auto()  # of an mbarrier, from the state that an arrival gave back
    # goes to memory
    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    REDUCTION = auto()  # atomic, without a result
    # exchanges data between lanes
    SHUFFLE = auto()
    VOTE = auto()
    ACTIVE_MASK = auto()
    MATCH = auto()
    REDUCE_LANES = auto()
    ELECT = auto()
    # works on matrices
    MATRIX_PRODUCT = auto()
    LOAD_ROWS = auto()
    STORE_ROWS = auto()
    TRANSPOSE = auto()
    LOAD_FRAGMENT = auto()
    STORE_FRAGMENT = auto()
    FRAGMENT_PRODUCT = auto()  # of fragments whose layout is not specified
    # says where control goes
    BRANCH = auto()
    INDEXED_BRANCH = auto()
    CALL = auto()
    RETURN = auto()
    EXIT = auto()
    TRAP = auto()
    BARRIER = auto()
    WARP_BARRIER = auto()
    CLUSTER_BARRIER = auto()
    STACK_ALLOCATE = auto()
    STACK_SAVE = auto()
    STACK_RESTORE = auto()
    # changes no result
    NOTHING = auto()
    SLEEP = auto()
    FENCE = auto()
    PREFETCH = auto()
    # is asynchronous
    COPY = auto()
    COPY_REDUCE = auto()
    COMMIT = auto()
    WAIT_GROUP = auto()
    WAIT_ALL = auto()
    COPIES_ARRIVE = auto()
    MBARRIER_INIT = auto()
    MBARRIER_INVALIDATE = auto()
    MBARRIER_ARRIVE = auto()
    MBARRIER_COUNT_BYTES = auto()
    MBARRIER_TEST = auto()
    MBARRIER_WAIT = auto()
    REPLACE_FIELD = auto()  # of a tensor map
    # is put in by lowering and does not stand in the text
    PASS_ARGUMENTS = auto()
    TAKE_REDUCED = auto()

    @property
    def kind(self) -> str:
        """The kind of entries with this action (see `ptxlab.isa.table.Op`)."""
        return _KIND.get(self, "pure")


A = Action
ATOMICS = frozenset({A.ATOMIC, A.REDUCTION})
MATRIX_MEMORY = frozenset({A.LOAD_ROWS, A.STORE_ROWS, A.LOAD_FRAGMENT, A.STORE_FRAGMENT})
MBARRIER = frozenset(
    {A.COPIES_ARRIVE, A.MBARRIER_INIT, A.MBARRIER_INVALIDATE, A.MBARRIER_ARRIVE, A.MBARRIER_COUNT_BYTES,
     A.MBARRIER_TEST, A.MBARRIER_WAIT}
)  # fmt: skip
STACK_ACTIONS = frozenset({A.STACK_ALLOCATE, A.STACK_SAVE, A.STACK_RESTORE})

_KINDS = {
    "memory": (A.LOAD, A.STORE, A.ATOMIC, A.REDUCTION),
    "lane": (A.SHUFFLE, A.VOTE, A.ACTIVE_MASK, A.MATCH, A.REDUCE_LANES, A.ELECT),
    "warp": (A.MATRIX_PRODUCT, A.TRANSPOSE, A.FRAGMENT_PRODUCT, *MATRIX_MEMORY),
    "flow": (A.BRANCH, A.INDEXED_BRANCH, A.CALL, A.RETURN, A.EXIT, A.TRAP, A.BARRIER, A.WARP_BARRIER,
             A.CLUSTER_BARRIER, *STACK_ACTIONS),
    "none": (A.NOTHING, A.SLEEP, A.FENCE, A.PREFETCH, A.PASS_ARGUMENTS, A.TAKE_REDUCED),
    "async": (A.COPY, A.COPY_REDUCE, A.COMMIT, A.WAIT_GROUP, A.WAIT_ALL, A.REPLACE_FIELD, *MBARRIER),
}  # fmt: skip
_KIND = {action: kind for kind, actions in _KINDS.items() for action in actions}

COMPUTES: dict[str, Action] = {
    name: action
    for action, names in {
        A.MOVE: "mov", A.CONVERT: "cvt", A.CONVERT_ADDRESS: "cvta mapa getctarank", A.ADD: "add", A.SUBTRACT: "sub",
        A.MULTIPLY: "mul mul24 dp4a dp2a", A.MULTIPLY_ADD: "fma mad mad24", A.DIVIDE: "div", A.MINIMUM: "min",
        A.MAXIMUM: "max", A.CHANGE_SIGN: "neg abs", A.COMPARE: "set setp", A.CLASSIFY: "testp isspacep",
        A.SELECT: "selp", A.SELECT_BY_SIGN: "slct", A.NOT: "not", A.AND: "and", A.OR: "or", A.EXCLUSIVE_OR: "xor",
        A.REARRANGE: "lop3 shf prmt bfi", A.EXPONENTIAL: "ex2",
        A.SPECIAL_FUNCTION: "lg2 sin cos tanh rcp rsqrt sqrt popc bfind brev clz rem",
    }.items()
    for name in names.split()
}  # fmt: skip
"""The opcodes that compute and whose action somebody asks for; the other entries without `does=` just `COMPUTE`."""


class AsyncGroup(Enum):
    """What an asynchronous operation is completed by, or what an instruction commits, waits for or arrives at."""

    NONE = auto()
    CP_ASYNC = auto()
    BULK = auto()
    WGMMA = auto()
    MBARRIER = auto()

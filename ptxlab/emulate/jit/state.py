"""Where compiled code keeps what it works on: byte offsets into a worker's context, a CTA's and a warp's state.

One worker thread runs one CTA at a time. Its context holds pointers and counters, the CTA's record what the CTA's warps
share, and each warp's state the program counters, masks, thread indices and, from `REGISTERS` on, its registers: 32
lanes each, and beside them one scalar for those that are uniform while the warp is converged.
"""

from __future__ import annotations

from ptxlab.emulate.program.model import Program

# -- a worker's context
NEXT, STOP, BUDGET = 0, 8, 16  # pointers shared by all workers: next CTA (i64), stop word (i32), budget left (i64)
TOTAL, PARAMS, ALLOCS, ALLOC_COUNT, SITES, COUNTS = 24, 32, 40, 48, 56, 64
QUANTUM, SLOW, WARPS, THREADS, ORDER = 72, 80, 88, 96, 104
GRID, BLOCK, QUANTUM_SIZE, CTA = 112, 128, 144, 152
FAULT_KIND, FAULT_CODE, FAULT_LANE, FAULT_ADDRESS, FAULT_WARP = 160, 164, 168, 176, 184
SHADOW, PARAM_SIZE, SLOTS, SLOT_COUNT, SLOT, SUSPENSIONS, SLOT_LIMIT = 192, 200, 208, 216, 224, 232, 240
TALLY = 248  # pointer: what counted code adds up
CLOCK = 256  # warp-instructions before this quantum
# what @resolve found beside SHADOW: records of accesses, bytes from writers to readers, offset in the allocation
RACE, RACE_STRIDE, RACE_OFFSET = 264, 272, 280
CHECK, RANDOM = 288, 296  # pointer: what the checks note; state of the random numbers that shuffle warps, 0 without
TRACE = 304  # pointer: where recorded warps write their steps
BLOCK_ORDER = 320  # pointer: the blocks in the order in which they begin, 0: as they are
# of a store while it is looked at: its values, its addresses, what is added to each, bytes of a component, and how the
# addresses are held (0: the one that is added, 1: 32 i32, 2: 32 i64)
STORED, STORE_ADDRS, STORE_START, STORE_STEP, STORE_HOW = 328, 336, 344, 352, 360
PHASES = 312  # pointer: the function that the checks are told of mbarriers with
FINISHED = 368  # CTAs that this worker has run to their end
CONTEXT_SIZE = 384

# -- a CTA's record
ACTIVE, CTAID, SHARED, SHARED_SIZE, WARP_STATES, LINEAR, WARP_AT = 0, 4, 16, 24, 32, 40, 48
CTA_LOCAL, CTA_LOCAL_SIZE = 320, 328
# of the checks, 0 without
CHECKS, INIT_SHARED, RACE_SHARED, RACE_SHARED_STRIDE, PENDING_SHARED = 336, 344, 352, 360, 368
BAR_COUNT, BAR_ARRIVED, BAR_YES, BAR_ASKED = 64, 128, 192, 256  # i32 for each of 16 barriers
CTA_SIZE = 384

# -- a warp's state
# Program counters are twice a code index: an even one is the start of a block, 2k + 1 stands behind the exchange of k.
PC, LIVE, WAIT, MODE, FAST_PC, ROUNDS, WARP_ID, LOCAL = 0, 128, 132, 136, 140, 144, 148, 152
FIRST_LIVE, CARRY, YES, ASKED = 160, 164, 168, 172
ALL_DOT = 176  # whether all bf16 products of this basic block so far went the fast way (see `products`)
TRACED = 180  # whether its steps are recorded
# lanes whose wait for an mbarrier failed and that do nothing but wait again (see `ptxlab.emulate.rules.spinning`)
SPINS = 184
BAR, ARRIVED = 192, 256  # for each of 16 barriers the lanes that wait there, and those that have arrived and gone on
TID_X, TID_Y, TID_Z = 320, 448, 576
# Lanes that exchange data while the warp is apart: what they brought (OFFERED) and what is ready to be read (GIVEN).
MEETING, MEMBERS, OFFERED, GIVEN_MEMBERS, GIVEN = 704, 832, 960, 1728, 1856  # 3 operands of 256 bytes each
# Of each lane that spins: where the mbarrier lies (host pointer), the word whose phase it asks for, the wait's index.
SPIN_AT, SPIN_FOR, SPIN_CODE = 2624, 2880, 3136
# whose turn it is while the warp is apart, with ROUNDS (see `ptxlab.emulate.rules.turns`)
TURN_LEFT, TURN_LANE = 3264, 3268
ENDED = 3272  # bits: the ends of threads (`Program.exits`) that lanes have left by and the warp is not counted for yet
REGISTERS = 3328

# -- what a warp function returns
DONE, FAULT, SUSPENDED, DIVERGED, CONVERGED = 0, 1, 2, 3, 4
# -- what the grid function returns besides DONE and FAULT
STOPPED, NEEDS_SLOW, NEEDS_SLOT = 2, 3, 4
# -- kinds of fault
OUT_OF_MEMORY_RANGE, BUDGET_SPENT, DEADLOCK, TRAP, BAD_INDEX, BAD_BARRIER = 1, 2, 3, 4, 5, 6
INCOMPLETE, DISAGREE = 7, 8  # an instruction of the whole warp: not all lanes execute it; their operands differ
COPY_FROM, COPY_TO = 9, 10  # the source or the destination of a cp.async is wrong
BAD_MBARRIER = 11
GROUP_FLAG = 1 << 30  # on a code index: the address is the lowest of a group of accesses, any of which may be wrong
# -- spaces, as the helpers number them
SPACES = {"global": 0, "shared": 1, "local": 2, "frame": 2, "param": 3, "const": 4, "generic": 5}

# base address, places where an access may begin (0: the site knows no allocation, whatever the address), host pointer,
# pointer to the record of writes, RACE, RACE_STRIDE
SITE_SIZE = 48
# base address, size, host pointer, pointer to the record of writes, writable, RACE, RACE_STRIDE
ALLOC_SIZE = 56

_BYTES = {"i1": 4, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f32": 4, "f64": 8}


def local_stride(program: Program) -> int:
    """Bytes from one lane's local memory to the next's."""
    return -(-program.local_size // 16) * 16


class RegisterFile:
    """The offsets of each register in a warp's state: `vector[r]`, `scalar[r]` (0 where not uniform), and its size."""

    def __init__(self, program: Program, uniform: list[bool]) -> None:
        at = REGISTERS
        self.vector, self.scalar = [], []
        for register in program.registers:
            self.vector.append(at)
            size = 4 if register.lane == "i1" else 32 * _BYTES[register.lane]
            at += -(-size // 64) * 64
        for register in program.registers:
            self.scalar.append(at if uniform[register.index] else 0)
            at += 8 if uniform[register.index] else 0
        self.size = -(-at // 128) * 128

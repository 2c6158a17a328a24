"""One sentence for every modifier word and every special register, for hover texts and the reference page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptxlab.isa import types

WORDS: dict[str, str] = {
    # rounding and range
    "rn": "Rounds to the nearest number; a tie goes to the one with an even last digit.",
    "rz": "Rounds toward zero.",
    "rm": "Rounds toward minus infinity.",
    "rp": "Rounds toward plus infinity.",
    "rna": "Rounds to the nearest number; a tie goes away from zero.",
    "rni": "Rounds to the nearest integer; a tie goes to the even one.",
    "rzi": "Rounds to an integer toward zero: cuts the fraction off.",
    "rmi": "Rounds down to an integer.",
    "rpi": "Rounds up to an integer.",
    "ftz": "Flush to zero: subnormal inputs and results become 0 and keep their sign.",
    "noftz": "Subnormal numbers are kept; required, and the only choice.",
    "sat": "Saturates: floats are clamped to 0..1 (NaN gives 0), integers held at the limits of their type.",
    "satfinite": "What would overflow becomes the largest finite number (integers: the limit of the type).",
    "relu": "Negative results become 0.",
    "approx": "A fast approximation by the special-function unit; the manual states its error.",
    "full": "An approximation that holds over the full range of operands.",
    "NaN": "The result is NaN if an operand is; without it the other operand wins.",
    "xorsign": "The result gets the exclusive or of the operands' signs.",
    "abs": "Absolute values are taken first.",
    # parts of products, carries, shifts
    "lo": "The lower half of the product; in comparisons: lower, < on unsigned integers.",
    "hi": "The upper half of the product; in comparisons: higher, > on unsigned integers.",
    "wide": "The whole product, in a register of twice the width.",
    "cc": "Writes the carry flag CC.CF, for extended-precision chains.",
    "shiftamt": "Gives the left shift that brings the bit to the top, not its position.",
    "clamp": "Amounts above the limit are held at it.",
    "wrap": "Amounts are taken modulo 32.",
    "l": "Shifts left and keeps the upper word.",
    "r": "Shifts right and keeps the lower word.",
    "f4e": "Four bytes forward, from byte c on.",
    "b4e": "Four bytes backward, from byte c on.",
    "rc8": "Byte c in all four places.",
    "ecl": "Bytes below c become byte c.",
    "ecr": "Bytes above c become byte c.",
    "rc16": "16-bit half c in both places.",
    # comparisons and predicates
    "eq": "Equal; false where a float is NaN.",
    "ne": "Not equal; false where a float is NaN.",
    "lt": "Less than; false where a float is NaN.",
    "le": "Less than or equal; false where a float is NaN.",
    "gt": "Greater than; false where a float is NaN.",
    "ge": "Greater than or equal; false where a float is NaN.",
    "ls": "Lower or same: <= on unsigned integers.",
    "hs": "Higher or same: >= on unsigned integers.",
    "equ": "Equal, or a NaN among them.",
    "neu": "Not equal, or a NaN among them.",
    "ltu": "Less than, or a NaN among them.",
    "leu": "Less than or equal, or a NaN among them.",
    "gtu": "Greater than, or a NaN among them.",
    "geu": "Greater than or equal, or a NaN among them.",
    "num": "True where neither operand is NaN.",
    "nan": "True where an operand is NaN.",
    "and": "Combines with and.",
    "or": "Combines with or.",
    "xor": "Combines with exclusive or.",
    "finite": "True for everything but infinities and NaN.",
    "infinite": "True for the infinities.",
    "number": "True for everything but NaN.",
    "notanumber": "True for NaN.",
    "normal": "True for finite numbers that are neither 0 nor subnormal.",
    "subnormal": "True for numbers below the smallest normal one, 0 excepted.",
    # state spaces
    "global": "Global memory: what the host allocates; every thread of the grid sees it.",
    "shared": "Shared memory: fast, on the chip, one per block.",
    "shared::cta": "Shared memory of the thread's own block.",
    "shared::cluster": "Shared memory of any block in the cluster.",
    "local": "Local memory: private to the thread, kept in global memory behind the caches.",
    "const": "Constant memory: read-only, fast when all lanes read the same address.",
    "param": "Parameters of the kernel or of a function call.",
    "param::entry": "Parameters of the kernel.",
    "param::func": "Parameters of a function call.",
    "to": "Converts from generic to the space; without it, from the space to generic.",
    # memory order and scope
    "weak": "An ordinary access: others see it only after a barrier or fence (the default).",
    "volatile": "The access really happens, each time, and is not merged with others.",
    "relaxed": "Atomic with respect to other threads of the scope, but orders nothing else.",
    "acquire": "What comes after it in the program happens after it, as the scope sees it.",
    "release": "What comes before it in the program happens before it, as the scope sees it.",
    "acq_rel": "Both acquire and release.",
    "sc": "Sequentially consistent: all such fences happen in one order.",
    "mmio": "Memory-mapped I/O: exactly one access, in order.",
    "cta": "Scope: the threads of the block.",
    "cluster": "Scope: the threads of the cluster of blocks.",
    "gpu": "Scope: all threads of this GPU.",
    "gl": "Scope: all threads of this GPU (the old word).",
    "sys": "Scope: all threads of the system, other GPUs and the CPU included.",
    "proxy": "Orders accesses that take different paths to memory.",
    "alias": "Accesses to one place under different virtual addresses.",
    "async": "Without waiting for completion; of a fence: the path that bulk copies and tensor cores take.",
    "mbarrier_init": "Concerns only the initialisation of mbarriers.",
    "async::generic": "Between the asynchronous path to memory and the ordinary one.",
    "sync_restrict::shared::cluster": "Shared memory of any block in the cluster only.",
    "sync_restrict::shared::cta": "Shared memory of the thread's own block only.",
    "pack": "Puts narrow results side by side.",
    "tensormap::generic": "From ordinary stores to tensor-map reads.",
    # caches
    "ca": "Cached in L1 and L2 (the default of loads).",
    "cg": "Cached in L2 only.",
    "cs": "Streaming: will be used once, evict it first.",
    "lu": "Last use: need not be written back.",
    "cv": "Not cached: fetched again each time.",
    "wb": "Written back to the caches (the default of stores).",
    "wt": "Written through to memory.",
    "nc": "Through the read-only cache; nobody may write the data while the kernel runs.",
    "L1": "The cache of the multiprocessor.",
    "L2": "The cache of the GPU.",
    "L1::evict_normal": "L1 keeps the line with the usual priority.",
    "L1::evict_unchanged": "L1 leaves the line's priority as it is.",
    "L1::evict_first": "L1 drops the line early.",
    "L1::evict_last": "L1 keeps the line as long as it can.",
    "L1::no_allocate": "L1 does not keep the line: for data that is streamed through once.",
    "L2::evict_normal": "L2 keeps the line with the usual priority.",
    "L2::evict_first": "L2 drops the line early.",
    "L2::evict_last": "L2 keeps the line as long as it can.",
    "L2::evict_unchanged": "L2 leaves the line's priority as it is.",
    "L2::cache_hint": "The last operand is a cache policy.",
    "L2::64B": "Brings 64 bytes into L2 with it.",
    "L2::128B": "Brings 128 bytes into L2 with it.",
    "L2::256B": "Brings 256 bytes into L2 with it.",
    "cvt": "From an access property of CUDA C++.",
    "fractional": "The priority holds for a fraction of the accesses.",
    "range": "The priority holds for a range of addresses.",
    "prefetch": "Only brings the data closer.",
    # vectors
    "v2": "Two elements at once; the address is aligned to both.",
    "v4": "Four elements at once; the address is aligned to all four.",
    "v8": "Eight elements at once; the address is aligned to all eight.",
    # atomic operations
    "add": "Adds the operands of all threads that take part.",
    "min": "Keeps the smaller value.",
    "max": "Keeps the larger value.",
    "inc": "Adds 1, and starts again at 0 above the limit b.",
    "dec": "Subtracts 1, and starts again at the limit b below 0.",
    "exch": "Exchanges: memory gets b, the register what was there.",
    "cas": "Compares and swaps: memory gets c if it holds b.",
    # warps and blocks
    "sync": "All threads named must come here before any goes on.",
    "aligned": "All threads of the warp (or block) execute this same instruction.",
    "warp": "Among the lanes of one warp.",
    "arrive": "Arrives at a barrier without waiting.",
    "wait": "Waits until what was started is done.",
    "red": "Combines a predicate of all threads.",
    "popc": "Counts: the bits that are set, or the threads whose predicate holds.",
    "up": "From the lane b below.",
    "down": "From the lane b above.",
    "bfly": "From the lane whose number differs in the bits of b.",
    "idx": "The target is picked from a table by an index.",
    "all": "Of all lanes.",
    "any": "Each lane is compared with every other one.",
    "ballot": "One bit from each lane.",
    "uni": "Uniform: all lanes of the warp agree.",
    "mask": "One bit for each event.",
    "launch_dependents": "Lets the next kernel begin.",
    # matrices
    "row": "Rows lie one after the other in memory (row-major).",
    "col": "Columns lie one after the other in memory (column-major).",
    "trans": "Transposes each 8x8 matrix on the way.",
    "x1": "One 8x8 matrix, one register a lane.",
    "x2": "Two 8x8 matrices, two registers a lane.",
    "x4": "Four 8x8 matrices, four registers a lane.",
    "load": "Loads a fragment.",
    "store": "Stores a fragment.",
    "mma": "Multiplies and adds.",
    "mma_async": "Multiplies and adds while the threads go on.",
    "fence": "Orders register and shared-memory accesses against the products.",
    "a": "The left matrix.",
    "b": "The right matrix.",
    "c": "The matrix that is added.",
    "d": "The result matrix, with M rows and N columns.",
    "oob": "The result is 0 where a factor is the NaN that marks an element out of a tensor's bounds.",
    "sp": "The left matrix is sparse: two of four elements are zero.",
    "sp::ordered_metadata": "The left matrix is sparse, its index in ascending order.",
    # asynchronous copies
    "commit_group": "Closes the group of what was started.",
    "wait_group": "Waits for all but the youngest n groups.",
    "wait_all": "Waits for everything that this thread started.",
    "bulk": "A whole block of memory, by the copy engine.",
    "bulk_group": "Completion is awaited by groups.",
    "tensor": "A tile of a tensor described by a tensor map.",
    "tensormap": "The description of a tensor that bulk copies read.",
    "tile": "A box of neighbouring elements.",
    "im2col": "Rearranged for convolutions.",
    "im2col_no_offs": "Rearranged for convolutions, without offsets.",
    "reduce": "Combines with what is in memory.",
    "read": "Waits only until the source has been read.",
    "multicast::cluster": "To the same place in several blocks of the cluster.",
    "mbarrier": "Reports completion to an mbarrier.",
    "mbarrier::complete_tx::bytes": "Reports the bytes that have arrived to an mbarrier.",
    "noinc": "The arrival was counted when the mbarrier was initialised.",
    "init": "Initialises it.",
    "inval": "Ends its use.",
    "expect_tx": "Announces bytes that will arrive.",
    "complete_tx": "Reports bytes that have arrived.",
    "noComplete": "The arrival does not complete the phase.",
    "arrive_drop": "Arrives and takes no part in later phases.",
    "test_wait": "Asks whether the phase is over.",
    "try_wait": "Asks whether the phase is over, after waiting a little.",
    "parity": "Names the phase by its parity.",
    "pending_count": "How many arrivals are missing.",
    "replace": "Replaces a field.",
    "global_address": "Field: where the tensor begins.",
    "rank": "Field: how many dimensions it has.",
    "box_dim": "Field: the size of the tile.",
    "global_dim": "Field: the size of the tensor.",
    "global_stride": "Field: bytes from one row to the next.",
    "element_stride": "Field: every how many elements one is taken.",
    "elemtype": "Field: the type of an element.",
    "interleave_layout": "Field: how channels are interleaved.",
    "swizzle_mode": "Field: how the tile is permuted in shared memory against bank conflicts.",
    "fill_mode": "Field: what stands outside the tensor.",
    "b1024": "The size of a tensor map in bits.",
}
"""Modifier word, without its dot -> one sentence."""

NEEDS: dict[str, tuple[tuple[int, int], int]] = {
    "shared::cta": ((7, 8), 0), "shared::cluster": ((7, 8), 90), "cluster": ((7, 8), 90),
    "param::entry": ((8, 3), 0), "param::func": ((8, 3), 0), "weak": ((6, 0), 70), "NaN": ((7, 0), 80),
    "L1::evict_normal": ((7, 4), 70), "L1::evict_unchanged": ((7, 4), 70), "L1::evict_first": ((7, 4), 70),
    "L1::evict_last": ((7, 4), 70), "L1::no_allocate": ((7, 4), 70), "L2::cache_hint": ((7, 4), 80),
    "L2::64B": ((7, 4), 75), "L2::128B": ((7, 4), 75), "L2::256B": ((7, 4), 80),
}  # fmt: skip
"""Modifier -> the PTX version and architecture that it needs wherever it stands."""

_KINDS = {"b": "bits", "u": "unsigned integer", "s": "signed integer", "f": "floating point"}
_PARTICULAR = {
    "pred": "A predicate: one bit a thread.",
    "f16": "16-bit floating point (IEEE half): 11 significant bits, up to 65504.",
    "bf16": "bfloat16: 8 significant bits, the range of f32.",
    "f32": "32-bit floating point: 24 significant bits.",
    "f64": "64-bit floating point: 53 significant bits.",
    "tf32": "f32 with 11 significant bits, for tensor cores.",
    "f16x2": "Two f16 in one 32-bit register.",
    "bf16x2": "Two bf16 in one 32-bit register.",
    "f32x2": "Two f32 in one 64-bit register.",
    "e4m3": "8-bit floating point: 4 exponent and 3 fraction bits, up to 448.",
    "e5m2": "8-bit floating point: 5 exponent and 2 fraction bits, up to 57344.",
    "e4m3x2": "Two e4m3 in one 16-bit register.",
    "e5m2x2": "Two e5m2 in one 16-bit register.",
    "b1": "Single bits, 32 to a register.",
}


def word(text: str) -> str:
    """The sentence for a modifier word (without its dot); KeyError if there is none."""
    if text in WORDS:
        return WORDS[text]
    if text in _PARTICULAR:
        return _PARTICULAR[text]
    plain = re.fullmatch(r"([bus])(\d+)(?:x(\d))?", text)
    if plain:
        kind, bits, count = plain.groups()
        if count:
            return f"{count} {bits}-bit {_KINDS[kind]}s in one register."
        return f"{bits} bits of any meaning." if kind == "b" else f"{bits}-bit {_KINDS[kind]}."
    shape = re.fullmatch(r"m(\d+)n(\d+)(?:k(\d+))?", text)
    if shape:
        rows, columns, depth = shape.groups()
        if depth is None:
            return f"Matrices of {rows} rows and {columns} columns."
        return f"a is {rows} x {depth}, b is {depth} x {columns}, c and d are {rows} x {columns}."
    if re.fullmatch(r"[1-5]d", text):
        return f"A tensor of {text[0]} dimension{'s' if text != '1d' else ''}."
    raise KeyError(text)


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A read-only register that the hardware provides: its PTX type and what it holds."""

    type: str
    says: str

    @property
    def lane(self) -> str:
        """Its lane type in the CPU machine."""
        return types.lane(self.type)


def _special_registers() -> dict[str, SpecialRegister]:
    table: dict[str, SpecialRegister] = {}
    for name, says in (
        ("%tid", "The thread's place in its block"),
        ("%ntid", "How many threads a block has"),
        ("%ctaid", "The block's place in the grid (PTX calls a block a CTA, cooperative thread array)"),
        ("%nctaid", "How many blocks the grid has"),
        ("%clusterid", "The cluster's place in the grid"),
        ("%nclusterid", "How many clusters the grid has"),
        ("%cluster_ctaid", "The block's place in its cluster"),
        ("%cluster_nctaid", "How many blocks a cluster has"),
    ):
        for axis in "xyz":
            table[f"{name}.{axis}"] = SpecialRegister("u32", f"{says}, in direction {axis}.")
    for name, type_, says in (
        ("%laneid", "u32", "The thread's place in its warp, 0 to 31."),
        ("%warpid", "u32", "The warp's slot on its multiprocessor; it may change, so compute warps from %tid."),
        ("%nwarpid", "u32", "How many warp slots the multiprocessor has."),
        ("%smid", "u32", "Which multiprocessor runs the block."),
        ("%nsmid", "u32", "The largest multiprocessor number plus one."),
        ("%gridid", "u64", "The number of the launch."),
        ("%is_explicit_cluster", "pred", "Whether the launch asked for clusters."),
        ("%cluster_ctarank", "u32", "The block's number in its cluster."),
        ("%cluster_nctarank", "u32", "How many blocks the cluster has."),
        ("%lanemask_eq", "u32", "The bit of this lane."),
        ("%lanemask_le", "u32", "The bits of this lane and those below it."),
        ("%lanemask_lt", "u32", "The bits of the lanes below this one."),
        ("%lanemask_ge", "u32", "The bits of this lane and those above it."),
        ("%lanemask_gt", "u32", "The bits of the lanes above this one."),
        ("%clock", "u32", "A counter of the multiprocessor's cycles, its lower 32 bits."),
        ("%clock_hi", "u32", "A counter of the multiprocessor's cycles, its upper 32 bits."),
        ("%clock64", "u64", "A counter of the multiprocessor's cycles."),
        ("%globaltimer", "u64", "Nanoseconds on a clock that the whole GPU shares."),
        ("%globaltimer_lo", "u32", "The lower 32 bits of %globaltimer."),
        ("%globaltimer_hi", "u32", "The upper 32 bits of %globaltimer."),
        ("%total_smem_size", "u32", "Bytes of shared memory of the block, static and dynamic."),
        ("%aggr_smem_size", "u32", "Bytes of shared memory of the block, what the system reserves included."),
        ("%dynamic_smem_size", "u32", "Bytes of dynamic shared memory of this launch."),
        ("%current_graph_exec", "u64", "The CUDA graph that launched the kernel, or 0."),
    ):
        table[name] = SpecialRegister(type_, says)
    for k in range(8):
        table[f"%pm{k}"] = SpecialRegister("u32", "A performance counter; what it counts is the driver's choice.")
        table[f"%pm{k}_64"] = SpecialRegister("u64", f"%pm{k} with 64 bits.")
    for k in range(32):
        table[f"%envreg{k}"] = SpecialRegister("b32", "A number that the driver hands to the kernel.")
    return table


SPECIAL: dict[str, SpecialRegister] = _special_registers()
"""Special register -> type and meaning: `%tid.x`, `%laneid`, `%clock64`."""

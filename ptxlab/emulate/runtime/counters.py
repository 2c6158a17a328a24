"""The counters of a launch: by instruction, by PTX line, and under the names of Nsight Compute's metrics.

PTX is counted, not the machine code (SASS) that a GPU would run: the assembler merges, splits and drops instructions,
so numbers of instructions differ from `ncu`'s. Accesses to memory mostly stay one to one. `METRICS` says what each
number counts, and whether it is counted or modelled.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.runtime.state import MOVED
from ptxlab.isa.actions import Action

FIELDS = (
    "warps", "threads",  # that executed the instruction, whether its guard held or not
    "on_warps", "on_threads",  # those of which at least one lane, and those whose own, guard held
    "divergent",  # executions of a branch after which the lanes did not all go the same way
    "global_requests", "global_sectors", "global_ideal", "global_bytes",
    "shared_requests", "shared_wavefronts", "shared_ideal", "shared_bytes",
    "local_requests", "local_bytes",
    *MOVED,
)  # fmt: skip
"""What is counted for each instruction of a program."""

TALLY = np.dtype([(name, np.int64) for name in FIELDS])
"""One element an instruction (`Program.codes`) is what both engines give to `ptxlab.emulate.runtime.counters`."""


NEEDED = {"global": "sectors", "shared": "wavefronts"}
"""What accesses to a space need, by its name in the fields."""


def moves_pairs(code: Code) -> bool:
    """Whether an access to shared memory is one whose groups may grow: an ordinary load."""
    return code.action is Action.LOAD


def is_branch(code: Code) -> bool:
    """Whether a warp may diverge here. The `ret` of a kernel ends its threads: no warp diverges at it."""
    return code.properties.jumps and (code.action is not Action.RETURN or code.register >= 0)


@dataclass(frozen=True)
class LineCounters:
    """One PTX line: `warps` and `threads` that executed it, `on_threads` whose guard held (`on_warps`: with any such).

    divergent: executions of a branch after which the warp diverged. requests: accesses to global or shared memory;
    `sectors` of 32 bytes of global memory and the `ideal_sectors` that would hold as many bytes; `wavefronts` of shared
    memory and the `ideal_wavefronts` without bank conflicts. bytes: read and written by all threads, in any space.
    flops: see `Counters`. bulk: bytes that its bulk copies bring to shared memory, or take from it.
    """

    opcode: str
    warps: int
    threads: int
    on_warps: int
    on_threads: int
    divergent: int = 0
    requests: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    bytes: int = 0
    flops: int = 0
    bulk: int = 0

    @property
    def conflicts(self) -> int:
        """Wavefronts that bank conflicts added."""
        return self.wavefronts - self.ideal_wavefronts


@dataclass(frozen=True)
class Counters:
    """What the CPU machine counted. A warp-instruction is one instruction issued for one warp, a thread-instruction one
    for one active thread, whether its guard held or not.

    opcodes and lines (PTX line, 1-based) map to (warp-, thread-instructions); pipes map to warp-instructions; by_line
    has everything about a line. flops: floating-point operations by type (an fma is two, `mma` 2*M*N*K; division, roots
    and transcendental functions none, as in `ncu`). metrics: numbers by their name in Nsight Compute, see `METRICS`.
    moved: bytes moved asynchronously, see `MOVES`. issue_slots: of each warpgroup of a block, summed
    over all blocks, the warp-instructions that its warps issued, by pipe. Each of them takes an issue slot, whoever the
    tensor cores or copies work for: so they say what a role costs. Tries to wait for an mbarrier are among them.
    """

    warp_instructions: int
    thread_instructions: int
    opcodes: dict[str, tuple[int, int]]
    lines: dict[int, tuple[int, int]]
    by_line: dict[int, LineCounters] = field(default_factory=dict, repr=False)
    pipes: dict[str, int] = field(default_factory=dict, repr=False)
    flops: dict[str, int] = field(default_factory=dict, repr=False)
    metrics: dict[str, int] = field(default_factory=dict, repr=False)
    moved: dict[str, int] = field(default_factory=dict, repr=False)
    issue_slots: dict[int, dict[str, int]] = field(default_factory=dict, repr=False)

    @property
    def predicated_off(self) -> float:
        """The share of thread-instructions whose guard did not hold."""
        on = self.metrics["smsp__thread_inst_executed_pred_on.sum"]
        return 1 - on / self.thread_instructions if self.thread_instructions else 0.0

    @property
    def shared_conflicts(self) -> int:
        """Wavefronts of shared memory beyond those needed without bank conflicts."""
        return self.metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]

    @property
    def global_sectors(self) -> int:
        """Sectors of global memory that all instructions ask for."""
        return self.metrics["memory_l2_theoretical_sectors_global"]

    @property
    def bulk_bytes(self) -> int:
        """Bytes of global memory that bulk copies read, write and reduce; a multicast's once."""
        return sum(n for what, n in self.moved.items() if MOVES[what].startswith("bulk_global"))

    @property
    def memory_sectors(self) -> int:
        """Sectors of global memory that threads ask for, and those that hold what bulk copies move."""
        return self.global_sectors - (-self.bulk_bytes // SECTOR)

    @property
    def memory_bytes(self) -> int:
        """Bytes of global memory that a launch asks for: whole sectors for threads, and what bulk copies move."""
        return self.global_sectors * SECTOR + self.bulk_bytes

    @property
    def product_wavefronts(self) -> int:
        """Turns of shared memory that the operands of all `wgmma` take (modelled): 128 bytes each. A core matrix is 8
        lines of 16 bytes, which lie in different banks in each of the layouts that a descriptor can name, so there are
        no bank conflicts."""
        return -(-self.moved.get(PRODUCTS_READ, 0) // WAVEFRONT)

    def __getitem__(self, name: str) -> int:
        """A metric by its name in Nsight Compute."""
        return self.metrics[name]

    def __str__(self) -> str:
        width = max(map(len, METRICS))
        return "\n".join(f"{name:<{width}}  {value:>15,}" for name, value in self.metrics.items() if value)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        rows = "".join(
            f'<tr title="{html.escape(METRICS[name].says)}"><td>{name}</td><td>{value:,}</td></tr>'
            for name, value in self.metrics.items()
            if value
        )
        return {"text/plain": str(self), "text/html": f"<table>{rows}</table>"}


PIECES, WAVEFRONT, SECTOR = 32, 128, 32
PRODUCTS_READ = "read from shared memory by wgmma"
"""Bytes of a row of A, or a column of B, along k (with a sparse A, B has twice as many), of a turn of shared memory and
of a sector; the name in `MOVES` of what `wgmma` reads."""
MOVES = {
    "read from global memory by bulk copies": "bulk_global_ld",
    "written to global memory by bulk copies": "bulk_global_st",
    "reduced in global memory by bulk copies": "bulk_global_red",
    "written to shared memory by bulk copies": "bulk_shared_st",
    "read from shared memory by bulk copies": "bulk_shared_ld",
    "written to other blocks' shared memory": "bulk_remote",
    PRODUCTS_READ: "",
}
"""Bytes moved asynchronously, and the field that counts each kind. A multicast reads once and writes to each block;
elements outside of a tensor are written and not read."""


# -- metrics -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metric:
    """A metric of Nsight Compute: what it counts in one sentence; `modelled` where that follows from a model of the
    hardware and is not a count of what happened here. Its value is the total `of` a name, `less` another, and `more` of
    a third."""

    says: str
    of: str
    less: str = ""
    modelled: bool = False
    more: str = ""

    def value(self, totals: dict[str, int]) -> int:
        """Its value in a launch with these totals."""
        return totals.get(self.of, 0) - totals.get(self.less, 0) + totals.get(self.more, 0)


NCU_BYTES = " ncu counts a byte once that several threads of a warp load together."
NCU_TURNS = " ncu adds turns for warps, shuffles and barriers that use the same pipe."
"""How its numbers differ on an H100."""
METRICS: dict[str, Metric] = {}
"""Every metric by its name, in the order in which they are shown."""


def _define() -> None:
    def counted(name: str, of: str, says: str, more: str = "") -> None:
        METRICS[name] = Metric(says, of, more=more)

    def modelled(name: str, of: str, says: str, more: str = "") -> None:
        METRICS[name] = Metric(says, of, modelled=True, more=more)

    counted("smsp__inst_executed.sum", "warps", "PTX instructions executed, each once for every warp that issued it.")
    counted("smsp__thread_inst_executed.sum", "threads", "The same, once for every active thread of the warp.")
    counted(
        "smsp__thread_inst_executed_pred_on.sum",
        "on_threads",
        "The same, once for every active thread whose guard predicate held.",
    )
    for pipe, does in PIPES.items():
        unit = "sm" if pipe == "tensor" else "smsp"
        says = f"Warp-instructions of the {pipe} pipe ({does}), by what each PTX instruction mostly becomes."
        modelled(f"{unit}__inst_executed_pipe_{pipe}.sum", f"pipe_{pipe}", says)
    counted(
        "smsp__sass_branch_targets.sum", "branches", "Branches, calls and returns from functions, executed by warps."
    )
    counted(
        "smsp__sass_branch_targets_threads_divergent.sum",
        "divergent",
        "Those after which the active threads of the warp did not all go the same way.",
    )
    METRICS["smsp__sass_branch_targets_threads_uniform.sum"] = Metric(
        "Those after which they did.", "branches", "divergent"
    )
    for op, word, also in (
        ("ld", "loads, cp.async among them", "copy"),
        ("st", "stores", ""),
        ("atom", "atomics with a result", ""),
        ("red", "reductions", ""),
    ):
        counted(
            f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum",
            f"global_requests_{op}",
            f"Requests to global memory by {word}: warp-instructions with a thread that accesses it.",
            also and f"global_requests_{also}",
        )
        modelled(
            f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum",
            f"global_sectors_{op}",
            f"Sectors of 32 bytes of global memory, each once an instruction, touched by {word}.",
            also and f"global_sectors_{also}",
        )
    modelled(
        "memory_l2_theoretical_sectors_global",
        "global_sectors",
        "Sectors of global memory that all instructions ask for, caches apart.",
    )
    modelled(
        "memory_l2_theoretical_sectors_global_ideal",
        "global_ideal",
        "Sectors that would hold the bytes those threads ask for, packed; at most those needed.",
    )
    for suffix, part, word in (
        ("", "", "accesses"),
        ("_op_ld", "_ld", "loads"),
        ("_op_st", "_st", "stores"),
        ("_op_atom", "_atom", "atomics"),
    ):
        modelled(
            f"l1tex__data_pipe_lsu_wavefronts_mem_shared{suffix}.sum",
            f"shared_wavefronts{part}",
            f"Wavefronts that the {word} of shared memory take: turns of up to 128 bytes."
            + ("" if suffix else NCU_TURNS),
        )
        METRICS[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{suffix}.sum"] = Metric(
            f"Wavefronts of shared-memory {word} beyond those needed without bank conflicts.",
            f"shared_wavefronts{part}",
            f"shared_ideal{part}",
            modelled=True,
        )
    modelled(
        "memory_l1_wavefronts_shared_ideal",
        "shared_ideal",
        "Wavefronts of shared memory that there would be without bank conflicts.",
    )
    for space in ("global", "shared", "local"):
        for op, word in (("ld", "loads"), ("st", "stores")):
            counted(
                f"smsp__inst_executed_op_{space}_{op}.sum",
                f"{space}_requests_{op}",
                f"Warp-level {word} of {space} memory with a thread to execute.",
            )
            counted(
                f"smsp__sass_data_bytes_mem_{space}_op_{op}.sum",
                f"{space}_bytes_{op}",
                f"Bytes that the {word} of {space} memory move, counted for every thread."
                + (NCU_BYTES if op == "ld" and space != "local" else ""),
            )
        counted(
            f"smsp__sass_data_bytes_mem_{space}.sum",
            f"{space}_bytes",
            f"Bytes of {space} memory that threads read, write or change.",
        )
    for name, of, says in (
        (
            "xbar2l1tex_read_bytes_mem_global_op_tma_ld",
            "bulk_arrived",
            "Bytes of global memory that bulk copies bring to multiprocessors, a multicast's once for each block.",
        ),
        (
            "l1tex2xbar_write_bytes_mem_global_op_tma_st",
            "bulk_global_st",
            "Bytes that bulk copies write to global memory.",
        ),
        (
            "l1tex2xbar_write_bytes_mem_global_op_tma_red",
            "bulk_global_red",
            "Bytes that bulk copies reduce in global memory.",
        ),
        (
            "l1tex2xbar_write_bytes_mem_dshared_op_tma_st",
            "bulk_remote",
            "Bytes that bulk copies, st.async and red.async send to the shared memory of other blocks.",
        ),
    ):
        modelled(f"l1tex__m_{name}.sum", of, says)
    for letter, type_ in (("f", "f32"), ("d", "f64"), ("h", "16-bit")):
        for op, word in (("add", "additions"), ("mul", "multiplications"), ("fma", "fused multiply-adds")):
            name = f"{letter}fma" if op == "fma" else f"{letter}{op}"
            counted(
                f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum",
                name,
                f"Thread-level {type_} {word} whose guard held.",
            )


PIPES = {
    "fma": "f32 arithmetic, integer multiplication",
    "alu": "integer, logic, comparison, selection, moves",
    "xu": "transcendental functions, conversions, bit counts",
    "fp64": "f64 arithmetic",
    "fp16": "f16 and bf16 arithmetic",
    "lsu": "loads, stores, atomics, shuffles",
    "tensor": "matrix products",
    "cbu": "branches, calls, exits, warp synchronization",
    "adu": "constants and parameters, block barriers",
}
"""The pipes that PTX instructions are sorted into."""
_define()

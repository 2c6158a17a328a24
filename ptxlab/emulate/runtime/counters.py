"""The counters of a launch: by instruction, by PTX line, and under the names of Nsight Compute's metrics.

PTX is counted, not the machine code (SASS) that a GPU would run: the assembler merges, splits and drops instructions,
so numbers of instructions differ from `ncu`'s. Accesses to memory mostly stay one to one. `METRICS` says what each
number counts, and whether it is counted or modelled.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.runtime.state import MOVED
from ptxlab.errors import Span, shown_file
from ptxlab.isa.actions import Action

FIELDS = (
    "warps", "threads",  # that executed the instruction, whether its guard held or not
    "on_warps", "on_threads",  # warps with a lane whose guard held, and threads whose guard held
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
    """The counts of one PTX line.

    Attributes
    ----------
    opcode
        The instruction; several at one line are separated by semicolons.
    warps, threads
        Warps and threads that executed it.
    on_warps, on_threads
        Threads whose guard held, and warps with such a thread.
    divergent
        Executions of a branch after which the warp diverged.
    requests
        Warp-level accesses to global or shared memory.
    sectors, ideal_sectors
        Sectors of 32 bytes of global memory, and the fewest that hold as many bytes.
    wavefronts, ideal_wavefronts
        Wavefronts of shared memory, and how many there would be without bank conflicts.
    bytes
        Read and written by all threads, in any space.
    flops
        Floating-point operations; see `Counters`.
    bulk
        Bytes that its bulk copies bring to shared memory, or take from it.
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

    def __add__(self, other: LineCounters) -> LineCounters:
        names = [name for name in LineCounters.__dataclass_fields__ if name != "opcode"]
        opcodes = dict.fromkeys([*self.opcode.split("; "), *other.opcode.split("; ")])
        return LineCounters("; ".join(opcodes), *(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def conflicts(self) -> int:
        """Wavefronts that bank conflicts added."""
        return self.wavefronts - self.ideal_wavefronts


@dataclass(frozen=True)
class Counters:
    """The counts of a launch; `counters["smsp__inst_executed.sum"]` is one by its name in Nsight Compute.

    Attributes
    ----------
    warp_instructions
        Instructions, each once for every warp that issued it (`smsp__inst_executed.sum`).
    thread_instructions
        Instructions, each once for every active thread, whether its guard held or not
        (`smsp__thread_inst_executed.sum`).
    opcodes, lines
        (warp-instructions, thread-instructions) of each opcode, and of each PTX line, counted from 1.
    by_line
        `LineCounters` of each PTX line.
    pipes
        Warp-instructions of each pipe (`smsp__inst_executed_pipe_*.sum`).
    flops
        Floating-point operations by type. An fma is two, `mma` 2*M*N*K; division, roots and transcendental functions
        are none, as in `ncu`.
    metrics
        All numbers by their name in Nsight Compute. `METRICS` defines each.
    moved
        Bytes moved asynchronously, by the kinds of `MOVES`.
    issue_slots
        Warp-instructions that the warps of each warpgroup issued, by pipe, summed over all blocks: what a role costs.
        Each takes an issue slot, also while tensor cores or copies work; tries to wait for an mbarrier are among them.
    spans
        The source of each PTX line, for `by_source`.
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
    spans: Mapping[int, Span] = field(default_factory=dict, repr=False, compare=False)

    @property
    def by_source(self) -> dict[str, LineCounters]:
        """`by_line`, added up for each line of the source, `kernel.cu:5`; what comes from no known line is named ""."""
        out: dict[str, LineCounters] = {}
        for line, counts in self.by_line.items():
            span = self.spans.get(line)
            place = "" if span is None else f"{shown_file(span.file)}:{span.line}"
            out[place] = out[place] + counts if place in out else counts
        return out

    @property
    def predicated_off(self) -> float:
        """The share of thread-instructions whose guard did not hold: 1 minus `smsp__thread_inst_executed_pred_on.sum`
        over `smsp__thread_inst_executed.sum`."""
        on = self.metrics["smsp__thread_inst_executed_pred_on.sum"]
        return 1 - on / self.thread_instructions if self.thread_instructions else 0.0

    @property
    def shared_conflicts(self) -> int:
        """Wavefronts that bank conflicts added (`l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum`)."""
        return self.metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]

    @property
    def global_sectors(self) -> int:
        """Sectors of 32 bytes that all global accesses ask for (`memory_l2_theoretical_sectors_global`)."""
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
        """Wavefronts of 128 bytes that the operands of all `wgmma` take (modelled). There are no bank conflicts: the 8
        lines of 16 bytes of a core matrix lie in different banks in each layout that a descriptor can name."""
        return -(-self.moved.get(PRODUCTS_READ, 0) // WAVEFRONT)

    def __getitem__(self, name: str) -> int:
        """A metric by its name in Nsight Compute; KeyError for another name."""
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


@dataclass(frozen=True)
class Metric:
    """A metric of Nsight Compute: what it counts in one sentence; `modelled`: by a model of the hardware, not a count
    of what happened here. Its value is the total `of` a name, `less` another, and `more` of a third."""

    says: str
    of: str
    less: str = ""
    modelled: bool = False
    more: str = ""

    def value(self, totals: dict[str, int]) -> int:
        return totals.get(self.of, 0) - totals.get(self.less, 0) + totals.get(self.more, 0)


NCU_BYTES = " ncu counts a byte once when several threads of a warp load it together."
NCU_TURNS = " ncu adds turns for warps, shuffles and barriers that use the same pipe."
"""How its numbers differ on an H100."""
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


def _metrics() -> Iterator[tuple[str, Metric]]:
    executed, modelled = "smsp__inst_executed", functools.partial(Metric, modelled=True)
    threads, targets = "smsp__thread_inst_executed", "smsp__sass_branch_targets"
    yield f"{executed}.sum", Metric("PTX instructions executed, each once for every warp that issued it.", "warps")
    yield f"{threads}.sum", Metric("The same, once for every active thread of the warp.", "threads")
    says = "The same, once for every active thread whose guard predicate held."
    yield f"{threads}_pred_on.sum", Metric(says, "on_threads")
    for pipe, does in PIPES.items():
        unit = "sm" if pipe == "tensor" else "smsp"
        says = f"Warp-instructions of the {pipe} pipe ({does}), by what each PTX instruction mostly becomes."
        yield f"{unit}__inst_executed_pipe_{pipe}.sum", modelled(says, f"pipe_{pipe}")
    yield f"{targets}.sum", Metric("Branches, calls and returns from functions, executed by warps.", "branches")
    says = "Those after which the active threads of the warp did not all go the same way."
    yield f"{targets}_threads_divergent.sum", Metric(says, "divergent")
    yield f"{targets}_threads_uniform.sum", Metric("Those after which they did.", "branches", "divergent")
    for op, word, also in (
        ("ld", "loads, cp.async among them", "copy"), ("st", "stores", ""), ("atom", "atomics with a result", ""),
        ("red", "reductions", ""),
    ):  # fmt: skip
        says = f"Requests to global memory by {word}: warp-instructions with a thread that accesses it."
        requests, sectors = (also and f"global_{what}_{also}" for what in ("requests", "sectors"))
        yield f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum", Metric(says, f"global_requests_{op}", more=requests)
        says = f"Sectors of 32 bytes of global memory, each once per instruction, touched by {word}."
        yield f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum", modelled(says, f"global_sectors_{op}", more=sectors)
    says = "Sectors of global memory that all instructions ask for, whether or not a cache holds them."
    yield "memory_l2_theoretical_sectors_global", modelled(says, "global_sectors")
    says = "The fewest sectors that could hold the bytes that those threads ask for."
    yield "memory_l2_theoretical_sectors_global_ideal", modelled(says, "global_ideal")
    for op, word in (("", "accesses"), ("_ld", "loads"), ("_st", "stores"), ("_atom", "atomics")):
        suffix, taken = op and f"_op{op}", f"shared_wavefronts{op}"
        says = f"Wavefronts that the {word} of shared memory take: turns of up to 128 bytes."
        says += "" if op else NCU_TURNS
        yield f"l1tex__data_pipe_lsu_wavefronts_mem_shared{suffix}.sum", modelled(says, taken)
        says = f"Wavefronts of shared-memory {word} beyond those needed without bank conflicts."
        yield f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared{suffix}.sum", modelled(says, taken, f"shared_ideal{op}")
    says = "Wavefronts of shared memory that there would be without bank conflicts."
    yield "memory_l1_wavefronts_shared_ideal", modelled(says, "shared_ideal")
    for space in ("global", "shared", "local"):
        moved = f"smsp__sass_data_bytes_mem_{space}"
        for op, word in (("ld", "loads"), ("st", "stores")):
            says = f"Warp-level {word} of {space} memory with a thread to execute."
            yield f"{executed}_op_{space}_{op}.sum", Metric(says, f"{space}_requests_{op}")
            differs = NCU_BYTES if op == "ld" and space != "local" else ""
            says = f"Bytes that the {word} of {space} memory move, counted for every thread.{differs}"
            yield f"{moved}_op_{op}.sum", Metric(says, f"{space}_bytes_{op}")
        says = f"Bytes of {space} memory that threads read, write or change."
        yield f"{moved}.sum", Metric(says, f"{space}_bytes")
    says = "Bytes of global memory that bulk copies bring to multiprocessors, a multicast's once for each block."
    yield "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", modelled(says, "bulk_arrived")
    for name, of, says in (
        ("global_op_tma_st", "bulk_global_st", "Bytes that bulk copies write to global memory."),
        ("global_op_tma_red", "bulk_global_red", "Bytes that bulk copies reduce in global memory."),
        ("dshared_op_tma_st", "bulk_remote",
         "Bytes that bulk copies, st.async and red.async send to the shared memory of other blocks."),
    ):  # fmt: skip
        yield f"l1tex__m_l1tex2xbar_write_bytes_mem_{name}.sum", modelled(says, of)
    for letter, type_ in (("f", "f32"), ("d", "f64"), ("h", "16-bit")):
        for op, word in (("add", "additions"), ("mul", "multiplications"), ("fma", "fused multiply-adds")):
            name, says = f"{letter}{op}", f"Thread-level {type_} {word} whose guard held."
            yield f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum", Metric(says, name)


METRICS = dict(_metrics())
"""Every metric by its name, in the order in which they are shown."""

"""The faults that stop a kernel in the emulator, in words, the same for both engines: block, thread, line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ptxlab.emulate.program.addresses import GRANULE
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules.bulk_copies import OF_TENSORS, OPERATIONS
from ptxlab.emulate.rules.bulk_instructions import BAD_SIZE, BEFORE, BETWEEN, INTERLEAVED, NO_CLUSTER, NO_MAP, UNREDUCED
from ptxlab.emulate.rules.memcheck import FREED, MISALIGNED, READ_ONLY, VALID, judge, space_of
from ptxlab.emulate.runtime.memory import Memory, memory_map
from ptxlab.emulate.runtime.report import unravel
from ptxlab.emulate.runtime.state import (
    BAD_BULK,
    BAD_MBARRIER,
    CLUSTER,
    COPY_FROM,
    LOCAL,
    PARAM,
    SHARED,
    SPACES,
    MemoryMap,
)
from ptxlab.errors import DeviceFault, PtxError, UnsupportedInstruction
from ptxlab.isa.convert import PEER
from ptxlab.isa.mbarrier import Problem

if TYPE_CHECKING:
    from ptxlab.emulate.program.flat_program import Code
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.report import Launch


class FaultingThread(NamedTuple):
    """The thread that a fault stops, and where. block, thread: linear indices in the grid and in the block."""

    program: Program
    launch: Launch
    memory: Memory
    code: Code
    block: int
    thread: int

    @property
    def warp(self) -> int:
        """Its warp in the block."""
        return self.thread // LANES

    def in_lane(self, lane: int) -> FaultingThread:
        """The thread of another lane of its warp."""
        return self._replace(thread=LANES * self.warp + lane)

    def fault(self, kind: str, message: str, *, address: int | None = None, hint: str = "") -> DeviceFault:
        """The fault."""
        line = self.code.line
        return DeviceFault(
            kind,
            message,
            kernel=self.program.name,
            block=unravel(self.block, self.launch.grid),
            thread=unravel(self.thread, self.launch.block),
            line=line,
            source=self.program.source(line),
            address=address,
            span=self.program.spans.get(line),
            hint=hint,
        )

    def access_fault(
        self, what: str, space: str, address: int, size: int, *, align: int = 0, fragment: bool = False
    ) -> DeviceFault:
        """The memcheck fault of an invalid access; finds out why it is invalid.

        what: "load", "store" or "atomic". space: as in `Code.space`. size: bytes of the whole access (16 for
        `.v4.f32`), which must be a divisor of the address, or `align` instead. fragment: the warp accesses one matrix.
        """
        message = f"{what} of {size} {'byte' if size == 1 else 'bytes'} at {address:#x}: "
        if self.code.line in self.program.system.frees:  # for a second time
            message = f"free of {address:#x}: "
        message += self._why(what, space, address, size, align or size, fragment)
        hint = "look for a recursion that does not end, or goes too deep" if message.endswith(FRAMES) else ""
        return self.fault("memcheck", message, address=address, hint=hint)

    def _why(self, what: str, space: str, address: int, size: int, align: int, fragment: bool) -> str:
        program, launch = self.program, self.launch
        live = self.memory.live()
        reach = memory_map(program, launch, live)
        verdict, where, index, _ = judge(reach, SPACES[space], address, size, align, what != "load")
        if verdict == FREED:
            return freed(program, reach, address, size)
        if fragment and where == LOCAL:
            return "each thread has local memory of its own, a matrix must be where all lanes see it"
        if verdict == MISALIGNED:
            return f"misaligned, the address must be a multiple of {align}"
        if verdict == READ_ONLY:
            return "the kernel's parameters are read-only" if where == PARAM else f"{live[index].name!r} is read-only"
        if where == CLUSTER:
            return _outside_cluster(launch, verdict, space_of(SPACES[space], address)[1], reach)
        if where == SHARED:
            return _outside_shared(program, space_of(SPACES[space], address)[1], reach)
        if where == LOCAL:
            text = f"each thread has {program.local_size} bytes of local memory"
            stack = program.system.stack
            return f"{text}, {stack} of them {FRAMES}" if stack else text
        if where == PARAM:
            return f"the kernel's parameters take {program.param_size} bytes"
        return self.memory.describe(address, size)


FRAMES = "for the frames of recursive functions"


def freed(program: Program, reach: MemoryMap, address: int, size: int) -> str:
    """What of the heap was freed that an access reaches, and where."""
    first, last = ((at - reach.heap) // GRANULE for at in (address, address + size - 1))
    at = first if reach.given[first].freed else last
    line = reach.given[at].freed
    while not reach.given[at].bytes:
        at -= 1
    start, given = reach.heap + at * GRANULE, reach.given[at].bytes
    where = f"{program.spans[line]}" if line in program.spans else f"line {line}"
    return f"byte {address - start} of {given} bytes that malloc gave at {start:#x}, freed at {where}"


def _outside_cluster(launch: Launch, verdict: int, address: int, reach: MemoryMap) -> str:
    rank, offset = address // PEER - 1, address % PEER
    blocks, start, size = launch.cluster_blocks, reach.shared_start, reach.shared_size
    if rank >= blocks:
        return f"rank {rank} of the cluster, which has {blocks} {'block' if blocks == 1 else 'blocks'}"
    if verdict == VALID:
        return f"the block of rank {rank} in the cluster has exited, and its shared memory was freed with it"
    return f"offset {offset:#x} in the block of rank {rank}, whose shared memory is {size} bytes at {start:#x}"


def _outside_shared(program: Program, address: int, reach: MemoryMap) -> str:
    start, size = reach.shared_start, reach.shared_size
    if not size:
        return "the kernel has no shared memory"
    text = f"the block's shared memory is {size} bytes at {start:#x}"
    before = [v for v in program.shared_names if v[1] <= address]
    if before:
        name, at, size = max(before, key=lambda v: v[1])
        if address >= at + size:
            text += f"; {address - at - size} bytes past the end of {name!r} ({size} bytes at {at:#x})"
    return text


def unsupported(program: Program, code: Code) -> PtxError:
    """The error, when a kernel is loaded, of an instruction that an engine does not execute."""
    message = f"the CPU machine does not execute {code.form.opcode} yet: it can be assembled and run on a GPU only"
    return program.error(code, message, UnsupportedInstruction)


def lanes_in_words(mask: np.ndarray) -> str:
    """`lane 3`, `lanes 0-15 and 20`: a mask in words."""
    lanes = np.flatnonzero(mask).tolist()
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and runs[-1][-1] == lane - 1:
            runs[-1][1:] = [lane]
        else:
            runs.append([lane])
    text = [str(r[0]) if len(r) == 1 else f"{r[0]}-{r[1]}" for r in runs]
    return f"lane{'s' if len(lanes) > 1 else ''} " + (" and ".join(text) if len(text) < 3 else ", ".join(text))


def incomplete_warp(at: FaultingThread, there: int, *, guarded: bool) -> DeviceFault:
    """The fault of an `.aligned` instruction that only the lanes in `there` (a bit mask) execute."""
    lanes = lanes_in_words(np.array([bool(there >> k & 1) for k in range(LANES)]))
    verb = "is" if there == there & -there else "are"
    why = f"its guard holds in {lanes} only" if guarded else f"only {lanes} {verb} there"
    message = f"{at.code.form.opcode} needs all 32 lanes of the warp; {why}"
    return at.in_lane((there & -there).bit_length() - 1).fault("trap", message)


def disagreeing_lanes(at: FaultingThread) -> DeviceFault:
    """The fault of a `wmma` access whose address or stride is not the same in all lanes: it differs in the thread's."""
    what = "needs the same address and stride in all lanes"
    return at.fault("trap", f"{at.code.form.opcode} {what}; lane {at.thread % LANES} has others than lane 0")


def invalid_mbarrier(at: FaultingThread, problem: int) -> DeviceFault:
    """The fault of an invalid operation on an mbarrier."""
    return at.fault("trap", f"{at.code.form.opcode}: {Problem(problem).words}")


OF_BULK_COPIES = {
    BAD_SIZE: "its size must be a multiple of 16 bytes and not 0, found {}",
    NO_MAP: "there is no tensor map at {:#x}; make one with pl.TensorMap",
    INTERLEAVED: "the tensor map at {:#x} has an interleaved layout; how its strides are meant is not public, so the "
    "CPU machine copies without: write 0 for .interleave_layout",
    UNREDUCED: "elements of the type in the tensor map at {:#x} have no such reduction; there are "
    + "; ".join(f".{o} of {', '.join(t for t, taken in OF_TENSORS.items() if o in taken)}" for o in OPERATIONS),
    BETWEEN: "the tile must begin at a multiple of 16 bytes in the innermost dimension (its first coordinate times the "
    "bytes of an element), found {} bytes behind one; a GPU stops there with an illegal instruction",
    BEFORE: "a tile that is stored or reduced may begin at no negative coordinate, found -{}; a GPU stops there with "
    "an illegal instruction (a tile that is loaded may)",
    NO_CLUSTER: "this launch has no clusters; a GPU stops there with an illegal instruction, even where the block "
    "itself is meant",
}
_CLUSTER = "a block may be a cluster of its own; write:  pl.launch(..., cluster=(1, 1, 1)), or .reqnctapercluster 1"


def bulk_fault(at: FaultingThread, kind: int, address: int, count: int, align: int) -> DeviceFault:
    """The fault that `bulk_instructions.wrong` has noted."""
    if kind == BAD_MBARRIER:
        return invalid_mbarrier(at, address)
    if kind == BAD_BULK:
        hint = _CLUSTER if count == NO_CLUSTER else ""
        return at.fault("trap", f"{at.code.form.opcode}: {OF_BULK_COPIES[count].format(address)}", hint=hint)
    space = "cluster" if address < 1 << 32 else "generic"  # addresses of shared memory have 32 bits
    return at.access_fault("load" if kind == COPY_FROM else "store", space, address, count, align=align)

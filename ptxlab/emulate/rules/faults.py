"""The faults that stop a kernel in the emulator, in words, the same for both engines: block, thread, line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ptxlab.emulate.program.addresses import GRANULE
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules.bulk_copies import OF_TENSORS, OPERATIONS
from ptxlab.emulate.rules.bulk_instructions import BAD_SIZE, BEFORE, BETWEEN, INTERLEAVED, NO_CLUSTER, NO_MAP, UNREDUCED
from ptxlab.emulate.rules.memcheck import FREED, MISALIGNED, READ_ONLY, VALID, judge, space_of
from ptxlab.emulate.rules.warp_positions import Place, StoppedThread, in_words, positions, ranges
from ptxlab.emulate.rules.wrong_addresses import WrongAddress
from ptxlab.emulate.runtime import state as S
from ptxlab.emulate.runtime.memory import distance, elements, memory_map
from ptxlab.emulate.runtime.report import unravel
from ptxlab.errors import DeviceFault, LaunchKeyboardInterrupt, PtxError, UnsupportedInstruction
from ptxlab.isa.convert import PEER
from ptxlab.isa.mbarrier import Problem

if TYPE_CHECKING:
    from ptxlab.emulate.program.flat_program import Code, Source
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.memory import Memory
    from ptxlab.emulate.runtime.report import Launch


class FaultingThread(StoppedThread):
    @property
    def warp(self) -> int:
        return self.thread // LANES

    def in_lane(self, lane: int) -> FaultingThread:
        return self._replace(thread=LANES * self.warp + lane)

    def fault(self, kind: str, message: str, *, address: int | None = None, hint: str = "") -> DeviceFault:
        line = self.code.line
        return DeviceFault(
            kind,
            message,
            kernel=self.program.title,
            block=unravel(self.block, self.launch.grid),
            thread=unravel(self.thread, self.launch.block),
            line=line,
            source=self.program.source(line),
            address=address,
            span=self.program.spans.get(line),
            hint=hint,
        )

    def access_fault(
        self,
        what: str,
        space: str,
        address: int,
        size: int,
        *,
        align: int = 0,
        fragment: bool = False,
        wanted: str = "",
        operand: Source | None = None,
    ) -> DeviceFault:
        """The memcheck fault of an invalid access; finds out why it is invalid.

        what: "load", "store" or "atomic". space: as in `Code.space`. size: bytes of the whole access (16 for
        `.v4.f32`), which must be a divisor of the address, or `align` instead. fragment: the warp accesses one matrix.
        wanted: the space that the address has to be of, if not `space`. operand: it, if the table does not say which.
        """
        message = f"{what} of {size} {'byte' if size == 1 else 'bytes'} at {address:#x}: "
        if self.code.line in self.program.system.frees:  # for a second time
            message = f"free of {address:#x}: "
        wrong = WrongAddress(self, wanted or space, address, operand or self._operand(what))
        why, hint = self._why(what, space, address, size, align or size, fragment, wrong)
        return self.fault("memcheck", message + why, address=address, hint=hint)

    def _operand(self, what: str) -> Source | None:
        """The address of the instruction's access, if it has one of this kind."""
        found = [access for access in self.code.accesses if access.what == what]
        return self.code.named[found[0].operand][0] if len(found) == 1 else None

    def _why(
        self, what: str, space: str, address: int, size: int, align: int, fragment: bool, wrong: WrongAddress
    ) -> tuple[str, str]:
        """Why an access is invalid, and what to write."""
        program, launch = self.program, self.launch
        live = self.memory.live()
        reach = memory_map(program, launch, live)
        verdict, where, index, _ = judge(reach, S.SPACES[space], address, size, align, what != "load")
        if verdict == FREED:
            return freed(program, reach, address, size), ""
        if fragment and where == S.LOCAL:
            return "each thread has local memory of its own, a matrix must be where all lanes see it", ""
        if verdict == READ_ONLY:
            of_array = "" if where == S.PARAM else f"{live[index].name!r} is read-only"
            return of_array or "the kernel's parameters are read-only", ""
        explained = wrong.explained()
        if explained.text and not explained.adds:
            return explained.text, explained.hint
        near, hint = space_of(S.SPACES[space], address)[1], explained.hint
        if where == S.CLUSTER:
            text = _outside_cluster(launch, verdict, near, reach)
        elif where == S.SHARED and not reach.shared_size:
            text = "the kernel has no shared memory"
        elif where == S.SHARED:
            text = f"the block's shared memory is {reach.shared_size} bytes at {reach.shared_start:#x}"
            text = _outside("shared", text, near, size, wrong)
        elif where == S.LOCAL and program.system.stack:
            text = f"each thread has {program.local_size} bytes of local memory"
            text += f", {program.system.stack} of them for the frames of recursive functions"
            hint = hint or "look for a recursion that does not end, or goes too deep"
        elif where == S.LOCAL:
            text = _outside("local", f"each thread has {program.local_size} bytes of local memory", near, size, wrong)
        elif where == S.PARAM:
            text = f"the kernel's parameters take {program.param_size} bytes"
        else:
            text = self.memory.describe(address, size, wrong.array(), wrong.element) + wrong.argument()
        if verdict == MISALIGNED:
            text = f"misaligned, the address must be a multiple of {align}; {text}"
        return text + (f"; {explained.text}" if explained.text else ""), hint


def waits_for_others(at: FaultingThread, blocks: list[int]) -> DeviceFault:
    """The fault of resident blocks in which every thread waits for what only blocks could do that have not begun."""
    many, codes, first = len(blocks), at.program.codes, at.program.blocks[at.code.block].first
    at = at._replace(code=next(code for code in codes[first:] if code.polls))
    message = f"blocks {ranges(blocks)} wait for blocks that have not begun; {many:,} are resident, as many as the "
    message += f"largest GPU of {at.program.arch} holds"
    return at.fault("deadlock", message, hint=f"launch at most {many} blocks, with cooperative=True")


def freed(program: Program, reach: S.MemoryMap, address: int, size: int) -> str:
    """What of the heap was freed that an access reaches, and where."""
    first, last = ((at - reach.heap) // GRANULE for at in (address, address + size - 1))
    at = first if reach.given[first].freed else last
    line = reach.given[at].freed
    while not reach.given[at].bytes:
        at -= 1
    start, given = reach.heap + at * GRANULE, reach.given[at].bytes
    return f"byte {address - start} of {given} bytes that malloc gave at {start:#x}, freed at {program.place(line)}"


def _outside_cluster(launch: Launch, verdict: int, address: int, reach: S.MemoryMap) -> str:
    rank, offset = address // PEER - 1, address % PEER
    blocks, start, size = launch.cluster_blocks, reach.shared_start, reach.shared_size
    if rank >= blocks:
        return f"rank {rank} of the cluster, which has {blocks} {'block' if blocks == 1 else 'blocks'}"
    if verdict == VALID:
        return f"the block of rank {rank} in the cluster has exited, and its shared memory was freed with it"
    return f"offset {offset:#x} in the block of rank {rank}, whose shared memory is {size} bytes at {start:#x}"


def _outside(space: str, text: str, address: int, size: int, wrong: WrongAddress) -> str:
    """`text`, and how far an address is from the array of shared or local memory that it is meant for."""
    bits = 64 if address >> 32 else 32
    address -= 1 << bits if address >> (bits - 1) else 0
    program, room = wrong.at.program, wrong.at.launch.shared
    if space == "shared" and program.dynamic_names and address >= program.dynamic_start:
        text += f"; {distance(address - program.dynamic_start, room)} {' and '.join(map(repr, program.dynamic_names))}"
        text += f", dynamic shared memory of {room} bytes at {program.dynamic_start:#x}"
        return text + ("" if room else " (the launch gave none: shared=...)")
    name, start, room = wrong.array_in(space, address) or ("", 0, 0)
    if not name:
        return text
    text += f"; {distance(address - start, room)} {name!r} ({room} bytes at {start:#x})"
    return text + elements(name, address - start, room, size, 0, wrong.element)


def unsupported(program: Program, code: Code) -> PtxError:
    """The error, when a kernel is loaded, of an instruction that an engine does not execute."""
    return program.error(code, UnsupportedInstruction.says(code.form.opcode, program.arch), UnsupportedInstruction)


def lanes_in_words(mask: np.ndarray) -> str:
    """`lane 3`, `lanes 0-15 and 20`: a mask in words."""
    lanes = np.flatnonzero(mask).tolist()
    return f"lane{'s' if len(lanes) > 1 else ''} {ranges(lanes)}"


def deadlocked(
    program: Program, launch: Launch, memory: Memory, blocks: Sequence[int], to_report: int, places: Iterable[Place]
) -> DeviceFault:
    """The fault of the blocks of a cluster (without clusters: of one block) of which no thread can go on: what each of
    their warps waits for, first those of the block that it is reported for."""
    together: dict[tuple[int, int, tuple[int, ...], int, str], list[int]] = {}  # in a cluster the warps of a block are
    alive = set()
    for at in sorted(places, key=lambda at: (at.block != to_report, at.block, at.warp, at.lanes)):
        alive.add((at.block, at.warp))
        if at.waits_for:
            key = at.block, at.warp if len(blocks) == 1 else 0, tuple(at.lanes), at.code, at.waits_for
            together.setdefault(key, []).append(at.warp)
    lines = [f"no thread of the {'block' if len(blocks) == 1 else 'cluster'} can go on"]
    for block in sorted(blocks, key=lambda block: block != to_report):
        x, y, z = unravel(block, launch.grid)
        name = f"block ({x}, {y}, {z}), " if len(blocks) > 1 else ""
        for (where, _, lanes, code, what), warps in together.items():
            if where == block:
                who = f"warp{'s' if len(warps) > 1 else ''} {ranges(warps)}, lane{'s' if len(lanes) > 1 else ''} "
                place = f"({program.codes[code].form.opcode}, {program.place(program.codes[code].line)})"
                lines.append(f"{name}{who}{ranges(lanes)}: wait{'s' if len(warps) == 1 else ''} for {what} {place}")
        ended = [str(warp) for warp in range(launch.warps) if (block, warp) not in alive]
        if ended:
            lines.append(f"{name}ended: {'warp' if len(ended) == 1 else 'warps'} {', '.join(ended)}")
    (_, _, (lane, *_), code, _), (warp, *_) = next(iter(together.items()))
    first = FaultingThread(program, launch, memory, program.codes[code], to_report, LANES * warp + lane)
    return first.fault("deadlock", "\n    ".join(lines))


def spent(at: FaultingThread, places: Iterable[Place]) -> DeviceFault:
    """The fault of a launch that has run its budget; `places`: where its warps are."""
    warps = positions(at.program, at.launch, places)
    message = f"the launch has run its {at.launch.budget:,} warp-instructions and has not ended"
    message = "\n    ".join([message, *in_words(at.program, warps)])
    fault = at.fault("budget", message, hint="look for an endless loop, or give a larger budget=")
    fault.warps = warps
    return fault


def interrupted(program: Program, launch: Launch, executed: int, places: Iterable[Place]) -> LaunchKeyboardInterrupt:
    """The error of a launch that is stopped by hand, after so many warp-instructions."""
    warps = positions(program, launch, places)
    message = f"kernel {program.title} was stopped after {executed:,} warp-instructions"
    message = "\n    ".join([message, *in_words(program, warps)])
    return LaunchKeyboardInterrupt(message, kernel=program.title, warps=warps)


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


def source_size(at: FaultingThread, found: int) -> DeviceFault:
    most = at.code.number("size")
    return at.fault(
        "trap", f"{at.code.form.opcode} of {most} bytes: the source size goes from 0 to {most}, found {found}"
    )


def invalid_mbarrier(at: FaultingThread, problem: int) -> DeviceFault:
    return at.fault("trap", f"{at.code.form.opcode}: {Problem(problem).words}")


OF_BULK_COPIES = {
    BAD_SIZE: "its size must be a multiple of 16 bytes, found {}",
    NO_MAP: "there is no tensor map at {:#x}; make one with pl.TensorMap",
    INTERLEAVED: "the tensor map at {:#x} has an interleaved layout; how its strides are meant is not public, so the "
    "emulator copies without: write 0 for .interleave_layout",
    UNREDUCED: "elements of the type in the tensor map at {:#x} have no such reduction; there are "
    + "; ".join(f".{o} of {', '.join(t for t, taken in OF_TENSORS.items() if o in taken)}" for o in OPERATIONS),
    BETWEEN: "the tile must begin at a multiple of 16 bytes in the innermost dimension (its first coordinate times the "
    "bytes of an element), found {} bytes after one; a GPU stops there with an illegal instruction",
    BEFORE: "a tile that is stored or reduced must not begin at a negative coordinate, found -{}; a GPU stops there "
    "with an illegal instruction (a tile that is loaded may)",
    NO_CLUSTER: "this launch has no clusters; a GPU stops there with an illegal instruction, even where the block "
    "itself is meant",
}
_CLUSTER = "a block may be a cluster of its own; write:  pl.launch(..., cluster=(1, 1, 1)), or .reqnctapercluster 1"


def bulk_fault(at: FaultingThread, kind: int, address: int, count: int, align: int) -> DeviceFault:
    """The fault that `bulk_instructions.wrong` has noted."""
    if kind == S.BAD_MBARRIER:
        return invalid_mbarrier(at, address)
    if kind == S.BAD_BULK:
        hint = _CLUSTER if count == NO_CLUSTER else ""
        return at.fault("trap", f"{at.code.form.opcode}: {OF_BULK_COPIES[count].format(address)}", hint=hint)
    space = "cluster" if address < 1 << 32 else "generic"  # addresses of shared memory have 32 bits
    form, reads = at.code.form, kind == S.COPY_FROM
    wanted, name = (str(form.src), "b") if reads else (str(form.dst), "a")
    if form.tensor and align in (1, 64):  # in the tensor, or its map
        wanted, name = "", ""
    elif form.single:
        wanted, name = "cluster", ""
    elif not reads and (count, align) == (8, 8):
        wanted, name = "shared", "m"
    operand = at.code.named[name][0] if name else None
    wanted = wanted.partition("::")[0]
    what = "load" if reads else "store"
    return at.access_fault(what, space, address, count, align=align, wanted=wanted, operand=operand)

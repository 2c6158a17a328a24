"""The words of the checks: which rule a note breaks, and a sentence that names the remedy, once for both engines."""

from __future__ import annotations

import re

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.register_flow import register_flow
from ptxlab.emulate.rules.instructions import is_bulk, wide
from ptxlab.emulate.rules.notes import *
from ptxlab.emulate.runtime.report import Launch, unravel
from ptxlab.isa import find_form
from ptxlab.isa.actions import AsyncGroup

RULES: dict[int, tuple[str, str]] = {
    UNINITIALISED: ("initcheck", "uninitialised read"), NO_VALUE: ("initcheck", "uninitialised register"),
    OVERRUN: ("initcheck", "array overrun"), TOUCHED_EARLY: ("synccheck", "wgmma in flight"),
    UNFENCED: ("synccheck", "wgmma without a fence"), NO_PROXY_FENCE: ("synccheck", "async proxy without a fence"),
    TILE_OVERWRITTEN: ("synccheck", "wgmma in flight"), TILE_LAYOUT: ("synccheck", "wgmma descriptor"),
    TILE_UNORDERED: ("synccheck", "wgmma in flight"),
    RAW: ("racecheck", "RAW"), WAR: ("racecheck", "WAR"), WAW: ("racecheck", "WAW"), SAME: ("racecheck", "WAW"),
    LOCKSTEP: ("racecheck", "relies on lanes in lockstep"), DIVERGENT: ("synccheck", "divergent barrier"),
    DIVERGENT_BLOCK: ("synccheck", "divergent block"), EXITED: ("synccheck", "barrier after exit"),
    COUNTS: ("synccheck", "barrier count"), OMITTED: ("synccheck", "mask omits lane"),
    EXITED_LANE: ("synccheck", "mask names exited lane"), SOURCE: ("synccheck", "shuffle source"),
    RANGE: ("synccheck", "shuffle range"), PENDING: ("synccheck", "asynchronous copy"),
    PHASE: ("synccheck", "mbarrier phase"), ENDLESS: ("synccheck", "mbarrier wait"),
    MADE_AGAIN: ("synccheck", "mbarrier in use"), INVALID_IN_USE: ("synccheck", "mbarrier in use"),
    UNMADE: ("synccheck", "mbarrier not initialised"), TOO_MANY: ("synccheck", "mbarrier arrivals"),
    COMPLETES: ("synccheck", "mbarrier arrivals"), BAD_COUNT: ("synccheck", "mbarrier arrivals"),
    TOO_FEW_BYTES: ("synccheck", "mbarrier bytes"), BYTES_LEFT: ("synccheck", "mbarrier bytes"),
    BAD_BYTES: ("synccheck", "mbarrier bytes"), BLOCK_ENDED: ("synccheck", "asynchronous copy"),
    INVALID_BEFORE_COPY: ("synccheck", "mbarrier in use"), INIT_UNORDERED: ("racecheck", "mbarrier init"),
    UNSEEN: ("synccheck", "mbarrier unseen"), MAY_HAVE_EXITED: ("racecheck", "block may have exited"),
}  # fmt: skip
"""The check that a kind of note belongs to, and the name of the kind."""


_ACROSS = (
    "threads of two blocks can be ordered only by atomics with fences, and an atomic of one thread counts for others "
    "of its block only if a barrier lies between (for lanes of its warp, a bar.warp.sync)"
)
_HAZARD = {
    RAW: "reads what another thread writes, and nothing makes the read come after the write",
    WAR: "overwrites what another thread reads, and nothing makes the write come after the read",
    WAW: "overwrites what another thread writes, and nothing says which write comes last",
}

_SENTENCES = {
    UNINITIALISED: "a thread reads {memory} that has not been written",
    OVERRUN: "a thread leaves the arrays of shared memory: it accesses bytes between two of them",
    SAME: "WAW hazard in {memory}: two lanes of one store write different values to the same place",
    LOCKSTEP: (
        "two lanes of one warp touch the same place in {memory} with volatile accesses, and nothing but lockstep "
        "puts these in order, which lanes do not keep since sm_70; write bar.warp.sync 0xffffffff; between the two"
    ),
    DIVERGENT: "only some lanes of a warp arrive at a barrier for all of them, while others are elsewhere",
    DIVERGENT_BLOCK: (
        "the warps of a block have arrived at two different barrier instructions: all threads of a block must "
        "execute the same ones, in a loop also as often; a barrier of some warps needs a thread count, as in "
        "bar.sync 1, 64"
    ),
    EXITED: "a warp arrives at a barrier for all its lanes after some of them have exited",
    OMITTED: "lane {note.lane} executes this instruction, and the mask {note.value:#010x} does not name it",
    EXITED_LANE: "the mask names lane {note.value}, which has exited",
    SOURCE: "lane {note.lane} reads the register of lane {note.value}, which does not take part",
    ENDLESS: "the wait does not end: phase {note.value} of the mbarrier has not ended, and no thread can still end it",
    MADE_AGAIN: "an mbarrier in use is initialized again: mbarrier.inval has to come first, when no thread uses it",
    UNFENCED: (
        "a wgmma uses a register that was written since the last wgmma.fence, or before the first one; write "
        "wgmma.fence.sync.aligned; between the two"
    ),
    INVALID_IN_USE: "an mbarrier is made invalid while another thread waits for it",
    UNMADE: "a thread uses an mbarrier that is not initialized: mbarrier.init has to come first, and be visible to all",
    TOO_MANY: "more threads arrive in one phase than the mbarrier was initialized for",
    COMPLETES: "an arrival ends the phase, which .noComplete promises it does not",
    BAD_COUNT: "an mbarrier counts from 1 arrival to 1048575",
    UNSEEN: "a thread arrives, and no wait has passed in the phase before: a wait is missing, or too many arrive",
    BAD_BYTES: "the bytes that a phase waits for leave the range of an mbarrier, -1048575 to 1048575",
    TILE_UNORDERED: (
        "a copy overwrites {memory} that a wgmma reads, and nothing but the order in which the warps ran here makes it "
        "come after the wgmma.wait_group for that product; an mbarrier at which the readers arrive after their wait "
        "would, if the thread that starts the copy waits for it"
    ),
    INIT_UNORDERED: (
        "a thread uses an mbarrier, and nothing makes this come after its mbarrier.init, so it may find none there "
        "yet; a barrier between the two would order them"
    ),
    MAY_HAVE_EXITED: (
        "a thread accesses shared memory of a block of the cluster that may have exited, since nothing makes it wait; "
        "write barrier.cluster.arrive; barrier.cluster.wait; after the access, in all blocks"
    ),
    INVALID_BEFORE_COPY: "an mbarrier is made invalid while a bulk copy that reports to it is in flight",
    TOO_FEW_BYTES: (
        "the phase ends before this copy is there: expect_tx has announced fewer bytes than are copied, or this copy "
        "was not counted; announce the bytes of all copies of the phase"
    ),
}
"""What notes of a kind say that need nothing but the memory and the note."""


def _two(value: int, second: int) -> tuple[int, int]:
    """The two numbers that the value of a note holds."""
    return value & (1 << second) - 1, value >> second


def sentence(program: Program, launch: Launch, note: Note, code: Code, other: Code | None, space: str) -> str:
    """What a note of the checks says: what is wrong, and what to write instead. space: of the memory, "" of none."""
    kind, memory = note.kind, f"{space} memory" if space else "memory"
    if kind == TOUCHED_EARLY and other is not None:
        early = set(writes(code)) & {*writes(other), *reads(other)}
        return (
            f"a thread {'overwrites' if early else 'reads'} a register of a wgmma that is still in flight; write "
            "wgmma.wait_group.sync.aligned 0; before it, and wgmma.commit_group.sync.aligned; after the product"
        )
    if kind == OVERRUN and note.value:
        end, begin = _two(note.value, SECOND_WIDE)
        return (
            f"a thread leaves an array or structure of its local memory (bytes {begin} to {end - 1}) "
            "and accesses what lies beside it"
        )
    if kind == NO_VALUE:
        return f"a thread uses register {_without_value(program, note.value)}"
    if kind in _HAZARD:
        if note.block != note.other_block:
            advice = _cause(program, note) or _in_cluster(launch, note) or _ACROSS
        elif note.warp == note.other_warp:
            advice = "they are lanes of one warp: bar.warp.sync between the two would order them"
        else:
            advice = _cause(program, note) or "a barrier between the two would order them"
        return f"{RULES[kind][1]} hazard in {memory}: a thread {_HAZARD[kind]}; {advice}"
    if kind == COUNTS:
        now, before = _two(note.value, SECOND)
        said = [f"{n} threads" if n else "all threads" for n in (now, before)]
        return f"warps disagree how many threads a barrier waits for: {said[0]} here, {said[1]} there"
    if kind == RANGE:
        source, last = _two(note.value, SECOND)
        return (
            f"lane {note.lane} asks for lane {source}, but the clamp operand allows lanes up to {last} only, and it "
            "gets its own value (for a whole warp write 31)"
        )
    if kind == DIVERGENT_BLOCK and note.value:
        return (
            f"warp {note.value - 1} has been at this barrier, and has exited while others come to it again: all "
            "threads of a block must go through a loop with a barrier in it equally often"
        )
    if kind in _ASYNCHRONOUS:
        return _asynchronous(program, note, code, other)
    if kind == PHASE and note.value < 0:
        return (
            "the wait passes at once: no phase has ended, and its parity asks for the one before the first; the first "
            "phase has parity 0"
        )
    if kind == PHASE:
        return (
            f"the wait passes at once: it asks for phase {note.value}, which this thread has waited for before, and so "
            f"it does not wait for phase {note.value + 1}; the parity has to change after each wait"
        )
    return _SENTENCES[kind].format(memory=memory, note=note)


_ASYNCHRONOUS = frozenset({PENDING, NO_PROXY_FENCE, TILE_OVERWRITTEN, TILE_LAYOUT, BLOCK_ENDED, BYTES_LEFT})


def _asynchronous(program: Program, note: Note, code: Code, other: Code | None) -> str:
    """What notes say of copies in flight and of the async proxy."""
    kind, copies = note.kind, is_bulk(code) and not code.properties.mbarrier
    if kind == NO_PROXY_FENCE:
        return (
            f"{'a bulk copy' if copies else 'a wgmma'} reads what a thread has stored, and no fence makes it seen by "
            "the async proxy; write fence.proxy.async; after the stores, before the barrier"
        )
    if kind == TILE_OVERWRITTEN:
        return (
            f"a {'bulk copy' if copies else 'thread'} overwrites a tile that a wgmma in flight reads; the warps that "
            "multiply execute wgmma.wait_group.sync.aligned 0; before the barrier in front of the "
            f"{'copy' if copies else 'store'}"
        )
    if kind == TILE_LAYOUT:
        ours, theirs = (("none", "32 bytes", "64 bytes", "128 bytes")[note.value >> at & 3] for at in (2, 0))
        if ours != theirs:
            return (
                f"the descriptor of a wgmma names another swizzle ({ours}) than the tensor map of the copy that wrote "
                f"the tile ({theirs}); bits 62 and 63 of the descriptor are 0 for none, 1 for 128, 2 for 64, 3 for 32"
            )
        return (
            "the descriptor of a wgmma does not follow the rows of the tile as the copy wrote them; look at its start "
            "address and base offset, and at its leading and stride byte offsets"
        )
    if kind == BLOCK_ENDED:
        first = "a wait for the mbarrier that counts its bytes" if note.value else _BULK_WAIT
        does = "writes to" if note.value else "reads"
        return f"the block ends while a bulk copy still {does} its shared memory: first comes {first}"
    if kind == BYTES_LEFT:
        return (
            f"copies bring {note.value} bytes that no expect_tx announces, and they count for a phase that does not "
            "wait for them; announce what is copied"
        )
    touches = "reads" if not code.properties.stores or (copies and _reads_shared(code)) else "overwrites"
    if other is not None and is_bulk(other):
        first = _BULK_WAIT if _reads_shared(other) else "a wait for the mbarrier that counts its bytes"
        moved = f"what {'another' if copies else 'a'} bulk copy is still moving"
        said = f"a {'bulk copy' if copies else 'thread'} {touches} {moved}: first comes {first}"
        if note.value:
            number, parity = _two(note.value, SECOND_WIDE)
            wait = program.codes[number - 1]
            said += (
                f"; the wait in line {wait.line} passed at once: it asks for parity {parity}, and the copy belongs to "
                f"the phase of parity {parity ^ 1}; the parity has to change after each phase"
            )
        return said
    return (
        f"a {'bulk copy' if copies else 'thread'} {touches} memory to which a cp.async is in flight: it must wait "
        "first, by cp.async.wait_group or wait_all, or for the mbarrier that the copies arrive at"
    )


_BULK_WAIT = "cp.async.bulk.commit_group and wait_group.read, by the thread that started it"


def _reads_shared(copy: Code) -> bool:
    """Whether a bulk copy goes to global memory."""
    return copy.properties.group is AsyncGroup.BULK


def _in_cluster(launch: Launch, note: Note) -> str:
    """What would order two threads of one cluster that race; "" where they are of two clusters."""
    places = (unravel(block, launch.grid) for block in (note.block, note.other_block))
    one, other = ([n // s for n, s in zip(place, launch.cluster_size, strict=True)] for place in places)
    if one != other:
        return ""
    return (
        "they are of two blocks of a cluster: barrier.cluster.arrive and barrier.cluster.wait between the two would "
        "order them"
    )


def _cause(program: Program, note: Note) -> str:
    """Which instruction would order two racing accesses if it were written otherwise, and how; "" if none would."""
    if note.value >> CAUSE == 0:
        return ""
    code, across = program.codes[(note.value >> CAUSE) - 1], note.block != note.other_block
    line = re.sub(r"\s*//.*", "", program.source(code.line)).strip()
    if across and not wide(code):
        scope, opcode = _widened(code.form.opcode)
        written = line.replace(code.form.opcode, opcode, 1)
        return (
            f"line {code.line}, {line} orders nothing between two blocks: its scope is the block (.cta); write "
            f".{scope}: {written}"
        )
    scope = "gpu" if across else "cta"
    return (
        f"line {code.line}, {line} does not keep later accesses after it: it is relaxed; write a fence after it: "
        f"fence.acq_rel.{scope};"
    )


def _widened(opcode: str) -> tuple[str, str]:
    """The scope that an instruction with the scope .cta needs to order blocks, and its opcode with that; not all
    instructions have .gpu."""
    if opcode.startswith("membar"):
        return "gpu", opcode.replace(".cta", ".gl")
    wider = [(scope, re.sub(r"\.cta\b", f".{scope}", opcode, count=1)) for scope in ("gpu", "cluster")]
    return next((each for each in wider if find_form(each[1]) is not None), wider[0])


def _without_value(program: Program, register: int) -> str:
    """A register that initcheck follows, by its number there, and why it has no value."""
    flow = register_flow(program)
    names = [program.registers[r].name for r in flow.origins[flow.registers[register]]]
    name = program.registers[flow.registers[register]].name
    if names == [name]:
        return f"{name}, to which nothing has been written"
    listed = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return f"{name}, which is computed from {listed}, to which nothing has been written"

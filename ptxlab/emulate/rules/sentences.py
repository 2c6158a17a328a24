"""What the checks say: which check a note belongs to, and a sentence that names the remedy, once for both engines."""

from __future__ import annotations

import re

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.instructions import is_bulk, wide
from ptxlab.emulate.rules.notes import *
from ptxlab.emulate.rules.repairs import CUDA, PTX, language, next_round, one_atomic, update, write
from ptxlab.emulate.runtime import report
from ptxlab.isa import find_form
from ptxlab.isa.actions import Action, AsyncGroup

CHECK_OF: dict[int, tuple[str, str]] = {
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
    UNSEEN: ("synccheck", "mbarrier unseen"), MISSED: ("synccheck", "mbarrier missed"),
    MAY_HAVE_EXITED: ("racecheck", "block may have exited"), SHARED_BARRIER: ("synccheck", "barrier shared"),
    MAY_NOT_HAVE_BEGUN: ("racecheck", "block may not have begun"),
}  # fmt: skip
"""The check that a kind of note belongs to, and the name of the kind of finding."""


_ACROSS = (
    "a barrier of a block orders no other: give each its own place, launch a second kernel{grid}, or pass a flag by "
    "atomics (one block stores, then {warps} and {gpu_fence} before it sets the flag; the other sees it, then "
    "{gpu_fence} and {warps} before it loads)"
)
_HAZARD = {
    RAW: "a thread reads what {} writes, and nothing makes the read come after the write",
    WAR: "a thread overwrites what {} reads, and nothing makes the write come after the read",
    WAW: "a thread overwrites what {} writes, and nothing says which write comes last",
    SAME: "two lanes of one store write different values to the same place",
}
_OTHER = ("another lane of its warp", "another warp", "another block")
_SEVERAL = ("lanes of a warp", "warps of a block", "blocks")

_SENTENCES = {
    OVERRUN: "a thread accesses shared memory outside of every array, between two of them",
    LOCKSTEP: (
        "two lanes of one warp touch the same place in {memory} with volatile accesses, and nothing but lockstep "
        "puts these in order, which lanes do not keep since sm_70; write {lanes} between the two"
    ),
    DIVERGENT: (
        "only some lanes of a warp arrive at a barrier for all of them, while others are elsewhere; move it out of the "
        "branch, to a place that all threads reach"
    ),
    DIVERGENT_BLOCK: (
        "the warps of a block have arrived at two different barrier instructions: all threads of a block must "
        "execute the same ones, in a loop also as often; a barrier of some warps needs a thread count, as in "
        "{some_warps}"
    ),
    EXITED: (
        "a warp arrives at a barrier for all its lanes after some of them have exited; let all threads reach the last "
        "barrier: keep it out of branches, and put the work that a thread must not do into one"
    ),
    OMITTED: "lane {note.lane} executes this instruction, and the mask {note.value:#010x} does not name it",
    EXITED_LANE: "the mask names lane {note.value}, which has exited",
    SOURCE: "lane {note.lane} reads the register of lane {note.value}, which does not take part",
    ENDLESS: "the wait does not end: phase {note.value} of the mbarrier has not ended, and no thread can still end it",
    MADE_AGAIN: "an mbarrier in use is initialized again: mbarrier.inval has to come first, when no thread uses it",
    UNFENCED: (
        "a wgmma uses a register that was written since the last wgmma.fence, or before the first one; write "
        "{product_fence} between the two"
    ),
    INVALID_IN_USE: "an mbarrier is made invalid while another thread waits for it",
    UNMADE: "a thread uses an mbarrier that is not initialized: mbarrier.init has to come first, and be visible to all",
    TOO_MANY: "more threads arrive in one phase than the mbarrier was initialized for",
    COMPLETES: "an arrival with .noComplete ends the phase, and .noComplete promises that it does not",
    BAD_COUNT: "the arrival count of an mbarrier must be from 1 to 1048575",
    UNSEEN: "a thread arrives, and no wait has passed in the phase before: a wait is missing, or too many arrive",
    MISSED: (
        "a thread may miss a phase: nothing makes it pass this wait before the arrivals of the next phase, and if that "
        "is over first, the wait does not end; let each warp that waits arrive itself, or write a barrier of them "
        "({some_warps}) between the wait and the arrival of one of them"
    ),
    SHARED_BARRIER: (
        "two groups of warps use barrier {note.value}, and nothing makes this warp arrive after the other has, so both "
        "may arrive in one phase; give each group a barrier of its own, as in {other_warps}, or make one of them "
        "wait for the other first"
    ),
    BAD_BYTES: "the bytes that a phase waits for are outside the range of an mbarrier, -1048575 to 1048575",
    TILE_UNORDERED: (
        "a thread or its copy overwrites {memory} that a wgmma reads, and nothing but the order in which the warps ran "
        "here makes it come after the wgmma.wait_group for that product; let the readers arrive at an mbarrier after "
        "their wait, and let that thread wait for it"
    ),
    INIT_UNORDERED: (
        "a thread uses an mbarrier, and nothing makes this come after its mbarrier.init, so it may find none there "
        "yet; write {barrier} between the two"
    ),
    MAY_HAVE_EXITED: (
        "a thread accesses shared memory of a block of the cluster that may have exited, since nothing makes it wait; "
        "write {cluster} after the access, in all blocks"
    ),
    MAY_NOT_HAVE_BEGUN: (
        "a thread accesses shared memory of a block of the cluster that may not have begun, and nothing makes it wait; "
        "write {cluster} before the access, in all blocks"
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


def sentence(
    program: Program, launch: report.Launch, together: list[Note], code: Code, other: Code | None, space: str
) -> str:
    """What the notes of a finding say: what is wrong, and what to write instead. together: the first is what it is
    about. space: of the memory, "" of none."""
    note, memory = together[0], f"{space} memory" if space else "memory"
    kind, words = note.kind, write(program, code)
    if kind == TOUCHED_EARLY and other is not None:
        early = set(writes(code)) & {*writes(other), *reads(other)}
        return (
            f"a thread {'overwrites' if early else 'reads'} a register of a wgmma that is still in flight; write "
            f"{words['product_wait']} before it, and {words['commit']} after the product{_named(program, code, other)}"
        )
    if kind == OVERRUN and note.value:
        end, begin = _two(note.value, SECOND_WIDE)
        return (
            f"a thread accesses its local memory outside of the array or structure (bytes {begin} to {end - 1}) "
            "from which the address was computed"
        )
    if kind == UNINITIALISED:
        does = "stores it" if other is not None and other.action is Action.STORE else "uses it"
        used = "" if other is None else f", and {program.place(other.line)} {does}"
        return f"a thread reads {memory} that has not been written{used}"
    if kind == NO_VALUE:
        return f"a thread uses register {_without_value(program, note.value)}"
    if kind in _HAZARD and other is not None:
        name = CHECK_OF[kind][1]
        more = sorted({CHECK_OF[each.kind][1] for each in together} - {name})
        also = f" (also {', '.join(more)})" if more else ""
        return f"{name} hazard in {memory}{also}: {_hazard(program, launch, note, code, other, more)}"
    if kind == COUNTS:
        said = [f"{n} threads" if n else "all threads" for n in _two(note.value, SECOND)]
        return f"warps disagree on how many threads a barrier waits for: {said[0]} here, {said[1]} there"
    if kind == RANGE:
        source, last = _two(note.value, SECOND)
        return (
            f"lane {note.lane} asks for lane {source}, but the clamp operand allows lanes up to {last} only, and it "
            f"gets its own value (for a whole warp write {words['whole_warp']})"
        )
    if kind == DIVERGENT_BLOCK and note.value:
        return (
            f"warp {note.value - 1} has been at this barrier, and has exited while others come to it again: all "
            "threads of a block must go through a loop with a barrier in it equally often"
        )
    if kind in _ASYNCHRONOUS:
        return _asynchronous(program, note, code, other, words, space == "global")
    if kind == UNFENCED and other is not None:
        return _SENTENCES[kind].format(**words) + _named(program, other, code)
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
    return _SENTENCES[kind].format(
        memory=memory, note=note, barrier=words["cluster" if note.scope == 2 else "warps"], **words
    )


def _hazard(program: Program, launch: report.Launch, note: Note, code: Code, other: Code, more: list[str]) -> str:
    """What two accesses do that race, and what orders them."""
    said, words = _HAZARD[note.kind].format(_OTHER[note.scope]), write(program, code)
    barrier = words[("lanes", "warps", "cluster")[note.scope]]
    if cause := _cause(program, note):
        return f"{said}; {cause}"
    if path := update(program, note):
        locked = f"; under a lock: {words['gpu_fence']} after it is taken and before it is released"
        return (
            f"several {_SEVERAL[note.scope]} load, change and store one word, which only an atomic does at once; write "
            f"{one_atomic(program, path)} in place of the load and the store, or give each thread its own place"
            f"{locked if program.may_wait else ''}"
        )
    if code is other:
        return f"{said}; let one thread write there, or give each its own place"
    if code.polls or other.polls:
        return f"{said}; if this is a flag that is polled, make both accesses volatile or atomic"
    if note.scope == 2:
        return f"{said}; {_in_cluster(launch, note, words) or _ACROSS.format(**words)}"
    if is_bulk(other):
        return (
            f"{said}; the access must come after {_wait_for(other, code.space == 'global', words)}, and then {barrier}"
        )
    if is_bulk(code):
        return f"{said}; write {barrier} before the copy, or a wait for an mbarrier at which the other thread arrives"
    where = "between the two" + ", or in a loop between its rounds" * (more != [] or note.other > note.code)
    where = "between the rounds of the loop" if next_round(program, note) else where
    where += ", at a place that all threads of the block reach" * (note.scope == 1)
    return f"{said}; write {barrier} {where}" + ", behind the wait for the copy" * other.properties.lane_copy


_ASYNCHRONOUS = frozenset({PENDING, NO_PROXY_FENCE, TILE_OVERWRITTEN, TILE_LAYOUT, BLOCK_ENDED, BYTES_LEFT})


def _asynchronous(
    program: Program, note: Note, code: Code, other: Code | None, words: dict[str, str], there: bool
) -> str:
    """What notes say of copies in flight and of the async proxy. there: in global memory."""
    kind, copies = note.kind, is_bulk(code) and not code.properties.mbarrier
    if kind == NO_PROXY_FENCE:
        brought = other is not None and other.properties.lane_copy
        stored, after = ("cp.async", "the wait for it") if brought else ("thread", "the stores")
        return (
            f"{'a bulk copy' if copies else 'a wgmma'} reads what a {stored} has stored, and no fence makes it seen by "
            f"the async proxy; write {words['proxy_fence']} after {after}, before the barrier"
        )
    if kind == TILE_OVERWRITTEN:
        return (
            f"a {'bulk copy' if copies else 'thread'} overwrites a tile that a wgmma in flight reads; the warps that "
            f"multiply execute {words['product_wait']} before the barrier in front of the "
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
        does, first = "writes to" if note.value else "reads", _wait_for(code, False, words)
        return f"the block ends while a bulk copy still {does} its shared memory: it must end after {first}"
    if kind == BYTES_LEFT:
        return (
            f"copies bring {note.value} bytes that no expect_tx announces, and they count for a phase that does not "
            "wait for them; announce what is copied"
        )
    reads = not code.properties.stores or (code.properties.lane_copy and there)
    touches = "reads" if (_reads_shared(code) != there if copies else reads) else "overwrites"
    if other is not None and is_bulk(other):
        first = _wait_for(other, there, words)
        moved = f"what {'another' if copies else 'a'} bulk copy is still moving"
        said = f"a {'bulk copy' if copies else 'thread'} {touches} {moved}: the access must come after {first}"
        if note.value:
            number, parity = _two(note.value, SECOND_WIDE)
            wait = program.codes[number - 1]
            said += (
                f"; the wait in {program.place(wait.line)} passed at once: it asks for parity {parity}, and the copy "
                f"belongs to the phase of parity {parity ^ 1}; the parity has to change after each phase"
            )
        return said
    return (
        f"a {'bulk copy' if copies else 'thread'} {touches} memory "
        f"{'that a cp.async in flight reads' if there else 'to which a cp.async is in flight'}: it must come after "
        f"{words['copy_wait']} of the thread that copies and, in another one, a barrier, or a wait for the mbarrier "
        "that the copies arrive at"
    )


def _wait_for(copy: Code, there: bool, words: dict[str, str]) -> str:
    """What comes before an access to the memory of a bulk copy. there: in global memory."""
    if not _reads_shared(copy):
        return f"{words['bulk_arrival']} that counts its bytes"
    return f"{words['bulk_commit']} and {words['bulk_wait' if there else 'bulk_read']}, in the thread that started it"


def _reads_shared(copy: Code) -> bool:
    """Whether a bulk copy goes to global memory."""
    return copy.properties.group is AsyncGroup.BULK


def _in_cluster(launch: report.Launch, note: Note, words: dict[str, str]) -> str:
    """What would order two threads of one cluster that race; "" where they are of two clusters."""
    places = (report.unravel(block, launch.grid) for block in (note.block, note.other_block))
    one, other = ([n // s for n, s in zip(place, launch.cluster_size, strict=True)] for place in places)
    if one != other:
        return ""
    return f"they are of two blocks of a cluster; write {words['cluster']} between the two, in all of its blocks"


def _cause(program: Program, note: Note) -> str:
    """Which instruction would order two racing accesses if it were written otherwise, and how; "" if none would."""
    if note.value >> CAUSE == 0:
        return ""
    if note.value >> CAUSE == SOME_LANES:
        lanes = write(program, program.codes[note.code])["lanes"]
        return (
            f"some lanes of that warp arrive, or set a flag, for all; write {lanes} behind the access, before they do"
        )
    code, across = program.codes[(note.value >> CAUSE) - 1], note.block != note.other_block
    words, place = write(program, code), program.place(code.line)
    line = re.sub(r"\s*//.*", "", program.source(code.line)).strip()
    if across and not wide(code):
        scope, opcode = _widened(code.form.opcode)
        wider = f"write .{scope}: {line.replace(code.form.opcode, opcode, 1)}"
        if language(program, code) != PTX:
            wider = f"write {words['device_atomic' if code.properties.atomic else 'gpu_fence']} in its place"
        return f"{place}, {line} orders nothing between two blocks: its scope is the block (.cta); {wider}"
    keeps, where = "keep later accesses after it", "after"
    if code.properties.mbarrier and code.action not in (Action.MBARRIER_TEST, Action.MBARRIER_WAIT):
        keeps, where = "release earlier ones", "before"
    fence = words["gpu_fence" if across else "block_fence"]
    return f"{place}, {line} does not {keeps}: it is relaxed; write a fence {where} it: {fence}"


def _named(program: Program, writer: Code, product: Code) -> str:
    """How the compiler of CUDA C++ is kept from moving what writes a register of a product over `asm` statements."""
    shared = set(writes(writer)) & {*writes(product), *reads(product)}
    if language(program, product) != CUDA or not shared:
        return ""
    letter = {"f32": "f", "f64": "d"}.get(program.registers[min(shared)].type, "r")
    return (
        f", and name each register of the product in the asm statements around it ('\"+{letter}\"(d[0])' and so on), "
        "or the compiler moves what touches them past these"
    )


def _widened(opcode: str) -> tuple[str, str]:
    """The scope that a .cta instruction needs to order blocks, and its opcode with it; not all have .gpu."""
    if opcode.startswith("membar"):
        return "gpu", opcode.replace(".cta", ".gl")
    wider = [(scope, re.sub(r"\.cta\b", f".{scope}", opcode, count=1)) for scope in ("gpu", "cluster")]
    return next((each for each in wider if find_form(each[1]) is not None), wider[0])


def _without_value(program: Program, value: int) -> str:
    """A register that is used without a value, and why it has none: one to which nothing has been written."""
    name, origin = (program.registers[r].name for r in _two(value, SECOND_WIDE))
    computed = "" if name == origin else f", which is computed from {origin}"
    return f"{name}{computed}, to which nothing has been written"

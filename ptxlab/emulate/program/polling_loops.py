"""Loops that only wait for others: no round of them changes anything, or learns anything from the round before.

Whether a thread leaves such a loop depends on memory alone. So once it has made a round in vain, it makes every further
one in vain until another thread has stored something. A loop that gives up after some attempts, or after some time, is
none; one that sleeps longer each time is.
"""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Code, Literal, Mem
from ptxlab.emulate.program.graphs import reachable
from ptxlab.emulate.program.liveness import live_in, numbers, reads, registers_of, writers_of
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.program.reconvergence import POLLING
from ptxlab.emulate.program.wait_loops import HARMLESS, WAITS, reads_clock
from ptxlab.isa.actions import Action

LOOKS = (Action.LOAD, Action.ATOMIC)


def waiting_codes(program: Program) -> tuple[int, ...]:
    """The indices of instructions in loops that only wait for others."""
    loops = [
        range(code.target, code.block + 1)
        for code in program.codes
        if code.action is Action.BRANCH and code.rounds == POLLING
    ]
    loops = [loop for loop in loops if all(map(_changes_nothing, _codes(program, loop)))]
    alive = live_in(program) if loops else []
    found = [_codes(program, loop) for loop in loops if _forgets(_codes(program, loop), alive[loop.start])]
    return tuple(sorted({code.index for loop in found for code in loop}))


def may_wait_for_blocks(program: Program) -> bool:
    """Whether a loop that only waits looks at memory that other blocks can change."""
    looks = [code for code in map(program.codes.__getitem__, program.waiting) if code.action in LOOKS]
    return any(code.space != "shared" for code in looks)


def _codes(program: Program, loop: range) -> list[Code]:
    return program.codes[program.blocks[loop[0]].first : program.blocks[loop[-1]].last]


def _changes_nothing(code: Code) -> bool:
    """Whether an instruction leaves memory as it is, whoever executes it how often. Lanes of a warp may meet there."""
    if code.action is Action.ATOMIC:  # a load in other words
        given = [code.named[name][0] for name in ("b", "c") if name in code.named]
        none = given == [Literal(0)] and code.form.operation in ("add", "or", "xor")
        return none or (code.form.operation == "cas" and given[0] == given[1])
    return code.action in (*HARMLESS, Action.BRANCH) or code.form.op.kind == "pure" or code.properties.converges


def _forgets(codes: list[Code], alive: int) -> bool:
    """Whether what decides where lanes of a loop go depends on nothing that an earlier round has left. alive: the
    registers that may be read before a round has written to them."""
    writers = writers_of(codes)
    decide = [r for code in codes for r in (*_address(code), *([code.guard[0]] if code.guard else ()))]
    decide = list(reachable(decide, lambda r: [each for code in writers.get(r, ()) for each in reads(code)]))
    timed = any(reads_clock(code) for r in decide for code in writers.get(r, ()))
    return not timed and not any(r in writers for r in set(decide).intersection(numbers(alive)))


def _address(code: Code) -> list[int]:
    if code.action in (*WAITS, Action.ATOMIC):
        return reads(code)
    return [r for source in code.sources if isinstance(source, Mem) for r in registers_of(source)]

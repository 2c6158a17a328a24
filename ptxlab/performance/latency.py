"""How many clocks one warp would take if it had the multiprocessor for itself: the time that other warps can fill.

A warp issues one instruction per clock at most, and an instruction waits for the registers that it reads. The assembler
puts those first that do not wait; at best the longest chain of dependent instructions remains. This follows the chains
in each basic block, between barriers, and multiplies with how often warps went through the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.liveness import reads, registers_of
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action, AsyncGroup

PIPE_LATENCY = {"fma": 4, "alu": 4, "fp16": 4, "fp64": 4, "xu": 18, "tensor": 33, "cbu": 4, "adu": 8, "lsu": 23}
"""Clocks until an instruction that depends on the result can issue, by pipe. Sources: Abdelkhalik et al., "Demystifying
the Nvidia Ampere Architecture through Microbenchmarking", arXiv:2208.11174, and for mma.sync Sun et al., "Dissecting
Tensor Cores via Microbenchmarks", arXiv:2206.02874; measured on an A100, taken for every GPU here."""
GLOBAL_LATENCY = 200
"""Clocks of a load from global memory that hits in the L2 cache (the first source; 290 from memory, 33 from L1)."""
BARRIER_LATENCY = 20
"""Clocks that a barrier takes when all warps are there: a guess, in the range that forum posts report."""
_WAITS = (Action.WAIT_GROUP, Action.WAIT_ALL)


def latency(code: Code) -> int:
    """Clocks until the results of an instruction can be read."""
    if code.properties.loads and code.space in ("global", "local", ""):
        return GLOBAL_LATENCY
    if code.properties.pipe_in(code.space) == "lsu":
        return PIPE_LATENCY["lsu"]
    return BARRIER_LATENCY if code.action is Action.BARRIER else PIPE_LATENCY[code.properties.pipe_in(code.space)]


def block_clocks(codes: list[Code], block: Block) -> int:
    """Clocks from the first to the last issue of a block. A loop's body that is one block is gone through twice, and
    the second round counts: there results of the first are waited for."""
    ready: dict[int, int] = {}
    now = began = copied = 0
    for _ in range(2 if block.index in block.targets else 1):
        began = now
        for part in _parts(codes[block.first : block.last]):
            last = now + len(part)
            for code in part:
                issued = max([now, *(ready.get(register, 0) for register in reads(code))])
                last = max(last, issued + 1)
                if code.properties.stores and code.properties.group is not AsyncGroup.NONE:
                    copied = issued
                for destination in code.dests:
                    for register in registers_of(destination):
                        ready[register] = issued + latency(code)
            now = last
            if part and part[-1].action is Action.BARRIER:
                now += BARRIER_LATENCY
            elif part and part[-1].action in _WAITS and copied and not _leaves_some(part[-1]):
                now = max(now, copied + GLOBAL_LATENCY)  # the rest of the way of the copies of this block
    return now - began


def _parts(codes: list[Code]) -> Iterator[list[Code]]:
    """The instructions between barriers and waits: the assembler moves none of them across."""
    part: list[Code] = []
    for code in codes:
        if code.instruction is None:
            continue
        part.append(code)
        if code.action is Action.BARRIER or code.action in _WAITS:
            yield part
            part = []
    yield part


def _leaves_some(code: Code) -> bool:
    """Whether a wait lets the newest groups go on: a ring of several stages, whose copies have had time."""
    return any(getattr(source, "value", 0) for source in code.sources)


def warp_clocks(program: Program, executed: dict[int, int], warps: int) -> float:
    """Clocks of the mean warp alone. executed: how many warps executed each PTX line; warps: of the whole grid."""
    total = 0
    for block in program.blocks:
        ran = [executed.get(code.line, 0) for code in program.codes[block.first : block.last] if code.instruction]
        total += block_clocks(program.codes, block) * min(ran, default=0)
    return total / max(1, warps)

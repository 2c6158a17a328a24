"""Grid-stride loops: at the end of each round of one, the turn of a warp ends.

    for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)

A warp that ran all of its rounds before the next warp began would touch two cache lines of each row of the grid, which
may be as long as a page: nothing of what the CPU fetches beside them would still be there for the other warps. So the
warps of a CTA go side by side, round by round. Both engines follow this, since a program can tell: where warps race, or
by the fault that comes first.
"""

from __future__ import annotations

from ptxlab.emulate.program.flat_program import Block, Code, Special
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.isa.actions import Action

STRIDE = "%nctaid"
CONSTANT = (STRIDE, "%ntid")
"""Special registers that are the same in all threads of a grid."""


def mark_strides(codes: list[Code], blocks: list[Block]) -> None:
    """Notes on branches that end a round of a grid-stride loop that a warp's turn ends there, too. A loop is one if it
    has no barrier and computes with a stride: what comes from the size of the grid and is the same in all threads."""
    if not any(_size(source) for code in codes for source in code.sources):
        return
    strides = _strides(codes)
    steps = [  # a stride that is computed in the loop is no use of it
        any(_pure(c) and _from_size(c, strides) and not strides.issuperset(writes(c)) for c in codes[b.first : b.last])
        for b in blocks
    ]
    waits = [codes[b.last - 1].action in (Action.BARRIER, Action.CLUSTER_BARRIER) for b in blocks]
    for code in codes:
        if code.rounds:
            loop = range(code.target, code.block + 1)
            code.ends_turn = any(steps[b] for b in loop) and not any(waits[b] for b in loop)


def _strides(codes: list[Code]) -> set[int]:
    """The registers computed from the size of the grid that are the same in all of its threads."""
    times: dict[int, int] = {}
    for code in codes:
        for register in writes(code):
            times[register] = times.get(register, 0) + 1
    constant, strides = set[int](), set[int]()
    for code in codes:  # definitions come before uses, but for those of loops, which are no constants
        if code.guard is None and _constant(code, constant):
            once = {r for r in writes(code) if times[r] == 1}
            constant |= once
            if _from_size(code, strides):
                strides |= once
    return strides


def _constant(code: Code, constant: set[int]) -> bool:
    """Whether an instruction computes the same in all threads of a grid."""
    if code.properties.action is Action.LOAD:
        return code.space == "param" and constant.issuperset(reads(code))
    others = (s for s in code.sources if isinstance(s, Special))
    return _pure(code) and constant.issuperset(reads(code)) and all(_starts(s, CONSTANT) for s in others)


def _pure(code: Code) -> bool:
    return code.form.op.kind == "pure"


def _from_size(code: Code, strides: set[int]) -> bool:
    """Whether an instruction reads the size of the grid, or what is computed from it."""
    return any(map(_size, code.sources)) or not strides.isdisjoint(reads(code))


def _size(source: object) -> bool:
    return isinstance(source, Special) and _starts(source, (STRIDE,))


def _starts(source: Special, names: tuple[str, ...]) -> bool:
    return source.name.partition(".")[0] in names

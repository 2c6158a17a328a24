"""Properties of instructions that the checks need: does one order threads, which lanes may still reach a barrier."""

from __future__ import annotations

from typing import Any

from ptxlab.emulate.program.model import Code, Group, Literal, Mem, Program, Reg, Source
from ptxlab.isa.actions import Action


def strong(code: Code) -> bool:
    """Whether an access is strong: two strong accesses do not race."""
    return code.properties.strong


def releases(code: Code) -> bool:
    """Whether what its thread did before is visible before this instruction's effect."""
    return code.properties.releases


def acquires(code: Code) -> bool:
    """Whether what its thread does later is ordered after the writes that this strong access may have seen. Behind a
    relaxed compare-and-swap or exchange, which take locks, that needs a fence."""
    takes = code.action is Action.ATOMIC and code.form.operation in ("cas", "exch")
    return code.properties.acquires or not takes


def clears(code: Code) -> bool:
    """Whether it may be the first access to a word: `red.and` gives bits of it a value, whatever they were."""
    return code.action is Action.REDUCTION and code.form.operation == "and"


def wide(code: Code) -> bool:
    """Whether the scope of a strong access or a fence includes other blocks. True for shared memory, which other blocks
    never see."""
    return code.properties.scope != "cta" or code.space == "shared"


def members_of(code: Code) -> Source | None:
    """The source operand that is the member mask, if there is one."""
    return code.named.get("membermask", (None, ""))[0]


def is_members(code: Code, k: int) -> bool:
    """Whether a source operand is the member mask."""
    return [*code.named][k] == "membermask"


def aligned(code: Code) -> bool:
    """Whether a barrier of the block needs converged warps."""
    return code.properties.aligned


def cuts(code: Code) -> bool:
    """Whether later accesses must not be checked before this instruction: it may order threads, or it writes to memory
    that other threads see."""
    return code.properties.orders and not (code.action is Action.STORE and code.space in ("param", "local", "frame"))


def spins(program: Program, wait: Code) -> bool:
    """Whether a thread whose wait for an mbarrier fails can only wait again, for the same phase of the same mbarrier:
    on the way back are only branches on its result, `nanosleep`, and computations whose results neither such a branch
    nor the wait itself reads."""
    answer = wait.dests[0] if wait.dests else None
    if not isinstance(answer, Reg) or wait.guard is not None:
        return False
    known: dict[int, Any] = {answer.index: False}
    written: set[int] = set()

    def value(source: Any) -> Any:
        if isinstance(source, Literal):
            return source.value
        return known.get(source.index) if isinstance(source, Reg) else None

    codes, blocks, at = program.codes, program.blocks, wait.index
    for _ in range(64):
        block = blocks[codes[at].block]
        taken = False
        code = codes[at]
        if code is not wait:
            held = True if code.guard is None else known.get(code.guard[0])
            if held is None:
                return False
            runs = code.guard is None or held != code.guard[1]
            if code.action is Action.BRANCH:
                taken = runs
            elif runs and not _computes(code, [value(s) for s in code.sources], known, written):
                return False
        if taken:
            at = blocks[code.target].first
        elif at + 1 < block.last:
            at += 1
        elif block.next >= 0:
            at = blocks[block.next].first
        else:
            return False
        if at == wait.index:
            return not written & _read(wait)
    return False


def _read(code: Code) -> set[int]:
    """The registers that an instruction reads."""
    inner = [source.base if isinstance(source, Mem) else source for source in code.sources]
    return {source.index for source in inner if isinstance(source, Reg)}


def _computes(code: Code, given: list[Any], known: dict[int, Any], written: set[int]) -> bool:
    """Notes which registers an instruction in a loop around a wait writes, and their values where known; False if the
    instruction does anything but compute."""
    action = code.action
    if action is Action.SLEEP:
        return True
    if code.form.op.kind != "pure" or code.form.op.sem is None:
        return False
    dests = [r.index for d in code.dests for r in (d.elements if isinstance(d, Group) else (d,)) if isinstance(r, Reg)]
    written.update(dests)
    for dest in dests:
        known.pop(dest, None)
    if len(dests) != 1 or None in given:
        return True
    if action is Action.SELECT:
        known[dests[0]] = given[0] if given[2] else given[1]
    elif action is Action.MOVE:
        known[dests[0]] = given[0]
    elif action is Action.NOT and code.form.type == "pred":
        known[dests[0]] = not given[0]
    elif action is Action.COMPARE and code.form.cmp in ("eq", "ne") and (code.dest_types[0], len(given)) == ("pred", 2):
        known[dests[0]] = (given[0] == given[1]) == (code.form.cmp == "eq")
    return True


def routines(program: Program) -> list[int]:
    """For each instruction the first block of the function that it belongs to."""
    home = [-1] * len(program.blocks)
    for start in {program.entry, *(code.target for code in program.codes if code.action is Action.CALL)}:
        todo = [start]
        while todo:
            at = todo.pop()
            if at < 0 or home[at] >= 0:
                continue
            home[at] = start
            block = program.blocks[at]
            called = program.codes[block.last - 1].action in (Action.CALL, Action.RETURN)
            todo += [block.next] if called else [block.next, *block.targets]
    return [home[code.block] for code in program.codes]


def may_come(program: Program, barrier: Code) -> list[bool]:
    """For each instruction whether a barrier may wait for lanes there: they are in another function, or every path from
    there leads through the barrier, or paths lead to it or out of a loop, but never round the loop without it."""
    homes, codes = routines(program), program.codes
    own, there = homes[barrier.index], barrier.block
    onward: dict[int, list[int]] = {}
    before: dict[int, list[int]] = {}
    ends = []
    for block in program.blocks:
        last = codes[block.last - 1]
        if last.action in (Action.RETURN, Action.EXIT, Action.TRAP) or (block.next < 0 and not block.targets):
            ends.append(block.index)
        ways = [block.next] if last.action in (Action.CALL, Action.RETURN) else [block.next, *block.targets]
        onward[block.index] = [way for way in ways if way >= 0]
        for way in onward[block.index]:
            before.setdefault(way, []).append(block.index)

    def reach(starts: list[int], edges: dict[int, list[int]], without: int) -> set[int]:
        found: set[int] = set()
        todo = [start for start in starts if start != without]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += [way for way in edges.get(at, []) if way != without]
        return found

    avoids = reach(ends, before, there)
    loop = reach(onward[there], onward, -1) & reach(before.get(there, []), before, -1)
    comes = {
        block.index
        for block in program.blocks
        if homes[block.first] != own
        or block.index not in avoids
        or (block.index in loop and block.index not in reach(onward[block.index], onward, there))
    }
    return [code.block in comes for code in codes]


def barrier_before(program: Program, pc: int) -> int:
    """The code index of the barrier right before a program counter."""
    for b in program.blocks:
        follows = b.next >= 0 and 2 * program.blocks[b.next].first == pc
        last = program.codes[b.last - 1]
        if follows and (last.properties.barrier or last.action is Action.CLUSTER_BARRIER):
            return b.last - 1
    return 0

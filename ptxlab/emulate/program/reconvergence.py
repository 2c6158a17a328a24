"""Code as basic blocks, in an order in which diverged lanes reconverge when those with the smallest program counter run
first (`ptxlab.emulate.rules.lane_scheduling`); and what both engines must know of branches to agree on that.

Functions come before their callers: lanes in a call go first, and lanes that wait after it wait for them. In a function
lanes that diverge at a branch reconverge at its immediate post-dominator, the first block that all paths from it share.
In a loop the back edges hide that block, since the next round leads everywhere again. So each loop is cut to one round:
its back edges go to the *end of the loop*, where the next round begins. The graph then has no cycle, every block has
its immediate post-dominator in it, and any topological order puts that block after all that may run before it. So no
lane continues from there while another is still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.emulate.program.graphs import components, postorder, reachable
from ptxlab.emulate.program.liveness import reads, writes
from ptxlab.isa.actions import Action
from ptxlab.isa.matching import form

POLLING = 256
"""How many rounds one round counts for in a loop that may wait for another thread."""
MOST_EXITS = 31
"""Instructions that end threads and that branches may leave by directly: one bit each in a warp's word."""


# -- basic blocks ------------------------------------------------------------------------------------------------------


def waits_for_others(code: Code) -> bool:
    """Whether lanes that execute this may wait for others that do not: an exchange under a guard. It begins a block, so
    that a warp may diverge in front of it."""
    return code.guard is not None and code.properties.converges and code.form.op.kind != "warp"


def cut_into_blocks(codes: list[Code], entries: Sequence[int]) -> tuple[list[Code], list[Block], int]:
    """The code in running order, its blocks, and the block where the kernel begins. `entries`: where functions begin,
    the kernel first. The targets of `codes` are code indices before, block numbers after."""
    graph = _Graph(codes, entries)
    order: list[int] = []
    for routine in postorder(entries[0], graph.called):
        order += running_order(graph.onward, graph.block_at[routine], graph.jumps)
    number = {old: new for new, old in enumerate(order)}
    laid: list[Code] = []
    blocks: list[Block] = []
    for new, old in enumerate(order):
        first = len(laid)
        if old < 0:
            laid.append(_loop_end(laid[-1].line, number[~old]))
            blocks.append(Block(new, first, len(laid), -1, (number[~old],)))
            continue

        def place(target: int, source: int = new) -> int:
            """The number of a block; from within its loop, of the loop's end."""
            there = number.get(target, -1)
            return number.get(~target, there) if there <= source else there

        laid += codes[graph.starts[old] : graph.ends[old]]
        last = laid[-1]
        following = place(old + 1) if graph.falls(old) else -1
        last.targets = tuple(place(graph.block_at[t]) for t in last.targets)
        jumps: tuple[int, ...] = last.targets
        if last.action is Action.CALL:
            last.target = number[graph.block_at[last.target]]
            jumps = (last.target,)
        elif last.action is Action.BRANCH:
            last.target = last.targets[0]
        elif last.action is Action.RETURN:
            jumps = tuple(number[b] for b in graph.behind_calls.get(last.register, ()) if b in number)
        blocks.append(Block(new, first, len(laid), following, jumps))
    for k, code in enumerate(laid):
        code.index = k
    for block in blocks:
        for code in laid[block.first : block.last]:
            code.block = block.index
    return laid, blocks, number[graph.block_at[entries[0]]]


def _loop_end(line: int, head: int) -> Code:
    """The branch in an added end of a loop: lanes wait here until the round is over for all."""
    code = Code(-1, "bra", form("bra"), line)
    code.targets, code.target = (head,), head
    return code


class _Graph:
    """Blocks before they are numbered: where each starts and ends; `onward`, the blocks of its own function that may
    follow; `behind_calls`, those that a function may return to, by the register that says which. A call is followed by
    the block after it, whatever the called function does."""

    def __init__(self, codes: list[Code], entries: Sequence[int]) -> None:
        leaders = {0, *entries}
        for k, code in enumerate(codes):
            if code.properties.ends_block:  # a warp may jump, diverge or stop there
                leaders.add(k + 1)
            if waits_for_others(code):
                leaders.add(k)
            leaders.update(code.targets)
        self.codes = codes
        self.starts = sorted(s for s in leaders if s < len(codes))
        self.block_at = {start: b for b, start in enumerate(self.starts)}
        self.ends = [*self.starts[1:], len(codes)]
        self.onward = [self._onward(b) for b in range(len(self.starts))]
        self.behind_calls: dict[int, list[int]] = {}
        for b, end in enumerate(self.ends[:-1]):
            if codes[end - 1].action is Action.CALL:
                self.behind_calls.setdefault(codes[end - 1].register, []).append(b + 1)

    def _onward(self, block: int) -> tuple[int, ...]:
        jumps = tuple(self.block_at[t] for t in self.codes[self.ends[block] - 1].targets)
        return (*jumps, *((block + 1,) if self.falls(block) else ()))

    def falls(self, block: int) -> bool:
        """Whether lanes may fall through to the next block of the text."""
        last = self.codes[self.ends[block] - 1]
        return (last.properties.falls_through or last.guard is not None) and block + 1 < len(self.starts)

    def jumps(self, block: int, head: int) -> bool:
        """Whether a block goes to `head` only by a plain branch."""
        last = self.codes[self.ends[block] - 1]
        return last.action is Action.BRANCH and not (self.falls(block) and block + 1 == head)

    def called(self, routine: int) -> Iterator[int]:
        """Where the functions begin that one calls, in running order; functions are named by their first code index."""
        for block in running_order(self.onward, self.block_at[routine]):
            last = self.codes[self.ends[block] - 1]
            if block >= 0 and last.action is Action.CALL:
                yield last.target


# -- their order -------------------------------------------------------------------------------------------------------


def running_order(
    successors: Sequence[Sequence[int]], entry: int, jumps: Callable[[int, int], bool] = lambda source, head: True
) -> list[int]:
    """Blocks reachable from `entry`: every block before its successors, loop bodies whole before what follows them.

    The graph is cut into strongly connected components, in topological order. A component of several blocks is a loop:
    its first block, the head, comes first and the rest is ordered in the same way, without the edges back to it.
    `~head` stands for the end of the loop, after its last block. It is left out where the last block is this already:
    all edges back come from there, by a branch that `jumps(last, head)` says may go back.
    """
    out: list[int] = []
    work = [(component, False) for component in reversed(components([entry], successors.__getitem__))]
    while work:
        component, arranged = work.pop()
        head, rest = component[0], set(component[1:])
        if arranged:
            back = [block for block in component if head in successors[block]]
            if back and not (back == [out[-1]] and jumps(out[-1], head)):
                out.append(~head)
            continue
        out.append(head)
        work.append((component, True))
        if rest:

            def within(block: int, rest: set[int] = rest) -> list[int]:
                return [s for s in successors[block] if s in rest]

            inner = components(within(head), within)
            work += [(component, False) for component in reversed(inner)]
    return out


# -- branches ----------------------------------------------------------------------------------------------------------


def mark(codes: list[Code], blocks: list[Block], *, recursive: bool) -> tuple[int, ...]:
    """Notes on each branch how many loop rounds it counts as, and which `exit` its lanes leave by, and on each
    instruction whether it polls; returns those exits. recursive: functions call themselves, which repeats all of it."""
    polls = _polls(codes)
    polling = {b.index for b in blocks if not polls.isdisjoint(range(b.first, b.last))}
    repeated = set(range(len(blocks))) if recursive else set[int]()
    exits: dict[int, int] = {}
    for code in codes:
        if code.action is not Action.BRANCH:
            continue
        if code.target <= code.block:
            loop = range(code.target, code.block + 1)
            code.rounds = 1 if polling.isdisjoint(bodies(codes, blocks, set(loop))) else POLLING
            if code.rounds == POLLING:
                repeated.update(loop)
        end = codes[blocks[code.target].first]
        if code.guard is not None and end.ends_thread and end.guard is None:
            number = exits.setdefault(code.target, len(exits))
            code.leaves = number if number < MOST_EXITS else -1
    for block in bodies(codes, blocks, repeated):
        for code in codes[blocks[block].first : blocks[block].last]:
            code.polls = code.index in polls
    return tuple(exits)[:MOST_EXITS]


def _polls(codes: list[Code]) -> set[int]:
    """The instructions that read what other threads may change, and whose result another one reads."""
    found = [code for code in codes if code.properties.polls]
    read = {r for code in codes for r in set(reads(code)).difference(writes(code))} if found else set[int]()
    return {code.index for code in found if not read.isdisjoint(writes(code))}


def body(codes: list[Code], blocks: list[Block], start: int) -> set[int]:
    return reachable([start], lambda at: onward(codes, blocks[at]))


def bodies(codes: list[Code], blocks: list[Block], some: set[int]) -> set[int]:
    """Some blocks, and those of all functions that are called there or in these."""
    found, new = set[int](), set(some)
    while new:
        found |= new
        called = {codes[blocks[b].last - 1].target for b in new if codes[blocks[b].last - 1].action is Action.CALL}
        new = set[int]().union(*(body(codes, blocks, start) for start in called)) - found
    return found


def onward(codes: list[Code], block: Block) -> list[int]:
    """The blocks of its own function that may follow a block; after a call, the one it returns to."""
    jumps = () if codes[block.last - 1].action in (Action.CALL, Action.RETURN) else block.targets
    return [*jumps, *([block.next] if block.next >= 0 else [])]

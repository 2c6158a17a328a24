"""Cuts code into basic blocks, and arranges those that can be reached in running order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptxlab.emulate.program.block_order import running_order
from ptxlab.emulate.program.flat_program import Block, Code
from ptxlab.isa.actions import Action
from ptxlab.isa.matching import form


def waits_for_others(code: Code) -> bool:
    """Whether lanes that execute this may wait for others that do not: an exchange under a guard. It begins a block, so
    that a warp may diverge in front of it."""
    return code.guard is not None and code.properties.converges and code.form.op.kind != "warp"


def cut_into_blocks(codes: list[Code], entries: Sequence[int]) -> tuple[list[Code], list[Block], int]:
    """The code in running order, its blocks, and the number of the block where the kernel begins. `entries` are the
    code indices where functions begin, the kernel's first; the targets of `codes` are code indices before, block
    numbers after.

    Functions come before those that call them: lanes in a call go first, and lanes that wait after it wait for them.
    """
    graph = _Graph(codes, entries)
    order: list[int] = []
    for routine in graph.routines(entries[0]):
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

    def routines(self, kernel: int) -> list[int]:
        """Where the functions begin that the kernel may call, callees before callers."""
        found, begun = list[int](), {kernel}
        open_ = [(kernel, self._called(kernel))]  # functions that call each other, each with its calls that are left
        while open_:
            routine, calls = open_[-1]
            called = next((called for called in calls if called not in begun), None)
            if called is None:
                open_.pop()
                found.append(routine)
            else:
                begun.add(called)
                open_.append((called, self._called(called)))
        return found

    def _called(self, routine: int) -> Iterator[int]:
        """Where the functions begin that a function calls, in running order."""
        for block in running_order(self.onward, self.block_at[routine]):
            last = self.codes[self.ends[block] - 1]
            if block >= 0 and last.action is Action.CALL:
                yield last.target

"""Cuts code into basic blocks, numbers those that can be reached in running order and lays the code out so."""

from __future__ import annotations

from collections.abc import Iterable

from ptxlab.emulate.program.block_order import running_order
from ptxlab.emulate.program.model import Block, Code
from ptxlab.isa.actions import Action


def cut(codes: list[Code], entries: Iterable[int]) -> tuple[list[Code], list[Block]]:
    """The code in running order and its blocks. `entries` are the code indices where functions begin; the targets of
    `codes` are code indices before, block numbers after."""
    leaders = {0, *entries}
    for k, code in enumerate(codes):
        if code.properties.ends_block:  # a warp may leave, split or stop there
            leaders.add(k + 1)
        leaders.update(code.targets)
    starts = sorted(s for s in leaders if s < len(codes))
    block_at = {start: b for b, start in enumerate(starts)}
    ends = [*starts[1:], len(codes)]
    after_call: dict[int, list[int]] = {}
    for b, end in enumerate(ends):
        if codes[end - 1].action is Action.CALL:
            after_call.setdefault(codes[end - 1].register, []).append(b + 1)
    successors: list[tuple[int, ...]] = []
    for b, end in enumerate(ends):
        last = codes[end - 1]
        onward = (b + 1,) if b + 1 < len(starts) else ()
        if last.action is Action.CALL:
            successors.append((block_at[last.target], *(onward if last.guard else ())))
        elif last.action in (Action.BRANCH, Action.INDEXED_BRANCH):
            jumps = tuple(block_at[t] for t in last.targets)
            successors.append((*jumps, *(onward if last.guard else ())))
        elif not last.properties.falls_through:
            returns = tuple(after_call.get(last.register, ())) if _returns(last) and last.register >= 0 else ()
            successors.append((*returns, *(onward if last.guard else ())))
        else:
            successors.append(onward)
    order = running_order(successors)
    number = {old: new for new, old in enumerate(order)}
    laid: list[Code] = []
    blocks: list[Block] = []
    for new, old in enumerate(order):
        first = len(laid)
        laid += codes[starts[old] : ends[old]]
        last = laid[-1]
        falls = last.properties.falls_through or last.guard is not None
        following = number.get(old + 1, -1) if falls else -1
        last.targets = tuple(number[block_at[t]] for t in last.targets)
        if last.target >= 0:
            last.target = number[block_at[last.target]]
        jumps = (last.target,) if last.action is Action.CALL else last.targets
        if last.action is Action.BRANCH:
            last.target = last.targets[0]
        if _returns(last):
            jumps = tuple(number[b] for b in after_call.get(last.register, ()) if b in number)
        blocks.append(Block(new, first, len(laid), following, jumps))
    for k, code in enumerate(laid):
        code.index = k
    for block in blocks:
        for code in laid[block.first : block.last]:
            code.block = block.index
    return laid, blocks


def _returns(code: Code) -> bool:
    return code.action is Action.RETURN

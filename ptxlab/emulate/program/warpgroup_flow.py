"""Registers of `wgmma` that may be touched too early, or used without a fence: what synccheck follows.

Between a product and the wait for it no instruction may write its registers, or read d. When anything but a product has
written them, a `wgmma.fence` must come before the next product that uses them. This module finds the instructions that
could break one of these two rules on some path through the program. A correct program has hardly any, so few
instructions are checked while it runs; whether one of them does break a rule is found then (`rules.register_checks`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptxlab.emulate.program.flat_program import Code, Group, Literal
from ptxlab.emulate.program.liveness import reads, registers_of, successors, writes
from ptxlab.emulate.program.program import Program
from ptxlab.isa.actions import Action

MOST_WRITERS = 1024
"""Instructions that are followed until the next fence; programs with more are looked at as far as that goes."""


class WarpgroupFlow(NamedTuple):
    """Register accesses around products, by code index: `touches`, the products whose registers an instruction touches
    if they are in flight; `writers`, the number of an instruction that writes registers of a product which no fence may
    come before; `unfenced`, those instructions for each such product."""

    touches: dict[int, tuple[int, ...]]
    writers: dict[int, int]
    unfenced: dict[int, tuple[int, ...]]

    @property
    def words(self) -> int:
        """Words of 64 bits, one for each of the writers."""
        return -(-len(self.writers) // 64)

    @staticmethod
    def listed(codes: tuple[int, ...]) -> list[int]:
        """A list as rules take it: how many, and each."""
        return [len(codes), *codes]

    def numbered(self, product: int) -> list[int]:
        """The writers of a product as rules take them: how many, the number and code index of each."""
        found = self.unfenced[product]
        return [len(found), *(x for w in found for x in (self.writers[w], w))]


def warpgroup_flow(program: Program) -> WarpgroupFlow:
    """The products and registers that synccheck follows in a program."""
    products = [code for code in program.codes if code.action is Action.WARPGROUP_PRODUCT]
    if not products:
        return WarpgroupFlow({}, {}, {})
    touches: dict[int, tuple[int, ...]] = {}
    unfenced: dict[int, tuple[int, ...]] = {}
    held = {r for code in products for r in _sums(code) | _factors(code)}

    def in_flight(code: Code, before: frozenset[int]) -> frozenset[int]:
        """Products in flight: twice their index, and one more once they are committed; a wait completes only these."""
        if code.action is Action.WARPGROUP_COMMIT:
            return frozenset(p | 1 for p in before)
        if code.action is Action.WARPGROUP_WAIT:
            waits_for_all = any(isinstance(s, Literal) and not s.value for s in code.sources)
            return frozenset(p for p in before if not p & 1) if waits_for_all else before
        found = tuple(sorted({p >> 1 for p in before if _collide(program.codes[p >> 1], code)}))
        if found:
            touches[code.index] = found
        return before | {code.index << 1} if code.action is Action.WARPGROUP_PRODUCT else before

    def written(code: Code, before: frozenset[int]) -> frozenset[int]:
        if code.action is Action.WARPGROUP_FENCE:
            return frozenset()
        if code.action is not Action.WARPGROUP_PRODUCT:
            return before | {code.index} if held.intersection(writes(code)) else before
        used = _sums(code) | _factors(code)
        found = tuple(sorted(w for w in before if used.intersection(writes(program.codes[w]))))
        if found:
            unfenced[code.index] = found
        return before

    for follow in (in_flight, written):
        _along(program, follow)
    writers = sorted({w for found in unfenced.values() for w in found})[:MOST_WRITERS]
    numbers = {w: n for n, w in enumerate(writers)}
    unfenced = {p: tuple(w for w in found if w in numbers) for p, found in unfenced.items()}
    return WarpgroupFlow(touches, numbers, unfenced)


def follows_tiles(program: Program) -> bool:
    """Whether the async proxy may read what is stored to shared memory: a product of `wgmma`, or a bulk copy."""
    return any(
        code.action is Action.WARPGROUP_PRODUCT
        or (code.action in (Action.COPY, Action.COPY_REDUCE) and code.form.src == "shared::cta")
        for code in program.codes
    )


def follows_layouts(program: Program) -> bool:
    """Whether a product of `wgmma` may read a tile that a tensor copy has written."""
    products = any(code.action is Action.WARPGROUP_PRODUCT for code in program.codes)
    return products and any(code.action is Action.COPY and bool(code.form.tensor) for code in program.codes)


def orders_proxies(code: Code) -> bool:
    """Whether an instruction is a fence between ordinary accesses and the async proxy."""
    return code.form.properties.proxy == "async"


def _sums(product: Code) -> set[int]:
    return {r for dest in product.dests for r in registers_of(dest)}


def _factors(product: Code) -> set[int]:
    """The registers of A, if it is in registers."""
    a, _ = product.named["a"]
    return set(registers_of(a)) if isinstance(a, Group) else set()


def _collide(product: Code, code: Code) -> bool:
    """Whether an instruction must wait until a product is done. Products of one shape may add to one d in turn."""
    touched, written = set(reads(code)), set(writes(code))
    if code.action is Action.WARPGROUP_PRODUCT:
        if code.dests == product.dests and code.form.shape == product.form.shape:
            touched, written = _factors(code), set()
        else:
            touched = _factors(code) | _sums(code)
    elif code.action in (Action.WARPGROUP_FENCE, Action.WARPGROUP_COMMIT):
        return False
    return bool(_sums(product) & (touched | written)) or bool(_factors(product) & written)


def _along(program: Program, follow: Callable[[Code, frozenset[int]], frozenset[int]]) -> None:
    """Follows sets of instructions along all ways through a program until nothing is added."""
    begins: list[frozenset[int]] = [frozenset()] * len(program.blocks)
    todo = list(range(len(program.blocks)))
    while todo:
        block = program.blocks[todo.pop(0)]
        now = begins[block.index]
        for code in program.codes[block.first : block.last]:
            now = follow(code, now)
        for successor in successors(program, block.index):
            if not now <= begins[successor]:
                begins[successor] |= now
                if successor not in todo:
                    todo.append(successor)

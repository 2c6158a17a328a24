"""Mistakes with `wgmma` and bulk copies that are found while a kernel is written: a missing fence or wait.

Instructions are judged in the order in which they are written; loops and branches may change that order, which the
checks follow when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxlab.builder import mistakes
from ptxlab.builder.registers import Register
from ptxlab.builder.source import Site
from ptxlab.errors import BuildError
from ptxlab.isa.actions import Action, AsyncGroup
from ptxlab.isa.table import Form

STORES = (Action.STORE, Action.STORE_ROWS, Action.STORE_FRAGMENT)


class Products:
    """The products that have been written: whether a fence came first, and the registers of those not waited for.

    sums: of the products since the last `commit_group`; groups: of those committed, the oldest first.
    """

    def __init__(self) -> None:
        self.fenced = False
        self.sums: dict[int, Register[Any]] = {}
        self.groups: list[dict[int, Register[Any]]] = []

    def follow(self, form: Form, read: list[Any], written: Iterable[Any], site: Site | None) -> BuildError | None:
        """Takes note of an instruction that is written; returns what is wrong with it, if anything."""
        action = form.op.does
        if action is Action.WARPGROUP_FENCE:
            self.fenced = True
        elif action is Action.WARPGROUP_COMMIT:
            self.groups.append(self.sums)
            self.sums = {}
        elif action is Action.WARPGROUP_WAIT:
            self.groups = self.groups[max(0, len(self.groups) - int(read[0])) :]
            self.sums = {}
        elif action is Action.WARPGROUP_PRODUCT:
            if not self.fenced:
                return mistakes.error(
                    site,
                    "the first wgmma of a kernel must come after a wgmma.fence, which orders its registers",
                    'k.op("wgmma.fence.sync.aligned")',
                )
            self.sums |= {id(register): register for register in written}
        elif self.sums or self.groups:
            for register in (*registers_in(read), *written):
                if any(id(register) in group for group in (self.sums, *self.groups)):
                    return mistakes.error(
                        site,
                        f"{register.k._shown(register)} is an accumulator of a wgmma that nothing has waited for yet",
                        'k.op("wgmma.commit_group.sync.aligned")\nk.op("wgmma.wait_group.sync.aligned", 0)',
                    )
        return None


class SharedStores:
    """Whether threads have stored to shared memory, and whether a proxy fence was ever written after that."""

    def __init__(self) -> None:
        self.stored = self.fenced = False

    def follow(self, form: Form, site: Site | None) -> BuildError | None:
        """Takes note of an instruction that is written; returns what is wrong with it, if anything."""
        action = form.op.does
        if action in STORES and (form.space or "").startswith("shared"):
            self.stored = True
        elif form.properties.proxy.startswith("async"):
            self.fenced = True
        elif action in (Action.COPY, Action.COPY_REDUCE) and form.op.group is AsyncGroup.BULK:
            if self.stored and not self.fenced:
                return mistakes.error(
                    site,
                    "threads have stored to shared memory, and this copy reads it by another path, the async "
                    "proxy; there is no fence between",
                    'k.op("fence.proxy.async.shared::cta")  # by the threads that stored, before the barrier',
                )
        return None


def registers_in(operands: Iterable[Any]) -> Iterable[Any]:
    """The registers among operands, those of vectors and addresses included."""
    for operand in operands:
        if isinstance(operand, Register):
            yield operand
        elif hasattr(operand, "elements"):
            yield from registers_in(operand.elements)
        elif hasattr(operand, "base"):
            yield from registers_in([operand.base])

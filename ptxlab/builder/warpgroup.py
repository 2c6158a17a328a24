"""Traps of `wgmma` that show while a kernel is written: a fence left out before the first product, a wait left out.

Instructions are looked at in the order in which they are written; what loops and branches make of that order is for
synccheck to see when the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ptxlab.builder import traps
from ptxlab.builder.registers import Register
from ptxlab.builder.source import Site
from ptxlab.errors import BuildError
from ptxlab.isa.actions import Action
from ptxlab.isa.table import Form


class Products:
    """The products that have been written: whether a fence came first, and the registers of those not waited for."""

    def __init__(self) -> None:
        self.fenced = False
        self.sums: dict[int, Register[Any]] = {}

    def follow(self, form: Form, read: Iterable[Any], written: Iterable[Any], site: Site | None) -> BuildError | None:
        """An instruction is written; what is wrong with that."""
        action = form.op.does
        if action is Action.WARPGROUP_FENCE:
            self.fenced = True
        elif action is Action.WARPGROUP_WAIT:
            self.sums.clear()
        elif action is Action.WARPGROUP_PRODUCT:
            if not self.fenced:
                return traps.error(
                    site, "the first wgmma of a kernel comes behind a wgmma.fence, which orders its registers",
                    'k.op("wgmma.fence.sync.aligned")',
                )  # fmt: skip
            self.sums |= {id(register): register for register in written}
        elif self.sums:
            for register in (*read, *written):
                if id(register) in self.sums:
                    return traps.error(
                        site, f"{register.k.shown(register)} is a sum of a wgmma that nothing has waited for yet",
                        'k.op("wgmma.commit_group.sync.aligned")\nk.op("wgmma.wait_group.sync.aligned", 0)',
                    )  # fmt: skip
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

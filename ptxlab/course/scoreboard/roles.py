"""The rung `roles` has stars of its own: not what a kernel costs counts there, but who moves the tiles, and when."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ptxlab import isa
from ptxlab.course.scoreboard.drawn import Figure
from ptxlab.course.scoreboard.rungs import Rung
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.emulate.trace.recording import Recording
from ptxlab.launch.buffers import to_device

NAME = "roles"
ASKED = (
    "It has a star for a right result, one if K and V come by bulk copies only, and one if products are issued while a "
    "copy is in flight."
)
MOVES = ("ld", "cp.async")
"""Opcodes with which threads read memory."""


class Seen(NamedTuple):
    """What block 0 did. loads: warp-instructions that read K or V outside of bulk copies; products: those issued while
    a bulk copy to shared memory was in flight, of `all` products."""

    loads: int
    products: int
    all: int

    @property
    def stars(self) -> tuple[int, int, int]:
        """One for a right result, one for bulk copies only, one for products that overlap with them."""
        return 1, int(not self.loads), int(bool(self.products))

    @property
    def says(self) -> list[str]:
        """What the missing stars need."""
        out = []
        if self.loads:
            out.append(f"In block 0 threads read K or V with {self.loads:,} instructions. What could one thread start?")
        if not self.products:
            out.append("No product was issued while a bulk copy was in flight. What does the first product wait for?")
        return out or ["Three stars: copies bring the tiles, and meanwhile the others multiply."]

    def figures(self, error: str) -> list[Figure]:
        """What has a star each, for a kernel with this error."""
        return [
            ("error", error, "", 1, "if right"),
            ("reads of K and V", f"{self.loads:,}", "", self.stars[1], "at 0 outside of bulk copies"),
            ("overlapped", f"{self.products:,}", f"of {self.all:,} products", self.stars[2], "from 1 on"),
        ]


def seen(rung: Rung, kernel: Any, block: Any, per_block: int, shared: int) -> Seen:
    """Runs a kernel that is right once more, and looks at the steps of block 0."""
    placed = {name: to_device(rung.given.given[name], device="cpu") for name in ("key", "value")}
    try:
        more: dict[str, Any] = {"trace": Trace(blocks=0), "checks": (), "counters": False}
        run, _ = rung.run(kernel, block, per_block, shared, **placed, **more)
        assert run.trace is not None
        ranges = [(buffer.address, buffer.address + buffer.nbytes) for buffer in placed.values()]
        return _looked_at(run.trace, ranges)
    finally:
        for buffer in placed.values():
            buffer.free()


def _looked_at(trace: Recording, ranges: list[tuple[int, int]]) -> Seen:
    opcodes = [opcode for _, opcode, _ in trace.codes]
    is_product, is_load = (np.array([f(opcode) for opcode in opcodes], bool) for f in (_multiplies, _reads))
    places = trace.places()
    loads, issued = 0, [np.zeros(0, np.int64)]
    for key in trace.warps:
        codes, walker = trace.codes_of(key), trace.walk(*key)
        issued.append(places[key][is_product[codes]])
        for step in np.flatnonzero(is_load[codes]):
            touched = (a.address[a.mask] for a in walker.moment(int(step)).accesses if a.space == "global")
            loads += any(((first <= at) & (at < end)).any() for at in touched for first, end in ranges)
    at = np.concatenate(issued)
    during = np.zeros(at.shape, bool)
    for copy in trace.copies:
        if copy.block == 0 and not copy.reads:
            during |= (copy.begun <= at) & (at < (copy.ended if copy.ended >= 0 else trace.steps))
    return Seen(loads, int(during.sum()), at.size)


def _multiplies(opcode: str) -> bool:
    """Whether an instruction is a product of matrices, or multiplies and adds floating-point numbers."""
    work = isa.form(opcode).properties.work
    return work.flops > 0 and (work.type == "tensor" or work.operation.endswith("fma"))


def _reads(opcode: str) -> bool:
    return opcode.startswith(MOVES) and ".bulk" not in opcode

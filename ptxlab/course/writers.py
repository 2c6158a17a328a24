"""Finds the writer: runs a launch once more on the interpreter and finds the last store to one element of an array."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.course.value_watch import Watch, place
from ptxlab.errors import DeviceFault
from ptxlab.launch.buffers import Const, Out, empty, to_device
from ptxlab.launch.run import launch

if TYPE_CHECKING:
    from ptxlab.emulate.step.interpreter import Step
    from ptxlab.emulate.trace.recording import Recording

BUDGET = 300_000
"""Warp-instructions after which the search gives up: about a second."""


@dataclass
class LastStore:
    """A recorder that remembers the last store to an address: (block, thread in its block, PTX line)."""

    address: int
    found: tuple[int, int, int] | None = None

    def wants(self, block: int, warp: int) -> bool:
        """All of them."""
        return True

    def record(self, step: Step) -> None:
        """Looks at the stores of one step."""
        for touch in step.touches:
            if touch.what == "load":
                continue
            hit = touch.mask & (touch.address <= self.address) & (self.address < touch.address + touch.size)
            if hit.any():
                self.found = step.block, 32 * step.warp + int(hit.argmax()), step.code.line


def writer(
    kernel: Any,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    which: int,
    offset: int,
    *,
    lost: bool = False,
    **options: Any,
) -> tuple[str, int]:
    """Who stored the byte at `offset` of argument `which`, in words, and the PTX line. `args` are as they were before
    the launch. lost: it is not a number any more, and the words begin with the operation that first gave none."""
    wanted = args[which]
    array = wanted.array if isinstance(wanted, Const | Out) else wanted
    buffer = (
        empty(array.shape, array.dtype, device="cpu") if isinstance(wanted, Out) else to_device(array, device="cpu")
    )

    def again(trace: Any) -> bool:
        """Runs it once more, as far as its budget reaches."""
        given = [buffer if at == which else copy.deepcopy(a) for at, a in enumerate(args)]
        try:
            launch(
                kernel, grid, block, *given, device="step", trace=trace, budget=BUDGET, checks=("memcheck",), **options
            )
        except DeviceFault as fault:
            return fault.kind != "budget"
        return True

    search, told = LastStore(buffer.address + offset), ""
    try:
        whole = again(search)
        if search.found is None:
            return "No thread stored it: it still holds what it held before the launch." if whole else "", 0
        at, thread, line = search.found
        if lost:
            watch = Watch(1 << 20, only=(at, thread // 32))
            again(watch)
            told = watch.lost(thread % 32)
    finally:
        buffer.free()
    return f"{told}Block {_xyz(at, grid)}, thread {_xyz(thread, block)} stored it:\n{place(kernel, line)}", line


def stores(trace: Recording, space: str = "shared") -> tuple[Any, Any]:
    """Who wrote what: the address of every store to a space of memory, and its thread's number in its block; each an
    array with one element for each lane of each store, warp after warp."""
    addresses, threads = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for block, warp in trace.warps:
        walker = trace.walk(block, warp)
        for step in range(len(walker)):
            for access in walker.moment(step).accesses:
                if (access.space, access.kind) == (space, "store"):
                    lanes = np.flatnonzero(access.mask)
                    addresses.append(access.address[lanes].astype(np.int64))
                    threads.append(32 * warp + lanes)
    return np.concatenate(addresses), np.concatenate(threads)


def _xyz(index: int, size: Any) -> str:
    x, y, _ = (*(size if isinstance(size, Sequence) else (size,)), 1, 1)[:3]
    return f"({index % x}, {index // x % y}, {index // (x * y)})"

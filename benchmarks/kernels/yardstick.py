"""A kernel of the yardstick: its two sources, its arguments, its launch on the CPU machine, and its call in C."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab.emulate import Memory, lower
from ptxlab.emulate.jit.affine.block_rows import Rows
from ptxlab.emulate.jit.building.build import Loaded, prepare
from ptxlab.emulate.jit.instruments.selection import instruments_of
from ptxlab.emulate.jit.running.run import Run
from ptxlab.emulate.runtime.report import Launch, Report
from ptxlab.text import parse

Numbers = np.random.Generator
COMPILE_C = ("gcc", "-O3", "-std=gnu11", "-shared", "-fPIC")
"""No -ffast-math: C keeps the order of the sums, as the kernels keep theirs."""
C_PRELUDE = """#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
"""

LANES = (
    "C needs a vector instruction or two for 16 elements; here each element is a thread with its own index: a warp of "
    "saxpy_bf16 takes 22 cycles, of stencil_1d 75, where C takes 13 and 28. Tried: what holds for all warps of a block "
    "asked once, indices that go on by a step, up to 32 blocks in one loop (all are in)"
)
BYTES = (
    "a thread's byte is a number of 32 bits: 14 operations on 512 bits for 32 bytes are 7 cycles at two a cycle, where "
    "C takes 3. Tried: LLVM's pass that narrows numbers, aggressive-instcombine (0.85 of the time; of four other "
    "kernels none was faster)"
)
BORDER = (
    "rows of 16 that the CPU does not foresee, and blocks at the border (252 of 4,096), which compute masks for each "
    "warp. Tried: all of a block asked once, rows of later blocks prefetched, borders under masks (all are in)"
)
BESIDE = (
    "neighbouring elements belong to one thread: shuffles bring those of 32 threads together before they are stored, "
    "and apart as they are loaded; C goes along the row by vectors. Tried: stores of a thread made together, loads "
    "between them too (both are in)"
)
COLUMNS = (
    "a warp walks down 32 columns, rows 16 kB apart, and C in that order takes 0.40 ms; with 8 warps side by side "
    "0.16, row by row 0.14, with rows 64 bytes longer 0.30; pages of 2 MB change nothing. Tried: prefetching 4 to 16 "
    "rows ahead (no faster)"
)
TREE = (
    "C goes through the data once; the threads also compute indices, exchange values and wait at barriers or shuffles. "
    "Tried: short sides of branches under masks, barriers without the scheduler, no look at warps without a part in a "
    "step (all are in)"
)
OWN_ROWS = (
    "each lane walks a row of its own: an element of a warp is 32 loads, two of which begin in a cycle, or 32 stores,"
    " one a cycle; C goes along the row by vectors. Tried: the comparison of all lanes without that of two before it "
    "(25 % slower); four elements of each lane at once where a loop is unrolled, and kept for the next rounds where "
    "it is not, if it stores nothing (both are in); the same in loops that store (slower: each store is compared with"
    " what is kept)"
)
ATOMIC = (
    "an atomic operation takes one lane after the other, with locks where several workers run. Tried: one address at "
    "once, neighbours as a vector (both are in); a lock of the launch's own loses plain stores beside it"
)
APART = (
    "each CTA walks rows that are 16 or 64 kB apart, and waits for the cache in most of the time; C reads on. Tried: "
    "warps side by side (it is in); prefetches, with which what lies in a cache takes longer"
)
STRIDED = (
    "a CTA goes through rows of 1 kB that are 128 kB apart before the next one begins; C in that order takes twice as "
    "long, too, and four times as long warp by warp. Tried: warps side by side, rows of two rounds later prefetched "
    "(both are in)"
)
CHAIN = (
    "the additions at one address wait for each other, in C as well, where they take all of the time; here all else "
    "comes on top. Tried: sums of a warp in a row without a loop (it is in)"
)
DIVERGED = (
    "lanes diverge: most instructions run for few of the 32. Tried: regions under masks in the function for converged "
    "warps, calls and recursion too (they are in); better code for the function for diverged warps (5 % at most); "
    "local memory word by word, frames at one or two depths as rows, votes in regions (they are in)"
)
RECURSIVE = (
    "lanes are at different depths: of 88,000 warp-instructions, 18 lanes each, this core can begin one a cycle, in "
    "0.024 ms; they may take 4.7 cycles to draw level with C, which unfolds several levels, and take 44. Accesses to "
    "frames at several depths are gathers and scatters, 15 and 20 cycles for 16 lanes, and each block notes which "
    "lanes wait where. Tried: calls in regions, saves that nobody reads left out, frames at one or two depths as rows"
    " (they are in)"
)
SPARSE = (
    "rows of 0 to 63 elements: 18 of 32 lanes are active on average, and each element is a load of its own from x. "
    "The loads alone take 0.05 ms (24 cycles for an element of a warp, two loads a cycle) of 0.34; the rest are "
    "masks, checks of addresses, and registers that are stored around calls of gathers. Tried: regions under masks, "
    "four columns and values of each lane at once (they are in); gathers of 4 or 8 lanes one by one (0.95 of the time"
    " here, others slower)"
)
NARROW = (
    "C goes on from row to row as along one; here a warp is eight rows of 4 elements, each a load and a store of its "
    "own. Of 0.08 ms the launch takes 0.02, and a warp 7 ns. Tried: rows of later blocks prefetched, up to 32 blocks "
    "in one loop (both are in)"
)
EVERY_SECOND = (
    "half of the lanes are masked out, where C goes by steps of two: a warp takes 15 ns, with four loads and a store "
    "of two rows each under masks, and counts the lanes that exit. Blocks in the first row and the last, a 32nd, take "
    "40 ns for a warp. Tried: rows asked for once, under masks that each warp computes (it is in)"
)
ROW_OF_A_WARP = (
    "rows of 0 to 63 elements, two rounds of a warp at most: a row takes 127 ns, with masked loads, a gather, five "
    "shuffles and a store by one lane. The launch takes 0.04 ms of 0.55. Tried: regions under masks (they are in); "
    "gathers of 4 or 8 lanes one by one (0.95 of the time here, others slower)"
)
"""Why C is faster."""


@dataclass(frozen=True)
class Kernel:
    """One kernel: `cuda` has an entry `name`, or `ptx` makes its PTX; `c` has a function `name` that takes the same
    arguments.

    style: what is typical of it, for the table. arguments: makes them, arrays and numpy scalars. written: which of them
    the kernel writes, compared with `tolerance`, relative to the largest value (0: to the bit).
    reason: why C is faster, where it is.
    """

    name: str
    style: str
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: Callable[[Numbers], Sequence[Any]]
    written: tuple[int, ...]
    cuda: str
    c: str
    tolerance: float = 1e-5
    shared: int = 0
    options: tuple[str, ...] = ()
    reason: str = ""
    ptx: Callable[[], str] | None = None


def three(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A grid or a block with all its dimensions."""
    x, y, z = (*((size,) if isinstance(size, int) else size), 1, 1)[:3]
    return x, y, z


class OnMachine:
    """A kernel with its arrays in the machine's memory, to be run again and again."""

    def __init__(self, kernel: Kernel, arguments: Sequence[Any]) -> None:
        self.kernel, self.memory = kernel, Memory()
        if kernel.ptx is not None:
            self.program = lower(parse(kernel.ptx()))
        else:
            compiled = pl.cuda(kernel.cuda, entry=kernel.name, options=kernel.options, file=f"{kernel.name}.cu")
            self.program = lower(compiled.module)
        unused = [np.uint64(0)] * (len(self.program.params) - len(arguments))  # Triton's scratch memory
        packed = bytearray(self.program.param_size)
        places = []
        for param, value in zip(self.program.params, [*arguments, *unused], strict=True):
            raw = value
            if isinstance(value, np.ndarray):
                place = self.memory.allocate(value.nbytes, param.name, value.copy())
                places.append(place)
                raw = np.uint64(place.address)
            else:
                places.append(None)
            data = np.asarray(raw).tobytes()
            packed[param.offset : param.offset + len(data)] = data
        for v in self.program.globals:
            self.memory.place(v.address, v.contents(), v.name, v.space, writable=v.space != "const")
        self.places, self.arguments, self.params = places, arguments, bytes(packed)
        self.builds: dict[str, Loaded] = {}

    def reset(self) -> None:
        """Puts back what the kernel has written."""
        for k in self.kernel.written:
            self.places[k].data[:] = self.arguments[k].reshape(-1).view(np.uint8)

    def written(self) -> list[np.ndarray]:
        """The arrays that the kernel has written."""
        return [
            self.places[k].data.view(self.arguments[k].dtype)[: self.arguments[k].size].copy()
            for k in self.kernel.written
        ]

    def build(self, **options: Any) -> float:
        """Builds the code for these options of a launch, at full quality; the seconds until the first result."""
        launch = self._launch(1, options)
        begun = time.perf_counter()
        built = prepare(self.program, None, instruments_of(launch), Rows.of(launch.block, launch.grid))[0]
        self.reset()
        Run(self.program, built, launch, self.memory).wait()
        seconds = time.perf_counter() - begun
        built.improve()
        self.builds[repr(sorted(options.items()))] = built
        return seconds

    def ready(self, workers: int = 1, times: int = 1, **options: Any) -> Run:
        """A launch that has not begun, with the arrays as the kernel expects them. times: that many times as many
        blocks, in z, which no kernel asks for: each piece of work is done so often."""
        self.reset()
        built, launch = self.builds[repr(sorted(options.items()))], self._launch(workers, options, times)
        return Run(self.program, built, launch, self.memory)

    def run(self, workers: int = 1, times: int = 1, **options: Any) -> tuple[float, float, Report]:
        """Seconds of CPU time and of wall time of one launch, and its report."""
        made = self.ready(workers, times, **options)
        cpu, wall = time.process_time(), time.perf_counter()
        made.wait()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return cpu, wall, made.report(wall)

    def _launch(self, workers: int, options: dict[str, Any], times: int = 1) -> Launch:
        x, y, z = three(self.kernel.grid)
        return Launch(
            (x, y, z * times),
            three(self.kernel.block),
            self.params,
            shared=self.kernel.shared,
            workers=workers,
            **options,
        )


def compile_c(kernels: Sequence[Kernel], folder: Path, cpu: str = "native") -> ctypes.CDLL:
    """All C functions as one library. cpu: as the compiler calls it."""
    source, library = folder / "kernels.c", folder / "kernels.so"
    source.write_text(C_PRELUDE + "\n".join(k.c for k in kernels))
    subprocess.run([*COMPILE_C, f"-march={cpu}", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


class InC:
    """The same algorithm in C, on arrays of its own."""

    def __init__(self, kernel: Kernel, arguments: Sequence[Any], library: ctypes.CDLL) -> None:
        self.kernel, self.given = kernel, arguments
        self.arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        self.function = getattr(library, kernel.name)
        self.function.restype = None
        self.passed = [
            a.ctypes.data_as(ctypes.c_void_p) if isinstance(a, np.ndarray) else np.ctypeslib.as_ctypes(np.asarray(a))
            for a in self.arguments
        ]

    def run(self) -> float:
        """CPU seconds of one call."""
        for k in self.kernel.written:
            self.arguments[k][...] = self.given[k]
        begun = time.process_time()
        self.function(*self.passed)
        return time.process_time() - begun

    def written(self) -> list[np.ndarray]:
        """The arrays that the function has written."""
        return [self.arguments[k].reshape(-1) for k in self.kernel.written]


def agree(kernel: Kernel, ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    """Raises ValueError where the two results differ by more than the kernel's tolerance."""
    for k, a, b in zip(kernel.written, ours, theirs, strict=True):
        if kernel.tolerance == 0:
            same = np.array_equal(a, b)
            worst = "in some bits"
        else:
            scale = float(np.abs(b.astype(float)).max())
            error = float(np.abs(a.astype(float) - b.astype(float)).max())
            same, worst = error <= kernel.tolerance * scale, f"by {error:.3g}, where the largest value is {scale:.3g}"
        if not same:
            raise ValueError(f"{kernel.name}: argument {k} differs from what the C function writes, {worst}")
        if not b.any():
            raise ValueError(f"{kernel.name}: argument {k} is all zeros: the comparison shows nothing")

"""Traces: every step of chosen warps, written as a launch runs, in a compact file that can be walked both ways.

    run = pl.launch(ptx, grid, block, x, trace=pl.Trace(blocks=0, warps=[0, 1]))
    run.trace.save("kernel.trace")                            # a `Recording`, see `ptxlab.emulate.trace.recording`

The file is described in `ptxlab.emulate.trace.pages`.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ptxlab import options
from ptxlab.emulate.rules.clusters import mates_of
from ptxlab.emulate.trace import pages
from ptxlab.emulate.trace.order import Order
from ptxlab.emulate.trace.pages import Pending
from ptxlab.emulate.trace.recording import Recording
from ptxlab.errors import LaunchError

if TYPE_CHECKING:
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.step.interpreter import Step

LIMIT = 256 << 20
"""Bytes after which recording stops, by default."""


@dataclass(frozen=True)
class Trace:
    """What to record: `launch(..., trace=Trace(...))`.

    Parameters
    ----------
    blocks, warps
        A linear index, several, or None for all.
    start, steps
        The window: the first step, and how many. Each warp counts its own steps.
    lines
        PTX lines: only steps there are recorded. Registers that changed since the last recorded step count as its own.
    path
        A file that is written while the launch runs. None: the trace is kept in memory.
    limit
        Bytes after which recording stops; the trace is then marked `capped`.
    whole_clusters
        Whether to record the whole cluster of each block. Without it, what a block does to another's mbarriers is lost.

    Raises
    ------
    LaunchError
        For a parameter that is not of this form.

    Examples
    --------
    >>> import numpy as np, ptxlab as pl
    >>> x = np.zeros((64, 64), np.float32)
    >>> run = pl.attention(x, x, x, kernel="scalar", device="cpu", trace=pl.Trace(warps=0, steps=100)).run
    >>> len(run.trace.walk(block=0, warp=0))
    100
    """

    blocks: int | Iterable[int] | None = 0
    warps: int | Iterable[int] | None = None
    start: int = 0
    steps: int | None = None
    lines: Iterable[int] | None = None
    path: str | Path | None = None
    limit: int = LIMIT
    whole_clusters: bool = False

    def __post_init__(self) -> None:
        for name in ("blocks", "warps", "lines"):
            object.__setattr__(self, name, _chosen(name, getattr(self, name)))
        if not all(options.is_whole(n) and n >= 0 for n in (self.start, 0 if self.steps is None else self.steps)):
            raise LaunchError(f"trace: start and steps count from 0, got start={self.start!r}, steps={self.steps!r}")
        if not options.is_whole(self.limit):
            raise LaunchError(f"trace: limit: expected a number of bytes, got {self.limit!r}")
        if self.path is not None and not isinstance(self.path, str | Path):
            raise LaunchError(f"trace: path: expected the name of a file, got {self.path!r}")

    def recorder(self, program: Program, launch: Launch) -> TraceRecorder:
        return TraceRecorder(self, program, launch)


def _chosen(name: str, value: Any) -> frozenset[int] | None:
    if value is None:
        return None
    numbers = [value] if options.is_whole(value) else options.several(value)
    if numbers is None or not all(map(options.is_whole, numbers)):
        raise LaunchError(f"trace: {name}: expected a whole number, several, or None for all, got {value!r}")
    return frozenset(map(int, numbers))


class TraceRecorder:
    """Writes a trace. Each step costs a comparison of all registers with the last step's; the rest is done per page."""

    def __init__(self, trace: Trace, program: Program, launch: Launch) -> None:
        self.trace, self.program = trace, program
        blocks: Any = trace.blocks
        if trace.whole_clusters and blocks is not None:
            here = [mates_of(launch.grid, launch.cluster_size, block) for block in blocks if block < launch.blocks]
            blocks = frozenset(block for mates in here for block in mates)
        self.blocks: frozenset[int] | None = blocks
        """The blocks that are recorded; None for all."""
        self.file: BinaryIO = open(trace.path, "w+b") if trace.path is not None else io.BytesIO()
        self.warps: dict[tuple[int, int], Pending] = {}
        self.pages = self.steps = 0
        self.capped = False
        self.order = Order()
        head = json.dumps(describe(program, launch)).encode()
        self.file.write(pages.HEAD.pack(pages.MAGIC, pages.VERSION, len(head)) + head)
        self.written = self.file.tell()

    def wants(self, block: int, warp: int) -> bool:
        warps: Any = self.trace.warps
        return (self.blocks is None or block in self.blocks) and (warps is None or warp in warps)

    def record(self, step: Step) -> None:
        key = step.block, step.warp
        self.order.step(*key)
        warp = self.warps.get(key)
        if warp is None:
            warp = self.warps[key] = Pending(list(step.registers[: len(self.program.registers)]))
            for r, old, _ in step.writes:
                warp.last[r] = old
        number = warp.seen
        warp.seen += 1
        trace, lines = self.trace, self.trace.lines
        if number < trace.start or (trace.steps is not None and number >= trace.start + trace.steps) or self.capped:
            if number < trace.start:
                warp.last = list(step.registers[: len(warp.last)])
            return
        if lines is not None and step.code.line not in lines:
            return
        if not warp.codes:
            warp.first, warp.keyframe = number, list(warp.last)
        last, now = warp.last, step.registers
        written = {r for r, _, _ in step.writes} if _executed(step) else ()
        changed = [r for r, old in enumerate(last) if now[r] is not old or r in written]
        for r in changed:
            last[r] = now[r]
            warp.values.append(now[r])
        warp.registers += changed
        warp.codes.append(step.code.index)
        warp.masks.append(step.mask)
        warp.counts.append(len(changed))
        warp.touched.append(len(step.touches))
        warp.touches += step.touches
        if len(warp.codes) == pages.PAGE:
            self._flush(key, warp)

    def finish(self) -> Recording:
        for key, warp in self.warps.items():
            if warp.codes:
                self._flush(key, warp)
        ends = {"pages": self.pages, "steps": self.steps, "capped": self.capped}
        tail = json.dumps(ends | self.order.tail()).encode()
        self.file.write(pages.END_TAG + struct.pack("<I", len(tail)) + tail)
        self.file.flush()
        recording = Recording(self.file, str(self.trace.path or "trace"))
        recording.spans = self.program.spans
        self.close()
        return recording

    def close(self) -> None:
        self.file.close()

    def page(self, key: tuple[int, int], first: int, count: int, body: bytes) -> None:
        if self.written + len(body) > self.trace.limit:
            self.capped = True
            return
        head = pages.PAGE_HEAD.pack(pages.PAGE_TAG, *key, first, count, len(body), zlib.crc32(body))
        self.file.write(head + body)
        self.written += len(head) + len(body)
        self.pages += 1
        self.steps += count

    def _flush(self, key: tuple[int, int], warp: Pending) -> None:
        columns = pages.columns_of(warp).laid_out(pages.by_kind(warp.keyframe))
        self.page(key, warp.first, len(warp.codes), pages.packed(columns))
        for name in ("codes", "masks", "counts", "registers", "values", "touched", "touches"):
            getattr(warp, name).clear()


def _executed(step: Step) -> bool:
    """Whether an instruction was executed by any lane: its guard, if it has one, held."""
    if step.code.guard is None:
        return True
    register, negated = step.code.guard
    held = next((old for r, old, _ in step.writes if r == register), step.registers[register])
    return bool((step.mask & (held != negated)).any())


def describe(program: Program, launch: Launch) -> dict[str, Any]:
    """The header of a trace: enough to show it without the kernel."""
    return {
        "kernel": program.name, "title": program.title, "arch": program.arch, "file": program.file,
        "grid": launch.grid, "block": launch.block, "cluster": launch.cluster_size,
        "shared": program.shared_names, "text": "\n".join(program.lines),
        "registers": [[r.name, r.type, r.lane, r.function] for r in program.registers],
        "codes": [[c.line, c.form.opcode, c.instruction is not None] for c in program.codes],
    }  # fmt: skip

"""Traces: every step of chosen warps, written as a launch runs, in a compact file that can be walked both ways.

    run = pl.launch(ptx, grid, block, x, trace=pl.Trace(blocks=0, warps=[0, 1]))
    run.trace.save("kernel.trace")                            # a `Recording`, see `ptxlab.emulate.trace.recording`

The file: a header (magic, version, length; JSON with the kernel, its text, registers and code), pages, an end. A page
holds up to `PAGE` steps of one warp: the registers before them, and for each step its instruction, lanes, registers
written and accesses to memory. Each kind of data is a column, lanes as differences from their left neighbour, bytes
sorted by significance, compressed: a few dozen bytes per step for most kernels, never more than the raw values (128
bytes for a 32-bit register that is written). Little-endian throughout.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ptxlab import options
from ptxlab.emulate.program.lane_types import DTYPE, LANES
from ptxlab.emulate.rules.clusters import mates_of
from ptxlab.emulate.trace.order import Order
from ptxlab.errors import LaunchError

if TYPE_CHECKING:
    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.report import Launch
    from ptxlab.emulate.step.machine import Step
    from ptxlab.emulate.trace.recording import Recording

MAGIC = b"PTXTRACE"
VERSION = 1
HEAD = struct.Struct("<8sII")
"""Magic, version, bytes of JSON."""
PAGE_HEAD = struct.Struct("<4sIIQIII")
"""Tag, block, warp, number of the first step, steps, bytes that follow, their CRC-32."""
PAGE_TAG, END_TAG = b"PAGE", b"END."
PAGE = 4096
"""Steps of a page."""
LIMIT = 256 << 20
"""Bytes after which recording stops, by default."""
SPACES = ("generic", "global", "shared", "local", "frame", "param", "const", "cluster")
KINDS = ("load", "store", "atomic")


@dataclass(frozen=True)
class Trace:
    """What to record: `launch(..., trace=Trace(...))`.

    blocks, warps: a linear index, several, or None for all. whole_clusters: with each of these blocks also the others
    of its cluster, without which it is not known what a block does to another's mbarriers. start, steps: the window,
    counted in each warp's own steps. lines: only steps at these PTX lines; all changes of registers since the last
    recorded step count as the step's. path: a file to write to while the launch runs, else the trace is kept in memory.
    limit: bytes after which recording stops; the trace is then marked `capped`.
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
            raise LaunchError(f"trace: limit: a number of bytes is wanted, got {self.limit!r}")
        if self.path is not None and not isinstance(self.path, str | Path):
            raise LaunchError(f"trace: path: the name of a file is wanted, got {self.path!r}")

    def recorder(self, program: Program, launch: Launch) -> TraceRecorder:
        """The recorder for the stepping engine."""
        return TraceRecorder(self, program, launch)


def _chosen(name: str, value: Any) -> frozenset[int] | None:
    """The numbers that an option names: one, several, or None for all."""
    if value is None:
        return None
    numbers = [value] if options.is_whole(value) else options.several(value)
    if numbers is None or not all(map(options.is_whole, numbers)):
        raise LaunchError(f"trace: {name}: a whole number, several, or None for all is wanted, got {value!r}")
    return frozenset(map(int, numbers))


@dataclass
class Pending:
    """The steps of one warp that have not been written yet. `last`: its registers after the last recorded step."""

    last: list[np.ndarray]
    seen: int = 0
    first: int = 0
    keyframe: list[np.ndarray] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    touched: list[int] = field(default_factory=list)
    touches: list[Any] = field(default_factory=list)


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
        self.file.write(HEAD.pack(MAGIC, VERSION, len(head)) + head)
        self.written = self.file.tell()

    def wants(self, block: int, warp: int) -> bool:
        """Whether this warp is recorded."""
        warps: Any = self.trace.warps
        return (self.blocks is None or block in self.blocks) and (warps is None or warp in warps)

    def record(self, step: Step) -> None:
        """Records one step."""
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
        if len(warp.codes) == PAGE:
            self._flush(key, warp)

    def finish(self) -> Recording:
        """Writes the pending steps and the end."""
        from ptxlab.emulate.trace.recording import Recording

        for key, warp in self.warps.items():
            if warp.codes:
                self._flush(key, warp)
        ends = {"pages": self.pages, "steps": self.steps, "capped": self.capped}
        tail = json.dumps(ends | self.order.tail()).encode()
        self.file.write(END_TAG + struct.pack("<I", len(tail)) + tail)
        self.file.flush()
        recording = Recording(self.file, str(self.trace.path or "trace"))
        self.close()
        return recording

    def close(self) -> None:
        """Closes the file."""
        self.file.close()

    def page(self, key: tuple[int, int], first: int, count: int, body: bytes, crc: int) -> None:
        """Writes a page of a warp: `count` steps from number `first` on. crc: the checksum of the body."""
        if self.written + len(body) > self.trace.limit:
            self.capped = True
            return
        head = PAGE_HEAD.pack(PAGE_TAG, *key, first, count, len(body), crc)
        self.file.write(head + body)
        self.written += len(head) + len(body)
        self.pages += 1
        self.steps += count

    def _flush(self, key: tuple[int, int], warp: Pending) -> None:
        self.page(key, warp.first, len(warp.codes), *packed(columns_of(warp).laid_out(warp.keyframe)))
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
        "kernel": program.name, "arch": program.arch, "file": program.file, "grid": launch.grid, "block": launch.block,
        "cluster": launch.cluster_size, "shared": program.shared_names,
        "text": "\n".join(program.lines),
        "registers": [[r.name, r.type, r.lane, r.function] for r in program.registers],
        "codes": [[c.line, c.form.opcode, c.instruction is not None] for c in program.codes],
    }  # fmt: skip


# -- pages -------------------------------------------------------------------------------------------------------------


_CLASSES = tuple(dict.fromkeys(DTYPE.values()))
"""The kinds of lane values, in the order of their columns."""


@dataclass
class Columns:
    """Steps of one warp as columns. For each step: `codes`, `masks` (lane 0 the lowest bit),
    `counts` of writes, `touched` of accesses. For each write: `registers`; its value is a row of `kinds` of its type,
    and `rows` says which writes those are. For each access: `head` (kind, space, size), `lanes`, `addresses`."""

    codes: np.ndarray
    masks: np.ndarray
    counts: np.ndarray
    registers: np.ndarray
    kinds: dict[np.dtype[Any], np.ndarray]
    rows: dict[np.dtype[Any], np.ndarray]
    touched: np.ndarray
    head: np.ndarray
    lanes: np.ndarray
    addresses: np.ndarray

    def last_values(self) -> Iterator[tuple[int, np.ndarray]]:
        """What each register that is written holds after the last step."""
        registers, from_end = np.unique(self.registers[::-1], return_index=True)
        writes = self.registers.size - 1 - from_end
        for dtype, rows in self.rows.items():
            mine = np.isin(writes, rows)
            yield from zip(
                registers[mine].tolist(), self.kinds[dtype][np.searchsorted(rows, writes[mine])], strict=True
            )

    def pack(self, keyframe: Sequence[np.ndarray], level: int = 1) -> bytes:
        """The bytes of a page that begins with these registers. level: how hard zlib tries."""
        return packed(self.laid_out(keyframe), level)[0]

    def laid_out(self, keyframe: Sequence[np.ndarray]) -> tuple[bytes, ...]:
        """The columns of a page that begins with these registers, not compressed."""
        before = [pack_lanes([v for v in keyframe if v.dtype == dtype], dtype) for dtype in _CLASSES]
        values = [pack_lanes(self.kinds[dtype], dtype) for dtype in _CLASSES if dtype in self.kinds]
        return (
            self.codes.astype(np.uint32).tobytes(), self.masks.tobytes(), self.counts.astype(np.uint16).tobytes(),
            self.registers.astype(np.uint16).tobytes(), b"".join(before), b"".join(values),
            self.touched.astype(np.uint16).tobytes(), self.head.tobytes(), self.lanes.tobytes(),
            pack_lanes(self.addresses, np.dtype(np.uint64)),
        )  # fmt: skip


def packed(columns: Sequence[bytes], level: int = 1) -> tuple[bytes, int]:
    """The bytes of a page, each column a length and compressed data, and their checksum. level: how hard zlib tries."""
    body = b"".join(_column(data, level) for data in columns)
    return body, zlib.crc32(body)


def columns_of(warp: Pending) -> Columns:
    """The columns of the pending steps."""
    touches = warp.touches
    kinds = {dtype: [k for k, v in enumerate(warp.values) if v.dtype == dtype] for dtype in _CLASSES}
    return Columns(
        np.array(warp.codes), _bits(warp.masks), np.array(warp.counts), np.array(warp.registers, np.uint16),
        {dtype: np.array([warp.values[k] for k in rows], dtype).reshape(-1, LANES) for dtype, rows in kinds.items()},
        {dtype: np.array(rows, np.int64) for dtype, rows in kinds.items()}, np.array(warp.touched),
        np.array([(KINDS.index(t.what), SPACES.index(t.space), t.size) for t in touches], np.uint8).reshape(-1, 3),
        _bits([t.mask for t in touches]), np.array([t.address for t in touches], np.uint64).reshape(-1, LANES),
    )  # fmt: skip


def _bits(masks: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """32 booleans as a u32 each, lane 0 the lowest bit."""
    if not len(masks):
        return np.zeros(0, np.uint32)
    return np.packbits(np.array(masks, np.bool_), axis=1, bitorder="little").view(np.uint32).ravel()


def _column(data: bytes, level: int) -> bytes:
    packed = zlib.compress(data, level)
    return struct.pack("<II", len(packed), len(data)) + packed


def pack_lanes(values: Sequence[np.ndarray] | np.ndarray, dtype: np.dtype[Any]) -> bytes:
    """Values of 32 lanes each: every lane as the difference from its left neighbour, bytes sorted by significance."""
    if dtype == np.bool_:
        return _bits(values).tobytes()
    if not len(values):
        return b""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    whole = np.array(values, dtype).view(unsigned)
    whole[:, 1:] -= whole[:, :-1].copy()
    return np.ascontiguousarray(whole.view(np.uint8).reshape(-1, dtype.itemsize).T).tobytes()


def unpack_lanes(data: bytes, count: int, dtype: np.dtype[Any]) -> np.ndarray:
    """`count` values, shape (count, 32): the inverse of `pack_lanes`."""
    if dtype == np.bool_:
        return np.unpackbits(np.frombuffer(data, np.uint8).reshape(count, 4), axis=1, bitorder="little").view(np.bool_)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    planes = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, -1).T
    whole = np.ascontiguousarray(planes).view(unsigned).reshape(count, LANES)
    return np.cumsum(whole, axis=1, dtype=unsigned).view(dtype)


@dataclass
class Page:
    """A page read back: for each step its instruction, lanes, and the indices of its writes and touches."""

    codes: np.ndarray
    masks: np.ndarray
    first_write: np.ndarray
    registers: np.ndarray
    values: list[np.ndarray]
    keyframe: list[np.ndarray]
    first_touch: np.ndarray
    touch_head: np.ndarray
    touch_masks: np.ndarray
    addresses: np.ndarray


def unpack_page(body: bytes, lanes: Sequence[str]) -> Page:
    """The inverse of `Columns.pack`, for a program whose registers have these lane types."""
    columns, at = [], 0
    while at < len(body):
        packed, size = struct.unpack_from("<II", body, at)
        data = zlib.decompress(body[at + 8 : at + 8 + packed])
        if len(data) != size:
            raise ValueError("a column has another length than it says")
        columns.append(data)
        at += 8 + packed
    codes, masks = np.frombuffer(columns[0], np.uint32), np.frombuffer(columns[1], np.uint32)
    registers = np.frombuffer(columns[3], np.uint16)
    types = [DTYPE[lane] for lane in lanes]
    touch_masks = np.frombuffer(columns[8], np.uint32)
    return Page(
        codes, masks, _starts(columns[2]), registers, _by_class(columns[5], [types[r] for r in registers.tolist()]),
        _by_class(columns[4], types), _starts(columns[6]), np.frombuffer(columns[7], np.uint8).reshape(-1, 3),
        touch_masks, unpack_lanes(columns[9], touch_masks.size, np.dtype(np.uint64)),
    )  # fmt: skip


def _starts(counts: bytes) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.frombuffer(counts, np.uint16).astype(np.int64))])


def _by_class(data: bytes, types: Sequence[np.dtype[Any]]) -> list[np.ndarray]:
    """Values that were packed kind by kind, in their original order."""
    out: list[np.ndarray] = [np.zeros(0)] * len(types)
    at = 0
    for dtype in _CLASSES:
        places = [k for k, type_ in enumerate(types) if type_ == dtype]
        size = len(places) * (4 if dtype == np.bool_ else LANES * dtype.itemsize)
        for place, value in zip(places, unpack_lanes(data[at : at + size], len(places), dtype), strict=True):
            out[place] = value
        at += size
    return out

"""Traces read back: the steps of a warp and every register at each of them, forwards and backwards.

trace = pl.open_trace("kernel.trace") w = trace.walk(block=0, warp=1) w.forward()                                   # a
Moment: PTX line, opcode, lanes, writes, accesses w.registers["%r5"]                            # 32 values, after that
step w.seek(1000); w.back(); w.registers["%f3"]
"""

from __future__ import annotations

import functools
import json
import mmap
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.trace import pages
from ptxlab.emulate.trace.order import Copied
from ptxlab.emulate.trace.pages import Page
from ptxlab.errors import Span, TraceError
from ptxlab.names import source_name
from ptxlab.options import complete
from ptxlab.text.source_lines import SourceLines


@dataclass(frozen=True)
class Access:
    """One access: `kind` load, store or atomic; `size` bytes at each address (uint64, (32,)) of lanes in `mask`."""

    kind: str
    space: str
    size: int
    address: np.ndarray = field(repr=False)
    mask: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Moment:
    """One recorded step: its number in its warp, the PTX line and opcode, the active lanes (bool, shape (32,)), the
    registers that it changed as name -> (before, after), and its accesses to memory."""

    number: int
    line: int
    opcode: str
    mask: np.ndarray = field(repr=False)
    writes: dict[str, tuple[np.ndarray, np.ndarray]] = field(repr=False)
    accesses: tuple[Access, ...] = field(repr=False)


class Registers(Mapping[str, np.ndarray]):
    """The registers of a warp at one moment, by name: 32 values each."""

    def __init__(self, walker: Walker) -> None:
        self._walker, self._at = walker, walker.at

    def __getitem__(self, name: str) -> np.ndarray:
        return self._walker.value(self._walker.recording.numbers[name], self._at)

    def __iter__(self) -> Iterator[str]:
        return iter(self._walker.recording.numbers)

    def __len__(self) -> int:
        return len(self._walker.recording.numbers)


class Recording:
    """An open trace: the kernel that ran, and a `Walker` for each recorded warp."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self.name = name
        try:
            self.data: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # in memory, or empty
            file.seek(0)
            self.data = file.read()
        self.size = len(self.data)
        start = self._head()
        self.pages: dict[tuple[int, int], list[tuple[int, int, int, int, int]]] = {}
        self._index(start)
        self.page = functools.lru_cache(maxsize=16)(self._page)

    def _head(self) -> int:
        if self.data[:8] != pages.MAGIC:
            raise TraceError(f"{self.name} is not a trace: it begins with {bytes(self.data[:8])!r}")
        if self.size < pages.HEAD.size:
            raise TraceError(f"{self.name} was cut off: it ends within its header")
        _, version, length = pages.HEAD.unpack_from(self.data)
        if version != pages.VERSION:
            raise TraceError(
                f"{self.name} is a trace of format {version}; this ptxlab reads format {pages.VERSION}: "
                f"{'update ptxlab' if version > pages.VERSION else 'record it again'}"
            )
        if self.size < pages.HEAD.size + length:
            raise TraceError(f"{self.name} was cut off: it ends within its header")
        head = json.loads(bytes(self.data[pages.HEAD.size : pages.HEAD.size + length]))
        self.kernel, self.arch, self.text = str(head["kernel"]), str(head["arch"]), str(head["text"])
        self.title = str(head.get("title", self.kernel))  # the kernel's name in the source
        self.spans: Mapping[int, Span] = SourceLines(self.text, self.name)
        """PTX line -> the source that it comes from."""
        self.grid, self.block = tuple(head["grid"]), tuple(head["block"])
        self.cluster: tuple[int, int, int] = tuple(head.get("cluster", (1, 1, 1)))
        self.shared: list[tuple[str, int, int]] = [tuple(v) for v in head.get("shared", ())]  # name, address, bytes
        self.codes: list[tuple[int, str, bool]] = [tuple(c) for c in head["codes"]]
        self.registers: list[tuple[str, str, str, str]] = [tuple(r) for r in head["registers"]]
        times = Counter(name for name, *_ in self.registers)
        self.names = [
            name if times[name] == 1 or function == self.kernel else f"{source_name(function)}.{name}"
            for name, *_, function in self.registers
        ]
        self.numbers = {name: k for k, name in enumerate(self.names)}
        return pages.HEAD.size + int(length)

    def _index(self, at: int) -> None:
        steps = whole = 0
        while True:
            tag = bytes(self.data[at : at + 4])
            if tag == pages.END_TAG and at + 8 <= self.size:
                (length,) = struct.unpack_from("<I", self.data, at + 4)
                if at + 8 + length <= self.size:
                    tail = json.loads(bytes(self.data[at + 8 : at + 8 + length]))
                    break
            end = at + pages.PAGE_HEAD.size
            if tag == pages.PAGE_TAG and end <= self.size:
                _, block, warp, first, count, length, crc = pages.PAGE_HEAD.unpack_from(self.data, at)
                if end + length <= self.size:
                    self.pages.setdefault((block, warp), []).append((first, count, end, length, crc))
                    at, whole, steps = end + length, whole + 1, steps + count
                    continue
            if tag in (pages.PAGE_TAG, pages.END_TAG, b"") or self.size - at < 4:
                raise TraceError(f"{self.name} was cut off: it ends after {whole} whole pages, {steps} steps")
            raise TraceError(f"{self.name} is damaged: byte {at} has {tag!r}, not a page")
        self.capped, self.steps = bool(tail["capped"]), int(tail["steps"])
        self.turns: list[tuple[int, int, int]] = [tuple(turn) for turn in tail.get("turns", ())]
        self.copies = [Copied(*row) for row in tail.get("copies", ())]
        self.maps: list[bytes] = [bytes.fromhex(map) for map in tail.get("maps", ())]

    def _page(self, start: int, length: int, crc: int) -> Page:
        body = bytes(self.data[start : start + length])
        if zlib.crc32(body) != crc:
            raise TraceError(f"{self.name} is damaged: the page at byte {start} does not have its checksum")
        return pages.unpack_page(body, [r[2] for r in self.registers])

    @property
    def warps(self) -> list[tuple[int, int]]:
        """(block, warp) of every warp with recorded steps."""
        return sorted(self.pages)

    @property
    def bytes_per_step(self) -> float:
        """Bytes of the whole file per recorded step."""
        return self.size / self.steps if self.steps else 0.0

    def walk(self, block: int | None = None, warp: int | None = None) -> Walker:
        """A walker at the start of a warp; by default of the first that was recorded."""
        for key in self.warps:
            if block in (None, key[0]) and warp in (None, key[1]):
                return Walker(self, key)
        listed = ", ".join(f"{b}:{w}" for b, w in self.warps[:20]) or "none"
        raise TraceError(f"{self.name} has no steps of block {block}, warp {warp}; it has (block:warp) {listed}")

    def codes_of(self, key: tuple[int, int]) -> np.ndarray:
        """For each step of a warp (block, warp) the index of the executed instruction in `codes`."""
        return np.concatenate([self.page(start, length, crc).codes for _, _, start, length, crc in self.pages[key]])

    def places(self) -> dict[tuple[int, int], np.ndarray]:
        """Where each step of a warp (block, warp) lies among those of all warps. Raises `TraceError` where steps are
        missing: a window or some lines only were recorded, or the limit was reached."""
        found: dict[tuple[int, int], list[np.ndarray]] = {key: [] for key in self.pages}
        at = 0
        for block, warp, count in self.turns:
            found.setdefault((block, warp), []).append(np.arange(at, at + count))
            at += count
        places = {key: np.concatenate([np.zeros(0, np.int64), *parts]) for key, parts in found.items()}
        if any(sum(page[1] for page in self.pages.get(key, ())) != len(there) for key, there in places.items()):
            raise TraceError(
                f"{self.name} does not hold all steps of its warps, and so their order is not known: record without "
                "start=, steps= and lines=, and with a larger limit="
            )
        return places

    def save(self, path: str | Path) -> None:
        """Writes the trace to a file."""
        Path(path).write_bytes(bytes(self.data))

    def __repr__(self) -> str:
        warps = len(self.pages)
        out = f"trace of {self.title}: {self.steps:,} steps of {warps} warp{'' if warps == 1 else 's'}, "
        out += f"{self.size:,} bytes, {self.bytes_per_step:.1f} a step"
        return out + (", capped" if self.capped else "")


class Walker:
    """A position in the steps of one warp: after `at` of `len(self)` recorded steps."""

    def __init__(self, recording: Recording, key: tuple[int, int]) -> None:
        self.recording, (self.block, self.warp) = recording, key
        self._pages = recording.pages[key]
        self._starts = np.cumsum([0] + [count for _, count, *_ in self._pages])
        self.at = 0

    def __len__(self) -> int:
        return int(self._starts[-1])

    def seek(self, at: int) -> Moment | None:
        """Goes to the place after step `at`; negative counts from the end. Returns that step, None at 0."""
        at = at + len(self) + 1 if at < 0 else at
        if not 0 <= at <= len(self):
            raise TraceError(f"there are {len(self)} recorded steps of block {self.block}, warp {self.warp}; not {at}")
        self.at = at
        return self.last

    def forward(self, steps: int = 1) -> Moment | None:
        """The next step; stays at the end."""
        return self.seek(min(len(self), self.at + steps))

    def back(self, steps: int = 1) -> Moment | None:
        """Goes back; stays at the start. Returns the step that is then last."""
        return self.seek(max(0, self.at - steps))

    @property
    def last(self) -> Moment | None:
        """The step before this position."""
        return self.moment(self.at - 1) if self.at else None

    @property
    def registers(self) -> Registers:
        """All registers at this position."""
        return Registers(self)

    def _find(self, step: int) -> tuple[Page, int, int]:
        """The page of a recorded step, its place in the page, and its number in the warp where they are consecutive."""
        k = int(np.searchsorted(self._starts, step, "right")) - 1
        first, _, start, length, crc = self._pages[k]
        inside = step - int(self._starts[k])
        return self.recording.page(start, length, crc), inside, first + inside

    def moment(self, step: int) -> Moment:
        """A recorded step by its place among them, counted from 0."""
        page, inside, number = self._find(step)
        recording = self.recording
        line, opcode, _ = recording.codes[int(page.codes[inside])]
        writes = {}
        for k in range(int(page.first_write[inside]), int(page.first_write[inside + 1])):
            r = int(page.registers[k])
            writes[recording.names[r]] = self._before(page, r, k), page.values[k]
        accesses = tuple(
            Access(
                pages.KINDS[page.touch_head[k, 0]],
                pages.SPACES[page.touch_head[k, 1]],
                int(page.touch_head[k, 2]),
                page.addresses[k],
                lanes_of(int(page.touch_masks[k])),
            )
            for k in range(int(page.first_touch[inside]), int(page.first_touch[inside + 1]))
        )
        return Moment(number, line, opcode, lanes_of(int(page.masks[inside])), writes, accesses)

    def value(self, register: int, at: int) -> np.ndarray:
        """A register (by number) after `at` recorded steps."""
        if at == 0:
            return self._find(0)[0].keyframe[register]
        page, inside, _ = self._find(at - 1)
        return self._before(page, register, int(page.first_write[inside + 1]))

    @staticmethod
    def _before(page: Page, register: int, write: int) -> np.ndarray:
        """A register before a write of the page."""
        earlier = np.flatnonzero(page.registers[:write] == register)
        return page.values[earlier[-1]] if earlier.size else page.keyframe[register]


def lanes_of(bits: int) -> np.ndarray:
    return (bits >> np.arange(LANES) & 1).astype(np.bool_)


@complete()
def open_trace(path: str | Path) -> Recording:
    """Opens a trace that `Recording.save` or `Trace(path=...)` wrote.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Recording
        The steps of each warp, both ways; `pl.debug` shows it.

    Raises
    ------
    TraceError
        For a file that is not a trace, of another version, or truncated.
    """
    with open(path, "rb") as file:
        return Recording(file, Path(path).name)

"""initcheck: what a launch of the interpreter knows of bits without a value; `following` has the rule."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.program.liveness import unwritten_registers
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.rules.notes import NO_VALUE, UNINITIALISED, Note
from ptxlab.emulate.rules.records import WITHOUT
from ptxlab.emulate.runtime.memory import Allocation
from ptxlab.isa import types
from ptxlab.isa.actions import Action

ROWS = frozenset({Action.LOAD_ROWS, Action.STORE_ROWS, Action.LOAD_FRAGMENT, Action.STORE_FRAGMENT})
MOST = 1 << 16
"""Loads that are told apart; later ones count as the first of the same instruction."""


class Place(NamedTuple):
    """Where an instruction was executed: code index, linear block, warp, lane."""

    code: int
    block: int
    warp: int
    lane: int


@dataclass(eq=False, slots=True)
class Source:
    """A load of bytes that nobody has written, or a register to which nothing has been written: the load's code index
    (-1: a register), of each lane the address of its first such byte. partly: some bytes of each word were written."""

    code: int
    block: int
    warp: int
    register: int = -1
    addresses: np.ndarray | None = None
    partly: bool = False


class MemoryValues:
    """What is written in a range of memory, as `rules.initcheck` knows it; of bytes that were stored `WITHOUT` a value
    which bits have none, and where these come from. stores: of an array, which instruction has stored first what comes
    from a source, and from which register."""

    def __init__(self, data: np.ndarray, written: np.ndarray, *, array: bool = False) -> None:
        self.data, self.written, self.array = data, written, array
        self.stores: dict[int, tuple[Place, int]] = {}

    @functools.cached_property
    def bits(self) -> np.ndarray:
        """The bits without a value of each byte; they count where `written` says so."""
        return np.zeros(self.written.size, np.uint8)

    @functools.cached_property
    def origins(self) -> np.ndarray:
        return np.zeros(self.written.size, np.uint32)


class Bytes(NamedTuple):
    """Bytes that lanes access: their places in a range of memory, one row for each lane; where they are loaded, the
    bits without a value, and for each lane where these come from."""

    memory: MemoryValues
    lanes: np.ndarray
    places: np.ndarray
    bits: np.ndarray
    origins: np.ndarray


class Values:
    """What a launch knows of bits without a value. An origin is the number of a `Source` and a lane of it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.unwritten = unwritten_registers(program)
        self.sources: list[Source] = [Source(-1, 0, 0)]
        self.notes: dict[int, Note] = {}
        self._first: dict[int, int] = {}
        self._seen: set[tuple[int, int]] = set()
        self._arrays: list[MemoryValues] = []

    def source(self, one: Source) -> int:
        if len(self.sources) >= MOST and one.code in self._first:
            return self._first[one.code]
        self.sources.append(one)
        self._first.setdefault(one.code, len(self.sources) - 1)
        return len(self.sources) - 1

    def of_warp(
        self, regs: list[np.ndarray], block: int, warp: int
    ) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
        """A new warp's bits without a value (all of registers that a path reads before a write), and the origins."""
        lacks, origins = {}, {}
        for r in self.unwritten:
            lacks[r] = everything(regs[r], np.ones(LANES, np.bool_))
            number = self.source(Source(-1, block, warp, r))
            origins[r] = np.arange(LANES, dtype=np.uint32) | np.uint32(number << 5)
        return lacks, origins

    def stored(self, place: Place, given: Bytes, register: int) -> None:
        some = given.bits != 0
        memory, places = given.memory, given.places[some]
        if not places.size:
            return
        memory.written[places] = WITHOUT
        memory.bits[places] = given.bits[some]
        origins = np.broadcast_to(given.origins[:, None], given.places.shape)[some]
        memory.origins[places] = origins
        if memory.array:
            if not memory.stores:
                self._arrays.append(memory)
            lanes = np.broadcast_to(given.lanes[:, None], given.places.shape)[some]
            for number, at in zip(*np.unique(origins >> 5, return_index=True), strict=True):
                memory.stores.setdefault(int(number), (place._replace(lane=int(lanes[at])), register))

    def used(self, place: Place, origin: int, register: int = -1) -> None:
        """A bit without a value has decided something."""
        number, lane = origin >> 5, origin & 31
        source = self.sources[number]
        where = place.block, place.warp, place.lane
        key = source.code if source.code >= 0 else -1 - place.code
        note = self.notes.get(key)
        if note is None and source.code < 0:
            about = (register if register >= 0 else source.register) | source.register << 32
            note = Note(NO_VALUE, place.code, *where, value=about, count=0)
        elif note is None:
            address = -1 if source.addresses is None else int(source.addresses[lane])
            mine = source.code, source.block, source.warp, lane
            other = (place.code, *where) if place.code != source.code else (-1, 0, 0, 0)
            note = Note(UNINITIALISED, *mine, *other, address, count=0)
        self.notes[key] = note
        if (key, number) not in self._seen:
            self._seen.add((key, number))
            note.count += 1

    def ended(self, arrays: Iterable[Allocation]) -> None:
        """The launch has ended: what these arrays of the host hold is used, but for the padding of structures: words of
        which some bytes have a value, copied as words or byte by byte."""
        units = {id(array.data): min(array.itemsize or 4, 4) for array in arrays}
        for memory in self._arrays:
            if unit := units.get(id(memory.data)):
                lost = memory.written == WITHOUT
                words = lost[: lost.size // unit * unit].reshape(-1, unit).all(axis=1).repeat(unit)
                whole = set(np.unique(memory.origins[: words.size][words]).tolist())
                for number in np.unique(memory.origins[lost]).tolist():
                    if number == 0:  # stored by an earlier launch
                        continue
                    place, register = memory.stores[number >> 5]
                    byte = types.width(self.program.codes[place.code].form.type) == 8
                    if number in whole or not (byte or self.sources[number >> 5].partly):
                        self.used(place, number, register)


def brings(code: Code) -> bool:
    """Whether what an instruction reads in memory may have no value: what others read is used at once."""
    return code.action in ROWS or code.action is Action.LOAD or code.properties.lane_copy


def bits_of(value: np.ndarray) -> np.ndarray:
    return value if value.dtype.kind in ("b", "u") else value.view(f"u{value.dtype.itemsize}")


def everything(like: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    bits = bits_of(like)
    return lanes.copy() if bits.dtype.kind == "b" else np.where(lanes, ~np.zeros_like(bits), np.zeros_like(bits))

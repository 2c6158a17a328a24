"""Object code of x86-64 Linux brought into memory without LLVM, whose library takes four times as long to load.

LLVM generates code that may lie anywhere: it refers to everything by 64-bit addresses. So an object file is loaded by
copying its sections and entering addresses. `placed` gives None where that would not do, and on other computers.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxlab.emulate.language.records import pages
from ptxlab.emulate.language.types import start_of

SECTION = np.dtype("u4,u4,u8,u8,u8,u8,u4,u4,u8,u8")
SECTION.names = ("name", "type", "flags", "address", "offset", "size", "link", "info", "align", "each")
SYMBOL = np.dtype("u4,u1,u1,u2,u8,u8")
SYMBOL.names = ("name", "info", "other", "section", "value", "size")
RELOCATION = np.dtype("u8,u4,u4,u8")
RELOCATION.names = ("place", "type", "symbol", "added")
BEGINNING, KIND = b"\x7fELF\x02\x01\x01", b"\x01\x00\x3e\x00"
"""An ELF file of 64 bits, little-endian; from byte 16 on: to be linked, for x86-64."""
SYMTAB, RELA, REL = 2, 4, 9
"""Types of sections."""
WRITE, ALLOC, THREADS = 1, 2, 0x400
"""Flags of sections: written to, in memory, and another one in each thread."""
UNDEFINED, SPECIAL = 0, 0xFF00
"""A symbol's section if another file has it, and the first number that is not a section's."""
ADDRESS = 1
"""The type of a relocation: a symbol's address."""
READ_AND_RUN = 5
"""What memory may be used for."""
ALIGNED = 64
"""Sections begin at multiples of this."""


class Placed:
    """Object code in memory, for as long as this object lives, and where the functions are that others may call."""

    def __init__(self, memory: np.ndarray, addresses: dict[str, int]) -> None:
        self._memory, self.addresses = memory, addresses


class _Object:
    """An object file."""

    def __init__(self, blob: bytes) -> None:
        self._octets = np.frombuffer(blob, np.uint8)
        first, count = (int.from_bytes(blob[at:end], "little") for at, end in ((40, 48), (60, 62)))
        self._sections = np.frombuffer(blob, SECTION, count, first)
        (table,) = self._sections[self._sections["type"] == SYMTAB]
        self._symbols = self._part(table).view(SYMBOL)
        names = self._part(self._sections[table["link"]]).tobytes()
        self._shared = [
            (names[start : names.index(b"\0", start)].decode(), n)
            for n, (start, info) in enumerate(self._symbols[["name", "info"]].tolist())
            if info >> 4
        ]
        """The symbols that are known in several files, by their names."""
        self._loaded = np.flatnonzero((self._sections["flags"] & ALLOC > 0) & (self._sections["size"] > 0)).tolist()
        """The sections that lie in memory."""
        self._relocations = [
            (int(each["info"]), self._part(each).view(RELOCATION))
            for each in self._sections[self._sections["type"] == RELA]
            if each["info"] in self._loaded
        ]
        """For each section the addresses that are entered there."""
        self._starts = np.zeros(count, np.uint64)
        self._values = self._symbols["value"].copy()

    def _part(self, section: Any) -> np.ndarray:
        """The bytes of a section."""
        return self._octets[section["offset"] : section["offset"] + section["size"]]

    @property
    def simple(self) -> bool:
        """Whether it is constants and code, with addresses to be entered, and nothing else."""
        writes = self._sections["flags"][self._loaded] & (WRITE | THREADS)
        of = self._symbols["section"]
        return not (
            writes.any()
            or (self._sections["type"] == REL).any()
            or any((each["type"] != ADDRESS).any() for _, each in self._relocations)
            or any((of[each["symbol"]] >= SPECIAL).any() for _, each in self._relocations)
        )

    def place(self, start: int) -> int:
        """Chooses where its sections lie, from a place in memory on; gives the end."""
        for n in self._loaded:
            start = -(-start // ALIGNED) * ALIGNED
            self._starts[n] = start
            start += int(self._sections["size"][n])
        return start

    def exported(self, base: int) -> dict[str, int]:
        """The addresses of its symbols, its memory being at `base`."""
        of = self._symbols["section"]
        self._values += self._starts[np.minimum(of, len(self._starts) - 1)] + np.uint64(base)
        return {name: int(self._values[n]) for name, n in self._shared if UNDEFINED < of[n] < SPECIAL}

    def copy_to(self, memory: np.ndarray, known: dict[str, int]) -> bool:
        """Copies its sections, with all addresses; whether each symbol has one."""
        for name, n in self._shared:
            if self._symbols["section"][n] == UNDEFINED:
                address = known.get(name) or _in_process(name)
                if not address:
                    return False
                self._values[n] = address
        for n in self._loaded:
            part = self._part(self._sections[n])
            start = int(self._starts[n])
            memory[start : start + part.size] = part
        for n, entered in self._relocations:
            places = (entered["place"] + self._starts[n])[:, None] + np.arange(8, dtype=np.uint64)
            memory[places] = (self._values[entered["symbol"]] + entered["added"])[:, None].view(np.uint8)
        return True


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _in_process(name: str) -> int | None:
    """The address of a function of the C library."""
    function = getattr(_process(), name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def placed(blobs: Sequence[bytes]) -> Placed | None:
    """Object files whose parts call each other, in memory and ready to be called."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return None
    if not all(blob.startswith(BEGINNING) and blob[16:20] == KIND for blob in blobs):
        return None
    files, size = [_Object(blob) for blob in blobs], 1
    if not all(file.simple for file in files):
        return None
    for file in files:
        size = file.place(size)
    memory = np.frombuffer(pages(size), np.uint8)
    base, known = start_of(memory), dict[str, int]()
    for file in files:
        known |= file.exported(base)
    if not all(file.copy_to(memory, known) for file in files):
        return None
    if _process().mprotect(ctypes.c_void_p(base), ctypes.c_size_t(size), READ_AND_RUN):
        return None
    return Placed(memory, known)

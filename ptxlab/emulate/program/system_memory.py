"""The variables that lowering adds to a program for `printf`, `assert`, `malloc` and the barrier of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxlab.emulate.program.addresses import GLOBALS_BASE
from ptxlab.emulate.program.program import Global, System
from ptxlab.emulate.program.system_records import HEADER
from ptxlab.text.model import Module, Number

_MOST_ARGUMENTS = 32
SYSTEM_SHARED = 0x400
"""Bytes of shared memory, the first ones, that the system has for itself."""
_RESERVED = {"begin": 0, "0": 0, "1": SYSTEM_SHARED // 2, "end": SYSTEM_SHARED, "cap": SYSTEM_SHARED}


class SystemMemory:
    """The variables that lowering adds to a program for the system's own use."""

    def __init__(self, module: Module) -> None:
        self.globals: tuple[Global, ...] = ()
        self.local_margin = self.stack = 0
        self.formats: dict[str, int] = {}  # name of a variable that holds a format -> number of arguments
        for v in module.variables:
            text = v.initial if v.type in ("b8", "u8", "s8") and isinstance(v.initial, tuple) else ()
            if text and all(isinstance(n, Number) and n.kind == "int" for n in text):
                from ptxlab.emulate.program.printf import arguments_of

                written = bytes(int(n.value) & 255 for n in text if isinstance(n, Number)).partition(b"\0")[0]
                self.formats[v.name] = len(arguments_of(written.decode(errors="replace")))
        self.words = 2 * min(_MOST_ARGUMENTS, max(self.formats.values(), default=0))
        self.printf = self.heap = self.given = 0
        self.can_free = any(f.name == "free" for f in module.functions)
        self.frees: list[int] = []
        self.asserts: list[tuple[int, int]] = []
        self._workspace = 0
        self._next = GLOBALS_BASE

    def begin(self, placed: Sequence[Global]) -> None:
        """The module's own variables have their places."""
        self._next = max((g.address + g.initial.size for g in placed), default=GLOBALS_BASE)

    def reserve(self, name: str, size: int, valued: bool = True) -> int:
        """The address of a new variable. valued: see `Global`."""
        address = -(-self._next // 256) * 256 + 256
        self._next = address + size
        self.globals += (Global(name, "global", address, np.zeros(size, np.uint8), valued),)
        return address

    def provided(self, name: str) -> int | None:
        """What the driver keeps in special registers: the workspace of a cooperative grid, reserved shared memory."""
        if name in ("%envreg1", "%envreg2"):
            if not self._workspace:
                self._workspace = self.reserve("%grid workspace", 64)
            return self._workspace >> 32 if name == "%envreg1" else self._workspace & 0xFFFFFFFF
        return _RESERVED.get(name.removeprefix("%reserved_smem_offset_"))

    def finished(self) -> System:
        """The record that the program keeps."""
        heap = self.heap + HEADER.itemsize if self.given else 0
        frees = tuple(self.frees)
        return System(self.printf, self.words, tuple(self.asserts), self.stack, heap, self.given, frees)

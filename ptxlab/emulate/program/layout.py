"""Layout of variables: the parameter block, shared memory, frames in local memory, the data of module and system."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ptxlab.emulate.program.addresses import (
    CONST_WINDOW,
    GIVEN_NAME,
    GLOBALS_BASE,
    GRANULE,
    GRID_NAME,
    GRID_REGISTERS,
    HEADER,
    HEAP,
    HEAP_NAME,
    HeapPiece,
)
from ptxlab.emulate.program.flat_program import Param
from ptxlab.emulate.program.printf import arguments_of
from ptxlab.emulate.program.program import Global, System
from ptxlab.errors import PtxError
from ptxlab.isa import types
from ptxlab.isa.texture_object import ADDRESSES, AT, BYTES, FILTERS, SAMPLER
from ptxlab.names import source_name
from ptxlab.text.model import Module, Number, Sum, Variable


def size_of(variable: Variable) -> int:
    """Bytes of a variable; 0 for an unsized `[]` array."""
    return _element_size(variable) * math.prod(variable.shape)


def _element_size(variable: Variable) -> int:
    if variable.type in types.OPAQUE:
        return 8 if variable.space == "param" else BYTES  # a parameter is a handle
    return max(1, types.width(variable.type) // 8) * variable.vector


def align_of(variable: Variable) -> int:
    """Its alignment in bytes: the declared one, else its element's (a vector's whole size)."""
    return max(variable.align, _element_size(variable))


class Area:
    """A growing range of memory; `place` gives each variable its aligned offset."""

    def __init__(self, start: int = 0) -> None:
        self.end = start

    def place(self, size: int, align: int) -> int:
        """The offset of `size` bytes at this alignment."""
        at = -(-self.end // align) * align
        self.end = at + size
        return at


def params(variables: tuple[Variable, ...]) -> tuple[tuple[Param, ...], int]:
    """The kernel's parameter block: each parameter at its natural alignment, in order; and its size."""
    area, out = Area(), []
    for v in variables:
        size = size_of(v)
        at = area.place(size, align_of(v))
        out.append(Param(v.name, v.type, at, size, align_of(v), bool(v.shape), v.attributes))
    return tuple(out), area.end


def globals_of(
    variables: Iterable[Variable], function: Callable[[str], int | None], text: Callable[[int], str]
) -> tuple[Global, ...]:
    """Device addresses and first contents of `.global` and `.const` variables, addresses in initialisers resolved.
    `function` gives the number that stands for a function's address, `text` a line of the PTX."""
    area = Area(GLOBALS_BASE)
    placed = [v for v in variables if v.space in ("global", "const") and v.linkage != "extern"]
    # A gap after each variable makes accesses beyond its end fault.
    addresses = {v.name: area.place(size_of(v) + 256, max(align_of(v), 256)) for v in placed}

    constant = {v.name for v in placed if v.space == "const"}

    def resolve(symbol: Sum, line: int) -> int:
        name = symbol.base.text
        if name in addresses:
            return addresses[name] + (CONST_WINDOW if symbol.generic and name in constant else 0)
        token = function(name)
        if token is None:
            raise PtxError(f"the initialiser names {name!r}, which is not declared", line=line)
        return token

    out = []
    for v in placed:
        try:
            data = np.zeros(size_of(v), np.uint8)
        except MemoryError:
            raise PtxError(
                f"{source_name(v.name)} has {size_of(v):,} bytes; this machine does not have that much memory",
                line=v.line,
                column=v.column,
                length=len(v.name),
                source=text(v.line),
            ) from None
        if v.type == "samplerref":
            data[:BYTES] = _sampler(v)
        elif v.initial is not None and v.type not in types.OPAQUE:
            packed = v.packed(functools.partial(resolve, line=v.line))
            data[: len(packed)] = np.frombuffer(packed, np.uint8)
        out.append(Global(v.name, v.space, addresses[v.name], data, v.initial is not None or v.type in types.OPAQUE))
    return tuple(out)


def _sampler(v: Variable) -> np.ndarray:
    """The object of a `.samplerref`, whose properties are given as `filter_mode = linear`."""
    given = v.initial if isinstance(v.initial, tuple) else ()
    fields = {"tag": SAMPLER, "normalized_coords": 1, **{f"addr_mode_{k}": 3 for k in range(3)}}
    for item in given:
        name, _, value = str(item).partition(" = ")
        known = FILTERS if name == "filter_mode" else ADDRESSES if name.startswith("addr_mode_") else ()
        number = known.index(value) if value in known else int(value) if value.isdigit() else -1
        if name not in AT or number < 0:
            raise PtxError(f"the sampler {v.name} cannot have the property {item}", line=v.line)
        fields[name] = number
    if fields.pop("force_unnormalized_coords", 0):
        fields["normalized_coords"] = 0
    words = np.zeros(BYTES // 4, np.uint32)
    for name, number in fields.items():
        words[AT[name] // 4] = number
    return words.view(np.uint8)


_MOST_ARGUMENTS = 32
SYSTEM_SHARED = 0x400
"""Bytes of shared memory, the first ones, that the system has for itself."""
_RESERVED = {"begin": 0, "0": 0, "1": SYSTEM_SHARED // 2, "end": SYSTEM_SHARED, "cap": SYSTEM_SHARED}


class SystemMemory:
    """The variables that lowering adds to a program for `printf`, `assert`, `malloc` and the barrier of a grid."""

    def __init__(self, module: Module, placed: Sequence[Global]) -> None:
        self.globals: tuple[Global, ...] = ()
        self.local_margin = self.stack = 0
        self.formats: dict[str, int] = {}  # name of a variable that holds a format -> number of arguments
        for v in module.variables:
            text = v.initial if v.type in ("b8", "u8", "s8") and isinstance(v.initial, tuple) else ()
            if text and all(isinstance(n, Number) and n.kind == "int" for n in text):
                written = bytes(int(n.value) & 255 for n in text if isinstance(n, Number)).partition(b"\0")[0]
                self.formats[v.name] = len(arguments_of(written.decode(errors="replace")))
        self.words = 2 * min(_MOST_ARGUMENTS, max(self.formats.values(), default=0))
        self.printf = self.heap = self.given = 0
        self.can_free = any(f.name == "free" for f in module.functions)
        self.frees: list[int] = []
        self.asserts: list[tuple[int, int]] = []
        self._grid = 0
        self._next = max((g.address + g.initial.size for g in placed), default=GLOBALS_BASE)
        if any(
            f.name in ("malloc", "free") for f in module.functions
        ):  # all kernels of a module have its heap at one place
            self.heap = self.reserve(HEAP_NAME, HEADER.itemsize + HEAP, valued=False)
            if self.can_free:
                self.given = self.reserve(GIVEN_NAME, HEAP // GRANULE * HeapPiece.size, valued=False)

    def reserve(self, name: str, size: int, valued: bool = True, initial: bytes = b"", space: str = "global") -> int:
        """The address of a new variable. valued: see `Global`."""
        address = -(-self._next // 256) * 256 + 256
        self._next = address + size
        data = np.frombuffer(initial.ljust(size, b"\0"), np.uint8)
        self.globals += (Global(name, space, address, data, valued),)
        return address

    def of_grid(self, register: str) -> int:
        """Where the word is that a special register holds of the address by which a cooperative grid synchronizes. A
        launch that is not cooperative has zeros there."""
        if not self._grid:
            workspace = self.reserve("%grid workspace", 64).to_bytes(8, "little")
            self._grid = self.reserve(GRID_NAME, 8, initial=workspace, space="const")
        return self._grid + GRID_REGISTERS.index(register) * 4

    def provided(self, name: str) -> int | None:
        """What the driver keeps in special registers of reserved shared memory."""
        return _RESERVED.get(name.removeprefix("%reserved_smem_offset_"))

    def finished(self) -> System:
        heap = self.heap + HEADER.itemsize if self.given else 0
        frees = tuple(self.frees)
        return System(self.printf, self.words, tuple(self.asserts), self.stack, heap, self.given, frees)

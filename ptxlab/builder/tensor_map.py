"""Tensor maps as parameters of a kernel, `q: TensorMap`, and the copies of tiles that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptxlab.builder.emit import Emitter
from ptxlab.builder.pointer import Coordinates, Ptr
from ptxlab.builder.registers import Register, s32
from ptxlab.isa.tensor_map import SWIZZLES


@dataclass(eq=False)
class TensorMapType:
    """What `TensorMap` means as a parameter's type: the box that the kernel copies, once it has said so.

    box: elements in each dimension, the innermost last, as in numpy; swizzle: bytes. A launch makes the map of the
    array that it is given for the parameter.
    """

    box: tuple[int, ...] = ()
    swizzle: int = 0

    def __repr__(self) -> str:
        return "TensorMap"


class TensorMap:
    """A tensor in global memory as the tensor memory accelerator knows it: its shape, and the box that is a tile.

    `q.box(1, 1, 64, 64, swizzle=128)` says how much of each dimension one copy moves.
    `q.load(to, mbarrier, batch, head, row, column)` starts the copy of the tile at these coordinates,
    `q.store(source, ...)` one to global memory. Both are for one thread.
    """

    def __init__(self, k: Emitter, base: Register[Any], kind: TensorMapType, name: str) -> None:
        self.k, self.base, self.kind, self.name = k, base, kind, name

    def box(self, *sizes: int, swizzle: int = 0) -> None:
        """What one copy moves: elements in each dimension, the innermost last; swizzle: 0, 32, 64 or 128 bytes."""
        if not 1 <= len(sizes) <= 5 or not all(1 <= size <= 256 for size in sizes):
            raise self.k._error(f"a box has 1 to 5 dimensions of 1 to 256 elements, found {sizes}")
        if swizzle not in SWIZZLES:
            raise self.k._error(f"a swizzle is 0, 32, 64 or 128 bytes, found {swizzle}", "swizzle=128")
        self.kind.box, self.kind.swizzle = sizes, swizzle

    def load(self, to: Ptr[Any], mbarrier: Ptr[Any], *place: Register[Any] | int) -> None:
        """Starts the copy of the tile at `place` to shared memory; the mbarrier counts its bytes."""
        at = self._at(place)
        opcode = f"cp.async.bulk.tensor.{len(place)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        self.k._emit(opcode, to, at, mbarrier)

    def store(self, source: Ptr[Any], *place: Register[Any] | int) -> None:
        """Starts the copy of a tile from shared memory to `place`; what is outside of the tensor is not written.

        It belongs to the bulk group that this thread commits next.
        """
        at = self._at(place)
        opcode = f"cp.async.bulk.tensor.{len(place)}d.global.shared::cta.tile.bulk_group"
        self.k._emit(opcode, at, source)

    def _at(self, place: tuple[Register[Any] | int, ...]) -> Coordinates:
        box = self.kind.box
        if not box:
            raise self.k._error(
                f"the shape of a tile of {self.name} is missing", f"{self.name}.box(64, 64, swizzle=128)"
            )
        if len(place) != len(box):
            raise self.k._error(f"the box of {self.name} has {len(box)} dimensions, the place has {len(place)}")
        registers = []
        for one in reversed(place):  # PTX has the innermost dimension first
            if isinstance(one, Register):
                self.k._usable(one)
                if one.type.bits != 32 or one.type.kind == "float":
                    shown = self.k._shown(one)
                    raise self.k._error(f"a coordinate is a 32-bit integer, {shown} is {one.type.ptx}")
                registers.append(one)
            else:
                registers.append(self.k._emit("mov.s32", one, result=s32, temporary=True))
        return Coordinates(self.base, tuple(registers))

"""The faults of bulk copies in words."""

from __future__ import annotations

from ptxlab.emulate.rules.bulk_copies import OF_TENSORS, OPERATIONS
from ptxlab.emulate.rules.bulk_instructions import ALONE, BAD_SIZE, BEFORE, BETWEEN, INTERLEAVED, NO_MAP, UNREDUCED
from ptxlab.emulate.rules.faults import FaultingThread, invalid_mbarrier
from ptxlab.emulate.runtime.state import BAD_BULK, BAD_MBARRIER, COPY_FROM
from ptxlab.errors import DeviceFault

REASONS = {
    BAD_SIZE: "its size must be a multiple of 16 bytes and not 0, found {}",
    NO_MAP: "there is no tensor map at {:#x}; make one with pl.TensorMap",
    INTERLEAVED: "the tensor map at {:#x} has an interleaved layout; how its strides are meant is not public, so the "
    "CPU machine copies without: write 0 for .interleave_layout",
    UNREDUCED: "elements of the type in the tensor map at {:#x} have no such reduction; there are "
    + "; ".join(f".{o} of {', '.join(t for t, taken in OF_TENSORS.items() if o in taken)}" for o in OPERATIONS),
    BETWEEN: "the tile must begin at a multiple of 16 bytes in the innermost dimension (its first coordinate times the "
    "bytes of an element), found {} bytes behind one; a GPU stops there with an illegal instruction",
    BEFORE: "a tile that is stored or reduced may begin at no negative coordinate, found -{}; a GPU stops there with "
    "an illegal instruction (a tile that is loaded may)",
    ALONE: "this launch has no clusters; a GPU stops there with an illegal instruction, even where the block itself is "
    "meant",
}
CLUSTER = "a block may be a cluster of its own; write:  pl.launch(..., cluster=(1, 1, 1)), or .reqnctapercluster 1"


def bulk_fault(at: FaultingThread, kind: int, address: int, count: int, align: int) -> DeviceFault:
    """The fault that `bulk_instructions.wrong` has noted."""
    if kind == BAD_MBARRIER:
        return invalid_mbarrier(at, address)
    if kind == BAD_BULK:
        hint = CLUSTER if count == ALONE else ""
        return at.fault("trap", f"{at.code.form.opcode}: {REASONS[count].format(address)}", hint=hint)
    return at.access_fault("load" if kind == COPY_FROM else "store", space_of(address), address, count, align=align)


def space_of(address: int) -> str:
    """Where an address of a bulk copy lies: those of shared memory have 32 bits."""
    return "cluster" if address < 1 << 32 else "generic"

"""What bulk copies say in their opcodes and operands."""

from __future__ import annotations

from dataclasses import dataclass

from ptxlab.emulate.program.flat_program import Code
from ptxlab.emulate.program.lane_types import LANES
from ptxlab.emulate.rules import bulk_copies
from ptxlab.emulate.runtime.state import (
    COPY,
    GENERIC,
    GLOBAL,
    LOAD_TILE,
    PREFETCH_TILE,
    REDUCE,
    REDUCE_TILE,
    SHARED,
    STORE_TILE,
    WRITE,
)
from ptxlab.isa import types
from ptxlab.isa.actions import Action, AsyncGroup

OPERANDS = ("a", "b", "size", "m", "mask")
"""Operands by their names in the table, in the order of the columns of `data` in `issue_lanes`."""
TO, FROM, SIZE, BARRIER, RANKS, LOW, HIGH = (LANES * column for column in range(7))
"""Where each column begins: a number for each lane. `b` of a single value is in LOW and HIGH."""
SHIFTS = 5
"""Columns of `more` before the im2col offsets: the coordinates."""


@dataclass(frozen=True)
class Bulk:
    """A bulk copy: the kind of its transfers; whether it belongs to a bulk group (else it reports to an mbarrier),
    whether it goes to several blocks; of a reduction the operation (+ 1 for `red.async`) and the type; of a single
    value its bytes. space: that of the source; of a single value that of its target."""

    kind: int
    grouped: bool
    multicast: bool
    operation: int
    type: int
    count: int
    space: int


def bulk_of(code: Code) -> Bulk:
    """What an instruction copies."""
    form, reduces = code.form, code.action is Action.COPY_REDUCE
    grouped = code.properties.group is AsyncGroup.BULK
    operation = bulk_copies.OPERATIONS.index(str(form.operation)) if reduces else 0
    type_ = 0
    if reduces and not form.tensor:  # PTX ISA, cp.reduce.async.bulk: that of f32 flushes subnormal numbers
        type_ = bulk_copies.TYPES.index(f"{form.type}.ftz" if form.type == "f32" else str(form.type))
    count = 0
    if code.action is Action.PREFETCH_TILE:
        kind = PREFETCH_TILE
    elif form.tensor:
        kind = LOAD_TILE if not grouped else REDUCE_TILE if reduces else STORE_TILE
    elif form.single:
        kind, count = WRITE, types.width(form.type) // 8 * int(str(form.vec or "v1")[1:])
        operation += reduces
    else:
        kind = REDUCE if reduces else COPY
    space = GLOBAL if form.src == "global" else GENERIC if form.single and not form.space else SHARED
    return Bulk(kind, grouped, bool(form.multicast_cluster), operation, type_, count, space)

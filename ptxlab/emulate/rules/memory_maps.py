"""The memory that accesses of a launch may reach, as records that memcheck searches."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from ptxlab.emulate.language.types import start_of
from ptxlab.emulate.program.addresses import HEAP, HeapPiece
from ptxlab.emulate.program.program import Program
from ptxlab.emulate.runtime import memory as device
from ptxlab.emulate.runtime.report import Launch
from ptxlab.emulate.runtime.state import Allocation, MemoryMap


def memory_map(program: Program, launch: Launch, live: Sequence[device.Allocation]) -> MemoryMap:
    """The memory that accesses of a launch may reach; `live`: the allocations, by rising address."""
    fields = array("Q")  # those of `Allocation` are numbers of 8 bytes, in this order
    for a in live:
        written = 0 if a.written is None else start_of(a.written)
        fields.extend((a.address, a.size, a.writable, start_of(a.data), written, 0, 0))
    memory = MemoryMap.new()
    memory.allocations, memory.count = Allocation.many(np.frombuffer(fields, np.uint8)), len(live)
    memory.shared_start = program.shared_start
    memory.shared_size = program.dynamic_start - program.shared_start + launch.shared
    memory.local_size, memory.local_stride = program.local_size, program.local_stride
    memory.param_size = program.param_size
    memory.cluster = launch.cluster_blocks
    table = next((a.data for a in live if a.address == program.system.given), None)
    if table is not None:
        memory.heap, memory.heap_size, memory.given = program.system.heap, HEAP, HeapPiece.many(table)
    return memory

"""A block begins: the checks know nothing of it, its shared memory, its threads' local memory and registers."""

from __future__ import annotations

from ptxlab.emulate.language import clear, fill_bytes, rule, u64
from ptxlab.emulate.rules.races import BLOCKS
from ptxlab.emulate.rules.records import BLOCK, TIME, Block


@rule
def started(block: Block, linear: u64) -> None:
    """A block begins in memory that another one may have used; `linear` is its number in the grid."""
    written, records, stride, pending, size = (
        block.written,
        block.records,
        block.stride,
        block.pending,
        block.shared_size,
    )
    local, local_size = block.local, block.local_size
    registers, register_count = block.registers, block.register_count
    clear(block)
    block.written, block.records, block.stride, block.pending, block.shared_size = (
        written,
        records,
        stride,
        pending,
        size,
    )
    block.local, block.local_size = local, local_size
    block.registers, block.register_count = registers, register_count
    block.linear = linear
    block.now = (linear % BLOCKS + 1) << BLOCK | 1 << TIME
    block.full = block.now
    block.simple = (1 << 64) - 1
    if written is not None:
        fill_bytes(written, 0, size)
    if records is not None:
        fill_bytes(records, 0, stride * 24)
    if pending is not None:
        fill_bytes(pending, 0, size * 2)
    if local is not None:
        fill_bytes(local, 0, local_size)
    if registers is not None:
        fill_bytes(registers, 0, register_count * 4)

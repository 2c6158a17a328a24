"""A block begins: the checks' records of its shared memory, its threads' local memory and registers are reset."""

from __future__ import annotations

from ptxlab.emulate.language import clear, fill_bytes, rule, u8, u64
from ptxlab.emulate.rules.records import BLOCK, BLOCKS, GAP, RANKS, TIME, Block


@rule
def started(block: Block, linear: u64) -> None:
    """Resets the records, which another block may have used; `linear` is the block's number in the grid."""
    written, gaps, pending = block.written, block.gaps, block.pending
    records, stride = block.records, block.stride
    local, values, followed, value_count = block.local, block.values, block.followed, block.value_count
    mates, peers, rank = block.mates, block.peers, block.rank
    shared_size, local_size, local_stride = block.shared_size, block.local_size, block.local_stride
    tile_writes, tile_reads, tile_layout = block.tile_writes, block.tile_reads, block.tile_layout
    clear(block)
    block.tile_writes, block.tile_reads, block.tile_layout = tile_writes, tile_reads, tile_layout
    block.written, block.gaps, block.pending = written, gaps, pending
    block.records, block.stride = records, stride
    block.local, block.values, block.followed, block.value_count = local, values, followed, value_count
    block.shared_size, block.local_size, block.local_stride = shared_size, local_size, local_stride
    block.mates, block.peers, block.rank = mates, peers, rank
    block.linear = linear
    block.now = (linear % BLOCKS + 1) << BLOCK | 1 << TIME
    block.full = block.now
    block.simple = (1 << 64) - 1
    if mates is not None:
        mates[0].numbers[rank] = block.now >> BLOCK
        for row in range(2):
            for warp in range(32):
                mates[0].came[2 * rank + row, warp] = 0
    if peers is not None:
        fill_bytes(peers.cast(u8), 0, 32 * RANKS * 32 * 4)
    if written is not None:
        fill_bytes(written, 0, shared_size)
        if gaps is not None:
            for k in range(gaps[0]):
                fill_bytes(written + gaps[2 * k + 1], GAP, gaps[2 * k + 2])
    if records is not None:
        fill_bytes(records, 0, stride * 24)
    if pending is not None:
        fill_bytes(pending, 0, shared_size * 2)
    if tile_writes is not None and tile_reads is not None:
        fill_bytes(tile_writes, 0, shared_size // 2)
        fill_bytes(tile_reads, 0, shared_size // 2)
    if tile_layout is not None:
        fill_bytes(tile_layout, 0, shared_size // 2)
    if local is not None:
        fill_bytes(local, 0, local_size)
    if values is not None:
        fill_bytes(values, 0, value_count * 4)

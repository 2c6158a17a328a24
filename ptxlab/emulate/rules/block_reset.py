"""A block begins: the checks' records of its shared memory, its threads' local memory and registers are reset."""

from __future__ import annotations

from ptxlab.emulate.language import *
from ptxlab.emulate.rules.records import BLOCK, BLOCKS, GAP, RANKS, TIME, WAITS, Block


@rule
def started(block: Block, linear: u64) -> None:
    """Resets the records, which another block may have used; `linear` is the block's number in the grid. What is kept
    for each warp is reset for the warps that there are, and if it has changed: for 32 warps it is 40 kB."""
    block.linear = linear
    block.now = (linear % BLOCKS + 1) << BLOCK | 1 << TIME
    block.full = block.now
    block.simple = (1 << 64) - 1
    block.layouts, block.proxy_clock, block.proxy_met, block.proxy_covered = 0, 0, 0, 0
    if block.synchronized != 0:
        clear_arrivals(block, 4 * block.warps)
    clear_warps(block, 4 * block.warps)
    block.copies, block.updates, block.fences, block.syncs, block.product_waited = 0, 0, 0, 0, 0
    written, gaps, pending, records, stride = block.written, block.gaps, block.pending, block.records, block.stride
    tile_writes, tile_reads, tile_layout = block.tile_writes, block.tile_reads, block.tile_layout
    local, values, shared_size = block.local, block.values, block.shared_size
    mates, peers, rank = block.mates, block.peers, block.rank
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
        fill_bytes(records, 0, 24 * stride)
    if pending is not None:
        fill_bytes(pending, 0, shared_size * 2)
    if tile_writes is not None and tile_reads is not None:
        fill_bytes(tile_writes, 0, shared_size // 2)
        fill_bytes(tile_reads, 0, shared_size // 2)
    if tile_layout is not None:
        fill_bytes(tile_layout, 0, shared_size // 2)
    if local is not None:
        fill_bytes(local.cast(u8), 0, block.local_size)
    if values is not None:
        fill_bytes(values, 0, block.value_count * 4)


@rule(inline=True)
def clear_arrivals(block: Block, words: u64) -> None:
    """Nothing has come to a barrier yet; `words`: the bytes of a word for each warp."""
    fill_bytes(block.expected, 0, 64)
    fill_bytes(block.expected_code, 0, 64)
    fill_bytes(block.expected_by, 0, 64)
    fill_bytes(block.bar_code, 0, words)
    fill_bytes(block.whole_code, 0, words)
    fill_bytes(block.proxy_fenced, 0, words)


@rule(inline=True)
def clear_warps(block: Block, words: u64) -> None:
    """Nothing is known of the warps; `words`: the bytes of a word for each."""
    fill_bytes(block.phases, 0, words)
    fill_bytes(block.polled.row(0), 0, 4 * words)
    if block.fences != 0:
        fill_bytes(block.fenced, 0, words)
        fill_bytes(block.fenced_wide, 0, words)
        fill_bytes(block.unordered, 0, words)
        fill_bytes(block.heard, 0, words)
        fill_bytes(block.heard_soon, 0, words)
        fill_bytes(block.covered.row(0), 0, 32 * words)
        fill_bytes(block.covered_wide.row(0), 0, 32 * words)
        fill_bytes(block.acquired.row(0), 0, 32 * words)
        fill_bytes(block.seen.row(0), 0, 32 * words)
    if block.syncs != 0:
        fill_bytes(block.came.row(0), 0, 16 * 128)
        fill_bytes(block.sync.row(0), 0, 32 * words)
        fill_bytes(block.subsets.row(0), 0, 16 * words)
    if block.copies != 0:
        fill_bytes(block.committed, 0, 32 * words)
        fill_bytes(block.finished, 0, 32 * words)
    if block.product_waited != 0:
        fill_bytes(block.products_done, 0, words)
        fill_bytes(block.product_waits, 0, words)
        fill_bytes(block.waited_up_to.row(0), 0, WAITS * words)
        fill_bytes(block.waited_at.row(0), 0, 2 * WAITS * words)

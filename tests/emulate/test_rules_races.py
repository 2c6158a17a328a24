"""The records of racecheck: what a block begins with."""

from __future__ import annotations

import pytest

from ptxlab.emulate.rules.records import Block, started


@pytest.mark.parametrize("warps", [3, 32])
def test_a_block_that_begins_knows_nothing_of_the_one_before(warps: int) -> None:
    """All that the warps of a block may have changed is as in new records."""
    used, new = Block.new(), Block.new()
    for block in (used, new):
        block.warps = warps
    kept = {"warps", "rank", "stride", "followed", "shared_size", "local_stride"}  # of what these blocks have none of
    for name, field in Block.fields.items():
        if not field.indirect and name not in kept:
            size = field.kind.size * field.elements
            of_warps = field.shape is not None and field.shape.sizes[0] in (32, 1024)
            used.buffer[Block.offset(name) :][: size * warps // 32 if of_warps else size] = 0xFF
    for block in (used, new):
        started(block, 5)
    assert (used.buffer == new.buffer).all()

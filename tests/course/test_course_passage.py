"""What notebooks show of a kernel: passages of its source, and who stored what."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.course import passage
from ptxlab.course.writers import stores


def test_a_passage_ends_with_its_block() -> None:
    assert passage("tiled", "k_tile[i] =") == "k_tile[i] = key_tile[i]\nv_tile[i] = value_tile[i]"
    assert passage("tiled", "k_tile[i] =", "v_tile") == "k_tile[i] = key_tile[i]"
    loop, copy, *_, last = passage("tiled", "with k.loop(count * D", "seen =").splitlines()
    assert loop.startswith("with k.loop(count * D, start=thread")
    assert copy == "    k_tile[i] = key_tile[i]"
    assert last == "k.barrier()  # the tile is complete"


def test_a_passage_that_is_not_there() -> None:
    with pytest.raises(ValueError) as caught:
        passage("tiled", "for each key")
    assert str(caught.value) == "no line of tiled begins with 'for each key'"
    with pytest.raises(pl.kernels.UnknownKernel):
        passage("tilde", "k.loop")


@kernel
def backwards(k: Builder, y: Ptr[f32]) -> None:
    """Threads from 8 on store to the tile, the last one first."""
    tile = k.shared(f32, 64)
    with k.if_(k.tid.x > 7):
        tile[63 - k.tid.x] = 1.0


def test_who_stored_what() -> None:
    run = pl.launch(backwards, 1, 64, np.zeros(1, np.float32), device="step", trace=pl.Trace())
    address, thread = stores(run.trace)
    assert thread.tolist() == list(range(8, 64))
    assert (address // 4 + thread).tolist() == [63] * 56
    assert [part.size for part in stores(run.trace, "global")] == [0, 0]

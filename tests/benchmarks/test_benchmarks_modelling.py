"""The model beside measured times: for the GPU that was measured, from a campaign's folder."""

from __future__ import annotations

import pytest

from benchmarks import modelling

ROW = {"kernel": "pipelined", "dim": 128, "causal": False, "seq": 128, "tile_q": 128, "warps": 8, "stages": 3}


@pytest.mark.rest
@pytest.mark.long
def test_the_model_is_of_the_gpu_that_was_measured() -> None:
    """Tiles of 128 keys in three stages fit into the shared memory of an H100, and not into an A100's."""
    rows = [
        ROW | {"tile_kv": 32, "us": 500.0},
        ROW | {"tile_kv": 128, "us": 400.0},
        {"kernel": "decode_gqa", "us": 1.0},
    ]
    (line,) = modelling.lines(rows, "H100 SXM")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:4] == ["128", "full", "128", "2"]
    assert cells[4] in ("1.00", "-1.00", "nan")
    assert float(cells[5]) in (1.0, 1.25)
    least, median, most = map(float, cells[6].split(", "))
    assert 0 < least <= median <= most

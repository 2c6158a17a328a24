"""`pl.plot_tile`: the picture of a tile in shared memory agrees with what a copy puts there."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.errors import LaunchError
from ptxlab.lab.plots import places

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'ptxlab[plots]'")


@pytest.mark.parametrize(("swizzle", "columns"), [(0, 64), (128, 64), (64, 32), (32, 16)])
def test_the_places(swizzle: int, columns: int) -> None:
    """Chunk c of row r lies where PTX says: bits 4 to 6 of the address are combined with bits 7 to 9."""
    found = places(pl.TensorMap(np.zeros((32, 64), np.float16), (16, columns), swizzle=swizzle))
    chunks = columns * 2 // 16
    for at, (row, chunk) in enumerate(found.tolist()):
        plain = (row * chunks + chunk) * 16
        assert at * 16 == plain ^ (plain >> 7 & {0: 0, 32: 1, 64: 3, 128: 7}[swizzle]) << 4


def test_the_picture() -> None:
    figure = pl.plot_tile(pl.TensorMap(np.zeros((512, 64), np.float16), (256, 64), swizzle=128))
    (axis,) = figure.axes
    assert axis.get_title() == "tile of 256×64, 128-byte swizzle, the first 32 of 256 lines: row.chunk of 16 bytes"
    assert [text.get_text() for text in axis.texts[8:16]] == [f"1.{chunk ^ 1}" for chunk in range(8)]
    assert [label.get_text() for label in axis.get_yticklabels()][:3] == ["0", "512", "1024"]
    figure.canvas.draw()


def test_what_it_takes() -> None:
    with pytest.raises(LaunchError) as refused:
        pl.plot_tile(np.zeros(4))  # type: ignore[arg-type]
    assert str(refused.value) == "map: expected a pl.TensorMap, got ndarray"

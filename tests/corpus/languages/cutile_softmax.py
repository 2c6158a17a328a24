"""Softmax in cuTile: a tile a row."""

import cuda.tile as ct


@ct.kernel
def softmax(x, out, TILE: ct.Constant[int]):
    row, at = ct.bid(0), ct.arange(TILE, dtype=ct.int32)
    value = ct.gather(x, (row, at), padding_value=-float("inf"))
    e = ct.exp(value - ct.max(value))
    ct.scatter(out, (row, at), e / ct.sum(e))

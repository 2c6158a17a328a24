"""Softmax in Warp: a thread a row."""

import warp as wp


@wp.kernel
def softmax(x: wp.array2d(dtype=wp.float32), out: wp.array2d(dtype=wp.float32)):
    row = wp.tid()
    top = x[row, 0]
    for j in range(x.shape[1]):
        top = wp.max(top, x[row, j])
    total = float(0.0)  # noqa: UP018 (a variable that a loop changes)
    for j in range(x.shape[1]):
        total += wp.exp(x[row, j] - top)
    for j in range(x.shape[1]):
        out[row, j] = wp.exp(x[row, j] - top) / total

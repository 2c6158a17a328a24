"""Sums, scans and sorts, as CUDA C++ programs with what they must give."""

from __future__ import annotations

import numpy as np

from cuda_cases.table import Launch, close, f32, numbers, program


@program
def reductions(launch: Launch) -> None:
    x = numbers(1).integers(0, 2**32, 1000, np.uint32)
    for style in range(1, 8):
        out = np.zeros(8, np.uint32)
        launch(f"reduce{style}", 8, 128, x, out, 1000, shared=512 if style < 6 else 0)
        assert int(out.sum(dtype=np.uint32)) == int(x.sum(dtype=np.uint32)), style


@program
def reduce_groups(launch: Launch) -> None:
    x = numbers(2).integers(-99, 99, 500).astype(np.int32)
    out = np.zeros(1 + 2 * 96, np.int32)
    launch("reduce_groups", 1, 96, x, out, 500)
    t = np.arange(96)
    fours = (x[:96] < 0).reshape(-1, 4)
    expected = t // 4 * 4 * 4 + np.repeat(fours.any(1) * 2 + fours.all(1), 4)
    thirds = np.where(t % 3 == 0, [100 * len([k for k in range(32) if (w + k) % 3 == 0]) for w in t // 32 * 32], 32)
    thirds += np.where(t % 3 == 0, [sum(k % 3 == 0 for k in range(i // 32 * 32, i)) for i in t], 0)
    close(out, np.concatenate([[x.sum()], expected, thirds]))


@program
def grid_sync(launch: Launch) -> None:
    a = numbers(3).integers(0, 99, 250).astype(np.int32)
    b = np.zeros_like(a)
    expected = a.copy()
    for _ in range(6):
        expected = expected + np.roll(expected, -1)
    launch("grid_sync", 4, 64, a, b, 250, 6, cooperative=True)
    close(a, expected)


@program
def threadfence_reduce(launch: Launch) -> None:
    x = f32(numbers(4).integers(-99, 99, 3000))
    partial, out = np.zeros(6, np.float32), np.zeros(1, np.float32)
    launch("threadfence_reduce", 6, 128, x, partial, out, 3000)
    close(out, [x.sum()])


@program
def scan_blelloch(launch: Launch) -> None:
    x = numbers(5).integers(-99, 99, 250).astype(np.int32)
    out = np.zeros_like(x)
    launch("scan_blelloch", 1, 128, x, out, 250, shared=4 * (256 + 8))
    close(out, np.cumsum(x) - x)


@program
def scan_shuffle(launch: Launch) -> None:
    x = numbers(6).integers(-(2**60), 2**60, 200)
    out = np.zeros_like(x)
    launch("scan_shuffle", 1, 224, x, out, 200)
    close(out, np.cumsum(x))


@program
def scan_lookback(launch: Launch) -> None:
    x = numbers(7).integers(0, 99, 3000).astype(np.uint32)
    out, status = np.zeros_like(x), np.zeros(48, np.uint32)
    launch("scan_lookback", 24, 128, x, out, status, 3000)
    close(out, np.cumsum(x, dtype=np.uint32))


@program
def sort_bitonic(launch: Launch) -> None:
    keys = f32(numbers(8).permutation(256) - 100)
    values = np.arange(256, dtype=np.int32)
    order = np.argsort(keys)
    expected = keys[order]
    launch("sort_bitonic", 1, 256, keys, values, shared=2048)
    close(keys, expected)
    close(values, order)


@program
def sort_radix(launch: Launch) -> None:
    data = numbers(9).integers(0, 2**32, 190, np.uint32)
    expected = np.sort(data)
    launch("sort_radix", 1, 192, data, np.zeros_like(data), 190)
    close(data, expected)


@program
def sort_merge(launch: Launch) -> None:
    x = numbers(10).integers(0, 50, 300).astype(np.int32)
    out, expected, run = np.zeros_like(x), np.sort(x), 1
    while run < 300:
        launch("sort_merge", 5, 64, x, out, 300, run)
        x, out, run = out, x, 2 * run
    close(x, expected)


@program
def sort_quick(launch: Launch) -> None:
    x = numbers(11).integers(-1000, 1000, (40, 37)).astype(np.int32)
    expected = np.sort(x, axis=1)
    launch("sort_quick", 2, 20, x, 37)
    close(x, expected)


@program
def histogram_warp(launch: Launch) -> None:
    data = (numbers(12).standard_normal(2000) * 30 + 128).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    launch("histogram_warp", 3, 96, data, counts, 2000, shared=3 * 1024)
    close(counts, np.bincount(data, minlength=256))

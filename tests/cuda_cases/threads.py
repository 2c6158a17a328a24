"""Atomics, locks, votes and barriers, as CUDA C++ programs with what they must give."""

from __future__ import annotations

import numpy as np

from cuda_cases.table import NEEDS, Launch, close, f32, numbers, program


@program
def cas_loops(launch: Launch) -> None:
    x = f32(numbers(45).integers(-99, 99, 100))
    most, total, counts = f32([-1000]), np.zeros(2), np.zeros(8, np.uint8)
    counts[2] = 250
    rest = np.zeros(14, np.uint32)
    rest[3] = 0xFFFFFFFF
    launch("cas_loops", 2, 64, x, most, total, counts, rest, 100)
    close(most, [x.max()])
    close(total, [x.sum(), x.sum()])
    expected = np.append(np.bincount(np.arange(100) % 7), 0)
    expected[2] = 255
    close(counts, expected)
    xor = int(np.bitwise_xor.reduce(np.arange(100)))
    down = 0
    for _ in range(100):
        down = 9 if down == 0 or down > 9 else down - 1
    wide = np.uint64(99) << np.uint64(33)
    words = [-99 & 0xFFFFFFFF, 99, 0xFFFFFFFF, 0xFFFF0000, xor, 0, down, -300 & 0xFFFFFFFF, 77, 0]
    words += [int(wide) & 0xFFFFFFFF, int(wide) >> 32, 100, 200]
    close(rest, np.array(words, np.uint32))


@program
def spin_lock(launch: Launch) -> None:
    counter, order = np.zeros(4, np.int32), np.full(3 * 40 * 2, -1, np.int32)
    launch("spin_lock", 3, 40, counter, order, 2)
    close(counter, [240, 40, 40, 40])
    close(np.sort(order), np.repeat(np.arange(120), 2))


@program
def warp_votes(launch: Launch) -> None:
    x = numbers(46).integers(-3, 4, 32).astype(np.int32)
    out = np.zeros((18, 32), np.uint32)
    launch("warp_votes", 1, 32, x, out)
    t, u = np.arange(32), x.view(np.uint32)
    odd = sum(1 << k for k in range(32) if x[k] & 1)
    match = [sum(1 << k for k in range(32) if x[k] == v) for v in x]
    third = [sum(1 << k for k in range(32) if k % 4 == 1 and x[k] > 0) if i % 4 == 1 else 0 for i in t]
    below = x.astype(np.float64) / 3
    rows = [[odd] * 32, [2] * 32, match, [0] * 32, [0] * 32, u[(t + 5) % 32], u[t // 8 * 8 + 3],
            u[np.where(t % 16 >= 2, t - 2, t)], u[np.where(t % 4 + 3 < 4, t + 3, t) % 32], u[t ^ 9], None, third, match,
            f32(x * 1.5)[t ^ 1].view(np.uint32), below[np.minimum(t + 1, 31)].view(np.uint64) & 0xFFFFFFFF,
            [int(len(set(x != 0)) == 1)] * 32, [0xFFFFFFFF] * 32, t]  # fmt: skip
    for k, (row, expected) in enumerate(zip(out, rows, strict=True)):
        if expected is None:
            assert all((int(v) >> i & 1) == 1 and not int(v) & ~odd for i, v in enumerate(row) if x[i] & 1)
        elif k == 3:
            close(row, np.full(32, 0xFFFFFFFF + 1 & 0xFFFFFFFF, np.uint32))
        else:
            close(row, np.asarray(expected).astype(np.uint32))


@program
def warp_reductions(launch: Launch) -> None:
    x = numbers(47).integers(-(2**31), 2**31, 32).astype(np.int32)
    out = np.zeros((7, 32), np.uint32)
    launch("warp_reductions", 1, 32, x, out)
    u = x.view(np.uint32)
    values = [u.sum(dtype=np.uint32), x.min(), x.max(), np.bitwise_and.reduce(u), np.bitwise_or.reduce(u),
              np.bitwise_xor.reduce(u), u.max()]  # fmt: skip
    close(out, np.repeat(np.array([int(v) & 0xFFFFFFFF for v in values], np.uint32)[:, None], 32, 1))


NEEDS["warp_reductions"] = 80


@program
def producer_consumer(launch: Launch) -> None:
    x = numbers(48).integers(-99, 99, (5, 3, 32)).astype(np.int32)
    out = np.zeros(97, np.int32)
    launch("producer_consumer", 1, 128, x, out, 5)
    t = np.arange(32)
    expected = sum((i + 1) * x[i][:, (t + i) % 32] for i in range(5)).reshape(-1)
    close(out, np.append(expected, 26 * 4 + 2))


@program
def heat_persistent(launch: Launch) -> None:
    a = f32(numbers(49).standard_normal(200))
    expected = a.copy()
    for _ in range(4):
        p = np.pad(expected, 1, mode="edge")
        expected = f32(0.25) * p[:-2] + f32(0.5) * p[1:-1] + f32(0.25) * p[2:]
    b, taken, work = np.zeros_like(a), np.zeros(1, np.uint32), np.zeros(11, np.int32)
    launch("heat_persistent", 3, 32, a, b, 200, 4, taken, work, 11, cooperative=True)
    close(a, expected, 1e-6, 1e-6)
    close(work, np.full(11, 528))


@program
def clocks(launch: Launch) -> None:
    out, elapsed = np.zeros((6, 48), np.uint32), np.full((6, 48, 2), -1, np.int64)
    launch("clocks", (3, 1, 2), (4, 6, 2), out, elapsed)
    in_order = out.copy()
    in_order[out % 10 == 5] += 2  # a GPU puts a warp anywhere: %warpid need not be t / 32
    close(in_order, np.arange(6)[:, None] * 10000 + np.arange(48) * 10 + 7)
    assert (elapsed >= 0).all()

"""NVIDIA's device libraries (CUB, cooperative groups, libcu++) and rarely written PTX, as CUDA C++ programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_cases.table import NEEDS, Launch, close, f32, numbers, program


@program
def cub_block(launch: Launch) -> None:
    rng = numbers(61)
    x = rng.integers(-99, 99, 96).astype(np.int32)
    sums, scanned, warps = np.zeros(3, np.int32), np.zeros(96, np.int32), np.zeros(96, np.int32)
    launch("cub_sums", 1, 96, x, sums, scanned, warps)
    close(sums, [x.sum(), x.max(), x.sum()])
    close(scanned, np.cumsum(x) - x)
    close(warps, np.cumsum(x.reshape(3, 32), axis=1).reshape(-1))
    keys, values = rng.integers(0, 99, 256).astype(np.uint32), np.arange(256, dtype=np.int32)
    ordered, moved, heads = np.zeros_like(keys), np.zeros_like(values), np.zeros_like(values)
    launch("cub_sort", 1, 64, keys, values, ordered, moved, heads)
    order = np.argsort(keys, kind="stable")
    close(ordered, keys[order])
    close(moved, order)
    close(heads, np.append(1, np.diff(keys[order].astype(int)) != 0))
    data, counts, striped = rng.integers(0, 16, 192).astype(np.uint8), np.zeros(16, np.uint32), np.zeros(192, np.int32)
    launch("cub_histogram", 1, 64, data, counts, striped)
    close(counts, np.bincount(data, minlength=16))
    close(striped.reshape(64, 3), np.arange(192).reshape(3, 64).T)


@program
def groups_more(launch: Launch) -> None:
    x = numbers(62).integers(-5, 9, 64).astype(np.int32)
    out = np.zeros((10, 64), np.int32)
    launch("groups_more", 1, 64, x, out, 64)
    warps, eights, t = x.reshape(2, 32), x.reshape(8, 8), np.arange(64)
    close(out[0], np.cumsum(warps, axis=1).reshape(-1))
    close(out[1], (np.cumsum(eights, axis=1) - eights).reshape(-1))
    close(out[2], np.repeat(eights.max(1), 8))
    same = [[k for k in range(i // 32 * 32, i // 32 * 32 + 32) if (x[k] & 3) == (x[i] & 3)] for i in t]
    close(out[3], [100 * len(s) + s.index(i) for i, s in enumerate(same)])
    close(out[4], [x[s].sum() for s in same])
    halves = [[k for k in range(i // 32 * 32, i // 32 * 32 + 32) if (x[k] > 0) == (x[i] > 0)] for i in t]
    close(out[5], [x[h[0]] for h in halves])
    bit = lambda i, f: sum(1 << k for k in range(32) if f(int(x[i // 32 * 32 + k])))
    masks = [bit(i, lambda v, i=i: v & 1 == x[i] & 1) ^ bit(i, lambda v: v > 2) for i in t]
    close(out[6].view(np.uint32), np.array(masks, np.uint32))
    close(out[7], np.repeat(warps.min(1), 32) * 2)
    close(out[8], np.ones(64, np.int32))
    close(out[9], np.where(x > 0, np.cumsum(warps > 0, axis=1).reshape(-1), 0))


@program
def standard(launch: Launch) -> None:
    x, y = f32(numbers(63).standard_normal((2, 40)))
    out = np.zeros((5, 40), np.float32)
    launch("standard", 1, 40, x, y, out, 40)
    a, b, i = x + 1j * y.astype(np.float64), y + 1j, np.arange(40)
    c = a * b + a.conj() / b
    close(out[:2], np.stack([c.real, c.imag]), 1e-5, 1e-5)
    extra = [int(k * 77).bit_count() + 32 - int(k + 1).bit_length() for k in i]
    close(out[2], x + y + c.real + c.imag + extra, 1e-5, 1e-5)
    close(out[3], np.where(x < 0, -1, np.sqrt(np.abs(x))), 1e-6)
    close(out[4], np.abs(a), 1e-6)


@program
def pipeline_cuda(launch: Launch) -> None:
    x = numbers(64).integers(-9, 9, (7, 64)).astype(np.int32)
    out, expected = np.zeros(64, np.int32), np.zeros(64, np.int32)
    for tile in x:
        expected = expected * 3 + tile[::-1]
    launch("pipeline_cuda", 1, 64, x, out, 7)
    close(out, expected)


@program
def atomics_more(launch: Launch) -> None:
    pair, one, brain = np.zeros(2, np.float16), np.zeros(1, np.float16), np.zeros(2, np.uint16)
    words, counters = np.zeros(2, np.uint16), np.zeros(8, np.int32)
    wide = np.array([0, 2**63, 5, 2**64 - 1], np.uint64)
    launch("atomics_more", 1, 64, pair, brain, words, counters, one, wide)
    close(pair, [64, 128])
    close((brain.astype(np.uint32) << 16).view(np.float32), [64, 32])
    close(words, np.array([192, 0], np.uint16))
    close(one, [16])
    close(counters[[0, 1, 2, 5]], [64, 63, 0, 5 + 63 * 32])
    assert counters[3] == counters[4] + 1
    close(wide, np.array([2**64 - 63 * 32, 937, 2**64 - 63, 0], np.uint64))


@program
def cache_hints(launch: Launch) -> None:
    rng, i = numbers(65), np.arange(64)
    x, wide = rng.integers(0, 99, 64).astype(np.int32), rng.standard_normal((64, 2)) * 99
    out, small, tiny = np.zeros(640, np.int32), np.zeros((64, 4), np.int16), np.zeros((64, 2), np.uint8)
    launch("cache_hints", 1, 64, x, out, wide, small, tiny)
    close(out[:256].reshape(4, 64), 21 * x + np.arange(4)[:, None])
    close(out[256:512].reshape(64, 4), np.tile(x.reshape(16, 4), (4, 1)))
    close(out[512:576], x + 1000 + 2000 + 8000)
    close(out[576:], np.where(i % 2, i, 21 * x))
    close(small, np.stack([*np.trunc(wide).astype(int).T, i, np.full(64, 7)], 1))
    close(tiny, (np.trunc(wide).astype(int) & 255).astype(np.uint8))


@program
def int128(launch: Launch) -> None:
    x, y = numbers(66).integers(0, 2**64, (2, 32, 2), np.uint64)
    y[::3, 1] = 0
    out = np.zeros((10, 32, 2), np.uint64)
    launch("int128", 1, 32, x.copy(), y.copy(), out, 32)
    signed = lambda v: v - (1 << 128) if v >> 127 else v
    for i in range(32):
        a, b = (int(v[i, 1]) << 64 | int(v[i, 0]) for v in (x, y))
        divisor = signed(b >> 70 | 1)
        quotient = abs(signed(a)) // divisor * (1 if signed(a) >= 0 else -1)
        expected = [
            a + b, a - b, a * b, a // (b | 1), a % (b | 1), a << i, a >> i, quotient, signed(a) >> 5,
            (a < b) + 2 * (signed(a) < signed(b)),
        ]  # fmt: skip
        got = [int(v[1]) << 64 | int(v[0]) for v in out[:, i]]
        for k, (word, value) in enumerate(zip(got, expected, strict=True)):
            assert word == value & ((1 << 128) - 1), (k, i, hex(word), hex(value & ((1 << 128) - 1)))


@program
def stack_array(launch: Launch) -> None:
    out, t = np.zeros(64, np.int32), np.arange(64)
    launch("stack_array", 2, 32, out, 9)
    length = t % 9 + 1
    close(out, t * length * (length - 1) // 2)


def _prmt(a: int, b: int, selector: int) -> int:
    both, out = b << 32 | a, 0
    for k in range(4):
        s = selector >> 4 * k & 15
        byte = both >> 8 * (s & 7) & 255
        out |= (255 * (byte >> 7) if s & 8 else byte) << 8 * k
    return out


@program
def inline_ptx(launch: Launch) -> None:
    rng, n = numbers(67), 64
    x = rng.integers(0, 2**32, n, np.uint32)
    x[:3] = 0, 1, 2**32 - 1
    f = f32(rng.standard_normal(n) * 3)
    f[3], f[4] = 1e-40, np.nan
    out = np.zeros((40, n), np.uint32)
    launch("inline_ptx", 1, n, x, f, out, n)
    signed = lambda v: v - (1 << 32) if v >> 31 else v
    clamp = lambda v, low, high: min(max(v, low), high)
    bits = lambda v: int(f32([v]).view(np.uint32)[0])

    def field(a: int, at: int, length: int, sign: bool) -> int:
        if length == 0:
            return 0
        got = a >> at & ((1 << length) - 1)
        top = a >> min(at + length - 1, 31) & 1
        return got | (-1 << min(length, 32 - at) if sign and top else 0)

    for i in range(n):
        a, b = int(x[i]), int(x[(i + 1) % n])
        u, v = f[i], f[(i + 1) % n]
        sa, sb, product = signed(a), signed(b), a * b + a
        left, right = (b << 32 | a) << ((i + 20) & 31), (b << 32 | a) >> min(i + 20, 32)
        highest = (a if sa >= 0 else ~a & 0xFFFFFFFF).bit_length() - 1
        ones = [k for k in range(32) if (a | 1) >> k & 1]
        start, count = min(i, 32), min(b & 15, 32)
        mask = ((1 << count) - 1) << start if start < 32 else 0
        wanted = i % 9
        cut = b & 31
        extended = 0 if cut == 0 else (a & ((1 << cut) - 1)) | (-1 << cut if a >> (cut - 1) & 1 else 0)
        bytes_a = [signed(0xFFFFFF00 | c) if c > 127 else c for c in a.to_bytes(4, "little")]
        nan = bool(np.isnan(u) or np.isnan(v))
        flushed = [0.0 if abs(w) < 2.0**-126 else float(w) for w in (u, v)]
        expected: list[Any] = [
            a + b, a + ((a + b) >> 32), a - b, a - b - (a < b), product,
            (a * b >> 32) + b + ((a * b & 0xFFFFFFFF) + a >> 32),
            field(a, b & 31, 7, False), field(a, 5, b & 31, True), b & ~(63 << 9) | (a & 63) << 9,
            a.bit_length() - 1, 0xFFFFFFFF if highest < 0 else 31 - highest,
            sum(((b << 32 | a) >> 8 * ((i & 3) + k) & 255) << 8 * k for k in range(4)),
            ((a >> 16 * (i & 1)) & 0xFFFF) * 0x10001, _prmt(a, b, 0xBA98), a ^ b ^ i, left >> 32, right, mask, extended,
            ones[wanted] if wanted < len(ones) else 0xFFFFFFFF, abs(sa - sb) + 3, int((a if i & 1 else 0) == 0),
            a if sa >= 0 else b, clamp(sa + sb, -(2**31), 2**31 - 1), ((a & 0xFFFFFF) * (b & 0xFFFFFF)) >> 16,
            (signed((a << 8) & 0xFFFFFFFF) >> 8) * (signed((b << 8) & 0xFFFFFFFF) >> 8) + i,
            0xFFFFFFFF if u > v else 0, int(0 < abs(u) < 2.0**-126), None if nan else bits(np.copysign(v, u)),
            0 if nan else None, None, 0 if np.isnan(u) else int(np.ceil(u)), clamp(sa >> 22, 0, 255),
            (a << 16 | a >> 16), None,
            sum(s * (b >> 8 * k & 255) for k, s in enumerate(bytes_a)) + i, i % 32 + 1, a * b >> 7,
        ]  # fmt: skip
        for k, value in enumerate(expected):
            if value is not None:
                assert int(out[k, i]) == value & 0xFFFFFFFF, (k, i, hex(int(out[k, i])), hex(value & 0xFFFFFFFF))
        if not nan:
            total = float(out[29, i].view(np.float32))
            assert abs(total - clamp(sum(flushed), 0, 1)) < 1e-6
            fused = float(out[30, i].view(np.float32))
            exact = float(u) * float(v) + float(u)
            assert 0 <= fused - exact <= abs(exact) * 2e-7 + 1e-44


@program
def mma_shapes(launch: Launch) -> None:
    rng = numbers(68)
    brain = lambda v: (f32(v).view(np.uint32) >> 16).astype(np.uint16)
    a, b, c = rng.integers(-9, 9, (16, 16)), rng.integers(-9, 9, (8, 16)), np.zeros((16, 8), np.float32)
    launch("mma_bf16", 1, 32, brain(a), brain(b), c)
    close(c, a @ b.T)
    a, b = f32(rng.integers(-99, 99, (16, 8))), f32(rng.integers(-99, 99, (8, 8)))
    launch("mma_tf32", 1, 32, a, b, c)
    close(c, a @ b.T)
    d, e, z = rng.standard_normal((8, 4)), rng.standard_normal((8, 4)), np.zeros((8, 8))
    launch("mma_f64", 1, 32, d, e, z)
    close(z, d @ e.T, 1e-14, 1e-14)
    s, u = rng.integers(-128, 128, (16, 32)).astype(np.int8), rng.integers(0, 256, (8, 32)).astype(np.uint8)
    w = np.zeros((16, 8), np.int32)
    launch("mma_s8", 1, 32, s, u, w)
    close(w, s.astype(np.int32) @ u.T.astype(np.int32))
    x, turned, moved = np.arange(64, dtype=np.uint16), np.zeros((8, 8), np.uint16), np.zeros((8, 8), np.uint16)
    launch("matrix_moves", 1, 32, x, turned, moved)
    close(turned, x.reshape(8, 8).T)
    close(moved, x.reshape(8, 8).T)


for _name in ("half_more", "mma_shapes", "fp8_more"):
    NEEDS[_name] = 80


@program
def half_more(launch: Launch) -> None:
    import ml_dtypes

    rng, i = numbers(69), np.arange(64)
    x, y = (rng.standard_normal(64) * 2).astype(np.float16), (rng.standard_normal(64) ** 2 + 0.1).astype(np.float16)
    x[5] = np.nan
    out = np.zeros((30, 64), np.float16)
    launch("half_functions", 1, 64, x, y, out)
    a, b = x.astype(np.float64), y.astype(np.float64)
    near = {0: np.exp(a), 1: np.exp2(a), 2: 10**a, 3: np.log(b), 4: np.log2(b), 5: np.log10(b), 6: np.sin(a),
            7: np.cos(a), 8: 1 / b, 9: b**-0.5, 10: np.sqrt(b), 29: np.tanh(a)}  # fmt: skip
    for k, expected in near.items():
        with np.errstate(over="ignore"):
            close(out[k], expected.astype(np.float16), 2e-3, 1e-3)
    for k, expected in enumerate([np.floor(a), np.ceil(a), np.trunc(a), np.rint(a)]):
        close(out[11 + k], expected)
    inside = lambda v: np.where(np.isnan(v), 0, np.clip(v, 0, 1)).astype(np.float16)
    close(out[15], inside(a + b))
    close(out[16], inside(a * b))
    close(out[17], inside(a * b + a))
    scaled = x.astype(np.float32) * np.float32(1.001)
    for k, holds in ((18, np.less_equal), (19, np.greater_equal)):
        got = out[k].astype(np.float64)
        assert (holds(got, scaled) | np.isnan(scaled)).all()
        close(got, scaled, 1e-3)
    assert (np.abs(out[20].astype(np.float64)) <= np.abs(scaled))[~np.isnan(scaled)].all()
    with np.errstate(over="ignore"):
        close(out[21], (i * 1234).astype(np.float16))
        close(out[22], (i * 1000 % 65536).astype(np.float16))
        close(out[28], (i * 321).astype(np.float16))
    close(out[23], np.where(np.isnan(a), 0, np.trunc(a)))
    close(out[24], np.where(np.isnan(a), np.nan, np.maximum(a, b)))
    close(out[25], np.where(np.isnan(a), np.nan, np.minimum(a, b)))
    close(out[26], (i / 7).astype(np.float16))
    close(out[27], np.maximum(a * b + a, 0).astype(np.float16))

    p, q = (rng.standard_normal(128) * 2).astype(np.float16), (rng.standard_normal(128) * 2).astype(np.float16)
    pairs, flags = np.zeros((20, 128), np.float16), np.zeros(64, np.int32)
    launch("half_pairs", 1, 64, p, q, pairs, flags)
    a, b = p.astype(np.float64), q.astype(np.float64)
    swapped, upper = p.reshape(-1, 2)[:, ::-1].reshape(-1), np.stack([p[1::2], q[1::2]], 1).reshape(-1)
    product = [a[::2] * b[::2] - a[1::2] * b[1::2] + a[::2], a[::2] * b[1::2] + a[1::2] * b[::2] + a[1::2]]
    exact = {0: a + b, 1: a - b, 2: a * b, 3: a * b + a, 4: np.maximum(a, b), 5: np.minimum(a, b), 6: np.abs(a), 7: -a,
             10: swapped, 11: upper, 12: a == b, 13: a > b, 16: a, 17: np.maximum(a * b + a, 0),
             19: np.rint(a)}  # fmt: skip
    for k, expected in exact.items():
        close(pairs[k], np.asarray(expected).astype(np.float16))
    for k, expected in {8: np.exp2(a), 9: np.sqrt(np.abs(a)), 14: a / b, 15: 1 / b}.items():
        close(pairs[k], expected, 2e-3, 1e-4)
    close(pairs[18], np.stack(product, 1).reshape(-1), 2e-3, 4e-3)
    close(flags, 1 + 2 * (a < b).reshape(-1, 2).all(1) + 8 * -1)

    def brain(v: np.ndarray) -> np.ndarray:
        return v.astype(np.float32).astype(ml_dtypes.bfloat16)

    p, q = brain(rng.standard_normal(128) * 2), brain(rng.standard_normal(128) * 2)
    words = np.zeros((14, 128), np.uint16)
    launch("bfloat_pairs", 1, 64, p.view(np.uint16), q.view(np.uint16), words)
    got, a, b = words.view(ml_dtypes.bfloat16).astype(np.float64), p.astype(np.float64), q.astype(np.float64)
    listed = np.stack([np.float32(1.1) * i, np.float32(-2.3) * i], 1).reshape(-1)
    exact = {0: a + b, 1: a - b, 2: a * b, 3: a * b + a, 4: np.maximum(a, b), 5: np.minimum(a, b), 6: np.abs(a), 7: -a,
             9: listed, 11: np.maximum(a, b), 12: np.maximum(a * b + a, 0)}  # fmt: skip
    for k, expected in exact.items():
        close(got[k], brain(expected).astype(np.float64))
    for k, expected in {8: np.exp2(a), 10: a / b, 13: np.sqrt(np.abs(a))}.items():
        close(got[k], expected, 1e-2)


@program
def fp8_more(launch: Launch) -> None:
    import ml_dtypes

    x = f32(numbers(70).standard_normal((64, 2)) * 9)
    pairs, back, small = np.zeros((64, 2, 2), np.uint8), np.zeros((64, 2), np.float32), np.zeros((64, 4), np.uint8)
    launch("fp8_more", 1, 64, x, pairs, back, small)
    a, b = x.astype(ml_dtypes.float8_e4m3fn), x.astype(ml_dtypes.float8_e5m2)
    close(pairs[:, 0], a.view(np.uint8))
    close(pairs[:, 1], b.view(np.uint8))
    close(back, a.astype(np.float32) + b.astype(np.float32))
    for k, kind in enumerate((ml_dtypes.float6_e2m3fn, ml_dtypes.float6_e3m2fn, ml_dtypes.float4_e2m1fn)):
        most = float(ml_dtypes.finfo(kind).max)
        close(small[:, k], np.clip(x[:, 0], -most, most).astype(kind).view(np.uint8))
    close(small[:, 3], x[:, 1].astype(np.float16).astype(ml_dtypes.float8_e4m3fn).view(np.uint8))

"""Mathematics, random numbers, hashing and searching, as CUDA C++ programs with what they must give."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np

from cuda_cases.table import Launch, close, f32, numbers, program


@program
def black_scholes(launch: Launch) -> None:
    import math

    rng, n = numbers(50), 80
    s, k, t = rng.uniform(5, 30, n), rng.uniform(1, 100, n), rng.uniform(0.25, 10, n)
    d1 = (np.log(s / k) + (0.02 + 0.5 * 0.09) * t) / (0.3 * np.sqrt(t))
    cdf = lambda d: np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in d])
    discount = k * np.exp(-0.02 * t)
    call = s * cdf(d1) - discount * cdf(d1 - 0.3 * np.sqrt(t))
    put = call - s + discount
    for name, kind, error in (("black_scholes32", np.float32, 2e-5), ("black_scholes64", np.float64, 1e-13)):
        got = np.zeros((2, n), kind)
        arrays = [np.ascontiguousarray(v, kind) for v in (s, k, t)]
        launch(name, 2, 64, *arrays, got[0], got[1], kind(0.02), kind(0.3), n)
        close(got, np.stack([call, put]), 0, error * 100)


@program
def monte_carlo(launch: Launch) -> None:
    raw, hits, normals = np.zeros((128, 4), np.uint32), np.zeros(1, np.uint64), np.zeros((128, 2), np.float32)
    launch("monte_carlo", 2, 64, raw, hits, normals, 1234)

    def philox(c: list[int], k: list[int]) -> list[int]:
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return c

    every = np.array([[philox([i, k, 0, 0], [1234, 0]) for k in range(8)] for i in range(128)], np.uint32)
    close(raw, every[:, 0])
    x, y = (f32(every[..., i]) * np.float32(2**-32) for i in (0, 1))
    assert abs(int(hits[0]) - int((x * x + y * y < 1).sum())) <= 1
    radius = np.sqrt(-2 * np.log((every[:, 0, 2].astype(np.float64) + 1) / 2**32))
    angle = 2 * np.pi * every[:, 0, 3].astype(np.float64) / 2**32
    close(normals, np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1), 1e-4, 1e-5)


@program
def string_search(launch: Launch) -> None:
    text = b"A needle in a haystack; needles need needless needling, NEEDLE. " * 3 + b"need"
    data = np.frombuffer(text, np.uint8).copy()
    found, places, upper = np.zeros(1, np.int32), np.full(20, -1, np.int32), np.zeros_like(data)
    launch("string_search", 4, 64, data, len(text), found, places, upper)
    expected = [i for i in range(len(text)) if text.startswith(b"needle", i)]
    assert sorted(places[: found[0]].tolist()) == expected
    assert upper.tobytes() == text.upper()
    x = numbers(51).integers(0, 2**32, 30, np.uint32)
    out, halves = np.zeros_like(x), np.zeros(30, np.uint16)
    launch("swap_bytes", 1, 32, x, out, halves, 30)
    close(out, x.byteswap())
    close(halves, (x >> 16 | (x & 0xFF) << 8).astype(np.uint16))


@program
def sieve(launch: Launch) -> None:
    limit = 6000
    is_prime = np.ones(limit, bool)
    is_prime[:2] = False
    for p in range(2, 78):
        is_prime[p * p :: p] = False if is_prime[p] else is_prime[p * p :: p]
    primes = np.nonzero(is_prime[:78])[0].astype(np.int32)
    composite = np.zeros(-(-limit // 32), np.uint32)
    launch("sieve", 3, 64, primes, len(primes), composite, len(composite))
    bits = np.unpackbits(composite.view(np.uint8), bitorder="little")[:limit]
    assert (bits[2:] == ~is_prime[2:]).all()
    base, exponent = numbers(52).integers(0, 2**64, (2, 20), np.uint64)
    exponent >>= np.uint64(44)
    out, modulus = np.zeros(20, np.uint64), 2**64 - 59
    launch("power", 1, 32, base, exponent, modulus, out, 20)
    close(out, np.array([pow(int(b), int(e), modulus) for b, e in zip(base, exponent, strict=True)], np.uint64))


@program
def breadth_first(launch: Launch) -> None:
    rng, n = numbers(53), 200
    edges = [sorted(set(rng.integers(0, n, 2).tolist())) for _ in range(n)]
    start = np.concatenate([[0], np.cumsum([len(e) for e in edges])]).astype(np.int32)
    flat, distance = np.array([t for ends in edges for t in ends], np.int32), np.zeros(n, np.int32)
    launch("breadth_first", 1, 64, start, flat, distance, n, 3)
    expected, front = np.full(n, -1), [3]
    expected[3] = 0
    while front:
        front = [t for s in front for t in edges[s] if expected[t] < 0 and not expected.__setitem__(t, expected[s] + 1)]
    close(distance, expected)


@program
def kmeans(launch: Launch) -> None:
    rng, n = numbers(54), 150
    points, centres = f32(rng.integers(-20, 20, (3, n))), f32(rng.integers(-20, 20, (5, 3)))
    label, sums, counts = np.zeros(n, np.int32), np.zeros((5, 3), np.float32), np.zeros(5, np.int32)
    launch("kmeans", 3, 64, points, centres, label, sums, counts, n)
    expected = ((points.T[:, None] - centres) ** 2).sum(2).argmin(1)
    close(label, expected)
    close(counts, np.bincount(expected, minlength=5))
    close(sums, np.stack([points.T[expected == k].sum(0) for k in range(5)]))


@program
def levenshtein(launch: Launch) -> None:
    a, b = b"instruction set architecture", b"construction of a secret arch"
    out = np.zeros(1, np.int32)
    words = [np.frombuffer(w, np.uint8).copy() for w in (a, b)]
    launch("levenshtein", 1, 32, *words, len(a), len(b), out, shared=12 * (len(a) + 1))
    row = list(range(len(b) + 1))
    for i, c in enumerate(a):
        above, row = row, [i + 1]
        for j, d in enumerate(b):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (c != d)))
    close(out, [row[-1]])


@program
def hashing(launch: Launch) -> None:
    rng = numbers(55)
    messages = np.zeros((20, 56), np.uint8)
    digests = np.zeros((20, 8), np.uint32)
    words = [rng.integers(0, 256, rng.integers(0, 56)).astype(np.uint8) for _ in range(20)]
    for row, word in zip(messages, words, strict=True):
        row[: len(word)], row[55] = word, len(word)
    launch("sha256", 1, 20, messages, digests)
    assert [d.astype(">u4").tobytes() for d in digests] == [hashlib.sha256(w.tobytes()).digest() for w in words]
    data, sums = rng.integers(0, 256, (32, 21)).astype(np.uint8), np.zeros(32, np.uint32)
    launch("crc32", 1, 32, data, 21, sums)
    close(sums, np.array([zlib.crc32(row.tobytes()) for row in data], np.uint32))
    keys = rng.integers(0, 40, 150).astype(np.uint32)
    slots, values = np.full(64, 0xFFFFFFFF, np.uint32), np.zeros(64, np.uint32)
    launch("hash_table", 3, 64, keys, slots, values, 150, 64)
    there = slots != 0xFFFFFFFF
    found = dict(zip(slots[there].tolist(), values[there].tolist(), strict=True))
    assert found == dict(zip(*(v.tolist() for v in np.unique(keys, return_counts=True)), strict=True))


@program
def bits(launch: Launch) -> None:
    rng, n = numbers(56), 40
    x, w = rng.integers(0, 2**32, n, np.uint32), rng.integers(0, 2**64, n, np.uint64)
    x[:4], w[:4] = (0, 1, 2**31, 2**32 - 1), (0, 1, 2**63, 2**64 - 1)
    out, wide = np.zeros((24, n), np.uint32), np.zeros((10, n), np.uint64)
    launch("bits", 1, 64, x, w, out, wide, n)
    signed = lambda v, size: v - (1 << size) if v >> (size - 1) else v
    bytes_of = lambda v: [v >> 8 * k & 255 for k in range(4)]
    halves = lambda v: [v & 0xFFFF, v >> 16]
    word = lambda parts, size: sum((p & ((1 << size) - 1)) << size * k for k, p in enumerate(parts))
    quotient = lambda p, q: abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
    flip = lambda v, size: int(f"{v:0{size}b}"[::-1], 2)
    low24 = lambda v: signed(v & 0xFFFFFF, 24)
    for i in range(n):
        a, b = int(x[i]), int(x[(i + 1) % n])
        p, q = int(w[i]), int(w[(i + 1) % n])
        sa, sb, sp, sq = signed(a, 32), signed(b, 32), signed(p, 64), signed(q, 64)
        double = b << 32 | a
        eight = bytes_of(a) + bytes_of(b)
        expected = [
            a.bit_count(), 32 - a.bit_length(), flip(a, 32), (a & -a).bit_length(), (double << (i & 31)) >> 32,
            double >> min(3 * i, 32), word([eight[k] for k in (2, 7, 1, 6)], 8), a * b >> 32, sa * sb >> 32,
            abs(sa - sb) + 5, abs(a - b) + 7, (a + b) >> 1, (a + b + 1) >> 1, (sa + sb) >> 1,
            (a & 0xFFFFFF) * (b & 0xFFFFFF), low24(a) * low24(b),
            word([u + v for u, v in zip(halves(a), halves(b), strict=True)], 16),
            word([min(u, v) for u, v in zip(bytes_of(a), bytes_of(b), strict=True)], 8),
            word([max(signed(u, 16), signed(v, 16)) for u, v in zip(halves(a), halves(b), strict=True)], 16),
            word([255 * (u > v) for u, v in zip(bytes_of(a), bytes_of(b), strict=True)], 8),
            a // (b | 1), a % (b | 1), quotient(sa, signed(b | 1, 32)), sa >> (i & 31),
        ]  # fmt: skip
        close(out[:, i], np.array([v & 0xFFFFFFFF for v in expected], np.uint32))
        shift = i & 63
        large = [
            p.bit_count(), 64 - p.bit_length(), flip(p, 64), (p & -p).bit_length(), p * q >> 64, sp * sq >> 64,
            p // (q | 1), p % (q | 1), quotient(sp, signed(q | 1, 64)), p << shift | p >> (63 - shift),
        ]  # fmt: skip
        close(wide[:, i], np.array([v & (2**64 - 1) for v in large], np.uint64))


def library(x: np.ndarray, y: np.ndarray, rows: int) -> list[Any]:
    """What the rows of math32 and math64 must hold, in double precision; None where numpy and math lack it."""
    import math

    a, b = x.astype(np.float64), y.astype(np.float64)
    each = lambda f, *v: np.array([f(*u) for u in zip(*v, strict=True)])
    half_away = np.sign(a) * np.floor(np.abs(a) + 0.5)
    unary = [np.sin(a), np.cos(a), np.tan(a), np.arcsin(a), np.arccos(a), np.arctan(a), np.sinh(a), np.cosh(a),
             np.tanh(a), np.arcsinh(a), np.arctanh(a), np.exp(a), np.exp2(a), 10.0**a, np.expm1(a), np.log1p(a),
             np.cbrt(a), each(math.erf, a), each(math.erfc, a), np.floor(a), np.ceil(a), np.trunc(a), np.rint(a),
             half_away, np.abs(a), each(math.gamma, a), np.sin(np.pi * a)]  # fmt: skip
    if rows == 50:
        unary += [1 / np.cbrt(a), each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), a), None]
    i = np.arange(len(a))
    hundred = a * 100 if rows != 50 else (x * np.float32(100)).astype(np.float64)
    rest = [np.log(b), np.log2(b), np.log10(b), np.sqrt(b), 1 / np.sqrt(b), each(math.lgamma, b), b**a,
            np.arctan2(a, b), np.hypot(a, b), np.fmod(hundred, b), each(math.remainder, hundred, b), np.copysign(b, a),
            np.maximum(a - b, 0), np.ldexp(a, i % 40 - 20), a / b]  # fmt: skip
    return unary + rest


@program
def math32(launch: Launch) -> None:
    rng, n = numbers(57), 60
    x, y = f32(rng.uniform(-0.95, 0.95, n)), f32(rng.uniform(0.1, 9, n))
    out = np.zeros((50, n), np.float32)
    launch("math32", 1, 64, x, y, out, n)
    for k, expected in enumerate(library(x, y, 50)):
        if expected is not None:
            close(out[k], expected, 3e-6, 2e-6 if k in (33, 34, 35, 38, 40) else 1e-6)
    a, b = x.astype(np.float64), y.astype(np.float64)
    close(out[45], np.sin((x * np.float32(1e6)).astype(np.float64)), 1e-6, 1e-6)
    for k, exact, toward in ((46, a * b + a, "zero"), (47, a + b, "up"), (48, a / b, "down")):
        got = out[k].astype(np.float64)
        side = {"zero": np.abs(got) <= np.abs(exact), "up": got >= exact, "down": got <= exact}[toward]
        assert side.all(), k
        close(out[k], exact, 1.3e-7)
    close(out[49], 2.0 + 4 * np.signbit(x))


@program
def math64(launch: Launch) -> None:
    rng, n = numbers(58), 60
    x, y = rng.uniform(-0.95, 0.95, n), rng.uniform(0.1, 9, n)
    out = np.zeros((47, n))
    launch("math64", 1, 64, x, y, out, n)
    for k, expected in enumerate(library(x, y, 47)):
        close(out[k], expected, 4e-15, 4e-15)
    close(out[42], np.sin(x * 1e8), 1e-12, 1e-12)
    close(out[43], x * y + x, 3e-16, 1e-17)
    close(out[44], x + y, 3e-16)
    close(out[45], x / y, 3e-16)
    parts = np.trunc(x * 1e12) + np.trunc(y * 1e10) + np.trunc(x) + np.trunc(y)
    close(out[46], parts)

"""The kernels of a language model, as CUDA C++ programs with what they must give."""

from __future__ import annotations

import numpy as np

from cuda_cases.table import NEEDS, Launch, close, f32, numbers, program


def softmax_of(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis in double precision."""
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@program
def softmax_online(launch: Launch) -> None:
    x = f32(numbers(31).standard_normal((5, 77)) * 4)
    out = np.zeros_like(x)
    launch("softmax_online", 2, 96, x, out, 5, 77)
    close(out, softmax_of(x), 3e-5)


@program
def layernorm(launch: Launch) -> None:
    rng, n, c = numbers(32), 7, 100
    x, dout = (f32(rng.standard_normal((n, c))) for _ in range(2))
    weight, bias = (f32(rng.standard_normal(c)) for _ in range(2))
    out, mean, rstd = np.zeros_like(x), np.zeros(n, np.float32), np.zeros(n, np.float32)
    launch("layernorm_forward", 4, 64, out, mean, rstd, x, weight, bias, n, c)
    m, s = x.mean(1, dtype=np.float64), 1 / np.sqrt(x.var(1, dtype=np.float64) + 1e-5)
    norm = (x - m[:, None]) * s[:, None]
    close(out, norm * weight + bias, 1e-4, 1e-5)
    dx, dweight, dbias = np.zeros_like(x), np.zeros_like(weight), np.zeros_like(bias)
    launch("layernorm_backward", 4, 64, dx, dweight, dbias, dout, x, weight, mean, rstd, n, c, shared=8 * c)
    d = weight * dout.astype(np.float64)
    expected = (d - d.mean(1)[:, None] - norm * (d * norm).mean(1)[:, None]) * s[:, None]
    close(dx, expected, 1e-4, 1e-5)
    close(dweight, (norm * dout).sum(0), 1e-4, 1e-4)
    close(dbias, dout.sum(0, dtype=np.float64), 1e-4, 1e-4)


@program
def gelu(launch: Launch) -> None:
    import math

    x, dout = f32(numbers(33).standard_normal((2, 150)) * 2)
    out, dx, exact = np.zeros((3, 150), np.float32)
    launch("gelu", 2, 96, x, dout, out, dx, exact, 150)
    v = x.astype(np.float64)
    inner = np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)
    t = np.tanh(inner)
    close(out, 0.5 * v * (1 + t), 1e-5, 1e-6)
    slope = 0.5 * (1 + t) + 0.5 * v * (1 - t * t) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * v * v)
    close(dx, dout * slope, 1e-5, 1e-6)
    close(exact, [0.5 * a * (1 + math.erf(a / math.sqrt(2))) for a in v], 1e-5, 1e-6)


@program
def attention_naive(launch: Launch) -> None:
    B, T, H, D = 2, 9, 3, 8
    qkv = f32(numbers(34).standard_normal((B, T, 3, H, D)))
    att, out = np.zeros((B, H, T, T), np.float32), np.zeros((B, T, H, D), np.float32)
    launch("scores", -(-att.size // 64), 64, qkv, att, B, T, H, D)
    launch("softmax", 1, 64, att, B * H * T, T)
    launch("values", -(-out.size // 64), 64, qkv, att, out, B, T, H, D)
    q, k, v = qkv.astype(np.float64).transpose(2, 0, 3, 1, 4)
    score = np.where(np.tri(T, dtype=bool), q @ k.transpose(0, 1, 3, 2) / np.sqrt(D), -np.inf)
    close(att, softmax_of(score), 1e-5, 1e-7)
    close(out, (softmax_of(score) @ v).transpose(0, 2, 1, 3), 1e-5, 1e-6)


@program
def attention_flash(launch: Launch) -> None:
    n = 45
    q, k, v = f32(numbers(35).standard_normal((3, n, 32)))
    out, lse = np.zeros((n, 32), np.float32), np.zeros(n, np.float32)
    launch("attention_flash", 2, 32, q, k, v, out, lse, n, np.float32(32**-0.5))
    score = q.astype(np.float64) @ k.T / np.sqrt(32)
    close(out, softmax_of(score) @ v, 1e-5, 2e-6)
    close(lse, np.log(np.exp(score).sum(1)), 1e-5, 1e-6)


@program
def adamw(launch: Launch) -> None:
    rng, step = numbers(36), 7
    p, g, m = f32(rng.standard_normal((3, 100)))
    v = f32(rng.uniform(0, 1, 100))
    m2, v2 = 0.1 * g.astype(np.float64) + 0.9 * m, 0.001 * g.astype(np.float64) ** 2 + 0.999 * v
    update = m2 / (1 - 0.9**step) / (np.sqrt(v2 / (1 - 0.999**step)) + 1e-8) + 0.1 * p
    expected = p - 0.01 * step / 100 * update
    launch("adamw", 1, 128, p, g, m, v, 100, 0.01, 0.9, 0.999, step, 0.1)
    close(m, m2, 1e-5, 1e-6)
    close(v, v2, 1e-5, 1e-6)
    close(p, expected, 1e-5, 1e-6)


@program
def crossentropy(launch: Launch) -> None:
    rng = numbers(37)
    x, target = f32(rng.standard_normal((4, 130)) * 3), rng.integers(0, 130, 4).astype(np.int32)
    loss, grad = np.zeros(4, np.float32), np.zeros_like(x)
    launch("crossentropy", 4, 64, x, target, loss, grad, 130)
    p = softmax_of(x)
    close(loss, -np.log(p[np.arange(4), target]), 1e-5, 1e-5)
    close(grad, p - np.eye(130)[target], 1e-4, 1e-7)


@program
def embedding(launch: Launch) -> None:
    rng, T, C = numbers(38), 12, 20
    tokens = rng.integers(0, 5, T).astype(np.int32)
    wte, wpe, dout = (
        f32(rng.standard_normal((5, C))),
        f32(rng.standard_normal((T, C))),
        f32(rng.integers(-9, 9, (T, C))),
    )
    out, dwte = np.zeros((T, C), np.float32), np.zeros((5, C), np.float32)
    launch("embed", 1, 64, out, tokens, wte, wpe, T, C)
    close(out, wte[tokens] + wpe)
    launch("embed_backward", 4, 64, dwte, tokens, dout, T, C)
    expected = np.zeros_like(dwte)
    np.add.at(expected, tokens, dout)
    close(dwte, expected)


@program
def rmsnorm_half(launch: Launch) -> None:
    rng = numbers(39)
    x, weight = rng.standard_normal((3, 90)).astype(np.float16), rng.standard_normal(90).astype(np.float16)
    out = np.zeros_like(x)
    launch("rmsnorm_half", 3, 32, x, weight, out, 45)
    scale = 1 / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-6)
    close(out, x * scale * weight, 3e-3, 1e-6)
    a, b = rng.standard_normal((2, 60)).astype(np.float16) * np.float16(4)
    out = np.zeros((12, 60), np.float16)
    launch("half_math", 1, 64, a, b, out, 60)
    fused = (a.astype(np.float64) * b + a).astype(np.float16)
    rows = [a + b, a - b, a * b, fused, np.maximum(a, b), np.minimum(a, b), np.abs(a), -b, None, np.sqrt(np.abs(a)),
            np.trunc(a), np.where(a > b, a, b)]  # fmt: skip
    for row, expected in zip(out, rows, strict=True):
        if expected is not None:
            close(row, expected)
    close(out[8], a / b, 1e-3)


@program
def bfloat_math(launch: Launch) -> None:
    rng = numbers(40)
    x, y = ((f32(rng.standard_normal(60) * 4).view(np.uint32) >> 16).astype(np.uint16) for _ in range(2))
    out = np.zeros((8, 60), np.uint16)
    launch("bfloat_math", 1, 64, x, y, out, 60)
    a, b = ((v.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for v in (x, y))

    def bits(v: np.ndarray) -> np.ndarray:
        word = f32(v).view(np.uint32).astype(np.uint64)
        return ((word + 0x7FFF + (word >> 16 & 1)) >> 16).astype(np.uint16)

    rows = [a + b, a - b, a * b, a * b + a, np.maximum(a, b), np.minimum(a, b), a * 3, np.where(a < b, a, b)]
    for row, expected in zip(out, rows, strict=True):
        close(row, bits(expected))


NEEDS["bfloat_math"] = 80


@program
def fp8_quantize(launch: Launch) -> None:
    import ml_dtypes

    x = f32(numbers(41).standard_normal((3, 50)) * 3)
    e4m3, e5m2, back = np.zeros(x.shape, np.uint8), np.zeros(x.shape, np.uint8), np.zeros_like(x)
    launch("fp8_quantize", 3, 32, x, e4m3, e5m2, back, 50)
    scale = (np.float32(448) / np.abs(x).max(1, keepdims=True)).astype(np.float32)
    a, b = (x * scale).astype(ml_dtypes.float8_e4m3fn), x.astype(ml_dtypes.float8_e5m2)
    assert (e4m3 != a.view(np.uint8)).sum() <= 1  # the division may round its last bit the other way
    close(e5m2, b.view(np.uint8))
    close(back, e4m3.view(ml_dtypes.float8_e4m3fn).astype(np.float32) / scale + b.astype(np.float32), 1e-5)

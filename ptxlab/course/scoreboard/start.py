"""Where a student's own attention kernel begins: right, short and slow. Each goes over the keys twice."""

from __future__ import annotations

import math

from ptxlab.builder import Builder, Ptr, f16, f32, kernel, s32, u32

LOG2E = math.log2(math.e)


@kernel
def by_rows(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], o: Ptr[f32], rows: u32, keys: u32, scale: f32, *,
    D: int = 32,
) -> None:  # fmt: skip
    """One thread = one row: a first pass for the maximum, a second for the weights."""
    row = k.thread_index()
    k.return_if(row >= rows)
    query = k.load(q + row * D, D)
    largest = k.var(f32, -math.inf)
    with k.loop(keys) as j:
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], (key + j * D)[d], score))
        largest.set(k.max(largest, score))
    total, out = k.var(f32, 0.0), k.vars(f32, D, 0.0)
    with k.loop(keys) as j:
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], (key + j * D)[d], score))
        weight = k.exp2((score - largest) * (scale * LOG2E))
        total += weight
        for d in range(D):
            out[d].set(k.fma(weight, (value + j * D)[d], out[d]))
    for d in range(D):
        (o + row * D)[d] = out[d] / total


@kernel
def by_rows_of_halves(
    k: Builder, q: Ptr[f16], key: Ptr[f16], value: Ptr[f16], o: Ptr[f32], rows: u32, keys: u32, scale: f32, *,
    D: int = 32,
) -> None:  # fmt: skip
    """The same with inputs of 16 bits."""
    row = k.thread_index()
    k.return_if(row >= rows)
    query = [k.cvt(f32, x) for x in k.load(q + row * D, D)]
    largest = k.var(f32, -math.inf)
    with k.loop(keys) as j:
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], k.cvt(f32, (key + j * D)[d]), score))
        largest.set(k.max(largest, score))
    total, out = k.var(f32, 0.0), k.vars(f32, D, 0.0)
    with k.loop(keys) as j:
        score = k.var(f32, 0.0)
        for d in range(D):
            score.set(k.fma(query[d], k.cvt(f32, (key + j * D)[d]), score))
        weight = k.exp2((score - largest) * (scale * LOG2E))
        total += weight
        for d in range(D):
            out[d].set(k.fma(weight, k.cvt(f32, (value + j * D)[d]), out[d]))
    for d in range(D):
        (o + row * D)[d] = out[d] / total


@kernel
def by_pages(
    k: Builder, q: Ptr[f32], key: Ptr[f32], value: Ptr[f32], table: Ptr[s32], lengths: Ptr[s32], o: Ptr[f32],
    width: u32, scale: f32, *, D: int = 32, P: int = 4,
) -> None:  # fmt: skip
    """One block = one query head of one sequence; lane d has element d, and every key's score is added up twice."""
    d, head, sequence = k.tid.x, k.ctaid.x, k.ctaid.y
    at = (sequence * k.nctaid.x + head) * D + d
    mine, entries = q[at], table + sequence * width
    length = k.cvt(u32, lengths[sequence])
    largest, total, out = k.var(f32, -math.inf), k.var(f32, 0.0), k.var(f32, 0.0)
    for first in (True, False):
        with k.loop(length) as j:
            place = (k.cvt(u32, entries[j // P]) * P + j % P) * D + d
            score = k.var(f32, mine * key[place])
            for distance in (16, 8, 4, 2, 1):
                score += k.shfl(score, distance, 31, -1, mode="bfly")
            if first:
                largest.set(k.max(largest, score))
            else:
                weight = k.exp2((score - largest) * (scale * LOG2E))
                total += weight
                out.set(k.fma(weight, value[place], out))
    o[at] = out / total


@kernel
def by_heads(
    k: Builder, q: Ptr[f16], key: Ptr[f16], value: Ptr[f16], o: Ptr[f32], keys: u32, Hq: u32, Hkv: u32,
    scale: f32, *, D: int = 32,
) -> None:  # fmt: skip
    """One block = one query head; lane d has element d, and Hq / Hkv query heads read the keys of one KV head."""
    d, head = k.tid.x, k.ctaid.x
    mine, first = k.cvt(f32, q[head * D + d]), head // (Hq // Hkv) * keys
    largest, total, out = k.var(f32, -math.inf), k.var(f32, 0.0), k.var(f32, 0.0)
    for searching in (True, False):
        with k.loop(keys) as j:
            place = (first + j) * D + d
            score = k.var(f32, mine * k.cvt(f32, key[place]))
            for distance in (16, 8, 4, 2, 1):
                score += k.shfl(score, distance, 31, -1, mode="bfly")
            if searching:
                largest.set(k.max(largest, score))
            else:
                weight = k.exp2((score - largest) * (scale * LOG2E))
                total += weight
                out.set(k.fma(weight, k.cvt(f32, value[place]), out))
    o[head * D + d] = out / total

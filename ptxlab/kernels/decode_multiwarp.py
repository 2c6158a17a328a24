"""Rung 11: several warps share the keys of a head, load 16 bytes at a time, and merge what they found.

Two halves of the keys can be attended to apart. Each half gives a maximum m, a sum l of exp(s - m) and a row o of
values weighted alike, and the two together are

    m = max(m1, m2)        l = l1 * exp(m1 - m) + l2 * exp(m2 - m)        o = o1 * exp(m1 - m) + o2 * exp(m2 - m)

This is associative, and a half without keys, (-inf, 0, 0), changes nothing: softmax can be cut anywhere and put
together in any order. It is used here three times. A row of keys is short (256 bytes for 128 f16), so with loads of 16
bytes a warp holds several keys at once, each in a group of lanes: the groups merge by shuffles. Then the warps merge
through shared memory. And the next rungs merge what blocks of the grid have found.

Each lane asks for several keys and values before it uses the first: so many bytes are in flight at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from ptxlab.builder import Builder, Kernel, Ptr, Register, Shared, Var, f32, kernel, u32
from ptxlab.kernels import decode_spec as spec
from ptxlab.kernels.decode_lanes import LOWEST, WARP, Lanes, key_count, rounded, sum_over
from ptxlab.kernels.decode_spec import DecodeConfig, DecodeSpec, Element, Length, Sums, entry_name
from ptxlab.kernels.mods import Here
from ptxlab.kernels.rung import NOWHERE, Slots
from ptxlab.kernels.softmax import LN2, LOG2E

AT_ONCE = 16
"""Registers of 32 bits that a lane fills with keys before it uses the first, and as many again with values."""

THREADS = 512
"""Threads for which a multiprocessor should have registers: two blocks of 8 warps, 128 registers per thread."""


def make(config: DecodeConfig) -> Kernel:
    """The kernel for a configuration."""
    D = config.head_dim

    @kernel(name=entry_name("decode_multiwarp", config), arch=config.arch, probes=config.probes, types=config.types())
    def decode_multiwarp(
        k: Builder,
        q: Ptr[Element],
        key: Ptr[Element],
        value: Ptr[Element],
        o: Ptr[Element],
        lse: Ptr[f32],
        Hq: u32,
        Hkv: u32,
        max_seq: u32,
        length: Length,
        scale: f32,
        slots: Slots,
        sums: Sums,
    ) -> None:
        """One block = one query head of one sequence; its warps take turns at the keys and merge at the end."""
        k.launch_bounds(config.threads, THREADS // config.threads)
        head, batch = k.ctaid.x, k.ctaid.y
        kv_head = head // (Hq // Hkv)  # GQA: several query heads share one key/value head
        keys = key_count(k, length, batch)

        row = batch * Hq + head
        row_start = k.mul(row, D, wide=True)
        cache_row = k.mul(batch * Hkv + kv_head, max_seq, wide=True)  # 64 bits: a cache can be larger than 4 GiB
        cache_start = cache_row * D
        k_cache, v_cache = key + cache_start, value + cache_start
        here = Here.decoding(k, config, batch, [head], keys, scale)
        first, last = here.span or (0, keys)

        def where(j: u32) -> tuple[Ptr[Any], Ptr[Any]]:
            offset = k.mul(j, D, wide=True)
            return k_cache + offset, v_cache + offset

        state = attend(k, config, q + row_start, scale * LOG2E, first, last, where, here)
        finish(k, config, state, row, row_start, o, lse, slots, sums)

    return decode_multiwarp(extra=config.extra)


# -- going through the keys --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """What a lane knows of the keys it has seen: their maximum score (in units of log2), the sum of the weights, and
    its elements of the weighted values."""

    row_max: Var[f32]
    row_sum: Var[f32]
    acc: list[Var[f32]]


def attend(
    k: Builder,
    config: DecodeConfig,
    q_row: Ptr[Any],
    scale_log2e: f32,
    first: u32 | int,
    last: u32,
    where: Callable[[u32], tuple[Ptr[Any], Ptr[Any]]],
    here: Here,
) -> State:
    """The state of each group of lanes after its share of the keys `first` to below `last`.

    `where(j)` gives the addresses of key and value j; it is asked for keys that exist. `here`: what changes scores.
    """
    lanes = Lanes(config.head_dim, config.dtype)
    unrolled = max(1, min(4, AT_ONCE // (lanes.words * lanes.chunks)))  # keys that a lane loads together
    together = config.warps * lanes.rows  # keys that the block loads together

    thread = k.tid.x
    group, member = thread // lanes.group, thread % lanes.group  # the group's place among all groups of the block
    column = member * lanes.width
    full = lanes.full(k, member)
    query = lanes.floats(k, lanes.load(k, q_row + column, full))
    acc = k.vars(f32, lanes.elements, 0.0)
    row_max = k.var(f32, -math.inf)
    row_sum = k.var(f32, 0.0)
    here.begin([row_max], [row_sum], lane=group)

    # All threads go round equally often, so that every lane takes part in the shuffles. In a short last round some have
    # no key: they load the last one again and let it count for nothing.
    with k.loop(last, start=first, step=together * unrolled) as start:
        own = start + group
        exist, k_words, v_words = [], [], []
        for n in range(unrolled):
            j = own + n * together if n else own
            exist.append(j < last)
            k_row, v_row = where(k.min(j, last - 1))
            k_words.append(lanes.load(k, k_row + column, full))
            v_words.append(lanes.load(k, v_row + column, full))

        here.at(own)

        scores = []
        new_max = k.var(f32, row_max)
        for n, (exists, words) in enumerate(zip(exist, k_words, strict=True)):
            dot = k.var(f32, 0.0)
            for x, y in zip(query, lanes.floats(k, words), strict=True):
                dot.set(k.fma(x, y, dot))
            sum_over(k, dot, lanes.group)
            changed = here.change([(dot, 0, n * together)])
            if here.mods.masks:
                exist[n] = exists & here.seen(0, n * together)
            scores.append(k.select(exist[n], dot if changed else dot * scale_log2e, -math.inf))
            new_max.set(k.max(new_max, scores[-1]))

        shift = k.max(new_max, LOWEST)  # -inf - (-inf) would be NaN
        rescale = k.exp2(row_max - shift)  # shrinks what was summed so far
        row_sum *= rescale
        for a in acc:
            a *= rescale
        for exists, score, words in zip(exist, scores, v_words, strict=True):
            weight = k.exp2(score - shift)
            row_sum += weight
            values = lanes.floats(k, words)
            with k.guard(exists):  # weight 0 is not enough: 0 * inf is NaN
                for a, v in zip(acc, values, strict=True):
                    a.set(k.fma(weight, v, a))
        row_max.set(new_max)
    return State(row_max, row_sum, acc)


# -- merging -----------------------------------------------------------------------------------------------------------


def merge_lanes(k: Builder, lanes: Lanes, state: State) -> None:
    """Merges the groups of lanes of each warp, in pairs: afterwards every group has the state of its warp."""
    step = lanes.group
    while step < WARP:
        theirs_max = k.shfl(state.row_max, step, 31, -1, mode="bfly")
        theirs_sum = k.shfl(state.row_sum, step, 31, -1, mode="bfly")
        new_max = k.max(state.row_max, theirs_max)
        shift = k.max(new_max, LOWEST)
        mine, theirs = k.exp2(state.row_max - shift), k.exp2(theirs_max - shift)
        state.row_sum.set(k.fma(theirs_sum, theirs, state.row_sum * mine))
        for a in state.acc:
            a.set(k.fma(k.shfl(a, step, 31, -1, mode="bfly"), theirs, a * mine))
        state.row_max.set(new_max)
        step *= 2


@dataclass(frozen=True)
class Merged:
    """What the block has found: maximum and sum, the same in all threads, and where the states of the warps lie."""

    row_max: Register[f32]
    row_sum: Register[f32]
    scales: list[Any]  # of each warp: what its share is multiplied with
    warp_max: Shared[f32]
    warp_sum: Shared[f32]
    warp_acc: Shared[f32]


def merge_warps(k: Builder, config: DecodeConfig, state: State) -> Merged:
    """Each warp merges its lanes and puts its state into shared memory; then each thread merges the maxima and the sums
    by itself."""
    lanes, W = Lanes(config.head_dim, config.dtype), config.warps
    merge_lanes(k, lanes, state)
    warp_max, warp_sum = k.shared(f32, W), k.shared(f32, W)
    warp_acc = k.shared(f32, (W, config.head_dim))

    thread = k.tid.x
    warp, lane = thread // WARP, thread % WARP
    with k.if_(lane < lanes.group):  # the groups of a warp agree: one of them writes
        mine = warp_acc.row(warp) + lane * lanes.width
        full = lanes.full(k, lane)
        for n in range(0, lanes.elements, 4):
            last = full is not None and n // lanes.width == lanes.chunks - 1
            with k.guard(full) if last else nullcontext():
                k.store(mine + lanes.at(n), state.acc[n : n + 4], vector=4)
        warp_max[warp] = state.row_max
        warp_sum[warp] = state.row_sum
    k.barrier()

    maxima, sums = k.load(warp_max, W), k.load(warp_sum, W)
    row_max = k.var(f32, maxima[0])
    for m in maxima[1:]:
        row_max.set(k.max(row_max, m))
    shift = k.max(row_max, LOWEST)
    scales = [k.exp2(m - shift) for m in maxima]
    row_sum = k.var(f32, 0.0)
    for total, factor in zip(sums, scales, strict=True):
        row_sum.set(k.fma(total, factor, row_sum))
    return Merged(row_max, row_sum, scales, warp_max, warp_sum, warp_acc)


def finish(
    k: Builder,
    config: DecodeConfig,
    state: State,
    row: u32,
    row_start: Any,
    o: Ptr[Any],
    lse: Ptr[f32],
    slots: Any,
    sums: Any,
) -> None:
    """Merges what the block's warps found, and stores the output row and its log-sum-exp, and in a `probes=True` build
    what each warp held."""
    merged = merge_warps(k, config, state)
    if slots is not None and sums is not None:
        slot = slots[row]
        probe_warps(k, config, slot, merged, sums)

    # Without keys total = 0 and row_max = -inf: dividing by 1 gives O = 0 and LSE = -inf.
    divisor = k.select(merged.row_sum > 0.0, merged.row_sum, 1.0)
    store_row(k, config, merged, o + row_start, divisor)
    with k.guard(k.tid.x == 0):
        lse[row] = (merged.row_max + k.log2(divisor)) * LN2  # natural logarithm


def store_row(k: Builder, config: DecodeConfig, merged: Merged, to: Ptr[Any], divisor: Register[Any] | None) -> None:
    """The merged row, divided by `divisor` unless it is None, to memory: thread n stores the elements n, n + threads,
    ..."""
    element = to.element
    for first in range(0, config.head_dim, config.threads):
        at = k.tid.x + first
        with k.if_(at < config.head_dim):
            total = k.var(f32, 0.0)
            for warp, factor in enumerate(merged.scales):
                total.set(k.fma(merged.warp_acc[warp, at], factor, total))
            result = total if divisor is None else total / divisor
            to[at] = rounded(k, result, element)


def probe_warps(k: Builder, config: DecodeConfig, slot: Any, merged: Merged, sums: Ptr[f32]) -> None:
    """Stores the state that each warp held before the merge: maximum, sum, what the merge multiplied them with, and the
    weighted values."""
    D, thread = config.head_dim, k.tid.x
    with k.if_(slot != NOWHERE):
        mine = sums + k.mul(slot, config.warps * D, wide=True)
        with k.loop(config.warps * D, start=thread, step=config.threads) as i:
            mine[i] = merged.warp_acc[i // D, i % D]
    with k.if_((slot != NOWHERE) & (thread < config.warps)):
        row_max = merged.warp_max[thread]
        rescale = k.exp2(row_max - k.max(merged.row_max, LOWEST))
        k.probe(slot, thread, config.warps, row_max, merged.warp_sum[thread], rescale)


def warp_of(config: DecodeConfig, keys: Any) -> Any:
    """Which warp takes a key: each has a few neighbouring keys at once, then the next warp's follow."""
    rows = Lanes(config.head_dim, config.dtype).rows
    return keys // rows % config.warps


SPEC = DecodeSpec(
    name="decode_multiwarp",
    rung=11,
    title="Several warps per head, merged in shared memory",
    question="What is the algebra of merging two softmaxes?",
    idea="merging (m, l, o)",
    brings=("ld.global.nc.v4", "shfl between groups of lanes", "bar.sync"),
    look=(
        "the state: what each warp held and what the merge multiplied it with; and the loads of keys and values in "
        "the PTX, all of which come before the first fma"
    ),
    opens="fma",
    make=make,
    takes=(spec.HEAD_DIM, spec.DTYPE, spec.ARCH, spec.PROBES, spec.WARPS, spec.LENGTH),
    warp_of=warp_of,
)

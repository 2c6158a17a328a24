"""What checks cost where warps hand tiles to each other: `python benchmarks/rings.py [NAME ...]`.

Each kernel hands a thousand tiles from producers to consumers. Printed: the CPU time of a launch over that of one with
memcheck alone; one worker, in turn with plain launches, the least of several.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, TensorMap, f32, kernel, u32
from ptxlab.emulate.jit.building import build
from ptxlab.emulate.trace.recorder import Trace

ROUNDS, WARPS, STAGES, RUNS = 1000, 4, 4, 9
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
NAMED = ("memcheck",)
WATCHED: dict[str, dict[str, Any]] = {
    "init": {"checks": (*NAMED, "initcheck")},
    "race": {"checks": (*NAMED, "racecheck")},
    "sync": {"checks": (*NAMED, "synccheck")},
    "all": {"checks": (*NAMED, "initcheck", "racecheck", "synccheck")},
    "counters": {"counters": True},
    "trace": {"trace": Trace(blocks=0, warps=0)},
}


def consume(k: Builder, ring: Any, tile: Any, y: Ptr[f32], n: u32, floats: int) -> None:
    """Warps 1 to WARPS add up the tiles that warp 0 provides; each thread releases the stage."""
    with k.if_(k.tid.x >= 32):
        thread = k.tid.x - 32
        total = k.var(f32, 0.0)
        turn = ring.consumer()
        with k.loop(n):
            turn.wait()
            here = tile + turn.stage * floats + thread
            for part in range(0, floats, 32 * WARPS):
                total.set(total + here[part])
            turn.release()
            turn.next()
        y[thread] = total


@kernel(arch="sm_90a")
def stored(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """The lanes of warp 0 store a tile of 128 floats; one of them announces it by as many bytes as it "copies"."""
    tile = k.shared(f32, STAGES * 128, align=128)
    ring = k.pipeline(STAGES, arrivals=32 * WARPS)
    k.barrier()
    with k.if_(k.tid.x < 32):
        turn = ring.producer()
        with k.loop(n):
            turn.wait()
            for part in range(4):
                (tile + turn.stage * 128 + k.tid.x)[32 * part] = x[k.tid.x + 32 * part]
            k.op("bar.warp.sync", 0xFFFFFFFF)
            with k.if_(k.tid.x == 0):
                turn.expect(0)
            turn.expected = True
            turn.next()
    consume(k, ring, tile, y, n, 128)


@kernel(arch="sm_90a")
def bulk(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32, *, floats: int = 1024) -> None:
    """One thread copies tiles by cp.async.bulk."""
    tile = k.shared(f32, STAGES * floats, align=128)
    ring = k.pipeline(STAGES, arrivals=32 * WARPS)
    k.barrier()
    with k.if_(k.tid.x == 0):
        turn = ring.producer()
        with k.loop(n) as at:
            turn.wait()
            turn.expect(4 * floats)
            k.op(LOAD, tile + turn.stage * floats, x + at % 8 * floats, 4 * floats, turn.full)
            turn.next()
    consume(k, ring, tile, y, n, floats)


@kernel(arch="sm_90a")
def tma(k: Builder, x: TensorMap, y: Ptr[f32], n: u32) -> None:
    """One thread copies tiles of 16 x 64 floats by a tensor map."""
    x.box(16, 64)
    tile = k.shared(f32, STAGES * 1024, align=128)
    ring = k.pipeline(STAGES, arrivals=32 * WARPS)
    k.barrier()
    with k.if_(k.tid.x == 0):
        turn = ring.producer()
        with k.loop(n) as at:
            turn.wait()
            turn.expect(4096)
            x.load(tile + turn.stage * 1024, turn.full, at % 8 * 16, 0)
            turn.next()
    consume(k, ring, tile, y, n, 1024)


@kernel(arch="sm_90a")
def saved(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """All threads store a tile, and one copies it to global memory and waits until it has been read."""
    tile = k.shared(f32, 1024, align=128)
    with k.loop(n) as at:
        for part in range(8):
            (tile + k.tid.x)[128 * part] = x[k.tid.x]
        k.op("fence.proxy.async.shared::cta")
        k.barrier()
        with k.if_(k.tid.x == 0):
            k.op("cp.async.bulk.global.shared::cta.bulk_group", y + at % 8 * 1024, tile, 4096)
            k.op("cp.async.bulk.commit_group")
            k.op("cp.async.bulk.wait_group.read", 0)
        k.barrier()


@kernel(arch="sm_80")
def groups(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """cp.async: each of 128 threads copies 16 bytes of the tile after the next."""
    tile = k.shared(f32, 3 * 512, align=128)
    total = k.var(f32, 0.0)
    with k.loop(n) as at:
        k.op("cp.async.cg.shared.global", tile + at % 3 * 512 + k.tid.x * 4, x + at % 8 * 512 + k.tid.x * 4, 16)
        k.op("cp.async.commit_group")
        k.op("cp.async.wait_group", 0)
        k.barrier()
        for part in range(4):
            total.set(total + (tile + at % 3 * 512 + k.tid.x)[128 * part])
    y[k.tid.x] = total


@kernel(arch="sm_80")
def named(k: Builder, x: Ptr[f32], y: Ptr[f32], n: u32) -> None:
    """Two pairs of warps, each with barriers of its own: one stores, the other one reads."""
    tile = k.shared(f32, 64)
    pair = k.tid.x // 64
    lane = k.tid.x % 32
    total = k.var(f32, 0.0)
    with k.loop(n):
        with k.if_(k.tid.x % 64 < 32):
            (tile + pair * 32 + lane)[0] = x[lane]
        k.op("bar.sync", pair + 1, 64)
        total.set(total + tile[pair * 32 + 31 - lane])
        k.op("bar.sync", pair + 1, 64)
    y[k.tid.x] = total


X = np.random.default_rng(1).normal(size=8 * 1024).astype(np.float32)


def attention(name: str) -> Callable[[], Callable[..., Any]]:
    """Launches of a kernel of the library: one head of 1024 keys."""
    rng = np.random.default_rng(2)
    q, key, v = (rng.standard_normal((1, 1, 1024, 64)).astype(np.float16) for _ in range(3))
    return lambda: functools.partial(pl.attention, q, key, v, kernel=name, device="cpu")


def launched(made: Any, given: Callable[[], tuple[Any, ...]], threads: int) -> Callable[[], Callable[..., Any]]:
    """Launches of a kernel of one block."""
    return lambda: functools.partial(pl.launch, made(), 1, threads, *given(), ROUNDS, workers=1)


Y = np.zeros(8 * 1024, np.float32)
KERNELS: dict[str, Callable[[], Callable[..., Any]]] = {
    "stored": launched(stored, lambda: (X, Y), 32 + 32 * WARPS),
    "bulk": launched(bulk, lambda: (X, Y), 32 + 32 * WARPS),
    "tma": launched(tma, lambda: (X.reshape(-1, 64), Y), 32 + 32 * WARPS),
    "saved": launched(saved, lambda: (X, Y), 128),
    "groups": launched(groups, lambda: (X, Y), 128),
    "named": launched(named, lambda: (X, Y), 128),
    "hopper": attention("hopper"),
    "pipelined": attention("pipelined"),
}


def spent(call: Callable[..., Any], **options: Any) -> float:
    """CPU seconds of a launch."""
    begun = time.process_time()
    call(**options)
    return time.process_time() - begun


def warm(call: Callable[..., Any], **options: Any) -> None:
    """Builds the code of a launch as of one that takes long."""
    call(**options)
    for built in build._recent.values():
        built.improve()
    call(**options)


def main(names: list[str]) -> None:
    """Prints a row for each kernel."""
    print(f"{'':<12}{'plain, ms':>10}" + "".join(f"{name:>10}" for name in WATCHED))
    for name, make in KERNELS.items():
        if names and name not in names:
            continue
        call, ratios, plains = make(), [], []
        warm(call, checks=NAMED)
        for options in WATCHED.values():
            watched = {"checks": NAMED} | options
            build._recent.clear()
            warm(call, checks=NAMED)
            warm(call, **watched)
            pairs = [(spent(call, checks=NAMED), spent(call, **watched)) for _ in range(RUNS)]
            plains.append(min(plain for plain, _ in pairs))
            ratios.append(min(time for _, time in pairs) / plains[-1])
        print(f"{name:<12}{min(plains) * 1e3:>10.2f}" + "".join(f"{ratio:>10.1f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

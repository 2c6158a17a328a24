"""Decode kernels against the memory they read: `python benchmarks/decode.py [--device gpu] [--quick]`.

For each batch, cache length and grouping: the time of one decode step (all its kernels), the bytes of keys and values a
second, and these as a share of what a copy kernel of 16-byte loads and stores moves in the same run (read and written
bytes both counted). head_dim 128, bf16, dense and in pages of 16. Times are the best of several launches.
Goals on a GPU: `decode_gqa` 85 % of the copy where the grid fills the card, 10 us at batch 1 with 1024 keys.

On the CPU machine (`--device cpu`) the figures say nothing about a GPU; `--quick` shows there that everything runs.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab import kernels, targets
from ptxlab.buffers import memory_of
from ptxlab.build import Builder, Ptr, b16, b32, kernel, u32, u64
from ptxlab.choice import split_count

D, PAGE = 128, 16
THREADS = 256


@kernel
def copy(k: Builder, source: Ptr[b32], to: Ptr[b32], chunks: u64) -> None:
    """Thread n copies the 16-byte chunks n, n + all threads, ..."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    with k.loop(chunks, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        values = k.load(source + i * 4, 4, vector=4)
        k.store(to + i * 4, values, vector=4)


@kernel
def fill(k: Builder, to: Ptr[b16], words: u64, salt: u32) -> None:
    """Pairs of bf16 from the ranges 1/2 to 1 and -1 to -1/2."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    with k.loop(words, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        noise = k.cvt(u32, i) * 0x9E3779B1 + salt
        to.cast(b32)[i] = k.bitcast(b32, (noise & 0x807F807F) | 0x3F003F00)


@dataclass(frozen=True)
class Step:
    """One decode step: what is launched, on buffers that stay on the device until `free`."""

    launches: list[tuple[Any, tuple[Any, ...]]]
    problem: tuple[int, int, int, int]

    def seconds(self, device: str, repeats: int) -> float:
        """The best time of all launches together."""
        times = []
        for _ in range(repeats):
            total = 0.0
            for built, args in self.launches:
                grid, block, shared = built.launch_shape(*self.problem)
                total += pl.launch(built, grid, block, *args, shared=shared, device=device).seconds
            times.append(total)
        return min(times)

    def free(self) -> None:
        """Gives all buffers back."""
        for buffer in {id(x): x for _, args in self.launches for x in args if isinstance(x, pl.DeviceBuffer)}.values():
            buffer.free()


def copy_rate(device: str, size: int, repeats: int, blocks: int) -> float:
    """Bytes read and written a second."""
    source, to = (pl.empty(size // 4, np.uint32, device=device) for _ in range(2))
    run = [pl.launch(copy, blocks, THREADS, source, to, size // 16, device=device).seconds for _ in range(repeats)]
    source.free()
    to.free()
    return 2 * size / min(run)


def step(name: str, batch: int, heads: tuple[int, int], keys: int, paged: bool, blocks: int, device: str) -> Step:
    """A decode step by kernel `name`, with random keys; `blocks` is how many fill the card."""
    heads_q, heads_kv = heads
    spec = kernels.get(name, "decode")
    grouped = name == "decode_gqa"
    splitting = name in ("decode_split", "decode_gqa")
    splits = split_count(batch * (heads_kv if grouped else heads_q), blocks, keys) if splitting else 1
    partial = name == "decode_split" or splits > 1
    chosen = {"partial": partial, "cache": "paged" if paged else "dense", "page_size": PAGE}
    chosen = {what: value for what, value in chosen.items() if what in spec.parameters}
    built = spec.build(head_dim=D, dtype="bf16", **chosen)

    shape = (batch * (keys // PAGE), PAGE, heads_kv, D) if paged else (batch, heads_kv, keys, D)
    given: dict[str, Any] = {"scale": D**-0.5}
    for salt, what in enumerate(("key", "value")):
        given[what] = pl.empty(shape, np.uint16, device=device)
        words = given[what].nbytes // 4
        pl.launch(fill, blocks, THREADS, given[what], words, salt, device=device)
    row = batch, heads_q, D
    given["q"] = pl.to_device(np.full(row, 0x3F80, np.uint16), device=device)  # ones
    lengths = pl.to_device(np.full(batch, keys, np.int32), device=device)
    given["lengths" if paged or splitting else "length"] = lengths
    if paged:
        pages = np.random.default_rng(0).permutation(shape[0]).astype(np.int32)
        given["table"] = pl.to_device(pages.reshape(batch, -1), device=device)
    into = {"o": pl.empty(row, np.uint16, device=device), "lse": pl.empty(row[:2], np.float32, device=device)}
    problem = batch, heads_q, heads_kv, splits
    if not partial:
        return Step([(built, built.arguments(**given, **into, **({"splits": 1} if grouped else {})))], problem)
    parts = pl.empty((batch, heads_q, splits, D + 2), np.float32, device=device)
    reduce = kernels.get("decode_reduce", "decode").build(head_dim=D, dtype="bf16")
    launches = [(built, built.arguments(**given, partial=parts)), (reduce, reduce.arguments(partial=parts, **into))]
    return Step(launches, problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", choices=("auto", "gpu", "cpu"))
    parser.add_argument("--quick", action="store_true", help="few and small problems")
    parser.add_argument("--gigabytes", type=float, default=32.0, help="the most that a cache may take")
    options = parser.parse_args()
    device = memory_of(options.device)
    blocks = targets.get("sm_90").gpus[0][1]
    if device == "gpu":
        from ptxlab.gpu import device as gpu

        print(gpu.describe())
        blocks = gpu.describe().multiprocessors
    repeats = 2 if options.quick else 10
    rate = copy_rate(device, 2**22 if options.quick else 2**31, repeats, 16 * blocks)
    print(f"copy: {rate / 1e9:.1f} GB/s")
    print(f"{'kernel':<17}{'B':>5}{'keys':>8}{'heads':>7}{'cache':>7}{'splits':>7}{'time':>12}{'GB/s':>9}{'share':>7}")
    batches, lengths = ((1,), (256,)) if options.quick else ((1, 8, 32, 128), (1024, 4096, 16384, 131072))
    names = ("decode", "decode_multiwarp", "decode_split", "decode_gqa", "decode_paged")
    for heads, batch, keys, paged, name in itertools.product(((32, 8), (8, 1)), batches, lengths, (False, True), names):
        size = 2 * 2 * batch * heads[1] * keys * D
        takes = kernels.get(name, "decode").parameters
        if paged != (name == "decode_paged") and not (paged and "cache" in takes):
            continue
        if size > options.gigabytes * 1e9 or (name == "decode" and batch * keys > 2**20):
            continue
        made = step(name, batch, heads, keys, paged, blocks, device)
        seconds = made.seconds(device, repeats)
        made.free()
        print(
            f"{name:<17}{batch:>5}{keys:>8}{f'{heads[0]}/{heads[1]}':>7}{'pages' if paged else 'dense':>7}"
            f"{made.problem[3]:>7}{seconds * 1e6:>9.1f} us{size / seconds / 1e9:>9.1f}{size / seconds / rate:>7.0%}"
        )


if __name__ == "__main__":
    main()

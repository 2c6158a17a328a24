"""Decode kernels against the memory they read: `python benchmarks/decode.py [--device gpu|cpu] [--quick] [--write]`.

On a GPU, for each batch, cache length and grouping: the time of one decode step (all its kernels), the bytes of keys
and values a second, and these as a share of a device-to-device copy of 2 GiB in the same run (bytes read and written
both counted; the faster of the driver's copy and a kernel of 16-byte loads and stores). head_dim 128, bf16, dense and
in pages of 16, beside PyTorch's scaled_dot_product_attention and FlashInfer where they are installed.

Steps are recorded in a CUDA graph, several one after the other, so that Python's time is not counted; the time is that
of the best of several replays, divided by the steps. So that keys come from memory and not from the L2 cache, steps
take turns at copies of the cache that together hold at least 256 MB. Goals: `decode_gqa` at 85 % of the copy where
B * Hkv * splits fills the card; at most 10 us for a step at B = 1 with 1024 keys.

The CPU machine's time says nothing about a GPU, but it counts: without a GPU (or with `--device cpu`) the bytes that
each kernel asks for are shown as a multiple of the keys and values there are.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import decode_others
import numpy as np

import ptxlab as pl
from ptxlab import gpu, kernels
from ptxlab.attention import arch_of
from ptxlab.build import Builder, Ptr, b16, b32, kernel, u32, u64
from ptxlab.choice import split_count
from ptxlab.replay import Step, record

D, PAGE = 128, 16
THREADS = 256
COLD = 256 * 10**6
"""Bytes that the copies of a cache hold together: several times an L2 cache."""
RESULTS = Path(__file__).parent / "results" / "decode.md"

HEAD = f"{'kernel':<17}{'B':>5}{'keys':>8}{'heads':>7}{'cache':>7}{'splits':>7}"


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
class Problem:
    """One decode step: B sequences of `keys` keys each, Hq query heads that share Hkv key/value heads."""

    batch: int
    keys: int
    heads: tuple[int, int]
    paged: bool

    @property
    def cache(self) -> tuple[int, ...]:
        """The shape of the cache of keys, and of that of values."""
        if self.paged:
            return (self.batch * (self.keys // PAGE), PAGE, self.heads[1], D)
        return (self.batch, self.heads[1], self.keys, D)

    @property
    def bytes(self) -> int:
        """Bytes of keys and values."""
        return 2 * 2 * self.batch * self.heads[1] * self.keys * D

    def table(self) -> np.ndarray:
        """The block table: pages in a random order."""
        pages = np.random.default_rng(0).permutation(self.cache[0]).astype(np.int32)
        return pages.reshape(self.batch, -1)

    def __str__(self) -> str:
        heads = f"{self.heads[0]}/{self.heads[1]}"
        return f"{self.batch:>5}{self.keys:>8}{heads:>7}{'pages' if self.paged else 'dense':>7}"


def problems(quick: bool, most: float) -> Iterator[Problem]:
    """All problems whose cache takes no more than so many bytes."""
    batches, lengths = ((1,), (1024,)) if quick else ((1, 8, 32, 128), (1024, 4096, 16384, 131072))
    for heads, batch, keys, paged in itertools.product(((32, 8), (8, 1)), batches, lengths, (False, True)):
        problem = Problem(batch, keys, heads, paged)
        if problem.bytes <= most:
            yield problem


def takes(name: str, problem: Problem) -> bool:
    """Whether a kernel can do it, in a time that anybody would wait for."""
    if name == "decode" and problem.batch * problem.keys > 2**20:
        return False
    cache = kernels.get(name, "decode").parameters.get("cache")
    return ("paged" if problem.paged else "dense") in (cache.choices if cache else ("dense",))


# -- on a GPU ----------------------------------------------------------------------------------------------------------


def copy_rate(repeats: int, blocks: int, size: int = 2**31) -> float:
    """Bytes read and written a second by the faster of the driver's copy and a kernel of 16-byte loads and stores."""
    source, to = (pl.empty(size // 4, np.uint32, device="gpu") for _ in range(2))
    graph = record([(copy, 16 * blocks, THREADS, 0, (source, to, size // 16))])
    seconds = min(graph.replay() for _ in range(repeats))
    graph.free()
    seconds = min(seconds, *(decode_others.driver_copy(source.address, to.address, size) for _ in range(repeats)))
    source.free()
    to.free()
    return 2 * size / seconds


@dataclass(frozen=True)
class Prepared:
    """A problem on the GPU: as many caches as keep the L2 cache cold, and the other arrays."""

    problem: Problem
    caches: list[tuple[pl.DeviceBuffer, pl.DeviceBuffer]]
    given: dict[str, Any]
    into: dict[str, Any]
    partials: list[pl.DeviceBuffer] = field(default_factory=list)

    def free(self) -> None:
        """Gives all memory back."""
        for x in itertools.chain(*self.caches, self.given.values(), self.into.values(), self.partials):
            if isinstance(x, pl.DeviceBuffer):
                x.free()


def prepare(problem: Problem, blocks: int) -> Prepared:
    """Random keys and values, queries of ones."""
    caches = []
    for salt in range(max(1, min(64, -(-COLD // problem.bytes)))):
        pair = tuple(pl.empty(problem.cache, np.uint16, device="gpu") for _ in range(2))
        for x in pair:
            pl.launch(fill, 8 * blocks, THREADS, x, x.nbytes // 4, salt, device="gpu")
        caches.append(pair)
    row = problem.batch, problem.heads[0], D
    given = {"q": pl.to_device(np.full(row, 0x3F80, np.uint16), device="gpu"), "scale": D**-0.5}
    given["lengths"] = pl.to_device(np.full(problem.batch, problem.keys, np.int32), device="gpu")
    if problem.paged:
        given["table"] = pl.to_device(problem.table(), device="gpu")
    into = {"o": pl.empty(row, np.uint16, device="gpu"), "lse": pl.empty(row[:2], np.float32, device="gpu")}
    return Prepared(problem, caches, given, into)


def steps(name: str, prepared: Prepared, blocks: int) -> tuple[list[Step], int]:
    """The launches of a decode step with each cache in turn, and the number of splits."""
    problem, arch = prepared.problem, arch_of("gpu")
    batch, (heads_q, heads_kv) = problem.batch, problem.heads
    spec = kernels.get(name, "decode")
    grouped, splitting = name == "decode_gqa", name in ("decode_split", "decode_gqa")
    splits = split_count(batch * (heads_kv if grouped else heads_q), blocks, problem.keys) if splitting else 1
    partial = name == "decode_split" or splits > 1
    chosen = {"partial": partial, "cache": "paged" if problem.paged else "dense", "page_size": PAGE}
    built = spec.build(
        head_dim=D, dtype="bf16", arch=arch, **{what: x for what, x in chosen.items() if what in spec.parameters}
    )
    given = dict(prepared.given)
    if not any(p.name == "lengths" for p in built.params):
        given["length"] = given.pop("lengths")
    made: list[Step] = []
    if partial:
        parts = pl.empty((batch, heads_q, splits, D + 2), np.float32, device="gpu")
        prepared.partials.append(parts)
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=D, dtype="bf16", arch=arch)
        second = (
            reduce,
            *reduce.launch_shape(batch, heads_q, heads_kv),
            reduce.arguments(partial=parts, **prepared.into),
        )
    for key, value in prepared.caches:
        more = {"partial": parts} if partial else prepared.into | ({"splits": 1} if grouped else {})
        arguments = built.arguments(key=key, value=value, **given, **more)
        made.append((built, *built.launch_shape(batch, heads_q, heads_kv, splits), arguments))
        if partial:
            made.append(second)
    return made, splits


def on_a_gpu(options: argparse.Namespace) -> list[str]:
    """The table of times, printed line by line."""
    blocks = gpu.describe().multiprocessors
    repeats = 3 if options.quick else 10
    rate = copy_rate(repeats, blocks)
    others = decode_others.installed()
    lines = [str(gpu.describe()), f"copy: {rate / 1e9:.1f} GB/s"]
    lines += [f"{name}: {says}" for name, says in others.items()]
    lines += [
        "",
        f"{'kernel':<17}{'B':>5}{'keys':>8}{'heads':>7}{'cache':>7}{'splits':>7}{'time':>12}{'GB/s':>9}{'share':>7}",
    ]
    print("\n".join(lines))

    ours: list[tuple[Problem, float, float | None]] = []

    def show(name: str, problem: Problem, splits: str, seconds: float) -> None:
        share = problem.bytes / seconds
        lines.append(f"{name:<17}{problem}{splits:>7}{seconds * 1e6:>9.1f} us{share / 1e9:>9.1f}{share / rate:>7.0%}")
        print(lines[-1], flush=True)

    for problem in problems(options.quick, options.gigabytes * 1e9):
        prepared = prepare(problem, blocks)
        for name in (n for n in kernels.names("decode") if n != "decode_reduce" and takes(n, problem)):
            made, splits = steps(name, prepared, blocks)
            graph = record(made)
            seconds = min(graph.replay() for _ in range(repeats)) / len(prepared.caches)
            graph.free()
            show(name, problem, str(splits), seconds)
            if name == "decode_gqa":
                filled = problem.batch * problem.heads[1] * splits >= 0.8 * blocks
                ours.append((problem, seconds, problem.bytes / seconds / rate if filled else None))
        prepared.free()
        for name, found in decode_others.times(problem, PAGE, COLD, repeats):
            if isinstance(found, str):
                lines.append(f"{name:<17}{problem}  {found}")
                print(lines[-1])
            else:
                show(name, problem, "", found)
    verdict = ["", *goals(ours)]
    print("\n".join(verdict))
    return lines + verdict


def goals(ours: list[tuple[Problem, float, float | None]]) -> list[str]:
    """What `decode_gqa` reached, from (problem, seconds, share of the copy where the grid fills the card)."""
    says = []
    shares = [(share, problem) for problem, _, share in ours if share is not None]
    if shares:
        low, problem = min(shares, key=lambda found: found[0])
        reached = sum(share >= 0.85 for share, _ in shares)
        says.append(
            f"decode_gqa, the card filled: {reached} of {len(shares)} problems at 85 % of the copy or more; "
            f"the lowest share is {low:.0%}, at B {problem.batch}, {problem.keys} keys"
        )
    for problem, seconds, _ in ours:
        if problem.batch == 1 and problem.keys == 1024:
            heads, cache = "/".join(map(str, problem.heads)), "in pages" if problem.paged else "dense"
            says.append(f"decode_gqa, one step at B 1, 1024 keys, {heads}, {cache}: {seconds * 1e6:.1f} us; goal 10 us")
    return says


# -- on the CPU machine ------------------------------------------------------------------------------------------------


def on_the_cpu_machine() -> list[str]:
    """The bytes that each kernel asks for, as a multiple of the keys and values that there are."""
    import ml_dtypes

    lines = [
        "no GPU: times, bandwidth, PyTorch and FlashInfer need one; this is what the CPU machine counts.",
        "",
        "asked for: bytes of global memory in sectors of 32, over those of the keys and values; ideal is 1.",
        f"{HEAD}{'asked for':>11}{'conflicts':>11}",
    ]
    print("\n".join(lines))
    random = np.random.default_rng(0)
    for heads, paged in itertools.product(((8, 2), (8, 1)), (False, True)):
        problem = Problem(1, 512, heads, paged)
        q = random.standard_normal((1, heads[0], D)).astype(ml_dtypes.bfloat16)
        k, v = random.standard_normal((2, *problem.cache)).astype(ml_dtypes.bfloat16)
        table = problem.table() if paged else None
        for name in (n for n in kernels.names("decode") if n != "decode_reduce" and takes(n, problem)):
            splits = 4 if name in ("decode_split", "decode_gqa") else None
            out = pl.decode(q, k, v, [512], table, kernel=name, splits=splits, device="cpu", counters=True)
            assert out.error.ok, out.error
            assert out.counters is not None
            metrics = out.counters.metrics
            asked = 32 * metrics["memory_l2_theoretical_sectors_global"] / problem.bytes
            conflicts = metrics["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
            lines.append(f"{name:<17}{problem}{out.splits:>7}{asked:>11.2f}{conflicts:>11}")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", choices=("auto", "gpu", "cpu"))
    parser.add_argument("--quick", action="store_true", help="one small problem of each kind")
    parser.add_argument("--gigabytes", type=float, default=40.0, help="the most that the keys and values may take")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    if options.device == "gpu" and not gpu.available():
        raise SystemExit(
            "there is no NVIDIA GPU here, or its driver is missing; leave --device out for what can be counted"
        )
    use_gpu = options.device != "cpu" and gpu.available()
    lines = on_a_gpu(options) if use_gpu else on_the_cpu_machine()
    if options.write:
        command = "python benchmarks/decode.py" + (" --quick" if options.quick else "")
        text = "\n".join(lines)
        RESULTS.write_text(
            f"# Decode, measured\n\nMade by `{command} --write`.\n\n```\n{text}\n```\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()

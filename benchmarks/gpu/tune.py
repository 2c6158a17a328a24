"""All tiles and stages of `pipelined` and `hopper`, all splits of `decode_gqa`, timed: `python -m benchmarks.gpu.tune`.

Is what `Config.auto` and `split_count` choose the best there is, and by how much not? Every legal combination is
built, assembled while others run, and timed by replaying a CUDA graph. The results are overwritten with NaN before, and
rows of the first and the last head are held against float64 afterwards. All in bf16: prefill with 16384 tokens and a
model of width 2048; decode with 32 query heads that share 8 of keys and values, with caches that take turns, so that
none stays in L2.
"""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import numpy as np

import ptxlab as pl
from benchmarks.gpu.contest import Place, elsewhere, target_of
from benchmarks.gpu.record import Record, leave, record_for
from benchmarks.gpu.tune_problems import (
    Caches,
    Decode,
    Inputs,
    Prefill,
    Tiles,
    default_tiles,
    poison,
    rings_of,
    splits_of,
    tiles_of,
    usage,
)
from ptxlab import kernels, reference
from ptxlab.attention.heuristics import split_count
from ptxlab.gpu.faults import context_lost
from ptxlab.launch.replay import Step
from ptxlab.launch.replay import record as recorded

AHEAD = 24
"""Kernels that are assembled before they are wanted."""
COLD = 256 * 10**6
"""Bytes that the copies of a cache hold together: several times an L2 cache."""
BEST = 3
"""Of S = 4096, so many combinations are timed for the other lengths as well."""
WIDE = 64
"""Keys a tile that `hopper` is tried with at least."""


# -- timing ------------------------------------------------------------------------------------------------------------


def timed(steps: list[Step], launches: int, seconds: float) -> float:
    """Seconds of one of `launches` problems in a graph: the median of five times that take about `seconds` together."""
    graph = recorded(steps)
    try:
        once = max(graph.replay(), 1e-6)
        times = max(1, min(200, int(seconds / 5 / once)))
        return statistics.median(graph.replay(times) for _ in range(5)) / launches
    finally:
        graph.free()


def each(
    record: Record,
    about: dict[str, Any],
    todo: list[dict[str, Any]],
    build: Callable[[dict[str, Any]], Any],
    arch: str,
    one: Callable[[Any, Any, dict[str, Any]], dict[str, Any]],
) -> None:
    """A row for each choice in `todo`: `build(choice)` writes the kernel, threads assemble some kernels ahead, and
    `one(kernel, assembly, choice)` times it. A choice that fails has a row that says how."""
    coming: deque[tuple[dict[str, Any], Any, Future[Any]]] = deque()
    waiting, left = iter(todo), len(todo)
    with ThreadPoolExecutor(12) as threads:
        while left and not record.out_of_time(left):
            for choice in itertools.islice(waiting, AHEAD - len(coming)):
                built = build(choice)
                coming.append((choice, built, threads.submit(pl.assemble, built, arch)))
            choice, built, assembly = coming.popleft()
            try:
                record.add(**about, **choice, **one(built, assembly.result(), choice))
            except pl.PtxlabError as error:
                says = f"{said(about)}: {chosen_words(about | choice)}: {str(error).splitlines()[0]}"
                record.add(**about, **choice, default=False, us=None, wrong=says)
            left -= 1
            if context_lost():
                record.left = left
                break
        threads.shutdown(cancel_futures=True)


# -- prefill -----------------------------------------------------------------------------------------------------------


def prefill(record: Record, problem: Prefill, choices: list[Tiles], inputs: Inputs, arch: str, seconds: float) -> None:
    """A row for each choice."""
    spec = kernels.get(problem.kernel, "prefill")
    about = {"kernel": problem.kernel, "dim": problem.dim, "causal": problem.causal, "seq": problem.seq}
    default = default_tiles(problem.dim, problem.causal, problem.seq, arch, problem.kernel)
    ordered = [asdict(c) for c in (default, *(c for c in choices if c != default))]
    batch, heads, seq, dim = problem.shape
    q, k, v, o, lse = inputs.arguments(problem)

    def build(choice: dict[str, Any]) -> Any:
        chosen = {name: value for name, value in choice.items() if name in spec.parameters}
        return spec.build(head_dim=dim, causal=problem.causal, dtype="bf16", arch=arch, **chosen)

    def one(built: Any, assembly: Any, choice: dict[str, Any]) -> dict[str, Any]:
        grid, block, shared = built.launch_shape(batch, heads, heads, seq, seq)
        poison(o), poison(lse)
        args = built.arguments(q, k, v, o, lse, reference.default_scale(dim))
        spent = timed([(built, grid, block, shared, args)], 1, seconds)
        error = inputs.error(problem, built.tile_kv)
        says = "" if error.ok else f"error {error.max:.2g}, {error.tolerance:.2g} is allowed"
        says = says and f"{said(about)}: {chosen_words(about | choice)}: {says}"
        return {
            "default": choice == ordered[0],
            "us": spent * 1e6,
            "tflops": problem.operations / spent / 1e12,
            **usage(assembly, block[0], shared, arch),
            "error": error.max,
            "wrong": says,
        }

    each(record, about, [c for c in ordered if not record.has(**about, **c)], build, arch, one)


# -- decode ------------------------------------------------------------------------------------------------------------


def decode(record: Record, problem: Decode, caches: Caches, arch: str, seconds: float, quick: bool) -> None:
    """A row for each choice of splits, warps and stages."""
    spec, reduce = kernels.get("decode_gqa", "decode"), kernels.get("decode_reduce", "decode")
    batch, (heads_q, heads_kv) = problem.batch, problem.heads
    plain = spec.build(head_dim=problem.dim, dtype="bf16", arch=arch).config
    splits = split_count(batch * heads_kv, pl.gpu.describe().multiprocessors, problem.keys)
    default = {"splits": splits, "warps": plain.warps, "stages": plain.stages}
    every = [
        {"splits": n, "warps": warps, "stages": stages}
        for warps, stages in rings_of(arch, problem.dim)
        for n in splits_of(splits, problem.keys)
    ]
    ordered = [default, *(c for c in every if c != default)][: 3 if quick else None]
    about = {"kernel": "decode_gqa", "batch": batch, "keys": problem.keys}
    second = reduce.build(head_dim=problem.dim, dtype="bf16", arch=arch)

    def build(choice: dict[str, Any]) -> Any:
        ring = {"warps": choice["warps"], "stages": choice["stages"]}
        return spec.build(head_dim=problem.dim, dtype="bf16", arch=arch, partial=choice["splits"] > 1, **ring)

    def one(built: Any, assembly: Any, choice: dict[str, Any]) -> dict[str, Any]:
        n = choice["splits"]
        into: dict[str, Any] = caches.into | {"splits": 1}
        if n > 1:
            into = {"partial": pl.empty((batch, heads_q, n, problem.dim + 2), np.float32, device="gpu")}
        results = [x for x in (*caches.into.values(), *into.values()) if isinstance(x, pl.DeviceBuffer)]
        for buffer in results:
            poison(buffer)
        steps: list[Step] = []
        shape = built.launch_shape(batch, heads_q, heads_kv, n)
        for key, value in caches.on:
            steps.append((built, *shape, built.arguments(key=key, value=value, **caches.given, **into)))
            if n > 1:
                merged = second.arguments(**into, **caches.into)
                steps.append((second, *second.launch_shape(batch, heads_q, heads_kv), merged))
        spent = timed(steps, len(caches.on), seconds)
        error = caches.error()
        if n > 1:
            into["partial"].free()
        says = "" if error.ok else f"error {error.max:.2g}, {error.tolerance:.2g} is allowed"
        says = says and f"{said(about)}: {chosen_words(about | choice)}: {says}"
        return {
            "default": choice == default,
            "us": spent * 1e6,
            "gbs": problem.bytes / spent / 1e9,
            **usage(assembly, shape[1][0], shape[2], arch),
            "error": error.max,
            "wrong": says,
        }

    each(record, about, [c for c in ordered if not record.has(**about, **c)], build, arch, one)


# -- the part ----------------------------------------------------------------------------------------------------------


def best(rows: list[dict[str, Any]], **about: Any) -> list[dict[str, Any]]:
    """The rows of a problem, the quickest first."""
    mine = [row for row in rows if all(row.get(name) == value for name, value in about.items()) and not row["wrong"]]
    return sorted(mine, key=lambda row: float(row["us"]))


def main() -> int:
    """Times what has no row yet."""
    record, options = record_for("tune", __doc__)
    if not pl.gpu.available():
        record.missing("an NVIDIA GPU", "none is there, or no driver for it")
        return record.end()
    arch = pl.gpu.describe().arch
    for run in rehearsal(record, arch) if options.rehearse else everything(record, arch):
        if record.out_of_time() or context_lost():
            break
        run()
    return record.end(summary(record.rows))


def rehearsal(record: Record, arch: str) -> Iterator[Callable[[], None]]:
    """A little of each."""
    small, step = Prefill(64, False, 128, 128, 128), Decode(1, 256, (8, 2))
    yield lambda: prefill(record, small, tiles_of(64, False, arch)[:3], Inputs(small), arch, 0.0)
    if not elsewhere("hopper", place := Place.of("gpu")):
        target, other = target_of("hopper", place), Prefill(64, False, 128, 128, 128, "hopper")
        yield lambda: prefill(record, other, tiles_of(64, False, target, "hopper")[:2], Inputs(other), target, 0.0)
    yield lambda: decode(record, step, Caches(step, 2), arch, 0.0, True)


def everything(record: Record, arch: str) -> Iterator[Callable[[], None]]:
    """Decode first, which is quick; then all tiles for S = 4096, and the best of them for other lengths. Of `hopper`,
    whose defaults take 64 keys or more at a time, all that do are timed for short sequences too."""
    for step in (Decode(1, 1024), Decode(1, 16384), Decode(16, 4096)):
        yield lambda step=step: with_caches(record, step, arch)
    inputs = Inputs(Prefill(64, False, 4096))
    place = Place.of("gpu")
    if why := elsewhere("hopper", place):
        record.note(f"hopper: not run, {why}")
    else:
        target = target_of("hopper", place)
        for dim, causal, seq in itertools.product((128, 64, 256), (False, True), (4096, 512)):
            problem = Prefill(dim, causal, seq, kernel="hopper")
            tiles = [t for t in tiles_of(dim, causal, target, "hopper") if t.tile_kv >= WIDE]
            yield lambda p=problem, tiles=tiles: prefill(record, p, tiles, inputs, target, 0.03)
    problems = [Prefill(dim, causal, 4096) for dim in (128, 64, 256) for causal in (False, True)]
    for problem in problems:
        tiles = tiles_of(problem.dim, problem.causal, arch)
        yield lambda p=problem, tiles=tiles: prefill(record, p, tiles, inputs, arch, 0.03)
    for problem, seq in itertools.product(problems, (1024, 16384)):
        quickest = best(record.rows, kernel="pipelined", dim=problem.dim, causal=problem.causal, seq=4096)[:BEST]
        tiles = [Tiles(*(row[name] for name in ("tile_q", "tile_kv", "warps", "stages"))) for row in quickest]
        other = Prefill(problem.dim, problem.causal, seq)
        yield lambda p=other, tiles=tiles: prefill(record, p, tiles, inputs, arch, 0.03)


def with_caches(record: Record, step: Decode, arch: str) -> None:
    """All choices for a decode step."""
    caches = Caches(step, max(1, min(64, -(-COLD // step.bytes))))
    decode(record, step, caches, arch, 0.01, False)
    if not context_lost():
        caches.free()


def problems_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the rows are about, each once."""
    out: list[dict[str, Any]] = []
    for row in rows:
        about = {name: row[name] for name in ("kernel", "dim", "causal", "batch", "keys", "seq") if name in row}
        if about not in out:
            out.append(about)
    return out


def gain(rows: list[dict[str, Any]], about: dict[str, Any]) -> float | None:
    """How much quicker the best choice is than the default one: 1.05 is 5 %; None where the default has no time, or
    nothing else has one yet."""
    ordered = best(rows, **about)
    default = [row for row in ordered if row["default"]]
    return float(default[0]["us"] / ordered[0]["us"]) if default and len(ordered) > 1 else None


def summary(rows: list[dict[str, Any]]) -> str:
    """One line."""
    gains = [found for one in problems_of(rows) if (found := gain(rows, one)) is not None]
    kept = sum(g <= 1.02 for g in gains)
    worst = f"; the best is up to {max(gains):.2f} times as fast" if gains else ""
    right = sum(not row["wrong"] for row in rows)
    return f"{right} choices timed; the default is within 2 % of the best for {kept} of {len(gains)} problems{worst}"


def table(found: dict[str, Any]) -> str:
    """For each problem the quickest choices and the default one."""
    rows = found["rows"]
    lines = [f"{summary(rows)}.", ""]
    lines += [
        "| problem | choice | time | rate | registers | spills | blocks per SM | x default |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for about in problems_of(rows):
        ordered = best(rows, **about)
        default = [row for row in ordered if row["default"]]
        for row in [*ordered[:BEST], *(row for row in default if row not in ordered[:BEST])]:
            times = f"{default[0]['us'] / row['us']:.2f}" if default else "-"
            mark = " (default)" if row["default"] else ""
            rate = f"{row['tflops']:.0f} TFLOP/s" if "tflops" in row else f"{row['gbs']:.0f} GB/s"
            cells = (
                said(about),
                f"{chosen_words(row)}{mark}",
                time_words(row["us"]),
                rate,
                row["registers"],
                row["spills"],
                f"{row['blocks']} ({row['limiter']})",
                times,
            )
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    wrong = [f"- wrong: {row['wrong']}" for row in rows if row["wrong"]]
    return "\n".join([*lines, *([""] if wrong else []), *wrong])


def said(about: dict[str, Any]) -> str:
    """A problem in words."""
    if about["kernel"] == "decode_gqa":
        return f"decode_gqa, B {about['batch']}, {about['keys']} keys"
    return f"{about['kernel']}, D {about['dim']}, S {about['seq']}{', causal' if about['causal'] else ''}"


def chosen_words(row: dict[str, Any]) -> str:
    """A choice in words."""
    if row["kernel"] == "decode_gqa":
        return ", ".join(_counted(row[f"{name}s"], name) for name in ("split", "warp", "stage"))
    return ", ".join([f"{row['tile_q']} x {row['tile_kv']}", *(_counted(row[f"{n}s"], n) for n in ("warp", "stage"))])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def time_words(us: float) -> str:
    """A time with its unit."""
    return f"{us / 1e3:.3f} ms" if us >= 1000 else f"{us:.1f} us"


if __name__ == "__main__":
    leave(main())

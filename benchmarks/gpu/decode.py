"""Decode steps against the memory that they read: `python -m benchmarks.gpu.decode [--json FILE]`.

For each batch (1 to 64), length of the cache (1k to 128k keys), grouping of heads (1, 4 and 8 query heads share a
key/value head), head_dim 128 and sometimes 64, dense and in pages of 16, in bf16: the time of a step of `decode_gqa`
(all its kernels), beside torch's scaled_dot_product_attention for dense caches, and FlashInfer for paged ones where it
is installed. The other decode kernels are measured at one size.

A step that reads 200 MB of keys and values or more is shown in GB/s and as a share of a device-to-device copy of 2 GiB
in the same run (bytes read and written both counted; the faster of the driver's copy and a kernel of 16-byte loads and
stores). A smaller one is shown in microseconds. The goal: `decode_gqa` at 85 % of the copy where a step reads 200 MB or
more. It takes 90 seconds on an H100, some of them for the float64 answers of the longest caches.

`--device cpu` and `--rehearse` take small problems, which show that it all runs; their times say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import ptxlab as pl
from benchmarks.gpu import contest, decode_steps, timing
from benchmarks.gpu.contest import Place
from benchmarks.gpu.decode_steps import Prepared, Problem, scatter, takes
from benchmarks.gpu.memory import THREADS, poison, read
from benchmarks.gpu.record import UNUSABLE, Record, leave, record_for
from benchmarks.gpu.rivals_torch import find_torch
from ptxlab import kernels
from ptxlab.builder import Builder, Ptr, b32, kernel, u64
from ptxlab.errors import LaunchError, PtxlabError
from ptxlab.gpu import device
from ptxlab.launch.replay import record as record_graph

OURS, TORCH, FLASHINFER = "decode_gqa", "torch SDPA", "FlashInfer"
LARGE = 200 * 10**6
"""Bytes of a step from which its share of the copy is a measure of the kernel, not of its launch."""
MOST = 5 * 10**9
"""Bytes of the largest cache."""
GOAL = 0.85
RUNGS_AT = (16, 4096, (32, 8), 128)
"""The size at which all decode kernels are measured."""


@kernel
def copy(k: Builder, source: Ptr[b32], to: Ptr[b32], chunks: u64) -> None:
    """Thread n copies the 16-byte chunks n, n + all threads, ..."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    with k.loop(chunks, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        values = k.load(source + i * 4, 4, vector=4)
        k.store(to + i * 4, values, vector=4)


def problems(small: bool) -> list[Problem]:
    """All problems, those that the goal is about in front."""
    if small:
        return [Problem(2, 192, (8, 2), paged, 128, most=3, cold=2**19) for paged in (False, True)]
    sizes = list(itertools.product((1, 4, 16, 64), (1024, 4096, 16384, 131072), ((64, 8), (32, 8), (32, 32)), (128,)))
    sizes += [(batch, keys, (32, 8), 64) for batch, keys in ((64, 4096), (16, 16384), (1, 16384), (1, 1024))]
    every = [Problem(*size[:3], paged, size[3]) for size in sizes for paged in (False, True)]
    every = [problem for problem in every if problem.bytes <= MOST]
    return sorted(every, key=lambda p: (p.dim != 128, p.bytes < LARGE, p.heads[0] == p.heads[1], p.bytes, p.heads))


def wanted(problem: Problem, small: bool) -> list[str]:
    """The kernels that are measured for a problem."""
    names = [OURS, FLASHINFER if problem.paged else TORCH]
    if small or (problem.batch, problem.keys, problem.heads, problem.dim) == RUNGS_AT:
        rungs = (name for name in kernels.names("decode") if name not in (OURS, "decode_reduce"))
        names += [name for name in rungs if takes(name, problem)]
    return names


# -- the copy ----------------------------------------------------------------------------------------------------------


def copy_rates(place: Place, size: int, repeats: int) -> dict[str, float]:
    """GB read and written a second by the driver's copy ("driver") and by a kernel of 16-byte loads and stores; a
    `RuntimeError` where the bytes did not arrive."""
    source, to = (pl.empty(size // 4, np.uint32, device=place.device) for _ in range(2))
    pl.launch(scatter, place.blocks, THREADS, source, size // 4, 1, device=place.device)
    grid, graph = 16 * place.processors, None
    ways: dict[str, Callable[[], float]]
    if place.device == "gpu":
        graph = record_graph([(copy, grid, THREADS, 0, (source, to, size // 16))])
        ways = {"kernel": graph.replay, "driver": partial(driver_copy, source.address, to.address, size)}
    else:
        launch = partial(pl.launch, copy, grid, THREADS, source, to, size // 16, device="cpu")
        ways = {"kernel": lambda: launch().seconds}
    rates = {}
    for name, way in ways.items():
        poison(to, place.blocks)
        rates[name] = 2 * size / min(way() for _ in range(repeats)) / 1e9
        for first in (0, size // 8, size // 4 - 1024):
            if not np.array_equal(read(source, first, (1024,)), read(to, first, (1024,))):
                raise RuntimeError(f"the copy by the {name} is wrong from byte {4 * first} on")
    if graph:
        graph.free()
    for used in (source, to):
        used.free()
    return rates


def driver_copy(source: int, to: int, size: int) -> float:
    """Seconds of a copy on the device by the driver."""
    from cuda.bindings import driver

    stream = device.current().default_stream
    with device.Stopwatch("copy", stream) as watch:
        device.check(driver.cuMemcpyDtoDAsync(to, source, size, stream.handle), "copy")
    return watch.seconds()


# -- the run -----------------------------------------------------------------------------------------------------------


def row(name: str, problem: Problem, timed: timing.Timed, splits: int, rate: float | None) -> dict[str, Any]:
    """A row of the record. `absent`: why a rival could not run; where a kernel of ours does not, it is `wrong`."""
    known: dict[str, Any] = {"kernel": name, **problem.key, "bytes": problem.bytes}
    seconds = timed.median
    if seconds is None:
        text = timed.wrong or timed.failed
        rival = name in (TORCH, FLASHINFER)
        return known | ({"absent": text} if rival and not timed.wrong else {"wrong": f"{name}, {problem}: {text}"})
    gb_s = problem.bytes / seconds / 1e9
    known |= {"seconds": seconds, "gb_s": gb_s, "fastest": min(timed.seconds), "slowest": max(timed.seconds)}
    known |= {"replays": len(timed.seconds), "launches": problem.launches, "error": timed.error, "splits": splits}
    return known | {"wrong": ""} | ({"share": gb_s / rate} if rate and problem.bytes >= LARGE else {})


def line(one: Mapping[str, Any]) -> str:
    """A row as it is printed when it comes."""
    what = f"{one['kernel']:<17} B {one['batch']:<3} keys {one['keys']:<7} {one['heads_q']}/{one['heads_kv']:<3}"
    what += f" D {one['dim']:<4} {one['cache']}"
    if "seconds" not in one:
        return f"{what} {'WRONG: ' + one['wrong'] if one.get('wrong') else one['absent']}"
    share = f" {one['share']:.0%} of the copy" if "share" in one else ""
    return f"{what} {one['seconds'] * 1e6:9.1f} us {one['gb_s']:8.1f} GB/s{share}  error {one['error']:.1e}"


def run(record: Record, machine: str, small: bool) -> None:
    """Measures into the record what it has not yet."""
    place = Place.of(machine)
    torch, why = (None, "it is measured on a GPU only") if machine == "cpu" else find_torch()
    absent = set()
    if torch is None:
        absent |= {TORCH, FLASHINFER}
        record.missing("torch", why, optional=machine == "cpu")
    elif importlib.util.find_spec("flashinfer") is None:
        absent.add(FLASHINFER)
        record.missing(FLASHINFER, "not installed: pip install flashinfer-python", optional=True)
    for text in (place.name, timing.METHOD):
        record.note(text)
        print(text)
    if not record.has(kernel="copy"):
        try:
            rates = copy_rates(place, 2**20 if small else 2**31, 2 if small else 10)
        except (PtxlabError, RuntimeError) as error:
            record.add(kernel="copy", wrong=f"the copy: {timing.said(error)}")
        else:
            best = max(rates, key=lambda name: rates[name])
            record.add(kernel="copy", by=best, gb_s=rates[best], rates=rates, wrong="")
    rate = next((one.get("gb_s") for one in record.rows if one["kernel"] == "copy"), None)
    print(f"copy: {rate:.1f} GB/s" if rate else record.rows[0]["wrong"])
    everything = problems(small)
    warm = 0.0 if small else 0.5  # seconds a contestant: the first problem brings the clocks up
    for at, problem in enumerate(everything):
        names = [
            name for name in wanted(problem, small) if name not in absent and not record.has(kernel=name, **problem.key)
        ]
        if not names:
            continue
        if record.out_of_time(sum(len(wanted(p, small)) for p in everything[at:])):
            break
        try:
            prepared = Prepared(problem, place)
        except LaunchError as error:  # such as memory that is not free: the next problem may need less
            for name in names:
                record.add(**row(name, problem, timing.Timed(failed=timing.said(error)), 0, rate))
            continue
        ways: dict[str, contest.Prepare] = {
            TORCH: partial(prepared.torch, torch),
            FLASHINFER: partial(prepared.flashinfer, torch),
        }
        contestants = {name: ways.get(name) or partial(decode_steps.ours, name, prepared) for name in names}
        try:
            found = contest.contest(contestants, prepared.answers(), rounds=2 if small else 7, warm=warm)
            prepared.free()
        except timing.Lost as stopped:
            found = {name: timed for name, timed in stopped.found.items() if timed.wrong or timed.failed}
            record.left = sum(len(wanted(p, small)) for p in everything[at:]) - len(found)
            record.note("the GPU stopped a kernel; the next run goes on behind it")
        for name, timed in found.items():
            record.add(**row(name, problem, timed, decode_steps.splits(name, problem, place), rate))
            print(line(record.rows[-1]), flush=True)
        if record.left:
            break
        warm = min(warm, 0.02)


# -- the table ---------------------------------------------------------------------------------------------------------


def table(found: Mapping[str, Any]) -> str:
    """The Markdown tables of the part from its JSON: large steps in GB/s, small ones in microseconds, and the rungs."""
    rows = [r for r in found["rows"] if r["kernel"] != "copy"]
    copied = next((r for r in found["rows"] if r["kernel"] == "copy"), None)
    by: dict[Any, dict[Any, Any]] = {}
    for r in rows:
        size = r["dim"], r["heads_q"], r["heads_kv"], r["batch"], r["keys"], r["bytes"]
        by.setdefault(size, {})[r["kernel"], r["cache"]] = r
    sizes = sorted(by, key=lambda size: (-size[0], *size[1:]))
    lines = []
    if copied and "rates" in copied:
        others = ", ".join(f"{name} {x:.1f}" for name, x in copied["rates"].items())
        lines += [f"The copy in this run: {copied['gb_s']:.1f} GB/s, by the {copied['by']} ({others}).", ""]
    columns = [(OURS, "dense"), (OURS, "pages"), (TORCH, "dense"), (FLASHINFER, "pages")]
    columns = [column for column in columns if any(column in cells for cells in by.values())]
    named = [f"{name}, {cache}" for name, cache in columns]
    for large, unit in ((True, "GB/s (share of the copy)"), (False, "us")):
        some = [size for size in sizes if (size[-1] >= LARGE) == large]
        if not some:
            continue
        kind = "200 MB or more" if large else "less than 200 MB"
        head = ["heads", "D", "B", "keys", "MB", *named, "x torch"]
        lines += [f"Steps that read {kind}: {unit}; the best of a row in bold; {TIMES}.", ""]
        lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        for size in some:
            dim, heads_q, heads_kv, batch, keys, count = size
            cells = by[size]
            best = min((cells[c]["seconds"] for c in columns if "seconds" in cells.get(c, ())), default=0.0)
            shown = [_cell(cells.get(column), best, large) for column in columns]
            mine, torch = (cells.get(c, {}).get("seconds") for c in ((OURS, "dense"), (TORCH, "dense")))
            shown.append(f"{torch / mine:.2f}" if mine and torch else "-")
            start = f"| {heads_q}/{heads_kv} | {dim} | {batch} | {keys} | {count / 1e6:.0f} | "
            lines.append(start + " | ".join(shown) + " |")
        lines.append("")
    return "\n".join([*lines, *_rungs(rows), goal(rows), *_remarks(found)]) + "\n"


TIMES = "x torch: decode_gqa over dense caches as a multiple of torch's SDPA"


def _cell(row: Mapping[str, Any] | None, best: float, large: bool) -> str:
    if row is None or row.get("absent"):
        return "-"
    if row.get("wrong"):
        return "wrong"
    share = f" ({row['share']:.0%})" if "share" in row else ""
    shown = f"{row['gb_s']:.0f}{share}" if large else f"{row['seconds'] * 1e6:.1f}"
    return f"**{shown}**" if row["seconds"] == best else shown


def _rungs(rows: list[Any]) -> list[str]:
    """All decode kernels at the sizes at which more than `decode_gqa` was measured."""
    lines: list[str] = []
    order = [*kernels.names("decode")]
    sizes = {
        tuple(r[n] for n in ("heads_q", "heads_kv", "dim", "batch", "keys"))
        for r in rows
        if r["kernel"] in order and r["kernel"] != OURS
    }
    for size in sorted(sizes):
        heads_q, heads_kv, dim, batch, keys = size
        some = {
            (r["kernel"], r["cache"]): r
            for r in rows
            if tuple(r[n] for n in ("heads_q", "heads_kv", "dim", "batch", "keys")) == size
        }
        lines += [f"All decode kernels at B {batch}, {keys} keys, {heads_q}/{heads_kv} heads, D {dim}: us.", ""]
        lines += ["| kernel | dense | pages |", "| --- | --- | --- |"]
        for name in (n for n in order if any(n == of for of, _ in some)):
            cells = (_cell(some.get((name, cache)), 0.0, False) for cache in ("dense", "pages"))
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def goal(rows: list[Any]) -> str:
    """Whether the goal is reached, and how many problems reach it."""
    shares = [(r["share"], r) for r in rows if r["kernel"] == OURS and "share" in r]
    if not shares:
        return "- goal: decode_gqa >= 85 % of the copy where a step reads 200 MB or more: not measured"
    low, one = min(shares, key=lambda found: found[0])
    reached = sum(share >= GOAL for share, _ in shares)
    verdict = "reached" if reached == len(shares) else "not reached"
    return (
        f"- goal: decode_gqa >= 85 % of the copy where a step reads 200 MB or more: {verdict}, {reached} of "
        f"{len(shares)} problems; the lowest is {low:.0%} (B {one['batch']}, {one['keys']} keys, "
        f"{one['heads_q']}/{one['heads_kv']} heads, D {one['dim']}, {one['cache']})"
    )


def _remarks(found: Mapping[str, Any]) -> list[str]:
    """Why cells are empty or wrong, and the notes of the run."""
    why: dict[tuple[str, str], int] = {}
    for r in found["rows"]:
        if r.get("absent"):
            why[r["kernel"], r["absent"]] = why.get((r["kernel"], r["absent"]), 0) + 1
    lines = [f"- no {name} ({count} problems): {text}" for (name, text), count in why.items()]
    lines += [f"- wrong: {r['wrong']}" for r in found["rows"] if r.get("wrong")]
    lines += [f"- not here: {one['what']}: {one['why']}" for one in found.get("missing", ())]
    return lines + [f"- {note}" for note in found.get("notes", ())]


def main() -> int:
    """Measures, prints the table, and returns the exit status of the part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"), help="cpu: the emulator, small problems")
    record, options = record_for("decode", __doc__, parser)
    if options.device == "gpu" and (why := device.unavailable()):
        record.missing("GPU", f"{why} (--device cpu shows that it all runs)")
        record.end()
        return UNUSABLE
    run(record, options.device, options.rehearse or options.device == "cpu")
    text = table({"rows": record.rows, "notes": record.notes, "missing": record.absent})
    print("\n" + text)
    says = goal([one for one in record.rows if one["kernel"] != "copy"])
    return record.end(f"{len(record.rows)} rows; {says.removeprefix('- ')}")


if __name__ == "__main__":
    leave(main())

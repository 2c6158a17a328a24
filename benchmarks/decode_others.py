"""What `benchmarks/decode.py` holds the kernels against on a GPU: the driver's copy, PyTorch and FlashInfer."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any


def driver_copy(source: int, to: int, size: int) -> float:
    """Seconds of a copy on the device by the driver."""
    from cuda.bindings import driver
    from cuda.core import Device, EventOptions

    device = Device(0)
    device.set_current()
    stream = device.default_stream
    start, end = (device.create_event(EventOptions(timing_enabled=True)) for _ in range(2))
    stream.record(start)
    (result,) = driver.cuMemcpyDtoDAsync(to, source, size, stream.handle)
    if int(result):
        raise RuntimeError(f"cuMemcpyDtoDAsync: {result}")
    stream.record(end)
    end.sync()
    return float(end - start) / 1e3


def installed() -> dict[str, str]:
    """Each library with its version, or that it is missing."""
    says = {}
    for name in ("torch", "flashinfer"):
        if importlib.util.find_spec(name) is None:
            says[name] = "not installed, left out"
            continue
        says[name] = str(importlib.import_module(name).__version__)
    if "left out" not in says["torch"] and not importlib.import_module("torch").cuda.is_available():
        says["torch"] = says["flashinfer"] = "PyTorch has no CUDA here, left out"
    return says


def times(problem: Any, page: int, cold: int, repeats: int) -> Iterator[tuple[str, float | str]]:
    """(name, seconds of a decode step) of each library that is installed and takes such a problem; where one fails, in
    place of the seconds what it said."""
    says = installed()
    if "left out" not in says["torch"] and not problem.paged:
        yield "torch SDPA", _tried(_torch, problem, cold, repeats)
    if all("left out" not in text for text in says.values()) and problem.paged:
        yield "FlashInfer", _tried(functools.partial(_flashinfer, page), problem, cold, repeats)


def _tried(
    prepare: Callable[[Any, int], list[Callable[[], Any]]], problem: Any, cold: int, repeats: int
) -> float | str:
    try:
        return _time(prepare(problem, cold), repeats)
    except Exception as error:  # another's library, in a version that nobody has tried: its failure is shown
        return f"{type(error).__name__}: {error}".splitlines()[0]


def _time(calls: list[Callable[[], Any]], repeats: int) -> float:
    """Seconds of one call, all recorded in a CUDA graph and replayed; the best of several."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    best = float("inf")
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3)
    return best / len(calls)


def _copies(problem: Any, cold: int) -> int:
    return max(1, min(64, -(-cold // problem.bytes)))


def _torch(problem: Any, cold: int) -> list[Callable[[], Any]]:
    """scaled_dot_product_attention over dense caches."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    options: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    q = torch.ones((problem.batch, problem.heads[0], 1, problem.cache[3]), **options)

    def one() -> Callable[[], Any]:
        k, v = (torch.randn(problem.cache, **options) for _ in range(2))
        return lambda: scaled_dot_product_attention(q, k, v, enable_gqa=True)

    return [one() for _ in range(_copies(problem, cold))]


def _flashinfer(page: int, problem: Any, cold: int) -> list[Callable[[], Any]]:
    """A batch of sequences in pages, `[pages, page_size, Hkv, D]` as ours."""
    import flashinfer
    import torch

    options: dict[str, Any] = {"device": "cuda", "dtype": torch.bfloat16}
    heads_q, heads_kv = problem.heads
    q = torch.ones((problem.batch, heads_q, problem.cache[3]), **options)
    table = torch.from_numpy(problem.table()).cuda()
    each = table.shape[1]
    starts = torch.arange(0, table.numel() + 1, each, dtype=torch.int32, device="cuda")
    last = torch.full((problem.batch,), page, dtype=torch.int32, device="cuda")
    workspace = torch.empty(256 * 2**20, dtype=torch.uint8, device="cuda")
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD", use_tensor_cores=heads_q // heads_kv >= 4)
    wrapper.plan(starts, table.reshape(-1), last, heads_q, heads_kv, problem.cache[3], page, data_type=torch.bfloat16,
                 q_data_type=torch.bfloat16)  # fmt: skip

    def one() -> Callable[[], Any]:
        k, v = (torch.randn(problem.cache, **options) for _ in range(2))
        return lambda: wrapper.run(q, (k, v))

    return [one() for _ in range(_copies(problem, cold))]

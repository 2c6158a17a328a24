"""One point of a sweep, measured: built, assembled, run, held against float64, counted. Runs in a worker process."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import kernels, reference, static
from ptxlab.attention.decode import decode
from ptxlab.attention.paged import PagedCache
from ptxlab.attention.prefill import attention
from ptxlab.attention.problem import Result
from ptxlab.errors import DeviceFault, PtxlabError
from ptxlab.launch.buffers import const, out
from ptxlab.launch.run import Run, launch
from ptxlab.sweeps.plan import Shape
from ptxlab.version import __version__

Array = NDArray[Any]

COLUMNS: dict[str, tuple[str, str]] = {
    "key": ("string", "the point's name: the same point has the same name in every sweep"),
    "kernel": ("string", "name of the kernel"),
    "seq": ("int64", "query rows per head; for decode, keys in the cache"),
    "keys": ("int64", "keys per head"),
    "head_dim": ("int64", "elements of a row"),
    "batch": ("int64", "sequences"),
    "heads": ("int64", "query heads"),
    "heads_kv": ("int64", "heads of keys and values"),
    "device": ("string", "cpu, step, or the name of the GPU"),
    "status": (
        "string",
        "ok; wrong (beyond the tolerance); finding (a check noticed something); refused (illegal for "
        "this problem); fault (the kernel was stopped); failed; lost (its worker died)",
    ),
    "reason": ("string", "what was said, where status is not ok"),
    "error": ("double", "the largest absolute difference of o from float64"),
    "tolerance": ("double", "what is allowed at the element nearest to its bound"),
    "registers": ("int64", "32-bit registers per thread: the assembler's, or the most alive at once without it"),
    "local": ("int64", "bytes of local memory per thread"),
    "shared": ("int64", "bytes of shared memory a block, static and dynamic"),
    "occupancy": ("double", "share of a multiprocessor's warps that fit"),
    "blocks": ("int64", "blocks of the grid, of all launches"),
    "warp_instructions": ("int64", "warp-instructions executed (emulator)"),
    "thread_instructions": ("int64", "thread-instructions executed (emulator)"),
    "sectors": ("int64", "32-byte sectors of global memory that threads and bulk copies ask for (emulator)"),
    "conflicts": ("int64", "wavefronts of shared memory that bank conflicts added (emulator)"),
    "gpu_us": ("double", "microseconds of the kernels alone on the GPU, one launch by events; null on the emulator"),
    "build_s": ("double", "seconds of writing, assembling and compiling"),
    "spent_s": ("double", "seconds of the whole point in its process"),
}
"""The columns of a sweep's table in order, their Arrow types, and what they say. Parameters come after `heads_kv`."""

MEASURED = ("key", *list(COLUMNS)[list(COLUMNS).index("status") :])
"""The columns that are results; the others say what was measured."""


def measure(task: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a point: plain data, without its key. What a point does wrong is in its status and reason."""
    start = time.perf_counter()
    row: dict[str, Any] = {"kernel": task["kernel"], **task["shape"], **task["parameters"]}
    if task["version"] != __version__:
        said = f"the worker has ptxlab {__version__}, the sweep needs {task['version']}"
        return row | {"status": "failed", "reason": said, "spent_s": 0.0}
    try:
        row |= _measured(task)
    except DeviceFault as fault:
        row |= {"status": "fault", "reason": str(fault)}
    except PtxlabError as error:
        row |= {"status": "refused", "reason": str(error)}
    except Exception as error:  # one point that fails is a row, and the sweep goes on
        row |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    return row | {"spent_s": time.perf_counter() - start}


def _measured(task: Mapping[str, Any]) -> dict[str, Any]:
    shape, how = Shape(**task["shape"]), task["how"]
    parameters = dict(task["parameters"])
    options = {"device": how["device"], "checks": tuple(how["checks"]), "counters": how["device"] != "gpu"}
    start = time.perf_counter()
    if task["text"] is not None:
        runs, error, kernel, build = _own(task, shape, parameters, options)
    else:
        spec = kernels.get(task["kernel"])
        parts = parameters.pop("splits", None)
        if spec.phase == "prefill":
            built = spec.build(**parameters)
            build = time.perf_counter() - start
            q, k, v = inputs(shape, built.config.dtype, how["seed"], decode=False)
            result = attention(q, k, v, kernel=built, causal=built.config.causal, **options)
        else:
            result = _decoded(spec, parameters, parts, shape, how["seed"], options)
            build = 0.0
        runs, error, kernel = list(result.runs), result.error, result.kernel
    build += sum(run.build_seconds for run in runs)
    chosen = _chosen(kernel) if task["text"] is None else {}
    return {**chosen, "build_s": build, **_judged(error, runs), **_counted(runs), **_static(kernel, runs)}


def _chosen(built: Any) -> dict[str, Any]:
    """All build parameters of a kernel of the library: those that the grid says nothing of were chosen for it."""
    return {name: getattr(built.config, name) for name in built.spec.parameters if name not in ("probes", "partial")}


def _own(
    task: Mapping[str, Any], shape: Shape, parameters: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[list[Run], reference.Error, Any, float]:
    """A kernel that came as text, with the arguments of the library's prefill kernels."""
    text, causal = task["text"], bool(parameters.get("causal", False))
    dtype = parameters.get("dtype", "f32")
    q, k, v = inputs(shape, dtype, task["how"]["seed"], decode=False)
    o, lse = np.empty(q.shape, q.dtype), np.empty(q.shape[:3], np.float64 if dtype == "f64" else np.float32)
    scale = reference.default_scale(shape.head_dim)
    sizes = shape.batch, shape.heads, shape.heads_kv, shape.seq, shape.keys
    grid = -(-shape.seq // text["rows"]), shape.heads, shape.batch
    args = const(q), const(k), const(v), out(o), out(lse), *sizes, scale
    run = launch(text["ptx"], grid, text["block"], *args, shared=text["shared"], **options)
    return [run], reference.measure(o, lse, q, k, v, causal=causal, scale=scale), text["ptx"], 0.0


def _decoded(
    spec: Any, parameters: dict[str, Any], parts: int | None, shape: Shape, seed: int, options: Mapping[str, Any]
) -> Result:
    q, k, v = inputs(shape, parameters.get("dtype", spec.parameters["dtype"].default), seed, decode=True)
    partial = "partial" in spec.parameters and (parts is None or parts > 1)
    built = spec.build(**parameters, **({"partial": partial} if "partial" in spec.parameters else {}))
    if built.config.cache != "paged":
        return decode(q, k, v, [shape.seq] * shape.batch, kernel=built, splits=parts, **options)
    page = built.config.page_size
    cache = PagedCache(shape.batch * -(-shape.keys // page), page, shape.heads_kv, shape.head_dim, k.dtype)
    order = [cache.new() for _ in range(shape.batch)]
    for b, sequence in enumerate(order):
        cache.append(sequence, k[b].swapaxes(0, 1), v[b].swapaxes(0, 1))
    lengths, table = cache.lengths(order), cache.block_table(order)
    return decode(q, cache.k, cache.v, lengths, table, kernel=built, splits=parts, **options)


@functools.lru_cache(maxsize=2)
def inputs(shape: Shape, dtype: str, seed: int, *, decode: bool) -> tuple[Array, Array, Array]:
    """q, k and v of a problem: the same numbers for every kernel, on every machine."""
    kind = np.dtype(kernels.DTYPES[dtype]) if dtype != "bf16" else _bfloat16()
    rng = np.random.default_rng([seed, shape.seq, shape.keys, shape.head_dim, shape.batch, shape.heads, shape.heads_kv])
    kv = shape.batch, shape.heads_kv, shape.keys, shape.head_dim
    rows = (shape.batch, shape.heads) if decode else (shape.batch, shape.heads, shape.seq)
    q, k, v = (rng.standard_normal(size, np.float32).astype(kind) for size in ((*rows, shape.head_dim), kv, kv))
    return q, k, v


def _bfloat16() -> Any:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def _judged(error: reference.Error, runs: list[Run]) -> dict[str, Any]:
    findings = [finding for run in runs for finding in run.findings]
    row = {"error": error.max, "tolerance": error.tolerance, "device": runs[0].device, "status": "ok", "reason": None}
    if not error.ok:
        return row | {"status": "wrong", "reason": f"error {error.max:.2e} beyond the tolerance {error.tolerance:.2e}"}
    return row | ({"status": "finding", "reason": str(findings[0])} if findings else {})


def _counted(runs: list[Run]) -> dict[str, Any]:
    """What the emulator counted in all launches, or the time on the GPU."""
    blocks = sum(int(np.prod(run.grid)) for run in runs)
    if runs[0].device not in ("cpu", "step"):
        from ptxlab import gpu

        microseconds = sum(run.seconds for run in runs) * 1e6
        return {"blocks": blocks, "device": gpu.describe().name, "gpu_us": microseconds}
    counted = [run.counters for run in runs if run.counters is not None]
    lines = [line for counters in counted for line in counters.by_line.values()]
    return {
        "blocks": blocks,
        "warp_instructions": sum(counters.warp_instructions for counters in counted),
        "thread_instructions": sum(counters.thread_instructions for counters in counted),
        "sectors": sum(counters.memory_sectors for counters in counted),
        "conflicts": sum(line.conflicts for line in lines),
    }


def _static(kernel: Any, runs: list[Run]) -> dict[str, Any]:
    threads, shared = int(np.prod(runs[0].block)), runs[0].shared
    looked = static.inspect(kernel, threads, shared)
    share = looked.occupancy.share if looked.occupancy else None
    return {"registers": looked.registers, "local": looked.local, "shared": looked.shared + shared, "occupancy": share}

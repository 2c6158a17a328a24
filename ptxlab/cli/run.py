"""`ptxlab run`: a kernel of the library on random inputs, held against float64, or the kernel of a file; and what other
commands share with it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ptxlab.errors import PtxlabError
from ptxlab.names import source_name


def build(options: argparse.Namespace, **more: Any) -> Any:
    """The kernel that a command line asks for."""
    from ptxlab import kernels

    spec = kernels.get(options.kernel)
    given = {name: getattr(options, name) for name in ("head_dim", "causal", "dtype", "arch", "tile_kv")} | more
    return spec.build(**{name: value for name, value in given.items() if value or name in spec.parameters})


def print_json(value: Any) -> None:
    """JSON for a program to read."""
    print(json.dumps(value, indent=2))


def run_kernel(options: argparse.Namespace) -> int:
    """Runs a kernel; 0 when its error is within the tolerance, 1 when not."""
    from ptxlab import attention, kernels, reference

    if names_file(options.kernel):
        return _run_file(options)
    only_for_files(options, f"{options.kernel} is one of the library")
    for name, least in (("seq_len", 1), ("batch", 1), ("heads", 1), ("kv_heads", 1), ("kv_len", 0), ("seed", 0)):
        given = getattr(options, name)
        if given is not None and given < least:
            raise PtxlabError(f"--{name.replace('_', '-')} is at least {least}, not {given}")
    decoding = kernels.get(options.kernel).phase == "decode"
    for name in ("splits", "page_size"):
        if not decoding and getattr(options, name) is not None:
            raise PtxlabError(f"--{name.replace('_', '-')} is for decode kernels; {options.kernel} is for prefill")
    built = _decode_build(options) if decoding else build(options)
    keys = options.seq_len if options.kv_len is None else options.kv_len
    heads_kv, rows = options.kv_heads or options.heads, 1 if decoding else options.seq_len
    q, k, v = reference.random_inputs(
        options.batch,
        options.heads,
        heads_kv,
        rows,
        keys,
        options.head_dim,
        sigma=options.sigma,
        dtype=kernels.DTYPES[built.config.dtype],
        seed=options.seed,
    )
    where = {"device": options.device, "scale": options.scale, "kernel": built}
    where["counters"] = options.device in ("cpu", "step") or not has_gpu()
    if decoding:
        out = _decoded(q[:, :, 0], k, v, options, where)
    else:
        out = attention(q, k, v, causal=options.causal, **where)
    error, assembled, findings = out.error, assembly(built), out.findings
    result = {
        "kernel": built.name,
        "arch": built.config.arch,
        "batch": options.batch,
        "heads": options.heads,
        "kv_heads": heads_kv,
        "seq_len": rows,
        "kv_len": keys,
        "head_dim": options.head_dim,
        "causal": options.causal,
        "sigma": options.sigma,
        "device": out.run.device,
        "seconds": out.seconds,
        "thread_instructions": out.counters.thread_instructions if out.counters else None,
        "warp_instructions": out.counters.warp_instructions if out.counters else None,
        **assembled,
        "dynamic_shared_bytes": out.run.shared,
        "max_error": error.max,
        "mean_error": error.mean,
        "ulp": error.ulp,
        "tolerance": error.tolerance,
        "lse_error": error.lse,
        "lse_tolerance": error.lse_tolerance,
        "findings": [str(f) for f in findings],
        "ok": error.ok and not findings,
    }
    if options.json:
        print_json(result)
    else:
        _print_run(result)
    return 0 if result["ok"] else 1


# -- files -------------------------------------------------------------------------------------------------------------


def names_file(name: str) -> bool:
    """Whether a word names a file and no kernel of the library."""
    from ptxlab import kernels

    return name not in kernels.names() and (Path(name).suffix != "" or Path(name).exists())


def only_for_files(options: argparse.Namespace, but: str) -> None:
    """`PtxlabError` where an option is given that is about a kernel of a file."""
    _unused(options, "arguments grid block cluster cooperative entry shared", "a kernel of a file", but)


def _unused(options: argparse.Namespace, names: str, whose: str, but: str) -> None:
    for name in names.split():
        given = getattr(options, name, None)
        if given and given != options.parser.get_default(name):
            said = f"--{name.replace('_', '-')}" if name != "arguments" else f"argument {given[0]!r}"
            raise PtxlabError(f"{said} is for {whose}; {but}")


def _of_file(options: argparse.Namespace, times: int, **more: Any) -> tuple[Any, list[Any], dict[str, Any]]:
    """The fastest of some runs of a file's kernel, its arguments, and what is said of it in JSON."""
    from ptxlab.cli.check import kernel_of, launched

    names = "head_dim causal dtype tile_kv seq_len kv_len splits page_size batch heads kv_heads scale sigma"
    _unused(options, names, "kernels of the library", f"{options.file} is a file")
    kernel = kernel_of(Path(options.file), options.arch, options.entry)
    runs = [launched(options, kernel, **more) for _ in range(times)]
    run, values = min(runs, key=lambda each: each[0].seconds)
    counted = run.counters.thread_instructions if run.counters else None
    said = {"kernel": run.kernel, "device": run.device, "grid": run.grid, "block": run.block, "seconds": run.seconds}
    return run, values, said | {"thread_instructions": counted, **assembly(kernel)}


def _run_file(options: argparse.Namespace) -> int:
    """Runs the kernel of a file and prints what it wrote; 0 when nothing was found."""
    import numpy as np

    from ptxlab.cli.check import array_of
    from ptxlab.launch.run import show_size

    options.file = options.kernel
    counters = options.device in ("cpu", "step") or not has_gpu()
    run, values, said = _of_file(options, 1, counters=counters, inputs=options.seed)
    arrays = {k: array for k, value in enumerate(values, 1) if (array := array_of(value)) is not None}
    if options.json:
        print_json(said | {"findings": [str(f) for f in run.findings]})
        return 1 if run.findings else 0
    rows = {
        "kernel": source_name(run.kernel),
        "launch": f"grid {show_size(run.grid)}, block {show_size(run.block)}",
        "device": run.device,
        **_cost(said),
        "shared": _shared(said["shared_bytes"], options.shared),
        **{
            f"argument {k}": f"{array.dtype}[{','.join(map(str, array.shape))}] after the launch: "
            + np.array2string(array, threshold=6, edgeitems=3, precision=4).replace("\n", "")
            for k, array in arrays.items()
        },
        "findings": "; ".join(map(str, run.findings)) or "none; `ptxlab check` looks for races and unwritten reads too",
    }
    for name, value in rows.items():
        print(f"{name:<13}{value}")
    return 1 if run.findings else 0


def bench_file(options: argparse.Namespace) -> int:
    """Times the kernel of a file: the best of five runs."""
    options.file, *options.arguments = options.kernels
    options.seq_len, options.head_dim = (options.parser.get_default(name) for name in ("seq_len", "head_dim"))
    run, _, said = _of_file(options, 5)
    if options.json:
        print_json([said])
    else:
        print(f"{source_name(run.kernel)} on {run.device}: {_cost(said)['time']}, the best of five runs")
    return 0


def _decode_build(options: argparse.Namespace) -> Any:
    """A decode kernel as the command asks for it; it has one query row per head, and --seq-len keys."""
    from ptxlab import kernels
    from ptxlab.attention.heuristics import SPLITTING

    takes = kernels.get(options.kernel).parameters
    splits = 1 if options.splits is None else options.splits
    if options.kernel == "decode_reduce":
        raise PtxlabError("decode_reduce merges what decode_split found; run decode_split")
    if options.splits is not None and options.kernel not in SPLITTING:
        raise PtxlabError(f"--splits: {options.kernel} does not split the keys; {' and '.join(SPLITTING)} do")
    if options.page_size is not None and "page_size" not in takes:
        raise PtxlabError(f"--page-size: {options.kernel} has a dense cache")
    more: dict[str, Any] = {"partial": splits > 1} if "partial" in takes else {}
    if options.page_size is not None:
        more |= {"cache": "paged", "page_size": options.page_size}
    return build(options, **more)


def _decoded(q: Any, k: Any, v: Any, options: argparse.Namespace, where: dict[str, Any]) -> Any:
    from ptxlab.attention.caches import in_pages
    from ptxlab.attention.decode import decode

    config, keys, table = where["kernel"].config, k.shape[2], None
    if config.cache == "paged":
        k, v, table = in_pages(k, v, config.page_size, seed=options.seed)
    return decode(q, k, v, [keys] * len(q), table, splits=options.splits, **where)


def _cost(r: dict[str, Any]) -> dict[str, str]:
    """The time, the instructions and the registers of a run."""
    from ptxlab.launch.run import show_seconds

    counted, registers = r["thread_instructions"], r["registers"]
    rate = f" ({counted / r['seconds'] / 1e9:.2f} billion a second)" if counted and r["seconds"] else ""
    return {
        "time": show_seconds(r["seconds"]),
        "instructions": f"{counted:,} thread-instructions{rate}" if counted is not None else "not counted on a GPU",
        "registers": f"{registers} a thread, {r['spill_bytes']} bytes spilled"
        if registers is not None
        else r["assembler"],
    }


def _print_run(r: dict[str, Any]) -> None:
    shape = f"B={r['batch']} Hq={r['heads']} Hkv={r['kv_heads']} Sq={r['seq_len']} Sk={r['kv_len']} D={r['head_dim']}"
    rows = {
        "kernel": f"{r['kernel']} for {r['arch']}",
        "problem": f"{shape}, logits of sigma {r['sigma']:g}",
        "device": r["device"],
        **_cost(r),
        "shared": _shared(r["shared_bytes"], r["dynamic_shared_bytes"]),
        "max error": f"{r['max_error']:.3e} ({r['ulp']:.1f} ULP)",
        "mean error": f"{r['mean_error']:.3e}",
        "tolerance": f"{r['tolerance']:.3e}",
        "LSE error": f"{r['lse_error']:.3e} (tolerance {r['lse_tolerance']:.3e})",
        "findings": "; ".join(r["findings"]) or "none",
        "result": "pass" if r["ok"] else "FAIL",
    }
    for name, value in rows.items():
        print(f"{name:<13}{value}")


def _shared(static: int | None, dynamic: int) -> str:
    """Bytes of shared memory a block: what the assembler found in the text, and what the launch adds."""
    if static is None:
        return f"{dynamic:,} bytes per block, dynamic, besides what the text declares"
    return f"{static + dynamic:,} bytes per block" + (f", {dynamic:,} of them dynamic" if dynamic else "")


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU."""
    from ptxlab import gpu

    return gpu.available()


def assembly(built: Any) -> dict[str, Any]:
    """What NVIDIA's assembler says of a kernel, or why it cannot."""
    from ptxlab import gpu
    from ptxlab.errors import UnavailableError

    try:
        made = gpu.assemble(built)
    except UnavailableError as error:
        return {"registers": None, "spill_bytes": None, "shared_bytes": None, "assembler": str(error).splitlines()[0]}
    return {
        "registers": made.registers,
        "spill_bytes": made.spill_bytes,
        "shared_bytes": made.shared_bytes,
        "assembler": "nvJitLink",
    }

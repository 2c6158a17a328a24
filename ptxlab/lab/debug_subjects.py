"""The traces that `pl.debug` shows: kernels of the library on random inputs, and results that are run again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import kernels
from ptxlab.attention import caches
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.errors import LaunchError, TargetError
from ptxlab.lab.subject import random_inputs

PREFILL = {"seq_q": 32, "seq_k": 32, "batch": 1, "heads": 1, "kv_heads": None, "sigma": 1.0, "seed": 0}
"""Sizes of the random inputs for a prefill kernel, where nothing is said; kv_heads is then heads."""
DECODE = {"seq_k": 48, "batch": 1, "heads": 2, "kv_heads": None, "sigma": 1.0, "seed": 0}
"""The same for a decode kernel: seq_k keys for every sequence."""
OWN = {"hopper": {"tile_q": 128, "tile_kv": 32, "seq_q": 128, "seq_k": 96}}
"""What a kernel has instead where nothing is said: hopper two consumers, and more tiles than the ring has stages."""
MOST = 1 << 16
"""The largest of these sizes: a trace is capped, the inputs are not."""
OPTIONS = ("device", "checks", "budget")
"""What is passed on to the launch."""


def names() -> tuple[str, ...]:
    """The kernels of the library that can be looked at by name."""
    return (*kernels.names("prefill"), *kernels.names("decode"))


def opens_at(name: str) -> str | None:
    """The words of the PTX line that the debugger opens at: of a kernel for Hopper alone the first of what it brings.
    It opens others at their first step."""
    found = kernels.get(name) if name in kernels.names("prefill") else None
    return found.brings[0] if found is not None and found.alone else None


def build(name: str, parameters: dict[str, Any]) -> Any:
    """A kernel of the library; `TargetError` for a parameter that it does not have."""
    spec = kernels.get(name)
    for key in parameters:
        if key not in spec.parameters:
            raise TargetError(f"{name} has no {key}; its parameters are {', '.join(spec.parameters)}")
    return spec.build(**parameters)


def library(name: str, parameters: dict[str, Any], trace: Trace) -> Any:
    """The run of a kernel of the library on random inputs, with its trace; `DeviceFault` has one, too."""
    if name in kernels.names("prefill"):
        return _prefill(name, parameters, trace)
    return _decode(name, parameters, trace)


def again(result: Any, trace: Trace) -> Any:
    """The run, with its trace, of a result of `pl.attention` or `pl.decode` that was made without one: its kernel runs
    once more, on the CPU machine. None for anything else; for a result of two kernels it is that of the first."""
    from ptxlab.attention.problem import Result

    return result.again(device="step", trace=trace).run if isinstance(result, Result) else None


def _sizes(given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Takes the sizes out of the parameters that were given."""
    if "seq_len" in given:
        given |= dict.fromkeys((key for key in ("seq_q", "seq_k") if key in defaults), given.pop("seq_len"))
    sizes = {key: given.pop(key, default) for key, default in defaults.items()}
    if sizes["kv_heads"] is None:
        sizes["kv_heads"] = sizes["heads"]
    for key, value in sizes.items():
        kind, least = (int | float, 0) if key == "sigma" else (int, 0 if key == "seed" else 1)
        if not isinstance(value, kind) or isinstance(value, bool) or not least <= value <= MOST:
            what = "a number" if key == "sigma" else "a whole number"
            raise LaunchError(f"{key}: {what} from {least} to {MOST} is wanted, found {value!r}")
    if sizes["heads"] % sizes["kv_heads"]:
        raise LaunchError(
            f"kv_heads: {sizes['heads']} query heads cannot share {sizes['kv_heads']} heads of keys evenly"
        )
    return sizes


def _prefill(name: str, parameters: dict[str, Any], trace: Trace) -> Any:
    from ptxlab.attention.prefill import attention

    given = {**OWN.get(name, {}), **parameters}
    p = _sizes(given, PREFILL)
    options: dict[str, Any] = {key: given.pop(key) for key in OPTIONS if key in given}
    built = build(name, given)
    q, k, v = random_inputs(p, p["seq_q"], built.config)
    return attention(q, k, v, kernel=built, causal=built.config.causal, trace=trace, **options).run


def _decode(name: str, parameters: dict[str, Any], trace: Trace) -> Any:
    from ptxlab.attention.decode import decode
    from ptxlab.attention.heuristics import SPLITTING

    given = dict(parameters)
    merging = name == "decode_reduce"
    name = "decode_split" if merging else name
    p = _sizes(given, DECODE)
    options: dict[str, Any] = {key: given.pop(key) for key in OPTIONS if key in given}
    splits = given.pop("splits", 2 if name == "decode_split" else None)
    if splits is not None and name in SPLITTING:
        options["splits"] = splits
        if "partial" in kernels.get(name, "decode").parameters:
            given.setdefault("partial", splits > 1)
    elif splits is not None:
        raise LaunchError(f"splits: {name} does not split the keys; write {' or '.join(map(repr, SPLITTING))}")
    built = build(name, given)
    q, k, v = random_inputs(p, 1, built.config)
    table = None
    if getattr(built.config, "cache", "dense") != "dense":
        k, v, table = caches.in_pages(k, v, built.config.page_size, seed=p["seed"])
    lengths: Any = np.full(p["batch"], p["seq_k"], np.int32)
    if getattr(built.config, "length", "pointer") == "value":
        lengths = p["seq_k"]
    out = decode(q[:, :, 0], k, v, lengths, table, kernel=built, trace=trace, **options)
    return out.runs[-1] if merging else out.run

"""The attention library in reading order: each rung is a file, adds one idea to the rung before, answers one question.

spec = kernels.get("scalar")                      # what it is and what it takes
k = spec.build(head_dim=64, causal=True)          # k.ptx, k.name, k.launch_shape(...), k.arguments(...)

The first rungs are for prefill (`pl.attention`), those from 10 on for decode (`pl.decode`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

from ptxlab.kernels import (
    decode,
    decode_gqa,
    decode_multiwarp,
    decode_paged,
    decode_reduce,
    decode_split,
    hopper,
    mma,
    pipelined,
    scalar,
    swizzle,
    tiled,
    tiled2d,
    wgmma,
    wmma,
)
from ptxlab.kernels.decode_spec import DecodeBuilt, DecodeSpec
from ptxlab.kernels.rung import DTYPES, NOWHERE, Parameter, UnknownKernel, named
from ptxlab.kernels.spec import PREFILL, Built, Config, Spec
from ptxlab.options import meant, shown

__all__ = [
    "DTYPES",
    "NOWHERE",
    "Built",
    "Config",
    "DecodeBuilt",
    "DecodeSpec",
    "Parameter",
    "Spec",
    "UnknownKernel",
    "building",
    "get",
    "looked_up",
    "names",
]

_RUNGS = (scalar, tiled, tiled2d, wmma, mma, swizzle, pipelined, wgmma, hopper)
_DECODE_RUNGS = (decode, decode_multiwarp, decode_paged, decode_split, decode_reduce, decode_gqa)
PREFILL.update({rung.SPEC.name: rung.SPEC for rung in _RUNGS})
_DECODE: dict[str, DecodeSpec] = {rung.SPEC.name: rung.SPEC for rung in _DECODE_RUNGS}
_ALL: dict[str, Any] = PREFILL | _DECODE


def names(phase: str | None = None) -> tuple[str, ...]:
    """The names of all kernels, in reading order; with a phase, "prefill" or "decode", of those for it."""
    if phase not in (None, "prefill", "decode"):
        raise UnknownKernel(
            f"phase must be 'prefill' or 'decode', not {shown(phase)}{meant(phase, ('prefill', 'decode'))}"
        )
    return tuple(name for name, spec in _ALL.items() if phase in (None, spec.phase))


@overload
def get(name: str, phase: Literal["prefill"]) -> Spec: ...
@overload
def get(name: str, phase: Literal["decode"]) -> DecodeSpec: ...
@overload
def get(name: str, phase: None = None) -> Any: ...
def get(name: str, phase: str | None = None) -> Any:
    """The kernel of a name; with a phase, "prefill" or "decode", among those for it."""
    rungs = {each: _ALL[each] for each in names(phase)}
    if isinstance(name, str) and name in _ALL and name not in rungs:
        raise UnknownKernel(f"{name} is not a {phase} kernel\n  write:  {_ALL[name].launched()}")
    return named(name, rungs, f"{phase} kernel" if phase else "kernel")


def looked_up(kernel: Any) -> Any:
    """The kernel that a single word names, with its defaults; anything else as it is. No PTX is that short."""
    return get(kernel).build() if isinstance(kernel, str) and kernel.strip().isidentifier() else kernel


def building(phase: Literal["prefill", "decode"], kernel: Any, given: Mapping[str, Any], q: Any, **known: Any) -> str:
    """The Python that builds a kernel with options that a call was given, for queries like q; "" where no kernel has
    such options. kernel: what was asked for."""
    fit = [name for name in names(phase) if set(given) <= set(_ALL[name].parameters)]
    if not fit:
        return ""
    name = kernel if isinstance(kernel, str) and kernel in fit else fit[0]
    dtype = next((short for short, long in DTYPES.items() if long == str(getattr(q, "dtype", ""))), None)
    known |= {"head_dim": int(np.shape(q)[-1]) if np.ndim(q) else None, "dtype": dtype}
    words = {key: value for key, value in (known | dict(given)).items() if value and key in _ALL[name].parameters}
    return f"pl.kernels.get({name!r}).build({', '.join(f'{key}={value!r}' for key, value in words.items())})"

"""The attention library in reading order: each rung is a file, adds one idea to the rung before, answers one question.

spec = kernels.get("scalar")                      # what it is and what it takes
k = spec.build(head_dim=64, causal=True)          # k.ptx, k.name, k.launch_shape(...), k.arguments(...)
"""

from __future__ import annotations

from ptxlab.errors import PtxlabError
from ptxlab.kernels import mma, pipelined, scalar, swizzle, tiled, tiled2d, wmma
from ptxlab.kernels.config import Config
from ptxlab.kernels.spec import DTYPES, NOWHERE, Built, Parameter, Spec

__all__ = ["DTYPES", "NOWHERE", "Built", "Config", "Parameter", "Spec", "UnknownKernel", "get", "names"]

_RUNGS = (scalar, tiled, tiled2d, wmma, mma, swizzle, pipelined)
_SPECS: dict[str, Spec] = {rung.SPEC.name: rung.SPEC for rung in _RUNGS}


class UnknownKernel(PtxlabError, LookupError):
    """There is no kernel of that name; the message lists those there are."""


def names() -> tuple[str, ...]:
    """The names of all kernels, in reading order."""
    return tuple(_SPECS)


def get(name: str) -> Spec:
    """The kernel of a name."""
    if name not in _SPECS:
        raise UnknownKernel(f"there is no kernel {name!r}; there are {', '.join(_SPECS)}")
    return _SPECS[name]

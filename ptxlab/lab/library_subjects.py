"""The kernels of the library in the explorer, by name."""

from __future__ import annotations

import functools

from ptxlab import kernels
from ptxlab.lab.decode_subject import Decode
from ptxlab.lab.prefill_subject import Prefill
from ptxlab.lab.subject import Subject


@functools.cache
def named(name: str) -> Subject:
    """The subject of a kernel of the library; `kernels.UnknownKernel` lists those there are."""
    spec = kernels.get(name)
    return Prefill(spec) if spec.phase == "prefill" else Decode(spec)

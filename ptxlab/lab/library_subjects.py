"""The kernels of the library in the explorer and the debugger, by name."""

from __future__ import annotations

import functools
from typing import Any

from ptxlab import kernels
from ptxlab.attention.heuristics import SPLITTING
from ptxlab.errors import LaunchError
from ptxlab.lab.decode_subject import Decode
from ptxlab.lab.prefill_subject import Prefill
from ptxlab.lab.requests import request
from ptxlab.lab.subject import Subject

STEPPED = {"seq_q": 32, "seq_k": 32}
"""Sizes that the debugger steps through, where nothing is said."""
STEPPED_DECODE = {"seq_k": 48, "heads": 2, "kv_heads": 2, "splits": 2}
"""The same for a decode kernel."""
OWN = {"hopper": {"tile_q": 128, "tile_kv": 32, "seq_q": 128, "seq_k": 96}}
"""What a kernel has instead: hopper two consumers, and more tiles than the ring has stages."""
OPTIONS = ("device", "checks", "budget")
"""What is passed on to the launch."""


@functools.cache
def named(name: str) -> Subject:
    """The subject of a kernel of the library; `kernels.UnknownKernel` lists those there are."""
    spec = kernels.get(name)
    return Prefill(spec) if spec.phase == "prefill" else Decode(spec)


def recorded(name: str, parameters: dict[str, Any], trace: Any) -> Any:
    """The run of a kernel of the library on random inputs, with its trace; `DeviceFault` has one, too. `seq_len` sets
    both lengths, and as many heads have keys as there are."""
    subject, given = named(name), dict(parameters)
    options = {key: given.pop(key) for key in OPTIONS if key in given}
    known = {p.name for p in subject.parameters}
    if "splits" in given and "splits" not in known:
        raise LaunchError(f"splits: {name} does not split the keys; write {' or '.join(map(repr, SPLITTING))}")
    if "seq_len" in given:
        given = {**dict.fromkeys({"seq_q", "seq_k"} & known, given.pop("seq_len")), **given}
    if "heads" in given:
        given.setdefault("kv_heads", given["heads"])
    sizes = {**(STEPPED if "seq_q" in known else STEPPED_DECODE), **OWN.get(name, {})}
    asked = request(subject, **{**{key: size for key, size in sizes.items() if key in known}, **given})
    asked.check()
    return subject.recorded(subject.build(asked.given), asked.given, trace, **options)

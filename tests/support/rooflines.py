"""The roofline of a kernel of the library by `roof` of what a user runs, beside what the explorer shows of it."""

from __future__ import annotations

from typing import Any

import ptxlab as pl
from ptxlab.lab import explorer_views, run_pane
from ptxlab.lab.controls import request
from ptxlab.performance.roofline import Roof, roof

SIZES = {"seq_k": 80, "heads": 4, "kv_heads": 2, "batch": 2}


def both(name: str, **values: Any) -> tuple[Roof, dict[str, Any]]:
    """(The roof of `pl.attention` or `pl.decode`, the run as the page gets it), on the same inputs."""
    asked = request(name, **values)
    version = explorer_views.build(asked)
    ran = explorer_views.run(version, asked)
    shown = run_pane.show(ran, asked, version.built)
    kernel, given = version.built, asked.given
    assert ran is not None
    if kernel.spec.phase == "prefill":
        q, k, v = ran.kept
        return roof(pl.attention(q, k, v, kernel=kernel, causal=kernel.config.causal, counters=True)), shown
    q, key, value, table = ran.kept
    if name == "decode_reduce":  # what `decode_split` launches after itself
        kernel, config = "decode_split", kernel.config
        more = {"head_dim": config.head_dim, "dtype": config.dtype, "arch": config.arch}
        kernel = pl.kernels.get(kernel, "decode").build(**more)
    splits = given.get("splits")
    out = pl.decode(q, key, value, given["seq_k"], table, kernel=kernel, splits=splits, counters=True)
    return roof(out) if name != "decode_reduce" else roof(out.runs[1], arch=kernel.config.arch), shown

"""Prefill rungs in the explorer: `pl.attention` over random q, k and v."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ptxlab import reference
from ptxlab.attention.tile_lists import tile_lists
from ptxlab.errors import TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab import variant_controls
from ptxlab.lab.attention_subject import PROBLEM, Attention, judged, makers, nothing, series, tile_kinds
from ptxlab.lab.softmax_steps import row_scores, steps
from ptxlab.lab.subject import Ran, Shape, Values, looked_at, machines, place, places, plain_attention, random_inputs
from ptxlab.launch.run import cpu_engine
from ptxlab.performance.peaks import array_bytes

PREFILL = (
    Parameter("seq_q", "query rows (Sq)", 64, minimum=1, maximum=4096),
    Parameter("seq_k", "keys and values (Sk)", 64, minimum=0, maximum=4096),
    *PROBLEM,
)
"""The parameters of a prefill problem, which do not change the PTX."""


class Prefill(Attention):
    """A prefill rung: `pl.attention` on random inputs."""

    problem: tuple[Parameter, ...] = PREFILL

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.building = tuple(_buildable(spec, p) for p in spec.parameters.values() if p.name != "probes")
        size = _telling(self)  # as many rows: a mask then leaves out tiles, whatever the rung
        sizes = {"seq_q": size, "seq_k": size}
        self.problem = tuple(dataclasses.replace(p, default=sizes.get(p.name, p.default)) for p in self.problem)
        self.building += (variant_controls.VARIANT,)

    def shape(self, built: Any, values: Values) -> Shape:
        """Of the kernel's own launch."""
        shape: Shape = built.launch_shape(
            values["batch"], values["heads"], values["kv_heads"], values["seq_q"], values["seq_k"]
        )
        return shape

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """One for each head of each sequence."""
        return places(values["batch"], values["heads"])

    def rows(self, values: Values) -> tuple[str, int]:
        """Of the queries."""
        return "query row", values["seq_q"]

    def run(self, built: Any, values: Values, device: str) -> Ran:
        """Runs on every machine that there is, and compares with float64."""
        from ptxlab.attention.prefill import attention

        given = _given(values)
        q, k, v = random_inputs(values, values["seq_q"], built.config)
        results = {
            where: attention(q, k, v, kernel=built, device=where, **given, **looked_at(where, values))
            for where in machines(device)
        }
        first = next(iter(results.values()))
        ((seen, how),) = first.problem.cases(built)
        plain = plain_attention(*seen, dtype=first.o.dtype, **how)
        counts = next((r.counters for r in results.values() if r.counters), None)
        found = tuple(f for r in results.values() if r is not first for f in r.run.findings)
        return Ran(
            first.run, counts, judged=judged(results, plain), kept=(q, k, v), least=array_bytes(first), found=found
        )

    def recorded(self, built: Any, values: Values, trace: Any, **options: Any) -> Any:
        """The same problem."""
        from ptxlab.attention.prefill import attention

        q, k, v = random_inputs(values, values["seq_q"], built.config)
        more = {"device": cpu_engine(), "trace": trace, "checks": values["checks"], **options}
        return attention(q, k, v, kernel=built, **_given(values), **more).run

    def block_of(self, built: Any, values: Values, head: tuple[int, int], row: int) -> int:
        """Where the kernel's own grid has the row."""
        grid, *_ = self.shape(built, values)
        at, heads, sequences = min(row, values["seq_q"] - 1), values["heads"], values["batch"]
        if not (head[0] < sequences and head[1] < heads):
            return 0
        return int(built.block_of(grid, heads, *head, at))

    def state(self, built: Any, values: Values, ran: Ran, head: tuple[int, int], row: int) -> dict[str, Any]:
        """The kernel is run once more in its probing build."""
        from ptxlab.attention.prefill import attention

        b, h = head
        rows, keys, tile, causal = values["seq_q"], values["seq_k"], built.tile_kv, bool(values["causal"])
        q, k, v = ran.kept
        title, unit = f"{place(b, h, q.shape)}row {row}", "key" if tile == 1 else f"KV tile of {tile} keys"
        common = {"label": title, "tiles": reference.tiles(keys, tile), "tile_kv": tile, "unit": unit, "row": row}
        state = [(b, h, row)]
        result = attention(q, k, v, kernel=built, device=ran.run.device, state=state, **_given(values))
        assert result.state is not None
        mods: Any = result.problem.changes()
        if built.precision is not None:  # what the kernel saw
            q, k, v = (x.astype(built.precision) for x in (q, k, v))
        kv_head = h // (q.shape[1] // k.shape[1])
        scores, sees = row_scores(q[b, h, row], k[b, kv_head], causal, (b, h, row), rows, mods)
        if not sees.any():
            why = "there are no keys (Sk = 0)" if keys == 0 else f"row {row} sees no key"
            return {**common, "note": nothing(why, mods, h)}
        exact, _ = result.exact(0)
        return {
            **common,
            "kernel": series(result.state[0]),
            "numpy": series(exact),
            **steps(scores, v[b, kv_head], tile, -np.inf if mods.get("sinks") is None else float(mods["sinks"][h])),
            "makers": makers(built.with_probes().module, built.module),
        }

    def tiles(self, built: Any, values: Values) -> dict[str, Any]:
        """Rows and keys as the kernel cuts them."""
        c, made = built.config, variant_controls.masked(values)
        kinds = None
        if made is not None and values["seq_k"]:
            sizes = values["batch"], values["heads"], values["seq_q"], values["seq_k"]
            lists = tile_lists(made, np.float64 if c.dtype == "f64" else np.float32, sizes, c.listed)
            kinds = tile_kinds(lists.kinds[0, 0], c.listed)
        return {
            "rows": values["seq_q"],
            "keys": values["seq_k"],
            "tile_q": c.tile_q,
            "tile_kv": c.tile_kv,
            "causal": bool(c.causal),
            "kinds": kinds,
            "row_name": "query row",
        }


def _given(values: Values) -> dict[str, Any]:
    """The mask and the variant, as `pl.attention` takes them."""
    return {"causal": bool(values["causal"]), **variant_controls.mods(values)}


def _buildable(spec: Any, p: Parameter) -> Parameter:
    """A parameter whose default the kernel has and shows what it is about; the default target is one that it can be
    built for."""
    if p.name == "causal" and "causal" in spec.idea:
        return dataclasses.replace(p, default=True)
    if p.name != "arch" or p.default in p.choices:
        return p
    for arch in p.choices:
        try:
            spec.configure(head_dim=64, causal=False, dtype=spec.dtypes[0], arch=arch)
        except TargetError:
            continue
        return dataclasses.replace(p, default=arch)
    return dataclasses.replace(p, default=p.choices[0])


def _telling(subject: Prefill) -> int:
    """Rows and keys that show what a rung is about: a few tiles, or 64 keys one by one."""
    if not subject.spec.tile:
        return 64
    tile: int = subject.spec.configure(**{p.name: p.default for p in subject.building}).tile_kv
    return tile * (4 if tile >= 64 else 6)

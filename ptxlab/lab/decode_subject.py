"""Decode rungs in the explorer: `pl.decode` over a random cache."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.attention import caches
from ptxlab.kernels import Parameter
from ptxlab.lab import variant_controls
from ptxlab.lab.attention_subject import PROBLEM, Attention, finite, judged, makers, nothing, series, tile_kinds
from ptxlab.lab.softmax_steps import row_scores, steps
from ptxlab.lab.subject import Ran, Shape, Values, looked_at, machines, plain_attention, random_inputs
from ptxlab.launch.run import cpu_engine
from ptxlab.performance.peaks import array_bytes

DECODE = (
    Parameter("seq_k", "keys of each sequence so far", 64, minimum=0, maximum=16384),
    Parameter("splits", "into how many parts the keys are cut", 4, minimum=1, maximum=64),
    *PROBLEM,
)
"""The parameters of a decode problem. `splits` counts for kernels that split."""
_SECTOR = 8
"""Entries of a block table in a sector."""
OWN = {"decode_gqa": {"heads": 8, "seq_k": 1024}}
"""What a kernel opens with instead: heads that share keys, of which each warp of a split has a few tiles."""
SPLIT = ("decode_split", "decode_gqa", "decode_reduce")


class Decode(Attention):
    """A decode rung: `pl.decode` on a random cache; `decode_reduce` is shown as the second half of `decode_split`."""

    problem: tuple[Parameter, ...] = DECODE
    costs = 8.0  # where one query is compared with float64, the keys are read for it alone

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        hidden = {"probes", "partial", "length"}
        self.building = tuple(_runnable(p) for p in spec.parameters.values() if p.name not in hidden)
        self.building += (variant_controls.VARIANT,) if spec.scores else ()
        left_out = {"splits"} if spec.name not in SPLIT else set()
        left_out |= set() if spec.scores else {p.name for p in variant_controls.PROBLEM}
        own = OWN.get(spec.name, {})
        self.problem = tuple(
            dataclasses.replace(p, default=own.get(p.name, p.default)) for p in DECODE if p.name not in left_out
        )

    def build(self, values: Values) -> Any:
        """The kernel as `pl.decode` launches it: with `splits` above 1, `decode_gqa` stores partial results."""
        more = {"partial": values["splits"] > 1} if "partial" in self.spec.parameters else {}
        return self.spec.build(**self._sizes(values), **more, **variant_controls.mods(values))

    def shape(self, built: Any, values: Values) -> Shape:
        """Of the kernel's own launch."""
        splits = values.get("splits", 1) if self.name in SPLIT[:2] else 1
        shape: Shape = built.launch_shape(values["batch"], values["heads"], values["kv_heads"], splits)
        return shape

    def rows(self, values: Values) -> tuple[str, int]:
        """One for each query head."""
        return "query head", values["heads"]

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """One for each sequence; its rows are the query heads."""
        return [(str(b), (b, 0)) for b in range(values["batch"])]

    def run(self, built: Any, values: Values, device: str) -> Ran:
        """Runs on every machine that there is, and compares with float64."""
        q, key, value, table = self._inputs(built.config, values)
        results = {where: self._decode(built, values, where, (q, key, value, table)) for where in machines(device)}
        first = next(iter(results.values()))
        cases = first.problem.cases(built)
        plain = [plain_attention(*case, dtype=q.dtype, **how)[0, :, 0] for case, how in cases]
        found = judged(results, np.stack(plain))
        error, ratio = (found.error[:, None], found.ratio[:, None])  # a sequence is a picture, its heads are rows
        found = dataclasses.replace(found, error=error, ratio=ratio, rows="query head")
        shown = 1 if self.name == "decode_reduce" else 0
        counted = next((r for d, r in results.items() if d != "gpu"), None)
        others = tuple(run for n, run in enumerate(first.runs) if n != shown)
        counts = counted.runs[shown].counters if counted else None
        least = None if shown else array_bytes(first)  # a merge reads and writes other arrays
        more = tuple(f for r in results.values() if r is not first for f in r.runs[shown].findings)
        return Ran(first.runs[shown], counts, others, found, kept=(q, key, value, table), least=least, found=more)

    def state(self, built: Any, values: Values, ran: Ran, head: tuple[int, int], row: int) -> dict[str, Any] | None:
        """The parts that the kernel keeps apart before the merge; for `decode` the keys one by one."""
        b, keys = head[0], values["seq_k"]
        q, key, value, table = ran.kept
        title = (f"sequence {b}, " if len(q) > 1 else "") + f"head {row}"
        out = self._decode(built, values, ran.run.device, ran.kept, state=[(b, row)])
        assert out.state is not None
        parts = "key" if self.name == "decode" else "split" if len(out.runs) > 1 else "warp"
        common = {"label": title, "tiles": len(out.state[0]), "tile_kv": 1, "unit": parts, "row": row}
        if keys == 0:
            return {**common, "note": nothing("there are no keys", out.problem.changes(), row)}
        k, v = (caches.keys_of(x, b, keys, table)[None] for x in (key, value))
        query = q[b][None, :, None]
        size = 1 if parts == "key" else keys
        mods = out.problem.changes(b)
        exact = reference.attention(query, k, v, tile=size, rows=[(0, row, 0)], **mods).state
        assert exact is not None
        probing = out.kernels[-1]
        common["makers"] = makers(probing.module, built.module)
        if parts == "key":
            kv_head, sinks = row // (query.shape[1] // k.shape[1]), mods.get("sinks")
            scores, _ = row_scores(query[0, row, 0], k[0, kv_head], False, (0, row, 0), 1, mods)
            walk = steps(scores, v[0, kv_head], 1, -np.inf if sinks is None else float(sinks[row]))
            return {**common, **walk, "kernel": series(out.state[0]), "numpy": series(out.exact(0)[0])}
        m, total, _ = exact[0][-1]
        mine = out.state[0].astype(np.float64)
        top = float(mine[:, 0].max())
        merged = {"m": finite(top), "l": finite((mine[:, 1] * mine[:, 2]).sum()), "numpy_m": finite(m)}
        exactly, _ = out.exact(0)
        return {
            **common,
            "kernel": series(out.state[0]),
            "numpy": series(exactly),
            "parts": True,
            "merged": {**merged, "numpy_l": finite(total)},
        }

    def recorded(self, built: Any, values: Values, trace: Any, **options: Any) -> Any:
        """The same cache; of two launches the one that is shown."""
        device, inputs = options.pop("device", cpu_engine()), self._inputs(built.config, values)
        out = self._decode(built, values, device, inputs, trace=trace, **options)
        return out.runs[1 if self.name == "decode_reduce" else 0]

    def block_of(self, built: Any, values: Values, head: tuple[int, int], row: int) -> int:
        """Query heads, or the groups that share a key/value head, in x, sequences in y; the first split."""
        (x, _, _), *_ = self.shape(built, values)
        group = values["heads"] // values["kv_heads"]
        at = row if x == values["heads"] else row // group * (x // values["kv_heads"]) + row % group // 16
        return int(min(at, x - 1) + x * head[0])

    def tiles(self, built: Any, values: Values) -> dict[str, Any]:
        """Heads against keys, cut by the splits of the grid."""
        splits = values.get("splits", 1) if self.name in SPLIT else 1
        size = 1 if self.name == "decode" else max(1, -(-values["seq_k"] // splits))
        made, kinds = variant_controls.masked(values), None
        if made is not None:  # the parts begin at the first key that is seen
            size, keys = 1, values["seq_k"]
            sees = np.broadcast_to(made.functions[1](0, 0, keys - 1, np.arange(keys)), keys)
            kinds = tile_kinds(2 * sees.astype(int), (values["heads"], 1))
        return {
            "rows": values["heads"],
            "keys": values["seq_k"],
            "tile_q": 1,
            "tile_kv": size,
            "causal": False,
            "kinds": kinds,
            "row_name": "query head",
        }

    def _inputs(self, config: Any, values: Values) -> tuple[Any, Any, Any, Any]:
        """q, the cache and, for a paged one, the block table, whose pages lie in no order. Each of its rows begins a
        sector, so that reading one costs the same wherever it stands: a few sequences then count as all do."""
        q, k, v = random_inputs({**values, "seq_k": max(values["seq_k"], 1)}, 1, config)
        q = q[:, :, 0]
        if config.cache == "dense":
            return q, k, v, None
        key, value, table = caches.in_pages(k, v, config.page_size, seed=values["seed"])
        aligned = np.full((len(table), -(-table.shape[1] // _SECTOR) * _SECTOR), -1, np.int32)
        aligned[:, : table.shape[1]] = table
        return q, key, value, aligned

    def _decode(self, built: Any, values: Values, device: str, inputs: tuple[Any, Any, Any, Any], **more: Any) -> Any:
        """`pl.decode` of this kernel; of `decode_split` where this is the kernel that merges."""
        from ptxlab.attention.decode import decode

        q, key, value, table = inputs
        if self.name == "decode_reduce":
            c = built.config
            kernel = kernels.get("decode_split", "decode").build(head_dim=c.head_dim, dtype=c.dtype, arch=c.arch)
        else:
            kernel = built
        splits = values.get("splits")
        more = {**({} if "state" in more else looked_at(device, values)), **more}
        more |= ({"counters": False} if "trace" in more else {}) | variant_controls.mods(values)
        lengths = np.full(len(q), values["seq_k"], np.int32)
        return decode(q, key, value, lengths, table, kernel=kernel, splits=splits, device=device, **more)


def _runnable(p: Parameter) -> Parameter:
    """A parameter without the choice that only CUDA graphs need: caches after pointers."""
    if p.name != "cache":
        return p
    kinds = tuple(kind for kind in p.choices if kind != "pointers")
    return Parameter(p.name, p.says, kinds[0], kinds)

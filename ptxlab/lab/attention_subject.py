"""The kernels of the library in the explorer: prefill rungs over random q, k and v, decode rungs over a cache."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.attention import caches
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import Parameter
from ptxlab.lab import dataflow, sampled
from ptxlab.lab.softmax_steps import steps
from ptxlab.lab.subject import (
    Judgement,
    Ran,
    Shape,
    Subject,
    Values,
    machines,
    place,
    places,
    plain_attention,
    random_inputs,
    ways,
)
from ptxlab.launch.run import cpu_engine

_BATCH = Parameter("batch", "sequences (B)", 1, minimum=1, maximum=8)
_HEADS = Parameter("heads", "query heads (Hq)", 1, minimum=1, maximum=128)
_KV = Parameter("kv_heads", "key and value heads (Hkv); heads must be a multiple of it", 1, minimum=1, maximum=128)
_SEED = Parameter("seed", "seed of the random q, k and v", 0, minimum=0, maximum=2**31 - 1)
SIGMA = Parameter("sigma", "standard deviation of the logits: small ones hide rescaling bugs", 1.0)

PREFILL = (
    Parameter("seq_q", "query rows (Sq); of large problems a few blocks are run", 64, minimum=1, maximum=16384),
    Parameter("seq_k", "keys and values (Sk)", 64, minimum=0, maximum=16384),
    _BATCH, _HEADS, _KV, _SEED, SIGMA,
)  # fmt: skip
"""The parameters of a prefill problem, which do not change the PTX."""
DECODE = (
    Parameter("seq_k", "keys of each sequence so far", 64, minimum=0, maximum=16384),
    Parameter("splits", "into how many parts the keys are cut", 4, minimum=1, maximum=64),
    _BATCH, _HEADS, _KV, _SEED, SIGMA,
)  # fmt: skip
"""The parameters of a decode problem. `splits` counts for kernels that split."""
CONFLICTED = "mma"
"""The kernel whose bank conflicts are worth a look: its rows of 128 bytes begin in the same bank."""
_SECTOR = 8
"""Entries of a block table in a sector."""
SPLIT = ("decode_split", "decode_gqa", "decode_reduce")


@functools.cache
def named(name: str) -> Subject:
    """The subject of a kernel of the library; `kernels.UnknownKernel` lists those there are."""
    spec = kernels.get(name)
    return Prefill(spec) if spec.phase == "prefill" else Decode(spec)


class Attention(Subject):
    """What both phases share: the spec, its parameters, the family of all rungs."""

    family = kernels.names()
    costs = 1.0
    """The time of a multiplication, beside that of a prefill kernel."""

    def __init__(self, spec: Any) -> None:
        self.spec, self.title, self.name = spec, spec.title, spec.name

    def other(self, name: str) -> Subject:
        """Another rung."""
        return named(name)

    def check(self, values: Values) -> None:
        """Also that heads are a multiple of kv_heads."""
        super().check(values)
        if values["heads"] % values["kv_heads"]:
            raise LaunchError(f"heads = {values['heads']} should be a multiple of kv_heads = {values['kv_heads']}")

    def fits(self, values: Values) -> None:
        """Also that the kernel can be configured so."""
        super().fits(values)
        self.configured(values)

    def configured(self, values: Values) -> Any:
        """The configuration of the kernel with these parameters; `TargetError` names a limit that is broken."""
        return self.spec.configure(**{p.name: values[p.name] for p in self.building})

    def work(self, values: Values) -> float:
        """Those of the scores that are run: one for each row, key and dimension. A mask saves half of the keys."""
        rows = values["batch"] * values["heads"] * values.get("seq_q", 1)
        sample = self._plan(values)
        whole = float(rows * values["seq_k"] * values["head_dim"] * (0.5 if values.get("causal") else 1))
        return whole * self.costs * (1.0 if sample is None else sample.share)

    def less(self, values: Values, work: float) -> dict[str, Any] | None:
        """A sample of fewer blocks."""
        fewer = {**values, "most": work}
        return fewer if self.work(fewer) < self.work(values) else None

    def _plan(self, values: Values) -> Any:
        """Which part of the problem is run; None where all of it is."""
        raise NotImplementedError

    def build(self, values: Values) -> Any:
        """The kernel of the library with these parameters."""
        return self.spec.build(**{p.name: values[p.name] for p in self.building})

    def lesson(self, built: Any) -> dict[str, Any]:
        """The rung's own, which one comes next, and which one to look at for bank conflicts."""
        spec, lines = self.spec, built.ptx.splitlines()
        names = kernels.names()
        after = names[names.index(self.name) + 1 :] if self.name in names else ()
        opcode = re.compile(rf"\s*(@!?%\w+\s+)?{re.escape(spec.opens)}[.\s]")
        line = next((n for n, text in enumerate(lines, 1) if spec.opens and opcode.match(text)), 0)
        return {"question": spec.question, "look": spec.look, "line": line, "shows": spec.shows,
                "next": _told(after[0]) if after else None,
                "conflicts": None if self.name == CONFLICTED else _told(CONFLICTED)}  # fmt: skip


class Prefill(Attention):
    """A prefill rung: `pl.attention` on random inputs."""

    problem: tuple[Parameter, ...] = PREFILL

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.building = tuple(_buildable(spec, p) for p in spec.parameters.values() if p.name != "probes")
        self.problem = tuple(
            dataclasses.replace(p, default=_telling(self)) if p.name == "seq_k" else p for p in self.problem
        )

    def shape(self, built: Any, values: Values) -> Shape:
        """Of the kernel's own launch."""
        shape: Shape = built.launch_shape(
            values["batch"], values["heads"], values["kv_heads"], values["seq_q"], values["seq_k"]
        )
        return shape

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """One for each head of each sequence; of a problem that is sampled those that are run."""
        sample = self._plan(values)
        if sample is None:
            return places(values["batch"], values["heads"])
        return [(f"batch {b}, head {h}", (b, h)) for b, h in sample.heads]

    def rows(self, values: Values) -> tuple[str, int]:
        """Of the queries."""
        return "query row", values["seq_q"]

    def _plan(self, values: Values) -> sampled.Plan | None:
        """Which blocks are run; None where all are."""
        try:
            config = self.configured(values)
        except TargetError:
            return None  # the build says why
        return sampled.plan(values, config.tile_q)

    def run(self, built: Any, values: Values, device: str) -> Ran:
        """Runs on every machine that there is, and compares with float64."""
        from ptxlab.attention.prefill import attention

        config = built.config
        sample = sampled.plan(values, config.tile_q)
        if sample is not None:
            return sampled.run(built, values, device, sample)
        q, k, v = random_inputs(values, values["seq_q"], config)
        results = {
            where: attention(q, k, v, kernel=built, causal=config.causal, device=where, counters=where != "gpu")
            for where in machines(device)
        }
        first = next(iter(results.values()))
        computed: dict[str, Any] = {"tile": built.tile_kv, "precision": built.precision}
        # What the kernel saw: its inputs as it rounds them.
        sq, sk, sv = (x if built.precision is None else x.astype(built.precision) for x in (q, k, v))
        expected = reference.attention(sq, sk, sv, causal=config.causal)
        bound, _ = reference.tolerance(first.o, sq, sk, sv, expected, causal=config.causal, **computed)
        measured = reference.measure(first.o, first.lse, q, k, v, causal=config.causal, expected=expected, **computed)
        plain = plain_attention(sq, sk, sv, causal=config.causal, dtype=first.o.dtype)
        error = np.abs(first.o.astype(np.float64) - expected.o)
        judged = Judgement(
            measured,
            error,
            error / np.maximum(bound, np.finfo(np.float64).tiny),
            ways=ways({d: r.o for d, r in results.items()}, expected.o, plain, f"numpy {first.o.dtype}"),
        )
        counts = next((r.counters for r in results.values() if r.counters), None)
        return Ran(first.run, counts, judged=judged, kept=(q, k, v))

    def recorded(self, built: Any, values: Values, trace: Any) -> Any:
        """The same problem; of a sampled one the block alone."""
        from ptxlab.attention.prefill import attention

        sample = self._plan(values)
        if sample is not None:
            return sampled.recorded(built, values, trace, sample)
        config = built.config
        q, k, v = random_inputs(values, values["seq_q"], config)
        return attention(q, k, v, kernel=built, causal=config.causal, device=cpu_engine(), trace=trace).run.trace

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
        rows, keys, tile, causal = values["seq_q"], values["seq_k"], built.tile_kv, built.config.causal
        number = row
        if ran.sampled is None:
            q, k, v = ran.kept
            title = f"{place(b, h, q.shape)}row {row}"
        else:  # the block of the row, as the problem that was run
            here, seen = divmod(row, built.config.tile_q)
            block = ran.kept[1][h][here]
            q, k, v = block.alone
            (batch, which), number = ran.sampled.heads[h], ran.sampled.rows[row]
            title = f"batch {batch}, head {which}, row {number}"
            b, h, row, rows, keys = 0, 0, seen, q.shape[2], k.shape[2]
        unit = "key" if tile == 1 else f"KV tile of {tile} keys"
        common = {"label": title, "tiles": reference.tiles(keys, tile), "tile_kv": tile, "unit": unit, "row": number}
        if reference.visible_keys(row, rows, keys, causal) == 0:
            why = "there are no keys (Sk = 0)" if keys == 0 else f"row {row} sees no key"
            return {**common, "note": f"Nothing to sum: {why}, so O = 0 and LSE = −∞."}
        if ran.sampled is None:
            probed = attention(q, k, v, kernel=built, causal=causal, device=ran.run.device, state=[(b, h, row)]).state
        else:
            probed = sampled.launched(built, block, ran.run.device, row)[2][None]
        if built.precision is not None:  # what the kernel saw
            q, k, v = (x.astype(built.precision) for x in (q, k, v))
        seen, kv_head = reference.visible_keys(row, rows, keys, causal), h // (q.shape[1] // k.shape[1])
        scale = reference.default_scale(q.shape[3])
        walk = steps(q[b, h, row], k[b, kv_head, :seen], v[b, kv_head, :seen], scale, tile)
        q, shown = (q, row) if causal else (q[:, :, row : row + 1], 0)  # without a mask one row is enough
        exact = reference.attention(q, k, v, causal=causal, tile=tile, rows=[(b, h, shown)])
        assert exact.state is not None
        assert probed is not None
        return {
            **common,
            "kernel": series(probed[0]),
            "numpy": series(exact.state[0]),
            **walk,
            "makers": _makers(built.with_probes().module, built.module),
        }

    def tiles(self, built: Any, values: Values) -> dict[str, Any]:
        """Rows and keys as the kernel cuts them."""
        c = built.config
        return {
            "rows": values["seq_q"],
            "keys": values["seq_k"],
            "tile_q": c.tile_q,
            "tile_kv": c.tile_kv,
            "causal": bool(c.causal),
            "row_name": "query row",
        }


class Decode(Attention):
    """A decode rung: `pl.decode` on a random cache; `decode_reduce` is shown as the second half of `decode_split`."""

    problem: tuple[Parameter, ...] = DECODE
    costs = sampled.DECODING

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        hidden = {"probes", "partial", "length"}
        self.building = tuple(_runnable(p) for p in spec.parameters.values() if p.name not in hidden)
        if spec.name not in SPLIT:
            self.problem = tuple(p for p in DECODE if p.name != "splits")

    def build(self, values: Values) -> Any:
        """The kernel as `pl.decode` launches it: with `splits` above 1, `decode_gqa` stores partial results."""
        more = {"partial": values["splits"] > 1} if "partial" in self.spec.parameters else {}
        return self.spec.build(**{p.name: values[p.name] for p in self.building}, **more)

    def shape(self, built: Any, values: Values) -> Shape:
        """Of the kernel's own launch."""
        splits = values.get("splits", 1) if self.name in SPLIT[:2] else 1
        shape: Shape = built.launch_shape(values["batch"], values["heads"], values["kv_heads"], splits)
        return shape

    def rows(self, values: Values) -> tuple[str, int]:
        """One for each query head."""
        return "query head", values["heads"]

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """One for each sequence that is run; its rows are the query heads."""
        sample = self._plan(values)
        return [(str(b), (b, 0)) for b in (range(values["batch"]) if sample is None else sample.sequences)]

    def _plan(self, values: Values) -> sampled.DecodePlan | None:
        if values["kv_heads"] < 1 or values["heads"] % values["kv_heads"]:
            return None  # the check says so
        return sampled.decode_plan(values, self.name == "decode_gqa")

    def run(self, built: Any, values: Values, device: str) -> Ran:
        """Runs on every machine that there is, and compares with float64."""
        sample = self._plan(values)
        if sample is None:
            return self._whole(built, values, device)
        where = next((d for d in machines(device) if d != "gpu"), cpu_engine())
        ran = self._whole(built, {**values, **sample.problem}, where)
        return sampled.of_decoding(ran, values, sample, self.shape(built, values)[0])

    def _whole(self, built: Any, values: Values, device: str) -> Ran:
        """Every head of every sequence."""
        config = built.config
        _, heads, kv, keys = (values[n] for n in ("batch", "heads", "kv_heads", "seq_k"))
        q, key, value, table = self._inputs(config, values)
        results = {where: self._decode(built, values, where, (q, key, value, table)) for where in machines(device)}
        first = next(iter(results.values()))
        errors, ratios, exact, plain = [], [], [], []
        for b in range(len(q)):
            k, v = (caches.keys_of(x, b, keys, table)[None] for x in (key, value))
            row = q[b][None, :, None]
            expected = reference.attention(row, k, v)
            bound, _ = reference.tolerance(first.o[b][None, :, None], row, k, v, expected)
            error = np.abs(first.o[b].astype(np.float64) - expected.o[0, :, 0])
            errors.append(error[None])
            ratios.append((error / np.maximum(np.broadcast_to(bound, expected.o.shape)[0, :, 0], 1e-300))[None])
            exact.append(expected.o[0, :, 0])
            plain.append(plain_attention(row, k, v, causal=False, dtype=q.dtype)[0, :, 0])
        assert heads % kv == 0
        judged = Judgement(
            first.error,
            np.stack(errors),
            np.stack(ratios),
            "query head",
            ways({d: r.o for d, r in results.items()}, np.stack(exact), np.stack(plain), f"numpy {q.dtype}"),
        )
        shown = 1 if self.name == "decode_reduce" else 0
        counted = next((r for d, r in results.items() if d != "gpu"), None)
        others = tuple(run for n, run in enumerate(first.runs) if n != shown)
        counts = counted.runs[shown].counters if counted else None
        return Ran(first.runs[shown], counts, others, judged, kept=(q, key, value, table))

    def state(self, built: Any, values: Values, ran: Ran, head: tuple[int, int], row: int) -> dict[str, Any] | None:
        """The parts that the kernel keeps apart before the merge; for `decode` the keys one by one."""
        b, keys, number = head[0], values["seq_k"], row
        q, key, value, table = ran.kept
        title = (f"sequence {b}, " if len(q) > 1 else "") + f"head {row}"
        if ran.sampled is not None:  # where the problem that was run has the head
            number = ran.sampled.rows[row]
            title = f"sequence {ran.sampled.heads[b][0]}, head {number}"
            b, row = divmod(b * len(ran.sampled.rows) + row, q.shape[1])
        out = self._decode(built, values, ran.run.device, ran.kept, state=[(b, row)])
        assert out.state is not None
        parts = "key" if self.name == "decode" else "split" if len(out.runs) > 1 else "warp"
        common = {"label": title, "tiles": len(out.state[0]), "tile_kv": 1, "unit": parts, "row": number}
        if keys == 0:
            return {**common, "note": "Nothing to sum: there are no keys, so O = 0 and LSE = −∞."}
        k, v = (caches.keys_of(x, b, keys, table)[None] for x in (key, value))
        query = q[b][None, :, None]
        size = 1 if parts == "key" else keys
        exact = reference.attention(query, k, v, tile=size, rows=[(0, row, 0)]).state
        assert exact is not None
        probing = out.kernels[-1]
        common["makers"] = _makers(probing.module, built.module)
        if parts == "key":
            kv_head = row // (query.shape[1] // k.shape[1])
            walk = steps(query[0, row, 0], k[0, kv_head], v[0, kv_head], reference.default_scale(query.shape[3]), 1)
            return {**common, **walk, "kernel": series(out.state[0]), "numpy": series(exact[0])}
        m, total, _ = exact[0][-1]
        mine = out.state[0].astype(np.float64)
        top = float(mine[:, 0].max())
        merged = {"m": _plain(top), "l": _plain((mine[:, 1] * mine[:, 2]).sum()), "numpy_m": _plain(m)}
        exactly, _ = out.exact(0)
        return {
            **common,
            "kernel": series(out.state[0]),
            "numpy": series(exactly),
            "parts": True,
            "merged": {**merged, "numpy_l": _plain(total)},
        }

    def recorded(self, built: Any, values: Values, trace: Any) -> Any:
        """The same cache, or what is run of it; of two launches the one that is shown."""
        sample = self._plan(values)
        if sample is not None:
            units = values["heads"] // sample.each
            number = sample.block(sampled.asked(trace), self.shape(built, values)[0], units)
            trace, values = dataclasses.replace(trace, blocks=number), {**values, **sample.problem}
        out = self._decode(built, values, cpu_engine(), self._inputs(built.config, values), trace=trace)
        return out.runs[1 if self.name == "decode_reduce" else 0].trace

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
        return {
            "rows": values["heads"],
            "keys": values["seq_k"],
            "tile_q": 1,
            "tile_kv": size,
            "causal": False,
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
        counts = device in ("cpu", "step") and not more
        lengths = np.full(len(q), values["seq_k"], np.int32)
        return decode(
            q, key, value, lengths, table, kernel=kernel, splits=splits, device=device, counters=counts, **more
        )


def _buildable(spec: Any, p: Parameter) -> Parameter:
    """A parameter whose default the kernel has; the default target is one that it can be built for."""
    if p.name != "arch" or p.default in p.choices:
        return p
    for arch in p.choices:
        try:
            spec.configure(head_dim=64, causal=False, dtype=spec.dtypes[0], arch=arch)
        except TargetError:
            continue
        return dataclasses.replace(p, default=arch)
    return dataclasses.replace(p, default=p.choices[0])


def _told(name: str) -> dict[str, str]:
    """A kernel that the page offers."""
    return {"name": name, "title": kernels.get(name).title}


def _telling(subject: Prefill) -> int:
    """Keys that show what a rung is about: a few tiles, or 64 keys one by one."""
    if not subject.spec.tile:
        return 64
    tile: int = subject.spec.configure(**{p.name: p.default for p in subject.building}).tile_kv
    return tile * (4 if tile >= 64 else 6)


def _runnable(p: Parameter) -> Parameter:
    """A parameter without the choice that only CUDA graphs need: caches behind pointers."""
    if p.name != "cache":
        return p
    kinds = tuple(kind for kind in p.choices if kind != "pointers")
    return Parameter(p.name, p.says, kinds[0], kinds)


def _makers(probed: Any, plain: Any) -> dict[str, list[int]]:
    """The lines behind m, l and rescale, and o: those that scale the output row, where they are to be found."""
    found = dataflow.makers(probed, plain)
    scaling = dataflow.scaled_by(plain, found["rescale"])
    known = {line for lines in found.values() for line in lines}
    return {**found, "o": [line for line in scaling if line not in known]} if scaling else found


def series(state: Any) -> dict[str, list[float | None]]:
    """m, l and rescale of a state `[tiles, 3]` as lists."""
    return {name: [_plain(x) for x in state[:, i]] for i, name in enumerate(("m", "l", "rescale"))}


def _plain(x: Any) -> float | None:
    """A number for the plots: None where it is not finite."""
    value = float(x)
    return value if np.isfinite(value) else None

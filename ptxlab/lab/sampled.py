"""Problems that are too large to run whole: a few of their blocks, chosen evenly, and counters for all from those.

A block of queries needs nothing of the others, so it can run by itself. With a mask the work of a block grows evenly
from the first to the last; blocks in the middle of equal shares of all stand for their shares in that case too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.kernels import DTYPES
from ptxlab.lab.subject import Judgement, Ran, Sampled, Values, machines, plain_attention, ways
from ptxlab.launch.buffers import const
from ptxlab.launch.run import Run, cpu_engine, launch

WHOLE = 5e7
"""Multiplications of the scores up to which a problem is run whole: about a second on the CPU machine."""
MOST_BLOCKS, MOST_HEADS = 8, 2
"""Blocks of a head, and heads, that stand for all."""


@dataclass(frozen=True)
class Plan:
    """What is run of a problem: the blocks of query rows that begin at `firsts`, of these (batch, head) pairs; `blocks`
    are those of the whole grid."""

    heads: tuple[tuple[int, int], ...]
    firsts: tuple[int, ...]
    tile_q: int
    blocks: int

    @property
    def share(self) -> float:
        """The part of the grid that is run."""
        return len(self.heads) * len(self.firsts) / self.blocks

    def rows(self, count: int) -> tuple[int, ...]:
        """The numbers of all rows that are run, of `count`."""
        return tuple(r for first in self.firsts for r in range(first, min(first + self.tile_q, count)))


def work(values: Values) -> float:
    """The multiplications of all scores; a mask saves about half."""
    rows = values["batch"] * values["heads"] * values["seq_q"]
    return float(rows * values["seq_k"] * values["head_dim"] * (0.5 if values["causal"] else 1))


def plan(values: Values, tile_q: int) -> Plan | None:
    """What to run; None where the whole problem is small enough. `values["most"]` may stand in place of `WHOLE`."""
    most = values.get("most", WHOLE)
    if work(values) <= most:
        return None
    row_blocks, pairs = -(-values["seq_q"] // tile_q), values["batch"] * values["heads"]
    affordable = max(1, int(most * row_blocks * pairs / work(values)))
    count = min(row_blocks, affordable, MOST_BLOCKS)
    heads = min(pairs, max(1, affordable // count), MOST_HEADS)
    if (count, heads) == (row_blocks, pairs):
        return None  # one block is the whole problem
    return Plan(
        tuple(divmod(at, values["heads"]) for at in _middles(pairs, heads)),
        tuple(at * tile_q for at in _middles(row_blocks, count)),
        tile_q,
        row_blocks * pairs,
    )


def _middles(count: int, parts: int) -> list[int]:
    """The middle one of each of `parts` equal shares of 0 to count - 1, one share less where that makes their mean the
    mean of all: work that grows evenly is then not estimated too high or too low."""
    if parts > 1 and parts % 2 and count % 2 == 0:
        parts -= 1
    first = [(2 * n + 1) * count // (2 * parts) - (count // parts % 2 == 0) for n in range(parts // 2)]
    middle = [count // 2] if parts % 2 else []
    return [*first, *middle, *(count - 1 - at for at in reversed(first))]


@dataclass(frozen=True, eq=False)
class Block:
    """A block as the first one of a problem of its own, arrays `[1, 1, rows, D]`: q goes on behind the block's `count`
    rows, which see the first `seen` keys at most. So the kernel does for it exactly what it does for it in the grid."""

    q: Any
    k: Any
    v: Any
    count: int
    seen: int

    @property
    def alone(self) -> tuple[Any, Any, Any]:
        """q, k and v of these rows and keys only: the same result with or without a mask."""
        return self.q[:, :, : self.count], self.k[:, :, : self.seen], self.v[:, :, : self.seen]


def blocks(plan: Plan, values: Values, dtype: str) -> list[list[Block]]:
    """For each head of a plan its blocks. Inputs are random as those of a whole problem are, but other numbers."""
    rows, keys, dim = values["seq_q"], values["seq_k"], values["head_dim"]
    kind = reference.random_inputs(1, 1, 1, 1, 1, 1, dtype=DTYPES[dtype])[0].dtype
    found = []
    for b, h in plan.heads:
        kv_head = h // (values["heads"] // values["kv_heads"])
        shared = np.random.default_rng([values["seed"], 1, b, kv_head])
        k, v = (shared.standard_normal((1, 1, keys, dim)).astype(kind) for _ in range(2))
        own = np.random.default_rng([values["seed"], 0, b, h])
        q = (values["sigma"] * own.standard_normal((1, 1, rows, dim))).astype(kind)
        mine = []
        for first in plan.firsts:
            count = min(plan.tile_q, rows - first)
            seen = reference.visible_keys(first + count - 1, rows, keys, values["causal"])
            mine.append(Block(q[:, :, first:], k, v, count, seen))
        found.append(mine)
    return found


def launched(built: Any, block: Block, device: str, row: int | None = None) -> tuple[Any, Any, Any, Run]:
    """Runs a block: (o, lse, state, run), o and lse of its rows; with `row` its online-softmax state `[tiles, 3]` up to
    the last tile that the block sees, else None and the run has counters."""
    kernel = built if row is None else built.with_probes()
    q, k, v = (np.ascontiguousarray(x) for x in (block.q, block.k, block.v))
    o, lse = np.zeros(q.shape, q.dtype), np.zeros(q.shape[:3], np.float64 if q.dtype == np.float64 else np.float32)
    extra: tuple[Any, ...] = ()
    if row is not None:
        slots = np.full(q.shape[:3], kernels.NOWHERE, np.uint32)
        slots[0, 0, row] = 0
        extra = slots, np.full((1, reference.tiles(k.shape[2], built.tile_kv), 3), np.nan, lse.dtype)
    _, threads, shared = kernel.launch_shape(1, 1, 1, q.shape[2], k.shape[2])
    scale = reference.default_scale(q.shape[3])
    args = kernel.arguments(const(q), const(k), const(v), o, lse, scale, *extra)  # not out: most stays unwritten
    ran = launch(kernel, 1, threads, *args, shared=shared, device=device, counters=row is None)
    state = extra[1][0, : reference.tiles(block.seen, built.tile_kv)] if extra else None
    return o[:, :, : block.count], lse[:, :, : block.count], state, ran


def run(built: Any, values: Values, device: str, plan: Plan) -> Ran:
    """Runs the blocks of a plan on the CPU machine and compares them with float64; counters are for the whole grid."""
    config = built.config
    heads = blocks(plan, values, config.dtype)
    where = next((d for d in machines(device) if d != "gpu"), cpu_engine())
    results, judged = [], []
    for block in (block for mine in heads for block in mine):
        o, lse, _, result = launched(built, block, where)
        results.append(result)
        judged.append(_judge(built, block, o, lse))
    shape = (1, len(heads), -1, config.head_dim)
    error, ratio, out, exact, plain = (
        np.concatenate([_rows(j[n]) for j in judged]).reshape(shape) for n in ("error", "ratio", "o", "exact", "plain")
    )
    grid, _, _ = built.launch_shape(
        values["batch"], values["heads"], values["kv_heads"], values["seq_q"], values["seq_k"]
    )
    together = dataclasses.replace(results[0], grid=grid, counters=None, seconds=sum(r.seconds for r in results))
    return Ran(
        together,
        scaled([r.counters for r in results], 1 / plan.share),
        judged=Judgement(
            worst([j["measured"] for j in judged]),
            error,
            ratio,
            ways=ways({where: out}, exact, plain, f"numpy {out.dtype}"),
        ),
        kept=(heads[0][0].q, heads),
        sampled=Sampled(
            f"{len(plan.firsts) * len(plan.heads)} of {plan.blocks:,} blocks were run, of {len(plan.heads)} of "
            f"{values['batch'] * values['heads']} heads; counts are scaled up from them",
            plan.rows(values["seq_q"]),
            plan.heads,
            _least(values, out.itemsize),
        ),
    )


def _rows(array: Any) -> Any:
    return array.reshape(-1, array.shape[-1])


def _judge(built: Any, block: Block, o: Any, lse: Any) -> dict[str, Any]:
    """A block's output beside float64 and numpy."""
    causal, kept = built.config.causal, built.precision
    given = block.alone
    q, k, v = given if kept is None else (x.astype(kept) for x in given)  # what the kernel saw
    expected = reference.attention(q, k, v, causal=causal)
    computed: dict[str, Any] = {"causal": causal, "tile": built.tile_kv, "precision": kept}
    bound, _ = reference.tolerance(o, q, k, v, expected, **computed)
    error = np.abs(o.astype(np.float64) - expected.o)
    return {
        "error": error,
        "ratio": error / np.maximum(bound, np.finfo(np.float64).tiny),
        "o": o,
        "exact": expected.o,
        "plain": plain_attention(q, k, v, causal=causal, dtype=o.dtype),
        "measured": reference.measure(o, lse, *given, expected=expected, **computed),
    }


def worst(errors: Sequence[reference.Error]) -> reference.Error:
    """The error of several outputs together; the tolerance is that of the one nearest to its own."""
    nearest = max(errors, key=lambda e: (not e.ok, e.max / e.tolerance if e.tolerance else 0.0))
    return dataclasses.replace(
        nearest,
        max=max(e.max for e in errors),
        mean=float(np.mean([e.mean for e in errors])),
        ulp=max(e.ulp for e in errors),
        ok=all(e.ok for e in errors),
        lse=max(e.lse for e in errors),
        worst=(),
    )


def _least(values: Values, size: int) -> int:
    """Bytes of the whole problem's q, k, v and o, each once."""
    rows, keys = values["heads"] * values["seq_q"], values["kv_heads"] * values["seq_k"]
    return int(2 * (rows + keys) * values["batch"] * values["head_dim"] * size)


# -- counters ----------------------------------------------------------------------------------------------------------


def scaled(counted: Sequence[Any], factor: float) -> Any:
    """The counters of several launches of one kernel together, times `factor`."""

    def number(values: Iterable[int]) -> int:
        return round(sum(values) * factor)

    def table(dicts: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
        parts = list(dicts)
        keys = dict.fromkeys(key for part in parts for key in part)
        return {key: entry([part[key] for part in parts if key in part]) for key in keys}

    def entry(values: list[Any]) -> Any:
        first = values[0]
        if isinstance(first, int):
            return number(values)
        if isinstance(first, dict):  # of a warpgroup
            return table(values)
        if isinstance(first, tuple):
            return tuple(number(each) for each in zip(*values, strict=True))
        names = [f.name for f in dataclasses.fields(first) if f.name != "opcode"]  # of a line
        return dataclasses.replace(first, **{name: number(getattr(v, name) for v in values) for name in names})

    fields = [f.name for f in dataclasses.fields(counted[0])]
    found = {name: [getattr(c, name) for c in counted] for name in fields}
    return dataclasses.replace(
        counted[0], **{name: number(v) if isinstance(v[0], int) else table(v) for name, v in found.items()}
    )

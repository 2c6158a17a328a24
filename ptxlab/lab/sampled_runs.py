"""Problems that are too large to run whole: a few of their blocks, chosen evenly, and counters for all from those.

A block of queries needs nothing of the others, so it can run by itself. With a mask the work of a block grows evenly
from the first to the last; blocks in the middle of equal shares of all stand for their shares in that case too. Of
decoding some heads of some sequences are run, which all have the same work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.kernels import DTYPES
from ptxlab.lab.subject import Judgement, Ran, Sampled, Values, machines, plain_attention, ways
from ptxlab.launch.buffers import const
from ptxlab.launch.run import Run, cpu_engine, launch

WHOLE = 5e7
"""Multiplications of the scores up to which a problem is run whole: about a second on the CPU machine."""
DECODING = 8.0
"""How much longer a multiplication of decoding takes than one of prefill: where one query is compared with float64, the
keys are read for it alone."""
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


@dataclass(frozen=True)
class DecodePlan:
    """What is run of decoding: of each of these `sequences` the query heads that the `units` have, `each` apiece. A
    unit is what a block takes: a query head, or all that share a key/value head. `share` is the part that is run."""

    sequences: tuple[int, ...]
    units: tuple[int, ...]
    each: int
    share: float

    @property
    def heads(self) -> tuple[int, ...]:
        """The numbers of the query heads."""
        return tuple(unit * self.each + n for unit in self.units for n in range(self.each))

    @property
    def problem(self) -> dict[str, Any]:
        """The problem that has these and nothing else: each unit of each sequence is a sequence of its own. A check
        would name blocks that the whole has not."""
        return {"checks": "memcheck", "batch": len(self.sequences) * len(self.units), "heads": self.each, "kv_heads": 1}

    def block(self, number: int, grid: tuple[int, int, int], units: int) -> int:
        """The number, in that problem, of the block which has this number in the grid of the whole, for `units` units a
        sequence; of a block that is not run, that of the first one."""
        x, y = number % grid[0], number // grid[0] % grid[1]
        each = grid[0] // units  # blocks of a unit
        if x // each not in self.units or y not in self.sequences:
            return 0
        return x % each + each * (self.sequences.index(y) * len(self.units) + self.units.index(x // each))


def decode_plan(values: Values, grouped: bool) -> DecodePlan | None:
    """What to run of decoding; None where the whole problem is small enough. `grouped`: whether a block has all query
    heads of a key/value head."""
    each = values["heads"] // values["kv_heads"] if grouped else 1
    units = values["heads"] // each
    work = DECODING * values["batch"] * values["heads"] * values["seq_k"] * values["head_dim"]
    most = values.get("most", WHOLE)
    if work <= most:
        return None
    affordable = max(1, int(most * units * values["batch"] / work))
    count = min(units, affordable, MOST_BLOCKS)
    sequences = min(values["batch"], max(1, affordable // count), MOST_HEADS)
    if (count, sequences) == (units, values["batch"]):
        return None  # one block is the whole problem
    chosen = tuple(_middles(values["batch"], sequences)), tuple(_middles(units, count))
    return DecodePlan(*chosen, each, len(chosen[0]) * len(chosen[1]) / (units * values["batch"]))


def asked(trace: Trace) -> int:
    """The first of the blocks that a trace asks for."""
    return min(trace.blocks) if isinstance(trace.blocks, frozenset) else 0


def recorded(built: Any, values: Values, trace: Trace, plan: Plan) -> Any:
    """The steps of the block of a plan that the trace asks for, which is run alone: its block 0. Of a block that is not
    run, those of the first one that is. Gives the run."""
    sizes = (values[name] for name in ("batch", "heads", "kv_heads", "seq_q", "seq_k"))
    grid, *_ = built.launch_shape(*sizes)
    every = [(pair, first) for pair in plan.heads for first in plan.firsts]
    number = asked(trace)
    pair, first = next((x for x in every if built.block_of(grid, values["heads"], *x[0], x[1]) == number), every[0])
    ((block,),) = blocks(Plan((pair,), (first,), plan.tile_q, 1), values, built.config.dtype)
    return launched(built, block, cpu_engine(), trace=dataclasses.replace(trace, blocks=0))[3]


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
    """A block as the first one of a problem of its own, arrays `[1, 1, rows, D]`: q goes on after the block's `count`
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


def launched(
    built: Any, block: Block, device: str, row: int | None = None, trace: Any = None
) -> tuple[Any, Any, Any, Run]:
    """Runs a block: (o, lse, state, run), o and lse of its rows; with `row` its online-softmax state `[tiles, 3]` up to
    the last tile that the block sees, else None and the run has counters. trace: as of `launch`."""
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
    ran = launch(kernel, 1, threads, *args, shared=shared, device=device, counters=row is None, trace=trace)
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
        ),
        least=least(values, values["seq_q"], out.dtype),
    )


def of_decoding(ran: Ran, values: Values, plan: DecodePlan, grid: tuple[int, int, int]) -> Ran:
    """The run of a plan's own problem as that of the whole one, whose grid is given."""
    assert ran.judged is not None
    shape = len(plan.sequences), 1, len(plan.heads), ran.judged.error.shape[-1]
    judged = dataclasses.replace(
        ran.judged, error=ran.judged.error.reshape(shape), ratio=ran.judged.ratio.reshape(shape)
    )
    text = (
        f"{len(plan.heads)} of {values['heads']} heads were run, of {len(plan.sequences)} of {values['batch']} "
        f"sequence{'s' if values['batch'] > 1 else ''}; counts are scaled up from them"
    )
    return dataclasses.replace(
        ran,
        run=dataclasses.replace(ran.run, grid=grid, counters=None),
        counts=None if ran.counts is None else scaled([ran.counts], 1 / plan.share),
        judged=judged,
        sampled=Sampled(
            text,
            plan.heads,
            tuple((b, 0) for b in plan.sequences),
        ),
        least=None if ran.least is None else least(values, 1, ran.kept[0].dtype),
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


def least(values: Values, queries: int, dtype: np.dtype[Any]) -> int:
    """Bytes of the whole problem's q, k, v, o and log-sum-exp, each once, of `queries` a head."""
    rows, keys = values["heads"] * queries, values["kv_heads"] * values["seq_k"]
    sums = rows * (8 if dtype == np.float64 else 4)
    return int(values["batch"] * (2 * (rows + keys) * values["head_dim"] * dtype.itemsize + sums))


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

    def whole(values: list[Any]) -> Any:
        return number(values) if isinstance(values[0], int) else table(values)

    fields = [f.name for f in dataclasses.fields(counted[0]) if f.name != "spans"]
    return dataclasses.replace(counted[0], **{name: whole([getattr(c, name) for c in counted]) for name in fields})

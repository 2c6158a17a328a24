"""`decode(q, k_cache, v_cache, lengths)`: one query a head against a cache of keys, and how far from float64 it is.

    out = decode(q, k_cache, v_cache, lengths, kernel="decode_split", splits=4, state=True)
    out.o, out.lse, out.state, out.sums, out.error, out.seconds, out.counters

The cache is dense, `[B, Hkv, max_seq, D]`, or with a block table a pool of pages, `[num_pages, page_size, Hkv, D]`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import reference
from ptxlab.attention import caches, tuned
from ptxlab.attention.common import bundle, dtype_of, rows_of, summary
from ptxlab.attention.heuristics import auto, splits_for, suits_gqa
from ptxlab.attention.merge import split_states
from ptxlab.attention.prefill import arch_of, scale_of
from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import const, out
from ptxlab.launch.run import CHECKS, Run, launch
from ptxlab.reference import Error

if TYPE_CHECKING:
    from ptxlab.emulate.runtime.counters import Counters
    from ptxlab.kernels import DecodeBuilt

Array = NDArray[Any]
Row = tuple[int, int]
"""A query row: (sequence, query head)."""


@dataclass(eq=False)
class Decoded:
    """What `decode` gives back.

    `o` has q's shape, `lse` `[B, Hq]` (natural log). `state` is `[rows, parts, 3]` or None: for each of `rows` the
    maximum m, the sum l and the factor of the merge, of every part that the kernel computes separately. Parts are the
    warps of a block, or where keys were split over the grid the splits, and `sums` `[rows, parts, D]` is what each had
    summed: values times exp(score - m), not divided. For `decode` the parts are the keys, the state is that after each
    key, and `sums` is None. `runs` are the launches (a second one merges splits), `kernels` what ran. `error` compares
    with float64 when it is first read.

    `inputs` are q, the caches and the block table. Of a pool these are copies of the pages that held keys: a server
    soon gives a page to another sequence.
    """

    o: Array
    lse: Array
    state: Array | None
    sums: Array | None
    rows: tuple[Row, ...]
    runs: tuple[Run, ...]
    kernels: tuple[DecodeBuilt, ...]
    splits: int
    scale: float
    lengths: NDArray[np.int32]
    inputs: tuple[Array, Array, Array, Array | None] = field(repr=False)

    @property
    def kernel(self) -> DecodeBuilt:
        """The kernel that went through the keys."""
        return self.kernels[0]

    @property
    def run(self) -> Run:
        """Its launch."""
        return self.runs[0]

    @property
    def seconds(self) -> float:
        """The time of all kernels."""
        return sum(run.seconds for run in self.runs)

    @property
    def counters(self) -> Counters | None:
        """What the CPU machine counted in the first kernel, if it was asked to."""
        return self.run.counters

    @property
    def findings(self) -> list[Any]:
        """What the checks noticed in any of the launches."""
        return [finding for run in self.runs for finding in run.findings]

    @functools.cached_property
    def error(self) -> Error:
        """How far o and lse are from float64; the tolerance is that of the sequence with the largest error."""
        errors = []
        for b in range(len(self.lengths)):
            q, k, v = self.sequence(b)
            o, lse = self.o[b][None, :, None], self.lse[b][None, :, None]
            errors.append(reference.measure(o, lse, q, k, v, scale=self.scale))
        worst = max(errors, key=lambda e: (not e.ok, e.max))
        mean = float(np.mean([e.mean for e in errors]))
        return Error(
            max(e.max for e in errors),
            mean,
            max(e.ulp for e in errors),
            worst.tolerance,
            all(e.ok for e in errors),
            max(e.lse for e in errors),
            worst.lse_tolerance,
            (errors.index(worst), *worst.worst[1:]),
        )

    def expected(self) -> Array:
        """o in float64."""
        return np.stack(
            [reference.attention(*self.sequence(b), scale=self.scale).o[0, :, 0] for b in range(len(self.lengths))]
        )

    def sequence(self, b: int) -> tuple[Array, Array, Array]:
        """q `[1, Hq, 1, D]` and the keys and values `[1, Hkv, length, D]` of a sequence."""
        q, key, value, table = self.inputs
        k, v = (caches.keys_of(x, b, int(self.lengths[b]), table)[None] for x in (key, value))
        return q[b][None, :, None], k, v

    def parts(self, row: int) -> list[NDArray[np.int64]]:
        """Which keys each part of recorded row `row` took: those of a warp, or of a split."""
        keys = np.arange(int(self.lengths[self.rows[row][0]]))
        if len(self.kernels) > 1:
            step = self.kernel.config.part_step
            size = max(1, -(-len(keys) // self.splits) + step - 1 & -step)
            return [keys[n * size : (n + 1) * size] for n in range(self.splits)]
        warps = self.kernel.spec.warp_of(self.kernel.config, keys)
        return [keys[warps == n] for n in range(max(1, self.kernel.config.warps))]

    def exact(self, row: int) -> tuple[Array, Array]:
        """What `state` and `sums` of recorded row `row` should be, in float64; see `merge.split_states`."""
        b, h = self.rows[row]
        q, k, v = self.sequence(b)
        kv_head = h // (q.shape[1] // k.shape[1])
        return split_states(q[0, h, 0], k[0, kv_head], v[0, kv_head], self.scale, self.parts(row))

    def _table(self) -> dict[str, str]:
        return summary(" + ".join(built.name for built in self.kernels), self, self.findings, splits=str(self.splits))

    def __repr__(self) -> str:
        return "\n".join(f"{name:<11} {text}" for name, text in self._table().items())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle(self, self._table())


def decode(
    q: Array,
    k_cache: Array,
    v_cache: Array,
    lengths: int | Sequence[int] | Array,
    block_table: Array | None = None,
    *,
    kernel: str | DecodeBuilt = "auto",
    scale: float | None = None,
    splits: int | None = None,
    device: str = "auto",
    state: bool | Sequence[Row] = False,
    checks: Sequence[str] = CHECKS,
    counters: bool = False,
    trace: Any = None,
) -> Decoded:
    """softmax(q kT * scale) v for one query row a head, over the first `lengths[b]` keys of each sequence.

    q `[B, Hq, D]`; k_cache and v_cache `[B, Hkv, max_seq, D]`, or with a block_table i32 `[B, max_pages]` pools
    `[num_pages, page_size, Hkv, D]`; all float32, float16 or bfloat16. lengths: i32 `[B]`, or one number for all.

    kernel: a name (`pl.kernels.names("decode")`), a built kernel, or "auto": what `pl.tune` has found for such a
    problem, else what suits it. splits: into how many parts the keys are split, for `decode_split` and `decode_gqa`; by
    default what `split_count` says. state: True records the state of all rows, a list of (sequence, head) of those.
    scale: 1/sqrt(D) by default. device, checks, counters, trace: see `launch`.

    Raises `LaunchError`, naming the parameter, for shapes, types, lengths and pages that do not fit, `TargetError` for
    a head_dim that there is no kernel for.
    """
    from ptxlab.kernels.decode_spec import NUMPY

    given = {"q": q, "k_cache": k_cache, "v_cache": v_cache}
    q, key, value = (caches.array(name, x) for name, x in given.items())
    dtype = dtype_of(dict(zip(given, (q, key, value), strict=True)), NUMPY)
    table = None if block_table is None else caches.block_table(block_table)
    heads_kv = caches.check_shapes(q, key, value, table)
    batch, heads_q, dim = q.shape
    counts = caches.lengths_of(lengths, batch, key, table)
    scale = scale_of(scale, dim)
    if isinstance(state, bool):
        rows: list[Row] = [(b, h) for b in range(batch) for h in range(heads_q)] if state else []
    else:
        rows = rows_of(state, (batch, heads_q), "sequence, head")

    arch = arch_of(device)
    if kernel == "auto" and splits is None and table is None:
        keys = int(counts.max(initial=0))
        found = tuned.recall(device, tuned.problem("decode", dtype, dim, keys, False, (heads_q, heads_kv)))
        kernel, splits = found or (kernel, splits)
    name = _name(kernel)
    grouped = name == "decode_gqa" or (name == "auto" and suits_gqa(dtype, dim, arch))
    if splits is None and not isinstance(kernel, str) and name == "decode_gqa" and not kernel.config.partial:
        splits = 1  # that is how it was built
    parts = splits_for(splits, name, grouped, (batch, heads_q, heads_kv), counts, device)
    if name == "auto":
        name = auto(grouped, parts, table is not None)
    by_value = isinstance(lengths, int | np.integer)
    built = _kernel(kernel, name, key, table, dtype, by_value, parts, arch)
    if built.config.length == "value" and len(set(counts.tolist())) > 1:
        raise LaunchError(f"lengths: {built.name} takes one length for all; build it with length='pointer'")
    args: dict[str, Any] = {"q": const(q), "key": const(key), "value": const(value), "scale": scale}
    names = {p.name for p in built.params}
    if "length" in names:
        args["length"] = const(counts) if built.config.length == "pointer" else int(counts[0])
    else:
        args["lengths"] = const(counts)
    if table is not None:
        args["table"] = const(np.where(table < 0, 0, table))
    o, lse = np.empty(q.shape, q.dtype), np.empty(q.shape[:2], np.float32)
    result = {"o": out(o), "lse": out(lse)}
    options: dict[str, Any] = {"device": device, "checks": checks, "counters": counters, "trace": trace}

    if "partial" not in names:
        steps = key.shape[2] if built.spec.name == "decode" else built.config.warps
        built, recorded = _recorded(built, rows, q.shape, steps)
        more = {"splits": 1} if "splits" in names else {}
        run = _launch(built, (batch, heads_q, heads_kv, 1), options, **args, **result, **more, **recorded)
        runs, built_all = [run], [built]
    else:
        from ptxlab import kernels

        partial = np.empty((batch, heads_q, parts, dim + 2), np.float32)
        first = _launch(built, (batch, heads_q, heads_kv, parts), options, **args, partial=out(partial))
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=dim, dtype=dtype, arch=built.config.arch)
        reduce, recorded = _recorded(reduce, rows, q.shape, parts)
        problem = batch, heads_q, heads_kv, 1
        second = _launch(reduce, problem, options, partial=const(partial), **result, **recorded)
        runs, built_all = [first, second], [built, reduce]
        recorded["sums"] = np.stack([partial[row][:, :dim] for row in rows]) if rows else None
    states = recorded.get("probe")
    if states is not None and built.spec.name == "decode":
        states = states[:, : int(counts.max(initial=0))]
    if table is not None:
        key, value, table = caches.used_pages(key, value, table, counts)
    return Decoded(
        o,
        lse,
        states,
        recorded.get("sums"),
        tuple(rows),
        tuple(runs),
        tuple(built_all),
        parts,
        scale,
        counts,
        (q, key, value, table),
    )


# -- the kernel --------------------------------------------------------------------------------------------------------


def _name(kernel: Any) -> str:
    """The name of what was asked for; `LaunchError` if it is no kernel for decoding."""
    from ptxlab.kernels import DecodeBuilt

    if isinstance(kernel, str):
        return kernel
    if isinstance(kernel, DecodeBuilt):
        return kernel.spec.name
    what = getattr(kernel, "name", None) or type(kernel).__name__
    raise LaunchError(f"kernel: a name or a built decode kernel is wanted, got {what}")


def _kernel(
    kernel: str | DecodeBuilt,
    name: str,
    key: Array,
    table: Array | None,
    dtype: str,
    by_value: bool,
    splits: int,
    arch: str,
) -> DecodeBuilt:
    """The kernel to run: built here from a name, or the one given if it is of the right kind."""
    from ptxlab import kernels

    spec = kernels.get(name, "decode")
    if name == "decode_reduce":
        raise LaunchError("kernel: decode_reduce merges what decode_split found; write kernel='decode_split'")
    kinds = spec.parameters["cache"].choices if "cache" in spec.parameters else ("dense",)
    cache = "dense" if table is None else "paged"
    if cache not in kinds:
        what = "takes no block_table; write kernel='decode_paged'" if table is not None else "wants a block_table"
        raise LaunchError(f"kernel: {name} {what}")
    if not isinstance(kernel, str):
        config = kernel.config
        wanted: dict[str, Any] = {"dtype": dtype, "cache": cache}
        if table is not None:
            wanted["page_size"] = key.shape[1]
        if "partial" in spec.parameters and splits > 1:
            wanted["partial"] = True
        for what, wants in wanted.items():
            if getattr(config, what) != wants:
                raise LaunchError(
                    f"{kernel.name} was built with {what}={getattr(config, what)!r}, the call has {what}={wants!r}"
                )
        return kernel
    more: dict[str, Any] = {"length": "value" if by_value else "pointer", "partial": splits > 1, "cache": cache}
    if table is not None:
        more["page_size"] = key.shape[1]
    more = {name: value for name, value in more.items() if name in spec.parameters}
    return spec.build(head_dim=key.shape[3], dtype=dtype, arch=arch, **more)


def _recorded(
    built: DecodeBuilt, rows: Sequence[Row], shape: tuple[int, ...], parts: int
) -> tuple[DecodeBuilt, dict[str, Any]]:
    """The kernel that stores its state, with where to, if any row is recorded."""
    if not rows:
        return built, {}
    from ptxlab import kernels

    built = built.with_probes()
    slots = np.full(shape[:2], kernels.NOWHERE, np.uint32)
    for slot, row in enumerate(rows):
        slots[row] = slot
    into: dict[str, Any] = {"slots": slots, "probe": np.full((len(rows), parts, 3), np.nan, np.float32)}
    if any(p.name == "sums" for p in built.params):
        into["sums"] = np.full((len(rows), parts, shape[2]), np.nan, np.float32)
    return built, into


def _launch(built: DecodeBuilt, problem: tuple[int, int, int, int], options: dict[str, Any], **given: Any) -> Run:
    """One launch of a built kernel."""
    grid, block, shared = built.launch_shape(*problem)
    return launch(built, grid, block, *built.arguments(**given), shared=shared, **options)

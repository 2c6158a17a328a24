"""`decode(q, k_cache, v_cache, lengths)`: one query per head against a cache of keys, and how far from float64 it is.

    out = decode(q, k_cache, v_cache, lengths, kernel="decode_split", splits=4, state=True)
    out.o, out.lse, out.state, out.sums, out.error, out.seconds, out.counters

The cache is dense, `[B, Hkv, max_seq, D]`, or with a block table a pool of pages, `[num_pages, page_size, Hkv, D]`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import kernels, options, reference
from ptxlab.attention import caches, heuristics, tuned
from ptxlab.attention.merge import split_states
from ptxlab.attention.problem import AnyRow, Problem, Result, Step, check_call, dtype_of, run, scale_of
from ptxlab.attention.tile_lists import key_ranges
from ptxlab.errors import LaunchError
from ptxlab.kernels import DecodeBuilt
from ptxlab.kernels.decode_spec import NUMPY
from ptxlab.kernels.mods import Applied, applied
from ptxlab.launch.buffers import const, out
from ptxlab.launch.run import passes_on

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Decode(Problem):
    """q `[B, Hq, D]`, the caches, the block table or None, i32 `[B]` lengths; `one_length`: whether the call gave one
    for all. `splits`: into how many parts the grid cuts the keys; None until a kernel is chosen."""

    q: Array
    key: Array
    value: Array
    table: NDArray[np.int32] | None
    lengths: NDArray[np.int32]
    one_length: bool
    scale: float
    dtype: str
    splits: int | None
    shape: tuple[int, ...]
    mods: Applied | None = None
    phase = "decode"
    causal = False

    @classmethod
    def of(
        cls, q: Any, k_cache: Any, v_cache: Any, lengths: Any, block_table: Any, scale: Any, splits: Any,
        mods: Mapping[str, Any],
    ) -> Decode:  # fmt: skip
        """The problem; mods: what `kernels.mods.applied` takes. `LaunchError` names what does not fit."""
        given = {name: caches.array(name, x) for name, x in (("q", q), ("k_cache", k_cache), ("v_cache", v_cache))}
        q, key, value = given.values()
        dtype = dtype_of(given, NUMPY)
        table = None if block_table is None else caches.block_table(block_table)
        caches.check_shapes(q, key, value, table)
        counts = caches.lengths_of(lengths, len(q), key, table)
        one = isinstance(lengths, int | np.integer)
        made = applied(**mods)
        if made is not None:
            longest = int(counts.max(initial=0))
            made.check(len(q), q.shape[1], (int(counts.min(initial=longest)) - 1, longest - 1), longest)
        return cls(q, key, value, table, counts, one, scale_of(scale, q.shape[2]), dtype, splits, q.shape, made)

    @property
    def inputs(self) -> tuple[Array, Array, Array, Array | None]:
        return self.q, self.key, self.value, self.table

    @property
    def sizes(self) -> tuple[int, int, int]:
        """B, Hq and Hkv."""
        return *self.q.shape[:2], self.key.shape[1 if self.table is None else 2]

    @property
    def longest(self) -> int:
        """Keys of the longest sequence."""
        return int(self.lengths.max(initial=0))

    @functools.cached_property
    def spans(self) -> NDArray[np.uint32] | None:
        """u32 `[B, 2]`: the first key that any head of a sequence sees, and the one after the last; None: all do."""
        if self.mods is None or not self.mods.mods.masks:
            return None
        return key_ranges(self.mods, np.float32, self.lengths, self.q.shape[1])

    # -- how it is computed
    def parameters(self, spec: Any, device: str) -> dict[str, Any]:
        takes, name = spec.parameters, spec.name
        if name == "decode_reduce":
            raise LaunchError("kernel: decode_reduce merges what decode_split found; write kernel='decode_split'")
        cache = "dense" if self.table is None else "paged"
        if cache not in (takes["cache"].choices if "cache" in takes else ("dense",)):
            what = "needs a block_table" if self.table is None else "takes no block_table; write kernel='decode_paged'"
            raise LaunchError(f"kernel: {name} {what}")
        found: dict[str, Any] = {"head_dim": self.q.shape[2], "dtype": self.dtype, "arch": heuristics.arch_of(device)}
        found |= {"length": "value" if self.one_length else "pointer", "partial": (self.splits or 1) > 1}
        found |= {"cache": cache} | ({} if self.table is None else {"page_size": self.key.shape[1]})
        found = {name: value for name, value in found.items() if name in takes}
        return found | ({} if self.mods is None else {"mods": self.mods.mods})

    def choose(self, kernel: Any, device: str, probes: bool) -> tuple[DecodeBuilt, Decode]:
        name, splits, arch = self.name_of(kernel), self.splits, heuristics.arch_of(device)
        if name == "auto" and splits is None and self.table is None:
            about = tuned.problem("decode", self.dtype, self.q.shape[2], self.longest, False, self.sizes[1:])
            kernel, splits = tuned.recall(device, about) or (kernel, splits)
            name = self.name_of(kernel)
        built = None if isinstance(kernel, str) else kernel
        grouped = name == "decode_gqa" or (name == "auto" and heuristics.suits_gqa(self.dtype, self.q.shape[2], arch))
        if splits is None and name == "decode_gqa" and built is not None and not built.config.partial:
            splits = 1  # that is how it was built
        splits = heuristics.splits_for(splits, name, grouped, self.sizes, self.longest, device)
        problem = dataclasses.replace(self, splits=splits)
        name = heuristics.auto(grouped, splits, self.table is not None) if name == "auto" else name
        spec = kernels.get(name, "decode")
        wanted = problem.parameters(spec, device)
        if built is None:
            return spec.build(**wanted), problem
        needed = {"dtype", "cache", "page_size", *(["partial"] if splits > 1 else [])}
        self.check_built(built, **{"cache": "dense"} | {what: wanted[what] for what in wanted if what in needed})
        if built.config.length == "value" and len(set(self.lengths.tolist())) > 1:
            raise LaunchError(f"lengths: {built.name} takes one length for all; build it with length='pointer'")
        return built, problem

    def steps(self, built: DecodeBuilt, rows: Sequence[AnyRow]) -> tuple[list[Step], dict[str, Array]]:
        q, names, parts = self.q, {p.name for p in built.params}, self.splits or 1
        into: dict[str, Array] = {"o": np.empty(q.shape, q.dtype), "lse": np.empty(q.shape[:2], np.float32)}
        given: dict[str, Any] = {"q": const(q), "key": const(self.key), "value": const(self.value), "scale": self.scale}
        if "length" in names:
            given["length"] = int(self.lengths[0]) if built.config.length == "value" else const(self.lengths)
        else:
            given["lengths"] = const(self.lengths)
        given |= self.further(*([] if self.spans is None else [self.spans]))
        if self.table is not None:
            given["table"] = const(np.where(self.table < 0, 0, self.table))
        steps, last = [], built
        if "partial" in names:
            partial = into["partial"] = np.empty((*q.shape[:2], parts, q.shape[2] + 2), np.float32)
            shape = built.launch_shape(*self.sizes, parts)
            steps.append(Step(built, *shape, built.arguments(**given, partial=out(partial))))
            given = {"partial": const(partial)}
            last = kernels.get("decode_reduce", "decode").build(
                head_dim=q.shape[2], dtype=self.dtype, arch=built.config.arch
            )
        elif "splits" in names:
            given["splits"] = 1
        last = last.with_probes() if rows else last
        if last.config.probes:
            kept = parts if steps else self.key.shape[2] if last.spec.name == "decode" else last.config.warps
            probes = self.probes(rows, kept, np.float32)
            into |= {"state": probes["probe"][:, : self.longest] if last.spec.name == "decode" else probes["probe"]}
            if any(p.name == "sums" for p in last.params):
                probes["sums"] = into["sums"] = np.full((len(rows), kept, q.shape[2]), np.nan, np.float32)
            given |= probes
        given |= {"o": out(into["o"]), "lse": out(into["lse"])}
        steps.append(Step(last, *last.launch_shape(*self.sizes), last.arguments(**given)))
        return steps, into

    def kept(self) -> Decode:
        if self.table is None:
            return self
        key, value, table = caches.used_pages(self.key, self.value, self.table, self.lengths)
        return dataclasses.replace(self, key=key, value=value, table=table)

    # -- what it should give
    def sequence(self, b: int) -> tuple[Array, Array, Array]:
        """q `[1, Hq, 1, D]` and the keys and values `[1, Hkv, length, D]` of a sequence."""
        k, v = (caches.keys_of(x, b, int(self.lengths[b]), self.table)[None] for x in (self.key, self.value))
        return self.q[b][None, :, None], k, v

    def cases(self, built: Any) -> list[tuple[tuple[Array, Array, Array], dict[str, Any]]]:
        return [(self.sequence(b), {"scale": self.scale, **self.changes(b)}) for b in range(len(self.q))]

    def parts(self, b: int, ran: Sequence[DecodeBuilt]) -> list[NDArray[np.int64]]:
        """Which keys of a sequence each part took: those of a warp, or of a split."""
        built, splits = ran[0], self.splits or 1
        first, last = (0, self.lengths[b]) if self.spans is None else self.spans[b]
        step = built.config.part_step
        keys = np.arange(int(first) & -step, int(last))
        if len(ran) > 1:
            size = max(1, -(-len(keys) // splits) + step - 1 & -step)
            return [keys[n * size : (n + 1) * size] for n in range(splits)]
        warps = built.spec.warp_of(built.config, np.arange(len(keys)))
        return [keys[warps == n] for n in range(max(1, built.config.warps))]

    def exact(self, row: Any, ran: Sequence[DecodeBuilt]) -> tuple[Array, Array | None]:
        """See `merge.split_states`; for `decode` the state after each key."""
        (b, h), (q, k, v) = row, self.sequence(row[0])
        changes: Any = self.changes(b)
        kv_head = h // (q.shape[1] // k.shape[1])
        if ran[0].spec.name == "decode":
            visited = np.zeros(k.shape[2], bool)
            visited[self.parts(b, ran)[0]] = True
            how: dict[str, Any] = {"tile": 1, "rows": [(0, h, 0)], "visited": [visited], **changes}
            state = reference.attention(q, k, v, scale=self.scale, **how).state
            assert state is not None
            return state[0], None
        place = 0, h, np.zeros(1, int)
        scores, _ = reference.scores_of(q[0, h], k[0, kv_head], self.scale, False, place, 1, changes)
        sink = -np.inf if self.mods is None or self.mods.sinks is None else float(self.mods.sinks[h])
        return split_states(scores[0], v[0, kv_head], self.parts(b, ran), sink)


@passes_on
def decode(
    q: Array = options.MISSING,
    k_cache: Array = options.MISSING,
    v_cache: Array = options.MISSING,
    lengths: int | Sequence[int] | Array = options.MISSING,
    block_table: Array | None = None,
    *,
    kernel: str | DecodeBuilt = "auto",
    scale: float | None = None,
    splits: int | None = None,
    state: bool | Sequence[tuple[int, int]] = False,
    score_mod: Any = None,
    mask_mod: Any = None,
    sinks: Array | None = None,
    **arrays: Any,
) -> Result:
    """softmax(q kT * scale) v for one query row per head, over the first `lengths[b]` keys of each sequence.

    Parameters
    ----------
    q
        `[B, Hq, D]`, of float32, float16 or bfloat16.
    k_cache, v_cache
        `[B, Hkv, max_seq, D]`, or with a block_table pools `[num_pages, page_size, Hkv, D]`; of q's type.
    lengths
        i32 `[B]`, or one number for all.
    block_table
        i32 `[B, max_pages]`: the pages of each sequence.
    kernel
        A name (`pl.kernels.names("decode")`), a built kernel, or "auto": what `pl.tune` has found for such a problem,
        else what suits it.
    scale
        By default 1/sqrt(D).
    splits
        Into how many parts `decode_split` and `decode_gqa` split the keys; by default what `split_count` says.
    state
        True records the state of all rows; a list of (sequence, head) that of those rows.
    score_mod, mask_mod, sinks, **arrays
        As for `pl.attention`; q_idx is length - 1.
    device, checks, counters, trace, seed, budget, workers
        As for `pl.launch`.

    Returns
    -------
    ptxlab.attention.problem.Result
        `o` `[B, Hq, D]`, `lse`, `error`, `counters` and more.

    Raises
    ------
    LaunchError
        Names the parameter where shapes, types, lengths or pages do not fit.
    TargetError
        Where no kernel takes the head_dim.

    Examples
    --------
    >>> pl.decode(q, k_cache, v_cache, lengths, kernel="decode_split", splits=4).o
    """
    given = {"q": q, "k_cache": k_cache, "v_cache": v_cache, "lengths": lengths}
    mods = {"score_mod": score_mod, "mask_mod": mask_mod, "sinks": sinks}
    more, mods = check_call(decode, given, arrays, mods, kernel)
    return run(Decode.of(q, k_cache, v_cache, lengths, block_table, scale, splits, mods), kernel, state, more)

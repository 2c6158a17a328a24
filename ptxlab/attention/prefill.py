"""`attention(q, k, v)`: one call that runs a kernel of the library and says how far it is from numpy in float64.

out = attention(q, k, v, kernel="scalar", causal=True, state=True)
out.o, out.lse, out.state, out.error, out.seconds, out.counters
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import kernels, options, reference
from ptxlab.attention import caches, tuned
from ptxlab.attention.heuristics import fullest, target_of
from ptxlab.attention.problem import AnyRow, Problem, Result, Step, check_call, dtype_of, run, scale_of
from ptxlab.attention.tile_lists import TileLists, tile_lists
from ptxlab.errors import LaunchError
from ptxlab.kernels import Built
from ptxlab.kernels.mods import Applied, applied
from ptxlab.launch.buffers import const, out
from ptxlab.launch.run import passes_on
from ptxlab.reference import Row

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Prefill(Problem):
    """q `[B, Hq, Sq, D]`, k and v `[B, Hkv, Sk, D]`, contiguous."""

    q: Array
    k: Array
    v: Array
    shape: tuple[int, ...]
    causal: bool
    scale: float
    dtype: str
    mods: Applied | None = None
    phase = "prefill"
    lengths = None
    splits = 1

    @classmethod
    def of(cls, q: Any, k: Any, v: Any, causal: Any, scale: Any, mods: Mapping[str, Any]) -> Prefill:
        """The problem; mods: what `kernels.mods.applied` takes. `LaunchError` names what does not fit."""
        causal = options.switch("causal", causal)
        given = {name: caches.array(name, x) for name, x in (("q", q), ("k", k), ("v", v))}
        q4, k4, v4 = _four_dimensions(given)
        try:
            batch, heads, _, rows, keys, dim = reference.check_shapes(q4, k4, v4)
        except ValueError as error:
            raise LaunchError(str(error)) from None
        if q4.size == 0:
            raise LaunchError(f"q has shape {q4.shape}: there is no row to compute")
        dtype = dtype_of({"q": q4, "k": k4, "v": v4}, kernels.DTYPES)
        made = applied(**mods, causal=causal)
        if made is not None:
            made.check(batch, heads, (keys - rows, keys - 1), keys)
        return cls(q4, k4, v4, given["q"].shape, causal, scale_of(scale, dim), dtype, made)

    @property
    def inputs(self) -> tuple[Array, Array, Array]:
        return self.q, self.k, self.v

    # -- how it is computed
    def parameters(self, spec: Any, device: str) -> dict[str, Any]:
        arch = target_of(spec, device)
        found = {"head_dim": self.q.shape[3], "causal": self.causal, "dtype": self.dtype, "arch": arch}
        return found | ({} if self.mods is None else {"mods": self.mods.mods})

    def choose(self, kernel: Any, device: str, probes: bool) -> tuple[Built, Prefill]:
        (*_, rows, dim), keys = self.q.shape, self.k.shape[2]
        name = self.name_of(kernel)
        if name == "auto":
            found = tuned.recall(device, tuned.problem("prefill", self.dtype, dim, keys, self.causal, (1, 1)))
            auto = kernels.Config.auto
            config = found[0].config if found else auto(dim, rows, keys, self.causal, self.dtype, fullest(device))
            kernel = dataclasses.replace(config, probes=probes, mods=self.mods and self.mods.mods).build()
        elif isinstance(kernel, str):
            spec = kernels.get(name, "prefill")
            kernel = spec.build(**self.parameters(spec, device), probes=probes)
        masked = self.mods is not None and self.mods.mods.masks  # that has the causal mask in it
        self.check_built(kernel, dtype=self.dtype, causal=self.causal and not masked)
        return kernel.with_probes() if probes else kernel, self

    def steps(self, built: Built, rows: Sequence[AnyRow]) -> tuple[list[Step], dict[str, Array]]:
        (batch, heads_q, count, _), (_, heads_kv, keys, _) = self.q.shape, self.k.shape
        real = np.float64 if self.dtype == "f64" else np.float32
        into: dict[str, Array] = {"o": np.empty(self.q.shape, self.q.dtype), "lse": np.empty(self.q.shape[:3], real)}
        probes = self.probes(rows, reference.tiles(keys, built.tile_kv), real) if built.config.probes else {}
        q, k, v = map(const, self.inputs)
        lists = self.lists(built)
        more: dict[str, Any] = {**probes, "mods": self.further(*((lists.starts, lists.entries) if lists else ()))}
        arguments = built.arguments(q, k, v, out(into["o"]), out(into["lse"]), self.scale, **more)
        into |= {"state": probes["probe"]} if probes else {}
        return [Step(built, *built.launch_shape(batch, heads_q, heads_kv, count, keys), arguments)], into

    def lists(self, built: Built) -> TileLists | None:
        """The tiles of keys that each tile of rows visits; None where no mask_mod says so."""
        if self.mods is None or not self.mods.mods.masks:
            return None
        sizes = (*self.q.shape[:3], self.k.shape[2])
        return tile_lists(self.mods, np.float64 if self.dtype == "f64" else np.float32, sizes, built.config.listed)

    # -- what it should give
    def cases(self, built: Built) -> list[tuple[tuple[Array, Array, Array], dict[str, Any]]]:
        kept, options = built.precision, {"causal": self.causal, "scale": self.scale}
        q, k, v = (x if kept is None else x.astype(kept) for x in self.inputs)
        return [((q, k, v), {**options, "tile": built.tile_kv, "precision": kept, **self.changes()})]

    def exact(self, row: Any, ran: Sequence[Built]) -> tuple[Array, None]:
        ((inputs, given),) = self.cases(ran[0])
        del given["precision"]
        lists, tile = self.lists(ran[0]), row[2] // ran[0].config.tile_q
        visited = None if lists is None or ran[0].tile_kv == 1 else [lists.visited(row[0], row[1], tile)]
        state = reference.attention(*inputs, **given, rows=[row], visited=visited).state
        assert state is not None
        return state[0], None


@passes_on
def attention(
    q: Array = options.MISSING,
    k: Array = options.MISSING,
    v: Array = options.MISSING,
    *,
    kernel: str | Built = "auto",
    causal: bool = False,
    scale: float | None = None,
    state: bool | Sequence[Row] = False,
    score_mod: Any = None,
    mask_mod: Any = None,
    sinks: Array | None = None,
    **arrays: Any,
) -> Result:
    """softmax(q kT * scale) v, by a kernel of the library.

    Parameters
    ----------
    q
        `[B, Hq, Sq, D]`, of float32, float64, float16 or bfloat16, in numpy or any library that has DLPack.
    k, v
        `[B, Hkv, Sk, D]`, of the same type. All three may leave out the batch, or batch and heads: `[S, D]` is one
        head.
    kernel
        A name (`pl.kernels.names("prefill")`), a built kernel, or "auto": what `pl.tune` has found for such a problem
        on this device, else the best rung that fits, with the tiles that `pl.kernels.Config.auto` chooses.
    causal
        Row i sees key j if `j <= i + Sk - Sq`.
    scale
        By default 1/sqrt(D).
    state
        True records the online-softmax state of row 0 of every head; a list of (batch, head, row) that of those rows.
    score_mod
        A function `f(score, b, h, q_idx, kv_idx)` that changes a scaled score, in plain Python and numpy on one number
        at a time, or a variant of `ptxlab.kernels.variants`. q_idx is row + Sk - Sq, so `kv_idx <= q_idx` is causal.
    mask_mod
        Another, `f(b, h, q_idx, kv_idx)`: whether a row sees a key.
    sinks
        `[Hq]`: scores that take part in the softmax and have no value.
    device, checks, counters, trace, seed, budget, workers
        As for `pl.launch`.
    **arrays
        Further parameters of `score_mod` and `mask_mod`, by name.

    Returns
    -------
    ptxlab.attention.problem.Result
        `o` as numpy array with q's dimensions, `lse`, `error`, `counters` and more.

    Raises
    ------
    LaunchError
        Where shapes or types do not fit.
    TargetError
        Where head_dim is beyond the kernel's limit.

    Examples
    --------
    >>> pl.attention(q, k, v, kernel="tiled", causal=True).o
    """
    mods = {"score_mod": score_mod, "mask_mod": mask_mod, "sinks": sinks}
    more, mods = check_call(attention, {"q": q, "k": k, "v": v}, arrays, mods, kernel, causal=causal)
    return run(Prefill.of(q, k, v, causal, scale, mods), kernel, state, more)


def _four_dimensions(arrays: Mapping[str, Any]) -> list[Array]:
    if len({a.ndim for a in arrays.values()}) > 1 or arrays["q"].ndim not in (2, 3, 4):
        shapes = ", ".join(f"{name} {list(a.shape)}" for name, a in arrays.items())
        raise LaunchError(f"q, k and v should all be [B, H, S, D], all [H, S, D] or all [S, D]; got {shapes}")
    return [np.ascontiguousarray(a).reshape((1,) * (4 - a.ndim) + a.shape) for a in arrays.values()]

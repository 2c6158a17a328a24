"""`tune`: the configuration of a kernel that is quickest, by time on a GPU or by the performance model without one.

    best = pl.tune("tiled2d", shapes=[512], device="gpu")     # measured
    best = pl.tune("mma", [1024], device="cpu", gpu="A100")   # modelled, and labelled so
    pl.attention(q, k, v, kernel="auto", device="gpu")        # uses what was found, for lengths of the same class

The search is Optuna's: every combination where there are few, else its sampler TPE, which tries more where earlier
trials were good.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ptxlab import kernels as library
from ptxlab import options
from ptxlab.attention import tuned
from ptxlab.attention.decode import decode
from ptxlab.attention.heuristics import SPLITTING, arch_of
from ptxlab.attention.prefill import attention
from ptxlab.errors import LaunchError, PtxlabError, optional
from ptxlab.launch.buffers import memory_of
from ptxlab.options import complete
from ptxlab.performance.estimate import Work, combined, estimate, work_of
from ptxlab.performance.peaks import peaks
from ptxlab.sweeps.measure import inputs, measure
from ptxlab.sweeps.plan import BY_LAUNCH, Point, Refusals, Shape

FIXED = ("head_dim", "causal", "dtype", "arch", "probes", "partial", "cache", "page_size", "length")
"""Build parameters that say which problem is solved; the others are tuned."""
TRIALS = 60
"""Combinations that are tried where there are more."""
SPLITS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Tuned:
    """What was found. parameters: of the best configuration, and splits where the kernel has them; microseconds: of all
    shapes together; basis: "measured" or "modelled"; trials: (parameters, microseconds) of all that ran, best first;
    refused: combinations that are not legal, or failed, by reason; interrupted: whether the search was ended early."""

    kernel: str
    device: str
    basis: str
    parameters: dict[str, Any]
    microseconds: float
    trials: list[tuple[dict[str, Any], float]] = field(repr=False)
    refused: Refusals = field(repr=False)
    interrupted: bool = False

    def __str__(self) -> str:
        chosen = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        worst = self.trials[-1][1]
        out = [
            f"{self.kernel} on {self.device}: {chosen or 'no parameter to choose'}: "
            f"{self.microseconds:,.1f} µs, {self.basis}",
            f"  {len(self.trials)} configurations tried, the slowest {worst / self.microseconds:.2f} times as long; "
            f"{self.refused.total} not legal" + ("; interrupted" if self.interrupted else ""),
        ]
        for parameters, spent in self.trials[:5]:
            out.append(f"  {spent:>12,.1f} µs  " + ", ".join(f"{n}={v}" for n, v in parameters.items()))
        return "\n".join(out)

    __repr__ = __str__


@complete("pl.tune('tiled2d', shapes=[512], device='cpu', gpu='A100')")
def tune(
    kernel: str,
    shapes: Any = (512,),
    device: str = "auto",
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    causal: bool = False,
    dtype: str | None = None,
    gpu: str | None = None,
    trials: int = TRIALS,
    seed: int = 0,
    progress: bool = True,
) -> Tuned:
    """Searches the quickest configuration of a library kernel, and remembers it for `kernel="auto"`.

    Ctrl-C ends the search with what was found.

    Parameters
    ----------
    kernel
        The name of a kernel of the library.
    shapes
        As for `pl.sweep`; the time for all together counts.
    device
        "gpu": measured there; "cpu": modelled.
    grid
        The values to try, by default all choices of the kernel's tiles, warps, stages and splits.
    causal, dtype
        `causal` of prefill, `dtype` of both.
    gpu
        For which GPU to model, a name of `ptxlab.performance.peaks.PEAKS`; by default that of the kernel's target.
    trials
        At most so many configurations.
    seed
        Of the search.
    progress
        Whether to show a bar.

    Returns
    -------
    Tuned
        The configurations that were tried, and the best.

    Raises
    ------
    LaunchError
        Where no configuration is legal.
    UnavailableError
        Without Optuna.
    """
    optuna = optional("optuna", "pl.tune needs Optuna", "'ptxlab[scale]'")
    spec = library.get(kernel)
    where = memory_of(device)
    target = arch_of("gpu") if where == "gpu" and not getattr(spec, "alone", "") else _arch(spec)
    fixed: dict[str, Any] = {"dtype": dtype or spec.parameters["dtype"].default, "arch": target}
    if spec.phase == "prefill":
        fixed["causal"] = options.switch("causal", causal)
    elif causal:
        raise LaunchError(f"causal: {kernel} decodes one row, which sees all keys")
    given = [shapes] if isinstance(shapes, int | Shape | Mapping) else list(shapes)
    problems = [Shape.of(shape) for shape in given]
    if not problems:
        raise LaunchError("shapes: there is none; write:  shapes=[512]")
    values = _grid(spec, grid)
    count = math.prod(map(len, values.values()))
    trials = min(options.whole("trials", trials, 1), count)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = (
        optuna.samplers.GridSampler(values, seed=seed) if trials == count else optuna.samplers.TPESampler(seed=seed)
    )
    refused, tried = Refusals(), dict[tuple[Any, ...], float]()

    def spent(trial: Any) -> float:
        chosen = {name: trial.suggest_categorical(name, choices) for name, choices in values.items()}
        key = tuple(chosen.values())
        if key in tried:  # TPE may ask for the same again
            return tried[key]
        try:
            tried[key] = sum(_spent(spec, fixed, chosen, shape, where, gpu) for shape in problems)
        except PtxlabError as error:
            refused.add(error)
            raise optuna.TrialPruned(str(error)) from None
        return tried[key]

    study = optuna.create_study(sampler=sampler)
    interrupted = True
    with contextlib.suppress(KeyboardInterrupt):
        study.optimize(spent, n_trials=trials, show_progress_bar=progress and count > 1)
        interrupted = False
    if not tried:
        said = "it was interrupted before the first" if interrupted else f"no configuration is legal:\n{refused}"
        raise LaunchError(f"{kernel}: {said}")
    order = sorted(((dict(zip(values, key, strict=True)), time) for key, time in tried.items()), key=lambda t: t[1])
    best, time = order[0]
    name = _device_name(target, where, gpu)
    found = Tuned(kernel, name, "measured" if where == "gpu" else "modelled", best, time, order, refused, interrupted)
    for shape in problems:
        _remember(spec, found, fixed, shape)
    return found


def _grid(spec: Any, grid: Mapping[str, Sequence[Any]] | None) -> dict[str, list[Any]]:
    """The values to try, by parameter."""
    tunable = {name: p for name, p in spec.parameters.items() if name not in FIXED}
    known = {name: _choices(p) for name, p in tunable.items()}
    if spec.name in SPLITTING:
        known["splits"] = list(SPLITS)
    if grid is None:
        return known
    for name in grid:
        if name not in known:
            there = ", ".join(known) or "nothing"
            raise LaunchError(f"grid: {spec.name} has no {name!r} to tune; choose from {there}")
    return {name: list(values) for name, values in grid.items()}


def _choices(parameter: Any) -> list[Any]:
    """The choices of a parameter; of a range its powers of two."""
    if parameter.choices:
        return list(parameter.choices)
    powers = itertools.takewhile(lambda n: n <= min(parameter.maximum, 256), (1 << k for k in range(9)))
    return [n for n in powers if parameter.allows(n)]


def _spent(
    spec: Any, fixed: Mapping[str, Any], chosen: Mapping[str, Any], shape: Shape, where: str, gpu: str | None
) -> float:
    """Microseconds of one configuration and shape."""
    parameters = {"head_dim": shape.head_dim, **fixed, **chosen}
    if where == "gpu":
        row = measure(Point(spec.name, parameters, shape, {"device": "gpu", "checks": [], "seed": 0}).task())
        if row["status"] != "ok":
            raise LaunchError(f"{spec.name}: {row['status']}: {row['reason']}")
        return float(row["gpu_us"])
    return modelled(spec, parameters, shape, gpu)


# -- modelled ----------------------------------------------------------------------------------------------------------


def modelled(spec: Any, parameters: Mapping[str, Any], shape: Shape, gpu: str | None = None) -> float:
    """Microseconds that the model gives a kernel with these parameters (and splits), from blocks on the emulator."""
    return (_prefill if spec.phase == "prefill" else _decode)(spec, parameters, shape, gpu)


def _prefill(spec: Any, parameters: Mapping[str, Any], shape: Shape, gpu: str | None) -> float:
    """A few blocks of one head are run: with a mask the work of a block grows evenly from the first to the last, so two
    in the middle of the halves stand for all; without one each block stands for all."""
    built = spec.build(**parameters)
    q, k, v = inputs(replace(shape, batch=1, heads=1, heads_kv=1), built.config.dtype, 0, decode=False)
    rows, keys, tile = shape.seq, shape.keys, built.config.tile_q
    grid, block, shared = built.launch_shape(shape.batch, shape.heads, shape.heads_kv, rows, keys)
    count, causal = -(-rows // tile), bool(parameters["causal"])
    alone = math.prod(built.launch_shape(1, 1, 1, min(tile, rows), keys)[0]) == 1
    options: dict[str, Any] = {"kernel": built, "causal": causal, "device": "cpu", "checks": (), "counters": True}
    works: list[Work] = []

    def ran(rows: slice, seen: int) -> None:
        run = attention(q[:, :, rows], k[:, :, :seen], v[:, :, :seen], **options).run
        assert run.counters is not None
        works.append(work_of(built, run.counters, grid, block, shared, gpu, math.prod(run.grid) / math.prod(grid)))

    if alone and count > 2:
        for at in (count // 4, count - 1 - count // 4) if causal else (count // 2,):
            last = min(rows, (at + 1) * tile)
            ran(slice(at * tile, last), max(1, min(keys, last + keys - rows)) if causal else keys)
    else:
        ran(slice(None), keys)
    size = q.itemsize * shape.head_dim
    least = 2 * size * shape.batch * (shape.heads * rows + shape.heads_kv * keys)
    return combined([_mean(works)], peaks(built.config.arch, gpu), least).microseconds


def _mean(works: Sequence[Work]) -> Work:
    """The mean block of several."""
    resources = {name: (unit, rate) for work in works for name, _, unit, rate in work.demand}
    asked = {name: sum(n for work in works for each, n, _, _ in work.demand if each == name) for name in resources}
    demand = tuple((name, asked[name] / len(works), *resources[name]) for name in resources)
    return replace(works[0], demand=demand, latency=sum(work.latency for work in works) / len(works))


def _decode(spec: Any, parameters: Mapping[str, Any], shape: Shape, gpu: str | None) -> float:
    chosen = {name: value for name, value in parameters.items() if name not in BY_LAUNCH}
    splits = parameters.get("splits")
    partial = {"partial": (splits or 1) > 1} if "partial" in spec.parameters else {}
    built = spec.build(**chosen, **partial)
    if built.config.cache == "paged":
        raise LaunchError(f"{spec.name}: a paged cache has no shape that could be modelled; tune decode_split instead")
    q, k, v = inputs(shape, built.config.dtype, 0, decode=True)
    result = decode(
        q, k, v, [shape.keys] * shape.batch, kernel=built, splits=splits, device="cpu", checks=(), counters=True
    )
    return estimate(result, gpu=gpu).microseconds


# -- remembered --------------------------------------------------------------------------------------------------------


def _arch(spec: Any) -> str:
    return str(spec.parameters["arch"].default)


def _device_name(arch: str, where: str, gpu: str | None) -> str:
    if where != "gpu":
        return peaks(arch, gpu).gpu
    from ptxlab import gpu as real

    return real.describe().name


def _remember(spec: Any, found: Tuned, fixed: Mapping[str, Any], shape: Shape) -> None:
    parameters = {"head_dim": shape.head_dim, **fixed, **found.parameters}
    splits = parameters.pop("splits", None)
    partial = {"partial": (splits or 1) > 1} if "partial" in spec.parameters else {}
    built = spec.build(**parameters, **partial)
    about = tuned.problem(
        spec.phase, fixed["dtype"], shape.head_dim, shape.keys, bool(fixed.get("causal")), (shape.heads, shape.heads_kv)
    )
    entry = {"kernel": spec.name, "parameters": parameters | partial, "splits": splits,
             "text": tuned.text_hash(built.ptx), "microseconds": found.microseconds, "basis": found.basis}  # fmt: skip
    tuned.remember(found.device, about, entry)

"""`attention(q, k, v)`: one call that runs a kernel of the library and says how far it is from numpy in float64.

out = attention(q, k, v, kernel="scalar", causal=True, state=True)
out.o, out.lse, out.state, out.error, out.seconds, out.counters
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import options, reference, targets
from ptxlab.attention import tuned
from ptxlab.attention.common import bundle, dtype_of, rows_of, summary
from ptxlab.errors import LaunchError
from ptxlab.launch.buffers import const, memory_of, out
from ptxlab.launch.run import CHECKS, Run, launch, show_seconds
from ptxlab.reference import Error, Row

if TYPE_CHECKING:
    from ptxlab.emulate.runtime.counters import Counters
    from ptxlab.kernels import Built, Spec

Array = NDArray[Any]


@dataclass(eq=False)
class Result:
    """What `attention` gives back.

    `o` has q's shape, `lse` q's shape without the last dimension (natural log), `state` is `[rows, tiles, 3]` (m, l and
    rescale after each tile, NaN for skipped ones) for the rows in `rows`, or None. `run` is the launch, `kernel` the
    kernel that ran, `inputs` are q, k and v with all four dimensions. `error` compares with float64 when it is first
    read, which takes numpy a while for long inputs.
    """

    o: Array
    lse: Array
    state: Array | None
    rows: tuple[Row, ...]
    run: Run
    kernel: Built
    causal: bool
    scale: float
    inputs: tuple[Array, Array, Array] = field(repr=False)

    @property
    def seconds(self) -> float:
        """The time of the kernel alone."""
        return self.run.seconds

    @property
    def counters(self) -> Counters | None:
        """What the CPU machine counted, if it was asked to."""
        return self.run.counters

    @functools.cached_property
    def error(self) -> Error:
        """How far o and lse are from float64: `.max .mean .ulp .tolerance .ok` and more."""
        q, k, v = self.inputs
        o, lse = self.o.reshape(q.shape), self.lse.reshape(q.shape[:3])
        return reference.measure(
            o,
            lse,
            q,
            k,
            v,
            causal=self.causal,
            scale=self.scale,
            tile=self.kernel.tile_kv,
            precision=self.kernel.precision,
        )

    def __repr__(self) -> str:
        e = self.error
        return "\n".join(
            [
                f"{self.kernel.name} on {self.run.device}: {show_seconds(self.seconds)}, o {list(self.o.shape)}",
                f"  max error {e.max:.2e}, mean {e.mean:.2e}, {e.ulp:.1f} ULP, tolerance {e.tolerance:.2e}: "
                + ("pass" if e.ok else "FAIL"),
                *(f"  {finding}" for finding in self.run.findings),
            ]
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle(self, summary(self.kernel.name, self, self.run.findings))


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    kernel: str | Built = "auto",
    causal: bool = False,
    scale: float | None = None,
    device: str = "auto",
    state: bool | Sequence[Row] = False,
    checks: Sequence[str] = CHECKS,
    counters: bool = False,
    trace: Any = None,
) -> Result:
    """softmax(q kT * scale) v, by a kernel of the library.

    q `[B, Hq, Sq, D]`, k and v `[B, Hkv, Sk, D]`, all float32, float64, float16 or bfloat16. The batch, or batch
    and heads, may be left out of all three alike: `[H, S, D]` is one sequence, `[S, D]` one head; o has the same
    dimensions.

    kernel: a name (`pl.kernels.names()`), a built kernel, or "auto": what
    `pl.tune` has found for such a problem on this device, else the best rung that fits, with the tiles that
    `pl.kernels.Config.auto` chooses. causal: key j is visible to row i iff `j <= i + Sk - Sq`. scale: 1/sqrt(D) by
    default. device, checks, counters: see `launch`.
    state: True records the online-softmax state of row 0 of every head, a list of (batch, head, row) of those rows.

    Raises `LaunchError` for shapes and types that do not fit, `TargetError` for a head_dim beyond the kernel's limit.
    """
    from ptxlab import kernels

    causal = options.switch("causal", causal)
    q4, k4, v4 = _four_dimensions(q, k, v)
    shape = q.shape
    try:
        batch, heads_q, heads_kv, rows, keys, dim = reference.check_shapes(q4, k4, v4)
    except ValueError as error:
        raise LaunchError(str(error)) from None
    if q4.size == 0:
        raise LaunchError(f"q has shape {q4.shape}: there is no row to compute")
    dtype = dtype_of({"q": q4, "k": k4, "v": v4}, kernels.DTYPES)
    scale = scale_of(scale, dim)
    if isinstance(state, bool):
        recorded: list[Row] = reference.first_rows(batch, heads_q, rows) if state else []
    else:
        recorded = rows_of(state, (batch, heads_q, rows), "batch, head, row")
    built = _kernel(kernel, (rows, keys, dim), causal, dtype, bool(recorded), device)

    o, lse = np.empty(q4.shape, q4.dtype), np.empty(q4.shape[:3], np.float64 if dtype == "f64" else np.float32)
    extra: tuple[Array, ...] = ()
    if built.config.probes:
        slots = np.full(q4.shape[:3], kernels.NOWHERE, np.uint32)
        for slot, row in enumerate(recorded):
            slots[row] = slot
        extra = slots, np.full((len(recorded), reference.tiles(keys, built.tile_kv), 3), np.nan, lse.dtype)
    grid, block, shared = built.launch_shape(batch, heads_q, heads_kv, rows, keys)
    args = built.arguments(const(q4), const(k4), const(v4), out(o), out(lse), scale, *extra)
    run = launch(built, grid, block, *args, shared=shared, device=device, checks=checks, counters=counters, trace=trace)
    return Result(
        o.reshape(shape),
        lse.reshape(shape[:-1]),
        extra[1] if recorded else None,
        tuple(recorded),
        run,
        built,
        causal,
        scale,
        (q4, k4, v4),
    )


def _four_dimensions(q: Array, k: Array, v: Array) -> list[Array]:
    """The arrays as `[B, H, S, D]`, contiguous."""
    arrays = {"q": q, "k": k, "v": v}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise LaunchError(f"{name}: a numpy array is wanted, got {type(array).__name__}")
    if len({a.ndim for a in arrays.values()}) > 1 or q.ndim not in (2, 3, 4):
        shapes = ", ".join(f"{name} {list(a.shape)}" for name, a in arrays.items())
        raise LaunchError(f"q, k and v should all be [B, H, S, D], all [H, S, D] or all [S, D]; got {shapes}")
    return [np.ascontiguousarray(a).reshape((1,) * (4 - a.ndim) + a.shape) for a in arrays.values()]


def _kernel(
    kernel: str | Built, shape: tuple[int, int, int], causal: bool, dtype: str, probes: bool, device: str
) -> Built:
    """The kernel to run: built here from a name, or the one given if it is of the right kind."""
    from ptxlab import kernels

    rows, keys, dim = shape
    if isinstance(kernel, str) and kernel == "auto":
        found = tuned.recall(device, tuned.problem("prefill", dtype, dim, keys, causal, (1, 1)))
        kernel = found[0] if found else kernels.Config.auto(dim, rows, keys, causal, dtype, fullest(device)).build()
        kernel = kernel.with_probes() if probes else kernel
    if isinstance(kernel, str):
        spec = kernels.get(kernel, "prefill")
        return spec.build(head_dim=dim, causal=causal, dtype=dtype, arch=target_of(spec, device), probes=probes)
    if not isinstance(kernel, kernels.Built):
        what = getattr(kernel, "name", None) or type(kernel).__name__
        raise LaunchError(f"kernel: a name or a built prefill kernel is wanted, got {what}")
    config = kernel.config
    for name, has, wants in (("dtype", config.dtype, dtype), ("causal", config.causal, causal)):
        if has != wants:
            raise LaunchError(f"{kernel.name} was built with {name}={has!r}, the call has {name}={wants!r}")
    return kernel.with_probes() if probes and not config.probes else kernel


def scale_of(scale: float | None, head_dim: int) -> float:
    """What scores are multiplied with: 1/sqrt(D) if nothing is said; `LaunchError` if it is no finite number."""
    return reference.default_scale(head_dim) if scale is None else options.finite("scale", scale)


def target_of(spec: Spec, device: str) -> str:
    """The target to build a rung for: the GPU's own, with the features that no other has where the rung needs them."""
    if memory_of(device) != "gpu":
        return spec.arch
    arch = arch_of(device)
    return spec.arch if spec.arch == f"{arch}a" else arch


def fullest(device: str) -> str:
    """The target that says most of what the GPU has: sm_90a on an H100, where the quickest rung needs it."""
    arch = arch_of(device)
    return f"{arch}a" if memory_of(device) == "gpu" and f"{arch}a" in targets.TARGETS else arch


def arch_of(device: str) -> str:
    """The target to build for: the GPU that will run it, or sm_80 on the CPU machine."""
    if memory_of(device) == "gpu":
        from ptxlab.gpu import device as gpu

        arch = gpu.describe().arch
        return arch if arch in targets.TARGETS else "sm_80"
    return "sm_80"

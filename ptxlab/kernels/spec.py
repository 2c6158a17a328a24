"""What a rung of the attention library is: its question, its parameters with their limits, and the kernel it builds."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ptxlab import targets
from ptxlab.builder import Kernel, Param, Ptr, u32
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels.config import Config

if TYPE_CHECKING:
    from ptxlab.text import Module

DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16"}
"""The element types there are kernels for, with their numpy names (bfloat16 is known to numpy through ml_dtypes)."""

MAX_HEAD_DIM = 256

Slots = TypeVar("Slots", bound=Ptr[u32] | None)
"""The last parameter of a `probes=True` build before `probe`: for each query row, where in `probe` its state goes.
Otherwise it is None, and the kernel has no such parameter."""
NOWHERE = 0xFFFFFFFF
"""In `slots`: this row's state is not stored."""


@dataclass(frozen=True)
class Parameter:
    """A build parameter: `default` (None: chosen to fit), and either `choices` or `minimum` to `maximum` by `step`."""

    name: str
    says: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    minimum: int = 0
    maximum: int = 0
    step: int = 1

    def allows(self, value: Any) -> bool:
        """Whether `check` takes the value."""
        try:
            self.check("", value)
        except TargetError:
            return False
        return True

    def check(self, kernel: str, value: Any) -> Any:
        """The value, a whole number of numpy as Python's; `TargetError` names the limit that it breaks."""
        if self.choices:
            if value not in self.choices:
                listed = ", ".join(map(repr, self.choices))
                raise TargetError(f"{kernel}: {self.name} is one of {listed}, not {value!r}")
            return self.choices[self.choices.index(value)]
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not self.minimum <= value <= self.maximum or value % self.step:
            limits = f"from {self.minimum} to {self.maximum}" + (f" in steps of {self.step}" if self.step > 1 else "")
            raise TargetError(f"{kernel}: {self.name} is a whole number {limits}, not {value!r}")
        return int(value)


TILE_KV = Parameter("tile_kv", "keys a tile; by default as many as fit", None, minimum=1, maximum=256)


@dataclass(frozen=True, eq=False, repr=False)
class Built:
    """A kernel of the library, ready to be printed, assembled and launched. `kernel` is what the builder made.

    `tile_kv` is how many keys one step of the online softmax takes: the middle dimension of the probe buffer.
    """

    spec: Spec
    config: Config
    kernel: Kernel

    def __repr__(self) -> str:
        return f"<{self.name} for {self.config.arch}, {len(self.ptx.splitlines())} lines of PTX>"

    @property
    def name(self) -> str:
        """The entry name: `{rung}_{dtype}_d{D}[_causal]`."""
        return entry_name(self.spec.name, self.config)

    @property
    def ptx(self) -> str:
        """The PTX text."""
        return self.kernel.ptx

    @property
    def module(self) -> Module:
        """The PTX as a `text.Module`, with the Python span of each line."""
        return self.kernel.module

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters with their types."""
        return self.kernel.params

    @property
    def tile_kv(self) -> int:
        """Keys a step."""
        return self.config.tile_kv

    @property
    def precision(self) -> str | None:
        """The numpy name of the type in which products are computed, where that is not the elements' own."""
        precise = self.spec.precision
        return DTYPES[precise] if precise and precise != self.config.dtype else None

    def with_probes(self) -> Built:
        """The same kernel, but storing the online-softmax state."""
        return _build(self.spec, dataclasses.replace(self.config, probes=True))

    def launch_shape(
        self, batch: int, heads_q: int, heads_kv: int, rows: int, keys: int
    ) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        """(grid, block, bytes of dynamic shared memory) for a problem of B, Hq, Hkv, Sq, Sk."""
        config = self.config
        shared = self.spec.shared_bytes(config) if self.spec.dynamic else 0
        return (-(-rows // config.tile_q), heads_q, batch), (config.threads, 1, 1), shared

    def arguments(
        self, q: Any, k: Any, v: Any, o: Any, lse: Any, scale: float, slots: Any = None, probe: Any = None
    ) -> tuple[Any, ...]:
        """The arguments of a launch in order: q, k, v, o, lse, B, Hq, Hkv, Sq, Sk, scale[, slots, probe].

        q and o `[B, Hq, Sq, D]`, k and v `[B, Hkv, Sk, D]`, lse `[B, Hq, Sq]`: arrays, `pl.const`, `pl.out` or device
        buffers. scale: what scores are multiplied with. A `probes=True` build also takes slots, uint32 `[B, Hq, Sq]`
        (where in `probe` a row's state goes, or `NOWHERE`), and probe `[rows, tiles, 3]`, filled with NaN.
        """
        for name, array in (("q", q), ("k", k), ("v", v), ("o", o), ("lse", lse)):
            if not hasattr(array, "shape"):
                raise LaunchError(
                    f"{self.name}: {name}: an array or a device buffer is wanted, got {type(array).__name__}"
                )
        for name, array, wanted in (("q", q, "[B, Hq, Sq, D]"), ("k", k, "[B, Hkv, Sk, D]")):
            if len(array.shape) != 4:
                raise LaunchError(f"{self.name}: {name} should have shape {wanted}, not {list(array.shape)}")
        batch, heads_q, rows, dim = q.shape
        heads_kv, keys = k.shape[1], k.shape[2]
        if dim != self.config.head_dim:
            raise LaunchError(f"{self.name}: q has head_dim {dim}, the kernel was built for {self.config.head_dim}")
        kv, out = (batch, heads_kv, keys, dim), (batch, heads_q, rows)
        for name, array, shape in (("k", k, kv), ("v", v, kv), ("o", o, (*out, dim)), ("lse", lse, out)):
            if tuple(array.shape) != tuple(shape):
                raise LaunchError(f"{self.name}: {name} should have shape {list(shape)}, not {list(array.shape)}")
        if heads_kv == 0 or heads_q % heads_kv:
            raise LaunchError(f"{self.name}: Hq = {heads_q} should be a multiple of Hkv = {heads_kv}")
        for name, count in (
            ("B * Hq * Sq", batch * heads_q * rows),
            ("B * Hkv * Sk", batch * heads_kv * keys),
            ("Sk * D", keys * dim),
        ):
            if count >= 2**31:  # what the kernels multiply in 32 bits; addresses have 64
                raise LaunchError(f"{self.name}: {name} is {count}; it is counted in 32 bits and should be below 2**31")
        args = (q, k, v, o, lse, batch, heads_q, heads_kv, rows, keys, float(scale))
        if not self.config.probes:
            return args
        if slots is None or probe is None:
            raise LaunchError(f"{self.name} was built with probes=True and wants slots and probe as well")
        return (*args, slots, probe)


@dataclass(frozen=True, eq=False)
class Spec:
    """A rung: what it asks, what it adds to the rung before it, and how to build it.

    `idea` is the one new idea, `brings` the PTX that comes with it, `look` what to look at, `phase` "prefill" or
    "decode"; `teaches` puts them into words. `make(config)` writes the kernel with the builder. `dtypes` are the
    element types it takes, the first one the default; head_dim is a multiple of `step`; `sm` is the lowest target that
    has its instructions.

    `tile` is how many keys a tile has if they fit, None where there are no tiles. `tunable` are its further parameters
    (tile_q, warps, stages), whose defaults `prefer(config)` may change for a head_dim or a target. `shared_bytes` is
    the shared memory of a block: `dynamic`, so up to what the target lets a block opt in to, or else static.
    `precision` is the type that the products are computed in where that is not the elements' own.
    """

    name: str
    rung: int
    title: str
    question: str
    idea: str
    brings: tuple[str, ...]
    phase: str
    make: Callable[[Config], Kernel] = field(repr=False)
    tile: int | None = None
    shared_bytes: Callable[[Config], int] = field(default=lambda config: 0, repr=False)
    dtypes: tuple[str, ...] = ("f32", "f64")
    step: int = 1
    sm: int = 50
    dynamic: bool = False
    tile_kv: Parameter = field(default=TILE_KV, repr=False)
    tunable: tuple[Parameter, ...] = ()
    prefer: Callable[[Config], Config] = field(default=lambda config: config, repr=False)
    limits: Callable[[Config], str] = field(default=lambda config: "", repr=False)
    precision: str = ""
    look: str = ""

    @property
    def teaches(self) -> str:
        """The lesson: the question, the idea, and what to look at."""
        return lesson(self.question, self.idea, self.look, self.brings)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The build parameters by name, with their defaults and limits."""
        archs = tuple(name for name, target in targets.TARGETS.items() if target.number >= self.sm)
        listed = [
            Parameter("head_dim", "elements of a query, key or value row (D)", 64, minimum=self.step,
                      maximum=MAX_HEAD_DIM, step=self.step),
            Parameter("causal", "a row sees only the keys up to its own place", False, (False, True)),
            Parameter("dtype", "type of every element", self.dtypes[0], self.dtypes),
            Parameter("arch", "the target", "sm_80", archs),
            Parameter("probes", "store the online-softmax state of chosen rows", False, (False, True)),
        ]  # fmt: skip
        if self.tile is not None:
            listed.append(self.tile_kv)
        return {p.name: p for p in (*listed, *self.tunable)}

    @property
    def source(self) -> str:
        """The Python that writes the kernel: the whole file."""
        return inspect.getsource(sys.modules[self.make.__module__])

    def build(
        self,
        *,
        head_dim: int = 64,
        causal: bool = False,
        dtype: str | None = None,
        arch: str = "sm_80",
        tile_q: int | None = None,
        tile_kv: int | None = None,
        warps: int | None = None,
        stages: int | None = None,
        probes: bool = False,
    ) -> Built:
        """The kernel for these parameters; the same parameters give the same object.

        Tiles that are None are as large as the target allows. `TargetError` names a limit that is broken.
        """
        sizes = {"tile_q": tile_q, "tile_kv": tile_kv, "warps": warps, "stages": stages}
        dtype = dtype or self.dtypes[0]
        config = self.configure(head_dim=head_dim, causal=causal, dtype=dtype, arch=arch, probes=probes, **sizes)
        return _build(self, config)

    def configure(
        self, *, head_dim: int, causal: bool, dtype: str, arch: str, probes: bool = False, **sizes: int | None
    ) -> Config:
        """The complete and checked configuration that `build` builds; it takes the same parameters."""
        given: dict[str, Any] = {"head_dim": head_dim, "causal": causal, "dtype": dtype, "arch": arch, "probes": probes}
        asked: dict[str, Any] = {name: n for name, n in sizes.items() if n is not None}
        for name, value in (given | asked).items():
            if name not in self.parameters:
                raise TargetError(f"{self.name} has no {name}; its parameters are {', '.join(self.parameters)}")
            checked = self.parameters[name].check(self.name, value)
            (given if name in given else asked)[name] = checked
        return self._fit(Config(**given, tile_kv=self.tile or 1, kernel=self.name), asked)

    def _fit(self, start: Config, asked: dict[str, Any]) -> Config:
        """The configuration with its tiles: those asked for, the others as preferred and halved until they fit."""
        preferred = self.prefer(start)
        config = dataclasses.replace(preferred, **asked)
        if "warps" in self.parameters and ("tile_q" in asked) != ("warps" in asked):  # the other one follows
            a_warp = preferred.tile_q // preferred.warps
            warps, rows = config.tile_q // a_warp, config.warps * a_warp
            most = max(self.parameters["tile_q"].choices)
            config = dataclasses.replace(
                config, **({"warps": max(1, warps)} if "tile_q" in asked else {"tile_q": min(rows, most)})
            )
        target = targets.get(config.arch)
        limit, kind = (target.optin_shared, "") if self.dynamic else (target.static_shared, "static ")
        while self.shared_bytes(config) > limit and (smaller := self._smaller(config, asked)) is not None:
            config = smaller
        needed = self.shared_bytes(config)
        if needed > limit:
            sizes = "".join(
                f"{name}={getattr(config, name)}, "
                for name in ("tile_q", "tile_kv", "warps", "stages")
                if name in self.parameters
            ).removesuffix(", ")
            raise TargetError(
                f"{self.name}: {sizes} with head_dim={config.head_dim} and {config.dtype} needs {needed} bytes of "
                f"{kind}shared memory; {config.arch} has {limit}"
            )
        broken = self.limits(config)
        if broken:
            raise TargetError(f"{self.name}: {broken}")
        return config

    def _smaller(self, config: Config, asked: dict[str, int]) -> Config | None:
        """The next smaller configuration: fewer keys a tile, then fewer rows; None where there is none."""
        smallest = self.tile_kv.minimum
        if self.tile is not None and "tile_kv" not in asked and config.tile_kv // 2 >= smallest:
            return dataclasses.replace(config, tile_kv=config.tile_kv // 2)
        rows = self.parameters.get("tile_q")
        if rows is None or "tile_q" in asked or "warps" in asked or config.tile_q // 2 < max(16, rows.minimum):
            return None
        warps = min(config.warps, config.tile_q // 32) if "warps" in self.parameters else config.warps
        return dataclasses.replace(config, tile_q=config.tile_q // 2, warps=warps)


def lesson(question: str, idea: str, look: str, brings: tuple[str, ...]) -> str:
    """What a rung teaches, in a few lines."""
    lines = [question, f"The idea: {idea}.", f"Look at: {look}." if look else "", f"In the PTX: {', '.join(brings)}."]
    return "\n".join(filter(None, lines))


def entry_name(rung: str, config: Config) -> str:
    """`scalar_f32_d64_causal`."""
    return f"{rung}_{config.dtype}_d{config.head_dim}" + ("_causal" if config.causal else "")


@functools.lru_cache(maxsize=256)
def _build(spec: Spec, config: Config) -> Built:
    return Built(spec, config, spec.make(config))

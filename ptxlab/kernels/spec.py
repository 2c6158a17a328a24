"""What a rung of the attention library is: its question, its parameters with their limits, and the kernel it builds."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ptxlab import targets
from ptxlab.build import Kernel, Param, Ptr, Register, u32
from ptxlab.errors import LaunchError, TargetError

if TYPE_CHECKING:
    from ptxlab.text import Module

DTYPES = {"f32": "float32", "f64": "float64"}
"""The element types there are kernels for, with their numpy names."""

MAX_HEAD_DIM = 256
THREADS = 128
"""Threads a block of the one-thread-a-row kernels, and so query rows a block."""

Slots = TypeVar("Slots", bound=Ptr[u32] | None)
"""The last parameter of a `probes=True` build before `probe`: for each query row, where in `probe` its state goes.
Otherwise it is None, and the kernel has no such parameter."""
NOWHERE = 0xFFFFFFFF
"""In `slots`: this row's state is not stored."""


@dataclass(frozen=True)
class Parameter:
    """A build parameter: `default` (None: chosen to fit), and either `choices` or `minimum` to `maximum`."""

    name: str
    says: str
    default: Any = None
    choices: tuple[Any, ...] = ()
    minimum: int = 0
    maximum: int = 0

    def check(self, kernel: str, value: Any) -> None:
        """`TargetError` names the limit that a value breaks."""
        if self.choices:
            if value not in self.choices:
                listed = ", ".join(map(repr, self.choices))
                raise TargetError(f"{kernel}: {self.name} is one of {listed}, not {value!r}")
        elif not isinstance(value, int) or not self.minimum <= value <= self.maximum:
            limits = f"from {self.minimum} to {self.maximum}"
            raise TargetError(f"{kernel}: {self.name} is a whole number {limits}, not {value!r}")


COMMON = (
    Parameter("head_dim", "elements of a query, key or value row (D)", 64, minimum=1, maximum=MAX_HEAD_DIM),
    Parameter("causal", "a row sees only the keys up to its own place", False, (False, True)),
    Parameter("dtype", "type of every element and of the arithmetic", "f32", tuple(DTYPES)),
    Parameter("arch", "the target", "sm_80", tuple(targets.TARGETS)),
    Parameter("probes", "store the online-softmax state of chosen rows", False, (False, True)),
)

TILE_KV = Parameter("tile_kv", "keys a tile; by default as many as fit", None, minimum=1, maximum=128)


@dataclass(frozen=True)
class Config:
    """The parameters of one build, complete and checked. `size` is the bytes of an element."""

    head_dim: int
    causal: bool
    dtype: str
    arch: str
    tile_kv: int
    probes: bool

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return 8 if self.dtype == "f64" else 4

    def types(self, real: type[Register[Any]]) -> dict[str, Any]:
        """What the type variables in a kernel's annotations stand for."""
        return {"Real": real, "Slots": Ptr[u32]} if self.probes else {"Real": real}


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

    def with_probes(self) -> Built:
        """The same kernel, but storing the online-softmax state."""
        return _build(self.spec, dataclasses.replace(self.config, probes=True))

    def launch_shape(
        self, batch: int, heads_q: int, heads_kv: int, rows: int, keys: int
    ) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        """(grid, block, bytes of dynamic shared memory) for a problem of B, Hq, Hkv, Sq, Sk."""
        return (-(-rows // THREADS), heads_q, batch), (THREADS, 1, 1), 0

    def arguments(
        self, q: Any, k: Any, v: Any, o: Any, lse: Any, scale: float, slots: Any = None, probe: Any = None
    ) -> tuple[Any, ...]:
        """The arguments of a launch in order: q, k, v, o, lse, B, Hq, Hkv, Sq, Sk, scale[, slots, probe].

        q and o `[B, Hq, Sq, D]`, k and v `[B, Hkv, Sk, D]`, lse `[B, Hq, Sq]`: arrays, `pl.const`, `pl.out` or device
        buffers. scale: what scores are multiplied with. A `probes=True` build also takes slots, uint32 `[B, Hq, Sq]`
        (where in `probe` a row's state goes, or `NOWHERE`), and probe `[rows, tiles, 3]`, filled with NaN.
        """
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
        args = (q, k, v, o, lse, batch, heads_q, heads_kv, rows, keys, float(scale))
        if not self.config.probes:
            return args
        if slots is None or probe is None:
            raise LaunchError(f"{self.name} was built with probes=True and wants slots and probe as well")
        return (*args, slots, probe)


@dataclass(frozen=True, eq=False)
class Spec:
    """A rung: what it asks, what it adds to the rung before it, and how to build it.

    `idea` is the one new idea, `teaches` the PTX that comes with it, `phase` "prefill" or "decode". `make(config)`
    writes the kernel with the builder; `tile` is how many keys a tile has if they fit, None where there are no tiles.
    """

    name: str
    rung: int
    title: str
    question: str
    idea: str
    teaches: tuple[str, ...]
    phase: str
    make: Callable[[Config], Kernel] = field(repr=False)
    tile: int | None = None
    shared_bytes: Callable[[Config], int] = field(default=lambda config: 0, repr=False)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The build parameters by name, with their defaults and limits."""
        listed = COMMON if self.tile is None else (*COMMON, TILE_KV)
        return {p.name: p for p in listed}

    @property
    def source(self) -> str:
        """The Python that writes the kernel: the whole file."""
        return inspect.getsource(sys.modules[self.make.__module__])

    def build(
        self,
        *,
        head_dim: int = 64,
        causal: bool = False,
        dtype: str = "f32",
        arch: str = "sm_80",
        tile_q: int | None = None,
        tile_kv: int | None = None,
        warps: int | None = None,
        probes: bool = False,
    ) -> Built:
        """The kernel for these parameters; the same parameters give the same object.

        Tiles that are None are as large as the target allows. `TargetError` names a limit that is broken.
        """
        given = {"head_dim": head_dim, "causal": causal, "dtype": dtype, "arch": arch, "probes": probes}
        given |= {name: n for name, n in (("tile_q", tile_q), ("tile_kv", tile_kv), ("warps", warps)) if n is not None}
        for name, value in given.items():
            if name not in self.parameters:
                raise TargetError(f"{self.name} has no {name}; its parameters are {', '.join(self.parameters)}")
            self.parameters[name].check(self.name, value)
        return _build(self, self._fit(head_dim, bool(causal), dtype, arch, tile_kv, bool(probes)))

    def _fit(self, head_dim: int, causal: bool, dtype: str, arch: str, tile_kv: int | None, probes: bool) -> Config:
        """The configuration with its tile: the one asked for, or the default halved until it fits."""

        def config(tile: int) -> Config:
            return Config(head_dim, causal, dtype, arch, tile, probes)

        if self.tile is None:
            return config(1)
        limit = targets.get(arch).static_shared
        tile = tile_kv or self.tile
        while tile_kv is None and tile > 1 and self.shared_bytes(config(tile)) > limit:
            tile //= 2
        needed = self.shared_bytes(config(tile))
        if needed > limit:
            raise TargetError(
                f"{self.name}: tile_kv={tile} with head_dim={head_dim} and {dtype} needs {needed} bytes of static "
                f"shared memory; {arch} has {limit}"
            )
        return config(tile)


def entry_name(rung: str, config: Config) -> str:
    """`scalar_f32_d64_causal`."""
    return f"{rung}_{config.dtype}_d{config.head_dim}" + ("_causal" if config.causal else "")


@functools.lru_cache(maxsize=256)
def _build(spec: Spec, config: Config) -> Built:
    return Built(spec, config, spec.make(config))

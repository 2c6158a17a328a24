"""A prefill rung of the library: its parameters with their limits, one build of it as numbers, the kernel it builds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Never

import numpy as np

from ptxlab import targets
from ptxlab.builder import Ptr, u32
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels.mods import LIST_TILE, TILE_LISTS, Mods
from ptxlab.kernels.rung import DTYPES, MAX_HEAD_DIM, AnyBuilt, AnyConfig, Parameter, Rung, named
from ptxlab.options import unexpected

SIZES = ("tile_q", "tile_kv", "warps", "stages")
"""The parameters that are chosen to fit where a build does not say them."""
THREADS = 128
"""Threads per block of the kernels with one thread per row, and so query rows per block."""

TILE_KV = Parameter("tile_kv", "keys per tile; by default as many as fit", None, minimum=1, maximum=256)

PREFERRED = {
    "f64": ("tiled", "scalar"),
    "f32": ("tiled2d", "tiled", "scalar"),
    "f16": ("hopper", "wgmma", "pipelined", "swizzle", "mma", "wmma"),
    "bf16": ("hopper", "wgmma", "pipelined", "swizzle", "mma"),
}
"""The rungs that compute an element type, the quickest first; those for one target alone are for that target."""


@dataclass(frozen=True)
class Config(AnyConfig):
    """The parameters of one build, complete and checked.

    Attributes
    ----------
    head_dim, causal, dtype, arch, probes, mods
        As for `kernels.get(name).build`.
    tile_q, warps
        The query rows that a block computes, and the warps that it has.
    tile_kv, stages
        The keys of a tile, and how many such tiles a block has in shared memory.
    kernel
        The name of the kernel that it is for.
    why
        The reasons of `Config.auto`.

    Examples
    --------
    >>> import ptxlab as pl
    >>> config = pl.kernels.Config.auto(head_dim=64, seq_q=100, seq_kv=100, dtype="f16", arch="sm_80")
    >>> config.kernel, config.tile_q, config.warps
    ('pipelined', 128, 4)
    """

    head_dim: int
    causal: bool
    dtype: str
    arch: str
    tile_kv: int
    probes: bool = False
    tile_q: int = THREADS
    warps: int = THREADS // targets.WARP
    stages: int = 1
    mods: Mods | None = None
    kernel: str = field(default="", compare=False)
    why: tuple[str, ...] = field(default=(), compare=False, repr=False)
    lists = TILE_LISTS

    @property
    def threads(self) -> int:
        """Threads per block."""
        return self.warps * targets.WARP

    def types(self) -> dict[str, Any]:
        """What the type variables in a kernel's annotations stand for."""
        return {"Real": self.element, "Half": self.element} | ({"Slots": Ptr[u32]} if self.probes else {})

    @property
    def listed(self) -> tuple[int, int]:
        """Rows and keys of the tiles in the lists that a kernel with a mask_mod goes through."""
        return self.tile_q, self.tile_kv if self.tile_kv > 1 else LIST_TILE

    @classmethod
    def auto(
        cls,
        head_dim: int,
        seq_q: int,
        seq_kv: int,
        causal: bool = False,
        dtype: str = "f16",
        arch: str = "sm_80",
        *,
        kernel: str | None = None,
        **unknown: Never,
    ) -> Config:
        """The kernel and its tiles for a problem: the quickest rung that takes it, never over a limit of the target.

        Parameters
        ----------
        head_dim, causal, dtype, arch
            As for `kernels.get(name).build`.
        seq_q, seq_kv
            Query rows and keys per head.
        kernel
            A rung to choose the tiles of, instead of the best one.

        Returns
        -------
        Config
            Its `repr` says what was chosen and why; its fields are what `kernels.get(c.kernel).build(...)` takes, and
            `c.build()` does that.

        Raises
        ------
        TargetError
            Where no rung takes the problem.
        """
        if unknown:
            words = ", ".join(f"{name}={value!r}" for name, value in {"head_dim": head_dim, **unknown}.items())
            raise unexpected(cls.auto, unknown, f"pl.kernels.get({kernel or 'tiled'!r}).build({words})")
        if dtype not in PREFERRED:
            raise TargetError(f"dtype must be one of {', '.join(map(repr, PREFERRED))}, not {dtype!r}")
        targets.get(arch)
        for what, count in (("seq_q", seq_q), ("seq_kv", seq_kv)):
            if not isinstance(count, int | np.integer) or count < 0:
                raise TargetError(f"{what} must be a whole number of at least 0, not {count!r}")
        refused: dict[str, list[str]] = {}
        for name in (kernel,) if kernel else PREFERRED[dtype]:
            spec = prefill_spec(name)
            if spec.alone and arch != spec.arch and not kernel:
                continue
            given: dict[str, Any] = {"head_dim": head_dim, "causal": causal, "dtype": dtype, "arch": arch}
            try:
                config = spec.configure(**given)
                config = spec.configure(**given, **_clamped(config, spec.parameters, seq_q, seq_kv))
            except TargetError as no:
                if kernel:
                    raise
                refused.setdefault(str(no).removeprefix(f"{name}: "), []).append(name)
                continue
            why = _reasons(refused)
            preferred = spec.prefer(cls(config.head_dim, config.causal, dtype, arch, spec.tile or 1))
            for what, has, likes, problem in (
                ("tile_q", config.tile_q, preferred.tile_q, seq_q),
                ("tile_kv", config.tile_kv, preferred.tile_kv, seq_kv),
            ):
                if has < likes:
                    cause = f"there are {problem}" if problem <= has else f"{arch} has not enough memory for {likes}"
                    why.append(f"{what} {has}, not {likes}: {cause}")
            return dataclasses.replace(config, kernel=name, why=tuple(why))
        listed = "; ".join(_reasons(refused))
        raise TargetError(f"no kernel takes {dtype} with head_dim={head_dim} on {arch}; {listed}")

    def build(self) -> Built:
        """The kernel with these parameters."""
        spec = prefill_spec(self.kernel)
        return spec.build(mods=self.mods, **{name: getattr(self, name) for name in spec.parameters})

    def modified(self, mods: Mods) -> Config:
        """The same with mods; a mask has the causal one in it."""
        return dataclasses.replace(self, mods=mods, causal=self.causal and not mods.masks)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, in bytes."""
        return prefill_spec(self.kernel).shared_bytes(self)

    def tiles(self, seq_q: int, seq_kv: int) -> tuple[int, int]:
        """How many tiles of query rows and of keys there are."""
        return -(-seq_q // self.tile_q), -(-seq_kv // self.tile_kv)

    def __repr__(self) -> str:
        what = f"{self.dtype}, head_dim {self.head_dim}{', causal' if self.causal else ''}, {self.arch}"
        warps = "1 warp" if self.warps == 1 else f"{self.warps} warps"
        keys = "one key at a time" if self.tile_kv == 1 else f"{self.tile_kv} keys per tile"
        rows = f"{self.tile_q} query rows x {keys}, {warps}"
        if self.stages > 1:
            rows += f", {self.stages} stages"
        if not self.kernel:
            return f"<Config {what}: {rows}>"
        target = targets.get(self.arch)
        limit = target.optin_shared if self.shared_bytes > target.static_shared else target.static_shared
        lines = [f"{self.kernel} for {what}", f"  {rows}", f"  {self.shared_bytes} of {limit} bytes of shared memory"]
        return "\n".join(lines + [f"  {reason}" for reason in self.why])


class Built(AnyBuilt):
    """A prefill kernel.

    `tile_kv` is how many keys one step of the online softmax takes: the middle dimension of the probe buffer.
    """

    spec: Spec
    config: Config

    @property
    def tile_kv(self) -> int:
        """Keys a step."""
        return self.config.tile_kv

    @property
    def precision(self) -> str | None:
        """The numpy name of the type in which products are computed, where that is not the elements' own."""
        precise = self.spec.precision
        return DTYPES[precise] if precise and precise != self.config.dtype else None

    def launch_shape(
        self, batch: int, heads_q: int, heads_kv: int, rows: int, keys: int
    ) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        """(grid, block, bytes of dynamic shared memory) for a problem of B, Hq, Hkv, Sq, Sk."""
        config, tiles, heads = self.config, -(-rows // self.config.tile_q), batch * heads_q
        shared = self.spec.shared_bytes(config) if self.spec.dynamic else 0
        grid = tiles, heads_q, batch
        if config.causal and self.spec.l2_bytes and heads > 0:
            together = self._heads_together(heads, heads_q // max(1, heads_kv), keys)
            grid = together, tiles, heads // together
        return grid, (config.threads, 1, 1), shared

    def _heads_together(self, heads: int, group: int, keys: int) -> int:
        """How many query heads, of all sequences, have their blocks next to each other: as many as divide their number
        and have keys and values that the L2 cache holds."""
        one = 2 * keys * self.config.head_dim * self.config.size
        fit = (n for n in range(heads, 1, -1) if heads % n == 0 and -(-n // max(1, group)) * one <= self.spec.l2_bytes)
        return next(fit, 1)

    def block_of(self, grid: tuple[int, int, int], heads_q: int, batch: int, head: int, row: int) -> int:
        """The linear index of the block that has a row of a head, in a grid of `launch_shape`."""
        x, y, _ = grid
        tile = row // self.config.tile_q
        if not (self.config.causal and self.spec.longest_first):
            return tile + x * (head + y * batch)
        if not self.spec.l2_bytes:
            return x - 1 - tile + x * (head + y * batch)
        section, within = divmod(batch * heads_q + head, x)
        return within + x * (y - 1 - tile + y * section)

    def arguments(
        self,
        q: Any,
        k: Any,
        v: Any,
        o: Any,
        lse: Any,
        scale: float,
        slots: Any = None,
        probe: Any = None,
        mods: Mapping[str, Any] | None = None,
    ) -> tuple[Any, ...]:
        """The arguments of a launch in order: q, k, v, o, lse, B, Hq, Hkv, Sq, Sk, scale[, slots], mods[, probe].

        Parameters
        ----------
        q, k, v, o, lse
            `[B, Hq, Sq, D]`, twice `[B, Hkv, Sk, D]`, `[B, Hq, Sq, D]` and `[B, Hq, Sq]`: arrays, `pl.const`, `pl.out`
            or device buffers.
        scale
            What scores are multiplied with.
        slots, probe
            Of a `probes=True` build: uint32 `[B, Hq, Sq]`, where in `probe` a row's state goes, or `NOWHERE`; and
            `[rows, tiles, 3]`, filled with NaN.
        mods
            What `mods.Applied.arguments` gives.
        """
        for name, array in (("q", q), ("k", k), ("v", v), ("o", o), ("lse", lse)):
            if not hasattr(array, "shape"):
                raise self.error(f"{name}: expected an array or a device buffer, got {type(array).__name__}")
        for name, array, wanted in (("q", q, "[B, Hq, Sq, D]"), ("k", k, "[B, Hkv, Sk, D]")):
            if len(array.shape) != 4:
                raise self.error(f"{name} should have shape {wanted}, not {list(array.shape)}")
        batch, heads_q, rows, dim = q.shape
        heads_kv, keys = k.shape[1], k.shape[2]
        if dim != self.config.head_dim:
            raise self.error(f"q has head_dim {dim}; the kernel was built for {self.config.head_dim}")
        kv, out = (batch, heads_kv, keys, dim), (batch, heads_q, rows)
        for name, array, shape in (("k", k, kv), ("v", v, kv), ("o", o, (*out, dim)), ("lse", lse, out)):
            if tuple(array.shape) != tuple(shape):
                raise self.error(f"{name} should have shape {list(shape)}, not {list(array.shape)}")
        self.check_heads(heads_q, heads_kv)
        rows_of, keys_of = batch * heads_q * rows, batch * heads_kv * keys
        self.check_counts({"B * Hq * Sq": rows_of, "B * Hkv * Sk": keys_of, "Sk * D": keys * dim})
        args = (q, k, v, o, lse, batch, heads_q, heads_kv, rows, keys, float(scale))
        has, changed = list(self.config.extra), dict(mods or {})
        if list(changed) != has:
            raise self.error(f"its mods take {', '.join(has) or 'nothing'}, got {', '.join(changed) or 'nothing'}")
        if not self.config.probes:
            return (*args, *changed.values())
        if slots is None or probe is None:
            raise LaunchError(f"{self.name} was built with probes=True and also needs slots and probe")
        return (*args, slots, *changed.values(), probe)


@dataclass(frozen=True, eq=False)
class Spec(Rung[Built]):
    """A prefill rung. `dtypes` are the element types it takes, the first one the default; head_dim is a multiple of
    `step`; `sm` is the lowest target that has its instructions, `arch` the one that it is built for if nothing is said.
    `alone`: what it needs that `arch` alone has.

    `tile` is how many keys a tile has if they fit, None where there are no tiles. `tunable` are its further parameters
    (tile_q, warps, stages), whose defaults `prefer(config)` may change for a head_dim or a target; `completed(config)`
    adds what follows from them. `shared_bytes` is the shared memory of a block: `dynamic`, so up to what the target
    lets a block opt in to, or else static. `precision` is the type that the products are computed in where that is not
    the elements' own.

    Causal blocks of the first rows see few keys, those of the last rows all: `longest_first` builds begin with the
    last rows. With `l2_bytes` they do so over all heads whose keys and values fit into so large an L2 cache, else
    within each head.
    """

    built = Built
    phase: str = "prefill"
    tile: int | None = None
    shared_bytes: Callable[[Config], int] = field(default=lambda config: 0, repr=False)
    dtypes: tuple[str, ...] = ("f32", "f64")
    step: int = 1
    sm: int = 50
    arch: str = "sm_80"
    alone: str = ""
    dynamic: bool = False
    tile_kv: Parameter = field(default=TILE_KV, repr=False)
    tunable: tuple[Parameter, ...] = ()
    prefer: Callable[[Config], Config] = field(default=lambda config: config, repr=False)
    completed: Callable[[Config], Config] = field(default=lambda config: config, repr=False)
    limits: Callable[[Config], str] = field(default=lambda config: "", repr=False)
    precision: str = ""
    longest_first: bool = False
    l2_bytes: int = 0

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The build parameters by name, with their defaults and limits."""
        later = (name for name, target in targets.TARGETS.items() if target.number >= self.sm)
        archs = (self.arch,) if self.alone else tuple(later)
        listed = [
            Parameter("head_dim", "elements of a query, key or value row (D)", 64, minimum=self.step,
                      maximum=MAX_HEAD_DIM, step=self.step),
            Parameter("causal", "a row sees only the keys up to its own position", False, (False, True)),
            Parameter("dtype", "type of every element", self.dtypes[0], self.dtypes),
            Parameter("arch", "the target", self.arch, archs),
            Parameter("probes", "store the online-softmax state of chosen rows", False, (False, True)),
        ]  # fmt: skip
        if self.tile is not None:
            listed.append(self.tile_kv)
        return {p.name: p for p in (*listed, *self.tunable)}

    def configure(self, **given: Any) -> Config:
        if self.alone and given.get("arch") not in (None, self.arch):
            raise TargetError(f"{self.name}: {self.alone} of {self.arch} alone, not of {given['arch']}")
        checked = self.checked(given)
        asked = {name: checked.pop(name) for name in SIZES if name in checked}
        return self._fit(Config(**checked, tile_kv=self.tile or 1, kernel=self.name), asked)

    def _fit(self, start: Config, asked: dict[str, Any]) -> Config:
        """The configuration with its tiles: those asked for, the others as preferred and halved until they fit."""
        preferred = self.prefer(start)
        config = self.completed(dataclasses.replace(preferred, **asked))
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
            config = self.completed(smaller)
        needed = self.shared_bytes(config)
        if needed > limit:
            sizes = ", ".join(f"{name}={getattr(config, name)}" for name in SIZES if name in self.parameters)
            raise TargetError(
                f"{self.name}: {sizes} with head_dim={config.head_dim} and {config.dtype} needs {needed} bytes of "
                f"{kind}shared memory; {config.arch} has {limit}"
            )
        broken = self.limits(config)
        if broken:
            raise TargetError(f"{self.name}: {broken}")
        return config

    def _smaller(self, config: Config, asked: dict[str, int]) -> Config | None:
        """The next smaller configuration: fewer keys per tile, then fewer rows; None where there is none."""
        smallest = self.tile_kv.minimum
        if self.tile is not None and "tile_kv" not in asked and config.tile_kv // 2 >= smallest:
            return dataclasses.replace(config, tile_kv=config.tile_kv // 2)
        rows = self.parameters.get("tile_q")
        if rows is None or "tile_q" in asked or "warps" in asked or config.tile_q // 2 < max(16, rows.minimum):
            return None
        warps = min(config.warps, config.tile_q // 32) if "warps" in self.parameters else config.warps
        return dataclasses.replace(config, tile_q=config.tile_q // 2, warps=warps)


def entry_name(rung: str, config: Config) -> str:
    """`scalar_f32_d64_causal`."""
    name = f"{rung}_{config.dtype}_d{config.head_dim}" + ("_causal" if config.causal else "")
    return name + (f"_{config.mods.name}" if config.mods else "")


PREFILL: dict[str, Spec] = {}
"""The prefill rungs by name, in reading order. The package enters them: they are written against this file."""


def prefill_spec(name: str) -> Spec:
    """The prefill rung of a name."""
    return named(name, PREFILL, "prefill kernel")


def _reasons(refused: dict[str, list[str]]) -> list[str]:
    return [f"not {' nor '.join(names)}: {reason}" for reason, names in refused.items()]


def _clamped(config: Config, parameters: Any, seq_q: int, seq_kv: int) -> dict[str, Any]:
    """The tiles that are larger than the problem, halved while it still fits into one."""
    sizes: dict[str, Any] = {}
    for name, count in (("tile_q", seq_q), ("tile_kv", seq_kv)):
        if name not in parameters:
            continue
        size, smallest = getattr(config, name), max(parameters[name].minimum, 1)
        if size & size - 1:  # no power of two: the smallest that there is to choose and that is large enough
            size = min([n for n in parameters[name].choices if max(count, smallest) <= n < size], default=size)
        while size // 2 >= max(count, smallest):
            size //= 2
        if size < getattr(config, name):
            sizes[name] = size
    return sizes

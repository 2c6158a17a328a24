"""What a decode kernel of the library is: its parameters with their limits, and the arguments of its launch.

Decoding asks one query row of each head about all keys so far: q and o `[B, Hq, D]`, lse f32 `[B, Hq]`, lengths i32
`[B]`. The keys lie in a cache of one of three kinds:

    dense       key and value `[B, Hkv, max_seq, D]`
    pointers    key and value u64 `[B]`: for each sequence the address of its `[Hkv, max_seq, D]`, a multiple of 16
    paged       key and value `[num_pages, page_size, Hkv, D]`, and table i32 `[B, max_pages]`: key j of sequence b is
                slot j % page_size of page table[b, j // page_size]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ptxlab import targets
from ptxlab.builder import Builder, Ptr, bf16, f16, f32, s32, u32, u64
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels.mods import KEY_RANGES, Mods
from ptxlab.kernels.rung import DTYPES, MAX_HEAD_DIM, AnyBuilt, AnyConfig, Parameter, Rung

NUMPY = {name: DTYPES[name] for name in ("f32", "f16", "bf16")}
"""The types of q, o and the cache, with their numpy names; sums are f32 always."""

Element = TypeVar("Element", f32, f16, bf16)
"""The type of q, o and the cache, chosen by `types=` when a kernel is built."""
Cache = TypeVar("Cache", f32, f16, bf16, u64)
"""What key and value point to: elements, or with `cache="pointers"` addresses."""
Length = TypeVar("Length", u32, Ptr[s32])
"""The number of keys: a value, or a pointer to one for each sequence. After a pointer it can grow between two launches
of the same CUDA graph, whose parameters are fixed."""
Sums = TypeVar("Sums", bound=Ptr[f32] | None)
"""`sums` of a `probes=True` build whose warps merge: `[rows, warps, D]`, what each warp had summed; else None."""
Table = TypeVar("Table", bound=Ptr[s32] | None)
"""The block table of a paged cache; None in other builds."""

MOST_BLOCKS = targets.GRID[1]
"""The most sequences and splits: they are y and z of the grid."""


@dataclass(frozen=True)
class DecodeConfig(AnyConfig):
    """The parameters of one build, complete and checked; a kernel reads those that its spec lists."""

    head_dim: int
    dtype: str
    arch: str
    probes: bool = False
    warps: int = 0
    length: str = "pointer"
    cache: str = "dense"
    page_size: int = 16
    stages: int = 0
    partial: bool = False
    copy: str = "cp.async"
    mods: Mods | None = None

    lists = KEY_RANGES

    def modified(self, mods: Mods) -> DecodeConfig:
        """The same with mods."""
        return dataclasses.replace(self, mods=mods)

    @property
    def part_step(self) -> int:
        """Of how many keys a split's part is a multiple: a copy by a tensor map stays within one page."""
        return 16 if self.copy == "tma" and self.cache == "paged" else 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * max(1, self.warps)

    def types(self) -> dict[str, Any]:
        """What the type variables in a kernel's annotations stand for."""
        given: dict[str, Any] = {"Element": self.element, "Cache": self.element}
        given["Length"] = Ptr[s32] if self.length == "pointer" else u32
        if self.cache == "pointers":
            given["Cache"] = u64
        if self.cache == "paged":
            given["Table"] = Ptr[s32]
        if self.probes:
            given |= {"Slots": Ptr[u32], "Sums": Ptr[f32]}
        return given


# -- parameters --------------------------------------------------------------------------------------------------------

HEAD_DIM = Parameter(
    "head_dim", "elements of a query, key or value row (D)", 64, minimum=8, maximum=MAX_HEAD_DIM, step=8
)
DTYPE = Parameter("dtype", "type of q, o and the cache; sums are f32", "f32", tuple(NUMPY))
HALVES = Parameter("dtype", "type of q, o and the cache; sums are f32", "f16", ("f16", "bf16"))
ARCH = Parameter("arch", "the target", "sm_80", tuple(t.name for t in targets.TARGETS.values() if t.number >= 70))
PROBES = Parameter("probes", "store the online-softmax state of chosen rows", False, (False, True))
WARPS = Parameter("warps", "warps per head", 8, (2, 4, 8, 16))
LENGTH = Parameter("length", "how the number of keys is given", "pointer", ("value", "pointer"))
PAGE_SIZE = Parameter("page_size", "keys per page (paged caches)", 16, minimum=1, maximum=256)


def cache_parameter(*kinds: str) -> Parameter:
    """The parameter that chooses the kind of cache; the first is the default."""
    return Parameter("cache", "how the keys are laid out in memory", kinds[0], kinds)


# -- a built kernel ----------------------------------------------------------------------------------------------------


class DecodeBuilt(AnyBuilt):
    """A decode kernel."""

    spec: DecodeSpec
    config: DecodeConfig

    @property
    def dependent(self) -> bool:
        """Whether it may be launched before the kernel in front of it has ended: it waits by itself, before it reads
        what that one writes (`griddepcontrol.wait`, from sm_90 on)."""
        return self.spec.starts_early(self.config)

    def launch_shape(
        self, batch: int, heads_q: int, heads_kv: int, splits: int = 1
    ) -> tuple[tuple[int, int, int], tuple[int, int, int], int]:
        """(grid, block, bytes of dynamic shared memory) for a problem of B, Hq, Hkv and a number of splits."""
        self.check_heads(heads_q, heads_kv)
        grid = self.spec.grid(batch, heads_q, heads_kv, splits)
        return grid, (self.spec.threads(self.config), 1, 1), self.spec.shared_bytes(self.config)

    def arguments(self, **given: Any) -> tuple[Any, ...]:
        """The arguments of a launch in the kernel's order, from arrays (or `pl.const`, `pl.out`, device buffers) and
        numbers by the names of its parameters.

        Sizes that follow from the shapes need not be given: Hq, Hkv, max_seq, splits, and width, which is max_seq, or
        max_pages of a paged cache. With `cache="pointers"` Hkv and width do not, and are. `LaunchError` names the array
        whose shape does not fit.
        """
        sizes = self._sizes(given)
        values = sizes | given
        missing = [p.name for p in self.params if p.name not in values]
        if missing:
            raise LaunchError(f"{self.name} also needs {', '.join(missing)}")
        unknown = sorted(set(given) - {p.name for p in self.params})
        if unknown:
            raise LaunchError(f"{self.name} has no parameter {', '.join(unknown)}")
        return tuple(values[p.name] for p in self.params)

    def _sizes(self, given: Mapping[str, Any]) -> dict[str, int]:
        """The whole-number parameters, from the shapes of the arrays; all shapes are checked."""
        c = self.config
        shapes = {name: tuple(x.shape) for name, x in given.items() if hasattr(x, "shape") and x.shape != ()}
        sizes: dict[str, int] = {}
        rows = shapes["q"] if "q" in shapes else shapes.get("o", ())
        if len(rows) != 3:
            raise self.error(f"q and o should have shape [B, Hq, D], not {list(rows)}")
        batch, sizes["Hq"], dim = rows
        if dim != c.head_dim:
            raise self.error(f"q has head_dim {dim}; the kernel was built for {c.head_dim}")
        wanted: dict[str, tuple[int, ...]] = {"q": rows, "o": rows, "lse": rows[:2], "slots": rows[:2]}
        wanted["lengths" if "lengths" in shapes else "length"] = (batch,)
        cache = shapes.get("key", ())
        if "key" in shapes and c.cache == "pointers":
            sizes["Hkv"], sizes["max_seq"] = given.get("Hkv", 0), given.get("width", 0)
            wanted |= {"key": (batch,), "value": (batch,)}
        elif "key" in shapes:
            if len(cache) != 4:
                raise self.error(f"key should have 4 dimensions, its shape is {list(cache)}")
            if c.cache == "paged":
                sizes["Hkv"] = cache[2]
                wanted["key"] = wanted["value"] = (cache[0], c.page_size, cache[2], dim)
                sizes["max_pages"] = shapes.get("table", (batch, 0))[-1]
                wanted["table"] = (batch, sizes["max_pages"])
            else:
                sizes["Hkv"], sizes["max_seq"] = cache[1], cache[2]
                wanted["key"] = wanted["value"] = (batch, cache[1], cache[2], dim)
        if "Hkv" in sizes:
            self.check_heads(sizes["Hq"], sizes["Hkv"])
        if "partial" in shapes:
            sizes["splits"] = shapes["partial"][2] if len(shapes["partial"]) == 4 else 0
            wanted["partial"] = (batch, sizes["Hq"], sizes["splits"], dim + 2)
        for name, shape in wanted.items():
            if name in shapes and shapes[name] != tuple(shape):
                raise self.error(f"{name} should have shape {list(shape)}, not {list(shapes[name])}")
        self._check_sizes(batch, sizes, cache)
        sizes["width"] = sizes["max_pages"] if c.cache == "paged" and "max_pages" in sizes else sizes.get("max_seq", 0)
        names = {p.name for p in self.params}
        return {name: n for name, n in sizes.items() if name in names}

    def _check_sizes(self, batch: int, sizes: Mapping[str, int], cache: tuple[int, ...]) -> None:
        """What the kernels count in 32 bits: rows, and keys of a sequence or of a pool. Addresses have 64 bits."""
        counted = {"B * Hq": batch * sizes["Hq"]}
        if "max_seq" in sizes:
            counted["max_seq"] = sizes["max_seq"]
            counted["B * Hkv"] = batch * sizes["Hkv"]
        if "max_pages" in sizes:
            counted["max_pages * page_size"] = sizes["max_pages"] * self.config.page_size
            counted["num_pages * page_size"] = cache[0] * self.config.page_size
            counted["Hkv * D"] = sizes["Hkv"] * self.config.head_dim
            counted["B * max_pages"] = batch * sizes["max_pages"]
        if "splits" in sizes:
            counted["B * Hq * splits"] = batch * sizes["Hq"] * sizes["splits"]
        self.check_counts(counted)
        for name, count in (("B", batch), ("splits", sizes.get("splits", 1))):
            if count > MOST_BLOCKS:
                raise self.error(f"{name} is {count}; a grid has at most {MOST_BLOCKS} blocks there")


# -- the catalogue's entry ---------------------------------------------------------------------------------------------


def one_block_a_head(batch: int, heads_q: int, heads_kv: int, splits: int) -> tuple[int, int, int]:
    """Grid (Hq, B)."""
    return heads_q, batch, 1


def next_may_start(k: Builder) -> None:
    """Lets the kernel after this one start, if it was launched to; from sm_90 on, where there is such a thing."""
    if k.target.number >= 90:
        k.op("griddepcontrol.launch_dependents")


@dataclass(frozen=True, eq=False)
class DecodeSpec(Rung[DecodeBuilt]):
    """A decode rung. `takes` are its build parameters, `grid(B, Hq, Hkv, splits)`, `threads(config)` and
    `shared_bytes(config)` its launch shape; `fit(config)` completes and checks a configuration. `warp_of(config, keys)`
    tells which warp of a block takes a key, counted from the block's first one. `starts_early(config)`: see
    `DecodeBuilt.dependent`.
    """

    built = DecodeBuilt
    takes: tuple[Parameter, ...] = field(repr=False)
    grid: Callable[[int, int, int, int], tuple[int, int, int]] = field(default=one_block_a_head, repr=False)
    threads: Callable[[DecodeConfig], int] = field(default=lambda config: config.threads, repr=False)
    shared_bytes: Callable[[DecodeConfig], int] = field(default=lambda config: 0, repr=False)
    fit: Callable[[DecodeConfig], DecodeConfig] = field(default=lambda config: config, repr=False)
    warp_of: Callable[[DecodeConfig, Any], Any] = field(default=lambda config, keys: keys * 0, repr=False)
    starts_early: Callable[[DecodeConfig], bool] = field(default=lambda config: False, repr=False)
    phase: str = "decode"

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The build parameters by name, with their defaults and limits."""
        return {p.name: p for p in self.takes}

    def configure(self, **given: Any) -> DecodeConfig:
        config = self.fit(DecodeConfig(**self.checked(given)))
        if config.dtype == "bf16" and targets.get(config.arch).number < 80:
            raise TargetError(f"{self.name}: dtype='bf16' needs sm_80 or later; {config.arch} has no bf16")
        return config


def entry_name(rung: str, config: DecodeConfig) -> str:
    """`decode_f32_d64`, `decode_paged_bf16_d128_page16`; `_indirect` where the length comes by pointer and could come
    by value, `_tma` where tensor maps copy, `_partial` where what is stored waits for `decode_reduce`."""
    name = f"{rung}_{config.dtype}_d{config.head_dim}"
    if rung in ("decode", "decode_multiwarp") and config.length == "pointer":
        name += "_indirect"
    if config.cache != "dense":
        name += f"_page{config.page_size}" if config.cache == "paged" else "_pointers"
    name += ("_tma" if config.copy == "tma" else "") + ("_partial" if config.partial else "")
    return name + (f"_{config.mods.name}" if config.mods else "")

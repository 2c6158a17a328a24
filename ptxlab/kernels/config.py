"""One build of a kernel as numbers: tiles, warps and stages; `Config.auto` chooses them for a problem and a target."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab import targets
from ptxlab.builder import Ptr, Register, u32
from ptxlab.errors import TargetError

if TYPE_CHECKING:
    from ptxlab.kernels.spec import Built

THREADS = 128
"""Threads per block of the kernels with one thread per row, and so query rows per block."""

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}

PREFERRED = {
    "f64": ("tiled", "scalar"),
    "f32": ("tiled2d", "tiled", "scalar"),
    "f16": ("hopper", "wgmma", "pipelined", "swizzle", "mma", "wmma"),
    "bf16": ("hopper", "wgmma", "pipelined", "swizzle", "mma"),
}
"""The rungs that compute an element type, the quickest first; those for one target alone are for that target."""


@dataclass(frozen=True)
class Config:
    """The parameters of one build, complete and checked.

    A block has `warps` warps and computes `tile_q` query rows; it goes through the keys `tile_kv` at a time and has
    `stages` such tiles in shared memory. `kernel` is whose configuration it is; `why` are the reasons of `Config.auto`.
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
    kernel: str = field(default="", compare=False)
    why: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return BYTES[self.dtype]

    @property
    def threads(self) -> int:
        """Threads a block."""
        return self.warps * targets.WARP

    def types(self, real: type[Register[Any]]) -> dict[str, Any]:
        """What the type variables in a kernel's annotations stand for."""
        return {"Real": real, "Slots": Ptr[u32]} if self.probes else {"Real": real}

    @classmethod
    def auto(
        cls, head_dim: int, seq_q: int, seq_kv: int, causal: bool = False, dtype: str = "f16", arch: str = "sm_80",
        *, kernel: str | None = None,
    ) -> Config:  # fmt: skip
        """The kernel and its tiles for a problem: the quickest rung that takes it, never over a limit of the target.

        seq_q, seq_kv: query rows and keys per head. kernel: a rung to choose the tiles of, instead of the best one. The
        result's `repr` says what was chosen and why; its fields are what `kernels.get(c.kernel).build(...)` takes, and
        `c.build()` does that. `TargetError` where no rung takes the problem.
        """
        from ptxlab.kernels import get

        if dtype not in PREFERRED:
            raise TargetError(f"dtype is one of {', '.join(map(repr, PREFERRED))}, not {dtype!r}")
        targets.get(arch)
        for what, count in (("seq_q", seq_q), ("seq_kv", seq_kv)):
            if not isinstance(count, int | np.integer) or count < 0:
                raise TargetError(f"{what} is a whole number from 0, not {count!r}")
        refused: dict[str, list[str]] = {}
        for name in (kernel,) if kernel else PREFERRED[dtype]:
            spec = get(name, "prefill")
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
                    cause = f"there are {problem}" if problem <= has else f"{arch} has no memory for {likes}"
                    why.append(f"{what} {has}, not {likes}: {cause}")
            return replace(config, kernel=name, why=tuple(why))
        listed = "; ".join(_reasons(refused))
        raise TargetError(f"no kernel takes {dtype} with head_dim={head_dim} on {arch}; {listed}")

    def build(self) -> Built:
        """The kernel with these parameters."""
        from ptxlab.kernels import get

        spec = get(self.kernel, "prefill")
        names = ("head_dim", "causal", "dtype", "arch", "probes", "tile_q", "tile_kv", "warps", "stages")
        return spec.build(**{name: getattr(self, name) for name in names if name in spec.parameters})

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, in bytes."""
        from ptxlab.kernels import get

        return get(self.kernel, "prefill").shared_bytes(self)

    def tiles(self, seq_q: int, seq_kv: int) -> tuple[int, int]:
        """How many tiles of query rows and of keys there are."""
        return -(-seq_q // self.tile_q), -(-seq_kv // self.tile_kv)

    def __repr__(self) -> str:
        what = f"{self.dtype}, head_dim {self.head_dim}{', causal' if self.causal else ''}, {self.arch}"
        warps = "1 warp" if self.warps == 1 else f"{self.warps} warps"
        keys = "one key at a time" if self.tile_kv == 1 else f"{self.tile_kv} keys a tile"
        rows = f"{self.tile_q} query rows x {keys}, {warps}"
        if self.stages > 1:
            rows += f", {self.stages} stages"
        if not self.kernel:
            return f"<Config {what}: {rows}>"
        target = targets.get(self.arch)
        limit = target.optin_shared if self.shared_bytes > target.static_shared else target.static_shared
        lines = [f"{self.kernel} for {what}", f"  {rows}", f"  {self.shared_bytes} of {limit} bytes of shared memory"]
        return "\n".join(lines + [f"  {reason}" for reason in self.why])


def _reasons(refused: dict[str, list[str]]) -> list[str]:
    """Which kernels were not taken, reason by reason."""
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

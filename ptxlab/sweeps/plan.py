"""What a sweep goes through: kernels, parameters and problems, and the legal points among their combinations."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab import kernels, options
from ptxlab.errors import LaunchError, PtxlabError, TargetError
from ptxlab.version import __version__

BY_LAUNCH = ("splits",)
"""Parameters of a grid that are not build parameters: they are given to `pl.decode`."""


@dataclass(frozen=True)
class Shape:
    """A problem of attention. Prefill: q `[batch, heads, seq, D]`, k and v `[batch, heads_kv, keys, D]`; decode: q
    `[batch, heads, D]` and a cache of `seq` keys. D is `head_dim`; heads_kv and keys are heads and seq by default."""

    seq: int
    head_dim: int = 64
    batch: int = 1
    heads: int = 1
    heads_kv: int = 0
    keys: int = 0

    def __post_init__(self) -> None:
        for name in ("seq", "head_dim", "batch", "heads"):
            object.__setattr__(self, name, options.whole(name, getattr(self, name), 1))
        for name, default in (("heads_kv", self.heads), ("keys", self.seq)):
            object.__setattr__(self, name, options.whole(name, getattr(self, name), 0) or default)
        if self.heads % self.heads_kv:
            raise LaunchError(f"heads: {self.heads} query heads cannot share {self.heads_kv} key/value heads evenly")

    @classmethod
    def of(cls, value: Any) -> Shape:
        """A shape, a mapping with its fields, or just the length."""
        if isinstance(value, Shape):
            return value
        if isinstance(value, Mapping):
            names = [field.name for field in dataclasses.fields(cls)]
            unknown = [name for name in value if name not in names]
            if unknown or "seq" not in value:
                wrong = f"has no {unknown[0]!r}" if unknown else "needs seq"
                raise LaunchError(f"shapes: a shape {wrong}; write:  dict(seq=256, head_dim=64, batch=1, heads=1)")
            return cls(**value)
        return cls(options.whole("shapes", value, 1))


@dataclass(frozen=True)
class Written:
    """A prefill kernel of your own in a sweep: `write(**parameters)` gives a builder's kernel or PTX text.

    It takes the arguments of the library's prefill kernels: q, k, v, o, lse, B, Hq, Hkv, Sq, Sk, scale. `parameters`
    says which of a grid's parameters `write` wants; rows are the query rows of a block and block its threads, as
    numbers or as names of parameters. Only the text that `write` returns travels to other processes.
    """

    name: str
    write: Callable[..., Any]
    parameters: tuple[str, ...] = ("head_dim", "dtype", "causal")
    rows: int | str = 128
    block: int | str = 128
    shared: int = 0
    arch: str = "sm_80"


@dataclass(frozen=True)
class Point:
    """One measurement: a kernel with all parameters that were chosen, a problem, and how it is measured.

    `text` holds the kernel itself where it is not the library's: PTX, rows and threads of a block, and so on.
    """

    kernel: str
    parameters: Mapping[str, Any]
    shape: Shape
    how: Mapping[str, Any] = field(default_factory=dict)
    text: Mapping[str, Any] | None = None

    def task(self) -> dict[str, Any]:
        """What travels to the process that measures: plain data."""
        return {
            "kernel": self.kernel,
            "parameters": dict(self.parameters),
            "shape": dataclasses.asdict(self.shape),
            "how": dict(self.how),
            "text": dict(self.text) if self.text is not None else None,
            "version": __version__,
        }

    @property
    def key(self) -> str:
        """The point's name on disk: the same point has the same name tomorrow, another one has another name."""
        return hashlib.sha256(json.dumps(self.task(), sort_keys=True).encode()).hexdigest()[:24]


@dataclass
class Refusals:
    """Combinations that are not legal, by reason: how many there are, and what was said of the first."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, error: Exception | str) -> None:
        """One more; messages that differ in numbers alone have the same reason."""
        said = str(error).splitlines()[0]
        reason = re.sub(r"\d+", "n", said)
        self.counts[reason] = self.counts.get(reason, 0) + 1
        self.examples.setdefault(reason, said)

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())

    def __str__(self) -> str:
        return "\n".join(f"{count:>6}  {self.examples[reason]}" for reason, count in self.counts.items())


def points(
    chosen: Sequence[str | Written],
    grid: Mapping[str, Sequence[Any]],
    shapes: Sequence[Shape],
    how: Mapping[str, Any],
    refusals: Refusals,
) -> Iterator[Point]:
    """Every legal combination, kernel by kernel; the others are added to `refusals`.

    A kernel that has no such parameter takes part once, whatever the values. Raises `LaunchError` for a parameter that
    no kernel has, before the first point.
    """
    wanted = {kernel: parameters_of(kernel) for kernel in chosen}
    for name in grid:
        if not any(name in has for has in wanted.values()):
            known = sorted({each for has in wanted.values() for each in has})
            raise LaunchError(f"grid: no kernel of this sweep has a parameter {name!r}; choose from {', '.join(known)}")
    return _points(wanted, grid, shapes, how, refusals)


def _points(
    wanted: Mapping[str | Written, Sequence[str]],
    grid: Mapping[str, Sequence[Any]],
    shapes: Sequence[Shape],
    how: Mapping[str, Any],
    refusals: Refusals,
) -> Iterator[Point]:
    for kernel, has in wanted.items():
        names = [name for name in grid if name in has]
        for shape in shapes:
            for values in itertools.product(*(grid[name] for name in names)):
                parameters = {name: _plain(value) for name, value in zip(names, values, strict=True)}
                if "head_dim" in has:
                    parameters.setdefault("head_dim", shape.head_dim)
                real = dataclasses.replace(shape, head_dim=parameters.get("head_dim", shape.head_dim))
                try:
                    yield _point(kernel, parameters, real, how)
                except PtxlabError as error:
                    refusals.add(error)


def _point(kernel: str | Written, parameters: dict[str, Any], shape: Shape, how: Mapping[str, Any]) -> Point:
    """A legal point; `TargetError` or another error of the builder where it is not."""
    if isinstance(kernel, Written):
        return Point(kernel.name, parameters, shape, how, _text(kernel, parameters))
    spec = kernels.get(kernel)
    built = {name: value for name, value in parameters.items() if name not in BY_LAUNCH}
    if spec.phase == "prefill":
        spec.configure(**{"causal": False, "dtype": spec.dtypes[0], "arch": spec.arch, **built})
    else:
        spec.checked(built)
        if shape.keys != shape.seq:
            raise LaunchError(f"{kernel}: keys is for prefill; a cache holds seq keys")
    return Point(kernel, parameters, shape, how)


def parameters_of(kernel: str | Written) -> Sequence[str]:
    """The parameters of a grid that a kernel takes."""
    if isinstance(kernel, Written):
        return kernel.parameters
    spec = kernels.get(kernel)
    if kernel == "decode_reduce":
        raise TargetError("decode_reduce merges what decode_split leaves; it runs with it")
    found = [name for name in spec.parameters if name not in ("probes", "partial")]
    return [*found, *BY_LAUNCH] if kernel in ("decode_split", "decode_gqa") else found


def _text(kernel: Written, parameters: dict[str, Any]) -> dict[str, Any]:
    written = kernel.write(**parameters)

    def number(value: int | str) -> int:
        return int(parameters[value]) if isinstance(value, str) else value

    ptx = written if isinstance(written, str) else written.ptx
    sizes = {"rows": number(kernel.rows), "block": number(kernel.block), "shared": kernel.shared}
    return {"ptx": ptx, "arch": kernel.arch, **sizes}


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value.item() if isinstance(value, np.generic) else value

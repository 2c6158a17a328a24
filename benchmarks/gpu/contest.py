"""Self-attention problems, their inputs, and the contestants that `prefill` and `ladder` measure on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

import ptxlab as pl
from benchmarks.gpu import rivals_torch
from benchmarks.gpu.memory import NUMPY, parts
from benchmarks.gpu.timing import Answers, Lost, Ours, Recording, Timed, lost, measure, said
from ptxlab import kernels, reference

SETS = 2
"""Sets of inputs that take turns; one of the full problems has 201 MB."""
LONG, RATE, MOST = 2e-3, 300e12, 16
"""A graph holds launches for about so many seconds at so many operations per second, but at most so many launches."""
Prepare = Callable[[], Recording]
ROWS = 32
"""Rows that are compared in each place."""


@dataclass(frozen=True)
class Problem:
    """Self-attention over `seq` positions; all problems have as many tokens and as wide a model."""

    dim: int
    causal: bool
    seq: int
    dtype: str
    tokens: int = 16384
    width: int = 2048
    most: int = MOST

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """[B, H, S, D] of q, k, v and o."""
        return self.tokens // self.seq, self.width // self.dim, self.seq, self.dim

    @property
    def sizes(self) -> str:
        """What all problems have in common."""
        return f"B * S = {self.tokens}, H * D = {self.width}, Sq = Sk"

    @property
    def operations(self) -> float:
        """Floating-point operations of both products, 4 * B * H * Sq * Sk * D; a causal mask leaves half of them."""
        return 4.0 * self.tokens * self.seq * self.width / (2 if self.causal else 1)

    @property
    def launches(self) -> int:
        """How many launches are recorded together."""
        return min(self.most, max(SETS, math.ceil(LONG * RATE / self.operations)))

    @property
    def key(self) -> dict[str, Any]:
        """The problem in a row of the record."""
        return {"dtype": self.dtype, "dim": self.dim, "causal": self.causal, "seq": self.seq}

    def __str__(self) -> str:
        return f"{self.dtype}, D {self.dim}, {'causal' if self.causal else 'full'}, S {self.seq}"


@dataclass
class Inputs:
    """q, k and v of every set, N(0, 1), as flat arrays: on the host in bf16, on the device in each type that is asked
    for, and as torch's tensors. All types hold the same numbers; f16 rounds the few that are too small for it."""

    size: int
    device: str
    torch: Any
    host: list[list[Any]] = field(init=False)
    _buffers: dict[str, Any] = field(default_factory=dict)
    _tensors: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # one long draw, of which every array is another stretch; a prime apart, so that rows never meet themselves
        apart, count = 10007, 3 * SETS
        drawn = np.random.default_rng(0).standard_normal(self.size + apart * count, np.float32).astype(bfloat16)
        arrays = [drawn[n * apart : n * apart + self.size] for n in range(count)]
        self.host = [arrays[3 * n : 3 * n + 3] for n in range(SETS)]

    def on_device(self, dtype: str, which: int, shape: tuple[int, ...]) -> list[pl.DeviceBuffer]:
        """q, k and v of a set, as arrays of this shape."""
        if dtype not in self._buffers:
            self._buffers[dtype] = [
                [pl.to_device(x.astype(NUMPY[dtype]), device=self.device) for x in one] for one in self.host
            ]
        for buffer in self._buffers[dtype][which]:
            buffer.shape = shape
        return list(self._buffers[dtype][which])

    def tensors(self, dtype: str, shape: tuple[int, ...]) -> list[list[Any]]:
        """q, k and v of every set as tensors of torch."""
        if dtype not in self._tensors:
            flat = [self.on_device(dtype, n, (self.size,)) for n in range(SETS)]
            self._tensors[dtype] = [[rivals_torch.tensor(self.torch, x, dtype) for x in one] for one in flat]
        return [[x.view(shape) for x in one] for one in self._tensors[dtype]]

    def answers(self, problem: Problem) -> Answers:
        """What rows of the first, a middle and the last head should be."""
        batch, heads, seq, _ = problem.shape
        count = min(ROWS, seq)
        first, middle, last = slice(0, count), slice((seq - count) // 2, (seq + count) // 2), slice(seq - count, seq)
        ends = (0, 0), (batch - 1, heads - 1)
        places = [(b, h, rows) for b, h in ends for rows in (first, last)]
        places.append((batch // 2, (heads - 1) // 2, middle))

        def inputs(which: int, place: tuple[Any, ...]) -> tuple[Any, Any, Any]:
            b, h, rows = place
            q, k, v = (x.reshape(problem.shape)[b : b + 1, h : h + 1] for x in self.host[which])
            keys = slice(0, rows.stop if problem.causal else seq)
            to = NUMPY[problem.dtype]
            return q[:, :, rows].astype(to), k[:, :, keys].astype(to), v[:, :, keys].astype(to)

        return Answers(places, inputs, problem.causal, SETS)


@dataclass
class Place:
    """Where the contest takes place: "gpu" or "cpu", the target that kernels are built for, and its multiprocessors."""

    device: str
    arch: str
    processors: int
    name: str

    @classmethod
    def of(cls, device: str) -> Place:
        """The GPU, or the emulator, which stands for an A100."""
        if device == "cpu":
            return cls(device, "sm_80", 4, "the emulator")
        found = pl.gpu.describe()
        return cls(device, found.arch, found.multiprocessors, str(found))

    @property
    def blocks(self) -> int:
        """Blocks of the kernels that fill and search memory."""
        return 8 * self.processors


def target_of(name: str, place: Place) -> str:
    """The target that a rung is built for there: the place's own, or that with the features of one GPU alone."""
    spec = kernels.get(name, "prefill")
    return spec.arch if place.device == "cpu" or spec.arch == f"{place.arch}a" else place.arch


def elsewhere(name: str, place: Place) -> str:
    """Why a rung cannot run there, or ""."""
    spec = kernels.get(name, "prefill")
    return f"it needs {spec.arch}" if spec.alone and target_of(name, place) != spec.arch else ""


def ours(name: str, problem: Problem, inputs: Inputs, place: Place) -> Ours:
    """A rung of the ladder, with the tiles that `Config.auto` chooses for it."""
    shape, dtype = problem.shape, problem.dtype
    batch, heads, seq, dim = shape
    chosen = kernels.Config.auto(dim, seq, seq, problem.causal, dtype, target_of(name, place), kernel=name)
    built = chosen.build()
    launch = built.launch_shape(batch, heads, heads, seq, seq)
    o, lse = outputs(problem, place)
    steps = []
    for n, (one_o, one_lse) in enumerate(zip(parts(o), parts(lse), strict=True)):
        given = built.arguments(
            *inputs.on_device(dtype, n % SETS, shape), o=one_o, lse=one_lse, scale=reference.default_scale(dim)
        )
        steps.append((built, *launch, given))
    return Ours(steps, o, lse, dtype, place.blocks)


def outputs(problem: Problem, place: Place) -> tuple[pl.DeviceBuffer, pl.DeviceBuffer]:
    """o and lse of all launches."""
    batch, heads, seq, dim = problem.shape
    o = pl.empty((problem.launches, batch, heads, seq, dim), NUMPY[problem.dtype], device=place.device)
    return o, pl.empty((problem.launches, batch, heads, seq), np.float32, device=place.device)


def theirs(name: str, problem: Problem, inputs: Inputs) -> Recording:
    """torch's attention with one back end forced."""
    tensors = inputs.tensors(problem.dtype, problem.shape)
    return rivals_torch.prefill(inputs.torch, name, tensors, problem.causal, problem.launches)


def contest(prepared: Mapping[str, Prepare], answers: Answers, *, rounds: int, warm: float) -> dict[str, Timed]:
    """Prepares and measures the contestants, given as functions that make their recordings. A contestant that raises
    is `failed`; `Lost` when the GPU stopped one."""
    recordings: dict[str, Recording] = {}
    found: dict[str, Timed] = {}
    for name, prepare in prepared.items():
        try:
            recordings[name] = prepare()
        except Exception as raised:  # such as a back end that torch has not: shown in the kernel's row
            found[name] = Timed(failed=said(raised))
            if lost(raised):
                raise Lost(found) from raised
    found |= measure(recordings, answers.check, rounds=rounds, warm=warm)
    for recording in recordings.values():
        recording.free()
    return found


def row(name: str, problem: Problem, timed: Timed, rival: bool, peak: float | None) -> dict[str, Any]:
    """A row of the record. `absent` says why a rival could not run; what goes wrong with a rung of ours is `wrong`."""
    known: dict[str, Any] = {"kernel": name, **problem.key}
    seconds = timed.median
    if seconds is None:
        text = timed.wrong or timed.failed
        return known | ({"absent": text} if rival and not timed.wrong else {"wrong": f"{name}, {problem}: {text}"})
    tflops = problem.operations / seconds / 1e12
    known |= {"seconds": seconds, "tflops": tflops, "fastest": min(timed.seconds), "slowest": max(timed.seconds)}
    known |= {"replays": len(timed.seconds), "launches": problem.launches, "error": timed.error, "wrong": ""}
    return known | ({"of_product": tflops / peak} if peak else {})


def rate(tflops: float) -> str:
    """TFLOP/s with as many digits as say something."""
    return f"{tflops:.1f}" if tflops >= 10 else f"{tflops:.3g}"


def line(one: Mapping[str, Any]) -> str:
    """A row as it is printed when it comes."""
    mask = "causal" if one["causal"] else "full"
    what = f"{one['kernel']:<12} {one['dtype']:<5} D {one['dim']:<4} {mask:<7} S {one['seq']:<6}"
    if "seconds" not in one:
        return f"{what} {'WRONG: ' + one['wrong'] if one.get('wrong') else one['absent']}"
    tiles = f"  {one['tiles']}" if one.get("tiles") else ""
    return f"{what} {one['seconds'] * 1e3:9.3f} ms {rate(one['tflops']):>7} TFLOP/s  error {one['error']:.1e}{tiles}"

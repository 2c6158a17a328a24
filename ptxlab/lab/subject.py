"""What the explorer explores: something with parameters that becomes PTX, can be run, and may have a right answer.

The kernels of the library (`library_subjects`), any PTX text and compiled kernels (`kernel_subject`) are subjects. A
subject of one's own needs `title`, `name`, its parameters and `build`; what else it overrides, the explorer shows:

    class Saxpy(Subject):
        title, name = "y = a x + y", "saxpy"
        building = (Parameter("unroll", "elements per thread", 1, (1, 2, 4)),)
        def build(self, values): return saxpy(unroll=values["unroll"])      # anything with .ptx, .module and .name
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np

from ptxlab import gpu, reference
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import DTYPES, Parameter
from ptxlab.launch.buffers import DEVICES as DEVICES
from ptxlab.launch.run import ALL_CHECKS, cpu_engine

Values = Mapping[str, Any]
Shape = tuple[tuple[int, int, int], tuple[int, int, int], int]
"""Grid, block and bytes of dynamic shared memory."""

TITLES = {"sigma": "sigma σ", "seq_q": "Sq", "seq_k": "Sk", "kv_heads": "KV heads", "tile_kv": "KV tile",
          "tile_q": "Q tile", "head_dim": "head dim", "documents": "docs", "page_size": "page size",
          "fast_math": "fast math", "grid_y": "grid y", "grid_z": "grid z", "block_y": "block y",
          "block_z": "block z"}  # fmt: skip
"""What parameters are called on the page, where not by their names."""
CHECKS = Parameter(
    "checks",
    "what the emulator looks for while it runs; all: invalid accesses, races, memory that is read before it is "
    "written, and barriers that not all threads reach",
    "memcheck",
    (*ALL_CHECKS, "all"),
)
"""The parameter of a problem that says with which checks it is run."""
MACHINES = {"cpu": "emulator", "step": "interpreter", "gpu": "GPU"}


@dataclass(frozen=True)
class Way:
    """One way to the result and how far it is off: `against` says from what. Numbers are None with a `note` instead."""

    label: str
    against: str
    max: float | None = None
    mean: float | None = None
    ulp: float | None = None
    note: str = ""


@dataclass(eq=False)
class Judgement:
    """A result held against float64. `error` is |o - reference| `[batch, heads, rows, columns]`, `ratio` that over the
    tolerance of each element; `rows` says what a row is; `ways` are the machines and numpy, each with its error."""

    measured: reference.Error
    error: Any
    ratio: Any
    rows: str = "query row"
    ways: tuple[Way, ...] = ()


@dataclass(eq=False)
class Ran:
    """A finished run. `run` is the launch that is shown; `counts` the counters of the emulator, where it ran;
    `others` further launches; `judged` is None where there is no right answer to compare with; `arrays` are what the
    kernel changed, by parameter name; `kept` is whatever the subject needs again for the state. `least` are the bytes
    of the problem's arrays, each once, where known; `found` what checks have noticed on the emulator, where `run` is
    the GPU's."""

    run: Any
    counts: Any = None
    others: tuple[Any, ...] = ()
    judged: Judgement | None = None
    arrays: dict[str, Any] = field(default_factory=dict)
    kept: Any = None
    least: int | None = None
    found: tuple[Any, ...] = ()


PTX, OPTIONS = "PTX", "ptxas"
"""What every kernel can be edited in: its text, and the assembler's options."""


class Source(NamedTuple):
    """What PTX was made from: `language` is "Python" or "CUDA C++"; `file` is what spans call it, and `first` the line
    there at which the text begins."""

    language: str
    text: str
    file: str
    first: int = 1


class Subject:
    """Something to explore. `building` are the parameters that change the PTX, `problem` those of a run."""

    title: str = ""
    name: str = ""
    building: tuple[Parameter, ...] = ()
    problem: tuple[Parameter, ...] = ()
    sources: Mapping[str, str] = {}
    """Texts that the PTX was made from and that are not files, by the names in its spans."""
    text: str = "as built"
    """What its PTX is: as it was built, or where somebody has changed it."""
    base: Subject | None = None
    """What an edited kernel was before."""
    edits: Mapping[str, str] = {}
    """What stands in place of what `base` has: texts by language, and `OPTIONS`. See `edited_kernel`."""
    kept: Values = {}
    """Values of parameters that have no control: those that the text of an edited kernel was built for."""
    costs: float = 1.0
    """The time of a multiplication of `size`, beside that of a prefill kernel."""
    family: tuple[str, ...] = ()
    """The kernels of the library that one can change to, this one included."""

    @property
    def options(self) -> tuple[str, ...]:
        """What the assembler is told besides."""
        return tuple(self.edits.get(OPTIONS, "").split())

    @property
    def told_options(self) -> str:
        """The same, in words."""
        return " ".join(self.options) or "none"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters that can be chosen, those that change the PTX first."""
        return tuple(p for p in (*self.building, *self.problem) if p.name not in self.kept)

    def check(self, values: Values) -> None:
        """`TargetError` or `LaunchError` names the first parameter of the problem that does not fit."""
        for parameter in self.problem:
            check(parameter, self.name, values[parameter.name])

    def fits(self, values: Values) -> None:
        """As `check`, and whether such a kernel can be built, as far as can be told without doing it."""
        self.check(values)

    def unused(self, values: Values) -> Collection[str]:
        """Parameters that count for nothing with these values: their controls are not shown."""
        return ()

    def rows(self, values: Values) -> tuple[str, int]:
        """What a row of the result is called, and how many each head has; ("", 0) where there is no right answer."""
        return "", 0

    def build(self, values: Values) -> Any:
        """The kernel: an object with `.ptx`, `.module` (whose spans link it to its source) and `.name`."""
        raise NotImplementedError

    @functools.cached_property
    def source(self) -> Source | None:
        """What the PTX is made from, where `of_source` makes it anew from another text."""
        return None

    def of_source(self, text: str) -> Subject:
        """The same, made from a text in place of that of `source`; errors have the line in `text_line`."""
        raise NotImplementedError

    def shape(self, built: Any, values: Values) -> Shape | None:
        """How it is launched; None where it is not."""
        return None

    def run(self, built: Any, values: Values, device: str) -> Ran | None:
        """Runs it; None where there is nothing to run. Faults go to the caller."""
        return None

    def size(self, values: Values) -> float | None:
        """The multiplications of the problem, from which the time of a run is estimated. A pair of row and key that the
        mask hides is no work. None where nobody can say."""
        return None

    def recorded(self, built: Any, values: Values, trace: Any, **options: Any) -> Any:
        """Runs it once more on the emulator with a trace, and with further options of `pl.launch`, and gives the
        run. Faults go to the caller."""
        raise LaunchError(self.why_no_run() or f"{self.name} is not run")

    def block_of(self, built: Any, values: Values, head: tuple[int, int], row: int) -> int:
        """The number of the block that computes a row of the result; 0 where nobody can say."""
        return 0

    def why_no_run(self) -> str:
        """What to say in place of a run."""
        return ""

    def groups(self, values: Values) -> list[tuple[str, tuple[int, int]]]:
        """The (batch, head) pairs of the result, with labels, of which one is shown."""
        return [("0", (0, 0))]

    def state(self, built: Any, values: Values, ran: Ran, head: tuple[int, int], row: int) -> dict[str, Any] | None:
        """The online-softmax state of a row, as `stages.state` describes it; None where there is none."""
        return None

    def lesson(self, built: Any) -> dict[str, Any] | None:
        """What there is to learn: {question, look, line, next}, or None where nobody has said. `look` says what
        to look at, `line` is the PTX line to open at, `next` {name, title} of the subject that comes next, or None."""
        return None

    def tiles(self, built: Any, values: Values) -> dict[str, Any] | None:
        """How rows and keys are cut: {rows, keys, tile_q, tile_kv, causal, kinds, row_name}; None where nothing is.
        kinds: see `library_subjects.tile_kinds`, None without a variant's mask."""
        return None


@dataclass(frozen=True)
class Request:
    """One setting of all controls. `values` are the subject's parameters as (name, value) pairs, `row` the row of the
    whole problem whose softmax is plotted (-1: the last one), `head` the (batch, head) that is shown, `sass`: whether
    machine code is wanted."""

    subject: Subject
    values: tuple[tuple[str, Any], ...] = ()
    device: str = "auto"
    row: int = -1
    head: tuple[int, int] = (0, 0)
    sass: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """The parameters by name."""
        return dict(self.values)

    @property
    def work(self) -> float | None:
        """The multiplications of a run, in those of a prefill kernel that take as long; None where nobody can say."""
        size = self.subject.size(self.given)
        return None if size is None else size * self.subject.costs

    @property
    def version_key(self) -> tuple[Any, ...]:
        """What the PTX depends on: the subject and the parameters that change it."""
        names = {p.name for p in self.subject.building} | {"splits"}
        return self.subject, tuple(pair for pair in self.values if pair[0] in names)

    @property
    def result_key(self) -> Request:
        """The request without what only chooses a view of the result."""
        return replace(self, row=-1, head=(0, 0), sass=False)

    def check(self) -> None:
        """`TargetError` or `LaunchError` names the first parameter of the problem that is out of its range."""
        self.subject.check(self.given)
        if self.device not in DEVICES:
            raise TargetError(f"{self.subject.name}: device must be one of {', '.join(DEVICES)}, not {self.device!r}")


def check(parameter: Parameter, name: str, value: Any) -> None:
    """`TargetError` names the limit that a value breaks; sigma, a fraction, has its own."""
    if parameter.name == "sigma":
        if not (isinstance(value, int | float) and 0 < value <= 100):
            raise TargetError(f"{name}: sigma must be a number above 0 and at most 100, not {value!r}")
    elif not isinstance(parameter.default, float):  # of an argument any
        parameter.check(name, value)


def places(batch: int, heads: int) -> list[tuple[str, tuple[int, int]]]:
    """The (batch, head) pairs to look at, with their labels."""
    if batch == 1:
        return [(str(h), (0, h)) for h in range(heads)]
    return [(f"batch {b}, head {h}", (b, h)) for b in range(batch) for h in range(heads)]


def random_inputs(values: Values, rows: int, config: Any) -> tuple[Any, Any, Any]:
    """q, k and v for a kernel of the library, of the sizes that the parameters of the problem say."""
    sizes = values["batch"], values["heads"], values["kv_heads"], rows, values["seq_k"], config.head_dim
    dtype = DTYPES[config.dtype]
    return reference.random_inputs(*sizes, sigma=values["sigma"], dtype=dtype, seed=values["seed"])


def place(b: int, h: int, shape: tuple[int, ...]) -> str:
    """`batch 1, head 3, ` where there are several, else nothing."""
    return (f"batch {b}, " if shape[0] > 1 else "") + (f"head {h}, " if shape[1] > 1 else "")


# -- the machines ------------------------------------------------------------------------------------------------------


def machines(device: str) -> tuple[str, ...]:
    """Where to run for a choice of device, what is shown first: with a GPU the emulator runs as well, which counts
    and gives the second opinion."""
    if device == "auto":
        return ("gpu", "cpu") if gpu.available() else (cpu_engine(),)
    return ("gpu", cpu_engine()) if device == "gpu" else (device,)


def looked_at(device: str, values: Values) -> dict[str, Any]:
    """The options of a launch for its counters and checks, which a GPU has not."""
    return {} if device == "gpu" else {"counters": True, "checks": values["checks"]}


def ways(outputs: Mapping[str, Any], exact: Any, plain: Any, plain_name: str) -> tuple[Way, ...]:
    """The three ways to a result, one row each: the emulator, the GPU and numpy, against float64, and the two
    machines against each other. `outputs` are by device ("cpu", "step", "gpu"); `plain` is numpy's."""
    emulated, measured = outputs.get("cpu", outputs.get("step")), outputs.get("gpu")
    found = [
        Way(label, "numpy float64", note=absent(label))
        if mine is None
        else Way(label, "numpy float64", *_distance(mine, exact))
        for label, mine in (("emulator", emulated), ("GPU", measured), (plain_name, plain))
    ]
    if emulated is not None and measured is not None:
        found.append(Way("emulator", "GPU", *_distance(emulated, measured)))
    return tuple(found)


def absent(label: str) -> str:
    """Why a machine has no column."""
    if label != "GPU":
        return "not asked"
    return "not asked: choose the device auto or gpu" if gpu.available() else "there is no NVIDIA GPU here"


def _distance(a: Any, b: Any) -> tuple[float, float, float]:
    """Largest and mean difference, and the largest in units of the last place of a's type at the row's size."""
    if not a.size:
        return 0.0, 0.0, 0.0
    wide = np.asarray(b, np.float64)
    gap = np.abs(a.astype(np.float64) - wide)
    limits = np.finfo(a.dtype if a.dtype.kind == "f" else np.float32)  # bfloat16, unknown to finfo, reaches as far
    largest = np.maximum(np.abs(wide).max(axis=-1, keepdims=True), limits.tiny).astype(a.dtype)
    with np.errstate(invalid="ignore"):
        ulp = gap / np.spacing(largest).astype(np.float64)
    return float(gap.max()), float(gap.mean()), float(ulp.max())


def plain_attention(q: Any, k: Any, v: Any, *, dtype: Any, causal: bool = False, **mods: Any) -> Any:
    """softmax(q kT / sqrt(D)) v as one writes it in numpy, in float32 (float64 for float64), the result in `dtype`.
    mods: those of `reference`."""
    real = np.float64 if np.dtype(dtype) == np.float64 else np.float32
    group = q.shape[1] // k.shape[1]
    q, k, v = (np.asarray(x, real) for x in (q, k, v))
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    if not k.shape[2]:
        return np.zeros(q.shape, dtype)
    scale, rows, changes = reference.default_scale(q.shape[3]), np.arange(q.shape[2]), cast(reference.Mods, mods)
    every = np.ndindex(*q.shape[:2])
    found = [reference.scores_of(q[at], k[at], scale, causal, (*at, rows), len(rows), changes)[0] for at in every]
    scores, sinks = np.stack(found).reshape(*q.shape[:3], -1), mods.get("sinks")
    sink = np.asarray(-np.inf if sinks is None else np.reshape(sinks, (-1, 1, 1)), real)
    top = np.maximum(scores.max(axis=3, keepdims=True), sink)
    top = np.where(np.isfinite(top), top, 0)
    weights = np.exp(scores - top)
    total = weights.sum(axis=3, keepdims=True) + np.exp(sink - top)
    return (weights @ v / np.where(total > 0, total, 1)).astype(dtype)

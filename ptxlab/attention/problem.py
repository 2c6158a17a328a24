"""What `attention` and `decode` have in common: from a problem that was checked once to a result.

A problem (`Prefill`, `Decode`) chooses its kernel, says which launches compute it, and what numpy compares with.
"""

from __future__ import annotations

import contextlib
import functools
import html
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ptxlab import kernels, options, reference
from ptxlab.attention.tile_lists import TileLists
from ptxlab.builder.lowered import evaluate
from ptxlab.errors import LaunchError, TargetError
from ptxlab.kernels import Built, DecodeBuilt, DecodeSpec, Spec
from ptxlab.kernels.mods import Applied
from ptxlab.kernels.variants import OPTIONS
from ptxlab.launch.buffers import const
from ptxlab.launch.run import Options, Run, launch, show_seconds
from ptxlab.reference import Error

if TYPE_CHECKING:
    from ptxlab.emulate.runtime.counters import Counters

Array = NDArray[Any]
Phase = Literal["prefill", "decode"]
AnyRow = tuple[int, ...]
"""A query row: (batch, head, row), in decode (sequence, head)."""


class Step(NamedTuple):
    """One launch: the kernel, its grid, block and bytes of dynamic shared memory, and its arguments."""

    kernel: Any
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: tuple[Any, ...]


class Problem(ABC):
    """A query and the keys that it sees. `q` and o have one shape, whose last dimension is D; `shape` is q's as the
    caller has it; `scale` multiplies scores; `dtype` is the type of all arrays as the kernels call it."""

    phase: ClassVar[Phase]
    q: Array
    shape: tuple[int, ...]
    scale: float
    dtype: str
    mods: Applied | None

    @abstractmethod
    def parameters(self, spec: Any, device: str) -> dict[str, Any]:
        """What a kernel is built with for this problem; `LaunchError` for a kernel that is none for it."""

    @abstractmethod
    def choose(self, kernel: Any, device: str, probes: bool) -> tuple[Any, Any]:
        """The kernel to run, from a name, "auto" or a built one, and the problem with what was decided beside it.
        probes: whether it should store states, if it can by itself."""

    @abstractmethod
    def steps(self, built: Any, rows: Sequence[AnyRow]) -> tuple[list[Step], dict[str, Array]]:
        """The launches, and the arrays that they write: "o", "lse", for recorded rows "state" and, where parts are
        merged, "sums", or "partial" `[B, Hq, parts, D + 2]`, which begins with the sums of all rows."""

    @abstractmethod
    def cases(self, built: Any) -> list[tuple[tuple[Array, Array, Array], dict[str, Any]]]:
        """The calls of `reference` that the problem is: q, k and v, all of four dimensions, as the kernel saw them, and
        options. Their o, one behind the other, are the o of the problem."""

    @abstractmethod
    def exact(self, row: AnyRow, ran: Sequence[Any]) -> tuple[Array, Array | None]:
        """State and sums of a row in float64, for the kernels that ran."""

    def kept(self) -> Any:
        """The problem as a result may keep it while the caller's arrays change hands."""
        return self

    def name_of(self, kernel: Any) -> str:
        """The name of the rung that was asked for, or "auto"; `LaunchError` for what is not a kernel of this phase."""
        if isinstance(kernel, str):
            return kernel
        if isinstance(kernel, Built | DecodeBuilt) and kernel.spec.phase == self.phase:
            return str(kernel.spec.name)
        what = getattr(kernel, "name", None) or type(kernel).__name__
        spec = isinstance(kernel, Spec | DecodeSpec) and kernel.phase == self.phase
        write = f"\n  write:  kernel={what!r}" if spec else ""
        raise LaunchError(f"kernel: expected a name or a built {self.phase} kernel, got {what}{write}")

    def check_built(self, built: Any, **wanted: Any) -> None:
        """`LaunchError` where a built kernel has another parameter than the call."""
        for name, wants in wanted.items():
            if (has := getattr(built.config, name)) != wants:
                raise LaunchError(f"{built.name} was built with {name}={has!r}, the call has {name}={wants!r}")
        mods = [getattr(built.config, "mods", None), self.mods and self.mods.mods]
        graphs = [mod and (mod.graph, mod.sinks) for mod in mods]
        if graphs[0] != graphs[1]:
            has, asked = (mod.name if mod else "no mods" for mod in mods)
            raise LaunchError(f"{built.name} was built with {has}, the call has {asked}; give both the same functions")

    def further(self, *listed: Array) -> dict[str, Any]:
        """The arguments that mods add to a kernel, by name; listed: what tells it which keys a mask lets it skip."""
        given = {} if self.mods is None else self.mods.arguments(self.dtype, listed)
        return {name: const(x) if isinstance(x, np.ndarray) else x for name, x in given.items()}

    def changes(self, sequence: int = 0) -> dict[str, Any]:
        """The mods as `reference` takes them, where its sequence 0 is this one."""
        if self.mods is None:
            return {}
        (score, mask), graph, numbers = self.mods.functions, self.mods.mods.graph, self.mods.numbers

        def rounded(values: Array, b: Any, *places: Any) -> Any:
            """The kernel's rounding; where the graph would be another function, the function itself."""
            leaves = dict(zip(("score", "b", "h", "q_idx", "kv_idx"), (values, b + sequence, *places), strict=True))
            assert graph.score is not None
            own, there = (evaluate(graph, graph.score, leaves, numbers, x) for x in (values.dtype.type, np.float64))
            exact = score(values.astype(np.float64), b + sequence, *places)
            return np.where(np.isclose(there, exact, 1e-6, 1e-6, equal_nan=True), own, exact)

        return {
            "score_mod": score and (lambda values, b, *places: score(values, b + sequence, *places)),
            "mask_mod": mask and (lambda b, *places: mask(b + sequence, *places)),
            "sinks": self.mods.sinks,
            "rounded": score and rounded,
        }

    def recorded(self, state: Any) -> list[AnyRow]:
        """The rows that `state=` asks to be recorded: with True the first one of every head."""
        limits = self.q.shape[:-1]
        if isinstance(state, bool):
            return [(*head, 0)[: len(limits)] for head in np.ndindex(*limits[:2])] if state else []
        many, names = {2: ("pairs", "sequence, head"), 3: ("triples", "batch, head, row")}[len(limits)]
        rows: list[AnyRow] = []
        for item in [state] if (several := options.several(state)) is None else several:
            try:
                row = tuple(map(operator.index, item))
            except TypeError:
                row = ()
            if len(row) != len(limits):
                raise LaunchError(f"state: expected True or {many} ({names}), got {item!r}")
            if not all(0 <= at < limit for at, limit in zip(row, limits, strict=True)):
                raise LaunchError(f"state: there is no row {row}; ({names}) are below {limits}")
            if row in rows:
                raise LaunchError(f"state: row {row} is listed twice")
            rows.append(row)
        return rows

    def probes(self, rows: Sequence[AnyRow], parts: int, real: Any) -> dict[str, Array]:
        """The arrays of a build that stores states of so many parts: slots, and probe, filled with NaN."""
        slots = np.full(self.q.shape[:-1], kernels.NOWHERE, np.uint32)
        for slot, row in enumerate(rows):
            slots[row] = slot
        return {"slots": slots, "probe": np.full((len(rows), parts, 3), np.nan, real)}

    def fitting(self, device: str) -> list[str]:
        """The kernels that take such a problem on this device; `TargetError` where there is none."""
        found = []
        for name in kernels.names(self.phase):
            with contextlib.suppress(LaunchError, TargetError):  # not for this type, head_dim or cache
                spec: Any = kernels.get(name, self.phase)
                spec.configure(**{n: x for n, x in self.parameters(spec, device).items() if n != "mods"})
                found.append(name)
        if not found:
            raise TargetError(f"no {self.phase} kernel takes {self.dtype} with head_dim={self.q.shape[-1]}")
        return found


# -- checks ------------------------------------------------------------------------------------------------------------


def check_call(
    function: Callable[..., Any], given: Mapping[str, Any], more: Mapping[str, Any], mods: Mapping[str, Any],
    kernel: Any, **known: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """The options of `launch`, and the mods with their arrays; `LaunchError` for an option that there is not and for
    arrays that are missing.

    given: the arrays by name. more: options, and where there are mods the arrays that these take. known: parameters
    that a kernel for this call is built with.
    """
    phase: Phase = "decode" if "lengths" in given else "prefill"
    call = f"pl.{function.__name__}({', '.join(given)}"
    passed = {name: value for name, value in more.items() if name in Options.__annotations__}
    other = {name: value for name, value in more.items() if name not in passed}
    modified = any(mod is not None for mod in mods.values())
    if wrong := {name: value for name, value in other.items() if not modified or name in OPTIONS}:
        built = kernels.building(phase, kernel, wrong, given["q"], **known)
        named = f"kernels=[{built}]" if "compare" in call else f"kernel={built}"
        raise options.unexpected(function, wrong, built and f"{call}, {named})")
    options.all_given(f"{call})", **given)
    return passed, {**mods, **other}


def dtype_of(arrays: Mapping[str, Array], known: Mapping[str, str]) -> str:
    """The one type of all arrays as the kernels call it; `known`: numpy's names of those that there are kernels for."""
    found = [a.dtype.name for a in arrays.values()]
    for short, long in known.items():
        if set(found) == {long}:
            return short
    *names, last = arrays
    listed = ", ".join(f"{name} {dtype}" for name, dtype in zip(arrays, found, strict=True))
    one = f"one type of {', '.join(known.values())}"
    raise LaunchError(f"{', '.join(names)} and {last} should all have {one}; got {listed}")


def scale_of(scale: float | None, head_dim: int) -> float:
    """What scores are multiplied with: 1/sqrt(D) if nothing is said; `LaunchError` if it is not a finite number."""
    return reference.default_scale(head_dim) if scale is None else options.finite("scale", scale)


# -- the result --------------------------------------------------------------------------------------------------------


def run(problem: Problem, kernel: Any, state: Any, options: Mapping[str, Any]) -> Result:
    """Computes a problem with a kernel (a name, "auto" or a built one), recording what `state` asks for."""
    rows = problem.recorded(state)
    built, problem = problem.choose(kernel, options.get("device", "auto"), bool(rows))
    steps, into = problem.steps(built, rows)
    runs = tuple(launch(s.kernel, s.grid, s.block, *s.arguments, shared=s.shared, **options) for s in steps)
    if rows and "partial" in into:
        into["sums"] = np.stack([into["partial"][row][:, :-2] for row in rows])
    state, sums = (into.get(name) if rows else None for name in ("state", "sums"))
    o, lse = into["o"].reshape(problem.shape), into["lse"].reshape(problem.shape[:-1])
    return Result(o, lse, state, sums, tuple(rows), runs, tuple(s.kernel for s in steps), problem.kept())


@dataclass(frozen=True, eq=False)
class Judged:
    """Every element of o held against float64: o there, the bound on the error, and the error as a share of the bound,
    which passes up to 1. Of q's shape, with a batch and heads where the call left them out."""

    exact: Array
    bound: Array
    ratio: Array


@dataclass(eq=False)
class Result:
    """What `attention` and `decode` return.

    `kernel`, `run` and `counters` are those of the first launch, which goes through the keys; `seconds` and `findings`
    are of all launches. `error` compares with float64 when it is first read, which takes numpy a while for long inputs;
    `judged` is the same element by element.

    Attributes
    ----------
    o
        The output, of q's shape.
    lse
        The log-sum-exp of each row (natural logarithm): q's shape without the last dimension.
    state
        `[rows, parts, 3]` for the rows in `rows`, or None. Parts are the tiles of keys: m, l and rescale after each,
        NaN for skipped ones. In decode a part is what a warp of a block or a split of the grid computes, before the
        merge: m, l and the factor of the merge. The kernel `decode` merges nothing: its parts are the keys.
    sums
        In decode `[rows, parts, D]`: what each part had summed, values times exp(score - m), not divided. Else None.
    rows
        The rows whose state was recorded.
    runs, kernels
        The launches, and what ran in each.

    Examples
    --------
    >>> import numpy as np, ptxlab as pl
    >>> x = np.ones((8, 16), np.float32)
    >>> out = pl.attention(x, x, x, kernel="scalar", device="cpu")
    >>> out.o.shape, out.lse.shape, out.error.ok
    ((8, 16), (8,), True)
    """

    o: Array
    lse: Array
    state: Array | None
    sums: Array | None
    rows: tuple[AnyRow, ...]
    runs: tuple[Run, ...]
    kernels: tuple[Any, ...]
    problem: Any = field(repr=False)

    causal = property(lambda self: self.problem.causal, doc="Whether a row sees only keys up to its own position.")
    scale = property(lambda self: self.problem.scale, doc="What scores were multiplied with.")
    inputs = property(
        lambda self: self.problem.inputs,
        doc="The arrays of the call: q, k and v with all four dimensions; or q, the caches and the block table. Of a "
        "pool these are copies of the pages that held keys: a server soon gives a page to another sequence.",
    )
    lengths = property(lambda self: self.problem.lengths, doc="Of decode: the keys of each sequence, i32 `[B]`.")
    splits = property(lambda self: self.problem.splits, doc="Into how many parts the grid split the keys.")

    @property
    def kernel(self) -> Any:
        """The kernel that went through the keys."""
        return self.kernels[0]

    @property
    def run(self) -> Run:
        """Its launch."""
        return self.runs[0]

    @property
    def seconds(self) -> float:
        """The time of all kernels."""
        return sum(run.seconds for run in self.runs)

    @property
    def counters(self) -> Counters | None:
        """What the emulator counted in the first kernel, if it was asked to."""
        return self.run.counters

    @property
    def findings(self) -> list[Any]:
        """What the checks noticed in any of the launches."""
        return [finding for run in self.runs for finding in run.findings]

    @functools.cached_property
    def error(self) -> Error:
        """How far o and lse are from float64: `.max .mean .ulp .tolerance .ok` and more."""
        return self._judge()[0]

    @functools.cached_property
    def judged(self) -> Judged:
        """The same of every element."""
        self.error, exact, bound = self._judge()
        gap = np.abs(self.o.reshape(exact.shape).astype(np.float64) - exact)
        return Judged(exact, bound, gap / np.maximum(bound, np.finfo(np.float64).tiny))

    def _judge(self) -> tuple[Error, Array, Array]:
        cases, whole = self.problem.cases(self.kernel), self.problem.q.shape
        shape = cases[0][0][0].shape
        computed = zip(self.o.reshape(-1, *shape), self.lse.reshape(-1, *shape[:3]), strict=True)
        judged = [reference.judge(*got, *case, **how) for got, (case, how) in zip(computed, cases, strict=True)]
        errors, exact, bound = zip(*judged, strict=True)
        error = errors[0] if self.problem.phase == "prefill" else reference.together(errors)
        return error, np.stack(exact).reshape(whole), np.stack(bound).reshape(whole)

    @property
    def tiles(self) -> TileLists | None:
        """Which tiles of keys the tiles of rows visit, where a mask_mod says so: `.kinds` of each."""
        return self.problem.lists(self.kernel) if self.problem.phase == "prefill" else None

    def expected(self) -> Array:
        """o in float64."""
        return self.judged.exact.reshape(self.o.shape)

    def exact(self, row: int) -> tuple[Array, Array | None]:
        """What `state` and `sums` of recorded row `row` should be, in float64."""
        found: tuple[Array, Array | None] = self.problem.exact(self.rows[row], self.kernels)
        return found

    def again(self, **options: Any) -> Result:
        """The same kernel on the same inputs, with these options of `launch`."""
        return run(self.problem, self.kernel, list(self.rows), options)

    def table(self) -> dict[str, str]:
        """What a result says of itself, by name."""
        e, names = self.error, " + ".join(built.name for built in self.kernels)
        rows = {"kernel": names, "device": self.run.device, "time": show_seconds(self.seconds)}
        rows |= {"splits": str(self.splits)} if self.problem.phase == "decode" else {}
        rows |= {"max error": f"{e.max:.2e}", "mean error": f"{e.mean:.2e}", "ULP": f"{e.ulp:.1f}"}
        rows |= {"tolerance": f"{e.tolerance:.2e}", "result": e.verdict} | ({"rows": e.note} if e.note else {})
        rows |= {"tiles": str(self.tiles)} if self.tiles is not None else {}
        return rows | {finding.check: finding.message for finding in self.findings}

    def __repr__(self) -> str:
        return "\n".join(f"{name:<11} {text}" for name, text in self.table().items())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        rows = self.table().items()
        cells = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        return {"text/plain": repr(self), "text/html": f"<table>{cells}</table>"}

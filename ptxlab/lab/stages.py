"""What the explorer shows, stage by stage, as plain data: code, diff, assembler, run, online-softmax state.

Each function takes the request or what an earlier stage made and returns a dictionary for the page (the shapes are in
each docstring). Nothing here knows of widgets or threads, so all of it can be called and tested by itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ptxlab import kernels, reference
from ptxlab.errors import AssemblyError, LaunchError, PtxlabError, TargetError, UnavailableError
from ptxlab.kernels.spec import Parameter
from ptxlab.lab import highlight, hover
from ptxlab.lab.diff import Row, compare

PROBLEM = (
    Parameter("seq_q", "query rows (Sq)", 64, minimum=1, maximum=512),
    Parameter("seq_k", "keys and values (Sk)", 64, minimum=0, maximum=512),
    Parameter("batch", "sequences (B)", 1, minimum=1, maximum=8),
    Parameter("heads", "query heads (Hq)", 1, minimum=1, maximum=32),
    Parameter("kv_heads", "key and value heads (Hkv); heads must be a multiple of it", 1, minimum=1, maximum=32),
    Parameter("seed", "seed of the random q, k and v", 0, minimum=0, maximum=2**31 - 1),
)
"""The parameters of the problem, which do not change the PTX. `sigma` and `device` stand beside them."""

SIGMA = Parameter("sigma", "standard deviation of the logits: small ones hide rescaling bugs", 1.0)
DEVICES = ("auto", "gpu", "cpu", "step")
MAP_ROWS, MAP_COLUMNS = 512, 128
WORST = 20


@dataclass(frozen=True)
class Request:
    """One setting of all controls. `build` are the kernel's own parameters as (name, value) pairs, `row` the query row
    whose softmax is plotted (-1: the last one), `head` the (batch, head) that is shown."""

    kernel: str = "scalar"
    build: tuple[tuple[str, Any], ...] = ()
    seq_q: int = 64
    seq_k: int = 64
    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    sigma: float = 1.0
    seed: int = 0
    device: str = "auto"
    row: int = -1
    head: tuple[int, int] = (0, 0)

    @property
    def result_key(self) -> Request:
        """The request without what only chooses a view of the result."""
        return replace(self, row=-1, head=(0, 0))

    @property
    def shown_row(self) -> int:
        """The query row to plot, within the rows that there are."""
        return self.row if 0 <= self.row < self.seq_q else self.seq_q - 1

    def check(self) -> None:
        """`TargetError` names the first parameter of the problem that is out of its range."""
        for parameter in PROBLEM:
            parameter.check(self.kernel, getattr(self, parameter.name))
        if not (isinstance(self.sigma, int | float) and 0 < self.sigma <= 100):
            raise TargetError(f"{self.kernel}: sigma is a number above 0 and at most 100, not {self.sigma!r}")
        if self.device not in DEVICES:
            raise TargetError(f"{self.kernel}: device is one of {', '.join(DEVICES)}, not {self.device!r}")
        if self.heads % self.kv_heads:
            raise LaunchError(f"heads = {self.heads} should be a multiple of kv_heads = {self.kv_heads}")


@dataclass
class Version:
    """A built kernel and its code pane: `code` is what the page gets, `lines` the PTX as text for the diff."""

    built: Any
    code: dict[str, Any]
    lines: list[str] = field(default_factory=list)


# -- code and diff -----------------------------------------------------------------------------------------------------


def build(request: Request) -> Version:
    """{title, name, arch, seconds, instructions, ptx, python, links, docs, words, registers}."""
    request.check()
    spec = kernels.get(request.kernel)
    start = time.perf_counter()
    built = spec.build(**dict(request.build))
    ptx, module = built.ptx, built.module
    seconds = time.perf_counter() - start
    python, links = highlight.python_pane(module.spans)
    code = {
        "title": spec.title,
        "name": built.name,
        "arch": built.config.arch,
        "seconds": seconds,
        "instructions": sum(1 for f in module.functions for _ in f.instructions()),
        "ptx": highlight.ptx_lines(ptx),
        "python": python,
        "links": links,
        "docs": hover.opcodes(module),
        "words": hover.words(module),
        "registers": hover.registers(module),
    }
    return Version(built, code, ptx.splitlines())


def label(version: Version) -> str:
    """What a pinned version is called: its entry name and target."""
    return f"{version.code['name']} · {version.code['arch']}"


_SHORT = {"same": "s", "renamed": "r", "changed": "c", "added": "+", "removed": "-", "note": "n"}


def diff(pinned: Version, version: Version) -> dict[str, Any]:
    """{summary, against, renamed, rows: [[kind, old line, new line, old ranges, new ranges]]}, lines counted from 0."""
    rows = compare(pinned.lines, version.lines)
    added, removed, changed, renamed = (
        sum(r.kind == k for r in rows) for k in ("added", "removed", "changed", "renamed")
    )
    summary = f"+{added} −{removed} ~{changed}" if added or removed or changed else "no instruction changed"
    return {"summary": summary, "against": label(pinned), "renamed": renamed, "rows": [_row(r) for r in rows]}


def _row(row: Row) -> list[Any]:
    ranges = [[list(r) for r in row.left], [list(r) for r in row.right]] if row.kind == "changed" else []
    return [_SHORT[row.kind], row.a, row.b, *ranges]


# -- the assembler -----------------------------------------------------------------------------------------------------


def assemble(version: Version, request: Request) -> dict[str, Any]:
    """{state: "ok", arch, registers, spill_bytes, shared_bytes, seconds, occupancy}, {state: "missing", note} where
    NVIDIA's wheels are not installed, or {state: "error", note, error} where the assembler refuses the text."""
    from ptxlab import gpu

    try:
        made = gpu.assemble(version.built)
    except UnavailableError as missing:
        return {"state": "missing", "note": str(missing).splitlines()[0]}
    except AssemblyError as error:
        return {"state": "error", "note": error.message, "error": error}
    _, block, dynamic = version.built.launch_shape(
        request.batch, request.heads, request.kv_heads, request.seq_q, request.seq_k
    )
    return {
        "state": "ok",
        "arch": made.arch,
        "registers": made.registers,
        "spill_bytes": made.spill_bytes,
        "shared_bytes": made.shared_bytes + dynamic,
        "seconds": made.seconds,
        "occupancy": occupancy(made.arch, made.registers, made.shared_bytes + dynamic, block),
    }


def occupancy(arch: str, registers: int, shared: int, block: tuple[int, int, int]) -> dict[str, Any] | None:
    """{percent, limiter, text}: how much of a multiprocessor this kernel can keep busy, and what keeps it from more.

    None for a target whose limits are not known here.
    """
    from ptxlab import targets

    if arch not in targets.TARGETS:
        return None
    found = targets.occupancy(arch, block[0] * block[1] * block[2], registers, shared)
    return {"percent": round(100 * found.share, 1), "limiter": found.limiter, "text": str(found)}


# -- the run -----------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """A finished run with what it is held against. `error` is |o - reference| `[B, Hq, Sq, D]`, `ratio` that over the
    tolerance of each element."""

    result: Any
    inputs: tuple[Any, Any, Any]
    causal: bool
    error: Any
    ratio: Any
    measured: reference.Error


def run(version: Version, request: Request) -> Outcome:
    """Runs the kernel on random inputs and compares with float64; faults go to the caller."""
    from ptxlab.attention import attention

    config = version.built.config
    q, k, v = reference.random_inputs(
        request.batch, request.heads, request.kv_heads, request.seq_q, request.seq_k, config.head_dim,
        sigma=request.sigma, dtype=kernels.DTYPES[config.dtype], seed=request.seed,
    )  # fmt: skip
    result = attention(
        q, k, v, kernel=version.built, causal=config.causal, device=request.device, counters=_counts(request.device)
    )
    computed: dict[str, Any] = {"tile": version.built.tile_kv, "precision": version.built.precision}
    # What the kernel saw: its inputs as it rounds them.
    sq, sk, sv = (x if version.built.precision is None else x.astype(version.built.precision) for x in (q, k, v))
    expected = reference.attention(sq, sk, sv, causal=config.causal)
    bound, _ = reference.tolerance(result.o, sq, sk, sv, expected, causal=config.causal, **computed)
    measured = reference.measure(result.o, result.lse, q, k, v, causal=config.causal, expected=expected, **computed)
    error = np.abs(result.o.astype(np.float64) - expected.o)
    share = error / np.maximum(bound, np.finfo(np.float64).tiny)
    return Outcome(result, (q, k, v), config.causal, error, share, measured)


def _counts(device: str) -> bool:
    """Whether the run can count instructions: only the CPU machine does."""
    from ptxlab import gpu

    return device != "gpu" and not (device == "auto" and gpu.available())


def show_run(outcome: Outcome, request: Request) -> dict[str, Any]:
    """{device, seconds, thread_instructions, heat: [[line, thread-instructions]], error, map}."""
    run, e = outcome.result.run, outcome.measured
    counters = run.counters
    return {
        "device": {"cpu": "CPU machine", "step": "CPU, stepping", "gpu": "GPU"}.get(run.device, run.device),
        "seconds": run.seconds,
        "thread_instructions": counters.thread_instructions if counters else None,
        "heat": [[line, threads] for line, (_, threads) in sorted(counters.lines.items())] if counters else [],
        "error": {
            "ok": e.ok,
            **{name: _figure(getattr(e, name)) for name in ("max", "mean", "ulp", "tolerance", "lse")},
        },
        "findings": [str(f) for f in run.findings],
        "map": error_map(outcome, request),
    }


def error_map(outcome: Outcome, request: Request) -> dict[str, Any] | None:
    """One head's errors: {rows, cols, step, seq, dim, row, label, worst, values, absolute}.

    `values` (error over tolerance) and `absolute` are float32 bytes, `[rows, cols]`; where the head is larger than
    the picture each cell holds the largest of `step` = [query rows, columns].
    """
    b, h = _head(request, outcome.error.shape)
    ratio, error = outcome.ratio[b, h], outcome.error[b, h]
    rows, dim = ratio.shape
    if not ratio.size:
        return None
    step = [-(-rows // MAP_ROWS), -(-dim // MAP_COLUMNS)]
    order = np.argsort(np.where(np.isnan(ratio), np.inf, ratio), axis=None)[::-1][:WORST]
    worst = [(int(r), int(c)) for r, c in zip(*np.unravel_index(order, ratio.shape), strict=True)]
    small = _pool(ratio, step)
    return {
        "rows": small.shape[0],
        "cols": small.shape[1],
        "step": step,
        "seq": rows,
        "dim": dim,
        "row": request.shown_row,
        "label": _place(b, h, outcome.error.shape).rstrip(", "),
        "worst": [[r, c, _figure(error[r, c]), _figure(ratio[r, c])] for r, c in worst],
        "values": small.astype(np.float32).tobytes(),
        "absolute": _pool(error, step).astype(np.float32).tobytes(),
    }


def _pool(array: Any, step: list[int]) -> Any:
    """The largest value of each `step` rows and columns; NaN, the worst error of all, wins."""
    rows, columns = (np.arange(0, n, s) for n, s in zip(array.shape, step, strict=True))
    return np.maximum.reduceat(np.maximum.reduceat(array, rows, axis=0), columns, axis=1)


# -- the state ---------------------------------------------------------------------------------------------------------


def state(version: Version, request: Request, outcome: Outcome) -> dict[str, Any]:
    """{label, tiles, tile_kv, kernel: {m, l, rescale}, numpy: {m, l, rescale}}, lists with None for skipped tiles.

    The kernel is run once more in its probing build; `note` says in words why there is nothing to plot.
    """
    from ptxlab.attention import attention

    q, k, v = outcome.inputs
    b, h = _head(request, q.shape)
    row = request.shown_row
    tile, title = version.built.tile_kv, f"{_place(b, h, q.shape)}row {row}"
    count = reference.tiles(request.seq_k, tile)
    seen = reference.visible_keys(row, request.seq_q, request.seq_k, outcome.causal)
    if seen == 0:
        why = "there are no keys (Sk = 0)" if request.seq_k == 0 else f"row {row} sees no key"
        return {
            "label": title,
            "tiles": count,
            "tile_kv": tile,
            "note": f"Nothing to sum: {why}, so O = 0 and LSE = −∞.",
        }
    probed = attention(q, k, v, kernel=version.built, causal=outcome.causal, device=request.device, state=[(b, h, row)])
    exact = reference.attention(
        q[:, :, row : row + 1] if not outcome.causal else q, k, v, causal=outcome.causal, tile=tile,
        rows=[(b, h, row if outcome.causal else 0)],
    )  # fmt: skip
    assert exact.state is not None
    assert probed.state is not None
    series = {"kernel": probed.state[0], "numpy": exact.state[0]}
    named = {
        who: {name: [_plain(x) for x in values[:, i]] for i, name in enumerate(("m", "l", "rescale"))}
        for who, values in series.items()
    }
    return {"label": title, "tiles": count, "tile_kv": tile, **named}


def _head(request: Request, shape: tuple[int, ...]) -> tuple[int, int]:
    return min(request.head[0], shape[0] - 1), min(request.head[1], shape[1] - 1)


def _place(b: int, h: int, shape: tuple[int, ...]) -> str:
    """`batch 1, head 3, ` where there are several, else nothing."""
    return (f"batch {b}, " if shape[0] > 1 else "") + (f"head {h}, " if shape[1] > 1 else "")


def _plain(x: Any) -> float | None:
    """A number for the plots: None where it is not finite."""
    value = float(x)
    return value if np.isfinite(value) else None


def _figure(x: Any) -> float | str:
    """A number to be read: "NaN" and "∞" as words, since JSON has neither."""
    value = float(x)
    return value if np.isfinite(value) else "NaN" if value != value else "∞"


# -- errors ------------------------------------------------------------------------------------------------------------


def problem(error: Exception, version: Version | None) -> dict[str, Any]:
    """{title, message, line, python_line}: any error for the page, at the PTX and Python line where it has one."""
    line = int(getattr(error, "line", 0) or 0)
    python_line = None
    if version is not None and line:
        python_line = next((y for p, y in version.code["links"] if p == line), None)
    titles = {
        "TargetError": "This does not fit",
        "LaunchError": "These parameters do not fit together",
        "AssemblyError": "NVIDIA's assembler refused the PTX",
        "DeviceFault": "The kernel was stopped",
        "UnsupportedInstruction": "The CPU machine cannot run this",
        "BuildError": "The Python that writes the kernel has a mistake",
    }
    name = type(error).__name__
    known = isinstance(error, PtxlabError)
    message = str(error) if known else f"{name}: {error}"
    title = titles.get(name, "Something went wrong" if known else "Unexpected error in ptxlab")
    return {"title": title, "message": message, "line": line, "python_line": python_line}

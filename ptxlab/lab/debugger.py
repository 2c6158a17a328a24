"""`pl.debug()`: a kernel's steps forwards and backwards: its lines, registers of 32 lanes, and accesses to memory.

    pl.debug(ptx, grid, block, x, y, n)                   # launch with a trace, and look
    pl.debug("scalar", seq_len=32, head_dim=16)           # a kernel of the library on random inputs
    pl.debug(run)                                         # what a launch with trace=pl.Trace() returned
    pl.debug("kernel.trace")                              # a file that a trace was saved to

The whole trace goes to the page once, as the bytes that a trace file holds, and is walked there: no step asks Python.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from ptxlab import kernels, reference
from ptxlab.emulate.recording import Recording, open_trace
from ptxlab.emulate.trace import Trace
from ptxlab.errors import DeviceFault, LaunchError, TraceError
from ptxlab.lab import assets, highlight, moments
from ptxlab.lab.exchange import exchanges

LIMIT = 32 << 20
"""Bytes of a trace that go to the page; recording for it stops there."""
PROBLEM = {"seq_q": 32, "seq_k": 32, "batch": 1, "heads": 1, "kv_heads": 1, "sigma": 1.0, "seed": 0}
"""Sizes of the random inputs for a kernel of the library, where nothing is said."""


class Debugger(anywidget.AnyWidget):
    """The widget. `trace` holds the bytes of a trace file; `info` what is shown beside it and never changes."""

    _esm = assets.script("debugger")
    _css = assets.style("debugger")
    trace = traitlets.Bytes(b"").tag(sync=True)
    info = traitlets.Dict({}).tag(sync=True)

    def __init__(self, recording: Recording, note: str = "") -> None:
        if recording.size > LIMIT:
            raise TraceError(
                f"{recording.name} has {recording.size:,} bytes, more than the {LIMIT:,} that a page is given; record "
                "less of it: trace=pl.Trace(blocks=0, warps=0, steps=20000)"
            )
        self.recording, self.note = recording, note
        super().__init__(
            trace=bytes(recording.data),
            info={
                "kernel": recording.kernel,
                "lines": highlight.ptx_lines(recording.text),
                "events": {f"{b}:{w}": moments.events(recording, (b, w)) for b, w in recording.warps},
                "exchange": exchanges(recording),
                "capped": recording.capped,
                "note": note,
            },
        )

    def __repr__(self) -> str:
        return f"debugger of {self.recording.kernel}"

    def _ipython_display_(self) -> None:
        """Two outputs, as the explorer has them: the widget, and a static copy for a notebook without a kernel."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        static = data.pop("text/html")
        display(data, metadata=metadata, raw=True)
        display({"text/html": static, "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        static = moments.debugger_html(self.recording, self.note)
        return {**(data or {}), "text/plain": repr(self), "text/html": static}, metadata


def debug(
    what: Any,
    grid: Any = None,
    block: Any = None,
    *args: Any,
    blocks: Any = 0,
    warps: Any = None,
    steps: int | None = None,
    **options: Any,
) -> Debugger:
    """Opens the debugger.

    what: a kernel to launch (PTX text, a module, a kernel of the builder) with `grid`, `block`, `args` and the options
    of `pl.launch`; the name of a prefill kernel of the library, with its parameters and seq_q, seq_k (or seq_len),
    batch, heads, kv_heads, sigma, seed; a run, or a fault, that carries a trace; a trace; or a trace file.
    blocks, warps, steps: what to record of a launch, as in `pl.Trace`; by default every warp of block 0.

    A launch that faults is shown up to its fault. Raises `TraceError` where there is no trace or it is too large,
    `LaunchError` where the launch does not fit.
    """
    trace = Trace(blocks=blocks, warps=warps, steps=steps, limit=LIMIT - (1 << 20))
    library = kernels.names("prefill")
    if isinstance(what, str) and what in library:
        return _launched(trace, *_library(what, options))
    if grid is not None:
        if block is None:
            raise LaunchError("block: how many threads it has is missing; write pl.debug(kernel, grid, block, ...)")
        return _launched(trace, (what, grid, block, *args), options)
    if isinstance(what, str) and "\n" not in what and not Path(what).is_file():
        raise LaunchError(
            f"{what!r} is no trace file, and no prefill kernel of the library; those are {', '.join(library)}"
        )
    for name in options:
        raise LaunchError(f"{name}: belongs to a launch; write pl.debug(kernel, grid, block, ..., {name}=...)")
    if isinstance(what, Recording):
        return Debugger(what)
    if isinstance(what, str) and "\n" in what:
        raise LaunchError("grid: a kernel needs one to run; write pl.debug(ptx, grid, block, ...)")
    if isinstance(what, str | Path):
        return Debugger(open_trace(what))
    return _carried(what)


def _carried(what: Any) -> Debugger:
    """The debugger on the trace of a run, of a result or of a fault."""
    note = str(what) if isinstance(what, DeviceFault) else ""
    found = getattr(what, "trace", None) or getattr(getattr(what, "run", None), "trace", None)
    if not isinstance(found, Recording):
        kind = type(what).__name__
        raise TraceError(f"this {kind} carries no trace; write pl.launch(kernel, grid, block, ..., trace=pl.Trace())")
    return Debugger(found, note)


def _launched(trace: Trace, call: tuple[Any, ...], options: dict[str, Any]) -> Debugger:
    """Runs a kernel with a trace; one that faults is shown up to there."""
    from ptxlab.launch import launch

    try:
        return Debugger(launch(*call, trace=trace, **options).trace)
    except DeviceFault as fault:
        if not isinstance(getattr(fault, "trace", None), Recording):
            raise
        return _carried(fault)


def _library(name: str, parameters: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The launch of a kernel of the library on random inputs: arguments and options of `launch`."""
    given = dict(parameters)
    if "seq_len" in given:
        given["seq_q"] = given["seq_k"] = given.pop("seq_len")
    p = {key: given.pop(key, default) for key, default in PROBLEM.items()}
    options: dict[str, Any] = {key: given.pop(key) for key in ("device", "checks", "budget") if key in given}
    built = kernels.get(name, "prefill").build(**given)
    q, k, v = reference.random_inputs(
        p["batch"], p["heads"], p["kv_heads"], p["seq_q"], p["seq_k"], built.config.head_dim, sigma=p["sigma"],
        dtype=np.dtype(kernels.DTYPES[built.config.dtype]), seed=p["seed"],
    )  # fmt: skip
    grid, block, shared = built.launch_shape(p["batch"], p["heads"], p["kv_heads"], p["seq_q"], p["seq_k"])
    o, lse = np.zeros_like(q), np.zeros(q.shape[:3], np.float64 if q.dtype == np.float64 else np.float32)
    arguments = built.arguments(q, k, v, o, lse, built.config.head_dim**-0.5)
    return (built, grid, block, *arguments), {"shared": shared, **options}

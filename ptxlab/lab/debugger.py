"""`pl.debug()`: a kernel's steps forwards and backwards: its lines, registers of 32 lanes, and accesses to memory.

    pl.debug(ptx, grid, block, x, y, n)                   # launch with a trace, and look
    pl.debug("scalar", seq_len=32, head_dim=16)           # a kernel of the library on random inputs
    pl.debug(run)                                         # what a launch with trace=pl.Trace() returned
    pl.debug(pl.attention(q, k, v))                       # a result, run once more with a trace
    pl.debug("kernel.trace")                              # a file that a trace was saved to

What the checks of the launch have found stands above the steps, and leads to either access.

The whole trace goes to the page once, as the bytes that a trace file holds, and is walked there: no step asks Python.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ptxlab import kernels
from ptxlab.attention.heuristics import SPLITTING
from ptxlab.emulate.trace.recorder import Trace
from ptxlab.emulate.trace.recording import Recording, open_trace
from ptxlab.errors import DeviceFault, LaunchError, LaunchKeyboardInterrupt, TraceError
from ptxlab.findings import Finding
from ptxlab.lab import assets, saved, trace_events
from ptxlab.lab.controls import request
from ptxlab.lab.library_subjects import named
from ptxlab.lab.noticed import block_number
from ptxlab.lab.static_copies import Copied
from ptxlab.lab.trace_events import Shown
from ptxlab.launch.options import check_names
from ptxlab.launch.run import ALL_CHECKS, CHECKS, launch
from ptxlab.options import complete, is_whole, meant, unexpected
from ptxlab.text import Module

BUDGET = 10_000_000
"""Warp-instructions of a launch, unless it is given its own `budget`: an endless loop is shown, too."""
OWN = ("memcheck", "racecheck", "synccheck")
"""The checks of one's own kernel: initcheck would move shared arrays apart, and the addresses on the page with them."""
LIMIT = 32 << 20
"""Bytes of a trace that go to the page; recording for it stops there."""
STEPPED = {"seq_q": 32, "seq_k": 32}
"""Sizes that the debugger steps through, where nothing is said."""
STEPPED_DECODE = {"seq_k": 48, "heads": 2, "kv_heads": 2, "splits": 2}
"""The same for a decode kernel."""
STEPPED_OF = {"hopper": {"tile_q": 128, "tile_kv": 32, "seq_q": 128, "seq_k": 96}}
"""What a kernel has instead: hopper two consumers, and more tiles than the ring has stages."""
LAUNCHED = ("device", "checks", "budget")
"""What is passed on to the launch."""


class Debugger(Copied, anywidget.AnyWidget):
    """The widget. `trace` holds the bytes of a trace file; `info` what is shown beside it and never changes."""

    _esm = assets.script("debugger")
    _css = assets.style("debugger")
    trace = traitlets.Bytes(b"").tag(sync=True)
    info = traitlets.Dict({}).tag(sync=True)

    def __init__(
        self, recording: Recording, note: str = "", findings: Sequence[Finding] = (), checks: Sequence[str] = ()
    ) -> None:
        if recording.size > LIMIT:
            raise TraceError(
                f"{recording.name} has {recording.size:,} bytes, more than the {LIMIT:,} that a page is given; record "
                "less of it: trace=pl.Trace(blocks=0, warps=0, steps=20000)"
            )
        self.recording, self.shown = recording, Shown(recording, note, findings, checks)
        super().__init__(trace=bytes(recording.data), info=trace_events.page_info(self.shown))

    def open_at(self, at: int | str, nth: int = 0, warp: tuple[int, int] | None = None, of: int = 0) -> None:
        """Opens at a step of a PTX line, its number or words that it has: the first one in the first warp that was
        there, or the `nth` of a `warp` (block, warp), -1 for the last. of: the step is as far along as the `nth` of so
        many, for a line that runs several times per tile. `TraceError` if no line has them."""
        if isinstance(at, bool) or not isinstance(at, str | Integral):
            raise TraceError(f"at: expected the number of a PTX line, or words in it such as 'bar.sync'; got {at!r}")
        lines = self.recording.text.splitlines()
        if isinstance(at, str):
            found = [n for n, text in enumerate(lines, 1) if at in text.partition("//")[0]]
        else:
            found = [int(at)]
        if not all(1 <= n <= len(lines) for n in found) or not found:
            raise TraceError(f"at: {self.recording.title} has no line {at!r}; name a PTX line or words that it has")
        self.shown = dataclasses.replace(self.shown, at=found)
        self.info = {**self.info, **trace_events.opening(self.recording, found), "nth": int(nth), "of": int(of)}
        if warp in self.recording.warps:
            self.info = {**self.info, "start": list(warp)}

    def open_finding(self, number: int, party: int = 0) -> None:
        """Opens at what a finding is about, counted from 0: at its `party`, 0 the thread that noticed, 1 the other."""
        self.info = {**self.info, "opens": [number, party]}

    def save(self, path: str | Path) -> None:
        """Writes a page that shows this debugger in any browser, without Python: `pl.debug(run).save("run.html")`."""
        Path(path).write_text(saved.debugger_page(self.shown), encoding="utf-8")

    def __repr__(self) -> str:
        return f"debugger of {self.recording.title}"

    def static_html(self) -> str:
        """Tables, and where scripts run the viewer on a part of the trace."""
        return saved.copy_html(self.shown)


@complete("pl.debug(kernel, grid, block, x, y, n)")
def debug(
    kernel: Any,
    grid: Any = None,
    block: Any = None,
    *args: Any,
    blocks: Any = 0,
    warps: Any = None,
    steps: int | None = None,
    at: int | str | None = None,
    **options: Any,
) -> Debugger:
    """Opens the debugger.

    A launch that faults is shown up to its fault and opened there: its block is recorded even if it was not named. One
    that does not end is shown up to its `budget` (10 million warp-instructions), as far as the trace has room. A kernel
    that is launched here runs with all checks but initcheck, which moves shared arrays apart, unless `checks` says
    which; without `at` the debugger opens at the first thing that they have found.

    Parameters
    ----------
    kernel
        PTX text, a module, a kernel of the builder, of `pl.cuda` or `pl.triton`; the name of a kernel of the library; a
        run, or a fault, that carries a trace; a result of `pl.attention` or `pl.decode`, which is run once more where
        it carries none; a trace; or a trace file.
    grid, block, *args
        As for `pl.launch`.
    blocks, warps, steps
        What to record of a launch, as in `pl.Trace`; by default every warp of block 0. All blocks of a cluster are
        recorded with a block that is named alone; `blocks=[0]` records that one only.
    at
        Where to open, the number of a PTX line or words that it has: `at="bar.sync"`; by default the first step, of
        "wgmma" the first product, of "hopper" the first copy of a tile.
    **options
        Of `pl.launch`; for a kernel of the library its parameters and seq_q, seq_k (or seq_len), batch, heads,
        kv_heads, sigma, seed, for decode also splits.

    Raises
    ------
    TraceError
        Where there is no trace or it is too large.
    LaunchError
        Where the launch does not fit.
    TargetError
        For a parameter of a kernel of the library that it does not take.
    """
    trace = Trace(blocks=blocks, warps=warps, steps=steps, limit=LIMIT - (1 << 20), whole_clusters=is_whole(blocks))
    found = _found(kernel, grid, block, args, trace, options)
    if at is None and isinstance(kernel, str) and kernel in kernels.names("prefill") and kernels.get(kernel).alone:
        at = kernels.get(kernel).brings[0]  # of a kernel for Hopper alone, the first of what it brings
    if at is not None:
        found.open_at(at)
    return found


def _found(what: Any, grid: Any, block: Any, args: tuple[Any, ...], trace: Trace, options: Any) -> Debugger:
    """The debugger on whatever was asked for."""
    if isinstance(what, str) and what in kernels.names():
        return _watched(lambda trace: recorded(what, options, trace), trace, options.get("checks", CHECKS))
    if grid is not None:
        block = getattr(what, "block", None) if block is None else block  # a Triton kernel knows its own
        if block is None:
            raise LaunchError("block: the number of threads is missing; write pl.debug(kernel, grid, block, ...)")
        known = inspect.signature(launch).parameters
        if unknown := {name: value for name, value in options.items() if name not in known}:
            raise unexpected(debug, unknown, also=launch)
        options = {"budget": BUDGET, "checks": OWN, **options}
        return _watched(
            lambda trace: launch(what, grid, block, *args, trace=trace, **options), trace, options["checks"]
        )
    if isinstance(what, str) and "\n" not in what and not Path(what).is_file():
        names = kernels.names()
        says = f"{what!r} is neither a trace file nor a kernel of the library{meant(what, names)}"
        raise LaunchError(f"{says}; those are {', '.join(names)}")
    for name in options:
        raise LaunchError(f"{name}: belongs to a launch; write pl.debug(kernel, grid, block, ..., {name}=...)")
    if isinstance(what, Recording):
        return Debugger(what)
    if _is_kernel(what):
        raise LaunchError("grid: a kernel needs one to run; write pl.debug(kernel, grid, block, ...)")
    if isinstance(what, str | Path):
        return Debugger(open_trace(what))
    return _carried(what, trace)


def recorded(name: str, parameters: dict[str, Any], trace: Any) -> Any:
    """The run of a kernel of the library on random inputs, with its trace; `DeviceFault` has one, too. `seq_len` sets
    both lengths, and as many heads have keys as there are."""
    subject, given = named(name), dict(parameters)
    options = {key: given.pop(key) for key in LAUNCHED if key in given}
    known = {p.name for p in subject.parameters}
    if "splits" in given and "splits" not in known:
        raise LaunchError(f"splits: {name} does not split the keys; write {' or '.join(map(repr, SPLITTING))}")
    if "seq_len" in given:
        given = {**dict.fromkeys({"seq_q", "seq_k"} & known, given.pop("seq_len")), **given}
    if "heads" in given:
        given.setdefault("kv_heads", given["heads"])
    sizes = {**(STEPPED if "seq_q" in known else STEPPED_DECODE), **STEPPED_OF.get(name, {})}
    asked = request(subject, **{**{key: size for key, size in sizes.items() if key in known}, **given})
    asked.check()
    return subject.recorded(subject.build(asked.given), asked.given, trace, **options)


def _is_kernel(what: Any) -> bool:
    """Whether this is PTX, or something that has PTX, rather than what a launch gave back."""
    if isinstance(what, str):
        return "\n" in what
    return isinstance(what, Module) or hasattr(what, "ptx")


def _carried(what: Any, trace: Trace) -> Debugger:
    """The debugger on the trace of a run, of a result or of a fault, with what its checks have found."""
    from ptxlab.attention.problem import Result

    note = str(what) if isinstance(what, DeviceFault | LaunchKeyboardInterrupt) else ""
    run = what if isinstance(getattr(what, "trace", None), Recording) else getattr(what, "run", None)
    if not isinstance(getattr(run, "trace", None), Recording):
        run = what.again(device="step", trace=trace).run if isinstance(what, Result) else None
    if run is None:
        kind = type(what).__name__
        raise TraceError(f"this {kind} carries no trace; write pl.launch(kernel, grid, block, ..., trace=pl.Trace())")
    return Debugger(run.trace, note, run.findings)


def _watched(
    record: Callable[[Trace], Any], trace: Trace, checks: Sequence[str] | str = CHECKS, again: bool = True
) -> Debugger:
    """The debugger on a launch that is made now; one that faults is shown up to there, and made `again` where the block
    that did was not recorded."""
    names = check_names(checks, ALL_CHECKS)
    try:
        run = record(trace)
        return Debugger(run.trace, "", run.findings, names)
    except DeviceFault as fault:
        if not isinstance(fault.trace, Recording):
            raise
        recorded = {block for block, _ in fault.trace.warps}
        number = -1 if fault.block is None else block_number(fault.block, fault.trace.grid)
        if again and number >= 0 and number not in recorded:
            return _watched(record, dataclasses.replace(trace, blocks={*recorded, number}), checks, again=False)
        return Debugger(fault.trace, str(fault), fault.findings, names)

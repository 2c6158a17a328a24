"""How every contestant is timed and checked: recorded launches, poisoned outputs, and replays that take turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import ptxlab as pl
from benchmarks.gpu.memory import nans, parts, poison, read
from benchmarks.gpu.record import kept
from ptxlab import reference
from ptxlab.errors import DeviceFault
from ptxlab.gpu import device
from ptxlab.launch.replay import Step, record

METHOD = (
    "Method, the same for every kernel: its launches are recorded in a CUDA graph, so that no time of Python or of the "
    "driver's launches is in it; they take turns at inputs that together are larger than the L2 cache; before every "
    "replay all outputs are filled with NaN, after it none may be left, and rows of the first, a middle and the last "
    "head must agree with float64 within the tolerance of all tests. All kernels of a problem are prepared, the clocks "
    "are brought up by replays that do not count, then the kernels are replayed in turns. A time is the median of the "
    "replays, by events around the graph, divided by its launches; a graph runs for about two milliseconds or more, "
    "beside which the few microseconds of its start are little."
)


class Recording(Protocol):
    """The launches of one kernel for one problem, recorded. Launch n uses the inputs of set n modulo the sets."""

    launches: int

    def replay(self) -> float:
        """Runs all launches; the seconds of one of them."""

    def poison(self) -> None:
        """Fills all outputs with NaN."""

    def unwritten(self) -> int:
        """How many elements of all outputs are NaN."""

    def rows(self, n: int, where: tuple[Any, ...]) -> tuple[Any, Any]:
        """Rows of o of launch n, and of its lse, or None where the kernel gives none."""

    def free(self) -> None:
        """Gives the memory back."""


class Ours:
    """Launches of ptxlab. `o` and `lse`: for each launch an output, in its first dimension."""

    def __init__(
        self, steps: Sequence[Step], o: pl.DeviceBuffer, lse: pl.DeviceBuffer, dtype: str, blocks: int
    ) -> None:
        self.steps, self.o, self.lse, self.dtype, self.blocks = steps, o, lse, dtype, blocks
        self.launches = o.shape[0]
        self.also: list[pl.DeviceBuffer] = []
        """More memory that is the recording's own: poisoned and freed with it, but not searched for NaN."""
        self._graph = record(steps) if o.device == "gpu" else None

    def replay(self) -> float:
        """Seconds of one launch by GPU events; on the emulator, where there are no graphs, of the launches alone."""
        if self._graph is not None:
            return self._graph.replay() / self.launches
        run = [
            pl.launch(k, grid, block, *args, shared=shared, device="cpu") for k, grid, block, shared, args in self.steps
        ]
        return sum(one.seconds for one in run) / self.launches

    def poison(self) -> None:
        """Fills o, lse and what else there is with NaN."""
        for buffer in (self.o, self.lse, *self.also):
            poison(buffer, self.blocks)

    def unwritten(self) -> int:
        """NaN in o and lse."""
        return nans(self.o, self.dtype, self.blocks) + nans(self.lse, "f32", self.blocks)

    def rows(self, n: int, where: tuple[Any, ...]) -> tuple[Any, Any]:
        """The rows where[-1] of a head; a decode step has one row per head."""
        return _rows(parts(self.o)[n], where, 1), _rows(parts(self.lse)[n], where, 0)

    def free(self) -> None:
        """The graph and the outputs."""
        if self._graph is not None:
            self._graph.free()
        for buffer in (self.o, self.lse, *self.also):
            buffer.free()


def _rows(buffer: pl.DeviceBuffer, where: tuple[Any, ...], inner: int) -> Any:
    """The rows of an array [B, H, S(, D)] or [B, H(, D)] that (batch, head, rows or nothing) name."""
    batch, head, *some = where
    shape = buffer.shape
    first, last = (some[0].start, some[0].stop) if some else (0, 1)
    width = shape[-1] if inner else 1
    count = shape[2] if some else 1
    found = read(buffer, ((batch * shape[1] + head) * count + first) * width, ((last - first) * width,))
    return found.reshape((last - first, width) if inner else (last - first,))


@dataclass
class Answers:
    """What rows of the output should be. `inputs(set, place)` gives q, k and v of the place as [1, 1, ...] arrays.

    places: (batch, head, rows), or (batch, head) of a decode step. causal: whether a row sees only the keys to its own.
    """

    places: Sequence[tuple[Any, ...]]
    inputs: Callable[[int, tuple[Any, ...]], tuple[Any, Any, Any]]
    causal: bool
    sets: int
    only: Sequence[int] = ()
    """The sets whose launches are compared; all of them where nothing is said."""
    _known: dict[Any, Any] = field(default_factory=dict)

    def check(self, recording: Recording) -> tuple[float, str]:
        """The largest error of all launches, and what is wrong, or ""."""
        left = recording.unwritten()
        if left:
            return float("nan"), f"{left} elements of the output were not written"
        largest = 0.0
        for n in range(recording.launches):
            if self.only and n % self.sets not in self.only:
                continue
            for at, place in enumerate(self.places):
                found, wrong = self._compare(n % self.sets, at, *recording.rows(n, place))
                largest = max(largest, found)
                if wrong:
                    named = ", ".join(f"{x.start} to {x.stop - 1}" if isinstance(x, slice) else str(x) for x in place)
                    return largest, f"launch {n}, batch, head and rows ({named}): {wrong}"
        return largest, ""

    def _compare(self, which: int, at: int, o: Any, lse: Any) -> tuple[float, str]:
        key = which, at, o.dtype.name
        inputs, expected, bounds = self._known.get(key) or (None, None, None)
        if inputs is None:
            inputs = self.inputs(which, self.places[at])
            expected = reference.attention(*inputs, causal=self.causal)
        gap = np.abs(o.astype(np.float64) - expected.o[0, 0])
        if bounds is None or not np.all(gap <= bounds[0][0, 0]):  # that of f32 is found in two steps, the second slow
            bounds = reference.tolerance(o[None, None], *inputs, expected, causal=self.causal)
        self._known[key] = inputs, expected, bounds
        largest = float(np.max(gap))
        if not np.all(gap <= bounds[0][0, 0]):
            share = np.where(np.isnan(gap), np.inf, gap) / np.maximum(bounds[0][0, 0], np.finfo(np.float64).tiny)
            worst = np.unravel_index(int(np.argmax(share)), gap.shape)
            return largest, f"error {gap[worst]:.1e}, {bounds[0][0, 0][worst]:.1e} is allowed"
        if lse is not None:
            beside = np.abs(lse.astype(np.float64) - expected.lse[0, 0])
            if not np.all(beside <= bounds[1][0, 0]):
                return largest, f"error {np.max(beside):.1e} of lse, {np.min(bounds[1]):.1e} is allowed"
        return largest, ""


@dataclass
class Timed:
    """What `measure` found: the seconds of each replay, a launch; the largest error; and why there is no time, if so:
    `wrong` result, or `failed` with these words."""

    seconds: list[float] = field(default_factory=list)
    error: float = 0.0
    wrong: str = ""
    failed: str = ""

    @property
    def median(self) -> float | None:
        """The seconds that count; None where something is wrong."""
        return statistics.median(self.seconds) if self.seconds and not self.wrong and not self.failed else None


def measure(
    recordings: Mapping[str, Recording],
    check: Callable[[Recording], tuple[float, str]],
    *,
    rounds: int,
    warm: float = 0.05,
    most: float = 1.0,
) -> dict[str, Timed]:
    """Each kernel's replays, in turns.

    warm: for so many seconds there are replays that do not count. most: a kernel that has taken so many seconds and
    three replays has no further turn. A kernel with a wrong result drops out, as does one that raises.
    """
    found = {name: Timed() for name in recordings}
    taken = dict.fromkeys(recordings, 0.0)

    def turn(name: str, compared: bool = True) -> None:
        timed, recording = found[name], recordings[name]
        if timed.wrong or timed.failed:
            return
        try:
            if compared:
                recording.poison()
            seconds = recording.replay()
            if compared:
                error, timed.wrong = check(recording)
                timed.error = max(timed.error, error)
                timed.seconds.append(seconds)
        except Exception as raised:  # shown in the kernel's row; the others go on
            timed.failed = said(raised)
            if lost(raised):
                raise Lost(found) from raised
            return
        taken[name] += seconds * recording.launches

    for name in recordings:  # the first replay loads code and pages: it is checked, and not counted
        turn(name)
    for name in recordings:
        while taken[name] < warm and not (found[name].wrong or found[name].failed):
            turn(name, compared=False)
    for name in recordings:
        found[name].seconds.clear()
        taken[name] = 0.0
    for _ in range(rounds):
        for name in recordings:
            if len(found[name].seconds) < 3 or taken[name] < most:
                turn(name)
    return found


def lost(error: BaseException) -> bool:
    """Whether the GPU has stopped a kernel, after which this process cannot use it any more: ptxlab's fault, or what
    torch calls a CUDA error. Torch says so of calls too that are only refused, such as a recording that fails."""
    return isinstance(error, DeviceFault) or ("CUDA error" in str(error) and not alive())


def alive() -> bool:
    """Whether the GPU can still be used here: after a fault, every call of the driver returns its error."""
    if not device.available():
        return False
    from cuda.bindings import driver

    return not int(driver.cuCtxSynchronize()[0])


class Lost(Exception):
    """The GPU has stopped a kernel; `found` is what there was until then."""

    def __init__(self, found: dict[str, Timed]) -> None:
        super().__init__("the GPU stopped a kernel")
        self.found = found


def said(error: BaseException) -> str:
    """An exception in one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def ceilings(path: Path | None) -> dict[str, float]:
    """What the part `facts` has measured on this GPU, by its file beside `path`: "bf16 product" in TFLOP/s, "copy" in
    GB/s; empty where it has not run."""
    beside = path.parent / "facts.json" if path is not None else None
    rows = (kept(beside) or {"rows": []})["rows"] if beside is not None else []
    units = {"bf16 product": "tflops", "copy": "gb_s"}
    return {
        row["what"]: float(row[units[row["what"]]])
        for row in rows
        if row.get("what") in units and row.get(units[row["what"]])
    }

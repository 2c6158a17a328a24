"""What the fixture `ptxlab` is: launches with checks, under several schedules, whose findings fail the test."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ptxlab.findings import Finding
from ptxlab.foreign_arrays import as_numpy
from ptxlab.launch.buffers import Const, DeviceBuffer, Out
from ptxlab.launch.run import Run, launch
from ptxlab.module_variables import unchanged
from ptxlab.testing.mutants import Deletion, without

if TYPE_CHECKING:
    from ptxlab.drivers import Session, TritonSession


class FindingError(AssertionError):
    """A check noticed something: `findings` says what."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(finding.headed() for finding in findings))
        self.findings = list(findings)


@dataclass
class Wishes:
    """What a test asks for: the marker's words, and the command line's."""

    checks: Any = "all"
    seeds: int = 1
    counters: bool = False
    device: str = "cpu"
    deletion: Deletion | None = None
    record: Path | None = None
    """The file of counters that belong to the test."""
    update: bool = False


@dataclass
class Launches:
    """The fixture `ptxlab`. `runs` holds the `Run` of each launch."""

    wishes: Wishes
    runs: list[Run] = field(default_factory=list)
    kernels: list[Any] = field(default_factory=list)
    """The kernels launched, each once."""

    def launch(self, kernel: Any, grid: Any, block: Any, *args: Any, **options: Any) -> Run:
        """`pl.launch` with the checks of the marker. Raises `FindingError` where one notices something.

        With `seeds=n` the launch is first made n times under shuffled schedules, each from the same
        arguments and variables.
        """
        if not any(known is kernel for known in self.kernels):
            self.kernels.append(kernel)
        if self.wishes.deletion is not None:
            kernel = without(kernel, self.wishes.deletion)
        options = dict[str, Any](device=self.wishes.device, counters=self.wishes.counters) | options
        if options["device"] == "gpu":
            run = launch(kernel, grid, block, *args, **(options | {"counters": False}))
            self.runs.append(run)
            return run
        options = {"checks": self.wishes.checks} | options
        for seed in range(self.wishes.seeds if self.wishes.seeds > 1 else 0):
            given, undo = _copied(args)
            with unchanged(kernel):
                self._judged(launch(kernel, grid, block, *given, **(options | {"seed": seed})))
            undo()
        run = launch(kernel, grid, block, *args, **options)
        self.runs.append(run)
        return self._judged(run)

    def _judged(self, run: Run) -> Run:
        if run.findings:
            raise FindingError(run.findings)
        return run

    def numba(self, **options: Any) -> Session:
        """As `pl.numba`: kernels of numba-cuda launched within it are launches of the test."""
        from ptxlab.drivers import numba

        session: Session = numba(**options)
        session.launcher = self.launch
        return session

    def triton(self, **options: Any) -> TritonSession:
        """As `pl.triton`: kernels of Triton launched within it are launches of the test."""
        from ptxlab.drivers import triton

        session: TritonSession = triton(**options)
        session.launcher = self.launch
        return session

    @property
    def counters(self) -> Any:
        """The counters of the last launch; the marker asks for them with counters=True."""
        assert self.runs, "nothing has been launched"
        found = self.runs[-1].counters
        assert found is not None, "write: @pytest.mark.ptxlab(counters=True)"
        return found

    def check_counters(self, *names: str) -> None:
        """Compares counters of all launches with those that were recorded; `--ptxlab-update` records them.

        names: which, such as "warp_instructions" or a metric of Nsight Compute; by default all that are not 0.
        """
        assert self.wishes.record is not None, "counters are recorded for tests in files"
        now = [numbers(run, names) for run in self.runs]
        if self.wishes.update:
            self.wishes.record.parent.mkdir(exist_ok=True)
            self.wishes.record.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
            return
        if not self.wishes.record.exists():
            raise AssertionError(f"no counters are recorded in {self.wishes.record}\n  write:  pytest --ptxlab-update")
        before = json.loads(self.wishes.record.read_text(encoding="utf-8"))
        differ = [
            f"launch {k + 1}, {name}: {old.get(name)} recorded, {new.get(name)} now"
            for k, (old, new) in enumerate(zip(before, now, strict=False))
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        if len(before) != len(now):
            differ.insert(0, f"{len(before)} launches recorded, {len(now)} now")
        assert not differ, "counters differ from " + f"{self.wishes.record.name}\n  " + "\n  ".join(differ)


def numbers(run: Run, names: Sequence[str]) -> dict[str, int]:
    """Counters of a run: those named, or all that are not 0."""
    counters = run.counters
    assert counters is not None, "write: @pytest.mark.ptxlab(counters=True)"
    every = {"warp_instructions": counters.warp_instructions, "thread_instructions": counters.thread_instructions}
    every |= {name: value for name, value in counters.metrics.items() if value or name in names}
    return {name: every[name] for name in names or every}


def _copied(args: Sequence[Any]) -> tuple[list[Any], Callable[[], None]]:
    """Arguments whose arrays are copies, and what puts the contents of device buffers back."""
    buffers = [(value, value.copy_to_host()) for value in args if isinstance(value, DeviceBuffer)]

    def one(value: Any) -> Any:
        value = as_numpy(value)
        if isinstance(value, Const | Out):
            return type(value)(value.array.copy())
        return value.copy() if isinstance(value, np.ndarray) else copy.copy(value) if isinstance(value, list) else value

    def undo() -> None:
        for buffer, contents in buffers:
            buffer.copy_from_host(contents)

    return [one(value) for value in args], undo

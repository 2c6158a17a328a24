"""Nsight Compute on the command line: runs a program under `ncu`, reads its raw page, and bears with unknown metrics.

An `ncu` that does not know one of the metrics ends before anything is measured. The one that it names is left out and
the run repeated; where it names none, the metrics are halved until the culprits are found.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.gpu.corpus import ROOT
from benchmarks.gpu.workers import environment, kill

BASE = ("--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw")
"""The clocks are left as they are, as for every other time here; units without prefixes can be compared."""
DENIED = "this user may not read the GPU's counters (ERR_NVGPUCTRPERM)"


class NcuError(Exception):
    """ncu did not measure; its own words."""


@dataclass
class Profile:
    """Kernel -> metric -> value, of its first launch; the metrics that were left out, with why; the table as text."""

    values: dict[str, dict[str, float]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    text: str = ""


def parse(text: str) -> dict[str, dict[str, float]]:
    """What `ncu --csv --page raw` printed: for each kernel its metrics. What precedes the table is other output."""
    lines = text.splitlines()
    start = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise NcuError(f"ncu printed no table:\n{text.strip()[-2000:]}")
    table = csv.DictReader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"'))))
    found: dict[str, dict[str, float]] = {}
    for row in table:
        if not row["ID"]:  # the line below the heads holds units
            continue
        metrics: dict[str, float] = {}
        for name, value in row.items():
            try:
                metrics[name] = float((value or "").replace(",", ""))
            except ValueError:
                continue  # a name, a size such as (64, 1, 1), or n/a
        found.setdefault(row["Kernel Name"].partition("(")[0], metrics)
    return found


def named(text: str) -> list[str]:
    """The metrics that ncu says it cannot find."""
    return re.findall(r"==ERROR== Failed to find metric (?:regex:)?[\"']?([\w.:]+)", text)


def profile(
    command: Sequence[str],
    metrics: Sequence[str],
    *,
    options: Sequence[str] = (),
    limit: float = 120.0,
    ncu: str = "ncu",
) -> Profile:
    """Runs a command under ncu with some metrics (none: what `options` ask for) and returns what it measured.

    PermissionError where the driver does not let this user, NcuError where nothing can be measured, TimeoutError.
    """
    left, dropped = list(metrics), {}
    while True:
        said, status = _run(command, left, options, limit, ncu)
        if "ERR_NVGPUCTRPERM" in said:
            raise PermissionError(DENIED)
        unknown = [name for name in named(said) if name in left]
        if unknown:
            dropped |= dict.fromkeys(unknown, "ncu does not know it")
            left = [name for name in left if name not in unknown]
            if not left:
                raise NcuError(f"ncu knows none of the metrics: {', '.join(dropped)}")
            continue
        if not status:
            return Profile(parse(said), dropped, said)
        if len(left) < 2:
            raise NcuError(f"ncu ended with {status}:\n{said.strip()[-2000:]}")
        return _halved(command, left, dropped, options, limit, ncu)


def _halved(
    command: Sequence[str], metrics: list[str], dropped: dict[str, str], options: Sequence[str], limit: float, ncu: str
) -> Profile:
    """The metrics in two runs; a single one that fails is left out, unless all do."""
    found, errors = Profile(dropped=dropped), []
    middle = len(metrics) // 2
    for part in (metrics[:middle], metrics[middle:]):
        try:
            one = profile(command, part, options=options, limit=limit, ncu=ncu)
        except NcuError as error:
            errors.append(error)
            found.dropped |= dict.fromkeys(part, str(error).splitlines()[-1])
            continue
        found.dropped |= one.dropped
        found.text += one.text
        for kernel, values in one.values.items():
            found.values.setdefault(kernel, {}).update(values)
    if len(errors) == 2:
        raise errors[0]
    return found


def _run(
    command: Sequence[str], metrics: Sequence[str], options: Sequence[str], limit: float, ncu: str
) -> tuple[str, int]:
    """What ncu and the program print, and the exit status."""
    chosen = ["--metrics", ",".join(metrics)] if metrics else []
    process = subprocess.Popen(
        [ncu, *BASE, *options, *chosen, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=ROOT,
        env=environment(),
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired as late:
        raise TimeoutError(f"ncu did not end within {limit:g} s") from late
    finally:
        kill(process)
        if process.stdout is not None:
            process.stdout.close()
    return said, process.returncode


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of this Python."""
    return [sys.executable, "-m", module, *arguments]

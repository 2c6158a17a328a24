"""Where the time of `hopper`, `pipelined` and `decode_gqa` goes, by Nsight Compute: `python -m benchmarks.gpu.explain`.

`ncu --set full` of one launch of each problem. The raw page is kept as CSV beside the file of the rows; a row holds the
digest: how busy the tensor pipe, the issue slots, shared memory, L2 and DRAM are, what warps wait for, and what the
kernel takes of a multiprocessor.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ptxlab as pl
from benchmarks.gpu import ncu
from benchmarks.gpu.contest import Place, elsewhere
from benchmarks.gpu.record import Record, record_for

PROBLEMS: dict[str, tuple[str, ...]] = {
    "pipelined, D 128, S 4096": ("pipelined", "--dim", "128"),
    "pipelined, D 64, S 4096": ("pipelined", "--dim", "64"),
    "decode_gqa, B 16, 4096 keys": ("decode_gqa", "--batch", "16", "--keys", "4096"),
    "decode_gqa, B 1, 16384 keys": ("decode_gqa", "--batch", "1", "--keys", "16384"),
    "pipelined, D 128, S 4096, causal": ("pipelined", "--dim", "128", "--causal"),
    "pipelined, D 64, S 4096, causal": ("pipelined", "--dim", "64", "--causal"),
    "hopper, D 128, S 4096": ("hopper", "--dim", "128"),
    "hopper, D 128, S 4096, causal": ("hopper", "--dim", "128", "--causal"),
    "hopper, D 128, S 512": ("hopper", "--dim", "128", "--seq", "512"),
    "hopper, D 64, S 4096": ("hopper", "--dim", "64"),
}
"""What is watched, the most wanted first."""
REHEARSED: dict[str, tuple[str, ...]] = {
    "pipelined, D 64, S 128": ("pipelined", "--dim", "64", "--seq", "128", "--tokens", "128", "--width", "128"),
    "decode_gqa, B 1, 256 keys": ("decode_gqa", "--batch", "1", "--keys", "256"),
}
LIMIT = 60.0
"""Seconds for one problem: the full set runs a kernel some forty times."""


@dataclass(frozen=True)
class Line:
    """A line of the digest, with the metrics that may hold it: names differ from one chip and version to the next."""

    name: str
    metrics: tuple[str, ...]
    unit: str = "%"


SUSTAINED = "pct_of_peak_sustained"
DIGEST = (
    Line("time", ("gpu__time_duration.sum", "gpu__time_duration.avg"), "ns"),
    Line("tensor pipe busy", (f"sm__pipe_tensor_cycles_active.avg.{SUSTAINED}_active",
                              f"sm__inst_executed_pipe_tensor.avg.{SUSTAINED}_active",
                              f"sm__pipe_tensor_op_hmma_cycles_active.avg.{SUSTAINED}_active")),
    Line("issue slots used", (f"smsp__issue_active.avg.{SUSTAINED}_active", f"sm__inst_issued.avg.{SUSTAINED}_active",
                              f"smsp__inst_issued.avg.{SUSTAINED}_active")),
    Line("instructions a cycle", ("sm__inst_executed.avg.per_cycle_active",), "per SM"),
    Line("warps ready to issue", ("smsp__warps_eligible.avg.per_cycle_active",), "per scheduler"),
    Line("L1 and shared memory", (f"l1tex__throughput.avg.{SUSTAINED}_active",)),
    Line("wavefronts of L1 data", (f"l1tex__data_pipe_lsu_wavefronts.avg.{SUSTAINED}_elapsed",)),
    Line("wavefronts of shared memory", ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                                         "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum"), ""),
    Line("bank conflicts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                            "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared.sum"), ""),
    Line("L2", (f"lts__throughput.avg.{SUSTAINED}_elapsed", f"lts__t_sectors.avg.{SUSTAINED}_elapsed")),
    Line("L2 hits", ("lts__t_sector_hit_rate.pct",)),
    Line("DRAM", (f"gpu__dram_throughput.avg.{SUSTAINED}_elapsed", f"dram__throughput.avg.{SUSTAINED}_elapsed")),
    Line("bytes from and to DRAM", ("dram__bytes.sum.per_second",), "per s"),
    Line("occupancy reached", (f"sm__warps_active.avg.{SUSTAINED}_active",)),
    Line("occupancy possible", ("sm__maximum_warps_per_active_cycle_pct",)),
    Line("registers", ("launch__registers_per_thread",), "per thread"),
    Line("blocks by registers", ("launch__occupancy_limit_registers",), "per SM"),
    Line("blocks by shared memory", ("launch__occupancy_limit_shared_mem",), "per SM"),
    Line("grid", ("launch__grid_size",), "blocks"),
    Line("waves", ("launch__waves_per_multiprocessor",), ""),
)  # fmt: skip
STALLS = (
    r"smsp__average_warps?_issue_stalled_(\w+?)_per_issue_active\.ratio",
    r"smsp__average_warp_latency_issue_stalled_(\w+?)\.ratio",
)
"""Cycles that a warp waits for each instruction, by reason: the first notation that is there."""


def digest(values: dict[str, float]) -> dict[str, float]:
    """The lines of the digest that ncu measured."""
    found = {}
    for line in DIGEST:
        name = next((metric for metric in line.metrics if metric in values), "")
        if name:
            found[line.name] = values[name]
    return found


def stalls(values: dict[str, float]) -> dict[str, float]:
    """The share of each reason why warps wait, the largest first; `selected` are the cycles in which they issue."""
    for pattern in STALLS:
        found = {m[1]: value for name, value in values.items() if (m := re.fullmatch(pattern, name)) and value > 0}
        found = {name: value for name, value in found.items() if not name.endswith("_not_issued")}
        if found:
            total = sum(found.values())
            return {name: found[name] / total for name in sorted(found, key=lambda n: -found[n])}
    return {}


def measure(record: Record, problems: dict[str, Sequence[str]], tool: str) -> None:
    """A row for each problem without one."""
    todo = [name for name in problems if not record.has(problem=name)]
    for number, name in enumerate(todo):
        if record.out_of_time(len(todo) - number):
            break
        kernel = problems[name][0]
        command = ncu.python("benchmarks.gpu.explain_target", *problems[name])
        options = ("--set", "full", "--kernel-name", f"regex:^{kernel}", "--launch-count", "1")
        try:
            found = ncu.profile(command, (), options=options, limit=LIMIT, ncu=tool)
        except (PermissionError, ncu.NcuError, TimeoutError) as error:
            record.missing(f"profile of {name}", str(error))
            if isinstance(error, PermissionError):
                break
            continue
        keep(record, name, found.text)
        values = next((v for entry, v in found.values.items() if entry.startswith(kernel)), None)
        if values is None:
            record.missing(f"profile of {name}", f"ncu has no row for {kernel}")
            continue
        lines = digest(values)
        absent = [line.name for line in DIGEST if line.name not in lines]
        if absent:
            record.note(f"{name}: ncu has no metric for {', '.join(absent)}")
        record.add(problem=name, digest=lines, stalls=stalls(values), metrics=len(values))


def keep(record: Record, name: str, text: str) -> None:
    """The raw page, beside the file of the record."""
    if record.path is not None:
        table = "\n".join(line for line in text.splitlines() if line.startswith('"'))
        path = record.path.with_name(f"{record.path.stem}_{re.sub('[^a-z0-9]+', '_', name.lower())}.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(table + "\n", encoding="utf-8")


def main() -> int:
    """Profiles what has no row yet."""
    record, options = record_for("explain", __doc__)
    tool = shutil.which("ncu")
    if not pl.gpu.available():
        record.missing("an NVIDIA GPU", "none is there, or no driver for it")
    elif tool is None:
        record.missing("ncu", "it is not on the path")
    else:
        measure(record, REHEARSED if options.rehearse else fitting(record), tool)
    return record.end(summary(record.rows))


def fitting(record: Record) -> dict[str, tuple[str, ...]]:
    """The problems without those whose kernel is for another GPU."""
    place = Place.of("gpu")
    found = {}
    for name, words in PROBLEMS.items():
        why = "" if words[0] == "decode_gqa" else elsewhere(words[0], place)
        if why:
            record.note(f"{name}: not run, {why}")
        else:
            found[name] = words
    return found


def summary(rows: list[dict[str, Any]]) -> str:
    """One line."""
    said = [
        f"{row['problem']}: "
        + ", ".join(
            f"{name} {row['digest'][name]:.0f} %"
            for name in ("tensor pipe busy", "issue slots used", "DRAM")
            if name in row["digest"]
        )
        for row in rows
    ]
    return "; ".join(said) or "nothing profiled"


def table(found: dict[str, Any]) -> str:
    """A column for each problem: the digest, then what warps wait for."""
    rows = found["rows"]
    if not rows:
        return "Nothing was profiled."
    lines = ["| | " + " | ".join(row["problem"] for row in rows) + " |", "| --- |" + " ---: |" * len(rows)]
    for line in DIGEST:
        cells = [amount(row["digest"].get(line.name), line.unit) for row in rows]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {line.name} | " + " | ".join(cells) + " |")
    reasons = dict.fromkeys(name for row in rows for name, share in row["stalls"].items() if share >= 0.03)
    for name in reasons:
        cells = [f"{row['stalls'].get(name, 0):.0%}" for row in rows]
        lines.append(f"| warps: {name.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"- {note}" for note in found.get("notes", []))])


def amount(value: float | None, unit: str) -> str:
    """A number with its unit."""
    if value is None:
        return "-"
    if unit == "%":
        return f"{value:.1f} %"
    if unit == "ns":
        return f"{value / 1e3:.1f} us"
    if unit == "per s":
        return f"{value / 1e9:.0f} GB/s"
    shown = f"{value:,.0f}" if value == int(value) else f"{value:.2f}"
    return f"{shown} {unit}".strip()


if __name__ == "__main__":
    sys.exit(main())

"""The emulator's counters beside Nsight Compute's: `python -m benchmarks.gpu.counters [--write]`.

ncu watches 25 small kernels and six of the library, each launched once on the GPU; the emulator counts the same
launches. What is counted of accesses to memory has to be equal, or a known difference has to explain it, see `KNOWN`.
Numbers of instructions need not be equal, since ncu counts machine code and the emulator PTX: they are shown side by
side. `--write` keeps the table in results/ncu_counters.md.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import ptxlab as pl
from benchmarks.gpu import counter_kernels, ncu
from benchmarks.gpu.corpus import ROOT
from benchmarks.gpu.record import Record, record_for
from ptxlab.emulate.runtime.counters import Counters

RESULTS = ROOT / "benchmarks" / "results" / "ncu_counters.md"
GLOBAL = tuple(
    f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum" for op in ("ld", "st") for what in ("requests", "sectors")
)
WAVEFRONTS = tuple(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in ("ld", "st"))
CONFLICTS = tuple(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in ("ld", "st"))
FMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
EQUAL = (*GLOBAL, *WAVEFRONTS, *CONFLICTS, FMA)
"""Metrics that have to agree."""
BYTES = tuple(f"smsp__sass_data_bytes_mem_{space}_op_{op}.sum" for space in ("global", "shared") for op in ("ld", "st"))
SHOWN = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    *BYTES,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
)
"""Metrics of which one counts machine code and the other PTX, and what explains differences."""
Values = dict[str, float]


@dataclass(frozen=True)
class Case:
    """A metric of a kernel: what both counted, and the kernel."""

    metric: str
    own: Counters
    theirs: Values
    kernel: str = ""


@dataclass(frozen=True)
class Known:
    """A difference with a reason: for which metrics, and what ncu then counts; None where the reason does not apply.
    One that cannot say how large the difference is returns ncu's own number."""

    metrics: tuple[str, ...]
    reason: str
    predicts: Callable[[Case], float | None]


def _in_wider_accesses(case: Case) -> float | None:
    own, theirs, metric = case.own, case.theirs, case.metric
    op, count = metric.rpartition("_op_")[2].removesuffix(".sum"), theirs[metric]
    moved = f"smsp__sass_data_bytes_mem_global_op_{op}.sum"
    same = moved in theirs and theirs[moved] == own[moved]
    return count if same and count < own[metric] <= 4 * count else None


def _in_wider_broadcasts(case: Case) -> float | None:
    """Loads of a word for all lanes, which machine code makes 2 or 4 at a time: a broadcast of 8 bytes takes one
    wavefront, and one of 16 bytes two. ncu counts a byte once that all lanes load, which shows that all are broadcasts.
    """
    own, theirs = case.own, case.theirs
    loads = [line for line in own.by_line.values() if line.opcode.startswith("ld.shared.")]
    words = all(line.bytes == 4 * 32 * line.requests and line.wavefronts == line.requests for line in loads)
    if not loads or not words or theirs.get(BYTES[2]) != own[BYTES[2]] / 32:
        return None
    made = {op for op in counter_kernels.machine_code(case.kernel) if op.startswith("LDS")}
    return own[case.metric] / 2 if made and made <= {"LDS.64", "LDS.128"} else None


def _without_matrices(case: Case) -> float | None:
    matrices = sum(line.bytes for line in case.own.by_line.values() if line.opcode.startswith("ldmatrix."))
    return case.own[case.metric] - matrices if matrices else None


def _of_sequences(case: Case) -> float | None:
    own, count = case.own, case.theirs[case.metric]
    sequences = any(name.partition(".")[0] in SEQUENCES for name in own.opcodes)
    pairs = {"mul.f32", "mul.rn.f32", "add.f32", "sub.f32"} & own.opcodes.keys()
    return count if (sequences or pairs) and count > own[case.metric] else None


SEQUENCES = ("div", "rcp", "sqrt", "lg2", "ex2")
"""Instructions of PTX that become several of the machine's, multiply-adds among them."""
KNOWN = (
    Known((GLOBAL[0], GLOBAL[2]), "the assembler joined neighbouring accesses into wider ones: fewer instructions move "
          "as many bytes", _in_wider_accesses),
    Known(WAVEFRONTS[:1], "the assembler joined broadcasts of 4 bytes: its machine code has only loads of 8 and 16 "
          "bytes, which take half as many wavefronts", _in_wider_broadcasts),
    Known(BYTES[2:3], "ncu does not count what ldmatrix loads", _without_matrices),
    Known((FMA,), "the assembler makes multiply-adds of separate multiplications and additions, and of divisions, "
          "roots and transcendental functions", _of_sequences),
)  # fmt: skip
"""What ncu counts otherwise. The second and third predict a number, which the measured one has to be; the others apply
only where ncu's other metrics, or the PTX, bear them out."""


def verdict(case: Case) -> tuple[str, str]:
    """("equal" | "explained" | "differs" | "shown" | "not measured", the reason)."""
    metric, theirs = case.metric, case.theirs
    if metric not in theirs:
        return "not measured", ""
    if case.own[metric] == theirs[metric]:
        return "equal", ""
    for known in KNOWN:
        if metric in known.metrics and known.predicts(case) == theirs[metric]:
            return "explained", known.reason
    return ("differs" if metric in EQUAL else "shown"), ""


def compare(name: str, theirs: Values) -> dict[str, Any]:
    """The row of a kernel: each metric with our number, ncu's, the verdict and the reason; and what is wrong."""
    own = counter_kernels.launch(name, "cpu")
    assert own is not None
    metrics: dict[str, list[Any]] = {}
    wrong = []
    for metric in (*EQUAL, *SHOWN):
        said, reason = verdict(Case(metric, own, theirs, name))
        if own[metric] or theirs.get(metric):
            metrics[metric] = [own[metric], theirs.get(metric), said, reason]
        if said == "differs":
            wrong.append(f"{metric} is {own[metric]:,} here and {theirs[metric]:,.0f} in ncu")
    return {"kernel": name, "metrics": metrics, "wrong": f"{name}: {'; '.join(wrong)}" if wrong else ""}


def kernel_of(name: str, measured: dict[str, Values]) -> Values | None:
    """ncu's numbers for a kernel: the library's have their type and head_dim in the entry's name."""
    starts = (f"{name}_bf16", f"{name}_f32")
    return next((values for found, values in measured.items() if found == name or found.startswith(starts)), None)


def measure(record: Record, names: list[str], tool: str) -> None:
    """A row for each kernel; the small ones in one run of ncu, the library's in another."""
    for part in (
        [name for name in names if name in counter_kernels.KERNELS],
        [name for name in names if name in counter_kernels.LIBRARY],
    ):
        todo = [name for name in part if not record.has(kernel=name)]
        if not todo:
            continue
        if record.out_of_time(len(todo)):
            break
        try:
            found = ncu.profile(ncu.python("benchmarks.gpu.counter_kernels", *todo), (*EQUAL, *SHOWN), ncu=tool)
        except (PermissionError, ncu.NcuError, TimeoutError) as error:
            record.missing(f"counters of {', '.join(todo)}", str(error))
            continue
        for metric, why in found.dropped.items():
            record.note(f"{metric} was not measured: {why}")
        for name in todo:
            theirs = kernel_of(name, found.values)
            if theirs is None:
                record.missing(f"counters of {name}", "ncu has no row for it")
            else:
                record.add(**compare(name, theirs))


def main() -> int:
    """Measures what has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"into results/{RESULTS.name}")
    record, options = record_for("counters", __doc__, parser)
    tool = shutil.which("ncu")
    if not pl.gpu.available():
        record.missing("an NVIDIA GPU", "none is there, or no driver for it")
    elif tool is None:
        record.missing("ncu", "it is not on the path")
    else:
        names = ["coalesced", "bank_2_way", "scalar"] if options.rehearse else list(counter_kernels.NAMES)
        measure(record, names, tool)
    if options.write and record.rows:
        date = datetime.now(UTC).date().isoformat()
        text = table({"rows": record.rows, "notes": record.notes})
        RESULTS.write_text(
            f"# Counters beside ncu's\n\n`python -m benchmarks.gpu.counters --write`, {date}.\n\n{text}\n",
            encoding="utf-8",
        )
    return record.end(summary(record.rows))


def summary(rows: list[dict[str, Any]]) -> str:
    """One line."""
    said = Counter(cell[2] for row in rows for name, cell in row["metrics"].items() if name in EQUAL)
    counted = ", ".join(f"{n} {verdict}" for verdict, n in said.items()) or "none measured"
    return f"{len(rows)} kernels; of the metrics that have to agree: {counted}"


def table(found: dict[str, Any]) -> str:
    """Every metric of every kernel that is not 0, as Markdown; then the reasons."""
    lines = [f"Emulator beside ncu: {summary(found['rows'])}.", ""]
    lines += ["| kernel | metric | emulator | ncu | |", "| --- | --- | ---: | ---: | --- |"]
    reasons: dict[str, int] = {}
    for row in found["rows"]:
        for metric, (own, theirs, said, reason) in row["metrics"].items():
            mark = f"explained [{reasons.setdefault(reason, len(reasons) + 1)}]" if reason else said
            shown = "-" if theirs is None else f"{theirs:,.0f}"
            lines.append(f"| {row['kernel']} | {metric} | {own:,} | {shown} | {mark} |")
    lines += ["", *(f"[{n}] {reason}" for reason, n in reasons.items())]
    lines += [f"- {note}" for note in found.get("notes", [])]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

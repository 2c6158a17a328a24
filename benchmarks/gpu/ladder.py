"""The whole ladder of prefill kernels at one size: `python -m benchmarks.gpu.ladder [--json FILE]`.

From one thread per row (`scalar`) to the pipelined kernel with tensor cores, each in the first type that it takes,
beside torch's flash back end: sequences of 2048, head_dim 128 and 64, causal and not; otherwise as in `prefill`, by
the same method. The quick rungs come first. It takes 34 seconds on an H100.

`--device cpu` and `--rehearse` take small problems, which show that it all runs; their times say nothing about a GPU.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.gpu import contest, timing
from benchmarks.gpu.contest import Inputs, Place, Problem
from benchmarks.gpu.prefill import FORMULA
from benchmarks.gpu.record import UNUSABLE, Record, leave, record_for
from benchmarks.gpu.rivals_torch import find_torch
from ptxlab import kernels
from ptxlab.gpu import device

SEQ = 2048
FLASH = "torch flash"
GROUPS = (("hopper", "wgmma", "pipelined", "swizzle", "mma", FLASH), ("wmma",), ("tiled2d",), ("tiled",), ("scalar",))
"""Kernels that are measured in turns; slow ones do not wait for each other."""


def dtype_of(name: str) -> str:
    """The type in which a rung is measured: bf16, or else f16, or else f32."""
    taken = ("bf16",) if name == FLASH else kernels.get(name, "prefill").dtypes
    return next(dtype for dtype in ("bf16", "f16", "f32") if dtype in taken)


def problems(small: bool) -> list[Problem]:
    """All problems."""
    sizes = {"seq": 128, "tokens": 256, "width": 256} if small else {"seq": SEQ}
    dims = (64,) if small else (128, 64)
    return [
        Problem(dim=dim, causal=causal, dtype="", most=2 if small else contest.MOST, **sizes)
        for dim in dims
        for causal in (False, True)
    ]


def run(record: Record, machine: str, small: bool) -> None:
    """Measures into the record what it has not yet."""
    place = Place.of(machine)
    torch, why = (None, "it is measured on a GPU only") if machine == "cpu" else find_torch()
    if torch is None:
        record.missing("torch", why, optional=machine == "cpu")
    absent = {name: why for name in kernels.names("prefill") if (why := contest.elsewhere(name, place))}
    for name, why in absent.items():
        record.missing(name, why, optional=True)
    everything = [(group, replace(one, dtype=dtype_of(group[0]))) for group in GROUPS for one in problems(small)]
    first = everything[0][1]
    inputs = Inputs(first.tokens * first.width, place.device, torch)
    for text in (place.name, timing.METHOD, f"{FORMULA}; {first.sizes}"):
        record.note(text)
        print(text)
    warm = 0.0 if small else 0.5  # seconds a contestant
    for at, (group, problem) in enumerate(everything):
        names = [
            name
            for name in group
            if name not in absent
            and (name != FLASH or torch is not None)
            and not record.has(kernel=name, **problem.key)
        ]
        if not names:
            continue
        if record.out_of_time(sum(len(group) for group, _ in everything[at:])):
            break
        prepared: dict[str, contest.Prepare] = {
            name: partial(contest.theirs, name, problem, inputs)
            if name == FLASH
            else partial(contest.ours, name, problem, inputs, place)
            for name in names
        }
        try:
            found = contest.contest(prepared, inputs.answers(problem), rounds=2 if small else 5, warm=warm)
        except timing.Lost as stopped:
            found = {name: timed for name, timed in stopped.found.items() if timed.wrong or timed.failed}
            record.left = sum(len(group) for group, _ in everything[at:]) - len(found)
        for name, timed in found.items():
            record.add(**contest.row(name, problem, timed, name == FLASH, None))
            print(contest.line(record.rows[-1]), flush=True)
        if record.left:
            break
        warm = min(warm, 0.02)


def table(found: Mapping[str, Any]) -> str:
    """The Markdown table of the part from its JSON: a row a rung, a column a problem."""
    rungs = [*kernels.names("prefill"), FLASH]
    by = {(r["kernel"], r["dim"], r["causal"], r["seq"]): r for r in found["rows"]}
    columns = sorted({key[1:] for key in by}, key=lambda c: (-c[0], c[1]))
    head = ["kernel", "type", *(f"D {dim}, {'causal' if causal else 'full'}, S {seq}" for dim, causal, seq in columns)]
    lines = ["TFLOP/s, and in brackets how many times as fast as the rung before.", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    before: dict[Any, float] = {}
    for name in rungs:
        if not any(key[0] == name for key in by):
            continue
        cells = []
        for column in columns:
            row = by.get((name, *column), {})
            if "seconds" not in row:
                cells.append("wrong" if row.get("wrong") else "-")
                continue
            step = f" ({before[column] / row['seconds']:.2f}x)" if column in before and name != FLASH else ""
            cells.append(contest.rate(row["tflops"]) + step)
            before[column] = row["seconds"]
        lines.append(f"| {name} | {dtype_of(name)} | " + " | ".join(cells) + " |")
    remarks = [f"- wrong: {r['wrong']}" for r in found["rows"] if r.get("wrong")]
    remarks += [f"- no {r['kernel']}, D {r['dim']}: {r['absent']}" for r in found["rows"] if r.get("absent")]
    remarks += [f"- not here: {one['what']}: {one['why']}" for one in found.get("missing", ())]
    return "\n".join([*lines, "", *remarks, *(f"- {note}" for note in found.get("notes", ()))]) + "\n"


def main() -> int:
    """Measures, prints the table, and returns the exit status of the part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"), help="cpu: the emulator, small problems")
    record, options = record_for("ladder", __doc__, parser)
    if options.device == "gpu" and (why := device.unavailable()):
        record.missing("GPU", f"{why} (--device cpu shows that it all runs)")
        record.end()
        return UNUSABLE
    run(record, options.device, options.rehearse or options.device == "cpu")
    print("\n" + table({"rows": record.rows, "notes": record.notes, "missing": record.absent}))
    return record.end()


if __name__ == "__main__":
    leave(main())

"""Prefill kernels beside torch's and Triton's, a fair table: `python -m benchmarks.gpu.prefill [--json FILE]`.

For each problem (batch x sequence = 16384 tokens, heads x head_dim = 2048; head_dim 64, 128 and 256, sequences of 512
to 16384, causal and not, bf16 and f16): `pipelined`, torch's scaled_dot_product_attention with its flash back end
(which is FlashAttention-2) and its cuDNN back end forced in turn, a Triton kernel as in Triton's tutorial, and at some
sizes `swizzle` and `mma`. What matters most comes first: bf16, head_dim 128, S of 4096 and more.

TFLOP/s count 4 * B * H * Sq * Sk * D operations, half of them with the causal mask. The goal: `pipelined` at least 1.0x
torch's flash back end at head_dim 128 and S of 4096 or more. It takes two minutes on an H100.

`--device cpu` and `--rehearse` take small problems, which show that it all runs; their times say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.gpu import contest, timing
from benchmarks.gpu.contest import Inputs, Place, Problem
from benchmarks.gpu.record import UNUSABLE, Record, leave, record_for
from benchmarks.gpu.rivals_torch import BACKENDS, find_torch
from ptxlab.gpu import device

TRITON = "Triton"
TRITON_LABEL = (
    "Triton: FlashAttention-2 as in its tutorial, our own text; compiled by Triton, then assembled and launched like "
    "ptxlab's kernels; of several tile sizes the best"
)
RIVALS = (*BACKENDS, TRITON)
SOMETIMES = ("wgmma", "swizzle", "mma")
COLUMNS = ("hopper", "pipelined", *RIVALS, *SOMETIMES)
LONG = 4096
"""From this sequence on the goal counts."""
FORMULA = "TFLOP/s: 4 * B * H * Sq * Sk * D operations (half with the causal mask) / seconds / 1e12"


def problems(small: bool) -> list[Problem]:
    """All problems, those that are asked for first in front."""
    if small:
        some = ((128, False, "bf16"), (128, True, "bf16"), (64, True, "f16"))
        return [Problem(dim, causal, 128, dtype, 256, 256, most=3) for dim, causal, dtype in some]
    orders = [
        (dtype, dim, long)
        for dtype in ("bf16", "f16")
        for dim, long in ((128, True), (64, True), (256, True), (128, False), (64, False), (256, False))
    ]
    lengths = {True: (4096, 8192, 16384), False: (2048, 1024, 512)}
    return [
        Problem(dim, causal, seq, dtype)
        for dtype, dim, long in orders
        for seq in lengths[long]
        for causal in (True, False)
    ]


def wanted(problem: Problem, small: bool) -> list[str]:
    """The kernels that are measured for a problem; the slower rungs at one size only."""
    slower = SOMETIMES if problem.dtype == "bf16" and (small or problem.seq == LONG) else ()
    return ["hopper", "pipelined", *RIVALS, *slower]


class Contest:
    """The contestants of one run: what each needs to be prepared, and who is missing."""

    def __init__(self, record: Record, machine: str, size: int) -> None:
        self.record, self.place = record, Place.of(machine)
        torch, why = (None, "it is measured on a GPU only") if machine == "cpu" else find_torch()
        self.inputs = Inputs(size, self.place.device, torch)
        self.absent: set[str] = set()
        for name in COLUMNS:
            if name not in RIVALS and (why := contest.elsewhere(name, self.place)):
                self.absent.add(name)
                record.missing(name, why, optional=True)
        if torch is None:
            self.absent |= set(BACKENDS)
            record.missing("torch", why, optional=machine == "cpu")
        self.triton, why = find_triton()
        if self.triton is None:
            self.absent.add(TRITON)
            record.missing(TRITON, why, optional=machine == "cpu")

    def prepared(self, problem: Problem, names: list[str]) -> dict[str, contest.Prepare]:
        """For each contestant the function that prepares it; Triton's tiles compete until one of them is chosen."""
        found: dict[str, contest.Prepare] = {}
        for name in names:
            if name in BACKENDS:
                found[name] = partial(contest.theirs, name, problem, self.inputs)
            elif name == TRITON:
                found |= self._triton(problem)
            else:
                found[name] = partial(contest.ours, name, problem, self.inputs, self.place)
        return found

    def _triton(self, problem: Problem) -> dict[str, contest.Prepare]:
        triton = self.triton
        chosen = [
            one["tiles"]
            for one in self.record.rows
            if one["kernel"] == TRITON
            and (one["dim"], one["causal"]) == (problem.dim, problem.causal)
            and one.get("tiles")
            and (one["seq"] >= LONG) == (problem.seq >= LONG)
        ]
        tried = [t for t in triton.tiles_for(problem.dim, problem.seq) if str(t) in chosen[:1] or not chosen]
        return {
            f"{TRITON} {tiles}": partial(triton.prepare, tiles, problem, self.inputs, self.place) for tiles in tried
        }

    def rows(self, problem: Problem, found: dict[str, timing.Timed], peak: float | None) -> Iterator[dict[str, Any]]:
        """The rows of a problem; of Triton's tiles the quickest, or what is wrong with one of them."""
        tiles = {name: timed for name, timed in found.items() if name.startswith(f"{TRITON} ")}
        for name, timed in found.items():
            if name not in tiles:
                yield contest.row(name, problem, timed, name in RIVALS, peak)
        if tiles:
            ranked = sorted(tiles, key=lambda name: (not tiles[name].wrong, tiles[name].median or float("inf")))
            best = contest.row(TRITON, problem, tiles[ranked[0]], True, peak)
            yield best | ({"tiles": ranked[0].removeprefix(f"{TRITON} ")} if "seconds" in best else {})


def find_triton() -> tuple[Any, str]:
    """The module with Triton's kernel and "", or None and why there is none."""
    if importlib.util.find_spec("triton") is None:
        return None, "not installed: pip install triton"
    try:
        return importlib.import_module("benchmarks.gpu.triton_attention"), ""
    except (ImportError, OSError) as error:
        return None, f"it cannot be imported: {timing.said(error)}"


def run(record: Record, machine: str, small: bool) -> None:
    """Measures into the record what it has not yet."""
    everything = problems(small)
    team = Contest(record, machine, everything[0].tokens * everything[0].width)
    peak = timing.ceilings(record.path).get("bf16 product")
    for text in (team.place.name, timing.METHOD, f"{FORMULA}; {everything[0].sizes}", TRITON_LABEL):
        record.note(text)
        print(text)
    if peak:
        record.note(f"share of the bf16 product: of {peak:.1f} TFLOP/s, measured by the part `facts` on the same GPU")
    warm = 0.0 if small else 0.3  # seconds a contestant: the first problem brings the clocks up
    for at, problem in enumerate(everything):
        names = [
            name
            for name in wanted(problem, small)
            if name not in team.absent and not record.has(kernel=name, **problem.key)
        ]
        if not names:
            continue
        if record.out_of_time(sum(len(wanted(p, small)) for p in everything[at:])):
            break
        try:
            answers = team.inputs.answers(problem)
            found = contest.contest(team.prepared(problem, names), answers, rounds=2 if small else 7, warm=warm)
        except timing.Lost as stopped:
            found = {name: timed for name, timed in stopped.found.items() if timed.wrong or timed.failed}
            record.left = sum(len(wanted(p, small)) for p in everything[at:]) - len(found)
            record.note("the GPU stopped a kernel; the next run goes on behind it")
        for one in team.rows(problem, found, peak):
            record.add(**one)
            print(contest.line(one), flush=True)
        if record.left:
            break
        warm = min(warm, 0.02)


# -- the table ---------------------------------------------------------------------------------------------------------


def table(found: Mapping[str, Any]) -> str:
    """The Markdown table of the part from its JSON: a row a problem, a column a kernel, the best in bold."""
    rows = found["rows"]
    by = by_problem(rows)
    columns = [name for name in COLUMNS if any(name in cells for cells in by.values())]
    product = any("of_product" in r for r in rows)
    head = ["type", "D", "mask", "S", *columns, "x flash", *(["of product"] if product else [])]
    lines = ["TFLOP/s; the best of a row in bold; x flash: pipelined as a multiple of torch's flash back end.", ""]
    lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    order = {"bf16": 0, "f16": 1}
    for dtype, dim, causal, seq in sorted(by, key=lambda k: (order[k[0]], k[1] != 128, k[1], k[2], k[3])):
        cells = by[dtype, dim, causal, seq]
        best = max((r["tflops"] for r in cells.values() if r.get("tflops")), default=0.0)
        shown = [_cell(cells.get(name), best) for name in columns]
        ratio = times_flash(cells)
        shown.append("-" if ratio is None else f"{ratio:.2f}")
        if product:
            share = cells.get("pipelined", {}).get("of_product")
            shown.append("-" if share is None else f"{share:.0%}")
        lines.append(f"| {dtype} | {dim} | {'causal' if causal else 'full'} | {seq} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", *goals(rows), *_remarks(found)]) + "\n"


def _cell(row: Mapping[str, Any] | None, best: float) -> str:
    if row is None or row.get("absent"):
        return "-"
    if row.get("wrong"):
        return "wrong"
    shown = contest.rate(row["tflops"])
    return f"**{shown}**" if row["tflops"] == best else shown


def times_flash(cells: Mapping[str, Any]) -> float | None:
    """How many times as fast as torch's flash back end `pipelined` is; None where one of them has no time."""
    mine, flash = (cells.get(name, {}).get("seconds") for name in ("pipelined", "torch flash"))
    return flash / mine if mine and flash else None


def by_problem(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int, bool, int], dict[str, Any]]:
    """The rows of each problem (type, D, causal, S) by their kernels."""
    by: dict[tuple[str, int, bool, int], dict[str, Any]] = {}
    for one in rows:
        by.setdefault((one["dtype"], one["dim"], one["causal"], one["seq"]), {})[one["kernel"]] = one
    return by


def goals(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Whether the goal is reached, and how many problems reach it."""
    says = []
    for dtype in ("bf16", "f16"):
        found = [
            (ratio, causal, seq)
            for (kind, dim, causal, seq), cells in by_problem(rows).items()
            if kind == dtype and dim == 128 and seq >= LONG and (ratio := times_flash(cells)) is not None
        ]
        if found:
            low, causal, seq = min(found)
            reached = sum(ratio >= 1 for ratio, *_ in found)
            verdict = "reached" if reached == len(found) else "not reached"
            says.append(
                f"- goal, {dtype}: pipelined >= 1.0x torch flash at D = 128, S >= {LONG}: {verdict}, {reached} of "
                f"{len(found)} problems; the lowest is {low:.2f}x ({'causal' if causal else 'full'}, S = {seq})"
            )
    return says or ["- goal: pipelined >= 1.0x torch flash at D = 128, S >= 4096: not measured"]


def _remarks(found: Mapping[str, Any]) -> list[str]:
    """Why cells are empty or wrong, the tiles that Triton's kernel took, and the notes of the run."""
    why: dict[tuple[str, str], list[str]] = {}
    tiles: dict[str, set[str]] = {}
    for r in found["rows"]:
        if r.get("absent"):
            why.setdefault((r["kernel"], r["absent"]), []).append(f"{r['dtype']} D {r['dim']} S {r['seq']}")
        if r.get("tiles"):
            tiles.setdefault(r["tiles"], set()).add(f"D {r['dim']} {'causal' if r['causal'] else 'full'}")
    lines = [
        f"- no {name} ({len(where)} problems, the first {where[0]}): {text}" for (name, text), where in why.items()
    ]
    lines += [f"- wrong: {r['wrong']}" for r in found["rows"] if r.get("wrong")]
    lines += [f"- not here: {one['what']}: {one['why']}" for one in found.get("missing", ())]
    lines += [f"- Triton's tiles {name}: {', '.join(sorted(where))}" for name, where in sorted(tiles.items())]
    return lines + [f"- {note}" for note in found.get("notes", ())]


def main() -> int:
    """Measures, prints the table, and returns the exit status of the part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"), help="cpu: the emulator, small problems")
    record, options = record_for("prefill", __doc__, parser)
    if options.device == "gpu" and (why := device.unavailable()):
        record.missing("GPU", f"{why} (--device cpu shows that it all runs)")
        record.end()
        return UNUSABLE
    run(record, options.device, options.rehearse or options.device == "cpu")
    text = table({"rows": record.rows, "notes": record.notes, "missing": record.absent})
    print("\n" + text)
    says = goals(record.rows)
    return record.end("; ".join([f"{len(record.rows)} rows", *(text.removeprefix("- ") for text in says)]))


if __name__ == "__main__":
    leave(main())

"""The run as plain data: its error, in figures and as a map, what it executed line by line, counters and roofline.

Every number of the counters says where it comes from: "counted" is what the emulator saw happen, "modelled" follows
from a model of the hardware (sectors, wavefronts, pipes), "measured" comes from a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.emulate.runtime.counters import PIPES
from ptxlab.errors import TargetError
from ptxlab.lab import noticed, protocol
from ptxlab.lab.cell import describe_array
from ptxlab.lab.subject import MACHINES, Ran, Request, Way, place
from ptxlab.launch.options import check_names
from ptxlab.launch.run import ALL_CHECKS
from ptxlab.performance.peaks import peaks
from ptxlab.performance.roofline import Roof, counted

MAP_ROWS, MAP_COLUMNS = 256, 256
WORST = 20
MOST = 12
"""Rows of a list before the rest is summed up."""

_SECTORS = {"ld": "loads and cp.async", "st": "stores", "atom": "atomics", "red": "reductions"}
_SAYS = {
    "global requests": "Warp-instructions whose threads access global memory; bulk copies are not counted.",
    "global sectors": "Sectors of 32 bytes that threads touch and bulk copies move. Beside it: the fewest that hold "
    "the bytes.",
    "  of bulk copies": "Sectors that hold the bytes they move.",
    "shared wavefronts": "Wavefronts of shared memory. Beside it: how many there would be without bank conflicts.",
    "bank conflicts": "Wavefronts that bank conflicts added: lanes that need different words of a bank wait for each "
    "other.",
    "wavefronts of wgmma": "Wavefronts of 128 bytes in which wgmma reads its operands, without bank conflicts.",
    "divergent branches": "Branches after which the lanes of a warp did not all go the same way.",
    "masked by guards": "Thread-instructions whose guard predicate did not hold.",
    "time": "The kernel alone, on the GPU.",
}
"""What there is to say of a row, by its name; of others where the row is made."""


def show(ran: Ran | None, request: Request, built: Any) -> protocol.Run:
    """A run for the page; error, ways and map are None where there is no right answer."""
    subject, values = request.subject, request.given
    tiles: Any = subject.tiles(built, values)
    if ran is None:
        return {"note": subject.why_no_run(), "heat": [], "error": None, "map": None, "ways": [], "tiles": tiles}
    launched, counts, judged = ran.run, ran.counts, ran.judged
    return {
        "device": MACHINES.get(launched.device, launched.device),
        "seconds": launched.seconds,
        "thread_instructions": counts.thread_instructions if counts else None,
        "heat": [(line, threads) for line, (_, threads) in sorted(counts.lines.items())] if counts else [],
        "error": _error(judged.measured) if judged else None,
        "ways": [_way(way) for way in (judged.ways if judged else ran.kept or ())],
        "findings": noticed.listed([*launched.findings, *ran.found], launched.grid) + noticed.in_results(ran.arrays),
        "checks": check_names(values.get("checks", "memcheck"), ALL_CHECKS),
        "map": error_map(ran, request),
        "counters": counters(counts, launched),
        "roofline": _roof(ran, values.get("arch", "")),
        "arrays": [(name, describe_array(array)) for name, array in ran.arrays.items()],
        "tiles": tiles,
    }


def _error(e: Any) -> Any:
    return {"ok": e.ok, **{name: _figure(getattr(e, name)) for name in ("max", "mean", "ulp", "tolerance", "lse")}}


def _roof(ran: Ran, arch: str) -> protocol.Roofline | None:
    """{note} where no peaks are known, None where no floating-point operation was counted."""
    if ran.counts is None or not ran.counts.flops:
        return None
    try:
        return roof_part(counted("kernel", peaks(arch), ran.counts, ran.least, ran.run))
    except TargetError as unknown:
        return {"note": str(unknown)}


def roof_part(roof: Roof) -> protocol.Roofline:
    """A roof for the page."""
    limits = roof.peaks
    return {
        "gpu": limits.gpu,
        "source": limits.source,
        "bandwidth": limits.bandwidth,
        "roofs": roof.levels(),
        "own": (roof.some, roof.peak) if roof.busy < limits.sms else None,
        "points": [
            {"origin": origin, "what": what, "x": x, "y": y, "bound": roof.bound(x) if origin == "modelled" else ""}
            for origin, what, x, y in roof.points()
        ],
    }


def _way(way: Way) -> Any:
    shown = {name: None if (x := getattr(way, name)) is None else _figure(x) for name in ("max", "mean", "ulp")}
    return {"label": way.label, "against": way.against, "note": way.note, **shown}


def error_map(ran: Ran, request: Request) -> protocol.ErrorMap | None:
    """One head's errors: `values` (error over tolerance) and `absolute` are float32 bytes, `[rows, cols]`; of a head
    that is larger than the picture each cell holds the largest of `step` = [rows, columns]."""
    if ran.judged is None:
        return None
    b, h = shown_head(request, ran)
    ratio, error = ran.judged.ratio[b, h], ran.judged.error[b, h]
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
        "step": (step[0], step[1]),
        "seq": rows,
        "dim": dim,
        "row": shown_row(request, ran),
        "label": place(b, h, ran.judged.error.shape).rstrip(", "),
        "row_name": ran.judged.rows,
        "size": ran.run and int(getattr(ran.kept[0], "itemsize", 4)),
        "worst": [(r, c, _figure(error[r, c]), _figure(ratio[r, c])) for r, c in worst],
        "values": small.astype(np.float32).tobytes(),
        "absolute": _pool(error, step).astype(np.float32).tobytes(),
    }


def shown_row(request: Request, ran: Ran) -> int:
    """The row of the result to plot: the one that is asked for, or the last."""
    assert ran.judged is not None
    last = int(ran.judged.error.shape[2]) - 1
    return last if request.row < 0 else min(request.row, last)


def _pool(array: Any, step: list[int]) -> Any:
    """The largest value of each `step` rows and columns; NaN, the worst error of all, wins."""
    rows, columns = (np.arange(0, n, s) for n, s in zip(array.shape, step, strict=True))
    return np.maximum.reduceat(np.maximum.reduceat(array, rows, axis=0), columns, axis=1)


def shown_head(request: Request, ran: Ran) -> tuple[int, int]:
    """The (batch, head) pair that is asked for, as far as the result has it."""
    assert ran.judged is not None
    shape = ran.judged.error.shape
    return min(request.head[0], shape[0] - 1), min(request.head[1], shape[1] - 1)


def _figure(x: Any) -> float | str:
    """A number to be read: "NaN" and "∞" as words, since JSON has neither."""
    value = float(x)
    return value if np.isfinite(value) else "NaN" if value != value else "∞"


# -- counters ----------------------------------------------------------------------------------------------------------


def counters(counts: Any, run: Any = None) -> protocol.Counters | None:
    """The counters of a run; None where nothing was counted. Lines are [line, opcode, sectors, ideal, wavefronts, ideal
    wavefronts, line of the source]."""
    if counts is None:
        return None
    opcodes: list[Any] = sorted(([name, *pair] for name, pair in counts.opcodes.items()), key=lambda row: -row[1])
    pipes: list[Any] = sorted(([name, n, PIPES[name]] for name, n in counts.pipes.items()), key=lambda row: -row[1])
    return {
        "instructions": {"warps": counts.warp_instructions, "threads": counts.thread_instructions},
        "opcodes": opcodes[:MOST] + _rest(opcodes[MOST:]),
        "pipes": pipes,
        "memory": memory(counts),
        "work": work(counts, run),
        "lines": costly(counts),
    }


def _rest(rows: list[list[Any]]) -> list[Any]:
    return [[f"{len(rows)} others", sum(r[1] for r in rows), sum(r[2] for r in rows)]] if rows else []


def _row(name: str, value: Any, unit: str, origin: Any, ideal: Any = None, says: str = "") -> protocol.CounterRow:
    says = says or _SAYS[name]
    return {"name": name, "value": value, "unit": unit, "origin": origin, "says": says, "ideal": ideal}


def memory(counts: Any) -> list[protocol.CounterRow]:
    """Sectors of global memory and wavefronts of shared memory, with the least that there could be."""
    m = counts.metrics
    requests = sum(m[f"l1tex__t_requests_pipe_lsu_mem_global_op_{op}.sum"] for op in ("ld", "st", "atom", "red"))
    bulk = counts.memory_sectors - counts.global_sectors
    waves, least = m["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"], m["memory_l1_wavefronts_shared_ideal"]
    fewest = m["memory_l2_theoretical_sectors_global_ideal"] + bulk
    rows = [
        _row("global requests", requests, "warp accesses", "counted"),
        _row("global sectors", counts.memory_sectors, "sectors", "modelled", fewest),
    ]
    rows += [
        _row(f"  of {words.split()[0]}", n, "sectors", "modelled", says=f"Sectors that {words} touch.")
        for op, words in _SECTORS.items()
        if (n := m[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{op}.sum"])
    ]
    if bulk:
        rows.append(_row("  of bulk copies", bulk, "sectors", "modelled"))
    if waves:
        conflicts = m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]
        rows.append(_row("shared wavefronts", waves, "wavefronts", "modelled", least))
        rows.append(_row("bank conflicts", conflicts, "extra wavefronts", "modelled"))
    return rows


def work(counts: Any, run: Any = None) -> list[protocol.CounterRow]:
    """Floating-point operations, bytes, and what a GPU measured."""
    m = counts.metrics
    flop = "Floating-point operations: an fma is two, a matrix product 2*M*N*K."
    rows = [
        _row("FLOP, tensor cores" if kind == "tensor" else f"FLOP, {kind}", n, "FLOP", "counted", says=flop)
        for kind, n in counts.flops.items()
    ]
    for space in ("global", "shared", "local"):
        if n := m[f"smsp__sass_data_bytes_mem_{space}.sum"]:
            says = f"Bytes of {space} memory that threads ask for."
            rows.append(_row(f"bytes, {space}", n, "B", "counted", says=says))
    for what, n in counts.moved.items():
        rows.append(_row(f"bytes {what}", n, "B", "counted", says=f"Bytes {what}, while the threads go on."))
    if n := counts.product_wavefronts:
        rows.append(_row("wavefronts of wgmma", n, "wavefronts", "modelled"))
    rows += issue_slots(counts)
    if branches := m["smsp__sass_branch_targets.sum"]:
        divergent = m["smsp__sass_branch_targets_threads_divergent.sum"]
        of = f"{branches:,}" if branches < 1e5 else f"{branches / 1e6:.3g} M"
        rows.append(_row("divergent branches", divergent, f"of {of}", "counted"))
    rows.append(_row("masked by guards", round(100 * counts.predicated_off, 2), "%", "counted"))
    if run is not None and run.device == "gpu":
        rows.append(_row("time", run.seconds, "s", "measured"))
    return rows


def issue_slots(counts: Any) -> list[protocol.CounterRow]:
    """What each warpgroup of a block issues, where there are several: the price of a role."""
    rows = []
    for number, pipes in counts.issue_slots.items() if len(counts.issue_slots) > 1 else ():
        total = sum(pipes.values())
        shares = ", ".join(f"{pipe} {100 * n / total:.0f} %" for pipe, n in sorted(pipes.items(), key=lambda p: -p[1]))
        says = f"Warp-instructions that warps {4 * number} to {4 * number + 3} of all blocks issue: {shares}."
        rows.append(_row(f"issue slots, warpgroup {number}", total, "slots", "counted", says=says))
    return rows


def costly(counts: Any) -> list[Any]:
    """The lines that waste most: sectors beyond the ideal ones, and bank conflicts."""
    rows = [
        [line, c.opcode, c.sectors, c.ideal_sectors, c.wavefronts, c.ideal_wavefronts, str(counts.spans.get(line, ""))]
        for line, c in counts.by_line.items()
        if c.sectors > c.ideal_sectors or c.conflicts > 0
    ]
    return sorted(rows, key=lambda r: (r[3] - r[2]) + (r[5] - r[4]))[:MOST]

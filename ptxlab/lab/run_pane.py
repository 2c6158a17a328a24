"""The run as plain data: its error, in figures and as a map, what it executed line by line, counters and roofline."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.errors import TargetError
from ptxlab.lab import counters_pane, noticed, protocol
from ptxlab.lab.cell import describe_array
from ptxlab.lab.requests import Request
from ptxlab.lab.subject import MACHINES, Ran, Way, place
from ptxlab.launch.options import check_names
from ptxlab.launch.run import ALL_CHECKS
from ptxlab.performance.peaks import peaks
from ptxlab.performance.roofline import Roof, counted

MAP_ROWS, MAP_COLUMNS = 256, 256
WORST = 20


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
        "counters": counters_pane.show(counts, launched),
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

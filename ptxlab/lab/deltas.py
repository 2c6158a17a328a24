"""What a change of parameters did to the figures: those of the pinned and of the previous setting, to stand beside.

The page shows each figure with what it was before, `168 → 167`, and each counter as a pair of bars.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ptxlab.lab.subject import TITLES


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting whose results are known: the request without what only chooses a view, a name, its parameters as they
    are shown, its figures, and how large its problem is, `Subject.size`."""

    key: Any
    name: str
    shown: Mapping[str, str]
    figures: Mapping[str, Any]
    size: float | None = None


def figures(
    code: Mapping[str, Any], assembly: Mapping[str, Any], run: Mapping[str, Any], counts: Any
) -> dict[str, Any]:
    """{instructions, registers, spill_bytes, shared_bytes, occupancy, executed, sectors, ideal_sectors, conflicts,
    wavefronts, max_error, tolerance, opcodes, pipes, rows}: numbers of a setting, None where there is none; the last
    three are dictionaries of the counters' rows by name."""
    assembled = assembly if assembly.get("state") == "ok" else {}
    error, counters = run.get("error"), run.get("counters")
    rows = {row["name"]: row["value"] for row in (*counters["memory"], *counters["work"])} if counters else {}
    return {
        "instructions": code["instructions"],
        **{name: assembled.get(name) for name in ("registers", "spill_bytes", "shared_bytes")},
        "occupancy": (assembled.get("occupancy") or {}).get("percent"),
        "executed": run.get("thread_instructions"),
        "sectors": rows.get("global sectors"),
        "ideal_sectors": next((r["ideal"] for r in counters["memory"] if r["name"] == "global sectors"), None)
        if counters
        else None,
        "conflicts": rows.get("bank conflicts", 0) if counters else None,
        "wavefronts": rows.get("shared wavefronts", 0) if counters else None,
        "max_error": error["max"] if error else None,
        "tolerance": error["tolerance"] if error else None,
        "opcodes": {name: warps for name, (warps, _) in counts.opcodes.items()} if counts else {},
        "pipes": dict(counts.pipes) if counts else {},
        "rows": rows,
    }


def changes(before: Setting, now: Setting) -> str:
    """The parameters in which two settings differ, as in `KV tile 32 → 16, Sq 64 → 128`."""
    listed = [] if before.name == now.name else [f"{before.name} → {now.name}"]
    listed += [
        f"{TITLES.get(name, name)} {before.shown[name]} → {value}"
        for name, value in now.shown.items()
        if name in before.shown and before.shown[name] != value
    ]
    return ", ".join(listed)


def against(now: Setting, **others: Setting | None) -> dict[str, Any]:
    """{name: {title, figures, work} | None} for each other setting that is not this one; `title` names what differs,
    `work` is how many times as large this one's problem is."""
    return {
        name: {"title": changes(other, now), "figures": other.figures, "work": _ratio(now.size, other.size)}
        if other and other.key != now.key
        else None
        for name, other in others.items()
    }


def _ratio(now: float | None, before: float | None) -> float:
    return now / before if now and before else 1.0

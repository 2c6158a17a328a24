"""The figures of a setting beside those of the one that it is compared with: one list, which the page shows as it is.

Each measure has a name, a unit that its numbers are written in, and which way is better. Counts grow with the problem:
where it is of another size they are judged by what they are for equal work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ptxlab.lab import protocol
from ptxlab.lab.subject import TITLES

LESS, MORE = -1, 1
Data = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """One figure: `key` names it, `label` is its name on the page, `unit` one of `TEXTS`, `better` `LESS`, `MORE` or 0,
    `page` the results that have more about it, `grows` whether it is a count that grows with the problem."""

    key: str
    label: str
    unit: str = ""
    better: int = 0
    page: str = ""
    grows: bool = False


MEASURES = (
    Measure("instructions", "PTX"),
    Measure("registers", "registers", better=LESS),
    Measure("shared_bytes", "shared", "bytes", LESS),
    Measure("occupancy", "occupancy", "share", MORE, "roofline"),
    Measure("executed", "executed", "count", LESS, "counters", grows=True),
    Measure("sectors", "sectors", "count", LESS, "counters", grows=True),
    Measure("conflicts", "bank conflicts", "count", LESS, "counters", grows=True),
    Measure("error", "error ÷ tol.", "number", page="error"),
)
SIZES = {"seq_q", "seq_k", "batch", "heads", "head_dim", "lengths"}
"""Parameters that make the problem larger. A mask alone does not: what it saves is saved."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting that was answered: `key` the request without what only chooses a view, its `version` of the kernel, its
    parameters as they are `shown`, how large its problem is (`Subject.size`), `figures` by the keys of `MEASURES`, None
    where they are not known, and of what was counted `opcodes`, `pipes` and `rows` of the counters by name."""

    key: Any
    version: Any
    shown: Mapping[str, str]
    size: float | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    counted: protocol.Counted | None = None

    @property
    def name(self) -> str:
        """The kernel's."""
        return str(self.key.subject.name)


def figures(code: Data, assembly: Data, run: Data) -> dict[str, Any]:
    """The numbers of a setting by the keys of `MEASURES`, from the parts of its answer; those that are missing are
    empty."""
    assembled = assembly if assembly.get("state") == "ok" else {}
    error, rows = run.get("error") or {}, counter_rows(run)
    counted = bool(run.get("counters"))
    return {
        "instructions": code["instructions"],
        "registers": assembled.get("registers"),
        "shared_bytes": assembled.get("shared_bytes"),
        "occupancy": (assembled.get("occupancy") or {}).get("percent"),
        "executed": run.get("thread_instructions"),
        "sectors": rows.get("global sectors", {}).get("value"),
        "conflicts": rows.get("bank conflicts", {}).get("value", 0) if counted else None,
        "error": _share(error.get("max"), error.get("tolerance")),
    }


def _share(part: Any, whole: Any) -> Any:
    """The error as a share of the tolerance; a word such as "NaN" stays."""
    return part / whole if isinstance(part, int | float) and isinstance(whole, int | float) and whole else part


def counter_rows(run: Data) -> dict[str, Any]:
    """The rows of the counters pane by name."""
    counters = run.get("counters") or {"memory": (), "work": ()}
    return {row["name"]: row for row in (*counters["memory"], *counters["work"])}


def _notes(code: Data, assembly: Data, run: Data) -> dict[str, tuple[str, str, str]]:
    """By key: the words below a figure, what there is to say of it, and its mood, "good", "bad", "warn" or ""."""
    state, spilled = assembly.get("state"), assembly.get("spill_bytes")
    none = {"missing": "no assembler here", "error": "✗ refused"}.get(str(state), "")
    mood, says, ok = "bad" if state == "error" else "", assembly.get("note", ""), state == "ok"
    resident = assembly.get("occupancy") or {}
    rows, error, seconds = counter_rows(run), run.get("error"), run.get("seconds")
    sectors, waves, conflicts = (rows.get(n, {}) for n in ("global sectors", "shared wavefronts", "bank conflicts"))
    on_gpu, time = run.get("device") == "GPU", duration(seconds or 0.0)
    took = f"; the emulator took {time}, which says nothing about a GPU" if seconds else ""
    excess = f"×{short(sectors['value'] / sectors['ideal'])} of ideal" if sectors.get("ideal") else "global memory"
    shared = f"in {count(waves['value'])} wavefronts" if waves else "no shared memory" if run.get("counters") else ""
    found = {
        "instructions": ("instructions", f"built in {duration(code['seconds'])}", ""),
        "registers": (none, says, mood),
        "shared_bytes": ("a block" if ok else none, says, mood),
        "occupancy": (f"by {resident['limiter']}" if resident else none, resident.get("text", says), mood),
        "executed": (
            f"GPU: {time}" if on_gpu else "thread-instr.",
            f"thread-instructions: one instruction for one active thread{took if not on_gpu else ''}",
            "",
        ),
        "sectors": (excess, sectors.get("says", ""), ""),
        "conflicts": (shared, conflicts.get("says", ""), ""),
    }
    if ok:
        words = (f"⚠ {spilled} B spilled", "warn") if spilled else ("no spills", "")
        found["registers"] = (words[0], f"a thread, on {assembly['arch']}", words[1])
    if error:
        says = (
            f"max error {short(error['max'])}, mean {short(error['mean'], 2)}, {short(error['ulp'], 2)} ULP, against "
            f"numpy float64 on the same inputs; tolerance {short(error['tolerance'])}; log-sum-exp off by "
            f"{short(error['lse'])}"
        )
        found["error"] = ("✓ pass", says, "good") if error["ok"] else ("✗ FAIL", says, "bad")
    return found


def part(now: Setting, before: Setting | None, code: Data, assembly: Data, run: Data) -> protocol.Measures:
    """All figures for the page. `title` names what differs from `before`, "" without one, `moved` lists it; `work` is
    how many times as large the problem is; `counted` what was counted before. Of each measure `now` is None where
    nothing is known yet, `before` None where it is the same."""
    before = None if before is None or before.key == now.key else before
    moved = [] if before is None else changes(before, now)
    title = said(moved)
    grown = before and SIZES.intersection(n for n, value in now.shown.items() if before.shown.get(n, value) != value)
    work = now.size / before.size if before and now.size and before.size and (grown or before.name != now.name) else 1.0
    notes = _notes(code, assembly, run)
    rows = [_shown(m, now, before, work, title, *notes.get(m.key, ("", "", ""))) for m in MEASURES]
    of = {row["key"]: row for row in rows}
    if not of["occupancy"]["before"] and of["registers"]["mood"] != "warn":
        of["registers"]["verdict"] = ""  # registers that nothing else is wanted for
    if run.get("findings") or of["error"]["mood"] == "bad":
        for row in rows:
            row["verdict"] = "" if row["verdict"] == "better" else row["verdict"]
    counted = before.counted if before else None
    return {"title": title, "moved": moved, "work": work, "list": rows, "counted": counted}


def _shown(
    m: Measure, now: Setting, before: Setting | None, work: float, title: str, note: str, says: str, mood: str
) -> protocol.Measure:
    value: Any = now.figures.get(m.key)
    was: Any = before.figures.get(m.key) if before else None
    text = None if value is None else TEXTS[m.unit](value)
    moved = text is not None and was is not None and TEXTS[m.unit](was) != text
    lines, below = [says], note
    verdict: Literal["better", "worse", ""] = ""
    if moved:
        numbers = not isinstance(value, str) and not isinstance(was, str)
        times = work if m.grows and numbers and was > 0 else 1.0
        lines = [f"{m.label} {TEXTS[m.unit](was)} → {text}: {title}", *lines]
        if numbers and m.better and value != was * times:
            verdict = "better" if (value > was * times) == (m.better == MORE) else "worse"
        if times != 1:
            share = short(value / (was * times))
            below = f"×{share} per work"
            lines[1:1] = [f"the problem is {short(times)} times as large: ×{share} for equal work", note]
        elif numbers and not mood:
            below = f"{'▲' if value > was else '▼'} {_step(m, value, was)}"
            lines.append(note)
    elif before and text is not None and was is not None and not note.startswith(("✓", "✗", "⚠")):
        lines.append(note)
        below = "same"
    if m.page:
        worst = m.key == "conflicts" and value
        lines.append("press: the line that has most of them, and why" if worst else "press: more about it below")
    return {
        "key": m.key,
        "label": m.label,
        "now": text,
        "before": TEXTS[m.unit](was) if moved else None,
        "verdict": verdict,
        "note": below,
        "says": "\n".join(filter(None, lines)),
        "mood": mood,
        "page": m.page,
    }


def _step(m: Measure, value: float, was: float) -> str:
    """How far a figure has moved: a share of a count, else the difference."""
    if m.unit == "count" and was:
        share = abs(value / was - 1)
        return f"{short(100 * share, 2)} %" if share < 10 else f"×{short(value / was)}"
    return TEXTS[m.unit](abs(value - was))


def changes(before: Setting, now: Setting) -> list[tuple[str, str, str]]:
    """[name, before, now] of the parameters in which two settings differ; the kernel comes first."""
    listed = [] if before.name == now.name else [("kernel", before.name, now.name)]
    return listed + [
        (TITLES.get(name, name), before.shown[name], value)
        for name, value in now.shown.items()
        if name in before.shown and before.shown[name] != value and not (_left(before, name) and _left(now, name))
    ]


def _left(setting: Setting, name: str) -> bool:
    """Whether a parameter is left to the kernel: what that makes of it follows from the others."""
    return setting.key.given.get(name, 0) is None


def said(moved: list[tuple[str, str, str]]) -> str:
    """The same in words, as in `mma → swizzle, Sq 64 → 128`."""
    return ", ".join(f"{'' if name == 'kernel' else f'{name} '}{was} → {now}" for name, was, now in moved)


# -- numbers as people write them, as static/dom.js does ---------------------------------------------------------------


def count(n: float) -> str:
    """1234567 -> "1.23 M"."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{float(f'{n / size:.3g}'):g} {unit}"
    return str(round(n))


def short(x: float | str, digits: int = 3) -> str:
    """A number with few digits: 0, 0.125, 3.1e-7; words such as "NaN" stay."""
    if isinstance(x, str) or x == 0:
        return str(x) if isinstance(x, str) else "0"
    if not 1e-3 <= abs(x) < 1e5:
        mantissa, exponent = f"{x:.{max(0, digits - 2)}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{float(f'{x:.{digits}g}'):.6g}"


def duration(seconds: float) -> str:
    """Seconds -> "12.3 ms"."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.{0 if seconds >= 0.1 else 1}f} ms"
    return f"{seconds * 1e6:.0f} µs"


TEXTS: dict[str, Callable[[Any], str]] = {
    "": str,
    "count": count,
    "number": short,
    "bytes": lambda n: f"{short(n / 1024)} KiB" if n >= 1024 else f"{n} B",
    "share": lambda x: f"{short(x)} %",
}
"""How the numbers of each unit are written."""

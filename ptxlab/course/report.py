"""The report on a class: a CSV file for the register and an HTML page that says why."""

from __future__ import annotations

import csv
import html
import io
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from ptxlab.course.feedback import catalogue, find
from ptxlab.course.marks import Graded, Mark, replace
from ptxlab.course.values import counted

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #1f2328; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 6px; text-align: right; }
@media print { details { break-inside: avoid; } body { margin: 0; font-size: 11px; } th, td { padding: 1px 4px; } }
th { position: sticky; top: 0; background: #fff; border-bottom: 2px solid #d0d7de; }
td:first-child, th:first-child { text-align: left; }
tr:nth-child(even) td { background: #f6f8fa; }
td.full, .ok { color: #1a7f37; }
td.none, .not { color: #b35900; }
details { border-left: 3px solid #d0d7de; margin: 6px 0; padding: 2px 12px; }
summary { cursor: pointer; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 4px 0; font-size: 13px; }
.bar { display: inline-block; height: .8em; background: #0969da; vertical-align: baseline; }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3; }
  th { background: #0d1117; }
  tr:nth-child(even) td { background: #161b22; }
  td.full, .ok { color: #3fb950; }
  td.none, .not { color: #e3b341; }
  a { color: #4493f8; }
}
"""
_SCRIPT = """<script>
const open = () => { const at = document.getElementById(location.hash.slice(1)); if (at) at.open = true; };
addEventListener("hashchange", open); open();
</script>"""
"""Opens the feedback that a link in the table leads to."""
COLUMNS = 12
"""Exercises that have a column each in the table of students; of more than these, each notebook has one."""


def write_csv(graded: Sequence[Graded], path: Path) -> None:
    """One line a student: points of each exercise, total, maximum, share, and a note. Nothing depends on the clock: the
    same class, graded with the same seed anywhere, gives the same bytes."""
    names = list(graded[0].marks) if graded else []
    most = sum(find(name).points for name in names)
    text = io.StringIO(newline="")
    out = csv.writer(text)
    out.writerow(["student", *names, "total", "maximum", "percent", "note"])
    for g in graded:
        points = [f"{g.points(name):.4g}" for name in names]
        share = f"{100 * g.total / most:.1f}" if most else "0.0"
        out.writerow([_plain(g.student), *points, f"{g.total:.4g}", most, share, _plain(g.note)])
    replace(path, text.getvalue())


def _plain(text: str) -> str:
    """Text that a spreadsheet takes for text: none that begins as a formula does."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_html(graded: Sequence[Graded], path: Path, *, title: str = "Marks", seed: int | None = None) -> None:
    """A page with a table of all, what each exercise's marks are like, and each student's feedback."""
    names = list(graded[0].marks) if graded else []
    most = sum(find(name).points for name in names)
    out = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1>",
        f"<p>{counted(len(graded), 'submission')}, {counted(len(names), 'exercise')}, {counted(most, 'point')}"
        + (f", hidden cases from seed {seed}" if seed is not None else "") + ".</p>",
        _isolation(graded), "<h2>Exercises</h2>", _exercises(graded, names), "<h2>Students</h2>",
        _table(graded, names, most), "<h2>Feedback</h2>",
    ]  # fmt: skip
    out += [_student(g, most) for g in graded]
    replace(path, "\n".join([*out, _SCRIPT, "</body></html>"]))


def _isolation(graded: Sequence[Graded]) -> str:
    seen = Counter("; ".join(g.in_force) for g in graded if g.in_force)
    words = [html.escape(says) for says, _ in seen.most_common()]
    return f"<p>Each answer ran in a process of its own ({' | '.join(words) or 'none was started'}).</p>"


def _exercises(graded: Sequence[Graded], names: Sequence[str]) -> str:
    rows = []
    for name in names:
        scores = [g.marks[name].score for g in graded]
        mean = sum(scores) / len(scores)
        full = sum(g.marks[name].ok for g in graded)
        title = html.escape(catalogue()[name].title)
        bar = f"<span class='bar' style='width:{round(100 * mean)}px'></span>"
        rows.append(
            f"<tr><td>{name} {title}</td><td>{full}</td><td>{100 * mean:.0f} %</td>"
            f"<td style='text-align:left'>{bar}</td></tr>"
        )
    return (
        "<table><thead><tr><th>exercise</th><th>full marks</th><th>mean</th><th></th></tr></thead><tbody>"
        + "".join(rows)
        + "</tbody></table>"
    )


def _columns(names: Sequence[str]) -> dict[str, list[str]]:
    """Heading -> its exercises: one each where a page has room for them, or else those of a notebook."""
    if len(names) <= COLUMNS:
        return {name: [name] for name in names}
    return {number: list(group) for number, group in groupby(names, lambda name: name[:2])}


def _table(graded: Sequence[Graded], names: Sequence[str], most: int) -> str:
    columns = _columns(names)
    head = "".join(f"<th>{heading}</th>" for heading in columns)
    rows = []
    for g in graded:
        cells = "".join(_cell(g, group) for group in columns.values())
        rows.append(
            f"<tr><td><a href='#{html.escape(_anchor(g), True)}'>{html.escape(g.student)}</a></td>{cells}"
            f"<td><b>{g.total:.4g}</b></td><td>{g.seconds:.1f}</td></tr>"
        )
    return (
        f"<table><thead><tr><th>student</th>{head}<th>of {most}</th><th>seconds</th></tr></thead><tbody>"
        + "".join(rows)
        + "</tbody></table>"
    )


def _cell(g: Graded, names: Sequence[str]) -> str:
    points = sum(map(g.points, names))
    kind = "full" if all(g.marks[name].ok for name in names) else "none" if points == 0 else ""
    return f"<td class='{kind}'>{points:.3g}</td>"


def _anchor(g: Graded) -> str:
    return "s-" + g.student.encode("utf-8", "backslashreplace").hex()


def _student(g: Graded, most: int) -> str:
    note = f"<p class='not'>{html.escape(g.note)}</p>" if g.note else ""
    marks = "".join(_mark(name, mark, g.points(name)) for name, mark in g.marks.items())
    return (
        f"<details id='{html.escape(_anchor(g), True)}'><summary>{html.escape(g.student)}: {g.total:.4g} of {most}"
        f"</summary>{note}{marks}</details>"
    )


def _mark(name: str, mark: Mark, points: float) -> str:
    says = "".join(f"<pre>{html.escape(s)}</pre>" for s in mark.says)
    right = sum(bool(ok) for _, ok in mark.parts)
    parts = f", {right} of {len(mark.parts)} parts right" if mark.parts and not mark.ok else ""
    printed = f"<p>It printed:</p><pre>{html.escape(mark.output[:400])}</pre>" if mark.output.strip() else ""
    kind = "ok" if mark.ok else "not"
    return (
        f"<p><b class='{kind}'>{name}: {points:.3g} of {find(name).points}</b>{parts}, {mark.seconds:.1f} s</p>"
        f"{says}{printed}"
    )

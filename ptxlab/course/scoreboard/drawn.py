"""How the scoreboard looks: HTML and SVG with the colours of ptxlab's views, and the card."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from ptxlab.course.scoreboard.rungs import Costs
from ptxlab.course.values import counted

STYLE = """<style>.pl-own { border: 1px solid var(--pl-edge); border-radius: 8px; overflow: hidden; max-width: 960px; }
.pl-own > div, .pl-own svg { padding: 6px 12px; } .pl-own svg { max-width: 440px; } .pl-own b b { font-size: 16px; }
.pl-own .pl-star { color: var(--pl-num); } .pl-own > p { margin: 6px 14px; max-width: 88ch; white-space: pre-wrap; }
.pl-own > .pl-cells { display: grid; grid-template-columns: repeat(auto-fit, minmax(118px, 1fr)); gap: 6px; }
.pl-cells > div { padding: 5px 8px; border-top: 3px solid var(--pl-edge); }
.pl-cells > .pl-won { border-color: var(--pl-accent); } .pl-own.pl-no { border-left: 4px solid var(--pl-warn); }
.pl-cells > .pl-next { background: var(--pl-pick); border-top: 3px dashed var(--pl-accent); }
.pl-cells > .pl-weak { background: var(--pl-chg); border-color: var(--pl-warn); }</style>"""
CARD = {"bg": "#11161c", "fg": "#eef1f4", "dim": "#aab4bf", "accent": "#6cb6ff", "edge": "#39414a", "pick": "#1b3148",
        "num": "#f0c674", "good": "#6fdd8b", "opcode": "#7cbcff"}  # fmt: skip
VIEW = {name: f"var(--pl-{name})" for name in CARD}
SANS, MONO = "system-ui, Segoe UI, Roboto, DejaVu Sans, sans-serif", "ui-monospace, Menlo, DejaVu Sans Mono, monospace"


class Series(NamedTuple):
    """Costs from the start on: one's own, None where no kernel was entered, and ours."""

    own: tuple[Costs | None, ...]
    ours: tuple[Costs, ...]
    names: tuple[str, ...]


Figure = tuple[str, str, str, int, str]
"""One thing that has stars: its name, its value, what it was before, its stars, and what all of them need."""


def stars(count: int, of: int = 3) -> str:
    """Signs, of which `count` are full."""
    return "★" * count + "☆" * (of - count)


def _el(tag: str, words: str = "", **given: Any) -> str:
    """An element; attributes with _ for -, and `look` for class."""
    more = "".join(
        f' {"class" if name == "look" else name.replace("_", "-")}="{x:.1f}"' if isinstance(x, float) else
        f' {"class" if name == "look" else name.replace("_", "-")}="{escape(str(x))}"' for name, x in given.items()
    )  # fmt: skip
    return f"<{tag}{more}>{words}</{tag}>"


def _starred(count: int, of: int = 3) -> str:
    return _el("span", stars(count, of), look="pl-star", aria_label=f"{count} of {counted(of, 'star')}")


def box(head: str, *parts: str, says: Sequence[str], look: str = "") -> str:
    """A frame with a heading, parts, and sentences below them."""
    words = "".join(_el("p", escape(s)) for s in says)
    return STYLE + _el("div", _el("div", f"<b><b>{head}</b></b>") + "".join(parts) + words, look=f"pl-own {look}")


def entry(head: str, won: int, figures: Sequence[Figure], weak: int | None, says: Sequence[str], most: int) -> str:
    """A kernel that was entered, and what each of its figures has of the `most` stars; `weak` is the weakest."""
    cells = ""
    for i, (name, now, was, got, target) in enumerate(figures):
        what = f"{name}{' <b>weakest</b>' * (i == weak)}<br><b><b>{now}</b></b> <small>{was}</small><br>"
        what += f"{_starred(got, most)} <small>{target}</small>"
        cells += _el("div", what, look="pl-weak" * (i == weak))
    return box(f"{escape(head)} {_starred(won)}", _el("div", cells, look="pl-cells"), says=says)


def board(
    head: str, series: Series, at: int | None, rail: Sequence[tuple[str, Any, str, bool]], says: Sequence[str]
) -> str:
    """Two charts, a tile for each rung of (name, stars, what is known, whether it is next), and what is next."""
    charts, cells = "", ""
    for metric, name in enumerate(("warp-instructions", "sectors of memory")):
        title = _el("text", name, x=6, y=13, font_size=13, font_weight=650, fill=VIEW["fg"])
        drawing = title + _chart(series, metric, at, (34, 40, 370, 100), VIEW, 11.5)
        charts += _el("svg", drawing, viewBox="0 0 440 180", role="img", aria_label=f"{name}, yours and the library's")
    for name, won, what, now in rail:
        tile = f"<b>{escape(name)}</b><br>{_starred(won or 0)}<br><small>{escape(what)}</small>"
        cells += _el("div", tile, look="pl-next" if now else "pl-won" if won else "")
    key = "<p><small>● yours &nbsp; □ the library's kernel of that rung &nbsp; log scale, lower is better</small></p>"
    return box(f"Your attention kernel, {head}", charts, key, _el("div", cells, look="pl-cells"), says=says)


def _chart(series: Series, metric: int, at: Any, box: tuple[int, ...], ink: dict[str, str], size: float) -> str:
    """Both lines of a metric on a log scale, in a box (left, top, width, height); the names of the rungs below it."""
    left, top, width, height = box
    own = [(i, costs) for i, costs in enumerate(series.own) if costs is not None]
    logs = [math.log(costs[metric]) for costs in (*series.ours, *(costs for _, costs in own))]

    def place(i: int, costs: Costs) -> tuple[float, float]:
        share = (max(logs) - math.log(costs[metric])) / (max(logs) - min(logs))
        return left + width * i / (len(series.names) - 1), top + height * share

    def line(of: Sequence[tuple[int, Costs]], **look: Any) -> str:
        return _el("polyline", fill="none", points=" ".join("{:.0f},{:.0f}".format(*place(*one)) for one in of), **look)

    def label(one: tuple[int, Costs], fill: str, weight: int, dy: float = -0.8) -> str:
        look = {"font_size": size, "font_weight": weight, "text_anchor": "middle", "fill": ink[fill]}
        x, y = place(*one)
        return _el("text", f"{one[1][metric]:,}", x=x, y=y + size * dy, **look)

    ours = list(enumerate(series.ours))
    out = line(ours, stroke=ink["dim"], stroke_dasharray="4 3")
    if at is not None:
        out = _el("rect", x=place(*ours[at])[0] - 24, y=top - 20, width=48, height=height + 56, fill=ink["pick"]) + out
    for one in ours:
        x, y = place(*one)
        out += _el("rect", x=x - 4, y=y - 4, width=8, height=8, fill=ink["bg"], stroke=ink["dim"])
    out += line(own, stroke=ink["accent"], stroke_width=size / 4)
    for before, one in zip([own[0], *own], own, strict=False):
        x, y = place(*one)
        below = one[1][metric] < before[1][metric]  # the line comes from above
        out += _el("circle", cx=x, cy=y, r=size / 2.3, fill=ink["accent"])
        out += label(one, "accent", 650, 1.7 if below else -0.8)
    for i in {at, len(ours) - 1} - {None, *(i for i, _ in own)}:
        out += label(ours[i], "dim", 400)
    for i, name in enumerate(series.names):
        look = {"fill": ink["fg"], "font_weight": 700} if i == at else {"fill": ink["dim"]}
        x, y = place(i, series.ours[i])[0], top + height + 2.4 * size
        out += _el("text", name.partition(" ")[0], x=x, y=y, font_size=size * 0.95, text_anchor="middle", **look)
    return out


def card(series: Series, at: int, won: int, ptx: str) -> str:
    """The card of a rung: the metric with the largest ratio to the start, three lines of the PTX, the error."""
    start, costs, ink = series.ours[0], series.own[at] or series.ours[at], CARD
    metric = 0 if start[0] / costs[0] > start[1] / costs[1] else 1
    ratio, unit = f"{start[metric] / costs[metric]:.1f}×", ("warp-instructions", "sectors")[metric]
    what = ("fewer instructions", "less memory traffic")[metric]
    error = f"✓ right to {costs.error:.1e}, no race, nothing out of bounds"
    words: list[tuple[int, int, str, int, str, int]] = [
        (64, 86, "My attention kernel, in PTX", 28, "fg", 650),
        (64, 120, "written, run and checked without a GPU", 20, "dim", 400), (60, 262, ratio, 120, "fg", 700),
        (64, 304, f"{what} than where I began", 26, "fg", 600),
        (64, 340, f"{start[metric]:,} → {costs[metric]:,} {unit}", 21, "dim", 400),
        (620, 118, f"{unit} at each rung, log scale", 18, "dim", 400), (64, 574, f"Rung {at} of 7", 21, "fg", 400),
        (190, 574, stars(won), 21, "num", 400), (280, 574, error, 21, "good", 400),
        (855, 574, "ptxlab, a course in PTX", 21, "fg", 650),
    ]  # fmt: skip
    drawing = _el("rect", width=1200, height=630, fill=ink["bg"]) + _el(
        "rect", width=1200, height=8, fill=ink["accent"]
    )
    drawing += _el("rect", x=64, y=380, width=510, height=112, rx=8, fill="#1a2129", stroke=ink["edge"])
    for x, y, text, size, colour, weight in words:
        drawing += _el("text", escape(text), x=x, y=y, font_size=size, fill=ink[colour], font_weight=weight)
    for i, line in enumerate(_three(ptx)):
        opcode, _, rest = line.partition(" ")
        opcode = f'<tspan fill="{ink["opcode"]}">{escape(opcode)}</tspan> {escape(rest.strip())}'[:120]
        drawing += _el("text", opcode, x=80, y=414 + 30 * i, font_size=15, fill=ink["fg"], font_family=MONO)
    drawing += _chart(series, metric, at, (636, 190, 490, 240), ink, 15)
    drawing += _el("line", x1=64, x2=1136, y1=532, y2=532, stroke=ink["edge"])
    look = {
        "xmlns": "http://www.w3.org/2000/svg",
        "width": 1200,
        "height": 630,
        "viewBox": "0 0 1200 630",
        "role": "img",
    }
    label = f"My attention kernel in PTX: {ratio} {what}, rung {at} of 7"
    return _el("svg", drawing, **look, font_family=SANS, aria_label=label, style="max-width:100%;height:auto")


def _three(ptx: str) -> list[str]:
    """Three lines of the PTX in their order, of the kinds that say most of a kernel."""
    lines = [line.split("//")[0].strip() for line in ptx.splitlines()]
    kinds = ("cp.async", "ldmatrix", "mma", "wmma.mma", "shfl", "ex2", "max", "fma", "ld.shared")
    found = [next((i for i, line in enumerate(lines) if line.startswith(kind)), None) for kind in kinds]
    return [lines[i] if len(lines[i]) < 54 else f"{lines[i][:52]} …" for i in sorted([i for i in found if i][:3])]

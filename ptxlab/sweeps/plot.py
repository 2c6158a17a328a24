"""A sweep as a figure: lines over one parameter, a heat map over two, or a line for each point through many axes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxlab.errors import LaunchError
from ptxlab.figures import COLOURS, MARKS, new_figure
from ptxlab.options import complete
from ptxlab.sweeps.measure import COLUMNS, MEASURED

Row = dict[str, Any]


@complete("pl.plot_sweep(pl.sweep('tiled2d', {'tile_kv': [16, 32]}, shapes=[64]))")
def plot_sweep(
    sweep: Any,
    value: str = "warp_instructions",
    x: str | None = None,
    y: str | None = None,
    *,
    axes: Sequence[str] = (),
    figure: Any = None,
) -> Any:
    """Draws what `pl.sweep` measured. Points that were not measured or failed are left out.

    Parameters
    ----------
    sweep
        Of `pl.sweep` or `pl.open_sweep`.
    value
        A measured column, such as "sectors", "registers", "error" or "gpu_us".
    x
        A line for each combination of what else differs, kernels by colour; by default the parameter with most values.
    y
        With x: a heat map, a picture for each such combination.
    axes
        Parallel coordinates of these columns, coloured by value.
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.

    Raises
    ------
    LaunchError
        For columns that there are not.
    """
    if not hasattr(sweep, "rows"):
        raise LaunchError(f"sweep: expected a result of pl.sweep, got {type(sweep).__name__}")
    rows = [row for row in sweep.rows() if row.get("status") in ("ok", "finding", "wrong")]
    names = {name for row in rows for name in row}
    for what, name in (("value", value), ("x", x), ("y", y), *(("axes", name) for name in axes)):
        if name is not None and name not in names:
            raise LaunchError(f"{what}: the sweep has no column {name!r}; it has {', '.join(sorted(names))}")
    rows = [row for row in rows if isinstance(row.get(value), int | float) and math.isfinite(row[value])]
    if not rows:
        raise LaunchError(f"value: no point of this sweep has a {value!r}")
    differing = _differing(rows)
    if axes:
        figure = new_figure(figure, (1.2 + 1.5 * len(axes), 4.2))
        _parallel(figure, rows, value, axes)
        return figure
    if x is None:
        x = max(differing, key=lambda name: len({row.get(name) for row in rows}), default="seq")
    others = [name for name in differing if name not in (x, y)]
    if y is None:
        figure = new_figure(figure, (8.4, 4.4))
        _lines(figure, rows, value, x, others)
    else:
        figure = _heat(figure, rows, value, x, y, others)
    return figure


def _differing(rows: Sequence[Row]) -> list[str]:
    """The parameters and sizes that tell the rows apart, in the table's order; what follows from others is left out."""
    found: list[str] = []
    apart = 1
    for name in dict.fromkeys(name for row in rows for name in row if name not in MEASURED):
        groups = len({tuple(row.get(each) for each in (*found, name)) for row in rows})
        if groups > apart:
            found.append(name)
            apart = groups
    return found


def _label(row: Row, names: Sequence[str]) -> str:
    """What tells a group apart: the kernel, and whatever else differs."""
    shown = [
        str(row[name]) if name == "kernel" else f"{name} {row[name]}" for name in names if row.get(name) is not None
    ]
    return ", ".join(shown) or str(row["kernel"])


def _groups(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[_label(row, names)].append(row)
    return dict(found)


def _lines(figure: Any, rows: Sequence[Row], value: str, x: str, others: Sequence[str]) -> None:
    axis = figure.add_subplot()
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    within: dict[str, int] = defaultdict(int)
    for label, group in _groups(rows, others).items():
        kernel = group[0]["kernel"]
        points = sorted((row[x], row[value]) for row in group if row.get(x) is not None)
        if points:
            style = {
                "color": COLOURS[kernels.index(kernel) % len(COLOURS)],
                "marker": MARKS[within[kernel] % len(MARKS)],
            }
            axis.plot(*zip(*points, strict=True), label=label, linewidth=1.4, markersize=5, **style)
            within[kernel] += 1
    numbers = sorted({row[x] for row in rows if row.get(x) is not None})
    if all(isinstance(n, int | float) and not isinstance(n, bool) and n > 0 for n in numbers):
        if numbers[-1] >= 8 * numbers[0]:
            axis.set_xscale("log", base=2)
        axis.set_xticks(numbers if len(numbers) <= 8 else numbers[:: -(-len(numbers) // 8)])
        axis.xaxis.set_major_formatter("{x:g}")
        axis.minorticks_off()
    values = [row[value] for row in rows]
    if min(values) > 0 and max(values) >= 20 * min(values):
        axis.set_yscale("log")
    axis.set_xlabel(x)
    axis.set_ylabel(value)
    axis.set_title(_says(value), loc="left", fontsize="small")
    axis.grid(alpha=0.25)
    axis.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _heat(figure: Any, rows: Sequence[Row], value: str, x: str, y: str, others: Sequence[str]) -> Any:
    groups = _groups([row for row in rows if row.get(x) is not None and row.get(y) is not None], others)
    if not groups:
        raise LaunchError(f"x, y: no point has both {x!r} and {y!r}")
    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    every = [row[value] for group in groups.values() for row in group]
    low, high = min(every), max(every)
    figure = new_figure(figure, (1.5 + 3.4 * columns, 0.8 + 2.6 * lines))
    image = None
    for n, (label, group) in enumerate(groups.items()):
        axis = figure.add_subplot(lines, columns, n + 1)
        across, down = (sorted({row[name] for row in group}) for name in (x, y))
        cells = np.full((len(down), len(across)), np.nan)
        for row in group:
            cells[down.index(row[y]), across.index(row[x])] = row[value]
        image = axis.imshow(cells, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
        for (i, j), cell in np.ndenumerate(cells):
            if np.isfinite(cell):
                bright = high > low and (cell - low) / (high - low) > 0.6
                axis.text(
                    j, i, _short(cell), ha="center", va="center", fontsize=8, color="black" if bright else "white"
                )
        axis.set_xticks(range(len(across)), [str(a) for a in across])
        axis.set_yticks(range(len(down)), [str(d) for d in down])
        axis.set_title(label, fontsize="small", loc="left")
        axis.set_xlabel(x)
        axis.set_ylabel(y)
    figure.colorbar(image, ax=figure.axes, label=value)
    return figure


def _parallel(figure: Any, rows: Sequence[Row], value: str, axes: Sequence[str]) -> None:
    import matplotlib as mpl

    axis = figure.add_subplot()
    names = [*axes, value]
    values = [row[value] for row in rows]
    norm = mpl.colors.Normalize(min(values), max(values) if max(values) > min(values) else min(values) + 1)
    colours = mpl.colormaps["viridis"]
    heights = [_heights([row.get(name) for row in rows]) for name in names]
    for n, row in enumerate(rows):
        axis.plot(range(len(names)), [height[0][n] for height in heights], color=colours(norm(row[value])), alpha=0.6)
    for n, (_, ticks) in enumerate(heights):
        axis.axvline(n, color="gray", linewidth=0.8)
        for text, at in ticks:
            axis.annotate(text, (n, at), xytext=(4, 0), textcoords="offset points", fontsize=8, va="center")
    axis.set_xticks(range(len(names)), names)
    axis.set_yticks([])
    axis.set_xlim(-0.1, len(names) - 0.5)
    axis.spines[:].set_visible(False)
    figure.colorbar(mpl.cm.ScalarMappable(norm, colours), ax=axis, label=value)


def _heights(values: Sequence[Any]) -> tuple[list[float], list[tuple[str, float]]]:
    """Where the values stand on an axis from 0 to 1, and its labels: numbers by size, others in their order."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == len(values) and len(set(numbers)) > 8:
        low, high = min(numbers), max(numbers)
        span = high - low or 1
        ticks = [(_short(low + span * k / 4), k / 4) for k in range(5)]
        return [(v - low) / span for v in numbers], ticks
    plain = all(isinstance(v, int | float) for v in values)
    known = sorted(set(values)) if plain else sorted(set(values), key=str)
    places = {v: (k / (len(known) - 1) if len(known) > 1 else 0.5) for k, v in enumerate(known)}
    return [places[v] for v in values], [("-" if v is None else str(v), at) for v, at in places.items()]


def _short(number: float) -> str:
    """A number in few characters: 12345 as 12.3k."""
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= limit:
            return f"{number / (1e3 if suffix == 'k' else limit):.3g}{suffix}"
    return f"{number:.3g}" if number != int(number) else f"{int(number)}"


def _says(value: str) -> str:
    return COLUMNS[value][1] if value in COLUMNS else value

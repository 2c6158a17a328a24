"""Figures to keep, drawn with matplotlib: the online-softmax state and the error of a result, kernels side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import kernels
from ptxlab.errors import LaunchError
from ptxlab.figures import COLOURS, ink_colour, new_figure
from ptxlab.lab import merge_plot
from ptxlab.options import complete

DECADES = 4
"""The colours of an error cover 1e-4 of the tolerance up to the tolerance; beyond it stands a cross."""
SERIES = tuple(zip(("m", "l", "rescale"), ("running maximum m", "running sum l", "rescale"), COLOURS, strict=False))
"""The numbers of a state, their names and colours."""
FLAT = 1e-5
"""A series that varies by less than this share of its size is a constant with rounding errors."""


@complete("pl.plot_state(pl.attention(q, k, v, state=True))")
def plot_state(result: Any, row: int = 0, *, figure: Any = None) -> Any:
    """The online-softmax state that a kernel stored, with numpy float64 drawn over it.

    For attention, and for the decode kernel with one warp, m, l and rescale against the KV tile or the key. For the
    other decode kernels the states that the warps or splits held before the merge, and what each gave to the row.

    Parameters
    ----------
    result
        Of `pl.attention(..., state=True)` or `pl.decode(..., state=True)`.
    row
        Which of `result.rows`.
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.
    """
    _check(result)
    if not hasattr(result, "state"):
        raise LaunchError(f"result: expected a result of pl.attention or pl.decode, got {type(result).__name__}")
    decoded = result.problem.phase == "decode"
    if result.state is None:
        raise LaunchError(f"this result has no state; write pl.{'decode' if decoded else 'attention'}(..., state=True)")
    if not isinstance(row, int | np.integer) or not 0 <= row < len(result.rows):
        raise LaunchError(f"row: there are {len(result.rows)} recorded rows, {row!r} is not one of them")
    if result.sums is not None:
        figure = new_figure(figure, (6.4, 7.2))
        merge_plot.draw(figure, result, row, ink_colour())
        return figure
    exact, _ = result.exact(row)
    tile, names = (1, ("sequence", "head")) if decoded else (result.kernel.tile_kv, ("batch", "head", "row"))
    places = ", ".join(f"{name} {at}" for name, at in zip(names, result.rows[row], strict=True))
    title = f"{result.kernel.name}: {places}"
    figure = new_figure(figure, (6.4, 4.8))
    draw_state(figure, result.state[row, : len(exact)], exact, "key" if tile == 1 else f"KV tile of {tile} keys")
    figure.suptitle(title, fontsize="medium")
    return figure


def draw_state(figure: Any, kernel: Any, exact: Any, unit: str, joined: bool = True) -> None:
    """m, l and rescale of a row, `[parts, 3]`: the kernel's in steps where they are `joined`, float64 as rings."""
    axes = figure.subplots(3, 1, sharex=True)
    for i, (axis, (_, name, colour)) in enumerate(zip(axes, SERIES, strict=True)):
        look = {"linestyle": "-" if joined else "none", "drawstyle": "steps-mid", "marker": ".", "markersize": 4}
        axis.plot(kernel[:, i], color=colour, **look, label="the kernel's probes")
        merge_plot.rings(axis, np.arange(len(exact)), exact[:, i], ink_colour(), 0.8, "numpy float64")
        axis.set_ylabel(name.replace(" ", "\n", 1), fontsize="small")  # an axis is lower than the words are long
        axis.grid(alpha=0.25)
        plain_scale(axis)
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    axes[-1].set_xlabel(unit)


@complete("pl.plot_error(pl.attention(q, k, v))")
def plot_error(result: Any, head: tuple[int, int] = (0, 0), *, figure: Any = None) -> Any:
    """The error of one head as a map, rows down and columns to the right.

    A cell is |o - float64| relative to the tolerance of that element, so 1 is the most that passes. Of a result of
    `pl.decode`, which has one row per head, all rows are shown: sequence 0's heads first.

    Parameters
    ----------
    result
        Of `pl.attention` or `pl.decode`.
    head
        (batch, head).
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.
    """
    _check(result)
    ratio = result.judged.ratio
    if result.problem.phase == "decode":
        shown, rows_are = ratio.reshape(-1, ratio.shape[-1]), "query head, sequence by sequence"
    else:
        heads = ratio.shape[:2]
        if tuple(np.shape(head)) != (2,) or not all(i in range(n) for i, n in zip(head, heads, strict=True)):
            raise LaunchError(f"head: (batch, head) are below {heads}, {head!r} is not")
        shown, rows_are = ratio[tuple(head)], "query row"
    figure = new_figure(figure, (6.4, 4.2))
    axis, e = draw_error(figure, shown, rows_are), result.error
    axis.set_title(f"{result.kernel.name}: max {e.max:.2e}, mean {e.mean:.2e}, {'pass' if e.ok else 'FAIL'}")
    return figure


def draw_error(figure: Any, ratio: Any, rows: str, size: tuple[int, int] | None = None) -> Any:
    """Errors over their tolerance as a map of what `rows` are by columns; gives its axis. size: how many of both there
    are, where a cell stands for several."""
    from matplotlib.colors import LogNorm

    axis, (down, across) = figure.subplots(), size or ratio.shape
    look = {
        "cmap": "Blues",
        "aspect": "auto",
        "interpolation": "nearest",
        "extent": (-0.5, across - 0.5, down - 0.5, -0.5),
    }
    image = axis.imshow(np.maximum(ratio, 10.0**-DECADES), norm=LogNorm(10.0**-DECADES, 1), **look)
    wrong = np.argwhere(~(ratio <= 1)) * (down / ratio.shape[0], across / ratio.shape[1])
    if len(wrong):
        axis.plot(wrong[:, 1], wrong[:, 0], "x", color="crimson", markersize=4, label="over the tolerance")
        axis.legend(loc="best", fontsize="small")
    figure.colorbar(image, label="|error| / tolerance of the element")
    axis.set_xlabel("column")
    axis.set_ylabel(rows)
    for numbers in (axis.xaxis, axis.yaxis):
        numbers.get_major_locator().set_params(integer=True)
    return axis


@complete("pl.plot_comparison(pl.compare(q, k, v))")
def plot_comparison(found: Any, *, figure: Any = None) -> Any:
    """The columns of a comparison as bars, a picture each.

    Parameters
    ----------
    found
        Of `pl.compare` or `pl.compare_decode`.
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.
    """
    if not hasattr(found, "entries"):
        raise LaunchError(f"found: expected a result of pl.compare or pl.compare_decode, got {type(found).__name__}")
    columns = {name: values for name, values in found.numbers().items() if any(v is not None for v in values)}
    if not columns:
        raise LaunchError("this comparison has no kernels")
    names = [f"{e.kernel}\n{e.tiles}".rstrip() for e in found.entries]
    figure = new_figure(figure, (9.6, 1.2 + 0.42 * len(names) * -(-len(columns) // 4)))
    axes = figure.subplots(-(-len(columns) // 4), 4, sharey=True, squeeze=False)
    cells = found.cells()
    for axis, (name, values) in zip(axes.flat, columns.items(), strict=False):
        shown = [0.0 if v is None else v for v in values]
        colours = [_rung_colour(e.kernel) for e in found.entries]
        bars = axis.barh(range(len(names)), shown, color=colours, height=0.7)
        place = found.columns.index(name)
        axis.bar_label(bars, [row[place] for row in cells], padding=2, fontsize="small")
        axis.set_xlim(0, 1.45 * (max(shown) or 1.0))
        axis.set_title(f"{name} on {found.device}" if name == "time" else name, fontsize="medium")
        axis.set_xticks([])
        axis.spines[["top", "right", "bottom"]].set_visible(False)
        axis.set_yticks(range(len(names)), names, fontsize="small")
        axis.tick_params(length=0)
    for axis in axes.flat[len(columns) :]:
        axis.set_visible(False)
    axes[0, 0].invert_yaxis()
    return figure


def _check(result: Any) -> None:
    """`LaunchError` for what is not a result of attention."""
    if not hasattr(result, "inputs"):
        raise LaunchError(f"result: expected a result of pl.attention or pl.decode, got {type(result).__name__}")


def plain_scale(axis: Any) -> None:
    """Lets rounding errors of a constant look constant, and numbers stand as they are, not as an offset of 1e-8."""
    low, high = axis.get_ylim()
    drawn = np.concatenate([np.asarray(line.get_ydata(), np.float64) for line in axis.get_lines()] or [np.zeros(0)])
    drawn = drawn[np.isfinite(drawn)]
    if drawn.size and not np.ptp(drawn) > FLAT * np.abs(drawn).max():
        middle = float(drawn.mean())
        low, high = middle - 0.5, middle + 0.5
    axis.set_ylim(low, high)
    axis.ticklabel_format(axis="y", useOffset=False)


def _rung_colour(kernel: str) -> str:
    """A colour of its own for each rung, the same in every picture."""
    found = [name for name in kernels.names() if kernel.startswith(f"{name}_")]  # decode, and decode_gqa, say
    return f"C{kernels.names().index(max(found, key=len)) % 10}" if found else "C0"

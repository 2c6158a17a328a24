"""Figures to keep, drawn with matplotlib: the online-softmax state and the error of a result, kernels side by side,
rooflines, and where the bytes of a tile lie in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxlab import kernels
from ptxlab.emulate.language import Pointer
from ptxlab.emulate.rules import tensor_maps as maps
from ptxlab.errors import LaunchError
from ptxlab.figures import COLOURS, MARKS, ink_colour, new_figure
from ptxlab.lab import merge_plot
from ptxlab.launch.tensor_maps import TensorMap
from ptxlab.options import complete
from ptxlab.performance.roofline import Roof, roof

DECADES = 4
"""The colours of an error cover 1e-4 of the tolerance up to the tolerance; beyond it stands a cross."""
SERIES = tuple(zip(("m", "l", "rescale"), ("running maximum m", "running sum l", "rescale"), COLOURS, strict=False))
"""The numbers of a state, their names and colours."""
FLAT = 1e-5
"""A series that varies by less than this share of its size is a constant with rounding errors."""
LINE, BANK = 128, 4
"""Bytes of a line, the 32 banks once; and of a bank."""
MOST_LINES = 32
"""Lines that are drawn."""
TONES = 8
"""Columns of a tile, 16 bytes each, whose colours differ."""


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


@complete("pl.plot_roofline(pl.attention(q, k, v, counters=True))")
def plot_roofline(results: Any, *, gpu: str | None = None, arch: str | None = None, figure: Any = None) -> Any:
    """Rooflines with a point for each result.

    Open points are modelled, without a cache and with a perfect one; filled points were measured on a GPU.

    Parameters
    ----------
    results
        One, or a list, of `pl.attention(..., counters=True)`, `pl.decode(...)` or `pl.launch(...)`, or `Roof`s.
    gpu
        Whose roof: "A100", "H100 SXM" (`ptxlab.performance.peaks.PEAKS`).
    arch
        The target, of runs that do not tell theirs.
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.
    """
    given = list(results) if isinstance(results, Sequence) else [results]
    roofs = [r if isinstance(r, Roof) else roof(r, gpu, arch) for r in given]
    if not roofs:
        raise LaunchError("results: there is none to plot")
    figure = new_figure(figure, (6.4, 4.4))
    axis, ink = figure.subplots(), ink_colour()
    xs = [x for r in roofs for _, _, x, _ in r.points()]
    if not xs:
        raise LaunchError("results: none of them has a floating-point operation and a byte")
    small: dict[str, Any] = {"fontsize": "x-small", "textcoords": "offset points"}
    for limits in dict.fromkeys(r.peaks for r in roofs):
        mine = [r for r in roofs if r.peaks is limits]
        levels = sorted({one for r in mine for one in r.levels()}, key=lambda one: one[1])
        top = levels[-1][1]
        low = min(*xs, *(r.peak / limits.bandwidth for r in mine), levels[0][1] / limits.bandwidth) / 4
        high = max(*xs, top / limits.bandwidth) * 4
        axis.plot([low, top / limits.bandwidth], [low * limits.bandwidth, top], color=ink, linewidth=1.4)
        for name, level in levels:
            axis.plot([level / limits.bandwidth, high], [level, level], color=ink, linewidth=1.4)
            says = f"{limits.gpu} {name}: {level / 1e12:.3g} TFLOP/s"
            axis.annotate(says, (high, level), xytext=(0, 2), ha="right", va="bottom", **small)
        says, at = f"{limits.bandwidth / 1e9:.0f} GB/s", (low * 1.3, low * 1.3 * limits.bandwidth)
        along = {"rotation": 45, "rotation_mode": "anchor", "transform_rotates_text": True}  # whatever the axes' shape
        axis.annotate(says, at, xytext=(0, 4), **along, **small)
    said: set[float] = set()
    for n, r in enumerate(roofs):
        style = {"color": COLOURS[n % len(COLOURS)], "marker": MARKS[n % len(MARKS)], "linestyle": "none"}
        modelled = [(x, y) for origin, _, x, y in r.points() if origin == "modelled"]
        measured = [(x, y) for origin, _, x, y in r.points() if origin == "measured"]
        if modelled and r.busy < r.peaks.sms:  # the roof of the multiprocessors that have a block
            right = max(x for _, _, x, _ in r.points()) * 4
            axis.plot(
                [r.peak / r.peaks.bandwidth, right], [r.peak] * 2, color=style["color"], linestyle="--", linewidth=1
            )
            if r.peak not in said:
                says = f"{r.some}: {r.peak / 1e12:.3g} TFLOP/s"
                axis.annotate(says, (r.peak / r.peaks.bandwidth, r.peak), xytext=(8, 2), va="bottom", **small)
            said.add(r.peak)
        if len(modelled) == 2:  # along the roof, not across
            ridge = max(y for _, y in modelled) / r.peaks.bandwidth
            bend = [(ridge, max(y for _, y in modelled))] if modelled[0][0] < ridge < modelled[1][0] else []
            axis.plot(*zip(modelled[0], *bend, modelled[1], strict=True), color=style["color"], linestyle=":")
        if modelled:
            axis.plot(
                *zip(*modelled, strict=True),
                **style,
                markerfacecolor=axis.get_facecolor(),
                label=f"{r.label}, modelled",
            )
        if measured:
            axis.plot(*zip(*measured, strict=True), **style, label=f"{r.label}, measured")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("FLOP per byte: left, every sector from memory; right, every array once")
    axis.set_ylabel("FLOP/s")
    axis.grid(which="both", alpha=0.2)
    axis.set_ylim(top=axis.get_ylim()[1] * 3)  # room for the labels of the roofs
    axis.legend(loc="upper left", fontsize="small")  # above the slope, where no point can be
    sources = "; ".join(dict.fromkeys(r.peaks.source for r in roofs))
    axis.set_title(f"peaks: {sources}", fontsize="x-small", loc="left", color=ink, alpha=0.8)
    return figure


def places(map: TensorMap) -> np.ndarray:
    """For each 16 bytes of the tile in shared memory, from its start on: (row of the tile, chunk of the row)."""
    words = Pointer[int](np.frombuffer(map.encoded(LINE), np.uint64))
    length, found = int(maps.row_bytes(words)), np.full((int(maps.tile_bytes(words)) // maps.CHUNK, 2), -1)
    for row in range(int(maps.rows(words))):
        for chunk in range(length // maps.CHUNK):
            at = maps.swizzled(words, row * length + chunk * maps.CHUNK)
            found[at // maps.CHUNK] = row, chunk
    return found


@complete("pl.plot_tile(pl.TensorMap(array, box=(64, 64)))")
def plot_tile(map: TensorMap, *, figure: Any = None) -> Any:
    """The tile of a `pl.TensorMap` as it lies in shared memory, where a bulk copy puts it.

    A line of the picture is 128 bytes: the 32 banks once. A coloured cell is 16 bytes, the least that a swizzle moves.
    In it stands `row.chunk`; cells of one column of the tile have one colour, and would share banks without a swizzle.

    Parameters
    ----------
    map
        The `pl.TensorMap`.
    figure
        A matplotlib Figure to draw into; by default a new one, which is returned.
    """
    import matplotlib

    if not isinstance(map, TensorMap):
        raise LaunchError(f"map: expected a pl.TensorMap, got {type(map).__name__}")
    found = places(map)
    across = LINE // maps.CHUNK
    lines = -(-len(found) // across)
    shown = min(lines, MOST_LINES)
    kept = found[: shown * across]
    padded = np.full((shown * across, 2), -1)
    padded[: len(kept)] = kept
    cells = padded.reshape(shown, across, 2)
    figure = new_figure(figure, (7.6, 0.9 + 0.27 * shown))
    axis = figure.subplots()
    colours = matplotlib.colormaps["tab10"].resampled(TONES)
    tones = np.ma.masked_less(cells[..., 1], 0) % TONES
    axis.imshow(tones, cmap=colours, vmin=0, vmax=TONES - 1, aspect="auto", alpha=0.6, extent=(0, LINE, shown, 0))
    axis.set_xticks(range(0, LINE, BANK), minor=True)
    axis.set_yticks(range(shown), minor=True)
    axis.grid(which="minor", linewidth=0.3, color="white")
    for line, row in enumerate(cells):
        for k, (tile_row, chunk) in enumerate(row.tolist()):
            if tile_row >= 0:
                axis.text(
                    (k + 0.5) * maps.CHUNK, line + 0.5, f"{tile_row}.{chunk}", ha="center", va="center", fontsize=7
                )
    axis.set_xticks(range(0, LINE + 1, maps.CHUNK))
    axis.set_xlabel(f"byte of a line of {LINE}; a thin column is a bank of {BANK} bytes")
    every = -(-shown // 8)
    axis.set_yticks([k + 0.5 for k in range(0, shown, every)], [str(k * LINE) for k in range(0, shown, every)])
    axis.set_ylabel("first byte of the line")
    swizzle = f"{map.swizzle}-byte swizzle" if map.swizzle else "no swizzle"
    cut = f", the first {shown} of {lines} lines" if shown < lines else ""
    axis.set_title(
        f"tile of {'×'.join(str(n) for n in map.box)}, {swizzle}{cut}: row.chunk of 16 bytes", fontsize="medium"
    )
    return figure

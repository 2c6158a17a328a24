"""The merge of a decode kernel as a figure: what each warp or split held, what it gave, and the row they became."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.figures import COLOURS

SERIES = tuple(zip(("maximum m", "sum l", "factor of the merge"), COLOURS, strict=False))
"""The columns of a state with their colours."""


def draw(figure: Any, result: Any, row: int, ink: str) -> None:
    """Draws recorded row `row` of a `pl.decode` result whose parts were merged; `ink` is the colour of text.

    Above m, l and the factor of the merge for each part, the kernel's as bars and dots, float64 as rings. Below what
    each part gives to the row, its sums times factor / l, as an image, and their total, beside the same in float64.
    """
    exact_state, exact_sums = result.exact(row)
    states, sums = (result.state[row], exact_state), (result.sums[row], exact_sums)
    parts = len(exact_state)
    split = len(result.kernels) > 1
    grid = figure.add_gridspec(4, 2, height_ratios=(1, 1, 1, 2.4))
    last = None
    for i, (name, colour) in enumerate(SERIES):
        axis = figure.add_subplot(grid[i, :], sharex=last)
        _series(axis, i, [_finite(state[:, i]) for state in states], colour, ink)
        axis.set_title(name, loc="left", fontsize="small", color=colour)
        axis.tick_params(labelbottom=i == 2)
        axis.grid(alpha=0.25)
        if i < 2:
            total = merged(states[0])[i]
            axis.set_title(f"merged (dashed): {total:.5g}", loc="right", fontsize="small", color=colour)
            if np.isfinite(total):
                axis.axhline(total, color=colour, linewidth=1, linestyle="--")
            if i == 1:
                axis.set_ylim(top=max(axis.get_ylim()[1], total * 1.2))
        last = axis
    assert last is not None
    last.set_xlabel("split of the keys" if split else "warp")
    last.set_xlim(-0.6, parts - 0.4)
    last.xaxis.get_major_locator().set_params(integer=True)

    given = [shares(state, sum_) for state, sum_ in zip(states, sums, strict=True)]
    top = max(float(np.abs(given[1]).max(initial=0.0)), float(np.abs(given[1].sum(axis=0)).max(initial=0.0))) or 1.0
    image = None
    for n, (share, title) in enumerate(zip(given, ("the kernel's probes", "numpy float64"), strict=True)):
        axis = figure.add_subplot(grid[3, n])
        image = _shares(axis, share, top, title, "split" if split else "warp", first=n == 0)
    figure.colorbar(image, ax=figure.axes[-2:], label="given to o", shrink=0.9)
    b, h = result.rows[row]
    names, keys = " + ".join(built.name for built in result.kernels), int(result.lengths[b])
    title = f"{names}\nsequence {b}, head {h}: {keys} keys in {parts} parts; rings: numpy float64"
    figure.suptitle(title, fontsize="medium")


def merged(state: Any) -> tuple[float, float]:
    """m and l of the whole row, from the state `[parts, 3]` of its parts."""
    state = np.asarray(state, np.float64)
    return float(state[:, 0].max(initial=-np.inf)), float((state[:, 1] * state[:, 2]).sum())


def shares(state: Any, sums: Any) -> Any:
    """What each part adds to the output row: its sums, scaled as in the merge and divided by the merged l."""
    _, l = merged(state)
    factor = np.asarray(state, np.float64)[:, 2:]
    return np.asarray(sums, np.float64) * factor / (l if l > 0 else 1.0)


def _finite(values: Any) -> Any:
    """The values, NaN (which is not drawn) for those of parts without keys."""
    values = np.asarray(values, np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _series(axis: Any, which: int, values: list[Any], colour: str, ink: str) -> None:
    """One quantity of all parts: the kernel's as bars that end in a dot, float64 as rings."""
    kernel, exact = values
    at = np.arange(len(kernel))
    axis.margins(y=0.25)
    if which == 0:
        axis.plot(at, kernel, linestyle="none", marker="o", markersize=4, color=colour, label="_")
    else:
        axis.bar(at, kernel, width=0.6, color=colour, label="_")
        axis.set_ylim(0, 1.2 * max(*kernel, *exact, 1e-30) if which == 1 else 1.2)
    rings(axis, at, exact, ink, 0.9, "_")


def rings(axis: Any, at: Any, values: Any, ink: str, width: float, label: str) -> None:
    """What numpy gives in float64: empty circles around the kernel's dots."""
    look = {"linestyle": "none", "marker": "o", "markersize": 7, "markerfacecolor": "none"}
    axis.plot(at, values, **look, markeredgecolor=ink, markeredgewidth=width, label=label)


def _shares(axis: Any, share: Any, top: float, title: str, part: str, *, first: bool) -> Any:
    """The shares as an image, one row a part, and below a gap the row that they add up to."""
    thick = max(1, round(len(share) / 8))
    gap = np.full((thick, share.shape[1]), np.nan)
    total = np.repeat(share.sum(axis=0)[None], thick, axis=0)
    image = axis.imshow(
        np.concatenate([share, gap, total]), cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto", interpolation="nearest"
    )
    axis.set_title(title, fontsize="small")
    axis.set_xlabel("column")
    axis.set_yticks(
        [0, len(share) - 1, len(share) + thick + (thick - 1) / 2],
        [f"{part} 0", f"{part} {len(share) - 1}", "o"] if first else ["", "", ""],
    )
    axis.set_frame_on(False)
    return image

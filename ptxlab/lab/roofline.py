"""Rooflines as a figure.

pl.plot_roofline(pl.attention(q, k, v, counters=True))
pl.plot_roofline([a, b, c], gpu="H100 SXM")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptxlab.errors import LaunchError
from ptxlab.figures import COLOURS, MARKS, ink_colour, new_figure
from ptxlab.options import complete
from ptxlab.performance.roofline import Roof, roof


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

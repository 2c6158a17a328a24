"""How the figures look that ptxlab draws with matplotlib, and how they show themselves in a notebook."""

from __future__ import annotations

import base64
import functools
import html
import io
from typing import Any

COLOURS = ("#3d85c6", "#cf6a1e", "#2a9d8f", "#b5476d", "#8a6fc0", "#8c8c2e", "#6c757d", "#c0392b")
"""Colours that stand out from white and from black."""
MARKS = "osD^vPX*"
"""Marks of points, for whoever does not see colours."""
DARK = (
    '<style>[data-jp-theme-light="false"] .ptxlab-figure img { filter: invert(0.92) hue-rotate(180deg); }'
    " .ptxlab-figure img { max-width: 100%; height: auto; }</style>"
)
"""What turns the picture of a figure into one for a dark page."""


def ink_colour() -> str:
    """The colour of text in the style that is set: dark on white, or light with `plt.style.use("dark_background")`."""
    import matplotlib

    return str(matplotlib.rcParams["text.color"])


def new_figure(figure: Any, size: tuple[float, float]) -> Any:
    """The figure given, or a new one; pyplot's list of open figures is left alone."""
    return figure if figure is not None else _kept_figure()(figsize=size, layout="constrained")


@functools.cache
def _kept_figure() -> Any:
    """A matplotlib Figure that shows itself in a notebook whether or not pyplot is in use there, in JupyterLab's dark
    theme too: there the picture's light and dark change places, and its hues stay."""
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure

    class KeptFigure(Figure):
        def _repr_html_(self) -> str | None:
            if sum(to_rgb(self.get_facecolor())) < 1.5:
                return None  # drawn for a dark page: the picture itself will do
            title = self.get_suptitle() or " ".join(filter(None, (axis.get_title() for axis in self.axes)))
            return f'<div class="ptxlab-figure">{DARK}{image(self, title or "figure")}</div>'

        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png")
            return picture.getvalue()

    return KeptFigure


def image(figure: Any, alt: str) -> str:
    """A figure as an `<img>` with the picture in it."""
    source = f"data:image/png;base64,{base64.b64encode(figure._repr_png_()).decode()}"
    return f'<img alt="{html.escape(alt)}" width="{int(figure.get_figwidth() * figure.dpi)}" src="{source}">'

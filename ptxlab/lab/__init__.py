"""The notebook: explorer, debugger, editor, magics, diff, figures, how objects look; ipywidgets loads on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ptxlab.lab.diff import diff

if TYPE_CHECKING:
    from ptxlab.lab.cell import show
    from ptxlab.lab.debugger import debug
    from ptxlab.lab.editing import editor
    from ptxlab.lab.explorer import explore
    from ptxlab.lab.extension import load_ipython_extension
    from ptxlab.lab.plots import plot_comparison, plot_error, plot_state
    from ptxlab.lab.roofline import plot_roofline
    from ptxlab.lab.tile_plot import plot_tile

_HOMES = dict.fromkeys(("plot_comparison", "plot_error", "plot_state"), "plots") | {
    "debug": "debugger",
    "editor": "editing",
    "explore": "explorer",
    "load_ipython_extension": "extension",
    "plot_roofline": "roofline",
    "plot_tile": "tile_plot",
    "show": "cell",
}

__all__ = [
    "debug",
    "diff",
    "editor",
    "explore",
    "load_ipython_extension",
    "plot_comparison",
    "plot_error",
    "plot_roofline",
    "plot_state",
    "plot_tile",
    "show",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ptxlab.lab' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"ptxlab.lab.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("ptxlab"):
            raise
        raise ImportError(f"pl.{name} needs {error.name}: pip install ptxlab") from error
    globals()[name] = value
    return value

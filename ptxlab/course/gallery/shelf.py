"""The gallery in a notebook: pick a bug, hunt it, see it explained, without a cell for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptxlab.course.gallery.exhibit import Exhibit
from ptxlab.errors import PtxlabError

START = "<p>Pick a bug. <b>Hunt</b> shows where its kernel passes and where it fails, and nothing more.</p>"


def shelf(exhibits: Sequence[Exhibit]) -> Any:
    """The widget: the list, two buttons, and what they show."""
    import ipywidgets as widgets

    wide = widgets.Layout(width="100%")
    picked = widgets.Select(
        options=[(f"{e.number}. {e.title}", e.number) for e in exhibits], rows=10, layout=wide, description="bug"
    )
    hunt = widgets.Button(description="Hunt", tooltip="run the kernel: where does it pass, where does it fail?")
    explain = widgets.Button(description="Explain", tooltip="the story, what finds it, and the repair")
    shown = widgets.HTML(START, layout=wide)

    def show(what: Callable[[Exhibit], Any]) -> None:
        exhibit = next(e for e in exhibits if e.number == picked.value)
        shown.value = f"<p>running {exhibit.number} …</p>"
        try:
            shown.value = what(exhibit)._repr_mimebundle_()["text/html"]
        except PtxlabError as error:  # what is missing on this machine, say
            from html import escape

            shown.value = f"<pre>{escape(str(error))}</pre>"

    def restart(_change: Any) -> None:
        shown.value = START

    hunt.on_click(lambda _: show(Exhibit.hunt))
    explain.on_click(lambda _: show(lambda exhibit: exhibit))
    picked.observe(restart, "value")
    whole = widgets.VBox([picked, widgets.HBox([hunt, explain]), shown])
    whole.add_class("ptxlab-gallery")
    return whole


COPY = """<style>
.jp-OutputArea-child:has(.ptxlab-gallery) ~ .jp-OutputArea-child:has(.ptxlab-list) { display: none; }
.jp-OutputArea-child:has(+ .jp-OutputArea-child .ptxlab-list):not(:has(.ptxlab-gallery)) { display: none; }
</style>"""
"""Hides the list beside the live widget, and without a kernel what JupyterLab says of a widget that it cannot show."""

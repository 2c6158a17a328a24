"""Widgets that a notebook keeps a copy of: plain HTML beside the widget, for whoever opens it without a kernel."""

from __future__ import annotations

from typing import Any


class Copied:
    """What a widget adds to itself to leave a static copy; a subclass says in `static_html` what that shows."""

    def static_html(self) -> str:
        """The copy."""
        raise NotImplementedError

    def _ipython_display_(self) -> None:
        """Two outputs: the live widget, and a static copy that its style sheet hides while the widget is there.

        In one output they would exclude each other: a notebook opened again with a new kernel shows
        "model not found" in place of the widget and nothing of the copy.
        """
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        static = data.pop("text/html")
        display(data, metadata=metadata, raw=True)
        display({"text/html": static, "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        static = self.static_html()  # before the widget's part: it may wait for numbers that belong to both
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), "text/plain": repr(self), "text/html": static}, metadata

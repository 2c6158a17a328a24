"""Widgets that a notebook keeps a copy of: plain HTML beside the widget, for whoever opens it without a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Copied:
    """What a widget adds to itself to leave a static copy; a subclass says in `static_html` what that shows."""

    def static_html(self) -> str:
        """The copy."""
        raise NotImplementedError

    def when_whole(self, show: Callable[[], Any]) -> None:
        """Calls `show` once the copy has more to show than the first one had; never where that had it all."""

    def _ipython_display_(self) -> None:
        """Two outputs: the live widget, and a static copy that its style sheet hides while the widget is there.

        In one output they would exclude each other: a notebook opened again with a new kernel shows
        "model not found" in place of the widget and nothing of the copy. The widget comes first: the page sets it up
        while numbers for the copy are waited for.
        """
        from IPython.display import display

        data, metadata = self._live()
        display(data, metadata=metadata, raw=True)
        copy = display(self._copy(), raw=True, display_id=True)
        if copy is not None:
            self.when_whole(lambda: copy.update(self._copy(), raw=True))

    def _copy(self) -> dict[str, str]:
        return {"text/html": self.static_html(), "text/plain": ""}

    def _live(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget's own data and metadata."""
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), "text/plain": repr(self)}, metadata

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        static = self.static_html()  # before the widget's part: it may wait for numbers that belong to both
        data, metadata = self._live(**kwargs)
        return {**data, "text/html": static}, metadata

"""An SVG drawing in a few classes of colour that suit light and dark pages, and the picture that a notebook shows."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass

HUES = 8
"""Fill classes h0 to h7; text on them is always dark, in both schemes."""
_LIGHT = ("#9ec9f5", "#f8c48a", "#a8dba8", "#f3a9a9", "#cdb9ee", "#e0c3ae", "#f4b8dc", "#c9c9c9")
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.small { font-size: 10px; } .tiny { font-size: 8px; } .bold { font-weight: 600; } .mid { text-anchor: middle; }
.end { text-anchor: end; } .on { fill: #14181f; } .quiet { fill: var(--quiet); }
.paper { fill: var(--paper); } .empty { fill: var(--empty); } .frame { fill: none; stroke: var(--quiet); }
.line { fill: none; stroke: var(--ink); stroke-width: 1.3; }
.mark { fill: none; stroke: var(--mark); stroke-width: 2.2; }
.dot { fill: var(--mark); }
svg { --ink: #1c2128; --quiet: #636c76; --paper: #ffffff; --empty: #e6e9ed; --mark: #b3261e; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e6edf3; --quiet: #9aa4af; --paper: #14181f; --empty: #333b45; --mark: #ff8a80; }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
"""


def _n(value: float) -> str:
    """A coordinate: at most one digit after the point."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class Picture:
    """A finished SVG with the sentences that stand for it where it cannot be seen."""

    svg: str
    alt: str
    width: int

    def __repr__(self) -> str:
        return f"[Picture: {self.alt}]"

    def _repr_html_(self) -> str:
        """As an `<img>`: notebooks that are not trusted, exports and web pages show it, with its text."""
        data = base64.b64encode(self.svg.encode()).decode()
        return (
            f'<img alt="{html.escape(self.alt)}" width="{self.width}" style="max-width: 100%" '
            f'src="data:image/svg+xml;base64,{data}">'
        )


class Drawing:
    """Shapes, one after the other; `picture` makes an SVG of them.

    `css` is added to the style, for animations. Classes: h0 to h7 fill with a colour; empty, frame, line, mark.
    """

    def __init__(self, width: int, height: int, css: str = "") -> None:
        self.width, self.height, self.css = width, height, css
        self.parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, classes: str, *, title: str = "") -> None:
        """A rectangle with slightly round corners; title: shown under the mouse where the SVG is in a page."""
        inside = f"<title>{html.escape(title)}</title>" if title else ""
        self.parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="1.5" '
            f'class="{classes}">{inside}</rect>'
        )

    def text(self, x: float, y: float, words: object, classes: str = "") -> None:
        """A line of text; y is its base line."""
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}" class="{classes}">{html.escape(str(words))}</text>')

    def path(self, d: str, classes: str = "line", *, style: str = "") -> None:
        """A path, as SVG writes it."""
        styled = f' style="{style}"' if style else ""
        self.parts.append(f'<path d="{d}" class="{classes}"{styled}/>')

    def picture(self, alt: str) -> Picture:
        """The SVG; alt says in words what it shows."""
        hues = "".join(f".h{i} {{ fill: {colour}; }}\n" for i, colour in enumerate(_LIGHT))
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img"><title>{html.escape(alt)}</title>'
            f'<style>{_STYLE}{hues}{self.css}</style><rect width="100%" height="100%" class="paper" rx="6"/>'
            f"{''.join(self.parts)}</svg>"
        )
        return Picture(svg, alt, self.width)

"""Small pictures without a plotting library, for HTML that a saved notebook keeps: softmax curves and error maps."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Any

import numpy as np

RAMP = np.array([[247, 251, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]], np.float64)
OVER = np.array([200, 30, 45])
DECADES = 4
"""The ramp covers 1e-4 of the tolerance up to the tolerance; beyond it cells are red."""

SERIES = (("m", "running maximum m", "#0b5cad"), ("l", "running sum l", "#b04a00"), ("rescale", "rescale", "#0b6e63"))


def image(svg_or_png: str | bytes, alt: str, width: int) -> str:
    """An `<img>` with the picture in it; SVG as text, PNG as bytes."""
    kind, data = ("svg+xml", svg_or_png.encode()) if isinstance(svg_or_png, str) else ("png", svg_or_png)
    source = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return f'<img alt="{html.escape(alt)}" width="{width}" src="{source}">'


def error_colours(ratio: Any) -> Any:
    """uint8 `[rows, cols, 3]` for errors over their tolerance: pale where small, dark near it, red beyond or NaN."""
    ratio = np.asarray(ratio, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.clip(1 + np.log10(ratio) / DECADES, 0, 1) * (len(RAMP) - 1)
    at = np.where(np.isfinite(at), at, 0)
    low = np.minimum(at.astype(int), len(RAMP) - 2)
    part = (at - low)[..., None]
    colours = RAMP[low] * (1 - part) + RAMP[low + 1] * part
    colours[~(ratio <= 1)] = OVER
    return np.round(colours).astype(np.uint8)


def png(pixels: Any) -> bytes:
    """uint8 `[height, width, 3]` as a PNG file."""
    height, width, _ = pixels.shape

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )


def state_svg(state: dict[str, Any], width: int = 460, height: int = 230) -> str:
    """m, l and rescale over the KV tiles: lines are the kernel's probes, rings are numpy in float64.

    `state` is {tiles, unit, kernel: {m, l, rescale}, numpy: {...}}, None for tiles that were skipped; with `parts` they
    are not joined.
    """
    left, right, gap = 52, 8, 18  # gap: above each chart, for its name
    each = (height - 20 - 3 * gap) / 3
    n = state["tiles"]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="10" fill="#333">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]

    def x(k: float) -> float:
        return left + (k + 0.5) / n * (width - left - right)

    for row, (name, title, colour) in enumerate(SERIES):
        top = gap + row * (each + gap)
        shown = [v for who in ("kernel", "numpy") for v in state[who][name] if v is not None]
        low, high = (0.0, 1.0) if name == "rescale" else (min(shown, default=0.0), max(shown, default=1.0))
        if high - low <= 1e-5 * abs(high):
            low, high = low - 0.5, high + 0.5
        points = {
            who: [(k, top + each * (high - v) / (high - low)) for k, v in enumerate(state[who][name]) if v is not None]
            for who in ("kernel", "numpy")
        }
        out.append(
            f'<rect x="{left}" y="{top:.1f}" width="{width - left - right}" height="{each:.1f}" fill="#f7f8fa" '
            'stroke="#ddd"/>'
        )
        for value, y in ((low, top + each), (high, top + 8)):
            out.append(f'<text x="{left - 4}" y="{y:.1f}" text-anchor="end">{value:.4g}</text>')
        stairs, reached = "", -1
        for k, b in points["kernel"]:
            to = f"V{b:.1f}" if stairs and k == reached + 1 else f"{'L' if stairs else 'M'}{x(k - 0.5):.1f},{b:.1f}"
            stairs, reached = f"{stairs}{to}H{x(k + 0.5):.1f}", k
        if not state.get("parts"):  # parts do not follow one another
            out.append(f'<path d="{stairs}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        if n <= 80:
            out += [f'<circle cx="{x(k):.1f}" cy="{b:.1f}" r="2" fill="{colour}"/>' for k, b in points["kernel"]]
        shown = points["numpy"][:: max(1, n // 60)]
        rings = "".join(f'<circle cx="{x(k):.1f}" cy="{b:.1f}" r="3.5"/>' for k, b in shown)
        out.append(f'<g fill="none" stroke="#222" stroke-opacity=".6">{rings}</g>')
        out.append(f'<text x="{left}" y="{top - 5:.1f}" fill="{colour}" font-weight="bold">{title}</text>')
    unit = state["unit"]
    out.append(
        f'<text x="{width / 2}" y="{height - 4}" text-anchor="middle">{unit} (0 to {n - 1}); '
        "line: the kernel's probes, rings: numpy float64</text></svg>"
    )
    return "".join(out)

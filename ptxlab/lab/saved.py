"""The debugger without a kernel: HTML that shows tables where scripts do not run, and the same viewer where they do.

JupyterLab takes the scripts out of a notebook that it does not trust; there the tables stay. An export by nbconvert, a
notebook that is trusted, and the page that `Debugger.save` writes run them, and show the viewer on a part of the trace.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Sequence

from ptxlab.emulate.excerpt import excerpt
from ptxlab.emulate.recording import Recording
from ptxlab.lab import assets, moments

BYTES = 24_000
"""Bytes of the trace that a saved notebook keeps: a whole notebook with explorer and debugger stays below 300 KB."""

_LONE = """
.jp-OutputArea-child:has(+ .jp-OutputArea-child .ptxlab-copy):not(:has(.ptxlab-explorer, .ptxlab-editor)) {
  display: none;
}
"""
"""Hides what JupyterLab says of a widget without a kernel: that it cannot be displayed."""
_LOADER = """<script>(() => {
const host = document.currentScript.closest(".ptxlab-copy"), data = DATA;
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
async function show() {
  const inflate = (packed) => packed.stream().pipeThrough(new DecompressionStream("deflate"));
  const unpacked = (text) => new Response(inflate(new Blob([bytes(text)])));
  const { script, style, info } = await unpacked(data[0]).json(), trace = await unpacked(data[1]).arrayBuffer();
  const sheet = document.createElement("style"), place = document.createElement("div");
  sheet.textContent = style;
  const values = { info, trace: new Uint8Array(trace) };
  new Function("model", "el", script)({ get: (name) => values[name] }, place);
  host.replaceChildren(sheet, place);
}
new IntersectionObserver((seen, watch) => {
  if (!seen.some((one) => one.isIntersecting)) return;
  watch.disconnect();
  show();
}).observe(host);
})()</script>"""


def copy_html(
    recording: Recording, note: str = "", limit: int | None = BYTES, at: Sequence[int] = ()
) -> str:  # fmt: skip
    """What a notebook keeps of a debugger. limit: bytes of the trace that stay; None for all of it. at: the PTX lines
    at which it opens."""
    part = recording if limit is None else excerpt(recording, limit)
    info = {**moments.page_info(part, note), "at": list(at)}
    if part.steps < recording.steps:
        info["copy"] = f"a saved copy with {part.steps:,} of {recording.steps:,} steps; run the cell for all of them"
    script = assets.script("debugger").replace("export default { render };", "render({ model, el });")
    packed = json.dumps(
        {"script": script, "style": assets.style("debugger") + _LONE, "info": info}, separators=(",", ":")
    )
    data = [_packed(packed.encode()), _packed(bytes(part.data))]
    live = _LOADER.replace("DATA", json.dumps(data))
    return f'<div class="ptxlab-copy">{moments.debugger_html(recording, note)}{live}</div>'


def page_html(recording: Recording, note: str = "", at: Sequence[int] = ()) -> str:
    """A page of its own with the viewer on the whole trace."""
    title = html.escape(f"{recording.kernel}, step by step")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f'<body style="margin: 12px">{copy_html(recording, note, None, at)}</body></html>'
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()

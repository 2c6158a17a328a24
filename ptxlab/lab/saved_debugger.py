"""The debugger without a kernel: HTML that shows tables where scripts do not run, and the same viewer where they do.

JupyterLab takes the scripts out of a notebook that it does not trust; there the tables stay. An export by nbconvert, a
notebook that is trusted, and the page that `Debugger.save` writes run them, and show the viewer on a part of the trace.
"""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from typing import Any

from ptxlab.emulate.trace.excerpt import excerpt
from ptxlab.emulate.trace.recording import Recording
from ptxlab.lab import assets, descriptors, timeline, trace_events
from ptxlab.lab.trace_events import Shown

BYTES = 14_000
"""Bytes of the trace that a saved notebook keeps: a whole notebook with explorer and debugger stays below 300 KB."""
TIMELINE = 30_000
"""Bytes of the timeline that it keeps; a tenth of them once they are packed."""

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


def copy_html(shown: Shown, limit: int | None = BYTES, *, lean: bool = True) -> str:
    """What a notebook keeps of a debugger. limit: bytes of the trace that stay, around the step at which it opens; None
    for all of it. lean: of a part also hover texts and most of the timeline are left out."""
    part, info = copy_part(shown, limit, lean=lean)
    without = ["keys.js", "find.js", *([] if info["timeline"] else ["timeline.js"])]  # our plugin brings the keys
    script = _bare(assets.script("debugger", *without)).replace("export default { render };", "render({ model, el });")
    packed = json.dumps(
        {"script": script, "style": _bare(assets.style("debugger")), "info": info}, separators=(",", ":")
    )
    data = [_packed(packed.encode()), _packed(bytes(part.data))]
    live = _LOADER.replace("DATA", json.dumps(data))
    return f'<div class="ptxlab-copy">{trace_events.debugger_html(shown)}{live}</div>'


def copy_part(shown: Shown, limit: int | None = BYTES, *, lean: bool = True) -> tuple[Recording, dict[str, Any]]:
    """The part of a trace that a copy keeps, and what the viewer is given beside it: that of
    `trace_events.page_info`, `copy` (what is kept, in words) and `kept`: "block:warp" -> [steps before the part, steps
    in all]."""
    recording = shown.recording
    part, begins = (recording, {}) if limit is None else excerpt(recording, limit, shown.opens())
    info = trace_events.page_info(shown, part)
    if limit is not None and lean:  # what a notebook keeps stays small
        info |= {"docs": {}, "words": {}, "registers": {}, "source": None, "links": []}
        info["maps"] = descriptors.maps_used(recording)
        info["timeline"] = timeline.beginning(timeline.timeline(recording), TIMELINE)
    if part.steps < recording.steps:
        whole = {key: len(recording.walk(*key)) for key in begins}
        info["kept"] = {f"{b}:{w}": [begins[b, w], total] for (b, w), total in whole.items()}
        info["copy"] = _what_is_kept(recording, part, begins) + (" Run the cell for all of them." if lean else "")
    return part, info


def _what_is_kept(recording: Recording, part: Recording, begins: dict[tuple[int, int], int]) -> str:
    """A sentence for the reader; the warp that was chosen comes first in `begins`."""
    key = next(iter(begins))
    begin, count, total = begins[key], len(part.walk(*key)), len(recording.walk(*key))
    steps = f"steps {begin + 1:,} to {begin + count:,} of {total:,}" if count < total else f"all {total:,} steps"
    others, kept = len(recording.warps) - 1, len(begins) - 1
    rest = f"the {others} other warps" if others > 1 else "the other warp"
    more = f", and {f'steps of {kept} of' if kept else 'nothing of'} {rest}" if others else ""
    return f"A saved copy: it keeps {steps} of block {key[0]}, warp {key[1]}{more}."


def page_html(shown: Shown) -> str:
    """A page of its own with the viewer on the whole trace."""
    title = html.escape(f"{shown.recording.title}, step by step")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"></head>'
        f'<body style="margin: 12px">{copy_html(shown, None)}</body></html>'
    )


_REMARKS = re.compile(r"^[ ]*(//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)$\n?", re.MULTILINE)


def _bare(code: str) -> str:
    """JavaScript or CSS without indentation and without the lines that are comments: a sixth less to keep."""
    return re.sub(r"^ +", "", _REMARKS.sub("", code), flags=re.MULTILINE)


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()

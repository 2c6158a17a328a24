"""Widgets without a kernel: pages that a browser opens, and what a notebook keeps of a debugger.

A page runs the widget's own script on what the kernel had sent; there is nobody to ask. JupyterLab takes the scripts
out of a notebook that it does not trust; there the tables of a copy stay.
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
SHARED = 1_000_000
"""Bytes of the trace that the explorer's page keeps: a file that can be sent by mail."""
TIMELINE = 30_000
"""Bytes of the timeline that a saved notebook keeps; a tenth of them once they are packed."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 12px; }} [theme="dark"] {{ color-scheme: dark; }}
[theme="dark"] body {{ background: #111; color: #ddd; }}</style>
<script>
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.setAttribute("theme", dark.matches ? "dark" : "light");
dark.addEventListener("change", follow);
follow();
</script></head>
<body><main>{body}</main></body></html>
"""
_LOADER = """<script>(() => {
const host = document.currentScript.parentElement;
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
async function show() {
  const inflated = new Blob([bytes("DATA")]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { script, style, values } = JSON.parse(await new Response(inflated).text(), (key, value) =>
    value && value.base64 !== undefined ? bytes(value.base64) : value);
  const model = { get: (name) => values[name], set() {}, save_changes() {}, send() {}, on() {}, off() {} };
  const sheet = document.createElement("style"), place = document.createElement("div");
  sheet.textContent = style;
  host.append(sheet, place);
  new Function("model", "el", script)(model, place);
  for (const other of [...host.children].slice(0, -2)) other.remove();
}
new IntersectionObserver((seen, watch) => {
  if (!seen.some((one) => one.isIntersecting)) return;
  watch.disconnect();
  show();
}).observe(host);
})()</script>"""


def live(widget: str, values: dict[str, Any], *without: str) -> str:
    """A script that shows a widget of these values in the element that it stands in, once that is in sight; `without`:
    parts that it does not need."""
    script = _bare(assets.script(widget, *without)).replace("export default { render };", "render({ model, el });")
    packed = json.dumps(
        {"script": script, "style": _bare(assets.style(widget)), "values": values},
        default=lambda value: {"base64": base64.b64encode(value).decode()},
        separators=(",", ":"),
        allow_nan=False,
    )
    return _LOADER.replace("DATA", base64.b64encode(zlib.compress(packed.encode(), 9)).decode())


def explorer_page(values: dict[str, Any], debugged: Shown | None = None) -> str:
    """The explorer as one file: code, diff, figures, plots. values: the traits of its view; debugged: what a debugger
    over it shows, with `SHARED` bytes of its steps."""
    seq = (values["code"] or {}).get("seq", 0)
    values["status"] = {"state": "saved", "text": "a saved page", "busy": False, "seq": seq}
    if (values["sass"] or {}).get("seq") != seq:  # of an earlier setting, when it was wanted last
        values |= {"sass": None, "sass_diff": None}
    values["wants_sass"] = bool(values["sass"])
    trace = "" if debugged is None else copy_html(debugged, SHARED, lean=False)
    title = html.escape(f"{(values['code'] or {}).get('name', 'ptxlab')}, explored")
    body = f'<div class="ptxlab-app" id="explorer">{live("explorer", values)}</div>{trace}'
    return _PAGE.format(title=title, body=body)


def debugger_page(shown: Shown) -> str:
    """The debugger on the whole trace as one file."""
    title = html.escape(f"{shown.recording.title}, step by step")
    return _PAGE.format(title=title, body=copy_html(shown, None))


def copy_html(shown: Shown, limit: int | None = BYTES, *, lean: bool = True) -> str:
    """What a notebook keeps of a debugger. limit: bytes of the trace that stay, around the step at which it opens; None
    for all of it. lean: of a part hover texts, most of the timeline, find and arrays are left out as well."""
    part, info = copy_part(shown, limit, lean=lean)
    small = ("find.js", "arrays.js", "code_hover.js") if limit is not None and lean else ()
    without = ["keys.js", *small, *([] if info["timeline"] else ["timeline.js"])]
    viewer = live("debugger", {"info": info, "trace": bytes(part.data)}, *without)
    return f'<div class="ptxlab-copy">{trace_events.debugger_html(shown)}{viewer}</div>'


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


_REMARKS = re.compile(r"^[ ]*(//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)$\n?|(?<=[,;{]) // .*$", re.MULTILINE)


def _bare(code: str) -> str:
    """JavaScript or CSS without indentation and comments: a sixth less to keep."""
    return re.sub(r"^ +", "", _REMARKS.sub("", code), flags=re.MULTILINE)

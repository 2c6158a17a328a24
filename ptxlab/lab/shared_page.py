"""The explorer as one file that a browser opens without Python: code, diff, figures, plots, a trace if there is one.

The page runs the explorer's own script on what the kernel had sent; its controls are disabled: there is nobody to ask.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from typing import Any

from ptxlab.lab import assets, saved_debugger
from ptxlab.lab.trace_events import Shown

PARTS = (
    *("controls", "values", "code", "base", "diff", "assembly", "run", "state", "sass", "sass_diff", "problem"),
    "measures",
)
"""The traits of the view that the page is made from."""

TRACE = 1_000_000
"""Bytes of a trace that the page keeps: a file that can be sent by mail."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{style}
body {{ margin: 12px; }} [theme="dark"] body {{ background: #111; color: #ddd; }}
[theme="dark"] {{ color-scheme: dark; }}
</style></head>
<body><main><div class="ptxlab-app" id="explorer"></div>{trace}</main>
<script type="text/plain" id="parts">{parts}</script>
<script type="module">
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.setAttribute("theme", dark.matches ? "dark" : "light");
dark.addEventListener("change", follow);
follow();
const bytes = Uint8Array.from(atob(document.getElementById("parts").textContent), (c) => c.charCodeAt(0));
const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
const values = JSON.parse(await new Response(inflated).text(), (key, value) =>
  value && value.base64 !== undefined ? Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0)) : value);
const model = {{ get: (name) => values[name], set() {{}}, save_changes() {{}}, send() {{}}, on() {{}}, off() {{}} }};
{script}
widget.render({{ model, el: document.getElementById("explorer") }});
</script></body></html>
"""


def page(view: Any, debugged: Shown | None = None) -> str:
    """The file's text. view: the explorer's view with what it shows; debugged: what a debugger over it shows, with
    `TRACE` bytes of its steps."""
    values = {name: getattr(view, name, None) for name in PARTS}
    seq = (values["code"] or {}).get("seq", 0)
    values["status"] = {"state": "saved", "text": "a saved page", "busy": False, "seq": seq}
    if (values["sass"] or {}).get("seq") != seq:  # of an earlier setting, when it was wanted last
        values |= {"sass": None, "sass_diff": None}
    values |= {"wants_sass": bool(values["sass"])}
    return _PAGE.format(
        title=html.escape(f"{(values['code'] or {}).get('name', 'ptxlab')}, explored"),
        style=assets.style(),
        trace="" if debugged is None else saved_debugger.copy_html(debugged, TRACE, lean=False),
        parts=base64.b64encode(zlib.compress(json.dumps(values, default=_bytes, allow_nan=False).encode(), 9)).decode(),
        script=assets.script().replace("export default { render };", "const widget = { render };"),
    )


def _bytes(value: Any) -> dict[str, str]:
    """Bytes inside of JSON."""
    return {"base64": base64.b64encode(value).decode()}

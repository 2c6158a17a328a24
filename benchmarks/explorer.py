"""How long the explorer takes from a moved slider to the repainted page, and the debugger for a step, in a browser.

A real JupyterLab, a real Chromium, the arrow keys on the slider of `head_dim` near 64, for every kernel of the library
in its own first setting (`scalar` and `tiled` at S = 256). A key goes down, the kernel computes, the page paints; the
clock stops after the frame in which a part of the answer stands on the page. Printed are median and 95th percentile of
30, fewer where there are fewer head_dims (`python benchmarks/explorer.py`, or with the names of some kernels), and how
long the first display took from running its cell, beside what the design asks for:

    PTX and diff at most 100 ms; a setting seen before at most 50 ms
    a new result at most 0.5 s for `scalar` and `tiled`, 1 s for every other kernel; the first display at most 3 s
    a step of the debugger at most 16 ms: one frame

A step is measured four times: the work (key, script, style, layout), which has to fit into a frame, and until the page
is painted, which waits besides for the next frame of a display with 60 a second; both by the clock and in processor
time of the page's own thread, which other programs on the machine do not lengthen.

`--json FILE` keeps the numbers. Run it on a quiet machine: everything shares its cores with the browser. How quiet it
was is printed too: how much longer than its CPU time a small job took, and the CPU time that one press of the key cost
in all processes together (server, kernel, browser), which others on the machine do not change much.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

import lab_server

from ptxlab import kernels
from ptxlab.cli import doctor

TIMES = 30
PAUSE, REST = 600, 3000
"""Milliseconds before a press: of a hand that keeps moving, and of a reader. After a rest the last answer has done what
it put off (lines out of sight, garbage)."""
STEPPED = 300
"""Steps of the debugger."""
SEQ, DIM = 256, 64
LIMITS = {
    "PTX": 100, "diff": 100, "result, new": 1000, "result, seen": 50, "first display": 3000,
    "step": 16, "step, processor": 16, "painted, processor": 16,
}  # fmt: skip
"""Milliseconds that the design asks for at most."""
QUICK = dict.fromkeys(("scalar", "tiled"), 500)
"""The same for a new result of the first rungs."""

LISTEN = """() => {
    const root = document.querySelector(".ptxlab-explorer");
    window.painted = [];
    root.addEventListener("ptxlab:painted", (e) => {
        const detail = e.detail;
        const note = () => window.painted.push([detail.part, detail.seq, performance.now()]);
        requestAnimationFrame(() => setTimeout(note));
    });
    document.addEventListener("keydown", () => { window.pressed = performance.now(); window.painted = []; }, true);
}"""
"""Notes when a key goes down, and for each part the moment behind the frame in which it was painted."""

ANSWERED = """after => {
    const root = document.querySelector(".ptxlab-explorer");
    const have = new Set(window.painted.filter(([, seq]) => seq > after).map(([part]) => part));
    const all = ["code", "diff", "run", "state"].every((part) => have.has(part));
    return all && root.dataset.busy === "" && Number(root.dataset.seq) > after;
}"""


def slowdown() -> float:
    """How much longer a job of some milliseconds takes than the CPU time it needs: 1 on a quiet machine."""
    start, used = time.perf_counter(), time.process_time()
    while time.process_time() - used < 0.02:
        sum(range(1000))
    return (time.perf_counter() - start) / (time.process_time() - used)


def cpu_time() -> float:
    """Seconds of CPU that the processes started here (server, kernel, browser) have used so far."""
    import psutil

    total = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def settle(page: Any, after: int = 0) -> None:
    """Waits until the explorer is idle with an answer to a request later than `after`."""
    page.wait_for_function(
        "after => { const r = document.querySelector('.ptxlab-explorer');"
        " return r && r.dataset.busy === '' && Number(r.dataset.seq) > after }",
        arg=after,
    )


def press(page: Any, key: str, pause: int = PAUSE) -> dict[str, float]:
    """Milliseconds from the key to each painted part of the answer; the key goes down `pause` ms after the last."""
    handle = page.locator(".ptxlab-parameters .widget-slider:has(label:text-is('head dim')) .noUi-handle")
    page.wait_for_timeout(pause)
    before = int(page.get_attribute(".ptxlab-explorer", "data-seq"))
    handle.press(key)
    page.wait_for_function(ANSWERED, arg=before, polling=20)  # not once a frame: frames are what is measured
    start, painted = page.evaluate("() => [window.pressed, window.painted]")
    first: dict[str, float] = {}
    for part, seq, at in painted:
        if seq > before:
            first.setdefault(part, at - start)
    return first


def explorer(page: Any, times: int) -> dict[str, list[float]]:
    """Milliseconds of every measure for the explorer that is open: new kernels first, then two seen ones in turn."""
    page.evaluate(LISTEN)
    cpu = [cpu_time()]
    new = [press(page, "ArrowRight") for _ in range(times)]
    cpu.append(cpu_time())
    for key in ("ArrowLeft", "ArrowRight"):
        press(page, key)
    cpu.append(cpu_time())
    seen = [press(page, "ArrowLeft" if n % 2 else "ArrowRight") for n in range(1, TIMES + 1)]
    cpu.append(cpu_time())
    rested = [press(page, "ArrowLeft" if n % 2 else "ArrowRight", REST) for n in range(1, TIMES + 1)]
    print(f"slowdown by others {statistics.median(slowdown() for _ in range(9)):.1f}; CPU of a press: new "
          f"{(cpu[1] - cpu[0]) / times * 1e3:.0f} ms, seen {(cpu[3] - cpu[2]) / TIMES * 1e3:.0f} ms")  # fmt: skip
    return {
        "PTX": [m["code"] for m in new],
        "diff": [m["diff"] for m in new],
        "result, new": [m["run"] for m in new],
        "softmax, new": [m["state"] for m in new],
        "PTX, seen": [m["code"] for m in seen],
        "result, seen": [m["run"] for m in seen],
        "softmax, seen": [m["state"] for m in seen],
        "seen, after a rest": [m["run"] for m in rested],
    }


STEPS = """(count) => new Promise((done) => {
    const root = document.querySelector(".ptxlab-debugger"), slider = root.querySelector(".pl-slider"), out = [];
    const step = () => {
        if (out.length === count) return done(out);
        const start = performance.now();
        slider.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
        root.getBoundingClientRect(); // style and layout
        const work = performance.now() - start;
        requestAnimationFrame(() => setTimeout(() => {
            out.push([work, performance.now() - start]);
            setTimeout(step, 5 + 20 * Math.random()); // not in step with the display
        }));
    };
    step();
})"""
"""Goes forward step by step; the milliseconds of work and until painted of each."""


def debugger(page: Any, count: int) -> dict[str, list[float]]:
    """Milliseconds of `count` steps of the debugger that is open."""
    page.wait_for_selector('.ptxlab-debugger[data-ready="0:0"]')
    page.evaluate(STEPS, 20)  # what is compiled on first use
    both = page.evaluate(STEPS, count)
    browser = page.context.browser
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "trace.json"
        browser.start_tracing(page=page, path=str(kept), categories=["devtools.timeline", "toplevel"])
        page.evaluate(STEPS, TIMES)
        browser.stop_tracing()
        events = json.loads(kept.read_text(encoding="utf-8"))["traceEvents"]
    return {
        "step": [work for work, _ in both],
        "step, painted": [painted for _, painted in both],
        **processor(events),
    }


def processor(events: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Milliseconds of the page's thread from a trace of Chromium: for each key, and for each until the next one."""
    key = [e for e in events if e["name"] == "EventDispatch" and e["args"]["data"]["type"] == "keydown"]
    key.sort(key=lambda e: e["ts"])
    home = key[0]["pid"], key[0]["tid"]
    tasks = [e for e in events if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) == home and "tdur" in e]
    whole = [
        sum(t["tdur"] for t in tasks if a["ts"] <= t["ts"] + t["dur"] < b["ts"]) / 1000
        for a, b in itertools.pairwise(key)
    ]
    return {"step, processor": [e["tdur"] / 1000 for e in key], "painted, processor": whole}


def summary(samples: list[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    late = statistics.quantiles(samples, n=20)[-1] if len(samples) > 1 else samples[0]
    return statistics.median(samples), late


def report(
    title: str, measures: dict[str, list[float]], digits: int = 0, limits: Mapping[str, int] = LIMITS
) -> dict[str, Any]:
    """Prints a table of measures and gives it back."""
    print(f"{title}\n{'':<20}{'median':>10}{'p95':>10}{'asked':>10}")
    out: dict[str, Any] = {}
    for name, samples in measures.items():
        median, late = summary(samples)
        limit = limits.get(name)
        verdict = (
            "" if limit is None else "  met" if late <= limit else "  median met" if median <= limit else "  NOT met"
        )
        print(f"{name:<20}{median:>7.{digits}f} ms{late:>7.{digits}f} ms{f'{limit} ms' if limit else '':>10}{verdict}")
        out[name] = {"median": round(median, 1), "p95": round(late, 1), "limit": limit, "times": len(samples)}
    return out


def measure(names: Sequence[str], only: str | None = None) -> dict[str, Any]:
    """All tables, or those of one widget, for the kernels named."""
    path = doctor.browser()
    if path is None:
        raise SystemExit("benchmarks/explorer.py needs Chromium or Chrome")
    found: dict[str, Any] = {}
    for kernel in names:
        if only != "debugger":
            first, times = presses(kernel)
            size = f", seq_len={SEQ}" if kernel in QUICK else ""
            source = f'import ptxlab as pl\npl.explore("{kernel}", head_dim={first}{size})'
            with opened(path, source) as page:
                settle(page)
                shown = page.evaluate("() => performance.now() - window.began")
                measures = {"first display": [shown], **explorer(page, times)}
                limits = LIMITS | ({"result, new": QUICK[kernel]} if kernel in QUICK else {})
                title = f"{kernel}, D from {first}, {times} new kernels{size}"
                found[kernel] = report(title, measures, limits=limits)
        if only != "explorer" and kernel in QUICK:
            source = f'import ptxlab as pl\npl.debug("{kernel}", seq_len={SEQ}, head_dim={DIM}, warps=0)'
            with opened(path, source) as page:
                title = f"{kernel}, S = {SEQ}, D = {DIM}, in the debugger"
                found[f"{kernel}, debugger"] = report(title, debugger(page, STEPPED), digits=1)
    return found


def presses(kernel: str) -> tuple[int, int]:
    """The head_dim to begin with, and how many presses of the key give a new kernel: those around `DIM`."""
    limits = kernels.get(kernel).parameters["head_dim"]
    times = min(TIMES, (limits.maximum - limits.minimum) // limits.step)
    first = max(limits.minimum, min(DIM - times // 2 * limits.step, limits.maximum - times * limits.step))
    return first, times


@contextlib.contextmanager
def opened(path: str, source: str) -> Iterator[Any]:
    """A notebook with one cell in a JupyterLab of its own, run."""
    with tempfile.TemporaryDirectory() as folder:
        lab_server.write_notebook(Path(folder) / "look.ipynb", source)
        with lab_server.server(Path(folder)) as (url, token), lab_server.chromium(path) as browser:
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.set_default_timeout(60_000)
            lab_server.open_notebook(page, url, token, "look.ipynb")
            page.evaluate("() => { window.began = performance.now() }")
            lab_server.run_all(page)
            yield page


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=list(kernels.names()))
    parser.add_argument("--only", choices=("explorer", "debugger"), help="one of the two widgets")
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args()
    results = measure(options.kernels, options.only)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

"""How long the explorer takes from a moved slider to the repainted page, and the debugger for a step, in a browser.

A real JupyterLab, a real Chromium, the arrow keys on the slider of `head_dim` near 64, for every kernel of the library
in its own first setting (`scalar` and `tiled` at S = 256). A key goes down, the kernel computes, the page paints; the
clock stops after the frame in which a part of the answer stands on the page. Printed are median and 95th percentile of
ten (`--times`), fewer where there are fewer head_dims, for the kernels named or all, and how long the first display
took from running its cell, beside what the design asks for:

    PTX and diff at most 100 ms; a setting seen before at most 50 ms
    a new result at most 0.5 s for `scalar` and `tiled`, 1 s for every other kernel; the first display at most 3 s
    a step of the debugger at most 16 ms: one frame

A step is measured four times: the work (key, script, style, layout), which has to fit into a frame, and until the page
is painted, which waits besides for the next frame of a display with 60 a second; both by the clock and in processor
time of the page's own thread, which other programs on the machine do not lengthen.

New settings come in a row, so that from the third on they have been built ahead; `--no-ahead` leaves that out. `--json
FILE` keeps the numbers, `--write` the tables in `results/explorer.md`. All kernels take about eight minutes on a quiet
machine. Run it there: everything shares its cores with the browser; the load is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests/support"))

import lab_server

from ptxlab import kernels
from ptxlab.cli import doctor

TIMES = 10
RESULTS = Path(__file__).parent / "results/explorer.md"
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
        // A timer or a message would wait for whatever the kernel has sent meanwhile.
        requestAnimationFrame(() => scheduler.postTask(note, { priority: "user-blocking" }));
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


def settle(page: Any, after: int = 0) -> None:
    """Waits until the explorer is idle with an answer to a request later than `after`."""
    page.wait_for_function(
        "after => { const r = document.querySelector('.ptxlab-explorer');"
        " return r && r.dataset.busy === '' && Number(r.dataset.seq) > after }",
        arg=after,
    )


def press(page: Any, key: str, pause: int = PAUSE) -> dict[str, float]:
    """Milliseconds from the key to each painted part of the answer; the key goes down `pause` ms after the last."""
    handle = page.get_by_role("slider", name="head dim")
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


def explorer(page: Any, times: int, again: int, rested: int) -> dict[str, list[float]]:
    """Milliseconds of every measure for the explorer that is open: `times` new kernels, then two seen ones in turn,
    `again` times and, after a rest, `rested` times."""
    page.evaluate(LISTEN)
    new = [press(page, "ArrowRight") for _ in range(times)]
    for key in ("ArrowLeft", "ArrowRight"):
        press(page, key)
    seen = [press(page, "ArrowLeft" if n % 2 else "ArrowRight") for n in range(1, again + 1)]
    slow = [press(page, "ArrowLeft" if n % 2 else "ArrowRight", REST) for n in range(1, rested + 1)]
    return {
        "PTX": [m["code"] for m in new],
        "diff": [m["diff"] for m in new],
        "result, new": [m["run"] for m in new],
        "softmax, new": [m["state"] for m in new],
        "PTX, seen": [m["code"] for m in seen],
        "result, seen": [m["run"] for m in seen],
        "softmax, seen": [m["state"] for m in seen],
        **({"seen, after a rest": [m["run"] for m in slow]} if slow else {}),
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
        page.evaluate(STEPS, 30)
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
    say(f"{title}\n{'':<20}{'median':>10}{'p95':>10}{'asked':>10}")
    out: dict[str, Any] = {}
    for name, samples in measures.items():
        median, late = summary(samples)
        limit = limits.get(name)
        verdict = (
            "" if limit is None else "  met" if late <= limit else "  median met" if median <= limit else "  NOT met"
        )
        asked = f"{limit} ms" if limit else ""
        say(f"{name:<20}{median:>7.{digits}f} ms{late:>7.{digits}f} ms{asked:>10}{verdict}".rstrip())
        out[name] = {"median": round(median, 1), "p95": round(late, 1), "limit": limit, "times": len(samples)}
    return out


def measure(names: Sequence[str], only: str | None = None, times: int = TIMES) -> dict[str, Any]:
    """All tables, or those of one widget, for the kernels named."""
    path = doctor.browser()
    if path is None:
        raise SystemExit("benchmarks/explorer.py needs Chromium or Chrome")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, fresh_cache(), notebooks(path, Path(folder)) as opened:
        for kernel in names:
            if only != "debugger":
                first, new = presses(kernel, times)
                size = f", seq_len={SEQ}" if kernel in QUICK else ""
                with opened(f'import ptxlab as pl\npl.explore("{kernel}", head_dim={first}{size})') as page:
                    settle(page)
                    shown = page.evaluate("() => performance.now() - window.began")
                    rested = times // 2 if kernel in QUICK else 0
                    measures = {"first display": [shown], **explorer(page, new, times, rested)}
                    limits = LIMITS | ({"result, new": QUICK[kernel]} if kernel in QUICK else {})
                    found[kernel] = report(
                        f"{kernel}, D from {first}, {new} new kernels{size}", measures, limits=limits
                    )
            if only != "explorer" and kernel in QUICK:
                source = f'import ptxlab as pl\npl.debug("{kernel}", seq_len={SEQ}, head_dim={DIM}, warps=0)'
                with opened(source) as page:
                    title = f"{kernel}, S = {SEQ}, D = {DIM}, in the debugger"
                    found[f"{kernel}, debugger"] = report(title, debugger(page, STEPPED), digits=1)
    return found


def presses(kernel: str, most: int) -> tuple[int, int]:
    """The head_dim to begin with, and how many presses of the key give a new kernel: those around `DIM`."""
    limits = kernels.get(kernel).parameters["head_dim"]
    times = min(most, (limits.maximum - limits.minimum) // limits.step)
    first = max(limits.minimum, min(DIM - times // 2 * limits.step, limits.maximum - times * limits.step))
    return first, times


@contextlib.contextmanager
def notebooks(path: str, folder: Path) -> Iterator[Callable[[str], AbstractContextManager[Any]]]:
    """A JupyterLab and a browser; what is given runs a cell in a notebook of its own, whose kernel ends after it."""
    numbers = itertools.count()
    with lab_server.server(folder) as jupyter, lab_server.chromium(path) as browser:

        @contextlib.contextmanager
        def opened(source: str) -> Iterator[Any]:
            notebook = lab_server.write_notebook(folder / f"look{next(numbers)}.ipynb", source)
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.set_default_timeout(60_000)
            lab_server.open_notebook(page, jupyter, notebook)
            page.evaluate("() => { window.began = performance.now() }")
            lab_server.run_all(page)
            yield page
            page.close()
            jupyter.clean()

        yield opened


@contextlib.contextmanager
def fresh_cache() -> Iterator[None]:
    """A cache of code that has the rules, as after some days of use, and none of the kernels."""
    before = os.environ.get("PTXLAB_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PTXLAB_CACHE"] = folder
        subprocess.run([sys.executable, "-c", WARM], check=True)
        try:
            yield
        finally:
            del os.environ["PTXLAB_CACHE"]
            if before is not None:
                os.environ["PTXLAB_CACHE"] = before


WARM = """from ptxlab.emulate.jit.building.linked_rules import build_ahead
from ptxlab.emulate.jit.native import code
build_ahead(code.host())"""
"""Builds the rules."""


_said: list[str] = []
"""What was said."""


def say(line: str) -> None:
    """Prints a line at once, and keeps it for the results."""
    _said.append(line)
    print(line, flush=True)


def write(how: str) -> None:
    """Writes what was said into the results, with the machine and the day."""
    from llvmlite import binding

    versions = f"JupyterLab {metadata.version('jupyterlab')} in Chromium, headless; Python {platform.python_version()}"
    where = f"{platform.system()}, {os.cpu_count()} cores ({binding.get_host_cpu_name()})"
    about = textwrap.fill(f"`{how}` on {date.today()}: {versions}, {where}.", 120)
    title = "# The explorer and the debugger in the browser"
    RESULTS.write_text("\n".join([title, "", about, "", "```", *_said, "```", ""]), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=list(kernels.names()))
    parser.add_argument("--only", choices=("explorer", "debugger"), help="one of the two widgets")
    parser.add_argument("--times", type=int, default=TIMES, help=f"presses of the key for each measure ({TIMES})")
    parser.add_argument("--no-ahead", action="store_true", help="without building ahead")
    parser.add_argument("--write", action="store_true", help="write the tables into results/explorer.md")
    parser.add_argument("--json", metavar="FILE", type=Path)
    options = parser.parse_args()
    os.environ["PTXLAB_BUILD_AHEAD"] = "off" if options.no_ahead else "on"
    before = os.getloadavg()[0]
    results = measure(options.kernels, options.only, options.times)
    say(f"load of {os.cpu_count()} cores: {before:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end")
    if options.write:
        write(" ".join(["python benchmarks/explorer.py", *sys.argv[1:]]))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

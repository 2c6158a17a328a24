"""How ptxlab's objects look in a notebook: plain HTML with highlighted PTX, numbers and small pictures.

All of it is static, so a saved notebook shows it without a kernel. `register` teaches an IPython shell the objects of
the other rooms, which do not know of HTML themselves.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ptxlab import figures
from ptxlab.errors import DeviceFault, PtxlabError, PtxWarning
from ptxlab.lab import assets, highlight, plots
from ptxlab.lab.controls import said
from ptxlab.names import source_name

HEAT = "230, 120, 20"


def page(*parts: str) -> str:
    """Parts of HTML as one view with its style."""
    return f'<div class="ptxlab-view"><style>{assets.view_style()}</style>{"".join(parts)}</div>'


def head(parts: list[str]) -> str:
    """Pieces of one line. JupyterLab shows the saved outputs of a notebook that came from elsewhere without their
    style sheet, so what matters (the dots here, the height of long texts) does not depend on it."""
    return f'<div class="pl-head">{" · ".join(parts)}</div>'


def block(lines: list[str]) -> str:
    """Lines of highlighted text, which scroll where they are many."""
    return f'<pre style="max-height: 760px; overflow: auto">{chr(10).join(lines)}</pre>'


def text(words: object) -> str:
    """Words as HTML."""
    return html.escape(str(words), quote=False)


def table(rows: dict[str, object]) -> str:
    """Two columns: what, and how much."""
    return f"<table>{''.join(row([name], [value]) for name, value in rows.items())}</table>"


def row(heads: Iterable[object], cells: Iterable[object] = ()) -> str:
    """A row of a table."""
    parts = [*(f"<th>{text(head)}</th>" for head in heads), *(f"<td>{text(cell)}</td>" for cell in cells)]
    return f"<tr>{''.join(parts)}</tr>"


def ptx_html(ptx: str, counts: dict[int, int] | None = None, error: Any = None) -> str:
    """Highlighted PTX with line numbers; with `counts` (line -> thread-instructions) also how often each line ran.

    `error` (anything with `.line`) is shown under its line.
    """
    lines = highlight.ptx_lines(ptx)
    width = len(str(len(lines)))
    top = float(np.log1p(max(counts.values(), default=1))) if counts else 1.0
    out = []
    for number, line in enumerate(lines, 1):
        front = f'<span class="c">{number:{width}}</span> '
        if counts is not None:
            n = counts.get(number, 0)
            heat = 0.06 + 0.5 * float(np.log1p(n) / top) if n else 0.0
            front += f'<span style="background:rgba({HEAT},{heat:.2f})">{short_count(n) if n else "":>7}</span> '
        out.append(front + line)
        if error is not None and getattr(error, "line", 0) == number:
            out.append(f'<span class="pl-error">{text(_under_line(error, width + 1))}</span>')
    return block(out)


def _under_line(error: Any, indent: int) -> str:
    column, length = int(getattr(error, "column", 0)), int(getattr(error, "length", 1))
    caret = " " * (indent + column - 1) + "^" + "~" * max(0, length - 1) + "\n" if column else ""
    return f"{caret}{' ' * indent}{getattr(error, 'message', error)}"


def short_count(n: int) -> str:
    """12345678 as 12.3M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if n >= size:
            return f"{n / size:.3g}{unit}"
    return str(n)


# -- objects -----------------------------------------------------------------------------------------------------------


def error_html(error: Exception, ptx: str = "") -> str:
    """An error with its place: the whole message, and the PTX with the message under its line."""
    parts = [message(error)]
    line: int = getattr(error, "line", 0)
    if ptx and line:
        parts.append(f"<details><summary>the whole text</summary>{ptx_html(ptx, error=error)}</details>")
    return page(*parts)


def message(error: Exception) -> str:
    """The whole message of an error or a warning; of a fault, under the line of the source where it happened."""
    span = error.span if isinstance(error, DeviceFault) else None
    head = f"{span.headline()}\n" if span is not None else ""
    warns = isinstance(error, PtxWarning)
    bad, edge, role = ("warning", "#b7791f", "note") if warns else ("error", "#c0303c", "alert")
    style = f"border-left: 4px solid {edge}; padding: 6px 9px"
    return f'<pre class="pl-{bad}" role="{role}" style="{style}">{text(head)}{text(error)}</pre>'


def heat(run: Any) -> dict[int, int] | None:
    """PTX line -> thread-instructions of a run, None where they were not counted."""
    counters = getattr(run, "counters", None)
    return {line: threads for line, (_, threads) in counters.lines.items()} if counters else None


def run_html(run: Any) -> str:
    """A run: where, how long, how much, and the opcodes that were executed most."""
    rows: dict[str, object] = {"kernel": source_name(run.kernel), "device": run.device}
    rows |= {"time": f"{run.seconds * 1e3:.3g} ms", "grid": run.grid, "block": run.block}
    if run.counters:
        rows["executed"] = f"{run.counters.thread_instructions:,} thread-instructions"
        most = sorted(run.counters.opcodes.items(), key=lambda item: -item[1][1])[:8]
        rows |= {opcode: f"{threads:,}" for opcode, (_, threads) in most}
    return page(table(rows), *(finding._repr_html_() for finding in run.findings))


def module_html(module: Any) -> str:
    """A parsed module: its highlighted text."""
    return page(ptx_html(str(module)))


def kernel_html(kernel: Any) -> str:
    """A built kernel: its name, its size, its highlighted PTX."""
    try:
        kernel.module  # noqa: B018 - a function of the builder is first run here
    except PtxlabError as error:
        return error_html(error)
    count = sum(1 for f in kernel.module.functions for _ in f.instructions())
    return page(head([f"<b>{text(kernel.name)}</b>", f"<span>{count} instructions</span>"]), ptx_html(kernel.ptx))


def result_html(result: Any) -> str:
    """A result of `pl.attention` or `pl.decode`: its numbers."""
    marks = {"pass": "✓ pass", "FAIL": "✗ FAIL"}
    return page(table(result.table() | {"result": marks.get(result.error.verdict, result.error.verdict)}))


UNITS = ("instructions", "a block", "thread-instr.")
"""Notes of figures that say what is counted."""
STATIC_LINES = 250
"""PTX lines of a static copy: a saved notebook should stay small."""


def explorer_html(view: Any, parameters: dict[str, Any]) -> str:
    """A static copy of the explorer: what a reader sees who opens the saved notebook without a kernel. parameters: what
    the controls say."""
    code, run, state = view.code, view.run, view.state
    if not code:
        return page(f"<p>{text((view.problem or {}).get('message', 'The explorer needs a running kernel.'))}</p>")
    rows: dict[str, object] = {"kernel": f"{code['name']} for {code['arch']}, {code['instructions']} instructions"}
    rows["parameters"] = ", ".join(f"{name} {said(x)}" for name, x in parameters.items() if name != "kernel")
    rows |= _ran(run, (view.measures or {"list": ()})["list"])
    if view.problem:
        rows["error"] = view.problem["message"]
    elif not run:
        rows["run"] = f"none yet: {view.status['text']}"
    counts = (dict(run["heat"]) if run else {}) or None
    rows["copy"] = "static, of what the cell asks for; run the cell for the live explorer"
    shown = code["ptx"][:STATIC_LINES]
    left = len(code["ptx"]) - len(shown)
    more = f"<p>{left} more lines; run the cell to see them.</p>" if left else ""
    return '<div class="ptxlab-copy"></div>' + page(
        f'<div class="pl-head"><b>{text(code["title"])}</b></div>',
        table(rows),
        f"<p>{' '.join(_pictures(run, state))}</p>",
        _counted(run),
        f"<details><summary>PTX</summary>{_numbered(shown, counts)}{more}</details>",
    )


def _ran(run: Any, measured: Any) -> dict[str, object]:
    """The rows of the static copy about the run: where, the figures of the strip, and what was compared and found."""
    if not run or "device" not in run:
        return {"run": run["note"]} if run else {}
    timed = f", {run['seconds'] * 1e3:.3g} ms" if run["device"] == "GPU" else ""  # the CPU's time says nothing of a GPU
    rows: dict[str, object] = {"run": run["device"] + timed}
    for m in (m for m in measured if m["now"] is not None):
        rows[m["label"]] = f"{m['now']}{' ' if m['note'] in UNITS else ', '}{m['note']}".rstrip(", ")
    for way in run["ways"]:
        found = way["note"] or f"max {_number(way['max'])}, mean {_number(way['mean'])}"
        rows[f"{way['label']} against {way['against']}"] = found
    rows |= {f"✗ {n} {f['check']}": f"{f['message']} {f['more']}" for n, f in enumerate(run["findings"], 1)}
    return rows | dict(run["arrays"])


def _pictures(run: Any, state: Any) -> Iterator[str]:
    """The error and the online softmax of the static copy."""
    if run and (found := run["map"]):
        ratio = np.frombuffer(found["values"], np.float32).reshape(found["rows"], found["cols"])
        figure = figures.new_figure(None, (3.2, 2.8))
        plots.draw_error(figure, ratio, found["row_name"], (found["seq"], found["dim"]))
        yield figures.image(figure, "error of the output over its tolerance")
    if state and "note" not in state:
        kernel, exact = (
            np.array([state[who][name] for name, *_ in plots.SERIES], np.float64).T for who in ("kernel", "numpy")
        )
        figure = figures.new_figure(None, (4.6, 3.4))
        plots.draw_state(figure, kernel, exact, state["unit"], joined=not state.get("parts"))
        yield figures.image(figure, "m, l and rescale of the online softmax")


def _counted(run: Any) -> str:
    """The counters of the static copy, folded."""
    counters = run.get("counters") if run else None
    if not counters:
        return ""
    rows: dict[str, object] = {
        name: f"{warps:,} warps, {threads:,} threads" for name, warps, threads in counters["opcodes"]
    }
    for row in (*counters["memory"], *counters["work"]):
        ideal = "" if row["ideal"] is None else f" (ideal {row['ideal']:,})"
        rows[row["name"].strip()] = f"{row['value']:,} {row['unit']}{ideal}, {row['origin']}"
    return f"<details><summary>Counters</summary>{table(rows)}</details>"


def _numbered(rows: list[str], counts: dict[int, int] | None) -> str:
    front = [f"{n:4} {short_count(counts[n]) if counts and n in counts else '':>6} " for n in range(1, len(rows) + 1)]
    return f"<pre>{chr(10).join(f'<span class=c>{a}</span>{b}' for a, b in zip(front, rows, strict=True))}</pre>"


def _number(x: Any) -> str:
    return x if isinstance(x, str) else f"{x:.3g}"


def register(shell: Any) -> None:
    """Gives an IPython shell the HTML of Run, Result, Module and built kernels."""
    formatter = shell.display_formatter.formatters["text/html"]
    for module, name, show in (
        ("ptxlab.launch.run", "Run", run_html),
        ("ptxlab.attention.problem", "Result", result_html),
        ("ptxlab.text.model", "Module", module_html),
        ("ptxlab.kernels.spec", "Built", kernel_html),
        ("ptxlab.kernels.decode_spec", "DecodeBuilt", kernel_html),
        ("ptxlab.builder.kernel", "Kernel", kernel_html),
        ("ptxlab.builder.kernel", "KernelFunction", kernel_html),
    ):
        formatter.for_type_by_name(module, name, show)

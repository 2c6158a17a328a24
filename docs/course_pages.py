"""Writes the pages of the course and the front page's trace: notebooks with their outputs, the bug gallery, results.

Notebooks are committed with the outputs of a run, so nothing is run here but the kernels whose traces are shown.
"""

from __future__ import annotations

import base64
import binascii
import html
import itertools
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.course import build, feedback, outputs, slides
from ptxlab.course.exercises.e00_start import SQUARE
from ptxlab.course.gallery.exhibit import Exhibit
from ptxlab.lab import assets, saved
from ptxlab.lab.trace_events import Shown

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\((\d\d[a-z]?-[a-z-]+)\.ipynb\)")
COLOUR = re.compile("\x1b\\[[0-9;]*m")
LECTURE = ("00", "01", "02", "02b", "05", "08")
"""The notebooks of `lecture.md`, which are shown as slides."""
RESULTS = ("notebooks", "decode", "explorer", "prefill_registers", "hopper", "fuzz", "course_grading", "sweeps")


def main(folder: Path) -> None:
    """Writes all pages into a folder."""
    for source in build.sources():
        made = build.committed(ROOT / "notebooks" / f"{source.stem}.ipynb")
        _write(folder / "notebooks" / f"{source.stem}.md", notebook_page(made, folder / "notebooks", source.stem))
    _write(folder / "notebooks" / "index.md", notebooks_index())
    for exhibit in pl.gallery():
        _write(folder / "gallery" / f"{exhibit.number:02}.md", exhibit_page(exhibit))
    _write(folder / "gallery" / "index.md", gallery_index())
    _write(folder / "results.md", results_page())
    for name in pl.kernels.names():
        page = folder / "kernels" / f"{name}.md"
        _write(page, f"{page.read_text(encoding='utf-8')}\n{trace_of(name)}\n{explored(name)}")
        _write(folder / "pages" / "explorer" / f"{name}.html", explorer_page(name))
    for number in LECTURE:
        page = slides.slides(number, folder / "pages" / "slides")
        text = page.read_text(encoding="utf-8")  # other notebooks are pages of the site
        _write(page, re.sub(r'href="([\w-]+)\.ipynb"', r'href="../generated/notebooks/\1.html"', text))
    _write(folder / "trace.html", front_trace())
    _write(folder / "first.html", first_exercise())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _fence(text: str, language: str) -> str:
    marks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    return f"{marks}{language}\n{text.rstrip()}\n{marks}\n"


# -- notebooks ---------------------------------------------------------------------------------------------------------


def notebooks_index() -> str:
    """The notebooks in reading order."""
    names = "\n".join(source.stem for source in build.sources())
    return (
        f"# The course\n\n{len(build.sources())} notebooks, from the first line of PTX to a paged GQA decode on tensor "
        "cores, and on to Hopper. These pages show them with the outputs of a run. To work with them, run "
        "`ptxlab course release notebooks` and then `ptxlab lab`.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    )


def notebook_page(notebook: Any, folder: Path, stem: str) -> str:
    """A notebook as Markdown: prose as it stands, code, and what it showed. Pictures are written into the folder."""
    out: list[str] = []
    heading = ""
    for at, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            text = LINK.sub(r"](\1.md)", cell.source)
            if out:  # one title per page
                text = re.sub(r"^# ", "## ", text, flags=re.MULTILINE)
            heading = next((line.lstrip("# ") for line in reversed(text.splitlines()) if line.startswith("#")), heading)
            out.append(text)
            continue
        if cell.source.startswith("%%") or "\n!" in cell.source:
            code = _fence(cell.source, "text")
        else:
            code = _fence(cell.source, "python")
        folded = cell.metadata.get("jupyter", {}).get("source_hidden")
        out.append(_folded(code) if folded else code)
        if outputs.is_exercise(cell):
            out.append("*Run this cell in the notebook: `check` says what happened.*")
        out += [_output(output, folder, f"{stem}-{at}-{n}", heading) for n, output in enumerate(cell.outputs)]
    return "\n\n".join(part for part in out if part) + "\n"


def _folded(code: str) -> str:
    begin = '<details class="code"><summary>the code of this picture</summary>'
    return f"```{{raw}} html\n{begin}\n```\n\n{code}\n\n```{{raw}} html\n</details>\n```"


def _output(output: Any, folder: Path, name: str, heading: str) -> str:
    """What a cell showed: HTML where it has some that is more than a picture, else a picture, else text."""
    if output.output_type == "stream":
        return _fence(COLOUR.sub("", output.text), "text")
    data = output.get("data", {})
    if "text/html" in data and not ("image/png" in data and "ptxlab-figure" in data["text/html"]):
        return f'`````{{raw}} html\n<div class="output">{data["text/html"]}</div>\n`````'
    if "image/png" in data:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            (folder / f"{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        except binascii.Error as error:
            raise ValueError(f"{name}: the picture is damaged: {error}") from None
        return f"```{{image}} {name}.png\n:alt: A plot: {heading}\n```"
    return _fence(COLOUR.sub("", data["text/plain"]), "text") if data.get("text/plain") else ""


# -- the gallery, results ----------------------------------------------------------------------------------------------


def gallery_index() -> str:
    """The exhibits by number."""
    names = "\n".join(f"{exhibit.number:02}" for exhibit in pl.gallery())
    return (
        "# The bug gallery\n\nKernels with one mistake each, of the kind that passes its author's test: what hides "
        "it, what finds it, and the repair. In a notebook, `pl.gallery(7).hunt()` shows the suspect without the "
        "solution.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"
    )


def exhibit_page(exhibit: Exhibit) -> str:
    """One bug: its story, both kernels on the inputs, what the finder says, the repair."""
    shown = exhibit._repr_mimebundle_()["text/html"]
    return f'# {exhibit.heading}\n\n`````{{raw}} html\n<div class="output">{shown}</div>\n`````\n'


def results_page() -> str:
    """The committed results of the benchmarks, one after the other."""
    out = [
        "# Results",
        "",
        "What the benchmarks in `benchmarks/` measured; each says the command, the machine and the day.",
        "",
    ]
    for pattern in RESULTS:
        pages = sorted((ROOT / "benchmarks" / "results").glob(f"{pattern}.md"))
        if not pages:
            raise FileNotFoundError(f"benchmarks/results has no page {pattern}.md")
        for path in pages:
            out += [re.sub(r"^#", "##", path.read_text(encoding="utf-8"), flags=re.MULTILINE), ""]
    return "\n".join(out)


# -- the trace of the front page ---------------------------------------------------------------------------------------


@kernel
def softmax_row(k: Builder, score: Ptr[f32], weight: Ptr[f32]) -> None:
    """Softmax of 32 scores by one warp."""
    lane = k.tid.x
    mine = k.var(f32, score[lane] * 1.442695)  # 2^x instead of e^x
    largest = k.var(f32, mine)
    for distance in (16, 8, 4, 2, 1):
        largest.set(k.max(largest, k.shfl(largest, distance, 31, -1, mode="bfly")))
    mine.set(k.exp2(mine - largest))
    total = k.var(f32, mine)
    for distance in (16, 8, 4, 2, 1):
        total += k.shfl(total, distance, 31, -1, mode="bfly")
    weight[lane] = mine / total


def front_trace() -> str:
    """The viewer on a recorded warp, as HTML for the front page; it opens at the first exchange."""
    scores = np.random.default_rng(4).standard_normal(32).astype(np.float32)
    run = pl.launch(softmax_row, 1, 32, scores, np.zeros(32, np.float32), device="step", trace=pl.Trace())
    assert run.trace is not None
    first = next(n for n, line in enumerate(run.trace.text.splitlines(), 1) if "shfl" in line)
    return saved.copy_html(Shown(run.trace, at=[first]), None)


def explored(name: str) -> str:
    """A section that leads to the kernel's page in the explorer, which is beside the site's own pages."""
    link = f'<a href="../../explorer/{name}.html">{name} in the explorer</a>'
    return (
        "## Look at all of it\n\n"
        f"```{{raw}} html\n<p>{link}: its PTX, Python, counters, error and softmax, and what a mask or "
        "another head_dim changes in it. It needs no Python.</p>\n```\n"
    )


def explorer_page(name: str) -> str:
    """The explorer on a kernel of the library as one file, beside the version that it is compared with."""
    explorer = pl.explore(name, device="cpu")
    parameters = explorer.parameters
    changed = {"causal": not parameters["causal"]} if "causal" in parameters else {"head_dim": 128}
    kept = {key: parameters[key] for key in changed}
    explorer.set(**changed)
    explorer.wait(300)
    explorer.pin()
    explorer.set(**kept)
    assert explorer.wait(300), f"{name}: no result in 5 minutes"
    return explorer.page()


def trace_of(name: str) -> str:
    """A section with the viewer on the first warp of a small run of a kernel of the library."""
    sizes = {"seq_len": 8} if name in pl.kernels.names("prefill") else {"seq_k": 8}
    head_dim = max(16, pl.kernels.get(name).parameters["head_dim"].minimum)
    debugger = pl.debug(name, head_dim=head_dim, **sizes, blocks=0, warps=0)
    viewer = saved.copy_html(debugger.shown)
    return f'## Step through it\n\n`````{{raw}} html\n<div class="output">{viewer}</div>\n`````\n'


# -- the first exercise, in the browser --------------------------------------------------------------------------------

DOUBLED = re.compile(r"^ *add\.f32 .*$", re.MULTILINE)
"""The line of the starter that the exercise changes."""
CHOICES = ("add.f32         %v, %v, %v;", "mul.f32         %v, %v, %v;", "add.f32         %v, %v, 1.0;",
           "mul.f32         %v, %v, 2.0;", "fma.rn.f32      %v, %v, %v, 1.0;", "")  # fmt: skip


def first_exercise() -> str:
    """00-square as HTML: choices for its two lines, and for each answer what the check says and its trace."""
    starter = SQUARE.starter.split('"""')[1].strip()
    answers, changed = {}, starter[: starter.index(DOUBLED.findall(starter)[0])].count("\n") + 1
    for one, other in itertools.product(range(len(CHOICES)), repeat=2):
        lines = "\n".join(f"    {CHOICES[n]}" for n in (one, other) if CHOICES[n])
        ptx = DOUBLED.sub(lines, starter, count=1)
        run = pl.launch(ptx, 1, 32, np.arange(32, dtype=np.float32), device="step", trace=pl.Trace())
        assert run.trace is not None
        part, info = saved.copy_part(Shown(run.trace, at=[changed]), None)
        says = feedback.judge(SQUARE, ptx)._repr_mimebundle_()["text/html"]
        answers[f"{one},{other}"] = {"html": says, "info": info, "trace": base64.b64encode(part.data).decode()}
    script = assets.script("debugger", "keys.js").replace("export default { render };", "render({ model, el });")
    packed = json.dumps({"script": script, "style": assets.style("debugger"), "answers": answers})
    data = base64.b64encode(zlib.compress(packed.encode(), 9)).decode()
    listing = html.escape(starter)
    before, after = DOUBLED.split(listing)
    lines = "\n".join(f"    {_choice(name, start)}" for name, start in (("first line", 0), ("second line", 5)))
    return (
        f'<div class="first"><pre>{before}{lines}{after}</pre><div class="says output" aria-live="polite"></div>'
        f'<div class="trace"></div><script type="application/json">{data}</script>'
        '<script src="_static/first.js" defer></script></div>'
    )


def _choice(name: str, start: int) -> str:
    options = "".join(
        f'<option value="{n}"{" selected" * (n == start)}>{html.escape(line) or "(no line)"}</option>'
        for n, line in enumerate(CHOICES)
    )
    return f'<select aria-label="{name}">{options}</select>'

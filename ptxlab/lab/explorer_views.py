"""What the explorer shows, stage by stage, as plain data: code, diff, assembler, run, state, machine code.

Each function takes the request or what an earlier stage made and returns a part for the page, as `protocol` has it.
Nothing here knows of widgets or threads, so all of it can be called and tested by itself.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ptxlab import gpu, targets
from ptxlab.errors import AssemblyError, PtxError, PtxlabError, UnavailableError
from ptxlab.lab import dataflow, edited_kernel, highlight, hover, measures, protocol, run_pane
from ptxlab.lab.alignment import Row, compare, declares
from ptxlab.lab.highlight import opcode_html, span
from ptxlab.lab.hover import table
from ptxlab.lab.kernel_subject import Text, target_of
from ptxlab.lab.subject import TITLES, Ran, Request
from ptxlab.lab.variant_controls import said
from ptxlab.names import source_name
from ptxlab.text.validate import validate


@dataclass
class Version:
    """A built kernel and its code pane: `request` is what it was built for, `code` what the page gets, `lines` the PTX
    as text for the diff, `error` why the text could not be read, where it could not, `finished` whether `finish` has
    made the code pane."""

    request: Request
    built: Any
    code: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    error: PtxlabError | None = None
    finished: bool = False


# -- code and diff -----------------------------------------------------------------------------------------------------


def build(request: Request) -> Version:
    """A kernel and its code pane, whose `lesson` is the subject's, with the `row` of the source that its line is of."""
    version = begun(request)
    finish(version)
    return version


def begun(request: Request) -> Version:
    """A version whose kernel is built and can run, but whose code pane is not made yet: `finish` does that."""
    request.check()
    start = time.perf_counter()
    built = edited_kernel.made(request.subject, request.given)
    lines, error = built.ptx.splitlines(), None
    try:
        _ = built.module
    except PtxError as mistake:
        error = mistake
    return Version(request, built, {"seconds": time.perf_counter() - start}, lines, error)


def finish(version: Version) -> None:
    """Makes the code pane."""
    request, built, seconds = version.request, version.built, version.code["seconds"]
    subject, values, ptx = request.subject, request.given, built.ptx
    module = None if version.error is not None else built.module
    version.code = code = {
        "title": subject.title,
        "of": (subject.base or subject).title,
        "name": source_name(built.name) or subject.name,
        "arch": values.get("arch", ""),
        "seconds": seconds,
        "instructions": 0,
        "ptx": highlight.ptx_lines(ptx),
        "python": None,
        "links": [],
        **hover.NOTHING,
        "touched": [],
        "stores": [],
        "lesson": None,
    }
    if module is not None:
        code["python"], code["links"] = highlight.python_pane(module.spans, subject.sources)
        code["instructions"] = sum(1 for f in module.functions for _ in f.instructions())
        code |= hover.of_module(module)
        titles = {p.name: p.title for p in getattr(built, "params", ()) if getattr(p, "title", "") not in ("", p.name)}
        code["words"] |= {symbol: f"The parameter `{title}`." for symbol, title in titles.items()}
        accesses = dataflow.accesses(module)
        code["touched"] = [[line, what] for line, what in sorted(dataflow.touched(accesses).items())]
        code["stores"] = dataflow.stores_of(accesses, "o")
        if lesson := edited_kernel.LESSON if subject.base else subject.lesson(built):
            code["lesson"] = {**lesson, "row": next((row for line, row in code["links"] if line == lesson["line"]), 0)}
    version.finished = True


_SHORT = {"same": "s", "renamed": "r", "changed": "c", "added": "+", "removed": "-", "note": "n"}
CHANGES = ("added", "removed", "changed")
GAP, COPIES = 3, 8
"""Rows between two changes of one run, at most; copies of a change of which one is shown."""


def diff(base: Version, version: Version) -> protocol.Diff:
    """What became of another version. `summary` counts instructions, `declarations` the other lines that changed."""
    rows = compare(base.lines, version.lines)
    new = [version.lines[r.b] if r.b is not None else base.lines[r.a or 0] for r in rows]
    quiet = [r.kind in CHANGES and declares(line) for r, line in zip(rows, new, strict=True)]
    return {
        "title": difference(base, version),
        "summary": _summary([r for r, declared in zip(rows, quiet, strict=True) if not declared], "instruction"),
        "against": f"{base.code['name']} · {base.code['arch']}",
        "renamed": sum(r.kind == "renamed" for r in rows),
        "declarations": sum(quiet),
        "rows": _folded([_row(r, "." * q) for r, q in zip(rows, quiet, strict=True)], new),
        "python": _source_diff(base.code["python"], version.code["python"]),
    }


def base(version: Version) -> protocol.Base:
    """What the page needs of the version that another is compared with."""
    python = version.code["python"]
    return {
        "ptx": version.code["ptx"],
        "python": python and {name: python[name] for name in ("lines", "numbers", "files")},
        "links": version.code["links"],
    }


def _folded(rows: list[list[Any]], lines: list[str]) -> list[list[Any]]:
    """Marks, in rows of these `lines`, the further copies of a change that is made for each of a thread's scores: "*"
    before the kind of a line, "**" at the end of a copy. A copy is one if the first and what leads to it have all of
    its opcodes."""
    shapes = [re.sub(r"%\w+|\b\d\w*", "%", line.partition("//")[0]) for line in lines]
    changed = [n for n, row in enumerate(rows) if row[0][-1] in "c+-" and row[0][0] != "."]
    for begin, last in _runs(changed):
        end = min(last + 1 + GAP, len(rows))  # the last copy may end with lines that are as they were
        ends: dict[str, list[int]] = {}
        for n in range(begin, end):
            ends.setdefault(shapes[n], []).append(n)
        for at in (ends[shapes[n]] for n in range(end - 1, begin, -1)):
            parts = (begin, at[0] + 1), (at[0], at[-1])
            shown, more = ({shapes[n].lstrip().partition(" ")[0] for n in range(*part)} for part in parts)
            if len(at) >= COPIES and more <= shown:
                gone = all(rows[n][2] is None for n in at)  # else lines of the old text are the ends of no copy
                for n in range(at[0] + 1, at[-1] + 1):
                    rows[n][0] = ("**" if n in at and (rows[n][2] is None) == gone else "*") + rows[n][0]
                break
    return rows


def _runs(changed: list[int]) -> Iterator[tuple[int, int]]:
    """The first and the last row of changes that have no more than `GAP` other rows in between."""
    begin = 0
    for n in range(1, len(changed) + 1):
        if n == len(changed) or changed[n] - changed[n - 1] > GAP + 1:
            yield changed[begin], changed[n - 1]
            begin = n


def difference(a: Version, b: Version) -> str:
    """The parameters of the PTX in which two versions differ, as in `KV tile 32 → 16, causal off → on`; "" if none."""
    if a.request.subject.name != b.request.subject.name:
        return f"{a.request.subject.name} → {b.request.subject.name}"
    old, (before, now) = a.request.given, (v.request.subject for v in (a, b))
    found = [f"text {before.text} → {now.text}"] if before.text != now.text else []
    if before.options != now.options:
        found.append(f"ptxas options {before.told_options} → {now.told_options}")
    changed = (name for name, value in b.request.version_key[1] if old.get(name) != value)
    return ", ".join(
        found
        + [
            f"{TITLES.get(name, name)} {_setting(a, name) if name in old else 'none'} → {_setting(b, name)}"
            for name in changed
        ]
    )


def _setting(version: Version, name: str, request: Request | None = None) -> str:
    """A parameter's value, as its control says it; what was left to the kernel with what it chose."""
    value = said((request or version.request).given, name)
    if value is None:
        chosen = getattr(version.built, name, None) or getattr(getattr(version.built, "config", None), name, None)
        return "auto" if chosen is None else f"auto ({chosen})"
    if name == "sigma":
        return f"{value:.2f}"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


def _summary(rows: list[Row], what: str) -> str:
    added, removed, changed = (sum(r.kind == k for r in rows) for k in CHANGES)
    return f"+{added} −{removed} ~{changed}" if added or removed or changed else f"no {what} changed"


def _source_diff(old: dict[str, Any] | None, new: dict[str, Any] | None) -> protocol.Compared | None:
    """The Python of two versions, where both have it."""
    if old is None or new is None:
        return None
    rows = compare(_plain(old["lines"]), _plain(new["lines"]), "python")
    return {"summary": _summary(rows, "line"), "rows": [_row(r) for r in rows]}


def _plain(lines: list[str]) -> list[str]:
    """Lines of a pane without their markup."""
    return [html.unescape(re.sub("<[^>]*>", "", line)) for line in lines]


def _row(row: Row, mark: str = "") -> list[Any]:
    ranges = [[list(r) for r in row.left], [list(r) for r in row.right]] if row.kind == "changed" else []
    return [mark + _SHORT[row.kind], row.a, row.b, *ranges]


# -- the assembler -----------------------------------------------------------------------------------------------------


def assemble(version: Version, request: Request) -> dict[str, Any]:
    """The assembler's figures, with its options behind the target; where it refuses the text also the `error`."""
    values, options = request.given, request.subject.options
    try:
        made = gpu.assemble(version.built, _other_arch(version, values), options=options)
    except UnavailableError as missing:
        if mistake := _mistake(version):
            return {"state": "error", "note": mistake.message, "error": mistake}
        return {"state": "missing", "note": str(missing).splitlines()[0]}
    except AssemblyError as error:
        return {"state": "error", "note": error.message, "error": _mistake(version) or error}
    usage = next((k for k in made.kernels if k.name == version.built.name), None)
    registers, static = (usage.registers, usage.shared_bytes) if usage else (made.registers, made.shared_bytes)
    shape = request.subject.shape(version.built, values)
    shared = static + (shape[2] if shape else 0)
    asked = values.get("arch") or target_of(version.built.ptx)
    target = asked if asked in targets.TARGETS else made.arch  # also one that is too old for the assembler
    return {
        "state": "ok",
        "arch": " ".join([made.arch, *options]),
        "registers": registers,
        "spill_bytes": made.spill_bytes,
        "shared_bytes": shared,
        "seconds": made.seconds,
        "occupancy": occupancy(target, registers, shared, shape[1]) if shape else None,
    }


def _mistake(version: Version) -> PtxError | None:
    """The first mistake in a student's text that the instruction table knows of: it says more than the assembler."""
    return next(iter(validate(version.built.module)), None) if isinstance(version.built, Text) else None


def _other_arch(version: Version, values: dict[str, Any]) -> str | None:
    """The target to assemble for, where it is not the text's own."""
    arch = values.get("arch")
    return arch if arch and arch != target_of(version.built.ptx) else None


def occupancy(arch: str, registers: int, shared: int, block: tuple[int, int, int]) -> protocol.Occupancy | None:
    """How much of a multiprocessor this kernel can keep busy, and what keeps it from more. None for a target whose
    limits are not known here."""
    if arch not in targets.TARGETS:
        return None
    threads = block[0] * block[1] * block[2]
    found = targets.occupancy(arch, threads, registers, shared)
    return {
        "percent": round(100 * found.share, 1),
        "limiter": found.limiter,
        "text": str(found),
        "blocks": found.blocks,
        "warps": found.warps,
        "most": targets.get(arch).warps_per_sm,
        "threads": threads,
        "limits": list(found.limits.items()),
    }


_MACHINE_WORD = re.compile(
    r"""(?P<g>@!?U?P\w+)|(?P<l>`\([^)]*\))|(?P<r>\b(?:UR|R|UP|P|B)\d+(?:\.\w+)*|\bU?RZ\b|!?\bU?PT\b)"""
    r"""|(?P<x>\bSR_[\w.]+|\bc\[[^\]]*\]\[[^\]]*\]|\bdesc\b)|(?P<n>-?\b(?:0x[0-9a-f]+|\d[\d.e+-]*)\b|[+-]INF)""",
    re.VERBOSE,
)

OPCODES = {name: word.says for name, word in table("machine").items()}
"""What machine opcodes do, in our words."""


def sass(version: Version, request: Request) -> dict[str, Any]:
    """The machine code, linked line by line to the PTX that it came from; see `protocol.Sass`. Raises `AssemblyError`.

    The link is line information: each PTX line gets a `.loc` of its own before NVIDIA's assembler sees it, and the
    disassembler says for every machine instruction which `.loc` was in force. One PTX instruction may become none, one
    or many machine instructions, and the assembler moves them about, so lines of both sides interleave.
    """
    built, arch, options = version.built, _other_arch(version, request.given), request.subject.options
    try:
        code = gpu.sass(built, arch, options=options)
    except UnavailableError as missing:
        return {"state": "missing", "note": f"needs ptxlab[sass]: {str(missing).splitlines()[0]}"}
    lines: list[str] = []
    links: list[list[int]] = []
    docs: dict[str, str] = {}
    count = 0
    for function in sorted(code.functions, key=lambda f: f.name != built.name):
        if lines:
            lines.append("")
        told = " " + span("s", " ".join(["ptxas", *options])) if options else ""
        lines.append(span("d", source_name(function.name)) + told)
        for instruction in function.instructions:
            lines.append(_machine_html(instruction))
            count += 1
            word = instruction.opcode.partition(".")[0]
            if word in OPCODES:
                docs[word] = OPCODES[word]
            if instruction.line:
                links.append([instruction.line, len(lines)])
    return {"state": "ok", "arch": code.arch, "lines": lines, "links": links, "docs": docs, "instructions": count}


def _machine_html(instruction: Any) -> str:
    """An instruction as HTML with the classes of `lab.highlight`, its address in front."""
    before, _, after = instruction.text.partition(instruction.opcode)
    address = span("c", f"{instruction.address:04x}")
    return f"{address} {_machine_words(before):<4}{opcode_html(instruction.opcode)}{_machine_words(after)}"


def _machine_words(text: str) -> str:
    out, at = [], 0
    for found in _MACHINE_WORD.finditer(text):
        css = {"g": "x"}.get(str(found.lastgroup), str(found.lastgroup))
        out += [span("", text[at : found.start()]), span(css, found.group())]
        at = found.end()
    return "".join([*out, span("", text[at:])])


def sass_diff(base: Version, version: Version, request: Request) -> dict[str, Any] | None:
    """The machine code of both versions compared, registers renamed as the assembler happens to number them. None where
    there is no machine code to compare."""
    before, after = sass(base, base.request), sass(version, request)
    if before["state"] != "ok" or after["state"] != "ok":
        return None
    rows = [
        r if 'class="c"' in (before["lines"][r.a] if r.b is None else after["lines"][r.b]) else replace(r, kind="same")
        for r in compare(_plain(before["lines"]), _plain(after["lines"]), "sass")
    ]  # the names of the kernels have no address, and are no instructions
    renamed = sum(r.kind == "renamed" for r in rows)
    return {
        "summary": _summary(rows, "machine instruction"),
        "renamed": renamed,
        "old": before["lines"],
        "rows": [_row(r) for r in rows],
    }


# -- the run -----------------------------------------------------------------------------------------------------------


def run(version: Version, request: Request) -> Ran | None:
    """Runs the kernel; faults go to the caller. None where the subject has nothing to run."""
    return request.subject.run(version.built, request.given, request.device)


def state(version: Version, request: Request, ran: Ran | None) -> dict[str, Any] | None:
    """The online softmax of a row, None for skipped tiles; `makers` are the PTX lines that compute each number. None
    where a subject has no such state."""
    if ran is None or ran.judged is None:
        return None
    head, row = run_pane.shown_head(request, ran), run_pane.shown_row(request, ran)
    try:
        return request.subject.state(version.built, request.given, ran, head, row)
    except edited_kernel.NotRecorded as why:
        return {"label": "edited", "tiles": 0, "tile_kv": 1, "unit": "tile", "row": row, "note": str(why)}


def state_before(state: dict[str, Any], was: dict[str, Any] | None) -> protocol.Series | None:
    """The kernel's series of another setting's state, where it is of the same row, and of tiles of as many keys."""
    if was is None or was is state or "parts" in state:  # parts have as many keys as the grid leaves them
        return None
    return was.get("kernel") if all(was[name] == state[name] for name in ("row", "unit", "tile_kv")) else None


# -- what changed ------------------------------------------------------------------------------------------------------


def setting(
    version: Version,
    request: Request,
    assembly: dict[str, Any] | None = None,
    run: dict[str, Any] | None = None,
    ran: Ran | None = None,
) -> measures.Setting:
    """What later settings are compared with, from the answers to this request as far as they are there."""
    counts = ran.counts if ran else None
    counted: protocol.Counted | None = None
    if counts:
        counted = {
            "opcodes": {name: warps for name, (warps, _) in counts.opcodes.items()},
            "pipes": dict(counts.pipes),
            "rows": {name: row["value"] for name, row in measures.counter_rows(run or {}).items()},
        }
    return measures.Setting(
        request.result_key,
        version,
        {
            "text": request.subject.text,
            "ptxas options": request.subject.told_options,
            "device": request.device,
            **{p.name: _setting(version, p.name, request) for p in request.subject.parameters},
        },
        request.subject.size(request.given),
        measures.figures(version.code, assembly or {}, run or {}),
        counted,
    )


# -- errors ------------------------------------------------------------------------------------------------------------


def problem(error: Exception, version: Version | None) -> protocol.Problem:
    """Any error for the page."""
    line = int(getattr(error, "line", 0) or 0)
    links = version.code["links"] if version is not None and line else []
    python_line = next((y for p, y in links if p == line), None)
    titles = {
        "TargetError": "This does not fit",
        "LaunchError": "These parameters do not fit together",
        "AssemblyError": "NVIDIA's assembler refused the PTX",
        "DeviceFault": "The kernel was stopped",
        "UnsupportedInstruction": "The emulator cannot run this",
        "PtxSyntaxError": "The PTX has a mistake",
        "PtxError": "The PTX has a mistake",
        "CompileError": "The compiler refused the source",
        "BuildError": "The Python that writes the kernel has a mistake",
    }
    name = type(error).__name__
    known = isinstance(error, PtxlabError)
    message = str(error) if known else f"{name}: {error}"
    title = titles.get(name, "Something went wrong" if known else "Unexpected error in ptxlab")
    return {
        "title": title,
        "message": message,
        "line": line,
        "python_line": python_line,
        "block": getattr(error, "block", None),
        "thread": getattr(error, "thread", None),
    }

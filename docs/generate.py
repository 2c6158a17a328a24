"""Writes a page for each opcode, from the instruction table, and one for each kernel; `reference.py` has the rest.

The pages are Markdown (MyST) in docs/generated; they are made anew by every build and not committed.
"""

from __future__ import annotations

import ast
import functools
import inspect
import shutil
import textwrap
import types as python_types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import reference

import ptxlab as pl
from ptxlab import isa
from ptxlab.isa import glossary
from ptxlab.isa.accuracy import accuracy
from ptxlab.isa.coverage import coverage, shown_by
from ptxlab.isa.docs import explain
from ptxlab.isa.entries import Op
from ptxlab.isa.examples import line, opcodes
from ptxlab.isa.table import TABLE

RUN_BY = {
    "flow": "Control flow, which each engine runs itself: `ptxlab/emulate/step/control_flow.py`, "
    "`ptxlab/emulate/jit/control/control_flow.py`.",
    "none": "It changes nothing that a program can see on the emulator, so it does nothing there.",
    "warp": "A matrix instruction of a whole warp: `ptxlab/emulate/step/bodies/matrices.py` says how its numbers are "
    "computed, and `ptxlab/isa/fragments.py` which lane holds what.",
    "async": "An asynchronous copy: `ptxlab/emulate/step/bodies/copies.py`.",
}
"""How an entry without semantics of its own is executed, by its kind."""


def main(folder: Path) -> None:
    """Writes all pages into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    _write(folder / "isa" / "index.md", isa_index())
    for opcode, entries in TABLE.items():
        _write(folder / "isa" / f"{opcode}.md", isa_page(opcode, entries))
    _write(folder / "kernels" / "index.md", kernels_index())
    for name in pl.kernels.names():
        _write(folder / "kernels" / f"{name}.md", kernel_page(name))
    reference.main(folder / "reference")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _fence(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


def _prose(text: str) -> str:
    """A text of the table, one paragraph, for Markdown."""
    return " ".join(text.split()).replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_")


# -- the instruction table ---------------------------------------------------------------------------------------------


def isa_index() -> str:
    """Opcodes by the file that defines them, with how many of their forms the emulator executes."""
    rows = {row.opcode: row for row in coverage()}
    executed = sum(r.executed for r in rows.values())
    out = [
        "# Instructions", "",
        f"{len(rows)} opcodes with {sum(r.forms for r in rows.values())} forms, of which the emulator executes "
        f"{executed}; the others can be assembled and run on a GPU. Each page is made from the instruction table, "
        "`ptxlab/isa/`: the same text that the parser, the hover help, the builder and both engines use.", "",
    ]  # fmt: skip
    for module in isa.MODULES:
        here = [name for name, entries in TABLE.items() if _module_of(entries[0]) == module.__name__]
        if here:
            says = (module.__doc__ or "").splitlines()[0]
            out += [
                f"## {says.partition(':')[0].rstrip('.')}",
                "",
                _prose(says),
                "",
                "```{toctree}",
                ":maxdepth: 1",
                "",
            ]
            out += [*here, "```", ""]
    return "\n".join(out)


def _module_of(entry: Op) -> str:
    """The module that an entry comes from: the first whose source has the beginning of its syntax."""
    return _modules()[entry.name]


@functools.cache
def _modules() -> dict[str, str]:
    """Opcode -> the module of the table that defines it, found by loading them one after the other."""
    found: dict[str, str] = {}
    for module in isa.MODULES:
        names = {n.value for n in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(n, ast.Constant)}
        words = {w for text in names if isinstance(text, str) for w in (text.split(".")[0], text)}
        for name in TABLE:
            if name in words:
                found.setdefault(name, module.__name__)
    return {name: found.get(name, isa.MODULES[-1].__name__) for name in TABLE}


def isa_page(opcode: str, entries: list[Op]) -> str:
    """All forms of an opcode: syntax, what it does, an example, its modifiers, how it is executed, what shows it."""
    out = [f"# {opcode}", ""]
    for entry in entries:
        first = next(opcodes(entry), "")
        doc = explain(first) if first else None
        out += [_fence(entry.syntax), _prose(entry.says), ""]
        if doc is not None:
            if entry.executed:
                example = "call (result), function, (argument);" if opcode == "call" else line(first)
                out += [f"Example: `{example}`", ""]
            out += [f"- `.{word}`: {_prose(says)}" for word, says in doc.modifiers]
            out += [f"- `{name}`: {_prose(says)}" for name, says in doc.operands]
            out += ["", f"Since {doc.since}.", ""]
        tests = shown_by(entry)
        if entry.executed:
            out += [how(entry), ""]
            if tests:
                out += ["Shown by " + ", ".join(f"`{t}`" for t in tests) + ".", ""]
        out += ["---", ""]
    out = out[:-2]
    words = dict.fromkeys(term for entry in entries for term in glossary.terms(entry.says))
    if words:
        out += ["", "In the glossary: " + ", ".join(f"{{term}}`{term}`" for term in words) + ".", ""]
    measured = accuracy(opcode)
    if measured:
        out += ["## Accuracy", "", *(f"- `{row.opcode}`: {row}" for row in measured), ""]
    return "\n".join(out)


def how(entry: Op) -> str:
    """How the emulator executes an entry: the Python that both engines run, as it stands."""
    if entry.sem is None:
        return RUN_BY.get(entry.kind, "")
    parts = list(dict.fromkeys(semantics(entry.sem)))
    says = "Both engines run this text, with numpy lanes (`step`) or as LLVM (`jit`); `m` is the machine, `i` the form:"
    return f"{says}\n\n" + _fence("\n\n\n".join(parts), "python")


def semantics(function: Callable[..., Any]) -> Iterator[str]:
    """The source of a function of the table, of the functions that it was made with, and of the helpers it calls."""
    seen: set[Any] = set()
    todo = [function]
    while todo:
        one = todo.pop(0)
        code = getattr(one, "__code__", None)
        if code is None or code in seen or not one.__module__.startswith("ptxlab.isa"):
            continue
        seen.add(code)
        yield _source(one)
        cells = zip(code.co_freevars, one.__closure__ or (), strict=True)
        todo += [c.cell_contents for _, c in cells if isinstance(c.cell_contents, python_types.FunctionType)]
        todo += _called(one)


def _called(function: Any) -> list[Any]:
    """Functions of the instruction table that a function names."""
    found = []
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, python_types.ModuleType) and value.__name__.startswith("ptxlab.isa"):
            found += [getattr(value, n) for n in function.__code__.co_names if callable(getattr(value, n, None))]
        elif isinstance(value, python_types.FunctionType):
            found.append(value)
    return [f for f in found if isinstance(f, python_types.FunctionType) and f.__module__.startswith("ptxlab.isa")]


@functools.cache
def _tree(path: str) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _source(function: Any) -> str:
    code = function.__code__
    if code.co_name != "<lambda>":
        return textwrap.dedent(inspect.getsource(function)).rstrip()
    names = code.co_varnames[: code.co_argcount]
    for node in ast.walk(_tree(code.co_filename)):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno:
            if tuple(a.arg for a in node.args.args) == names:
                return ast.unparse(node)
    return textwrap.dedent(inspect.getsource(function)).strip()


# -- kernels -----------------------------------------------------------------------------------------------------------


def kernels_index() -> str:
    """The kernels in reading order."""
    out = ["# Kernels", "", "The attention library in reading order: each file adds one idea to the one before.", ""]
    for phase in ("prefill", "decode"):
        out += [f"## {phase.capitalize()}", "", "```{toctree}", ":maxdepth: 1", "", *pl.kernels.names(phase), "```", ""]
    return "\n".join(out)


def kernel_page(name: str) -> str:
    """A kernel: its question and idea, its parameters, what a run of it counts, its source."""
    spec = pl.kernels.get(name)
    out = [f"# {name}", "", f"**{spec.question}** {spec.idea}.", "", *spec.teaches.splitlines()[2:], ""]
    out += ["## Parameters", "", "| parameter | meaning | values |", "|---|---|---|"]
    for p in spec.parameters.values():
        span = f"{p.minimum} to {p.maximum}" if p.maximum else f"from {p.minimum}"
        values = ", ".join(map(str, p.choices)) or span + (f" in steps of {p.step}" if p.step > 1 else "")
        out.append(f"| `{p.name}` | {p.says} | {values} |")
    counted = _counted(name, spec)
    if counted:
        out += ["", "## Counted on the emulator", "", counted, ""]
    out += ["", "## Source", "", _fence(spec.source, "python")]
    return "\n".join(out)


def _counted(name: str, spec: Any) -> str:
    """A small run with counters, as a table; "" for a kernel that only goes with another one."""
    kind = spec.parameters["dtype"].default or spec.parameters["dtype"].choices[0]
    dtype = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64"}[kind]
    if spec.phase == "prefill":
        q, k, v = pl.reference.random_inputs(1, 2, 1, 64, 64, 64, dtype=dtype)
        result = pl.attention(q, k, v, kernel=name, device="cpu", counters=True)
        says = "1 sequence, 2 heads, 1 KV head, 64 rows, 64 keys, head_dim 64"
    else:
        if name == "decode_reduce":
            return ""
        q, k, v = pl.reference.random_inputs(1, 4, 1, 1, 128, 64, dtype=dtype)
        lengths = np.array([128], np.int32)
        if name == "decode_paged":
            pages = [x[0].transpose(1, 0, 2).reshape(8, 16, 1, 64) for x in (k, v)]
            table = np.arange(8, dtype=np.int32)[None]
            result = pl.decode(q[:, :, 0], *pages, lengths, block_table=table, kernel=name, device="cpu", counters=True)
        else:
            result = pl.decode(q[:, :, 0], k, v, lengths, kernel=name, device="cpu", counters=True)
        says = "1 sequence, 4 heads, 1 KV head, 128 keys, head_dim 64"
    table = ["| metric | |", "|---|--:|"]
    table += [f"| `{metric}` | {value:,} |" for metric, value in result.counters.metrics.items() if value]
    table.append(f"| largest error against float64 | {result.error.max:.1e} |")
    return f"{kind}, {says}:\n\n" + "\n".join(table)


if __name__ == "__main__":
    main(Path(__file__).parent / "generated")

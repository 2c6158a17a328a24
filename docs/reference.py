"""Writes the reference of what people call: Python, the builder, magics, results, kernels, the course, the commands.

Each page is generated: docstrings by autodoc, options from the argument parsers, counters from their table. The lists
here only say in which order, by task; `tests/project/test_docs.py` finds a public name that none of them has.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ptxlab as pl
from ptxlab import isa
from ptxlab.builder import Builder
from ptxlab.cli import main as cli
from ptxlab.course import command as course_command
from ptxlab.emulate.runtime import counters
from ptxlab.isa.table import TABLE
from ptxlab.lab import magics

PYTHON = {
    "Attention": "attention compare decode compare_decode variant merge_states PagedCache estimate",
    "Any kernel": "launch cuda triton numba",
    "Arguments of a launch": "const out empty to_device DeviceBuffer TensorMap Texture Surface",
    "What a kernel is": "parse assemble sass inspect occupancy diff",
    "Look at it": "show explore debug editor Trace open_trace plot_error plot_comparison plot_state plot_tile "
    "plot_roofline",
    "Many configurations": "sweep open_sweep tune plot_sweep",
    "The course": "gallery load_ipython_extension",
    "Errors": "PtxlabError PtxError PtxSyntaxError BuildError LaunchError DeviceFault UnsupportedInstruction "
    "TargetError AssemblyError CompileError TraceError UnavailableError",
    "Modules": "reference",
}
"""The names of `ptxlab`, by task; `kernels` has a page of its own."""

BUILDER = {
    "Values": "var vars select copy cvt bitcast pack unpack mov exp2 log2",
    "Threads": "thread_index tid ntid ctaid nctaid laneid warpid special clock clock64",
    "Memory": "load store shared dynamic_shared pointer var_ptr address",
    "Control flow": "if_ else_ loop while_ break_if continue_if return_if guard",
    "Synchronisation": "barrier wait_for_phase",
    "Asynchronous copies and roles": "pipeline warpgroup",
    "Probes": "probe",
    "The kernel as a whole": "launch_bounds",
    "Any instruction": "op",
}
"""The builder's own methods, by task; those of instructions follow from the table."""

RESULTS = {
    "ptxlab.attention.problem.Result": "what `pl.attention` and `pl.decode` return",
    "ptxlab.attention.problem.Judged": "how far it is from float64, element by element",
    "ptxlab.attention.comparison.Comparison": "what `pl.compare` and `pl.compare_decode` return",
    "ptxlab.launch.run.Run": "what `pl.launch` returns",
    "ptxlab.findings.Finding": "what a check noticed",
    "ptxlab.findings.Party": "one of the threads that a finding is about",
    "ptxlab.emulate.runtime.counters.Counters": "what a launch counted, with `counters=True`",
    "ptxlab.emulate.runtime.counters.LineCounters": "the same of one line",
    "ptxlab.static.Inspection": "what `pl.inspect` returns",
    "ptxlab.performance.estimate.Estimate": "what `pl.estimate` returns",
}


def main(folder: Path) -> None:
    """Writes all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"python": python, "builder": builder, "magics": magic, "results": results, "course": course,
             "kernels": configurations, "command-line": command_line}  # fmt: skip
    for name, page in pages.items():
        (folder / f"{name}.md").write_text("\n".join(page()) + "\n", encoding="utf-8")


OPTION = re.compile(r"(?<![\w`-])(--[a-z][\w=-]*|%+ptx\w*)")
"""An option or a magic in a sentence."""


def _documented(directive: str, name: str, *options: str) -> Iterator[str]:
    yield from ("```{eval-rst}", f".. {directive}:: {name}", *(f"   :{option}:" for option in options), "```", "")


def _directive(value: Any) -> str:
    if isinstance(value, type):
        return "autoexception" if issubclass(value, BaseException) else "autoclass"
    return "automodule" if inspect.ismodule(value) else "autofunction"


def python() -> Iterator[str]:
    """The names of `import ptxlab as pl`."""
    yield from ("# Python", "", "Names of `ptxlab`, imported as `pl`. What they return is in [Results](results.md); "
                "`pl.kernels` in [Kernels and configurations](kernels.md).", "")  # fmt: skip
    for title, names in PYTHON.items():
        yield from (f"## {title}", "")
        for name in names.split():
            value = getattr(pl, name)
            directive = _directive(value)
            yield from _documented(directive, value.__name__ if directive == "automodule" else f"ptxlab.{name}")


BUILDER_HEAD = """# The builder

`@kernel` makes a kernel of a Python function. `k` writes PTX: each method below one or a few instructions, arithmetic
on registers (`a * b + c`, `a < b`) one each, `p[i]` a load or a store. [Write a kernel](../../write-a-kernel.md) leads
from here to a checked result; [PTX to Python](../../ptx-to-python.md) has a line for each common instruction.

```python
from ptxlab.builder import Builder, Ptr, f32, kernel, u32


@kernel
def row_sums(k: Builder, x: Ptr[f32], out: Ptr[f32], columns: u32):
    row = k.thread_index()
    total = k.var(f32, 0.0)
    with k.loop(columns) as j:
        total += x[row * columns + j]
    out[row] = total


print(row_sums().ptx)
```
"""
BUILDER_TYPES = """## Kernels, pointers, registers

Types of registers are `pred`, `b8` to `b64`, `u8` to `u64`, `s8` to `s64`, `f16`, `bf16`, `f16x2`, `bf16x2`, `tf32`,
`f32` and `f64`; a pointer is `Ptr[f32]`.
"""
OPCODES = """## A method for each opcode

`k.fma(a, b, c)` writes `fma`. The type follows from the operands. Modifiers are keywords, `k.add(a, b, rnd="rz")`, or
are part of `k.op("add.rz.f32", a, b)`. Names that Python has taken end in `_`.
"""
MAGICS = """# Magics

`%load_ext ptxlab` loads them. `%%ptx?` shows the same in a notebook. `%config PtxMagics.arch = "sm_90"` and
`%config PtxMagics.device = "cpu"` set defaults.
"""
RESULTS_HEAD = """# Results

What calls return. All of them show themselves in a notebook and when printed.

| class | |
|---|---|
"""
COUNTERS = """## Counters by their name in Nsight Compute

`run.counters["smsp__inst_executed.sum"]`. PTX is counted, and not the machine code that a GPU would run. *Modelled*
numbers follow from a model of the hardware. [The machine](../../machine.md) says which differ from `ncu`'s.

| metric | counts | |
|---|---|---|
"""
COURSE = """# ptxlab.course

Exercises that grade on mechanism. [For teachers](../../teaching.md) says how a class is graded and how an exercise is
written.
"""
KERNELS = """# Kernels and configurations

`pl.kernels` is the library as a module; [Kernels](../kernels/index.md) has a page for each.

```python
spec = pl.kernels.get("tiled")
built = spec.build(head_dim=64, causal=True)
print(built.ptx)
best = pl.kernels.Config.auto(head_dim=128, seq_q=4096, seq_kv=4096, dtype="bf16", arch="sm_90a")
built = best.build()
```
"""
CHOSEN = """## What Config.auto chooses

The quickest rung that takes the problem, with its tiles and the shared memory that they need:

| problem | chosen |
|---|---|
"""
COMMANDS = """# The command line

`ptxlab COMMAND --help` prints the same. [For engineers](../../howto-engineer.md) has examples.
"""


def builder() -> Iterator[str]:
    """The builder: its methods by task, then a method for each opcode, by the file of the table."""
    yield BUILDER_HEAD
    for title, names in BUILDER.items():
        yield from (f"## {title}", "")
        for name in names.split():
            value = inspect.getattr_static(Builder, name)
            if inspect.isfunction(value):
                yield from _documented("automethod", f"ptxlab.builder.Builder.{name}")
            else:  # read like an attribute, and writes an instruction
                says = (inspect.getdoc(value) or "").replace("\n", "\n   ")
                yield from ("```{eval-rst}", ".. py:currentmodule:: ptxlab.builder", "")
                yield from (f".. py:attribute:: Builder.{name}", "", f"   {says}", "```", "")
    yield BUILDER_TYPES
    yield from _documented("autofunction", "ptxlab.builder.kernel")
    for name in ("KernelFunction", "Kernel", "Ptr", "VarPtr", "Shared", "Register", "Var", "TensorMap"):
        yield from _documented("autoclass", f"ptxlab.builder.{name}")
    yield OPCODES
    for module in isa.MODULES:
        here = [name for name in TABLE if hasattr(Builder, name.removesuffix("_")) or hasattr(Builder, f"{name}_")]
        rows = [(name, entries) for name in here if (entries := TABLE[name]) and _home(entries) == module.__name__]
        if rows:
            title = (module.__doc__ or "").splitlines()[0].partition(":")[0].rstrip(".")
            yield from (f"### {title}", "", "| method | |", "|---|---|")
            for name, entries in rows:
                method = name if hasattr(Builder, name) else f"{name}_"
                yield f"| [`k.{method}`](../isa/{name}.md) | {_cell(entries[0].says.partition('. ')[0].rstrip('.'))} |"
            yield ""


def _home(entries: Any) -> str:
    import generate

    return generate._module_of(entries[0])


def _cell(text: str) -> str:
    """Text for a cell of a table."""
    plain = " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;").replace("*", r"\*").replace("%%", "%")
    return OPTION.sub(r"`\1`", plain)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """A table of a parser's options and arguments."""
    rows = [action for action in parser._actions if "--help" not in action.option_strings]
    if not rows:
        return
    yield from ("| | |", "|---|---|")
    for action in rows:
        value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
        value = value if isinstance(value, str) else " ".join(value)
        if action.option_strings:
            words = ", ".join(action.option_strings) + (f" {value}" if value and action.nargs != 0 else "")
        else:
            words = value or action.dest
        says = (action.help or "") % {"default": action.default, "prog": parser.prog} if action.help else ""
        if action.default not in (None, False, "", [], ()) and "default" not in says and action.option_strings:
            says += f"{'; ' if says else ''}by default {_shown(action.default)}"
        yield f"| `{words.replace('|', chr(92) + '|')}` | {_cell(says)} |"
    yield ""


def _shown(default: Any) -> str:
    return " ".join(map(str, default)) if isinstance(default, list | tuple) else str(default)


def _called(name: str, documentation: str | None, parser: argparse.ArgumentParser) -> Iterator[str]:
    """A magic: what its docstring says, its examples as code, its options."""
    says = re.split(r"\n *(?:options|positional arguments):", documentation or "")[0].replace("::", "")
    text = "\n\n".join(p for p in inspect.cleandoc(says).split("\n\n") if p.strip() and p.strip()[0] != "%")
    first, _, examples = text.partition("Example: " if "Example: " in text else ": ")
    yield from (f"## {name}", "", _cell(first).rstrip(".") + ".", "")
    yield from ("```text", examples.strip().replace(", %", "\n%"), "```", "")
    yield from _options(parser)


def magic() -> Iterator[str]:
    """The magics, from their parsers."""
    yield MAGICS
    ptx, debug, explore = magics.PtxMagics.ptx, magics.PtxMagics.ptx_debug, magics.PtxMagics.ptx_explore
    yield from _called("%%ptx", ptx.__doc__, ptx.parser)
    yield from _called("%%cuda", magics.CudaMagics.cuda.__doc__, magics.CUDA_OPTIONS)
    yield from _called("%ptx_explore", explore.__doc__, explore.parser)
    yield from _called("%ptx_debug", debug.__doc__, debug.parser)


def results() -> Iterator[str]:
    """Classes of results, and what each counter counts."""
    yield RESULTS_HEAD.rstrip("\n")
    yield from (f"| `{path.rpartition('.')[2]}` | {says} |" for path, says in RESULTS.items())
    yield from ("| `Trace` | [the steps of warps](python.md#look-at-it) |", "")
    for path in RESULTS:
        yield from (f"## {path.rpartition('.')[2]}", "")
        yield from _documented("autoclass", path)
    yield COUNTERS.rstrip("\n")
    for name, metric in counters.METRICS.items():
        yield f"| `{name}` | {_cell(metric.says)} | {'modelled' if metric.modelled else ''} |"


def course() -> Iterator[str]:
    """`ptxlab.course`: for students, and for who writes exercises."""
    yield from (COURSE, "## For students", "")
    for name in ("check", "solution", "passage"):
        yield from _documented("autofunction", f"ptxlab.course.{name}")
    yield from ("## For graders", "")
    for name in ("score", "catalogue", "names", "find"):
        yield from _documented("autofunction", f"ptxlab.course.{name}")
    yield from ("## To write an exercise", "")
    for name in ("Exercise", "Grading", "Feedback", "Score"):
        yield from _documented("autoclass", f"ptxlab.course.{name}")
    yield from _documented("autoexception", "ptxlab.course.UnknownExercise")


PROBLEMS: Iterable[dict[str, Any]] = (
    {"head_dim": 64, "seq_q": 1024, "seq_kv": 1024, "dtype": "f32", "arch": "sm_80"},
    {"head_dim": 64, "seq_q": 1024, "seq_kv": 1024, "dtype": "f16", "arch": "sm_75"},
    {"head_dim": 128, "seq_q": 4096, "seq_kv": 4096, "dtype": "bf16", "arch": "sm_80", "causal": True},
    {"head_dim": 256, "seq_q": 4096, "seq_kv": 4096, "dtype": "bf16", "arch": "sm_80"},
    {"head_dim": 128, "seq_q": 4096, "seq_kv": 4096, "dtype": "bf16", "arch": "sm_90a", "causal": True},
    {"head_dim": 128, "seq_q": 128, "seq_kv": 4096, "dtype": "f16", "arch": "sm_90a"},
)
"""The problems for which the page says what `Config.auto` chooses."""


def configurations() -> Iterator[str]:
    """`pl.kernels`: the library by name, and how a configuration is chosen."""
    yield KERNELS
    for name in ("names", "get"):
        yield from _documented("autofunction", f"ptxlab.kernels.{name}")
    for name in ("Config", "Spec", "Built", "DecodeSpec", "DecodeBuilt", "Parameter"):
        yield from _documented("autoclass", f"ptxlab.kernels.{name}")
    yield CHOSEN.rstrip("\n")
    for problem in PROBLEMS:
        try:
            chosen = "<br>".join(_cell(line) for line in repr(pl.kernels.Config.auto(**problem)).splitlines())
        except pl.TargetError as refused:
            chosen = f"refused: {_cell(str(refused).splitlines()[0])}"
        yield f"| {', '.join(f'{name} {value}' for name, value in problem.items())} | {chosen} |"


def command_line() -> Iterator[str]:
    """The commands, from their parsers."""
    yield COMMANDS
    for parser in (cli._parser(), course_command._parser()):
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action._choices_actions:
                    if command.dest != "course":  # its own parser has its commands
                        says, made = command.help or "", action.choices[command.dest]
                        usage = " ".join(made.format_usage().split()).removeprefix("usage: ")
                        yield from (f"## {parser.prog} {command.dest}", "", f"{says[:1].upper()}{says[1:]}.", "")
                        yield from ("```text", usage, "```", "")
                        yield from _options(made)

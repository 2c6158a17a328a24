"""The machine code (SASS) that the assembler made, disassembled by nvdisasm, each instruction with its PTX line."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ptxlab.errors import AssemblyError, PtxSyntaxError, UnavailableError
from ptxlab.gpu.assembler import Assembly, as_source, assemble
from ptxlab.options import complete

if TYPE_CHECKING:
    from ptxlab.text import Directive, Module

INSTALL = "pip install 'ptxlab[sass]'"


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One machine instruction: `address` in bytes from the function's start, `text` as nvdisasm writes it
    (`@!P0 FFMA R5, R2, R3, R5`), `line` the PTX line that it came from (0 where the assembler gives none)."""

    address: int
    text: str
    line: int = 0

    @property
    def opcode(self) -> str:
        """The opcode with its modifiers, without the guard: `LDG.E.128`."""
        return re.sub(r"^@!?U?P\w+\s+", "", self.text).split(" ")[0]


@dataclass(frozen=True, slots=True)
class SassFunction:
    """The instructions of one function, without labels and the padding at its end."""

    name: str
    instructions: tuple[SassInstruction, ...]

    def at_line(self, line: int) -> tuple[SassInstruction, ...]:
        """The machine instructions that PTX line `line` became."""
        return tuple(instruction for instruction in self.instructions if instruction.line == line)


@dataclass(frozen=True)
class Sass:
    """Disassembled machine code: `text` is nvdisasm's own, `functions` the same as data, `assembly` its origin."""

    arch: str
    text: str = field(repr=False)
    functions: tuple[SassFunction, ...]
    assembly: Assembly = field(repr=False)

    def __str__(self) -> str:
        return self.text


@functools.cache
def find_nvdisasm() -> str | None:
    """The path of nvdisasm: `PTXLAB_NVDISASM` if set, else NVIDIA's wheel, else PATH; None where there is none."""
    named = os.environ.get("PTXLAB_NVDISASM")
    if named:
        return named if os.access(named, os.X_OK) else None
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("c*/bin/nvdisasm*"), reverse=True):
            if os.access(path, os.X_OK):
                return str(path)
    return shutil.which("nvdisasm")


@complete()
def sass(kernel: object, arch: str | None = None, *, options: Sequence[str] = ()) -> Sass:
    """The machine code of a kernel.

    Parameters
    ----------
    kernel, arch, options
        As for `pl.assemble`, which raises the same.

    Returns
    -------
    Sass
        Instructions with the PTX lines that they come from.

    Raises
    ------
    UnavailableError
        Where nvdisasm is not installed.
    """
    from ptxlab.text import parse

    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        raise UnavailableError(f"NVIDIA's disassembler nvdisasm is not installed: {INSTALL}")
    source = as_source(kernel)
    assembly = assemble(
        kernel, arch, options=options
    )  # first unchanged, so that errors show the text as the student wrote it
    try:
        marked = assemble(mark_lines(parse(source.text)), arch, lineinfo=True, options=options)
    except (PtxSyntaxError, AssemblyError):  # what only NVIDIA's assembler can read is shown without PTX lines
        marked = assembly
    text = _disassemble(nvdisasm, marked.cubin) or _disassemble(nvdisasm, assembly.cubin)
    if text is None:
        raise UnavailableError(f"{nvdisasm} cannot read the code for {assembly.arch}: {INSTALL}")
    return Sass(assembly.arch, text, read_sass(text), assembly)


def _disassemble(nvdisasm: str, cubin: bytes) -> str | None:
    """nvdisasm's text for a cubin, None where it fails (it stumbles over line tables that it did not expect)."""
    with tempfile.TemporaryDirectory(prefix="ptxlab") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        command = [nvdisasm, "--print-code", "--print-line-info", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout if done.returncode == 0 else None


def mark_lines(module: Module) -> str:
    """The text with a `.loc` before each instruction that names its line, and without its own `.loc` and `.file`.

    Nothing moves to another line: each `.loc` is on the line of its instruction.
    """
    from ptxlab.text import Directive, Instruction

    lines = str(module).split("\n")
    edits: list[tuple[int, int, int, str]] = []  # line, column, characters taken out, text put in

    def blank(directive: Directive) -> None:
        for token in directive.tokens:
            edits.append((token.line, token.column, len(token.text), " " * len(token.text)))

    bodies = [function.body.walk() for function in module.functions if function.body is not None]
    for statement in chain(module.items, *bodies):
        if isinstance(statement, Instruction):
            first = statement.tokens[0]
            edits.append((first.line, first.column, 0, f".loc 1 {statement.line} 0 "))
        elif isinstance(statement, Directive) and statement.name in ("file", "loc"):
            blank(statement)
    for line, column, taken, put in sorted(edits, reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[: column - 1] + put + text[column - 1 + taken :]
    return "\n".join(lines) + '\n.file 1 "ptx"\n'


_FUNCTION = re.compile(r"^\.text\.([\w$]+):")
_LINE = re.compile(r'^\s*//## File "ptx", line (\d+)')
_LABEL = re.compile(r"^(\.L_x_\d+):")
_CODE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")


def read_sass(text: str) -> tuple[SassFunction, ...]:
    """The functions in nvdisasm's text (of `--print-code --print-line-info`)."""
    functions: list[tuple[str, list[SassInstruction]]] = []
    line, label = 0, ""
    for row in text.splitlines():
        if match := _FUNCTION.match(row):
            functions.append((match[1], []))
            line = 0
        elif match := _LABEL.match(row):
            label = match[1]
        elif match := _LINE.match(row):
            line = int(match[1])
        elif (match := _CODE.match(row)) and functions:
            if match[2] not in ("NOP", f"BRA `({label})"):  # the function's last 128 bytes are filled with these
                functions[-1][1].append(SassInstruction(int(match[1], 16), match[2], line))
            label = ""
    return tuple(SassFunction(name, tuple(code)) for name, code in functions)

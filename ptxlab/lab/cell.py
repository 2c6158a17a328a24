"""One piece of PTX from text to result: read, assembled, run and shown; what `%%ptx` does, as one plain Python call.

    pl.show(ptx)                                   # highlighted, with what the assembler says
    pl.show(ptx, 4, 128, x, y, len(x))             # and run: grid, block, arguments as in pl.launch

An error does not raise here: it is part of what is shown (`.error`), so that a notebook goes on. `pl.launch` raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab import gpu
from ptxlab.errors import AssemblyError, PtxlabError, PtxWarning, UnavailableError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.lab.diff import Diff, diff, ptx_of
from ptxlab.lab.named_kernels import KEPT, Kept, kernel_of
from ptxlab.launch.plan import planned
from ptxlab.launch.run import launch
from ptxlab.options import complete
from ptxlab.text import Module, parse
from ptxlab.text.lint import lint
from ptxlab.text.validate import validate

STUB = "this cell still holds its stub; write PTX in its place"


@dataclass(eq=False)
class Cell:
    """A piece of PTX and what became of it. Parts that were not asked for, or not reached, are None.

    `listing`: whether the text is shown too; a `%%ptx` cell has it above. `notes` are single lines such as
    "assembler: not installed"; `arrays` are the arrays that the run changed, by parameter name; `error` is the first
    thing that went wrong; `warnings` are what `ptxlab.text.lint` says; `kernel` is what a compiler has made.
    """

    ptx: str
    module: Any = None
    assembly: Any = None
    run: Any = None
    sass: str | None = None
    diff: Diff | None = None
    error: PtxlabError | None = None
    listing: bool = True
    notes: list[str] = field(default_factory=list)
    warnings: list[PtxWarning] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    kernel: Any = None

    @property
    def ok(self) -> bool:
        """Whether everything asked for worked."""
        return self.error is None

    def __repr__(self) -> str:
        if self.error is not None:
            return str(self.error)
        out = [assembly_line(self.assembly)] if self.assembly is not None else []
        out += [repr(self.run)] if self.run is not None else []
        out += [f"{name}: {describe_array(array)}" for name, array in self.arrays.items()]
        out += [repr(self.diff)] if self.diff is not None else []
        out += [self.sass] if self.sass is not None else []
        out = [*map(str, self.warnings), *out, *self.notes]
        return "\n".join(out) or (self.ptx if self.listing else "read, no mistakes")

    def _repr_html_(self) -> str:
        return self.html(self.listing)

    def html(self, listing: bool) -> str:
        """The error, or highlighted PTX (hot lines marked; not without `listing`) and all that was asked for."""
        from ptxlab.lab import display

        if self.error is not None:
            return display.error_html(self.error, self.ptx)
        line = [assembly_line(self.assembly)] if self.assembly is not None else []
        line = [f"<span>{display.text(words)}</span>" for words in line + self.notes]
        counts = None
        if self.run is not None:
            line.append(f"<span>{display.text(str(self.run).splitlines()[0])}</span>")
            counts = display.heat(self.run)
        parts = [*map(display.message, self.warnings)]
        parts += [finding._repr_html_() for finding in self.run.findings] if self.run is not None else []
        parts += [*([display.ptx_html(self.ptx, counts)] if listing else []), display.head(line)]
        if self.arrays:
            parts.append(display.table({name: describe_array(array) for name, array in self.arrays.items()}))
        if self.diff is not None:
            parts.append(self.diff.html())
        if self.sass is not None:
            parts.append(f"<details open><summary>SASS</summary><pre>{display.text(self.sass)}</pre></details>")
        return display.page(*parts)


@complete("pl.show(kernel, grid, block, x, y, n)")
def show(
    kernel: Any,
    grid: Any = None,
    block: Any = None,
    *args: Any,
    arch: str | None = None,
    against: Any = None,
    sass: bool = False,
    assemble: bool = True,
    keep: str | None = None,
    **options: Any,
) -> Cell:
    """Reads, assembles and, given a grid or block, runs a kernel, and shows all of it, an error included.

    Parameters
    ----------
    kernel
        PTX text, a name that one was kept under or that the library has, a module or a built kernel.
    grid, block, *args, arch, **options
        As for `pl.launch`.
    against
        What to show a diff from, as for `pl.diff`.
    sass
        Whether to disassemble.
    assemble
        Whether to assemble.
    keep
        A name to keep this text and its launch under, for `against`, `pl.diff` and `pl.editor`.

    Returns
    -------
    Cell
        With `.run`, `.assembly`, `.error` and more.

    Examples
    --------
    >>> pl.show(ptx, 4, 128, x, y, len(x), counters=True)
    """
    cell = Cell("")
    runs = grid is not None or block is not None
    if runs:
        grid, block = 1 if grid is None else grid, 32 if block is None else block
    try:
        kernel = kernel_of(kernel)
        cell.ptx = text = ptx_of(kernel)  # where a builder's function is first run
        parsed = kernel if isinstance(kernel, Module) else getattr(kernel, "module", None)
        cell.module = parsed or parse(text)
        if against is not None:
            cell.diff = diff(against, text)
        if keep:  # with the options that a launch needs to be the same
            same = {key: options[key] for key in ("entry", "shared") if options.get(key)}
            KEPT[keep] = Kept(kernel, text, grid, block, tuple(args), same)
        if assemble:
            _assemble(cell, kernel, arch, sass)
        if cell.assembly is None:
            _validate(cell.module)
        cell.warnings = lint(cell.module)
        if runs:
            _run(cell, kernel, grid, block, args, {"arch": arch, **options})
    except PtxlabError as error:
        cell.error = error
    return cell


def _validate(module: Any) -> None:
    """Raises the first mistake that the instruction table knows of."""
    for mistake in validate(module):
        raise mistake


def _assemble(cell: Cell, kernel: Any, arch: str | None, sass: bool) -> None:
    try:
        try:
            cell.assembly = gpu.assemble(kernel, arch)
        except AssemblyError:
            _validate(cell.module)  # says the same in more words: the syntax, the line to write
            raise
        if sass:
            cell.sass = str(gpu.sass(kernel, arch))
    except UnavailableError as missing:
        cell.notes.append(str(missing).splitlines()[0])


def _run(cell: Cell, kernel: Any, grid: Any, block: Any, args: Sequence[Any], options: dict[str, Any]) -> None:
    args = [as_numpy(value) for value in args]
    before = {k: a.copy() for k, a in enumerate(args) if isinstance(a, np.ndarray)}
    cell.run = launch(kernel, grid, block, *args, **options)
    names = planned(kernel, options.get("entry")).arguments
    for k, old in before.items():
        if not np.array_equal(old.view(np.uint8), args[k].view(np.uint8)):
            cell.arrays[names[k]] = args[k]


def assembly_line(assembly: Any) -> str:
    """`assembled: 24 registers, no spills, 4096 bytes of shared memory`."""
    parts = [f"{assembly.registers} registers"]
    parts.append(f"{assembly.spill_bytes} bytes spilled" if assembly.spill_bytes else "no spills")
    if assembly.shared_bytes:
        parts.append(f"{assembly.shared_bytes} bytes of shared memory")
    return "assembled: " + ", ".join(parts)


def describe_array(array: Any) -> str:
    """`float32 [256]: 1 2 3 4 5 6 ...`: what a result looks like in one line."""
    flat = np.asarray(array).reshape(-1)
    shown = " ".join(f"{x:.6g}" if flat.dtype.kind == "f" else str(x) for x in flat[:8].tolist())
    return f"{flat.dtype} {list(np.shape(array))}: {shown}{' ...' if flat.size > 8 else ''}"

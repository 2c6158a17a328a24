"""Any kernel in the explorer: PTX text, one of the builder, of `pl.cuda` or `pl.triton`, with or without arguments.

There is no right answer to hold it against, so what is shown is the text, its diff, what the assembler made of it, and,
given grid, block and arguments, what a run counted and which arrays it changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ptxlab import targets
from ptxlab.builder.kernel import MADE, Kernel, KernelFunction
from ptxlab.errors import LaunchError, PtxlabError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.kernels import Parameter
from ptxlab.lab.python_text import executed, explained
from ptxlab.lab.subject import CHECKS, Ran, Shape, Source, Subject, Values, Way, looked_at, machines
from ptxlab.launch.buffers import Const, DeviceBuffer, Out, const, out
from ptxlab.launch.run import cpu_engine
from ptxlab.module_variables import unchanged
from ptxlab.names import find_symbol, source_name
from ptxlab.text.given import given

BLOCK = Parameter(
    "block",
    "threads of a block, for the occupancy; give grid, block and arguments to run the kernel",
    128,
    (32, 64, 128, 256, 512, 1024),
)
FAST = Parameter("fast_math", "compile with --use_fast_math", False, (False, True))
AXES = ("", "_y", "_z")
LAUNCH = {"grid": ("blocks", (2**31 - 1, 65535, 65535)), "block": ("threads of a block", (1024, 1024, 64))}
"""What grid and block are, and the most that a launch takes in x, y and z."""
TAKEN = {*LAUNCH, "arch", "checks", "device", "entry", "fast_math", "head", "kernel", "row"}
"""Names of controls; an argument of such a name has one with an underscore."""

BUDGET = {"cpu": 500_000_000, "step": 1_000_000}
"""Warp-instructions of a run, by device: a kernel that does not end is stopped after some seconds."""


class Text:
    """PTX text as a kernel: `.ptx`, `.module` (parsed when first asked for), `.name`."""

    def __init__(self, ptx: str, name: str) -> None:
        self.ptx, self.name = ptx, name

    @functools.cached_property
    def module(self) -> Any:
        """The parsed text; raises `PtxSyntaxError` at the line where it is none."""
        from ptxlab.text import parse

        return parse(self.ptx)


class KernelSubject(Subject):
    """PTX text, or an object with `.ptx`, `.module` and `.name`; `args` are those of `pl.launch`."""

    def __init__(
        self,
        kernel: Any,
        grid: Any = None,
        block: Any = None,
        args: Sequence[Any] = (),
        *,
        entry: str | None = None,
        shared: int = 0,
        budget: int | None = None,
    ) -> None:
        from ptxlab.lab.diff import ptx_of

        self.kernel, self.grid, self.block, self.entry = kernel, grid, block, entry
        self.args = tuple(as_numpy(value) for value in args)
        self.budget = budget
        ptx = ptx_of(kernel)
        found = re.findall(r"\.entry\s+([\w$%]+)", ptx)
        titles = {source_name(symbol): symbol for symbol in found}
        self.symbols = titles if len(titles) == len(found) else {symbol: symbol for symbol in found}
        symbol = entry or str(getattr(kernel, "name", "") or (found[0] if found else "ptx"))
        symbol = find_symbol(found, symbol) or symbol
        self.name = next((title for title, each in self.symbols.items() if each == symbol), symbol)
        self.shared = shared or int(getattr(kernel, "shared", 0))
        source, file = getattr(kernel, "source", ""), getattr(kernel, "file", "")
        first = int(getattr(kernel, "first_line", 1))
        self.sources = {file: "\n" * (first - 1) + source} if source and isinstance(source, str) else {}
        self.title = _kind(kernel)
        arch = target_of(ptx)
        self.building = (Parameter("arch", "the target to assemble for and run as", arch, _newer(arch)),)
        if len(found) > 1 and self.name in self.symbols and not callable(getattr(kernel, "build", None)):
            self.building += (Parameter("entry", "which kernel of the text", self.name, tuple(self.symbols)),)
        own = dataclasses.replace(CHECKS, default="all")
        self._scalars: dict[str, int] = {}  # the places of arguments that are numbers, by their controls
        self.problem = (_threads(ptx, int(getattr(kernel, "block", 0) or 0)),)
        if grid is not None:
            self.problem = (*self._launch_parameters(), own)

    def _launch_parameters(self) -> Iterator[Parameter]:
        """Grid, block and the arguments that are numbers, as they were given. What does not fit, the launch says."""
        from ptxlab.launch.plan import planned

        with contextlib.suppress(PtxlabError, TypeError, ValueError):
            for name, (says, limits) in LAUNCH.items():
                for axis, n, most in zip(AXES, _three(getattr(self, name)), limits, strict=True):
                    if 1 <= n <= most and (n > 1 or not axis):
                        yield Parameter(name + axis, says, n, minimum=1, maximum=most)
            for k, (name, value) in enumerate(zip(planned(self.kernel, self.entry).arguments, self.args, strict=False)):
                if isinstance(value, Real) and not isinstance(value, bool):
                    name = f"{name}_" if name in TAKEN else name
                    self._scalars[name] = k
                    yield _scalar(name, value)

    def _launch(self, values: Values) -> tuple[Any, Any, list[Any]]:
        """Grid, block and copies of the arguments, with the numbers that the controls say."""
        grid, block = (
            tuple(values.get(name + axis, n) for axis, n in zip(AXES, _three(size), strict=True))
            if name in values
            else size
            for name, size in (("grid", self.grid), ("block", self.block))
        )
        args = [_copy(a) for a in self.args]
        for name, k in self._scalars.items():
            args[k] = type(args[k])(values[name])
        return grid, block, args

    def build(self, values: Values) -> Any:
        """The kernel itself, or the one of several that is chosen."""
        name = values.get("entry", self.name)
        symbol = str(self.symbols.get(name, name))
        if isinstance(self.kernel, str) or not hasattr(self.kernel, "ptx"):
            return Text(str(self.kernel), symbol)
        return self.kernel if name == self.name else self.kernel[symbol]

    @functools.cached_property
    def source(self) -> Source | None:
        """A function of the builder, where Python has its text."""
        maker, _ = _made_by(self.kernel)
        if maker is None:
            return None
        try:
            lines, first = inspect.getsourcelines(maker.function)
        except OSError:
            return None
        return Source("Python", textwrap.dedent("".join(lines)), maker.function.__code__.co_filename, first)

    def of_source(self, text: str) -> Subject:
        """The function that the text defines, among the names that are known where the other one stands."""
        maker, given = _made_by(self.kernel)
        assert maker is not None
        name, code = maker.function.__name__, maker.function.__code__
        names = {**maker.function.__globals__, **maker.scope, **inspect.getclosurevars(maker.function).nonlocals}
        file = executed(text, f"{name}.py", names, flags=code.co_flags & annotations.compiler_flag)
        with explained(file):
            found = names.get(name)
            if inspect.isfunction(found):  # made a kernel elsewhere
                more = maker.arch, maker.probes, maker.name, maker.loc, maker.types, maker.scope
                found = KernelFunction(found, *more)
            if not isinstance(found, KernelFunction) or found.function.__code__.co_filename != file:
                raise LaunchError(f"the text defines no kernel that is called {name}")
            subject = self._of(found if given is None else found(**given))
        subject.source = Source("Python", text, file)
        return subject

    def _of(self, kernel: Any) -> KernelSubject:
        """The same launch of another kernel."""
        more: dict[str, Any] = {"entry": self.entry, "shared": self.shared, "budget": self.budget}
        return type(self)(kernel, self.grid, self.block, self.args, **more)

    def _launched(self, built: Any) -> Any:
        """What is launched: the kernel as it was given, with its entry, or the text that was put in its place."""
        return built if self.base else self.kernel

    def _entry(self, values: Values) -> str | None:
        """The kernel to launch, as the PTX calls it; None where there is only one."""
        return self.symbols[values["entry"]] if "entry" in values else self.entry

    def shape(self, built: Any, values: Values) -> Shape:
        """The grid and block given, or a block of `block` threads."""
        if self.grid is None:
            return (1, 1, 1), (values["block"], 1, 1), self.shared
        grid, block, _ = self._launch(values)
        return _three(grid), _three(block), self.shared

    def why_no_run(self) -> str:
        """How to have it run."""
        return "Not run: give it a grid, a block and arguments, as in pl.explore(kernel, grid, block, x, y, n)."

    def run(self, built: Any, values: Values, device: str) -> Ran | None:
        """Launches it on copies of the arguments and variables, so that it finds the same ones every time."""
        from ptxlab.launch.plan import planned

        if self.grid is None:
            return None
        kernel, entry = self._launched(built), self._entry(values)
        runs, after = {}, {}
        for where in machines(device):
            more = {"device": where, **looked_at(where, values)}
            more["budget"] = None if where == "gpu" else self.budget or BUDGET[where]
            runs[where], args = self._run(kernel, entry, values, more)
            after[where] = [_array(a) for a in args]
        first = next(iter(runs))
        names = list(planned(kernel, entry).arguments)
        changed = {
            names[n]: now
            for n, (before, now) in enumerate(zip(self.args, after[first], strict=True))
            if now is not None and (isinstance(before, Out) or not _same(_array(before), now))
        }
        counts = next((r.counters for r in runs.values() if r.counters), None)
        found = tuple(f for where, run in runs.items() if where != first for f in run.findings)
        return Ran(runs[first], counts, arrays=changed, kept=_machines_apart(after, names), found=found)

    def recorded(self, built: Any, values: Values, trace: Any, **options: Any) -> Any:
        """Launches it on copies of the arguments."""
        if self.grid is None:
            raise LaunchError(self.why_no_run())
        more = {"device": cpu_engine(), "budget": self.budget or BUDGET["step"], "checks": values["checks"]}
        return self._run(self._launched(built), self._entry(values), values, more | {"trace": trace} | options)[0]

    def _run(self, kernel: Any, entry: Any, values: Values, options: dict[str, Any]) -> tuple[Any, list[Any]]:
        """The launch, and the copies of the arguments that it changed."""
        from ptxlab.launch.run import launch

        grid, block, args = self._launch(values)
        with unchanged(kernel):
            options = {"entry": entry, "shared": self.shared, "arch": values["arch"], **options}
            return launch(kernel, grid, block, *args, **options), args


class CudaSubject(KernelSubject):
    """A kernel of `pl.cuda`, which is compiled again for another target or with other options."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.building = (Parameter("arch", "the target to compile for", self.kernel.arch, _newer("sm_75")), FAST)

    @functools.cached_property
    def source(self) -> Source:
        """What was compiled."""
        return Source(self.kernel.language, self.kernel.source, self.kernel.file, self.kernel.first_line)

    def of_source(self, text: str) -> Subject:
        """The text compiled with the same options; `CompileError` in the compiler's words."""
        with explained(self.kernel.file):
            return self._of(self._compiled(text, self.kernel.arch))

    def _compiled(self, text: str, arch: str, *more: str) -> Any:
        from ptxlab.frontends.cuda import kernel_of

        kernel, (entry, options) = self.kernel, self.kernel.compiled_as
        origin = kernel.origin if text == kernel.source else None
        built = kernel_of(text, arch, entry, (*options, *more), kernel.file, origin)
        names = (find_symbol(built.kernels, name) for name in (kernel.name, source_name(kernel.name)))
        built.name, built.state = next(filter(None, names), built.name), kernel.state
        return built

    def build(self, values: Values) -> Any:
        """The kernel for this target; `CompileError` in the compiler's words."""
        if values["arch"] == self.kernel.arch and not values["fast_math"]:
            return self.kernel
        return self._compiled(self.kernel.source, values["arch"], *["--use_fast_math"][: values["fast_math"]])

    def _launched(self, built: Any) -> Any:
        return built


def _made_by(kernel: Any) -> tuple[KernelFunction | None, dict[str, Any] | None]:
    """The function of the builder that writes a kernel, and what it was called with, where it was; (None, None)."""
    if isinstance(kernel, Kernel):
        return MADE.get(kernel, (None, None))
    return kernel if isinstance(kernel, KernelFunction) else None, None


def subject_of(kernel: Any, grid: Any, block: Any, args: Sequence[Any], **options: Any) -> KernelSubject:
    """The subject for a kernel that is not of the library. `LaunchError` says what is wanted."""
    if grid is not None and block is None:
        block = getattr(kernel, "block", None) or None  # a Triton kernel knows its own
    if (grid is None) != (block is None):
        raise LaunchError("explore: to run a kernel give both grid and block, as in pl.launch")
    if args and grid is None:
        raise LaunchError("explore: arguments come after grid and block, as in pl.launch")
    if not isinstance(kernel, str) and not hasattr(kernel, "ptx") and not hasattr(kernel, "kernels"):
        wanted = "the name of a kernel of the library, PTX text, or a kernel"
        raise LaunchError(f"explore: expected {wanted}, got {given(kernel)}")
    if getattr(kernel, "language", "") == "CUDA C++":
        return CudaSubject(kernel, grid, block, args, **options)
    return KernelSubject(kernel, grid, block, args, **options)


def is_ptx(text: str) -> bool:
    """Whether a string is meant as PTX and not as a name."""
    return "\n" in text or ".version" in text or ".entry" in text or "{" in text


def target_of(ptx: str) -> str:
    """The target of a text's `.target` line; sm_80 where there is none that is known here."""
    found = re.search(r"^\s*\.target\s+(sm_\w+)", ptx, re.MULTILINE)
    return found[1] if found and found[1] in targets.TARGETS else "sm_80"


def _newer(arch: str) -> tuple[str, ...]:
    least = targets.get(arch).number
    exact = [t.name for t in targets.TARGETS.values() if t.number >= max(least, 75) and not t.name.endswith("a")]
    return tuple(dict.fromkeys([arch, *exact] if arch not in exact else exact))


def _threads(ptx: str, block: int) -> Parameter:
    """The parameter for the threads of a block: as many as the text or the compiler says, else `BLOCK`."""
    found = re.search(r"\.(?:req|max)ntid\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", ptx)
    wanted = block or (math.prod(int(n or 1) for n in found.groups()) if found else 0)
    if not 1 <= wanted <= targets.THREADS_PER_BLOCK:
        return BLOCK
    return Parameter(BLOCK.name, BLOCK.says, wanted, tuple(sorted({*BLOCK.choices, wanted})))


def _scalar(name: str, value: Any) -> Parameter:
    """The parameter for an argument that is a number: of numpy's integers all, of others those of 32 bits."""
    if not isinstance(value, Integral):
        return Parameter(name, "an argument of the launch", float(value))
    kind, n = np.iinfo(value.dtype if isinstance(value, np.integer) else np.int32), int(value)
    return Parameter(name, "an argument of the launch", n, minimum=min(kind.min, n), maximum=max(kind.max, n))


def _kind(kernel: Any) -> str:
    if isinstance(kernel, str):
        return "PTX text"
    if getattr(kernel, "metadata", None):
        return "Triton kernel"
    if isinstance(getattr(kernel, "source", None), str):
        return "CUDA kernel"
    return "Kernel" if hasattr(kernel, "ptx") else "PTX module"


def _three(size: Any) -> tuple[int, int, int]:
    given = tuple(size) if isinstance(size, Sequence) else (size,)
    x, y, z = (*(int(n) for n in given), 1, 1)[:3]
    return x, y, z


def _copy(argument: Any) -> Any:
    """An argument that a launch may change without changing the caller's."""
    if isinstance(argument, Const):
        return const(argument.array.copy())
    if isinstance(argument, Out):
        return out(argument.array.copy())
    if isinstance(argument, DeviceBuffer):
        return argument.copy_to_host()
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def _array(argument: Any) -> Any:
    """The numpy array of an argument, None for a number."""
    if isinstance(argument, Const | Out):
        return argument.array
    if isinstance(argument, DeviceBuffer):
        return argument.copy_to_host()
    return argument if isinstance(argument, np.ndarray) and argument.ndim else None


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool(np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)))


def _machines_apart(after: dict[str, list[Any]], names: list[str]) -> tuple[Way, ...]:
    """How far the emulator and the GPU are from each other, array by array; nothing where only one ran."""
    if len(after) < 2:
        return ()
    one, other = after.values()
    found = []
    for name, a, b in zip(names, one, other, strict=True):
        if a is not None and a.dtype.kind == "f" and not _same(a, b):
            gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
            found.append(Way(f"{name}: emulator", "GPU", float(gap.max()), float(gap.mean())))
    return tuple(found) or (Way("emulator", "GPU", 0.0, 0.0, 0.0, "the same to the last bit"),)

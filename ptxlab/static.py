"""Static analysis of a kernel: its mix of instructions, register pressure line by line, occupancy.

    s = pl.inspect(kernel, block=128)
    s.mix                          # opcode -> how many there are; s.pipes: by the pipe that runs them
    s.pressure[40]                 # 32-bit registers alive at PTX line 40; s.peak: where there are most
    s.occupancy                    # blocks and warps per SM, and what limits them
    pl.occupancy(kernel, block=128, arch="sm_90").limiter

PTX has an unlimited number of registers; the assembler allocates real ones. The number alive at once is the least that
the order of the PTX allows, and mostly close to the allocation: the assembler moves loads forward, which takes more,
and recomputes cheap values or keeps them in uniform registers, which takes fewer. Where NVIDIA's assembler is
installed, occupancy uses its number.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Never

from ptxlab import options, targets
from ptxlab.errors import LaunchError, Span, TargetError, UnavailableError, place_in_words
from ptxlab.names import source_name
from ptxlab.options import complete
from ptxlab.targets import Occupancy

if TYPE_CHECKING:
    from ptxlab.emulate import Program
    from ptxlab.text import Module


@dataclass(frozen=True)
class Inspection:
    """A kernel, analysed without running it.

    mix: opcode -> instructions in the text; pipes: the same by pipe (see `ptxlab.emulate.runtime.counters.PIPES`).
    pressure: PTX line -> 32-bit registers alive there (a 64-bit value takes two; predicates have registers of their
    own). registers: a thread's, as the assembler gives them out if `assembled`, else the most that are alive at once;
    `unassembled` says why.
    shared: bytes that the kernel declares. local: bytes of local memory a thread. occupancy: None where threads are not
    given.
    """

    kernel: str
    arch: str
    mix: dict[str, int]
    pipes: dict[str, int]
    pressure: dict[int, int]
    registers: int
    assembled: bool
    shared: int
    local: int
    occupancy: Occupancy | None
    source: tuple[str, ...] = field(repr=False)
    spans: Mapping[int, Span] = field(default_factory=dict, repr=False, compare=False)
    unassembled: str = ""

    @property
    def instructions(self) -> int:
        """Instructions of the kernel and of what it calls."""
        return sum(self.mix.values())

    @property
    def peak(self) -> int:
        """The PTX line with most registers alive, the first of them; 0 for a kernel without any."""
        return max(self.pressure, key=lambda line: (self.pressure[line], -line), default=0)

    def listing(self) -> str:
        """The text with the registers alive at each line in front."""
        shown = {line: f"{count:>5}" for line, count in self.pressure.items()}
        return "\n".join(f"{shown.get(n, ''):>5}  {text}".rstrip() for n, text in enumerate(self.source, 1))

    def __str__(self) -> str:
        peak = self.pressure.get(self.peak, 0)
        place = place_in_words(self.peak, self.spans.get(self.peak))
        by = "by the assembler" if self.assembled else f"the most alive at once; {self.unassembled}"
        most = ", ".join(f"{opcode} {count}" for opcode, count in list(self.mix.items())[:6])
        out = [
            f"{source_name(self.kernel)} for {self.arch}: {self.instructions} instructions",
            "  pipes      " + ", ".join(f"{pipe} {count}" for pipe, count in self.pipes.items()),
            f"  mostly     {most}",
            f"  registers  {self.registers} ({by}); {peak} alive at {place}",
            f"  memory     {self.shared} bytes shared, {self.local} bytes local per thread",
        ]
        return "\n".join(out + ([f"  occupancy  {self.occupancy}"] if self.occupancy else []))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": f"<pre>{html.escape(str(self))}</pre>"}


@complete()
def parse(kernel: Any, file: str = "<ptx>") -> Module:
    """Parses a kernel's PTX; `str()` of the module is the text again, byte for byte.

    Parameters
    ----------
    kernel
        PTX text, the name of a kernel of the library, or an object that has a module.
    file
        What messages call the text. Where it is a path, the sources that `.loc` names are looked for beside it.

    Returns
    -------
    ptxlab.text.Module
        The tree. Whether instructions and registers exist is not checked here (see `ptxlab.text.validate`).

    Raises
    ------
    PtxSyntaxError
        At the place where the text is no PTX.
    """
    from ptxlab import kernels, text
    from ptxlab.text.parser import module_of

    kernel = kernels.looked_up(kernel)
    return text.parse(kernel, file) if isinstance(kernel, str) else module_of(kernel)


@complete()
def inspect(
    kernel: Any,
    block: int | Sequence[int] | None = None,
    shared: int = 0,
    arch: str | None = None,
    entry: str | None = None,
    **unknown: Never,
) -> Inspection:
    """Analyses a kernel without running it. Instructions that the emulator does not execute have the pipe "unknown".

    Parameters
    ----------
    kernel
        PTX text, the name of a kernel of the library, a parsed module, or an object with a module (a builder's kernel).
    block
        Threads of a block, a number or up to three: for the occupancy.
    shared
        Bytes of dynamic shared memory.
    arch
        The target, by default the text's own.
    entry
        Which kernel, where there are several.

    Returns
    -------
    Inspection
        Instructions, registers line by line, memory, occupancy.

    Raises
    ------
    PtxError
        Where the text is wrong, as `pl.launch` does.
    TargetError
        Where not even one block fits.

    Examples
    --------
    >>> pl.inspect("tiled", block=128).occupancy
    """
    from ptxlab import kernels
    from ptxlab.emulate import lower
    from ptxlab.text.parser import module_of

    if unknown:
        raise options.unexpected(inspect, unknown)
    threads = None if block is None else _threads(block)
    shared = options.whole("shared", shared, 0)
    options.target("arch", arch)
    module = module_of(kernels.looked_up(kernel))
    program = lower(module, entry, arch, runs=False)
    codes = [code for code in program.codes if code.instruction is not None and code.line > 0]
    mix = Counter(code.instruction.opcode for code in codes if code.instruction is not None)
    pipes = Counter(code.properties.pipe_in(code.space) if code.form.op.executed else "unknown" for code in codes)
    pressure = register_pressure(program)
    assembled = _assembled(module, program.name, arch)
    registers = assembled if isinstance(assembled, int) else max(pressure.values(), default=0)
    found = None
    if threads is not None:
        found = targets.occupancy(program.arch, threads, registers, program.shared_static + shared)
    return Inspection(
        program.name,
        program.arch,
        dict(mix.most_common()),
        dict(pipes.most_common()),
        pressure,
        registers,
        isinstance(assembled, int),
        program.shared_static,
        program.local_size,
        found,
        tuple(program.lines),
        program.spans,
        "" if isinstance(assembled, int) else assembled or "the assembler is not installed",
    )


@complete()
def occupancy(
    kernel: Any, block: int | Sequence[int], shared: int = 0, arch: str | None = None, entry: str | None = None
) -> Occupancy:
    """How much of an SM a kernel fills: blocks and warps resident at once, and what keeps another block out.

    Parameters
    ----------
    kernel
        As for `pl.inspect`, or the number of registers of a thread (then `shared` is all there is, and `arch` is
        needed).
    block, shared, arch, entry
        As for `pl.inspect`.

    Returns
    -------
    ptxlab.targets.Occupancy
        Within the limits of `ptxlab.targets`, whose sources are named there.

    Raises
    ------
    LaunchError, TargetError
        As `pl.inspect` does.
    """
    threads, shared = _threads(block), options.whole("shared", shared, 0)
    if options.is_whole(kernel):
        options.target("arch", arch)
        if arch is None:
            raise LaunchError('arch: a number of registers needs a target, such as arch="sm_80"')
        return targets.occupancy(arch, threads, kernel, shared)
    found = inspect(kernel, block, shared, arch, entry).occupancy
    assert found is not None
    return found


def register_pressure(program: Program) -> dict[int, int]:
    """PTX line -> the most 32-bit registers alive before or after an instruction of that line."""
    from ptxlab.emulate.program.liveness import live_at

    counted = sum(1 << at for at, register in enumerate(program.registers) if register.lane != "i1")
    double = sum(1 << at for at, register in enumerate(program.registers) if register.lane in ("i64", "f64"))

    def size(live: int) -> int:
        return (live & counted).bit_count() + (live & double).bit_count()

    out: dict[int, int] = {}
    for code, (before, behind) in zip(program.codes, live_at(program), strict=True):
        if code.instruction is not None and code.line > 0:
            out[code.line] = max(out.get(code.line, 0), size(before), size(behind))
    return dict(sorted(out.items()))


def _threads(block: int | Sequence[int]) -> int:
    """The threads of a block: a number or up to three."""
    return math.prod(options.whole("block", size, 1) for size in options.several(block) or [block])


def _assembled(module: Module, name: str, arch: str | None) -> int | str | None:
    """Registers per thread as the assembler allocates them; None where it is not installed, and why it cannot where it
    does not have the target."""
    from ptxlab import gpu

    try:
        return gpu.assemble(str(module), arch).kernel(name).registers
    except UnavailableError:
        return None
    except TargetError:
        if targets.find(arch or module.target) is None:
            raise
        return "the assembler does not have the target"

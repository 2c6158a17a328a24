"""One call for every machine: `launch` runs a kernel on a GPU or on the emulator with the same arguments and errors.

    r = launch(ptx, grid, block, x, y, 2.0, n)        # x and y are numpy arrays, changed in place

PTX text, a parsed module and a builder's kernel are all launched alike. Arrays are copied back only when the launch
succeeds: after a fault the caller's arrays hold what they held before.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Never, TypedDict, TypeVar

import numpy as np

from ptxlab import options
from ptxlab.errors import (
    DeviceFault,
    LaunchError,
    LaunchKeyboardInterrupt,
    PtxError,
    PtxlabError,
    UnsupportedInstruction,
    stopped_while,
)
from ptxlab.garbage_collection import resting
from ptxlab.launch import arguments, array_types, budgets
from ptxlab.launch.buffers import cpu_buffers, memory_of
from ptxlab.launch.options import MEMCHECK, check_limits, check_options, three
from ptxlab.launch.parameters import Where
from ptxlab.names import source_name
from ptxlab.targets import MULTIPROCESSORS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptxlab.emulate.program.program import Program
    from ptxlab.emulate.runtime.counters import Counters
    from ptxlab.findings import Finding
    from ptxlab.gpu import Assembly
    from ptxlab.launch.parameters import Bound
    from ptxlab.launch.plan import Plan
    from ptxlab.launch.textures import Surface, Texture

Size = int | Sequence[int]
F = TypeVar("F", bound=Callable[..., Any])

CHECKS = MEMCHECK
"""The checks by default. memcheck is always on."""
ALL_CHECKS = ("memcheck", "initcheck", "racecheck", "synccheck")
"""The checks that there are."""


@dataclass(eq=False, repr=False)
class Run:
    """A finished launch.

    Attributes
    ----------
    kernel
        The kernel's name.
    device
        Where it ran: "gpu", "cpu" or "step".
    grid, block
        Blocks, and threads of a block, each as (x, y, z).
    seconds
        The time of the kernel alone.
    counters
        What was counted (`Counters`), or None.
    trace
        The steps of the chosen warps, or None.
    findings
        What the checks noticed (`Finding`).
    build_seconds
        The time to make the kernel ready: translation or assembly.
    messages
        The calls of `printf` in the order they were made, each with `.block`, `.thread` and `.text`. `launch` has also
        written them to the standard output.
    shared
        Bytes of dynamic shared memory that a block had.
    """

    kernel: str
    device: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    seconds: float
    counters: Counters | None = None
    trace: Any = None
    findings: list[Finding] = field(default_factory=list)
    build_seconds: float = 0.0
    messages: list[Any] = field(default_factory=list)
    shared: int = 0

    @property
    def printed(self) -> str:
        """What the kernel's calls of `printf` printed, without the threads' names."""
        return "".join(message.text for message in self.messages)

    def __repr__(self) -> str:
        out = [f"{source_name(self.kernel)} on {self.device}: {show_seconds(self.seconds)}"]
        out[0] += f", grid {show_size(self.grid)}, block {show_size(self.block)}"
        if self.counters:
            out[0] += f", {self.counters.thread_instructions:,} thread-instructions"
        return "\n".join(out + ["  " + finding.headed().replace("\n", "\n  ") for finding in self.findings])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        import html

        return {"text/plain": repr(self), "text/html": f"<pre>{html.escape(repr(self))}</pre>"}


def launch(
    kernel: Any = options.MISSING,
    grid: Size = options.MISSING,
    block: Size | None = options.MISSING,
    *args: Any,
    entry: str | None = None,
    shared: int = 0,
    device: str = "auto",
    arch: str | None = None,
    checks: Sequence[str] | str = CHECKS,
    counters: bool = False,
    trace: Any = None,
    seed: int | None = None,
    budget: int | None = None,
    workers: int | None = None,
    tier: str | None = None,
    cooperative: bool = False,
    cluster: Size | None = None,
    textures: Mapping[str, Texture | Surface] | None = None,
    **unknown: Never,
) -> Run:
    """Runs a kernel over a grid of blocks and waits for it.

    Parameters
    ----------
    kernel
        PTX text, a parsed module, or a kernel of the builder, of `pl.cuda` or of `pl.triton`.
    grid, block
        Blocks, and threads of a block: a number or up to three. A kernel of Triton knows its own block: None.
    *args
        One for each parameter; see `ptxlab.launch.arguments`.
    entry
        Which kernel, where the module has several.
    shared
        Bytes of dynamic shared memory.
    device
        "gpu", "cpu" (compiled), "step" (interpreted), or "auto": the GPU where there is one and nothing is asked for
        that only the emulator has.
    arch
        The target, by default the PTX's own; on a GPU always its own.
    checks
        Any of `ALL_CHECKS`, or "all"; what they notice is in `findings`.
    counters
        Whether to count instructions and accesses to memory.
    trace
        A `pl.Trace`, or an `emulate.step.Recorder` that is given every step.
    seed
        Shuffles the warp schedule, reproducibly; 0 is the order in which "all" checks run short programs again, see
        `docs/machine.md`.
    budget
        Warp-instructions after which it is stopped. None: never, or in pytest and in the grader after those of
        `BUDGETS`.
    workers
        CPU threads.
    tier
        "quick" code is compiled in a hurry and never replaced; for "optimized" the launch waits. By default quick code,
        which optimized code replaces when it has run for a while. All give the same bits.
    cooperative
        Whether all blocks are resident at once.
    cluster
        Blocks of a cluster, a number or up to three; all of them are resident at once (sm_90 and later).
    textures
        A `pl.Texture` or `pl.Surface` for each `.texref` and `.surfref` of the module, by name.

    Returns
    -------
    Run
        Times, findings and what else was asked for. Module variables (`__constant__` and `__device__`, `.const` and
        `.global`) are `kernel["name"]`. They keep their values from launch to launch of a kernel object until
        `kernel.reset()`; those of PTX text begin anew (`pl.parse(text)` keeps them). See `ptxlab.module_variables`.

    Raises
    ------
    LaunchError
        Where arguments or sizes do not fit.
    PtxError
        Where the kernel is loaded, also as `PtxSyntaxError` and `UnsupportedInstruction`.
    DeviceFault
        Where the kernel is stopped.
    LaunchKeyboardInterrupt
        On Ctrl-C: a `KeyboardInterrupt` that says where each warp was; arrays and variables are then as they were.

    Examples
    --------
    >>> pl.launch(ptx, 4, 128, x, y, len(x), checks="all").findings
    """
    asked, __tracebackhide__ = dict(locals()), True  # pytest and notebooks show the caller's line
    options.all_given("pl.launch(kernel, grid, block, x, y, n)", kernel=kernel, grid=grid, block=block)
    with resting(), stopped_while("the kernel was being read, before it ran"):
        from ptxlab.launch.plan import bind_variables, planned  # here, as the parser comes with them

        checks = check_options(checks, ALL_CHECKS, trace, entry, shared, device, asked)
        gaps = "initcheck" in checks
        plan = planned(kernel, entry, arch, recall=device in ("auto", "cpu"), shared_gaps=gaps)
        if unknown:
            raise options.unexpected(launch, unknown, _instead(kernel, plan, unknown))
        shared = int(shared or getattr(kernel, "shared", 0))
        seed, budget, workers = (None if n is None else int(n) for n in (seed, budget, workers))
        variables = bind_variables(plan, textures)
        block = getattr(kernel, "block", 0) or None if block is None else block
        sizes = three("grid", grid, plan.arguments), three("block", block, plan.arguments)
        bound = plan.bind(args, variables, math.prod(sizes[0]) if plan.scratch else 1)
        checked = bool(set(checks) - {"memcheck"})
        only_cpu = {"checks": checked, "counters": counters, "trace": trace is not None}
        only_cpu |= {name: asked[name] is not None for name in ("seed", "budget", "workers", "tier")}
        only_cpu |= {"textures": any(b.object is not None for b in bound)}
        device = _device(device, [name for name, wanted in only_cpu.items() if wanted], bound, _stepped(trace))
        cluster_size = None if cluster is None else three("cluster", cluster)
        if device == "cpu" and (says := _stepped(trace)):
            raise LaunchError(f"trace: the JIT {says}; write device='step'")
        if device == "step" and tier is not None:
            raise LaunchError("tier: device='step' compiles nothing\n  write:  device='cpu'")
        check_limits(plan, *sizes, shared, arch, device, cluster_size)
        if budget is None:
            budget = budgets.default_budgets.get("checked" if device == "cpu" and checked else device)
        if device != "gpu":
            program = _loaded(plan, arch, shared_gaps=gaps)
            array_types.warn(plan.name, program, bound, args, sizes)

    if device == "gpu":
        from ptxlab.launch.gpu_run import run_on_gpu

        seconds, findings, build = run_on_gpu(kernel, plan, sizes, bound, shared, cooperative, cluster_size)
        run = Run(plan.name, device, *sizes, seconds, findings=findings, build_seconds=build)
    else:
        state = getattr(kernel, "state", None)
        resident = cooperative and math.prod(sizes[0]) > MULTIPROCESSORS
        more = {name: asked[name] for name in ("counters", "trace", "tier", "cooperative")}
        more |= {"shared": shared, "checks": checks, "seed": seed, "budget": budget, "workers": workers}
        assembled = _assembled(plan.module, arch) if resident else None
        registers = assembled.kernel(plan.name).registers if assembled is not None else 0
        more |= {"cluster": cluster_size, "registers": int(registers)}
        with state.lock if state and program.globals else contextlib.nullcontext():
            held = state.brought() if state else None
            run = _run_on_cpu(plan, program, sizes, bound, device, variables=held, **more)
        if device == "cpu":
            plan.keep(program, arch, shared_gaps=gaps)
    for at, b in enumerate(bound):
        if b.object is not None and b.same_as < 0:
            b.object.take(b.staged)
        elif b.array is not None and b.same_as < 0:
            arguments.take_back(Where(plan.title, at, b.parameter), b)
    run.shared = shared
    for observer in budgets.observers:
        observer(run, tuple(checks))
    return run


class Options(TypedDict, total=False):
    """What the calls for attention pass on to `launch`, which checks it."""

    device: str
    checks: Sequence[str] | str
    counters: bool
    trace: Any
    seed: int | None
    budget: int | None
    workers: int | None


def passes_on(function: F) -> F:
    """A function whose `**arrays` may be `Options`, too: to help, completion and messages it has these by name."""
    signature, known = inspect.signature(function), inspect.signature(launch).parameters
    *own, rest = signature.parameters.values()
    parameters = [*own, *(known[name] for name in Options.__annotations__), rest]
    function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def _instead(kernel: Any, plan: Plan, given: Mapping[str, Any]) -> str:
    """The call for what was given as options: what a kernel is built with, or values of its parameters."""
    own = list(inspect.signature(kernel.function).parameters) if hasattr(kernel, "function") else []
    names = [p.name for p in plan.parameters]
    if set(given) <= set(own[1:]) - set(names):
        words = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"pl.launch(kernel({words}), grid, block, ...)"
    return f"pl.launch(kernel, grid, block, {', '.join(names)})" if set(given) <= set(names) else ""


# -- what is launched --------------------------------------------------------------------------------------------------


def _loaded(plan: Plan, arch: str | None, *, shared_gaps: bool) -> Program:
    """The kernel as a program; `PtxError` where the emulator cannot load it, in the validator's words if it has any:
    they name the word that is meant and say what to write. What NVIDIA's assembler takes, in a text later than the
    table, is not wrong."""
    try:
        return plan.program(arch, shared_gaps=shared_gaps)
    except PtxError as refused:
        from ptxlab.text.validate import validate

        there = (error for error in validate(plan.module) if error.line == refused.line)
        wrong = min(there, key=lambda error: error.column, default=refused)
        later = isinstance(refused, UnsupportedInstruction) and wrong is not refused
        raise refused if later and _assembled(plan.module) is not None else wrong from None


def _assembled(module: Any, arch: str | None = None) -> Assembly | None:
    """A text as NVIDIA's assembler makes it; None where that is not here, or refuses it."""
    from ptxlab import gpu

    try:
        return gpu.assemble(module, arch)
    except PtxlabError:
        return None


def _stepped(trace: Any) -> str:
    """Why only the interpreter can record this, if so."""
    if trace is None:
        return ""
    from ptxlab.emulate.trace.recorder import Trace

    if isinstance(trace, Trace) and trace.lines is None:
        return ""
    return "records whole warps, not chosen lines" if isinstance(trace, Trace) else "records no steps"


def _device(device: str, cpu_only: list[str], bound: list[Bound], stepped: str) -> str:
    """Where to run: the device named, or for "auto" the one that the buffers and the wishes allow."""
    lying = {b.buffer.device for b in bound if b.buffer is not None}
    if device == "auto":
        wanted = next(iter(lying)) if lying else "cpu" if cpu_only else memory_of("auto")
        device = wanted if wanted == "gpu" else "step" if stepped else cpu_engine()
    memory = memory_of(device)
    if memory == "gpu" and cpu_only:
        verb = "belong" if len(cpu_only) > 1 or cpu_only[0][-1] == "s" else "belongs"
        raise LaunchError(f"{' and '.join(cpu_only)} {verb} to the emulator; write device='cpu'")
    for b in bound:
        if b.buffer is not None and b.buffer.device != memory:
            raise LaunchError(f"{b.parameter}: the buffer is on {b.buffer.device!r}, the launch is on {device!r}")
    return device


def cpu_engine() -> str:
    """The JIT, or the interpreter where llvmlite is missing."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return "step"
    return "cpu"


# -- the emulator ---------------------------------------------------------------------------------------------------


def _run_on_cpu(
    plan: Plan,
    program: Program,
    sizes: tuple[tuple[int, int, int], tuple[int, int, int]],
    bound: list[Bound],
    device: str,
    **options: Any,
) -> Run:
    from ptxlab import emulate
    from ptxlab.findings import unwritten

    __tracebackhide__ = True
    memory, space = emulate.Memory(), "generic" if plan.declared.constant else "global"
    allocations: list[Any] = []
    params = bytearray()
    objects: dict[str, Any] = {}
    for b in bound:
        p, value = b.parameter, b.scalar
        allocation = allocations[b.same_as] if b.same_as >= 0 else None
        if b.array is not None and allocation is None:
            allocation = memory.allocate(
                b.staged.size, p.name, b.staged, track_writes=b.poison, itemsize=b.array.itemsize
            )
            allocation.space = space
        if b.buffer is not None:
            value = b.buffer.address.to_bytes(8, "little")
        elif allocation is not None:
            value = allocation.address.to_bytes(8, "little")
        if b.map is not None:
            value = b.map.encoded(int.from_bytes(value, "little"))
        allocations.append(allocation)
        if b.variable and allocation is not None:
            objects[p.name] = functools.partial(_object, allocation.address, b.staged)
            continue
        params += bytes(-len(params) % p.align)
        memory.arguments[len(params)] = p.name
        params += value
    buffers, given = [], {b.buffer.owner: b.parameter.name for b in bound if b.buffer is not None}
    for buffer in cpu_buffers():  # after the arrays, which lie below them
        data = np.zeros(buffer.nbytes, np.uint8) if buffer.freed else buffer.data
        lying = memory.place(buffer.address, data, buffer.name or given.get(buffer, ""), space)
        lying.itemsize = buffer.dtype.itemsize
        lying.freed, lying.freed_at, lying.host = buffer.freed, buffer.freed_at, buffer.host
        lying.written = None if buffer.freed else buffer.written(known="initcheck" in options["checks"])
        buffers.append((buffer, lying))
    (grid, block), engine = sizes, "step" if device == "step" else "jit"
    options |= {"params": bytes(params), "memory": memory, "objects": objects}
    try:
        ran = emulate.execute(program, engine=engine, grid=grid, block=block, **options)
    except (DeviceFault, LaunchKeyboardInterrupt) as stopped:
        _print(stopped.messages)  # its place is the kernel's; where Python noticed it fills a screen
        raise stopped.with_traceback(None) from None
    _print(ran.messages)
    findings: list[Finding] = list(ran.findings)
    for buffer, lying in buffers:
        buffer.record = lying.written
    for b, allocation in zip(bound, allocations, strict=True):
        if b.poison:
            assert b.array is not None
            written = np.asarray(allocation.written).reshape(-1, b.array.itemsize)
            findings += unwritten(b.parameter.name, ~written.all(axis=1), b.array.shape)
    noted = ran.counters, ran.trace, findings, ran.build_seconds, ran.messages
    return Run(plan.name, device, grid, block, ran.seconds, *noted)


def _print(messages: Sequence[Any]) -> None:
    """What a kernel has printed, with the threads' names."""
    if messages:
        from ptxlab.emulate.program.printf import named

        print(named(messages), end="")


def _object(texels: int, staged: NDArray[np.uint8], address: int) -> NDArray[np.uint8]:
    """What the variable at an address holds of a texture whose texels lie elsewhere."""
    from ptxlab.isa.texture_object import AT, BYTES

    made = staged[:BYTES].copy()
    for start in (AT["data"], AT["levels"]):
        at = made[start : start + 8]
        at[:] = (at.view(np.int64) + (texels - address)).view(np.uint8)
    return made


# -- words -------------------------------------------------------------------------------------------------------------


def show_seconds(seconds: float) -> str:
    """A time in the unit that suits it: `2.1 ms`."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def show_size(size: tuple[int, int, int]) -> str:
    """`(8, 4, 1)` as `8x4`."""
    x, y, z = size
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else f"{x}"

"""NVIDIA's own assembler in process: PTX in, cubin, registers, spills and errors at the PTX line out; no GPU needed."""

from __future__ import annotations

import functools
import re
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ptxlab import forks
from ptxlab.errors import LaunchError, TargetError, UnavailableError
from ptxlab.gpu import hazards, ptxas
from ptxlab.gpu.explain import Source, assembly_error
from ptxlab.gpu.report import Usage, read_complaints, read_memory, read_usage, read_warnings, section_sizes
from ptxlab.names import find_symbol, source_name
from ptxlab.options import complete, switch
from ptxlab.options import text as checked_text
from ptxlab.text.given import given_text
from ptxlab.text.parser import module_of

INSTALL = "pip install cuda-bindings nvidia-nvjitlink"
LOWEST = "sm_75"
"""The oldest GPU that CUDA 13's assembler knows (its release notes); text for an older `.target` runs there too."""


@dataclass(frozen=True)
class Assembly:
    """Assembled PTX.

    `cubin` is the machine code for `arch`, `functions` what each function uses (kernels first), `log` the assembler's
    own report, `seconds` the time it took (a text that was assembled before comes from memory, with its first time).
    `assembler` says whose they are: "nvJitLink 13.5", or "ptxas 13.0" for text with `setmaxnreg`, which nvJitLink
    ignores; `ignored` says so, and why, where `ptxas` could not be asked.
    """

    arch: str
    cubin: bytes = field(repr=False)
    functions: tuple[Usage, ...]
    global_bytes: int
    const_bytes: int
    log: str = field(repr=False)
    warnings: tuple[str, ...]
    seconds: float
    assembler: str = ""
    ignored: str = ""

    @property
    def kernels(self) -> tuple[Usage, ...]:
        """What each kernel uses, in the order of the text."""
        return tuple(usage for usage in self.functions if usage.kernel)

    def kernel(self, name: str = "") -> Usage:
        """The kernel called `name`, or the only one. KeyError, naming the kernels there are, where that is not so."""
        named = {usage.name: usage for usage in self.kernels}
        found = find_symbol(named, name) if name or len(named) != 1 else next(iter(named))
        if found:
            return named[found]
        raise KeyError(f"no kernel {name!r}: the text has {', '.join(map(source_name, named)) or 'none'}")

    @property
    def registers(self) -> int:
        """Registers per thread of the kernel that uses most."""
        return max((usage.registers for usage in self.kernels), default=0)

    @property
    def spill_bytes(self) -> int:
        """Bytes that all functions together store to and load from local memory because registers ran out."""
        return sum(usage.spill_store_bytes + usage.spill_load_bytes for usage in self.functions)

    @property
    def stack_bytes(self) -> int:
        """Bytes of stack per thread of the kernel that uses most."""
        return max((usage.stack_bytes for usage in self.kernels), default=0)

    @property
    def recursive(self) -> bool:
        """Whether functions may call themselves, so that nobody can say how much stack a thread needs."""
        return any(warning.startswith("Stack size for entry function") for warning in self.warnings)

    @property
    def shared_bytes(self) -> int:
        """Bytes of static shared memory of the kernel that uses most."""
        return max((usage.shared_bytes for usage in self.kernels), default=0)

    def __str__(self) -> str:
        spills = f"{self.spill_bytes} bytes spilled" if self.spill_bytes else "no spills"
        names = ", ".join(source_name(usage.name) for usage in self.kernels) or "no kernel"
        return (
            f"{names} for {self.arch}: {self.registers} registers, {spills}, {self.shared_bytes} bytes of static "
            f"shared memory, {len(self.cubin)} bytes of cubin in {self.seconds * 1e3:.1f} ms{self._whose}"
        )

    @property
    def _whose(self) -> str:
        """Which assembler spoke, where that matters."""
        if self.ignored:
            return f", by {self.assembler}, which ignores {self.ignored}"
        return f", by {self.assembler}" if self.assembler.startswith("ptxas") else ""


@functools.cache
def available() -> bool:
    """Whether NVIDIA's assembler can be loaded here."""
    try:
        _nvjitlink()
    except UnavailableError:
        return False
    return True


def version() -> tuple[int, int]:
    """The version of nvJitLink, (13, 5). UnavailableError where it is not installed."""
    major, minor = _nvjitlink().version()
    return int(major), int(minor)


@complete()
def assemble(
    kernel: object, arch: str | None = None, *, lineinfo: bool = False, options: Sequence[str] = ()
) -> Assembly:
    """Assembles PTX for a GPU, by nvJitLink in this process; text with `setmaxnreg` by `ptxas` where there is one.

    The same text for the same GPU is assembled once. It is safe to call from several threads.

    Parameters
    ----------
    kernel
        PTX text, the name of a kernel of the library, a `text.Module` or a kernel of the builder.
    arch
        "sm_90" or "sm_90a"; by default the text's `.target`, or sm_75 where that is older than the assembler knows.
    lineinfo
        Whether the cubin keeps what `.loc` says.
    options
        More of ptxas', such as "-O1" or "--maxrregcount=64".

    Returns
    -------
    Assembly
        The cubin; registers, spills and shared memory of each kernel.

    Raises
    ------
    AssemblyError
        At the PTX line (and the builder's Python line), with every complaint of the assembler in `.errors`.
    LaunchError
        For options that ptxas does not take.
    TargetError
        For a GPU that this assembler does not know.
    UnavailableError
        Where the wheels are missing.
    """
    checked_text("arch", arch)
    lineinfo, options = switch("lineinfo", lineinfo), _options(options)
    source = as_source(kernel)
    key = (source.text, arch or "", lineinfo, options)
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    target = _target(source)
    hazards.refuse(source)
    made = _assemble(source, target, arch or target, lineinfo, options, fallback=arch is None)
    with _lock:
        _cache[key] = made
        while len(_cache) > _CACHE_SIZE:
            _cache.popitem(last=False)
    return made


_CACHE_SIZE = 128
_cache: OrderedDict[tuple[str, str, bool, tuple[str, ...]], Assembly] = OrderedDict()
_lock = forks.lock()


def as_source(kernel: object) -> Source:
    """A kernel's text and its lines; it is given as `assemble` takes it."""
    from ptxlab import kernels
    from ptxlab.text import SourceLines

    kernel = kernels.looked_up(kernel)
    if isinstance(kernel, str):
        return Source(kernel, "<ptx>", SourceLines(kernel))
    module = module_of(kernel)
    return Source(str(getattr(kernel, "ptx", module)), module.file, module.spans)


def _target(source: Source) -> str:
    """The GPU of the text's `.target` line, comments left out."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), source.text, flags=re.S)
    match = re.search(r"\.target\s+(?:compute|sm)_(\w+)", bare)
    if not match:
        if (other := given_text(source.text)) is not None:
            raise source.error(f"this is {other.says}, not PTX", 1, hint=other.write)
        line = source.find(r"^\s*\.version\b")
        raise source.error("the text has no .target line", line, hint=".target sm_80")
    return f"sm_{match[1]}"


_OURS = {"-arch": "arch", "--gpu-name": "arch", "-lineinfo": "lineinfo", "--generate-line-info": "lineinfo"}
"""Options of ptxas that `assemble` has itself."""
_NOT_TAKEN = set("-h --help -V --version -o --output-file -optf --options-file --input-as-string -m32 -m".split())
"""Those that are about other files, or another machine, or ask ptxas to assemble nothing."""


def _options(given: Sequence[str]) -> tuple[str, ...]:
    """The options as words; `LaunchError` for what ptxas would not take for one, or `assemble` takes otherwise."""
    if isinstance(given, str):
        raise LaunchError(f"options: expected a list of strings, got {given!r}\n  write:  options={given.split()!r}")
    words = tuple(given)
    names = [word.partition("=")[0] for word in words]
    for k, name in enumerate(names):
        if name in _OURS:
            raise LaunchError(f"options: {words[k]!r} is not taken here; {_OURS[name]}= says so")
        if name in _NOT_TAKEN:
            raise LaunchError(f"options: {words[k]!r} is not taken here; leave it out")
        if not name.startswith("-") and (k == 0 or not names[k - 1].startswith("-") or "=" in words[k - 1]):
            raise LaunchError(f"options: {words[k]!r} is not an option of ptxas, which begin with -, such as -O1")
    return words


def _unknown(arch: str) -> TargetError:
    number = ".".join(map(str, _nvjitlink().version()))
    return TargetError(
        f'nvJitLink {number} does not assemble for arch="{arch}": it takes {LOWEST}, sm_80, sm_86, sm_87, sm_89, '
        f"sm_90, sm_90a, sm_100, sm_120 and others from {LOWEST} on"
    )


def _assemble(
    source: Source, target: str, arch: str, lineinfo: bool, options: tuple[str, ...], fallback: bool
) -> Assembly:
    data = hazards.readable(source.text)
    if not re.fullmatch(r"sm_[1-9][0-9]{1,3}[a-z]?", arch):  # nvJitLink ends the process at a single digit
        raise _unknown(arch)
    start = time.perf_counter()
    ignored = ""
    if ptxas.MOVES_REGISTERS.search(data):
        made = ptxas.assembled(data, arch, lineinfo, options)
        if not isinstance(made, str):
            return _made(*made, arch, start)
        ignored = f"setmaxnreg ({made})"
    nvjitlink = _nvjitlink()
    # beside a driver, nvJitLink finds a text that any process has assembled in a cache, and then reports nothing of it
    wanted = [f"-arch={arch}", "-verbose", "-no-cache", *(["-lineinfo"] if lineinfo else [])]
    wanted += [f"-Xptxas={word}" for word in options]
    try:
        handle = nvjitlink.create(len(wanted), wanted)
    except nvjitlink.nvJitLinkError as error:
        if fallback and re.fullmatch(r"sm_[2-7]\d", arch) and arch < LOWEST:
            return _assemble(source, target, LOWEST, lineinfo, options, fallback=False)
        raise _unknown(arch) from error
    try:
        hazards.survive(source, arch, version())
        status = ""
        try:
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel.ptx")
            nvjitlink.complete(handle)
        except nvjitlink.nvJitLinkError as error:
            status = nvjitlink.Result(error.status).name
        errors = _read(nvjitlink.get_error_log_size, nvjitlink.get_error_log, handle)
        if options and (
            refused := re.search(r"^ptxas fatal\s*: (.*(?:option|expected a number).*)", errors, re.MULTILINE)
        ):
            raise LaunchError(f"options: ptxas says: {refused[1]}; they are {' '.join(options)}")
        if status or read_complaints(errors):  # the linker reports success for some of its errors: the log tells
            raise assembly_error(source, errors, target, arch, status)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = _read(nvjitlink.get_info_log_size, nvjitlink.get_info_log, handle)
    finally:
        nvjitlink.destroy(handle)
    return _made(bytes(cubin), log, f"nvJitLink {'.'.join(map(str, version()))}", arch, start, ignored)


def _made(cubin: bytes, log: str, by: str, arch: str, start: float, ignored: str = "") -> Assembly:
    """What an assembler made of a text, read from its cubin and its log; start: when it began."""
    seconds = time.perf_counter() - start
    sizes = section_sizes(cubin)
    const_bytes = sizes.get(".nv.constant3", 0)
    usage = read_usage(log, int(re.sub(r"\D", "", arch)), sizes)
    warnings = read_warnings(log)
    return Assembly(arch, cubin, usage, read_memory(log), const_bytes, log, warnings, seconds, by, ignored)


def _read(size: Any, get: Any, handle: Any) -> str:
    """One of nvJitLink's two logs as text."""
    buffer = bytearray(size(handle))
    if buffer:
        get(handle, buffer)
    return buffer.decode(errors="replace").rstrip("\0")


@functools.cache
def _load() -> tuple[Any, str]:
    """cuda.bindings.nvjitlink and "", or None and why it cannot be loaded."""
    try:
        from cuda.bindings import nvjitlink

        nvjitlink.version()
    except ImportError as error:
        return None, str(error)
    except RuntimeError as error:  # the wheel with the library itself is missing: cuda.pathfinder says where it looked
        return None, str(error).splitlines()[0]
    return nvjitlink, ""


def _nvjitlink() -> Any:
    module, reason = _load()
    if module is None:
        raise UnavailableError(f"NVIDIA's assembler is not installed ({reason}): {INSTALL}")
    return module

"""Kernels of numba-cuda to PTX: its compiler runs without a GPU when it is told the target.

An array reaches a kernel of numba as seven or more parameters (a null `meminfo` and `parent`, the number of elements,
the bytes of one, the address, then shape and strides); `flat` makes them from an array, and `names_of` names them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ptxlab.errors import CompileError, LaunchError, UnavailableError
from ptxlab.frontends.cuda import cuda as cuda_cpp
from ptxlab.frontends.kernel import CompiledKernel, Param, renamed
from ptxlab.frontends.patching import replaced

INSTALL = "pip install 'ptxlab[numba]'"


def modules() -> Any:
    """The package `numba.cuda` as numba-cuda brings it; `UnavailableError` where it is not installed."""
    try:
        import numba_cuda  # noqa: F401
        from numba import cuda
    except ImportError as error:
        raise UnavailableError(f"numba-cuda is not installed ({error}): {INSTALL}") from None
    if hasattr(cuda, "simulator_init") or not hasattr(cuda, "compile_ptx"):
        raise UnavailableError("numba runs its own simulator: unset NUMBA_ENABLE_CUDASIM before numba is imported")
    return cuda


def compiled(dispatcher: Any, kinds: Sequence[Any], arch: str) -> CompiledKernel:
    """The kernel of a function that `@cuda.jit` has wrapped, for arguments of these numba types.

    arch: the target, such as "sm_80". Symbols in the PTX carry the names of the Python functions where numba mangles
    them with types, module and hash, and shared arrays those of the variables; parameters are named after the
    arguments. Raises `CompileError` with numba's words.
    """
    modules()
    from numba.cuda.compiler import compile_all

    options, function = dispatcher.targetoptions, dispatcher.py_func
    if options.get("device"):
        raise LaunchError(f"{function.__name__} is a device function; launch a kernel that calls it")
    if options.get("link"):
        raise LaunchError(f"{function.__name__}: link= is not taken here: what is linked has no PTX to run")
    try:
        with asked_for(capability(arch)):
            codes, _ = compile_all(
                function,
                tuple(kinds),
                device=False,
                abi="numba",
                output="ptx",
                cc=capability(arch),
                lineinfo=True,
                fastmath=bool(options.get("fastmath")),
                launch_bounds=options.get("launch_bounds"),
            )
    except Exception as error:  # numba raises what its passes and NVVM raise
        raise CompileError(f"{function.__name__}: {error}") from error
    text = _linked(codes, function.__name__, arch)
    arguments = tuple(inspect.signature(function).parameters)
    source, first, file = _source(function)
    parts = [names_of(a, t) for a, t in zip(arguments, kinds, strict=True)]
    ptx, name = readable(text, function.__name__, [part for each in parts for part in each])
    params = (Param(p, title=p.removesuffix("_data") if len(each) > 1 else p) for each in parts for p in each)
    return CompiledKernel(
        name,
        arch,
        ptx,
        source,
        file,
        params=tuple(params),
        arguments=arguments,
        line=first,
        metadata={"numba": ", ".join(map(str, kinds))} | ({"grid barrier": True} if BARRIER in codes[0] else {}),
        adapt=functools.partial(_adapted, function.__name__, dict(zip(arguments, kinds, strict=True))),
        language="numba",
    )


BARRIER = "cudaCGSynchronize"
"""The function that `grid.sync()` calls: all blocks of such a kernel are resident at once."""
_GRID_BARRIER = """#include <cooperative_groups.h>
extern "C" __device__ unsigned long long ptxlab_GetIntrinsicHandle(int scope) { return scope; }
extern "C" __device__ int ptxlab_Synchronize(unsigned long long group, unsigned flags) {
    cooperative_groups::this_grid().sync();
    return 0;
}
"""
"""What numba's `grid.sync()` calls in a library of CUDA's that has no PTX, written with CUDA's header, which declares
the names that begin with cudaCG."""


def _linked(codes: Sequence[Any], name: str, arch: str) -> str:
    """One module of the kernel's and of the functions that it calls: CUDA C++ that numba brings, compiled to PTX.

    codes: as numba's `compile_all` returns them, the kernel's PTX first. Of libraries without PTX only the barrier of a
    cooperative grid is known."""
    texts = [codes[0], *(code for code in codes[1:] if isinstance(code, str))]
    if BARRIER in codes[0]:
        texts.append(_device_code(_GRID_BARRIER, "grid_barrier.cu", arch).replace("ptxlab_", "cudaCG"))
    defined = {found for text in texts[1:] for found in _DEFINITION.findall(text)}
    body = _EXTERN.sub(lambda m: "" if m[1] in defined else m[0], texts[0])
    return "\n".join([body, *(_LINES.sub("", text) for text in texts[1:])])


_DEFINITION = re.compile(r"\.visible\s+\.func\s*(?:\([^)]*\)\s*)?([\w$]+)")
_EXTERN = re.compile(r"\.extern\s+\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?\s*;")
_LINES = re.compile(r"^\s*\.(?:version|target|address_size|loc|file)\b.*$", re.MULTILINE)
"""What a module has once, and lines that count the files of one module only."""


def _device_code(source: str, file: str, arch: str) -> str:
    """The PTX of device functions in CUDA C++."""
    from pathlib import Path

    import numba_cuda

    inner = Path(numba_cuda.__file__).parent / "numba" / "cuda"
    folders = [inner / "include" / "13", inner / "memory_management"]
    return cuda_cpp(source, arch, options=["-rdc=true", *(f"-I{each}" for each in folders)], file=file).ptx


def capability(arch: str) -> tuple[int, int]:
    """(8, 0) of "sm_80"."""
    return divmod(int(re.sub(r"\D", "", arch)), 10)


@contextlib.contextmanager
def asked_for(cc: tuple[int, int]) -> Iterator[None]:
    """While kernels are compiled: what numba would ask the driver for. Device functions are compiled for the same
    target; CUDA C++ is compiled without cuda-core, which asks the driver for its version. Shared arrays are named after
    the variables that they are assigned to."""
    from numba.cuda import compiler, cudaimpl, dispatcher, lowering

    device = types.SimpleNamespace(compute_capability=cc)

    def compile(source: Any, name: str, target: tuple[int, int], **how: Any) -> tuple[str, str]:
        text = source.decode() if isinstance(source, bytes) else source
        return _device_code(text, name, f"sm_{target[0]}{target[1]}"), ""

    assigned, lower, unique = "", lowering.Lower.lower_assign, cudaimpl._get_unique_smem_id

    def lower_assign(self: Any, kind: Any, assignment: Any) -> Any:
        nonlocal assigned
        assigned = assignment.target.name.partition(".")[0]
        return lower(self, kind, assignment)

    def shared_name(prefix: str) -> str:
        name = unique(prefix)  # which has the variable already where one session is inside of another
        fits = assigned.isidentifier() and assigned.isascii() and not name.endswith(f"_{assigned}")
        return f"{name}_{assigned}" if fits else name

    named = unique.__module__ == __name__  # in a session, whose names are these already
    changes = [
        *([] if named else [(lowering.Lower, "lower_assign", lower_assign)]),
        *([] if named else [(cudaimpl, "_get_unique_smem_id", shared_name)]),
        (compiler, "get_current_device", lambda: device),
        (dispatcher, "get_current_device", lambda: device),
        (compiler, "nvrtc", types.SimpleNamespace(compile=compile)),
    ]
    with replaced(changes):
        yield


def _source(function: Callable[..., Any]) -> tuple[str, int, str]:
    """A function's text, the line where it begins, and its file; empty where Python has no text of it."""
    try:
        lines, first = inspect.getsourcelines(function)
        return "".join(lines), first, inspect.getsourcefile(function) or "<numba>"
    except (OSError, TypeError):
        return "", 1, "<numba>"


# -- names -------------------------------------------------------------------------------------------------------------

_MANGLED = re.compile(r"_ZN[\w$]+")
_SHARED = re.compile(r"_cudapy_smem_\d+_(\w+)")


def readable(ptx: str, function: str, parameters: Sequence[str]) -> tuple[str, str]:
    """PTX whose symbols have the names that the programmer gave them, and the kernel's name in it.

    `_ZN8__main__6matmulB2v1...` becomes `matmul`, its parameter `..._param_0` what `parameters` says, a shared array
    the variable's name; of two symbols with the same name, as two versions of a device function have, the second
    becomes `scaled_2`.
    """
    entry = re.search(r"\.entry\s+([\w$]+)", ptx)
    assert entry is not None, "numba compiled a kernel without an entry"
    short: dict[str, str] = {entry[1]: function}
    declared = {f"{entry[1]}_param_{k}": name for k, name in enumerate(parameters)}
    for symbol in _MANGLED.findall(ptx):
        owner = symbol.partition("_param_")[0]
        if owner not in short:
            short[owner] = _free(_last_name(owner), set(short.values()))
    new = {
        symbol: short[owner] + symbol[len(owner) :]
        for symbol in set(_MANGLED.findall(ptx))
        for owner in (symbol.partition("_param_")[0],)
    }
    new |= {entry[1]: function} | declared
    for match in _SHARED.finditer(ptx):
        if match[0] not in new:
            new[match[0]] = _free(match[1], set(new.values()))
    return renamed(ptx, new), function


def _last_name(symbol: str) -> str:
    """The last part of a mangled nested name, after "NumbaEnv_" if it names the environment of a function."""
    at, parts = 3, []
    while match := re.compile(r"0?(\d+)").match(symbol, at):
        length = int(match[1])
        parts.append(symbol[match.end() : match.end() + length])
        at = match.end() + length
    named = re.sub(r"\W|\$", "_", parts[-1]) if parts else "symbol"
    return f"NumbaEnv_{named}" if parts and parts[0] == "NumbaEnv" else named


def _free(name: str, taken: set[str]) -> str:
    """The name, or with the first number after it that nobody has."""
    numbers: Iterator[str] = (name if k == 1 else f"{name}_{k}" for k in range(1, len(taken) + 3))
    return next(candidate for candidate in numbers if candidate not in taken)


def names_of(name: str, kind: Any) -> list[str]:
    """The names of the parameters that an argument of a numba type becomes."""
    numba = modules().types
    if isinstance(kind, numba.Array):
        axes = range(kind.ndim)
        parts = ["meminfo", "parent", "nitems", "itemsize", "data", *(f"shape_{k}" for k in axes)]
        return [f"{name}_{part}" for part in (*parts, *(f"stride_{k}" for k in axes))]
    if isinstance(kind, numba.BaseTuple):
        return [part for k, each in enumerate(kind) for part in names_of(f"{name}_{k}", each)]
    if isinstance(kind, numba.Complex):
        return [f"{name}_real", f"{name}_imag"]
    return [name]


# -- arguments ---------------------------------------------------------------------------------------------------------


def flat(kind: Any, value: Any, place: Callable[[Any], Any]) -> Iterator[Any]:
    """The parameters that an argument of a numba type becomes. place: an array -> its `DeviceArray`."""
    numba = modules().types
    if isinstance(kind, numba.Array):
        array = place(value)
        yield from (0, 0, array.size, array.dtype.itemsize, array.address, *array.shape, *array.strides)
    elif isinstance(kind, numba.Record):
        yield place(value).address
    elif isinstance(kind, numba.BaseTuple):
        for each, part in zip(kind, value, strict=True):
            yield from flat(each, part, place)
    elif isinstance(kind, numba.Complex):
        yield from (float(value.real), float(value.imag))
    elif isinstance(kind, numba.EnumMember):
        yield from flat(kind.dtype, value.value, place)
    elif isinstance(kind, numba.NPDatetime | numba.NPTimedelta):
        yield int(value.view(np.int64))
    elif isinstance(kind, numba.Boolean):
        yield int(value)
    elif kind == numba.float16:
        yield int(np.float16(value).view(np.uint16))
    elif isinstance(kind, numba.Integer | numba.CPointer):
        yield operator.index(value)
    elif isinstance(kind, numba.Float):
        yield float(value)
    else:
        raise LaunchError(f"numba has no way to pass an argument of type {kind} to a kernel, got {value!r}")


def _adapted(kernel: str, kinds: Mapping[str, Any], args: Sequence[Any]) -> Sequence[Any]:
    """The arguments of the PTX, out of those of a launch: as they are where they already are those. kinds: the numba
    type of each argument, by name."""
    wanted = sum(len(names_of("", kind)) for kind in kinds.values())
    if len(args) == wanted and (wanted > len(kinds) or not any(hasattr(value, "shape") for value in args)):
        return args
    parts: list[Any] = []
    for at, ((name, kind), value) in enumerate(zip(kinds.items(), args, strict=True)):
        try:
            parts += flat(kind, value, functools.partial(_HostArray, kind))
        except (TypeError, ValueError):
            array = getattr(value, "array", value)
            got = f"{type(value).__name__} {value!r}"
            if isinstance(array, np.ndarray):
                got = f"an array of {array.dtype} {list(array.shape)}"
            raise LaunchError(
                f"{kernel}, argument {at + 1} ({name}: {kind}): expected what it was compiled for, got {got}"
            ) from None
    return parts


class _HostArray:
    """An array of the host in the place of a device array: a launch copies it in and back."""

    def __init__(self, kind: Any, value: Any) -> None:
        array = np.asarray(getattr(value, "array", value))  # within pl.const and pl.out, too
        numba = modules().types
        if isinstance(kind, numba.Array) and array.ndim != kind.ndim:
            raise ValueError("the kernel was compiled for another number of dimensions")
        if (
            isinstance(kind, numba.Array)
            and isinstance(kind.dtype, numba.Number)
            and array.dtype.name != str(kind.dtype)
        ):
            raise TypeError("the kernel was compiled for another type")
        self.size, self.dtype, self.shape, self.strides = array.size, array.dtype, array.shape, array.strides
        self.address = value

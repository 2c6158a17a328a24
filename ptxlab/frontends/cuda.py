"""CUDA C++ to PTX in this process, through NVIDIA's NVRTC; needs its wheel, but no GPU and no toolkit."""

from __future__ import annotations

import difflib
import functools
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Never

from ptxlab.errors import CompileError, LaunchError, UnavailableError, calling_frame
from ptxlab.frontends.kernel import CompiledKernel, Param, Pointer
from ptxlab.frontends.strings import standing
from ptxlab.module_variables import Type
from ptxlab.names import find_symbol, parameter_name, source_name, written_parameters
from ptxlab.options import complete, target, unexpected
from ptxlab.text import String
from ptxlab.text.given import CUDA
from ptxlab.text.given import given as given_instead

INSTALL = "pip install cuda-bindings nvidia-cuda-nvrtc"
INSTALL_HEADERS = "pip install 'ptxlab[cuda]'"
DEFAULT_ARCH = "sm_80"

_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;
typedef unsigned long long uint64_t; typedef unsigned long long uintptr_t; typedef long long intptr_t;
"""
_LIMITS = """#pragma once
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_MATH = """#pragma once
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
#define M_LOG2E 1.44269504088896340736
"""
_HOST_HEADERS = {
    **dict.fromkeys(("assert.h", "stdio.h", "stdlib.h", "string.h", "cassert", "cstdio", "cstdlib", "cstring"), ""),
    **dict.fromkeys(("stdint.h", "cstdint"), _INTEGERS),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOATS),
    **dict.fromkeys(("math.h", "cmath"), _MATH),
}
"""Headers of the host whose device functions NVRTC knows without them, with what kernels use them for besides."""
_ALWAYS = (
    "-DINFINITY=__int_as_float(0x7f800000)",
    "-DNAN=__int_as_float(0x7fffffff)",
)  # nvcc includes math.h by itself
_ELEMENTS = {
    "float": "f32", "double": "f64", "int": "s32", "unsigned": "u32", "unsigned int": "u32", "long long": "s64",
    "unsigned long long": "u64", "short": "s16", "unsigned short": "u16", "char": "b8", "signed char": "s8",
    "unsigned char": "u8", "half": "f16", "__half": "f16", "__nv_bfloat16": "bf16", "int32_t": "s32",
    "uint32_t": "u32", "int64_t": "s64", "uint64_t": "u64", "int16_t": "s16", "uint16_t": "u16", "int8_t": "s8",
    "uint8_t": "u8",
}  # fmt: skip


@complete("pl.cuda('__global__ void scale(float* x) { x[threadIdx.x] *= 2; }')")
def cuda(
    source: str | os.PathLike[str],
    arch: str | None = None,
    entry: str | None = None,
    options: Sequence[str] = (),
    *,
    file: str = "kernel.cu",
    **unknown: Never,
) -> CompiledKernel:
    """CUDA C++ compiled to a kernel. The same source with the same options is compiled once.

    Headers of CUDA (`mma.h`, `cuda_fp16.h`, `cooperative_groups.h`) are found where their wheels are installed
    (`pip install 'ptxlab[cuda]'`).

    Parameters
    ----------
    source
        The text, or a `pathlib.Path` of its file: messages name its lines, and headers are looked for beside it.
    arch
        The target, by default sm_80.
    entry
        Which kernel, where the source has several; a template is named with its arguments, "reduce<float, 128>".
    options
        More of NVRTC's, such as "--use_fast_math", "-DN=4" or "-G".
    file
        What to call the source in messages.

    Returns
    -------
    CompiledKernel
        What `pl.launch` takes. `k["weights"] = array` and `k["counter"]` are its `__constant__` and `__device__`
        variables, which keep their values from launch to launch until `k.reset()`. `k["other"]` is another kernel of
        the source with the same variables. Each call makes a module with variables of its own.

    Raises
    ------
    CompileError
        With the compiler's own words.
    LaunchError
        For options that are wrong.
    UnavailableError
        Where NVRTC is missing.

    Examples
    --------
    >>> pl.launch(pl.cuda(source), grid, block, x, y, n)
    """
    if isinstance(source, os.PathLike):
        path = Path(source)
        file, options = str(path), (f"-I{path.parent}", *options)
        try:
            source = path.read_text(errors="replace")
        except OSError as error:
            raise CompileError(f"{file}: {error.strerror}", file=file) from None
    _check_source(source, file)
    if unknown:
        launch = "pl.launch(pl.cuda(source), grid, block, ...)" if {"grid", "block"} & unknown.keys() else ""
        raise unexpected(cuda, unknown, launch)
    target("arch", arch)
    if isinstance(options, str):
        raise LaunchError(
            f"options: expected a list of strings, got {options!r}\n  write:  options={options.split()!r}"
        )
    frame = calling_frame()
    given = Path(file).is_file() and Path(file).read_text(errors="replace") == source
    origin = None if given else (frame.f_code.co_filename, frame.f_lineno)
    return kernel_of(source, arch or DEFAULT_ARCH, entry or "", tuple(options), file, origin)


def kernel_of(
    source: str, arch: str, entry: str, options: tuple[str, ...], file: str, origin: tuple[str, int] | None
) -> CompiledKernel:
    """As `cuda`. origin: the Python file and line that gave the source to the compiler, if it is in no file."""
    try:
        kernel = _kernel(source, arch, entry, options, file, "" if origin is None else origin[0])
    except CompileError as error:
        if error.line and origin is not None:
            error.span = String(file, source, *standing(source, file, *origin)).span(error.line)
        raise
    kernel.origin = kernel.origin or origin
    return kernel.anew()


@functools.lru_cache(maxsize=128)
def _kernel(source: str, arch: str, entry: str, options: tuple[str, ...], file: str, python: str) -> CompiledKernel:
    """One for each Python file."""
    name, ptx, log = _compiled(source, arch, entry, options, file)
    types = functools.partial(_types, options=options)
    params = _params(source, ptx)
    more: Any = {"types": types, "language": "CUDA C++", "compiled_as": (entry, options)}
    return CompiledKernel(name, arch, ptx, source, file, params=params, log=log, **more)


@functools.lru_cache(maxsize=128)
def _compiled(source: str, arch: str, entry: str, options: tuple[str, ...], file: str) -> tuple[str, str, str]:
    """A kernel's name, the PTX, and what the compiler said besides."""
    expressions = [entry] if re.search(r"[<:]", entry) else []
    ptx, log, lowered = _translated(source, arch, expressions, options, file)
    name = lowered[0] if expressions else entry
    ptx = re.sub(rf'(\.file\s+\d+ ")[^"]*/({re.escape(file)}")', r"\1\2", ptx)
    kernels = tuple(re.findall(r"\.entry\s+([\w$]+)", ptx))
    if name:
        found = find_symbol(kernels, name)
        if not found:
            listed = ", ".join(map(source_name, kernels)) or "none"
            raise CompileError(f"{file} has no kernel {entry!r}; it has {listed}", log=log)
        name = found
    elif len(kernels) == 1:
        name = kernels[0]
    return name, ptx, log


def _translated(
    source: str, arch: str, expressions: Sequence[str], options: Sequence[str], file: str
) -> tuple[str, str, list[str]]:
    """The PTX, what the compiler said, and the names that instances of templates have in the PTX."""
    nvrtc = _nvrtc()
    headers = _HOST_HEADERS
    names = [name for name in headers if not _provided(name)]
    program = _call(
        nvrtc,
        nvrtc.nvrtcCreateProgram(
            source.encode(),
            file.encode(),
            len(names),
            [headers[n].encode() for n in names],
            [n.encode() for n in names],
        ),
    )
    try:
        for expression in expressions:
            _call(nvrtc, nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        given = [f"--gpu-architecture=compute_{arch.removeprefix('sm_')}", "-lineinfo", "--std=c++17", *_ALWAYS]
        if sys.platform.startswith("linux"):
            given.append("--device-int128")
        if any(o in ("-G", "--device-debug") for o in options):
            given.remove("-lineinfo")
        given += [f"-I{folder}" for folder in include_folders()] + list(options)
        (status,) = nvrtc.nvrtcCompileProgram(program, len(given), [o.encode() for o in given])
        log = _text(nvrtc, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            if _in_header(log, file) and DEFAULT_DEVICE not in options:
                return _translated(source, arch, expressions, (*options, DEFAULT_DEVICE), file)
            raise _error(log or _words(nvrtc, status), source, file)
        ptx = _text(nvrtc, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        lowered = [_call(nvrtc, nvrtc.nvrtcGetLoweredName(program, e.encode())).decode() for e in expressions]
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return ptx, log, lowered


DEFAULT_DEVICE = "-default-device"
"""NVRTC's option that makes functions of the host, which headers such as `cuda.h` declare, functions of the device."""


def _in_header(log: str, file: str) -> bool:
    """Whether the first mistake is that a header declares something of the host."""
    first = re.search(r"^(.*)\(\d+\): (?:catastrophic )?error: (.*)", log, re.M)
    return first is not None and first[1] != file and DEFAULT_DEVICE in first[2]


# -- the compiler ------------------------------------------------------------------------------------------------------


@functools.cache
def include_folders() -> tuple[str, ...]:
    """Where CUDA's own headers are: in the wheels of its runtime, in a toolkit that CUDA_HOME or CUDA_PATH names, or in
    the usual place of one."""
    import importlib.util
    import os

    spec = importlib.util.find_spec("nvidia")
    roots = [Path(p) for p in (spec.submodule_search_locations or ())] if spec is not None else []
    folders = [root / kind / "include" for root in roots for kind in ("cu13", "cuda_runtime")]
    folders += [Path(os.environ[name]) / "include" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    folders += [Path("/usr/local/cuda/include")]
    found = [folder for folder in folders if (folder / "cuda_fp16.h").is_file()]
    found.sort(key=lambda folder: not (folder / "crt").is_dir())  # which the wheel of the runtime includes and lacks
    for folder in found:
        inner = folder / "cccl"
        return (str(folder), str(inner)) if inner.is_dir() else (str(folder),)
    return ()


def _provided(header: str) -> bool:
    return any((Path(folder) / header).is_file() for folder in include_folders())


@functools.cache
def available() -> bool:
    """Whether NVRTC can be loaded here."""
    try:
        _nvrtc()
    except UnavailableError:
        return False
    return True


@functools.cache
def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UnavailableError(f"NVIDIA's CUDA C++ compiler is not installed ({reason}): {INSTALL}") from None
    return nvrtc


def _words(nvrtc: Any, status: Any) -> str:
    return str(nvrtc.nvrtcGetErrorString(status)[1].decode())


def _call(nvrtc: Any, result: tuple[Any, ...]) -> Any:
    """The value of a call of NVRTC, or an error in its words."""
    if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC: {_words(nvrtc, result[0])}")
    return result[1] if len(result) > 1 else None


def _text(nvrtc: Any, size: Any, read: Any, program: Any) -> str:
    buffer = bytearray(_call(nvrtc, size(program)))
    _call(nvrtc, read(program, buffer))
    return buffer.decode(errors="replace").rstrip("\0").strip("\n")


def _check_source(source: object, file: str) -> None:
    """`CompileError` for what is not CUDA C++."""
    other = given_instead(source)
    if not isinstance(source, str) or other.says not in CUDA:
        raise CompileError(f"expected CUDA C++, got {other.says}", file=file, hint=other.write)


def _host_code(source: str, file: str, log: str) -> CompileError | None:
    """The error for the host's part of a program that was not compiled, if it has one."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.S)
    launch = re.search(r"(\w+)\s*<<<([^;]*?)>>>\s*\(([^;]*)\)\s*;", bare)
    host = launch or re.search(r"^[ \t]*(int|void|auto)\s+main\s*\(", bare, re.MULTILINE)
    if host is None:
        return None
    kernel, sizes, args = launch.groups() if launch else ("kernel", "grid, block", "x, n")
    grid, block = (*(size.strip() for size in sizes.split(",")), "32")[:2]
    line = bare.count("\n", 0, host.start()) + 1
    hint = f"leave the host's code out; then pl.launch({kernel}, {grid}, {block}, {args})"
    hint += f", or %%cuda --grid {grid} --block {block} --args {''.join(args.split())}"
    what = f"{file}({line}): {'<<<...>>>' if launch else 'main'} is code of the host, which is Python here"
    return CompileError(what, line=line, source=source.split("\n")[line - 1], file=file, hint=hint, log=log)


_HEADERS = {"half": "cuda_fp16.h", "bfloat": "cuda_bf16.h", "fp": "cuda_fp8.h"}
"""Where types are declared."""
_WORDS = "threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __shfl_sync __shfl_xor_sync".split()
"""Names of CUDA C++ that are misspelt."""


def _error(log: str, source: str, file: str) -> CompileError:
    """The compiler's words, which show line and caret, and what to do where they leave that open."""
    if (host := _host_code(source, file, log)) is not None:
        return host
    at = re.search(rf"{re.escape(file)}\((\d+)\)", log)
    line = int(at[1]) if at else 0
    hint = ""
    missing = re.search(r'(?:could not|cannot) open source file "([^"]+)"', log)
    unknown = re.search(r'identifier "(\w+)" is undefined', log)
    if missing and not include_folders():
        hint = f"CUDA's headers are in wheels of their own: {INSTALL_HEADERS}"
    elif missing:
        hint = f"{missing[1]} is not among CUDA's device headers; NVRTC compiles device code only"
        hint += f"\n          leave it out, or say where it is: options=['-I/folder/of/{os.path.basename(missing[1])}']"
    elif "unrecognized option" in log:
        hint = "options are those of NVRTC; leave out those of nvcc alone, such as -O3 and -o"
    elif unknown and (header := _HEADERS.get(unknown[1].strip("_").removeprefix("nv_").rstrip("1234567890"))):
        hint = f"#include <{header}>"
    elif unknown and (
        close := difflib.get_close_matches(unknown[1], {*_WORDS, *re.findall(r"\w+", source)} - {unknown[1]}, 1)
    ):
        hint = f"did you mean {close[0]}?"
    elif "invalid value for --gpu-architecture" in log:
        hint = "this compiler takes sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and others from sm_75 on"
    elif "without execution space annotations" in log:
        hint = "write __global__ before a kernel, __device__ before a function that a kernel calls"
    lines = source.split("\n")
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return CompileError(log.rstrip(), line=line, source=text, file=file, hint=hint, log=log)


# -- parameters --------------------------------------------------------------------------------------------------------


def _params(source: str, ptx: str) -> tuple[Param, ...]:
    """What the source says of the parameters of all kernels: their names, and types of pointers that are plain."""
    found = []
    for name, header in re.findall(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx):
        declared = re.findall(r"\.param\b[^,\n]*?([\w$]+)(?:\[\d+\])?\s*(?:,|\n|$)", header)
        for parameter, written in zip(declared, written_parameters(source, name, len(declared)), strict=False):
            words = re.sub(r"\b(const|volatile|__restrict__|__grid_constant__)\b", " ", written)
            kind, star, _ = words.partition("*")
            element = _ELEMENTS.get(" ".join(kind.split())) if star and words.count("*") == 1 else None
            found.append(Param(parameter, Pointer(element) if element else None, parameter_name(written)))
    return tuple(found)


# -- variables ---------------------------------------------------------------------------------------------------------

_PROBE = "ptxlab_type_of"
_CPP = {
    "b": "?", "a": "i1", "h": "u1", "s": "i2", "t": "u2", "i": "i4", "j": "u4", "l": "i8", "m": "u8", "x": "i8",
    "y": "u8", "f": "f4", "d": "f8", "6__half": "f2", "7__half2": "f2", "13__nv_bfloat16": "bfloat16",
    "14__nv_bfloat162": "bfloat16", "P": "u8",
}  # fmt: skip
"""The numpy types of C++'s as they are in mangled names; `char` is bytes."""
_NAMED = {"char": "i1", "short": "i2", "int": "i4", "long": "i8", "longlong": "i8", "float": "f4", "double": "f8"}
"""The numpy types of the elements of `uint4`, `float2` and the like."""


def _types(kernel: CompiledKernel, options: Sequence[str]) -> dict[str, Type]:
    """The types of the variables that are bytes or unsigned in the PTX, by their names there: the compiler tells them
    in the names of a template that is instantiated for each."""
    untold = [
        v.name for v in kernel.module.variables if v.space in ("global", "const") and v.type.startswith(("b", "u"))
    ]
    names = {name: source_name(name) for name in untold if not name.startswith("_ZZ")}

    def ask(names: Mapping[str, str]) -> dict[str, Type]:
        probe = f"{kernel.source}\ntemplate <class T> __global__ void {_PROBE}() {{}}\n"
        expressions = [f"{_PROBE}<decltype(({name}))>" for name in names.values()]
        try:
            lowered = _translated(probe, kernel.arch, expressions, options, kernel.file)[2]
        except CompileError:  # one of them cannot be named, such as a private member
            each = [ask({name: names[name]}) for name in names] if len(names) > 1 else []
            return {name: type for found in each for name, type in found.items()}
        found = {name: _type_of(mangled) for name, mangled in zip(names, lowered, strict=True)}
        return {name: type for name, type in found.items() if type is not None}

    return ask(names) if names else {}


def _type_of(mangled: str) -> Type | None:
    """The type in the name of the template for it: `A4_A2_f` is `float[4][2]`. None for structures."""
    match = re.fullmatch(rf"_Z{len(_PROBE)}{_PROBE}IR((?:A\d+_)*)[rVK]*(.+)Evv", mangled)
    if match is None:
        return None
    shape, kind = tuple(map(int, re.findall(r"\d+", match[1]))), match[2]
    vector = re.fullmatch(rf"\d+(u?)({'|'.join(_NAMED)})([1-4])(?:_\d+a)?", kind)
    if vector is not None:
        return _NAMED[vector[2]].replace("i", "u" if vector[1] else "i"), (*shape, int(vector[3]))
    element = _CPP.get("P" if kind[0] == "P" else kind, "")
    if element == "bfloat16":
        import ml_dtypes  # noqa: F401  (numpy knows the name from it)
    return (element, (*shape, 2) if kind[-1] == "2" else shape) if element else None

"""CUDA C++ to PTX in this process, through NVIDIA's NVRTC; needs its wheel, but no GPU and no toolkit."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptxlab.errors import CompileError, UnavailableError
from ptxlab.frontends.kernel import CompiledKernel, Param, Pointer, find_kernel

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


def cuda(
    source: str,
    arch: str | None = None,
    entry: str | None = None,
    options: Sequence[str] = (),
    *,
    file: str = "kernel.cu",
) -> CompiledKernel:
    """CUDA C++ compiled to a kernel that `pl.launch` takes: `pl.launch(pl.cuda(source), grid, block, x, y, n)`.

    arch: the target, sm_80 by default. entry: which kernel, when the source has several; a template is named with its
    arguments, "reduce<float, 128>". options: more of NVRTC's, such as "--use_fast_math", "-DN=4" or "-G". file: what to
    call the source in messages.

    Headers of CUDA (`mma.h`, `cuda_fp16.h`, `cooperative_groups.h`) are found where their wheels are installed
    (`pip install 'ptxlab[cuda]'`). The same source with the same options is compiled once.

    Raises `CompileError` with the compiler's own words, `UnavailableError` where NVRTC is missing.
    """
    return _compiled(source, arch or DEFAULT_ARCH, entry or "", tuple(options), file)


@functools.lru_cache(maxsize=128)
def _compiled(source: str, arch: str, entry: str, options: tuple[str, ...], file: str) -> CompiledKernel:
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
        expression = entry if re.search(r"[<:]", entry) else ""
        if expression:
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
            raise _error(log or _words(nvrtc, status), source, file)
        ptx = _text(nvrtc, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        name = _call(nvrtc, nvrtc.nvrtcGetLoweredName(program, expression.encode())).decode() if expression else entry
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    ptx = re.sub(rf'(\.file\s+\d+ ")[^"]*/({re.escape(file)}")', r"\1\2", ptx)
    kernels = tuple(re.findall(r"\.entry\s+([\w$]+)", ptx))
    if name:
        found = find_kernel(kernels, name)
        if not found:
            raise CompileError(f"{file} has no kernel {entry!r}; it has {', '.join(kernels) or 'none'}", log=log)
        name = found
    elif len(kernels) == 1:
        name = kernels[0]
    return CompiledKernel(name, arch, ptx, source, file, params=_params(source, name, ptx), log=log)


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


def _error(log: str, source: str, file: str) -> CompileError:
    """The compiler's words, which show line and caret, and what to do where they leave that open."""
    at = re.search(rf"{re.escape(file)}\((\d+)\)", log)
    line = int(at[1]) if at else 0
    hint = ""
    missing = re.search(r'could not open source file "([^"]+)"', log)
    if missing and not include_folders():
        hint = f"CUDA's headers are in wheels of their own: {INSTALL_HEADERS}"
    elif missing:
        hint = f"{missing[1]} is not among CUDA's device headers; NVRTC compiles device code only"
    elif "invalid value for --gpu-architecture" in log:
        hint = "this compiler takes sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and others from sm_75 on"
    lines = source.split("\n")
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    return CompileError(log.rstrip(), line=line, source=text, file=file, hint=hint, log=log)


# -- parameters --------------------------------------------------------------------------------------------------------


def _params(source: str, name: str, ptx: str) -> tuple[Param, ...]:
    """What the source says of the kernel's parameters; only those whose types are plain are given."""
    header = re.search(rf"\.entry\s+{re.escape(name)}\s*\(([^)]*)\)", ptx) if name else None
    if header is None:
        return ()
    declared = re.findall(r"\.param\b[^,\n]*?([\w$]+)(?:\[\d+\])?\s*(?:,|\n|$)", header[1])
    plain = re.match(r"_Z(\d+)", name)
    short = name[plain.end() : plain.end() + int(plain[1])] if plain else name
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.S)
    match = re.search(rf"__global__[^;{{()]*(?:\([^)]*\))?[^;{{()]*\b{re.escape(short)}\s*\(([^)]*)\)", bare)
    given = [p.strip() for p in match[1].split(",")] if match and match[1].strip() else []
    if len(given) != len(declared):
        return ()
    found = []
    for written, parameter in zip(given, declared, strict=True):
        words = re.sub(r"\b(const|volatile|__restrict__|__grid_constant__)\b", " ", written)
        kind, star, _ = words.partition("*")
        if star and words.count("*") == 1:
            element = _ELEMENTS.get(" ".join(kind.split()))
            if element:
                found.append(Param(parameter, Pointer(element)))
    return tuple(found)

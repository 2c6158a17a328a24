"""Kernels of NVIDIA Warp to PTX: it compiles ahead of time, without a GPU, when it is told the architecture."""

from __future__ import annotations

import functools
import importlib
import re
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab.errors import CompileError, LaunchError, UnavailableError
from ptxlab.frontends.kernel import CompiledKernel, parameters_renamed
from ptxlab.frontends.structs import split

INSTALL = "pip install warp-lang"
BLOCK = 256
"""Threads of a block, as Warp launches them."""


def warp(kernel: Any, dim: int | Sequence[int], *, arch: str | None = None) -> CompiledKernel:
    """The forward kernel of a function under `@wp.kernel`, for a launch of `dim` threads.

    `k = warp(scale, 1000)`, then `pl.launch(k, k.metadata["grid"], None, x, 2.0, out)` with numpy arrays. Raises
    `UnavailableError` where Warp is not installed, `CompileError` with its words.
    """
    try:
        wp: Any = importlib.import_module("warp")
    except ImportError as error:
        raise UnavailableError(f"Warp is not installed ({error}): {INSTALL}") from None
    if not isinstance(kernel, wp.Kernel):
        raise LaunchError(f"kernel: expected a function with @wp.kernel, got {kernel!r}")
    target, sizes = arch or "sm_80", tuple(dim) if isinstance(dim, Sequence) else (dim,)
    options = kernel.module.options
    lines, options["lineinfo"] = options.get("lineinfo"), True
    module = sys.modules[kernel.func.__module__]
    try:
        with tempfile.TemporaryDirectory() as folder:
            wp.compile_aot_module(module, arch=int(target.removeprefix("sm_")), module_dir=folder, use_ptx=True)
            (file,) = Path(folder).glob("*.ptx")
            ptx = file.read_text().rstrip("\0\n ") + "\n"
    except Exception as error:  # Warp raises what its passes and NVRTC raise
        raise CompileError(f"{kernel.key}: {error}") from error
    finally:
        options["lineinfo"] = lines
    names = [name for name in re.findall(r"\.entry\s+([\w$]+)", ptx) if re.match(rf"{kernel.key}_\w+_forward$", name)]
    if len(names) != 1:
        raise CompileError(f"{kernel.key}: Warp wrote {len(names)} kernels of this name")
    threads = int(np.prod(sizes))
    types = tuple(argument.type for argument in kernel.adj.args)
    name, arguments = kernel.func.__name__, tuple(argument.label for argument in kernel.adj.args)
    return CompiledKernel(
        name,
        target,
        parameters_renamed(split(ptx, names[0], first=1), names[0], name, ("launch_bounds", *arguments)),
        kernel.adj.source,
        kernel.adj.filename,
        arguments=arguments,
        block=BLOCK,
        line=kernel.adj.fun_lineno,
        metadata={"grid": -(-threads // BLOCK), "dim": sizes},
        adapt=functools.partial(_adapted, sizes, types),
    )


def _adapted(dim: tuple[int, ...], types: Sequence[Any], args: Sequence[Any]) -> Sequence[Any]:
    """The bounds of the launch and the parameters of the PTX, out of a launch's arguments."""
    if len(args) != len(types):
        return args
    # a struct of the sizes, the number of threads, and how many of them share a coordinate
    words = struct.pack(f"<{len(dim)}I", *dim)
    bounds = words + bytes(-len(words) % 8) + struct.pack("<QQ", int(np.prod(dim)), 1)
    return [bounds, *(part for kind, value in zip(types, args, strict=True) for part in _parts(kind, value))]


def _parts(kind: Any, value: Any) -> Iterator[Any]:
    """A number as it is; an array as its address, and what follows in Warp's `array_t`: the gradient's address, the
    shape, the strides in bytes, the number of dimensions, flags."""
    array = getattr(value, "array", value)  # within pl.const and pl.out, too
    if not isinstance(array, np.ndarray):
        yield float(value) if "float" in getattr(kind, "__name__", "") else value
        return
    axes = [0] * (4 - array.ndim)
    yield value
    yield struct.pack("<Q4i4iHH4x", 0, *array.shape, *axes, *array.strides, *axes, array.ndim, 0)

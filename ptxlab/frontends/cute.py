"""Kernels of CuTe DSL (`nvidia-cutlass-dsl`) to PTX: it keeps what it compiles for fake tensors."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import re
import tempfile
from typing import Any

import numpy as np

from ptxlab.errors import CompileError, UnavailableError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.frontends.kernel import CompiledKernel, parameters_renamed, renamed
from ptxlab.frontends.structs import split

INSTALL = "pip install nvidia-cutlass-dsl"
TYPES = {"float32": "Float32", "float64": "Float64", "float16": "Float16", "bfloat16": "BFloat16", "int32": "Int32",
         "int64": "Int64", "int8": "Int8", "uint8": "Uint8", "uint32": "Uint32"}  # fmt: skip
"""The names of CuTe's types by numpy's."""


def cute(function: Any, *args: Any, arch: str | None = None, entry: str = "") -> CompiledKernel:
    """A kernel that a function under `@cute.jit` launches, compiled for its arguments.

    args: as `cute.compile` takes them; of a numpy array in the order of C a fake tensor of its type and shape is made.
    entry: which kernel, where the function launches several. Its parameters are those of the function under
    `@cute.kernel`: `pl.launch(cute(softmax, x, out), rows, 32, x, out)`.
    """
    try:
        module: Any = importlib.import_module("cutlass.cute")
        cutlass: Any = importlib.import_module("cutlass")
    except ImportError as error:
        raise UnavailableError(f"CuTe DSL is not installed ({error}): {INSTALL}") from None
    target = arch or "sm_80"
    tensors = [as_numpy(value) if hasattr(value, "copy_") else value for value in args]
    given = [_fake(cutlass, module, value) if isinstance(value, np.ndarray) else value for value in tensors]
    try:
        with tempfile.TemporaryDirectory() as folder:  # CuTe keeps a file of it, too
            options = f"--gpu-arch {target} --dump-dir {folder} --keep-ptx --generate-line-info"
            compiled = module.compile(function, *given, options=options)
    except Exception as error:  # CuTe raises what its passes raise
        raise CompileError(f"{getattr(function, '__name__', function)}: {error}") from error
    ptx = str(compiled.__ptx__).rstrip("\0")
    names = tuple(re.findall(r"\.entry\s+([\w$]+)", ptx))
    found = entry and next((name for name in names if entry in name), "")
    if not entry and len(names) == 1:
        found = names[0]
    if not found:
        raise CompileError(f"entry: name one of the kernels {', '.join(names)}, or a part of its name")
    own = getattr(function, "__wrapped__", function)
    file = inspect.getsourcefile(own if inspect.isroutine(own) else type(own)) or "<cute>"  # or an object with __call__
    source = "".join(linecache.getlines(file))  # of a notebook's cell, too
    ptx = split(ptx, found)
    if written := _written(source, found):
        name, parameters, arrays = written
        ptx, found = parameters_renamed(ptx, found, name, parameters), name
        static = sorted(
            set(re.findall(r"\b__static_shmem__\d+", ptx)), key=lambda symbol: int(symbol.rpartition("_")[2])
        )
        if len(static) == len(arrays) and not set(arrays) & {name, *parameters}:
            ptx = renamed(ptx, dict(zip(static, arrays, strict=True)))
    return CompiledKernel(found, target, ptx, source, file)


def _written(source: str, kernel: str) -> tuple[str, list[str], list[str]] | None:
    """The name, the parameters without those that are compiled in, and the static shared arrays of the function of
    which CuTe has made a kernel; None where it is not in this source."""
    functions = [
        each
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.FunctionDef) and kernel.startswith(f"kernel_cutlass_{each.name}_")
    ]
    if not functions:
        return None
    found = max(functions, key=lambda each: len(each.name))
    given = [each for each in found.args.args if "Constexpr" not in ast.unparse(each.annotation or each)]
    arrays = {
        each.lineno: each.targets[0].id
        for each in ast.walk(found)
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and "alloc_smem(" in ast.unparse(each)
    }
    return found.name, [each.arg for each in given if each.arg != "self"], [arrays[line] for line in sorted(arrays)]


def _fake(cutlass: Any, module: Any, array: Any) -> Any:
    """A tensor without memory, of an array's type and shape, as it lies in the order of C."""
    order = tuple(reversed(range(array.ndim)))
    kind = getattr(cutlass, TYPES[array.dtype.name])
    return module.runtime.make_fake_compact_tensor(kind, array.shape, stride_order=order, assumed_align=16)

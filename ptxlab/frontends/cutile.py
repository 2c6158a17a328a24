"""Kernels of cuTile to PTX: its compiler keeps the PTX in the cubin, in the section `.nv_debug_ptx_txt`."""

from __future__ import annotations

import importlib
import inspect
import io
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxlab.errors import CompileError, UnavailableError
from ptxlab.foreign_arrays import as_numpy
from ptxlab.frontends.kernel import CompiledKernel, parameters_renamed

INSTALL = "pip install 'cuda-tile[tileiras]'"
SECTION = b".nv_debug_ptx_txt"


def cutile(kernel: Any, *args: Any, arch: str | None = None) -> CompiledKernel:
    """A function under `@ct.kernel`, compiled for arguments as a launch has them; the constants among them are compiled
    in and are not given to `pl.launch`: `pl.launch(cutile(softmax, x, out, 128), rows, None, x, out)`.

    The grid counts tile blocks. Where a line of PTX comes from is not known: the compiler keeps no lines of Python.
    """
    try:
        ct: Any = importlib.import_module("cuda.tile")
        compilation: Any = importlib.import_module("cuda.tile.compilation")
    except ImportError as error:
        raise UnavailableError(f"cuTile is not installed ({error}): {INSTALL}") from None
    target, out = arch or "sm_80", io.BytesIO()
    function = getattr(kernel, "_pyfunc", None) or getattr(kernel, "__wrapped__", kernel)
    constants = [
        "Constant" in str(parameter.annotation) for parameter in inspect.signature(function).parameters.values()
    ]
    try:
        given = [as_numpy(value) for value in args]
        wanted = [_constraint(ct, compilation, *each) for each in zip(given, constants, strict=True)]
        convention = compilation.CallingConvention.cutile_python_v1()
        signature = compilation.KernelSignature(wanted, convention, function.__name__)
        compilation.export_kernel(kernel, [signature], out, gpu_code=target, output_format="cubin")
    except Exception as error:  # cuTile raises what its passes and its compiler raise
        raise CompileError(f"{getattr(function, '__name__', kernel)}: {error}") from error
    lines, first = inspect.getsourcelines(function)
    names = [
        name for name, constant in zip(inspect.signature(function).parameters, constants, strict=True) if not constant
    ]
    values = [value for value, constant in zip(args, constants, strict=True) if not constant]
    parts = [part for name, value in zip(names, values, strict=True) for part in _parts(name, value)]
    ptx = parameters_renamed(kept(out.getvalue()), function.__name__, function.__name__, parts)
    return CompiledKernel(
        function.__name__,
        target,
        ptx,
        "".join(lines),
        inspect.getsourcefile(function) or "<cutile>",
        line=first,
        block=int(ptx.partition(".reqntid")[2].split()[0].rstrip(",")) if ".reqntid" in ptx else 0,
        arguments=tuple(names),
        adapt=_flat,
    )


def _constraint(ct: Any, compilation: Any, value: Any, constant: bool) -> Any:
    """What cuTile compiles an argument for."""
    if constant:
        return value
    if not isinstance(value, np.ndarray):
        return compilation.ScalarConstraint(ct.float32 if isinstance(value, float) else ct.int32)
    steps = (None,) * (value.ndim - 1) + (1,)
    return compilation.ArrayConstraint(
        getattr(ct, value.dtype.name),
        value.ndim,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=steps,
    )


def _parts(name: str, value: Any) -> list[str]:
    """The names of the parameters that `_flat` makes of an argument."""
    axes = range(getattr(value, "ndim", 0))
    return [name, *(f"{name}_{what}_{k}" for what in ("shape", "stride") for k in axes)]


def _flat(args: Sequence[Any]) -> Sequence[Any]:
    """An array as its address, shape and strides in elements."""
    parts: list[Any] = []
    for value in args:
        parts.append(value)
        array = getattr(value, "array", value)
        if isinstance(array, np.ndarray):
            parts += [*array.shape, *(step // array.itemsize for step in array.strides)]
    return parts


def kept(cubin: bytes) -> str:
    """The PTX that a cubin was made of: lines that end with a zero byte. `CompileError` where it holds none."""
    start, each, count, names = (*struct.unpack_from("<Q", cubin, 40), *struct.unpack_from("<HHH", cubin, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + k * each) for k in range(count)]
    for section in sections:
        name = sections[names][4] + section[0]
        if cubin[name : cubin.index(b"\0", name)] == SECTION:
            text = cubin[section[4] : section[4] + section[5]].lstrip(b"\0")
            return text.replace(b"\0", b"\n").decode().rstrip("\n") + "\n"
    raise CompileError("the cubin holds no PTX (section .nv_debug_ptx_txt)")

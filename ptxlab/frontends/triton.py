"""Triton kernels to PTX: the compiler of Triton runs without a GPU when it is told the target."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from ptxlab.errors import CompileError, UnavailableError
from ptxlab.frontends.kernel import CompiledKernel, Param, Pointer

INSTALL = "pip install 'ptxlab[triton]'"
NEEDED = (3, 6)
"""The oldest version whose kernels have been compiled and launched, on an H100."""
_ELEMENTS = {
    "fp32": "f32", "fp64": "f64", "fp16": "f16", "bf16": "bf16", "i1": "b8", "fp8e4nv": "e4m3", "fp8e5": "e5m2",
    **{f"i{n}": f"b{n}" for n in (8, 16, 32, 64)}, **{f"u{n}": f"b{n}" for n in (8, 16, 32, 64)},
}  # fmt: skip


def check_installed(needed: tuple[int, int] = NEEDED) -> None:
    """Raises `UnavailableError` where there is no Triton, or one that is too old."""
    try:
        import triton as found
    except ImportError as error:
        raise UnavailableError(f"Triton is not installed ({error}): {INSTALL}") from None
    number = tuple(map(int, re.findall(r"\d+", found.__version__)[:2]))
    if number < needed:
        oldest = ".".join(map(str, needed))
        raise UnavailableError(f"Triton {found.__version__} is installed, and {oldest} or later is needed: {INSTALL}")


def triton(
    fn: Any,
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    *,
    num_warps: int = 4,
    num_stages: int = 3,
    arch: str | None = None,
) -> CompiledKernel:
    """A Triton function compiled to a kernel: `pl.triton(add, {"x": "*fp32", "n": "i32"}, {"BLOCK": 256})`.

    signature: the type of each run-time argument in Triton's words; ":16" after it promises a multiple of 16, which
    asynchronous copies need ("*fp16:16", "i32:16"). constexprs: the values of the others. arch: the target, sm_80 by
    default. Launch it with `pl.launch(k, grid, k.block, ...)`: `k.block` is 32 times `num_warps`, and
    `k.shared` is the dynamic shared memory that `pl.launch` gives it.

    Raises `UnavailableError` where Triton is not installed, `CompileError` with Triton's words.
    """
    check_installed()
    from triton import compile as compile_
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    target = arch or "sm_80"
    number = re.search(r"\d+", target)
    constants = dict(constexprs or {})
    types = {name: kind.partition(":")[0] for name, kind in signature.items()}
    types |= dict.fromkeys(constants, "constexpr")
    missing = [name for name in fn.arg_names if name not in types]
    if missing:
        raise CompileError(f"{fn.__name__}: signature and constexprs leave out {', '.join(missing)}")
    ordered = {name: types[name] for name in fn.arg_names}
    promised = [k for k, name in enumerate(fn.arg_names) if signature.get(name, "").endswith(":16")]
    attributes = {(k,): [["tt.divisibility", 16]] for k in promised}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="TRITON_")  # what its defaults will be one day
            compiled = compile_(
                ASTSource(fn=fn, signature=ordered, constexprs=constants, attrs=attributes),
                target=GPUTarget("cuda", int(number[0]) if number else 80, 32),
                options={"num_warps": num_warps, "num_stages": num_stages},
            )
    except Exception as error:
        raise CompileError(f"{fn.__name__}: {error}") from error
    run_time = [(name, kind) for name, kind in ordered.items() if kind != "constexpr"]
    made = kernel_of(compiled.asm["ptx"], compiled.metadata, fn, target)
    names = [v.name for v in made.module.kernels[0].params]
    made.params = tuple(
        Param(name, Pointer(_ELEMENTS[kind[1:]]) if kind[0] == "*" and kind[1:] in _ELEMENTS else None, given)
        for name, (given, kind) in zip(names, run_time, strict=False)
    )
    made.trailing = (None,) * (len(names) - len(run_time))
    return made


def kernel_of(ptx: str, metadata: Any, fn: Any, arch: str) -> CompiledKernel:
    """What Triton has compiled of a function under `@triton.jit`, without the types of its parameters. metadata:
    Triton's."""
    return CompiledKernel(
        metadata.name,
        arch,
        re.sub(r'(\.file\s+\d+ ")[^"]*/(triton/language/[^"]*")', r"\1\2", ptx),
        "".join(fn.raw_src),
        fn.fn.__code__.co_filename,
        shared=metadata.shared,
        block=32 * metadata.num_warps,
        line=fn.starting_line_number,
        metadata={"num_warps": metadata.num_warps, "num_stages": metadata.num_stages, "shared": metadata.shared},
        scratch=metadata.global_scratch_size,
        language="Triton",
    )

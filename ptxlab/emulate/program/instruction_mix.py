"""What an instruction is, as far as a count of instructions cares: the pipe that runs it, its floating-point work.

The pipe is that of the machine instruction which a PTX instruction mostly becomes; division, square roots and the like
become many, and are sorted by the one that gives them their name.
"""

from __future__ import annotations

import functools

from ptxlab.isa import fragments, types
from ptxlab.isa.table import Form

_XU = frozenset(
    {"ex2", "lg2", "sin", "cos", "rcp", "rsqrt", "sqrt", "tanh", "popc", "bfind", "brev", "clz", "div", "rem"}
)
_FLOW = frozenset({"bra", "brx", "call", "ret", "exit", "trap", "brkpt", "activemask", "elect", "nanosleep"})
_LSU = frozenset(
    {"ld", "st", "ldu", "atom", "red", "shfl", "ldmatrix", "stmatrix", "movmatrix", "cp", "prefetch", "prefetchu",
     "fence", "membar", "mbarrier"}
)  # fmt: skip
_ARITHMETIC = frozenset({"add", "sub", "mul", "fma", "mad", "min", "max", "neg", "abs", "set", "setp", "div", "testp"})
_COMPARING = frozenset({"min", "max", "neg", "abs", "set", "setp", "testp"})


@functools.cache
def pipe_of(form: Form, space: str = "") -> str:
    """The pipe of an instruction; one of `ptxlab.emulate.runtime.counters.PIPES`. space: of a memory access, as
    resolved."""
    name, type_ = form.op.name, str(form.type)
    if name in ("mma", "wgmma") or (name == "wmma" and not form.matrix):
        return "tensor"
    if name in ("bar", "barrier"):
        return "cbu" if form.warp else "adu"
    if name in ("ld", "st", "ldu") and space in ("param", "const", "frame"):
        return "adu"
    if name in _LSU or name == "wmma":
        return "lsu"
    if name in _FLOW:
        return "cbu"
    if name == "cvt":
        words = [word for word in form.opcode.split(".") if word in types.WIDTH]
        return "xu" if any(map(types.is_float, words)) else "alu"
    if type_ == "f64" and name in _ARITHMETIC:
        return "fp64"
    if name in _XU:
        return "xu"
    if type_ in ("f16", "f16x2", "bf16", "bf16x2") and name in _ARITHMETIC:
        return "fp16"
    if type_ in ("f32", "f32x2") and name in _ARITHMETIC - _COMPARING:
        return "fma"
    return "fma" if name in ("mul", "mad", "mul24", "mad24", "dp4a", "dp2a") else "alu"


@functools.cache
def operation_of(form: Form) -> str:
    """`fadd`, `dfma`, `hmul` ...: the kind of a floating-point operation as profilers name it, else nothing."""
    name, type_ = form.op.name, str(form.type)
    letter = {"f32": "f", "f32x2": "f", "f64": "d", "f16": "h", "f16x2": "h", "bf16": "h", "bf16x2": "h"}.get(type_)
    word = {"add": "add", "sub": "add", "mul": "mul", "fma": "fma", "mad": "fma"}.get(name)
    return f"{letter}{word}" if letter and word else ""


@functools.cache
def flops_of(form: Form) -> tuple[str, int]:
    """(type, floating-point operations): of one thread, or for "tensor" of a whole warp. An fma is two; a matrix
    product of shape MxNxK is 2*M*N*K, and one of integers none."""
    name, type_ = form.op.name, str(form.type)
    if pipe_of(form) == "tensor":
        if not types.is_float(str(form.dtype)):
            return "tensor", 0
        m, n, k = fragments.shape(form.shape)
        pairs = 4 if form.shape == "m8n8k4" and form.op.name == "mma" and form.atype == "f16" else 1
        return "tensor", 2 * m * n * k * pairs
    if not operation_of(form):
        return type_, 0
    each = 2 if type_.endswith("x2") else 1
    return type_.removesuffix("x2"), each * (2 if name in ("fma", "mad") else 1)

"""How much work an instruction is: the pipe that runs it, and its floating-point operations.

The pipe is that of the machine instruction that a PTX instruction mostly becomes. Division, square roots and the like
become many machine instructions and count for the pipe of the one they are named after.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptxlab.isa import types
from ptxlab.isa.actions import BODIED, SAMPLERS, Action, AsyncGroup
from ptxlab.isa.entries import Opcode


class Work(NamedTuple):
    """pipe: one of `ptxlab.emulate.runtime.counters.PIPES`. operation: `fadd`, `dfma`, `hmul` ...: the kind of a
    floating-point operation as profilers name it, else "". flops: floating-point operations of one thread, or with
    `type` "tensor" of a whole warp: an fma is two, a matrix product of shape MxNxK is 2*M*N*K, one of integers none.
    """

    pipe: str = "alu"
    operation: str = ""
    type: str = ""
    flops: int = 0


NO_WORK = Work()

_PIPES = {
    "xu": (Action.SPECIAL_FUNCTION, Action.EXPONENTIAL),
    "tensor": (Action.MATRIX_PRODUCT, Action.FRAGMENT_PRODUCT),
    "cbu": (Action.BRANCH, Action.INDEXED_BRANCH, Action.CALL, Action.RETURN, Action.EXIT, Action.TRAP,
            Action.WARP_BARRIER, Action.ACTIVE_MASK, Action.ELECT, Action.SLEEP),
    "adu": (Action.BARRIER, Action.CLUSTER_BARRIER),
    "lsu": (Action.SHUFFLE, Action.TRANSPOSE, Action.FENCE, Action.PREFETCH, Action.FILL, Action.COUNT_PENDING,
            Action.REPLACE_FIELD, Action.COPY_MAP, *SAMPLERS),
}  # fmt: skip
_PIPE = {action: pipe for pipe, actions in _PIPES.items() for action in actions}
_ARITHMETIC = frozenset({Action.ADD, Action.SUBTRACT, Action.MULTIPLY, Action.MULTIPLY_ADD})
_COMPARING = frozenset({Action.MINIMUM, Action.MAXIMUM, Action.CHANGE_SIGN, Action.COMPARE, Action.CLASSIFY})
_MEMORY_KINDS = BODIED | {"memory"}
_LETTERS = {"f32": "f", "f32x2": "f", "f64": "d", "f16": "h", "f16x2": "h", "bf16": "h", "bf16x2": "h"}
_OPERATIONS = {Action.ADD: "add", Action.SUBTRACT: "add", Action.MULTIPLY: "mul", Action.MULTIPLY_ADD: "fma"}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")


def work_of(form: Opcode) -> Work:
    """The work of a form; read it as `form.properties.work`."""
    pipe, action, type_ = _pipe(form), form.op.does, str(form.type)
    if pipe == "tensor":
        return Work(pipe, "", "tensor", _products(form))
    letter, word = _LETTERS.get(type_, ""), _OPERATIONS.get(action, "")
    if not letter or not word:
        return Work(pipe, "", type_)
    each = 2 if type_.endswith("x2") else 1
    return Work(pipe, letter + word, type_.removesuffix("x2"), each * (2 if action is Action.MULTIPLY_ADD else 1))


def _pipe(form: Opcode) -> str:
    action, type_ = form.op.does, str(form.type)
    if form.op.group is AsyncGroup.WGMMA:
        return "tensor"
    if action is Action.CONVERT:
        words = [word for word in form.opcode.split(".") if word in types.WIDTH]
        return "xu" if any(map(types.is_float, words)) else "alu"
    if action in _ARITHMETIC or action in _COMPARING or action is Action.DIVIDE:
        if type_ == "f64":
            return "fp64"
        if action is Action.DIVIDE:
            return "xu"
        if type_ in ("f16", "f16x2", "bf16", "bf16x2"):
            return "fp16"
        multiplies = action in (Action.MULTIPLY, Action.MULTIPLY_ADD)  # integers as well
        return "fma" if multiplies or (type_ in ("f32", "f32x2") and action in _ARITHMETIC) else "alu"
    return _PIPE.get(action) or ("lsu" if action.kind in _MEMORY_KINDS else "alu")


def _products(form: Opcode) -> int:
    """The floating-point operations of a matrix product, of all its lanes."""
    shape = _SHAPE.fullmatch(str(form.shape))
    if shape is None or not types.is_float(str(form.dtype)):
        return 0
    m, n, k = map(int, shape.groups())
    if form.op.does is Action.WARPGROUP_PRODUCT:
        return 2 * m * n * k // 4  # a quarter of the rows are this warp's
    fourfold = form.shape == "m8n8k4" and form.op.does is Action.MATRIX_PRODUCT and form.atype == "f16"
    return 2 * m * n * k * (4 if fourfold else 1)

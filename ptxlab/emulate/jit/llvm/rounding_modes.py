"""Directed rounding where instructions take the direction from the CPU's control register (x86's MXCSR).

A function sets the mode, computes all lanes and restores what was there. LLVM moves no arithmetic into such a function
or out of it: it has one that is strict (`strictfp`), and calls of it are never inlined.
"""

from __future__ import annotations

import platform

from ptxlab.emulate.jit.llvm.ir_text import Text, W
from ptxlab.emulate.jit.llvm.values import BITS, LLVM
from ptxlab.emulate.jit.llvm.vector_elements import joined

_OPERATIONS = {"fadd": "fadd", "fmul": "fmul", "fdiv": "fdiv", "fma": "fma", "fsqrt": "sqrt"}
_MODES = {"rm": 1, "rp": 2, "rz": 3}
_SHIFT = 13
"""The modes as MXCSR has them, and from which bit on."""
_STRICT = (("metadata", '!"round.dynamic"'), ("metadata", '!"fpexcept.strict"'))


def has_mode(operation: str, features: str) -> bool:
    """Whether a CPU with these features computes this in the mode of its control register. Elsewhere a fused
    multiply-add would be a function of the C library."""
    return platform.machine().lower() in ("x86_64", "amd64") and (operation != "fma" or "+fma" in features.split(","))


def in_mode(name: str, operation: str, rnd: str, type_: str, count: int, features: str) -> tuple[str, set[str]]:
    """A function of that name, of so many vectors of f32 or f64, and what it declares."""
    t, kind = Text(), f"<{W} x {LLVM[type_]}>"
    saved, changed = t.alloca("i32", align=4), t.alloca("i32", align=4)
    t.call("void", "llvm.x86.sse.stmxcsr", [("ptr", saved)])
    nearest = t.and_("i32", t.load("i32", saved), ~(3 << _SHIFT))
    t.store("i32", t.or_("i32", nearest, _MODES[rnd] << _SHIFT), changed)
    t.call("void", "llvm.x86.sse.ldmxcsr", [("ptr", changed)])
    lanes, parts = (256 if "+avx" in features.split(",") else 128) // BITS[type_], list[str]()
    part = f"<{lanes} x {LLVM[type_]}>"
    intrinsic = f"llvm.experimental.constrained.{_OPERATIONS[operation]}.v{lanes}{type_}"
    for first in range(0, W, lanes):
        given = [t.shuffle(kind, f"%a{k}", range(first, first + lanes)) for k in range(count)]
        parts.append(t.call(part, intrinsic, [*((part, x) for x in given), *_STRICT], " strictfp"))
    t.call("void", "llvm.x86.sse.ldmxcsr", [("ptr", saved)])
    t.ret(kind, joined(t, LLVM[type_], lanes, parts))
    listed = ", ".join(f"{kind} %a{k}" for k in range(count))
    return t.function(f"{kind} @{name}({listed})", "noinline nounwind strictfp"), t.declared

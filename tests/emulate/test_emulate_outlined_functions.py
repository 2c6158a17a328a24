"""Long instructions that a program has often: calls of one function, with the same bits as written out."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.jit.building.linked_rules import parts
from ptxlab.emulate.jit.building.module_text import module_text
from ptxlab.emulate.jit.emitter import semantics
from ptxlab.emulate.jit.instruments.selection import Instruments
from ptxlab.emulate.jit.native.code import host
from ptxlab.emulate.program.lowering_cache import lower

HEAD = """\
.version 7.0
.target sm_80
.address_size 64
.visible .entry powers(.param .u64 x, .param .u64 y)
{
    .reg .b32 %t;
    .reg .b64 %a, %b, %o;
    .reg .f32 %v, %s, %u;
    ld.param.u64 %a, [x];
    ld.param.u64 %b, [y];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, 4;
    add.s64 %a, %a, %o;
    add.s64 %b, %b, %o;
    ld.global.f32 %v, [%a];
"""
SPECIAL = [0.0, -0.0, 1.5, -1.5, 126.7, 127.9, 128.0, -126.4, -140.2, -149.6, -160.0, np.inf, -np.inf, np.nan, 1e-40]


def kernel(times: int, form: str) -> str:
    """Stores a function of each element, after `times` others. form: the opcode and the sources behind the first."""
    opcode, *more = form.split(maxsplit=1)
    others = "".join(f", {x}" for x in more)
    again = "".join(f"    {opcode} %u, %s{others};\n    add.rn.f32 %s, %v, 0f80000000;\n" for _ in range(times))
    return f"{HEAD}    mov.f32 %s, %v;\n{again}    st.global.f32 [%b], %u;\n    ret;\n}}\n"


@pytest.mark.sweep(3)
@pytest.mark.parametrize("form", ["ex2.approx.f32", "ex2.approx.ftz.f32", "max.f32 0fBFC00000", "min.NaN.f32 %v",
                                  "div.approx.f32 %v", "lg2.approx.f32"])  # fmt: skip
def test_many_are_calls_with_the_same_bits(form: str) -> None:
    x = np.resize(np.array(SPECIAL, np.float32), 64)
    often, results = semantics.OUTLINED + 1, []
    for times, device in ((1, "cpu"), (semantics.OFTEN, "cpu"), (often, "cpu"), (often, "step")):
        y = np.zeros_like(x)
        pl.launch(kernel(times, form), 1, 64, pl.const(x), pl.out(y), device=device)
        results.append(y.view(np.uint32))
    for result in results[:-1]:
        np.testing.assert_array_equal(result, results[-1])


@pytest.mark.parametrize(("small", "enough"), [(False, semantics.OUTLINED + 1), (True, semantics.OFTEN)])
def test_a_kernel_with_many_is_built_from_less_text(small: bool, enough: int) -> None:
    few, many = (lower(pl.parse(kernel(n, "ex2.approx.f32"))) for n in (enough - 1, enough))
    sizes = [len(module_text(p, host(), Instruments(), diverged=False, small=small).text) for p in (few, many)]
    assert sizes[1] < sizes[0]


def test_programs_without_atomic_operations_do_not_wait_for_their_rules() -> None:
    """They are a third of memcheck's."""
    program = lower(pl.parse(kernel(1, "ex2.approx.f32")))
    rules = module_text(program, host(), Instruments(), diverged=False, small=True).rules
    built = [symbol for part in parts(rules, program, Instruments(), host()) for symbol in part.symbols]
    assert set(rules) <= set(built)
    assert not [symbol for symbol in built if symbol in ("memcheck.find_together", "memcheck.find_lanes")]
    atomics = parts(["memcheck.find_lanes"], program, Instruments(), host())
    assert ("memcheck.find_together", "memcheck.find_lanes") in [part.symbols for part in atomics]

"""Powers of two in kernels that have many of them: a call of one function gives the bits that each of them gave."""

from __future__ import annotations

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.emulate.jit import execution
from ptxlab.emulate.jit.build import module_text
from ptxlab.emulate.jit.compile import host
from ptxlab.emulate.jit.instruments import Instruments
from ptxlab.emulate.program.model import lower

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


def kernel(times: int, opcode: str) -> str:
    """Stores the power of two of each element, after `times` others."""
    again = "".join(f"    {opcode} %u, %s;\n    add.rn.f32 %s, %v, 0f00000000;\n" for _ in range(times))
    return f"{HEAD}    mov.f32 %s, %v;\n{again}    st.global.f32 [%b], %u;\n    ret;\n}}\n"


@pytest.mark.parametrize("opcode", ["ex2.approx.f32", "ex2.approx.ftz.f32"])
def test_many_powers_of_two_are_calls_with_the_same_bits(opcode: str) -> None:
    x = np.resize(np.array(SPECIAL, np.float32), 64)
    results = []
    for times, device in ((1, "cpu"), (execution.OUTLINED + 1, "cpu"), (execution.OUTLINED + 1, "step")):
        y = np.zeros_like(x)
        pl.launch(kernel(times, opcode), 1, 64, pl.const(x), pl.out(y), device=device)
        results.append(y.view(np.uint32))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[1], results[2])


def test_a_kernel_with_many_is_built_from_less_text() -> None:
    few, many = (kernel(n, "ex2.approx.f32") for n in (execution.OUTLINED, execution.OUTLINED + 1))
    sizes = [len(module_text(lower(pl.parse(text)), host(), Instruments(), slow=False).text) for text in (few, many)]
    assert sizes[1] < sizes[0] / 2

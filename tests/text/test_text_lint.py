"""Lint: each rule finds its mistakes, is silent on programs that look alike and are right, and is off where a comment
says so."""

from __future__ import annotations

import pytest

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32
from ptxlab.frontends.cuda import available
from ptxlab.text import parse
from ptxlab.text.lint import lint
from ptxlab.text.validate import validate

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 n, .param .f32 a, .param .align 8 .b8 s[16])
{
.reg .pred %p<6>; .reg .u16 %h<4>; .reg .u32 %r<9>; .reg .u64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<4>;
.shared .u32 total;
"""
COUNT = "ld.shared.u32 %r5, [total]; add.u32 %r5, %r5, 1; st.shared.u32 [total], %r5; done:"
BOUND = "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; "
SUM = "ld.param.u64 %rd1, [x]; ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f3; st.global.f32 [%rd1], %f2; done:"

WRONG = {
    "same-operands": [
        "sub.f32 %f3, %f1, %f1; ex2.approx.f32 %f3, %f3;",
        "sub.s32 %r3, %r1, %r1;",
        "sub.ftz.f32 %f4, %f2, %f2; mul.f32 %f4, %f4, %f1;",
        "div.rn.f32 %f3, %f1, %f1;",
        "div.u32 %r3, %r2, %r2;",
        "max.f32 %f3, %f1, %f1;",
        "max.f32 %f1, %f1, %f1;",
        "max.NaN.f32 %f3, %f2, %f2;",
        "min.s32 %r3, %r1, %r1;",
        "@%p1 max.u32 %r3, %r1, %r1;",
        "min.f64 %d3, %d1, %d1;",
    ],
    "parameter-address": [
        "mov.u64 %rd1, x; ld.global.f32 %f1, [%rd1];",
        "mov.u64 %rd1, x; cvta.to.global.u64 %rd2, %rd1; st.global.f32 [%rd2+4], %f1;",
        "mov.u64 %rd1, x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; ld.f32 %f1, [%rd3];",
        "mov.u32 %r1, n; setp.ge.u32 %p1, %r2, %r1;",
        "mov.u32 %r1, n; mad.lo.u32 %r3, %r2, %r1, %r2; cvt.rn.f32.u32 %f1, %r3;",
        "mov.b64 %rd1, s+8; atom.global.add.u32 %r1, [%rd1], 1;",
        "mov.u64 %rd1, x; mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r1;",
    ],
    "lost-update": [
        BOUND + "setp.ge.u32 %p1, %r1, %r2; @%p1 bra done; " + COUNT,
        BOUND + "setp.lt.u32 %p1, %r1, %r2; @!%p1 bra done; " + COUNT,
        BOUND + "setp.gt.u32 %p1, %r1, 31; @%p1 ret; " + COUNT,
        BOUND + "setp.le.u32 %p1, %r2, %r1; @%p1 bra done; " + SUM,
        BOUND + "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r1, %r3, %r4, %r1; setp.ge.u32 %p1, %r1, %r2;"
        "mul.wide.u32 %rd3, %r1, 4; ld.param.u64 %rd2, [x]; add.u64 %rd2, %rd2, %rd3; @%p1 bra done; " + SUM,
        BOUND + "setp.ge.u32 %p1, %r1, %r2; mov.u32 %r3, %tid.y; setp.ge.u32 %p2, %r3, %r2; or.pred %p3, %p1, %p2;"
        "@%p3 bra done; " + COUNT,
        BOUND + "mul.wide.u32 %rd3, %r1, 4; ld.param.u64 %rd2, [x]; add.u64 %rd2, %rd2, %rd3;"
        "ld.global.f32 %f3, [%rd2]; setp.gt.f32 %p2, %f3, 0f3F800000; @%p2 bra done; " + SUM,
        BOUND + "loop: setp.ge.u32 %p1, %r1, %r2; @%p1 bra done; add.u32 %r1, %r1, 32;"
        + COUNT.replace("done:", "bra loop; done:"),
    ],
}  # fmt: skip
RIGHT = [
    # x - x: a zero, a test for infinity, a NaN, a borrow; other registers
    "sub.f32 %f1, %f1, %f1;",
    "sub.u32 %r1, %r1, %r1;",
    "sub.f32 %f3, %f1, %f1; setp.eq.f32 %p1, %f3, 0f00000000;",
    "sub.f32 %f3, %f1, %f1; div.rn.f32 %f4, %f3, %f3;",
    "sub.cc.u32 %r3, %r1, %r1;",
    "sub.f32 %f3, %f1, %f2; max.f32 %f4, %f1, %f3;",
    "add.f32 %f3, %f1, %f1; mul.f32 %f3, %f1, %f1;",
    "div.rn.f32 %f1, %f1, %f2; rem.u32 %r1, %r1, %r1;",
    "max.f32 %f1, %f1, 0f00000000; min.s32 %r1, %r1, 7;",
    "max.f32 %f1, %f1, %f2; sub.f32 %f2, %f2, %f1;",
    "setp.nan.f32 %p1, %f1, %f1; xor.b32 %r1, %r1, %r1; selp.f32 %f1, %f2, %f2, %p1;",
    "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; max.u32 %r1, %r1, %r2;",
    # addresses of parameters
    "ld.param.u64 %rd1, [x]; ld.global.f32 %f1, [%rd1];",
    "mov.u64 %rd1, x; ld.param.u64 %rd2, [%rd1]; ld.global.f32 %f1, [%rd2];",
    "mov.b64 %rd1, s; cvta.param.u64 %rd2, %rd1; ld.u32 %r1, [%rd2+4];",
    "mov.b64 %rd1, s; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.param.u32 %r2, [%rd3];",
    "mov.b64 %rd1, s; and.b64 %rd2, %rd1, 15; setp.eq.u64 %p1, %rd2, 0;",
    "mov.u32 %r1, n;",
    "mov.u64 %rd1, total; ld.shared.u32 %r1, [%rd1];",
    # one thread, one thread at a time, another word, an atomic operation
    BOUND + "setp.ne.u32 %p1, %r1, 0; @%p1 bra done; " + COUNT,
    BOUND + "setp.gt.u32 %p1, %r1, 0; @%p1 bra done; " + COUNT,
    BOUND + "setp.ge.u32 %p1, %r1, 1; @%p1 ret; " + COUNT,
    BOUND + "setp.lt.u32 %p1, %r1, 31; @%p1 bra done; " + COUNT,  # of a block of one warp the last thread
    BOUND + "setp.ge.u32 %p1, %r1, %r2; @%p1 bra done; setp.ne.u32 %p2, %r1, 3; @%p2 bra done; " + COUNT,
    BOUND + "setp.ge.u32 %p1, %r1, %r2; setp.ne.u32 %p2, %r1, 0; or.pred %p3, %p1, %p2; @%p3 bra done; " + COUNT,
    BOUND + "setp.ge.u32 %p1, %r1, %r2; @%p1 bra done; red.shared.add.u32 [total], 1; done:",
    BOUND + "mov.u32 %r3, 0; setp.ne.u32 %p1, %r1, 5; @%p1 bra other; mov.u32 %r3, 1; other: setp.ge.u32 %p2, %r1, %r2;"
    "@%p2 bra done; setp.lt.u32 %p3, %r3, 1; @%p3 bra done; " + COUNT,
    BOUND + "setp.ge.u32 %p1, %r1, %r2; mov.u32 %r3, %lanemask_lt; setp.gt.u32 %p2, %r3, %r2; @%p1 bra done;"
    "@%p2 bra done; " + COUNT,
    BOUND + "mul.wide.u32 %rd3, %r1, 4; ld.param.u64 %rd2, [x]; add.u64 %rd2, %rd2, %rd3; ld.global.f32 %f3, [%rd2];"
    "ld.param.f32 %f4, [a]; setp.neu.f32 %p1, %f3, %f4; @%p1 bra done; " + SUM,
    BOUND + "mov.u32 %r3, %ctaid.x; setp.ge.u32 %p1, %r3, %r2; @%p1 bra done; " + COUNT,  # blocks of one thread
    BOUND + "setp.ge.u32 %p1, %r1, %r2; @%p1 bra done; lock: atom.shared.cas.b32 %r7, [total], 0, 1;"
    "setp.ne.u32 %p2, %r7, 0; @%p2 bra lock; " + COUNT,
    BOUND + "setp.ge.u32 %p1, %r1, %r2; ld.shared.u32 %r5, [total]; bar.sync 0; add.u32 %r5, %r5, 1;"
    "@!%p1 st.shared.u32 [total], %r5;",
    BOUND + "setp.ge.u32 %p1, %r1, %r2; @%p1 bra done; ld.param.u64 %rd1, [x]; mul.wide.u32 %rd2, %r1, 4;"
    "add.u64 %rd1, %rd1, %rd2; ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5; done:",
    COUNT,
]  # fmt: skip


def warnings(body: str) -> list[str]:
    module = parse(f"{HEAD}{body}\nret;\n}}\n")
    assert validate(module) == []
    return [warning.rule for warning in lint(module)]


@pytest.mark.parametrize(("rule", "body"), [(rule, body) for rule, bodies in WRONG.items() for body in bodies])
def test_a_mistake_is_found_unless_a_comment_says_otherwise(rule: str, body: str) -> None:
    assert warnings(body) == [rule]
    assert warnings(f"{body} // as it should be; ptxlab: ignore[other, {rule}]") == []
    assert warnings(f"{body} // ptxlab: ignore[other]") == [rule]


@pytest.mark.parametrize("body", RIGHT)
def test_what_looks_alike_and_is_right_is_not(body: str) -> None:
    assert warnings(body) == []


SOFTMAX = """extern "C" __global__ void softmax(float *y, const float *x) {
  float m = x[0], l = 0;
  for (int k = 1; k < 4; k++) {
    m = fmaxf(m, x[k]);
    float old = m;
    l = l * __expf(old - m) + 1;  // marked
  }
  y[threadIdx.x] = l;
}
"""


@pytest.mark.skipif(not available(), reason="needs NVRTC: pip install cuda-bindings nvidia-cuda-nvrtc")
def test_a_line_of_the_source_is_warned_of_once_and_has_the_comment() -> None:
    (warning,) = lint(pl.cuda(SOFTMAX).module)
    assert warning.rule == "same-operands"
    assert warning.span is not None
    assert warning.span.line == 6
    assert lint(pl.cuda(SOFTMAX.replace("marked", "ptxlab: ignore[same-operands]")).module) == []
    apart = SOFTMAX.replace("m = fmaxf", "float before = m; m = fmaxf").replace("old - m", "before - m")
    assert lint(pl.cuda(apart).module) == []


def test_an_unrolled_line_of_python_is_wrong_only_where_all_of_it_is() -> None:
    columns = [0, 1]

    def differences(k: Builder, y: Ptr[f32]) -> None:
        values = [y[column] for column in range(3)]
        for row in range(2):
            for column in columns:
                y[row + column] = values[row] - values[row + column]

    right = pl.builder.kernel(differences).module
    columns.pop()
    wrong = pl.builder.kernel(differences).module
    assert lint(right) == []
    assert [warning.off for warning in lint(wrong)] == ["# ptxlab: ignore[same-operands]"]

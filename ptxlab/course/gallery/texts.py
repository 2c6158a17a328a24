"""Exhibits of PTX as text: what only looks like a kernel to a test that searches the text for words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab.course.gallery import finders
from ptxlab.course.gallery.cases import Case, Trial
from ptxlab.course.gallery.exhibit import Exhibit
from ptxlab.course.gallery.rows import rows
from ptxlab.launch.buffers import out

WEIGHTS = """\
.version 7.0
.target sm_80
.address_size 64

.visible .entry weights(
    .param .u64 x,
    .param .u64 o
)
.maxntid 32, 1, 1
{
    .reg .u32 %thread;
    .reg .u64 %x, %o, %at, %to;
    .reg .f32 %score, %power, %weight;
    .reg .f64 %sum, %share;

    ld.param.u64         %x, [x];
    ld.param.u64         %o, [o];
    mov.u32              %thread, %tid.x;
    mad.wide.u32         %at, %thread, 4, %x;
    ld.global.f32        %score, [%at];
    fma.rn.f32           %power, %score, 0f3FB8AA3B, 0fBF800000;
    ex2.approx.f32       %weight, %power;
    cvt.f64.f32          %sum, %weight;
    rcp.approx.ftz.f64   %share, %sum;
    mad.wide.u32         %to, %thread, 8, %o;
    st.global.f64        [%to], %share;
    ret;
}
"""
"""A kernel that uses the four things that exhibit 21 gets wrong."""

MISTAKES = (
    (".maxntid inside the body", ".maxntid 32, 1, 1\n{\n", "{\n    .maxntid 32, 1, 1\n"),
    ("fma without a rounding", "fma.rn.f32           %power", "fma.f32              %power"),
    (
        "ex2 of an f64",
        "ex2.approx.f32       %weight, %power;\n    cvt.f64.f32          %sum, %weight;",
        "cvt.f64.f32          %sum, %power;\n    ex2.approx.f64       %sum, %sum;",
    ),
    ("rcp.approx.f64 without .ftz", "rcp.approx.ftz.f64  ", "rcp.approx.f64      "),
)
"""(name, what is right, what is wrong)."""

WORDS = (".visible .entry", ".maxntid", "fma", "ex2.approx", "rcp.approx", "st.global")


def weights(fixed: bool, case: Case) -> str:
    """The kernel, with mistake `case.choice` in it."""
    _, right, wrong = MISTAKES[case.choice]
    return WEIGHTS if fixed else WEIGHTS.replace(right, wrong)


def _weights(built: Any, case: Case) -> Trial:
    has = [word for word in WORDS if word in built]
    return finders.assembled(
        built, case.arch, f"a test that greps for {', '.join(has)} passes; no assembler takes the text"
    )


def commented_out(fixed: bool, case: Case) -> str:
    """A row-per-thread kernel, or what is left of it when its instructions are comments."""
    ptx = rows("", case).ptx
    if fixed:
        return ptx
    head, body = ptx.split("\n{\n")
    lines = [f"//  {line.strip()}" if line.strip() not in ("", "ret;", "}") else line for line in body.splitlines()]
    return f"{head}\n{{\n" + "\n".join(lines) + "\n"


def _written(built: Any, case: Case) -> Trial:
    q, k, v = finders.inputs(case)
    o = np.zeros_like(q)
    args = q, k, v, out(o), case.rows, case.keys, case.dim**-0.5
    return finders.checked("unwritten", case, built, 1, 32, *args, output=o, right=finders.exact(q, k, v))


EXHIBITS = (
    Exhibit(
        21,
        "PTX that nobody has assembled",
        "assembler message",
        "Four mistakes that people and language models make in PTX: a directive inside the body, an fma without its "
        "rounding, a power of two in f64, a reciprocal without .ftz. The text has every word that a test may search "
        "for. Only an assembler can say that it is not a program.",
        weights,
        _weights,
        tuple(Case(name, choice=n) for n, (name, _, _) in enumerate(MISTAKES)),
    ),
    Exhibit(
        23,
        "A kernel of comments",
        "unwritten elements of pl.out",
        "The body is comments and a `ret`. It assembles, launches and ends without an error, and the output is "
        "whatever was in the buffer: in a benchmark that runs the right kernel first, the right answer.",
        commented_out,
        _written,
        (Case("any"),),
    ),
)

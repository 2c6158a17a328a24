"""Mistakes with flow: Python that decides while the kernel is built, bodies, guards, loops."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
from build_messages import lines, message

from ptxlab.builder import Builder, Ptr, f32, kernel, s32, u32

# -- a register has no value while Python runs -------------------------------------------------------------------------


def test_truth_values() -> None:
    def check(statement: str, shown: str, why: str, write: str) -> None:
        source = f"def f(k, n: u32, m: u32):\n    {statement}"
        names: dict[str, Any] = {"u32": u32}
        file = f"<truth of {statement}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), names)
        with pytest.raises(TypeError) as caught:
            kernel(names["f"])()
        first, *_, last = str(caught.value).splitlines()
        assert first == f"{file}:2: {shown} is a register, which has a value only when the kernel runs; {why}"
        assert last == f"  write:  {write}"

    built = "decides when the kernel is built"
    check("if n > 3: pass", "`n > 3`", f"`if` {built}", "with k.if_(n > 3):")
    check("if n: pass", "%n", f"`if` {built}", "with k.if_(n):")
    check("while n > 3: pass", "`n > 3`", f"`while` {built}", "with k.while_(lambda: n > 3):")
    check("x = n > 3 and n < 5", "`n > 3`", f"`and` {built}", "(n > 3) & (n < 5)")
    check("x = n > 3 or m", "`n > 3`", f"`or` {built}", "(n > 3) | (m)")
    check("p = n > 3; x = not p", "%p", f"`not` {built}", "~p")
    check("x = 1 if n > 3 else m", "`n > 3`", f"`a if p else b` {built}", "k.select(n > 3, 1, m)")
    check("3 < n < m", "`3 < n < m`", f"a chain of comparisons means `and`, which {built}", "(3 < n) & (n < m)")
    check("max(n, m)", "`max(n, m)`", f"Python's `max` {built}", "k.max(n, m)")
    check("n in (1, 2)", "`n in (1, 2)`", "`in` compares when the kernel is built", "(x == a) | (x == b)")
    check("bool(n)", "%n", "its truth value is asked for when the kernel is built", "with k.if_(p):")


def test_range_of_a_register() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        for _ in range(2, n):  # type: ignore[arg-type]
            pass

    assert message(f) == lines(
        "line 2: %n is a register, which has a value only when the kernel runs; "
        "`range` needs a number when the kernel is built",
        "    for _ in range(2, n):  # type: ignore[arg-type]",
        "             ^~~~~~~~~~~",
        "  write:  with k.loop(n, 2) as i:",
    )


def test_iterating_over_a_register() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        list(n)

    assert message(f) == lines(
        "line 2: %n is one register; there is nothing to iterate over when the kernel is built",
        "    list(n)",
        "    ^~~~~~~",
        "  write:  with k.loop(n) as i:",
    )


def test_indexing_a_list_with_a_register() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        acc = k.vars(f32, 4, 0.0)
        acc[n]  # type: ignore[index]

    assert message(f) == lines(
        "line 3: %n is a register, which has a value only when the kernel runs; "
        "a Python list is indexed when the kernel is built",
        "    acc[n]  # type: ignore[index]",
        "    ^~~~~~",
        "  write:  tile = k.shared(f32, n)",
    )


def test_python_mathematics() -> None:
    import math

    @kernel
    def f(k: Builder, x: f32) -> None:
        math.exp(x)  # type: ignore[arg-type]

    assert message(f) == lines(
        "line 2: %x is a register, which has a value only when the kernel runs; "
        "Python's mathematics works when the kernel is built",
        "    math.exp(x)  # type: ignore[arg-type]",
        "    ^~~~~~~~~~~",
        "  write:  k.sqrt(x), k.exp2(x), ...",
    )


# -- flow --------------------------------------------------------------------------------------------------------------


def test_else_that_does_not_follow_its_if() -> None:
    @kernel
    def late(k: Builder, n: u32, x: Ptr[f32]) -> None:
        with k.if_(n > 3):
            x[0] = 1.0
        x[1] = 2.0
        with k.else_():
            x[0] = 2.0

    @kernel
    def twice(k: Builder, n: u32, x: Ptr[f32]) -> None:
        with k.if_(n > 3):
            x[0] = 1.0
        with k.else_():
            x[0] = 2.0
        with k.else_():
            x[0] = 3.0

    @kernel
    def inner(k: Builder, n: u32, x: Ptr[f32]) -> None:
        with k.if_(n > 3):
            with k.else_():
                x[0] = 3.0

    rest = lines(
        "    with k.else_():",
        "         ^~~~~~~~~",
        "  write:  with k.if_(p):",
        "              ...",
        "          with k.else_():",
        "              ...",
    )
    must = "k.else_() must follow its `with k.if_(...)` directly"
    assert message(late) == f"line 5: {must}; something was emitted between it and its `if_`\n{rest}"
    assert message(twice) == f"line 6: {must}; this `if_` has its `else_` already\n{rest}"
    assert message(inner) == f"line 3: {must}; there is no `if_` in this body\n{rest}"


def test_if_without_with() -> None:
    @kernel
    def forgotten(k: Builder, n: u32, x: Ptr[f32]) -> None:
        k.if_(n > 3)
        x[0] = 1.0

    @kernel
    def python(k: Builder, n: u32, x: Ptr[f32]) -> None:
        if k.if_(n > 3):
            x[0] = 1.0

    assert message(forgotten) == lines(
        "line 2: k.if_(...) does nothing without `with`",
        "    k.if_(n > 3)",
        "    ^~~~~~~~~~~~",
        "  write:  with k.if_(n > 3):",
    )
    assert message(python) == lines(
        "line 2: `if k.if_(...):` would decide when the kernel is built",
        "    if k.if_(n > 3):",
        "       ^~~~~~~~~~~~",
        "  write:  with k.if_(n > 3):",
    )


def test_conditions_that_are_none() -> None:
    @kernel
    def constant(k: Builder) -> None:
        with k.if_(1 < 2):  # type: ignore[arg-type]
            pass

    @kernel
    def number(k: Builder, n: u32) -> None:
        k.return_if(n)  # type: ignore[arg-type]

    @kernel
    def loop(k: Builder, n: u32) -> None:
        with k.while_(n < 3):  # type: ignore[arg-type]
            pass

    assert message(constant) == lines(
        "line 2: k.if_ got True, which Python knows when the kernel is built; a plain `if` chooses what is emitted",
        "    with k.if_(1 < 2):  # type: ignore[arg-type]",
        "         ^~~~~~~~~~~~",
        "  write:  if ...:",
    )
    assert message(number) == lines(
        "line 2: k.return_if wants a predicate, %n is u32",
        "    k.return_if(n)  # type: ignore[arg-type]",
        "    ^~~~~~~~~~~~~~",
        "  write:  k.return_if(n != 0)",
    )
    assert message(loop) == lines(
        "line 2: a while loop computes its condition before every round, so it takes a function",
        "    with k.while_(n < 3):  # type: ignore[arg-type]",
        "         ^~~~~~~~~~~~~~~",
        "  write:  with k.while_(lambda: n < 3):",
    )


def test_guards_do_not_nest() -> None:
    @kernel
    def f(k: Builder, n: u32, m: u32) -> None:
        with k.guard(n > 2):
            with k.guard(m > 2):
                pass

    @kernel
    def branch(k: Builder, n: u32) -> None:
        with k.guard(n > 2):
            with k.if_(n > 3):
                pass

    assert message(f) == lines(
        "line 3: an instruction has one guard; combine the two",
        "    with k.guard(m > 2):",
        "         ^~~~~~~~~~~~~~",
        "  write:  with k.guard(a & b):",
    )
    assert message(branch) == lines(
        "line 3: k.if_ inside `with k.guard(...)`: a guard stands before single instructions",
        "    with k.if_(n > 3):",
        "         ^~~~~~~~~~~~",
        "  write:  with k.if_(p):",
    )


def test_loops_that_cannot_count() -> None:
    @kernel
    def down(k: Builder, n: u32) -> None:
        with k.loop(0, n, -1):
            pass

    @kernel
    def real(k: Builder, x: f32) -> None:
        with k.loop(x):
            pass

    @kernel
    def two(k: Builder, n: u32, m: s32) -> None:
        with k.loop(n, m):
            pass

    assert message(down) == lines(
        "line 2: counting down needs a signed type, this loop counts in u32: below 0 it would wrap around",
        "    with k.loop(0, n, -1):",
        "         ^~~~~~~~~~~~~~~~",
        "  write:  k.loop(k.cvt(s32, stop), start, -1)",
    )
    assert message(real) == lines(
        "line 2: a loop counts integers, stop %x is f32",
        "    with k.loop(x):",
        "         ^~~~~~~~~",
        "  write:  k.cvt(u32, x)",
    )
    assert message(two) == lines(
        "line 2: a loop counts in one type, found u32 and s32",
        "    with k.loop(n, m):",
        "         ^~~~~~~~~~~~",
        "  write:  k.cvt(u32, m)",
    )


def test_break_outside_a_loop() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        k.break_if(n > 3)

    assert message(f) == lines(
        "line 2: k.break_if stands in no loop",
        "    k.break_if(n > 3)",
        "    ^~~~~~~~~~~~~~~~~",
        "  write:  with k.loop(n) as j:",
    )

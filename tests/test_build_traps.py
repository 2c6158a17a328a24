"""Every mistake that a tracing builder could let pass raises an error: place, what is wrong, and the line to write."""

# ruff: noqa: F841

from __future__ import annotations

from typing import Any

import pytest

from ptxlab.build import Builder, KernelFunction, Ptr, bf16, f16, f32, f64, kernel, s32, u32, u64
from ptxlab.errors import BuildError


def message(function: KernelFunction, **options: Any) -> str:
    """The error of building; the place is given as the line within the function, 1 being its `def`."""
    with pytest.raises(BuildError) as caught:
        function(**options)
    text = str(caught.value)
    code = function.function.__code__
    file, _, rest = text.partition(":")
    assert file == __file__
    line, _, rest = rest.partition(":")
    return f"line {int(line) - code.co_firstlineno}:{rest}"


def lines(*text: str) -> str:
    return "\n".join(text)


# -- variables ---------------------------------------------------------------------------------------------------------


def test_rebinding_a_variable() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        score = k.var(f32, 0.0)
        score = score * x

    assert message(f) == lines(
        "line 3: `score = score * x` would rebind the Python name `score`; "
        "the variable %score would keep its old value",
        "    score = score * x",
        "            ^~~~~~~~~",
        "  write:  score.set(score * x)",
    )


def test_rebinding_without_an_instruction() -> None:
    @kernel
    def f(k: Builder, n: u32, x: Ptr[f32]) -> None:
        row_max = k.var(f32, 0.0)
        with k.loop(n) as j:
            new_max = k.max(row_max, x[j])
            row_max = new_max

    assert message(f) == lines(
        "line 5: inside `with k.loop(...)` the Python name `row_max` was bound to something else; "
        "the variable %row_max keeps its old value",
        "    row_max = new_max",
        "    ^~~~~~~~~~~~~~~~~",
        "  write:  row_max.set(new_max)",
    )


def test_rebinding_an_element_of_a_list() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        acc = k.vars(f32, 4, 0.0)
        with k.loop(n):
            for d in range(4):
                acc[d] = acc[d] * 2.0

    assert message(f) == lines(
        "line 5: inside `with k.loop(...)` the Python name `acc[0]` was bound to something else; "
        "the variable %acc0 keeps its old value",
        "    acc[d] = acc[d] * 2.0",
        "    ^~~~~~~~~~~~~~~~~~~~~",
        "  write:  acc[d].set(acc[d] * 2.0)",
    )


def test_declaring_again_is_no_rebinding() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        for _ in range(2):
            score = k.var(f32, 0.0)
        with k.loop(n):
            score = k.var(f32, 1.0)

    assert "%score_3, 0f3F800000;" in f.ptx


def test_set_while_another_name_holds_the_variable() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        row_max = k.var(f32, 0.0)
        old = row_max
        row_max.set(k.max(row_max, x))
        k.exp2(old - row_max)

    assert message(f) == lines(
        "line 4: `old` is bound to the same variable %row_max, so it would read the new value after this .set; "
        "keep the old value in a register of its own",
        "    row_max.set(k.max(row_max, x))",
        "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
        "  write:  old = k.copy(row_max)",
    )


def test_update_while_another_name_holds_an_element() -> None:
    @kernel
    def f(k: Builder) -> None:
        acc = k.vars(f32, 4, 0.0)
        first = acc[0]
        acc[0] += 1.0

    assert message(f) == lines(
        "line 4: `first` is bound to the same variable %acc0, so it would read the new value after this +=; "
        "keep the old value in a register of its own",
        "    acc[0] += 1.0",
        "    ^~~~~~~~~~~~~",
        "  write:  first = k.copy(acc[0])",
    )


def test_copy_keeps_the_old_value() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        row_max = k.var(f32, 0.0)
        old = k.copy(row_max)
        row_max.set(k.max(row_max, x))
        difference = old - row_max
        for v in (row_max,):  # a loop variable is no alias
            v.set(difference)

    assert "%difference, %old, %row_max;" in f.ptx


def test_update_of_a_value() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        total = n + 1
        total += n

    assert message(f) == lines(
        "line 3: %total is a value, not a variable; `+=` would only rebind the Python name",
        "    total += n",
        "    ^~~~~~~~~~",
        "  write:  total = k.var(u32, ...)",
    )


def test_set_of_a_value() -> None:
    @kernel
    def f(k: Builder, n: u32) -> None:
        total = n + 1
        total.set(n)  # type: ignore[attr-defined]

    assert message(f) == lines(
        "line 3: %total is a value, not a variable; it has no .set()",
        "    total.set(n)  # type: ignore[attr-defined]",
        "    ^~~~~~~~~",
        "  write:  total = k.var(u32, ...)",
    )


def test_temporary_that_a_variable_has_taken() -> None:
    @kernel
    def f(k: Builder, x: Ptr[f32]) -> None:
        acc = k.var(f32, 0.0)
        parts = [acc * 2.0]
        acc.set(parts[0])
        x[0] = parts[0]

    assert message(f) == lines(
        "line 5: the value of `acc * 2.0` was written straight into %acc by .set() and has no register of its own; "
        "give it a name first",
        "    x[0] = parts[0]",
        "    ^~~~",
        "  write:  value = acc * 2.0",
        "          acc.set(value)",
    )


def test_value_of_a_body_that_may_not_have_run() -> None:
    @kernel
    def f(k: Builder, n: u32, x: Ptr[f32]) -> None:
        with k.if_(n > 3):
            first = x[0] + 1.0
        x[1] = first

    assert message(f) == lines(
        "line 4: %first was computed inside `with k.if_(...)`, which may not have run; "
        "declare a variable before it and set that inside",
        "    x[1] = first",
        "    ^~~~",
        "  write:  first = k.var(f32, 0)",
        "          with k.if_(...):",
        "              first.set(...)",
    )


def test_register_of_another_kernel() -> None:
    kept = []

    @kernel
    def first(k: Builder, n: u32) -> None:
        kept.append(n)

    @kernel
    def second(k: Builder, m: u32) -> None:
        m + kept[0]

    first()
    assert message(second) == lines(
        "line 2: %n belongs to another kernel; registers do not outlive theirs",
        "    m + kept[0]",
        "    ^~~~~~~~~~~",
    )


# -- a register has no value while Python runs -------------------------------------------------------------------------


def test_truth_values() -> None:
    def check(statement: str, shown: str, why: str, write: str) -> None:
        source = f"def f(k, n: u32, m: u32):\n    {statement}"
        names: dict[str, Any] = {"u32": u32}
        import linecache

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


# -- types -------------------------------------------------------------------------------------------------------------


def test_mixing_types() -> None:
    @kernel
    def real(k: Builder, row: u32, scale: f32) -> None:
        row * scale  # type: ignore[operator]

    @kernel
    def width(k: Builder, a: u64, row: u32) -> None:
        a + row  # type: ignore[operator]

    @kernel
    def shift(k: Builder, a: u64) -> None:
        a << a

    @kernel
    def truth(k: Builder, n: u32) -> None:
        n + (n > 3)  # type: ignore[operator]

    assert message(real) == lines(
        "line 2: %row is u32, %scale is f32: an instruction works on one type",
        "    row * scale  # type: ignore[operator]",
        "    ^~~~~~~~~~~",
        "  write:  k.cvt(f32, row) * scale",
    )
    assert message(width) == lines(
        "line 2: %a is u64, %row is u32: an instruction works on one type",
        "    a + row  # type: ignore[operator]",
        "    ^~~~~~~",
        "  write:  a + k.cvt(u64, row)",
    )
    assert message(shift) == lines(
        "line 2: a shift is by a 32-bit number, %a is u64",
        "    a << a",
        "    ^~~~~~",
        "  write:  a << k.cvt(u32, a)",
    )
    assert message(truth) == lines(
        "line 2: %n is u32, `n > 3` is pred: a predicate is not a number",
        "    n + (n > 3)  # type: ignore[operator]",
        "    ^~~~~~~~~~~",
        "  write:  k.select(n > 3, 1, 0, type=u32)",
    )


def test_operators_without_an_instruction() -> None:
    @kernel
    def divide(k: Builder, n: u32) -> None:
        n / 2

    @kernel
    def power(k: Builder, x: f32) -> None:
        x**2  # type: ignore[operator]

    @kernel
    def bits(k: Builder, x: f32) -> None:
        x & 1

    assert message(divide) == lines(
        "line 2: `/` divides floats, %n is u32; integer division is `//`",
        "    n / 2",
        "    ^~~~~",
        "  write:  n // 2",
    )
    assert message(power) == lines(
        "line 2: `**` has no instruction; multiply",
        "    x**2  # type: ignore[operator]",
        "    ^~~~",
        "  write:  x * x",
    )
    assert message(bits) == lines(
        "line 2: `&` works on bits, %x is f32",
        "    x & 1",
        "    ^~~~~",
        "  write:  k.bitcast(u32, x)",
    )


def test_immediates_that_do_not_fit() -> None:
    @kernel
    def fraction(k: Builder, n: u32) -> None:
        n * 2.5

    @kernel
    def large(k: Builder, n: u32) -> None:
        n + 2**32

    @kernel
    def half(k: Builder, h: f16) -> None:
        h * 2.0

    assert message(fraction) == lines(
        "line 2: 2.5 is not a whole number, and the instruction works on u32",
        "    n * 2.5",
        "    ^~~~~~~",
    )
    assert message(large) == lines(
        "line 2: 4294967296 does not fit u32 (0 to 4294967295)",
        "    n + 2**32",
        "    ^~~~~~~~~",
    )
    assert message(half) == lines(
        "line 2: f16 instructions take no immediates; put 2.0 into a register first",
        "    h * 2.0",
        "    ^~~~~~~",
        "  write:  number = k.var(f16, 2.0)",
    )


def test_variables_of_another_type() -> None:
    @kernel
    def first(k: Builder, n: u32) -> None:
        total = k.var(f32, n)  # type: ignore[arg-type]

    @kernel
    def later(k: Builder, n: u32) -> None:
        total = k.var(f32, 0.0)
        total.set(n)  # type: ignore[arg-type]

    assert message(first) == lines(
        "line 2: the variable is f32, %n is u32",
        "    total = k.var(f32, n)  # type: ignore[arg-type]",
        "            ^~~~~~~~~~~~~",
        "  write:  k.var(f32, k.cvt(f32, n))",
    )
    assert message(later) == lines(
        "line 3: %total is f32, %n is u32",
        "    total.set(n)  # type: ignore[arg-type]",
        "    ^~~~~~~~~~~~",
        "  write:  total.set(k.cvt(f32, n))",
    )


# -- pointers ----------------------------------------------------------------------------------------------------------


def test_pointers_of_another_type() -> None:
    @kernel
    def store(k: Builder, x: Ptr[f32], n: u32) -> None:
        x[0] = n  # type: ignore[assignment]

    @kernel
    def move(k: Builder, x: Ptr[f32], y: f32) -> None:
        x + y

    @kernel
    def update(k: Builder, x: Ptr[f32]) -> None:
        x += 4  # type: ignore[misc]

    @kernel
    def long(k: Builder, n: u64) -> None:
        tile = k.shared(f32, 64)
        tile[n]

    assert message(store) == lines(
        "line 2: the pointer is Ptr[f32], %n is u32",
        "    x[0] = n  # type: ignore[assignment]",
        "    ^~~~",
        "  write:  k.cvt(f32, n)",
    )
    assert message(move) == lines(
        "line 2: a pointer moves by an integer of 32 or 64 bits, %y is f32",
        "    x + y",
        "    ^~~~~",
        "  write:  k.cvt(u32, y)",
    )
    assert message(update) == lines(
        "line 2: this pointer is a value, not a variable; `+=` would only rebind the Python name",
        "    x += 4  # type: ignore[misc]",
        "    ^~~~~~",
        "  write:  x = k.var_ptr(x)",
    )
    assert message(long) == lines(
        "line 3: shared addresses have 32 bits, %n is u64",
        "    tile[n]",
        "    ^~~~~~~",
        "  write:  k.cvt(u32, n)",
    )


def test_vectors_that_are_no_access() -> None:
    @kernel
    def wide(k: Builder, x: Ptr[f64]) -> None:
        k.load(x, 4, vector=4)

    @kernel
    def ragged(k: Builder, x: Ptr[f32]) -> None:
        k.load(x, 6, vector=4)

    @kernel
    def misaligned(k: Builder, x: Ptr[f32]) -> None:
        k.load(x + 1, 4, vector=4)

    @kernel
    def dimensions(k: Builder) -> None:
        tile = k.shared(f32, (4, 4))
        tile[1]

    assert message(wide) == lines(
        "line 2: a vector of 4 f64 is not one access; at most 4 elements and 16 bytes are",
        "    k.load(x, 4, vector=4)",
        "    ^~~~~~~~~~~~~~~~~~~~~~",
        "  write:  vector=2",
    )
    assert message(ragged) == lines(
        "line 2: 6 elements are not whole vectors of 4",
        "    k.load(x, 6, vector=4)",
        "    ^~~~~~~~~~~~~~~~~~~~~~",
        "  write:  vector=1",
    )
    assert message(misaligned) == lines(
        "line 2: the constant offset 4 is not a multiple of the vector's 16 bytes; the access would be misaligned",
        "    k.load(x + 1, 4, vector=4)",
        "    ^~~~~~~~~~~~~~~~~~~~~~~~~~",
        "  write:  vector=1",
    )
    assert message(dimensions) == lines(
        "line 3: this pointer has 2 dimensions, the index has 1",
        "    tile[1]",
        "    ^~~~~~~",
        "  write:  p[i, j]",
    )


# -- instructions ------------------------------------------------------------------------------------------------------


def test_wrong_operands() -> None:
    @kernel
    def few(k: Builder, x: f32) -> None:
        k.fma(x, x)  # type: ignore[call-arg]

    @kernel
    def kind(k: Builder, x: f32, n: u32) -> None:
        k.fma(x, x, n)  # type: ignore[arg-type]

    @kernel
    def few_op(k: Builder, x: f32) -> None:
        k.op("fma.rn.f32", x, x)

    takes = "takes 3 operands (a, b, c), found 2"
    syntax = "  syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c"
    assert message(few) == lines(
        f"line 2: fma {takes}", "    k.fma(x, x)  # type: ignore[call-arg]", "    ^~~~~~~~~~~", syntax
    )
    assert message(few_op) == lines(
        f"line 2: fma.rn.f32 {takes}", '    k.op("fma.rn.f32", x, x)', "    ^~~~~~~~~~~~~~~~~~~~~~~~", syntax
    )
    assert message(kind) == lines(
        "line 2: fma.rn.f32 wants f32, %n is u32",
        "    k.fma(x, x, n)  # type: ignore[arg-type]",
        "    ^~~~~~~~~~~~~~",
        "  write:  k.cvt(f32, n)",
    )


def test_wrong_modifiers() -> None:
    @kernel
    def missing(k: Builder, x: f32) -> None:
        k.shfl(x, 1, 31, 0xFFFFFFFF)

    @kernel
    def word(k: Builder, x: f32) -> None:
        k.fma(x, x, x, rnd="up")  # type: ignore[arg-type]

    @kernel
    def opcode(k: Builder, x: f32) -> None:
        k.op("fma.f32", x, x, x)

    first, *_, syntax = message(missing).splitlines()
    assert first == "line 2: shfl needs .mode here, one of .up .down .bfly .idx; found .b32"
    assert syntax.startswith("  syntax: shfl.sync.mode.b32  d|p")
    assert message(word) == lines(
        "line 2: fma: rnd is one of rn rz rm rp; found 'up'",
        '    k.fma(x, x, x, rnd="up")  # type: ignore[arg-type]',
        "    ^~~~~~~~~~~~~~~~~~~~~~~~",
        "  syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c",
    )
    assert message(opcode) == lines(
        "line 2: fma needs .rnd here, one of .rn .rz .rm .rp; found .f32",
        '    k.op("fma.f32", x, x, x)',
        "    ^~~~~~~~~~~~~~~~~~~~~~~~",
        "  syntax: fma.rnd{.ftz}{.sat}.f32  d, a, b, c",
    )


def test_unknown_instruction() -> None:
    @kernel
    def f(k: Builder, x: f32) -> None:
        k.barier()  # type: ignore[attr-defined]

    assert message(f) == lines(
        "line 2: k has no `barier`; did you mean barrier or mbarrier?",
        "    k.barier()  # type: ignore[attr-defined]",
        "    ^~~~~~~~",
        '  write:  k.op("opcode.with.modifiers", ...)',
    )
    with pytest.raises(AttributeError):
        f()


def test_instruction_that_the_target_lacks() -> None:
    @kernel(arch="sm_80")
    def f(k: Builder, a: bf16) -> None:
        a + a

    assert message(f) == lines(
        "line 2: add.rn.bf16 needs sm_90 or later; this kernel is built for sm_80",
        "    a + a",
        "    ^~~~~",
        '  write:  @kernel(arch="sm_90")',
    )
    assert "add.rn.bf16" in f(arch="sm_90").ptx


# -- kernels and probes ------------------------------------------------------------------------------------------------


def test_parameters() -> None:
    @kernel
    def element(k: Builder, x: Ptr[float]) -> None: ...

    @kernel
    def python(k: Builder, x: Ptr[f32], head_dim: int) -> None: ...

    @kernel
    def unresolved(k: Builder, x: nothing) -> None: ...  # type: ignore[name-defined] # noqa: F821

    assert message(element) == lines(
        "line 1: `x`: a pointer points to a PTX type, found <class 'float'>",
        "    def element(k: Builder, x: Ptr[float]) -> None: ...",
        "                            ^~~~~~~~~~~~~",
        "  write:  x: Ptr[f32]",
    )
    assert message(python) == lines(
        "line 1: python needs its Python parameter `head_dim`; a kernel parameter has a PTX type",
        "    def python(k: Builder, x: Ptr[f32], head_dim: int) -> None: ...",
        "                                        ^~~~~~~~~~~~~",
        "  write:  python(head_dim=...)",
    )
    assert message(python, head_dims=3).startswith("line 1: python needs its Python parameter `head_dim`")
    assert message(unresolved).startswith(
        "line 1: the annotation of `x` cannot be resolved: name 'nothing' is not defined\n"
    )


def test_names_that_ptx_cannot_write() -> None:
    @kernel
    def f(k: Builder, größe: u32) -> None: ...

    @kernel(name="scalar-f32")
    def g(k: Builder) -> None: ...

    assert message(f) == lines(
        "line 1: 'größe' is no PTX name; letters, digits, _ and $ are",
        "    def f(k: Builder, größe: u32) -> None: ...",
        "                      ^~~~~~~~~~",
        "  write:  gr__e",
    )
    assert message(g) == lines(
        "line 1: 'scalar-f32' is no PTX name; letters, digits, _ and $ are",
        "    def g(k: Builder) -> None: ...",
        "          ^~~~~~~~~~",
        '  write:  name="scalar_f32"',
    )


def test_probes() -> None:
    @kernel(probes=True)
    def never(k: Builder, n: u32) -> None: ...

    @kernel
    def kinds(k: Builder, n: u32, m: f32, l: f64) -> None:
        k.probe(n, 0, 1, m, l, 1.0)

    @kernel
    def rows(k: Builder, n: u64, m: f32) -> None:
        k.probe(n, 0, 1, m, m, 1.0)

    @kernel
    def name(k: Builder, probe: Ptr[f32]) -> None: ...

    assert message(never) == lines(
        "line 1: never is built with probes=True and never calls k.probe",
        "    def never(k: Builder, n: u32) -> None: ...",
        "              ^~~~~~~~~~",
        "  write:  k.probe(row, tile, tiles, row_max, row_sum, rescale)",
    )
    assert message(kinds) == lines(  # wrong in a build without probes, too
        "line 2: k.probe stores m, l and rescale in one float type, f32 or f64; l is f64",
        "    k.probe(n, 0, 1, m, l, 1.0)",
        "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~",
        "  write:  k.cvt(f32, l)",
    )
    assert message(rows) == lines(
        "line 2: k.probe counts rows and tiles in u32, row is u64",
        "    k.probe(n, 0, 1, m, m, 1.0)",
        "    ^~~~~~~~~~~~~~~~~~~~~~~~~~~",
        "  write:  k.cvt(u32, n)",
    )
    assert message(name) == lines(
        "line 1: `probe` is the name of the parameter that a probes=True build adds",
        "    def name(k: Builder, probe: Ptr[f32]) -> None: ...",
        "                         ^~~~~~~~~~~~~~~",
        "  write:  probed",
    )

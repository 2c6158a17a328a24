"""Mistakes with variables and names: rebinding, aliases, values that are gone; each error says the line to write."""

# ruff: noqa: F841

from __future__ import annotations

from build_messages import lines, message

from ptxlab.builder import Builder, Ptr, f32, kernel, u32


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

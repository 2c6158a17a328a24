"""Mistakes with types: mixed operands, immediates, pointers and vectors."""

# ruff: noqa: F841

from __future__ import annotations

from build_messages import lines, message

from ptxlab.builder import Builder, Ptr, f16, f32, f64, kernel, u32, u64

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

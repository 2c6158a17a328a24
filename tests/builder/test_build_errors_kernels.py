"""Mistakes with instructions, parameters, names and probes of a kernel."""

from __future__ import annotations

import pytest
from build_messages import lines, message

from ptxlab.builder import Builder, Ptr, bf16, f32, f64, kernel, u32, u64

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

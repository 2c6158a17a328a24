"""mma.sp on both engines: a matrix is packed as the manual describes, and the product is that of the whole one."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ENGINES
from matrix_programs import NUMPY, multiply, pack, program, unpack
from sparse_matrices import metadata, whole_and_packed

from ptxlab.emulate import lower
from ptxlab.errors import PtxError
from ptxlab.isa import form
from ptxlab.isa.fragments import product
from ptxlab.text import parse

FORMS = [
    f"mma.{sparse}.sync.aligned.{shape}.row.col.{types}"
    for shapes, types in (
        ("m16n8k16 m16n8k32", "f32.f16.f16.f32"),
        ("m16n8k32 m16n8k16", "f16.f16.f16.f16"),
        ("m16n8k16 m16n8k32", "f32.bf16.bf16.f32"),
        ("m16n8k8 m16n8k16", "f32.tf32.tf32.f32"),
        ("m16n8k32 m16n8k64", "s32.s8.u8.s32"),
        ("m16n8k64 m16n8k32", "satfinite.s32.u8.s8.s32"),
        ("m16n8k64 m16n8k128", "s32.s4.u4.s32"),
        ("m16n8k128 m16n8k64", "satfinite.s32.u4.s4.s32"),
        ("m16n8k64 m16n8k64", "f32.e4m3.e5m2.f32"),
    )
    for sparse, shape in zip(("sp", "sp::ordered_metadata"), shapes.split(), strict=True)
]
SELECTORS = {"f16": (4, 2), "bf16": (4, 2), "tf32": (4, 2), "s8": (2, 1), "u8": (2, 1), "s4": (2, 1), "u4": (2, 1)}


def depth(opcode: str) -> int:
    return int(opcode.partition("n8k")[2].partition(".")[0])


def selectors(opcode: str) -> int:
    """How many the manual lists."""
    f = form(opcode)
    small = {"f16": 16, "bf16": 16, "tf32": 8, "s8": 32, "u8": 32, "s4": 64, "u4": 64}
    return 1 if f.atype in ("e4m3", "e5m2") else SELECTORS[f.atype][depth(opcode) > small[f.atype]]


@pytest.mark.sweep(17)
@pytest.mark.parametrize("opcode", FORMS)
def test_the_product_is_that_of_the_whole_matrix(engine: str, opcode: str) -> None:
    rng, p, found = np.random.default_rng(1), product(form(opcode)), form(opcode)
    for selector in range(selectors(opcode)):
        whole, packed, words = whole_and_packed(rng, found.atype, depth(opcode))
        b, c = (rng.integers(0 if f.type in ("u8", "u4") else -4, 5, (f.rows, f.columns)) for f in (p.b, p.c))
        given = [pack(f, x.astype(NUMPY[f.type])) for f, x in ((p.a, packed), (p.b, b), (p.c, c))]
        e = metadata(words, found.atype, selector, rng)
        d = unpack(p.d, multiply(engine, opcode, *given, e=e, selector=selector)).astype(np.float64)
        assert (d == (whole @ b + c)[p.d.row, p.d.column]).all(), f"selector {selector}"


@pytest.mark.sweep(3)
@pytest.mark.skipif("jit" not in ENGINES, reason="llvmlite is not installed")
@pytest.mark.parametrize("opcode", FORMS)
def test_engines_agree_on_any_bits(opcode: str) -> None:
    rng, p = np.random.default_rng(2), product(form(opcode))
    given = [
        rng.integers(0, 1 << f.width, (f.registers, 32), dtype=np.uint64, endpoint=f.width < 64)
        for f in (p.a, p.b, p.c)
    ]
    e = rng.integers(0, 1 << 32, 32, dtype=np.uint64)
    got = [multiply(engine, opcode, *given, e=e, selector=selectors(opcode) - 1) for engine in ENGINES]
    assert (got[0] == got[1]).all()


@pytest.mark.parametrize(("opcode", "legal"), [(FORMS[0], "0 to 3"), (FORMS[1], "0 to 1"), (FORMS[10], "0")])
def test_a_selector_that_there_is_not(opcode: str, legal: str) -> None:
    text, _ = program(opcode, 7)
    with pytest.raises(PtxError) as raised:
        lower(parse(text), None, None)
        for engine in ENGINES:
            multiply(
                engine,
                opcode,
                *([np.zeros((getattr(product(form(opcode)), m).registers, 32), np.uint64) for m in "abc"]),
                e=np.zeros(32),
                selector=7,
            )
    assert f"{opcode} takes {legal} here, found 7" in str(raised.value)

"""NaNs, bit by bit: both engines give the same one, and arithmetic on f32 gives the one that the manual promises."""

from __future__ import annotations

import conformance
import numpy as np
import pytest
from emulate_programs import ENGINES, kernel, launch, run

from ptxlab.isa import form, types

SINGLE = [
    0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001, 0x7FA12345, 0xFFE54321, 0x7F800000,
    0xFF800000, 0, 0x80000000, 0x3F800000, 0xBF800000, 1, 0x7F7FFFFF, 0xC0400000,
]  # fmt: skip
DOUBLE = [
    0x7FF8 << 48, 0xFFF8 << 48, (1 << 63) - 1, (1 << 64) - 1, (0x7FF << 52) + 1, (0xFFF << 52) + 1, 0x7FF4123456789ABC,
    0x7FF << 52, 0xFFF << 52, 0, 1 << 63, 0x3FF << 52, 0xBFF << 52, 1, 0x7FEFFFFFFFFFFFFF,
]  # fmt: skip
HALF = [0x7E00, 0xFE00, 0x7FFF, 0xFFFF, 0x7C01, 0xFC01, 0x7C00, 0xFC00, 0, 0x8000, 0x3C00, 0xBC00]
BRAIN = [0x7FC0, 0xFFC0, 0x7FFF, 0xFFFF, 0x7F81, 0xFF81, 0x7F80, 0xFF80, 0, 0x8000, 0x3F80, 0xBF80]
POOLS = {"f32": SINGLE, "tf32": SINGLE, "f64": DOUBLE, "f16": HALF, "bf16": BRAIN}
FLOATS = ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2", "tf32")
ARITHMETIC = set("add sub mul fma mad div rcp sqrt rsqrt ex2 lg2 sin cos tanh min max".split())
CHUNK = 30
PLAIN = conformance.values


def values(type_: str, rng: np.random.Generator) -> np.ndarray:
    """32 values of a type as bits in u64: NaNs of every kind, infinities, zeros, and a few numbers."""
    pool = POOLS.get(type_.removesuffix("x2"))
    if pool is None:
        return PLAIN(type_, rng)
    one, two = (rng.choice(np.array(pool, np.uint64), 32) for _ in range(2))
    return one | two << np.uint64(16) if type_.endswith("x2") else one


def forms() -> list[str]:
    """The computed forms with a float among their operands."""
    found = []
    for entry in conformance.computed():
        for opcode in conformance.combinations(entry, 0):
            one = form(opcode)
            if any(one.operand_type(spec) in FLOATS for spec in one.op.operands):
                found.append(opcode)
    return found


FORMS = forms()


def compare(opcodes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "values", values)
    text, data, cases = conformance.program(opcodes)
    outs = []
    for engine in ENGINES:
        outs.append(np.zeros((sum(len(c.results) for c in cases), 32), np.uint64))
        launch(engine, text, data.copy(), outs[-1], grid=(1,), block=(32,))
    wrong = []
    for case in cases:
        for row, type_ in case.results:
            width = 64 if type_ == "pred" else types.width(type_)
            bits = [out[row] & np.uint64((1 << width) - 1) for out in outs]
            bad = bits[0] != bits[-1]
            if type_ == "f32" and case.form.op.name in ARITHMETIC:
                nan = conformance.canonical(bits[0], "f32") == 0x7FFFFFFF
                bad |= nan & (bits[0] != 0x7FFFFFFF)
            if bad.any():
                lane = int(bad.argmax())
                given, got = ([hex(int(x[lane])) for x in rows] for rows in (case.inputs, bits))
                wrong.append(f"{case.form.opcode} {given}: {got}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.sweep(19)
@pytest.mark.parametrize("opcodes", [FORMS[k : k + CHUNK] for k in range(0, len(FORMS), CHUNK)], ids=lambda c: c[0])
def test_bits(opcodes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    compare(opcodes, monkeypatch)


@pytest.mark.parametrize("x", SINGLE[:8])
def test_a_nan_as_an_immediate(x: int, engine: str) -> None:
    body = f"mov.b32 %f1, 0x3F800000;\n    sub.rn.f32 %f2, %f1, 0f{x:08X};\n    st.global.f32 [%rd3], %f2;"
    out, _ = run(engine, kernel(body))
    assert out[0] == 0x7FFFFFFF


def test_an_atomic_addition_leaves_the_same_nan(engine: str) -> None:
    for x in SINGLE[:8]:
        body = (
            f"mov.b32 %f1, 0x{x:08X};\n    atom.global.add.f32 %f2, [%rd3], %f1;\n    red.global.add.f32 [%rd3], %f1;"
        )
        out, _ = run(engine, kernel(body), out=np.full(32, 0x3F800000, np.uint32))
        assert (out == 0x7FFFFFFF).all()

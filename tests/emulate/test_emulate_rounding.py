"""Directed rounding: the CPU's own instructions give what the arithmetic of `ptxlab.isa.rounding` gives, to the bit."""

from __future__ import annotations

import itertools
import platform

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run

pytestmark = pytest.mark.skipif("jit" not in ENGINES, reason="needs llvmlite: there is one engine only")
MODES = ("rz", "rm", "rp")
OPERATIONS = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "sqrt": 1, "rcp": 1}
SPECIAL = {
    "f32": (0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
            0x7FC00000, 0xFFFFFFFF, 0x7F800001, 0x3F800000, 0xBF800000, 0x34000000, 0x00FFFFFF, 0x4B000001),
    "f64": (0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF << 52,
            0xFFF << 52, 0x7FF8 << 48, 0xFFFFFFFFFFFFFFFF, (0x7FF << 52) + 1, 0x3FF << 52, 0xBFF << 52, 0x3CB << 52,
            (1 << 53) - 1, (0x433 << 52) + 1),
}  # fmt: skip


def body_of(type_: str, operation: str) -> str:
    """Each thread's three numbers, in all modes; what comes out is mixed to a word."""
    size = int(type_[1:]) // 8
    a, word = ("%f", "%r20") if size == 4 else ("%fd", "%rd20")
    lines = [f"mul.wide.u32 %rd5, %r4, {3 * size}; add.u64 %rd5, %rd2, %rd5; mov.u32 %r6, 0;"]
    lines += [f"ld.global.{type_} {a}{k}, [%rd5+{size * k}];" for k in range(3)]
    given = ", ".join(f"{a}{k}" for k in range(OPERATIONS[operation]))
    for mode, (flushed, saturated) in itertools.product(
        MODES, [("", ""), (".ftz", ""), ("", ".sat"), (".ftz", ".sat")]
    ):
        modified = flushed or saturated
        if (modified and size == 8) or (saturated and operation in ("div", "sqrt", "rcp")):
            continue
        lines.append(f"{operation}.{mode}{flushed}{saturated}.{type_} {a}5, {given}; mov.b{8 * size} {word}, {a}5;")
        if size == 8:
            lines.append("mov.b64 {%r20, %r21}, %rd20; mad.lo.u32 %r6, %r6, 31, %r21;")
        lines.append("mad.lo.u32 %r6, %r6, 31, %r20;")
    return "\n".join(lines) + "st.global.u32 [%rd3], %r6;"


def numbers(type_: str, count: int) -> np.ndarray:
    """Bits of triples: special ones in all combinations, and others, some of which are close or cancel."""
    rng, bits = np.random.default_rng(7), np.dtype(f"u{int(type_[1:]) // 8}")
    every = np.array(list(itertools.product(SPECIAL[type_], repeat=3)), bits)
    drawn = rng.integers(0, np.iinfo(bits).max, (count, 3), bits, endpoint=True)
    near = drawn.view(type_.replace("f", "float")).copy()
    with np.errstate(all="ignore"):
        near[: count // 2, 1] = -near[: count // 2, 0] * (
            1 + rng.integers(-2, 3, count // 2) * np.finfo(near.dtype).eps
        )
        near[count // 2 :, 2] = -near[count // 2 :, 0] * near[count // 2 :, 1]
    return np.concatenate([every, drawn, near.view(bits)])[: (len(every) + 2 * count) // 64 * 64]


def differing(text: str, x: np.ndarray) -> list[tuple[str, list[str]]]:
    """Rows of numbers, one a thread, of which another way to run makes something else than the first way."""
    text, given = text.replace("sm_80", "sm_90"), x.reshape(-1).copy()
    outs = [run(way, text, threads=64, blocks=len(x) // 64, x=given)[0] for way in WAYS]
    wrong = [(way, np.flatnonzero(out != outs[0])) for way, out in zip(WAYS, outs, strict=True)]
    return [(way, [hex(bits) for bits in x[at[0]].tolist()]) for way, at in wrong if at.size]


@pytest.mark.long
@pytest.mark.sweep(13)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_all_modes(type_: str, operation: str) -> None:
    assert not differing(kernel(body_of(type_, operation)), numbers(type_, 1000))


@pytest.mark.long
@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="code for x86")
@pytest.mark.sweep(3)
@pytest.mark.parametrize(("cpu", "features"), [("haswell", "+avx,+avx2,+fma"), ("x86-64", "")])
@pytest.mark.parametrize(("type_", "operation"), [("f32", "fma"), ("f64", "add"), ("f32", "div"), ("f64", "sqrt")])
def test_modes_of_the_control_register(
    type_: str, operation: str, cpu: str, features: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set in a function for all lanes, where no instruction has a mode of its own."""
    from ptxlab.emulate.jit.native import code as native

    monkeypatch.setattr(native, "host", lambda: native.Cpu(cpu, features))
    assert not differing(kernel(body_of(type_, operation)), numbers(type_, 64))


def halves_near_ties(count: int) -> np.ndarray:
    """Bits of triples: any, and a sum that cancels, that nothing is added to but a trace, and that overflows."""
    x = np.random.default_rng(3).integers(0, 1 << 16, (4, count, 3), np.uint16)
    x[1, :, 2] = x[1, :, 0] ^ 0x8000  # times about 1
    x[1, :, 1] = 0x3F80 + x[1, :, 1] % 64
    x[2, :, :2] = 0x3C00 + x[2, :, :2] % 1024
    x[2, :, 2] = x[2, :, 2] % 4 + (x[2, :, 2] & 0x8000)
    x[3] |= 0x7000
    return x.reshape(-1, 3)


def test_products_and_sums_of_halves() -> None:
    """Rounded once, with an instruction for each direction or without."""
    x = halves_near_ties(256)
    words = np.concatenate([x, np.roll(x, 1, 0)[:, :1]], 1).view(np.uint32)
    lines = ["mul.wide.u32 %rd5, %r4, 8; add.u64 %rd5, %rd2, %rd5; mov.u32 %r6, 0;"]
    lines += ["ld.global.v2.u32 {%r7, %r8}, [%rd5]; mov.b32 {%h1, %h2}, %r7; mov.b32 {%h3, %h4}, %r8;"]
    for type_ in ("f16", "bf16"):
        for line in (f"mul.rn.{type_} %h4, %h1, %h2", f"fma.rn.{type_} %h4, %h1, %h2, %h3"):
            lines.append(f"{line}; cvt.u32.u16 %r9, %h4; mad.lo.u32 %r6, %r6, 31, %r9;")
        lines.append(f"fma.rn.relu.{type_}x2 %r9, %r7, %r8, %r7; mad.lo.u32 %r6, %r6, 31, %r9;")
    assert not differing(kernel("\n".join(lines) + "st.global.u32 [%rd3], %r6;"), words)

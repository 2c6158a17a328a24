"""Every form of the instruction table can be written with the builder, and short calls mean the form one expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ptxlab.builder import TYPES, Builder, Ptr, bf16, f16, f16x2, f32, kernel, pred, stubs, u32, u64
from ptxlab.isa import Form, all_ops, form
from ptxlab.isa.entries import OperandSpec
from ptxlab.isa.examples import fragment_registers, opcodes
from ptxlab.text import Instruction, parse


def test_the_stub_is_fresh() -> None:
    """`python -m ptxlab.builder.stubs` writes it anew."""
    assert stubs.PATH.read_text(encoding="utf-8") == stubs.text()


def emitted(write: Callable[[Builder], Any], arch: str = "sm_100a") -> list[Instruction]:
    """The instructions that `write` emits, read back by the parser, without the kernel's own `ret`."""

    def f(k: Builder) -> None:
        write(k)

    module = kernel(arch=arch)(f).module
    return list(module.kernels[0].instructions())[:-1]


def operand(k: Builder, found: Form, spec: OperandSpec) -> Any:
    """Something that fits an operand of a form."""
    ptx = found.operand_type(spec)
    if ptx == "addr":
        return k.pointer(f32, k.mov(0, u64))
    if ptx == "int":
        return 16
    if ptx == "vec":
        return [register(k, str(found.type)) for _ in range(int(found.vec[1:]))]
    if ptx == "any":
        if found.op.name in ("bar", "barrier"):
            return register(k, "pred")
        if found.num:
            return [register(k, "b32") for _ in range(int(found.num[1:]))]
        if found.op.name in ("mma", "wmma"):
            count, element = fragment_registers(found, str(found.matrix or spec.name))
            return [register(k, element) for _ in range(count)]
        return register(k, "b32")
    return register(k, ptx)


def register(k: Builder, ptx: str) -> Any:
    cls = TYPES.get(ptx) or TYPES[{8: "b16", 16: "b16", 32: "b32", 64: "b64"}[form_width(ptx)]]
    if cls.bits == 8:
        cls = TYPES["b16" if ptx == "b8" else f"{ptx[0]}16"]
    return k.mov(1, cls)


def form_width(ptx: str) -> int:
    from ptxlab.isa.types import WIDTH

    return WIDTH[ptx]


ENTRIES = [op for op in all_ops() if op.kind != "flow" or op.name in ("bar", "barrier", "ret", "exit", "trap")]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", sorted({op.name for op in ENTRIES}))
def test_every_form_can_be_written(name: str) -> None:
    for entry in (op for op in ENTRIES if op.name == name):
        if any("128" in s.type or s.type == "b128" for s in entry.operands) or entry.fixed.get("type") == "b128":
            continue  # 128-bit registers have no Python type
        for opcode in opcodes(entry):
            found = form(opcode)
            if "b128" in opcode or found.vec == "v8":
                continue

            def write(k: Builder, found: Form = found) -> None:
                if found.op.name == "wgmma":
                    k.op("wgmma.fence.sync.aligned")
                operands = [operand(k, found, s) for s in found.op.operands if s.role != "dst" and not s.optional]
                results = [s for s in found.op.operands if s.role == "dst"]
                into = [k.var(f32, 0.0)] if results and results[0].type == "any" and found.op.name == "wgmma" else None
                k.op(found.opcode, *operands, into=into)

            last = emitted(write)[-1]
            assert last.opcode == opcode
            assert len(last.operands) >= sum(not s.optional and not s.second for s in entry.operands)


def test_types_of_results() -> None:
    types: list[Any] = []

    @kernel(arch="sm_90")
    def f(k: Builder, x: f32, n: u32, h: f16, g: bf16) -> None:
        values = [k.and_(n, 1), k.mul(n, n, wide=True), k.shfl(x, 1, 31, -1, mode="down"), n > 1, k.pack(h, h)]
        values += [g + g, k.popc(n), k.select(n > 1, h, h), k.bitcast(u32, x), k.op("and.b32", x, x), k.fma(x, x, 1)]
        types.extend(v.type for v in values)

    f()
    assert types == [u32, u64, f32, pred, f16x2, bf16, u32, f16, u32, f32, f32]


def test_second_destinations() -> None:
    def write(k: Builder) -> None:
        value, inside = k.op("shfl.sync.up.b32", k.mov(1, u32), 1, 0, -1, both=True)
        less, more = k.setp(value, 3, cmp="lt", both=True)
        k.select(less & more & inside, value, 0)

    text = [" ".join(str(i).split()) for i in emitted(write)]
    assert text[1] == "shfl.sync.up.b32 %value|%inside, %r1, 1, 0, 0xFFFFFFFF;"
    assert text[2] == "setp.lt.u32 %less|%more, %value, 3;"


def test_matrix_instructions_take_lists() -> None:
    def write(k: Builder) -> None:
        tile = k.shared(f16, 256)
        a = k.ldmatrix(tile, shape="m8n8", num="x4")
        b = k.ldmatrix(tile + 128, shape="m8n8", num="x2", trans=True)
        acc = k.vars(f32, 4, 0.0)
        k.op("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", a, b, acc, into=acc)

    text = [" ".join(str(i).split()) for i in emitted(write)]
    assert text[1] == "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%tile];"
    assert text[2] == "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%b0, %b1}, [%tile+256];"
    assert text[-1] == (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%acc0, %acc1, %acc2, %acc3}, {%a0, %a1, %a2, %a3}, "
        "{%b0, %b1}, {%acc0, %acc1, %acc2, %acc3};"
    )


def test_methods_explain_themselves() -> None:
    assert (Builder.fma.__doc__ or "").startswith("fma.rnd{.ftz}{.sat}.f32  d, a, b, c\n    Fused multiply-add")
    assert (Builder.atom.__doc__ or "").count("Reads memory, combines it with b and writes it back") == 1
    assert "ex2" in dir(Builder)


def test_pointers_of_many_spaces() -> None:
    @kernel
    def f(k: Builder, x: Ptr[f32]) -> None:
        k.load(k.pointer(f32, k.address(x + 2), "local"))

    code = [" ".join(str(i).split()) for i in parse(f.ptx).kernels[0].instructions()]
    assert code == ["ld.param.u64 %x, [x];", "add.u64 %rd1, %x, 8;", "ld.local.f32 %f1, [%rd1];", "ret;"]

"""Every kind of load and store, and every instruction that changes nothing, on both engines: one program an entry."""

from __future__ import annotations

import numpy as np
import pytest
from conformance import register_type
from emulate_programs import fault_of, kernel, launch, run

from ptxlab.isa import examples, form, types
from ptxlab.isa.actions import SAMPLERS, Action
from ptxlab.isa.coverage import key
from ptxlab.isa.entries import Op
from ptxlab.isa.table import all_ops

TABLE = bytes(range(7, 39))
"""What the constant table holds; the other spaces hold the thread's 32 bytes of the input."""


def module(lines: list[str]) -> str:
    """A kernel whose thread t has 32 bytes at [%in], and the same bytes at [own] and [%tile] and as a parameter."""
    copy = [
        f"ld.global.b64 %t, [%in+{8 * k}]; st.local.b64 [own+{8 * k}], %t; st.shared.b64 [%tile+{8 * k}], %t;"
        for k in range(4)
    ]
    return f""".version 9.1
.target sm_100a
.address_size 64
.const .align 32 .b8 table[32] = {{{", ".join(map(str, TABLE))}}};
.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .b64 %in, %out, %t, %policy; .reg .b32 %lane, %tile;
    .local .align 32 .b8 own[32];
    .shared .align 32 .b8 tile[1024];
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
    mov.u32 %lane, %tid.x; mov.u32 %tile, tile; mad.lo.u32 %tile, %lane, 32, %tile;
    mad.wide.u32 %in, %lane, 32, %in;
    mad.wide.u32 %out, %lane, 32, %out;
    mov.b64 %policy, 0;
    {chr(10).join([*copy, *lines])}
    ret;
}}
"""


def entries(*names: str) -> list[Op]:
    """Loads and stores of one value; st.bulk and st.async have tests of their own (fills, bulk)."""
    plain = [e for e in all_ops() if e.name in names and e.does in (Action.LOAD, Action.STORE)]
    return [e for e in plain if not any(s.type == "b128" for s in e.operands)]


ADDRESSES = {"": "[%in]", "global": "[%in]", "shared": "[%tile]", "local": "[own]", "const": "[table]"}


def accesses(entry: Op) -> list[tuple[str, str, int]]:
    """The opcodes of an entry in the spaces that a kernel can write to (or read from), each with its address and the
    number of bytes."""
    found = []
    for opcode in examples.opcodes(entry):
        one = form(opcode)
        space = (one.space or "").partition("::")[0]
        if space in ADDRESSES:
            size = types.width(one.type) // 8 * (int(one.vec[1:]) if one.vec else 1)
            found.append((opcode, ADDRESSES[space], size))
    return found


def operand(opcode: str, number: int) -> tuple[str, str]:
    """Registers for the data of an access, and their declaration."""
    one = form(opcode)
    held = register_type(one.type)
    names = [f"%e{number}_{k}" for k in range(int(one.vec[1:]) if one.vec else 1)]
    text = f"{{{', '.join(names)}}}" if one.vec else names[0]
    return text, f".reg .{held} {', '.join(names)};"


def each_part(opcode: str, text: str, instruction: str, address: str) -> list[str]:
    """Plain loads or stores of every element by itself."""
    one = form(opcode)
    size, held = types.width(one.type), f"b{types.width(one.type)}"
    names = text.strip("{}").split(", ")
    places = [f"[{address}+{size // 8 * k}]" for k in range(len(names))]
    if instruction == "st":
        return [f"st.global.{held} {place}, {name};" for place, name in zip(places, names, strict=True)]
    return [f"ld.global.{held} {name}, {place};" for place, name in zip(places, names, strict=True)]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("entry", entries("ld", "ldu"), ids=key)
def test_loads(engine: str, entry: Op) -> None:
    chosen = accesses(entry)
    lines = []
    for number, (opcode, address, _) in enumerate(chosen):
        text, declared = operand(opcode, number)
        policy = ", %policy" if "cache_hint" in opcode else ""
        lines += [declared, f"{opcode} {text}, {address}{policy};"]
        lines += each_part(opcode, text, "st", "%out")
        lines.append("add.u64 %out, %out, 1024;")
    x = np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)
    out = np.zeros((len(chosen), 32, 32), np.uint8)
    launch(engine, module(lines), x.copy(), out, grid=(1,), block=(32,))
    for (opcode, address, size), got in zip(chosen, out, strict=True):
        want = np.zeros((32, 32), np.uint8)
        want[:, :size] = (np.frombuffer(TABLE, np.uint8) if address == "[table]" else x)[..., :size]
        assert (got == want).all(), opcode


@pytest.mark.sweep(3)
@pytest.mark.parametrize("entry", entries("st"), ids=key)
def test_stores(engine: str, entry: Op) -> None:
    chosen = accesses(entry)
    lines = []
    for number, (opcode, address, size) in enumerate(chosen):
        text, declared = operand(opcode, number)
        policy = ", %policy" if "cache_hint" in opcode else ""
        place = "[%out]" if address == "[%in]" else address
        lines += [declared, *each_part(opcode, text, "ld", "%in"), f"{opcode} {place}, {text}{policy};"]
        if place != "[%out]":
            space = "local" if place == "[own]" else "shared"
            part = min(size, 8)
            for k in range(0, size, part):
                held = f".reg .{register_type(f'b{8 * part}')} %back{number}_{k};"
                lines += [held, f"ld.{space}.b{8 * part} %back{number}_{k}, [{place.strip('[]')}+{k}];"]
                lines.append(f"st.global.b{8 * part} [%out+{k}], %back{number}_{k};")
        lines.append("add.u64 %out, %out, 1024;")
    x = np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)
    out = np.zeros((len(chosen), 32, 32), np.uint8)
    launch(engine, module(lines), x.copy(), out, grid=(1,), block=(32,))
    for (opcode, _, size), got in zip(chosen, out, strict=True):
        want = np.zeros((32, 32), np.uint8)
        want[:, :size] = x[:, :size]
        assert (got == want).all(), opcode


LOUD = {Action.FILL, Action.REPLACE_FIELD, Action.COPY_MAP, *SAMPLERS}
"""What changes nothing itself: lowering adds what does."""
QUIET = [e for e in all_ops() if (e.kind == "none" and e.does not in LOUD) or e.name == "createpolicy"]


@pytest.mark.sweep(12)
@pytest.mark.parametrize("entry", QUIET, ids=key)
def test_what_changes_nothing(engine: str, entry: Op) -> None:
    """Hints, fences and the like: every form runs, and neither memory nor registers are other than before."""
    lines = [examples.line(opcode) for opcode in examples.opcodes(entry)]
    written = "%rd2" if entry.name == "createpolicy" else "%rd1"
    text = f""".version 8.8
.target sm_100a
.address_size 64
.const .align 16 .b8 table[64];
.visible .entry k(.param .u64 out, .param .u64 input)
{{
    {examples.DECLARATIONS}
    ld.param.u64 {written}, [out];
    mov.u32 %r1, %tid.x;
    mad.wide.u32 {written}, %r1, 8, {written};
    st.global.u32 [{written}], %r1;
    mov.u32 %r64, 5;
    mov.b64 %rd32, {written};
    {chr(10).join(line.replace("%rd1,", "%rd3,") if entry.name == "createpolicy" else line for line in lines)}
    st.global.u32 [%rd32+4], %r64;
    ret;
}}
"""
    out = np.zeros((32, 2), np.uint32)
    launch(engine, text, out, out, grid=(1,), block=(32,))
    assert out.tolist() == [[t, 5] for t in range(32)]


def test_a_breakpoint_without_a_debugger(engine: str) -> None:
    stopped = fault_of(engine, kernel("    setp.eq.u32 %p1, %r1, 3;\n    @%p1 brkpt;"))
    assert stopped.kind == "trap"
    assert stopped.message.startswith("the kernel executed brkpt")


@pytest.mark.parametrize("aligned", ["", ".aligned"])
def test_barriers_of_the_newer_spelling(engine: str, aligned: str) -> None:
    """Two warps: how many are in the first of them, whether all are, whether any is."""
    body = f"""
    setp.lt.u32 %p1, %r1, 40;
    st.shared.u32 [tile], %r1;
    barrier.sync{aligned} 0;
    barrier.cta.red.popc{aligned}.u32 %r5, 1, %p1;
    barrier.red.and{aligned}.pred %p2, 2, 64, %p1;
    barrier.red.or{aligned}.pred %p3, 2, !%p1;
    selp.u32 %r6, 100, 0, %p2;
    selp.u32 %r7, 1000, 0, %p3;
    setp.lt.u32 %p4, %r1, 32;
    @%p4 barrier.arrive{aligned} 3, 64;
    @!%p4 barrier.sync{aligned} 3, 64;
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7;
    st.global.u32 [%rd3], %r5;"""
    text = kernel(body, ".shared .align 4 .b8 tile[4];")
    assert run(engine, text, threads=64)[0].tolist() == [1040] * 64

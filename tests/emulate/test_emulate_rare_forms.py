"""Forms of PTX that are seldom written, on both engines; NVIDIA's assembler takes them too."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from emulate_programs import DEVICES

import ptxlab as pl
from ptxlab.gpu import assembler
from ptxlab.isa import all_ops, examples, form
from ptxlab.isa.actions import Action
from ptxlab.isa.multimem import one_device
from ptxlab.text.validate import validate

HEAD = ".version {version}\n.target sm_90\n.address_size 64\n"
KERNEL = """{before}
.visible .entry k(.param .u64 out{parameter}){directive}
{{
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .f32 %f<9>;
    ld.param.u64 %rd1, [out];
    {body}
    ret;
}}
{after}"""

VECTOR_FUNCTION = """
.func (.reg .v4 .f32 r) doubled (.reg .v4 .f32 a, .reg .b128 w)
{
    add.f32 a.x, a.x, a.x;
    add.f32 a.w, a.w, a.w;
    mov.v4.f32 r, a;
    ret;
}"""
SOURCES = """.file 1 "a.tile"
.nv_intermediate_source_section {
    .code_block {
        .ir_name: "tile ir"
        .sourceFileName: 1
        .source_begin
        it's {{ "anything
        .source_end
    }
}"""
CASES = {
    "variables in functions": ("", """.global .u32 g[2] = {5, 6};
    .global .u64 at = g;
    { .const .u32 g = 7; ld.const.u32 %r1, [g]; }
    ld.global.u32 %r2, [g+4];
    ld.global.u64 %rd2, [at]; ld.global.u32 %r3, [%rd2];
    st.global.v2.u32 [%rd1], {%r1, %r2};
    st.global.u32 [%rd1+8], %r3;""", "", [7, 6, 5]),
    "sums of a register": (".global .u32 g = 1;", """mov.u32 %r1, 40;
    st.global.u32 [%rd1], %r1 + 2;
    sub.u32 %r2, %r1+1, %r1 + -1; st.global.u32 [%rd1+4], %r2;
    mov.b64 {%r3, %r4}, %rd1+8;
    mov.b64 {%r5, %r6}, %rd1;
    sub.u32 %r3, %r3, %r5;
    st.global.u32 [%rd1+8], %r3;""", "", [42, 2, 8]),
    "vectors": ("", """.reg .v4 .u16 v, w;
    mov.v4.u16 v, {1, 2, 3, 4};
    mov.v4.u16 w, v;
    mov.v4.u16 {%h1, %h2, %h3, %h4}, w;
    cvt.u32.u16 %r1, %h4;
    cvt.u32.u16 %r2, w.y;
    st.global.v2.u32 [%rd1], {%r1, %r2};""", "", [4, 2]),
    "vectors as arguments": (VECTOR_FUNCTION, """.reg .v4 .f32 v;
    .reg .b128 w;
    mov.v4.f32 v, {1.0, 2.0, 3.0, 4.0};
    mov.b128 w, {%rd1, %rd1};
    call (v), doubled, (v, w);
    cvt.rni.u32.f32 %r1, v.x;
    cvt.rni.u32.f32 %r2, v.y;
    cvt.rni.u32.f32 %r3, v.w;
    st.global.v2.u32 [%rd1], {%r1, %r2};
    st.global.u32 [%rd1+8], %r3;""", "", [2, 2, 8]),
    "multicast addresses of one device": ("", """mov.b32 %r1, 6;
    multimem.st.relaxed.sys.global.u32 [%rd1], 5;
    multimem.red.add.u32 [%rd1], %r1;
    multimem.ld_reduce.acquire.gpu.global.add.u32 %r2, [%rd1];
    mov.b32 %f3, 0f3F800000; mov.b32 %f4, 0f00000000;
    multimem.st.global.v2.f32 [%rd1+8], {%f3, %f4};
    multimem.red.release.gpu.global.add.v2.f32 [%rd1+8], {%f4, %f3};
    multimem.ld_reduce.global.add.v2.f32 {%f1, %f2}, [%rd1+8];
    st.global.u32 [%rd1+4], %r2;
    st.global.f32 [%rd1+16], %f2;""", "", [11, 11, *[0x3F800000] * 3]),
    "sections": (SOURCES + "\n.section .debug_frame\n{\n.b8 1\n}",
                 ".loc_intermediate 1 2 3\n    st.global.u32 [%rd1], 9;", "", [9]),
    "prototypes without a semicolon": (
        ".func (.reg .b32 r) f (.reg .b32 a)\n.func g ()\n",
        "call (%r1), f, (3);\n    st.global.u32 [%rd1], %r1;",
        ".func g () { ret; }\n.func (.reg .b32 r) f (.reg .b32 a) { mov.b32 r, a; ret; }", [3]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_seldom_written(device: str, name: str) -> None:
    before, body, after, expected = CASES[name]
    text = HEAD.format(version="9.4") + KERNEL.format(
        before=before, body=body, after=after, parameter="", directive=" .language 1"
    )
    module = pl.parse(text)
    assert str(module) == text
    assert validate(module) == []
    out = np.zeros(len(expected), np.uint32)
    pl.launch(module, 1, 1, out, device=device)
    assert out.tolist() == expected
    if assembler.available() and assembler.version() >= (13, 5) and device == DEVICES[0]:
        pl.gpu.assemble(text)


def test_a_section_that_no_assembler_knows_is_passed_over() -> None:
    text = (
        HEAD.format(version="9.1")
        + ".new_section {\n.b8 { 1 }\n}\n"
        + KERNEL.format(
            before="", body="st.global.u32 [%rd1], 4;", after="", parameter=", .hidden .param .u32 unseen", directive=""
        )
    )
    module = pl.parse(text)
    assert str(module) == text
    assert [str(error).split("\n")[0] for error in validate(module)] == ["<ptx>:4:1: unknown directive '.new_section'"]
    out = np.zeros(1, np.uint32)
    pl.launch(module, 1, 1, out, 0, device="cpu")
    assert out.tolist() == [4]


RECORD = np.dtype([("n", "u4"), ("scale", "f4"), ("at", "u8")])


class Structure(ctypes.Structure):
    _fields_ = [("n", ctypes.c_uint32), ("scale", ctypes.c_float), ("at", ctypes.c_uint64)]


STRUCT = HEAD.format(version="8.0") + KERNEL.format(
    before="",
    after="",
    directive="",
    parameter=", .param .align 8 .b8 s[16]",
    body="ld.param.u32 %r1, [s];\n    ld.param.u64 %rd2, [s+8];\n    st.global.u32 [%rd1], %r1;\n"
    "    st.global.u64 [%rd1+8], %rd2;",
)


@pytest.mark.parametrize("value", [
    np.array((3, 1.5, 1 << 40), RECORD), np.array([(3, 1.5, 1 << 40)], RECORD)[0], np.array([3, 0, 0, 256], np.uint32),
    np.rec.array([(3, 1.5, 1 << 40)], dtype=RECORD)[0], Structure(3, 1.5, 1 << 40),
    bytes(Structure(3, 1.5, 1 << 40)), np.array([3, 1 << 40], np.uint64)[::-1][::-1],
])  # fmt: skip
def test_structures_by_value(value: object) -> None:
    for device in DEVICES:
        out = np.zeros(2, np.uint64)
        pl.launch(STRUCT, 1, 1, out, value, device=device)
        assert out.tolist() == [3, 1 << 40]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3, np.uint64), "k, argument 2 (s: .b8[16]): expected 16 bytes, got 24"),
        (
            Structure * 2,
            "k, argument 2 (s: .b8[16]): expected 16 bytes, got PyCArrayType <class '{}.Structure_Array_2'>",
        ),
        ((3, 1.5), "k, argument 2 (s: .b8[16]): expected 16 bytes, got tuple (3, 1.5)"),
        (np.array([None, 1], object), "k, argument 2 (s: .b8[16]): expected 16 bytes, got an array of object [2]"),
    ],
)
def test_what_is_no_structure(value: object, message: str) -> None:
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(STRUCT, 1, 1, np.zeros(2, np.uint64), value)
    assert str(caught.value) == message.format(__name__)


def test_more_shared_memory_than_the_assembler_takes(device: str) -> None:
    body = ".shared .align 16 .b8 tile[65536];\n    st.shared.u32 [tile+65532], 8;\n"
    body += "    ld.shared.u32 %r1, [tile+65532];\n    st.global.u32 [%rd1], %r1;"
    text = HEAD.format(version="8.0") + KERNEL.format(before="", body=body, after="", parameter="", directive="")
    out = np.zeros(1, np.uint32)
    with pytest.warns(UserWarning, match="declares 65536 bytes") as said:
        pl.launch(text, 1, 1, out, device=device)
    assert [str(w.message) for w in said] == [
        "shared memory: k declares 65536 bytes. The emulator allows that; NVIDIA's assembler takes at most 49152 for "
        "sm_90: declare `.extern .shared` and give the size at the launch"
    ]
    assert said[0].filename == __file__
    assert out.tolist() == [8]
    with pytest.raises(pl.TargetError):
        pl.launch(text.replace("sm_90", "sm_61"), 1, 1, out, device=device)


HEAP = f"""{HEAD.format(version="8.0")}
.extern .func (.param .b64 r) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
.visible .entry k(.param .u64 out, .param .u64 size)
{{{{
    .reg .b64 %rd<9>; .reg .b32 %r<5>;
    .param .b64 n, p;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [size];
    st.param.b64 [n], %rd2;
    call.uni (p), malloc, (n);
    ld.param.b64 %rd3, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 8; add.u64 %rd1, %rd1, %rd4; st.global.u64 [%rd1], %rd3;
    {{body}}
    st.param.b64 [n], %rd3;
    call.uni free, (n);
    ret;
}}}}"""


@pytest.mark.long
@pytest.mark.parametrize("device", [DEVICES[-1], *(pytest.param(d, marks=pytest.mark.rest) for d in DEVICES[:-1])])
def test_the_heap(device: str) -> None:
    out = np.zeros(40, np.uint64)
    body = "st.u32 [%rd3+4], %r1;\n    bar.warp.sync -1;\n    ld.u32 %r2, [%rd3+4];\n    st.global.u32 [%rd1], %r2;"
    pl.launch(HEAP.format(body=body), 1, 32, out[:32], 8, device=device, checks="all")
    assert (out[:32].astype(np.uint32) == np.arange(32)).all()
    pl.launch(HEAP.format(body=""), 1, 40, out, 1 << 20, device=device)
    assert sorted(out != 0) == [False] * 32 + [True] * 8
    assert len(set(np.diff(np.sort(out[out != 0])))) == 1
    pl.launch(HEAP.format(body=""), 1, 1, out[:1], (1 << 64) - 1, device=device)
    assert out[0] == 0


FREE = "st.param.b64 [n], %rd3; call.uni free, (n);"


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("then", "what", "offset"),
    [
        ("", "free of", 0),
        ("ld.u32 %r2, [%rd3+40];", "load of 4 bytes at", 40),
        ("st.v4.u32 [%rd3+32], {{%r1, %r1, %r1, %r1}};", "store of 16 bytes at", 32),
        ("atom.add.u32 %r2, [%rd3+4], 1;", "atomic of 4 bytes at", 4),
        ("add.u64 %rd3, %rd3, 16;", "", 0),
        ("mov.b64 %rd3, %rd1;", "", 0),
    ],
)
def test_use_after_free(device: str, then: str, what: str, offset: int) -> None:
    """The last thread alone frees early; the other blocks of memory are still there."""
    body = f"setp.ne.u32 %p1, %r1, 32;\n    @%p1 bra done;\n    {FREE}\n    {then}\ndone:"
    text = HEAP.replace("%r<5>;", "%r<5>; .reg .pred %p<2>;").format(body=body.format())
    freed = next(n for n, line in enumerate(text.splitlines(), 1) if FREE in line)
    with pytest.raises(pl.DeviceFault) as caught:
        pl.launch(text, 1, 33, np.zeros(33, np.uint64), 44, device=device)
    at = caught.value.address
    expected = "free: malloc has not given this pointer"
    if what:
        start = at - offset
        expected = f"{what} {at:#x}: byte {offset} of 44 bytes that malloc gave at {start:#x}, freed at line {freed}"
    assert caught.value.message == expected
    assert caught.value.thread == (32, 0, 0)


def test_every_multimem_is_an_ordinary_access(device: str) -> None:
    """Each form beside the ordinary one, on memory of the same contents."""
    entries = [entry for entry in all_ops() if entry.name == "multimem"]
    body = []
    for entry in entries:
        opcode = next(examples.opcodes(entry))
        line, ordinary = examples.line(opcode), one_device(form(opcode)).opcode
        for at, text in (("%rd1", line), ("%rd2", line.replace(opcode, ordinary).replace("%rd1", "%rd2"))):
            body.append(text)
            if entry.does is Action.LOAD:
                names = text.split(" ", 1)[1].split(", [")[0].strip("{}").split(", ")
                bits = {"%h": 16, "%rd": 64, "%fd": 64}.get(names[0].rstrip("0123456789"), 32)
                body += [f"st.global.b{bits} [{at}+{32 + 8 * k}], {name};" for k, name in enumerate(names)]
    text = HEAD.format(version="8.2").replace("sm_90", "sm_90a") + (
        ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n"
        + examples.DECLARATIONS.replace(".reg .b128 %q<9>;\n", "").replace("%rd<33>", "%rd<33>, %x")
        + "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.b64 %rd3, %rd1;\n"
        + "".join(f"mov.b16 %h{k}, {3 * k};\nmov.b32 %r{k}, {5 * k};\n" for k in range(17))
        + "".join(f"mov.b32 %f{k}, {7 * k};\nmov.b64 %rd{k}, {9 * k};\n" for k in range(3, 17))
        + "mov.f64 %fd2, 0d3FF0000000000000;\n"
        + "\n".join(body)
        + "\nret;\n}\n"
    )
    first = np.random.default_rng(0).integers(0, 1 << 30, 64).astype(np.uint32)
    second = first.copy()
    pl.launch(text, 1, 1, first, second, device=device)
    assert first.tolist() == second.tolist()

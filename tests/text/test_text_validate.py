"""What `validate` finds in PTX that parses, with the whole message; and that it finds nothing in compilers' output."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import pytest
from shown_messages import message

import ptxlab as pl
from ptxlab.errors import Span
from ptxlab.text import parse
from ptxlab.text.validate import validate

CORPUS = Path(__file__).parents[1] / "corpus"
COMPILED = sorted(
    [
        *CORPUS.glob("cuda/*.ptx"),
        *CORPUS.glob("triton/*.ptx"),
        *CORPUS.glob("grammar/*.O3.ptx"),
        *CORPUS.glob("grammar/*.G.ptx"),
    ]
)

HEAD = """\
.version 8.0
.target sm_80
.global .f32 table[4];
.func helper { ret; }
.visible .entry k(.param .u64 out)
{
	.reg .b32 %r<5>;
	.reg .f32 %f<4>, %query0;
	.reg .v4 .f32 %vector;
	.reg .pred %p;
"""


def _text(*lines: str) -> str:
    return HEAD + "".join(f"\t{line}\n" for line in lines) + "}\n"


def _messages(*lines: str) -> list[str]:
    return [str(error) for error in validate(parse(_text(*lines), "k.ptx"))]


def _message(line: str) -> str:
    (message,) = _messages(line)
    return message


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_compilers_output_has_no_finding(path: Path) -> None:
    assert [str(error) for error in validate(parse(path.read_bytes().decode(), path.name))] == []


@pytest.mark.parametrize(
    ("version", "target", "line", "message", "write"),
    [
        ("7.8", "sm_90", "fence.proxy.async;", "6:2: fence.proxy.async needs PTX 8.0 or later; this text is "
         ".version 7.8", ".version 8.0"),
        ("8.0", "sm_80", "barrier.cluster.arrive;", "6:2: barrier.cluster.arrive needs sm_90 or later; this text is "
         "for sm_80", ".target sm_90"),
        ("8.0", "sm_80", "wgmma.fence.sync.aligned;", "6:2: wgmma.fence.sync.aligned needs sm_90a; this text is for "
         "sm_80", ".target sm_90a"),
        ("8.0", "sm_90", "wgmma.fence.sync.aligned;", "6:2: wgmma.fence.sync.aligned is not in sm_90, only in targets "
         "with a letter after the number", ".target sm_90a"),
        ("7.0", "sm_90", "ret;", "2:9: PTX 7.0 does not have sm_90; PTX 7.8 is the first that does", ".version 7.8"),
        ("7.0", "sm_80", "vote.ballot.b32 %r1, %p;", "6:2: vote.ballot.b32 ended with PTX 6.4 on sm_70; vote.sync, "
         "which also takes the mask of the participating lanes, replaces it", ""),
        ("7.0", "sm_80", "mbarrier.test_wait.b64 %p, [%d], %d;", "", ""),
        ("6.3", "sm_70", "fence.proxy.async;", "6:2: fence.proxy.async needs PTX 8.0 or later; this text is .version "
         "6.3", ".version 8.0"),
        ("8.0", "sm_70", "fence.proxy.async;", "6:2: fence.proxy.async needs sm_90 or later; this text is for sm_70",
         ".target sm_90"),
        ("6.0", "sm_75", "ret;", "2:9: PTX 6.0 does not have sm_75; PTX 6.3 is the first that does", ".version 6.3"),
        ("8.0", "sm_121", "ret;", "2:9: PTX 8.0 does not have sm_121; PTX 8.8 is the first that does", ".version 8.8"),
        ("5.1", "sm_70", "ret;", "", ""),
        ("7.0", "compute_80", "ret;", "", ""),
        ("6.5", "compute_80", "ret;", "2:9: PTX 6.5 does not have compute_80; PTX 7.0 is the first that does",
         ".version 7.0"),
        ("8.0", "sm_80, texmode_independent", "ret;", "", ""),
        ("8.0", "sm_80, nothing", "ret;", "2:16: there is no target nothing", ""),
        ("8.0", "sm_999", "ret;", "2:9: there is no target sm_999", ".target sm_90"),
        ("8.0", "sm80", "ret;", "2:9: there is no target sm80", ".target sm_80"),
        ("8.0", "sm_80a", "ret;", "2:9: there is no target sm_80a", ".target sm_80"),
        ("7.9", "sm_80", "ret;", "1:10: there is no PTX 7.9", ".version 7.8"),
        ("99.9", "sm_999", "ret;", "", ""),
        ("7.8", "sm_90", "{ .reg .b16 %h; cvt.rn.f16x2.e4m3x2 %r1, %h; }", "", ""),
    ],
)  # fmt: skip
def test_what_the_version_and_the_target_have(version: str, target: str, line: str, message: str, write: str) -> None:
    registers = ".reg .b32 %r<3>; .reg .pred %p; .reg .b64 %d;"
    text = f".version {version}\n.target {target}\n.visible .entry k()\n{{\n{registers}\n\t{line}\n}}\n"
    found = [str(error).splitlines() for error in validate(parse(text, "k.ptx"))]
    assert [lines[0] for lines in found] == ([f"k.ptx:{message}"] if message else [])
    assert [lines[-1] for lines in found if write] == ([f"  write:  {write}"] if write else [])


def test_right_instructions_have_no_finding() -> None:
    lines = (
        "fma.rn.f32 %f1, %vector.x, %query0, %f0;", "mov.u32 %r4, %tid.x; mov.u32 %r3, %clock; mov.u32 %r0, %envreg3;",
        "setp.lt.f32 %p|_, %f1, %f2;", "{ .reg .b32 %inner<2>; mov.b32 %inner1, %r0; @%p bra $done; }",
        "{ .reg .b64 %rd; mov.u64 %rd, table+4; call helper; ld.param.u64 %rd, [out]; }", "bar.sync 0; bar.sync 0, 64;",
        "$done: ret;",
    )  # fmt: skip
    assert _messages(*lines) == []


FINDINGS = {
    "a missing modifier": (("fma.f32 %f1, %f2, %f3, %f1;  // sum",),
        ("11:6+3", "fma needs .rnd here, one of .rn .rz .rm .rp; found .f32", "fma.rn.f32 %f1, %f2, %f3, %f1;",
         "fma.rnd{.ftz}{.sat}.f32  d, a, b, c")),
    "a misspelt modifier": (("@%p fma.rn.sta.f32 %f1, %f2, %f3, %f1;",),
        ("11:13+3", "fma does not take .sta here", "@%p fma.rn.sat.f32 %f1, %f2, %f3, %f1;",
         "fma.rnd{.ftz}{.sat}.f32  d, a, b, c")),
    "a modifier too many in an opcode of several words": (("mul .hi .xx .u32 %r1, %r2, %r3;",),
        ("11:11+2", "mul does not take .xx here", "mul.hi.u32 %r1, %r2, %r3;", "mul.hi.type  d, a, b")),
    "too few operands": (("fma.rn.f32 %f1, %f2, %f3;",),
        ("11:26", "fma.rn.f32 takes 4 operands (d, a, b, c); found 3", "", "fma.rnd{.ftz}{.sat}.f32  d, a, b, c")),
    "too many operands": (("fma.rn.f32 %f1, %f2, %f3, %f1, %f2;",),
        ("11:33+3", "fma.rn.f32 takes 4 operands (d, a, b, c); found 5", "", "fma.rnd{.ftz}{.sat}.f32  d, a, b, c")),
    "operands where there are none": (("ret %r1;",), ("11:6+3", "ret takes no operands; found 1", "ret;", "ret{.uni}")),
    "an unknown instruction": (("ad.f32 %f1, %f2, %f3;",),
        ("11:2+2", "unknown instruction 'ad'; close to it: add, addc, sad", "add.f32 %f1, %f2, %f3;")),
    "an unknown instruction 2": (("xyzzy.f32 %f1;",), ("11:2+5", "unknown instruction 'xyzzy'")),
    "a number of another kind": (("@%p add.f32 %f1, %f2, -1;",),
        ("11:24", "add.f32 takes a floating-point number here, found the integer -1", "@%p add.f32 %f1, %f2, -1.0;",
         "add{.rnd}{.ftz}{.sat}.f32  d, a, b")),
    "a register of another type": (("add.u32 %f1, %f2, %f3;  // sum",),
        ("11:10+3", "add.u32 takes .u32, .s32 or .b32 here; %f1 is .f32", "add.f32 %f1, %f2, %f3;",
         "add.type  d, a, b")),
    "a register beyond its range": (("add.f32 %f1, %f2, %f7;",),
        ("11:20+3", "%f7 is not declared; line 8 declares %f0 to %f3", ".reg .f32 %f<8>;")),
    "a misspelt register": (("add.f32 %f1, %f2, %qeury0;",),
        ("11:20+7", "%qeury0 is not declared; close to it: %query0", "add.f32 %f1, %f2, %query0;")),
    "a register of an inner scope": (("{ .reg .b32 %zz; mov.b32 %zz, 0; }", "mov.b32 %zz, 0;"),
        ("12:10+3", "%zz is not declared", ".reg .b32 %zz;")),
    "an element that a special register does not have": (("mov.u32 %r1, %tid.q;",),
        ("11:15+6", "%tid has no .q, only .x .y .z", "mov.u32 %r1, %tid.x;")),
    "an unknown variable and an unknown function": (("mov.u32 %r1, tabel;", "call (%r1), helpr, (%r2);"),
        ("11:15+5", "no variable or register tabel is declared; close to it: table", "mov.u32 %r1, table;"),
        ("12:14+5", "no function or register helpr is declared; close to it: helper", "call (%r1), helper, (%r2);")),
    "labels": (("loop:", "@%p bra lop;", "bra elsewhere;", "loop:", "targets: .branchtargets loop, nowhere;"),
        ("12:10+3", "no label lop in k", "@%p bra loop;"),
        ("13:6+9", "no label elsewhere in k", "elsewhere:"),
        ("14:2+4", "the label loop is already on line 11", "loop_2:"),
        ("15:32+7", "no label nowhere in k", "nowhere:")),
    "the same label in two scopes": (("{ again: bra again; }", "{ again: bra again; }"),),
}  # fmt: skip
"""Lines of a kernel; of each message where it points, what it says, what is to be written, and the syntax."""


@pytest.mark.parametrize("name", FINDINGS)
def test_findings(name: str) -> None:
    lines, *parts = FINDINGS[name]
    assert _messages(*lines) == [message(_text(*lines), *each) for each in parts]


@pytest.mark.parametrize(
    ("line", "says", "write"),
    [
        ("mov.f32 %f1, 0x3F800000;", "takes a floating-point number here, found the integer 0x3F800000",
         "mov.f32 %f1, 0f3F800000;"),
        ("add.u32 %r1, %r2, 2.0;", "takes an integer here, found the floating-point number 2.0",
         "add.u32 %r1, %r2, 2;"),
        ("add.u32 %r1, %r2, 2.5;", "takes an integer here, found the floating-point number 2.5", ""),
        ("add.u32 %r1, %tid.x, 1;", "cannot read %tid.x; only mov can", "mov.u32 %r, %tid.x;"),
        ("{ .reg .b64 %a; mov.u64 %a, %tid.x; }", "%tid.x is .u32", "mov.u32 %r, %tid.x;"),
        ("{ .reg .b64 %a; add.u64 %a, %a, table; }", "takes no variable; mov gives the address of table",
         "mov.u64 %address, table;"),
        ("fma %f1, %f2, %f3, %f1;", "k.ptx:11:4: fma needs .rnd here, one of .rn .rz .rm .rp; found nothing", ""),
        ("add.f32 %f1, %f2, %vector.y; { .reg .u32 %f1; add.f32 %f2, %f1, %f2; }",
         "k.ptx:11:61: add.f32 takes .f32 or .b32 here; %f1 is .u32", "add.f32 %f1, %f2, %vector.y; { .reg .u32 %f1; "
         ".reg .f32 %x; cvt.rn.f32.u32 %x, %f1; add.f32 %f2, %x, %f2; }"),
        ("setp.lt.u32 %r1, %r2, %r3;", "takes a predicate here; %r1 is .b32",
         ".reg .pred %x; setp.lt.u32 %x, %r2, %r3;"),
        ("@%r1 ret;", "the guard @%r1 is not a predicate, it is .b32",
         ".reg .pred %x; setp.ne.b32 %x, %r1, 0; @%x ret;"),
        ("add.u32 %r1, %r2, %p;", "takes .u32, .s32 or .b32 here; %p is .pred",
         ".reg .u32 %x; selp.u32 %x, 1, 0, %p; add.u32 %r1, %r2, %x;"),
        ("selp.f32 %f1, %p, %f1, %f2;", "takes .f32 or .b32 here; %p is .pred", "selp.f32 %f1, %f1, %f2, %p;"),
        ("{ .reg .b64 %x; mov.u64 %r1, %x; }", "takes .u64, .s64 or .b64 here; %r1 is .b32",
         "{ .reg .b64 %x; .reg .u64 %x1; mov.u64 %x1, %x; }"),
        ("add.u32 r1, r1, 1;", "no variable or register r1 is declared", "add.u32 %r1, %r1, 1;"),
        ("mov.f32 %f1, -inf;", "no variable or register inf is declared", "mov.f32 %f1, 0fFF800000;"),
        ("mov.f32 %f1, table;", "takes no address, found the variable table", "ld.global.f32 %f1, [table];"),
        ("ld.shared.f32 %f1, [table+4];", "table lies in .global", "ld.global.f32 %f1, [table+4];"),
        ("{ .shared .b32 t[4]; ld.shared.f32 %f1, [t+%r1]; }", "takes an address with a constant offset",
         "{ .shared .b32 t[4]; .reg .b32 %x; mov.b32 %x, t; add.u32 %x, %x, %r1; ld.shared.f32 %f1, [%x]; }"),
        ("atom.add.f32 [table], %f1;", "takes 3 to 4 operands (d, a, b, policy); found 2", "red.add.f32 [table], %f1;"),
        ("shfl.bfly.b32 %r1, %r2, 1, 31;", "shfl.bfly.b32 ended with PTX 6.4 on sm_70",
         "shfl.sync.bfly.b32 %r1, %r2, 1, 31, 0xffffffff;"),
        ("cvt.u32.f32 %r1, %f1;", "needs .rnd here, one of .rni .rzi .rmi .rpi", "cvt.rzi.u32.f32 %r1, %f1;"),
        ("mad.lo.f32 %f1, %f2, %f3, %f1;", "mad needs .type here, one of .u16", "fma.rn.f32 %f1, %f2, %f3, %f1;"),
        ("exp.f32 %f1, %f2;", "unknown instruction 'exp'",
         ".reg .f32 %t; mul.f32 %t, %f2, 1.4426950408889634; ex2.approx.f32 %f1, %t;"),
        ("ld.global.f32 %f1, [%f2];", "%f2 is .f32 and cannot be an address", ""),
        ("{ .reg .b64 %a; ld.global.f32 %f1, %a; }", "takes an address in brackets here, found %a",
         "{ .reg .b64 %a; ld.global.f32 %f1, [%a]; }"),
        ("add.u32 5, %r1, %r2;", "writes to a register here, found 5", ""),
        ("{ .reg .b16 %h; add.f16 %h, %h, 1.0; }", "takes no literal of type .f16", ""),
        ("add.u32 %r1, %r2, _;", "reads a value here; _ is only for a result that is not wanted", ""),
        ("add.u32 table, %r1, %r2;", "writes to a register here, found the variable table", ""),
        ("{ .reg .f16 %h<2>; .reg .b64 %a; st.global.v2.f32 [%a], {%h0, %h1}; }",
         "takes .f32 or .b32 here; %h0 is .f16", ""),
        ("{ .reg .b64 %a; st.global.v2.f32 [%a], %f1; }", "takes 2 registers in braces, found %f1",
         "{ .reg .b64 %a; st.global.f32 [%a], %f1; }"),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, %r1, {%r3}, {%r1, %r2};",
         "takes 2 registers in braces, found %r1", ""),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, -%r2}, {%r3}, {%r1, %r2};",
         "takes no minus before a register, found -%r2", ""),
        ("{ .reg .b64 %a; discard.global.L2 [%a], [%a]; }", "takes an integer here, found [%a]", ""),
        ("cp.async.wait_group %r1;", "takes an integer here, found %r1", ""),
        ("HERE: add.u32 %r1, %r2, HERE;", "takes no label here, found HERE", ""),
        ("{ .reg .b64 %a; ld.global.v2.u32 {%r1, %r2, %r3}, [%a]; }", "takes 2 registers in braces, found 3", ""),
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2}, {%r1, %r1}, {%r1}, {%f1, %f1, %f1, %f1};",
         "takes 4 registers in braces, found 2", ""),
        ("{ .reg .b64 %a; mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%a, %a}, {%r3}, {%r1, %r2}; }",
         "takes 32 bits here; %a is .b64", ""),
        ("{ .reg .b64 %a; cp.async.ca.shared.global [%r1], [%a], 5; }", "takes 4 or 8 or 16 here, found 5", ""),
    ],
)  # fmt: skip
def test_operands_that_do_not_fit(line: str, says: str, write: str) -> None:
    message = _message(line).splitlines()
    assert says in message[0]
    assert (message[-1] == f"  write:  {write}") if write else not message[-1].startswith("  write:")


def test_operands_that_fit() -> None:
    lines = (
        "{ .reg .u16 %h; ld.global.u8 %h, [table]; ld.global.s8 %r1, [table]; cvt.u32.u16 %r1, %h; }",
        "{ .reg .u32 %u; .reg .s32 %s; add.u32 %u, %s, %r1; mov.b32 %f1, %u; mov.b32 %r1, 0f3F800000; }",
        "{ .reg .u16 %h; mov.u16 %h, %tid.x; .reg .u64 %d; mov.u64 %d, %clock64; mov.u32 %r1, %gridid; }",
        "selp.f32 %f1, 0f3F800000, 1.0, %p; setp.eq.and.f32 %p, %f1, 0d3FF0000000000000, !%p;",
        "{ .reg .u32 %p; add.u32 %p, %p, WARP_SZ; }",
    )
    assert _messages(*lines) == []


@pytest.mark.parametrize(
    ("line", "declaration"),
    [
        ("add.f64 %zz, 1.0, 2.0;", ".reg .f64 %zz;"),
        ("setp.lt.f32 %zz, %f1, %f2;", ".reg .pred %zz;"),
        ("@%zz ret;", ".reg .pred %zz;"),
        ("ld.global.f32 %f1, [%zz];", ".reg .b64 %zz;"),
        ("ld.shared.f32 %f1, [%zz+4];", ".reg .b32 %zz;"),
        ("mul.wide.u32 %zz, %r1, %r2;", ".reg .u64 %zz;"),
    ],
)
def test_the_declaration_that_an_unknown_register_needs(line: str, declaration: str) -> None:
    message = _message(line).splitlines()
    assert message[0].endswith(": %zz is not declared")
    assert message[-1] == f"  write:  {declaration}"


def test_the_python_line_is_named() -> None:
    module = parse(HEAD + "fma.f32 %f1, %f1, %f1, %f1;\n}", spans={11: Span("kernel.py", 30, 8, 30, 25)})
    (error,) = validate(module)
    assert str(error).splitlines()[-1] == "  from:   kernel.py:30"


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_it_was_after_a_mistake(enabled: bool) -> None:
    try:
        (gc.enable if enabled else gc.disable)()
        with pytest.raises(pl.PtxError):
            parse("nonsense")
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_the_first_hundred_mistakes_are_told() -> None:
    errors = validate(parse(HEAD + "fma.f32 %f1, %f1, %f1, %f1;\n" * 300 + "}"))
    assert [error.line for error in errors] == list(range(11, 111))
    for same in (pickle.loads(pickle.dumps(errors[0])), copy.copy(errors[0])):
        assert (same.message, same.hint, same.line) == (errors[0].message, errors[0].hint, 11)


BLACKWELL = (
    "tcgen05.alloc.cta_group::1.sync.aligned.b32 [%x1], 32;", "cvt.rn.satfinite.relu.e2m3x2.f32 %h1, %f1, %f2;",
    "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.collector::a::fill [%r1], %x1, %x2, %r2, [%r3], [%r4], %p1;",
    "tcgen05.ld.sync.aligned.16x128b.x1.pack::16b.b32 {%r1, %r2}, [%r3];", "cvt.rp.ue8m0x2.bf16x2 %h1, %r1;",
    "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b4x16_p64 [%r1], %x1;", "fma.rn.f32.bf16 %f1, %h1, %h2, %f2;",
    "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%x1], [%x2];",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32 "
    "{%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%f1, %f2, %f3, %f4}, %r5, 0;",
    "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;", "st.async.mmio.release.sys.global.b32 [%x1], %r1;",
    "ldmatrix.sync.aligned.m16n16.x1.trans.b8x16.b6x16_p32 {%r1, %r2}, [%x1];",
    "stmatrix.sync.aligned.m16n8.x1.trans.b8 [%x1], {%r1};", "tensormap.replace.tile.elemtype.b1024.b32 [%x1], 13;",
    "ld.global.nc.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%x1];",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::2 "
    "[tile], [%x2, {%r1, %r2, %r3, %r4, %r5}], [tile];",
    "multimem.ld_reduce.relaxed.gpu.global.add.acc::f16.v4.e5m2x2 {%h1, %h2, %h3, %h4}, [%x1];",
)  # fmt: skip


def test_what_is_not_executed_yet_is_no_wrong_ptx() -> None:
    """NVIDIA's assembler takes it, the emulator refuses it by name, nothing else is offered; other words stay wrong."""
    head = """.version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{
    .reg .pred %p<3>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %x<3>; .reg .f32 %f<9>; .reg .b128 %q<3>;
    .shared .align 128 .b8 tile[1024];\n"""
    for line in BLACKWELL:
        text = f"{head}{line}\nret;\n}}\n"
        assert validate(parse(text)) == []
        with pytest.raises(pl.UnsupportedInstruction) as refused:
            pl.launch(text, 1, 32, device="step")
        assert "does not execute" in refused.value.message
        assert not refused.value.hint
        if (opcode := line.split()[0].strip(";")).startswith(("tcgen05", "clusterlaunch")):  # operands are not judged
            with pytest.raises(pl.UnsupportedInstruction) as refused:
                pl.launch(text.replace(line, f"{opcode} [%r1], {{%r2, %r3}}, %r4;"), 1, 32, device="step")
            says = f"the emulator does not execute {opcode} yet; a GPU of sm_100a does: "
            assert refused.value.message == says + 'device="gpu". pl.assemble(ptx) judges its operands'
        assert pl.inspect(text).pipes["unknown"] == 1  # and NVIDIA's assembler, where it is, takes it
    for target, line, needed in (("sm_90a", 0, "sm_100a"), ("sm_120a", 0, "sm_100a"), ("sm_100", 8, "sm_100a"),
                                 ("sm_120", 8, "sm_120a"), ("sm_90", 6, "sm_100")):  # fmt: skip
        (error,) = validate(parse(f"{head.replace('sm_100a', target)}{BLACKWELL[line]}\nret;\n}}\n"))
        assert error.hint == f".target {needed}"
    for opcode in ("mma.sync.aligned.m16n8k32.row.col.kind::f9.f32.e4m3.e4m3.f32", "cvt.rn.satfinite.f32.e2m1x2",
                   "tcgen05.ld.sync.aligned.16x128b.x3.b32", "tcgen06.ld"):  # fmt: skip
        with pytest.raises(pl.PtxError) as wrong:
            pl.launch(f"{head}{opcode} %r1, %r2, %r3, %r4;\nret;\n}}\n", 1, 32, device="step")
        assert not isinstance(wrong.value, pl.UnsupportedInstruction)

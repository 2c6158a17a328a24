"""What the model says of a text: parameters, shapes, initialisers, directives, guards, operands."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from ptxlab.text import (
    Address,
    Block,
    Declaration,
    Directive,
    Element,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Name,
    Not,
    Number,
    Operand,
    Pair,
    Parens,
    Sum,
    Variable,
    Vector,
    parse,
)

GRAMMAR = Path(__file__).parents[1] / "corpus" / "grammar"


def _read(name: str) -> Module:
    return parse((GRAMMAR / f"{name}.ptx").read_bytes().decode(), name)


def _instruction(text: str) -> Instruction:
    (instruction,) = parse(f".entry k {{ {text} }}").kernels[0].instructions()
    return instruction


def _operand(text: str) -> Operand:
    return _instruction(f"mov.b32 %r1, {text};").operands[1]


def _initial(text: str) -> object:
    return parse(f".global .u64 x = {text};").variables[0].initial


def test_module_header() -> None:
    module = _read("linkage")
    assert (module.version, module.target, module.address_size) == ((8, 5), "sm_90a", 64)
    assert module.file == "linkage"
    files = [item.words for item in module.items if isinstance(item, Directive) and item.name == "file"]
    assert files == [("1", '"a \\"quoted\\" name.cu"', "1700000000", "4096"), ("2", '"plain.cuh"')]


def test_variables() -> None:
    variables = {v.name: v for v in _read("linkage").variables}
    assert variables["outside"] == Variable("global", "b8", "outside", shape=(0,), align=4, linkage="extern", line=9)
    assert variables["dynamic"].shape == (0,)
    assert (variables["dynamic"].align, variables["dynamic"].space) == (16, "shared")
    assert variables["matrix"].shape == (2, 3)
    assert variables["name"].shape == (3,)
    assert variables["four"].vector == 4
    assert variables["everywhere"].attributes == (".attribute(.managed)",)
    assert variables["unified"].attributes == (".attribute(.unified(19,95))",)
    assert variables["shared_counter"].linkage == "common"
    assert variables["old_bank"].attributes == ("[3]",)
    assert [(n, variables[n].shape) for n in "abc"] == [("a", ()), ("b", (8,)), ("c", ())]


def test_initialisers() -> None:
    variables = {v.name: v for v in _read("linkage").variables}
    rows = variables["matrix"].initial
    assert [[number.value for number in row] for row in rows] == [[1, 2, 3], [-4, 5, 6]]
    assert [n.value for n in variables["coefficients"].initial] == [1.0, -2.0, 1500.0, 2.5]
    assert [n.kind for n in variables["coefficients"].initial] == ["f32", "f32", "f64", "f64"]
    assert [n.value for n in variables["doubles"].initial] == [1.0, -1.0, 3.0]
    assert variables["addresses"].initial == (
        Sum(Name("matrix"), generic=True),
        Sum(Name("matrix"), 8, generic=True),
        Name("coefficients"),
        Sum(Name("name"), 1),
    )
    assert variables["low"].initial == (
        Sum(Name("name"), mask=0xFF),
        Sum(Name("name"), mask=0xFF00),
        Sum(Name("name"), 4, generic=True, mask=0xFF0000),
        Sum(Name("name"), 1, mask=0xFF000000),
    )
    assert variables["sampler"].initial == (Name("addr_mode_0 = clamp_to_border"), Name("filter_mode = nearest"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("-7/2", -3),
        ("-7 % 3", -1),
        ("0x10U", 16),
        ("017", 15),
        ("0b101", 5),
        ("1<<4|1", 17),
        ("~0", 2**64 - 1),
        ("-1", -1),
        ("- 1 - 1", -2),
        ("0xFFFFFFFFFFFFFFFF", 2**64 - 1),
        ("0x7fffffffffffffff + 1", -(2**63)),
        ("-1 < 0", 1),
        ("-1 < 0U", 0),
        ("!3", 0),
        ("2 > 1 ? 5 : 6", 5),
        ("1 && 0 || 1", 1),
        ("(.s64) 3.9", 3),
        ("(.u64) -1", 2**64 - 1),
        ("WARP_SZ * 2", 64),
        ("-8 >> 1", -4),
        ("1 << 64", 0),
        ("3 != 3", 0),
        ("6 ^ 3 & 1", 7),
    ],
)
def test_constant_expressions(text: str, value: int) -> None:
    number = _initial(text)
    assert isinstance(number, Number)
    assert (number.kind, number.value) == ("int", value)
    assert number.bits == value % 2**64


@pytest.mark.parametrize(
    ("text", "kind", "value", "bits"),
    [
        ("0f3F800000", "f32", 1.0, 0x3F800000),
        ("0F3f800000", "f32", 1.0, 0x3F800000),
        ("-0f3F800000", "f32", -1.0, 0xBF800000),
        ("0fFF800000", "f32", -math.inf, 0xFF800000),
        ("0d3FF8000000000000", "f64", 1.5, 0x3FF8000000000000),
        ("-0D3FF8000000000000", "f64", -1.5, 0xBFF8000000000000),
        ("1.5e3", "f64", 1500.0, 0x4097700000000000),
        ("2e-1", "f64", 0.2, 0x3FC999999999999A),
        ("-1.0", "f64", -1.0, 0xBFF0000000000000),
        ("1.5 + 2", "f64", 3.5, 0x400C000000000000),
    ],
)
def test_float_literals(text: str, kind: str, value: float, bits: int) -> None:
    assert _operand(text) == Number(text.replace(" ", ""), kind, value, bits)


def test_a_nan_keeps_its_bits() -> None:
    number = _operand("0f7FC12345")
    assert isinstance(number, Number)
    assert math.isnan(number.value)
    assert number.bits == 0x7FC12345


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("%r2", Name("%r2")),
        ("%tid.x", Name("%tid.x")),
        ("_", Name("_")),
        ("$L__BB0_1", Name("$L__BB0_1")),
        ("%r2|%p1", Pair(Name("%r2"), Name("%p1"))),
        ("{%f1, %f2}|%p1", Pair(Vector((Name("%f1"), Name("%f2"))), Name("%p1"))),
        ("!%p1", Not(Name("%p1"))),
        ("-%r2.b0", Sum(Name("%r2.b0"), 0, -1)),
        ("{%r2, _, 0}", Vector((Name("%r2"), Name("_"), Number("0", "int", 0)))),
        ("table+16", Sum(Name("table"), 16)),
        ("table + -2*8", Sum(Name("table"), -16)),
        ("table[3]", Element(Name("table"), Number("3", "int", 3, 3))),
        ("[%rd1]", Address(Name("%rd1"))),
        ("[ %rd1 + 4 * 4 - 8 ]", Address(Name("%rd1"), 8)),
        ("[%rd1+-16]", Address(Name("%rd1"), -16)),
        ("[%rd1+%rd2]", Address(Name("%rd1"), 0, Name("%rd2"))),
        ("[param+0]", Address(Name("param"), 0)),
        ("[16]", Address(Number("16", "int", 16, 16))),
        ("[map, {%r1, %r2}]", Address(Name("map"), 0, None, (Vector((Name("%r1"), Name("%r2"))),))),
        ("[tex, smp, {%f1}]", Address(Name("tex"), 0, None, (Name("smp"), Vector((Name("%f1"),))))),
        ("WARP_SZ", Number("WARP_SZ", "int", 32, 32)),
    ],
)
def test_operands(text: str, operand: Operand) -> None:
    assert _operand(text) == operand
    assert _operand(str(operand)) == operand


def test_guards() -> None:
    assert _instruction("@%p1 ret;").guard == Guard("%p1")
    assert _instruction("@ ! %p1 ret;").guard == Guard("%p1", negated=True)
    assert _instruction("ret;").guard is None


def test_opcode_place_and_first_word() -> None:
    instruction = _instruction("@!%p1\tfma.rn.f32 %f1, %f2, %f3, %f4;")
    assert (instruction.opcode, instruction.name) == ("fma.rn.f32", "fma")
    assert (instruction.line, instruction.column) == (1, 18)
    assert len(instruction.operands) == 4


def test_opcode_in_several_words() -> None:
    instruction = _instruction("ld .global\t.v2 .f32 %f1, [%rd1];")
    assert instruction.opcode == "ld.global.v2.f32"
    assert str(instruction) == " ld .global\t.v2 .f32 %f1, [%rd1];"


def test_calls() -> None:
    assert _instruction("call.uni (result), %rd1, (%r1, 3), prototype;").operands == (
        Parens((Name("result"),)), Name("%rd1"), Parens((Name("%r1"), Number("3", "int", 3, 3))), Name("prototype"),
    )  # fmt: skip
    assert _instruction("call f;").operands == (Name("f"),)


def test_kernel_parameters_and_directives() -> None:
    module = _read("kernels")
    assert [kernel.name for kernel in module.kernels] == ["nothing", "empty", "shaped"]
    assert module.kernels[0].params == ()
    assert module.kernels[1].directives == {"maxnreg": ("64",)}
    shaped = module.kernels[2]
    assert [(p.name, p.type, p.shape, p.align, p.vector, p.attributes) for p in shaped.params] == [
        ("in", "u64", (), 0, 1, (".ptr", ".global", ".align 16")),
        ("pack", "b8", (24,), 8, 1, ()),
        ("window", "u32", (), 0, 1, (".ptr", ".shared")),
        ("color", "f32", (), 0, 4, ()),
        ("descriptor", "b8", (128,), 64, 1, ()),
    ]
    assert shaped.linkage == "visible"
    assert shaped.directives == {
        "maxntid": ("128", "2", "1"),
        "minnctapersm": ("2",),
        "explicitcluster": (),
        "reqnctapercluster": ("2", "1", "1"),
        "maxclusterrank": ("8",),
        "pragma": ('"nounroll"',),
    }


def test_functions() -> None:
    functions = {f.name: f for f in _read("linkage").functions}
    assert functions["vprintf"].body is None
    assert (functions["vprintf"].kind, functions["vprintf"].linkage) == ("func", "extern")
    assert [p.name for p in functions["vprintf"].returns] == ["status"]
    assert [p.name for p in functions["vprintf"].params] == ["format", "arguments"]
    assert functions["ended"].directives == {"noreturn": ()}
    assert [(p.space, p.type) for p in functions["thing"].params] == [("reg", "u32"), ("reg", "pred")]
    assert functions["thing"].directives == {"abi_preserve": ("4",)}
    assert functions["tagged"].directives == {"attribute": (".unified(1,2)",)}
    assert [i.opcode for i in functions["thing"].instructions()] == ["add.u32", "ret"]


def test_body_statements() -> None:
    body = _read("kernels").kernels[2].body
    assert body is not None
    first = body.statements[0]
    assert isinstance(first, Declaration)
    assert [(v.name, v.count) for v in first.variables] == [("%p", 4), ("%q", 0)]
    labels = [s.name for s in body.statements if isinstance(s, Label)]
    assert labels == ["$loop", "again", "%label", "$done"]
    directives = {s.label or s.name: s.words for s in body.statements if isinstance(s, Directive)}
    assert directives["table"] == ("$loop", "again", "$done")
    assert directives["targets"] == ("one", "two")
    where = "1 21 5 function_name $L__info_string0 + 7 inlined_at 1 20 3"
    assert directives["loc"] == tuple(where.split())
    (nested,) = [s for s in body.statements if isinstance(s, Block)]
    assert [type(s) for s in nested.statements] == [Declaration, Block, Instruction]


def test_nodes_without_tokens_print_as_ptx() -> None:
    text = ".version 8.0\n.entry k\n{\n\tret;\n}"
    module = parse(text)
    kernel = module.kernels[0]
    made = Instruction(Guard("%p1", negated=True), "add.s32", (Name("%r1"), Name("%r2"), Number("-1", "int", -1)))
    body = Block((made, Instruction(None, "ret", ())))
    assert str(replace(kernel, body=body)) == "\n.entry k{@!%p1 add.s32 %r1, %r2, -1;ret;\n}"
    assert isinstance(kernel, Function)
    assert str(module) == text

"""The LLVM IR that rules are translated to, as text."""

from __future__ import annotations

import pytest

ir = pytest.importorskip("ptxlab.emulate.jit.translation.ir", reason="needs llvmlite", exc_type=ImportError)
I1, I32 = ir.number(1), ir.number(32)


def test_types_are_one_object_each() -> None:
    lanes = ir.vector(I32, 32)
    assert ir.number(32) is I32
    assert ir.vector(I32, 32) is lanes
    assert (lanes.text, ir.array(I32, 4).text, ir.struct(I32, ir.PTR).text) == ("<32 x i32>", "[4 x i32]", "{i32, ptr}")


def test_constants() -> None:
    lanes = ir.vector(I32, 2)
    assert ir.Constant(I32, -1).typed == "i32 -1"
    assert ir.Constant(I1, True).typed == "i1 1"
    assert ir.Constant(lanes, 7).typed == "<2 x i32> splat (i32 7)"
    assert ir.Constant(lanes, [3, 4]).typed == "<2 x i32> <i32 3, i32 4>"


def test_a_function_with_a_loop() -> None:
    function = ir.Function(I32, [I32], "some.rule", ["n"])
    start, again, after = (function.block(name) for name in ("start", "again", "after"))
    b = ir.Builder(function, start)
    b.go(again)
    b.at(again)
    left = b.phi(I32)
    fewer = b.binary("sub", left, ir.Constant(I32, 1))
    left.comes(function.arguments[0], start)
    left.comes(fewer, again)
    b.branch(b.compare(">", fewer, ir.Constant(I32, 0), signed=True), again, after)
    b.at(after)
    b.give(fewer)
    assert all(block.ended for block in function.blocks)
    assert (
        str(function)
        == """define internal i32 @"some.rule"(i32 %n.given)  {
start.1:
  br label %again.2
again.2:
  %.4 = phi i32 [%n.given, %start.1], [%.5, %again.2]
  %.5 = sub i32 %.4, 1
  %.6 = icmp sgt i32 %.5, 0
  br i1 %.6, label %again.2, label %after.3
after.3:
  ret i32 %.5
}"""
    )


def test_a_function_without_blocks_is_declared() -> None:
    assert str(ir.Function(ir.VOID, [ir.PTR, I1], "elsewhere", ["p", "c"])) == 'declare void @"elsewhere"(ptr, i1)'


def test_a_conversion_to_the_same_type_is_nothing() -> None:
    function = ir.Function(ir.VOID, [I32], "f", ["n"])
    b = ir.Builder(function, function.block("start"))
    assert b.convert("zext", function.arguments[0], I32) is function.arguments[0]
    assert not b.here.lines

"""Structured control flow in emitted LLVM IR: each function is compiled and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

pytest.importorskip("llvmlite")

from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native.compile import build as built
from ptxlab.emulate.language import Array, Record, Ref, array, boolean, u32, u64


def results(write: Callable[[Text], str], given: range = range(5)) -> list[int]:
    """What `f(x)` returns for some x; `write` emits its body and gives the value. Faults return -1."""
    t = Text()
    value = write(t)
    lines = ["define i32 @f(i32 %x) {", "entry:", "  %room = alloca i32", "  store i32 0, ptr %room", *t.lines]
    text = "\n".join(
        ['!0 = !{!"branch_weights", i32 2000, i32 1}', *lines, f"  ret i32 {value}", "fault:", "  ret i32 -1", "}"]
    )
    code = native.load([built(text, native.host(), 0)], native.host())
    f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(code.address("f"))
    return [f(x) for x in given]


def is_two(t: Text) -> str:
    return t.eq("i32", "%x", 2)


def test_if_then() -> None:
    def write(t: Text) -> str:
        with t.if_then(is_two(t)):
            t.store("i32", 7, "%room")
        return t.load("i32", "%room")

    assert results(write) == [0, 0, 7, 0, 0]


def test_unless_and_a_way_out() -> None:
    def write(t: Text) -> str:
        with t.unless(is_two(t), cold=True):
            t.store("i32", 7, "%room")
        with t.if_then(t.eq("i32", "%x", 3), to="fault"):
            t.store("i32", 8, "%room")
        return t.load("i32", "%room")

    assert results(write) == [7, 7, 0, -1, 7]


def test_if_else_within_if_then() -> None:
    def write(t: Text) -> str:
        with t.if_then(t.ult("i32", "%x", 3)):
            with t.if_else(is_two(t)) as (yes, no):
                with yes:
                    t.store("i32", 1, "%room")
                with no:
                    t.store("i32", 2, "%room")
        return t.load("i32", "%room")

    assert results(write) == [2, 2, 1, 0, 0]


def test_ends_if() -> None:
    def write(t: Text) -> str:
        with t.ends_if(is_two(t)):
            t.ret("i32", 5)
        with t.ends_unless(t.ult("i32", "%x", 4)):
            t.ret("i32", 6)
        t.fault_unless(t.ne("i32", "%x", 1))
        t.fault_if(t.eq("i32", "%x", 0))
        return "9"

    assert results(write) == [-1, -1, 5, 9, 6]


def test_switch() -> None:
    """An arm may have blocks of its own: its results come from the last of them."""

    def write(t: Text) -> str:
        switch = t.switch("%x", {"low": (0, 1), "two": (2,), "other": ()})
        with switch.arm("low") as found:
            found += [t.add("i32", "%x", 10), "1"]
        with switch.arm("two") as found:
            with t.if_then(is_two(t)):
                t.store("i32", 3, "%room")
            found += ["20", t.load("i32", "%room")]
        with switch.arm("other") as found:
            found += ["30", "4"]
        switch.end()
        first, second = switch.phi("i32"), switch.phi("i32")
        return t.add("i32", t.mul("i32", first, 10), second)

    assert results(write) == [101, 111, 203, 304, 304]


def test_instructions() -> None:
    def write(t: Text) -> str:
        row = t.insert("<4 x i32>", "zeroinitializer", "i32", "%x", 1)
        turned = t.shuffle("<4 x i32>", row, [1, 0, 3, 2])
        there = t.element("i32", "%room", 0)
        t.store("i32", t.extract("<4 x i32>", turned, 0), there, align=4)
        t.bump(there, t.shl, "i32", 2)
        wide = t.zext("i32", t.load("i32", there, align=4), "i64")
        return t.select(t.ugt("i32", "%x", 2), "i32", t.trunc("i64", t.sub("i64", wide, 1), "i32"), -7)

    assert results(write) == [-7, -7, -7, 11, 15]


class Inner(Record):
    small: u32
    flag: boolean


class Outer(Record):
    first: u64
    inner: Inner
    numbers: Array[u32] = array(3)
    other: Ref[Inner]


def test_fields() -> None:
    def write(t: Text) -> str:
        t.alloca(f"[{Outer.size} x i8]", align=8, name="%record")
        t.put(Outer, "inner.small", "%x", "%record")
        t.put(Outer, "numbers.2", 40, "%record")
        t.put(Outer, "other", t.field(Outer, "inner", "%record"), "%record")
        inner = t.get(Outer, "other", "%record")
        t.put(Inner, "flag", 1, inner)
        flag = t.zext("i8", t.get(Outer, "inner.flag", "%record"), "i32")
        both = t.add("i32", t.get(Inner, "small", inner), t.get(Outer, "numbers.2", "%record"))
        return t.add("i32", both, t.mul("i32", flag, 100))

    assert results(write) == [140, 141, 142, 143, 144]

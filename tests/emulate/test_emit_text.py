"""Structured control flow in emitted LLVM IR: each function is compiled and called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

pytest.importorskip("llvmlite")

from ptxlab.emulate.jit.llvm.ir_text import Text
from ptxlab.emulate.jit.native import code as native
from ptxlab.emulate.jit.native.compile import build as built


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
    return t.let("icmp eq i32 %x, 2")


def test_if_then() -> None:
    def write(t: Text) -> str:
        with t.if_then(is_two(t)):
            t.do("store i32 7, ptr %room")
        return t.let("load i32, ptr %room")

    assert results(write) == [0, 0, 7, 0, 0]


def test_unless_and_a_way_out() -> None:
    def write(t: Text) -> str:
        with t.unless(is_two(t), cold=True):
            t.do("store i32 7, ptr %room")
        with t.if_then(t.let("icmp eq i32 %x, 3"), to="fault"):
            t.do("store i32 8, ptr %room")
        return t.let("load i32, ptr %room")

    assert results(write) == [7, 7, 0, -1, 7]


def test_if_else_within_if_then() -> None:
    def write(t: Text) -> str:
        with t.if_then(t.let("icmp ult i32 %x, 3")):
            with t.if_else(is_two(t)) as (yes, no):
                with yes:
                    t.do("store i32 1, ptr %room")
                with no:
                    t.do("store i32 2, ptr %room")
        return t.let("load i32, ptr %room")

    assert results(write) == [2, 2, 1, 0, 0]


def test_ends_if() -> None:
    def write(t: Text) -> str:
        with t.ends_if(is_two(t)):
            t.do("ret i32 5")
        with t.ends_unless(t.let("icmp ult i32 %x, 4")):
            t.do("ret i32 6")
        t.fault_unless(t.let("icmp ne i32 %x, 1"))
        t.fault_if(t.let("icmp eq i32 %x, 0"))
        return "9"

    assert results(write) == [-1, -1, 5, 9, 6]


def test_switch() -> None:
    """An arm may have blocks of its own: its results come from the last of them."""

    def write(t: Text) -> str:
        switch = t.switch("%x", {"low": (0, 1), "two": (2,), "other": ()})
        with switch.arm("low") as found:
            found += [t.let("add i32 %x, 10"), "1"]
        with switch.arm("two") as found:
            with t.if_then(is_two(t)):
                t.do("store i32 3, ptr %room")
            found += ["20", t.let("load i32, ptr %room")]
        with switch.arm("other") as found:
            found += ["30", "4"]
        switch.end()
        first, second = switch.phi("i32"), switch.phi("i32")
        return t.let(f"add i32 {t.let(f'mul i32 {first}, 10')}, {second}")

    assert results(write) == [101, 111, 203, 304, 304]

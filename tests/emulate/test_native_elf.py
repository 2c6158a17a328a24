"""Object code that is brought into memory without LLVM does what it does when LLVM loads it."""

from __future__ import annotations

import ctypes
import gc
import platform
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.native import code, compile, elf, llvm_thread
from ptxlab.emulate.runtime import disk_cache

LOADED = (sys.platform, platform.machine()) == ("linux", "x86_64")
here = pytest.mark.skipif(not LOADED, reason="LLVM loads code on this computer")

CHOICE = """@names = internal constant [3 x ptr] [ptr @one, ptr @two, ptr @three]
@ten = internal constant <4 x i32> <i32 10, i32 20, i32 30, i32 40>
declare i32 @elsewhere(i32)
define internal i32 @one(i32 %x) noinline nounwind { ret i32 1 }
define internal i32 @two(i32 %x) noinline nounwind { %y = mul i32 %x, 2 ret i32 %y }
define internal i32 @three(i32 %x) noinline nounwind { %y = call i32 @elsewhere(i32 %x) ret i32 %y }
define i32 @choice(i32 %which, i32 %x) nounwind {
  switch i32 %which, label %other [i32 10, label %a i32 11, label %b i32 12, label %c i32 13, label %d i32 14, label %e]
a: ret i32 100
b: ret i32 7
c: ret i32 -9
d: ret i32 55
e: ret i32 63
other:
  %at = getelementptr ptr, ptr @names, i32 %which
  %function = load ptr, ptr %at
  %found = call i32 %function(i32 %x)
  %four = load volatile <4 x i32>, ptr @ten
  %k = and i32 %x, 3
  %more = extractelement <4 x i32> %four, i32 %k
  %sum = add i32 %found, %more
  ret i32 %sum
}"""
ELSEWHERE = """declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @elsewhere(i32 %count) nounwind {
  %room = alloca [64 x i8]
  store i32 0, ptr %room
  %n = zext i32 %count to i64
  call void @llvm.memset.p0.i64(ptr %room, i8 1, i64 %n, i1 false)
  %found = load i32, ptr %room
  ret i32 %found
}"""
COUNTS = """@count = internal global i32 5
define i32 @choice(i32 %which, i32 %x) nounwind {
  %now = load i32, ptr @count
  %more = add i32 %now, %x
  store i32 %more, ptr @count
  ret i32 %more
}"""
UNKNOWN = """declare i32 @there_is_no_such_function()
define i32 @choice(i32 %which, i32 %x) nounwind {
  %found = call i32 @there_is_no_such_function()
  ret i32 %found
}"""


def built(*texts: str, level: int = 0) -> list[bytes]:
    """Object code of each."""
    return [llvm_thread.begin(compile.build, text, code.host(), level)() for text in texts]


def choice(made: code.Code, which: int, x: int) -> int:
    """A call of the function of that name."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)(made.address("choice"))(which, x))


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("by_llvm", [False, True])
def test_files_that_call_each_other_and_the_c_library(
    level: int, by_llvm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = built(CHOICE, ELSEWHERE, level=level)
    if by_llvm:
        monkeypatch.setattr(elf, "placed", lambda blobs: None)
        assert elf.placed(blobs) is None
    made = code.load(blobs, code.host())
    assert [choice(made, 0, 1), choice(made, 1, 6), choice(made, 2, 3)] == [1 + 20, 12 + 30, 0x010101 + 40]
    assert [choice(made, which, 0) for which in range(10, 15)] == [100, 7, -9, 55, 63]


@here
def test_code_of_a_kernel_is_loaded_without_llvm() -> None:
    placed = elf.placed(built(ELSEWHERE))
    assert placed is not None
    assert list(placed.addresses) == ["elsewhere"]


@here
@pytest.mark.parametrize("text", [COUNTS, COUNTS.replace("global", "thread_local global"), UNKNOWN])
def test_what_llvm_has_to_load(text: str) -> None:
    """Variables, and functions that are nowhere."""
    assert elf.placed(built(text)) is None
    assert elf.placed([b"no code at all"]) is None


def test_variables_are_loaded_by_llvm() -> None:
    made = code.load(built(COUNTS), code.host())
    assert [choice(made, 0, 1), choice(made, 0, 10)] == [6, 16]


@here
def test_memory_is_given_back() -> None:
    def executable(addresses: set[int]) -> int:
        """How many of them lie in memory that holds code."""
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
        ranges = [[int(end, 16) for end in line[0].split("-")] for line in lines if line[1] == "r-xp"]
        return sum(any(first <= address < end for first, end in ranges) for address in addresses)

    blobs = built(ELSEWHERE)
    many = [code.load(blobs, code.host()) for _ in range(50)]
    addresses = {each.address("elsewhere") for each in many}
    assert executable(addresses) == len(addresses) == 50
    many.clear()
    gc.collect()
    assert executable(addresses) < 10  # code that is built in the background may have got some of the room


def test_the_cpu_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what Linux says of it: another computer that shares the folder has an entry of its own."""
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    disk_cache.folder.cache_clear()
    ask = code.host.__wrapped__
    try:
        known = ask()
        entries = [entry.name for entry in (tmp_path / "code").iterdir()]
        assert len(entries) == (sys.platform == "linux")
        assert ask() == known
        monkeypatch.setattr(code, "_processor", lambda: "another one")
        assert ask() == known
        assert len(list((tmp_path / "code").iterdir())) == len(entries) + 1
        disk_cache.remember(entries[0], {"name": "one of 1999", "features": "+sse"}, b"")
        monkeypatch.undo()
    finally:
        disk_cache.folder.cache_clear()


def test_sections_lie_where_vectors_may_be_loaded() -> None:
    """Constants of 64 bytes are loaded as aligned ones."""
    text = """@wide = internal constant <16 x i32> <{}>
define void @put(ptr %to) nounwind {{
  %found = load volatile <16 x i32>, ptr @wide, align 64
  store <16 x i32> %found, ptr %to, align 4
  ret void
}}""".format(", ".join(f"i32 {n}" for n in range(16)))
    made, out = code.load(built(text), code.host()), np.zeros(16, np.int32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(made.address("put"))(out.ctypes.data)
    assert out.tolist() == list(range(16))

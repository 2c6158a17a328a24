"""LLVM's functions that load code are called as llvmlite calls them."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

llvm: Any = pytest.importorskip("llvmlite.binding", reason="needs llvmlite", exc_type=ImportError)

from ptxlab.emulate.jit.native import compile, library, llvm_thread  # noqa: E402
from ptxlab.emulate.jit.native.code import Cpu, host  # noqa: E402

TWICE = """define i32 @twice(i32 %x) {
  %y = add i32 %x, %x
  ret i32 %y
}"""
CALLS = """declare i32 @twice(i32)
define i32 @four_times(i32 %x) {
  %y = call i32 @twice(i32 %x)
  %z = call i32 @twice(i32 %y)
  ret i32 %z
}"""

HOLDS_THE_GIL = 4
"""The flag of functions of a `ctypes.PyDLL`."""


def same(declared: Any, here: Any) -> bool:
    """Whether two types are passed in the same way: a pointer to anything is one."""
    if declared is None or here is None:
        return declared is here
    pointer = here in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(here, "contents")
    if pointer:
        return declared in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(declared, "contents")
    return declared is here


def test_functions_are_declared_as_llvmlite_declares_them() -> None:
    for name, (result, *arguments) in library.FUNCTIONS.items():
        declared = getattr(llvm.ffi.lib, f"LLVMPY_{name}")
        if declared.argtypes is None:  # it takes none, or a string of its own
            assert len(arguments) <= 1, name
        else:
            assert len(declared.argtypes) == len(arguments), name
            assert all(map(same, declared.argtypes, arguments)), name
        if result is not None:  # of functions without a result llvmlite says nothing
            assert same(declared.restype, result), name


def test_this_version_of_llvmlite_is_known() -> None:
    """Else each process imports all of `llvmlite.binding`: compare its functions, and add the version."""
    import llvmlite

    assert llvmlite.__version__.startswith(library.KNOWN)


@pytest.mark.parametrize("known", [library.KNOWN, ()], ids=["by itself", "by way of llvmlite"])
def test_code_is_loaded_and_called(known: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "KNOWN", known)

    def work() -> list[int]:
        loader, cpu = library.Library(), host()
        held = {name for name in library.FUNCTIONS if getattr(loader, name)._flags_ & HOLDS_THE_GIL}
        assert held == (set(library.FUNCTIONS) - library.LONG if known else set())
        assert loader.host() == (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
        blobs = [compile.build(text, cpu, 0) for text in (TWICE, CALLS)]
        engine, context = loader.load(blobs, cpu.name, cpu.features)
        address = loader.GetFunctionAddress(engine, b"four_times")
        function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(address)
        found = [function(x) for x in (0, 3, -5)]
        assert loader.GetFunctionAddress(engine, b"three_times") == 0
        loader.unload(engine, context)
        return found

    assert llvm_thread.begin(work)() == [0, 12, -20]


def test_what_cannot_be_loaded_is_an_error() -> None:
    def work() -> None:
        cpu: Cpu = host()
        with pytest.raises(RuntimeError, match="does not read this object code"):
            library.library().load([b"no code at all"], cpu.name, cpu.features)
        with pytest.raises(RuntimeError, match="target"):
            library.library().made("GetTargetFromTriple", b"nothing-of-this-kind")

    llvm_thread.begin(work)()

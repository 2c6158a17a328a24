"""Machine code: LLVM IR compiled and loaded by `llvmlite.binding`, the CPU that it is for, its name in the cache.

The main thread never calls LLVM (see `llvm_thread`), and what LLVM has made is freed in the thread that made it, not
when Python's collector comes by.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import platform
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import llvmlite
import llvmlite.binding as llvm

from ptxlab.emulate.jit.native import llvm_thread
from ptxlab.emulate.runtime import disk_cache


class Cpu(NamedTuple):
    """The CPU that code is compiled for: LLVM's name of it and its feature string."""

    name: str
    features: str

    @property
    def without_halves(self) -> bool:
        """Whether it is an x86 CPU that is not known to have F16C; LLVM then calls functions to convert halves."""
        return platform.machine().lower() in ("x86_64", "amd64", "i686") and "+f16c" not in self.features

    @property
    def wide(self) -> bool:
        return "+avx512f" in self.features


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def host() -> Cpu:
    return llvm_thread.begin(_host)()


def _host() -> Cpu:
    _initialize()
    features = dict(sorted(llvm.get_host_cpu_features().items()))
    return Cpu(llvm.get_host_cpu_name(), ",".join(f"{'+' if has else '-'}{name}" for name, has in features.items()))


def _machine(cpu: Cpu, level: int = 0) -> Any:
    """A target machine for code that is loaded. level: how hard code generation tries."""
    _initialize()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu.name, features=cpu.features, opt=level, jit=True)


def build(text: str, cpu: Cpu, level: int, passes: Literal["", "sroa", "all"] = "") -> Callable[[], bytes]:
    """Begins to build object code of an LLVM module's text; what is given back waits for it. level: how hard code
    generation tries. passes: before that, locals become values, or all passes of that level run."""
    return llvm_thread.begin(_build, text, cpu, level, passes)


def _build(text: str, cpu: Cpu, level: int, passes: str) -> bytes:
    with contextlib.ExitStack() as stack:
        machine = stack.enter_context(contextlib.closing(_machine(cpu, level)))
        context = stack.enter_context(contextlib.closing(llvm.create_context()))
        module = stack.enter_context(contextlib.closing(llvm.parse_assembly(text, context)))
        if passes:
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            options = stack.enter_context(contextlib.closing(llvm.create_pipeline_tuning_options(level)))
            builder = stack.enter_context(contextlib.closing(llvm.create_pass_builder(machine, options)))
            if passes == "all":
                manager = builder.getModulePassManager()
            else:
                manager = llvm.create_new_module_pass_manager()
                manager.add_sroa_pass()
            stack.enter_context(contextlib.closing(manager)).run(module, builder)
        code: bytes = machine.emit_object(module)
        return code


class Code:
    """Machine code loaded from object files that call each other: `address(name)` of a function."""

    def __init__(self, blobs: Sequence[bytes], cpu: Cpu) -> None:
        self._engine = llvm_thread.begin(_load, blobs, cpu)()
        self._addresses: dict[str, int] = {}
        # Freed in LLVM's thread, and not by a garbage collection or an interrupt of one in the main thread.
        weakref.finalize(self, llvm_thread.soon, self._engine.close).atexit = False

    def address(self, name: str) -> int:
        if name not in self._addresses:
            self._addresses[name] = llvm_thread.begin(self._engine.get_function_address, name)()
        return self._addresses[name]

    @functools.cached_property
    def grid(self) -> Callable[[int], int]:
        """The function that runs a worker, given the address of its context."""
        return _RUNS(self.address("grid"))


_RUNS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def _load(blobs: Sequence[bytes], cpu: Cpu) -> Any:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(cpu))
    for blob in blobs:
        engine.add_object_file(llvm.ObjectFileRef.from_data(blob))
    engine.finalize_object()
    return engine


def key(text: str, name: str, arch: str, cpu: Cpu, what: str) -> str:
    """The name of the cache entry of compiled code, from all that the code depends on: the PTX without comments and
    line information, the kernel's name and target, the CPU and its features, llvmlite's version, this package's
    sources."""
    return disk_cache.key(text, name, arch, cpu.name, cpu.features, llvmlite.__version__, what)

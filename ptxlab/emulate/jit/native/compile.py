"""LLVM IR to machine code through llvmlite, cached on disk by content.

The name of a cache entry is made of everything that the code depends on: the PTX without comments and line information,
the kernel's name and target, the CPU and its features, llvmlite's version, and this package's own sources.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ptxlab.emulate.jit.native.llvm_thread import soon, uninterrupted
from ptxlab.emulate.runtime import disk_cache


@dataclass(frozen=True)
class Cpu:
    """The CPU that code is compiled for: LLVM's name of it and its feature string."""

    name: str
    features: str

    @property
    def without_halves(self) -> bool:
        """Whether it is an x86 CPU that is not known to have F16C; LLVM then calls functions to convert halves."""
        return platform.machine().lower() in ("x86_64", "amd64", "i686") and "+f16c" not in self.features

    @property
    def wide(self) -> bool:
        """Whether it has 512-bit vectors."""
        return "+avx512f" in self.features


@functools.cache
@uninterrupted
def host() -> Cpu:
    """The CPU this runs on."""
    _initialize()
    return known(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


def known(name: str, features: str) -> Cpu:
    """A CPU with what is quick on it: `vdpbf16ps` is on AMD's, on Intel's it takes longer than two multiply-adds of 16
    numbers (`docs/design/speed.md` has the times of an Emerald Rapids)."""
    return Cpu(name, features if name.startswith("znver") else features.replace("+avx512bf16", "-avx512bf16"))


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class Code:
    """Loaded machine code: `address(name)` of a function."""

    def __init__(self, blobs: Sequence[bytes], machine: Any) -> None:
        context = llvm.create_context()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly("", context=context), machine)
        for blob in blobs:
            engine.add_object_file(llvm.ObjectFileRef.from_data(blob))
        engine.finalize_object()
        self._engine = engine
        self._addresses: dict[str, int] = {}
        # Held here, so that neither a garbage collection nor an interrupt in one frees them in the main thread.
        _loaded[id(engine)] = engine, context
        weakref.finalize(self, soon, functools.partial(_unload, id(engine))).atexit = False

    def address(self, name: str) -> int:
        """The address of an exported function."""
        if name not in self._addresses:
            self._addresses[name] = self._found(name)
        return self._addresses[name]

    @functools.cached_property
    def grid(self) -> Callable[[int], int]:
        """The function that runs a worker, given the address of its context."""
        return _RUNS(self.address("grid"))

    @uninterrupted
    def _found(self, name: str) -> int:
        return int(self._engine.get_function_address(name))


_RUNS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_loaded: dict[int, tuple[Any, Any]] = {}
"""The engine of each loaded code by its id, and the context that its module lives in."""


def _unload(engine: int) -> None:
    """Frees an engine, and then its context."""
    _dispose(*_loaded.pop(engine))


def _dispose(*parts: Any) -> None:
    """Frees LLVM objects in order."""
    for part in parts:
        part.close()


def machine_for(cpu: Cpu, level: int = 0) -> Any:
    """A target machine; one is needed for each piece of loaded code. level: how hard code generation tries."""
    _initialize()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=level, cpu=cpu.name, features=cpu.features, jit=True)


def build(text: str, cpu: Cpu, level: int, ready: Callable[[], None] = lambda: None) -> bytes:
    """Object code of an LLVM module's text. May run in several threads, as each module has a context of its own, but
    not in the main thread. Calls `ready` when only LLVM's own work is left, or none."""
    try:
        context, machine = llvm.create_context(), machine_for(cpu, level)
        module = parsed(text, context)
        from ptxlab.emulate.jit.llvm.irtext import KEPT

        if f"%{KEPT}" in text:
            _values_of_locals(module, machine)
    finally:
        ready()
    blob = object_code(module, machine)
    _dispose(module, machine, context)
    return blob


def _unlocked(name: str) -> Callable[..., Any]:
    """A function of LLVM without llvmlite's lock, for calls that take long: LLVM's functions may be called in several
    threads at once, as long as these share no context."""
    function: Callable[..., Any] = getattr(llvm.ffi.lib, name)
    unlocked: Callable[..., Any] = getattr(function, "_cfn", function)
    return unlocked


def parsed(text: str, context: Any) -> Any:
    """What `llvm.parse_assembly` does."""
    with llvm.ffi.OutputString() as error:
        module = llvm.ModuleRef(_unlocked("LLVMPY_ParseAssembly")(context, text.encode(), error), context)
        if error:
            module.close()
            raise RuntimeError(f"LLVM IR parsing error\n{error}")
    return module


def object_code(module: Any, machine: Any) -> bytes:
    """What `machine.emit_object` does."""
    lib = llvm.ffi.lib
    with llvm.ffi.OutputString() as error:
        made = _unlocked("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not made:
            raise RuntimeError(str(error))
    try:
        return ctypes.string_at(lib.LLVMPY_GetBufferStart(made), lib.LLVMPY_GetBufferSize(made))
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(made)


def _values_of_locals(module: Any, machine: Any) -> None:
    """LLVM's pass that makes values of locals."""
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    passes, manager = llvm.create_pass_builder(machine, options), llvm.create_new_module_pass_manager()
    manager.add_sroa_pass()
    manager.run(module, passes)
    _dispose(manager, passes, options)


@uninterrupted
def load(blobs: Sequence[bytes], cpu: Cpu) -> Code:
    """Object code whose parts call each other, ready to be called."""
    return Code(blobs, machine_for(cpu))


def key(text: str, name: str, arch: str, cpu: Cpu, what: str) -> str:
    """The name of the cache entry of compiled code."""
    return disk_cache.key(text, name, arch, cpu.name, cpu.features, llvmlite.__version__, what)

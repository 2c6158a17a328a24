"""LLVM IR to machine code, through llvmlite."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from ptxlab.emulate.jit.llvm.irtext import KEPT
from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.jit.native.library import library


def _dispose(*parts: Any) -> None:
    """Frees LLVM objects in order."""
    for part in parts:
        part.close()


def machine_for(cpu: Cpu, level: int = 0) -> Any:
    """A target machine that makes code. level: how hard code generation tries."""
    library()  # which initializes the target
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=level, cpu=cpu.name, features=cpu.features, jit=True)


def build(text: str, cpu: Cpu, level: int, ready: Callable[[], None] = lambda: None) -> bytes:
    """Object code of an LLVM module's text. May run in several threads, as each module has a context of its own, but
    not in the main thread. Calls `ready` when only LLVM's own work is left, or none."""
    try:
        context, machine = llvm.create_context(), machine_for(cpu, level)
        module = parsed(text, context)
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

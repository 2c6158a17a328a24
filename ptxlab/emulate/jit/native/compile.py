"""LLVM IR to machine code."""

from __future__ import annotations

import ctypes
from enum import Enum, auto
from typing import Any

from ptxlab.emulate.jit.native.code import Cpu
from ptxlab.emulate.jit.native.library import Library, library


class Passes(Enum):
    """What is done to a module before code is generated."""

    NONE = auto()
    VALUES_OF_LOCALS = auto()
    """Locals become values."""
    ALL = auto()
    """All of LLVM's passes, of the level that code is generated with."""


def build(text: str, cpu: Cpu, level: int, *, passes: Passes = Passes.NONE) -> bytes:
    """Object code of an LLVM module's text. level: how hard code generation tries. passes: what comes before. May run in
    several threads, as each module has a context of its own, but not in the main thread."""
    llvm = library()
    context, machine = llvm.ContextCreate(), llvm.machine(cpu.name, cpu.features, level)
    module = llvm.parsed(context, text)
    if passes is not Passes.NONE:
        _run(llvm, passes, module, machine, level)
    blob = _object_code(llvm, module, machine)
    llvm.DisposeModule(module)
    llvm.DisposeTargetMachine(machine)
    llvm.ContextDispose(context)
    return blob


def _object_code(llvm: Library, module: Any, machine: Any) -> bytes:
    made = llvm.made("TargetMachineEmitToMemory", machine, module, 1)
    try:
        return ctypes.string_at(llvm.GetBufferStart(made), llvm.GetBufferSize(made))
    finally:
        llvm.DisposeMemoryBuffer(made)


def _run(llvm: Library, passes: Passes, module: Any, machine: Any, level: int) -> None:
    """Runs passes on a module."""
    data = llvm.CreateTargetMachineData(machine)
    for setter, (_, said) in (
        ("SetTarget", llvm.text("GetTargetMachineTriple", machine)),
        ("SetDataLayout", llvm.text("CopyStringRepOfTargetData", data)),
    ):
        getattr(llvm, setter)(module, said.encode())
    llvm.DisposeTargetData(data)
    options = llvm.CreatePipelineTuningOptions()
    builder = llvm.CreatePassBuilder(machine, options)
    if passes is Passes.ALL:
        manager = llvm.buildPerModuleDefaultPipeline(builder, level)
    else:
        manager = llvm.CreateNewModulePassManager()
        llvm.module_AddSROAPass(manager)
    llvm.RunNewModulePassManager(manager, module, builder)
    llvm.DisposeNewModulePassManger(manager)
    llvm.DisposePassBuilder(builder)
    llvm.DisposePipelineTuningOptions(options)

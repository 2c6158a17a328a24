"""LLVM IR to machine code, and machine code into memory, by `llvmlite.binding`.

Nothing here may be called in the main thread (see `llvm_thread`). What LLVM has made is freed in the thread that made
it, not when Python's collector comes by.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from enum import Enum, auto
from typing import Any

import llvmlite.binding as llvm

Cpu = tuple[str, str]
"""What LLVM calls a CPU, and its features: a `code.Cpu`."""


class Passes(Enum):
    """What is done to a module before code is generated."""

    NONE = auto()
    VALUES_OF_LOCALS = auto()
    """Locals become values."""
    ALL = auto()
    """All of LLVM's passes, of the level that code is generated with."""


@functools.cache
def _initialized() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def host() -> Cpu:
    """This computer's CPU."""
    _initialized()
    features = dict(sorted(llvm.get_host_cpu_features().items()))
    return llvm.get_host_cpu_name(), ",".join(f"{'+' if has else '-'}{name}" for name, has in features.items())


def _machine(cpu: Cpu, level: int = 0) -> Any:
    """A target machine for code that is loaded. level: how hard code generation tries."""
    _initialized()
    name, features = cpu
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=level, jit=True)


def build(text: str, cpu: Cpu, level: int, *, passes: Passes = Passes.NONE) -> bytes:
    """Object code of an LLVM module's text. level: how hard code generation tries. passes: what comes before."""
    with contextlib.ExitStack() as stack:
        machine = stack.enter_context(contextlib.closing(_machine(cpu, level)))
        context = stack.enter_context(contextlib.closing(llvm.create_context()))
        module = stack.enter_context(contextlib.closing(llvm.parse_assembly(text, context)))
        if passes is not Passes.NONE:
            module.triple, module.data_layout = machine.triple, str(machine.target_data)
            options = stack.enter_context(contextlib.closing(llvm.create_pipeline_tuning_options(level)))
            builder = stack.enter_context(contextlib.closing(llvm.create_pass_builder(machine, options)))
            if passes is Passes.ALL:
                manager = builder.getModulePassManager()
            else:
                manager = llvm.create_new_module_pass_manager()
                manager.add_sroa_pass()
            stack.enter_context(contextlib.closing(manager)).run(module, builder)
        code: bytes = machine.emit_object(module)
        return code


def load(blobs: Sequence[bytes], cpu: Cpu) -> Any:
    """An engine with object code whose parts call each other."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(cpu))
    for blob in blobs:
        engine.add_object_file(llvm.ObjectFileRef.from_data(blob))
    engine.finalize_object()
    return engine

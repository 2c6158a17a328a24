"""The functions of LLVM that make code and load it, called without `llvmlite.binding`.

To import that takes three times as long as to load the library, and it takes a lock around each call, which LLVM does
not need where the calls share no context.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Sequence
from ctypes import POINTER, c_bool, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import llvmlite
from llvmlite.utils import get_library_name

from ptxlab import forks

KNOWN = ("0.50.",)
"""Versions of llvmlite whose library has the functions as they are declared here. With any other one they are called by
way of `llvmlite.binding`, which declares them itself: what does not fit is then an error, not a crash."""
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "DisposeString": (None, c_char_p),
    "GetHostCPUName": (None, POINTER(c_char_p)),
    "GetHostCPUFeatures": (c_int, POINTER(c_char_p)),
    "GetDefaultTargetTriple": (None, POINTER(c_char_p)),
    "GetTargetFromTriple": (c_void_p, c_char_p, POINTER(c_char_p)),
    "CreateTargetMachine": (
        c_void_p, c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p,
    ),
    "GetTargetMachineTriple": (None, c_void_p, POINTER(c_char_p)),
    "CreateTargetMachineData": (c_void_p, c_void_p),
    "CopyStringRepOfTargetData": (None, c_void_p, POINTER(c_char_p)),
    "DisposeTargetData": (None, c_void_p),
    "DisposeTargetMachine": (None, c_void_p),
    "TargetMachineEmitToMemory": (c_void_p, c_void_p, c_void_p, c_int, POINTER(c_char_p)),
    "GetBufferStart": (c_void_p, c_void_p),
    "GetBufferSize": (c_size_t, c_void_p),
    "DisposeMemoryBuffer": (None, c_void_p),
    "ContextCreate": (c_void_p,),
    "ContextDispose": (None, c_void_p),
    "ParseAssembly": (c_void_p, c_void_p, c_char_p, POINTER(c_char_p)),
    "DisposeModule": (None, c_void_p),
    "SetDataLayout": (None, c_void_p, c_char_p),
    "SetTarget": (None, c_void_p, c_char_p),
    "CreatePipelineTuningOptions": (c_void_p,),
    "DisposePipelineTuningOptions": (None, c_void_p),
    "CreatePassBuilder": (c_void_p, c_void_p, c_void_p),
    "DisposePassBuilder": (None, c_void_p),
    "CreateNewModulePassManager": (c_void_p,),
    "buildPerModuleDefaultPipeline": (c_void_p, c_void_p, c_int),
    "module_AddSROAPass": (None, c_void_p),
    "RunNewModulePassManager": (None, c_void_p, c_void_p, c_void_p),
    "DisposeNewModulePassManger": (None, c_void_p),
    "CreateMCJITCompiler": (c_void_p, c_void_p, c_void_p, c_bool, POINTER(c_char_p)),
    "DisposeExecutionEngine": (None, c_void_p),
    "CreateObjectFile": (c_void_p, c_char_p, c_size_t),
    "DisposeObjectFile": (None, c_void_p),
    "MCJITAddObjectFile": (None, c_void_p, c_void_p),
    "FinalizeObject": (None, c_void_p),
    "GetFunctionAddress": (c_uint64, c_void_p, c_char_p),
}  # fmt: skip
"""The type of each result, and those of its arguments."""
LONG = frozenset(
    {
        "ParseAssembly", "RunNewModulePassManager", "TargetMachineEmitToMemory", "DisposeModule", "ContextDispose",
        "MCJITAddObjectFile", "FinalizeObject",
    }
)  # fmt: skip
"""Functions that release the GIL. To acquire it again takes 5 ms where another thread computes in Python, and code is
built by a dozen calls beside these, which are over sooner than that."""


class Library:
    """Functions by their names without `LLVMPY_`."""

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}
        path = Path(llvmlite.__file__).parent / "binding" / get_library_name()
        if llvmlite.__version__.startswith(KNOWN) and path.is_file():
            long, short = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
            for name, (result, *arguments) in FUNCTIONS.items():
                function = getattr(long if name in LONG else short, f"LLVMPY_{name}")
                function.restype, function.argtypes = result, arguments
                self._functions[name] = function
        else:
            import llvmlite.binding as llvm

            for name in FUNCTIONS:
                function = getattr(llvm.ffi.lib, f"LLVMPY_{name}")
                self._functions[name] = getattr(function, "_cfn", function)  # its own have a lock around them
        self.lock = forks.lock()
        """For what must not happen twice at once."""
        self.InitializeNativeTarget()
        self.InitializeNativeAsmPrinter()

    def __getattr__(self, name: str) -> Any:
        return self._functions[name]

    def host(self) -> tuple[str, str]:
        """The name of this computer's CPU, and its features."""
        _, name = self.text("GetHostCPUName")
        _, features = self.text("GetHostCPUFeatures")
        return name, ",".join(sorted(features.split(","), key=lambda word: word[1:]))

    def text(self, name: str, *arguments: Any) -> tuple[Any, str]:
        """What a function returns, and the string that it leaves behind its last argument."""
        left = c_char_p()
        found = getattr(self, name)(*arguments, ctypes.byref(left))
        said = (left.value or b"").decode()
        if left:
            self.DisposeString(left)
        return found, said

    def made(self, name: str, *arguments: Any) -> Any:
        """What a function makes; `RuntimeError` with its own words where it makes nothing."""
        found, said = self.text(name, *arguments)
        if not found:
            raise RuntimeError(said)
        return found

    def machine(self, cpu: str, features: str, level: int = 0) -> Any:
        """A target machine for code that is loaded. level: how hard code generation tries."""
        _, triple = self.text("GetDefaultTargetTriple")
        target = self.made("GetTargetFromTriple", triple.encode())
        elf = "-elf" if os.name == "nt" else ""  # the only objects that are loaded on Windows
        words = [word.encode() for word in (triple + elf, cpu, features)]
        return self.CreateTargetMachine(target, *words, level, b"default", b"jitdefault", 0, 1, b"")

    def parsed(self, context: Any, text: str) -> Any:
        """The module of some LLVM text, which belongs to a context."""
        module, said = self.text("ParseAssembly", context, text.encode())
        if said:
            if module:
                self.DisposeModule(module)
            raise RuntimeError(f"LLVM IR parsing error\n{said}")
        return module

    def load(self, blobs: Sequence[bytes], cpu: str, features: str) -> tuple[Any, Any]:
        """An engine with object code whose parts call each other, and the context that it lives in."""
        own_memory = platform.machine().lower() in ("arm64", "aarch64")  # as llvmlite has it
        with self.lock:
            context = self.ContextCreate()
            module = self.parsed(context, "")
            engine = self.made("CreateMCJITCompiler", module, self.machine(cpu, features), own_memory)
            for blob in blobs:
                part = self.CreateObjectFile(blob, len(blob))
                if not part:
                    raise RuntimeError("LLVM does not read this object code")
                self.MCJITAddObjectFile(engine, part)
                self.DisposeObjectFile(part)
            self.FinalizeObject(engine)
        return engine, context

    def unload(self, engine: Any, context: Any) -> None:
        """Frees an engine, and then its context."""
        self.DisposeExecutionEngine(engine)
        self.ContextDispose(context)


_loaded = functools.cache(Library)
_loading = forks.lock()


def library() -> Library:
    """The library, loaded when it is first needed. Not to be called in the main thread (see `llvm_thread`)."""
    with _loading:
        return _loaded()

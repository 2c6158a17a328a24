"""Machine code: the CPU that it is for, its name in the cache, loaded and ready to be called.

The name is made of everything that the code depends on: the PTX without comments and line information, the kernel's
name and target, the CPU and its features, llvmlite's version, and this package's own sources.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

import llvmlite

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
        """Whether it has 512-bit vectors."""
        return "+avx512f" in self.features


@functools.cache
def host() -> Cpu:
    """The CPU this runs on. What LLVM says of it is kept on disk, since LLVM's library takes long to load."""
    processor = _processor()
    entry = "cpu-" + disk_cache.key(processor, llvmlite.__version__)
    found = disk_cache.recall(entry) if processor else None
    if found is not None:
        return Cpu(**found[0])
    from ptxlab.emulate.jit.native import compile
    from ptxlab.emulate.jit.native.llvm_thread import begin

    cpu = Cpu(*begin(compile.host)())
    if processor:
        disk_cache.remember(entry, cpu._asdict(), b"")
    return cpu


def _processor() -> str:
    """What Linux says of the processor, which tells it from any other; "" elsewhere."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            first = file.read(1 << 13).partition(b"\n\n")[0].decode()
    except OSError:
        return ""
    lines = [line for line in first.splitlines() if line.startswith(TELLING)]
    return "\n".join(lines) if any(line.startswith("flags") for line in lines) else ""


TELLING = ("vendor_id", "cpu family", "model", "stepping", "flags")
"""The beginnings of its lines that are the same at all times."""


class Code:
    """Loaded machine code: `address(name)` of a function."""

    def __init__(self, blobs: Sequence[bytes], cpu: Cpu) -> None:
        from ptxlab.emulate.jit.native import compile, llvm_thread

        self._engine = llvm_thread.begin(compile.load, blobs, cpu)()
        self._addresses: dict[str, int] = {}
        # Freed in LLVM's thread, and not by a garbage collection or an interrupt of one in the main thread.
        weakref.finalize(self, llvm_thread.soon, self._engine.close).atexit = False

    def address(self, name: str) -> int:
        """The address of an exported function."""
        if name not in self._addresses:
            from ptxlab.emulate.jit.native.llvm_thread import begin

            self._addresses[name] = begin(self._engine.get_function_address, name)()
        return self._addresses[name]

    @functools.cached_property
    def grid(self) -> Callable[[int], int]:
        """The function that runs a worker, given the address of its context."""
        return _RUNS(self.address("grid"))


_RUNS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def load(blobs: Sequence[bytes], cpu: Cpu) -> Code:
    """Object code whose parts call each other, ready to be called."""
    return Code(blobs, cpu)


def key(text: str, name: str, arch: str, cpu: Cpu, what: str) -> str:
    """The name of the cache entry of compiled code."""
    return disk_cache.key(text, name, arch, cpu.name, cpu.features, llvmlite.__version__, what)

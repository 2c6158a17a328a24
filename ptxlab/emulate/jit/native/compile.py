"""LLVM IR to machine code through llvmlite, cached on disk by content.

An entry of the cache is native code that will be run, so it lives in a directory of the user's own (mode 0700, owner
checked) and begins with a checksum of its name and of every byte after it; one that does not match is built again. The
key is everything the code depends on: the PTX without comments and line information, the kernel's name and target, the
CPU and its features, llvmlite's version, and this package's own sources.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ptxlab.emulate.jit.llvm.irtext import KEPT
from ptxlab.emulate.jit.native.llvm_thread import soon, uninterrupted

LIMIT = 256 << 20
"""Bytes that the cache may take on disk; the entries used longest ago go first."""


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


# -- the cache on disk -------------------------------------------------------------------------------------------------


def _sources() -> str:
    """A fingerprint of the compiler's own sources: a change in any of them makes all entries stale."""
    package, parts = str(Path(__file__).resolve().parents[3]), list[str]()

    def look(folder: str) -> None:
        with os.scandir(folder) as found:
            for each in found:
                if each.name.endswith(".py"):
                    status = each.stat()
                    parts.append(f"{each.path.removeprefix(package)}:{status.st_size}:{status.st_mtime_ns}")
                elif each.name != "__pycache__" and each.is_dir():
                    look(each.path)

    for room in ("isa", "emulate", "text"):
        look(os.path.join(package, room))
    parts.sort()
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


_SOURCES = _sources()
"""The fingerprint of the sources that this process runs: taken at import, since files may change later."""


def key(text: str, name: str, arch: str, cpu: Cpu, what: str) -> str:
    """The name of a cache entry."""
    parts = (text, name, arch, cpu.name, cpu.features, llvmlite.__version__, _SOURCES, what, sys.byteorder)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.cache
def folder() -> Path | None:
    """The cache's directory, made if need be; None where there is no safe place or PTXLAB_CACHE is "off"."""
    named = os.environ.get("PTXLAB_CACHE", "")
    if named == "off":
        return None
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ptxlab"
    path = base / "code"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            return None
    except OSError:
        return None
    return path


@functools.cache
def shared() -> Path | None:
    """A cache that is read and never written to: `code` in the folder PTXLAB_SHARED_CACHE, as one machine's users share
    it. Its code is run, so it must be root's or this user's, and nobody else may write there."""
    named = os.environ.get("PTXLAB_SHARED_CACHE", "")
    if not named or os.environ.get("PTXLAB_CACHE", "") == "off":
        return None
    path = Path(named) / "code"
    try:
        status = path.stat()
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022):
        return None
    return path


def recall(entry: str) -> tuple[dict[str, Any], bytes] | None:
    """A cache entry, from this user's folder or the shared one: the notes beside the code, and the code. None when
    missing or damaged."""
    for where in (folder(), shared()):
        found = _read(where, entry) if where is not None else None
        if found is not None:
            return found
    return None


def _read(where: Path, entry: str) -> tuple[dict[str, Any], bytes] | None:
    path = where / entry
    try:
        data = path.read_bytes()
    except OSError:
        return None  # missing or not readable: it is built again
    kept = data[hashlib.sha256().digest_size :]
    if data != _sealed(entry, kept):
        return None  # damaged: it is built again and replaced
    with contextlib.suppress(OSError):  # a read-only folder can still be read from
        os.utime(path)
    head, _, blob = kept.partition(b"\n")
    notes: dict[str, Any] = json.loads(head)
    return notes, blob


def remember(entry: str, notes: dict[str, Any], blob: bytes) -> None:
    """Writes a cache entry."""
    remember_all({entry: (notes, blob)})


def remember_all(entries: Mapping[str, tuple[dict[str, Any], bytes]]) -> None:
    """Writes cache entries, notes and code by name, each whole or not at all; a full disk or a read-only home costs no
    more than the entries.

    Nothing is cached once the package on disk differs from the running one (an update under an open notebook): modules
    imported before and after it would make code that fits neither."""
    where = folder()
    if not entries or where is None or _sources() != _SOURCES:
        return
    try:
        for entry, (notes, blob) in entries.items():
            data = _sealed(entry, json.dumps(notes).encode() + b"\n" + blob)
            with tempfile.NamedTemporaryFile(dir=where, prefix=_NEW, delete=False) as file:
                unfinished = Path(file.name)
                try:
                    file.write(data)
                    file.close()
                    os.replace(unfinished, where / entry)
                except BaseException:  # a full disk, or Ctrl-C
                    unfinished.unlink(missing_ok=True)
                    raise
            _written[where] = _written.get(where, LIMIT) + len(data)
        if _written[where] > LIMIT // 64:
            _prune(where)
            _written[where] = 0
    except OSError:
        return


_NEW = ".new-"
"""The prefix of an entry's name while it is written."""
_written: dict[Path, int] = {}
"""Bytes that this process wrote into a folder since it last pruned it: with thousands of entries that takes as long as
compiling a kernel, so it is done at first and once in a while."""
ABANDONED = 3600
"""Seconds after which such a file belongs to a process that died."""


def _sealed(entry: str, kept: bytes) -> bytes:
    """The bytes of an entry's file: a checksum of its name and contents, and the contents."""
    return hashlib.sha256(entry.encode() + b"\n" + kept).digest() + kept


def _prune(where: Path) -> None:
    """Removes old half-written files, and the entries used longest ago while the cache is too large."""
    entries = []
    with os.scandir(where) as found:
        for file in found:
            try:
                status = file.stat()
            except FileNotFoundError:
                continue  # another process pruned it
            if file.name.startswith(_NEW):
                if time.time() - status.st_mtime > ABANDONED:
                    Path(file).unlink(missing_ok=True)
                continue
            entries.append((status.st_mtime_ns, status.st_size, file.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT:
            break
        Path(path).unlink(missing_ok=True)
        total -= size

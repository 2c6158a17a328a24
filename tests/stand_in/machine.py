"""What the stand-in for `libcuda.so.1` asks Python: what a cubin's kernels are, and to run them on the emulator.

Started by `libcuda.c` in the process that has loaded it, at its first `cuLibraryLoadData`.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cuda.bindings.driver import CUresult

from ptxlab import emulate, targets, text
from ptxlab.emulate.program.addresses import PARAM_WINDOW
from ptxlab.emulate.program.layout import Area, align_of, size_of
from ptxlab.emulate.program.printf import Message
from ptxlab.errors import DeviceFault, LaunchError, TargetError, UnsupportedInstruction
from ptxlab.gpu import assembler
from ptxlab.gpu.assembler import Assembly

Three = ctypes.c_uint * 3


INTERRUPTED = -1
"""An answer beside those of the driver; see base.h."""


class Allocation(ctypes.Structure):
    """`struct allocation` of libcuda.c."""

    _fields_ = [("address", ctypes.c_uint64), ("size", ctypes.c_uint64)]


class Description(ctypes.Structure):
    """`struct description` of libcuda.c."""

    _fields_ = [
        ("parameters", ctypes.c_int),
        ("bytes", ctypes.c_int),
        ("offsets", ctypes.POINTER(ctypes.c_int)),
        ("sizes", ctypes.POINTER(ctypes.c_int)),
        ("attributes", ctypes.c_int * 16),
    ]


class Launch(ctypes.Structure):
    """`struct launch` of libcuda.c."""

    _fields_ = [
        ("module", ctypes.c_int), ("kernel", ctypes.c_char_p), ("grid", Three), ("block", Three), ("cluster", Three),
        ("shared", ctypes.c_uint), ("most_shared", ctypes.c_uint), ("cooperative", ctypes.c_uint),
        ("bytes", ctypes.c_uint64), ("parameters", ctypes.c_void_p),
    ]  # fmt: skip


_VARIABLE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(Allocation))
_LOAD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int))
_DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(Description))
_CHECK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Launch))
_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(Launch), ctypes.POINTER(Allocation), ctypes.c_uint64, ctypes.POINTER(ctypes.c_double)
)


class Machine(ctypes.Structure):
    """`struct machine` of libcuda.c."""

    _fields_ = [("load", _LOAD), ("describe", _DESCRIBE), ("check", _CHECK), ("run", _RUN), ("variable", _VARIABLE)]


class Refusal(Exception):
    """A driver's answer other than success, with the reason for the log."""

    def __init__(self, result: CUresult, reason: str) -> None:
        super().__init__(reason)
        self.result = result


@dataclass
class Code:
    """A loaded cubin: what the assembler said of it, and the PTX that it was made of."""

    assembly: Assembly
    module: text.Module
    held: list[object] = field(default_factory=list)
    variables: dict[str, np.ndarray] = field(default_factory=dict)

    def function(self, name: str) -> text.model.Function:
        """The kernel of this name."""
        for function in self.module.kernels:
            if function.name == name:
                return function
        raise Refusal(CUresult.CUDA_ERROR_NOT_FOUND, f"there is no kernel {name!r}")


def _attribute(number: int) -> int:
    pairs = (pair.split("=") for pair in os.environ["PTXLAB_STAND_IN_ATTRIBUTES"].split(","))
    return next((int(value) for key, value in pairs if int(key) == number), 0)


CAPABILITY = _attribute(75), _attribute(76)
MULTIPROCESSORS = _attribute(16)
TARGET = targets.get(f"sm_{CAPABILITY[0]}{CAPABILITY[1]}")
_codes: list[Code] = []
_lock = threading.Lock()


def load(image: bytes) -> int:
    """The number of a cubin that ptxlab's assembler has made, or of PTX; no other code can be run."""
    if not image.startswith(b"\x7fELF"):
        return _loaded(image.decode(), assembler.assemble(image.decode()))
    with assembler._lock:
        found = [(key[0], made) for key, made in assembler._cache.items() if made.cubin == image]
    if not found:
        raise Refusal(CUresult.CUDA_ERROR_INVALID_IMAGE, "a cubin that ptxlab's assembler has not made")
    return _loaded(*found[-1])


def _loaded(ptx: str, assembly: Assembly) -> int:
    arch = assembly.arch.removeprefix("sm_")
    major, minor, exact = int(arch.rstrip("af")[:-1]), int(arch.rstrip("af")[-1]), arch[-1] in "af"
    if major != CAPABILITY[0] or minor > CAPABILITY[1] or (exact and minor != CAPABILITY[1]):
        raise Refusal(CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU, f"code for {assembly.arch} on {TARGET.name}")
    code = Code(assembly, text.parse(ptx))
    with _lock:
        _codes.append(code)
        return len(_codes) - 1


def describe(code: Code, name: str, out: Description) -> None:
    """Where a kernel's parameters lie, and its function attributes as the driver numbers them."""
    function, usage, area = code.function(name), code.assembly.kernel(name), Area()
    sizes = [size_of(p) for p in function.params]
    offsets = [area.place(size, align_of(p)) for size, p in zip(sizes, function.params, strict=True)]
    out.parameters, out.bytes = len(sizes), area.end
    arrays = [(ctypes.c_int * max(1, len(sizes)))(*numbers) for numbers in (offsets, sizes)]
    out.offsets, out.sizes = arrays
    code.held += arrays  # the C side keeps the pointers
    version = CAPABILITY[0] * 10 + CAPABILITY[1]
    most_threads = 1024
    while most_threads > 32 and not _fits(most_threads, usage.registers):
        most_threads -= 32
    program = emulate.lower(code.module, name)
    if limit := program.exact_threads or program.most_threads:
        most_threads = min(most_threads, int(np.prod(limit)))
    out.attributes[:7] = [
        most_threads, usage.shared_bytes, code.assembly.const_bytes, usage.stack_bytes, usage.registers, version,
        version,
    ]  # fmt: skip
    out.attributes[8] = targets.STATIC_SHARED - usage.shared_bytes


def _fits(threads: int, registers: int) -> bool:
    try:
        TARGET.check_registers(threads, registers)
    except TargetError:
        return False
    return True


def check(code: Code, launch: Launch) -> None:
    """Refuses what a driver refuses before anything runs."""
    name = launch.kernel.decode()
    usage, program = code.assembly.kernel(name), emulate.lower(code.module, name)
    grid, block, cluster = tuple(launch.grid), tuple(launch.block), tuple(launch.cluster)
    threads, blocks = int(np.prod(block)), int(np.prod([int(n) for n in grid], dtype=object))
    invalid = CUresult.CUDA_ERROR_INVALID_VALUE
    try:
        TARGET.check_grid(grid)
        TARGET.check_block(block)
    except TargetError as error:
        raise Refusal(invalid, str(error)) from None
    if not _fits(threads, usage.registers):
        reason = f"{threads} threads of {usage.registers} registers"
        raise Refusal(CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, reason)
    if program.most_threads and threads > np.prod(program.most_threads):
        raise Refusal(invalid, f".maxntid {program.most_threads}")
    if program.exact_threads and (*program.exact_threads, 1, 1)[:3] != block:
        raise Refusal(invalid, f".reqntid {program.exact_threads}")
    if launch.shared > launch.most_shared:
        raise Refusal(invalid, f"{launch.shared} bytes of dynamic shared memory, {launch.most_shared} are allowed")
    if any(cluster):
        _check_cluster(grid, cluster)
    if launch.cooperative:
        resident = targets.occupancy(TARGET, threads, usage.registers, usage.shared_bytes + launch.shared).blocks
        if blocks > resident * MULTIPROCESSORS:
            reason = f"{blocks} blocks, {resident * MULTIPROCESSORS} are resident"
            raise Refusal(CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, reason)


def _check_cluster(grid: tuple[int, ...], cluster: tuple[int, ...]) -> None:
    if CAPABILITY < (9, 0):
        raise Refusal(CUresult.CUDA_ERROR_NOT_SUPPORTED, f"{TARGET.name} has no clusters")
    if not all(cluster) or any(n % size for n, size in zip(grid, cluster, strict=True)):
        raise Refusal(CUresult.CUDA_ERROR_INVALID_VALUE, f"a grid of {grid} in clusters of {cluster}")
    size = int(np.prod(cluster))
    if size > 8:  # more needs CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        raise Refusal(CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE, f"{size} blocks in a cluster")


def run(code: Code, launch: Launch, allocations: list[Allocation]) -> float:
    """Runs a kernel to its end in the memory of the process; the seconds that it took on the emulator."""
    memory, variables = emulate.Memory(), dict(code.variables)
    for allocation in allocations:
        raw = (ctypes.c_uint8 * allocation.size).from_address(allocation.address)
        memory.place(allocation.address, np.frombuffer(raw, np.uint8), "", "global")
    params = ctypes.string_at(launch.parameters, launch.bytes) if launch.bytes else b""
    try:
        report = emulate.execute(
            code.module,
            launch.kernel.decode(),
            grid=tuple(launch.grid),
            block=tuple(launch.block),
            params=params,
            memory=memory,
            shared=launch.shared,
            cooperative=bool(launch.cooperative),
            cluster=tuple(launch.cluster) if any(launch.cluster) else None,
            variables=variables,
        )
        code.variables = {name: data for name, data in code.variables.items() if name in variables}
        for name, data in variables.items():
            code.variables.setdefault(name, data)[:] = data
    except DeviceFault as fault:
        _print(fault.messages)
        raise Refusal(_result(fault), str(fault)) from None
    except (UnsupportedInstruction, LaunchError) as error:
        raise Refusal(CUresult.CUDA_ERROR_NOT_SUPPORTED, str(error)) from None
    _print(report.messages)
    return report.seconds


def variable(code: Code, name: str, out: Allocation) -> None:
    """Where a variable of the module lies that is visible, and its size."""
    for v in emulate.lower(code.module, code.module.kernels[0].name).globals:
        code.variables.setdefault(v.name, v.contents())
    if name not in code.variables or not any(v.name == name and v.linkage for v in code.module.variables):
        raise Refusal(CUresult.CUDA_ERROR_NOT_FOUND, f"there is no variable {name!r}")
    out.address, out.size = code.variables[name].ctypes.data, code.variables[name].size


def _print(messages: Sequence[Message]) -> None:
    """What the kernel printed, to the process's standard output as the driver does."""
    if messages:
        os.write(1, "".join(message.text for message in messages).encode())


def _result(fault: DeviceFault) -> CUresult:
    """What a driver answers for a fault. Threads that wait for each other for ever are a kernel that never ends."""
    if fault.kind == "deadlock":
        return CUresult.CUDA_ERROR_NOT_READY
    if fault.kind == "assert":
        return CUresult.CUDA_ERROR_ASSERT
    if fault.kind != "memcheck":
        return CUresult.CUDA_ERROR_LAUNCH_FAILED
    if ": misaligned" in fault.message:
        return CUresult.CUDA_ERROR_MISALIGNED_ADDRESS
    on_chip = any(f".{space}" in fault.source for space in ("shared", "local", "param"))
    if on_chip or (fault.address is not None and fault.address >= PARAM_WINDOW):
        return CUresult.CUDA_ERROR_LAUNCH_FAILED
    return CUresult.CUDA_ERROR_ILLEGAL_ADDRESS


# -- the C side --------------------------------------------------------------------------------------------------------

_library = ctypes.CDLL("libcuda.so.1")  # the one that has started this module


def _answer(work: Callable[[], None]) -> int:
    """The CUresult of a piece of work. No exception can pass through C: an unexpected one is printed."""
    try:
        work()
    except Refusal as refusal:
        _library.stand_in_note(str(refusal).encode())
        if refusal.result == CUresult.CUDA_ERROR_NOT_SUPPORTED:
            print(f"stand-in: {refusal}", file=sys.stderr)
        return int(refusal.result)
    except KeyboardInterrupt:  # belongs to the program that has called the driver
        return INTERRUPTED
    except BaseException:
        traceback.print_exc()
        return int(CUresult.CUDA_ERROR_UNKNOWN)
    return 0


def _load(image: int, size: int, module: Any) -> int:
    def work() -> None:
        module[0] = load(ctypes.string_at(image, size))

    return _answer(work)


def _describe(module: int, kernel: bytes, out: Any) -> int:
    return _answer(lambda: describe(_codes[module], kernel.decode(), out[0]))


def _check(launch: Any) -> int:
    return _answer(lambda: check(_codes[launch[0].module], launch[0]))


def _run(launch: Any, allocations: Any, count: int, seconds: Any) -> int:
    def work() -> None:
        seconds[0] = run(_codes[launch[0].module], launch[0], allocations[:count])

    return _answer(work)


def _variable(module: int, name: bytes, out: Any) -> int:
    return _answer(lambda: variable(_codes[module], name.decode(), out[0]))


_machine = Machine(_LOAD(_load), _DESCRIBE(_describe), _CHECK(_check), _RUN(_run), _VARIABLE(_variable))
_library.stand_in_register(ctypes.byref(_machine))

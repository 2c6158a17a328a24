"""The real GPU through `cuda.core`: memory, launches of cubins timed with events, and faults in ptxlab's own format."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.errors import LaunchError, TargetError, UnavailableError
from ptxlab.gpu.assembler import assemble
from ptxlab.gpu.faults import REFUSED, context_lost, endless, fault, result_name
from ptxlab.gpu.presence import available as available
from ptxlab.gpu.presence import unavailable as unavailable
from ptxlab.targets import RECURSION_STACK

Dim = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Description:
    """What the GPU is: `name`, `arch` ("sm_90"), multiprocessors, memory in bytes, the newest CUDA its driver knows."""

    name: str
    arch: str
    multiprocessors: int
    memory_bytes: int
    cuda: tuple[int, int]

    def __str__(self) -> str:
        gib = self.memory_bytes / 2**30
        cuda = ".".join(map(str, self.cuda))
        return f"{self.name} ({self.arch}, {self.multiprocessors} SMs, {gib:.0f} GiB), driver for CUDA {cuda}"


def describe() -> Description:
    """The GPU that launches run on. UnavailableError where there is none."""
    from cuda.bindings import driver

    device = current()
    _, version = driver.cuDriverGetVersion()
    _, memory = driver.cuDeviceTotalMem(device.device_id)
    cuda = version // 1000, version % 1000 // 10
    return Description(device.name, f"sm_{device.arch}", device.properties.multiprocessor_count, int(memory), cuda)


class Place:
    """`nbytes` bytes of GPU memory at `address`. Reading and writing wait for the copy."""

    def __init__(self, address: int, nbytes: int) -> None:
        self.address, self.nbytes = address, nbytes

    def read(self, start: int = 0, count: int | None = None) -> NDArray[np.uint8]:
        """A copy of the bytes, or of `count` from one on."""
        from cuda.bindings import driver

        current()
        host = np.empty(self.nbytes if count is None else count, np.uint8)
        if host.nbytes:
            check(driver.cuMemcpyDtoH(host.ctypes.data, self.address + start, host.nbytes))
        return host

    def write(self, data: NDArray[Any], start: int = 0) -> None:
        """Overwrites the bytes from one on with those of a C-contiguous array."""
        from cuda.bindings import driver

        if start + data.nbytes > self.nbytes or not data.flags.c_contiguous:
            raise ValueError(f"expected {self.nbytes - start} contiguous bytes, found {data.nbytes}")
        current()
        if data.nbytes:
            check(driver.cuMemcpyHtoD(self.address + start, data.ctypes.data, data.nbytes))


class Allocation(Place):
    """GPU memory that `free` gives back, and so does the garbage collector."""

    def __init__(self, address: int, nbytes: int) -> None:
        super().__init__(address, nbytes)
        self._forgotten = weakref.finalize(self, _forget, address)
        self._forgotten.atexit = False

    def free(self) -> None:
        """Gives the memory back to the GPU."""
        from cuda.bindings import driver

        if self._forgotten.detach():
            current()
            check(driver.cuMemFree(self.address))


def _forget(address: int) -> None:
    """Frees memory that is no longer referenced, without a check of the driver's result, which could not be reported.
    Not after a fault, which has dropped the memory, nor after a kernel that does not end: the driver would hang."""
    from cuda.bindings import driver

    if not context_lost():
        driver.cuMemFree(address)


def allocate(nbytes: int) -> Allocation:
    """GPU memory, aligned to 256 bytes, with undefined contents. LaunchError where there is not so much, and
    UnavailableError where there is no GPU."""
    from cuda.bindings import driver

    current()
    result, address = driver.cuMemAlloc(max(nbytes, 1))
    check((result,), f"{nbytes} bytes" if result_name(result) in REFUSED else "")  # else a kernel before it is to blame
    return Allocation(int(address), nbytes)


def arch_for(target: str, device: str) -> str:
    """What text for `target` is assembled for on a `device` ("sm_90"): "sm_90a" where the text asks for all of it."""
    same = re.fullmatch(rf"{device}[af]", target)
    return target if same else device


def run(
    ptx: object,
    entry: str,
    grid: Dim,
    block: Dim,
    values: Sequence[bytes],
    *,
    shared: int = 0,
    cooperative: bool = False,
    cluster: Dim | None = None,
) -> float:
    """Runs kernel `entry` of `ptx` (text, Module, builder kernel), waits for it and returns its seconds by GPU events.

    values: for each parameter its bytes, pointers included. shared: bytes of dynamic shared memory; more than 48 KB is
    asked for with the kernel's attribute. Ctrl-C stops the waiting, not the GPU.

    Raises DeviceFault of kind "gpu" when the GPU stops the kernel, LaunchError when it does not take the launch,
    TargetError when the shared memory does not fit, AssemblyError, UnavailableError.
    """
    from cuda.bindings import driver

    kernel = ready(ptx, entry, shared)
    stream = current().default_stream
    config = launch_config(grid, block, shared, cooperative, cluster)
    config.hStream = stream.handle
    pointers, _keep = parameter_block(values)
    at, handle = ctypes.addressof(pointers), kernel.handle
    with Stopwatch(entry, stream) as watch:
        check(driver.cuLaunchKernelEx(config, handle, at, 0), entry)
    return watch.seconds()


class Stopwatch:
    """`with Stopwatch(entry, stream) as watch:` what is launched inside; then `watch.seconds()`, by GPU events.

    The driver's own events, so that whatever it answers becomes the error about `entry`. A thread uses one pair of
    them again and again: making a pair takes longer than many a launch.
    """

    _local = threading.local()

    def __init__(self, entry: str, stream: Any) -> None:
        from cuda.bindings import driver

        self.entry, self.stream = entry, stream.handle
        if not hasattr(self._local, "pair"):
            pair = []
            for _ in range(2):
                result, event = driver.cuEventCreate(driver.CUevent_flags.CU_EVENT_DEFAULT.value)
                check((result,), entry)
                pair.append(event)
            self._local.pair = pair
        self.start, self.end = self._local.pair

    def __enter__(self) -> Stopwatch:
        self._record(self.start)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._record(self.end)
        elif issubclass(kind, KeyboardInterrupt):  # after the launch, and before the waiting
            context_lost(f"{self.entry} was interrupted and may still run on the GPU")

    def _record(self, event: Any) -> None:
        from cuda.bindings import driver

        check(driver.cuEventRecord(event, self.stream), self.entry)

    def seconds(self) -> float:
        """Waits for the work and returns what it took. Ctrl-C stops the waiting, not the GPU.

        DeviceFault where it takes longer than the seconds in the variable PTXLAB_GPU_LIMIT.
        """
        from cuda.bindings import driver

        waiting, begun, pause = driver.CUresult.CUDA_ERROR_NOT_READY, time.perf_counter(), 5e-5
        limit = _limit()
        try:
            while (result := driver.cuEventQuery(self.end))[0] == waiting:
                spent = time.perf_counter() - begun
                if spent > SPIN:  # in short slices, so that Ctrl-C is seen
                    time.sleep(pause)
                    pause = min(pause * 1.5, 5e-3)
                if spent > limit:
                    raise endless(self.entry, limit, LIMIT)
        except KeyboardInterrupt:
            context_lost(f"{self.entry} was interrupted and may still run on the GPU")
            raise
        check(result, self.entry)
        result, milliseconds = driver.cuEventElapsedTime(self.start, self.end)
        check((result,), self.entry)
        return float(milliseconds) / 1e3


LIMIT = "PTXLAB_GPU_LIMIT"
"""The variable with the seconds after which a kernel that has not ended is given up; without it, never."""


def _limit() -> float:
    said = os.environ.get(LIMIT, "")
    try:
        return float(said) if said else math.inf
    except ValueError:
        raise LaunchError(f"{LIMIT}: expected a number of seconds, such as 30, found {said!r}") from None


SPIN = 2e-4
"""Seconds for which a launch is waited for without sleeping: a sleep alone takes longer than a short kernel."""


@dataclass(eq=False, slots=True)
class Code:
    """A module that the driver has loaded, `code` of `cuda.core`, and its variables. movable: the names of those that
    another device may have, too: they hold no addresses."""

    code: Any
    movable: Sequence[str] | None = None

    def read(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a variable."""
        return self._place(name).read()

    def write(self, name: str, data: NDArray[np.uint8]) -> None:
        """Sets all bytes of a variable."""
        self._place(name).write(data)

    def all(self) -> dict[str, NDArray[np.uint8]]:
        """The bytes of the movable variables."""
        return {name: self.read(name) for name in self.movable or ()}

    def _place(self, name: str) -> Place:
        from cuda.bindings import driver

        current()
        result, address, size = driver.cuLibraryGetGlobal(self.code.handle, name.encode())
        check((result,), name)
        return Place(int(address), int(size))


@dataclass(slots=True)
class Loaded:
    """A kernel that the driver has loaded. `room`: how much dynamic shared memory this GPU has for a block of it,
    `allowed`: how much the driver has been asked to allow, in bytes."""

    entry: str
    handle: int
    code: Code
    kernel: Any
    room: int
    allowed: int = 0


_ready: dict[tuple[Any, str], tuple[object, Loaded]] = {}
_READY_SIZE = 64


def ready(ptx: object, entry: str, shared: int) -> Loaded:
    """The kernel, loaded, with `shared` bytes of dynamic shared memory allowed; errors as of `run`. What has a `state`
    keeps its module there, loaded once for all kernels."""
    device, state = current(), getattr(ptx, "state", None)
    cache = _ready if state is None else state.loaded
    text = getattr(ptx, "ptx", ptx)
    key = (text if isinstance(text, str) else id(text)), entry
    found = cache.get(key)
    if found is None:
        code = next((other.code for (of, _), (_, other) in cache.items() if of == key[0]), None)
        found = cache[key] = ptx, _load(ptx, entry, device, code)  # with the object, so that no other gets its id
        for oldest in list(cache)[:-_READY_SIZE]:
            cache.pop(oldest, None)
    loaded: Loaded = found[1]
    if shared > loaded.room:
        raise TargetError(
            f"shared: {device.name} has {loaded.room} bytes for a block of {entry}, {shared} are asked for"
        )
    if shared > loaded.allowed:
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuKernelSetAttribute(attribute, shared, loaded.handle, device.device_id), entry)
        loaded.allowed = shared
    return loaded


def launch_config(
    grid: Dim, block: Dim, shared: int, cooperative: bool, cluster: Dim | None, *, dependent: bool = False
) -> Any:
    """The driver's launch configuration, without a stream. `grid` counts blocks, with a cluster too.

    dependent: the kernel may start before the one in front of it in the stream has ended (from sm_90 on).
    """
    from cuda.bindings import driver

    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes = shared
    attributes = []

    def value(kind: str) -> Any:
        """Adds an attribute; what is to be set in it."""
        attributes.append(driver.CUlaunchAttribute())
        attributes[-1].id = getattr(driver.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{kind}")
        return attributes[-1].value

    if cluster is not None:
        if any(blocks % size for blocks, size in zip(grid, cluster, strict=True)):
            raise LaunchError(f"cluster: the grid {grid} is not a multiple of the cluster {cluster}")
        dimension = value("CLUSTER_DIMENSION").clusterDim
        dimension.x, dimension.y, dimension.z = cluster
    if cooperative:
        value("COOPERATIVE").cooperative = 1
    if dependent:
        value("PROGRAMMATIC_STREAM_SERIALIZATION").programmaticStreamSerializationAllowed = 1
    config.numAttrs, config.attrs = len(attributes), attributes
    return config


def parameter_block(values: Sequence[bytes]) -> tuple[Any, Any]:
    """The array of pointers that the driver wants, one to each parameter's bytes, and what must stay alive with it."""
    padded = [value.ljust(-(-len(value) // 16) * 16, b"\0") for value in values]
    data = b"".join(padded)
    held = ctypes.create_string_buffer(data, max(len(data), 1))
    at, places = ctypes.addressof(held), []
    for value in padded:
        places.append(at)
        at += len(value)
    return (ctypes.c_void_p * max(len(places), 1))(*places), held


@functools.cache
def _first_device() -> Any:
    from cuda.core import Device

    return Device(0)


def current() -> Any:
    """The GPU, made current in this thread."""
    if not available():
        raise UnavailableError(f"no NVIDIA GPU can be used here: {unavailable()}; write device='cpu'")
    lost = context_lost()
    if lost:
        raise UnavailableError(f"{lost}; restart Python (in a notebook: Kernel, Restart), or write device='cpu'")
    try:
        device = _first_device()
        device.set_current()
    except Exception as error:  # of cuda.core; the driver refuses a context, as when another process has the card alone
        if (name := result_name(error)) is None:
            raise
        raise UnavailableError(f"the driver gives no access to the GPU ({name}); write device='cpu'") from error
    return device


def _load(ptx: object, entry: str, device: Any, code: Code | None) -> Loaded:
    """The kernel, assembled for this GPU and loaded, if the module is not: then it is `code`."""
    from cuda.bindings import driver
    from cuda.core import ObjectCode

    target = re.search(r"\.target\s+(\w+)", str(getattr(ptx, "ptx", ptx)))
    assembly = assemble(ptx, arch_for(target[1] if target else "", f"sm_{device.arch}"))
    with _named(entry):
        if code is None and assembly.ignored:
            code = _by_driver(str(getattr(ptx, "ptx", ptx)), entry)
        code = code or Code(ObjectCode.from_cubin(assembly.cubin, name=entry))
        kernel = code.code.get_kernel(entry)
        most = int(device.properties.max_shared_memory_per_block_optin)
    if assembly.recursive:
        _stack_of_recursion(entry)
    handle = int(kernel.handle)
    attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
    result, static = driver.cuKernelGetAttribute(attribute, handle, device.device_id)
    check((result,), entry)
    return Loaded(entry, handle, code, kernel, most - int(static))


def _stack_of_recursion(entry: str) -> None:
    """As much stack for every thread as the emulator gives, from now on in this process."""
    from cuda.bindings.driver import CUlimit, cuCtxGetLimit, cuCtxSetLimit

    result, now = cuCtxGetLimit(CUlimit.CU_LIMIT_STACK_SIZE)
    check((result,), entry)
    check(cuCtxSetLimit(CUlimit.CU_LIMIT_STACK_SIZE, max(int(now), RECURSION_STACK)), entry)


def _by_driver(text: str, entry: str) -> Code | None:
    """The module by the driver's own assembler, which minds `setmaxnreg`; None if that is older than the text."""
    from cuda.core import ObjectCode

    try:
        code = ObjectCode.from_ptx(text.encode(), name=entry)
        code.get_kernel(entry)
        return Code(code)
    except Exception as error:
        if result_name(error) != "CUDA_ERROR_UNSUPPORTED_PTX_VERSION":
            raise
        return None


def check(result: tuple[Any, ...], entry: str = "") -> None:
    """Raises the error for a result of the driver API, whose first element is its CUresult."""
    if int(result[0]):
        raise fault(result[0], entry)


@contextlib.contextmanager
def _named(subject: str) -> Iterator[None]:
    """Turns an exception of `cuda.core` that stands for a driver result into ptxlab's error about `subject`."""
    try:
        yield
    except Exception as error:
        if result_name(error) is None:
            raise
        raise fault(error, subject) from error

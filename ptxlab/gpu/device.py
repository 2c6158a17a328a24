"""The real GPU through `cuda.core`: memory, launches of cubins timed with events, and faults in ptxlab's own format."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab.errors import LaunchError, TargetError, UnavailableError
from ptxlab.gpu.assembler import assemble
from ptxlab.gpu.faults import context_lost, fault, result_name

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


@functools.cache
def available() -> bool:
    """Whether there is an NVIDIA GPU with a driver, and the packages to use it."""
    try:
        import cuda.core  # noqa: F401
        from cuda.bindings import driver

        if driver.cuInit(0)[0] != driver.CUresult.CUDA_SUCCESS:
            return False
        result, count = driver.cuDeviceGetCount()
    except (ImportError, RuntimeError):  # no wheels, or no driver library: cuda.pathfinder raises a RuntimeError
        return False
    return bool(result == driver.CUresult.CUDA_SUCCESS and count > 0)


def describe() -> Description:
    """The GPU that launches run on. UnavailableError where there is none."""
    from cuda.bindings import driver

    device = current()
    _, version = driver.cuDriverGetVersion()
    _, memory = driver.cuDeviceTotalMem(device.device_id)
    cuda = version // 1000, version % 1000 // 10
    return Description(device.name, f"sm_{device.arch}", device.properties.multiprocessor_count, int(memory), cuda)


class Allocation:
    """`nbytes` bytes of GPU memory at `address`. Reading and writing wait for the copy; `free` gives it back."""

    def __init__(self, buffer: Any, nbytes: int) -> None:
        self.buffer, self.nbytes, self.address = buffer, nbytes, int(buffer.handle)

    def read(self) -> NDArray[np.uint8]:
        """A copy of the bytes."""
        from cuda.bindings import driver

        current()
        host = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            check(driver.cuMemcpyDtoH(host.ctypes.data, self.address, self.nbytes))
        return host

    def write(self, data: NDArray[Any]) -> None:
        """Overwrites all bytes with a C-contiguous array of `nbytes` bytes."""
        from cuda.bindings import driver

        if data.nbytes != self.nbytes or not data.flags.c_contiguous:
            raise ValueError(f"{self.nbytes} contiguous bytes are wanted, found {data.nbytes}")
        current()
        if self.nbytes:
            check(driver.cuMemcpyHtoD(self.address, data.ctypes.data, self.nbytes))

    def free(self) -> None:
        """Gives the memory back to the GPU."""
        self.buffer.close()


def allocate(nbytes: int) -> Allocation:
    """GPU memory, aligned to 256 bytes, with undefined contents. UnavailableError where there is no GPU."""
    device = current()
    with _named(f"{nbytes} bytes"):
        buffer = device.allocate(max(nbytes, 1), stream=device.default_stream)
        device.default_stream.sync()
    return Allocation(buffer, nbytes)


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
    from cuda.core import EventOptions

    device = current()
    kernel = ready(ptx, entry, shared)
    stream = device.default_stream
    config = launch_config(grid, block, shared, cooperative, cluster)
    config.hStream = stream.handle
    pointers, _keep = parameter_block(values)
    start, end = (device.create_event(EventOptions(timing_enabled=True)) for _ in range(2))
    stream.record(start)
    check(driver.cuLaunchKernelEx(config, int(kernel.handle), ctypes.addressof(pointers), 0), entry)
    stream.record(end)
    wait(end, entry)
    return float(end - start) / 1e3


def ready(ptx: object, entry: str, shared: int) -> Any:
    """The kernel, loaded, and allowed so many bytes of dynamic shared memory; errors as of `run`."""
    from cuda.bindings import driver

    device = current()
    kernel = _load(ptx, entry, device)
    if shared:
        limit = device.properties.max_shared_memory_per_block_optin - kernel.attributes.shared_size_bytes
        if shared > limit:
            raise TargetError(f"shared: {device.name} has {limit} bytes for a block of {entry}, {shared} are asked for")
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuKernelSetAttribute(attribute, shared, int(kernel.handle), device.device_id))
    return kernel


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
    if cluster is not None:
        if any(blocks % size for blocks, size in zip(grid, cluster, strict=True)):
            raise LaunchError(f"cluster: the grid {grid} is not a multiple of the cluster {cluster}")
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dimension = attribute.value.clusterDim
        dimension.x, dimension.y, dimension.z = cluster
        attributes.append(attribute)
    if cooperative:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        attributes.append(attribute)
    if dependent:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        attribute.value.programmaticStreamSerializationAllowed = 1
        attributes.append(attribute)
    config.numAttrs, config.attrs = len(attributes), attributes
    return config


def parameter_block(values: Sequence[bytes]) -> tuple[Any, list[Any]]:
    """The array of pointers that the driver wants, one to each parameter's bytes, and what must stay alive with it."""
    held = [ctypes.create_string_buffer(value, max(len(value), 1)) for value in values]
    pointers = (ctypes.c_void_p * max(len(held), 1))(*(ctypes.addressof(buffer) for buffer in held))
    return pointers, held


@functools.cache
def _first_device() -> Any:
    from cuda.core import Device

    return Device(0)


def current() -> Any:
    """The GPU, made current in this thread."""
    if not available():
        raise UnavailableError("there is no NVIDIA GPU here, or its driver is missing; write device='cpu'")
    lost = context_lost()
    if lost:
        raise UnavailableError(f"{lost}; restart Python (in a notebook: Kernel, Restart), or write device='cpu'")
    device = _first_device()
    device.set_current()
    return device


_loaded: OrderedDict[tuple[bytes, str], Any] = OrderedDict()
_LOADED_SIZE = 64


def _load(ptx: object, entry: str, device: Any) -> Any:
    """The kernel, assembled for this GPU and loaded; the last ones loaded are kept."""
    from cuda.core import ObjectCode

    target = re.search(r"\.target\s+(\w+)", str(getattr(ptx, "ptx", ptx)))
    assembly = assemble(ptx, arch_for(target[1] if target else "", f"sm_{device.arch}"))
    key = assembly.cubin, entry
    if key not in _loaded:
        with _named(entry):
            _loaded[key] = ObjectCode.from_cubin(assembly.cubin, name=entry).get_kernel(entry)
        while len(_loaded) > _LOADED_SIZE:
            _loaded.popitem(last=False)
    _loaded.move_to_end(key)
    return _loaded[key]


def check(result: tuple[Any, ...], entry: str = "") -> None:
    """Raises the error for a result of the driver API, whose first element is its CUresult."""
    if int(result[0]):
        raise fault(result[0], entry)


def wait(event: Any, entry: str) -> None:
    """Waits for the event in short slices, so that Ctrl-C is seen."""
    pause = 2e-5
    try:
        with _named(entry):
            while not event.is_done:
                time.sleep(pause)
                pause = min(pause * 1.5, 5e-3)
            event.sync()
    except KeyboardInterrupt:
        context_lost(f"{entry} was interrupted and may still run on the GPU")
        raise


@contextlib.contextmanager
def _named(subject: str) -> Iterator[None]:
    """Turns an exception of `cuda.core` that stands for a driver result into ptxlab's error about `subject`."""
    try:
        yield
    except Exception as error:
        if result_name(error) is None:
            raise
        raise fault(error, subject) from error

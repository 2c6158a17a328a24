"""The driver that Triton asks for its device, its launcher and its benchmark, with the emulator behind it."""

from __future__ import annotations

import contextlib
import importlib
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab import targets
from ptxlab.errors import LaunchError
from ptxlab.frontends.kernel import CompiledKernel
from ptxlab.frontends.triton import kernel_of


class Driver:
    """What `triton.runtime.driver.active` is while a session is entered. The device has the limits of its target.
    benchmark: counts in the place of times (see `ptxlab.drivers.triton_tuning`)."""

    def __init__(self, arch: str, benchmark: Callable[..., list[float]]) -> None:
        self.arch, self.benchmark, self.utils = arch, benchmark, Utils(arch)
        self.device = f"ptxlab {arch}"  # Triton keeps what it has compiled by device
        self.launcher_cls = self._launcher

    @staticmethod
    def is_active() -> bool:
        """Whether there is such a device: yes."""
        return True

    def _launcher(self, source: Any, metadata: Any) -> Launcher:
        return Launcher(self.arch, source, metadata)

    def get_current_target(self) -> Any:
        """The target to compile for."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", targets.get(self.arch).number, 32)

    def get_current_device(self) -> Any:
        """The one device."""
        return self.device

    def set_current_device(self, device: Any) -> None:
        """There is one device."""

    def get_current_stream(self, device: Any = None) -> int:
        """There is one stream; all of its work is done when a launch returns."""
        return 0

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """The target's compute capability."""
        return divmod(targets.get(self.arch).number, 10)

    def get_active_torch_device(self) -> Any:
        """Where torch's tensors are: on the CPU."""
        return importlib.import_module("torch").device("cpu")

    def get_device_interface(self) -> Any:
        """What `triton.testing` synchronizes and times with: the host's clock."""
        return _Interface

    def get_benchmarker(self) -> Any:
        """What autotuners ask for the times of configurations."""
        return self.benchmark

    def get_empty_cache_for_benchmark(self) -> None:
        """There is no cache to clear between runs."""

    def clear_cache(self, cache: Any) -> None:
        """There is no cache to clear between runs."""

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Launches need no C++."""
        raise NotImplementedError("the emulator launches without C++")


class Utils:
    """Loads what Triton has compiled, and says what the device has."""

    def __init__(self, arch: str) -> None:
        self.arch = arch

    def load_binary(self, name: str, binary: bytes, shared: int, device: Any) -> tuple[Any, Any, int, int, int]:
        """(module, function, registers, local words of a thread, most threads of a block)."""
        registers, frame = used(binary)
        return None, name, registers, frame // 4, targets.THREADS_PER_BLOCK

    def unload_module(self, module: Any) -> None:
        """Nothing was loaded."""

    def get_device_properties(self, device: Any = None) -> dict[str, int]:
        """The limits of the target's first GPU."""
        found = targets.get(self.arch)
        return {
            "max_shared_mem": found.optin_shared,
            "max_num_regs": found.registers_per_sm,
            "multiprocessor_count": found.gpus[0][1] if found.gpus else 1,
            "warpSize": targets.WARP,
        }

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        """The target's compute capability."""
        return divmod(targets.get(self.arch).number, 10)


class _Interface:
    """`torch.cuda` in the words of `triton.testing.do_bench`. Times are the host's, not a GPU's."""

    class Event:
        """A moment of the host's clock."""

        def __init__(self, enable_timing: bool = True) -> None:
            self.moment = 0.0

        def record(self) -> None:
            """Notes the time."""
            self.moment = time.perf_counter()

        def elapsed_time(self, later: Any) -> float:
            """Milliseconds until a later event."""
            return float(later.moment - self.moment) * 1e3

    @staticmethod
    def synchronize() -> None:
        """Nothing is left to wait for."""


REGISTERS, FRAME = 0x2F, 0x11
"""Attributes of `.nv.info` in a cubin: registers of a thread, and bytes of its stack, of each function."""


def used(cubin: bytes) -> tuple[int, int]:
    """(registers, bytes of stack) that the assembler has given to a thread, the largest of all functions."""
    start, each, count, names = (*struct.unpack_from("<Q", cubin, 40), *struct.unpack_from("<HHH", cubin, 58))
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + k * each) for k in range(count)]
    strings = sections[names][4]
    found = {REGISTERS: 0, FRAME: 0}
    for section in sections:
        name_at = strings + section[0]
        if cubin[name_at : cubin.index(b"\0", name_at)] != b".nv.info":
            continue
        at, end = section[4], section[4] + section[5]
        while at + 4 <= end:
            kind, attribute, size = struct.unpack_from("<BBH", cubin, at)
            if attribute in found and kind == 4:
                found[attribute] = max(found[attribute], struct.unpack_from("<I", cubin, at + 8)[0])
            at += 4 + (size if kind == 4 else 0)
    return found[REGISTERS], found[FRAME]


# -- launches ----------------------------------------------------------------------------------------------------------


class Launcher:
    """What Triton calls with the grid and the arguments of one compiled kernel."""

    def __init__(self, arch: str, source: Any, metadata: Any) -> None:
        from triton.runtime.cache import get_cache_manager

        path = get_cache_manager(metadata.hash).get_file(f"{source.name[:150]}.ptx")
        if path is None:
            raise LaunchError(f"{metadata.name}: Triton kept no PTX of it\n  write:  unset TRITON_STORE_BINARY_ONLY")
        ptx = Path(path).read_text()
        self.kernel: CompiledKernel = kernel_of(_untyped(ptx), metadata, source.fn, arch)
        self.signature, self.names = tuple(source.signature.values()), tuple(source.signature)
        self.descriptors = list(getattr(metadata, "tensordesc_meta", None) or ())
        self.scratch = metadata.global_scratch_size, metadata.profile_scratch_size
        self.blocks = getattr(metadata, "num_ctas", 1)
        self.cooperative = bool(metadata.launch_cooperative_grid)

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: Any,
        function: Any,
        packed: Any,
        launch_metadata: Any,
        enter: Any,
        leave: Any,
        *args: Any,
    ) -> None:
        __tracebackhide__ = True
        if x * y * z <= 0:
            return
        if enter is not None:
            enter(launch_metadata)
        if not running:
            raise LaunchError(
                "this kernel was compiled within a session that has ended\n"
                "  write:  with pl.triton(): ...    around both"
            )
        running[-1](self, (x * self.blocks, y, z), args)
        if leave is not None:
            leave(launch_metadata)

    def parts(self, args: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
        """(name, type, value) of each parameter, without the scratch memory: tuples taken apart, descriptors taken
        apart or made tensor maps."""
        described = iter(self.descriptors)
        for name, kind, value in zip(self.names, self.signature, args, strict=True):
            yield from self._flat(name, kind, value, described)

    def _flat(self, name: str, kind: Any, value: Any, described: Iterator[Any]) -> Iterator[tuple[str, str, Any]]:
        if isinstance(kind, tuple):
            for k, (inner, part) in enumerate(zip(kind, value, strict=True)):
                yield from self._flat(f"{name}[{k}]", inner, part, described)
        elif kind.startswith("tensordesc"):
            shape, strides = list(value.shape), list(value.strides)
            if self.descriptors:
                yield name, "tensor map", (value, next(described))
            else:
                yield name, "*", value.base
                yield from ((name, "i64", n) for n in (*shape, *strides))
                yield from ((name, "i1", flag) for flag in (value.padding == "nan", value.round_f32_to_tf32))
            yield from ((name, "i32", n) for n in shape)
            yield from ((name, "i64", n) for n in strides)
        elif kind != "constexpr":
            yield name, kind, value


running: list[Callable[[Launcher, tuple[int, int, int], Sequence[Any]], None]] = []
"""What runs kernels in the sessions that are entered; the last one does."""


def _untyped(ptx: str) -> str:
    """PTX whose pointers are 64-bit numbers: a launch passes addresses of parts of arrays, too."""
    return ptx.replace(".ptr .global .align 1 ", "").replace(".ptr .global .align 16 ", "")


def scalar(kind: str, value: Any, type_: str) -> Any:
    """A number as `pl.launch` takes it for a parameter of a PTX type. kind: Triton's name of the type."""
    if kind in ("fp32", "f32", "fp64", "fp16"):
        raw = np.array(value, {"fp64": "f8", "fp16": "f2"}.get(kind, "f4")).tobytes()
    elif kind == "bf16":
        raw = np.array(value, "f4").tobytes()[2:]  # cut off, as Triton's own launcher does
    else:
        bits = {"u1": 8, "i1": 8}.get(kind) or int(kind[1:])
        raw = (int(value) & (1 << bits) - 1).to_bytes(bits // 8, "little")
    size = {"f": "f", "u": "u", "b": "u", "s": "i"}[type_[0]] + str(int(type_[1:]) // 8)
    return np.frombuffer(raw.ljust(int(type_[1:]) // 8, b"\0"), size)[0]


def tensor_map(descriptor: Any, meta: dict[str, Any], address: int) -> bytes:
    """The 128 bytes that a host's descriptor becomes for sm_90 and later. meta: what Triton's compiler wants of it."""
    from ptxlab.launch.tensor_maps import BYTES, TF32, tiles

    if meta.get("is_im2col") or meta["fp4_padded"]:
        raise LaunchError("a tensor descriptor of im2col or of padded fp4 has no tensor map here; one of tiles has")
    strides = [int(step) * int(meta["elem_size"]) for step in descriptor.strides[:-1]]
    element = TF32 if descriptor.round_f32_to_tf32 else meta["elem_type"]
    shape, box = [int(n) for n in descriptor.shape], meta["block_size"]
    bits = tiles(address, element, shape, strides, box, meta["swizzle"], nan=descriptor.padding == "nan")
    return bits.to_bytes(BYTES, "little")


@contextlib.contextmanager
def installed(driver: Driver) -> Iterator[None]:
    """While entered, Triton asks this driver."""
    from triton.runtime.driver import driver as config

    before = config._active
    config.set_active(driver)
    try:
        yield
    finally:
        config._active = before

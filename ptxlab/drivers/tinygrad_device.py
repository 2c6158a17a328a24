"""`ptxlab.drivers.tinygrad`: programs of tinygrad on the emulator, as a device of tinygrad's.

with tinygrad(checks="all") as session:
    Tensor([[1.0, 2.0]]).softmax().numpy()
session.findings, session.runs

tinygrad writes PTX itself (its `PTXRenderer`); each kernel that it schedules runs here when it is asked for.
"""

from __future__ import annotations

import importlib
import re
import sys
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ptxlab.drivers.check_warnings import warn
from ptxlab.drivers.session import MachineSession
from ptxlab.errors import UnavailableError
from ptxlab.frontends.kernel import CompiledKernel
from ptxlab.launch.buffers import DeviceBuffer

INSTALL = "pip install tinygrad"
NAME = "PTXLAB"
"""The device's name in tinygrad."""


class TinygradSession(MachineSession):
    """While entered, tinygrad's default device is the emulator."""

    LANGUAGE = "tinygrad"

    def __init__(self, *, arch: str = "sm_80", device: str = "cpu", **options: Any) -> None:
        super().__init__(arch=arch, device=device, **options)
        self.kernels: list[CompiledKernel] = []
        """The kernels, in the order of `runs`."""

    def __enter__(self) -> TinygradSession:
        try:
            helpers: Any = importlib.import_module("tinygrad.helpers")
        except ImportError as error:
            raise UnavailableError(f"tinygrad is not installed ({error}): {INSTALL}") from None
        _register()
        _active.append(self)
        self._stack.callback(_active.remove, self)
        # tinygrad then takes the compiler that leaves PTX as it is
        self._stack.enter_context(helpers.Context(DEV=f"MOCK+{NAME}:PTX:{self.arch}"))
        return self

    def launch(self, kernel: CompiledKernel, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]) -> None:
        """Runs a kernel; its buffers stay on the machine."""
        run = self.launcher(kernel, tuple(grid), tuple(block), *args, device=self.device, **self.options)
        self.runs.append(run)
        self.kernels.append(kernel)
        warn(run.findings, sys.modules["tinygrad"].__file__ or "")


tinygrad = TinygradSession

_active: list[TinygradSession] = []


def _register() -> None:
    """Puts the device where tinygrad looks for it: `tinygrad.runtime.ops_ptxlab`."""
    name = f"tinygrad.runtime.ops_{NAME.lower()}"
    if name in sys.modules:
        return
    base: Any = importlib.import_module("tinygrad.device")
    renderer: Any = importlib.import_module("tinygrad.renderer.ptx")

    class Memory(base.Allocator):  # type: ignore[misc]
        def _alloc(self, size: int, options: Any) -> tuple[DeviceBuffer, int]:
            return DeviceBuffer((size,), np.uint8, "cpu", "a buffer of tinygrad"), 0

        def _copyin(self, dest: tuple[DeviceBuffer, int], src: memoryview) -> None:
            buffer, at = dest
            buffer.data[at : at + src.nbytes] = np.frombuffer(src, np.uint8)

        def _copyout(self, dest: memoryview, src: tuple[DeviceBuffer, int]) -> None:
            buffer, at = src
            np.frombuffer(dest, np.uint8)[:] = buffer.data[at : at + dest.nbytes]

        def _offset(self, buf: tuple[DeviceBuffer, int], size: int, offset: int) -> tuple[DeviceBuffer, int]:
            return buf[0], buf[1] + offset

    class Program(base.Program):  # type: ignore[misc]
        def __init__(self, dev: Any, obj: Any) -> None:
            ptx = obj.lib.decode()
            target = re.search(r"\.target\s+(\w+)", ptx)
            self.kernel = CompiledKernel(obj.name, target[1] if target else "sm_80", ptx, ptx, f"<{obj.name}>")

        def __call__(
            self,
            *buffers: Any,
            global_size: Any = (1, 1, 1),
            local_size: Any = (1, 1, 1),
            vals: Any = (),
            wait: bool = False,
            **more: Any,
        ) -> float:
            given = [buffer.address + at if at else buffer for buffer, at in buffers]
            session = _active[-1]
            session.launch(self.kernel, global_size, local_size, [*given, *vals])
            return session.runs[-1].seconds

    class PtxlabDevice(base.Compiled):  # type: ignore[misc]
        def __init__(self, device: str) -> None:
            super().__init__(device, Memory(self), [renderer.PTXRenderer], Program, arch="sm_80")

    # tinygrad takes the class in this module whose name is the device's
    made: Any = types.ModuleType(name)
    made.PTXLABDevice = PtxlabDevice
    sys.modules[name] = made

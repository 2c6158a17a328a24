"""CUDA graphs: launches that are recorded once and then replayed together, by one call of the driver.

A graph keeps the parameters that it was recorded with. What is to change from one replay to the next, such as the
length of a growing cache, lies in device memory, where the kernels read it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ptxlab.gpu import device
from ptxlab.gpu.device import Dim


@dataclass(frozen=True)
class Node:
    """One launch of a graph: kernel `entry` of `ptx` with the bytes of each parameter; see `device.run`.

    dependent: it may start before the node in front of it has ended (`griddepcontrol.wait` in its code waits for that);
    the first node has none in front of it.
    """

    ptx: object
    entry: str
    grid: Dim
    block: Dim
    values: Sequence[bytes]
    shared: int = 0
    dependent: bool = False


class Graph:
    """The launches in `nodes`, one after the other. UnavailableError without a GPU, other errors as of `device.run`."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        from cuda.bindings import driver

        self.entry = " + ".join(dict.fromkeys(node.entry for node in nodes))
        device.current()
        kernels = [device.ready(node.ptx, node.entry, node.shared) for node in nodes]
        for kernel in kernels:  # the driver loads a kernel when it is first used, which it cannot do while recording
            result, function = driver.cuKernelGetFunction(kernel.handle)
            device.check((result,))
            device.check(driver.cuFuncLoad(function))
        result, stream = driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING.value)
        device.check((result,))
        try:
            # relaxed: memory that Python happens to give back meanwhile must not end the recording
            mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            device.check(driver.cuStreamBeginCapture(stream, mode))
            for node, kernel in zip(nodes, kernels, strict=True):
                dependent = node.dependent and node is not nodes[0]
                config = device.launch_config(node.grid, node.block, node.shared, False, None, dependent=dependent)
                config.hStream = stream
                pointers, _keep = device.parameter_block(node.values)
                device.check(driver.cuLaunchKernelEx(config, kernel.handle, ctypes.addressof(pointers), 0), node.entry)
            result, graph = driver.cuStreamEndCapture(stream)
            device.check((result,))
            result, self._exec = driver.cuGraphInstantiate(graph, 0)
            driver.cuGraphDestroy(graph)
            device.check((result,))
        finally:
            driver.cuStreamDestroy(stream)
        self._kernels: list[Any] = kernels  # loaded for as long as the graph may run

    def replay(self, times: int = 1) -> float:
        """Runs the launches `times` times over, waits, and returns the seconds of one time by GPU events."""
        from cuda.bindings import driver

        stream = device.current().default_stream
        with device.Stopwatch(self.entry, stream) as watch:
            for _ in range(times):
                device.check(driver.cuGraphLaunch(self._exec, stream.handle), self.entry)
        return watch.seconds() / times

    def free(self) -> None:
        """Gives the graph back to the driver."""
        from cuda.bindings import driver

        device.check(driver.cuGraphExecDestroy(self._exec))
        self._kernels = []

"""CUDA graphs without a GPU: what the driver is asked for, and in which order."""

from __future__ import annotations

import ctypes
import struct

import pytest

from ptxlab import kernels
from ptxlab.errors import LaunchError
from ptxlab.frontends.kernel import CompiledKernel
from ptxlab.gpu import device, graph
from ptxlab.launch import replay

pytestmark = pytest.mark.assembler  # the driver's bindings come with the same wheels


class Device:
    """As much of `cuda.core.Device` as a graph uses."""

    handle = "legacy stream"

    def __init__(self):
        self.default_stream = self


class Kernel:
    handle = 77


@pytest.fixture
def log(monkeypatch):
    """The calls of the driver, which all succeed; the graph's kernels are made of their arguments."""
    from cuda.bindings import driver

    calls = []
    success = driver.CUresult.CUDA_SUCCESS

    def fake(name, *returned):
        def call(*args):
            calls.append((name, *args))
            return (success, *returned)

        monkeypatch.setattr(driver, name, call)

    def elapsed(start, end):
        return success, 8.0 * sum(name == "cuGraphLaunch" for name, *_ in calls)

    monkeypatch.setattr(driver, "cuEventElapsedTime", elapsed)
    monkeypatch.setattr(device.Stopwatch._local, "pair", ["start", "end"], raising=False)
    for name in ("cuEventRecord", "cuEventQuery"):
        monkeypatch.setattr(driver, name, lambda *args: (success,))
    stream = driver.CUstream(5)
    fake("cuStreamCreate", stream)
    fake("cuKernelGetFunction", "function")
    fake("cuStreamEndCapture", "graph")
    fake("cuGraphInstantiate", "executable")
    for name in (
        "cuFuncLoad",
        "cuStreamBeginCapture",
        "cuGraphDestroy",
        "cuStreamDestroy",
        "cuGraphLaunch",
        "cuGraphExecDestroy",
    ):
        fake(name)

    def launch(config, kernel, parameters, extra):
        pointer = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))[0]
        number = struct.unpack("<Q", ctypes.string_at(pointer, 8))[0]
        shape = (config.gridDimX, config.blockDimX, config.sharedMemBytes, int(config.hStream))
        calls.append(("cuLaunchKernelEx", kernel, shape, number))
        return (success,)

    monkeypatch.setattr(driver, "cuLaunchKernelEx", launch)
    monkeypatch.setattr(device, "current", Device)
    monkeypatch.setattr(device, "ready", lambda ptx, entry, shared: Kernel())
    return calls


def test_launches_are_recorded_once_and_replayed(log):
    nodes = [
        graph.Node("ptx", "split", (4, 1, 1), (128, 1, 1), [struct.pack("<Q", 11)], 4096),
        graph.Node("ptx", "reduce", (2, 1, 1), (64, 1, 1), [struct.pack("<Q", 12)]),
    ]
    made = graph.Graph(nodes)
    assert made.entry == "split + reduce"
    assert [name for name, *_ in log] == [
        "cuKernelGetFunction",
        "cuFuncLoad",
        "cuKernelGetFunction",
        "cuFuncLoad",
        "cuStreamCreate",
        "cuStreamBeginCapture",
        "cuLaunchKernelEx",
        "cuLaunchKernelEx",
        "cuStreamEndCapture",
        "cuGraphInstantiate",
        "cuGraphDestroy",
        "cuStreamDestroy",
    ]
    launches = [call[1:] for call in log if call[0] == "cuLaunchKernelEx"]
    assert launches == [(77, (4, 128, 4096, 5), 11), (77, (2, 64, 0, 5), 12)]
    del log[:]
    assert made.replay(3) == pytest.approx(8e-3)
    assert log == [("cuGraphLaunch", "executable", "legacy stream")] * 3
    made.free()
    assert log[-1] == ("cuGraphExecDestroy", "executable")


def test_a_dependent_launch_may_start_early(log, monkeypatch):
    """`decode_reduce` for sm_90 waits by itself, so its launch does not; the first of a graph has none to wait for."""
    from cuda.bindings import driver

    configs = []
    launch = driver.cuLaunchKernelEx
    monkeypatch.setattr(
        driver, "cuLaunchKernelEx", lambda config, *rest: (configs.append(config), launch(config, *rest))[1]
    )
    for arch, early in (("sm_80", False), ("sm_90", True)):
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=64, dtype="f16", arch=arch)
        assert reduce.dependent == early
        step = (reduce, (2, 1, 1), (64, 1, 1), 0, [None, None, None, 2, 1])
        del configs[:]
        replay.record([step, step])
        first, second = configs
        assert first.numAttrs == 0
        assert second.numAttrs == early
        if early:
            (attribute,) = second.attrs
            assert attribute.id == driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            assert attribute.value.programmaticStreamSerializationAllowed == 1


def test_what_a_compiler_adds_to_a_kernel_is_added_to_its_launch(log):
    ptx = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 n, .param .u64 scratch)
{
    ret;
}
"""
    kernel = CompiledKernel("k", "sm_80", ptx, "", "k.py", shared=96, block=32, trailing=(None,))
    replay.record([(kernel, 1, kernel.block, 0, [13])])
    assert [call[1:] for call in log if call[0] == "cuLaunchKernelEx"] == [(77, (1, 32, 96, 5), 13)]
    with pytest.raises(LaunchError) as wrong:
        replay.record([(kernel, 1, kernel.block, 0, [13, 14])])
    assert str(wrong.value) == "k takes 1 argument (n: .u64), got 2"


def test_a_failed_launch_ends_the_recording(log, monkeypatch):
    from cuda.bindings import driver

    from ptxlab.errors import LaunchError

    failure = driver.CUresult.CUDA_ERROR_INVALID_VALUE
    monkeypatch.setattr(driver, "cuLaunchKernelEx", lambda *args: (failure,))
    node = graph.Node("ptx", "split", (4, 1, 1), (128, 1, 1), [])
    with pytest.raises(LaunchError):
        graph.Graph([node])
    assert log[-1][0] == "cuStreamDestroy"

"""CUDA graphs without a GPU: what a recorded launch is. (What graphs do is tested on the stand-in for a GPU.)"""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace

import pytest

from ptxlab import kernels
from ptxlab.errors import LaunchError
from ptxlab.frontends.kernel import CompiledKernel
from ptxlab.gpu import device, graph
from ptxlab.launch import replay

pytestmark = pytest.mark.assembler  # the driver's bindings come with the same wheels


@pytest.fixture
def log(monkeypatch):
    """The launches that a graph records, as (configuration, first argument), and the names of the other calls; all
    succeed."""
    from cuda.bindings import driver

    calls, success = [], driver.CUresult.CUDA_SUCCESS

    def launch(config, kernel, parameters, extra):
        pointer = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))[0]
        calls.append((config, struct.unpack("<Q", ctypes.string_at(pointer, 8))[0]))
        return (success,)

    returned = {"cuStreamCreate": driver.CUstream(5), "cuKernelGetFunction": 0, "cuStreamEndCapture": 0,
                "cuGraphInstantiate": 0, "cuFuncLoad": None, "cuStreamBeginCapture": None, "cuGraphDestroy": None,
                "cuStreamDestroy": None, "cuGraphExecDestroy": None}  # fmt: skip
    for name, result in returned.items():
        answer = (success,) if result is None else (success, result)
        monkeypatch.setattr(driver, name, lambda *_, name=name, answer=answer: (calls.append(name), answer)[1])
    monkeypatch.setattr(driver, "cuLaunchKernelEx", launch)
    monkeypatch.setattr(device, "current", lambda: SimpleNamespace(handle=0, default_stream=None))
    monkeypatch.setattr(device, "ready", lambda ptx, entry, shared: SimpleNamespace(handle=77))
    return calls


def launches(log):
    """The launches among the calls."""
    return [call for call in log if isinstance(call, tuple)]


def test_a_dependent_launch_may_start_early(log):
    """`decode_reduce` for sm_90 waits by itself, so its launch does not; the first of a graph has none to wait for."""
    from cuda.bindings import driver

    for arch, early in (("sm_80", False), ("sm_90", True)):
        reduce = kernels.get("decode_reduce", "decode").build(head_dim=64, dtype="f16", arch=arch)
        assert reduce.dependent == early
        step = (reduce, (2, 1, 1), (64, 1, 1), 0, [None, None, None, 2, 1])
        del log[:]
        replay.record([step, step])
        (first, _), (second, _) = launches(log)
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
    ((config, argument),) = launches(log)
    assert (config.gridDimX, config.blockDimX, config.sharedMemBytes, argument) == (1, 32, 96, 13)
    with pytest.raises(LaunchError) as wrong:
        replay.record([(kernel, 1, kernel.block, 0, [13, 14])])
    assert str(wrong.value) == "k takes 1 argument (n: .u64), got 2"


def test_a_failed_launch_ends_the_recording(log, monkeypatch):
    from cuda.bindings import driver

    failure = driver.CUresult.CUDA_ERROR_INVALID_VALUE
    monkeypatch.setattr(driver, "cuLaunchKernelEx", lambda *args: (failure,))
    node = graph.Node("ptx", "split", (4, 1, 1), (128, 1, 1), [])
    with pytest.raises(LaunchError):
        graph.Graph([node])
    assert log[-1] == "cuStreamDestroy"

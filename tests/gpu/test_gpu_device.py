"""The GPU launcher: what can be seen without a GPU, and on a GPU its launches, its timing and its faults."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata

import numpy as np
import pytest

from ptxlab.errors import DeviceFault, LaunchError, UnavailableError
from ptxlab.gpu import device, faults, presence

ADD = """\
.version 7.0
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry add(.param .u64 data, .param .f32 amount, .param .align 4 .b8 pair[8])
{
    .reg .b64 %rd<3>; .reg .f32 %f<4>; .reg .b32 %r<6>;
    ld.param.u64 %rd0, [data];
    ld.param.f32 %f0, [amount];
    ld.param.f32 %f2, [pair+4];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %rd1, %r3, 4; add.u64 %rd2, %rd0, %rd1;
    ld.global.f32 %f1, [%rd2];
    add.f32 %f1, %f1, %f0; add.f32 %f1, %f1, %f2; mov.u32 %r4, tile;
    st.shared.f32 [%r4], %f1;
    st.global.f32 [%rd2], %f1;
    ret;
}
"""


@pytest.fixture
def usable() -> Iterator[None]:
    """A fault that a test provokes is forgotten afterwards."""
    before = faults._lost
    yield
    faults._lost = before


def test_arch_keeps_the_full_name_on_its_own_gpu_only() -> None:
    assert device.arch_for("sm_90a", "sm_90") == "sm_90a"
    assert device.arch_for("sm_90a", "sm_100") == "sm_100"
    assert device.arch_for("sm_80", "sm_90") == "sm_90"
    assert device.arch_for("sm_120f", "sm_120") == "sm_120f"


def test_a_stopped_kernel_is_a_fault_and_the_gpu_is_lost(usable: None) -> None:
    error = faults.fault(RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS: While executing a kernel ..."), "scalar")
    assert isinstance(error, DeviceFault)
    assert (error.kind, error.kernel) == ("gpu", "scalar")
    assert str(error) == (
        "gpu: an access outside every allocation (CUDA_ERROR_ILLEGAL_ADDRESS)\n"
        "  hint:   run it with device='cpu', which names the block, the thread, the PTX line and the address; "
        "this process needs a restart before it can use the GPU again"
    )
    assert faults.context_lost() == (
        "scalar was stopped by the GPU (CUDA_ERROR_ILLEGAL_ADDRESS), after which this process cannot use it"
    )
    faults.fault(RuntimeError("CUDA_ERROR_LAUNCH_FAILED"), "second")
    assert faults.context_lost().startswith("scalar was stopped")


def test_what_the_driver_refuses_leaves_the_gpu_usable(usable: None) -> None:
    error = faults.fault(RuntimeError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), "tiled")
    assert isinstance(error, LaunchError)
    assert str(error) == (
        "tiled: the block needs more registers or threads than a multiprocessor has "
        "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)"
    )
    old = faults.fault(RuntimeError("CUDA_ERROR_INVALID_IMAGE"), "tiled")
    assert isinstance(old, UnavailableError)
    assert str(old) == (
        "the GPU's driver does not take the code of this assembler (CUDA_ERROR_INVALID_IMAGE): update the driver, or "
        "install the assembler of the driver's CUDA, such as pip install 'nvidia-nvjitlink<13.1'; "
        "device='cpu' needs neither"
    )
    assert faults.context_lost() == ""


@pytest.mark.assembler
def test_every_named_result_is_one_of_the_drivers() -> None:
    from cuda.bindings import driver

    for name in (*faults.STOPPED, *faults.REFUSED, *faults.TOO_OLD):
        assert faults.result_name(getattr(driver.CUresult, name)) == name
    assert faults.result_name(ValueError("something else")) is None


@pytest.mark.skipif(device.available(), reason="there is a GPU here")
def test_without_a_gpu() -> None:
    with pytest.raises(UnavailableError) as caught:
        device.run(ADD, "add", (1, 1, 1), (1, 1, 1), [])
    assert str(caught.value) == f"no NVIDIA GPU can be used here: {device.unavailable()}; write device='cpu'"


def answers(monkeypatch: pytest.MonkeyPatch, initialised: object, count: int = 0) -> str:
    """Why there is no GPU, for a driver that answers so to the first two questions."""
    from cuda.bindings import driver

    def first(flags: int) -> tuple[object]:
        if isinstance(initialised, Exception):
            raise initialised
        return (initialised,)

    monkeypatch.setattr(driver, "cuInit", first)
    monkeypatch.setattr(driver, "cuDeviceGetCount", lambda: (driver.CUresult.CUDA_SUCCESS, count))
    monkeypatch.setattr(driver, "cuGetErrorString", lambda answer: (driver.CUresult.CUDA_SUCCESS, b"in its own words"))
    return presence.unavailable.__wrapped__()


@pytest.mark.assembler
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no driver to ask")
def test_why_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import driver
    from cuda.pathfinder import DynamicLibNotFoundError

    result = driver.CUresult
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert answers(monkeypatch, result.CUDA_SUCCESS, 1) == ""
    nothing = "NVIDIA's driver answers CUDA_ERROR_NO_DEVICE: it sees no GPU"
    assert answers(monkeypatch, result.CUDA_SUCCESS) == nothing
    assert answers(monkeypatch, result.CUDA_ERROR_NO_DEVICE) == nothing
    says = answers(monkeypatch, result.CUDA_ERROR_NOT_PERMITTED)
    assert says == "NVIDIA's driver answers CUDA_ERROR_NOT_PERMITTED: in its own words"
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    for error in (DynamicLibNotFoundError("long\nlonger"), RuntimeError("Failed to dlopen libcuda.so.1")):
        assert answers(monkeypatch, error) == f"NVIDIA's driver is not installed (no {library})"
    strange = answers(monkeypatch, RuntimeError("Function cuInit not found\nmore"))
    assert strange == "NVIDIA's driver cannot be used: Function cuInit not found"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert answers(monkeypatch, result.CUDA_ERROR_NO_DEVICE) == (
        "NVIDIA's driver answers CUDA_ERROR_NO_DEVICE with CUDA_VISIBLE_DEVICES='7': it sees no GPU"
    )


def test_packages_that_do_not_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"cuda-core": "0.7.0", "cuda-bindings": "13.0.3"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    assert presence._package_trouble() == "cuda-core 0.7.0 is too old: pip install 'cuda-core>=1.0.1,<2'"
    versions["cuda-core"] = "1.0.1"
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    assert presence._package_trouble() == (
        "cuda-core 1.0.1 and cuda-bindings 13.0.3 cannot be imported (import of cuda.core halted; None in "
        "sys.modules): pip install --upgrade cuda-core cuda-bindings"
    )
    del versions["cuda-core"]
    assert presence._package_trouble() == (
        "cuda-core is not installed: pip install 'cuda-core>=1.0.1,<2' cuda-bindings"
    )


def launch(blocks: int, threads: int, shared: int) -> tuple[np.ndarray, float]:
    """What `add` makes of 0, 1, 2, ..."""
    host = np.arange(blocks * threads, dtype=np.float32)
    memory = device.allocate(host.nbytes)
    memory.write(host)
    values = [struct.pack("<Q", memory.address), struct.pack("<f", 2.0), struct.pack("<ff", 0.0, 0.5)]
    seconds = device.run(ADD, "add", (blocks, 1, 1), (threads, 1, 1), values, shared=shared)
    found = memory.read().view(np.float32)
    memory.free()
    return found, seconds


@pytest.mark.gpu
def test_runs_and_times_a_kernel_and_refuses_one_that_is_too_large() -> None:
    found, seconds = launch(10, 100, 16)
    np.testing.assert_array_equal(found, np.arange(1000, dtype=np.float32) + 2.5)
    assert 0 < seconds < 1
    assert device.describe().arch.startswith("sm_")
    with pytest.raises(LaunchError, match="add: a size of the launch is out of range"):
        launch(1, 2048, 16)
    found, _ = launch(2, 32, 60 * 1024)  # more than 48 KB of shared memory
    np.testing.assert_array_equal(found, np.arange(64, dtype=np.float32) + 2.5)


@pytest.mark.gpu
def test_a_bad_address_is_a_fault_in_our_format() -> None:
    code = (
        "import struct\nfrom ptxlab.errors import DeviceFault, UnavailableError\nfrom ptxlab.gpu import device\n"
        f"text = {ADD!r}\n"
        "values = [struct.pack('<Q', 2**45), bytes(4), bytes(8)]\n"
        "try: device.run(text, 'add', (1, 1, 1), (1, 1, 1), values, shared=16)\n"
        "except DeviceFault as fault: print(fault.kind, fault.kernel)\n"
        "try: device.allocate(4)\nexcept UnavailableError: print('lost')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "gpu add\nlost\n"

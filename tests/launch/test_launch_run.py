"""What a launch does to its arguments: copies in and back, poison, device buffers, faults that leave arrays alone."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import numpy as np
import pytest
from emulate_programs import DEVICES
from emulate_programs import kernel as kernel_text

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel, u32, u64

SAXPY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .u32 %i, %n, %t;
    .reg .u64 %x, %y;
    .reg .f32 %a, %xi, %yi;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    ld.param.f32 %a, [a];
    ld.param.u32 %n, [n];
    mov.u32 %i, %ctaid.x;
    mov.u32 %t, %ntid.x;
    mul.lo.u32 %i, %i, %t;
    mov.u32 %t, %tid.x;
    add.u32 %i, %i, %t;
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    mad.wide.u32 %x, %i, 4, %x;
    mad.wide.u32 %y, %i, 4, %y;
    ld.global.f32 %xi, [%x];
    ld.global.f32 %yi, [%y];
    fma.rn.f32 %yi, %a, %xi, %yi;
    st.global.f32 [%y], %yi;
    ret;
}
"""

COPY = kernel_text("add.u64 %rd5, %rd2, %rd4; ld.global.u32 %r5, [%rd5]; st.global.u32 [%rd3], %r5;")

ENGINES = ("step", "cpu")


def arrays(n=100):
    rng = np.random.default_rng(0)
    return rng.standard_normal(n).astype(np.float32), rng.standard_normal(n).astype(np.float32)


@pytest.mark.parametrize("device", ENGINES)
def test_arrays_are_changed_in_place(device):
    x, y = arrays()
    expected = (2.0 * x.astype(np.float64) + y).astype(np.float32)
    kept = x.copy()
    run = pl.launch(SAXPY, 4, 32, pl.const(x), y, 2.0, 100, device=device)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    np.testing.assert_array_equal(x, kept)
    assert run.device == device
    assert run.seconds > 0
    assert run.counters is None
    with pytest.warns(UserWarning, match="lost"):
        pl.launch(SAXPY, 4, 32, x, pl.const(y), 2.0, 100, device=device)
    np.testing.assert_allclose(y, expected, rtol=1e-6)  # a constant is not copied back
    pl.launch(SAXPY, 4, 32, x, x, 2.0, 100, device=device)
    np.testing.assert_allclose(x, kept + 2 * kept, rtol=1e-6)  # the same array twice is one buffer


@pytest.mark.parametrize("device", ENGINES)
def test_unwritten_elements_of_an_output_are_reported(device):
    x = np.arange(40, dtype=np.uint32)
    y = np.zeros((5, 8), np.float32)
    run = pl.launch(COPY, 1, 32, pl.out(y), pl.const(x), device=device)
    assert [str(f) for f in run.findings] == ["unwritten: out: 8 of 40 elements were not written, the first at [4, 0]"]
    assert np.isnan(y[4]).all()
    np.testing.assert_array_equal(y.reshape(-1)[:32].view(np.uint32), x[:32])
    assert pl.launch(COPY, 1, 32, pl.out(y[:4].copy()), pl.const(x), device=device).findings == []
    x[:] = 0xCBCBCBCB  # what the kernel writes counts, even if it equals the poison
    assert pl.launch(COPY, 1, 32, pl.out(np.zeros(32, np.uint32)), pl.const(x), device=device).findings == []


@pytest.mark.parametrize("device", ENGINES)
def test_a_fault_leaves_the_arrays_as_they_were(device):
    x, y = arrays(32)
    kept = y.copy()
    with pytest.raises(pl.DeviceFault) as caught:
        pl.launch(SAXPY, 2, 32, pl.const(x), y, 2.0, 64, device=device)
    assert caught.value.kind == "memcheck"
    assert caught.value.block == (1, 0, 0)
    assert caught.value.thread == (0, 0, 0)
    assert "'x'" in str(caught.value)
    np.testing.assert_array_equal(y, kept)


@pytest.mark.parametrize("device", ENGINES)
def test_device_buffers_stay_between_launches(device):
    x, y = arrays(32)
    on_device, result = pl.to_device(x, device="cpu"), pl.empty(32, np.float32, device="cpu")
    result.copy_from_host(y)
    for _ in range(3):
        pl.launch(SAXPY, 1, 32, on_device, result, 2.0, 32, device=device)
    np.testing.assert_allclose(np.asarray(result), y + 6 * x, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(on_device.copy_to_host(), x)
    result.free()
    at = f"{os.path.relpath(__file__)}:{inspect.currentframe().f_lineno - 1}"
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(SAXPY, 1, 32, on_device, result, 2.0, 32, device=device)
    assert str(caught.value) == f"saxpy, argument 2 (y: .u64): the buffer was freed at {at}"
    with pytest.raises(pl.LaunchError) as caught:
        result.copy_to_host()
    assert str(caught.value) == (
        f"DeviceBuffer(float32 [32] at {result.address:#x} on cpu, freed) cannot be used any more: it was freed at {at}"
    )


def test_a_stale_pointer_is_noticed():
    x = pl.to_device(np.zeros(32, np.uint32), device="cpu")
    address = x.address
    y = pl.empty(32, np.uint32, device="cpu")
    pl.launch(COPY, 1, 32, y, address, device="step")  # a pointer may be given as a number
    x.free()
    at = f"{os.path.relpath(__file__)}:{inspect.currentframe().f_lineno - 1}"
    with pytest.raises(pl.DeviceFault) as caught:
        pl.launch(COPY, 1, 32, y, address, device="step")
    assert caught.value.message == (
        f"load of 4 bytes at {address:#x}: byte 0 of an allocation (128 bytes at {address:#x}), which was freed at {at}"
    )


def test_a_buffer_of_another_shape_is_refused():
    buffer = pl.empty((2, 3), np.float64, device="cpu")
    with pytest.raises(pl.LaunchError) as caught:
        buffer.copy_from_host(np.zeros((3, 2)))
    assert str(caught.value) == "the buffer holds float64 [2, 3], the array is float64 [3, 2]"


def test_auto_is_the_compiling_engine_where_there_is_no_gpu(monkeypatch):
    import sys

    from ptxlab import gpu

    monkeypatch.setattr(gpu, "available", lambda: False)
    x, y = arrays(32)
    assert pl.launch(SAXPY, 1, 32, x, y, 2.0, 32).device == "cpu"
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert pl.launch(SAXPY, 1, 32, x, y, 2.0, 32).device == "step"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"counters": True}, "counters belong to the emulator; write device='cpu'"),
        ({"tier": "quick"}, "tier belongs to the emulator; write device='cpu'"),
        ({"budget": 10, "seed": 3}, "seed and budget belong to the emulator; write device='cpu'"),
    ],
)
def test_what_only_the_cpu_machine_has_is_refused_on_a_gpu(options, message):
    x, y = arrays(32)
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(SAXPY, 1, 32, x, y, 2.0, 32, device="gpu", **options)
    assert str(caught.value) == message


class Recorder:
    """Keeps every step of warp 0 of block 1."""

    def __init__(self):
        self.steps = []

    def wants(self, block, warp):
        return (block, warp) == (1, 0)

    def record(self, step):
        self.steps.append(step)


def test_a_trace_is_recorded_by_the_interpreter():
    x, y = arrays(64)
    recorder = Recorder()
    run = pl.launch(SAXPY, 2, 32, x, y, 2.0, 64, trace=recorder)
    assert run.device == "step"
    assert run.trace is recorder
    assert len(recorder.steps) == 18
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(SAXPY, 2, 32, x, y, 2.0, 64, trace=recorder, device="cpu")
    assert str(caught.value) == "trace: the JIT records no steps; write device='step'"


@pytest.mark.parametrize("device", ENGINES)
def test_clusters_are_refused_where_there_are_none(device):
    x, y = arrays(64)
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(SAXPY, 2, 32, x, y, 2.0, 64, cluster=2, device=device)
    assert str(caught.value) == "cluster: sm_80 has no clusters; they need sm_90 or later"


def test_a_buffer_on_another_device_is_refused():
    x = pl.to_device(np.zeros(32, np.float32), device="cpu")
    with pytest.raises(pl.LaunchError) as caught:
        pl.launch(SAXPY, 1, 32, x, x, 2.0, 32, device="gpu")
    assert str(caught.value) == "x: .u64: the buffer is on 'cpu', the launch is on 'gpu'"


def test_a_run_shows_itself():
    x, y = arrays(40)
    run = pl.launch(SAXPY, (2, 1), 32, pl.const(x), pl.out(y), 2.0, 33, device="step", counters=True)
    first, second = repr(run).splitlines()
    assert first.startswith("saxpy on step: ")
    assert first.endswith(f", grid 2, block 32, {run.counters.thread_instructions:,} thread-instructions")
    assert second == "  unwritten: y: 7 of 40 elements were not written, the first at [33]"
    bundle = run._repr_mimebundle_()
    assert bundle["text/plain"] == repr(run)
    assert bundle["text/html"].startswith("<pre>saxpy on step")


@pytest.mark.gpu
def test_on_a_gpu():
    x, y = arrays()
    expected = (2.0 * x.astype(np.float64) + y).astype(np.float32)
    run = pl.launch(SAXPY, 4, 32, pl.const(x), y, 2.0, 100, device="gpu")
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert run.device == "gpu"
    out = np.zeros(40, np.float32)
    run = pl.launch(COPY, 1, 32, pl.out(out), pl.const(x), device="gpu")
    assert [str(f) for f in run.findings] == ["unwritten: out: 8 of 40 elements were not written, the first at [32]"]
    buffer, result = pl.to_device(x, device="gpu"), pl.empty(100, device="gpu")
    result.copy_from_host(y)
    pl.launch(SAXPY, 4, 32, buffer, result, 2.0, 100)
    np.testing.assert_allclose(result.copy_to_host(), y + 2 * x, rtol=1e-5, atol=1e-6)
    buffer.free()
    result.free()


@pytest.mark.parametrize("device", ["cpu", "step"])
def test_lanes_that_lie_more_than_4_gib_apart(device):
    """Each round adds to numbers at both ends of one buffer: offsets into it need more than 32 bits."""

    @kernel
    def both_ends(k: Builder, data: Ptr[f32], far: u64, rounds: u32) -> None:
        lane = k.tid.x
        at = data + k.select(lane % 2 == 0, far, 0) + lane // 2
        with k.loop(rounds):
            at[0] = at[0] + 1.0

    far = 2**30 + 4
    data = pl.empty(far + 16, np.float32, device=device)
    numbers = data.data.view(np.float32)
    numbers[:16], numbers[far:] = np.arange(16), np.arange(100, 116)
    pl.launch(both_ends, 1, 32, data, far, 3, device=device)
    np.testing.assert_array_equal(numbers[:16], np.arange(16) + 3)
    np.testing.assert_array_equal(numbers[far:], np.arange(100, 116) + 3)
    del numbers
    data.free()


@pytest.mark.parametrize("file", ["saxpy.O3.ptx", "saxpy.G.ptx"])
def test_a_parsed_module_with_text_behind_its_last_item(file: str) -> None:
    text = (Path(__file__).parents[1] / "corpus" / "cuda" / file).read_text()
    module = pl.parse(text)
    assert module.trailing.isspace()
    x, y = np.arange(40, dtype=np.float32), np.ones(40, np.float32)
    for given in (module, text):
        assert pl.launch(given, 1, 64, 40, 2.0, x, y, device="step").kernel == "saxpy"
    assert (y == 1 + 4 * np.arange(40)).all()


@pytest.mark.parametrize("option", [{"budget": 1 << 62}, {"seed": np.int32(3)}, {"shared": np.int64(16)}])
def test_numbers_of_any_size_and_kind_are_numbers(option: dict[str, object]) -> None:
    out = np.zeros(32, np.uint32)
    for device in DEVICES:
        pl.launch(kernel_text("st.global.u32 [%rd3], 1;"), 1, 32, out, out, device=device, **option)
        assert (out == 1).all()

"""Arrays of programs of Triton in the machine's memory, and what an autotuner compares: without Triton itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptxlab as pl
from ptxlab.drivers.triton_arrays import ALIGNED, Addresses, extent, tensor
from ptxlab.drivers.triton_driver import scalar
from ptxlab.drivers.triton_tuning import cost
from ptxlab.errors import LaunchError


def test_an_array_has_the_methods_of_a_tensor_and_its_memory() -> None:
    x = np.arange(6, dtype=np.float16).reshape(2, 3)
    t = tensor(x)
    assert (t.stride(), t.stride(1), t.numel(), t.element_size(), t.is_contiguous()) == ((3, 1), 1, 6, 2, True)
    t.clone().zero_()
    assert x[1, 2] == 5
    t.zero_().copy_(np.ones((2, 3)))
    assert (x == 1).all()
    assert tensor((x, np.int64(3)))[1] == 3
    assert t.data_ptr() == x.ctypes.data


def test_arrays_that_overlap_are_one_allocation_and_others_are_not() -> None:
    base, other = np.arange(100, dtype=np.int32), np.zeros(4, np.int32)
    placed, addresses = Addresses().place(
        [("a", base[10:20]), ("b", base[15:30][::-1]), ("c", other), ("d", base[40:])]
    )
    assert [(p.buffer.name, p.extent.end - p.extent.start) for p in placed if p.extent.memory == base.ctypes.data] == [
        ("a", 80),
        ("d", 240),
    ]
    assert addresses[1] - addresses[0] == 19 * 4
    assert [address % ALIGNED for address in addresses] == [40, 116, 0, 160]
    for each in placed:
        each.buffer.data[:] = 0xFF
        each.copy_back()
    assert base[9:31].tolist() == [9, *[-1] * 20, 30]


def test_addresses_that_a_program_asks_for_stay() -> None:
    addresses, x = Addresses(), np.arange(8, dtype=np.int64)
    assert addresses.address_of(x[2:]) == addresses.address_of(x) + 16
    placed, found = addresses.place([("x", x[4:])])
    assert len(placed) == 1
    assert found == [addresses.address_of(x) + 32]
    addresses.quiet += 1
    assert addresses.address_of(x[2:]) == 16


def test_a_tensor_of_a_gpu_is_refused() -> None:
    on_gpu: Any = SimpleNamespace(device=SimpleNamespace(type="cuda"))
    with pytest.raises(LaunchError) as refused:
        extent(on_gpu, "x_ptr")
    assert str(refused.value).endswith("; the emulator takes CPU tensors\n  write:  x_ptr.cpu()")


@pytest.mark.parametrize(
    ("kind", "value", "type_", "wanted"),
    [
        ("i32", -1, "u32", np.uint32(0xFFFFFFFF)),
        ("u1", True, "u8", np.uint8(1)),
        ("i64", -2, "s64", np.int64(-2)),
        ("fp32", 0.5, "f32", np.float32(0.5)),
        ("fp16", 1, "u16", np.uint16(0x3C00)),
        ("bf16", -1, "b16", np.uint16(0xBF80)),
    ],
)
def test_scalars(kind: str, value: Any, type_: str, wanted: Any) -> None:
    found = scalar(kind, value, type_)
    assert (found, found.dtype) == (wanted, wanted.dtype)


def test_the_busiest_unit_decides_what_a_launch_costs() -> None:
    ptx = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [x];
  ld.global.u32 %r1, [%rd1];
  ret;
}"""
    run = pl.launch(ptx, 109, 32, np.zeros(1, np.uint32), device="step", counters=True)
    found = cost(run, "sm_80")
    # 109 blocks of three instructions on 108 multiprocessors: two rounds, each of 3 / 4 clocks
    assert (found.unit, round(found.clocks, 6)) == ("instructions", 1.5)

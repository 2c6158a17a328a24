"""Memory of the benchmarks: pieces of device buffers, filled with NaN, searched for NaN, and read a few rows at a time.

Everything works on a GPU and on the emulator alike (`device="gpu"` or "cpu").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ml_dtypes import bfloat16

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, b32, kernel, u32, u64

THREADS = 256
NUMPY = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(bfloat16)}
INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000}
"""The bits of infinity: what is greater, the sign left out, is NaN."""


@kernel
def fill(k: Builder, to: Ptr[b32], chunks: u64, value: u32) -> None:
    """Every word of `chunks` times 16 bytes becomes `value`."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    word = k.bitcast(b32, value)
    with k.loop(chunks, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        k.store(to + i * 4, [word] * 4, vector=4)


@kernel
def count_nan_halves(k: Builder, source: Ptr[b32], chunks: u64, infinity: u32, count: Ptr[u32]) -> None:
    """Adds to `count` how many of the f16 or bf16 in `chunks` times 16 bytes are NaN."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    found = k.var(u32, 0)
    with k.loop(chunks, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        for loaded in k.load(source + i * 4, 4, vector=4):
            word = k.bitcast(u32, loaded)
            for half in (word & 0x7FFF, (word >> 16) & 0x7FFF):
                found += k.select(half > infinity, 1, 0, type=u32)
    with k.guard(found > 0):
        k.red(count, found, operation="add")


@kernel
def count_nan_words(k: Builder, source: Ptr[b32], chunks: u64, infinity: u32, count: Ptr[u32]) -> None:
    """Adds to `count` how many of the f32 in `chunks` times 16 bytes are NaN."""
    stride = k.cvt(u64, k.nctaid.x * THREADS)
    found = k.var(u32, 0)
    with k.loop(chunks, start=k.cvt(u64, k.thread_index()), step=stride) as i:
        for loaded in k.load(source + i * 4, 4, vector=4):
            found += k.select((k.bitcast(u32, loaded) & 0x7FFFFFFF) > infinity, 1, 0, type=u32)
    with k.guard(found > 0):
        k.red(count, found, operation="add")


class Part(pl.DeviceBuffer):
    """`shape` elements of a device buffer from byte `at` on, as an argument for launches. The whole owns the memory."""

    def __init__(self, whole: pl.DeviceBuffer, at: int, shape: Sequence[int], dtype: Any = None) -> None:
        self.whole, self.at = whole, at
        self.shape, self.dtype = tuple(shape), np.dtype(whole.dtype if dtype is None else dtype)
        self.device, self.name, self.freed = whole.device, whole.name, False
        self.nbytes = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        self.address = whole.address + at
        if at + self.nbytes > whole.nbytes:
            raise ValueError(f"bytes {at} to {at + self.nbytes} of a buffer of {whole.nbytes}")

    def copy_to_host(self) -> Any:
        """A new numpy array with what is there."""
        return read(self, 0, self.shape)

    def free(self) -> None:
        """Nothing: the whole is freed."""
        self.freed = True


def parts(whole: pl.DeviceBuffer) -> list[Part]:
    """The elements of the first dimension, one by one."""
    count, *shape = whole.shape
    return [Part(whole, n * (whole.nbytes // count), shape) for n in range(count)]


def read(buffer: pl.DeviceBuffer, first: int, shape: Sequence[int]) -> Any:
    """An array of this shape from element `first` of a buffer on, without the rest of it."""
    host = np.empty(shape, buffer.dtype)
    start = first * buffer.dtype.itemsize
    if start + host.nbytes > buffer.nbytes:
        raise ValueError(f"bytes {start} to {start + host.nbytes} of a buffer of {buffer.nbytes}")
    if buffer.device == "gpu":
        from cuda.bindings import driver

        from ptxlab.gpu import device

        device.current()
        device.check(driver.cuMemcpyDtoH(host.ctypes.data, buffer.address + start, host.nbytes))
    else:
        whole, at = (buffer.whole, buffer.at) if isinstance(buffer, Part) else (buffer, 0)
        host.reshape(-1).view(np.uint8)[:] = whole.data[at + start : at + start + host.nbytes]
    return host


def words(buffer: pl.DeviceBuffer) -> tuple[Part, int]:
    """The buffer as 32-bit words, and how many times 16 bytes it has."""
    if buffer.nbytes % 16:
        raise ValueError(f"a buffer of {buffer.nbytes} bytes; the kernels want a multiple of 16")
    whole, at = (buffer.whole, buffer.at) if isinstance(buffer, Part) else (buffer, 0)
    return Part(whole, at, (buffer.nbytes // 4,), np.uint32), buffer.nbytes // 16


def poison(buffer: pl.DeviceBuffer, blocks: int) -> None:
    """NaN everywhere: all bits 1, which is one in every floating-point type."""
    to, chunks = words(buffer)
    pl.launch(fill, min(blocks, -(-chunks // THREADS)), THREADS, to, chunks, 0xFFFFFFFF, device=buffer.device)


def nans(buffer: pl.DeviceBuffer, dtype: str, blocks: int) -> int:
    """How many elements of type `dtype` are NaN."""
    source, chunks = words(buffer)
    count = pl.to_device(np.zeros(1, np.uint32), device=buffer.device)
    counter = count_nan_words if dtype == "f32" else count_nan_halves
    grid = min(blocks, -(-chunks // THREADS))
    pl.launch(counter, grid, THREADS, source, chunks, INFINITY[dtype], count, device=buffer.device)
    found = int(count.copy_to_host()[0])
    count.free()
    return found

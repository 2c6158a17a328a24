"""Traps of wgmma that are caught when a kernel is written."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptxlab.builder import Builder, f32, kernel, u64
from ptxlab.errors import BuildError

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"


def built(write: Callable[[Builder], None]) -> str:
    @kernel(arch="sm_90a")
    def f(k: Builder) -> None:
        write(k)

    return str(f().ptx)


def multiply(k: Builder, d: list[object]) -> None:
    tile = k.mov(0, u64)
    k.op(PRODUCT, tile, tile, tile == 0, 1, 1, 0, 0, into=d)


def test_a_fence_left_out() -> None:
    with pytest.raises(BuildError) as raised:
        built(lambda k: multiply(k, k.vars(f32, 4, 0.0)))
    assert "the first wgmma of a kernel must come after a wgmma.fence, which orders its registers" in str(raised.value)
    assert 'write:  k.op("wgmma.fence.sync.aligned")' in str(raised.value)


def test_a_wait_left_out() -> None:
    def write(k: Builder) -> None:
        d = k.vars(f32, 4, 0.0)
        k.op("wgmma.fence.sync.aligned")
        multiply(k, d)
        multiply(k, d)  # more products may add to it
        k.op("wgmma.commit_group.sync.aligned")
        d[0].set(d[0] + 1.0)

    with pytest.raises(BuildError) as raised:
        built(write)
    assert "%d0 is an accumulator of a wgmma that nothing has waited for yet" in str(raised.value)
    assert 'k.op("wgmma.wait_group.sync.aligned", 0)' in str(raised.value)


def test_both_in_their_places() -> None:
    def write(k: Builder) -> None:
        d = k.vars(f32, 4, 0.0)
        k.op("wgmma.fence.sync.aligned")
        multiply(k, d)
        k.op("wgmma.commit_group.sync.aligned")
        k.op("wgmma.wait_group.sync.aligned", 0)
        d[0].set(d[0] + 1.0)

    assert "wgmma.wait_group.sync.aligned 0;" in " ".join(built(write).split())

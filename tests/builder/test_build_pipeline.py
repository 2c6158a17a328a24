"""Roles, pipelines and tensor maps: what they emit, and their traps, whole messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ptxlab.builder import Builder, TensorMap, b32, f32, kernel, u32
from ptxlab.errors import BuildError


def built(write: Callable[[Builder, Any], None]) -> str:
    """The PTX of a kernel with a tensor map, without blanks at the ends and runs of them."""

    @kernel(arch="sm_90a")
    def f(k: Builder, x: TensorMap) -> None:
        write(k, x)

    return "\n".join(" ".join(line.split("//")[0].split()) for line in f().ptx.splitlines())


def refused(write: Callable[[Builder, Any], None]) -> str:
    """The error of a kernel without its first word, the place; the line and the caret left out."""
    with pytest.raises(BuildError) as raised:
        built(write)
    first, *others = str(raised.value).splitlines()
    return "\n".join(
        [first.split(": ", 1)[1], *(line for line in others if line.startswith(("  write:", "          ")))]
    )


def both(k: Builder, x: TensorMap) -> None:
    k.launch_bounds(384)
    x.box(32, 32, swizzle=64)
    tile = k.dynamic_shared(b32, align=1024)
    ring = k.pipeline(stages=2, arrivals=128)
    k.barrier()
    with k.warpgroup(0, registers=40), k.if_(k.tid.x == 0):
        turn = ring.producer()
        with k.loop(k.mov(5, u32)) as n:
            turn.wait()
            turn.expect(2048)
            x.load(tile + turn.stage * 512, turn.full, n * 32, 0)
            turn.next()
    with k.warpgroup(1, registers=232):
        turn = ring.consumer()
        with k.loop(k.mov(5, u32)):
            turn.wait()
            turn.release()
            turn.next()


def test_what_a_pipeline_emits() -> None:
    text = built(both)
    for line in (
        ".param .align 64 .b8 x[128]",
        ".shared .align 8 .b64 ring_full[2];",
        ".shared .align 8 .b64 ring_empty[2];",
        "fence.mbarrier_init.release.cluster;",
        "setmaxnreg.dec.sync.aligned.u32 40;",
        "setmaxnreg.inc.sync.aligned.u32 232;",
        "cvta.param.u64 %x, %rd1;",
    ):
        assert line in text, line
    assert text.count("mbarrier.init.shared::cta.b64") == 4
    assert text.count("mbarrier.try_wait.parity.shared::cta.b64") == 2
    assert "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" in text
    assert text.count("xor.b32 %phase") == 2  # each of the two roles flips its own


def test_the_phase_is_not_flipped() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        turn = k.pipeline(2, arrivals=1).consumer()
        k.barrier()
        turn.wait()
        turn.release()
        turn.wait()

    line = write.__code__.co_firstlineno + 3
    assert refused(write) == (
        f"this turn has waited already, on line {line}; that phase is over, and a second wait for it passes at once\n"
        "  write:  turn.next()\n          turn.wait()"
    )


def test_the_phase_is_not_flipped_in_a_loop() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        turn = k.pipeline(2, arrivals=1).consumer()
        k.barrier()
        with k.loop(k.mov(3, u32)):
            turn.wait()
            turn.release()

    assert refused(write) == (
        "this wait is in a loop that does not go on to the next stage: from the second round on it names a phase that "
        "is over, and passes at once\n  write:  turn.next()"
    )


def test_no_barrier_behind_the_initialisation() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        k.pipeline(2, arrivals=1).consumer().wait()

    assert refused(write) == (
        "one thread initialises the mbarriers, and no barrier stands between that and this wait\n  write:  k.barrier()"
    )


def test_bytes_that_nobody_announced() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        x.box(64)
        turn = k.pipeline(2, arrivals=1).producer()
        k.barrier()
        turn.wait()
        x.load(k.dynamic_shared(b32), turn.full, 0)
        turn.next()

    assert refused(write) == (
        "no bytes were announced for this stage: its phase never ends, and its consumers wait for ever\n"
        "  write:  turn.expect(nbytes)"
    )


def test_a_stage_that_is_not_released() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        turn = k.pipeline(2, arrivals=1).consumer()
        k.barrier()
        turn.wait()
        turn.next()

    assert refused(write) == ("this stage was not released: its producer waits for ever\n  write:  turn.release()")


def test_a_release_before_the_wait() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        k.pipeline(2, arrivals=1).consumer().release()

    assert refused(write) == "a stage is released that this turn has not waited for\n  write:  turn.wait()"


def test_a_barrier_of_the_block_in_a_role() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        with k.warpgroup(1):
            k.barrier()

    assert refused(write) == (
        "this barrier waits for all threads of the block, and only some of its warpgroups come here\n"
        "  write:  k.barrier(1, 128)"
    )


def test_more_registers_than_there_are() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        k.launch_bounds(384)
        for n in range(3):
            with k.warpgroup(n, registers=240):
                pass

    assert refused(write) == (
        "the roles ask for 92160 registers, a multiprocessor has 65536; the last to ask waits for ever"
    )


def test_a_warpgroup_that_there_is_not() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        k.launch_bounds(256)
        k.warpgroup(2)

    assert refused(write) == "warpgroup 2 is none of a block of 256 threads"


def test_a_box_that_was_not_said() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        x.store(k.dynamic_shared(b32), 0, 0)

    assert refused(write) == "what a tile of x is was not said\n  write:  x.box(64, 64, swizzle=128)"


def test_a_place_of_other_dimensions() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        x.box(8, 8)
        x.store(k.dynamic_shared(b32), 0)

    assert refused(write) == "the box of x has 2 dimensions, the place has 1"


def test_no_proxy_fence_before_a_copy() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        x.box(64)
        tile = k.dynamic_shared(f32)
        tile[k.tid.x] = 1.0
        k.barrier()
        x.store(tile, 0)

    assert refused(write) == (
        "threads have stored to shared memory, and this copy reads it by another path, the async proxy; no fence "
        "stands between\n"
        '  write:  k.op("fence.proxy.async.shared::cta")  # by the threads that stored, before the barrier'
    )


def test_a_pipeline_that_is_filled_once() -> None:
    def write(k: Builder, x: TensorMap) -> None:
        k.pipeline(2).producer().wait()

    assert refused(write) == ("nobody releases a stage of this pipeline\n  write:  k.pipeline(stages, arrivals=...)")

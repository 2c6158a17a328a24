"""wgmma where it cannot work: missing warps, descriptors that leave shared memory, waits that are too early."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS
from small_warpgroups import COMMIT, MULTIPLY, PRODUCT, WAIT, program

import ptxlab as pl
from ptxlab.errors import DeviceFault


def run(device: str, body: str, threads: int = 128) -> np.ndarray:
    out = np.zeros(threads, np.float32)
    pl.launch(program(body), 1, threads, out, device=device)
    return out


def test_results_come_with_the_wait(device: str) -> None:
    """Before it, and behind a wait that leaves the group in flight, the old contents are seen."""
    assert (run(device, MULTIPLY + COMMIT + WAIT) == 32).all()
    assert (run(device, MULTIPLY + COMMIT) == 42).all()
    assert (run(device, MULTIPLY + WAIT) == 42).all()  # the group is not closed
    assert (run(device, MULTIPLY + COMMIT + WAIT.replace("0;", "1;")) == 42).all()
    assert (run(device, MULTIPLY + COMMIT + COMMIT + WAIT.replace("0;", "1;")) == 32).all()


def test_what_a_product_reads_late(device: str) -> None:
    """What is written to its tile before the wait is multiplied."""
    spoil = "    bar.sync 0;\n    @%p1 st.shared.v4.b32 [%r6], {%r3, %r3, %r3, %r3};\n    bar.sync 0;\n"
    assert (run(device, MULTIPLY + COMMIT + spoil + WAIT) == 64).all()
    assert (run(device, MULTIPLY + COMMIT + WAIT + spoil) == 32).all()


ROUNDS = 6
RELEASE = """    and.b32 %q4, %r1, 127;
    setp.eq.u32 %p3, %q4, LANE;
    @%p3 mbarrier.arrive.shared.b64 _, [empty];
"""
RING = f"""
    .reg .b32 %q<5>; .reg .b16 %h1; .reg .pred %w; .shared .align 8 .b64 full;
    .shared .align 8 .b64 empty;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 mbarrier.init.shared.b64 [full], 1;
    @%p3 mbarrier.init.shared.b64 [empty], GROUPS;
    fence.proxy.async;
    bar.sync 0;
    mov.u32 %q1, 0; setp.gt.u32 %p3, %r2, 3; @%p3 bra CONSUMER;
    setp.ne.u32 %p3, %r2, 0;
    @%p3 ret;
PRODUCER:
    not.b32 %q2, %q1; and.b32 %q2, %q2, 1;
FREE:
    mbarrier.try_wait.parity.shared::cta.b64 %w, [empty], %q2;
    @!%w bra FREE;
    add.u32 %q1, %q1, 1; cvt.rn.f16.u32 %h1, %q1; mov.b32 %q3, {{%h1, %h1}};
    @%p1 st.shared.v4.b32 [%r6], {{%q3, %q3, %q3, %q3}};
    fence.proxy.async;
    bar.warp.sync 0xffffffff;
    setp.eq.u32 %p3, %r1, 0;
    @%p3 mbarrier.arrive.shared.b64 _, [full];
    setp.lt.u32 %p3, %q1, {ROUNDS}; @%p3 bra PRODUCER;
    ret;
CONSUMER:
    and.b32 %q2, %q1, 1;
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %w, [full], %q2;
    @!%w bra FULL;
    setp.ne.u32 %p2, %q1, 0;
    wgmma.fence.sync.aligned;
{MULTIPLY}{COMMIT}{WAIT}
{RELEASE}    add.u32 %q1, %q1, 1;
    setp.lt.u32 %p3, %q1, {ROUNDS}; @%p3 bra CONSUMER;
"""
"""Warp 0 fills b again and again; one thread of each warpgroup of consumers says that it may."""


@pytest.mark.long
@pytest.mark.sweep(4)
@pytest.mark.parametrize("lane", [0, 127])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("seeds", [(None, 0), pytest.param(range(1, 21), marks=pytest.mark.rest)], ids=["few", "many"])
def test_a_wait_is_over_when_the_whole_warpgroup_has_begun(
    device: str, groups: int, lane: int, seeds: Iterable[int | None]
) -> None:
    """No warp misses a phase of `full`, since none has seen its product done before the last has begun it."""
    text = program(RING.replace("GROUPS", str(groups)).replace("LANE", str(lane)))
    first = "    st.shared.v4.b32 [%r6], {%r3"
    text = text.replace(first, f"    setp.lt.u32 %p3, %r1, 128;\n    @%p3 {first.strip()}")  # `a` has room for so many
    threads, total = 128 * (groups + 1), 32 * sum(range(1, ROUNDS + 1))
    for seed in seeds:
        out = np.zeros(threads, np.float32)
        report = pl.launch(text, 1, threads, out, device=device, seed=seed, budget=300_000, checks=ALL_CHECKS)
        assert (out[128:] == total).all(), seed
        assert not report.findings, seed


def test_a_tile_that_is_released_before_the_product_races_with_it(device: str) -> None:
    early = RING.replace(RELEASE, "").replace(
        "    wgmma.fence.sync.aligned;\n", RELEASE + "    wgmma.fence.sync.aligned;\n"
    )
    text = program(early.replace("GROUPS", "1").replace("LANE", "0"))
    report = pl.launch(text, 1, 256, np.zeros(256, np.float32), device=device, budget=300_000, checks=ALL_CHECKS)
    assert any("WAR hazard" in str(finding) and "multiplies matrices" in str(finding) for finding in report.findings)


def test_more_products_than_a_warp_keeps(device: str) -> None:
    adds = "    setp.eq.u32 %p2, 0, 0;\n"
    assert (run(device, MULTIPLY + adds + MULTIPLY * 99 + COMMIT + WAIT) == 3200).all()


def test_a_warp_that_is_missing(device: str) -> None:
    body = "    setp.eq.u32 %p3, %r2, 2;\n    @%p3 bra $over;\n" + MULTIPLY * 2 + COMMIT + "$over:\n" + WAIT
    with pytest.raises(DeviceFault) as raised:
        run(device, body)
    line = program(body).splitlines().index("    @%p3 bra $over;") + 3
    assert raised.value.kind == "deadlock"
    assert raised.value.message == (
        "the four warps of a warpgroup execute each wgmma.mma_async together, or wait for each other for ever; these "
        f"have not:\n    warp 0: 2 products, the last in line {line}\n    warp 1: 2 products, the last in line {line}"
        f"\n    warp 2: 0 products\n    warp 3: 2 products, the last in line {line}"
    )


def test_warps_that_execute_others(device: str) -> None:
    body = (
        "    setp.eq.u32 %p3, %r2, 2;\n    @%p3 bra $other;\n"
        + MULTIPLY
        + "    bra.uni $over;\n$other:\n"
        + MULTIPLY
        + "$over:\n"
        + COMMIT
        + WAIT
    )
    with pytest.raises(DeviceFault) as raised:
        run(device, body)
    first, second = (k + 1 for k, text in enumerate(program(body).splitlines()) if PRODUCT in text)
    said = f"warp 1: 1 product, the last in line {first}\n    warp 2: 1 product, the last in line {second}"
    assert said in raised.value.message


def test_a_block_that_is_no_warpgroup(device: str) -> None:
    with pytest.raises(DeviceFault) as raised:
        run(device, MULTIPLY + COMMIT + WAIT, 64)
    assert raised.value.message == (
        f"{PRODUCT} needs a warpgroup, four warps in a row of which the first is a multiple of 4; warp 0 is in none, "
        "since the block has 2 warps"
    )
    assert raised.value.hint == "launch it with a multiple of 128 threads per block"


@pytest.mark.parametrize(("which", "more", "address"), [("b", 0x10, 0xD00), ("a", 0x110, 0xD00), ("a", 0x2000, 0x2400)])
def test_a_descriptor_that_leaves_shared_memory(device: str, which: str, more: int, address: int) -> None:
    body = f"    add.u64 %d{which}, %d{which}, {more >> 4};\n" + MULTIPLY + COMMIT + WAIT
    with pytest.raises(DeviceFault) as raised:
        run(device, body)
    assert raised.value.message.startswith(
        f"the descriptor of {which} describes a tile that leaves shared memory: load of 16 bytes at {address:#x}: the "
        "block's shared memory is 2304 bytes at 0x400; "
    )
    assert raised.value.hint == "look at its start address, its leading and stride byte offsets, and the swizzle"


def test_part_of_a_warp(device: str) -> None:
    with pytest.raises(DeviceFault) as raised:
        run(device, "    @%p1 " + MULTIPLY.strip() + "\n" + COMMIT + WAIT)
    assert raised.value.message == f"{PRODUCT} needs all 32 lanes of the warp; its guard holds in lanes 0-15 only"


def test_descriptors_that_differ(device: str) -> None:
    with pytest.raises(DeviceFault) as raised:
        run(device, "    cvt.u64.u32 %rd5, %r1;\n    add.u64 %db, %db, %rd5;\n" + MULTIPLY + COMMIT + WAIT)
    assert "lane 1 has others than lane 0" in raised.value.message


def test_lanes_that_come_apart(device: str) -> None:
    """They wait for each other at each instruction of wgmma."""
    body = (
        "    and.b32 %r8, %r1, 1;\n    setp.eq.u32 %p3, %r8, 0;\n    @%p3 bra $even;\n"
        "    add.u32 %r8, %r8, 5;\n$even:\n" + MULTIPLY + COMMIT + WAIT
    )
    assert (run(device, body) == 32).all()

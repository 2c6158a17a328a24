"""wgmma where it cannot work: missing warps, descriptors that leave shared memory, waits that are too early."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import DEVICES
from small_warpgroups import COMMIT, MULTIPLY, PRODUCT, WAIT, program

import ptxlab as pl
from ptxlab.errors import DeviceFault


def run(device: str, body: str, threads: int = 128) -> np.ndarray:
    out = np.zeros(threads, np.float32)
    pl.launch(program(body), 1, threads, out, device=device)
    return out


@pytest.mark.parametrize("device", DEVICES)
def test_results_come_with_the_wait(device: str) -> None:
    """Before it, and behind a wait that leaves the group in flight, the old contents are seen."""
    assert (run(device, MULTIPLY + COMMIT + WAIT) == 32).all()
    assert (run(device, MULTIPLY + COMMIT) == 42).all()
    assert (run(device, MULTIPLY + WAIT) == 42).all()  # the group is not closed
    assert (run(device, MULTIPLY + COMMIT + WAIT.replace("0;", "1;")) == 42).all()
    assert (run(device, MULTIPLY + COMMIT + COMMIT + WAIT.replace("0;", "1;")) == 32).all()


@pytest.mark.parametrize("device", DEVICES)
def test_what_a_product_reads_late(device: str) -> None:
    """What is written to its tile before the wait is multiplied."""
    spoil = "    bar.sync 0;\n    @%p1 st.shared.v4.b32 [%r6], {%r3, %r3, %r3, %r3};\n    bar.sync 0;\n"
    assert (run(device, MULTIPLY + COMMIT + spoil + WAIT) == 64).all()
    assert (run(device, MULTIPLY + COMMIT + WAIT + spoil) == 32).all()


@pytest.mark.parametrize("device", DEVICES)
def test_more_products_than_a_warp_keeps(device: str) -> None:
    adds = "    setp.eq.u32 %p2, 0, 0;\n"
    assert (run(device, MULTIPLY + adds + MULTIPLY * 99 + COMMIT + WAIT) == 3200).all()


@pytest.mark.parametrize("device", DEVICES)
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


@pytest.mark.parametrize("device", DEVICES)
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


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_that_is_no_warpgroup(device: str) -> None:
    with pytest.raises(DeviceFault) as raised:
        run(device, MULTIPLY + COMMIT + WAIT, 64)
    assert raised.value.message == (
        f"{PRODUCT} needs a warpgroup, four warps in a row of which the first is a multiple of 4; warp 0 is in none, "
        "since the block has 2 warps"
    )
    assert raised.value.hint == "launch it with a multiple of 128 threads per block"


@pytest.mark.parametrize("device", DEVICES)
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


@pytest.mark.parametrize("device", DEVICES)
def test_part_of_a_warp(device: str) -> None:
    with pytest.raises(DeviceFault) as raised:
        run(device, "    @%p1 " + MULTIPLY.strip() + "\n" + COMMIT + WAIT)
    assert raised.value.message == f"{PRODUCT} needs all 32 lanes of the warp; its guard holds in lanes 0-15 only"


@pytest.mark.parametrize("device", DEVICES)
def test_descriptors_that_differ(device: str) -> None:
    with pytest.raises(DeviceFault) as raised:
        run(device, "    cvt.u64.u32 %rd5, %r1;\n    add.u64 %db, %db, %rd5;\n" + MULTIPLY + COMMIT + WAIT)
    assert "lane 1 has others than lane 0" in raised.value.message


@pytest.mark.parametrize("device", DEVICES)
def test_lanes_that_come_apart(device: str) -> None:
    """They wait for each other at each instruction of wgmma."""
    body = (
        "    and.b32 %r8, %r1, 1;\n    setp.eq.u32 %p3, %r8, 0;\n    @%p3 bra $even;\n"
        "    add.u32 %r8, %r8, 5;\n$even:\n" + MULTIPLY + COMMIT + WAIT
    )
    assert (run(device, body) == 32).all()

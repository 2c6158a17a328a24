"""Planted bugs around `wgmma`, each with a twin that is right: what the checks say on both engines."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS
from small_warpgroups import COMMIT, MULTIPLY, WAIT, program

import ptxlab as pl

FENCE = "    wgmma.fence.sync.aligned;\n"
READ = "    add.f32 %d1, %d1, %d0;\n"
WRITE = "    mov.f32 %d2, 0f3F800000;\n"
LATE_STORE = "    bar.sync 0;\n    @%p1 st.shared.v4.b32 [%r6], {%r3, %r3, %r3, %r3};\n"
EARLY = (
    "a register of a wgmma that is still in flight; write wgmma.wait_group.sync.aligned 0; before it, and "
    "wgmma.commit_group.sync.aligned; after the product"
)
NO_FENCE = (
    "a wgmma uses a register that was written since the last wgmma.fence, or before the first one; write "
    "wgmma.fence.sync.aligned; between the two"
)


def run(device: str, text: str) -> list[str]:
    out = np.zeros(128, np.float32)
    found = pl.launch(text, 1, 128, out, device=device, checks=ALL_CHECKS).findings
    return [f"{finding.check}, line {finding.first.line}: {finding.message}" for finding in found if finding.first]


def line_of(text: str, what: str, number: int = 0) -> int:
    return [k + 1 for k, line in enumerate(text.splitlines()) if line.strip() == what.strip()][number]


SILENT = {
    "a product": MULTIPLY + COMMIT + WAIT,
    "two to one sum": MULTIPLY * 2 + COMMIT + WAIT,
    "read behind the wait": MULTIPLY + COMMIT + WAIT + READ,
    "written, then a fence": MULTIPLY + COMMIT + WAIT + WRITE + FENCE + MULTIPLY + COMMIT + WAIT,
    "a group left in flight that has other registers": MULTIPLY
    + COMMIT
    + "    wgmma.wait_group.sync.aligned 1;\n"
    + WAIT,
}


@pytest.mark.parametrize("name", SILENT)
def test_right_programs(device: str, name: str) -> None:
    assert run(device, program(SILENT[name])) == []


@pytest.mark.parametrize(
    ("body", "where", "verb"),
    [
        (MULTIPLY + COMMIT + READ + WAIT, READ, "overwrites"),
        (MULTIPLY + READ + COMMIT + WAIT, READ, "overwrites"),
        (MULTIPLY + COMMIT + WRITE + WAIT, WRITE, "overwrites"),
        (MULTIPLY + COMMIT + "    add.f32 %f, %d0, %d0;\n" + WAIT, "add.f32 %f, %d0, %d0;", "reads"),
        (MULTIPLY + COMMIT + "    wgmma.wait_group.sync.aligned 1;\n    add.f32 %f, %d0, %d0;\n" + WAIT,
         "add.f32 %f, %d0, %d0;", "reads"),
        (MULTIPLY + WAIT + "    add.f32 %f, %d0, %d0;\n" + COMMIT + WAIT, "add.f32 %f, %d0, %d0;", "reads"),
    ],
)  # fmt: skip
def test_registers_in_flight(device: str, body: str, where: str, verb: str) -> None:
    text = program(body).replace(".reg .f32 %d<4>;", ".reg .f32 %d<4>, %f;")
    assert run(device, text) == [f"synccheck, line {line_of(text, where)}: a thread {verb} {EARLY}"]


def test_registers_without_a_fence(device: str) -> None:
    text = program(MULTIPLY + COMMIT + WAIT + WRITE + MULTIPLY + COMMIT + WAIT)
    assert run(device, text) == [f"synccheck, line {line_of(text, MULTIPLY, 1)}: {NO_FENCE}"]
    text = program(MULTIPLY + COMMIT + WAIT).replace(FENCE, "")
    assert set(run(device, text)) == {f"synccheck, line {line_of(text, MULTIPLY)}: {NO_FENCE}"}


def test_a_way_that_is_not_taken_is_silent(device: str) -> None:
    """Only some way through the program is wrong, and it does not run."""
    skipped = "    setp.lt.u32 %p3, %r1, 1000;\n    @%p3 bra $over;\n" + READ + "$over:\n"
    assert run(device, program(MULTIPLY + COMMIT + skipped + WAIT)) == []


def test_a_tile_that_another_warp_writes(device: str) -> None:
    """Without the barrier between the stores and the product it is a race; a tile that nobody wrote is noticed, too."""
    text = program(MULTIPLY + COMMIT + WAIT)
    racing = text.replace("    bar.sync 0;\n", "")
    found = run(device, racing)
    assert found
    assert all(message.startswith(("racecheck", "initcheck")) for message in found)
    assert any(
        "RAW hazard in shared memory" in message or "WAR hazard in shared memory" in message for message in found
    )
    empty = text.replace("    @%p1 st.shared.v4.b32 [%r6], {%r4, %r4, %r4, %r4};\n", "")
    (message,) = run(device, empty)
    assert message == (
        f"initcheck, line {line_of(empty, MULTIPLY)}: a thread reads shared memory that has not been written"
    )


def test_stores_without_a_proxy_fence(device: str) -> None:
    text = program(MULTIPLY + COMMIT + WAIT).replace("    fence.proxy.async;\n", "")
    says = (
        "a wgmma reads what a thread has stored, and no fence makes it seen by the async proxy; write "
        "fence.proxy.async; after the stores, before the barrier"
    )
    assert set(run(device, text)) == {f"synccheck, line {line_of(text, MULTIPLY)}: {says}"}
    behind = text.replace("    bar.sync 0;\n", "    bar.sync 0;\n    fence.proxy.async.shared::cta;\n")
    assert run(device, behind) == []  # of the threads that multiply


def test_a_tile_is_overwritten(device: str) -> None:
    text = program(MULTIPLY + COMMIT + LATE_STORE + WAIT)
    where = line_of(text, "@%p1 st.shared.v4.b32 [%r6], {%r3, %r3, %r3, %r3};")
    assert run(device, text) == [
        f"synccheck, line {where}: a thread overwrites a tile that a wgmma in flight reads; the warps that multiply "
        "execute wgmma.wait_group.sync.aligned 0; before the barrier in front of the store"
    ]
    assert run(device, program(MULTIPLY + COMMIT + WAIT + LATE_STORE)) == []


APART = (
    """
    setp.eq.u32 %p3, %r2, 3;
    @%p3 bar.sync 1, 128;
"""
    + MULTIPLY
    + COMMIT
    + WAIT
    + """
    @!%p3 bar.sync 1, 128;
"""
)


def test_a_warp_that_others_wait_for_before_they_let_it_go(device: str) -> None:
    """Warp 3 multiplies behind a barrier, to which the others come when they have waited for that product."""
    text, twin = program(APART), program(APART.replace("@%p3 bar.sync 1, 128;", "").replace("@!%p3 bar", "bar"))
    with pytest.raises(pl.DeviceFault) as stopped:
        run(device, text)
    waits = f"waits for the other warps of its warpgroup (wgmma.wait_group.sync.aligned, line {line_of(text, WAIT)})"
    assert stopped.value.message.splitlines() == [
        "no thread of the block can go on",
        *(f"    warp {warp}, lanes 0-31: {waits}" for warp in range(3)),
        f"    warp 3, lanes 0-31: waits for barrier 1 (bar.sync, line {line_of(text, '@%p3 bar.sync 1, 128;')})",
    ]
    assert run(device, twin) == []

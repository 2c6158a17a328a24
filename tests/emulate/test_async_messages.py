"""What is said of asynchronous mistakes, word for word, on both engines; the mistakes are those of `planted`."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import ALL_CHECKS
from planted import BUGS
from planted_bulk_data import FROM_GLOBAL
from planted_proxy import GIVEN_BACK, STORED_OVER
from test_emulate_bulk import DONE
from test_emulate_bulk_tiles import tile_kernel, tile_load

import ptxlab as pl

BY_MBARRIER = "the access must come after a wait for the mbarrier that counts its bytes"
BY_GROUP = "the access must come after cp.async.bulk.commit_group and wait_group.read, in the thread that started it"
SAYS = {
    "proxy: nobody fences":
        "a bulk copy reads what a thread has stored, and no fence makes it seen by the async proxy; write "
        "fence.proxy.async; after the stores, before the barrier",
    "bulk copy: read before the wait": f"a thread reads what a bulk copy is still moving: {BY_MBARRIER}",
    "bulk copy: two copies to one place":
        f"a bulk copy overwrites what another bulk copy is still moving: {BY_MBARRIER}",
    "bulk copy: the source is overwritten": f"a thread overwrites what a bulk copy is still moving: {BY_GROUP}",
    "bulk copy: a copy overwrites what another one still reads":
        f"a bulk copy overwrites what another bulk copy is still moving: {BY_GROUP}",
    "bulk copy: the block ends": f"the block ends while a bulk copy still reads its shared memory: "
        f"{BY_GROUP.replace('the access must come', 'it must end')}",
    "bulk copy: the block ends before a copy has come":
        f"the block ends while a bulk copy still writes to its shared memory: "
        f"{BY_MBARRIER.replace('the access must come', 'it must end')}",
    "bulk copy: a stage is given back before the product is done":
        "a thread or its copy overwrites shared memory that a wgmma reads, and nothing but the order in which the "
        "warps ran here makes it come after the wgmma.wait_group for that product; let the readers arrive at an "
        "mbarrier after their wait, and let that thread wait for it",
    "copy: the source is overwritten":
        "a thread overwrites memory that a cp.async in flight reads: it must come after cp.async.wait_group or "
        "wait_all of the thread that copies and, in another one, a barrier, or a wait for the mbarrier that the "
        "copies arrive at",
    "bulk copy: what was sent is loaded":
        "a thread reads what a bulk copy is still moving: the access must come after "
        "cp.async.bulk.commit_group and wait_group "
        "(without .read), in the thread that started it",
    "bytes: K is announced and V is not":
        "the phase ends before this copy is there: expect_tx has announced fewer bytes than are copied, or this copy "
        "was not counted; announce the bytes of all copies of the phase",
    "bytes: copies that nobody announces":
        "copies bring 256 bytes that no expect_tx announces, and they count for a phase that does not wait for them; "
        "announce what is copied",
    "bytes: more than an mbarrier counts":
        "the bytes that a phase waits for are outside the range of an mbarrier, -1048575 to 1048575",
    "bytes: made invalid before the copy is there":
        "an mbarrier is made invalid while a bulk copy that reports to it is in flight",
}  # fmt: skip


def findings(name: str, device: str) -> list[str]:
    run, _ = BUGS[name].run(device, False, ("memcheck", "synccheck"))
    return [found.message for found in run.findings]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", SAYS)
def test_findings_in_words(name: str, device: str) -> None:
    assert SAYS[name] in findings(name, device)


def test_a_wait_that_passed_at_once_is_named(device: str) -> None:
    name = "bulk copy: the first wait asks for the phase before the first"
    line = next(n for n, text in enumerate(BUGS[name].text(False).splitlines(), 1) if "//waits" in text)
    assert (
        f"a thread reads what a bulk copy is still moving: {BY_MBARRIER}; the wait in line {line} passed at once: "
        "it asks for parity 1, and the copy belongs to the phase of parity 0; the parity has to change after each phase"
    ) in findings(name, device)


DEADLOCKS = {
    "bytes: more are announced than come": "256 bytes missing, no thread can arrive; line {2} announced 512 bytes; "
    "line {copy} brought 256 bytes",
    "bytes: fewer are announced than come": "128 bytes more have come than were announced, no thread "
    "can arrive; line {2} announced 128 bytes; "
    "line {copy} brought 256 bytes",
    "bytes: the producer of one stage does not come back": "1 of 1 arrivals missing, no thread can arrive; warp 0 "
    "arrived in line {2} in the phase before, and not in this one",
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_a_deadlock_says_who_brought_how_much(name: str, device: str) -> None:
    planted = BUGS[name]
    waits, announces = planted.lines()
    copy = next(n for n, text in enumerate(planted.text(False).splitlines(), 1) if "cp.async.bulk" in text)
    with pytest.raises(pl.DeviceFault) as stopped:
        planted.launch(device, False, ("memcheck", "synccheck"))
    said = DEADLOCKS[name].replace("{2}", str(announces)).replace("{copy}", str(copy))
    assert f"{said} (mbarrier.try_wait.parity.shared::cta.b64, line {waits})" in stopped.value.message


def test_a_store_behind_a_product_by_chance(device: str) -> None:
    run, _ = STORED_OVER.run(device, False, ALL_CHECKS)
    assert [(f.kind, f.first and f.first.line) for f in run.findings] == [("wgmma in flight", STORED_OVER.lines()[0])]
    assert STORED_OVER.run(device, True, ALL_CHECKS)[0].findings == []


@pytest.mark.long
def test_a_copy_behind_a_product_by_chance(device: str) -> None:
    run, _ = GIVEN_BACK.run(device, False, ALL_CHECKS)
    assert [(f.check, f.kind, f.message) for f in run.findings] == [
        (
            "synccheck",
            "wgmma in flight",
            "a thread or its copy overwrites shared memory that a wgmma reads, and nothing but the order in which the "
            "warps ran here makes it come after the wgmma.wait_group for that product; let the readers arrive at an "
            "mbarrier after their wait, and let that thread wait for it",
        )
    ]
    assert (run.findings[0].first.line, run.findings[0].second.line) == GIVEN_BACK.lines()
    twin, _ = GIVEN_BACK.run(device, True, ALL_CHECKS)
    assert twin.findings == []


def test_an_mbarrier_before_its_init_is_ordered(device: str) -> None:
    run, _ = BUGS["mbarrier init: another warp uses it without a barrier between"].run(device, False, ("racecheck",))
    assert [found.message for found in run.findings] == [
        "a thread uses an mbarrier, and nothing makes this come after its mbarrier.init, so it may find none there "
        "yet; write bar.sync 0; between the two"
    ]


def test_stores_to_global_memory_without_a_proxy_fence(device: str) -> None:
    run, _ = FROM_GLOBAL.run(device, False, ALL_CHECKS)
    assert [(f.check, f.kind, f.message, f.space) for f in run.findings] == [
        ("synccheck", "async proxy without a fence", SAYS["proxy: nobody fences"], "global")
    ]
    assert (run.findings[0].first.line, run.findings[0].second.line) == FROM_GLOBAL.lines()
    twin, _ = FROM_GLOBAL.run(device, True, ALL_CHECKS)
    assert twin.findings == []


STORED_TILE = f"""
    @!%p1 st.shared.u32 [%r5], %r1;
    FENCE
    bar.sync 0;
    @%p1 bra SKIP;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd5, {{%r20, %r21}}], [%r5];
    {DONE}
SKIP:
    bar.sync 0;
"""


@pytest.mark.parametrize(("fence", "says"), [("", [SAYS["proxy: nobody fences"]]), ("fence.proxy.async;", [])])
def test_a_tensor_store_wants_a_proxy_fence(device: str, fence: str, says: list[str]) -> None:
    """A tile is brought, changed by threads, and sent back."""
    text = tile_kernel(2, tile_load(2), 1024, STORED_TILE.replace("FENCE", fence))
    x, out = np.zeros((40, 64), np.int32), np.zeros(256, np.int32)
    run = pl.launch(text, 1, 32, pl.TensorMap(x, (8, 32)), out, 0, 0, device=device, checks=("memcheck", "synccheck"))
    assert [found.message for found in run.findings] == says

"""What a finding says: both parties, their lines in PTX and Python, how often, and when there is one at all."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from emulate_programs import kernel as kernel_text
from planted import BUGS

import ptxlab as pl
from ptxlab.builder import Builder, Ptr, f32, kernel
from ptxlab.findings import Finding


@kernel
def mirror(k: Builder, x: Ptr[f32], tile: Ptr[f32]) -> None:
    """Each thread reads what another one has stored, without a barrier."""
    t = k.tid.x
    k.store(tile + t, k.load(x + t))
    k.store(x + t, k.load(tile + (63 - t)))


def test_a_finding_names_the_python_of_a_builder_kernel(device: str) -> None:
    x, tile = np.zeros((2, 64), np.float32)
    found = pl.launch(mirror, 1, 64, x, tile, device=device, checks=("racecheck",)).findings
    raw = next(f for f in found if f.kind == "RAW")
    assert raw.first is not None
    assert raw.first.span is not None
    assert raw.first.span.file == __file__
    assert str(raw.first.span) in str(raw)


def test_a_finding_shows_itself(device: str) -> None:
    planted = BUGS["shared: another warp's element before a barrier"]
    run, _ = planted.run(device, False, ("racecheck",))
    (raw,) = [f for f in run.findings if f.kind == "RAW"]
    load, store = planted.lines()
    assert (
        str(raw)
        == f"""racecheck: RAW hazard in shared memory (also WAR): a thread reads what another warp writes, and \
nothing makes the read come after the write; write bar.sync 0; between the two, or in a loop \
between its rounds, at a place that all threads of the block reach
  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) loads 4 bytes
            line {load}: ld.shared.u32 %r6, [%r12]; //1
  and:    block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) stores 4 bytes
            line {store}: st.shared.u32 [%r10], %r1; //2
  in:     shared memory, byte 0 of 'tile' (4096 bytes)
  seen:   2 times"""
    )
    assert (raw.space, raw.address, raw.count) == ("shared", 0, 2)
    exported = json.loads(json.dumps(raw.to_dict()))
    assert exported["first"]["thread"] == [32, 0, 0]
    assert exported["second"]["line"] == store
    html = raw._repr_mimebundle_()["text/html"]
    assert "racecheck: RAW hazard" in html
    assert "ld.shared.u32 %r6, [%r12]" in html
    assert str(raw).splitlines()[0] in repr(run)


NARROW = "line {0}, %s orders nothing between two blocks: its scope is the block (.cta); write .gpu: %s"
RELAXED = "line {0}, %s does not keep later accesses after it: it is relaxed; write a fence after it: %s"
CAS = "atom.global.cas.b32 %r6, [%rd1+4], 5, 1;"
ADVICE = {
    "scope: a fence of the block before a flag": NARROW % ("fence.acq_rel.cta;", "fence.acq_rel.gpu;"),
    "scope: the last block sums behind a fence of the block": NARROW % ("membar.cta;", "membar.gl;"),
    "scope: a counter of all blocks": NARROW
    % ("red.relaxed.cta.global.add.u32 [%rd1], 1;", "red.relaxed.gpu.global.add.u32 [%rd1], 1;"),
    "scope: a lock taken without a fence": RELAXED % (CAS, "fence.acq_rel.gpu;"),
    "scope: a lock taken with a fence of the block": NARROW % ("membar.cta;", "membar.gl;"),
    "scope: a lock of the block's warps taken without a fence": RELAXED % (CAS, "fence.acq_rel.cta;"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_what_would_order_threads_in_words(name: str, device: str) -> None:
    planted, advice = BUGS[name], ADVICE[name]
    names = advice.partition(", ")[2].partition(";")[0] + ";"
    line = 1 + next(n for n, text in enumerate(planted.text(False).splitlines()) if names in text)
    found = planted.run(device, False, ("racecheck",))[0].findings[0]
    who = "warp" if "warps" in name else "block"
    hazards = {
        "RAW": f"a thread reads what another {who} writes, and nothing makes the read come after the write",
        "WAR": f"a thread overwrites what another {who} reads, and nothing makes the write come after the read",
        "WAW": f"a thread overwrites what another {who} writes, and nothing says which write comes last",
    }
    assert found.message.partition(": ")[2] == f"{hazards[found.kind]}; {advice.format(line)}"


def test_lanes_in_lockstep_in_words(device: str) -> None:
    (found,) = BUGS["scope: volatile neighbours in one warp"].run(device, False, ("racecheck",))[0].findings
    assert found.message == (
        "two lanes of one warp touch the same place in shared memory with volatile accesses, and nothing but lockstep "
        "puts these in order, which lanes do not keep since sm_70; write bar.warp.sync 0xffffffff; between the two"
    )


def test_warps_at_two_barriers_in_words(device: str) -> None:
    planted = BUGS["barrier: a loop that warps leave after different rounds"]
    run, _ = planted.run(device, False, ("synccheck",))
    in_loop, behind = planted.lines()
    assert [str(found) for found in run.findings] == [
        f"""synccheck: the warps of a block have arrived at two different barrier instructions: all threads of a block \
must execute the same ones, in a loop also as often; a barrier of some warps needs a thread count, as in bar.sync 1, 64;
  at:     block (0, 0, 0), thread (32, 0, 0) (warp 1, lane 0) arrives at the barrier
            line {in_loop}: ROUND: bar.sync 0; //1
  and:    block (0, 0, 0), thread (0, 0, 0) (warp 0, lane 0) arrives at the barrier
            line {behind}: bar.sync 0; //2"""
    ]


def test_a_warp_that_exits_too_early_in_words(device: str) -> None:
    (found,) = BUGS["barrier: a loop that a warp leaves to exit"].run(device, False, ("synccheck",))[0].findings
    assert found.message == (
        "warp 0 has been at this barrier, and has exited while others come to it again: all threads of a block must go "
        "through a loop with a barrier in it equally often"
    )


def test_two_places_with_one_count_are_no_finding(device: str) -> None:
    planted = BUGS["barrier: warps disagree on the count"]
    agree = replace(planted, body=planted.body.replace("bar.sync 1, 32", "bar.sync 1, 64"))
    assert agree.text(False).count("bar.sync 1, 64;") == 2
    run, _ = agree.run(device, False, ("synccheck",))
    assert run.findings == []


def test_a_ticket_taken_too_early_in_words(device: str) -> None:
    planted = BUGS["global: the last block's ticket is taken without a barrier"]
    run, _ = planted.run(device, False, ("racecheck",))
    read, stored = planted.lines()
    (found,) = run.findings
    assert found.message == (
        "RAW hazard in global memory: a thread reads what another block writes, and nothing makes the read come after "
        "the write; a barrier of a block orders no other: give each its own place, launch a second kernel, or pass a "
        "flag by atomics (one block stores, then bar.sync 0; and fence.acq_rel.gpu; before it sets the "
        "flag; the other sees it, then fence.acq_rel.gpu; and bar.sync 0; before it loads)"
    )
    assert found.first is not None
    assert found.second is not None
    assert (found.first.line, found.first.block) == (read, (1, 0, 0))
    assert (found.second.line, found.second.block, found.second.thread) == (stored, (0, 0, 0), (32, 0, 0))


TWO_LANES = {
    "all read, the first writes": ("ld.shared.u32 %r6, [tile];\n @%p1 st.shared.u32 [tile], 5;", "WAR", {(0, 1)}),
    "the first reads, all write": ("@%p1 ld.shared.u32 %r6, [tile];\n st.shared.u32 [tile], 5;", "WAR", {(1, 0)}),
    "upper lanes read, one of them writes":
        ("@!%p4 ld.shared.u32 %r6, [tile];\n setp.eq.u32 %p6, %r1, 16;\n @%p6 st.shared.u32 [tile], 5;", "WAR",
         {(16, 17)}),
    "the last two read, one of them writes":
        ("setp.gt.u32 %p6, %r1, 29;\n @%p6 ld.shared.u32 %r6, [tile];\n setp.eq.u32 %p6, %r1, 30;\n"
         "@%p6 st.shared.u32 [tile], 5;", "WAR", {(30, 31)}),
    "the first writes, all read": ("@%p1 st.shared.u32 [tile], 5;\n ld.shared.u32 %r6, [tile];", "RAW", {(1, 0)}),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO_LANES)
def test_a_finding_names_two_threads(name: str, device: str) -> None:
    body, kind, lanes = TWO_LANES[name]
    start = "setp.eq.u32 %p1, %r1, 0;\n setp.lt.u32 %p4, %r1, 16;\n @%p1 st.shared.u32 [tile], 1;\n bar.sync 0;\n"
    text = kernel_text(f"    {start}    {body}\n    st.global.u32 [%rd3], %r6;", ".shared .align 4 .b8 tile[4096];")
    given = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    found = pl.launch(text, 1, 32, *given, device=device, checks=("racecheck",)).findings
    assert [f.kind for f in found] == [kind]
    assert {(f.first.lane, f.second.lane) for f in found if f.first and f.second} == lanes


def test_occurrences_are_counted(device: str) -> None:
    run, _ = BUGS["unwritten: shared memory"].run(device, False, ("initcheck",))
    (found,) = run.findings
    assert found.count == 2  # two warps
    assert str(found).endswith("  seen:   2 times")


def test_a_finding_of_each_warp_counts(device: str) -> None:
    text = kernel_text("    and.b32 %r5, %r1, 31;\n setp.lt.u32 %p1, %r5, 16;\n @%p1 exit;\n bar.sync 0;")
    given = np.zeros(96, np.uint32), np.zeros(32, np.uint32)
    (found,) = pl.launch(text, 1, 96, *given, device=device, checks=("synccheck",)).findings
    assert (found.kind, found.count) == ("barrier after exit", 3)
    stopped, _ = BUGS["mbarrier: bytes that nobody reports"].run(device, False, ("synccheck",))
    assert [(f.kind, f.count) for f in stopped.findings] == [("deadlock", 1), ("mbarrier wait", 2)]


def test_nothing_is_checked_unless_asked_for(device: str) -> None:
    for planted in (BUGS["unwritten: shared memory"], BUGS["shared: all lanes store to one word"]):
        assert planted.run(device, False, ("memcheck",))[0].findings == []
    assert BUGS["unwritten: shared memory"].run(device, False, ("racecheck", "synccheck"))[0].findings == []


def test_a_buffer_stays_written_between_launches(device: str) -> None:
    planted = BUGS["unwritten: a device buffer"]
    buffer = pl.empty(128, np.uint32, device="cpu")
    x = np.zeros(128, np.uint32)

    def reads(checks: tuple[str, ...]) -> list[Finding]:
        return pl.launch(planted.text(False), 1, 64, buffer, x, device=device, checks=checks).findings

    assert reads(("initcheck",))
    pl.launch(planted.text(True), 1, 64, buffer, x, device=device, checks=("initcheck",))
    assert reads(("initcheck",)) == []
    other = pl.to_device(x, device="cpu")
    assert pl.launch(planted.text(False), 1, 64, other, x, device=device, checks=("initcheck",)).findings == []
    unknown = pl.empty(128, np.uint32, device="cpu")
    pl.launch(planted.text(False), 1, 64, unknown, x, device=device)  # keeps no record of what it writes
    assert pl.launch(planted.text(False), 1, 64, unknown, x, device=device, checks=("initcheck",)).findings == []


def test_a_fault_is_a_finding(device: str) -> None:
    text = kernel_text("    ld.global.u32 %r5, [%rd1+65536];")
    with pytest.raises(pl.DeviceFault) as fault:
        pl.launch(text, (2, 1), (8, 8), np.zeros(4, np.uint32), np.zeros(4, np.uint32), device=device)
    (found,) = fault.value.findings
    assert found.first is not None
    assert (found.check, found.kind, found.first.line) == ("memcheck", "invalid access", fault.value.line)
    assert (found.first.block, found.first.thread, found.first.warp) == ((0, 0, 0), (0, 0, 0), 0)
    assert found.message.startswith(fault.value.message)
    assert found.address == fault.value.address


@kernel
def reused(k: Builder, x: Ptr[f32], y: Ptr[f32]) -> None:
    """All lanes read one word, and then lane 0 overwrites it."""
    word = k.shared(f32, 1)
    lane = k.tid.x
    with k.if_(lane == 0):
        word[0] = x[0]
    k.op("bar.warp.sync", 0xFFFFFFFF)
    y[lane] = word[0]
    with k.if_(lane == 0):
        word[0] = x[1]


def test_a_thread_does_not_race_with_itself_in_words(device: str) -> None:
    x, y = np.zeros(2, np.float32), np.zeros(32, np.float32)
    run = pl.launch(reused, 1, 32, x, y, device=device, checks=("memcheck", "racecheck"))
    (found,) = run.findings
    assert found.kind == "WAR"
    assert found.first is not None
    assert found.second is not None
    assert (found.first.lane, found.second.lane, found.second.did) == (0, 1, "loads 4 bytes")

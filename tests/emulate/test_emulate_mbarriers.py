"""mbarriers on every engine of the emulator: phases, states, parity, bytes, and what goes wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulate_programs import fault_of, kernel, run

from ptxlab.errors import DeviceFault
from ptxlab.isa import mbarrier

SHARED = ".shared .align 8 .b64 gate[4];\n.shared .align 16 .b8 tile[1024];\n"


def init(count: int) -> str:
    """The first thread makes the mbarrier, then all go on; %rd10 is its generic address."""
    return f"""
    mov.u32 %r7, gate;
    cvt.u64.u32 %rd10, %r7; cvta.shared.u64 %rd10, %rd10;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared::cta.b64 [gate], {count};
    bar.sync 0;
"""


def program(body: str) -> str:
    """For sm_90: the newest of these instructions want it."""
    return kernel(body, SHARED).replace("sm_80", "sm_90")


def out(engine: str, body: str, **options: Any) -> np.ndarray:
    """The words that a program leaves."""
    return run(engine, program(body), **options)[0]


def fault(engine: str, body: str) -> tuple[DeviceFault, str]:
    """The fault of a program, and its message without place and line."""
    caught = fault_of(engine, program(body))
    return caught, caught.message


@pytest.mark.parametrize("address", ["gate", "%rd10"])
def test_arrivals_count_down_and_the_phase_ends(engine: str, address: str) -> None:
    space = ".shared" if address == "gate" else ""
    body = f"""{init(32)}
    mbarrier.arrive{space}.b64 %rd5, [{address}];
    mbarrier.pending_count.b64 %r8, %rd5;
    mbarrier.test_wait{space}.b64 %p2, [{address}], %rd5;
    selp.u32 %r9, 100, 0, %p2; add.u32 %r8, %r8, %r9; st.global.u32 [%rd3], %r8;
"""
    assert (out(engine, body) == 100 + 32 - np.arange(32)).all()


def test_a_producer_and_consumers_take_turns(engine: str) -> None:
    """Warp 0 fills a cell, the others wait for it by parity and answer; eight rounds, two mbarriers."""
    body = """
    mov.u32 %r7, tile;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [gate], 32;
    @%p1 mbarrier.init.shared.b64 [gate+8], 96;
    bar.sync 0;
    mov.u32 %r5, 0; mov.u32 %r9, 0;
    shr.u32 %r10, %r1, 5; setp.eq.u32 %p3, %r10, 0;
ROUND:
    and.b32 %r6, %r5, 1;
    @!%p3 bra READ;
    mad.lo.u32 %r11, %r5, %r5, 1; st.shared.u32 [tile], %r11;
    mbarrier.arrive.release.cta.shared::cta.b64 _, [gate];
EMPTY:
    mbarrier.try_wait.parity.shared.b64 %p2, [gate+8], %r6;
    @!%p2 bra EMPTY;
    bra NEXT;
READ:
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [gate], %r6;
    @!%p2 bra READ;
    ld.shared.u32 %r11, [tile]; add.u32 %r9, %r9, %r11;
    mbarrier.arrive.shared.b64 %rd5, [gate+8];
NEXT:
    add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 8; @%p4 bra ROUND;
    st.global.u32 [%rd3], %r9;
"""
    total = sum(k * k + 1 for k in range(8))
    assert (out(engine, body, threads=128) == np.where(np.arange(128) < 32, 0, total)).all()


def test_bytes_hold_a_phase_open(engine: str) -> None:
    """One arrival that announces 64 bytes; the phase ends when they have been reported."""
    body = f"""{init(1)}
    mov.u32 %r9, 0;
    @!%p1 bra END;
    mbarrier.arrive.expect_tx.shared.b64 %rd5, [gate], 64;
    mbarrier.test_wait.parity.shared.b64 %p2, [gate], 0;
    selp.u32 %r9, 1, 0, %p2;
    mbarrier.complete_tx.shared.b64 [gate], 48;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [gate], 16;
    mbarrier.complete_tx.shared.b64 [gate], 16;
    mbarrier.test_wait.shared.b64 %p2, [gate], %rd5;
    @%p2 add.u32 %r9, %r9, 2;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [gate], 16;
    mbarrier.test_wait.shared.b64 %p2, [gate], %rd5;
    @%p2 add.u32 %r9, %r9, 4;
END:
    st.global.u32 [%rd3], %r9;
"""
    assert (out(engine, body) == np.where(np.arange(32) == 0, 4, 0)).all()


def test_who_drops_out_is_not_expected_again(engine: str) -> None:
    """Half of the lanes leave in the first phase; the second ends with the arrivals of the others."""
    body = f"""{init(32)}
    setp.lt.u32 %p3, %r1, 16;
    @%p3 mbarrier.arrive_drop.shared.b64 %rd5, [gate];
    @!%p3 mbarrier.arrive.noComplete.shared.b64 %rd6, [gate], 1;
    bar.warp.sync -1;
    mbarrier.test_wait.parity.shared.b64 %p2, [gate], 0;
    selp.u32 %r9, 1, 0, %p2;
    @!%p3 mbarrier.arrive.shared.b64 %rd5, [gate];
    bar.warp.sync -1;
    mbarrier.test_wait.parity.shared.b64 %p2, [gate], 1;
    @%p2 add.u32 %r9, %r9, 2;
    st.global.u32 [%rd3], %r9;
"""
    with pytest.raises(DeviceFault) as caught:  # as it stands, the last of the first 32 arrivals must not end the phase
        out(engine, body)
    assert caught.value.message == (
        "mbarrier.arrive.noComplete.shared.b64: "
        "this arrival completes the phase, but .noComplete promises that it does not"
    )
    assert (out(engine, body.replace(".noComplete", "")) == 3).all()


@pytest.mark.parametrize(("noinc", "count"), [(".noinc", 32), ("", 33)])
def test_copies_arrive(engine: str, noinc: str, count: int) -> None:
    """With .noinc each lane's arrival is one of those expected; without, it changes nothing in the end."""
    body = f"""{init(count)}
    shl.b32 %r8, %r1, 4;
    mov.u32 %r9, tile; add.u32 %r9, %r9, %r8;
    cp.async.ca.shared.global [%r9], [%rd2], 4;
    cp.async.mbarrier.arrive{noinc}.shared.b64 [gate];
    mbarrier.test_wait.parity.shared.b64 %p2, [gate], 0;
    selp.u32 %r10, 1, 0, %p2; st.global.u32 [%rd3], %r10;
"""
    assert (out(engine, body) == bool(noinc)).all()


WRONG = {
    "never made": ("mbarrier.arrive.shared.b64 %rd5, [gate+8];", 0, mbarrier.Problem.NOT_INITIALISED),
    "made invalid": (
        "mbarrier.inval.shared.b64 [gate];\n    mbarrier.test_wait.parity.shared.b64 %p2, [gate], 0;",
        1,
        mbarrier.Problem.NOT_INITIALISED,
    ),
    "too many": ("mbarrier.arrive.shared.b64 %rd5, [gate], 3;", 2, mbarrier.Problem.TOO_MANY),
    "no arrivals": ("mbarrier.init.shared.b64 [gate], 0;", 0, mbarrier.Problem.BAD_COUNT),
    "arrivals beyond the largest number": (
        f"mbarrier.init.shared.b64 [gate], {mbarrier.COUNT + 1};", 0, mbarrier.Problem.BAD_COUNT,
    ),
    "bytes beyond the largest number": (  # the first lane's are just as many
        f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [gate], {mbarrier.MOST_BYTES};", 1, mbarrier.Problem.BAD_BYTES,
    ),
    "bytes below the smallest number": (
        f"mbarrier.complete_tx.shared.b64 [gate], {mbarrier.MOST_BYTES};", 1, mbarrier.Problem.BAD_BYTES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_misuse(engine: str, name: str) -> None:
    body, lane, which = WRONG[name]
    error, message = fault(engine, init(8) + "    " + body)
    opcode = "mbarrier.inval.shared.b64" if name == "made invalid" else body.split()[0]
    assert (error.kind, error.thread) == ("trap", (lane, 0, 0))
    assert message == f"{opcode}: {which.words}"


def test_an_address_that_is_not_shared(engine: str) -> None:
    error, message = fault(engine, init(8) + "    mbarrier.arrive.b64 %rd5, [%rd1];")
    assert error.kind == "memcheck"
    assert message == "atomic of 8 bytes at 0x20000000000: an address of 'out', which lies in global memory"
    error, message = fault(engine, init(8) + "    mbarrier.arrive.b64 %rd5, [%rd10+4];")
    assert message.startswith("atomic of 8 bytes at 0x404: misaligned, the address must be a multiple of 8; ")


def test_every_way_to_arrive_and_to_ask(engine: str) -> None:
    """One thread goes through eight phases of a gate for two, each ended in another way; after each it asks, in another
    way, whether the phase before has ended."""
    ways = [
        ("mbarrier.arrive.noComplete.release.cta.shared.b64 %rd5, [gate], 1; mbarrier.arrive.shared.b64 %rd6, [gate];",
         "mbarrier.test_wait.shared.b64 %p2, [gate], %rd5;"),
        ("mbarrier.arrive.expect_tx.release.cta.shared.b64 %rd5, [gate], 8; mbarrier.arrive.shared.b64 %rd6, [gate];"
         "mbarrier.complete_tx.shared.b64 [gate], 8;", "mbarrier.test_wait.acquire.cta.shared.b64 %p2, [gate], %rd5;"),
        ("mbarrier.expect_tx.shared.b64 [gate], 16; mbarrier.arrive.shared.b64 %rd5, [gate], 2;"
         "mbarrier.complete_tx.shared.b64 [gate], 16;", "mbarrier.try_wait.shared.b64 %p2, [gate], %rd5;"),
        ("mbarrier.arrive.shared.b64 %rd5, [gate], 2;", "mbarrier.try_wait.acquire.cta.shared.b64 %p2, [gate], %rd5;"),
        ("mbarrier.arrive.shared.b64 %rd5, [gate], 2;",
         "mbarrier.test_wait.parity.acquire.cta.shared.b64 %p2, [gate], 0;"),
        # from here on the gate expects one arrival in the next phase, then none is left to drop
        ("mbarrier.arrive_drop.release.cta.shared.b64 %rd5, [gate]; mbarrier.arrive.shared.b64 %rd6, [gate];",
         "mbarrier.test_wait.parity.shared.b64 %p2, [gate], 1;"),
        ("mbarrier.arrive.shared.b64 %rd5, [gate];", "mbarrier.test_wait.shared.b64 %p2, [gate], %rd5;"),
    ]  # fmt: skip
    body = init(2) + "    mov.u32 %r9, 0;\n    @!%p1 bra END;\n"
    for k, (arrive, ask) in enumerate(ways):
        body += f"    {arrive}\n    {ask}\n    selp.u32 %r8, {1 << k}, 0, %p2;\n    or.b32 %r9, %r9, %r8;\n"
    got = out(engine, body + "END:\n    st.global.u32 [%rd3], %r9;\n")
    assert bin(got[0]) == bin((1 << len(ways)) - 1)


@pytest.mark.parametrize("drop", [
    "mbarrier.arrive_drop.expect_tx.shared.b64 %rd5, [gate], 8; mbarrier.complete_tx.shared.b64 [gate], 8;",
    "mbarrier.arrive_drop.expect_tx.release.cta.shared.b64 %rd5, [gate], 8; mbarrier.complete_tx.shared.b64 [gate], 8;",
    "mbarrier.arrive_drop.noComplete.release.cta.shared.b64 %rd5, [gate], 1;",
])  # fmt: skip
def test_every_way_to_drop_out(engine: str, drop: str) -> None:
    """A gate for three that one has left: two arrivals end this phase, and two the next."""
    body = f"""{init(3)}
    mov.u32 %r9, 0;
    @!%p1 bra END;
    {drop}
    mbarrier.arrive.shared.b64 %rd6, [gate], 2;
    mbarrier.test_wait.shared.b64 %p2, [gate], %rd5;
    selp.u32 %r9, 1, 0, %p2;
    mbarrier.arrive.shared.b64 %rd6, [gate];
    mbarrier.test_wait.shared.b64 %p2, [gate], %rd6;
    selp.u32 %r8, 2, 0, %p2; or.b32 %r9, %r9, %r8;
    mbarrier.arrive.shared.b64 %rd7, [gate];
    mbarrier.test_wait.shared.b64 %p2, [gate], %rd6;
    selp.u32 %r8, 4, 0, %p2; or.b32 %r9, %r9, %r8;
END:
    st.global.u32 [%rd3], %r9;
"""
    assert out(engine, body)[0] == 0b101


def test_several_drop_out_at_once(engine: str) -> None:
    """Of three two leave with their arrival: the next phase ends with one."""
    body = f"""{init(3)}
    mov.u32 %r9, 0;
    @!%p1 bra END;
    mbarrier.arrive_drop.noComplete.shared.b64 %rd5, [gate], 2; mbarrier.arrive.shared.b64 %rd6, [gate];
    mbarrier.arrive.shared.b64 %rd6, [gate]; mbarrier.test_wait.shared.b64 %p2, [gate], %rd6;
    selp.u32 %r9, 1, 0, %p2;
END:
    st.global.u32 [%rd3], %r9;
"""
    assert out(engine, body)[0] == 1


@pytest.mark.parametrize(("instruction", "did"), [
    ("expect_tx.relaxed.cta.shared::cta.b64 [gate], 4", "counts bytes at the mbarrier"),
    ("arrive.shared::cta.b64 _, [gate]", "arrives at the mbarrier"),
    ("test_wait.parity.shared::cta.b64 %p2, [gate], 0", "asks the mbarrier"),
])  # fmt: skip
def test_a_finding_says_what_was_done_to_the_mbarrier(engine: str, instruction: str, did: str) -> None:
    body = f"""{init(2)}
    setp.eq.u32 %p3, %r1, 33;
    @%p3 mbarrier.{instruction};
    bar.sync 0;
    @%p1 mbarrier.init.shared::cta.b64 [gate], 1;
"""
    findings = run(engine, program(body), threads=64, checks=("memcheck", "synccheck"))[1].findings
    found = next(f for f in findings if f.kind == "mbarrier in use")
    assert (found.first.did, found.second.did) == ("makes the mbarrier", did)


WAITING_LANE = """
    setp.ge.u32 %p4, %r1, 32; @%p4 bra SECOND;
    @!%p1 bra TOGETHER;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [gate], 0;
    @!%p2 bra WAIT;
TOGETHER:
"""


def test_a_lane_that_waits_leaves_other_warps_their_turns() -> None:
    """The lanes that reconverge with it behind the wait stay there, and it does not try a thousand times."""
    body = f"""{init(1)}{WAITING_LANE}
    activemask.b32 %r9;
    st.global.u32 [%rd3], %r9;
    exit;
SECOND:
    mov.u32 %r9, 20000;
BUSY:
    sub.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra BUSY;
    setp.eq.u32 %p2, %r1, 32;
    @%p2 mbarrier.arrive.shared.b64 _, [gate];
    exit;
"""
    text = program(body)
    (wait,) = [n for n, line in enumerate(text.splitlines(), 1) if "try_wait" in line]
    masks, report = run("jit", text, threads=64)
    assert masks[:32].tolist() == [0xFFFFFFFF] * 32
    assert report.lines[wait][0] < 40


@pytest.mark.parametrize("threads", [32, 64])
def test_a_lane_may_wait_for_others_of_its_warp(engine: str, threads: int) -> None:
    """They stand where all would reconverge, and go on when it has waited for long."""
    body = f"""{init(31)}{WAITING_LANE}
    @!%p1 mbarrier.arrive.shared.b64 _, [gate];
    st.global.u32 [%rd3], 7;
    exit;
SECOND:
    mbarrier.try_wait.parity.shared.b64 %p2, [gate], 0;
    @!%p2 bra SECOND;
    st.global.u32 [%rd3], 7;
"""
    assert (out(engine, body, threads=threads) == 7).all()


def test_a_lane_that_waits_in_each_round_does_not_split_its_warp(engine: str) -> None:
    """The lane that fills a buffer again and again, as long as it is taken: the others stand behind its loop."""
    body = f"""{init(1)}
    @%p1 mbarrier.init.shared.b64 [gate+8], 1;
    bar.sync 0;
    mov.u32 %r5, 0;
    setp.ge.u32 %p4, %r1, 32; @%p4 bra SECOND;
    @!%p1 bra TOGETHER;
FILL:
    mbarrier.arrive.shared.b64 _, [gate];
    and.b32 %r6, %r5, 1;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p2, [gate+8], %r6;
    @!%p2 bra WAIT;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100; @%p2 bra FILL;
TOGETHER:
    activemask.b32 %r9;
    st.global.u32 [%rd3], %r9;
    exit;
SECOND:
    and.b32 %r6, %r5, 1;
WAIT2:
    mbarrier.try_wait.parity.shared.b64 %p2, [gate], %r6;
    @!%p2 bra WAIT2;
    setp.eq.u32 %p3, %r1, 32;
    @%p3 mbarrier.arrive.shared.b64 _, [gate+8];
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100; @%p2 bra SECOND;
    st.global.u32 [%rd3], %r5;
"""
    assert out(engine, body, threads=64).tolist() == [0xFFFFFFFF] * 32 + [100] * 32


def test_what_is_done_to_an_mbarrier_is_no_traffic(engine: str) -> None:
    body = init(32) + "mbarrier.arrive.shared.b64 %rd5, [gate];\n    st.shared.u32 [tile], %r1;"
    _, report = run(engine, program(body), threads=32, counters=True)
    requests = {line.opcode: line.requests for line in report.counters.by_line.values() if "shared" in line.opcode}
    assert [requests[opcode] for opcode in requests if opcode.startswith("mbarrier")] == [0, 0]
    assert requests["st.shared.u32"] == 1

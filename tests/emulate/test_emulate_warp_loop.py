"""The function for converged warps goes from warp to warp and from block to block: what warps do otherwise on the
way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from emulate_programs import ENGINES, WAYS, kernel, run

from ptxlab.emulate.runtime import progress
from ptxlab.errors import DeviceFault

SHARED = ".shared .align 4 .b8 tile[4096];"
WRITES = "st.global.u32 [%rd3], %r4;"
PUT = """
    mov.u32 %r10, tile;
    shl.b32 %r11, %r1, 2;
    add.u32 %r12, %r10, %r11;
    st.shared.u32 [%r12], %r4;
"""
"""Each thread's number goes into shared memory, at %r12; `tile` is %r10."""
NEXT = """
    add.u32 %r13, %r1, 1;
    rem.u32 %r13, %r13, %r3;
    shl.b32 %r13, %r13, 2;
    add.u32 %r13, %r13, %r10;
    ld.shared.u32 %r14, [%r13];
"""
"""%r14 is what the next thread of the block has put there."""
WARP = "shr.u32 %r20, %r1, 5;\n"
"""%r20: the warp's number."""

PROGRAMS = {
    "all alike": (96, 7, WRITES),
    "one thread": (1, 9, WRITES),
    "a part of a warp at the end": (77, 6, WRITES),
    "1024 threads": (1024, 3, WRITES),
    "a warp diverges": (96, 6, WARP + """
        setp.eq.u32 %p1, %r20, 1;
        and.b32 %r21, %r1, 3;
        mov.u32 %r22, 0;
    AGAIN:
        add.u32 %r22, %r22, %r4;
        setp.lt.and.u32 %p2, %r22, %r21, %p1;
        @%p2 bra AGAIN;
        sub.u32 %r21, %r21, 1;
        setp.gt.and.s32 %p2, %r21, 0, %p1;
        @%p2 bra AGAIN;
        st.global.u32 [%rd3], %r22;
    """),
    "some lanes exit": (96, 6, WARP + """
        setp.eq.u32 %p1, %r1, 40;
        @%p1 exit;
        """ + WRITES),
    "a warp exits early": (128, 6, WARP + """
        setp.eq.u32 %p1, %r20, 2;
        @%p1 bra END;
        """ + WRITES + "\n    END:"),
    "threads behind the end exit": (64, 6, """
        setp.ge.u32 %p1, %r4, 300;
        @%p1 bra END;
        """ + WRITES + "\n    END:"),
    "some lanes of one block exit": (96, 9, """
        setp.eq.u32 %p1, %r4, 300;
        @%p1 exit;
        """ + WRITES),
    "a warp of one block exits early": (96, 9, WARP + PUT + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 17;
        @%p1 exit;
        bar.sync 0;""" + NEXT + "st.global.u32 [%rd3], %r14;"),
    "a warp of one block runs for long": (96, 9, WARP + PUT + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 17;
        mov.u32 %r30, 0;
    AGAIN:
        add.u32 %r30, %r30, 1;
        setp.lt.and.u32 %p2, %r30, 9000, %p1;
        @%p2 bra AGAIN;
        bar.sync 0;""" + NEXT + """
        add.u32 %r14, %r14, %r30;
        st.global.u32 [%rd3], %r14;"""),
    "a warp of one block diverges": (96, 9, WARP + PUT + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 17;
        and.b32 %r21, %r1, 3;
        mov.u32 %r30, 0;
    AGAIN:
        add.u32 %r30, %r30, 1;
        setp.lt.and.u32 %p2, %r30, %r21, %p1;
        @%p2 bra AGAIN;
        bar.sync 0;""" + NEXT + """
        add.u32 %r14, %r14, %r30;
        st.global.u32 [%rd3], %r14;"""),
    "a barrier": (128, 5, PUT + "bar.sync 0;" + NEXT + "st.global.u32 [%rd3], %r14;"),
    "barriers in a loop": (96, 5, PUT + """
        mov.u32 %r30, 0;
    AGAIN:
        bar.sync 3;""" + NEXT + """
        bar.sync 0;
        st.shared.u32 [%r12], %r14;
        add.u32 %r30, %r30, 1;
        setp.lt.u32 %p1, %r30, 40;
        @%p1 bra AGAIN;
        st.global.u32 [%rd3], %r14;"""),
    "warps leave a loop with a barrier one by one": (128, 5, WARP + PUT + """
        mov.u32 %r30, 0;
    AGAIN:
        bar.sync 0;""" + NEXT + """
        add.u32 %r30, %r30, 1;
        setp.le.u32 %p1, %r30, %r20;
        @%p1 bra AGAIN;
        add.u32 %r14, %r14, %r30;
        st.global.u32 [%rd3], %r14;"""),
    "a barrier that a warp does not come to": (128, 5, WARP + PUT + """
        setp.eq.u32 %p1, %r20, 3;
        @%p1 exit;
        bar.sync 0;
        xor.b32 %r13, %r12, 64;
        ld.shared.u32 %r14, [%r13];
        st.global.u32 [%rd3], %r14;"""),
    "a tree": (128, 5, PUT + """
        mov.u32 %r30, 64;
    AGAIN:
        bar.sync 0;
        setp.ge.u32 %p1, %r1, %r30;
        @%p1 bra AROUND;
        shl.b32 %r31, %r30, 2;
        add.u32 %r31, %r31, %r12;
        ld.shared.u32 %r32, [%r31];
        ld.shared.u32 %r33, [%r12];
        mad.lo.u32 %r33, %r33, 3, %r32;
        st.shared.u32 [%r12], %r33;
    AROUND:
        shr.u32 %r30, %r30, 1;
        setp.ne.u32 %p1, %r30, 0;
        @%p1 bra AGAIN;
        bar.sync 0;
        ld.shared.u32 %r33, [%r10];
        add.u32 %r33, %r33, %r4;
        st.global.u32 [%rd3], %r33;"""),
    "lanes of one block exit behind a barrier": (128, 9, PUT + "bar.sync 0;" + NEXT + """
        setp.eq.u32 %p1, %r4, 600;
        @%p1 exit;
        mov.u32 %r30, 5;
        st.global.u32 [%rd3], %r14;
        bar.sync 0;
        add.u32 %r14, %r14, %r30;
        st.global.u32 [%rd3], %r14;"""),
    "one thread writes for all, and the others exit": (128, 9, PUT + "bar.sync 0;" + NEXT + """
        setp.ne.u32 %p1, %r1, 70;
        @%p1 bra END;
        st.global.u32 [%rd3], %r14;
    END:"""),
    "a warp of one block diverges behind a barrier": (128, 9, PUT + "bar.sync 0;" + NEXT + """
        setp.eq.u32 %p1, %r4, 600;
        mov.u32 %r30, 5;
        @%p1 bra LATER;
        activemask.b32 %r31;
        xor.b32 %r14, %r14, %r31;
        bra.uni JOIN;
    LATER:
        mov.u32 %r30, 9;
        bar.warp.sync 0x01000000;
    JOIN:
        bar.sync 0;
        add.u32 %r14, %r14, %r30;
        st.global.u32 [%rd3], %r14;"""),
    "barriers under a guard": (64, 5, PUT + """
        setp.lt.u32 %p1, %r2, 3;
        @%p1 bar.sync 0;
        @!%p1 bar.sync 1;""" + NEXT + "st.global.u32 [%rd3], %r14;"),
    "warps wait at different barriers": (128, 5, WARP + PUT + """
        setp.lt.u32 %p1, %r20, 2;
        @%p1 bra LOW;
        bar.sync 2, 64;
        bra.uni JOIN;
    LOW:
        bar.sync 1, 64;
    JOIN:
        bar.sync 0;""" + NEXT + "st.global.u32 [%rd3], %r14;"),
    "a warp arrives and goes on": (64, 5, WARP + PUT + """
        setp.eq.u32 %p1, %r20, 0;
        @%p1 bra FIRST;
        bar.sync 1, 64;
        xor.b32 %r13, %r12, 128;
        ld.shared.u32 %r14, [%r13];
        st.global.u32 [%rd3], %r14;
        bra.uni END;
    FIRST:
        bar.arrive 1, 64;
    END:"""),
    "lanes of a warp arrive in two places": (64, 5, WARP + PUT + """
        setp.eq.u32 %p1, %r20, 0;
        @!%p1 bra SECOND;
        setp.lt.u32 %p2, %r1, 9;
        @%p2 bra FEW;
        barrier.arrive 1, 64;
        bra.uni END;
    FEW:
        barrier.arrive 1, 64;
        bra.uni END;
    SECOND:
        bar.sync 1, 64;
        xor.b32 %r13, %r12, 128;
        ld.shared.u32 %r14, [%r13];
        st.global.u32 [%rd3], %r14;
    END:"""),
    "an arrival that nobody waits for": (64, 5, "bar.arrive 4, 96;\n" + WRITES),
    "votes at a barrier": (96, 5, """
        and.b32 %r20, %r1, 3;
        setp.eq.u32 %p1, %r20, 0;
        bar.red.popc.u32 %r21, 0, %p1;
        st.global.u32 [%rd3], %r21;"""),
    "votes at a barrier again and again": (96, 7, WARP + """
        mov.u32 %r22, 0;
        mov.u32 %r23, 0;
    AGAIN:
        add.u32 %r24, %r4, %r22;
        and.b32 %r24, %r24, 7;
        setp.lt.u32 %p1, %r24, %r22;
        bar.red.popc.u32 %r21, 0, %p1;
        mad.lo.u32 %r23, %r23, 5, %r21;
        bar.red.and.pred %p2, 1, %p1;
        @%p2 add.u32 %r23, %r23, 1;
        bar.sync 0;
        bar.red.or.pred %p2, 0, %p1;
        @%p2 add.u32 %r23, %r23, 2;
        add.u32 %r22, %r22, 1;
        setp.lt.u32 %p3, %r22, 9;
        @%p3 bra AGAIN;
        st.global.u32 [%rd3], %r23;"""),
    "a warp brings nothing to the vote at a barrier": (96, 7, WARP + """
        setp.eq.u32 %p1, %r20, 1;
        setp.lt.u32 %p2, %r1, 50;
        mov.u32 %r21, 77;
        @%p1 bra PLAIN;
        bar.red.popc.u32 %r21, 0, %p2;
        bra JOIN;
    PLAIN:
        bar.sync 0;
    JOIN:
        st.global.u32 [%rd3], %r21;"""),
    "lanes wait at different places": (64, 4, PUT + """
        setp.lt.u32 %p1, %r1, 40;
        @%p1 bra LOW;
        bar.sync 0;
        bra.uni JOIN;
    LOW:
        bar.sync 0;
    JOIN:""" + NEXT + "st.global.u32 [%rd3], %r14;"),
    "a carry that is left over": (64, 4, """
        add.cc.u32 %r20, %r4, 0xffffffff;
        addc.u32 %r21, %r4, 0;
        setp.ne.u32 %p1, %r2, 2;
        @%p1 bra JOIN;
        sub.cc.u32 %r20, 0, 1;
    JOIN:
        st.global.u32 [%rd3], %r21;"""),
    "a register that is not written everywhere": (64, 4, """
        setp.ne.u32 %p1, %r2, 1;
        @%p1 bra JOIN;
        mov.u32 %r30, 7;
        add.u32 %r31, %r4, 7;
    JOIN:
        add.u32 %r32, %r30, %r31;
        st.global.u32 [%rd3], %r32;"""),
    "more than a quantum": (64, 3, """
        mov.u32 %r30, 0;
    AGAIN:
        add.u32 %r30, %r30, 1;
        setp.lt.u32 %p1, %r30, 6000;
        @%p1 bra AGAIN;
        st.global.u32 [%rd3], %r30;"""),
    "every block adds to a sum": (96, 9, "red.global.add.u32 [%rd1], %r4;"),
    "many blocks": (64, 200, WRITES),
    "many blocks, one of which ends otherwise": (64, 200, """
        setp.eq.u32 %p1, %r4, 4444;
        @%p1 exit;
        """ + WRITES),
}  # fmt: skip
"""What: (threads of a block, blocks, body)."""


def outcome(way: str, threads: int, blocks: Any, body: str, **options: Any) -> tuple[Any, ...]:
    """What a program leaves: `out`, `x`, and what has been executed, line by line; or the fault."""
    text, x = kernel(body, SHARED), np.zeros(64, np.uint32)
    out = np.zeros(threads * int(np.prod(blocks)), np.uint32)
    try:
        out, report = run(way, text, threads=threads, blocks=blocks, out=out, x=x, **options)
    except DeviceFault as fault:
        return (str(fault), x.tolist())
    return out.tolist(), x.tolist(), report.lines, report.warp_instructions, report.thread_instructions


@pytest.mark.sweep(6)
@pytest.mark.parametrize("what", PROGRAMS)
def test_all_engines_do_the_same(what: str) -> None:
    threads, blocks, body = PROGRAMS[what]
    expected, *others = (outcome(way, threads, blocks, body) for way in WAYS)
    assert isinstance(expected[0], list), expected
    assert any(expected[0])
    for other in others:
        assert other == expected


@pytest.mark.sweep(18)
@pytest.mark.parametrize("what", PROGRAMS)
def test_counters_of_all_engines(what: str) -> None:
    """For each warpgroup what its own warps have issued, too."""
    threads, blocks, body = PROGRAMS[what]
    more = [5 * threads] if 5 * threads <= 1024 else []  # several warpgroups, the last not whole
    blocks = 40 if what == "all alike" else blocks  # most begin in place of others
    for each in [threads, *more]:
        text, x, counted = kernel(body, SHARED if "tile" in body else ""), np.zeros(64, np.uint32), []
        for way in WAYS:
            counted.append(run(way, text, threads=each, blocks=blocks, x=x.copy(), counters=True)[1].counters)
        assert counted[0] is not None
        assert len(counted[0].issue_slots) == -(-each // 128)
        assert all(other == counted[0] for other in counted[1:])


@pytest.mark.parametrize("blocks", [(3, 3), (1, 4, 2), (300, 2)])
def test_blocks_of_a_grid_with_more_than_one_row(blocks: tuple[int, ...]) -> None:
    body = """
        mov.u32 %r20, %ctaid.y;
        mov.u32 %r21, %ctaid.z;
        mov.u32 %r22, %nctaid.x;
        mov.u32 %r23, %nctaid.y;
        mad.lo.u32 %r24, %r21, %r23, %r20;
        mad.lo.u32 %r24, %r24, %r22, %r2;
        mad.lo.u32 %r24, %r24, %r3, %r1;
        mul.wide.u32 %rd5, %r24, 4;
        add.u64 %rd5, %rd5, %rd1;
        mad.lo.u32 %r25, %r20, 1000, %r2;
        mad.lo.u32 %r25, %r21, 100000, %r25;
        st.global.u32 [%rd5], %r25;"""
    expected, *others = (outcome(way, 64, blocks, body) for way in WAYS)
    assert (
        max(expected[0]) == 100000 * (blocks[2] - 1 if len(blocks) > 2 else 0) + 1000 * (blocks[1] - 1) + blocks[0] - 1
    )
    for other in others:
        assert other == expected


FAULTS = {
    "beyond an array": WARP + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 18;
        mov.u64 %rd6, %rd3;
        @%p1 add.u64 %rd6, %rd6, 100000;
        red.global.add.u32 [%rd2], 1;
        st.global.u32 [%rd6], %r4;""",
    "trap": WARP + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 18;
        red.global.add.u32 [%rd2], 1;
        @%p1 trap;""",
    "behind a barrier": WARP + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 18;
        red.global.add.u32 [%rd2], 1;
        bar.sync 0;
        red.global.add.u32 [%rd2+4], 1;
        @%p1 trap;""",
    "beyond an array, behind a barrier": WARP + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 18;
        red.global.add.u32 [%rd2], 1;
        bar.sync 0;
        mov.u64 %rd6, %rd3;
        @%p1 add.u64 %rd6, %rd6, 100000;
        red.global.add.u32 [%rd2], 1;
        st.global.u32 [%rd6], %r4;""",
    "a deadlock": WARP + """
        mad.lo.u32 %r21, %r2, 4, %r20;
        setp.eq.u32 %p1, %r21, 18;
        red.global.add.u32 [%rd2], 1;
        @%p1 bar.sync 1, 64;
        bar.sync 0;""",
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_in_the_third_warp_of_the_fifth_block(what: str) -> None:
    expected, *others = (outcome(way, 128, 9, FAULTS[what]) for way in WAYS)
    assert "block (4, 0, 0)" in expected[0]
    for other in others:
        assert other == expected


@pytest.mark.sweep(8)
@pytest.mark.parametrize("what", PROGRAMS)
@pytest.mark.parametrize("options", [{"workers": 2}, {"seed": 5}, {"counters": True}], ids=str)
def test_two_workers_a_random_order_and_counters_give_the_same(what: str, options: dict[str, Any]) -> None:
    if "jit" not in ENGINES:
        pytest.skip("needs llvmlite")
    threads, blocks, body = PROGRAMS[what]
    expected = outcome("jit", threads, blocks, body)
    assert outcome("jit", threads, blocks, body, **options) == expected


LONG = """
    mov.u32 %r30, 0;
AGAIN:
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p1, %r30, 5000000;
    @%p1 bra AGAIN;"""


def test_a_launch_that_gets_no_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    jit = pytest.importorskip("ptxlab.emulate.jit.running.run", reason="needs llvmlite", exc_type=ImportError)
    threads = pytest.importorskip(
        "ptxlab.emulate.jit.running.worker_threads", reason="needs llvmlite", exc_type=ImportError
    )

    def start(function: Any, args: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_thread", SimpleNamespace(start_new_thread=start))
    monkeypatch.setattr(jit, "HERE", 0.0)  # the caller's thread would run it all, in code that is fast enough
    for ready in (0, 1):  # for one of the two
        waiting = [threads._idle.pop() for _ in range(threads.idle() - ready)]
        with pytest.raises(RuntimeError, match="start new thread"):
            run("jit", kernel(LONG), out=np.zeros(4096, np.uint32), blocks=2, workers=2, budget=None)
        threads._idle.extend(waiting)


@pytest.mark.long
def test_a_budget_ends_blocks_that_would_go_on() -> None:
    body = """
    AGAIN:
        bar.sync 0;
        setp.ge.u32 %p1, %r1, 0;
        @%p1 bra AGAIN;"""
    for way in WAYS:
        assert "budget" in outcome(way, 64, 3, body, budget=50_000)[0]


@pytest.mark.long
def test_who_stops_a_launch_need_not_wait_for_all_of_its_blocks() -> None:
    blocks, heard = (1 << 31) - 1, []

    def watch(done: int, total: int, instructions: int) -> None:
        heard.append(done)
        if len(heard) == 2:
            raise KeyboardInterrupt

    if "jit" not in ENGINES:
        pytest.skip("needs llvmlite")
    with pytest.raises(DeviceFault) as caught, progress.watched(watch):
        run("jit", kernel(""), blocks=blocks, out=np.zeros(32, np.uint32), budget=None)
    assert caught.value.kind == "interrupt"
    assert heard[0] <= heard[1] < blocks

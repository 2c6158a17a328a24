"""Threads of a cluster that wait for each other while others work: no deadlock under any schedule, unless it is one."""

from __future__ import annotations

import numpy as np
import pytest
from emulate_programs import fault_of, kernel, run

SEEDS = (None, *range(1, 21))
SYNC = "barrier.cluster.arrive;\n    barrier.cluster.wait;"
START = f"""
    .shared .align 8 .b64 full;
    .shared .align 4 .b32 flag;
    mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %cluster_nctarank;
    add.u32 %r7, %r5, 1;
    rem.u32 %r7, %r7, %r6;              // the next rank
    shr.u32 %r9, %r1, 5;                // the warp
    setp.eq.u32 %p1, %r1, 0;
    @%p1 mbarrier.init.shared.b64 [full], 1;
    @%p1 st.shared.u32 [flag], 0;
    mov.u32 %r10, full; mapa.shared::cluster.u32 %r11, %r10, %r7;
    mov.u32 %r12, flag; mapa.shared::cluster.u32 %r13, %r12, %r7;
    mul.wide.u32 %rd6, %r2, 4;
    add.u64 %rd6, %rd2, %rd6;           // &x[block]
    mad.lo.u32 %r14, %r2, %r3, %r1; mad.lo.u32 %r14, %r14, 1664525, 1013904223;
    shr.u32 %r14, %r14, 22;             // 0 to 1023
    {SYNC}
"""
"""%r10, %r11: the mbarrier `full`, here and in the next block; %r12, %r13: `flag`; %rd6: a word of the block in x."""
WAIT = "WAIT:\n    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r10], 0;\n    @!%p2 bra WAIT;"
WORKERS = {
    "one block": "setp.eq.u32 %p9, %r5, 1;\n selp.u32 %r20, {0}, 1, %p9;",
    "later blocks": "mul.lo.u32 %r20, %r5, {0};",
    "earlier blocks": "sub.u32 %r20, %r6, %r5;\n mul.lo.u32 %r20, %r20, {0};",
    "one warp": "setp.eq.u32 %p9, %r9, 1;\n selp.u32 %r20, {0}, 1, %p9;",
    "later threads": "mad.lo.u32 %r20, %r1, {0}, 1;\n shr.u32 %r20, %r20, 5;",
    "any": "mul.lo.u32 %r20, %r14, {0};\n shr.u32 %r20, %r20, 9;",
}
"""Who works how long: rounds of a loop."""
JOBS = {
    "the barrier of the cluster": SYNC,
    "twice, with work between": f"{SYNC}\n ld.volatile.global.u32 %r25, [%rd6];\n{SYNC}",
    "an mbarrier of the next block": f"@%p1 mbarrier.arrive.shared::cluster.b64 _, [%r11];\n{WAIT}\n{SYNC}",
    "an mbarrier, on behind an arrival": f"""
    barrier.cluster.arrive;
    setp.eq.u32 %p4, %r9, 0; @%p4 bra WAIT;
    barrier.cluster.wait;
    setp.eq.u32 %p5, %r1, 32;
    @%p5 mbarrier.arrive.shared::cluster.b64 _, [%r11];
    bra OVER;
{WAIT}
    barrier.cluster.wait;
OVER:
    {SYNC}""",
    "a flag in the next block": f"""
    @%p1 st.volatile.shared::cluster.u32 [%r13], 1;
POLL:
    ld.volatile.shared.u32 %r25, [flag];
    setp.eq.u32 %p2, %r25, 0; @%p2 bra POLL;
    {SYNC}""",
    "a flag that is slept for": f"""
    @%p1 st.volatile.shared::cluster.u32 [%r13], 1;
POLL:
    atom.shared.or.b32 %r25, [flag], 0;
    setp.ne.u32 %p2, %r25, 0; @%p2 bra OVER;
    nanosleep.u32 100;
    bra POLL;
OVER:
    {SYNC}""",
    "all blocks, counted in global memory": f"""
    @%p1 red.global.add.u32 [%rd2], 1;
    setp.ne.u32 %p4, %r1, 33; @%p4 bra OVER;
POLL:
    ld.volatile.global.u32 %r25, [%rd2];
    mov.u32 %r26, %nctaid.x;
    setp.lt.u32 %p2, %r25, %r26; @%p2 bra POLL;
OVER:
    {SYNC}""",
    "a block that exits": f"""
    setp.eq.u32 %p4, %r5, 1; @%p4 exit;
    {SYNC}""",
    "named barriers and the cluster's": f"""
    setp.eq.u32 %p4, %r9, 0;
    @%p4 bar.arrive 1, 64;
    @!%p4 bar.sync 1, 64;
    {SYNC}
    bar.sync 0;""",
}


def program(body: str) -> str:
    return kernel(START + body).replace("sm_80", "sm_90")


def working(who: str, rounds: int, job: str) -> str:
    """Everyone works, some longer than others, and then waits for the others."""
    work = f"""
    {WORKERS[who].format(rounds)}
    setp.eq.u32 %p9, %r20, 0; @%p9 bra READY;
BUSY:
    sub.u32 %r20, %r20, 1; setp.ne.u32 %p9, %r20, 0; @%p9 bra BUSY;
READY:
    {JOBS[job]}
    st.global.u32 [%rd3], 7;"""
    return program(work)


@pytest.mark.sweep(25)
@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("who", WORKERS)
@pytest.mark.parametrize("job", JOBS)
def test_unequal_work(job: str, who: str, size: int, engine: str) -> None:
    rounds = 1500 if engine == "jit" else 40
    text, x = working(who, rounds, job), np.zeros(64, np.uint32)
    exits = np.arange(size).repeat(64) == 1 if "exits" in job else np.zeros(64 * size, bool)
    for seed in SEEDS if engine == "jit" else SEEDS[:: 7 if size == 2 else 20]:
        out, _ = run(engine, text, threads=64, blocks=size, cluster=(size,), x=x, seed=seed, budget=30_000_000)
        assert (out[~exits] == 7).all(), seed


NAMED = """
    setp.eq.u32 %p4, %r5, 1; setp.eq.and.u32 %p4, %r9, 1, %p4;
    @%p4 bar.sync 1, 64;
    barrier.cluster.arrive;
    barrier.cluster.wait; //last"""
LACKS = f"""
    setp.eq.and.u32 %p4, %r5, 1, %p1;
    @%p4 mbarrier.arrive.shared::cluster.b64 _, [%r11];
    setp.eq.u32 %p4, %r5, 0; @%p4 bra LAST;
{WAIT}
LAST:
    barrier.cluster.arrive;
    barrier.cluster.wait; //last"""
EXITED = f"""
    setp.eq.u32 %p4, %r5, 1; @%p4 exit;
{WAIT}"""
EACH_OTHER = f"{WAIT}\n @%p1 mbarrier.arrive.shared::cluster.b64 _, [%r11];"
NOT_ALL = """
    setp.eq.u32 %p4, %r5, 1;
    @!%p4 barrier.cluster.arrive;
    barrier.cluster.wait; //last"""
HERE = "waits for the barrier of the cluster (barrier.cluster.wait, line {})"
MISSING = (
    "waits for the phase of parity 0 of the mbarrier at 'full', which has not ended: 1 of 1 arrivals missing, "
    "no thread can arrive (mbarrier.try_wait.parity.shared::cta.b64, line {})"
)
STUCK = {
    "a named barrier of one block": (NAMED, 1, (HERE, "waits for barrier 1 (bar.sync, line {})"), HERE),
    "an mbarrier that lacks an arrival": (LACKS, 1, (MISSING,), HERE),
    "an mbarrier whose mate has exited": (EXITED, 0, (MISSING,), ""),
    "mbarriers of each other": (EACH_OTHER, 0, (MISSING,), MISSING),
    "some do not arrive": (NOT_ALL, 0, (HERE,), HERE),
}
"""What the threads of a cluster of two do, the block that is named, what is said of its warps, and of the other's."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", STUCK)
def test_real_deadlocks(name: str, engine: str) -> None:
    """The same whatever the schedule: the block that is named is one where more is wrong than that a mate is late."""
    body, rank, waits, mate = STUCK[name]
    text = program(body)

    def line(warps: str, said: str) -> str:
        if not said:
            return "ended: warps 0, 1"
        said = said.format(line_of(text, {HERE: "//last", MISSING: "try_wait"}.get(said, "bar.sync 1")))
        said = said.replace("waits for", "wait for", 1) if "s " in warps else said
        return f"{warps}, lanes 0-31: {said}"

    own = [line(f"warp {k}", said) if len(waits) > 1 else line("warps 0-1", said) for k, said in enumerate(waits)]
    for seed in SEEDS if engine != "step" else SEEDS[::4]:
        stopped = fault_of(engine, text, threads=64, blocks=4, cluster=(2,), seed=seed, workers=1, budget=200_000)
        x = stopped.block[0]
        told = [f"    block ({x}, 0, 0), {each}" for each in own]
        told.append(f"    block ({x ^ 1}, 0, 0), {line('warps 0-1', mate)}")
        assert stopped.message.splitlines() == ["no thread of the cluster can go on", *told], seed
        assert x % 2 == rank


def line_of(text: str, word: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if word in line)

"""Planted bugs with mbarriers, in the notation of `planted_bug.py`: gate[0..3] are mbarriers, warp 0 and warp 1 run.

Beside the registers of `planted_bug.py`: %p6 is warp 0's first thread, %p7 warp 1's. A loop counts rounds in %r30.
"""

from __future__ import annotations

from typing import Any

from planted_bug import TILE, Planted

GATES: dict[str, Any] = {"before": f".shared .align 8 .b64 gate[4];\n{TILE}", "target": "sm_90"}
MBARRIERS = Planted("mbarrier", "synccheck", **GATES)
bug = MBARRIERS.add

PHASE, WAIT, USE = "mbarrier phase", "mbarrier wait", "mbarrier in use"

PEER = """
    mov.u32 %r33, %cluster_ctarank; xor.b32 %r34, %r33, 1;
    mapa.shared::cluster.u32 %r35, %r20, %r34; mov.u32 %r36, gate;
    mapa.shared::cluster.u32 %r37, %r36, %r34;
"""
"""%r33 is this block's rank in a cluster of two; %r35 and %r37 are the tile and the mbarriers of the other block."""
MEET = "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n"


def made(*counts: int) -> str:
    """Thread 0 makes so many mbarriers, then all go on."""
    lines = ["setp.eq.u32 %p6, %r1, 0;", "setp.eq.u32 %p7, %r1, 32;"]
    lines += [f"@%p6 mbarrier.init.shared::cta.b64 [gate+{8 * k}], {n};" for k, n in enumerate(counts)]
    return "\n".join(f"    {line}" for line in [*lines, "bar.sync 0;"]) + "\n"


def wait(label: str, gate: int = 0, parity: str = "0", mark: str = "") -> str:
    """A loop that waits for a phase of an mbarrier."""
    waits = f"mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+{8 * gate}], {parity};"
    return f"{label}: {waits} @!%p8 bra {label}; {mark}"


def ring(bug: str, *, first: str, second: str) -> str:
    """Warp 0 fills the tile three times, warp 1 reads it; the finding names the lines `first` and `second`."""
    text = """
    mov.u32 %r30, 0;
ROUND: and.b32 %r31, %r30, 1; xor.b32 %r32, %r31, 1;
    {bug}
    @!%p2 bra CONSUME;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], %r32; //producer waits
    @!%p8 bra EMPTY;
    st.shared.u32 [%r10], %r30;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //producer arrives
    bra NEXT;
CONSUME:
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; //consumer waits
    @!%p8 bra FULL;
    ld.shared.u32 %r6, [%r12];
    mbarrier.arrive.shared::cta.b64 _, [gate+8]; //consumer arrives
NEXT: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra ROUND;
    st.global.u32 [%rd3], %r6;
"""
    return made(32, 32) + text.format(bug=bug).replace(f"//{first}", "//1").replace(f"//{second}", "//2")


# fmt: off
# -- initialization ----------------------------------------------------------------------------------------------------

UNORDERED = Planted("mbarrier init", "racecheck", **GATES)
UNORDERED.add("another warp uses it without a barrier between", "mbarrier init", body="""
    @%p1 mbarrier.init.shared::cta.b64 [gate], 1; //2
    + bar.sync 0;
    - bar.warp.sync 0xffffffff;
    @%p1 mbarrier.arrive.shared::cta.b64 _, [gate];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; //1
    @!%p8 bra WAIT;""")

AGAIN = Planted("mbarrier again", "racecheck", **GATES)
"""Who makes an mbarrier again, or makes it invalid, must come after whoever uses it."""
WAITED = """
    mbarrier.arrive.shared::cta.b64 _, [gate];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT; //2
    + bar.sync 0;
"""
ARRIVED = """
    @%p6 mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    @%p7 mbarrier.arrive.shared::cta.b64 _, [gate];
    + bar.sync 0;
"""
for again in ("inval.shared::cta.b64 [gate];", "init.shared::cta.b64 [gate], 64;"):
    word = again.split(".")[0]
    for name, count, uses, kind, by in (("waited", 64, WAITED, "WAR", "p6"), ("arrived", 3, ARRIVED, "WAW", "p7")):
        AGAIN.add(f"{word} by a thread, and nothing makes it come after others that have {name}", kind,
            body=made(count) + uses + f"""
    {f"+ @%{by} mbarrier.inval.shared::cta.b64 [gate];" * (word == "init")}
    @%{by} mbarrier.{again} //1
    st.global.u32 [%rd3], %r1;""")
AGAIN.add("init by another thread than inval", "WAW", body=made(64) + """
    @%p6 mbarrier.inval.shared::cta.b64 [gate]; //2
    + bar.sync 0;
    @%p7 mbarrier.init.shared::cta.b64 [gate], 64; //1
    st.global.u32 [%rd3], %r1;""")
AGAIN.add("a plain store", "WAR|WAW", body=made(64) + WAITED + """
    @%p6 st.shared.u64 [gate], %rd3; //1
    st.global.u32 [%rd3], %r1;""")

# -- phases ------------------------------------------------------------------------------------------------------------

bug("all arrive and wait, the parity never changes", PHASE, stops=True, body=made(64) + """
    mov.u32 %r30, 0;
ROUND: st.shared.u32 [%r10], %r30;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    and.b32 %r31, %r30, 1;
    - mov.u32 %r31, 0;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; @!%p8 bra WAIT; //1
    ld.shared.u32 %r6, [%r12];
    bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;
    st.global.u32 [%rd3], %r6;""")
bug("the first wait asks for parity 1", PHASE, stops=True, body=made(64) + """
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
WAIT:
    - mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1; //1
    + mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
bug("a consumer's parity never changes", PHASE, stops=True, body=ring(
    "- mov.u32 %r31, 0;", first="consumer waits", second="producer arrives"))

bug("a producer's parity never changes", f"{PHASE}|{WAIT}", stops=True, body=ring(
    "- mov.u32 %r32, 1;", first="producer waits", second="consumer arrives"))

bug("an old state is asked for", PHASE, stops=True, body=made(64) + """
    mbarrier.arrive.shared::cta.b64 %rd20, [gate];
WAIT: mbarrier.try_wait.shared::cta.b64 %p8, [gate], %rd20; @!%p8 bra WAIT;
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 %rd21, [gate]; //2
    - mov.b64 %rd21, %rd20;
AGAIN: mbarrier.try_wait.shared::cta.b64 %p8, [gate], %rd21; //1
    @!%p8 bra AGAIN;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;""")
bug("bytes are waited for with an old parity", f"{PHASE}|{WAIT}", stops=True, body=made(1) + """
    mov.u32 %r30, 0;
ROUND: @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 64; //2
    @%p6 mbarrier.complete_tx.shared::cta.b64 [gate], 64;
    and.b32 %r31, %r30, 1;
    - mov.u32 %r31, 0;
WAIT: mbarrier.test_wait.parity.shared::cta.b64 %p8, [gate], %r31; //1
    @!%p8 bra WAIT;
    bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 2; @%p9 bra ROUND;
    st.global.u32 [%rd3], %r30;""")

# -- phases that a warp may miss ---------------------------------------------------------------------------------------

MISSES = Planted("mbarrier missed", "synccheck", threads=128, **GATES)
"""Each warp that sees a phase over must do so before some arrival in the next one."""
LEADERS = """
    and.b32 %r31, %r1, 63; setp.eq.u32 %p7, %r31, 0; setp.lt.u32 %p2, %r1, 64; setp.eq.u32 %p5, %r1, 96;
    mov.u32 %r30, 0;
ROUND: and.b32 %r31, %r30, 1; xor.b32 %r32, %r31, 1;
    @!%p2 bra FULL;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], %r32; //producer waits
    @!%p8 bra EMPTY;
    {producer}
    @%p7 mbarrier.arrive.shared::cta.b64 _, [gate]; //producer arrives
    bra NEXT;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; //consumer waits
    @!%p8 bra FULL;
    {consumer}
NEXT: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra ROUND;"""
"""Two warps fill, two read: %p7 is the first thread of each two, which arrives for both."""
FREES = "@%p7 mbarrier.arrive.shared::cta.b64 _, [gate+8]; //consumer arrives"


def leaders(name: str, waits: str, count: int = 1, **given: str) -> None:
    """Warps of those that wait may miss a phase, because of one thread of the others that arrives."""
    roles = {"producer": "bar.sync 1, 64;", "consumer": f"bar.sync 2, 64;\n    {FREES}"} | given
    text = made(1, count) + "@%p1 st.shared.u32 [%r20], 0;\n    bar.sync 0;" + LEADERS.format(**roles)
    arrives = "consumer" if waits == "producer" else "producer"
    MISSES.add(name, "mbarrier missed",
        body=text.replace(f"//{waits} waits", "//1").replace(f"//{arrives} arrives", "//2"))


leaders("readers, a barrier of them", "consumer", consumer=f"+ bar.sync 2, 64;\n    {FREES}")
leaders("writers, a barrier of them", "producer", producer="+ bar.sync 1, 64;")
leaders("readers, each warp arrives", "consumer", 2, consumer=f"""
    - {FREES.replace("8];", "8], 2;")}
    + @%p3 mbarrier.arrive.shared::cta.b64 _, [gate+8];""")
leaders("readers, a flag of the other warp", "consumer", consumer=f"""
    + @%p5 fence.acq_rel.cta;
    + @%p5 red.relaxed.cta.shared.add.u32 [%r20], 1;
    @!%p7 bra TOLD;
    + POLL: ld.acquire.cta.shared.u32 %r6, [%r20];
    + setp.le.u32 %p9, %r6, %r30; @%p9 bra POLL;
TOLD: {FREES}""")
MISSES.add("one thread announces the next bytes", "mbarrier missed", stops=True, body=made(1) + """
    mov.u32 %r30, 0;
ROUND: @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 64; //2
    @%p6 mbarrier.complete_tx.shared::cta.b64 [gate], 64;
    and.b32 %r31, %r30, 1;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; @!%p8 bra WAIT; //1
    + bar.sync 0;
    add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra ROUND;""")

# -- waits that do not end ---------------------------------------------------------------------------------------------

bug("made for one thread too many", WAIT, stops=True, body="""
    - @%p1 mbarrier.init.shared::cta.b64 [gate], 65;
    + @%p1 mbarrier.init.shared::cta.b64 [gate], 64;
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT; //1
    st.global.u32 [%rd3], %r1;""")
bug("the parity is turned over too early", WAIT, stops=True, body=made(64) + """
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT;
    + mbarrier.arrive.shared::cta.b64 _, [gate];
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1; //1
    @%p8 bra ON;
    bra AGAIN;
ON: st.global.u32 [%rd3], %r1;""")
bug("bytes that nobody reports", WAIT, stops=True, body=made(1) + """
    - @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 128; //2
    + @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 64;
    @%p6 mbarrier.complete_tx.shared::cta.b64 [gate], 64;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; //1
    selp.u32 %r6, 1, 0, %p8; setp.eq.s32 %p9, %r6, 0; @%p9 bra WAIT;
    st.global.u32 [%rd3], %r1;""")
bug("each warp waits for the other first", WAIT, stops=True, body=made(32) + """
    @%p6 mbarrier.init.shared::cta.b64 [gate+8], 32; //2
    bar.sync 0;
    @!%p2 bra OTHER;
FIRST: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0; //1
    @!%p8 bra FIRST;
    mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
OTHER:
    + mbarrier.arrive.shared::cta.b64 _, [gate+8];
SECOND: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra SECOND;
    - mbarrier.arrive.shared::cta.b64 _, [gate+8];
END: st.global.u32 [%rd3], %r1;""")

# -- made, used, made invalid ------------------------------------------------------------------------------------------

bug("made again while it is in use", USE, body=made(64) + """
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    + bar.sync 0;
    + @%p6 mbarrier.inval.shared::cta.b64 [gate];
    bar.sync 0;
    @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //1
    bar.sync 0;
    st.global.u32 [%rd3], %r1;""")
bug("made by two threads", USE, body="""
    setp.eq.u32 %p6, %r1, 0;
    @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //2
    bar.sync 0;
    - setp.eq.u32 %p6, %r1, 32;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //1
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate];
    st.global.u32 [%rd3], %r1;""")
bug("made invalid while others wait", USE, stops=True, body=made(64) + """
    @%p2 mbarrier.arrive.shared::cta.b64 _, [gate];
    + @!%p2 mbarrier.arrive.shared::cta.b64 _, [gate];
    + bra WAIT;
    - @!%p2 bra OUT;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT; //2
    + bar.sync 1;
    bra END;
OUT: bar.sync 2, 32;
    bar.sync 2, 32;
    @%p7 mbarrier.inval.shared::cta.b64 [gate]; //1
END: st.global.u32 [%rd3], %r1;""")
bug("used when it has been made invalid", "mbarrier not initialised", stops=True, body=made(64) + """
    mbarrier.arrive.shared::cta.b64 _, [gate];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; @!%p8 bra WAIT;
    bar.sync 0;
    - @%p6 mbarrier.inval.shared::cta.b64 [gate]; //2
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    st.global.u32 [%rd3], %r1;""")
bug("used before it is made", "mbarrier not initialised", stops=True, body="""
    setp.eq.u32 %p6, %r1, 0;
    + @%p6 mbarrier.init.shared::cta.b64 [gate], 64;
    + bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    - bar.sync 0;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 64;
    st.global.u32 [%rd3], %r1;""")
bug("arrived at again before anybody has seen the phase over", "mbarrier unseen", body=made(64) + """
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    + WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    st.global.u32 [%rd3], %r1;""")
bug("more arrivals than it was made for", "mbarrier arrivals", stops=True, body=made(3) + """
    @%p3 mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    bar.sync 0;
    - @%p6 mbarrier.arrive.shared::cta.b64 _, [gate], 2; //1
    + @%p6 mbarrier.arrive.shared::cta.b64 _, [gate], 1;
    st.global.u32 [%rd3], %r1;""")
bug("an arrival that must not end the phase", "mbarrier arrivals", stops=True, body=made(2) + """
    @%p6 mbarrier.arrive.shared::cta.b64 %rd20, [gate]; //2
    bar.sync 0;
    - @%p7 mbarrier.arrive.noComplete.shared::cta.b64 %rd20, [gate], 1; //1
    + @%p7 mbarrier.arrive.shared::cta.b64 %rd20, [gate];
    st.global.u32 [%rd3], %r1;""")
bug("made for nobody", "mbarrier arrivals", stops=True, body="""
    setp.eq.u32 %p6, %r1, 0;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 0; //1
    + @%p6 mbarrier.init.shared::cta.b64 [gate], 1;
    bar.sync 0;
    st.global.u32 [%rd3], %r1;""")

# -- a phase that a warp of the other block may miss -------------------------------------------------------------------

MISSES.add("one thread answers the other block", "mbarrier missed", threads=64, blocks=2, cluster=2,
    body=made(1) + PEER + f"""
    mov.u32 %r30, 0;
{MEET}
ROUND: and.b32 %r31, %r30, 1;
    @!%p5 bra READS;
    @%p6 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r37]; //2
    @!%p2 bra NEXT;
ANSWER: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [gate], %r31; @!%p8 bra ANSWER;
    bra NEXT;
READS: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p8, [gate], %r31; //1
    @!%p8 bra READS;
    + bar.sync 0;
    @%p6 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r37];
NEXT: add.u32 %r30, %r30, 1; setp.lt.u32 %p9, %r30, 3; @%p9 bra ROUND;
{MEET}""")

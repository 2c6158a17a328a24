"""Planted bugs with mbarriers, in the notation of `planted.py`: gate[0..3] are mbarriers, warp 0 and warp 1 run.

Beside the registers of `planted.py`: %p6 is warp 0's first thread, %p7 warp 1's. A loop counts rounds in %r30.
"""

from __future__ import annotations

from planted import TILE, bug

SHARED = f".shared .align 8 .b64 gate[4];\n{TILE}"


def made(*counts: int) -> str:
    """Thread 0 makes so many mbarriers, then all go on."""
    lines = ["setp.eq.u32 %p6, %r1, 0;", "setp.eq.u32 %p7, %r1, 32;"]
    lines += [f"@%p6 mbarrier.init.shared::cta.b64 [gate+{8 * k}], {n};" for k, n in enumerate(counts)]
    return "\n".join(f"    {line}" for line in [*lines, "bar.sync 0;"]) + "\n"


def planted(name: str, check: str, kind: str, body: str, **options: object) -> None:
    """Adds a bug."""
    bug(f"mbarrier: {name}", check, kind, body, before=SHARED, target="sm_90", **options)  # type: ignore[arg-type]


PHASE, WAIT, USE = "mbarrier phase", "mbarrier wait", "mbarrier in use"

# -- phases ------------------------------------------------------------------------------------------------------------

planted(
    "all arrive and wait, the parity never changes",
    "synccheck",
    PHASE,
    made(64)
    + """
    mov.u32 %r30, 0;
ROUND:
    st.shared.u32 [%r10], %r30;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    and.b32 %r31, %r30, 1;
    - mov.u32 %r31, 0;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; //1
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r12];
    bar.sync 0;
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 2;
    @%p9 bra ROUND;
    st.global.u32 [%rd3], %r6;
""",
    stops=True,
)
planted(
    "the first wait asks for parity 1",
    "synccheck",
    PHASE,
    made(64)
    + """
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
WAIT:
    - mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1; //1
    + mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
""",
    stops=True,
)
RING = """
    mov.u32 %r30, 0;
ROUND:
    and.b32 %r31, %r30, 1;
    xor.b32 %r32, %r31, 1;
{bug}
    @!%p2 bra CONSUME;
EMPTY:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], %r32; //{producer}
    @!%p8 bra EMPTY;
    st.shared.u32 [%r10], %r30;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //{full}
    bra NEXT;
CONSUME:
FULL:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r31; //{consumer}
    @!%p8 bra FULL;
    ld.shared.u32 %r6, [%r12];
    mbarrier.arrive.shared::cta.b64 _, [gate+8]; //{empty}
NEXT:
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 3;
    @%p9 bra ROUND;
    st.global.u32 [%rd3], %r6;
"""
planted("a consumer's parity never changes", "synccheck", PHASE, made(32, 32) + RING.format(
    bug="    - mov.u32 %r31, 0;", consumer=1, full=2, producer=0, empty=0), stops=True)  # fmt: skip
planted("a producer's parity never changes", "synccheck", f"{PHASE}|{WAIT}", made(32, 32) + RING.format(
    bug="    - mov.u32 %r32, 1;", consumer=0, full=0, producer=1, empty=2), stops=True)  # fmt: skip
planted(
    "an old state is asked for",
    "synccheck",
    PHASE,
    made(64)
    + """
    mbarrier.arrive.shared::cta.b64 %rd20, [gate];
WAIT:
    mbarrier.try_wait.shared::cta.b64 %p8, [gate], %rd20;
    @!%p8 bra WAIT;
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 %rd21, [gate]; //2
    - mov.b64 %rd21, %rd20;
AGAIN:
    mbarrier.try_wait.shared::cta.b64 %p8, [gate], %rd21; //1
    @!%p8 bra AGAIN;
    ld.shared.u32 %r6, [%r10];
    st.global.u32 [%rd3], %r6;
""",
    stops=True,
)
planted(
    "bytes are waited for with an old parity",
    "synccheck",
    f"{PHASE}|{WAIT}",
    made(1)
    + """
    mov.u32 %r30, 0;
ROUND:
    @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 64; //2
    @%p6 mbarrier.complete_tx.shared::cta.b64 [gate], 64;
    and.b32 %r31, %r30, 1;
    - mov.u32 %r31, 0;
WAIT:
    mbarrier.test_wait.parity.shared::cta.b64 %p8, [gate], %r31; //1
    @!%p8 bra WAIT;
    bar.sync 0;
    add.u32 %r30, %r30, 1;
    setp.lt.u32 %p9, %r30, 2;
    @%p9 bra ROUND;
    st.global.u32 [%rd3], %r30;
""",
    stops=True,
)
# -- waits that do not end ---------------------------------------------------------------------------------------------

planted(
    "made for one thread too many",
    "synccheck",
    WAIT,
    """
    - @%p1 mbarrier.init.shared::cta.b64 [gate], 65;
    + @%p1 mbarrier.init.shared::cta.b64 [gate], 64;
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; //1
    @!%p8 bra WAIT;
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "the parity is turned over too early",
    "synccheck",
    WAIT,
    made(64)
    + """
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    + mbarrier.arrive.shared::cta.b64 _, [gate];
AGAIN:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1; //1
    @%p8 bra ON;
    bra AGAIN;
ON:
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "bytes that nobody reports",
    "synccheck",
    WAIT,
    made(1)
    + """
    - @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 128; //2
    + @%p6 mbarrier.arrive.expect_tx.shared::cta.b64 _, [gate], 64;
    @%p6 mbarrier.complete_tx.shared::cta.b64 [gate], 64;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; //1
    selp.u32 %r6, 1, 0, %p8;
    setp.eq.s32 %p9, %r6, 0;
    @%p9 bra WAIT;
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "each warp waits for the other first",
    "synccheck",
    WAIT,
    made(32)
    + """
    @%p6 mbarrier.init.shared::cta.b64 [gate+8], 32; //2
    bar.sync 0;
    @!%p2 bra OTHER;
FIRST:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0; //1
    @!%p8 bra FIRST;
    mbarrier.arrive.shared::cta.b64 _, [gate];
    bra END;
OTHER:
    + mbarrier.arrive.shared::cta.b64 _, [gate+8];
SECOND:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra SECOND;
    - mbarrier.arrive.shared::cta.b64 _, [gate+8];
END:
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)

# -- made, used, made invalid ------------------------------------------------------------------------------------------

planted(
    "made again while it is in use",
    "synccheck",
    USE,
    made(64)
    + """
    mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    + bar.sync 0;
    + @%p6 mbarrier.inval.shared::cta.b64 [gate];
    bar.sync 0;
    @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //1
    bar.sync 0;
    st.global.u32 [%rd3], %r1;
""",
)
planted(
    "made by two threads",
    "synccheck",
    USE,
    """
    setp.eq.u32 %p6, %r1, 0;
    @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //2
    bar.sync 0;
    - setp.eq.u32 %p6, %r1, 32;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //1
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate];
    st.global.u32 [%rd3], %r1;
""",
)
planted(
    "made invalid while others wait",
    "synccheck",
    USE,
    made(64)
    + """
    @%p2 mbarrier.arrive.shared::cta.b64 _, [gate];
    + @!%p2 mbarrier.arrive.shared::cta.b64 _, [gate];
    + bra WAIT;
    - @!%p2 bra OUT;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0; //2
    @!%p8 bra WAIT;
    + bar.sync 1;
    bra END;
OUT:
    bar.sync 2, 32;
    bar.sync 2, 32;
    @%p7 mbarrier.inval.shared::cta.b64 [gate]; //1
END:
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "used when it has been made invalid",
    "synccheck",
    "mbarrier not initialised",
    made(64)
    + """
    mbarrier.arrive.shared::cta.b64 _, [gate];
    bar.sync 0;
    - @%p6 mbarrier.inval.shared::cta.b64 [gate]; //2
    bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "used before it is made",
    "synccheck",
    "mbarrier not initialised",
    """
    setp.eq.u32 %p6, %r1, 0;
    + @%p6 mbarrier.init.shared::cta.b64 [gate], 64;
    + bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    - bar.sync 0;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 64;
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "more arrivals than it was made for",
    "synccheck",
    "mbarrier arrivals",
    made(3)
    + """
    @%p3 mbarrier.arrive.shared::cta.b64 _, [gate]; //2
    bar.sync 0;
    - @%p6 mbarrier.arrive.shared::cta.b64 _, [gate], 2; //1
    + @%p6 mbarrier.arrive.shared::cta.b64 _, [gate], 1;
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "an arrival that must not end the phase",
    "synccheck",
    "mbarrier arrivals",
    made(2)
    + """
    @%p6 mbarrier.arrive.shared::cta.b64 %rd20, [gate]; //2
    bar.sync 0;
    - @%p7 mbarrier.arrive.noComplete.shared::cta.b64 %rd20, [gate], 1; //1
    + @%p7 mbarrier.arrive.shared::cta.b64 %rd20, [gate];
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)
planted(
    "made for nobody",
    "synccheck",
    "mbarrier arrivals",
    """
    setp.eq.u32 %p6, %r1, 0;
    - @%p6 mbarrier.init.shared::cta.b64 [gate], 0; //1
    + @%p6 mbarrier.init.shared::cta.b64 [gate], 1;
    bar.sync 0;
    st.global.u32 [%rd3], %r1;
""",
    stops=True,
)

# -- copies and data ---------------------------------------------------------------------------------------------------

planted(
    "a copy is read without waiting for its mbarrier",
    "synccheck",
    "asynchronous copy",
    made(64)
    + """
    mul.wide.u32 %rd20, %r1, 4;
    add.u64 %rd20, %rd2, %rd20;
    cp.async.ca.shared.global [%r10], [%rd20], 4; //2
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
WAIT:
    + mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    + @!%p8 bra WAIT;
    ld.shared.u32 %r6, [%r10]; //1
    st.global.u32 [%rd3], %r6;
""",
)
planted(
    "a copy is read before its second phase",
    "synccheck",
    "asynchronous copy",
    made(64)
    + """
    mul.wide.u32 %rd20, %r1, 4;
    add.u64 %rd20, %rd2, %rd20;
    cp.async.ca.shared.global [%r10], [%rd20], 4;
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra WAIT;
    ld.shared.u32 %r7, [%r10];
    cp.async.ca.shared.global [%r10+2048], [%rd20+4], 4; //2
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
    + AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 1;
    + @!%p8 bra AGAIN;
    ld.shared.u32 %r6, [%r10+2048]; //1
    st.global.u32 [%rd3], %r6;
""",
)
planted(
    "a copy is loaded as a matrix without waiting",
    "synccheck",
    "asynchronous copy",
    made(32)
    + """
    mov.u32 %r30, 0;
    shl.b32 %r31, %r1, 4;
    add.u32 %r31, %r31, %r20;
    mul.wide.u32 %rd20, %r1, 4;
    shl.b64 %rd20, %rd20, 2;
    add.u64 %rd20, %rd2, %rd20;
    cp.async.cg.shared.global [%r31], [%rd20], 16; //2
    cp.async.mbarrier.arrive.noinc.shared::cta.b64 [gate];
WAIT:
    + mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], %r30;
    + @!%p8 bra WAIT;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r31]; //1
    st.global.u32 [%rd3], %r6;
""",
    threads=32,
)
DATA = """
    @!%p2 bra READ;
{early}
    st.shared.u32 [%r10], %r1; //2
{late}
    bra END;
READ:
{wait}
    ld.shared.u32 %r6, [%r12]; //1
    st.global.u32 [%rd3], %r6;
END:
"""
WAITS = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;\n    {}@!%p8 bra WAIT;"
planted("nobody waits for the data", "racecheck", "RAW|WAR", made(32) + DATA.format(
    early="", late="    mbarrier.arrive.shared::cta.b64 _, [gate];",
    wait=f"    + {WAITS.format('+ ')}"))  # fmt: skip
planted("arrives before it has written", "racecheck", "RAW|WAR", made(32) + DATA.format(
    early="    - mbarrier.arrive.shared::cta.b64 _, [gate];", late="    + mbarrier.arrive.shared::cta.b64 _, [gate];",
    wait=f"    {WAITS.format('')}"))  # fmt: skip
planted("waits for the phase before the first", "racecheck", "WAR|RAW", made(32) + DATA.replace("@!%p2", "@%p2").format(
    early="", late="    mbarrier.arrive.shared::cta.b64 _, [gate];",
    wait=f"    - {WAITS.format('- ').replace('], 0', '], 1')}\n    + {WAITS.format('+ ')}"))  # fmt: skip
planted("waits for another mbarrier", "racecheck", "RAW|WAR", made(32, 32) + DATA.format(
    early="    mbarrier.arrive.shared::cta.b64 _, [gate+8];", late="    mbarrier.arrive.shared::cta.b64 _, [gate];",
    wait=f"    - {WAITS.format('- ').replace('[gate]', '[gate+8]')}\n    + {WAITS.format('+ ')}"))  # fmt: skip
planted(
    "overwritten before the readers arrive",
    "racecheck",
    "WAR|RAW",
    made(32, 32)
    + """
    @!%p2 bra READ;
    st.shared.u32 [%r10], %r1;
    mbarrier.arrive.shared::cta.b64 _, [gate];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate+8], 0;
    @!%p8 bra WAIT;
    st.shared.u32 [%r10], 7; //1
    bra END;
READ:
    mbarrier.try_wait.parity.shared::cta.b64 %p8, [gate], 0;
    @!%p8 bra READ;
    - mbarrier.arrive.shared::cta.b64 _, [gate+8];
    ld.shared.u32 %r6, [%r12]; //2
    + mbarrier.arrive.shared::cta.b64 _, [gate+8];
    st.global.u32 [%rd3], %r6;
END:
""",
)
planted(
    "used by a warp that has not seen it made",
    "racecheck",
    "RAW|WAW|WAR",
    """
    setp.eq.u32 %p6, %r1, 0;
    @%p6 mbarrier.init.shared::cta.b64 [gate], 64; //2
    + bar.sync 0;
    mbarrier.arrive.shared::cta.b64 _, [gate]; //1
    st.global.u32 [%rd3], %r1;
""",
)

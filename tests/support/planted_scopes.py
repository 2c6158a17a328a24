"""Planted races behind fences and atomics of too narrow a scope, and behind locks that are taken without a fence; and
warps that rely on lockstep.

The notation is that of `planted_bug.py`.
"""

from __future__ import annotations

from planted_bug import Planted

SCOPES = Planted("scope", "racecheck")
bug = SCOPES.add

# fmt: off
bug("a fence of the block before a flag", "RAW", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    st.global.u32 [%rd1+8], 9; //2
    - fence.acq_rel.cta;
    + fence.acq_rel.gpu;
    st.relaxed.gpu.global.u32 [%rd1+4], 1;
    bra END;
WAIT: ld.acquire.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
    ld.global.u32 %r7, [%rd1+8]; //1
    st.shared.u32 [%r10], %r7;
END:""")
bug("the last block sums behind a fence of the block", "RAW", threads=1, blocks=3, body="""
    st.global.u32 [%rd3+16], %r2; //2
    - membar.cta;
    + membar.gl;
    atom.global.inc.u32 %r6, [%rd1], 99;
    setp.ne.u32 %p6, %r6, 7; @%p6 bra END;
    membar.gl;
    ld.global.u32 %r7, [%rd1+16]; //1
    st.shared.u32 [%r10], %r7;
END:""")
bug("each thread's fence of the block, then a ticket", "RAW", blocks=2, body="""
    st.global.u32 [%rd3], %r1; //2
    - membar.cta;
    + membar.gl;
    bar.sync 0;
    @%p1 atom.global.add.u32 %r8, [%rd1+512], 1;
    @%p1 st.shared.u32 [%r20], %r8;
    bar.sync 0;
    ld.shared.u32 %r8, [%r20];
    setp.ne.u32 %p6, %r8, 6; @%p6 bra END;
    ld.global.u32 %r6, [%rd12]; //1
END: mov.u32 %r7, 0;""")
bug("a flag stored for the block", "RAW", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    - st.relaxed.cta.global.u32 [%rd1+4], 1; //2
    + st.relaxed.gpu.global.u32 [%rd1+4], 1;
    bra END;
WAIT: ld.relaxed.gpu.global.u32 %r6, [%rd1+4]; //1
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
END:""")
bug("a flag loaded for the block", "RAW", threads=1, blocks=2, body="""
    @!%p5 bra WAIT;
    st.volatile.global.u32 [%rd1+4], 1; //2
    bra END;
WAIT:
    - ld.acquire.cta.global.u32 %r6, [%rd1+4]; //1
    + ld.acquire.gpu.global.u32 %r6, [%rd1+4];
    setp.ne.u32 %p6, %r6, 1; @%p6 bra WAIT;
END:""")
bug("a counter of all blocks", "WAW", blocks=2, one_line=True, body="""
    - red.relaxed.cta.global.add.u32 [%rd1], 1; //1
    + red.relaxed.gpu.global.add.u32 [%rd1], 1;""")
bug("a counter of each block", "WAW", blocks=2, one_line=True, body="""
    mul.wide.u32 %rd6, %r2, 4; add.u64 %rd6, %rd1, %rd6;
    - red.cta.global.add.u32 [%rd1], 1; //1
    + red.cta.global.add.u32 [%rd6], 1;""")
bug("an exchange between blocks", "WAW", threads=1, blocks=3, one_line=True, body="""
    - atom.cta.global.exch.b32 %r6, [%rd1], %r2; //1
    + atom.sys.global.exch.b32 %r6, [%rd1], %r2;""")


def lock(take: str, behind: str, give: str) -> str:
    """One lane of each block or warp counts under a lock: it has it when `take` puts 5 into %r6."""
    return f"""
    @!%p3 bra END;
LOCK:
    {take}
    setp.ne.u32 %p6, %r6, 5; @%p6 bra LOCK;
    {behind}
    ld.global.u32 %r7, [%rd1]; //1
    add.u32 %r7, %r7, 1;
    st.global.u32 [%rd1], %r7; //2
    {give}
END:
"""


CAS, EXCH = (f"atom.global.{take} %r6, [%rd1+4]" for take in ("cas.b32", "exch.b32"))

bug("a lock taken without a fence", "RAW|WAR|WAW", threads=1, blocks=3, body=lock(
    f"{CAS}, 5, 1;", "+ membar.gl;", f"membar.gl;\n {EXCH}, 5;"))

bug("a lock taken with a fence of the block", "RAW|WAR|WAW", threads=1, blocks=3, body=lock(
    f"{CAS}, 5, 1;", "- membar.cta;\n + fence.acq_rel.gpu;", f"membar.gl;\n {EXCH}, 5;"))

bug("a lock by exchange taken without a fence", "RAW|WAR|WAW", threads=1, blocks=3, body=lock(
    f"{EXCH}, 1;", "+ fence.acq_rel.gpu;", "st.release.gpu.global.u32 [%rd1+4], 5;"))

bug("a lock of the block's warps taken without a fence", "RAW|WAR|WAW", threads=96, body=lock(
    f"{CAS}, 5, 1;", "+ membar.cta;", f"membar.cta;\n {EXCH}, 5;"))

bug("a lock given back for the block", "RAW|WAR|WAW", threads=1, blocks=3, body=lock(
    "atom.acquire.gpu.global.cas.b32 %r6, [%rd1+4], 5, 1;", "",
    f"- membar.cta;\n + membar.gl;\n {EXCH}, 5;"))

bug("each block takes a lock of its own", "RAW|WAR|WAW", threads=1, blocks=3, body="""
    mov.u64 %rd6, %rd1;
    - mad.wide.u32 %rd6, %r2, 4, %rd1;
""" + lock(
    "atom.global.cas.b32 %r6, [%rd6+4], 5, 1;", "membar.gl;", "membar.gl;\n atom.global.exch.b32 %r6, [%rd6+4], 5;"))

bug("a sum that one block sets to zero", "WAW", threads=1, blocks=3, body="""
    - @%p5 st.global.u32 [%rd1], 0; //2
    bar.sync 0;
    red.global.add.u32 [%rd1], 1; //1""")

for name, ticket in {
    "that orders nothing": """
    - atom.relaxed.cta.shared.add.u32 %r6, [%r20+2048], 1;
    + atom.acq_rel.cta.shared.add.u32 %r6, [%r20+2048], 1;""",
    "behind no fence": """
    + fence.acq_rel.cta;
    atom.relaxed.cta.shared.add.u32 %r6, [%r20+2048], 1;
    fence.acq_rel.cta;""",
}.items():
    bug(f"each thread's ticket {name}", "RAW", body=f"""
    @%p1 st.shared.u32 [%r20+2048], 0;
    bar.sync 0;
    st.shared.u32 [%r10], %r1; //2
    {ticket}
    setp.ne.u32 %p6, %r6, 63; @%p6 bra END;
    mov.u32 %r7, 0;
SUM: ld.shared.u32 %r8, [%r20]; //1
    add.u32 %r20, %r20, 4; add.u32 %r7, %r7, 1; setp.lt.u32 %p6, %r7, 64; @%p6 bra SUM;
    st.global.u32 [%rd3], %r8;
END:""")

LOCKSTEP = "relies on lanes in lockstep"

bug("volatile neighbours in one warp", LOCKSTEP, threads=32, body="""
    st.volatile.shared.u32 [%r10], %r1; //2
    + bar.warp.sync 0xffffffff;
    ld.volatile.shared.u32 %r6, [%r11]; //1
    st.global.u32 [%rd3], %r6;""")
bug("a volatile word overwritten for other lanes", LOCKSTEP, threads=32, body="""
    st.shared.u32 [%r10], %r1;
    bar.sync 0;
    ld.volatile.shared.u32 %r6, [%r11]; //2
    + bar.warp.sync 0xffffffff;
    st.volatile.shared.u32 [%r10], %r6; //1""")
bug("a step of a volatile reduction", LOCKSTEP, body="""
    st.shared.u32 [%r10], %r1;
    st.shared.u32 [%r10+256], %r1;
    bar.sync 0;
    @!%p2 bra END;
    ld.shared.u32 %r6, [%r10+128];
    st.volatile.shared.u32 [%r10], %r6; //2
    + bar.warp.sync 0xffffffff;
    ld.volatile.shared.u32 %r7, [%r10+64]; //1
    + bar.warp.sync 0xffffffff;
    add.u32 %r6, %r6, %r7;
    st.global.u32 [%rd3], %r6;
END:""")
